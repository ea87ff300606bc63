//! REPS: values that have proved good are used once more, from a small ring; after a timeout only these.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Feedback, Select, Settings, uniform};
use crate::random::Stream;
use crate::units::Time;

/// Recycled values: the oldest that an answer has returned without a mark and that was not used since, or a random one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Reps {
    /// Values that are kept.
    #[schemars(range(min = 1, max = 1024))]
    pub buffer: u32,
    /// After a timeout the values of the buffer are used in turn for so long, whether they were used or not.
    #[schemars(extend("x-maximum" = "10s"))]
    pub freeze: Time,
    /// Packets with random values after that.
    #[schemars(range(max = 1_000_000))]
    pub explore: u32,
}

impl Default for Reps {
    fn default() -> Self {
        Reps { buffer: 8, freeze: Time::from_us(10_000), explore: 16 }
    }
}

impl Settings for Reps {}

/// The ring of one flow.
#[derive(Clone, Debug)]
pub struct Model {
    config: Reps,
    values: u16,
    stream: Stream,
    /// Values, each with whether it has not been used since it was written.
    ring: Vec<(u16, bool)>,
    /// Where the next one is written, and how many are there.
    head: usize,
    filled: usize,
    fresh: usize,
    /// When frozen: until when, and the next one to use.
    frozen: Option<(Time, usize)>,
    /// Packets left that explore.
    exploring: u32,
}

impl Model {
    pub(super) fn new(config: &Reps, values: u16, stream: Stream) -> Model {
        let ring = vec![(0, false); config.buffer as usize];
        let config = config.clone();
        Model { config, values, stream, ring, head: 0, filled: 0, fresh: 0, frozen: None, exploring: 0 }
    }

    /// Uses the value at that place.
    fn take(&mut self, place: usize) -> u16 {
        let (value, fresh) = &mut self.ring[place];
        self.fresh -= usize::from(std::mem::take(fresh));
        *value
    }
}

impl Select for Model {
    fn next(&mut self, _sent: u64, _window: u64) -> u16 {
        if self.exploring > 0 {
            self.exploring -= 1;
        } else if let Some((_, place)) = self.frozen.as_mut().filter(|_| self.filled > 0) {
            let used = *place;
            *place = (*place + 1) % self.filled;
            return self.take(used);
        } else if self.fresh > 0 && self.frozen.is_none() {
            let size = self.ring.len();
            return self.take((self.head + size - self.fresh) % size);
        }
        uniform(&mut self.stream, self.values)
    }

    fn feedback(&mut self, value: u16, feedback: Feedback, now: Time) {
        if feedback == Feedback::TimedOut && self.frozen.is_none() && self.exploring == 0 {
            self.frozen = Some((now.saturating_add(self.config.freeze), 0));
        }
        if self.frozen.is_some_and(|(until, _)| now > until) {
            self.frozen = None;
            self.ring.fill((0, false));
            (self.head, self.filled, self.fresh) = (0, 0, 0);
            self.exploring = self.config.explore;
        }
        if feedback == Feedback::Good {
            let size = self.ring.len();
            self.fresh += usize::from(!self.ring[self.head].1);
            self.ring[self.head] = (value, true);
            self.head = (self.head + 1) % size;
            self.filled = (self.filled + 1).min(size);
        }
    }
}
