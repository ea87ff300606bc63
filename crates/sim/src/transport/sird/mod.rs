//! SIRD: receivers credit the packets of long messages, and senders report that they hold more credit than they can use.
//!
//! Source: Prasopoulos, Bugnion and Kogias, "SIRD: A Sender-Informed, Receiver-Driven Datacenter Transport Protocol", NSDI
//! 2025; rules and numbers after the authors' simulator, nwsim, which has no losses: lost packets are requested as under Homa
//! (ours). `downlink` has the credit of a receiving interface, `limits` the two loops that bound a sender's, `uplink` the
//! choice of a sending host; the two ends of a message are in `transport/granted`.

pub mod downlink;
pub mod limits;
pub mod settings;
pub mod uplink;

use self::downlink::{Downlink, Entry};
pub use self::settings::Sird;
use self::uplink::{Outgoing, Uplink};
use super::audit_ends;
use super::granted::receiver::{RESEND, Receiver};
use super::granted::sender::{PROBE, Sender};
use super::granted::{Terms, kind};
use crate::engine::contract::conn::Conn;
use crate::engine::contract::endpoint::{Configs, Endpoint, Ends};
use crate::engine::contract::event::Owner;
use crate::engine::contract::host::{Host, Start};
use crate::engine::contract::packet::{Header, Packet, flag};
use crate::ids::{ConnId, LinkId, NodeId};
use crate::units::Time;

/// Bit of `Header::ack` of data: its sender holds more credit than the threshold.
const CONGESTED: u64 = 1 << 63;

/// A configuration in the form in which events read it.
#[derive(Clone, Debug)]
pub struct Plan {
    terms: Terms,
    /// Bytes on the wire of a full packet, and of messages that go without credit, at most.
    full: u32,
    unscheduled: u64,
    /// Credit at a sender above which it marks its data.
    threshold: u64,
    /// Share of an uplink for its shortest message.
    shortest_share: f64,
    /// Classes of data without credit and with it.
    classes: [u8; 2],
    rules: downlink::Rules,
}

impl Plan {
    /// The bytes of a message that go without credit: all or none.
    fn unscheduled_of(&self, size: u64) -> u64 {
        if self.terms.cut.scheduled_wire(size) <= self.unscheduled { size } else { 0 }
    }

    /// The state of a message that its host looks at.
    fn outgoing(&self, sender: &Sender) -> Outgoing {
        let cut = &self.terms.cut;
        Outgoing {
            held: sender.held(cut),
            is_open: sender.is_open(),
            ready: sender.may_send().then(|| sender.left(cut)),
        }
    }
}

/// All SIRD messages of a run, whatever their configurations, since those of an interface share its credit.
pub struct Model {
    plans: Configs<Plan>,
    senders: Ends<Sender>,
    receivers: Ends<Receiver>,
    /// By host.
    uplinks: Vec<Uplink>,
    /// By link; those that end at switches give no credit.
    downlinks: Vec<Downlink>,
}

/// The timer of an interface.
const CREDIT: u8 = 2;

impl Model {
    pub(super) fn new(configs: Configs<Sird>) -> Model {
        let plans = configs.map(|config| config.plan());
        let uplinks = vec![Uplink::default(); plans.ports().hosts];
        let downlinks = vec![Downlink::default(); plans.ports().links];
        Model { plans, senders: Ends::default(), receivers: Ends::default(), uplinks, downlinks }
    }

    /// A message has changed at its sender outside of its turn: it may send now, or another one goes next.
    fn settle(&mut self, id: ConnId, before: Outgoing, cx: &mut impl Host) {
        let now = self.plans.of(cx.conn(id)).outgoing(self.senders.at(id, cx));
        let (receiver, port) = (cx.conn(id).dst, cx.port(id));
        let uplink = &mut self.uplinks[cx.host().index()];
        uplink.change((id, receiver), before, now);
        choose(uplink, port, cx);
        if now.ready.is_some() {
            cx.ready_by(id, rank(uplink.is_first(id)));
        }
    }

    /// The first packet of a message has arrived, or its announcement: it is to get credit, or takes room without.
    fn join(&mut self, id: ConnId, cx: &mut impl Host) {
        let plan = self.plans.of(cx.conn(id));
        let source = cx.conn(id).src;
        let Receiver { size, unscheduled, link, .. } = *self.receivers.at(id, cx);
        let (cut, downlink) = (&plan.terms.cut, &mut self.downlinks[link as usize]);
        if unscheduled > 0 {
            downlink.announce(source, cut.scheduled_wire(size), &plan.rules);
        } else {
            let need = cut.piece(size, 0, 0).wire;
            downlink.join(Entry::new(id, source, size, need), &plan.rules);
        }
    }

    /// A data packet gives its bytes back.
    #[inline]
    fn on_data(&mut self, packet: &Packet, marked: [bool; 2], cx: &mut impl Host) {
        let id = packet.conn;
        let plan = self.plans.of(cx.conn(id));
        let received = self.receivers.at(id, cx).on_data(packet, &plan.terms, cx);
        if received.begins {
            self.join(id, cx);
        }
        let Receiver { unscheduled, link, .. } = *self.receivers.at(id, cx);
        if received.is_new {
            let (source, bytes) = (cx.conn(id).src, u64::from(packet.size));
            let rules = &self.plans.of(cx.conn(id)).rules;
            self.downlinks[link as usize].arrived(source, bytes, unscheduled == 0, marked, rules);
        }
        self.credit(LinkId(link), cx);
    }

    /// Sends all credit of an interface that is due, and sets its timer to the next.
    fn credit(&mut self, link: LinkId, cx: &mut impl Host) {
        let host_plan = self.plans.of_host();
        let slot = cx.transmission(link, host_plan.full);
        let (downlink, now) = (&mut self.downlinks[link.index()], cx.now());
        while let Some(place) = downlink.first(&host_plan.rules) {
            let Entry { conn: id, next, need, .. } = *downlink.at(place);
            let wire = cx.transmission(link, need as u32);
            let due = downlink.due(wire, slot);
            if due > now {
                return cx.set_timer(&mut downlink.timer, due, Owner::Interface(link), CREDIT);
            }
            let plan = self.plans.of(cx.conn(id));
            let receiver = self.receivers.at(id, cx);
            receiver.granted = next + 1;
            let (cut, size) = (&plan.terms.cut, receiver.size);
            let payload = cut.piece(size, 0, next).len;
            let behind = if receiver.is_granted() { 0 } else { cut.piece(size, 0, next + 1).wire };
            downlink.grant(place, payload, behind, (now, wire), &plan.rules);
            let class = u16::from(plan.classes[1]);
            let header = Header { kind: kind::GRANT, number: next + 1, len: class, ..Header::default() };
            cx.send_to_sender(id, plan.terms.control, header);
        }
        downlink.timer.clear();
    }
}

/// The rank of a message at its port: one goes next, the others wait.
fn rank(is_first: bool) -> u64 {
    u64::from(!is_first)
}

/// Chooses the message that goes next at a port, and changes the ranks of those that may send there.
fn choose(uplink: &mut Uplink, port: LinkId, cx: &mut impl Host) {
    let Some(chosen) = uplink.next(|conn| cx.port(conn) == port) else { return };
    while let Some((conn, is_first)) = uplink.change_first(chosen, |conn| cx.port(conn) == port) {
        cx.change_rank(conn, rank(is_first));
    }
}

impl Endpoint for Model {
    fn start(&mut self, id: ConnId, start: Start, cx: &mut impl Host) {
        let plan = self.plans.of(cx.conn(id));
        let sender = self.senders.open(id, cx);
        let unscheduled = plan.unscheduled_of(start.size);
        sender.reset(&plan.terms, start.size, unscheduled);
        if unscheduled == 0 {
            sender.probe(id, &plan.terms, cx);
        }
        self.settle(id, Outgoing::default(), cx);
    }

    fn accept(&mut self, id: ConnId, cx: &mut impl Host) {
        self.receivers.open(id, cx).reset();
    }

    #[inline]
    fn at_receiver(&mut self, packet: &Packet, cx: &mut impl Host) {
        let id = packet.conn;
        let plan = self.plans.of(cx.conn(id));
        let receiver = self.receivers.at(id, cx);
        match packet.header.kind {
            kind::PROBE => {
                if receiver.on_probe(packet, &plan.terms, cx) {
                    self.join(id, cx);
                    self.credit(packet.ingress, cx);
                }
            }
            kind::BUSY => receiver.on_busy(id, &plan.terms, cx),
            _ => {
                let Header { ack, .. } = packet.header;
                let marked = [packet.has(flag::CE), ack & CONGESTED != 0];
                let header = Header { ack: ack & !CONGESTED, ..packet.header };
                self.on_data(&Packet { header, ..*packet }, marked, cx);
            }
        }
    }

    #[inline]
    fn at_sender(&mut self, packet: &Packet, cx: &mut impl Host) {
        let id = packet.conn;
        if cx.sender(id).acked_at != Time::NEVER {
            return;
        }
        let plan = self.plans.of(cx.conn(id));
        let sender = self.senders.at(id, cx);
        let before = plan.outgoing(sender);
        match packet.header.kind {
            kind::GRANT => sender.on_grant(&packet.header),
            kind::RESEND => sender.on_resend(id, &packet.header, &plan.terms, cx),
            _ => sender.on_ack(id, cx),
        }
        self.settle(id, before, cx);
    }

    #[inline]
    fn next_packet(&mut self, id: ConnId, cx: &mut impl Host) -> (Option<Packet>, bool) {
        let plan = self.plans.of(cx.conn(id));
        let sender = self.senders.at(id, cx);
        if !sender.may_send() {
            return (None, false);
        }
        let before = plan.outgoing(sender);
        let mut packet = sender.next_packet(id, &plan.terms, |_, _| plan.classes[0], cx);
        let now = plan.outgoing(sender);
        packet.set_ecn_capable(true);
        let (receiver, port) = (packet.dst, cx.port(id));
        let uplink = &mut self.uplinks[cx.host().index()];
        let others = uplink.open() > 1;
        uplink.sent(receiver, packet.size, plan.shortest_share);
        uplink.change((id, receiver), before, now);
        if others && uplink.held() > plan.threshold {
            packet.header.ack |= CONGESTED;
        }
        choose(uplink, port, cx);
        (Some(packet), now.ready.is_some())
    }

    fn timer(&mut self, owner: Owner, kind: u8, cx: &mut impl Host) {
        match (owner, kind) {
            (Owner::Sender(id), PROBE) => {
                self.senders.at(id, cx).on_timer(id, &self.plans.of(cx.conn(id)).terms, cx);
            }
            (Owner::Receiver(id), RESEND) => {
                self.receivers.at(id, cx).on_timer(id, &self.plans.of(cx.conn(id)).terms, cx);
            }
            (Owner::Interface(link), CREDIT) => {
                if cx.timer_is_due(&mut self.downlinks[link.index()].timer, owner, kind) {
                    self.credit(link, cx);
                }
            }
            _ => unreachable!("SIRD has no other timers"),
        }
    }

    /// The bytes on the wire for which a host holds credit that it has not used.
    fn waiting(&self, host: NodeId) -> Option<u64> {
        Some(self.uplinks[host.index()].held())
    }

    /// Credit is within its bounds, and no credit that may leave is without a timer.
    fn audit(&self, conns: &[(ConnId, Conn)], found: &mut dyn FnMut(String)) {
        audit_ends(conns, (&self.senders, Sender::audit), (&self.receivers, Receiver::received), found);
        let rules = &self.plans.of_host().rules;
        for (link, downlink) in self.downlinks.iter().enumerate() {
            if let Some(wrong) = downlink.wrong(rules) {
                found(format!("link {link}: {wrong}"));
            }
            if downlink.first(rules).is_some() && !downlink.timer.is_set() {
                found(format!("link {link}: credit may leave and no timer is set"));
            }
        }
        for (id, conn) in conns.iter().filter(|(_, conn)| conn.sends_here()) {
            let ready = self.senders.get(*id).may_send();
            if self.uplinks[conn.src.index()].has(*id) != ready {
                found(format!("connection {id}: its host has it as ready or not, against its sender"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derived::Derived;
    use crate::engine::contract::fake::FakeHost;
    use crate::units::Bytes;

    /// Six packets of credit are above the threshold of three and a sender of one message does not mark them: no other
    /// receiver could have its credit used elsewhere. With a second message it does (paper, section 4.3).
    #[test]
    fn a_lone_message_is_not_marked() {
        const FLOW: ConnId = ConnId(0);
        let marked = [false, true].map(|other| {
            let mut host = FakeHost::pair(100_000);
            let second = host.connection(100_000);
            let sender_threshold = Derived::Given(Bytes(3 * 1538));
            let mut model = Model::new(host.configs(vec![Sird { sender_threshold, ..Sird::default() }]));
            host.start(&mut model, FLOW);
            let probe = std::mem::take(&mut host.sent);
            if other {
                host.start(&mut model, second);
            }
            let mut grants = host.receives(&mut model, &probe[0]);
            while grants.len() < 6 {
                grants.extend(host.expires(&mut model));
            }
            grants.iter().for_each(|grant| host.answers(&mut model, grant));
            let sent = host.sends(&mut model, FLOW, 1);
            sent[0].header.ack & CONGESTED != 0
        });
        assert_eq!(marked, [false, true]);
    }
}
