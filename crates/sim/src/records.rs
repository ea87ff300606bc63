//! Results of a run: columns with a name, a unit and a meaning, and their digest.
//!
//! This file is the only definition of the results' columns. `flowyard explain` prints it, the
//! Parquet files and Arrow tables are made from it, and the digest runs over it in this order.

use sha2::{Digest, Sha256};

/// A table of results: columns of equal length.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// "flows", "links" and so on: also the name of the file.
    pub name: &'static str,
    /// The columns, in the order of the definition.
    pub columns: Vec<Column>,
}

/// One column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Name, unit and meaning.
    pub definition: &'static Definition,
    /// The values; where `valid` is false, a zero without meaning.
    pub values: Values,
    /// For each row whether it has a value; `None` if all have.
    pub valid: Option<Vec<bool>>,
}

/// Name, unit and meaning of a column.
#[derive(Debug, PartialEq, Eq)]
pub struct Definition {
    /// The column's name; the unit comes last in it where there is one.
    pub name: &'static str,
    /// "ps", "bytes", "bit/s", "packets" ... or "" for a pure number, a name or a flag.
    pub unit: &'static str,
    /// "u64", "u32", "f64", "bool" or "text".
    pub kind: &'static str,
    pub meaning: &'static str,
}

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    U64(Vec<u64>),
    U32(Vec<u32>),
    F64(Vec<f64>),
    Bool(Vec<bool>),
    /// Each row's word by its index in the list of words.
    Text {
        codes: Vec<u32>,
        words: Vec<String>,
    },
}

impl Column {
    /// Whether it is about a feature that the run did not have: flow control, credits, or flows that are given up. Columns of
    /// one name are about one feature.
    fn is_unused(&self) -> bool {
        let tells = [&links::pauses, &links::paused_ps, &links::credit_drops, &flows::abandoned];
        tells.iter().any(|feature| self.definition.name == feature.name)
            && match &self.values {
                Values::U64(values) => values.iter().all(|&value| value == 0),
                Values::Bool(values) => values.iter().all(|&value| !value),
                _ => false,
            }
    }
}

impl Column {
    /// The same column of a run that did not measure it: no row has a value.
    pub fn unmeasured(self) -> Column {
        let rows = self.values.len();
        let values = match self.values {
            Values::U64(_) => Values::U64(vec![0; rows]),
            Values::U32(_) => Values::U32(vec![0; rows]),
            Values::F64(_) => Values::F64(vec![0.0; rows]),
            Values::Bool(_) => Values::Bool(vec![false; rows]),
            text @ Values::Text { .. } => text,
        };
        Column { values, valid: Some(vec![false; rows]), ..self }
    }
}

impl Values {
    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Values::U64(values) => values.len(),
            Values::U32(values) => values.len(),
            Values::F64(values) => values.len(),
            Values::Bool(values) => values.len(),
            Values::Text { codes, .. } => codes.len(),
        }
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Table {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.values.len())
    }

    /// The column of that name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.definition.name == name)
    }
}

/// SHA-256 over the tables: for each column its name, its type, its validity and its values, little-endian.
///
/// It holds no clock and no file format, so that two runs of the same scenario, seed and version
/// agree whatever the machine, the thread or the build. A column of a feature that a run does not use is left out.
pub fn digest(tables: &[&Table]) -> String {
    let mut hash = Sha256::new();
    for table in tables {
        hash.update(table.name);
        hash.update((table.rows() as u64).to_le_bytes());
        // Which flows are measured follows from their starts.
        let follows = |column: &&Column| column.definition.name == flows::measured.name;
        for column in table.columns.iter().filter(|column| !column.is_unused() && !follows(column)) {
            digest_column(&mut hash, column);
        }
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn digest_column(hash: &mut Sha256, column: &Column) {
    hash.update(column.definition.name);
    hash.update(column.definition.kind);
    match &column.valid {
        Some(valid) => valid.iter().for_each(|&valid| hash.update([u8::from(valid)])),
        None => hash.update([2]),
    }
    match &column.values {
        Values::U64(values) => values.iter().for_each(|value| hash.update(value.to_le_bytes())),
        Values::U32(values) => values.iter().for_each(|value| hash.update(value.to_le_bytes())),
        Values::F64(values) => values.iter().for_each(|value| hash.update(value.to_le_bytes())),
        Values::Bool(values) => values.iter().for_each(|&value| hash.update([u8::from(value)])),
        Values::Text { codes, words } => codes.iter().for_each(|&code| {
            let word = &words[code as usize];
            hash.update((word.len() as u64).to_le_bytes());
            hash.update(word);
        }),
    }
}

macro_rules! define {
    ($($(#[$doc:meta])* $list:ident { $($name:ident $kind:literal $unit:literal $meaning:literal)* })*) => {$(
        $(#[$doc])*
        #[allow(non_upper_case_globals, reason = "a column is called what users call it")]
        pub mod $list {
            use $crate::records::Definition;
            $(pub static $name: Definition = Definition {
                name: stringify!($name), unit: $unit, kind: $kind, meaning: $meaning,
            };)*
            /// All columns, in their order.
            pub static ALL: &[&Definition] = &[$(&$name),*];
        }
    )*};
}

pub(crate) use define;

define! {
    /// The columns of flows.parquet: a row for each flow of the scenario, by id.
    flows {
        id "u64" "" "Number of the flow; those that would have started behind the measuring window and did not have no row. First those with a given start, by start, then by traffic entry; then those that waited for other flows, as drawn; then those drawn during the run, by start."
        tag "text" "" "Name of the traffic entry that the flow belongs to."
        transport "text" "" "Name of the transport that carried the flow."
        src "u32" "" "Host that sends."
        dst "u32" "" "Host that receives."
        size_bytes "u64" "bytes" "Payload that the flow was to carry."
        start_ps "u64" "ps" "When the flow was handed to the transport. Null if it waited for other flows and was never started."
        measured "bool" "" "Whether results are of this flow: it starts in the measuring window, or the whole run is measured, and its traffic entry is not background. The others are simulated and recorded, and left out of summaries, reports and sweeps."
        completed "bool" "" "Whether every byte arrived, by the receiver's own record of ranges."
        abandoned "bool" "" "Whether the sender gave the flow up before every byte had arrived: it has ended and has not completed. Only transports with deadlines give up."
        fct_ps "u64" "ps" "Flow completion time: start to the last byte at the receiver. Null while unfinished."
        fct_acked_ps "u64" "ps" "Start to the last acknowledgement at the sender. Null while unfinished, or if the transport does not acknowledge."
        ideal_fct_ps "u64" "ps" "Completion time of the flow alone in the network as it was built: its own data packets, store-and-forward, back to back from its start, no handshake and no other traffic, over the shortest path on which the whole flow is fastest. If packets are spread over several paths, it is a lower bound: they cross each hop at the summed rate of its links, and a short last packet may overtake. Null while unfinished."
        slowdown "f64" "" "fct_ps / ideal_fct_ps, never clamped; below 1 only if faults changed rates or routes, or by some thousandths with run.time_unit, which shortens transmissions. Null while unfinished."
        deadline_ps "u64" "ps" "When the flow was due, counted from its start. Null without a deadline."
        met_deadline "bool" "" "Whether it completed within the deadline. Null without a deadline."
        delivered_bytes "u64" "bytes" "Payload that reached the receiver, each byte counted once."
        packets_sent "u64" "packets" "Data packets put on the wire by the sender, retransmissions included."
        retransmissions "u64" "packets" "Data packets retransmitted."
        timeouts "u64" "" "Times that a retransmission timer expired and made the sender act."
        timeouts_whole_window "u64" "" "Timeouts of a whole window: no segment of it was acknowledged, and no duplicate acknowledgement arrived. The other timeouts followed an answer to a part of the window: its tail was lost, or duplicates were too few, or a retransmission was lost. A window is the data that TCP has in flight when the first acknowledgement of any of it arrives; a timeout begins a new one; a SYN is a window of its own. Only for transports made of TCP; 0 for others."
        trims "u64" "packets" "Data packets that arrived with their payload trimmed off."
        drops "u64" "packets" "Packets of the flow, of either direction, that a queue dropped, except credits."
        credit_drops "u64" "packets" "Credits of the flow that a queue dropped because too many waited: the signal of ExpressPass, no loss of data. 0 without a queue that meters credits."
        lost "u64" "packets" "Packets of the flow, of either direction, lost to faults: on a link, or at a node without a route to the destination."
        reordered "u64" "packets" "Data packets that arrived after one that was sent later."
    }

    /// The columns of links.parquet: a row for each directed link and the port that feeds it, by id.
    links {
        id "u32" "" "Number of the directed link; id ^ 1 is the other direction of the cable."
        from "text" "" "Name of the node that sends on the link."
        to "text" "" "Name of the node that receives."
        tier "text" "" "Tiers of both ends, as in \"host-edge\"."
        rate_bps "u64" "bit/s" "Rate of the link."
        delay_ps "u64" "ps" "Propagation delay."
        packets "u64" "packets" "Packets whose transmission began in the measuring window, as all other counts of a link; without a window in the run."
        bytes "u64" "bytes" "Bytes of these packets, headers included."
        utilisation "f64" "" "Share of the window's time in which packets were being put on the wire. Of a packet that is being sent when the window begins or ends, the part within it counts: never above 1."
        drops "u64" "packets" "Packets dropped at the port's queue, except credits."
        credit_drops "u64" "packets" "Credits dropped at the port's queue because too many waited. 0 without a queue that meters credits."
        lost "u64" "packets" "Packets lost on the link to faults: it was down, or lost them at random or by number."
        trims "u64" "packets" "Packets whose payload the port trimmed off."
        marks "u64" "packets" "Packets that the port marked with congestion experienced (CE)."
        queue_mean_bytes "f64" "bytes" "Time average of the bytes in the port over the window, the packet on the wire included; exact."
        queue_max_bytes "u64" "bytes" "Most bytes in the port at one instant, the packet on the wire included."
        queue_max_packets "u32" "packets" "Most packets in the port at one instant, the packet on the wire included."
        pauses "u64" "" "Times that the other end paused a class of traffic at the port (priority flow control); the frames count in no other column."
        paused_ps "u64" "ps" "Time in which at least one class of the port was paused."
    }

    /// The columns of connections.parquet, if a transport carried flows by several connections: by flow, then number.
    connections {
        flow "u64" "" "Number of the flow in flows.parquet that the connection helped to carry."
        subflow "u32" "" "Number of the connection among those of its flow, from 0."
        link "u32" "" "Number of the link in links.parquet by which its sender sent; by the end, if faults moved it."
        delivered_bytes "u64" "bytes" "Payload that reached the receiver by this connection, each byte of the connection counted once. A byte that was given to several connections counts in each that delivered it; the flow counts it once."
        pieces "u32" "" "Pieces of the flow's data that it sent, each on in one direction from where it was. A flow's context switches are the sum over its connections that sent any, less their number."
        packets_sent "u64" "packets" "Data packets that the connection put on the wire, retransmissions included."
        retransmissions "u64" "packets" "Data packets that it retransmitted."
        timeouts "u64" "" "Times that its retransmission timer expired and made the sender act."
        timeouts_whole_window "u64" "" "Timeouts of a whole window of the connection, as in flows.parquet."
        trims "u64" "packets" "Its data packets that arrived with their payload trimmed off."
        drops "u64" "packets" "Its packets, of either direction, that a queue dropped."
        lost "u64" "packets" "Its packets, of either direction, lost to faults."
        reordered "u64" "packets" "Its data packets that arrived after one of its own that was sent later. The flow counts those that were overtaken by packets of any of its connections."
    }

    /// The columns of samples.parquet, if the scenario requests it: by time, then links by id, then flows by
    /// id.
    samples {
        time_ps "u64" "ps" "When the sample was taken, after all that happened at that instant."
        series "text" "" "Meaning of value. Of a link: queue_bytes and queue_packets, the content of its port, the packet on the wire included; utilisation, the share of the time since the sample before in which packets were being put on the wire: never above 1; of a host's own link also backlog_bytes, the payload that waits at the host, if its transport has queues there, or, under SIRD, the bytes on the wire for which the host holds unused credit. Of a flow: cwnd_bytes, the congestion window, if its transport has one; rate_bps, the payload that reached the receiver since the sample before, a second."
        id "u64" "" "Number of the link in links.parquet, or of the flow in flows.parquet."
        value "f64" "" "The value, in the unit that the series' name ends with; utilisation is a share."
    }

    /// The columns of events.parquet, if the scenario requests it: in the order of events.
    events {
        time_ps "u64" "ps" "When it was."
        kind "text" "" "Kind of the event. Of packets: made, the transport of a host sends it; enqueued, it joins a port; started, its first bit is on the wire; arrived, its last bit has come out of the link; dropped, also lost to a fault; trimmed; marked; returned, its header goes back to its sender. Others: paused, a port stops or resumes classes; timer, a timer of a host was due; window and rate, that of a flow's sender has changed."
        detail "text" "" "Of a drop its reason: full, the queue had no room; displaced, it made room for another; managed, the queue chose to; fault; no-route. Of a timer its owner: sender, receiver or interface. Otherwise empty."
        link "u64" "" "Number in links.parquet of the link that the port feeds, or that the packet came out of. Absent where there is none."
        flow "u64" "" "Number of the flow in flows.parquet; of a connection that several flows share, the first of them."
        subflow "u32" "" "Number of the connection in its flow."
        forward "bool" "" "Whether the packet goes from the flow's sender to its receiver."
        data "bool" "" "Whether it is data; otherwise an acknowledgement or another control packet."
        number "u32" "" "Of data, its number in its connection, where its transport numbers packets; otherwise 0."
        seq "u64" "" "Of data, the sequence number of its transport: its first byte, where the transport counts bytes."
        payload_bytes "u32" "bytes" "Payload that the packet has, or had before it was trimmed."
        wire_bytes "u32" "bytes" "Bytes on the wire, as the packet is from then on."
        made_ps "u64" "ps" "When the packet was made: the same in all its events, and different from that of a retransmission."
        hops "u32" "" "Links that it has crossed."
        marked "bool" "" "Whether a port has marked it until then."
        trimmed "bool" "" "Whether its payload has been cut off until then."
        queue_bytes "u64" "bytes" "Bytes in the port after it, the packet on the wire included, where the port has decided on the packet: it is enqueued, dropped by the port, trimmed, marked or returned. A packet that is dropped or returned does not count, nor does one that is trimmed before it is enqueued. Absent elsewhere, also of started, which a port may compute ahead of time."
        value "f64" "" "Of window bytes, of rate bit/s, of paused the classes that stand still from then on, as a sum of powers of two (class 0: 1), of timer its kind, a number of the transport's own. Otherwise absent."
    }

    /// The columns of histograms.parquet, if the scenario requests it: by metric, class and value.
    histograms {
        metric "text" "" "The quantity counted. queue_bytes: bytes in a port, the packet on the wire included, at regular times. Of data packets that arrived whole: server_ps, from being made to the start of their transmission at the source; network_ps, from there to the arrival of their last bit."
        class "text" "" "Of queues the tier of the port's link; of latencies the number of links that the packets crossed."
        low "u64" "" "Smallest value that the row counts, in the unit that the metric's name ends with."
        high "u64" "" "Largest value that the row counts."
        count "u64" "" "How often a value from low to high was found."
    }
}
