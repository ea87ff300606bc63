//! The path of a connection that changes it: see `transport/repath.rs`.

use super::Sender;
use crate::engine::contract::host::Host;
use crate::engine::contract::packet::Packet;
use crate::engine::contract::path::News;
use crate::ids::ConnId;
use crate::random::Purpose;
use crate::transport::repath::{Acked, Repathing};
use crate::transport::tcp::congestion::Control;
use crate::transport::tcp::{Tcp, kind};
use crate::units::Time;

impl Sender {
    /// A connection begins, whose first flow has that key.
    pub fn steer(&mut self, id: ConnId, key: u64, config: &Tcp, cx: &impl Host) {
        let start = || {
            let stream = cx.flow_stream(Purpose::Repath, key);
            Box::new(Repathing::new(cx.conn(id).label, stream))
        };
        self.path = config.repath.is_some().then(start);
        self.steers = self.path.is_some() || cx.conn(id).learns;
        if config.congestion().models_path() {
            self.control.seed(cx.flow_stream(Purpose::Control, key));
            self.control.start(&self.window, None, cx.now());
        }
    }

    /// An acknowledgement has been handled, before which all bytes up to that number were acknowledged.
    #[cold]
    pub(super) fn steer_by(
        &mut self,
        id: ConnId,
        before: u64,
        packet: &Packet,
        config: &Tcp,
        cx: &mut impl Host,
    ) {
        let bytes = self.una_seq - before;
        let marked = packet.header.kind & kind::ECE != 0;
        if cx.conn(id).learns {
            cx.tell_path(id, News::Acked { sent: Time(packet.header.seq), marked });
        }
        if let (Some(path), Some(repath)) = (&mut self.path, &config.repath)
            && bytes > 0
        {
            let (una, next, now) = (self.una_seq, self.next_seq, cx.now());
            path.on_ack(repath, Acked { bytes, marked, una, next, now });
        }
    }

    /// The retransmission timer has expired.
    pub(super) fn steer_away(&mut self, id: ConnId, config: &Tcp, cx: &mut impl Host) {
        if self.steers && cx.conn(id).learns {
            cx.tell_path(id, News::Timeout);
        }
        if let (Some(path), Some(repath)) = (&mut self.path, &config.repath) {
            path.on_timeout(repath, cx.now());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::contract::fake::FakeHost;
    use crate::transport::tcp::congestion::Congestion;
    use crate::transport::tcp::congestion::bbr::Bbr;
    use crate::transport::tcp::congestion::sample::{DeliveryRate, Sample};
    use crate::units::Rate;

    /// The pacing rate of a connection, whose first flow has that key, in its first phase of ProbeBw: a segment in flight
    /// and 1 KB/ms delivered, four rounds.
    fn first_rate(key: u64) -> Rate {
        let bbr = Bbr { pacing_margin: 0.0, ..Bbr::default() };
        let config = Tcp { congestion: Some(Congestion::Bbr(bbr)), ..Tcp::default() };
        let mut sender = Sender::new(&config);
        sender.steer(ConnId(0), key, &config, &FakeHost::pair(1));
        for round in 1..=4 {
            let interval = Time::from_us(1_000);
            let rate =
                DeliveryRate { before: 1_000 * (round - 1), bytes: 1_000, interval, app_limited: false };
            let sample = Sample {
                now: Time::from_us(1_000 * round),
                delivered: 1_000 * round,
                acked: 1_000,
                rate: Some(rate),
                round_trip: Some(interval),
                smoothed: Some(interval),
                ..Sample::default()
            };
            sender.control.on_sample(&mut sender.window, &sample);
        }
        sender.control.pacing_rate().expect("BBR paces")
    }

    /// Each connection draws its first phase of seven from a stream of its own: some probe at 1.25 times 8 Mbps, and others
    /// do not. With one stream for all, they would probe at the same time.
    #[test]
    fn connections_draw_phases_of_their_own() {
        let rates: Vec<u64> = (0..50).map(|key| first_rate(key).0).collect();
        let probes = rates.iter().filter(|rate| **rate == 10_000_000).count();
        let others = rates.iter().filter(|rate| **rate == 8_000_000).count();
        assert_eq!(probes + others, 50, "{rates:?}");
        assert!(probes > 0 && others > 0, "{probes} probe");
    }
}
