//! DAQ's port: short flows, urgent ones first, and long flows, which share the link by weights; nothing is dropped.
//!
//! Source: Ding and Rojas-Cessa, "DAQ: Deadline-Aware Queue Scheme for Scheduling Service Flows in Data Centers", section
//! II and Algorithm 1. That nothing is dropped is the work of credits (`engine/credit.rs`): whoever sends by a link to a
//! switch has credit for a share of the switch's buffer. A port knows queues and no flows. Packets of data say their class
//! and, as `Header::ack`, the time left to their deadline.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::waiting::Waiting;
use super::{Build, Feature, Settings};
use crate::derived::{Derived, Longest, Values, bytes_in};
use crate::engine::credit::{CLASSES, Credit, Credits, FULL_LOAD, LONG, SHORT, UNLIMITED, Word, class_of};
use crate::engine::discipline::{Discipline, PortContext, Queued};
use crate::engine::packet::{Packet, flag};
use crate::ids::PacketId;
use crate::problem::Problem;
use crate::topology::{Fabric, Link};
use crate::units::{Bytes, Rate, Time};

/// Three queues for data: of flows with a deadline Q1.1, urgent, and Q1.2; Q2 of flows without. Control packets have a
/// queue of their own, which goes first. Who sends to a switch has credit for its share of the buffers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DaqPort {
    /// A packet is urgent whose flow is due within so many round trips (paper: best between 20 and 60). From 1e9 on there
    /// is no threshold, and all flows with a deadline wait in one queue, as with 0. Absent: 30.
    #[schemars(range(min = 0.0, max = 1e9))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// The round trip that `ratio` counts in, and over which the load of a port is taken (paper: 300 us). "derived": that
    /// of a full packet and its answer over the longest path, with nothing in the way.
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
    pub rtt: Derived<Time>,
    /// Whose round trip `ratio` counts in.
    pub threshold: Threshold,
    /// Share of the link for flows with a deadline while both classes have packets (paper: w_s / w_l = 0.01, in bytes).
    #[schemars(range(min = 1, max = 1_000_000))]
    pub short_weight: u32,
    /// Share of the link for flows without a deadline.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub long_weight: u32,
    /// Memory of a switch for flows with a deadline, divided among those who send to it (paper: 2 MB).
    #[schemars(extend("x-minimum" = "64B", "x-maximum" = "1GB"))]
    pub short_buffer: Bytes,
    /// Memory of a switch for flows without a deadline (paper: 2 MB).
    #[schemars(extend("x-minimum" = "64B", "x-maximum" = "1GB"))]
    pub long_buffer: Bytes,
    /// N_w: into so many parts `short_buffer` is divided. Absent: for each switch, the links by which flows with a
    /// deadline may come: those from hosts that send any or relay, and those from switches.
    #[schemars(range(min = 1, max = 1_000_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub short_senders: Option<u32>,
    /// The same for `long_buffer` and flows without a deadline.
    #[schemars(range(min = 1, max = 1_000_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub long_senders: Option<u32>,
    /// Bytes of a frame that tells of credit.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1500B"))]
    pub frame_bytes: Bytes,
}

/// Whose round trip the threshold of urgency counts in; the paper does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Threshold {
    /// The queue's `rtt`: one threshold for all.
    Fixed,
    /// What the sender last measured, as its packet says: it grows with the queues.
    Measured,
}

/// The paper's optimum.
const RATIO: f64 = 30.0;
/// From this ratio on there is no threshold.
const NO_THRESHOLD: f64 = 1e9;

impl Default for DaqPort {
    fn default() -> Self {
        DaqPort {
            ratio: None,
            rtt: Derived::FromNetwork,
            threshold: Threshold::Fixed,
            short_weight: 1,
            long_weight: 100,
            short_buffer: Bytes(2_000_000),
            long_buffer: Bytes(2_000_000),
            short_senders: None,
            long_senders: None,
            frame_bytes: Bytes(64),
        }
    }
}

/// What `Header::ack` of data says of a flow: this, of one without a deadline (the paper's -10); else the time left.
pub const NO_DEADLINE: u64 = u64::MAX;
/// What it says of a flow whose deadline has passed.
pub const EXPIRED: u64 = u64::MAX - 1;

/// The fields of each class.
struct Share {
    buffer: (&'static str, Bytes),
    senders: (&'static str, Option<u32>),
    flows: &'static str,
}

impl DaqPort {
    fn shares(&self) -> [Share; CLASSES] {
        [
            Share {
                buffer: ("short_buffer", self.short_buffer),
                senders: ("short_senders", self.short_senders),
                flows: "flows with a deadline",
            },
            Share {
                buffer: ("long_buffer", self.long_buffer),
                senders: ("long_senders", self.long_senders),
                flows: "flows without a deadline",
            },
        ]
    }

    fn ratio(&self) -> f64 {
        self.ratio.unwrap_or(RATIO)
    }

    fn rtt(&self) -> Time {
        self.rtt.or(Time::from_us(300))
    }
}

/// For each link and class, whether such data may come by it to a switch.
fn entrances<'a>(
    fabric: &'a Fabric,
    sends: &'a [[bool; CLASSES]],
) -> impl Fn(&Link, usize) -> bool + use<'a> {
    let mut ports = vec![0; fabric.nodes.len()];
    fabric.links.iter().for_each(|link| ports[link.from.index()] += 1);
    let any: [bool; CLASSES] = std::array::from_fn(|class| sends.iter().any(|sends| sends[class]));
    move |link: &Link, class: usize| {
        // A host with several links may relay.
        let relays = !fabric.is_host(link.from) || ports[link.from.index()] > 1;
        !fabric.is_host(link.to) && any[class] && (relays || sends[link.from.index()][class])
    }
}

/// For each node and class, the links by which such data may come.
fn senders(fabric: &Fabric, sends: &[[bool; CLASSES]]) -> Vec<[u32; CLASSES]> {
    let enters = entrances(fabric, sends);
    let mut senders = vec![[0; CLASSES]; fabric.nodes.len()];
    for link in &fabric.links {
        for (class, count) in senders[link.to.index()].iter_mut().enumerate() {
            *count += u32::from(enters(link, class));
        }
    }
    senders
}

impl Settings for DaqPort {
    fn offers(&self) -> &'static [Feature] {
        &[Feature::Credits]
    }

    fn derived(&self, longest: &Longest, _full_packet: u64) -> Values {
        match self.rtt {
            Derived::Given(_) => Vec::new(),
            Derived::FromNetwork => vec![("rtt".into(), json!(longest.round_trip.max(Time::from_ns(1))))],
        }
    }

    /// What leaves gives credit, which is an act of its instant.
    fn acts_on_departure(&self) -> bool {
        true
    }

    fn port_bytes(&self) -> usize {
        size_of::<State>() + size_of::<Credit>()
    }

    fn most_packets(&self, full_packet: u64) -> Option<u64> {
        Some((self.short_buffer.0 + self.long_buffer.0) / full_packet.max(1))
    }

    /// The buffers of each switch in equal parts (paper, section II: buffer / N_w), in whole packets, so that what all
    /// may send finds room. Who sends no data of a class has no credit for it.
    fn credits(&self, fabric: &Fabric, sends: &[[bool; CLASSES]], full_packet: u64) -> Credits {
        let (senders, enters, shares) =
            (senders(fabric, sends), entrances(fabric, sends), self.shares());
        let window = |link: &Link| {
            if fabric.is_host(link.to) {
                return [UNLIMITED; CLASSES];
            }
            std::array::from_fn(|class| {
                let Share { buffer, senders: given, .. } = &shares[class];
                let parts = given.1.unwrap_or(senders[link.to.index()][class]);
                let packets = buffer.1.0 / u64::from(parts.max(1)) / full_packet.max(1);
                if enters(link, class) { (packets.max(1) * full_packet) as u32 } else { 0 }
            })
        };
        let windows = fabric.links.iter().map(window).collect();
        Credits::new(windows, full_packet as u32, self.frame_bytes.0 as u32)
    }

    fn problems_with(&self, fabric: &Fabric, sends: &[[bool; CLASSES]], full_packet: u64) -> Vec<Problem> {
        let senders = senders(fabric, sends);
        let mut problems = Vec::new();
        for (class, share) in self.shares().into_iter().enumerate() {
            let ((buffer_field, buffer), (senders_field, given)) = (share.buffer, share.senders);
            let most = (0..senders.len()).max_by_key(|&node| (senders[node][class], usize::MAX - node));
            let Some((node, most)) = most.map(|node| (node, senders[node][class])).filter(|most| most.1 > 0)
            else {
                continue;
            };
            let (switch, flows) = (&fabric.nodes[node].name, share.flows);
            if let Some(given) = given.filter(|given| *given < most) {
                let message = format!(
                    "{given} is below the {most} links by which {flows} may come to {switch}: they could have more under \
                     way than {buffer_field} holds"
                );
                problems.push(Problem::new(senders_field, message));
                continue;
            }
            let parts = given.unwrap_or(most);
            if buffer.0 / u64::from(parts) < full_packet {
                let least = Bytes(u64::from(parts) * full_packet);
                let message = match given {
                    Some(_) => format!(
                        "makes a window of {} B out of a {buffer_field} of {buffer}, below a packet of {full_packet} B: \
                         at least {least} are needed",
                        buffer.0 / u64::from(parts)
                    ),
                    None => format!(
                        "{buffer} is below {least}, a packet of {full_packet} B for each of the {parts} links by which \
                         {flows} may come to {switch}"
                    ),
                };
                problems.push(Problem::new(if given.is_some() { senders_field } else { buffer_field }, message));
            }
        }
        if let Some(ratio) = self.ratio
            && !sends.iter().any(|sends| sends[SHORT])
        {
            let message = format!(
                "{ratio} is a threshold for the time left to flows with a deadline, and no flow has one; leave it out or \
                 give traffic a deadline"
            );
            problems.push(Problem::new("ratio", message));
        }
        problems
    }
}

impl Build for DaqPort {
    type Model = Model;

    fn model(&self, full_packet: u64) -> Model {
        let (short, long) = (u64::from(self.short_weight), u64::from(self.long_weight));
        let least = short.min(long);
        let full = full_packet.max(1);
        let rtt = self.rtt();
        let fixed = if self.ratio() >= NO_THRESHOLD { u64::MAX } else { within(self.ratio(), rtt.0) };
        let measured = self.threshold == Threshold::Measured && fixed != u64::MAX;
        Model::new(State {
            // The smaller weight is a full packet in each round.
            quanta: [full * short / least, full * long / least],
            threshold: if measured { Urgent::Measured(self.ratio()) } else { Urgent::Within(fixed) },
            rtt,
            buffers: [self.short_buffer.0, self.long_buffer.0],
            ..State::default()
        })
    }
}

/// So many round trips; the longest is below what is said of flows that have expired.
fn within(ratio: f64, rtt_ps: u64) -> u64 {
    // Casts saturate.
    ((ratio * rtt_ps as f64) as u64).min(EXPIRED - 1)
}

/// The queues at one port.
#[derive(Clone, Debug)]
pub struct Model(Box<State>);

/// Three queues for data and one for what is not; nothing of any flow.
#[derive(Clone, Debug, Default)]
struct State {
    control: Waiting,
    /// Q1.1.
    urgent: Waiting,
    /// Q1.2.
    later: Waiting,
    /// Q2.
    long: Waiting,
    threshold: Urgent,
    /// Deficit round robin (Shreedhar and Varghese, SIGCOMM 1995): bytes that each class gets in a round, what it has left
    /// of them, and whose turn it is.
    quanta: [u64; CLASSES],
    deficit: [u64; CLASSES],
    turn: usize,
    /// Largest number of bytes that may wait of each class: for assertions.
    buffers: [u64; CLASSES],
    /// What the load is taken over: round trips one behind the other. The number of the present one, its bytes so far,
    /// and those of the one before.
    rtt: Time,
    span: u64,
    come: u64,
    came: u64,
}

/// Which packets are urgent.
#[derive(Clone, Copy, Debug)]
enum Urgent {
    /// Due within so many picoseconds. The largest number means all, even those that have expired.
    Within(u64),
    /// Due within so many of the round trips that they say.
    Measured(f64),
}

impl Default for Urgent {
    fn default() -> Self {
        Urgent::Within(0)
    }
}

/// Algorithm 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Control,
    Urgent,
    Later,
    Long,
}

impl State {
    #[inline]
    fn place(&self, packet: &Packet) -> Place {
        if packet.has(flag::CONTROL) {
            return Place::Control;
        }
        if class_of(packet.header.class) == LONG {
            return Place::Long;
        }
        let threshold = match self.threshold {
            Urgent::Within(threshold) => threshold,
            Urgent::Measured(ratio) => within(ratio, packet.header.seq),
        };
        if packet.header.ack <= threshold { Place::Urgent } else { Place::Later }
    }

    /// Counts what comes to the port.
    #[inline]
    fn count(&mut self, now: Time, size: u32) {
        self.pass_time(now);
        self.come += u64::from(size);
    }

    /// Goes on to the round trip of that time.
    #[inline]
    fn pass_time(&mut self, now: Time) {
        let span = now.0 / self.rtt.0.max(1);
        if span != self.span {
            self.came = if span == self.span + 1 { self.come } else { 0 };
            (self.span, self.come) = (span, 0);
        }
    }

    /// What came in the last round trip that is over, as a share of what the link carries in one, in millionths.
    #[inline]
    fn load(&mut self, now: Time, rate: Rate) -> u32 {
        self.pass_time(now);
        let full = bytes_in(rate, self.rtt).max(1);
        u32::try_from(self.came.saturating_mul(u64::from(FULL_LOAD)) / full).unwrap_or(u32::MAX)
    }

    fn bytes(&self, class: usize) -> u64 {
        if class == SHORT { self.urgent.bytes() + self.later.bytes() } else { self.long.bytes() }
    }

    /// The class whose turn it is among those that have packets and do not stand still.
    #[inline]
    fn next_class(&mut self, paused: u8) -> Option<usize> {
        let short = self.urgent.first().or_else(|| self.later.first());
        let go = |class: usize, packet: Option<Queued>| packet.filter(|_| paused & 1 << class == 0);
        let heads = [go(SHORT, short), go(LONG, self.long.first())];
        if heads == [None; CLASSES] {
            return None;
        }
        // A quantum is no less than a packet, so that somebody's turn comes in one round.
        loop {
            if heads[self.turn].is_some_and(|head| u64::from(head.size) <= self.deficit[self.turn]) {
                return Some(self.turn);
            }
            self.turn ^= 1;
            if heads[self.turn].is_some() {
                self.deficit[self.turn] += self.quanta[self.turn];
            }
        }
    }

    /// Takes the first packet of a class.
    #[inline]
    fn pop(&mut self, class: usize) -> Option<Queued> {
        let packet = match class {
            SHORT => self.urgent.pop().or_else(|| self.later.pop()),
            _ => self.long.pop(),
        }?;
        self.deficit[class] = if self.bytes(class) == 0 { 0 } else { self.deficit[class] - u64::from(packet.size) };
        Some(packet)
    }
}

impl Model {
    fn new(state: State) -> Model {
        Model(Box::new(state))
    }

    /// At a host's port: in it waits what the host says and, if it relays, the data of others.
    pub fn at_host() -> Model {
        Model::new(State {
            quanta: [1 << 17; CLASSES],
            buffers: [u64::MAX; CLASSES],
            ..State::default()
        })
    }
}

impl Discipline for Model {
    #[inline]
    fn enqueue(&mut self, id: PacketId, cx: &mut PortContext) {
        let state = &mut *self.0;
        let packet = &cx.arena[id];
        let (size, place) = (packet.size, state.place(packet));
        state.count(cx.now, size);
        cx.keep(size);
        let queue = match place {
            Place::Control => &mut state.control,
            Place::Urgent => &mut state.urgent,
            Place::Later => &mut state.later,
            Place::Long => &mut state.long,
        };
        queue.push(Queued { id, size });
        debug_assert!(
            [SHORT, LONG].into_iter().all(|class| state.bytes(class) <= state.buffers[class]),
            "credits keep what waits within the buffers"
        );
    }

    #[inline]
    fn dequeue(&mut self, cx: &mut PortContext) -> Option<Queued> {
        let state = &mut *self.0;
        if let Some(packet) = state.control.pop() {
            return Some(packet);
        }
        let class = state.next_class(cx.port.paused)?;
        let packet = state.pop(class)?;
        cx.spend(class, packet.size);
        let word = Word { queue: state.bytes(class), load: state.load(cx.now, cx.port.rate) };
        cx.release(packet.id, class, packet.size, word);
        Some(packet)
    }

    #[inline]
    fn is_empty(&self) -> bool {
        let State { control, urgent, later, long, .. } = &*self.0;
        control.is_empty() && urgent.is_empty() && later.is_empty() && long.is_empty()
    }

    fn resident(&self, found: &mut dyn FnMut(PacketId)) {
        let State { control, urgent, later, long, .. } = &*self.0;
        [control, urgent, later, long].into_iter().flat_map(Waiting::iter).for_each(found);
    }
}
