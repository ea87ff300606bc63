//! Future events in a total order.
//!
//! An event's key is (time, phase, rank, counter): nothing depends on insertion order, addresses or
//! hashes. The calendar is a ring of narrow buckets, each sorted when it is opened, with a small heap
//! for what lies beyond the ring. Bucket width and ring length follow the run: see [`Calendar::adapt`].
//! The width has no influence on the order, only on the speed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::prefetch::prefetch;
use crate::units::Time;

/// What happens first at one instant: an event's phase is the top of its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Phase {
    /// A port has finished a transmission: it is free for an arrival at the same instant.
    Departure = 1,
    /// A packet arrives at the end of a link.
    Arrival = 2,
    /// A flow starts.
    Start = 3,
    /// A timer of a host fires.
    Timer = 4,
}

/// Something that will happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When.
    pub time: Time,
    /// Phase (4 bits), rank of the source (28), the source's own counter (32): see [`order`].
    pub order: u64,
    /// The packet, connection or host that it is about.
    pub a: u32,
    /// The link or timer that it is about.
    pub b: u32,
}

/// The order of events at one instant.
#[inline]
pub fn order(phase: Phase, rank: u32, counter: u32) -> u64 {
    (phase as u64) << 60 | u64::from(rank) << 32 | u64::from(counter)
}

impl Event {
    #[inline]
    fn key(&self) -> u128 {
        u128::from(self.time.0) << 64 | u128::from(self.order)
    }

    /// The phase bits.
    #[inline]
    pub fn phase(&self) -> u8 {
        (self.order >> 60) as u8
    }
}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Event) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Event {
    fn cmp(&self, other: &Event) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

/// Which structure holds the future; both give the same order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Agenda {
    /// The ring of buckets.
    #[default]
    Calendar,
    /// A plain binary heap: the oracle, and the alternative for benchmarks.
    Heap,
}

/// Future events.
#[derive(Debug)]
pub struct Calendar {
    /// Bucket `n` holds the events with `time >> shift == n`, at `n & mask` in the ring.
    shift: u32,
    buckets: Vec<Vec<Event>>,
    /// Memory of emptied buckets for those that fill next, the warmest last: so that what is touched is
    /// as much as there are events, not as much as the ring is long.
    spare: Vec<Vec<Event>>,
    /// One bit for each bucket behind the open one that holds events.
    occupied: Vec<u64>,
    /// Number of the bucket that is being emptied, and the next of its events.
    open: u64,
    cursor: usize,
    /// What has been found out about each event of the open bucket.
    hints: Vec<u32>,
    /// Events beyond the ring.
    far: BinaryHeap<Reverse<Event>>,
    plain_heap: bool,
    stats: Stats,
    /// Buckets opened so far: what a test bounds.
    pub opened: u64,
}

/// What [`Calendar::adapt`] decides by, since it last looked.
#[derive(Clone, Copy, Debug, Default)]
struct Stats {
    popped: u32,
    opened: u32,
    far: u32,
}

/// What is said about an event that nobody has been shown.
pub const UNSEEN: u32 = u32::MAX;

const SMALLEST_RING: usize = 1 << 10;
const LARGEST_RING: usize = 1 << 17;
const ADAPT_EVERY: u32 = 1 << 15;
/// Whole events in a cache line.
const EVENTS_A_LINE: usize = 2;

impl Calendar {
    /// An empty future.
    pub fn new(agenda: Agenda) -> Calendar {
        Calendar {
            shift: 13,
            buckets: vec![Vec::new(); SMALLEST_RING],
            spare: Vec::new(),
            occupied: vec![0; SMALLEST_RING / 64],
            open: 0,
            cursor: 0,
            hints: Vec::new(),
            far: BinaryHeap::new(),
            plain_heap: agenda == Agenda::Heap,
            stats: Stats::default(),
            opened: 0,
        }
    }

    /// Adds an event, which must not lie before the last one popped.
    #[inline(always)]
    pub fn push(&mut self, event: Event) {
        let number = event.time.0 >> self.shift;
        let ahead = number.wrapping_sub(self.open);
        if ahead.wrapping_sub(1) < self.buckets.len() as u64 - 1 && !self.plain_heap {
            let slot = number as usize & (self.buckets.len() - 1);
            self.put(slot, event);
        } else if ahead == 0 && !self.plain_heap {
            self.push_open(event);
        } else {
            debug_assert!(number > self.open || self.plain_heap, "an event in the past");
            self.stats.far += 1;
            self.far.push(Reverse(event));
        }
    }

    /// Puts an event into a bucket behind the open one.
    #[inline(always)]
    fn put(&mut self, slot: usize, event: Event) {
        let bucket = &mut self.buckets[slot];
        if bucket.is_empty() {
            *bucket = self.spare.pop().unwrap_or_default();
            self.occupied[slot / 64] |= 1 << (slot % 64);
        }
        bucket.push(event);
    }

    /// Puts an event into its place among those of the open bucket that are still to come.
    fn push_open(&mut self, event: Event) {
        let slot = self.slot();
        let bucket = &mut self.buckets[slot];
        let later = bucket[self.cursor..].iter().rev().take_while(|other| **other > event).count();
        let place = bucket.len() - later;
        bucket.insert(place, event);
        self.hints.insert(place, UNSEEN);
    }

    /// Takes the first event, and what has been found out about it. Whenever a bucket is opened, `now` is
    /// shown its events and says a number about each, and `soon` is shown those of the bucket behind it, so
    /// that what they are about can be asked from memory in time. An event that came into the open bucket
    /// later, or beyond a plain heap, has been shown to nobody: the number is [`UNSEEN`].
    #[inline(always)]
    pub fn pop(
        &mut self,
        mut soon: impl FnMut(&Event),
        now: impl FnMut(&Event) -> u32,
    ) -> Option<(Event, u32)> {
        let mut slot = self.slot();
        if self.cursor >= self.buckets[slot].len() {
            if self.plain_heap {
                return self.far.pop().map(|Reverse(event)| (event, UNSEEN));
            }
            if !self.open_next() {
                return None;
            }
            self.look_ahead(&mut soon);
            slot = self.slot();
            self.hints.clear();
            self.hints.extend(self.buckets[slot].iter().map(now));
        }
        let at = self.cursor;
        self.cursor += 1;
        Some((self.buckets[slot][at], self.hints[at]))
    }

    /// Shows the events of the bucket behind the open one, and asks for the memory of the one behind that.
    #[inline]
    fn look_ahead(&self, soon: impl FnMut(&Event)) {
        if let Some(behind) = self.next_occupied(self.open) {
            self.bucket(behind).iter().for_each(soon);
            if let Some(next) = self.next_occupied(behind) {
                self.bucket(next).chunks(EVENTS_A_LINE).for_each(|line| prefetch(&line[0], 1));
            }
        }
    }

    #[inline]
    fn bucket(&self, number: u64) -> &[Event] {
        &self.buckets[number as usize & (self.buckets.len() - 1)]
    }

    #[inline]
    fn slot(&self) -> usize {
        self.open as usize & (self.buckets.len() - 1)
    }

    /// Opens the next bucket that holds an event; false if there is none.
    fn open_next(&mut self) -> bool {
        self.stats.popped += self.cursor as u32;
        self.stats.opened += 1;
        self.opened += 1;
        let slot = self.slot();
        let mut emptied = std::mem::take(&mut self.buckets[slot]);
        if emptied.capacity() > 0 {
            emptied.clear();
            self.spare.push(emptied);
        }
        self.cursor = 0;
        if self.stats.popped >= ADAPT_EVERY {
            self.adapt();
            if !self.buckets[self.slot()].is_empty() {
                return true;
            }
        }
        let far = self.far.peek().map(|Reverse(event)| event.time.0 >> self.shift);
        let Some(next) = self.next_occupied(self.open).into_iter().chain(far).min() else {
            return false;
        };
        self.open = next;
        let slot = self.slot();
        self.occupied[slot / 64] &= !(1 << (slot % 64));
        if self.buckets[slot].capacity() == 0 {
            self.buckets[slot] = self.spare.pop().unwrap_or_default();
        }
        // What the ring now reaches leaves the heap; all of it comes before what stays there.
        while let Some(Reverse(event)) = self.far.peek()
            && (event.time.0 >> self.shift) - self.open < self.buckets.len() as u64
        {
            let Reverse(event) = self.far.pop().expect("just seen");
            match event.time.0 >> self.shift {
                number if number == self.open => self.buckets[slot].push(event),
                number => self.put(number as usize & (self.buckets.len() - 1), event),
            }
        }
        self.buckets[slot].sort_unstable_by_key(Event::key);
        true
    }

    /// Number of the first bucket behind that one that holds events.
    #[inline]
    fn next_occupied(&self, number: u64) -> Option<u64> {
        let mask = self.buckets.len() - 1;
        let start = (number as usize + 1) & mask;
        let last = self.occupied.len() - 1;
        let mut bits = self.occupied[start / 64] & (u64::MAX << (start % 64));
        for word in 0..=last + 1 {
            if bits != 0 {
                let place = ((start / 64 + word) & last) * 64 + bits.trailing_zeros() as usize;
                let ahead = place.wrapping_sub(number as usize) & mask;
                // The open bucket has no bit, so that no place is found twice; a full turn is none.
                return (ahead != 0 && number - self.open + (ahead as u64) <= mask as u64)
                    .then_some(number + ahead as u64);
            }
            bits = self.occupied[(start / 64 + word + 1) & last];
        }
        None
    }

    /// Fits bucket width and ring length to the run: a few events to a bucket, few events beyond the ring.
    ///
    /// Called between two buckets. Neither changes the order of events.
    fn adapt(&mut self) {
        let Stats { popped, opened, far } = std::mem::take(&mut self.stats);
        let each = popped / opened.max(1);
        let (shift, ring) = (self.shift, self.buckets.len());
        if each > 12 && self.shift > 0 {
            self.shift -= 1 + u32::from(each > 48 && self.shift > 1);
        } else if each < 3 && self.shift < 40 {
            self.shift += 1;
        }
        let longer = if (shift != self.shift && each > 12) || far > popped / 8 { ring * 2 } else { ring };
        let longer = longer.min(LARGEST_RING);
        if shift != self.shift || longer != ring {
            self.rebuild(shift, longer);
        }
    }

    fn rebuild(&mut self, old_shift: u32, ring: usize) {
        let mut events: Vec<Event> = self.far.drain().map(|Reverse(event)| event).collect();
        for bucket in &mut self.buckets {
            events.append(bucket);
        }
        // The open bucket is empty; everything else lies behind its end.
        self.open = ((self.open + 1) << old_shift) >> self.shift;
        self.open = self.open.saturating_sub(1);
        self.buckets.resize_with(ring, Vec::new);
        self.occupied = vec![0; ring / 64];
        for event in events {
            self.push(event);
        }
        self.stats = Stats::default();
    }

    /// All events still to come, in no order: for the audit.
    pub fn iter(&self) -> impl Iterator<Item = &Event> {
        let open = self.slot();
        let cursor = self.cursor;
        let near = self.buckets.iter().enumerate();
        near.flat_map(move |(slot, bucket)| &bucket[if slot == open { cursor } else { 0 }..])
            .chain(self.far.iter().map(|Reverse(event)| event))
    }

    /// Removes the first event for which the test holds: how tests of the audit lose one.
    #[cfg(test)]
    pub fn lose(&mut self, mut test: impl FnMut(&Event) -> bool) -> Option<Event> {
        let all: Vec<Event> = self.iter().copied().filter(|event| test(event)).collect();
        let lost = *all.iter().min()?;
        let open = self.slot();
        for (slot, bucket) in self.buckets.iter_mut().enumerate() {
            let start = if slot == open { self.cursor } else { 0 };
            if let Some(place) = bucket[start..].iter().position(|event| *event == lost) {
                bucket.remove(start + place);
                if bucket.is_empty() {
                    self.occupied[slot / 64] &= !(1 << (slot % 64));
                }
                return Some(lost);
            }
        }
        self.far.retain(|Reverse(event)| *event != lost);
        Some(lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_event_is_24_bytes() {
        assert_eq!(std::mem::size_of::<Event>(), 24);
    }

    /// Pops and pushes at once, as a run does: each popped event schedules some later ones.
    fn drive(gaps: &[Vec<u64>], agenda: Agenda) -> Vec<Event> {
        let mut calendar = Calendar::new(agenda);
        let mut popped = Vec::new();
        let mut counter = 0;
        let mut push = |calendar: &mut Calendar, time: u64| {
            counter += 1;
            let order = order(Phase::Arrival, (counter * 7919) % 1000, counter);
            calendar.push(Event { time: Time(time), order, a: counter, b: 0 });
        };
        push(&mut calendar, 0);
        for gaps in gaps.iter().cycle().take(20_000) {
            let Some((event, _)) = calendar.pop(|_| (), |event| event.a) else { break };
            popped.push(event);
            gaps.iter().for_each(|gap| push(&mut calendar, event.time.0 + gap));
        }
        popped.extend(std::iter::from_fn(|| Some(calendar.pop(|_| (), |event| event.a)?.0)));
        popped
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn same_order_as_a_heap(
            gaps in prop::collection::vec(
                prop::collection::vec(prop_oneof![Just(0), 1u64..100, 1u64..100_000, 1u64..2_000_000_000], 0..3),
                1..60,
            )
        ) {
            let calendar = drive(&gaps, Agenda::Calendar);
            let heap = drive(&gaps, Agenda::Heap);
            prop_assert!(heap.is_sorted_by_key(|event| event.time));
            prop_assert_eq!(calendar, heap);
        }
    }
}
