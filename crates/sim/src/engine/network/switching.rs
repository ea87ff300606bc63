//! Switches that hold packets and send packets of their own, for balancers that do so ([`Choose::acts`]), and hosts that
//! hold packets until those before them have come ([`Choose::restores`]).

use super::Network;
use crate::engine::contract::members::Members;
use crate::engine::contract::path::{Acts, Choose, Passage, Passing, Verdict};
use crate::engine::data::event::{Event, Phase, WAKE, order};
use crate::engine::data::packet::{Header, Packet, Tag, flag, reverse_label};
use crate::ids::{LinkId, PacketId};
use crate::units::Time;

impl<M: Members> Network<'_, M> {
    /// A packet comes to a port of the node that it has come to, for its balancer if that has tags: the port that it takes; none
    /// if it is held or ends here.
    #[inline(never)]
    pub(in crate::engine) fn show_passage(&mut self, next: LinkId, id: PacketId) -> LinkId {
        let packet = self.arena[id];
        let balancer = &mut self.balancers[packet.balancer as usize];
        if !balancer.tags() {
            return next;
        }
        let at = self.ends[packet.ingress.index()];
        let passage = Passage { at, to: packet.dst, next, size: packet.size };
        if !balancer.acts() {
            balancer.passes(passage, self.now, self.arena.tag(id));
            return next;
        }
        self.decide(&packet, id, passage)
    }

    /// A packet has come to the host that it is for. Whether its balancer holds it there, or ends it.
    #[inline(never)]
    pub(in crate::engine) fn is_held(&mut self, id: PacketId) -> bool {
        let packet = self.arena[id];
        if !self.restores(&packet) {
            return false;
        }
        let next = packet.ingress.reverse();
        let passage = Passage { at: packet.dst, to: packet.dst, next, size: packet.size };
        self.decide(&packet, id, passage) == LinkId::NONE
    }

    /// A packet that has just been made gets its first tag.
    #[inline(never)]
    pub(super) fn begin_tag(&mut self, id: PacketId) {
        // The slot has had another packet before.
        *self.arena.tag(id) = Tag::default();
        let packet = self.arena[id];
        if self.restores(&packet) {
            let via = self.conns[packet.conn.index()].via;
            let tag = self.arena.tag(id);
            self.balancers[packet.balancer as usize].number(via, packet.label, tag);
        }
    }

    /// Whether a packet is data whose order its balancer restores.
    fn restores(&self, packet: &Packet) -> bool {
        let is_data = !packet.has(flag::CONTROL) && packet.dst == self.conns[packet.conn.index()].dst;
        is_data && self.balancers[packet.balancer as usize].restores()
    }

    /// The balancer decides on a packet, and acts: the link by which it goes on; none if it does not.
    fn decide(&mut self, packet: &Packet, id: PacketId, passage: Passage) -> LinkId {
        let passing = Passing {
            passage,
            packet: id,
            conn: self.conns[packet.conn.index()].via,
            label: packet.label,
            control: packet.has(flag::CONTROL),
            marked: packet.has(flag::CE),
        };
        let mut acts = Acts::default();
        let balancer = &mut self.balancers[packet.balancer as usize];
        let verdict = balancer.handle(passing, self.now, self.arena.tag(id), &mut acts);
        for (size, tag) in std::mem::take(&mut acts.replies) {
            let header = Header { class: 0, ..Header::default() };
            self.reply(packet, size, header, Some(tag));
        }
        self.carry_out(acts, packet.balancer);
        match verdict {
            Verdict::Pass(link) => link,
            Verdict::Hold => LinkId::NONE,
            Verdict::Absorb => {
                self.absorb(id);
                LinkId::NONE
            }
        }
    }

    /// A time has come that the balancer of that number has asked for.
    #[cold]
    pub(super) fn wake_balancer(&mut self, port: LinkId, balancer: u8) {
        let mut acts = Acts::default();
        self.balancers[balancer as usize].wake(port, self.now, &mut acts);
        self.carry_out(acts, balancer);
    }

    fn carry_out(&mut self, acts: Acts, balancer: u8) {
        for (id, link) in acts.released {
            if self.ends[link.reverse().index()] == self.arena[id].dst {
                self.after.received(id);
            } else {
                self.offer_again(link, id);
            }
        }
        for (port, time) in acts.wakes {
            debug_assert!(time > self.now, "a time in the future");
            let which = WAKE + u32::from(balancer);
            let order = order(Phase::Port, self.egress[port.index()].port.rank, which);
            self.calendar.push(Event { time, order, a: which });
        }
    }

    /// The agent at a port sends a packet to the sender of one that has come to its switch.
    #[cold]
    pub(super) fn reply_of_agent(&mut self, cause: PacketId, size: u32, header: Header) {
        let cause = self.arena[cause];
        if cause.ingress != LinkId::NONE {
            self.reply(&cause, size, header, None);
        }
    }

    /// The switch of a packet sends one to the packet's sender.
    fn reply(&mut self, cause: &Packet, size: u32, header: Header, tag: Option<Tag>) {
        let conn = &mut self.conns[cause.conn.index()];
        conn.network.begin();
        let packet = Packet {
            created_at: self.now,
            wire_at: Time::NEVER,
            size,
            dst: conn.src,
            label: reverse_label(cause.label),
            flags: flag::CONTROL,
            header,
            ..*cause
        };
        self.packets_made += 1;
        let id = self.insert(packet);
        if let Some(tag) = tag {
            *self.arena.tag(id) = tag;
        }
        let at = self.ends[cause.ingress.index()];
        match self.next_link(at, id, 0) {
            LinkId::NONE => self.absorb(id),
            link => self.offer_again(link, id),
        }
    }

    /// A packet ends at a switch.
    fn absorb(&mut self, id: PacketId) {
        self.forfeit(self.arena[id].ingress, id);
        let packet = self.arena.remove(id);
        self.leaves(packet.conn);
    }
}
