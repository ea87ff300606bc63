//! Pacing: segments follow each other at a rate, by the control's own or by the window (Linux 6.18, `tcp_output.c`).
//!
//! The first segments of a connection are not paced (`pacing_burst`). A segment that the host could not send in time, as
//! others had their turn, shortens the next gap by that, at most to half of it; so that the rate holds on a busy host.

use super::{PACE, Sender};
use crate::engine::contract::event::Owner;
use crate::engine::contract::host::{Host, Timer};
use crate::ids::ConnId;
use crate::transport::source::Source;
use crate::transport::tcp::congestion::{Control, Pace};
use crate::transport::tcp::{Paced, Tcp};
use crate::units::{Rate, Time};

/// Pacing of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Pacer {
    timer: Timer,
    /// When the segment sent last was due, or up to half a gap before it was sent.
    from: Time,
    /// Payload of the segment sent last.
    len: u32,
    pace: Pace,
    /// Whether the rate is by the window.
    by_window: bool,
}

impl Pacer {
    /// Of a connection that has not sent anything, if it is paced.
    pub fn new(config: &Tcp) -> Option<Box<Pacer>> {
        let own = config.congestion().pace();
        let by_window = own == Pace::None && config.pacing == Paced::Internal;
        let pace = if by_window { Pace::Smooth } else { own };
        let pacer = Pacer { timer: Timer::default(), from: Time::ZERO, len: 0, pace, by_window };
        (pace != Pace::None).then(|| Box::new(pacer))
    }

    /// No segment is left to be sent.
    pub fn stop(&mut self) {
        self.timer.clear();
    }
}

/// Rates by the window, in windows a smoothed round trip: below half of the threshold, and above (Linux:
/// `tcp_pacing_ss_ratio`, `tcp_pacing_ca_ratio`).
const IN_SLOW_START: u64 = 200;
const IN_AVOIDANCE: u64 = 120;

impl Sender {
    /// The rate at which it paces, if it does.
    #[inline]
    pub fn rate(&self) -> Option<Rate> {
        if self.pacer.as_ref()?.by_window { self.window_rate() } else { self.control.pacing_rate() }
    }

    /// The window, or more that is in flight, in a smoothed round trip, and a share more.
    fn window_rate(&self) -> Option<Rate> {
        let round_trip = self.rtt.smoothed()?;
        let percent = if self.window.cwnd < self.window.ssthresh / 2 { IN_SLOW_START } else { IN_AVOIDANCE };
        let bytes = self.window.cwnd.max(self.end_seq - self.una_seq);
        let bits = 8.0 * bytes as f64 * percent as f64 / 100.0;
        Some(Rate((libm::round(bits / Time(round_trip.0.max(1)).seconds()) as u64).max(1)))
    }

    /// When the next segment may be sent, if it is paced.
    #[inline(always)]
    pub(super) fn paced_until(&self, config: &Tcp) -> Option<Time> {
        let Pacer { pace, from, len, .. } = **self.pacer.as_ref()?;
        if pace == Pace::Smooth && self.end < config.pacing_burst {
            return None;
        }
        Some(from.saturating_add(self.rate()?.transmission(u64::from(len))))
    }

    /// A segment of so many bytes is sent by a paced connection, which was due then.
    pub(super) fn note_pace(&mut self, len: u32, due: Option<Time>, now: Time) {
        let credit = due.map_or(Time::ZERO, |due| self.credit(len, now - due));
        if let Some(pacer) = &mut self.pacer {
            let credit = if pacer.pace == Pace::Smooth { credit } else { Time::ZERO };
            (pacer.from, pacer.len) = (now - credit, len);
        }
    }

    /// The part of a delay that shortens the gap behind a segment of so many bytes.
    fn credit(&self, len: u32, late: Time) -> Time {
        let gap = self.rate().map_or(Time::ZERO, |rate| rate.transmission(u64::from(len)));
        late.min(Time(gap.0 / 2))
    }

    /// The timer for the next segment.
    pub(super) fn await_pace(&mut self, id: ConnId, due: Time, cx: &mut impl Host) {
        if let Some(pacer) = &mut self.pacer {
            cx.set_timer(&mut pacer.timer, due, Owner::Sender(id), PACE);
        }
    }

    /// The timer for the next segment of a paced connection.
    pub fn on_pace(&mut self, id: ConnId, config: &Tcp, source: &impl Source, cx: &mut impl Host) {
        let Some(pacer) = &mut self.pacer else { return };
        if cx.timer_is_due(&mut pacer.timer, Owner::Sender(id), PACE) && self.may_send(config, source) {
            cx.ready(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derived::Derived;
    use crate::engine::contract::fake::FakeHost;
    use crate::transport::tcp::Model;
    use crate::units::Bytes;

    const FLOW: ConnId = ConnId(0);

    /// Times at which segments go, in us, of a window of twenty that is paced by it: from its first acknowledgement at 2,100
    /// on, behind which a second one comes at 2,126.
    fn times(ssthresh: Option<u64>, pacing: Paced) -> Vec<f64> {
        let config = Tcp {
            mss: Bytes(1000),
            handshake: false,
            delayed_ack: 1,
            initial_window: Derived::Given(20),
            initial_ssthresh: ssthresh.map(Bytes),
            pacing,
            ..Tcp::default()
        };
        let mut host = FakeHost::pair(1_000_000);
        let mut model = Model::new(host.configs(vec![config]));
        host.start(&mut model, FLOW);
        let packets = host.sends(&mut model, FLOW, 99);
        assert_eq!(packets.len(), 20, "there is no rate without a round trip");
        let mut found = Vec::new();
        let mut send = |host: &mut FakeHost, model: &mut Model| {
            let sent = host.sends(model, FLOW, 99).len();
            found.extend(std::iter::repeat_n(host.now.0 as f64 / 1e6, sent));
        };
        for (packet, until) in [(0, 2_126), (1, 2_300)] {
            host.now = Time::from_us(if packet == 0 { 2_100 } else { 2_126 });
            for ack in host.receives(&mut model, &packets[packet]) {
                host.answers(&mut model, &ack);
            }
            send(&mut host, &mut model);
            while model
                .senders
                .get(FLOW)
                .0
                .pacer
                .as_ref()
                .is_some_and(|pacer| pacer.timer.is_set() && pacer.timer.due() < Time::from_us(until))
            {
                host.expires(&mut model);
                send(&mut host, &mut model);
            }
        }
        found
    }

    /// By hand. In slow start the acknowledgements make 21 and 22 segments, two of which go by each, 50 us and 2,100 / 44 =
    /// 47.73 us apart: 200 %. The first one was due long ago, which shortens the gap behind it by a half: 2,100, 2,125, 2,172.73
    /// and 2,220.45. In congestion avoidance one goes by each, at 120 % of 20.05 and 20.1 segments: 87.28 and 87.07 us apart.
    /// The first shortens the gap by 43.64 us: 2,100 and 2,143.43. Without pacing they go with the acknowledgements. From half
    /// of the threshold on slow start is paced at 120 %, too (Linux: `tcp_update_pacing_rate`): gaps of 83.33 us, of which the first
    /// is halved, and with 22 segments of 79.55 us, from 2,058.33 on.
    #[test]
    fn the_window_in_a_round_trip() {
        let slow_start = [2_100.0, 2_125.0, 2_172.73, 2_220.45];
        for (ssthresh, pacing, expected) in [
            (None, Paced::Internal, &slow_start[..]),
            (Some(20_000), Paced::Internal, &[2_100.0, 2_143.43]),
            (Some(30_000), Paced::Internal, &[2_100.0, 2_137.88, 2_217.42, 2_296.97]),
            (None, Paced::None, &[2_100.0, 2_100.0, 2_126.0, 2_126.0]),
        ] {
            let found = times(ssthresh, pacing);
            let near = found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 0.01);
            assert!(near && found.len() == expected.len(), "{found:?}, not {expected:?}");
        }
    }
}
