//! The agents at the ports of a network: what they are shown, and their ticks.

use crate::engine::contract::agent::PortAgent;
use crate::engine::data::numbers::Numbers;
use crate::random::Stream;

/// The agents of a run.
pub struct Agents<A> {
    /// The model of the transport that they serve.
    pub(in crate::engine) serves: u8,
    /// Whether they are shown packets to senders.
    read_answers: bool,
    /// By link; none without agents.
    pub(in crate::engine) ports: Vec<AtPort<A>>,
}

/// An agent at its port.
pub(in crate::engine) struct AtPort<A> {
    pub(in crate::engine) agent: A,
    pub(in crate::engine) stream: Stream,
    pub(in crate::engine) ticking: bool,
}

impl<A: PortAgent> Agents<A> {
    /// An agent for each link, with a stream of its own; they serve that model.
    pub fn new(serves: u8, agents: impl Iterator<Item = (A, Stream)>) -> Agents<A> {
        let ports: Vec<AtPort<A>> =
            agents.map(|(agent, stream)| AtPort { agent, stream, ticking: false }).collect();
        Agents { serves, read_answers: ports.iter().any(|port| port.agent.reads_answers()), ports }
    }

    /// No agents.
    pub fn none() -> Agents<A> {
        Agents { serves: 0, read_answers: false, ports: Vec::new() }
    }

    /// Whether they are shown packets to senders.
    #[inline(always)]
    pub fn read_answers(&self) -> bool {
        self.read_answers
    }

    /// Whether there are none.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.ports.is_empty()
    }

    /// The agent at a link, and whether it waits for a tick.
    pub fn get(&self, link: usize) -> (&A, bool) {
        (&self.ports[link].agent, self.ports[link].ticking)
    }

    /// The agents, by link.
    pub fn iter(&self) -> impl Iterator<Item = (&A, bool)> {
        self.ports.iter().map(|port| (&port.agent, port.ticking))
    }

    /// Flows get their numbers.
    pub fn number(&mut self, numbers: &Numbers) {
        self.ports.iter_mut().for_each(|port| port.agent.number(numbers));
    }

    /// The agent at a link: for tests of the audit.
    #[cfg(test)]
    pub fn at(&mut self, link: crate::ids::LinkId) -> &mut A {
        &mut self.ports[link.index()].agent
    }

    /// Bytes of those at links that pass the test.
    pub fn bytes(&self, is_own: impl Fn(usize) -> bool) -> u64 {
        let own = self.ports.iter().enumerate().filter(|&(link, _)| is_own(link));
        own.map(|(_, port)| size_of::<AtPort<A>>() + port.agent.heap_bytes()).sum::<usize>() as u64
    }
}
