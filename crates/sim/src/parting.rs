//! Whether a run may go in several parts, and where it is cut: see `engine/parted/`.

use crate::engine::data::boundary::Partition;
use crate::engine::data::plan::Rule;
use crate::setup::Setup;
use crate::units::Time;

/// Most parts of a run.
pub const PARTS_MAX: u32 = 64;

/// The network in at most so many parts; or why the run has to go in one.
pub fn cut(setup: &Setup, parts: u32) -> Result<Partition, &'static str> {
    let fabric = &setup.fabric;
    let controller = setup.controller.as_ref().map(|(controller, _)| controller);
    let reads_connections = controller.is_some_and(|controller| controller.reads_connections());
    let whole = match () {
        () if parts < 2 => Some("it was asked for in one"),
        () if setup.has_prototypes => {
            Some("a member of it is written in Python, which does one thing at a time")
        }
        () if setup.ties == Rule::Arrival => {
            Some("run.ties is \"arrival\": the order in which transmissions begin in the whole network")
        }
        () if reads_connections => Some("its controller reads the counters of all connections"),
        () => None,
    };
    if let Some(reason) = whole {
        return Err(reason);
    }
    let cut = Partition::new(fabric, parts.min(PARTS_MAX));
    match () {
        () if cut.count < 2 => Err("its network has no two parts"),
        () if cut.lookahead == Time::ZERO => Err("a link between two parts has no delay"),
        () if setup.traffic.dependencies.least_notify() < cut.lookahead => {
            Err("word of a flow's end travels faster than packets")
        }
        () if controller.is_some_and(|controller| controller.channel().delay < cut.lookahead) => {
            Err("messages to and from its controller are faster than packets between two parts")
        }
        () => Ok(cut),
    }
}
