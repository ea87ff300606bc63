//! Records of a run besides its totals, if a scenario requests them: samples over time, distributions,
//! packets.
//!
//! Each is an [`Observer`](crate::engine::contract::observer::Observer) in a file of its own; none changes the run.

pub mod capture;
pub mod events;
pub mod histograms;
pub mod meter;
pub mod samples;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wildmatch::WildMatch;

use self::capture::{Captor, Capture};
use self::events::{Events, Recorder};
use self::histograms::{Distributions, Histograms};
use self::meter::Meter;
use self::samples::{Sampler, Samples};
use crate::engine::contract::observer::Observer;
use crate::engine::data::plan::Carrier;
use crate::ids::LinkId;
use crate::nearest::{closest, did_you_mean};
use crate::problem::Problem;
use crate::topology::{Fabric, Link};
use crate::traffic::Traffic;

/// Records of a run besides flows and links; by default none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Observe {
    /// Queues, utilisation, windows and rates over time: samples.parquet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples: Option<Samples>,
    /// Distributions of queues and of packets' latencies: histograms.parquet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub histograms: Option<Histograms>,
    /// Steps of packets, pauses, timers, windows and rates, a row each: events.parquet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<Events>,
    /// The packets of some links, for Wireshark and the like: pcap/.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capture: Option<Capture>,
}

impl Observe {
    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        *self == Observe::default()
    }

    /// All that is wrong on that network with entries of these names; paths are below `observe`.
    pub fn problems(&self, fabric: &Fabric, entries: &[&str]) -> Vec<Problem> {
        let mut problems = Vec::new();
        if let Some(samples) = &self.samples {
            problems.extend(unmatched_links("samples.links", &samples.links, fabric));
            problems.extend(unmatched_entries("samples.flows", &samples.flows, entries));
        }
        if let Some(events) = &self.events {
            problems.extend(unmatched_links("events.links", &events.links, fabric));
            problems.extend(unmatched_entries("events.flows", &events.flows, entries));
            if let (Some(from), Some(until)) = (events.from, events.until)
                && until < from
            {
                problems
                    .push(Problem::new("events.until", format!("{until} is before from, which is {from}")));
            }
        }
        if let Some(capture) = &self.capture {
            problems.extend(unmatched_links("capture.links", &capture.links, fabric));
        }
        problems
    }
}

/// Of more links a misspelt one is not searched.
const NAMED_MOST: usize = 20_000;

fn hinted<'a>(what: String, pattern: &str, names: impl Iterator<Item = &'a str>) -> String {
    match closest(pattern, names) {
        Some(name) => format!("{what}; {}", did_you_mean(name)),
        None => what,
    }
}

/// A link as patterns see it: "host 3 -> edge 0".
pub fn link_name(fabric: &Fabric, link: &Link) -> String {
    format!("{} -> {}", fabric.nodes[link.from.index()].name, fabric.nodes[link.to.index()].name)
}

/// The links that any of the patterns matches, by their tier or by the names of both ends.
fn chosen_links(patterns: &[String], fabric: &Fabric) -> Vec<LinkId> {
    let matchers: Vec<_> = patterns.iter().map(|pattern| WildMatch::new(pattern)).collect();
    let is_chosen = |link: &Link| {
        let names = [fabric.tier_of(link), link_name(fabric, link)];
        matchers.iter().any(|matcher| names.iter().any(|name| matcher.matches(name)))
    };
    let all = fabric.links.iter().enumerate();
    all.filter(|(_, link)| is_chosen(link)).map(|(index, _)| LinkId(index as u32)).collect()
}

fn unmatched_entries(path: &str, patterns: &[String], entries: &[&str]) -> Vec<Problem> {
    let nothing = |(index, pattern): (usize, &String)| {
        let matcher = WildMatch::new(pattern);
        let what = || format!("\"{pattern}\" is the name of no traffic entry");
        let is_matched = entries.iter().any(|name| matcher.matches(name));
        let names = entries.iter().copied();
        (!is_matched).then(|| Problem::new(format!("{path}.{index}"), hinted(what(), pattern, names)))
    };
    patterns.iter().enumerate().filter_map(nothing).collect()
}

fn unmatched_links(path: &str, patterns: &[String], fabric: &Fabric) -> Vec<Problem> {
    let nothing = |(index, pattern): (usize, &String)| {
        if !chosen_links(std::slice::from_ref(pattern), fabric).is_empty() {
            return None;
        }
        let mut tiers: Vec<_> = fabric.links.iter().map(|link| fabric.tier_of(link)).collect();
        tiers.sort_unstable();
        tiers.dedup();
        let example = fabric.links.first().map(|link| link_name(fabric, link)).unwrap_or_default();
        let what = format!(
            "\"{pattern}\" matches no link; use a tier ({}) or two nodes, as in \"{example}\", with * for any text",
            tiers.join(", ")
        );
        // Names of links only where one is meant, and are not millions.
        let by_ends = pattern.contains("->") && fabric.links.len() <= NAMED_MOST;
        let links = fabric.links.iter().filter(|_| by_ends).map(|link| link_name(fabric, link));
        let names: Vec<String> = tiers.into_iter().chain(links).collect();
        Some(Problem::new(format!("{path}.{index}"), hinted(what, pattern, names.iter().map(String::as_str))))
    };
    patterns.iter().enumerate().filter_map(nothing).collect()
}

/// All records of a run that are made while it goes on.
pub struct Recorders {
    /// Over time.
    pub sampler: Option<Sampler>,
    pub distributions: Option<Distributions>,
    /// Packets.
    pub captor: Option<Captor>,
    /// Events.
    pub recorder: Option<Recorder>,
    /// Counters of the measuring window.
    pub meter: Meter,
}

impl Recorders {
    /// The scenario's requests, before the run; each records within the measuring window, unless events have a span of their
    /// own.
    pub fn new(observe: &Observe, fabric: &Fabric, carriers: &[Carrier], traffic: &Traffic) -> Recorders {
        let window = &traffic.window;
        Recorders {
            sampler: observe.samples.as_ref().map(|samples| Sampler::new(samples, fabric, carriers, window)),
            distributions: observe
                .histograms
                .as_ref()
                .map(|wanted| Distributions::new(wanted, fabric, window)),
            captor: observe.capture.as_ref().map(|capture| Captor::new(capture, fabric, window)),
            recorder: observe.events.as_ref().map(|events| Recorder::new(events, fabric, carriers, traffic)),
            meter: Meter::new(traffic, fabric.links.len()),
        }
    }

    /// Each of them.
    pub fn all(&mut self) -> impl Iterator<Item = &mut dyn Observer> {
        let Recorders { sampler, distributions, captor, recorder, meter } = self;
        let sampler = sampler.as_mut().map(|it| it as &mut dyn Observer);
        let distributions = distributions.as_mut().map(|it| it as &mut dyn Observer);
        let captor = captor.as_mut().map(|it| it as &mut dyn Observer);
        let recorder = recorder.as_mut().map(|it| it as &mut dyn Observer);
        [sampler, distributions, captor, recorder, Some(meter as &mut dyn Observer)].into_iter().flatten()
    }
}
