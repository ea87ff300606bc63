//! The bytes that may be in flight: congestion control, apart from the machinery that sends them.
//!
//! A member has a configuration and a `Model`, its state for one connection. The defaults of [`Control`] are
//! RFC 5681; a member overrides its differences.

use std::ops::Deref;

pub use self::pace::Pace;
use self::sample::Sample;
use crate::problem::Problem;
use crate::random::Stream;
use crate::register::{dispatch, register};
use crate::transport::ack;
use crate::transport::source::Messages;
use crate::transport::tcp::ecn::Echo;
use crate::transport::tcp::{Growth, Halves, Preset};
use crate::units::{Rate, Time};

/// The model of a control as a connection has it: the largest ones are apart, so that connections under others are small.
macro_rules! held {
    ($model:ty) => { $model };
    ($model:ty, apart) => { Box<$model> };
}

mod pace;
pub mod sample;

/// One list: configuration and model of each congestion control.
macro_rules! controls {
    ($($module:ident :: $config:ident = $name:literal $($held:ident)?),* $(,)?) => {
        register! {
            /// Reaction of the congestion window to acknowledgements and losses.
            pub enum Congestion: Settings { $($module::$config = $name),* }
        }

        /// The state of one connection's congestion control.
        #[derive(Debug)]
        pub enum Model {
            $($config(held!($module::Model $(, $held)?)),)*
        }

        impl Congestion {
            /// The state of a connection that starts.
            pub fn model(&self) -> Model {
                match self {
                    $(Congestion::$config(config) => Model::$config($module::Model::new(config).into()),)*
                }
            }
        }

        dispatch! {
            impl Control for Model [$($config)*] {
                #[inline]
                fn on_ack(&mut self, window: &mut Window, ack: &Ack, siblings: &mut impl Siblings);
                fn on_congestion_event(&mut self, window: &mut Window, event: &CongestionEvent);
                fn on_duplicate(&mut self, window: &mut Window, ack: &Ack);
                fn on_recovery_ack(&mut self, window: &mut Window, ack: &Ack, recovery: Recovery) -> Step;
                fn distrusts_duplicates(&self) -> bool;
                #[inline]
                fn on_echo(&mut self, ack: &Ack) -> Answer;
                fn start(&mut self, window: &Window, round_trip: Option<Time>, now: Time);
                fn seed(&mut self, stream: Stream);
                fn on_sample(&mut self, window: &mut Window, sample: &Sample) -> bool;
                fn on_restart(&mut self, window: &mut Window, now: Time);
                #[inline]
                fn pacing_rate(&self) -> Option<Rate>;
                fn cwnd(&self, window: &Window) -> u64;
            }
        }
    };
}

controls! {
    reno::Reno = "reno",
    new_reno::NewReno = "newreno",
    dctcp::Dctcp = "dctcp",
    d2tcp::D2tcp = "d2tcp",
    l2dct::L2dct = "l2dct" apart,
    bos::Bos = "bos",
    cubic::Cubic = "cubic" apart,
    swift::Swift = "swift" apart,
    bbr::Bbr = "bbr" apart,
    python::PythonControl = "python",
}

/// Properties of a congestion control's configuration for the check and the connection.
pub trait Settings {
    /// All problems beyond those that the schema finds; paths are below the control.
    fn problems(&self) -> Vec<Problem> {
        Vec::new()
    }

    /// The way in which the receiver echoes marks, if the control depends on them: then data is ECN-capable,
    /// whatever `ecn` is.
    fn echo(&self) -> Option<Echo> {
        None
    }

    /// Whether the receiver acknowledges each segment at once, whatever `delayed_ack` is.
    fn acknowledges_each_segment(&self) -> bool {
        false
    }

    /// Takes over values of TCP's preset where its own fields leave them to it.
    fn fill(&mut self, preset: Preset) {
        let _ = preset;
    }

    /// Whether a reduction for marks takes a round trip: see `transport/tcp/reduction.rs`.
    fn reduces_in_proportion(&self) -> bool {
        false
    }

    /// Whether it sets the window by samples of the delivery rate ([`Control::on_sample`]), and losses alone do not: it needs
    /// `sack`.
    fn models_path(&self) -> bool {
        false
    }

    /// How segments are spaced by [`Control::pacing_rate`].
    fn pace(&self) -> Pace {
        Pace::None
    }
}

/// A connection's window, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    pub cwnd: u64,
    pub ssthresh: u64,
    /// A full segment.
    pub mss: u64,
    /// Bytes sent and not acknowledged, as of this event and before it changes them.
    pub flight: u64,
    /// The receiver's buffer.
    pub most: u32,
    /// Segments that a loss leaves at least.
    pub min_ssthresh: u16,
    /// The quantity that a loss halves.
    pub halves: Halves,
    /// The unit of its growth.
    pub growth: Growth,
    /// Bytes acknowledged that have not let it grow yet, under [`Growth::Segments`].
    pub counted: u64,
    /// Whether a timeout began this slow start.
    pub after_timeout: bool,
}

impl Window {
    /// Half of the bytes in flight, at least two segments unless configured otherwise (RFC 5681, equation 4).
    pub fn half(&self) -> u64 {
        self.reduced_to(0.5)
    }

    /// Such a share of the bytes in flight, at least `min_ssthresh` segments.
    pub fn reduced_to(&self, share: f64) -> u64 {
        let whole = match self.halves {
            // The connection has put the quantity to halve into `flight`.
            Halves::Flight | Halves::Queued | Halves::Pipe => self.flight,
            Halves::Window => self.cwnd,
        };
        ((whole as f64 * share) as u64).max(u64::from(self.min_ssthresh) * self.mss)
    }

    /// Whether it is below the slow-start threshold.
    #[inline]
    pub fn is_in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Growth for an acknowledgement by RFC 5681.
    #[inline]
    pub fn grow(&mut self, acked: u64, siblings: &mut impl Siblings) {
        let mut acked = acked;
        if self.is_in_slow_start() {
            acked = self.grow_in_slow_start(acked);
            if acked == 0 {
                return;
            }
        }
        self.after_timeout = false;
        self.grow_in_avoidance(acked, siblings);
    }

    /// Grows by the acknowledged bytes, as far as [`Growth`] lets it. Returns those that are left for congestion avoidance.
    #[inline]
    pub fn grow_in_slow_start(&mut self, acked: u64) -> u64 {
        let (growth, left) = match self.growth {
            Growth::WholeAcks => (self.mss, 0),
            // RFC 3465, 2.3: after a timeout an acknowledgement may cover much that arrived before it.
            Growth::Bytes if !self.after_timeout => (acked.min(2 * self.mss), 0),
            Growth::Acks | Growth::Bytes => (acked.min(self.mss), 0),
            Growth::Segments => {
                let growth = acked.min(self.ssthresh - self.cwnd);
                (growth, acked - growth)
            }
        };
        self.cwnd += growth;
        left
    }

    /// Grows by a segment for a window of acknowledgements.
    #[inline]
    fn grow_in_avoidance(&mut self, acked: u64, siblings: &mut impl Siblings) {
        let mss = self.mss;
        self.cwnd += if let Some(coupled) = siblings.increase(self, acked) {
            coupled
        } else if self.growth == Growth::Segments {
            self.counted += acked;
            let window = (self.cwnd / mss * mss).max(mss);
            let segments = self.counted / window;
            self.counted -= segments * window;
            segments * mss
        } else {
            let counted = if self.growth == Growth::Bytes { acked } else { mss };
            (mss * counted / self.cwnd).max(1)
        };
    }

    /// Is reduced by RFC 5681; after a mark (RFC 3168, 6.1.2), as after a loss, without a retransmission.
    pub fn reduce(&mut self, cause: Cause) {
        match cause {
            Cause::FastRetransmit { dupacks } => {
                self.ssthresh = self.half();
                self.cwnd = self.ssthresh + u64::from(dupacks) * self.mss;
            }
            Cause::Timeout { first } => {
                if first {
                    self.ssthresh = self.half();
                }
                self.cwnd = self.mss;
            }
            Cause::EcnEcho => {
                self.ssthresh = self.half();
                // The floor never lifts a window that is below it.
                self.cwnd = self.cwnd.min(self.ssthresh);
            }
        }
    }

    /// It has just been reduced for that cause, and is to have this threshold instead.
    pub fn set_threshold(&mut self, bytes: u64, cause: Cause) {
        let before = self.ssthresh;
        let threshold = bytes.max(u64::from(self.min_ssthresh) * self.mss);
        match cause {
            Cause::Timeout { first: false } => {}
            Cause::Timeout { first: true } => self.ssthresh = threshold,
            Cause::FastRetransmit { .. } | Cause::EcnEcho => {
                self.ssthresh = threshold;
                self.cwnd = (self.cwnd + threshold).saturating_sub(before).max(self.mss);
            }
        }
    }

    /// The window, as far as the receiver's allows it to be used.
    pub fn usable(&self) -> u64 {
        self.cwnd.min(u64::from(self.most))
    }

    /// Whether this window limited the bytes in flight; in slow start also if half of it was used, so that it
    /// may double (Linux, `tcp_is_cwnd_limited`).
    pub fn limits(&self) -> bool {
        self.flight + self.mss > self.cwnd || (self.cwnd < self.ssthresh && self.cwnd < 2 * self.flight)
    }
}

/// An acknowledgement and the state of its connection: of new data or a duplicate, in fast recovery or outside.
///
/// Its `rtt` is that of the first of several segments (RFC 7323, section 4), and exact for each acknowledgement, whatever
/// `timestamps` is, which is for the retransmission timer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ack {
    /// Fields in common with other transports' acknowledgements; they are read as this struct's own.
    pub common: ack::Ack,
    /// The retransmission timer's estimate (SRTT of RFC 6298); none before the first sample.
    pub smoothed_rtt: Option<Time>,
    /// Whether the data at hand or the receive window, and not the congestion window, limits the bytes in flight
    /// (RFC 9438, 5.8). Bytes that the window allows and that wait for the host's wire count as in flight.
    pub app_limited: bool,
    /// Whether the window may grow by it: it does not echo a mark, and `window_validation` allows it.
    pub may_grow: bool,
}

impl Deref for Ack {
    type Target = ack::Ack;

    #[inline]
    fn deref(&self) -> &ack::Ack {
        &self.common
    }
}

/// Where fast recovery stands after an acknowledgement of new data.
#[derive(Clone, Copy, Debug)]
pub struct Recovery {
    /// Whether all is acknowledged that had been sent when the loss was detected.
    pub full: bool,
    /// Whether this is the first acknowledgement in this recovery by which it is not.
    pub first_partial: bool,
}

/// The connection's action after an acknowledgement during fast recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Leave,
    /// It goes on: send the first unacknowledged segment again.
    Repair {
        /// And start the retransmission timer anew.
        restart_timer: bool,
    },
}

/// Reaction to an acknowledgement with or without an echo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Whether the window may grow by this acknowledgement.
    pub grow: bool,
    /// Whether the window is to be reduced ([`Cause::EcnEcho`]), if it has not been in this window of data.
    pub reduce: bool,
    /// Whether slow start is over at once, even if the window is reduced later or not at all.
    pub ends_slow_start: bool,
}

/// Progress of a flow, for controls that depend on deadlines.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Bytes that are not acknowledged.
    pub left: u64,
    /// Smoothed round-trip time; none before the first sample.
    pub round_trip: Option<Time>,
    /// Time to the deadline, zero after it; none without one.
    pub time_left: Option<Time>,
}

/// A sign of congestion for which the window is reduced.
#[derive(Clone, Copy, Debug)]
pub struct CongestionEvent {
    pub cause: Cause,
    pub now: Time,
    /// How far the flow has come.
    pub progress: Progress,
}

/// How congestion was detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// So many duplicate acknowledgements: a segment is lost, and is sent again.
    FastRetransmit { dupacks: u32 },
    /// The retransmission timer has expired.
    Timeout {
        /// Whether it had not expired for the same segment before.
        first: bool,
    },
    /// An echo of a mark on data sent since the last reduction; at most once a window of data.
    EcnEcho,
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

/// A congestion control: the part that a researcher writes to change how much may be in flight, and when it
/// is sent.
pub trait Control {
    /// New data is acknowledged, outside recovery: slow start below the threshold, else congestion avoidance.
    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack, siblings: &mut impl Siblings) {
        if ack.may_grow {
            window.grow(ack.acked, siblings);
        }
    }

    /// The window is reduced, for a loss or a mark.
    fn on_congestion_event(&mut self, window: &mut Window, event: &CongestionEvent) {
        window.reduce(event.cause);
    }

    /// A further duplicate acknowledgement during recovery: another segment has left the network.
    fn on_duplicate(&mut self, window: &mut Window, ack: &Ack) {
        let _ = ack;
        window.cwnd += window.mss;
    }

    /// New data is acknowledged during recovery.
    fn on_recovery_ack(&mut self, window: &mut Window, ack: &Ack, recovery: Recovery) -> Step;

    /// Whether duplicates for data sent before the last timeout are ignored (RFC 6582, 3.2, step 2).
    fn distrusts_duplicates(&self) -> bool {
        true
    }

    /// With ECN, an acknowledgement, before [`Control::on_ack`]: one that echoes a mark is a sign of congestion, and the
    /// window does not grow by it (RFC 3168, 6.1.2).
    #[inline]
    fn on_echo(&mut self, ack: &Ack) -> Answer {
        Answer { grow: !ack.marked, reduce: ack.marked, ends_slow_start: false }
    }

    /// Rate at which payload is sent, if it is paced: a segment of L bytes is followed by the next after L /
    /// rate at the earliest. It is not zero. By default the window alone limits sending.
    #[inline]
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    /// A connection starts, or its handshake ends with that round trip.
    fn start(&mut self, window: &Window, round_trip: Option<Time>, now: Time) {
        let _ = (window, round_trip, now);
    }

    /// The random stream of the connection's first flow, for controls that [model the path](Settings::models_path).
    fn seed(&mut self, stream: Stream) {
        let _ = stream;
    }

    /// An acknowledgement, for controls that [model the path](Settings::models_path); the sender has handled losses. Whether
    /// the control holds itself back: then rates of segments that are sent from now on show no limit of the path.
    fn on_sample(&mut self, window: &mut Window, sample: &Sample) -> bool {
        let _ = (window, sample);
        false
    }

    /// The first segment goes after a time without data, of a control that [models the path](Settings::models_path).
    fn on_restart(&mut self, window: &mut Window, now: Time) {
        let _ = (window, now);
    }

    /// The congestion window in bytes, for samples: `Window::cwnd`, unless the connection sends by less than a segment.
    fn cwnd(&self, window: &Window) -> u64 {
        window.cwnd
    }
}

/// For the unit tests of several controls.
#[cfg(test)]
pub mod fixtures {
    use super::*;

    /// A full segment.
    pub const MSS: u64 = 1000;

    /// A window of so many segments, all of them in flight.
    pub fn window(segments: u64) -> Window {
        Window {
            cwnd: segments * MSS,
            ssthresh: u64::MAX,
            mss: MSS,
            flight: segments * MSS,
            most: u32::MAX,
            min_ssthresh: 2,
            halves: Halves::Flight,
            growth: Growth::Acks,
            counted: 0,
            after_timeout: false,
        }
    }

    /// The acknowledgement of a segment, by which the window may not grow.
    pub fn acked_segment(now: Time, rtt: Time) -> Ack {
        Ack { common: ack::Ack { acked: MSS, now, rtt, ..ack::Ack::default() }, ..Ack::default() }
    }

    /// A sign of congestion at that time, on a flow without a deadline.
    pub fn event(cause: Cause, now: Time) -> CongestionEvent {
        let progress = Progress { left: 0, round_trip: None, time_left: None };
        CongestionEvent { cause, now, progress }
    }
}

#[cfg(test)]
mod tests {
    use super::fixtures::{MSS, window};
    use super::*;

    /// Slow start, for acknowledgements of half a segment and of two and a half, before a timeout and after one.
    #[test]
    fn slow_start_by_each_rule() {
        let grown = |growth, acked, after_timeout| {
            let mut window = Window { growth, after_timeout, ..window(10) };
            window.grow_in_slow_start(acked);
            window.cwnd - 10 * MSS
        };
        for (growth, before, after) in [
            (Growth::Acks, [500, 1000], [500, 1000]),
            (Growth::WholeAcks, [1000, 1000], [1000, 1000]),
            (Growth::Bytes, [500, 2000], [500, 1000]),
            (Growth::Segments, [500, 2500], [500, 2500]),
        ] {
            assert_eq!([500, 2500].map(|acked| grown(growth, acked, false)), before, "{growth:?}");
            assert_eq!(
                [500, 2500].map(|acked| grown(growth, acked, true)),
                after,
                "{growth:?}, after a timeout"
            );
        }
    }
}
