//! DAQ's port: short flows, urgent ones first, and long flows, which share the link by weights; nothing is dropped.
//!
//! Source: Ding and Rojas-Cessa, "DAQ: Deadline-Aware Queue Scheme for Scheduling Service Flows in Data
//! Centers", section II and Algorithm 1. That nothing is dropped is the work of credits (`engine/network/credit.rs`):
//! each sender on a link to a switch has credit for a share of the switch's buffer. A port keeps queues and
//! no flows. Packets of data carry their class and, as `Header::ack`, the time left to their deadline.

mod load;
mod round_robin;
mod settings;
mod windows;

use self::load::Load;
use self::round_robin::RoundRobin;
pub use self::settings::{DaqPort, Reported, Threshold};
use super::waiting::Waiting;
use crate::engine::contract::credit::{CLASSES, LONG, SHORT, Word, class_of};
use crate::engine::contract::discipline::{Discipline, PortContext, Queued};
use crate::engine::contract::packet::{Packet, flag};
use crate::ids::PacketId;

/// Values of `Header::ack` of data: this for a flow without a deadline (the paper's -10); else the time left.
pub const NO_DEADLINE: u64 = u64::MAX;
/// The value for a flow whose deadline has passed.
pub const EXPIRED: u64 = u64::MAX - 1;

/// The queues at one port.
#[derive(Clone, Debug)]
pub struct Model(Box<State>);

/// Three queues for data and one for control packets; no state of any flow.
#[derive(Clone, Debug, Default)]
struct State {
    control: Waiting,
    /// Q1.1.
    urgent: Waiting,
    /// Q1.2.
    later: Waiting,
    /// Q2.
    long: Waiting,
    threshold: Urgent,
    reported: Reported,
    robin: RoundRobin,
    /// Largest number of bytes that may wait of each class: for assertions.
    buffers: [u64; CLASSES],
    load: Load,
}

/// Which packets are urgent.
#[derive(Clone, Copy, Debug)]
enum Urgent {
    /// Due within so many picoseconds. The largest number means all, even those that have expired.
    Within(u64),
    /// Due within so many of the round trips that the packets carry.
    Measured(f64),
}

impl Default for Urgent {
    fn default() -> Self {
        Urgent::Within(0)
    }
}

/// So many round trips; the longest is below the value of flows that have expired.
fn within(ratio: f64, rtt_ps: u64) -> u64 {
    // Casts saturate.
    ((ratio * rtt_ps as f64) as u64).min(EXPIRED - 1)
}

/// Algorithm 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Control,
    Urgent,
    Later,
    Long,
}

impl State {
    #[inline]
    fn place(&self, packet: &Packet) -> Place {
        if packet.has(flag::CONTROL) {
            return Place::Control;
        }
        if class_of(packet.header.class) == LONG {
            return Place::Long;
        }
        let threshold = match self.threshold {
            Urgent::Within(threshold) => threshold,
            Urgent::Measured(ratio) => within(ratio, packet.header.seq),
        };
        if packet.header.ack <= threshold { Place::Urgent } else { Place::Later }
    }

    fn bytes(&self, class: usize) -> u64 {
        if class == SHORT { self.urgent.bytes() + self.later.bytes() } else { self.long.bytes() }
    }

    /// The class whose turn it is among those that have packets and are not blocked.
    #[inline]
    fn next_class(&mut self, paused: u8) -> Option<usize> {
        let short = self.urgent.first().or_else(|| self.later.first());
        let go = |class: usize, packet: Option<Queued>| packet.filter(|_| paused & 1 << class == 0);
        let heads = [go(SHORT, short), go(LONG, self.long.first())];
        self.robin.next(heads)
    }

    /// Bytes of the queue that the credit frame reports to the sender of a packet of that class, urgent or not, that has left.
    fn reported(&self, class: usize, urgent: bool) -> u64 {
        if urgent && self.reported == Reported::Experienced { self.urgent.bytes() } else { self.bytes(class) }
    }

    /// A packet of data leaves: credit is spent on the next link, and owed to the head of the one that it came by.
    #[inline]
    fn leave(&mut self, packet: Queued, class: usize, urgent: bool, cx: &mut PortContext) {
        cx.spend(class, packet.size);
        let word = Word { queue: self.reported(class, urgent), load: self.load.share(cx.now, cx.port.rate) };
        cx.release(packet.id, class, packet.size, word);
    }

    /// Takes the first packet of a class.
    #[inline]
    fn pop(&mut self, class: usize) -> Option<Queued> {
        let packet = match class {
            SHORT => self.urgent.pop().or_else(|| self.later.pop()),
            _ => self.long.pop(),
        }?;
        self.robin.served(class, packet.size, self.bytes(class) > 0);
        Some(packet)
    }
}

impl Model {
    fn new(state: State) -> Model {
        Model(Box::new(state))
    }
}

impl Discipline for Model {
    #[inline]
    fn enqueue(&mut self, id: PacketId, cx: &mut PortContext) {
        let state = &mut *self.0;
        let packet = &cx.arena[id];
        let (size, place) = (packet.size, state.place(packet));
        state.load.count(cx.now, size);
        cx.keep(size);
        let queue = match place {
            Place::Control => &mut state.control,
            Place::Urgent => &mut state.urgent,
            Place::Later => &mut state.later,
            Place::Long => &mut state.long,
        };
        queue.push(Queued { id, size });
        debug_assert!(
            [SHORT, LONG].into_iter().all(|class| state.bytes(class) <= state.buffers[class]),
            "credits keep what waits within the buffers"
        );
    }

    #[inline]
    fn dequeue(&mut self, cx: &mut PortContext) -> Option<Queued> {
        let state = &mut *self.0;
        if let Some(packet) = state.control.pop() {
            return Some(packet);
        }
        let class = state.next_class(cx.port.paused)?;
        let urgent = class == SHORT && !state.urgent.is_empty();
        let packet = state.pop(class)?;
        state.leave(packet, class, urgent, cx);
        Some(packet)
    }

    /// A packet that meets an empty port is sent as if it had been queued: its class has had its turn, and
    /// has no remainder of it.
    #[inline]
    fn pass(&mut self, id: PacketId, cx: &mut PortContext) -> Option<Queued> {
        let state = &mut *self.0;
        let packet = &cx.arena[id];
        let (size, class) = (packet.size, class_of(packet.header.class));
        let control = packet.has(flag::CONTROL);
        let alone = state.bytes(SHORT) + state.bytes(LONG) == 0 && cx.port.paused & 1 << class == 0;
        if !state.control.is_empty() || !(control || alone) {
            self.enqueue(id, cx);
            return self.dequeue(cx);
        }
        state.load.count(cx.now, size);
        cx.keep(size);
        if !control {
            state.robin.passed(class);
            // It was alone: no queue is left that it could have met.
            state.leave(Queued { id, size }, class, false, cx);
        }
        Some(Queued { id, size })
    }

    #[inline]
    fn is_empty(&self) -> bool {
        let State { control, urgent, later, long, .. } = &*self.0;
        control.is_empty() && urgent.is_empty() && later.is_empty() && long.is_empty()
    }

    fn resident(&self, found: &mut dyn FnMut(PacketId)) {
        let State { control, urgent, later, long, .. } = &*self.0;
        [control, urgent, later, long].into_iter().flat_map(Waiting::iter).for_each(found);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::derived::Derived;
    use crate::engine::contract::discipline::tests::FakePort;
    use crate::engine::contract::packet::Header;
    use crate::ids::{ConnId, LinkId};
    use crate::queue::{Build, Settings};
    use crate::units::{Bytes, Rate, Time};

    fn state(config: &DaqPort) -> State {
        *config.model(1500).0
    }

    fn data(class: u8, ack: u64, seq: u64, conn: u32) -> Packet {
        Packet {
            created_at: Time::ZERO,
            wire_at: Time::ZERO,
            size: 1500,
            conn: ConnId(conn),
            dst: crate::ids::NodeId(0),
            ingress: LinkId::NONE,
            label: conn,
            transport: 0,
            balancer: 0,
            flags: 0,
            hops: 0,
            header: Header { class, ack, seq, ..Header::default() },
        }
    }

    /// Both buffers may be full: 30,000 B of short flows and 60,000 B of long ones are 60 packets of 1500 B.
    #[test]
    fn a_port_holds_the_packets_of_both_buffers() {
        let config =
            DaqPort { short_buffer: Bytes(30_000), long_buffer: Bytes(60_000), ..DaqPort::default() };
        assert_eq!(config.most_packets(1500), Some(60));
    }

    /// The paper's mark for a flow without a deadline.
    const MARK: i64 = -10;

    /// A packet with the paper's deadline field, in ms: the mark, time left, or another negative value for one that has
    /// expired.
    fn marked(deadline: i64, conn: u32) -> Packet {
        match deadline {
            MARK => data(LONG as u8, NO_DEADLINE, 0, conn),
            expired if expired < 0 => data(SHORT as u8, EXPIRED, 0, conn),
            left => data(SHORT as u8, left as u64 * 1_000_000_000, 0, conn),
        }
    }

    proptest! {
        /// Algorithm 1, with T = ratio x RTT; nothing else of a packet matters.
        #[test]
        fn packets_are_sorted_by_the_time_left(
            deadline in -20i64..60, ratio in 0u32..200, rtt_us in 1u64..1000, conn in any::<u32>(),
        ) {
            let rtt = Derived::Given(Time::from_us(rtt_us));
            let port = state(&DaqPort { ratio: Some(f64::from(ratio)), rtt, ..DaqPort::default() });
            let threshold_us = u64::from(ratio) * rtt_us;
            let place = match deadline {
                MARK => Place::Long,
                ..0 => Place::Later,
                _ if deadline as u64 * 1000 <= threshold_us => Place::Urgent,
                _ => Place::Later,
            };
            prop_assert_eq!(port.place(&marked(deadline, conn)), place);
            prop_assert_eq!(port.place(&Packet { flags: flag::CONTROL, ..marked(deadline, conn) }), Place::Control);
        }

        /// For any arrivals and departures: Q1.2 is served only if Q1.1 is empty, a blocked class is not
        /// served, and some class is served if any may be.
        #[test]
        fn urgent_packets_go_first(deeds in prop::collection::vec((0u8..8, 64u32..1501, 0u8..4), 1..300)) {
            let mut port = state(&DaqPort::default());
            for (deed, size, stopped) in deeds {
                let packet = Queued { id: PacketId(0), size };
                match deed {
                    0 | 1 => port.urgent.push(packet),
                    2 | 3 => port.later.push(packet),
                    4 => port.long.push(packet),
                    _ => {
                        let paused = (stopped & 1) | if stopped & 2 != 0 { !1 } else { 0 };
                        let before = [port.urgent.len(), port.later.len(), port.long.len()];
                        let may = [paused & 1 == 0 && before[0] + before[1] > 0, paused & 2 == 0 && before[2] > 0];
                        let class = port.next_class(paused);
                        prop_assert_eq!(class.is_some(), may[SHORT] || may[LONG]);
                        if let Some(class) = class {
                            prop_assert!(may[class]);
                            port.pop(class).expect("the class has a packet");
                            let after = [port.urgent.len(), port.later.len(), port.long.len()];
                            prop_assert!(after[1] == before[1] || before[0] == 0);
                        }
                    }
                }
                for class in [SHORT, LONG] {
                    prop_assert!(port.bytes(class) > 0 || port.robin.left(class) == 0);
                }
            }
        }
    }

    /// With 1 : 100 a round is 151.5 kB; over 100 rounds of packets of any size the shares are right to 2 %.
    #[test]
    fn backlogged_classes_share_by_their_weights() {
        let mut stream = crate::random::Stream::new(1, 0, crate::random::Purpose::Queue, 0);
        for (short_weight, long_weight) in [(1, 100), (100, 1), (1, 1), (3, 7)] {
            let mut port = state(&DaqPort { short_weight, long_weight, ..DaqPort::default() });
            let mut served = [0; CLASSES];
            while served[SHORT] + served[LONG] < 100 * 151_500 {
                let size = 64 + stream.below(1437) as u32;
                let packet = Queued { id: PacketId(0), size };
                while port.later.len() < 3 {
                    port.later.push(packet);
                }
                while port.long.len() < 3 {
                    port.long.push(packet);
                }
                let class = port.next_class(0).expect("both wait");
                served[class] += u64::from(port.pop(class).expect("it has one").size);
            }
            let share = served[SHORT] as f64 / served[LONG] as f64;
            let fair = f64::from(short_weight) / f64::from(long_weight);
            assert!((share / fair - 1.0).abs() < 0.02, "{short_weight} : {long_weight} gave {share}");
        }
    }

    /// After a packet of a class has left: of 2000 B in Q1.1 and 500 B in Q1.2 an urgent one met the former, if that
    /// is what is reported.
    #[test]
    fn senders_are_told_of_the_class_or_of_what_their_packet_met() {
        for (reported, urgent) in [(Reported::Class, 2500), (Reported::Experienced, 2000)] {
            let mut port = state(&DaqPort { reported, ..DaqPort::default() });
            for (queue, size) in [(&mut port.urgent, 2000), (&mut port.later, 500), (&mut port.long, 300)] {
                queue.push(Queued { id: PacketId(0), size });
            }
            let words = [port.reported(SHORT, true), port.reported(SHORT, false), port.reported(LONG, false)];
            assert_eq!(words, [urgent, 2500, 300], "{reported:?}");
        }
    }

    /// 30 round trips of 2 ms, as the packet carries them, are 60 ms. Without a threshold all are urgent,
    /// even those that have expired.
    #[test]
    fn the_threshold_may_be_that_of_the_packet_or_none() {
        let measured = state(&DaqPort { threshold: Threshold::Measured, ..DaqPort::default() });
        let ms = 1_000_000_000;
        assert_eq!(measured.place(&data(0, 60 * ms, 2 * ms, 0)), Place::Urgent);
        assert_eq!(measured.place(&data(0, 60 * ms + 1, 2 * ms, 0)), Place::Later);
        for threshold in [Threshold::Fixed, Threshold::Measured] {
            let one = state(&DaqPort { ratio: Some(1e9), threshold, ..DaqPort::default() });
            assert_eq!(one.place(&data(0, EXPIRED, 0, 0)), Place::Urgent);
            assert_eq!(one.place(&data(1, NO_DEADLINE, 0, 0)), Place::Long);
        }
    }

    /// Deficit round robin goes on from the class that was served last, waiting or not: after a long flow's packet that found
    /// the port idle, of two that come together the short flow's is first, and the other way round.
    #[test]
    fn the_turn_goes_on_from_a_packet_that_found_the_port_idle() {
        let classes = [(LONG as u8, NO_DEADLINE), (SHORT as u8, EXPIRED)];
        for (passes, first) in [(0, SHORT), (1, LONG)] {
            let (mut model, mut at) = (DaqPort::default().model(1500), FakePort::new(Rate(1_000_000_000)));
            let mut cx = at.cx();
            let ids = classes.map(|(class, ack)| cx.arena.insert(data(class, ack, 0, 0)));
            let (class, ack) = classes[passes];
            let idle = cx.arena.insert(data(class, ack, 0, 0));
            assert!(model.pass(idle, &mut cx).is_some());
            ids.into_iter().for_each(|id| model.enqueue(id, &mut cx));
            let sent = model.dequeue(&mut cx).expect("two wait");
            assert_eq!(class_of(cx.arena[sent.id].header.class), first);
        }
    }
}
