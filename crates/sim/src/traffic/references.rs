//! Entries that refer to others: in which order they are written.

use super::Demand;
use super::workload::Reference;
use crate::problem::Problem;

/// More names than this are not listed.
const NAMED: usize = 12;

/// A problem of an entry: (its index, problem with its path below the entry).
pub type Wrong = (usize, Problem);

/// Whether the path of a problem is that of a reference of the entry.
pub fn is_reference(entry: &Demand, path: &str) -> bool {
    path == "sources.not-in" || entry.workload.references().iter().any(|reference| reference.path == path)
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
        let references = entry.workload.references();
        for Reference { path, entry: name, .. } in &references {
            let waits = || references.iter().any(|other| other.waits && other.entry == *name);
            let what = match position(entries, name).map(|base| &entries[base]) {
                None => {
                    let names: Vec<_> = entries.iter().map(|entry| format!("\"{}\"", entry.name)).collect();
                    let more = if names.len() > NAMED { " and others" } else { "" };
                    let names = names[..names.len().min(NAMED)].join(", ");
                    format!("no entry is called \"{name}\"; there are {names}{more}")
                }
                Some(base) if !base.workload.known_before() => {
                    format!(
                        "the flows of \"{name}\" are drawn during the run; name an entry whose flows are known before"
                    )
                }
                Some(base) if base.workload.endless() && waits() => {
                    format!("the flows of \"{name}\" never end")
                }
                Some(_) => continue,
            };
            problems.push((index, Problem::new(path.clone(), what)));
        }
    }
    problems
}

/// The entries, each behind those that it refers to; circles are problems.
fn behind_each_other(entries: &[Demand], problems: &mut Vec<Wrong>) -> Vec<usize> {
    let bases: Vec<Vec<usize>> = entries
        .iter()
        .map(|entry| entry.workload.references())
        .map(|references| references.iter().filter_map(|to| position(entries, to.entry)).collect())
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
    let mut followed = placed.clone();
    for first in 0..entries.len() {
        let next = |at: usize| bases[at].iter().copied().find(|&base| !placed[base]);
        let mut way = Vec::new();
        let mut at = first;
        while !followed[at] {
            followed[at] = true;
            way.push(at);
            at = next(at).expect("an entry that is left refers to one that is left");
        }
        if let Some(start) = way.iter().position(|&entry| entry == at) {
            let circle = &way[start..];
            let names: Vec<_> =
                circle.iter().chain([&at]).map(|&entry| entries[entry].name.as_str()).collect();
            let references = entries[at].workload.references();
            let onwards = references.into_iter().find(|to| position(entries, to.entry) == next(at));
            let Reference { path, .. } = onwards.expect("the reference that leads on");
            let what = format!("leads back to itself: \"{}\"", names.join("\", \""));
            problems.push((at, Problem::new(path, what)));
        }
    }
    order
}
