//! How many bytes of payload the flows of a traffic entry carry.

pub mod cdf_file;

use crate::problem::Problem;
use crate::random::Stream;
use crate::register::register;

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

/// A distribution of sizes.
pub trait Distribution {
    /// All problems of the parameters beyond those that the schema finds; paths are below the sizes.
    fn problems(&self) -> Vec<Problem> {
        Vec::new()
    }

    /// The mean in bytes, by formula, from which a load is computed.
    ///
    /// Of the distribution before its draws are rounded to whole bytes, at least 1; that moves it
    /// by less than a byte.
    fn mean(&self) -> f64;

    /// The mean of the square, likewise: how unequal sizes are decides how long a network takes to become stationary.
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
