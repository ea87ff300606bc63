//! Counters of links and deliveries at the start and at the end of the measuring window.
//!
//! Each run has a [`Meter`] among its observers. It also notes deliveries at regular times of the window, from which carried loads get their confidence intervals.

use crate::engine::contract::observer::{Observer, View};
use crate::engine::data::finished::LinkCounts;
use crate::ids::{FlowId, LinkId};
use crate::traffic::Traffic;
use crate::units::Time;

/// Spans of equal length into which the window is cut for batch means. Twenty are enough for Student's t (Schmeiser, "Batch
/// size effects in the analysis of simulation output", Operations Research 30, 1982: 10 to 30).
pub const SPANS: u64 = 20;

/// Notes counters at the ends of the window, and deliveries within it.
pub struct Meter {
    /// When it looks, ascending.
    looks: Vec<Time>,
    done: usize,
    /// The last instant before the window, and the last one within it; none if the window begins or ends with the run.
    before: Option<Time>,
    last: Option<Time>,
    /// The ends of the spans whose deliveries are compared.
    spans: Vec<Time>,
    links: usize,
    entries: usize,
    at_start: Counters,
    at_end: Option<Counters>,
    /// By end of a span, payload delivered until then of each traffic entry, in bytes.
    delivered: Vec<Vec<u64>>,
}

/// Counters at one instant.
#[derive(Clone, Debug, Default)]
struct Counters {
    /// By link; empty before the run.
    links: Vec<LinkCounts>,
    /// Payload delivered by flow, in bytes; flows beyond have not started.
    flows: Vec<u64>,
}

/// The counters of the window.
#[derive(Clone, Debug)]
pub struct Metered {
    /// By link.
    pub links: Vec<LinkCounts>,
    /// Payload delivered by flow, in bytes.
    pub flows: Vec<u64>,
    /// The last instants of spans of equal length, from that before the first one on.
    pub spans: Vec<Time>,
    /// For each span the payload delivered of each traffic entry, in bytes; empty if there is no span to compare, or the run
    /// ended before the last one.
    pub delivered: Vec<Vec<u64>>,
}

impl Metered {
    /// The length of a span.
    pub fn span(&self) -> Time {
        self.spans.get(..2).map_or(Time::ZERO, |ends| ends[1] - ends[0])
    }
}

impl Meter {
    /// Before the run.
    pub fn new(traffic: &Traffic, links: usize) -> Meter {
        let window = &traffic.window;
        let just_before = |time: Time| Some(Time(time.0.checked_sub(1)?));
        let before = just_before(window.from);
        let last = if window.ends() { just_before(window.until) } else { None };
        let spans = spans(traffic);
        let mut looks: Vec<Time> = before.into_iter().chain(last).chain(spans.iter().copied()).collect();
        looks.sort_unstable();
        looks.dedup();
        Meter {
            looks,
            done: 0,
            before,
            last,
            spans,
            links,
            entries: traffic.entries.len(),
            at_start: Counters::default(),
            at_end: None,
            delivered: Vec::new(),
        }
    }

    /// The counters of the window, given those at the end of the run, and which end.
    pub fn finish(self, links: &[LinkCounts], flows: impl Iterator<Item = u64>, end: Time) -> Metered {
        let began = self.before.is_none_or(|before| before < end);
        let at_end =
            self.at_end.unwrap_or_else(|| Counters { links: links.to_vec(), flows: flows.collect() });
        let at_start = if began { self.at_start } else { at_end.clone() };
        let since = |(link, counts): (usize, &LinkCounts)| match at_start.links.get(link) {
            Some(before) => counts.since(before),
            None => *counts,
        };
        let got = |(flow, &bytes): (usize, &u64)| bytes - at_start.flows.get(flow).copied().unwrap_or(0);
        let whole = self.delivered.len() == self.spans.len();
        let steps = self.delivered.windows(2).filter(|_| whole);
        Metered {
            links: at_end.links.iter().enumerate().map(since).collect(),
            flows: at_end.flows.iter().enumerate().map(got).collect(),
            delivered: steps
                .map(|ends| ends[1].iter().zip(&ends[0]).map(|(to, from)| to - from).collect())
                .collect(),
            spans: self.spans,
        }
    }

    fn counters(&self, view: &mut View) -> Counters {
        let links = (0..self.links as u32).map(|link| view.counts(LinkId(link))).collect();
        Counters { links, flows: view.delivered() }
    }
}

/// The ends of the spans that are compared: of the window or, where that ends with the run, from the first to the last start
/// of the processes of arrivals. None without such a process.
fn spans(traffic: &Traffic) -> Vec<Time> {
    let window = &traffic.window;
    let loads = |entry: u32| traffic.entries[entry as usize].offered_bps.is_some();
    let mut starts =
        traffic.flows[..traffic.timed].iter().filter(|flow| loads(flow.entry)).map(|flow| flow.start);
    let Some(first) = starts.next() else { return Vec::new() };
    let last = starts.next_back().unwrap_or(first);
    let (from, until) =
        if window.ends() { (window.from, window.until) } else { (first.max(window.from), last) };
    let step = until.saturating_sub(from).0 / SPANS;
    if step == 0 {
        return Vec::new();
    }
    (0..=SPANS).map(|span| Time((from.0 + span * step).max(1) - 1)).collect()
}

impl Observer for Meter {
    fn next_look(&self) -> Time {
        self.looks.get(self.done).copied().unwrap_or(Time::NEVER)
    }

    fn look(&mut self, at: Time, view: &mut View) {
        self.done += 1;
        if self.before == Some(at) {
            self.at_start = self.counters(view);
            view.restart_maxima();
        }
        if self.last == Some(at) {
            self.at_end = Some(self.counters(view));
        }
        if self.spans.binary_search(&at).is_ok() {
            let mut sums = vec![0; self.entries];
            for (flow, bytes) in view.delivered().into_iter().enumerate().filter(|(_, bytes)| *bytes > 0) {
                sums[view.entry(FlowId(flow as u32)) as usize] += bytes;
            }
            self.delivered.push(sums);
        }
    }

    fn memory(&self) -> u64 {
        let counters = |counters: &Counters| {
            counters.links.len() * size_of::<LinkCounts>() + counters.flows.len() * size_of::<u64>()
        };
        (counters(&self.at_start) + self.at_end.as_ref().map_or(0, counters)) as u64
    }
}
