//! Homa: senders push the first bytes of each message, receivers grant the rest to the messages with the fewest bytes
//! left, and ports have priorities for both.
//!
//! Source: Montazeri, Li, Alizadeh and Ousterhout, "Homa: A Receiver-Driven Low-Latency Transport Protocol Using Network
//! Priorities", SIGCOMM 2018; details and numbers after the authors' simulator, PlatformLab/HomaSimulation, which has no
//! losses: requests for lost packets are after the paper's section 3.7, their details ours. `levels` has the
//! priorities, `grants` the messages of a receiving interface in their order; the two ends of a message are in
//! `transport/granted`.

pub mod grants;
pub mod levels;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use self::grants::{Entry, Granter};
use self::levels::Head;
use super::backoff::{DOUBLINGS_MOST, INTERVAL_LEAST, derived_interval};
use super::granted::cut::{Cut, payload_in};
use super::granted::receiver::{RESEND, Receiver};
use super::granted::sender::{PROBE, Sender};
use super::granted::{Terms, kind};
use super::{Framing, Needs, Profile, Settings, audit_ends, priorities};
use crate::advice::{self, Advice, Unread};
use crate::balancer::per_packet::PerPacket;
use crate::derived::{Derived, Environment, Longest, Values};
use crate::engine::contract::conn::Conn;
use crate::engine::contract::endpoint::{Configs, Endpoint, Ends};
use crate::engine::contract::event::Owner;
use crate::engine::contract::host::{Host, Start};
use crate::engine::contract::packet::{Header, Packet};
use crate::ids::{ConnId, LinkId};
use crate::problem::Problem;
use crate::queue::strict_priority::{MarkBy, StrictPriority};
use crate::queue::{Feature, Limit};
use crate::random::Stream;
use crate::units::{Bytes, Time};

/// Homa. Bytes that are sent without a grant and levels follow from the network and the traffic unless they are given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Homa {
    /// IP bytes of a full packet.
    #[schemars(extend("x-minimum" = "64B", "x-maximum" = "65535B"))]
    pub mtu: Bytes,
    /// Bytes of the IP and UDP headers.
    #[schemars(extend("x-maximum" = "1000B"))]
    pub network_header: Bytes,
    /// Homa's own header in an unscheduled packet (HomaSimulation: 30 B).
    #[schemars(extend("x-maximum" = "1000B"))]
    pub unscheduled_header: Bytes,
    /// Homa's own header in a scheduled packet (HomaSimulation: 16 B).
    #[schemars(extend("x-maximum" = "1000B"))]
    pub scheduled_header: Bytes,
    /// Homa's own header in a grant and other packets without payload.
    #[schemars(extend("x-maximum" = "1000B"))]
    pub control_header: Bytes,
    /// Bytes on the wire around each IP packet (HomaSimulation: 38 B of Ethernet).
    #[schemars(extend("x-maximum" = "1000B"))]
    pub frame_overhead: Bytes,
    /// Bytes on the wire of the shortest packet (HomaSimulation: 84 B).
    #[schemars(extend("x-maximum" = "1500B"))]
    pub least_frame: Bytes,
    /// Bytes on the wire below which a receiver keeps the bytes in flight to it of each message that it grants
    /// (HomaSimulation: 10,000 B at 10 Gbps). "derived": as many full packets as fill the longest path between hosts.
    #[schemars(extend("x-minimum" = "64B", "x-maximum" = "1GB"))]
    pub rtt_bytes: Derived<Bytes>,
    /// Bytes on the wire of a message that are sent without a grant. Absent: `rtt_bytes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "64B", "x-maximum" = "1GB"))]
    pub unscheduled: Option<Bytes>,
    /// Priority levels of data; grants go with level 0, the highest.
    #[schemars(range(min = 2, max = 8))]
    pub levels: u32,
    /// Levels of unscheduled data; the others are those of scheduled data. Absent: in proportion to the unscheduled bytes of
    /// the traffic, and at least one for either (HomaSimulation for W1 to W5: 7, 5, 4, 1, 1).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 7))]
    pub unscheduled_levels: Option<u32>,
    /// The size by which unscheduled packets get their levels.
    pub unscheduled_by: UnscheduledBy,
    /// The largest size of each unscheduled level but the last. Absent: those at which each level carries equally many
    /// unscheduled bytes of the traffic.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 6))]
    pub cutoffs: Option<Vec<Bytes>>,
    /// Senders that a receiver grants at a time, one message each. Absent: the number of scheduled levels.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub overcommitment: Option<u32>,
    /// The levels that fewer messages than scheduled levels have.
    pub scheduled_levels: ScheduledLevels,
    /// A grant for a message with fewer bytes on the wire left to grant has the unscheduled level of these, if that is
    /// higher. Absent: `rtt_bytes`, as in HomaSimulation; 0: no grant has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tail_boost: Option<Bytes>,
    /// Packets that a grant allows.
    #[schemars(range(min = 1, max = 1000))]
    pub grant_packets: u32,
    /// Whether a message gets its next grant only after the time of the granted bytes on the receiver's link, unless its
    /// level rises (HomaSimulation: yes).
    pub grant_pacing: bool,
    /// Whether a receiver acknowledges a complete message, whose sender keeps it until then, and lost packets are
    /// retransmitted. HomaSimulation has neither, and its ports drop nothing.
    pub acknowledge: bool,
    /// Time without a packet of an incomplete message after which its receiver asks for the missing ones; after twice the time
    /// without a packet from the receiver a sender asks whether any are missing. Doubled while nothing arrives, up to 64
    /// times. "derived": ten of the longest round trips, and at least 1 ms.
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "10s"))]
    pub resend_interval: Derived<Time>,
}

/// The size by which unscheduled packets get their levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UnscheduledBy {
    /// The bytes of the message that are left before the packet (HomaSimulation).
    Remaining,
    /// The size of the message (paper).
    Size,
}

/// The levels that fewer granted messages than scheduled levels have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ScheduledLevels {
    /// The lowest ones, so that a shorter message that begins finds a higher one free (paper).
    Lowest,
    /// The highest ones: the shortest message always has the first scheduled level.
    Highest,
}

impl Default for Homa {
    fn default() -> Self {
        Homa {
            mtu: Bytes(1500),
            network_header: Bytes(28),
            unscheduled_header: Bytes(32),
            scheduled_header: Bytes(32),
            control_header: Bytes(16),
            frame_overhead: Bytes(0),
            least_frame: Bytes(64),
            rtt_bytes: Derived::FromNetwork,
            unscheduled: None,
            levels: 8,
            unscheduled_levels: None,
            unscheduled_by: UnscheduledBy::Remaining,
            cutoffs: None,
            overcommitment: None,
            scheduled_levels: ScheduledLevels::Lowest,
            tail_boost: None,
            grant_packets: 1,
            grant_pacing: true,
            acknowledge: true,
            resend_interval: Derived::FromNetwork,
        }
    }
}

/// The values of HomaSimulation, if no network gives others.
const RTT_BYTES: Bytes = Bytes(10_000);

/// Limit of the queue by default: as many packets as an incast of 140 messages sends at once in the paper's network.
const QUEUE: Limit = Limit::FullPackets(1000);
/// No limit: HomaSimulation's ports drop nothing.
const UNLIMITED: Limit = Limit::Packets(1_000_000_000);

impl Homa {
    /// Payload and bytes on the wire beside it, of a full packet with that header of Homa's own. Total, because the check asks
    /// for it where it reports headers, too.
    fn packet(&self, header: Bytes) -> (u64, u64) {
        let headers = self.network_header.0 + header.0;
        (self.mtu.0.saturating_sub(headers).max(1), headers + self.frame_overhead.0)
    }

    fn full_packet(&self) -> u64 {
        let (payload, overhead) = self.packet(self.unscheduled_header);
        (payload + overhead).max(self.least_frame.0)
    }

    /// Bytes of a grant on the wire.
    fn control(&self) -> u64 {
        (self.network_header.0 + self.control_header.0 + self.frame_overhead.0).max(self.least_frame.0)
    }

    /// Bytes on the wire that are in flight to a granted message at most, but for one grant.
    pub fn rtt_bytes(&self) -> Bytes {
        self.rtt_bytes.or(RTT_BYTES)
    }

    fn resend_interval(&self) -> Time {
        self.resend_interval.or(INTERVAL_LEAST)
    }

    fn cut(&self) -> Cut {
        let ((first, first_overhead), (rest, rest_overhead)) =
            (self.packet(self.unscheduled_header), self.packet(self.scheduled_header));
        let unscheduled = payload_in(self.unscheduled.unwrap_or(self.rtt_bytes()).0, first, first_overhead);
        let even = self.rtt_bytes == Derived::FromNetwork && self.unscheduled.is_none();
        Cut {
            payload: [first, rest],
            overhead: [first_overhead, rest_overhead],
            least: self.least_frame.0,
            // A value derived from the network is a number of whole packets.
            unscheduled: if even { unscheduled.next_multiple_of(first) } else { unscheduled.max(1) },
        }
    }

    fn unscheduled_levels(&self) -> u32 {
        self.unscheduled_levels.unwrap_or(1).min(self.levels - 1)
    }

    fn overcommitment(&self) -> u32 {
        self.overcommitment.unwrap_or(self.levels - self.unscheduled_levels())
    }

    /// The grants of an interface: fewer messages than scheduled levels use only so many of them.
    fn granter(&self) -> Granter {
        let most = self.overcommitment();
        let scheduled = (self.levels - self.unscheduled_levels()).min(most);
        Granter::new(
            most,
            Head::new(self.levels, scheduled, self.scheduled_levels == ScheduledLevels::Highest),
        )
    }
}

impl Settings for Homa {
    fn profile(&self) -> Profile {
        let (payload, overhead) = self.packet(self.unscheduled_header);
        let (cut, full) = (self.cut(), self.full_packet());
        let limit = if self.acknowledge { QUEUE } else { UNLIMITED };
        let timeout = Time(self.resend_interval().0 << (DOUBLINGS_MOST + 1));
        Profile {
            framing: cut.is_even().then_some(Framing { payload, header: overhead, pad_last: false }),
            packet_max: full.max(cut.payload[1] + cut.overhead[1]).max(self.least_frame.0),
            answer_bytes: self.control(),
            link_bytes: self.frame_overhead.0,
            marks_unscheduled: true,
            class_field: Some("levels"),
            // Shorter messages go first: one without an end would never go.
            endless: false,
            retransmits: self.acknowledge,
            timeout_max: if self.acknowledge { timeout } else { Time::ZERO },
            initial_burst: Some(u64::from(cut.packets_unscheduled(cut.unscheduled))),
            in_flight_max: Some(self.rtt_bytes().0.div_ceil(full).max(1)),
            host_fields: vec![
                ("levels", json!(self.levels)),
                ("unscheduled_levels", json!(self.unscheduled_levels)),
                ("overcommitment", json!(self.overcommitment)),
                ("scheduled_levels", json!(self.scheduled_levels)),
            ],
            queue: StrictPriority { mark: MarkBy::None, limit, ..StrictPriority::default() }.into(),
            balancer: PerPacket {}.into(),
            ..Profile::new(payload, overhead)
        }
    }

    fn needs(&self) -> Needs {
        Needs { features: vec![Feature::Classes], ..Needs::default() }
    }

    fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        for (field, header) in
            [("unscheduled_header", self.unscheduled_header), ("scheduled_header", self.scheduled_header)]
        {
            if self.network_header.0 + header.0 >= self.mtu.0 {
                let why = format!(
                    "{header} and the network_header of {} leave no payload in an mtu of {}",
                    self.network_header, self.mtu
                );
                problems.push(Problem::new(field, why));
            }
        }
        if let Some(own) = self.unscheduled_levels.filter(|own| *own >= self.levels) {
            let why = format!("{own} of {} levels leave none for scheduled data", self.levels);
            problems.push(Problem::new("unscheduled_levels", why));
        }
        if let (Some(own), Some(cutoffs)) = (self.unscheduled_levels, &self.cutoffs)
            && cutoffs.len() >= own as usize
        {
            let why =
                format!("{} sizes part more than the {own} levels of unscheduled_levels", cutoffs.len());
            problems.push(Problem::new("cutoffs", why));
        }
        let cutoffs = self.cutoffs.as_deref().unwrap_or_default();
        for (index, pair) in cutoffs.windows(2).enumerate().filter(|(_, pair)| pair[0] >= pair[1]) {
            let why = format!("{} must be above {}: sizes rise", pair[1], pair[0]);
            problems.push(Problem::new(format!("cutoffs.{}", index + 1), why));
        }
        problems
    }

    fn unread(&self) -> Vec<Unread> {
        Unread::among([("resend_interval", self.acknowledge, "acknowledge = true")])
    }

    fn packets(&self, size: u64, _chance: Stream) -> Option<Box<dyn Iterator<Item = u64> + '_>> {
        Some(Box::new(self.cut().wires(size)))
    }

    fn derived(&self, environment: &Environment) -> Values {
        let mut values = Vec::new();
        let mut settled = self.clone();
        if self.rtt_bytes == Derived::FromNetwork {
            let full = self.full_packet();
            let bytes =
                Bytes((u64::from(environment.longest.packets(full)).max(1) * full).min(1_000_000_000));
            settled.rtt_bytes = Derived::Given(bytes);
            values.push(("rtt_bytes".into(), json!(bytes)));
        }
        values.extend(derived_interval("resend_interval", self.resend_interval, environment));
        if self.unscheduled_levels.is_some() && self.cutoffs.is_some() {
            return values;
        }
        let (sizes, cut) = (environment.sizes(), settled.cut());
        let levels = self.unscheduled_levels.unwrap_or_else(|| {
            let least = self.cutoffs.as_ref().map_or(1, |cutoffs| cutoffs.len() as u32 + 1);
            let share = levels::unscheduled_share(&sizes, &cut, self.control());
            levels::unscheduled_levels(share, self.levels).max(least).min(self.levels - 1)
        });
        if self.unscheduled_levels.is_none() {
            values.push(("unscheduled_levels".into(), json!(levels)));
        }
        if self.cutoffs.is_none() {
            let by_remaining = self.unscheduled_by == UnscheduledBy::Remaining;
            let cutoffs = levels::cutoffs(&sizes, &cut, levels, by_remaining);
            let cutoffs: Vec<Bytes> = cutoffs.into_iter().map(Bytes).collect();
            values.push(("cutoffs".into(), json!(cutoffs)));
        }
        values
    }

    fn advice(&self, path: &str, longest: &Longest) -> Vec<Advice> {
        let full = self.full_packet();
        let window = (self.rtt_bytes().0.div_ceil(full), full);
        advice::window(path, "rtt_bytes", window, longest, "\"derived\"".into()).into_iter().collect()
    }
}

/// A configuration in the form in which events read it.
#[derive(Clone, Debug)]
pub struct Plan {
    terms: Terms,
    /// Bytes on the wire in flight from which on a message gets no grant.
    window: u64,
    /// Bytes of a full packet on the wire.
    full: u32,
    unscheduled_levels: u8,
    cutoffs: Vec<u64>,
    by_remaining: bool,
    tail_boost: u64,
    grant_packets: u32,
    grant_pacing: bool,
    /// For the interfaces of hosts.
    granter: Granter,
}

impl Plan {
    fn new(config: Homa) -> Plan {
        let window = config.rtt_bytes().0;
        Plan {
            terms: Terms {
                cut: config.cut(),
                control: config.control() as u32,
                acknowledge: config.acknowledge,
                resend_interval: config.resend_interval(),
            },
            window,
            full: config.full_packet() as u32,
            unscheduled_levels: config.unscheduled_levels() as u8,
            by_remaining: config.unscheduled_by == UnscheduledBy::Remaining,
            tail_boost: config.tail_boost.map_or(window, |bytes| bytes.0),
            grant_packets: config.grant_packets,
            grant_pacing: config.grant_pacing,
            granter: config.granter(),
            cutoffs: config.cutoffs.unwrap_or_default().into_iter().map(|bytes| bytes.0).collect(),
        }
    }

    /// The level of unscheduled data of that size.
    fn level_of(&self, size: u64) -> u8 {
        priorities::class_of(&self.cutoffs, size).min(self.unscheduled_levels - 1)
    }

    /// The level of an unscheduled packet.
    #[inline]
    fn unscheduled_level(&self, size: u64, offset: u64) -> u8 {
        self.level_of(if self.by_remaining { size - offset } else { size })
    }

    /// The level of a grant, given that by rank.
    fn grant_level(&self, by_rank: u8, left: u64) -> u8 {
        let is_tail = self.terms.cut.scheduled_wire(left) < self.tail_boost;
        if is_tail { by_rank.min(self.level_of(left)) } else { by_rank }
    }
}

/// All Homa messages of a run, whatever their configurations, since those of an interface are granted together.
pub struct Model {
    plans: Configs<Plan>,
    senders: Ends<Sender>,
    receivers: Ends<Receiver>,
    /// By link; those that end at switches grant nothing.
    granters: Vec<Granter>,
}

/// The timer of an interface.
const GRANT_TURN: u8 = 2;

impl Model {
    pub(super) fn new(configs: Configs<Homa>) -> Model {
        let plans = configs.map(Plan::new);
        let granters = vec![plans.of_host().granter.clone(); plans.ports().links];
        Model { plans, senders: Ends::default(), receivers: Ends::default(), granters }
    }

    /// Tells the port whether a message may send, and its rank.
    fn settle(&mut self, id: ConnId, cx: &mut impl Host) {
        let sender = self.senders.at(id, cx);
        if sender.may_send() {
            cx.ready_by(id, sender.left(&self.plans.of(cx.conn(id)).terms.cut));
        }
    }

    /// The first packet of a message has arrived: unless all of it is unscheduled, its receiver is to grant the rest.
    fn join(&mut self, packet: &Packet, cx: &mut impl Host) {
        let id = packet.conn;
        let plan = self.plans.of(cx.conn(id));
        let Receiver { size, unscheduled, granted, link, .. } = *self.receivers.at(id, cx);
        if size > unscheduled {
            let flight = (plan.terms.cut.unscheduled_wire(unscheduled), plan.window);
            let entry = Entry::new(id, cx.conn(id).src, size - unscheduled, flight, granted);
            self.granters[link as usize].join(entry);
        }
    }

    /// A data packet: fewer bytes are in flight to its message, and grants may be due.
    #[inline]
    fn on_data(&mut self, packet: &Packet, cx: &mut impl Host) {
        let id = packet.conn;
        let plan = self.plans.of(cx.conn(id));
        let received = self.receivers.at(id, cx).on_data(packet, &plan.terms, cx);
        if received.begins {
            self.join(packet, cx);
        }
        let receiver = self.receivers.at(id, cx);
        if receiver.is_granted() {
            return;
        }
        let link = receiver.link;
        if received.is_new {
            self.granters[link as usize].arrived(id, u64::from(packet.size));
        }
        self.grant(LinkId(link), cx);
    }

    /// Sends all grants of an interface that are due, and sets its timer to the next one.
    fn grant(&mut self, link: LinkId, cx: &mut impl Host) {
        let granter = &mut self.granters[link.index()];
        let now = cx.now();
        while let Some((rank, by_rank)) = granter.first_due(now) {
            let Entry { conn: id, left, next, .. } = *granter.at(rank);
            let plan = self.plans.of(cx.conn(id));
            let receiver = self.receivers.at(id, cx);
            let bytes = left.min(u64::from(plan.grant_packets) * plan.terms.cut.payload[1]);
            let packets = bytes.div_ceil(plan.terms.cut.payload[1]) as u32;
            let wire = plan.terms.cut.scheduled_wire(bytes);
            let gap = if plan.grant_pacing { cx.transmission(link, plan.full * packets) } else { Time::ZERO };
            receiver.granted = next + packets;
            granter.grant(rank, by_rank, receiver.granted, (bytes, wire), now + gap);
            let level = plan.grant_level(by_rank, left);
            let header = Header {
                kind: kind::GRANT,
                number: receiver.granted,
                len: level.into(),
                ..Header::default()
            };
            cx.send_to_sender(id, plan.terms.control, header);
        }
        match granter.next_at() {
            Time::NEVER => granter.timer.clear(),
            due => cx.set_timer(&mut granter.timer, due, Owner::Interface(link), GRANT_TURN),
        }
    }
}

impl Endpoint for Model {
    fn start(&mut self, id: ConnId, start: Start, cx: &mut impl Host) {
        let plan = self.plans.of(cx.conn(id));
        let unscheduled = plan.terms.cut.unscheduled_of(start.size);
        self.senders.open(id, cx).reset(&plan.terms, start.size, unscheduled);
        self.settle(id, cx);
    }

    fn accept(&mut self, id: ConnId, cx: &mut impl Host) {
        self.receivers.open(id, cx).reset();
    }

    #[inline]
    fn at_receiver(&mut self, packet: &Packet, cx: &mut impl Host) {
        let plan = self.plans.of(cx.conn(packet.conn));
        let receiver = self.receivers.at(packet.conn, cx);
        match packet.header.kind {
            kind::PROBE => {
                if receiver.on_probe(packet, &plan.terms, cx) {
                    self.join(packet, cx);
                    self.grant(packet.ingress, cx);
                }
            }
            kind::BUSY => receiver.on_busy(packet.conn, &plan.terms, cx),
            _ => self.on_data(packet, cx),
        }
    }

    #[inline]
    fn at_sender(&mut self, packet: &Packet, cx: &mut impl Host) {
        let id = packet.conn;
        if cx.sender(id).acked_at != Time::NEVER {
            return;
        }
        let sender = self.senders.at(id, cx);
        match packet.header.kind {
            kind::GRANT => sender.on_grant(&packet.header),
            kind::RESEND => {
                let plan = self.plans.of(cx.conn(id));
                sender.on_resend(id, &packet.header, &plan.terms, cx);
            }
            _ => return sender.on_ack(id, cx),
        }
        self.settle(id, cx);
    }

    #[inline]
    fn next_packet(&mut self, id: ConnId, cx: &mut impl Host) -> (Option<Packet>, bool) {
        let plan = self.plans.of(cx.conn(id));
        let sender = self.senders.at(id, cx);
        if !sender.may_send() {
            return (None, false);
        }
        let level = |size, offset| plan.unscheduled_level(size, offset);
        let packet = sender.next_packet(id, &plan.terms, level, cx);
        let more = sender.may_send();
        if more {
            cx.change_rank(id, sender.left(&plan.terms.cut));
        }
        (Some(packet), more)
    }

    fn timer(&mut self, owner: Owner, kind: u8, cx: &mut impl Host) {
        match (owner, kind) {
            (Owner::Sender(id), PROBE) => {
                self.senders.at(id, cx).on_timer(id, &self.plans.of(cx.conn(id)).terms, cx);
            }
            (Owner::Receiver(id), RESEND) => {
                self.receivers.at(id, cx).on_timer(id, &self.plans.of(cx.conn(id)).terms, cx);
            }
            (Owner::Interface(link), GRANT_TURN) => {
                if cx.timer_is_due(&mut self.granters[link.index()].timer, owner, kind) {
                    self.grant(link, cx);
                }
            }
            _ => unreachable!("Homa has no other timers"),
        }
    }

    /// Messages are granted in order, none has more in flight than a window and a grant, and no due grant is without a timer.
    fn audit(&self, conns: &[(ConnId, Conn)], found: &mut dyn FnMut(String)) {
        audit_ends(conns, (&self.senders, Sender::audit), (&self.receivers, Receiver::received), found);
        for (link, granter) in self.granters.iter().enumerate() {
            if !granter.is_sorted() {
                found(format!("link {link}: messages to grant are out of order"));
            }
            if granter.next_at() != Time::NEVER && !granter.timer.is_set() {
                found(format!("link {link}: grants are due and no timer is set"));
            }
        }
        for (id, conn) in conns {
            let plan = self.plans.of(conn);
            let own = self.granters.iter().flat_map(Granter::entries).find(|entry| entry.conn == *id);
            let grant = u64::from(plan.full) * u64::from(plan.grant_packets);
            let most =
                plan.terms.cut.unscheduled_wire(plan.terms.cut.unscheduled).max(plan.window - 1 + grant);
            if let Some(entry) = own.filter(|entry| entry.in_flight > most) {
                found(format!(
                    "connection {id}: {} B in flight, at most {most} are granted",
                    entry.in_flight
                ));
            }
        }
    }
}
