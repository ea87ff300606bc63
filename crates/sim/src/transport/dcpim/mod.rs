//! dcPIM: hosts match themselves, round by round, for a time in which the matched senders have all of their receivers' tokens.
//!
//! Source: Cai, Arashloo and Agarwal, "dcPIM: Near-Optimal Proactive Datacenter Transport", SIGCOMM 2022; rules and numbers after
//! the authors' simulator, Terabit-Ethernet/dcPIM (`simulator/ext/pimhost`, `pimflow`). `clock` has the epochs and rounds,
//! `matching` the channels that both sides of a matching give away, `tokens` the flows of a receiving interface, `sender` the
//! sending end; the order of the events is in this file.
//!
//! Ours, where that simulator leaves a case open or to the order of its events:
//! - an interface is a host of its own: channels are shares of its link;
//! - a host looks at the clock when it has something to do, and sets no timer without an incomplete flow;
//! - a sender's packets go by the rank of their tokens, then by the time at which these came (there, a heap whose order is not
//!   total); tokens left out for short flows are forgotten after the time of their packets (there, kept);
//! - tokens of an interface are a packet's time apart, whichever sender they are for (there, each matched sender has one at once when
//!   a data phase begins, so that phases of 226.03 packets have 227 tokens or more);
//! - a matched sender whose flows all wait for packets goes on when the first wait is over (there, in the next data phase);
//! - a random order follows from draws of the flows' own streams; requests that come late, for their round, are dropped as there.

pub mod clock;
pub mod matching;
pub mod sender;
pub mod settings;
pub mod tokens;

use self::matching::{Channels, Matches, Offer, Uplink};
use self::sender::Sender;
pub use self::settings::Dcpim;
use self::settings::Plan;
use self::tokens::{Entry, Flows, Turn};
use super::audit_ends;
use super::reassembly::Arrival;
use super::tokened::{REQUEST, Receiver};
use crate::engine::contract::conn::Conn;
use crate::engine::contract::endpoint::{Configs, Endpoint, Ends};
use crate::engine::contract::event::Owner;
use crate::engine::contract::host::{Host, Start, Timer};
use crate::engine::contract::packet::{Header, Packet};
use crate::ids::{ConnId, LinkId};
use crate::random::Purpose;
use crate::units::Time;

/// Values of `Header::kind`. A token: `number` is the packet that it is for, `seq` its expiry, `ack` its own number, from 1 on, and
/// its rank above. Packets of a matching: `number` is the packets left, `seq` the round, `ack` the channels.
mod kind {
    pub use crate::transport::tokened::kind::*;
    pub const REQUEST: u8 = 5;
    pub const GRANT: u8 = 6;
    pub const ACCEPT: u8 = 7;
    /// Channels that have been accepted and that the sender has given to others before.
    pub const RETURN: u8 = 8;
}

/// The receiving side of an interface.
#[derive(Clone, Debug, Default)]
struct Downlink {
    flows: Flows,
    matches: Matches,
    /// No token goes before, to whichever sender.
    free_at: Time,
    stage: Timer,
    token: Timer,
}

/// All dcPIM flows of a run, whatever their configurations, since those of an interface share its channels.
pub struct Model {
    plans: Configs<Plan>,
    senders: Ends<Sender>,
    receivers: Ends<Receiver>,
    /// By link to the host; those that end at switches have nothing.
    downlinks: Vec<Downlink>,
    uplinks: Vec<Uplink>,
}

/// Timers of an interface: a round or a data phase begins; a token is due; requests are to be answered.
const STAGE: u8 = 1;
const TOKEN: u8 = 2;
const GRANT: u8 = 3;

/// The ends of a matching, of which each draws its own random numbers.
const AT_SENDER: u64 = 1;
const AT_RECEIVER: u64 = 2;

impl Model {
    pub(super) fn new(configs: Configs<Dcpim>) -> Model {
        let plans = configs.map(Dcpim::plan);
        let links = plans.ports().links;
        Model {
            plans,
            senders: Ends::default(),
            receivers: Ends::default(),
            downlinks: vec![Downlink::default(); links],
            uplinks: vec![Uplink::default(); links],
        }
    }

    /// Whether a sender may send, and its rank, for its port.
    fn settle(&mut self, id: ConnId, cx: &mut impl Host) {
        if let Some(rank) = self.senders.at(id, cx).rank() {
            cx.ready_by(id, rank);
        }
    }

    /// The first packet of a flow has arrived, a request to send or data.
    fn join(&mut self, packet: &Packet, cx: &mut impl Host) {
        let (id, now, link) = (packet.conn, cx.now(), packet.ingress);
        let (plan, host) = (self.plans.of(cx.conn(id)), self.plans.of_host());
        let receiver = self.receivers.at(id, cx);
        (receiver.packets, receiver.link) = (plan.format.packets(packet.header.seq), link.0);
        let (packets, free) = (receiver.packets, plan.free(receiver.packets));
        let taken = now.saturating_add(Time(cx.transmission(link, plan.format.full).0 * u64::from(free)));
        let due = taken.saturating_add(host.rules.resend);
        let entry = Entry::new(id, cx.conn(id).src, (packets, free), (now, due));
        let Downlink { flows, stage, .. } = &mut self.downlinks[link.index()];
        flows.join(entry, (free, taken));
        let at = host.clock.next_stage(entry.ready_at(now));
        if at < stage.due() {
            cx.set_timer(stage, at, Owner::Interface(link), STAGE);
        }
    }

    /// A round of matching is over at a receiver, or begins, or a data phase does.
    fn stage(&mut self, link: LinkId, cx: &mut impl Host) {
        self.accept_grants(link, cx);
        if let Some(round) = self.plans.of_host().clock.round_at(cx.now()) {
            self.ask(link, round, cx);
        }
        self.serve(link, cx);
        let Downlink { flows, matches, stage, .. } = &mut self.downlinks[link.index()];
        let now = cx.now();
        let from = if matches.is_open() { now } else { flows.ready_at(now) };
        if flows.is_empty() {
            return stage.clear();
        }
        let at = self.plans.of_host().clock.next_stage(from.max(now + Time(1)));
        cx.set_timer(stage, at, Owner::Interface(link), STAGE);
    }

    /// At the end of a round a receiver accepts as many of the channels that have been granted as it has left.
    fn accept_grants(&mut self, link: LinkId, cx: &mut impl Host) {
        let (now, host) = (cx.now(), self.plans.of_host());
        let matches = &mut self.downlinks[link.index()].matches;
        let mut room = matches.room(host.rules.channels);
        while let Some(grant) = matches.grants.next(&mut room) {
            matches.accept(&grant, now);
            let control = self.plans.of(cx.conn(grant.conn)).format.control;
            cx.send_to_sender(grant.conn, control, offered(kind::ACCEPT, &grant));
        }
        matches.grants.clear();
        matches.roll(host.clock.phases(now), now);
    }

    /// A receiver asks each of its senders for the channels that its shortest flow there can use.
    fn ask(&self, link: LinkId, round: u64, cx: &mut impl Host) {
        let (now, host) = (cx.now(), self.plans.of_host());
        let per_channel = host.per_channel(cx.transmission(link, host.format.full));
        let Downlink { flows, matches, .. } = &self.downlinks[link.index()];
        let room = matches.room(host.rules.channels);
        for flow in flows.asking(now).filter(|_| room.all > 0) {
            let all = flow.left.div_ceil(per_channel).saturating_sub(matches.of(flow.source)).min(room.all);
            if all > 0 {
                let prompt = if host.prompt { all.min(room.prompt) } else { 0 };
                let channels = Channels { all, prompt };
                let header = Header {
                    kind: kind::REQUEST,
                    number: flow.left,
                    seq: round,
                    ack: channels.word(),
                    ..Header::default()
                };
                cx.send_to_sender(flow.conn, self.plans.of(cx.conn(flow.conn)).format.control, header);
            }
        }
    }

    /// Sends the tokens that are due at an interface, and sets the timer to the next one. If a stage is to come at this instant it
    /// does so: it accepts grants before a data phase begins.
    fn serve(&mut self, link: LinkId, cx: &mut impl Host) {
        let (now, host) = (cx.now(), self.plans.of_host());
        let packet = cx.transmission(link, host.format.full);
        let slot = packet.0 * u64::from(host.rules.channels);
        let Downlink { flows, matches, free_at, stage, token: timer } = &mut self.downlinks[link.index()];
        if stage.due() == now {
            return;
        }
        let phases = host.clock.phases(now);
        matches.roll(phases, now);
        let expires = host.clock.phase_begins(phases) + host.one_way + Time(slot);
        let mut due = Time::NEVER;
        for matched in matches.sending() {
            let source = matched.source;
            let at = matched.next_at.max(*free_at);
            if at > now {
                due = if flows.has(source) { due.min(at) } else { due };
                continue;
            }
            match flows.turn(source, matched.sends(), now, &host.rules) {
                Turn::Wait(until) => {
                    due = due.min(until);
                    continue;
                }
                Turn::LeftOut => {}
                Turn::Token(place) => {
                    let Entry { conn: id, next, sent, .. } = *flows.at(place);
                    let receiver = self.receivers.at(id, cx);
                    let number = receiver.missing(next);
                    flows.given(place, receiver.missing_from(number + 1), now, &host.rules);
                    let ack = u64::from(sent) | u64::from(matched.rank) << 32;
                    let header =
                        Header { kind: kind::TOKEN, number, seq: expires.0, ack, ..Header::default() };
                    cx.send_to_sender(id, self.plans.of(cx.conn(id)).format.control, header);
                }
            }
            matched.took_its_turn(Time(slot / u64::from(matched.sends())), now);
            *free_at = now + packet;
            due = due.min(matched.next_at.max(*free_at));
        }
        match due {
            Time::NEVER => timer.clear(),
            due => cx.set_timer(timer, due, Owner::Interface(link), TOKEN),
        }
    }

    /// A data packet; whether a token may go now that could not before.
    fn on_data(&mut self, packet: &Packet, cx: &mut impl Host) -> bool {
        let Packet { conn: id, header: Header { kind, number, len, ack, .. }, .. } = *packet;
        cx.note_arrival(packet);
        let receiver = self.receivers.at(id, cx);
        let delivered = receiver.delivery.receive(id, number, len, kind == kind::LAST, cx);
        let source = cx.conn(id).src;
        let Downlink { flows, matches, stage, .. } = &mut self.downlinks[receiver.link as usize];
        if delivered.completes {
            flows.leave(source, id);
            matches.grants.leave(id);
            if flows.is_empty() {
                matches.grants.clear();
                stage.clear();
            }
        }
        delivered.completes
            || delivered.arrival != Arrival::Duplicate && flows.arrived(source, id, ack as u32)
    }

    /// A request to send or data, at its receiver.
    fn on_flow(&mut self, packet: &Packet, cx: &mut impl Host) {
        let id = packet.conn;
        let joins = self.receivers.at(id, cx).packets == 0;
        if joins {
            self.join(packet, cx);
        }
        let opens = packet.header.kind != kind::RTS && self.on_data(packet, cx);
        let receiver = self.receivers.at(id, cx);
        if receiver.delivery.is_complete() {
            let control = self.plans.of(cx.conn(id)).format.control;
            cx.send_to_sender(id, control, Header { kind: kind::ACK, ..Header::default() });
        }
        let link = LinkId(receiver.link);
        if joins || opens {
            self.serve(link, cx);
        }
    }

    /// A request or a grant as its end keeps it. In the first rounds the one with the fewest packets left goes first.
    fn offer(&self, packet: &Packet, end: u64, cx: &impl Host) -> Offer {
        let Packet { conn, header: Header { number: left, seq: round, ack, .. }, .. } = *packet;
        let host = self.plans.of_host();
        let Conn { src: source, key, .. } = *cx.conn(conn);
        let key = if host.clock.number(round) < host.srpt_rounds {
            u64::from(left)
        } else {
            cx.flow_stream(Purpose::Control, key).bits_at(2 * round + end)
        };
        Offer { conn, source, round, left, channels: Channels::of_word(ack), key }
    }

    /// A request for channels, at its sender.
    fn on_request(&mut self, packet: &Packet, cx: &mut impl Host) {
        let clock = &self.plans.of_host().clock;
        let round = packet.header.seq;
        let due = clock.halfway(round);
        if clock.round_at(cx.now()) != Some(round) || cx.now() > due {
            return;
        }
        let offer = self.offer(packet, AT_SENDER, cx);
        let link = cx.port(packet.conn).reverse();
        let uplink = &mut self.uplinks[link.index()];
        uplink.requests.push(offer);
        cx.set_timer(&mut uplink.timer, due, Owner::Interface(link), GRANT);
    }

    /// Half a round after the requests: a sender gives channels to some of them.
    fn grant(&mut self, link: LinkId, cx: &mut impl Host) {
        let (host, uplink) = (self.plans.of_host(), &mut self.uplinks[link.index()]);
        uplink.roll(host.clock.phases(cx.now()));
        let mut room = uplink.room(host.rules.channels);
        while let Some(request) = uplink.requests.next(&mut room) {
            let control = self.plans.of(cx.conn(request.conn)).format.control;
            cx.send_to_receiver(request.conn, control, offered(kind::GRANT, &request));
        }
        uplink.requests.clear();
    }

    /// A grant, at its receiver: it is accepted at the end of its round.
    fn on_grant(&mut self, packet: &Packet, cx: &mut impl Host) {
        let clock = &self.plans.of_host().clock;
        let receiver = self.receivers.at(packet.conn, cx);
        if receiver.delivery.is_complete() || clock.round_at(cx.now()) != Some(packet.header.seq) {
            return;
        }
        let link = receiver.link as usize;
        let offer = self.offer(packet, AT_RECEIVER, cx);
        self.downlinks[link].matches.grants.push(offer);
    }

    /// Channels are accepted, at their sender, which returns those that it has not left.
    fn on_accept(&mut self, packet: &Packet, cx: &mut impl Host) {
        let (id, Header { seq: round, ack, .. }) = (packet.conn, packet.header);
        let host = self.plans.of_host();
        let uplink = &mut self.uplinks[cx.port(id).reverse().index()];
        uplink.roll(host.clock.phases(cx.now()));
        let accepted = Channels::of_word(ack);
        let excess = uplink.accepted(host.clock.epoch(round), accepted, host.rules.channels);
        if excess.all > 0 && cx.sender(id).acked_at == Time::NEVER {
            let header = Header { kind: kind::RETURN, seq: round, ack: excess.word(), ..Header::default() };
            cx.send_to_receiver(id, self.plans.of(cx.conn(id)).format.control, header);
        }
    }

    /// A sender returns channels, at its receiver.
    fn on_return(&mut self, packet: &Packet, cx: &mut impl Host) {
        let (clock, Header { seq: round, ack, .. }) = (&self.plans.of_host().clock, packet.header);
        let link = self.receivers.at(packet.conn, cx).link;
        let matches = &mut self.downlinks[link as usize].matches;
        matches.returned(clock.epoch(round), cx.conn(packet.conn).src, Channels::of_word(ack));
    }
}

/// The header of a grant or an accept.
fn offered(kind: u8, offer: &Offer) -> Header {
    let Offer { left: number, round: seq, channels, .. } = *offer;
    Header { kind, number, seq, ack: channels.word(), ..Header::default() }
}

impl Endpoint for Model {
    fn start(&mut self, id: ConnId, start: Start, cx: &mut impl Host) {
        let plan = self.plans.of(cx.conn(id));
        let sender = self.senders.open(id, cx);
        sender.reset(plan, start.size, cx.now());
        sender.tokened.request(id, &plan.format, cx);
        self.settle(id, cx);
    }

    fn accept(&mut self, id: ConnId, cx: &mut impl Host) {
        self.receivers.open(id, cx).clear();
    }

    #[inline]
    fn at_receiver(&mut self, packet: &Packet, cx: &mut impl Host) {
        match packet.header.kind {
            kind::GRANT => self.on_grant(packet, cx),
            kind::RETURN => self.on_return(packet, cx),
            _ => self.on_flow(packet, cx),
        }
    }

    #[inline]
    fn at_sender(&mut self, packet: &Packet, cx: &mut impl Host) {
        let (id, Header { kind, ack, .. }) = (packet.conn, packet.header);
        // The flow may have ended; its channels are its host's.
        if kind == kind::ACCEPT {
            return self.on_accept(packet, cx);
        }
        if cx.sender(id).acked_at != Time::NEVER {
            return;
        }
        match kind {
            kind::REQUEST => self.on_request(packet, cx),
            kind::ACK => {
                self.uplinks[cx.port(id).reverse().index()].requests.leave(id);
                self.senders.at(id, cx).tokened.on_ack(id, cx);
            }
            _ => {
                let (plan, rank) = (self.plans.of(cx.conn(id)), (ack >> 32) as u8);
                self.senders.at(id, cx).on_token(id, &packet.header, rank, plan, cx);
                self.settle(id, cx);
            }
        }
    }

    #[inline]
    fn next_packet(&mut self, id: ConnId, cx: &mut impl Host) -> (Option<Packet>, bool) {
        let plan = self.plans.of(cx.conn(id));
        let sender = self.senders.at(id, cx);
        let packet = sender.next_packet(id, plan, cx);
        let next = packet.and(sender.rank());
        if let Some(rank) = next {
            cx.change_rank(id, rank);
        }
        (packet, next.is_some())
    }

    fn timer(&mut self, owner: Owner, kind: u8, cx: &mut impl Host) {
        match (owner, kind) {
            (Owner::Sender(id), REQUEST) => {
                let format = &self.plans.of(cx.conn(id)).format;
                self.senders.at(id, cx).tokened.on_timer(id, format, cx);
            }
            (Owner::Interface(link), STAGE) => {
                if cx.timer_is_due(&mut self.downlinks[link.index()].stage, owner, kind) {
                    self.stage(link, cx);
                }
            }
            (Owner::Interface(link), TOKEN) => {
                if cx.timer_is_due(&mut self.downlinks[link.index()].token, owner, kind) {
                    self.serve(link, cx);
                }
            }
            (Owner::Interface(link), GRANT) => {
                if cx.timer_is_due(&mut self.uplinks[link.index()].timer, owner, kind) {
                    self.grant(link, cx);
                }
            }
            _ => unreachable!("dcPIM has no other timers"),
        }
    }

    /// No host gives away more channels than it has, and a timer is set for the next stage of each that has incomplete flows.
    fn audit(&self, conns: &[(ConnId, Conn)], found: &mut dyn FnMut(String)) {
        let received = |receiver: &Receiver| receiver.delivery.received();
        let sent = |sender: &Sender| sender.tokened.audit();
        audit_ends(conns, (&self.senders, sent), (&self.receivers, received), found);
        let channels = self.plans.of_host().rules.channels;
        for (link, (downlink, uplink)) in self.downlinks.iter().zip(&self.uplinks).enumerate() {
            let Downlink { flows, matches, stage, .. } = downlink;
            if !flows.is_empty() && !stage.is_set() {
                found(format!("link {link}: flows wait for channels and no timer is set"));
            }
            for given in matches.given().into_iter().chain(uplink.given()) {
                if given > channels {
                    found(format!("link {link}: {given} of {channels} channels are given away"));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
