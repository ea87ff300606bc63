//! The pull queue of a receiving interface: all its connections share the pace at which full packets fit its link.

use std::collections::VecDeque;

use super::{Ndp, PullOrder, PullTurns};
use crate::engine::contract::host::Timer;
use crate::ids::ConnId;
use crate::units::Time;

/// The pull queue of one interface.
#[derive(Clone, Debug)]
pub struct Pacer {
    /// Connections in the order in which they take turns; if turns are strict, those of one priority after those
    /// of the one before.
    waiting: VecDeque<Waiting>,
    /// The place in the cycle of turns that had the last one, for each level.
    served: [u64; LEVELS],
    /// Pulls that the first one has sent in its turn, if turns have weights.
    turn: u32,
    /// Earliest time of the next pull: one full packet's time after the last one.
    pub next_at: Time,
    /// Set while a pull waits.
    pub timer: Timer,
    /// Pulls that ever joined; those that left at once included. With the next two, for the audit.
    pub queued: u64,
    pub sent: u64,
    pub flushed: u64,
}

/// Priorities are below.
const LEVELS: usize = 8;

/// A connection with queued pulls.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    id: ConnId,
    /// Its place in the cycle of turns, if these go round.
    place: u64,
    pulls: u32,
    priority: u8,
}

impl Default for Pacer {
    fn default() -> Self {
        Pacer {
            waiting: VecDeque::new(),
            // The first turn is that of the first place.
            served: [u64::MAX; LEVELS],
            turn: 0,
            next_at: Time::ZERO,
            timer: Timer::default(),
            queued: 0,
            sent: 0,
            flushed: 0,
        }
    }
}

impl Pacer {
    /// Whether a pull may leave with the answer that goes out now.
    pub fn may_pull_at_once(&self, now: Time) -> bool {
        self.waiting.is_empty() && self.next_at <= now
    }

    /// A pull leaves without having waited, and the next one no earlier than that.
    pub fn pull_at_once(&mut self, next_at: Time) {
        self.next_at = next_at;
        self.queued += 1;
        self.sent += 1;
    }

    /// So many pulls of a connection join the queue; `place` is its own in the cycle of turns.
    pub fn push(&mut self, id: ConnId, place: u64, priority: u8, pulls: u32, config: &Ndp) {
        self.queued += u64::from(pulls);
        let joins = Waiting { id, place, pulls, priority };
        match self.position(&joins, config) {
            Ok(found) => self.waiting[found].pulls += pulls,
            Err(next) => self.waiting.insert(next, joins),
        }
    }

    /// Where a connection waits, or where it is to join.
    fn position(&self, joins: &Waiting, config: &Ndp) -> Result<usize, usize> {
        let order = config.pull_order;
        if order == PullOrder::Fifo {
            let len = self.waiting.len();
            return len.checked_sub(1).filter(|&back| self.waiting[back].id == joins.id).ok_or(len);
        }
        if config.pull_turns == PullTurns::Arrival {
            let behind = |other: &Waiting| level(other, order) <= level(joins, order);
            let found = self.waiting.iter().position(|other| other.id == joins.id);
            return found.ok_or_else(|| self.waiting.partition_point(behind));
        }
        let key = self.cyclic(joins, order);
        self.waiting.binary_search_by_key(&key, |other| self.cyclic(other, order))
    }

    /// The sort key of turns that go round: the level, then the distance of the place from that of the last
    /// turn.
    fn cyclic(&self, one: &Waiting, order: PullOrder) -> (usize, u64) {
        let level = level(one, order);
        (level, one.place.wrapping_sub(self.served[level]).wrapping_sub(1))
    }

    /// Takes the pull whose turn it is; a connection with more waits for another one when its turn is over. The caller
    /// says when the next pull may leave.
    pub fn pop(&mut self, config: &Ndp) -> Option<ConnId> {
        let mut first = self.waiting.pop_front()?;
        first.pulls -= 1;
        let goes_on = match config.pull_order {
            PullOrder::Fair | PullOrder::Strict => false,
            PullOrder::Fifo => true,
            PullOrder::Weighted => {
                let weight = config.pull_weights.get(usize::from(first.priority)).copied().unwrap_or(1);
                self.turn = if first.pulls == 0 || self.turn + 1 >= weight { 0 } else { self.turn + 1 };
                self.turn > 0
            }
        };
        // A connection whose turn goes on stays the first of the cycle.
        self.served[level(&first, config.pull_order)] = first.place.wrapping_sub(u64::from(goes_on));
        if first.pulls > 0 {
            let next = if goes_on { 0 } else { self.position(&first, config).expect_err("it has just left") };
            self.waiting.insert(next, first);
        }
        self.sent += 1;
        Some(first.id)
    }

    /// A connection has all its data: its pulls are void.
    pub fn flush(&mut self, id: ConnId) {
        if self.waiting.front().is_some_and(|first| first.id == id) {
            self.turn = 0;
        }
        let flushed = &mut self.flushed;
        self.waiting.retain(|other| {
            let stays = other.id != id;
            *flushed += if stays { 0 } else { u64::from(other.pulls) };
            stays
        });
    }

    /// Pulls that wait.
    pub fn len(&self) -> u64 {
        self.waiting.iter().map(|waiting| u64::from(waiting.pulls)).sum()
    }

    /// Whether no pull waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Loses a pull that waits without counting it: how a test of the audit injects that defect.
    #[cfg(test)]
    pub fn lose_one(&mut self) -> bool {
        self.waiting.pop_back().is_some()
    }
}

/// The group within which a connection takes turns.
fn level(one: &Waiting, order: PullOrder) -> usize {
    if order == PullOrder::Strict { usize::from(one.priority) } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The connections whose pulls leave, by their places: two pulls of each of `joined`, then those that
    /// join behind the third.
    fn turns(joined: &[(u32, u8)], late: &[(u32, u8)], order: PullOrder, turns: PullTurns) -> Vec<u32> {
        let config = Ndp { pull_order: order, pull_turns: turns, ..Ndp::default() };
        let mut pacer = Pacer::default();
        let push = |pacer: &mut Pacer, (place, priority): (u32, u8)| {
            // Slots of connections have nothing to do with turns.
            pacer.push(ConnId(1000 - place), u64::from(place), priority, 1, &config);
            pacer.push(ConnId(1000 - place), u64::from(place), priority, 1, &config);
        };
        joined.iter().for_each(|&one| push(&mut pacer, one));
        let mut left = Vec::new();
        while let Some(id) = pacer.pop(&config) {
            left.push(1000 - id.0);
            if left.len() == 3 {
                late.iter().for_each(|&one| push(&mut pacer, one));
            }
        }
        assert_eq!((pacer.sent, pacer.len()), (pacer.queued, 0));
        left
    }

    #[test]
    fn turns_go_round_by_place() {
        use PullOrder::{Fair, Fifo, Strict, Weighted};
        use PullTurns::{Arrival, Number};
        let joined = [(7, 0), (3, 0), (9, 0), (5, 0)];
        // Behind 3, 5 and 7 the turn of 9 is next, and 8 is before it, 4 in the next round.
        let late = [(4, 0), (8, 0)];
        assert_eq!(turns(&joined, &late, Fair, Number), [3, 5, 7, 8, 9, 3, 4, 5, 7, 8, 9, 4]);
        assert_eq!(turns(&joined, &late, Fair, Arrival), [7, 3, 9, 5, 7, 3, 9, 4, 8, 5, 4, 8]);
        assert_eq!(turns(&joined, &late, Fifo, Number), [7, 7, 3, 3, 9, 9, 5, 5, 4, 4, 8, 8]);
        // Each priority has a cycle of its own; 2 is more urgent than the queued ones.
        let strict = [(7, 1), (3, 1), (9, 0), (5, 1)];
        assert_eq!(turns(&strict, &[(2, 0), (4, 1)], Strict, Number), [9, 9, 3, 2, 2, 4, 5, 7, 3, 4, 5, 7]);
        // Weights 8, 4, 2, 1: two pulls are one turn, or two of priority 3; a joining connection does not
        // break into a turn.
        let weighted = [(7, 0), (3, 3), (9, 0), (5, 3)];
        assert_eq!(turns(&weighted, &[(6, 0)], Weighted, Number), [3, 5, 7, 7, 9, 9, 3, 5, 6, 6]);
    }

    /// Weights 2 for priority 0, 1 for priority 1. The connection whose turn it is ends after the first of its two pulls: the
    /// next one has a turn of its own from the start, with both.
    #[test]
    fn a_turn_ends_with_its_connection() {
        let config = Ndp {
            pull_order: PullOrder::Weighted,
            pull_weights: vec![2, 1],
            pull_turns: PullTurns::Number,
            ..Ndp::default()
        };
        let mut pacer = Pacer::default();
        for place in 1..=3 {
            pacer.push(ConnId(place), u64::from(place), 0, 4, &config);
        }
        assert_eq!(pacer.pop(&config), Some(ConnId(1)));
        pacer.flush(ConnId(1));
        let order = [0; 6].map(|_| pacer.pop(&config).expect("pulls wait").0);
        assert_eq!(order, [2, 2, 3, 3, 2, 2]);
        assert_eq!(pacer.flushed, 3);
    }
}
