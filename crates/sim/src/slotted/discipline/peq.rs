//! PEQ, preemptive efficient queueing (GopalaKrishna, NJIT 2017, equation 2.1 and algorithm 1).
//!
//! In each slot all flows are candidates, in ascending order of H = alpha left + beta left / time, with the
//! packets and slots that are left. Each is put into a list, which in the end is the order of service, so
//! that no flow in the list becomes late: at the end if it can wait for all before it, else before entries
//! that can wait for it. A candidate that fits nowhere is passed over.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kept::{Known, insert};
use super::{Discipline, EarlyTermination, Service, Settings, Slot};

/// The list's first flow is served.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Peq {
    /// Weight of the packets left in H.
    #[schemars(range(min = 0, max = 1000))]
    pub alpha: f64,
    /// Weight in H of the packets left over the slots left.
    #[schemars(range(min = 0, max = 1000))]
    pub beta: f64,
    /// Where a candidate goes that cannot go to the end.
    pub walk: Walk,
    /// For how long a candidate is passed over that fits nowhere.
    pub discard: Discard,
    /// When a flow gives up.
    pub early_termination: EarlyTermination,
    /// Whether a flow that cannot be in time any more fits nowhere. Algorithm 1 as printed puts the first candidate into
    /// the empty list unseen, which matters without early termination.
    pub head_check: bool,
}

impl Default for Peq {
    fn default() -> Peq {
        Peq {
            alpha: 0.6,
            beta: 0.4,
            walk: Walk::PseudoCode,
            discard: Discard::Slot,
            early_termination: EarlyTermination::Strict,
            head_check: true,
        }
    }
}

/// Where a candidate goes that cannot go to the end of the list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Walk {
    /// To the possible place that is nearest to the head: algorithm 1 as printed, which goes on after it found one.
    #[default]
    PseudoCode,
    /// At the possible place that is nearest to the end, as in the surrounding text.
    Text,
}

/// For how long a candidate is passed over that fits nowhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Discard {
    /// For this slot: it is a candidate again in the next one.
    #[default]
    Slot,
    /// For good. It stays on the link, and its server is busy, until it gives up.
    Forever,
    /// For good. It leaves the link at once, and its server is idle from the next slot on.
    Leave,
}

impl Settings for Peq {
    fn build(&self, _seed: u64, _replica: u64) -> Box<dyn Discipline> {
        Box::new(Model {
            config: self.clone(),
            known: Known::default(),
            order: Vec::new(),
            list: Vec::new(),
            discarded: Vec::new(),
            steady: 1,
            operations: 0,
        })
    }
}

/// H; the smaller, the earlier a flow is a candidate.
pub fn urgency(alpha: f64, beta: f64, left: f64, time_left: f64) -> f64 {
    alpha * left + beta * left / time_left
}

struct Model {
    config: Peq,
    known: Known,
    /// Candidates in ascending order of H, ties to the earlier deadline, then to the earlier arrival. From slot to
    /// slot it hardly changes.
    order: Vec<Candidate>,
    list: Vec<Entry>,
    /// Ids that are passed over for good, ascending; of flows that leave, those of the last answer.
    discarded: Vec<u32>,
    steady: u64,
    operations: u64,
}

#[derive(Clone, Copy)]
struct Candidate {
    urgency: f64,
    time_left: i64,
    left: i64,
    place: u32,
}

impl Candidate {
    fn is_before(&self, other: &Candidate) -> bool {
        let key = |candidate: &Candidate| (candidate.time_left, candidate.place);
        self.urgency < other.urgency || (self.urgency == other.urgency && key(self) < key(other))
    }
}

/// A flow in the list, and when it would be done: the packets of it and of all before it.
#[derive(Clone, Copy)]
struct Entry {
    place: u32,
    left: i64,
    time_left: i64,
    done: i64,
}

impl Discipline for Model {
    fn serve(&mut self, slot: &Slot, _shares: &mut [f64]) -> Service {
        self.rank(slot);
        self.fill(slot)
    }

    fn early_termination(&self) -> EarlyTermination {
        self.config.early_termination
    }

    fn take_discarded(&mut self) -> Vec<u32> {
        match self.config.discard {
            Discard::Leave => std::mem::take(&mut self.discarded),
            Discard::Slot | Discard::Forever => Vec::new(),
        }
    }

    fn steady(&self) -> u64 {
        self.steady
    }

    fn operations(&self) -> Option<u64> {
        Some(self.operations)
    }
}

impl Model {
    /// Puts all flows into the order in which they are candidates.
    fn rank(&mut self, slot: &Slot) {
        if slot.changed {
            self.operations += self.order.len() as u64;
            let new = |place| Candidate { urgency: 0.0, time_left: 0, left: 0, place };
            self.known.update(slot.flows, &mut self.order, |candidate| &mut candidate.place, new);
        }
        let (alpha, beta) = (self.config.alpha, self.config.beta);
        for candidate in &mut self.order {
            let flow = &slot.flows[candidate.place as usize];
            candidate.left = flow.left as i64;
            candidate.time_left = flow.time_left(slot.now) as i64;
            candidate.urgency = urgency(alpha, beta, flow.left, candidate.time_left as f64);
        }
        // By insertion, since nearly all are in order: the flow that was served may pass a few, and new ones stand last.
        let passed: usize =
            (1..self.order.len()).map(|from| insert(&mut self.order, from, Candidate::is_before)).sum();
        self.operations += (self.order.len() + passed) as u64;
    }

    /// Makes the list, and works out for how long its head stays the same.
    ///
    /// While the head is served, one slot takes one packet and one slot from it, and one slot from all
    /// others. So comparisons of slots left with sums that include the head do not change, nor does the
    /// head's own key. Decisions from before the head was in the list do: those comparisons, `margin`, lose
    /// one a slot. And the head may pass other candidates in their order as it becomes smaller.
    fn fill(&mut self, slot: &Slot) -> Service {
        self.list.clear();
        self.operations += self.order.len() as u64;
        // The smallest margin of all comparisons so far that held, and of those before the head was put in.
        let (mut margin, mut before_head) = (i64::MAX, i64::MAX);
        for index in 0..self.order.len() {
            let Candidate { left, time_left, place, .. } = self.order[index];
            let id = slot.flows[place as usize].id;
            if self.config.discard == Discard::Forever && self.discarded.binary_search(&id).is_ok() {
                continue;
            }
            let so_far = margin;
            let at = self.position(left, time_left, &mut margin);
            match at {
                Some(at) => {
                    let ahead = if at == 0 { 0 } else { self.list[at - 1].done };
                    self.list.insert(at, Entry { place, left, time_left, done: ahead + left });
                    self.list[at + 1..].iter_mut().for_each(|entry| entry.done += left);
                    self.operations += (self.list.len() - at) as u64;
                    before_head = if at == 0 { so_far } else { before_head };
                }
                None if self.config.discard == Discard::Slot => (),
                None => self.discard(id),
            }
        }
        let Some(head) = self.list.first().copied() else {
            self.steady = u64::MAX;
            return Service::Nobody;
        };
        self.steady = self.until_passes(head).min(before_head.saturating_add(1)).max(1) as u64;
        Service::One(head.place as usize)
    }

    /// Where in the list a flow goes, if it fits. Notes the smallest margin of the comparisons that held.
    fn position(&mut self, left: i64, time_left: i64, margin: &mut i64) -> Option<usize> {
        let mut holds = |slack: i64| {
            if slack >= 0 {
                *margin = slack.min(*margin);
            }
            slack >= 0
        };
        let Some(tail) = self.list.last() else {
            return (time_left >= left || !self.config.head_check).then_some(0);
        };
        if holds(time_left - left - tail.done) {
            return Some(self.list.len());
        }
        let (mut found, mut reached) = (None, self.list.len());
        for (at, entry) in self.list.iter().enumerate().rev() {
            reached = at;
            // Whether the entry can wait for the flow.
            if !holds(entry.time_left - entry.done - left) {
                break;
            }
            // Whether the flow is in time before the entry.
            if holds(time_left - left - (entry.done - entry.left)) {
                found = Some(at);
                if self.config.walk == Walk::Text {
                    break;
                }
            }
        }
        self.operations += (self.list.len() - reached) as u64;
        found
    }

    /// Slots until the head, as it is served, may pass a candidate before it.
    fn until_passes(&self, head: Entry) -> i64 {
        let config = &self.config;
        if config.alpha <= config.beta
            || config.discard != Discard::Slot
            || config.early_termination == EarlyTermination::Expired
        {
            // Then the slots left may reorder the waiting flows, too, or make one hopeless that stays.
            return 1;
        }
        // With alpha > beta the order of flows that can be in time is that of their packets left.
        let ahead = self.order.iter().take_while(|candidate| candidate.place != head.place);
        let nearest = ahead.map(|candidate| candidate.left).max();
        nearest.map_or(i64::MAX, |left| head.left - left)
    }

    fn discard(&mut self, id: u32) {
        if let Err(at) = self.discarded.binary_search(&id) {
            self.discarded.insert(at, id);
        }
    }
}
