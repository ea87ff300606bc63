//! pHost: receivers send a token for each packet, and senders of short flows begin without.
//!
//! Source: Gao, Narayan, Kumar, Agarwal, Ratnasamy and Shenker, "pHost: Distributed Near-Optimal Datacenter Transport Over
//! Commodity Network Fabric", CoNEXT 2015; rules and numbers after the authors' simulator, NetSys/simulator
//! (`capabilityhost`). `tokens` has the flows of a receiving interface, `sender` the sending end; both ends are those of
//! `transport::tokened`.

pub mod sender;
pub mod tokens;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::sender::Sender;
use self::tokens::{Entry, Rules, Tokens, slots};
use super::backoff::{DOUBLINGS_MOST, INTERVAL_LEAST, derived_interval};
use super::reassembly::Arrival;
use super::tokened::{Format, REQUEST, Receiver, kind};
use super::{Needs, Profile, Settings, audit_ends};
use crate::balancer::per_packet::PerPacket;
use crate::derived::{Derived, Environment, Values};
use crate::engine::contract::conn::Conn;
use crate::engine::contract::endpoint::{Configs, Endpoint, Ends};
use crate::engine::contract::event::Owner;
use crate::engine::contract::host::{Host, Start};
use crate::engine::contract::packet::{Header, Packet};
use crate::ids::{ConnId, LinkId};
use crate::queue::strict_priority::{MarkBy, StrictPriority};
use crate::queue::{Feature, Limit};
use crate::units::{Bytes, Time};

/// pHost. Waits are in slots, the time of a full packet on the link of the host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Phost {
    /// Payload of a full packet.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "65000B"))]
    pub mss: Bytes,
    /// Header of every packet; a request, a token or an acknowledgement has no further bytes.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1000B"))]
    pub header_bytes: Bytes,
    /// Packets that a flow sends without tokens.
    #[schemars(range(max = 1_000_000))]
    pub free_tokens: u32,
    /// The flows that send packets without tokens.
    pub free_for: FreeFor,
    /// Tokens of a flow beyond the last one that a packet has answered, at most.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub token_window: u32,
    /// Slots from the arrival of a token at its sender to its expiry. The n tokens that a flow begins with expire n slots later.
    #[schemars(range(min = 1.0, max = 1e6))]
    pub token_expiry: f64,
    /// Slots from the last token of a full window to one more token.
    #[schemars(range(min = 1.0, max = 1e6))]
    pub window_timeout: f64,
    /// Whether an answer ends that wait at a receiver that has no other flow to serve.
    pub idle_wait: IdleWait,
    /// Slots from the last token of a flow to tokens for the packets that are missing.
    #[schemars(range(min = 1.0, max = 1e6))]
    pub resend: f64,
    /// Slots for each packet of a flow whose packets all come without tokens, after which the missing ones get tokens.
    #[schemars(range(min = 1.0, max = 1e6))]
    pub free_wait: f64,
    /// Class of data at ports; packets without payload have class 0, which goes first.
    #[schemars(range(max = 7))]
    pub data_class: u8,
    /// Class of the data of flows of at most `short_packets` packets.
    #[schemars(range(max = 7))]
    pub short_class: u8,
    /// Packets of flows whose data has the class `short_class`, at most (NetSys/simulator leaves it at 0).
    #[schemars(range(max = 1_000_000))]
    pub short_packets: u32,
    /// Time without a packet from the receiver after which a sender repeats its request (ours: requests are not lost in
    /// NetSys/simulator), doubled each time, up to 64 times. "derived": ten of the longest round trips, and at least 1 ms.
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "10s"))]
    pub request_interval: Derived<Time>,
}

/// Flows that send their first packets without tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FreeFor {
    /// Those of at most `free_tokens` packets (NetSys/simulator).
    Short,
    /// All flows (paper).
    All,
}

/// The end of the wait of a receiver all of whose flows have full windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IdleWait {
    /// Its time, or another flow (NetSys/simulator, whose receivers look at answers in slots alone).
    Whole,
    /// An answer, too.
    UntilAnswer,
}

impl Default for Phost {
    fn default() -> Self {
        Phost {
            mss: Bytes(1460),
            header_bytes: Bytes(40),
            free_tokens: 8,
            free_for: FreeFor::Short,
            token_window: 8,
            token_expiry: 1.5,
            window_timeout: 25.0,
            idle_wait: IdleWait::Whole,
            resend: 9.0,
            free_wait: 2.0,
            data_class: 2,
            short_class: 1,
            short_packets: 0,
            request_interval: Derived::FromNetwork,
        }
    }
}

/// The limit of ports by default: that of NetSys/simulator.
const QUEUE: Limit = Limit::Bytes(Bytes(36_864));

impl Settings for Phost {
    fn profile(&self) -> Profile {
        let interval = self.request_interval.or(INTERVAL_LEAST);
        Profile {
            answer_bytes: self.header_bytes.0,
            marks_unscheduled: self.free_tokens > 0,
            class_field: Some("data_class"),
            timeout_max: Time(interval.0 << DOUBLINGS_MOST),
            initial_burst: Some(u64::from(self.free_tokens)),
            in_flight_max: Some(u64::from(self.token_window.max(self.free_tokens))),
            queue: StrictPriority { mark: MarkBy::None, limit: QUEUE, ..StrictPriority::default() }.into(),
            balancer: PerPacket {}.into(),
            ..Profile::new(self.mss.0, self.header_bytes.0)
        }
    }

    fn needs(&self) -> Needs {
        Needs { features: vec![Feature::Classes], ..Needs::default() }
    }

    fn derived(&self, environment: &Environment) -> Values {
        derived_interval("request_interval", self.request_interval, environment)
    }
}

/// A configuration in the form in which events read it.
#[derive(Clone, Debug)]
pub struct Plan {
    format: Format,
    free_tokens: u32,
    free_for_all: bool,
    token_expiry: f64,
    free_wait: f64,
    /// Class of data, and that of flows of so many packets.
    classes: [u8; 2],
    short_packets: u32,
    /// Whether a receiver without another flow to serve looks at answers.
    heeds_answers: bool,
    rules: Rules,
}

impl Plan {
    fn new(config: Phost) -> Plan {
        let Phost { token_window: window, window_timeout, resend, .. } = config;
        let format = Format {
            payload: config.mss.0,
            full: (config.mss.0 + config.header_bytes.0) as u32,
            control: config.header_bytes.0 as u32,
            pad_last: false,
            request_interval: config.request_interval.or(INTERVAL_LEAST),
        };
        Plan {
            format,
            free_tokens: config.free_tokens,
            free_for_all: config.free_for == FreeFor::All,
            token_expiry: config.token_expiry,
            free_wait: config.free_wait,
            classes: [config.data_class, config.short_class],
            short_packets: config.short_packets,
            heeds_answers: config.idle_wait == IdleWait::UntilAnswer,
            rules: Rules { window, window_timeout, resend },
        }
    }

    /// Packets of a flow that go without tokens.
    fn free(&self, packets: u32) -> u32 {
        if packets <= self.free_tokens {
            packets
        } else if self.free_for_all {
            self.free_tokens
        } else {
            0
        }
    }

    fn class(&self, packets: u32) -> u8 {
        self.classes[usize::from(packets <= self.short_packets)]
    }
}

/// All pHost flows of a run, whatever their configurations, since those of an interface share its slots.
pub struct Model {
    plans: Configs<Plan>,
    senders: Ends<Sender>,
    receivers: Ends<Receiver>,
    /// By link; those that end at switches send no tokens.
    tokens: Vec<Tokens>,
}

/// The timer of an interface.
const SLOT: u8 = 1;

impl Model {
    pub(super) fn new(configs: Configs<Phost>) -> Model {
        let plans = configs.map(Plan::new);
        let tokens = vec![Tokens::default(); plans.ports().links];
        Model { plans, senders: Ends::default(), receivers: Ends::default(), tokens }
    }

    /// Whether a sender may send, and its rank, for its port.
    fn settle(&mut self, id: ConnId, cx: &mut impl Host) {
        if let Some(rank) = self.senders.at(id, cx).rank() {
            cx.ready_by(id, rank);
        }
    }

    /// The first packet of a flow has arrived, a request or data.
    fn join(&mut self, packet: &Packet, cx: &mut impl Host) {
        let id = packet.conn;
        let plan = self.plans.of(cx.conn(id));
        let receiver = self.receivers.at(id, cx);
        (receiver.packets, receiver.link) = (plan.format.packets(packet.header.seq), packet.ingress.0);
        let (packets, free) = (receiver.packets, plan.free(receiver.packets));
        let slot = cx.transmission(packet.ingress, plan.format.full);
        let due = cx.now().saturating_add(slots(slot, plan.free_wait * f64::from(packets)));
        let entry = Entry::new(id, (packets, free), due, (cx.now(), slot), plan.rules);
        self.tokens[packet.ingress.index()].join(entry, free);
    }

    /// Sends the token of the slot that begins now, with its packet in `number` and its own number, from 1 on, in `seq`, and sets the timer to the next one.
    fn serve(&mut self, link: LinkId, cx: &mut impl Host) {
        let tokens = &mut self.tokens[link.index()];
        let (now, plan) = (cx.now(), self.plans.of_host());
        let slot = cx.transmission(link, plan.format.full);
        if let Some(Entry { conn: id, next, sent, .. }) = tokens.take(now, slot) {
            let plan = self.plans.of(cx.conn(id));
            let receiver = self.receivers.at(id, cx);
            let number = receiver.missing(next);
            let is_last = receiver.missing_from(number + 1).is_none();
            tokens.given(id, number + 1, is_last, (now, slot));
            let header = Header { kind: kind::TOKEN, number, seq: u64::from(sent), ..Header::default() };
            cx.send_to_sender(id, plan.format.control, header);
        }
        match tokens.next_at(now) {
            Time::NEVER => tokens.timer.clear(),
            due => cx.set_timer(&mut tokens.timer, due, Owner::Interface(link), SLOT),
        }
    }

    /// A data packet.
    fn on_data(&mut self, packet: &Packet, cx: &mut impl Host) {
        let Packet { conn: id, header: Header { kind, number, len, ack, .. }, .. } = *packet;
        cx.note_arrival(packet);
        let receiver = self.receivers.at(id, cx);
        let delivered = receiver.delivery.receive(id, number, len, kind == kind::LAST, cx);
        let tokens = &mut self.tokens[receiver.link as usize];
        if delivered.completes {
            tokens.leave(id);
        } else if delivered.arrival != Arrival::Duplicate {
            tokens.arrived(id, ack as u32);
        }
    }
}

impl Endpoint for Model {
    fn start(&mut self, id: ConnId, start: Start, cx: &mut impl Host) {
        let plan = self.plans.of(cx.conn(id));
        let sender = self.senders.open(id, cx);
        sender.reset(id, plan, start.size, cx);
        sender.tokened.request(id, &plan.format, cx);
        self.settle(id, cx);
    }

    fn accept(&mut self, id: ConnId, cx: &mut impl Host) {
        self.receivers.open(id, cx).clear();
    }

    #[inline]
    fn at_receiver(&mut self, packet: &Packet, cx: &mut impl Host) {
        let id = packet.conn;
        let joins = self.receivers.at(id, cx).packets == 0;
        if joins {
            self.join(packet, cx);
        }
        if packet.header.kind != kind::RTS {
            self.on_data(packet, cx);
        }
        let receiver = self.receivers.at(id, cx);
        if receiver.delivery.is_complete() {
            let control = self.plans.of(cx.conn(id)).format.control;
            cx.send_to_sender(id, control, Header { kind: kind::ACK, ..Header::default() });
        }
        let link = receiver.link;
        if joins || self.plans.of(cx.conn(id)).heeds_answers {
            self.serve(LinkId(link), cx);
        }
    }

    #[inline]
    fn at_sender(&mut self, packet: &Packet, cx: &mut impl Host) {
        let id = packet.conn;
        if cx.sender(id).acked_at != Time::NEVER {
            return;
        }
        let sender = self.senders.at(id, cx);
        if packet.header.kind == kind::ACK {
            return sender.tokened.on_ack(id, cx);
        }
        sender.on_token(id, &packet.header, self.plans.of(cx.conn(id)), cx);
        self.settle(id, cx);
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
            (Owner::Interface(link), SLOT) => {
                if cx.timer_is_due(&mut self.tokens[link.index()].timer, owner, kind) {
                    self.serve(link, cx);
                }
            }
            _ => unreachable!("pHost has no other timers"),
        }
    }

    /// Each incomplete flow of an interface has a place there, and a timer is set for the next slot.
    fn audit(&self, conns: &[(ConnId, Conn)], found: &mut dyn FnMut(String)) {
        let received = |receiver: &Receiver| receiver.delivery.received();
        let sent = |sender: &Sender| sender.tokened.audit();
        audit_ends(conns, (&self.senders, sent), (&self.receivers, received), found);
        for (link, tokens) in self.tokens.iter().enumerate() {
            if !tokens.flows().is_empty() && !tokens.timer.is_set() {
                found(format!("link {link}: flows wait for tokens and no timer is set"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::contract::fake::FakeHost;

    /// Packets that a sender may have in flight by free tokens, before the receiver has granted any, and by granted ones.
    #[test]
    fn the_first_burst_is_of_free_tokens() {
        let profile = Phost { free_tokens: 3, token_window: 9, ..Phost::default() }.profile();
        assert_eq!((profile.initial_burst, profile.in_flight_max), (Some(3), Some(9)));
    }

    /// A flow of one packet is acknowledged; a token that comes behind that, as if it had gone by a longer path, sends nothing.
    #[test]
    fn a_late_token_sends_nothing() {
        let flow = ConnId(0);
        let mut host = FakeHost::pair(1000);
        let mut model = Model::new(host.configs(vec![Phost::default()]));
        host.start(&mut model, flow);
        let packets = host.sends(&mut model, flow, 99);
        assert_eq!(packets.len(), 1);
        let answers = host.receives(&mut model, &packets[0]);
        let ack =
            answers.into_iter().find(|answer| answer.header.kind == kind::ACK).expect("all has arrived");
        host.answers(&mut model, &ack);
        let header = Header { kind: kind::TOKEN, ..Header::default() };
        host.answers(&mut model, &Packet { header, ..ack });
        assert_eq!(host.sends(&mut model, flow, 99).len(), 0);
    }
}
