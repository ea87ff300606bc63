//! The rows of a part of a matrix, or its columns, laid out for sums over all of them.
//!
//! They lie in slices of eight of about one length, interleaved ("sliced ELLPACK", Monakov, Lokhmotov and Avetisyan, HiPEAC
//! 2010): eight sums proceed at once, and the loops have no branch that depends on a line.

use super::bytes;

/// Lines of a slice.
const LANES: usize = 8;

/// Places that a line can have in its part: a 16-bit place needs no check of bounds.
const PLACES: usize = 1 << 16;

/// All rows of a part, or all its columns: the longest first, eight to a slice, of which the first entries lie
/// side by side, then the second ones. A line that is shorter than its slice ends with entries whose factor is 0.
#[derive(Clone, Debug)]
pub(super) struct Lines {
    /// By place: the host.
    pub(super) lines: Vec<u16>,
    /// By slice: where its entries begin; and the end of the last.
    starts: Vec<u32>,
    /// Of entries: the place of the other line.
    others: Vec<u16>,
    /// Of entries: the scaled rates, unless all are 1.
    scaled: Vec<f64>,
    /// By place: the factor.
    pub(super) factors: Box<[f64; PLACES]>,
    /// By place: where its next entry goes.
    next: Vec<u32>,
    /// Lines by length, for sorting.
    counts: Vec<u32>,
}

/// The place of no line.
const NONE: u16 = u16::MAX;

impl Lines {
    pub(super) fn new() -> Lines {
        let factors = vec![0.0; PLACES].into_boxed_slice();
        Lines {
            lines: Vec::new(),
            starts: Vec::new(),
            others: Vec::new(),
            scaled: Vec::new(),
            factors: factors.try_into().expect("as many"),
            next: Vec::new(),
            counts: Vec::new(),
        }
    }

    /// Bytes that they take beyond their own size.
    pub(super) fn heap_bytes(&self) -> usize {
        let by_place = bytes(&self.lines) + bytes(&self.next) + size_of_val(&*self.factors);
        let of_entries = bytes(&self.others) + bytes(&self.scaled);
        by_place + of_entries + bytes(&self.starts) + bytes(&self.counts)
    }

    /// Makes room for lines of these lengths, with factors of 1.
    pub(super) fn shape(&mut self, hosts: &[u16], even: bool, length: impl Fn(&u16) -> usize) {
        self.counts.clear();
        for host in hosts {
            let length = length(host);
            if self.counts.len() <= length {
                self.counts.resize(length + 1, 0);
            }
            self.counts[length] += 1;
        }
        // The longest line comes first; of two of one length, the one with the lower number.
        let mut before = 0;
        for count in self.counts.iter_mut().rev() {
            before += std::mem::replace(count, before);
        }
        self.lines.resize(hosts.len(), 0);
        for host in hosts {
            let place = &mut self.counts[length(host)];
            self.lines[*place as usize] = *host;
            *place += 1;
        }
        self.starts.clear();
        self.others.clear();
        self.starts.push(0);
        let mut end = 0;
        for slice in self.lines.chunks(LANES) {
            end += length(&slice[0]) * LANES;
            self.starts.push(end as u32);
        }
        self.others.resize(end, NONE);
        self.scaled.clear();
        self.scaled.resize(if even { 0 } else { end }, 0.0);
        self.next.clear();
        for (slice, lines) in self.lines.chunks(LANES).enumerate() {
            self.next.extend((0..lines.len() as u32).map(|lane| self.starts[slice] + lane));
        }
        self.factors[..hosts.len()].fill(1.0);
        self.factors[hosts.len()..hosts.len().next_multiple_of(LANES)].fill(f64::INFINITY);
    }

    /// Where the entries of the line at a place begin.
    pub(super) fn first(&self, place: usize) -> usize {
        self.starts[place / LANES] as usize + place % LANES
    }

    /// Puts an entry there, with its scaled rate unless all are 1; returns where the next of its line goes.
    #[inline]
    pub(super) fn put<const EVEN: bool>(&mut self, at: usize, other: u16, scaled: f64) -> usize {
        self.others[at] = other;
        if !EVEN {
            self.scaled[at] = scaled;
        }
        at + LANES
    }

    /// Puts an entry behind those of the line at a place.
    #[inline]
    pub(super) fn push<const EVEN: bool>(&mut self, place: u16, other: u16, scaled: f64) {
        let at = self.next[usize::from(place)] as usize;
        self.next[usize::from(place)] = self.put::<EVEN>(at, other, scaled) as u32;
    }

    /// The other lines of the entries of the line at a place, and none behind these.
    pub(super) fn others(&self, place: usize) -> impl Iterator<Item = u16> {
        let (slice, lane) = (place / LANES, place % LANES);
        let entries = self.starts[slice] as usize..self.starts[slice + 1] as usize;
        self.others[entries].as_chunks::<LANES>().0.iter().map(move |others| others[lane])
    }

    /// Divides each line by its sum; unless `BOTH`, only where that is above 1.
    pub(super) fn divide<const EVEN: bool, const BOTH: bool>(&mut self, across: &Lines) {
        self.divide_by::<EVEN>(across, |_, factor, sum| {
            let new = 1.0 / sum;
            if BOTH || new < factor { new } else { factor }
        });
    }

    /// Divides each line by its sum. Returns by how much the largest sum exceeds the smallest, as a share of that.
    pub(super) fn divide_and_compare<const EVEN: bool>(&mut self, across: &Lines) -> f64 {
        let (mut least, mut most) = ([f64::INFINITY; LANES], [0.0; LANES]);
        self.divide_by::<EVEN>(across, |lane, factor, sum| {
            let whole = sum * factor;
            least[lane] = if whole < least[lane] { whole } else { least[lane] };
            most[lane] = if whole > most[lane] { whole } else { most[lane] };
            1.0 / sum
        });
        let least = least.into_iter().fold(f64::INFINITY, f64::min);
        most.into_iter().fold(0.0, f64::max) / least - 1.0
    }

    /// Gives each line a new factor, by its lane, the present factor and the sum of its entries without it. Lanes behind the
    /// last line have no entries and an infinite factor: no comparison with their results holds.
    #[inline]
    fn divide_by<const EVEN: bool>(&mut self, across: &Lines, mut new: impl FnMut(usize, f64, f64) -> f64) {
        let (slices, _) = self.factors.as_chunks_mut::<LANES>();
        for (slice, factors) in slices.iter_mut().enumerate().take(self.starts.len() - 1) {
            let entries = self.starts[slice] as usize..self.starts[slice + 1] as usize;
            let (groups, _) = self.others[entries.clone()].as_chunks::<LANES>();
            let mut sums = [0.0; LANES];
            if EVEN {
                for others in groups {
                    for lane in 0..LANES {
                        sums[lane] += across.factors[usize::from(others[lane])];
                    }
                }
            } else {
                for (others, scaled) in groups.iter().zip(self.scaled[entries].as_chunks::<LANES>().0) {
                    for lane in 0..LANES {
                        sums[lane] += across.factors[usize::from(others[lane])] * scaled[lane];
                    }
                }
            }
            for lane in 0..LANES {
                factors[lane] = new(lane, factors[lane], sums[lane]);
            }
        }
    }
}
