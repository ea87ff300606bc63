//! Queues: `flowyard.prototypes.Queue`.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use flowyard_sim::engine::contract::discipline::Queued;
use flowyard_sim::engine::contract::packet::{Packet as SimPacket, flag};
use flowyard_sim::ids::PacketId;
use flowyard_sim::queue::python::{Act, Prototype, View, Waiting};
use flowyard_sim::random::{Purpose, Stream};
use flowyard_sim::units::{Rate, Time};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use serde_json::{Map, Value};

use super::{Class, Handed, nothing};

/// A packet as a queue sees it. Sizes are in bytes, times in picoseconds.
#[pyclass(frozen, module = "flowyard._native")]
pub struct Packet {
    id: PacketId,
    size: AtomicU32,
    /// Its payload.
    #[pyo3(get)]
    payload: u32,
    /// Stands for the 5-tuple of its flow, in its direction.
    #[pyo3(get)]
    flow: u32,
    /// The host that it is for, by its number.
    #[pyo3(get)]
    dst: u32,
    /// Its class of traffic (DSCP): 0 goes first where there are several.
    #[pyo3(get)]
    priority: u8,
    /// Whether it may be marked.
    #[pyo3(get)]
    ecn_capable: bool,
    marked: AtomicBool,
    /// Whether it is an acknowledgement, a pull or another packet without payload.
    #[pyo3(get)]
    control: bool,
    /// Whether its payload may be cut off.
    #[pyo3(get)]
    trimmable: bool,
    /// Links that it has crossed.
    #[pyo3(get)]
    hops: u8,
    /// When it came to this port.
    #[pyo3(get)]
    arrived_ps: u64,
}

#[pymethods]
impl Packet {
    /// Bytes on the wire.
    #[getter]
    fn size(&self) -> u32 {
        self.size.load(Ordering::Relaxed)
    }

    /// Whether a port has marked it.
    #[getter]
    fn marked(&self) -> bool {
        self.marked.load(Ordering::Relaxed)
    }
}

impl Packet {
    fn new(id: PacketId, packet: &SimPacket, now_ps: u64) -> Packet {
        Packet {
            id,
            size: AtomicU32::new(packet.size),
            payload: u32::from(packet.header.len),
            flow: packet.label,
            dst: packet.dst.0,
            priority: packet.header.class,
            ecn_capable: packet.has(flag::ECN_CAPABLE),
            marked: AtomicBool::new(packet.has(flag::CE)),
            control: packet.has(flag::CONTROL),
            trimmable: packet.has(flag::TRIMMABLE),
            hops: packet.hops,
            arrived_ps: now_ps,
        }
    }

    fn queued(&self) -> Queued {
        Queued { id: self.id, size: self.size() }
    }
}

/// A port as its queue sees it, and what the queue does with packets. Sizes are in bytes, times in picoseconds.
#[pyclass(module = "flowyard._native")]
pub struct Port {
    view: View,
    stream: Stream,
    full_packet: u64,
    waiting: VecDeque<Py<Packet>>,
    waiting_bytes: u64,
    /// The packet that arrives, unless it has been dropped.
    arriving: Option<Py<Packet>>,
    /// Packets that were taken to be sent or dropped.
    taken: Vec<Py<Packet>>,
    acts: Vec<Act>,
}

#[pymethods]
impl Port {
    /// The time of the decision.
    #[getter]
    fn now_ps(&self) -> u64 {
        self.view.now.0
    }

    /// Packets in the port, the one on the wire included, the one that arrives not.
    #[getter]
    fn packets(&self) -> u32 {
        self.view.packets
    }

    /// Their bytes.
    #[getter]
    fn bytes(&self) -> u64 {
        self.view.bytes
    }

    /// Bytes of the packet on the wire; 0 if there is none.
    #[getter]
    fn wire_bytes(&self) -> u32 {
        self.view.wire_bytes
    }

    /// Packets that wait.
    #[getter]
    fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Their bytes.
    #[getter]
    fn waiting_bytes(&self) -> u64 {
        self.waiting_bytes
    }

    /// The rate of the link in bit/s.
    #[getter]
    fn rate_bps(&self) -> u64 {
        self.view.rate.0
    }

    /// Bytes of a full data packet on the wire.
    #[getter]
    fn full_packet(&self) -> u64 {
        self.full_packet
    }

    /// The packet that has waited longest; None if nothing waits.
    #[getter]
    fn first(&self, py: Python<'_>) -> Option<Py<Packet>> {
        self.waiting.front().map(|packet| packet.clone_ref(py))
    }

    /// Takes the packet that has waited longest, to be returned by `dequeue` or dropped; None if nothing waits.
    fn pop(&mut self, py: Python<'_>) -> Option<Py<Packet>> {
        let packet = self.waiting.pop_front()?;
        self.waiting_bytes -= u64::from(packet.get().size());
        self.taken.push(packet.clone_ref(py));
        Some(packet)
    }

    /// Drops a packet: the one that arrives, one that waits, or one that was popped.
    fn drop(&mut self, packet: &Bound<'_, Packet>) -> PyResult<()> {
        let own = packet.get();
        if self.arriving.take_if(|arriving| arriving.get().id == own.id).is_some() {
            self.acts.push(Act::Drop(own.id));
            return Ok(());
        }
        self.take(own)?;
        self.acts.push(Act::DropWaiting(own.queued()));
        self.view.packets -= 1;
        self.view.bytes -= u64::from(own.size());
        Ok(())
    }

    /// Marks a packet if it is ECN-capable; whether it is.
    fn mark(&mut self, packet: &Bound<'_, Packet>) -> PyResult<bool> {
        let own = packet.get();
        if !self.is_here(own) {
            return Err(elsewhere());
        }
        if own.ecn_capable {
            own.marked.store(true, Ordering::Relaxed);
            self.acts.push(Act::Mark(own.id));
        }
        Ok(own.ecn_capable)
    }

    /// Cuts the payload off the packet that arrives, which must be trimmable; its size is then that of its headers.
    fn trim(&mut self, packet: &Bound<'_, Packet>) -> PyResult<()> {
        let own = packet.get();
        if self.arriving.as_ref().is_none_or(|arriving| arriving.get().id != own.id) {
            return Err(PyValueError::new_err("trim takes the packet that arrives, and no other"));
        }
        if !own.trimmable {
            return Err(PyValueError::new_err("the packet is not trimmable: see packet.trimmable"));
        }
        let header = own.size() - own.payload.min(own.size());
        if header > 0 && header < own.size() {
            own.size.store(header, Ordering::Relaxed);
            self.acts.push(Act::Trim(own.id, header));
        }
        Ok(())
    }

    /// A random number from 0 to 1 (less than 1) from the port's own stream, which the scenario's seed sets.
    fn random(&mut self) -> f64 {
        self.stream.unit()
    }
}

fn elsewhere() -> PyErr {
    PyValueError::new_err("the packet is not at this port: it has been sent or dropped")
}

impl Port {
    fn is_here(&self, packet: &Packet) -> bool {
        let mut here = self.arriving.iter().chain(&self.taken).chain(&self.waiting);
        here.any(|other| other.get().id == packet.id && std::ptr::eq(other.get(), packet))
    }

    /// Takes a packet out of those that wait or were popped.
    fn take(&mut self, packet: &Packet) -> PyResult<Py<Packet>> {
        let is_it = |other: &Py<Packet>| std::ptr::eq(other.get(), packet);
        if let Some(place) = self.taken.iter().position(is_it) {
            return Ok(self.taken.remove(place));
        }
        // Mostly it is the first one.
        let place = self.waiting.iter().position(is_it).ok_or_else(elsewhere)?;
        self.waiting_bytes -= u64::from(packet.size());
        Ok(self.waiting.remove(place).expect("it has just been found there"))
    }

    fn keep(&mut self, packet: Py<Packet>) {
        self.acts.push(Act::Keep(packet.get().queued()));
        self.waiting_bytes += u64::from(packet.get().size());
        self.waiting.push_back(packet);
    }

    /// Puts back packets that were popped and are neither sent nor dropped.
    fn put_back(&mut self) {
        while let Some(packet) = self.taken.pop() {
            self.waiting_bytes += u64::from(packet.get().size());
            self.waiting.push_front(packet);
        }
    }

    /// The packet that `dequeue` has returned.
    fn sent(&mut self, returned: &Bound<'_, PyAny>) -> PyResult<Option<Queued>> {
        if returned.is_none() {
            if !self.taken.is_empty() {
                return Err(PyValueError::new_err("it pops a packet and neither drops nor returns it"));
            }
            let waiting = self.waiting.len();
            if waiting > 0 {
                return Err(PyValueError::new_err(format!(
                    "it returns None while {waiting} packets wait: return one of them"
                )));
            }
            return Ok(None);
        }
        let Ok(packet) = returned.cast::<Packet>() else {
            let text = format!("it returns {}; return a packet that waits, or None", returned.repr()?);
            return Err(PyTypeError::new_err(text));
        };
        let packet = self.take(packet.get())?;
        if !self.taken.is_empty() {
            let text = "it pops packets that it neither drops nor returns: it may return one";
            self.waiting_bytes += u64::from(packet.get().size());
            self.waiting.push_front(packet);
            return Err(PyValueError::new_err(text));
        }
        Ok(Some(packet.get().queued()))
    }
}

impl Prototype for Class {
    fn start(&self, settings: &Map<String, Value>, full_packet: u64) -> Box<dyn Waiting> {
        let handed = &self.0;
        let verbs = handed.call("__init__", 0, (None, None), |py| {
            let object = handed.make(py, settings)?;
            Ok((handed.verb(&object, "enqueue")?, handed.verb(&object, "dequeue")?))
        });
        let view = View { now: Time::ZERO, packets: 0, bytes: 0, wire_bytes: 0, rate: Rate(1) };
        let port = Port {
            view,
            stream: Stream::new(0, 0, Purpose::Queue, 0),
            full_packet,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            arriving: None,
            taken: Vec::new(),
            acts: Vec::new(),
        };
        let port = Python::attach(|py| Py::new(py, port)).expect("there is memory for a port");
        Box::new(Own { handed: Arc::clone(handed), port, waiting: 0, enqueue: verbs.0, dequeue: verbs.1 })
    }
}

/// The object of a port.
struct Own {
    handed: Arc<Handed>,
    port: Py<Port>,
    /// How many packets wait: known without asking Python.
    waiting: usize,
    enqueue: Option<Py<PyAny>>,
    dequeue: Option<Py<PyAny>>,
}

impl fmt::Debug for Own {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "a port of {:?}", self.handed)
    }
}

impl Own {
    /// Hands the decisions over, and returns the random stream.
    fn hand_over(&mut self, port: &mut Port, stream: &mut Stream, acts: &mut Vec<Act>) {
        acts.append(&mut port.acts);
        *stream = port.stream;
        self.waiting = port.waiting.len();
    }
}

impl Waiting for Own {
    fn enqueue(
        &mut self,
        id: PacketId,
        packet: &SimPacket,
        view: View,
        stream: &mut Stream,
        acts: &mut Vec<Act>,
    ) {
        Python::attach(|py| {
            let packet =
                Py::new(py, Packet::new(id, packet, view.now.0)).expect("there is memory for a packet");
            {
                let mut port = self.port.borrow_mut(py);
                (port.view, port.stream) = (view, *stream);
                port.arriving = Some(packet.clone_ref(py));
            }
            if let Some(verb) = &self.enqueue {
                self.handed.call("enqueue", view.now.0, (), |py| {
                    nothing(&verb.bind(py).call1((self.port.bind(py), packet))?)
                });
            }
            let own = self.port.clone_ref(py);
            let mut port = own.borrow_mut(py);
            port.put_back();
            if let Some(packet) = port.arriving.take() {
                port.keep(packet);
            }
            self.hand_over(&mut port, stream, acts);
        });
    }

    fn dequeue(&mut self, view: View, stream: &mut Stream, acts: &mut Vec<Act>) -> Option<Queued> {
        if self.waiting == 0 {
            return None;
        }
        Python::attach(|py| {
            {
                let mut port = self.port.borrow_mut(py);
                (port.view, port.stream) = (view, *stream);
            }
            let sent = self.dequeue.as_ref().map(|verb| {
                self.handed.call("dequeue", view.now.0, Err(()), |py| {
                    let returned = verb.bind(py).call1((self.port.bind(py),))?;
                    Ok(Ok(self.port.borrow_mut(py).sent(&returned)?))
                })
            });
            let own = self.port.clone_ref(py);
            let mut port = own.borrow_mut(py);
            port.put_back();
            let next = match sent {
                Some(Ok(next)) => next,
                // Without the verb, or after its failure: first in, first out.
                None | Some(Err(())) => {
                    let packet = port.waiting.pop_front();
                    packet.map(|packet| {
                        port.waiting_bytes -= u64::from(packet.get().size());
                        packet.get().queued()
                    })
                }
            };
            self.hand_over(&mut port, stream, acts);
            next
        })
    }

    fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    fn resident(&self, found: &mut dyn FnMut(PacketId)) {
        Python::attach(|py| {
            self.port.borrow(py).waiting.iter().for_each(|packet| found(packet.get().id));
        });
    }
}
