//! NUMFabric at a port: the price of its link, by which flows find the weights that maximise their utility together.
//!
//! Source: Nagaraj, Bharadia, Mao, Chinchali, Alizadeh and Katti, "NUMFabric: Fast and Flexible Bandwidth Allocation in
//! Datacenters", SIGCOMM 2016; the order of the steps is that of the authors' code for ns-3 (jiaqing-phd/numfabric,
//! `PrioQueue`, with `price_multiply`). Each packet carries its flow's residual, by how much a further bit is worth more to
//! the flow than its path costs, for each link of the path. At the end of an interval a price grows by the least residual
//! that came, and shrinks by the share of the link that was left.
//!
//! All ports end their intervals at the same instants, multiples of the interval: in the authors' code all begin together. A
//! packet gets the price as it comes to the port, where the authors' code adds it as it leaves.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::interval::Intervals;
use super::{Build, Settings};
use crate::engine::contract::agent::{AgentContext, PortAgent};
use crate::engine::contract::packet::{Packet, Record};
use crate::problem::Problem;
use crate::topology::Link;
use crate::units::Time;

/// The price of a link under NUMFabric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NumfabricPort {
    /// Fall of the price of an idle link in an interval, as a multiple of the price, before `beta` (paper: 5).
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub eta: f64,
    /// Part of the old price in the new one (paper: 0.5).
    #[schemars(range(min = 0.0, max = 0.999))]
    pub beta: f64,
    /// The price is computed anew after each of these (paper: 30 us, about two round trips). All ports do so at once.
    #[schemars(extend("x-minimum" = "1us", "x-maximum" = "1s"))]
    pub interval: Time,
    /// Residuals do not count for so long after a new price: they follow from the old one (authors' runs: 3 us). Less than
    /// `interval`.
    #[schemars(extend("x-maximum" = "1s"))]
    pub guard: Time,
}

impl Default for NumfabricPort {
    fn default() -> Self {
        NumfabricPort { eta: 5.0, beta: 0.5, interval: Time::from_us(30), guard: Time::from_us(3) }
    }
}

impl Settings for NumfabricPort {
    fn serves(&self) -> &'static str {
        "numfabric"
    }

    fn problems(&self) -> Vec<Problem> {
        let wrong = self.guard >= self.interval;
        let message = format!("\"{}\" is not below interval, which is \"{}\"", self.guard, self.interval);
        wrong.then(|| Problem::new("guard", message)).into_iter().collect()
    }
}

impl Build for NumfabricPort {
    type Model = Model;

    fn model(&self, _link: &Link) -> Model {
        Model {
            config: self.clone(),
            price: 0.0,
            residual: f64::INFINITY,
            counts_from: Time::ZERO,
            intervals: Intervals::default(),
            rests_since: Time::ZERO,
            sent: 0,
            carried: 0.0,
        }
    }
}

/// Words of the record that packets of NUMFabric carry; fractions by their bits.
pub mod word {
    /// The sum of the prices on the way so far, in units of utility for each Mb/s.
    pub const PRICE: usize = 0;
    /// The flow's residual, in the same unit; infinite if it is not known, so that it is never the least.
    pub const RESIDUAL: usize = 1;
    /// Links on the way so far.
    pub const LINKS: usize = 2;
}

/// The price at one port.
#[derive(Clone, Debug)]
pub struct Model {
    config: NumfabricPort,
    price: f64,
    /// The least residual in this interval; infinite if none came.
    residual: f64,
    /// When the guard is over.
    counts_from: Time,
    intervals: Intervals,
    /// While the port rests: since when it has.
    rests_since: Time,
    /// Bytes that had been sent before the present interval.
    sent: u64,
    /// Bytes of a packet that was on the wire when the interval began which that had still to transmit: the port counts a
    /// packet when its transmission begins.
    carried: f64,
}

impl Model {
    /// The factor of the price in an interval in which the link is idle.
    fn idle_factor(&self) -> f64 {
        self.config.beta + (1.0 - self.config.beta) * (1.0 - self.config.eta).max(0.0)
    }

    /// The port has rested: its price is that after the intervals that have ended meanwhile.
    fn wake(&mut self, cx: &mut AgentContext) {
        let interval = self.config.interval.0;
        let idle = (cx.now - self.rests_since).0 / interval;
        if self.price > 0.0 {
            self.price *= libm::pow(self.idle_factor(), idle as f64);
        }
        (self.sent, self.carried) = (cx.sent_bytes(), 0.0);
        self.begin(cx);
    }

    /// An interval begins, which ends with those of all other ports.
    fn begin(&mut self, cx: &mut AgentContext) {
        let interval = self.config.interval.0;
        self.intervals.begin(Time(interval - cx.now.0 % interval), cx);
    }

    /// The price after an interval in which that share of the link was used.
    fn update(&mut self, used: f64) {
        let NumfabricPort { eta, beta, .. } = self.config;
        let residual = if self.residual.is_finite() { self.residual } else { 0.0 };
        let price = self.price + residual - eta * (1.0 - used) * self.price;
        self.price = beta * self.price + (1.0 - beta) * price.max(0.0);
        self.residual = f64::INFINITY;
    }

    /// The share of the link that was used in an interval in which the transmissions of so many bytes began, of those that it
    /// could carry.
    fn used(&mut self, begun: u64, capacity: f64) -> f64 {
        let bytes = begun as f64 + self.carried;
        self.carried = (bytes - capacity).max(0.0);
        (bytes / capacity).min(1.0)
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
            self.wake(cx);
        }
        let Record(words) = record;
        if packet.header.len > 0 && cx.now >= self.counts_from {
            self.residual = self.residual.min(f64::from_bits(words[word::RESIDUAL]));
        }
        words[word::PRICE] = (f64::from_bits(words[word::PRICE]) + self.price).to_bits();
        words[word::LINKS] += 1;
    }

    fn tick(&mut self, cx: &mut AgentContext) {
        let sent = cx.sent_bytes();
        let capacity = self.intervals.length(cx.now).seconds() * cx.rate().0 as f64 / 8.0;
        let begun = sent - self.sent;
        let used = self.used(begun, capacity);
        self.update(used);
        self.sent = sent;
        self.counts_from = cx.now + self.config.guard;
        if begun == 0 && cx.waiting_bytes() == 0 {
            // The next packet brings the price up to date.
            self.intervals.rest();
            self.rests_since = cx.now;
        } else {
            self.begin(cx);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::kind;
    use crate::engine::contract::agent::tests::{FakePort, link};
    use crate::units::Rate;

    const INTERVAL: Time = Time::from_us(30);

    fn port(price: f64) -> Model {
        Model { price, ..NumfabricPort::default().model(&link(Rate(1_000_000_000))) }
    }

    /// A packet of data with that residual comes; the price and the links that it leaves with.
    fn passes(port: &mut Model, at: &mut FakePort, residual: f64) -> (f64, u64) {
        let mut record = Record::default();
        record.0[word::RESIDUAL] = residual.to_bits();
        at.data(port, 1, &mut record);
        (f64::from_bits(record.0[word::PRICE]), record.0[word::LINKS])
    }

    /// By hand, eta = 5 and beta = 0.5. A full link with a least residual of 0.2: p = 1, p' = 1.2, (1 + 1.2) / 2 = 1.1. Without
    /// packets of data at 0.9 of the link: p' = 1.1 - 5 * 0.1 * 1.1 = 0.55, p = 0.825. At half of it p' = 0.825 (1 - 2.5) < 0:
    /// half of the price is left. A residual below zero lowers it: 0.4125 - 0.1, p = 0.3625.
    #[test]
    fn the_price_follows_the_least_residual_and_the_idle_share() {
        let mut port = port(1.0);
        let mut after = |residual: f64, used: f64| {
            port.residual = residual;
            port.update(used);
            port.price
        };
        for (residual, used, expected) in
            [(0.2, 1.0, 1.1), (f64::INFINITY, 0.9, 0.825), (0.0, 0.5, 0.4125), (-0.1, 1.0, 0.3625)]
        {
            let price = after(residual, used);
            assert!((price - expected).abs() < 1e-12, "{price}, not {expected}");
        }
    }

    /// Ports compute at multiples of 30 us: a port that sees its first packet at 20 us does so 10 us later. 1250 B fill a link of
    /// 1 Gbps for these, of which 1500 B begin: the other 250 B count in the next interval, of 3750 B, in which 3500 B begin.
    #[test]
    fn a_packet_on_the_wire_counts_in_both_intervals() {
        let (mut port, mut at) = (port(1.0), FakePort::new(0));
        at.now = Time::from_us(20);
        assert_eq!(passes(&mut port, &mut at, 0.5), (1.0, 1));
        (at.now, at.arrived) = (INTERVAL, 1500);
        at.tick(&mut port);
        assert!((port.price - 1.25).abs() < 1e-12 && (port.carried - 250.0).abs() < 1e-9, "{port:?}");
        (at.now, at.arrived) = (Time::from_us(60), 5000);
        at.tick(&mut port);
        assert!((port.price - 1.25).abs() < 1e-9 && port.carried < 1e-6, "{port:?}");
    }

    /// In the 3 us after an update residuals do not count, nor do those of packets without data; unknown ones are never the
    /// least. The least of the others does: 0.25.
    #[test]
    fn residuals_count_behind_the_guard() {
        let (mut port, mut at) = (port(1.0), FakePort::new(0));
        passes(&mut port, &mut at, 9.0);
        (at.now, at.arrived) = (INTERVAL, 3750);
        at.tick(&mut port);
        assert_eq!(port.price, 5.5);
        for (us, residual) in [(32, 0.125), (33, 0.5), (40, 0.25), (50, f64::INFINITY)] {
            at.now = Time::from_us(us);
            assert_eq!(passes(&mut port, &mut at, residual), (5.5, 1));
        }
        let mut record = Record::default();
        at.packet(&mut port, 1, kind::ASK, &mut record);
        assert_eq!((f64::from_bits(record.0[word::PRICE]), record.0[word::LINKS]), (5.5, 1));
        assert_eq!(port.residual, 0.25);
    }

    /// A link is idle from 0 on. Its port rests after 30 us, at half of its price, and at 100 us two further intervals have
    /// ended: an eighth.
    #[test]
    fn an_idle_port_rests_and_its_price_falls_on() {
        let (mut port, mut at) = (port(8.0), FakePort::new(0));
        passes(&mut port, &mut at, f64::INFINITY);
        at.now = INTERVAL;
        at.tick(&mut port);
        assert!(port.intervals.rests() && port.price == 4.0);
        at.now = Time::from_us(100);
        assert_eq!(passes(&mut port, &mut at, f64::INFINITY), (1.0, 1));
    }

    #[test]
    fn the_guard_is_shorter_than_the_interval() {
        let problems = |guard| NumfabricPort { guard, ..NumfabricPort::default() }.problems();
        assert_eq!(problems(Time::from_ns(29_999)), []);
        let [problem] = &problems(INTERVAL)[..] else { panic!("one problem") };
        assert_eq!(problem.message, "\"30us\" is not below interval, which is \"30us\"");
    }
}
