//! PowerTCP: the window follows the power of the busiest port, its throughput times the bytes on its way.
//!
//! Source: Addanki et al., "PowerTCP: Pushing the Performance Limits of Datacenter Networks", NSDI 2022, algorithms 1 (by
//! telemetry) and 2 (theta, by round-trip times). The window by which the law multiplies is that of the last round trip: the
//! authors' simulator keeps it like that, the paper looks up the window of the packet that is acknowledged.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bounds::{self, Bounds};
use super::window::in_time;
use super::{Ack, Control, Settings, Signals, Telemetry};
use crate::advice::Unread;
use crate::derived::{Derived, Longest, Values};
use crate::engine::contract::telemetry::Hop;
use crate::units::{Bytes, Rate, SECOND, Time};

/// PowerTCP: the window follows the power of the busiest port, its throughput and queue growth times its queue and pipe
/// (Addanki et al., NSDI 2022).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PowerTcp {
    /// Source of the power.
    pub mode: Mode,
    /// Weight of the newest window.
    #[schemars(range(min = 0.01, max = 1.0))]
    pub gamma: f64,
    /// Additive increase in a round trip. Absent: a tenth of the bandwidth-delay product of the flow's port, for ten flows
    /// that share it (paper).
    #[schemars(extend("x-minimum" = "1B"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beta: Option<Bytes>,
    /// Power at which nothing changes but by `beta`. Paper: 1; the authors' simulator: 0.95.
    #[schemars(range(min = 0.1, max = 1.0))]
    pub eta: f64,
    /// Least throughput and queue growth of a port that counts, as a share of its rate: 0.5 in the authors' simulator. Paper:
    /// 0, with which theta-PowerTCP oscillates, since a queue that drains has no power at all.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub floor: f64,
    /// Round trip without queues. "derived": the longest of the network, with a full packet and its acknowledgement.
    #[schemars(extend("x-minimum" = "1ns"))]
    pub base_rtt: Derived<Time>,
    /// The rate does not go below this. Absent: 1/1000 of the rate of the flow's port.
    #[schemars(extend("x-minimum" = "1Kbps"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_rate: Option<Rate>,
    /// Multiple of the units in which ports report, as packed by the authors' simulator (INT_MULTI): 128 B of bytes sent and 80 B
    /// of a queue, cut down, and whole ns. Absent: exact values.
    #[schemars(range(min = 1, max = 64))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub int_multi: Option<u32>,
    /// Whether a new rate changes the pause after the last packet, too.
    pub repace: bool,
}

/// Source of the power.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Telemetry of each port, at each acknowledgement.
    Telemetry,
    /// Round-trip times, once in a round trip (theta-PowerTCP).
    Theta,
}

impl Default for PowerTcp {
    fn default() -> Self {
        PowerTcp {
            mode: Mode::Telemetry,
            gamma: 0.9,
            beta: None,
            eta: 1.0,
            floor: 0.5,
            base_rtt: Derived::FromNetwork,
            min_rate: None,
            int_multi: None,
            repace: true,
        }
    }
}

impl Settings for PowerTcp {
    fn signals(&self) -> Signals {
        Signals { telemetry: self.mode == Mode::Telemetry, ..Signals::default() }
    }

    fn unread(&self) -> Vec<Unread> {
        Unread::among([("int_multi", self.mode == Mode::Telemetry, "mode = \"telemetry\"")])
    }

    fn repaces(&self) -> bool {
        self.repace
    }

    fn derived(&self, longest: &Longest) -> Values {
        bounds::base_rtt(&self.base_rtt, longest)
    }
}

/// The window of one flow.
#[derive(Clone, Debug)]
pub struct Model {
    config: PowerTcp,
    base_rtt: Time,
    bounds: Bounds,
    /// Window in bytes, and that of the last round trip.
    window: f64,
    last_window: f64,
    /// Average power, by that of a full pipe without a queue.
    power: f64,
    /// The last acknowledgement: its time and round trip.
    last: Option<(Time, Time)>,
    /// A round trip is over when this byte is acknowledged; 0 before the first acknowledgement.
    round_end: u64,
    /// Ports as the packet left them that was acknowledged last. Apart, so that flows under other controls need no room.
    before: Box<Telemetry>,
}

impl Model {
    /// A flow starts with the bandwidth-delay product of its line.
    pub fn new(config: &PowerTcp, line: Rate) -> Model {
        let bounds = Bounds::new(line, config.min_rate);
        let base_rtt = config.base_rtt.or(Time::from_us(1));
        let window = in_time(bounds.line(), base_rtt);
        Model {
            config: config.clone(),
            base_rtt,
            bounds,
            window,
            last_window: window,
            power: 1.0,
            last: None,
            round_end: 0,
            before: Box::new(Telemetry::NONE),
        }
    }

    /// The average power, by that of a full pipe without a queue.
    pub fn power(&self) -> f64 {
        self.power
    }

    /// Averages a power in over the time that it is of.
    fn average(&mut self, power: f64, over: Time) {
        let weight = over.min(self.base_rtt).0 as f64 / self.base_rtt.0 as f64;
        self.power = self.power * (1.0 - weight) + power * weight;
    }

    /// The window by the law of the paper: gamma (w / power + beta) + (1 - gamma) w.
    fn update(&mut self) {
        let PowerTcp { gamma, beta, eta, .. } = self.config;
        let pipe = in_time(self.bounds.line(), self.base_rtt);
        let beta = beta.map_or(pipe / 10.0, |bytes| bytes.0 as f64);
        let least = in_time(self.bounds.least(), self.base_rtt);
        let window = gamma * (self.last_window / (self.power / eta) + beta) + (1.0 - gamma) * self.window;
        self.window = window.max(least).min(pipe);
    }

    /// Power of a port between the departures of two packets: (throughput + growth of the queue) (queue + pipe) by that of a
    /// full pipe; and the time between.
    fn power_of(&self, (hop, before): (&Hop, &Hop)) -> Option<(f64, Time)> {
        let sent = hop.sent_since(before)? as f64;
        let over = hop.time - before.time;
        let (rate, pipe) = (hop.rate.0 as f64, in_time(hop.rate.0 as f64, self.base_rtt));
        let growth = hop.queue_bytes as f64 - before.queue_bytes as f64;
        let current = (sent + growth) * 8.0 * SECOND as f64 / over.0 as f64;
        let current = current.max(self.config.floor * rate);
        Some((current / rate * (hop.queue_bytes as f64 + pipe) / pipe, over))
    }

    /// The power of the busiest port, by telemetry.
    fn measured(&mut self, telemetry: &Telemetry) -> Option<(f64, Time)> {
        let telemetry = &self.config.int_multi.map_or(*telemetry, |multi| telemetry.packed(multi));
        let before = std::mem::replace(&mut *self.before, *telemetry);
        let powers = telemetry.since(&before)?.filter_map(|pair| self.power_of(pair));
        powers.reduce(|most, one| if one.0 > most.0 { one } else { most })
    }

    /// The power by round-trip times: (growth + 1) round trip by the one without queues.
    fn inferred(&self, ack: &Ack, (at, rtt): (Time, Time)) -> Option<(f64, Time)> {
        let over = ack.now - at;
        if over == Time::ZERO {
            return None;
        }
        let growth = (ack.rtt.0 as f64 - rtt.0 as f64) / over.0 as f64;
        let current = (growth + 1.0).max(self.config.floor);
        Some((current * ack.rtt.0 as f64 / self.base_rtt.0 as f64, over))
    }
}

impl Control for Model {
    fn on_line(&mut self, line: Rate) {
        let free = self.rate() >= self.bounds.line();
        self.bounds.set_line(line);
        let pipe = in_time(self.bounds.line(), self.base_rtt);
        self.window = if free { pipe } else { self.window.min(pipe) };
        self.last_window = self.last_window.min(pipe);
    }

    fn on_ack(&mut self, ack: &Ack, telemetry: &Telemetry) {
        let last = self.last.replace((ack.now, ack.rtt));
        let found = match (self.config.mode, last) {
            (Mode::Telemetry, _) => self.measured(telemetry),
            (Mode::Theta, Some(last)) => self.inferred(ack, last),
            (Mode::Theta, None) => None,
        };
        let ends = ack.una > self.round_end;
        if self.round_end > 0
            && let Some((power, over)) = found
        {
            self.average(power, over);
            if self.config.mode == Mode::Telemetry || ends {
                self.update();
            }
        }
        if ends {
            self.last_window = self.window;
            self.round_end = ack.next;
        }
    }

    #[inline]
    fn rate(&self) -> f64 {
        self.window * 8.0 * SECOND as f64 / self.base_rtt.0 as f64
    }

    #[inline]
    fn window(&self) -> Option<u64> {
        Some((self.window as u64).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bytes;

    /// Algorithm 1 with gamma a half and beta 10 KB, at 100 Gbps and 8 us, a pipe of 100 KB: a full port at which 100
    /// KB wait has a power of 2. In one round trip the window of 100 KB at its start gives (50 + 10) KB twice, and the
    /// window before the update the other half: (60 + 100) / 2 = 80 KB, then (60 + 80) / 2 = 70 KB.
    #[test]
    fn two_updates_in_a_round_trip() {
        let line = Rate(100_000_000_000);
        let config = PowerTcp {
            gamma: 0.5,
            beta: Some(Bytes(10_000)),
            base_rtt: Derived::Given(Time::from_us(8)),
            ..PowerTcp::default()
        };
        let mut model = Model::new(&config, line);
        let windows = [1, 2, 3].map(|answer| {
            let time = Time::from_us(8 * answer);
            let hop = Hop { time, sent: 100_000 * answer as u32, queue_bytes: 100_000, rate: line };
            let ack = Ack { una: 1000 * answer, next: 1_000_000, ..Ack::default() };
            model.on_ack(&ack, &Telemetry::of(&[hop]));
            model.window()
        });
        assert_eq!(windows, [100_000, 80_000, 70_000].map(Some));
    }

    /// The line falls to a half within a round trip, and with it the pipe, to 50 KB: neither the window nor that of the
    /// last round trip is longer. With 50 KB in the port the power is 2: (25 + 10 + 50) / 2 = 42.5 KB.
    #[test]
    fn a_slower_line_bounds_the_window_of_the_last_round_trip() {
        let line = Rate(50_000_000_000);
        let config = PowerTcp {
            gamma: 0.5,
            beta: Some(Bytes(10_000)),
            base_rtt: Derived::Given(Time::from_us(8)),
            ..PowerTcp::default()
        };
        let mut model = Model::new(&config, Rate(100_000_000_000));
        let windows = [1, 2].map(|answer| {
            let hop = Hop {
                time: Time::from_us(8 * answer),
                sent: 50_000 * answer as u32,
                queue_bytes: 50_000,
                rate: line,
            };
            let ack = Ack { una: 1000 * answer, next: 1_000_000, ..Ack::default() };
            model.on_ack(&ack, &Telemetry::of(&[hop]));
            model.on_line(line);
            model.window()
        });
        assert_eq!(windows, [50_000, 42_500].map(Some));
    }

    /// A port that sends a tenth of its rate while its queue falls from 60 KB to 50 KB has no power: (10 - 10) KB. It counts as
    /// half of its rate, `floor`, times a queue and pipe of 150 KB by 100 KB: 0.75. The window is
    /// (100 / 0.75 + 10 + 100) / 2 KB, more than the pipe, and without `floor` it would be endless; with a floor of 1 the
    /// power is 1.5 and the window (66.7 + 10 + 100) / 2 = 88.3 KB.
    #[test]
    fn a_port_that_drains_counts_by_the_floor() {
        let line = Rate(100_000_000_000);
        for (floor, power, window) in [(0.5, 0.75, 100_000), (1.0, 1.5, 88_333)] {
            let config = PowerTcp {
                gamma: 0.5,
                beta: Some(Bytes(10_000)),
                floor,
                base_rtt: Derived::Given(Time::from_us(8)),
                ..PowerTcp::default()
            };
            let mut model = Model::new(&config, line);
            for (answer, queue_bytes) in [(1, 60_000), (2, 50_000)] {
                let time = Time::from_us(8 * answer);
                let hop = Hop { time, sent: 10_000 * answer as u32, queue_bytes, rate: line };
                let ack = Ack { una: 1000 * answer, next: 1_000_000, ..Ack::default() };
                model.on_ack(&ack, &Telemetry::of(&[hop]));
            }
            assert!((model.power() - power).abs() < 1e-12, "{} at {floor}", model.power());
            assert_eq!(model.window(), Some(window), "{floor}");
        }
    }
}
