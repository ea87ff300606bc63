//! Congestion controls: `flowyard.prototypes.CongestionControl`.

use std::fmt;
use std::sync::Arc;

use flowyard_sim::transport::tcp::congestion::python::{Connection, Prototype, Verbs};
use flowyard_sim::transport::tcp::congestion::{self as sim, Answer, Cause, CongestionEvent, Recovery, Step};
use flowyard_sim::units::Rate;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use serde_json::{Map, Value};

use super::{Class, Handed, nothing, numbers};

/// A connection's window, as its congestion control sees and sets it. Sizes are in bytes.
#[pyclass(module = "flowyard._native")]
pub struct Window {
    cwnd: u64,
    ssthresh: u64,
    /// A full segment.
    #[pyo3(get)]
    mss: u64,
    /// Bytes that were sent and are not acknowledged; of a loss or a mark, those that it halves.
    #[pyo3(get)]
    flight: u64,
    pacing_bps: Option<u64>,
}

#[pymethods]
impl Window {
    /// The congestion window.
    #[getter]
    fn cwnd(&self) -> u64 {
        self.cwnd
    }

    #[setter]
    fn set_cwnd(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.cwnd = numbers::bytes(value, "window.cwnd", self.mss)?;
        Ok(())
    }

    /// The slow-start threshold; 2**64 - 1 before the first loss.
    #[getter]
    fn ssthresh(&self) -> u64 {
        self.ssthresh
    }

    #[setter]
    fn set_ssthresh(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let whole: Option<u64> = value.extract().ok();
        self.ssthresh = match whole {
            Some(whole) if whole > numbers::MOST => whole,
            _ => numbers::bytes(value, "window.ssthresh", 0)?,
        };
        Ok(())
    }

    /// The rate at which payload is sent, in bit/s; None: as fast as the window and the wire allow.
    #[getter]
    fn pacing_bps(&self) -> Option<u64> {
        self.pacing_bps
    }

    #[setter]
    fn set_pacing_bps(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.pacing_bps = numbers::rate(value, "window.pacing_bps")?;
        Ok(())
    }
}

/// An acknowledgement, of new data or a duplicate. Sizes are in bytes, times in picoseconds.
#[pyclass(frozen, get_all, module = "flowyard._native")]
pub struct Ack {
    /// Bytes that it acknowledges; 0: a duplicate.
    acked: u64,
    /// When it arrives.
    now_ps: u64,
    /// Time since the segment was sent that it answers; includes the delay of a delayed ACK: see acknowledges_each_segment.
    rtt_ps: u64,
    /// The retransmission timer's estimate of the round trip; None before the first sample.
    srtt_ps: Option<u64>,
    /// Bytes sent and not acknowledged before it.
    in_flight: u64,
    /// Whether the data at hand or the receive window limits the bytes in flight, and not the congestion window.
    app_limited: bool,
    /// Whether it echoes a mark.
    marked: bool,
    /// Whether the window may grow by it.
    may_grow: bool,
    /// Everything before this byte is acknowledged, with it.
    una: u64,
    /// Everything before this byte has been sent.
    next: u64,
    /// Links that it has crossed.
    hops: u8,
}

impl Ack {
    fn new(ack: &sim::Ack) -> Ack {
        Ack {
            acked: ack.acked,
            now_ps: ack.now.0,
            rtt_ps: ack.rtt.0,
            srtt_ps: ack.smoothed_rtt.map(|time| time.0),
            in_flight: ack.in_flight,
            app_limited: ack.app_limited,
            marked: ack.marked,
            may_grow: ack.may_grow,
            una: ack.una,
            next: ack.next,
            hops: ack.hops,
        }
    }
}

/// A sign of congestion: a loss, a timeout or a mark. Times are in picoseconds.
#[pyclass(frozen, get_all, module = "flowyard._native")]
pub struct Signal {
    /// When it is noticed.
    now_ps: u64,
    /// Of a loss, the duplicate acknowledgements that signalled it.
    dupacks: u32,
    /// Of a timeout, whether it is the first one of its segment.
    first: bool,
    /// Bytes of the flow that are not acknowledged.
    left: u64,
    /// The retransmission timer's estimate of the round trip; None before the first sample.
    srtt_ps: Option<u64>,
    /// Time to the flow's deadline, 0 after it; None without one.
    time_left_ps: Option<u64>,
}

impl Prototype for Class {
    fn start(&self, settings: &Map<String, Value>) -> Box<dyn Connection> {
        let handed = &self.0;
        let own = handed.call("__init__", 0, None, |py| {
            let object = handed.make(py, settings)?;
            let verb = |name| handed.verb(&object, name);
            let window = Window { cwnd: 0, ssthresh: 0, mss: 0, flight: 0, pacing_bps: None };
            Ok(Some(Own {
                on_ack: verb("on_ack")?,
                on_loss: verb("on_loss")?,
                on_timeout: verb("on_timeout")?,
                on_mark: verb("on_mark")?,
                on_duplicate: verb("on_duplicate")?,
                on_recovery_ack: verb("on_recovery_ack")?,
                on_echo: verb("on_echo")?,
                distrusts_duplicates: object.getattr("distrusts_duplicates")?.is_truthy()?,
                pacing: None,
                window: Py::new(py, window)?,
                handed: Arc::clone(handed),
            }))
        });
        match own {
            Some(own) => Box::new(own),
            None => Box::new(Absent),
        }
    }
}

/// The object of a connection.
struct Own {
    handed: Arc<Handed>,
    window: Py<Window>,
    pacing: Option<Rate>,
    distrusts_duplicates: bool,
    on_ack: Option<Py<PyAny>>,
    on_loss: Option<Py<PyAny>>,
    on_timeout: Option<Py<PyAny>>,
    on_mark: Option<Py<PyAny>>,
    on_duplicate: Option<Py<PyAny>>,
    on_recovery_ack: Option<Py<PyAny>>,
    on_echo: Option<Py<PyAny>>,
}

impl fmt::Debug for Own {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "a connection of {:?}", self.handed)
    }
}

/// Calls a verb with the window and one argument more; takes over what it set, and answers with what it returned.
///
/// A macro, because the window, the verb and the ledger are fields of one struct.
macro_rules! verb {
    ($self:ident.$verb:ident($window:ident, $($argument:expr),*) at $now:expr, otherwise $otherwise:expr, $answer:expr) => {{
        let Own { handed, window: own, pacing, $verb: verb, .. } = $self;
        handed.call(stringify!($verb), $now.0, $otherwise, |py| {
            lend(own.bind(py), $window);
            let verb = verb.as_ref().expect("the model asks for verbs that there are").bind(py);
            let returned = verb.call1((own.bind(py), $($argument),*))?;
            let answer = $answer(&returned)?;
            *pacing = take_back(own.bind(py), $window);
            Ok(answer)
        })
    }};
}

/// Shows a connection's window to Python.
fn lend(own: &Bound<'_, Window>, window: &sim::Window) {
    let mut own = own.borrow_mut();
    own.cwnd = window.cwnd;
    own.ssthresh = window.ssthresh;
    own.mss = window.mss;
    own.flight = window.flight;
}

/// Takes over what Python has set; the rate at which it paces.
fn take_back(own: &Bound<'_, Window>, window: &mut sim::Window) -> Option<Rate> {
    let own = own.borrow();
    window.cwnd = own.cwnd;
    window.ssthresh = own.ssthresh;
    own.pacing_bps.map(Rate)
}

fn step(returned: &Bound<'_, PyAny>) -> PyResult<Step> {
    match returned.extract::<&str>() {
        Ok("leave") => Ok(Step::Leave),
        Ok("repair") => Ok(Step::Repair { restart_timer: false }),
        Ok("repair-and-restart") => Ok(Step::Repair { restart_timer: true }),
        _ => {
            let text = r#"it returns {}; use "leave", "repair" or "repair-and-restart""#;
            Err(PyTypeError::new_err(text.replace("{}", &returned.repr()?.to_string())))
        }
    }
}

fn answer(returned: &Bound<'_, PyAny>) -> PyResult<Answer> {
    let Ok((grow, reduce, ends_slow_start)) = returned.extract() else {
        let text = format!("it returns {}; use Answer(grow=..., reduce=...)", returned.repr()?);
        return Err(PyTypeError::new_err(text));
    };
    Ok(Answer { grow, reduce, ends_slow_start })
}

impl Connection for Own {
    fn verbs(&self) -> Verbs {
        Verbs {
            on_ack: self.on_ack.is_some(),
            on_loss: self.on_loss.is_some(),
            on_timeout: self.on_timeout.is_some(),
            on_mark: self.on_mark.is_some(),
            on_duplicate: self.on_duplicate.is_some(),
            on_recovery_ack: self.on_recovery_ack.is_some(),
            on_echo: self.on_echo.is_some(),
        }
    }

    fn on_ack(&mut self, window: &mut sim::Window, ack: &sim::Ack) {
        verb!(self.on_ack(window, Ack::new(ack)) at ack.now, otherwise (), nothing)
    }

    fn on_congestion_event(&mut self, window: &mut sim::Window, event: &CongestionEvent) {
        let signal = |dupacks, first| Signal {
            now_ps: event.now.0,
            dupacks,
            first,
            left: event.progress.left,
            srtt_ps: event.progress.round_trip.map(|time| time.0),
            time_left_ps: event.progress.time_left.map(|time| time.0),
        };
        match event.cause {
            Cause::FastRetransmit { dupacks } => {
                verb!(self.on_loss(window, signal(dupacks, true)) at event.now, otherwise (), nothing)
            }
            Cause::Timeout { first } => {
                verb!(self.on_timeout(window, signal(0, first)) at event.now, otherwise (), nothing)
            }
            Cause::EcnEcho => {
                verb!(self.on_mark(window, signal(0, true)) at event.now, otherwise (), nothing)
            }
        }
    }

    fn on_duplicate(&mut self, window: &mut sim::Window, ack: &sim::Ack) {
        verb!(self.on_duplicate(window, Ack::new(ack)) at ack.now, otherwise (), nothing)
    }

    fn on_recovery_ack(&mut self, window: &mut sim::Window, ack: &sim::Ack, recovery: Recovery) -> Step {
        let Recovery { full, first_partial } = recovery;
        verb!(
            self.on_recovery_ack(window, Ack::new(ack), full, first_partial) at ack.now, otherwise Step::Leave, step
        )
    }

    fn on_echo(&mut self, ack: &sim::Ack) -> Answer {
        let Own { handed, on_echo, .. } = self;
        let otherwise = Answer { grow: !ack.marked, reduce: false, ends_slow_start: false };
        handed.call("on_echo", ack.now.0, otherwise, |py| {
            let verb = on_echo.as_ref().expect("the model asks for verbs that there are").bind(py);
            answer(&verb.call1((Ack::new(ack),))?)
        })
    }

    fn distrusts_duplicates(&self) -> bool {
        self.distrusts_duplicates
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing
    }
}

/// In place of an object that could not be made, until the run has ended.
#[derive(Debug)]
struct Absent;

impl Connection for Absent {
    fn verbs(&self) -> Verbs {
        Verbs::default()
    }

    fn on_ack(&mut self, _window: &mut sim::Window, _ack: &sim::Ack) {}

    fn on_congestion_event(&mut self, _window: &mut sim::Window, _event: &CongestionEvent) {}

    fn on_duplicate(&mut self, _window: &mut sim::Window, _ack: &sim::Ack) {}

    fn on_recovery_ack(&mut self, _: &mut sim::Window, _: &sim::Ack, _: Recovery) -> Step {
        Step::Leave
    }

    fn on_echo(&mut self, _ack: &sim::Ack) -> Answer {
        Answer { grow: false, reduce: false, ends_slow_start: false }
    }

    fn distrusts_duplicates(&self) -> bool {
        true
    }

    fn pacing_rate(&self) -> Option<Rate> {
        None
    }
}
