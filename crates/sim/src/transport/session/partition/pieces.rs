//! One range for each path, sent from front to back: shared part of "divide" and "proportional".

use std::ops::Range;

use super::cut;

/// The rest of each path's range.
#[derive(Clone, Debug, Default)]
pub struct Pieces {
    pub left: Vec<Range<u32>>,
}

impl Pieces {
    /// A block cut in proportion to the weights of the paths.
    pub fn cut(&mut self, block: Range<u32>, weights: &[f64]) {
        self.left.clear();
        self.left.extend(cut(block, weights));
    }

    /// The first segment of a path that is left.
    #[inline]
    pub fn peek(&self, path: usize) -> Option<u32> {
        let left = &self.left[path];
        (left.start < left.end).then_some(left.start)
    }
}
