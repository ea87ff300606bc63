//! Events: the steps of packets, pauses, timers, windows and rates of a run, a row each, in their order.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wildmatch::WildMatch;

use super::chosen_links;
use crate::engine::contract::observer::{ConnAt, DropReason, End, Observer, PacketAt, Point, Points, Step};
use crate::engine::contract::packet::flag;
use crate::engine::data::plan::Carrier;
use crate::ids::{FlowId, LinkId};
use crate::records::{Column, Table, Values, events};
use crate::topology::Fabric;
use crate::traffic::Traffic;
use crate::units::Time;

/// Events of flows, links and a span of time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Events {
    /// Flows by their traffic entry's name; * stands for any text. Timers of interfaces and pauses are of no flow: they are
    /// recorded if all flows are.
    #[schemars(length(max = 1000))]
    pub flows: Vec<String>,
    /// Only the flows of these numbers in flows.parquet, of those that `flows` names; absent: all of these.
    #[schemars(length(min = 1, max = 10_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub numbers: Option<Vec<u64>>,
    /// Links by tier ("edge-host") or by the nodes at both ends ("host 3 -> *"); * stands for any text. Timers, windows and
    /// rates are at no link.
    #[schemars(length(max = 1000))]
    pub links: Vec<String>,
    /// Kinds of events; absent: all.
    #[schemars(length(min = 1, max = 12))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kinds: Option<Vec<Kind>>,
    /// Events from this instant on. Absent: from the start of the measuring window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Time>,
    /// Events until this instant, itself included. Absent: until the end of the measuring window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
    /// At most so many rows, the first ones; run.json then records from when on rows are missing. A row takes 56 bytes of
    /// memory.
    #[schemars(range(max = 1_000_000_000))]
    pub rows_limit: u64,
}

impl Default for Events {
    fn default() -> Self {
        Events {
            flows: vec!["*".into()],
            numbers: None,
            links: vec!["*".into()],
            kinds: None,
            from: None,
            until: None,
            rows_limit: 10_000_000,
        }
    }
}

impl Events {
    /// Whether it asks for all flows.
    fn has_all_flows(&self) -> bool {
        self.numbers.is_none() && self.flows.iter().any(|pattern| pattern == "*")
    }
}

/// Kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The transport of a host has sent a packet.
    Made,
    /// A packet has joined a port.
    Enqueued,
    /// The first bit of a packet is on the wire.
    Started,
    /// The last bit of a packet has come out of a link.
    Arrived,
    /// A packet was dropped, or lost.
    Dropped,
    /// A port has cut the payload of a packet off.
    Trimmed,
    /// A port has marked a packet.
    Marked,
    /// A port has sent the header of a packet back to its sender.
    Returned,
    /// A port stops or resumes classes of traffic.
    Paused,
    /// A timer of a host was due.
    Timer,
    /// The window of a flow's sender has changed.
    Window,
    /// The rate of a flow's sender has changed.
    Rate,
}

impl Kind {
    /// All kinds, in the order of their words.
    const ALL: [Kind; 12] = [
        Kind::Made,
        Kind::Enqueued,
        Kind::Started,
        Kind::Arrived,
        Kind::Dropped,
        Kind::Trimmed,
        Kind::Marked,
        Kind::Returned,
        Kind::Paused,
        Kind::Timer,
        Kind::Window,
        Kind::Rate,
    ];

    /// Its words in the column `kind`.
    const WORDS: [&'static str; 12] = [
        "made", "enqueued", "started", "arrived", "dropped", "trimmed", "marked", "returned", "paused",
        "timer", "window", "rate",
    ];

    fn points(self) -> Points {
        match self {
            Kind::Made => Points::MADE,
            Kind::Enqueued => Points::ENQUEUED,
            Kind::Started => Points::STARTED,
            Kind::Arrived => Points::ARRIVED,
            Kind::Dropped => Points::DROPPED,
            Kind::Trimmed => Points::TRIMMED,
            Kind::Marked => Points::MARKED,
            Kind::Returned => Points::RETURNED,
            Kind::Paused => Points::PAUSES,
            Kind::Timer => Points::TIMERS,
            Kind::Window => Points::WINDOWS,
            Kind::Rate => Points::RATES,
        }
    }

    fn of(point: &Point) -> Kind {
        match point {
            Point::Packet(step, _) => match step {
                Step::Made => Kind::Made,
                Step::Enqueued => Kind::Enqueued,
                Step::Started => Kind::Started,
                Step::Arrived => Kind::Arrived,
                Step::Dropped(_) => Kind::Dropped,
                Step::Trimmed => Kind::Trimmed,
                Step::Marked => Kind::Marked,
                Step::Returned => Kind::Returned,
            },
            Point::Pause { .. } => Kind::Paused,
            Point::Timer { .. } => Kind::Timer,
            Point::Window { .. } => Kind::Window,
            Point::Rate { .. } => Kind::Rate,
        }
    }
}

/// Words of the column `detail`: none, the reasons of drops, and the owners of timers.
const DETAILS: [&str; 9] =
    ["", "full", "displaced", "managed", "fault", "no-route", "sender", "receiver", "interface"];

fn detail(point: &Point) -> u32 {
    match point {
        Point::Packet(Step::Dropped(reason), _) => match reason {
            DropReason::Full => 1,
            DropReason::Displaced => 2,
            DropReason::Managed => 3,
            DropReason::Fault => 4,
            DropReason::NoRoute => 5,
        },
        Point::Timer { end: End::Sender(_), .. } => 6,
        Point::Timer { end: End::Receiver(_), .. } => 7,
        Point::Timer { end: End::Interface(_), .. } => 8,
        _ => 0,
    }
}

/// Bytes of a row in memory.
pub const ROW_BYTES: u64 = 56;

/// Records events.
pub struct Recorder {
    points: Points,
    /// By link: whether it is chosen.
    links: Vec<bool>,
    /// By traffic entry: whether its flows are chosen.
    entries: Vec<bool>,
    /// By flow whose start is known before the run, its traffic entry.
    entry_of: Vec<u32>,
    /// Sorted; none: all numbers.
    numbers: Option<Vec<u64>>,
    /// The same as flows, if none of them is drawn during the run, when its number is not final yet.
    known: Option<Vec<FlowId>>,
    /// Whether events of no flow are recorded.
    others: bool,
    span: (Time, Time),
    limit: usize,
    rows: Vec<Row>,
    cut_off: Option<Time>,
}

/// A row before it is a table's.
#[derive(Clone, Copy)]
struct Row {
    at: Time,
    made: Time,
    seq: u64,
    value: f64,
    flow: FlowId,
    link: LinkId,
    number: u32,
    bytes: u32,
    payload: u16,
    kind: u8,
    detail: u8,
    subflow: u8,
    flags: u8,
    hops: u8,
    has: u8,
}

/// Bits of [`Row::has`]: values that the row has.
mod has {
    pub const PACKET: u8 = 1;
    pub const FORWARD: u8 = 2;
    /// [`Row::value`] is that of the column `value`.
    pub const VALUE: u8 = 4;
    /// It is the bytes in a port.
    pub const QUEUE: u8 = 8;
}

impl Recorder {
    /// Before the run.
    pub fn new(wanted: &Events, fabric: &Fabric, carriers: &[Carrier], traffic: &Traffic) -> Recorder {
        let kinds = wanted.kinds.as_deref().unwrap_or(&Kind::ALL);
        let mut links = vec![false; fabric.links.len()];
        chosen_links(&wanted.links, fabric).into_iter().for_each(|link| links[link.index()] = true);
        let matchers: Vec<_> = wanted.flows.iter().map(|pattern| WildMatch::new(pattern)).collect();
        let is_chosen = |carrier: &Carrier| matchers.iter().any(|matcher| matcher.matches(&carrier.name));
        let mut numbers = wanted.numbers.clone();
        numbers.iter_mut().for_each(|numbers| numbers.sort_unstable());
        let (from, until) = (traffic.window.from, traffic.window.until);
        let flow = |number: &u64| (*number < traffic.timed as u64).then_some(FlowId(*number as u32));
        let known = numbers.as_ref().and_then(|numbers| numbers.iter().map(flow).collect());
        Recorder {
            known,
            points: kinds.iter().fold(Points::NONE, |all, kind| all.and(kind.points())),
            links,
            entries: carriers.iter().map(is_chosen).collect(),
            entry_of: traffic.flows[..traffic.timed].iter().map(|flow| flow.entry).collect(),
            numbers,
            others: wanted.has_all_flows(),
            span: (wanted.from.unwrap_or(from), wanted.until.unwrap_or(until)),
            limit: wanted.rows_limit as usize,
            rows: Vec::new(),
            cut_off: None,
        }
    }

    /// When the first event came for which there was no room.
    pub fn cut_off(&self) -> Option<Time> {
        self.cut_off
    }

    /// The share of the flows that are known before the run whose events are recorded.
    pub fn share(&self) -> f64 {
        if let Some(numbers) = &self.numbers {
            return (numbers.len() as f64 / self.entry_of.len().max(1) as f64).min(1.0);
        }
        let flows = (0..self.entry_of.len()).map(|flow| FlowId(flow as u32));
        let followed = flows.filter(|flow| self.follows(*flow)).count();
        followed as f64 / self.entry_of.len().max(1) as f64
    }

    /// Whether events of that flow are recorded. The entry of a flow that is drawn during the run is known at its end.
    fn follows(&self, flow: FlowId) -> bool {
        if flow == FlowId::NONE {
            return self.others;
        }
        let number = self.numbers.as_ref().is_none_or(|all| all.binary_search(&u64::from(flow.0)).is_ok());
        let entry = self.entry_of.get(flow.index());
        number && entry.is_none_or(|entry| self.entries[*entry as usize])
    }

    /// The rows in the order of events; `entry_of` gives the traffic entry of a flow that was drawn during the run.
    pub fn into_table(self, entry_of: impl Fn(FlowId) -> u32) -> Table {
        let Recorder { mut rows, entries, entry_of: known, .. } = self;
        let drawn = |flow: FlowId| flow != FlowId::NONE && flow.index() >= known.len();
        rows.retain(|row| !drawn(row.flow) || entries[entry_of(row.flow) as usize]);
        table(&rows)
    }

    fn push(&mut self, row: Row) {
        if self.rows.len() == self.limit {
            self.cut_off.get_or_insert(row.at);
        } else {
            self.rows.push(row);
        }
    }
}

/// The row of a point, and the connection that it is of.
fn row(at: Time, point: &Point) -> Row {
    let empty = Row {
        at,
        made: Time::ZERO,
        seq: 0,
        value: 0.0,
        flow: FlowId::NONE,
        link: point.link().unwrap_or(LinkId::NONE),
        number: 0,
        bytes: 0,
        payload: 0,
        kind: Kind::of(point) as u8,
        detail: detail(point) as u8,
        subflow: 0,
        flags: 0,
        hops: 0,
        has: 0,
    };
    let of = |conn: ConnAt| Row { flow: conn.first, subflow: conn.subflow, ..empty };
    let valued = |row: Row, value: f64| Row { value, has: has::VALUE, ..row };
    match *point {
        Point::Packet(_, PacketAt { packet, conn, queue, .. }) => Row {
            value: queue.map_or(0.0, |bytes| bytes as f64),
            made: packet.created_at,
            seq: packet.header.seq,
            number: packet.header.number,
            bytes: packet.size,
            payload: packet.header.len,
            flags: packet.flags,
            hops: packet.hops,
            has: has::PACKET
                | if packet.dst == conn.dst { has::FORWARD } else { 0 }
                | if queue.is_some() { has::QUEUE } else { 0 },
            ..of(conn)
        },
        Point::Pause { classes, .. } => valued(empty, f64::from(classes)),
        Point::Timer { end: End::Sender(conn) | End::Receiver(conn), kind, .. } => {
            valued(of(conn), f64::from(kind))
        }
        Point::Timer { kind, .. } => valued(empty, f64::from(kind)),
        Point::Window { conn, bytes } => valued(of(conn), bytes as f64),
        Point::Rate { conn, rate } => valued(of(conn), rate.0 as f64),
    }
}

impl Observer for Recorder {
    fn points(&self) -> Points {
        self.points
    }

    fn watches_link(&self, link: LinkId) -> bool {
        self.links[link.index()]
    }

    fn flows(&self) -> Option<&[FlowId]> {
        self.known.as_deref()
    }

    fn see(&mut self, at: Time, point: &Point) {
        let (from, until) = self.span;
        if at < from || at > until {
            return;
        }
        let row = row(at, point);
        if self.follows(row.flow) {
            self.push(row);
        }
    }

    fn memory(&self) -> u64 {
        self.rows.len() as u64 * ROW_BYTES
    }
}

fn table(rows: &[Row]) -> Table {
    let is_packet = |row: &Row| row.has & has::PACKET != 0;
    // Sequence numbers of answers are the transport's own business.
    let is_data = |row: &Row| is_packet(row) && row.flags & flag::CONTROL == 0;
    let of_flow = |row: &Row| row.flow != FlowId::NONE;
    let words = |codes: Vec<u32>, words: &[&str]| Values::Text {
        codes,
        words: words.iter().map(ToString::to_string).collect(),
    };
    let u64s = |value: fn(&Row) -> u64| Values::U64(rows.iter().map(value).collect());
    let u32s = |value: fn(&Row) -> u32| Values::U32(rows.iter().map(value).collect());
    let bools = |value: fn(&Row) -> bool| Values::Bool(rows.iter().map(value).collect());
    let all = |definition, values| Column { definition, values, valid: None };
    let some = |definition, values, valid: &dyn Fn(&Row) -> bool| Column {
        definition,
        values,
        valid: Some(rows.iter().map(valid).collect()),
    };
    Table {
        name: "events",
        columns: vec![
            all(&events::time_ps, u64s(|row| row.at.0)),
            all(&events::kind, words(rows.iter().map(|row| u32::from(row.kind)).collect(), &Kind::WORDS)),
            all(&events::detail, words(rows.iter().map(|row| u32::from(row.detail)).collect(), &DETAILS)),
            some(&events::link, u64s(|row| u64::from(row.link.0)), &|row| row.link != LinkId::NONE),
            some(&events::flow, u64s(|row| u64::from(row.flow.0)), &of_flow),
            some(&events::subflow, u32s(|row| u32::from(row.subflow)), &of_flow),
            some(&events::forward, bools(|row| row.has & has::FORWARD != 0), &is_packet),
            some(&events::data, bools(|row| row.flags & flag::CONTROL == 0), &is_packet),
            some(&events::number, u32s(|row| row.number), &is_data),
            some(&events::seq, u64s(|row| row.seq), &is_data),
            some(&events::payload_bytes, u32s(|row| u32::from(row.payload)), &is_packet),
            some(&events::wire_bytes, u32s(|row| row.bytes), &is_packet),
            some(&events::made_ps, u64s(|row| row.made.0), &is_packet),
            some(&events::hops, u32s(|row| u32::from(row.hops)), &is_packet),
            some(&events::marked, bools(|row| row.flags & flag::CE != 0), &is_packet),
            some(&events::trimmed, bools(|row| row.flags & flag::TRIMMED != 0), &is_packet),
            some(&events::queue_bytes, u64s(|row| row.value as u64), &|row| row.has & has::QUEUE != 0),
            some(&events::value, Values::F64(rows.iter().map(|row| row.value).collect()), &|row| {
                row.has & has::VALUE != 0
            }),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row takes the bytes that the forecast counts.
    #[test]
    fn a_row_is_as_large_as_the_forecast_says() {
        assert_eq!(size_of::<Row>() as u64, ROW_BYTES);
    }

    #[test]
    fn each_kind_has_its_word() {
        for (kind, word) in Kind::ALL.iter().zip(Kind::WORDS) {
            assert_eq!(serde_json::to_value(kind).expect("a word"), word);
        }
    }
}
