//! Reassembly by range: the arrived parts of a block that is sent from several places of it at once.
//!
//! [`Reassembly`](crate::transport::reassembly::Reassembly) is a ring from the first gap on: constant time a packet, and as
//! much memory as the data reaches ahead. Where one path sends a block from its back, that is the whole block. Here memory and time
//! go by the number of gaps.

use crate::transport::reassembly::{Arrival, Record};

/// The record of received numbers, as ranges without a gap.
#[derive(Clone, Debug, Default)]
pub struct Ranges {
    /// The first number that has not arrived; its value before.
    next: u32,
    in_order: u64,
    /// Bytes of all that has arrived.
    received: u64,
    /// The arrived ranges behind it, in order; no two touch.
    ahead: Vec<Range>,
}

#[derive(Clone, Copy, Debug)]
struct Range {
    first: u32,
    /// One more than the last number.
    end: u32,
    bytes: u64,
}

impl Record for Ranges {
    fn clear(&mut self) {
        let mut ahead = std::mem::take(&mut self.ahead);
        ahead.clear();
        *self = Ranges { ahead, ..Ranges::default() };
    }

    fn receive(&mut self, number: u32, len: u16) -> Arrival {
        let bytes = u64::from(len);
        if number < self.next {
            return Arrival::Duplicate;
        }
        if number == self.next {
            self.received += bytes;
            self.next += 1;
            self.in_order += bytes;
            if self.ahead.is_empty() {
                return Arrival::InOrder;
            }
            if self.ahead[0].first == self.next {
                let joined = self.ahead.remove(0);
                self.next = joined.end;
                self.in_order += joined.bytes;
            }
            return Arrival::FilledGap;
        }
        // The first range that ends at this number or behind it.
        let at = self.ahead.partition_point(|range| range.end < number);
        match self.ahead.get_mut(at) {
            Some(range) if range.first <= number && number < range.end => return Arrival::Duplicate,
            Some(range) if range.end == number => {
                range.end += 1;
                range.bytes += bytes;
                if self.ahead.get(at + 1).is_some_and(|next| next.first == number + 1) {
                    let joined = self.ahead.remove(at + 1);
                    let range = &mut self.ahead[at];
                    range.end = joined.end;
                    range.bytes += joined.bytes;
                }
            }
            Some(range) if range.first == number + 1 => {
                range.first = number;
                range.bytes += bytes;
            }
            _ => self.ahead.insert(at, Range { first: number, end: number + 1, bytes }),
        }
        self.received += bytes;
        Arrival::OutOfOrder
    }

    fn has(&self, number: u32) -> bool {
        let at = self.ahead.partition_point(|range| range.end <= number);
        number < self.next || self.ahead.get(at).is_some_and(|range| range.first <= number)
    }

    fn next(&self) -> u32 {
        self.next
    }

    fn in_order(&self) -> u64 {
        self.in_order
    }

    fn received(&self) -> u64 {
        self.received
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::reassembly::Reassembly;
    use proptest::prelude::*;

    proptest! {
        /// The ring and the ranges agree for any arrivals.
        #[test]
        fn agree_with_the_ring(arrivals in prop::collection::vec((0u32..60, 1u16..5000), 0..200)) {
            let (mut ranges, mut ring) = (Ranges::default(), Reassembly::default());
            for (number, len) in arrivals {
                prop_assert_eq!(ranges.receive(number, len), ring.receive(number, len));
                prop_assert_eq!(ranges.next(), ring.next());
                prop_assert_eq!((ranges.in_order(), ranges.received()), (ring.in_order(), ring.received()));
                (0..80).for_each(|number| assert_eq!(ranges.has(number), ring.has(number), "{number}"));
                prop_assert!(ranges.ahead.windows(2).all(|pair| pair[0].end < pair[1].first));
            }
            ranges.clear();
            prop_assert_eq!((ranges.next(), ranges.received(), ranges.has(0)), (0, 0, false));
        }
    }

    /// A block from both its ends takes one range, however long it is.
    #[test]
    fn a_block_from_both_ends_is_one_range() {
        let mut ranges = Ranges::default();
        for place in 0..500_000 {
            ranges.receive(place, 1000);
            ranges.receive(999_999 - place, 1000);
            assert!(ranges.ahead.len() <= 1);
        }
        assert_eq!((ranges.next(), ranges.in_order()), (1_000_000, 1_000_000_000));
    }
}
