//! The scoreboard (RFC 6675, sections 2 and 3): what has become of each segment from the first unacknowledged one on.
//!
//! A segment is in flight, lost, lost and retransmitted, or SACKed. The pipe is the bytes of those in flight and of the
//! retransmitted ones. Losses are found in the order in which segments were sent, so that each segment is looked at once:
//! originals by number, from `judged` on, and retransmissions in a list by time.

use std::collections::VecDeque;

use super::delivered::{Delivered, Latest};
use super::rack::Rack;
use crate::transport::tcp::blocks::Block;
use crate::units::Time;

/// State of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    InFlight,
    /// It is to be retransmitted.
    Lost,
    /// It was lost, and its retransmission is in flight.
    Retransmitted,
    Sacked,
}

/// A segment on the scoreboard.
#[derive(Clone, Copy, Debug)]
struct Mark {
    /// When it was sent last.
    sent: Time,
    /// Its first byte.
    seq: u64,
    len: u32,
    state: State,
    /// Whether it was ever sent twice.
    again: bool,
}

/// The segments from the first unacknowledged one on.
#[derive(Clone, Debug, Default)]
pub struct Scoreboard {
    marks: VecDeque<Mark>,
    una: u32,
    /// Bytes in flight.
    pipe: u64,
    /// Bytes that are SACKed, and the segments.
    sacked: u64,
    sacked_segments: u32,
    /// Bytes to be retransmitted.
    lost: u64,
    /// Originals before this number are not in flight any more.
    judged: u32,
    /// Bytes SACKed before it, and the segments.
    sacked_before: u64,
    segments_before: u32,
    /// No segment before this number is to be retransmitted.
    repaired: u32,
    /// Retransmissions in flight, in the order in which they were sent, and some that are not any more.
    retransmissions: VecDeque<(u32, Time)>,
    /// Blocks of the acknowledgement before, which need not be looked at again.
    seen: [Block; 4],
    /// Number behind the last SACKed segment.
    top: u32,
}

impl Scoreboard {
    /// Starts over with the memory of before.
    pub fn reset(&mut self) {
        let (mut marks, mut retransmissions) =
            (std::mem::take(&mut self.marks), std::mem::take(&mut self.retransmissions));
        marks.clear();
        retransmissions.clear();
        *self = Scoreboard { marks, retransmissions, ..Scoreboard::default() };
    }

    /// Bytes in flight (RFC 6675, section 4: `pipe`).
    #[inline]
    pub fn pipe(&self) -> u64 {
        self.pipe
    }

    /// Segments that are SACKed.
    #[inline]
    pub fn sacked_segments(&self) -> u32 {
        self.sacked_segments
    }

    /// Whether any segment is to be retransmitted.
    #[inline]
    pub fn has_lost(&self) -> bool {
        self.lost > 0
    }

    fn end(&self) -> u32 {
        self.una + self.marks.len() as u32
    }

    fn at(&mut self, number: u32) -> &mut Mark {
        &mut self.marks[(number - self.una) as usize]
    }

    /// A new segment is sent.
    #[inline]
    pub fn send(&mut self, seq: u64, len: u32, now: Time) {
        self.marks.push_back(Mark { sent: now, seq, len, state: State::InFlight, again: false });
        self.pipe += u64::from(len);
    }

    /// The first byte of a segment.
    pub fn seq(&self, number: u32) -> u64 {
        self.marks[(number - self.una) as usize].seq
    }

    /// A segment is retransmitted: the first lost one, or one as a probe.
    pub fn send_again(&mut self, number: u32, now: Time) {
        debug_assert!(self.first_lost().is_none_or(|first| first == number), "others are lost before it");
        let mark = self.at(number);
        (mark.sent, mark.again) = (now, true);
        if mark.state == State::Lost {
            mark.state = State::Retransmitted;
            let len = u64::from(mark.len);
            self.lost -= len;
            self.pipe += len;
            self.repaired = number + 1;
            self.retransmissions.push_back((number, now));
        }
    }

    /// The first segment that is to be retransmitted.
    pub fn first_lost(&self) -> Option<u32> {
        if self.lost == 0 {
            return None;
        }
        let first = self.repaired.max(self.una);
        let marks = self.marks.range((first - self.una) as usize..);
        let before = marks.take_while(|mark| mark.state != State::Lost).count();
        Some(first + before as u32)
    }

    /// Whether that segment is SACKed.
    pub fn is_sacked(&self, number: u32) -> bool {
        self.marks[(number - self.una) as usize].state == State::Sacked
    }

    /// The last segment that is not SACKed and was sent, for a probe.
    pub fn last_missing(&self) -> Option<u32> {
        let behind = self.marks.iter().rev().take_while(|mark| mark.state == State::Sacked).count();
        (behind < self.marks.len()).then(|| self.end() - 1 - behind as u32)
    }

    /// All segments before that number have arrived.
    #[inline]
    pub fn acknowledge(&mut self, una: u32, delivered: &mut Delivered) {
        while self.una < una {
            let Some(mark) = self.marks.pop_front() else { break };
            let number = self.una;
            if mark.state == State::Sacked {
                self.sacked -= u64::from(mark.len);
                self.sacked_segments -= 1;
                if number < self.judged {
                    self.sacked_before -= u64::from(mark.len);
                    self.segments_before -= 1;
                }
            } else {
                self.take_off(number, mark, delivered);
            }
            self.una += 1;
        }
        self.judged = self.judged.max(self.una);
    }

    /// Blocks of arrived segments. Parts that the acknowledgement before had are passed over.
    pub fn sack(&mut self, blocks: impl Iterator<Item = Block>, delivered: &mut Delivered) {
        let before = self.seen;
        self.seen = [Block::default(); 4];
        for (place, (start, end)) in blocks.enumerate() {
            if let Some(seen) = self.seen.get_mut(place) {
                *seen = (start, end);
            }
            let known = before.iter().find(|known| known.0 < end && start < known.1);
            let (from, to) = known.copied().unwrap_or((end, end));
            self.sack_range(start, from.min(end), delivered);
            self.sack_range(to.max(start), end, delivered);
        }
    }

    fn sack_range(&mut self, start: u32, end: u32, delivered: &mut Delivered) {
        for number in start.max(self.una)..end.min(self.end()) {
            let mark = *self.at(number);
            if mark.state == State::Sacked {
                continue;
            }
            self.take_off(number, mark, delivered);
            self.at(number).state = State::Sacked;
            delivered.sacks = true;
            self.sacked += u64::from(mark.len);
            self.sacked_segments += 1;
            self.top = self.top.max(number + 1);
            if number < self.judged {
                self.pass(mark);
            }
        }
    }

    /// A segment that was not known to have arrived has arrived.
    #[inline]
    fn take_off(&mut self, number: u32, mark: Mark, delivered: &mut Delivered) {
        let len = u64::from(mark.len);
        match mark.state {
            State::InFlight | State::Retransmitted => self.pipe -= len,
            State::Lost => self.lost -= len,
            State::Sacked => {}
        }
        delivered.bytes += len;
        if delivered.latest.is_none_or(|latest| (latest.sent, latest.number) < (mark.sent, number)) {
            delivered.latest = Some(Latest { number, sent: mark.sent, again: mark.again });
        }
        if !mark.again && delivered.first_original.is_none_or(|first| number < first) {
            delivered.first_original = Some(number);
        }
    }

    fn lose(&mut self, number: u32) -> u64 {
        let mark = self.at(number);
        let len = u64::from(mark.len);
        mark.state = State::Lost;
        self.pipe -= len;
        self.lost += len;
        self.repaired = self.repaired.min(number);
        len
    }

    /// A SACKed segment is before `judged`.
    #[inline]
    fn pass(&mut self, mark: Mark) {
        self.sacked_before += u64::from(mark.len);
        self.segments_before += 1;
    }

    /// Whether so many sequences of segments, each behind a gap, are SACKed behind `judged`.
    fn are_apart(&self, sequences: u32) -> bool {
        if self.sacked_segments - self.segments_before < sequences {
            return false;
        }
        let behind = (self.judged - self.una) as usize..(self.top - self.una) as usize;
        let mut apart = 0;
        let mut before = false;
        for mark in self.marks.range(behind) {
            let sacked = mark.state == State::Sacked;
            apart += u32::from(sacked && !before);
            before = sacked;
        }
        apart >= sequences
    }

    /// Finds originals behind which more than so many bytes, or so many sequences apart from each other, are SACKed (RFC 6675:
    /// `IsLost`). Returns their bytes.
    pub fn lose_by_count(&mut self, beyond: u64, sequences: u32) -> u64 {
        let mut newly = 0;
        while self.judged < self.top && self.judged < self.end() {
            let (number, mark) = (self.judged, *self.at(self.judged));
            match mark.state {
                State::InFlight
                    if self.sacked - self.sacked_before <= beyond && !self.are_apart(sequences) =>
                {
                    break;
                }
                State::InFlight => newly += self.lose(number),
                State::Sacked => self.pass(mark),
                State::Lost | State::Retransmitted => {}
            }
            self.judged += 1;
        }
        newly
    }

    /// Finds segments that were sent before a delivered one, long enough ago (RFC 8985, 6.2, step 5). Returns their bytes,
    /// and when the next one will be lost unless it is reported before.
    pub fn lose_by_time(&mut self, rack: &Rack, window: Time, now: Time) -> (u64, Option<Time>) {
        let (mut newly, mut next) = (0, Time::NEVER);
        while self.judged < self.end() {
            let (number, mark) = (self.judged, *self.at(self.judged));
            match mark.state {
                State::InFlight => match rack.due(mark.sent, number, window) {
                    Some(due) if due <= now => newly += self.lose(number),
                    Some(due) => {
                        next = next.min(due);
                        break;
                    }
                    None => break,
                },
                State::Sacked => self.pass(mark),
                State::Lost | State::Retransmitted => {}
            }
            self.judged += 1;
        }
        while let Some(&(number, sent)) = self.retransmissions.front() {
            if self.is_retransmitted(number, sent) {
                match rack.due(sent, number, window) {
                    Some(due) if due <= now => newly += self.lose(number),
                    Some(due) => {
                        next = next.min(due);
                        break;
                    }
                    None => break,
                }
            }
            self.retransmissions.pop_front();
        }
        (newly, (next != Time::NEVER).then_some(next))
    }

    fn is_retransmitted(&self, number: u32, sent: Time) -> bool {
        number >= self.una && {
            let mark = self.marks[(number - self.una) as usize];
            mark.state == State::Retransmitted && mark.sent == sent
        }
    }

    /// A timeout: all segments that are not SACKed are lost. With RACK those are spared that were sent less than a round
    /// trip ago, unless it is the first one (RFC 8985, 6.3).
    pub fn lose_all(&mut self, rack: Option<&Rack>, now: Time) {
        for number in self.una..self.end() {
            let mark = *self.at(number);
            let in_flight = matches!(mark.state, State::InFlight | State::Retransmitted);
            let recent = rack.is_some_and(|rack| mark.sent + rack.round_trip() > now);
            if in_flight && (number == self.una || !recent) {
                self.lose(number);
            }
        }
        self.judged = self.una;
        (self.sacked_before, self.segments_before) = (0, 0);
    }

    /// Lost segments are in flight after all.
    pub fn unlose(&mut self) {
        for mark in self.marks.iter_mut().filter(|mark| mark.state == State::Lost) {
            mark.state = State::InFlight;
            self.pipe += u64::from(mark.len);
        }
        self.lost = 0;
        self.judged = self.una;
        (self.sacked_before, self.segments_before) = (0, 0);
    }

    /// Inconsistencies of its counters, if there are any.
    #[cfg(test)]
    pub fn audit(&self) -> Option<String> {
        let bytes = |states: &[State]| -> u64 {
            self.marks
                .iter()
                .filter(|mark| states.contains(&mark.state))
                .map(|mark| u64::from(mark.len))
                .sum()
        };
        let before = self.marks.iter().take((self.judged - self.una) as usize);
        let before: Vec<_> = before.filter(|mark| mark.state == State::Sacked).collect();
        let counted = (self.pipe, self.sacked, self.lost, (self.sacked_before, self.segments_before));
        let found = (
            bytes(&[State::InFlight, State::Retransmitted]),
            bytes(&[State::Sacked]),
            bytes(&[State::Lost]),
            (before.iter().map(|mark| u64::from(mark.len)).sum(), before.len() as u32),
        );
        (counted != found).then(|| format!("counted {counted:?}, found {found:?}"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn board(segments: u32) -> Scoreboard {
        let mut board = Scoreboard::default();
        for at in 0..segments {
            board.send(1000 * u64::from(at), 1000, Time::from_us(u64::from(at)));
        }
        board
    }

    fn sack(board: &mut Scoreboard, blocks: &[Block]) -> Delivered {
        let mut delivered = Delivered::default();
        board.sack(blocks.iter().copied(), &mut delivered);
        assert_eq!(board.audit(), None);
        delivered
    }

    /// Segments that are in flight after all (RFC 5682, 2.1) are lost again by the same rule: of ten 5 to 7 are SACKed, so
    /// that 0 to 4 are lost and two are in the pipe. Taken back, the five are in it, too, until they are looked at again.
    #[test]
    fn segments_in_flight_after_all_may_be_lost_again() {
        let mut board = board(10);
        sack(&mut board, &[(5, 8)]);
        assert_eq!((board.lose_by_count(2_000, 3), board.pipe()), (5_000, 2_000));
        board.unlose();
        assert_eq!((board.pipe(), board.first_lost(), board.audit()), (7_000, None, None));
        assert_eq!((board.lose_by_count(2_000, 3), board.pipe()), (5_000, 2_000));
        assert_eq!((board.first_lost(), board.audit()), (Some(0), None));
    }

    /// RFC 6675, section 2: a segment is lost with three SACKed behind it. Of ten segments 0 and 4 are missing: with 1 to 3
    /// SACKed 0 is lost, and 4 when 5 to 7 are. The pipe is what is neither lost nor SACKed.
    #[test]
    fn three_behind_it() {
        let mut board = board(10);
        for (blocks, pipe, newly) in [
            (vec![(1, 2)], 9_000, 0),
            (vec![(1, 3)], 8_000, 0),
            (vec![(1, 4)], 6_000, 1_000),
            (vec![(5, 6), (1, 4)], 5_000, 0),
            (vec![(5, 7), (1, 4)], 4_000, 0),
            (vec![(5, 8), (1, 4)], 2_000, 1_000),
        ] {
            assert_eq!(sack(&mut board, &blocks).bytes, 1_000);
            assert_eq!(board.lose_by_count(2_000, 3), newly);
            assert_eq!(board.pipe(), pipe, "{blocks:?}");
        }
        assert_eq!(board.first_lost(), Some(0));
        board.send_again(0, Time::from_us(100));
        assert_eq!((board.first_lost(), board.pipe()), (Some(4), 3_000));
        let mut delivered = Delivered::default();
        board.acknowledge(4, &mut delivered);
        assert_eq!((delivered.bytes, board.pipe(), board.audit()), (1_000, 2_000, None));
    }

    /// RFC 8985, 6.2: a round trip of 10 ms, and a reordering window of 2 ms. A segment is lost 12 ms after it was sent, once
    /// one sent later has arrived; a retransmission likewise.
    #[test]
    fn long_enough_ago() {
        let mut board = board(4);
        let mut rack = Rack::default();
        let ms = |ms: u64| Time::from_us(1_000 * ms);
        let latest = sack(&mut board, &[(2, 3)]).latest.expect("segment 2");
        assert_eq!(latest, Latest { number: 2, sent: Time::from_us(2), again: false });
        rack.deliver(latest, Time::from_us(10_002));
        let (newly, next) = board.lose_by_time(&rack, ms(2), Time::from_us(10_002));
        assert_eq!((newly, next), (0, Some(ms(12))));
        let (newly, next) = board.lose_by_time(&rack, ms(2), ms(12));
        assert_eq!((newly, next), (1_000, Some(Time::from_us(12_001))));
        assert_eq!(
            board.lose_by_time(&rack, ms(2), Time::from_us(12_001)),
            (1_000, None),
            "3 was sent later"
        );
        board.send_again(0, ms(13));
        board.send_again(1, ms(14));
        let latest = sack(&mut board, &[(1, 3)]).latest.expect("segment 1");
        rack.deliver(latest, ms(24));
        assert_eq!(board.lose_by_time(&rack, ms(2), ms(24)), (1_000, Some(ms(25))), "3 is lost, 0 at 25 ms");
        assert_eq!(board.lose_by_time(&rack, ms(2), ms(25)), (1_000, None));
        assert_eq!(board.first_lost(), Some(0));
    }

    proptest! {
        /// Whatever is acknowledged, the counters are those of a list counted anew, and with nothing lost the pipe is what
        /// has been sent and not been delivered.
        #[test]
        fn counters_agree(deeds in prop::collection::vec((0u8..6, 0u32..60, 1u32..9), 1..80)) {
            let mut board = Scoreboard::default();
            let mut rack = Rack::default();
            let (mut sent, mut delivered_bytes) = (0u32, 0);
            for (at, (deed, number, count)) in deeds.into_iter().enumerate() {
                let now = Time::from_us(at as u64);
                let mut delivered = Delivered::default();
                match deed {
                    0 | 1 => for _ in 0..count {
                        board.send(0, 100 + count, now);
                        sent += 1;
                    },
                    2 if number < sent => board.acknowledge(number.max(board.una), &mut delivered),
                    3 if number < sent => {
                        let block = (number.max(board.una), (number + count).min(sent));
                        if block.0 < block.1 {
                            board.sack([block].into_iter(), &mut delivered);
                        }
                    }
                    4 => if let Some(first) = board.first_lost() {
                        board.send_again(first, now);
                    },
                    _ => { board.lose_by_count(200, 3); }
                }
                if let Some(latest) = delivered.latest {
                    rack.deliver(latest, now);
                }
                if number % 7 == 0 {
                    board.lose_by_time(&rack, Time::from_us(u64::from(count)), now);
                }
                delivered_bytes += delivered.bytes;
                prop_assert_eq!(board.audit(), None);
                let missing: u64 = board.marks.iter().filter(|mark| mark.state != State::Sacked)
                    .map(|mark| u64::from(mark.len)).sum();
                prop_assert!(board.pipe() + board.lost == missing);
                prop_assert_eq!(board.first_lost().is_some(), board.has_lost());
            }
            prop_assert!(delivered_bytes > 0 || sent == 0 || board.pipe() + board.lost > 0);
        }
    }
}
