//! Prototypes in Rust, for the members that are written in Python: the least that each can be.

use std::collections::BTreeMap;
use std::collections::VecDeque;
use std::sync::Arc;

use flowyard_sim::balancer::python as balancer;
use flowyard_sim::engine::contract::discipline::Queued;
use flowyard_sim::engine::contract::packet::{Header, Packet, flag};
use flowyard_sim::engine::contract::path::Hop;
use flowyard_sim::ids::{ConnId, FlowId, NodeId, PacketId};
use flowyard_sim::prototype::Factory;
use flowyard_sim::queue::python as queue;
use flowyard_sim::random::Stream;
use flowyard_sim::scenario::Prototypes;
use flowyard_sim::transport::python as transport;
use flowyard_sim::transport::python::{Act, At, Data, Decision, Opening, PythonTransport};
use flowyard_sim::transport::tcp::congestion::python as control;
use flowyard_sim::transport::tcp::congestion::{Ack, Answer, CongestionEvent, Recovery, Step, Window};
use flowyard_sim::units::{Rate, Time};
use serde_json::{Map, Value, json};

/// The name of each.
const NAME: &str = "stub";
/// Packets that a queue holds.
const ROOM: usize = 20;

/// A prototype of each list.
pub fn prototypes() -> Prototypes {
    let mut all = Prototypes::default();
    all.balancers.insert(NAME.into(), Arc::new(Stub));
    all.queues.insert(NAME.into(), Arc::new(Stub));
    all.transport.controls.insert(NAME.into(), Arc::new(Stub));
    all.transport.transports.insert(NAME.into(), Arc::new(Datagrams));
    all
}

#[derive(Debug)]
struct Stub;

impl Factory for Stub {
    fn fields(&self) -> Map<String, Value> {
        Map::new()
    }

    fn refusal(&self, _settings: &Map<String, Value>) -> Option<String> {
        None
    }
}

impl balancer::Prototype for Stub {
    fn start(&self, _settings: &Map<String, Value>) -> Box<dyn balancer::Choice> {
        Box::new(Stub)
    }
}

impl balancer::Choice for Stub {
    fn choose(&mut self, hop: Hop, salt: u64, _now: Time) -> u32 {
        ((u64::from(hop.label) ^ salt) % u64::from(hop.count())) as u32
    }
}

impl control::Prototype for Stub {
    fn start(&self, _settings: &Map<String, Value>) -> Box<dyn control::Connection> {
        Box::new(Stub)
    }
}

/// Slow start for ever, and NewReno for the rest.
impl control::Connection for Stub {
    fn verbs(&self) -> control::Verbs {
        control::Verbs { on_ack: true, ..control::Verbs::default() }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        window.cwnd += ack.acked;
    }

    fn on_congestion_event(&mut self, _window: &mut Window, _event: &CongestionEvent) {}

    fn on_duplicate(&mut self, _window: &mut Window, _ack: &Ack) {}

    fn on_recovery_ack(&mut self, _window: &mut Window, _ack: &Ack, _recovery: Recovery) -> Step {
        Step::Leave
    }

    fn on_echo(&mut self, _ack: &Ack) -> Answer {
        unreachable!("not one of its verbs")
    }

    fn distrusts_duplicates(&self) -> bool {
        false
    }

    fn pacing_rate(&self) -> Option<Rate> {
        None
    }
}

impl queue::Prototype for Stub {
    fn start(&self, _settings: &Map<String, Value>, _full_packet: u64) -> Box<dyn queue::Waiting> {
        Box::new(Fifo::default())
    }
}

/// First in, first out.
#[derive(Debug, Default)]
struct Fifo(VecDeque<Queued>);

impl queue::Waiting for Fifo {
    fn enqueue(
        &mut self,
        id: PacketId,
        packet: &Packet,
        _view: queue::View,
        _chance: &mut Stream,
        acts: &mut Vec<queue::Act>,
    ) {
        if self.0.len() == ROOM {
            acts.push(queue::Act::Drop(id));
        } else {
            let packet = Queued { id, size: packet.size };
            self.0.push_back(packet);
            acts.push(queue::Act::Keep(packet));
        }
    }

    fn dequeue(
        &mut self,
        _view: queue::View,
        _chance: &mut Stream,
        _acts: &mut Vec<queue::Act>,
    ) -> Option<Queued> {
        self.0.pop_front()
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn resident(&self, found: &mut dyn FnMut(PacketId)) {
        self.0.iter().for_each(|packet| found(packet.id));
    }
}

/// A transport that sends all, and does not look back.
#[derive(Debug)]
struct Datagrams;

impl Factory for Datagrams {
    fn fields(&self) -> Map<String, Value> {
        Map::from_iter([("retransmits".to_string(), json!(false))])
    }

    fn refusal(&self, _settings: &Map<String, Value>) -> Option<String> {
        None
    }
}

impl transport::Prototype for Datagrams {
    fn start(&self, config: &PythonTransport) -> Box<dyn transport::Objects> {
        Box::new(Hosts { payload: config.payload.0, ..Hosts::default() })
    }
}

/// Bytes that have been sent or received of each flow, by slot and direction.
#[derive(Debug, Default)]
struct Hosts {
    payload: u64,
    ends: BTreeMap<(ConnId, bool), (FlowId, u64, u64)>,
}

impl transport::Objects for Hosts {
    fn open(&mut self, at: At, opening: Opening, _now: Time, decisions: &mut Vec<Decision>) {
        self.ends.insert((at.id, at.sends), (at.flow, 0, opening.size));
        if at.sends {
            decisions.push(Decision::On(at, Act::Ready));
        }
    }

    fn packet(&mut self, at: At, packet: &Packet, _now: Time, decisions: &mut Vec<Decision>) {
        if at.sends || packet.has(flag::TRIMMED) {
            return;
        }
        let (_, received, size) = self.ends.get_mut(&(at.id, false)).expect("it has been opened");
        let len = u64::from(packet.header.len);
        *received += len;
        decisions.push(Decision::On(at, Act::Deliver(len, *received == *size)));
    }

    fn next_packet(&mut self, at: At, _now: Time, decisions: &mut Vec<Decision>) -> Option<Data> {
        let (_, sent, size) = self.ends.get_mut(&(at.id, true)).expect("it has been opened");
        let len = self.payload.min(*size - *sent);
        let header = Header { len: len as u16, seq: *sent, ..Header::default() };
        *sent += len;
        let more = *sent < *size;
        decisions.push(Decision::On(at, if more { Act::Ready } else { Act::Finish(false) }));
        Some(Data { at, header, again: false })
    }

    fn timer(&mut self, _at: At, _kind: u8, _now: Time, _decisions: &mut Vec<Decision>) {}

    fn host_timer(&mut self, _host: NodeId, _now: Time, _decisions: &mut Vec<Decision>) {}

    fn received(&self, id: ConnId) -> u64 {
        self.ends.get(&(id, false)).map_or(0, |(_, received, _)| *received)
    }
}
