//! Credits for the buffer behind each link, as InfiniBand has them: a port sends a packet only if the next switch has room.
//!
//! Source: InfiniBand architecture specification, volume 1, section 7.9 (flow control). There the receiver of a link advertises for
//! each virtual lane how many blocks of 64 B may come in all, and the sender compares that with the blocks that it has sent. Here
//! the same account is kept in bytes (`engine/network/credit.rs`): a window of bytes for each lane, spent when a packet's transmission
//! begins, and given back by a frame as its transmission by the next link begins. So a link carries at most
//!
//! ```text
//! min(C, W / (serialisation + delay there and back + frame)).
//! ```
//!
//! Nothing is dropped. There are two lanes, packets of class 0 and all others, which take turns at a port; packets without payload need no
//! credit and go first. Cut-through, and tables of weights for lanes, are not modelled.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::waiting::Waiting;
use super::{Build, Feature, Settings};
use crate::engine::contract::credit::{CLASSES, Credit, Credits, UNLIMITED, Word, class_of};
use crate::engine::contract::discipline::{Discipline, PortContext, Queued};
use crate::engine::contract::packet::flag;
use crate::ids::PacketId;
use crate::problem::Problem;
use crate::topology::Fabric;
use crate::units::Bytes;

/// Credit-based flow control on each link to a switch, with two virtual lanes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LinkCredits {
    /// Bytes of a lane's buffer at the switch behind a link: that many may be under way to it and wait there.
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
        &[Feature::Lossless, Feature::Classes]
    }

    fn classes(&self) -> u32 {
        CLASSES as u32
    }

    /// A departing packet gives credit, which is an act of its instant.
    fn acts_on_departure(&self) -> bool {
        true
    }

    fn port_bytes(&self) -> usize {
        size_of::<State>() + size_of::<Credit>()
    }

    fn credits(&self, fabric: &Fabric, _sends: &[[bool; CLASSES]], longest_packet: u64) -> Credits {
        let window = self.window.0.max(longest_packet) as u32;
        let of = |to| if fabric.is_host(to) { UNLIMITED } else { window };
        let windows = fabric.links.iter().map(|link| [of(link.to); CLASSES]).collect();
        Credits::new(windows, longest_packet as u32, self.frame_bytes.0 as u32)
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
        Model(Box::default())
    }

    /// It holds the host's own data and, if it relays, that of other hosts.
    fn at_host(&self, full_packet: u64) -> Option<Model> {
        Some(self.model(full_packet))
    }
}

/// The queues at one port.
#[derive(Clone, Debug)]
pub struct Model(Box<State>);

#[derive(Clone, Debug, Default)]
struct State {
    control: Waiting,
    lanes: [Waiting; CLASSES],
    /// The lane that has its turn, if both may send.
    turn: usize,
}

impl State {
    /// The lane that sends next, if one has a packet and credit.
    #[inline]
    fn next_lane(&self, paused: u8) -> Option<usize> {
        let may = |lane: &usize| paused & 1 << lane == 0 && !self.lanes[*lane].is_empty();
        [self.turn, 1 - self.turn].into_iter().find(may)
    }

    /// A packet of data leaves: credit is spent on the next link, and owed to the head of the one that it came by.
    #[inline]
    fn leave(&mut self, packet: Queued, lane: usize, cx: &mut PortContext) {
        self.turn = 1 - lane;
        cx.spend(lane, packet.size);
        cx.release(packet.id, lane, packet.size, Word::default());
    }
}

impl Discipline for Model {
    #[inline]
    fn enqueue(&mut self, id: PacketId, cx: &mut PortContext) {
        let packet = &cx.arena[id];
        let (size, lane, control) = (packet.size, class_of(packet.header.class), packet.has(flag::CONTROL));
        cx.keep(size);
        let queue = if control { &mut self.0.control } else { &mut self.0.lanes[lane] };
        queue.push(Queued { id, size });
    }

    #[inline]
    fn dequeue(&mut self, cx: &mut PortContext) -> Option<Queued> {
        let state = &mut *self.0;
        if let Some(packet) = state.control.pop() {
            return Some(packet);
        }
        let lane = state.next_lane(cx.port.paused)?;
        let packet = state.lanes[lane].pop()?;
        state.leave(packet, lane, cx);
        Some(packet)
    }

    #[inline]
    fn pass(&mut self, id: PacketId, cx: &mut PortContext) -> Option<Queued> {
        self.enqueue(id, cx);
        self.dequeue(cx)
    }

    fn ahead(&self, class: u8) -> Option<u64> {
        Some(self.0.control.bytes() + self.0.lanes[class_of(class)].bytes())
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.0.control.is_empty() && self.0.lanes.iter().all(Waiting::is_empty)
    }

    fn resident(&self, found: &mut dyn FnMut(PacketId)) {
        [&self.0.control].into_iter().chain(&self.0.lanes).flat_map(Waiting::iter).for_each(found);
    }
}
