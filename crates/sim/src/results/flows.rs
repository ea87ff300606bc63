//! The tables of flows and of connections.

use super::columns::{column, of_packets, optional};
use crate::engine::contract::conn::{Counts, Subflow};
use crate::engine::data::finished::{Finished, Level};
use crate::ideal::Ideals;
use crate::records::{Column, Definition, Table, Values, connections, flows};
use crate::scenario::Run;
use crate::setup::Setup;
use crate::traffic::{Flow, Traffic};
use crate::units::Time;

/// A flow that has a row.
#[derive(Clone, Copy)]
pub(super) struct Row<'a> {
    pub id: u64,
    /// Its ends, size and start.
    pub flow: &'a Flow,
    /// Its counters at the end.
    pub counts: &'a Counts,
    pub measured: bool,
}

impl Row<'_> {
    /// Its completion time.
    pub fn fct(&self) -> Option<u64> {
        since(self.counts.completed_at, self.flow)
    }
}

/// Time from a flow's start to an instant, if that has come.
fn since(at: Time, flow: &Flow) -> Option<u64> {
    (at != Time::NEVER).then(|| (at - flow.start).0)
}

/// All flows: those with a given start, those that waited for others, those drawn during the run. Without those that would
/// have started behind the measuring window and did not.
pub(super) fn rows<'a>(setup: &'a Setup, finished: &'a Finished) -> Vec<Row<'a>> {
    let Traffic { flows, timed, window, .. } = &setup.traffic;
    let row = |(id, (flow, counts)): (usize, (&'a Flow, &'a Counts))| {
        let background = setup.carriers[flow.entry as usize].background;
        Row { id: id as u64, flow, counts, measured: !background && window.has(flow.start) }
    };
    let left_out = |flow: &Flow| window.ends() && flow.start >= window.until && flow.start > finished.end;
    let all = flows[..*timed].iter().chain(&finished.late).zip(&finished.flows).enumerate();
    all.map(row).filter(|row| !left_out(row.flow)).collect()
}

/// The columns that describe flows before the run.
struct Asked {
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
    of_entries: Vec<String>,
) -> Column {
    // Each word once, though two entries may have the same transport: pandas takes no other dictionaries.
    let mut words: Vec<String> = Vec::new();
    let code = |word: String| {
        words.iter().position(|known| *known == word).unwrap_or_else(|| {
            words.push(word);
            words.len() - 1
        }) as u32
    };
    let code_of: Vec<u32> = of_entries.into_iter().map(code).collect();
    let codes = all.map(|flow| code_of[flow.entry as usize]).collect();
    column(definition, Values::Text { codes, words })
}

/// The flows that are drawn before a run: their description, without their outcome.
pub fn planned_flows(setup: &Setup) -> Table {
    let Traffic { flows, window, .. } = &setup.traffic;
    let Asked { tag, src, dst, size, start, deadline } = Asked::of(|| flows.iter(), setup);
    let id = column(&flows::id, Values::U64((0..flows.len() as u64).collect()));
    let own = |flow: &Flow| !setup.carriers[flow.entry as usize].background;
    let known = |flow: &Flow| flow.start == Time::NEVER || window.has(flow.start);
    let measured = flows.iter().map(|flow| own(flow) && known(flow)).collect();
    let measured = column(&flows::measured, Values::Bool(measured));
    Table { name: "flows", columns: vec![id, tag, src, dst, size, start, measured, deadline] }
}

/// A row for each flow.
pub(super) fn flows_table(
    setup: &Setup,
    level: Level,
    rows: &[Row],
    Run { seed, replica, .. }: &Run,
) -> Table {
    let all = || rows.iter().map(|row| row.flow);
    let mut ideals = Ideals::new(setup, *seed, *replica);
    let fct: Vec<Option<u64>> = rows.iter().map(Row::fct).collect();
    let ideal: Vec<Option<u64>> =
        all().zip(&fct).map(|(flow, fct)| fct.and_then(|_| ideals.ideal_fct(flow))).collect();
    let slowdown = fct.iter().zip(&ideal).map(|(fct, ideal)| Some((*fct)? as f64 / (*ideal)? as f64));
    let met: Vec<Option<bool>> = all()
        .zip(&fct)
        .map(|(flow, fct)| flow.deadline.map(|deadline| fct.is_some_and(|fct| fct <= deadline.0)))
        .collect();
    let bytes = rows.iter().map(|row| row.counts.delivered_bytes).collect();
    let counted = |definition, value: fn(&Counts) -> u64| {
        of_packets(level, definition, Values::U64(rows.iter().map(|row| value(row.counts)).collect()))
    };
    let Asked { tag, src, dst, size, start, deadline } = Asked::of(all, setup);
    let transports = setup.carriers.iter().map(|c| setup.transports[c.transport as usize].name().to_string());
    let columns = vec![
        column(&flows::id, Values::U64(rows.iter().map(|row| row.id).collect())),
        tag,
        by_entry(&flows::transport, all(), transports.collect()),
        src,
        dst,
        size,
        start,
        column(&flows::measured, Values::Bool(rows.iter().map(|row| row.measured).collect())),
        column(&flows::completed, Values::Bool(fct.iter().map(Option::is_some).collect())),
        column(&flows::abandoned, Values::Bool(rows.iter().map(|row| row.counts.abandoned).collect())),
        optional(&flows::fct_ps, fct.iter().copied(), Values::U64),
        optional(
            &flows::fct_acked_ps,
            rows.iter().map(|row| since(row.counts.acked_at, row.flow)),
            Values::U64,
        ),
        optional(&flows::ideal_fct_ps, ideal.iter().copied(), Values::U64),
        optional(&flows::slowdown, slowdown, Values::F64),
        deadline,
        optional(&flows::met_deadline, met.into_iter(), Values::Bool),
        column(&flows::delivered_bytes, Values::U64(bytes)),
        counted(&flows::packets_sent, |counts| counts.packets_sent),
        counted(&flows::retransmissions, |counts| u64::from(counts.retransmissions)),
        counted(&flows::timeouts, |counts| u64::from(counts.timeouts)),
        counted(&flows::timeouts_whole_window, |counts| u64::from(counts.timeouts_whole_window)),
        counted(&flows::trims, |counts| u64::from(counts.trims)),
        counted(&flows::drops, |counts| u64::from(counts.drops)),
        counted(&flows::credit_drops, |counts| u64::from(counts.credit_drops)),
        counted(&flows::lost, |counts| u64::from(counts.lost)),
        counted(&flows::reordered, |counts| u64::from(counts.reordered)),
    ];
    Table { name: "flows", columns }
}

/// A row for each subflow, if flows had several.
pub(super) fn connections_table(subflows: &[Subflow]) -> Option<Table> {
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
