//! Transports: `flowyard.prototypes.Transport`. `flow` is what its methods are given.

mod flow;

use std::fmt;
use std::sync::Arc;

use flowyard_sim::engine::contract::packet::Packet as SimPacket;
use flowyard_sim::ids::{ConnId, NodeId};
use flowyard_sim::transport::python::{
    Act, At, Data as SimData, Decision, Objects, Opening, Prototype, PythonTransport,
};
use flowyard_sim::units::Time;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use serde_json::{Map, Value};

pub use self::flow::{Data, Flow, Host, Received};
use super::{Class, Handed, nothing};

impl Prototype for Class {
    fn start(&self, config: &PythonTransport) -> Box<dyn Objects> {
        Box::new(Own {
            handed: Arc::clone(&self.0),
            config: config.clone(),
            hosts: Vec::new(),
            senders: Vec::new(),
            receivers: Vec::new(),
        })
    }
}

/// The objects of all hosts, and the flows at them by the slots of their connections.
struct Own {
    handed: Arc<Handed>,
    config: PythonTransport,
    hosts: Vec<Option<AtHost>>,
    senders: Vec<Option<Py<Flow>>>,
    receivers: Vec<Option<Py<Flow>>>,
}

impl fmt::Debug for Own {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "the hosts of {:?}", self.handed)
    }
}

/// A host, and the methods that its object has; none after `__init__` has failed.
struct AtHost {
    host: Py<Host>,
    start: Option<Py<PyAny>>,
    accept: Option<Py<PyAny>>,
    next_packet: Option<Py<PyAny>>,
    at_sender: Option<Py<PyAny>>,
    at_receiver: Option<Py<PyAny>>,
    on_timer: Option<Py<PyAny>>,
    on_host_timer: Option<Py<PyAny>>,
}

impl AtHost {
    fn new(
        py: Python<'_>,
        number: NodeId,
        now: Time,
        handed: &Handed,
        settings: &Map<String, Value>,
    ) -> AtHost {
        let mut verbs = handed.call("__init__", now.0, Default::default(), |py| {
            let object = handed.make(py, settings)?;
            let names =
                ["start", "accept", "next_packet", "at_sender", "at_receiver", "on_timer", "on_host_timer"];
            let mut verbs: [Option<Py<PyAny>>; 7] = Default::default();
            for (verb, name) in verbs.iter_mut().zip(names) {
                *verb = handed.verb(&object, name)?;
            }
            Ok(verbs)
        });
        let [start, accept, next_packet, at_sender, at_receiver, on_timer, on_host_timer] =
            std::mem::take(&mut verbs);
        let host = Host::new(number.0, (on_timer.is_some(), on_host_timer.is_some()));
        AtHost {
            host: Py::new(py, host).expect("there is memory for a host"),
            start,
            accept,
            next_packet,
            at_sender,
            at_receiver,
            on_timer,
            on_host_timer,
        }
    }
}

/// Puts a value into a place of a list, which grows to it.
fn put<T>(list: &mut Vec<Option<T>>, index: usize, value: T) {
    if index >= list.len() {
        list.resize_with(index + 1, || None);
    }
    list[index] = Some(value);
}

impl Own {
    /// The host of an event, whose object is made at its first one.
    fn host(&mut self, py: Python<'_>, number: NodeId, now: Time) -> &AtHost {
        let index = number.index();
        if self.hosts.get(index).is_none_or(Option::is_none) {
            let made = AtHost::new(py, number, now, &self.handed, &self.config.settings);
            put(&mut self.hosts, index, made);
        }
        self.hosts[index].as_ref().expect("it has just been made")
    }

    fn flow(&self, at: At) -> &Py<Flow> {
        let flows = if at.sends { &self.senders } else { &self.receivers };
        flows[at.id.index()].as_ref().expect("an endpoint opens before anything else happens to it")
    }

    /// The host of a flow's endpoint.
    fn host_of(&self, py: Python<'_>, at: At) -> &AtHost {
        let flow = self.flow(at).borrow(py);
        let index = if at.sends { flow.src() } else { flow.dst() };
        self.hosts[index].as_ref().expect("a flow opens at a host with an object")
    }
}

/// An event at a host: calls a method there, and takes over its decisions.
fn event<T>(
    (handed, host): (&Handed, &AtHost),
    (name, now): (&'static str, Time),
    otherwise: T,
    decisions: &mut Vec<Decision>,
    call: impl FnOnce(Python<'_>) -> PyResult<T>,
) -> T {
    Python::attach(|py| {
        host.host.borrow_mut(py).begin(now);
        let answer = handed.call(name, now.0, otherwise, call);
        host.host.borrow_mut(py).end(decisions);
        answer
    })
}

impl Objects for Own {
    fn open(&mut self, at: At, opening: Opening, now: Time, decisions: &mut Vec<Decision>) {
        Python::attach(|py| {
            let number = if at.sends { opening.src } else { opening.dst };
            let host = self.host(py, number, now).host.clone_ref(py);
            let flow = Flow::new(at, &opening, &self.config, host);
            let flow = Py::new(py, flow).expect("there is memory for a flow");
            if !at.sends
                && let Some(Some(sender)) = self.senders.get(at.id.index())
            {
                sender.borrow_mut(py).peer = Some(flow.clone_ref(py));
            }
            let flows = if at.sends { &mut self.senders } else { &mut self.receivers };
            put(flows, at.id.index(), flow);
            let (host, flow) = (self.host_of(py, at), self.flow(at));
            let (verb, name) = if at.sends { (&host.start, "start") } else { (&host.accept, "accept") };
            match verb {
                Some(verb) => event((&self.handed, host), (name, now), (), decisions, |py| {
                    nothing(&verb.bind(py).call1((flow,))?)
                }),
                // Unless its class says otherwise a sender begins at once.
                None if at.sends => {
                    flow.borrow_mut(py).eager = true;
                    decisions.push(Decision::On(at, Act::Ready));
                }
                None => {}
            }
        });
    }

    fn packet(&mut self, at: At, packet: &SimPacket, now: Time, decisions: &mut Vec<Decision>) {
        Python::attach(|py| {
            let (host, flow) = (self.host_of(py, at), self.flow(at));
            let (verb, name) =
                if at.sends { (&host.at_sender, "at_sender") } else { (&host.at_receiver, "at_receiver") };
            let Some(verb) = verb else { return };
            event((&self.handed, host), (name, now), (), decisions, |py| {
                nothing(&verb.bind(py).call1((flow, Received::new(at, packet)))?)
            });
        });
    }

    fn next_packet(&mut self, at: At, now: Time, decisions: &mut Vec<Decision>) -> Option<SimData> {
        Python::attach(|py| {
            let (host, flow) = (self.host_of(py, at), self.flow(at));
            let verb = host.next_packet.as_ref()?;
            flow.borrow_mut(py).eager = false;
            let data = event((&self.handed, host), ("next_packet", now), None, decisions, |py| {
                let returned = verb.bind(py).call1((flow,))?;
                if returned.is_none() {
                    let asked = host.host.borrow(py).has_asked();
                    let text = "it requests a turn (flow.ready) and returns nothing to send";
                    return if asked { Err(PyValueError::new_err(text)) } else { Ok(None) };
                }
                let Ok(data) = returned.cast::<Data>() else {
                    let text = format!("it returns {}; return flow.data(...), or None", returned.repr()?);
                    return Err(PyTypeError::new_err(text));
                };
                let (at, header, again) = data.get().sent(flow.bind(py))?;
                Ok(Some(SimData { at, header, again }))
            });
            // It has another turn.
            flow.borrow_mut(py).eager = data.is_some();
            data
        })
    }

    fn timer(&mut self, at: At, kind: u8, now: Time, decisions: &mut Vec<Decision>) {
        Python::attach(|py| {
            let (host, flow) = (self.host_of(py, at), self.flow(at));
            flow.borrow_mut(py).timer_comes(kind);
            let Some(verb) = &host.on_timer else { return };
            event((&self.handed, host), ("on_timer", now), (), decisions, |py| {
                nothing(&verb.bind(py).call1((flow, kind))?)
            });
        });
    }

    fn host_timer(&mut self, number: NodeId, now: Time, decisions: &mut Vec<Decision>) {
        Python::attach(|py| {
            let host = self.hosts[number.index()].as_ref().expect("its object has set the timer");
            host.host.borrow_mut(py).timer_set = false;
            let Some(verb) = &host.on_host_timer else { return };
            event((&self.handed, host), ("on_host_timer", now), (), decisions, |py| {
                nothing(&verb.bind(py).call1((&host.host,))?)
            });
        });
    }

    fn received(&self, id: ConnId) -> u64 {
        Python::attach(|py| {
            let flow = self.receivers.get(id.index()).and_then(Option::as_ref);
            flow.map_or(0, |flow| flow.borrow(py).received())
        })
    }
}

impl Drop for Own {
    /// The run is over: flows that would never have ended are for its message, if it has stalled.
    fn drop(&mut self) {
        Python::attach(|py| {
            let flows = self.senders.iter().flatten().map(|flow| flow.borrow(py));
            let stuck: Vec<_> = flows.filter(|flow| flow.is_stuck(py)).collect();
            if let Some(first) = stuck.first() {
                self.handed.note_stuck(stuck.len(), first.described(py));
            }
        });
    }
}
