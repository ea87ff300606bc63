//! A flow carried by several TCP connections: shared parts of Multipath TCP and parallel TCP.
//!
//! A subflow is TCP's sender and receiver as they are, with its own sequence numbers, window and timers.
//! `outgoing` maps data to subflows, `partition` chooses the data that each of them sends next, `lia`, `trash`, `ew` and `joint` how
//! windows are coupled, `fuso` which data is sent twice, `scatter` how a flow begins; the receiver records what has arrived in a
//! ring or by `ranges`.
//!
//! A connection that carries nothing stands for the flow, or for the flows that share a kept one, each of
//! which has then a part at every subflow: a slot to which its packets there belong. A subflow takes data
//! when its host's link is ready and its window has room: acknowledgements, which make that room, arrive at
//! the pace of each path. Data counts as acknowledged when a segment that carried it is: RFC 8684, 3.3.2, has
//! data acknowledged apart, so that a receiver may drop data that a subflow has acknowledged; no receiver
//! here does.

mod ew;
mod fuso;
mod joint;
pub mod lia;
mod mapping;
pub mod outgoing;
pub mod partition;
pub mod ranges;
mod run;
mod scatter;
pub mod settings;
mod trash;

use self::outgoing::Outgoing;
pub use self::scatter::Scatter;
use self::scatter::Scattering;
pub use self::settings::{
    Coupling, Covers, Ew, Join, OverTcp, SUBFLOWS_MAX, Session, SubflowRecovery, Subflows,
};
use super::audit_ranges;
use super::delivery::Delivery;
use super::reassembly::Record;
use super::tcp::receiver::{DELAYED_ACK, Receiver};
use super::tcp::sender::{PACE, PROBE, RETRANSMIT, Sender};
use crate::engine::contract::conn::Conn;
use crate::engine::contract::endpoint::{Configs, Endpoint, Ends};
use crate::engine::contract::event::Owner;
use crate::engine::contract::host::{Host, Start};
use crate::engine::contract::packet::Packet;
use crate::ids::{ConnId, FlowId};
use crate::random::Purpose;

/// Of a data segment's `Header::ack`, which TCP leaves free: the number of its data in the flow, and above it whether
/// that is the last.
const LAST_DATA: u64 = 1 << 32;

/// All connections of a run, and their subflows; arrivals are recorded in `R`: by the ring of a
/// [`Reassembly`] where data goes out in order, by [`Ranges`](ranges::Ranges) where it is sent from several
/// places.
///
/// [`Reassembly`]: super::reassembly::Reassembly
pub struct Model<R> {
    configs: Configs<Session>,
    /// Of whole connections: that of a flow by itself is the one that stands for it.
    outgoing: Ends<Outgoing<R>>,
    incoming: Ends<Delivery<R>>,
    /// The subflows that the sender has opened, and those that the receiver has accepted, by number.
    subflows: Ends<Vec<ConnId>>,
    accepted: Ends<Vec<(u8, ConnId)>>,
    senders: Ends<Sender>,
    receivers: Ends<Receiver>,
    /// Parts of which a segment has just been acknowledged.
    left: Vec<ConnId>,
}

impl<R: Record> Model<R> {
    pub(super) fn new(configs: Configs<impl OverTcp>) -> Model<R> {
        Model {
            configs: configs.map(|config| config.session()),
            outgoing: Ends::default(),
            incoming: Ends::default(),
            subflows: Ends::default(),
            accepted: Ends::default(),
            senders: Ends::default(),
            receivers: Ends::default(),
            left: Vec::new(),
        }
    }

    /// A flow goes behind those that its connection carries; `parts` are its slots at the subflows.
    fn carry(&mut self, flow: ConnId, parts: &[ConnId], start: Start, cx: &mut impl Host) {
        let conn = cx.conn(flow);
        let (id, config) = (conn.via, self.configs.of(conn));
        let outgoing = self.outgoing.at(id, cx);
        let opens = outgoing.is_fresh();
        outgoing.push(flow, parts.iter().copied(), start.size, start.due);
        if !opens {
            self.wake(id, cx);
            return self.protect(id, cx);
        }
        let first = self.subflows.at(id, cx)[0];
        let (at_once, scatters) = (config.join == Join::AtOnce, config.scatter.is_some());
        self.open(first, cx);
        if !scatters && (at_once || self.senders.at(first, cx).is_established()) {
            self.join(id, cx);
        }
    }

    /// On a kept connection: flows may have ended, and parts of them without data in flight.
    #[cold]
    fn settle(&mut self, id: ConnId, own: u8, cx: &mut impl Host) {
        let outgoing = self.outgoing.at(id, cx);
        let mut has_room = false;
        while let Some(flow) = outgoing.first_over() {
            has_room |= outgoing.take_first(|part| cx.finish_subflow(part));
            cx.acknowledged(flow);
            cx.finish(flow);
        }
        for &part in &self.left {
            // It is there as long as it is not done, and so is its flow.
            let flow = cx.conn(part).parent;
            if !cx.sender(part).done && cx.sender(flow).done && !outgoing.carries(own, part) {
                cx.finish_subflow(part);
            }
        }
        if has_room {
            self.wake(id, cx);
        }
    }

    /// The second subflow and all further ones start.
    #[cold]
    fn join(&mut self, flow: ConnId, cx: &mut impl Host) {
        for own in 1..self.subflows.at(flow, cx).len() {
            let subflow = self.subflows.at(flow, cx)[own];
            self.open(subflow, cx);
        }
    }

    fn open(&mut self, id: ConnId, cx: &mut impl Host) {
        let conn = cx.conn(id);
        let Conn { parent: flow, subflow: own, label, .. } = *conn;
        let config = self.configs.of(conn).tcp_of(own);
        let sender = self.senders.at(id, cx);
        sender.steer(id, u64::from(label), config, cx);
        sender.open(id, config, &self.outgoing.at(flow, cx).share(own), cx);
        if sender.is_established() {
            self.outgoing.at(flow, cx).is_established(own);
            self.fill(flow, own, cx);
        }
    }

    /// On a connection that begins as packet scatter, its first subflow sends that packet.
    fn scatter(&mut self, flow: ConnId, packet: &mut Packet, cx: &mut impl Host) {
        let outgoing = self.outgoing.at(flow, cx);
        let sent = outgoing.sent();
        let Some(scattering) = &mut outgoing.scattering else { return };
        packet.label = scattering.sends(packet.header.number, sent);
    }

    /// The other subflows open, if packet scatter is to end.
    fn end_scatter(&mut self, flow: ConnId, cx: &mut impl Host) {
        if self.outgoing.at(flow, cx).scattering.as_mut().is_some_and(|scattering| scattering.take_due()) {
            self.join(flow, cx);
        }
    }

    /// A subflow's send buffer takes what it has room for. Whether others may have something to send by that.
    fn fill(&mut self, flow: ConnId, own: u8, cx: &mut impl Host) -> bool {
        self.outgoing.at(flow, cx).fill(own, |part| cx.sender(part).pieces += 1)
    }

    /// All subflows that have data to send request their turn.
    fn wake(&mut self, flow: ConnId, cx: &mut impl Host) {
        let mut again = true;
        while std::mem::take(&mut again) {
            for own in 0..self.subflows.at(flow, cx).len() {
                let id = self.subflows.at(flow, cx)[own];
                again |= self.senders.at(id, cx).is_established() && self.fill(flow, own as u8, cx);
            }
        }
        let config = self.configs.of(cx.conn(flow));
        let outgoing = self.outgoing.at(flow, cx);
        for (own, &id) in self.subflows.at(flow, cx).iter().enumerate() {
            let config = config.tcp_of(own as u8);
            if self.senders.at(id, cx).may_send(config, &outgoing.share(own as u8)) {
                cx.ready(id);
            }
        }
    }

    /// All data is acknowledged at the sender.
    #[cold]
    fn finish(&mut self, flow: ConnId, cx: &mut impl Host) {
        for &id in &*self.subflows.at(flow, cx) {
            self.senders.at(id, cx).stop();
            cx.finish_subflow(id);
        }
        cx.acknowledged(flow);
        cx.finish(flow);
    }

    fn on_retransmission_timer(&mut self, id: ConnId, cx: &mut impl Host) {
        let conn = cx.conn(id);
        let Conn { parent: flow, subflow: own, .. } = *conn;
        let config = self.configs.of(conn);
        let (outgoing, sender) = (self.outgoing.at(flow, cx), self.senders.at(id, cx));
        let gave_up = sender.on_timer(id, config.tcp_of(own), &outgoing.share(own), cx);
        outgoing.note(own, sender);
        let alone = self.subflows.at(flow, cx).len() == 1;
        if gave_up && config.reinject && !alone && self.outgoing.at(flow, cx).give_up(own) {
            self.wake(flow, cx);
        }
        // The event of a timer that has been cleared may come after the end of the flow.
        if !cx.sender(flow).done {
            self.end_scatter(flow, cx);
            self.protect(flow, cx);
        }
    }
}

impl<R: Record> Endpoint for Model<R> {
    fn start(&mut self, flow: ConnId, start: Start, cx: &mut impl Host) {
        self.connect(flow, start.key, cx);
        let parts = std::mem::take(self.subflows.at(flow, cx));
        self.subflows.at(flow, cx).extend(&parts);
        self.carry(flow, &parts, start, cx);
    }

    fn connect(&mut self, id: ConnId, key: u64, cx: &mut impl Host) {
        let config = self.configs.of(cx.conn(id));
        let subflows = match config.subflows {
            Subflows::Number(number) => number,
            of_paths => of_paths.among(cx.shortest_paths(id)),
        };
        let outgoing = self.outgoing.open(id, cx);
        outgoing.reset(config, subflows as usize);
        let labels = || cx.flow_stream(Purpose::Repath, key);
        outgoing.scattering =
            config.scatter.as_ref().map(|(scatter, _)| Box::new(Scattering::new(scatter, labels())));
        self.subflows.open(id, cx).clear();
        // The first one has the connection's own 5-tuple, those of the others are drawn on from there.
        let mut labels = cx.flow_stream(Purpose::FiveTuple, key);
        for own in 0..subflows as u8 {
            let subflow = cx.open_subflow(id, own, labels.bits() as u32);
            self.subflows.at(id, cx).push(subflow);
            self.senders.open(subflow, cx).reset(config.tcp_of(own));
        }
    }

    fn message(&mut self, flow: ConnId, start: Start, cx: &mut impl Host) {
        let subflows = self.subflows.at(cx.conn(flow).via, cx);
        let parts: Vec<ConnId> = subflows.iter().map(|&via| cx.open_part(flow, via)).collect();
        self.carry(flow, &parts, start, cx);
    }

    fn accept(&mut self, id: ConnId, cx: &mut impl Host) {
        let conn = cx.conn(id);
        let Conn { parent: whole, subflow: own, .. } = *conn;
        if whole == ConnId::NONE {
            self.incoming.open(id, cx).clear();
            self.accepted.open(id, cx).clear();
            return;
        }
        let now = cx.now();
        self.receivers.open(id, cx).reset(&self.configs.of(conn).tcp, now);
        let accepted = self.accepted.at(whole, cx);
        let place = accepted.partition_point(|&(other, _)| other < own);
        accepted.insert(place, (own, id));
    }

    fn at_receiver(&mut self, packet: &Packet, cx: &mut impl Host) {
        let conn = cx.conn(packet.conn);
        let Conn { parent: flow, via: subflow, .. } = *conn;
        let config = &self.configs.of(conn).tcp;
        let whole = cx.conn(subflow).parent;
        self.receivers.at(subflow, cx).on_packet(subflow, packet, config, cx);
        let header = &packet.header;
        if header.len == 0 {
            return;
        }
        cx.note_arrival_in(flow, packet);
        let incoming = self.incoming.at(whole, cx);
        let last = header.ack & LAST_DATA != 0;
        let completes = incoming.receive(flow, header.ack as u32, header.len, last, cx).completes;
        // With the last byte all subflows acknowledge the data they have, as TCP does, and later arrivals at
        // once.
        if incoming.is_complete() && (config.ack_last_segment() || !completes) {
            let kept = cx.conn(whole).flow == FlowId::NONE;
            for &(_, id) in &*self.accepted.at(whole, cx) {
                // One that has closed may have left its slot to another flow's.
                let conn = cx.conn(id);
                if kept || conn.parent == whole && !conn.closed {
                    self.receivers.at(id, cx).flush(config, cx);
                }
            }
        }
    }

    fn at_sender(&mut self, packet: &Packet, cx: &mut impl Host) {
        let id = cx.conn(packet.conn).via;
        if cx.sender(id).done {
            return;
        }
        let conn = cx.conn(id);
        let Conn { parent: whole, subflow: own, .. } = *conn;
        let config = self.configs.of(conn);
        let (outgoing, sender) = (self.outgoing.at(whole, cx), self.senders.at(id, cx));
        let (was_blocked, was_established) = (outgoing.is_blocked(), sender.is_established());
        let kept = cx.conn(whole).flow == FlowId::NONE;
        self.left.clear();
        outgoing.acknowledged(own, packet.header.number, |part| {
            if kept && self.left.last() != Some(&part) {
                self.left.push(part);
            }
        });
        let wakes = outgoing.fill(own, |part| cx.sender(part).pieces += 1);
        sender.on_packet(id, packet, config.tcp_of(own), &mut outgoing.share(own), cx);
        let established = !was_established && sender.is_established();
        let joins = own == 0 && established && config.join == Join::Established && config.scatter.is_none();
        outgoing.note(own, sender);
        if established {
            outgoing.is_established(own);
        }
        if kept {
            self.settle(whole, own, cx);
        } else if outgoing.is_over() {
            return self.finish(whole, cx);
        }
        if joins {
            self.join(whole, cx);
        }
        if own == 0 {
            self.end_scatter(whole, cx);
        }
        if wakes || was_blocked && !self.outgoing.at(whole, cx).is_blocked() {
            self.wake(whole, cx);
        }
        self.protect(whole, cx);
    }

    fn next_packet(&mut self, id: ConnId, cx: &mut impl Host) -> (Option<Packet>, bool) {
        if cx.sender(id).done {
            // It had requested its turn before the flow ended, and another flow may be in that one's slot.
            return (None, false);
        }
        let conn = cx.conn(id);
        let Conn { parent: flow, subflow: own, .. } = *conn;
        let config = self.configs.of(conn).tcp_of(own);
        let outgoing = self.outgoing.at(flow, cx);
        let share = &mut outgoing.share(own);
        let (mut packet, mut more) = self.senders.at(id, cx).next_packet(id, config, share, cx);
        if let Some(packet) = &mut packet {
            let (data, last) = outgoing.mapped(own, packet.header.number);
            packet.header.ack = u64::from(data) | if last { LAST_DATA } else { 0 };
            if outgoing.take_begins(own) {
                cx.sender(packet.conn).pieces += 1;
            }
            if let Some(fuso) = &mut outgoing.fuso {
                fuso.note(own, packet.header.number);
            }
            if outgoing.take_wakes() {
                self.wake(flow, cx);
            }
            if own == 0 {
                self.scatter(flow, packet, cx);
            }
            self.protect(flow, cx);
            more |= self.outgoing.at(flow, cx).share(own).copy_len() > 0;
        }
        (packet, more)
    }

    fn timer(&mut self, owner: Owner, kind: u8, cx: &mut impl Host) {
        let (Owner::Sender(id) | Owner::Receiver(id)) = owner else {
            unreachable!("no timer belongs to a host")
        };
        let conn = cx.conn(id);
        if conn.closed {
            // The subflow has closed, and its flow may have; only its slot has waited for this.
            return;
        }
        match (owner, kind) {
            (Owner::Sender(_), RETRANSMIT) => self.on_retransmission_timer(id, cx),
            (Owner::Sender(_), PACE) => {
                let config = self.configs.of(conn).tcp_of(conn.subflow);
                let share = self.outgoing.at(conn.parent, cx).share(conn.subflow);
                self.senders.at(id, cx).on_pace(id, config, &share, cx);
            }
            (Owner::Sender(_), PROBE) => {
                let config = self.configs.of(conn).tcp_of(conn.subflow);
                let share = self.outgoing.at(conn.parent, cx).share(conn.subflow);
                self.senders.at(id, cx).on_probe(id, config, &share, cx);
            }
            (Owner::Receiver(_), DELAYED_ACK) => {
                let config = &self.configs.of(conn).tcp;
                self.receivers.at(id, cx).on_timer(id, config, cx);
            }
            _ => unreachable!("TCP has no other timers"),
        }
    }

    /// Of a flow, the sum over its subflows; none any more once these may have closed.
    fn window(&self, id: ConnId, _conn: &Conn) -> Option<u64> {
        (!self.outgoing.get(id).is_over())
            .then(|| self.subflows.get(id).iter().map(|&id| self.senders.get(id).cwnd()).sum())
    }

    fn audit(&self, conns: &[(ConnId, Conn)], found: &mut dyn FnMut(String)) {
        for (id, conn) in conns.iter().filter(|(id, conn)| conn.via == *id && conn.accepted()) {
            let received = match conn.parent {
                ConnId::NONE => self.incoming.get(*id).received(),
                _ => self.receivers.get(*id).received(),
            };
            audit_ranges(*id, conn, received, found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derived::Derived;
    use crate::engine::contract::fake::FakeHost;
    use crate::transport::mptcp::Mptcp;
    use crate::transport::reassembly::Reassembly;
    use crate::transport::tcp::Tcp;
    use crate::units::{Bytes, Time};

    const FLOW: ConnId = ConnId(0);
    const SUBFLOWS: [ConnId; 2] = [ConnId(1), ConnId(2)];

    /// A flow of four segments over two subflows with windows of two, and what each of them sends. A timeout takes 1 s at
    /// first, and 10 s once there is a sample.
    fn started() -> (FakeHost, Model<Reassembly>, [Vec<Packet>; 2]) {
        let tcp = Tcp {
            mss: Bytes(1000),
            handshake: false,
            initial_window: Derived::Given(2),
            delayed_ack: 1,
            rto_initial: Some(Time::from_us(1_000_000)),
            rto_min: Some(Time::from_us(10_000_000)),
            ..Tcp::default()
        };
        let mut host = FakeHost::pair(4000);
        let config = Mptcp { subflows: 2, join: Join::AtOnce, tcp, ..Mptcp::default() };
        let mut model = Model::new(host.configs(vec![config]));
        host.start(&mut model, FLOW);
        let packets = SUBFLOWS.map(|id| host.sends(&mut model, id, 9));
        assert_eq!((data(&packets[0]), data(&packets[1])), (vec![0, 1], vec![2, 3]));
        (host, model, packets)
    }

    /// The numbers of the data in the packets.
    fn data(packets: &[Packet]) -> Vec<u32> {
        packets.iter().map(|packet| packet.header.ack as u32).collect()
    }

    /// The second half of the data comes first, by the second subflow, which acknowledges it by numbers of its own. The
    /// flow is complete when the first half is there, too.
    #[test]
    fn data_of_two_subflows_makes_one_flow() {
        let (mut host, mut model, packets) = started();
        let mut acks = Vec::new();
        for (packet, bytes) in packets[1].iter().chain(&packets[0]).zip([1000, 2000, 3000, 4000]) {
            assert!(host.completed.is_empty());
            acks.extend(host.receives(&mut model, packet));
            assert_eq!(host.receiver(FLOW).delivered_bytes, bytes);
        }
        assert_eq!(host.completed, [FLOW]);
        let place = |ack: &Packet| (ack.conn, ack.header.ack);
        let [first, second] = SUBFLOWS;
        let places = [(second, 1000), (second, 2000), (first, 1000), (first, 2000)];
        assert_eq!(acks.iter().map(place).collect::<Vec<_>>(), places);
        for ack in &acks {
            assert!(host.finished.is_empty());
            host.answers(&mut model, ack);
        }
        assert_eq!(host.finished, [FLOW]);
    }

    /// All that the first subflow has sent is lost. Its timeout after 1 s gives it to the second one; the next timeout, 2 s
    /// later, gives it nothing more.
    #[test]
    fn what_a_subflow_gives_up_goes_to_the_other_once() {
        let (mut host, mut model, packets) = started();
        let [first, second] = SUBFLOWS;
        host.now = Time::from_us(100);
        for packet in &packets[1] {
            let ack = host.receives(&mut model, packet);
            host.answers(&mut model, &ack[0]);
        }
        assert!(host.sends(&mut model, second, 9).is_empty(), "all data has been sent");
        host.times_out(&mut model, first);
        assert_eq!(host.now, Time::from_us(1_000_000));
        let again = host.sends(&mut model, second, 9);
        assert_eq!(data(&again), [0, 1]);
        assert_eq!(data(&host.sends(&mut model, first, 9)), [0]);
        host.times_out(&mut model, first);
        assert_eq!(host.now, Time::from_us(3_000_000));
        assert!(host.sends(&mut model, second, 9).is_empty());
        for packet in &again {
            let ack = host.receives(&mut model, packet);
            host.answers(&mut model, &ack[0]);
        }
        assert_eq!((&host.completed[..], &host.finished[..]), (&[FLOW][..], &[FLOW][..]));
    }

    /// The receive window of the flow is four segments, which the first subflow takes. When the first of them is
    /// acknowledged, both may send the next one: the second does.
    #[test]
    fn subflows_that_wait_for_the_receive_window_are_woken() {
        let tcp = Tcp {
            mss: Bytes(1000),
            handshake: false,
            initial_window: Derived::Given(4),
            delayed_ack: 1,
            receive_window: Bytes(4000),
            ..Tcp::default()
        };
        let mut host = FakeHost::pair(8000);
        let config = Mptcp { subflows: 2, join: Join::AtOnce, tcp, ..Mptcp::default() };
        let mut model: Model<Reassembly> = Model::new(host.configs(vec![config]));
        host.start(&mut model, FLOW);
        let packets = SUBFLOWS.map(|id| host.sends(&mut model, id, 9));
        assert_eq!((data(&packets[0]), data(&packets[1])), (vec![0, 1, 2, 3], vec![]));
        let ack = host.receives(&mut model, &packets[0][0]);
        host.answers(&mut model, &ack[0]);
        assert_eq!(data(&host.sends(&mut model, SUBFLOWS[1], 9)), [4]);
    }
}
