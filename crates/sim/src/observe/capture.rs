//! Captures: every packet that comes out of some links, with the headers that it would have had on a real wire.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::chosen_links;
use crate::engine::contract::observer::{ConnAt, Observer, PacketAt, Point, Points};
use crate::engine::contract::packet::{CREDIT, Packet, flag};
use crate::ids::{FlowId, LinkId, NodeId};
use crate::topology::Fabric;
use crate::traffic::window::Window;
use crate::transport::frame::Frame;
use crate::transport::{Profile, Transport};
use crate::units::Time;

/// Capture of packets: a file for each cable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Capture {
    /// Links by tier ("edge-host") or by the nodes at both ends ("host 3 -> *"); * stands for any text.
    #[schemars(length(min = 1, max = 1000))]
    pub links: Vec<String>,
    /// At most this many packets in all, the first ones of the measuring window; run.json records when the limit was reached. A
    /// packet takes 96 bytes of memory.
    #[serde(default = "packet_limit")]
    #[schemars(range(min = 1, max = 100_000_000))]
    pub packet_limit: u32,
}

fn packet_limit() -> u32 {
    1_000_000
}

/// Bytes of a captured packet in memory.
pub const PACKET_BYTES: u64 = 96;

/// Keeps packets.
pub struct Captor {
    /// By link: whether it is captured.
    chosen: Vec<bool>,
    /// The measuring window: its start and its end.
    window: (Time, Time),
    limit: usize,
    seen: Vec<Seen>,
    cut_off: Option<Time>,
}

struct Seen {
    at: Time,
    link: LinkId,
    flow: FlowId,
    subflow: u8,
    src: NodeId,
    forward: bool,
    config: u8,
    packet: Packet,
}

/// The packets of a cable, in the order of their arrival.
#[derive(Clone, Debug, PartialEq)]
pub struct Cable {
    /// Names of its two nodes.
    pub ends: [String; 2],
    /// The lower of its two links.
    pub link: LinkId,
    /// Packets that came out of it, at either end.
    pub packets: Vec<Captured>,
}

/// A packet as a real wire would have had it, without its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Captured {
    /// Arrival of its last bit at the end of the link.
    pub at: Time,
    pub src: NodeId,
    pub dst: NodeId,
    /// Number of the flow, or of the first that used its connection: makes the sender's port.
    pub flow: FlowId,
    /// Number of the connection in its flow: goes into the receiver's port.
    pub subflow: u8,
    /// Whether it goes from the flow's sender to its receiver.
    pub forward: bool,
    /// Links that it has crossed.
    pub hops: u8,
    /// Bytes from the IP header on.
    pub ip_bytes: u32,
    /// The two ECN bits of the IP header (RFC 3168).
    pub ecn: u8,
    /// Its class at ports, if its traffic entry or its transport gives packets classes: goes into the DSCP.
    pub class: Option<u8>,
    /// Content after the IP header.
    pub frame: Frame,
}

impl Captor {
    /// Before the run.
    pub fn new(wanted: &Capture, fabric: &Fabric, window: &Window) -> Captor {
        let mut chosen = vec![false; fabric.links.len()];
        chosen_links(&wanted.links, fabric).into_iter().for_each(|link| chosen[link.index()] = true);
        let window = (window.from, window.until);
        Captor { chosen, window, limit: wanted.packet_limit as usize, seen: Vec::new(), cut_off: None }
    }

    /// When the first packet came for which there was no room.
    pub fn cut_off(&self) -> Option<Time> {
        self.cut_off
    }

    /// Captured packets, by cable; also of chosen cables that no packet crossed. `transport_of` gives the transport of
    /// a model's configuration with its profile, `classed` says whether packets of a flow have classes.
    pub fn into_cables<'t>(
        self,
        fabric: &Fabric,
        transport_of: impl Fn(u8, u8) -> (&'t Transport, &'t Profile),
        classed: impl Fn(FlowId) -> bool,
    ) -> Vec<Cable> {
        let is_chosen = |cable: &usize| self.chosen[2 * cable] || self.chosen[2 * cable + 1];
        let mut place = vec![usize::MAX; fabric.links.len() / 2];
        let mut cables = Vec::new();
        for cable in (0..place.len()).filter(is_chosen) {
            place[cable] = cables.len();
            let link = &fabric.links[2 * cable];
            let ends = [link.from, link.to].map(|node| fabric.nodes[node.index()].name.clone());
            cables.push(Cable { ends, link: LinkId(2 * cable as u32), packets: Vec::new() });
        }
        for Seen { at, link, flow, subflow, src, forward, config, packet } in self.seen {
            let (transport, profile) = transport_of(packet.transport, config);
            cables[place[link.index() / 2]].packets.push(Captured {
                at,
                src,
                dst: packet.dst,
                flow,
                subflow,
                forward,
                hops: packet.hops,
                ip_bytes: packet.size.saturating_sub(profile.link_bytes as u32),
                ecn: match (packet.has(flag::CE), packet.has(flag::ECN_CAPABLE)) {
                    (true, _) => 0b11,
                    (false, true) => 0b10,
                    (false, false) => 0b00,
                },
                class: classed(flow).then_some(packet.header.class & !CREDIT),
                frame: transport.frame(&packet),
            });
        }
        cables
    }
}

impl Observer for Captor {
    fn points(&self) -> Points {
        Points::ARRIVED
    }

    fn watches_link(&self, link: LinkId) -> bool {
        self.chosen[link.index()]
    }

    fn see(&mut self, at: Time, point: &Point) {
        let Point::Packet(_, PacketAt { link, packet, conn, .. }) = *point else { return };
        let (from, until) = self.window;
        if at < from || at > until {
            return;
        }
        if self.seen.len() == self.limit {
            self.cut_off.get_or_insert(at);
            return;
        }
        let ConnAt { first: flow, subflow, config, dst, .. } = conn;
        let forward = packet.dst == dst;
        let src = if forward { conn.src } else { dst };
        self.seen.push(Seen { at, link, flow, subflow, src, forward, config, packet });
    }

    fn memory(&self) -> u64 {
        self.seen.len() as u64 * PACKET_BYTES
    }
}
