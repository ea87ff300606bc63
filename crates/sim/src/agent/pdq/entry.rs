//! A port's state of a flow, as PDQ keeps it.

use crate::ids::FlowId;
use crate::units::Time;

/// A port's state of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Which flow. Numbers of connections are used again, those of flows are not.
    pub flow: FlowId,
    /// D_i: its deadline; [`Time::NEVER`] without one.
    pub due: Time,
    /// T_i: the time that its remaining bytes take at its sender's highest rate, in ps.
    pub left: u64,
    /// RTT_i in ps; 0: not known.
    pub rtt: u64,
    /// R_i: the rate in bit/s that its last answer took to the sender.
    pub rate: u64,
    /// The rate that its last packet got here, which the reply may lower.
    pub given: u64,
    /// P_i: the port that pauses it.
    pub paused_by: u64,
    /// When it is taken off unless a packet of it comes.
    pub expires: Time,
}
