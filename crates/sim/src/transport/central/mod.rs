//! Central control at the hosts: packets leave as a controller says.
//!
//! Source: Sviridov, Bianco and Giaccone, "To sync or not to sync", Globecom 2018, sections II and III. Each host has a queue
//! for each destination, so that no packet waits behind one for another host. A flow is a burst: all its packets come
//! into the queue at its start, whence the time that packets wait at the server counts. The controller (`controller/`) gives leave
//! packet by packet, or a rate to each queue; nothing leaves that was not granted. Nothing answers, and what a switch
//! drops stays lost: ports are meant to hold all that comes.

pub mod packets;
pub mod queue;

use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::packets::Packets;
use self::queue::{DestinationQueue, Late};
use super::{Framing, Settings};
use crate::balancer::Balancer;
use crate::balancer::per_flow::PerFlow;
use crate::engine::conn::Conn;
use crate::engine::controller::{Act, Grant, Report};
use crate::engine::endpoint::{Configs, Endpoint, Ends};
use crate::engine::host::{Host, Owner, Start, Timer, Toward};
use crate::engine::packet::{Header, Packet};
use crate::ids::{ConnId, NodeId, QueueId};
use crate::problem::{Problem, within};
use crate::queue::Queue;
use crate::queue::infinite::Infinite;
use crate::random::{Purpose, Stream};
use crate::topology::Fabric;
use crate::traffic::sizes::Sizes;
use crate::traffic::sizes::fixed::Fixed;
use crate::units::{Bytes, Time};

/// Packets that leave as a controller says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Central {
    /// Lengths of IP packets; longer ones are cut to `mtu`. All their bytes count as payload.
    pub lengths: Sizes,
    /// Whether a flow takes the lengths of a `list` in turn instead of drawing from them.
    pub in_turn: bool,
    /// The last packet of a flow.
    pub last: Last,
    /// The longest IP packet.
    #[schemars(extend("x-minimum" = "40B", "x-maximum" = "65535B"))]
    pub mtu: Bytes,
    /// Hosts cut IP packets into fragments of at most so many bytes, each a packet of its own on the wire. Absent: they cut
    /// none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "40B", "x-maximum" = "65535B"))]
    pub fragment: Option<Bytes>,
    /// Bytes on the wire on top of each packet: 38 for preamble, header, check sequence and gap of Ethernet.
    #[schemars(extend("x-maximum" = "1000B"))]
    pub link_bytes: Bytes,
    /// Under a controller of rates, the packet after one that another queue's has kept from the wire.
    pub late: Late,
}

/// The last packet of a flow under central control.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Last {
    /// As long as drawn: a flow is the fewest packets whose lengths reach its size.
    #[default]
    Whole,
    /// Cut to what is left of the flow, to 40 bytes at least.
    Cut,
}

impl Default for Central {
    fn default() -> Self {
        Central {
            lengths: Fixed(Bytes(1500)).into(),
            in_turn: false,
            last: Last::Whole,
            mtu: Bytes(1500),
            fragment: None,
            link_bytes: Bytes(38),
            late: Late::default(),
        }
    }
}

impl Central {
    /// The longest IP packet.
    fn length_most(&self) -> u64 {
        match &self.lengths {
            Sizes::Fixed(fixed) => fixed.0.0.min(self.mtu.0),
            _ => self.mtu.0,
        }
    }

    /// The longest piece of it.
    fn fragment_bytes(&self) -> u64 {
        self.fragment.map_or(u64::MAX, |bytes| bytes.0)
    }
}

impl Settings for Central {
    fn needs_controller(&self) -> bool {
        true
    }

    fn retransmits(&self) -> bool {
        false
    }

    fn endless(&self) -> bool {
        false
    }

    fn recommended_queue(&self) -> Queue {
        Infinite {}.into()
    }

    fn recommended_balancer(&self) -> Balancer {
        PerFlow {}.into()
    }

    fn full_packet(&self) -> u64 {
        self.length_most().min(self.fragment_bytes()) + self.link_bytes.0
    }

    fn framing(&self) -> Option<Framing> {
        // Two fragments of different lengths are no uniform cut.
        let uniform = matches!(self.lengths, Sizes::Fixed(_)) && self.length_most() <= self.fragment_bytes();
        uniform.then(|| Framing {
            payload: self.length_most(),
            header: self.link_bytes.0,
            pad_last: self.last == Last::Whole,
        })
    }

    fn packets(&self, size: u64, chance: Stream) -> Option<Box<dyn Iterator<Item = u64> + '_>> {
        let mut packets = Packets::new(size, chance);
        let next = move || Some(u64::from(packets.take(self)?.bytes) + self.link_bytes.0);
        Some(Box::new(std::iter::from_fn(next)))
    }

    fn answers(&self) -> f64 {
        0.0
    }

    fn link_bytes(&self) -> u64 {
        self.link_bytes.0
    }

    fn problems_on(&self, fabric: &Fabric) -> Vec<Problem> {
        let mut ports = vec![0; fabric.hosts as usize];
        fabric
            .links
            .iter()
            .filter(|link| fabric.is_host(link.from))
            .for_each(|link| ports[link.from.index()] += 1);
        let several = ports.iter().position(|&ports| ports > 1);
        let problem = |host: usize| {
            let message = format!(
                "is for hosts with one port each, and \"{}\" has {}",
                fabric.nodes[host].name, ports[host]
            );
            Problem::new("", message)
        };
        several.map(problem).into_iter().collect()
    }

    fn problems(&self) -> Vec<Problem> {
        let mut problems = match &self.lengths {
            Sizes::Endless(_) => vec![Problem::new("lengths.endless", "a packet has an end")],
            lengths => within(format!("lengths.{}", lengths.name()), lengths.problems()).collect(),
        };
        if self.in_turn && !matches!(self.lengths, Sizes::List(_)) {
            let message =
                format!("takes the lengths of a list in turn, and lengths is \"{}\"", self.lengths.name());
            problems.push(Problem::new("in_turn", message));
        }
        problems
    }
}

/// All flows of a run under central control, and the queues that they wait in.
pub struct Model {
    configs: Configs<Central>,
    senders: Ends<Sender>,
    /// Bytes of the flow that the receiver still lacks.
    missing: Ends<u64>,
    /// By number; a queue is made at its first flow, and stays.
    queues: Vec<DestinationQueue>,
    /// Its number, by the hosts at its ends: read once a flow.
    numbers: FxHashMap<(NodeId, NodeId), QueueId>,
    /// By host.
    hosts: Vec<AtHost>,
}

/// A flow at the host that sends it.
#[derive(Clone, Debug)]
struct Sender {
    packets: Packets,
    /// The flow behind it in the queue.
    next: ConnId,
    number: u32,
}

impl Default for Sender {
    fn default() -> Self {
        let packets = Packets::new(0, Stream::new(0, 0, Purpose::Packets, 0));
        Sender { packets, next: ConnId::NONE, number: 0 }
    }
}

/// What a host keeps for all its queues.
#[derive(Clone, Debug, Default)]
struct AtHost {
    /// Leave to send that has not been used up, in the order in which it came.
    grants: Vec<Leave>,
    /// Queues that have something to send.
    active: Vec<QueueId>,
    /// Whether one of its flows waits for the turn at the port.
    asked: bool,
    /// When the next bucket is empty.
    timer: Timer,
    /// Bytes that wait.
    bytes: u64,
}

/// Leave to send that a host has.
#[derive(Clone, Copy, Debug)]
struct Leave {
    queue: QueueId,
    grant: Grant,
    /// Whether a packet has gone by it.
    used: bool,
}

/// The timer of a host's buckets.
const LEAK: u8 = 0;

impl Model {
    pub(super) fn new(configs: Vec<Central>, fabric: &Fabric) -> Model {
        Model {
            configs: Configs(configs),
            senders: Ends::default(),
            missing: Ends::default(),
            queues: Vec::new(),
            numbers: FxHashMap::default(),
            hosts: vec![AtHost::default(); fabric.hosts as usize],
        }
    }

    /// The number of a queue.
    fn number(&mut self, from: NodeId, to: NodeId) -> QueueId {
        *self.numbers.entry((from, to)).or_insert_with(|| {
            self.queues.push(DestinationQueue::new(from));
            QueueId(self.queues.len() as u32 - 1)
        })
    }

    /// Some flow of this host asks for the turn at the port of all of them, if there is something to send by leave or rate.
    fn ask(&mut self, cx: &mut impl Host) {
        let at = &mut self.hosts[cx.host().index()];
        let first = at.grants.first().map(|leave| leave.queue).or(at.active.first().copied());
        if let Some(queue) = first.filter(|_| !at.asked) {
            at.asked = true;
            cx.ready(self.queues[queue.index()].head);
        }
    }

    /// A queue has a rate and something to send: its host's port is asked for when the bucket is empty. While the port is
    /// busy that is soon enough when it is free.
    fn send_when_due(&mut self, number: QueueId, cx: &mut impl Host) {
        let queue = &self.queues[number.index()];
        let at = &mut self.hosts[cx.host().index()];
        if at.asked || queue.is_empty() || !queue.bucket.leaks() {
            return;
        }
        let due = queue.bucket.due(cx.rate(queue.port));
        if due <= cx.now() {
            return self.ask(cx);
        }
        if due < at.timer.due() {
            cx.set_timer(&mut at.timer, due, Owner::Interface(queue.port.reverse()), LEAK);
        }
    }

    /// Of this host's queues that have a rate and something to send, the one whose bucket is empty first, and when.
    fn first_due(&self, cx: &impl Host) -> Option<(Time, QueueId)> {
        let due = |number: &QueueId| {
            let queue = &self.queues[number.index()];
            (queue.bucket.due(cx.rate(queue.port)), *number)
        };
        let leaks = |number: &&QueueId| self.queues[number.index()].bucket.leaks();
        self.hosts[cx.host().index()].active.iter().filter(leaks).map(due).min()
    }

    /// Moves a flow to the head of its queue, if it is in it.
    fn move_to_head(&mut self, number: QueueId, flow: ConnId, cx: &mut impl Host) -> bool {
        let queue = &mut self.queues[number.index()];
        let mut before = queue.head;
        if before == flow || before == ConnId::NONE {
            return before == flow;
        }
        loop {
            let next = self.senders.at(before, cx).next;
            if next == ConnId::NONE {
                return false;
            }
            if next == flow {
                break;
            }
            before = next;
        }
        let after = self.senders.at(flow, cx).next;
        self.senders.at(before, cx).next = after;
        if after == ConnId::NONE {
            queue.tail = before;
        }
        self.senders.at(flow, cx).next = queue.head;
        queue.head = flow;
        true
    }

    /// Makes a flow's next packet; also says its payload.
    fn make(&mut self, id: ConnId, cx: &mut impl Host) -> (Packet, u32) {
        let config = self.configs.of(cx.conn(id));
        let sender = self.senders.at(id, cx);
        let piece = sender.packets.take(config).expect("a flow without packets leaves the queue");
        let header = Header { len: piece.payload as u16, number: sender.number, ..Header::default() };
        sender.number += 1;
        let size = piece.bytes + config.link_bytes.0 as u32;
        let packet = cx.packet(id, Toward::Receiver, size, 0, header);
        cx.sender(id).packets_sent += 1;
        // It exists since its burst came.
        (Packet { created_at: cx.conn(id).start, ..packet }, piece.payload)
    }

    /// Leave for a queue that another slot has emptied is for nothing.
    fn hand_back(&mut self, cx: &mut impl Host) {
        let Model { hosts, queues, .. } = self;
        hosts[cx.host().index()].grants.retain(|leave| {
            let of_use = !queues[leave.queue.index()].is_empty();
            if !of_use && !leave.used {
                cx.report(Report::Unused { queue: leave.queue, at: leave.grant.slot });
            }
            of_use
        });
    }

    /// A packet goes on the wire: whoever is next is asked when that is free. Under leave without a rate nobody is before the
    /// next leave comes.
    fn ask_again(&mut self, cx: &mut impl Host) {
        let at = &self.hosts[cx.host().index()];
        let leaks = |number: &QueueId| self.queues[number.index()].bucket.leaks();
        if !at.grants.is_empty() || at.active.first().is_some_and(leaks) {
            self.ask(cx);
        }
    }

    /// Takes back leave to send that has been used, unless the slot has room for the queue's next packet.
    fn spend(&mut self, cx: &mut impl Host) {
        let grants = &mut self.hosts[cx.host().index()].grants;
        let Leave { queue, grant, .. } = grants[0];
        let head = self.queues[queue.index()].head;
        let fits = grant.fill && head != ConnId::NONE && {
            let config = self.configs.of(cx.conn(head));
            let next = self.senders.at(head, cx).packets.next_bytes(config).unwrap_or(u64::MAX);
            next.saturating_add(config.link_bytes.0) <= u64::from(grant.room)
        };
        if !fits {
            grants.remove(0);
        }
    }

    /// The head of a queue has sent its last packet.
    fn leave(&mut self, number: QueueId, cx: &mut impl Host) {
        let queue = &mut self.queues[number.index()];
        let flow = queue.head;
        queue.head = self.senders.at(flow, cx).next;
        if queue.is_empty() {
            queue.tail = ConnId::NONE;
            // Its rate ends with what it was for.
            queue.bucket.set(0.0, cx.now(), cx.rate(queue.port));
            let place = queue.place as usize;
            let active = &mut self.hosts[cx.host().index()].active;
            active.swap_remove(place);
            if let Some(moved) = active.get(place) {
                self.queues[moved.index()].place = place as u32;
            }
            cx.report(Report::Emptied { queue: number });
        }
        cx.finish(flow);
    }
}

impl Endpoint for Model {
    fn start(&mut self, id: ConnId, start: Start, cx: &mut impl Host) {
        let Conn { src, dst, .. } = *cx.conn(id);
        let number = self.number(src, dst);
        let config = self.configs.of(cx.conn(id));
        let packets = Packets::new(start.size, cx.flow_stream(Purpose::Packets, start.key));
        let count = packets.count(config);
        *self.senders.open(id, cx) = Sender { packets, next: ConnId::NONE, number: 0 };
        let (queue, at) = (&mut self.queues[number.index()], &mut self.hosts[src.index()]);
        at.bytes += start.size;
        if queue.is_empty() {
            queue.head = id;
            queue.place = at.active.len() as u32;
            at.active.push(number);
        } else {
            let last = queue.tail;
            self.senders.at(last, cx).next = id;
        }
        queue.tail = id;
        queue.port = cx.port(id);
        cx.report(Report::Burst {
            queue: number,
            from: src,
            to: dst,
            flow: id,
            bytes: start.size,
            packets: count,
            priority: cx.conn(id).priority,
            at: cx.now(),
        });
        self.send_when_due(number, cx);
    }

    fn ordered(&mut self, number: QueueId, act: Act, cx: &mut impl Host) {
        match act {
            Act::Rate(share) => {
                let queue = &mut self.queues[number.index()];
                // A rate that comes when all has been sent is for nothing: the next burst has to wait for its own.
                if !queue.is_empty() {
                    queue.bucket.set(share, cx.now(), cx.rate(queue.port));
                    self.send_when_due(number, cx);
                }
            }
            Act::Send(grant) => {
                if !self.move_to_head(number, grant.flow, cx) {
                    return cx.report(Report::Unused { queue: number, at: grant.slot });
                }
                self.hosts[cx.host().index()].grants.push(Leave { queue: number, grant, used: false });
                self.ask(cx);
            }
        }
    }

    /// The turn is that of the whole host, whichever flow asked for it.
    fn next_packet(&mut self, _id: ConnId, cx: &mut impl Host) -> (Option<Packet>, bool) {
        let host = cx.host().index();
        self.hosts[host].asked = false;
        let granted = self.hosts[host].grants.first().map(|leave| leave.queue);
        let number = match granted {
            Some(queue) => queue,
            None => match self.first_due(cx) {
                Some((due, queue)) if due <= cx.now() => queue,
                Some((_, queue)) => {
                    self.send_when_due(queue, cx);
                    return (None, false);
                }
                None => return (None, false),
            },
        };
        let queue = &mut self.queues[number.index()];
        let (flow, rate) = (queue.head, cx.rate(queue.port));
        let late = self.configs.of(cx.conn(flow)).late;
        let (mut packet, payload) = self.make(flow, cx);
        let at = &mut self.hosts[host];
        at.bytes -= u64::from(payload);
        let mut first = false;
        if granted.is_some() {
            let leave = &mut at.grants[0];
            first = !std::mem::replace(&mut leave.used, true);
            leave.grant.room = leave.grant.room.saturating_sub(packet.size);
            packet.label = leave.grant.label.unwrap_or(packet.label);
        } else {
            self.queues[number.index()].bucket.fill(packet.size, cx.now(), rate, late);
        }
        cx.report(Report::Sent { queue: number, flow, bytes: payload, granted: first });
        if self.senders.at(flow, cx).packets.is_empty() {
            self.leave(number, cx);
        }
        if granted.is_some() {
            self.spend(cx);
        }
        self.hand_back(cx);
        self.ask_again(cx);
        (Some(packet), false)
    }

    fn accept(&mut self, id: ConnId, cx: &mut impl Host) {
        *self.missing.open(id, cx) = cx.conn(id).size;
    }

    fn at_receiver(&mut self, packet: &Packet, cx: &mut impl Host) {
        let payload = u64::from(packet.header.len);
        cx.note_arrival(packet);
        cx.delivered(packet.conn, payload);
        let missing = self.missing.at(packet.conn, cx);
        *missing -= payload;
        if *missing == 0 && payload > 0 {
            cx.completed(packet.conn);
        }
    }

    fn at_sender(&mut self, _packet: &Packet, _cx: &mut impl Host) {
        unreachable!("nothing answers under central control");
    }

    fn timer(&mut self, owner: Owner, kind: u8, cx: &mut impl Host) {
        let host = cx.host().index();
        if cx.timer_is_due(&mut self.hosts[host].timer, owner, kind)
            && let Some((_, queue)) = self.first_due(cx)
        {
            self.send_when_due(queue, cx);
        }
    }

    fn waiting(&self, host: NodeId) -> Option<u64> {
        Some(self.hosts[host.index()].bytes)
    }

    /// A host's bytes are those of its flows, and its active queues are those that hold one.
    fn audit(&self, conns: &[(ConnId, Conn)], found: &mut dyn FnMut(String)) {
        let mut bytes = vec![0; self.hosts.len()];
        for (id, conn) in conns.iter().filter(|(_, conn)| !conn.sender_done()) {
            bytes[conn.src.index()] += self.senders.get(*id).packets.bytes();
        }
        for (host, (at, bytes)) in self.hosts.iter().zip(bytes).enumerate() {
            if at.bytes != bytes {
                found(format!("host {host}: counts {} bytes that wait, its flows have {bytes}", at.bytes));
            }
        }
        for (number, queue) in self.queues.iter().enumerate() {
            let active = &self.hosts[queue.from.index()].active;
            let listed = active.get(queue.place as usize) == Some(&QueueId(number as u32));
            if listed == queue.is_empty() {
                found(format!("queue {number}: listed is {listed}, empty is {}", queue.is_empty()));
            }
        }
    }
}
