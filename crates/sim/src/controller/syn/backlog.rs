//! Packets queued at the hosts, as the controller sees them: for each pair of hosts a queue, for each queue
//! its flows.
//!
//! Source: Sviridov, Bianco and Giaccone, Globecom 2018, sections II-A and III-A: each server keeps a queue
//! for each destination, the packets of a flow arrive together, and a priority is that of the packet at the
//! head. So a flow is one entry, however many packets it has. A grant is for a flow, and may reach its host later than the
//! controller gives it: until the host reports the sent packet, the grant is outstanding. The head is the first
//! packet that is not granted, of the first flow that has one.

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
    /// Bytes on the wire of a slot, if packets of a queue may share one.
    shared: Option<u64>,
    queues: Vec<Queue>,
    flows: Vec<Flow>,
    /// The first free place in `flows`.
    vacant: u32,
}

/// Stands for no flow.
const NONE: u32 = u32::MAX;

/// Stands for the flow of a queue's place in the order that has become a wrong one.
const STALE: u32 = u32::MAX - 1;

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
    /// Its grants that have not been reported back.
    outstanding: Vec<Grant>,
    /// The last slot that it has used; [`NEVER`] before.
    used: Time,
    /// The flow at its head when it took its place in the order; [`NONE`] if it has no place.
    listed: u32,
}

/// A grant that has not been reported back.
#[derive(Clone, Copy, Debug)]
struct Grant {
    slot: Time,
    /// The number of its flow.
    flow: u32,
}

/// A flow, or a vacant place.
#[derive(Clone, Copy, Debug)]
struct Flow {
    id: u32,
    /// The next flow of the queue, or the next vacant place.
    next: u32,
    bytes: u64,
    packets: u32,
    /// Bytes on the wire of a packet on top of its own.
    link_bytes: u32,
    /// Its grants that have not been reported back.
    granted: u32,
    arrived: Time,
}

/// The packet of a queue that is next to be granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
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
    /// Without queues. `shared` is the bytes on the wire of a slot, if packets of a queue may share one.
    pub fn new(sequence: FlowOrder, shared: Option<u64>) -> Backlog {
        Backlog { sequence, shared, queues: Vec::new(), flows: Vec::new(), vacant: NONE }
    }

    /// A queue for the backlog at one host for another, by the next number from 0.
    pub fn open(&mut self, source: NodeId, destination: NodeId) -> u32 {
        self.queues.push(Queue {
            source,
            destination,
            first: NONE,
            last: NONE,
            bytes: 0,
            outstanding: Vec::new(),
            used: NEVER,
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
    pub fn outstanding(&self, queue: u32) -> usize {
        self.queues[queue as usize].outstanding.len()
    }

    /// Bytes that it takes beyond its own size.
    pub fn heap_bytes(&self) -> usize {
        let grants: usize = self.queues.iter().map(|queue| queue.outstanding.capacity()).sum();
        self.queues.capacity() * size_of::<Queue>()
            + self.flows.capacity() * size_of::<Flow>()
            + grants * size_of::<Grant>()
    }

    /// All packets of a flow arrive: their bytes and number, and the bytes on the wire of each on top of its own.
    pub fn burst(&mut self, queue: u32, flow: u32, bytes: u64, packets: u32, link_bytes: u32, at: Time) {
        let flow = Flow { id: flow, next: NONE, bytes, packets, link_bytes, granted: 0, arrived: at };
        self.queues[queue as usize].bytes += bytes;
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

    /// A queue that the order gave a slot has left the order with a grant for its head. Returns the number of its flow.
    pub fn grant(&mut self, queue: u32, slot: Time) -> u32 {
        let place = self.next(queue).expect("the order holds queues that have a head");
        let flow = &mut self.flows[place as usize];
        flow.granted += 1;
        let queue = &mut self.queues[queue as usize];
        queue.outstanding.push(Grant { slot, flow: flow.id });
        queue.listed = NONE;
        flow.id
    }

    /// A host has sent so many bytes and packets of a flow: usually one; no packet for a fragment that is not the last. It has
    /// used the grant of that slot; none for a packet that shared the slot of another.
    pub fn sent(&mut self, queue: u32, flow: u32, bytes: u64, packets: u32, granted: Option<Time>) {
        let (before, place) = self.find(queue, flow).expect("a host sends only what waits");
        if let Some(slot) = granted {
            self.settle(queue, slot, place);
            let used = &mut self.queues[queue as usize].used;
            *used = if *used == NEVER { slot } else { slot.max(*used) };
        }
        let sent = &mut self.flows[place as usize];
        sent.bytes -= bytes;
        sent.packets -= packets;
        let rest = *sent;
        self.queues[queue as usize].bytes -= bytes;
        if rest.bytes == 0 {
            self.unlink(queue, before, place);
            self.flows[place as usize].next = self.vacant;
            self.vacant = place;
        } else if self.sequence == FlowOrder::Shortest && before != NONE {
            self.unlink(queue, before, place);
            self.link(queue, place);
        }
    }

    /// The grant of that slot will not be used: it was lost, or came too late. The head has been the head since the grant
    /// before it, as if it had not been given.
    pub fn withdraw(&mut self, queue: u32, slot: Time) {
        let before = self.granted(queue);
        self.settle(queue, slot, self.queues[queue as usize].first);
        if self.granted(queue) != before && self.queues[queue as usize].listed != NONE {
            self.queues[queue as usize].listed = STALE;
        }
    }

    /// The grant of that slot is no longer outstanding. It is probably of the flow at `place`. Its flow may be over: its packets
    /// may have shared slots.
    fn settle(&mut self, queue: u32, slot: Time, place: u32) {
        let outstanding = &mut self.queues[queue as usize].outstanding;
        let at = outstanding
            .iter()
            .position(|grant| grant.slot == slot)
            .expect("each grant is reported back once");
        let Grant { flow, .. } = outstanding.remove(at);
        let is_at = |place: u32| place != NONE && self.flows[place as usize].id == flow;
        let place = if is_at(place) { Some(place) } else { self.find(queue, flow).map(|(_, place)| place) };
        if let Some(place) = place {
            self.flows[place as usize].granted -= 1;
        }
    }

    /// The last slot that a queue has been given, without those that it will not use.
    fn granted(&self, queue: u32) -> Option<Time> {
        let queue = &self.queues[queue as usize];
        let used = (queue.used != NEVER).then_some(queue.used);
        used.max(queue.outstanding.iter().map(|grant| grant.slot).max())
    }

    /// The place of the first flow that has a packet without a grant.
    #[inline]
    fn next(&self, queue: u32) -> Option<u32> {
        let mut place = self.queues[queue as usize].first;
        while place != NONE {
            let flow = &self.flows[place as usize];
            if flow.granted < flow.needed(self.shared) {
                return Some(place);
            }
            place = flow.next;
        }
        None
    }

    /// The packet that is next to be granted, if any is.
    pub fn head(&self, queue: u32) -> Option<Head> {
        let flow = &self.flows[self.next(queue)? as usize];
        let ahead = match flow.granted {
            0 => 0,
            granted => flow.bytes * u64::from(granted) / u64::from(flow.needed(self.shared)),
        };
        let last = self.granted(queue);
        Some(Head {
            flow: flow.id,
            arrived: flow.arrived,
            since: last.map_or(flow.arrived, |slot| slot.max(flow.arrived)),
            residual: (flow.bytes - ahead).max(1),
            granted: last,
        })
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
    fn find(&self, queue: u32, flow: u32) -> Option<(u32, u32)> {
        let (mut before, mut place) = (NONE, self.queues[queue as usize].first);
        while place != NONE {
            let at = &self.flows[place as usize];
            if at.id == flow {
                return Some((before, place));
            }
            (before, place) = (place, at.next);
        }
        None
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
    /// Grants that it needs: one a packet. Where packets share slots it is an estimate until all have been sent: a slot is
    /// over when the next packet does not fit, and has then room for half a packet on average. Too few grants ahead of
    /// the host's reports cost a flow another round, too many take slots from others.
    #[inline]
    fn needed(&self, shared: Option<u64>) -> u32 {
        let Some(slot) = shared else { return self.packets };
        let packets = u64::from(self.packets);
        let wire = self.bytes + packets * u64::from(self.link_bytes);
        let used = slot.saturating_sub(wire / packets / 2).max(1);
        packets.min(wire.div_ceil(used)) as u32
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::random::{Purpose, Stream};

    const SLOT: Time = Time(12_304_000);

    fn one_queue(sequence: FlowOrder) -> (Backlog, u32) {
        let mut backlog = Backlog::new(sequence, None);
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
        backlog.burst(queue, 7, 3_000, 2, 38, Time(10));
        backlog.burst(queue, 8, 1_500, 1, 38, Time(20));
        // It finds its queue empty and is the head from its arrival on.
        assert_eq!(head(&backlog, queue), [7, 10, 10, 3_000]);
        backlog.grant(queue, Time(100));
        backlog.sent(queue, 7, 1_500, 1, Some(Time(100)));
        assert_eq!(head(&backlog, queue), [7, 10, 100, 1_500]);
        backlog.grant(queue, Time(200));
        backlog.sent(queue, 7, 1_500, 1, Some(Time(200)));
        assert_eq!(head(&backlog, queue), [8, 20, 200, 1_500]);
        assert_eq!(backlog.head(queue).and_then(|head| head.granted), Some(Time(200)));
        backlog.grant(queue, Time(300));
        backlog.sent(queue, 8, 1_500, 1, Some(Time(300)));
        assert_eq!((backlog.head(queue), backlog.bytes(queue)), (None, 0));
        backlog.burst(queue, 9, 40, 1, 38, Time(1_000));
        assert_eq!(head(&backlog, queue), [9, 1_000, 1_000, 40]);
    }

    #[test]
    fn outstanding_grants_move_the_head_on() {
        for shared in [None, Some(1_538)] {
            let (mut backlog, queue) = (Backlog::new(FlowOrder::Arrival, shared), 0);
            backlog.open(NodeId(3), NodeId(5));
            backlog.burst(queue, 1, 4_500, 3, 38, Time(0));
            backlog.burst(queue, 2, 40, 1, 38, Time(5));
            let expected = [[1, 0, 10, 3_000], [1, 0, 20, 1_500], [2, 5, 30, 40]];
            for (slot, expected) in [10, 20, 30].into_iter().zip(expected) {
                backlog.grant(queue, Time(slot));
                assert_eq!(head(&backlog, queue), expected, "{shared:?}");
            }
            backlog.grant(queue, Time(40));
            assert_eq!((backlog.head(queue), backlog.outstanding(queue)), (None, 4));
            // The report of the first does not bring the head back, the loss of the last does.
            backlog.sent(queue, 1, 1_500, 1, Some(Time(10)));
            assert_eq!(backlog.head(queue), None);
            backlog.withdraw(queue, Time(40));
            assert_eq!(head(&backlog, queue), [2, 5, 30, 40]);
            assert!(matches!(backlog.relist(queue), Listing::Enters(_)));
            // So does that of the one before, by whose slot the queue has its place in the order.
            backlog.withdraw(queue, Time(30));
            assert_eq!(head(&backlog, queue), [1, 0, 20, 1_500]);
            assert!(matches!(backlog.relist(queue), Listing::Moves(head) if head.since == Time(20)));
            assert_eq!(backlog.relist(queue), Listing::Same);
        }
    }

    #[test]
    fn packets_that_share_a_slot_want_one_grant() {
        let (mut backlog, queue) = (Backlog::new(FlowOrder::Arrival, Some(1_538)), 0);
        backlog.open(NodeId(3), NodeId(5));
        backlog.burst(queue, 1, 80, 2, 38, Time(0));
        assert_eq!(backlog.relist(queue), Listing::Enters(backlog.head(queue).expect("80 bytes")));
        backlog.grant(queue, SLOT);
        assert_eq!(backlog.relist(queue), Listing::Same);
        backlog.sent(queue, 1, 40, 1, Some(SLOT));
        assert!(matches!(backlog.relist(queue), Listing::Enters(head) if head.residual == 40));
        // The second packet shares a slot after all: nothing is left to be granted.
        backlog.sent(queue, 1, 40, 1, None);
        assert_eq!(backlog.relist(queue), Listing::Leaves);
    }

    #[test]
    fn the_shortest_flow_moves_to_the_head() {
        let (mut backlog, queue) = one_queue(FlowOrder::Shortest);
        backlog.burst(queue, 1, 6_000, 4, 38, Time(0));
        assert!(matches!(backlog.relist(queue), Listing::Enters(head) if head.flow == 1));
        backlog.burst(queue, 2, 9_000, 6, 38, Time(1));
        assert_eq!(backlog.relist(queue), Listing::Same);
        backlog.burst(queue, 3, 1_500, 1, 38, Time(2));
        assert!(
            matches!(backlog.relist(queue), Listing::Moves(head) if head.flow == 3 && head.since == Time(2))
        );
        backlog.burst(queue, 4, 6_000, 4, 38, Time(3));
        let mut order = Vec::new();
        while let Some(head) = backlog.head(queue) {
            order.push(head.flow);
            backlog.grant(queue, Time(10));
            backlog.sent(queue, head.flow, 1_500, 1, Some(Time(10)));
        }
        assert_eq!(order, [3, 1, 1, 1, 1, 4, 4, 4, 4, 2, 2, 2, 2, 2, 2]);
    }

    /// Of two grants that are lost, the first is reported first: the head has been the head since before both.
    #[test]
    fn two_lost_grants_leave_no_trace() {
        let (mut backlog, queue) = one_queue(FlowOrder::Arrival);
        backlog.burst(queue, 1, 6_000, 4, 38, Time(0));
        backlog.grant(queue, Time(10));
        backlog.sent(queue, 1, 1_500, 1, Some(Time(10)));
        backlog.grant(queue, Time(20));
        backlog.grant(queue, Time(30));
        backlog.withdraw(queue, Time(20));
        assert_eq!(head(&backlog, queue), [1, 0, 30, 3_000]);
        backlog.withdraw(queue, Time(30));
        assert_eq!(head(&backlog, queue), [1, 0, 10, 4_500]);
    }

    /// A short flow that comes while a long one has grants on their way is the head at once, and its own grant counts for it.
    #[test]
    fn grants_are_for_their_flow() {
        let (mut backlog, queue) = one_queue(FlowOrder::Shortest);
        backlog.burst(queue, 1, 9_000, 6, 38, Time(0));
        backlog.grant(queue, Time(10));
        backlog.grant(queue, Time(20));
        backlog.burst(queue, 2, 1_500, 1, 38, Time(15));
        assert_eq!(head(&backlog, queue), [2, 15, 20, 1_500]);
        backlog.grant(queue, Time(30));
        assert_eq!(head(&backlog, queue), [1, 0, 30, 6_000]);
        backlog.sent(queue, 1, 1_500, 1, Some(Time(10)));
        backlog.sent(queue, 2, 1_500, 1, Some(Time(30)));
        backlog.sent(queue, 1, 1_500, 1, Some(Time(20)));
        assert_eq!((head(&backlog, queue), backlog.outstanding(queue)), ([1, 0, 30, 6_000], 0));
    }

    /// A flow at a host: its number, the lengths of its packets, and its grants on their way.
    struct Sender {
        flow: u32,
        lengths: VecDeque<u64>,
        granted: usize,
    }

    impl Sender {
        fn bytes(&self) -> u64 {
            self.lengths.iter().sum()
        }
    }

    /// Puts a flow behind those that are no longer, or, in order of arrival, last.
    fn place(list: &mut Vec<Sender>, sender: Sender, sequence: FlowOrder) {
        let shorter = |other: &Sender| sequence == FlowOrder::Arrival || other.bytes() <= sender.bytes();
        let at = list.iter().position(|other| !shorter(other)).unwrap_or(list.len());
        list.insert(at, sender);
    }

    /// Against a list of packets for each queue, with grants that take their time and some that are lost.
    #[test]
    fn agrees_with_lists_of_packets() {
        let mut stream = Stream::new(4, 0, Purpose::Ties, 0);
        for (sequence, shared) in
            [FlowOrder::Arrival, FlowOrder::Shortest].map(|s| [(s, None), (s, Some(1_538))]).concat()
        {
            let mut backlog = Backlog::new(sequence, shared);
            let queues: Vec<u32> = (0..3).map(|host| backlog.open(NodeId(host), NodeId(9))).collect();
            let mut lists: Vec<Vec<Sender>> = (0..3).map(|_| Vec::new()).collect();
            // By queue: grants on their way, each with its slot and its flow.
            let mut pending: Vec<VecDeque<(Time, u32)>> = vec![VecDeque::new(); 3];
            let mut most_flows = 0;
            for step in 1..20_000u64 {
                let queue = stream.below(3) as usize;
                let (number, list) = (queues[queue], &mut lists[queue]);
                match stream.below(5) {
                    0 if list.len() < 6 => {
                        let lengths: VecDeque<u64> =
                            (0..=stream.below(4)).map(|_| 40 + stream.below(1_461)).collect();
                        let (bytes, packets) = (lengths.iter().sum(), lengths.len() as u32);
                        backlog.burst(number, step as u32, bytes, packets, 38, Time(step));
                        place(list, Sender { flow: step as u32, lengths, granted: 0 }, sequence);
                    }
                    1 | 2 if backlog.head(number).is_some() => {
                        let flow = backlog.head(number).expect("just seen").flow;
                        backlog.grant(number, Time(step));
                        pending[queue].push_back((Time(step), flow));
                        list.iter_mut().find(|sender| sender.flow == flow).expect("it waits").granted += 1;
                    }
                    3 => {
                        let lost = stream.below(pending[queue].len() as u64 + 1) as usize;
                        if let Some((slot, flow)) = pending[queue].remove(lost) {
                            backlog.withdraw(number, slot);
                            list.iter_mut().find(|sender| sender.flow == flow).expect("it waits").granted -=
                                1;
                        }
                    }
                    _ => {
                        if let Some((slot, flow)) = pending[queue].pop_front() {
                            let at = list.iter().position(|sender| sender.flow == flow).expect("it waits");
                            let bytes = list[at].lengths.pop_front().expect("a flow has packets");
                            list[at].granted -= 1;
                            backlog.sent(number, flow, bytes, 1, Some(slot));
                            let sender = list.remove(at);
                            if sender.lengths.is_empty() {
                                continue;
                            }
                            // The first stays first: it has become shorter still.
                            match (sequence, at) {
                                (FlowOrder::Shortest, 1..) => place(list, sender, sequence),
                                _ => list.insert(at, sender),
                            }
                        }
                    }
                }
                let list = &lists[queue];
                assert!(
                    list.iter().all(|sender| sender.granted <= sender.lengths.len()),
                    "never more grants than packets"
                );
                assert_eq!(backlog.bytes(number), list.iter().map(Sender::bytes).sum::<u64>());
                assert_eq!(backlog.outstanding(number), pending[queue].len());
                let head = backlog.head(number);
                if shared.is_none() {
                    let first = list.iter().find(|sender| sender.granted < sender.lengths.len());
                    assert_eq!(head.map(|head| head.flow), first.map(|sender| sender.flow));
                }
                if let Some(first) = list.first().filter(|sender| sender.granted == 0) {
                    let head = head.expect("it has no grant");
                    assert_eq!((head.flow, head.residual), (first.flow, first.bytes()));
                }
                most_flows = most_flows.max(lists.iter().map(Vec::len).sum());
            }
            assert_eq!(backlog.flows.len(), most_flows, "places are used again");
        }
    }
}
