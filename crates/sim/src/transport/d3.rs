//! D3, deadline-driven delivery: a flow requests, round trip by round trip, its remaining bytes over the time to its deadline.
//!
//! Source: Wilson et al., "Better never than late: meeting deadlines in datacenter networks", SIGCOMM 2011,
//! and a public model of it (SymbioticLab/Aequitas). The first packet after a reply carries the request for
//! the next round trip; where no data may leave, a packet without payload does. Each port on the way adds its
//! allocation to a vector, and the least of them is the flow's rate. The computation of switches is in
//! `agent/d3`, the part of hosts that other schemes share in `paced`.
//!
//! Three choices are not in these sources. The remaining bytes of a flow are those still to be sent: bytes in
//! flight need no rate. A sender requests no more than its own link carries, so that a flow that is about to
//! be late does not take the share of others beyond it. And a sender adds up the allocations that ports have
//! counted for it, reply by reply: a packet that was retransmitted although it was not lost is counted twice
//! by ports, and both counts are taken back.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::overdue::LateFlow;
use super::paced::{self, Asks, Flow, Granted, Paced, Pacing, Scheme};
use super::{Needs, Profile, Settings};
use crate::agent::d3::{D3Port, LINKS, UNIT, word};
use crate::engine::contract::packet::Record;
use crate::problem::Problem;
use crate::queue::drop_tail::DropTail;
use crate::units::{SECOND, Time};

/// D3: flows with deadlines request the rates that they need, and get them in the order of their requests
/// (`agent.d3`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct D3 {
    /// Settings of the sender.
    pub pacing: Pacing,
    /// Round trips that a flow subtracts from its remaining time, for the delay of requests and replies: 0 in
    /// a public model (SymbioticLab/Aequitas); 2 is ascribed to the paper.
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub guard_rtts: f64,
    /// Treatment of a flow that is late, or would need more than the link of its sender carries. The paper
    /// has giving up as an option (section 6.1.3); a flow that is kept requests no more rate once its
    /// deadline has passed.
    pub late: LateFlow,
}

impl Default for D3 {
    fn default() -> Self {
        D3 { pacing: Pacing::default(), guard_rtts: 0.0, late: LateFlow::Keep }
    }
}

impl Paced for D3 {
    fn pacing(&self) -> &Pacing {
        &self.pacing
    }
}

impl Settings for D3 {
    fn profile(&self) -> Profile {
        Profile {
            queue: DropTail { keep_headers: true, ..DropTail::default() }.into(),
            gives_up: self.late == LateFlow::GiveUp,
            ..self.pacing.profile()
        }
    }

    fn needs(&self) -> Needs {
        Needs {
            deadlines: (self.late == LateFlow::GiveUp).then_some("late"),
            ..Pacing::needs(D3Port::default())
        }
    }

    fn problems(&self) -> Vec<Problem> {
        self.pacing.problems()
    }
}

/// A sender's state under D3: the rates that ports have counted for its flow, in kbit/s.
#[derive(Clone, Debug, Default)]
pub struct Sender {
    /// How often its SYN has been counted.
    flows: i64,
    /// Its request, as far as replies have confirmed it.
    desired: i64,
    /// By link of its path, its allocation.
    allocated: [i64; LINKS],
}

impl Sender {
    /// Notes the ports' changes for a packet.
    fn count(&mut self, asked: Asks, record: &Record) {
        let (now, before) = word::unpack(record.0[word::DESIRED]);
        match asked {
            Asks::First => self.flows += 1,
            Asks::Again => {}
            Asks::Last => self.flows -= i64::from(now),
        }
        let now = if asked == Asks::Last { 0 } else { now };
        self.desired += i64::from(now) - i64::from(before);
        for (allocated, (past, given)) in self.allocated.iter_mut().zip(vector(record)) {
            if given != word::NONE {
                *allocated += i64::from(given) - i64::from(past);
            }
        }
    }

    /// Whether ports have nothing of it.
    fn is_clear(&self) -> bool {
        (self.flows, self.desired) == (0, 0) && self.allocated == [0; LINKS]
    }
}

/// The earlier and the present allocation of its flow that a packet carries: by link.
fn vector(record: &Record) -> impl Iterator<Item = (i32, i32)> {
    record.0[word::ALLOCATED..].iter().map(|&word| word::unpack(word))
}

/// The rate at which the last byte of a flow would leave in time, in kbit/s, rounded up; nothing without a deadline, or if
/// that has passed.
fn needed(flow: &Flow, guard_rtts: f64) -> Option<u64> {
    if flow.due == Time::NEVER || flow.now >= flow.due {
        return None;
    }
    let guard = guard_rtts * flow.rtt.unwrap_or(Time::ZERO).0 as f64;
    let time = (flow.due - flow.now).saturating_sub(Time(guard as u64));
    let bits = u128::from(flow.wire_unsent()) * 8 * u128::from(SECOND);
    let kbits = match time {
        Time::ZERO => u128::from(u64::MAX) * u128::from(flow.unsent.min(1)),
        time => bits.div_ceil(u128::from(time.0) * u128::from(UNIT)),
    };
    Some(u64::try_from(kbits).unwrap_or(u64::MAX))
}

/// A number in the form of a packet's word.
fn short(number: i64) -> i32 {
    number.clamp(i64::from(i32::MIN + 1), i64::from(i32::MAX)) as i32
}

impl Scheme for Sender {
    type Config = D3;

    const EACH_ASKS: bool = false;

    fn ask(&mut self, asks: Asks, flow: &Flow, config: &D3, record: &mut Record) {
        let now = match asks {
            Asks::Last => self.flows,
            _ => needed(flow, config.guard_rtts).unwrap_or(0).min(flow.line.0 / UNIT) as i64,
        };
        record.0[word::DESIRED] = word::pack(short(now), short(self.desired));
        for (word, &past) in record.0[word::ALLOCATED..].iter_mut().zip(&self.allocated) {
            *word = word::pack(short(past), word::NONE);
        }
    }

    fn answer(&mut self, asked: Asks, record: &Record, flow: &Flow, _config: &D3) -> Granted {
        self.count(asked, record);
        let given = vector(record).map(|(_, given)| given).filter(|given| *given != word::NONE);
        let least = given.min().unwrap_or(0).max(0) as u64;
        let rate = (least * UNIT).min(flow.line.0);
        Granted { rate, again: flow.timeout(rate) }
    }

    fn is_off(&mut self, record: &Record) -> bool {
        self.count(Asks::Last, record);
        self.is_clear()
    }

    fn gives_up(&self, flow: &Flow, config: &D3) -> bool {
        let late = || match needed(flow, config.guard_rtts) {
            Some(rate) => rate > flow.line.0 / UNIT,
            None => flow.due != Time::NEVER,
        };
        config.late == LateFlow::GiveUp && late()
    }
}

/// All D3 flows of a run.
pub type Model = paced::Model<Sender>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::paced::settings::BARE;
    use crate::units::Rate;

    /// So many bytes on the wire are still to be sent, due at that time, a millisecond after the start; round trips of 300 us.
    fn flow(unsent: u64, due: Time) -> Flow<'static> {
        Flow {
            pacing: &BARE,
            now: Time::from_us(1000),
            left: unsent,
            due,
            rtt: Some(Time::from_us(300)),
            line: Rate(1_000_000_000),
            rate: 0,
            unsent,
            last: (Time::from_us(900), 1500),
        }
    }

    /// By hand: 75,000 B in 1 ms are 600 Mbps, in 1 ms - 2 * 300 us = 400 us 1.5 Gbps; in 1.0001 ms 599.941 Mbps.
    #[test]
    fn a_flow_needs_what_is_left_by_the_time_left() {
        let due = Time::from_us(2000);
        assert_eq!(needed(&flow(75_000, due), 0.0), Some(600_000));
        assert_eq!(needed(&flow(75_000, due), 2.0), Some(1_500_000));
        assert_eq!(needed(&flow(75_000, Time(2_000_100_000)), 0.0), Some(599_941));
        assert_eq!(needed(&flow(75_000, Time::NEVER), 0.0), None, "no deadline");
        assert_eq!(needed(&flow(75_000, Time::from_us(1000)), 0.0), None, "passed");
        assert_eq!(needed(&flow(75_000, due), 4.0), Some(u64::MAX), "no time");
        assert_eq!(needed(&flow(0, due), 4.0), Some(0), "nothing to send");
    }

    /// A rate above the sender's link is not requested, and is a reason to give up; so is a deadline that has
    /// passed.
    #[test]
    fn who_cannot_end_in_time_gives_up_if_told_to() {
        let gives_up = |late, unsent, due| {
            let config = D3 { late, ..D3::default() };
            Sender::default().gives_up(&flow(unsent, due), &config)
        };
        let due = Time::from_us(2000);
        assert!(!gives_up(LateFlow::GiveUp, 125_000, due), "exactly the line");
        assert!(gives_up(LateFlow::GiveUp, 125_001, due));
        assert!(gives_up(LateFlow::GiveUp, 1, Time::from_us(1000)));
        assert!(!gives_up(LateFlow::GiveUp, 1_000_000, Time::NEVER));
        assert!(!gives_up(LateFlow::Keep, 125_001, due));
        let mut record = Record::default();
        Sender::default().ask(Asks::Again, &flow(125_001, due), &D3::default(), &mut record);
        assert_eq!(word::unpack(record.0[word::DESIRED]), (1_000_000, 0));
    }

    /// Two links whose other allocations are fixed: the least allocation is the rate, and is kept link by
    /// link.
    #[test]
    fn the_rate_is_the_least_of_the_vector() {
        let (mut sender, flow) = (Sender::default(), flow(75_000, Time::from_us(2000)));
        let mut record = Record::default();
        sender.ask(Asks::First, &flow, &D3::default(), &mut record);
        for (hop, given) in [900_000, 300_000, 500_000].into_iter().enumerate() {
            record.0[word::ALLOCATED + hop] = word::pack(0, given);
        }
        let granted = sender.answer(Asks::First, &record, &flow, &D3::default());
        assert_eq!(granted, Granted { rate: 300_000_000, again: Time::from_us(300) });
        assert_eq!(sender.allocated, [900_000, 300_000, 500_000, 0, 0, 0, 0]);
        sender.ask(Asks::Again, &flow, &D3::default(), &mut record);
        assert_eq!(word::unpack(record.0[word::DESIRED]), (600_000, 600_000));
        let past: Vec<i32> = vector(&record).map(|(past, _)| past).collect();
        assert_eq!(past, [900_000, 300_000, 500_000, 0, 0, 0, 0]);
        assert!(vector(&record).all(|(_, given)| given == word::NONE));
    }

    /// A SYN that was retransmitted although it was not lost: the port has counted both, and the FIN takes
    /// both back.
    #[test]
    fn what_was_counted_twice_is_taken_back_twice() {
        let (mut sender, flow) = (Sender::default(), flow(75_000, Time::from_us(2000)));
        let mut records = [Record::default(); 2];
        // The port's own sums: flows, allocated, demand. It gives 700,000, then 300,000.
        let mut port = (0, 0, 0);
        for record in &mut records {
            sender.ask(Asks::First, &flow, &D3::default(), record);
        }
        for (record, given) in records.iter_mut().zip([700_000, 300_000]) {
            let (now, before) = word::unpack(record.0[word::DESIRED]);
            let (past, _) = word::unpack(record.0[word::ALLOCATED]);
            port = (port.0 + 1, port.1 + given - past, port.2 + now - before);
            record.0[word::ALLOCATED] = word::pack(past, given);
        }
        assert_eq!(port, (2, 1_000_000, 1_200_000));
        for record in &records {
            sender.answer(Asks::First, record, &flow, &D3::default());
        }
        let mut fin = Record::default();
        sender.ask(Asks::Last, &flow, &D3::default(), &mut fin);
        let (count, before) = word::unpack(fin.0[word::DESIRED]);
        let (past, _) = word::unpack(fin.0[word::ALLOCATED]);
        assert_eq!((count, past, before), port);
        fin.0[word::ALLOCATED] = word::pack(past, 0);
        assert!(sender.is_off(&fin));
        // A FIN too many is taken back, too.
        assert!(!sender.is_off(&fin));
        sender.ask(Asks::Last, &flow, &D3::default(), &mut fin);
        assert_eq!(word::unpack(fin.0[word::DESIRED]), (-2, -1_200_000));
    }
}
