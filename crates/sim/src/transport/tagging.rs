//! Tagging: the class of traffic that a sender gives to each packet, for ports that serve classes apart.
//!
//! Multi-level feedback as in PIAS (Bai et al., "Information-Agnostic Flow Scheduling for Commodity Data
//! Centers", NSDI 2015): a flow begins in class 0, which goes first, and sinks by one with every threshold of
//! bytes that it has sent, so that short flows go before long ones although no size is known beforehand.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::problem::Problem;
use crate::units::Bytes;

/// PIAS: packets sink from class to class with the bytes that their flow has sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Tagging {
    /// Bytes of a flow after which its packets belong to the next class, in rising order. The default is the authors'
    /// for web search at load 0.8.
    #[schemars(length(min = 1, max = 7))]
    pub thresholds: Vec<Bytes>,
    /// Which of a packet's bytes decides: its class is the number of thresholds before this byte.
    pub by: TagBy,
    /// The class of retransmissions.
    pub repeats: TagRepeats,
}

/// Which of a packet's bytes decides its class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TagBy {
    /// The first one: the bytes sent before the packet count (PIAS-NS2).
    First,
    /// The last one: the packet itself counts, too (the authors' kernel module).
    Last,
}

/// The class of retransmissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TagRepeats {
    /// The one in which it was sent first (PIAS-NS2).
    AsBefore,
    /// The flow's current class, by all bytes sent (the authors' kernel module).
    AsNewest,
}

impl Default for Tagging {
    fn default() -> Self {
        let full_segments = [909, 1329, 1648, 1960, 2143, 2337, 2484];
        Tagging {
            thresholds: full_segments.map(|count| Bytes(count * 1460)).into(),
            by: TagBy::First,
            repeats: TagRepeats::AsBefore,
        }
    }
}

impl Tagging {
    /// The class of `len` bytes of which so many come before them in their flow. For a retransmission, `sent`
    /// is the number of bytes sent of the flow by then.
    #[inline]
    pub fn class(&self, before: u64, len: u32, sent: Option<u64>) -> u8 {
        let (start, end) = match (self.repeats, sent) {
            (TagRepeats::AsNewest, Some(sent)) => (sent, sent),
            _ => (before, before + u64::from(len)),
        };
        let place = match self.by {
            TagBy::First => start,
            TagBy::Last => end - 1,
        };
        self.thresholds.iter().filter(|threshold| threshold.0 <= place).count() as u8
    }

    /// Problems beyond those of the schema, below the field that has them.
    pub fn problems(&self) -> Vec<Problem> {
        let before = std::iter::once(&Bytes(0)).chain(&self.thresholds);
        let pairs =
            before.zip(&self.thresholds).enumerate().filter(|(_, (before, threshold))| threshold <= before);
        let problem = |(index, (before, threshold)): (usize, (&Bytes, &Bytes))| {
            let why = format!("{threshold} must be above {before}: thresholds rise");
            Problem::new(format!("thresholds.{index}"), why)
        };
        pairs.map(problem).collect()
    }
}
