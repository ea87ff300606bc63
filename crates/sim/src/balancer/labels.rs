//! Paths that a source writes into a packet's label: one choice for each switch on the way.
//!
//! A path has a number. The source turns it into the choices of the first [`PLACES`] switches and writes these into the label,
//! from which a switch reads its own by the number of links that the packet has crossed. So a switch keeps nothing and divides
//! nothing, and the next hop is known before the packet is there.

use crate::engine::contract::path::{Hop, Trip};
use crate::ids::{LinkId, NodeId};
use crate::random::{Stream, share};

/// Switches whose choices a label holds, and bits for each.
pub const PLACES: u32 = 4;
const BITS: u32 = 8;

/// Most paths of a source; of more, so many are used that are spread over all of them.
pub const PATHS_MOST: u64 = 4096;

/// The choice that a label has for this switch, if it is a possible one here; else a random one, as under "per-packet".
#[inline(always)]
pub fn pick(hop: Hop, stream: &Stream) -> u32 {
    let place = u32::from(hop.hops).wrapping_sub(1);
    let digit = hop.label >> (BITS * (place % PLACES)) & ((1 << BITS) - 1);
    if place < PLACES && digit < hop.count() && hop.count() <= 1 << BITS {
        digit
    } else {
        share(stream.bits_at(hop.ticket), hop.count())
    }
}

/// The order in which numbers go through the choices of the switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Digits {
    /// The last switch with a choice takes another next hop with each number, the first one last.
    LastFirst,
    /// The first switch takes another next hop with each number: neighbours have no link upwards in common.
    FirstFirst,
}

/// The paths from one end of a connection to the other, as routes are now.
#[derive(Clone, Copy, Debug)]
pub struct Numbered {
    /// How many there are, at most [`PATHS_MOST`].
    pub paths: u16,
    /// A path's number times this is its place among all of them, as a fraction of 2^64.
    step: u64,
}

impl Numbered {
    /// Before the first packet.
    pub const NONE: Numbered = Numbered { paths: 0, step: 0 };

    /// Counts the paths.
    pub fn count(trip: &Trip) -> Numbered {
        let mut paths = 1u64;
        trip.walk(|count, _| {
            paths = (paths * u64::from(count)).min(PATHS_MOST);
            0
        });
        Numbered { paths: paths as u16, step: (u64::MAX / paths).wrapping_add(1) }
    }

    /// The choice of each switch on the path of that number: under [`Digits::LastFirst`] the number's digits, each to the base
    /// of the number of choices, by multiplication of the fraction that it represents. `on` gets each link that is chosen.
    #[inline]
    pub fn label(self, number: u16, digits: Digits, trip: &Trip, mut on: impl FnMut(LinkId)) -> u32 {
        let mut fraction = u64::from(number).wrapping_mul(self.step);
        let mut rest = u32::from(number);
        let (mut label, mut place) = (0, 0);
        trip.walk(|count, hops| {
            let digit = match digits {
                Digits::LastFirst => {
                    let product = u128::from(fraction) * u128::from(count);
                    fraction = product as u64;
                    (product >> 64) as u32
                }
                Digits::FirstFirst => {
                    let digit = rest % count;
                    rest /= count;
                    digit
                }
            };
            label |= (digit & ((1 << BITS) - 1)) << (BITS * place);
            place += 1;
            on(hops[digit as usize]);
            digit
        });
        label
    }
}

impl Trip<'_> {
    /// Goes along the path on which each of the first switches takes the next hop that `choose` returns, given their number and
    /// the next hops; faults may leave none.
    #[inline]
    fn walk(&self, mut choose: impl FnMut(u32, &[LinkId]) -> u32) {
        let mut at: NodeId = self.ends[self.port.index()];
        for _ in 0..PLACES {
            if at == self.to {
                return;
            }
            let hops = self.routes.next_hops(at, self.to);
            if hops.is_empty() {
                return;
            }
            at = self.ends[hops[choose(hops.len() as u32, hops) as usize].index()];
        }
    }
}
