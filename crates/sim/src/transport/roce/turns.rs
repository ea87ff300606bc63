//! Turns of a host's flows at its port: round robin over the flows in the order of their starts, from the one behind that
//! served last.
//!
//! Source: the simulator of HPCC's authors, alibaba-edu/High-Precision-Congestion-Control (`RdmaEgressQueue`), whose interface
//! looks when a transmission ends: the first flow that may send then, whenever it came to be allowed to. There a flow that has
//! ended leaves the list, and the place of the last one served is not moved; here it is the flow's.

use crate::ids::LinkId;

/// The turns at each port, by its link.
#[derive(Clone, Debug, Default)]
pub struct Turns {
    ports: Vec<Turn>,
}

/// The turns at one port.
#[derive(Clone, Copy, Debug, Default)]
pub struct Turn {
    /// Flows that have started.
    flows: u32,
    /// The last one served, and the round in which it was.
    last: u32,
    round: u32,
}

impl Turns {
    /// The turns at that port.
    pub fn at(&mut self, port: LinkId) -> &mut Turn {
        if self.ports.len() <= port.index() {
            self.ports.resize(port.index() + 1, Turn::default());
        }
        &mut self.ports[port.index()]
    }
}

impl Turn {
    /// The number of a flow that starts: from 1 on.
    pub fn join(&mut self) -> u32 {
        self.flows += 1;
        self.flows
    }

    /// The rank of a flow that may send: flows behind the last one served come in this round, it and those before it in the
    /// next one. Ranks stay in order as turns go on, since no turn passes a flow that may send.
    pub fn rank(&self, flow: u32) -> u64 {
        let round = self.round + u32::from(flow <= self.last);
        u64::from(round) << 32 | u64::from(flow)
    }

    /// A flow sends a packet.
    pub fn served(&mut self, flow: u32) {
        self.round += u32::from(flow <= self.last);
        self.last = flow;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Flows 1 to 3 may all send: each is served in its turn. Flow 4 starts when 3 has been served, and is the next one.
    #[test]
    fn flows_take_turns_in_the_order_of_their_starts() {
        let mut turn = Turn::default();
        let mut ranks: Vec<(u64, u32)> = Vec::new();
        let join = |ranks: &mut Vec<_>, turn: &mut Turn| {
            let flow = turn.join();
            ranks.push((turn.rank(flow), flow));
        };
        (0..3).for_each(|_| join(&mut ranks, &mut turn));
        let mut served = Vec::new();
        for _ in 0..8 {
            let (_, flow) = *ranks.iter().min().expect("flows that may send");
            ranks.retain(|(_, other)| *other != flow);
            turn.served(flow);
            ranks.push((turn.rank(flow), flow));
            served.push(flow);
            if served.len() == 3 {
                join(&mut ranks, &mut turn);
            }
        }
        assert_eq!(served, [1, 2, 3, 4, 1, 2, 3, 4]);
    }

    proptest! {
        /// Flows may send and may not in any order: the one of the lowest rank is that which a search over the whole list finds,
        /// beginning behind the one served last.
        #[test]
        fn like_a_search(deeds in prop::collection::vec((1..7u32, any::<bool>()), 0..200)) {
            let mut turn = Turn::default();
            (0..6).for_each(|_| _ = turn.join());
            let mut ranks = [None::<u64>; 7];
            for (flow, serves) in deeds {
                if !serves {
                    ranks[flow as usize] = match ranks[flow as usize] {
                        None => Some(turn.rank(flow)),
                        Some(_) => None,
                    };
                    continue;
                }
                let may = |flow: &u32| ranks[*flow as usize].is_some();
                let searched = (1..7).map(|step| (turn.last + step - 1) % 6 + 1).find(may);
                let chosen = (1..7).filter(may).min_by_key(|flow| ranks[*flow as usize]);
                prop_assert_eq!(chosen, searched);
                if let Some(flow) = chosen {
                    turn.served(flow);
                    ranks[flow as usize] = (flow % 2 == 0).then(|| turn.rank(flow));
                }
            }
        }
    }
}
