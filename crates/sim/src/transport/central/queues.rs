//! The queues of all hosts: flows by destination, in the order in which they came, and which queue of a host is next.

use std::ops::{Index, IndexMut};

use rustc_hash::FxHashMap;

use super::bucket::{Bucket, Idle};
use crate::engine::contract::controller::Grant;
use crate::engine::contract::host::Timer;
use crate::ids::{ConnId, LinkId, NodeId, QueueId};
use crate::units::{Rate, Time};

/// A host's flows to one destination.
#[derive(Clone, Debug)]
pub struct DestinationQueue {
    pub from: NodeId,
    to: NodeId,
    /// The first flow, whose packets go next, and the last.
    pub head: ConnId,
    /// See `head`.
    pub tail: ConnId,
    /// Its bucket while it is empty and does not drain.
    bucket: Bucket,
}

impl DestinationQueue {
    /// Whether no flow waits.
    pub fn is_empty(&self) -> bool {
        self.head == ConnId::NONE
    }
}

/// A queue that has something to send, or that drains, at its host.
#[derive(Clone, Copy, Debug)]
pub struct Active {
    pub queue: QueueId,
    to: NodeId,
    /// The label that its packets carry, if the controller has assigned one.
    pub label: Option<u32>,
    /// Its rate, where the controller gives rates.
    bucket: Bucket,
}

/// A host's state for all its queues.
#[derive(Clone, Debug)]
pub struct AtHost {
    /// Grants that have not been used up, in the order in which they came.
    pub grants: Vec<HeldGrant>,
    /// Queues that have something to send, in order of destination, as the rows of a controller's matrix are.
    active: Vec<Active>,
    /// Queues that have nothing to send, and a rate until their buckets are empty ([`Idle::Drains`]).
    draining: Vec<Active>,
    /// When the next of those buckets is empty.
    pub drain_timer: Timer,
    /// Whether one of its flows waits for the turn at the port.
    pub turn_requested: bool,
    /// When the next bucket is empty.
    pub leak_timer: Timer,
    pub port: LinkId,
    /// Bytes that wait.
    pub bytes: u64,
    first: First,
}

impl AtHost {
    fn new() -> AtHost {
        AtHost {
            grants: Vec::new(),
            active: Vec::new(),
            draining: Vec::new(),
            drain_timer: Timer::default(),
            turn_requested: false,
            leak_timer: Timer::default(),
            port: LinkId::NONE,
            bytes: 0,
            first: First::default(),
        }
    }

    /// A queue that has a grant, or else any that has something to send.
    pub fn some_queue(&self) -> Option<QueueId> {
        let granted = self.grants.first().map(|held| held.queue);
        granted.or_else(|| self.active.first().map(|active| active.queue))
    }

    /// Whether a queue may send: it has a grant, or packets and a rate.
    pub fn may_send(&self) -> bool {
        !self.grants.is_empty() || self.active.iter().any(|active| active.bucket.leaks())
    }

    /// The active queue at that place.
    pub fn active(&self, place: usize) -> &Active {
        &self.active[place]
    }

    /// A packet of so many bytes leaves the active queue at that place: see [`Bucket::fill`].
    pub fn fill(&mut self, place: usize, bytes: u32, now: Time, rate: Rate, credit: f64) {
        self.active[place].bucket.fill(bytes, now, rate, credit);
        self.first = First::Unknown;
    }

    /// Of the queues that have a rate and packets, the place of the one whose bucket is empty first, and when. All go by
    /// one port, of that rate.
    pub fn first_due(&mut self, rate: Rate) -> Option<(Time, usize)> {
        if let First::Known(known, first) = self.first
            && known == rate
        {
            return first;
        }
        let first = self.find_first_due(rate);
        self.first = First::Known(rate, first);
        first
    }

    fn find_first_due(&self, rate: Rate) -> Option<(Time, usize)> {
        let mut first: Option<(Time, usize)> = None;
        for (place, active) in self.active.iter().enumerate() {
            if !active.bucket.leaks() {
                continue;
            }
            let due = active.bucket.due(rate);
            // Of two at one time, the queue with the lower number.
            let earlier = match first {
                None => true,
                Some((before, _)) if before != due => due < before,
                Some((_, at)) => active.queue < self.active[at].queue,
            };
            if earlier {
                first = Some((due, place));
            }
        }
        first
    }

    /// Whether a queue drains.
    pub fn drains(&self) -> bool {
        !self.draining.is_empty()
    }

    /// When the first of them has drained.
    pub fn first_drained(&self, rate: Rate) -> Option<Time> {
        self.draining.iter().map(|draining| draining.bucket.due(rate)).min()
    }

    /// A queue that has nothing to send gets a share: it is for nothing, unless the queue drains. Out of line, since nearly all
    /// shares are for active queues.
    #[cold]
    fn set_draining(&mut self, number: QueueId, share: f64, label: Option<u32>, now: Time, rate: Rate) {
        if let Some(draining) = self.draining.iter_mut().find(|draining| draining.queue == number) {
            draining.label = label;
            draining.bucket.set(share, now, rate);
        }
    }

    /// The place of the active queue to a destination, or the one that it would have.
    fn place(&self, to: NodeId) -> Result<usize, usize> {
        self.active.binary_search_by_key(&to, |active| active.to)
    }
}

/// A grant that a host holds.
#[derive(Clone, Copy, Debug)]
pub struct HeldGrant {
    /// For which of its queues.
    pub queue: QueueId,
    pub grant: Grant,
    /// Whether a packet has gone by it.
    pub used: bool,
}

/// Which bucket of a host is empty first: found by a look at all of them, and kept until one changes. Most rates are replaced
/// before a packet can use them, so nothing is computed when they come.
#[derive(Clone, Copy, Debug, Default)]
enum First {
    #[default]
    Unknown,
    /// On a link of that rate.
    Known(Rate, Option<(Time, usize)>),
}

/// All queues.
#[derive(Clone, Debug)]
pub struct Queues {
    /// By number; a queue is made at its first flow, and stays.
    queues: Vec<DestinationQueue>,
    /// Its number, by the hosts at its ends: read once a flow.
    numbers: FxHashMap<(NodeId, NodeId), QueueId>,
    hosts: Vec<AtHost>,
}

impl Index<QueueId> for Queues {
    type Output = DestinationQueue;

    fn index(&self, number: QueueId) -> &DestinationQueue {
        &self.queues[number.index()]
    }
}

impl IndexMut<QueueId> for Queues {
    fn index_mut(&mut self, number: QueueId) -> &mut DestinationQueue {
        &mut self.queues[number.index()]
    }
}

impl Queues {
    /// Of so many hosts, none of which has sent.
    pub fn new(hosts: usize) -> Queues {
        Queues { queues: Vec::new(), numbers: FxHashMap::default(), hosts: vec![AtHost::new(); hosts] }
    }

    /// The number of a queue.
    pub fn number(&mut self, from: NodeId, to: NodeId) -> QueueId {
        *self.numbers.entry((from, to)).or_insert_with(|| {
            self.queues.push(DestinationQueue {
                from,
                to,
                head: ConnId::NONE,
                tail: ConnId::NONE,
                bucket: Bucket::default(),
            });
            QueueId(self.queues.len() as u32 - 1)
        })
    }

    /// How many hosts there are.
    pub fn hosts(&self) -> usize {
        self.hosts.len()
    }

    /// A host's state for all its queues.
    pub fn of(&self, host: NodeId) -> &AtHost {
        &self.hosts[host.index()]
    }

    /// The same, to change it.
    pub fn of_mut(&mut self, host: NodeId) -> &mut AtHost {
        &mut self.hosts[host.index()]
    }

    /// A queue that was empty has something to send. It has no rate yet, unless it drains: then returns when it may send.
    pub fn list(&mut self, number: QueueId, now: Time, rate: Rate) -> Option<Time> {
        let DestinationQueue { from, to, mut bucket, .. } = self.queues[number.index()];
        let at = &mut self.hosts[from.index()];
        let active = match at.draining.iter().position(|draining| draining.queue == number) {
            Some(place) => at.draining.remove(place),
            None => {
                bucket.set(0.0, now, rate);
                Active { queue: number, to, label: None, bucket }
            }
        };
        let place = at.place(to).expect_err("an empty queue is not active");
        at.active.insert(place, active);
        at.first = First::Unknown;
        active.bucket.leaks().then(|| active.bucket.due(rate))
    }

    /// A queue has nothing to send any more. Returns whether it has no rate, either, until it has packets again: else it drains.
    pub fn unlist(&mut self, number: QueueId, idle: Idle, now: Time, rate: Rate) -> bool {
        let queue = &mut self.queues[number.index()];
        let at = &mut self.hosts[queue.from.index()];
        let place = at.place(queue.to).expect("a queue that was not empty is active");
        let mut active = at.active.remove(place);
        at.first = First::Unknown;
        if idle == Idle::Drains && active.bucket.due(rate) > now {
            at.draining.push(active);
            return false;
        }
        if idle == Idle::Kept {
            active.bucket.set(0.0, now, rate);
        }
        queue.bucket = active.bucket;
        true
    }

    /// Takes out a queue of that host that has drained, if there is one.
    pub fn take_drained(&mut self, host: NodeId, now: Time, rate: Rate) -> Option<QueueId> {
        let at = &mut self.hosts[host.index()];
        let place = at.draining.iter().position(|draining| draining.bucket.due(rate) <= now)?;
        let Active { queue, bucket, .. } = at.draining.remove(place);
        self.queues[queue.index()].bucket = bucket;
        Some(queue)
    }

    /// From now on queues of that host, which go by one port of that rate, send at these shares of it, and their packets carry
    /// these labels. Returns when the port is to be requested for the first of them: never, if it has been. A rate that
    /// comes when all has been sent and has leaked out is for nothing: the next burst has to wait for its own.
    pub fn set_shares(
        &mut self,
        host: NodeId,
        shares: impl Iterator<Item = (QueueId, f64, Option<u32>)>,
        now: Time,
        rate: Rate,
    ) -> Time {
        let at = &mut self.hosts[host.index()];
        let mut first = Time::NEVER;
        // An update has all queues of a host, in the order in which these are.
        let mut expected = 0;
        for (number, share, label) in shares {
            let place = match at.active.get(expected) {
                Some(active) if active.queue == number => expected,
                _ => match at.place(self.queues[number.index()].to) {
                    Ok(place) => place,
                    Err(_) => {
                        at.set_draining(number, share, label, now, rate);
                        continue;
                    }
                },
            };
            expected = place + 1;
            let active = &mut at.active[place];
            active.label = label;
            active.bucket.set(share, now, rate);
            if !at.turn_requested && share > 0.0 {
                first = first.min(active.bucket.due(rate));
            }
        }
        at.first = First::Unknown;
        first
    }

    /// A host's bytes are those that its flows have, and its active queues are those that hold one.
    pub fn audit(&self, waiting: &[u64], found: &mut dyn FnMut(String)) {
        for (host, (at, bytes)) in self.hosts.iter().zip(waiting).enumerate() {
            if at.bytes != *bytes {
                found(format!("host {host}: counts {} bytes that wait, its flows have {bytes}", at.bytes));
            }
            if let First::Known(rate, first) = at.first
                && first != at.find_first_due(rate)
            {
                found(format!("host {host}: {first:?} is not the bucket that is empty first"));
            }
        }
        for (number, queue) in self.queues.iter().enumerate() {
            let at = &self.hosts[queue.from.index()];
            let listed = at.place(queue.to).is_ok_and(|place| at.active[place].queue.index() == number);
            if listed == queue.is_empty() {
                found(format!("queue {number}: listed is {listed}, empty is {}", queue.is_empty()));
            }
            if listed && at.draining.iter().any(|draining| draining.queue.index() == number) {
                found(format!("queue {number}: has something to send, and drains"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Rate = Rate(1_000_000_000);

    /// Queues of host 0 with half of its link each, in the order of their numbers: to host 2, then to host 1.
    fn two_queues() -> (Queues, [QueueId; 2]) {
        let mut queues = Queues::new(3);
        let numbers = [2, 1].map(|to| queues.number(NodeId(0), NodeId(to)));
        for number in numbers {
            assert_eq!(queues.list(number, Time::ZERO, RATE), None, "it has no rate yet");
        }
        let shares = numbers.into_iter().rev().map(|number| (number, 0.5, None));
        assert_eq!(queues.set_shares(NodeId(0), shares, Time::ZERO, RATE), Time::ZERO);
        (queues, numbers)
    }

    /// Of two buckets that are empty at one time, that of the queue with the lower number goes first, though its destination is
    /// behind the other's; after a packet of 125 B, for which half of 1 Gbps takes 2 us, the other one does.
    #[test]
    fn of_two_queues_at_one_time_the_lower_number_goes() {
        let (mut queues, _) = two_queues();
        let at = queues.of_mut(NodeId(0));
        assert_eq!(at.first_due(RATE), Some((Time::ZERO, 1)));
        at.fill(1, 125, Time::ZERO, RATE, 0.0);
        assert_eq!(at.first_due(RATE), Some((Time::ZERO, 0)));
        at.fill(0, 250, Time::ZERO, RATE, 0.0);
        assert_eq!(at.first_due(RATE), Some((Time::from_us(2), 1)));
    }

    /// A queue drains until its packet has leaked out, at 2 us, and is taken out then, not 1 ps before.
    #[test]
    fn a_queue_has_drained_when_its_bucket_is_empty() {
        let (mut queues, [number, _]) = two_queues();
        queues.of_mut(NodeId(0)).fill(1, 125, Time::ZERO, RATE, 0.0);
        assert!(!queues.unlist(number, Idle::Drains, Time(1_999_999), RATE));
        assert_eq!(queues.of(NodeId(0)).first_drained(RATE), Some(Time::from_us(2)));
        assert_eq!(queues.take_drained(NodeId(0), Time(1_999_999), RATE), None);
        assert_eq!(queues.take_drained(NodeId(0), Time::from_us(2), RATE), Some(number));
        assert!(!queues.of(NodeId(0)).drains());
        // One whose bucket is empty when it has nothing to send any more does not drain.
        let (mut queues, [number, _]) = two_queues();
        queues.of_mut(NodeId(0)).fill(1, 125, Time::ZERO, RATE, 0.0);
        assert!(queues.unlist(number, Idle::Drains, Time::from_us(2), RATE));
    }
}
