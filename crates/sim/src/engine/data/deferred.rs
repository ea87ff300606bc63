//! Work that an event leaves to be done before the next one. Most events leave little, so one test covers all
//! of it.

use super::boundary::{Leaving, Outboxes};
use super::points::Watch;
use crate::ids::{ConnId, FlowId, LinkId, PacketId};
use crate::traffic::dependencies::Milestone;
use std::collections::VecDeque;

/// Work that is deferred to the end of an event, because its handler holds only a part of the engine.
#[derive(Debug, Default)]
pub struct Deferred {
    any: bool,
    /// Connections whose last packet may just have gone.
    pub gone: Vec<ConnId>,
    /// Headers to be sent back to their senders.
    pub bounced: Vec<PacketId>,
    /// Packets that their hosts held, and that the transports get now.
    pub received: VecDeque<PacketId>,
    /// Links to whose head a pause or credit frame is due: see `engine/network/pause.rs`.
    pub pauses: Vec<LinkId>,
    /// Flows that have just ended, and where, if anything depends on that.
    pub ended: Vec<(FlowId, Milestone)>,
    /// By part of the run, packets that go there: see `engine/data/boundary.rs`. They wait for the end of a window.
    pub out: Outboxes,
    /// Packets that will go there when their transmissions have ended.
    pub leaving: Leaving,
    /// Points of the run that observers are still to be shown.
    pub watch: Watch,
}

impl Deferred {
    /// Whether there is anything since the last call.
    #[inline(always)]
    pub fn take(&mut self) -> bool {
        // Most events leave nothing, and are spared the write.
        if self.any {
            self.any = false;
            return true;
        }
        false
    }

    /// The connection may be over.
    #[inline(always)]
    pub fn gone(&mut self, id: ConnId) {
        self.any = true;
        self.gone.push(id);
    }

    /// The header is on its way back.
    pub fn bounced(&mut self, id: PacketId) {
        self.any = true;
        self.bounced.push(id);
    }

    /// The transport gets a packet that its host held.
    pub fn received(&mut self, id: PacketId) {
        self.any = true;
        self.received.push_back(id);
    }

    /// A pause or credit frame to the head of the link is due.
    pub fn pause(&mut self, ingress: LinkId) {
        self.any = true;
        self.pauses.push(ingress);
    }

    /// The flow has ended.
    pub fn ended(&mut self, flow: FlowId, at: Milestone) {
        self.any = true;
        self.ended.push((flow, at));
    }
}
