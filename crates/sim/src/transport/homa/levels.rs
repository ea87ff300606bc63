//! Priority levels: those of unscheduled bytes by the sizes of messages, those of grants by the rank of their messages.
//!
//! Source: Montazeri et al., SIGCOMM 2018, section 3.4, and PlatformLab/HomaSimulation (`PriorityResolver`). 0 goes
//! first; unscheduled levels are the first ones.

use crate::transport::granted::cut::Cut;
use crate::transport::priorities;

/// The share of unscheduled bytes on the wire, grants counted as scheduled ones: levels are divided by it.
pub fn unscheduled_share(sizes: &[(u64, f64)], cut: &Cut, grant_wire: u64) -> f64 {
    let (mut first, mut all) = (0.0, 0.0);
    for (size, messages) in sizes {
        let unscheduled = cut.unscheduled_of(*size);
        let own = cut.unscheduled_wire(unscheduled);
        let scheduled = size - unscheduled;
        let grants = u64::from(cut.packets(*size, unscheduled) - cut.packets_unscheduled(unscheduled));
        first += messages * own as f64;
        all += messages * (own + cut.scheduled_wire(scheduled) + grants * grant_wire) as f64;
    }
    if all > 0.0 { first / all } else { 1.0 }
}

/// Levels in proportion to the share, and at least one for either kind.
pub fn unscheduled_levels(share: f64, levels: u32) -> u32 {
    ((f64::from(levels) * share).round() as u32).clamp(1, levels - 1)
}

/// The largest sizes of each unscheduled level but the last, so that each carries equally many unscheduled bytes on the
/// wire.
///
/// `by_remaining`: a packet's level goes by the bytes that its message has left before it, where those of messages beyond
/// the unscheduled bytes count as if they had no more (PlatformLab/HomaSimulation). Else by the size of its message, as in the
/// paper.
pub fn cutoffs(sizes: &[(u64, f64)], cut: &Cut, levels: u32, by_remaining: bool) -> Vec<u64> {
    let is_long = |(size, _): &&(u64, f64)| by_remaining && *size >= cut.unscheduled;
    // They are alike, and many.
    let long = (cut.unscheduled, sizes.iter().filter(is_long).map(|(_, messages)| messages).sum());
    let mut weights = Vec::new();
    let packets = |size: u64| u64::from(cut.packets_unscheduled(cut.unscheduled_of(size)));
    let all = sizes.iter().fold(0, |all: u64, (size, _)| all.saturating_add(packets(*size)));
    // Each of them, unless they are too many.
    let most = if all <= PACKETS_MOST { u32::MAX } else { (PACKETS_MOST / sizes.len() as u64).max(1) as u32 };
    for (size, messages) in sizes.iter().filter(|own| !is_long(own)).chain([&long]) {
        let unscheduled = cut.unscheduled_of(*size);
        if !by_remaining {
            weights.push((*size, messages * cut.unscheduled_wire(unscheduled) as f64));
            continue;
        }
        let packets = cut.packets_unscheduled(unscheduled);
        let step = packets.div_ceil(most).max(1);
        for number in (0..packets).step_by(step as usize) {
            let piece = cut.piece(*size, unscheduled, number);
            let alike = step.min(packets - number);
            weights.push((unscheduled - piece.offset, messages * f64::from(alike) * piece.wire as f64));
        }
    }
    weights.retain(|(_, bytes)| *bytes > 0.0);
    priorities::bounds(weights, levels)
}

/// Unscheduled packets of messages of all sizes that are looked at one by one; of more, as many, spread over each message.
const PACKETS_MOST: u64 = 1 << 24;

/// The levels of grants at a receiver: its granted messages, the shortest first, have `levels` in a row, from `head` on.
///
/// Fewer messages than levels have the lowest ones, so that a shorter one that begins finds a higher level free. A message
/// keeps its level while its place changes only by those before it that end, or that go one above the first
/// (PlatformLab/HomaSimulation).
#[derive(Clone, Copy, Debug)]
pub struct Head {
    /// The level of the first.
    level: u8,
    /// The first scheduled level that is used, and the last level of all.
    first: u8,
    last: u8,
    /// The first message always has the first level.
    fixed: bool,
}

impl Head {
    /// For as many levels at the end of all `levels`; the shortest message has the first of them if they are fixed.
    pub fn new(levels: u32, scheduled: u32, fixed: bool) -> Head {
        let (first, last) = ((levels - scheduled) as u8, (levels - 1) as u8);
        Head { level: if fixed { first } else { last }, first, last, fixed }
    }

    fn span(&self) -> usize {
        usize::from(self.last - self.first) + 1
    }

    /// The level of the message of that rank.
    #[inline]
    pub fn of(&self, rank: usize) -> u8 {
        (usize::from(self.level) + rank).min(usize::from(self.last)) as u8
    }

    /// A message joins at that rank; so many are there with it.
    pub fn joined(&mut self, rank: usize, count: usize) {
        let (before, now) = ((count - 1).min(self.span()), count.min(self.span()));
        if self.fixed || rank >= self.span() {
            return;
        }
        if before == 0 {
            self.level = self.last;
        } else if (rank == 0 && now > before && self.level > self.first)
            || usize::from(self.level) + now - 1 > usize::from(self.last)
        {
            self.level -= 1;
        }
    }

    /// The message of that rank leaves; so many are left.
    pub fn left(&mut self, rank: usize, count: usize) {
        if !self.fixed && rank == 0 && count < self.span() && self.level < self.last {
            self.level += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::random::{Purpose, Stream};
    use crate::traffic::sizes::Sizes;
    use crate::traffic::sizes::workloads::{HomaW1, HomaW2, HomaW3, HomaW4};
    use crate::transport::granted::cut::tests::SIMULATOR;

    /// Of messages of 1442 B and 20,000 B, as many of each: 1538 B and 10,000 B are unscheduled; the rest of the long one is
    /// 10,672 B in eight packets, each with a grant.
    #[test]
    fn a_share_by_hand() {
        let sizes = [(1442, 1.0), (20_000, 1.0)];
        let scheduled = 10_672 + 8 * 82 + 8 * 84;
        let share = unscheduled_share(&sizes, &SIMULATOR, 84);
        assert!((share - 11_538.0 / f64::from(11_538 + scheduled)).abs() < 1e-12);
        assert_eq!(unscheduled_levels(share, 8), 4);
        assert_eq!(
            [0.0, 0.06, 0.07, 0.2, 0.97, 1.0].map(|share| unscheduled_levels(share, 8)),
            [1, 1, 1, 2, 7, 7]
        );
        assert_eq!(unscheduled_share(&[], &SIMULATOR, 84), 1.0);
    }

    /// Three messages of 1442 B are three packets of 1538 B with 1442 B left. One of 2884 B is two packets, before which it
    /// has 2884 B and 1442 B left. By remaining bytes four of five packets have 1442 B left, by size three.
    #[test]
    fn cutoffs_by_hand() {
        let sizes = [(1442, 3.0), (2884, 1.0)];
        assert_eq!(cutoffs(&sizes, &SIMULATOR, 1, true), Vec::<u64>::new());
        assert_eq!(cutoffs(&sizes, &SIMULATOR, 2, true), [1442]);
        assert_eq!(cutoffs(&sizes, &SIMULATOR, 2, false), [1442]);
        // The first 9328 B of a message are all that counts of it: seven packets, the last two of 1442 + 676 B and of 676 B.
        let long = [(1_000_000, 1.0)];
        assert_eq!(
            cutoffs(&long, &SIMULATOR, 8, true),
            [676 + 1442, 676 + 2 * 1442, 676 + 3 * 1442, 676 + 4 * 1442, 676 + 5 * 1442]
        );
        assert_eq!(cutoffs(&long, &SIMULATOR, 8, false), Vec::<u64>::new(), "one size is one level");
    }

    /// Eight levels times the share in the workloads of the paper, 10,000 B on the wire unscheduled: as computed from the
    /// simulator's tables, 7.97, 6.44, 2.48 and 0.21. The tables in use here have fewer points and are linear between them,
    /// which makes the messages of W3 5 % longer on average.
    #[test]
    fn shares_of_published_workloads() {
        for (sizes, share) in [
            (Sizes::HomaW1(HomaW1 {}), 7.97),
            (Sizes::HomaW2(HomaW2 {}), 6.44),
            (Sizes::HomaW3(HomaW3 {}), 2.48),
            (Sizes::HomaW4(HomaW4 {}), 0.21),
        ] {
            let draws = sizes.draws(Stream::new(0, 0, Purpose::Sizes, 0)).take(1_000_000);
            let sizes: Vec<(u64, f64)> = draws.map(|size| (size, 1.0)).collect();
            let found = 8.0 * unscheduled_share(&sizes, &SIMULATOR, 84);
            assert!((found / share - 1.0).abs() < 0.07, "{found} instead of {share}");
        }
    }

    /// LIT-HOMA-12: each unscheduled level of W3 carries a quarter of the unscheduled bytes, but for the bytes of one size: long
    /// messages, 3 % of all, have the same seven sizes of remaining bytes.
    #[test]
    fn levels_carry_equal_shares() {
        let draws = Sizes::HomaW3(HomaW3 {}).draws(Stream::new(0, 0, Purpose::Sizes, 1)).take(200_000);
        let sizes: Vec<(u64, f64)> = draws.map(|size| (size, 1.0)).collect();
        let bounds = cutoffs(&sizes, &SIMULATOR, 4, true);
        let (mut carried, mut by_size) = ([0.0; 4], BTreeMap::new());
        for (size, _) in &sizes {
            let unscheduled = SIMULATOR.unscheduled_of(*size);
            for number in 0..SIMULATOR.packets_unscheduled(unscheduled) {
                let piece = SIMULATOR.piece(*size, unscheduled, number);
                let left = unscheduled - piece.offset;
                carried[usize::from(priorities::class_of(&bounds, left))] += piece.wire as f64;
                *by_size.entry(left).or_insert(0.0) += piece.wire as f64;
            }
        }
        let all: f64 = carried.iter().sum();
        let step = by_size.values().copied().fold(0.0, f64::max) / all;
        assert!(step < 0.06, "{step}");
        assert!(carried.iter().all(|own| (own / all - 0.25).abs() < step.max(0.02)), "{carried:?}");
    }

    /// Levels 4 to 7. The first message has 7; a better one goes above it, to 6; one behind both makes them move up. As the
    /// first ends, the others stay.
    #[test]
    fn levels_of_grants() {
        let mut head = Head::new(8, 4, false);
        let levels = |head: &Head, count: usize| (0..count).map(|rank| head.of(rank)).collect::<Vec<_>>();
        head.joined(0, 1);
        assert_eq!(levels(&head, 1), [7]);
        head.joined(0, 2);
        assert_eq!(levels(&head, 2), [6, 7]);
        head.joined(2, 3);
        assert_eq!(levels(&head, 3), [5, 6, 7]);
        head.left(0, 2);
        assert_eq!(levels(&head, 2), [6, 7]);
        head.joined(1, 3);
        head.joined(0, 4);
        assert_eq!(levels(&head, 4), [4, 5, 6, 7]);
        // One in the middle ends: those behind it move up, and leave room for one behind.
        head.left(1, 3);
        assert_eq!(levels(&head, 3), [4, 5, 6]);
        head.joined(3, 4);
        assert_eq!(levels(&head, 4), [4, 5, 6, 7]);
        // More wait than have levels: the first ends and each moves up; one that waits has the last level.
        head.joined(4, 5);
        head.joined(0, 6);
        assert_eq!(levels(&head, 4), [4, 5, 6, 7]);
        head.left(0, 5);
        head.left(0, 4);
        assert_eq!(levels(&head, 4), [4, 5, 6, 7]);
        head.left(0, 3);
        assert_eq!(levels(&head, 3), [5, 6, 7]);
        let mut fixed = Head::new(8, 4, true);
        fixed.joined(0, 1);
        fixed.joined(1, 2);
        fixed.left(0, 1);
        assert_eq!(levels(&fixed, 2), [4, 5]);
        assert_eq!(fixed.of(9), 7, "beyond its levels the last");
    }
}
