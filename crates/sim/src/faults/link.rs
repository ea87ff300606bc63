//! A link with faults: whether it loses a packet. Links without any have nothing of this.

use super::timeline::LinkState;
use crate::random::Stream;
use crate::units::Time;

/// A port's state of the faults of its link.
#[derive(Clone, Debug)]
pub struct LinkFault {
    /// How the link is.
    pub state: LinkState,
    /// The random stream of losses.
    pub stream: Stream,
    /// Whether the packet whose transmission is about to begin is lost because the scenario names it.
    pub named: bool,
    /// Packets lost on the link so far.
    pub lost: u64,
    /// When the link changed last: the bytes that its port had put on the wire until then, and the time that
    /// this takes.
    pub bytes: u64,
    /// See `bytes`.
    pub busy: Time,
}

impl LinkFault {
    /// Whether a packet is lost whose transmission begins in the present state.
    #[cold]
    #[inline(never)]
    pub fn loses(&mut self, arrival: Time) -> bool {
        // The coin is tossed for every packet, so that one link's state moves no later draw.
        let unlucky = self.stream.unit() < self.state.loss;
        let named = std::mem::take(&mut self.named);
        self.state.down || arrival >= self.state.next_down || unlucky || named
    }
}
