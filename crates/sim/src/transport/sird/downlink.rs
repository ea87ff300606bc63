//! The credit of a receiving interface: to which message the next packet's goes, and how much is outstanding.
//!
//! Source: SIRD, NSDI 2025, and nwsim. Credit is counted in bytes on the wire, leaves at the rate of the interface's link,
//! and comes back with the data. All senders together hold no more than a budget, and each no more than its bucket and its
//! limits ([`Limits`]).

use super::limits::{self, Limits};
use crate::engine::contract::host::Timer;
use crate::ids::{ConnId, NodeId};
use crate::units::Time;

/// Bounds and order of credit.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Credit that is outstanding at most.
    pub budget: u64,
    /// Whether messages take turns; else the one with the fewest bytes left goes first.
    pub in_turn: bool,
    pub limits: limits::Rules,
}

/// A message that has packets left to credit.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub conn: ConnId,
    pub source: NodeId,
    /// Payload left to credit.
    pub left: u64,
    /// Number of the next packet to credit, and its bytes on the wire.
    pub next: u32,
    pub need: u64,
    /// Its place: bytes left, or the number of its last turn; among equals the first that joined.
    key: u64,
    joined: u64,
}

impl Entry {
    /// A message of so many bytes that joins.
    pub fn new(conn: ConnId, source: NodeId, left: u64, need: u64) -> Entry {
        Entry { conn, source, left, next: 0, need, key: 0, joined: 0 }
    }
}

/// A sender to this interface.
#[derive(Clone, Copy, Debug)]
struct Sender {
    node: NodeId,
    /// Credit that is outstanding to it, and bytes without credit that it has announced.
    credit: u64,
    announced: u64,
    limits: Limits,
}

/// The messages and senders of one interface.
#[derive(Clone, Debug, Default)]
pub struct Downlink {
    /// Messages in order.
    entries: Vec<Entry>,
    /// Senders by number.
    senders: Vec<Sender>,
    /// Of all senders together.
    credit: u64,
    announced: u64,
    /// When the backlog of credit that time has earned is as long as it may be.
    full_at: Time,
    joined: u64,
    turns: u64,
    pub timer: Timer,
}

impl Downlink {
    fn sender(&mut self, node: NodeId, rules: &Rules) -> &mut Sender {
        let place = match self.senders.binary_search_by_key(&node, |sender| sender.node) {
            Ok(place) => place,
            Err(place) => {
                let limits = Limits::new(&rules.limits);
                self.senders.insert(place, Sender { node, credit: 0, announced: 0, limits });
                place
            }
        };
        &mut self.senders[place]
    }

    /// A message joins that is to get credit.
    pub fn join(&mut self, entry: Entry, rules: &Rules) {
        self.sender(entry.source, rules);
        self.joined += 1;
        let key = if rules.in_turn { self.turns } else { entry.left };
        self.insert(Entry { joined: self.joined, key, ..entry });
    }

    fn insert(&mut self, entry: Entry) {
        let place = |own: &Entry| (own.key, own.joined);
        let at = self.entries.partition_point(|other| place(other) < place(&entry));
        self.entries.insert(at, entry);
    }

    /// So many bytes come without credit from that sender: they take room as if they had some.
    pub fn announce(&mut self, node: NodeId, bytes: u64, rules: &Rules) {
        self.sender(node, rules).announced += bytes;
        self.announced += bytes;
    }

    /// A packet has come that gives its bytes back: of a message with credit or without; with its marks.
    pub fn arrived(&mut self, node: NodeId, bytes: u64, credited: bool, marked: [bool; 2], rules: &Rules) {
        let sender = self.sender(node, rules);
        sender.limits.arrived(bytes, marked, &rules.limits);
        if credited {
            sender.credit -= bytes;
            self.credit -= bytes;
        } else {
            sender.announced -= bytes;
            self.announced -= bytes;
        }
    }

    /// The place of the first message that may get credit, whenever that may leave.
    pub fn first(&self, rules: &Rules) -> Option<usize> {
        let outstanding = self.credit + self.announced;
        self.entries.iter().position(|entry| {
            let place = self.senders.binary_search_by_key(&entry.source, |sender| sender.node);
            let sender = &self.senders[place.expect("it has joined with its sender")];
            let own = sender.credit + sender.announced;
            outstanding + entry.need <= rules.budget
                && own + entry.need <= rules.limits.most
                && own <= sender.limits.limit()
        })
    }

    /// The message at that place.
    pub fn at(&self, place: usize) -> &Entry {
        &self.entries[place]
    }

    /// When credit that takes so long on the wire as data may leave, if a full packet takes a slot.
    pub fn due(&self, wire: Time, slot: Time) -> Time {
        Time(self.full_at.0.saturating_sub(backlog(slot).0.saturating_sub(wire.0)))
    }

    /// The credit of the message's next packet leaves. It has so much payload; the one behind it is of `need` bytes on the wire.
    pub fn grant(&mut self, place: usize, payload: u64, need: u64, (now, wire): (Time, Time), rules: &Rules) {
        let mut entry = self.entries.remove(place);
        let sender = self.sender(entry.source, rules);
        sender.credit += entry.need;
        self.credit += entry.need;
        self.full_at = self.full_at.max(now) + wire;
        entry.left -= payload;
        entry.next += 1;
        entry.need = need;
        self.turns += 1;
        entry.key = if rules.in_turn { self.turns } else { entry.left };
        if entry.left > 0 {
            self.insert(entry);
        }
    }

    /// Bytes on the wire that are outstanding, with credit and without.
    pub fn outstanding(&self) -> u64 {
        self.credit + self.announced
    }

    /// For the audit: a bound that is exceeded, or a sum that is wrong.
    pub fn wrong(&self, rules: &Rules) -> Option<String> {
        let Rules { budget, limits: limits::Rules { most, .. }, .. } = *rules;
        if self.credit > budget {
            return Some(format!("{} B of credit are outstanding of {budget} B", self.credit));
        }
        if let Some(sender) = self.senders.iter().find(|sender| sender.credit > most) {
            return Some(format!("{} B of credit are with host {} of {most} B", sender.credit, sender.node));
        }
        let sum = self.senders.iter().map(|sender| sender.credit + sender.announced).sum::<u64>();
        if sum != self.outstanding() {
            return Some(format!("{sum} B are outstanding by sender, {} B in all", self.outstanding()));
        }
        let sorted = self.entries.is_sorted_by_key(|entry| (entry.key, entry.joined));
        (!sorted).then(|| "messages are out of order".into())
    }
}

/// Credit that time has earned and that has not been sent counts up to this: one and a half slots (nwsim).
fn backlog(slot: Time) -> Time {
    Time(slot.0 + slot.0 / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: u64 = 1000;
    const SLOT: Time = Time(100);

    fn rules(budget: u64, most: u64, in_turn: bool) -> Rules {
        let limits = limits::Rules { most, least: [300, 300], full: FULL, gain: 0.5, every: false };
        Rules { budget, in_turn, limits }
    }

    /// Messages of full packets, each of 900 B of payload: connection, source, packets.
    fn downlink(messages: &[(u32, u32, u64)], rules: &Rules) -> Downlink {
        let mut downlink = Downlink::default();
        for (conn, source, packets) in messages {
            downlink.join(Entry::new(ConnId(*conn), NodeId(*source), 900 * packets, FULL), rules);
        }
        downlink
    }

    /// Connections that get credit at one instant.
    fn granted(downlink: &mut Downlink, rules: &Rules) -> Vec<u32> {
        let mut order = Vec::new();
        while let Some(place) = downlink.first(rules) {
            order.push(downlink.at(place).conn.0);
            downlink.grant(place, 900, FULL, (Time(0), SLOT), rules);
            assert_eq!(downlink.wrong(rules), None);
        }
        order
    }

    /// The shortest message goes first, but its sender holds no more than two packets; all hold no more than five.
    #[test]
    fn budgets_of_all_and_of_one() {
        let rules = rules(5 * FULL, 2 * FULL, false);
        let mut own = downlink(&[(0, 10, 9), (1, 11, 4), (2, 12, 6)], &rules);
        assert_eq!(granted(&mut own, &rules), [1, 1, 2, 2, 0]);
        assert_eq!(own.outstanding(), 5 * FULL);
        own.arrived(NodeId(12), FULL, true, [false, false], &rules);
        assert_eq!(granted(&mut own, &rules), [2]);
        own.arrived(NodeId(10), FULL, true, [false, false], &rules);
        own.arrived(NodeId(11), FULL, true, [false, false], &rules);
        assert_eq!(granted(&mut own, &rules), [1, 0]);
    }

    /// In turn each message gets one; a message leaves with its last packet.
    #[test]
    fn messages_take_turns() {
        let rules = rules(100 * FULL, 100 * FULL, true);
        let mut own = downlink(&[(0, 10, 3), (1, 11, 1), (2, 12, 2)], &rules);
        assert_eq!(granted(&mut own, &rules), [0, 1, 2, 0, 2, 0]);
    }

    /// Bytes without credit take room: three packets leave room for two of four. As they come the room is free.
    #[test]
    fn announced_bytes_take_room() {
        let rules = rules(5 * FULL, 4 * FULL, false);
        let mut own = downlink(&[(0, 10, 9), (1, 11, 9)], &rules);
        own.announce(NodeId(10), 3 * FULL, &rules);
        assert_eq!(granted(&mut own, &rules), [0, 1]);
        own.announce(NodeId(11), 9 * FULL, &rules);
        own.arrived(NodeId(10), FULL, false, [false, false], &rules);
        assert_eq!((granted(&mut own, &rules), own.outstanding()), (vec![], 13 * FULL));
    }

    /// A sender whose limit is below its credit gets none until enough has come back.
    #[test]
    fn a_limit_holds_credit_back() {
        let rules = rules(100 * FULL, 10 * FULL, false);
        let mut own = downlink(&[(0, 10, 40)], &rules);
        assert_eq!(granted(&mut own, &rules).len(), 10);
        // Marks: the limit is 10 packets for fourteen packets, then 7.5.
        for _ in 0..14 {
            own.arrived(NodeId(10), FULL, true, [false, true], &rules);
            assert_eq!(granted(&mut own, &rules), [0]);
        }
        own.arrived(NodeId(10), FULL, true, [false, true], &rules);
        assert_eq!((own.outstanding(), granted(&mut own, &rules)), (9 * FULL, vec![]));
        own.arrived(NodeId(10), FULL, true, [false, true], &rules);
        assert_eq!(granted(&mut own, &rules), [0; 0]);
        own.arrived(NodeId(10), FULL, true, [false, true], &rules);
        assert_eq!(granted(&mut own, &rules), [0]);
    }

    /// From rest credit may leave at once, the next one half a slot later, then one in each slot; half a packet sooner if it is
    /// for half a packet.
    #[test]
    fn credit_is_paced() {
        let rules = rules(100 * FULL, 100 * FULL, false);
        let mut own = downlink(&[(0, 10, 40)], &rules);
        for due in [0, 1050, 1150, 1250] {
            assert_eq!(own.due(SLOT, SLOT), Time(due));
            own.grant(0, 900, FULL, (Time(due.max(1000)), SLOT), &rules);
        }
        assert_eq!((own.due(SLOT, SLOT), own.due(Time(50), SLOT)), (Time(1350), Time(1300)));
    }
}
