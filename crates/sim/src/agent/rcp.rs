//! RCP at a port: one rate for all flows, so that together they fill the link.
//!
//! Source: Dukkipati and McKeown, "Why flow-completion time is the right metric for congestion control", CCR
//! 2006; the order of its steps is that of the authors' code for ns-2 (ns-2.35 with the RCP patch of
//! cs244-14-rcp, mode 0). At the end of each timeslot the rate grows by the share of the link that was left,
//! and shrinks by the bytes queued.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::gains::Gains;
use super::interval::{self, Intervals};
use super::{Build, Settings};
use crate::derived::{Derived, Environment, Values};
use crate::engine::contract::agent::{AgentContext, PortAgent};
use crate::engine::contract::packet::{Packet, Record};
use crate::normal;
use crate::topology::Link;
use crate::units::{SECOND, Time};

/// Fields of RCP's routers. Defaults are those of data centres; the authors' ns-2 model has alpha and beta
/// 0.4, a timeslot of 10 ms and an initial round trip of 200 ms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RcpPort {
    /// Share of the spare capacity that is allocated in a round trip.
    #[schemars(range(min = 0.0, max = 10.0))]
    pub alpha: f64,
    /// Share of the queue that is drained in a round trip.
    #[schemars(range(min = 0.0, max = 10.0))]
    pub beta: f64,
    /// Share of the link that is to be used.
    #[schemars(range(min = 0.01, max = 1.0))]
    pub gamma: f64,
    /// The first rate, as a share of the link's: that of each flow until the first update.
    #[schemars(range(min = 0.000001, max = 1.0))]
    pub initial_rate: f64,
    /// The mean round trip before the first sample. "derived": that of the network's longest path.
    #[schemars(extend("x-minimum" = "1ns"))]
    pub initial_rtt: Derived<Time>,
    /// The rate is computed anew after this time, or after a mean round trip if that is shorter. "derived": as `initial_rtt`.
    #[schemars(extend("x-minimum" = "1ns"))]
    pub timeslot: Derived<Time>,
    /// The least rate: so many packets of 1000 B in a round trip.
    #[schemars(range(min = 0.000001, max = 1000.0))]
    pub min_packets: f64,
}

impl Default for RcpPort {
    fn default() -> Self {
        RcpPort {
            alpha: 0.1,
            beta: 1.0,
            gamma: 1.0,
            initial_rate: 0.1,
            initial_rtt: Derived::FromNetwork,
            timeslot: Derived::FromNetwork,
            min_packets: 0.01,
        }
    }
}

impl RcpPort {
    fn initial_rtt(&self) -> Time {
        self.initial_rtt.or(interval::LEAST)
    }

    fn timeslot(&self) -> Time {
        self.timeslot.or(interval::LEAST)
    }
}

impl Settings for RcpPort {
    fn serves(&self) -> &'static str {
        "rcp"
    }

    fn gains(&self) -> Option<Gains> {
        Some(Gains { alpha: self.alpha, beta: self.beta, interval: None })
    }

    fn derived(&self, environment: &Environment) -> Values {
        interval::derived(
            &[("initial_rtt", self.initial_rtt), ("timeslot", self.timeslot)],
            &environment.longest,
        )
    }
}

impl Build for RcpPort {
    type Model = Model;

    fn model(&self, link: &Link) -> Model {
        let rtt = self.initial_rtt();
        Model {
            alpha: self.alpha,
            beta: self.beta,
            gamma: self.gamma,
            min_packets: self.min_packets,
            timeslot: self.timeslot(),
            rate: self.initial_rate * link.rate.0 as f64,
            rtt: rtt.seconds(),
            intervals: Intervals::default(),
            arrived: 0,
            rtt_bytes: 0.0,
            rtt_sum: 0.0,
        }
    }
}

/// Words of the record that packets of RCP carry.
pub mod word {
    /// The least rate on the way so far, in bit/s: switches lower it, the receiver sends it back.
    pub const RATE: usize = 0;
    /// The sender's estimate of the round trip in ps; 0: it has none.
    pub const RTT: usize = 1;
}

/// The rate at one port. Rates are in bit/s, times in seconds.
#[derive(Clone, Debug)]
pub struct Model {
    alpha: f64,
    beta: f64,
    gamma: f64,
    min_packets: f64,
    timeslot: Time,
    rate: f64,
    /// Mean round trip of the packets that pass.
    rtt: f64,
    intervals: Intervals,
    /// Bytes that had come before the present interval.
    arrived: u64,
    /// Of packets in this interval that carry their round trip: bytes, and bytes times round trip.
    rtt_bytes: f64,
    rtt_sum: f64,
}

impl Model {
    /// The length of the next interval.
    fn interval(&self) -> Time {
        self.timeslot.min(Time((self.rtt * SECOND as f64) as u64)).max(Time::from_ns(1))
    }

    /// The mean round trip after an interval of so many seconds.
    fn note_round_trips(&mut self, length: f64, capacity: f64) {
        if self.rtt_bytes == 0.0 {
            return;
        }
        let sample = self.rtt_sum / self.rtt_bytes;
        let share = length / self.rtt;
        let gain =
            if sample >= self.rtt { share } else { self.rate / capacity * (sample / self.rtt) * share };
        self.rtt += gain.min(1.0) * (sample - self.rtt);
        (self.rtt_bytes, self.rtt_sum) = (0.0, 0.0);
    }

    /// The rate after an interval of so many seconds, in which `traffic` bit/s arrived and at whose end so
    /// many bits are queued.
    fn update(&mut self, length: f64, traffic: f64, waiting: f64, line: f64) {
        let capacity = self.gamma * line;
        self.note_round_trips(length, line);
        let spare = self.alpha * (capacity - traffic) - self.beta * waiting / self.rtt;
        self.rate *= 1.0 + length / self.rtt * spare / capacity;
        let least = self.min_packets * 8000.0 / self.rtt;
        self.rate = self.rate.max(least).min(capacity);
    }
}

impl PortAgent for Model {
    /// An idle port notes its counters when its interval begins.
    #[inline]
    fn reads_bytes(&self) -> bool {
        true
    }

    #[inline]
    fn on_packet(&mut self, packet: &mut Packet, record: &mut Record, cx: &mut AgentContext) {
        if self.intervals.rests() {
            // Ports do not compute in step: the first interval is drawn from normal(T, 0.2 T).
            let mean = self.interval().0 as f64;
            let first = (mean + 0.2 * mean * normal::quantile(cx.stream.unit())).max(0.0);
            self.arrived = cx.arrived_bytes();
            self.intervals.begin(Time(first as u64), cx);
        }
        let Record(words) = record;
        if words[word::RTT] != 0 {
            let size = f64::from(packet.size);
            self.rtt_bytes += size;
            self.rtt_sum += size * Time(words[word::RTT]).seconds();
        }
        words[word::RATE] = words[word::RATE].min(self.rate as u64);
    }

    fn tick(&mut self, cx: &mut AgentContext) {
        let length = self.intervals.length(cx.now).seconds();
        let arrived = cx.arrived_bytes();
        let came = arrived - self.arrived;
        let (waiting, line) = (cx.waiting_bytes(), cx.rate().0 as f64);
        let before = self.rate;
        self.update(length, came as f64 * 8.0 / length, waiting as f64 * 8.0, line);
        // With nothing to see, nothing changes any more: the next packet begins the next interval.
        let rests = came == 0 && waiting == 0 && self.rate == before;
        self.arrived = arrived;
        match rests {
            true => self.intervals.rest(),
            false => self.intervals.begin(self.interval(), cx),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::kind;
    use crate::engine::contract::agent::tests::{FakePort, link};
    use crate::units::Rate;

    fn port(config: &RcpPort) -> Model {
        config.model(&link(Rate(1_000_000_000)))
    }

    /// By hand: C = 1 Gbps, d = 0.2 s, T = 10 ms, alpha = beta = 0.4, R = 0.1 C. An idle interval:
    /// R (1 + 0.05 * 0.4) = 0.102 C. With half of the link in use and 1 MB waiting:
    /// 0.102 C (1 + 0.05 (0.2 - 0.4 * 8 Mbit / 0.2 s / 1 Gbps)) = 0.102 C (1 + 0.05 * 0.184) = 0.1029384 C.
    #[test]
    fn the_rate_grows_by_what_is_left_and_shrinks_by_what_waits() {
        let ns2 = RcpPort {
            alpha: 0.4,
            beta: 0.4,
            initial_rtt: Derived::Given(Time::from_us(200_000)),
            timeslot: Derived::Given(Time::from_us(10_000)),
            ..RcpPort::default()
        };
        let mut port = port(&ns2);
        port.update(0.01, 0.0, 0.0, 1e9);
        assert!((port.rate - 0.102e9).abs() < 1.0, "{}", port.rate);
        port.update(0.01, 0.5e9, 8e6, 1e9);
        assert!((port.rate - 0.102_938_4e9).abs() < 1.0, "{}", port.rate);
    }

    /// By hand: d = 0.2 s and a sample of 0.4 s in an interval of 10 ms: gain 0.05, d = 0.21 s. A sample of 0.105 s then
    /// has the gain (R/C)(s/d)(T/d) = 0.5 * 0.5 * 0.047619 = 0.0119048: d = 0.21 - 0.0119048 * 0.105 = 0.20875 s.
    #[test]
    fn the_mean_round_trip_follows_the_samples() {
        let config = RcpPort {
            initial_rate: 0.5,
            initial_rtt: Derived::Given(Time::from_us(200_000)),
            timeslot: Derived::Given(Time::from_us(10_000)),
            ..RcpPort::default()
        };
        let (mut port, mut at) = (port(&config), FakePort::new(0));
        let mut passes = |port: &mut Model, ms: u64| {
            let mut record = Record::default();
            record.0[word::RTT] = Time::from_us(1000 * ms).0;
            at.packet(port, 1, kind::DATA_ASKS, &mut record);
        };
        passes(&mut port, 400);
        port.note_round_trips(0.01, 1e9);
        assert!((port.rtt - 0.21).abs() < 1e-12, "{}", port.rtt);
        // An interval without a sample leaves it, and what was sampled before counts once.
        passes(&mut port, 0);
        port.note_round_trips(0.01, 1e9);
        assert!((port.rtt - 0.21).abs() < 1e-12, "{}", port.rtt);
        passes(&mut port, 105);
        port.note_round_trips(0.01, 1e9);
        assert!((port.rtt - 0.20875).abs() < 1e-9, "{}", port.rtt);
    }

    /// By hand: C = 1 Gbps, d = T = 100 us, R = 0.1 C. With beta 1, 1250 B that wait are a tenth of what the link carries in d:
    /// 0.9 R. With alpha 0.5, 6250 B that came in the interval are half of that: R (1 + 0.5 * 0.5). The port reads both at
    /// its tick, and counts what comes from one tick to the next.
    #[test]
    fn a_tick_reads_what_waits_and_what_came() {
        let after = |alpha, beta, waiting, came: [u64; 2]| {
            let d = Derived::Given(Time::from_us(100));
            let config = RcpPort { alpha, beta, initial_rtt: d, timeslot: d, ..RcpPort::default() };
            let (mut port, mut at) = (port(&config), FakePort::new(0));
            at.arrived = 99_000;
            at.packet(&mut port, 1, kind::DATA_ASKS, &mut Record::default());
            at.waiting = waiting;
            came.map(|came| {
                at.now = at.now + Time::from_us(100);
                at.arrived += came;
                at.tick(&mut port);
                let mut record = Record::default();
                record.0[word::RATE] = u64::MAX;
                at.packet(&mut port, 1, kind::DATA_ASKS, &mut record);
                record.0[word::RATE]
            })
        };
        assert_eq!(after(0.0, 1.0, 1250, [0, 0]), [90_000_000, 81_000_000]);
        assert_eq!(after(0.5, 0.0, 0, [6250, 6250]), [125_000_000, 156_250_000]);
    }

    #[test]
    fn the_rate_stays_between_its_bounds() {
        let mut port = port(&RcpPort::default());
        (0..10_000).for_each(|_| port.update(1e-4, 0.0, 0.0, 1e9));
        assert_eq!(port.rate, 1e9);
        (0..10_000).for_each(|_| port.update(1e-4, 5e9, 1e9, 1e9));
        let least = 0.01 * 8000.0 / port.rtt;
        assert!((port.rate - least).abs() < 1e-6 * least, "{}", port.rate);
    }
}
