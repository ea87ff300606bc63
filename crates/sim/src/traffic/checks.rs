//! The checks of traffic entries before any flow is drawn, and how many flows they will have.

use std::iter::zip;

use super::deadlines::Deadlines;
use super::references::{self, Wrong, position};
use super::workload::extent::{Extent, Scope};
use super::{Demand, FLOWS_MAX, HostPorts, sources};
use crate::problem::{Problem, within};
use crate::topology::Fabric;

/// All that is wrong with the entries: (index of the entry, problem with its path below the entry).
pub fn problems(entries: &[Demand], fabric: &Fabric) -> Vec<(usize, Problem)> {
    let hosts = fabric.hosts;
    let (ranks, wrong) = sources::resolve(entries, hosts, 0, 0);
    let (order, mut between) = references::order(entries);
    let mut own: Vec<Vec<Problem>> = entries.iter().map(|entry| entry.problems(hosts)).collect();
    for (index, what) in wrong {
        own[index].push(Problem::new("sources.not-in", what));
    }
    for ((entry, ranks), own) in zip(entries, &ranks).zip(&mut own) {
        if own.is_empty() {
            own.extend(entry.workload.problems_among(ranks.len() as u32));
        }
    }
    let valid = |index: usize| own[index].is_empty();
    let (extents, wrong) = extents((entries, &ranks), &order, fabric, valid);
    between.extend(wrong);
    let mut problems = Vec::new();
    let mut total = 0u64;
    for (index, (entry, own)) in zip(entries, own).enumerate() {
        problems.extend(own.into_iter().map(|own| (index, own)));
        problems.extend(between.extract_if(.., |(of, ..)| *of == index));
        if let Some(first) = entries[..index].iter().position(|other| other.name == entry.name) {
            let what = format!("\"{}\" is already the name of entry {first}; names are unique", entry.name);
            problems.push((index, Problem::new("name", what)));
        }
        let before = total;
        total = total.saturating_add(extents[index].flows);
        if before <= FLOWS_MAX && total > FLOWS_MAX {
            let what =
                format!("makes {total} flows with the entries before; a scenario has at most {FLOWS_MAX}");
            problems.push((index, Problem::new("flows", what)));
        }
    }
    problems
}

impl Demand {
    /// All that is wrong with the entry by itself on so many hosts.
    pub fn problems(&self, hosts: u32) -> Vec<Problem> {
        let mut problems = Vec::new();
        let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if self.name.is_empty() || !self.name.chars().all(allowed) {
            let what = format!("\"{}\" is not a name; use letters, digits, \"-\" and \"_\"", self.name);
            problems.push(Problem::new("name", what));
        }
        problems.extend(self.workload.problems(self, hosts));
        problems.extend(within("sources", self.sources.iter().flat_map(|sources| sources.problems(hosts))));
        problems.extend(within("deadlines", self.deadlines.iter().flat_map(Deadlines::problems)));
        if self.deadline.is_some() && self.deadlines.is_some() {
            problems.push(Problem::new("deadlines", "stands beside deadline; keep one of the two"));
        }
        problems
    }
}

/// How many flows each entry has at most. Called only if there are no [`problems`].
pub fn flows_at_most(entries: &[Demand], fabric: &Fabric) -> Vec<u64> {
    extents_of(entries, fabric).iter().map(|extent| extent.most).collect()
}

/// Number of flows that will be drawn before the run, on average where it is random. Called only if there are no
/// [`problems`].
pub fn flows_drawn(entries: &[Demand], fabric: &Fabric) -> u64 {
    let extents = extents_of(entries, fabric);
    let before = zip(entries, &extents).filter(|(entry, _)| entry.workload.known_before());
    before.map(|(_, extent)| extent.flows).fold(0, u64::saturating_add)
}

/// The extents of entries with which nothing is wrong.
fn extents_of(entries: &[Demand], fabric: &Fabric) -> Vec<Extent> {
    let (ranks, _) = sources::resolve(entries, fabric.hosts, 0, 0);
    extents((entries, &ranks), &references::order(entries).0, fabric, |_| true).0
}

/// How many flows each entry has with these ranks, and the problems with that; each entry comes in `order` behind those
/// that it refers to. `valid` is whether nothing is wrong with an entry by itself.
fn extents(
    (entries, ranks): (&[Demand], &[Vec<u32>]),
    order: &[usize],
    fabric: &Fabric,
    valid: impl Fn(usize) -> bool,
) -> (Vec<Extent>, Vec<Wrong>) {
    let ports = HostPorts::of(fabric);
    let mut extents = vec![Extent::default(); entries.len()];
    let mut problems = Vec::new();
    for &index in order {
        let known = |name: &str| position(entries, name).map(|base| extents[base]);
        let (extent, wrong) = entries[index].workload.extent(&Scope {
            name: &entries[index].name,
            background: entries[index].background,
            ranks: &ranks[index],
            hosts: fabric.hosts,
            ports: &ports,
            valid: valid(index),
            known: &known,
        });
        extents[index] = extent;
        problems.extend(wrong.map(|wrong| (index, wrong)));
    }
    (extents, problems)
}

/// Why a run of these entries needs a time at which to stop, if it does.
pub fn endless(entries: &[Demand]) -> Option<String> {
    let mut awaited = entries.iter().filter(|entry| !entry.background);
    if let Some((entry, field)) = awaited.find_map(|entry| Some((entry, entry.workload.unbounded()?))) {
        return Some(format!(
            "the sources of \"{}\" go on for ever; give a time, or the entry {field} or background = true",
            entry.name
        ));
    }
    let only_background = !entries.is_empty() && entries.iter().all(|entry| entry.background);
    only_background
        .then(|| "all entries are background, and a run does not wait for such flows; give a time".into())
}

/// Why arrivals cannot go on behind the measured flows, if they cannot.
pub fn cannot_go_on(entries: &[Demand]) -> Option<String> {
    let own = |entry: &&Demand| !entry.background;
    if !entries.iter().filter(own).any(Demand::goes_on) {
        return Some("no arrivals of measured flows are a Poisson process".into());
    }
    let named = |name: Option<&str>| entries.iter().find(|other| Some(other.name.as_str()) == name);
    entries.iter().filter(own).find_map(|entry| {
        let name = &entry.name;
        let Some(product) = entry.offers() else {
            return Some(format!("flows of \"{name}\" have no arrivals that go on"));
        };
        let behind = product.arrivals.behind();
        let base = named(behind.map(|behind| behind.entry)).and_then(Demand::offers);
        let follows = behind.is_some_and(|behind| behind.flow_by_flow)
            && base.is_some_and(|base| base.arrivals.goes_on() || base.arrivals.behind().is_some());
        let arrivals = product.arrivals.name();
        match () {
            () if product.sizes.most().is_some() => {
                Some(format!("\"{name}\" has a list of sizes, which ends"))
            }
            () if product.arrivals.goes_on() && product.matrix.base().is_some() => {
                Some(format!("\"{name}\" replies to flows that end"))
            }
            () if product.arrivals.goes_on() => None,
            () if !follows => Some(format!("flows of \"{name}\" start by arrivals.{arrivals}")),
            () if product.flows.is_some() && product.flows != base.and_then(|base| base.flows) => {
                Some(format!("\"{name}\" has a number of flows of its own"))
            }
            () => None,
        }
    })
}
