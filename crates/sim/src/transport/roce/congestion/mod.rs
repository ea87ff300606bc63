//! The rate at which a flow of RoCE is sent, and the bytes that it may have in flight: congestion control, apart from
//! go-back-N, pacing and the receiver, which all controls share.
//!
//! A member has a configuration and a `Model`, its state for one flow. Adding one is its file and its line in the list
//! below.

use crate::advice::Unread;
use crate::derived::{Longest, Values};
pub use crate::engine::contract::telemetry::Telemetry;
use crate::problem::Problem;
use crate::register::{dispatch, register};
pub use crate::transport::ack::Ack;
use crate::units::{Rate, SECOND, Time};

/// One list: configuration and model of each control.
macro_rules! controls {
    ($($module:ident :: $config:ident = $name:literal),* $(,)?) => {
        register! {
            /// Reaction of the rate of a flow over RoCE to congestion.
            pub enum RateControl: Settings { $($module::$config = $name),* }
        }

        /// The state of one flow's control.
        #[derive(Debug)]
        pub enum Model {
            $($config($module::Model),)*
        }

        impl Begin for Model {
            fn begin(control: &RateControl, line: Rate) -> Model {
                match control {
                    $(RateControl::$config(config) => Model::$config($module::Model::new(config, line)),)*
                }
            }
        }

        dispatch! {
            impl Control for Model [$($config)*] {
                fn on_line(&mut self, line: Rate);
                #[inline]
                fn advance(&mut self, now: Time);
                #[inline]
                fn on_ack(&mut self, ack: &Ack, telemetry: &Telemetry);
                fn on_cnp(&mut self, now: Time);
                fn on_feedback(&mut self, now: Time, feedback: u64);
                fn on_loss(&mut self, now: Time, loss: Loss);
                #[inline]
                fn on_sent(&mut self, bytes: u32, now: Time);
                #[inline]
                fn rate(&self) -> f64;
                #[inline]
                fn window(&self) -> Option<u64>;
            }
        }
    };
}

controls! {
    dcqcn::DcqcnControl = "dcqcn",
    dcqcn_hpcc::DcqcnHpcc = "dcqcn-hpcc",
    dctcp::DctcpControl = "dctcp",
    hpcc::Hpcc = "hpcc",
    line_rate::LineRate = "line-rate",
    powertcp::PowerTcp = "powertcp",
    qcn::QcnControl = "qcn",
    timely::Timely = "timely",
}

pub mod bounds;
pub mod window;

impl Default for RateControl {
    fn default() -> Self {
        dcqcn::DcqcnControl::default().into()
    }
}

/// Properties of a control's configuration for the check and the transport.
pub trait Settings {
    /// All problems beyond those that the schema finds; paths are below the control.
    fn problems(&self) -> Vec<Problem> {
        Vec::new()
    }

    /// Fields that its other fields leave unread; paths are below the control.
    fn unread(&self) -> Vec<Unread> {
        Vec::new()
    }

    /// The signals of congestion that it reads.
    fn signals(&self) -> Signals {
        Signals::default()
    }

    /// Whether a new rate changes the pause that runs after the last packet, too; otherwise it counts from the next packet on.
    fn repaces(&self) -> bool {
        false
    }

    /// Values of its fields that follow from the network; paths are below the control.
    fn derived(&self, longest: &Longest) -> Values {
        let _ = longest;
        Vec::new()
    }
}

/// Signals of congestion: ports and receivers give those that a control reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signals {
    /// It acts on acknowledgements, so that one at the end of a flow is not enough.
    pub acks: bool,
    /// Marks that acknowledgements echo ([`Ack::marked`]): data is ECN-capable.
    pub marks: bool,
    /// Congestion notification packets for marked data, which is ECN-capable.
    pub notifications: bool,
    /// The state of each port on the way ([`Telemetry`]).
    pub telemetry: bool,
    /// Messages of switches with their feedback (`agent/qcn.rs`).
    pub feedback: bool,
}

impl Default for Signals {
    fn default() -> Self {
        Signals { acks: true, marks: false, notifications: false, telemetry: false, feedback: false }
    }
}

impl Signals {
    /// Whether ports are to mark data.
    pub fn needs_marks(self) -> bool {
        self.marks || self.notifications
    }
}

/// How a loss was detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The receiver has reported a missing packet.
    Nak,
    /// Nothing has been acknowledged for the time of `timeout`.
    Timeout,
}

/// A congestion control over RoCE: the part that a researcher writes.
///
/// Rates are in bits per second on the wire, headers included; windows, and the bytes of an [`Ack`], are payload.
pub trait Control {
    /// The rate of the host's port has changed: faults change it.
    fn on_line(&mut self, line: Rate) {
        let _ = line;
    }

    /// Time passes: called before every other method at an event, for controls with timers of their own. A timer needs no
    /// event, since nothing sees its effect before the next call.
    #[inline]
    fn advance(&mut self, now: Time) {
        let _ = now;
    }

    /// An acknowledgement, also one that repeats or reports a missing packet; except the last one of a flow. Telemetry is
    /// that of the data packet that it answers; empty unless [`Signals::telemetry`] asks for it.
    #[inline]
    fn on_ack(&mut self, ack: &Ack, telemetry: &Telemetry) {
        let _ = (ack, telemetry);
    }

    /// A congestion notification packet, if [`Signals::notifications`] asks for them.
    fn on_cnp(&mut self, now: Time) {
        let _ = now;
    }

    /// The message of a switch, if [`Signals::feedback`] asks for them: a number from 1 to 63, of the queue's excess and growth.
    fn on_feedback(&mut self, now: Time, feedback: u64) {
        let _ = (now, feedback);
    }

    /// The sender goes back to the first unacknowledged packet. For a NAK, before its [`Control::on_ack`].
    fn on_loss(&mut self, now: Time, loss: Loss) {
        let _ = (now, loss);
    }

    /// A packet of so many bytes on the wire is sent, perhaps not for the first time. The next one follows at the rate after
    /// this call.
    #[inline]
    fn on_sent(&mut self, bytes: u32, now: Time) {
        let _ = (bytes, now);
    }

    /// The rate of the flow; never zero. Infinite: the host's port alone limits it.
    fn rate(&self) -> f64;

    /// A packet is sent only while fewer bytes are in flight; by default none limit it. If one acknowledgement answers
    /// several packets (`ack_every`), so many may always be.
    #[inline]
    fn window(&self) -> Option<u64> {
        None
    }
}

/// The start of a control's state.
pub trait Begin: Control {
    /// The state of a flow that starts at a port of that rate.
    fn begin(control: &RateControl, line: Rate) -> Self;
}

/// Time at that rate, in bits per second, from one packet of so many bytes to the next.
#[inline]
pub fn gap(rate: f64, bytes: u32) -> Time {
    debug_assert!(rate > 0.0, "a rate of {rate} sends nothing");
    Time((f64::from(bytes) * (8.0 * SECOND as f64 / rate)).round() as u64)
}
