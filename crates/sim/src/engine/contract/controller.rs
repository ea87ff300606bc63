//! Central control: the contract between the engine and a controller that decides for hosts when, or how
//! fast, to send.
//!
//! A run has one controller or none, and then pays nothing for it. It serves one transport. Under the
//! transport "central" hosts report the packets in their queues, each of which holds the packets to one
//! destination; of any other transport the controller reads the delivered bytes of each connection. It acts
//! after all other events of an instant, when a report is urgent or at times of its own; its orders go to the
//! transport at the hosts, or give a connection another path. Reports and orders cross a control channel
//! outside of the network, without delay or loss unless the configuration says so.
//!
//! A controller sees all hosts at once: unlike ports and hosts it is no part of one node. `network/control_plane.rs` runs
//! it and its channel; in a run of several parts hosts reach it by way of `network/mailbox.rs` and `parted/control.rs`. The controllers themselves are in
//! `controller/`.

use crate::engine::data::conn::Conn;
use crate::ids::{ConnId, FlowId, NodeId, QueueId};
use crate::random::Stream;
use crate::units::Time;

/// A host's report to the controller on one of its queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// A flow has put all its packets into the queue.
    Burst {
        /// The queue; its number is new if this is its first burst.
        queue: QueueId,
        from: NodeId,
        to: NodeId,
        flow: FlowId,
        bytes: u64,
        /// Packets on the wire that carry it. Of more than a million of drawn lengths it is an estimate, a fiftieth above
        /// their number: a queue is empty once its bytes have been sent.
        packets: u32,
        /// Bytes on the wire of each on top of its own.
        link_bytes: u32,
        /// The flow's priority; the lowest number goes first.
        priority: u8,
        at: Time,
    },
    /// A packet of the queue has begun its transmission. Only for controllers that request this report.
    Sent {
        queue: QueueId,
        /// The flow of the packet.
        flow: FlowId,
        /// The packet's payload.
        bytes: u32,
        /// The slot of the grant that it has used; none if it shares the slot of another, or has gone by a rate.
        granted: Option<Time>,
    },
    /// The queue has become empty; under `idle = "drains"`, its last packet has leaked out.
    Emptied { queue: QueueId },
    /// A grant was not used: the order was lost, or found nothing to send.
    Unused {
        queue: QueueId,
        /// The time for which its order intended it.
        at: Time,
    },
}

impl Report {
    /// Whether it is for a controller that gets a report of each packet, or does not.
    pub fn concerns(&self, counts_packets: bool) -> bool {
        counts_packets || !matches!(self, Report::Sent { .. })
    }

    /// The queue that it is on, to be read or renumbered.
    pub fn queue_mut(&mut self) -> &mut QueueId {
        match self {
            Report::Burst { queue, .. }
            | Report::Sent { queue, .. }
            | Report::Emptied { queue }
            | Report::Unused { queue, .. } => queue,
        }
    }

    /// The flow that it is on, if it is on one, likewise.
    pub fn flow_mut(&mut self) -> Option<&mut FlowId> {
        match self {
            Report::Burst { flow, .. } | Report::Sent { flow, .. } => Some(flow),
            Report::Emptied { .. } | Report::Unused { .. } => None,
        }
    }
}

/// Permission to send the next packet of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The flow whose packet is meant: it goes to the head of the queue.
    pub flow: FlowId,
    /// The start of the slot that it is for, before which it does not arrive.
    pub slot: Time,
    /// The label that the packet carries, from which balancers read its path; none: the flow's own.
    pub label: Option<u32>,
    /// Bytes on the wire of the slot.
    pub room: u32,
    /// Whether further packets of the queue go with it as long as there is room.
    pub fill: bool,
}

/// An order to a host on one of its queues.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Act {
    Send(Grant),
    /// From now on it sends by a leaky bucket.
    Rate {
        /// At this share of the rate of its host's link.
        share: f64,
        /// The label that its packets carry, from which balancers read their path; none: their flows' own.
        label: Option<u32>,
    },
    /// A connection of a transport that has no such queues goes by another path.
    Path(Placed),
}

/// The path of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    pub id: ConnId,
    /// When its flow started: its slot may be another's when the order arrives.
    pub start: Time,
    /// The label that its packets carry from now on.
    pub label: u32,
}

/// A connection that is open, with its counters, as a controller sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenFlow {
    pub id: ConnId,
    pub from: NodeId,
    pub to: NodeId,
    pub start: Time,
    /// Payload that has reached the receiver.
    pub delivered: u64,
    /// The rest of its payload.
    pub backlog: u64,
    /// The label of its packets, by which they find their path.
    pub label: u32,
}

/// An order of the controller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Order {
    /// The host that it is for.
    pub host: NodeId,
    /// The host's queue; of a path the number of the connection.
    pub queue: QueueId,
    pub act: Act,
}

/// A controller, which decides for all hosts. A new controller implements it.
pub trait Controller {
    /// Whether it has to act on that report at once; otherwise it gets the report when it acts next.
    fn is_urgent(&self, report: &Report) -> bool;

    /// Whether it gets a report of each packet that is sent.
    fn counts_packets(&self) -> bool {
        false
    }

    /// When it acts first, if it does so without a report; else [`Time::NEVER`].
    fn begins(&self) -> Time {
        Time::NEVER
    }

    /// All else of the instant has happened, and the controller acts: on reports, in the order in which they came, or
    /// because it wanted to at this time.
    fn act(&mut self, reports: &[Report], cx: &mut ControlContext);

    /// For the audit: reports inconsistencies of its picture of the queues.
    fn audit(&self, found: &mut dyn FnMut(String)) {
        let _ = found;
    }

    /// Bytes that it takes beyond its own size. For the limit on memory and for benchmarks.
    fn heap_bytes(&self) -> usize {
        0
    }
}

/// A controller's view of the run when it acts, and its decisions.
pub struct ControlContext<'a> {
    pub now: Time,
    /// The controller's own random stream.
    pub stream: &'a mut Stream,
    pub orders: &'a mut Vec<Order>,
    /// Findings of an audit of this decision; none without an audit.
    pub found: Option<&'a mut Vec<String>>,
    pub(in crate::engine) wake: Time,
    pub(in crate::engine) put_off: bool,
    pub(in crate::engine) conns: &'a [Conn],
    pub(in crate::engine) serves: u8,
}

impl ControlContext<'_> {
    /// Wants to act at that time at the latest, after all else of that instant.
    pub fn wake_at(&mut self, time: Time) {
        self.wake = self.wake.min(time.max(Time(self.now.0 + 1)));
    }

    /// Acts at that time instead: the reports so far are too early, and this was no act.
    pub fn put_off(&mut self, time: Time) {
        self.put_off = true;
        self.wake_at(time);
    }

    /// The connections that are open of the transport that it serves, in the order of their numbers.
    pub fn flows(&self) -> impl Iterator<Item = OpenFlow> {
        // Messages of a connection that is kept go by its path.
        let own = |(number, conn): &(usize, &Conn)| {
            conn.open && !conn.closed && conn.transport == self.serves && conn.via.index() == *number
        };
        let flow = |(number, conn): (usize, &Conn)| OpenFlow {
            id: ConnId(number as u32),
            from: conn.src,
            to: conn.dst,
            start: conn.start,
            delivered: conn.receiver.delivered_bytes,
            backlog: conn.size.saturating_sub(conn.receiver.delivered_bytes),
            label: conn.sender.label,
        };
        self.conns.iter().enumerate().filter(own).map(flow)
    }
}

/// How reports and orders travel.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Channel {
    /// From a host to the controller, and back.
    pub delay: Time,
    /// Probability that a message is lost.
    pub loss: f64,
    /// After this time a lost report or rate is sent again, and a lost grant is detected.
    pub timeout: Time,
    /// Each server's clock is late by a time of its own from 0 to this.
    pub clock_error: Time,
}

impl Channel {
    /// Whether messages arrive at once, and always.
    pub fn is_immediate(&self) -> bool {
        self.delay == Time::ZERO && self.loss == 0.0
    }
}

#[cfg(test)]
pub mod tests {
    //! A room without a network, for unit tests of controllers.

    use super::*;
    use crate::random::Purpose;

    /// Lets a controller act on what a test reports, and notes its orders.
    pub struct FakeControl {
        /// The present.
        pub now: Time,
        /// When it wants to act next.
        pub wake: Time,
        conns: Vec<Conn>,
        /// Of the controller.
        pub stream: Stream,
    }

    impl FakeControl {
        /// At time zero, with these connections.
        pub fn new(conns: Vec<Conn>) -> FakeControl {
            let stream = Stream::new(1, 0, Purpose::Queue, 0);
            FakeControl { now: Time::ZERO, wake: Time::NEVER, conns, stream }
        }

        /// A connection delivers so many bytes more.
        pub fn delivers(&mut self, id: ConnId, bytes: u64) {
            self.conns[id.index()].receiver.delivered_bytes += bytes;
        }

        /// The payload of each connection's flow.
        pub fn sizes(&mut self, bytes: &[u64]) {
            self.conns.iter_mut().zip(bytes).for_each(|(conn, bytes)| conn.size = *bytes);
        }

        /// Another flow takes a connection's slot, from that time on.
        pub fn renew(&mut self, id: ConnId, start: Time) {
            let conn = &mut self.conns[id.index()];
            (conn.start, conn.receiver.delivered_bytes) = (start, 0);
        }

        /// The controller acts on these reports: its orders. An audit of it must find nothing.
        pub fn act(&mut self, controller: &mut impl Controller, reports: &[Report]) -> Vec<Order> {
            let (mut orders, mut found) = (Vec::new(), Vec::new());
            let mut cx = ControlContext {
                now: self.now,
                stream: &mut self.stream,
                orders: &mut orders,
                found: Some(&mut found),
                wake: Time::NEVER,
                put_off: false,
                conns: &self.conns,
                serves: 0,
            };
            controller.act(reports, &mut cx);
            self.wake = cx.wake;
            assert_eq!(found, Vec::<String>::new());
            orders
        }
    }
}
