//! Central control at the hosts: packets leave as a controller decides.
//!
//! Source: Sviridov, Bianco and Giaccone, "To sync or not to sync", Globecom 2018, sections II and III. Each
//! host has a queue for each destination, so that no packet waits behind one for another host. A flow is a
//! burst: all its packets come into the queue at its start, whence the time that packets wait at the server
//! counts. The controller (`controller/`) grants packet by packet, or gives a rate to each queue; no packet
//! leaves without a grant. There are no acknowledgements, and dropped packets stay lost: ports are meant to
//! hold all arriving packets.

pub mod bucket;
pub mod packets;
pub mod queues;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::bucket::{Idle, Late};
use self::packets::{Arrivals, LAST, Packets};
use self::queues::{HeldGrant, Queues};
use super::{Framing, Needs, Profile, Settings};
use crate::engine::contract::conn::Conn;
use crate::engine::contract::controller::{Act, Grant, Order, Report};
use crate::engine::contract::endpoint::{Configs, Endpoint, Ends};
use crate::engine::contract::event::Owner;
use crate::engine::contract::host::{Host, Start};
use crate::engine::contract::packet::Packet;
use crate::ids::{ConnId, FlowId, NodeId, QueueId};
use crate::problem::Problem;
use crate::random::Stream;
use crate::topology::Fabric;
use crate::traffic::sizes::Sizes;
use crate::units::{Bytes, Time};

/// Packets leave as the controller decides.
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
    /// Under a controller of rates, the packet after one that was delayed by another queue's transmission.
    pub late: Late,
    /// The most full packets that a queue makes up for with `late = "made-up"`; 1 is a bucket whose credit is a packet. Absent:
    /// any number, so that all that a rate allows is sent, but a queue that was held back for long then sends at the rate of its
    /// link.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub late_limit: Option<u32>,
    /// Under a controller of rates, a queue whose last packet has been sent and has not leaked out.
    pub idle: Idle,
}

/// The last packet of a flow under central control.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Last {
    /// Of the drawn length: a flow has the fewest packets whose lengths reach its size.
    #[default]
    Whole,
    /// Cut to the remaining bytes of the flow, to 40 bytes at least.
    Cut,
}

impl Default for Central {
    fn default() -> Self {
        Central {
            lengths: Bytes(1500).into(),
            in_turn: false,
            last: Last::Whole,
            mtu: Bytes(1500),
            fragment: None,
            link_bytes: Bytes(38),
            late: Late::default(),
            late_limit: None,
            idle: Idle::default(),
        }
    }
}

impl Central {
    /// Bytes of the longest frame.
    fn full_packet(&self) -> u64 {
        self.length_most().min(self.fragment_bytes()) + self.link_bytes.0
    }

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

    /// The bytes on the wire that a late queue makes up for.
    fn late_credit(&self) -> f64 {
        match (self.late, self.late_limit) {
            (Late::Lost, _) => 0.0,
            (Late::MadeUp, None) => f64::INFINITY,
            (Late::MadeUp, Some(packets)) => f64::from(packets) * self.full_packet() as f64,
        }
    }
}

impl Settings for Central {
    fn profile(&self) -> Profile {
        // Two fragments of different lengths are no uniform cut.
        let uniform = matches!(self.lengths, Sizes::Fixed(_)) && self.length_most() <= self.fragment_bytes();
        // A packet that is cut has a least length.
        let is_whole = self.last == Last::Whole;
        let link_bytes = self.link_bytes.0;
        let framing = || Framing { payload: self.length_most(), header: link_bytes, pad_last: true };
        Profile {
            framing: (uniform && is_whole).then(framing),
            link_bytes,
            endless: false,
            ..Profile::unanswered(self.length_most().min(self.fragment_bytes()), link_bytes)
        }
    }

    fn needs(&self) -> Needs {
        Needs { controller: true, ..Needs::default() }
    }

    fn packets(&self, size: u64, stream: Stream) -> Option<Box<dyn Iterator<Item = u64> + '_>> {
        let mut packets = Packets::new(size, stream);
        let next = move || Some(u64::from(packets.take(self)?.bytes) + self.link_bytes.0);
        Some(Box::new(std::iter::from_fn(next)))
    }

    fn problems_on(&self, fabric: &Fabric) -> Vec<Problem> {
        fabric.several_ports().into_iter().collect()
    }

    fn problems(&self) -> Vec<Problem> {
        let mut problems = self.lengths.problems_of_lengths();
        if self.in_turn && !matches!(self.lengths, Sizes::List(_)) {
            let message =
                format!("takes the lengths of a list in turn, and lengths is \"{}\"", self.lengths.name());
            problems.push(Problem::new("in_turn", message));
        }
        if self.late_limit.is_some() && self.late == Late::Lost {
            let message = "bounds what is made up for, and with late = \"lost\" nothing is; leave it out, or use \"made-up\"";
            problems.push(Problem::new("late_limit", message));
        }
        problems
    }
}

/// All flows of a run under central control, and the queues that they wait in.
pub struct Model {
    configs: Configs<Central>,
    senders: Ends<Sender>,
    /// Of flows whose packets are cut into fragments.
    arrivals: Ends<Arrivals>,
    queues: Queues,
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
        let packets = Packets::new(0, Stream::default());
        Sender { packets, next: ConnId::NONE, number: 0 }
    }
}

/// The timer of a host's buckets that hold packets back.
const LEAK: u8 = 0;
/// That of its buckets whose queues have nothing to send.
const DRAIN: u8 = 1;

impl Model {
    pub(super) fn new(configs: Configs<Central>) -> Model {
        let queues = Queues::new(configs.ports().hosts);
        Model { senders: Ends::default(), arrivals: Ends::default(), queues, configs }
    }

    /// A flow of this host requests the turn at the port of all of them, if a granted packet or a queue with
    /// a rate can send.
    fn request_turn(&mut self, cx: &mut impl Host) {
        let at = self.queues.of_mut(cx.host());
        if !at.turn_requested
            && let Some(queue) = at.some_queue()
        {
            at.turn_requested = true;
            cx.ready(self.queues[queue].head);
        }
    }

    /// A queue of this host has a bucket that is empty at that time, when its port is requested. While the port is busy, the
    /// end of its transmission is soon enough.
    fn request_turn_at(&mut self, due: Time, cx: &mut impl Host) {
        if due <= cx.now() {
            return self.request_turn(cx);
        }
        let at = self.queues.of_mut(cx.host());
        if !at.turn_requested && due < at.leak_timer.due() {
            cx.set_timer(&mut at.leak_timer, due, Owner::Interface(at.port.reverse()), LEAK);
        }
    }

    /// Queues of this host have new rates.
    fn set_rates(&mut self, orders: &[Order], cx: &mut impl Host) {
        let rates = orders.iter().filter_map(|order| match order.act {
            Act::Rate { share, label } => Some((order.queue, share, label)),
            _ => None,
        });
        let host = cx.host();
        let rate = cx.rate(self.queues.of(host).port);
        let due = self.queues.set_shares(host, rates, cx.now(), rate);
        self.request_turn_at(due, cx);
        if self.queues.of(host).drains() {
            self.drain(cx);
        }
    }

    /// For the controller, queues of this host that have drained are empty; a timer is set for the next one.
    fn drain(&mut self, cx: &mut impl Host) {
        let (host, now) = (cx.host(), cx.now());
        let rate = cx.rate(self.queues.of(host).port);
        while let Some(queue) = self.queues.take_drained(host, now, rate) {
            cx.report(Report::Emptied { queue });
        }
        let at = self.queues.of_mut(host);
        if let Some(due) = at.first_drained(rate).filter(|due| *due != Time::NEVER) {
            let port = at.port;
            cx.set_timer(&mut at.drain_timer, due, Owner::Interface(port.reverse()), DRAIN);
        }
    }

    /// A queue of this host gets a grant for a packet of that flow.
    fn granted(&mut self, queue: QueueId, grant: Grant, cx: &mut impl Host) {
        if !self.move_to_head(queue, grant.flow, cx) {
            return cx.report(Report::Unused { queue, at: grant.slot });
        }
        self.queues.of_mut(cx.host()).grants.push(HeldGrant { queue, grant, used: false });
        self.request_turn(cx);
    }

    /// Moves a flow to the head of its queue, if it is in it.
    fn move_to_head(&mut self, number: QueueId, flow: FlowId, cx: &mut impl Host) -> bool {
        let queue = &mut self.queues[number];
        let mut before = queue.head;
        if before == ConnId::NONE {
            return false;
        }
        if cx.conn(before).flow == flow {
            return true;
        }
        let id = loop {
            let next = self.senders.at(before, cx).next;
            if next == ConnId::NONE {
                return false;
            }
            if cx.conn(next).flow == flow {
                break next;
            }
            before = next;
        };
        let after = self.senders.at(id, cx).next;
        self.senders.at(before, cx).next = after;
        if after == ConnId::NONE {
            queue.tail = before;
        }
        self.senders.at(id, cx).next = queue.head;
        queue.head = id;
        true
    }

    /// Makes a flow's next packet; also returns its payload.
    fn make(&mut self, id: ConnId, cx: &mut impl Host) -> (Packet, u32) {
        let config = self.configs.of(cx.conn(id));
        let sender = self.senders.at(id, cx);
        let piece = sender.packets.take(config).expect("a flow without packets leaves the queue");
        let size = piece.bytes + config.link_bytes.0 as u32;
        let mut packet = cx.data_packet(id, size, piece.payload as u16, sender.number);
        packet.header.kind = if sender.packets.is_empty() { LAST } else { 0 };
        sender.number += 1;
        cx.sender(id).packets_sent += 1;
        // It exists since its burst came.
        (Packet { created_at: cx.conn(id).start, ..packet }, piece.payload)
    }

    /// A grant for a queue that another slot has emptied is for nothing.
    fn hand_back(&mut self, cx: &mut impl Host) {
        let mut grants = std::mem::take(&mut self.queues.of_mut(cx.host()).grants);
        grants.retain(|held| {
            let of_use = !self.queues[held.queue].is_empty();
            if !of_use && !held.used {
                cx.report(Report::Unused { queue: held.queue, at: held.grant.slot });
            }
            of_use
        });
        self.queues.of_mut(cx.host()).grants = grants;
    }

    /// A packet goes on the wire: the next queue is served when the link is free. With grants and without a
    /// rate no queue is next before the next grant arrives.
    fn request_next_turn(&mut self, cx: &mut impl Host) {
        if self.queues.of(cx.host()).may_send() {
            self.request_turn(cx);
        }
    }

    /// Takes back the grant that has been used, unless the slot has room for the queue's next packet.
    fn spend(&mut self, cx: &mut impl Host) {
        let HeldGrant { queue, grant, .. } = self.queues.of(cx.host()).grants[0];
        let head = self.queues[queue].head;
        let fits = grant.fill && head != ConnId::NONE && {
            let config = self.configs.of(cx.conn(head));
            let next = self.senders.at(head, cx).packets.next_bytes(config).unwrap_or(u64::MAX);
            next.saturating_add(config.link_bytes.0) <= u64::from(grant.room)
        };
        if !fits {
            self.queues.of_mut(cx.host()).grants.remove(0);
        }
    }

    /// The head of a queue has sent its last packet.
    fn finish_head(&mut self, number: QueueId, cx: &mut impl Host) {
        let queue = &mut self.queues[number];
        let flow = queue.head;
        queue.head = self.senders.at(flow, cx).next;
        if queue.is_empty() {
            queue.tail = ConnId::NONE;
            let rate = cx.rate(self.queues.of(cx.host()).port);
            let idle = self.configs.of(cx.conn(flow)).idle;
            if self.queues.unlist(number, idle, cx.now(), rate) {
                cx.report(Report::Emptied { queue: number });
            } else {
                self.drain(cx);
            }
        }
        cx.finish(flow);
    }
}

impl Endpoint for Model {
    fn start(&mut self, id: ConnId, start: Start, cx: &mut impl Host) {
        let Conn { src, dst, .. } = *cx.conn(id);
        let number = self.queues.number(src, dst);
        let config = self.configs.of(cx.conn(id));
        let packets = Packets::new(start.size, start.packet_stream(cx));
        let (count, link_bytes) = (packets.count(config), config.link_bytes.0 as u32);
        *self.senders.open(id, cx) = Sender { packets, next: ConnId::NONE, number: 0 };
        let at = self.queues.of_mut(src);
        at.bytes += start.size;
        at.port = cx.port(id);
        let rate = cx.rate(at.port);
        let queue = &mut self.queues[number];
        let last = std::mem::replace(&mut queue.tail, id);
        if last == ConnId::NONE {
            queue.head = id;
            if let Some(due) = self.queues.list(number, cx.now(), rate) {
                self.request_turn_at(due, cx);
            }
        } else {
            self.senders.at(last, cx).next = id;
        }
        cx.report(Report::Burst {
            queue: number,
            from: src,
            to: dst,
            flow: cx.conn(id).flow,
            bytes: start.size,
            packets: count,
            link_bytes,
            priority: cx.conn(id).priority,
            at: cx.now(),
        });
    }

    fn ordered(&mut self, orders: &[Order], cx: &mut impl Host) {
        for order in orders {
            match order.act {
                Act::Send(grant) => self.granted(order.queue, grant, cx),
                // A controller of rates gives nothing else.
                Act::Rate { .. } => return self.set_rates(orders, cx),
                Act::Path(_) => unreachable!("the engine moves connections"),
            }
        }
    }

    /// The turn is that of the whole host, whichever flow requested it.
    fn next_packet(&mut self, _id: ConnId, cx: &mut impl Host) -> (Option<Packet>, bool) {
        let at = self.queues.of_mut(cx.host());
        at.turn_requested = false;
        let rate = cx.rate(at.port);
        let granted_queue = at.grants.first().map(|held| held.queue);
        let (number, place) = match granted_queue {
            Some(queue) => (queue, None),
            None => match at.first_due(rate) {
                Some((due, place)) if due <= cx.now() => (at.active(place).queue, Some(place)),
                first => {
                    if let Some((due, _)) = first {
                        self.request_turn_at(due, cx);
                    }
                    return (None, false);
                }
            },
        };
        let flow = self.queues[number].head;
        let credit = self.configs.of(cx.conn(flow)).late_credit();
        let (mut packet, payload) = self.make(flow, cx);
        let at = self.queues.of_mut(cx.host());
        at.bytes -= u64::from(payload);
        let mut granted = None;
        if let Some(place) = place {
            packet.label = at.active(place).label.unwrap_or(packet.label);
            at.fill(place, packet.size, cx.now(), rate, credit);
        } else {
            let held = &mut at.grants[0];
            granted = (!std::mem::replace(&mut held.used, true)).then_some(held.grant.slot);
            held.grant.room = held.grant.room.saturating_sub(packet.size);
            packet.label = held.grant.label.unwrap_or(packet.label);
        }
        let of = cx.conn(flow).flow;
        cx.report(Report::Sent { queue: number, flow: of, bytes: payload, granted });
        if self.senders.at(flow, cx).packets.is_empty() {
            self.finish_head(number, cx);
        }
        if granted_queue.is_some() {
            self.spend(cx);
        }
        if !self.queues.of(cx.host()).grants.is_empty() {
            self.hand_back(cx);
        }
        self.request_next_turn(cx);
        (Some(packet), false)
    }

    fn accept(&mut self, id: ConnId, cx: &mut impl Host) {
        if self.configs.of(cx.conn(id)).fragment.is_some() {
            *self.arrivals.open(id, cx) = Arrivals::default();
        }
    }

    fn at_receiver(&mut self, packet: &Packet, cx: &mut impl Host) {
        let mut counted = *packet;
        if self.configs.of(cx.conn(packet.conn)).fragment.is_some() {
            counted.header.len = self.arrivals.at(packet.conn, cx).take(&packet.header);
        }
        cx.deliver_once(&counted);
    }

    fn at_sender(&mut self, _packet: &Packet, _cx: &mut impl Host) {
        unreachable!("nothing answers under central control");
    }

    fn timer(&mut self, owner: Owner, kind: u8, cx: &mut impl Host) {
        let at = self.queues.of_mut(cx.host());
        if kind == DRAIN {
            if cx.timer_is_due(&mut at.drain_timer, owner, kind) {
                self.drain(cx);
            }
        } else if cx.timer_is_due(&mut at.leak_timer, owner, kind)
            && let Some((due, _)) = at.first_due(cx.rate(at.port))
        {
            self.request_turn_at(due, cx);
        }
    }

    fn waiting(&self, host: NodeId) -> Option<u64> {
        Some(self.queues.of(host).bytes)
    }

    fn audit(&self, conns: &[(ConnId, Conn)], found: &mut dyn FnMut(String)) {
        let mut waiting = vec![0; self.queues.hosts()];
        for (id, conn) in conns.iter().filter(|(_, conn)| conn.sends_here() && !conn.sender_done()) {
            waiting[conn.src.index()] += self.senders.get(*id).packets.bytes();
        }
        self.queues.audit(&waiting, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::contract::fake::{FakeHost, SENDER};

    /// Two flows wait in one queue. A grant for one that does not is handed back, and changes nothing; one for the second flow
    /// has it go first, and the first one, which is then behind it, takes a grant of its own.
    #[test]
    fn a_grant_is_for_a_flow_of_the_queue() {
        let mut host = FakeHost::pair(1_500);
        host.connection(1_500);
        let mut model = Model::new(host.configs(vec![Central::default()]));
        for id in [ConnId(0), ConnId(1)] {
            host.start(&mut model, id);
        }
        host.reports.clear();
        let mut grant = |host: &mut FakeHost, flow| {
            let grant = Grant { flow: FlowId(flow), slot: Time(7), label: None, room: 1_538, fill: false };
            model.ordered(&[Order { host: SENDER, queue: QueueId(0), act: Act::Send(grant) }], host);
            let called = host.ready.first().copied();
            let packets = called.map(|id| host.sends(&mut model, id, 9)).unwrap_or_default();
            packets.iter().map(|packet| packet.conn).collect::<Vec<_>>()
        };
        assert_eq!(grant(&mut host, 2), []);
        assert_eq!(host.reports, [Report::Unused { queue: QueueId(0), at: Time(7) }]);
        assert_eq!(grant(&mut host, 1), [ConnId(1)]);
        assert_eq!(grant(&mut host, 0), [ConnId(0)]);
        assert_eq!(host.finished, [ConnId(1), ConnId(0)]);
    }
}
