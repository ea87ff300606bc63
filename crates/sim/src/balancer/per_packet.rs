//! Per-packet ECMP: each packet takes a uniformly random one of the equal next hops.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Settings;
use crate::ids::NodeId;
use crate::random::{Purpose, Stream};

/// Per-packet ECMP, also called packet spraying.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PerPacket {}

impl Settings for PerPacket {}

/// Each node draws from its own stream.
#[derive(Clone, Debug)]
pub struct Model {
    streams: Vec<Stream>,
}

impl Model {
    pub(super) fn new(nodes: usize, seed: u64, replica: u64) -> Model {
        let stream = |node| Stream::new(seed, replica, Purpose::Balancer, node as u64);
        Model { streams: (0..nodes).map(stream).collect() }
    }

    #[inline]
    pub(super) fn choose(&mut self, at: NodeId, _label: u32, count: u32) -> u32 {
        self.streams[at.index()].below(u64::from(count)) as u32
    }
}
