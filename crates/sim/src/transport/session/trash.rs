//! TraSh, the traffic shifting of XMP (Cao et al., "Explicit multipath congestion control for data center networks", CoNEXT
//! 2013): each subflow's growth follows its share of the flow's rate, so that traffic moves to paths that are marked less.
//!
//! In a round trip the window of subflow r grows by
//!
//! ```text
//! delta_r = cwnd_r / (y T) segments,
//! y = sum of cwnd_i / rtt_i, T = the smallest rtt_i,
//! ```
//!
//! which add up to 1 over subflows of one round trip, and are 1 for a single one. XMP has it under BOS
//! (`tcp/congestion/bos.rs`). The formula is from memory of the paper, as other work restates it.

use super::lia::Terms;

/// Bytes by which the window of one subflow, of `window` bytes, grows in congestion avoidance when `acked` bytes are
/// acknowledged, given the terms of all: for a window of these delta full segments.
pub fn increase(all: &[Terms], window: u64, acked: u64, mss: u64) -> f64 {
    let rate: f64 = all.iter().map(|terms| terms.rate).sum();
    let shortest = all.iter().filter_map(|terms| terms.round_trip()).fold(f64::INFINITY, f64::min);
    let bytes = acked as f64 * mss as f64;
    if rate > 0.0 { bytes / (rate * shortest) } else { bytes / window as f64 }
}

#[cfg(test)]
mod tests {
    use super::super::lia::Path;
    use super::*;
    use crate::units::Time;

    fn path(segments: u64, ms: u64) -> Terms {
        Path { window: segments * 1000, round_trip: Some(Time::from_us(1000 * ms)) }.into()
    }

    /// A whole window of each is acknowledged: over equal round trips shares add up to a segment, 1/4 and 3/4 for windows of
    /// 10 and 30.
    #[test]
    fn shares_add_up_to_one_segment() {
        let all = [path(10, 2), path(30, 2)];
        let deltas = [10_000, 30_000].map(|window| increase(&all, window, window, 1000));
        assert!((deltas[0] - 250.0).abs() < 1e-9 && (deltas[1] - 750.0).abs() < 1e-9, "{deltas:?}");
        assert!((increase(&all[..1], 10_000, 10_000, 1000) - 1000.0).abs() < 1e-9);
    }

    /// By hand: 10 and 20 segments, 1 and 4 ms: y = 10 + 5 segments a millisecond, T = 1 ms: 10/15 and 20/15 of a segment.
    #[test]
    fn round_trips_that_differ() {
        let all = [path(10, 1), path(20, 4)];
        let deltas = [10_000, 20_000].map(|window| increase(&all, window, window, 1000));
        assert!((deltas[0] - 1e4 / 15.0).abs() < 1e-9 && (deltas[1] - 2e4 / 15.0).abs() < 1e-9, "{deltas:?}");
    }

    /// Before the first sample of any subflow it grows as alone.
    #[test]
    fn alone_without_a_round_trip() {
        let unknown = Path { window: 40_000, round_trip: None };
        assert_eq!(increase(&[unknown.into()], 40_000, 1000, 1000), 25.0);
    }
}
