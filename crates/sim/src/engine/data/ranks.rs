//! Connections that are ready by rank: at each host's port the one of the lowest rank goes first.
//!
//! A binary heap whose connections know their places in it, so that one gets another rank, or leaves, without a search.

use super::conn::{Conn, NOWHERE};
use crate::ids::ConnId;

/// The connections that are ready by rank at one port.
#[derive(Clone, Debug, Default)]
pub struct Ranks {
    /// The two behind a place are at twice its number and one or two more; neither goes before it.
    heap: Vec<Ranked>,
    joined: u32,
    /// The one that went first last, unless it has ended.
    last: Option<ConnId>,
}

#[derive(Clone, Copy, Debug)]
struct Ranked {
    rank: u64,
    /// Its number among those that have joined.
    number: u32,
    id: ConnId,
}

impl Ranked {
    fn goes_before(&self, other: &Ranked) -> bool {
        (self.rank, self.number) < (other.rank, other.number)
    }
}

impl Ranks {
    /// A connection is ready by rank, or is so already and gets another rank.
    pub fn set(&mut self, conns: &mut [Conn], id: ConnId, rank: u64) {
        let place = conns[id.index()].sender.rank_at as usize;
        if place == NOWHERE as usize {
            self.heap.push(Ranked { rank, number: self.joined, id });
            self.joined = self.joined.wrapping_add(1);
            return self.settle(conns, self.heap.len() - 1);
        }
        if self.heap[place].rank != rank {
            self.heap[place].rank = rank;
            self.settle(conns, place);
        }
    }

    /// A connection is no longer ready by rank.
    pub fn leave(&mut self, conns: &mut [Conn], id: ConnId) {
        let place = std::mem::replace(&mut conns[id.index()].sender.rank_at, NOWHERE) as usize;
        if place == NOWHERE as usize {
            return;
        }
        self.heap.swap_remove(place);
        if place < self.heap.len() {
            self.settle(conns, place);
        }
    }

    /// The sender of a connection has ended: its slot may pass on to another.
    pub fn end(&mut self, conns: &mut [Conn], id: ConnId) {
        self.leave(conns, id);
        self.last = self.last.filter(|&last| last != id);
    }

    /// The one that goes first now: of the lowest rank; among equals the one that went first last, then the one that has its
    /// turn, then the one that joined first.
    pub fn choose(&mut self, conns: &[Conn], turn: ConnId) -> Option<ConnId> {
        let first = *self.heap.first()?;
        let is_equal = |id: &ConnId| {
            let place = conns[id.index()].sender.rank_at as usize;
            self.heap.get(place).is_some_and(|other| other.id == *id && other.rank == first.rank)
        };
        let chosen = self.last.filter(is_equal).or(Some(turn).filter(is_equal)).unwrap_or(first.id);
        self.last = Some(chosen);
        Some(chosen)
    }

    /// Takes all out, in the order in which they joined, with their ranks.
    pub fn take(&mut self, conns: &mut [Conn]) -> Vec<(ConnId, u64)> {
        self.heap.sort_unstable_by_key(|ranked| ranked.number);
        self.last = None;
        let all: Vec<_> = self.heap.drain(..).map(|Ranked { id, rank, .. }| (id, rank)).collect();
        all.iter().for_each(|(id, _)| conns[id.index()].sender.rank_at = NOWHERE);
        all
    }

    /// The one at that place may belong before or behind it.
    fn settle(&mut self, conns: &mut [Conn], mut place: usize) {
        let moved = self.heap[place];
        while place > 0 && moved.goes_before(&self.heap[(place - 1) / 2]) {
            let above = (place - 1) / 2;
            self.put(conns, place, self.heap[above]);
            place = above;
        }
        while let Some(next) = self.first_behind(place)
            && self.heap[next].goes_before(&moved)
        {
            self.put(conns, place, self.heap[next]);
            place = next;
        }
        self.put(conns, place, moved);
    }

    /// The place behind that one whose connection goes first.
    fn first_behind(&self, place: usize) -> Option<usize> {
        let (left, right) = (2 * place + 1, 2 * place + 2);
        match self.heap.get(right) {
            Some(other) if other.goes_before(&self.heap[left]) => Some(right),
            _ => (left < self.heap.len()).then_some(left),
        }
    }

    fn put(&mut self, conns: &mut [Conn], place: usize, ranked: Ranked) {
        self.heap[place] = ranked;
        conns[ranked.id.index()].sender.rank_at = place as u32;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ids::NodeId;

    fn conns(count: usize) -> Vec<Conn> {
        vec![Conn::between(NodeId(0), NodeId(1)); count]
    }

    const NONE: ConnId = ConnId(7);

    /// Ranks 30, 10 and 20: the second goes first, then the third when it has rank 5, then the first when the others have left.
    #[test]
    fn the_lowest_rank_goes_first() {
        let (mut conns, mut ranks) = (conns(8), Ranks::default());
        assert_eq!(ranks.choose(&conns, NONE), None);
        for (id, rank) in [(0, 30), (1, 10), (2, 20)] {
            ranks.set(&mut conns, ConnId(id), rank);
        }
        assert_eq!(ranks.choose(&conns, ConnId(0)), Some(ConnId(1)), "the one that has its turn");
        ranks.set(&mut conns, ConnId(2), 5);
        assert_eq!(ranks.choose(&conns, ConnId(0)), Some(ConnId(2)));
        ranks.set(&mut conns, ConnId(2), 40);
        assert_eq!(ranks.choose(&conns, ConnId(0)), Some(ConnId(1)));
        ranks.leave(&mut conns, ConnId(1));
        assert_eq!(ranks.choose(&conns, ConnId(0)), Some(ConnId(0)));
        ranks.leave(&mut conns, ConnId(1));
        ranks.leave(&mut conns, ConnId(0));
        assert_eq!(ranks.choose(&conns, ConnId(0)), Some(ConnId(2)));
    }

    /// Among equals: the one that joined first, unless another has its turn; then that one goes on, until it has ended.
    #[test]
    fn among_equals_the_last_one_goes_on() {
        let (mut conns, mut ranks) = (conns(8), Ranks::default());
        for id in [2, 0, 1] {
            ranks.set(&mut conns, ConnId(id), 10);
        }
        assert_eq!(ranks.choose(&conns, NONE), Some(ConnId(2)));
        assert_eq!(ranks.choose(&conns, ConnId(0)), Some(ConnId(2)), "it goes on");
        ranks.end(&mut conns, ConnId(2));
        assert_eq!(ranks.choose(&conns, ConnId(1)), Some(ConnId(1)), "it has its turn");
        // Another one in the slot of one that has ended is not the last one.
        ranks.end(&mut conns, ConnId(1));
        ranks.set(&mut conns, ConnId(1), 10);
        assert_eq!(ranks.choose(&conns, NONE), Some(ConnId(0)), "it joined before");
        assert_eq!(ranks.take(&mut conns), [(ConnId(0), 10), (ConnId(1), 10)]);
        assert_eq!(ranks.choose(&conns, NONE), None);
    }

    proptest! {
        /// After any operations the chosen one is that of a list that is searched.
        #[test]
        fn like_a_search(deeds in prop::collection::vec((0..6u32, 0..8u64), 0..200)) {
            let (mut conns, mut ranks) = (conns(8), Ranks::default());
            let mut list: Vec<(ConnId, u64)> = Vec::new();
            for (number, rank) in deeds {
                let id = ConnId(number);
                match rank {
                    0 => {
                        ranks.end(&mut conns, id);
                        list.retain(|(other, _)| *other != id);
                    }
                    _ => {
                        ranks.set(&mut conns, id, rank);
                        match list.iter_mut().find(|(other, _)| *other == id) {
                            Some(known) => known.1 = rank,
                            None => list.push((id, rank)),
                        }
                    }
                }
                ranks.last = None;
                let first = list.iter().min_by_key(|(_, rank)| *rank).map(|(id, _)| *id);
                prop_assert_eq!(ranks.choose(&conns, NONE), first);
            }
        }
    }
}
