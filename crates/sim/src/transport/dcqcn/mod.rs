//! DCQCN: RDMA's congestion control by rates, over a fabric that loses nothing.
//!
//! Source: Zhu et al., "Congestion control for large-scale RDMA deployments", SIGCOMM 2015, section 3; where it says
//! nothing, the HPCC simulator of Alibaba. Switches mark (`queue/lossless.rs`), the receiver answers marks by
//! congestion notification packets (`receiver`), for which the sender lowers its rate (`rate`); packets are sent one
//! by one at this rate, without a window (`sender`). What carries them is RoCEv2: go-back-N by packet numbers
//! (InfiniBand architecture specification, volume 1, section 9.7).

pub mod rate;
mod receiver;
mod sender;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::receiver::Receiver;
use self::sender::{PACE, RETRANSMIT, Sender};
use super::{Ends, Framing, HostSide, Settings, audit_ranges};
use crate::balancer::Balancer;
use crate::balancer::per_flow::PerFlow;
use crate::engine::conn::Conn;
use crate::engine::cx::{Cx, Owner};
use crate::engine::packet::Packet;
use crate::ids::ConnId;
use crate::queue::lossless::Lossless;
use crate::queue::{Feature, Queue};
use crate::topology::Fabric;
use crate::units::{Bytes, Rate, Time};

/// DCQCN over RoCEv2. Where the paper is silent, defaults are those of the HPCC simulator's configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Dcqcn {
    /// Payload of a full packet. The HPCC simulator: 1000 B; InfiniBand knows 256 B to 4096 B.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "65000B"))]
    pub payload: Bytes,
    /// Bytes of a data packet besides its payload: Ethernet with its check sequence 18, IPv4 20, UDP 8, the base
    /// transport header 12, the invariant check 4.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1000B"))]
    pub header_bytes: Bytes,
    /// Bytes of an acknowledgement: the same, and an extended header of 4.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1000B"))]
    pub ack_bytes: Bytes,
    /// Bytes of a congestion notification packet: the same, and 16 that are reserved (RoCEv2, annex A17).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1000B"))]
    pub cnp_bytes: Bytes,
    /// One acknowledgement for so many packets, and one for the last; 0: only for the last.
    #[schemars(range(max = 1_000_000))]
    pub ack_every: u32,
    /// Weight of the newest answer in alpha.
    #[schemars(range(min = 0.000001, max = 1.0))]
    pub g: f64,
    /// Alpha before the first notification.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub initial_alpha: f64,
    /// Alpha shrinks by its share g whenever no notification has come for so long.
    #[schemars(extend("x-minimum" = "1ns"))]
    pub alpha_timer: Time,
    /// The rate rises whenever so much time has passed since the last cut or the last rise by time. HPCC simulator:
    /// 1500 us, configured to 900 us.
    #[schemars(extend("x-minimum" = "1ns"))]
    pub rate_timer: Time,
    /// The rate rises whenever so many bytes have been sent since the last cut or the last rise by bytes.
    #[schemars(extend("x-minimum" = "1B"))]
    pub byte_counter: Bytes,
    /// F: so many rises, by time or by bytes, before the target rises too.
    #[schemars(range(min = 1, max = 1000))]
    pub fast_recovery: u32,
    /// What additive increase adds to the target. The HPCC simulator by default: 5 Mbps; a model on htsim: 1/20 of the
    /// line's rate.
    #[schemars(extend("x-minimum" = "1bps"))]
    pub rate_ai: Rate,
    /// What hyper increase adds to the target. The HPCC simulator by default: 50 Mbps; a model on htsim: 1/10 of the
    /// line's rate.
    #[schemars(extend("x-minimum" = "1bps"))]
    pub rate_hai: Rate,
    /// The rate does not go below this.
    #[schemars(extend("x-minimum" = "1Kbps"))]
    pub min_rate: Rate,
    /// The receiver sends at most one notification in this time for each flow.
    pub cnp_interval: Time,
    /// Class of data packets.
    #[schemars(range(max = 7))]
    pub data_class: u32,
    /// Class of acknowledgements and notifications; 0 goes first.
    #[schemars(range(max = 7))]
    pub control_class: u32,
    /// Without an acknowledgement that brings news for so long, all is sent again from the first packet that was not
    /// acknowledged: 4.096 us times 2 to the power of 14.
    #[schemars(extend("x-minimum" = "1us"))]
    pub timeout: Time,
    /// Whether it insists on ports that do not drop; else any that mark will do.
    pub lossless: bool,
}

impl Default for Dcqcn {
    fn default() -> Self {
        Dcqcn {
            payload: Bytes(1000),
            header_bytes: Bytes(62),
            ack_bytes: Bytes(66),
            cnp_bytes: Bytes(78),
            ack_every: 1,
            g: 1.0 / 256.0,
            initial_alpha: 1.0,
            alpha_timer: Time::from_us(55),
            rate_timer: Time::from_us(55),
            byte_counter: Bytes(10_000_000),
            fast_recovery: 5,
            rate_ai: Rate(50_000_000),
            rate_hai: Rate(100_000_000),
            min_rate: Rate(100_000_000),
            cnp_interval: Time::from_us(50),
            data_class: 1,
            control_class: 0,
            timeout: Time(67_108_864_000),
            lossless: true,
        }
    }
}

impl Settings for Dcqcn {
    fn needs(&self) -> &'static [Feature] {
        if self.lossless { &[Feature::Ecn, Feature::Lossless] } else { &[Feature::Ecn] }
    }

    fn recommended_queue(&self) -> Queue {
        Lossless::default().into()
    }

    fn recommended_balancer(&self) -> Balancer {
        PerFlow {}.into()
    }

    fn full_packet(&self) -> u64 {
        self.payload.0 + self.header_bytes.0
    }

    fn answer_bytes(&self) -> u64 {
        self.ack_bytes.0
    }

    fn framing(&self) -> Option<Framing> {
        Some(Framing { payload: self.payload.0, header: self.header_bytes.0, pad_last: false })
    }

    fn longest_timeout(&self) -> Time {
        self.timeout
    }

    fn answers(&self) -> f64 {
        if self.ack_every == 0 { 0.0 } else { 1.0 / f64::from(self.ack_every) }
    }
}

/// What `Header::kind` says. Data: `number` and `seq` are the packet's place in its connection, in packets and bytes.
/// The others: `number` is the packet that the receiver expects next.
mod kind {
    pub const DATA: u8 = 0;
    /// Data with which the flow ends.
    pub const LAST: u8 = 1;
    pub const ACK: u8 = 2;
    /// A packet was missing.
    pub const NAK: u8 = 3;
    /// Congestion notification.
    pub const CNP: u8 = 4;
}

/// All DCQCN connections of a run.
pub struct Model {
    config: Dcqcn,
    senders: Ends<Sender>,
    receivers: Ends<Receiver>,
}

impl Model {
    pub(super) fn new(config: &Dcqcn, _fabric: &Fabric) -> Model {
        Model { config: config.clone(), senders: Ends::default(), receivers: Ends::default() }
    }
}

impl HostSide for Model {
    fn start(&mut self, id: ConnId, size: u64, _key: u64, cx: &mut Cx) {
        *self.receivers.open(id) = Receiver::default();
        cx.set_class(id, self.config.data_class as u8);
        *self.senders.open(id) = Sender::new(id, size, &self.config, cx);
        cx.ready(id);
    }

    #[inline]
    fn at_receiver(&mut self, packet: &Packet, cx: &mut Cx) {
        self.receivers[packet.conn].on_packet(packet, &self.config, cx);
    }

    #[inline]
    fn at_sender(&mut self, packet: &Packet, cx: &mut Cx) {
        self.senders[packet.conn].on_packet(packet, &self.config, cx);
    }

    #[inline]
    fn next_packet(&mut self, id: ConnId, cx: &mut Cx) -> (Option<Packet>, bool) {
        self.senders[id].next_packet(id, &self.config, cx)
    }

    fn timer(&mut self, owner: Owner, kind: u8, cx: &mut Cx) {
        match (owner, kind) {
            (Owner::Conn(id), PACE) => self.senders[id].on_pace(id, cx),
            (Owner::Conn(id), RETRANSMIT) => self.senders[id].on_timeout(id, &self.config, cx),
            _ => unreachable!("DCQCN has no other timers"),
        }
    }

    fn audit(&self, conns: &[(ConnId, Conn)], found: &mut dyn FnMut(String)) {
        for (id, conn) in conns {
            audit_ranges(*id, conn, self.receivers[*id].received, found);
        }
    }
}
