//! A queue that is written in Python, as a prototype: the way from a port's verbs to its object.
//!
//! The object holds the packets that wait, by number and size; what it decides on them comes back as a list of [`Act`]s,
//! which are carried out here.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Build, Feature, Prototypes, Settings};
use crate::engine::contract::discipline::{Discipline, DropReason, PortContext, Queued};
use crate::engine::contract::gate::CLASSES;
use crate::engine::contract::packet::Packet;
use crate::ids::PacketId;
use crate::prototype::{Bound, Factory};
use crate::random::Stream;
use crate::units::{Rate, Time};

/// A queue written in Python, a prototype: `flowyard run --prototype FILE`, or `queues` of flowyard.run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PythonQueue {
    /// Name of its class, as given to flowyard.run; from a file (--prototype), the name in the file.
    pub name: String,
    /// Arguments of the class, by their names, with which each port's object is made.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub settings: Map<String, Value>,
    /// Whether it marks packets, for transports that need that. Absent: the class's attribute.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub marks: bool,
    /// Whether it trims packets, for transports that need that. Absent: the class's attribute.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub trims: bool,
    #[serde(skip)]
    prototype: Bound<dyn Prototype>,
}

impl Settings for PythonQueue {
    fn offers(&self) -> &'static [Feature] {
        match (self.marks, self.trims) {
            (false, false) => &[],
            (true, false) => &[Feature::Ecn],
            (false, true) => &[Feature::Trimming],
            (true, true) => &[Feature::Ecn, Feature::Trimming],
        }
    }

    fn classes(&self) -> u32 {
        CLASSES as u32
    }

    fn acts_on_departure(&self) -> bool {
        true
    }

    fn bind(&mut self, prototypes: &Prototypes) -> bool {
        self.prototype.bind(&self.name, prototypes);
        true
    }
}

impl Build for PythonQueue {
    type Model = Model;

    fn model(&self, full_packet: u64) -> Model {
        Model { own: self.prototype.get().start(&self.settings, full_packet), acts: Vec::new() }
    }
}

/// A class that was given.
pub trait Prototype: Factory {
    /// The object of a port, given the size of a full data packet on the wire.
    fn start(&self, settings: &Map<String, Value>, full_packet: u64) -> Box<dyn Waiting>;
}

/// The port at the time of a decision.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// That time.
    pub now: Time,
    /// Packets in the port, the one on the wire included.
    pub packets: u32,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes of the packet on the wire; 0 if there is none.
    pub wire_bytes: u32,
    /// The rate of the link.
    pub rate: Rate,
}

/// Decision of a queue on a packet; of one that arrives, `Keep` or `Drop` comes last.
#[derive(Clone, Copy, Debug)]
pub enum Act {
    Keep(Queued),
    /// One that arrives is dropped.
    Drop(PacketId),
    /// One that arrives loses its payload; so many bytes are left.
    Trim(PacketId, u32),
    /// It is marked, if it is ECN-capable.
    Mark(PacketId),
    /// One that waits is dropped.
    DropWaiting(Queued),
}

/// One port's object: [`Discipline`], with the packets that wait.
pub trait Waiting: fmt::Debug + Send {
    /// [`Discipline::enqueue`].
    fn enqueue(
        &mut self,
        id: PacketId,
        packet: &Packet,
        view: View,
        stream: &mut Stream,
        acts: &mut Vec<Act>,
    );
    /// [`Discipline::dequeue`].
    fn dequeue(&mut self, view: View, stream: &mut Stream, acts: &mut Vec<Act>) -> Option<Queued>;
    /// [`Discipline::is_empty`].
    fn is_empty(&self) -> bool;
    /// [`Discipline::resident`].
    fn resident(&self, found: &mut dyn FnMut(PacketId));
}

/// A port's object, and the list in which its decisions come.
#[derive(Debug)]
pub struct Model {
    own: Box<dyn Waiting>,
    acts: Vec<Act>,
}

fn view(cx: &PortContext) -> View {
    let port = &cx.port;
    View {
        now: cx.now,
        packets: port.packets,
        bytes: port.bytes,
        wire_bytes: port.wire_bytes,
        rate: port.rate,
    }
}

impl Model {
    fn carry_out(&mut self, cx: &mut PortContext) {
        for act in self.acts.drain(..) {
            match act {
                Act::Keep(packet) => cx.keep(packet.size),
                Act::Drop(id) => cx.drop(id, DropReason::Managed),
                Act::Trim(id, to) => {
                    cx.trim(id, to);
                }
                Act::Mark(id) => {
                    cx.mark(id);
                }
                Act::DropWaiting(packet) => cx.drop_waiting(packet, DropReason::Managed),
            }
        }
    }
}

impl Discipline for Model {
    #[inline(never)]
    fn enqueue(&mut self, id: PacketId, cx: &mut PortContext) {
        let seen = view(cx);
        self.own.enqueue(id, &cx.arena[id], seen, cx.stream, &mut self.acts);
        self.carry_out(cx);
    }

    #[inline(never)]
    fn dequeue(&mut self, cx: &mut PortContext) -> Option<Queued> {
        let seen = view(cx);
        let next = self.own.dequeue(seen, cx.stream, &mut self.acts);
        self.carry_out(cx);
        next
    }

    fn is_empty(&self) -> bool {
        self.own.is_empty()
    }

    fn resident(&self, found: &mut dyn FnMut(PacketId)) {
        self.own.resident(found);
    }
}
