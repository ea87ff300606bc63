//! The packets that a receiver has: numbered, each with a length, in a ring that grows with the gaps.

/// A record of the numbered packets that a receiver has.
pub trait Record: Default {
    /// Forgets everything but keeps the memory.
    fn clear(&mut self);

    /// Notes a packet; `len` is its payload and not 0.
    fn receive(&mut self, number: u32, len: u16) -> Arrival;

    /// Whether a packet has arrived.
    fn has(&self, number: u32) -> bool;

    /// The first packet that has not arrived.
    fn next(&self) -> u32;

    /// Bytes that have arrived without a gap.
    fn in_order(&self) -> u64;

    /// Bytes that have arrived.
    fn received(&self) -> u64;
}

/// The record of received ranges of one connection. Constant time a packet, whatever the window.
#[derive(Clone, Debug, Default)]
pub struct Reassembly {
    /// The first packet that has not arrived.
    next: u32,
    /// Bytes of all packets before it.
    in_order: u64,
    /// Bytes of all packets that have arrived.
    received: u64,
    /// Lengths of the packets from `next` on that have arrived, 0 for the others; a power of two long.
    ring: Vec<u16>,
    /// One more than the highest number that has arrived.
    end: u32,
}

/// Effect of an arriving packet at the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    Duplicate,
    /// It leaves a gap before it.
    OutOfOrder,
    /// It was the next one, with nothing waiting behind it.
    InOrder,
    /// It was the next one and closed a gap.
    FilledGap,
}

impl Record for Reassembly {
    fn clear(&mut self) {
        self.ring.fill(0);
        *self = Reassembly { ring: std::mem::take(&mut self.ring), ..Reassembly::default() };
    }

    #[inline]
    fn receive(&mut self, number: u32, len: u16) -> Arrival {
        if number < self.next {
            return Arrival::Duplicate;
        }
        if number == self.next && self.end <= number {
            self.next += 1;
            self.end = self.next;
            self.in_order += u64::from(len);
            self.received += u64::from(len);
            return Arrival::InOrder;
        }
        while (number - self.next) as usize >= self.ring.len() {
            self.grow();
        }
        let slot = self.slot(number);
        if self.ring[slot] != 0 {
            return Arrival::Duplicate;
        }
        self.ring[slot] = len;
        self.received += u64::from(len);
        self.end = self.end.max(number + 1);
        if number != self.next {
            return Arrival::OutOfOrder;
        }
        while self.next < self.end {
            let slot = self.slot(self.next);
            let len = std::mem::take(&mut self.ring[slot]);
            if len == 0 {
                break;
            }
            self.in_order += u64::from(len);
            self.next += 1;
        }
        Arrival::FilledGap
    }

    #[inline]
    fn has(&self, number: u32) -> bool {
        number < self.next || number < self.end && self.ring[self.slot(number)] != 0
    }

    #[inline]
    fn next(&self) -> u32 {
        self.next
    }

    #[inline]
    fn in_order(&self) -> u64 {
        self.in_order
    }

    #[inline]
    fn received(&self) -> u64 {
        self.received
    }
}

impl Reassembly {
    #[inline]
    fn slot(&self, number: u32) -> usize {
        number as usize & (self.ring.len() - 1)
    }

    fn grow(&mut self) {
        let old = std::mem::take(&mut self.ring);
        self.ring = vec![0; (old.len() * 2).max(16)];
        for number in self.next..self.end.min(self.next + old.len() as u32) {
            let slot = self.slot(number);
            self.ring[slot] = old[number as usize & (old.len() - 1)];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// Against a plain map of the arrived packets.
        #[test]
        fn agrees_with_a_map(arrivals in prop::collection::vec((0u32..80, 1u16..5000), 0..200)) {
            let mut record = Reassembly::default();
            let mut map: BTreeMap<u32, u16> = BTreeMap::new();
            for (number, len) in arrivals {
                let before = record.next();
                let arrival = record.receive(number, len);
                prop_assert_eq!(arrival == Arrival::Duplicate, map.contains_key(&number));
                map.entry(number).or_insert(len);
                (0..100).for_each(|number| assert_eq!(record.has(number), map.contains_key(&number)));
                let next = (0..).find(|number| !map.contains_key(number)).unwrap();
                prop_assert_eq!(record.next(), next);
                prop_assert_eq!(record.in_order(), map.range(..next).map(|(_, &len)| u64::from(len)).sum::<u64>());
                prop_assert_eq!(record.received(), map.values().map(|&len| u64::from(len)).sum::<u64>());
                prop_assert_eq!(
                    matches!(arrival, Arrival::InOrder | Arrival::FilledGap),
                    record.next() > before
                );
            }
            record.clear();
            prop_assert_eq!((record.next(), record.received()), (0, 0));
            prop_assert_eq!(record.receive(3, 1), Arrival::OutOfOrder);
        }
    }
}
