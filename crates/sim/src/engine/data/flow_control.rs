//! All state of the flow control of links, of each kind.

use super::credit::Credits;
use super::gate::Pauses;
use super::memory::Memory;

/// Link-level flow control between nodes, so that buffers do not overflow: pauses under one queue, credits
/// under another.
#[derive(Debug, Default)]
pub struct FlowControl {
    /// PFC state by link; empty unless the queue is lossless.
    pub pauses: Pauses,
    /// Credit by link; empty unless the queue gives credits.
    pub credits: Credits,
    /// Memory that ports of a switch share; empty unless they do.
    pub memory: Memory,
}
