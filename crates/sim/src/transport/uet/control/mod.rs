//! Congestion control of Ultra Ethernet: a window at the sender, credit of the receiver, or both.
//!
//! A member has a configuration and, if it limits the bytes in flight, a model for one flow. A sender asks the control of its
//! flow; credit is the business of `sender` and `pacer`. Adding a member is its file and its line in the list below.

use super::delay::Delays;
use super::scale::Scale;
use crate::derived::Values;
use crate::problem::Problem;
use crate::register::{dispatch, register};
use crate::units::Time;

register! {
    /// Congestion control of flows over Ultra Ethernet.
    pub enum UetControl: Settings {
        nscc::Nscc = "nscc",
        rccc::Rccc = "rccc",
        both::Both = "both",
        dctcp::UetDctcp = "dctcp",
        constant::Constant = "constant",
        eqds::Eqds = "eqds",
    }
}

impl Default for UetControl {
    fn default() -> Self {
        nscc::Nscc::default().into()
    }
}

/// Properties of a control's configuration for the check and the transport.
pub trait Settings {
    /// The window of a flow that starts.
    fn window(&self, scale: &Scale) -> Window {
        let _ = scale;
        Window::Unlimited(Unlimited)
    }

    /// Whether it has a window.
    fn has_window(&self) -> bool {
        true
    }

    /// The terms of its credit from receivers, if it has any.
    fn credit(&self) -> Option<Terms<'_>> {
        None
    }

    /// Its NSCC, if it has one.
    fn nscc(&self) -> Option<&nscc::Nscc> {
        None
    }

    /// All problems beyond those that the schema finds; paths are below the control.
    fn problems(&self) -> Vec<Problem> {
        Vec::new()
    }

    /// Values of its fields that follow from the network; paths are below the control.
    fn derived(&self, network: &Network) -> Values {
        let _ = network;
        Vec::new()
    }
}

/// The terms on which a receiver gives credit.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a> {
    /// Share of the rate of the receiver's link.
    pub pull_rate: f64,
    /// Bytes of a unit of credit.
    pub quantum: u64,
    /// Most bytes of a pull, cut to whole units.
    pub pull_bytes: u64,
    /// Whether flows that have all that they have requested get more while no other lacks any.
    pub slow_pulls: bool,
    /// Whether each pull has the most bytes, also for a flow that has requested less.
    pub whole_pulls: bool,
    /// Whether flows of which packets were trimmed are served before others.
    pub repairs_first: bool,
    /// Whether flows of a host that wait for their turn divide what each requests.
    pub share_requests: bool,
    /// The fields of a receiver's slowdown in a congested network; none if the control knows no slowdown.
    pub slowdown: Option<&'a rccc::Rccc>,
}

impl Terms<'_> {
    /// Units of credit of a full pull.
    pub fn quanta_per_pull(&self) -> i64 {
        (self.pull_bytes / self.quantum).max(1) as i64
    }
}

/// The network, as far as values of controls follow from it.
#[derive(Clone, Copy, Debug)]
pub struct Network {
    /// Round trip of its longest path.
    pub rtt: Time,
    /// Whether its ports trim.
    pub trimming: bool,
    /// By how much its hosts together are faster than its narrowest tier, at least 1.
    pub ratio: f64,
}

/// The window of one flow.
#[derive(Clone, Debug)]
pub enum Window {
    Nscc(nscc::Model),
    Dctcp(dctcp::Model),
    Constant(constant::Model),
    Unlimited(Unlimited),
}

dispatch! {
    impl React for Window [Nscc Dctcp Constant Unlimited] {
        #[inline]
        fn on_ack(&mut self, ack: &Acked, delays: &Delays);
        fn on_nack(&mut self, nack: &Nacked, delays: &Delays);
        fn on_timeout(&mut self, bytes: u32);
        #[inline]
        fn bytes(&self) -> i64;
    }
}

/// An acknowledgement that arrives now.
#[derive(Clone, Copy, Debug)]
pub struct Acked {
    pub now: Time,
    /// Whether the packet that caused it was marked.
    pub marked: bool,
    /// Its queueing delay; the average without a sample.
    pub delay: Time,
    /// Bytes on the wire that the receiver has received since the last one.
    pub received: u64,
    /// Bytes in flight, without those.
    pub in_flight: i64,
}

/// A report of a trimmed packet that arrives now.
#[derive(Clone, Copy, Debug)]
pub struct Nacked {
    pub now: Time,
    /// The packet's bytes when it was sent.
    pub bytes: u32,
    /// Bytes in flight, with those.
    pub in_flight: i64,
    /// Whether the port to its receiver has trimmed it.
    pub last_hop: bool,
}

/// Reaction of a window to answers: the part that a researcher writes. Bytes are those on the wire, with headers.
pub trait React {
    /// An acknowledgement.
    fn on_ack(&mut self, ack: &Acked, delays: &Delays);

    /// A packet was trimmed.
    fn on_nack(&mut self, nack: &Nacked, delays: &Delays);

    /// A packet of so many bytes counts as lost.
    fn on_timeout(&mut self, bytes: u32);

    /// The window: a packet is sent if it and the bytes in flight are no more.
    fn bytes(&self) -> i64;
}

/// No window: credit alone limits a flow.
#[derive(Clone, Copy, Debug)]
pub struct Unlimited;

impl React for Unlimited {
    fn on_ack(&mut self, _ack: &Acked, _delays: &Delays) {}
    fn on_nack(&mut self, _nack: &Nacked, _delays: &Delays) {}
    fn on_timeout(&mut self, _bytes: u32) {}

    fn bytes(&self) -> i64 {
        i64::MAX / 2
    }
}
