//! The queues of all hosts: flows by destination, in the order in which they came, and which queue of a host is next.

use std::ops::{Index, IndexMut};

use rustc_hash::FxHashMap;

use super::bucket::{Bucket, Late};
use crate::engine::controller::Grant;
use crate::engine::host::Timer;
use crate::ids::{ConnId, LinkId, NodeId, QueueId};
use crate::units::{Rate, Time};

/// A host's flows to one destination.
#[derive(Clone, Debug)]
pub struct DestinationQueue {
    /// The host that sends.
    pub from: NodeId,
    /// The port by which its latest flow goes.
    pub port: LinkId,
    /// The first flow, whose packets go next, and the last.
    pub head: ConnId,
    /// See `head`.
    pub tail: ConnId,
    /// The label that its packets carry, if the controller has assigned one.
    pub label: Option<u32>,
    /// Its rate, where the controller gives rates.
    bucket: Bucket,
    /// Its place among its host's queues that have something to send.
    place: u32,
}

impl DestinationQueue {
    /// Whether no flow waits.
    pub fn is_empty(&self) -> bool {
        self.head == ConnId::NONE
    }

    /// Whether it has a rate.
    pub fn leaks(&self) -> bool {
        self.bucket.leaks()
    }

    /// When its bucket is empty, on a link of that rate.
    pub fn due(&self, rate: Rate) -> Time {
        self.bucket.due(rate)
    }
}

/// A host's state for all its queues.
#[derive(Clone, Debug, Default)]
pub struct AtHost {
    /// Leave to send that has not been used up, in the order in which it came.
    pub grants: Vec<Leave>,
    /// Queues that have something to send.
    pub active: Vec<QueueId>,
    /// Whether one of its flows waits for the turn at the port.
    pub asked: bool,
    /// When the next bucket is empty.
    pub timer: Timer,
    /// Bytes that wait.
    pub bytes: u64,
    first: First,
}

/// Leave to send that a host has.
#[derive(Clone, Copy, Debug)]
pub struct Leave {
    /// For which of its queues.
    pub queue: QueueId,
    /// As it came.
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
    Known(Rate, Option<(Time, QueueId)>),
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
        Queues { queues: Vec::new(), numbers: FxHashMap::default(), hosts: vec![AtHost::default(); hosts] }
    }

    /// The number of a queue.
    pub fn number(&mut self, from: NodeId, to: NodeId) -> QueueId {
        *self.numbers.entry((from, to)).or_insert_with(|| {
            self.queues.push(DestinationQueue {
                from,
                port: LinkId::NONE,
                head: ConnId::NONE,
                tail: ConnId::NONE,
                label: None,
                bucket: Bucket::default(),
                place: u32::MAX,
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

    /// A queue that was empty has something to send. It has no rate yet.
    pub fn list(&mut self, number: QueueId) {
        let queue = &mut self.queues[number.index()];
        let active = &mut self.hosts[queue.from.index()].active;
        queue.place = active.len() as u32;
        active.push(number);
    }

    /// A queue has become empty: its rate ends with its backlog.
    pub fn unlist(&mut self, number: QueueId, now: Time, rate: Rate) {
        self.set_share(number, 0.0, now, rate);
        let queue = &self.queues[number.index()];
        let (place, active) = (queue.place as usize, &mut self.hosts[queue.from.index()].active);
        active.swap_remove(place);
        if let Some(moved) = active.get(place) {
            self.queues[moved.index()].place = place as u32;
        }
    }

    /// From now on a queue that has something to send does so at this share of the link's rate.
    pub fn set_share(&mut self, number: QueueId, share: f64, now: Time, rate: Rate) {
        let queue = &mut self.queues[number.index()];
        queue.bucket.set(share, now, rate);
        self.hosts[queue.from.index()].first = First::Unknown;
    }

    /// A packet of so many bytes leaves a queue.
    pub fn fill(&mut self, number: QueueId, bytes: u32, now: Time, rate: Rate, late: Late) {
        let queue = &mut self.queues[number.index()];
        queue.bucket.fill(bytes, now, rate, late);
        self.hosts[queue.from.index()].first = First::Unknown;
    }

    /// Of a host's queues that have a rate and packets, the one whose bucket is empty first, and when. All go
    /// by one port, of that rate.
    pub fn first_due(&mut self, host: NodeId, rate: Rate) -> Option<(Time, QueueId)> {
        let Queues { queues, hosts, .. } = self;
        let at = &mut hosts[host.index()];
        if let First::Known(known, first) = at.first
            && known == rate
        {
            return first;
        }
        let due = |number: &QueueId| {
            let queue = &queues[number.index()];
            queue.leaks().then(|| (queue.due(rate), *number))
        };
        let first = at.active.iter().filter_map(due).min();
        at.first = First::Known(rate, first);
        first
    }

    /// A host's bytes are those that its flows have, and its active queues are those that hold one.
    pub fn audit(&self, waiting: &[u64], found: &mut dyn FnMut(String)) {
        for (host, (at, bytes)) in self.hosts.iter().zip(waiting).enumerate() {
            if at.bytes != *bytes {
                found(format!("host {host}: counts {} bytes that wait, its flows have {bytes}", at.bytes));
            }
            if let First::Known(rate, first) = at.first {
                let due = |number: &QueueId| (self[*number].due(rate), *number);
                let leaking = at.active.iter().filter(|number| self[**number].leaks());
                if first != leaking.map(due).min() {
                    found(format!("host {host}: {first:?} is not the bucket that is empty first"));
                }
            }
        }
        for (number, queue) in self.queues.iter().enumerate() {
            let active = &self.hosts[queue.from.index()].active;
            let listed = active.get(queue.place as usize) == Some(&QueueId(number as u32));
            if listed == queue.is_empty() {
                found(format!("queue {number}: listed is {listed}, empty is {}", queue.is_empty()));
            }
        }
    }
}
