//! Deficit round robin between the two classes (Shreedhar and Varghese, SIGCOMM 1995): how bytes are shared by weights.

use crate::engine::credit::CLASSES;
use crate::engine::discipline::Queued;

/// Bytes that each class gets in a round, what it has left of them, and whose turn it is.
#[derive(Clone, Debug, Default)]
pub(super) struct RoundRobin {
    quanta: [u64; CLASSES],
    deficit: [u64; CLASSES],
    turn: usize,
}

impl RoundRobin {
    /// A quantum is no less than a packet, so that somebody's turn comes in one round.
    pub fn new(quanta: [u64; CLASSES]) -> RoundRobin {
        RoundRobin { quanta, ..RoundRobin::default() }
    }

    /// The class whose turn it is among those that may send; `heads` are their first packets.
    #[inline]
    pub fn next(&mut self, heads: [Option<Queued>; CLASSES]) -> Option<usize> {
        if heads == [None; CLASSES] {
            return None;
        }
        loop {
            if heads[self.turn].is_some_and(|head| u64::from(head.size) <= self.deficit[self.turn]) {
                return Some(self.turn);
            }
            self.turn ^= 1;
            if heads[self.turn].is_some() {
                self.deficit[self.turn] += self.quanta[self.turn];
            }
        }
    }

    /// A packet of the class has been served; what is left of its turn goes with its last packet.
    #[inline]
    pub fn served(&mut self, class: usize, size: u32, more: bool) {
        self.deficit[class] = if more { self.deficit[class] - u64::from(size) } else { 0 };
    }

    /// A packet of the class has met nobody: the class has had its turn, and has nothing left of it.
    #[inline]
    pub fn passed(&mut self, class: usize) {
        self.turn = class;
    }

    /// What a class has left of its turn.
    #[cfg(test)]
    pub fn left(&self, class: usize) -> u64 {
        self.deficit[class]
    }
}
