//! Data packets that wait, found by their ranks: the common ground of pFabric's port and of weighted fair queueing.
//!
//! A short queue is a list in the order of arrival, which is scanned: nothing is faster. A long one, as of the small probes
//! of thousands of senders, has an order by rank at both ends, and lists of the packets of each flow, so that no packet
//! costs a scan. It becomes a short one when it is empty.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::engine::contract::discipline::Queued;
use crate::ids::{ConnId, NodeId};

/// Packets of the longest queue that is scanned.
const SCANNED: usize = 64;
/// No packet.
const NONE: u32 = u32::MAX;

/// A data packet that waits.
#[derive(Clone, Copy, Debug)]
pub struct Data {
    pub rank: u64,
    /// The packet.
    pub queued: Queued,
    /// Its flow: a connection in one of its directions.
    pub conn: ConnId,
    /// See `conn`.
    pub dst: NodeId,
}

/// The data packets of a queue.
#[derive(Clone, Debug, Default)]
pub struct Ranked {
    /// In the order of arrival; empty if the queue is long.
    few: Vec<Data>,
    /// Made for the first long queue, and kept for the next.
    many: Option<Box<Many>>,
}

impl Ranked {
    #[inline]
    fn is_long(&self) -> bool {
        self.many.as_ref().is_some_and(|many| many.live > 0)
    }

    /// Whether nothing waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.few.is_empty() && !self.is_long()
    }

    /// A packet arrives.
    #[inline]
    pub fn push(&mut self, data: Data) {
        if self.few.len() < SCANNED && !self.is_long() { self.few.push(data) } else { self.push_long(data) }
    }

    #[inline(never)]
    fn push_long(&mut self, data: Data) {
        let many = self.many.get_or_insert_default();
        self.few.drain(..).for_each(|data| many.push(data));
        many.push(data);
    }

    /// Takes the packet to send: the earliest one of the flow that has the packet of the lowest rank, the first among equals.
    #[inline]
    pub fn pop(&mut self) -> Option<Data> {
        if self.is_long() {
            return self.many.as_mut()?.pop();
        }
        // The first one among equals.
        let Data { conn, dst, .. } = *self.few.iter().min_by_key(|packet| packet.rank)?;
        let first = self.few.iter().position(|packet| packet.conn == conn && packet.dst == dst)?;
        Some(self.few.remove(first))
    }

    /// Takes the packet to drop for one of that rank, if it ranks behind it: the highest rank, the latest among equals.
    /// Without a rank, any packet ranks behind it.
    #[inline]
    pub fn pop_behind(&mut self, rank: Option<u64>) -> Option<Queued> {
        if self.is_long() {
            return self.many.as_mut()?.pop_behind(rank).map(|data| data.queued);
        }
        // The last one among equals.
        let worst = (0..self.few.len()).max_by_key(|&at| self.few[at].rank);
        let worst = worst.filter(|&at| Some(self.few[at].rank) > rank)?;
        Some(self.few.remove(worst).queued)
    }

    /// All packets, in no order.
    pub fn iter(&self) -> impl Iterator<Item = Queued> + '_ {
        let many = self.many.iter().flat_map(|many| many.slots.iter().filter(|slot| slot.arrival != FREE));
        self.few.iter().map(|data| data.queued).chain(many.map(|slot| slot.data.queued))
    }
}

/// The arrival of a slot without a packet.
const FREE: u64 = u64::MAX;

/// A packet of a long queue.
#[derive(Clone, Copy, Debug)]
struct Slot {
    data: Data,
    /// Its number in the order of arrival.
    arrival: u64,
    /// Its neighbours in its list.
    earlier: u32,
    later: u32,
}

/// A packet by its rank, then its arrival; and its slot.
type Key = (u64, u64, u32);

/// A long queue.
#[derive(Clone, Debug, Default)]
struct Many {
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Packets that wait.
    live: usize,
    arrivals: u64,
    /// The lowest rank first and the highest rank first; with packets that have gone, of which no slot has the arrival.
    best: BinaryHeap<Reverse<Key>>,
    worst: BinaryHeap<Key>,
    /// By the last bits of a connection, the first and the last of its packets, in the order of arrival. Connections that
    /// are open together have near numbers, so that few share a list.
    lists: Vec<(u32, u32)>,
}

impl Many {
    fn list_of(&self, conn: ConnId) -> usize {
        conn.index() & (self.lists.len() - 1)
    }

    fn push(&mut self, data: Data) {
        if self.live == self.lists.len() {
            self.make_lists();
        }
        let slot = Slot { data, arrival: self.arrivals, earlier: NONE, later: NONE };
        self.arrivals += 1;
        self.live += 1;
        let at = match self.free.pop() {
            Some(at) => {
                self.slots[at as usize] = slot;
                at
            }
            None => {
                self.slots.push(slot);
                self.slots.len() as u32 - 1
            }
        };
        self.link(at);
        let key = (data.rank, slot.arrival, at);
        self.best.push(Reverse(key));
        self.worst.push(key);
        if self.best.len().max(self.worst.len()) > 2 * self.live + SCANNED {
            let slots = &self.slots;
            let waits = |&(_, arrival, at): &Key| slots[at as usize].arrival == arrival;
            self.best.retain(|Reverse(key)| waits(key));
            self.worst.retain(waits);
        }
    }

    /// Twice as many lists as there are packets: called when there are as many packets as lists.
    #[cold]
    fn make_lists(&mut self) {
        self.lists = vec![(NONE, NONE); (2 * self.live).max(4 * SCANNED).next_power_of_two()];
        let mut waiting: Vec<(u64, u32)> = (0..self.slots.len() as u32)
            .map(|at| (self.slots[at as usize].arrival, at))
            .filter(|&(arrival, _)| arrival != FREE)
            .collect();
        waiting.sort_unstable();
        waiting.into_iter().for_each(|(_, at)| self.link(at));
    }

    /// Puts a packet at the end of its list.
    fn link(&mut self, at: u32) {
        let list = self.list_of(self.slots[at as usize].data.conn);
        let (first, last) = &mut self.lists[list];
        let before = std::mem::replace(last, at);
        if before == NONE {
            *first = at;
        } else {
            self.slots[before as usize].later = at;
        }
        let slot = &mut self.slots[at as usize];
        (slot.earlier, slot.later) = (before, NONE);
    }

    fn take(&mut self, at: u32) -> Data {
        let Slot { data, earlier, later, .. } = self.slots[at as usize];
        let list = self.list_of(data.conn);
        match earlier {
            NONE => self.lists[list].0 = later,
            earlier => self.slots[earlier as usize].later = later,
        }
        match later {
            NONE => self.lists[list].1 = earlier,
            later => self.slots[later as usize].earlier = earlier,
        }
        self.slots[at as usize].arrival = FREE;
        self.free.push(at);
        self.live -= 1;
        data
    }

    fn pop(&mut self) -> Option<Data> {
        let at = loop {
            let &Reverse((_, arrival, at)) = self.best.peek()?;
            if self.slots[at as usize].arrival == arrival {
                break at;
            }
            self.best.pop();
        };
        // Its entry goes with it, or stays if an earlier packet of the flow is sent in its place.
        let Data { conn, dst, .. } = self.slots[at as usize].data;
        let mut first = self.lists[self.list_of(conn)].0;
        while (self.slots[first as usize].data.conn, self.slots[first as usize].data.dst) != (conn, dst) {
            first = self.slots[first as usize].later;
        }
        Some(self.take(first))
    }

    fn pop_behind(&mut self, rank: Option<u64>) -> Option<Data> {
        loop {
            let &(worst, arrival, at) = self.worst.peek()?;
            if self.slots[at as usize].arrival == arrival {
                return (Some(worst) > rank).then(|| self.take(at));
            }
            self.worst.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ids::PacketId;

    /// The rules as the paper has them: every decision scans all packets in the order of arrival.
    #[derive(Default)]
    struct Scanned(Vec<Data>);

    impl Scanned {
        fn pop(&mut self) -> Option<PacketId> {
            let lowest = *self.0.iter().min_by_key(|data| data.rank)?;
            let own = |data: &Data| (data.conn, data.dst) == (lowest.conn, lowest.dst);
            let first = self.0.iter().position(own)?;
            Some(self.0.remove(first).queued.id)
        }

        fn pop_behind(&mut self, rank: Option<u64>) -> Option<PacketId> {
            let highest =
                self.0.iter().map(|data| data.rank).max().filter(|&highest| Some(highest) > rank)?;
            let last = self.0.iter().rposition(|data| data.rank == highest)?;
            Some(self.0.remove(last).queued.id)
        }
    }

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Push(u64, u32, u32),
        Pop,
        PopBehind(Option<u64>),
    }

    /// More packets come than go, so that the queue is long, and then more go.
    fn steps(pushes: u32) -> impl Strategy<Value = Vec<Step>> {
        let push = (0..20u64, 0..600u32, 0..2u32).prop_map(|(rank, conn, dst)| Step::Push(rank, conn, dst));
        let behind = proptest::option::of(0..20u64).prop_map(Step::PopBehind);
        let step = prop_oneof![pushes => push, 2 => Just(Step::Pop), 1 => behind];
        prop::collection::vec(step, 0..1500)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn a_long_queue_decides_as_a_scan_does(up in steps(9), down in steps(1), again in steps(9)) {
            let (mut ranked, mut scanned) = (Ranked::default(), Scanned::default());
            for (number, step) in [up, down, again].concat().into_iter().enumerate() {
                match step {
                    Step::Push(rank, conn, dst) => {
                        let queued = Queued { id: PacketId(number as u32), size: 1 };
                        let data = Data { rank, queued, conn: ConnId(conn), dst: NodeId(dst) };
                        ranked.push(data);
                        scanned.0.push(data);
                    }
                    Step::Pop => prop_assert_eq!(ranked.pop().map(|data| data.queued.id), scanned.pop()),
                    Step::PopBehind(rank) => {
                        prop_assert_eq!(ranked.pop_behind(rank).map(|queued| queued.id), scanned.pop_behind(rank));
                    }
                }
                prop_assert_eq!(ranked.is_empty(), scanned.0.is_empty());
                prop_assert_eq!(ranked.iter().count(), scanned.0.len());
            }
        }
    }

    #[test]
    fn packets_that_have_gone_take_no_memory() {
        let mut ranked = Ranked::default();
        let push = |ranked: &mut Ranked, number: u32| {
            let queued = Queued { id: PacketId(number), size: 1 };
            ranked.push(Data { rank: 1, queued, conn: ConnId(number), dst: NodeId(0) });
        };
        (0..1000).for_each(|number| push(&mut ranked, number));
        for number in 1000..100_000 {
            push(&mut ranked, number);
            assert_eq!(ranked.pop().map(|data| data.queued.id.0), Some(number - 1000));
        }
        let many = ranked.many.as_ref().expect("a long queue");
        assert!(many.best.len() <= 2100 && many.worst.len() <= 2100 && many.slots.len() == 1001);
    }
}
