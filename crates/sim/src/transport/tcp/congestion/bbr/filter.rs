//! The largest of the samples in a window of rounds.

use std::collections::VecDeque;

/// A maximum over the latest rounds, exact: of each round it keeps the largest sample, unless a later one is larger.
#[derive(Clone, Debug, Default)]
pub struct WindowedMax {
    /// Round and value, with falling values.
    kept: VecDeque<(u64, f64)>,
}

impl WindowedMax {
    /// A sample of that round, which is none before the last one's. Samples more than `window` rounds before it are dropped.
    pub fn add(&mut self, value: f64, round: u64, window: u64) {
        while self.kept.back().is_some_and(|kept| kept.1 <= value) {
            self.kept.pop_back();
        }
        if self.kept.back().is_none_or(|kept| kept.0 < round) {
            self.kept.push_back((round, value));
        }
        while self.kept.front().is_some_and(|kept| round - kept.0 > window) {
            self.kept.pop_front();
        }
    }

    /// The largest sample; 0 without any.
    pub fn max(&self) -> f64 {
        self.kept.front().map_or(0.0, |kept| kept.1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// By hand: 5 of round 1 counts up to round 4 in a window of three rounds, then the 4 of round 2 for one more, then 3.
    #[test]
    fn a_sample_leaves_after_the_window() {
        let mut filter = WindowedMax::default();
        let found = [(5.0, 1), (4.0, 2), (2.0, 3), (3.0, 4), (1.0, 5), (1.0, 6)].map(|(value, round)| {
            filter.add(value, round, 3);
            filter.max()
        });
        assert_eq!(found, [5.0, 5.0, 5.0, 5.0, 4.0, 3.0]);
    }

    proptest! {
        /// Against all samples of the window; it keeps at most one of a round.
        #[test]
        fn it_is_the_maximum_of_the_window(samples in prop::collection::vec((0u8..50, 0u64..3), 1..80)) {
            let (mut filter, mut all, mut round) = (WindowedMax::default(), Vec::new(), 0);
            for (value, step) in samples {
                round += step;
                all.push((round, f64::from(value)));
                filter.add(f64::from(value), round, 5);
                let within = all.iter().filter(|(at, _)| round - at <= 5);
                prop_assert_eq!(filter.max(), within.map(|(_, value)| *value).fold(0.0, f64::max));
                prop_assert!(filter.kept.len() <= 6);
            }
        }
    }
}
