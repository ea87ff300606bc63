//! Packets queued at the hosts, as the controller sees them: for each pair of hosts a queue, for each queue
//! its flows.
//!
//! Source: Sviridov, Bianco and Giaccone, Globecom 2018, sections II-A and III-A: each server keeps a queue
//! for each destination, the packets of a flow arrive together, and a priority is that of the packet at the
//! head. So a flow is one entry, however many packets it has. A grant may reach its host later than the
//! controller gives it: until the host reports the sent packet, the grant is outstanding, and the head is the
//! packet behind all those that are granted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::NodeId;
use crate::units::Time;

/// Order of a queue's flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FlowOrder {
    /// As they arrive.
    #[default]
    Arrival,
    /// The one with the fewest remaining bytes is first: a reading of "shortest remaining job first" in which
    /// a short flow does not wait behind a longer one of its own pair.
    Shortest,
}

/// The backlog, queue by queue. Its memory is in proportion to queues and flows, not to packets.
#[derive(Clone, Debug)]
pub struct Backlog {
    sequence: FlowOrder,
    /// The most bytes that a grant lets through.
    slot_bytes: u64,
    queues: Vec<Queue>,
    flows: Vec<Flow>,
    /// The first free place in `flows`.
    vacant: u32,
}

/// Stands for no flow.
const NONE: u32 = u32::MAX;

/// Stands for the flow of a queue's place in the order that has become a wrong one.
const STALE: u32 = u32::MAX - 1;

/// Stands for an unknown number of packets.
const UNKNOWN: u32 = u32::MAX;

/// Stands for the slot of a queue that has not been granted any.
const NEVER: Time = Time::NEVER;

/// The backlog at one host for another.
#[derive(Clone, Debug)]
struct Queue {
    source: NodeId,
    destination: NodeId,
    /// Places in `flows`.
    first: u32,
    last: u32,
    bytes: u64,
    /// Grants that its flows need.
    needed: u32,
    /// Its grants that have not been reported back.
    outstanding: u32,
    /// The slot of its last grant.
    granted: Time,
    /// The flow at its head when it took its place in the order; [`NONE`] if it has no place.
    listed: u32,
}

/// A flow, or a vacant place.
#[derive(Clone, Copy, Debug)]
struct Flow {
    id: u32,
    /// The next flow of the queue, or the next vacant place.
    next: u32,
    bytes: u64,
    packets: u32,
    arrived: Time,
}

/// The packet of a queue that is next to be granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Its flow.
    pub flow: u32,
    /// When it arrived: all packets of a flow do so together.
    pub arrived: Time,
    /// Since when it is the head: the later of its arrival and of the slot that the packet before it was given.
    pub since: Time,
    /// Remaining bytes of its flow, itself included. Behind outstanding grants, whose packets may have any
    /// length, it is an estimate, at least 1.
    pub residual: u64,
    /// The slot that the queue was given last.
    pub granted: Option<Time>,
}

/// Change of a queue's place in the order of those that want a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listing {
    /// It has none, as before, or keeps it.
    Same,
    /// It had none and takes one by this head.
    Enters(Head),
    /// It had one by another head.
    Moves(Head),
    /// It has nothing left that wants a grant.
    Leaves,
}

impl Backlog {
    /// Without queues. `slot_bytes` is the most that a grant lets through.
    pub fn new(sequence: FlowOrder, slot_bytes: u64) -> Backlog {
        Backlog { sequence, slot_bytes, queues: Vec::new(), flows: Vec::new(), vacant: NONE }
    }

    /// A queue for the backlog at one host for another, by the next number from 0.
    pub fn open(&mut self, source: NodeId, destination: NodeId) -> u32 {
        self.queues.push(Queue {
            source,
            destination,
            first: NONE,
            last: NONE,
            bytes: 0,
            needed: 0,
            outstanding: 0,
            granted: NEVER,
            listed: NONE,
        });
        self.queues.len() as u32 - 1
    }

    /// The same by a number that its hosts have given it; it may be reported again. Those between, whose
    /// reports are in transit, are opened with it and get their ends when these arrive.
    pub fn open_as(&mut self, number: u32, source: NodeId, destination: NodeId) {
        while self.queues.len() <= number as usize {
            self.open(source, destination);
        }
        let queue = &mut self.queues[number as usize];
        (queue.source, queue.destination) = (source, destination);
    }

    /// The hosts of a queue, source first.
    pub fn ends(&self, queue: u32) -> (NodeId, NodeId) {
        let queue = &self.queues[queue as usize];
        (queue.source, queue.destination)
    }

    /// Bytes that wait in a queue, granted ones included.
    pub fn bytes(&self, queue: u32) -> u64 {
        self.queues[queue as usize].bytes
    }

    /// Grants of a queue that have not been reported back.
    pub fn outstanding(&self, queue: u32) -> u32 {
        self.queues[queue as usize].outstanding
    }

    /// All packets of a flow arrive. Where their number is not known, each grant is taken to let a full slot through,
    /// so that a flow gets fewer grants ahead of the host's reports than it has packets, never more.
    pub fn burst(&mut self, queue: u32, flow: u32, bytes: u64, packets: Option<u32>, at: Time) {
        let flow = Flow { id: flow, next: NONE, bytes, packets: packets.unwrap_or(UNKNOWN), arrived: at };
        let of = &mut self.queues[queue as usize];
        of.bytes += bytes;
        of.needed += flow.needed(self.slot_bytes);
        let place = if self.vacant == NONE {
            self.flows.push(flow);
            self.flows.len() as u32 - 1
        } else {
            let place = self.vacant;
            self.vacant = self.flows[place as usize].next;
            self.flows[place as usize] = flow;
            place
        };
        self.link(queue, place);
    }

    /// A queue that the order gave a slot has left the order with a grant. Returns the slot of the one before.
    pub fn grant(&mut self, queue: u32, slot: Time) -> Option<Time> {
        let queue = &mut self.queues[queue as usize];
        queue.outstanding += 1;
        queue.listed = NONE;
        let before = std::mem::replace(&mut queue.granted, slot);
        (before != NEVER).then_some(before)
    }

    /// A host has sent so many bytes and packets of a flow, by so many grants: usually one of each; no packet for a
    /// fragment that is not the last, no grant for a packet that shared the slot of another.
    pub fn sent(&mut self, queue: u32, flow: u32, bytes: u64, packets: u32, grants: u32) {
        let (before, place) = self.find(queue, flow);
        let sent = &mut self.flows[place as usize];
        let needed = sent.needed(self.slot_bytes);
        sent.bytes -= bytes;
        if sent.packets != UNKNOWN {
            sent.packets -= packets;
        }
        let rest = *sent;
        let of = &mut self.queues[queue as usize];
        of.bytes -= bytes;
        of.outstanding -= grants;
        of.needed = of.needed - needed + rest.needed(self.slot_bytes);
        if rest.bytes == 0 {
            self.unlink(queue, before, place);
            self.flows[place as usize].next = self.vacant;
            self.vacant = place;
        } else if self.sequence == FlowOrder::Shortest && before != NONE {
            self.unlink(queue, before, place);
            self.link(queue, place);
        }
    }

    /// The grant of that slot will not be used: it was lost, or came too late. If none was given after it, the head
    /// has been the head since the grant `before` it, as if it had not been given.
    pub fn withdraw(&mut self, queue: u32, slot: Time, before: Option<Time>) {
        let queue = &mut self.queues[queue as usize];
        queue.outstanding -= 1;
        if queue.granted == slot {
            queue.granted = before.unwrap_or(NEVER);
            if queue.listed != NONE {
                queue.listed = STALE;
            }
        }
    }

    /// The packet that is next to be granted, if any is.
    pub fn head(&self, queue: u32) -> Option<Head> {
        let queue = &self.queues[queue as usize];
        if queue.needed <= queue.outstanding {
            return None;
        }
        let (mut place, mut granted) = (queue.first, queue.outstanding);
        loop {
            let flow = &self.flows[place as usize];
            let needed = flow.needed(self.slot_bytes);
            if granted < needed {
                return Some(self.head_of(queue, flow, granted));
            }
            granted -= needed;
            place = flow.next;
        }
    }

    fn head_of(&self, queue: &Queue, flow: &Flow, granted: u32) -> Head {
        let ahead = match flow.packets {
            _ if granted == 0 => 0,
            UNKNOWN => u64::from(granted) * self.slot_bytes,
            packets => flow.bytes * u64::from(granted) / u64::from(packets),
        };
        let last = (queue.granted != NEVER).then_some(queue.granted);
        Head {
            flow: flow.id,
            arrived: flow.arrived,
            since: last.map_or(flow.arrived, |slot| slot.max(flow.arrived)),
            residual: flow.bytes.saturating_sub(ahead).max(1),
            granted: last,
        }
    }

    /// The change that the order of queues has to make for one after all its events. It keeps its place while
    /// its head is of the same flow.
    pub fn relist(&mut self, queue: u32) -> Listing {
        let head = self.head(queue);
        let listed = &mut self.queues[queue as usize].listed;
        let before = std::mem::replace(listed, head.map_or(NONE, |head| head.flow));
        match head {
            None if before == NONE => Listing::Same,
            None => Listing::Leaves,
            Some(head) if before == NONE => Listing::Enters(head),
            Some(head) if before == head.flow => Listing::Same,
            Some(head) => Listing::Moves(head),
        }
    }

    /// The place of a flow of the queue, and the one before it: hosts send from the head, so it is among the first.
    fn find(&self, queue: u32, flow: u32) -> (u32, u32) {
        let (mut before, mut place) = (NONE, self.queues[queue as usize].first);
        loop {
            assert_ne!(place, NONE, "a host sends only what waits");
            let at = &self.flows[place as usize];
            if at.id == flow {
                return (before, place);
            }
            (before, place) = (place, at.next);
        }
    }

    /// Puts a flow into the queue: as the last, or behind those that are no longer than it.
    fn link(&mut self, queue: u32, place: u32) {
        let bytes = self.flows[place as usize].bytes;
        let queue = &mut self.queues[queue as usize];
        let mut before = queue.last;
        if self.sequence == FlowOrder::Shortest && before != NONE && self.flows[before as usize].bytes > bytes
        {
            let mut next = queue.first;
            before = NONE;
            while self.flows[next as usize].bytes <= bytes {
                (before, next) = (next, self.flows[next as usize].next);
            }
        }
        let next = if before == NONE { &mut queue.first } else { &mut self.flows[before as usize].next };
        let behind = std::mem::replace(next, place);
        self.flows[place as usize].next = behind;
        if behind == NONE {
            queue.last = place;
        }
    }

    fn unlink(&mut self, queue: u32, before: u32, place: u32) {
        let behind = self.flows[place as usize].next;
        let queue = &mut self.queues[queue as usize];
        let next = if before == NONE { &mut queue.first } else { &mut self.flows[before as usize].next };
        *next = behind;
        if behind == NONE {
            queue.last = before;
        }
    }
}

impl Flow {
    /// Grants that it needs: one a packet, or as many full slots as it has bytes for.
    fn needed(&self, slot_bytes: u64) -> u32 {
        if self.packets == UNKNOWN { self.bytes.div_ceil(slot_bytes) as u32 } else { self.packets }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::random::{Purpose, Stream};

    const SLOT: Time = Time(12_304_000);

    fn one_queue(sequence: FlowOrder) -> (Backlog, u32) {
        let mut backlog = Backlog::new(sequence, 1_500);
        let queue = backlog.open(NodeId(3), NodeId(5));
        (backlog, queue)
    }

    fn head(backlog: &Backlog, queue: u32) -> [u64; 4] {
        let head = backlog.head(queue).expect("something waits");
        [head.flow.into(), head.arrived.0, head.since.0, head.residual]
    }

    #[test]
    fn clocks_of_the_head() {
        let (mut backlog, queue) = one_queue(FlowOrder::Arrival);
        assert_eq!(backlog.ends(queue), (NodeId(3), NodeId(5)));
        assert_eq!(backlog.head(queue), None);
        backlog.burst(queue, 7, 3_000, Some(2), Time(10));
        backlog.burst(queue, 8, 1_500, Some(1), Time(20));
        // It finds its queue empty and is the head from its arrival on.
        assert_eq!(head(&backlog, queue), [7, 10, 10, 3_000]);
        assert_eq!(backlog.grant(queue, Time(100)), None);
        backlog.sent(queue, 7, 1_500, 1, 1);
        assert_eq!(head(&backlog, queue), [7, 10, 100, 1_500]);
        assert_eq!(backlog.grant(queue, Time(200)), Some(Time(100)));
        backlog.sent(queue, 7, 1_500, 1, 1);
        assert_eq!(head(&backlog, queue), [8, 20, 200, 1_500]);
        assert_eq!(backlog.head(queue).and_then(|head| head.granted), Some(Time(200)));
        backlog.grant(queue, Time(300));
        backlog.sent(queue, 8, 1_500, 1, 1);
        assert_eq!((backlog.head(queue), backlog.bytes(queue)), (None, 0));
        backlog.burst(queue, 9, 40, Some(1), Time(1_000));
        assert_eq!(head(&backlog, queue), [9, 1_000, 1_000, 40]);
    }

    #[test]
    fn outstanding_grants_move_the_head_on() {
        for packets in [Some(3), None] {
            let (mut backlog, queue) = one_queue(FlowOrder::Arrival);
            backlog.burst(queue, 1, 4_500, packets, Time(0));
            backlog.burst(queue, 2, 40, packets.map(|_| 1), Time(5));
            let expected = [[1, 0, 10, 3_000], [1, 0, 20, 1_500], [2, 5, 30, 40]];
            for (slot, expected) in [10, 20, 30].into_iter().zip(expected) {
                backlog.grant(queue, Time(slot));
                assert_eq!(head(&backlog, queue), expected, "{packets:?}");
            }
            backlog.grant(queue, Time(40));
            assert_eq!((backlog.head(queue), backlog.outstanding(queue)), (None, 4));
            // The report of the first does not bring the head back, the loss of the last does.
            backlog.sent(queue, 1, 1_500, 1, 1);
            assert_eq!(backlog.head(queue), None);
            backlog.withdraw(queue, Time(40), Some(Time(30)));
            assert_eq!(head(&backlog, queue), [2, 5, 30, 40]);
            assert!(matches!(backlog.relist(queue), Listing::Enters(_)));
            // So does that of the one before, by whose slot the queue has its place in the order.
            backlog.withdraw(queue, Time(30), Some(Time(20)));
            assert_eq!(head(&backlog, queue), [1, 0, 20, 1_500]);
            assert!(matches!(backlog.relist(queue), Listing::Moves(head) if head.since == Time(20)));
            assert_eq!(backlog.relist(queue), Listing::Same);
        }
    }

    #[test]
    fn packets_of_unknown_length_want_more_grants_than_foreseen() {
        let (mut backlog, queue) = one_queue(FlowOrder::Arrival);
        backlog.burst(queue, 1, 80, None, Time(0));
        assert_eq!(backlog.relist(queue), Listing::Enters(backlog.head(queue).expect("80 bytes")));
        backlog.grant(queue, SLOT);
        assert_eq!(backlog.relist(queue), Listing::Same);
        backlog.sent(queue, 1, 40, 1, 1);
        assert!(matches!(backlog.relist(queue), Listing::Enters(head) if head.residual == 40));
        // A second packet shares the slot of another: nothing is left to be granted.
        backlog.sent(queue, 1, 40, 1, 0);
        assert_eq!(backlog.relist(queue), Listing::Leaves);
    }

    #[test]
    fn the_shortest_flow_moves_to_the_head() {
        let (mut backlog, queue) = one_queue(FlowOrder::Shortest);
        backlog.burst(queue, 1, 6_000, Some(4), Time(0));
        assert!(matches!(backlog.relist(queue), Listing::Enters(head) if head.flow == 1));
        backlog.burst(queue, 2, 9_000, Some(6), Time(1));
        assert_eq!(backlog.relist(queue), Listing::Same);
        backlog.burst(queue, 3, 1_500, Some(1), Time(2));
        assert!(
            matches!(backlog.relist(queue), Listing::Moves(head) if head.flow == 3 && head.since == Time(2))
        );
        backlog.burst(queue, 4, 6_000, Some(4), Time(3));
        let mut order = Vec::new();
        while let Some(head) = backlog.head(queue) {
            order.push(head.flow);
            backlog.grant(queue, Time(10));
            backlog.sent(queue, head.flow, 1_500, 1, 1);
        }
        assert_eq!(order, [3, 1, 1, 1, 1, 4, 4, 4, 4, 2, 2, 2, 2, 2, 2]);
    }

    /// Against a list of packets for each queue, with grants that take their time and some that are lost.
    #[test]
    fn agrees_with_lists_of_packets() {
        let mut stream = Stream::new(4, 0, Purpose::Ties, 0);
        for (sequence, known) in
            [FlowOrder::Arrival, FlowOrder::Shortest].map(|s| [(s, true), (s, false)]).concat()
        {
            let mut backlog = Backlog::new(sequence, 1_500);
            let queues: Vec<u32> = (0..3).map(|host| backlog.open(NodeId(host), NodeId(9))).collect();
            // By queue: flows, each with its number and the lengths of its packets; and grants on their way.
            let mut lists: Vec<Vec<(u32, VecDeque<u64>)>> = vec![Vec::new(); 3];
            let mut pending: Vec<VecDeque<(Time, Option<Time>)>> = vec![VecDeque::new(); 3];
            let mut most_flows = 0;
            for step in 1..20_000u64 {
                let queue = stream.below(3) as usize;
                let (number, list) = (queues[queue], &mut lists[queue]);
                match stream.below(5) {
                    0 if list.len() < 6 => {
                        let lengths: VecDeque<u64> =
                            (0..=stream.below(4)).map(|_| 40 + stream.below(1_461)).collect();
                        let (bytes, packets) = (lengths.iter().sum(), lengths.len() as u32);
                        backlog.burst(number, step as u32, bytes, known.then_some(packets), Time(step));
                        list.push((step as u32, lengths));
                        if sequence == FlowOrder::Shortest {
                            list.sort_by_key(|(_, lengths)| lengths.iter().sum::<u64>());
                        }
                    }
                    1 | 2 if backlog.head(number).is_some() => {
                        pending[queue].push_back((Time(step), backlog.grant(number, Time(step))));
                    }
                    3 => {
                        if let Some((slot, before)) = pending[queue].pop_back() {
                            backlog.withdraw(number, slot, before);
                        }
                    }
                    _ => {
                        if pending[queue].pop_front().is_some() {
                            let (flow, lengths) = &mut list[0];
                            let bytes = lengths.pop_front().expect("a flow has packets");
                            backlog.sent(number, *flow, bytes, 1, 1);
                            if lengths.is_empty() {
                                list.remove(0);
                            }
                        }
                    }
                }
                let (list, outstanding) = (&lists[queue], pending[queue].len());
                let packets: Vec<u32> =
                    list.iter().flat_map(|(flow, lengths)| lengths.iter().map(|_| *flow)).collect();
                assert!(outstanding <= packets.len(), "never more grants than packets");
                assert_eq!(backlog.bytes(number), list.iter().flat_map(|(_, lengths)| lengths).sum::<u64>());
                assert_eq!(backlog.outstanding(number) as usize, outstanding);
                if known || outstanding == 0 {
                    let flow = packets.get(outstanding).copied();
                    assert_eq!(backlog.head(number).map(|head| head.flow), flow);
                }
                if let (0, Some((_, lengths))) = (outstanding, list.first()) {
                    assert_eq!(backlog.head(number).map(|head| head.residual), Some(lengths.iter().sum()));
                }
                most_flows = most_flows.max(lists.iter().map(Vec::len).sum());
            }
            assert_eq!(backlog.flows.len(), most_flows, "places are used again");
        }
    }
}
