//! A port: the transmitter at the head of a directed link, and its counters.
//!
//! A port is *committed* or *serviced*. A committed port is first-in first-out and nothing can change a
//! packet's fate once it has been accepted: its departure is computed on arrival, and a small ring of
//! (departure, bytes) gives the exact occupancy at any instant; that is one event a packet-hop. A serviced
//! port takes the next packet from its queue whenever the link becomes free; an idle one still transmits an
//! arriving packet at once, and a busy one computes its past departures when the next packet arrives. Both
//! give the same results to the last bit.

use super::ring::Ring;
use crate::faults::link::LinkFault;
use crate::topology::Link;
use crate::units::{Rate, SECOND, Time};

/// The transmitter and its counters.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Port {
    /// When the last transmission ends that has been started, or in committed mode accepted.
    pub free_at: Time,
    delay: Time,
    /// Serviced: how long after a transmission could start it may be decided. A packet has no effect before it has
    /// crossed the link, so that one event can start many transmissions in retrospect; zero at a host's port, whose
    /// transports must be polled in time.
    pub lookahead: Time,
    /// Zero if the rate does not divide: then each packet's time is rounded up by itself; and if `whole_ns`.
    ps_per_byte: u32,
    pub rank: u32,
    /// Packets and bytes put on the wire.
    pub sent: Amount,
    /// Bytes and packets in the port, the one on the wire included, as of the last [`Port::settle`].
    pub bytes: u64,
    /// See `bytes`.
    pub packets: u32,
    /// Serviced: bytes of the packet on the wire, 0 if there is none.
    pub wire_bytes: u32,

    /// Bytes in the port integrated over time, in byte-picoseconds: each packet takes away its bytes times
    /// when it joins and adds them times when it leaves.
    area: i128,
    /// Most bytes at one instant.
    pub bytes_max: u64,
    /// Most packets at one instant.
    pub packets_max: u32,
    /// Serviced: the count in the last packet's arrival; 0 unless ties go by arrival.
    pub turn: u32,
    /// Serviced: whether an event is pending that will serve what waits.
    pub serving: bool,
    /// Classes of traffic that the other end has stopped, a bit each: see `engine/network/pause.rs`.
    pub paused: u8,
    /// Whether a pause frame goes before all that waits.
    pub frame_waits: bool,
    /// Serviced: whether the queue's timer is pending.
    pub timer_set: bool,
    /// One more than the part of the run in which the link ends; 0 if that is this one.
    pub remote: u8,
    /// Whether it writes its state into records of packets that leave it: see `engine/data/telemetry.rs`.
    pub stamps: bool,
    /// Whether transmissions take whole nanoseconds, the rest of which is cut off.
    whole_ns: bool,
    /// Whether its packets take memory that ports of a switch share: see `engine/data/memory.rs`.
    pub shares: bool,

    /// Present rate of the link.
    pub rate: Rate,
    /// The faults of its link, if it ever has any.
    pub fault: Option<Box<LinkFault>>,
}

/// Counts at a port and its link that the audit compares with their counters.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Packets offered to the port.
    pub offered: Amount,
    /// Packets that have come out of the link.
    pub received: u64,
}

/// Packets that a port has dropped, sent back, trimmed or marked.
#[derive(Clone, Copy, Debug, Default)]
pub struct Losses {
    /// Packets dropped, and those of them that were credits.
    pub dropped: Amount,
    pub credits: u64,
    pub bounced: Amount,
    /// Packets whose payload was trimmed off.
    pub trims: u64,
    /// Bytes trimmed off.
    pub trimmed_bytes: u64,
    /// Packets marked.
    pub marks: u64,
}

impl Losses {
    /// Difference from earlier counts.
    pub fn less(self, before: Losses) -> Losses {
        Losses {
            dropped: self.dropped.less(before.dropped),
            credits: self.credits - before.credits,
            bounced: self.bounced.less(before.bounced),
            trims: self.trims - before.trims,
            trimmed_bytes: self.trimmed_bytes - before.trimmed_bytes,
            marks: self.marks - before.marks,
        }
    }
}

/// A number of packets and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Packets.
    pub packets: u64,
    /// Bytes of all of them.
    pub bytes: u64,
}

impl Amount {
    /// Counts one packet.
    #[inline]
    pub fn add(&mut self, bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }

    /// Difference from an earlier count.
    pub fn less(self, before: Amount) -> Amount {
        Amount { packets: self.packets - before.packets, bytes: self.bytes - before.bytes }
    }
}

impl Port {
    /// The idle port of a link.
    pub fn new(link: &Link, rank: u32) -> Port {
        Port {
            free_at: Time::ZERO,
            delay: link.delay,
            ps_per_byte: link.rate.whole_ps_per_byte().unwrap_or(0),
            rank,
            turn: 0,
            sent: Amount::default(),
            bytes: 0,
            packets: 0,
            wire_bytes: 0,
            serving: false,
            paused: 0,
            frame_waits: false,
            timer_set: false,
            remote: 0,
            stamps: false,
            whole_ns: false,
            shares: false,
            lookahead: Time::ZERO,
            area: 0,
            bytes_max: 0,
            packets_max: 0,
            rate: link.rate,
            fault: None,
        }
    }

    /// From now on transmissions take whole nanoseconds, the rest of which is cut off.
    pub fn cut_off_below_ns(&mut self) {
        (self.whole_ns, self.ps_per_byte) = (true, 0);
    }

    /// A time in the unit of the port's transmissions.
    #[inline]
    pub fn in_unit(&self, time: Time) -> Time {
        if self.whole_ns { Time(time.0 - time.0 % 1000) } else { time }
    }

    /// Sets the rate of transmissions that begin from now on.
    pub fn set_rate(&mut self, rate: Rate) {
        let busy = self.busy(self.sent.bytes, Time::ZERO);
        if let Some(fault) = &mut self.fault {
            (fault.busy, fault.bytes) = (busy, self.sent.bytes);
        }
        self.rate = rate;
        self.ps_per_byte = if self.whole_ns { 0 } else { rate.whole_ps_per_byte().unwrap_or(0) };
    }

    /// Time that so many bytes take on the wire.
    #[inline]
    pub fn transmission(&self, bytes: u32) -> Time {
        if self.ps_per_byte != 0 {
            return Time(u64::from(bytes) * u64::from(self.ps_per_byte));
        }
        match self.whole_ns {
            true => self.rate.transmission_in_ns(bytes),
            false => self.rate.transmission(u64::from(bytes)),
        }
    }

    /// Time in which packets were on the wire, given the bytes of all whose transmission has begun, and the remaining
    /// time of the present one. Where the rate does not divide, a packet's time is not rounded up here, so that it is
    /// never too much.
    pub fn busy(&self, begun_bytes: u64, left: Time) -> Time {
        let (before, bytes) = self.fault.as_ref().map_or((Time::ZERO, 0), |fault| (fault.busy, fault.bytes));
        let picobits = u128::from(begun_bytes - bytes) * 8 * u128::from(SECOND);
        before.saturating_add(Time((picobits / u128::from(self.rate.0)) as u64)).saturating_sub(left)
    }

    /// Puts a packet on the wire as soon as it is free: when its transmission ends, and when it arrives.
    #[inline]
    pub fn transmit(&mut self, now: Time, bytes: u32) -> (Time, Time) {
        let end = self.free_at.max(now) + self.transmission(bytes);
        self.free_at = end;
        self.area += area(bytes, end);
        self.sent.add(bytes);
        (end, end + self.delay)
    }

    /// Puts a pause frame on the wire, which is free: when it arrives. It is no packet and is not counted.
    pub fn transmit_frame(&mut self, now: Time, bytes: u32) -> Time {
        self.free_at = now + self.transmission(bytes);
        self.free_at + self.delay
    }

    /// Counts a packet that joins the port.
    #[inline]
    pub fn join(&mut self, now: Time, bytes: u32) {
        self.area -= area(bytes, now);
        self.bytes += u64::from(bytes);
        self.packets += 1;
        self.bytes_max = self.bytes_max.max(self.bytes);
        self.packets_max = self.packets_max.max(self.packets);
    }

    /// Counts a packet that leaves the port before its turn.
    #[inline]
    pub fn quit(&mut self, now: Time, bytes: u32) {
        self.area += area(bytes, now);
        self.leave(bytes);
    }

    #[inline]
    fn leave(&mut self, bytes: u32) {
        self.bytes -= u64::from(bytes);
        self.packets -= 1;
    }

    /// Serviced: accounts for the end of a transmission, for which there is no event if no packet or frame waits for
    /// it.
    #[inline]
    pub fn settle(&mut self, now: Time) {
        if self.wire_bytes != 0 && self.free_at <= now {
            self.leave(self.wire_bytes);
            self.wire_bytes = 0;
        }
    }

    /// Serviced: bytes in the port integrated until that time, as far as what waits and what is on the wire has stayed; call
    /// [`Port::settle`] first.
    pub fn area(&self, at: Time) -> i128 {
        let waiting = i128::from(self.bytes - u64::from(self.wire_bytes)) * i128::from(at.0);
        let ahead = if self.wire_bytes == 0 { 0 } else { area(self.wire_bytes, self.free_at - at) };
        self.area + waiting - ahead
    }

    /// The most bytes and packets at one instant are those from now on; call [`Port::settle`] or [`Departures::settle`] first.
    pub fn restart_maxima(&mut self) {
        (self.bytes_max, self.packets_max) = (self.bytes, self.packets);
    }
}

#[inline]
fn area(bytes: u32, time: Time) -> i128 {
    i128::from(bytes) * i128::from(time.0)
}

/// The departures that a committed port has computed and that still lie ahead, with their bytes.
#[derive(Clone, Debug, Default)]
pub struct Departures(Ring<(Time, u32)>);

impl Departures {
    /// Brings the port's occupancy up to date: what has departed by now is gone.
    #[inline(always)]
    pub fn settle(&mut self, port: &mut Port, now: Time) {
        while let Some((departure, bytes)) = self.0.first()
            && departure <= now
        {
            port.leave(bytes);
            self.0.pop();
        }
    }

    /// Bytes of the packet that is on the wire; call [`Departures::settle`] first.
    #[inline]
    pub fn wire_bytes(&self) -> u32 {
        self.0.first().map_or(0, |(_, bytes)| bytes)
    }

    /// Remaining time of the present transmission; call [`Departures::settle`] first.
    pub fn left(&self, now: Time) -> Time {
        self.0.first().map_or(Time::ZERO, |(departure, _)| departure - now)
    }

    /// Notes a departure.
    #[inline(always)]
    pub fn push(&mut self, departure: Time, bytes: u32) {
        self.0.push((departure, bytes));
    }

    /// Packets and bytes that the port had sent, and its bytes integrated over time, without what was computed for
    /// later than `at`; call [`Departures::settle`] first.
    pub fn sent_and_area(&self, port: &Port, at: Time) -> (Amount, i128) {
        let (mut sent, mut integral) = (port.sent, port.area);
        for (departure, bytes) in self.0.iter() {
            integral -= area(bytes, departure - at);
            if departure - port.transmission(bytes) > at {
                sent.packets -= 1;
                sent.bytes -= u64::from(bytes);
            }
        }
        (sent, integral)
    }

    /// Bytes of the departures ahead: what the audit compares the port's occupancy with.
    pub fn bytes(&self) -> u64 {
        self.0.iter().map(|(_, bytes)| u64::from(bytes)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::NodeId;

    /// By hand: 1250 B are on a wire of 10 Gbps for 1 us, and 1000 B that leave before their turn have waited for 3 us.
    /// That is an integral of 4250 byte-microseconds.
    #[test]
    fn a_packet_that_leaves_before_its_turn_counts_while_it_waited() {
        let link = Link { from: NodeId(0), to: NodeId(1), rate: Rate(10_000_000_000), delay: Time::ZERO };
        let mut port = Port::new(&link, 0);
        port.join(Time::ZERO, 1250);
        assert_eq!(port.transmit(Time::ZERO, 1250).0, Time::from_us(1));
        port.join(Time::from_us(2), 1000);
        port.quit(Time::from_us(5), 1000);
        assert_eq!(port.area, 4250 * 1_000_000);
        assert_eq!((port.bytes, port.packets, port.bytes_max, port.packets_max), (1250, 1, 2250, 2));
    }

    /// 1048 B at 100 Gbps are 83.84 ns, 60 B at 400 Gbps 1.2 ns; at 30 Gbps, whose picoseconds do not divide, 1048 B are
    /// 279.466... ns, rounded up. A rate that changes keeps the unit.
    #[test]
    fn transmissions_may_take_whole_nanoseconds() {
        let link = Link { from: NodeId(0), to: NodeId(1), rate: Rate(100_000_000_000), delay: Time::ZERO };
        let mut port = Port::new(&link, 0);
        assert_eq!((port.transmission(1048), port.in_unit(Time(83_840))), (Time(83_840), Time(83_840)));
        port.cut_off_below_ns();
        assert_eq!((port.transmission(1048), port.in_unit(Time(83_840))), (Time(83_000), Time(83_000)));
        port.set_rate(Rate(400_000_000_000));
        assert_eq!(port.transmission(60), Time(1000));
        port.set_rate(Rate(30_000_000_000));
        assert_eq!((port.transmission(1048), link.rate.transmission(1048)), (Time(279_000), Time(83_840)));
    }

    /// By hand: three packets of 1250 B, sent one after the other, are each on a wire of 10 Gbps for 1 us. In the middle of
    /// the first the others are not sent yet, and all three have waited for half a microsecond; in that of the second one is.
    #[test]
    fn what_is_computed_for_later_is_not_sent_yet() {
        let link = Link { from: NodeId(0), to: NodeId(1), rate: Rate(10_000_000_000), delay: Time::ZERO };
        let mut port = Port::new(&link, 0);
        let mut departures = Departures::default();
        for _ in 0..3 {
            port.join(Time::ZERO, 1250);
            let (end, _) = port.transmit(Time::ZERO, 1250);
            departures.push(end, 1250);
        }
        let mut at = |at: Time| {
            departures.settle(&mut port, at);
            let (sent, integral) = departures.sent_and_area(&port, at);
            (sent.packets, sent.bytes, integral)
        };
        assert_eq!(at(Time(500_000)), (1, 1250, 3 * 1250 * 500_000));
        assert_eq!(at(Time(1_500_000)), (2, 2500, 1250 * (1_000_000 + 2 * 1_500_000)));
        assert_eq!(at(Time(2_500_000)), (3, 3750, 1250 * (1_000_000 + 2_000_000 + 2_500_000)));
    }
}
