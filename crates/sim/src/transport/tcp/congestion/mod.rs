//! How many bytes may be under way: congestion control, apart from the machinery that moves them.
//!
//! A member has a configuration and a `Model`, its state for one connection. The defaults of
//! [`Control`] are RFC 5681; a member changes what it does differently.

use crate::register::register;
use crate::transport::source::Messages;
use crate::transport::tcp::ecn::Echo;
use crate::transport::tcp::{Growth, Halves};
use crate::units::Time;

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
            fn on_ack(&mut self, window: &mut Window, acked: u64, siblings: &mut impl Siblings) {
                match self { $(Model::$config(model) => model.on_ack(window, acked, siblings),)* }
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

            fn distrusts_duplicates(&self) -> bool {
                match self { $(Model::$config(model) => model.distrusts_duplicates(),)* }
            }

            fn on_timeout(&mut self, window: &mut Window, first: bool) {
                match self { $(Model::$config(model) => model.on_timeout(window, first),)* }
            }

            #[inline]
            fn on_echo(&mut self, echoed: Echoed) -> Answer {
                match self { $(Model::$config(model) => model.on_echo(echoed),)* }
            }

            fn on_mark(&mut self, window: &mut Window, progress: &Progress) {
                match self { $(Model::$config(model) => model.on_mark(window, progress),)* }
            }
        }
    };
}

controls! {
    reno::Reno = "reno",
    new_reno::NewReno = "newreno",
    dctcp::Dctcp = "dctcp",
    d2tcp::D2tcp = "d2tcp",
}

/// What a congestion control's configuration tells the check and the connection.
pub trait Settings {
    /// All that is wrong beyond what the schema says: (path below the control, what is wrong).
    fn problems(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// How the receiver is to tell of marks, if it lives by them: then data asks for marks, whatever `ecn` says.
    fn echo(&self) -> Option<Echo> {
        None
    }

    /// Whether a reduction for marks takes a round trip: see `transport/tcp/reduction.rs`.
    fn reduces_in_proportion(&self) -> bool {
        false
    }
}

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
    /// What the receiver is ready to buffer.
    pub most: u32,
    /// Segments that a loss leaves at least.
    pub min_ssthresh: u16,
    /// What a loss halves.
    pub halves: Halves,
    /// What lets it grow.
    pub growth: Growth,
    /// Bytes acknowledged that have not let it grow yet, under [`Growth::Segments`].
    pub counted: u64,
    /// Whether a timeout was what began this slow start.
    pub after_timeout: bool,
}

impl Window {
    /// Half of what is under way, at least two segments unless configured otherwise (RFC 5681, equation 4).
    pub fn half(&self) -> u64 {
        let whole = match self.halves {
            // The connection has put into `flight` what is to be halved.
            Halves::Flight | Halves::Queued | Halves::Pipe => self.flight,
            Halves::Window => self.cwnd,
        };
        (whole / 2).max(u64::from(self.min_ssthresh) * self.mss)
    }

    /// The window, as far as the receiver's allows it to be used.
    pub fn usable(&self) -> u64 {
        self.cwnd.min(u64::from(self.most))
    }

    /// Whether it was this window that limited what was under way; in slow start also if half of it was used, so that
    /// it may double (Linux, `tcp_is_cwnd_limited`).
    pub fn limits(&self) -> bool {
        self.flight + self.mss > self.cwnd || (self.cwnd < self.ssthresh && self.cwnd < 2 * self.flight)
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

/// What an acknowledgement says of marks, of new data or a duplicate, during recovery or outside.
#[derive(Clone, Copy, Debug)]
pub struct Echoed {
    /// Bytes that it acknowledges.
    pub acked: u64,
    /// Whether it says that data came marked.
    pub marked: bool,
    /// Everything before this byte is acknowledged, with it.
    pub una: u64,
    /// Everything before this byte has been sent.
    pub next: u64,
}

/// What follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Whether the window may grow by this acknowledgement.
    pub grow: bool,
    /// Whether the window is to be reduced by [`Control::on_mark`], if it has not been in this window of data.
    pub reduce: bool,
    /// Whether slow start is over at once, even if the window is reduced later or not at all.
    pub ends_slow_start: bool,
}

/// How far a flow has come, for those who know of deadlines.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Bytes that are not acknowledged.
    pub left: u64,
    /// Smoothed round-trip time; none before the first sample.
    pub round_trip: Option<Time>,
    /// Time to the deadline, zero after it; none without one.
    pub time_left: Option<Time>,
}

/// The other connections of the same flow, as far as a window's growth depends on them: see `transport/mptcp`.
pub trait Siblings {
    /// Bytes by which the window grows in congestion avoidance when so many are acknowledged; `None`: as it would alone.
    #[inline]
    fn increase(&mut self, window: &Window, acked: u64) -> Option<u64> {
        let _ = (window, acked);
        None
    }
}

/// Flows that one connection carries have no others.
impl Siblings for Messages {}

/// What a researcher writes to change how much may be under way.
pub trait Control {
    /// New data is acknowledged, outside recovery: slow start below the threshold, else congestion avoidance.
    #[inline]
    fn on_ack(&mut self, window: &mut Window, acked: u64, siblings: &mut impl Siblings) {
        let Window { mss, growth, after_timeout, .. } = *window;
        window.after_timeout &= window.cwnd < window.ssthresh;
        window.cwnd += if window.cwnd < window.ssthresh {
            // RFC 3465, 2.3: after a timeout an acknowledgement may cover much that arrived before it.
            acked.min(if growth == Growth::Bytes && !after_timeout { 2 * mss } else { mss })
        } else if let Some(coupled) = siblings.increase(window, acked) {
            coupled
        } else if growth == Growth::Segments {
            window.counted += acked;
            if window.counted < window.cwnd / mss * mss {
                return;
            }
            window.counted = 0;
            mss
        } else {
            let counted = if growth == Growth::Bytes { acked } else { mss };
            (mss * counted / window.cwnd).max(1)
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

    /// Whether duplicates of what was sent before the last timeout say nothing (RFC 6582, 3.2, step 2).
    fn distrusts_duplicates(&self) -> bool {
        true
    }

    /// The retransmission timer has expired; `first` unless the same segment had expired before.
    fn on_timeout(&mut self, window: &mut Window, first: bool) {
        if first {
            window.ssthresh = window.half();
        }
        window.cwnd = window.mss;
    }

    /// With ECN, an acknowledgement, before [`Control::on_ack`]: one that echoes a mark is a sign of congestion, and the
    /// window does not grow by it (RFC 3168, 6.1.2).
    #[inline]
    fn on_echo(&mut self, echoed: Echoed) -> Answer {
        Answer { grow: !echoed.marked, reduce: echoed.marked, ends_slow_start: false }
    }

    /// With ECN, what was sent since the last reduction has been marked: as after a loss, but nothing is repaired
    /// (RFC 3168, 6.1.2).
    fn on_mark(&mut self, window: &mut Window, progress: &Progress) {
        let _ = progress;
        window.ssthresh = window.half();
        // The floor never lifts a window that is below it.
        window.cwnd = window.cwnd.min(window.ssthresh);
    }
}
