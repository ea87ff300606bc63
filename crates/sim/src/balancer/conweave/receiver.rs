//! The destination's side of ConWeave: how the switch of the receiver holds packets back that have overtaken others.
//!
//! A packet of phase 1 that comes before the tail of its epoch waits, and so do those behind it. All go on with the tail, or, if the
//! tail is lost, after a time at which it would have come: the last packet of phase 0 shows how late the old path is.

use std::collections::VecDeque;

use super::fields::{EPOCHS, Kind, ns_between};
use crate::engine::contract::path::ReorderCounts;
use crate::ids::{LinkId, PacketId};
use crate::units::Time;

/// A packet of a flow, as it comes to the switch of its receiver.
#[derive(Clone, Copy, Debug)]
pub struct Came {
    pub kind: Kind,
    pub epoch: u8,
    /// Whether it has gone by the later path of its epoch.
    pub moved: bool,
    /// When it left the switch of its sender, and when the tail of its epoch did, in ns of a clock that wraps.
    pub sent: u32,
    pub tail: u32,
}

/// Times of waiting.
#[derive(Clone, Copy, Debug)]
pub struct Waits {
    /// Beyond the time at which the tail is expected.
    pub extra: Time,
    /// In place of a known gap between the last packet of phase 0 and the tail.
    pub unknown: Time,
    /// A flow without packets for longer than this is a new one.
    pub idle: Time,
}

/// A packet that is held back.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    pub packet: PacketId,
    /// The link by which it goes on.
    pub next: LinkId,
    /// Bytes on the wire.
    pub size: u32,
    pub arrived: Time,
}

/// A flow at the switch of its receiver.
#[derive(Clone, Debug, Default)]
pub struct Flow {
    epoch: u8,
    /// Whether the tail of the epoch has passed, or is taken to be lost.
    moved: bool,
    /// Whether packets are held back, and those that are.
    reorders: bool,
    pub held: VecDeque<Held>,
    bytes: u64,
    /// When those that are held go on; in the past if none are.
    pub flush_at: Time,
    /// The last packet of phase 0: when it left the other switch and when it came.
    before: Option<(u32, Time)>,
    tail: u32,
    /// The last packet of any kind; none of a new flow.
    pub last: Option<Time>,
}

/// The decision on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Pass,
    /// As `Pass`; those that are held go on before it.
    PassAfterHeld,
    Hold,
}

/// The time by which a tail follows those that are held.
const BEHIND_TAIL: Time = Time::from_ns(1);

impl Flow {
    /// A packet of the flow has come. The caller keeps one that is held back: see [`Flow::keep`].
    pub fn on_packet(&mut self, came: Came, now: Time, waits: Waits) -> Step {
        let idle = self.last.replace(now).is_none_or(|last| last + waits.idle < now);
        let ahead = came.epoch.wrapping_sub(self.epoch) % EPOCHS;
        let mut after_held = false;
        if idle || (1..EPOCHS / 2).contains(&ahead) {
            after_held = !self.held.is_empty();
            self.epoch = came.epoch;
            (self.moved, self.reorders) = (came.kind == Kind::Tail, false);
            (self.before, self.flush_at) = (None, Time::ZERO);
        } else if ahead != 0 {
            // Of an epoch before this one.
            return Step::Pass;
        } else if came.kind == Kind::Tail && !self.reorders {
            self.moved = true;
        }
        if came.moved && !self.moved {
            self.hold(came, now, waits);
            return Step::Hold;
        }
        if !came.moved {
            self.before = Some((came.sent, now));
            if self.reorders {
                let gap = ns_between(came.sent, self.tail);
                let expected = if came.kind == Kind::Tail { now } else { now + gap + waits.extra };
                self.flush_at = expected.max(now + BEHIND_TAIL);
            }
        }
        if after_held { Step::PassAfterHeld } else { Step::Pass }
    }

    /// The first packet that is out of order sets the time at which all go on.
    fn hold(&mut self, came: Came, now: Time, waits: Waits) {
        if std::mem::replace(&mut self.reorders, true) {
            return;
        }
        self.tail = came.tail;
        let expected = match self.before {
            Some((sent, arrived)) => arrived + ns_between(sent, came.tail),
            None => now + waits.unknown,
        };
        self.flush_at = (expected + waits.extra).max(now + BEHIND_TAIL);
    }

    /// A packet is held back.
    pub fn keep(&mut self, held: Held, counts: &mut ReorderCounts) {
        self.held.push_back(held);
        self.bytes += u64::from(held.size);
        counts.hold(self.held.len(), self.bytes);
    }

    /// All that are held go on, in their order.
    pub fn release(&mut self, now: Time, counts: &mut ReorderCounts, released: &mut Vec<(PacketId, LinkId)>) {
        self.bytes = 0;
        released.extend(self.held.drain(..).map(|Held { packet, next, arrived, .. }| {
            counts.release(now - arrived);
            (packet, next)
        }));
    }

    /// The time has come: those that are held go on, and none is held of this epoch.
    pub fn flush(&mut self) {
        (self.reorders, self.moved, self.flush_at) = (false, true, Time::ZERO);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAITS: Waits =
        Waits { extra: Time::from_us(16), unknown: Time::from_us(200), idle: Time::from_us(2000) };
    const US: fn(u64) -> Time = Time::from_us;

    fn came(kind: Kind, epoch: u8, moved: bool, sent_us: u32, tail_us: u32) -> Came {
        Came { kind, epoch, moved, sent: 1000 * sent_us, tail: 1000 * tail_us }
    }

    /// By hand: a first packet leaves at 0 and comes at 15 us; the tail leaves at 10 us. A packet of phase 1 that comes at 16 us waits
    /// until 15 + (10 - 0) + 16 us. One of phase 0 that left at 4 us comes at 24 us and moves this to 24 + (10 - 4) + 16 us; the tail
    /// comes at 30 us, and those that wait go on a nanosecond later.
    #[test]
    fn packets_of_phase_1_wait_for_the_tail() {
        let mut flow = Flow::default();
        assert_eq!(flow.on_packet(came(Kind::Init, 1, false, 0, 0), US(15), WAITS), Step::Pass);
        assert_eq!(flow.on_packet(came(Kind::Data, 1, true, 11, 10), US(16), WAITS), Step::Hold);
        assert_eq!(flow.flush_at, US(15 + 10 + 16));
        assert_eq!(flow.on_packet(came(Kind::Data, 1, true, 12, 10), US(17), WAITS), Step::Hold);
        assert_eq!(flow.flush_at, US(41));
        assert_eq!(flow.on_packet(came(Kind::Data, 1, false, 4, 0), US(24), WAITS), Step::Pass);
        assert_eq!(flow.flush_at, US(24 + 6 + 16));
        assert_eq!(flow.on_packet(came(Kind::Tail, 1, false, 10, 10), US(30), WAITS), Step::Pass);
        assert_eq!(flow.flush_at, US(30) + Time::from_ns(1));
        flow.flush();
        assert_eq!(flow.on_packet(came(Kind::Data, 1, true, 13, 10), US(31), WAITS), Step::Pass);
    }

    /// In order nothing waits. Of an unknown gap the default is taken; a new epoch releases the packets of the one before, whose
    /// late packets pass; epochs go round.
    #[test]
    fn epochs_follow_each_other() {
        let mut flow = Flow::default();
        assert_eq!(flow.on_packet(came(Kind::Init, 62, false, 0, 0), US(10), WAITS), Step::Pass);
        assert_eq!(flow.on_packet(came(Kind::Tail, 62, false, 5, 5), US(15), WAITS), Step::Pass);
        assert_eq!(flow.on_packet(came(Kind::Data, 62, true, 6, 5), US(16), WAITS), Step::Pass);
        assert_eq!(flow.on_packet(came(Kind::Data, 63, true, 20, 19), US(25), WAITS), Step::Hold);
        assert_eq!(flow.flush_at, US(25 + 200 + 16));
        let mut counts = ReorderCounts::default();
        let held = |id, arrived| Held { packet: PacketId(id), next: LinkId(4), size: 1000, arrived };
        flow.keep(held(3, US(25)), &mut counts);
        flow.keep(held(4, US(30)), &mut counts);
        assert_eq!(flow.on_packet(came(Kind::Init, 0, false, 30, 0), US(35), WAITS), Step::PassAfterHeld);
        assert_eq!(flow.on_packet(came(Kind::Data, 63, true, 21, 19), US(36), WAITS), Step::Pass);
        let mut released = Vec::new();
        flow.release(US(35), &mut counts, &mut released);
        assert_eq!(released, [(PacketId(3), LinkId(4)), (PacketId(4), LinkId(4))]);
        let (wait_ps, wait_max_ps) = (US(15).0, US(10).0);
        let expected = ReorderCounts { held: 2, packets_max: 2, bytes_max: 2000, wait_ps, wait_max_ps };
        assert_eq!(counts, expected);
    }

    /// The most bytes are of those that are held at one time: two packets of 1000 B, and one after they have gone on.
    #[test]
    fn what_has_gone_on_is_held_no_longer() {
        let (mut flow, mut counts) = (Flow::default(), ReorderCounts::default());
        let held = |id| Held { packet: PacketId(id), next: LinkId(4), size: 1000, arrived: US(1) };
        flow.keep(held(0), &mut counts);
        flow.keep(held(1), &mut counts);
        flow.release(US(2), &mut counts, &mut Vec::new());
        flow.keep(held(2), &mut counts);
        assert_eq!((counts.held, counts.packets_max, counts.bytes_max), (3, 2, 2000));
    }
}
