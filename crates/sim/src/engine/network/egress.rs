//! The head of a link: a port, its queued packets, and the choice of the next one.

use crate::engine::calendar::Calendar;
use crate::engine::contract::discipline::{Discipline, DropReason, PortContext, Queued};
use crate::engine::data::event::{Event, Phase, order};
use crate::engine::data::finished::LinkCounts;
use crate::engine::data::gate::Stops;
use crate::engine::data::points::Step;
use crate::engine::data::port::{Amount, Departures, Losses, Port};
use crate::engine::data::rules::Rules;
use crate::ids::{LinkId, PacketId};
use crate::random::Stream;
use crate::units::Time;

/// The head of a directed link: a port, its queue, and the queue's random stream.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Egress<Q> {
    pub port: Port,
    /// Queued packets, or computed departures.
    pub queue: PortQueue<Q>,
    /// Random stream of the queue.
    pub stream: Stream,
    /// Packets that the queue has dropped, trimmed or returned.
    pub losses: Losses,
}

/// Queue of a port: computed departures, or packets.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "one a port, indexed in the hot loop: no indirection")]
pub enum PortQueue<Q> {
    /// Nothing waits: each packet's departure was computed when it came.
    Committed(Departures, Rules),
    /// Packets wait until the wire is free.
    Serviced(Q),
}

impl<Q> Egress<Q> {
    /// Packets and bytes whose transmission had begun by that time, and bytes in the port integrated until then; the port must
    /// be up to date.
    pub fn sent_and_area(&self, at: Time) -> (Amount, i128) {
        match &self.queue {
            PortQueue::Committed(departures, _) => departures.sent_and_area(&self.port, at),
            PortQueue::Serviced(_) => (self.port.sent, self.port.area(at)),
        }
    }

    /// Counters of the link until that time; the port must be up to date.
    pub fn counts(&self, stops: Option<&Stops>, at: Time) -> LinkCounts {
        let Egress { port, losses, .. } = self;
        let (sent, area) = self.sent_and_area(at);
        let still = |stops: &Stops| if port.paused == 0 { Time::ZERO } else { at - stops.since };
        LinkCounts {
            sent,
            losses: *losses,
            lost: port.fault.as_ref().map_or(0, |fault| fault.lost),
            busy: self.busy(at),
            area,
            bytes_max: port.bytes_max,
            packets_max: port.packets_max,
            pauses: stops.map_or(0, |stops| stops.pauses),
            paused: stops.map_or(Time::ZERO, |stops| stops.paused + still(stops)),
        }
    }

    /// Time until now in which packets were on the wire; the port must be up to date.
    pub fn busy(&self, now: Time) -> Time {
        let port = &self.port;
        match &self.queue {
            // What waits counts as sent.
            PortQueue::Committed(departures, _) => {
                let waits = port.bytes - u64::from(departures.wire_bytes());
                port.busy(port.sent.bytes - waits, departures.left(now))
            }
            // The wire may be taken by a pause frame, which is no packet.
            PortQueue::Serviced(_) if port.wire_bytes == 0 => port.busy(port.sent.bytes, Time::ZERO),
            PortQueue::Serviced(_) => port.busy(port.sent.bytes, port.free_at - now),
        }
    }
}

// Functions that have `WATCHED` note points for observers if it is true. It is a parameter of the type, so that runs without
// such observers execute no test for them: see `Engine::run`.

/// Starts every transmission that was due by now, and brings the port's occupancy up to date.
#[inline(always)]
pub fn catch_up<const WATCHED: bool>(queue: &mut impl Discipline, cx: &mut PortContext, now: Time) {
    while cx.port.free_at <= now && cx.port.lookahead > Time::ZERO && !queue.is_empty() {
        let at = cx.port.free_at;
        // A queue decides as it would have at that time.
        cx.now = at;
        cx.port.settle(at);
        if WATCHED {
            cx.turn_at(at);
        }
        let Some(packet) = queue.dequeue(cx) else {
            debug_assert!(queue.is_empty(), "a queue that holds packets gives one");
            break;
        };
        start::<WATCHED>(cx, packet, at);
    }
    if WATCHED {
        cx.after.watch.turn = None;
    }
    cx.now = now;
    cx.port.settle(now);
}

/// Puts a packet that is counted in the port on its wire, which is free at that time.
#[inline(always)]
pub fn start<const WATCHED: bool>(cx: &mut PortContext, packet: Queued, at: Time) {
    // A packet's first port is its host's, which is never served in retrospect.
    if cx.port.lookahead == Time::ZERO && cx.arena[packet.id].ingress == LinkId::NONE {
        cx.arena[packet.id].wire_at = at;
    }
    // One test for both, of which most runs have neither.
    if cx.port.stamps | cx.port.shares {
        note_start(cx, packet, at);
    }
    if WATCHED {
        cx.see(Step::Started, packet.id);
    }
    cx.port.wire_bytes = packet.size;
    let (_, arrival) = cx.port.transmit(at, packet.size);
    let mut event = arrival_event(cx.port, arrival, packet.id);
    if let Some(fault) = &mut cx.port.fault
        && fault.loses(arrival)
    {
        event.order = order(Phase::Lost, cx.port.rank, event.word());
    }
    cx.arrives(event);
    cx.port.turn = cx.calendar.ties.begun;
}

/// The transmission of a packet begins, at a port that writes into its record or shares memory.
#[inline(never)]
fn note_start(cx: &mut PortContext, packet: Queued, at: Time) {
    if cx.port.stamps {
        cx.arena.stamp(packet.id, (cx.link, cx.port), at);
    }
    if cx.port.shares {
        cx.free(packet);
    }
}

/// A packet comes to a port whose wire is taken.
#[inline(always)]
pub fn wait<const WATCHED: bool>(queue: &mut impl Discipline, id: PacketId, cx: &mut PortContext) {
    if WATCHED {
        cx.after.watch.offered = Some(id);
    }
    if cx.port.shares && !cx.has_room(id) {
        cx.drop(id, DropReason::Full);
    } else {
        queue.enqueue(id, cx);
    }
    if WATCHED {
        cx.see_offered();
    }
    if !cx.port.serving && !queue.is_empty() {
        schedule_departure(cx.port, cx.calendar);
    }
}

/// The same at the instant at which the wire becomes free, before it does: ties by arrival only.
#[cold]
#[inline(never)]
pub fn wait_for_end<const WATCHED: bool>(queue: &mut impl Discipline, id: PacketId, cx: &mut PortContext) {
    wait::<WATCHED>(queue, id, cx);
}

/// A packet comes to a port whose wire is free: the packet to send at once, if there is one.
#[inline(always)]
pub fn pass(queue: &mut impl Discipline, id: PacketId, cx: &mut PortContext) -> Option<Queued> {
    if cx.port.shares && !cx.has_room(id) {
        cx.drop(id, DropReason::Full);
        return None;
    }
    queue.pass(id, cx)
}

/// Asks for an event when what waits must be served at the latest.
#[inline]
pub fn schedule_departure(port: &mut Port, calendar: &mut Calendar) {
    debug_assert!(!port.serving, "one departure event at a time");
    port.serving = true;
    let time = port.free_at + port.lookahead;
    calendar.push(Event { time, order: order(Phase::Departure, port.rank, port.turn), a: 0 });
}

/// A packet's arrival at the end of a link, counted by what the port has sent.
#[inline(always)]
pub fn arrival_event(port: &Port, time: Time, id: PacketId) -> Event {
    let order = order(Phase::Arrival, port.rank, port.sent.packets as u32);
    Event { time, order, a: id.0 }
}
