//! RED: drops or marks at random by an average of the queue (Floyd and Jacobson, "Random Early Detection Gateways for
//! Congestion Avoidance", IEEE/ACM Transactions on Networking 1993).
//!
//! The steps are those of its figure 2, with the average before each arriving packet.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::waiting::Waiting;
use super::{Build, Feature, Limit, Settings};
use crate::derived::{Derived, Environment, Values};
use crate::engine::contract::discipline::{Discipline, DropReason, PortContext, Queued};
use crate::engine::contract::rules::Rules;
use crate::ids::PacketId;
use crate::problem::Problem;
use crate::units::Bytes;

/// First-in first-out; arriving packets are dropped, or marked, with a probability that grows with the average queue (RED).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Red {
    /// min_th: below this average no packet is dropped (paper: 5 packets). In packets, the average is one of packets;
    /// in bytes or full packets, one of bytes.
    pub min_threshold: Limit,
    /// max_th: from this average on, each packet is dropped, unless `gentle`. In the unit of `min_threshold`; the paper
    /// has at least twice that (section 6), Floyd's later advice three times.
    pub max_threshold: Limit,
    /// w_q, the weight of the present queue in the average (paper: 0.002); 1 takes the queue itself.
    #[schemars(range(min = 0.000001, max = 1.0))]
    pub weight: f64,
    /// max_p, the probability up to which it grows between the thresholds, before drops are spaced (paper: 0.02; Floyd
    /// in 1997: 0.1).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub max_probability: f64,
    /// Whether the probability grows from max_p at max_th to 1 at twice max_th (Floyd, "Recommendation on using the
    /// 'gentle_' variant of RED", 2000), in place of a step at max_th (paper).
    pub gentle: bool,
    /// Whether ECN-capable packets are marked in place of dropped.
    pub ecn: bool,
    /// With `ecn`, whether ECN-capable packets too are dropped where all are (RFC 3168, section 7; ns-3: UseHardDrop).
    pub hard_drop: bool,
    /// Size of the packets that the port could have sent while it was idle; the average shrinks by their
    /// number (paper, section 4: s is the time of one). "derived": a full packet.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1GB"))]
    pub idle_packet: Derived<Bytes>,
    /// Limit of the queue.
    pub limit: Limit,
    /// Whether the packet on the wire counts towards the average and the limit.
    pub limit_counts_wire: bool,
}

impl Default for Red {
    fn default() -> Self {
        Red {
            min_threshold: Limit::Packets(5),
            max_threshold: Limit::Packets(15),
            weight: 0.002,
            max_probability: 0.02,
            gentle: true,
            ecn: false,
            hard_drop: true,
            idle_packet: Derived::FromNetwork,
            limit: Limit::Packets(100),
            limit_counts_wire: true,
        }
    }
}

impl Red {
    fn thresholds(&self, full_packet: u64) -> [f64; 2] {
        [self.min_threshold, self.max_threshold].map(|threshold| match threshold {
            Limit::Packets(packets) => f64::from(packets),
            other => other.room(full_packet).bytes as f64,
        })
    }
}

impl Settings for Red {
    fn joins_buffer(&self) -> bool {
        true
    }

    fn for_marks(&self) -> &'static [&'static str] {
        &["ecn"]
    }

    fn offers(&self) -> &'static [Feature] {
        if self.ecn { &[Feature::Ecn] } else { &[] }
    }

    fn begins_at(&self, feature: Feature) -> Option<&'static str> {
        (feature == Feature::Ecn).then_some("min_threshold")
    }

    fn problems(&self) -> Vec<Problem> {
        let (min, max) = match (self.min_threshold, self.max_threshold) {
            (Limit::Packets(min), Limit::Packets(max)) => (u64::from(min), u64::from(max)),
            (Limit::Bytes(min), Limit::Bytes(max)) => (min.0, max.0),
            (Limit::FullPackets(min), Limit::FullPackets(max)) => (u64::from(min), u64::from(max)),
            _ => return vec![Problem::new("max_threshold", "is not in the unit of min_threshold")],
        };
        if min <= max {
            return Vec::new();
        }
        vec![Problem::new("max_threshold", format!("{max} is below min_threshold, {min}"))]
    }

    fn derived(&self, _environment: &Environment, full_packet: u64) -> Values {
        match self.idle_packet {
            Derived::FromNetwork => vec![("idle_packet".into(), json!(Bytes(full_packet)))],
            Derived::Given(_) => Vec::new(),
        }
    }

    fn port_bytes(&self) -> usize {
        size_of::<State>()
    }

    fn most_packets(&self, full_packet: u64) -> Option<u64> {
        self.limit.room(full_packet).most_packets(full_packet)
    }
}

impl Build for Red {
    type Model = Model;

    fn model(&self, full_packet: u64) -> Model {
        let [min, max] = self.thresholds(full_packet);
        Model(Box::new(State {
            waiting: Waiting::default(),
            rules: Rules {
                limit: self.limit.room(full_packet),
                counts_wire: self.limit_counts_wire,
                ..Rules::UNLIMITED
            },
            in_packets: matches!(self.min_threshold, Limit::Packets(_)),
            min,
            max,
            weight: self.weight,
            max_probability: self.max_probability,
            gentle: self.gentle,
            ecn: self.ecn,
            hard_drop: self.hard_drop,
            idle_packet: self.idle_packet.or(Bytes(full_packet)).0 as u32,
            average: 0.0,
            count: -1,
        }))
    }
}

/// The queue at one port.
#[derive(Clone, Debug)]
pub struct Model(Box<State>);

#[derive(Clone, Debug)]
struct State {
    waiting: Waiting,
    rules: Rules,
    in_packets: bool,
    min: f64,
    max: f64,
    weight: f64,
    max_probability: f64,
    gentle: bool,
    ecn: bool,
    hard_drop: bool,
    idle_packet: u32,
    average: f64,
    /// Packets since the last one that was dropped or marked; -1 while the average is below min_th.
    count: i64,
}

/// Outcome for an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Stays,
    /// It is dropped or marked, with this probability.
    Random(f64),
    /// It is dropped, or marked, for sure.
    Certain,
}

impl State {
    /// The average takes the present queue in; before, it shrinks as if so many packets had found the port idle (paper,
    /// section 4). The packet that ends an idle time counts, too, as in ns-2 and ns-3; in the paper it does not.
    fn update(&mut self, queue: f64, idle: u64) {
        if idle > 0 {
            self.average *= libm::pow(1.0 - self.weight, idle as f64);
        }
        self.average += self.weight * (queue - self.average);
    }

    /// p_b: how probable a drop is before drops are spaced.
    fn fate(&self) -> Fate {
        let (average, p) = (self.average, self.max_probability);
        if average < self.min {
            Fate::Stays
        } else if average < self.max {
            Fate::Random(p * (average - self.min) / (self.max - self.min))
        } else if self.gentle && average < 2.0 * self.max {
            Fate::Random(p + (1.0 - p) * (average - self.max) / self.max)
        } else {
            Fate::Certain
        }
    }

    /// Whether the packet is to be dropped or marked; drops are uniformly spaced (paper, section 7: p_a = p_b
    /// / (1 - count p_b)).
    fn hits(&mut self, fate: Fate, cx: &mut PortContext) -> bool {
        self.count = if fate == Fate::Stays { -1 } else { self.count + 1 };
        let hit = match fate {
            Fate::Stays => false,
            Fate::Certain => true,
            Fate::Random(p) => cx.stream.unit() * (1.0 - self.count as f64 * p) < p,
        };
        if hit {
            self.count = 0;
        }
        hit
    }
}

impl Discipline for Model {
    fn enqueue(&mut self, id: PacketId, cx: &mut PortContext) {
        let (state, size) = (&mut *self.0, cx.arena[id].size);
        let wire = cx.port.wire_bytes;
        let (packets, bytes) = state.rules.counted(cx.port, wire);
        let idle = match cx.now.saturating_sub(cx.port.free_at) {
            time if wire == 0 => time.0 / cx.port.transmission(state.idle_packet).0.max(1),
            _ => 0,
        };
        state.update(if state.in_packets { f64::from(packets) } else { bytes as f64 }, idle);
        let fate = state.fate();
        if state.hits(fate, cx) {
            let hard = fate == Fate::Certain && state.hard_drop;
            if hard || !state.ecn || !cx.mark(id) {
                return cx.drop(id, DropReason::Managed);
            }
        }
        if !state.rules.admits(cx.port, wire, size) {
            state.count = 0;
            return cx.drop(id, DropReason::Full);
        }
        cx.keep(size);
        state.waiting.push(Queued { id, size });
    }

    fn dequeue(&mut self, _cx: &mut PortContext) -> Option<Queued> {
        self.0.waiting.pop()
    }

    fn is_empty(&self) -> bool {
        self.0.waiting.is_empty()
    }

    fn resident(&self, found: &mut dyn FnMut(PacketId)) {
        self.0.waiting.iter().for_each(found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::contract::discipline::tests::FakePort;
    use crate::engine::contract::packet::flag;
    use crate::units::{Rate, Time};

    /// Thresholds of 10 and 30 packets, a probability of 0.1 at the second.
    fn red() -> Red {
        Red {
            min_threshold: Limit::Packets(10),
            max_threshold: Limit::Packets(30),
            max_probability: 0.1,
            ..Red::default()
        }
    }

    fn state(config: &Red, average: f64) -> State {
        let Model(state) = config.model(1500);
        State { average, ..*state }
    }

    /// Paper, section 4, by hand: with weight 1/4 an average of 8 goes to 8 + (16 - 8) / 4 = 10; after an idle time of two
    /// packets first to 8 (3/4)^2 = 4.5, then by an empty queue to 3.375.
    #[test]
    fn the_average_moves_by_its_weight() {
        let config = Red { weight: 0.25, ..red() };
        for (queue, idle, expected) in [(16.0, 0, 10.0), (0.0, 2, 3.375), (8.0, 0, 8.0)] {
            let mut state = state(&config, 8.0);
            state.update(queue, idle);
            assert_eq!(state.average, expected);
        }
    }

    /// p_b goes from 0 at min_th to max_p at max_th, and, if gentle, on to 1 at twice max_th.
    #[test]
    fn the_probability_by_hand() {
        let fate = |gentle, average| state(&Red { gentle, ..red() }, average).fate();
        for gentle in [true, false] {
            assert_eq!(fate(gentle, 9.99), Fate::Stays);
            assert_eq!(fate(gentle, 10.0), Fate::Random(0.0));
            assert_eq!(fate(gentle, 20.0), Fate::Random(0.05));
        }
        assert_eq!(fate(true, 30.0), Fate::Random(0.1));
        assert_eq!(fate(true, 45.0), Fate::Random(0.1 + 0.9 / 2.0));
        assert_eq!(fate(true, 60.0), Fate::Certain);
        assert_eq!(fate(false, 30.0), Fate::Certain);
    }

    /// Paper, section 7, with p_b = 1/4: once a packet has been hit, one of the next three is, whatever is drawn: 1 / (4 - n)
    /// is 1 for n = 3. Below min_th the count begins anew, with one packet more.
    #[test]
    fn a_hit_comes_within_so_many_packets() {
        let mut at = FakePort::new(Rate(1_000_000_000));
        let mut state = State { count: 0, ..state(&red(), 20.0) };
        let mut hits = |state: &mut State, fate| state.hits(fate, &mut at.cx());
        let (mut since, mut seen) = (0, [0; 4]);
        for _ in 0..400 {
            since += 1;
            if hits(&mut state, Fate::Random(0.25)) {
                seen[since] += 1;
                since = 0;
            }
        }
        assert!(seen[1..].iter().all(|&seen| seen > 20), "{seen:?}");
        assert!(hits(&mut state, Fate::Certain) && state.count == 0);
        assert!(!hits(&mut state, Fate::Stays) && state.count == -1);
        assert!(!hits(&mut state, Fate::Random(0.0)) && state.count == 0);
    }

    /// A port that has been idle for the time of three packets, 36 us, and a picosecond less: the average of 8 takes
    /// (1 - 1/2)^3 or (1 - 1/2)^2, and once more for the packet that comes; none while the wire is busy.
    #[test]
    fn idle_time_is_counted_in_packets() {
        for (now, wire, expected) in [(36_000_000, 0, 0.5), (35_999_999, 0, 1.0), (36_000_000, 1500, 4.5)] {
            let mut at = FakePort::new(Rate(1_000_000_000));
            let mut model = Red { weight: 0.5, ..red() }.model(1500);
            model.0.average = 8.0;
            at.now = Time(now);
            if wire > 0 {
                at.port.join(at.now, wire);
            }
            at.port.wire_bytes = wire;
            at.comes(&mut model, 0);
            assert_eq!(model.0.average, expected);
        }
    }

    /// From the upper threshold on packets are marked, or dropped where drops are hard or they may not be marked.
    #[test]
    fn certain_hits_mark_or_drop() {
        for (hard_drop, flags, expected) in
            [(false, flag::ECN_CAPABLE, (1, 0)), (true, flag::ECN_CAPABLE, (0, 1)), (false, 0, (0, 1))]
        {
            let mut at = FakePort::new(Rate(1_000_000_000));
            let mut model = Red { hard_drop, ecn: true, ..red() }.model(1500);
            model.0.average = 100.0;
            at.comes(&mut model, flags);
            assert_eq!((at.losses.marks, at.losses.dropped.packets), expected);
        }
    }

    /// A packet that does not fit counts as a drop: the next ones are counted from it (paper, section 7).
    #[test]
    fn drops_are_counted_from_an_overflow_too() {
        let mut at = FakePort::new(Rate(1_000_000_000));
        let mut model = Red { limit: Limit::Packets(1), max_probability: 0.0, ..red() }.model(1500);
        (model.0.average, model.0.count) = (20.0, 5);
        at.comes(&mut model, 0);
        assert_eq!((model.0.count, at.losses.dropped.packets), (6, 0));
        at.comes(&mut model, 0);
        assert_eq!((model.0.count, at.losses.dropped.packets), (0, 1));
    }
}
