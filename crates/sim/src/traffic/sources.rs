//! Which hosts send, where the matrix leaves that open.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Demand;
use super::hosts::Host;
use crate::problem::{PROBLEMS_MAX, Problem};
use crate::random::{Purpose, Stream, name_key};

/// Which hosts send: some of those that would by the matrix. Any host may receive, unless `among_sources` is set.
///
/// For matrices in which every host sends; a load refers to the ports of those that do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sources {
    /// This share of the hosts, rounded to a whole number but at least one, drawn once for the run.
    Share(#[schemars(range(min = 0.000_001, max = 1.0))] f64),
    /// These hosts, by number or name.
    Hosts(#[schemars(with = "Vec<Host>", length(min = 1))] Vec<u32>),
    /// All hosts that do not send in the traffic entry of this name.
    NotIn(String),
}

impl Sources {
    /// All that is wrong on so many hosts; paths are below the sources.
    pub fn problems(&self, hosts: u32) -> Vec<Problem> {
        let mut problems = Vec::new();
        match self {
            Sources::Share(share) if !(*share > 0.0 && *share <= 1.0) => {
                problems.push(Problem::new("share", format!("{share} is not a share above 0 and at most 1")));
            }
            Sources::Hosts(list) => {
                if list.is_empty() {
                    problems.push(Problem::new("hosts", "is empty; list hosts, such as [0, 1]"));
                }
                let mut sends = vec![false; hosts as usize];
                for (index, &host) in list.iter().enumerate() {
                    if problems.len() >= PROBLEMS_MAX {
                        break;
                    }
                    let path = format!("hosts.{index}");
                    match sends.get_mut(host as usize) {
                        None => problems.push(Problem::new(
                            path,
                            format!("{host} is not a host; hosts are 0 to {}", hosts - 1),
                        )),
                        Some(true) => {
                            problems.push(Problem::new(path, format!("{host} is in the list already")))
                        }
                        Some(sends) => *sends = true,
                    }
                }
            }
            _ => {}
        }
        problems
    }
}

/// For each entry the hosts that send, or take part, in it, ascending; and the problems of `not-in`: (index of the entry,
/// problem).
///
/// How many they are does not depend on seed and replica.
pub fn resolve(
    entries: &[Demand],
    hosts: u32,
    seed: u64,
    replica: u64,
) -> (Vec<Vec<u32>>, Vec<(usize, String)>) {
    let mut wrong = Vec::new();
    let mut sources: Vec<Option<Vec<u32>>> =
        entries.iter().map(|entry| drawn(entry, hosts, seed, replica)).collect();
    let other = |entry: &Demand| match &entry.sources {
        Some(Sources::NotIn(name)) => entries.iter().position(|other| other.name == *name),
        _ => None,
    };
    let others: Vec<Option<usize>> = entries.iter().map(other).collect();
    // Each pass finds those that refer to an entry that is known by now.
    loop {
        let known = |index: usize| {
            let other = sources[others[index]?].as_ref()?;
            Some((index, (0..hosts).filter(|host| other.binary_search(host).is_err()).collect()))
        };
        let open = (0..entries.len()).filter(|&index| sources[index].is_none());
        let found: Vec<(usize, Vec<u32>)> = open.filter_map(known).collect();
        if found.is_empty() {
            break;
        }
        for (index, senders) in found {
            if senders.is_empty() {
                wrong.push((index, "all hosts send there, so that none is left".into()));
            }
            sources[index] = Some(senders);
        }
    }
    for (index, entry) in entries.iter().enumerate().filter(|(index, _)| sources[*index].is_none()) {
        let Some(Sources::NotIn(name)) = &entry.sources else { continue };
        let what = match others[index].is_some() {
            true => "leads back to this entry; name one whose sources do not depend on it",
            false => "is not the name of a traffic entry",
        };
        wrong.push((index, format!("\"{name}\" {what}")));
    }
    (sources.into_iter().map(Option::unwrap_or_default).collect(), wrong)
}

/// The hosts that send in an entry, ascending; none if that depends on another entry.
fn drawn(entry: &Demand, hosts: u32, seed: u64, replica: u64) -> Option<Vec<u32>> {
    let stream = |purpose| Stream::new(seed, replica, purpose, name_key(&entry.name));
    let own = entry.workload.ranks(hosts, &mut stream(Purpose::Matrix));
    let mut senders = match (own, &entry.sources) {
        (Some(own), _) => own,
        (None, None) => (0..hosts).collect(),
        (None, Some(Sources::Share(share))) => {
            let mut all: Vec<u32> = (0..hosts).collect();
            stream(Purpose::Sources).shuffle(&mut all);
            all.truncate(((share * f64::from(hosts)).round() as usize).max(1));
            all
        }
        (None, Some(Sources::Hosts(list))) => list.clone(),
        (None, Some(Sources::NotIn(_))) => return None,
    };
    senders.sort_unstable();
    senders.dedup();
    Some(senders)
}
