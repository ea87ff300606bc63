//! Telemetry on departure: ports write their state into the records of packets that leave them.
//!
//! A transport that asks for it ([`Feature::Telemetry`](crate::queue::Feature)) finds there, at its next event, a [`Hop`]
//! for each port that has forwarded the packet, as in the in-band network telemetry of HPCC (Li et al., SIGCOMM 2019).
//! The port of the packet's own source writes nothing: its host knows it. A hop takes 100 of a record's 512 bits, so
//! that there is room for [`HOPS`]: a packet that crosses more ports, or takes longer than [`LONGEST`] to one, has none
//! at all, rather than some that are wrong.

use std::ops::Deref;

use super::packet::{Packet, Record, flag};
use super::port::Port;
use crate::faults::timeline::Timeline;
use crate::ids::LinkId;
use crate::topology::Fabric;
use crate::units::{Rate, SECOND, Time};

/// Ports whose state a packet has room for.
pub const HOPS: usize = 5;

/// Different rates of links that hops can tell apart.
pub const RATES: usize = (1 << bits::RATE) - 1;

/// The longest time from the start of a packet to its departure from a port.
pub const LONGEST: Time = Time((1 << bits::TIME) - 2);

/// The largest queue that a hop states: that many bytes, or more.
pub const QUEUE_MOST: u64 = (1 << bits::QUEUE) - 1;

/// Bits of a record: first the path, then rate, time, sent bytes and queue of each hop.
mod bits {
    pub const PATH: usize = 12;
    pub const RATE: usize = 6;
    pub const TIME: usize = 36;
    pub const SENT: usize = 32;
    pub const QUEUE: usize = 26;
    pub const HOP: usize = RATE + TIME + SENT + QUEUE;
}

/// The header of HPCC's simulator: units in bytes, and the bits that a queue has.
mod packed {
    pub const BYTES: u32 = 128;
    pub const QUEUE: u32 = 80;
    pub const QUEUE_MASK: u64 = (1 << 17) - 1;
}

/// The state of a port as a packet leaves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// When the transmission of the packet began.
    pub time: Time,
    /// Bytes whose transmission had begun before, modulo 2^32: see [`Hop::sent_since`].
    pub sent: u32,
    /// Bytes that wait at the port, in all classes, without the packet; at most [`QUEUE_MOST`].
    pub queue_bytes: u64,
    /// The rate of the port.
    pub rate: Rate,
}

impl Hop {
    /// Bytes that the port has sent since it wrote an earlier hop. None if that is not earlier, or if its counter may have
    /// started anew more than once since.
    pub fn sent_since(&self, earlier: &Hop) -> Option<u64> {
        if self.time <= earlier.time {
            return None;
        }
        let rate = self.rate.max(earlier.rate);
        let most = u128::from(rate.0) * u128::from((self.time - earlier.time).0) / (8 * u128::from(SECOND));
        let sent = u64::from(self.sent.wrapping_sub(earlier.sent));
        (most < 1 << bits::SENT).then_some(sent)
    }

    /// The load of the port since it wrote an earlier hop: its utilisation, and the bytes that waited both times by those
    /// that it sends in a round trip (HPCC, equation 2).
    pub fn load_since(&self, earlier: &Hop, round_trip: Time) -> Option<f64> {
        let sent = self.sent_since(earlier)? as f64 / (self.time - earlier.time).0 as f64;
        let waited = self.queue_bytes.min(earlier.queue_bytes) as f64 / round_trip.0 as f64;
        Some((sent + waited) * 8.0 * SECOND as f64 / self.rate.0 as f64)
    }
}

/// The ports that a packet has left, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Telemetry {
    hops: [Hop; HOPS],
    count: usize,
    /// Differs between paths, though not always: 12 bits.
    pub path: u16,
}

impl Telemetry {
    /// That of no port.
    pub const NONE: Telemetry = {
        let hop = Hop { time: Time::ZERO, sent: 0, queue_bytes: 0, rate: Rate(0) };
        Telemetry { hops: [hop; HOPS], count: 0, path: 0 }
    };

    /// That of these ports.
    #[cfg(test)]
    pub fn of(ports: &[Hop]) -> Telemetry {
        let mut telemetry = Telemetry { count: ports.len(), ..Telemetry::NONE };
        telemetry.hops[..ports.len()].copy_from_slice(ports);
        telemetry
    }

    /// As the header of HPCC's simulator has it (`IntHop`): whole ns, bytes in units of 128 B and queues in units of 80 B, times
    /// `multi`, cut down; of a queue 17 bits.
    pub fn packed(&self, multi: u32) -> Telemetry {
        let (bytes, queue) = (packed::BYTES * multi, u64::from(packed::QUEUE * multi));
        let mut telemetry = *self;
        for hop in &mut telemetry.hops[..self.count] {
            hop.time = Time(hop.time.0 - hop.time.0 % Time::from_ns(1).0);
            hop.sent -= hop.sent % bytes;
            hop.queue_bytes = ((hop.queue_bytes / queue) & packed::QUEUE_MASK) * queue;
        }
        telemetry
    }

    /// The load of the busiest port since an earlier packet of the flow left it: see [`Hop::load_since`]. None if the packets
    /// took different paths.
    pub fn load_since(&self, earlier: &Telemetry, round_trip: Time) -> Option<f64> {
        let load = |(hop, before): (&Hop, &Hop)| hop.load_since(before, round_trip);
        self.since(earlier)?.filter_map(load).reduce(f64::max)
    }

    /// Each port on the way with its state as an earlier packet of the flow left it. None if the packets took different
    /// paths.
    pub fn since<'a>(&'a self, earlier: &'a Telemetry) -> Option<impl Iterator<Item = (&'a Hop, &'a Hop)>> {
        let same = self.path == earlier.path && self.count == earlier.count;
        same.then(|| self.iter().zip(earlier.iter()))
    }
}

impl Deref for Telemetry {
    type Target = [Hop];

    fn deref(&self) -> &[Hop] {
        &self.hops[..self.count]
    }
}

/// The transports whose packets carry telemetry, and the rates of links in it.
#[derive(Clone, Debug, Default)]
pub struct Stamps {
    /// By the run's transports, a bit each.
    transports: u32,
    rates: Vec<Rate>,
}

impl Stamps {
    /// For these transports, a bit each, in a network of links with these rates, sorted.
    pub fn new(transports: u32, rates: Vec<Rate>) -> Stamps {
        Stamps { transports, rates }
    }

    /// Whether a port writes into the record of a packet that leaves it.
    #[inline]
    pub fn is_due(&self, packet: &Packet) -> bool {
        self.transports >> packet.transport & 1 == 1
            && packet.ingress != LinkId::NONE
            && !packet.has(flag::CONTROL)
    }

    /// Writes the state of the port of a link, which a packet leaves then, into the packet's record.
    pub fn write(&self, record: &mut Record, packet: &Packet, (link, port): (LinkId, &Port), at: Time) {
        let hop = usize::from(packet.hops) - 1;
        let time = at - packet.created_at;
        let Ok(rate) = self.rates.binary_search(&port.rate) else { return record.0.fill(0) };
        if rate >= RATES || hop >= HOPS || time > LONGEST || (hop > 0 && rate_of(record, hop - 1) == 0) {
            return record.0.fill(0);
        }
        let queue = (port.bytes - u64::from(packet.size)).min(QUEUE_MOST);
        let sent = port.sent.bytes & ((1 << bits::SENT) - 1);
        let path = (u64::from(link.0) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - bits::PATH);
        record.0[0] ^= path;
        let mut bit = bits::PATH + hop * bits::HOP;
        let fields =
            [(bits::RATE, rate as u64 + 1), (bits::TIME, time.0), (bits::SENT, sent), (bits::QUEUE, queue)];
        for (width, value) in fields {
            put(&mut record.0, bit, value, width);
            bit += width;
        }
    }

    /// The telemetry in a record, of a packet that was made then.
    pub fn read(&self, record: &Record, created_at: Time) -> Telemetry {
        let mut telemetry = Telemetry { path: get(&record.0, 0, bits::PATH) as u16, ..Telemetry::NONE };
        while telemetry.count < HOPS && rate_of(record, telemetry.count) != 0 {
            let at = bits::PATH + telemetry.count * bits::HOP;
            let (time, sent) = (at + bits::RATE, at + bits::RATE + bits::TIME);
            telemetry.hops[telemetry.count] = Hop {
                time: created_at + Time(get(&record.0, time, bits::TIME)),
                sent: get(&record.0, sent, bits::SENT) as u32,
                queue_bytes: get(&record.0, sent + bits::SENT, bits::QUEUE),
                rate: self.rates[rate_of(record, telemetry.count) as usize - 1],
            };
            telemetry.count += 1;
        }
        telemetry
    }
}

/// All rates that links ever have, sorted.
pub fn rates(fabric: &Fabric, faults: &Timeline) -> Vec<Rate> {
    let at_first = fabric.links.iter().map(|link| link.rate);
    let mut rates: Vec<Rate> = at_first.chain(faults.steps.iter().map(|step| step.state.rate)).collect();
    rates.sort_unstable();
    rates.dedup();
    rates
}

/// One more than the number of a hop's rate; 0 without the hop.
fn rate_of(record: &Record, hop: usize) -> u64 {
    get(&record.0, bits::PATH + hop * bits::HOP, bits::RATE)
}

/// Writes a number of that width where all bits are zero.
fn put(words: &mut [u64; 8], bit: usize, value: u64, width: usize) {
    let (word, shift) = (bit / 64, bit % 64);
    words[word] |= value << shift;
    if shift + width > 64 {
        words[word + 1] |= value >> (64 - shift);
    }
}

fn get(words: &[u64; 8], bit: usize, width: usize) -> u64 {
    let (word, shift) = (bit / 64, bit % 64);
    let mut value = words[word] >> shift;
    if shift + width > 64 {
        value |= words[word + 1] << (64 - shift);
    }
    value & ((1 << width) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::data::packet::Header;
    use crate::ids::{ConnId, NodeId};
    use crate::topology::Link;

    const GBPS: u64 = 1_000_000_000;

    fn stamps() -> Stamps {
        Stamps::new(0b100, [10, 25, 100].map(|gbps| Rate(gbps * GBPS)).to_vec())
    }

    /// A port of that rate that has sent so many bytes, and at which so many others wait.
    fn port(gbps: u64, sent: u64, waits: u64) -> Port {
        let link = Link { from: NodeId(8), to: NodeId(9), rate: Rate(gbps * GBPS), delay: Time::from_us(1) };
        let mut port = Port::new(&link, 0);
        port.sent.bytes = sent;
        port.bytes = waits + 1000;
        port
    }

    /// A packet of 1000 B, made at 7 us, that has crossed so many links.
    fn packet(hops: u8) -> Packet {
        Packet {
            created_at: Time::from_us(7),
            wire_at: Time::NEVER,
            size: 1000,
            conn: ConnId(0),
            dst: NodeId(1),
            ingress: LinkId(3),
            label: 0,
            transport: 2,
            balancer: 0,
            flags: 0,
            hops,
            header: Header::default(),
        }
    }

    /// The telemetry of a packet that leaves ports of 10, 100 and 25 Gbps, and so on, so many in all.
    fn collected(ports: u8) -> Telemetry {
        let (stamps, mut record) = (stamps(), Record::default());
        for hop in 1..=ports {
            let port = port([10, 100, 25][usize::from(hop - 1) % 3], u64::from(hop) << 31, u64::from(hop));
            let at = Time(Time::from_us(7).0 + u64::from(hop));
            stamps.write(&mut record, &packet(hop), (LinkId(u32::from(hop)), &port), at);
        }
        stamps.read(&record, Time::from_us(7))
    }

    /// Values near the ends of their bits come back, five times over; the count of sent bytes as its last 32 bits.
    #[test]
    fn five_hops_fit() {
        let hop = |hop: u64, gbps: u64, sent: u32| Hop {
            time: Time(7_000_000 + hop),
            sent,
            queue_bytes: hop,
            rate: Rate(gbps * GBPS),
        };
        let half = 1 << 31;
        let all = [hop(1, 10, half), hop(2, 100, 0), hop(3, 25, half), hop(4, 10, 0), hop(5, 100, half)];
        for ports in 0..=5 {
            assert_eq!(collected(ports)[..], all[..usize::from(ports)]);
        }

        let (stamps, mut record) = (stamps(), Record::default());
        let most = port(100, u64::MAX, QUEUE_MOST);
        for hop in 1..=5 {
            stamps.write(&mut record, &packet(hop), (LinkId(0), &most), Time::from_us(7) + LONGEST);
        }
        let hop = Hop {
            time: Time::from_us(7) + LONGEST,
            sent: u32::MAX,
            queue_bytes: QUEUE_MOST,
            rate: Rate(100 * GBPS),
        };
        assert_eq!(stamps.read(&record, Time::from_us(7))[..], [hop; 5]);
    }

    /// A record with a value that does not fit is left out as a whole; a queue is "that long or longer".
    #[test]
    fn what_does_not_fit_leaves_none() {
        assert!(collected(6).is_empty() && collected(9).is_empty());
        let stamps = stamps();
        let at = |port: &Port, at: Time| {
            let mut record = Record::default();
            stamps.write(&mut record, &packet(1), (LinkId(0), port), at);
            stamps.read(&record, Time::from_us(7))
        };
        assert_eq!(at(&port(10, 0, 0), Time::from_us(7) + LONGEST + Time(1))[..], []);
        assert_eq!(at(&port(40, 0, 0), Time::from_us(8))[..], [], "a rate that the network does not have");
        assert_eq!(at(&port(10, 0, QUEUE_MOST + 9), Time::from_us(8))[0].queue_bytes, QUEUE_MOST);
    }

    /// In units of 4 times 128 B and 80 B: 5,119 B are 9 units, a queue of 959 B is 2; one of 2^17 units is none; a time of 7.9996
    /// us is 7,999 ns.
    #[test]
    fn packed_values_are_cut_down() {
        let hop = |time: u64, sent: u32, queue_bytes: u64| Hop {
            time: Time(time),
            sent,
            queue_bytes,
            rate: Rate(25 * GBPS),
        };
        let exact = Telemetry::of(&[hop(7_999_600, 5_119, 959), hop(8_000_000, 5_120, 320 << 17)]);
        assert_eq!(exact.packed(4)[..], [hop(7_999_000, 4_608, 640), hop(8_000_000, 5_120, 0)]);
        assert_eq!(exact.packed(1)[0], hop(7_999_000, 4_992, 880));
    }

    /// Data of a transport that asks, at a port that is not its source's.
    #[test]
    fn packets_that_are_due() {
        let stamps = stamps();
        assert!(stamps.is_due(&packet(1)));
        assert!(!stamps.is_due(&Packet { transport: 1, ..packet(1) }));
        assert!(!stamps.is_due(&Packet { flags: flag::CONTROL, ..packet(1) }));
        assert!(!stamps.is_due(&Packet { ingress: LinkId::NONE, ..packet(0) }));
    }

    #[test]
    fn paths_differ() {
        let path = |links: [u32; 2]| {
            let (stamps, mut record, port) = (stamps(), Record::default(), port(10, 0, 0));
            for (link, hops) in links.into_iter().zip(1..) {
                stamps.write(&mut record, &packet(hops), (LinkId(link), &port), Time::from_us(8));
            }
            stamps.read(&record, Time::from_us(7)).path
        };
        assert_eq!(path([4, 9]), path([4, 9]));
        assert!(path([4, 9]) != path([5, 9]) && path([4, 9]) != path([4, 10]));
    }

    /// In 1 us at 10 Gbps, for 1250 B, a port has sent 1000 B: 0.8. The other, of 100 Gbps, has sent as much, 0.08, and 2500 B
    /// or more have waited, of the 25000 B that it sends in a round trip of 2 us: 0.1 more.
    #[test]
    fn the_load_is_that_of_the_busiest_port() {
        let telemetry = |us: u64, sent, queues: [u64; 2]| {
            let hop = |queue_bytes, gbps| Hop {
                time: Time::from_us(us),
                sent,
                queue_bytes,
                rate: Rate(gbps * GBPS),
            };
            let [first, second] = queues;
            let mut telemetry = Telemetry { count: 2, path: 7, ..Telemetry::NONE };
            telemetry.hops[..2].copy_from_slice(&[hop(first, 10), hop(second, 100)]);
            telemetry
        };
        let load = |queues| {
            let [before, after]: [[u64; 2]; 2] = queues;
            let (earlier, later) = (telemetry(3, 500, before), telemetry(4, 1500, after));
            later.load_since(&earlier, Time::from_us(2)).expect("one path")
        };
        let close = |a: f64, b: f64| (a - b).abs() < 1e-12;
        assert!(close(load([[0, 2500], [9, 5000]]), 0.8));
        assert!(close(load([[0, 25_000], [0, 30_000]]), 1.08));
        let other = Telemetry { path: 8, ..telemetry(4, 1500, [0, 0]) };
        assert_eq!(other.load_since(&telemetry(3, 500, [0, 0]), Time::from_us(2)), None);
        assert_eq!(other.load_since(&Telemetry::NONE, Time::from_us(2)), None);
    }

    /// At 10 Gbps a port sends 2^32 B in 3.436 s: until then a difference is one, also across the end of the counter.
    #[test]
    fn bytes_sent_between_two_hops() {
        let hop = |ms: u64, sent: u32| Hop {
            time: Time::from_us(1000 * ms),
            sent,
            queue_bytes: 0,
            rate: Rate(10 * GBPS),
        };
        assert_eq!(hop(2, 7_000).sent_since(&hop(1, 3_000)), Some(4_000));
        assert_eq!(hop(2, 1_000).sent_since(&hop(1, u32::MAX - 999)), Some(2_000));
        assert_eq!(hop(3_435, 5).sent_since(&hop(0, 0)), Some(5));
        assert_eq!(hop(3_437, 5).sent_since(&hop(0, 0)), None);
        assert_eq!(hop(1, 5).sent_since(&hop(1, 0)), None);
    }
}
