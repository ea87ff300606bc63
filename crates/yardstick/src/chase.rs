//! The latency of memory, to compare figures from different machines by.
//!
//! A walk through [`BYTES`] of memory, one cache line a step, in a fixed random order that visits every line
//! once: each step has to wait for the one before. A simulation of a large fabric has just this limit, with
//! as many walks at a time as the engine manages to keep apart.
//!
//! Frozen, as the floor is: a change here makes old and new figures incomparable.

use flowyard_sim::random::{Purpose, Stream};

/// Memory that is walked through: more than the caches of most processors.
pub const BYTES: usize = 64 << 20;

/// A cycle through memory.
pub struct Chase {
    lines: Vec<Line>,
    at: u32,
}

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line {
    next: u32,
}

impl Chase {
    /// A cycle through so many bytes, the same one every time.
    pub fn new(bytes: usize) -> Chase {
        let count = (bytes / size_of::<Line>()) as u32;
        let mut lines: Vec<Line> = (0..count).map(|next| Line { next }).collect();
        let mut chance = Stream::new(1, 0, Purpose::Ties, 0);
        // Sattolo: a shuffle in which nothing stays at its place leaves a single cycle.
        for last in (1..count).rev() {
            lines.swap(last as usize, chance.below(last.into()) as usize);
        }
        Chase { lines, at: 0 }
    }

    /// Takes so many steps, and says where that leads.
    pub fn run(&mut self, steps: u64) -> u32 {
        for _ in 0..steps {
            self.at = self.lines[self.at as usize].next;
        }
        self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_on_the_one_cycle() {
        let count = 1000;
        let mut chase = Chase::new(count * size_of::<Line>());
        let mut places: Vec<u32> = (0..count).map(|_| chase.run(1)).collect();
        assert_eq!(places.last(), Some(&0));
        places.sort_unstable();
        assert!(places.iter().copied().eq(0..count as u32));
    }
}
