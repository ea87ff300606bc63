//! The leaky bucket that lets a queue's packets out, where the controller gives rates.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{Rate, SECOND, Time};

/// The packet after one that was delayed by another queue's transmission.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Late {
    /// It is not late for that: each queue has its rate (section III-B has buckets "to guarantee an instantaneous rate"), up
    /// to `late_limit`.
    #[default]
    MadeUp,
    /// It is as late: `next = max(now, next) + L / (w C)`. Queues with 0.6 and 0.4 of a link then get 0.4 each.
    Lost,
}

/// A queue whose last packet has been sent and has not leaked out: whether it has a rate, and what the next burst waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Idle {
    /// It has none. The rest of the wait is left to the next burst, however much later. A destination gets no more than the
    /// sum of its rates, but a burst waits for the last packet of the one before.
    #[default]
    Kept,
    /// It has none, and the wait passes at the last rate, as in `next = max(now, next) + L / (w C)`. That rate is given to
    /// other queues meanwhile, so that a destination gets up to a packet more for each burst.
    Passes,
    /// It keeps its rate, and is empty for the controller when the packet has leaked out. A destination gets no more than the
    /// sum of its rates, and a burst after that time does not wait.
    Drains,
}

/// A leaky bucket. A packet may start when all bytes before it have leaked out at the present rate: after a
/// packet of L bytes at rate w C that takes L / (w C), and the rest of the wait shrinks or grows in
/// proportion when the rate changes. A packet may be late, because another queue's transmission delays it:
/// see [`Late`].
///
/// Source: section III-B of Sviridov, Bianco and Giaccone (Globecom 2018) names a bucket for each active queue; the
/// rule for a change is ours, the only one under which no byte leaks faster than the rates of its time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bucket {
    /// Share of the link's rate.
    share: f64,
    /// Bytes in it at that time.
    bytes: f64,
    since: Time,
}

impl Bucket {
    /// Whether it lets anything out.
    pub fn leaks(&self) -> bool {
        self.share > 0.0
    }

    /// Its content now; below 0, its lateness.
    fn level(&self, now: Time, rate: Rate) -> f64 {
        // As signed numbers, both take one instruction to convert.
        let (rate, time) = (rate.0 as i64 as f64, (now - self.since).0 as i64 as f64);
        let leaked = self.share * rate / 8.0 * time / SECOND as f64;
        self.bytes - leaked
    }

    /// From now on it leaks at this share of the link's rate.
    pub fn set(&mut self, share: f64, now: Time, rate: Rate) {
        let level = self.level(now, rate);
        // Capacity that an idle queue has not used is lost.
        let bytes = if share == 0.0 || self.share == 0.0 { level.max(0.0) } else { level };
        *self = Bucket { share, bytes, since: now };
    }

    /// A packet of so many bytes on the wire starts. Of the bytes that it is late by, the next packets make up for `credit` at
    /// most. Between two packets the level only falls, so that a bound at each packet is one at every moment.
    pub fn fill(&mut self, bytes: u32, now: Time, rate: Rate, credit: f64) {
        let level = self.level(now, rate).max(-credit);
        *self = Bucket { share: self.share, bytes: level + f64::from(bytes), since: now };
    }

    /// When it is empty.
    pub fn due(&self, rate: Rate) -> Time {
        if self.share == 0.0 {
            return if self.bytes > 0.0 { Time::NEVER } else { self.since };
        }
        let wait = self.bytes * 8.0 / (self.share * rate.0 as i64 as f64) * SECOND as f64;
        // A rate of nearly nothing: later than any run.
        if wait >= Time::NEVER.0 as f64 / 4.0 {
            return Time::NEVER;
        }
        // Rounded up, without the call that `ceil` is where the processor need not have it.
        let whole = wait as i64;
        let due = (self.since.0 as i64 + whole).max(0);
        Time(due as u64 + u64::from((whole as f64) < wait))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1500 B at half of 1 Gbps take 24 us.
    #[test]
    fn a_packet_waits_for_those_before_it() {
        let rate = Rate(1_000_000_000);
        let mut bucket = Bucket::default();
        bucket.set(0.5, Time::ZERO, rate);
        assert_eq!(bucket.due(rate), Time::ZERO);
        bucket.fill(1500, Time::ZERO, rate, f64::INFINITY);
        assert_eq!(bucket.due(rate), Time::from_us(24));
        // After a third of the wait the rate doubles: two thirds, 16 us, become 8.
        bucket.set(1.0, Time::from_us(8), rate);
        assert_eq!(bucket.due(rate), Time::from_us(16));
        bucket.set(0.0, Time::from_us(12), rate);
        assert_eq!(bucket.due(rate), Time::NEVER);
        bucket.set(0.25, Time::from_us(50), rate);
        assert_eq!(bucket.due(rate), Time::from_us(50 + 16));
    }

    /// At a tenth of 1 Gbps a packet of 1500 B takes 120 us. The third one starts 600 us late: without a bound five packets
    /// may follow at once, and the last of these leaves nothing to make up for; with a credit of a packet the next one may,
    /// and the one after it waits its 120 us; without any credit the next one waits.
    #[test]
    fn lateness_is_made_up_for_to_a_bound() {
        let rate = Rate(1_000_000_000);
        let late = Time::from_us(240 + 600);
        for (credit, at_once) in [(f64::INFINITY, 6), (3000.0, 3), (1500.0, 2), (0.0, 1)] {
            let mut bucket = Bucket::default();
            bucket.set(0.1, Time::ZERO, rate);
            for start in [Time::ZERO, Time::from_us(120)] {
                assert_eq!(bucket.due(rate), start, "{credit}");
                bucket.fill(1500, start, rate, credit);
            }
            // A change of the rate on the way takes nothing away, and adds nothing.
            bucket.set(0.1, Time::from_us(500), rate);
            let mut sent = 0;
            while bucket.due(rate) <= late {
                bucket.fill(1500, late, rate, credit);
                sent += 1;
            }
            assert_eq!((sent, bucket.due(rate)), (at_once, late + Time::from_us(120)), "{credit}");
        }
    }

    /// Where the wait passes, it leaks at its last rate while its queue is empty: a packet that comes after three quarters of
    /// the wait, to a queue with half of that rate, waits for the last quarter at half the speed. After the whole wait,
    /// none is left.
    #[test]
    fn an_empty_queue_goes_on_to_leak() {
        let rate = Rate(1_000_000_000);
        let mut bucket = Bucket::default();
        bucket.set(0.5, Time::ZERO, rate);
        bucket.fill(1500, Time::ZERO, rate, f64::INFINITY);
        let refilled = |at: Time| {
            let mut bucket = bucket;
            bucket.set(0.0, at, rate);
            bucket.set(0.25, at, rate);
            bucket.due(rate)
        };
        assert_eq!(refilled(Time::from_us(18)), Time::from_us(18 + 12));
        assert_eq!(refilled(Time::from_us(24)), Time::from_us(24));
        assert_eq!(refilled(Time::from_us(1_000)), Time::from_us(1_000));
    }
}
