//! Quick acknowledgements, as Linux has them: a receiver does not delay those by which a small window grows.
//!
//! A number of segments are acknowledged one by one: at the start of a connection, after a pause in which the sender's
//! timeout must have expired, after a segment that arrives twice, and, fewer of them, after a mark. As many as fill half of
//! the receive window, at most `quick_acks`. Described in our own words after the behaviour of Linux 6.18; RFC 5681, 4.2,
//! allows it, as it bounds the delay from above only.

use super::Tcp;
use crate::units::Time;

/// Quick acknowledgements after a mark.
const AFTER_MARK: u32 = 2;

/// The acknowledgements of a receiver that are not to be delayed.
#[derive(Clone, Copy, Debug, Default)]
pub struct QuickAcks {
    left: u32,
    /// When the latest segment came; none before the first.
    last: Option<Time>,
}

impl QuickAcks {
    /// A segment arrives. Whether it is acknowledged at once.
    #[inline]
    pub fn on_segment(&mut self, now: Time, config: &Tcp) -> bool {
        let pause = self.last.is_none_or(|last| now - last > config.rto_min());
        self.last = Some(now);
        if pause {
            self.grant(config.quick_acks(), config);
        }
        self.left > 0
    }

    /// A segment has arrived that had arrived before.
    pub fn on_duplicate(&mut self, config: &Tcp) {
        self.grant(config.quick_acks(), config);
    }

    /// A segment has come with a mark.
    pub fn on_mark(&mut self, config: &Tcp) {
        self.grant(AFTER_MARK.min(config.quick_acks()), config);
    }

    /// An acknowledgement is sent.
    #[inline]
    pub fn on_sent(&mut self) {
        self.left = self.left.saturating_sub(1);
    }

    fn grant(&mut self, number: u32, config: &Tcp) {
        let room = (config.receive_window.0 / (2 * config.mss.0)).max(2);
        self.left = self.left.max(number.min(room.min(u64::from(u32::MAX)) as u32));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bytes;

    fn config(receive_window: u64) -> Tcp {
        Tcp {
            quick_acks: Some(16),
            mss: Bytes(1000),
            receive_window: Bytes(receive_window),
            ..Tcp::default()
        }
    }

    /// Segments each millisecond from that one on of which each is acknowledged at once, before the first that is not.
    fn at_once(quick: &mut QuickAcks, from_ms: u64, config: &Tcp) -> u32 {
        let quick_one = |at| {
            let at_once = quick.on_segment(Time::from_us(1_000 * (from_ms + at)), config);
            if at_once {
                quick.on_sent();
            }
            at_once
        };
        (0..100).map(quick_one).take_while(|at_once| *at_once).count() as u32
    }

    /// Sixteen at the start, and again after a pause longer than 200 ms; a window of 20 segments has room for ten, one of
    /// three for two.
    #[test]
    fn sixteen_at_the_start_and_after_a_pause() {
        let mut quick = QuickAcks::default();
        assert_eq!(at_once(&mut quick, 0, &config(100_000)), 16);
        assert_eq!(at_once(&mut quick, 216, &config(100_000)), 0);
        assert_eq!(at_once(&mut quick, 417, &config(100_000)), 16);
        assert_eq!(at_once(&mut QuickAcks::default(), 0, &config(20_000)), 10);
        assert_eq!(at_once(&mut QuickAcks::default(), 0, &config(3_000)), 2);
    }

    /// A duplicate grants sixteen, a mark two.
    #[test]
    fn after_a_duplicate_and_a_mark() {
        let mut quick = QuickAcks::default();
        at_once(&mut quick, 0, &config(100_000));
        quick.on_mark(&config(100_000));
        assert_eq!(at_once(&mut quick, 17, &config(100_000)), 2);
        quick.on_duplicate(&config(100_000));
        assert_eq!(at_once(&mut quick, 20, &config(100_000)), 16);
    }
}
