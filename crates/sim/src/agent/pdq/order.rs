//! Criticality of flows: the order of a port's list.

use std::cmp::Ordering;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::PdqPort;
use super::entry::Entry;
use crate::ids::FlowId;
use crate::units::{Rate, Time};

/// Which flow is more critical than another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// The paper's: the earliest deadline first, and flows without a deadline after all with one; then the
    /// fewest remaining bytes; then the flow that began first.
    #[default]
    Pdq,
    /// The earliest deadline first, then the flow that began first.
    Edf,
    /// The fewest remaining bytes first, whatever the deadlines, then the flow that began first.
    Sjf,
    /// The order of PEQ, preemptive efficient queueing (GopalaKrishna, NJIT 2017, equation 2.1 and algorithm
    /// 1), within PDQ, a combination that is not published: flows in ascending order of H = alpha left + beta
    /// left / time are put where they make no flow late, others behind. The cost of a packet grows with the
    /// square of the list.
    Peq,
}

impl Order {
    /// The sort key of a port on a link of that rate.
    pub(super) fn ranking(self, config: &PdqPort, rate: Rate) -> Ranking {
        match self {
            Order::Pdq => Ranking::ByKey(Key { due: true, left: true }),
            Order::Edf => Ranking::ByKey(Key { due: true, left: false }),
            Order::Sjf => Ranking::ByKey(Key { due: false, left: true }),
            Order::Peq => Ranking::Peq(Peq {
                alpha: config.peq_alpha,
                beta: config.peq_beta,
                slot: rate.transmission(config.peq_slot.0).0.max(1) as f64,
                candidates: Vec::new(),
                service: Vec::new(),
            }),
        }
    }
}

/// The sort key of a list.
#[derive(Clone, Debug)]
pub enum Ranking {
    /// A number for each flow, small ones first, then flows by their ids.
    ByKey(Key),
    /// PEQ's order, in which the place of each depends on all.
    Peq(Peq),
}

/// Whether flows are sorted by their deadlines, and by their remaining bytes.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    due: bool,
    left: bool,
}

impl Key {
    #[inline]
    fn of(self, entry: &Entry) -> (Time, u64, FlowId) {
        let due = if self.due { entry.due } else { Time::NEVER };
        (due, if self.left { entry.left } else { 0 }, entry.flow)
    }
}

impl Ranking {
    /// Puts the list in order, of which only the flow at that place may be out of order; returns its place
    /// then.
    #[inline(always)]
    pub fn place(&mut self, entries: &mut [Entry], place: usize, now: Time) -> usize {
        match self {
            Ranking::ByKey(key) => settle(entries, place, |entry| key.of(entry)),
            Ranking::Peq(peq) => peq.place(entries, place, now),
        }
    }

    /// Whether two neighbours stand in order, as far as that does not change with time.
    pub fn is_sorted(&self, first: &Entry, second: &Entry) -> bool {
        match self {
            Ranking::ByKey(key) => key.of(first) < key.of(second),
            Ranking::Peq(_) => true,
        }
    }
}

/// Moves the entry at that place to where it belongs among the others, which are sorted.
#[inline(always)]
fn settle<K: Ord>(entries: &mut [Entry], mut place: usize, key: impl Fn(&Entry) -> K) -> usize {
    while place > 0 && key(&entries[place]) < key(&entries[place - 1]) {
        entries.swap(place, place - 1);
        place -= 1;
    }
    while place + 1 < entries.len() && key(&entries[place + 1]) < key(&entries[place]) {
        entries.swap(place, place + 1);
        place += 1;
    }
    place
}

/// PEQ's order. Times are in slots.
#[derive(Clone, Debug)]
pub struct Peq {
    alpha: f64,
    beta: f64,
    slot: f64,
    /// Memory that is used again.
    candidates: Vec<Candidate>,
    service: Vec<Candidate>,
}

/// A flow that is to get a place.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    entry: Entry,
    urgency: f64,
    left: f64,
    /// Until it is due; infinite without a deadline.
    time: f64,
    /// When it would be done: the remaining bytes of it and of all before it.
    done: f64,
}

impl Peq {
    /// Sorts the list; returns the new place of the flow at that one.
    #[inline(never)]
    fn place(&mut self, entries: &mut [Entry], place: usize, now: Time) -> usize {
        let flow = entries[place].flow;
        self.sort(entries, now);
        entries.iter().position(|entry| entry.flow == flow).expect("it is in the list")
    }

    fn sort(&mut self, entries: &mut [Entry], now: Time) {
        let Peq { alpha, beta, slot, .. } = *self;
        let candidate = |entry: &Entry| {
            let left = entry.left as f64 / slot;
            let time = match entry.due {
                Time::NEVER => f64::INFINITY,
                due => due.0.saturating_sub(now.0) as f64 / slot,
            };
            // Of one that is due now or was so nothing makes H finite, nor does it fit anywhere.
            let over = if time > 0.0 { left / time } else { 0.0 };
            Candidate { entry: *entry, urgency: alpha * left + beta * over, left, time, done: 0.0 }
        };
        self.candidates.clear();
        self.candidates.extend(entries.iter().map(candidate));
        self.candidates.sort_unstable_by(|a, b| {
            let by_time = || a.time.total_cmp(&b.time).then(a.entry.flow.cmp(&b.entry.flow));
            a.urgency.total_cmp(&b.urgency).then_with(by_time)
        });
        self.service.clear();
        // A candidate that fits nowhere is moved to the front of the candidates.
        let mut behind = 0;
        for at in 0..self.candidates.len() {
            let new = self.candidates[at];
            match place(&self.service, &new) {
                Some(place) => {
                    let ahead = if place == 0 { 0.0 } else { self.service[place - 1].done };
                    self.service.insert(place, Candidate { done: ahead + new.left, ..new });
                    self.service[place + 1..].iter_mut().for_each(|other| other.done += new.left);
                }
                None => {
                    self.candidates[behind] = new;
                    behind += 1;
                }
            }
        }
        let order = self.service.iter().chain(&self.candidates[..behind]);
        entries.iter_mut().zip(order).for_each(|(entry, candidate)| *entry = candidate.entry);
    }
}

/// The place of a flow in the list, if it fits: at its end, or else as near to its head as it makes no flow
/// late (algorithm 1 as printed, which goes on when it has found a place).
fn place(service: &[Candidate], new: &Candidate) -> Option<usize> {
    let ahead = service.last().map_or(0.0, |tail| tail.done);
    if new.time - new.left >= ahead {
        return Some(service.len());
    }
    let mut found = None;
    for (at, entry) in service.iter().enumerate().rev() {
        if (entry.time - entry.done).partial_cmp(&new.left) == Some(Ordering::Less) {
            break;
        }
        if entry.done - entry.left + new.left <= new.time {
            found = Some(at);
        }
    }
    found
}
