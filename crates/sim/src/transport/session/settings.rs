//! Settings of a transport over several TCP connections: their number, coupling and partition. The rest is
//! TCP's.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::partition::Partition;
use super::scatter::Scatter;
use crate::advice::{Advice, Unread};
use crate::balancer::Balancer;
use crate::derived::{Environment, Longest, Values};
use crate::engine::contract::packet::Packet;
use crate::problem::{Problem, within};
use crate::topology::Fabric;
use crate::transport::frame::Frame;
use crate::transport::tcp::Tcp;
use crate::transport::{Needs, Profile, Prototypes, Settings};
use crate::units::Bytes;

/// Most subflows of a flow: their numbers are bytes.
pub const SUBFLOWS_MAX: u32 = 255;

/// How a flow is carried by several TCP connections.
#[derive(Clone, Debug)]
pub struct Session {
    pub subflows: Subflows,
    /// How their windows grow in congestion avoidance.
    pub coupling: Coupling,
    /// When the second one and all further ones start.
    pub join: Join,
    /// Scope of `tcp.receive_window`.
    pub receive_window: Covers,
    /// Send buffer of each of them; none: data is theirs when they send it.
    pub send_buffer: Option<Bytes>,
    /// Whether data that a subflow gives up also goes to the others.
    pub reinject: bool,
    /// Whether data goes twice ahead of any sign of loss.
    pub recovery: SubflowRecovery,
    /// How a flow begins as packet scatter, if it does, and the first subflow's TCP then.
    pub scatter: Option<(Scatter, Tcp)>,
    /// The data that each of them sends next.
    pub partition: Partition,
    /// Settings of each of them as TCP.
    pub tcp: Tcp,
}

impl Session {
    /// Settings of a subflow's TCP at its sender.
    #[inline]
    pub fn tcp_of(&self, own: u8) -> &Tcp {
        match &self.scatter {
            Some((_, first)) if own == 0 => first,
            _ => &self.tcp,
        }
    }

    /// How far beyond the first byte that is not known to have arrived the flow may be sent; 2^64 - 1: anywhere.
    pub fn window(&self) -> u64 {
        if self.receive_window == Covers::Flow { self.tcp.receive_window.0 } else { u64::MAX }
    }

    /// Segments that a send buffer holds: whole ones.
    pub fn buffered(&self) -> Option<usize> {
        self.send_buffer.map(|bytes| (bytes.0 / self.tcp.mss.0) as usize)
    }

    /// A send buffer without room for a segment, or one whose subflow has data that no other may send.
    fn problem(&self) -> Option<Problem> {
        let (bytes, mss) = (self.send_buffer?, self.tcp.mss);
        if self.recovery == SubflowRecovery::Fuso {
            let why = "\"fuso\" copies no data of send buffers: leave send_buffer out, or use \"own\"";
            return Some(Problem::new("recovery", why));
        }
        let why = format!("{bytes} is below tcp.mss, which is {mss}: nothing could be sent");
        (bytes < mss).then(|| Problem::new("send_buffer", why))
    }
}

/// How many connections carry a flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Subflows {
    Number(u32),
    /// As many as there are shortest paths between its hosts, at most so many.
    AtMost(u32),
    /// Of the shortest paths one in so many, rounded up.
    OneIn(f64),
}

impl Subflows {
    /// Those between two hosts with so many shortest paths.
    pub fn among(self, paths: u64) -> u32 {
        let found = match self {
            Subflows::Number(number) => return number,
            Subflows::AtMost(most) => paths.min(u64::from(most)),
            Subflows::OneIn(share) => (paths as f64 / share).ceil() as u64,
        };
        found.clamp(1, u64::from(SUBFLOWS_MAX)) as u32
    }

    /// As many as there can be.
    pub fn most(self) -> u32 {
        match self {
            Subflows::Number(most) | Subflows::AtMost(most) => most,
            Subflows::OneIn(_) => SUBFLOWS_MAX,
        }
    }
}

/// How windows of subflows grow in congestion avoidance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Coupling {
    /// Together as the window of one TCP on the best path: the linked increases algorithm (RFC 6356).
    #[default]
    Lia,
    /// Each by its share of the flow's rate, together by a segment a round trip: TraSh of XMP (Cao et al. 2013), for
    /// `congestion = "bos"`.
    Trash,
    /// Together as the window of one TCP on the best path, shared with other servers of the same answer: EW-MPTCP (Li et al.
    /// 2014), a reconstruction from its abstract.
    Ew(Ew),
    /// As one: growth and losses go by the sum of all windows (Han et al. 2006), so that traffic leaves any path with more losses
    /// than another.
    FullyCoupled,
    /// Each as the window of a TCP on its own.
    Uncoupled,
}

/// EW-MPTCP: windows weighted by the number of servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ew {
    /// Servers that answer one receiver together, of which this flow's sender is one: senders of an incast, for instance.
    #[schemars(range(min = 1, max = 100_000))]
    pub servers: u32,
}

/// Repair of losses on a subflow, beyond TCP's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SubflowRecovery {
    /// Each subflow repairs its losses by itself.
    Own,
    /// While no new data may be sent, the best subflow also sends the data in flight on the worst one, each packet once, ahead
    /// of any sign of loss: FUSO (Chen et al. 2016).
    Fuso,
}

/// When the second subflow and all further ones start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Join {
    /// When the first one has its SYN/ACK, which has the key that their SYNs need (RFC 8684, 3.2).
    Established,
    /// With the first one (htsim).
    AtOnce,
}

/// Scope of a receive window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Covers {
    /// The data of the whole flow, from the first byte on that is missing (RFC 8684, 3.3.4): one slow subflow may stop
    /// the others.
    Flow,
    /// Each subflow for itself (htsim).
    Subflow,
}

/// A transport whose flows are carried by several TCP connections: their properties in its configuration. The
/// rest of its settings is TCP's.
pub trait OverTcp {
    /// How a flow is carried.
    fn session(&self) -> Session;

    /// Settings of each connection as TCP: the field `tcp`.
    fn tcp(&self) -> &Tcp;

    /// The same, to change.
    fn tcp_mut(&mut self) -> &mut Tcp;

    /// All problems beyond those of the schema and of TCP's fields.
    fn own_problems(&self) -> Vec<Problem> {
        Vec::new()
    }

    /// Its problems on that network; paths are below the transport.
    fn problems_on(&self, fabric: &Fabric) -> Vec<Problem> {
        let _ = fabric;
        Vec::new()
    }

    /// Whether flows without an end may have it.
    fn endless(&self) -> bool;

    /// Whether its connections can be kept.
    fn keeps(&self) -> bool {
        true
    }

    /// Fields that are not read where one connection alone carries a flow.
    fn unread_alone(&self) -> Vec<Unread>;

    /// The balancer that gives its connections paths if the scenario names none.
    fn balancer(&self) -> Balancer {
        self.tcp().profile().balancer
    }
}

/// Values of TCP's fields, as those of the field `tcp`.
fn below_tcp(values: Values) -> Values {
    values.into_iter().map(|(field, value)| (format!("tcp.{field}"), value)).collect()
}

impl<T: OverTcp> Settings for T {
    fn profile(&self) -> Profile {
        let (session, tcp) = (self.session(), self.tcp().profile());
        let subflows = u64::from(session.subflows.most());
        let windows = if session.receive_window == Covers::Flow { 1 } else { subflows };
        let buffers = session.buffered().map_or(u64::MAX, |segments| subflows * segments as u64);
        Profile {
            class_field: tcp.class_field.map(|_| "tcp.tagging"),
            subflows,
            endless: self.endless(),
            keeps: self.keeps(),
            in_flight_max: tcp.in_flight_max.map(|packets| buffers.min(windows * packets)),
            balancer: self.balancer(),
            ..tcp
        }
    }

    fn needs(&self) -> Needs {
        let needs = self.tcp().needs();
        let scatters = self.session().scatter.map(|_| "scatter");
        Needs { labels: scatters.or(needs.labels.map(|_| "tcp.repath")), ..needs }
    }

    fn bind(&mut self, prototypes: &Prototypes) -> bool {
        self.tcp_mut().bind(prototypes)
    }

    fn problems(&self) -> Vec<Problem> {
        let tcp = within("tcp", self.tcp().problems());
        let ictcp = self.tcp().ictcp.is_some().then(|| {
            let why = "sets the window of one connection, and a flow has several here: use transport.tcp";
            Problem::new("tcp.ictcp", why)
        });
        let pacer = self.tcp().nic_pacer.is_some().then(|| {
            let why = "paces one connection of a flow, which has several here: use transport.tcp";
            Problem::new("tcp.nic_pacer", why)
        });
        let alone = ictcp.into_iter().chain(pacer);
        self.own_problems().into_iter().chain(self.session().problem()).chain(alone).chain(tcp).collect()
    }

    fn problems_on(&self, fabric: &Fabric) -> Vec<Problem> {
        OverTcp::problems_on(self, fabric)
    }

    fn derived(&self, environment: &Environment) -> Values {
        below_tcp(self.tcp().derived(environment))
    }

    fn advice(&self, path: &str, longest: &Longest) -> Vec<Advice> {
        self.tcp().advice(&format!("{path}.tcp"), longest)
    }

    fn unread(&self) -> Vec<Unread> {
        let below = |Unread { field, unless }| {
            let unless = if unless.contains(" = ") { format!("tcp.{unless}") } else { unless };
            Unread { field: format!("tcp.{field}"), unless }
        };
        self.unread_alone().into_iter().chain(self.tcp().unread().into_iter().map(below)).collect()
    }

    fn preset(&self) -> Values {
        below_tcp(self.tcp().preset())
    }

    fn frame(&self, packet: &Packet) -> Frame {
        self.tcp().frame(packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: a number is itself, others follow the shortest paths, from one connection to 255.
    #[test]
    fn subflows_among_paths() {
        let among = |subflows: Subflows| [0, 1, 5, 1_000].map(|paths| subflows.among(paths));
        assert_eq!(among(Subflows::Number(3)), [3; 4]);
        assert_eq!(among(Subflows::AtMost(4)), [1, 1, 4, 4]);
        assert_eq!(among(Subflows::OneIn(2.0)), [1, 1, 3, 255]);
        assert_eq!(
            [Subflows::Number(3), Subflows::AtMost(4), Subflows::OneIn(2.0)].map(Subflows::most),
            [3, 4, 255]
        );
    }
}
