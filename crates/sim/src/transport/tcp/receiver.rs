//! The receiving end of a connection: it delivers segments, and acknowledges them at once or delayed.

use super::blocks::{Blocks, option_bytes};
use super::ecn::Marks;
use super::ictcp::{Advertised, Interface, Sizes};
use super::quick_acks::QuickAcks;
use super::{Tcp, kind};
use crate::engine::contract::event::Owner;
use crate::engine::contract::host::{Host, Timer};
use crate::engine::contract::packet::{Header, Packet, flag};
use crate::ids::ConnId;
use crate::transport::delivery::Delivery;
use crate::transport::reassembly::Arrival;
use crate::units::Time;

/// The timer of a delayed acknowledgement.
pub const DELAYED_ACK: u8 = 1;

/// Word of an acknowledgement's record that has the end of the data that its sender may send, under ICTCP.
pub const EDGE: usize = 7;

/// Memory of a receiver with SACK or quick acknowledgements beyond the receiver itself.
pub const EXTENSIONS_BYTES: usize = size_of::<Extensions>();

/// The receiving end of a connection.
#[derive(Clone, Debug)]
pub struct Receiver {
    delivery: Delivery,
    /// Segments that have arrived and not been acknowledged, and when the first of them was sent.
    unacknowledged: u32,
    echo: Time,
    /// The flow of the last of them.
    latest: ConnId,
    timer: Timer,
    marks: Marks,
    /// State of one that sends SACK blocks or quick acknowledgements, or sets its sender's window.
    extensions: Option<Box<Extensions>>,
}

/// Segments behind a gap, quick acknowledgements and the window of ICTCP: apart, so that receivers with none of them do
/// without the memory.
#[derive(Clone, Debug, Default)]
struct Extensions {
    blocks: Blocks,
    quick: QuickAcks,
    window: Option<Advertised>,
}

impl Default for Receiver {
    fn default() -> Self {
        Receiver {
            delivery: Delivery::default(),
            unacknowledged: 0,
            echo: Time::ZERO,
            latest: ConnId::NONE,
            timer: Timer::default(),
            marks: Marks::default(),
            extensions: None,
        }
    }
}

impl Receiver {
    /// Starts over for another connection, with the memory of the one before.
    pub fn reset(&mut self, config: &Tcp, now: Time) {
        self.delivery.clear();
        let delivery = std::mem::take(&mut self.delivery);
        let extends = config.sack() || config.quick_acks() > 0 || config.ictcp.is_some();
        let extensions = extends.then(|| {
            let mut own = self.extensions.take().unwrap_or_default();
            let window = config.ictcp.as_ref().map(|rules| Advertised::new(rules, sizes(config), now));
            *own = Extensions { window, ..Extensions::default() };
            own
        });
        *self = Receiver { delivery, marks: Marks::new(config.echo()), extensions, ..Receiver::default() };
    }

    /// A SYN or a segment comes by that interface, and may change the window of its sender (ICTCP). Before
    /// [`Receiver::on_packet`], so that its acknowledgement has the new window.
    pub fn set_window(
        &mut self,
        packet: &Packet,
        config: &Tcp,
        interface: &mut Interface,
        cx: &mut impl Host,
    ) {
        let Header { seq, len, .. } = packet.header;
        if let Some(rules) = &config.ictcp
            && let Some(window) = self.extensions.as_mut().and_then(|own| own.window.as_mut())
            && len > 0
        {
            let rate = cx.rate(cx.port(packet.conn));
            window.on_data((seq, len.into()), (interface, rate), (rules, sizes(config)), cx.now());
        }
    }

    /// A SYN or a segment.
    #[inline]
    pub fn on_packet(&mut self, id: ConnId, packet: &Packet, config: &Tcp, cx: &mut impl Host) {
        let flow = packet.conn;
        let kind = kind::plain(packet.header.kind);
        if kind == kind::SYN {
            let header = Header { kind: kind::SYN_ACK, ..Header::default() };
            return cx.send_to_sender(flow, config.ack_bytes(), header);
        }
        cx.note_arrival(packet);
        let heard = self.marks.on_segment(packet.has(flag::CE), packet.header.kind & kind::CWR != 0);
        if heard.changes && self.unacknowledged > 0 {
            // Data received before the change is acknowledged by itself, so that the echo is exact (RFC 8257,
            // 3.2).
            self.acknowledge(flow, config, cx);
        }
        self.marks.echoes = heard.echoes;
        let Header { number, len, .. } = packet.header;
        let first = self.delivery.received() == 0;
        let arrival = self.delivery.receive(flow, number, len, kind == kind::LAST, cx).arrival;
        self.latest = flow;
        self.unacknowledged += 1;
        if self.unacknowledged == 1 {
            self.echo = packet.created_at;
        }
        let quick = match &mut self.extensions {
            None => false,
            Some(own) => {
                let reached = Reached { arrival, next: self.delivery.next(), echoes: heard.echoes };
                own.on_segment(packet, reached, config, cx.now())
            }
        };
        let at_once = arrival != Arrival::InOrder
            || self.unacknowledged >= config.segments_per_ack()
            || (first && config.ack_first_segment)
            || (kind == kind::LAST && config.ack_last_segment())
            || heard.at_once
            || quick;
        if at_once {
            self.acknowledge(flow, config, cx);
        } else if !self.timer.is_set() {
            let due = cx.now() + config.delayed_ack_timeout();
            cx.set_timer(&mut self.timer, due, Owner::Receiver(id), DELAYED_ACK);
        }
    }

    fn acknowledge(&mut self, flow: ConnId, config: &Tcp, cx: &mut impl Host) {
        self.unacknowledged = 0;
        self.timer.clear();
        let blocks = match &mut self.extensions {
            None => 0,
            Some(own) => own.on_ack(self.delivery.in_order(), config, cx),
        };
        let echo = if self.marks.echoes { kind::ECE } else { 0 };
        let sack = if blocks > 0 { kind::SACK } else { 0 };
        let header = Header {
            kind: kind::ACK | echo | sack,
            number: self.delivery.next(),
            seq: self.echo.0,
            ack: self.delivery.in_order(),
            ..Header::default()
        };
        cx.send_to_sender(flow, config.ack_bytes() + option_bytes(blocks), header);
    }

    /// Sends the delayed acknowledgement.
    pub fn flush(&mut self, config: &Tcp, cx: &mut impl Host) {
        if self.unacknowledged > 0 {
            self.acknowledge(self.latest, config, cx);
        }
    }

    /// The delayed-acknowledgement timer.
    pub fn on_timer(&mut self, id: ConnId, config: &Tcp, cx: &mut impl Host) {
        if cx.timer_is_due(&mut self.timer, Owner::Receiver(id), DELAYED_ACK) {
            self.acknowledge(self.latest, config, cx);
        }
    }

    /// Bytes of the ranges that have arrived.
    pub fn received(&self) -> u64 {
        self.delivery.received()
    }
}

/// The sizes that a window set by the receiver goes by.
fn sizes(config: &Tcp) -> Sizes {
    Sizes { mss: config.mss.0, most: config.receive_window.0 }
}

/// The effect of a segment: its arrival, the next missing one, and whether acknowledgements carry an echo from now on.
struct Reached {
    arrival: Arrival,
    next: u32,
    echoes: bool,
}

impl Extensions {
    /// Takes note of a segment. Whether its acknowledgement is a quick one; that of a segment that reports a reduced window
    /// (CWR) is, as it may come from a window of one segment.
    fn on_segment(&mut self, packet: &Packet, reached: Reached, config: &Tcp, now: Time) -> bool {
        if config.sack() {
            self.note_place(packet.header.number, &reached, config);
        }
        if config.quick_acks() == 0 {
            return false;
        }
        if reached.arrival == Arrival::Duplicate {
            self.quick.on_duplicate(config);
        }
        if reached.echoes && packet.has(flag::CE) {
            self.quick.on_mark(config);
        }
        self.quick.on_segment(now, config) || packet.header.kind & kind::CWR != 0
    }

    /// Takes note of a segment for SACK blocks.
    fn note_place(&mut self, number: u32, reached: &Reached, config: &Tcp) {
        match reached.arrival {
            Arrival::InOrder => {}
            Arrival::OutOfOrder => self.blocks.insert(number),
            Arrival::FilledGap => self.blocks.advance(reached.next),
            Arrival::Duplicate if config.dsack() => self.blocks.note_duplicate(number),
            Arrival::Duplicate => {}
        }
    }

    /// An acknowledgement is sent: the number of its blocks, which are written into its record.
    fn on_ack(&mut self, in_order: u64, config: &Tcp, cx: &mut impl Host) -> u32 {
        self.quick.on_sent();
        if let Some(window) = &mut self.window {
            cx.record().0[EDGE] = window.advertise(in_order, cx.now());
        }
        if !config.sack() {
            return 0;
        }
        let most = if config.timestamps() { 3 } else { 4 };
        self.blocks.report(most, cx.record())
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::contract::packet::{Packet, flag};
    use crate::transport::tcp::Tcp;
    use crate::transport::tcp::selective_tests::{sack, started};

    /// Two quick acknowledgements at the start, and two from a marked segment on (Linux: `tcp_ecn_check_ce`), though
    /// the echo goes on with all later ones until the sender's CWR (RFC 3168, 6.1.3). Every second segment is
    /// acknowledged besides.
    #[test]
    fn a_mark_is_acknowledged_at_once_and_its_echo_is_not() {
        let config = Tcp { ecn: true, quick_acks: Some(2), delayed_ack: 2, ..sack() };
        let (mut host, mut model, packets) = started(8, 100_000, config);
        let answers: Vec<usize> = (0..8)
            .map(|at| {
                let ce = if at == 4 { flag::CE } else { 0 };
                let packet = Packet { flags: packets[at].flags | ce, ..packets[at] };
                host.receives(&mut model, &packet).len()
            })
            .collect();
        assert_eq!(answers, [1, 1, 0, 1, 1, 1, 0, 1]);
    }
}
