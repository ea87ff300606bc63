//! The audit of one part of a run: its share of the walks, and its transports.

use super::{Auditor, FINDINGS_MAX, Found};
use crate::engine::contract::agent::TICK;
use crate::engine::contract::discipline::Discipline;
use crate::engine::contract::endpoint::Endpoint;
use crate::engine::contract::members::Members;
use crate::engine::contract::path::Choose;
use crate::engine::data::conn::Conn;
use crate::engine::data::event::{Owner, Phase, is_wake};
use crate::engine::data::gate::CLASSES;
use crate::engine::data::start::start_of;
use crate::engine::network::egress::PortQueue;
use crate::engine::run::Engine;
use crate::ids::{ConnId, LinkId, PacketId};

impl<M: Members> Engine<'_, '_, M> {
    /// Compares the counters with the contents; differences join the violations.
    pub(in crate::engine) fn audit(&mut self) {
        let now = self.net.now;
        let mut wrong = Auditor { parts: vec![&*self], conns: &self.net.conns, now }.audit();
        if let Some(control_plane) = &mut self.net.control_plane {
            control_plane.audit(&mut wrong);
        }
        self.violations.extend(wrong.into_iter().map(|what| format!("at {now}: {what}")));
        self.violations.truncate(FINDINGS_MAX);
    }
}

impl<M: Members> Engine<'_, '_, M> {
    /// Number of items that an audit of this part compares: packets, connections and ports, to which all events belong.
    pub(in crate::engine) fn audited_items(&self) -> u64 {
        (self.net.arena.slots() + self.net.conns.len() + self.net.egress.len()) as u64
    }
}

impl<M: Members> Engine<'_, '_, M> {
    /// Adds what is in this part.
    pub(super) fn walk(&self, found: &mut Found, wrong: &mut Vec<String>) {
        // By packet: how often it is found.
        let mut packets = vec![0u8; self.net.arena.slots()];
        let mut note = |found: &mut Found, wrong: &mut Vec<String>, id: PacketId| {
            packets[id.index()] = packets[id.index()].saturating_add(1);
            let conn = self.net.arena[id].conn;
            match found.conn_packets.get_mut(conn.index()) {
                Some(count) => *count += 1,
                None => wrong.push(format!("packet {id} belongs to connection {conn}, which never was")),
            }
        };
        for event in self.net.calendar.iter() {
            let phase = event.phase();
            if phase == Phase::Arrival as u8 || phase == Phase::Lost as u8 {
                note(found, wrong, PacketId(event.a));
                found.on_wire[self.net.links.of(&event).index()] += 1;
            } else if phase == Phase::Departure as u8 {
                found.departures[self.net.links.of(&event).index()] += 1;
            } else if phase == Phase::Port as u8 {
                let link = self.net.links.of(&event).index();
                match event.a {
                    TICK => found.ticks[link] += 1,
                    which if is_wake(which) => {}
                    _ => found.port_timers[link] += 1,
                }
            } else if phase == Phase::Timer as u8
                && let Owner::Sender(id) | Owner::Receiver(id) = event.owner()
            {
                found.conn_timers[id.index()] += 1;
            }
        }
        for (link, egress) in self.net.egress.iter().enumerate() {
            if let PortQueue::Serviced(model) = &egress.queue {
                let mut waiting = Vec::new();
                model.resident(&mut |id| waiting.push(id));
                for id in waiting {
                    note(found, wrong, id);
                    found.resident[link].add(self.net.arena[id].size);
                }
            }
        }
        for (link, packet) in self.net.after.leaving.iter() {
            note(found, wrong, PacketId(packet.event.a));
            found.on_wire[link.index()] += 1;
        }
        for balancer in &self.net.balancers {
            balancer.held(&mut |id| note(found, wrong, id));
        }
        self.audit_packets(&packets, wrong);
    }

    /// Every live packet is in exactly one place.
    pub(super) fn audit_packets(&self, packets: &[u8], wrong: &mut Vec<String>) {
        let total: usize = packets.iter().map(|&times| times as usize).sum();
        if total != self.net.arena.live() {
            wrong.push(format!(
                "{} packets live, {total} found in queues and on wires",
                self.net.arena.live()
            ));
        }
        for (id, times) in packets.iter().enumerate().filter(|&(_, &times)| times > 1) {
            wrong.push(format!("packet {id} is in {times} places at once"));
        }
    }

    /// The bytes counted by link and class are the queued ones.
    pub(super) fn audit_pauses(&self, wrong: &mut Vec<String>) {
        for (link, (gate, found)) in
            self.net.control.pauses.gates.iter().zip(self.net.count_waiting()).enumerate()
        {
            if gate.waiting != found {
                let counted = gate.waiting;
                wrong.push(format!(
                    "link {link}: {counted:?} bytes counted by class behind it, {found:?} wait"
                ));
            }
        }
    }

    /// The memory in use is that of the counted queues and links, which are the waiting packets.
    pub(super) fn audit_memory(&self, wrong: &mut Vec<String>) {
        let memory = &self.net.control.memory;
        for (node, (switch, found)) in memory.switches.iter().zip(memory.count_used()).enumerate() {
            if switch.used != found || switch.used > switch.size {
                wrong.push(format!(
                    "node {node}: {} of {} shared bytes in use, {found} counted",
                    switch.used, switch.size
                ));
            }
        }
        for (link, (queue, egress)) in memory.queues.iter().zip(&self.net.egress).enumerate() {
            let (port, counted) =
                (&egress.port, queue.queued.iter().map(|&bytes| u64::from(bytes)).sum::<u64>());
            // The wire may be free since, which no event has noted yet.
            let waits = port.bytes - u64::from(port.wire_bytes);
            if port.shares && waits != counted {
                wrong.push(format!("link {link}: {counted} bytes counted in its queue, {waits} wait"));
            }
        }
        for (link, (arrivals, gate)) in memory.arrivals.iter().zip(&self.net.control.pauses.gates).enumerate()
        {
            let counted = |class: usize| arrivals.held[class] + arrivals.over[class];
            let counts = |class: usize| memory.gates.exempt & 1 << class == 0;
            if (0..CLASSES).any(|class| counts(class) && counted(class) != gate.waiting[class]) {
                wrong.push(format!("link {link}: its share of the memory is not {:?}", gate.waiting));
            }
        }
    }

    /// Every start that is to come has its event.
    pub(super) fn audit_starts(&self, wrong: &mut Vec<String>) {
        let starts = self.net.calendar.iter().filter(|event| event.phase() == Phase::Start as u8);
        let (events, expected) = self.starts.audit(starts.map(|event| start_of(&event)));
        if events != expected {
            wrong.push(format!("{expected} starts to come, {events} of them pending"));
        }
    }
}

impl<M: Members> Engine<'_, '_, M> {
    /// Transports know the ends of connections that are in this part.
    pub(super) fn audit_transports(&self, conns: &[Conn], wrong: &mut Vec<String>) {
        let here = |conn: &Conn| {
            let mut conn = *conn;
            conn.receiver.accepted &= !self.net.remote.is_remote(conn.dst);
            conn.sender.port =
                if self.net.remote.is_remote(conn.src) { LinkId::NONE } else { conn.sender.port };
            conn
        };
        for (index, transport) in self.transports.iter().enumerate() {
            let conns = conns.iter().enumerate();
            let own = conns.filter(|(_, conn)| conn.open && conn.transport as usize == index);
            let own: Vec<_> = own.map(|(slot, conn)| (ConnId(slot as u32), here(conn))).collect();
            transport.audit(&own, &mut |what| wrong.push(what));
        }
    }
}
