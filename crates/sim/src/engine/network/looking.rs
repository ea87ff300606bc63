//! Balancers that look at ports: the state of the ports of a packet's next hops, as of now.

use super::Network;
use super::egress::{Egress, PortQueue};
use crate::engine::contract::discipline::Discipline;
use crate::engine::contract::members::Members;
use crate::engine::contract::path::{Choose, Hop, Look, PortLoad};
use crate::engine::data::packet::Packet;
use crate::ids::{LinkId, PacketId};

impl<M: Members> Network<'_, M> {
    /// The next link that a balancer chooses that looks at the ports of all next hops.
    #[cold]
    #[inline(never)]
    pub(super) fn choose_by_load(&mut self, hop: Hop, id: PacketId, next_hops: &[LinkId]) -> LinkId {
        let mut loads = std::mem::take(&mut self.loads);
        loads.clear();
        let Packet { balancer, size, header, .. } = self.arena[id];
        loads.extend(next_hops.iter().map(|&link| self.load(link, header.class)));
        let look = Look { size, loads: &loads };
        let choice = self.balancers[balancer as usize].choose_by_load(hop, self.now, look);
        self.loads = loads;
        next_hops[choice as usize]
    }

    /// A port as of now, for a packet of that class. Bringing it up to date does exactly what its next event would have done.
    fn load(&mut self, link: LinkId, class: u8) -> PortLoad {
        self.settle(link, self.now);
        let Egress { port, queue, .. } = &self.egress[link.index()];
        let (wire, ahead) = match queue {
            PortQueue::Committed(departures, _) => (departures.wire_bytes(), None),
            PortQueue::Serviced(queue) => (port.wire_bytes, queue.ahead(class)),
        };
        let waiting = port.bytes - u64::from(wire);
        PortLoad { waiting, ahead: ahead.unwrap_or(waiting), wire, rate: port.rate, paused: port.paused }
    }
}

/// Those ports as if they were idle.
#[cold]
pub(super) fn idle<Q>(links: &[LinkId], egress: &[Egress<Q>]) -> Vec<PortLoad> {
    let rate = |link: &LinkId| egress[link.index()].port.rate;
    links.iter().map(|link| PortLoad { waiting: 0, ahead: 0, wire: 0, rate: rate(link), paused: 0 }).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::engine::contract::path::LOOK;
    use crate::setup::replaced;
    use crate::units::{Rate, Time};

    /// The loads that the balancer is shown, with the time and the packet's size.
    static SHOWN: Mutex<Vec<(Time, u32, Vec<PortLoad>)>> = Mutex::new(Vec::new());

    /// Chooses the first port, and notes what it is shown of a packet behind its first link.
    struct First;

    impl Choose for First {
        fn choose(&mut self, _hop: Hop, _now: Time) -> u32 {
            LOOK
        }

        fn choose_by_load(&mut self, hop: Hop, now: Time, look: Look) -> u32 {
            if hop.hops == 1 {
                SHOWN.lock().unwrap().push((now, look.size, look.loads.to_vec()));
            }
            0
        }
    }

    /// The loads shown for each of four packets of 1500 B at the first leaf, whose two uplinks are a tenth as fast as the host.
    fn shown(queue: &str, mode: &str) -> Vec<(Time, u32, Vec<PortLoad>)> {
        let text = format!(
            r#"
            transport.datagram = {{}}
            queue.{queue} = {{}}
            run.port_mode = "{mode}"
            topology.leaf-spine = {{ leaves = 2, spines = 2, hosts = 1, rate = "10Gbps", delay = "1us", spine.rate = "1Gbps" }}
            [[traffic]]
            name = "flow"
            arrivals.at-once.jitter = "0s"
            matrix.pairs = [[0, 1]]
            sizes.fixed = "5888B"
            "#
        );
        SHOWN.lock().unwrap().clear();
        replaced::run_with_balancer(&text, || First);
        std::mem::take(&mut SHOWN.lock().unwrap())
    }

    /// By hand: packets take 1.2 us and 1 us to the leaf, and come at 2.2, 3.4, 4.6 and 5.8 us. All take the first uplink, where
    /// the first is on the wire until 14.2 us and the others wait; the other uplink stays idle. The same whether the port is
    /// committed, serves in retrospect, or has an event for each departure.
    #[test]
    fn a_balancer_is_shown_what_waits() {
        let load =
            |waiting, wire| PortLoad { waiting, ahead: waiting, wire, rate: Rate(1_000_000_000), paused: 0 };
        let at = |ns: u64| Time(ns * 1000);
        let expected = [
            (at(2200), 1500, vec![load(0, 0), load(0, 0)]),
            (at(3400), 1500, vec![load(0, 1500), load(0, 0)]),
            (at(4600), 1500, vec![load(1500, 1500), load(0, 0)]),
            (at(5800), 1500, vec![load(3000, 1500), load(0, 0)]),
        ];
        for (queue, mode) in [("drop-tail", "auto"), ("strict-priority", "auto"), ("drop-tail", "serviced")] {
            assert_eq!(shown(queue, mode), expected, "{queue}, {mode}");
        }
    }
}
