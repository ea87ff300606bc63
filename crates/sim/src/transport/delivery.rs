//! Delivery at a receiver: the data of a connection's flows arrives, and each flow completes.
//!
//! For transports that number their data and mark the last packet of a flow.

use super::reassembly::{Arrival, Reassembly, Record};
use crate::engine::contract::host::Host;
use crate::ids::ConnId;

/// The data that has arrived of a connection's flows: one, or any number one behind the other.
#[derive(Clone, Debug, Default)]
pub struct Delivery<R = Reassembly> {
    data: R,
    ends: FlowEnds,
    /// The first number that had not arrived when a flow last completed; 0 before.
    complete_to: u32,
}

/// Effect of a packet of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// Its place in the record.
    pub arrival: Arrival,
    /// Whether a flow is complete now that was not before.
    pub completes: bool,
}

impl<R: Record> Delivery<R> {
    /// Forgets everything but keeps the memory.
    pub fn clear(&mut self) {
        self.data.clear();
        self.ends.clear();
        self.complete_to = 0;
    }

    /// A packet of a flow's data arrives, perhaps the last one: counts new bytes, and reports the flows that
    /// it completes.
    #[inline]
    pub fn receive(
        &mut self,
        flow: ConnId,
        number: u32,
        len: u16,
        last: bool,
        cx: &mut impl Host,
    ) -> Delivered {
        let arrival = self.data.receive(number, len);
        let mut completes = false;
        if arrival != Arrival::Duplicate {
            cx.delivered(flow, u64::from(len));
            if last {
                self.ends.note(number + 1, flow);
            }
            while let Some(flow) = self.ends.take_complete(self.data.next()) {
                completes = true;
                self.complete_to = self.data.next();
                cx.completed(flow);
            }
        }
        Delivered { arrival, completes }
    }

    /// Whether nothing has arrived in order since a flow completed: of a single flow, whether it is complete.
    #[inline]
    pub fn is_complete(&self) -> bool {
        self.complete_to > 0 && self.complete_to == self.data.next()
    }

    /// The first number that has not arrived.
    #[inline]
    pub fn next(&self) -> u32 {
        self.data.next()
    }

    /// Whether a packet has arrived.
    pub fn has(&self, number: u32) -> bool {
        self.data.has(number)
    }

    /// Bytes that have arrived without a gap.
    pub fn in_order(&self) -> u64 {
        self.data.in_order()
    }

    /// Bytes that have arrived, each counted once.
    pub fn received(&self) -> u64 {
        self.data.received()
    }
}

/// Where flows end that share a connection, as far as their last packets have arrived: they complete in order.
#[derive(Clone, Debug, Default)]
pub struct FlowEnds {
    /// The first one: number of its last packet plus one, and the flow.
    first: Option<(u32, ConnId)>,
    /// The others, the last one first.
    later: Vec<(u32, ConnId)>,
}

impl FlowEnds {
    /// Forgets everything but keeps the memory.
    pub fn clear(&mut self) {
        self.first = None;
        self.later.clear();
    }

    /// The last packet of a flow has arrived for the first time.
    pub fn note(&mut self, end: u32, flow: ConnId) {
        match self.first {
            None => self.first = Some((end, flow)),
            Some(first) if end < first.0 => {
                self.later.push(first);
                self.first = Some((end, flow));
            }
            Some(_) => {
                let place = self.later.partition_point(|(later, _)| *later > end);
                self.later.insert(place, (end, flow));
            }
        }
    }

    /// Takes off the first flow, if all packets before `next` have arrived and so has all of it.
    #[inline]
    pub fn take_complete(&mut self, next: u32) -> Option<ConnId> {
        let (_, flow) = self.first.filter(|(end, _)| *end <= next)?;
        self.first = self.later.pop();
        Some(flow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_complete_in_order_whatever_the_order_of_their_ends() {
        let mut ends = FlowEnds::default();
        [(30, 3), (10, 1), (40, 4), (20, 2)].into_iter().for_each(|(end, flow)| ends.note(end, ConnId(flow)));
        assert_eq!(ends.take_complete(9), None);
        assert_eq!(ends.take_complete(25), Some(ConnId(1)));
        assert_eq!(ends.take_complete(25), Some(ConnId(2)));
        assert_eq!(ends.take_complete(25), None);
        ends.note(35, ConnId(5));
        let rest: Vec<_> = std::iter::from_fn(|| ends.take_complete(40)).collect();
        assert_eq!(rest, [3, 5, 4].map(ConnId));
    }
}
