//! The data that a subflow carries: what it has sent and, where subflows have send buffers, what waits in its own.

use std::collections::VecDeque;

use super::run::Run;
use crate::ids::ConnId;

/// The data that a subflow carries.
#[derive(Clone, Debug, Default)]
pub struct Mapping {
    /// Number of the first segment of the subflow that is not acknowledged.
    pub una: u32,
    /// The data in it and in those behind it, and the part of a flow that it belongs to.
    pub data: VecDeque<(u32, ConnId)>,
    /// Of these so many, the last ones, wait in the send buffer, and their bytes.
    waiting: usize,
    waiting_bytes: u64,
    /// Segments of the subflow before this one have been given to the others.
    pub given: u32,
    /// Where its piece of the flow has come to that is being sent, and whether its last segment began one.
    pub run: Run,
    pub begins: bool,
    /// The window's growth beyond whole bytes.
    pub fraction: f64,
}

impl Mapping {
    /// Starts over, with the memory of before.
    pub fn reset(&mut self) {
        let mut data = std::mem::take(&mut self.data);
        data.clear();
        *self = Mapping { data, ..Mapping::default() };
    }

    /// The segment handed over last, of so many bytes, waits in the send buffer.
    pub fn waits(&mut self, len: u64) {
        self.waiting += 1;
        self.waiting_bytes += len;
    }

    /// The data of the first segment that waits.
    #[inline]
    pub fn first_waiting(&self) -> Option<u32> {
        self.data.get(self.data.len() - self.waiting).map(|(number, _)| *number)
    }

    /// It is sent.
    pub fn goes(&mut self, len: u64) {
        self.waiting -= 1;
        self.waiting_bytes -= len;
    }

    /// Bytes that wait.
    #[inline]
    pub fn waiting_bytes(&self) -> u64 {
        self.waiting_bytes
    }

    /// Removes waiting data before that number, which has arrived by other subflows and need not be sent. `len` gives
    /// the bytes of a segment. Returns whether there was any.
    pub fn forget_before(&mut self, end: u32, len: impl Fn(u32) -> u64) -> bool {
        let (before, sent) = (self.waiting, self.data.len() - self.waiting);
        let given = self.given.saturating_sub(self.una) as usize;
        let mut place = 0;
        let Mapping { data, waiting, waiting_bytes, given: given_end, .. } = self;
        data.retain(|&(number, _)| {
            let goes = place >= sent && number < end;
            if goes {
                *waiting -= 1;
                *waiting_bytes -= len(number);
                *given_end -= u32::from(place < given);
            }
            place += 1;
            !goes
        });
        self.waiting < before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Segments of two sent and three waiting, of which the others have been given the first four: two of these are of a
    /// flow that is over, and leave. What has been sent stays until it is acknowledged.
    #[test]
    fn what_waits_of_a_flow_that_is_over_leaves() {
        let mut mapping = Mapping { una: 10, given: 14, ..Mapping::default() };
        mapping.data.extend((0..5).map(|number| (number, ConnId(0))));
        (0..3).for_each(|_| mapping.waits(1000));
        assert!(mapping.forget_before(4, |_| 1000));
        let left: Vec<u32> = mapping.data.iter().map(|(number, _)| *number).collect();
        assert_eq!((left, mapping.given), (vec![0, 1, 4], 12));
        assert_eq!((mapping.first_waiting(), mapping.waiting_bytes()), (Some(4), 1000));
        assert!(!mapping.forget_before(4, |_| 1000));
        mapping.goes(1000);
        assert_eq!((mapping.first_waiting(), mapping.waiting_bytes()), (None, 0));
    }
}
