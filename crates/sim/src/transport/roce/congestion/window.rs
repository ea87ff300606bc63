//! The window of a control that computes a rate: none, the bandwidth-delay product, or the share of it that the rate is of
//! the line.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{SECOND, Time};

/// Limit of the bytes in flight, beside the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Window {
    /// The rate alone limits a flow.
    None,
    /// The bandwidth-delay product: the rate of the line times `base_rtt`.
    Fixed,
    /// The rate of the flow times `base_rtt`, at least a byte.
    Variable,
}

impl Window {
    /// Bytes of payload, for a flow at `rate` on a port of the rate `line`, both in bit/s.
    pub fn bytes(self, line: f64, rate: f64, base_rtt: Time) -> Option<u64> {
        match self {
            Window::None => None,
            Window::Fixed => Some(in_time(line, base_rtt) as u64),
            Window::Variable => Some((in_time(rate, base_rtt) as u64).max(1)),
        }
    }
}

/// Bytes that are sent at that rate, in bit/s, in a time.
pub fn in_time(rate: f64, time: Time) -> f64 {
    rate / 8.0 * (time.0 as f64 / SECOND as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 Gbps for 4160 ns are 52,000 B.
    #[test]
    fn windows_by_hand() {
        let bytes = |window: Window, rate| window.bytes(100e9, rate, Time::from_ns(4160));
        assert_eq!(bytes(Window::None, 50e9), None);
        assert_eq!(bytes(Window::Fixed, 50e9), Some(52_000));
        assert_eq!(bytes(Window::Variable, 50e9), Some(26_000));
        assert_eq!(bytes(Window::Variable, 1e6), Some(1));
    }
}
