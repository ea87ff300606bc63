//! The rates at which hosts can send: what a load is a share of.

use super::Demand;
use crate::topology::Fabric;
use crate::units::Rate;

/// The rate that a host can send at, over all its ports.
pub struct HostPorts {
    /// For each host the sum of its ports' rates, in bits per second.
    pub capacity: Vec<f64>,
    /// For each host the rate of its fastest port.
    pub(super) fastest: Vec<Rate>,
}

impl HostPorts {
    /// Of each host.
    pub fn of(fabric: &Fabric) -> HostPorts {
        let hosts = fabric.hosts as usize;
        let mut ports = HostPorts { capacity: vec![0.0; hosts], fastest: vec![Rate(0); hosts] };
        for link in fabric.links.iter().filter(|link| fabric.is_host(link.from)) {
            let host = link.from.index();
            ports.capacity[host] += link.rate.0 as f64;
            ports.fastest[host] = ports.fastest[host].max(link.rate);
        }
        ports
    }

    /// Flows per second of an entry with these sources that would be load 1; 0 if it offers none.
    pub fn full(&self, entry: &Demand, sources: &[u32]) -> f64 {
        let Some(product) = entry.workload.offers() else { return 0.0 };
        let hosts = self.capacity.len() as u32;
        product.full(self.sum(&entry.workload.loaded(&entry.name, sources, hosts)))
    }

    /// The rate that so many hosts can send at together, in bits per second.
    pub fn sum(&self, hosts: &[u32]) -> f64 {
        hosts.iter().map(|&host| self.capacity[host as usize]).sum()
    }
}
