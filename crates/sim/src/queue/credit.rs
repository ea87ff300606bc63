//! The port of ExpressPass: credits go before data, at no more than a share of the link's rate, and few of them wait.
//!
//! Source: Cho, Jang and Han, "Credit-Scheduled Delay-Bounded Congestion Control for Datacenters", SIGCOMM 2017; rules after
//! the authors' simulator, kaist-ina/ns2-xpass (`xpass-drop-tail`). The share is that of a credit in a credit and the full
//! packet that it asks for, so that the data of all credits fits on the other direction of the cable. The token bucket is
//! kept as the time at which it would be full (the virtual scheduling of ITU-T I.371), in whole picoseconds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::waiting::Waiting;
use super::{Build, Feature, Limit, Settings};
use crate::engine::contract::discipline::{Discipline, DropReason, PortContext, Queued};
use crate::engine::contract::packet::{CREDIT, flag};
use crate::engine::contract::rules::BufferLimit;
use crate::ids::PacketId;
use crate::units::Time;

/// A first-in first-out queue for data, and a short one for credits, which a token bucket lets go before data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CreditPort {
    /// Limit of what waits and is no credit; the packet on the wire does not count (ns2-xpass: 100 full packets).
    pub data_limit: Limit,
    /// Credits that wait at most; more are dropped, which is the signal that slows their receiver down (paper, to be checked: 8;
    /// ns2-xpass: 10).
    #[schemars(range(min = 1, max = 1_000_000))]
    pub credit_limit: u32,
    /// Depth of the token bucket: credits that may go back to back after a pause (ns2-xpass: 10). 1: they are never closer than
    /// at the metered rate.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub burst: u32,
}

impl Default for CreditPort {
    fn default() -> Self {
        CreditPort { data_limit: Limit::FullPackets(100), credit_limit: 8, burst: 10 }
    }
}

impl Settings for CreditPort {
    fn joins_buffer(&self) -> bool {
        true
    }

    fn offers(&self) -> &'static [Feature] {
        &[Feature::Metering]
    }

    fn begins_at(&self, feature: Feature) -> Option<&'static str> {
        (feature == Feature::Metering).then_some("credit_limit")
    }

    /// A credit that must wait sets the timer when the wire is free.
    fn acts_on_departure(&self) -> bool {
        true
    }

    fn most_packets(&self, full_packet: u64) -> Option<u64> {
        self.data_limit.room(full_packet).most_packets(full_packet)
    }
}

impl CreditPort {
    fn with_room(&self, room: BufferLimit, full_packet: u64) -> Model {
        Model {
            data: Waiting::default(),
            credits: Waiting::default(),
            room,
            whole: room,
            full_packet: full_packet as u32,
            credit_limit: self.credit_limit,
            burst: self.burst,
            full_at: Time::ZERO,
        }
    }
}

impl Build for CreditPort {
    type Model = Model;

    fn model(&self, full_packet: u64) -> Model {
        self.with_room(self.data_limit.room(full_packet), full_packet)
    }

    /// The first port to drop the credits of an incast is that of its receiver.
    fn at_host(&self, full_packet: u64) -> Option<Model> {
        Some(self.with_room(BufferLimit::UNLIMITED, full_packet))
    }
}

/// The queues at one port.
#[derive(Clone, Debug)]
pub struct Model {
    data: Waiting,
    credits: Waiting,
    /// Limit of `data`, and the same without faults.
    room: BufferLimit,
    whole: BufferLimit,
    /// Bytes of the packet that a credit asks for.
    full_packet: u32,
    credit_limit: u32,
    burst: u32,
    /// When the bucket is full again, if no credit goes before.
    full_at: Time,
}

impl Model {
    /// Time in which the bucket gains the token of a credit of that size: that of the credit and its packet on the wire.
    #[inline]
    fn interval(&self, size: u32, cx: &PortContext) -> Time {
        cx.port.transmission(size + self.full_packet)
    }

    /// When the bucket has the token of the first credit.
    #[inline]
    fn due(&self, interval: Time) -> Time {
        Time(self.full_at.0.saturating_sub(interval.0.saturating_mul(u64::from(self.burst - 1))))
    }

    /// The credit that may go now. If the first one has to wait, its timer is set.
    #[inline]
    fn next_credit(&mut self, cx: &mut PortContext) -> Option<Queued> {
        let first = self.credits.first()?;
        let interval = self.interval(first.size, cx);
        let due = self.due(interval);
        if due <= cx.now {
            self.full_at = self.full_at.max(cx.now) + interval;
            return self.credits.pop();
        }
        // While data takes the wire, the port asks again at the end of each packet.
        if self.data.is_empty() && !cx.port.timer_set {
            cx.wake_at(due);
        }
        None
    }
}

impl Discipline for Model {
    #[inline]
    fn enqueue(&mut self, id: PacketId, cx: &mut PortContext) {
        let packet = &cx.arena[id];
        let (size, is_credit) = (packet.size, is_credit(packet.flags, packet.header.class));
        let queue = if is_credit {
            if self.credits.len() >= self.credit_limit {
                return cx.drop_credit(id);
            }
            &mut self.credits
        } else {
            if !self.room.holds(self.data.len() + 1, self.data.bytes() + u64::from(size)) {
                return cx.drop(id, DropReason::Full);
            }
            &mut self.data
        };
        cx.keep(size);
        queue.push(Queued { id, size });
    }

    /// A credit with a token goes before data, data before a credit without one.
    #[inline]
    fn dequeue(&mut self, cx: &mut PortContext) -> Option<Queued> {
        if self.credits.is_empty() {
            return self.data.pop();
        }
        self.next_credit(cx).or_else(|| self.data.pop())
    }

    /// The token of a credit may have come: the port asks for the next packet once its wire is free.
    fn timer(&mut self, _cx: &mut PortContext) {}

    fn holds_back(&self) -> bool {
        self.data.is_empty()
    }

    fn scale(&mut self, share: f64) {
        self.room = self.whole.scaled(share);
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.data.is_empty() && self.credits.is_empty()
    }

    fn resident(&self, found: &mut dyn FnMut(PacketId)) {
        self.data.iter().chain(self.credits.iter()).for_each(found);
    }
}

/// Whether a packet with those flags, of that class, is a credit.
#[inline]
fn is_credit(flags: u8, class: u8) -> bool {
    flags & flag::CONTROL != 0 && class & CREDIT != 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::contract::agent::tests::packet;
    use crate::engine::contract::discipline::tests::FakePort;
    use crate::engine::contract::packet::{Header, Packet};
    use crate::units::Rate;

    /// At 10 Gbps, 84 B and 1538 B: 64,734,895 credit bytes per second.
    const INTERVAL: Time = Time(1_297_600);

    fn port() -> FakePort {
        FakePort::new(Rate(10_000_000_000))
    }

    fn comes(model: &mut Model, at: &mut FakePort, is_credit: bool) {
        let (flags, class, size) = if is_credit { (flag::CONTROL, CREDIT, 84) } else { (0, 0, 1538) };
        let header = Header { class, ..Header::default() };
        let mut cx = at.cx();
        let id = cx.arena.insert(Packet { flags, header, ..packet(0, size) });
        model.enqueue(id, &mut cx);
    }

    /// Bytes of the packet that leaves at that time, on a wire that takes no time.
    fn leaves(model: &mut Model, at: &mut FakePort, now: u64) -> Option<u32> {
        at.now = Time(now);
        let mut cx = at.cx();
        let packet = model.dequeue(&mut cx)?;
        cx.port.quit(cx.now, packet.size);
        cx.arena.remove(packet.id);
        Some(packet.size)
    }

    fn model(burst: u32) -> Model {
        CreditPort { burst, ..CreditPort::default() }.model(1538)
    }

    /// LIT-XPASS-1: credits go at 84 B in the time of 1622 B; without a token, data goes; without data, the timer is set to the
    /// time of the token, and only once.
    #[test]
    fn credits_go_at_the_metered_rate() {
        let (mut model, mut at) = (model(1), port());
        (0..3).for_each(|_| comes(&mut model, &mut at, true));
        comes(&mut model, &mut at, false);
        assert_eq!(leaves(&mut model, &mut at, 0), Some(84));
        assert_eq!(leaves(&mut model, &mut at, 1), Some(1538));
        assert_eq!(leaves(&mut model, &mut at, 2), None);
        assert!(at.port.timer_set && model.holds_back());
        assert_eq!(leaves(&mut model, &mut at, INTERVAL.0 - 1), None);
        at.port.timer_set = false;
        assert_eq!(leaves(&mut model, &mut at, INTERVAL.0), Some(84));
        assert_eq!(leaves(&mut model, &mut at, 2 * INTERVAL.0 - 1), None);
        assert!(at.port.timer_set);
        // Late by half an interval: the next one is due a whole interval after it.
        at.port.timer_set = false;
        assert_eq!(leaves(&mut model, &mut at, 2 * INTERVAL.0 + INTERVAL.0 / 2), Some(84));
        assert_eq!(model.full_at.0, 3 * INTERVAL.0 + INTERVAL.0 / 2);
        assert!(model.is_empty());
    }

    /// A bucket of three tokens lets three credits go at once, the fourth one interval later, and is full again three
    /// intervals after that.
    #[test]
    fn a_burst_empties_the_bucket() {
        let (mut model, mut at) = (model(3), port());
        (0..8).for_each(|_| comes(&mut model, &mut at, true));
        let mut next = |now| {
            at.port.timer_set = false;
            leaves(&mut model, &mut at, now).is_some()
        };
        assert_eq!([0, 0, 0, 0].map(&mut next), [true, true, true, false]);
        assert_eq!([INTERVAL.0 - 1, INTERVAL.0, INTERVAL.0].map(&mut next), [false, true, false]);
        let full = 4 * INTERVAL.0;
        assert_eq!([full, full, full, full].map(&mut next), [true, true, true, false]);
    }

    /// The ninth credit that waits is dropped, data is not; a request, which is no credit, waits with the data, ahead of it.
    #[test]
    fn credits_have_a_short_queue_of_their_own() {
        let (mut model, mut at) = (model(1), port());
        let header = Header::default();
        let id = at.cx().arena.insert(Packet { flags: flag::CONTROL, header, ..packet(0, 60) });
        model.enqueue(id, &mut at.cx());
        (0..9).for_each(|_| comes(&mut model, &mut at, true));
        (0..100).for_each(|_| comes(&mut model, &mut at, false));
        // 100 x 1538 B is the limit, of which the request has 60 B.
        assert_eq!((at.losses.dropped.packets, at.losses.dropped.bytes), (2, 84 + 1538));
        assert_eq!(at.losses.credits, 1);
        assert_eq!(leaves(&mut model, &mut at, 0), Some(84));
        assert_eq!(leaves(&mut model, &mut at, 0), Some(60));
        assert_eq!(leaves(&mut model, &mut at, 0), Some(1538));
        // Half of the limit is left.
        model.scale(0.5);
        comes(&mut model, &mut at, false);
        assert_eq!(at.losses.dropped.packets, 3);
    }

    /// Shares of capacity are of the whole limit, whatever the share before: all 100 packets fit again.
    #[test]
    fn the_whole_limit_comes_back() {
        let (mut model, mut at) = (model(1), port());
        [0.5, 0.1, 1.0].into_iter().for_each(|share| model.scale(share));
        (0..101).for_each(|_| comes(&mut model, &mut at, false));
        assert_eq!(at.losses.dropped.packets, 1);
    }

    /// A link of half the rate meters half as many credits.
    #[test]
    fn the_meter_follows_the_link() {
        let (mut model, mut at) = (model(1), port());
        at.port.set_rate(Rate(5_000_000_000));
        comes(&mut model, &mut at, true);
        assert_eq!(leaves(&mut model, &mut at, 0), Some(84));
        assert_eq!(model.full_at, Time(2 * INTERVAL.0));
    }

    /// Hosts have the same meter, and no limit of data.
    #[test]
    fn hosts_meter_their_credits() {
        let mut model = CreditPort::default().at_host(1538).expect("hosts have it, too");
        let mut at = port();
        (0..200).for_each(|_| comes(&mut model, &mut at, false));
        (0..9).for_each(|_| comes(&mut model, &mut at, true));
        assert_eq!((at.losses.dropped.packets, at.losses.dropped.bytes), (1, 84));
    }
}
