//! The measures of a flow's path from which its windows follow: packet sizes, round trip, bandwidth-delay product.

use crate::units::{Bytes, Rate, SECOND, Time};

/// Sizes and rates for one flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// Bytes of a full packet on the wire.
    pub mtu: u32,
    /// Payload of a full packet.
    pub payload: u32,
    /// Rate of the host's port.
    pub line: Rate,
    /// Round trip of the network's longest path.
    pub rtt: Time,
    /// The first estimate of the flow's own.
    pub base_rtt: Time,
    /// The first window, if the scenario gives it.
    pub first_window: Option<Bytes>,
    /// The largest window, if the scenario gives it.
    pub max_window: Option<Bytes>,
    /// The smallest window.
    pub min_window: u64,
    /// The target of the queueing delay.
    pub target: Time,
}

impl Scale {
    /// The bandwidth-delay product of the network's longest path.
    pub fn bdp(&self) -> u64 {
        bytes_within(self.line, self.rtt)
    }

    /// The largest window of a flow with that base round trip: 1.5 times the bandwidth-delay product, cut to whole bytes.
    pub fn window_of(&self, base_rtt: Time) -> u64 {
        one_and_a_half(bytes_within(self.line, base_rtt))
    }

    /// The largest window at first, which is the limit of credit for good.
    pub fn max_window(&self) -> u64 {
        self.max_window.map_or_else(|| self.window_of(self.base_rtt), |bytes| bytes.0)
    }

    /// The first window: a packet at least, where one and a half bandwidth-delay products are less, as behind a slow link.
    /// With less nothing would ever be sent, and nothing answered.
    pub fn first_window(&self) -> u64 {
        let window = self.first_window.map_or_else(|| self.max_window(), |bytes| bytes.0);
        window.max(u64::from(self.mtu))
    }
}

/// Half more, cut to a whole number.
pub fn one_and_a_half(bytes: u64) -> u64 {
    bytes + bytes / 2
}

/// The whole bytes that a link of that rate carries in a time.
pub fn bytes_within(rate: Rate, time: Time) -> u64 {
    (u128::from(rate.0) * u128::from(time.0) / u128::from(8 * SECOND)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fat-trees of three tiers and of two at 100 Gbps, links of 1 us, packets of 4150 B: 6 and 4 links of 332 + 5.12 ns and 2 us.
    #[test]
    fn windows_follow_from_the_network() {
        for (links, bdp, window) in [(6, 175_284, 262_926), (4, 116_856, 175_284)] {
            let rtt = Time(links * (332_000 + 5_120 + 2_000_000));
            let scale = Scale {
                mtu: 4150,
                payload: 4086,
                line: Rate(100_000_000_000),
                rtt,
                base_rtt: rtt,
                first_window: None,
                max_window: None,
                min_window: 4150,
                target: Time(rtt.0 * 3 / 4),
            };
            assert_eq!((scale.bdp(), scale.max_window(), scale.first_window()), (bdp, window, window));
            // 1.5 x 584 B at a 300th of the rate.
            let slow = Scale { line: Rate(333_333_333), ..scale };
            assert!(slow.max_window() < 4150 && slow.first_window() == 4150, "{}", slow.max_window());
        }
    }
}
