//! The messages that a host sends: which of them goes next, and the credit that the host holds.
//!
//! Source: SIRD, NSDI 2025, and nwsim: a share of the uplink goes to the shortest message, the rest in equal parts to the
//! receivers of those that may send. nwsim serves them by deficit round robin; here each packet goes by the part that is
//! behind, which has the same shares.

use crate::ids::{ConnId, NodeId};

/// A message that may send.
#[derive(Clone, Copy, Debug)]
struct Ready {
    conn: ConnId,
    receiver: NodeId,
    /// Bytes left to send.
    left: u64,
    /// Its number among those that could send: of equals the first goes first. Connections have other numbers in other parts
    /// of a run.
    joined: u64,
    /// Whether it goes next at its port.
    first: bool,
}

/// The state of a message at its sender that its host looks at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outgoing {
    /// Bytes on the wire of granted packets that have not been sent.
    pub held: u64,
    /// Whether packets are left that have never been sent.
    pub is_open: bool,
    /// Bytes left to send, if a packet may be sent.
    pub ready: Option<u64>,
}

/// A change of rank at a port.
pub type Change = (ConnId, bool);

/// The outgoing messages of one host.
#[derive(Clone, Debug, Default)]
pub struct Uplink {
    ready: Vec<Ready>,
    joined: u64,
    /// Bytes on the wire by which the shortest message is behind its share of the uplink.
    owed: f64,
    /// Number of the receiver that had the last turn.
    last: u32,
    /// Bytes on the wire of all granted packets that have not been sent.
    held: u64,
    /// Messages with packets that have never been sent.
    open: u32,
}

impl Uplink {
    /// Bytes on the wire of the credit that the host holds.
    pub fn held(&self) -> u64 {
        self.held
    }

    /// Messages that are not sent yet.
    pub fn open(&self) -> u32 {
        self.open
    }

    /// A message to that receiver has changed. Those that may send are to be chosen from anew.
    pub fn change(&mut self, (conn, receiver): (ConnId, NodeId), before: Outgoing, now: Outgoing) {
        self.held = self.held + now.held - before.held;
        self.open = self.open + u32::from(now.is_open) - u32::from(before.is_open);
        let place = self.ready.iter().position(|other| other.conn == conn);
        match (place, now.ready) {
            (Some(place), Some(left)) => self.ready[place].left = left,
            (Some(place), None) => {
                self.ready.swap_remove(place);
            }
            (None, Some(left)) => {
                self.joined += 1;
                self.ready.push(Ready { conn, receiver, left, joined: self.joined, first: false });
            }
            (None, None) => {}
        }
    }

    /// A packet of so many bytes on the wire goes to that receiver; the shortest message has that share of the uplink.
    pub fn sent(&mut self, receiver: NodeId, bytes: u32, share: f64) {
        let bytes = f64::from(bytes);
        if self.owed > 0.0 {
            self.owed -= bytes;
        } else {
            self.last = receiver.0;
        }
        self.owed += share * bytes;
    }

    /// The message that goes next among those that are sent by one port.
    pub fn next(&self, at_port: impl Fn(ConnId) -> bool) -> Option<ConnId> {
        // Receivers have turns in the order of their numbers, from the one behind the last on.
        let turn = |own: &Ready| own.receiver.0.wrapping_sub(self.last).wrapping_sub(1);
        let here = self.ready.iter().filter(|own| at_port(own.conn));
        let chosen = match self.owed > 0.0 {
            true => here.min_by_key(|own| (own.left, own.joined)),
            false => here.min_by_key(|own| (turn(own), own.left, own.joined)),
        };
        chosen.map(|own| own.conn)
    }

    /// That message goes next at the port: one that is to be first there now, or no longer; none once all is as it should be.
    pub fn change_first(&mut self, chosen: ConnId, at_port: impl Fn(ConnId) -> bool) -> Option<Change> {
        let mut wrong = self.ready.iter_mut().filter(|own| own.first != (own.conn == chosen));
        let own = wrong.find(|own| at_port(own.conn))?;
        own.first = !own.first;
        Some((own.conn, own.first))
    }

    /// Whether a message goes next at its port.
    pub fn is_first(&self, conn: ConnId) -> bool {
        self.ready.iter().any(|own| own.conn == conn && own.first)
    }

    /// For the audit: whether a message is among those that may send.
    pub fn has(&self, conn: ConnId) -> bool {
        self.ready.iter().any(|own| own.conn == conn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages that may send: connection, receiver, bytes left.
    fn uplink(messages: &[(u32, u32, u64)]) -> Uplink {
        let mut uplink = Uplink::default();
        for (conn, receiver, left) in messages {
            let now = Outgoing { held: 1000, is_open: true, ready: Some(*left) };
            uplink.change((ConnId(*conn), NodeId(*receiver)), Outgoing::default(), now);
        }
        uplink
    }

    /// Packets of 1000 B in the order in which they go, by their connections.
    fn order(uplink: &mut Uplink, share: f64, count: usize) -> Vec<u32> {
        let mut first = Vec::new();
        let mut one = || {
            let next = uplink.next(|_| true).expect("a message may send");
            while let Some((conn, is_first)) = uplink.change_first(next, |_| true) {
                match is_first {
                    true => first.push(conn),
                    false => first.retain(|other| *other != conn),
                }
            }
            assert!(uplink.is_first(next));
            assert_eq!(first.len(), 1);
            let own = uplink.ready.iter().find(|own| own.conn == first[0]).expect("it may send");
            let receiver = own.receiver;
            uplink.sent(receiver, 1000, share);
            first[0].0
        };
        (0..count).map(|_| one()).collect()
    }

    /// Of three receivers the first has the shortest message: half of the packets are its, and a third of the others.
    #[test]
    fn half_of_the_uplink_is_for_the_shortest_message() {
        let mut own = uplink(&[(0, 1, 5000), (1, 2, 9000), (2, 3, 9000)]);
        let order = order(&mut own, 0.5, 12);
        assert_eq!(order, [0, 0, 1, 0, 2, 0, 0, 0, 1, 0, 2, 0]);
        assert_eq!(order.iter().filter(|&&conn| conn == 0).count(), 8);
    }

    /// With a share of 1 the shortest message goes alone, but for the first packet; with none receivers take turns, each with its
    /// shortest message.
    #[test]
    fn shares_of_none_and_all() {
        let messages = [(0, 2, 9000), (1, 2, 8000), (2, 1, 9000)];
        assert_eq!(order(&mut uplink(&messages), 1.0, 4), [2, 1, 1, 1]);
        assert_eq!(order(&mut uplink(&messages), 0.0, 4), [2, 1, 2, 1]);
    }

    /// Of messages with as much left the first that could send goes first, whatever the number of its connection.
    #[test]
    fn equals_go_in_the_order_in_which_they_came() {
        assert_eq!(order(&mut uplink(&[(7, 1, 9000), (3, 1, 9000), (5, 1, 9000)]), 0.5, 3), [7, 7, 7]);
        assert_eq!(order(&mut uplink(&[(3, 1, 9000), (7, 1, 9000)]), 1.0, 3), [3, 3, 3]);
    }

    /// Credit and messages are counted; one that has nothing to send is not chosen; a port chooses among its own.
    #[test]
    fn messages_come_and_go() {
        let mut own = uplink(&[(0, 1, 5000), (1, 2, 9000)]);
        assert_eq!((own.held(), own.open()), (2000, 2));
        let before = Outgoing { held: 1000, is_open: true, ready: Some(5000) };
        own.change((ConnId(0), NodeId(1)), before, Outgoing { held: 0, is_open: false, ready: None });
        assert_eq!((own.held(), own.open(), own.has(ConnId(0))), (1000, 1, false));
        assert_eq!(order(&mut own, 0.5, 2), [1, 1]);
        assert_eq!((own.next(|conn| conn != ConnId(1)), own.next(|_| true)), (None, Some(ConnId(1))));
    }
}
