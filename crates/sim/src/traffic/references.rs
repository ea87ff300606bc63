//! Entries that refer to others: in which order they are drawn, and how many flows each has.

use super::{Entry, FLOWS_MAX};

/// More names than this are not listed.
const NAMED: usize = 12;

/// What is known of all entries before a flow is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Outline {
    /// The entries, each behind those that it refers to; those that cannot be drawn are left out.
    pub order: Vec<usize>,
    /// By entry.
    pub extents: Vec<Extent>,
}

/// How many flows an entry has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// In a round of its matrix.
    pub round: u64,
    /// Drawn in advance; 0 if the entry should say it and does not.
    pub flows: u64,
}

/// A problem: (index of the entry, path below it, what is wrong).
pub type Wrong = (usize, String, String);

/// The entries that an entry refers to: (path of the reference, name).
fn references(entry: &Entry) -> impl Iterator<Item = (String, &str)> {
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
}

/// The index of the entry of that name.
pub fn position(entries: &[Entry], name: &str) -> Option<usize> {
    entries.iter().position(|entry| entry.name == name)
}

/// The outline of the entries on so many hosts, and what is wrong with their references and numbers of flows.
pub fn outline(entries: &[Entry], hosts: u32) -> (Outline, Vec<Wrong>) {
    let mut problems = unusable(entries);
    let mut order = order(entries, &mut problems);
    // Whose reference leads nowhere has no number of flows.
    order.retain(|&index| !problems.iter().any(|(wrong, ..)| *wrong == index));
    let mut extents = vec![Extent::default(); entries.len()];
    for &index in &order {
        let (extent, wrong) = extent(&entries[index], entries, &extents, hosts);
        extents[index] = extent;
        problems.extend(wrong.map(|what| (index, "flows".to_string(), what)));
    }
    (Outline { order, extents }, problems)
}

/// References to entries that do not exist, or whose flows cannot be referred to.
fn unusable(entries: &[Entry]) -> Vec<Wrong> {
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
                Some(base) if waits_for == Some(name) && base.sizes.mean().is_infinite() => {
                    format!("the flows of \"{name}\" never end")
                }
                Some(_) => continue,
            };
            problems.push((index, path, what));
        }
    }
    problems
}

/// The entries, each behind those that it refers to; circles are problems.
fn order(entries: &[Entry], problems: &mut Vec<Wrong>) -> Vec<usize> {
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
    // Whoever is left refers to one that is left: the way along them ends in a circle.
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
            problems.push((at, path, format!("leads back to itself: \"{}\"", names.join("\", \""))));
        }
    }
    order
}

/// How many flows an entry has, given those that it refers to; and what is wrong with it.
fn extent(entry: &Entry, entries: &[Entry], known: &[Extent], hosts: u32) -> (Extent, Option<String>) {
    let base = |name: &str| position(entries, name).map_or(0, |base| known[base].flows);
    let replies = entry.matrix.reply_to().map(base);
    let round = replies.unwrap_or_else(|| entry.matrix.round(hosts));
    let behind = entry.arrivals.behind().filter(|behind| behind.flow_by_flow);
    let one_each = behind.map(|behind| base(behind.entry));
    let natural = one_each.or_else(|| entry.arrivals.flows(round));
    let member = entry.arrivals.name();
    let starts = entry.arrivals.flows_max(round);
    let what = match (entry.flows, natural) {
        (Some(_), _) if entry.arrivals.on_off().is_some() => {
            Some(format!("does not go with arrivals.{member}, whose flows are drawn during the run"))
        }
        (None, None) => {
            Some(format!("is missing; arrivals.{member} has no end of its own: say flows = 1000"))
        }
        (Some(flows), _) if starts.is_some_and(|most| flows > most) => {
            let most = starts.unwrap_or_default();
            Some(format!("{flows} is more than arrivals.{member} has starts, {most}"))
        }
        (flows, natural) => {
            let flows = flows.or(natural).unwrap_or(0);
            let too_many = |most: Option<u64>| most.filter(|&most| flows > most);
            if flows > FLOWS_MAX {
                Some(format!("{flows} is too many; a scenario has at most {FLOWS_MAX} flows"))
            } else if entry.flows == Some(0) {
                Some("0 is too few; use 1 or more".into())
            } else {
                let most = too_many(one_each).or(too_many(replies));
                most.map(|most| {
                    format!("{flows} is more than the {most} flows that these refer to one by one")
                })
            }
        }
    };
    let flows = if what.is_some() { 0 } else { entry.flows.or(natural).unwrap_or(0) };
    (Extent { round, flows }, what)
}
