//! The writer of traffic: to it a workload gives its flows, and which of them wait for others.

use std::iter::zip;

use super::chains::Chains;
use super::dependencies::{Dependencies, Fire, Milestone, Target, Trigger, TriggerKind};
use super::ports::HostPorts;
use super::window::Window;
use super::workload::Workload;
use super::workload::extent::{Extent, Scope};
use super::workload::product::Product;
use super::{Demand, EntrySummary, Flow, LAST, references};
use crate::ids::NodeId;
use crate::problem::Problem;
use crate::random::{Purpose, Stream, name_key};
use crate::topology::Fabric;
use crate::units::Time;

/// Takes flows and dependencies, entry by entry.
///
/// A flow is known by its entry and by its number there, in the order in which the entry's flows are written.
pub struct Writer<'a> {
    entries: &'a [Demand],
    hosts: u32,
    ports: HostPorts,
    window: &'a Window,
    draws: (u64, u64),
    /// The entry that is being written.
    index: usize,
    /// The stream of its deadlines.
    dues: Stream,
    flows: Vec<Flow>,
    /// For each entry how many flows are written before it, and how many it has.
    spans: Vec<(usize, u64)>,
    loads: Vec<Load>,
    chains: Chains,
    dependencies: Dependencies,
}

/// The load of an entry: see [`EntrySummary`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    /// Payload offered a second over the capacity.
    pub offered: Option<f64>,
    /// The same in bits per second.
    pub bps: Option<f64>,
    /// The same of the flows drawn.
    pub realised: Option<f64>,
    /// The capacity in bits per second.
    pub capacity: f64,
    /// The variance of the bits that arrive in a second.
    pub variance: f64,
}

/// All flows of a run, in their order.
pub(super) struct Written {
    /// By start, then entry, then number; those that wait for others come last.
    pub flows: Vec<Flow>,
    pub chains: Chains,
    pub dependencies: Dependencies,
    /// By entry.
    pub summaries: Vec<EntrySummary>,
}

impl<'a> Writer<'a> {
    /// Nothing is written yet.
    pub(super) fn new(
        entries: &'a [Demand],
        fabric: &Fabric,
        draws: (u64, u64),
        window: &'a Window,
    ) -> Writer<'a> {
        Writer {
            entries,
            hosts: fabric.hosts,
            ports: HostPorts::of(fabric),
            window,
            draws,
            index: 0,
            dues: Stream::new(draws.0, draws.1, Purpose::Deadlines, 0),
            flows: Vec::new(),
            spans: vec![(0, 0); entries.len()],
            loads: vec![Load::default(); entries.len()],
            chains: Chains::new(fabric.hosts),
            dependencies: Dependencies::default(),
        }
    }

    /// Lets the workload of an entry write its flows.
    pub(super) fn write(&mut self, index: usize, ranks: &[u32]) {
        self.index = index;
        self.dues = self.stream(Purpose::Deadlines);
        self.spans[index] = (self.flows.len(), 0);
        let ranks: Vec<NodeId> = ranks.iter().map(|&rank| NodeId(rank)).collect();
        let entries = self.entries;
        entries[index].workload.write(&ranks, self);
    }

    /// Name of the entry.
    pub fn name(&self) -> &'a str {
        &self.entries[self.index].name
    }

    /// Index of the entry.
    pub fn index(&self) -> usize {
        self.index
    }

    /// The entry's random stream for a purpose.
    pub fn stream(&self, purpose: Purpose) -> Stream {
        Stream::new(self.draws.0, self.draws.1, purpose, name_key(self.name()))
    }

    /// Number of hosts in the network.
    pub fn hosts(&self) -> u32 {
        self.hosts
    }

    /// The rates of hosts.
    pub fn ports(&self) -> &HostPorts {
        &self.ports
    }

    /// The flows that are measured.
    pub fn window(&self) -> &'a Window {
        self.window
    }

    /// Another entry that the workload refers to, by its name: its index, and how many flows it has.
    pub fn entry(&self, name: &str) -> (usize, u64) {
        let index = references::position(self.entries, name).expect("checked: the entry exists");
        (index, self.spans[index].1)
    }

    /// The flows of an entry, in the order in which they were written.
    pub fn flows(&self, entry: usize) -> &[Flow] {
        let (first, count) = self.spans[entry];
        &self.flows[first..first + count as usize]
    }

    /// The flows that this entry has so far.
    pub fn own(&self) -> &[Flow] {
        self.flows(self.index)
    }

    /// The number of flows that a workload has with these ranks, given the flows of the entries that it refers to.
    pub(super) fn extent(&self, workload: &dyn Workload, ranks: &[u32]) -> (Extent, Option<Problem>) {
        let known = |name: &str| {
            let base = references::position(self.entries, name)?;
            Some(Extent::exactly(self.spans[base].1))
        };
        workload.extent(&Scope {
            name: self.name(),
            background: self.entries[self.index].background,
            ranks,
            hosts: self.hosts,
            ports: &self.ports,
            valid: true,
            known: &known,
        })
    }

    /// Makes room for so many flows: of ten million, a list that grows by doubling would take twice the memory.
    pub(super) fn reserve(&mut self, flows: usize) {
        self.flows.reserve(flows);
    }

    /// Adds a flow that starts then, or that waits for a trigger; returns its number in the entry.
    pub fn flow(&mut self, start: Option<Time>, src: NodeId, dst: NodeId, size: u64) -> u64 {
        let start = start.map_or(Time::NEVER, |start| start.min(LAST));
        let deadline = self.entries[self.index].due(&mut self.dues);
        let count = &mut self.spans[self.index].1;
        let (entry, number) = (self.index as u32, *count as u32);
        *count += 1;
        self.flows.push(Flow { start, src, dst, size, entry, number, key: 0, deadline });
        u64::from(number)
    }

    /// Adds sources that draw flows of the product during the run: those of a round of its matrix.
    pub fn chains(&mut self, product: &Product, round: impl Iterator<Item = (NodeId, NodeId)>) {
        self.chains.add(self.index, (&self.entries[self.index], product), round, self.draws);
    }

    /// States the load of the entry.
    pub fn load(&mut self, load: Load) {
        self.loads[self.index] = load;
    }

    /// Adds a trigger of that kind that no flow fires yet. `notify` is the time that a notification takes between two
    /// hosts; by default that of a small packet through the idle network.
    pub fn trigger(&mut self, kind: TriggerKind, notify: Option<Time>) -> u32 {
        self.dependencies.triggers.push(Trigger { kind, host: NodeId::NONE, notify });
        self.dependencies.triggers.len() as u32 - 1
    }

    /// Lets flow `number` of an entry fire a trigger then. The trigger is at the host of the first flow that fires it.
    pub fn fires(&mut self, entry: usize, number: u64, at: Milestone, trigger: u32) {
        let flow = self.place(entry, number);
        let host = &mut self.dependencies.triggers[trigger as usize].host;
        if *host == NodeId::NONE {
            *host = at.host(&self.flows[flow as usize]);
        }
        self.dependencies.fires.push(Fire { flow, at, trigger });
    }

    /// Lets a trigger start flow `number` of an entry after a delay.
    pub fn starts(&mut self, trigger: u32, entry: usize, number: u64, delay: Time) {
        let flow = self.place(entry, number);
        self.dependencies.targets.push(Target { trigger, flow, delay });
    }

    fn place(&self, entry: usize, number: u64) -> u32 {
        (self.spans[entry].0 + number as usize) as u32
    }

    /// All entries are written: puts flows, sources and dependencies into their order.
    pub(super) fn finish(mut self) -> Written {
        let summaries = (0..self.entries.len()).map(|entry| self.summary(entry)).collect();
        // Stable: the order is (start, entry, number), and those that wait come last.
        self.flows.sort_by_key(|flow| (flow.start, flow.entry));
        if !self.dependencies.triggers.is_empty() {
            let places = self.places();
            self.dependencies.sort(&places);
        }
        self.chains.sort();
        let Writer { flows, chains, dependencies, .. } = self;
        Written { flows, chains, dependencies, summaries }
    }

    /// By the order in which they were written, the index of each flow, now that all are in order.
    fn places(&self) -> Vec<u32> {
        let mut places = vec![0; self.flows.len()];
        for (index, flow) in zip(0.., &self.flows) {
            places[self.place(flow.entry as usize, u64::from(flow.number)) as usize] = index;
        }
        places
    }

    fn summary(&self, entry: usize) -> EntrySummary {
        let (flows, load) = (self.flows(entry), &self.loads[entry]);
        let Demand { name, workload, background, .. } = &self.entries[entry];
        EntrySummary {
            name: name.clone(),
            flows: flows.len() as u64,
            background: *background,
            mean_size_bytes: workload.mean_size(flows),
            offered_load: load.offered,
            offered_bps: load.bps,
            realised_load: load.realised,
            carried_load: None,
            carried_ci95: None,
            capacity_bps: load.capacity,
            variance: load.variance,
            waits: None,
        }
    }
}
