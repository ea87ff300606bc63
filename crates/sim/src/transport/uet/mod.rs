//! The Ultra Ethernet transport (UET): a window at the sender, credit of the receiver, or both, over sprayed packets.
//!
//! Source: the public simulator of the transport (ultraethernet/uet-htsim, 2025), which follows SMaRTT (Bonato et al., arXiv
//! 2404.01630) and EQDS (Olteanu et al., NSDI 2022). A sender begins at line rate with 1.5 bandwidth-delay products. Each packet
//! has an entropy value, by which switches choose its path; an ACK has a cumulative number and a bitmap, and returns value and
//! mark of the packet that caused it. A full port trims: the receiver reports the header, and the packet is sent again.
//!
//! `settings` is the configuration, `control` the list of controls, `sender` and `receiver` are the two ends, `pacer` gives the
//! credit of a host, `records` and `bitmap` are the packets at either end, `timeouts` and `sleek` recover losses, `delay` measures
//! the path, `wire` has the headers. Entropy values are in `transport/entropy`.

pub mod bitmap;
pub mod control;
pub mod delay;
pub mod oversubscription;
pub mod pacer;
pub mod receiver;
pub mod records;
pub mod scale;
pub mod sender;
pub mod settings;
pub mod sleek;
pub mod timeouts;
pub mod wire;

mod tests;

use self::oversubscription::Slowdown;
use self::pacer::{Pacer, quantum_time};
use self::receiver::Receiver;
use self::sender::{Sender, Waiting};
pub use self::settings::{BaseRtt, Uet};
use self::sleek::PROBE;
use self::timeouts::RETRANSMIT;
use super::audit_received;
use crate::derived::Derived;
use crate::engine::contract::conn::Conn;
use crate::engine::contract::endpoint::{Configs, Endpoint, Ends};
use crate::engine::contract::event::Owner;
use crate::engine::contract::host::{Host, Start};
use crate::engine::contract::packet::Packet;
use crate::ids::{ConnId, LinkId};
use crate::random::Purpose;
use crate::units::Time;

/// A configuration as events read it.
pub type Config = Uet;

/// All connections of a run, whatever their configurations, since those of a host share its pacer.
pub struct Model {
    configs: Configs<Uet>,
    senders: Ends<Option<Sender>>,
    receivers: Ends<Receiver>,
    /// By the link by which a host's packets come.
    pacers: Vec<Pacer>,
    /// By the link by which a host sends.
    waiting: Vec<Waiting>,
}

/// The timer of a pacer.
const PULL_TURN: u8 = 2;

/// The sender of a flow that has started.
macro_rules! sender {
    ($model:ident, $id:expr, $cx:ident) => {
        $model.senders.at($id, $cx).as_mut().expect("a flow that has started")
    };
}

/// The first base round trip of a connection; its path is looked up only if that counts.
fn first_base_rtt(config: &Config, id: ConnId, cx: &impl Host) -> Time {
    let delay = if config.base_rtt == BaseRtt::Pair { cx.path_delay(id) } else { Time::ZERO };
    config.first_base_rtt(delay)
}

impl Model {
    pub(super) fn new(configs: Configs<Uet>) -> Model {
        let links = configs.ports().links;
        Model {
            configs,
            senders: Ends::default(),
            receivers: Ends::default(),
            pacers: vec![Pacer::default(); links],
            waiting: vec![0; links],
        }
    }

    /// A pull follows at once if the pacer is not in a pause.
    fn wake(pacer: &mut Pacer, link: LinkId, cx: &mut impl Host) {
        if !pacer.is_empty() && !pacer.timer.is_set() {
            cx.set_timer(&mut pacer.timer, cx.now(), Owner::Interface(link), PULL_TURN);
        }
    }

    /// The pacer of the link may give credit.
    fn pull(&mut self, link: LinkId, cx: &mut impl Host) {
        let pacer = &mut self.pacers[link.index()];
        if !cx.timer_is_due(&mut pacer.timer, Owner::Interface(link), PULL_TURN) {
            return;
        }
        let Some(id) = pacer.turn() else { return };
        let config = self.configs.of(cx.conn(id));
        let credit = config.credit().expect("only controls with credit have flows here");
        let rate = cx.rate(cx.port(id));
        let receiver = self.receivers.at(id, cx);
        let surplus = config.scale(rate, receiver.base_rtt).max_window() as i64 / credit.quantum as i64;
        let quanta = pacer.grant(id, &mut receiver.account, &credit, surplus);
        receiver.send_pull(id, config, cx);
        let share = match (&mut pacer.slowdown, credit.slowdown) {
            (Some(slowdown), Some(rccc)) => slowdown.share(cx.now(), rccc),
            _ => 1.0,
        };
        let pause = Time(quantum_time(&credit, rate, share).0 * quanta as u64);
        cx.set_timer(&mut pacer.timer, cx.now() + pause, Owner::Interface(link), PULL_TURN);
    }
}

impl Endpoint for Model {
    fn start(&mut self, id: ConnId, start: Start, cx: &mut impl Host) {
        let config = self.configs.of(cx.conn(id));
        let port = cx.port(id);
        let scale = config.scale(cx.rate(port), first_base_rtt(config, id, cx));
        let mut sender = Sender::new(scale, start.packet_stream(cx), false, config);
        sender.add((id, id), (start.size, start.due), config, &mut self.waiting[port.index()], cx);
        *self.senders.open(id, cx) = Some(sender);
    }

    fn connect(&mut self, id: ConnId, key: u64, cx: &mut impl Host) {
        let config = self.configs.of(cx.conn(id));
        let stream = cx.flow_stream(Purpose::Packets, key);
        let scale = config.scale(cx.rate(cx.port(id)), first_base_rtt(config, id, cx));
        *self.senders.open(id, cx) = Some(Sender::new(scale, stream, true, config));
    }

    fn message(&mut self, flow: ConnId, start: Start, cx: &mut impl Host) {
        let id = cx.conn(flow).via;
        let config = self.configs.of(cx.conn(flow));
        let waiting = &mut self.waiting[cx.port(id).index()];
        sender!(self, id, cx).add((id, flow), (start.size, start.due), config, waiting, cx);
    }

    fn accept(&mut self, id: ConnId, cx: &mut impl Host) {
        let config = self.configs.of(cx.conn(id));
        let base_rtt = first_base_rtt(config, id, cx);
        self.receivers.open(id, cx).reset(base_rtt);
        let pacer = &mut self.pacers[cx.port(id).reverse().index()];
        if let Some(rccc) = config.credit().and_then(|credit| credit.slowdown)
            && rccc.oversubscription_control == Derived::Given(true)
            && pacer.slowdown.is_none()
        {
            let stream = cx.flow_stream(Purpose::Host, u64::from(cx.host().0));
            let ratio = rccc.oversubscription.or(1.0);
            pacer.slowdown = Some(Slowdown::new(rccc, config.network_rtt(), ratio, stream));
        }
    }

    #[inline]
    fn at_receiver(&mut self, packet: &Packet, cx: &mut impl Host) {
        let id = cx.conn(packet.conn).via;
        let config = self.configs.of(cx.conn(id));
        let link = cx.port(id).reverse();
        let pacer = &mut self.pacers[link.index()];
        let receiver = self.receivers.at(id, cx);
        if receiver.on_packet(id, packet, config, pacer, cx) {
            pacer.leave(id, &mut receiver.account);
        }
        if config.credit().is_some() {
            Model::wake(pacer, link, cx);
        }
    }

    #[inline]
    fn at_sender(&mut self, packet: &Packet, cx: &mut impl Host) {
        let id = cx.conn(packet.conn).via;
        let config = self.configs.of(cx.conn(id));
        let waiting = &mut self.waiting[cx.port(id).index()];
        sender!(self, id, cx).on_packet(packet, config, waiting, cx);
    }

    #[inline]
    fn next_packet(&mut self, id: ConnId, cx: &mut impl Host) -> (Option<Packet>, bool) {
        let config = self.configs.of(cx.conn(id));
        let waiting = &mut self.waiting[cx.port(id).index()];
        sender!(self, id, cx).next_packet(id, config, waiting, cx)
    }

    fn timer(&mut self, owner: Owner, kind: u8, cx: &mut impl Host) {
        match (owner, kind) {
            (Owner::Interface(link), PULL_TURN) => self.pull(link, cx),
            (Owner::Sender(id), RETRANSMIT) => {
                let config = self.configs.of(cx.conn(id));
                let waiting = &mut self.waiting[cx.port(id).index()];
                sender!(self, id, cx).on_timeout(id, config, waiting, cx);
            }
            (Owner::Sender(id), PROBE) => {
                let config = self.configs.of(cx.conn(id));
                sender!(self, id, cx).on_probe_timer(id, config, cx);
            }
            _ => unreachable!("Ultra Ethernet has no other timers"),
        }
    }

    fn window(&self, id: ConnId, _conn: &Conn) -> Option<u64> {
        self.senders.get(id).as_ref().and_then(Sender::window_bytes)
    }

    /// The bytes counted as delivered are those received; no sender counts more in flight than it has sent; no sender has more
    /// credit than its receiver has given.
    fn audit(&self, conns: &[(ConnId, Conn)], found: &mut dyn FnMut(String)) {
        let own: Vec<_> = conns.iter().filter(|(id, conn)| conn.via == *id).copied().collect();
        audit_received(&own, |id, _| self.receivers.get(id).payload(), found);
        for (id, _) in own.iter().filter(|(_, conn)| conn.sends_here()) {
            if let Some(sender) = self.senders.get(*id)
                && let Some(wrong) = sender.wrong()
            {
                found(format!("connection {id}: {wrong}"));
            }
        }
        for (link, pacer) in self.pacers.iter().enumerate() {
            if !pacer.is_empty() && !pacer.timer.is_set() {
                found(format!("link {link}: flows wait for credit and no timer is set"));
            }
        }
    }
}
