//! From a run's state in memory to the tables and the summary that users read.

mod columns;
mod completion;
mod flows;
pub mod intervals;
mod links;
mod measured;
mod steadiness;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use self::completion::Completion;
pub use self::flows::planned_flows;
use self::flows::{Row, connections_table, flows_table, rows};
use self::links::links_table;
pub use self::measured::Measured;
use crate::advice::Advice;
use crate::advisor::advice;
use crate::belated::{self, End};
use crate::engine::audit::FINDINGS_MAX;
use crate::engine::contract::conn::Counts;
use crate::engine::data::finished::PartCounts;
use crate::engine::data::finished::{ControlCounts, ReorderCounts};
use crate::engine::data::finished::{Finished, Limit, LinkCounts, Status};
use crate::estimate::Estimate;
use crate::faults::timeline::FaultSummary;
use crate::features::Features;
use crate::ids::FlowId;
use crate::observe::capture::{Cable, Captor};
use crate::observe::events::Recorder;
use crate::observe::histograms::Distributions;
use crate::observe::meter::Metered;
use crate::observe::samples::Sampler;
use crate::observe::{Recorders, link_name};
use crate::queue::Feature;
use crate::records::{self, Column, Definition, Table, Values, digest};
use crate::scenario::{Scenario, TimeUnit};
use crate::setup::Setup;
use crate::traffic::EntrySummary;
use crate::traffic::Traffic;
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
    pub histograms: Option<Table>,
    /// Steps of packets, and the like.
    pub events: Option<Table>,
    /// Packets, by cable.
    pub cables: Vec<Cable>,
}

/// Its entry in run.json.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ObservedSummary {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples: Option<SamplesSummary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub histograms: Option<HistogramsSummary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<SamplesSummary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capture: Option<CaptureSummary>,
}

/// Of samples.parquet, and of events.parquet.
#[derive(Clone, Debug, Serialize)]
pub struct SamplesSummary {
    pub rows: u64,
    /// The instant from which rows are missing because `rows_limit` was reached.
    pub cut_off_ps: Option<u64>,
    /// SHA-256 over the table.
    pub digest: String,
}

/// Of histograms.parquet.
#[derive(Clone, Debug, Serialize)]
pub struct HistogramsSummary {
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
    pub flowyard: &'static str,
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
    pub replica: u64,
    pub counters: Counters,
    /// The estimated needs of the run.
    pub estimate: Estimate,
    /// Records besides flows and links.
    pub observed: ObservedSummary,
    /// The traffic, entry by entry.
    pub traffic: Vec<EntrySummary>,
    /// The flows and the span of time that results are of, and the loads that were carried in it.
    pub measured: Measured,
    /// Completion of the measured flows by size group.
    pub completion: Completion,
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
    Parts(PartCounts),
    /// On one thread all the same, for this reason.
    Whole(&'static str),
}

/// Totals over a run; those of packets are none if the run did not measure them.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Counters {
    pub events: u64,
    /// Links crossed by packets, of any kind.
    pub packet_hops: Option<u64>,
    /// Packets put on a wire by the host that made them.
    pub packets: Option<u64>,
    /// Packets dropped by queues, except credits.
    pub drops: Option<u64>,
    /// Credits dropped by queues, if any meters them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credit_drops: Option<u64>,
    /// Packets lost to faults on a link.
    pub lost: Option<u64>,
    /// Packets lost to faults at a node from which no way was left.
    pub unroutable: Option<u64>,
    /// Packets whose payload was trimmed off.
    pub trims: Option<u64>,
    /// Headers sent back to their senders because they found no room.
    pub bounces: Option<u64>,
    /// Packets marked with congestion experienced.
    pub marks: Option<u64>,
    /// Times that a class of traffic was paused at a port.
    pub pauses: Option<u64>,
    /// Data packets sent again.
    pub retransmissions: Option<u64>,
    /// Retransmission timers that expired and made a sender act.
    pub timeouts: Option<u64>,
    /// Rows of the flows table.
    pub flows: u64,
    /// Measured flows that had not every byte delivered at the end and were not given up.
    pub unfinished_flows: u64,
    /// Flows that their senders gave up before every byte had arrived.
    pub abandoned_flows: u64,
    /// Of central control, if there is a controller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control: Option<ControlCounts>,
    /// Of packets held to restore their order, if the balancer does so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reordering: Option<ReorderCounts>,
}

/// Collects tables and summary.
pub fn collect(
    scenario: &Scenario,
    setup: &Setup,
    estimate: Estimate,
    finished: &Finished,
    recorders: Recorders,
) -> Outcome {
    let Recorders { sampler, distributions, captor, recorder, meter } = recorders;
    let delivered = finished.flows.iter().map(|counts| counts.delivered_bytes);
    let metered = meter.finish(&finished.links, delivered, finished.end);
    let (observed, observed_summary) = observed((sampler, distributions, captor, recorder), setup, finished);
    let rows = rows(setup, finished);
    let flows = flows_table(setup, finished.level, &rows, &scenario.run);
    let links = links_table(&setup.fabric, finished.level, &metered.links, measured::length(setup, finished));
    let measured = measured::measure(setup, finished, &metered, &rows, &flows);
    let completion = Completion::of(&rows, &flows);
    let meters = setup.queue.offers().contains(&Feature::Metering);
    let counters = counters(finished, &rows, meters);
    let mut advice = advice(scenario, setup);
    if scenario.run.advice {
        let lower = advice.iter().find(|advice| advice.is_on_load()).map(|advice| advice.write.clone());
        advice.extend(steadiness::advice(setup, &measured, lower));
        advice.extend(belated::advice(scenario, &setup.traffic.window, End::At(finished.end)));
    }
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
        traffic: entries(setup, &rows, finished, &metered),
        measured,
        completion,
        faults: setup.faults.summary.clone(),
        derived: setup.derived.clone(),
        advice,
        features: Features::new(scenario, setup),
        partition: None,
        scenario: scenario.resolved(),
    };
    let connections = connections_table(&finished.subflows);
    let mut violations = finished.violations.clone();
    // Ideal times are exact: transmissions that are cut off below a nanosecond beat them.
    let is_exact = scenario.run.time_unit == TimeUnit::Picosecond;
    if scenario.run.audit && is_exact && !setup.faults.moves_paths(&setup.fabric) {
        violations.extend(faster_than_ideal(&flows));
    }
    Outcome { flows, links, connections, observed, summary, violations }
}

/// Totals of a run whose flows have these rows, and whose ports may meter credits.
fn counters(finished: &Finished, rows: &[Row], meters: bool) -> Counters {
    let Finished { totals, level, .. } = finished;
    let of_flows = |count: fn(&Counts) -> u64| finished.flows.iter().map(count).sum::<u64>();
    let of_links = |count: fn(&LinkCounts) -> u64| level.packets(finished.links.iter().map(count).sum());
    let unfinished =
        |row: &&Row| row.measured && row.counts.completed_at == Time::NEVER && !row.counts.abandoned;
    Counters {
        events: totals.events,
        packet_hops: level.packets(totals.packet_hops),
        packets: level.packets(totals.packets),
        drops: of_links(|link| link.losses.dropped.packets - link.losses.credits),
        credit_drops: of_links(|link| link.losses.credits).filter(|_| meters),
        lost: of_links(|link| link.lost),
        unroutable: level.packets(totals.unroutable),
        trims: of_links(|link| link.losses.trims),
        bounces: of_links(|link| link.losses.bounced.packets),
        marks: of_links(|link| link.losses.marks),
        pauses: of_links(|link| link.pauses),
        retransmissions: level.packets(of_flows(|counts| u64::from(counts.retransmissions))),
        timeouts: level.packets(of_flows(|counts| u64::from(counts.timeouts))),
        flows: rows.len() as u64,
        unfinished_flows: rows.iter().filter(unfinished).count() as u64,
        abandoned_flows: of_flows(|counts| u64::from(counts.abandoned)),
        control: totals.control,
        reordering: totals.reordering,
    }
}

/// For the audit: flows that took less than their ideal time, which no flow can where the network stays as it was built.
fn faster_than_ideal(flows: &Table) -> Vec<String> {
    let times = |definition: &Definition| match flows.column(definition.name) {
        Some(Column { values: Values::U64(times), valid: Some(valid), .. }) => times.iter().zip(valid),
        _ => unreachable!("a column of times that may be absent"),
    };
    let rows = times(&records::flows::fct_ps).zip(times(&records::flows::ideal_fct_ps)).enumerate();
    let faster = rows.filter(|(_, ((fct, _), (ideal, known)))| **known && fct < ideal);
    let what = |(id, ((fct, _), (ideal, _)))| format!("flow {id}: took {fct} ps, ideal is {ideal} ps");
    faster.map(what).take(FINDINGS_MAX).collect()
}

/// Those of a run that the scenario requested.
type Records = (Option<Sampler>, Option<Distributions>, Option<Captor>, Option<Recorder>);

fn observed(
    (sampler, distributions, captor, recorder): Records,
    setup: &Setup,
    finished: &Finished,
) -> (Observed, ObservedSummary) {
    let Traffic { flows, timed, .. } = &setup.traffic;
    // Flows that are drawn during the run are behind those whose start was known.
    let entry = |flow: FlowId| match flow.index().checked_sub(*timed) {
        None => flows[flow.index()].entry,
        Some(late) => finished.late[late].entry,
    };
    let cut_off = |at: Option<Time>| at.map(|at| at.0);
    let samples = sampler.map(|sampler| (cut_off(sampler.cut_off()), sampler.into_table()));
    let histograms = distributions.map(|distributions| distributions.into_table());
    let events = recorder.map(|recorder| (cut_off(recorder.cut_off()), recorder.into_table(entry)));
    let rows = |(cut_off_ps, table): &(Option<u64>, Table)| SamplesSummary {
        rows: table.rows() as u64,
        cut_off_ps: *cut_off_ps,
        digest: digest(&[table]),
    };
    let captured = captor.map(|captor| {
        (
            cut_off(captor.cut_off()),
            captor.into_cables(
                &setup.fabric,
                |model, config| setup.transport_at(model, config),
                |flow| setup.carriers[entry(flow) as usize].classed,
            ),
        )
    });
    let summary = ObservedSummary {
        samples: samples.as_ref().map(rows),
        histograms: histograms
            .as_ref()
            .map(|table| HistogramsSummary { rows: table.rows() as u64, digest: digest(&[table]) }),
        events: events.as_ref().map(rows),
        capture: captured.as_ref().map(|(cut_off_ps, cables)| CaptureSummary {
            packets: cables.iter().map(|cable| cable.packets.len() as u64).sum(),
            cut_off_ps: *cut_off_ps,
        }),
    };
    let cables = captured.map(|(_, cables)| cables).unwrap_or_default();
    let table = |(_, table): (Option<u64>, Table)| table;
    (Observed { samples: samples.map(table), histograms, events: events.map(table), cables }, summary)
}

/// Outcome of each entry: its flows that have a row, and its carried load.
fn entries(setup: &Setup, rows: &[Row], finished: &Finished, metered: &Metered) -> Vec<EntrySummary> {
    let mut entries = setup.traffic.entries.clone();
    entries.iter_mut().for_each(|entry| entry.flows = 0);
    rows.iter().for_each(|row| entries[row.flow.entry as usize].flows += 1);
    entries.iter_mut().zip(&finished.waits).for_each(|(entry, waits)| entry.waits = *waits);
    for (index, entry) in entries.iter_mut().enumerate().filter(|(_, entry)| entry.offered_bps.is_some()) {
        let carried = measured::carried(setup, metered, &[index], entry.capacity_bps);
        (entry.carried_load, entry.carried_ci95) = carried.unzip();
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checked::Checked;
    use crate::engine::data::finished::Level;
    use crate::engine::data::plan::Agenda;
    use crate::engine::run::Engine;
    use crate::scenario::{Format, no_files};

    /// Columns that a run without packets does not measure.
    const FLOWS: [&str; 9] = [
        "packets_sent",
        "retransmissions",
        "timeouts",
        "timeouts_whole_window",
        "trims",
        "drops",
        "credit_drops",
        "lost",
        "reordered",
    ];
    const LINKS: [&str; 11] = [
        "packets",
        "drops",
        "credit_drops",
        "lost",
        "trims",
        "marks",
        "queue_mean_bytes",
        "queue_max_bytes",
        "queue_max_packets",
        "pauses",
        "paused_ps",
    ];

    /// One run, collected as a run of packets and as one of flows.
    fn outcomes() -> (Outcome, Outcome) {
        let text = r#"
            transport = "ndp"
            topology.single-switch.hosts = 5
            [[traffic]]
            name = "incast"
            arrivals = "at-once"
            matrix.incast.senders = 4
            sizes.fixed = "200KB"
        "#;
        let checked = Checked::read(text, Format::Toml, &[], &no_files).expect("a scenario");
        let (scenario, setup) = (checked.scenario(), checked.setup().expect("a network"));
        let collected = |level| {
            let mut recorders =
                Recorders::new(&scenario.observe, &setup.fabric, &setup.carriers, &setup.traffic);
            let plan = setup.plan(scenario, Agenda::Calendar);
            let mut engine = Engine::new(&plan);
            recorders.all().for_each(|recorder| engine.observe(recorder));
            let finished = Finished { level, ..engine.run(&mut |_| true) };
            let needs = checked.outlook().expect("a small run").needs;
            collect(scenario, setup, needs, &finished, recorders)
        };
        (collected(Level::Packets), collected(Level::Flows))
    }

    /// All columns but these are the same; these have values in the one table and none in the other.
    fn differ_in(packets: &Table, flows: &Table, unmeasured: &[&str]) {
        assert_eq!(packets.columns.len(), flows.columns.len());
        for (measured, column) in packets.columns.iter().zip(&flows.columns) {
            if !unmeasured.contains(&column.definition.name) {
                assert_eq!(measured, column);
                continue;
            }
            assert_eq!(measured.valid, None);
            assert_eq!(column.valid, Some(vec![false; measured.values.len()]), "{}", column.definition.name);
        }
        assert!(unmeasured.iter().all(|name| flows.column(name).is_some()));
    }

    /// A run without packets says that it has not measured them, by nulls, and all else as before.
    #[test]
    fn a_run_without_packets_leaves_their_counts_open() {
        let (packets, flows) = outcomes();
        differ_in(&packets.flows, &flows.flows, &FLOWS);
        differ_in(&packets.links, &flows.links, &LINKS);
        let (Value::Object(mut measured), Value::Object(mut open)) =
            (packets.summary.to_json(), flows.summary.to_json())
        else {
            panic!("a summary is an object");
        };
        assert_ne!(measured.remove("digest"), open.remove("digest"));
        let open_counters = open["counters"].as_object_mut().expect("counters");
        let names: Vec<String> =
            open_counters.iter().filter(|(_, count)| count.is_null()).map(|(name, _)| name.clone()).collect();
        let all = [
            "bounces",
            "drops",
            "lost",
            "marks",
            "packet_hops",
            "packets",
            "pauses",
            "retransmissions",
            "timeouts",
            "trims",
            "unroutable",
        ];
        assert_eq!(names.iter().map(String::as_str).collect::<std::collections::BTreeSet<_>>(), all.into());
        for name in names {
            let count = &measured["counters"][&name];
            assert!(count.is_u64(), "{name} is {count}");
            open_counters.insert(name, count.clone());
        }
        assert_eq!(measured, open);
        assert!(packets.summary.counters.trims > Some(0));
    }
}
