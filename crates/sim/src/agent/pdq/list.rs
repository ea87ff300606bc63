//! The flows that a port keeps, the most critical first: twice as many as send, by the flow's own number.

use super::entry::Entry;
use super::order::Ranking;
use crate::engine::contract::numbers::Numbers;
use crate::ids::FlowId;
use crate::units::Time;

/// The list of a port.
#[derive(Clone, Debug)]
pub struct List {
    entries: Vec<Entry>,
    ranking: Ranking,
    most: usize,
}

impl List {
    /// An empty one that holds at most so many flows.
    pub fn new(ranking: Ranking, most: usize) -> List {
        List { entries: Vec::new(), ranking, most }
    }

    /// Flows in it.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// The flows, the most critical first.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The flow at that place.
    pub fn entry(&self, place: usize) -> &Entry {
        &self.entries[place]
    }

    /// The same, for changes of fields that it is not sorted by.
    pub fn entry_mut(&mut self, place: usize) -> &mut Entry {
        &mut self.entries[place]
    }

    /// The place of a flow.
    #[inline]
    pub fn find(&self, flow: FlowId) -> Option<usize> {
        self.entries.iter().position(|entry| entry.flow == flow)
    }

    /// Room for flows: twice as many as send, and for two at least.
    fn room(&self) -> usize {
        let sending = self.entries.iter().filter(|entry| entry.rate > 0).count();
        (2 * sending.max(1)).min(self.most)
    }

    /// A flow as its packet reports it: its place now, if it has or finds one.
    #[inline(always)]
    pub fn note(&mut self, new: Entry, now: Time) -> Option<usize> {
        let Some(place) = self.find(new.flow) else { return self.enter(new, now) };
        let Entry { rate, given, paused_by, .. } = self.entries[place];
        self.entries[place] = Entry { rate, given, paused_by, ..new };
        Some(self.ranking.place(&mut self.entries, place, now))
    }

    /// A flow that is not in the list: its place, if it finds one.
    #[inline(never)]
    fn enter(&mut self, new: Entry, now: Time) -> Option<usize> {
        let room = self.room();
        let last = self.len();
        self.entries.push(new);
        let place = self.ranking.place(&mut self.entries, last, now);
        self.entries.truncate(room);
        (place < room).then_some(place)
    }

    /// Takes a flow off, if it is there.
    pub fn remove(&mut self, flow: FlowId) {
        if let Some(place) = self.find(flow) {
            self.entries.remove(place);
        }
    }

    /// Flows get their numbers.
    pub fn number(&mut self, numbers: &Numbers) {
        for entry in &mut self.entries {
            numbers.give(&mut entry.flow);
        }
    }

    /// Removes stale flows.
    pub fn expire(&mut self, now: Time) {
        self.entries.retain(|entry| entry.expires > now);
    }

    /// Algorithm 2: the capacity that more critical flows leave, in bit/s. Those that will end within so many
    /// round trips together are not counted. The port's mean round trip, in ps, is used for unknown ones.
    pub fn available(&self, place: usize, capacity: f64, early_start: f64, rtt: u64) -> f64 {
        let (mut started, mut taken) = (0.0, 0.0);
        for entry in &self.entries[..place] {
            let rtt = if entry.rtt == 0 { rtt } else { entry.rtt };
            let rounds = entry.left as f64 / rtt as f64;
            if rounds < early_start && started < early_start {
                started += rounds;
            } else {
                taken += entry.rate as f64;
                if taken >= capacity {
                    return 0.0;
                }
            }
        }
        capacity - taken
    }

    /// The capacity that all its flows leave, in bit/s.
    pub fn left(&self, capacity: f64) -> f64 {
        let given: f64 = self.entries.iter().map(|entry| entry.rate.max(entry.given) as f64).sum();
        (capacity - given).max(0.0)
    }

    /// Inconsistencies in it.
    pub fn audit(&self, found: &mut dyn FnMut(String)) {
        if self.len() > self.most {
            found(format!("{} flows are in a list for {}", self.len(), self.most));
        }
        for pair in self.entries.windows(2) {
            if !self.ranking.is_sorted(&pair[0], &pair[1]) {
                found(format!("flow {} stands before flow {}", pair[0].flow, pair[1].flow));
            }
        }
    }

    /// Bytes that it takes beyond its own size.
    pub fn heap_bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Entry>()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{NO_PORT, Order, PdqPort};
    use super::*;
    use crate::units::Rate;

    const NOW: Time = Time::from_us(1000);

    /// A flow as a packet reports it, with times in microseconds.
    fn flow(id: u32, due: u64, left: u64) -> Entry {
        Entry {
            flow: FlowId(id),
            due: if due == 0 { Time::NEVER } else { Time::from_us(due) },
            left: Time::from_us(left).0,
            rtt: Time::from_us(100).0,
            rate: 0,
            given: 0,
            paused_by: NO_PORT,
            expires: NOW,
        }
    }

    fn list(order: Order, most: usize) -> List {
        List::new(order.ranking(&PdqPort::default(), Rate(1_000_000_000)), most)
    }

    fn flows(list: &List) -> Vec<u32> {
        list.entries().iter().map(|entry| entry.flow.0).collect()
    }

    /// Due first; of those that are due at once, or never, the smaller one; of equals the earlier one.
    #[test]
    fn the_most_critical_stand_first() {
        let given = [
            flow(1, 0, 10),
            flow(2, 5000, 90),
            flow(3, 0, 5),
            flow(4, 4000, 99),
            flow(5, 5000, 80),
            flow(0, 0, 10),
        ];
        for (order, expected) in [
            (Order::Pdq, [4, 5, 2, 3, 0, 1]),
            (Order::Edf, [4, 2, 5, 0, 1, 3]),
            (Order::Sjf, [3, 0, 1, 5, 2, 4]),
        ] {
            let mut list = list(order, 100);
            for entry in given {
                let place = list.note(Entry { rate: 0, ..entry }, NOW).expect("room");
                list.entry_mut(place).rate = 1;
            }
            assert_eq!(flows(&list), expected);
        }
    }

    /// Twice as many as send, two at least; a flow that does not fit is refused, and a more critical one
    /// drives the last one out.
    #[test]
    fn the_list_has_room_for_twice_as_many_as_send() {
        let mut list = list(Order::Pdq, 5);
        assert_eq!(list.note(flow(1, 0, 100), NOW), Some(0));
        assert_eq!(list.note(flow(2, 0, 200), NOW), Some(1));
        assert_eq!(list.note(flow(3, 0, 300), NOW), None);
        assert_eq!(list.note(flow(4, 0, 50), NOW), Some(0));
        assert_eq!(flows(&list), [4, 1]);
        for place in 0..2 {
            list.entry_mut(place).rate = 500;
        }
        assert_eq!(list.note(flow(3, 0, 300), NOW), Some(2));
        assert_eq!(list.note(flow(2, 0, 200), NOW), Some(2));
        assert_eq!(list.note(flow(5, 0, 400), NOW), None);
        assert_eq!(flows(&list), [4, 1, 2, 3]);
        // All of them send, and the list holds five at most.
        (0..4).for_each(|place| list.entry_mut(place).rate = 250);
        assert_eq!(list.note(flow(5, 0, 400), NOW), Some(4));
        assert_eq!(list.note(flow(6, 0, 500), NOW), None);
        list.remove(FlowId(1));
        list.expire(NOW);
        assert_eq!(list.len(), 0);
    }

    /// The new values of a packet move its flow, and keep the rates that ports gave it.
    #[test]
    fn a_flow_moves_as_it_sends() {
        let mut list = list(Order::Pdq, 5);
        list.note(flow(1, 0, 100), NOW);
        list.note(flow(2, 0, 200), NOW);
        list.entry_mut(1).rate = 7;
        assert_eq!(list.note(flow(2, 0, 90), NOW), Some(0));
        assert_eq!((flows(&list), list.entry(0).rate), (vec![2, 1], 7));
    }

    /// By hand, of 1000: three flows send at 300, 200 and 400. The first has one round trip left, the second half a one, the
    /// third ten. K = 2 passes over both, K = 1.2 over the second as well, as the first alone is below it; K = 0.8 over the
    /// second only; K = 0 over none.
    #[test]
    fn flows_that_are_nearly_through_take_nothing() {
        let mut list = list(Order::Sjf, 10);
        for (id, left, rate) in [(1, 100, 300), (2, 50, 200), (3, 1000, 400), (4, 2000, 0)] {
            let place = list.note(flow(id, 0, left), NOW).expect("room");
            list.entry_mut(place).rate = rate;
        }
        assert_eq!(flows(&list), [2, 1, 3, 4]);
        let rtt = Time::from_us(100).0;
        for (early, expected) in [(2.0, 600.0), (1.2, 600.0), (0.8, 300.0), (0.0, 100.0)] {
            assert_eq!(list.available(3, 1000.0, early, rtt), expected, "K = {early}");
        }
        assert_eq!(list.available(2, 450.0, 0.0, rtt), 0.0);
        assert_eq!(list.available(0, 450.0, 0.0, rtt), 450.0);
        // The first two are through in 0.5 and 1 round trips: with K = 0.5 neither is passed over.
        assert_eq!(list.available(3, 1000.0, 0.5, rtt), 100.0);
        assert_eq!(list.left(1000.0), 100.0);
        list.entry_mut(3).given = 150;
        assert_eq!(list.left(1000.0), 0.0);
    }

    /// Three flows with a round trip left each, at 300, 200 and 400 of 1000: K = 2.5 passes over all three, K = 1.5 over two, as
    /// they have more than K together. The third takes its 400.
    #[test]
    fn early_start_is_for_k_round_trips_together() {
        let mut list = list(Order::Sjf, 10);
        for (id, left, rate) in [(1, 100, 300), (2, 100, 200), (3, 100, 400), (4, 2000, 0)] {
            let place = list.note(flow(id, 0, left), NOW).expect("room");
            list.entry_mut(place).rate = rate;
        }
        assert_eq!(flows(&list), [1, 2, 3, 4]);
        let rtt = Time::from_us(100).0;
        for (early, expected) in [(2.5, 1000.0), (1.5, 600.0), (1.0, 100.0)] {
            assert_eq!(list.available(3, 1000.0, early, rtt), expected, "K = {early}");
        }
    }

    /// The worked example of PEQ, in slots of 1 KB at 1 Gbps, 8 us: left and time left. PEQ serves f4, f3, f1, and f2 fits
    /// nowhere; earliest deadline first is f2, f1, f4, f3. And the example on which the printed algorithm differs from the
    /// text around it: c, a, b.
    #[test]
    fn peq_serves_as_in_its_example() {
        let slot = 8;
        let sorted = |order, jobs: &[(u64, u64)]| {
            let mut list = list(order, 100);
            for (at, &(left, time)) in jobs.iter().enumerate() {
                let place =
                    list.note(flow(at as u32 + 1, 1000 + time * slot, left * slot), NOW).expect("room");
                list.entry_mut(place).rate = 1;
            }
            flows(&list)
        };
        let jobs = [(10, 23), (13, 15), (4, 26), (3, 25)];
        assert_eq!(sorted(Order::Peq, &jobs), [4, 3, 1, 2]);
        assert_eq!(sorted(Order::Pdq, &jobs), [2, 1, 4, 3]);
        assert_eq!(sorted(Order::Peq, &[(2, 50), (3, 50), (10, 12)]), [3, 1, 2]);
        // The third would be done after 12 slots before the second, and the first cannot wait for it: it fits there if it is
        // due after 12 slots, and behind all others if it is due before.
        assert_eq!(sorted(Order::Peq, &[(5, 8), (6, 60), (7, 12)]), [1, 3, 2]);
        assert_eq!(sorted(Order::Peq, &[(5, 8), (6, 60), (7, 8)]), [1, 2, 3]);
    }

    /// A flow without a deadline can wait for any other, and one that is late fits nowhere.
    #[test]
    fn peq_with_and_without_deadlines() {
        let mut list = list(Order::Peq, 100);
        for entry in [flow(1, 0, 80), flow(2, 1000, 8), flow(3, 1200, 160), flow(4, 0, 8)] {
            let place = list.note(entry, NOW).expect("room");
            list.entry_mut(place).rate = 1;
        }
        // The third is put where it is in time, as near to the head as can be: the others can wait. The second is due now.
        assert_eq!(flows(&list), [3, 4, 1, 2]);
    }

    #[test]
    fn the_audit_finds_flows_out_of_order() {
        let mut list = list(Order::Pdq, 2);
        list.note(flow(1, 0, 100), NOW);
        list.note(flow(2, 0, 200), NOW);
        let found = |list: &List| {
            let mut found = Vec::new();
            list.audit(&mut |what| found.push(what));
            found
        };
        assert_eq!(found(&list), Vec::<String>::new());
        list.entry_mut(0).left = u64::MAX;
        assert_eq!(found(&list), ["flow 1 stands before flow 2"]);
    }
}
