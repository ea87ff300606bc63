//! The web-search flow sizes of the DCTCP measurements, compiled in.

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Distribution;
use super::cdf::Cdf;
use crate::random::Stream;

/// Flow sizes of a web-search cluster (Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010).
///
/// The table of 12 points that simulators share, linear in between; mean 1,711,250 bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WebSearch {}

static TABLE: LazyLock<Cdf> = LazyLock::new(|| read(include_str!("../data/web-search.csv")));

impl Distribution for WebSearch {
    fn mean(&self) -> f64 {
        TABLE.mean()
    }

    fn sample(&self, stream: &mut Stream) -> u64 {
        TABLE.sample(stream)
    }
}

/// Reads one of our own tables: comments, a line of column names, then points.
fn read(table: &str) -> Cdf {
    let rows = table.lines().filter(|line| !line.starts_with('#')).skip(1);
    let point = |row: &str| {
        let (size, percent) = row.split_once(',')?;
        Some((size.parse().ok()?, percent.parse().ok()?))
    };
    Cdf {
        points: rows.map(|row| point(row).expect("a compiled-in table has a point on each line")).collect(),
    }
}
