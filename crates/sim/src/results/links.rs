//! The table of links.

use rustc_hash::FxHashMap;

use super::columns::{column, of_packets};
use crate::engine::data::finished::{Level, LinkCounts};
use crate::ids::NodeId;
use crate::records::{Table, Values, links};
use crate::topology::{Fabric, Link};
use crate::units::Time;

/// A row for each directed link, with its counters of a time of that length.
pub(super) fn links_table(fabric: &Fabric, level: Level, counts: &[LinkCounts], time: Time) -> Table {
    let node_names: Vec<String> = fabric.nodes.iter().map(|node| node.name.clone()).collect();
    let named = |definition, node: fn(&Link) -> NodeId| {
        let codes = fabric.links.iter().map(|link| node(link).0).collect();
        column(definition, Values::Text { codes, words: node_names.clone() })
    };
    let (mut tiers, mut known) = (Vec::new(), FxHashMap::default());
    let tier_codes = fabric.links.iter().map(|link| {
        *known.entry(fabric.tier_of(link)).or_insert_with_key(|tier| {
            tiers.push(tier.clone());
            tiers.len() as u32 - 1
        })
    });
    let tier_codes = tier_codes.collect();
    let counted = |definition, value: fn(&LinkCounts) -> u64| {
        of_packets(level, definition, Values::U64(counts.iter().map(value).collect()))
    };
    // Counters at the start of a window are those of its last picosecond before: one that is not in its length.
    let busy = |link: &LinkCounts| link.busy.0 - u64::from(link.busy.0 == time.0 + 1);
    let share = |link: &LinkCounts| if time == Time::ZERO { 0.0 } else { busy(link) as f64 / time.0 as f64 };
    let utilisation = counts.iter().map(share);
    let columns = vec![
        column(&links::id, Values::U32((0..counts.len() as u32).collect())),
        named(&links::from, |link| link.from),
        named(&links::to, |link| link.to),
        column(&links::tier, Values::Text { codes: tier_codes, words: tiers }),
        column(&links::rate_bps, Values::U64(fabric.links.iter().map(|link| link.rate.0).collect())),
        column(&links::delay_ps, Values::U64(fabric.links.iter().map(|link| link.delay.0).collect())),
        counted(&links::packets, |link| link.sent.packets),
        column(&links::bytes, Values::U64(counts.iter().map(|link| link.sent.bytes).collect())),
        column(&links::utilisation, Values::F64(utilisation.collect())),
        counted(&links::drops, |link| link.losses.dropped.packets - link.losses.credits),
        counted(&links::credit_drops, |link| link.losses.credits),
        counted(&links::lost, |link| link.lost),
        counted(&links::trims, |link| link.losses.trims),
        counted(&links::marks, |link| link.losses.marks),
        of_packets(
            level,
            &links::queue_mean_bytes,
            Values::F64(counts.iter().map(|link| link.mean_bytes(time)).collect()),
        ),
        counted(&links::queue_max_bytes, |link| link.bytes_max),
        of_packets(
            level,
            &links::queue_max_packets,
            Values::U32(counts.iter().map(|link| link.packets_max).collect()),
        ),
        counted(&links::pauses, |link| link.pauses),
        counted(&links::paused_ps, |link| link.paused.0),
    ];
    Table { name: "links", columns }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::data::port::{Amount, Losses};
    use crate::topology::Generator;
    use crate::topology::single_switch::SingleSwitch;

    /// The table of one cable, whose links have these counters, in so many picoseconds.
    fn table(counts: [LinkCounts; 2], time: u64) -> Table {
        let fabric = SingleSwitch { hosts: 1, ..SingleSwitch::default() }.build();
        links_table(&fabric, Level::Packets, &counts, Time(time))
    }

    /// A link that was busy all the time has a utilisation of 1, also where its counter began 1 ps before the window; in no time
    /// there is none.
    #[test]
    fn a_utilisation_is_at_most_one() {
        let shares = |busy: [u64; 2], time| {
            let table =
                table(busy.map(|busy| LinkCounts { busy: Time(busy), ..LinkCounts::default() }), time);
            let Values::F64(shares) = &table.column("utilisation").expect("a column").values else {
                panic!()
            };
            shares.clone()
        };
        assert_eq!(shares([1_000, 1_001], 1_000), [1.0, 1.0]);
        assert_eq!(shares([250, 0], 1_000), [0.25, 0.0]);
        assert_eq!(shares([0, 0], 0), [0.0, 0.0]);
    }

    /// Of five packets that a queue dropped two were credits, which have a column of their own.
    #[test]
    fn credits_are_no_dropped_packets() {
        let dropped = Amount { packets: 5, bytes: 5_000 };
        let losses = Losses { dropped, credits: 2, ..Losses::default() };
        let table = table([LinkCounts { losses, ..LinkCounts::default() }, LinkCounts::default()], 1_000);
        let column = |name| match &table.column(name).expect("a column").values {
            Values::U64(counts) => counts.clone(),
            _ => panic!("counts"),
        };
        assert_eq!((column("drops"), column("credit_drops")), (vec![3, 0], vec![2, 0]));
    }
}
