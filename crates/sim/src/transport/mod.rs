//! What hosts do: on flow start, on a packet, on a timer, and when the wire asks for the next packet.

use crate::balancer::Balancer;
use crate::queue::{Feature, Queue};
use crate::register::register;

register! {
    /// What hosts do to move a flow's bytes.
    pub enum Transport: Settings {
        datagram::Datagram = "datagram",
        tcp::Tcp = "tcp",
        ndp::Ndp = "ndp",
    }
}

/// What a transport's configuration tells the check and the records.
pub trait Settings {
    /// All that is wrong beyond what the schema says: (path below the transport, what is wrong).
    fn problems(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// What it needs from the ports on its way.
    fn needs(&self) -> &'static [Feature] {
        &[]
    }

    /// The queue that ports get if the scenario names none.
    fn recommended_queue(&self) -> Queue;

    /// The balancer that its flows get if the scenario names none.
    fn recommended_balancer(&self) -> Balancer;

    /// Bytes of a full data packet on the wire.
    fn full_packet(&self) -> u64;

    /// How a flow is cut into packets, to compute its ideal completion time; `None` if that is random.
    fn framing(&self) -> Option<Framing>;
}

/// How a flow is cut into packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framing {
    /// Payload of a full packet.
    pub payload: u64,
    /// Bytes on the wire on top of the payload.
    pub header: u64,
    /// Whether the last packet is sent at full size even if its payload is short.
    pub pad_last: bool,
}
