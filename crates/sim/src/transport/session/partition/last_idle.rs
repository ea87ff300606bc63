//! A path that has nothing left takes the next small chunk of the block.
//!
//! Source: Rodriguez and Biersack, "Dynamic parallel access to replicated content in the Internet", IEEE/ACM ToN 2002:
//! dynamic parallel access. The smaller the chunks, the closer together the paths end, and the more the receiver jumps.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Path, Settings, Split};

/// An idle path takes the next chunk of the block.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LastIdle {
    /// Segments of a chunk. The thesis that compares the scheme names none; 16 are some 23 KB.
    #[schemars(range(min = 1))]
    pub chunk: u32,
}

impl Default for LastIdle {
    fn default() -> Self {
        LastIdle { chunk: 16 }
    }
}

impl Settings for LastIdle {}

/// The chunks of a sender's paths.
#[derive(Clone, Debug)]
pub struct Model {
    chunk: u32,
    /// The rest of the block, of which no path has taken a chunk.
    rest: Range<u32>,
    /// By path, the rest of its chunk.
    chunks: Vec<Range<u32>>,
}

impl Model {
    pub(super) fn new(config: &LastIdle) -> Model {
        Model { chunk: config.chunk, rest: 0..0, chunks: Vec::new() }
    }
}

impl Split for Model {
    fn begin(&mut self, block: Range<u32>, paths: &[Path]) {
        self.rest = block;
        self.chunks.clear();
        self.chunks.resize(paths.len(), 0..0);
    }

    #[inline]
    fn peek(&self, path: usize) -> Option<u32> {
        let own = &self.chunks[path];
        let from = if own.start < own.end { own } else { &self.rest };
        (from.start < from.end).then_some(from.start)
    }

    #[inline]
    fn take(&mut self, path: usize, _paths: &[Path]) -> Option<u32> {
        let own = &mut self.chunks[path];
        if own.start == own.end {
            let end = self.rest.start.saturating_add(self.chunk).min(self.rest.end);
            *own = std::mem::replace(&mut self.rest.start, end)..end;
        }
        own.next()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Partition;
    use super::super::tests::{sent, switches};
    use super::*;

    /// Equal paths take the chunks in turn: every one but the first of each path is a jump. They end within a chunk.
    #[test]
    fn each_chunk_is_a_jump() {
        let partition = Partition::from(LastIdle { chunk: 10 });
        let (taken, finish) = sent(&partition, 0..200, 2, |_, _| 1.0, &[Path::default(); 2]);
        assert_eq!(switches(&taken, 2), 20 - 2);
        assert!((finish - 100.0).abs() < 1e-6);
        let slow = |path: usize, _: u32| if path == 0 { 1.0 } else { 3.0 };
        let (_, finish) = sent(&partition, 0..200, 2, slow, &[Path::default(); 2]);
        assert!(finish - 150.0 <= 30.0, "{finish}");
    }
}
