//! Which parts of a run are in which lane, and how a run in several parts went.

/// Windows between two decisions which part goes into which lane.
const KEPT_WINDOWS: u32 = 64;

/// The lane of each part. Parts stay in their lanes for a while, in the cache of one processor; then each goes, the one
/// with most events first, into the lane that has fewest.
#[derive(Debug)]
pub struct Lanes {
    /// By part.
    pub of: Vec<usize>,
    count: usize,
    /// Windows until the next decision.
    windows: u32,
    /// By part, its events at the last decision, and at the last window.
    decided: Vec<u64>,
    seen: Vec<u64>,
}

impl Lanes {
    /// All parts in one lane.
    pub fn new(parts: usize) -> Lanes {
        Lanes { of: vec![0; parts], count: 1, windows: 0, decided: vec![0; parts], seen: vec![0; parts] }
    }

    /// Decides anew if it is time to: `events` has those of each part so far.
    pub fn share_out(&mut self, events: impl Iterator<Item = u64>, count: usize) {
        if self.windows > 0 && self.count == count {
            self.windows -= 1;
            return;
        }
        (self.count, self.windows) = (count, KEPT_WINDOWS);
        let now: Vec<u64> = events.collect();
        let load: Vec<u64> = now.iter().zip(&self.decided).map(|(now, before)| now - before).collect();
        let mut order: Vec<usize> = (0..load.len()).collect();
        order.sort_by_key(|&part| std::cmp::Reverse(load[part]));
        let mut lanes = vec![(0, 0); count];
        for part in order {
            // Among equals the one with fewer parts: at first no part has a load.
            let lane = (0..count).min_by_key(|&lane| lanes[lane]).expect("a lane");
            lanes[lane] = (lanes[lane].0 + load[part], lanes[lane].1 + 1);
            self.of[part] = lane;
        }
        self.decided = now;
    }

    /// Events of all parts at the last window.
    pub fn events(&self) -> u64 {
        self.seen.iter().sum()
    }

    /// Events since the last call of the lane that had most; `events` has those of each part so far.
    pub fn longest(&mut self, events: impl Iterator<Item = u64>) -> u64 {
        let mut lanes = vec![0; self.count];
        for (part, now) in events.enumerate() {
            lanes[self.of[part]] += now - self.seen[part];
            self.seen[part] = now;
        }
        lanes.into_iter().max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Loads 8, 5, 4, 3 in two lanes: 8 and 3, 5 and 4 would be 11 and 9; the greedy rule finds 8 + 3 and 5 + 4.
    #[test]
    fn the_heaviest_part_goes_first_into_the_emptiest_lane() {
        let mut lanes = Lanes::new(4);
        lanes.share_out([0, 0, 0, 0].into_iter(), 2);
        assert_eq!(lanes.of, [0, 1, 0, 1], "without a load they are dealt out");
        for _ in 0..KEPT_WINDOWS {
            lanes.share_out([8, 5, 4, 3].into_iter(), 2);
            assert_eq!(lanes.of, [0, 1, 0, 1]);
        }
        lanes.share_out([8, 5, 4, 3].into_iter(), 2);
        assert_eq!(lanes.of, [0, 1, 1, 0]);
        assert_eq!(lanes.longest([8, 5, 4, 3].into_iter()), 11);
        assert_eq!(lanes.longest([8, 5, 4, 5].into_iter()), 2);
    }
}
