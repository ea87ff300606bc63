//! Bounds on the end of flows: the bytes that a window brings to a host, and the shortest flow.

use crate::engine::data::plan::Plan;
use crate::faults::timeline::Timeline;
use crate::topology::Fabric;
use crate::units::Time;

/// A flow that misses more bytes than a window brings, or where the search for one goes on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Witness {
    pub part: usize,
    pub slot: u32,
    /// Flows that had begun when the search did.
    pub begun: u64,
}

/// By host, how many links lead there, and how much they ever bring in a second, in bits.
pub fn brings(fabric: &Fabric, faults: &Timeline) -> Vec<(u64, u64)> {
    let mut rates: Vec<u64> = fabric.links.iter().map(|link| link.rate.0).collect();
    for step in &faults.steps {
        let rate = &mut rates[step.link.index()];
        *rate = step.state.rate.0.max(*rate);
    }
    let mut brings = vec![(0, 0); fabric.hosts as usize];
    for (link, rate) in fabric.links.iter().zip(rates).filter(|(link, _)| fabric.is_host(link.to)) {
        let (links, all) = &mut brings[link.to.index()];
        *links += 1;
        *all += rate;
    }
    brings
}

/// No flow ends sooner after its start. One whose sender need not wait for its receiver may end at once.
pub fn shortest_flow<M>(plan: &Plan<M>) -> Time {
    let fabric = plan.parts.fabric;
    if plan.carriers.iter().any(|carrier| !carrier.delivers) {
        return Time::ZERO;
    }
    let into = fabric.links.iter().filter(|link| fabric.is_host(link.to));
    let last = into.map(|link| link.delay).min().unwrap_or(Time::ZERO);
    let from = fabric.links.iter().filter(|link| fabric.is_host(link.from));
    let all = from.map(|link| if fabric.is_host(link.to) { link.delay } else { link.delay + last });
    all.min().unwrap_or(Time::ZERO)
}
