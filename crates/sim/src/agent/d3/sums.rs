//! A port's sums over its flows: their number, their allocations and their requests.
//!
//! Packets carry the rates to take back; then the port keeps three counters, and nothing else. Or it keeps
//! state per flow, takes back its earlier allocation itself, and removes flows that stop requesting.

use super::PortState;
use crate::agent::flows::Flows;
use crate::engine::contract::numbers::Numbers;
use crate::ids::FlowId;
use crate::units::Time;

/// A request, as a port sees it. Rates are in kbit/s.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    pub now: Time,
    pub flow: FlowId,
    /// By how many flows N grows: 1 for a SYN, less than 0 for a FIN or TERM.
    pub flows: i64,
    /// Whether it is a FIN or TERM.
    pub last: bool,
    pub desired: i64,
    pub before: i64,
    pub past: i64,
}

/// The sums over a port's flows. Rates are in kbit/s.
#[derive(Clone, Debug)]
pub struct Sums {
    pub flows: i64,
    /// A: the sum of the allocations.
    pub allocated: i64,
    /// D: the sum of the requests.
    pub demand: i64,
    /// The flows, if the port keeps per-flow state.
    remembered: Option<Flows<Remembered>>,
}

/// A port's state of a flow.
#[derive(Clone, Copy, Debug)]
struct Remembered {
    desired: i64,
    allocated: i64,
    /// Time of its last request.
    asked: Time,
}

impl Sums {
    /// Those of no flows.
    pub fn new(state: PortState) -> Sums {
        let remembered = (state == PortState::Flows).then(Flows::default);
        Sums { flows: 0, allocated: 0, demand: 0, remembered }
    }

    /// Takes back the flow's earlier allocation and request, and adds its present request.
    pub fn take_back(&mut self, request: Request) {
        let Request { now, flow, last, desired, .. } = request;
        let Some(flows) = &mut self.remembered else {
            self.flows += request.flows;
            self.allocated -= request.past;
            self.demand += desired - request.before;
            return;
        };
        let before = match last {
            true => flows.remove(flow),
            false => flows.insert(flow, Remembered { desired, allocated: 0, asked: now }),
        };
        if let Some(before) = before {
            self.allocated -= before.allocated;
            self.demand -= before.desired;
        }
        self.demand += desired;
        self.flows = flows.len() as i64;
    }

    /// Allocates so much to a flow that has sent a request.
    pub fn give(&mut self, flow: FlowId, granted: i64) {
        self.allocated += granted;
        if let Some(flow) = self.remembered.as_mut().and_then(|flows| flows.get(flow)) {
            flow.allocated = granted;
        }
    }

    /// Removes flows without a request since then.
    pub fn forget(&mut self, since: Time) {
        let Sums { flows, allocated, demand, remembered: Some(remembered) } = self else { return };
        remembered.retain(|flow| {
            let stays = flow.asked >= since;
            if !stays {
                *allocated -= flow.allocated;
                *demand -= flow.desired;
            }
            stays
        });
        *flows = remembered.len() as i64;
    }

    /// Flows get their numbers.
    pub fn number(&mut self, numbers: &Numbers) {
        self.remembered.iter_mut().for_each(|flows| flows.number(numbers));
    }

    /// Whether it keeps the state of any flow.
    pub fn remembers_any(&self) -> bool {
        self.remembered.as_ref().is_some_and(|flows| flows.len() > 0)
    }

    /// Reports flows without a request since then, and sums that are not those of the flows.
    pub fn audit(&self, since: Time, is_open: &dyn Fn(FlowId) -> bool, found: &mut dyn FnMut(String)) {
        let Some(flows) = &self.remembered else { return };
        flows.audit(found);
        for (flow, _) in flows.iter().filter(|(_, flow)| flow.asked < since) {
            let of = if is_open(flow) { "is open" } else { "is over" };
            found(format!("keeps flow {flow}, which {of} and silent"));
        }
        let sum = |of: fn(&Remembered) -> i64| flows.iter().map(|(_, flow)| of(flow)).sum::<i64>();
        let sums = (sum(|flow| flow.allocated), sum(|flow| flow.desired));
        if sums != (self.allocated, self.demand) {
            let counted = (self.allocated, self.demand);
            found(format!("counts {counted:?} kbit/s allocated and requested, its flows have {sums:?}"));
        }
    }

    /// Reports remaining state when all flows have ended.
    pub fn audit_idle(&self, found: &mut dyn FnMut(String)) {
        let Sums { flows, allocated, demand, .. } = *self;
        if (flows, allocated, demand) != (0, 0, 0) {
            found(format!(
                "counts {flows} flows with {allocated} kbit/s that request {demand}, and all have ended"
            ));
        }
    }

    /// Bytes that they take beyond their own size.
    pub fn heap_bytes(&self) -> usize {
        self.remembered.as_ref().map_or(0, Flows::heap_bytes)
    }
}
