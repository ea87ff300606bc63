//! Utilities, weights and virtual lengths: the arithmetic of NUMFabric's hosts. Rates are in Mb/s, as in the authors' code.

/// Bits of a second in a megabit per second.
pub const MEGA: f64 = 1e6;
/// No weight is below this (ours).
const WEIGHT_LEAST: f64 = 1.0;
/// No weight is above this multiple of the link of the host (authors' code).
const WEIGHT_MOST: f64 = 1.5;

/// The alpha-fair utility of a flow that counts as so many: its derivative at a rate x is (x / count)^-alpha.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Utility {
    /// Zero would be throughput, 1 is proportional fairness, and much above it is max-min fairness.
    pub alpha: f64,
    /// Flows that the flow counts as.
    pub count: f64,
}

impl Utility {
    /// The worth of a further Mb/s at that rate.
    pub fn derivative(&self, rate: f64) -> f64 {
        let each = rate / self.count;
        if self.alpha == 1.0 { 1.0 / each } else { libm::pow(each, -self.alpha) }
    }

    /// The rate at which a further Mb/s is worth that price: the inverse of the derivative. Without a price, any.
    pub fn rate_at(&self, price: f64) -> f64 {
        let each = if self.alpha == 1.0 { 1.0 / price } else { libm::pow(price, -1.0 / self.alpha) };
        self.count * each
    }

    /// The weight of the flow at that price of its path, from a host whose link has that rate.
    pub fn weight(&self, price: f64, line: f64) -> f64 {
        self.rate_at(price.max(0.0)).clamp(WEIGHT_LEAST, (WEIGHT_MOST * line).max(WEIGHT_LEAST))
    }
}

/// The virtual length of a packet of so many bytes: the time, in ps, that it would take at a rate of its flow's weight.
pub fn virtual_length(bytes: u32, weight: f64) -> u64 {
    (f64::from(bytes) * 8.0 * MEGA / weight) as u64
}

/// The rate of a flow by the packets that its receiver gets: a mean over the past, which fades with a time constant.
#[derive(Clone, Copy, Debug, Default)]
pub struct Estimate {
    rate: f64,
}

impl Estimate {
    /// In Mb/s; none before the second packet.
    pub fn rate(&self) -> Option<f64> {
        (self.rate > 0.0).then_some(self.rate)
    }

    /// A packet of so many bytes came that many ps behind the one before; the time constant is in ps, too.
    pub fn sample(&mut self, bytes: u64, gap: u64, constant: u64) {
        let sample = bytes as f64 * 8.0 * MEGA / gap as f64;
        let kept = if self.rate > 0.0 { libm::exp(-(gap as f64) / constant as f64) } else { 0.0 };
        self.rate = kept * self.rate + (1.0 - kept) * sample;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(got: f64, expected: f64) {
        assert!((got / expected - 1.0).abs() < 1e-12, "{got}, not {expected}");
    }

    /// By hand: at 2000 Mb/s the derivative is 1/2000 for alpha = 1, 1/4,000,000 for 2; of a flow that counts as two it is that
    /// of one at half of the rate. The rate at that price is the one that it was for.
    #[test]
    fn the_inverse_is_one() {
        for (alpha, count, expected) in [
            (1.0, 1.0, 1.0 / 2000.0),
            (2.0, 1.0, 2.5e-7),
            (2.0, 2.0, 1e-6),
            (0.5, 1.0, 0.022_360_679_774_997_9),
        ] {
            let utility = Utility { alpha, count };
            close(utility.derivative(2000.0), expected);
            close(utility.rate_at(expected), 2000.0);
        }
    }

    /// Without a price a flow weighs 1.5 times its host's link, and no price takes it below 1 Mb/s.
    #[test]
    fn weights_have_bounds() {
        let utility = Utility { alpha: 1.0, count: 1.0 };
        assert_eq!([0.0, 0.0005, 2.0].map(|price| utility.weight(price, 10_000.0)), [15_000.0, 2000.0, 1.0]);
    }

    /// 1500 B at 3000 Mb/s take 4 us.
    #[test]
    fn a_virtual_length_is_a_time() {
        assert_eq!(virtual_length(1500, 3000.0), 4_000_000);
    }

    /// By hand: 1500 B behind 12 us are 1000 Mb/s, the first estimate. Then 1500 B behind 6 us with a constant of 6 us:
    /// 1000 / e + 2000 (1 - 1 / e) = 1632.12.
    #[test]
    fn the_estimate_fades() {
        let mut estimate = Estimate::default();
        assert_eq!(estimate.rate(), None);
        estimate.sample(1500, 12_000_000, 6_000_000);
        assert_eq!(estimate.rate(), Some(1000.0));
        estimate.sample(1500, 6_000_000, 6_000_000);
        let rate = estimate.rate().expect("two samples");
        assert!((rate - 1632.12).abs() < 0.01, "{rate}");
    }
}
