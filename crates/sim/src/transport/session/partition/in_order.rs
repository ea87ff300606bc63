//! Each path takes the next segment in order, whenever it may send, like Multipath TCP with the data of one
//! window.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Path, Settings, Split};

/// Each path takes the next segment in order, whenever it may send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct InOrder {}

impl Settings for InOrder {}

/// The rest of the block.
#[derive(Clone, Debug)]
pub struct Model {
    left: Range<u32>,
}

impl Model {
    pub(super) fn new(_config: &InOrder) -> Model {
        Model { left: 0..0 }
    }
}

impl Split for Model {
    fn begin(&mut self, block: Range<u32>, _paths: &[Path]) {
        self.left = block;
    }

    #[inline]
    fn peek(&self, _path: usize) -> Option<u32> {
        (self.left.start < self.left.end).then_some(self.left.start)
    }

    #[inline]
    fn take(&mut self, _path: usize, _paths: &[Path]) -> Option<u32> {
        self.left.next()
    }
}
