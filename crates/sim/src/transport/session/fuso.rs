//! FUSO: copies of packets in flight, sent ahead of any sign of loss (Chen et al., "Fast and cautious: leveraging multi-path
//! diversity for transport loss recovery in data centers", USENIX ATC 2016), as the authors' kernel has it.
//!
//! While no new data may be sent and windows are open, the sender copies packets of the worst subflow to the best one: the
//! first that is not acknowledged, each once, and no copy itself. By the authors' kernel a subflow costs
//!
//! ```text
//! retransmitted / sent + 1 / (packets sent since the last retransmission),
//! -1 / srtt while it has not retransmitted, 1 before it has a round-trip time;
//! ```
//!
//! the worst is that with the largest cost of those with a packet to copy, the best that with the least of those whose window
//! has room, which may be the same. Copies obey the window of the subflow that sends them and are segments of it like new data.
//!
//! The kernel chooses all copies within one acknowledgement or write. Here one copy is chosen at a time, the next when it has
//! been sent or the next acknowledgement arrives, so that a copy has the costs of its moment. Where the worst subflow has
//! no packet to copy, the next one is the worst at once; the kernel waits for its next acknowledgement.

use std::collections::VecDeque;

use super::mapping::Mapping;
use super::{Model, SubflowRecovery};
use crate::engine::contract::host::Host;
use crate::ids::ConnId;
use crate::transport::reassembly::Record;
use crate::units::Time;

/// Copies of a connection.
#[derive(Clone, Debug, Default)]
pub struct Fuso {
    paths: Vec<Path>,
    /// The next copy.
    next: Option<Next>,
}

/// A copy that is to be sent.
#[derive(Clone, Copy, Debug)]
struct Next {
    /// Number of its data.
    data: u32,
    /// The subflow whose packet is copied, and that packet.
    from: u8,
    segment: u32,
    /// The subflow that sends the copy.
    to: u8,
}

/// A subflow.
#[derive(Clone, Debug, Default)]
struct Path {
    /// Packets sent, those of them that were retransmissions, and those sent since the last of these.
    sent: u32,
    retransmitted: u32,
    since: u32,
    /// Number behind the last segment that has been sent.
    end: u32,
    /// Segments before this one are copied, or need no copy.
    protected: u32,
    /// Segments from there on that are copies themselves.
    copies: VecDeque<u32>,
}

impl Path {
    /// The cost of a subflow: the more, the worse.
    fn cost(&self, round_trip: Option<Time>) -> f64 {
        match round_trip {
            _ if self.retransmitted > 0 => {
                let [sent, retransmitted, since] =
                    [self.sent, self.retransmitted, self.since.max(1)].map(f64::from);
                retransmitted / sent + 1.0 / since
            }
            Some(round_trip) => -1.0 / round_trip.0.max(1) as f64,
            None => 1.0,
        }
    }

    /// A packet is sent.
    fn note(&mut self, segment: u32) {
        self.sent += 1;
        if segment < self.end {
            self.retransmitted += 1;
            self.since = 0;
        } else {
            self.end = segment + 1;
            self.since += 1;
        }
    }

    /// The first segment in flight that is to be copied, and its data. `arrives` says whether a segment has arrived, by its
    /// number and that of its data.
    fn first(&mut self, mapping: &Mapping, arrives: impl Fn(u32, u32) -> bool) -> Option<(u32, u32)> {
        self.protected = self.protected.max(mapping.una);
        while let Some(&(data, _)) = mapping.data.get((self.protected - mapping.una) as usize) {
            let segment = self.protected;
            while self.copies.front().is_some_and(|&copy| copy < segment) {
                self.copies.pop_front();
            }
            if self.copies.front() != Some(&segment) && !arrives(segment, data) {
                return Some((segment, data));
            }
            self.protected += 1;
        }
        None
    }
}

impl Fuso {
    /// That of a new connection, if it has it, with the memory of the one before.
    pub fn of(recovery: SubflowRecovery, subflows: usize, before: Option<Box<Fuso>>) -> Option<Box<Fuso>> {
        if recovery == SubflowRecovery::Own || subflows == 1 {
            return None;
        }
        let mut fuso = before.unwrap_or_default();
        fuso.next = None;
        fuso.paths.resize_with(subflows, Path::default);
        for path in &mut fuso.paths {
            let mut copies = std::mem::take(&mut path.copies);
            copies.clear();
            *path = Path { copies, ..Path::default() };
        }
        Some(fuso)
    }

    /// Data of the copy that a subflow is to send.
    #[inline]
    pub fn peek(&self, own: u8) -> Option<u32> {
        self.next.filter(|next| next.to == own).map(|next| next.data)
    }

    /// The same; the subflow sends it as that segment of its own.
    pub fn take(&mut self, own: u8, segment: u32) -> Option<u32> {
        let next = self.next.take_if(|next| next.to == own)?;
        self.paths[usize::from(next.from)].protected = next.segment + 1;
        self.paths[usize::from(own)].copies.push_back(segment);
        Some(next.data)
    }

    /// A subflow has sent that segment.
    pub fn note(&mut self, own: u8, segment: u32) {
        self.paths[usize::from(own)].note(segment);
    }
}

impl<R: Record> Model<R> {
    /// Chooses the next copy, if no new data may be sent: after each event that changes that, costs or windows.
    #[inline]
    pub(super) fn protect(&mut self, id: ConnId, cx: &mut impl Host) {
        let outgoing = self.outgoing.at(id, cx);
        if let Some(mut fuso) = outgoing.fuso.take() {
            self.choose(&mut fuso, id, cx);
            self.outgoing.at(id, cx).fuso = Some(fuso);
        }
    }

    fn choose(&mut self, fuso: &mut Fuso, id: ConnId, cx: &mut impl Host) {
        let config = self.configs.of(cx.conn(id));
        let outgoing = self.outgoing.at(id, cx);
        fuso.next = None;
        if outgoing.has_new() {
            return;
        }
        let mut worst: Option<(f64, Next)> = None;
        for (own, &subflow) in self.subflows.at(id, cx).iter().enumerate() {
            let (sender, path) = (self.senders.at(subflow, cx), &mut fuso.paths[own]);
            let cost = path.cost(sender.round_trip());
            if worst.as_ref().is_some_and(|(most, _)| cost <= *most) {
                continue;
            }
            let arrives = |segment, data| sender.has_sack_of(segment) || outgoing.has_arrived(data);
            if let Some((segment, data)) = path.first(outgoing.mapping(own), arrives) {
                worst = Some((cost, Next { data, segment, from: own as u8, to: 0 }));
            }
        }
        let Some((_, next)) = worst else { return };
        let len = outgoing.len(next.data);
        let mut best: Option<(f64, u8, ConnId)> = None;
        for (own, &subflow) in self.subflows.at(id, cx).iter().enumerate() {
            let sender = self.senders.at(subflow, cx);
            let cost = fuso.paths[own].cost(sender.round_trip());
            let config = config.tcp_of(own as u8);
            let takes = !outgoing.drains(own as u8) && sender.has_room(len, config);
            if takes && best.is_none_or(|(least, ..)| cost < least) {
                best = Some((cost, own as u8, subflow));
            }
        }
        if let Some((_, to, subflow)) = best {
            fuso.next = Some(Next { to, ..next });
            cx.ready(subflow);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derived::Derived;
    use crate::engine::contract::fake::FakeHost;
    use crate::engine::contract::packet::Packet;
    use crate::transport::mptcp::Mptcp;
    use crate::transport::reassembly::Reassembly;
    use crate::transport::session::Join;
    use crate::transport::tcp::Tcp;
    use crate::units::Bytes;

    const FLOW: ConnId = ConnId(0);
    const SUBFLOWS: [ConnId; 2] = [ConnId(1), ConnId(2)];

    /// A flow of so many segments over two subflows with initial windows of so many.
    fn started(segments: u64, window: u32) -> (FakeHost, Model<Reassembly>) {
        let tcp = Tcp {
            mss: Bytes(1000),
            handshake: false,
            initial_window: Derived::Given(window),
            delayed_ack: 1,
            ..Tcp::default()
        };
        let config = Mptcp {
            subflows: 2,
            join: Join::AtOnce,
            recovery: SubflowRecovery::Fuso,
            tcp,
            ..Mptcp::default()
        };
        let mut host = FakeHost::pair(1000 * segments);
        let mut model = Model::new(host.configs(vec![config]));
        host.start(&mut model, FLOW);
        (host, model)
    }

    /// The numbers of the data in the packets.
    fn data(packets: &[Packet]) -> Vec<u32> {
        packets.iter().map(|packet| packet.header.ack as u32).collect()
    }

    /// Of eleven packets the sixth is a retransmission: 1/11, and 1/5 for the five since. The worst is one that retransmits, or
    /// that with the longer round trip; without a round trip the cost is 1.
    #[test]
    fn costs_by_hand() {
        let mut path = Path::default();
        for segment in [0, 1, 2, 3, 4, 2] {
            path.note(segment);
        }
        let round_trip = |us| Some(Time::from_us(us));
        assert_eq!(path.cost(round_trip(1)), 1.0 / 6.0 + 1.0, "just retransmitted");
        (5..10).for_each(|segment| path.note(segment));
        assert!((path.cost(round_trip(1)) - (1.0 / 11.0 + 1.0 / 5.0)).abs() < 1e-15);
        let fresh = Path::default();
        assert!(path.cost(round_trip(1)) > fresh.cost(round_trip(200)));
        assert!(fresh.cost(round_trip(200)) > fresh.cost(round_trip(100)));
        assert_eq!(fresh.cost(None), 1.0);
    }

    /// Windows of three: the first subflow is full with 0 to 2, the second one has room for two packets behind 3, which are
    /// copies of the first two. All of the first subflow is lost: each acknowledgement on the second one lets go one more copy
    /// than it acknowledges, until the flow is complete, and no timer is needed.
    #[test]
    fn a_lost_window_arrives_by_the_other_subflow() {
        let (mut host, mut model) = started(4, 3);
        let [first, second] = SUBFLOWS;
        assert_eq!(data(&host.sends(&mut model, first, 9)), [0, 1, 2]);
        let packets = host.sends(&mut model, second, 9);
        assert_eq!(data(&packets), [3, 0, 1]);
        host.now = Time::from_us(100);
        let ack = host.receives(&mut model, &packets[0]);
        host.answers(&mut model, &ack[0]);
        // Room for two packets: the one that has no copy yet, and no copy of a copy.
        let last = host.sends(&mut model, second, 9);
        assert_eq!(data(&last), [2]);
        for packet in packets[1..].iter().chain(&last) {
            let ack = host.receives(&mut model, packet);
            host.answers(&mut model, &ack[0]);
        }
        assert_eq!((&host.completed[..], &host.finished[..]), (&[FLOW][..], &[FLOW][..]));
        let sent = SUBFLOWS.map(|id| host.conns[id.index()].counts().packets_sent);
        assert_eq!((sent, host.now), ([3, 4], Time::from_us(100)));
    }

    /// Both subflows cost 1, so that the first one is the worst and the best: it sends its two packets twice, each once more.
    #[test]
    fn each_packet_is_copied_once() {
        let (mut host, mut model) = started(2, 9);
        let [first, second] = SUBFLOWS;
        assert_eq!(data(&host.sends(&mut model, first, 9)), [0, 1, 0, 1]);
        assert!(host.sends(&mut model, second, 9).is_empty());
    }

    /// As long as new data may be sent nothing is copied: windows of four have room for all but one of nine segments.
    #[test]
    fn new_data_goes_first() {
        let (mut host, mut model) = started(9, 4);
        let packets = SUBFLOWS.map(|id| host.sends(&mut model, id, 9));
        assert_eq!((data(&packets[0]), data(&packets[1])), (vec![0, 1, 2, 3], vec![4, 5, 6, 7]));
        host.now = Time::from_us(100);
        let ack = host.receives(&mut model, &packets[1][0]);
        host.answers(&mut model, &ack[0]);
        // The second one has a round-trip time now, and the first has none: that is the worse one.
        assert_eq!(data(&host.sends(&mut model, SUBFLOWS[1], 9)), [8, 0]);
    }

    /// Data that has arrived, or that is known to have arrived by SACK, needs no copy.
    #[test]
    fn what_has_arrived_is_not_copied() {
        let mut path = Path::default();
        let mut mapping = Mapping::default();
        mapping.data.extend((0..5).map(|data| (data + 20, FLOW)));
        path.copies.extend([1, 3]);
        assert_eq!(path.first(&mapping, |segment, data| segment == 0 || data == 22), Some((4, 24)));
        path.protected = 5;
        assert_eq!(path.first(&mapping, |_, _| false), None);
        mapping.una = 5;
        mapping.data.iter_mut().for_each(|(data, _)| *data += 5);
        assert_eq!(path.first(&mapping, |_, _| false), Some((5, 25)));
    }
}
