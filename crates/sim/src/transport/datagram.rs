//! Datagrams: open loop, no acknowledgement, no repeat. What is lost stays lost.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Ends, Framing, HostSide, Settings};
use crate::balancer::Balancer;
use crate::balancer::per_flow::PerFlow;
use crate::engine::cx::{Cx, Owner, Timer, Toward};
use crate::engine::packet::{Header, Packet, flag};
use crate::ids::ConnId;
use crate::queue::Queue;
use crate::queue::infinite::Infinite;
use crate::random::{Purpose, Stream};
use crate::topology::Fabric;
use crate::traffic::below;
use crate::traffic::sizes::Sizes;
use crate::traffic::sizes::fixed::Fixed;
use crate::units::{Bytes, Rate, SECOND, Time};

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
    /// Back to back, as fast as the host's wire takes them.
    LineRate,
    /// Evenly spaced: this many bits a second on the wire.
    Rate(#[schemars(extend("x-minimum" = "1bps"))] Rate),
    /// A Poisson process of packets with this mean rate on the wire.
    Poisson(#[schemars(extend("x-minimum" = "1bps"))] Rate),
}

impl Default for Datagram {
    fn default() -> Self {
        Datagram {
            lengths: Fixed(Bytes(1500)).into(),
            header_bytes: Bytes(28),
            pace: Pace::LineRate,
            ecn_capable: false,
        }
    }
}

impl Settings for Datagram {
    fn recommended_queue(&self) -> Queue {
        Infinite {}.into()
    }

    fn recommended_balancer(&self) -> Balancer {
        PerFlow {}.into()
    }

    fn full_packet(&self) -> u64 {
        match &self.lengths {
            Sizes::Fixed(fixed) => fixed.0.0,
            _ => 1500,
        }
    }

    fn framing(&self) -> Option<Framing> {
        match &self.lengths {
            Sizes::Fixed(fixed) => Some(Framing {
                payload: fixed.0.0.saturating_sub(self.header_bytes.0).max(1),
                header: self.header_bytes.0,
                pad_last: false,
            }),
            _ => None,
        }
    }

    fn answers(&self) -> f64 {
        0.0
    }

    fn problems(&self) -> Vec<(String, String)> {
        let header = self.header_bytes;
        match &self.lengths {
            Sizes::Fixed(fixed) if fixed.0 <= header => {
                vec![(
                    "lengths.fixed".into(),
                    format!("{} leaves no payload after a header of {header}", fixed.0),
                )]
            }
            Sizes::Fixed(fixed) if fixed.0.0 > LENGTH_MAX => {
                vec![(
                    "lengths.fixed".into(),
                    format!("{} is above {LENGTH_MAX}B, the longest packet of IP", fixed.0),
                )]
            }
            Sizes::Endless(_) => vec![("lengths.endless".into(), "a packet has an end".into())],
            lengths => below("lengths", lengths.name(), lengths.problems()).collect(),
        }
    }
}

/// The longest packet of IP; lengths that are drawn above it are cut to it.
const LENGTH_MAX: u64 = 65_535;

/// All datagram flows of a run.
pub struct Model {
    config: Datagram,
    /// Mean length of a packet: of a long table it takes time to work out.
    mean_length: f64,
    senders: Ends<Sender>,
    /// Bytes of the flow that the receiver still lacks.
    missing: Ends<u64>,
}

#[derive(Clone, Debug)]
struct Sender {
    left: u64,
    /// When the next packet is made.
    due: Time,
    timer: Timer,
    chance: Stream,
    number: u32,
}

impl Default for Sender {
    fn default() -> Self {
        let chance = Stream::new(0, 0, Purpose::Packets, 0);
        Sender { left: 0, due: Time::ZERO, timer: Timer::default(), chance, number: 0 }
    }
}

const PACE: u8 = 0;

impl Model {
    pub(super) fn new(config: &Datagram, _fabric: &Fabric) -> Model {
        Model {
            config: config.clone(),
            mean_length: config.lengths.mean(),
            senders: Ends::default(),
            missing: Ends::default(),
        }
    }

    /// Time from one packet to the next.
    fn gap(pace: &Pace, mean_length: f64, size: u32, chance: &mut Stream) -> Time {
        match pace {
            Pace::LineRate => Time::ZERO,
            Pace::Rate(rate) => rate.transmission(u64::from(size)),
            Pace::Poisson(rate) => {
                let mean = mean_length * 8.0 / rate.0 as f64 * SECOND as f64;
                Time(chance.exponential(mean).round() as u64)
            }
        }
    }

    /// Takes the sender's turn now if its next packet is due, else when it is.
    fn wait_for_turn(&mut self, id: ConnId, cx: &mut Cx) {
        let sender = &mut self.senders[id];
        if sender.due <= cx.now() {
            cx.ready(id);
        } else {
            cx.set_timer(&mut sender.timer, sender.due, Owner::Conn(id), PACE);
        }
    }
}

impl HostSide for Model {
    fn start(&mut self, id: ConnId, size: u64, key: u64, cx: &mut Cx) {
        let mut chance = cx.flow_chance(Purpose::Packets, key);
        let first = match self.config.pace {
            Pace::Poisson(_) => Model::gap(&self.config.pace, self.mean_length, 0, &mut chance),
            _ => Time::ZERO,
        };
        *self.senders.open(id) =
            Sender { left: size, due: cx.now() + first, timer: Timer::default(), chance, number: 0 };
        *self.missing.open(id) = size;
        self.wait_for_turn(id, cx);
    }

    fn next_packet(&mut self, id: ConnId, cx: &mut Cx) -> (Option<Packet>, bool) {
        let header_bytes = self.config.header_bytes.0;
        let sender = &mut self.senders[id];
        let length = self.config.lengths.sample(&mut sender.chance).clamp(header_bytes + 1, LENGTH_MAX);
        let payload = sender.left.min(length - header_bytes);
        let size = (payload + header_bytes) as u32;
        let ecn = if self.config.ecn_capable { flag::ECN_CAPABLE } else { 0 };
        let header = Header { len: payload as u16, number: sender.number, ..Header::default() };
        let mut packet = cx.packet(id, Toward::Receiver, size, ecn, header);
        // The packet exists since it was due, even if the wire was busy then.
        if self.config.pace != Pace::LineRate {
            packet.created_at = sender.due;
        }
        sender.left -= payload;
        sender.number += 1;
        cx.counts(id).packets_sent += 1;
        if sender.left == 0 {
            cx.finish(id);
            return (Some(packet), false);
        }
        let gap = Model::gap(&self.config.pace, self.mean_length, size, &mut sender.chance);
        sender.due = if self.config.pace == Pace::LineRate { cx.now() } else { sender.due + gap };
        let more = sender.due <= cx.now();
        if !more {
            cx.set_timer(&mut sender.timer, sender.due, Owner::Conn(id), PACE);
        }
        (Some(packet), more)
    }

    fn at_receiver(&mut self, packet: &Packet, cx: &mut Cx) {
        let payload = u64::from(packet.header.len);
        cx.note_arrival(packet);
        cx.delivered(packet.conn, payload);
        let missing = &mut self.missing[packet.conn];
        *missing -= payload;
        if *missing == 0 {
            cx.completed(packet.conn);
        }
    }

    fn at_sender(&mut self, _packet: &Packet, _cx: &mut Cx) {
        unreachable!("nobody answers a datagram");
    }

    fn timer(&mut self, owner: Owner, kind: u8, cx: &mut Cx) {
        if let Owner::Conn(id) = owner
            && cx.timer_is_due(&mut self.senders[id].timer, owner, kind)
        {
            cx.ready(id);
        }
    }
}
