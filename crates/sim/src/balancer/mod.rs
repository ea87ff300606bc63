//! Which of the equal next hops a packet takes.

use crate::register::register;

register! {
    /// Which of the equal next hops a packet takes.
    pub enum Balancer: Settings {
        single::Single = "single",
        per_flow::PerFlow = "per-flow",
        per_packet::PerPacket = "per-packet",
    }
}

/// What a balancer's configuration tells the check: nothing so far.
pub trait Settings {}
