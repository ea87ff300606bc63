//! HPCC: the rate follows the load of the ports on the way, which packets bring back (in-band network telemetry).
//!
//! Source: Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019, algorithm 1, and the authors' simulator. The
//! paper controls a window and derives the rate, the simulator a rate, from which the window follows; both have the same
//! fixed points. Here it is the rate.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bounds::{self, Bounds};
use super::window::Window;
use super::{Ack, Control, Settings, Signals, Telemetry};
use crate::derived::{Derived, Longest, Values};
use crate::engine::contract::telemetry::{HOPS, Hop};
use crate::units::{Rate, Time};

/// HPCC: the rate follows the load of the busiest port on the way, read from telemetry (Li et al., SIGCOMM 2019). Defaults
/// are those of the authors' simulations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Hpcc {
    /// Load at which the busiest port is held.
    #[schemars(range(min = 0.1, max = 1.0))]
    pub eta: f64,
    /// Additive increases in a row before a multiplicative adjustment. Paper: 5, by its authors a mistake; simulator: 0.
    #[schemars(range(max = 1000))]
    pub max_stage: u32,
    /// Additive increase. Absent: 1/2500 of the rate of the flow's port, as in the authors' runs.
    #[schemars(extend("x-minimum" = "1bps"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ai: Option<Rate>,
    /// The rate does not go below this. Absent: 1/1000 of the rate of the flow's port.
    #[schemars(extend("x-minimum" = "1Kbps"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_rate: Option<Rate>,
    /// Round trip without queues, over which loads are averaged. "derived": the longest of the network, with a full packet
    /// and its acknowledgement.
    #[schemars(extend("x-minimum" = "1ns"))]
    pub base_rtt: Derived<Time>,
    /// Limit of the bytes in flight.
    pub window: Window,
    /// Whether the rate follows each acknowledgement, from the rate of the last round trip; otherwise it changes once in a
    /// round trip.
    pub fast_react: bool,
    /// Whether each port has a rate, a load and a stage of its own, and the flow the least of these rates.
    pub multi_rate: bool,
    /// Whether acknowledgements within a round trip leave out ports without a queue.
    pub sample_feedback: bool,
    /// Multiple of the units in which ports report, as packed by the authors' simulator (INT_MULTI): 128 B of bytes sent and 80 B
    /// of a queue, cut down, and whole ns. Absent: exact values.
    #[schemars(range(min = 1, max = 64))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub int_multi: Option<u32>,
    /// Whether a new rate changes the pause after the last packet, too.
    pub repace: bool,
}

impl Default for Hpcc {
    fn default() -> Self {
        Hpcc {
            eta: 0.95,
            max_stage: 0,
            ai: None,
            min_rate: None,
            base_rtt: Derived::FromNetwork,
            window: Window::Variable,
            fast_react: true,
            multi_rate: false,
            sample_feedback: false,
            int_multi: None,
            repace: true,
        }
    }
}

impl Settings for Hpcc {
    fn signals(&self) -> Signals {
        Signals { telemetry: true, ..Signals::default() }
    }

    fn repaces(&self) -> bool {
        self.repace
    }

    fn derived(&self, longest: &Longest) -> Values {
        bounds::base_rtt(&self.base_rtt, longest)
    }
}

/// Average load of a port, or of the busiest one; and the rate of the last round trip, from which reactions start.
#[derive(Clone, Copy, Debug)]
struct Reference {
    load: f64,
    rate: f64,
    /// Additive increases in a row.
    stage: u32,
}

/// Ports on the way: as the packet left them that was acknowledged last, and with `multi_rate` a reference for each,
/// otherwise the first one for all.
#[derive(Clone, Debug)]
struct Ports {
    before: Telemetry,
    references: [Reference; HOPS],
}

/// The rate of one flow.
#[derive(Clone, Debug)]
pub struct Model {
    config: Hpcc,
    base_rtt: Time,
    bounds: Bounds,
    rate: f64,
    window: Option<u64>,
    /// A round trip is over when this byte is acknowledged; 0 before the first acknowledgement.
    round_end: u64,
    /// Apart, so that flows under other controls need no room for it.
    ports: Box<Ports>,
}

impl Model {
    /// A flow starts at the rate of its line.
    pub fn new(config: &Hpcc, line: Rate) -> Model {
        let bounds = Bounds::new(line, config.min_rate);
        let line = bounds.line();
        let base_rtt = config.base_rtt.or(Time::from_us(1));
        let reference = Reference { load: 1.0, rate: line, stage: 0 };
        Model {
            base_rtt,
            bounds,
            rate: line,
            window: config.window.bytes(line, line, base_rtt),
            round_end: 0,
            ports: Box::new(Ports { before: Telemetry::NONE, references: [reference; HOPS] }),
            config: config.clone(),
        }
    }

    /// The average load behind the reference of that number.
    pub fn load(&self, reference: usize) -> f64 {
        self.ports.references[reference].load
    }

    /// Rate and stage that follow from a reference.
    fn reaction(&self, reference: &Reference) -> (f64, u32) {
        let Hpcc { eta, max_stage, ai, .. } = self.config;
        let ai = self.bounds.step(ai, 2500.0);
        let over = reference.load / eta;
        let (rate, stage) = if over >= 1.0 || reference.stage >= max_stage {
            (reference.rate / over + ai, 0)
        } else {
            (reference.rate + ai, reference.stage + 1)
        };
        (self.bounds.clamp(rate), stage)
    }

    /// Averages the load in over the time that it is of, reacts, and keeps the reaction at the end of a round trip.
    fn react(&mut self, number: usize, load: f64, over: Time, ends: bool) -> f64 {
        let mut reference = self.ports.references[number];
        let weight = over.min(self.base_rtt).0 as f64 / self.base_rtt.0 as f64;
        reference.load = reference.load * (1.0 - weight) + load * weight;
        let (rate, stage) = self.reaction(&reference);
        if ends {
            (reference.rate, reference.stage) = (rate, stage);
        }
        self.ports.references[number] = reference;
        rate
    }

    fn set(&mut self, rate: f64) {
        self.rate = rate;
        self.window = self.config.window.bytes(self.bounds.line(), rate, self.base_rtt);
    }
}

impl Control for Model {
    fn on_line(&mut self, line: Rate) {
        self.bounds.set_line(line);
        self.set(self.rate.min(self.bounds.line()));
    }

    fn on_ack(&mut self, ack: &Ack, telemetry: &Telemetry) {
        let packed = self.config.int_multi.map(|multi| telemetry.packed(multi));
        let telemetry = packed.as_ref().unwrap_or(telemetry);
        if self.round_end == 0 {
            self.ports.before = *telemetry;
            self.round_end = ack.next;
            return;
        }
        let ends = ack.una > self.round_end;
        if !self.config.fast_react && !ends {
            return;
        }
        let before = std::mem::replace(&mut self.ports.before, *telemetry);
        let (base_rtt, skip) = (self.base_rtt, self.config.sample_feedback && !ends);
        let Some(pairs) = telemetry.since(&before) else { return };
        let load = |(hop, before): (&Hop, &Hop)| {
            let load = hop.load_since(before, base_rtt).filter(|_| !(skip && hop.queue_bytes == 0));
            load.map(|load| (load, hop.time - before.time))
        };
        let loads = pairs.map(load);
        let rate = if self.config.multi_rate {
            let react = |(number, load): (usize, Option<(f64, Time)>)| {
                load.map(|(load, over)| self.react(number, load, over, ends))
            };
            loads.enumerate().filter_map(react).reduce(f64::min)
        } else {
            let busiest = loads.flatten().reduce(|most, one| if one.0 > most.0 { one } else { most });
            busiest.map(|(load, over)| self.react(0, load, over, ends))
        };
        if ends {
            self.round_end = ack.next;
        }
        if let Some(rate) = rate {
            self.set(rate);
        }
    }

    #[inline]
    fn rate(&self) -> f64 {
        self.rate
    }

    #[inline]
    fn window(&self) -> Option<u64> {
        self.window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With `sample_feedback` ports without a queue count only at the end of a round trip. In 8 us 50,000 of the
    /// 100,000 B that 100 Gbps carry in a round trip of 8 us leave the port: a load of a half, after the third answer
    /// and not after the second.
    #[test]
    fn idle_ports_count_at_the_end_of_a_round() {
        let base_rtt = Derived::Given(Time::from_us(8));
        let line = Rate(100_000_000_000);
        let mut model = Model::new(&Hpcc { base_rtt, sample_feedback: true, ..Hpcc::default() }, line);
        let loads = [(1, 1000), (2, 50_000), (3, 50_001)].map(|(answer, una)| {
            let time = Time::from_us(8 * answer);
            let hop = Hop { time, sent: 50_000 * answer as u32, queue_bytes: 0, rate: line };
            model.on_ack(&Ack { una, next: 50_000, ..Ack::default() }, &Telemetry::of(&[hop]));
            model.load(0)
        });
        assert_eq!(loads, [1.0, 1.0, 0.5]);
    }
}
