//! The source's side of ConWeave: when the switch of the sender gives a flow another path.
//!
//! The first packet of an epoch requests a reply. If none is back in time, one more packet, the tail, goes by the old path, and all
//! later ones by another: they are of phase 1, which the other side holds back until the tail has passed. The reply to
//! either packet ends the epoch.

use super::fields::{EPOCHS, Kind};
use crate::units::Time;

/// A flow at the switch of its sender.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    /// Number of its uplink.
    pub uplink: u16,
    epoch: u8,
    /// Whether it has left its path in this epoch.
    moved: bool,
    /// Whether the epoch's reply has come.
    stable: bool,
    /// Its last packet; none of a new flow.
    last: Option<Time>,
    /// The reply is late after this time.
    due: Time,
    /// When the tail was sent.
    tail: Time,
}

/// Times of a flow.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// From a request to the time at which its reply is late.
    pub reply: Time,
    /// A flow without packets for longer than this begins a new epoch, by any path.
    pub expiry: Time,
}

/// A packet of the flow, as it leaves the switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    pub kind: Kind,
    pub uplink: u16,
    pub epoch: u8,
    pub moved: bool,
    pub tail: Time,
}

impl Flow {
    /// A new flow, on that path unless it finds a better one.
    pub fn new(uplink: u16) -> Flow {
        Flow { uplink, epoch: 0, moved: false, stable: false, last: None, due: Time::NEVER, tail: Time::ZERO }
    }

    /// A packet of the flow comes to the switch. `find` returns the number of a random path that is not known to be congested, if it
    /// finds one.
    pub fn on_packet(&mut self, now: Time, timing: Timing, find: impl FnOnce() -> Option<u16>) -> Sent {
        let expired = self.last.is_none_or(|last| last + timing.expiry < now);
        let begins = std::mem::take(&mut self.stable) || expired;
        let late = !begins && self.due < now;
        self.last = Some(now);
        if begins {
            self.due = now + timing.reply;
            self.epoch = (self.epoch + 1) % EPOCHS;
            (self.moved, self.tail) = (false, Time::ZERO);
        }
        if expired {
            self.uplink = find().unwrap_or(self.uplink);
            return self.sent(Kind::Init);
        }
        if !late {
            return self.sent(if begins { Kind::Init } else { Kind::Data });
        }
        (self.due, self.tail) = (Time::NEVER, now);
        let tail = self.sent(Kind::Tail);
        self.moved = true;
        self.uplink = find().unwrap_or(self.uplink);
        tail
    }

    /// Whether it has been without packets for longer than that.
    pub fn is_idle(&self, now: Time, span: Time) -> bool {
        self.last.is_none_or(|last| last + span < now)
    }

    fn sent(&self, kind: Kind) -> Sent {
        let Flow { uplink, epoch, moved, tail, .. } = *self;
        Sent { kind, uplink, epoch, moved, tail }
    }

    /// A reply to the first packet of an epoch, or to its tail, has come.
    pub fn on_reply(&mut self, epoch: u8, to_tail: bool, now: Time) {
        if epoch != self.epoch || to_tail != self.moved {
            return;
        }
        if to_tail || now <= self.due {
            (self.stable, self.due) = (true, Time::NEVER);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: fn(u64) -> Time = Time::from_us;
    const TIMING: Timing = Timing { reply: Time::from_us(10), expiry: Time::from_us(300) };

    /// By hand. The first packet requests a reply by 10 us. None has come at 12 us: that packet is the tail on path 1, later ones go
    /// by path 2 in phase 1. The reply to the tail ends the epoch: the next packet requests a reply on path 2.
    #[test]
    fn a_late_reply_moves_the_flow_behind_its_tail() {
        let mut flow = Flow::new(0);
        let none = || None;
        let sent = |kind, uplink, epoch, moved, tail| Sent { kind, uplink, epoch, moved, tail: US(tail) };
        assert_eq!(flow.on_packet(US(0), TIMING, || Some(1)), sent(Kind::Init, 1, 1, false, 0));
        assert_eq!(flow.on_packet(US(10), TIMING, none), sent(Kind::Data, 1, 1, false, 0));
        assert_eq!(flow.on_packet(US(12), TIMING, || Some(2)), sent(Kind::Tail, 1, 1, false, 12));
        assert_eq!(flow.on_packet(US(13), TIMING, none), sent(Kind::Data, 2, 1, true, 12));
        // The first packet's reply is late: the epoch goes on, and no second path is taken in it.
        flow.on_reply(1, false, US(14));
        assert_eq!(flow.on_packet(US(40), TIMING, none), sent(Kind::Data, 2, 1, true, 12));
        flow.on_reply(1, true, US(41));
        assert_eq!(flow.on_packet(US(42), TIMING, none), sent(Kind::Init, 2, 2, false, 0));
    }

    /// A reply in time begins an epoch on the same path; one of another epoch counts for nothing; a pause longer than 300 us lets
    /// the flow take any path.
    #[test]
    fn a_reply_in_time_keeps_the_path() {
        let mut flow = Flow::new(0);
        flow.on_packet(US(0), TIMING, || Some(3));
        flow.on_reply(2, false, US(5));
        assert_eq!(flow.on_packet(US(6), TIMING, || None).kind, Kind::Data);
        flow.on_reply(1, false, US(10));
        let next = flow.on_packet(US(11), TIMING, || panic!("the path is good"));
        assert_eq!((next.kind, next.uplink, next.epoch), (Kind::Init, 3, 2));
        let later = flow.on_packet(US(312), TIMING, || Some(5));
        assert_eq!((later.kind, later.uplink, later.epoch), (Kind::Init, 5, 3));
        // Without a good path it stays where it is, and its packets are of phase 1 all the same.
        let tail = flow.on_packet(US(323), TIMING, || None);
        assert_eq!((tail.kind, tail.uplink), (Kind::Tail, 5));
        let after = flow.on_packet(US(324), TIMING, || None);
        assert_eq!((after.uplink, after.moved), (5, true));
    }
}
