//! Credit frames: sent at the end of a link, read at its head. The accounts are in `data/credit.rs`.

use super::Network;
use super::egress::PortQueue;
use crate::engine::contract::discipline::Discipline;
use crate::engine::contract::members::Members;
use crate::engine::data::credit::{CLASSES, Frame};
use crate::engine::data::event::{Phase, order};
use crate::ids::{LinkId, PacketId};

impl<M: Members> Network<'_, M> {
    /// The wire is free and takes a frame, if something is owed.
    #[cold]
    pub(in crate::engine) fn send_credit(&mut self, link: LinkId) -> bool {
        let (credits, now, head) = (&mut self.control.credits, self.now, link.reverse());
        let port = &mut self.egress[link.index()].port;
        port.frame_waits = false;
        if !std::mem::take(&mut credits.links[head.index()].due) {
            return false;
        }
        let credit = &mut credits.links[head.index()];
        credit.frames = credit.frames.wrapping_add(1);
        let frame = Frame {
            at: port.transmit_frame(now, credits.frame_bytes),
            order: order(Phase::Pause, port.rank, credit.frames),
            bytes: std::mem::take(&mut credit.owed),
            queue: credit.queue,
            load: credit.load,
        };
        match port.remote {
            0 => self.credit_comes(link, frame),
            part => self.after.out.fill(usize::from(part - 1)).credits.push((link, frame)),
        }
        true
    }

    /// A frame is on its way by that link, to a port of this part of the run.
    pub(in crate::engine) fn credit_comes(&mut self, link: LinkId, frame: Frame) {
        let (credits, head) = (&mut self.control.credits, link.reverse());
        credits.read_frames(head, self.now);
        credits.in_flight[link.index()].push(frame);
        let event = credits.await_frame(head);
        event.into_iter().for_each(|event| self.calendar.push(event));
    }

    /// A fault has lost a packet that came or was to come by a link.
    #[cold]
    pub(in crate::engine) fn forfeit(&mut self, ingress: LinkId, id: PacketId) {
        if let Some((class, size)) = self.control.credits.charged(&self.arena[id])
            && self.control.credits.owe(ingress, class, size)
        {
            self.after.pause(ingress);
        }
    }

    /// Bytes of data that wait, by the link that they came by and their class.
    pub(in crate::engine) fn charged_waiting(&self) -> Vec<[u32; CLASSES]> {
        let mut waiting = vec![[0; CLASSES]; self.control.credits.links.len()];
        for egress in &self.egress {
            let PortQueue::Serviced(model) = &egress.queue else { continue };
            model.resident(&mut |id| self.add_charged(id, &mut waiting));
        }
        waiting
    }

    /// Adds the bytes of a packet that are charged to the link that it came by.
    pub(in crate::engine) fn add_charged(&self, id: PacketId, waiting: &mut [[u32; CLASSES]]) {
        let packet = &self.arena[id];
        if let (Some((class, size)), Some(waiting)) =
            (self.control.credits.charged(packet), waiting.get_mut(packet.ingress.index()))
        {
            waiting[class] += size;
        }
    }

    /// Removes the credit from a frame in flight: how a test of the audit loses a credit.
    #[cfg(test)]
    pub fn lose_credit(&mut self) -> bool {
        let tells = |ring: &&mut crate::engine::data::ring::Ring<Frame>| {
            ring.first().is_some_and(|frame| frame.bytes != [0; CLASSES])
        };
        let Some(ring) = self.control.credits.in_flight.iter_mut().find(tells) else { return false };
        for _ in 0..ring.len() {
            let frame = ring.pop().expect("it has so many");
            ring.push(Frame { bytes: [0; CLASSES], ..frame });
        }
        true
    }
}
