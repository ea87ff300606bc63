//! Flows, hosts and packets as a transport in Python sees them.

use flowyard_sim::engine::contract::gate::CLASSES;
use flowyard_sim::engine::contract::packet::{Header, Packet as SimPacket, flag};
use flowyard_sim::ids::LinkId;
use flowyard_sim::random::Stream;
use flowyard_sim::transport::python::{Act, At, Decision, Opening, PythonTransport, TIMERS};
use flowyard_sim::transport::reassembly::{Arrival, Record};
use flowyard_sim::transport::session::ranges::Ranges;
use flowyard_sim::units::Time;
use pyo3::exceptions::{PyNotImplementedError, PyTypeError, PyValueError};
use pyo3::prelude::*;

use super::super::numbers::{whole, whole_or};

/// The longest time that a timer waits: 1000 s.
const LONGEST_PS: u64 = 1_000_000_000_000_000;

/// So many timers of a host that are due at the instant at which they are set are a loop without end.
const MOST_AT_ONCE: u32 = 10_000;

/// A host, and a timer of its own that outlives any flow.
#[pyclass(module = "flowyard._native")]
pub struct Host {
    /// Its number.
    #[pyo3(get)]
    number: u32,
    /// The time in picoseconds.
    #[pyo3(get)]
    now_ps: u64,
    pub(super) timer_set: bool,
    /// Whether its object has `on_timer`, and `on_host_timer`.
    written: (bool, bool),
    /// Whether the present event is at this host.
    active: bool,
    /// Whether a sender has requested a turn in this event.
    asked: bool,
    /// Timers set at this instant that are due at once.
    at_once: u32,
    decisions: Vec<Decision>,
}

#[pymethods]
impl Host {
    /// Sets its timer, to so many picoseconds from now, in place of an earlier one: `on_host_timer`.
    fn set_timer(&mut self, after_ps: &Bound<'_, PyAny>) -> PyResult<()> {
        let after = self.span(after_ps, ("on_host_timer", self.written.1))?;
        self.decide(Decision::HostTimer(Some(after)))?;
        self.timer_set = true;
        Ok(())
    }

    /// Switches its timer off.
    fn clear_timer(&mut self) -> PyResult<()> {
        self.decide(Decision::HostTimer(None))?;
        self.timer_set = false;
        Ok(())
    }
}

impl Host {
    pub(super) fn new(number: u32, written: (bool, bool)) -> Host {
        Host {
            number,
            now_ps: 0,
            timer_set: false,
            written,
            active: false,
            asked: false,
            at_once: 0,
            decisions: Vec::new(),
        }
    }

    /// An event begins at it.
    pub(super) fn begin(&mut self, now: Time) {
        if now.0 != self.now_ps {
            self.at_once = 0;
        }
        (self.now_ps, self.active, self.asked) = (now.0, true, false);
    }

    /// The event is over.
    pub(super) fn end(&mut self, decisions: &mut Vec<Decision>) {
        self.active = false;
        decisions.append(&mut self.decisions);
    }

    /// Whether a sender has requested a turn in this event.
    pub(super) fn has_asked(&self) -> bool {
        self.asked
    }

    /// The time that a timer is to wait.
    fn span(&mut self, after_ps: &Bound<'_, PyAny>, (verb, written): (&str, bool)) -> PyResult<Time> {
        if !written {
            let text = format!("a timer without {verb}, which is called when it is due: write it");
            return Err(PyNotImplementedError::new_err(text));
        }
        let after = whole(after_ps, "after_ps", 0, LONGEST_PS)?;
        self.at_once += u32::from(after == 0);
        if self.at_once > MOST_AT_ONCE {
            let text =
                format!("after_ps = 0 for the {MOST_AT_ONCE}th time at this instant: time stands still");
            return Err(PyValueError::new_err(text));
        }
        Ok(Time(after))
    }

    fn decide(&mut self, decision: Decision) -> PyResult<()> {
        if !self.active {
            let text =
                format!("this event is at another host than {}: information travels in packets", self.number);
            return Err(PyValueError::new_err(text));
        }
        self.decisions.push(decision);
        Ok(())
    }
}

/// A host's endpoint of a flow: what is known of it there, and its actions. Attributes of your own can be set. Sizes are
/// in bytes, times in picoseconds.
#[pyclass(dict, module = "flowyard._native")]
pub struct Flow {
    pub(super) at: At,
    port: LinkId,
    /// The host of this endpoint.
    #[pyo3(get)]
    host: Py<Host>,
    /// The number of the sending host.
    #[pyo3(get)]
    src: u32,
    /// The number of the receiving host.
    #[pyo3(get)]
    dst: u32,
    /// Bytes of the flow.
    #[pyo3(get)]
    size: u64,
    /// Packets of the flow: all have the full payload but the last one.
    #[pyo3(get)]
    packets: u32,
    /// Payload of a full packet.
    #[pyo3(get)]
    payload: u32,
    /// Bytes of each packet that are not payload.
    #[pyo3(get)]
    header_bytes: u32,
    /// The priority of its traffic entry.
    #[pyo3(get)]
    priority: u8,
    /// When it started.
    #[pyo3(get)]
    start_ps: u64,
    /// Its deadline, at the sender; None without one.
    #[pyo3(get)]
    deadline_ps: Option<u64>,
    /// The rate of the host's link at the start, in bit/s.
    #[pyo3(get)]
    rate_bps: u64,
    stream: Stream,
    /// Packets that were sent, or delivered.
    record: Ranges,
    /// The receiving endpoint, of a sender.
    pub(super) peer: Option<Py<Flow>>,
    /// The time of `finish`.
    finished_ps: Option<u64>,
    /// The timers that are set, a bit each.
    timers: u8,
    /// Whether it has requested a turn, or is about to get one.
    pub(super) eager: bool,
}

#[pymethods]
impl Flow {
    /// Its number: the row of the flows table.
    #[getter]
    fn number(&self) -> u32 {
        self.at.flow.0
    }

    /// Whether this endpoint is the sender.
    #[getter]
    fn sends(&self) -> bool {
        self.at.sends
    }

    /// The time.
    #[getter]
    fn now_ps(&self, py: Python<'_>) -> u64 {
        self.host.borrow(py).now_ps
    }

    /// At the receiver: bytes delivered, each counted once; at the sender: bytes sent at least once.
    #[getter]
    fn bytes(&self) -> u64 {
        self.record.received()
    }

    /// At the receiver: the first packet that has not been delivered; at the sender: the first one never sent.
    #[getter]
    fn next(&self) -> u32 {
        self.record.next()
    }

    /// At the receiver: whether every byte has been delivered; at the sender: whether each has been sent.
    #[getter]
    fn complete(&self) -> bool {
        self.record.received() == self.size
    }

    /// Whether the sender has called `finish`.
    #[getter]
    fn finished(&self) -> bool {
        self.finished_ps.is_some()
    }

    /// Whether a packet has been delivered, or, at the sender, has been sent at least once.
    fn has(&self, number: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.record.has(whole(number, "number", 0, u64::from(u32::MAX))? as u32))
    }

    /// The sender has something to send: `next_packet` is called once the wire is free.
    fn ready(&mut self, py: Python<'_>) -> PyResult<()> {
        self.must("ready", true)?;
        self.decide(py, Act::Ready)?;
        self.eager = true;
        self.host.borrow_mut(py).asked = true;
        Ok(())
    }

    /// A data packet, to be returned by `next_packet`: the flow's packet of that number. `kind`, `seq` and `ack`
    /// hold values of your choice.
    #[pyo3(signature = (number, *, kind=None, seq=None, ack=None, priority=None))]
    fn data(
        slf: &Bound<'_, Flow>,
        number: &Bound<'_, PyAny>,
        kind: Option<&Bound<'_, PyAny>>,
        seq: Option<&Bound<'_, PyAny>>,
        ack: Option<&Bound<'_, PyAny>>,
        priority: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Data> {
        let own = slf.borrow();
        own.must("data", true)?;
        let number = whole(number, "number", 0, u64::from(own.packets) - 1)? as u32;
        let len = own.length(number);
        let header = header(number, len, (kind, seq, ack, priority))?;
        Ok(Data { flow: slf.clone().unbind(), header })
    }

    /// Sends a packet without payload to the other endpoint at once, ahead of data. `kind`, `number`, `seq` and
    /// `ack` hold values of your choice; its size is that of a header unless given.
    #[pyo3(signature = (kind=None, *, number=None, seq=None, ack=None, size=None, priority=None))]
    #[allow(clippy::too_many_arguments, reason = "they are the fields of a header, by name")]
    fn send(
        &self,
        py: Python<'_>,
        kind: Option<&Bound<'_, PyAny>>,
        number: Option<&Bound<'_, PyAny>>,
        seq: Option<&Bound<'_, PyAny>>,
        ack: Option<&Bound<'_, PyAny>>,
        size: Option<&Bound<'_, PyAny>>,
        priority: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        self.must_go_on("send")?;
        let number = whole_or(number, 0, "number", 0, u64::from(u32::MAX))? as u32;
        let header = header(number, 0, (kind, seq, ack, priority))?;
        let full = u64::from(self.payload + self.header_bytes);
        let size = whole_or(size, u64::from(self.header_bytes), "size", 1, full)?;
        self.decide(py, Act::Send(header, size as u32))
    }

    /// Sets the timer of a kind, from 0 to 7, to so many picoseconds from now, in place of an earlier one: `on_timer`.
    #[pyo3(signature = (after_ps, kind=None))]
    fn set_timer(
        &mut self,
        py: Python<'_>,
        after_ps: &Bound<'_, PyAny>,
        kind: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        self.must_go_on("set_timer")?;
        let kind = timer(kind)?;
        let mut host = self.host.borrow_mut(py);
        let written = host.written.0;
        let after = host.span(after_ps, ("on_timer", written))?;
        drop(host);
        self.decide(py, Act::SetTimer(kind, after))?;
        self.timers |= 1 << kind;
        Ok(())
    }

    /// Switches the timer of a kind off.
    #[pyo3(signature = (kind=None))]
    fn clear_timer(&mut self, py: Python<'_>, kind: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let kind = timer(kind)?;
        self.decide(py, Act::ClearTimer(kind))?;
        self.timers &= !(1 << kind);
        Ok(())
    }

    /// At the receiver: delivers a packet of data; its bytes if they are new, else 0. With the last one the flow
    /// completes.
    fn deliver(&mut self, py: Python<'_>, packet: &Bound<'_, PyAny>) -> PyResult<u64> {
        self.must("deliver", false)?;
        let Ok(packet) = packet.cast::<Received>() else {
            let text = format!("deliver takes a packet that has arrived, not {}", packet.repr()?);
            return Err(PyTypeError::new_err(text));
        };
        let packet = packet.get();
        let wrong = match () {
            () if packet.at != self.at => "the packet belongs to another flow",
            () if packet.control => "the packet has no payload: see packet.control",
            () if packet.trimmed => "the payload of the packet has been cut off: see packet.trimmed",
            () => "",
        };
        if !wrong.is_empty() {
            return Err(PyValueError::new_err(wrong));
        }
        if self.record.receive(packet.number, packet.payload) == Arrival::Duplicate {
            return Ok(0);
        }
        let bytes = u64::from(packet.payload);
        self.decide(py, Act::Deliver(bytes, self.record.received() == self.size))?;
        Ok(bytes)
    }

    /// Counts a timeout in the flow's row.
    fn count_timeout(&self, py: Python<'_>) -> PyResult<()> {
        self.must("count_timeout", true)?;
        self.decide(py, Act::CountTimeout)
    }

    /// The sender is done: none of its methods is called any more. `acknowledged`: every byte is, for `fct_acked_ps`.
    #[pyo3(signature = (acknowledged=true))]
    fn finish(&mut self, py: Python<'_>, acknowledged: bool) -> PyResult<()> {
        self.must("finish", true)?;
        if acknowledged {
            let bytes = self.peer.as_ref().map_or(0, |peer| peer.borrow(py).record.received());
            if bytes < self.size {
                let text = format!(
                    "finish() when {bytes} of {} bytes have been delivered: finish(acknowledged=False) if that is meant",
                    self.size
                );
                return Err(PyValueError::new_err(text));
            }
        }
        self.decide(py, Act::Finish(acknowledged))?;
        (self.finished_ps, self.timers) = (Some(self.now_ps(py)), 0);
        Ok(())
    }

    /// A random number from 0 to 1 (less than 1) from this endpoint's own stream, which the scenario's seed sets.
    fn random(&mut self) -> f64 {
        self.stream.unit()
    }
}

impl Flow {
    pub(super) fn new(at: At, opening: &Opening, config: &PythonTransport, host: Py<Host>) -> Flow {
        let Opening { src, dst, size, priority, start, due, rate, port, stream } = *opening;
        Flow {
            at,
            port,
            host,
            src: src.0,
            dst: dst.0,
            size,
            packets: size.div_ceil(config.payload.0).min(u64::from(u32::MAX)) as u32,
            payload: config.payload.0 as u32,
            header_bytes: config.header_bytes.0 as u32,
            priority,
            start_ps: start.0,
            deadline_ps: (due != Time::NEVER).then_some(due.0),
            rate_bps: rate.0,
            stream,
            record: Ranges::default(),
            peer: None,
            finished_ps: None,
            timers: 0,
            eager: false,
        }
    }

    /// The sending host, as an index.
    pub(super) fn src(&self) -> usize {
        self.src as usize
    }

    /// The receiving host, as an index.
    pub(super) fn dst(&self) -> usize {
        self.dst as usize
    }

    /// Payload of the packet of that number.
    fn length(&self, number: u32) -> u16 {
        let before = u64::from(number) * u64::from(self.payload);
        (self.size - before).min(u64::from(self.payload)) as u16
    }

    fn decide(&self, py: Python<'_>, act: Act) -> PyResult<()> {
        self.host.borrow_mut(py).decide(Decision::On(self.at, act))
    }

    /// Refuses an action of the sender at the receiver, or the reverse, and all of a sender that is done.
    fn must(&self, action: &str, send: bool) -> PyResult<()> {
        if self.at.sends != send {
            let side = if send { "sender" } else { "receiver" };
            return Err(PyValueError::new_err(format!("{action} is for the {side}: see flow.sends")));
        }
        self.must_go_on(action)
    }

    fn must_go_on(&self, action: &str) -> PyResult<()> {
        if self.finished_ps.is_some() {
            return Err(PyValueError::new_err(format!("{action} after finish: the sender is done")));
        }
        Ok(())
    }

    /// Its timer of that kind has come.
    pub(super) fn timer_comes(&mut self, kind: u8) {
        self.timers &= !(1 << kind);
    }

    /// Bytes delivered, or sent.
    pub(super) fn received(&self) -> u64 {
        self.record.received()
    }

    /// Whether its sender is not done, and nothing at either endpoint will make it go on.
    pub(super) fn is_stuck(&self, py: Python<'_>) -> bool {
        let (host, peer) = (self.host.borrow(py), self.peer.as_ref().map(|peer| peer.borrow(py)));
        let waits = peer.is_some_and(|peer| peer.timers != 0 || peer.host.borrow(py).timer_set);
        self.finished_ps.is_none() && !self.eager && self.timers == 0 && !host.timer_set && !waits
    }

    /// Of one that is stuck, for a message.
    pub(super) fn described(&self, py: Python<'_>) -> String {
        let delivered = self.peer.as_ref().map_or(0, |peer| peer.borrow(py).record.received());
        let Flow { src, dst, size, .. } = self;
        format!(
            "flow {} from host {src} to {dst}, {delivered} of {size} bytes delivered, is not finished, and no timer is set",
            self.at.flow
        )
    }
}

fn timer(kind: Option<&Bound<'_, PyAny>>) -> PyResult<u8> {
    Ok(whole_or(kind, 0, "kind", 0, TIMERS as u64 - 1)? as u8)
}

type Field<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

/// A header of a packet with these values of kind, seq, ack and priority.
fn header(
    number: u32,
    len: u16,
    (kind, seq, ack, priority): (Field<'_, '_>, Field<'_, '_>, Field<'_, '_>, Field<'_, '_>),
) -> PyResult<Header> {
    Ok(Header {
        kind: whole_or(kind, 0, "kind", 0, 255)? as u8,
        class: whole_or(priority, 0, "priority", 0, CLASSES as u64 - 1)? as u8,
        len,
        number,
        seq: whole_or(seq, 0, "seq", 0, u64::MAX)?,
        ack: whole_or(ack, 0, "ack", 0, u64::MAX)?,
    })
}

/// A data packet to be sent, of `Flow.data`.
#[pyclass(frozen, module = "flowyard._native")]
pub struct Data {
    flow: Py<Flow>,
    header: Header,
}

#[pymethods]
impl Data {
    /// Its number in the flow.
    #[getter]
    fn number(&self) -> u32 {
        self.header.number
    }

    /// Its payload.
    #[getter]
    fn payload(&self) -> u16 {
        self.header.len
    }
}

impl Data {
    /// It is sent in that sender's turn: notes that, and says whether it has been sent before.
    pub(super) fn sent(&self, turn: &Bound<'_, Flow>) -> PyResult<(At, Header, bool)> {
        let own = self.flow.bind(turn.py());
        let wrong = {
            let (own, turn) = (own.borrow(), turn.borrow());
            match () {
                () if !own.host.is(&turn.host) => "it returns data of a flow at another host",
                () if own.port != turn.port => "it returns data of a flow that leaves by another port",
                () if own.finished_ps.is_some_and(|at| at != turn.now_ps(own.py())) => {
                    "it returns data of a flow that has finished"
                }
                () => "",
            }
        };
        if !wrong.is_empty() {
            return Err(PyValueError::new_err(wrong));
        }
        let mut own = own.borrow_mut();
        let again = own.record.receive(self.header.number, self.header.len) == Arrival::Duplicate;
        Ok((own.at, self.header, again))
    }
}

/// A packet that has arrived at a host, as a transport sees it. Sizes are in bytes, times in picoseconds.
#[pyclass(frozen, module = "flowyard._native")]
pub struct Received {
    at: At,
    /// Its number in the flow; of a packet without payload, what its sender put there.
    #[pyo3(get)]
    number: u32,
    /// Its payload, even if that has been cut off.
    #[pyo3(get)]
    payload: u16,
    /// Its kind, of the sender's choice.
    #[pyo3(get)]
    kind: u8,
    /// A number of the sender's choice.
    #[pyo3(get)]
    seq: u64,
    /// Another one. Of data, the sort key of ports with the queue "pfabric".
    #[pyo3(get)]
    ack: u64,
    /// Its class of traffic (DSCP).
    #[pyo3(get)]
    priority: u8,
    /// Bytes on the wire.
    #[pyo3(get)]
    size: u32,
    /// Whether it is one without payload, of `Flow.send`.
    #[pyo3(get)]
    control: bool,
    /// Whether a port has marked it.
    #[pyo3(get)]
    marked: bool,
    /// Whether a port has cut the payload off.
    #[pyo3(get)]
    trimmed: bool,
    /// Whether it is a header that a full port has returned to the sender.
    #[pyo3(get)]
    returned: bool,
    /// Links that it has crossed.
    #[pyo3(get)]
    hops: u8,
    /// When it was made.
    #[pyo3(get)]
    sent_ps: u64,
}

impl Received {
    pub(super) fn new(at: At, packet: &SimPacket) -> Received {
        let Header { kind, class, len, number, seq, ack } = packet.header;
        Received {
            at,
            number,
            payload: len,
            kind,
            seq,
            ack,
            priority: class,
            size: packet.size,
            control: packet.has(flag::CONTROL),
            marked: packet.has(flag::CE),
            trimmed: packet.has(flag::TRIMMED),
            returned: packet.has(flag::BOUNCED),
            hops: packet.hops,
            sent_ps: packet.created_at.0,
        }
    }
}
