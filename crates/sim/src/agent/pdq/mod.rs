//! PDQ at a port: the most critical flow sends at all the rate there is, and the others wait.
//!
//! Source: Hong, Caesar and Godfrey, "Finishing Flows Quickly with Preemptive Scheduling", SIGCOMM 2012,
//! algorithms 1 to 3, Early Start, Suppressed Probing and the rate controller. `list` is the list of flows
//! that a port keeps, `order` their criticality. The host's side is `transport/pdq.rs`.
//!
//! Choices where the paper leaves a point open:
//!
//! - Flows that do not fit into the list share the rate that its flows leave, in equal parts. Their number is
//!   estimated from the time to the next packet that each of their packets carries: over a period as long as the
//!   longest of these times, they add up to the period, once for each flow, even if all flows send at once. The
//!   remaining rate is computed with the rate controller, as RCP would, and again for each packet; a listed flow
//!   counts with its allocation, acknowledged or not.
//! - A paused one of these flows probes as if it were at a place behind the list that is drawn anew for each answer, uniformly
//!   among as many as are outside. The switch does not know its place among them; and if all had the last one, flows that
//!   start together would probe together, of which the list admits two, and leave the link idle until all probe again.
//! - A rate below a packet a round trip is none (`least`), unless it is half of the link: where a round trip has no room for
//!   two packets, no flow would ever send.
//! - "Not sending": a flow whose last reply had no rate, new or paused. While such a flow may begin,
//!   dampening keeps others from beginning.

mod entry;
mod list;
mod order;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::entry::Entry;
use self::list::List;
pub use self::order::Order;
use super::interval::{self, Intervals};
use super::{Build, Settings, kind};
use crate::derived::{Derived, Environment, Values};
use crate::engine::contract::agent::{AgentContext, PortAgent};
use crate::engine::contract::numbers::Numbers;
use crate::engine::contract::packet::{Packet, Record};
use crate::ids::FlowId;
use crate::problem::Problem;
use crate::topology::Link;
use crate::units::{Bytes, Rate, SECOND, Time};

/// Fields of PDQ's switches, which decide which flows send.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PdqPort {
    /// Which flow is more critical than another.
    pub order: Order,
    /// K of Early Start: the next flows begin so many round trips before the sending ones end (paper: 2; 0:
    /// no flow begins early).
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub early_start: f64,
    /// Suppressed Probing: the flow at place i of the list, from 0, probes every so many times i round trips, and at least
    /// every round trip (paper: 0.2).
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub probe_spacing: f64,
    /// Dampening: for so long after one waiting flow may begin, no other may. The paper has no number; the model of PDQ in
    /// Aequitas has 10 us.
    #[schemars(extend("x-maximum" = "1s"))]
    pub dampening: Time,
    /// The least that a flow sends in a round trip: a lower rate counts as none, unless it is half of the
    /// link. Not in the paper, whose ports also allocate rates that are free for a moment only, as when the
    /// rate controller has just raised the available rate and the sending flow has not received it yet.
    #[schemars(extend("x-maximum" = "1MB"))]
    pub least: Bytes,
    /// Flows in the list: twice as many as send (paper), and at most so many.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub list_most: u32,
    /// The rate controller computes the rate anew every so many mean round trips, and drains the queued bytes
    /// in that time (paper: 2). A flow without a packet for as long is taken off the list.
    #[schemars(range(min = 0.1, max = 1000.0))]
    pub interval_rtts: f64,
    /// The mean round trip before the first flow has measured one. "derived": that of the network's longest path.
    #[schemars(extend("x-minimum" = "1ns"))]
    pub initial_rtt: Derived<Time>,
    /// With `order = "peq"`: alpha, the weight of the slots left in H.
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub peq_alpha: f64,
    /// With `order = "peq"`: beta, the weight in H of the slots left over the slots until the deadline.
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub peq_beta: f64,
    /// With `order = "peq"`: a slot is as long as so many bytes take on the link (GopalaKrishna: packets of 1 KB).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1GB"))]
    pub peq_slot: Bytes,
}

impl Default for PdqPort {
    fn default() -> Self {
        PdqPort {
            order: Order::Pdq,
            early_start: 2.0,
            probe_spacing: 0.2,
            dampening: Time::from_us(10),
            least: Bytes(1500),
            list_most: 1000,
            interval_rtts: 2.0,
            initial_rtt: Derived::FromNetwork,
            peq_alpha: 0.6,
            peq_beta: 0.4,
            peq_slot: Bytes(1000),
        }
    }
}

impl Settings for PdqPort {
    fn serves(&self) -> &'static str {
        "pdq"
    }

    fn derived(&self, environment: &Environment) -> Values {
        interval::derived(&[("initial_rtt", self.initial_rtt)], &environment.longest)
    }

    fn needs_answers(&self) -> bool {
        true
    }

    fn problems(&self) -> Vec<Problem> {
        let levels = self.order == Order::Peq && self.peq_alpha == 0.0 && self.peq_beta == 0.0;
        let message = "0 with peq_beta = 0 makes all flows as urgent; one of them must be above 0";
        levels.then(|| Problem::new("peq_alpha", message)).into_iter().collect()
    }
}

impl Build for PdqPort {
    type Model = Model;

    fn model(&self, link: &Link) -> Model {
        let rtt = self.initial_rtt.or(interval::LEAST).0;
        Model {
            early_start: self.early_start,
            probe_spacing: self.probe_spacing,
            dampening: self.dampening,
            least: self.least.0 as f64 * 8.0 * SECOND as f64,
            interval_rtts: self.interval_rtts,
            list: List::new(self.order.ranking(self, link.rate), self.list_most as usize),
            capacity: link.rate.0 as f64,
            rtt,
            interval: rounds(self.interval_rtts, rtt),
            rtts: (0, 0),
            intervals: Intervals::default(),
            accepted: (FlowId::NONE, Time::ZERO),
            outside: Outside::default(),
        }
    }
}

/// Words of the record that packets of PDQ carry.
pub mod word {
    /// R_H: the rate in bit/s that the sender requests, then the rate that ports leave of it.
    pub const RATE: usize = 0;
    /// P_H: the number of the link whose port pauses the flow; [`NO_PORT`](super::NO_PORT).
    pub const PAUSED_BY: usize = 1;
    /// D_H: when the flow is due, in ps; that of [`Time::NEVER`](super::Time::NEVER) without a deadline.
    pub const DUE: usize = 2;
    /// T_H: the time that the flow's remaining bytes take at the sender's highest rate, in ps.
    pub const LEFT: usize = 3;
    /// I_H: round trips from one probe to the next, a float's bits.
    pub const PROBE: usize = 4;
    /// RTT_H: the sender's estimate of the round trip in ps; 0: it has none.
    pub const RTT: usize = 5;
    /// The time from this packet of the flow to the next one in ps; 0 if the sender does not know it.
    pub const SPACING: usize = 6;
}

/// No port pauses the flow.
pub const NO_PORT: u64 = u64::MAX;

/// One port. Rates are in bit/s.
#[derive(Clone, Debug)]
pub struct Model {
    early_start: f64,
    probe_spacing: f64,
    dampening: Time,
    /// Bits times picoseconds: over a round trip, the least rate.
    least: f64,
    interval_rtts: f64,
    list: List,
    /// C': the rate that flows may send at together.
    capacity: f64,
    /// RTT_avg in ps.
    rtt: u64,
    /// Time from tick to tick: so many of it.
    interval: Time,
    /// Round trips that packets reported since the last tick: their sum in ps, and their number.
    rtts: (u64, u64),
    intervals: Intervals,
    /// The last flow that was to wait and may send, and since when.
    accepted: (FlowId, Time),
    outside: Outside,
}

/// How many flows come by that are not in the list. They are counted over a period as long as the longest time from one
/// packet of a flow to the next: then each flow adds the period once, whether it sends often or once, and whether packets
/// of all come together or not.
#[derive(Clone, Debug, Default)]
struct Outside {
    /// When the present period began.
    since: Time,
    /// The times in ps from their packets to the next ones, in the present period: their sum, and the longest.
    spacings: u64,
    longest: u64,
    /// Their number, as the last period had it.
    last: f64,
    /// The capacity that the list left for them at the end of the last interval, in bit/s.
    left: f64,
}

impl Outside {
    /// A packet of such a flow has come; its next one comes so much later, in ps.
    fn note(&mut self, spacing: u64) {
        self.spacings += spacing;
        self.longest = self.longest.max(spacing);
    }

    /// Their number; at least as many as sent a packet in the present period, which is at least so long.
    fn number(&self, interval: Time) -> f64 {
        self.last.max(self.spacings as f64 / self.longest.max(interval.0) as f64)
    }

    /// An interval ends, and with it the period if each flow has sent in it.
    fn tick(&mut self, now: Time) {
        let length = (now - self.since).0;
        if length >= self.longest {
            let last = self.spacings as f64 / length as f64;
            *self = Outside { since: now, last, left: self.left, ..Outside::default() };
        }
    }

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.last == 0.0 && self.spacings == 0
    }
}

/// So many round trips of that length in ps.
fn rounds(number: f64, rtt: u64) -> Time {
    Time((number * rtt as f64) as u64).max(Time::from_ns(1))
}

impl Model {
    /// The interval, of a flow whose own round trip may be longer.
    fn expiry(&self, rtt: u64) -> Time {
        if rtt <= self.rtt { self.interval } else { rounds(self.interval_rtts, rtt) }
    }

    /// The flow of a packet that no other port has paused: whether it may send, and how fast.
    fn schedule(&mut self, words: &mut [u64; 8], cx: &AgentContext) {
        let entry = Entry {
            flow: cx.flow,
            due: Time(words[word::DUE]),
            left: words[word::LEFT],
            rtt: words[word::RTT],
            expires: cx.now.saturating_add(self.expiry(words[word::RTT])),
            rate: 0,
            given: 0,
            paused_by: NO_PORT,
        };
        let Some(place) = self.list.note(entry, cx.now) else {
            let spacing = words[word::SPACING];
            self.outside.note(if spacing == 0 { self.rtt } else { spacing });
            let left = self.list.left(self.capacity).min(self.outside.left);
            let share = left / self.outside.number(self.interval).max(1.0);
            return self.answer(self.at_least(share, words[word::RTT], cx.rate()), words, cx);
        };
        let free = self.list.available(place, self.capacity, self.early_start, self.rtt);
        let mut rate = words[word::RATE].min(self.at_least(free, words[word::RTT], cx.rate()));
        let waited = self.list.entry(place).rate == 0;
        if rate > 0 && waited {
            let (other, since) = self.accepted;
            if other != FlowId::NONE && other != cx.flow && cx.now < since.saturating_add(self.dampening) {
                rate = 0;
            } else {
                self.accepted = (cx.flow, cx.now);
            }
        }
        let entry = self.list.entry_mut(place);
        entry.given = rate;
        if rate == 0 {
            entry.paused_by = u64::from(cx.link.0);
        }
        self.answer(rate, words, cx);
    }

    /// A rate, or none if it is too low for a flow with that round trip on a link of that rate.
    fn at_least(&self, rate: f64, rtt: u64, line: Rate) -> u64 {
        let rtt = if rtt == 0 { self.rtt } else { rtt };
        let enough = (self.least / rtt as f64).min(line.0 as f64 / 2.0);
        if rate < enough { 0 } else { rate as u64 }
    }

    /// Writes into the packet how fast its flow may send; 0: it is paused here.
    fn answer(&self, rate: u64, words: &mut [u64; 8], cx: &AgentContext) {
        words[word::RATE] = words[word::RATE].min(rate);
        words[word::PAUSED_BY] = if rate == 0 { u64::from(cx.link.0) } else { NO_PORT };
    }

    /// Wakes a port that rests.
    fn begin(&mut self, cx: &mut AgentContext) {
        if self.intervals.rests() {
            self.capacity = cx.rate().0 as f64;
            self.outside = Outside { since: cx.now, ..Outside::default() };
            self.intervals.begin(self.interval, cx);
        }
    }
}

impl PortAgent for Model {
    fn reads_answers(&self) -> bool {
        true
    }

    /// Algorithm 1.
    #[inline]
    fn on_packet(&mut self, packet: &mut Packet, record: &mut Record, cx: &mut AgentContext) {
        let Record(words) = record;
        let paused_by = words[word::PAUSED_BY];
        let is_over = matches!(packet.header.kind, kind::FIN | kind::TERM);
        if is_over || (paused_by != NO_PORT && paused_by != u64::from(cx.link.0)) {
            self.list.remove(cx.flow);
            return;
        }
        self.begin(cx);
        if words[word::RTT] != 0 {
            self.rtts = (self.rtts.0 + words[word::RTT], self.rtts.1 + 1);
        }
        self.schedule(words, cx);
    }

    /// Algorithm 3.
    #[inline]
    fn on_answer(&mut self, packet: &mut Packet, record: &mut Record, cx: &mut AgentContext) {
        let Record(words) = record;
        if packet.header.kind == kind::FIN_ANSWER {
            return;
        }
        let (paused_by, me) = (words[word::PAUSED_BY], u64::from(cx.link.0));
        if paused_by != NO_PORT {
            words[word::RATE] = 0;
            if paused_by != me {
                self.list.remove(cx.flow);
                return;
            }
        }
        let place = self.list.find(cx.flow);
        let behind = match place {
            Some(place) => place as f64,
            None if paused_by == me => {
                self.list.len() as f64 + cx.stream.unit() * self.outside.number(self.interval)
            }
            None => return,
        };
        let probe = f64::from_bits(words[word::PROBE]).max(self.probe_spacing * behind);
        words[word::PROBE] = probe.to_bits();
        if let Some(place) = place {
            let entry = self.list.entry(place);
            // Its next packet is due after a round trip if it sends, if only a request; after so many if it
            // is paused.
            let next = Time((probe.max(1.0) * entry.rtt.max(self.rtt) as f64) as u64);
            let expires = cx.now.saturating_add(next).saturating_add(self.expiry(entry.rtt));
            let entry = self.list.entry_mut(place);
            entry.paused_by = paused_by;
            entry.rate = words[word::RATE];
            entry.given = entry.rate;
            entry.expires = expires;
        }
    }

    /// The rate controller, and the removal of stale flows.
    fn tick(&mut self, cx: &mut AgentContext) {
        if let Some(mean) = self.rtts.0.checked_div(self.rtts.1) {
            self.rtt = mean.max(1);
            self.interval = rounds(self.interval_rtts, self.rtt);
            self.rtts = (0, 0);
        }
        self.list.expire(cx.now);
        self.outside.tick(cx.now);
        let (waiting, line) = (cx.waiting_bytes() as f64 * 8.0, cx.rate().0 as f64);
        self.capacity = (line - waiting * SECOND as f64 / self.interval.0 as f64).max(0.0);
        self.outside.left = self.list.left(self.capacity);
        let rests = self.list.len() == 0 && waiting == 0.0 && self.outside.is_empty();
        match rests {
            true => self.intervals.rest(),
            false => self.intervals.begin(self.interval, cx),
        }
    }

    fn number(&mut self, numbers: &Numbers) {
        self.list.number(numbers);
        numbers.give(&mut self.accepted.0);
    }

    fn audit(&self, now: Time, is_open: &dyn Fn(FlowId) -> bool, found: &mut dyn FnMut(String)) {
        let since = self.intervals.begun().unwrap_or(now);
        for entry in self.list.entries() {
            if entry.expires <= since {
                let of = if is_open(entry.flow) { "is open" } else { "is over" };
                found(format!("flow {}, which {of}, should have left the list", entry.flow));
            }
        }
        self.list.audit(found);
    }

    fn audit_idle(&self, found: &mut dyn FnMut(String)) {
        if self.intervals.rests() && self.list.len() > 0 {
            found(format!("{} flows are in the list of a port that rests", self.list.len()));
        }
    }

    fn heap_bytes(&self) -> usize {
        self.list.heap_bytes()
    }
}

#[cfg(test)]
impl Model {
    /// Flows in its list.
    pub fn flows(&self) -> usize {
        self.list.len()
    }

    /// Puts a flow into the list that nothing will take off again: how a test of the audit injects that defect.
    pub fn leave_behind(&mut self, flow: FlowId) {
        let entry = Entry {
            flow,
            due: Time(1),
            left: 1,
            rtt: 1,
            expires: Time::ZERO,
            rate: 1,
            given: 1,
            paused_by: NO_PORT,
        };
        assert_eq!(self.list.note(entry, Time::ZERO), Some(0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::contract::agent::tests::{FakePort, link};

    /// The words of a flow that requests 1 Gbps and has so many microseconds left to send.
    fn requests(left_us: u64) -> Record {
        let mut record = Record::default();
        let Record(words) = &mut record;
        words[word::RATE] = 1_000_000_000;
        words[word::PAUSED_BY] = NO_PORT;
        words[word::DUE] = Time::NEVER.0;
        words[word::LEFT] = Time::from_us(left_us).0;
        words[word::RTT] = Time::from_us(100).0;
        record
    }

    /// Algorithms 1 and 3: a flow that another port has paused leaves the list at once, be it the packet that says so or the
    /// answer, and the next in line has the link. One that this port has paused stays.
    #[test]
    fn a_flow_that_is_paused_elsewhere_leaves_the_list() {
        let (me, elsewhere) = (3, 5);
        for by_answer in [true, false] {
            let mut port = PdqPort::default().model(&link(Rate(1_000_000_000)));
            let mut at = FakePort::new(me);
            let mut first = requests(10_000);
            at.packet(&mut port, 1, kind::DATA_ASKS, &mut first);
            at.answer(&mut port, 1, kind::DATA_ANSWER, &mut first);
            assert_eq!((first.0[word::RATE], first.0[word::PAUSED_BY]), (1_000_000_000, NO_PORT));
            at.now = Time::from_us(50);
            let mut second = requests(20_000);
            at.packet(&mut port, 2, kind::DATA_ASKS, &mut second);
            at.answer(&mut port, 2, kind::DATA_ANSWER, &mut second);
            assert_eq!((second.0[word::RATE], second.0[word::PAUSED_BY]), (0, u64::from(me)));
            assert_eq!(port.flows(), 2);
            first.0[word::PAUSED_BY] = elsewhere;
            match by_answer {
                true => at.answer(&mut port, 1, kind::DATA_ANSWER, &mut first),
                false => at.packet(&mut port, 1, kind::DATA_ASKS, &mut first),
            }
            assert_eq!(port.flows(), 1);
            at.now = Time::from_us(100);
            second = requests(20_000);
            at.packet(&mut port, 2, kind::DATA_ASKS, &mut second);
            assert_eq!(second.0[word::RATE], 1_000_000_000);
        }
    }

    /// By hand: 1250 B that wait are 10 kbit; over an interval of two round trips of 100 us, 50 Mbps of the 1 Gbps.
    #[test]
    fn a_tick_takes_what_waits_from_the_capacity() {
        let config = PdqPort {
            initial_rtt: Derived::Given(Time::from_us(100)),
            interval_rtts: 2.0,
            ..PdqPort::default()
        };
        let mut port = config.model(&link(Rate(1_000_000_000)));
        let mut at = FakePort::new(0);
        at.packet(&mut port, 1, kind::DATA_ASKS, &mut requests(10_000));
        (at.now, at.waiting, at.arrived) = (Time::from_us(200), 1250, 1250);
        at.tick(&mut port);
        assert_eq!(port.capacity, 950e6);
    }

    /// By hand: 1500 B in 100 us are 120 Mbps. In 5 us they are 2.4 Gbps, more than the link carries, of which half is enough.
    #[test]
    fn a_rate_below_a_packet_a_round_trip_is_none() {
        let line = Rate(1_000_000_000);
        let link =
            Link { from: crate::ids::NodeId(0), to: crate::ids::NodeId(1), rate: line, delay: Time::ZERO };
        let port = PdqPort::default().model(&link);
        let given = |rate, rtt_us| port.at_least(rate, Time::from_us(rtt_us).0, line);
        assert_eq!([given(119e6, 100), given(121e6, 100)], [0, 121_000_000]);
        assert_eq!([given(499e6, 5), given(501e6, 5)], [0, 501_000_000]);
    }

    /// By hand: twenty flows that send every 10 us, and thirty that send every 300 us, of which ten in each interval of
    /// 100 us. The period is 300 us long.
    #[test]
    fn flows_outside_are_counted_by_the_time_between_their_packets() {
        let interval = Time::from_us(100);
        let mut outside = Outside::default();
        for number in 1..=3 {
            (0..200).for_each(|_| outside.note(Time::from_us(10).0));
            (0..10).for_each(|_| outside.note(Time::from_us(300).0));
            // At least as many as have sent.
            assert!(outside.number(interval) >= f64::from(10 * number));
            outside.tick(Time::from_us(100 * number as u64));
        }
        assert_eq!(outside.number(interval), 50.0);
        // In the next period at least the flows of this one count.
        outside.note(Time::from_us(100).0);
        assert_eq!(outside.number(interval), 50.0);
        (0..69).for_each(|_| outside.note(Time::from_us(100).0));
        assert_eq!(outside.number(interval), 70.0);
    }

    /// Forty flows whose packets come together, every 2 ms: twenty intervals have none. They are forty in each interval.
    #[test]
    fn flows_outside_whose_packets_come_together_are_counted_once() {
        let interval = Time::from_us(100);
        let mut outside = Outside::default();
        for number in 0..100 {
            if number % 20 == 0 {
                (0..40).for_each(|_| outside.note(Time::from_us(2000).0));
            }
            assert_eq!(outside.number(interval), 40.0, "interval {number}");
            outside.tick(Time::from_us(100 * (number + 1)));
        }
        // They end: after a period without a packet there are none.
        (100..121).for_each(|number| outside.tick(Time::from_us(100 * (number + 1))));
        assert_eq!((outside.number(interval), outside.is_empty()), (0.0, true));
    }

    /// By hand, at a port whose mean round trip is 100 us: a flow of 300 us is expected after 300 us, and missed two of its round
    /// trips later; one of 50 us is expected after the port's 100 us, and missed two of these later.
    #[test]
    fn a_flow_is_expected_by_the_longer_round_trip() {
        let config = PdqPort { initial_rtt: Derived::Given(Time::from_us(100)), ..PdqPort::default() };
        for (rtt, expires) in [(300, 900), (50, 300)] {
            let mut port = config.model(&link(Rate(1_000_000_000)));
            let mut at = FakePort::new(0);
            let mut record = requests(10_000);
            record.0[word::RTT] = Time::from_us(rtt).0;
            at.packet(&mut port, 1, kind::DATA_ASKS, &mut record);
            at.answer(&mut port, 1, kind::DATA_ANSWER, &mut record);
            assert_eq!(port.list.entry(0).expires, Time::from_us(expires), "a round trip of {rtt} us");
        }
    }
}
