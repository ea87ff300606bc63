//! Datagrams: open loop, no acknowledgement, no retransmission. Lost packets stay lost.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Profile, Settings};
use crate::engine::contract::endpoint::{Configs, Endpoint, Ends};
use crate::engine::contract::event::Owner;
use crate::engine::contract::host::{Host, Start, Timer};
use crate::engine::contract::packet::Packet;
use crate::ids::ConnId;
use crate::problem::Problem;
use crate::random::Stream;
use crate::traffic::sizes::Sizes;
use crate::units::{Bytes, Rate, Time};

/// Open-loop packets, as UDP would carry them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Datagram {
    /// Packet lengths on the wire, headers included; the last packet of a flow is cut to the rest.
    pub lengths: Sizes,
    /// Bytes of each packet that are not payload: 28 for IPv4 and UDP.
    #[schemars(extend("x-maximum" = "1000B"))]
    pub header_bytes: Bytes,
    /// When packets leave.
    pub pace: Pace,
    /// Whether queues may mark the packets instead of dropping them.
    pub ecn_capable: bool,
}

/// When the packets of an open-loop flow leave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pace {
    /// Back to back, at the rate of the host's link.
    LineRate,
    /// Evenly spaced: at this rate on the wire.
    Rate(#[schemars(extend("x-minimum" = "1bps"))] Rate),
    /// A Poisson process of packets with this mean rate on the wire.
    Poisson(#[schemars(extend("x-minimum" = "1bps"))] Rate),
}

impl Default for Datagram {
    fn default() -> Self {
        Datagram {
            lengths: Bytes(1500).into(),
            header_bytes: Bytes(28),
            pace: Pace::LineRate,
            ecn_capable: false,
        }
    }
}

impl Settings for Datagram {
    fn profile(&self) -> Profile {
        let header = self.header_bytes.0;
        let of = |length: u64| Profile::unanswered(length.saturating_sub(header).max(1), header);
        match &self.lengths {
            Sizes::Fixed(fixed) => Profile { ecn_capable: self.ecn_capable, ..of(fixed.0.0) },
            _ => Profile {
                framing: None,
                packet_max: LENGTH_MAX,
                packet_mean: self.mean_length(),
                ecn_capable: self.ecn_capable,
                ..of(USUAL_LENGTH)
            },
        }
    }

    fn problems(&self) -> Vec<Problem> {
        let header = self.header_bytes;
        match &self.lengths {
            Sizes::Fixed(fixed) if fixed.0 <= header => {
                vec![Problem::new(
                    "lengths.fixed",
                    format!("{} leaves no payload after a header of {header}", fixed.0),
                )]
            }
            Sizes::Fixed(fixed) if fixed.0.0 > LENGTH_MAX => {
                vec![Problem::new(
                    "lengths.fixed",
                    format!("{} is above {LENGTH_MAX}B, the longest packet of IP", fixed.0),
                )]
            }
            lengths => lengths.problems_of_lengths(),
        }
    }
}

impl Datagram {
    /// The mean of lengths that are drawn, before and after they have been checked.
    fn mean_length(&self) -> u64 {
        if self.lengths.problems_of_lengths().is_empty() { self.lengths.mean() as u64 } else { USUAL_LENGTH }
    }
}

/// The length of a full packet, for limits that count in it, where lengths are drawn.
const USUAL_LENGTH: u64 = 1500;

/// The longest packet of IP; lengths that are drawn above it are cut to it.
const LENGTH_MAX: u64 = 65_535;

/// All datagram flows of a run.
pub struct Model {
    /// With the mean length of a packet, which takes time to work out of a long table.
    configs: Configs<(Datagram, f64)>,
    senders: Ends<Sender>,
}

#[derive(Clone, Debug, Default)]
struct Sender {
    left: u64,
    /// When the next packet is made.
    due: Time,
    timer: Timer,
    stream: Stream,
    number: u32,
}

const PACE: u8 = 0;

impl Model {
    pub(super) fn new(configs: Configs<Datagram>) -> Model {
        let with_mean = |config: Datagram| {
            let mean = config.lengths.mean();
            (config, mean)
        };
        Model { configs: configs.map(with_mean), senders: Ends::default() }
    }

    /// Time from one packet to the next.
    fn gap(pace: &Pace, mean_length: f64, size: u32, stream: &mut Stream) -> Time {
        match pace {
            Pace::LineRate => Time::ZERO,
            Pace::Rate(rate) => rate.transmission(u64::from(size)),
            Pace::Poisson(rate) => {
                Time(stream.exponential(rate.mean_transmission(mean_length)).round() as u64)
            }
        }
    }

    /// Takes the sender's turn now if its next packet is due, else when it is.
    fn wait_for_turn(&mut self, id: ConnId, cx: &mut impl Host) {
        let sender = self.senders.at(id, cx);
        if sender.due <= cx.now() {
            cx.ready(id);
        } else {
            cx.set_timer(&mut sender.timer, sender.due, Owner::Sender(id), PACE);
        }
    }
}

impl Endpoint for Model {
    fn start(&mut self, id: ConnId, start: Start, cx: &mut impl Host) {
        let (config, mean_length) = self.configs.of(cx.conn(id));
        let mut stream = start.packet_stream(cx);
        let first = match config.pace {
            Pace::Poisson(_) => Model::gap(&config.pace, *mean_length, 0, &mut stream),
            _ => Time::ZERO,
        };
        *self.senders.open(id, cx) =
            Sender { left: start.size, due: cx.now() + first, timer: Timer::default(), stream, number: 0 };
        self.wait_for_turn(id, cx);
    }

    fn next_packet(&mut self, id: ConnId, cx: &mut impl Host) -> (Option<Packet>, bool) {
        let (config, mean_length) = self.configs.of(cx.conn(id));
        let header_bytes = config.header_bytes.0;
        let sender = self.senders.at(id, cx);
        let length = config.lengths.sample(&mut sender.stream).clamp(header_bytes + 1, LENGTH_MAX);
        let payload = sender.left.min(length - header_bytes);
        let size = (payload + header_bytes) as u32;
        let mut packet = cx.data_packet(id, size, payload as u16, sender.number);
        packet.set_ecn_capable(config.ecn_capable);
        // The packet exists since it was due, even if the wire was busy then.
        if config.pace != Pace::LineRate {
            packet.created_at = sender.due;
        }
        sender.left -= payload;
        sender.number += 1;
        cx.sender(id).packets_sent += 1;
        if sender.left == 0 {
            cx.finish(id);
            return (Some(packet), false);
        }
        let gap = Model::gap(&config.pace, *mean_length, size, &mut sender.stream);
        sender.due = if config.pace == Pace::LineRate { cx.now() } else { sender.due + gap };
        let more = sender.due <= cx.now();
        if !more {
            cx.set_timer(&mut sender.timer, sender.due, Owner::Sender(id), PACE);
        }
        (Some(packet), more)
    }

    fn at_receiver(&mut self, packet: &Packet, cx: &mut impl Host) {
        cx.deliver_once(packet);
    }

    fn at_sender(&mut self, _packet: &Packet, _cx: &mut impl Host) {
        unreachable!("a datagram has no answer");
    }

    fn timer(&mut self, owner: Owner, kind: u8, cx: &mut impl Host) {
        if let Owner::Sender(id) = owner
            && cx.timer_is_due(&mut self.senders.at(id, cx).timer, owner, kind)
        {
            cx.ready(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::contract::fake::FakeHost;

    const FLOW: ConnId = ConnId(0);

    /// 4000 B of payload at 1472 B to a packet: two full packets, and 1056 B with their header of 28 B.
    #[test]
    fn the_last_packet_is_cut_to_the_rest() {
        let mut host = FakeHost::pair(4000);
        let mut model = Model::new(host.configs(vec![Datagram::default()]));
        host.start(&mut model, FLOW);
        let packets = host.sends(&mut model, FLOW, 9);
        let sizes = |packet: &Packet| (packet.size, packet.header.len);
        assert_eq!(packets.iter().map(sizes).collect::<Vec<_>>(), [(1500, 1472), (1500, 1472), (1084, 1056)]);
        assert_eq!(host.finished, [FLOW]);
        for packet in &packets {
            assert!(host.completed.is_empty());
            assert!(host.receives(&mut model, packet).is_empty(), "a datagram has no answer");
        }
        assert_eq!(host.completed, [FLOW]);
        assert_eq!(host.receiver(FLOW).delivered_bytes, 4000);
    }

    /// At 1 Gbps 1500 B take 12 us. A link that takes a packet late delays that packet and not those behind
    /// it.
    #[test]
    fn packets_are_due_at_the_rate() {
        let mut host = FakeHost::pair(4000);
        let config = Datagram { pace: Pace::Rate(Rate(1_000_000_000)), ..Datagram::default() };
        let mut model = Model::new(host.configs(vec![config]));
        host.start(&mut model, FLOW);
        let mut due = Vec::new();
        for asked_after in [Time::ZERO, Time::from_us(3), Time::ZERO] {
            if !due.is_empty() {
                assert!(host.sends(&mut model, FLOW, 9).is_empty(), "nothing is due yet");
                host.expires(&mut model);
            }
            host.now = host.now + asked_after;
            let packets = host.sends(&mut model, FLOW, 9);
            assert_eq!(packets.len(), 1);
            due.push((packets[0].created_at, host.now));
        }
        let us = Time::from_us;
        assert_eq!(due, [(us(0), us(0)), (us(12), us(15)), (us(24), us(24))]);
        assert_eq!(host.finished, [FLOW]);
    }

    /// A Poisson process has no packet at its start: the first is as far behind it as each from the one before, 12 us on
    /// average for 1500 B at 1 Gbps. Of a thousand the mean has a standard deviation of 0.4 us.
    #[test]
    fn the_first_packet_of_a_poisson_process_is_drawn() {
        let mut host = FakeHost::pair(1472);
        for key in 1..1000 {
            let id = host.connection(1472);
            host.conns[id.index()].key = key;
        }
        let config = Datagram { pace: Pace::Poisson(Rate(1_000_000_000)), ..Datagram::default() };
        let mut model = Model::new(host.configs(vec![config]));
        (0..1000).for_each(|flow| host.start(&mut model, ConnId(flow)));
        assert_eq!((host.ready.len(), host.timers.len()), (0, 1000));
        let mean = host.timers.iter().map(|(due, ..)| due.0).sum::<u64>() / 1000;
        assert!(mean.abs_diff(Time::from_us(12).0) < Time::from_us(2).0, "{mean}");
    }
}
