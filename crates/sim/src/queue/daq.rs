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
        let (senders, enters, shares) = (senders(fabric, sends), entrances(fabric, sends), self.shares());
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
                        "{parts} makes a window of {} B out of a {buffer_field} of {buffer}, below a packet of {full_packet} B: \
                         at least {least} are needed",
                        buffer.0 / u64::from(parts)
                    ),
                    None => format!(
                        "{buffer} is below {least}, a packet of {full_packet} B for each of the {parts} links by which \
                         {flows} may come to {switch}"
                    ),
                };
                problems
                    .push(Problem::new(if given.is_some() { senders_field } else { buffer_field }, message));
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
    /// What the load is taken over: round trips one behind the other. When the present one ends, its bytes so far, and
    /// those of the one before.
    rtt: Time,
    until: Time,
    come: u64,
    came: u64,
    /// The rate of the link, and what it carries in a round trip.
    rate: Rate,
    full: u64,
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
        if now < self.until {
            return;
        }
        let span = self.rtt.0.max(1);
        let over = (now.0 - self.until.0) / span;
        self.came = if over == 0 { self.come } else { 0 };
        self.until = Time(self.until.0.saturating_add((over + 1).saturating_mul(span)));
        self.come = 0;
    }

    /// What came in the last round trip that is over, as a share of what the link carries in one, in millionths.
    #[inline]
    fn load(&mut self, now: Time, rate: Rate) -> u32 {
        self.pass_time(now);
        if rate != self.rate {
            (self.rate, self.full) = (rate, bytes_in(rate, self.rtt).max(1));
        }
        u32::try_from(self.came.saturating_mul(u64::from(FULL_LOAD)) / self.full).unwrap_or(u32::MAX)
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

    /// A packet of data leaves: credit is spent on the next link, and owed to the head of the one that it came by.
    #[inline]
    fn leave(&mut self, packet: Queued, class: usize, cx: &mut PortContext) {
        cx.spend(class, packet.size);
        let word = Word { queue: self.bytes(class), load: self.load(cx.now, cx.port.rate) };
        cx.release(packet.id, class, packet.size, word);
    }

    /// Takes the first packet of a class.
    #[inline]
    fn pop(&mut self, class: usize) -> Option<Queued> {
        let packet = match class {
            SHORT => self.urgent.pop().or_else(|| self.later.pop()),
            _ => self.long.pop(),
        }?;
        self.deficit[class] =
            if self.bytes(class) == 0 { 0 } else { self.deficit[class] - u64::from(packet.size) };
        Some(packet)
    }
}

impl Model {
    fn new(state: State) -> Model {
        Model(Box::new(state))
    }

    /// At a host's port: in it waits what the host says and, if it relays, the data of others.
    pub fn at_host() -> Model {
        Model::new(State { quanta: [1 << 17; CLASSES], buffers: [u64::MAX; CLASSES], ..State::default() })
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
        state.leave(packet, class, cx);
        Some(packet)
    }

    /// What meets nobody goes on as if it had waited: its class has had its turn, and has nothing left of it.
    #[inline]
    fn pass(&mut self, id: PacketId, cx: &mut PortContext) -> Option<Queued> {
        let state = &mut *self.0;
        let packet = &cx.arena[id];
        let (size, class) = (packet.size, class_of(packet.header.class));
        let control = packet.has(flag::CONTROL);
        let alone = state.bytes(SHORT) + state.bytes(LONG) == 0 && cx.port.paused & 1 << class == 0;
        if !state.control.is_empty() || !(control || alone) {
            self.enqueue(id, cx);
            return self.dequeue(cx);
        }
        state.count(cx.now, size);
        cx.keep(size);
        if !control {
            state.turn = class;
            state.leave(Queued { id, size }, class, cx);
        }
        Some(Queued { id, size })
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::engine::packet::Header;
    use crate::ids::{ConnId, LinkId};

    fn state(config: &DaqPort) -> State {
        *config.model(1500).0
    }

    fn data(class: u8, ack: u64, seq: u64, conn: u32) -> Packet {
        Packet {
            created_at: Time::ZERO,
            wire_at: Time::ZERO,
            size: 1500,
            conn: ConnId(conn),
            dst: crate::ids::NodeId(0),
            ingress: LinkId::NONE,
            label: conn,
            transport: 0,
            balancer: 0,
            flags: 0,
            hops: 0,
            header: Header { class, ack, seq, ..Header::default() },
        }
    }

    /// The paper's mark for a flow without a deadline.
    const MARK: i64 = -10;

    /// A packet with the paper's deadline field, in ms: the mark, time left, or another negative value for one that has
    /// expired.
    fn marked(deadline: i64, conn: u32) -> Packet {
        match deadline {
            MARK => data(LONG as u8, NO_DEADLINE, 0, conn),
            expired if expired < 0 => data(SHORT as u8, EXPIRED, 0, conn),
            left => data(SHORT as u8, left as u64 * 1_000_000_000, 0, conn),
        }
    }

    proptest! {
        /// Algorithm 1, with T = ratio x RTT; nothing else of a packet matters.
        #[test]
        fn packets_are_sorted_by_the_time_left(
            deadline in -20i64..60, ratio in 0u32..200, rtt_us in 1u64..1000, conn in any::<u32>(),
        ) {
            let rtt = Derived::Given(Time::from_us(rtt_us));
            let port = state(&DaqPort { ratio: Some(f64::from(ratio)), rtt, ..DaqPort::default() });
            let threshold_us = u64::from(ratio) * rtt_us;
            let place = match deadline {
                MARK => Place::Long,
                ..0 => Place::Later,
                _ if deadline as u64 * 1000 <= threshold_us => Place::Urgent,
                _ => Place::Later,
            };
            prop_assert_eq!(port.place(&marked(deadline, conn)), place);
            prop_assert_eq!(port.place(&Packet { flags: flag::CONTROL, ..marked(deadline, conn) }), Place::Control);
        }

        /// Whatever comes and goes: Q1.2 is served only if Q1.1 is empty, a class that stands still is not served, and
        /// somebody is if anybody may be.
        #[test]
        fn urgent_packets_go_first(deeds in prop::collection::vec((0u8..8, 64u32..1501, 0u8..4), 1..300)) {
            let mut port = state(&DaqPort::default());
            for (deed, size, stopped) in deeds {
                let packet = Queued { id: PacketId(0), size };
                match deed {
                    0 | 1 => port.urgent.push(packet),
                    2 | 3 => port.later.push(packet),
                    4 => port.long.push(packet),
                    _ => {
                        let paused = (stopped & 1) | if stopped & 2 != 0 { !1 } else { 0 };
                        let before = [port.urgent.len(), port.later.len(), port.long.len()];
                        let may = [paused & 1 == 0 && before[0] + before[1] > 0, paused & 2 == 0 && before[2] > 0];
                        let class = port.next_class(paused);
                        prop_assert_eq!(class.is_some(), may[SHORT] || may[LONG]);
                        if let Some(class) = class {
                            prop_assert!(may[class]);
                            port.pop(class).expect("the class has a packet");
                            let after = [port.urgent.len(), port.later.len(), port.long.len()];
                            prop_assert!(after[1] == before[1] || before[0] == 0);
                        }
                    }
                }
                for class in [SHORT, LONG] {
                    prop_assert!(port.bytes(class) > 0 || port.deficit[class] == 0);
                }
            }
        }
    }

    /// With 1 : 100 a round is 151.5 kB; over 100 rounds of packets of any size the shares are right to 2 %.
    #[test]
    fn backlogged_classes_share_by_their_weights() {
        let mut chance = crate::random::Stream::new(1, 0, crate::random::Purpose::Queue, 0);
        for (short_weight, long_weight) in [(1, 100), (100, 1), (1, 1), (3, 7)] {
            let mut port = state(&DaqPort { short_weight, long_weight, ..DaqPort::default() });
            let mut served = [0; CLASSES];
            while served[SHORT] + served[LONG] < 100 * 151_500 {
                let size = 64 + chance.below(1437) as u32;
                let packet = Queued { id: PacketId(0), size };
                while port.later.len() < 3 {
                    port.later.push(packet);
                }
                while port.long.len() < 3 {
                    port.long.push(packet);
                }
                let class = port.next_class(0).expect("both wait");
                served[class] += u64::from(port.pop(class).expect("it has one").size);
            }
            let share = served[SHORT] as f64 / served[LONG] as f64;
            let fair = f64::from(short_weight) / f64::from(long_weight);
            assert!((share / fair - 1.0).abs() < 0.02, "{short_weight} : {long_weight} gave {share}");
        }
    }

    /// 1 Gbps carries 125 B in 1 us. Of a round trip of 10 us with 1000 B the next one tells, and the one behind that of
    /// none.
    #[test]
    fn the_load_is_that_of_the_last_round_trip() {
        let mut port = state(&DaqPort { rtt: Derived::Given(Time::from_us(10)), ..DaqPort::default() });
        let rate = Rate(1_000_000_000);
        port.count(Time::from_us(21), 600);
        port.count(Time::from_us(29), 400);
        assert_eq!(port.load(Time::from_us(29), rate), 0);
        assert_eq!(port.load(Time::from_us(30), rate), 800_000);
        assert_eq!(port.load(Time::from_us(39), rate), 800_000);
        assert_eq!(port.load(Time::from_us(40), rate), 0);
        port.count(Time::from_us(49), 1250);
        assert_eq!(port.load(Time::from_us(57), rate), FULL_LOAD);
        assert_eq!(port.load(Time::from_us(67), rate), 0);
    }

    /// 30 round trips of 2 ms that the packet says are 60 ms. Without a threshold all are urgent, even those that have
    /// expired.
    #[test]
    fn the_threshold_may_be_that_of_the_packet_or_none() {
        let measured = state(&DaqPort { threshold: Threshold::Measured, ..DaqPort::default() });
        let ms = 1_000_000_000;
        assert_eq!(measured.place(&data(0, 60 * ms, 2 * ms, 0)), Place::Urgent);
        assert_eq!(measured.place(&data(0, 60 * ms + 1, 2 * ms, 0)), Place::Later);
        for threshold in [Threshold::Fixed, Threshold::Measured] {
            let one = state(&DaqPort { ratio: Some(1e9), threshold, ..DaqPort::default() });
            assert_eq!(one.place(&data(0, EXPIRED, 0, 0)), Place::Urgent);
            assert_eq!(one.place(&data(1, NO_DEADLINE, 0, 0)), Place::Long);
        }
    }
}
