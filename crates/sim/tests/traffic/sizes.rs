//! Distributions of sizes by formula: their means and quantiles against the textbook, and refused parameters.

use crate::common::statistics::{draws, errors_off, ks_p};
use crate::entries::{self, Demand, problems};
use flowyard_sim::problem::Problem;
use flowyard_sim::topology::Generator;
use flowyard_sim::topology::single_switch::SingleSwitch;
use flowyard_sim::traffic::arrivals::at_once::AtOnce;
use flowyard_sim::traffic::arrivals::poisson::Poisson;
use flowyard_sim::traffic::matrix::permutation::Permutation;
use flowyard_sim::traffic::sizes::cdf::Cdf;
use flowyard_sim::traffic::sizes::exponential::Exponential;
use flowyard_sim::traffic::sizes::fixed::Fixed;
use flowyard_sim::traffic::sizes::list::List;
use flowyard_sim::traffic::sizes::lognormal::Lognormal;
use flowyard_sim::traffic::sizes::normal::Normal;
use flowyard_sim::traffic::sizes::pareto::Pareto;
use flowyard_sim::traffic::sizes::uniform::UniformSizes;
use flowyard_sim::traffic::sizes::workloads::WebSearch;
use flowyard_sim::traffic::sizes::{Distribution, Sizes};
use flowyard_sim::units::{Bytes, Time};

/// The mean by the trapezoid rule over a fine grid of sizes: the integral of the share that is larger.
fn mean_of(larger: impl Fn(f64) -> f64, most: f64) -> f64 {
    let at = |step: u32| (most.ln() * f64::from(step) / 200_000.0).exp();
    let slice = |step| (at(step + 1) - at(step)) * (larger(at(step)) + larger(at(step + 1))) / 2.0;
    1.0 + (0..200_000).map(slice).sum::<f64>()
}

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a / b - 1.0).abs() < tolerance
}

/// The share below x of a log-normal distribution, by the series of the error function for small arguments and its
/// continued fraction for others.
fn lognormal_cdf(x: f64, median: f64, sigma: f64) -> f64 {
    let z = (x / median).ln() / sigma;
    let half = |z: f64| {
        if z < 3.0 {
            let mut term = z;
            let mut sum = z;
            for k in 1..200 {
                term *= z * z / f64::from(2 * k + 1);
                sum += term;
            }
            return sum * (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
        }
        let fraction = (1..200).rev().fold(z, |below, k| z + f64::from(k) / below);
        0.5 - (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt() / fraction
    };
    0.5 + half(z.abs()).copysign(z)
}

#[test]
fn lognormal_sizes_have_their_mean_and_quantiles() {
    let (median, sigma) = (50_000.0, 1.2);
    let free = Lognormal { median: Bytes(50_000), sigma, max: None };
    let capped = Lognormal { max: Some(Bytes(200_000)), ..free.clone() };
    assert!(close(free.mean(), median * (sigma * sigma / 2.0f64).exp(), 1e-9), "{}", free.mean());
    let by_integral = mean_of(|x| 1.0 - lognormal_cdf(x, median, sigma), 200_000.0);
    assert!(close(capped.mean(), by_integral, 1e-6), "{} {by_integral}", capped.mean());

    let sample = draws(&free.clone().into(), 200_000);
    assert!(errors_off(&sample, free.mean()) < 4.0);
    let p = ks_p(sample, |x| lognormal_cdf(x, median, sigma));
    assert!(p > 0.01, "p = {p}");

    let sample = draws(&capped.clone().into(), 200_000);
    assert!(errors_off(&sample, capped.mean()) < 4.0);
    assert_eq!(sample.iter().copied().fold(0.0, f64::max), 200_000.0);
    // What is lowered to the cap is all that lies above.
    let at_cap = sample.iter().filter(|&&size| size == 200_000.0).count() as f64 / 2e5;
    assert!((at_cap - (1.0 - lognormal_cdf(2e5, median, sigma))).abs() < 0.003, "{at_cap}");
}

/// 68.27, 95.45 and 99.73 % lie within one, two and three standard deviations (PEQ-F1.10.a); a floor lifts the mean.
#[test]
fn normal_sizes_have_their_mean_and_quantiles() {
    let free = Normal { mean: Bytes(100_000), deviation: Bytes(15_000), min: Bytes(1) };
    assert!(close(free.mean(), 100_000.0, 1e-9), "{}", free.mean());
    let sample = draws(&free.into(), 200_000);
    assert!(errors_off(&sample, 100_000.0) < 4.0);
    for (deviations, share) in [(1.0, 0.6827), (2.0, 0.9545), (3.0, 0.9973)] {
        let inside = |size: &&f64| (**size - 100_000.0).abs() <= deviations * 15_000.0;
        let found = sample.iter().filter(inside).count() as f64 / 2e5;
        assert!((found - share).abs() < 0.005, "{found} within {deviations}");
    }
    let raised = Normal { mean: Bytes(100_000), deviation: Bytes(80_000), min: Bytes(50_000) };
    // A normal variable is below x with the probability that its exponential is below exp(x).
    let larger =
        |x: f64| if x < 5e4 { 1.0 } else { 1.0 - lognormal_cdf((x / 8e4).exp(), (1.25f64).exp(), 1.0) };
    let by_integral = mean_of(larger, 1e6);
    assert!(close(raised.mean(), by_integral, 1e-4), "{} {by_integral}", raised.mean());
    let sample = draws(&raised.clone().into(), 200_000);
    assert!(errors_off(&sample, raised.mean()) < 4.0);
    assert_eq!(sample.iter().copied().fold(f64::MAX, f64::min), 50_000.0);
}

#[test]
fn pareto_sizes_have_their_mean_and_quantiles() {
    let free = Pareto { shape: 2.5, min: Bytes(3_000), max: None };
    assert!(close(free.mean(), 2.5 * 3_000.0 / 1.5, 1e-9), "{}", free.mean());
    let sample = draws(&free.clone().into(), 200_000);
    assert!(errors_off(&sample, free.mean()) < 4.0);
    let p = ks_p(sample, |x| 1.0 - (3_000.0 / x).powf(2.5));
    assert!(p > 0.01, "p = {p}");

    let (low, high) = (1_000.0f64, 50_000_000.0f64);
    for shape in [0.2, 0.999_999, 1.0, 1.05, 3.0] {
        let bounded = Pareto { shape, min: Bytes(1_000), max: Some(Bytes(50_000_000)) };
        let all = 1.0 - (low / high).powf(shape);
        let cdf = |x: f64| (1.0 - (low / x.max(low)).powf(shape)) / all;
        let by_integral = mean_of(|x| 1.0 - cdf(x), high);
        assert!(close(bounded.mean(), by_integral, 1e-5), "{shape} {} {by_integral}", bounded.mean());
        let sample = draws(&bounded.clone().into(), 200_000);
        assert!(errors_off(&sample, bounded.mean()) < 4.0, "{shape}");
        assert!(sample.iter().all(|&size| (low..=high).contains(&size)));
        let p = ks_p(sample, cdf);
        assert!(p > 0.01, "{shape} p = {p}");
    }
    // The textbook's mean of the bounded distribution with shape 1.
    let one = Pareto { shape: 1.0, min: Bytes(1_000), max: Some(Bytes(50_000_000)) };
    let mean = high * low / (high - low) * (high / low).ln();
    assert!(close(one.mean(), mean, 1e-12));
}

/// So heavy a tail that the largest size that there is cuts off a third of the mean.
#[test]
fn the_largest_size_counts_in_the_mean() {
    let heavy = Pareto { shape: 1.05, min: Bytes(1_000), max: None };
    let by_integral = mean_of(|x| (1_000.0 / x.max(1_000.0)).powf(1.05), 1e12);
    assert!(close(heavy.mean(), by_integral, 1e-5), "{} {by_integral}", heavy.mean());
    assert!(heavy.mean() < 0.7 * 1.05 * 1_000.0 / 0.05);
    let wide = Lognormal { median: Bytes(10_000_000_000), sigma: 10.0, max: None };
    let sample = draws(&wide.clone().into(), 100_000);
    assert_eq!(sample.iter().copied().fold(0.0, f64::max), 1e12);
    assert!(errors_off(&sample, wide.mean()) < 4.0);
}

/// Means of squares: by hand, and within four standard errors of what is drawn, which only those are held to whose fourth
/// moment is small enough.
#[test]
fn mean_squares() {
    let by_hand: [(Sizes, f64); 4] = [
        (Fixed(Bytes(1_500)).into(), 2_250_000.0),
        // (1 + 4 + 9) / 3, and (2 * 9 + 16) / 3.
        (UniformSizes { min: Bytes(1), max: Bytes(3) }.into(), 14.0 / 3.0),
        (List(vec![3, 3, 4]).into(), 34.0 / 3.0),
        // Half of the flows of 10 B, half between 10 and 40 B: (100 + (100 + 400 + 1600) / 3) / 2.
        (Cdf::of(vec![(10, 50.0), (40, 100.0)]).into(), 400.0),
    ];
    for (sizes, square) in by_hand {
        assert!(close(sizes.mean_square(), square, 1e-12), "{} {square}", sizes.mean_square());
    }
    let drawn: [Sizes; 8] = [
        Exponential { mean: Bytes(46_000), min: Bytes(0) }.into(),
        Exponential { mean: Bytes(46_000), min: Bytes(60_000) }.into(),
        Normal { mean: Bytes(30_000), deviation: Bytes(20_000), min: Bytes(25_000) }.into(),
        Lognormal { median: Bytes(10_000), sigma: 1.0, max: None }.into(),
        Lognormal { median: Bytes(10_000), sigma: 2.0, max: Some(Bytes(100_000)) }.into(),
        Pareto { shape: 1.2, min: Bytes(1_000), max: Some(Bytes(1_000_000)) }.into(),
        Pareto { shape: 2.0, min: Bytes(1_000), max: Some(Bytes(1_000_000)) }.into(),
        WebSearch {}.into(),
    ];
    for sizes in drawn {
        let squares: Vec<f64> = draws(&sizes, 400_000).into_iter().map(|size| size * size).collect();
        assert!(errors_off(&squares, sizes.mean_square()) < 4.0, "{sizes:?}");
    }
    // Without a largest size, the cut at 1000GB: 1000^2 (1 + 2 (r^0.5 - 1) / 0.5) for shape 1.5 and r = 10^9.
    let heavy = Pareto { shape: 1.5, min: Bytes(1_000), max: None };
    let square = 1e6 * (1.0 + 4.0 * (1e9f64.sqrt() - 1.0));
    assert!(close(heavy.mean_square(), square, 1e-9), "{} {square}", heavy.mean_square());
}

fn entry(sizes: Sizes, flows: Option<u64>) -> Demand {
    let at_once = AtOnce { jitter: Some(Time::ZERO), ..AtOnce::default() };
    Demand { sizes, flows, ..entries::entry("flows", at_once, Permutation {}) }
}

fn said(entry: Demand) -> Vec<String> {
    let fabric = SingleSwitch { hosts: 4, ..SingleSwitch::default() }.build();
    let problem = |(_, problem): (usize, Problem)| problem.to_string();
    problems(&[entry], &fabric).into_iter().map(problem).collect()
}

#[test]
fn lists_go_in_their_order() {
    let fabric = SingleSwitch { hosts: 4, ..SingleSwitch::default() }.build();
    let list = List(vec![40, 30, 30, 1_000_000_000_000, 5]);
    assert_eq!(list.mean(), 1_000_000_000_105.0 / 5.0);
    let traffic = entries::build(&[entry(list.into(), None)], &fabric, 1, 0);
    let sizes: Vec<u64> = traffic.flows.iter().map(|flow| flow.size).collect();
    assert_eq!(sizes, [40, 30, 30, 1_000_000_000_000]);
    // Without an order to go by, as packet lengths, each is equally likely: twice 30.
    let sample = draws(&List(vec![40, 30, 30]).into(), 90_000);
    let share = sample.iter().filter(|&&size| size == 30.0).count() as f64 / 9e4;
    assert!((share - 2.0 / 3.0).abs() < 4.0 * (2.0 / 9.0 / 9e4f64).sqrt());
}

#[test]
fn what_makes_no_sense_is_refused() {
    let lognormal = |sigma, max| Lognormal { median: Bytes(1_000), sigma, max }.into();
    let pareto = |shape, max| Pareto { shape, min: Bytes(1_000), max }.into();
    let poisson = Poisson { load: Some(0.5), until: Some(Time::from_us(5)), ..Poisson::default() };
    let open = Demand { arrivals: poisson.into(), ..entry(List(vec![1, 2]).into(), None) };
    let cases = [
        (entry(lognormal(0.0, None), None), "sizes.lognormal.sigma: 0 is not a number above 0"),
        (entry(lognormal(f64::NAN, None), None), "sizes.lognormal.sigma: NaN is not a number above 0"),
        (
            entry(lognormal(1.0, Some(Bytes(999))), None),
            "sizes.lognormal.max: 999B is below the median, which is 1KB",
        ),
        (
            entry(pareto(1.0, None), None),
            "sizes.pareto.shape: 1 makes the mean infinite; use more than 1, or give max",
        ),
        (entry(pareto(-1.0, None), None), "sizes.pareto.shape: -1 is not a number above 0"),
        (
            entry(pareto(1.0, Some(Bytes(1_000))), None),
            "sizes.pareto.min: 1KB is not below max, which is 1KB",
        ),
        (entry(List(vec![]).into(), Some(1)), "sizes.list: is empty; give a size in bytes for each flow"),
        (
            entry(List(vec![1, 0, 1, 1]).into(), None),
            "sizes.list.1: 0 is not a size from 1 to 1000000000000 bytes",
        ),
        (entry(List(vec![1, 1, 1]).into(), None), "flows: 4 is more than sizes.list has sizes, 3"),
        (entry(List(vec![1; 9]).into(), Some(10)), "flows: 10 is more than sizes.list has sizes, 9"),
        (open, "flows: is missing; sizes.list has 2 sizes: say flows = 2 or less"),
    ];
    for (entry, expected) in cases {
        let said = said(entry);
        assert_eq!(said.first().map(String::as_str), Some(expected), "{said:?}");
    }
    assert_eq!(said(entry(pareto(0.5, Some(Bytes(1_001))), None)), [""; 0]);
    assert_eq!(said(entry(List(vec![1; 9]).into(), None)), [""; 0]);
}
