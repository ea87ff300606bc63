//! PDQ, preemptive distributed quick flow scheduling: ports let the most critical flows send and pause the others.
//!
//! Source: Hong, Caesar and Godfrey, "Finishing Flows Quickly with Preemptive Scheduling", SIGCOMM 2012,
//! section 3.1. The computation of switches is in `agent/pdq`, the part of hosts that other schemes share in
//! `paced`. A paused sender probes by a header now and then; one that cannot meet its deadline gives up
//! (Early Termination). The remaining bytes of a flow, for T_H, are those not sent yet or to be
//! retransmitted: with the unacknowledged bytes, Early Start would be a round trip late.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::overdue::LateFlow;
use super::paced::{self, Asks, Flow, Granted, Paced, Pacing, Scheme};
use super::{Needs, Profile, Settings};
use crate::agent::pdq::{NO_PORT, PdqPort, word};
use crate::engine::contract::packet::Record;
use crate::problem::Problem;
use crate::transport::rtt::Rtt;
use crate::units::{Rate, Time};

/// PDQ: the most critical flows send, at the full available rate, and the others are paused (`agent.pdq`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Pdq {
    /// Action of a sender whose flow cannot be in time. "give-up" is the paper's Early Termination: it gives
    /// up when the deadline has passed, when the remaining bytes take longer at the highest rate, or when it
    /// is paused and the time left is shorter than a round trip. Without this field flows that have a
    /// deadline are given up.
    pub late: Option<LateFlow>,
    /// Settings of the sender.
    pub pacing: Pacing,
}

impl Paced for Pdq {
    fn pacing(&self) -> &Pacing {
        &self.pacing
    }
}

impl Settings for Pdq {
    fn profile(&self) -> Profile {
        Profile {
            // By default, too, without a word in the scenario.
            gives_up: self.late != Some(LateFlow::Keep),
            ..self.pacing.profile()
        }
    }

    fn needs(&self) -> Needs {
        Needs {
            deadlines: (self.late == Some(LateFlow::GiveUp)).then_some("late"),
            ..Pacing::needs(PdqPort::default())
        }
    }

    fn problems(&self) -> Vec<Problem> {
        self.pacing.problems()
    }
}

/// A sender's state under PDQ.
#[derive(Clone, Debug)]
pub struct Sender {
    /// P_S.
    paused_by: u64,
    /// I_S in round trips, at least one.
    probe: f64,
    /// RTT_S.
    rtt: Rtt,
    /// Time of the last request.
    asked_at: Time,
}

impl Default for Sender {
    fn default() -> Self {
        Sender { paused_by: NO_PORT, probe: 1.0, rtt: Rtt::default(), asked_at: Time::ZERO }
    }
}

impl Sender {
    /// RTT_S; zero before the first answer.
    fn round_trip(&self) -> Time {
        self.rtt.smoothed().unwrap_or(Time::ZERO)
    }

    /// Time from one request to the next if it is paused.
    fn probe_after(&self) -> Time {
        Time((self.probe * self.round_trip().0 as f64) as u64)
    }
}

impl Scheme for Sender {
    type Config = Pdq;

    const EACH_ASKS: bool = true;

    /// A paused flow probes every so many round trips, whatever becomes of a probe (Hong et al., section 3).
    const REQUEST_RTTS: Option<f64> = Some(2.0);

    fn ask(&mut self, _asks: Asks, flow: &Flow, config: &Pdq, record: &mut Record) {
        self.asked_at = flow.now;
        let full = config.pacing.data_size(config.pacing.mss.0 as u32);
        let Record(words) = record;
        words[word::RATE] = flow.line.0;
        words[word::PAUSED_BY] = self.paused_by;
        words[word::DUE] = flow.due.0;
        words[word::LEFT] = flow.line.transmission(flow.wire_unsent()).0;
        words[word::PROBE] = 0f64.to_bits();
        words[word::RTT] = self.round_trip().0;
        words[word::SPACING] = match flow.rate {
            0 => self.probe_after().0,
            rate => Rate(rate).transmission(u64::from(full)).min(self.round_trip()).0,
        };
    }

    fn answer(&mut self, _asked: Asks, record: &Record, flow: &Flow, _config: &Pdq) -> Granted {
        let Record(words) = record;
        self.rtt.sample(flow.rtt.unwrap_or(Time::ZERO));
        self.probe = f64::from_bits(words[word::PROBE]).max(1.0);
        self.paused_by = words[word::PAUSED_BY];
        let rate = words[word::RATE].min(flow.line.0);
        let wait = if rate == 0 { self.probe_after() } else { self.round_trip() };
        let again = self.asked_at.saturating_add(wait);
        Granted { rate, again: Time(again.0.saturating_sub(flow.now.0)) }
    }

    fn gives_up(&self, flow: &Flow, config: &Pdq) -> bool {
        if config.late == Some(LateFlow::Keep) || flow.due == Time::NEVER {
            return false;
        }
        let time_left = Time(flow.due.0.saturating_sub(flow.now.0));
        let waits = flow.rate == 0 && flow.unsent > 0;
        flow.now > flow.due
            || flow.line.transmission(flow.wire_unsent()) > time_left
            || (waits && time_left < self.round_trip())
    }
}

/// All PDQ flows of a run.
pub type Model = paced::Model<Sender>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::paced::settings::BARE;

    /// A millisecond after its start, with round trips of 100 us and a link of 1 Gbps, so many bytes on the wire are to be sent.
    fn flow(wire_unsent: u64, rate: u64, due: Time) -> Flow<'static> {
        Flow {
            pacing: &BARE,
            now: Time::from_us(1000),
            left: wire_unsent,
            due,
            rtt: Some(Time::from_us(100)),
            line: Rate(1_000_000_000),
            rate,
            unsent: wire_unsent,
            last: (Time::ZERO, 0),
        }
    }

    fn answered(rate: u64, paused_by: u64, probe: f64) -> Record {
        let mut record = Record::default();
        record.0[word::RATE] = rate;
        record.0[word::PAUSED_BY] = paused_by;
        record.0[word::PROBE] = probe.to_bits();
        record
    }

    /// 125,000 B take a millisecond.
    #[test]
    fn a_packet_carries_what_the_sender_wants_and_what_ports_told_it() {
        let (mut sender, config) = (Sender::default(), Pdq::default());
        let mut record = Record::default();
        sender.ask(Asks::First, &flow(125_000, 0, Time::NEVER), &config, &mut record);
        assert_eq!(record.0, [1_000_000_000, NO_PORT, Time::NEVER.0, 1_000_000_000, 0, 0, 0, 0]);
        sender.answer(Asks::First, &answered(0, 7, 2.5), &flow(125_000, 0, Time::NEVER), &config);
        let due = Time::from_us(9000);
        sender.ask(Asks::Again, &flow(62_500, 0, due), &config, &mut record);
        let spacing = 250_000_000;
        assert_eq!(record.0, [1_000_000_000, 7, due.0, 500_000_000, 0, 100_000_000, spacing, 0]);
    }

    /// Probes are so many round trips apart, at least one, counted from when the last one left; a sending
    /// flow requests after a round trip.
    #[test]
    fn a_paused_sender_waits_for_its_probe() {
        let (mut sender, config) = (Sender::default(), Pdq::default());
        let mut record = Record::default();
        let asked = Flow { now: Time::from_us(900), ..flow(125_000, 0, Time::NEVER) };
        for (given, probe, again) in
            [(0, 0.2, 0), (0, 2.5, 150), (400_000_000, 2.5, 0), (9_000_000_000, 0.0, 0)]
        {
            sender.ask(Asks::Again, &asked, &config, &mut record);
            let paused_by = if given == 0 { 3 } else { NO_PORT };
            let answer = answered(given, paused_by, probe);
            let granted = sender.answer(Asks::Again, &answer, &flow(125_000, 0, Time::NEVER), &config);
            let expected = Granted { rate: given.min(1_000_000_000), again: Time::from_us(again) };
            assert_eq!(granted, expected, "{given} {probe}");
        }
    }

    /// The three conditions of Early Termination, each at its edge.
    #[test]
    fn who_cannot_be_in_time_gives_up_if_told_to() {
        let mut sender = Sender::default();
        let answer = answered(0, 3, 0.0);
        sender.answer(Asks::First, &answer, &flow(125_000, 0, Time::NEVER), &Pdq::default());
        let gives_up = |unsent, rate, due| {
            let keep = Pdq { late: Some(LateFlow::Keep), ..Pdq::default() };
            let flow = flow(unsent, rate, Time::from_us(due));
            assert!(!sender.gives_up(&flow, &keep));
            sender.gives_up(&flow, &Pdq::default())
        };
        // Everything is sent: in time until the deadline has passed.
        assert!(!gives_up(0, 0, 1000));
        assert!(gives_up(0, 0, 999));
        // A millisecond to send.
        assert!(!gives_up(125_000, 1, 2000));
        assert!(gives_up(125_000, 1, 1999));
        // Paused with less than a round trip left, which would do for the packet.
        assert!(!gives_up(1500, 0, 1100));
        assert!(gives_up(1500, 0, 1099));
        assert!(!gives_up(1500, 1, 1099));
        assert!(!sender.gives_up(&flow(u64::MAX, 0, Time::NEVER), &Pdq::default()));
    }
}
