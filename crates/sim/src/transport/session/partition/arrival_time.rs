//! Arrival-time matching: a slower path takes data that lies so far ahead that it arrives in order.
//!
//! Source: Hasegawa et al., "Improved data distribution for multipath TCP communication", GLOBECOM 2005: a segment goes to the
//! path by which it arrives first, by running estimates of delays. While a segment is on a path with the delay d, a path
//! with the smaller delay e sends r (d - e) segments at its rate r: that many segments, of all faster paths together, are
//! left to these. At the end of a block, where fewer are left than that, the slow path takes the last one.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Path, Settings, Split};

/// A path takes the segment that will be next in order when it arrives, by estimates of rates and delays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ArrivalTime {}

impl Settings for ArrivalTime {}

/// The data not yet taken, and how far ahead each path takes from it.
#[derive(Clone, Debug)]
pub struct Model {
    /// In order, none of them empty.
    left: Vec<Range<u32>>,
    segments: u32,
    ahead: Vec<u32>,
}

impl Model {
    pub(super) fn new(_config: &ArrivalTime) -> Model {
        Model { left: Vec::new(), segments: 0, ahead: Vec::new() }
    }

    /// The range from which a path takes, and the segment.
    #[inline]
    fn next(&self, path: usize) -> Option<(usize, u32)> {
        let mut ahead = self.ahead[path].min(self.segments.checked_sub(1)?);
        for (place, range) in self.left.iter().enumerate() {
            let len = range.end - range.start;
            if ahead < len {
                return Some((place, range.start + ahead));
            }
            ahead -= len;
        }
        None
    }
}

/// Segments that faster paths send while one is on this path.
fn ahead(path: usize, paths: &[Path]) -> u32 {
    let own = paths[path].delay;
    paths.iter().map(|other| other.rate * (own - other.delay).max(0.0)).sum::<f64>() as u32
}

impl Split for Model {
    fn begin(&mut self, block: Range<u32>, paths: &[Path]) {
        self.segments = block.end - block.start;
        self.left.clear();
        self.left.push(block);
        self.ahead.clear();
        self.ahead.extend((0..paths.len()).map(|path| ahead(path, paths)));
    }

    #[inline]
    fn peek(&self, path: usize) -> Option<u32> {
        self.next(path).map(|(_, number)| number)
    }

    fn take(&mut self, path: usize, paths: &[Path]) -> Option<u32> {
        let (place, number) = self.next(path)?;
        self.segments -= 1;
        let range = self.left[place].clone();
        let (before, behind) = (range.start..number, number + 1..range.end);
        match (before.start == before.end, behind.start == behind.end) {
            (true, true) => drop(self.left.remove(place)),
            (true, false) => self.left[place] = behind,
            (false, true) => self.left[place] = before,
            (false, false) => {
                self.left[place] = before;
                self.left.insert(place + 1, behind);
            }
        }
        self.ahead[path] = ahead(path, paths);
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{named, sent};
    use super::*;

    /// Two paths of 100 segments a second with delays of 10 and 110 ms: the slow one takes the segment ten further on, which
    /// arrives when the others before it have.
    #[test]
    fn data_of_a_slow_path_lies_ahead() {
        let paths = [0.01, 0.11].map(|delay| Path { rate: 100.0, delay });
        let (taken, _) = sent(&named("arrival-time"), 0..200, 2, |_, _| 0.01, &paths);
        // Arrival: the time of its turn and the delay.
        let mut turns = [0.0; 2];
        let mut arrivals: Vec<(f64, u32)> = Vec::new();
        for (path, number) in taken {
            arrivals.push((turns[path] + paths[path].delay, number));
            turns[path] += 0.01;
        }
        arrivals.sort_by(|a, b| a.0.total_cmp(&b.0));
        // In the middle of the block each segment arrives at most two places from where it would be in order.
        for (place, &(_, number)) in arrivals.iter().enumerate().skip(20).take(150) {
            assert!((place as i64 - i64::from(number)).abs() <= 2, "{number} is number {place} to arrive");
        }
    }

    /// By hand, exact in binary: 128 segments a second each, delays of 1/4, 1/2 and 3/4 s. While one is on the second path the
    /// first sends 128 / 4; on the third, the first sends 128 / 2 and the second 128 / 4. Slower paths take nothing off.
    #[test]
    fn faster_paths_send_meanwhile() {
        let paths = [0.25, 0.5, 0.75].map(|delay| Path { rate: 128.0, delay });
        assert_eq!([0, 1, 2].map(|path| ahead(path, &paths)), [0, 32, 96]);
        let mut model = Model::new(&ArrivalTime {});
        model.begin(0..200, &paths);
        assert_eq!([0, 1, 2].map(|path| model.peek(path)), [Some(0), Some(32), Some(96)]);
        assert_eq!(model.take(2, &paths), Some(96));
        assert_eq!([0, 1, 2].map(|path| model.peek(path)), [Some(0), Some(32), Some(97)]);
        // At the end of a block a slow path takes the last one.
        model.begin(0..50, &paths);
        assert_eq!(model.peek(2), Some(49));
    }
}
