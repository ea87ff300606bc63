//! Paths for a matching: each packet of a slot crosses a Clos network by links that it has for itself.
//!
//! Source: Sviridov, Bianco and Giaccone, Globecom 2018, sections II and III-A: each colour of an edge colouring is a
//! spine; a link that is f times as fast as the hosts' stands for f parallel *virtual links*, each of which carries one
//! packet in a slot. Of 25 Gbps over hosts at 10 Gbps these are two.
//!
//! Of more than two levels of switches the network is seen level by level. Its leaves stand below *planes*, the parts
//! into which the switches above them fall: a spine is a plane, and so are, in a fat-tree, the aggregation switches of
//! the same place in each pod with their core switches. A colour is a virtual link to a plane. Within a plane, the
//! switches that the leaves are joined to are leaves themselves, for packets that have to leave one of them for another,
//! and so on.

mod survey;

use std::iter::zip;

use self::survey::Survey;
use super::colouring::Colouring;
use crate::ids::NodeId;
use crate::routing::Routes;
use crate::topology::Fabric;

/// Switches whose choice a label holds, each in so many bits.
const PLACES: usize = 4;
const BITS: usize = 8;

/// Choices moved up by so many places of a label; a choice beyond the last one is none, see the survey.
fn at_place(choices: u32, place: usize) -> u32 {
    if place < PLACES { choices << (BITS * place) } else { 0 }
}

/// A network on which any matching of hosts has paths of its own.
#[derive(Clone, Debug)]
pub struct Clos {
    /// By host, the leaf that it is joined to.
    leaves: Vec<u32>,
    /// The leaves first, then those within planes, a plane behind the stage that it is above.
    stages: Vec<Stage>,
    edges: Vec<(u32, u32)>,
    colours: Vec<u32>,
}

/// The leaves below the same planes.
#[derive(Clone, Debug)]
struct Stage {
    height: usize,
    colouring: Colouring,
    /// By colour, where it leads.
    beyond: Vec<Beyond>,
    /// By leaf and colour.
    ways: Vec<Way>,
    /// The packets of the slot that come here.
    packets: Vec<Packet>,
}

/// The other end of a colour's links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Beyond {
    /// The other leaf: there are two, back to back.
    Leaf,
    /// One switch, to which all leaves are joined.
    Switch,
    /// Several, which are the leaves of that stage.
    Stage(usize),
}

/// A virtual link of a leaf.
#[derive(Clone, Copy, Debug)]
struct Way {
    /// Its number among the leaf's next hops to other leaves.
    up: u8,
    /// The number of its other direction among the next hops from the switch above to the nodes below the
    /// leaf.
    down: u8,
    /// The switch above, as a leaf of its stage, if it is one.
    above: u32,
}

/// A packet that has to leave one leaf for another.
#[derive(Clone, Copy, Debug)]
struct Packet {
    /// Its place in the matching.
    place: u32,
    from: u32,
    to: u32,
    /// Choices of the switches on the way up, the first one lowest.
    up: u32,
    /// Choices of the switches on the way down from here, the last one highest.
    down: u32,
}

impl Clos {
    /// A network as a Clos network; or why it does not have paths for each matching, and a network that
    /// would.
    pub fn new(fabric: &Fabric, routes: &Routes) -> Result<Clos, String> {
        let (leaves, stages) = Survey::run(fabric, routes)?;
        Ok(Clos { leaves, stages, edges: Vec::new(), colours: Vec::new() })
    }

    /// Writes a path for each packet of a matching, a source and a destination host, as a label: of its four
    /// bytes, from the lowest, byte n is the packet's choice among the next hops at the n-th switch on its
    /// path.
    pub fn route(&mut self, matching: &[(NodeId, NodeId)], labels: &mut Vec<u32>) {
        labels.clear();
        labels.resize(matching.len(), 0);
        for (place, (source, destination)) in (0..).zip(matching) {
            let [from, to] = [source, destination].map(|host| self.leaves[host.index()]);
            if from != to {
                self.stages[0].packets.push(Packet { place, from, to, up: 0, down: 0 });
            }
        }
        for number in 0..self.stages.len() {
            let (stage, above) = self.stages[number..].split_first_mut().expect("a stage of that number");
            self.edges.clear();
            self.edges.extend(stage.packets.iter().map(|packet| (packet.from, packet.to)));
            stage.colouring.colour(&self.edges, &mut self.colours);
            for (packet, &colour) in zip(stage.packets.drain(..), &self.colours) {
                let way = |leaf: u32| stage.ways[leaf as usize * stage.beyond.len() + colour as usize];
                let (out, back) = (way(packet.from), way(packet.to));
                let up = packet.up | at_place(out.up.into(), stage.height);
                let mut down = packet.down;
                let beyond = stage.beyond[colour as usize];
                if beyond != Beyond::Leaf {
                    down = down << BITS | u32::from(back.down);
                }
                match beyond {
                    Beyond::Stage(next) if out.above != back.above => {
                        let (from, to) = (out.above, back.above);
                        above[next - number - 1].packets.push(Packet { from, to, up, down, ..packet });
                    }
                    _ => labels[packet.place as usize] = up | at_place(down, stage.height + 1),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::syn::audit;
    use crate::random::{Purpose, Stream};
    use crate::topology::bcube::BCube;
    use crate::topology::dumbbell::Dumbbell;
    use crate::topology::fat_tree::FatTree;
    use crate::topology::leaf_spine::LeafSpine;
    use crate::topology::line::Line;
    use crate::topology::single_switch::SingleSwitch;
    use crate::topology::three_tier::ThreeTier;
    use crate::topology::vl2::Vl2;
    use crate::topology::{Cable, Generator};
    use crate::units::{Rate, Time};

    const GBPS: u64 = 1_000_000_000;

    fn cable(gbps: u64) -> Cable {
        Cable { rate: Some(Rate(gbps * GBPS)), delay: None }
    }

    fn of(topology: &dyn Generator) -> Result<Clos, String> {
        let fabric = topology.build();
        Clos::new(&fabric, &Routes::build(&fabric).expect("it is connected"))
    }

    /// Random matchings, whole and in part, have paths that lead to their destinations; no virtual link has two packets.
    fn carries_matchings(topology: &dyn Generator, slots: u64) {
        let fabric = topology.build();
        let routes = Routes::build(&fabric).expect("it is connected");
        let mut clos = Clos::new(&fabric, &routes).expect("a Clos network");
        let mut stream = Stream::new(6, 0, Purpose::Ties, 0);
        let mut labels = Vec::new();
        for slot in 0..slots {
            let mut to: Vec<u32> = (0..fabric.hosts).collect();
            stream.shuffle(&mut to);
            let mut matching: Vec<_> = zip((0..).map(NodeId), to.into_iter().map(NodeId)).collect();
            stream.shuffle(&mut matching);
            if slot % 2 == 1 {
                matching.truncate(stream.below(u64::from(fabric.hosts)) as usize);
            }
            matching.retain(|(source, destination)| source != destination);
            clos.route(&matching, &mut labels);
            let host_rate = fabric.links[0].rate;
            assert_eq!(audit::paths(&fabric, &routes, host_rate, &matching, &labels), Ok(()), "slot {slot}");
        }
    }

    /// That of the paper: 4 leaves with 30 hosts at 1 Gbps, 3 spines at 10 Gbps.
    fn paper(equal_rate: bool) -> LeafSpine {
        let (leaves, spines, hosts) = (4, 3, 30);
        LeafSpine {
            leaves,
            spines,
            hosts,
            equal_rate,
            host: cable(1),
            spine: cable(10),
            ..LeafSpine::default()
        }
    }

    #[test]
    fn leaf_spines() {
        carries_matchings(&paper(false), 300);
        carries_matchings(&paper(true), 300);
        let parallel = LeafSpine { leaves: 5, spines: 2, hosts: 12, parallel: 3, ..LeafSpine::default() };
        carries_matchings(&LeafSpine { spine: cable(20), ..parallel.clone() }, 300);
        // 25 Gbps are two virtual links of 10 Gbps.
        carries_matchings(&LeafSpine { spine: cable(25), ..parallel }, 300);
    }

    #[test]
    fn fat_trees() {
        for (k, levels, slots) in
            [(4, 3, 500), (8, 3, 200), (8, 1, 10), (8, 2, 100), (4, 4, 100), (4, 5, 20), (2, 16, 2)]
        {
            carries_matchings(&FatTree { k, levels, ..FatTree::default() }, slots);
        }
        // Four hosts an uplink, at a quarter of its rate.
        let dense = FatTree {
            k: 4,
            oversubscription: 4,
            rate: Rate(40 * GBPS),
            host: cable(10),
            ..FatTree::default()
        };
        carries_matchings(&dense, 200);
    }

    #[test]
    fn networks_with_one_path() {
        carries_matchings(&SingleSwitch::default(), 20);
        carries_matchings(&Dumbbell { hosts: 10, bottleneck: cable(100), ..Dumbbell::default() }, 100);
        for switches in [1, 2, 3, 4, 5, 40] {
            carries_matchings(&Line { switches, ..Line::default() }, 2);
        }
        let tree = ThreeTier {
            cores: 1,
            aggregations: 2,
            accesses: 6,
            hosts: 4,
            uplinks: 1,
            aggregation: cable(40),
            core: cable(120),
            ..ThreeTier::default()
        };
        carries_matchings(&tree, 100);
    }

    #[test]
    fn a_matching_uses_all_spines_alike() {
        let fabric = paper(false).build();
        let mut clos = of(&paper(false)).expect("a leaf-spine");
        // All hosts of leaf 0 to those of leaf 1: the spine is the lowest byte.
        let matching: Vec<_> = (0..30).map(|host| (NodeId(host), NodeId(host + 30))).collect();
        let mut labels = Vec::new();
        clos.route(&matching, &mut labels);
        let mut used = [0; 3];
        labels.iter().for_each(|&label| used[label as usize] += 1);
        assert_eq!((used, fabric.hosts), ([10; 3], 120));
        // With 20 hosts a leaf, 7 virtual links of each cable suffice, so no more packets meet there.
        let mut clos = of(&LeafSpine { hosts: 20, ..paper(false) }).expect("a leaf-spine");
        let matching: Vec<_> = (0..20).map(|host| (NodeId(host), NodeId(host + 20))).collect();
        clos.route(&matching, &mut labels);
        let mut used = [0; 3];
        labels.iter().for_each(|&label| used[label as usize] += 1);
        assert!(used.iter().all(|&packets| packets <= 7), "{used:?}");
    }

    /// A network of hosts, each joined to a switch, and of cables between switches, all of one rate.
    fn wired(hosts: &[u32], switches: u32, cables: &[(u32, u32)]) -> Result<Clos, String> {
        let mut fabric = Fabric::default();
        for host in 0..hosts.len() {
            fabric.add_node(format!("host {host}"), "host");
        }
        for switch in 0..switches {
            fabric.add_node(format!("switch {switch}"), "switch");
        }
        let count = hosts.len() as u32;
        let of_hosts = (0..).zip(hosts).map(|(host, switch)| (host, count + switch));
        for (one, other) in of_hosts.chain(cables.iter().map(|(one, other)| (count + one, count + other))) {
            fabric.add_cable(NodeId(one), NodeId(other), Rate(10 * GBPS), Time::ZERO);
        }
        Clos::new(&fabric, &Routes::build(&fabric).expect("it is connected"))
    }

    #[test]
    fn other_networks_are_refused_with_a_reason_and_what_would_do() {
        let small = LeafSpine { spines: 2, hosts: 2, ..LeafSpine::default() };
        let mut slow_host = small.build();
        slow_host.links[2].rate = Rate(GBPS);
        let slow_host = Clos::new(&slow_host, &Routes::build(&slow_host).expect("it is connected"));
        let cases = [
            (of(&BCube::default()), "host 0 has 2 cables; give each host one, to a switch"),
            (
                slow_host,
                "the cable of host 1 has 1Gbps and that of host 0 10Gbps, but a slot is one packet of each; give all \
                 hosts' cables one rate",
            ),
            (
                of(&LeafSpine { spine: cable(1), ..small }),
                "the cable between leaf 0 and spine 0 has 1Gbps, less than those of hosts, and carries no packet in a \
                 slot; make it as fast as these",
            ),
            (
                of(&LeafSpine { hosts: 3, ..small }),
                "the network is oversubscribed: leaf 3 can have 3 packets for others in a slot, and its cables carry 2; \
                 use more or faster cables, or fewer hosts",
            ),
            (
                of(&FatTree {
                    k: 4,
                    core: cable(10),
                    aggregation: cable(20),
                    oversubscription: 2,
                    ..FatTree::default()
                }),
                "the network is oversubscribed: pod 3 aggregation 0 can have 4 packets for others in a slot, and its cables \
 carry 2; use more or faster cables, or fewer hosts",
            ),
            (
                of(&Dumbbell::default()),
                "the network is oversubscribed: right switch can have 4 packets for others in a slot, and its cables \
                 carry 1; use more or faster cables, or fewer hosts",
            ),
            (
                of(&Vl2::default()),
                "top-of-rack 0 is joined to aggregation 0 and to aggregation 1, which share switches above them; give \
                 each of the two switches of its own, as in a fat-tree",
            ),
            (
                of(&FatTree { k: 4, levels: 6, ..FatTree::default() }),
                "packets have to choose a link at more than 4 switches on their way; use fewer levels, or no parallel \
                 cables",
            ),
            (
                of(&LeafSpine { leaves: 2, spines: 300, hosts: 2, ..LeafSpine::default() }),
                "leaf 0 has 300 cables upwards, and a packet can choose among 256; use fewer",
            ),
            (
                wired(&[0, 0, 1, 1], 4, &[(0, 2), (0, 3), (1, 2), (1, 3), (1, 3)]),
                "switch 0 and switch 1 are not joined alike to switch 3 and what is around it: in a slot the cables of one have \
 room for 1, those of the other for 2 packets; give both the same cables",
            ),
            (
                wired(&[0, 1, 2], 3, &[(0, 1), (1, 2), (2, 0)]),
                "switch 0 is joined to switch 1, and both are among 3 switches of one level; join them by switches above, as in \
 a leaf-spine",
            ),
            (
                wired(&[0, 1], 3, &[(0, 1), (1, 2), (2, 0)]),
                "switch 0 is joined to switch 1 and to switch 2; join both of them to switch 2 alone",
            ),
            // One way has two switches above the leaves, the other three.
            (
                wired(&[0, 1], 5, &[(0, 2), (2, 1), (0, 3), (3, 4), (4, 1)]),
                "shortest paths from switch 0 to host 1 do not use all cables that lead there; make all paths between two leaves \
 as long as each other",
            ),
        ];
        for (found, reason) in cases {
            assert_eq!(found.err().as_deref(), Some(reason));
        }
    }
}
