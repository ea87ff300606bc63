//! Random streams: one for each (seed, replica, purpose, entity).
//!
//! The generator is SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
//! generators", OOPSLA 2014): 64 bits of state, one addition and two multiplications a draw, and
//! passes BigCrush. Streams are independent of each other, so that adding a flow between two hosts
//! moves no draw of any other entity. Distributions are sampled by inverting their CDF, with the
//! pure-Rust `libm`, so that the bytes are the same on every machine.

/// Purpose of a stream; each value is part of the format of results, so never renumber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// Switches choose among equal next hops (entity: 0; each packet-hop has its own draw).
    Balancer = 1,
    /// The salt of a switch's hash (entity: node).
    HashSalt = 2,
    /// A queue's coin (entity: link).
    Queue = 3,
    /// A transport at a host (entity: node).
    Host = 4,
    /// When flows of a traffic entry start (entity: hash of the entry's name).
    Arrivals = 5,
    /// Senders and receivers of a traffic entry (entity: hash of the entry's name).
    Matrix = 6,
    /// Flow sizes of a traffic entry (entity: hash of the entry's name).
    Sizes = 7,
    /// Start jitter of a traffic entry (entity: hash of the entry's name).
    Jitter = 8,
    /// The order of simultaneous events (entity: kind of source).
    Ties = 9,
    /// The 5-tuple of a flow (entity: flow).
    FiveTuple = 10,
    /// Packet lengths and gaps of an open-loop flow (entity: flow).
    Packets = 11,
    /// Packets lost at random on a link (entity: link).
    Loss = 12,
    /// Parts that fail, where a fault draws them (entity: number of the fault in the scenario).
    Faults = 13,
    /// The order in which one end of a connection uses its paths (entity: 5-tuple of its packets).
    Paths = 14,
    /// By how much a flow's timeouts are longer than computed (entity: flow).
    Timeouts = 15,
    /// A flow's place among those that take turns at its receiver (entity: flow).
    PullTurns = 16,
    /// An agent's own draws (entity: link).
    Agent = 17,
    /// A controller's own draws, and the losses of its control channel (entity: which of them).
    Controller = 18,
    /// By how much a server's clock is late (entity: node).
    Clock = 19,
    /// Which hosts send in a traffic entry (entity: hash of the entry's name).
    Sources = 20,
    /// A source that starts one flow after the other (entity: hash of the entry's name and the host).
    OnOff = 21,
    /// Deadlines of a traffic entry (entity: hash of the entry's name).
    Deadlines = 22,
    /// New labels of a connection that changes its path (entity: flow).
    Repath = 23,
    /// A connection's congestion control (entity: flow).
    Control = 24,
    /// Acknowledgements that put a connection under HULL's pacer (entity: flow).
    Pacer = 25,
    /// Gaps, sizes and deadlines of a server on the slotted link (entity: server).
    SlottedServer = 30,
    /// Sizes and deadlines of a set of flows on the slotted link (entity: set).
    SlottedSet = 31,
    /// The order in which requests reach the slotted link's switch (entity: 0).
    SlottedOrder = 32,
}

/// A SplitMix64 stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stream(u64);

const WEYL: u64 = 0x9E37_79B9_7F4A_7C15;

/// SplitMix64's finaliser: a bijection of 64-bit words that mixes every bit into every other.
#[inline]
pub fn mix(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

/// A whole number below `bound` from 64 random bits, of which the upper half counts.
#[inline]
pub fn share(bits: u64, bound: u32) -> u32 {
    (((bits >> 32) * u64::from(bound)) >> 32) as u32
}

/// A random number for each node, with which it salts its hashes: without it all tiers would choose alike.
pub fn salts(nodes: usize, seed: u64, replica: u64) -> Vec<u64> {
    (0..nodes as u64).map(|node| Stream::new(seed, replica, Purpose::HashSalt, node).bits()).collect()
}

/// A stable number for a name (FNV-1a, then mixed), to key a stream by a traffic entry's name.
pub fn name_key(name: &str) -> u64 {
    let fnv = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
    mix(name.bytes().fold(0xCBF2_9CE4_8422_2325, fnv))
}

/// A stable number for a flow: its number in its traffic entry keys the flow's own random draws.
pub fn flow_key(entry: &str, number: u32) -> u64 {
    name_key(entry).wrapping_add(u64::from(number))
}

impl Stream {
    /// The stream of one entity for one purpose.
    pub fn new(seed: u64, replica: u64, purpose: Purpose, entity: u64) -> Stream {
        let mut state = mix(seed.wrapping_add(WEYL));
        for part in [replica, purpose as u64, entity] {
            state = mix(state.wrapping_add(WEYL) ^ part.wrapping_mul(WEYL));
        }
        Stream(state)
    }

    /// The next 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(WEYL);
        mix(self.0)
    }

    /// The value of the draw of that number, the next one being number 1; nothing is drawn.
    #[inline]
    pub fn bits_at(&self, number: u64) -> u64 {
        mix(self.0.wrapping_add(number.wrapping_mul(WEYL)))
    }

    /// A whole number below `bound`, which must not be 0 (multiply-shift: the bias is below bound / 2^64).
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// A fair coin.
    #[inline]
    pub fn coin(&mut self) -> bool {
        self.bits() >> 63 == 1
    }

    /// Uniform in [0, 1), 53 bits.
    pub fn unit(&mut self) -> f64 {
        as_share(self.bits())
    }

    /// The same from the draw of that number, the next one being number 1; nothing is drawn.
    pub fn unit_at(&self, number: u64) -> f64 {
        as_share(self.bits_at(number))
    }

    /// Exponential with the given mean, by inversion; at least 0 and never infinite.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(1.0 - self.unit())
    }

    /// Puts the items into a uniformly random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

fn as_share(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitmix64_reference_values() {
        // First outputs for state 1234567, as published with the reference implementation.
        let mut stream = Stream(1_234_567);
        let expected = [6457827717110365317, 3203168211198807973, 9817491932198370423];
        assert_eq!([1, 2, 3].map(|number| stream.bits_at(number)), expected);
        assert_eq!([stream.bits(), stream.bits(), stream.bits()], expected);
    }

    #[test]
    fn streams_differ_by_each_of_their_names() {
        let first = |seed, replica, purpose, entity| Stream::new(seed, replica, purpose, entity).bits();
        let all = [
            first(1, 0, Purpose::Queue, 0),
            first(2, 0, Purpose::Queue, 0),
            first(1, 1, Purpose::Queue, 0),
            first(1, 0, Purpose::Host, 0),
            first(1, 0, Purpose::Queue, 1),
        ];
        for (index, value) in all.iter().enumerate() {
            assert!(!all[..index].contains(value));
        }
    }

    #[test]
    fn exponential_has_its_mean_and_variance() {
        let mut stream = Stream::new(1, 0, Purpose::Arrivals, 0);
        let draws: Vec<f64> = (0..200_000).map(|_| stream.exponential(3.0)).collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / draws.len() as f64;
        assert!((mean - 3.0).abs() < 4.0 * 3.0 / (draws.len() as f64).sqrt());
        assert!((variance - 9.0).abs() < 0.2);
    }

    #[test]
    fn shuffle_makes_each_order_equally_likely() {
        let mut stream = Stream::new(1, 0, Purpose::Ties, 0);
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..60_000 {
            let mut items = [0, 1, 2];
            stream.shuffle(&mut items);
            *counts.entry(items).or_insert(0) += 1;
        }
        assert_eq!(counts.len(), 6);
        assert!(counts.values().all(|&count: &i32| (count - 10_000).abs() < 500), "{counts:?}");
    }
}
