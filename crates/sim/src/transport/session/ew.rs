//! EW-MPTCP: equally weighted windows of the servers that answer one receiver together (Li, Lukyanenko, Tarkoma and Yla-Jaaski,
//! "MPTCP incast in data center networks", China Communications 2014).
//!
//! By its abstract each subflow scales its window by the inverse of the number of servers, besides coupled control. The formula is
//! a reconstruction from that: LIA over the subflows of all n servers, of which each takes the others' to be like its own,
//!
//! ```text
//! min(alpha B MSS / (n^2 sum of cwnd), B MSS / cwnd_i),
//! ```
//!
//! with alpha as in `lia`. A window falls by half at a loss and is in proportion to the root of its growth, so that each of n
//! servers has 1/n of LIA's window at the same losses, and all together have that of one. Slow start and losses are TCP's.

use super::lia::{self, Terms};

/// Bytes by which the window of one subflow, of `window` bytes, grows in congestion avoidance when `acked` bytes are
/// acknowledged, given the terms of all subflows of this server, one of so many.
pub fn increase(all: &[Terms], window: u64, acked: u64, mss: u64, servers: u32) -> f64 {
    let (alone, coupled) = lia::bounds(all, window, acked, mss);
    let servers = f64::from(servers);
    alone.min(coupled / (servers * servers))
}

#[cfg(test)]
mod tests {
    use super::super::lia::Path;
    use super::*;
    use crate::units::Time;

    fn path(segments: u64, ms: u64) -> Terms {
        Path { window: segments * 1000, round_trip: Some(Time::from_us(1000 * ms)) }.into()
    }

    /// n servers with s equal subflows each grow as one LIA flow with n s subflows: by 1 / (n s)^2 of a TCP's growth.
    #[test]
    fn servers_are_one_flow() {
        for servers in 1..=16 {
            for subflows in 1..=4 {
                let own = vec![path(10, 1); subflows];
                let all = vec![path(10, 1); subflows * servers as usize];
                let found = increase(&own, 10_000, 1000, 1000, servers);
                let alone = 100.0 / f64::from(servers * subflows as u32).powi(2);
                assert!((found - alone).abs() < 1e-9, "{servers} x {subflows}: {found}");
                assert!((found - lia::increase(&all, 10_000, 1000, 1000)).abs() < 1e-9);
            }
        }
    }

    /// By hand, as for LIA: 10 and 20 segments, 1 and 4 ms: 10 / 225 of a segment, of which each of three servers has a ninth. The
    /// bound of a TCP alone, 1/40 of a segment, is below that of one server but not of three.
    #[test]
    fn by_hand() {
        let all = [path(10, 1), path(20, 4)];
        assert!((increase(&all, 10_000, 1000, 1000, 3) - 1000.0 * 10.0 / 225.0 / 9.0).abs() < 1e-9);
        assert!((increase(&all, 40_000, 1000, 1000, 1) - 25.0).abs() < 1e-9);
        assert!((increase(&all, 40_000, 1000, 1000, 3) - 1000.0 * 10.0 / 225.0 / 9.0).abs() < 1e-9);
    }

    /// Before the first sample of any subflow it grows as alone.
    #[test]
    fn alone_without_a_round_trip() {
        let unknown = Path { window: 40_000, round_trip: None };
        assert_eq!(increase(&[unknown.into()], 40_000, 1000, 1000, 9), 25.0);
    }
}
