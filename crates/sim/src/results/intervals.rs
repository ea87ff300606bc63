//! Confidence intervals of a mean and of percentiles within one run, whose flows are correlated.
//!
//! Flows that share a queue have similar delays, so that n flows carry less information than n independent ones. Both
//! intervals measure how much less by 20 batches of consecutive flows (B. Schmeiser, "Batch Size Effects in the Analysis
//! of Simulation Output", Operations Research 30(3), 1982: more than 30 hardly narrow an interval, and are shorter):
//!
//! - of a mean: Student's t of the batch means, widened where consecutive means are correlated and shifted by their
//!   skewness. It is the interval of N-Skart for a fixed number of batches (A. Tafazzoli, N. M. Steiger, J. R. Wilson,
//!   "N-Skart: A Nonsequential Skewness- and Autocorrelation-Adjusted Batch-Means Procedure for Simulation Analysis",
//!   IEEE Transactions on Automatic Control 56(2), 2011).
//! - of a percentile: order statistics. Their ranks are those of independent flows, by the binomial distribution, moved
//!   apart as far as the variance of the share of flows up to the percentile, by the same batches, exceeds the binomial
//!   one (R. S. Woodruff, "Confidence Intervals for Medians and Other Position Measures", Journal of the American
//!   Statistical Association 47(260), 1952).
//!
//! Both assume a stationary window that is long against the correlation of its flows. docs/metrics.md states the formulas
//! and the coverage at one port, also of windows that are too short: such a window looks less correlated than it is, and
//! its intervals are too narrow. Only where consecutive batches are strongly correlated is it recognised as too short, or
//! as not stationary: then there is no interval.

const BATCHES: usize = 20;
/// Fewer observations give no interval: a batch has at least two.
pub const FEWEST: usize = 2 * BATCHES;
/// A larger correlation of consecutive batches tells of a trend, or of batches shorter than the correlation of flows. That
/// of independent batches is larger in one of a thousand windows.
const MOST_CORRELATED: f64 = 0.6;
/// A percentile with fewer independent observations above it takes the correlation of the next smaller one, if larger: a
/// few clusters do not show how large clusters are.
const ENOUGH_ABOVE: f64 = 20.0;
/// Two-sided 95 % quantiles: of the normal distribution, and of Student's t with 19 degrees of freedom.
const NORMAL: f64 = 1.959_963_984_540_054;
const STUDENT: f64 = 2.093_024_054_408_263;
/// The probability beyond one end.
const TAIL: f64 = 0.025;

/// The ends of a 95 % confidence interval, in the unit of the observations. Without `high` there is no upper bound: too few
/// observations lie above the percentile. Without `low` there is no lower one: of a mean that few huge observations make.
/// Without both there is no interval: too few observations, or too short a window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Interval {
    pub low: Option<f64>,
    pub high: Option<f64>,
}

/// The intervals of the mean and of the percentiles of these shares, ascending, of observations in order of time.
pub fn intervals(values: &[f64], shares: &[f64]) -> (Interval, Vec<Interval>) {
    let n = values.len();
    let none = || (Interval::default(), vec![Interval::default(); shares.len()]);
    if n < FEWEST {
        return none();
    }
    let mut ordered = values.to_vec();
    ordered.sort_unstable_by(f64::total_cmp);
    let batches: Vec<&[f64]> =
        (0..BATCHES).map(|i| &values[i * n / BATCHES..(i + 1) * n / BATCHES]).collect();
    let means: Vec<f64> = batches.iter().map(|batch| mean(batch)).collect();
    let up_to = |share: f64| ordered[libm::ceil(n as f64 * share) as usize - 1];
    // A few large observations hide a trend in means, not in shares.
    let halves = shares_up_to(up_to(0.5), &batches);
    if lag_one(&means).max(lag_one(&halves)) > MOST_CORRELATED {
        return none();
    }
    let mut factor: f64 = 1.0;
    let percentiles = shares.iter().map(|&share| {
        let own = shares_up_to(up_to(share), &batches);
        // Of independent observations the share varies by share (1 - share) / n.
        let alone = (variance(&own) * n as f64 / (share * (1.0 - share))).max(1.0);
        let enough = n as f64 * (1.0 - share) / alone >= ENOUGH_ABOVE;
        factor = if enough { alone } else { factor.max(alone) };
        of_percentile(&ordered, share, factor)
    });
    let percentiles = percentiles.collect();
    (of_mean(mean(values), &means, ordered[0]), percentiles)
}

/// The interval of a mean from the means of its batches. An end below the smallest observation is none: of a few huge
/// observations the batches say how large the mean may be, and not how small.
fn of_mean(mean: f64, batches: &[f64], smallest: f64) -> Interval {
    let spread = libm::sqrt(variance(batches));
    let beta = skewness(batches) / (6.0 * libm::sqrt(batches.len() as f64));
    let low = mean - spread * skewed(STUDENT, beta);
    let rounding = 1e-12 * smallest.abs();
    Interval {
        low: (low >= smallest - rounding).then_some(low),
        high: Some(mean - spread * skewed(-STUDENT, beta)),
    }
}

/// The quantile of Student's t of a mean of skewed observations; `t` is that without skewness, `beta` the skewness of the
/// mean over 6.
///
/// R. Willink, "A Confidence Interval and Test for the Mean of an Asymmetric Distribution", Communications in Statistics:
/// Theory and Methods 34(4), 2005.
fn skewed(t: f64, beta: f64) -> f64 {
    if beta.abs() < 1e-9 { t } else { (libm::cbrt(1.0 + 6.0 * beta * (t - beta)) - 1.0) / (2.0 * beta) }
}

/// The interval of a percentile from observations, the smallest first; `factor` is the variance of the share of
/// observations up to it over the variance of independent ones, 1 if these are.
fn of_percentile(ordered: &[f64], share: f64, factor: f64) -> Interval {
    let n = ordered.len() as f64;
    let independent = libm::sqrt(n * share * (1.0 - share));
    // The binomial distribution, whose variance is known, needs no t.
    let away = independent * if factor > 1.0 { NORMAL.max(STUDENT * libm::sqrt(factor)) } else { NORMAL };
    let (low, high) = (libm::floor(n * share - away), libm::ceil(n * share + away));
    // The largest is a bound if it is above the percentile with the probability that an end needs.
    let is_bounded = libm::pow(share, n / factor) <= TAIL;
    Interval {
        low: (low >= 1.0).then(|| ordered[low as usize - 1]),
        high: is_bounded.then(|| ordered[high.min(n) as usize - 1]),
    }
}

/// The share of each batch's observations that are at most that value.
fn shares_up_to(value: f64, batches: &[&[f64]]) -> Vec<f64> {
    let share = |batch: &&[f64]| {
        batch.iter().filter(|&&observed| observed <= value).count() as f64 / batch.len() as f64
    };
    batches.iter().map(share).collect()
}

/// The variance of the mean of batch means: that of independent batches, times (1 + r) / (1 - r) if consecutive ones have a
/// correlation r above 0, as the batch means of a first-order autoregression would.
fn variance(batches: &[f64]) -> f64 {
    let r = lag_one(batches).max(0.0);
    moment(batches, 2) / (batches.len() as f64 - 1.0) * (1.0 + r) / (1.0 - r)
}

/// The correlation of consecutive batch means; 0 if all are equal.
fn lag_one(batches: &[f64]) -> f64 {
    let mean = mean(batches);
    let apart = |value: f64| value - mean;
    let total: f64 = batches.iter().map(|&value| apart(value) * apart(value)).sum();
    let both: f64 = batches.windows(2).map(|pair| apart(pair[0]) * apart(pair[1])).sum();
    if vary(total / batches.len() as f64, mean) { both / total } else { 0.0 }
}

/// Whether a variance is more than the rounding of means of equal observations.
fn vary(variance: f64, mean: f64) -> bool {
    variance > (1e-12 * mean).powi(2)
}

/// The skewness of batch means, without its bias for normal ones; 0 if all are equal.
fn skewness(batches: &[f64]) -> f64 {
    let (k, second) = (batches.len() as f64, moment(batches, 2));
    match vary(second, mean(batches)) {
        true => libm::sqrt(k * (k - 1.0)) / (k - 2.0) * moment(batches, 3) / libm::pow(second, 1.5),
        false => 0.0,
    }
}

/// The central moment of that power.
fn moment(batches: &[f64], power: i32) -> f64 {
    let mean = mean(batches);
    batches.iter().map(|value| (value - mean).powi(power)).sum::<f64>() / batches.len() as f64
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 40 observations, 1 to 40 dealt out so that each batch has a pair whose sum is 41: all batch means are 20.5, and the
    /// interval of the mean has no width. The median's ranks are 20 -+ 1.96 sqrt(10): 13.8 and 26.2.
    #[test]
    fn intervals_by_hand() {
        let values: Vec<f64> = (1..=20).flat_map(|i| [f64::from(i), f64::from(41 - i)]).collect();
        let (mean, percentiles) = intervals(&values, &[0.5, 0.99]);
        assert_eq!(mean, Interval { low: Some(20.5), high: Some(20.5) });
        assert_eq!(percentiles[0], Interval { low: Some(13.0), high: Some(27.0) });
        // Of 40 observations, the largest is below the 99th percentile with probability 0.67: no upper bound.
        assert_eq!(percentiles[1].high, None);
        assert_eq!(intervals(&values[..39], &[0.5]), (Interval::default(), vec![Interval::default()]));
    }

    /// Of 400 observations 399 are 1 and one is 10,000: the mean is 26, and no mean of such observations is below 1.
    #[test]
    fn a_mean_of_few_huge_observations_has_no_lower_end() {
        let mut values = vec![1.0; 400];
        values[137] = 10_000.0;
        let (mean, _) = intervals(&values, &[]);
        assert_eq!(mean.low, None);
        assert!(mean.high.unwrap() > 26.0, "{mean:?}");
    }

    /// Equal observations in batches of 2 and 3: rounding is no trend.
    #[test]
    fn equal_observations_have_an_interval_without_width() {
        let (mean, percentiles) = intervals(&[0.1; 53], &[0.5]);
        assert!((mean.high.unwrap() - mean.low.unwrap()).abs() < 1e-15, "{mean:?}");
        assert_eq!(percentiles[0], Interval { low: Some(0.1), high: Some(0.1) });
    }

    /// A trend: consecutive batches are correlated, and there is no interval.
    #[test]
    fn a_trend_has_no_interval() {
        let values: Vec<f64> = (0..400).map(f64::from).collect();
        assert_eq!(intervals(&values, &[0.5]), (Interval::default(), vec![Interval::default()]));
    }

    /// Batch means 0 and 1 in turn: variance 1/4 over 19, correlation below 0, no skewness: 0.5 -+ 2.093 / (2 sqrt(19)).
    #[test]
    fn the_interval_of_a_mean_is_that_of_its_batches() {
        let values: Vec<f64> = (0..40).map(|i| f64::from(i / 2 % 2)).collect();
        let (mean, _) = intervals(&values, &[]);
        let half = STUDENT / (2.0 * libm::sqrt(19.0));
        assert!((mean.low.unwrap() - (0.5 - half)).abs() < 1e-12, "{mean:?}");
        assert!((mean.high.unwrap() - (0.5 + half)).abs() < 1e-12, "{mean:?}");
    }

    /// The middle of 41 observations is the 21st: of 20 ones, 20 twos behind them and one huge one between, it is a two, and
    /// all but one are at most that. At most 1, the 20th, are the first half alone, which would be a trend. The median's ranks
    /// are 20.5 -+ 1.96 sqrt(10.25): 14.2 and 26.8.
    #[test]
    fn the_median_of_an_odd_number_is_the_middle_one() {
        let values = [&[1.0; 20][..], &[1e9], &[2.0; 20]].concat();
        let (_, percentiles) = intervals(&values, &[0.5]);
        assert_eq!(percentiles, [Interval { low: Some(1.0), high: Some(2.0) }]);
    }

    /// Willink, equation 9: t is y + 2 beta y^2 + 4/3 beta^2 y^3 + beta where y is the quantile of the skewed mean.
    #[test]
    fn the_quantile_of_a_skewed_mean_solves_its_cubic() {
        for beta in [-0.05, 0.01, 0.05] {
            for y in [-3.0, -1.5, 0.0, 2.0, 4.0] {
                let t = y + 2.0 * beta * y * y + 4.0 / 3.0 * beta * beta * y * y * y + beta;
                let found = skewed(t, beta);
                assert!((found - y).abs() < 1e-9, "{found} is not {y} at {beta}");
            }
        }
    }
}
