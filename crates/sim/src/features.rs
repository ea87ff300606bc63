//! The features of a run's queue, transports and balancers: readers of its results need them to explain the
//! results without a list of members of their own.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::queue::Feature;
use crate::scenario::Scenario;
use crate::setup::Setup;

/// The features of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Features {
    pub queue: QueueFeatures,
    /// Of each traffic entry, by its name.
    pub traffic: BTreeMap<String, EntryFeatures>,
}

/// The features of a queue.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QueueFeatures {
    pub name: &'static str,
    /// Its offers to transports, with the field that has the queue length from which on, if one does.
    pub offers: BTreeMap<Feature, Option<&'static str>>,
}

/// The features of the transport and the balancer of a traffic entry.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EntryFeatures {
    /// The transport's name in scenarios.
    pub transport: &'static str,
    /// The transport's needs from queues.
    pub needs: Vec<Feature>,
    /// Whether its packets are ECN-capable.
    pub ecn_capable: bool,
    /// Whether it retransmits lost packets.
    pub retransmits: bool,
    /// Whether all packets of a flow in one direction take one path.
    pub one_path: bool,
}

impl Features {
    /// For a run that has been set up.
    pub fn new(scenario: &Scenario, setup: &Setup) -> Features {
        let queue = &setup.queue;
        let offers = queue.offers().iter().map(|feature| (*feature, queue.begins_at(*feature)));
        let moves = setup.faults.moves_paths(&setup.fabric);
        let entry = |entry| {
            let transport = scenario.transport_of(entry);
            let profile = transport.profile();
            let features = EntryFeatures {
                transport: transport.name(),
                needs: transport.needs().features,
                ecn_capable: profile.ecn_capable,
                retransmits: profile.retransmits,
                one_path: scenario.balancer_of(entry).one_path() && profile.subflows == 0 && !moves,
            };
            (entry.name.clone(), features)
        };
        Features {
            queue: QueueFeatures { name: queue.name(), offers: offers.collect() },
            traffic: scenario.traffic.iter().map(entry).collect(),
        }
    }
}
