//! CoDel: drops by how long packets have waited, on departure (RFC 8289; Nichols and Jacobson, "Controlling queue delay",
//! ACM Queue 2012).
//!
//! The steps are those of RFC 8289, section 5; marks in place of drops are as in Linux.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Build, Feature, Limit, Settings};
use crate::derived::{Derived, Environment, Values};
use crate::engine::contract::discipline::{Discipline, DropReason, PortContext, Queued};
use crate::engine::contract::ring::Ring;
use crate::engine::contract::rules::BufferLimit;
use crate::ids::PacketId;
use crate::problem::Problem;
use crate::units::{Bytes, Time};

/// First-in first-out; once packets have waited for too long throughout an interval, departing ones are dropped, more
/// and more often (CoDel, RFC 8289).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Codel {
    /// TARGET, the wait that is acceptable throughout: 5 to 10 % of `interval` (RFC 8289, section 4; 5 ms there).
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "100s"))]
    pub target: Time,
    /// INTERVAL, the time in which a good queue drains at least once: the longest round trip of most flows (RFC 8289,
    /// section 4; 100 ms for the Internet).
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "100s"))]
    pub interval: Time,
    /// MAXPACKET: nothing is dropped while no more than this is queued (RFC 8289, section 5.3: the MTU).
    /// "derived": a full packet.
    #[schemars(extend("x-maximum" = "1GB"))]
    pub max_packet: Derived<Bytes>,
    /// Dropping that begins again within so many intervals of its last drop goes on from the rate that it had reached
    /// (RFC 8289, section 5.5: 16).
    #[schemars(range(max = 1_000_000))]
    pub memory: u32,
    /// Whether ECN-capable packets are marked in place of dropped (Linux: `ecn`).
    pub ecn: bool,
    /// Limit of the queue, the packet on the wire not counted; more is dropped on arrival (Linux: 1000
    /// packets).
    pub limit: Limit,
}

impl Default for Codel {
    fn default() -> Self {
        Codel {
            target: Time::from_us(5_000),
            interval: Time::from_us(100_000),
            max_packet: Derived::FromNetwork,
            memory: 16,
            ecn: false,
            limit: Limit::Packets(1000),
        }
    }
}

impl Settings for Codel {
    fn joins_buffer(&self) -> bool {
        true
    }

    fn for_marks(&self) -> &'static [&'static str] {
        &["ecn"]
    }

    fn offers(&self) -> &'static [Feature] {
        if self.ecn { &[Feature::Ecn] } else { &[] }
    }

    fn problems(&self) -> Vec<Problem> {
        if self.target <= self.interval {
            return Vec::new();
        }
        vec![Problem::new("target", format!("{} is above interval, {}", self.target, self.interval))]
    }

    fn derived(&self, _environment: &Environment, full_packet: u64) -> Values {
        match self.max_packet {
            Derived::FromNetwork => vec![("max_packet".into(), json!(Bytes(full_packet)))],
            Derived::Given(_) => Vec::new(),
        }
    }

    fn most_packets(&self, full_packet: u64) -> Option<u64> {
        self.limit.room(full_packet).most_packets(full_packet)
    }

    fn acts_on_departure(&self) -> bool {
        true
    }
}

impl Build for Codel {
    type Model = Model;

    fn model(&self, full_packet: u64) -> Model {
        Model {
            waiting: Ring::default(),
            bytes: 0,
            room: self.limit.room(full_packet),
            target: self.target,
            interval: self.interval,
            max_packet: self.max_packet.or(Bytes(full_packet)).0,
            memory: Time(self.interval.0.saturating_mul(u64::from(self.memory))),
            ecn: self.ecn,
            dropping: false,
            first_above: Time::NEVER,
            drop_next: Time::ZERO,
            count: 0,
            last_count: 0,
        }
    }
}

/// The queue at one port. The last five fields are the variables of RFC 8289, section 5.2.
#[derive(Clone, Debug)]
pub struct Model {
    /// Each with the time at which it came.
    waiting: Ring<(Queued, Time)>,
    bytes: u64,
    room: BufferLimit,
    target: Time,
    interval: Time,
    max_packet: u64,
    memory: Time,
    ecn: bool,
    dropping: bool,
    /// When waits will have been above the target for an interval; never, if the last one was not above it.
    first_above: Time,
    drop_next: Time,
    count: u32,
    last_count: u32,
}

impl Model {
    /// The next packet, and whether it may be dropped (`dodequeue` of RFC 8289, section 5.6).
    fn next(&mut self, now: Time) -> Option<(Queued, bool)> {
        let Some((packet, came)) = self.waiting.pop() else {
            self.first_above = Time::NEVER;
            return None;
        };
        self.bytes -= u64::from(packet.size);
        if now - came < self.target || self.bytes <= self.max_packet {
            self.first_above = Time::NEVER;
        } else if self.first_above == Time::NEVER {
            self.first_above = now.saturating_add(self.interval);
        } else {
            return Some((packet, now >= self.first_above));
        }
        Some((packet, false))
    }

    /// `control_law`: drops come closer by the square root of their number.
    fn after(&self, time: Time) -> Time {
        time.saturating_add(Time((self.interval.0 as f64 / f64::from(self.count).sqrt()).round() as u64))
    }

    /// Whether the packet stays, with a mark; else it is dropped.
    fn marks(&self, packet: Queued, cx: &mut PortContext) -> bool {
        if self.ecn && cx.mark(packet.id) {
            return true;
        }
        cx.drop_waiting(packet, DropReason::Managed);
        false
    }

    /// Drops the packets that are due, with the state of dropping entered.
    fn go_on(&mut self, mut head: (Queued, bool), cx: &mut PortContext) -> Option<Queued> {
        self.dropping = head.1;
        while self.dropping && cx.now >= self.drop_next {
            self.count += 1;
            if self.marks(head.0, cx) {
                self.drop_next = self.after(self.drop_next);
                break;
            }
            let next = self.next(cx.now);
            self.dropping = next.is_some_and(|(_, may)| may);
            head = next?;
            if self.dropping {
                self.drop_next = self.after(self.drop_next);
            }
        }
        Some(head.0)
    }

    /// Enters the state of dropping with the first drop.
    fn begin(&mut self, head: Queued, cx: &mut PortContext) -> Option<Queued> {
        let sent = if self.marks(head, cx) { Some(head) } else { self.next(cx.now).map(|(next, _)| next) };
        self.dropping = true;
        let before = self.count - self.last_count;
        let recent = cx.now.saturating_sub(self.drop_next) < self.memory;
        self.count = if before > 1 && recent { before } else { 1 };
        self.last_count = self.count;
        self.drop_next = self.after(cx.now);
        sent
    }
}

impl Discipline for Model {
    fn enqueue(&mut self, id: PacketId, cx: &mut PortContext) {
        let size = cx.arena[id].size;
        if !self.room.holds(self.waiting.len() + 1, self.bytes + u64::from(size)) {
            return cx.drop(id, DropReason::Full);
        }
        cx.keep(size);
        self.bytes += u64::from(size);
        self.waiting.push((Queued { id, size }, cx.now));
    }

    fn dequeue(&mut self, cx: &mut PortContext) -> Option<Queued> {
        let next = self.next(cx.now);
        self.dropping &= next.is_some();
        let (head, may_drop) = next?;
        match (self.dropping, may_drop) {
            (true, _) => self.go_on((head, may_drop), cx),
            (false, true) => self.begin(head, cx),
            (false, false) => Some(head),
        }
    }

    fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    fn resident(&self, found: &mut dyn FnMut(PacketId)) {
        self.waiting.iter().for_each(|(packet, _)| found(packet.id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::contract::discipline::tests::FakePort;
    use crate::engine::contract::packet::flag;
    use crate::units::Rate;

    const TARGET: Time = Time::from_us(5);
    const INTERVAL: Time = Time::from_us(100);

    fn queue(ecn: bool) -> Model {
        Codel { target: TARGET, interval: INTERVAL, ecn, ..Codel::default() }.model(1500)
    }

    fn port() -> FakePort {
        FakePort::new(Rate(1_000_000_000))
    }

    /// A queue comes at that time and stays above the target: an interval after it was first found to be, dropping begins. The
    /// drops that follow, so many, are an interval over the square root of their number apart, from `first` on. Then it
    /// drains. Returns when.
    fn episode(model: &mut Model, at: &mut FakePort, start: Time, first: u32, more: u32) -> Time {
        at.now = start;
        (0..40).for_each(|_| at.comes(model, 0));
        let before = at.losses.dropped.packets;
        let drops = |at: &FakePort| at.losses.dropped.packets - before;
        let mut leaves = |at: &mut FakePort, now| {
            at.now = now;
            at.leaves(model).expect("it has packets");
        };
        leaves(at, start + TARGET);
        let mut due = start + TARGET + INTERVAL;
        leaves(at, Time(due.0 - 1));
        assert_eq!(drops(at), 0);
        leaves(at, due);
        assert_eq!(drops(at), 1);
        for number in 0..more {
            let apart = INTERVAL.0 as f64 / f64::from(first + number).sqrt();
            due = due + Time(apart.round() as u64);
            leaves(at, Time(due.0 - 1));
            assert_eq!(drops(at), 1 + u64::from(number), "a picosecond before drop {number} of {first}");
            leaves(at, due);
            assert_eq!(drops(at), 2 + u64::from(number), "drop {number} of {first}");
        }
        while at.leaves(model).is_some() {}
        assert_eq!(drops(at), 1 + u64::from(more));
        due
    }

    /// RFC 8289, section 5.5: dropping that begins within 16 intervals of its last drop goes on from the number of drops that
    /// the last episode added, `count - lastcount`. By hand: of 4 drops the first set 1, the others add 3; the second episode
    /// begins with 3 and adds 4; the third begins with 4. After 16 intervals it begins with 1.
    #[test]
    fn dropping_goes_on_from_the_drops_of_the_last_episode() {
        let (mut model, mut at) = (queue(false), port());
        let mut end = episode(&mut model, &mut at, Time::ZERO, 1, 3);
        end = episode(&mut model, &mut at, end + INTERVAL, 3, 4);
        end = episode(&mut model, &mut at, end + INTERVAL, 4, 2);
        let later = end + Time(16 * INTERVAL.0);
        end = episode(&mut model, &mut at, later, 1, 1);
        // A single drop more is nothing to go on from.
        episode(&mut model, &mut at, end + INTERVAL, 1, 1);
    }

    /// Packets are dropped from the head, and what may be marked is, at the same times.
    #[test]
    fn the_head_is_dropped_or_marked() {
        for (flags, sent, marks) in [(0, [0, 1, 3], 0), (flag::ECN_CAPABLE, [0, 1, 2], 1)] {
            let (mut model, mut at) = (queue(true), port());
            (0..9).for_each(|_| at.comes(&mut model, flags));
            let left = [5, 50, 105].map(|us| {
                at.now = Time::from_us(us);
                at.leaves(&mut model).expect("it has packets")
            });
            assert_eq!((left, at.losses.marks), (sent, marks));
            assert_eq!(at.losses.dropped.packets, 1 - marks);
        }
    }

    /// A wait below the target, or a packet left when one goes, begins the interval anew.
    #[test]
    fn a_short_wait_or_a_short_queue_forgives() {
        let (mut model, mut at) = (queue(false), port());
        (0..3).for_each(|_| at.comes(&mut model, 0));
        at.now = TARGET;
        at.leaves(&mut model);
        assert_eq!(model.first_above, TARGET + INTERVAL);
        at.now = Time::from_us(200);
        // One packet of 1500 B stays behind it: no more than a full packet.
        assert_eq!(at.leaves(&mut model), Some(1));
        assert_eq!((model.first_above, at.losses.dropped.packets), (Time::NEVER, 0));
        (0..3).for_each(|_| at.comes(&mut model, 0));
        at.now = Time::from_us(300);
        at.leaves(&mut model);
        assert_eq!(model.first_above, Time::from_us(400));
        (0..3).for_each(|_| at.comes(&mut model, 0));
        assert_eq!([0; 3].map(|_| at.leaves(&mut model)), [3, 4, 5].map(Some));
        at.now = Time(304_999_999);
        at.leaves(&mut model);
        assert_eq!(model.first_above, Time::NEVER);
    }

    /// So does a port that finds nothing to send (section 5.5, `dodequeue`): packets that come later are judged by their own
    /// interval.
    #[test]
    fn an_empty_queue_forgives() {
        let (mut model, mut at) = (queue(false), port());
        model.first_above = Time::from_us(100);
        assert_eq!((at.leaves(&mut model), model.first_above), (None, Time::NEVER));
    }
}
