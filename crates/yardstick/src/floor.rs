//! The floor that benchmarks compare with: packets on a fat-tree and nothing else.
//!
//! A bare loop on purpose apart from the engine, so that work on the engine does not move it: infinite
//! first-in first-out ports, 100 Gbps and 1 us a link, random choice among equal uplinks, no transport, no
//! queue limit, no statistics. Every host keeps [`DATA`] packets of 1500 B and [`CONTROL`] packets of 64 B in
//! flight, as an NDP permutation with an initial window of 128 on this fabric in its steady state; a packet
//! that arrives is sent on by its receiver.
//!
//! Frozen: a change here makes old and new ratios incomparable, so print both in one run.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use flowyard_sim::random::{Purpose, Stream};

/// Packets of 1500 B that each host keeps in flight.
pub const DATA: u32 = 62;
/// Packets of 64 B that each host keeps in flight.
pub const CONTROL: u32 = 72;

const PS_PER_BYTE: u64 = 80;
const DELAY: u64 = 1_000_000;

/// A fat-tree full of packets.
pub struct Floor {
    half: u32,
    hosts: u32,
    now: u64,
    packets: Vec<Packet>,
    ports: Vec<Port>,
    chance: Vec<Stream>,
    buckets: Vec<Vec<Event>>,
    shift: u32,
    open: u64,
    cursor: usize,
    far: BinaryHeap<Reverse<Event>>,
}

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Packet {
    dst: u32,
    size: u32,
    hops: u64,
}

#[derive(Clone, Copy, Default)]
struct Port {
    free_at: u64,
    sent: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    time: u64,
    link: u32,
    packet: u32,
}

/// Where the links of each kind begin: host to edge, edge to host, edge to aggregation and so on.
const KINDS: u32 = 6;

impl Floor {
    /// A k-ary fat-tree, k even, with every packet waiting at its first host.
    pub fn new(k: u32) -> Floor {
        let half = k / 2;
        let hosts = k * half * half;
        // About a dozen events to a bucket: the density grows with the number of hosts.
        let shift = 17 - hosts.ilog2();
        let mut floor = Floor {
            half,
            hosts,
            now: 0,
            packets: Vec::new(),
            ports: vec![Port::default(); (KINDS * hosts) as usize],
            chance: (0..2 * hosts).map(|i| Stream::new(1, 0, Purpose::Balancer, i.into())).collect(),
            buckets: vec![Vec::new(); 1 << (21 - shift)],
            shift,
            open: 0,
            cursor: 0,
            far: BinaryHeap::new(),
        };
        for turn in 0..DATA + CONTROL {
            for host in 0..hosts {
                let size = if turn % (DATA + CONTROL) < DATA { 1500 } else { 64 };
                let packet = floor.packets.len() as u32;
                floor.packets.push(Packet { dst: host, size, hops: 0 });
                floor.send_on(packet, host);
            }
        }
        floor
    }

    /// Packets in flight.
    pub fn packets(&self) -> u64 {
        self.packets.len() as u64
    }

    /// Lets packets cross so many links, and says what time it is then, in picoseconds.
    pub fn run(&mut self, hops: u64) -> u64 {
        for _ in 0..hops {
            let event = self.pop();
            self.now = event.time;
            self.arrive(event.packet, event.link);
        }
        self.now
    }

    /// A host sends a packet on to the host half a fabric further.
    fn send_on(&mut self, packet: u32, host: u32) {
        self.packets[packet as usize].dst = (host + self.hosts / 2) % self.hosts;
        self.transmit(packet, host);
    }

    /// A packet comes out of a link; each kind of link has as many members as there are hosts.
    fn arrive(&mut self, packet: u32, link: u32) {
        let (half, hosts) = (self.half, self.hosts);
        let pod_hosts = half * half;
        let (kind, place) = (link / hosts, link % hosts);
        let record = &mut self.packets[packet as usize];
        record.hops += 1;
        let dst = record.dst;
        let next = match kind {
            // At an edge switch, from a host; then at an aggregation switch, from an edge switch.
            0 if place / half == dst / half => hosts + dst,
            0 => 2 * hosts + place / half * half + self.choose(place / half),
            // Edge switch `place / half` used its uplink `place % half`: the switch of that number in the pod.
            2 => {
                let (pod, switch) = (place / pod_hosts, place % half);
                let aggregation = pod * half + switch;
                if pod == dst / pod_hosts {
                    3 * hosts + aggregation * half + dst % pod_hosts / half
                } else {
                    4 * hosts + aggregation * half + self.choose(hosts / half + aggregation)
                }
            }
            // At a core switch: one link to each pod.
            4 => {
                let core = place / half % half * half + place % half;
                5 * hosts + core * 2 * half + dst / pod_hosts
            }
            // Down to an aggregation switch, down to an edge switch, down to the host.
            5 => {
                let (core, pod) = (place / (2 * half), place % (2 * half));
                3 * hosts + (pod * half + core / half) * half + dst % pod_hosts / half
            }
            3 => hosts + dst,
            _ => return self.send_on(packet, dst),
        };
        self.transmit(packet, next);
    }

    fn choose(&mut self, switch: u32) -> u32 {
        self.chance[switch as usize].below(self.half.into()) as u32
    }

    fn transmit(&mut self, packet: u32, link: u32) {
        let port = &mut self.ports[link as usize];
        let size = self.packets[packet as usize].size;
        port.free_at = port.free_at.max(self.now) + u64::from(size) * PS_PER_BYTE;
        port.sent += 1;
        let time = port.free_at + DELAY;
        self.push(Event { time, link, packet });
    }

    fn push(&mut self, event: Event) {
        if (event.time >> self.shift) - self.open < self.buckets.len() as u64 {
            let slot = self.slot(event.time >> self.shift);
            self.buckets[slot].push(event);
        } else {
            self.far.push(Reverse(event));
        }
    }

    fn slot(&self, number: u64) -> usize {
        number as usize & (self.buckets.len() - 1)
    }

    fn pop(&mut self) -> Event {
        loop {
            let slot = self.slot(self.open);
            if let Some(&event) = self.buckets[slot].get(self.cursor) {
                self.cursor += 1;
                return event;
            }
            self.buckets[slot].clear();
            self.cursor = 0;
            self.open += 1;
            while let Some(&Reverse(event)) = self.far.peek()
                && (event.time >> self.shift) - self.open < self.buckets.len() as u64
            {
                self.far.pop();
                self.push(event);
            }
            let slot = self.slot(self.open);
            self.buckets[slot].sort_unstable();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An edge switch draws the uplink of each packet, of one host too: of 1000 packets each of two has 500, within four standard
    /// deviations of 16.
    #[test]
    fn packets_of_a_host_take_all_uplinks() {
        let mut floor = Floor::new(4);
        let first = 2 * floor.hosts as usize;
        floor.packets[0].dst = floor.hosts / 2;
        (0..1000).for_each(|_| floor.arrive(0, 0));
        let sent: Vec<u64> = floor.ports[first..first + 2].iter().map(|port| port.sent).collect();
        assert!(sent.iter().all(|sent| sent.abs_diff(500) < 64), "{sent:?}");
    }

    /// Every packet crosses six links, from a host to the one half a fabric further, in the time that six
    /// transmissions and six delays take, and all uplinks are used evenly.
    #[test]
    fn packets_go_where_they_should() {
        for k in [4, 8] {
            let mut floor = Floor::new(k);
            let now = floor.run(2_000_000);
            let shortest = 6 * (64 * PS_PER_BYTE + DELAY);
            let most = floor.packets.iter().map(|packet| packet.hops).max().unwrap();
            assert!(most <= 6 * (now / shortest + 1), "{most} hops in {now} ps");
            for kind in 0..KINDS {
                let ports = &floor.ports[(kind * floor.hosts) as usize..((kind + 1) * floor.hosts) as usize];
                let mean = ports.iter().map(|port| port.sent).sum::<u64>() as f64 / f64::from(floor.hosts);
                for port in ports {
                    assert!(
                        (port.sent as f64 / mean - 1.0).abs() < 0.1,
                        "kind {kind}: {} of {mean}",
                        port.sent
                    );
                }
            }
        }
    }
}
