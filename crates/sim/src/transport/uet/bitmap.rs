//! The packets that a receiver has: one bit each, from the next expected one on.

use std::collections::VecDeque;

/// Numbers that have arrived.
#[derive(Clone, Debug, Default)]
pub struct Arrivals {
    /// The first that has not arrived.
    expected: u32,
    /// Numbers from 64 times this on have a bit.
    first_word: u32,
    words: VecDeque<u64>,
    /// Numbers above the expected one that have arrived.
    stored: u32,
}

impl Arrivals {
    /// Forgets everything but keeps the memory.
    pub fn clear(&mut self) {
        let mut words = std::mem::take(&mut self.words);
        words.clear();
        *self = Arrivals { words, ..Arrivals::default() };
    }

    /// The first number that has not arrived.
    #[inline]
    pub fn expected(&self) -> u32 {
        self.expected
    }

    /// Numbers above the expected one that have arrived.
    #[inline]
    pub fn stored(&self) -> u32 {
        self.stored
    }

    /// Whether a number has arrived.
    #[inline]
    pub fn has(&self, number: u32) -> bool {
        number < self.expected || self.word(number / 64) >> (number % 64) & 1 == 1
    }

    /// A number arrives that has not before.
    #[inline]
    pub fn insert(&mut self, number: u32) {
        if number != self.expected {
            let place = (number / 64 - self.first_word) as usize;
            if place >= self.words.len() {
                self.words.resize(place + 1, 0);
            }
            self.words[place] |= 1 << (number % 64);
            self.stored += 1;
            return;
        }
        self.expected += 1;
        while self.stored > 0 && self.word(self.expected / 64) >> (self.expected % 64) & 1 == 1 {
            self.expected += 1;
            self.stored -= 1;
        }
        while self.first_word < self.expected / 64 {
            self.words.pop_front();
            self.first_word += 1;
        }
    }

    /// The bits of 64 numbers from `base` on, the first in the lowest: only those above the expected one are set.
    #[inline]
    pub fn bits(&self, base: u32) -> u64 {
        let (word, shift) = (base / 64, base % 64);
        let low = self.stored_word(word) >> shift;
        let high = if shift == 0 { 0 } else { self.stored_word(word + 1) << (64 - shift) };
        low | high
    }

    #[inline]
    fn word(&self, word: u32) -> u64 {
        let place = word.checked_sub(self.first_word).map(|place| place as usize);
        place.and_then(|place| self.words.get(place)).copied().unwrap_or(0)
    }

    /// Without the bits of numbers below the expected one.
    #[inline]
    fn stored_word(&self, word: u32) -> u64 {
        let bits = self.word(word);
        if word == self.expected / 64 { bits & (u64::MAX << (self.expected % 64)) } else { bits }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against a plain set of numbers.
        #[test]
        fn agrees_with_a_set(numbers in prop::collection::vec(0u32..300, 0..400), base in 0u32..350) {
            let mut arrivals = Arrivals::default();
            let mut set = BTreeSet::new();
            for number in numbers {
                prop_assert_eq!(arrivals.has(number), set.contains(&number));
                if set.insert(number) {
                    arrivals.insert(number);
                }
                let expected = (0..).find(|number| !set.contains(number)).unwrap();
                prop_assert_eq!(arrivals.expected(), expected);
                prop_assert_eq!(arrivals.stored() as usize, set.range(expected..).count());
                let naive = (0..64).filter(|bit| base + bit > expected && set.contains(&(base + bit)));
                let naive = naive.fold(0u64, |bits, bit| bits | 1 << bit);
                prop_assert_eq!(arrivals.bits(base), naive);
            }
            arrivals.clear();
            prop_assert!(!arrivals.has(0) && arrivals.stored() == 0);
        }
    }
}
