//! Joint control: all subflows of a flow as one, with one window that counts.
//!
//! Source: Han, Shakkottai, Hollot, Srikant and Towsley, "Multi-path TCP: a joint congestion control and routing scheme to exploit path
//! diversity in the Internet", IEEE/ACM Transactions on Networking 2006, in the windows of Wischik, Raiciu, Greenhalgh and
//! Handley, "Design, implementation and evaluation of congestion control for multipath TCP", NSDI 2011, section 2.2 ("fully
//! coupled"): each acknowledged segment lets the window of its subflow grow by 1 / w segments, where w is the sum of all
//! windows, and a loss takes w / 2 from it. So all traffic moves to the paths with the fewest losses, and a window that is small
//! stays so: the reason for RFC 6356's other rule.

use super::lia::Terms;

/// Bytes by which the window of one subflow, of `window` bytes, grows in congestion avoidance when `acked` bytes are
/// acknowledged, given the terms of all.
pub fn increase(all: &[Terms], window: u64, acked: u64, mss: u64) -> f64 {
    acked as f64 * mss as f64 / whole(all).max(window as f64)
}

/// Bytes that a loss takes from the window of the subflow that has it.
pub fn decrease(all: &[Terms]) -> u64 {
    (whole(all) / 2.0) as u64
}

/// The sum of all windows whose round-trip time is known.
fn whole(all: &[Terms]) -> f64 {
    all.iter().filter_map(|terms| Some(terms.rate * terms.round_trip()?)).sum()
}

#[cfg(test)]
mod tests {
    use super::super::lia::Path;
    use super::super::{Coupling, Join, Model};
    use super::*;
    use crate::derived::Derived;
    use crate::engine::contract::fake::FakeHost;
    use crate::ids::ConnId;
    use crate::transport::mptcp::Mptcp;
    use crate::transport::reassembly::Reassembly;
    use crate::transport::tcp::Tcp;
    use crate::units::{Bytes, Time};

    /// By hand: windows of 10 and 30 segments grow by a fortieth of a segment for each acknowledged one, whatever the round trips, and
    /// lose 20. A third one without a round trip counts only for itself.
    #[test]
    fn the_sum_of_windows_counts() {
        let path = |segments: u64, us: Option<u64>| {
            Terms::from(Path { window: segments * 1000, round_trip: us.map(Time::from_us) })
        };
        let all = [path(10, Some(100)), path(30, Some(900)), path(7, None)];
        for window in [10_000, 30_000] {
            assert!((increase(&all, window, 1000, 1000) - 25.0).abs() < 1e-9);
        }
        assert!((increase(&all, 50_000, 1000, 1000) - 20.0).abs() < 1e-9);
        assert_eq!(decrease(&all), 20_000);
    }

    /// Two subflows with windows of ten segments. The first has eleven after an acknowledgement, the second ten when it loses a
    /// segment: half of 21 are more than it has, so that the floor of two segments is left of it, and three for the duplicates.
    #[test]
    fn a_loss_takes_half_of_all_windows() {
        let tcp = Tcp {
            mss: Bytes(1000),
            handshake: false,
            initial_window: Derived::Given(10),
            delayed_ack: 1,
            ..Tcp::default()
        };
        let mut host = FakeHost::pair(100_000);
        let config = Mptcp {
            subflows: 2,
            join: Join::AtOnce,
            coupling: Coupling::FullyCoupled,
            tcp,
            ..Mptcp::default()
        };
        let mut model: Model<Reassembly> = Model::new(host.configs(vec![config]));
        host.start(&mut model, ConnId(0));
        let subflows = [ConnId(1), ConnId(2)];
        let packets = subflows.map(|id| host.sends(&mut model, id, 10));
        host.now = Time::from_us(100);
        for (subflow, number) in [(0, 0), (1, 0), (1, 2), (1, 3), (1, 4)] {
            let ack = host.receives(&mut model, &packets[subflow][number]);
            host.answers(&mut model, &ack[0]);
        }
        assert_eq!(subflows.map(|id| model.senders.get(id).cwnd()), [11_000, 5_000]);
    }
}
