//! Parallel TCP: a flow's data over a TCP connection for each of several paths, divided by a partition.
//!
//! Source: Song, "Multipath routing and TCP Incast in data centers" (PhD thesis, Iowa, 2017), chapter 4: each
//! path has a whole TCP of its own, with its own window, and the data of a path that has lost packets waits
//! for that path. The receiver writes each segment to its place in the block. With balancer "nix" it is the
//! thesis's MDNVR, with "dual" its Dual IPv4/IPv6; under "single" all connections share one path. The
//! movement of data is in `session`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::session::partition::Partition;
use super::session::partition::front_back::FrontBack;
use super::session::ranges::Ranges;
use super::session::{
    self, Coupling, Covers, Join, OverTcp, SUBFLOWS_MAX, Session, SubflowRecovery, Subflows,
};
use super::tcp::Tcp;
use crate::advice::Unread;
use crate::balancer::Balancer;
use crate::balancer::nix::Nix;
use crate::problem::{Problem, within};
use crate::routing::{Routes, most_paths};
use crate::topology::Fabric;
use crate::units::Bytes;

/// All connections of a run: data comes from several places of a flow.
pub type Model = session::Model<Ranges>;

/// Parallel TCP: a flow over a TCP connection for each of several paths.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ParallelTcp {
    /// Number of connections that carry a flow; the balancer gives each its path.
    pub paths: Paths,
    /// The data that each of them sends next.
    pub partition: Partition,
    /// Send buffer of each connection, in whole segments: a connection claims data as long as its buffer has room, and the
    /// data stays in it until it is acknowledged. Absent: a connection claims data when it sends it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "64MiB"))]
    pub send_buffer: Option<Bytes>,
    /// Settings of each connection's TCP. Receive windows are those of each connection.
    pub tcp: Tcp,
}

/// Number of connections that carry a flow, by the shortest paths between its hosts when it starts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Paths {
    /// One for each path.
    All,
    /// So many; where hosts have fewer paths, such as below one edge switch, one for each of these.
    Count(#[schemars(range(min = 1, max = 255))] u32),
    /// One in so many of the paths, rounded up: the k of MDNVRk, which need not be whole.
    OneIn(#[schemars(range(min = 1.0))] f64),
}

impl Default for ParallelTcp {
    fn default() -> Self {
        ParallelTcp {
            paths: Paths::Count(2),
            partition: FrontBack {}.into(),
            send_buffer: None,
            tcp: Tcp::default(),
        }
    }
}

impl OverTcp for ParallelTcp {
    fn session(&self) -> Session {
        let subflows = match self.paths {
            Paths::All => Subflows::AtMost(SUBFLOWS_MAX),
            Paths::Count(count) => Subflows::AtMost(count),
            Paths::OneIn(share) => Subflows::OneIn(share),
        };
        Session {
            subflows,
            coupling: Coupling::Uncoupled,
            join: Join::AtOnce,
            receive_window: Covers::Subflow,
            send_buffer: self.send_buffer,
            reinject: false,
            recovery: SubflowRecovery::Own,
            scatter: None,
            partition: self.partition.clone(),
            tcp: self.tcp.resolved(),
        }
    }

    fn tcp(&self) -> &Tcp {
        &self.tcp
    }

    fn tcp_mut(&mut self) -> &mut Tcp {
        &mut self.tcp
    }

    fn unread_alone(&self) -> Vec<Unread> {
        Unread::among([("partition", self.paths != Paths::Count(1), "several paths")])
    }

    fn own_problems(&self) -> Vec<Problem> {
        let name = format!("partition.{}", self.partition.name());
        within(&name, self.partition.problems()).collect()
    }

    /// More paths than any two hosts have, or more than connections can be numbered.
    fn problems_on(&self, fabric: &Fabric) -> Vec<Problem> {
        let Ok(routes) = Routes::build(fabric) else { return Vec::new() };
        let enough = |most| most_paths(fabric, &routes, most);
        match self.paths {
            Paths::Count(count) => {
                let most = enough(u64::from(count));
                if most >= u64::from(count) {
                    return Vec::new();
                }
                let message =
                    format!("{count} is more than there are paths: no two hosts have more than {most}");
                vec![Problem::new("paths.count", message)]
            }
            Paths::All | Paths::OneIn(_) => {
                let share = if let Paths::OneIn(share) = self.paths { share } else { 1.0 };
                let limit = (f64::from(SUBFLOWS_MAX) * share.max(1.0)) as u64;
                if enough(limit.saturating_add(1)) <= limit {
                    return Vec::new();
                }
                let message = format!(
                    "makes more than {SUBFLOWS_MAX} connections a flow: some hosts have more than {limit} paths"
                );
                let hint = "use paths.count, or a larger paths.one-in".to_string();
                vec![Problem::new("paths", message).with_hint(Some(hint))]
            }
        }
    }

    /// Each connection has a path of its own, as long as there are enough.
    fn balancer(&self) -> Balancer {
        Nix::default().into()
    }

    /// A flow without an end has no back from which to send.
    fn endless(&self) -> bool {
        matches!(self.partition, Partition::InOrder(_) | Partition::LastIdle(_) | Partition::ArrivalTime(_))
    }
}
