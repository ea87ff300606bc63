//! The measuring window of a run as it was, the loads that were carried in it, and whether the run was in a steady state.
//!
//! Confidence intervals here are of batch means: the window is cut into spans, or its flows in the order of their starts into
//! batches of equal number, whose means are taken as independent (Law, "Simulation Modeling and Analysis", chapter 9).

use serde::Serialize;

use super::flows::Row;
use crate::engine::data::finished::{Finished, LinkCounts};
use crate::observe::meter::{Metered, SPANS};
use crate::records::{Column, Table, Values, flows};
use crate::setup::Setup;
use crate::topology::Link;
use crate::traffic::window::Rule;
use crate::units::Time;

/// The 97.5 % quantile of Student's t with one degree of freedom less than there are spans, and than a half has batches.
const STUDENT: f64 = 2.093;
const STUDENT_OF_HALF: f64 = 2.262;
/// The 97.5 % quantile of the normal distribution.
const NORMAL: f64 = 1.96;
/// Half the width of a 99.9 % confidence interval over that of a 95 % one, or nearly: many runs are tested, and few of
/// those that are steady are to be reported as unsteady.
const SURE: f64 = 1.7;
/// Batches of flows in each half of the window.
const BATCHES: usize = 10;
/// Flows in a batch, at least.
const BATCH_LEAST: usize = 10;

/// The measuring window and its loads.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// How the window came to be.
    pub rule: Rule,
    /// Why the whole run is measured although the scenario leaves that open.
    pub why_all: Option<String>,
    pub from_ps: u64,
    /// Its end, not included; that of the run if this ended before.
    pub until_ps: u64,
    /// Longest time for which arrivals go on behind it.
    pub drain_ps: u64,
    /// The warm-up that the rule asks for, with Poisson arrivals; more than `from_ps` where it would have cost too much.
    pub wanted_ps: Option<u64>,
    pub flows: u64,
    /// Of these, flows that had neither ended nor been given up when the run ended.
    pub unfinished: u64,
    /// Of these, flows that ended later than arrivals did, so that less traffic than named disturbed them.
    pub after_arrivals: u64,
    /// Payload that all arrivals at a rate offer a second, over the summed rate of the hosts' links that their loads are of.
    pub offered_load: Option<f64>,
    /// The same of the flows drawn.
    pub realised_load: Option<f64>,
    /// The same of the payload delivered.
    pub carried_load: Option<f64>,
    /// Half the width of the 95 % confidence interval of that.
    pub carried_ci95: Option<f64>,
    /// Payload delivered a second by all flows, in bits.
    pub goodput_bps: f64,
    /// The same over the rate of all links to hosts.
    pub hosts_payload: f64,
    /// Share of time in which packets were on the links to hosts, weighted by their rates.
    pub hosts_wire: f64,
    /// The loads of each tier of links.
    pub tiers: Vec<TierLoad>,
    /// The mean slowdown of the measured flows that start in each half of the window, if there are enough.
    pub halves: Option<Halves>,
    /// Why the run was not in a steady state at the load that it names; empty if it was, as far as can be seen.
    pub unstable: Vec<String>,
}

/// The loads of a tier of links.
#[derive(Clone, Debug, Serialize)]
pub struct TierLoad {
    /// The tiers of both ends.
    pub tier: String,
    /// Number of links.
    pub links: u64,
    /// Payload that was delivered over them a second over their rate, by the shortest paths of the flows; none where flows
    /// take others.
    pub payload: Option<f64>,
    /// Share of time in which packets were on their wires, weighted by their rates.
    pub wire: f64,
}

/// The means of both halves, with half the widths of their 95 % confidence intervals.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Halves {
    pub first: f64,
    pub first_ci95: f64,
    pub second: f64,
    pub second_ci95: f64,
}

impl Halves {
    /// Whether the means differ by more than random variation.
    fn differ(&self) -> bool {
        (self.first - self.second).abs() > SURE * (self.first_ci95 + self.second_ci95)
    }
}

/// The length of the window as it was.
pub fn length(setup: &Setup, finished: &Finished) -> Time {
    let window = &setup.traffic.window;
    window.until.min(finished.end).saturating_sub(window.from)
}

/// All that is measured.
pub fn measure(
    setup: &Setup,
    finished: &Finished,
    metered: &Metered,
    rows: &[Row],
    flows: &Table,
) -> Measured {
    let window = &setup.traffic.window;
    let time = length(setup, finished);
    let own = || rows.iter().filter(|row| row.measured);
    let open = |row: &&Row| row.fct().is_none() && !row.counts.abandoned;
    let arrivals_end = window.until.saturating_add(window.drain);
    let late = |row: &&Row| row.counts.completed_at != Time::NEVER && row.counts.completed_at > arrivals_end;
    let hosts: Vec<usize> =
        (0..setup.fabric.links.len()).filter(|&id| setup.fabric.is_host(setup.fabric.links[id].to)).collect();
    let all: Vec<usize> = (0..setup.traffic.entries.len())
        .filter(|&entry| setup.traffic.entries[entry].offered_bps.is_some())
        .collect();
    let capacity = capacity(setup, &all);
    let over =
        |bits: Option<f64>| bits.filter(|_| !all.is_empty() && capacity > 0.0).map(|bits| bits / capacity);
    let entries = || all.iter().map(|&entry| &setup.traffic.entries[entry]);
    let carried = carried(setup, metered, &all, capacity);
    let payload: u64 = metered.flows.iter().sum();
    let mut measured = Measured {
        rule: window.rule,
        why_all: window.why_all.clone(),
        from_ps: window.from.min(finished.end).0,
        until_ps: window.until.min(finished.end).0,
        drain_ps: window.drain.0,
        wanted_ps: window.wanted.map(|wanted| wanted.0),
        flows: own().count() as u64,
        unfinished: own().filter(open).count() as u64,
        after_arrivals: if all.is_empty() { 0 } else { own().filter(late).count() as u64 },
        offered_load: over(entries().map(|entry| entry.offered_bps).sum()),
        realised_load: over(entries().map(|entry| Some(entry.realised_load? * entry.capacity_bps)).sum()),
        carried_load: carried.map(|(mean, _)| mean),
        carried_ci95: carried.map(|(_, half)| half),
        goodput_bps: share_of(8.0 * payload as f64, 1.0, time),
        hosts_payload: share_of(8.0 * payload as f64, rate_of(setup, &hosts), time),
        hosts_wire: busy(setup, &metered.links, &hosts, time),
        tiers: tiers(setup, metered, time),
        halves: halves(setup, rows, flows, &all),
        unstable: Vec::new(),
    };
    let excess = excess(setup, metered, &all, capacity).map(|excess| interval(&excess, STUDENT));
    measured.unstable = unstable(&measured, excess);
    measured
}

/// The load that these entries carried over a capacity in bits per second, and half of its 95 % confidence interval;
/// none if it was not observed span by span.
///
/// Batch means over spans see how deliveries vary, and not how the arrivals behind them do over longer times. The interval
/// is therefore no narrower than that of the payload that arrives in the window, whose variance is known: a Poisson process of
/// flows of size S brings rate * time * E[S^2].
pub fn carried(setup: &Setup, metered: &Metered, entries: &[usize], capacity: f64) -> Option<(f64, f64)> {
    let loads = loads(metered, capacity, |span| {
        metered.delivered[span]
            .iter()
            .enumerate()
            .filter(|(entry, _)| entries.contains(entry))
            .map(|(_, bytes)| bytes)
            .sum()
    })?;
    let (mean, half) = interval(&loads, STUDENT);
    let variance: f64 = entries.iter().map(|&entry| setup.traffic.entries[entry].variance).sum();
    let time = metered.span().seconds() * SPANS as f64;
    Some((mean, half.max(NORMAL * libm::sqrt(variance / time) / capacity)))
}

/// Span by span, bytes per second over a capacity in bits per second.
fn loads(metered: &Metered, capacity: f64, bytes: impl Fn(usize) -> u64) -> Option<Vec<f64>> {
    if metered.delivered.len() as u64 != SPANS || capacity <= 0.0 {
        return None;
    }
    let load = |span| 8.0 * bytes(span) as f64 / metered.span().seconds() / capacity;
    Some((0..SPANS as usize).map(load).collect())
}

/// By how much the load that arrived was above the load that was delivered, span by span.
fn excess(setup: &Setup, metered: &Metered, entries: &[usize], capacity: f64) -> Option<Vec<f64>> {
    let mut arrived = vec![0; SPANS as usize];
    for flow in &setup.traffic.flows[..setup.traffic.timed] {
        let span = metered.spans.partition_point(|end| *end < flow.start);
        if let (true, Some(arrived)) = (
            entries.contains(&(flow.entry as usize)),
            span.checked_sub(1).and_then(|span| arrived.get_mut(span)),
        ) {
            *arrived += flow.size;
        }
    }
    let arrived = loads(metered, capacity, |span| arrived[span])?;
    let delivered =
        loads(metered, capacity, |span| entries.iter().map(|&entry| metered.delivered[span][entry]).sum())?;
    Some(arrived.iter().zip(&delivered).map(|(arrived, delivered)| arrived - delivered).collect())
}

/// Mean and half the width of the confidence interval by Student's t.
fn interval(means: &[f64], student: f64) -> (f64, f64) {
    let count = means.len() as f64;
    let mean = means.iter().sum::<f64>() / count;
    let squares: f64 = means.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, student * libm::sqrt(squares / (count - 1.0) / count))
}

/// The summed rate of the hosts' links that the loads of these entries are of, each host counted once.
fn capacity(setup: &Setup, entries: &[usize]) -> f64 {
    let mut counted = vec![false; setup.fabric.hosts as usize];
    for &entry in entries {
        setup.traffic.loaded[entry].iter().for_each(|&host| counted[host as usize] = true);
    }
    let own = |link: &&Link| setup.fabric.is_host(link.from) && counted[link.from.index()];
    setup.fabric.links.iter().filter(own).map(|link| link.rate.0 as f64).sum()
}

fn rate_of(setup: &Setup, links: &[usize]) -> f64 {
    links.iter().map(|&link| setup.fabric.links[link].rate.0 as f64).sum()
}

fn share_of(bits: f64, rate: f64, time: Time) -> f64 {
    if time == Time::ZERO || rate == 0.0 { 0.0 } else { bits / time.seconds() / rate }
}

/// Share of time in which packets were on the wires of these links, weighted by their rates.
fn busy(setup: &Setup, counts: &[LinkCounts], links: &[usize], time: Time) -> f64 {
    let busy = links.iter().map(|&link| counts[link].busy.seconds() * setup.fabric.links[link].rate.0 as f64);
    share_of(busy.sum(), rate_of(setup, links), time)
}

fn tiers(setup: &Setup, metered: &Metered, time: Time) -> Vec<TierLoad> {
    let fabric = &setup.fabric;
    let mut names: Vec<String> = Vec::new();
    let mut links: Vec<Vec<usize>> = Vec::new();
    let mut tier_of = Vec::with_capacity(fabric.links.len());
    for (id, link) in fabric.links.iter().enumerate() {
        let name = fabric.tier_of(link);
        let tier = names.iter().position(|known| *known == name).unwrap_or_else(|| {
            names.push(name);
            links.push(Vec::new());
            names.len() - 1
        });
        links[tier].push(id);
        tier_of.push(tier);
    }
    let mut bytes = vec![0u128; names.len()];
    let traffic = &setup.traffic;
    // Flows that were drawn during the run are not known here.
    let known = metered.flows.len() <= traffic.flows.len() && setup.takes_shortest_paths();
    if known {
        for (flow, &got) in traffic.flows.iter().zip(&metered.flows).filter(|(_, got)| **got > 0) {
            let mut at = flow.src;
            while at != flow.dst {
                // Shortest paths of a pair of hosts cross the same tiers in a fabric of tiers.
                let link = setup.routes.next_hops(at, flow.dst)[0];
                bytes[tier_of[link.index()]] += u128::from(got);
                at = fabric.links[link.index()].to;
            }
        }
    }
    let load = |(tier, name): (usize, String)| TierLoad {
        tier: name,
        links: links[tier].len() as u64,
        payload: known.then(|| share_of(8.0 * bytes[tier] as f64, rate_of(setup, &links[tier]), time)),
        wire: busy(setup, &metered.links, &links[tier], time),
    };
    names.into_iter().enumerate().map(load).collect()
}

/// The mean slowdown of the flows of these entries in both halves of the window, in the order of their starts.
fn halves(setup: &Setup, rows: &[Row], flows: &Table, entries: &[usize]) -> Option<Halves> {
    let Some(Column { values: Values::F64(slowdowns), valid: Some(valid), .. }) =
        flows.column(flows::slowdown.name)
    else {
        return None;
    };
    let mut own: Vec<(Time, f64)> = rows
        .iter()
        .zip(slowdowns.iter().zip(valid))
        .filter(|(row, (_, valid))| **valid && row.measured && entries.contains(&(row.flow.entry as usize)))
        .map(|(row, (slowdown, _))| (row.flow.start, *slowdown))
        .collect();
    own.sort_by_key(|(start, _)| *start);
    let window = &setup.traffic.window;
    let from = window.from.max(own.first()?.0);
    let until = if window.ends() { window.until } else { own.last()?.0 };
    let middle = Time(from.0 + until.saturating_sub(from).0 / 2);
    let (first, second) = own.split_at(own.partition_point(|(start, _)| *start < middle));
    let half = |own: &[(Time, f64)]| {
        let batch = own.len() / BATCHES;
        let mean =
            |batch: &[(Time, f64)]| batch.iter().map(|(_, value)| value).sum::<f64>() / batch.len() as f64;
        let means: Vec<f64> = own.chunks_exact(batch.max(1)).take(BATCHES).map(mean).collect();
        (batch >= BATCH_LEAST).then(|| interval(&means, STUDENT_OF_HALF))
    };
    let ((first, first_ci95), (second, second_ci95)) = (half(first)?, half(second)?);
    Some(Halves { first, first_ci95, second, second_ci95 })
}

/// Why the run was not in a steady state at its load, given by how much more arrived than was delivered, with its interval.
fn unstable(measured: &Measured, excess: Option<(f64, f64)>) -> Vec<String> {
    let mut reasons = Vec::new();
    if let (Some(offered), Some(carried), Some(half)) =
        (measured.offered_load, measured.carried_load, measured.carried_ci95)
        && (carried - offered).abs() > SURE * half
    {
        reasons.push(format!("a load of {carried:.3} +- {half:.3} was carried, and {offered:.3} is offered"));
    } else if let Some((excess, half)) = excess
        && excess > SURE * half
    {
        reasons.push(format!(
            "a load of {excess:.3} +- {half:.3} more arrived than was delivered: what waits in the network grows"
        ));
    }
    if let Some(halves) = measured.halves.filter(Halves::differ) {
        let Halves { first, first_ci95, second, second_ci95 } = halves;
        reasons.push(format!(
            "the mean slowdown of flows that start in the first half of the window is {first:.2} +- {first_ci95:.2}, in the \
             second {second:.2} +- {second_ci95:.2}"
        ));
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Means 1 and 3: a deviation of sqrt(2), over sqrt(2) means, times the quantile.
    #[test]
    fn an_interval_by_hand() {
        let (mean, half) = interval(&[1.0, 3.0], 12.706);
        assert_eq!(mean, 2.0);
        assert!((half - 12.706).abs() < 1e-12, "{half}");
    }

    /// Intervals of -+ 1 each: 1.7 times their sum is the most by which steady halves differ.
    #[test]
    fn halves_differ_by_more_than_their_intervals() {
        let differ = |first, second| Halves { first, first_ci95: 1.0, second, second_ci95: 1.0 }.differ();
        assert_eq!([differ(0.0, 3.4), differ(0.0, 3.5), differ(3.5, 0.0)], [false, true, true]);
    }

    /// A share of no time, or of no links, is none.
    #[test]
    fn shares_of_nothing() {
        let share = |rate, us| share_of(1_000.0, rate, Time::from_us(us));
        assert_eq!([share(1e9, 0), share(0.0, 2), share(1e9, 2)], [0.0, 0.0, 0.5]);
    }

    /// A window in which the load of 0.5 was carried, with an interval, where so much was offered, and halves if they count.
    fn measured(offered: f64, halves: Option<Halves>) -> Measured {
        Measured {
            rule: Rule::Given,
            why_all: None,
            from_ps: 0,
            until_ps: 0,
            drain_ps: 0,
            wanted_ps: None,
            flows: 0,
            unfinished: 0,
            after_arrivals: 0,
            offered_load: Some(offered),
            realised_load: None,
            carried_load: Some(0.5),
            carried_ci95: Some(0.1),
            goodput_bps: 0.0,
            hosts_payload: 0.0,
            hosts_wire: 0.0,
            tiers: Vec::new(),
            halves,
            unstable: Vec::new(),
        }
    }

    /// The load is off by more than 1.7 intervals, 0.17: that is the reason, whatever waits. Else it is if more arrived than was
    /// delivered by more than 1.7 of its intervals, 0.085. Halves that differ are one more reason.
    #[test]
    fn reasons_of_an_unsteady_run() {
        let halves = Halves { first: 2.0, first_ci95: 0.5, second: 4.0, second_ci95: 0.5 };
        let reasons = |offered, excess: f64, halves: Option<Halves>| {
            let found = unstable(&measured(offered, halves), Some((excess, 0.05)));
            found.iter().map(|why| why.split(' ').take(4).collect::<Vec<_>>().join(" ")).collect::<Vec<_>>()
        };
        assert!(reasons(0.66, 0.08, None).is_empty());
        assert!(unstable(&measured(0.66, None), None).is_empty());
        assert_eq!(reasons(0.68, 0.2, None), ["a load of 0.500"]);
        assert_eq!(reasons(0.66, 0.09, None), ["a load of 0.090"]);
        assert!(reasons(0.66, -0.2, None).is_empty());
        assert_eq!(reasons(0.66, 0.08, Some(halves)), ["the mean slowdown of"]);
    }

    /// The probability that Student's t of so many batches is at most `t`, by Simpson's rule over its density.
    fn student(t: f64, batches: f64) -> f64 {
        let freedom = batches - 1.0;
        let density = |x: f64| libm::pow(1.0 + x * x / freedom, -(freedom + 1.0) / 2.0);
        let scale = libm::tgamma((freedom + 1.0) / 2.0)
            / (libm::sqrt(freedom * std::f64::consts::PI) * libm::tgamma(freedom / 2.0));
        let step = t / 1000.0;
        let weight = |at: u32| if at == 0 || at == 1000 { 1.0 } else { f64::from(2 + at % 2 * 2) };
        let sum: f64 = (0..=1000).map(|at| weight(at) * density(f64::from(at) * step)).sum();
        0.5 + scale * sum * step / 3.0
    }

    /// The quantiles are those of as many batches as there are. One batch more or less is off by 0.0003 at least.
    #[test]
    fn quantiles_are_those_of_the_batches() {
        for (quantile, batches) in [(STUDENT, SPANS as f64), (STUDENT_OF_HALF, BATCHES as f64)] {
            let found = student(quantile, batches);
            assert!((found - 0.975).abs() < 5e-5, "{found} up to {quantile} for {batches} batches");
            assert!([-1.0, 1.0].iter().all(|more| (student(quantile, batches + more) - 0.975).abs() > 2e-4));
        }
    }
}
