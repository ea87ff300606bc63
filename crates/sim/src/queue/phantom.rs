//! A phantom queue (HULL: Alizadeh et al., "Less is more: trading a little bandwidth for ultra-low latency in the data
//! center", NSDI 2012): marks as if the link were a little slower than it is.
//!
//! The phantom queue is a number of bytes. Each packet that leaves adds its size, and in between the number drains at
//! `drain` times the link's rate. A packet that leaves it above `threshold` is marked, whether any packet waits or not. Packets
//! wait in a drop-tail queue, which stays near empty where senders react.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::fifo::Fifo;
use super::{Build, Feature, Limit, Settings};
use crate::derived::{Derived, Environment, Values};
use crate::engine::contract::discipline::{Discipline, PortContext, Queued};
use crate::engine::contract::rules::Rules;
use crate::ids::PacketId;
use crate::units::{Bytes, Rate, Time};

/// Drop-tail with the marks of a phantom queue that drains below the link's rate (HULL).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Phantom {
    /// Limit of the real queue.
    pub limit: Limit,
    /// Whether the packet on the wire counts towards the limit.
    pub limit_counts_wire: bool,
    /// Share of the link's rate at which the phantom queue drains (HULL: 0.95; from memory of the paper).
    #[schemars(range(min = 0.01, max = 1))]
    pub drain: f64,
    /// Mark above this many bytes in the phantom queue, the packet that leaves included. "derived": 1 KB up to 1 Gbps, 3 KB,
    /// two packets, from 10 Gbps on (HULL, from memory of the paper), in between in proportion.
    #[schemars(extend("x-maximum" = "1GB"))]
    pub threshold: Derived<Bytes>,
}

impl Default for Phantom {
    fn default() -> Self {
        Phantom {
            limit: Limit::Packets(200),
            limit_counts_wire: true,
            drain: 0.95,
            threshold: Derived::FromNetwork,
        }
    }
}

/// The threshold of HULL's paper at that rate, in bytes.
fn threshold(rate: Rate) -> Bytes {
    let gbps = (rate.0 as f64 / 1e9).clamp(1.0, 10.0);
    Bytes((1000.0 + 2000.0 * (gbps - 1.0) / 9.0).round() as u64)
}

impl Settings for Phantom {
    fn joins_buffer(&self) -> bool {
        true
    }

    fn offers(&self) -> &'static [Feature] {
        &[Feature::Ecn]
    }

    fn for_marks(&self) -> &'static [&'static str] {
        &["drain", "threshold"]
    }

    fn derived(&self, environment: &Environment, _full_packet: u64) -> Values {
        match self.threshold {
            Derived::FromNetwork => vec![("threshold".into(), json!(threshold(environment.longest.rate)))],
            Derived::Given(_) => Vec::new(),
        }
    }

    fn most_packets(&self, full_packet: u64) -> Option<u64> {
        self.limit.room(full_packet).most_packets(full_packet)
    }
}

impl Build for Phantom {
    type Model = Model;

    fn model(&self, full_packet: u64) -> Model {
        let limit = self.limit.room(full_packet);
        Model {
            real: Fifo::new(Rules { limit, counts_wire: self.limit_counts_wire, ..Rules::UNLIMITED }),
            drain: self.drain,
            threshold: self.threshold.or(Bytes(3000)).0 as f64,
            bytes: 0.0,
            since: Time::ZERO,
        }
    }
}

/// The real and the phantom queue at one port.
#[derive(Clone, Debug)]
pub struct Model {
    real: Fifo,
    drain: f64,
    threshold: f64,
    /// Bytes in the phantom queue at the time `since`, when a packet left last.
    bytes: f64,
    since: Time,
}

impl Model {
    /// A packet leaves: it joins the phantom queue.
    fn leave(&mut self, packet: Queued, cx: &mut PortContext) -> Queued {
        let elapsed_s = (cx.now - self.since).0 as f64 / 1e12;
        let drained = self.drain * cx.port.rate.0 as f64 / 8.0 * elapsed_s;
        self.bytes = (self.bytes - drained).max(0.0) + f64::from(packet.size);
        self.since = cx.now;
        if self.bytes > self.threshold {
            cx.mark(packet.id);
        }
        packet
    }
}

impl Discipline for Model {
    fn scale(&mut self, share: f64) {
        self.real.scale(share);
    }

    fn enqueue(&mut self, id: PacketId, cx: &mut PortContext) {
        self.real.enqueue(id, cx);
    }

    fn pass(&mut self, id: PacketId, cx: &mut PortContext) -> Option<Queued> {
        let packet = self.real.pass(id, cx)?;
        Some(self.leave(packet, cx))
    }

    fn dequeue(&mut self, cx: &mut PortContext) -> Option<Queued> {
        let packet = self.real.dequeue(cx)?;
        Some(self.leave(packet, cx))
    }

    fn is_empty(&self) -> bool {
        self.real.is_empty()
    }

    fn resident(&self, found: &mut dyn FnMut(PacketId)) {
        self.real.resident(found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::contract::discipline::tests::FakePort;
    use crate::engine::contract::packet::flag;

    /// A packet of 1500 B takes 1.2 us at 10 Gbps.
    const PACKET: u64 = 1_200_000;

    /// Which of so many packets, each leaving that long after the one before, are marked first.
    fn first_marked(config: &Phantom, packets: u64, every: u64) -> Option<u64> {
        let (mut model, mut at) = (config.model(1500), FakePort::new(Rate(10_000_000_000)));
        (0..packets).find(|&number| {
            at.now = Time(number * every);
            at.comes(&mut model, flag::ECN_CAPABLE);
            let marks = at.losses.marks;
            at.leaves(&mut model).expect("it has come");
            at.losses.marks > marks
        })
    }

    fn phantom(drain: f64, bytes: u64) -> Phantom {
        Phantom { drain, threshold: Derived::Given(Bytes(bytes)), ..Phantom::default() }
    }

    /// Back to back, each packet leaves 5 % of its 1500 B in the phantom queue: the packet of number n finds 75 n B and makes
    /// that 1500 + 75 n, above 2999 B from n = 20 on and above 3001 B from n = 21 on. At a drain of 0.9 it is 150 B a packet.
    #[test]
    fn a_full_link_fills_it_by_the_share_that_does_not_drain() {
        assert_eq!(first_marked(&phantom(0.95, 2999), 100, PACKET), Some(20));
        assert_eq!(first_marked(&phantom(0.95, 3001), 100, PACKET), Some(21));
        assert_eq!(first_marked(&phantom(0.9, 2999), 100, PACKET), Some(10));
    }

    /// A link that is used by less than the phantom queue drains is never marked; nor is one whose phantom queue drains at
    /// its own rate.
    #[test]
    fn a_link_with_headroom_is_not_marked() {
        assert_eq!(first_marked(&phantom(0.95, 1500), 1000, PACKET * 20 / 18), None);
        assert_eq!(first_marked(&phantom(1.0, 1501), 1000, PACKET), None);
        // Used by 96 %: each packet comes 1.25 us after the one before, and leaves 1500 - 1484.375 B.
        assert_eq!(first_marked(&phantom(0.95, 2999), 1000, 1_250_000), Some(96));
    }

    /// It has forgotten a burst once that would have drained.
    #[test]
    fn it_is_empty_after_a_pause() {
        let (mut model, mut at) = (phantom(0.95, 2999).model(1500), FakePort::new(Rate(10_000_000_000)));
        for number in 0..20 {
            at.now = Time(number * PACKET);
            at.comes(&mut model, flag::ECN_CAPABLE);
            at.leaves(&mut model).expect("it has come");
        }
        // 2925 B drain in 2.4632 us.
        at.now = at.now + Time(2_463_158);
        at.comes(&mut model, flag::ECN_CAPABLE);
        at.leaves(&mut model).expect("it has come");
        assert_eq!((model.bytes.round(), at.losses.marks), (1500.0, 0));
    }

    /// A packet that does not understand marks passes and counts all the same.
    #[test]
    fn others_count_and_are_not_marked() {
        let (mut model, mut at) = (phantom(0.95, 2999).model(1500), FakePort::new(Rate(10_000_000_000)));
        for number in 0..40 {
            at.now = Time(number * PACKET);
            at.comes(&mut model, 0);
            at.leaves(&mut model).expect("it has come");
        }
        assert_eq!((model.bytes.round(), at.losses.marks), (1500.0 + 39.0 * 75.0, 0));
    }

    #[test]
    fn the_threshold_of_the_paper() {
        let at = |gbps: u64| threshold(Rate(gbps * 1_000_000_000)).0;
        assert_eq!([at(1), at(10), at(100)], [1000, 3000, 3000]);
        assert_eq!(threshold(Rate(5_500_000_000)).0, 2000);
    }
}
