//! Priority flow control (IEEE 802.1Qbb): what came in by each link and still waits, and who is told to stop for it.
//!
//! A switch counts, for each link that comes in and each class of traffic, the bytes that wait in it. A class that
//! passes XOFF makes it send a pause frame by the other direction of the cable: as soon as the packet on that wire is
//! gone, ahead of all that waits. The port at the other end then sends nothing more of that class until a frame
//! says otherwise, which goes out when no more than XON is left. Frames have no quanta that run out: what is told holds
//! until it is taken back, which is how switches use them ("Priority Flow Control: Build Reliable Layer 2
//! Infrastructure", Cisco white paper C11-542809, describes large quanta and explicit resumption). A frame tells of
//! all classes at once, as its class-enable vector does. Faults do not lose it.
//!
//! A run without the lossless queue has none of this: its gates are an empty list and no port is ever told anything.

use super::Engine;
use super::egress::{PortQueue, schedule_departure};
use super::event::{Event, Phase, order};
use super::network::Network;
use crate::ids::{LinkId, PacketId};
use crate::queue::{Discipline, QueueCx, Thresholds};
use crate::units::Time;

/// Classes that a frame tells of.
pub const CLASSES: usize = 8;

/// Bytes of a pause frame: the smallest of Ethernet (IEEE 802.3, annex 31B).
pub const FRAME_BYTES: u32 = 64;

/// The class of a packet as ports and frames know it.
#[inline(always)]
pub fn class_of(class: u8) -> usize {
    usize::from(class) % CLASSES
}

/// What the end of each link counts and tells its head.
#[derive(Debug, Default)]
pub struct Pauses {
    /// By link; empty unless the run's queue is lossless.
    pub gates: Vec<Gate>,
    /// By link: how often and how long its head was stopped; as long as `gates`.
    pub stops: Vec<Stops>,
    /// Links whose head is to be told something that it has not been told.
    due: Vec<LinkId>,
}

/// What came in by one link and waits where it ends. One cache line.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Gate {
    /// Bytes, by class.
    pub waiting: [u32; CLASSES],
    thresholds: Thresholds,
    /// Classes that should stand still, a bit each.
    pub wanted: u8,
    /// What the last frame said.
    told: u8,
    /// Frames sent.
    frames: u32,
}

/// How often and how long a port was stopped.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stops {
    /// Times that a class was stopped.
    pub pauses: u64,
    /// Time in which at least one class was.
    pub paused: Time,
    /// Since when its classes are stopped that are.
    pub since: Time,
}

impl Gate {
    /// Nothing has come yet.
    pub fn new(thresholds: Thresholds) -> Gate {
        Gate { waiting: [0; CLASSES], thresholds, wanted: 0, told: 0, frames: 0 }
    }
}

impl QueueCx<'_> {
    /// A packet is to wait that came in by that link. False if not even the headroom has room for it.
    #[inline]
    pub fn take_in(&mut self, ingress: LinkId, class: usize, size: u32) -> bool {
        let Some(gate) = self.pauses.gates.get_mut(ingress.index()) else {
            // It is where it was made.
            return true;
        };
        let waiting = gate.waiting[class] + size;
        if waiting > gate.thresholds.limit {
            return false;
        }
        gate.waiting[class] = waiting;
        if waiting > gate.thresholds.xoff && gate.wanted & 1 << class == 0 {
            gate.wanted |= 1 << class;
            self.tell(ingress);
        }
        true
    }

    /// A packet that was taken in goes on.
    #[inline]
    pub fn let_out(&mut self, packet: PacketId, class: usize, size: u32) {
        let ingress = self.arena[packet].ingress;
        let Some(gate) = self.pauses.gates.get_mut(ingress.index()) else {
            return;
        };
        gate.waiting[class] -= size;
        if gate.wanted & 1 << class != 0 && gate.waiting[class] <= gate.thresholds.xon {
            gate.wanted &= !(1 << class);
            self.tell(ingress);
        }
    }

    #[cold]
    fn tell(&mut self, ingress: LinkId) {
        self.pauses.due.push(ingress);
        // So that the engine looks: see `bounce`.
        self.gone.push(crate::ids::ConnId(0));
    }
}

impl Network<'_> {
    /// Whether somebody is to be told something.
    #[inline]
    pub fn pauses_due(&self) -> bool {
        !self.pauses.due.is_empty()
    }

    /// Sends the frames that are due, or has them wait for the packet on their wire.
    #[cold]
    pub fn send_pauses(&mut self) {
        let now = self.now;
        while let Some(ingress) = self.pauses.due.pop() {
            let link = ingress.reverse();
            let port = &mut self.egress[link.index()].port;
            port.settle(now);
            if !port.serving && port.free_at <= now {
                self.send_frame(link);
                continue;
            }
            port.frame_waits = true;
            if !port.serving {
                schedule_departure(port, &mut self.calendar, link);
            }
        }
    }

    /// The wire is free and takes a frame, if by now there still is something to tell.
    #[cold]
    pub fn send_frame(&mut self, link: LinkId) -> bool {
        let gate = &mut self.pauses.gates[link.reverse().index()];
        let port = &mut self.egress[link.index()].port;
        port.frame_waits = false;
        if gate.told == gate.wanted {
            return false;
        }
        gate.told = gate.wanted;
        gate.frames = gate.frames.wrapping_add(1);
        let time = port.transmit_frame(self.now, FRAME_BYTES);
        let order = order(Phase::Pause, port.rank, gate.frames);
        self.calendar.push(Event { time, order, a: u32::from(gate.wanted), b: link.0 });
        true
    }

    /// The run ends: those who are stopped have been until now.
    pub fn stop_pauses(&mut self, end: Time) {
        for (egress, stops) in self.egress.iter().zip(&mut self.pauses.stops) {
            if egress.port.paused != 0 {
                stops.paused = stops.paused + (end - stops.since);
            }
        }
    }

    /// Bytes that wait by the link that they came by and their class, found by looking: for the audit.
    pub fn count_waiting(&self) -> Vec<[u32; CLASSES]> {
        let mut waiting = vec![[0; CLASSES]; self.pauses.gates.len()];
        for egress in &self.egress {
            let PortQueue::Serviced(model) = &egress.queue else { continue };
            model.resident(&mut |id| {
                let packet = &self.arena[id];
                if let Some(waiting) = waiting.get_mut(packet.ingress.index()) {
                    waiting[class_of(packet.header.class)] += packet.size;
                }
            });
        }
        waiting
    }
}

impl Engine<'_, '_> {
    /// A pause frame has come by that link: the port that feeds the other direction obeys from now on. What is on its
    /// wire goes on.
    #[cold]
    pub(super) fn obey(&mut self, frame: Event) {
        let (link, stopped, now) = (LinkId(frame.b).reverse(), frame.a as u8, self.net.now);
        let stops = &mut self.net.pauses.stops[link.index()];
        let port = &mut self.net.egress[link.index()].port;
        let before = std::mem::replace(&mut port.paused, stopped);
        stops.pauses += u64::from((stopped & !before).count_ones());
        if before != 0 {
            stops.paused = stops.paused + (now - stops.since);
        }
        stops.since = now;
        if before & !stopped == 0 || port.serving {
            return;
        }
        if port.free_at > now {
            schedule_departure(port, &mut self.net.calendar, link);
        } else {
            self.depart(link);
        }
    }
}
