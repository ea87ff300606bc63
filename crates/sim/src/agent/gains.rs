//! The rule by which the ports of RCP, D3 and RACS adapt rates or capacity, and the share of a link that it uses.
//!
//! In a round trip the rule gives out the share `alpha` of what was left of the link, and takes back the share `beta` of
//! the queue. It is steady where alpha (1 - U) C = beta q / T. With n = C T full packets in a round trip and the queue of
//! packets that come at random, q = U^2 / (2 (1 - U)) packets (M/D/1), the utilisation is U = s / (1 + s) with
//! s = sqrt(2 n alpha / beta). Where n is small, one packet that waits counts as a long queue.

use crate::advice::Advice;
use crate::derived::Longest;
use crate::units::{SECOND, Time};

/// Expected utilisation below which a scenario gets advice.
const LEAST: f64 = 2.0 / 3.0;
/// The utilisation that the advice aims at.
const AIM: f64 = 0.8;

/// The gains of the rule at a port.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gains {
    /// Share of the spare capacity that is given out in a round trip.
    pub alpha: f64,
    /// Share of the queue that is taken back in a round trip.
    pub beta: f64,
    /// The time for which both count, if that is not the round trip.
    pub interval: Option<Time>,
}

impl Gains {
    /// The share of a link that a few flows use, with so many full packets in a round trip.
    pub fn utilisation(&self, packets: f64) -> f64 {
        let s = (2.0 * packets * self.alpha / self.beta).sqrt();
        if s.is_finite() { s / (1.0 + s) } else { 1.0 }
    }

    /// Advice on the field `beta` of the agent at that path, if a link is used little.
    pub fn advice(&self, path: &str, longest: &Longest, full_packet: u64) -> Option<Advice> {
        let interval = self.interval.unwrap_or_default().0 as f64 / SECOND as f64;
        let bytes = (longest.bdp as f64).max(longest.rate.0 as f64 / 8.0 * interval);
        let packets = bytes / full_packet as f64;
        let share = self.utilisation(packets);
        if share >= LEAST || self.alpha == 0.0 {
            return None;
        }
        let s = AIM / (1.0 - AIM);
        Some(Advice {
            path: format!("{path}.beta"),
            message: format!(
                "{packets:.1} full packets fill the longest path, and one that waits makes a port lower its rates: a few flows \
                 that share a link use about {:.0} % of it, and more than {:.0} flows much less",
                100.0 * share,
                packets.ceil()
            ),
            write: format!("{path}.beta = {}", two_digits(2.0 * packets * self.alpha / (s * s))),
        })
    }
}

/// Rounded down to two digits.
fn two_digits(value: f64) -> f64 {
    let scale = 10_f64.powf(value.log10().floor() - 1.0);
    let digits = (value / scale).floor();
    if scale < 1.0 { digits / (1.0 / scale).round() } else { digits * scale }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Rate;

    /// 8,100 B are 5.4 packets: s = sqrt(2 * 5.4 * 0.1) = 1.039, U = 0.51. For 0.8, s = 4: beta = 1.08 / 16 = 0.0675.
    #[test]
    fn a_few_packets_in_a_round_trip() {
        let longest = Longest { bdp: 8_100, rate: Rate(10_000_000_000), ..Longest::default() };
        let gains = Gains { alpha: 0.1, beta: 1.0, interval: None };
        let advice = gains.advice("agent.rcp", &longest, 1500).expect("a few packets");
        assert_eq!(advice.path, "agent.rcp.beta");
        assert_eq!(advice.write, "agent.rcp.beta = 0.067");
        assert!(advice.message.contains("5.4 full packets"), "{}", advice.message);
        assert!(advice.message.contains("about 51 % of it, and more than 6 flows"), "{}", advice.message);
        let advised = |gains: Gains, bdp| gains.advice("a", &Longest { bdp, ..longest }, 1500).is_some();
        assert!(!advised(Gains { beta: 0.067, ..gains }, 8_100), "the value that it names");
        // s = 2, U = 2/3: n = 20.
        assert!(advised(gains, 29_900) && !advised(gains, 30_100));
        // 24 us at 10 Gbps are 30,000 B; 25 us more.
        assert!(!advised(Gains { interval: Some(Time::from_us(25)), ..gains }, 8_100));
        for unchecked in [Gains { beta: 0.0, ..gains }, Gains { alpha: 0.0, ..gains }] {
            assert!(!advised(unchecked, 8_100), "no rule, no advice");
        }
    }

    #[test]
    fn values_are_written_with_two_digits() {
        assert_eq!([0.0675, 0.000_123, 0.99, 1.0, 12.3].map(two_digits), [0.067, 0.000_12, 0.99, 1.0, 12.0]);
    }
}
