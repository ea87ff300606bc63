//! Flow-proportional queueing (FPQ: Morris, "Scalable TCP congestion control", INFOCOM 2000): the queue grows with the
//! number of flows, so that each keeps a window of some packets and few timeouts.
//!
//! The port counts its active flows by a bit vector, derives the queue at which each has the window, and drops arriving
//! packets with the probability at which TCP has that window. A reconstruction from the abstract, the loss model (equation
//! 3.1 of the multipath thesis) and memory of the paper: constants are fields.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::fifo::Fifo;
use super::{Build, Feature, Limit, Settings};
use crate::derived::{Derived, Environment, Values};
use crate::engine::contract::discipline::{Discipline, DropReason, PortContext, Queued};
use crate::engine::contract::rules::Rules;
use crate::ids::PacketId;
use crate::problem::Problem;
use crate::random::{mix, share};
use crate::units::Time;

/// TCP's window in packets is this over the root of the loss rate (Dhamdhere, Jiang and Dovrolis, INFOCOM 2005, for
/// receivers that delay acknowledgements).
const LOSS_CONSTANT: f64 = 0.87;

/// First-in first-out; drops, or marks, at random so that the queue is in proportion to the number of flows (FPQ).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Fpq {
    /// Packets that each flow has in flight at the target: in the queue and on the path (6, from memory of the paper: a
    /// loss rate of 2.1 %, at which most losses are repaired without a timeout).
    #[schemars(range(min = 1, max = 1000))]
    pub window: f64,
    /// Packets on the path while no packet waits, which the queue need not hold. "bdp": the largest bandwidth-delay product
    /// of the network.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub in_flight: Derived<u32>,
    /// The target is not below this number of packets, so that few flows fill the link. "bdp": the largest bandwidth-delay
    /// product of the network.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub least: Derived<u32>,
    /// Bits of the vector; each packet of data sets that of its flow (5000, from memory of the paper). The number of flows
    /// is that of bits set: 500 flows in 5000 bits count as 476, since some share a bit.
    #[schemars(range(min = 64, max = 1_000_000))]
    pub bits: u32,
    /// The port clears each bit once in this time, one after another. Flows count only if they send a packet in it, with full
    /// queues, too. "derived": forty of the longest round trips without queues (from memory of the paper, 4 s where these
    /// take 100 ms).
    #[schemars(extend("x-minimum" = "1us", "x-maximum" = "100s"))]
    pub clear: Derived<Time>,
    /// Whether ECN-capable packets are marked in place of dropped.
    pub ecn: bool,
    /// Limit of the queue, beyond which all packets are dropped: the memory of the port.
    pub limit: Limit,
}

impl Default for Fpq {
    fn default() -> Self {
        Fpq {
            window: 6.0,
            in_flight: Derived::FromNetwork,
            least: Derived::FromNetwork,
            bits: 5000,
            clear: Derived::FromNetwork,
            ecn: false,
            limit: Limit::Packets(10_000),
        }
    }
}

impl Settings for Fpq {
    fn joins_buffer(&self) -> bool {
        true
    }

    fn offers(&self) -> &'static [Feature] {
        if self.ecn { &[Feature::Ecn] } else { &[] }
    }

    fn for_marks(&self) -> &'static [&'static str] {
        &["ecn"]
    }

    fn problems(&self) -> Vec<Problem> {
        let Limit::Packets(limit) = self.limit else { return Vec::new() };
        match self.least {
            Derived::Given(least) if least > limit => {
                vec![Problem::new("least", format!("{least} packets is above limit, {limit} packets"))]
            }
            _ => Vec::new(),
        }
    }

    fn derived(&self, environment: &Environment, full_packet: u64) -> Values {
        let bdp = environment.longest.packets(full_packet).clamp(1, 1_000_000);
        let mut values = Values::new();
        if self.in_flight == Derived::FromNetwork {
            values.push(("in_flight".into(), json!(bdp)));
        }
        if self.least == Derived::FromNetwork {
            values.push(("least".into(), json!(bdp)));
        }
        if self.clear == Derived::FromNetwork {
            let clear =
                environment.longest.round_trips(40).clamp(Time::from_us(1), Time::from_us(100_000_000));
            values.push(("clear".into(), json!(clear)));
        }
        values
    }

    fn port_bytes(&self) -> usize {
        size_of::<State>() + (self.bits as usize).div_ceil(8)
    }

    fn most_packets(&self, full_packet: u64) -> Option<u64> {
        self.limit.room(full_packet).most_packets(full_packet)
    }
}

impl Build for Fpq {
    type Model = Model;

    fn model(&self, full_packet: u64) -> Model {
        Model(Box::new(State {
            queue: Fifo::new(Rules { limit: self.limit.room(full_packet), ..Rules::UNLIMITED }),
            window: self.window,
            in_flight: f64::from(self.in_flight.or(0)),
            least: f64::from(self.least.or(1)),
            ecn: self.ecn,
            flows: Flows::new(self.bits, self.clear.or(Time::from_us(1000))),
        }))
    }
}

/// The flows of which a packet came lately: a bit each, cleared in turn.
#[derive(Clone, Debug)]
struct Flows {
    words: Box<[u64]>,
    bits: u32,
    /// Bits that are set.
    set: u32,
    /// Each bit is cleared once in this time.
    clear: Time,
    /// Bits cleared so far, whether set or not; the next one is this one, modulo their number.
    cleared: u64,
}

impl Flows {
    fn new(bits: u32, clear: Time) -> Flows {
        Flows { words: vec![0; bits.div_ceil(64) as usize].into(), bits, set: 0, clear, cleared: 0 }
    }

    /// Clears the bits whose turn has come.
    fn advance(&mut self, now: Time) {
        let due = u128::from(now.0) * u128::from(self.bits) / u128::from(self.clear.0);
        let due = u64::try_from(due).unwrap_or(u64::MAX);
        // After a whole turn each bit has been cleared.
        let first = self.cleared.max(due.saturating_sub(u64::from(self.bits)));
        for position in first..due {
            let bit = (position % u64::from(self.bits)) as usize;
            let (word, mask) = (&mut self.words[bit / 64], 1 << (bit % 64));
            self.set -= u32::from(*word & mask != 0);
            *word &= !mask;
        }
        self.cleared = due;
    }

    /// A packet of the flow with that key comes.
    fn note(&mut self, key: u64) {
        let bit = share(mix(key), self.bits) as usize;
        let (word, mask) = (&mut self.words[bit / 64], 1 << (bit % 64));
        self.set += u32::from(*word & mask == 0);
        *word |= mask;
    }
}

/// The queue at one port.
#[derive(Clone, Debug)]
pub struct Model(Box<State>);

#[derive(Clone, Debug)]
struct State {
    queue: Fifo,
    window: f64,
    in_flight: f64,
    least: f64,
    ecn: bool,
    flows: Flows,
}

impl State {
    /// The probability that a packet is dropped, with so many packets in the port. At the target it is that at which
    /// so many flows have the window that fills path and queue, (0.87 N / (P + q))^2, and it grows in proportion to the
    /// queue.
    fn probability(&self, packets: u32) -> f64 {
        let flows = f64::from(self.flows.set);
        let target = (self.window * flows - self.in_flight).max(self.least);
        let root = LOSS_CONSTANT * flows / (self.in_flight + target);
        root * root * f64::from(packets) / target
    }
}

impl Discipline for Model {
    fn scale(&mut self, share: f64) {
        self.0.queue.scale(share);
    }

    fn enqueue(&mut self, id: PacketId, cx: &mut PortContext) {
        let (state, packet) = (&mut *self.0, &cx.arena[id]);
        state.flows.advance(cx.now);
        if packet.header.len > 0 {
            let conn = &cx.conns[packet.conn.index()];
            state.flows.note(conn.key ^ u64::from(conn.subflow) << 56);
        }
        let hit = cx.stream.unit() < state.probability(cx.port.packets);
        if hit && !(state.ecn && cx.mark(id)) {
            return cx.drop(id, DropReason::Managed);
        }
        state.queue.enqueue(id, cx);
    }

    fn dequeue(&mut self, cx: &mut PortContext) -> Option<Queued> {
        self.0.queue.dequeue(cx)
    }

    fn is_empty(&self) -> bool {
        self.0.queue.is_empty()
    }

    fn resident(&self, found: &mut dyn FnMut(PacketId)) {
        self.0.queue.resident(found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::contract::discipline::tests::FakePort;
    use crate::engine::contract::packet::flag;
    use crate::units::Rate;

    /// A path of 83 packets, 1000 bits that are cleared within a second.
    fn fpq() -> Fpq {
        Fpq {
            in_flight: Derived::Given(83),
            least: Derived::Given(83),
            bits: 1000,
            clear: Derived::Given(Time::from_us(1_000_000)),
            ..Fpq::default()
        }
    }

    fn ms(count: u64) -> Time {
        Time::from_us(1000 * count)
    }

    /// A port that has counted so many flows.
    fn state(config: &Fpq, flows: u32) -> State {
        let Model(mut state) = config.model(1500);
        state.flows.set = flows;
        *state
    }

    /// A bit counts once, however many packets set it, and until its turn: bit n of 1000 is cleared n + 1 ms after the
    /// beginning of each second. After a second without a packet no bit is left.
    #[test]
    fn flows_count_until_their_bit_is_cleared() {
        let mut flows = Flows::new(1000, Time::from_us(1_000_000));
        let bits: Vec<u64> = (0..3u64)
            .map(|key| {
                let before = flows.words.clone();
                flows.note(key);
                flows.note(key);
                assert_eq!(u64::from(flows.set), key + 1);
                let word = (0..before.len()).find(|&at| before[at] != flows.words[at]).expect("a new bit");
                word as u64 * 64 + u64::from((before[word] ^ flows.words[word]).trailing_zeros())
            })
            .collect();
        let last = *bits.iter().max().expect("three bits");
        flows.advance(ms(last));
        assert_eq!(flows.set, 1, "the bit of the highest number is left: {bits:?}");
        flows.advance(ms(last + 1));
        assert_eq!(flows.set, 0);
        flows.note(0);
        flows.advance(ms(2001 + last));
        assert_eq!((flows.set, flows.words.iter().copied().max()), (0, Some(0)));
    }

    /// Keys 0 to 499 in 5000 bits: of balls in bins 5000 (1 - (1 - 1/5000)^500) = 475.8 bits are set, here within 15.
    #[test]
    fn flows_spread_over_the_bits() {
        let mut flows = Flows::new(5000, Time::from_us(1_000_000));
        (0..500).for_each(|key| flows.note(key));
        assert!((461..=491).contains(&flows.set), "{}", flows.set);
    }

    /// 50 flows of 6 packets: 300, of which the path holds 83; at the 217 of the target the loss rate is (0.87 / 6)^2, at half
    /// of them half. Ten flows leave the least target of 83: (0.87 10 / 166)^2. Without flows no packet is dropped.
    #[test]
    fn the_probability_by_hand() {
        let config = fpq();
        let close =
            |got: f64, expected: f64| assert!((got - expected).abs() < 1e-12, "{got}, not {expected}");
        close(state(&config, 50).probability(217), 0.021025);
        close(state(&config, 50).probability(434), 2.0 * 0.021025);
        close(state(&config, 10).probability(83), (8.7f64 / 166.0).powi(2));
        close(state(&config, 0).probability(1000), 0.0);
    }

    /// With a window of a packet 900 flows are to lose (0.87)^2 of their packets at the target of 817, and all from 1080 on:
    /// these are dropped, or marked where they may be.
    #[test]
    fn hits_drop_or_mark() {
        for (ecn, flags, expected) in
            [(false, flag::ECN_CAPABLE, (0, 1)), (true, flag::ECN_CAPABLE, (1, 0)), (true, 0, (0, 1))]
        {
            let mut at = FakePort::new(Rate(1_000_000_000));
            let mut model = Fpq { ecn, window: 1.0, ..fpq() }.model(1500);
            model.0.flows.set = 900;
            (0..1080).for_each(|_| at.port.join(at.now, 1500));
            at.comes(&mut model, flags);
            assert_eq!((at.losses.marks, at.losses.dropped.packets), expected);
        }
    }

    /// A packet that does not fit is dropped, whatever the probability.
    #[test]
    fn a_full_port_drops() {
        let mut at = FakePort::new(Rate(1_000_000_000));
        let mut model = Fpq { limit: Limit::Packets(2), ..fpq() }.model(1500);
        (0..3).for_each(|_| at.comes(&mut model, 0));
        assert_eq!((at.port.packets, at.losses.dropped.packets), (2, 1));
    }
}
