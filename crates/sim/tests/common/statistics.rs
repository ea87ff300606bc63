//! Whether a sample fits the distribution that it should be drawn from.

use flowyard_sim::random::{Purpose, Stream};
use flowyard_sim::traffic::sizes::Sizes;

/// Kolmogorov and Smirnov: the probability that a sample from `cdf` strays as far as this one (asymptotic).
pub fn ks_p(mut sample: Vec<f64>, cdf: impl Fn(f64) -> f64) -> f64 {
    sample.sort_by(f64::total_cmp);
    let n = sample.len() as f64;
    let stray = |(index, &x): (usize, &f64)| {
        let expected = cdf(x);
        (expected - index as f64 / n).max((index + 1) as f64 / n - expected)
    };
    let d = sample.iter().enumerate().map(stray).fold(0.0, f64::max);
    let lambda = (n.sqrt() + 0.12 + 0.11 / n.sqrt()) * d;
    let term = |j: i32| (-1f64).powi(j - 1) * (-2.0 * f64::from(j * j) * lambda * lambda).exp();
    (2.0 * (1..=100).map(term).sum::<f64>()).clamp(0.0, 1.0)
}

/// Whether counts that should be equal are, by chi-square at 4 standard deviations of its normal limit.
pub fn look_equal(counts: impl ExactSizeIterator<Item = u64> + Clone) -> bool {
    let cells = counts.len() as f64;
    let mean = counts.clone().sum::<u64>() as f64 / cells;
    let chi_square: f64 = counts.map(|count| (count as f64 - mean).powi(2) / mean).sum();
    chi_square < (cells - 1.0) + 4.0 * (2.0 * (cells - 1.0)).sqrt()
}

/// Draws of a distribution of sizes, always the same.
pub fn draws(sizes: &Sizes, number: usize) -> Vec<f64> {
    let mut stream = Stream::new(1, 0, Purpose::Sizes, 0);
    (0..number).map(|_| sizes.sample(&mut stream) as f64).collect()
}

/// By how many standard errors the mean of a sample is off.
pub fn errors_off(sample: &[f64], mean: f64) -> f64 {
    let n = sample.len() as f64;
    let own = sample.iter().sum::<f64>() / n;
    let variance = sample.iter().map(|x| (x - own).powi(2)).sum::<f64>() / n;
    (own - mean).abs() / (variance / n).sqrt()
}
