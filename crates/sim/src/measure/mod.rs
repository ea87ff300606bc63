//! The choice of a run's measuring window: when it begins and ends, and for how long arrivals go on behind it.
//!
//! A number of flows that start in an empty network, and behind which nothing comes, does not have the load that the
//! scenario names: the first flows meet an empty network, and none follow the last ones. Where arrivals are a Poisson process, the
//! flows that are measured therefore start behind a warm-up, and arrivals go on until the last of them has ended.
//!
//! The warm-up follows from loads and sizes alone, so that it is the same under every transport. A backlog of bytes relaxes
//! within tau = 8 b / (R (1 - load)), where b = E[S^2] / E[S] is the mean size that a byte of traffic belongs to, and R the rate
//! of the link; until the mean is within a few per cent of its limit at high loads, it takes 2 tau / (1 - load). The rule is
//! the longest of these over all loaded links, and no less than 20 round trips, for transports find their rates in some.
//! It costs at most ten times the measured flows: there a shorter one is taken, and advice says so.

mod loads;

use self::loads::{Offered, Place};
use crate::derived::Longest;
use crate::random::{Purpose, Stream, name_key};
use crate::routing::Routes;
use crate::scenario::{Measure, MeasureFrom, MeasureUntil, MeasureWindow};
use crate::topology::Fabric;
use crate::traffic::window::{Rule, Window};
use crate::traffic::workload::product::Product;
use crate::traffic::{Demand, FLOWS_MAX, HostPorts, cannot_go_on, sources};
use crate::units::{SECOND, Time};

/// A chosen warm-up takes no longer than so many times the measured flows.
const COST_MOST: f64 = 10.0;
/// Arrivals go on behind the window for so many warm-ups at most. Few flows last longer, and a run ends with the last one.
const DRAINS: f64 = 3.0;
/// Loads above it have no stationary state near enough to wait for.
const LOAD_MOST: f64 = 0.95;
/// Round trips of the longest path, at least.
const ROUND_TRIPS: u64 = 20;
/// The packets of that round trip, data and answer, in bytes on the wire.
const PACKETS: (u64, u64) = (1500, 64);

/// The settings that a window depends on besides traffic and network.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// The scenario's choice.
    pub measure: Measure,
    /// Where the run stops at the latest.
    pub run_until: Option<Time>,
    /// Whether faults happen at given times or to flows of given numbers, which a warm-up would shift.
    pub fixed_faults: bool,
}

/// The window of a run, and its traffic with arrivals that go on for as long as it needs them.
pub fn plan(
    wanted: &Wanted,
    entries: &[Demand],
    fabric: &Fabric,
    routes: &Routes,
    (seed, replica): (u64, u64),
) -> (Window, Vec<Demand>) {
    let (sources, _) = sources::resolve(entries, fabric.hosts, seed, replica);
    let processes = Processes::new(entries, &sources, fabric, (seed, replica));
    let offered = loads::offered(entries, &sources, fabric);
    let by_rule = (!offered.is_empty()).then(|| {
        let round_trip = Longest::new(fabric, routes, PACKETS.0, PACKETS.1).round_trip;
        warm_up(&loads::places(&offered, fabric, routes), unevenness(&offered), round_trip)
    });
    let own = !processes.all.is_empty();
    let (warm_up, background) = (by_rule.filter(|_| own), by_rule.filter(|_| !own));
    let whole = |why| (Window { wanted: warm_up, background, ..Window::whole(why) }, entries.to_vec());
    let Some(given) = wanted.measure.window() else { return whole(None) };
    let chosen = given == MeasureWindow::default();
    if chosen && let Some(why) = cannot_go_on(entries).or_else(|| fixed_faults(wanted)) {
        return whole(Some(why));
    }
    let rule = if chosen { Rule::Chosen } else { Rule::Given };
    let window = Window {
        rule,
        wanted: warm_up,
        background,
        ..processes.window(given, warm_up.unwrap_or_default(), wanted.run_until)
    };
    let entries = entries.iter().map(|entry| going_on(entry, given, &window)).collect();
    (window, entries)
}

fn fixed_faults(wanted: &Wanted) -> Option<String> {
    wanted.fixed_faults.then(|| "faults happen at given times, or to flows of given numbers".into())
}

/// The warm-up by the rule.
pub fn warm_up(places: &[Place], unevenness: f64, round_trip: Time) -> Time {
    let relaxed = |place: &Place| {
        let left = 1.0 - place.load.min(LOAD_MOST);
        16.0 * unevenness / (place.rate * left * left)
    };
    let seconds = places.iter().map(relaxed).fold(0.0, f64::max);
    let least = Time(round_trip.0.saturating_mul(ROUND_TRIPS));
    Time((seconds * SECOND as f64).min(Time::NEVER.0 as f64 / 4.0) as u64).max(least)
}

/// E[S^2] / E[S] over all entries, in bytes; S is a flow, or all flows to one host that start together.
fn unevenness(offered: &[Offered]) -> f64 {
    let (mut squares, mut bytes) = (0.0, 0.0);
    for offered in offered {
        let flows = offered.bps / offered.product.sizes.mean();
        squares += flows * offered.product.mean_square(offered.at_one_host());
        bytes += offered.bps;
    }
    if bytes > 0.0 { squares / bytes } else { 0.0 }
}

/// The entry with arrivals that go on for as long as the window needs them.
fn going_on(entry: &Demand, given: MeasureWindow, window: &Window) -> Demand {
    let mut entry = entry.clone();
    if !window.ends() {
        return entry;
    }
    let (limited, background) = (given.until.is_some(), entry.background);
    entry.change_offer(|Product { arrivals, matrix, sizes, flows, .. }| {
        if arrivals.goes_on() && sizes.most().is_none() && matrix.base().is_none() {
            let last = Time(window.arrivals_end().0.saturating_sub(1));
            let last = arrivals.ends().map_or(last, |end| end.min(last));
            arrivals.end_at(last);
            *flows = flows.filter(|_| limited);
        } else if background && flows.is_none() {
            arrivals.end_at(window.arrivals_end());
        } else if arrivals.behind().is_some_and(|behind| behind.flow_by_flow) && !limited {
            // One for each flow that it waits for, of which there are more now.
            *flows = None;
        }
    });
    entry
}

/// A process of arrivals whose flows may be measured.
struct Process<'a> {
    product: &'a Product,
    /// Flows per second that would be load 1.
    full: f64,
    /// Flows per second.
    rate: f64,
    /// Flows in a round of its matrix.
    round: u64,
    /// The most that is added to a start.
    jitter: Time,
    stream: Stream,
}

/// The processes of arrivals whose flows may be measured.
struct Processes<'a> {
    all: Vec<Process<'a>>,
    /// Flows per second of all entries together, with background and those that follow others.
    rate: f64,
}

impl<'a> Processes<'a> {
    fn new(
        entries: &'a [Demand],
        sources: &[Vec<u32>],
        fabric: &Fabric,
        (seed, replica): (u64, u64),
    ) -> Processes<'a> {
        let ports = HostPorts::of(fabric);
        let mut processes = Processes { all: Vec::new(), rate: 0.0 };
        for (entry, sources) in entries.iter().zip(sources) {
            let full = ports.full(entry, sources);
            let Some(product) = entry.offers() else { continue };
            let Some(rate) = product.arrivals.rate(full) else { continue };
            let followers = entries
                .iter()
                .filter_map(Demand::offers)
                .filter(|other| other.arrivals.behind().is_some_and(|behind| behind.entry == entry.name));
            processes.rate += rate * (1 + followers.count()) as f64;
            if !entry.background && product.matrix.base().is_none() {
                let stream = Stream::new(seed, replica, Purpose::Arrivals, name_key(&entry.name));
                let round = product.round(sources.len(), fabric.hosts);
                let jitter = product.longest_jitter(&ports);
                processes.all.push(Process { product, full, rate, round, jitter, stream });
            }
        }
        processes
    }

    /// When the last of them begins.
    fn begin(&self) -> Time {
        self.all.iter().map(|process| process.product.arrivals.begins()).max().unwrap_or_default()
    }

    fn window(&self, given: MeasureWindow, warm_up: Time, run_until: Option<Time>) -> Window {
        let begin = self.begin();
        let ends = self.all.iter().filter_map(|process| process.product.arrivals.ends());
        let given_until = match given.until {
            Some(MeasureUntil::Time(until)) => Some(until),
            Some(MeasureUntil::Flow(number)) => Some(self.start_of(number)),
            Some(MeasureUntil::End(_)) | None => None,
        };
        // Half of the time at most is warm-up, where a time ends the run, its arrivals or the window.
        let last = ends.chain(run_until).chain(given_until).min();
        // Without an end or a number there is nothing that a warm-up could cost too much of.
        let most = match (self.measured_span(), last) {
            (Some(span), _) => self.affordable(span, COST_MOST),
            (None, Some(last)) => Time(last.saturating_sub(begin).0 / 2),
            (None, None) => warm_up,
        };
        let most = last.map_or(most, |last| most.min(Time(last.saturating_sub(begin).0 / 2)));
        let from = match given.from {
            Some(MeasureFrom::Time(from)) => from,
            Some(MeasureFrom::Flow(number)) => self.start_of(number),
            // A window that ends before anything begins is empty.
            None => begin.saturating_add(warm_up.min(most)).min(given_until.unwrap_or(Time::NEVER)),
        };
        let until = match (given_until, given.until) {
            (Some(until), _) => until,
            (None, Some(_)) => Time::NEVER,
            (None, None) => self.end_of_measured(from),
        };
        let drain = match given.drain {
            _ if until == Time::NEVER => Time::ZERO,
            Some(drain) => drain,
            None => {
                let most = self.affordable(until.saturating_sub(from), DRAINS * COST_MOST);
                Time(warm_up.0.saturating_mul(DRAINS as u64)).min(most)
            }
        };
        Window { from, until, drain, ..Window::whole(None) }
    }

    /// The expected time in which the measured flows start, if their number is given.
    fn measured_span(&self) -> Option<Time> {
        let span = |process: &Process| Some(process.product.flows? as f64 / process.rate);
        let longest = self.all.iter().filter_map(span).reduce(f64::max)?;
        Some(Time((longest * SECOND as f64) as u64))
    }

    /// The longest warm-up or drain for flows that start in such a span: that many times the span, less where a run may not
    /// have so many flows.
    fn affordable(&self, span: Time, times: f64) -> Time {
        let flows = self.rate * span.seconds();
        // A third for each of warm-up, window and drain.
        let room = FLOWS_MAX as f64 / 3.0 / flows.max(1.0);
        Time((span.0 as f64 * room.min(times)) as u64)
    }

    /// Behind the last measured flow of the entry that needs longest; with the last arrival, if a time ends them.
    fn end_of_measured(&self, from: Time) -> Time {
        let end = |process: &Process| {
            let Process { product, full, round, jitter, stream, .. } = process;
            let measured = product.arrivals.starts(*full, *round, *stream).skip_while(|start| *start < from);
            let last = measured.take(usize::try_from(product.flows?).ok()?).last()?;
            Some(last.saturating_add(*jitter).saturating_add(Time(1)))
        };
        let ends = self.all.iter().filter_map(|process| process.product.arrivals.ends());
        let hard = ends.min().map(|end| end.saturating_add(Time(1)));
        let numbered = self.all.iter().filter_map(end).max();
        numbered.into_iter().chain(hard).min().unwrap_or(Time::NEVER)
    }

    /// The start of the flow of that number among those of all processes.
    fn start_of(&self, number: u64) -> Time {
        let mut starts: Vec<_> = self
            .all
            .iter()
            .map(|Process { product, full, round, stream, .. }| {
                product.arrivals.starts(*full, *round, *stream)
            })
            .map(Iterator::peekable)
            .collect();
        let mut at = Time::NEVER;
        for _ in 0..=number {
            let next = starts.iter_mut().filter_map(|starts| Some((*starts.peek()?, starts)));
            let Some((start, starts)) = next.min_by_key(|(start, _)| *start) else { return Time::NEVER };
            at = start;
            starts.next();
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2 tau / (1 - load) = 16 b / (R (1 - load)^2): bytes of 10 KB on average, 1 Gbps and a load of 0.5 take 640 us, one of
    /// 0.95 takes 64 ms, and so does any above. The longest of all places counts, and no less than 20 round trips.
    #[test]
    fn the_warm_up_by_hand() {
        let place = |load| Place { load, rate: 1e9 };
        let warm_up_us = |places: &[Place], round_trip_us| {
            warm_up(places, 10_000.0, Time::from_us(round_trip_us)).seconds() * 1e6
        };
        for (places, round_trip_us, expected) in [
            (&[place(0.5)][..], 10, 640.0),
            (&[place(0.5)], 33, 660.0),
            (&[place(0.5), place(0.75), place(0.0)], 10, 2_560.0),
            (&[place(0.95)], 10, 64_000.0),
            (&[place(1.2)], 10, 64_000.0),
            (&[], 10, 200.0),
        ] {
            let found = warm_up_us(places, round_trip_us);
            assert!((found / expected - 1.0).abs() < 1e-6, "{found} us for {places:?}");
        }
    }
}
