//! A receiver that counts the missing bytes of its flow: for transports without retransmissions.

use crate::engine::contract::endpoint::Ends;
use crate::engine::contract::host::Host;
use crate::engine::contract::packet::Packet;
use crate::ids::ConnId;

/// Bytes that the receivers of all flows still lack.
#[derive(Clone, Debug, Default)]
pub struct Lacking(Ends<u64>);

impl Lacking {
    /// The first packet of a flow has arrived, and is not yet counted.
    pub fn accept(&mut self, id: ConnId, cx: &mut impl Host) {
        *self.0.open(id, cx) = cx.conn(id).size;
    }

    /// A packet has arrived. The last byte completes the flow; packets behind it may be all padding.
    pub fn arrived(&mut self, packet: &Packet, cx: &mut impl Host) {
        let payload = u64::from(packet.header.len);
        cx.note_arrival(packet);
        cx.delivered(packet.conn, payload);
        let lacking = self.0.at(packet.conn, cx);
        *lacking -= payload;
        if *lacking == 0 && payload > 0 {
            cx.completed(packet.conn);
        }
    }
}
