//! The engine: it takes the first event, lets packets, ports, hosts and timers act on it, and again.
//!
//! Its rooms, each of which uses only those before it:
//!
//! - `data`: plain types, such as packets, connections and ports; the input of a run, and the data that it leaves.
//! - `calendar`: the events to come, in their order.
//! - `contract`: the interfaces of the members of a run. The author of one reads this room and no other.
//! - `network`: ports, queues and links, and the hosts' interface to them.
//! - `run`: the loop, and the starts and ends of flows and of the run.
//! - `audit`: counters against structures.
//! - `parted`: a run in several parts.
//!
//! The life of a packet, by file:
//!
//!  1. start: a flow has an event (`run/starts.rs`); the engine opens a connection (`data/conn.rs`) and calls `start`
//!     (`contract/endpoint.rs`).
//!  2. turn: the transport calls `cx.ready` (`contract/host.rs`, `network/context.rs`): the connection is in the `ReadyList` of
//!     its host's port.
//!  3. packet: when that link is free and no packet waits, `serve` (`run/mod.rs`) asks the next ready connection for its
//!     `next_packet`.
//!  4. wire: `put_on_wire` (`network/mod.rs`) stores it (`data/arena.rs`); `network/egress.rs` starts it, and `data/port.rs`
//!     computes its arrival.
//!  5. flight: one event of the calendar (`data/event.rs`, `calendar/`); `network/ahead.rs` prefetches its packet and port.
//!  6. arrival: `arrive` counts the hop; unless the packet is at its destination, `contract/path.rs` or `data/paths.rs` gives
//!     the next link.
//!  7. queue: `offer` (`network/mod.rs`) hands it to that link's port, which is committed or serviced (`data/port.rs`).
//!  8. committed port: `data/rules.rs` drops, trims or marks it; a `data/ring.rs` keeps its departure, which is computed at
//!     once.
//!  9. serviced port: it passes an idle port; else a `contract/discipline.rs` keeps it until `catch_up` or `depart` takes it
//!     out.
//! 10. next hop: from *wire* on again, at each switch. A dropped packet leaves the arena, and its sender gets no notice.
//! 11. receiver: `receive` takes it out of the arena and calls `at_receiver`, for a connection's first one `accept` before.
//! 12. ACK: the receiver's `cx.send_to_sender` makes a packet as any other, which its port sends ahead of data: *queue*
//!     again.
//! 13. sender: `receive` calls `at_sender` with the ACK; the window opens, and the transport asks for its next *turn*.
//! 14. timer: it has one event (`contract/host.rs`). Without an ACK in time, the transport's `timer` asks for a *turn* to
//!     retransmit.
//! 15. end: `cx.finish`. After its last packet (`data/deferred.rs`) the connection closes (`run/lifetime.rs`); a row is left
//!     (`data/finished.rs`).

pub mod audit;
pub mod calendar;
pub mod contract;
pub mod data;
pub mod network;
pub mod parted;
pub mod run;
