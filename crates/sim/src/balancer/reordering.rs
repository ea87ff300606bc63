//! Reordering buffers of hosts: data of a connection comes to the transport in the order in which it was sent.
//!
//! Source: He et al., "Presto: edge-based load balancing for fast datacenter networks", SIGCOMM 2015, section 3.2, where the
//! receiving host's GRO does so before TCP. Packets that take one path in succession are a cell. A gap within a cell is a loss:
//! links keep the order, and nothing waits. After a gap between two cells the later cell waits for the packets of the earlier one
//! that another path may still bring, for at most a time. The paper adapts this time to earlier waits; here it is fixed. The
//! paper reads the order from TCP's sequence numbers; here hosts number packets as they send them, whatever the transport: a
//! retransmission is a later packet.

use std::collections::VecDeque;

use super::wakes::Wakes;
use crate::engine::contract::path::{Acts, Passing, ReorderCounts, Tag, Verdict};
use crate::ids::{ConnId, LinkId, PacketId};
use crate::units::Time;

/// The place of a packet among those of its connection, as its tag has it; both numbers wrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Place {
    packet: u32,
    cell: u32,
}

impl Place {
    fn pack(self) -> Tag {
        Tag(u64::from(self.cell) << 32 | u64::from(self.packet))
    }

    fn of(Tag(bits): Tag) -> Place {
        Place { packet: bits as u32, cell: (bits >> 32) as u32 }
    }
}

/// The sending end of a connection.
#[derive(Clone, Debug, Default)]
struct Numbering {
    next: Place,
    /// The label of the last packet, which stands for its path; none before the first.
    label: Option<u32>,
}

impl Numbering {
    /// The place of the next packet, which has that label.
    fn number(&mut self, label: u32) -> Place {
        if self.label.replace(label).is_some_and(|last| last != label) {
            self.next.cell = self.next.cell.wrapping_add(1);
        }
        let place = self.next;
        self.next.packet = place.packet.wrapping_add(1);
        place
    }
}

/// A packet that waits.
#[derive(Clone, Copy, Debug)]
struct Held {
    place: Place,
    id: PacketId,
    size: u32,
    arrived: Time,
}

/// The receiving end of a connection.
#[derive(Clone, Debug, Default)]
struct Buffer {
    /// The packet that is next, in the cell of the last one that went on.
    next: Place,
    /// By number: packets that wait, and their bytes.
    held: VecDeque<Held>,
    bytes: u64,
    /// A time by which the first of them is looked for; in the past if none are held.
    due: Time,
    /// The host's port by whose link the first packet came.
    port: Option<LinkId>,
}

impl Buffer {
    /// A packet has come. Whether it waits; if not, it goes on before the ones that are `released`.
    fn on_packet(&mut self, came: Held, timeout: Time, released: impl FnMut(&Held)) -> bool {
        let place = came.place;
        let ahead = place.packet.wrapping_sub(self.next.packet) as i32;
        if ahead < 0 {
            // The later ones have gone on without it.
            return false;
        }
        if ahead > 0 && place.cell != self.next.cell {
            let before = |held: &Held| (held.place.packet.wrapping_sub(place.packet) as i32) < 0;
            let at = self.held.partition_point(before);
            if self.held.is_empty() {
                self.due = came.arrived + timeout;
            }
            self.held.insert(at, came);
            self.bytes += u64::from(came.size);
            return true;
        }
        self.pass(place);
        self.release(released);
        false
    }

    fn pass(&mut self, place: Place) {
        self.next = Place { packet: place.packet.wrapping_add(1), cell: place.cell };
    }

    /// The first packet that waits goes on.
    fn pass_first(&mut self, released: &mut impl FnMut(&Held)) {
        let first = self.held.pop_front().expect("a packet waits");
        self.bytes -= u64::from(first.size);
        self.pass(first.place);
        released(&first);
    }

    /// Those go on that nothing is missing before, but losses.
    fn release(&mut self, mut released: impl FnMut(&Held)) {
        while let Some(Held { place, .. }) = self.held.front()
            && (place.packet == self.next.packet || place.cell == self.next.cell)
        {
            self.pass_first(&mut released);
        }
        if self.held.is_empty() {
            self.due = Time::ZERO;
        }
    }

    /// The time has come: those that have waited for too long go on, and with them all before them.
    fn flush(&mut self, now: Time, timeout: Time, mut released: impl FnMut(&Held)) {
        let is_late = |held: &Held| held.arrived + timeout <= now;
        let late = self.held.iter().rposition(is_late).map_or(0, |last| last + 1);
        for _ in 0..late {
            self.pass_first(&mut released);
        }
        self.release(released);
        let first = self.held.iter().map(|held| held.arrived).min();
        self.due = first.map_or(Time::ZERO, |arrived| arrived + timeout);
    }
}

/// The reordering buffers of all hosts, for a balancer with one list of paths by connection.
#[derive(Clone, Debug)]
pub struct Reordering {
    timeout: Time,
    /// By connection, each at its host.
    numberings: Vec<Numbering>,
    buffers: Vec<Buffer>,
    wakes: Wakes<ConnId>,
    counts: ReorderCounts,
}

impl Reordering {
    /// Empty buffers, which hold a packet for at most that time.
    pub fn new(timeout: Time) -> Reordering {
        Reordering {
            timeout,
            numberings: Vec::new(),
            buffers: Vec::new(),
            wakes: Wakes::default(),
            counts: ReorderCounts::default(),
        }
    }

    /// A connection opens in that slot.
    pub fn open(&mut self, id: ConnId) {
        if id.index() >= self.buffers.len() {
            self.numberings.resize(id.index() + 1, Numbering::default());
            self.buffers.resize(id.index() + 1, Buffer::default());
        }
        self.numberings[id.index()] = Numbering::default();
        self.buffers[id.index()] = Buffer::default();
    }

    /// The tag of data that its host sends.
    pub fn number(&mut self, id: ConnId, label: u32) -> Tag {
        self.numberings[id.index()].number(label).pack()
    }

    /// Data has come to its host.
    pub fn arrive(&mut self, passing: Passing, now: Time, tag: Tag, acts: &mut Acts) -> Verdict {
        let Passing { conn, packet, passage, .. } = passing;
        let Reordering { timeout, buffers, wakes, counts, .. } = self;
        let buffer = &mut buffers[conn.index()];
        let (before, port) = (buffer.due, *buffer.port.get_or_insert(passage.next));
        let came = Held { place: Place::of(tag), id: packet, size: passage.size, arrived: now };
        let waits = buffer.on_packet(came, *timeout, |held| {
            counts.release(now - held.arrived);
            acts.released.push((held.id, port));
        });
        wakes.put_off((port, conn), before, buffer.due, now, acts);
        if waits {
            counts.hold(buffer.held.len(), buffer.bytes);
            return Verdict::Hold;
        }
        Verdict::Pass(passage.next)
    }

    /// A time has come for which a port was to be woken.
    pub fn wake(&mut self, port: LinkId, now: Time, acts: &mut Acts) {
        let Reordering { timeout, buffers, wakes, counts, .. } = self;
        for (time, conn) in wakes.come(port, now, acts) {
            let buffer = &mut buffers[conn.index()];
            buffer.flush(now, *timeout, |held| {
                counts.release(now - held.arrived);
                acts.released.push((held.id, port));
            });
            wakes.put_off((port, conn), time, buffer.due, now, acts);
        }
    }

    /// All packets that are held.
    pub fn held(&self, found: &mut dyn FnMut(PacketId)) {
        self.buffers.iter().flat_map(|buffer| &buffer.held).for_each(|held| found(held.id));
    }

    /// Counters of the packets that were held.
    pub fn counts(&self) -> ReorderCounts {
        self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: Time = Time::from_us(50);

    /// A buffer, and the packets that the transport has had, by number.
    #[derive(Default)]
    struct Trial {
        buffer: Buffer,
        seen: Vec<u32>,
    }

    impl Trial {
        /// Packet of that number and cell comes.
        fn comes(&mut self, (packet, cell): (u32, u32), at_us: u64) {
            let mut released = Vec::new();
            let place = Place { packet, cell };
            let came = Held { place, id: PacketId(packet), size: 1500, arrived: Time::from_us(at_us) };
            let waits = self.buffer.on_packet(came, TIMEOUT, |held| released.push(held.id.0));
            self.seen.extend((!waits).then_some(packet));
            self.seen.extend(released);
        }

        fn wakes(&mut self, at_us: u64) {
            let seen = &mut self.seen;
            self.buffer.flush(Time::from_us(at_us), TIMEOUT, |held| seen.push(held.id.0));
        }
    }

    /// Labels 7, 7, 9, 7: cells 0, 0, 1, 2. A tag has both numbers.
    #[test]
    fn packets_of_one_path_are_a_cell() {
        let mut numbering = Numbering::default();
        let places: Vec<_> = [7, 7, 9, 7].iter().map(|&label| numbering.number(label)).collect();
        assert_eq!(places.iter().map(|place| place.cell).collect::<Vec<_>>(), [0, 0, 1, 2]);
        assert_eq!(places.iter().map(|place| place.packet).collect::<Vec<_>>(), [0, 1, 2, 3]);
        let far = Place { packet: u32::MAX, cell: 5 };
        assert_eq!(Place::of(far.pack()), far);
    }

    /// In order nothing waits, within a cell and from one to the next; nor behind a loss within a cell.
    #[test]
    fn what_is_in_order_passes_at_once() {
        let mut trial = Trial::default();
        for (at, place) in [(0, 0), (1, 0), (2, 1), (4, 1), (5, 2)].into_iter().enumerate() {
            trial.comes(place, at as u64);
        }
        assert_eq!(trial.seen, [0, 1, 2, 4, 5]);
        assert_eq!(trial.buffer.due, Time::ZERO);
    }

    /// By hand: cell 1 (packets 2, 3) overtakes the end of cell 0 (packet 1) and waits for it; cell 2 (4, 6) waits for both, and
    /// the loss of 5 does not hold 6.
    #[test]
    fn a_cell_waits_for_the_end_of_the_one_before() {
        let mut trial = Trial::default();
        trial.comes((0, 0), 1);
        for (place, at) in [((2, 1), 2), ((4, 2), 3), ((6, 2), 4), ((3, 1), 5)] {
            trial.comes(place, at);
        }
        assert_eq!((trial.seen.as_slice(), trial.buffer.due), (&[0][..], Time::from_us(52)));
        assert_eq!((trial.buffer.held.len(), trial.buffer.bytes), (4, 6000));
        trial.comes((1, 0), 6);
        assert_eq!(trial.seen, [0, 1, 2, 3, 4, 6]);
        assert_eq!((trial.buffer.due, trial.buffer.bytes), (Time::ZERO, 0));
    }

    /// By hand: packet 1 is lost, the last of cell 0. Packets 2 and 3 came at 10 and 11 us, 5 at 40 us; at 60 us packet 2 goes on, and 3 behind
    /// it, in its cell; 5 waits for 4 until 90 us. A packet that comes after its time passes at once.
    #[test]
    fn a_timeout_releases_what_has_waited() {
        let mut trial = Trial::default();
        trial.comes((0, 0), 1);
        for (place, at) in [((2, 1), 10), ((3, 1), 11), ((5, 2), 40)] {
            trial.comes(place, at);
        }
        trial.wakes(60);
        assert_eq!((trial.seen.as_slice(), trial.buffer.due), (&[0, 2, 3][..], Time::from_us(90)));
        trial.comes((1, 0), 70);
        assert_eq!(trial.seen, [0, 2, 3, 1]);
        trial.wakes(90);
        assert_eq!((trial.seen.as_slice(), trial.buffer.due), (&[0, 2, 3, 1, 5][..], Time::ZERO));
    }

    /// A later packet that has waited for longer takes those before it along: 3 came at 5 us, 2 at 20 us.
    #[test]
    fn a_packet_goes_with_those_before_it() {
        let mut trial = Trial::default();
        for (place, at) in [((0, 0), 1), ((3, 2), 5), ((2, 1), 20)] {
            trial.comes(place, at);
        }
        trial.wakes(55);
        assert_eq!((trial.seen.as_slice(), trial.buffer.due), (&[0, 2, 3][..], Time::ZERO));
    }

    /// The next wake is for the packet that came first of those left, whatever its number: at 55 us packet 2 goes on,
    /// which came at 5; 8 came at 30 us, before 5 at 45 us, and waits until 80 us.
    #[test]
    fn the_next_wake_is_for_the_longest_wait() {
        let mut trial = Trial::default();
        for (place, at) in [((0, 0), 1), ((2, 1), 5), ((8, 3), 30), ((5, 2), 45)] {
            trial.comes(place, at);
        }
        trial.wakes(55);
        assert_eq!((trial.seen.as_slice(), trial.buffer.due), (&[0, 2][..], Time::from_us(80)));
    }

    /// Numbers go round: packet 0 follows 2^32 - 1, and cell 0 the last one.
    #[test]
    fn numbers_wrap() {
        let mut trial = Trial::default();
        trial.buffer.next = Place { packet: u32::MAX - 1, cell: u32::MAX };
        trial.comes((0, 0), 1);
        trial.comes((u32::MAX, u32::MAX), 2);
        assert_eq!(trial.seen, [u32::MAX, 0]);
        trial.comes((u32::MAX - 1, u32::MAX), 3);
        assert_eq!(trial.seen, [u32::MAX, 0, u32::MAX - 1]);
    }
}
