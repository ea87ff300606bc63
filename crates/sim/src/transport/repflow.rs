//! RepFlow and RepSYN: a short flow over two TCP connections, of which the faster one counts.
//!
//! Source: Xu and Li, "RepFlow: Minimizing flow completion times with replicated flows in data centers", INFOCOM 2014. A flow
//! of at most 100 KB is sent twice, over two connections with 5-tuples of their own, so that hashing gives them two paths, and is
//! complete when one of them has delivered all of it. RepSYN, by the same authors, only opens both: the first to finish its handshake
//! carries the data. Longer flows have one connection. The time of a flow counts from its SYNs on.
//!
//! A copy is TCP's sender and receiver as they are. The sum of both copies' packets stands in the flow's row.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::audit_ranges;
use super::session::partition::in_order::InOrder;
use super::session::{Coupling, Covers, Join, OverTcp, Session, SubflowRecovery, Subflows};
use super::source::{Next, Source};
use super::tcp::Tcp;
use super::tcp::congestion::Siblings;
use super::tcp::receiver::{DELAYED_ACK, Receiver};
use super::tcp::sender::{PACE, PROBE, RETRANSMIT, Sender};
use crate::advice::Unread;
use crate::engine::contract::conn::Conn;
use crate::engine::contract::endpoint::{Configs, Endpoint, Ends};
use crate::engine::contract::event::Owner;
use crate::engine::contract::host::{Host, Start};
use crate::engine::contract::packet::Packet;
use crate::ids::ConnId;
use crate::problem::Problem;
use crate::random::Purpose;
use crate::units::{Bytes, Time};

/// RepFlow: short flows over two TCP connections, of which the first to deliver all counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RepFlow {
    /// Flows of at most so many bytes have two connections, longer ones have one.
    pub below: Bytes,
    /// Content of the second connection.
    pub replicate: Replicate,
    /// Fate of the slower copy, once the sender has acknowledgements for all of the faster one.
    pub slower: Slower,
    /// Settings of each connection's TCP.
    pub tcp: Tcp,
}

/// Content of the second connection of a short flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Replicate {
    /// A handshake and all data: RepFlow.
    Flow,
    /// A handshake. The connection that finishes it first carries the data, and the other closes: RepSYN. Its reset is not sent.
    Syn,
}

/// Fate of the slower copy of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Slower {
    /// It is sent to its end, as in the authors' simulations.
    Continues,
    /// Its sender sends nothing more.
    Closes,
}

impl Default for RepFlow {
    fn default() -> Self {
        RepFlow {
            below: Bytes(100_000),
            replicate: Replicate::Flow,
            slower: Slower::Continues,
            tcp: Tcp::default(),
        }
    }
}

impl OverTcp for RepFlow {
    fn session(&self) -> Session {
        Session {
            subflows: Subflows::Number(2),
            coupling: Coupling::Uncoupled,
            join: Join::AtOnce,
            receive_window: Covers::Subflow,
            send_buffer: None,
            reinject: false,
            recovery: SubflowRecovery::Own,
            scatter: None,
            partition: InOrder {}.into(),
            tcp: self.tcp.resolved(),
        }
    }

    fn tcp(&self) -> &Tcp {
        &self.tcp
    }

    fn tcp_mut(&mut self) -> &mut Tcp {
        &mut self.tcp
    }

    fn own_problems(&self) -> Vec<Problem> {
        let silent = self.replicate == Replicate::Syn && !self.tcp.handshake;
        let why = "\"syn\" lets handshakes race, and tcp.handshake = false leaves them out";
        silent.then(|| Problem::new("replicate", why)).into_iter().collect()
    }

    fn endless(&self) -> bool {
        true
    }

    /// A kept connection would carry flows of both kinds.
    fn keeps(&self) -> bool {
        false
    }

    fn unread_alone(&self) -> Vec<Unread> {
        Unread::among([("slower", self.replicate == Replicate::Flow, "replicate = \"flow\"")])
    }
}

/// The data of one copy, from front to back.
#[derive(Clone, Copy, Debug, Default)]
struct Copied {
    size: u64,
    sent: u64,
    due: Time,
    /// Whether it waits for its handshake, which may come second.
    held: bool,
    /// Whether all of it is acknowledged.
    over: bool,
}

impl Source for Copied {
    #[inline]
    fn next(&mut self, max: u32) -> Next {
        let len = self.left().min(u64::from(max)) as u32;
        if len == 0 {
            return Next::Nothing;
        }
        let offset = self.sent;
        self.sent += u64::from(len);
        // The flow's end is not the end of each of its connections.
        Next::Range { offset, len, last: false }
    }

    #[inline]
    fn left(&self) -> u64 {
        if self.held { 0 } else { self.size - self.sent }
    }

    #[inline]
    fn take_acknowledged(&mut self, una: u64) -> Option<ConnId> {
        self.over = una >= self.size;
        None
    }

    fn due(&self, _una: u64) -> Time {
        self.due
    }
}

impl Siblings for Copied {}

/// The sending end of a flow: how many connections it has had, and those that are not done. A slot that is done may be another
/// connection's.
#[derive(Clone, Debug, Default)]
struct Copies {
    opened: usize,
    left: Vec<ConnId>,
}

/// All flows of a run, and their connections.
pub struct Model {
    configs: Configs<RepFlow>,
    flows: Ends<Copies>,
    senders: Ends<(Sender, Copied)>,
    receivers: Ends<Receiver>,
}

impl Model {
    pub(super) fn new(configs: Configs<RepFlow>) -> Model {
        Model {
            configs: configs.map(|config| RepFlow { tcp: config.tcp.resolved(), ..config }),
            flows: Ends::default(),
            senders: Ends::default(),
            receivers: Ends::default(),
        }
    }

    /// The other connection of a copy's flow, if it has one that is not done.
    fn other(&mut self, id: ConnId, flow: ConnId, cx: &mut impl Host) -> Option<ConnId> {
        self.flows.at(flow, cx).left.iter().copied().find(|other| *other != id)
    }

    /// A copy has nothing left to send; so has its flow, if it was the last.
    #[cold]
    fn close(&mut self, id: ConnId, flow: ConnId, cx: &mut impl Host) {
        self.senders.at(id, cx).0.stop();
        cx.finish_subflow(id);
        let copies = self.flows.at(flow, cx);
        copies.left.retain(|other| *other != id);
        if copies.left.is_empty() {
            cx.finish(flow);
        }
    }

    /// A copy's handshake is over, perhaps before that of the other: under RepSYN it then carries the data.
    fn established(&mut self, id: ConnId, flow: ConnId, cx: &mut impl Host) {
        let config = self.configs.of(cx.conn(id));
        let (sender, copied) = self.senders.at(id, cx);
        if !std::mem::take(&mut copied.held) {
            return;
        }
        if sender.may_send(&config.tcp, copied) {
            cx.ready(id);
        }
        if let Some(other) = self.other(id, flow, cx) {
            self.close(other, flow, cx);
        }
    }

    /// All of a copy is acknowledged.
    fn ends(&mut self, id: ConnId, flow: ConnId, cx: &mut impl Host) {
        if cx.sender(flow).acked_at == Time::NEVER {
            cx.acknowledged(flow);
        }
        let config = self.configs.of(cx.conn(id));
        if config.slower == Slower::Closes
            && let Some(other) = self.other(id, flow, cx)
        {
            self.close(other, flow, cx);
        }
        self.close(id, flow, cx);
    }
}

impl Endpoint for Model {
    fn start(&mut self, flow: ConnId, start: Start, cx: &mut impl Host) {
        let config = self.configs.of(cx.conn(flow));
        let number = if start.size <= config.below.0 { 2 } else { 1 };
        let held = number == 2 && config.replicate == Replicate::Syn;
        let copies = self.flows.open(flow, cx);
        copies.left.clear();
        copies.opened = usize::from(number);
        let mut labels = cx.flow_stream(Purpose::FiveTuple, start.key);
        for own in 0..number {
            let label = labels.bits() as u32;
            let id = cx.open_subflow(flow, own, label);
            self.flows.at(flow, cx).left.push(id);
            let (sender, copied) = self.senders.open(id, cx);
            *copied = Copied { size: start.size, due: start.due, held, ..Copied::default() };
            sender.reset(&config.tcp);
            sender.steer(id, u64::from(label), &config.tcp, cx);
            sender.open(id, &config.tcp, copied, cx);
        }
    }

    fn accept(&mut self, id: ConnId, cx: &mut impl Host) {
        let conn = cx.conn(id);
        if conn.parent != ConnId::NONE {
            let (config, now) = (self.configs.of(conn), cx.now());
            self.receivers.open(id, cx).reset(&config.tcp, now);
        }
    }

    /// The flow has as many bytes as the faster copy, and is complete when one copy is.
    fn at_receiver(&mut self, packet: &Packet, cx: &mut impl Host) {
        let id = packet.conn;
        let Conn { parent: flow, size, .. } = *cx.conn(id);
        let config = &self.configs.of(cx.conn(id)).tcp;
        let reordered = cx.receiver(id).reordered;
        let receiver = self.receivers.at(id, cx);
        let before = receiver.received();
        receiver.on_packet(id, packet, config, cx);
        let received = receiver.received();
        if received == before {
            return;
        }
        if received == size && config.ack_last_segment() {
            receiver.flush(config, cx);
        }
        let newly = cx.receiver(id).reordered - reordered;
        let whole = cx.receiver(flow);
        whole.reordered += newly;
        let more = received.saturating_sub(whole.delivered_bytes);
        if more > 0 {
            cx.delivered(flow, more);
            if received == size {
                cx.completed(flow);
            }
        }
    }

    fn at_sender(&mut self, packet: &Packet, cx: &mut impl Host) {
        let id = packet.conn;
        if cx.sender(id).done {
            return;
        }
        let conn = cx.conn(id);
        let (flow, config) = (conn.parent, self.configs.of(conn));
        let (sender, copied) = self.senders.at(id, cx);
        let was_established = sender.is_established();
        sender.on_packet(id, packet, &config.tcp, copied, cx);
        let (established, over) = (!was_established && sender.is_established(), copied.over);
        if established {
            self.established(id, flow, cx);
        }
        if over {
            self.ends(id, flow, cx);
        }
    }

    fn next_packet(&mut self, id: ConnId, cx: &mut impl Host) -> (Option<Packet>, bool) {
        if cx.sender(id).done {
            // It had requested its turn before it closed.
            return (None, false);
        }
        let (sender, copied) = self.senders.at(id, cx);
        sender.next_packet(id, &self.configs.of(cx.conn(id)).tcp, copied, cx)
    }

    fn timer(&mut self, owner: Owner, kind: u8, cx: &mut impl Host) {
        let (Owner::Sender(id) | Owner::Receiver(id)) = owner else {
            unreachable!("no timer belongs to a host")
        };
        let conn = cx.conn(id);
        if conn.closed {
            // Only its slot has waited for this.
            return;
        }
        let config = &self.configs.of(conn).tcp;
        match (owner, kind) {
            (Owner::Sender(_), RETRANSMIT) => {
                let (sender, copied) = self.senders.at(id, cx);
                sender.on_timer(id, config, copied, cx);
            }
            (Owner::Sender(_), PACE) => {
                let (sender, copied) = self.senders.at(id, cx);
                sender.on_pace(id, config, copied, cx);
            }
            (Owner::Sender(_), PROBE) => {
                let (sender, copied) = self.senders.at(id, cx);
                sender.on_probe(id, config, copied, cx);
            }
            (Owner::Receiver(_), DELAYED_ACK) => self.receivers.at(id, cx).on_timer(id, config, cx),
            _ => unreachable!("TCP has no other timers"),
        }
    }

    /// Of a flow, the sum over its connections; none any more once one of these may have closed.
    fn window(&self, id: ConnId, _conn: &Conn) -> Option<u64> {
        let copies = self.flows.get(id);
        (copies.left.len() == copies.opened)
            .then(|| copies.left.iter().map(|id| self.senders.get(*id).0.cwnd()).sum())
    }

    fn audit(&self, conns: &[(ConnId, Conn)], found: &mut dyn FnMut(String)) {
        for (id, conn) in conns.iter().filter(|(_, conn)| conn.parent != ConnId::NONE && conn.accepted()) {
            audit_ranges(*id, conn, self.receivers.get(*id).received(), found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derived::Derived;
    use crate::engine::contract::fake::FakeHost;

    const FLOW: ConnId = ConnId(0);
    const COPIES: [ConnId; 2] = [ConnId(1), ConnId(2)];

    fn tcp(handshake: bool) -> Tcp {
        Tcp {
            mss: Bytes(1000),
            handshake,
            initial_window: Derived::Given(4),
            delayed_ack: 1,
            ..Tcp::default()
        }
    }

    fn started(config: RepFlow, size: u64) -> (FakeHost, Model) {
        let mut host = FakeHost::pair(size);
        let mut model = Model::new(host.configs(vec![config]));
        host.start(&mut model, FLOW);
        (host, model)
    }

    /// Both copies have all four segments. One of the first copy is lost, which the second one has brought: the flow is
    /// complete only when one copy is, the second, with its last segment; its bytes are those of the faster copy. The sender is
    /// done when the slower one is, or, if that closes, with the faster.
    #[test]
    fn the_first_copy_that_is_complete_completes_the_flow() {
        for slower in [Slower::Continues, Slower::Closes] {
            let (mut host, mut model) =
                started(RepFlow { slower, tcp: tcp(false), ..RepFlow::default() }, 4_000);
            let [first, second] = COPIES.map(|id| host.sends(&mut model, id, 9));
            assert_eq!([first.len(), second.len()], [4, 4]);
            for (packet, bytes) in [(&first[0], 1_000), (&second[0], 1_000), (&second[1], 2_000)] {
                host.receives(&mut model, packet);
                assert_eq!(host.receiver(FLOW).delivered_bytes, bytes);
            }
            for packet in &first[2..] {
                host.receives(&mut model, packet);
            }
            assert_eq!(host.receiver(FLOW).delivered_bytes, 3_000);
            assert!(host.completed.is_empty(), "no copy has all: the second one lacks two segments");
            let mut acks = Vec::new();
            for packet in &second[2..] {
                acks.extend(host.receives(&mut model, packet));
            }
            assert_eq!(host.receiver(FLOW).delivered_bytes, 4_000);
            assert_eq!(host.completed, [FLOW]);
            host.answers(&mut model, acks.last().expect("an acknowledgement of all"));
            assert!(host.sender(COPIES[1]).done);
            let ends = slower == Slower::Closes;
            assert_eq!((host.sender(COPIES[0]).done, !host.finished.is_empty()), (ends, ends));
            if !ends {
                let mut answers = host.receives(&mut model, &first[1]);
                host.answers(&mut model, &answers.remove(0));
                assert_eq!((&host.completed[..], &host.finished[..]), (&[FLOW][..], &[FLOW][..]));
            }
        }
    }

    /// A flow of more than `below` has one connection.
    #[test]
    fn long_flows_have_one_connection() {
        for (size, connections) in [(100_000, 2), (100_001, 1)] {
            let (_, model) = started(RepFlow { tcp: tcp(false), ..RepFlow::default() }, size);
            assert_eq!(model.flows.get(FLOW).left.len(), connections);
        }
    }

    /// RepSYN: two SYNs go, and no data. The second connection's is answered first: it sends all segments, and the other
    /// none, whose answer comes later.
    #[test]
    fn the_first_handshake_carries_the_data() {
        let config = RepFlow { replicate: Replicate::Syn, tcp: tcp(true), ..RepFlow::default() };
        let (mut host, mut model) = started(config, 4_000);
        let syns = std::mem::take(&mut host.sent);
        assert_eq!(
            syns.iter().map(|syn| (syn.conn, syn.header.len)).collect::<Vec<_>>(),
            COPIES.map(|id| (id, 0))
        );
        for id in COPIES {
            assert!(host.sends(&mut model, id, 9).is_empty());
        }
        let answers: Vec<_> = syns.iter().map(|syn| host.receives(&mut model, syn).remove(0)).collect();
        host.answers(&mut model, &answers[1]);
        host.answers(&mut model, &answers[0]);
        let [first, second] = COPIES.map(|id| host.sends(&mut model, id, 9));
        assert_eq!([first.len(), second.len()], [0, 4]);
        for packet in &second {
            let ack = host.receives(&mut model, packet).remove(0);
            host.answers(&mut model, &ack);
        }
        assert_eq!((&host.completed[..], &host.finished[..]), (&[FLOW][..], &[FLOW][..]));
    }
}
