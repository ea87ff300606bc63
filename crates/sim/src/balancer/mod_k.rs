//! Mod-k routing: on the way up, the digits of a host's number choose the ports.
//!
//! Source: d-mod-k (Zahavi et al., "Optimized InfiniBand fat-tree routing for shift all-to-all communication patterns",
//! Concurrency and Computation 2010) and s-mod-k, as section 2.3 of Song's thesis (Iowa, 2017) describes them. On the first
//! climb the last digit of the host's label chooses, on the second the one before it, and so on. Multiple LIDs: Lin, Chung and
//! Huang, "A multiple LID routing scheme for fat-tree-based InfiniBand networks", IPDPS 2004.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Settings;
use super::assigned::{Answers, Assign, Way};
use crate::ids::LinkId;
use crate::topology::Fabric;

/// One path for each pair of hosts: a number, of the destination, the source or a path, chooses the ports upwards.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ModK {
    /// The number that chooses.
    pub by: By,
    /// The path of acknowledgements and other answers.
    pub answers: Answers,
}

/// The number that chooses the path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// The destination: d-mod-k. All traffic to a host comes down by one path.
    #[default]
    Destination,
    /// The source: s-mod-k.
    Source,
    /// The number of a path, as InfiniBand's multiple local identifiers (LIDs) give it: a destination has one LID for each path to
    /// it, and a source takes the LID of its own place, so that sources differ; each further subflow takes the next LID.
    Lid,
}

impl Settings for ModK {
    fn one_path(&self) -> bool {
        true
    }

    fn answers_backwards(&self) -> bool {
        self.answers == Answers::Backwards
    }

    fn climbs(&self) -> bool {
        true
    }
}

/// The host whose number chooses.
#[derive(Clone, Debug)]
pub struct Scheme {
    by: By,
}

impl Scheme {
    pub(super) fn new(config: &ModK, _fabric: &Fabric, _seed: u64, _replica: u64) -> Scheme {
        Scheme { by: config.by }
    }
}

impl Assign for Scheme {
    fn assign(&self, way: Way, path: &mut Vec<LinkId>) -> Option<u32> {
        let mut digits = match self.by {
            By::Destination => way.to.index(),
            By::Source => way.from.index(),
            By::Lid => way.from.index() + usize::from(way.subflow),
        };
        let choose = |_, count| {
            let digit = digits % count;
            digits /= count;
            digit
        };
        let number = if self.by == By::Lid { u32::from(way.subflow) } else { 0 };
        way.walk(path, choose).then_some(number)
    }
}
