//! NDP: the receiver asks for each packet after the first window, and full ports trim instead of dropping.
//!
//! Source: Handley et al., "Re-architecting datacenter networks and stacks for low latency and high
//! performance", SIGCOMM 2017; details that the paper leaves open after its public simulator (htsim),
//! each named where it matters. `sender` and `receiver` are the two ends, `pacer` is the pull queue
//! that all connections of a receiving interface share.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Framing, Settings};
use crate::balancer::Balancer;
use crate::balancer::per_packet::PerPacket;
use crate::queue::ndp::NdpPort;
use crate::queue::{Feature, Queue};
use crate::units::{Bytes, Time};

/// NDP. Every point in which paper, htsim and the OMNeT++ model differ is a field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Ndp {
    /// Packets that a sender pushes at line rate before the first pull (paper: 30; htsim: 15; knee of
    /// the OMNeT++ paper's figure 8a: 16).
    #[schemars(range(min = 1, max = 1_000_000))]
    pub initial_window: u32,
    /// Size of a full data packet, with or without its header as the next field but one says.
    #[schemars(extend("x-minimum" = "65B", "x-maximum" = "65535B"))]
    pub mtu: Bytes,
    /// Header of a data packet.
    #[schemars(extend("x-maximum" = "1000B"))]
    pub header_bytes: Bytes,
    /// Whether the header is part of the mtu (paper: 9 KB take 7.2 us) or comes on top (htsim).
    pub mtu_includes_header: bool,
    /// Size of an ACK, NACK or PULL on the wire.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1500B"))]
    pub control_bytes: Bytes,
    /// Let an ACK or NACK be the pull as well when no other pull waits (htsim: yes; the paper's text draws two packets).
    pub pull_ack: bool,
    /// Which connection's pull leaves next.
    pub pull_order: PullOrder,
    /// Pulls leave at this share of the rate at which full packets fit the receiver's link.
    #[schemars(range(max = 10.0), extend("exclusiveMinimum" = 0.0))]
    pub pull_rate: f64,
    /// Which of the packets that need repeating goes first.
    pub repeat_order: RepeatOrder,
    /// Send the last packet at full size even if its payload is short (htsim's shortcut).
    pub pad_last: bool,
    /// Whether a timer repeats what neither ACK, NACK nor pull spoke of (paper: yes; htsim: compiled out).
    pub backstop: bool,
    /// Shortest backstop timeout (paper: 1 ms is safe; htsim: 5 ms).
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "100s"))]
    pub rto_min: Time,
    /// Backstop timeout before the first round-trip sample.
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "100s"))]
    pub rto_initial: Time,
}

/// Which connection's pull leaves next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PullOrder {
    /// Round robin over the connections that wait (paper's default).
    Fair,
    /// In the order of arrival.
    Fifo,
}

/// Which of the packets that need repeating goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RepeatOrder {
    /// The lowest packet number (htsim).
    Lowest,
    /// The one that was asked for first (paper).
    Fifo,
}

impl Default for Ndp {
    fn default() -> Self {
        Ndp {
            initial_window: 30,
            mtu: Bytes(1500),
            header_bytes: Bytes(64),
            mtu_includes_header: true,
            control_bytes: Bytes(64),
            pull_ack: true,
            pull_order: PullOrder::Fair,
            pull_rate: 1.0,
            repeat_order: RepeatOrder::Lowest,
            pad_last: false,
            backstop: true,
            rto_min: Time(1_000_000_000),
            rto_initial: Time(20_000_000_000),
        }
    }
}

impl Ndp {
    /// Payload of a full data packet.
    fn payload(&self) -> u64 {
        self.mtu.0 - if self.mtu_includes_header { self.header_bytes.0 } else { 0 }
    }
}

impl Settings for Ndp {
    fn problems(&self) -> Vec<(String, String)> {
        if self.mtu_includes_header && self.header_bytes >= self.mtu {
            let why = format!("{} leaves no payload in an mtu of {}", self.header_bytes, self.mtu);
            return vec![("header_bytes".into(), why)];
        }
        Vec::new()
    }

    fn needs(&self) -> &'static [Feature] {
        &[Feature::Trimming]
    }

    fn recommended_queue(&self) -> Queue {
        NdpPort::default().into()
    }

    fn recommended_balancer(&self) -> Balancer {
        PerPacket {}.into()
    }

    fn full_packet(&self) -> u64 {
        self.payload() + self.header_bytes.0
    }

    fn framing(&self) -> Option<Framing> {
        Some(Framing { payload: self.payload(), header: self.header_bytes.0, pad_last: self.pad_last })
    }
}
