//! The future: all events to come, in their total order.
//!
//! A ring of narrow buckets, each sorted when it is opened, with a heap for events beyond the ring. Bucket
//! width and ring length follow the run: see [`Calendar::adapt`]. The width has no influence on the order,
//! only on the speed.

mod buckets;
pub mod prefetch;
pub mod ties;

use self::buckets::{Buckets, Entry, WIDEST_SHIFT};
use self::ties::{Lots, Ties};
use crate::engine::data::event::{Event, Phase};
use crate::engine::data::plan::Agenda;
use crate::units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Future events.
#[derive(Debug)]
pub struct Calendar {
    /// Bucket `n` holds the events with `time >> shift == n`.
    shift: u32,
    near: Buckets,
    /// Number of the bucket that is being emptied, its events in order, and the next of them.
    open: u64,
    today: Vec<Entry>,
    cursor: usize,
    /// Hint on each event of the open bucket: the result of its prefetch.
    hints: Vec<u32>,
    far: BinaryHeap<Reverse<Event>>,
    /// Whether, in place of all that, there is a plain heap, by the keys of the events.
    is_plain: bool,
    plain: BinaryHeap<Reverse<(u128, Event)>>,
    /// The order of packets that arrive at one instant.
    pub ties: Ties,
    lots: Lots,
    /// The order of the event that was taken last.
    pub present: u64,
    /// In a part of a run: see [`Calendar::follow`].
    followed: (Time, u64),
    stats: Stats,
    /// Events after which [`Calendar::adapt`] looks again.
    look_after: u32,
    /// Buckets opened so far, and words of 64 buckets looked at to find them: what a test bounds.
    pub opened: u64,
    /// See `opened`.
    pub scanned: u64,
}

/// Counters by which [`Calendar::adapt`] decides, since it last looked.
#[derive(Clone, Copy, Debug, Default)]
struct Stats {
    popped: u32,
    opened: u32,
    /// See [`Calendar::scanned`].
    scanned: u64,
    far: u32,
}

/// The hint of an event that was never prefetched.
pub const UNSEEN: u32 = u32::MAX;

/// Buckets of 8 ns.
const FIRST_SHIFT: u32 = 13;
/// Where buckets are so wide, of 128 ns, events are rare, packets in flight few, and all of them in the cache.
const RARE_SHIFT: u32 = FIRST_SHIFT + 4;
const SMALLEST_RING: usize = 1 << 10;
const LARGEST_RING: usize = 1 << 20;
/// Events before the first look of [`Calendar::adapt`], and between two at most: each interval is twice the one before.
const ADAPT_SOON: u32 = 1 << 11;
const ADAPT_EVERY: u32 = 1 << 15;

impl Calendar {
    /// An empty future.
    pub fn new(agenda: Agenda, ties: Ties) -> Calendar {
        Calendar {
            shift: FIRST_SHIFT,
            near: Buckets::new(SMALLEST_RING),
            open: 0,
            today: Vec::new(),
            cursor: 0,
            hints: Vec::new(),
            far: BinaryHeap::new(),
            plain: BinaryHeap::new(),
            is_plain: agenda == Agenda::Heap || ties.is_by_arrival(),
            ties,
            lots: Lots::default(),
            present: 0,
            followed: (Time::ZERO, 0),
            stats: Stats::default(),
            look_after: ADAPT_SOON,
            opened: 0,
            scanned: 0,
        }
    }

    /// Adds an event, which must not lie before the last one popped.
    #[inline(always)]
    pub fn push(&mut self, event: Event) {
        let number = event.time.0 >> self.shift;
        let ahead = number.wrapping_sub(self.open);
        if ahead.wrapping_sub(1) < self.near.len() as u64 - 1 && !self.is_plain {
            self.near.put(number, Entry::new(&event, self.shift));
        } else {
            self.push_elsewhere(ahead, event);
        }
    }

    /// Puts an event into the open bucket or beyond the ring.
    #[cold]
    fn push_elsewhere(&mut self, ahead: u64, event: Event) {
        if self.is_plain {
            let event = self.ties.counted(event);
            self.plain.push(Reverse((self.ties.key_of(&event), event)));
        } else if ahead == 0 {
            // Into its place among those that are still to come.
            let entry = Entry::new(&event, self.shift);
            let mut place = self.today.len();
            while place > self.cursor
                && self.ties.is_later(&self.today[place - 1], &entry, self.open, self.shift)
            {
                place -= 1;
            }
            self.today.insert(place, entry);
            self.hints.insert(place, UNSEEN);
        } else {
            assert!(ahead as i64 > 0, "an event in the past: {event:?}");
            self.stats.far += 1;
            self.far.push(Reverse(event));
        }
    }

    /// Takes the earliest event, with its hint. When a bucket is opened, `now` gets its events and returns a hint for each,
    /// and `soon` gets those of the next bucket, so that their data can be prefetched in time. An event that was pushed into
    /// the open bucket, or comes out of a plain heap, was never prefetched: its hint is [`UNSEEN`].
    #[inline(always)]
    pub fn pop(&mut self, soon: impl FnMut(&Event), now: impl FnMut(&Event) -> u32) -> Option<(Event, u32)> {
        self.take(None, soon, now)
    }

    /// The same for an event before that time: events from that time on may still be added.
    #[inline(always)]
    pub fn pop_before(
        &mut self,
        end: Time,
        soon: impl FnMut(&Event),
        now: impl FnMut(&Event) -> u32,
    ) -> Option<(Event, u32)> {
        self.take(Some(end), soon, now)
    }

    /// `None` is not [`Time::NEVER`]: an event may be at the end of time.
    #[inline(always)]
    fn take(
        &mut self,
        end: Option<Time>,
        soon: impl FnMut(&Event),
        now: impl FnMut(&Event) -> u32,
    ) -> Option<(Event, u32)> {
        let is_before = |event: &Event| end.is_none_or(|end| event.time < end);
        if self.cursor >= self.today.len() && !self.open_next(end, soon, now) {
            return None;
        }
        let at = self.cursor;
        let event = self.today[at].event(self.open, self.shift);
        if !is_before(&event) {
            return None;
        }
        self.cursor += 1;
        self.present = event.order;
        Some((event, self.hints[at]))
    }

    /// A part of a run handles an event. One that another has scheduled for the present instant takes place right after that
    /// one, even if it has an earlier order: among the events of all parts it has the place of the latest of its instant.
    #[inline]
    pub fn follow(&mut self, event: &Event) {
        let (time, order) = self.followed;
        // Arrivals are never scheduled for the present: they come in their order, which may be drawn.
        let is_later = || match (event.phase(), (order >> 60) as u8) {
            (one, other) if one == other && one == Phase::Arrival as u8 => true,
            (one, other) if one == other => self.ties.key(time, event.order) > self.ties.key(time, order),
            (one, other) => one > other,
        };
        if event.time != time || is_later() {
            self.followed = (event.time, event.order);
        }
    }

    /// The place of the present event of a part among the events of all parts: see [`Calendar::follow`].
    pub fn place(&self) -> u64 {
        self.followed.1
    }

    /// Whether a transmission whose events have that count, and which ends at the present instant, ends after the present
    /// event.
    #[cold]
    #[inline(never)]
    pub fn ends_later(&self, count: u32) -> bool {
        self.ties.ends_later(count, self.present)
    }

    /// The first event, which stays.
    pub fn first(&self) -> Option<Event> {
        let event = |number: u64| move |entry: &Entry| entry.event(number, self.shift);
        let key = |event: &Event| self.ties.key_of(event);
        let near = || {
            let number = self.near.next_occupied(self.open)?;
            self.near.bucket(number).map(event(number)).min_by_key(key)
        };
        let far = || {
            let Reverse(first) = self.far.peek()?;
            let ties = self.far.iter().map(|Reverse(event)| *event).filter(|event| event.time == first.time);
            ties.min_by_key(key)
        };
        let plain = || self.plain.peek().map(|Reverse((_, event))| *event);
        self.today.get(self.cursor).map(event(self.open)).or_else(near).or_else(far).or_else(plain)
    }

    /// Forgets what has been found out about the events of the open bucket.
    pub fn forget_hints(&mut self) {
        self.hints.fill(UNSEEN);
    }

    /// Opens the next bucket that holds an event, unless it begins at `end` or later; false if there is none. Shows its
    /// events to `now`, and those of the bucket behind it to `soon`.
    #[inline(always)]
    fn open_next(
        &mut self,
        end: Option<Time>,
        mut soon: impl FnMut(&Event),
        mut now: impl FnMut(&Event) -> u32,
    ) -> bool {
        if self.is_plain {
            return self.open_first(end);
        }
        if !self.open_bucket(end.unwrap_or(Time::NEVER)) {
            return false;
        }
        if self.shift < RARE_SHIFT
            && let Some(behind) = self.near.next_occupied(self.open)
        {
            self.near.bucket(behind).for_each(|entry| soon(&entry.event(behind, self.shift)));
            if let Some(next) = self.near.next_occupied(behind) {
                self.near.fetch(next);
            }
        }
        // Not `extend`: that is compiled apart, and `now` inlined or not as the parts of the crate fall.
        self.hints.resize(self.today.len(), UNSEEN);
        for (hint, entry) in self.hints.iter_mut().zip(&self.today) {
            *hint = now(&entry.event(self.open, self.shift));
        }
        true
    }

    /// Of a plain heap the first event is a bucket, so that events are taken in one place: a second one would have each of
    /// them written to memory and read again at once.
    #[cold]
    fn open_first(&mut self, end: Option<Time>) -> bool {
        let first = self.plain.peek().filter(|Reverse((_, event))| end.is_none_or(|end| event.time < end));
        let Some(&Reverse((_, event))) = first else { return false };
        self.plain.pop();
        self.open = event.time.0 >> self.shift;
        self.cursor = 0;
        self.today.clear();
        self.today.push(Entry::new(&event, self.shift));
        self.hints.clear();
        self.hints.push(UNSEEN);
        true
    }

    fn open_bucket(&mut self, end: Time) -> bool {
        let Some(mut next) = self.next_number(end) else { return false };
        self.stats.popped += self.cursor as u32;
        self.stats.opened += 1;
        self.opened += 1;
        self.today.clear();
        self.cursor = 0;
        if self.stats.popped >= self.look_after {
            self.adapt();
            // Buckets may have another width.
            match self.next_number(end) {
                Some(number) => next = number,
                None => return false,
            }
        }
        let scanned = (next - self.open).min(self.near.len() as u64) / 64 + 1;
        self.scanned += scanned;
        self.stats.scanned += scanned;
        self.open = next;
        self.near.take(next, &mut self.today);
        // What the ring now reaches leaves the heap; all of it comes before what stays there.
        while let Some(Reverse(event)) = self.far.peek()
            && (event.time.0 >> self.shift) - self.open < self.near.len() as u64
        {
            let Reverse(event) = self.far.pop().expect("just seen");
            let entry = Entry::new(&event, self.shift);
            match event.time.0 >> self.shift {
                number if number == self.open => self.today.push(entry),
                number => self.near.put(number, entry),
            }
        }
        self.today.sort_unstable_by_key(Entry::key);
        self.ties.settle(&mut self.today, next, self.shift, &mut self.lots);
        true
    }

    /// The number of the next bucket that holds an event, if it begins before that time: what is added later must not lie
    /// before the open bucket.
    fn next_number(&self, end: Time) -> Option<u64> {
        let far = || self.far.peek().map(|Reverse(event)| event.time.0 >> self.shift);
        let next = self.near.next_occupied(self.open).or_else(far)?;
        (next << self.shift < end.0).then_some(next)
    }

    /// Fits bucket width and ring length to the run: a few events to a bucket, few events beyond the ring.
    ///
    /// 6 to 24 to a bucket where events are dense, for there a run waits for memory, and more to a bucket are fetched at
    /// once. A small or slow network, whose buckets are wider than the first ones, is in the cache, and 12 are sorted
    /// with less work than 24. It often begins with few flows: what fits these is too wide soon after.
    ///
    /// Events of one instant share a bucket of any width, and where all hosts send in slots most do. Narrower buckets
    /// then are more empty ones to look past, which bounds how narrow they become.
    ///
    /// Called between two buckets. Neither changes the order of events.
    fn adapt(&mut self) {
        let Stats { popped, opened, scanned, far } = std::mem::take(&mut self.stats);
        let each = popped / opened.max(1);
        let (shift, ring) = (self.shift, self.near.len());
        let most = if shift > FIRST_SHIFT { 12 } else { 24 };
        let (dense, sparse) = (scanned <= u64::from(popped / 4), scanned > u64::from(popped));
        if each > most && dense && self.shift > 0 {
            self.shift -= 1 + u32::from(each > 96 && self.shift > 1);
        } else if (each < 6 || sparse) && self.shift < WIDEST_SHIFT {
            // To 12 events to a bucket at most, if all come as these have.
            self.shift = (self.shift + (12 * opened / popped).max(2).ilog2()).min(WIDEST_SHIFT);
        }
        // Half the width makes twice the buckets for the same time, twice the width half of them.
        let same = ring << shift.saturating_sub(self.shift) >> self.shift.saturating_sub(shift);
        let fitted = (same.max(SMALLEST_RING) << u32::from(far > popped / 8)).min(LARGEST_RING);
        self.look_after = (2 * self.look_after).min(ADAPT_EVERY);
        if shift != self.shift || fitted != ring {
            self.rebuild(shift, fitted);
        }
    }

    /// The open bucket is empty; everything else lies behind its end.
    fn rebuild(&mut self, old_shift: u32, ring: usize) {
        let near = std::mem::replace(&mut self.near, Buckets::new(ring));
        let far = std::mem::take(&mut self.far);
        let opened = self.open;
        self.open = (((self.open + 1) << old_shift) >> self.shift).saturating_sub(1);
        near.iter(opened)
            .map(|(number, entry)| entry.event(number, old_shift))
            .chain(far.into_iter().map(|Reverse(event)| event))
            .for_each(|event| self.push(event));
        self.stats = Stats::default();
    }

    /// All events still to come, in no order.
    pub fn iter(&self) -> impl Iterator<Item = Event> {
        let far = self.far.iter().map(|Reverse(event)| *event);
        let today = self.today[self.cursor..].iter().map(|entry| entry.event(self.open, self.shift));
        let near = self.near.iter(self.open).map(|(number, entry)| entry.event(number, self.shift));
        let plain = self.plain.iter().map(|Reverse((_, event))| *event);
        today.chain(near).chain(far).chain(plain)
    }

    /// Removes the first event for which the test holds: how tests of the audit lose one.
    #[cfg(test)]
    pub fn lose(&mut self, mut test: impl FnMut(&Event) -> bool) -> Option<Event> {
        let lost = self.iter().filter(|event| test(event)).min()?;
        let kept: Vec<Event> = self.iter().filter(|event| *event != lost).collect();
        let agenda = if self.is_plain { Agenda::Heap } else { Agenda::Calendar };
        *self = Calendar::new(agenda, self.ties);
        kept.into_iter().for_each(|event| self.push(event));
        Some(lost)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::engine::data::event::{Phase, order};
    use crate::engine::data::plan::Rule;

    #[test]
    fn an_event_of_a_bucket_is_16_bytes() {
        assert_eq!(std::mem::size_of::<Entry>(), 16);
    }

    /// Pops and pushes at once, as a run does: each popped event schedules some later ones.
    fn drive(gaps: &[Vec<u64>], agenda: Agenda, ties: Ties) -> Vec<Event> {
        let mut calendar = Calendar::new(agenda, ties);
        let mut popped = Vec::new();
        let mut counter = 0;
        let mut push = |calendar: &mut Calendar, time: u64| {
            counter += 1;
            let order = order(Phase::Arrival, (counter * 7919) % 1000, counter);
            calendar.push(Event { time: Time(time), order, a: counter });
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

    /// 41 times in each slot of 12.3 us, 30 events of one instant: no width has fewer to a bucket, and none is so narrow that
    /// a word is looked at for every other event.
    #[test]
    fn events_of_one_instant_do_not_narrow_buckets_without_end() {
        const SLOT: u64 = 12_300_000;
        let mut calendar = Calendar::new(Agenda::Calendar, Ties::default());
        for number in 0..41 * 30 {
            let order = order(Phase::Arrival, number % 1000, number);
            calendar.push(Event { time: Time(u64::from(number / 30) * SLOT / 41), order, a: number });
        }
        let mut looked_at = 0;
        for popped in 0..1_000_000 {
            if popped == 500_000 {
                looked_at = calendar.scanned;
            }
            let (event, _) = calendar.pop(|_| (), |_| 0).expect("each event brings another");
            calendar.push(Event { time: Time(event.time.0 + SLOT), ..event });
        }
        let looked_at = calendar.scanned - looked_at;
        assert!(looked_at < 250_000, "{looked_at} words for 500,000 events");
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
            for rule in [Rule::Link, Rule::Drawn, Rule::Arrival] {
                let ties = Ties::new(rule, 1, 0);
                let calendar = drive(&gaps, Agenda::Calendar, ties);
                let heap = drive(&gaps, Agenda::Heap, ties);
                prop_assert!(heap.is_sorted_by_key(|event| event.time));
                prop_assert_eq!(calendar, heap);
            }
        }
    }

    /// A message (phase 8) at 5 ps starts a flow (3) at once, which sets a timer (4): both have the message's place. At the next
    /// instant an arrival is later than the one before it, whatever their links, and earlier than a timer.
    #[test]
    fn an_event_of_the_present_has_the_place_of_its_cause() {
        let mut calendar = Calendar::new(Agenda::Calendar, Ties::new(Rule::Drawn, 1, 0));
        let mut place = |time, phase, rank| {
            calendar.follow(&Event { time: Time(time), order: order(phase, rank, 0), a: 0 });
            calendar.place()
        };
        assert_eq!(place(5, Phase::Control, 0), order(Phase::Control, 0, 0));
        assert_eq!(place(5, Phase::Start, 7), order(Phase::Control, 0, 0));
        assert_eq!(place(5, Phase::Timer, 9), order(Phase::Control, 0, 0));
        assert_eq!(place(6, Phase::Arrival, 4), order(Phase::Arrival, 4, 0));
        assert_eq!(place(6, Phase::Arrival, 3), order(Phase::Arrival, 3, 0));
        assert_eq!(place(6, Phase::Timer, 2), order(Phase::Timer, 2, 0));
        assert_eq!(place(6, Phase::Timer, 1), order(Phase::Timer, 2, 0));
        assert_eq!(place(6, Phase::Timer, 3), order(Phase::Timer, 3, 0));
        assert_eq!(place(6, Phase::Departure, 3), order(Phase::Timer, 3, 0));
    }
}
