//! Round-trip estimate and retransmission timeout (RFC 6298).

use crate::units::Time;

/// Smoothed round-trip time and its variation. Whole picoseconds: SRTT and RTTVAR round down.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rtt {
    smoothed: u64,
    variation: u64,
    sampled: bool,
}

impl Rtt {
    /// Takes a sample: the first sets SRTT = R and RTTVAR = R/2, later ones move them by 1/8 and 1/4.
    pub fn sample(&mut self, sample: Time) {
        let sample = sample.0;
        if !self.sampled {
            *self = Rtt { smoothed: sample, variation: sample / 2, sampled: true };
            return;
        }
        self.variation = (3 * self.variation + self.smoothed.abs_diff(sample)) / 4;
        self.smoothed = (7 * self.smoothed + sample) / 8;
    }

    /// SRTT; `None` before the first sample.
    pub fn smoothed(&self) -> Option<Time> {
        self.sampled.then_some(Time(self.smoothed))
    }

    /// SRTT + max(granularity, 4 RTTVAR); `None` before the first sample.
    pub fn timeout(&self, granularity: Time) -> Option<Time> {
        self.sampled.then(|| Time(self.smoothed + granularity.0.max(4 * self.variation)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand after RFC 6298, section 2: samples of 100 and 200 us.
    #[test]
    fn follows_the_rfc() {
        let mut rtt = Rtt::default();
        assert_eq!(rtt.timeout(Time::ZERO), None);
        rtt.sample(Time::from_us(100));
        assert_eq!(rtt.timeout(Time::ZERO), Some(Time::from_us(300)));
        rtt.sample(Time::from_us(200));
        // RTTVAR = 3/4 * 50 + 1/4 * 100 = 62.5, SRTT = 7/8 * 100 + 1/8 * 200 = 112.5
        assert_eq!(rtt.timeout(Time::ZERO), Some(Time::from_ns(362_500)));
        assert_eq!(rtt.timeout(Time::from_us(1000)), Some(Time::from_ns(1_112_500)));
    }
}
