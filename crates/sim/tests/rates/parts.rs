//! The parts of a matrix against a flood through its entries.

use std::collections::BTreeSet;

use flowyard_sim::controller::rates::matrix::{Entry, Offered, Part};
use flowyard_sim::random::Stream;
use proptest::prelude::*;

use super::stream;

type Entries = BTreeSet<(u16, u16)>;

/// The rows and columns that entries connect with a row, or with a column; none if it has no entry.
fn flood(entries: &Entries, row: Option<u16>, column: Option<u16>) -> (Vec<u16>, Vec<u16>) {
    let (mut rows, mut columns) = (BTreeSet::new(), BTreeSet::new());
    for &(source, destination) in entries {
        if row == Some(source) || column == Some(destination) {
            rows.insert(source);
        }
    }
    loop {
        let before = (rows.len(), columns.len());
        for &(source, destination) in entries {
            if rows.contains(&source) || columns.contains(&destination) {
                rows.insert(source);
                columns.insert(destination);
            }
        }
        if before == (rows.len(), columns.len()) {
            return (rows.into_iter().collect(), columns.into_iter().collect());
        }
    }
}

fn changed_parts(offered: &mut Offered) -> Vec<(Vec<u16>, Vec<u16>)> {
    let (mut found, mut part) = (Vec::new(), Part::default());
    while offered.next_changed(&mut part) {
        found.push((part.rows.clone(), part.columns.clone()));
    }
    found
}

/// Up to `changes` entries come and go between two looks at the parts, about so many an average row has.
fn check(hosts: usize, degree: f64, changes: u64, draws: &mut Stream) {
    let mut offered = Offered::new(hosts);
    let mut entries = Entries::new();
    for _ in 0..150 {
        let (mut rows, mut columns) = (BTreeSet::new(), BTreeSet::new());
        for _ in 0..=draws.below(changes) {
            let comes = draws.unit() * 2.0 * degree * hosts as f64 > entries.len() as f64;
            let (source, destination) = if comes || entries.is_empty() {
                (draws.below(hosts as u64) as u16, draws.below(hosts as u64) as u16)
            } else {
                *entries.iter().nth(draws.below(entries.len() as u64) as usize).expect("one of them")
            };
            if entries.remove(&(source, destination)) {
                offered.remove(source, destination);
                columns.insert(destination);
            } else {
                entries.insert((source, destination));
                let entry = Entry { order: 0, queue: 0, offered: 1.0, scaled: 1.0, rate: 0.0 };
                offered.insert(source, destination, entry);
            }
            rows.insert(source);
        }
        let mut found = changed_parts(&mut offered);
        found.sort();
        let by_rows = rows.iter().map(|&row| flood(&entries, Some(row), None));
        let by_columns = columns.iter().map(|&column| flood(&entries, None, Some(column)));
        let expected: BTreeSet<_> = by_rows.chain(by_columns).filter(|(rows, _)| !rows.is_empty()).collect();
        assert_eq!(found, expected.into_iter().collect::<Vec<_>>());
        assert!(changed_parts(&mut offered).is_empty());
    }
}

proptest! {
    /// A part that has changed is found once, whole, and in order: with one change at a time, whose walks meet or part,
    /// and with several, on matrices of many small parts and of a large one.
    #[test]
    fn changed_parts_are_those_of_a_flood(seed in any::<u64>(), hosts in 2usize..30, degree in 0.3f64..3.0, changes in 1u64..6) {
        check(hosts, degree, changes, &mut stream(seed));
    }
}

/// Two entries that have gone cut a part in three, of which the middle one connected the others.
#[test]
fn what_two_entries_connected_is_three_parts() {
    let mut offered = Offered::new(3);
    let entry = Entry { order: 0, queue: 0, offered: 1.0, scaled: 1.0, rate: 0.0 };
    let chain = [(0, 0), (1, 0), (1, 1), (2, 1), (2, 2)];
    chain.iter().for_each(|&(source, destination)| offered.insert(source, destination, entry));
    assert_eq!(changed_parts(&mut offered), [(vec![0, 1, 2], vec![0, 1, 2])]);
    offered.remove(1, 0);
    offered.remove(2, 1);
    let mut found = changed_parts(&mut offered);
    found.sort();
    assert_eq!(found, [(vec![0], vec![0]), (vec![1], vec![1]), (vec![2], vec![2])]);
}
