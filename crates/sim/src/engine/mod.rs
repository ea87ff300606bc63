//! The event loop: takes the first event, lets packets, ports, hosts and timers act on it, and again.
//!
//! The life of a packet, by file:
//!
//!  1. start: a flow has an event (`starts.rs`); the engine opens a connection (`conn.rs`) and calls `start` (`endpoint.rs`).
//!  2. turn: the transport calls `cx.ready` (`host.rs`, `cx.rs`): the connection is in the `ReadyList` of its host's port.
//!  3. packet: when that link is free and no packet waits, `serve` asks the next ready connection for its `next_packet`.
//!  4. wire: `put_on_wire` (`network.rs`) stores it (`packet.rs`); `egress.rs` starts it, and `port.rs` computes its arrival.
//!  5. flight: one event of the calendar (`event.rs`, `calendar.rs`, `buckets.rs`, `ties.rs`); `ahead.rs` prefetches its packet and port.
//!  6. arrival: `arrive` counts the hop; unless the packet is at its destination, `path.rs` or `paths.rs` gives the next link.
//!  7. queue: `offer` (`network.rs`) hands it to that link's port, which is committed or serviced (`port.rs`).
//!  8. committed port: `rules.rs` drops, trims or marks it; a `ring.rs` keeps its departure, which is computed at once.
//!  9. serviced port: it passes an idle port; else a `discipline.rs` keeps it until `catch_up` or `depart` takes it out.
//! 10. next hop: from *wire* on again, at each switch. A dropped packet leaves the arena, and its sender gets no notice.
//! 11. receiver: `receive` takes it out of the arena and calls `at_receiver`, for a connection's first one `accept` before.
//! 12. ACK: the receiver's `cx.send_control` makes a packet as any other, which its port sends ahead of data: *queue* again.
//! 13. sender: `receive` calls `at_sender` with the ACK; the window opens, and the transport asks for its next *turn*.
//! 14. timer: it has one event (`host.rs`). Without an ACK in time, the transport's `timer` asks for a *turn* to retransmit.
//! 15. end: `cx.finish`. After its last packet (`after.rs`) the connection closes (`lifetime.rs`); a row is left (`finished.rs`).

pub mod audit;
pub mod calendar;
pub mod contract;
pub mod data;
pub mod network;
pub mod parted;
pub mod run;
