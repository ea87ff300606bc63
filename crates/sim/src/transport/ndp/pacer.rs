//! The pull queue of a receiving interface: all its connections share the pace at which full packets fit its link.

use std::collections::VecDeque;

use super::{Ndp, PullOrder};
use crate::engine::cx::Timer;
use crate::ids::ConnId;
use crate::units::Time;

/// The pull queue of one interface.
#[derive(Clone, Debug, Default)]
pub struct Pacer {
    /// Connections in the order in which they take turns; if turns are strict, those of one priority after those
    /// of the one before.
    waiting: VecDeque<Waiting>,
    /// Pulls that the first one has sent in its turn, if turns have weights.
    turn: u32,
    /// Earliest time of the next pull: one full packet's time after the last one.
    pub next_at: Time,
    /// Set while a pull waits.
    pub timer: Timer,
    /// Pulls that ever joined; those that left at once included. With the next two, for the audit.
    pub queued: u64,
    /// Pulls that have left.
    pub sent: u64,
    /// Pulls that became void.
    pub flushed: u64,
}

/// A connection whose pulls wait.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    id: ConnId,
    /// How many.
    pulls: u32,
    priority: u8,
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

    /// A pull of that connection joins the queue.
    pub fn push(&mut self, id: ConnId, priority: u8, order: PullOrder) {
        self.queued += 1;
        let place = match order {
            PullOrder::Fifo => self.waiting.len().checked_sub(1).filter(|&back| self.waiting[back].id == id),
            _ => self.waiting.iter().position(|other| other.id == id),
        };
        match place {
            Some(place) => self.waiting[place].pulls += 1,
            None => self.queue_up(Waiting { id, pulls: 1, priority }, order),
        }
    }

    /// Puts a connection at the end of those that it takes turns with.
    fn queue_up(&mut self, last: Waiting, order: PullOrder) {
        match order {
            PullOrder::Strict => {
                let place = self.waiting.partition_point(|other| other.priority <= last.priority);
                self.waiting.insert(place, last);
            }
            _ => self.waiting.push_back(last),
        }
    }

    /// Takes the pull whose turn it is; a connection with more goes to the back when its turn is over. The caller says
    /// when the next one may leave.
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
        match first.pulls {
            0 => {}
            _ if goes_on => self.waiting.push_front(first),
            _ => self.queue_up(first, config.pull_order),
        }
        self.sent += 1;
        Some(first.id)
    }

    /// A connection has all its data: its pulls are void.
    pub fn flush(&mut self, id: ConnId) {
        let before = self.len();
        if self.waiting.front().is_some_and(|first| first.id == id) {
            self.turn = 0;
        }
        self.waiting.retain(|other| other.id != id);
        self.flushed += before - self.len();
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
