//! Ties: which of several packets that come out of links at the same instant goes first.
//!
//! Links of one rate and packets of one size make ties the rule: all packets of an incast reach a port at the same
//! picosecond, one of them finds the last place of its buffer, and a fixed order would let the same link win every time.
//! Real clocks differ, so that each link wins as often as another. In one thread an event-driven simulator serves the
//! packet first whose transmission was scheduled first.
//!
//! The calendar sorts events by (time, phase, rank of the link, count). A draw puts only those in another order that have
//! time and phase in common, so that a run without ties pays for one comparison an event. By arrival the calendar is a heap
//! that counts transmissions.

use super::buckets::Entry;
use crate::engine::data::event::{Event, Phase, RANK_BITS, RANKS, key, order};
use crate::engine::data::plan::Rule;
use crate::random::{Purpose, Stream, mix};
use crate::units::Time;

/// The rule of a run, with what it needs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ties {
    rule: Rule,
    /// Drawn: of the seed and the replica.
    salt: u64,
    /// Arrival: transmissions so far; 0 by another rule. After 2^32 it begins again, and a tie across that is served in reverse.
    pub begun: u32,
}

impl Ties {
    /// Of a run.
    pub fn new(rule: Rule, seed: u64, replica: u64) -> Ties {
        // Entities 0 and 1 are ranks of links and hosts.
        Ties { rule, salt: Stream::new(seed, replica, Purpose::Ties, 2).bits(), begun: 0 }
    }

    /// An event as the calendar keeps it: by arrival the packets of all ports are counted.
    pub fn counted(&mut self, event: Event) -> Event {
        let sent = event.phase() == Phase::Arrival as u8 || event.phase() == Phase::Lost as u8;
        if self.rule != Rule::Arrival || !sent {
            return event;
        }
        self.begun = self.begun.wrapping_add(1);
        Event { order: event.order >> 32 << 32 | u64::from(self.begun), ..event }
    }

    /// Whether the order is that in which events were scheduled.
    pub fn is_by_arrival(&self) -> bool {
        self.rule == Rule::Arrival
    }

    /// Whether a transmission whose events have that count, and which ends at this instant, ends after the present event,
    /// which has that order.
    pub fn ends_later(&self, count: u32, present: u64) -> bool {
        self.rule == Rule::Arrival && is_counted(present) && count.wrapping_sub(present as u32) as i32 > 0
    }

    /// The place of an event in the order of all events.
    #[inline]
    pub fn key(&self, time: Time, at: u64) -> u128 {
        let (rank, count) = ((at >> 32) as u32 & RANKS, at as u32);
        let (first, then) = match self.rule {
            Rule::Drawn if is(Phase::Arrival, at) => (Draw::at(time, self.salt).drawn(rank), count),
            Rule::Arrival if is_counted(at) => (count >> 4, count << RANK_BITS | rank),
            _ => return key(time, at),
        };
        key(time, order(Phase::Arrival, first, then))
    }

    /// The same of an event.
    #[inline]
    pub fn key_of(&self, event: &Event) -> u128 {
        self.key(event.time, event.order)
    }

    /// Puts the arrivals of a bucket that tie in order, where they are drawn; the events are sorted by their own keys.
    #[inline]
    pub fn settle(&self, events: &mut [Entry], number: u64, shift: u32, lots: &mut Lots) {
        if self.rule != Rule::Drawn {
            return;
        }
        let mut at = 1;
        while at < events.len() {
            at = if events[at].ties(&events[at - 1]) {
                self.draw(&mut events[at - 1..], number, shift, lots) + at
            } else {
                at + 1
            };
        }
    }

    /// Whether the first of two events of a bucket comes after the other.
    #[inline]
    pub fn is_later(&self, one: &Entry, other: &Entry, number: u64, shift: u32) -> bool {
        if self.rule == Rule::Drawn && one.ties(other) {
            let key = |entry: &Entry| self.key_of(&entry.event(number, shift));
            return key(one) > key(other);
        }
        one.key() > other.key()
    }

    /// Puts the tie in order with which the events begin; returns how many it has.
    #[inline(never)]
    fn draw(&self, events: &mut [Entry], number: u64, shift: u32, lots: &mut Lots) -> usize {
        let first = events[0];
        let draw = Draw::at(first.event(number, shift).time, self.salt);
        let many = 1 + events[1..].iter().take_while(|entry| entry.ties(&first)).count();
        match &mut events[..many] {
            [one, other] if draw.of(other) < draw.of(one) => std::mem::swap(one, other),
            [_, _] => {}
            few if few.len() <= Draw::FEW => draw.settle_few(few),
            tie => draw.settle(tie, lots),
        }
        many
    }
}

/// Memory for a draw, used again by the next.
#[derive(Clone, Debug, Default)]
pub struct Lots {
    tied: Vec<Entry>,
    /// Number that each has drawn, above its place among the tied.
    drawn: Vec<u64>,
}

/// Whether an event with that order has that phase.
fn is(phase: Phase, order: u64) -> bool {
    order >> 60 == phase as u64
}

/// Whether an event with that order is the arrival of a packet or the end of a transmission, whose counts are those of the
/// whole network by arrival.
fn is_counted(order: u64) -> bool {
    is(Phase::Arrival, order) || is(Phase::Departure, order)
}

/// A bijection of ranks, another one at each instant: no two links draw the same.
#[derive(Clone, Copy, Debug)]
struct Draw {
    flip: u32,
    factor: u32,
}

impl Draw {
    /// So many are compared with each other, all with all: no branch depends on a draw, which none would predict.
    const FEW: usize = 16;
    /// Odd: 2^32 by the golden ratio.
    const SPREAD: u32 = 0x9E37_79B9;

    #[inline]
    fn at(time: Time, salt: u64) -> Draw {
        let bits = mix(time.0 ^ salt);
        Draw { flip: bits as u32 & RANKS, factor: (bits >> 32) as u32 | 1 }
    }

    /// The draw of an event's packet.
    #[inline]
    fn of(self, entry: &Entry) -> u32 {
        self.drawn(entry.rank())
    }

    /// Puts events in the order of what they draw; those of one link, which are in order, remain so.
    #[inline]
    fn settle_few(self, tie: &mut [Entry]) {
        let mut before = [tie[0]; Draw::FEW];
        // 28 bits drawn, and 4 of the place.
        let mut lots = [u32::MAX; Draw::FEW];
        for (at, entry) in tie.iter().enumerate() {
            before[at] = *entry;
            lots[at] = self.of(entry) << 4 | at as u32;
        }
        for (at, lot) in lots.iter().enumerate().take(tie.len()) {
            let place = lots.iter().map(|other| u32::from(other < lot)).sum::<u32>();
            tie[place as usize] = before[at];
        }
    }

    /// The same of any number.
    fn settle(self, tie: &mut [Entry], lots: &mut Lots) {
        lots.tied.clear();
        lots.tied.extend_from_slice(tie);
        lots.drawn.clear();
        let lot = |(at, entry)| u64::from(self.of(entry)) << 32 | at as u64;
        lots.drawn.extend(lots.tied.iter().enumerate().map(lot));
        lots.drawn.sort_unstable();
        for (event, &lot) in tie.iter_mut().zip(&lots.drawn) {
            *event = lots.tied[lot as u32 as usize];
        }
    }

    /// The draw of a rank. Each step is a bijection; after the first alone, the draws of neighbouring ranks depend on each
    /// other.
    #[inline]
    fn drawn(self, rank: u32) -> u32 {
        let product = (rank ^ self.flip).wrapping_mul(self.factor) & RANKS;
        (product ^ product >> (RANK_BITS / 2)).wrapping_mul(Draw::SPREAD) & RANKS
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

    /// How often each order of three links comes at 30,000 instants.
    fn orders(ties: &Ties, ranks: [u32; 3]) -> Vec<i32> {
        let mut found = std::collections::BTreeMap::new();
        for slot in 0..30_000 {
            *found.entry(served(ties, slot * SLOT, &ranks)).or_insert(0) += 1;
        }
        assert_eq!(found.len(), 6);
        found.into_values().collect()
    }

    /// 30,000 instants: each of 6 orders of three links comes 5,000 times, give or take 5 standard deviations of 65, whatever
    /// the ranks.
    #[test]
    fn drawn_orders_are_equally_likely() {
        let ties = Ties::new(Rule::Drawn, 1, 0);
        for ranks in [[0, 1, 2], [5, 6, 900], [7, 8, 15], [13, 700, 99], [1 << 20, 1 << 21, (1 << 20) + 1]] {
            let found = orders(&ties, ranks);
            assert!(found.iter().all(|count| (count - 5_000).abs() < 5 * 65), "{found:?}");
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
            (0..100_000).map(|rank| Draw::at(Time(SLOT), ties.salt).drawn(rank)).collect();
        assert_eq!(drawn.len(), 100_000);
    }

    /// Counts go on across the whole network: the lower one began first, whatever the link.
    #[test]
    fn by_arrival_the_transmission_that_began_first_goes_first() {
        let mut ties = Ties::new(Rule::Arrival, 1, 0);
        let [early, late] = [(2, 900), (1, 3)].map(|(rank, sent)| ties.counted(arrival(SLOT, rank, sent)));
        let second = ties.begun;
        assert_eq!((early.word(), late.word(), second), (1, 2, 2));
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
        for rule in [Rule::Drawn, Rule::Link] {
            let ties = Ties::new(rule, 3, 0);
            let mut events = Vec::new();
            for number in 0_u32..600 {
                let phase = [Phase::Departure, Phase::Arrival, Phase::Timer][number as usize % 3];
                let order = order(phase, number * 7919 % 97, number * 31 % 61);
                events.push(Event { time: Time(u64::from(number / 60) << 8), order, a: number });
            }
            let mut entries: Vec<_> = events.iter().map(|event| Entry::new(event, 20)).collect();
            entries.sort_unstable_by_key(Entry::key);
            ties.settle(&mut entries, 0, 20, &mut Lots::default());
            let mut sorted: Vec<_> = entries.iter().map(|entry| entry.event(0, 20)).collect();
            sorted.sort_unstable();
            events.sort_unstable();
            assert_eq!(sorted, events, "{rule:?}");
            let keys: Vec<_> = entries.iter().map(|entry| ties.key_of(&entry.event(0, 20))).collect();
            assert!(keys.is_sorted(), "{rule:?}");
        }
    }
}
