//! Port agents: the contract between the engine and a node's computation at a port for passing packets.
//!
//! A fabric has agents of one kind, one at each port, hosts' ports included, or none, and then pays nothing
//! for them. They serve one transport: an agent sees that transport's packets to their receivers as they come
//! to its port, and the answers, which come by the other direction of the port's cable. It reads and writes
//! the headers of packets (`Header`, [`Record`]), keeps its state at its port, and may request ticks. A switch's may also send a
//! packet back to the sender of the packet that passes. It touches no other port and no host. The agents themselves are in
//! `agent/`.

use crate::engine::calendar::Calendar;
use crate::engine::data::event::{Event, Phase, order};
use crate::engine::data::numbers::Numbers;
use crate::engine::data::packet::{Header, Packet, Record};
use crate::engine::data::port::Port;
use crate::ids::{FlowId, LinkId};
use crate::random::Stream;
use crate::units::{Rate, Time};

/// Computation at one port. A new agent implements it.
pub trait PortAgent {
    /// Whether it asks for the port's bytes when a packet to a receiver comes while no tick is pending, as at the start of
    /// its first interval. Otherwise the context has them at ticks only: to bring a port up to date costs more than what
    /// most agents do with a packet.
    #[inline]
    fn reads_bytes(&self) -> bool {
        false
    }

    /// Whether it is shown packets to senders ([`PortAgent::on_answer`]): the same at all ports of a run.
    fn reads_answers(&self) -> bool {
        false
    }

    /// A packet to its receiver comes to the port, before the queue sees it.
    fn on_packet(&mut self, packet: &mut Packet, record: &mut Record, cx: &mut AgentContext);

    /// A packet to its sender has come by the other direction of the cable; whether by all links of the data, depends on
    /// the balancer. Called only if the agent [`reads_answers`](PortAgent::reads_answers).
    fn on_answer(&mut self, packet: &mut Packet, record: &mut Record, cx: &mut AgentContext) {
        let _ = (packet, record, cx);
    }

    /// The tick set by [`AgentContext::tick_at`] comes, after all other events of that instant.
    fn tick(&mut self, cx: &mut AgentContext) {
        let _ = cx;
        unreachable!("this agent asks for no ticks");
    }

    /// Flows get their numbers: see [`Numbers`].
    fn number(&mut self, numbers: &Numbers) {
        let _ = numbers;
    }

    /// For the audit: reports what is left behind of flows that are over.
    fn audit(&self, now: Time, is_open: &dyn Fn(FlowId) -> bool, found: &mut dyn FnMut(String)) {
        let _ = (now, is_open, found);
    }

    /// For the audit, when no flow is open: reports what is left behind of any.
    fn audit_idle(&self, found: &mut dyn FnMut(String)) {
        let _ = found;
    }

    /// Bytes that it takes beyond its own size. For the limit on memory and for benchmarks.
    fn heap_bytes(&self) -> usize {
        0
    }
}

/// A port as its agent sees it.
pub struct AgentContext<'a> {
    pub now: Time,
    /// The link that the port feeds: no other port of the fabric has this number.
    pub link: LinkId,
    /// The flow of the packet that passes; at ticks [`FlowId::NONE`].
    pub flow: FlowId,
    /// The agent's own random stream.
    pub stream: &'a mut Stream,
    pub(in crate::engine) port: &'a Port,
    /// None where the agent has not said that it reads them.
    pub(in crate::engine) bytes: Option<PortBytes>,
    pub(in crate::engine) ticking: &'a mut bool,
    pub(in crate::engine) calendar: &'a mut Calendar,
    /// A packet for the sender of the one that passes: its bytes on the wire, and its header.
    pub(in crate::engine) reply: Option<(u32, Header)>,
}

/// Bytes of a port that is up to date.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct PortBytes {
    pub(in crate::engine) waiting: u64,
    pub(in crate::engine) sent: u64,
    pub(in crate::engine) lost: u64,
}

/// An agent asks for what it has not said that it reads.
const UNREAD: &str = "the agent says by `reads_bytes` when it reads the port's bytes";

impl AgentContext<'_> {
    /// The present rate of the link.
    #[inline]
    pub fn rate(&self) -> Rate {
        self.port.rate
    }

    /// Time that so many bytes take on the link.
    #[inline]
    pub fn transmission(&self, bytes: u64) -> Time {
        u32::try_from(bytes)
            .map_or_else(|_| self.rate().transmission(bytes), |bytes| self.port.transmission(bytes))
    }

    /// Bytes that wait at the port, without the packet on the wire. These and the next two are known at ticks, and while no
    /// tick is pending to an agent that [`reads_bytes`](PortAgent::reads_bytes).
    pub fn waiting_bytes(&self) -> u64 {
        self.bytes.expect(UNREAD).waiting
    }

    /// Bytes of all packets whose transmission has begun since the start of the run.
    pub fn sent_bytes(&self) -> u64 {
        self.bytes.expect(UNREAD).sent
    }

    /// Bytes of all packets that have come to the port since the start of the run, what it dropped or trimmed off included.
    pub fn arrived_bytes(&self) -> u64 {
        let PortBytes { waiting, sent, lost } = self.bytes.expect(UNREAD);
        sent + waiting + lost
    }

    /// Sends a packet without payload, of so many bytes on the wire, to the sender of the packet that passes to its receiver:
    /// from a switch, at which that packet has come in by a link. At the port of the sender itself nothing is sent.
    pub fn reply(&mut self, size: u32, header: Header) {
        self.reply = Some((size, header));
    }

    /// Asks for a tick, unless one is pending: see [`PortAgent::tick`].
    #[inline]
    pub fn tick_at(&mut self, time: Time) {
        if *self.ticking {
            return;
        }
        *self.ticking = true;
        let order = order(Phase::Port, self.port.rank, TICK);
        self.calendar.push(Event { time: time.max(Time(self.now.0 + 1)), order, a: TICK });
    }
}

/// Tells an agent's tick from the timer of the port's queue.
pub const TICK: u32 = 1;

#[cfg(test)]
pub mod tests {
    //! A port without a network, for unit tests of agents.

    use super::*;
    use crate::engine::calendar::ties::Ties;
    use crate::engine::data::plan::Agenda;
    use crate::ids::{ConnId, NodeId};
    use crate::random::Purpose;
    use crate::topology::Link;

    /// A port that shows its agent the packets and ticks that a test names, and moves nothing.
    pub struct FakePort {
        /// The present.
        pub now: Time,
        /// Bytes that wait.
        pub waiting: u64,
        /// Bytes that have come since the start.
        pub arrived: u64,
        link: LinkId,
        port: Port,
        stream: Stream,
        ticking: bool,
        calendar: Calendar,
    }

    /// A link of that rate.
    pub fn link(rate: Rate) -> Link {
        Link { from: NodeId(0), to: NodeId(1), rate, delay: Time::ZERO }
    }

    /// A packet of that kind and size.
    pub fn packet(kind: u8, size: u32) -> Packet {
        Packet {
            created_at: Time::ZERO,
            wire_at: Time::ZERO,
            size,
            conn: ConnId(0),
            dst: NodeId(1),
            ingress: LinkId::NONE,
            label: 0,
            transport: 0,
            balancer: 0,
            flags: 0,
            hops: 0,
            header: Header { kind, ..Header::default() },
        }
    }

    impl FakePort {
        /// The port of that link, of 1 Gbps, at time zero.
        pub fn new(number: u32) -> FakePort {
            FakePort {
                now: Time::ZERO,
                waiting: 0,
                arrived: 0,
                link: LinkId(number),
                port: Port::new(&link(Rate(1_000_000_000)), 0),
                stream: Stream::new(0, 0, Purpose::Queue, 0),
                ticking: false,
                calendar: Calendar::new(Agenda::Heap, Ties::default()),
            }
        }

        fn cx(&mut self, flow: FlowId) -> AgentContext<'_> {
            AgentContext {
                now: self.now,
                link: self.link,
                flow,
                stream: &mut self.stream,
                port: &self.port,
                bytes: Some(PortBytes { waiting: self.waiting, sent: self.arrived - self.waiting, lost: 0 }),
                ticking: &mut self.ticking,
                calendar: &mut self.calendar,
                reply: None,
            }
        }

        /// A packet of a flow of that size comes, on its way to the receiver: the header of the agent's reply, if it sends one.
        pub fn passes(&mut self, agent: &mut impl PortAgent, flow: u32, size: u32) -> Option<Header> {
            let mut cx = self.cx(FlowId(flow));
            agent.on_packet(&mut packet(0, size), &mut Record::default(), &mut cx);
            cx.reply.map(|(_, header)| header)
        }

        /// A packet of a flow comes, on its way to the receiver.
        pub fn packet(&mut self, agent: &mut impl PortAgent, flow: u32, kind: u8, record: &mut Record) {
            agent.on_packet(&mut packet(kind, 1500), record, &mut self.cx(FlowId(flow)));
        }

        /// A packet of data comes, on its way to the receiver.
        pub fn data(&mut self, agent: &mut impl PortAgent, flow: u32, record: &mut Record) {
            let mut packet = packet(0, 1500);
            packet.header.len = 1460;
            agent.on_packet(&mut packet, record, &mut self.cx(FlowId(flow)));
        }

        /// An answer to a flow's sender comes.
        pub fn answer(&mut self, agent: &mut impl PortAgent, flow: u32, kind: u8, record: &mut Record) {
            agent.on_answer(&mut packet(kind, 64), record, &mut self.cx(FlowId(flow)));
        }

        /// The agent's tick comes, for which it has asked.
        pub fn tick(&mut self, agent: &mut impl PortAgent) {
            assert!(std::mem::take(&mut self.ticking), "it has asked for a tick");
            agent.tick(&mut self.cx(FlowId::NONE));
        }
    }

    /// Of the bytes that have come, those that neither wait nor are lost have been sent; a second request for a tick is none.
    #[test]
    fn an_agent_sees_its_port() {
        let mut port = FakePort { waiting: 3000, arrived: 10_000, ..FakePort::new(7) };
        let mut cx = port.cx(FlowId(5));
        assert_eq!((cx.waiting_bytes(), cx.sent_bytes(), cx.arrived_bytes()), (3000, 7000, 10_000));
        assert_eq!((cx.rate(), cx.transmission(1500)), (Rate(1_000_000_000), Time::from_us(12)));
        cx.tick_at(Time(5));
        cx.tick_at(Time(3));
        let events: Vec<_> = port.calendar.iter().map(|event| (event.time, event.a)).collect();
        assert_eq!(events, [(Time(5), TICK)]);
    }
}
