//! The compiled-in workloads: each against the mean that was published for its table, against points of that table
//! in papers and files, and its draws against itself.

use crate::common::statistics::{draws, errors_off};
use flowyard_sim::scenario::{self, Format, no_files};
use flowyard_sim::traffic::sizes::Sizes;
use flowyard_sim::traffic::sizes::workloads::*;
use serde::Deserialize;

/// A workload; its mean and how far it may be off; points (size, percent that are no larger) of its source.
type Case = (Sizes, f64, f64, &'static [(f64, f64)]);

/// Means are those of the full tables where ours is thinned, else worked out from the source's table.
fn cases() -> Vec<Case> {
    vec![
        (WebSearch {}.into(), 1_711_250.0, 1e-9, &[(1e4, 15.0), (8e4, 53.0), (1e6, 70.0), (1e7, 97.0)]),
        (
            DataMining {}.into(),
            12_658_198.6,
            1e-9,
            &[(180.0, 10.0), (1_100.0, 50.0), (1e4, 80.0), (1e8, 98.0)],
        ),
        (FacebookKeyValue {}.into(), 342.235_1, 1e-9, &[(75.0, 50.0), (350.0, 90.0), (10_032.0, 99.5)]),
        (FacebookHadoop {}.into(), 120_420.75, 1e-9, &[(500.0, 30.0), (1e3, 60.0), (3e5, 95.0)]),
        (AlibabaStorage {}.into(), 40_869.8, 1e-9, &[(4e3, 22.93), (8e3, 69.21), (128e3, 96.77)]),
        (HomaW1 {}.into(), 187.77, 0.04, &[(79.0, 60.244_6), (228.0, 77.472_8), (827.0, 95.270_6)]),
        (HomaW2 {}.into(), 440.79, 0.03, &[(284.0, 55.315_2), (512.0, 91.040_1)]),
        (HomaW3 {}.into(), 2_927.0, 0.06, &[(32.0, 9.732_39), (296.0, 57.617_9), (16_384.0, 98.469_4)]),
        (HomaW4 {}.into(), 127_797.0, 0.01, &[(600.0, 45.91), (44_260.0, 75.84), (853_048.0, 97.062)]),
        // ns-2's users state 1138 packets for this table.
        (HomaW5 {}.into(), 1_138.0 * 1_460.0, 0.003, &[(53.0 * 1_460.0, 53.0), (1_333.0 * 1_460.0, 80.0)]),
        (FacebookWeb {}.into(), 62_874.0, 0.01, &[(1_843.0, 39.63), (60_000.0, 79.26)]),
        (FacebookCache {}.into(), 692_976.0, 0.01, &[(28_270.0, 50.0), (2_827_010.0, 97.4)]),
        (Fbw {}.into(), 432.24, 1e-9, &[(150.0, 50.0), (1_499.0, 85.0)]),
        (Bimodal {}.into(), 916.0, 1e-9, &[(40.0, 40.0), (1_499.0, 40.0)]),
    ]
}

#[test]
fn each_has_the_mean_and_the_quantiles_of_its_source() {
    for (sizes, mean, tolerance, points) in cases() {
        let name = sizes.name();
        assert!((sizes.mean() / mean - 1.0).abs() < tolerance, "{name} {}", sizes.mean());
        let sample = draws(&sizes, 200_000);
        assert!(errors_off(&sample, sizes.mean()) < 4.0, "{name}");
        for &(size, percent) in points {
            let below = sample.iter().filter(|&&drawn| drawn <= size).count() as f64 / 2e5;
            let share = percent / 100.0;
            // Sizes are whole: a neighbouring byte may round to the point.
            let neighbour = if size < 1_000.0 { 0.01 } else { 0.0 };
            let error = 4.0 * (share * (1.0 - share) / 2e5f64).sqrt() + neighbour;
            assert!((below - share).abs() < error, "{name}: {below} up to {size}, not {share}");
        }
    }
}

/// A list of workloads here would be incomplete tomorrow: it is held to the schema.
#[test]
fn all_are_tested_and_go_by_their_bare_names() {
    let tested: Vec<&str> = cases().iter().map(|(sizes, ..)| sizes.name()).collect();
    let bare = |name: &&&str| Sizes::deserialize(&serde_json::json!({ **name: {} })).is_ok();
    let mut named: Vec<&str> =
        Sizes::NAMES.iter().filter(bare).copied().filter(|name| !["cdf", "endless"].contains(name)).collect();
    let mut sorted = tested.clone();
    named.sort_unstable();
    sorted.sort_unstable();
    assert_eq!(named, sorted);
    for name in tested {
        let text = format!(
            "topology = \"single-switch\"\n[transport.datagram]\nlengths = \"{name}\"\n\
             [[traffic]]\nname = \"flows\"\narrivals = \"at-once\"\nmatrix = \"permutation\"\nsizes = \"{name}\""
        );
        let scenario = scenario::read(&text, Format::Toml, &[], &no_files).unwrap();
        assert_eq!(scenario.traffic[0].sizes.name(), name);
    }
}
