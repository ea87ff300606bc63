//! FECN at a port: one rate for all flows, by the port's load and the length of its queue.
//!
//! Source: Jain, So-In and Al Tamimi, "System-level modeling of IEEE 802.1 Ethernet congestion notification", and the authors'
//! proposal to IEEE 802.1 (forward explicit congestion notification, 2007), by heart: constants are marked with a K in the
//! documentation of fields. In each interval the port counts its arrivals; at its end the advertised rate becomes
//!
//! ```text
//! r = min(C, r f(q) / rho), rho = arrivals / (C T),
//! f(q) = a q_eq / ((a - 1) q + q_eq) for q <= q_eq, else max(c, b q_eq / ((b - 1) q + q_eq)).
//! ```
//!
//! Packets carry the least rate on their way to the receiver, which returns it, and senders send at it: the transport is RCP's. In
//! the proposal a tag goes each millisecond, here each packet has one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::interval::Intervals;
use super::rcp::word;
use super::{Build, Settings};
use crate::engine::contract::agent::{AgentContext, PortAgent};
use crate::engine::contract::packet::{Packet, Record};
use crate::topology::Link;
use crate::units::{Bytes, Time};

/// Fields of FECN's switches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FecnPort {
    /// T: the rate is computed anew after this time (1 ms, K).
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
    pub interval: Time,
    /// `q_eq`: the queue that is aimed at. Absent: a fifth of the bytes that the link carries in an interval. Below (b - 1) / (2 b) of them, a
    /// twelfth, rates oscillate: after an interval the load is f(q), and the queue grows by f(q) - 1 of these bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "64B", "x-maximum" = "1GB"))]
    pub equilibrium: Option<Bytes>,
    /// a: with an empty queue the rate grows by this factor beyond its share of the link (K).
    #[schemars(range(min = 1.0, max = 10.0))]
    pub rise: f64,
    /// b: the slope above `equilibrium` (K).
    #[schemars(range(min = 1.0, max = 10.0))]
    pub fall: f64,
    /// c: the least factor (K).
    #[schemars(range(min = 0.01, max = 1.0))]
    pub least: f64,
    /// The first rate, as a share of the link's: that of each flow until the first update.
    #[schemars(range(min = 0.000001, max = 1.0))]
    pub initial_rate: f64,
}

impl Default for FecnPort {
    fn default() -> Self {
        FecnPort {
            interval: Time::from_us(1000),
            equilibrium: None,
            rise: 1.05,
            fall: 1.2,
            least: 0.5,
            initial_rate: 1.0,
        }
    }
}

impl FecnPort {
    /// f: 1 at the queue that is aimed at, so many bytes.
    fn factor(&self, queue: u64, aim: f64) -> f64 {
        let queue = queue as f64;
        let hyperbola = |slope: f64| slope * aim / ((slope - 1.0) * queue + aim);
        if queue <= aim { hyperbola(self.rise) } else { hyperbola(self.fall).max(self.least) }
    }
}

impl Settings for FecnPort {
    fn serves(&self) -> &'static str {
        "rcp"
    }
}

impl Build for FecnPort {
    type Model = Model;

    fn model(&self, link: &Link) -> Model {
        let rate = self.initial_rate * link.rate.0 as f64;
        Model { config: self.clone(), rate, intervals: Intervals::default(), arrived: 0 }
    }
}

/// The rate at one port, in bit/s.
#[derive(Clone, Debug)]
pub struct Model {
    config: FecnPort,
    rate: f64,
    intervals: Intervals,
    /// Bytes that had come before the present interval.
    arrived: u64,
}

impl Model {
    /// The rate after an interval with that load, at whose end so many bytes wait.
    fn update(&mut self, load: f64, waiting: u64, line: f64) {
        let carried = line / 8.0 * self.config.interval.seconds();
        let aim = self.config.equilibrium.map_or(carried / 5.0, |bytes| bytes.0 as f64);
        let share = self.config.factor(waiting, aim) / load;
        // Without a load any rate is too low.
        self.rate = (self.rate * share).min(line).max(1.0);
    }
}

impl PortAgent for Model {
    /// An idle port notes its counters when its interval begins.
    #[inline]
    fn reads_bytes(&self) -> bool {
        true
    }

    #[inline]
    fn on_packet(&mut self, _packet: &mut Packet, record: &mut Record, cx: &mut AgentContext) {
        if self.intervals.rests() {
            self.arrived = cx.arrived_bytes();
            self.intervals.begin(self.config.interval, cx);
        }
        let Record(words) = record;
        words[word::RATE] = words[word::RATE].min(self.rate as u64);
    }

    fn tick(&mut self, cx: &mut AgentContext) {
        let length = self.intervals.length(cx.now).seconds();
        let arrived = cx.arrived_bytes();
        let came = arrived - self.arrived;
        let (waiting, line) = (cx.waiting_bytes(), cx.rate().0 as f64);
        let before = self.rate;
        self.update(came as f64 * 8.0 / (length * line), waiting, line);
        self.arrived = arrived;
        // With nothing to see, nothing changes any more: the next packet begins the next interval.
        match came == 0 && waiting == 0 && self.rate == before {
            true => self.intervals.rest(),
            false => self.intervals.begin(self.config.interval, cx),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::kind;
    use crate::engine::contract::agent::tests::{FakePort, link};
    use crate::units::Rate;

    /// By hand, with 24 kB aimed at: 1.05 with an empty queue; 1 at 24 kB, from both sides; at 48 kB 1.2 / 1.4; at 24 MB no less
    /// than a half.
    #[test]
    fn the_factor_is_one_at_the_queue_aimed_at() {
        let config = FecnPort::default();
        for (queue, factor) in
            [(0, 1.05), (24_000, 1.0), (24_001, 1.0), (48_000, 1.2 / 1.4), (24_000_000, 0.5)]
        {
            let found = config.factor(queue, 24_000.0);
            assert!((found - factor).abs() < 1e-5, "{queue}: {found}");
        }
    }

    /// LIT-FECN-1, at the port: n senders at the advertised rate, which queue all that the link does not carry. They begin at the
    /// rate of the link; ten intervals of 1 ms after that queue is drained the rate is C / n to 2 %.
    #[test]
    fn senders_share_the_link() {
        let line = 1e10;
        for senders in [1.0, 2.0, 10.0, 40.0] {
            let mut port = FecnPort::default().model(&link(Rate(10_000_000_000)));
            let (mut queue, mut drained) = (0.0, 0);
            while drained <= 10 {
                let load = senders * port.rate / line;
                queue = f64::max(0.0, queue + (load - 1.0) * line / 8.0 * 1e-3);
                port.update(load, queue as u64, line);
                drained += u32::from(drained > 0 || queue < 500_000.0);
            }
            assert!((port.rate * senders / line - 1.0).abs() < 0.02, "{senders}: {}", port.rate);
        }
    }

    /// By hand: 625 kB in an interval of 1 ms at 1 Gbps are a load of 5: a rate of the whole link becomes 1.05 / 5 of it. The
    /// packets of an interval have the rate before; with nothing to come the rate rises to the link's, and the port rests.
    #[test]
    fn a_tick_counts_what_came() {
        let (mut port, mut at) = (FecnPort::default().model(&link(Rate(1_000_000_000))), FakePort::new(0));
        at.arrived = 5_000;
        let mut record = Record([u64::MAX; 8]);
        at.packet(&mut port, 1, kind::DATA_ASKS, &mut record);
        assert_eq!(record.0[word::RATE], 1_000_000_000);
        (at.now, at.arrived) = (Time::from_us(1000), 630_000);
        at.tick(&mut port);
        assert!((port.rate - 2.1e8).abs() < 1.0, "{}", port.rate);
        for ms in 2..5 {
            at.now = Time::from_us(1000 * ms);
            if port.intervals.rests() {
                break;
            }
            at.tick(&mut port);
        }
        assert_eq!(port.rate, 1e9);
        assert!(port.intervals.rests());
    }
}
