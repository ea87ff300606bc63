//! Packets that a scenario names: which data packets of which flow are lost on the first link, as ns-3's
//! ReceiveListErrorModel loses those of a list.
//!
//! They are counted where their host puts them on the wire, so that only that host's state is touched.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{FlowId, NodeId};
use crate::nearest::{closest, did_you_mean};
use crate::problem::Problem;
use crate::topology::Fabric;
use crate::traffic::references::position;
use crate::traffic::{self, Demand, Traffic};

/// Data packets of one flow that are lost on its host's link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LostPackets {
    /// The name of the flow's traffic entry.
    pub traffic: String,
    /// The flow's number in its entry, by start, from 0.
    #[serde(default)]
    #[schemars(range(max = 9_999_999))]
    pub flow: u32,
    /// Positions of the data packets that are lost, counted from 1 in the order in which the host sends them;
    /// retransmissions count, too. Handshakes and acknowledgements do not.
    #[schemars(length(min = 1, max = 10_000))]
    pub numbers: Vec<u32>,
}

/// A flow that loses packets, and how many it has sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Picked {
    pub flow: FlowId,
    /// The host that sends it.
    pub host: NodeId,
    numbers: Vec<u32>,
    sent: u32,
}

impl Picked {
    /// The host sends a data packet of the flow; whether it is to be lost.
    pub fn loses_next(&mut self) -> bool {
        self.sent += 1;
        self.numbers.binary_search(&self.sent).is_ok()
    }
}

/// The flows of the list. Called only if there are no [`problems`]; a flow that was not drawn loses nothing.
pub fn pick(list: &[LostPackets], entries: &[Demand], traffic: &Traffic) -> Vec<Picked> {
    let mut picked: Vec<Picked> = Vec::new();
    for lost in list {
        let entry = position(entries, &lost.traffic).expect("checked: the entry exists") as u32;
        let place = traffic.flows.iter().position(|flow| (flow.entry, flow.number) == (entry, lost.flow));
        let Some(place) = place else { continue };
        let (flow, host) = (FlowId(place as u32), traffic.flows[place].src);
        match picked.iter_mut().find(|known| known.flow == flow) {
            Some(known) => known.numbers.extend(&lost.numbers),
            None => picked.push(Picked { flow, host, numbers: lost.numbers.clone(), sent: 0 }),
        }
    }
    picked.iter_mut().for_each(|picked| picked.numbers.sort_unstable());
    picked
}

/// All that is wrong with the list, given entries that are in order; paths are below the faults.
pub fn problems(list: &[LostPackets], entries: &[Demand], fabric: &Fabric) -> Vec<Problem> {
    let mut problems = Vec::new();
    if list.is_empty() {
        return problems;
    }
    let most = traffic::flows_at_most(entries, fabric);
    for (index, lost) in list.iter().enumerate() {
        let mut wrong =
            |below: &str, what: String| problems.push(Problem::new(format!("packets.{index}.{below}"), what));
        let name = &lost.traffic;
        match position(entries, name) {
            None => {
                let near = closest(name, entries.iter().map(|entry| entry.name.as_str()));
                let hint = near.map(|near| format!("; {}", did_you_mean(near))).unwrap_or_default();
                wrong("traffic", format!("\"{name}\" is the name of no traffic entry{hint}"));
            }
            Some(entry) if !entries[entry].workload.known_before() => {
                let what = "are drawn during the run; name an entry whose flows are known before";
                wrong("traffic", format!("the flows of \"{name}\" {what}"));
            }
            Some(entry) if entries[entry].kept => {
                let what = "share connections, which are not one flow's; name an entry with new ones";
                wrong("traffic", format!("the flows of \"{name}\" {what}"));
            }
            Some(entry) if u64::from(lost.flow) >= most[entry] => {
                let (flow, flows) = (lost.flow, most[entry]);
                let s = if flows == 1 { "" } else { "s" };
                wrong(
                    "flow",
                    format!("{flow} is too large: \"{name}\" has {flows} flow{s}, numbered from 0"),
                );
            }
            Some(_) => {}
        }
        if lost.numbers.contains(&0) {
            wrong("numbers", "has a 0; packets are numbered from 1".into());
        }
    }
    problems
}
