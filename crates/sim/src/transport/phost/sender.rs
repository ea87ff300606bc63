//! The sending end of pHost: free tokens, and those of the receiver, expire after some slots.

use super::Plan;
use super::tokens::slots;
use crate::engine::contract::host::Host;
use crate::engine::contract::packet::{Header, Packet};
use crate::ids::ConnId;
use crate::transport::tokened::{Token, Tokened};
use crate::units::Time;

/// The sending end of a flow.
#[derive(Clone, Debug, Default)]
pub struct Sender {
    pub tokened: Tokened,
    /// When free tokens that have not been used expire.
    free_expires: Time,
}

impl Sender {
    /// Starts over for another flow, with the memory of the one before.
    pub fn reset(&mut self, id: ConnId, plan: &Plan, size: u64, cx: &mut impl Host) {
        let packets = plan.format.packets(size);
        let (free, slot) = (plan.free(packets), cx.transmission(cx.port(id), plan.format.full));
        self.tokened.reset(size, packets, free);
        self.free_expires = cx.now().saturating_add(slots(slot, f64::from(free) + plan.token_expiry));
    }

    /// Its rank, if it may send a packet unless tokens expire before: the flow with the fewest packets left goes first.
    pub fn rank(&self) -> Option<u64> {
        let may_send = self.tokened.is_free() || self.tokened.token().is_some();
        may_send.then(|| u64::from(self.tokened.left()))
    }

    /// A token.
    pub fn on_token(&mut self, id: ConnId, header: &Header, plan: &Plan, cx: &mut impl Host) {
        let slot = cx.transmission(cx.port(id), plan.format.full);
        let expires = cx.now().saturating_add(slots(slot, plan.token_expiry));
        let token = Token { packet: header.number, number: header.seq as u32, expires, rank: 0 };
        self.tokened.on_token(id, token, &plan.format, cx);
    }

    /// The next packet, if no token for it has expired.
    pub fn next_packet(&mut self, id: ConnId, plan: &Plan, cx: &mut impl Host) -> Option<Packet> {
        if self.free_expires < cx.now() {
            self.tokened.end_free();
        }
        self.tokened.next_packet(id, plan.class(self.tokened.packets()), &plan.format, cx)
    }
}
