//! SLEEK: recovery of losses without trimming, by the number of packets that have arrived behind a gap, and by probes.
//!
//! Source: the public simulator (uet-htsim, `-sleek -disable_trim`). When so many packets have arrived out of order that a
//! window and a half has passed the gap, all packets of a window without an answer are sent again, whether the window has room
//! or not. A flow whose answers stop sends a probe, a packet without payload that waits in the queues of data: its answer shows
//! that the packets before it are lost, if it was not delayed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Config;
use super::control::React;
use super::sender::{Sender, Waiting};
use super::wire::{answer, kind};
use crate::engine::contract::event::Owner;
use crate::engine::contract::host::{Host, Timer, Toward};
use crate::engine::contract::packet::Header;
use crate::ids::ConnId;
use crate::transport::entropy::Select;
use crate::units::Time;

/// Parameters of SLEEK.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SleekRule {
    /// Recovery begins when so many windows have arrived behind a gap, at most the largest window.
    #[schemars(range(min = 0.0, max = 100.0))]
    pub factor: f64,
    /// The fewest packets for that.
    #[schemars(range(min = 1, max = 10_000))]
    pub min_packets: u32,
    /// A probe follows the last answer after so many base round trips, while there is data to send; at the end of a flow after
    /// one and the target delay.
    #[schemars(range(min = 1, max = 1000))]
    pub probe_first: u32,
    /// The next probe follows after so many.
    #[schemars(range(min = 1, max = 1000))]
    pub probe_retry: u32,
}

impl Default for SleekRule {
    fn default() -> Self {
        SleekRule { factor: 1.5, min_packets: 5, probe_first: 3, probe_retry: 5 }
    }
}

/// The sender's timer for probes.
pub const PROBE: u8 = 1;

/// The recovery of one flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sleek {
    /// Whether it recovers: until all packets before `until` have arrived.
    pub recovers: bool,
    until: u32,
    /// Packets before this one have been sent again.
    repeated_to: u32,
    timer: Timer,
    /// The last probe, and when it was sent.
    probe: u32,
    probe_at: Time,
}

impl Sleek {
    /// The flow is over.
    pub fn clear(&mut self) {
        self.timer.clear();
    }
}

impl Sender {
    /// An ACK has been taken in.
    pub(super) fn run_sleek(
        &mut self,
        id: ConnId,
        header: &Header,
        delay: Time,
        config: &Config,
        waiting: &mut Waiting,
        cx: &mut impl Host,
    ) {
        let Some(rule) = config.sleek else { return };
        self.restart_probe(id, &rule, cx);
        let expected = (header.ack >> 32) as u32;
        let highest = self.records.next();
        let stored = self.received_packets(header, config).saturating_sub(expected);
        let sleek = self.sleek.as_mut().expect("checked by the caller");
        if header.kind & answer::TO_PROBE != 0 && delay < self.delays.target() {
            (sleek.recovers, sleek.until, sleek.repeated_to) = (true, highest, expected);
        }
        if sleek.recovers && expected >= sleek.until {
            sleek.recovers = false;
        }
        let payload = config.payload() as i64;
        let window = self.window.bytes();
        let threshold = ((rule.factor * window as f64) as i64).min(self.delays.max_window as i64);
        let threshold = threshold.max(i64::from(rule.min_packets) * payload) / payload;
        if i64::from(stored) < threshold && !sleek.recovers {
            return;
        }
        if !sleek.recovers && !self.records.any_lost() {
            (sleek.recovers, sleek.until) = (true, highest);
        }
        let end = sleek.until.min(expected.saturating_add((window / payload) as u32));
        for number in expected.max(sleek.repeated_to)..end {
            if let Some(sent) = self.records.in_flight(number) {
                self.in_flight -= i64::from(sent.size);
                self.records.lose(number);
                sleek.repeated_to = number + 1;
            }
        }
        self.request_again(id, config, waiting, cx);
    }

    /// The probe timer starts again with each answer, while data is outstanding.
    fn restart_probe(&mut self, id: ConnId, rule: &SleekRule, cx: &mut impl Host) {
        let base = self.delays.base_rtt;
        let unsent = self.has_unsent();
        let outstanding = unsent || !self.records.is_empty();
        let sleek = self.sleek.as_mut().expect("a rule comes with its state");
        sleek.timer.clear();
        if outstanding {
            let after = match unsent {
                true => Time(base.0 * u64::from(rule.probe_first)),
                false => base + self.delays.target(),
            };
            cx.set_timer(&mut sleek.timer, cx.now() + after, Owner::Sender(id), PROBE);
        }
    }

    /// No answer has come for a while: a probe goes the way of data.
    pub fn on_probe_timer(&mut self, id: ConnId, config: &Config, cx: &mut impl Host) {
        let (Some(rule), Some(sleek)) = (config.sleek, &mut self.sleek) else { return };
        if !cx.timer_is_due(&mut sleek.timer, Owner::Sender(id), PROBE) {
            return;
        }
        sleek.probe += 1;
        sleek.probe_at = cx.now();
        let number = sleek.probe;
        let again = cx.now() + Time(self.delays.base_rtt.0 * u64::from(rule.probe_retry));
        cx.set_timer(&mut sleek.timer, again, Owner::Sender(id), PROBE);
        let window = self.window.bytes() / config.payload() as i64;
        let value = self.entropy.next(u64::from(self.records.next()), window as u64);
        let header = Header { kind: kind::PROBE, number, seq: u64::from(value), ..Header::default() };
        let flow = self.records.first_flow().unwrap_or(id);
        let mut packet = cx.packet(flow, Toward::Receiver, config.control_bytes.0 as u32, 0, header);
        cx.set_entropy(&mut packet, value);
        cx.hand_over(packet);
    }

    /// The queueing delay of the last probe, when its answer comes.
    pub(super) fn delay_of_probe(&mut self, number: u32, marked: bool, now: Time) -> Time {
        match self.sleek {
            Some(sleek) if sleek.probe == number => {
                let rtt = now - sleek.probe_at;
                self.delays.sample(rtt, marked).unwrap_or(Time::ZERO)
            }
            _ => self.delays.average,
        }
    }

    /// A timeout of a flow that recovers sends nothing again by itself: the next ACK does, if the packet was sent more than once.
    pub(super) fn sleek_keeps(&mut self, number: u32, times: u8) -> bool {
        let Some(sleek) = self.sleek.as_mut().filter(|sleek| sleek.recovers) else { return false };
        if times > 1 {
            sleek.repeated_to = number;
        }
        self.records.skip_oldest();
        true
    }
}
