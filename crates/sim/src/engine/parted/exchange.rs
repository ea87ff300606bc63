//! Between two windows: parts hand over what they have for each other, connections close, observers look.

use super::*;
use crate::engine::contract::observer::{Inside, look_by, next_look, show};
use crate::engine::data::conn::InNetwork;

impl<'a, 'o, M: Members> Parted<'a, 'o, M> {
    /// Parts hand over what they have for each other.
    pub(in crate::engine) fn exchange(&mut self) {
        self.number_drawn();
        for from in 0..self.parts.len() {
            self.parts[from].net.announce_paths();
            for id in std::mem::take(&mut self.parts[from].net.remote.opened) {
                let conn = self.parts[from].net.conns[id.index()];
                for to in (0..self.parts.len()).filter(|&to| to != from) {
                    self.parts[to].net.admit(id, conn);
                }
            }
            for (host, event) in std::mem::take(&mut self.parts[from].net.remote.starts) {
                let part = &mut self.parts[self.partition.of(host)];
                part.starts.admit();
                part.net.calendar.push(event);
            }
            for to in self.parts[from].net.after.out.filled() {
                self.hand_outbox(from, to);
            }
        }
        self.close();
    }

    /// One part hands over what it has for another.
    fn hand_outbox(&mut self, from: usize, to: usize) {
        let mut outbox = self.parts[from].net.after.out.take(to);
        let part = &mut self.parts[to];
        if !outbox.credits.is_empty() {
            // Whether a frame is an event depends on the port that it comes to.
            outbox.credits.drain(..).for_each(|(link, frame)| part.net.credit_comes(link, frame));
            part.note_undecided();
        }
        if outbox.is_empty() {
            return self.parts[from].net.after.out.give_back(to, outbox);
        }
        self.counts.crossings += outbox.packets.len() as u64;
        // What came before has been taken in: both are empty or hold this window's packets.
        let emptied = part.net.remote.inbox.replace(from, outbox);
        assert!(emptied.is_empty(), "a outbox is taken in before the next one comes");
        self.parts[from].net.after.out.give_back(to, emptied);
    }

    /// Closes the connections whose packets are gone in all parts.
    pub(in crate::engine) fn close(&mut self) {
        // The last subflow that closes may close its flow, which any part may have found over before it.
        while self.close_found() {}
    }

    /// Closes those that the parts have found over; whether a subflow is among them.
    fn close_found(&mut self) -> bool {
        let mut subflows = false;
        for at in 0..self.parts.len() {
            let mut closing = std::mem::take(&mut self.parts[at].closing);
            closing.retain(|&id| {
                let closes = self.close_one(at, id);
                subflows |= closes && self.parts[at].net.conns[id.index()].parent != ConnId::NONE;
                !closes
            });
            closing.append(&mut self.parts[at].closing);
            self.parts[at].closing = closing;
        }
        subflows
    }

    /// Closes a connection that is over for that part, unless packets of it exist; says whether it has. Its slot is free
    /// after its last timer: the part of the sender or of the receiver then finds it over again.
    fn close_one(&mut self, found_at: usize, id: ConnId) -> bool {
        self.counts.closing_looks += 1;
        let home = (id.0 % self.partition.count) as usize;
        if !self.parts[home].net.conns[id.index()].open {
            // The timers at both ends have expired in this window, and the slot is free.
            self.parts[found_at].net.conns[id.index()].closing = false;
            return true;
        }
        let conn = self.join(home, id);
        if conn.network.packets != 0 {
            return false;
        }
        for (at, part) in self.parts.iter_mut().enumerate() {
            let own = &mut part.net.conns[id.index()];
            if at == home {
                *own = Conn { closing: own.closing, ..conn };
            } else {
                // Counted at home from here on.
                own.network = InNetwork::NONE;
                own.close();
                own.sender.done = true;
            }
            own.closing &= at != found_at;
        }
        let part = &mut self.parts[home];
        part.count_ended(id, conn.network.ended_at);
        part.close(id);
        part.tidy();
        if !part.net.conns[id.index()].open {
            self.parts.iter_mut().for_each(|part| part.net.conns[id.index()].open = false);
        }
        true
    }

    /// Shows observers the points until that time, to which all parts have come.
    pub(in crate::engine) fn show_until(&mut self, end: Time) {
        let points = self.points_until(end);
        show(&mut self.observers, &points);
    }

    pub(in crate::engine) fn next_look(&self) -> Time {
        next_look(&self.observers)
    }

    pub(in crate::engine) fn look_until(&mut self, end: Time) {
        if self.next_look() > end {
            return;
        }
        self.parts.iter_mut().for_each(|part| part.take_in());
        self.join_all();
        let mut observers = std::mem::take(&mut self.observers);
        look_by(&mut observers, end, self);
        self.observers = observers;
    }
}
