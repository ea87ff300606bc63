//! The sending end of a connection as a whole: it assigns data to subflows.
//!
//! A connection carries one flow or, if it is kept, any number one behind the other. Data is cut into segments of a full
//! payload, the last one of a flow shorter, and numbered from the first byte of the connection on. A flow is a block, and
//! its partition says which segment a subflow sends next; the next flow's begins when all of it has been sent. TCP numbers
//! the segments of each subflow apart; the subflow's mapping gives the data that each of them carries (RFC 8684, 3.3.1).
//!
//! A subflow gets data when it sends it or, where subflows have send buffers, as soon as its own has room: as sockets do
//! into which an application writes. What waits in a buffer is that subflow's, however long it takes.

use std::collections::VecDeque;

use super::fuso::Fuso;
use super::lia::{self, Terms};
use super::mapping::Mapping;
use super::partition::in_order::InOrder;
use super::partition::{Model, Partition, Path, Split};
use super::run::Run;
use super::scatter::Scattering;
use super::{Coupling, Session, ew, joint, trash};
use crate::ids::ConnId;
use crate::transport::reassembly::Record;
use crate::transport::source::{Message, Next, Source};
use crate::transport::tcp::congestion::{Siblings, Window};
use crate::transport::tcp::sender::Sender;
use crate::units::Time;

/// The sending end of a connection.
#[derive(Clone, Debug)]
pub struct Outgoing<R> {
    /// Flows that are not known to have arrived, in order.
    flows: VecDeque<Carried>,
    /// Lists of parts for those to come.
    spare: Vec<Vec<ConnId>>,
    /// Bytes of all flows so far, and the number behind their last segment.
    size: u64,
    end: u32,
    /// Payload of a full segment.
    mss: u64,
    /// How far beyond the first byte that is not known to have arrived may be sent.
    window: u64,
    /// How much each subflow may have in flight.
    flight_most: u64,
    /// Segments that a subflow's send buffer holds; none: there are no buffers.
    buffer: Option<usize>,
    /// Bytes that have been handed over to subflows.
    sent: u64,
    /// Which data a subflow sends next: of the flow that is being sent, of which so many segments have not been.
    partition: Model,
    unsent: u32,
    /// Number behind the last segment of that flow.
    begun: u32,
    /// Whether a flow has begun while some subflow had nothing to send.
    wakes: bool,
    /// Data that is known to have arrived, by acknowledgements of the subflows that carried it.
    arrived: R,
    /// Data that a subflow has given up, for the others: its number, and the subflow.
    again: VecDeque<(u32, u8)>,
    /// By subflow.
    mappings: Vec<Mapping>,
    /// By subflow, side by side: an acknowledgement on any of them needs those of all.
    terms: Vec<Terms>,
    /// The same for the partition, if windows are not coupled: one that divides data in order needs none.
    paths: Vec<Path>,
    coupling: Coupling,
    /// Copies of data in flight, if it sends any.
    pub(super) fuso: Option<Box<Fuso>>,
    /// Its phase, if it begins as packet scatter.
    pub(super) scattering: Option<Box<Scattering>>,
}

/// A flow that the connection carries.
#[derive(Clone, Debug)]
struct Carried {
    flow: ConnId,
    /// Its slot at each subflow.
    parts: Vec<ConnId>,
    size: u64,
    /// Its segments of data.
    first: u32,
    end: u32,
    /// When it is due; [`Time::NEVER`] without a deadline.
    due: Time,
}

impl Carried {
    /// Bytes of that segment of the data, which is one of its own.
    fn len(&self, number: u32, mss: u64) -> u64 {
        mss.min(self.size - u64::from(number - self.first) * mss)
    }
}

impl<R: Record> Default for Outgoing<R> {
    fn default() -> Self {
        Outgoing {
            flows: VecDeque::new(),
            spare: Vec::new(),
            size: 0,
            end: 0,
            mss: 0,
            window: 0,
            flight_most: 0,
            buffer: None,
            sent: 0,
            partition: Partition::from(InOrder {}).model(),
            unsent: 0,
            begun: 0,
            wakes: false,
            arrived: R::default(),
            again: VecDeque::new(),
            mappings: Vec::new(),
            terms: Vec::new(),
            paths: Vec::new(),
            coupling: Coupling::Uncoupled,
            fuso: None,
            scattering: None,
        }
    }
}

impl<R: Record> Outgoing<R> {
    /// Starts over without a flow, with the memory of before.
    pub fn reset(&mut self, config: &Session, subflows: usize) {
        let mut arrived = std::mem::take(&mut self.arrived);
        arrived.clear();
        let mut again = std::mem::take(&mut self.again);
        again.clear();
        let mut mappings = std::mem::take(&mut self.mappings);
        mappings.resize_with(subflows, Mapping::default);
        mappings.iter_mut().for_each(Mapping::reset);
        let mut terms = std::mem::take(&mut self.terms);
        terms.clear();
        terms.resize(subflows, Terms::default());
        let mut paths = std::mem::take(&mut self.paths);
        paths.clear();
        paths.resize(subflows, Path::default());
        let (mut flows, mut spare) = (std::mem::take(&mut self.flows), std::mem::take(&mut self.spare));
        spare.extend(flows.drain(..).map(|carried| carried.parts));
        *self = Outgoing {
            flows,
            spare,
            mss: config.tcp.mss.0,
            window: config.window(),
            flight_most: config
                .send_buffer
                .map_or(u64::MAX, |bytes| bytes.0)
                .min(config.tcp.receive_window.0),
            buffer: config.buffered(),
            partition: config.partition.model(),
            arrived,
            again,
            mappings,
            terms,
            paths,
            coupling: config.coupling,
            fuso: Fuso::of(config.recovery, subflows, self.fuso.take()),
            ..Outgoing::default()
        };
    }

    /// A flow of `size` bytes, behind all others; `parts` is its slot at each subflow.
    pub fn push(&mut self, flow: ConnId, parts: impl Iterator<Item = ConnId>, size: u64, due: Time) {
        let mut list = self.spare.pop().unwrap_or_default();
        list.clear();
        list.extend(parts);
        let first = self.end;
        // An endless flow, which is alone on its connection, has more than there are numbers.
        self.end = self.end.saturating_add(u32::try_from(size.div_ceil(self.mss)).unwrap_or(u32::MAX));
        self.size += size;
        self.flows.push_back(Carried { flow, parts: list, size, first, end: self.end, due });
        if self.unsent == 0 {
            self.begin();
        }
    }

    /// The flow behind the one that has been sent, if there is one, is divided. Whether there is.
    fn begin(&mut self) -> bool {
        let Some(next) = self.flows.iter().find(|carried| carried.first == self.begun) else { return false };
        let (first, end) = (next.first, next.end);
        self.partition.begin(first..end, &self.paths);
        (self.begun, self.unsent) = (end, end - first);
        self.mappings.iter_mut().for_each(|mapping| mapping.run = Run::default());
        true
    }

    /// The next data of a subflow that has not been sent.
    #[inline]
    fn take(&mut self, own: u8) -> Option<u32> {
        let path = usize::from(own);
        let idle = self.unsent == 1 && (0..self.paths.len()).any(|path| self.partition.peek(path).is_none());
        let number = self.partition.take(path, &self.paths)?;
        self.sent += self.len(number);
        let mapping = &mut self.mappings[path];
        mapping.begins = mapping.run.begins(number);
        self.unsent -= 1;
        if self.unsent == 0 {
            self.wakes = self.begin() && idle;
        }
        Some(number)
    }

    /// Whether a flow has begun while some subflow had nothing to send; once.
    #[inline]
    pub fn take_wakes(&mut self) -> bool {
        std::mem::take(&mut self.wakes)
    }

    /// Whether the segment that a subflow has sent last began a piece of its flow; once.
    #[inline]
    pub fn take_begins(&mut self, own: u8) -> bool {
        std::mem::take(&mut self.mappings[usize::from(own)].begins)
    }

    /// Whether there has never been any.
    pub fn is_fresh(&self) -> bool {
        self.size == 0
    }

    /// Whether all is known to have arrived.
    pub fn is_over(&self) -> bool {
        self.arrived.received() == self.size
    }

    /// The first flow, if all of it and of those before is known to have arrived; to be called until there is
    /// none.
    pub fn first_over(&self) -> Option<ConnId> {
        let first = self.flows.front()?;
        (first.end <= self.arrived.next()).then_some(first.flow)
    }

    /// Removes the first flow, and what send buffers still have of it. Its parts without a segment in flight are reported.
    /// Whether buffers have room by that.
    pub fn take_first(&mut self, mut over: impl FnMut(ConnId)) -> bool {
        let Some(first) = self.flows.pop_front() else { return false };
        let mut has_room = false;
        if self.buffer.is_some() {
            let len = |number| first.len(number, self.mss);
            for mapping in &mut self.mappings {
                has_room |= mapping.forget_before(first.end, len);
            }
        }
        for (own, &part) in first.parts.iter().enumerate() {
            if !self.carries(own as u8, part) {
                over(part);
            }
        }
        self.spare.push(first.parts);
        has_room
    }

    /// Whether a subflow has segments of that part that are not acknowledged.
    pub fn carries(&self, own: u8, part: ConnId) -> bool {
        self.mappings[own as usize].data.iter().any(|(_, other)| *other == part)
    }

    /// The flow that has that segment of the data, unless all of it has arrived.
    #[inline]
    fn carried(&self, number: u32) -> Option<&Carried> {
        self.flows.iter().find(|carried| number < carried.end).filter(|carried| carried.first <= number)
    }

    /// The flow as one of its subflows sees it.
    pub fn share(&mut self, own: u8) -> Share<'_, R> {
        Share { flow: self, own }
    }

    /// Whether new data waits for the receiver's window.
    pub fn is_blocked(&self) -> bool {
        // The window of a whole flow is for data in order, which is the same whatever subflow sends it.
        self.window != u64::MAX
            && self.sent < self.size
            && self.sent + self.next_len(0) > self.arrived.in_order() + self.window
    }

    /// Bytes of the next data that has not been sent, for a subflow; 0 if it has nothing to send.
    #[inline]
    fn next_len(&self, own: u8) -> u64 {
        self.partition.peek(usize::from(own)).map_or(0, |number| self.len(number))
    }

    /// Bytes of that segment of the data; 0 if its flow is over or has not begun.
    pub(super) fn len(&self, number: u32) -> u64 {
        self.carried(number).map_or(0, |carried| carried.len(number, self.mss))
    }

    /// The segments of a subflow before `una` are acknowledged, and with them the data that they carried.
    /// `left` gets each segment's part.
    pub fn acknowledged(&mut self, own: u8, una: u32, mut left: impl FnMut(ConnId)) {
        while self.mappings[own as usize].una < una {
            let mapping = &mut self.mappings[own as usize];
            let (number, part) = mapping.data.pop_front().expect("what is acknowledged has been sent");
            mapping.una += 1;
            let len = self.len(number) as u16;
            self.arrived.receive(number, len);
            left(part);
        }
        self.forget_arrived();
    }

    /// Data that has arrived meanwhile need not be given to another subflow.
    fn forget_arrived(&mut self) {
        while let Some(&(number, _)) = self.again.front()
            && self.arrived.has(number)
        {
            self.again.pop_front();
        }
    }

    /// A subflow has given up its data in flight: the others get it, too, each segment once. Returns whether
    /// there is any.
    pub fn give_up(&mut self, own: u8) -> bool {
        let mapping = &mut self.mappings[own as usize];
        let first = mapping.given.max(mapping.una);
        mapping.given = mapping.una + mapping.data.len() as u32;
        let before = self.again.len();
        for &(number, _) in mapping.data.range((first - mapping.una) as usize..) {
            if !self.arrived.has(number) {
                self.again.push_back((number, own));
            }
        }
        self.again.len() > before
    }

    /// Takes note of how a subflow is.
    pub fn note(&mut self, own: u8, sender: &Sender) {
        let Some(round_trip) = sender.round_trip().filter(|&round_trip| round_trip > Time::ZERO) else {
            return;
        };
        let own = usize::from(own);
        match self.coupling {
            Coupling::Lia | Coupling::Trash | Coupling::Ew(_) | Coupling::FullyCoupled => {
                let path = lia::Path { window: sender.steady_window(), round_trip: Some(round_trip) };
                self.terms[own] = path.into();
            }
            Coupling::Uncoupled => {
                let window = sender.steady_window().min(self.flight_most);
                let seconds = round_trip.0 as f64 * 1e-12;
                self.paths[own] =
                    Path { rate: window as f64 / self.mss as f64 / seconds, delay: seconds / 2.0 };
            }
        }
    }

    /// A subflow's send buffer takes data as long as it has room. `begins` gets the part of each segment that begins a piece
    /// of its flow. Whether meanwhile a flow has begun while some subflow had nothing to send.
    #[inline]
    pub fn fill(&mut self, own: u8, mut begins: impl FnMut(ConnId)) -> bool {
        let Some(buffer) = self.buffer else { return false };
        while self.mappings[usize::from(own)].data.len() < buffer {
            let Some((_, len, part)) = self.assign(own) else { break };
            self.mappings[usize::from(own)].waits(u64::from(len));
            if self.take_begins(own) {
                begins(part);
            }
        }
        self.take_wakes()
    }

    /// The next data becomes a subflow's: that which another subflow has given up, then unsent data, as far as the receiver
    /// has room. Its number, its bytes, and the part that it belongs to.
    #[inline]
    fn assign(&mut self, own: u8) -> Option<(u32, u32, ConnId)> {
        if self.drains(own) {
            return None;
        }
        let number = match self.again.front() {
            Some(&(number, from)) if from != own => {
                self.again.pop_front();
                self.forget_arrived();
                number
            }
            _ => match self.take_unblocked(own) {
                Some(number) => number,
                None => self.take_copy(own)?,
            },
        };
        let carried = self.carried(number).expect("what has not arrived belongs to a flow");
        let (len, part) = (carried.len(number, self.mss) as u32, carried.parts[usize::from(own)]);
        self.mappings[usize::from(own)].data.push_back((number, part));
        Some((number, len, part))
    }

    /// The next data of a subflow that has not been sent, if the receiver has room for it.
    #[inline]
    fn take_unblocked(&mut self, own: u8) -> Option<u32> {
        if self.is_blocked() { None } else { self.take(own) }
    }

    /// Data in flight, of which a subflow sends a copy.
    fn take_copy(&mut self, own: u8) -> Option<u32> {
        let Mapping { una, data, .. } = &self.mappings[usize::from(own)];
        self.fuso.as_mut()?.take(own, una + data.len() as u32)
    }

    /// A subflow is established: unless it is the first one, packet scatter is over.
    pub(super) fn is_established(&mut self, own: u8) {
        if let Some(scattering) = &mut self.scattering
            && own > 0
        {
            scattering.established();
        }
    }

    /// Whether a subflow gets no new data, because packet scatter is over.
    #[inline]
    pub(super) fn drains(&self, own: u8) -> bool {
        own == 0 && self.scattering.as_ref().is_some_and(|scattering| scattering.drains())
    }

    /// Bytes that have been handed over to subflows.
    pub(super) fn sent(&self) -> u64 {
        self.sent
    }

    /// Whether data may be sent that has not been.
    pub(super) fn has_new(&self) -> bool {
        self.unsent > 0 && !self.is_blocked()
    }

    /// Whether that data is known to have arrived.
    pub(super) fn has_arrived(&self, number: u32) -> bool {
        self.arrived.has(number)
    }

    /// The data that a subflow carries.
    pub(super) fn mapping(&self, own: usize) -> &Mapping {
        &self.mappings[own]
    }

    /// The first segment that waits in a subflow's send buffer, and its bytes.
    #[inline]
    fn waiting(&self, own: u8) -> Option<(u32, u64)> {
        let number = self.mappings[usize::from(own)].first_waiting()?;
        Some((number, self.len(number)))
    }

    /// Number of the data in a segment of a subflow, and whether it is the last.
    pub fn mapped(&self, own: u8, number: u32) -> (u32, bool) {
        let mapping = &self.mappings[own as usize];
        let (data, _) = mapping.data[(number - mapping.una) as usize];
        (data, self.carried(data).is_some_and(|carried| data + 1 == carried.end))
    }
}

/// The sending end of a flow, for one of its subflows.
pub struct Share<'a, R> {
    flow: &'a mut Outgoing<R>,
    own: u8,
}

impl<R: Record> Share<'_, R> {
    /// Data that another subflow has given up.
    fn again(&self) -> Option<u32> {
        let &(number, from) = self.flow.again.front()?;
        (from != self.own).then_some(number)
    }

    /// Bytes of the copy that the subflow is to send; 0: none.
    #[inline]
    pub(super) fn copy_len(&self) -> u64 {
        let copy = self.flow.fuso.as_ref().and_then(|fuso| fuso.peek(self.own));
        copy.map_or(0, |number| self.flow.len(number))
    }
}

impl<R: Record> Source for Share<'_, R> {
    fn next(&mut self, _max: u32) -> Next {
        let flow = &mut *self.flow;
        let next = match flow.buffer {
            None => flow.assign(self.own).map(|(number, len, _)| (number, len)),
            Some(_) => flow.waiting(self.own).map(|(number, len)| {
                flow.mappings[usize::from(self.own)].goes(len);
                (number, len as u32)
            }),
        };
        // A subflow may be given data at any time.
        next.map_or(Next::Nothing, |(number, len)| Next::Range {
            offset: u64::from(number) * flow.mss,
            len,
            last: false,
        })
    }

    fn left(&self) -> u64 {
        self.flow.size - self.flow.sent + self.flow.mappings[usize::from(self.own)].waiting_bytes()
    }

    fn flow_at(&self, number: u32, _place: u64, own: ConnId) -> Message {
        let Mapping { una, ref data, .. } = self.flow.mappings[self.own as usize];
        let carries = number.checked_sub(una).and_then(|place| data.get(place as usize));
        // Before the first segment, for a SYN: the first flow's, while there is one.
        let first = || self.flow.flows.front().map(|first| first.parts[self.own as usize]);
        let flow = carries.map(|(_, part)| *part).or_else(first).unwrap_or(own);
        Message { flow, begin: 0, end: u64::MAX, due: Time::NEVER }
    }

    fn due(&self, _una: u64) -> Time {
        self.flow.flows.front().map_or(Time::NEVER, |first| first.due)
    }

    fn takes(&self) -> Option<u64> {
        (self.flow.coupling == Coupling::FullyCoupled).then(|| joint::decrease(&self.flow.terms))
    }

    #[inline]
    fn peek(&self, _max: u64) -> u64 {
        if self.flow.buffer.is_some() {
            return self.flow.waiting(self.own).map_or(0, |(_, len)| len);
        }
        if self.flow.drains(self.own) {
            return 0;
        }
        match self.again() {
            Some(number) => self.flow.len(number),
            None if self.flow.is_blocked() => self.copy_len(),
            None => match self.flow.next_len(self.own) {
                0 => self.copy_len(),
                len => len,
            },
        }
    }
}

impl<R: Record> Siblings for Share<'_, R> {
    /// Whole bytes; the rest of the last one counts the next time.
    fn increase(&mut self, window: &Window, acked: u64) -> Option<u64> {
        let (terms, cwnd, mss) = (&self.flow.terms, window.cwnd, window.mss);
        let grown = match self.flow.coupling {
            Coupling::Lia => lia::increase(terms, cwnd, acked, mss),
            Coupling::Trash => trash::increase(terms, cwnd, acked, mss),
            Coupling::Ew(own) => ew::increase(terms, cwnd, acked, mss, own.servers),
            Coupling::FullyCoupled => joint::increase(terms, cwnd, acked, mss),
            Coupling::Uncoupled => return None,
        };
        let fraction = &mut self.flow.mappings[self.own as usize].fraction;
        let whole = (*fraction + grown) as u64;
        *fraction += grown - whole as f64;
        Some(whole)
    }
}

#[cfg(test)]
mod tests {
    use super::{Coupling, lia};
    use crate::engine::contract::fake::FakeHost;
    use crate::ids::ConnId;
    use crate::transport::mptcp::{self, Mptcp};
    use crate::transport::parallel_tcp::{Model, ParallelTcp, Paths};
    use crate::transport::tcp::Tcp;
    use crate::units::{Bytes, Time};

    const FLOW: ConnId = ConnId(0);
    const SUBFLOWS: [ConnId; 2] = [ConnId(1), ConnId(2)];

    /// The first acknowledgements come after 200 us by one path and 800 us by the other: delays are half of that. Windows of two
    /// segments have then grown to three: 3 in 200 us are 15000 a second, and 3750. Where a connection may have but 2500 B
    /// of 1000 B in flight, that counts: 12500 a second.
    #[test]
    fn paths_have_half_of_the_round_trip_and_a_window_in_it() {
        for (receive_window, rates) in [(64_000, [15_000.0, 3_750.0]), (2_500, [12_500.0, 3_125.0])] {
            let tcp = Tcp {
                mss: Bytes(1000),
                handshake: false,
                initial_window: crate::derived::Derived::Given(2),
                delayed_ack: 1,
                receive_window: Bytes(receive_window),
                ..Tcp::default()
            };
            let mut host = FakeHost { paths: 2, ..FakeHost::pair(40_000) };
            let config = ParallelTcp { paths: Paths::Count(2), tcp, ..ParallelTcp::default() };
            let mut model = Model::new(host.configs(vec![config]));
            host.start(&mut model, FLOW);
            let packets = SUBFLOWS.map(|id| host.sends(&mut model, id, 1));
            for (packets, us) in packets.iter().zip([200, 800]) {
                host.now = Time::from_us(us);
                let ack = host.receives(&mut model, &packets[0]);
                host.answers(&mut model, &ack[0]);
            }
            for (path, (rate, delay)) in
                model.outgoing.get(FLOW).paths.iter().zip(rates.into_iter().zip([1e-4, 4e-4]))
            {
                assert!((path.delay - delay).abs() < 1e-15, "{path:?}");
                assert!((path.rate - rate).abs() < 1e-6, "{path:?}");
            }
        }
    }

    /// RFC 6356 by hand, all round trips 100 us: the first subflow's window is 11 segments; the second one has 9 in flight when
    /// its third duplicate comes, which are halved to 4.5. With 4500 B for it, and not the 7500 that it counts until the
    /// loss is repaired, an acknowledged segment brings the first one 1000 x 1000 x 11000 / 15500^2 B.
    #[test]
    fn a_window_in_recovery_counts_as_after_it() {
        let tcp = Tcp {
            mss: Bytes(1000),
            handshake: false,
            initial_window: crate::derived::Derived::Given(10),
            delayed_ack: 1,
            ..Tcp::default()
        };
        let mut host = FakeHost::pair(40_000);
        let config = Mptcp {
            subflows: 2,
            join: super::super::Join::AtOnce,
            coupling: Coupling::Lia,
            tcp,
            ..Mptcp::default()
        };
        let mut model = mptcp::Model::new(host.configs(vec![config]));
        host.start(&mut model, FLOW);
        let packets = SUBFLOWS.map(|id| host.sends(&mut model, id, 10));
        host.now = Time::from_us(100);
        for (subflow, number) in [(0, 0), (1, 0), (1, 2), (1, 3), (1, 4)] {
            let ack = host.receives(&mut model, &packets[subflow][number]);
            host.answers(&mut model, &ack[0]);
        }
        let windows = SUBFLOWS.map(|id| model.senders.get(id).cwnd());
        assert_eq!(windows, [11_000, 7_500]);
        let increase = lia::increase(&model.outgoing.get(FLOW).terms, 11_000, 1000, 1000);
        assert!((increase - 1e6 * 11_000.0 / (15_500.0 * 15_500.0)).abs() < 1e-9, "{increase}");
    }
}
