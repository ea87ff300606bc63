//! Completion times and slowdowns of the measured flows by size group: what a summary says without reading a table.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::flows::Row;
use super::intervals::{FEWEST, Interval, intervals};
use crate::records::{Column, Table, Values, flows};
use crate::units::Time;

/// Upper ends of the size groups in bytes, inclusive: short, middle and long flows, as pFabric cut them.
const GROUPS: [(u64, &str); 3] =
    [(100_000, "up to 100 KB"), (10_000_000, "100 KB to 10 MB"), (u64::MAX, "above 10 MB")];
const ALL: &str = "all";
const PERCENTILES: [(&str, f64); 4] = [("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("p99_9", 0.999)];

/// A row for each group that has flows, the last one for all flows: `group`, `flows`, `completed`, `due` (flows with a
/// deadline), then for `fct_<s>_ps` and `slowdown_<s>` the mean and percentiles, each with the ends of its 95 % interval,
/// `fct_<s>_low_ps` and so on. Null where no flow of the group has a value, or there is no interval.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct Completion(Vec<Map<String, Value>>);

/// A measured flow.
struct Measured {
    size: u64,
    start: Time,
    is_due: bool,
    fct: Option<f64>,
    slowdown: Option<f64>,
}

impl Completion {
    /// Of the rows of the flows table.
    pub(super) fn of(rows: &[Row], table: &Table) -> Completion {
        let Some(Column { values: Values::F64(slowdowns), valid: Some(valid), .. }) =
            table.column(flows::slowdown.name)
        else {
            unreachable!("slowdowns are numbers that may be absent");
        };
        let known = slowdowns.iter().zip(valid).map(|(slowdown, valid)| valid.then_some(*slowdown));
        let measured = rows.iter().zip(known).filter(|(row, _)| row.measured);
        let mut all: Vec<Measured> = measured
            .map(|(row, slowdown)| Measured {
                size: row.flow.size,
                start: row.flow.start,
                is_due: row.flow.deadline.is_some(),
                fct: row.fct().map(|fct| fct as f64),
                slowdown,
            })
            .collect();
        all.sort_by_key(|flow| flow.start);
        let mut from = 0;
        let mut found = Vec::new();
        for (up_to, name) in GROUPS {
            let own: Vec<&Measured> = all.iter().filter(|flow| (from..=up_to).contains(&flow.size)).collect();
            if !own.is_empty() {
                found.push(row(name, &own));
            }
            from = up_to.saturating_add(1);
        }
        found.push(row(ALL, &all.iter().collect::<Vec<_>>()));
        Completion(found)
    }
}

/// The row of flows in the order of their starts.
fn row(group: &str, flows: &[&Measured]) -> Map<String, Value> {
    let mut row = Map::new();
    let mut put = |name: String, value: Value| {
        row.insert(name, value);
    };
    put("group".into(), json!(group));
    put("flows".into(), json!(flows.len()));
    put("completed".into(), json!(flows.iter().filter(|flow| flow.fct.is_some()).count()));
    put("due".into(), json!(flows.iter().filter(|flow| flow.is_due).count()));
    // Flows of a burst meet one state of the network, however many they are.
    let started = flows.iter().filter(|flow| flow.start != Time::NEVER);
    let starts = started.map(|flow| flow.start).collect::<Vec<_>>();
    let instants = starts.windows(2).filter(|pair| pair[0] != pair[1]).count() + 1;
    let of_fct = flows.iter().filter_map(|flow| flow.fct).collect::<Vec<_>>();
    let of_slowdown = flows.iter().filter_map(|flow| flow.slowdown).collect::<Vec<_>>();
    for (name, unit, values) in [("fct", "_ps", of_fct), ("slowdown", "", of_slowdown)] {
        let shares = PERCENTILES.map(|(_, share)| share);
        let sample: &[f64] = if instants >= FEWEST { &values } else { &[] };
        let (of_mean, of_percentiles) = intervals(sample, &shares);
        let mut ordered = values.clone();
        ordered.sort_unstable_by(f64::total_cmp);
        let mean = (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64);
        let percentiles = PERCENTILES.iter().zip(of_percentiles);
        let percentiles =
            percentiles.map(|(&(name, share), interval)| (name, quantile(&ordered, share), interval));
        for (statistic, value, Interval { low, high }) in
            std::iter::once(("mean", mean, of_mean)).chain(percentiles)
        {
            put(format!("{name}_{statistic}{unit}"), json!(value));
            put(format!("{name}_{statistic}_low{unit}"), json!(low));
            put(format!("{name}_{statistic}_high{unit}"), json!(high));
        }
    }
    row
}

/// The percentile of ordered values, linear between two of them; none without a value.
fn quantile(ordered: &[f64], share: f64) -> Option<f64> {
    let place = share * (ordered.len().checked_sub(1)? as f64);
    let (below, above) = (libm::floor(place), libm::ceil(place));
    let (low, high) = (ordered[below as usize], ordered[above as usize]);
    Some(low + (high - low) * (place - below))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_linear_between_observations() {
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(quantile(&[7.0], 0.99), Some(7.0));
        assert_eq!(quantile(&[1.0, 3.0], 0.5), Some(2.0));
        assert_eq!(quantile(&[10.0, 20.0, 30.0, 40.0, 50.0], 0.9), Some(46.0));
    }

    /// Four flows: two short ones of which one is not complete, one of 1 MB, one of 20 MB that is due.
    #[test]
    fn groups_by_hand() {
        let flow = |size, fct: Option<f64>, is_due| Measured {
            size,
            start: Time::ZERO,
            is_due,
            fct,
            slowdown: fct.map(|fct| fct / 10.0),
        };
        let flows = [
            flow(1, Some(10.0), false),
            flow(100_000, None, false),
            flow(1_000_000, Some(30.0), false),
            flow(20_000_000, Some(50.0), true),
        ];
        let all = row(ALL, &flows.iter().collect::<Vec<_>>());
        let numbers = ["flows", "completed", "due", "fct_p50_ps", "fct_mean_ps", "slowdown_p95"];
        let expected = [json!(4), json!(3), json!(1), json!(30.0), json!(30.0), json!(4.8)];
        for (name, expected) in numbers.into_iter().zip(expected) {
            assert_eq!(all[name], expected, "{name}");
        }
        assert_eq!(all["fct_p50_low_ps"], Value::Null, "a burst has no interval");
    }
}
