//! How many bytes of payload the flows of a traffic entry carry.

use crate::random::Stream;
use crate::register::register;

register! {
    /// How many bytes of payload a flow carries.
    pub enum Sizes: Distribution {
        fixed::Fixed = "fixed",
        uniform::UniformSizes = "uniform",
        exponential::Exponential = "exponential",
        cdf::Cdf = "cdf",
        web_search::WebSearch = "web-search",
        endless::Endless = "endless",
    }
}

/// What a distribution of sizes does.
pub trait Distribution {
    /// All that is wrong with the parameters beyond what the schema says: (path below the sizes, what is wrong).
    fn problems(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// The mean in bytes, by formula: what a load is computed with. Infinite for flows without an end.
    ///
    /// Of the distribution before its draws are rounded to whole bytes, at least 1; that moves it
    /// by less than a byte.
    fn mean(&self) -> f64;

    /// A size in bytes, at least 1.
    fn sample(&self, stream: &mut Stream) -> u64;
}

/// The nearest whole number of bytes, at least 1.
fn whole(bytes: f64) -> u64 {
    (bytes.round() as u64).max(1)
}
