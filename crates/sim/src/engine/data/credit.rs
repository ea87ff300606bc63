//! Credits: the sender on a link may have only so many bytes in the buffer behind it, and gets credit back
//! when some of them have left.
//!
//! After Ding and Rojas-Cessa, "DAQ: Deadline-Aware Queue Scheme for Scheduling Service Flows in Data
//! Centers", Algorithm 2, which follows Kung and Morris, "Credit-Based Flow Control for ATM Networks", IEEE
//! Network 1995. The head of a link, at a host or a switch, has a window of bytes for each class of data. It
//! spends a packet's bytes when the packet's transmission begins. When the packet's transmission by its next
//! link begins, the node there owes the bytes to that head and returns them in a frame in the other direction
//! of the cable: as soon as the transmission on that wire ends, ahead of all packets. Bytes that fall due
//! meanwhile go in one frame. A frame also carries the bytes of the class that are queued at the port that
//! the last packet left, and the load of that port. A class whose window is below a full packet is blocked at
//! its port, like a paused one (`pause`). Hosts have unlimited buffers: links that end at hosts have no
//! window.
//!
//! A frame is an event only for a port at which some class is blocked. Otherwise its head reads the arrived
//! frames when it next needs them: when a window falls below a full packet, when a transport reads the latest
//! values, and when the next frame is sent, so that few are kept. Arrived frames are those with an arrival
//! before the present: a frame arrives after all other events of its instant.
//!
//! Faults lose no frame. A packet that a fault loses is detected as missing by the node at the end of the
//! link, as by nodes that number the packets of a link; the node owes its bytes at once.
//!
//! A queue may have one account a link instead, of which all data is, whatever its class.
//!
//! A run without the queues "daq" and "link-credits" has none of this: its lists are empty.

use super::event::Event;
use super::packet::{Packet, flag};
use super::port::Port;
use super::ring::Ring;
use crate::ids::LinkId;
use crate::units::Time;

/// Classes of data: with a deadline, or short; without one, or long.
pub const CLASSES: usize = 2;
/// The class of flows with a deadline.
pub const SHORT: usize = 0;
/// The class of flows without one.
pub const LONG: usize = 1;

/// The window of a link that has none.
pub const UNLIMITED: u32 = u32::MAX;

/// The load of a port that got as many bytes as its link carries.
pub const FULL_LOAD: u32 = 1_000_000;

/// The bits of [`Port::paused`] for each class.
const PAUSES: [u8; CLASSES] = [1, !1];

/// The class of a packet of data by that of its header.
#[inline(always)]
pub fn class_of(class: u8) -> usize {
    if class == 0 { SHORT } else { LONG }
}

/// Credit accounts, by link.
#[derive(Debug, Default)]
pub struct Credits {
    /// By link; empty unless the run's queue gives credits.
    pub links: Vec<Credit>,
    /// By the link that they cross: frames in flight, first to last.
    pub(in crate::engine) in_flight: Vec<Ring<Frame>>,
    pub(in crate::engine) full_packet: u32,
    pub(in crate::engine) frame_bytes: u32,
    /// Whether data of all classes shares the first account of a link.
    one_account: bool,
}

/// The account of a link. One cache line.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Credit {
    /// Bytes that its head may send, by class; [`UNLIMITED`] for both without a window.
    pub window: [u32; CLASSES],
    /// Bytes that have left the node behind it, of which no frame tells yet.
    pub owed: [u32; CLASSES],
    /// The windows at the start.
    pub given: [u32; CLASSES],
    /// Bytes of the class that waited at the port that its last packet left.
    pub(in crate::engine) queue: [u32; CLASSES],
    /// The load of that port, in millionths.
    pub(in crate::engine) load: u32,
    pub(in crate::engine) frames: u32,
    /// Whether a frame is to be sent.
    pub(in crate::engine) due: bool,
    /// Whether an event is pending for the next frame to come.
    pub(in crate::engine) awaits: bool,
    /// Latest report to its head, by class: see [`Word`].
    heard: [(u32, u32); CLASSES],
}

/// Content of a credit frame.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// When it comes, and its place among the events of that instant.
    pub(in crate::engine) at: Time,
    pub(in crate::engine) order: u64,
    pub(in crate::engine) bytes: [u32; CLASSES],
    pub(in crate::engine) queue: [u32; CLASSES],
    pub(in crate::engine) load: u32,
}

/// Latest report to a host on a class at one of its links; zero at first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// Bytes that waited of the class at the port that its last packet left, without the packet.
    pub queue: u64,
    /// Bytes that had come to that port in the last round trip, as a share of what its link carries, in millionths.
    pub load: u32,
}

impl Credits {
    /// Windows of each link, full packets of so many bytes, frames of so many.
    pub fn new(windows: Vec<[u32; CLASSES]>, full_packet: u32, frame_bytes: u32) -> Credits {
        let account = |given| Credit {
            window: given,
            owed: [0; CLASSES],
            given,
            queue: [0; CLASSES],
            load: 0,
            frames: 0,
            due: false,
            awaits: false,
            heard: [(0, 0); CLASSES],
        };
        let in_flight = vec![Ring::default(); windows.len()];
        let links = windows.into_iter().map(account).collect();
        Credits { links, in_flight, full_packet, frame_bytes, one_account: false }
    }

    /// The same with one account for the data of all classes, the first of each link.
    pub fn with_one_account(self) -> Credits {
        Credits { one_account: true, ..self }
    }

    /// The account, and the bytes, of a packet for which credit is spent.
    #[inline]
    pub(in crate::engine) fn charged(&self, packet: &Packet) -> Option<(usize, u32)> {
        let account = if self.one_account { SHORT } else { class_of(packet.header.class) };
        (!packet.has(flag::CONTROL)).then_some((account, packet.size))
    }

    /// The bits of [`Port::paused`] for an account without credit.
    fn pauses(&self, account: usize) -> u8 {
        if self.one_account { !0 } else { PAUSES[account] }
    }

    /// The classes that stand still at the head of a link before anything has been sent, a bit each.
    pub fn paused_at_first(&self, link: LinkId) -> u8 {
        self.links.get(link.index()).map_or(0, |credit| self.stopped(credit))
    }

    /// The classes that a window stops, a bit each.
    pub(in crate::engine) fn stopped(&self, credit: &Credit) -> u8 {
        let stops = |class: &usize| credit.window[*class] < self.full_packet;
        (0..CLASSES).filter(stops).fold(0, |bits, class| bits | self.pauses(class))
    }

    /// The transmission of a packet of data begins at the head of a link. The event to schedule, if one is due.
    #[inline]
    pub(in crate::engine) fn spend(
        &mut self,
        (link, now): (LinkId, Time),
        (class, size): (usize, u32),
        port: &mut Port,
    ) -> Option<Event> {
        let credit = self.links.get_mut(link.index()).filter(|credit| credit.is_limited())?;
        assert!(credit.window[class] >= size, "link {link} has no credit for a packet that it sends");
        credit.window[class] -= size;
        if credit.window[class] < self.full_packet { self.stop(link, class, now, port) } else { None }
    }

    /// A class stands still, unless frames have brought credit for it.
    #[inline(never)]
    fn stop(&mut self, link: LinkId, class: usize, now: Time, port: &mut Port) -> Option<Event> {
        self.read_frames(link, now);
        if self.links[link.index()].window[class] < self.full_packet {
            port.paused |= self.pauses(class);
            return self.await_frame(link);
        }
        None
    }

    /// The head of a link reads the frames that came before that time.
    #[inline]
    pub(in crate::engine) fn read_frames(&mut self, link: LinkId, before: Time) {
        let credit = &mut self.links[link.index()];
        let frames = &mut self.in_flight[link.reverse().index()];
        while let Some(frame) = frames.first()
            && frame.at < before
        {
            frames.pop();
            for class in (0..CLASSES).filter(|&class| frame.bytes[class] > 0) {
                credit.window[class] += frame.bytes[class];
                credit.heard[class] = (frame.queue[class], frame.load);
            }
        }
    }

    /// The event of the next frame to come, if a class stands still at the head of a link and awaits it.
    #[inline]
    pub(in crate::engine) fn await_frame(&mut self, link: LinkId) -> Option<Event> {
        let (credit, full) = (&mut self.links[link.index()], self.full_packet);
        let stands = |class| credit.window[class] < full && credit.given[class] > 0;
        if credit.awaits || !(stands(SHORT) || stands(LONG)) {
            return None;
        }
        let frame = self.in_flight[link.reverse().index()].first()?;
        credit.awaits = true;
        Some(Event { time: frame.at, order: frame.order, a: 0 })
    }

    /// Latest report to a host on a class at one of its links.
    pub(in crate::engine) fn word(&mut self, link: LinkId, class: usize, now: Time) -> Word {
        self.read_frames(link, now);
        let (queue, load) = self.links[link.index()].heard[class];
        Word { queue: u64::from(queue), load }
    }

    /// Bytes have left the buffer behind a link. Returns whether a credit frame becomes due.
    pub(in crate::engine) fn owe(&mut self, ingress: LinkId, class: usize, size: u32) -> bool {
        let Some(credit) = self.links.get_mut(ingress.index()).filter(|credit| credit.is_limited()) else {
            return false;
        };
        credit.owed[class] += size;
        !std::mem::replace(&mut credit.due, true)
    }

    /// Bytes of a link and class that frames in flight return as credit.
    pub(in crate::engine) fn in_frames(&self, link: LinkId, class: usize) -> u32 {
        self.in_flight[link.reverse().index()].iter().map(|frame| frame.bytes[class]).sum()
    }
}

impl Credit {
    /// Whether the link has a window.
    #[inline]
    pub fn is_limited(&self) -> bool {
        self.given[SHORT] != UNLIMITED
    }

    /// Whether its head has spent credit whose return it has not read yet.
    pub fn is_spent(&self) -> bool {
        self.window != self.given
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame counts from the picosecond after the one at which it ends: at that instant its own event counts it, in the order
    /// of events.
    #[test]
    fn a_frame_counts_once_its_end_is_past() {
        let mut credits = Credits::new(vec![[9000; CLASSES]; 2], 1500, 64);
        let link = LinkId(0);
        credits.links[0].window = [0; CLASSES];
        let frame = Frame { at: Time(100), order: 0, bytes: [1500, 3000], queue: [4500, 6000], load: 7 };
        credits.in_flight[link.reverse().index()].push(frame);
        credits.read_frames(link, Time(100));
        assert_eq!(credits.links[0].window, [0, 0]);
        credits.read_frames(link, Time(101));
        assert_eq!(credits.links[0].window, [1500, 3000]);
        assert_eq!(credits.links[0].heard, [(4500, 7), (6000, 7)]);
    }
}
