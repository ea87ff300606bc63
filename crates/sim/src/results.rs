//! From a run's state in memory to the tables and the summary that users read.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use serde::Serialize;
use serde_json::Value;

use crate::advice::Advice;
use crate::advisor::advice;
use crate::engine::audit::FINDINGS_MAX;
use crate::engine::conn::{Counts, Subflow};
use crate::engine::controller::ControlCounts;
use crate::engine::finished::{Finished, Limit, LinkCounts, Status};
use crate::engine::lanes::PartCounts;
use crate::estimate::Estimate;
use crate::faults::timeline::FaultSummary;
use crate::features::Features;
use crate::ideal::Ideals;
use crate::ids::NodeId;
use crate::observe::capture::Cable;
use crate::observe::{Recorders, link_name};
use crate::records::{Column, Definition, Table, Values, connections, digest, flows, links};
use crate::scenario::{Run, Scenario};
use crate::setup::Setup;
use crate::topology::{Fabric, Link};
use crate::traffic::{EntrySummary, Flow};
use crate::units::Time;

/// All that a run gives.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// A row for each flow.
    pub flows: Table,
    /// A row for each directed link.
    pub links: Table,
    /// A row for each subflow, if flows had several.
    pub connections: Option<Table>,
    /// Further records that the scenario requested.
    pub observed: Observed,
    /// The rest: the content of run.json.
    pub summary: Summary,
    /// The audit's findings; empty without an audit, and always if the simulator is right.
    pub violations: Vec<String>,
}

/// Records that a scenario's `observe` requested.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// Values over time.
    pub samples: Option<Table>,
    /// Distributions.
    pub histograms: Option<Table>,
    /// Packets, by cable.
    pub cables: Vec<Cable>,
}

/// Its entry in run.json.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ObservedSummary {
    /// Of samples.parquet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples: Option<SamplesSummary>,
    /// Of histograms.parquet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub histograms: Option<HistogramsSummary>,
    /// Of pcap/.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capture: Option<CaptureSummary>,
}

/// Of samples.parquet.
#[derive(Clone, Debug, Serialize)]
pub struct SamplesSummary {
    /// Its rows.
    pub rows: u64,
    /// The instant from which samples are missing because `rows_limit` was reached.
    pub cut_off_ps: Option<u64>,
    /// SHA-256 over the table.
    pub digest: String,
}

/// Of histograms.parquet.
#[derive(Clone, Debug, Serialize)]
pub struct HistogramsSummary {
    /// Its rows.
    pub rows: u64,
    /// SHA-256 over the table.
    pub digest: String,
}

/// Of pcap/.
#[derive(Clone, Debug, Serialize)]
pub struct CaptureSummary {
    /// Packets in all files.
    pub packets: u64,
    /// The instant from which packets are missing because `packet_limit` was reached.
    pub cut_off_ps: Option<u64>,
}

/// The run, how it ended and its counters.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Version of Flowyard.
    pub flowyard: &'static str,
    /// How the run finished.
    pub status: Status,
    /// The limit that ended it, if the status is "limit".
    pub limit: Option<Limit>,
    /// The links of a cycle of ports, paused or without credit, "from -> to", if the run ended for that.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deadlock: Vec<String>,
    /// Simulated time at the end.
    pub end_ps: u64,
    /// SHA-256 over the flows and links tables.
    pub digest: String,
    /// SHA-256 over the flows of the scenario: the same traffic under two transports has the same.
    pub traffic_digest: String,
    /// Seed of the run's random streams.
    pub seed: u64,
    /// Number of the repetition.
    pub replica: u64,
    /// Totals over the run.
    pub counters: Counters,
    /// The estimated needs of the run.
    pub estimate: Estimate,
    /// Records besides flows and links.
    pub observed: ObservedSummary,
    /// The traffic, entry by entry.
    pub traffic: Vec<EntrySummary>,
    /// Faults of the network, in the order of the scenario's list.
    pub faults: Vec<FaultSummary>,
    /// Fields that the scenario leaves to the network ("bdp", "derived"), by their paths, with the values that were used.
    pub derived: BTreeMap<String, Value>,
    /// Allowed settings that were probably not meant.
    pub advice: Vec<Advice>,
    /// The features of the run's queue, transports and balancers.
    pub features: Features,
    /// Its run on several threads, if the scenario requested them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition: Option<Partition>,
    /// The scenario as it was run, all defaults filled in.
    pub scenario: Scenario,
}

impl Summary {
    /// It as JSON.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("a summary is plain JSON")
    }
}

/// How a run went on several threads.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Partition {
    /// In parts.
    Parts(PartCounts),
    /// On one thread all the same, for this reason.
    Whole(&'static str),
}

/// Totals over a run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Counters {
    /// Events handled.
    pub events: u64,
    /// Links crossed by packets, of any kind.
    pub packet_hops: u64,
    /// Packets put on a wire by the host that made them.
    pub packets: u64,
    /// Packets dropped by queues.
    pub drops: u64,
    /// Packets lost to faults on a link.
    pub lost: u64,
    /// Packets lost to faults at a node from which no way was left.
    pub unroutable: u64,
    /// Packets whose payload was trimmed off.
    pub trims: u64,
    /// Headers sent back to their senders because they found no room.
    pub bounces: u64,
    /// Packets marked with congestion experienced.
    pub marks: u64,
    /// Times that a class of traffic was paused at a port.
    pub pauses: u64,
    /// Data packets sent again.
    pub retransmissions: u64,
    /// Retransmission timers that expired and made a sender act.
    pub timeouts: u64,
    /// Rows of the flows table.
    pub flows: u64,
    /// Flows that had not every byte delivered at the end and were not given up, without background.
    pub unfinished_flows: u64,
    /// Flows that their senders gave up before every byte had arrived.
    pub abandoned_flows: u64,
    /// Of central control, if there is a controller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control: Option<ControlCounts>,
}

/// Collects tables and summary.
pub fn collect(
    scenario: &Scenario,
    setup: &Setup,
    estimate: Estimate,
    finished: &Finished,
    recorders: Recorders,
) -> Outcome {
    let (observed, observed_summary) = observed(recorders, setup);
    let flows = flows_table(setup, finished, &scenario.run);
    let links = links_table(&setup.fabric, finished);
    let sum = |count: fn(&Counts) -> u64| finished.flows.iter().map(count).sum::<u64>();
    let at_links = |count: fn(&LinkCounts) -> u64| finished.links.iter().map(count).sum::<u64>();
    let unfinished = |(flow, counts): &(&Flow, &Counts)| {
        !setup.carriers[flow.entry as usize].background
            && counts.completed_at == Time::NEVER
            && !counts.abandoned
    };
    let counters = Counters {
        events: finished.totals.events,
        packet_hops: finished.totals.packet_hops,
        packets: finished.totals.packets,
        drops: at_links(|link| link.losses.dropped.packets),
        lost: at_links(|link| link.lost),
        unroutable: finished.totals.unroutable,
        trims: at_links(|link| link.losses.trims),
        bounces: at_links(|link| link.losses.bounced.packets),
        marks: at_links(|link| link.losses.marks),
        pauses: at_links(|link| link.pauses),
        retransmissions: sum(|counts| u64::from(counts.retransmissions)),
        timeouts: sum(|counts| u64::from(counts.timeouts)),
        flows: finished.flows.len() as u64,
        unfinished_flows: all_flows(setup, finished).zip(&finished.flows).filter(unfinished).count() as u64,
        abandoned_flows: sum(|counts| u64::from(counts.abandoned)),
        control: finished.totals.control,
    };
    let summary = Summary {
        flowyard: env!("CARGO_PKG_VERSION"),
        status: finished.status,
        limit: finished.limit,
        deadlock: finished
            .deadlock
            .iter()
            .map(|link| link_name(&setup.fabric, &setup.fabric.links[link.index()]))
            .collect(),
        end_ps: finished.end.0,
        digest: digest(&[&flows, &links]),
        traffic_digest: setup.traffic.digest.clone(),
        seed: scenario.run.seed,
        replica: scenario.run.replica,
        counters,
        estimate,
        observed: observed_summary,
        traffic: entries(setup, finished),
        faults: setup.faults.summary.clone(),
        derived: setup.derived.clone(),
        advice: advice(scenario, setup),
        features: Features::new(scenario, setup),
        partition: None,
        scenario: scenario.resolved(),
    };
    let connections = connections_table(&finished.subflows);
    let mut violations = finished.violations.clone();
    if scenario.run.audit && !setup.faults.moves_paths(&setup.fabric) {
        violations.extend(faster_than_ideal(&flows));
    }
    Outcome { flows, links, connections, observed, summary, violations }
}

/// For the audit: flows that took less than their ideal time, which no flow can where the network stays as it was built.
fn faster_than_ideal(flows: &Table) -> Vec<String> {
    let times = |definition: &Definition| match flows.column(definition.name) {
        Some(Column { values: Values::U64(times), valid: Some(valid), .. }) => times.iter().zip(valid),
        _ => unreachable!("a column of times that may be absent"),
    };
    let rows = times(&flows::fct_ps).zip(times(&flows::ideal_fct_ps)).enumerate();
    let faster = rows.filter(|(_, ((fct, _), (ideal, known)))| **known && fct < ideal);
    let what = |(id, ((fct, _), (ideal, _)))| format!("flow {id}: took {fct} ps, ideal is {ideal} ps");
    faster.map(what).take(FINDINGS_MAX).collect()
}

fn observed(recorders: Recorders, setup: &Setup) -> (Observed, ObservedSummary) {
    let Recorders { sampler, distributions, captor } = recorders;
    let cut_off = |at: Option<Time>| at.map(|at| at.0);
    let samples = sampler.map(|sampler| (cut_off(sampler.cut_off()), sampler.into_table()));
    let histograms = distributions.map(|distributions| distributions.into_table());
    let captured = captor.map(|captor| {
        (
            cut_off(captor.cut_off()),
            captor.into_cables(&setup.fabric, |model, config| setup.transport_at(model, config)),
        )
    });
    let summary = ObservedSummary {
        samples: samples.as_ref().map(|(cut_off_ps, table)| SamplesSummary {
            rows: table.rows() as u64,
            cut_off_ps: *cut_off_ps,
            digest: digest(&[table]),
        }),
        histograms: histograms
            .as_ref()
            .map(|table| HistogramsSummary { rows: table.rows() as u64, digest: digest(&[table]) }),
        capture: captured.as_ref().map(|(cut_off_ps, cables)| CaptureSummary {
            packets: cables.iter().map(|cable| cable.packets.len() as u64).sum(),
            cut_off_ps: *cut_off_ps,
        }),
    };
    let cables = captured.map(|(_, cables)| cables).unwrap_or_default();
    (Observed { samples: samples.map(|(_, table)| table), histograms, cables }, summary)
}

/// Outcome of each entry, with the flows drawn during the run.
fn entries(setup: &Setup, finished: &Finished) -> Vec<EntrySummary> {
    let mut entries = setup.traffic.entries.clone();
    let drawn_before = setup.traffic.flows.len() - setup.traffic.timed;
    finished.late[drawn_before..].iter().for_each(|flow| entries[flow.entry as usize].flows += 1);
    entries.iter_mut().zip(&finished.waits).for_each(|(entry, waits)| entry.waits = *waits);
    entries
}

fn column(definition: &'static Definition, values: Values) -> Column {
    Column { definition, values, valid: None }
}

/// A column in which a row may have no value.
fn optional<T: Copy + Default>(
    definition: &'static Definition,
    rows: impl Iterator<Item = Option<T>>,
    values: fn(Vec<T>) -> Values,
) -> Column {
    let (cells, valid): (Vec<T>, Vec<bool>) =
        rows.map(|row| (row.unwrap_or_default(), row.is_some())).unzip();
    Column { definition, values: values(cells), valid: Some(valid) }
}

/// All flows: those with a given start, those that waited for others, those drawn during the run.
fn all_flows<'a>(setup: &'a Setup, finished: &'a Finished) -> impl Iterator<Item = &'a Flow> + Clone {
    let traffic = &setup.traffic;
    traffic.flows[..traffic.timed].iter().chain(&finished.late)
}

/// The columns that describe the flows before the run.
struct Asked {
    id: Column,
    tag: Column,
    src: Column,
    dst: Column,
    size: Column,
    start: Column,
    deadline: Column,
}

impl Asked {
    fn of<'a, I: Iterator<Item = &'a Flow>>(all: impl Fn() -> I, setup: &Setup) -> Asked {
        let u32s =
            |definition, value: fn(&Flow) -> u32| column(definition, Values::U32(all().map(value).collect()));
        let tags = setup.carriers.iter().map(|carrier| carrier.name.clone()).collect();
        let known = |flow: &Flow| Some(flow.start.0).filter(|_| flow.start != Time::NEVER);
        let start = match all().any(|flow| flow.start == Time::NEVER) {
            true => optional(&flows::start_ps, all().map(known), Values::U64),
            false => column(&flows::start_ps, Values::U64(all().map(|flow| flow.start.0).collect())),
        };
        Asked {
            id: column(&flows::id, Values::U64((0..all().count() as u64).collect())),
            tag: by_entry(&flows::tag, all(), tags),
            src: u32s(&flows::src, |flow| flow.src.0),
            dst: u32s(&flows::dst, |flow| flow.dst.0),
            size: column(&flows::size_bytes, Values::U64(all().map(|flow| flow.size).collect())),
            start,
            deadline: optional(
                &flows::deadline_ps,
                all().map(|flow| flow.deadline.map(|time| time.0)),
                Values::U64,
            ),
        }
    }
}

/// A word for each flow by its traffic entry.
fn by_entry<'a>(
    definition: &'static Definition,
    all: impl Iterator<Item = &'a Flow>,
    words: Vec<String>,
) -> Column {
    column(definition, Values::Text { codes: all.map(|flow| flow.entry).collect(), words })
}

/// The flows that are drawn before a run: their description, without their outcome.
pub fn planned_flows(setup: &Setup) -> Table {
    let Asked { id, tag, src, dst, size, start, deadline } = Asked::of(|| setup.traffic.flows.iter(), setup);
    Table { name: "flows", columns: vec![id, tag, src, dst, size, start, deadline] }
}

fn flows_table(setup: &Setup, finished: &Finished, Run { seed, replica, .. }: &Run) -> Table {
    let all = || all_flows(setup, finished);
    let mut ideals = Ideals::new(setup, *seed, *replica);
    let since = |at: Time, flow: &Flow| (at != Time::NEVER).then(|| (at - flow.start).0);
    let pairs = || all().zip(&finished.flows);
    let fct: Vec<Option<u64>> = pairs().map(|(flow, counts)| since(counts.completed_at, flow)).collect();
    let ideal: Vec<Option<u64>> =
        all().zip(&fct).map(|(flow, fct)| fct.and_then(|_| ideals.ideal_fct(flow))).collect();
    let slowdown = fct.iter().zip(&ideal).map(|(fct, ideal)| Some((*fct)? as f64 / (*ideal)? as f64));
    let met: Vec<Option<bool>> = all()
        .zip(&fct)
        .map(|(flow, fct)| flow.deadline.map(|deadline| fct.is_some_and(|fct| fct <= deadline.0)))
        .collect();
    let counted = |definition, value: fn(&Counts) -> u64| {
        column(definition, Values::U64(finished.flows.iter().map(value).collect()))
    };
    let Asked { id, tag, src, dst, size, start, deadline } = Asked::of(all, setup);
    let transports = setup.carriers.iter().map(|c| setup.transports[c.transport as usize].name().to_string());
    let columns = vec![
        id,
        tag,
        by_entry(&flows::transport, all(), transports.collect()),
        src,
        dst,
        size,
        start,
        column(&flows::completed, Values::Bool(fct.iter().map(Option::is_some).collect())),
        column(
            &flows::abandoned,
            Values::Bool(finished.flows.iter().map(|counts| counts.abandoned).collect()),
        ),
        optional(&flows::fct_ps, fct.iter().copied(), Values::U64),
        optional(
            &flows::fct_acked_ps,
            pairs().map(|(flow, counts)| since(counts.acked_at, flow)),
            Values::U64,
        ),
        optional(&flows::ideal_fct_ps, ideal.iter().copied(), Values::U64),
        optional(&flows::slowdown, slowdown, Values::F64),
        deadline,
        optional(&flows::met_deadline, met.into_iter(), Values::Bool),
        counted(&flows::delivered_bytes, |counts| counts.delivered_bytes),
        counted(&flows::packets_sent, |counts| counts.packets_sent),
        counted(&flows::retransmissions, |counts| u64::from(counts.retransmissions)),
        counted(&flows::timeouts, |counts| u64::from(counts.timeouts)),
        counted(&flows::timeouts_whole_window, |counts| u64::from(counts.timeouts_whole_window)),
        counted(&flows::trims, |counts| u64::from(counts.trims)),
        counted(&flows::drops, |counts| u64::from(counts.drops)),
        counted(&flows::lost, |counts| u64::from(counts.lost)),
        counted(&flows::reordered, |counts| u64::from(counts.reordered)),
    ];
    Table { name: "flows", columns }
}

fn connections_table(subflows: &[Subflow]) -> Option<Table> {
    let u32s = |definition, value: fn(&Subflow) -> u32| {
        column(definition, Values::U32(subflows.iter().map(value).collect()))
    };
    let u64s = |definition, value: fn(&Subflow) -> u64| {
        column(definition, Values::U64(subflows.iter().map(value).collect()))
    };
    let columns = vec![
        u64s(&connections::flow, |subflow| u64::from(subflow.flow.0)),
        u32s(&connections::subflow, |subflow| u32::from(subflow.number)),
        u32s(&connections::link, |subflow| subflow.src_port.0),
        u64s(&connections::delivered_bytes, |subflow| subflow.counts.delivered_bytes),
        u32s(&connections::pieces, |subflow| subflow.pieces),
        u64s(&connections::packets_sent, |subflow| subflow.counts.packets_sent),
        u64s(&connections::retransmissions, |subflow| u64::from(subflow.counts.retransmissions)),
        u64s(&connections::timeouts, |subflow| u64::from(subflow.counts.timeouts)),
        u64s(&connections::timeouts_whole_window, |subflow| u64::from(subflow.counts.timeouts_whole_window)),
        u64s(&connections::trims, |subflow| u64::from(subflow.counts.trims)),
        u64s(&connections::drops, |subflow| u64::from(subflow.counts.drops)),
        u64s(&connections::lost, |subflow| u64::from(subflow.counts.lost)),
        u64s(&connections::reordered, |subflow| u64::from(subflow.counts.reordered)),
    ];
    (!subflows.is_empty()).then_some(Table { name: "connections", columns })
}

fn links_table(fabric: &Fabric, finished: &Finished) -> Table {
    let (end, counts) = (finished.end, &finished.links);
    let node_names: Vec<String> = fabric.nodes.iter().map(|node| node.name.clone()).collect();
    let named = |definition, node: fn(&Link) -> NodeId| {
        let codes = fabric.links.iter().map(|link| node(link).0).collect();
        column(definition, Values::Text { codes, words: node_names.clone() })
    };
    let (mut tiers, mut known) = (Vec::new(), FxHashMap::default());
    let tier_codes = fabric.links.iter().map(|link| {
        *known.entry(fabric.tier_of(link)).or_insert_with_key(|tier| {
            tiers.push(tier.clone());
            tiers.len() as u32 - 1
        })
    });
    let tier_codes = tier_codes.collect();
    let counted = |definition, value: fn(&LinkCounts) -> u64| {
        column(definition, Values::U64(counts.iter().map(value).collect()))
    };
    let share = |link: &LinkCounts| if end == Time::ZERO { 0.0 } else { link.busy.0 as f64 / end.0 as f64 };
    let utilisation = counts.iter().map(share);
    let columns = vec![
        column(&links::id, Values::U32((0..counts.len() as u32).collect())),
        named(&links::from, |link| link.from),
        named(&links::to, |link| link.to),
        column(&links::tier, Values::Text { codes: tier_codes, words: tiers }),
        column(&links::rate_bps, Values::U64(fabric.links.iter().map(|link| link.rate.0).collect())),
        column(&links::delay_ps, Values::U64(fabric.links.iter().map(|link| link.delay.0).collect())),
        counted(&links::packets, |link| link.sent.packets),
        counted(&links::bytes, |link| link.sent.bytes),
        column(&links::utilisation, Values::F64(utilisation.collect())),
        counted(&links::drops, |link| link.losses.dropped.packets),
        counted(&links::lost, |link| link.lost),
        counted(&links::trims, |link| link.losses.trims),
        counted(&links::marks, |link| link.losses.marks),
        column(&links::queue_mean_bytes, Values::F64(counts.iter().map(|link| link.mean_bytes).collect())),
        counted(&links::queue_max_bytes, |link| link.bytes_max),
        column(&links::queue_max_packets, Values::U32(counts.iter().map(|link| link.packets_max).collect())),
        counted(&links::pauses, |link| link.pauses),
        counted(&links::paused_ps, |link| link.paused.0),
    ];
    Table { name: "links", columns }
}
