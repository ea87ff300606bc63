//! The steps of a set-up: what is offered to the network, and its members as the run has them.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::agent::Agent;
use crate::balancer::Balancer;
use crate::controller::Controller;
use crate::derived::{Environment, Longest, Values, settle};
use crate::engine::data::plan::{Carrier, Rule};
use crate::faults::packets;
use crate::faults::timeline::Timeline;
use crate::measure::{self, Wanted};
use crate::queue::Queue;
use crate::routing::Routes;
use crate::scenario::{Connection, Entry, Prototypes, Scenario, Ties};
use crate::topology::Fabric;
use crate::traffic::{Demand, Traffic};
use crate::transport::{Profile, Transport};
use crate::units::{Bytes, Time};

/// Faults, flows, and the demands that they are drawn from, with arrivals as long as the run needs them.
pub(super) struct Offered {
    pub(super) faults: Timeline,
    pub(super) traffic: Traffic,
    pub(super) demands: Vec<Demand>,
}

impl Offered {
    pub(super) fn new(scenario: &Scenario, fabric: &Fabric, routes: &Routes) -> Offered {
        let run = &scenario.run;
        let weighed = scenario.traffic.iter().any(|entry| scenario.balancer_of(entry).weighs());
        let mut faults = Timeline::build(&scenario.faults, fabric, run.seed, run.replica, weighed);
        let wanted =
            Wanted { measure: run.measure, run_until: run.until, fixed_faults: scenario.faults.is_fixed() };
        let draws = (run.seed, run.replica);
        let (window, demands) = measure::plan(&wanted, &scenario.demands(), fabric, routes, draws);
        let traffic = Traffic::build(&demands, fabric, run.seed, run.replica, window);
        faults.picked = packets::pick(&scenario.faults.packets, &demands, &traffic);
        Offered { faults, traffic, demands }
    }
}

/// The delays of a path of two of the hosts' shortest cables, there and back.
pub(super) fn nearest_delay(fabric: &Fabric) -> Time {
    let delays = fabric.links.iter().filter(|link| fabric.is_host(link.from)).map(|link| link.delay);
    Time(delays.min().unwrap_or_default().0.saturating_mul(4))
}

/// The traffic by the transports that carry it.
pub(super) struct Carried<'a> {
    pub(super) traffic: &'a Traffic,
    pub(super) demands: &'a [Demand],
    pub(super) transport_of: &'a [u8],
    /// See [`Environment`].
    pub(super) nearest_delay: Time,
    pub(super) marks_last_hop: bool,
    pub(super) marks_as_share: bool,
    pub(super) port_bytes: Option<u64>,
    pub(super) oversubscription: f64,
}

impl<'a> Carried<'a> {
    /// The environment of the transport of that number.
    pub(super) fn by(&self, transport: usize, longest: Longest) -> Environment<'a> {
        self.environment(longest, |entry| usize::from(self.transport_of[entry]) == transport)
    }

    /// That of ports, which serve all transports.
    pub(super) fn by_all(&self, longest: &[Longest]) -> Environment<'a> {
        self.environment(longest.iter().copied().fold(Longest::default(), Longest::or), |_| true)
    }

    fn environment(&self, longest: Longest, carries: impl Fn(usize) -> bool) -> Environment<'a> {
        let flows = self.traffic.entries.iter().map(|entry| entry.flows);
        let demands = self.demands.iter().zip(flows).enumerate();
        Environment {
            longest,
            nearest_delay: self.nearest_delay,
            marks_last_hop: self.marks_last_hop,
            marks_as_share: self.marks_as_share,
            port_bytes: self.port_bytes,
            oversubscription: self.oversubscription,
            demands: demands.filter(|(entry, _)| carries(*entry)).map(|(_, own)| own).collect(),
        }
    }
}

/// Members as the run has them: with values in the place of words, which are noted, and with the prototypes they name.
pub(super) struct Settling<'a> {
    pub(super) prototypes: &'a Prototypes,
    pub(super) has_prototypes: bool,
    pub(super) derived: BTreeMap<String, Value>,
}

impl Settling<'_> {
    fn note(&mut self, path: &str, values: &Values) {
        let at = values.iter().map(|(field, value)| (format!("{path}.{field}"), value.clone()));
        self.derived.extend(at);
    }

    pub(super) fn transports(
        &mut self,
        scenario: &Scenario,
        named: &[&Transport],
        longest: &[Longest],
        carried: &Carried,
    ) -> Vec<Transport> {
        let settled = |(number, (transport, longest)): (usize, (&&Transport, &Longest))| {
            let values = transport.derived(&carried.by(number, *longest));
            let mut settled = settle(*transport, transport.name(), &values);
            self.has_prototypes |= settled.bind(&self.prototypes.transport);
            let entries = scenario.traffic.iter().zip(carried.transport_of);
            for (entry, _) in entries.filter(|(_, of)| usize::from(**of) == number) {
                self.note(&format!("{}.{}", scenario.transport_path(entry), transport.name()), &values);
            }
            settled
        };
        named.iter().zip(longest).enumerate().map(settled).collect()
    }

    pub(super) fn queue(&mut self, scenario: &Scenario, environment: &Environment) -> Queue {
        let queue = scenario.queue();
        let values = queue.derived(environment, scenario.full_packet());
        self.note(&format!("queue.{}", queue.name()), &values);
        let mut queue = settle(&queue, queue.name(), &values);
        self.has_prototypes |= queue.bind(&self.prototypes.queues);
        queue
    }

    pub(super) fn agent(&mut self, scenario: &Scenario, environment: &Environment) -> Option<Agent> {
        let agent = scenario.agent()?;
        let values = agent.derived(environment);
        self.note(&format!("agent.{}", agent.name()), &values);
        Some(settle(&agent, agent.name(), &values))
    }

    pub(super) fn controller(&mut self, scenario: &Scenario, fabric: &Fabric) -> Option<Controller> {
        let controller = scenario.controller.as_ref()?;
        let values = controller.derived(fabric, Bytes(scenario.full_packet()));
        self.note(&format!("controller.{}", controller.name()), &values);
        Some(settle(controller, controller.name(), &values))
    }

    pub(super) fn balancers(
        &mut self,
        scenario: &Scenario,
        queue: &Queue,
        balancers: &mut [Balancer],
        balancer_of: &[u8],
    ) {
        let full_packet = scenario.full_packet();
        for (number, balancer) in balancers.iter_mut().enumerate() {
            let values = balancer.derived(queue.most_packets(full_packet), full_packet);
            let entries = scenario.traffic.iter().zip(balancer_of);
            for (entry, _) in entries.filter(|(_, of)| usize::from(**of) == number) {
                self.note(&format!("{}.{}", scenario.balancer_path(entry), balancer.name()), &values);
            }
            *balancer = settle(&*balancer, balancer.name(), &values);
            self.has_prototypes |= balancer.bind(&self.prototypes.balancers);
        }
    }
}

/// An entry with the members of its flows: the transport with its model and configuration, and the balancer.
pub(super) fn carrier(
    entry: &Entry,
    (transport, (model, config)): (u8, (u8, u8)),
    balancer: u8,
    sets_class: bool,
    profile: &Profile,
) -> Carrier {
    let may_be_late = entry.deadline.is_some() || entry.deadlines.is_some();
    Carrier {
        name: entry.name.clone(),
        transport,
        model,
        config,
        balancer,
        background: entry.background,
        priority: entry.priority as u8,
        class: entry.class.unwrap_or(0) as u8,
        classed: entry.class.is_some() || sets_class,
        kept: entry.connection == Connection::Kept,
        delivers: profile.answer_bytes > 0 && profile.retransmits && !(may_be_late && profile.gives_up),
    }
}

/// For each transport, the longest paths to its packets.
pub(super) fn longest_of(transports: &[&Transport], fabric: &Fabric, routes: &Routes) -> Vec<Longest> {
    let longest = |transport: &&Transport| {
        let profile = transport.profile();
        Longest::new(fabric, routes, profile.full_packet, profile.answer_bytes)
    };
    transports.iter().map(longest).collect()
}

/// For each transport, its place in the scenario: that of the first entry with it.
pub(super) fn paths(scenario: &Scenario, transport_of: &[u8], transports: usize) -> Vec<String> {
    let first =
        |number| transport_of.iter().position(|of| usize::from(*of) == number).expect("an entry has it");
    (0..transports).map(|number| scenario.transport_path(&scenario.traffic[first(number)])).collect()
}

pub(super) fn rule(ties: Ties) -> Rule {
    match ties {
        Ties::Drawn => Rule::Drawn,
        Ties::Arrival => Rule::Arrival,
        Ties::Link => Rule::Link,
    }
}

/// The distinct items in the order of their first places, and for each place the number of its item among them.
pub(super) fn distinct<T: PartialEq>(items: impl Iterator<Item = T>) -> (Vec<T>, Vec<u8>) {
    let mut all: Vec<T> = Vec::new();
    let number = |item: T| {
        let known = all.iter().position(|known| *known == item);
        as_index(known.unwrap_or_else(|| {
            all.push(item);
            all.len() - 1
        }))
    };
    let numbers = items.map(number).collect();
    (all, numbers)
}

fn as_index(index: usize) -> u8 {
    u8::try_from(index).expect("the check allows at most 255 transports and balancers")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Format, no_files, read};

    /// A transport derives its fields from the flows that it carries, ports from those of all.
    #[test]
    fn an_environment_has_the_traffic_of_its_transport() {
        let text = r#"
            transport = "ndp"
            queue = "ndp"
            topology.single-switch = { hosts = 4 }
            [[traffic]]
            name = "small"
            arrivals = "at-once"
            matrix.incast = { senders = 3 }
            sizes.list = [100, 300, 200]
            [[traffic]]
            name = "large"
            transport = "tcp"
            arrivals = "at-once"
            matrix.pairs = [[0, 1], [2, 1]]
            sizes.fixed = "1MB"
        "#;
        let scenario = read(text, Format::Toml, &[], &no_files).expect("a scenario");
        let fabric = scenario.topology.build();
        let routes = Routes::build(&fabric).expect("a connected network");
        let Offered { traffic, demands, .. } = Offered::new(&scenario, &fabric, &routes);
        let carried = Carried {
            traffic: &traffic,
            demands: &demands,
            transport_of: &[0, 1],
            nearest_delay: Time::ZERO,
            marks_last_hop: true,
            marks_as_share: false,
            port_bytes: None,
            oversubscription: 1.0,
        };
        let longest = Longest { bdp: 7, ..Longest::default() };
        let names = |environment: &Environment| {
            let all = environment.demands.iter().map(|(demand, flows)| (demand.name.clone(), *flows));
            all.collect::<Vec<_>>()
        };
        let small = carried.by(0, longest);
        assert_eq!((names(&small), small.longest), (vec![("small".into(), 3)], longest));
        assert_eq!(small.sizes(), [(100, 1.0), (300, 1.0), (200, 1.0)]);
        assert_eq!(names(&carried.by(1, longest)), [("large".into(), 2)]);
        assert_eq!(names(&carried.by_all(&[longest])), [("small".into(), 3), ("large".into(), 2)]);
    }

    #[test]
    fn equal_items_share_a_number() {
        assert_eq!(
            distinct(["b", "a", "b", "c", "a"].into_iter()),
            (vec!["b", "a", "c"], vec![0, 1, 0, 2, 1])
        );
    }
}
