//! RACS at a port: flows share the link by weights, which grow as they have less left, so that short ones end first.
//!
//! Source: Munir, Qazi and Qaisar, "On achieving low latency in data centers", ICC 2013. Published are the
//! idea, weights of flows that packets carry to switches, rates in proportion to them, and that this
//! approximates shortest remaining processing time. Not published, as far as we could find, are the weight
//! itself, here 1 / s^k of the s bytes left, and the constants of the controller of spare capacity, which is
//! RCP's here with alpha 0.1 and beta 1; nor how ports compute the sum of weights. Here they keep the flows
//! themselves, each with its weight, rather than adding differences as D3 does: a lost SYN or FIN then leaves
//! no stale state, since a flow without packets is removed.
//!
//! Not published either is the frequency of requests. With one a round trip, n flows send n headers a round
//! trip, which for n large enough is more than the link carries, so that no data gets through. Ports
//! therefore set the time between requests: so long that the requests of all flows take `request_share` of
//! the link. A port's allocation then has its effect as much later, and the controller counts that time as
//! the round trip.

mod weights;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::weights::{Claim, Weights, weight};
use super::gains::Gains;
use super::interval::{self, Intervals};
use super::{Build, Settings, kind};
use crate::derived::{Derived, Environment, Values};
use crate::engine::contract::agent::{AgentContext, PortAgent};
use crate::engine::contract::numbers::Numbers;
use crate::engine::contract::packet::{Packet, Record};
use crate::ids::FlowId;
use crate::topology::Link;
use crate::units::Time;

/// Fields of RACS's switches: rates in proportion to weights, 1 / (bytes left)^k. None of these numbers is
/// published.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RacsPort {
    /// k: preference of flows with fewer remaining bytes. 0: equal shares; the larger, the nearer to shortest
    /// remaining processing time.
    #[schemars(range(min = 0.0, max = 30.0))]
    pub exponent: f64,
    /// Share of the spare capacity that is allocated in a round trip.
    #[schemars(range(min = 0.0, max = 10.0))]
    pub alpha: f64,
    /// Share of the queue that is drained in a round trip.
    #[schemars(range(min = 0.0, max = 10.0))]
    pub beta: f64,
    /// The capacity that is shared is computed anew after this time. "derived": the round trip of the network's longest path.
    #[schemars(extend("x-minimum" = "1ns"))]
    pub interval: Derived<Time>,
    /// Requests without payload take at most this share of the link: with many flows, each waits longer than
    /// a round trip before its next one. Default: the share that RTP gives to the control packets of all
    /// participants (RFC 3550, section 6.2).
    #[schemars(range(min = 0.001, max = 1000.0))]
    pub request_share: f64,
    /// A flow without a packet for so many mean round trips, or times from request to request or intervals if
    /// these are longer, is removed.
    #[schemars(range(min = 1.0, max = 1000.0))]
    pub silent_rtts: f64,
}

impl Default for RacsPort {
    fn default() -> Self {
        RacsPort {
            exponent: 1.0,
            alpha: 0.1,
            beta: 1.0,
            interval: Derived::FromNetwork,
            request_share: 0.05,
            silent_rtts: 4.0,
        }
    }
}

impl Settings for RacsPort {
    fn serves(&self) -> &'static str {
        "racs"
    }

    fn gains(&self) -> Option<Gains> {
        Some(Gains { alpha: self.alpha, beta: self.beta, interval: None })
    }

    fn derived(&self, environment: &Environment) -> Values {
        interval::derived(&[("interval", self.interval)], &environment.longest)
    }
}

impl Build for RacsPort {
    type Model = Model;

    fn model(&self, link: &Link) -> Model {
        let interval = self.interval.or(interval::LEAST);
        Model {
            exponent: self.exponent,
            alpha: self.alpha,
            beta: self.beta,
            interval,
            request_share: self.request_share,
            silent_rtts: self.silent_rtts,
            flows: Weights::default(),
            capacity: link.rate.0 as f64,
            rtt: interval,
            rtts: (0, 0),
            wait: Time::ZERO,
            intervals: Intervals::default(),
            arrived: 0,
            forgot: Time::ZERO,
        }
    }
}

/// Words of the record that packets of RACS carry.
pub mod word {
    /// The least rate on the way so far, in bit/s: switches lower it, the receiver sends it back.
    pub const RATE: usize = 0;
    /// The sender's estimate of the round trip in ps; 0: it has none.
    pub const RTT: usize = 1;
    /// The flow's remaining bytes, in full packets, at least one: a float's bits.
    pub const LEFT: usize = 2;
    /// Bytes of a request without payload.
    pub const SIZE: usize = 3;
    /// The time until the flow's next request, as the sender estimates it, in ps.
    pub const SPACING: usize = 4;
    /// The longest time in ps that a switch on the way wants between requests: switches raise it, the receiver sends it back.
    pub const WAIT: usize = 5;
}

/// One port. Rates are in bit/s, times in seconds.
#[derive(Clone, Debug)]
pub struct Model {
    exponent: f64,
    alpha: f64,
    beta: f64,
    interval: Time,
    request_share: f64,
    silent_rtts: f64,
    flows: Weights,
    /// The capacity that is shared: more than the link's rate where flows cannot use their shares.
    capacity: f64,
    /// Mean round trip of the packets that pass.
    rtt: Time,
    /// Round trips that packets reported in this interval: their sum in ps, and their number.
    rtts: (u64, u64),
    /// The time between requests that was last sent to flows.
    wait: Time,
    intervals: Intervals,
    /// Bytes that had come before the present interval.
    arrived: u64,
    /// When flows of which nothing came were last looked for.
    forgot: Time,
}

impl Model {
    /// The capacity after an interval of so many seconds, in which `traffic` bit/s arrived and at whose end
    /// so many bits are queued.
    fn update(&mut self, length: f64, traffic: f64, waiting: f64, line: f64) {
        if let Some(mean) = self.rtts.0.checked_div(self.rtts.1) {
            self.rtt = Time(mean.max(1_000));
            self.rtts = (0, 0);
        }
        let delay = self.rtt.max(self.wait).seconds();
        let spare = self.alpha * (line - traffic) - self.beta * waiting / delay;
        self.capacity *= 1.0 + (length / delay).min(1.0) * spare / line;
        // Not below RCP's least rate, nor above what all flows together could use if nothing else limited
        // them.
        let most = line * self.flows.len().max(1) as f64;
        self.capacity = self.capacity.min(most).max(80.0 / delay);
    }

    /// A flow whose requests are so far apart is silent after this time.
    fn expiry(&self, spacing: Time) -> Time {
        let longest = self.rtt.max(self.interval).max(spacing);
        Time((self.silent_rtts * longest.0 as f64) as u64)
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
        if matches!(packet.header.kind, kind::FIN | kind::TERM) {
            return self.flows.remove(cx.flow);
        }
        if !kind::asks(packet.header.kind) {
            return self.flows.renew(cx.flow, cx.now.saturating_add(self.expiry(self.wait)));
        }
        if self.intervals.rests() {
            self.intervals.begin(self.interval, cx);
            self.forgot = cx.now;
            self.arrived = cx.arrived_bytes();
            self.capacity = cx.rate().0 as f64;
        }
        let Record(words) = record;
        if words[word::RTT] != 0 {
            self.rtts = (self.rtts.0 + words[word::RTT], self.rtts.1 + 1);
        }
        let weight = weight(f64::from_bits(words[word::LEFT]), self.exponent);
        let spacing = Time(words[word::SPACING]).max(self.wait);
        let expires = cx.now.saturating_add(self.expiry(spacing));
        let share = self.flows.note(cx.flow, Claim { weight, expires });
        words[word::RATE] = words[word::RATE].min((self.capacity * share) as u64);
        let all = cx.transmission(self.flows.len() as u64 * words[word::SIZE]);
        self.wait = Time((all.0 as f64 / self.request_share) as u64);
        words[word::WAIT] = words[word::WAIT].max(self.wait.0);
    }

    fn tick(&mut self, cx: &mut AgentContext) {
        let length = self.intervals.length(cx.now).seconds();
        let arrived = cx.arrived_bytes();
        let traffic = (arrived - self.arrived) as f64 * 8.0 / length;
        // To look at each flow once while it could fall silent costs a packet nothing that grows with their number.
        if cx.now >= self.forgot.saturating_add(self.expiry(self.wait)) {
            self.flows.forget(cx.now);
            self.forgot = cx.now;
        }
        let waiting = cx.waiting_bytes();
        self.update(length, traffic, waiting as f64 * 8.0, cx.rate().0 as f64);
        self.arrived = arrived;
        match self.flows.len() == 0 && waiting == 0 {
            true => self.intervals.rest(),
            false => self.intervals.begin(self.interval, cx),
        }
    }

    fn number(&mut self, numbers: &Numbers) {
        self.flows.number(numbers);
    }

    fn audit(&self, now: Time, is_open: &dyn Fn(FlowId) -> bool, found: &mut dyn FnMut(String)) {
        let since = self.forgot.min(now);
        for (flow, claim) in self.flows.iter() {
            if !is_open(flow) && claim.expires <= since {
                found(format!("flow {flow}, which is over, should have been taken off"));
            }
        }
        self.flows.audit(found);
    }

    fn audit_idle(&self, found: &mut dyn FnMut(String)) {
        if self.intervals.rests() && self.flows.len() > 0 {
            found(format!("a port that rests has {} flows", self.flows.len()));
        }
    }

    fn heap_bytes(&self) -> usize {
        self.flows.heap_bytes()
    }
}

#[cfg(test)]
impl Model {
    /// Keeps a flow of which nothing came for long: how a test of the audit injects that defect.
    pub fn leave_behind(&mut self, flow: FlowId) {
        self.flows.note(flow, Claim { weight: 1.0, expires: Time::ZERO });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::contract::agent::tests::{FakePort, link};
    use crate::units::Rate;

    /// By hand: C = 1 Gbps, d = T = 100 us. Half of the link is in use: C' = 1.05 C. Nothing is left and 1250
    /// B are queued, a tenth of the bytes that the link carries in d: C' = 1.05 * 0.9 C.
    #[test]
    fn the_capacity_grows_by_what_is_left_and_shrinks_by_what_waits() {
        let config = RacsPort { interval: Derived::Given(Time::from_us(100)), ..RacsPort::default() };
        let mut port = config.model(&link(Rate(1_000_000_000)));
        for flow in 1..3 {
            port.flows.note(FlowId(flow), Claim { weight: 1.0, expires: Time::ZERO });
        }
        port.update(1e-4, 0.5e9, 0.0, 1e9);
        assert!((port.capacity - 1.05e9).abs() < 1.0, "{}", port.capacity);
        port.update(1e-4, 1e9, 10_000.0, 1e9);
        assert!((port.capacity - 0.945e9).abs() < 1.0, "{}", port.capacity);
        (0..1000).for_each(|_| port.update(1e-4, 0.0, 0.0, 1e9));
        assert_eq!(port.capacity, 2e9);
        (0..1000).for_each(|_| port.update(1e-4, 1e9, 1e9, 1e9));
        assert!((port.capacity - 80.0 / 1e-4).abs() < 1.0, "{}", port.capacity);
    }

    /// A request of a full packet's flow in packets of 40 B, which comes to those ports in turn: the words that reach the
    /// receiver.
    fn request(flow: u32, left: f64, ports: &mut [(&mut FakePort, &mut Model)]) -> [u64; 8] {
        let mut record = Record::default();
        record.0[word::RATE] = u64::MAX;
        record.0[word::LEFT] = left.to_bits();
        record.0[word::SIZE] = 40;
        for (at, port) in ports {
            at.packet(*port, flow, kind::ASK, &mut record);
        }
        record.0
    }

    /// By hand: requests of 40 B take 320 ns at 1 Gbps, and a twentieth of the link may be requests. Three flows so wait 3 x 6.4
    /// = 19.2 us, one 6.4 us. A flow that comes by both ports waits for the longer, whichever comes last. Its rate is the least:
    /// with 2 packets left, where two others have 4 each, (1/2) / (1/2 + 1/4 + 1/4) of the link.
    #[test]
    fn a_flow_takes_the_longest_wait_and_the_least_rate_of_its_way() {
        for crowded_first in [true, false] {
            let mut models = [0; 2].map(|_| RacsPort::default().model(&link(Rate(1_000_000_000))));
            let [crowded, own] = &mut models;
            let (mut here, mut there) = (FakePort::new(0), FakePort::new(2));
            for flow in [1, 2] {
                request(flow, 4.0, &mut [(&mut here, &mut *crowded)]);
            }
            let words = match crowded_first {
                true => request(3, 2.0, &mut [(&mut here, crowded), (&mut there, own)]),
                false => request(3, 2.0, &mut [(&mut there, own), (&mut here, crowded)]),
            };
            assert_eq!(words[word::WAIT], 19_200_000);
            assert_eq!(words[word::RATE], 500_000_000);
        }
        let mut own = RacsPort::default().model(&link(Rate(1_000_000_000)));
        let words = request(3, 2.0, &mut [(&mut FakePort::new(2), &mut own)]);
        assert_eq!((words[word::WAIT], words[word::RATE]), (6_400_000, 1_000_000_000));
    }

    /// By hand: packets that report 200 and 400 us in an interval have a mean of 300 us. It stays while none reports any, and
    /// then only new reports count: 500 us, not the mean of all three.
    #[test]
    fn the_mean_round_trip_is_that_of_one_interval() {
        let (mut at, mut port) = (FakePort::new(0), RacsPort::default().model(&link(Rate(1_000_000_000))));
        for (reports, mean) in [(vec![200, 400], 300), (vec![], 300), (vec![500], 500)] {
            for us in reports {
                let mut record = Record::default();
                record.0[word::RTT] = Time::from_us(us).0;
                record.0[word::LEFT] = 1f64.to_bits();
                record.0[word::SIZE] = 40;
                at.packet(&mut port, 1, kind::ASK, &mut record);
            }
            port.update(1e-4, 0.0, 0.0, 1e9);
            assert_eq!(port.rtt, Time::from_us(mean));
        }
    }
}
