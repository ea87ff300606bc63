//! Repathing by hosts: a sender whose packets are marked gives its connection another label, and thereby another path.
//!
//! Sources: Kabbani, Vamanan, Hasan and Duchene, "FlowBender: flow-level adaptive routing for improved latency and throughput in
//! datacenter networks", CoNEXT 2014; Qureshi et al., "PLB: congestion signals are simple and effective for network load
//! balancing", SIGCOMM 2022, as Linux has it (net.ipv4.tcp_plb_*). Both judge a round trip by the share of its bytes whose
//! acknowledgements say that they were marked. The label stands for the fields that switches hash: the IPv6 flow label, or a TTL.
//! Packets in flight stay on the old path.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::problem::Problem;
use crate::random::{Stream, mix};
use crate::units::Time;

/// The rule by which a sender changes the path of a connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Repath {
    /// FlowBender: the next of a few labels after some congested round trips, and after a timeout.
    FlowBender(FlowBender),
    /// PLB: a random label after more congested round trips, or after fewer where nothing is in flight, and after a timeout.
    Plb(Plb),
}

/// FlowBender.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FlowBender {
    /// A round trip is congested if more than this share of its bytes was marked.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub threshold: f64,
    /// Congested round trips in succession after which the label changes.
    #[schemars(range(min = 1, max = 1000))]
    pub rounds: u32,
    /// Labels of a connection, which it takes in turn. Two of them may lead by the same path.
    #[schemars(range(min = 2, max = 65536))]
    pub labels: u32,
}

impl Default for FlowBender {
    fn default() -> Self {
        FlowBender { threshold: 0.05, rounds: 1, labels: 8 }
    }
}

/// PLB.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Plb {
    /// A round trip is congested if at least this share of its bytes was marked.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub threshold: f64,
    /// Congested round trips in succession after which the label changes.
    #[schemars(range(min = 1, max = 1000))]
    pub rounds: u32,
    /// Congested round trips in succession after which it changes if nothing is in flight then.
    #[schemars(range(min = 1, max = 1000))]
    pub idle_rounds: u32,
    /// After a timeout, which changes the label by itself, round trips do not count for a random time from this to twice this.
    #[schemars(extend("x-minimum" = "0s", "x-maximum" = "1000s"))]
    pub suspend: Time,
}

impl Default for Plb {
    fn default() -> Self {
        Plb { threshold: 0.5, rounds: 12, idle_rounds: 3, suspend: Time::from_us(60_000_000) }
    }
}

impl Repath {
    /// Combinations that cannot be meant.
    pub fn problems(&self) -> Vec<Problem> {
        match self {
            Repath::Plb(Plb { rounds, idle_rounds, .. }) if idle_rounds > rounds => {
                let why = format!("{idle_rounds} is above rounds, which is {rounds}: it would never count");
                vec![Problem::new("plb.idle_rounds", why)]
            }
            _ => Vec::new(),
        }
    }
}

/// An acknowledgement, as repathing sees it.
#[derive(Clone, Copy, Debug)]
pub struct Acked {
    /// Bytes that it acknowledges.
    pub bytes: u64,
    /// Whether it says that they were marked.
    pub marked: bool,
    /// All bytes up to this sequence number are acknowledged.
    pub una: u64,
    /// The sequence number of the next new byte: no byte from it on has been sent.
    pub next: u64,
    pub now: Time,
}

/// The state of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct Repathing {
    /// The round trip ends when all bytes before this are acknowledged.
    round_end: u64,
    acked: u64,
    marked: u64,
    /// Congested round trips in succession.
    congested: u32,
    /// Round trips do not count before this time.
    resumes: Time,
    /// Labels so far: FlowBender's V.
    changes: u32,
    /// The label of the connection as it opened, and now.
    first: u32,
    label: u32,
    stream: Stream,
}

impl Repathing {
    /// Of a connection with that label; the stream is its own.
    pub fn new(label: u32, stream: Stream) -> Repathing {
        Repathing { first: label, label, stream, ..Repathing::default() }
    }

    /// The label of packets that are sent now.
    pub fn label(&self) -> u32 {
        self.label
    }

    /// An acknowledgement of new bytes. Whether it changes the label.
    pub fn on_ack(&mut self, config: &Repath, ack: Acked) -> bool {
        self.acked += ack.bytes;
        self.marked += if ack.marked { ack.bytes } else { 0 };
        if ack.una < self.round_end {
            return false;
        }
        self.round_end = ack.next;
        let (acked, marked) = (std::mem::take(&mut self.acked), std::mem::take(&mut self.marked));
        if ack.now < self.resumes || acked == 0 {
            return false;
        }
        let share = marked as f64 / acked as f64;
        let idle = ack.una >= ack.next;
        let (congested, due) = match config {
            Repath::FlowBender(own) => (share > own.threshold, own.rounds),
            Repath::Plb(own) => (share >= own.threshold, if idle { own.idle_rounds } else { own.rounds }),
        };
        self.congested = if congested { self.congested + 1 } else { 0 };
        let changes = self.congested >= due;
        if changes {
            self.change(config);
        }
        changes
    }

    /// A timeout, which changes the label.
    pub fn on_timeout(&mut self, config: &Repath, now: Time) {
        if let Repath::Plb(own) = config {
            let more = self.stream.below(own.suspend.0.max(1));
            self.resumes = Time(now.0.saturating_add(own.suspend.0).saturating_add(more));
        }
        self.change(config)
    }

    fn change(&mut self, config: &Repath) {
        self.congested = 0;
        self.changes += 1;
        self.label = match config {
            Repath::Plb(_) => self.stream.bits() as u32,
            Repath::FlowBender(own) => match self.changes % own.labels {
                0 => self.first,
                value => mix(u64::from(self.first) << 32 | u64::from(value)) as u32,
            },
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    fn opened() -> Repathing {
        Repathing::new(7, Stream::new(1, 0, Purpose::Repath, 3))
    }

    /// Rounds of ten acknowledgements of 1000 B each, of which so many are marked; whether each round changed the label. In the last
    /// column whether nothing is in flight as a round ends.
    fn rounds(config: &Repath, marked: &[u64], idle: bool) -> Vec<bool> {
        let mut state = opened();
        let mut una = 0;
        let mut ack = |marked, ends: bool| {
            una += 1000;
            let next = if ends && idle { una } else { una + 10_000 };
            state.on_ack(config, Acked { bytes: 1000, marked, una, next, now: Time::ZERO })
        };
        // The first acknowledgement ends a round by itself: none has begun.
        ack(false, idle);
        let round = |marks: &u64| {
            let all: Vec<bool> = (0..10).map(|number| ack(number < *marks, number == 9)).collect();
            assert!(!all[..9].contains(&true), "a round trip has one verdict");
            all[9]
        };
        marked.iter().map(round).collect()
    }

    /// LIT-LB-PLB-TIME: all round trips marked, the twelfth changes the label, and counting begins anew; half marked counts, less
    /// begins anew.
    #[test]
    fn the_twelfth_congested_round_trip_changes_the_label() {
        let plb = Repath::Plb(Plb::default());
        let changed = rounds(&plb, &[10; 25], false);
        let at: Vec<usize> = (0..25).filter(|round| changed[*round]).collect();
        assert_eq!(at, [11, 23]);
        assert!(rounds(&plb, &[5; 12], false)[11]);
        let mut broken = [5; 12];
        broken[6] = 4;
        assert!(!rounds(&plb, &broken, false).contains(&true));
    }

    /// Where nothing is in flight at the end of a round trip, three are enough; a round trip is each acknowledgement then.
    #[test]
    fn an_idle_connection_changes_after_three() {
        let plb = Repath::Plb(Plb::default());
        let mut state = opened();
        let changed: Vec<bool> = (1..=7)
            .map(|number| {
                let ack = Acked {
                    bytes: 1000,
                    marked: true,
                    una: 1000 * number,
                    next: 1000 * number,
                    now: Time::ZERO,
                };
                state.on_ack(&plb, ack)
            })
            .collect();
        assert_eq!(changed, [false, false, true, false, false, true, false]);
    }

    /// FlowBender: one round trip with more than 5 % marked is enough, one of twenty acknowledgements is not; its labels come in
    /// turn, the first one again after seven others.
    #[test]
    fn labels_are_taken_in_turn() {
        let config = Repath::FlowBender(FlowBender::default());
        assert_eq!(rounds(&config, &[0, 1, 0, 10], false), [false, true, false, true]);
        let strict = Repath::FlowBender(FlowBender { threshold: 0.1, ..FlowBender::default() });
        assert_eq!(rounds(&strict, &[1, 2], false), [false, true]);
        let mut state = opened();
        let mut next = || {
            state.on_timeout(&config, Time::ZERO);
            state.label()
        };
        let mut labels: Vec<u32> = (0..8).map(|_| next()).collect();
        assert_eq!((labels[7], next()), (7, labels[0]));
        labels.sort_unstable();
        labels.dedup();
        assert_eq!(labels.len(), 8);
    }

    /// After a timeout no round trip counts for one to two times the suspension.
    #[test]
    fn a_timeout_suspends_plb() {
        let suspend = Time::from_us(100);
        let plb = Repath::Plb(Plb { suspend, rounds: 1, idle_rounds: 1, ..Plb::default() });
        let mut state = opened();
        state.on_timeout(&plb, Time::from_us(50));
        let mut changes = |us: u64| {
            let ack =
                Acked { bytes: 1000, marked: true, una: 1000 * us, next: 1000 * us, now: Time::from_us(us) };
            state.on_ack(&plb, ack)
        };
        assert!(!changes(149));
        assert!(changes(250));
    }

    /// The suspension is drawn from 100 to 200 us (Linux: `tcp_plb_update_state_upon_rto`): 150 us on average, within
    /// three deviations over 2000 timeouts.
    #[test]
    fn suspensions_are_drawn() {
        let plb = Repath::Plb(Plb { suspend: Time::from_us(100), ..Plb::default() });
        let mut state = opened();
        let mut drawn = || {
            state.on_timeout(&plb, Time::from_us(50));
            (state.resumes - Time::from_us(50)).0 as f64 / 1e6
        };
        let all: Vec<f64> = (0..2000).map(|_| drawn()).collect();
        assert!(all.iter().all(|us| (100.0..200.0).contains(us)));
        let mean = all.iter().sum::<f64>() / 2000.0;
        assert!((mean - 150.0).abs() < 3.0 * 100.0 / (12.0 * 2000.0_f64).sqrt(), "{mean}");
    }

    /// LIT-LB-PLB-TIME: if a share u of the paths is congested, a free one is found after 1 / (1 - u) labels on average; within
    /// three deviations over 2000 connections.
    #[test]
    fn a_free_path_is_found_after_as_many_labels_as_are_congested() {
        let plb = Repath::Plb(Plb::default());
        let mut state = opened();
        let mut labels = 0;
        for _ in 0..2000 {
            loop {
                labels += 1;
                // Three of four paths are congested.
                state.on_timeout(&plb, Time::ZERO);
                if state.label().is_multiple_of(4) {
                    break;
                }
            }
        }
        let mean = f64::from(labels) / 2000.0;
        assert!((mean - 4.0).abs() < 3.0 * 12f64.sqrt() / 2000f64.sqrt(), "{mean}");
    }
}
