//! D3 at a port: flows get rates in the order of their requests, flows with deadlines as much as they
//! request.
//!
//! Source: Wilson et al., "Better never than late: meeting deadlines in datacenter networks", SIGCOMM 2011;
//! the order of the steps is that of its Snippet 1, as a public model has it (SymbioticLab/Aequitas,
//! `ext/d3_*.cpp`). A port counts flows (N), the rates allocated to them (A) and the rates they request (D);
//! each request returns its flow's earlier allocation and gets a new one, one entry of the vector that it
//! carries. The capacity that is allocated follows the bytes that the link carries and the bytes queued,
//! interval by interval.
//!
//! Two choices that the paper leaves open are fields: an allocation may exceed the remaining capacity or not
//! (`allocation`), and a port keeps counters or per-flow state (`state`). Rates are whole numbers of kbit/s,
//! so that a returned rate equals the allocated one to the last bit.

mod settings;
mod sums;

pub use self::settings::{Allocation, D3Port, PortState};
use self::sums::{Request, Sums};
use super::interval::{self, Intervals};
use super::{Build, kind};
use crate::engine::contract::agent::{AgentContext, PortAgent};
use crate::engine::contract::numbers::Numbers;
use crate::engine::contract::packet::{Packet, Record};
use crate::ids::FlowId;
use crate::topology::Link;
use crate::units::{Rate, Time};

impl Build for D3Port {
    type Model = Model;

    fn model(&self, link: &Link) -> Model {
        Model {
            alpha: self.alpha,
            beta: self.beta,
            interval: self.interval.or(interval::LEAST),
            capped: self.allocation == Allocation::Capped,
            base: (self.base_rate.0 / UNIT) as i64,
            silent_intervals: self.silent_intervals,
            capacity: kbits(link.rate),
            sums: Sums::new(self.state),
            intervals: Intervals::default(),
            sent: 0,
        }
    }
}

/// Bit/s in a unit of the rates that packets carry: 32 bits hold up to 2 Tbit/s.
pub const UNIT: u64 = 1000;

/// Links of a path for whose allocations a packet has room.
pub const LINKS: usize = 7;

/// Words of the record that packets of D3 carry, each with two rates in kbit/s.
pub mod word {
    /// The requested rate, and the one requested before. In a FIN or TERM in place of the first: the number of times that ports
    /// counted its SYN.
    pub const DESIRED: usize = 0;
    /// From here on by link of the path: the flow's earlier allocation there, and its present one.
    pub const ALLOCATED: usize = 1;
    /// The second of these until the packet has passed the link's port.
    pub const NONE: i32 = i32::MIN;

    /// Two numbers in a word.
    #[inline]
    pub fn pack(first: i32, second: i32) -> u64 {
        u64::from(first as u32) | u64::from(second as u32) << 32
    }

    /// The two numbers of a word.
    #[inline]
    pub fn unpack(word: u64) -> (i32, i32) {
        (word as u32 as i32, (word >> 32) as u32 as i32)
    }
}

/// A rate in kbit/s.
fn kbits(rate: Rate) -> f64 {
    rate.0 as f64 / UNIT as f64
}

/// Counters and allocations at one port. Rates are in kbit/s.
#[derive(Clone, Debug)]
pub struct Model {
    alpha: f64,
    beta: f64,
    interval: Time,
    capped: bool,
    base: i64,
    silent_intervals: f64,
    /// C: the capacity that is allocated.
    capacity: f64,
    sums: Sums,
    intervals: Intervals,
    /// Bytes that had been sent before the present interval.
    sent: u64,
}

#[cfg(test)]
impl Model {
    /// Records a flow that does not exist: a test of the audit leaves an entry behind in this way.
    pub fn leave_behind(&mut self, flow: FlowId) {
        let now = Time::ZERO;
        self.sums.take_back(Request { now, flow, flows: 0, last: false, desired: 0, before: 0, past: 0 });
    }
}

impl Model {
    /// The allocation of a flow.
    fn grant(&mut self, request: Request) -> i64 {
        self.sums.take_back(request);
        if request.last {
            return 0;
        }
        let Sums { flows, allocated, demand, .. } = self.sums;
        let capacity = self.capacity as i64;
        let left = capacity - allocated;
        let share = ((capacity - demand) / flows.max(1)).max(0);
        let granted = match left > request.desired {
            true if self.capped => (request.desired + share).min(left),
            true => request.desired + share,
            false => left,
        };
        let granted = granted.max(self.base).min(i64::from(i32::MAX));
        self.sums.give(request.flow, granted);
        granted
    }

    /// How long a flow may be silent.
    fn expiry(&self) -> Time {
        Time((self.silent_intervals * self.interval.0 as f64) as u64)
    }

    /// The capacity after an interval of so many seconds in which so many bits were sent and at whose end so
    /// many are queued.
    fn adapt(&mut self, length: f64, sent: f64, waiting: f64, line: f64) {
        let rate = |bits: f64| bits / length / UNIT as f64;
        // A packet counts when its transmission begins: bits above the link's capacity are on its wire in the
        // next interval.
        let used = rate(sent).min(line);
        let change = self.alpha * (line - used) - self.beta * rate(waiting);
        self.capacity = (self.capacity + change).clamp(0.0, line);
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
        let hop = usize::from(packet.hops);
        if !kind::asks(packet.header.kind) || hop >= LINKS {
            return;
        }
        if self.intervals.rests() {
            self.intervals.begin(self.interval, cx);
            self.sent = cx.sent_bytes();
        }
        let (now, before) = word::unpack(record.0[word::DESIRED]);
        let (past, _) = word::unpack(record.0[word::ALLOCATED + hop]);
        let last = matches!(packet.header.kind, kind::FIN | kind::TERM);
        let first = packet.header.kind == kind::SYN;
        let granted = self.grant(Request {
            now: cx.now,
            flow: cx.flow,
            flows: if last { -i64::from(now) } else { i64::from(first) },
            last,
            desired: if last { 0 } else { i64::from(now) },
            before: i64::from(before),
            past: i64::from(past),
        });
        record.0[word::ALLOCATED + hop] = word::pack(past, granted as i32);
    }

    fn tick(&mut self, cx: &mut AgentContext) {
        let length = self.intervals.length(cx.now).seconds();
        let sent = cx.sent_bytes() - self.sent;
        let (waiting, before) = (cx.waiting_bytes(), self.capacity);
        let bits = |bytes: u64| bytes as f64 * 8.0;
        self.adapt(length, bits(sent), bits(waiting), kbits(cx.rate()));
        self.sums.forget(Time(cx.now.0.saturating_sub(self.expiry().0)));
        // Without state, nothing changes any more: the next request begins the next interval.
        let rests = sent == 0 && waiting == 0 && self.capacity == before && !self.sums.remembers_any();
        self.sent = cx.sent_bytes();
        match rests {
            true => self.intervals.rest(),
            false => self.intervals.begin(self.interval, cx),
        }
    }

    fn number(&mut self, numbers: &Numbers) {
        self.sums.number(numbers);
    }

    fn audit(&self, now: Time, is_open: &dyn Fn(FlowId) -> bool, found: &mut dyn FnMut(String)) {
        // Flows are forgotten when an interval ends.
        let looked = self.intervals.begun().unwrap_or(now);
        self.sums.audit(Time(looked.0.saturating_sub(self.expiry().0)), is_open, found);
    }

    fn audit_idle(&self, found: &mut dyn FnMut(String)) {
        // A port with per-flow state removes the last of its flows at a tick.
        if self.intervals.rests() || !self.sums.remembers_any() {
            self.sums.audit_idle(found);
        }
    }

    fn heap_bytes(&self) -> usize {
        self.sums.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derived::Derived;
    use crate::engine::contract::agent::tests::FakePort;
    use crate::ids::NodeId;
    use crate::random::{Purpose, Stream};

    /// A port of 1 Gbps: 1,000,000 kbit/s.
    const C: i64 = 1_000_000;

    fn port(config: &D3Port) -> Model {
        let link = Link { from: NodeId(0), to: NodeId(1), rate: Rate(1_000_000_000), delay: Time::ZERO };
        config.model(&link)
    }

    fn with(allocation: Allocation, state: PortState) -> Model {
        port(&D3Port { allocation, state, ..D3Port::default() })
    }

    /// A flow at one port, in its sender's place: it keeps its request and its allocation.
    struct Asker {
        flow: u32,
        open: bool,
        desired: i64,
        given: i64,
    }

    impl Asker {
        fn new(flow: u32) -> Asker {
            Asker { flow, open: false, desired: 0, given: 0 }
        }

        fn request(&self, desired: i64, last: bool) -> Request {
            let flows = if last { -1 } else { i64::from(!self.open) };
            let (before, past) = (self.desired, self.given);
            Request { now: Time::ZERO, flow: FlowId(self.flow), flows, last, desired, before, past }
        }

        fn ask(&mut self, port: &mut Model, desired: i64) -> i64 {
            self.given = port.grant(self.request(desired, false));
            (self.desired, self.open) = (desired, true);
            self.given
        }

        fn end(&mut self, port: &mut Model) {
            port.grant(self.request(0, true));
            (self.desired, self.given, self.open) = (0, 0, false);
        }
    }

    fn sums(port: &Model) -> (i64, i64, i64) {
        (port.sums.flows, port.sums.allocated, port.sums.demand)
    }

    /// Two flows on one link, by hand, in kbit/s, whichever state a port keeps.
    #[test]
    fn who_asks_first_is_served_first() {
        for state in [PortState::Counters, PortState::Flows] {
            let mut port = with(Allocation::Greedy, state);
            let (mut a, mut b) = (Asker::new(1), Asker::new(2));
            // N = 1, D = 600,000: left C, fair share C - D: all of it.
            assert_eq!(a.ask(&mut port, 600_000), C);
            assert_eq!(sums(&port), (1, C, 600_000));
            // D = 1,100,000: nothing is left, and the share is 0.
            assert_eq!(b.ask(&mut port, 500_000), 0);
            assert_eq!(sums(&port), (2, C, 1_100_000));
            // The allocation of a is taken back: C is left, and the share is still 0.
            assert_eq!(a.ask(&mut port, 600_000), 600_000);
            // 400,000 are left, less than b requests.
            assert_eq!(b.ask(&mut port, 500_000), 400_000);
            assert_eq!(sums(&port), (2, C, 1_100_000));
            a.end(&mut port);
            assert_eq!(sums(&port), (1, 400_000, 500_000));
            assert_eq!(b.ask(&mut port, 500_000), C);
            b.end(&mut port);
            assert_eq!(sums(&port), (0, 0, 0));
            port.audit_idle(&mut |what| panic!("{what}"));
        }
    }

    /// The flow with the nearer deadline requests 600,000 second, and the first one keeps its 700,000.
    #[test]
    fn a_nearer_deadline_does_not_help_who_comes_later() {
        let mut port = with(Allocation::Greedy, PortState::Counters);
        let (mut far, mut near) = (Asker::new(1), Asker::new(2));
        far.ask(&mut port, 700_000);
        assert_eq!(near.ask(&mut port, 600_000), 0);
        for _ in 0..10 {
            assert_eq!(far.ask(&mut port, 700_000), 700_000);
            assert_eq!(near.ask(&mut port, 600_000), 300_000);
        }
    }

    /// Three flows, by hand: two without deadlines have halves, a third requests 100,000. With N = 3 the
    /// share is (C - D) / 3 = 300,000, and the second still has its half: 200,000 are left, and the paper's
    /// rule gives 400,000.
    #[test]
    fn the_papers_rule_gives_more_than_is_left() {
        for (allocation, given, sum) in
            [(Allocation::Greedy, 400_000, 1_200_000), (Allocation::Capped, 200_000, C)]
        {
            let mut port = with(allocation, PortState::Counters);
            let (mut a, mut b, mut c) = (Asker::new(1), Asker::new(2), Asker::new(3));
            assert_eq!([a.ask(&mut port, 0), b.ask(&mut port, 0)], [C, 0]);
            assert_eq!([a.ask(&mut port, 0), b.ask(&mut port, 0)], [C / 2, C / 2]);
            assert_eq!([c.ask(&mut port, 100_000), a.ask(&mut port, 0)], [0, 300_000]);
            assert_eq!(c.ask(&mut port, 100_000), given);
            assert_eq!(port.sums.allocated, sum);
        }
    }

    /// Random flows arrive, request and end: the sums are those of the flows, and the allocations are never
    /// above the capacity if capped. The paper's rule is above it at times, by less than a share.
    #[test]
    fn only_capped_allocations_stay_within_the_capacity() {
        let mut excess = [0; 2];
        for seed in 0..40 {
            for (place, allocation) in [Allocation::Greedy, Allocation::Capped].into_iter().enumerate() {
                let state = [PortState::Counters, PortState::Flows][seed as usize % 2];
                let mut port = with(allocation, state);
                let mut stream = Stream::new(seed, 0, Purpose::Agent, 0);
                let mut askers: Vec<Asker> = (0..12).map(Asker::new).collect();
                for _ in 0..2000 {
                    let asker = &mut askers[stream.below(12) as usize];
                    if asker.open && stream.below(8) == 0 {
                        asker.end(&mut port);
                        continue;
                    }
                    let desired = if stream.coin() { 0 } else { stream.below(400_000) as i64 };
                    let above_before = port.sums.allocated - C;
                    asker.ask(&mut port, desired);
                    let open = || askers.iter().filter(|asker| asker.open);
                    let demand: i64 = open().map(|asker| asker.desired).sum();
                    let given: i64 = open().map(|asker| asker.given).sum();
                    assert_eq!(sums(&port), (open().count() as i64, given, demand));
                    let above = port.sums.allocated - C;
                    if above > 0 {
                        excess[place] = excess[place].max(above);
                        let share = (C - demand).max(0) / open().count() as i64;
                        assert!(above <= above_before.max(share), "{above} kbit/s");
                    }
                }
                askers.iter_mut().filter(|asker| asker.open).for_each(|asker| asker.end(&mut port));
                assert_eq!(sums(&port), (0, 0, 0));
            }
        }
        assert!(excess[0] > C / 10 && excess[1] == 0, "{excess:?} kbit/s above the capacity");
    }

    /// A SYN or a FIN that arrives twice leaves no stale flow in per-flow state.
    #[test]
    fn what_comes_twice_counts_once_where_flows_are_remembered() {
        let mut port = with(Allocation::Greedy, PortState::Flows);
        let syn = |flow| Request {
            now: Time::ZERO,
            flow: FlowId(flow),
            flows: 1,
            last: false,
            desired: 100_000,
            before: 0,
            past: 0,
        };
        assert_eq!(port.grant(syn(4)), C);
        assert_eq!(port.grant(syn(4)), C);
        assert_eq!(port.grant(syn(3)), 0);
        assert_eq!(sums(&port), (2, C, 200_000));
        for flow in [3, 3, 4, 4] {
            port.grant(Request { last: true, desired: 0, ..syn(flow) });
        }
        assert_eq!(sums(&port), (0, 0, 0));
    }

    /// Two of three flows send no more requests: after four intervals of 300 us their rates are free. One
    /// that requests again is recorded.
    #[test]
    fn who_is_silent_is_forgotten() {
        let interval = Derived::Given(Time::from_us(300));
        let mut port = port(&D3Port { interval, state: PortState::Flows, ..D3Port::default() });
        let asks = |flow, now, desired| Request {
            now: Time::from_us(now),
            flow: FlowId(flow),
            flows: 1,
            last: false,
            desired,
            before: 0,
            past: 0,
        };
        assert_eq!(port.grant(asks(1, 0, 600_000)), C);
        assert_eq!(port.grant(asks(1, 1, 600_000)), C);
        assert_eq!(port.grant(asks(2, 2, 300_000)), 0);
        assert_eq!(port.grant(asks(1, 3, 600_000)), 600_000 + 100_000 / 2);
        assert_eq!(port.grant(asks(3, 600, 100_000)), 100_000);
        assert_eq!(sums(&port), (3, 750_000, C));
        port.sums.forget(Time::from_us(1202) - port.expiry());
        assert_eq!(sums(&port), (3, 750_000, C), "1200 us since the second one asked");
        port.sums.forget(Time::from_us(1204) - port.expiry());
        assert_eq!(sums(&port), (1, 100_000, 100_000));
        assert_eq!(port.grant(asks(2, 1300, 300_000)), 300_000 + 600_000 / 2);
    }

    /// By hand: T = 300 us, alpha = 0.1, beta = 1. A full interval at whose end 15,000 B are queued: C - 120
    /// kbit / 300 us = 0.6 C. Then 0.6 C are used and the queue is empty: 0.6 C + 0.1 * 0.4 C = 0.64 C. It
    /// stays between 0 and the link's rate.
    #[test]
    fn the_capacity_follows_use_and_queue() {
        let mut port = port(&D3Port::default());
        port.adapt(300e-6, 300e3, 120e3, 1e6);
        assert!((port.capacity - 0.6e6).abs() < 1e-3, "{}", port.capacity);
        port.adapt(300e-6, 180e3, 0.0, 1e6);
        assert!((port.capacity - 0.64e6).abs() < 1e-3, "{}", port.capacity);
        port.adapt(300e-6, 300e3, 1e6, 1e6);
        assert_eq!(port.capacity, 0.0);
        (0..1000).for_each(|_| port.adapt(300e-6, 0.0, 0.0, 1e6));
        assert_eq!(port.capacity, 1e6);
    }

    #[test]
    fn an_audit_finds_what_is_left_behind() {
        let mut found = Vec::new();
        let mut port = with(Allocation::Greedy, PortState::Counters);
        Asker::new(1).ask(&mut port, 0);
        port.audit_idle(&mut |what| found.push(what));
        assert_eq!(found, ["counts 1 flows with 1000000 kbit/s that request 0, and all have ended"]);
    }

    /// By hand: a port that has rested begins to count with the first request, whatever it had sent before. In the 100 us that
    /// follow it sends 6250 B, half of what its link carries: with alpha 1/2, half of the other half is added.
    #[test]
    fn the_first_interval_counts_its_own_bytes() {
        let interval = Derived::Given(Time::from_us(100));
        let mut port = port(&D3Port { alpha: 0.5, beta: 0.0, interval, ..D3Port::default() });
        port.capacity = 500_000.0;
        let mut at = FakePort::new(0);
        at.arrived = 99_000;
        at.packet(&mut port, 1, kind::SYN, &mut Record::default());
        (at.now, at.arrived) = (Time::from_us(100), 99_000 + 6250);
        at.tick(&mut port);
        assert_eq!(port.capacity, 750_000.0);
    }
}
