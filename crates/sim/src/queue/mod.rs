//! What a port does with packets that have to wait: enqueue, dequeue, mark, trim, drop.
//!
//! A member has a configuration, which is part of the scenario, and a `Model`, which is its state at
//! one port. Adding one is its file and its line in the list below.

pub mod fifo;
pub mod waiting;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::fifo::Rules;
use self::waiting::Queued;
use crate::derived::{Derivable, Longest, Values};
use crate::engine::after::Aftermath;
use crate::engine::conn::Conn;
use crate::engine::gate::{Pauses, Thresholds};
use crate::engine::packet::{Arena, flag};
use crate::engine::port::{Losses, Port};
use crate::ids::PacketId;
use crate::random::Stream;
use crate::register::register;
use crate::topology::Link;
use crate::units::{Bytes, Time};

/// One list: configuration and model of each queue, and the way from one to the other.
macro_rules! queues {
    ($($module:ident :: $config:ident = $name:literal),* $(,)?) => {
        register! {
            /// What a port does with packets that have to wait.
            pub enum Queue: Settings { $($module::$config = $name),* }
        }

        /// The state of a queue at one port.
        #[derive(Clone, Debug)]
        #[allow(missing_docs, reason = "the configuration structs have the documentation")]
        pub enum Model {
            $($config(<$module::$config as Build>::Model),)*
        }

        impl Queue {
            /// An empty queue.
            pub fn model(&self, full_packet: u64) -> Model {
                match self {
                    $(Queue::$config(config) => Model::$config(config.model(full_packet)),)*
                }
            }
        }

        impl Discipline for Model {
            #[inline(always)]
            fn enqueue(&mut self, id: PacketId, cx: &mut QueueCx) {
                match self {
                    $(Model::$config(model) => model.enqueue(id, cx),)*
                }
            }

            #[inline(always)]
            fn pass(&mut self, id: PacketId, cx: &mut QueueCx) -> Option<Queued> {
                match self {
                    $(Model::$config(model) => model.pass(id, cx),)*
                }
            }

            #[inline(always)]
            fn dequeue(&mut self, cx: &mut QueueCx) -> Option<Queued> {
                match self {
                    $(Model::$config(model) => model.dequeue(cx),)*
                }
            }

            #[inline(always)]
            fn is_empty(&self) -> bool {
                match self {
                    $(Model::$config(model) => model.is_empty(),)*
                }
            }

            fn resident(&self, found: &mut dyn FnMut(PacketId)) {
                match self {
                    $(Model::$config(model) => model.resident(found),)*
                }
            }
        }
    };
}

queues! {
    infinite::Infinite = "infinite",
    drop_tail::DropTail = "drop-tail",
    ecn::Ecn = "ecn",
    ndp::NdpPort = "ndp",
    strict_priority::StrictPriority = "strict-priority",
    pfabric::PfabricPort = "pfabric",
    lossless::Lossless = "lossless",
}

/// What a queue's configuration tells the check and the engine.
pub trait Settings {
    /// What transports may ask of it.
    fn offers(&self) -> &'static [Feature] {
        &[]
    }

    /// All that is wrong beyond what the schema says: (path below the queue, what is wrong).
    fn problems(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Fields that the scenario leaves to the network, with what follows from it, given the size of a full packet.
    fn derived(&self, longest: &Longest, full_packet: u64) -> Values {
        let _ = (longest, full_packet);
        Vec::new()
    }

    /// Whether it stops those who send to it before it has to drop: see `engine/pause.rs`.
    fn pauses(&self) -> bool {
        false
    }

    /// If so, from how many bytes on, for what comes by that link; the second one is the way back.
    fn thresholds(&self, link: &Link, back: &Link, full_packet: u64) -> Thresholds {
        let _ = (link, back, full_packet);
        Thresholds::NONE
    }

    /// Memory that a port takes beyond one with a single queue: see `engine/memory.rs`.
    fn port_bytes(&self) -> usize {
        0
    }

    /// Most full packets of data that it holds; `None` without a limit. For estimates.
    fn most_packets(&self, full_packet: u64) -> Option<u64> {
        self.committed(full_packet)?.limit.most_packets(full_packet)
    }

    /// Its rules, if it is first-in first-out and decides all on arrival: then a port may commit to a
    /// departure when a packet arrives.
    fn committed(&self, full_packet: u64) -> Option<Rules> {
        let _ = full_packet;
        None
    }
}

impl Queue {
    /// An empty queue at a host's port, which neither drops nor marks.
    pub fn at_host(&self) -> Model {
        match self {
            Queue::Lossless(_) => Model::Lossless(lossless::Model::at_host()),
            _ => Queue::from(infinite::Infinite {}).model(0),
        }
    }
}

/// From the configuration to the state at one port.
pub trait Build {
    /// The state of the queue at one port.
    type Model: Discipline;

    /// An empty queue, given the size of a full data packet on the wire.
    fn model(&self, full_packet: u64) -> Self::Model;
}

/// The state of a queue at one port: what a researcher writes.
pub trait Discipline {
    /// A packet arrives. It must be kept, dropped or trimmed, each through `cx`.
    fn enqueue(&mut self, id: PacketId, cx: &mut QueueCx);

    /// The wire is free: the packet to send next, none only if nothing waits any more or all that does is paused. It
    /// is still counted in the port, as the one on the wire.
    fn dequeue(&mut self, cx: &mut QueueCx) -> Option<Queued>;

    /// A packet arrives while the wire is free and nothing waits: the packet to send at once, if it may pass.
    #[inline]
    fn pass(&mut self, id: PacketId, cx: &mut QueueCx) -> Option<Queued> {
        self.enqueue(id, cx);
        self.dequeue(cx)
    }

    /// Whether nothing waits.
    fn is_empty(&self) -> bool;

    /// Reports every waiting packet: for the audit.
    fn resident(&self, found: &mut dyn FnMut(PacketId));
}

/// What a queue sees of its port and its packets.
pub struct QueueCx<'a> {
    /// The present; for a packet served in retrospect, the time at which its turn came.
    pub now: Time,
    /// The packets. Only the common part is a queue's business.
    pub arena: &'a mut Arena,
    /// The port, with its occupancy up to date.
    pub port: &'a mut Port,
    /// The port's own chance.
    pub chance: &'a mut Stream,
    pub(crate) losses: &'a mut Losses,
    pub(crate) conns: &'a mut [Conn],
    pub(crate) after: &'a mut Aftermath,
    pub(crate) pauses: &'a mut Pauses,
}

impl QueueCx<'_> {
    /// A packet of that size joins the port.
    #[inline]
    pub fn keep(&mut self, size: u32) {
        self.port.join(self.now, size);
    }

    /// The packet, which has not joined or has left again, is lost here.
    pub fn drop(&mut self, id: PacketId) {
        let packet = self.arena.remove(id);
        self.losses.dropped.add(packet.size);
        let conn = &mut self.conns[packet.conn.index()];
        conn.counts.drops += 1;
        conn.packets -= 1;
        if conn.packets == 0 {
            self.after.gone(packet.conn);
        }
    }

    /// Cuts the payload off a packet that is not counted in the port at this moment; its size from now on.
    pub fn trim(&mut self, id: PacketId, to: u32) -> u32 {
        let packet = &mut self.arena[id];
        let size = packet.size.min(to);
        self.losses.trims += 1;
        self.losses.trimmed_bytes += u64::from(packet.size - size);
        packet.size = size;
        packet.flags |= flag::TRIMMED;
        size
    }

    /// Sends what is left of a data packet, which has not joined, back to its sender.
    #[cold]
    pub fn bounce(&mut self, id: PacketId) {
        let packet = &mut self.arena[id];
        packet.dst = self.conns[packet.conn.index()].src;
        packet.flags |= flag::BOUNCED;
        self.losses.bounced.add(packet.size);
        self.after.bounced(id);
    }

    /// Marks the packet if it is ECN-capable.
    #[inline]
    pub fn mark(&mut self, id: PacketId) {
        let packet = &mut self.arena[id];
        if packet.has(flag::ECN_CAPABLE) {
            packet.flags |= flag::CE;
            self.losses.marks += 1;
        }
    }
}

/// What a transport may need from the ports on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// A full port cuts the payload off and forwards the header.
    Trimming,
    /// A port marks packets instead of dropping them.
    Ecn,
    /// A port serves classes of traffic apart.
    Classes,
    /// A port sends the packet of the smallest flow first, and drops that of the largest.
    Scheduling,
    /// No port drops: it stops those who send to it in time.
    Lossless,
}

impl Feature {
    /// The feature's name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Feature::Trimming => "trimming",
            Feature::Ecn => "ECN marking",
            Feature::Classes => "classes",
            Feature::Scheduling => "scheduling by remaining size",
            Feature::Lossless => "flow control",
        }
    }
}

/// How much a queue holds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// So many packets of any size.
    Packets(#[schemars(range(min = 1, max = 1_000_000_000))] u32),
    /// So many bytes.
    Bytes(#[schemars(extend("x-minimum" = "64B"))] Bytes),
    /// So many bytes as this number of full data packets have on the wire.
    FullPackets(#[schemars(range(min = 1, max = 1_000_000))] u32),
}

impl Derivable for Limit {
    const WORD: &'static str = "derived";
}

/// A limit as the engine compares with it: at most so many packets and so many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Most packets.
    pub packets: u32,
    /// Most bytes.
    pub bytes: u64,
}

impl Room {
    /// Room without end.
    pub const UNLIMITED: Room = Room { packets: u32::MAX, bytes: u64::MAX };

    /// Most packets of that size within the limit; `None` without one.
    pub fn most_packets(&self, size: u64) -> Option<u64> {
        (*self != Room::UNLIMITED).then(|| u64::from(self.packets).min(self.bytes / size.max(1)))
    }

    /// Whether so much is within the limit.
    #[inline]
    pub fn holds(&self, packets: u32, bytes: u64) -> bool {
        packets <= self.packets && bytes <= self.bytes
    }
}

impl Limit {
    /// The limit as a room, given the size of a full data packet on the wire.
    pub fn room(self, full_packet: u64) -> Room {
        match self {
            Limit::Packets(packets) => Room { packets, ..Room::UNLIMITED },
            Limit::Bytes(bytes) => Room { bytes: bytes.0, ..Room::UNLIMITED },
            Limit::FullPackets(count) => Room { bytes: u64::from(count) * full_packet, ..Room::UNLIMITED },
        }
    }

    /// As many bytes as fit into the limit if all packets are full ones.
    pub fn room_in_bytes(self, full_packet: u64) -> Room {
        match self {
            Limit::Packets(count) => Limit::FullPackets(count).room(full_packet),
            other => other.room(full_packet),
        }
    }
}
