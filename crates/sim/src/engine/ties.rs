//! Ties: which of several packets that come out of links at the same instant goes first.
//!
//! Links of one rate and packets of one size make ties the rule: all packets of an incast reach a port at the same
//! picosecond, one of them finds the last place of its buffer, and a fixed order would let the same link win every time.
//! Real clocks differ, so that each link wins as often as another. In one thread an event-driven simulator serves the
//! packet first whose transmission was scheduled first.
//!
//! The calendar sorts events by (time, phase, rank of the link, count); a rule only puts those in another order that
//! have time and phase in common, so that a run without ties pays for one comparison an event.

use super::buckets::Entry;
use super::event::{Event, Phase, key, order};
use crate::random::{Purpose, Stream, mix};
use crate::units::Time;

/// The rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rule {
    /// By a hash of instant, link and seed: each order is as likely as any other, at each instant anew.
    Drawn,
    /// In the order in which the transmissions began; of those that began at one instant, in the order of the events that
    /// began them. The ends of transmissions have their places in that order: a packet may find a buffer full that has room
    /// at the same instant, when a transmission ends that began later.
    Arrival,
    /// By the rank of the link: one of two links wins every tie of a run.
    #[default]
    Link,
}

/// The rule of a run, with what it needs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ties {
    rule: Rule,
    /// Drawn: of the seed and the replica.
    salt: u64,
    /// Arrival: transmissions so far. After 2^32 it begins again, and a tie across that is served in reverse.
    begun: u32,
    /// Arrival: the count of the present event, if it is one that ties.
    present: Option<u32>,
}

/// Bits of a rank.
const RANK_BITS: u32 = 28;
const RANKS: u32 = (1 << RANK_BITS) - 1;

impl Ties {
    /// Of a run.
    pub fn new(rule: Rule, seed: u64, replica: u64) -> Ties {
        // Entities 0 and 1 are ranks of links and hosts.
        Ties { rule, salt: Stream::new(seed, replica, Purpose::Ties, 2).bits(), begun: 0, present: None }
    }

    /// The count in the events of a transmission that begins now, of a port that has begun so many.
    #[inline(always)]
    pub fn count(&mut self, sent: u64) -> u32 {
        if self.rule == Rule::Arrival {
            self.begun = self.begun.wrapping_add(1);
            return self.begun;
        }
        sent as u32
    }

    /// The count in the event of the end of a transmission whose events have that count.
    #[inline(always)]
    pub fn count_at_end(&self, count: u32) -> u32 {
        if self.rule == Rule::Arrival { count } else { 0 }
    }

    /// That event is handled.
    #[inline(always)]
    pub fn handles(&mut self, event: &Event) {
        if self.rule == Rule::Arrival {
            self.present = self.applies(event.order).then(|| event.word());
        }
    }

    /// Whether a transmission whose events have that count, and which ends at this instant, ends after the present event.
    #[inline]
    pub fn ends_later(&self, count: u32) -> bool {
        self.present.is_some_and(|present| count.wrapping_sub(present) as i32 > 0)
    }

    /// The place of an event in the order of all events.
    #[inline]
    pub fn key(&self, time: Time, at: u64) -> u128 {
        if !self.applies(at) {
            return key(time, at);
        }
        let (rank, count) = ((at >> 32) as u32 & RANKS, at as u32);
        let (first, then) = match self.rule {
            Rule::Drawn => (self.drawn(time, rank), count),
            Rule::Arrival => (count >> 4, count << RANK_BITS | rank),
            Rule::Link => (rank, count),
        };
        key(time, order(Phase::Arrival, first, then))
    }

    /// The same of an event.
    #[inline]
    pub fn key_of(&self, event: &Event) -> u128 {
        self.key(event.time, event.order)
    }

    /// Whether the rule concerns events with that order.
    #[inline(always)]
    fn applies(&self, order: u64) -> bool {
        let phase = order >> 60;
        match self.rule {
            Rule::Drawn => phase == Phase::Arrival as u64,
            Rule::Arrival => phase == Phase::Arrival as u64 || phase == Phase::Departure as u64,
            Rule::Link => false,
        }
    }

    /// A bijection of ranks, another one at each instant: no two links draw the same.
    #[inline]
    fn drawn(&self, time: Time, rank: u32) -> u32 {
        let bits = mix(time.0 ^ self.salt);
        let mixed = (rank ^ bits as u32) & RANKS;
        let mixed = mixed.wrapping_mul((bits >> 32) as u32 | 1) & RANKS;
        let mixed = (mixed ^ mixed >> 15).wrapping_mul(0x9E37_79B1) & RANKS;
        let mixed = (mixed ^ mixed >> 13).wrapping_mul(0x85EB_CA6B) & RANKS;
        mixed ^ mixed >> 14
    }

    /// Puts the events of a bucket that tie in order; they are sorted by their own keys.
    #[inline]
    pub fn settle(&self, events: &mut [Entry], number: u64, shift: u32) {
        if self.rule == Rule::Link {
            return;
        }
        // Phases tie by arrival, and ranks by a draw.
        let apart = if self.rule == Rule::Arrival { u32::BITS } else { RANK_BITS };
        let instant = |entry: &Entry| entry.instant() >> apart;
        let mut from = 0;
        for at in 1..=events.len() {
            if at < events.len() && instant(&events[at]) == instant(&events[from]) {
                continue;
            }
            if at - from > 1 {
                self.settle_tie(&mut events[from..at], number, shift);
            }
            from = at;
        }
    }

    #[cold]
    #[inline(never)]
    fn settle_tie(&self, events: &mut [Entry], number: u64, shift: u32) {
        let event = |entry: &Entry| entry.event(number, shift);
        if events.iter().any(|entry| self.applies(event(entry).order)) {
            events.sort_by_cached_key(|entry| self.key_of(&event(entry)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOT: u64 = 1_200_000;

    fn arrival(time: u64, rank: u32, count: u32) -> Event {
        Event { time: Time(time), order: order(Phase::Arrival, rank, count), a: 0 }
    }

    /// The ranks of links whose packets come at that instant, in the order of a rule.
    fn served(ties: &Ties, time: u64, ranks: &[u32]) -> Vec<u32> {
        let mut events: Vec<_> = ranks.iter().map(|&rank| arrival(time, rank, 7)).collect();
        events.sort_by_key(|event| ties.key_of(event));
        events.iter().map(Event::rank).collect()
    }

    /// 30,000 instants: each of 6 orders of three links comes 5,000 times, give or take 5 standard deviations of 65, whatever
    /// the ranks.
    #[test]
    fn drawn_orders_are_equally_likely() {
        let ties = Ties::new(Rule::Drawn, 1, 0);
        for ranks in [[0, 1, 2], [5, 6, 900], [1 << 20, 1 << 21, (1 << 20) + 1]] {
            let mut found = std::collections::BTreeMap::new();
            for slot in 0..30_000 {
                *found.entry(served(&ties, slot * SLOT, &ranks)).or_insert(0_i32) += 1;
            }
            assert_eq!(found.len(), 6);
            assert!(found.values().all(|count| (count - 5_000).abs() < 5 * 65), "{found:?}");
        }
    }

    /// The first of 8 links, and whether the same link is first at the next instant.
    #[test]
    fn a_drawn_order_says_nothing_of_the_next() {
        let ties = Ties::new(Rule::Drawn, 2, 0);
        let first = |slot: u64| served(&ties, slot * SLOT, &[0, 1, 2, 3, 4, 5, 6, 7])[0];
        let again = (0..16_000).filter(|&slot| first(slot) == first(slot + 1)).count() as i64;
        // A standard deviation is 42.
        assert!((again - 2_000).abs() < 5 * 42, "{again}");
    }

    #[test]
    fn a_drawn_order_depends_on_seed_and_replica_and_is_one_to_one() {
        let orders = |seed, replica| {
            let ties = Ties::new(Rule::Drawn, seed, replica);
            (0..64).map(|slot| served(&ties, slot * SLOT, &[3, 4])[0]).collect::<Vec<_>>()
        };
        assert_ne!(orders(1, 0), orders(2, 0));
        assert_ne!(orders(1, 0), orders(1, 1));
        let ties = Ties::new(Rule::Drawn, 1, 0);
        let drawn: std::collections::BTreeSet<_> =
            (0..100_000).map(|rank| ties.drawn(Time(SLOT), rank)).collect();
        assert_eq!(drawn.len(), 100_000);
    }

    /// Counts go on across the whole network: the lower one began first, whatever the link.
    #[test]
    fn by_arrival_the_transmission_that_began_first_goes_first() {
        let mut ties = Ties::new(Rule::Arrival, 1, 0);
        let (first, second) = (ties.count(900), ties.count(3));
        let (late, early) = (arrival(SLOT, 1, second), arrival(SLOT, 2, first));
        assert!(ties.key_of(&early) < ties.key_of(&late));
        assert!(late < early, "by their ranks it would be the other way");
        // Time and phase come first.
        assert!(ties.key_of(&arrival(SLOT - 1, 9, 1000)) < ties.key_of(&early));
        // So do ends of transmissions, but not other events.
        let [end, began_before] = [second + 1, 0].map(|count| order(Phase::Departure, 9, count));
        assert!(ties.key_of(&late) < ties.key_of(&Event { order: end, ..late }));
        assert!(ties.key_of(&early) > ties.key_of(&Event { order: began_before, ..late }));
        let start = order(Phase::Start, 0, 0);
        assert!(ties.key_of(&late) < ties.key_of(&Event { order: start, ..late }));
    }

    /// A bucket is put in the order of the keys, and events of other phases stay.
    #[test]
    fn a_bucket_is_in_the_order_of_the_keys() {
        for rule in [Rule::Drawn, Rule::Arrival, Rule::Link] {
            let ties = Ties::new(rule, 3, 0);
            let mut events = Vec::new();
            for number in 0_u32..600 {
                let phase = [Phase::Departure, Phase::Arrival, Phase::Timer][number as usize % 3];
                let order = order(phase, number * 7919 % 97, number * 31 % 61);
                events.push(Event { time: Time(u64::from(number / 60) << 8), order, a: number });
            }
            let mut entries: Vec<_> = events.iter().map(|event| Entry::new(event, 20)).collect();
            entries.sort_unstable_by_key(Entry::key);
            ties.settle(&mut entries, 0, 20);
            let keys: Vec<_> = entries.iter().map(|entry| ties.key_of(&entry.event(0, 20))).collect();
            assert!(keys.is_sorted(), "{rule:?}");
        }
    }
}
