//! Flowlets: the next hop that each flow has at each switch, as long as its packets come without a pause.
//!
//! Source: Alizadeh et al., "CONGA", SIGCOMM 2014, section 3.4; Vanini et al., "Let it flow", NSDI 2017. Hardware keeps a
//! table of 64 K entries, indexed by a hash, so that some flows share an entry; here each flow has one of its own. Packets of a
//! flow and those back to its sender count as two flows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::engine::contract::path::Hop;
use crate::ids::LinkId;
use crate::units::Time;

/// The end of a flowlet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Expiry {
    /// The first packet that comes later than the gap after the one before it.
    #[default]
    Exact,
    /// As CONGA's switch does it, with one bit for each flow: packets clear the bit, at each multiple of the gap it is set, and
    /// if it is set already the flowlet has ended. Pauses that end a flowlet are between one gap and two.
    AgeBit,
}

/// A flow's entry at one switch.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    label: u32,
    /// Place of the link among the next hops, as long as these stay the same.
    place: u32,
    /// The next hop; none in an empty entry.
    link: LinkId,
    last: Time,
}

const EMPTY: Entry = Entry { label: 0, place: 0, link: LinkId::NONE, last: Time::ZERO };

/// Entries of a table that has just been made.
const ENTRIES_LEAST: usize = 64;

/// Labels are random numbers: the lower bits of one index the table, and the entry is there or behind.
#[derive(Clone, Debug, Default)]
struct Table {
    /// A power of two, or none.
    entries: Vec<Entry>,
    used: usize,
}

/// The flowlets of all switches.
#[derive(Clone, Debug, Default)]
pub struct Flowlets {
    gap: Time,
    expiry: Expiry,
    /// By node.
    tables: Vec<Table>,
}

impl Flowlets {
    /// Those of so many nodes; all flowlets end after a pause of the gap.
    pub fn new(gap: Time, expiry: Expiry, nodes: usize) -> Flowlets {
        Flowlets { gap, expiry, tables: vec![Table::default(); nodes] }
    }

    /// The place of the next hop of a flow's packet: that of the packets before it; or, if a flowlet begins, the one that
    /// `choose` returns, which is given that of the last flowlet, unless the flow is new or its next hop is none any more.
    #[inline(always)]
    pub fn place(&mut self, hop: &Hop, now: Time, choose: impl FnOnce(Option<u32>) -> u32) -> u32 {
        let (gap, expiry) = (self.gap, self.expiry);
        let entry = self.tables[hop.at.index()].entry(hop.label, |last| ended(gap, expiry, last, now));
        let known = hop.next_hops.get(entry.place as usize) == Some(&entry.link);
        if known && !ended(gap, expiry, entry.last, now) {
            entry.last = now;
            return entry.place;
        }
        entry.renew(hop, now, ended(gap, expiry, entry.last, now), choose)
    }
}

impl Entry {
    /// A flowlet begins, or routes have changed.
    #[inline(never)]
    fn renew(&mut self, hop: &Hop, now: Time, ended: bool, choose: impl FnOnce(Option<u32>) -> u32) -> u32 {
        let old = hop.next_hops.iter().position(|link| *link == self.link).map(|place| place as u32);
        self.place = match old {
            // The same link has another place among the next hops of other routes.
            Some(place) if !ended => place,
            _ => choose(old),
        };
        self.link = hop.next_hops[self.place as usize];
        self.last = now;
        self.place
    }
}

/// Whether a flowlet whose last packet came then has ended.
#[inline(always)]
fn ended(gap: Time, expiry: Expiry, last: Time, now: Time) -> bool {
    match expiry {
        Expiry::Exact => now.0 - last.0 > gap.0,
        Expiry::AgeBit => now.0 / gap.0 - last.0 / gap.0 > 1,
    }
}

impl Table {
    /// The entry of a flow, an empty one if it is new.
    #[inline(always)]
    fn entry(&mut self, label: u32, ended: impl Fn(Time) -> bool) -> &mut Entry {
        let mask = self.entries.len().wrapping_sub(1);
        let mut at = label as usize & mask;
        while let Some(entry) = self.entries.get(at) {
            if entry.label == label && entry.link != LinkId::NONE {
                return &mut self.entries[at];
            }
            if entry.link == LinkId::NONE {
                break;
            }
            at = (at + 1) & mask;
        }
        self.add(label, ended)
    }

    /// An entry for a new flow.
    #[cold]
    #[inline(never)]
    fn add(&mut self, label: u32, ended: impl Fn(Time) -> bool) -> &mut Entry {
        if 2 * (self.used + 1) > self.entries.len() {
            self.grow(ended);
        }
        self.used += 1;
        let at = self.free(label);
        self.entries[at].label = label;
        &mut self.entries[at]
    }

    /// Makes room: flowlets that have ended go, and if too many are left the table grows.
    fn grow(&mut self, ended: impl Fn(Time) -> bool) {
        let live = |entry: &Entry| entry.link != LinkId::NONE && !ended(entry.last);
        let left: Vec<Entry> = self.entries.iter().copied().filter(live).collect();
        self.used = left.len();
        let size = (4 * left.len()).next_power_of_two().max(ENTRIES_LEAST).max(self.entries.len());
        self.entries.clear();
        self.entries.resize(size, EMPTY);
        for entry in left {
            let at = self.free(entry.label);
            self.entries[at] = entry;
        }
    }

    /// The first empty entry for that label.
    fn free(&self, label: u32) -> usize {
        let mask = self.entries.len() - 1;
        let mut at = label as usize & mask;
        while self.entries[at].link != LinkId::NONE {
            at = (at + 1) & mask;
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::NodeId;

    fn hop(label: u32, next_hops: &[LinkId]) -> Hop<'_> {
        Hop { at: NodeId(0), to: NodeId(1), label, hops: 1, ticket: 0, next_hops }
    }

    const THREE: [LinkId; 3] = [LinkId(4), LinkId(6), LinkId(8)];

    /// A packet at each of the times, in microseconds; the place of each, where each flowlet takes the next place of three.
    fn places(expiry: Expiry, times: &[u64]) -> Vec<u32> {
        let mut flowlets = Flowlets::new(Time::from_us(10), expiry, 1);
        let place = |us: &u64| {
            flowlets.place(&hop(7, &THREE), Time::from_us(*us), |old| old.map_or(0, |old| (old + 1) % 3))
        };
        times.iter().map(place).collect()
    }

    /// A pause that equals the gap keeps the path, a longer one does not. The bit is set at 10, 20, ... us: after a packet at 9
    /// us it is set at 10 and found at 20; one at 10 us comes after it is set there, so that it is found at 30.
    #[test]
    fn flowlets_end_after_the_gap() {
        assert_eq!(places(Expiry::Exact, &[0, 10, 20, 31, 41, 52]), [0, 0, 0, 1, 1, 2]);
        assert_eq!(places(Expiry::AgeBit, &[9, 19]), [0, 0]);
        assert_eq!(places(Expiry::AgeBit, &[9, 20]), [0, 1]);
        assert_eq!(places(Expiry::AgeBit, &[10, 29]), [0, 0]);
        assert_eq!(places(Expiry::AgeBit, &[10, 30]), [0, 1]);
    }

    /// A flow keeps its link when routes change, wherever that is among the next hops then; without it, it chooses anew.
    #[test]
    fn a_change_of_routes_keeps_links() {
        let mut flowlets = Flowlets::new(Time::from_us(10), Expiry::Exact, 1);
        let now = Time::from_us(1);
        assert_eq!(flowlets.place(&hop(7, &THREE), now, |_| 1), 1);
        assert_eq!(flowlets.place(&hop(7, &THREE[1..]), now, |_| panic!("its link is there")), 0);
        assert_eq!(flowlets.place(&hop(7, &THREE), now, |_| panic!("its link is there")), 1);
        assert_eq!(flowlets.place(&hop(7, &[THREE[0], THREE[2]]), now, |old| old.unwrap_or(1)), 1);
    }

    /// Ten thousand flows, some with the same lower bits, have an entry each; after a pause the table holds those of now alone, and
    /// one of its age forgets nothing that lives.
    #[test]
    fn each_flow_has_its_entry() {
        let mut flowlets = Flowlets::new(Time::from_us(10), Expiry::Exact, 1);
        let label = |flow: u32| (flow % 100) | (flow / 100) << 20;
        for flow in 0..10_000 {
            assert_eq!(flowlets.place(&hop(label(flow), &THREE), Time::ZERO, |_| flow % 3), flow % 3);
        }
        for flow in 0..10_000 {
            let place =
                flowlets.place(&hop(label(flow), &THREE), Time::from_us(1), |_| panic!("{flow} is known"));
            assert_eq!(place, flow % 3);
        }
        let size = flowlets.tables[0].entries.len();
        assert!((20_000..=65_536).contains(&size), "{size}");
        for flow in 10_000..30_000 {
            flowlets.place(&hop(label(flow), &THREE), Time::from_us(20 * u64::from(flow)), |_| 0);
        }
        assert_eq!(flowlets.tables[0].entries.len(), size);
    }
}
