//! The packets of a flow under central control: IP packets of drawn lengths, cut into fragments; and their arrival, in any order.

use super::{Central, Last};
use crate::engine::contract::packet::Header;
use crate::random::Stream;
use crate::traffic::sizes::Sizes;

/// The shortest packet of IP that is sent: a TCP acknowledgement.
const LENGTH_MIN: u64 = 40;

/// Packets of a flow that are counted one by one, in some 10 ms: of more, the number is estimated.
const COUNTED: u32 = 1 << 20;
/// An estimate is so many times as high as its first packets tell: the mean length of a million packets is far closer to the
/// mean of all.
const MARGIN: f64 = 1.02;

/// The packets that a flow has not sent. Lengths are drawn when they are needed, so that a flow takes the same memory
/// however long it is.
#[derive(Clone, Debug)]
pub struct Packets {
    /// Payload that no packet has taken.
    left: u64,
    /// The rest of the present IP packet.
    rest: u64,
    /// IP packets begun.
    begun: u64,
    stream: Stream,
}

/// A packet on the wire, without its frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Bytes.
    pub bytes: u32,
    /// Bytes of the flow that it carries: fewer only at the end of a flow whose last packet is not cut.
    pub payload: u32,
}

impl Packets {
    /// Those of a flow of so many bytes.
    pub fn new(size: u64, stream: Stream) -> Packets {
        Packets { left: size, rest: 0, begun: 0, stream }
    }

    /// Whether all have been sent.
    pub fn is_empty(&self) -> bool {
        self.left == 0 && self.rest == 0
    }

    /// Payload that no packet has taken.
    pub fn bytes(&self) -> u64 {
        self.left
    }

    /// Bytes of the next one; none if there is none.
    pub fn next_bytes(&mut self, config: &Central) -> Option<u64> {
        if self.rest == 0 {
            if self.left == 0 {
                return None;
            }
            self.rest = self.draw(config);
            self.begun += 1;
        }
        Some(self.rest.min(config.fragment_bytes()))
    }

    /// Takes the next one.
    pub fn take(&mut self, config: &Central) -> Option<Piece> {
        let bytes = self.next_bytes(config)?;
        self.rest -= bytes;
        // The rest of a packet that is not cut takes the remaining bytes: the flow is complete with its last
        // fragment.
        let payload = self.left.saturating_sub(self.rest).min(bytes);
        self.left -= payload;
        Some(Piece { bytes: bytes as u32, payload: payload as u32 })
    }

    /// How many there are: in `O(1)` where all lengths are the same, and otherwise exact up to a million. Of more it is an
    /// estimate that is no less than their number.
    pub fn count(&self, config: &Central) -> u32 {
        if let (Sizes::Fixed(_), Last::Whole, 0) = (&config.lengths, config.last, self.rest) {
            let length = config.length_most();
            let pieces = length.div_ceil(config.fragment_bytes());
            return u32::try_from(self.left.div_ceil(length) * pieces).unwrap_or(u32::MAX);
        }
        self.drawn_count(config, COUNTED)
    }

    /// How many there are, with so many counted one by one.
    fn drawn_count(&self, config: &Central, counted: u32) -> u32 {
        let mut all = self.clone();
        let count = (0..counted).take_while(|_| all.take(config).is_some()).count() as u32;
        if all.is_empty() {
            return count;
        }
        let per_byte = f64::from(count) / (self.left - all.left) as f64;
        // A cast of what is above the most of the type is the most.
        count.saturating_add((all.left as f64 * per_byte * MARGIN).ceil() as u32)
    }

    /// The length of the next IP packet.
    fn draw(&mut self, config: &Central) -> u64 {
        let length = match &config.lengths {
            Sizes::List(list) if config.in_turn => list.0[(self.begun % list.0.len() as u64) as usize],
            lengths => lengths.sample(&mut self.stream),
        };
        let length = length.clamp(1, config.mtu.0);
        match config.last {
            Last::Whole => length,
            Last::Cut => length.min(self.left.max(LENGTH_MIN)),
        }
    }
}

/// Value of `Header::kind`: the last packet of a flow. Others have 0.
pub const LAST: u8 = 1;

/// The packets of a flow that have arrived. Of an IP packet all fragments have to: the payload of the last one counts when it and
/// all others are there, whichever way they came.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arrivals {
    arrived: u32,
    /// Packets of the flow; 0 until the last one has arrived.
    all: u32,
    /// Payload of the last one that does not count yet.
    held: u16,
}

impl Arrivals {
    /// One has arrived: the payload that counts now.
    pub fn take(&mut self, header: &Header) -> u16 {
        self.arrived += 1;
        let mut payload = header.len;
        if header.kind == LAST {
            self.all = header.number + 1;
            self.held = std::mem::take(&mut payload);
        }
        if self.arrived == self.all { payload + std::mem::take(&mut self.held) } else { payload }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;
    use crate::traffic::sizes::fixed::Fixed;
    use crate::traffic::sizes::list::List;
    use crate::units::Bytes;

    fn all(config: &Central, size: u64) -> Vec<(u32, u32)> {
        let mut packets = Packets::new(size, Stream::new(1, 0, Purpose::Packets, 7));
        let count = packets.count(config);
        let pieces: Vec<_> = std::iter::from_fn(|| packets.take(config)).collect();
        assert!(packets.is_empty());
        assert_eq!(pieces.len() as u32, count);
        assert_eq!(pieces.iter().map(|piece| u64::from(piece.payload)).sum::<u64>(), size);
        pieces.iter().map(|piece| (piece.bytes, piece.payload)).collect()
    }

    #[test]
    fn the_last_packet_is_whole_or_cut() {
        let whole = Central::default();
        assert_eq!(all(&whole, 3010), [(1500, 1500), (1500, 1500), (1500, 10)]);
        let cut = Central { last: Last::Cut, ..Central::default() };
        assert_eq!(all(&cut, 3010), [(1500, 1500), (1500, 1500), (40, 10)]);
        assert_eq!(all(&cut, 3100), [(1500, 1500), (1500, 1500), (100, 100)]);
    }

    /// 1500 B are cut into 1000 and 500; the flow's last bytes come with the last fragment.
    #[test]
    fn fragments_carry_a_packet() {
        let config = Central { fragment: Some(Bytes(1000)), ..Central::default() };
        assert_eq!(all(&config, 1600), [(1000, 1000), (500, 500), (1000, 0), (500, 100)]);
    }

    #[test]
    fn lengths_come_in_turn() {
        let lengths = List(vec![1500, 40]).into();
        let config = Central { lengths, in_turn: true, ..Central::default() };
        assert_eq!(all(&config, 3100), [(1500, 1500), (40, 40), (1500, 1500), (40, 40), (1500, 20)]);
    }

    /// Lengths of 40 and 1500 B in turn: of 7,700,000 B the first 100 packets carry 77,000 B, so that 9,900 are left, 10,098
    /// with the margin. A flow of 2^60 B has more than can be said.
    #[test]
    fn more_packets_are_estimated() {
        let config = Central { lengths: List(vec![1500, 40]).into(), in_turn: true, ..Central::default() };
        let packets = |size| Packets::new(size, Stream::new(1, 0, Purpose::Packets, 7));
        assert_eq!(packets(7_700_000).drawn_count(&config, 10_000), 10_000);
        assert_eq!(packets(7_700_000).drawn_count(&config, 100), 10_198);
        assert_eq!(packets(77_000).drawn_count(&config, 100), 100);
        assert_eq!(packets(1 << 60).drawn_count(&config, 100), u32::MAX);
    }

    /// Lengths above the MTU are cut to it.
    #[test]
    fn no_packet_is_longer_than_the_mtu() {
        let config = Central { lengths: Fixed(Bytes(9000)).into(), ..Central::default() };
        assert_eq!(all(&config, 3000), [(1500, 1500), (1500, 1500)]);
    }

    /// Four packets, of which the third has no payload: the last one's counts when all are there.
    #[test]
    fn the_last_payload_waits_for_all_packets() {
        let header = |number: u32| Header {
            number,
            len: [1000, 500, 0, 10][number as usize],
            kind: if number == 3 { LAST } else { 0 },
            ..Header::default()
        };
        let counted = |order: [u32; 4]| {
            let mut arrivals = Arrivals::default();
            order.map(|number| arrivals.take(&header(number)))
        };
        assert_eq!(counted([0, 1, 2, 3]), [1000, 500, 0, 10]);
        assert_eq!(counted([0, 1, 3, 2]), [1000, 500, 0, 10]);
        assert_eq!(counted([3, 2, 1, 0]), [0, 0, 500, 1010]);
    }
}
