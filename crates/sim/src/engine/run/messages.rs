//! Messages on kept connections: a flow that starts on the connection of its two hosts.

use super::Engine;
use crate::engine::contract::endpoint::Endpoint;
use crate::engine::contract::host::Start;
use crate::engine::contract::members::Members;
use crate::engine::data::conn::Conn;
use crate::engine::network::context::Cx;
use crate::ids::FlowId;

impl<M: Members> Engine<'_, '_, M> {
    /// A message starts on the connection of its pair, which opens with the first one. `conn` is the
    /// connection that it would start on if it had one of its own.
    #[cold]
    pub(in crate::engine) fn start_message(&mut self, entry: u32, start: Start, conn: Conn) {
        let pair = (entry, conn.src, conn.dst);
        let transport = &mut self.transports[usize::from(conn.transport)];
        let via = match self.kept.connection(pair) {
            Some(via) => via,
            None => {
                let via = self.net.open(Conn { flow: FlowId::NONE, ..conn });
                self.kept.keep(pair, via, conn.flow);
                transport.connect(
                    via,
                    start.key,
                    &mut Cx { net: &mut self.net, transport: conn.transport, host: conn.src },
                );
                via
            }
        };
        let kept = self.net.conns[via.index()];
        let mut message = Conn { via, label: kept.label, ..conn }.fresh(kept.ports());
        message.sender.class = kept.sender.class;
        let id = self.net.open(message);
        transport.message(
            id,
            start,
            &mut Cx { net: &mut self.net, transport: conn.transport, host: conn.src },
        );
    }
}
