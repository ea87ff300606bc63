//! Samples: the state of ports and flows at regular times, in long form.

use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wildmatch::WildMatch;

use super::chosen_links;
use crate::engine::contract::observer::{Observer, View};
use crate::engine::data::plan::Carrier;
use crate::ids::{FlowId, LinkId, NodeId};
use crate::records::{Column, Table, Values, samples};
use crate::topology::Fabric;
use crate::traffic::window::Window;
use crate::units::Time;

/// Sampled series and sampling interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Samples {
    /// Time from one sample to the next, and from the start of the measuring window to the first; the last is within the window.
    #[schemars(extend("x-minimum" = "1ns"))]
    pub every: Time,
    /// Links by tier ("edge-host") or by the nodes at both ends ("host 3 -> *"); * stands for any text.
    #[serde(default = "everything")]
    #[schemars(length(max = 1000))]
    pub links: Vec<String>,
    /// Flows by their traffic entry's name; * stands for any text.
    #[serde(default = "everything")]
    #[schemars(length(max = 1000))]
    pub flows: Vec<String>,
    /// At most this many flows: the first that a sample finds active.
    #[serde(default = "flow_limit")]
    pub flow_limit: u32,
    /// Sampling ends at the instant that would make more rows; run.json then records when. A row takes 28
    /// bytes of memory.
    #[serde(default = "rows_limit")]
    #[schemars(range(max = 1_000_000_000))]
    pub rows_limit: u64,
}

fn everything() -> Vec<String> {
    vec!["*".into()]
}

fn flow_limit() -> u32 {
    1000
}

fn rows_limit() -> u64 {
    20_000_000
}

/// Bytes of a row in memory.
pub const ROW_BYTES: u64 = 28;

/// Sampled quantities; each is a word of the column `series`.
#[derive(Clone, Copy)]
enum Series {
    QueueBytes,
    QueuePackets,
    Utilisation,
    CwndBytes,
    RateBps,
    BacklogBytes,
}

const SERIES: [&str; 6] =
    ["queue_bytes", "queue_packets", "utilisation", "cwnd_bytes", "rate_bps", "backlog_bytes"];

/// Series of a link and of a flow: so many rows each has at an instant, at most; a host's own link has one more where
/// transports keep queues at hosts.
pub const SERIES_OF_LINK: u64 = 3;
/// See [`SERIES_OF_LINK`].
pub const SERIES_OF_FLOW: u64 = 2;

/// Takes samples.
pub struct Sampler {
    every: Time,
    next: Time,
    /// Where the measuring window begins behind the start of the run: there is a look that only counts what was before.
    begin: Option<Time>,
    until: Time,
    links: Vec<Sampled>,
    /// By traffic entry.
    wanted: Vec<bool>,
    flow_limit: u32,
    /// Flows that are followed, with what they had delivered at the sample before.
    flows: FxHashMap<FlowId, u64>,
    followed: u32,
    rows: Rows,
    rows_limit: u64,
    cut_off: Option<Time>,
}

struct Sampled {
    link: LinkId,
    /// The host that sends by it.
    host: Option<NodeId>,
    /// How long packets had been on its wire by the sample before.
    busy: Time,
}

#[derive(Default)]
struct Rows {
    times: Vec<u64>,
    series: Vec<u32>,
    ids: Vec<u64>,
    values: Vec<f64>,
}

impl Rows {
    fn push(&mut self, at: Time, series: Series, id: u64, value: f64) {
        self.times.push(at.0);
        self.series.push(series as u32);
        self.ids.push(id);
        self.values.push(value);
    }

    fn truncate(&mut self, rows: usize) {
        self.times.truncate(rows);
        self.series.truncate(rows);
        self.ids.truncate(rows);
        self.values.truncate(rows);
    }
}

impl Sampler {
    /// Before the run.
    pub fn new(wanted: &Samples, fabric: &Fabric, carriers: &[Carrier], window: &Window) -> Sampler {
        let sampled = |link: LinkId| {
            let from = fabric.links[link.index()].from;
            Sampled { link, host: fabric.is_host(from).then_some(from), busy: Time::ZERO }
        };
        let matchers: Vec<_> = wanted.flows.iter().map(|pattern| WildMatch::new(pattern)).collect();
        let is_wanted = |carrier: &Carrier| matchers.iter().any(|matcher| matcher.matches(&carrier.name));
        let begin = Some(window.from).filter(|&from| from > Time::ZERO);
        Sampler {
            every: wanted.every,
            next: begin.unwrap_or(wanted.every),
            begin,
            until: window.until,
            links: chosen_links(&wanted.links, fabric).into_iter().map(sampled).collect(),
            wanted: carriers.iter().map(is_wanted).collect(),
            flow_limit: wanted.flow_limit,
            flows: FxHashMap::default(),
            followed: 0,
            rows: Rows::default(),
            rows_limit: wanted.rows_limit,
            cut_off: None,
        }
    }

    /// When sampling ended for lack of room.
    pub fn cut_off(&self) -> Option<Time> {
        self.cut_off
    }

    /// Number of links that are sampled.
    pub fn links(&self) -> u64 {
        self.links.len() as u64
    }

    /// Number of these that are a host's own.
    pub fn host_links(&self) -> u64 {
        self.links.iter().filter(|sampled| sampled.host.is_some()).count() as u64
    }

    /// Number of flows that are sampled at most.
    pub fn flows_max(&self) -> u64 {
        if self.wanted.contains(&true) { u64::from(self.flow_limit) } else { 0 }
    }

    /// Whether flows of that traffic entry are sampled.
    pub fn wants(&self, entry: u32) -> bool {
        self.wanted[entry as usize]
    }

    /// The rows, by time, then links by id, then flows by id.
    pub fn into_table(self) -> Table {
        let Rows { times, series, ids, values } = self.rows;
        let words = SERIES.map(String::from).to_vec();
        let column = |definition, values| Column { definition, values, valid: None };
        Table {
            name: "samples",
            columns: vec![
                column(&samples::time_ps, Values::U64(times)),
                column(&samples::series, Values::Text { codes: series, words }),
                column(&samples::id, Values::U64(ids)),
                column(&samples::value, Values::F64(values)),
            ],
        }
    }

    fn look_at_links(&mut self, at: Time, view: &mut View) {
        for sampled in &mut self.links {
            let port = view.port(sampled.link);
            let id = u64::from(sampled.link.0);
            let busy = port.busy.saturating_sub(sampled.busy);
            sampled.busy = port.busy;
            self.rows.push(at, Series::QueueBytes, id, port.bytes as f64);
            self.rows.push(at, Series::QueuePackets, id, f64::from(port.packets));
            self.rows.push(at, Series::Utilisation, id, busy.0 as f64 / self.every.0 as f64);
            if let Some(bytes) = sampled.host.and_then(|host| view.backlog(host)) {
                self.rows.push(at, Series::BacklogBytes, id, bytes as f64);
            }
        }
    }

    /// Samples active flows, and those that have ended since the sample before.
    fn look_at_flows(&mut self, at: Time, view: &View) {
        let seconds = self.every.seconds();
        let mut found = Vec::new();
        // By number: the slots of connections depend on the parts of the run.
        let mut open: Vec<_> = view.connections().collect();
        open.sort_unstable_by_key(|(_, conn)| conn.flow);
        for (id, conn) in open {
            let flow = conn.flow;
            if !self.flows.contains_key(&flow) {
                if self.followed == self.flow_limit || !self.wanted[view.entry(flow) as usize] {
                    continue;
                }
                self.followed += 1;
                self.flows.insert(flow, 0);
            }
            found.push((flow, view.window(id), conn.counts().delivered_bytes));
        }
        let is_open = |flow: &FlowId| found.binary_search_by_key(flow, |(open, ..)| *open).is_ok();
        let over: Vec<FlowId> = self.flows.keys().copied().filter(|flow| !is_open(flow)).collect();
        found.extend(over.iter().map(|&flow| (flow, None, view.ended(flow).delivered_bytes)));
        found.sort_unstable_by_key(|(flow, ..)| *flow);
        for (flow, window, delivered) in found {
            let before = self.flows.insert(flow, delivered).unwrap_or(0);
            let id = u64::from(flow.0);
            if let Some(window) = window {
                self.rows.push(at, Series::CwndBytes, id, window as f64);
            }
            self.rows.push(at, Series::RateBps, id, 8.0 * (delivered - before) as f64 / seconds);
        }
        for flow in over {
            self.flows.remove(&flow);
        }
    }
}

impl Observer for Sampler {
    fn next_look(&self) -> Time {
        self.next
    }

    fn look(&mut self, at: Time, view: &mut View) {
        let before = self.rows.times.len();
        self.look_at_links(at, view);
        self.look_at_flows(at, view);
        self.next = at.saturating_add(self.every);
        if view.is_empty() && self.rows.times.len() == before {
            // Nor will there be anything before something happens.
            let looks = (view.quiet_until() - at).0 / self.every.0 + 1;
            self.next = at.saturating_add(Time(looks.saturating_mul(self.every.0)));
        }
        if self.begin == Some(at) {
            self.rows.truncate(0);
        }
        if self.next > self.until {
            self.next = Time::NEVER;
        }
        if self.rows.times.len() as u64 > self.rows_limit {
            self.rows.truncate(before);
            self.cut_off = Some(at);
            self.next = Time::NEVER;
        }
    }

    fn memory(&self) -> u64 {
        self.rows.times.len() as u64 * ROW_BYTES
    }
}
