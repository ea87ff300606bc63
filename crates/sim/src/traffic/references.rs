//! Entries that refer to others: in which order they are drawn, and how many flows each has.

use super::{Demand, FLOWS_MAX};
use crate::problem::Problem;

/// More names than this are not listed.
const NAMED: usize = 12;

/// How many flows an entry has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// In a round of its matrix.
    pub round: u64,
    /// To be drawn at most.
    pub most: u64,
    /// To be drawn, or to be expected if a time ends them; 0 if the entry lacks a number that it needs.
    pub flows: u64,
    /// Whether that many will be drawn.
    pub exact: bool,
}

/// A problem of an entry: (its index, problem with its path below the entry).
pub type Wrong = (usize, Problem);

/// The entries that an entry refers to: (path of the reference, name).
fn references(entry: &Demand) -> impl Iterator<Item = (String, &str)> {
    let path = |group: &str, member: &str, field: &str| format!("{group}.{member}.{field}");
    let behind = entry.arrivals.behind();
    let behind = behind.map(|behind| (path("arrivals", entry.arrivals.name(), "entry"), behind.entry));
    let reply = entry.matrix.reply_to().map(|name| (path("matrix", entry.matrix.name(), "to"), name));
    behind.into_iter().chain(reply)
}

/// Whether the path of a problem is that of a reference.
pub fn is_reference(path: &str) -> bool {
    (path.starts_with("arrivals.") && path.ends_with(".entry"))
        || (path.starts_with("matrix.") && path.ends_with(".to"))
        || path == "sources.not-in"
}

/// The index of the entry of that name.
pub fn position(entries: &[Demand], name: &str) -> Option<usize> {
    entries.iter().position(|entry| entry.name == name)
}

/// The entries, each behind those that it refers to, and the problems of the references. Entries whose own
/// lead nowhere are left out.
pub fn order(entries: &[Demand]) -> (Vec<usize>, Vec<Wrong>) {
    let mut problems = unusable(entries);
    let mut order = behind_each_other(entries, &mut problems);
    order.retain(|&index| !problems.iter().any(|(wrong, ..)| *wrong == index));
    (order, problems)
}

/// References to entries that do not exist, or whose flows cannot be referred to.
fn unusable(entries: &[Demand]) -> Vec<Wrong> {
    let mut problems = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        let waits_for = entry.arrivals.behind().map(|behind| behind.entry);
        for (path, name) in references(entry) {
            let what = match position(entries, name).map(|base| &entries[base]) {
                None => {
                    let names: Vec<_> = entries.iter().map(|entry| format!("\"{}\"", entry.name)).collect();
                    let more = if names.len() > NAMED { " and others" } else { "" };
                    let names = names[..names.len().min(NAMED)].join(", ");
                    format!("no entry is called \"{name}\"; there are {names}{more}")
                }
                Some(base) if base.arrivals.on_off().is_some() => {
                    format!(
                        "the flows of \"{name}\" are drawn during the run; name an entry whose flows are known before"
                    )
                }
                Some(base) if waits_for == Some(name) && base.sizes.endless() => {
                    format!("the flows of \"{name}\" never end")
                }
                Some(_) => continue,
            };
            problems.push((index, Problem::new(path, what)));
        }
    }
    problems
}

/// The entries, each behind those that it refers to; circles are problems.
fn behind_each_other(entries: &[Demand], problems: &mut Vec<Wrong>) -> Vec<usize> {
    let bases: Vec<Vec<usize>> = entries
        .iter()
        .map(|entry| references(entry).filter_map(|(_, name)| position(entries, name)).collect())
        .collect();
    let mut placed = vec![false; entries.len()];
    let mut order = Vec::with_capacity(entries.len());
    loop {
        let before = order.len();
        for index in 0..entries.len() {
            if !placed[index] && bases[index].iter().all(|&base| placed[base]) {
                placed[index] = true;
                order.push(index);
            }
        }
        if order.len() == before {
            break;
        }
    }
    // Each remaining entry refers to a remaining one: following the references ends in a cycle.
    let mut told = placed.clone();
    for first in 0..entries.len() {
        let next = |at: usize| bases[at].iter().copied().find(|&base| !placed[base]);
        let mut way = Vec::new();
        let mut at = first;
        while !told[at] {
            told[at] = true;
            way.push(at);
            at = next(at).expect("an entry that is left refers to one that is left");
        }
        if let Some(start) = way.iter().position(|&entry| entry == at) {
            let circle = &way[start..];
            let names: Vec<_> =
                circle.iter().chain([&at]).map(|&entry| entries[entry].name.as_str()).collect();
            let (path, _) = references(&entries[at])
                .find(|(_, name)| position(entries, name) == next(at))
                .expect("the reference that leads on");
            let what = format!("leads back to itself: \"{}\"", names.join("\", \""));
            problems.push((at, Problem::new(path, what)));
        }
    }
    order
}

/// How many flows an entry with so many sources on so many hosts has, given those that it refers to, where so
/// many are `expected` before an end, if there is one; and its problems.
pub fn extent(
    entry: &Demand,
    entries: &[Demand],
    known: &[Extent],
    (sources, hosts): (u64, u32),
    expected: Option<f64>,
) -> (Extent, Option<Problem>) {
    let base = |name: &str| position(entries, name).map(|base| known[base]);
    let replies = entry.matrix.reply_to().and_then(base);
    let behind = entry.arrivals.behind().filter(|behind| behind.flow_by_flow);
    let one_each = behind.and_then(|behind| base(behind.entry));
    let round = replies.map_or_else(|| entry.matrix.round(sources, hosts), |base| base.flows);
    let natural = one_each.map(|base| base.flows).or_else(|| entry.arrivals.flows(round));
    let bases: Vec<Extent> = one_each.into_iter().chain(replies).collect();
    let wrong = number_problem(entry, round, natural, expected);
    if wrong.is_some() {
        return (Extent { round, ..Extent::default() }, wrong);
    }
    let number = entry.flows.or(natural);
    let least = bases.iter().filter(|base| base.exact).map(|base| base.flows).min();
    let short = least.zip(number).filter(|(least, number)| least < number).map(|(least, number)| {
        let what = format!("{number} is more than the {least} flows that these refer to one by one");
        Problem::new("flows", what)
    });
    let most = least.into_iter().chain(number).min().unwrap_or(u64::MAX);
    let flows = number.unwrap_or_else(|| expected.map_or(0, |flows| flows.ceil() as u64));
    let exact = expected.is_none() && bases.iter().all(|base| base.exact);
    (Extent { round, most, flows, exact }, short)
}

fn number_problem(
    entry: &Demand,
    round: u64,
    natural: Option<u64>,
    expected: Option<f64>,
) -> Option<Problem> {
    let (arrivals, sizes) = (entry.arrivals.name(), entry.sizes.name());
    let what = match (entry.flows.or(natural), entry.arrivals.flows_max(round), entry.sizes.most()) {
        _ if entry.arrivals.on_off().is_some() => {
            entry.flows?;
            format!("does not go with arrivals.{arrivals}, whose flows are drawn during the run")
        }
        (None, _, Some(most)) => {
            format!("is missing; sizes.{sizes} has {most} sizes: say flows = {most} or less")
        }
        (None, ..) => match expected {
            None => format!("is missing; arrivals.{arrivals} has no end of its own: say flows = 1000"),
            Some(flows) if flows > FLOWS_MAX as f64 => {
                let what = format!(
                    "lets {flows:.0} flows start, on average; a scenario has at most {FLOWS_MAX} flows"
                );
                return Some(Problem::new(format!("arrivals.{arrivals}.until"), what));
            }
            Some(_) => return None,
        },
        (Some(0), ..) if entry.flows.is_some() => "0 is too few; use 1 or more".into(),
        (Some(flows), Some(most), _) if flows > most => {
            format!("{flows} is more than arrivals.{arrivals} has starts, {most}")
        }
        (Some(flows), ..) if flows > FLOWS_MAX => {
            format!("{flows} is too many; a scenario has at most {FLOWS_MAX} flows")
        }
        (Some(flows), _, Some(most)) if flows > most => {
            format!("{flows} is more than sizes.{sizes} has sizes, {most}")
        }
        _ => return None,
    };
    Some(Problem::new("flows", what))
}
