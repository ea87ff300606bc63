//! The path of a connection that changes it: see `transport/repath.rs`.

use super::Sender;
use crate::engine::contract::host::Host;
use crate::engine::contract::packet::Packet;
use crate::ids::ConnId;
use crate::random::Purpose;
use crate::transport::repath::{Acked, Repathing};
use crate::transport::tcp::congestion::Control;
use crate::transport::tcp::{Tcp, kind};
use crate::units::Time;

impl Sender {
    /// A connection begins, whose first flow has that key.
    pub fn steer(&mut self, id: ConnId, key: u64, config: &Tcp, cx: &impl Host) {
        let start = || {
            let stream = cx.flow_stream(Purpose::Repath, key);
            Box::new(Repathing::new(cx.conn(id).label, stream))
        };
        self.path = config.repath.is_some().then(start);
        if config.congestion().models_path() {
            self.control.seed(cx.flow_stream(Purpose::Control, key));
            self.control.start(&self.window, None, cx.now());
        }
    }

    /// An acknowledgement has been handled, before which all bytes up to that number were acknowledged.
    #[cold]
    pub(super) fn steer_by(&mut self, before: u64, packet: &Packet, config: &Tcp, now: Time) {
        let bytes = self.una_seq - before;
        if let (Some(path), Some(repath)) = (&mut self.path, &config.repath)
            && bytes > 0
        {
            let marked = packet.header.kind & kind::ECE != 0;
            path.on_ack(repath, Acked { bytes, marked, una: self.una_seq, next: self.next_seq, now });
        }
    }

    /// The retransmission timer has expired.
    pub(super) fn steer_away(&mut self, config: &Tcp, now: Time) {
        if let (Some(path), Some(repath)) = (&mut self.path, &config.repath) {
            path.on_timeout(repath, now);
        }
    }
}
