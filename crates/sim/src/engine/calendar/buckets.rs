//! The ring of buckets in which a calendar keeps the near future.
//!
//! A bucket is a list of chunks of a few events. A push touches a word of the ring, which stays in the
//! first-level cache, and the chunk that fills; emptied chunks are used again, the warmest first, so that the
//! memory in use is as much as there are events, not as much as the ring is long.

use super::prefetch::prefetch;
use crate::engine::data::event::{Event, Phase, RANK_BITS, RANKS};
use crate::units::Time;

/// Buckets by place in the ring; a ring has a power of two of them.
#[derive(Debug)]
pub struct Buckets {
    /// For each bucket the chunk that fills and the events in it, as `chunk * 8 + events`; 0 if it is empty.
    heads: Vec<u32>,
    /// One bit for each bucket that is not empty.
    occupied: Vec<u64>,
    chunks: Vec<Chunk>,
    /// The first of the chunks that are not in use.
    free: u32,
}

/// An event of a bucket: in place of its time, how long it comes after the bucket begins, which is below 2^32 ps.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(16))]
pub struct Entry {
    a: u32,
    word: u32,
    place: u32,
    after: u32,
}

/// Buckets are so wide at most: see [`Entry`].
pub const WIDEST_SHIFT: u32 = 32;

impl Entry {
    /// An event of a bucket whose width has that logarithm.
    #[inline(always)]
    pub fn new(event: &Event, shift: u32) -> Entry {
        let after = event.time.0 & ((1 << shift) - 1);
        let (place, word) = ((event.order >> 32) as u32, event.word());
        Entry { a: event.a, word, place, after: after as u32 }
    }

    /// The event, of the bucket with that number.
    #[inline(always)]
    pub fn event(&self, number: u64, shift: u32) -> Event {
        let time = Time(number << shift | u64::from(self.after));
        Event { time, order: u64::from(self.place) << 32 | u64::from(self.word), a: self.a }
    }

    /// Sort key of the events of a bucket.
    #[inline(always)]
    pub fn key(&self) -> u128 {
        u128::from(self.instant()) << 64 | u128::from(u64::from(self.word) << 32 | u64::from(self.a))
    }

    /// The rank of its source.
    #[inline(always)]
    pub fn rank(&self) -> u32 {
        self.place & RANKS
    }

    /// Whether both are packets that arrive at the same instant.
    #[inline(always)]
    pub fn ties(&self, other: &Entry) -> bool {
        (self.instant() ^ other.instant()) >> RANK_BITS == 0
            && self.place >> RANK_BITS == Phase::Arrival as u32
    }

    /// Time within the bucket, phase and rank.
    #[inline(always)]
    fn instant(&self) -> u64 {
        u64::from(self.after) << 32 | u64::from(self.place)
    }
}

const EVENTS: u32 = 7;

/// Two cache lines of events.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Chunk {
    events: [Entry; EVENTS as usize],
    /// The next chunk of the list; all chunks but the first are full.
    behind: u32,
}

const NONE: u32 = u32::MAX;

impl Buckets {
    /// A ring of that length, a multiple of 64, with nothing in it.
    pub fn new(length: usize) -> Buckets {
        Buckets { heads: vec![0; length], occupied: vec![0; length / 64], chunks: Vec::new(), free: NONE }
    }

    /// How many buckets.
    #[inline]
    pub fn len(&self) -> usize {
        self.heads.len()
    }

    /// The place of a bucket with that number.
    #[inline]
    fn place(&self, number: u64) -> usize {
        number as usize & (self.heads.len() - 1)
    }

    /// Puts an event into a bucket.
    #[inline(always)]
    pub fn put(&mut self, number: u64, event: Entry) {
        let place = self.place(number);
        let head = self.heads[place];
        let count = head % 8;
        if count.is_multiple_of(EVENTS) {
            self.heads[place] = self.begin(if count == 0 { NONE } else { head / 8 }, event) * 8 + 1;
            self.occupied[place / 64] |= 1 << (place % 64);
        } else {
            self.chunks[head as usize / 8].events[count as usize] = event;
            self.heads[place] = head + 1;
        }
    }

    /// A chunk with one event, before `behind`.
    #[inline]
    fn begin(&mut self, behind: u32, event: Entry) -> u32 {
        if let Some(chunk) = self.chunks.get_mut(self.free as usize) {
            chunk.events[0] = event;
            return std::mem::replace(&mut self.free, std::mem::replace(&mut chunk.behind, behind));
        }
        self.chunks.push(Chunk { events: [event; EVENTS as usize], behind });
        self.chunks.len() as u32 - 1
    }

    /// Moves a bucket's events to the end of `events`, in no order.
    #[inline]
    pub fn take(&mut self, number: u64, events: &mut Vec<Entry>) {
        let place = self.place(number);
        self.occupied[place / 64] &= !(1 << (place % 64));
        let head = std::mem::take(&mut self.heads[place]);
        let (mut next, mut count) = (head / 8, head % 8);
        while count > 0 {
            let chunk = &mut self.chunks[next as usize];
            // All of them and then fewer: a copy of fixed length is no call.
            events.extend_from_slice(&chunk.events);
            events.truncate(events.len() - (EVENTS - count) as usize);
            let behind = std::mem::replace(&mut chunk.behind, self.free);
            self.free = std::mem::replace(&mut next, behind);
            count = if next == NONE { 0 } else { EVENTS };
        }
    }

    /// The events of a bucket, in no order.
    #[inline]
    pub fn bucket(&self, number: u64) -> impl Iterator<Item = &Entry> {
        let head = self.heads[self.place(number)];
        let (mut next, mut count) = (head / 8, head % 8);
        std::iter::from_fn(move || {
            let chunk = (count > 0).then(|| &self.chunks[next as usize])?;
            let events = &chunk.events[..count as usize];
            next = chunk.behind;
            count = if next == NONE { 0 } else { EVENTS };
            Some(events)
        })
        .flatten()
    }

    /// Prefetches a bucket.
    #[inline]
    pub fn fetch(&self, number: u64) {
        if let Some(chunk) = self.chunks.get(self.heads[self.place(number)] as usize / 8) {
            prefetch(chunk, 2);
        }
    }

    /// Number of the first bucket behind that one, within a turn of the ring, that is not empty.
    #[inline]
    pub fn next_occupied(&self, number: u64) -> Option<u64> {
        let mask = self.heads.len() - 1;
        let start = (number as usize + 1) & mask;
        let last = self.occupied.len() - 1;
        let mut bits = self.occupied[start / 64] & (u64::MAX << (start % 64));
        for word in start / 64..=start / 64 + last + 1 {
            if bits != 0 {
                let place = (word & last) * 64 + bits.trailing_zeros() as usize;
                let ahead = place.wrapping_sub(number as usize) & mask;
                return (ahead != 0).then_some(number + ahead as u64);
            }
            bits = self.occupied[(word + 1) & last];
        }
        None
    }

    /// All events behind that bucket within a turn of the ring, in no order, with the numbers of their buckets.
    pub fn iter(&self, number: u64) -> impl Iterator<Item = (u64, &Entry)> {
        let others = number + 1..number + self.heads.len() as u64;
        others.flat_map(|number| self.bucket(number).map(move |entry| (number, entry)))
    }
}
