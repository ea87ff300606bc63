//! SACK blocks (RFC 2018): the ranges behind the first missing segment that a receiver reports.
//!
//! Segments are numbered, so that a block is a pair of numbers. A receiver keeps the four blocks that changed last and
//! forgets older ones, as Linux does: the report is a hint, and a sender takes what it has. A segment that arrives twice
//! is reported in the first block, if the receiver does that (DSACK, RFC 2883). Blocks travel in the packet's record.

use crate::engine::contract::packet::Record;

/// Blocks of an option without timestamps: 40 B of options hold four.
const MOST: usize = 4;

/// Segments from the first number up to the second one, which is not among them.
pub type Block = (u32, u32);

/// The blocks of an acknowledgement, the one that changed last first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    blocks: [Block; MOST],
    len: u8,
    /// The segment that has arrived twice, until it is reported.
    duplicate: Option<u32>,
}

impl Blocks {
    /// A segment arrives behind a gap.
    pub fn insert(&mut self, number: u32) {
        let (mut start, mut end) = (number, number + 1);
        let mut kept = [Block::default(); MOST];
        let mut others = 0;
        for &block in &self.blocks[..usize::from(self.len)] {
            if block.0 <= end && start <= block.1 {
                (start, end) = (start.min(block.0), end.max(block.1));
            } else {
                kept[others] = block;
                others += 1;
            }
        }
        let others = others.min(MOST - 1);
        self.blocks[0] = (start, end);
        self.blocks[1..=others].copy_from_slice(&kept[..others]);
        self.len = others as u8 + 1;
    }

    /// Everything before that segment has arrived.
    #[inline]
    pub fn advance(&mut self, next: u32) {
        if self.len == 0 {
            return;
        }
        let mut left = 0;
        for at in 0..usize::from(self.len) {
            let block = self.blocks[at];
            if block.1 > next {
                self.blocks[left] = block;
                left += 1;
            }
        }
        self.len = left as u8;
    }

    /// A segment has arrived once more.
    pub fn note_duplicate(&mut self, number: u32) {
        self.duplicate = Some(number);
    }

    /// Writes the blocks of an acknowledgement that has room for so many: their number.
    #[inline]
    pub fn report(&mut self, most: usize, record: &mut Record) -> u32 {
        if self.len == 0 && self.duplicate.is_none() {
            return 0;
        }
        let word = |(start, end): Block| u64::from(start) | u64::from(end) << 32;
        let again = self.duplicate.take().map(|number| word((number, number + 1)));
        let words = self.blocks[..usize::from(self.len)].iter().map(|block| word(*block));
        let again_at = u64::from(again.is_some()) << 32;
        let mut count = 0;
        for (place, word) in record.0[1..].iter_mut().zip(again.into_iter().chain(words).take(most)) {
            *place = word;
            count += 1;
        }
        record.0[0] = again_at | u64::from(count);
        count
    }
}

/// The blocks of an acknowledgement at the sender. The record's first word has their number and, above it, whether the
/// first one is a duplicate.
#[derive(Clone, Copy, Debug)]
pub struct Report<'r> {
    words: &'r [u64],
    /// The segment that has arrived twice.
    pub duplicate: Option<u32>,
}

impl<'r> Report<'r> {
    /// Of an acknowledgement that has some.
    #[inline]
    pub fn read(record: &'r Record) -> Report<'r> {
        let words = &record.0[1..=record.0[0] as u32 as usize];
        match words.split_first() {
            Some((first, others)) if record.0[0] >> 32 != 0 => {
                Report { words: others, duplicate: Some(*first as u32) }
            }
            _ => Report { words, duplicate: None },
        }
    }

    /// The ranges that have arrived.
    #[inline]
    pub fn blocks(&self) -> impl Iterator<Item = Block> + '_ {
        self.words.iter().map(|word| (*word as u32, (*word >> 32) as u32))
    }
}

/// Bytes of the option with so many blocks, with the two that align it (RFC 2018, 3).
#[inline]
pub fn option_bytes(count: u32) -> u32 {
    if count == 0 { 0 } else { 4 + 8 * count }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reported(blocks: &mut Blocks, most: usize) -> (Vec<Block>, Option<u32>) {
        let mut record = Record::default();
        blocks.report(most, &mut record);
        let report = Report::read(&record);
        (report.blocks().collect(), report.duplicate)
    }

    /// RFC 2018, section 4, with segments of its 500 B by number: the first is lost, then every second one. Blocks come the
    /// latest first, and neighbours join.
    #[test]
    fn the_latest_block_comes_first() {
        let mut blocks = Blocks::default();
        for (arrives, expected) in [
            (1, vec![(1, 2)]),
            (3, vec![(3, 4), (1, 2)]),
            (5, vec![(5, 6), (3, 4), (1, 2)]),
            (7, vec![(7, 8), (5, 6), (3, 4), (1, 2)]),
            (2, vec![(1, 4), (7, 8), (5, 6)]),
            (6, vec![(5, 8), (1, 4)]),
        ] {
            blocks.insert(arrives);
            assert_eq!(reported(&mut blocks, 4), (expected, None), "{arrives}");
        }
        blocks.advance(4);
        assert_eq!(reported(&mut blocks, 4).0, [(5, 8)]);
    }

    /// A fifth block displaces the oldest one; with timestamps there is room for three.
    #[test]
    fn as_many_as_there_is_room_for() {
        let mut blocks = Blocks::default();
        for number in [1, 3, 5, 7, 9] {
            blocks.insert(number);
        }
        assert_eq!(reported(&mut blocks, 4).0, [(9, 10), (7, 8), (5, 6), (3, 4)]);
        assert_eq!(reported(&mut blocks, 3).0, [(9, 10), (7, 8), (5, 6)]);
        assert_eq!([0, 1, 3, 4].map(option_bytes), [0, 12, 28, 36]);
    }

    /// RFC 2883, section 4: the duplicate is the first block, of one acknowledgement only.
    #[test]
    fn a_duplicate_is_reported_once() {
        let mut blocks = Blocks::default();
        blocks.insert(5);
        blocks.note_duplicate(2);
        assert_eq!(reported(&mut blocks, 3), (vec![(5, 6)], Some(2)));
        assert_eq!(reported(&mut blocks, 3), (vec![(5, 6)], None));
    }
}
