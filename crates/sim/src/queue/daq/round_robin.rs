//! Deficit round robin between the two classes (Shreedhar and Varghese, SIGCOMM 1995): how bytes are shared by weights.

use crate::engine::contract::credit::CLASSES;
use crate::engine::contract::discipline::Queued;

/// Bytes that each class gets in a round, the remainder of them, and the class whose turn it is.
#[derive(Clone, Debug, Default)]
pub(super) struct RoundRobin {
    quanta: [u64; CLASSES],
    deficit: [u64; CLASSES],
    turn: usize,
}

impl RoundRobin {
    /// A quantum is no less than a packet, so that in each round some class has its turn.
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

    /// A packet of the class has been served; the rest of its turn ends with its last packet.
    #[inline]
    pub fn served(&mut self, class: usize, size: u32, more: bool) {
        self.deficit[class] = if more { self.deficit[class] - u64::from(size) } else { 0 };
    }

    /// A packet of the class has met an empty port: the class has had its turn, and has no remainder of it.
    #[inline]
    pub fn passed(&mut self, class: usize) {
        self.turn = class;
    }

    /// A class's remainder of its turn.
    #[cfg(test)]
    pub fn left(&self, class: usize) -> u64 {
        self.deficit[class]
    }
}
