//! The switch of the HPCC simulator: bytes of each arriving link and class have a reserve, a share of the memory by a
//! dynamic threshold, and headroom; a link that reaches its threshold is paused.
//!
//! Source: the code of the HPCC authors (alibaba-edu/High-Precision-Congestion-Control, `switch-mmu`), after the switches
//! of DCQCN's paper (Zhu et al., SIGCOMM 2015, section 4).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Settings, switches};
use crate::engine::contract::gate::CLASSES;
use crate::engine::contract::memory::{LinkRules, LinkShare, Memory};
use crate::problem::Problem;
use crate::topology::{Fabric, Link};
use crate::units::{Bytes, Rate, SECOND};

/// The switch of the HPCC simulator: `queue.lossless` pauses an upstream port when the bytes of its link reach a dynamic
/// threshold, instead of `xoff`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HpccSwitch {
    /// Memory of each switch. The HPCC simulator: 16 MiB by default, 32 MiB in its files.
    #[schemars(extend("x-minimum" = "64B", "x-maximum" = "1000GB"))]
    pub size: Bytes,
    /// A link and class may use this times the free bytes, where the link has the rate of hosts.
    #[schemars(range(min = 0.000001, max = 1_000_000.0))]
    pub alpha: f64,
    /// Whether `alpha` doubles with each doubling of a link's rate above that of hosts, up to 1.
    pub alpha_by_rate: bool,
    /// Bytes that belong to each link and class. Of the memory it is taken once for each port.
    #[schemars(extend("x-maximum" = "1GB"))]
    pub reserve: Bytes,
    /// Bytes of each link and class for what arrives after the pause; of the memory it is taken once for each port.
    /// Absent: the bytes of three times the link's delay, as in the HPCC simulator, which are too few where a packet takes
    /// longer than the delay.
    #[schemars(extend("x-maximum" = "1GB"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headroom: Option<Bytes>,
    /// The upstream port resumes when its link has so many bytes less than its threshold.
    #[schemars(extend("x-maximum" = "1GB"))]
    pub xon_offset: Bytes,
    /// Classes below this are neither counted nor paused. ConWeave's simulator: 1, with acknowledgements in class 0.
    #[schemars(range(max = 7))]
    pub first_class: u32,
    /// Bytes of a pause frame on the wire: 43 in the HPCC simulator, 64 in IEEE 802.3.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1000B"))]
    pub frame_bytes: Bytes,
}

impl Default for HpccSwitch {
    fn default() -> Self {
        HpccSwitch {
            size: Bytes(32 << 20),
            alpha: 0.125,
            alpha_by_rate: true,
            reserve: Bytes(4096),
            headroom: None,
            xon_offset: Bytes(3072),
            first_class: 0,
            frame_bytes: Bytes(64),
        }
    }
}

impl HpccSwitch {
    fn headroom(&self, link: &Link) -> u64 {
        let in_delay = || u128::from(link.rate.0) * u128::from(link.delay.0) / u128::from(8 * SECOND);
        self.headroom.map_or_else(|| 3 * in_delay() as u64, |given| given.0)
    }

    /// Memory that belongs to the port at the end of a link.
    fn own(&self, link: &Link) -> u64 {
        self.headroom(link) + self.reserve.0
    }

    /// The share of a link of that rate.
    fn alpha_of(&self, rate: Rate, hosts: Rate) -> f64 {
        let (mut alpha, mut rate) = (self.alpha, rate.0);
        while self.alpha_by_rate && rate > hosts.0 && alpha < 1.0 {
            alpha = (2.0 * alpha).min(1.0);
            rate /= 2;
        }
        alpha
    }
}

impl Settings for HpccSwitch {
    fn memory(&self, fabric: &Fabric, _by_class: bool) -> Memory {
        let hosts = fabric.host_rate();
        let share = |link: &Link| LinkShare {
            node: link.to.0,
            headroom: self.headroom(link).min(u64::from(u32::MAX / 2)) as u32,
            alpha: self.alpha_of(link.rate, hosts),
            held: [0; CLASSES],
            over: [0; CLASSES],
        };
        Memory {
            switches: switches::shared(fabric, self.size, |link| self.own(link)),
            arrivals: fabric.links.iter().map(share).collect(),
            gates: LinkRules {
                reserve: self.reserve.0 as u32,
                xon_offset: self.xon_offset.0,
                exempt: ((1u32 << self.first_class) - 1) as u8,
            },
            ..Memory::default()
        }
    }

    fn pauses(&self) -> bool {
        true
    }

    fn frame_bytes(&self) -> Option<u32> {
        Some(self.frame_bytes.0 as u32)
    }

    fn problems_on(&self, fabric: &Fabric, _by_class: bool) -> Vec<Problem> {
        let too_small = switches::too_small(fabric, self.size, |link| self.own(link));
        too_small.into_iter().chain(fabric.several_ports()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Time;

    /// A switch of 32 MiB with 17 hosts at 100 Gbps and 1 us: 37,500 B of headroom and 4096 B of reserve a port leave
    /// 33,554,432 - 637,500 - 69,632 B. A link of 400 Gbps has four times the share: 1/2.
    #[test]
    fn the_memory_of_a_switch_by_hand() {
        let mut fabric = Fabric::default();
        let hosts: Vec<_> = (0..17).map(|host| fabric.add_node(format!("host {host}"), "host")).collect();
        let switch = fabric.add_node("switch".into(), "switch");
        for host in hosts {
            fabric.add_cable(host, switch, Rate(100_000_000_000), Time::from_us(1));
        }
        let buffer = HpccSwitch::default();
        let memory = buffer.memory(&fabric, true);
        assert_eq!(memory.switches[switch.index()].size, 32_847_300);
        assert_eq!((memory.arrivals[0].headroom, memory.arrivals[0].alpha), (37_500, 0.125));
        let hosts = Rate(100_000_000_000);
        let alphas =
            [50, 100, 200, 400, 800, 3200].map(|gbps| buffer.alpha_of(Rate(gbps * 1_000_000_000), hosts));
        assert_eq!(alphas, [0.125, 0.125, 0.25, 0.5, 1.0, 1.0]);
        assert!(buffer.problems_on(&fabric, true).is_empty());
        let small = HpccSwitch { size: Bytes(700_000), ..buffer };
        assert_eq!(small.problems_on(&fabric, true)[0].path, "size");
    }
}
