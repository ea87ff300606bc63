//! Edge colouring of a bipartite multigraph: which middle switch of a Clos network carries which packet of a slot.
//!
//! A packet is an edge from its source's leaf to its destination's leaf, a colour is a middle switch: no two packets of
//! one colour leave the same leaf or reach the same leaf. As many colours suffice as the largest degree of a leaf
//! (Koenig, "Ueber Graphen und ihre Anwendung auf Determinantentheorie und Mengenlehre", Mathematische Annalen 1916).
//! The method is that of Paull, "Reswitching of connection networks", Bell System Technical Journal 1962, as in Hui,
//! "Switching and traffic theory for integrated broadband networks", 1990: edges come one by one; an edge takes a
//! colour that is free at both of its ends, and where there is none, a chain of edges swaps two colours to make one.

/// Colours the packets of slot after slot. Its tables are kept, so that a slot allocates nothing once warm.
#[derive(Clone, Debug)]
pub struct Colouring {
    leaves: usize,
    colours: usize,
    /// Words of a leaf's mask.
    words: usize,
    /// For each left leaf and then each right leaf, a bit for each colour that none of its edges has.
    free: Vec<u64>,
    /// For each left leaf and then each right leaf, the edge of each colour. At a free colour it has no meaning.
    edges: Vec<u32>,
    /// The colour at which the search for the next edge's colour begins.
    first: usize,
    /// The edges that swap two colours.
    chain: Vec<u32>,
}

impl Colouring {
    /// For so many leaves on each side, and at least one colour.
    pub fn new(leaves: usize, colours: usize) -> Colouring {
        let words = colours.div_ceil(64);
        let (free, edges) = (vec![0; 2 * leaves * words], vec![0; 2 * leaves * colours]);
        Colouring { leaves, colours, words, free, edges, first: 0, chain: Vec::new() }
    }

    /// Gives each edge, a left and a right leaf, a colour; no leaf may have more edges than there are colours.
    ///
    /// Where an edge has a choice, it takes the first colour behind that of the edge before it, from slot to slot. The
    /// sources leave this open. A search that always began at colour 0 would load the first spines of a network that
    /// is not full, and leave the last ones idle; by turns, all carry the same.
    pub fn colour(&mut self, edges: &[(u32, u32)], colours: &mut Vec<u32>) {
        for masks in self.free.chunks_exact_mut(self.words) {
            masks.fill(u64::MAX);
            masks[self.words - 1] = u64::MAX >> (self.words * 64 - self.colours);
        }
        colours.clear();
        for number in 0..edges.len() {
            let ends = self.ends(edges, number as u32);
            let colour = self.free_at_both(ends).unwrap_or_else(|| self.make_free(ends, edges, colours));
            self.take(number as u32, ends, colour);
            colours.push(colour as u32);
            self.first = if colour + 1 == self.colours { 0 } else { colour + 1 };
        }
    }

    /// The leaves of an edge: right ones are numbered behind left ones.
    fn ends(&self, edges: &[(u32, u32)], number: u32) -> [usize; 2] {
        let (left, right) = edges[number as usize];
        [left as usize, self.leaves + right as usize]
    }

    /// The first colour, from `first` on and then from 0, that is free at both ends.
    fn free_at_both(&self, ends: [usize; 2]) -> Option<usize> {
        let [left, right] = ends.map(|leaf| &self.free[leaf * self.words..][..self.words]);
        let (start, behind) = (self.first / 64, u64::MAX << (self.first % 64));
        let lowest = |word: usize, mask: u64| {
            let both = left[word] & right[word] & mask;
            (both != 0).then(|| word * 64 + both.trailing_zeros() as usize)
        };
        // The first word comes once more at the end, for its colours before `first`.
        lowest(start, behind)
            .or_else(|| (start + 1..self.words).chain(0..=start).find_map(|word| lowest(word, u64::MAX)))
    }

    /// Makes a colour free at both ends. Of the colours a, free at the left end, and b, free at the right end, the chain
    /// of edges that begins at the right end with colours a, b, a and so on swaps the two. It comes to left leaves by
    /// edges of colour a, so never to the left end, where a stays free.
    #[cold]
    fn make_free(&mut self, ends: [usize; 2], edges: &[(u32, u32)], colours: &mut [u32]) -> usize {
        let [a, b] = ends.map(|leaf| self.lowest_free(leaf));
        let mut chain = std::mem::take(&mut self.chain);
        chain.clear();
        let (mut leaf, mut colour) = (ends[1], a);
        while !self.is_free(leaf, colour) {
            let number = self.edges[leaf * self.colours + colour];
            chain.push(number);
            let [left, right] = self.ends(edges, number);
            leaf = if leaf == left { right } else { left };
            colour = if colour == a { b } else { a };
        }
        for &number in &chain {
            let colour = colours[number as usize] as usize;
            for leaf in self.ends(edges, number) {
                self.free[leaf * self.words + colour / 64] |= 1 << (colour % 64);
            }
        }
        for &number in &chain {
            let colour = if colours[number as usize] as usize == a { b } else { a };
            colours[number as usize] = colour as u32;
            self.take(number, self.ends(edges, number), colour);
        }
        self.chain = chain;
        a
    }

    fn lowest_free(&self, leaf: usize) -> usize {
        let masks = &self.free[leaf * self.words..][..self.words];
        let word = masks.iter().position(|&mask| mask != 0);
        let word = word.expect("a leaf has no more edges than there are colours");
        word * 64 + masks[word].trailing_zeros() as usize
    }

    fn is_free(&self, leaf: usize, colour: usize) -> bool {
        self.free[leaf * self.words + colour / 64] >> (colour % 64) & 1 == 1
    }

    fn take(&mut self, number: u32, ends: [usize; 2], colour: usize) {
        for leaf in ends {
            self.free[leaf * self.words + colour / 64] &= !(1 << (colour % 64));
            self.edges[leaf * self.colours + colour] = number;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};

    type Edges = Vec<(u32, u32)>;

    fn degree(edges: &[(u32, u32)]) -> usize {
        let count = |leaf: u32, end: fn(&(u32, u32)) -> u32| edges.iter().filter(|&e| end(e) == leaf).count();
        edges.iter().map(|&(left, right)| count(left, |e| e.0).max(count(right, |e| e.1))).max().unwrap_or(0)
    }

    /// Whether each edge has one of the colours, and no leaf has two edges of one colour.
    fn is_proper(edges: &[(u32, u32)], colours: &[u32], count: usize) -> bool {
        let clash = |(one, other): (usize, usize)| {
            colours[one] == colours[other]
                && (edges[one].0 == edges[other].0 || edges[one].1 == edges[other].1)
        };
        let mut pairs = (0..edges.len()).flat_map(|one| (0..one).map(move |other| (one, other)));
        colours.len() == edges.len()
            && colours.iter().all(|&colour| (colour as usize) < count)
            && !pairs.any(clash)
    }

    /// Whether so many colours can do it, by trying all.
    fn brute_force(edges: &[(u32, u32)], colours: &mut Vec<u32>, count: usize) -> bool {
        if colours.len() == edges.len() {
            return true;
        }
        (0..count as u32).any(|colour| {
            colours.push(colour);
            let found =
                is_proper(&edges[..colours.len()], colours, count) && brute_force(edges, colours, count);
            if !found {
                colours.pop();
            }
            found
        })
    }

    fn random_edges(stream: &mut Stream, leaves: u64, count: u64) -> Edges {
        (0..count).map(|_| (stream.below(leaves) as u32, stream.below(leaves) as u32)).collect()
    }

    #[test]
    fn the_fewest_colours_of_small_graphs_are_found() {
        let mut stream = Stream::new(1, 0, Purpose::Ties, 0);
        for case in 0..1_000 {
            let leaves = 1 + case % 4;
            let count = stream.below(8);
            let edges = random_edges(&mut stream, leaves, count);
            let fewest = (0..).find(|&count| brute_force(&edges, &mut Vec::new(), count)).expect("a number");
            assert_eq!(fewest, degree(&edges), "Koenig's theorem: {edges:?}");
            let mut colours = Vec::new();
            Colouring::new(leaves as usize, fewest.max(1)).colour(&edges, &mut colours);
            assert!(is_proper(&edges, &colours, fewest), "{edges:?}: {colours:?}");
        }
    }

    #[test]
    fn full_leaves_are_coloured_in_each_slot() {
        let mut stream = Stream::new(2, 0, Purpose::Ties, 0);
        // Leaves, edges of a leaf, slots: both sides full, so that no colour of any leaf is left; masks of 1, 2, 17 words.
        for (leaves, degree, slots) in [(4, 30, 50), (3, 64, 20), (12, 100, 5), (2, 1_025, 1)] {
            let mut colouring = Colouring::new(leaves, degree);
            let mut colours = Vec::new();
            for _ in 0..slots {
                let mut to: Vec<usize> = (0..leaves * degree).collect();
                stream.shuffle(&mut to);
                let pair = |(from, to): (usize, usize)| ((from / degree) as u32, (to / degree) as u32);
                let edges: Edges = to.into_iter().enumerate().map(pair).collect();
                colouring.colour(&edges, &mut colours);
                assert!(is_proper(&edges, &colours, degree), "{leaves} x {degree}");
            }
        }
    }

    #[test]
    fn parts_of_a_matching_need_no_more() {
        let mut stream = Stream::new(3, 0, Purpose::Ties, 0);
        let (leaves, hosts) = (5, 7);
        let mut colouring = Colouring::new(leaves, hosts);
        let mut colours = Vec::new();
        for _ in 0..500 {
            let mut to: Vec<usize> = (0..leaves * hosts).collect();
            stream.shuffle(&mut to);
            let sent = stream.below(to.len() as u64 + 1) as usize;
            let pair = |(from, to): (usize, &usize)| ((from / hosts) as u32, (to / hosts) as u32);
            let edges: Edges = to.iter().enumerate().map(pair).take(sent).collect();
            colouring.colour(&edges, &mut colours);
            assert!(is_proper(&edges, &colours, hosts));
        }
    }

    #[test]
    fn colours_are_used_by_turns() {
        let mut colouring = Colouring::new(2, 70);
        let mut used = [0; 70];
        let mut colours = Vec::new();
        for _ in 0..70 {
            colouring.colour(&[(0, 1), (1, 0), (0, 0)], &mut colours);
            colours.iter().for_each(|&colour| used[colour as usize] += 1);
        }
        assert_eq!(used, [3; 70]);
    }
}
