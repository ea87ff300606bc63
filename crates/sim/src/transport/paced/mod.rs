//! Senders at a given rate: the host's side that RCP, D3, PDQ and RACS share.
//!
//! A flow opens with a SYN, which requests a rate from the switches on its path; the reply carries it.
//! Packets are sent one by one at that rate, each is acknowledged, and packets carry further requests: each
//! packet of data or the first after a reply, by the scheme, or one without payload if no data may leave in
//! time. A FIN, retransmitted until it is acknowledged, removes the flow from the switches. The meaning of
//! requests and replies is the scheme's ([`Scheme`]), and is in the record beside each packet; the
//! computation of switches is its agent's (`agent/`). Losses are detected by acknowledgements of later
//! packets, or by a timeout (RFC 6298), and retransmitted.

mod receiver;
mod sender;
pub mod settings;

use std::fmt::Debug;

use self::receiver::Receiver;
use self::sender::Sender;
pub use self::settings::{Paced, Pacing};
use super::audit_ends;
pub use crate::agent::kind;
use crate::engine::contract::conn::Conn;
use crate::engine::contract::endpoint::{Configs, Endpoint, Ends};
use crate::engine::contract::event::Owner;
use crate::engine::contract::host::{Host, Start};
use crate::engine::contract::packet::{Packet, Record};
use crate::ids::ConnId;
use crate::units::{Rate, Time};

/// The meaning of requests and replies: the part that a researcher writes. One for each flow, at its sender.
pub trait Scheme: Clone + Debug + Default {
    /// The transport's configuration.
    type Config: Paced;

    /// Whether each packet of data carries a request, or only the first after a reply.
    const EACH_ASKS: bool;

    /// Smoothed round trips after which a request without a reply is repeated, unless the scenario has another number; none:
    /// a retransmission timeout, for schemes whose ports count each request that arrives.
    const REQUEST_RTTS: Option<f64> = None;

    /// A request is about to be sent: fills in its record.
    fn ask(&mut self, asks: Asks, flow: &Flow, config: &Self::Config, record: &mut Record);

    /// The reply to a request, which was not the last; also one that arrives late, when the flow has ended.
    fn answer(&mut self, asked: Asks, record: &Record, flow: &Flow, config: &Self::Config) -> Granted;

    /// The reply to the last request, a FIN or TERM: whether switches have removed the flow. Otherwise
    /// another FIN or TERM is sent.
    fn is_off(&mut self, record: &Record) -> bool {
        let _ = record;
        true
    }

    /// Whether the sender gives the flow up now, which has a deadline. Called at each reply and before a request without
    /// payload.
    fn gives_up(&self, flow: &Flow, config: &Self::Config) -> bool {
        let _ = (flow, config);
        false
    }
}

/// The packet that carries the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asks {
    /// The SYN, perhaps not for the first time.
    First,
    /// A packet between the SYN and the FIN.
    Again,
    /// The FIN: the flow is over, complete or given up, and wants nothing.
    Last,
}

/// A sender's state of its flow.
#[derive(Clone, Copy, Debug)]
pub struct Flow<'a> {
    /// How its packets are sent.
    pub pacing: &'a Pacing,
    pub now: Time,
    /// Bytes that have not been acknowledged.
    pub left: u64,
    /// Its deadline; [`Time::NEVER`] without one.
    pub due: Time,
    /// The last round trip; none before the first answer.
    pub rtt: Option<Time>,
    /// Rate of the host's own link.
    pub line: Rate,
    /// The rate at which it may send now, in bit/s.
    pub rate: u64,
    /// Bytes that are still to be sent: those that have never been sent, and those that were lost.
    pub unsent: u64,
    /// When the last packet of data left, and its bytes on the wire.
    pub last: (Time, u32),
}

impl Flow<'_> {
    /// Bytes on the wire of the data still to be sent: for rates, which count headers.
    #[inline]
    pub fn wire_unsent(&self) -> u64 {
        self.pacing.wire_bytes(self.unsent)
    }

    /// How long to wait at that rate, in bit/s, for a packet of data with a request, so that each round trip
    /// has a request: for a round trip, or not at all if no data may leave in it.
    #[inline]
    pub fn timeout(&self, rate: u64) -> Time {
        let rtt = self.rtt.unwrap_or(Time::ZERO);
        if next_at(self.last, rate) <= self.now.saturating_add(rtt) { rtt } else { Time::ZERO }
    }
}

/// When the packet after one that left then, with so many bytes on the wire, may leave at a rate in bit/s; never without one.
#[inline]
fn next_at((left, size): (Time, u32), rate: u64) -> Time {
    match rate {
        0 => Time::NEVER,
        rate => left.saturating_add(Rate(rate).transmission(u64::from(size))),
    }
}

/// The rate that a reply allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Granted {
    /// The rate in bit/s, counted on the wire; 0: none.
    pub rate: u64,
    /// If no packet of data has carried a request by then, counted from now, one without payload does.
    pub again: Time,
}

/// Timers of a sender.
pub mod timer {
    /// The next packet may go.
    pub const PACE: u8 = 0;
    /// A request is due.
    pub const ASK: u8 = 2;
    /// Nothing has been answered for too long.
    pub const RETRANSMIT: u8 = 4;
    /// A request has not been answered for too long.
    pub const UNANSWERED: u8 = 6;
}

/// All connections of a run under one scheme.
pub struct Model<S: Scheme> {
    configs: Configs<S::Config>,
    senders: Ends<Sender<S>>,
    receivers: Ends<Receiver>,
}

impl<S: Scheme> Model<S> {
    pub(super) fn new(configs: Configs<S::Config>) -> Model<S> {
        Model { configs, senders: Ends::default(), receivers: Ends::default() }
    }
}

/// Calls that the engine would inline are not: each further transport in its loop costs all others.
impl<S: Scheme> Endpoint for Model<S> {
    fn start(&mut self, id: ConnId, start: Start, cx: &mut impl Host) {
        let config = self.configs.of(cx.conn(id));
        self.senders.open(id, cx).begin(id, start, config, cx);
    }

    fn accept(&mut self, id: ConnId, cx: &mut impl Host) {
        self.receivers.open(id, cx).clear();
    }

    #[inline(never)]
    fn at_receiver(&mut self, packet: &Packet, cx: &mut impl Host) {
        let config = self.configs.of(cx.conn(packet.conn));
        self.receivers.at(packet.conn, cx).on_packet(packet, config.pacing(), cx);
    }

    #[inline(never)]
    fn at_sender(&mut self, packet: &Packet, cx: &mut impl Host) {
        let config = self.configs.of(cx.conn(packet.conn));
        self.senders.at(packet.conn, cx).on_answer(packet, config, cx);
    }

    #[inline(never)]
    fn next_packet(&mut self, id: ConnId, cx: &mut impl Host) -> (Option<Packet>, bool) {
        let config = self.configs.of(cx.conn(id));
        self.senders.at(id, cx).next_packet(id, config, cx)
    }

    fn timer(&mut self, owner: Owner, kind: u8, cx: &mut impl Host) {
        let Owner::Sender(id) = owner else { unreachable!("only senders have timers") };
        let config = self.configs.of(cx.conn(id));
        self.senders.at(id, cx).on_timer(id, kind, config, cx);
    }

    fn rate(&self, id: ConnId, _conn: &Conn) -> Option<Rate> {
        Some(self.senders.get(id).rate())
    }

    fn audit(&self, conns: &[(ConnId, Conn)], found: &mut dyn FnMut(String)) {
        audit_ends(conns, (&self.senders, Sender::audit), (&self.receivers, Receiver::received), found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1250 B at 1 Gbps take 10 us. With a round trip of 10 us the next packet of data may leave in it, and a request waits for
    /// that; 1 ps less, or without a rate, the request goes at once. Before the first answer it waits for no packet, either.
    #[test]
    fn a_request_waits_for_data_that_leaves_in_a_round_trip() {
        let pacing = Pacing::default();
        let timeout = |rtt: Option<u64>, rate| {
            let flow = Flow {
                pacing: &pacing,
                now: Time::from_us(5),
                left: 10_000,
                due: Time::NEVER,
                rtt: rtt.map(Time),
                line: Rate(10_000_000_000),
                rate,
                unsent: 10_000,
                last: (Time::from_us(5), 1250),
            };
            flow.timeout(rate)
        };
        let line = 1_000_000_000;
        assert_eq!(timeout(Some(10_000_000), line), Time::from_us(10));
        assert_eq!(timeout(Some(9_999_999), line), Time::ZERO);
        assert_eq!(timeout(Some(10_000_000), 0), Time::ZERO);
        assert_eq!(timeout(None, line), Time::ZERO);
    }
}
