//! How many bytes may be under way: congestion control, apart from the machinery that moves them.
//!
//! A member has a configuration and a `Model`, its state for one connection. The defaults of
//! [`Control`] are RFC 5681; a member changes what it does differently.

use crate::register::register;
use crate::transport::tcp::Halves;

/// One list: configuration and model of each congestion control.
macro_rules! controls {
    ($($module:ident :: $config:ident = $name:literal),* $(,)?) => {
        register! {
            /// How the congestion window reacts to acknowledgements and losses.
            pub enum Congestion: Settings { $($module::$config = $name),* }
        }

        /// The state of one connection's congestion control.
        #[derive(Clone, Debug)]
        #[allow(missing_docs, reason = "the configuration structs have the documentation")]
        pub enum Model {
            $($config($module::Model),)*
        }

        impl Congestion {
            /// The state of a connection that starts.
            pub fn model(&self) -> Model {
                match self {
                    $(Congestion::$config(config) => Model::$config($module::Model::new(config)),)*
                }
            }
        }

        impl Control for Model {
            #[inline]
            fn on_ack(&mut self, window: &mut Window, acked: u64) {
                match self { $(Model::$config(model) => model.on_ack(window, acked),)* }
            }

            fn on_loss(&mut self, window: &mut Window, dupacks: u32) {
                match self { $(Model::$config(model) => model.on_loss(window, dupacks),)* }
            }

            fn on_duplicate(&mut self, window: &mut Window) {
                match self { $(Model::$config(model) => model.on_duplicate(window),)* }
            }

            fn on_recovery_ack(&mut self, window: &mut Window, ack: RecoveryAck) -> Step {
                match self { $(Model::$config(model) => model.on_recovery_ack(window, ack),)* }
            }

            fn on_timeout(&mut self, window: &mut Window, first: bool) {
                match self { $(Model::$config(model) => model.on_timeout(window, first),)* }
            }
        }
    };
}

controls! {
    reno::Reno = "reno",
    new_reno::NewReno = "newreno",
}

/// What a congestion control's configuration tells the check: nothing so far.
pub trait Settings {}

/// A connection's window, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Congestion window.
    pub cwnd: u64,
    /// Slow-start threshold.
    pub ssthresh: u64,
    /// A full segment.
    pub mss: u64,
    /// Bytes sent and not acknowledged, as of this event and before it changes them.
    pub flight: u64,
    /// What a loss halves.
    pub halves: Halves,
}

impl Window {
    /// Half of what is under way, at least two segments (RFC 5681, equation 4).
    pub fn half(&self) -> u64 {
        let whole = match self.halves {
            Halves::Flight => self.flight,
            Halves::Window => self.cwnd,
        };
        (whole / 2).max(2 * self.mss)
    }
}

/// An acknowledgement of new data during fast recovery.
#[derive(Clone, Copy, Debug)]
pub struct RecoveryAck {
    /// Bytes that it acknowledges.
    pub acked: u64,
    /// Whether it covers all that had been sent when the loss was noticed.
    pub full: bool,
    /// Whether it is the first in this recovery that does not.
    pub first_partial: bool,
}

/// What the connection does after an acknowledgement during fast recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Recovery is over.
    Leave,
    /// It goes on: send the first unacknowledged segment again.
    Repair {
        /// And start the retransmission timer anew.
        restart_timer: bool,
    },
}

/// What a researcher writes to change how much may be under way.
pub trait Control {
    /// New data is acknowledged, outside recovery: slow start below the threshold, else congestion avoidance.
    #[inline]
    fn on_ack(&mut self, window: &mut Window, acked: u64) {
        window.cwnd += if window.cwnd < window.ssthresh {
            acked.min(window.mss)
        } else {
            (window.mss * window.mss / window.cwnd).max(1)
        };
    }

    /// So many duplicate acknowledgements say that a segment is lost; it is sent again.
    fn on_loss(&mut self, window: &mut Window, dupacks: u32) {
        window.ssthresh = window.half();
        window.cwnd = window.ssthresh + u64::from(dupacks) * window.mss;
    }

    /// A further duplicate acknowledgement during recovery: another segment has left the network.
    fn on_duplicate(&mut self, window: &mut Window) {
        window.cwnd += window.mss;
    }

    /// New data is acknowledged during recovery.
    fn on_recovery_ack(&mut self, window: &mut Window, ack: RecoveryAck) -> Step;

    /// The retransmission timer has expired; `first` unless the same segment had expired before.
    fn on_timeout(&mut self, window: &mut Window, first: bool) {
        if first {
            window.ssthresh = window.half();
        }
        window.cwnd = window.mss;
    }
}
