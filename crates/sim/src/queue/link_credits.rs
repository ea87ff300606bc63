//! Credits for the buffer behind each link, as InfiniBand has them: a port sends a packet only if the next switch has room.
//!
//! Source: InfiniBand architecture specification, volume 1, section 7.9 (flow control). There the receiver of a link advertises how
//! many blocks of 64 B may come in all, and the sender compares that with the blocks that it has sent. Here the same account is
//! kept in bytes (`engine/network/credit.rs`): a window of bytes, spent when a packet's transmission begins, and given back by a
//! frame as its transmission by the next link begins. So a link carries at most
//!
//! ```text
//! min(C, W / (serialisation + delay there and back + frame)).
//! ```
//!
//! Nothing is dropped. Packets without payload need no credit and go first; all data has one virtual lane. Cut-through and further
//! lanes, with tables of weights, are not modelled.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::waiting::Waiting;
use super::{Build, Feature, Settings};
use crate::engine::contract::credit::{CLASSES, Credit, Credits, UNLIMITED, Word};
use crate::engine::contract::discipline::{Discipline, PortContext, Queued};
use crate::engine::contract::packet::flag;
use crate::ids::PacketId;
use crate::problem::Problem;
use crate::topology::Fabric;
use crate::units::Bytes;

/// Credit-based flow control on each link to a switch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LinkCredits {
    /// Bytes of the buffer at the switch behind a link: so many may be in flight to it and wait there.
    #[schemars(extend("x-minimum" = "64B", "x-maximum" = "1GB"))]
    pub window: Bytes,
    /// Bytes of a credit frame on the wire. InfiniBand's flow-control packets have 8.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1500B"))]
    pub frame_bytes: Bytes,
}

impl Default for LinkCredits {
    fn default() -> Self {
        LinkCredits { window: Bytes(65_536), frame_bytes: Bytes(8) }
    }
}

impl Settings for LinkCredits {
    fn offers(&self) -> &'static [Feature] {
        &[Feature::Lossless]
    }

    /// A departing packet gives credit, which is an act of its instant.
    fn acts_on_departure(&self) -> bool {
        true
    }

    fn port_bytes(&self) -> usize {
        size_of::<Model>() + size_of::<Credit>()
    }

    fn credits(&self, fabric: &Fabric, _sends: &[[bool; CLASSES]], longest_packet: u64) -> Credits {
        let window = self.window.0.max(longest_packet) as u32;
        let of = |to| if fabric.is_host(to) { UNLIMITED } else { window };
        let windows = fabric.links.iter().map(|link| [of(link.to); CLASSES]).collect();
        Credits::new(windows, longest_packet as u32, self.frame_bytes.0 as u32).with_one_account()
    }

    fn problems_with(
        &self,
        _fabric: &Fabric,
        _sends: &[[bool; CLASSES]],
        longest_packet: u64,
    ) -> Vec<Problem> {
        let why =
            format!("{} is below a packet of {longest_packet} B, which could never be sent", self.window);
        let problem = (self.window.0 < longest_packet).then(|| Problem::new("window", why));
        problem.into_iter().collect()
    }
}

impl Build for LinkCredits {
    type Model = Model;

    fn model(&self, _full_packet: u64) -> Model {
        Model::default()
    }

    /// It holds the host's own data and, if it relays, that of other hosts.
    fn at_host(&self, full_packet: u64) -> Option<Model> {
        Some(self.model(full_packet))
    }
}

/// The queues at one port.
#[derive(Clone, Debug, Default)]
pub struct Model {
    control: Waiting,
    data: Waiting,
}

/// The account of all data.
const ACCOUNT: usize = 0;

impl Discipline for Model {
    #[inline]
    fn enqueue(&mut self, id: PacketId, cx: &mut PortContext) {
        let packet = &cx.arena[id];
        let (size, control) = (packet.size, packet.has(flag::CONTROL));
        cx.keep(size);
        let queue = if control { &mut self.control } else { &mut self.data };
        queue.push(Queued { id, size });
    }

    /// A packet of data leaves: credit is spent on the next link, and owed to the head of the one that it came by.
    #[inline]
    fn dequeue(&mut self, cx: &mut PortContext) -> Option<Queued> {
        if let Some(packet) = self.control.pop() {
            return Some(packet);
        }
        if cx.port.paused != 0 {
            return None;
        }
        let packet = self.data.pop()?;
        cx.spend(ACCOUNT, packet.size);
        cx.release(packet.id, ACCOUNT, packet.size, Word::default());
        Some(packet)
    }

    #[inline]
    fn pass(&mut self, id: PacketId, cx: &mut PortContext) -> Option<Queued> {
        self.enqueue(id, cx);
        self.dequeue(cx)
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.control.is_empty() && self.data.is_empty()
    }

    fn resident(&self, found: &mut dyn FnMut(PacketId)) {
        [&self.control, &self.data].into_iter().flat_map(Waiting::iter).for_each(found);
    }
}
