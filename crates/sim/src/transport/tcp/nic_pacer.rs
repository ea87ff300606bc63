//! HULL's pacer: a token bucket in a host's network interface spaces the segments of its flows whose packets are marked.
//!
//! Source: Alizadeh, Kabbani, Edsall, Prabhakar, Vahdat and Yasuda, "Less is more: trading a little bandwidth for ultra-low
//! latency in the data center", NSDI 2012; constants from memory of the paper are fields. Every interval the
//! rate of the bucket becomes (1 - eta) R + eta M / T + beta Q, of the payload M that came to the pacer in the interval
//! T and its backlog Q. A flow comes under the pacer with a probability at each acknowledgement that echoes a mark, and
//! leaves it a while after the latest of these. All such flows of an interface share the bucket.
//!
//! A segment has come to the pacer here once the flow's window lets it go. It stays with the flow, which may send it
//! when the bucket has its bytes: the interface has no queue of its own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::engine::contract::event::Owner;
use crate::engine::contract::host::{Host, Timer};
use crate::ids::ConnId;
use crate::random::{Purpose, Stream};
use crate::units::{Bytes, Rate, SECOND, Time};

/// The timer of a segment that waits for the bucket.
pub const BUCKET: u8 = 4;

/// HULL's pacer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NicPacer {
    /// p_a: probability with which an acknowledgement that echoes a mark puts its flow under the pacer (1/8).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub association: f64,
    /// T_i: a flow leaves the pacer so long after the latest such acknowledgement (10 ms).
    #[schemars(extend("x-maximum" = "1000s"))]
    pub lasts: Time,
    /// T_r: time between two changes of the rate (64 us).
    #[schemars(extend("x-minimum" = "1us", "x-maximum" = "1s"))]
    pub interval: Time,
    /// eta: weight of an interval's payload in the rate (0.125).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub eta: f64,
    /// beta: rate added each interval for so much backlog, in 1/s (16).
    #[schemars(range(min = 0.0, max = 1e6))]
    pub beta: f64,
    /// Bytes that the bucket holds (24 KB).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1GB"))]
    pub bucket: Bytes,
}

impl Default for NicPacer {
    fn default() -> Self {
        NicPacer {
            association: 0.125,
            lasts: Time::from_us(10_000),
            interval: Time::from_us(64),
            eta: 0.125,
            beta: 16.0,
            bucket: Bytes(24_000),
        }
    }
}

/// The token bucket of an interface.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bucket {
    /// In bytes of payload a second.
    rate: f64,
    tokens: f64,
    /// When the tokens were counted.
    at: Time,
    /// When the rate changes next; zero before the first use.
    next: Time,
    /// Payload that has come in this interval.
    arrived: u64,
    /// Payload that waits.
    backlog: u64,
}

impl Bucket {
    /// Brings rate and tokens up to the time. A bucket that is new is full, and has the rate of its port.
    fn advance(&mut self, rules: &NicPacer, port: Rate, now: Time) {
        if self.next == Time::ZERO {
            (self.rate, self.tokens, self.at) = (port.0 as f64 / 8.0, rules.bucket.0 as f64, now);
            self.next = now + rules.interval;
        }
        while self.next <= now {
            self.fill(rules, self.next);
            let measured = self.arrived as f64 / rules.interval.seconds();
            self.rate =
                (1.0 - rules.eta) * self.rate + rules.eta * measured + rules.beta * self.backlog as f64;
            self.next = self.next + rules.interval;
            if self.arrived == 0 && self.backlog == 0 && self.next <= now {
                self.rest(rules, now);
            }
            self.arrived = 0;
        }
        self.fill(rules, now);
    }

    /// Passes over the intervals until then, in which nothing comes or waits.
    fn rest(&mut self, rules: &NicPacer, now: Time) {
        let intervals = (now - self.next).0 / rules.interval.0;
        self.fill(rules, self.next);
        self.rate *= (1.0 - rules.eta).powi(intervals.min(i32::MAX as u64) as i32);
        self.next = self.next + Time(intervals * rules.interval.0);
    }

    fn fill(&mut self, rules: &NicPacer, until: Time) {
        let come = self.rate * until.saturating_sub(self.at).seconds();
        (self.tokens, self.at) = ((self.tokens + come).min(rules.bucket.0 as f64), self.at.max(until));
    }

    /// When so many bytes may go, if not now: then, or when the rate changes. More than the bucket holds wait for a full one.
    fn due(&self, rules: &NicPacer, bytes: u64) -> Option<Time> {
        let missing = (bytes.min(rules.bucket.0)) as f64 - self.tokens;
        if missing <= 0.0 {
            return None;
        }
        let wait = (missing / self.rate * SECOND as f64).ceil();
        let due =
            if wait < Time::NEVER.0 as f64 { self.at.saturating_add(Time(wait as u64)) } else { Time::NEVER };
        Some(due.min(self.next))
    }
}

/// A connection at the pacer of its interface.
#[derive(Debug, Default)]
pub struct Paced {
    /// Until when it is under the pacer.
    until: Time,
    /// Its part of the backlog.
    waiting: u64,
    timer: Timer,
    stream: Stream,
}

impl Paced {
    /// Starts over for another connection, whose first flow has that key.
    pub fn reset(&mut self, key: u64, cx: &impl Host) {
        *self = Paced { stream: cx.flow_stream(Purpose::Pacer, key), ..Paced::default() };
    }

    /// An acknowledgement has come, with the echo of a mark or without; the window now lets so much payload go.
    pub fn on_ack(
        &mut self,
        marked: bool,
        waiting: u64,
        at: &mut Bucket,
        rules: &NicPacer,
        port: Rate,
        now: Time,
    ) {
        at.advance(rules, port, now);
        if marked && self.stream.unit() < rules.association {
            self.until = now.saturating_add(rules.lasts);
        }
        self.wait(waiting, at, now);
    }

    /// Whether the next segment, of at most so many bytes, has to wait; so much payload could go by the window. The timer
    /// is set then.
    pub fn holds(
        &mut self,
        id: ConnId,
        (next, waiting): (u64, u64),
        at: &mut Bucket,
        rules: &NicPacer,
        cx: &mut impl Host,
    ) -> bool {
        let (now, rate) = (cx.now(), cx.rate(cx.port(id)));
        at.advance(rules, rate, now);
        self.wait(waiting, at, now);
        let due = if self.until > now { at.due(rules, next) } else { None };
        match due {
            Some(due) => cx.set_timer(&mut self.timer, due, Owner::Sender(id), BUCKET),
            None => self.timer.clear(),
        }
        due.is_some()
    }

    /// A segment of so many bytes is sent.
    pub fn on_send(&mut self, len: u64, at: &mut Bucket, now: Time) {
        if self.until <= now {
            return;
        }
        // A retransmission is not part of what the window let go.
        at.arrived += len.saturating_sub(self.waiting);
        at.tokens = (at.tokens - len as f64).max(0.0);
        let gone = len.min(self.waiting);
        self.waiting -= gone;
        at.backlog -= gone;
    }

    /// Whether its timer has expired.
    pub fn is_due(&mut self, id: ConnId, cx: &mut impl Host) -> bool {
        cx.timer_is_due(&mut self.timer, Owner::Sender(id), BUCKET)
    }

    /// Its part of the backlog: nothing if it is not under the pacer.
    fn wait(&mut self, waiting: u64, at: &mut Bucket, now: Time) {
        let waiting = if self.until > now { waiting } else { 0 };
        at.arrived += waiting.saturating_sub(self.waiting);
        at.backlog = at.backlog + waiting - self.waiting;
        self.waiting = waiting;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PORT: Rate = Rate(10_000_000_000);

    fn us(time: u64) -> Time {
        Time::from_us(time)
    }

    /// A connection that is under the pacer until 10 ms, and its interface.
    fn paced() -> (Paced, Bucket) {
        (Paced { until: us(10_000), ..Paced::default() }, Bucket::default())
    }

    /// By hand: 1.25 GB/s at first. 64 KB come in the first interval of 64 us, which is 1 GB/s, and 24 KB of them go: 40 KB
    /// stay. The rate is 7/8 of 1.25 and 1/8 of 1 GB/s, and 16 times 40 KB: 1.21939 GB/s. An interval later, without
    /// arrivals: 7/8 of that and the 640 KB/s again.
    #[test]
    fn the_rate_follows_arrivals_and_backlog() {
        let (mut own, mut bucket, rules) = (paced().0, paced().1, NicPacer::default());
        own.on_ack(false, 64_000, &mut bucket, &rules, PORT, us(1));
        for _ in 0..24 {
            assert_eq!(bucket.due(&rules, 1_000), None);
            own.on_send(1_000, &mut bucket, us(1));
        }
        assert_eq!((bucket.backlog, bucket.arrived), (40_000, 64_000));
        // 1000 B at 1.25 GB/s.
        assert_eq!(bucket.due(&rules, 1_000), Some(Time(1_800_000)));
        bucket.advance(&rules, PORT, us(65));
        let first = 0.875 * 1.25e9 + 0.125 * 1e9 + 16.0 * 40e3;
        assert!((bucket.rate - first).abs() < 1.0, "{}", bucket.rate);
        bucket.advance(&rules, PORT, us(129));
        assert!((bucket.rate - (0.875 * first + 16.0 * 40e3)).abs() < 1.0, "{}", bucket.rate);
    }

    /// Where nothing comes the rate falls by an eighth each interval: 1000 of them in one step or in each.
    #[test]
    fn a_pause_is_passed_over() {
        let rules = NicPacer::default();
        let (mut at_once, mut each) = (Bucket::default(), Bucket::default());
        at_once.advance(&rules, PORT, us(1));
        (1..=100).for_each(|interval| each.advance(&rules, PORT, us(1 + 64 * (interval - 1))));
        at_once.advance(&rules, PORT, us(1 + 64 * 99));
        assert_eq!(at_once.next, each.next);
        assert!((at_once.rate / each.rate - 1.0).abs() < 1e-9);
        assert!((each.rate / (1.25e9 * 0.875f64.powi(99)) - 1.0).abs() < 1e-9);
    }

    /// A bucket without rate waits for the next interval, in which the backlog gives it one.
    #[test]
    fn an_empty_bucket_waits_for_its_rate() {
        let (mut own, mut bucket) = paced();
        let rules = NicPacer { eta: 1.0, ..NicPacer::default() };
        bucket.advance(&rules, PORT, us(1));
        bucket.advance(&rules, PORT, us(65));
        assert_eq!(bucket.rate, 0.0);
        bucket.tokens = 0.0;
        own.on_ack(false, 10_000, &mut bucket, &rules, PORT, us(70));
        assert_eq!(bucket.due(&rules, 1_000), Some(us(129)));
        bucket.advance(&rules, PORT, us(129));
        assert!((bucket.rate - (10_000.0 / 64e-6 + 160_000.0)).abs() < 1.0);
    }

    /// A connection leaves with its part of the backlog when no mark has come for a while; a mark brings it back, with the
    /// probability that is asked for.
    #[test]
    fn connections_come_and_leave() {
        let (mut own, mut bucket, rules) = (paced().0, paced().1, NicPacer::default());
        own.on_ack(false, 5_000, &mut bucket, &rules, PORT, us(9_999));
        assert_eq!(bucket.backlog, 5_000);
        own.on_ack(false, 5_000, &mut bucket, &rules, PORT, us(10_000));
        assert_eq!(bucket.backlog, 0);
        let always = NicPacer { association: 1.0, ..rules.clone() };
        own.on_ack(true, 5_000, &mut bucket, &always, PORT, us(20_000));
        assert_eq!((own.until, bucket.backlog), (us(30_000), 5_000));
        let mut come = 0;
        for number in 0..8_000 {
            let stream = Stream::new(1, 0, Purpose::Pacer, number);
            let (mut own, mut bucket) = (Paced { stream, ..Paced::default() }, Bucket::default());
            own.on_ack(true, 0, &mut bucket, &rules, PORT, us(1));
            come += u32::from(own.until > us(1));
        }
        // 1000 of 8000 are expected, and 30 are a standard deviation.
        assert!((900..1_100).contains(&come), "{come}");
    }
}
