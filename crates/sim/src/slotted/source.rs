//! The flows that arrive on the slotted link, in their turn.
//!
//! Each server has a stream of its own for gaps, sizes and deadlines, so that its n-th flow is the same under every
//! discipline, whenever the n-th turn comes; so has each set.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Flow;
use super::config::{Class, Slotted};
use super::generation::{Busy, Generation, Listed};
use crate::random::{Purpose, Stream};

/// The flows of a run, one after the other.
pub struct Source<'a> {
    config: &'a Slotted,
    pub set: u32,
    /// Number of the next flow.
    next_id: u32,
    /// (slot, server) of the known arrivals.
    due: BinaryHeap<Reverse<(u64, u32)>>,
    /// By server: its random stream, for the next flow and the gap before it.
    streams: Vec<Stream>,
    /// Flows of a server that are present.
    present: Vec<u32>,
    /// Sets that an interval has started.
    started: u32,
}

impl<'a> Source<'a> {
    /// Before the first slot.
    pub fn new(config: &'a Slotted) -> Source<'a> {
        let (seed, replica) = (config.run.seed, config.run.replica);
        let servers = match &config.generation {
            Generation::Random { servers, .. } | Generation::Interval { servers, .. } => *servers,
            Generation::Sets { .. } | Generation::List(_) => 0,
        };
        let stream = |server| Stream::new(seed, replica, Purpose::SlottedServer, u64::from(server));
        let mut source = Source {
            config,
            set: 0,
            next_id: 0,
            due: BinaryHeap::new(),
            streams: (0..servers).map(stream).collect(),
            present: vec![0; servers as usize],
            started: 0,
        };
        source.begin_set();
        source
    }

    /// Goes on to the next set of independent ones, if there is one. Slots start at 0 again.
    pub fn next_set(&mut self) -> bool {
        let Generation::Sets { sets, .. } = self.config.generation else { return false };
        self.set += 1;
        if self.set < sets {
            self.begin_set();
        }
        self.set < sets
    }

    fn begin_set(&mut self) {
        match &self.config.generation {
            Generation::Random { servers, .. } => (0..*servers).for_each(|server| self.draw_turn(server, 0)),
            Generation::Interval { .. } | Generation::Sets { .. } => self.due.push(Reverse((0, 0))),
            Generation::List(flows) => {
                let turn = |(place, flow): (usize, &Listed)| Reverse((flow.arrival, place as u32));
                self.due.extend(flows.iter().enumerate().map(turn));
            }
        }
    }

    /// The slot of the next arrival that is known. Servers with a flow have none.
    pub fn next(&self) -> Option<u64> {
        self.due.peek().map(|Reverse((slot, _))| *slot)
    }

    /// Adds the flows that arrive in slot `now`.
    pub fn arrive(&mut self, now: u64, flows: &mut Vec<Flow>) {
        while let Some(&Reverse((slot, server))) = self.due.peek() {
            if slot > now {
                break;
            }
            self.due.pop();
            match &self.config.generation {
                Generation::Random { .. } => self.start(server, now, flows),
                Generation::Interval { servers, slots, sets, busy } => {
                    for server in 0..*servers {
                        // A turn that is passed still draws: the n-th turn has the n-th flow.
                        let before = flows.len();
                        let idle = self.present[server as usize] == 0;
                        self.start(server, now, flows);
                        if !idle && *busy == Busy::Skip {
                            flows.truncate(before);
                            self.present[server as usize] -= 1;
                            self.next_id -= 1;
                        }
                    }
                    self.started += 1;
                    if self.started < *sets {
                        self.due.push(Reverse((now + slots, 0)));
                    }
                }
                Generation::Sets { flows: count, .. } => {
                    let (seed, replica) = (self.config.run.seed, self.config.run.replica);
                    let mut stream = Stream::new(seed, replica, Purpose::SlottedSet, u64::from(self.set));
                    for server in 0..*count {
                        let (size, deadline) = self.class(server).draw(&mut stream);
                        self.push(server, now, size, deadline, flows);
                    }
                }
                Generation::List(listed) => {
                    let flow = &listed[server as usize];
                    self.push(server, now, flow.size, flow.deadline, flows);
                }
            }
        }
    }

    /// A flow has left: its server may start another one from that slot on.
    pub fn left(&mut self, server: u32, from: u64) {
        if let Some(present) = self.present.get_mut(server as usize) {
            *present -= 1;
        }
        if matches!(self.config.generation, Generation::Random { .. }) {
            self.draw_turn(server, from);
        }
    }

    /// Draws when an idle server starts its next flow: in slot `now` at the earliest.
    fn draw_turn(&mut self, server: u32, now: u64) {
        let Generation::Random { probability, .. } = self.config.generation else { return };
        // Slots until the first success, by inversion: 0 with the probability itself.
        let unit = 1.0 - self.streams[server as usize].unit();
        let wait =
            if probability < 1.0 { libm::floor(libm::log(unit) / libm::log1p(-probability)) } else { 0.0 };
        self.due.push(Reverse((now + wait as u64, server)));
    }

    fn start(&mut self, server: u32, now: u64, flows: &mut Vec<Flow>) {
        let (size, deadline) = self.class(server).draw(&mut self.streams[server as usize]);
        self.present[server as usize] += 1;
        self.push(server, now, size, deadline, flows);
    }

    fn push(&mut self, server: u32, arrival: u64, size: u32, deadline: u64, flows: &mut Vec<Flow>) {
        flows.push(Flow { id: self.next_id, server, arrival, size, deadline, left: f64::from(size) });
        self.next_id += 1;
    }

    /// The class of a server's flows: as many of each as its weight, in turn.
    fn class(&self, server: u32) -> &'a Class {
        let classes = &self.config.classes;
        let sum: u32 = classes.iter().map(|class| class.weight).sum();
        let mut place = server % sum;
        for class in classes {
            if place < class.weight {
                return class;
            }
            place -= class.weight;
        }
        unreachable!("the place is below the sum of the weights")
    }
}
