//! Grants of a receiving interface: its incomplete messages in order, the first of which may be granted more.
//!
//! Source: Montazeri et al., SIGCOMM 2018, sections 3.3 and 3.5, and PlatformLab/HomaSimulation (`HomaTransport`). Messages are
//! in the order of the bytes that are left to grant, one message of each sender at a time. The first ones, as many as the
//! overcommitment, get a grant each time that fewer bytes than a round trip's are in flight to them, and a packet's time
//! after their last one.

use super::levels::Head;
use crate::engine::contract::host::Timer;
use crate::ids::{ConnId, NodeId};
use crate::units::Time;

/// A message that has bytes left to grant.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub conn: ConnId,
    pub source: NodeId,
    /// Bytes left to grant.
    pub left: u64,
    /// Bytes on the wire, unscheduled and granted, that have not arrived.
    pub in_flight: u64,
    /// It gets no grant while as many are in flight.
    pub window: u64,
    /// Number of the next packet to grant.
    pub next: u32,
    /// Its place among those that have joined; of equals the first goes first.
    joined: u64,
    /// When it may get the next grant, unless its level rises.
    next_at: Time,
    /// The level of its last grant by rank.
    level: u8,
}

impl Entry {
    /// A message that joins.
    pub fn new(conn: ConnId, source: NodeId, left: u64, (in_flight, window): (u64, u64), next: u32) -> Entry {
        Entry { conn, source, left, in_flight, window, next, joined: 0, next_at: Time::ZERO, level: u8::MAX }
    }

    fn goes_before(&self, other: &Entry) -> bool {
        (self.left, self.joined) < (other.left, other.joined)
    }
}

/// The messages of one interface that have bytes left to grant.
#[derive(Clone, Debug)]
pub struct Granter {
    /// Of each sender its first message, in order.
    ranked: Vec<Entry>,
    /// The other messages of these senders.
    behind: Vec<Entry>,
    /// The levels of the first.
    head: Head,
    /// Messages that may be granted at a time.
    most: usize,
    joined: u64,
    /// Set while a message of the first is to get a grant later than now.
    pub timer: Timer,
}

impl Granter {
    /// Without messages; grants go to the first `most`, by these levels.
    pub fn new(most: u32, head: Head) -> Granter {
        let (ranked, behind) = (Vec::new(), Vec::new());
        Granter { ranked, behind, head, most: most as usize, joined: 0, timer: Timer::default() }
    }

    /// A message joins.
    pub fn join(&mut self, entry: Entry) {
        let entry = Entry { joined: self.joined, ..entry };
        self.joined += 1;
        match self.ranked.iter().position(|other| other.source == entry.source) {
            None => self.insert(entry),
            Some(rank) if entry.goes_before(&self.ranked[rank]) => {
                // The better message takes the sender's place, which may be a better one.
                let before = std::mem::replace(&mut self.ranked[rank], entry);
                self.behind.push(before);
                self.rise(rank);
            }
            Some(_) => self.behind.push(entry),
        }
    }

    fn insert(&mut self, entry: Entry) {
        let rank = self.ranked.partition_point(|other| other.goes_before(&entry));
        self.ranked.insert(rank, entry);
        self.head.joined(rank, self.ranked.len());
    }

    /// The message of that rank may belong before others.
    fn rise(&mut self, mut rank: usize) {
        while rank > 0 && self.ranked[rank].goes_before(&self.ranked[rank - 1]) {
            self.ranked.swap(rank, rank - 1);
            rank -= 1;
        }
    }

    /// So many bytes on the wire have arrived of a message that has bytes left to grant.
    pub fn arrived(&mut self, conn: ConnId, wire: u64) {
        let own = |entry: &&mut Entry| entry.conn == conn;
        let found = self.ranked.iter_mut().find(own).or_else(|| self.behind.iter_mut().find(own));
        let entry = found.expect("a message stays until all is granted");
        entry.in_flight -= wire;
    }

    /// The rank of the first message that may be granted now, and the level of that grant.
    pub fn first_due(&self, now: Time) -> Option<(usize, u8)> {
        let mut first = self.ranked.iter().take(self.most).enumerate();
        first.find_map(|(rank, entry)| {
            let level = self.head.of(rank);
            let is_due = entry.next_at <= now || level < entry.level;
            (is_due && entry.in_flight < entry.window).then_some((rank, level))
        })
    }

    /// When the next of the first messages may be granted; [`Time::NEVER`] if all have a window in flight.
    pub fn next_at(&self) -> Time {
        let first = self.ranked.iter().take(self.most).filter(|entry| entry.in_flight < entry.window);
        first.map(|entry| entry.next_at).min().unwrap_or(Time::NEVER)
    }

    /// The message of a rank.
    pub fn at(&self, rank: usize) -> &Entry {
        &self.ranked[rank]
    }

    /// The message of that rank gets a grant by rank of that level: its packets before number `next`, `bytes` of payload
    /// and so many on the wire. It gets no other before `next_at`. Returns whether all of it is granted, and it leaves.
    pub fn grant(
        &mut self,
        rank: usize,
        level: u8,
        next: u32,
        (bytes, wire): (u64, u64),
        next_at: Time,
    ) -> bool {
        let entry = &mut self.ranked[rank];
        entry.left -= bytes;
        entry.in_flight += wire;
        (entry.next, entry.level, entry.next_at) = (next, level, next_at);
        if entry.left > 0 {
            self.rise(rank);
            return false;
        }
        self.remove(rank);
        true
    }

    /// The sender of that rank has all of its first message granted: another one takes its place.
    fn remove(&mut self, rank: usize) {
        let gone = self.ranked.remove(rank);
        self.head.left(rank, self.ranked.len());
        let own = self.behind.iter().enumerate().filter(|(_, entry)| entry.source == gone.source);
        if let Some((at, _)) = own.min_by_key(|(_, entry)| (entry.left, entry.joined)) {
            let next = self.behind.swap_remove(at);
            self.insert(next);
        }
    }

    /// All messages, for the audit.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.ranked.iter().chain(&self.behind)
    }

    /// Whether messages are in order, one of each sender first. For the audit.
    pub fn is_sorted(&self) -> bool {
        let ranked = self.ranked.windows(2).all(|pair| pair[0].goes_before(&pair[1]));
        let first = |entry: &Entry| {
            let best = self.ranked.iter().find(|other| other.source == entry.source);
            best.is_some_and(|best| best.goes_before(entry))
        };
        ranked && self.behind.iter().all(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: (u64, u64) = (1000, 1060);

    fn entry(conn: u32, source: u32, packets: u64) -> Entry {
        Entry::new(ConnId(conn), NodeId(source), 1000 * packets, (0, u64::MAX), 0)
    }

    /// The connections that get grants of a packet each at one instant, if none is in flight to any.
    fn granted(granter: &mut Granter, count: usize) -> Vec<(u32, u8)> {
        let mut order = Vec::new();
        for _ in 0..count {
            let Some((rank, level)) = granter.first_due(Time(0)) else { break };
            let (conn, next) = (granter.at(rank).conn, granter.at(rank).next + 1);
            granter.grant(rank, level, next, PACKET, Time(0));
            order.push((conn.0, level));
            assert!(granter.is_sorted());
        }
        order
    }

    /// Three senders with 3, 1 and 2 packets left, two of which may be granted at a time: the shortest first, on the higher
    /// of the levels 6 and 7; then the others move up.
    #[test]
    fn the_shortest_message_of_each_sender_goes_first() {
        let mut granter = Granter::new(2, Head::new(8, 2, false));
        for (conn, source, left) in [(0, 10, 3), (1, 11, 1), (2, 12, 2)] {
            granter.join(entry(conn, source, left));
        }
        assert_eq!(granted(&mut granter, 9), [(1, 6), (2, 6), (2, 6), (0, 7), (0, 7), (0, 7)]);
        assert_eq!(granter.entries().count(), 0);
    }

    /// Two messages of one sender have one place: the longer one waits until the shorter is granted, although it is longer
    /// than none of the other sender's.
    #[test]
    fn a_sender_has_one_place() {
        let mut granter = Granter::new(2, Head::new(8, 2, false));
        granter.join(entry(0, 10, 2));
        granter.join(entry(1, 10, 1));
        granter.join(entry(2, 11, 5));
        let due = |granter: &Granter| granter.entries().map(|entry| entry.conn.0).collect::<Vec<_>>();
        assert_eq!(due(&granter), [1, 2, 0]);
        assert_eq!(granted(&mut granter, 2), [(1, 6), (0, 6)]);
        assert_eq!(due(&granter), [0, 2]);
    }

    /// Of two messages that wait behind another one of their sender the shorter one follows it, though it came last.
    #[test]
    fn the_shortest_message_behind_follows() {
        let mut granter = Granter::new(2, Head::new(8, 2, false));
        for (conn, left) in [(0, 1), (1, 3), (2, 2)] {
            granter.join(entry(conn, 10, left));
        }
        assert_eq!(
            granted(&mut granter, 9).iter().map(|grant| grant.0).collect::<Vec<_>>(),
            [0, 2, 2, 1, 1, 1]
        );
    }

    /// A message gets its next grant a packet's time after the last, or at once if its level rises, and none while a window is in
    /// flight.
    #[test]
    fn grants_are_paced() {
        let mut granter = Granter::new(2, Head::new(8, 2, false));
        granter.join(Entry { window: 2000, ..entry(0, 10, 9) });
        granter.grant(0, 7, 1, PACKET, Time(50));
        assert_eq!((granter.first_due(Time(49)), granter.next_at()), (None, Time(50)));
        assert_eq!(granter.first_due(Time(50)), Some((0, 7)));
        granter.grant(0, 7, 2, PACKET, Time(100));
        assert_eq!(
            (granter.first_due(Time(100)), granter.next_at()),
            (None, Time::NEVER),
            "a window is in flight"
        );
        granter.arrived(ConnId(0), 1060);
        assert_eq!(granter.first_due(Time(100)), Some((0, 7)));
        // A longer one joins behind it: it moves up to level 6.
        granter.join(entry(1, 11, 20));
        assert_eq!(granter.first_due(Time(0)), Some((0, 6)));
    }
}
