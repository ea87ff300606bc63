//! The trimming port of Ultra Ethernet: NDP's two queues, and marks between two thresholds as a packet's transmission ends.
//!
//! Source: the public simulator of the Ultra Ethernet transport (uet-htsim, its composite queue). A full packet that finds no
//! room loses its payload, or is dropped; headers and control packets always go first. The decision to mark takes place when
//! the packet has left, by the bytes that then wait behind it, with a probability that rises from the lower threshold to the
//! upper one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::ndp::{self, NdpPort};
use super::{Build, Feature, Limit, Settings};
use crate::advice::Unread;
use crate::derived::{Derived, Environment, Values};
use crate::engine::contract::discipline::{Discipline, PortContext, Queued};
use crate::ids::PacketId;
use crate::problem::Problem;
use crate::units::Bytes;

/// A short data queue that trims or drops, headers before data, and marks on departure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Trimming {
    /// Limit of the data queue, the packet on the wire included. "derived": as many full packets as the bandwidth-delay
    /// product of the longest path between hosts has, rounded up; five times that if packets are dropped (uet-htsim: -q).
    pub limit: Derived<Limit>,
    /// Limit of the queue of headers and control packets. Absent: twice as many bytes as that of data (uet-htsim).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header_limit: Option<Limit>,
    /// Headers served for each data packet while both wait; 0: headers always go first (uet-htsim: 100,000).
    #[schemars(range(max = 1_000_000))]
    pub headers_per_data: u32,
    /// The packet that loses its payload when the data queue is full, or none: then the packet is dropped.
    pub trim: TrimmingRule,
    /// Size of a trimmed packet (uet-htsim: -trimsize).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1500B"))]
    pub trimmed_bytes: Bytes,
    /// No packet is marked up to this many bytes of data that wait. "derived": a fifth of the packets of the bandwidth-delay
    /// product, rounded up (uet-htsim: -ecn).
    pub ecn_low: Derived<Limit>,
    /// Each packet is marked above this; between both the probability rises in proportion. "derived": four fifths.
    pub ecn_high: Derived<Limit>,
    /// Whether ports to hosts mark, too. "derived": unless the receivers of a transport pace their senders.
    pub ecn_last_hop: Derived<bool>,
}

/// The packet that a full data queue trims or drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TrimmingRule {
    /// A fair coin decides whether the arriving packet or the one at the tail is trimmed.
    Coin,
    /// The arriving packet is trimmed.
    Arriving,
    /// No packet is trimmed: a fair coin decides which of both is dropped (uet-htsim: -disable_trim).
    None,
}

impl Default for Trimming {
    fn default() -> Self {
        Trimming {
            limit: Derived::FromNetwork,
            header_limit: None,
            headers_per_data: 0,
            trim: TrimmingRule::Coin,
            trimmed_bytes: Bytes(64),
            ecn_low: Derived::FromNetwork,
            ecn_high: Derived::FromNetwork,
            ecn_last_hop: Derived::FromNetwork,
        }
    }
}

/// Values of a network that has not been looked at: those of 100 Gbps and a round trip of 12 us in packets of 4150 B.
const LIMIT_LEAST: Limit = Limit::FullPackets(37);
const LOW_LEAST: Limit = Limit::FullPackets(8);
const HIGH_LEAST: Limit = Limit::FullPackets(30);

/// Bandwidth-delay products that a port without trimming holds.
const WITHOUT_TRIMMING: u32 = 5;

impl Trimming {
    fn limit(&self) -> Limit {
        self.limit.or(LIMIT_LEAST)
    }

    /// The thresholds in bytes, given the size of a full packet.
    fn thresholds(&self, full_packet: u64) -> (u64, u64) {
        let bytes = |limit: Limit| limit.room_in_bytes(full_packet).bytes;
        (bytes(self.ecn_low.or(LOW_LEAST)), bytes(self.ecn_high.or(HIGH_LEAST)))
    }

    fn at(&self, full_packet: u64, to_host: bool) -> Model {
        let limit = self.limit();
        let headers = self
            .header_limit
            .unwrap_or(Limit::Bytes(Bytes(limit.room_in_bytes(full_packet).bytes.saturating_mul(2))));
        let port = NdpPort {
            data_limit: limit,
            header_limit: Some(headers),
            headers_per_data: self.headers_per_data,
            trim: if self.trim == TrimmingRule::Arriving { ndp::Trim::Arriving } else { ndp::Trim::Coin },
            trimmed_bytes: self.trimmed_bytes,
            return_to_sender: false,
            limit_counts_wire: true,
        };
        let mut queues = port.model(full_packet);
        queues.cuts = self.trim != TrimmingRule::None;
        queues.at_last_hop = to_host;
        let thresholds = self.thresholds(full_packet);
        let marks = !to_host || self.ecn_last_hop.or(true);
        Model { queues, low: thresholds.0, high: thresholds.1, thresholds, marks, leaving: None }
    }
}

impl Settings for Trimming {
    fn most_packets(&self, full_packet: u64) -> Option<u64> {
        self.limit().room(full_packet).most_packets(full_packet)
    }

    fn offers(&self) -> &'static [Feature] {
        match self.trim {
            TrimmingRule::None => &[Feature::Ecn],
            TrimmingRule::Coin | TrimmingRule::Arriving => &[Feature::Trimming, Feature::Ecn],
        }
    }

    fn for_marks(&self) -> &'static [&'static str] {
        &["ecn_low", "ecn_high", "ecn_last_hop"]
    }

    fn begins_at(&self, feature: Feature) -> Option<&'static str> {
        match feature {
            Feature::Trimming => Some("limit"),
            Feature::Ecn => Some("ecn_low"),
            _ => None,
        }
    }

    fn problems(&self) -> Vec<Problem> {
        if let (Derived::Given(low), Derived::Given(high)) = (self.ecn_low, self.ecn_high) {
            let bytes = |limit: Limit| limit.room_in_bytes(1).bytes;
            let alike = std::mem::discriminant(&low) == std::mem::discriminant(&high);
            if alike && bytes(low) > bytes(high) {
                return vec![Problem::new("ecn_low", "is above ecn_high: no packet would be between both")];
            }
        }
        Vec::new()
    }

    fn unread(&self) -> Vec<Unread> {
        let trims = self.trim != TrimmingRule::None;
        Unread::among([("trimmed_bytes", trims, "trim = \"coin\" or \"arriving\"")])
    }

    fn derived(&self, environment: &Environment, full_packet: u64) -> Values {
        let packets = environment.longest.packets(full_packet).clamp(1, 100_000);
        let share = |fifths: u32| Limit::FullPackets((packets * fifths).div_ceil(5).max(1));
        let times = if self.trim == TrimmingRule::None { WITHOUT_TRIMMING } else { 1 };
        let mut values = Values::new();
        let mut note = |field: &str, given: Derived<Limit>, value: Limit| {
            if given == Derived::FromNetwork {
                values.push((field.into(), json!(value)));
            }
        };
        note("limit", self.limit, Limit::FullPackets(packets * times));
        note("ecn_low", self.ecn_low, share(1));
        note("ecn_high", self.ecn_high, share(4));
        if self.ecn_last_hop == Derived::FromNetwork {
            values.push(("ecn_last_hop".into(), json!(environment.marks_last_hop)));
        }
        values
    }

    fn acts_after_departure(&self) -> bool {
        true
    }
}

impl Build for Trimming {
    type Model = Model;

    fn model(&self, full_packet: u64) -> Model {
        self.at(full_packet, false)
    }

    fn model_at_last_hop(&self, full_packet: u64) -> Model {
        self.at(full_packet, true)
    }
}

/// The queues at one port.
#[derive(Clone, Debug)]
pub struct Model {
    queues: ndp::Model,
    /// Thresholds, in bytes that wait.
    low: u64,
    high: u64,
    /// The same without faults.
    thresholds: (u64, u64),
    /// Whether the port marks at all.
    marks: bool,
    /// The packet of data on the wire.
    leaving: Option<PacketId>,
}

impl Model {
    /// The transmission of a packet ends now: it is marked by what waits behind it. One random number between the thresholds,
    /// none otherwise.
    #[inline]
    fn mark_leaving(&mut self, cx: &mut PortContext) {
        let Some(sent) = self.leaving.take().filter(|_| cx.port.free_at == cx.now) else { return };
        let waiting = self.queues.data_waiting();
        if waiting <= self.low {
            return;
        }
        let marks = waiting > self.high
            || cx.stream.unit() * ((self.high - self.low) as f64) < (waiting - self.low) as f64;
        if marks {
            cx.mark(sent);
        }
    }

    #[inline]
    fn note(&mut self, packet: Option<Queued>) -> Option<Queued> {
        self.leaving = packet.filter(|_| self.marks && self.queues.sends_data()).map(|packet| packet.id);
        packet
    }
}

impl Discipline for Model {
    #[inline(always)]
    fn enqueue(&mut self, id: PacketId, cx: &mut PortContext) {
        self.queues.enqueue(id, cx);
    }

    /// No packet has waited behind the last one, which may have arrived long ago.
    #[inline(always)]
    fn pass(&mut self, id: PacketId, cx: &mut PortContext) -> Option<Queued> {
        let packet = self.queues.pass(id, cx);
        self.note(packet)
    }

    #[inline(always)]
    fn dequeue(&mut self, cx: &mut PortContext) -> Option<Queued> {
        self.mark_leaving(cx);
        let packet = self.queues.dequeue(cx);
        self.note(packet)
    }

    fn scale(&mut self, share: f64) {
        self.queues.scale(share);
        let scaled = |bytes: u64| (bytes as f64 * share) as u64;
        (self.low, self.high) = (scaled(self.thresholds.0), scaled(self.thresholds.1));
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.queues.is_empty()
    }

    fn resident(&self, found: &mut dyn FnMut(PacketId)) {
        self.queues.resident(found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::contract::discipline::tests::FakePort;
    use crate::engine::contract::packet::flag;
    use crate::units::{Rate, Time};

    /// A packet of 1500 B leaves a port of 1 Gbps at 12 us; so many others come, and the next one leaves at that time
    /// in us. Marks above 2 packets that wait are drawn, above 4 certain.
    fn marks(waiting: u32, us: u64) -> u64 {
        let packets = |number| Derived::Given(Limit::FullPackets(number));
        let config =
            Trimming { limit: packets(9), ecn_low: packets(2), ecn_high: packets(4), ..Trimming::default() };
        let (mut model, mut at) = (config.model(1500), FakePort::new(Rate(1_000_000_000)));
        at.passes(&mut model, flag::ECN_CAPABLE);
        at.port.free_at = Time::from_us(12);
        at.now = Time::from_us(us);
        (0..waiting).for_each(|_| at.comes(&mut model, flag::ECN_CAPABLE));
        assert!(model.dequeue(&mut at.cx()).is_some());
        at.losses.marks
    }

    /// The packet that has left is marked by what waits behind it then.
    #[test]
    fn the_packet_that_leaves_is_marked_by_those_behind_it() {
        assert_eq!([0, 2, 5].map(|waiting| marks(waiting.max(1), 12)), [0, 0, 1]);
    }

    /// One that left before the port stood still is gone when the port goes on.
    #[test]
    fn a_packet_that_is_gone_is_not_marked() {
        assert_eq!(marks(5, 20), 0);
    }
}
