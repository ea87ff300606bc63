//! Per-packet ECMP: each packet takes a uniformly random one of the equal next hops.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Settings;
use crate::engine::contract::path::{Hop, Stateless};
use crate::random::{Purpose, Stream, share};
use crate::topology::Fabric;

/// Per-packet ECMP, also called packet spraying.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PerPacket {}

impl Settings for PerPacket {
    fn spreads(&self) -> bool {
        true
    }
}

/// Each hop of each packet has its own draw of one stream: in which order hops come makes no difference.
#[derive(Clone, Debug)]
pub struct Model {
    stream: Stream,
}

impl Model {
    pub(super) fn new(_config: &PerPacket, _fabric: &Fabric, seed: u64, replica: u64) -> Model {
        Model { stream: Stream::new(seed, replica, Purpose::Balancer, 0) }
    }
}

impl Stateless for Model {
    #[inline]
    fn pick(&self, hop: Hop) -> u32 {
        share(self.stream.bits_at(hop.ticket), hop.count())
    }
}
