//! The linked increases algorithm, LIA (RFC 6356, section 3): the windows of a flow's subflows grow together.
//!
//! In congestion avoidance an acknowledgement of B bytes lets the window of subflow i grow by
//!
//! ```text
//! min(alpha B MSS / sum of cwnd, B MSS / cwnd_i),
//! alpha = sum of cwnd * max(cwnd_i / rtt_i^2) / (sum of cwnd_i / rtt_i)^2,
//! ```
//!
//! so that all subflows together take as much as one TCP would on the best of their paths, and each of them
//! no more than a TCP on its own. The end of slow start and the reaction to a loss are each subflow's own, as
//! in TCP.
//!
//! Sums of products and quotients of `f64` are the same on every machine. Windows are those of the moment,
//! worked out at each acknowledgement; RFC 6356, section 4.1, allows it less often. The RFC also advises to
//! bound `cwnd_i` by the bytes in flight, where something else limits a subflow: `tcp.window_validation`
//! keeps windows from growing beyond that in the first place.

use crate::units::Time;

/// A subflow as the others see it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Path {
    /// Its window in bytes: during fast recovery its slow-start threshold, as the RFC has it.
    pub window: u64,
    /// Its smoothed round-trip time; `None` before the first sample: then it counts for nothing.
    pub round_trip: Option<Time>,
}

/// The formula's terms of a subflow, computed when one of both changes rather than for each of the others.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Terms {
    /// `cwnd / rtt`.
    pub(super) rate: f64,
    /// `cwnd / rtt^2`.
    steep: f64,
}

impl Terms {
    /// The round-trip time in picoseconds, once it is known.
    pub(super) fn round_trip(self) -> Option<f64> {
        (self.steep > 0.0).then(|| self.rate / self.steep)
    }
}

impl From<Path> for Terms {
    fn from(path: Path) -> Terms {
        let Some(round_trip) = path.round_trip else { return Terms::default() };
        let (cwnd, rtt) = (path.window as f64, round_trip.0 as f64);
        Terms { rate: cwnd / rtt, steep: cwnd / (rtt * rtt) }
    }
}

/// Bytes by which the window of one subflow, of `window` bytes, grows in congestion avoidance when `acked` bytes are
/// acknowledged, given the terms of all. The sum of windows stands in alpha and under it: here it is cancelled.
pub fn increase(all: &[Terms], window: u64, acked: u64, mss: u64) -> f64 {
    let (alone, coupled) = bounds(all, window, acked, mss);
    alone.min(coupled)
}

/// Both bounds on it: the growth of a TCP alone, and that of the flow on the best of its paths, which is none before the first
/// sample of a round trip.
#[inline]
pub(super) fn bounds(all: &[Terms], window: u64, acked: u64, mss: u64) -> (f64, f64) {
    let best = all.iter().map(|terms| terms.steep).fold(0.0, f64::max);
    let rate: f64 = all.iter().map(|terms| terms.rate).sum();
    let bytes = acked as f64 * mss as f64;
    let alone = bytes / window as f64;
    (alone, if rate > 0.0 { bytes * best / (rate * rate) } else { f64::INFINITY })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Equal paths share one TCP's growth: each of n subflows grows by 1/n^2 of its growth alone.
    #[test]
    fn equal_paths() {
        for n in 1..=8 {
            let path = Path { window: 14_600, round_trip: Some(Time::from_us(100)) };
            let (found, alone) = (increase(&vec![path.into(); n], 14_600, 1460, 1460), 146.0);
            assert!((found - alone / (n * n) as f64).abs() < 1e-9, "{n}: {found}");
        }
    }

    /// By hand: windows of 10 and 20 segments, round trips of 1 and 4 ms. In segments and milliseconds the best is
    /// 10 / 1, the rate 10 + 20 / 4 = 15: an acknowledged segment gives 10 / 225 of a segment to the first; alone it
    /// would be 1 / 10. To a third one with a window of 40, which has no round-trip time yet, the bound is 1 / 40.
    #[test]
    fn by_hand() {
        let path = |segments: u64, ms: u64| Path {
            window: segments * 1000,
            round_trip: Some(Time::from_us(1000 * ms)),
        };
        let all = [path(10, 1), path(20, 4), Path { window: 40_000, round_trip: None }].map(Terms::from);
        assert!((increase(&all, 10_000, 1000, 1000) - 1000.0 * 10.0 / 225.0).abs() < 1e-9);
        assert!((increase(&all, 40_000, 1000, 1000) - 25.0).abs() < 1e-9);
        assert!((increase(&all[2..], 40_000, 1000, 1000) - 25.0).abs() < 1e-9);
    }
}
