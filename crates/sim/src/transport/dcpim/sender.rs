//! The sending end of dcPIM: the ranks of a host's packets, by their flows and tokens.

use super::matching::FIRST_RANK;
use super::settings::Plan;
use crate::engine::contract::host::Host;
use crate::engine::contract::packet::{Header, Packet};
use crate::ids::ConnId;
use crate::transport::tokened::{Token, Tokened};
use crate::units::Time;

/// Bits of a rank below that of the token: when it came.
const RANK_AT: u32 = 56;

/// The sending end of a flow.
#[derive(Clone, Debug, Default)]
pub struct Sender {
    pub tokened: Tokened,
    class: u8,
    began: Time,
}

/// The rank of a packet at its host: by that of its token, then by the time at which that came.
fn rank(of_token: u8, came: Time) -> u64 {
    u64::from(of_token) << RANK_AT | came.0.min((1 << RANK_AT) - 1)
}

impl Sender {
    /// Starts over for another flow, with the memory of the one before.
    pub fn reset(&mut self, plan: &Plan, size: u64, now: Time) {
        let packets = plan.format.packets(size);
        self.tokened.reset(size, packets, plan.free(packets));
        (self.class, self.began) = (plan.class(packets), now);
    }

    /// The rank of its next packet, if it may send one: the lowest goes first. A short flow's own go before those of tokens.
    pub fn rank(&self) -> Option<u64> {
        if self.tokened.is_free() {
            return Some(rank(FIRST_RANK - 1, self.began));
        }
        self.tokened.token().map(|token| token.rank)
    }

    /// A token, of that rank.
    pub fn on_token(&mut self, id: ConnId, header: &Header, of_token: u8, plan: &Plan, cx: &mut impl Host) {
        let Header { number: packet, seq, ack, .. } = *header;
        let rank = rank(of_token, cx.now());
        let token = Token { packet, number: ack as u32, expires: Time(seq), rank };
        self.tokened.on_token(id, token, &plan.format, cx);
    }

    /// The next packet, if no token for it has expired.
    pub fn next_packet(&mut self, id: ConnId, plan: &Plan, cx: &mut impl Host) -> Option<Packet> {
        self.tokened.next_packet(id, self.class, &plan.format, cx)
    }
}
