//! D3 (Wilson et al., SIGCOMM 2011) on the slotted link: flows request size over deadline, first come, first
//! served.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Discipline, EarlyTermination, Service, Settings, Slot};
use crate::random::{Purpose, Stream};
use crate::slotted::NOTHING;

/// Without state at the switch: each slot, flows request the rate that they need to be done in time, packets
/// left over slots left, and get it in the order of their requests, as long as there is capacity; the
/// remaining capacity is shared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct D3 {
    /// In which order requests reach the switch. In order of arrival, D3 is the same as Stateful D3.
    pub order: Order,
    /// The grants.
    pub grants: Grants,
    /// Whether flows leave that cannot be done in time any more (quenching; Wilson et al., section 6.1.3). Otherwise they
    /// go on asking for a whole slot until their deadline has come.
    pub quench: bool,
}

/// The order of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Drawn afresh in each slot.
    #[default]
    Random,
    /// That of the flows' arrivals.
    Arrival,
}

/// The grants that a request may get.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Grants {
    /// Fractions of a packet; the last request with remaining capacity may get a part of its request.
    #[default]
    Fluid,
    /// Fractions of a packet: the whole request, or nothing.
    Whole,
    /// The slot's packet, to the first request.
    Packet,
}

impl Settings for D3 {
    fn build(&self, seed: u64, replica: u64) -> Box<dyn Discipline> {
        let stream = Stream::new(seed, replica, Purpose::SlottedOrder, 0);
        Box::new(Model { config: self.clone(), stream, order: Vec::new() })
    }
}

struct Model {
    config: D3,
    stream: Stream,
    order: Vec<usize>,
}

impl Discipline for Model {
    fn serve(&mut self, slot: &Slot, shares: &mut [f64]) -> Service {
        self.order.clear();
        self.order.extend(0..slot.flows.len());
        if self.config.order == Order::Random {
            self.stream.shuffle(&mut self.order);
        }
        grant(slot, &self.order, self.config.grants, shares)
    }

    fn early_termination(&self) -> EarlyTermination {
        quenching(self.config.quench)
    }
}

/// When flows give up, with quenching or without.
pub(super) fn quenching(quench: bool) -> EarlyTermination {
    if quench { EarlyTermination::Strict } else { EarlyTermination::Expired }
}

/// Goes through the requests in an order. The fair share on top is the capacity that all requests together
/// leave, divided by the number of flows; thesis, section 1.4.
pub(super) fn grant(slot: &Slot, order: &[usize], grants: Grants, shares: &mut [f64]) -> Service {
    if grants == Grants::Packet {
        return order.first().map_or(Service::Nobody, |&first| Service::One(first));
    }
    let request = |place: usize| {
        let flow = &slot.flows[place];
        (flow.left / flow.time_left(slot.now) as f64).min(1.0)
    };
    let asked: f64 = (0..slot.flows.len()).map(request).sum();
    let fair = ((1.0 - asked) / slot.flows.len() as f64).max(0.0);
    let mut left = 1.0_f64;
    for &place in order {
        let wanted = request(place);
        let granted = match grants {
            // Sums of shares are not exact.
            Grants::Whole if left + NOTHING < wanted => 0.0,
            _ if left > wanted => (wanted + fair).min(left),
            _ => left,
        };
        shares[place] = granted;
        left -= granted;
    }
    Service::Shares
}
