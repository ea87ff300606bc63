//! The receiving end: every packet gets a reply with the fields that it carried.

use super::{Pacing, kind};
use crate::engine::contract::host::Host;
use crate::engine::contract::packet::{Header, Packet, flag};
use crate::transport::reassembly::{Arrival, Reassembly, Record};

/// The receiver of one flow.
#[derive(Clone, Debug, Default)]
pub struct Receiver {
    data: Reassembly,
    /// Bytes of the flow, once its SYN has come: the sender sends nothing before that is answered.
    size: u64,
}

impl Receiver {
    /// Forgets everything but keeps the memory.
    pub fn clear(&mut self) {
        self.data.clear();
        self.size = 0;
    }

    /// Bytes that have arrived.
    pub fn received(&self) -> u64 {
        self.data.received()
    }

    /// A packet arrives.
    #[inline(always)]
    pub fn on_packet(&mut self, packet: &Packet, pacing: &Pacing, cx: &mut impl Host) {
        let Header { len, number, seq, ack, .. } = packet.header;
        let answer = match packet.header.kind {
            kind::SYN => {
                self.size = seq;
                kind::SYN_ANSWER
            }
            kind::FIN => kind::FIN_ANSWER,
            kind::TERM => {
                cx.given_up(packet.conn);
                kind::FIN_ANSWER
            }
            // A packet that a full port cut down to its header still carries its request.
            _ if packet.has(flag::TRIMMED) => {
                cx.receiver(packet.conn).trims += 1;
                kind::CUT_ANSWER
            }
            kind::ASK => kind::ANSWER,
            asked => {
                cx.note_arrival(packet);
                if self.data.receive(number, len) != Arrival::Duplicate {
                    cx.delivered(packet.conn, u64::from(len));
                    if self.data.received() == self.size {
                        cx.completed(packet.conn);
                    }
                }
                if asked == kind::DATA { kind::ACK } else { kind::DATA_ANSWER }
            }
        };
        let header =
            Header { kind: answer, number, seq: u64::from(self.data.next()), ack, ..Header::default() };
        cx.send_to_sender(packet.conn, pacing.control_size(), header);
    }
}
