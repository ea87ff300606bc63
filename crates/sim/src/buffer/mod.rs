//! Memory that the ports of a switch share: the limit of each queue, and the pauses of upstream ports, depend on how much
//! of it is free.
//!
//! A member has a configuration, which is part of the scenario, and gives the engine the rules of each switch: adding one is
//! its file and its line in the list below. The rules are in `engine/data/memory.rs`.

mod switches;

use crate::engine::contract::memory::Memory;
use crate::problem::Problem;
use crate::register::register;
use crate::topology::Fabric;

register! {
    /// Memory that the ports of a switch share.
    pub enum Buffer: Settings {
        dynamic::Dynamic = "dynamic",
        abm::ActiveBuffer = "abm",
        hpcc::HpccSwitch = "hpcc",
    }
}

/// Properties of a configuration for the check and the engine.
pub trait Settings {
    /// The empty memory of all switches. `by_class`: a port has a queue for each class of traffic.
    fn memory(&self, fabric: &Fabric, by_class: bool) -> Memory;

    /// Whether it limits the bytes of each arriving link, and pauses upstream ports: for a queue that does so, and no other.
    fn pauses(&self) -> bool {
        false
    }

    /// Bytes of a pause frame on the wire, if not those of the standard.
    fn frame_bytes(&self) -> Option<u32> {
        None
    }

    /// Problems on that network; paths are below the buffer.
    fn problems_on(&self, fabric: &Fabric, by_class: bool) -> Vec<Problem>;
}
