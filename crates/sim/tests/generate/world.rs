//! Properties of a legal scenario beyond the schema: the names in its network, and sizes that end early.
//!
//! The table is for fields that have relations. A new field without any needs no line here, and one that has some only
//! costs attempts until then.

use flowyard_sim::topology::Fabric;
use serde_json::{Value, json};

use crate::fuzz::{Draw, Taste};

/// Names of traffic entries, of which a scenario has the first ones.
pub const ENTRIES: [&str; 3] = ["a", "b", "c"];
/// The files with sizes that scenarios may name, and what is in them: one in each dialect.
pub const FILES: [(&str, &str); 4] = [
    ("percent.cdf", "100 0\n1000 50\n5000 100\n"),
    ("fraction.cdf", "100 0\n1000 0.5\n5000 1\n"),
    ("ns2.cdf", "1 1 0\n2 1 0.5\n4 1 1\n"),
    ("homa.cdf", "1500\n100 0.1\n1000 0.5\n5000 1\n"),
];

/// A network by its names.
#[derive(Default)]
pub struct World {
    hosts: usize,
    nodes: Vec<String>,
    tiers: Vec<String>,
    link_tiers: Vec<String>,
    cables: Vec<[usize; 2]>,
}

impl World {
    /// That of a network.
    pub fn of(fabric: &Fabric) -> World {
        World {
            hosts: fabric.hosts as usize,
            nodes: fabric.nodes.iter().map(|node| node.name.clone()).collect(),
            tiers: fabric.nodes.iter().map(|node| node.tier.to_string()).collect(),
            link_tiers: fabric.links.iter().map(|link| fabric.tier_of(link)).collect(),
            cables: fabric.links.iter().map(|link| [link.from.index(), link.to.index()]).collect(),
        }
    }

    fn host(&self, draw: &mut Draw) -> usize {
        draw.below(self.hosts.max(1))
    }

    fn cable(&self, draw: &mut Draw) -> [&str; 2] {
        draw.one_of(&self.cables).map(|end| &self.nodes[end][..])
    }

    /// A walk from a host to another one that meets no node twice.
    fn path(&self, draw: &mut Draw) -> Value {
        let mut walk = Vec::new();
        for _ in 0..20 {
            walk = vec![self.host(draw)];
            let length = 1 + draw.below(7);
            while walk.len() <= length {
                let last = walk[walk.len() - 1];
                let new = |end: &&[usize; 2]| end[0] == last && !walk.contains(&end[1]);
                let next: Vec<usize> = self.cables.iter().filter(new).map(|end| end[1]).collect();
                if next.is_empty() {
                    break;
                }
                walk.push(*draw.one_of(&next));
                if walk[walk.len() - 1] < self.hosts && draw.below(2) == 0 {
                    break;
                }
            }
            if walk.len() > 1 && walk[walk.len() - 1] < self.hosts {
                break;
            }
        }
        walk.iter().map(|node| self.nodes[*node].clone()).collect()
    }

    /// A pattern for links.
    fn links(&self, draw: &mut Draw) -> Value {
        let [from, to] = self.cable(draw);
        let one = format!("{from} -> {to}");
        json!([draw.one_of(&["* -> *".to_string(), "host-*".to_string(), "*-host".to_string(), one])])
    }
}

/// A small network, a chain of switches with hosts and another cable.
fn network(draw: &mut Draw) -> Value {
    let (hosts, switches) = (2 + draw.below(5), 1 + draw.below(3));
    let host = |number: usize| format!("h{number}");
    let switch = |number: usize| format!("s{number}");
    let mut cables: Vec<Value> =
        (0..hosts).map(|number| json!({ "ends": [host(number), switch(number % switches)] })).collect();
    cables.extend((1..switches).map(|number| json!({ "ends": [switch(number - 1), switch(number)] })));
    let (one, other) = (draw.below(hosts), draw.below(switches));
    cables.push(json!({ "ends": [host(one), switch(other)], "delay": "3us", "count": 1 + draw.below(2) }));
    let mut last = json!({ "ends": [switch(0), host(hosts - 1)], "rate": "3Gbps" });
    if draw.below(2) == 0 {
        last["rate"] = Value::Null;
    }
    cables.push(last);
    let switches: Vec<Value> =
        (0..switches).map(|number| json!({ "name": switch(number), "tier": "middle" })).collect();
    let hosts: Vec<String> = (0..hosts).map(host).collect();
    json!({ "hosts": hosts, "switches": switches, "cables": cables, "rate": "10Gbps", "delay": "1us" })
}

/// Points of a distribution.
fn points(draw: &mut Draw) -> Value {
    let first = draw.below(3000);
    json!([[first, draw.below(60)], [first + 1 + draw.below(3000), 60], [first + 5000, 100]])
}

/// Starts of which some wait for triggers that are fired.
fn triggers(draw: &mut Draw) -> Value {
    let kind = draw
        .one_of(&[json!("once"), json!("each"), json!({ "barrier": 1 }), json!({ "barrier": 2 })])
        .clone();
    let event = *draw.one_of(&["received", "acked"]);
    let fires: Vec<Value> =
        (0..2).map(|flow| json!({ "flow": flow, "event": event, "trigger": 4 })).collect();
    let notify = *draw.one_of(&[None, Some("1us"), Some("20us")]);
    json!({
        "starts": ["0s", "1us", { "trigger": 4 }, { "trigger": 4 }],
        "fires": fires,
        "list": [{ "id": 4, "kind": kind }],
        "notify": notify,
    })
}

impl Taste for World {
    fn value(&self, place: &str, draw: &mut Draw) -> Option<Value> {
        Some(match place {
            "Explicit" => network(draw),
            // Networks of a few hosts.
            "FatTree.k" => json!(2 + 2 * draw.below(2)),
            "FatTree.levels" => json!(1 + draw.below(4)),
            "DCell.k" | "BCube.k" => json!(draw.below(2)),
            "Cdf" if draw.below(2) == 0 => {
                let file = draw.one_of(&FILES).0;
                json!({ "file": file, "dialect": file.trim_end_matches(".cdf") })
            }
            "Cdf" => json!({ "points": points(draw) }),
            "Cdf.points" => points(draw),
            "Cdf.file" => json!(draw.one_of(&FILES).0),
            "Triggers" => triggers(draw),
            // Few flows.
            "Entry.name" => json!(draw.one_of(&ENTRIES)),
            "Entry.flows" => json!(1 + draw.below(14)),
            "Incast.senders" => json!(1 + draw.below(self.hosts.max(2) - 1)),
            "Incast.receiver" if draw.below(3) == 0 => json!("random"),
            "Incast.receiver" => json!(self.host(draw)),
            "Pairs" => (0..1 + draw.below(5)).map(|_| json!([self.host(draw), self.host(draw)])).collect(),
            "Sources.hosts" => (0..1 + draw.below(4)).map(|_| json!(self.host(draw))).collect(),
            "Sources.not-in" | "After.entry" | "Reply.to" | "TakenBy.traffic" | "LostPackets.traffic" => {
                json!(draw.one_of(&ENTRIES))
            }
            "Poisson.load" => json!(0.1 + draw.below(9) as f64 / 10.0),
            "Poisson.rate" => json!(1000.0 * 10f64.powi(draw.below(4) as i32)),
            "OnOff.probability" => json!(draw.one_of(&[1.0, 0.5, 0.1])),
            "OnOff.flows_each" | "Blocks.blocks" | "Periodic.rounds" => json!(1 + draw.below(3)),
            // Names.
            "FaultTarget.cable" | "FaultTarget.link" | "LinkWeight.link" => json!(self.cable(draw)),
            "FaultTarget.node" => json!(draw.one_of(&self.nodes)),
            "RandomNodes.tier" => json!(draw.one_of(&self.tiers)),
            "RandomCables.tier" => json!(draw.one_of(&self.link_tiers)),
            "Route.path" => self.path(draw),
            "Samples.links" | "Capture.links" => self.links(draw),
            "Samples.flows" => json!(["*"]),
            "Samples.every" | "Histograms.every" => json!(draw.one_of(&["700ns", "10us", "33us", "200us"])),
            "PythonTransport.name" | "PythonControl.name" | "PythonQueue.name" | "PythonBalancer.name" => {
                json!("stub")
            }
            // Traffic that links of a few Gbps can carry, and ends while something goes on.
            "Fault.at" => json!(draw.one_of(&["0s", "1us", "5us", "20us", "100us"])),
            "Fault.lasts" => json!(draw.one_of(&["1us", "7us", "50us", "300us"])),
            "Faults.detection_delay" => json!(draw.one_of(&["0s", "2us", "30us", "1ms"])),
            "Run.until" => json!(draw.one_of(&["30us", "150us", "600us", "2ms", "9ms"])),
            "Run.memory_limit" => json!("200MB"),
            "Run.work_limit" => json!(super::WORK_MAX),
            _ => return None,
        })
    }
}
