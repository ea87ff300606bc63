//! The pull queue of a receiving interface: all its connections share the pace at which full packets fit its link.

use std::collections::VecDeque;

use super::PullOrder;
use crate::engine::cx::Timer;
use crate::ids::ConnId;
use crate::units::Time;

/// The pull queue of one host.
#[derive(Clone, Debug, Default)]
pub struct Pacer {
    /// Connections with the number of their pulls that wait, in the order in which they take turns.
    waiting: VecDeque<(ConnId, u32)>,
    /// Earliest time of the next pull: one full packet's time after the last one.
    pub next_at: Time,
    /// Time that a full packet takes on the host's link, over the configured share.
    pub spacing: Time,
    /// Set while a pull waits.
    pub timer: Timer,
    /// Pulls that ever joined; those that left at once included. With the next two, for the audit.
    pub queued: u64,
    /// Pulls that have left.
    pub sent: u64,
    /// Pulls that became void.
    pub flushed: u64,
}

impl Pacer {
    /// Whether a pull may leave with the answer that goes out now; if so, it has.
    pub fn pull_at_once(&mut self, now: Time) -> bool {
        let free = self.waiting.is_empty() && self.next_at <= now;
        if free {
            self.next_at = now + self.spacing;
            self.queued += 1;
            self.sent += 1;
        }
        free
    }

    /// A pull of that connection joins the queue.
    pub fn push(&mut self, id: ConnId, order: PullOrder) {
        self.queued += 1;
        let place = match order {
            PullOrder::Fair => self.waiting.iter().position(|&(other, _)| other == id),
            PullOrder::Fifo => self.waiting.len().checked_sub(1).filter(|&back| self.waiting[back].0 == id),
        };
        match place {
            Some(place) => self.waiting[place].1 += 1,
            None => self.waiting.push_back((id, 1)),
        }
    }

    /// Takes the pull whose turn it is; a connection with more goes to the back when turns are fair.
    pub fn pop(&mut self, now: Time, order: PullOrder) -> Option<ConnId> {
        let (id, count) = self.waiting.pop_front()?;
        match order {
            _ if count == 1 => {}
            PullOrder::Fair => self.waiting.push_back((id, count - 1)),
            PullOrder::Fifo => self.waiting.push_front((id, count - 1)),
        }
        self.next_at = now + self.spacing;
        self.sent += 1;
        Some(id)
    }

    /// A connection has all its data: its pulls are void.
    pub fn flush(&mut self, id: ConnId) {
        let before = self.len();
        self.waiting.retain(|&(other, _)| other != id);
        self.flushed += before - self.len();
    }

    /// Pulls that wait.
    pub fn len(&self) -> u64 {
        self.waiting.iter().map(|&(_, count)| u64::from(count)).sum()
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
