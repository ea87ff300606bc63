//! Greedy maximal matching: sources and destinations of a slot.
//!
//! Source: Sviridov, Bianco and Giaccone, Globecom 2018, sections II-A and III-A: of all queues in which a
//! packet waits, in descending priority, each is taken whose source and whose destination are still free. The
//! priorities of the paper have this in common: while a queue waits, its place among the others does not
//! change. So the order is kept from slot to slot rather than sorted anew; queues that come, or come back
//! after they were served, are sorted among themselves and merged as the slot's one pass goes by. Equal
//! priorities are in the order of a random number that each queue draws when it becomes non-empty, so that no
//! host's position is an advantage.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::backlog::{Head, Listing};
use crate::ids::NodeId;
use crate::random::Stream;

/// Priority of queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Oldest cell first: the queue whose first packet has waited longest since it arrived.
    Ocf,
    /// Shortest remaining job first: the queue whose first packet belongs to the flow with the fewest
    /// remaining bytes.
    Srjf,
    /// Max-min fair: the queue whose first packet has been at the head for longest.
    #[default]
    Mmf,
    /// As in Fastpass: the queue that was granted a slot least recently; first of all those that have not
    /// been granted one.
    LeastRecentlyAllocated,
}

impl Policy {
    /// A queue's place in the order, of which the lowest comes first.
    pub fn key(self, head: &Head) -> u64 {
        match self {
            Policy::Ocf => head.arrived.0,
            Policy::Srjf => head.residual,
            Policy::Mmf => head.since.0,
            Policy::LeastRecentlyAllocated => head.granted.map_or(0, |at| at.0 + 1),
        }
    }
}

/// The queues that wait, in their order.
#[derive(Clone, Debug)]
pub struct Order {
    policy: Policy,
    ties: Stream,
    waiting: Vec<Entry>,
    /// In no order: they have come since the last slot.
    fresh: Vec<Entry>,
    /// The next `waiting`, while a slot's pass writes it.
    kept: Vec<Entry>,
    /// Packets that each host may send, and receive, in a slot.
    units: u8,
    sources: Vec<u8>,
    destinations: Vec<u8>,
}

/// A queue that waits. Its ends are here as well, because the pass needs them of each queue that it meets.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    key: u64,
    tie: u32,
    queue: u32,
    source: u32,
    destination: u32,
}

impl Entry {
    /// Its place: by key, then tie, then queue.
    fn rank(&self) -> u128 {
        u128::from(self.key) << 64 | u128::from(self.tie) << 32 | u128::from(self.queue)
    }
}

impl Order {
    /// For so many hosts, each of which sends and receives up to `units` packets in a slot.
    pub fn new(policy: Policy, hosts: usize, units: u8, ties: Stream) -> Order {
        Order {
            policy,
            ties,
            waiting: Vec::new(),
            fresh: Vec::new(),
            kept: Vec::new(),
            units,
            sources: vec![0; hosts],
            destinations: vec![0; hosts],
        }
    }

    /// Notes a change of a queue in the backlog; it counts from the next slot on.
    pub fn note(&mut self, queue: u32, ends: (NodeId, NodeId), listing: Listing) {
        match listing {
            Listing::Same => {}
            Listing::Enters(head) => self.insert(queue, ends, &head),
            Listing::Moves(head) => {
                self.remove(queue);
                self.insert(queue, ends, &head);
            }
            Listing::Leaves => self.remove(queue),
        }
    }

    /// Whether no queue waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.fresh.is_empty()
    }

    /// Bytes that it takes beyond its own size.
    pub fn heap_bytes(&self) -> usize {
        let entries = self.waiting.capacity() + self.fresh.capacity() + self.kept.capacity();
        entries * size_of::<Entry>() + self.sources.capacity() + self.destinations.capacity()
    }

    /// The ends of the queues that wait.
    pub fn waiting(&self) -> impl Iterator<Item = (NodeId, NodeId)> {
        self.waiting.iter().chain(&self.fresh).map(|entry| (NodeId(entry.source), NodeId(entry.destination)))
    }

    fn insert(&mut self, queue: u32, (source, destination): (NodeId, NodeId), head: &Head) {
        let tie = (self.ties.bits() >> 32) as u32;
        let key = self.policy.key(head);
        self.fresh.push(Entry { key, tie, queue, source: source.0, destination: destination.0 });
    }

    /// Looks for the queue from end to end: this is rare, as queues that are matched leave in the pass.
    fn remove(&mut self, queue: u32) {
        if let Some(place) = self.fresh.iter().position(|entry| entry.queue == queue) {
            self.fresh.swap_remove(place);
        } else {
            let place = self.waiting.iter().position(|entry| entry.queue == queue);
            self.waiting.remove(place.expect("what leaves the order is in it"));
        }
    }

    /// Matches a slot: writes the queues that send a packet, which leave the order until they are noted anew.
    ///
    /// A queue sends at most one packet in a slot, whatever its hosts could.
    pub fn slot(&mut self, matched: &mut Vec<u32>) {
        self.sources.fill(self.units);
        self.destinations.fill(self.units);
        self.fresh.sort_unstable_by_key(Entry::rank);
        let count = self.waiting.len() + self.fresh.len();
        self.kept.resize(count, Entry::default());
        matched.resize(count, 0);
        let mut pass = Pass {
            sources: &mut self.sources,
            destinations: &mut self.destinations,
            kept: &mut self.kept,
            kept_count: 0,
            matched,
            matched_count: 0,
        };
        let mut waiting = &self.waiting[..];
        for fresh in &self.fresh {
            let rank = fresh.rank();
            let before = waiting.iter().position(|entry| entry.rank() > rank).unwrap_or(waiting.len());
            pass.pair(&waiting[..before]);
            pass.pair(std::slice::from_ref(fresh));
            waiting = &waiting[before..];
        }
        pass.pair(waiting);
        let (kept, all) = (pass.kept_count, pass.matched_count);
        self.kept.truncate(kept);
        matched.truncate(all);
        self.fresh.clear();
        std::mem::swap(&mut self.waiting, &mut self.kept);
    }
}

/// The pass of a slot over all queues, in order.
struct Pass<'a> {
    sources: &'a mut [u8],
    destinations: &'a mut [u8],
    kept: &'a mut [Entry],
    kept_count: usize,
    matched: &'a mut [u32],
    matched_count: usize,
}

impl Pass<'_> {
    /// Writes each queue to both lists, and then counts it in one of them: no processor foresees which hosts are free,
    /// and a branch that is guessed wrong costs more than all else here.
    fn pair(&mut self, entries: &[Entry]) {
        for entry in entries {
            let source = &mut self.sources[entry.source as usize];
            let destination = &mut self.destinations[entry.destination as usize];
            let free = u8::from(*source != 0) & u8::from(*destination != 0);
            *source -= free;
            *destination -= free;
            self.matched[self.matched_count] = entry.queue;
            self.matched_count += usize::from(free);
            self.kept[self.kept_count] = *entry;
            self.kept_count += usize::from(1 - free);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::controller::syn::audit;
    use crate::random::Purpose;
    use crate::units::Time;

    const POLICIES: [Policy; 4] = [Policy::Ocf, Policy::Srjf, Policy::Mmf, Policy::LeastRecentlyAllocated];

    fn stream(entity: u64) -> Stream {
        Stream::new(5, 0, Purpose::Ties, entity)
    }

    fn random_head(stream: &mut Stream) -> Head {
        // Few values, so that many are equal.
        let mut value = || stream.below(20);
        let [arrived, since] = [value(), value()].map(Time);
        let (residual, granted) = (value(), value());
        Head { flow: 0, arrived, since, residual, granted: granted.checked_sub(1).map(Time) }
    }

    /// Sorts all that waits and takes from the top.
    fn sort_and_take(waiting: &BTreeMap<u32, Entry>, hosts: usize, units: u8) -> Vec<u32> {
        let mut all: Vec<&Entry> = waiting.values().collect();
        all.sort_by_key(|entry| (entry.key, entry.tie, entry.queue));
        let [mut sources, mut destinations] = [vec![units; hosts], vec![units; hosts]];
        let mut free = |entry: &&Entry| {
            let both = [&mut sources[entry.source as usize], &mut destinations[entry.destination as usize]];
            let free = both.iter().all(|left| **left > 0);
            both.into_iter().for_each(|left| *left -= u8::from(free));
            free
        };
        all.into_iter().filter(|entry| free(entry)).map(|entry| entry.queue).collect()
    }

    #[test]
    fn agrees_with_sorting_anew() {
        for (case, units) in [(0, 1), (1, 1), (2, 1), (3, 1), (4, 2), (5, 3)] {
            let policy = POLICIES[case % POLICIES.len()];
            let (hosts, mut draws) = (12, stream(100 + case as u64));
            let mut order = Order::new(policy, hosts, units, stream(case as u64));
            let mut ties = stream(case as u64); // draws the same as the order
            let mut waiting: BTreeMap<u32, Entry> = BTreeMap::new();
            let (mut matched, mut sizes) = (Vec::new(), 0);
            for _ in 0..2_000 {
                for _ in 0..draws.below(15) {
                    let queue = draws.below((hosts * hosts) as u64) as u32;
                    let (source, destination) = (queue / hosts as u32, queue % hosts as u32);
                    let head = random_head(&mut draws);
                    let listing = match (waiting.contains_key(&queue), draws.below(3)) {
                        (false, _) => Listing::Enters(head),
                        (true, 0) => Listing::Same,
                        (true, 1) => Listing::Moves(head),
                        (true, _) => Listing::Leaves,
                    };
                    order.note(queue, (NodeId(source), NodeId(destination)), listing);
                    match listing {
                        Listing::Same => {}
                        Listing::Leaves => {
                            waiting.remove(&queue);
                        }
                        Listing::Enters(head) | Listing::Moves(head) => {
                            let (key, tie) = (policy.key(&head), (ties.bits() >> 32) as u32);
                            waiting.insert(queue, Entry { key, tie, queue, source, destination });
                        }
                    }
                }
                let expected = sort_and_take(&waiting, hosts, units);
                order.slot(&mut matched);
                assert_eq!(matched, expected, "{policy:?}");
                let ends = |queue: &u32| (NodeId(queue / hosts as u32), NodeId(queue % hosts as u32));
                let pairs: Vec<_> = matched.iter().map(ends).collect();
                waiting.retain(|queue, _| !matched.contains(queue));
                assert_eq!(audit::matching(&pairs, waiting.keys().map(ends), units), Ok(()));
                sizes += matched.len();
            }
            assert!(sizes > 2_000, "{sizes} queues in 2,000 slots");
        }
    }

    #[test]
    fn each_policy_prefers_what_it_says() {
        let head = |arrived, since, residual, granted| Head {
            flow: 0,
            arrived: Time(arrived),
            since: Time(since),
            residual,
            granted,
        };
        // Each is the first by one policy: host 0 to hosts 1 to 4.
        let heads = [
            head(1, 8, 900, Some(Time(8))),
            head(5, 7, 40, Some(Time(7))),
            head(4, 4, 800, Some(Time(3))),
            head(9, 9, 700, None),
        ];
        for (first, policy) in POLICIES.into_iter().enumerate() {
            let mut order = Order::new(policy, 5, 1, stream(0));
            for (queue, head) in (0..).zip(heads) {
                order.note(queue, (NodeId(0), NodeId(queue + 1)), Listing::Enters(head));
            }
            let mut matched = Vec::new();
            order.slot(&mut matched);
            assert_eq!(matched, [first as u32], "{policy:?}");
        }
    }

    #[test]
    fn equal_queues_take_turns_by_chance() {
        let mut first = [0; 4];
        for entity in 0..4_000 {
            let mut order = Order::new(Policy::Mmf, 5, 1, stream(entity));
            for queue in 0..4 {
                let head = Head { flow: 0, arrived: Time(1), since: Time(1), residual: 1, granted: None };
                order.note(queue, (NodeId(queue + 1), NodeId(0)), Listing::Enters(head));
            }
            let mut matched = Vec::new();
            order.slot(&mut matched);
            first[matched[0] as usize] += 1;
        }
        // 1,000 each, standard deviation 27.
        assert!(first.iter().all(|&count: &i32| (count - 1_000).abs() < 140), "{first:?}");
    }
}
