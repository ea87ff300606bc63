//! Priority flow control (IEEE 802.1Qbb): pause frames, by the byte counts of `gate`.
//!
//! A switch counts, for each link that comes in and each class of traffic, the bytes queued. When a class
//! passes XOFF, the switch sends a pause frame by the other direction of the cable: as soon as the
//! transmission on that wire ends, ahead of all queued packets. The port at the other end then sends nothing
//! more of that class until a resume frame, which the switch sends when no more than XON is left. Frames have
//! no quanta that run out: a pause holds until it is taken back, which is how switches use them ("Priority
//! Flow Control: Build Reliable Layer 2 Infrastructure", Cisco white paper C11-542809, describes large quanta
//! and explicit resumption). A frame covers all classes at once, as its class-enable vector does. Faults do
//! not lose it.
//!
//! A run without the lossless queue has none of this: its gates are an empty list and no port is ever paused.

use super::Network;
use super::egress::{PortQueue, schedule_departure};
use crate::engine::contract::discipline::Discipline;
use crate::engine::contract::members::Members;
use crate::engine::data::event::{Event, Phase, order};
use crate::engine::data::gate::{CLASSES, class_of};
use crate::engine::data::packet::Packet;
use crate::ids::LinkId;

impl<M: Members> Network<'_, M> {
    /// Sends the frames that are due, or has them wait for the packet on their wire.
    #[cold]
    pub fn send_pauses(&mut self) {
        let now = self.now;
        while let Some(ingress) = self.after.pauses.pop() {
            let link = ingress.reverse();
            let port = &mut self.egress[link.index()].port;
            port.settle(now);
            if !port.serving && port.free_at <= now {
                self.send_frame(link);
                continue;
            }
            port.frame_waits = true;
            if !port.serving {
                schedule_departure(port, &mut self.calendar);
            }
        }
    }

    /// The wire is free and takes a frame, if by now there still is something to tell.
    #[cold]
    pub fn send_frame(&mut self, link: LinkId) -> bool {
        if !self.control.credits.links.is_empty() {
            return self.send_credit(link);
        }
        let gate = &mut self.control.pauses.gates[link.reverse().index()];
        let port = &mut self.egress[link.index()].port;
        port.frame_waits = false;
        if gate.announced == gate.wanted {
            return false;
        }
        gate.announced = gate.wanted;
        gate.frames = gate.frames.wrapping_add(1);
        let time = port.transmit_frame(self.now, self.control.pauses.frame_bytes);
        let order = order(Phase::Pause, port.rank, gate.frames);
        let frame = Event { time, order, a: u32::from(gate.wanted) };
        match port.remote {
            0 => self.calendar.push(frame),
            part => self.after.out.fill(usize::from(part - 1)).push_pause(frame),
        }
        true
    }

    /// Bytes that wait by the link that they came by and their class, found by looking: for the audit.
    pub fn count_waiting(&self) -> Vec<[u32; CLASSES]> {
        let mut waiting = vec![[0; CLASSES]; self.control.pauses.gates.len()];
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

    /// Whether nodes tell each other when to stop.
    pub(in crate::engine) fn is_lossless(&self) -> bool {
        !self.control.pauses.gates.is_empty() || !self.control.credits.links.is_empty()
    }

    /// Class of a packet that pause or credit frames may stop.
    pub(in crate::engine) fn stops(&self, packet: &Packet) -> Option<usize> {
        match self.control.credits.links.is_empty() {
            true => Some(class_of(packet.header.class)),
            false => self.control.credits.charged(packet).map(|(class, _)| class),
        }
    }
}
