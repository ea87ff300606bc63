//! How many bytes of payload the flows of a traffic entry carry.

pub mod cdf_file;

use crate::problem::{Problem, within};
use crate::random::Stream;
use crate::register::register;
use crate::units::Bytes;

register! {
    /// How many bytes of payload a flow carries.
    pub enum Sizes: Distribution {
        fixed::Fixed = "fixed",
        uniform::UniformSizes = "uniform",
        exponential::Exponential = "exponential",
        cdf::Cdf = "cdf",
        lognormal::Lognormal = "lognormal",
        normal::Normal = "normal",
        pareto::Pareto = "pareto",
        list::List = "list",
        endless::Endless = "endless",
    }
    and workloads {
        WebSearch = "web-search",
        DataMining = "data-mining",
        FacebookKeyValue = "facebook-key-value",
        FacebookHadoop = "facebook-hadoop",
        FacebookWeb = "facebook-web",
        FacebookCache = "facebook-cache",
        AlibabaStorage = "alibaba-storage",
        HomaW1 = "homa-w1",
        HomaW2 = "homa-w2",
        HomaW3 = "homa-w3",
        HomaW4 = "homa-w4",
        HomaW5 = "homa-w5",
        Fbw = "fbw",
        Bimodal = "bimodal",
    }
}

impl From<Bytes> for Sizes {
    fn from(size: Bytes) -> Sizes {
        fixed::Fixed(size).into()
    }
}

impl Sizes {
    /// All problems of sizes of packets, which have an end; paths are below what has the field `lengths`.
    pub fn problems_of_lengths(&self) -> Vec<Problem> {
        match self {
            Sizes::Endless(_) => vec![Problem::new("lengths.endless", "a packet has an end")],
            _ => within(format!("lengths.{}", self.name()), self.problems()).collect(),
        }
    }
}

/// A distribution of sizes.
pub trait Distribution {
    /// All problems of the parameters beyond those that the schema finds; paths are below the sizes.
    fn problems(&self) -> Vec<Problem> {
        Vec::new()
    }

    /// The mean in bytes, by formula, from which a load is computed: see [`drawn`].
    fn mean(&self) -> f64;

    /// The mean of the square, before draws are rounded: how unequal sizes are decides how long a network takes to become
    /// stationary.
    fn mean_square(&self) -> f64;

    /// Whether flows have no end: then the mean is infinite.
    fn endless(&self) -> bool {
        false
    }

    /// A size in bytes, at least 1.
    fn sample(&self, stream: &mut Stream) -> u64;

    /// Number of sizes that there are, one a flow; none if there is no end.
    fn most(&self) -> Option<u64> {
        None
    }

    /// The sizes of one flow after the other.
    fn draws(&self, mut stream: Stream) -> Box<dyn Iterator<Item = u64> + '_> {
        Box::new(std::iter::repeat_with(move || self.sample(&mut stream)))
    }
}

/// Largest size of a flow in bytes, 1000GB, whatever the tail of its distribution.
const SIZE_MAX: u64 = 1_000_000_000_000;

/// The nearest whole number of bytes, at least 1.
fn whole(bytes: f64) -> u64 {
    (bytes.round() as u64).max(1)
}

/// Share of the mean below which the effect of rounding is left out, and the mean is the formula's.
const MOVED_LEAST: f64 = 1e-3;
/// Sizes from which on rounding moves no mean: as many are rounded up as down.
const ROUNDED_MOST: u32 = 64;
/// Places in a byte at which the share of larger sizes is added up.
const PLACES: u32 = 64;

/// The mean of what is drawn, of a distribution with that mean and that share of sizes larger than a number of bytes.
///
/// Draws are rounded to whole bytes, at least 1, which matters where flows have few bytes: n bytes or more has a draw of
/// n - 1/2 or more, and every draw has 1. So the mean is 1 + S(1.5) + S(2.5) + ..., in place of the integral of S.
fn drawn(mean: f64, larger: impl Fn(f64) -> f64) -> f64 {
    // Rounding moves a mean by no more than the share of sizes at which it is looked at.
    if 1.0 - larger(f64::from(ROUNDED_MOST)) < MOVED_LEAST * mean {
        return mean;
    }
    let within = |byte: u32| {
        let places =
            (0..PLACES).map(|place| larger(f64::from(byte) + (f64::from(place) + 0.5) / f64::from(PLACES)));
        places.sum::<f64>() / f64::from(PLACES)
    };
    let rounded = |byte: u32| if byte == 0 { 1.0 } else { larger(f64::from(byte) + 0.5) };
    let moved = (0..ROUNDED_MOST).map(|byte| rounded(byte) - within(byte)).sum::<f64>();
    if moved.abs() < MOVED_LEAST * mean { mean } else { mean + moved }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    fn of(text: &str) -> Sizes {
        toml::from_str::<std::collections::BTreeMap<String, Sizes>>(&format!("sizes = {text}"))
            .unwrap_or_else(|error| panic!("{text}: {error}"))
            .remove("sizes")
            .expect("it is there")
    }

    /// By hand: 99 of 100 flows have 0 bytes, which become 1, and one has up to 100, of which a two hundredth becomes 1.
    #[test]
    fn a_size_of_no_bytes_counts_as_one() {
        let sizes = of("{ cdf = { points = [[0, 99], [100, 100]] } }");
        assert!((sizes.mean() - (0.99 + 0.01 * 50.0 + 0.01 * 0.5 / 100.0)).abs() < 1e-9, "{}", sizes.mean());
        assert_eq!(of("{ cdf = { points = [[0, 100]] } }").mean(), 1.0);
        // 1 + exp(-1.5 / 3) / (1 - exp(-1 / 3)): as many bytes as there are draws of 1.5, 2.5, ... or more.
        let exponential = 1.0 + libm::exp(-0.5) / (1.0 - libm::exp(-1.0 / 3.0));
        assert!((of("{ exponential = { mean = \"3B\" } }").mean() - exponential).abs() < 1e-3);
    }

    /// A million draws of each kind have the mean from which a load is computed, within five standard errors.
    #[test]
    fn the_mean_is_that_of_what_is_drawn() {
        for text in [
            "{ cdf = { points = [[0, 50], [10, 100]] } }",
            "{ cdf = { points = [[0, 0], [3, 60], [4, 100]] } }",
            "{ exponential = { mean = \"1B\" } }",
            "{ exponential = { mean = \"20B\", min = \"7B\" } }",
            "{ lognormal = { median = \"1B\", sigma = 0.5 } }",
            "{ lognormal = { median = \"3B\", sigma = 1.0 } }",
            "{ normal = { mean = \"2B\", deviation = \"3B\" } }",
            "{ pareto = { shape = 2.5, min = \"1B\" } }",
            "{ pareto = { shape = 1.1, min = \"1B\", max = \"90B\" } }",
            "{ uniform = { min = \"1B\", max = \"2B\" } }",
        ] {
            let sizes = of(text);
            let draws: Vec<f64> = sizes
                .draws(Stream::new(1, 0, Purpose::Sizes, 0))
                .take(1_000_000)
                .map(|size| size as f64)
                .collect();
            let count = draws.len() as f64;
            let mean = draws.iter().sum::<f64>() / count;
            let variance = draws.iter().map(|size| (size - mean).powi(2)).sum::<f64>() / count;
            let bound = 5.0 * (variance / count).sqrt() + MOVED_LEAST * mean;
            assert!((sizes.mean() - mean).abs() < bound, "{text}: {} and {mean}", sizes.mean());
        }
    }
}
