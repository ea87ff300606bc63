//! DCell: cells of servers on one switch, joined by cables between servers into cells of cells.
//!
//! Guo et al., "DCell: a scalable and fault-tolerant network structure for data centers", SIGCOMM 2008,
//! section 3. Servers forward for others.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Counts, Fabric, Generator, oversized};
use crate::ids::NodeId;
use crate::problem::Problem;
use crate::units::{Rate, Time};

/// DCell_k of cells of `n` hosts on a switch. Hosts have `k + 1` ports and relay.
///
/// A DCell_l is t + 1 cells DCell_(l-1) of t hosts each, and has one cable between each two of them: t_0 = n hosts,
/// t_l = t_(l-1) (t_(l-1) + 1). Hosts are numbered cell by cell, which is the paper's number of a server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DCell {
    /// Number of hosts in the smallest cell: ports of a switch.
    #[schemars(range(min = 2, max = 1024))]
    pub n: u32,
    /// Level of the construction; with 0 all hosts are on one switch.
    #[schemars(range(max = 4))]
    pub k: u32,
    /// Rate of every cable.
    #[schemars(extend("x-minimum" = "1Kbps"))]
    pub rate: Rate,
    /// Propagation delay of every cable.
    #[schemars(extend("x-maximum" = "10s"))]
    pub delay: Time,
}

impl Default for DCell {
    fn default() -> Self {
        DCell { n: 4, k: 1, rate: Rate(10_000_000_000), delay: Time::from_us(1) }
    }
}

impl DCell {
    /// Hosts of a cell of each level.
    fn sizes(&self) -> Vec<u128> {
        let larger = |size: &u128| Some(size.saturating_mul(size.saturating_add(1)));
        std::iter::successors(Some(self.n.into()), larger).take(self.k as usize + 1).collect()
    }
}

impl Generator for DCell {
    fn problems(&self) -> Vec<Problem> {
        oversized(self.counts())
    }

    fn counts(&self) -> Counts {
        let hosts = self.sizes()[self.k as usize];
        // A cable to the switch, and half of one on each level above.
        let cables = hosts.saturating_add(hosts.saturating_mul(self.k.into()) / 2);
        Counts { hosts, switches: hosts / u128::from(self.n), cables }
    }

    fn build(&self) -> Fabric {
        let sizes: Vec<u32> = self.sizes().into_iter().map(|size| size as u32).collect();
        let hosts = sizes[self.k as usize];
        let mut fabric = Fabric::default();
        fabric.add_hosts(hosts);
        for switch in 0..hosts / self.n {
            fabric.add_node(format!("switch {switch}"), "switch");
        }
        for host in 0..hosts {
            fabric.add_cable(NodeId(host), NodeId(hosts + host / self.n), self.rate, self.delay);
        }
        // BuildDCells of the paper's figure 3: in every cell of level l, host j - 1 of its part i and host i of
        // its part j, for i < j.
        for below in sizes[..self.k as usize].iter().copied() {
            let parts = below + 1;
            for cell in (0..hosts).step_by((below * parts) as usize) {
                for i in 0..parts {
                    for j in i + 1..parts {
                        let ends = [cell + i * below + j - 1, cell + j * below + i].map(NodeId);
                        fabric.add_cable(ends[0], ends[1], self.rate, self.delay);
                    }
                }
            }
        }
        fabric
    }
}
