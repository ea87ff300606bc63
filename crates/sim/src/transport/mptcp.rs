//! Multipath TCP: a flow carried by several TCP connections, its subflows, each on a path of its own.
//!
//! Sources: RFC 8684 (the protocol), RFC 6356 (coupled windows), Raiciu et al., "Improving Datacenter
//! Performance and Robustness with Multipath TCP", SIGCOMM 2011 (how many subflows). Each subflow that may
//! send takes the next data in order. The movement of data is in `session`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reassembly::Reassembly;
use super::session::partition::in_order::InOrder;
use super::session::{self, Coupling, Covers, Join, OverTcp, Scatter, Session, SubflowRecovery, Subflows};
use super::tcp::Tcp;
use crate::advice::Unread;
use crate::units::Bytes;

/// All connections of a run: data goes out in order.
pub type Model = session::Model<Reassembly>;

/// Multipath TCP: a flow over several TCP connections.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Mptcp {
    /// TCP connections that carry a flow (Raiciu et al. 2011: 8 for a large fat-tree), each with a 5-tuple of its own.
    #[schemars(range(min = 1, max = 64))]
    pub subflows: u32,
    /// How windows grow in congestion avoidance.
    pub coupling: Coupling,
    /// When the second subflow and all further ones start.
    pub join: Join,
    /// Scope of `tcp.receive_window`.
    pub receive_window: Covers,
    /// Send buffer of each subflow, in whole segments: data is handed over to a subflow as long as its buffer has room, and
    /// stays in it until the subflow has acknowledged it. Absent: data is a subflow's when it sends it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "64MiB"))]
    pub send_buffer: Option<Bytes>,
    /// Whether data that a subflow gives up, because its retransmission timer has expired, also goes to the others, as
    /// Linux does; RFC 8684, 3.3.6, leaves it to the sender.
    pub reinject: bool,
    /// Repair of losses beyond the subflow's own TCP.
    pub recovery: SubflowRecovery,
    /// Packet scatter at the beginning of a flow, as MMPTCP has it. Absent: subflows open as `join` says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scatter: Option<Scatter>,
    /// Settings of each subflow's TCP.
    pub tcp: Tcp,
}

impl Default for Mptcp {
    fn default() -> Self {
        Mptcp {
            subflows: 8,
            coupling: Coupling::Lia,
            join: Join::Established,
            receive_window: Covers::Flow,
            send_buffer: None,
            reinject: true,
            recovery: SubflowRecovery::Own,
            scatter: None,
            tcp: Tcp::default(),
        }
    }
}

impl OverTcp for Mptcp {
    fn session(&self) -> Session {
        let tcp = self.tcp.resolved();
        Session {
            subflows: Subflows::Number(self.subflows),
            coupling: self.coupling,
            join: self.join,
            receive_window: self.receive_window,
            send_buffer: self.send_buffer,
            reinject: self.reinject,
            recovery: self.recovery,
            scatter: self.scatter.as_ref().map(|scatter| (scatter.clone(), scatter.of(&tcp))),
            partition: InOrder {}.into(),
            tcp,
        }
    }

    fn tcp(&self) -> &Tcp {
        &self.tcp
    }

    fn tcp_mut(&mut self) -> &mut Tcp {
        &mut self.tcp
    }

    fn endless(&self) -> bool {
        true
    }

    fn unread_alone(&self) -> Vec<Unread> {
        let several = self.subflows > 1;
        let fields = ["join", "receive_window", "reinject", "recovery"];
        let mut alone = Unread::among(fields.map(|field| (field, several, "several subflows")));
        if self.scatter.is_some() {
            let at_first = "a flow that does not begin as packet scatter";
            alone.extend(Unread::among([
                ("join", !several, at_first),
                ("scatter.switch", several, "several subflows"),
            ]));
        }
        let grows = !self.tcp.congestion().models_path();
        let coupling =
            Unread::among([("coupling", grows, "a congestion control whose window grows, such as newreno")]);
        alone.into_iter().chain(coupling).collect()
    }
}
