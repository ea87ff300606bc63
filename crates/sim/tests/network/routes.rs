//! Schemes that give a connection its path: which paths they give, and that packets go by them.

use std::collections::{BTreeMap, BTreeSet};

use flowyard_sim::balancer::dual::{self, Dual};
use flowyard_sim::balancer::explicit::{Explicit, Route};
use flowyard_sim::balancer::mod_k::{self, ModK};
use flowyard_sim::balancer::nix::{Nix, Search};
use flowyard_sim::balancer::valiant::{Valiant, Via};
use flowyard_sim::balancer::{Balancer, Model};
use flowyard_sim::engine::contract::path::{Choose, Opening};
use flowyard_sim::engine::contract::paths::Paths;
use flowyard_sim::ids::{ConnId, LinkId, NodeId, PathId};
use flowyard_sim::routing::Routes;
use flowyard_sim::topology::bcube::BCube;
use flowyard_sim::topology::fat_tree::FatTree;
use flowyard_sim::topology::leaf_spine::LeafSpine;
use flowyard_sim::topology::{Fabric, Generator};

use crate::common::statistics::look_equal;
use crate::common::{self, Run, run, run_with};

/// A balancer on a network, asked for the paths of connections.
struct Asked {
    fabric: Fabric,
    routes: Routes,
    ends: Vec<NodeId>,
    model: Model,
    paths: Paths,
}

impl Asked {
    fn new(fabric: Fabric, balancer: impl Into<Balancer>) -> Asked {
        Asked::in_replica(fabric, balancer, 0)
    }

    fn in_replica(fabric: Fabric, balancer: impl Into<Balancer>, replica: u64) -> Asked {
        let model = balancer.into().model(&fabric, 1, replica);
        let routes = Routes::build(&fabric).expect("a connected network");
        let ends = fabric.links.iter().map(|link| link.to).collect();
        Asked { fabric, routes, ends, model, paths: Paths::default() }
    }

    /// The links by which a subflow's packets go to its receiver, and those by which answers come back.
    fn both(&mut self, from: u32, to: u32, flow: u32, subflow: u8) -> [Vec<LinkId>; 2] {
        let (src, dst, id) = (NodeId(from), NodeId(to), ConnId(0));
        let port = |from, to| self.routes.next_hops(from, to)[0];
        let ports = (port(src, dst), port(dst, src));
        let label = flow.wrapping_mul(7919).wrapping_add(u32::from(subflow));
        let key = u64::from(flow);
        let opening =
            Opening { id, src, dst, label, flow_label: flow, subflow, key, ports, routes: &self.routes };
        let ports = self.model.open(opening, &mut self.paths);
        [(true, ports.0), (false, ports.1)].map(|(forward, port)| {
            let path = self.model.whole_path(id, forward).expect("a whole path");
            let links = self.paths.links(PathId(path.label)).to_vec();
            assert_eq!(links[0], port, "the end sends by the first link of its path");
            links
        })
    }

    fn path(&mut self, from: u32, to: u32, flow: u32, subflow: u8) -> Vec<LinkId> {
        let [path, _] = self.both(from, to, flow, subflow);
        path
    }

    /// Names of the nodes on the way.
    fn names(&self, path: &[LinkId]) -> Vec<&str> {
        let ends = path.iter().map(|link| self.ends[link.index()]);
        ends.map(|node| self.fabric.nodes[node.index()].name.as_str()).collect()
    }

    /// Most packets into one switch of each tier if every host sends one to the host that `to` says.
    fn loads(&mut self, to: impl Fn(u32) -> u32) -> BTreeMap<String, u32> {
        let mut loads: BTreeMap<NodeId, u32> = BTreeMap::new();
        for host in 0..self.fabric.hosts {
            let path = self.path(host, to(host), host, 0);
            path.iter().for_each(|link| *loads.entry(self.ends[link.index()]).or_default() += 1);
        }
        let mut most = BTreeMap::new();
        for (node, load) in loads {
            let tier = most.entry(self.fabric.nodes[node.index()].tier.to_string()).or_default();
            *tier = load.max(*tier);
        }
        most
    }
}

fn tree(k: u32, levels: u32) -> Fabric {
    FatTree { k, levels, ..FatTree::default() }.build()
}

/// Replicas draw paths of their own: between pods of FT(8, 3) one in 16 shortest paths is the same at random, and fewer where
/// paths go by any switch, so that of 64 flows fewer than 16 have the same one.
#[test]
fn replicas_draw_paths_of_their_own() {
    let paths = |balancer: &Balancer, replica| -> Vec<Vec<LinkId>> {
        let mut asked = Asked::in_replica(tree(8, 3), balancer.clone(), replica);
        (0..64).map(|flow| asked.path(0, 100, flow, 0)).collect()
    };
    for balancer in [Balancer::from(Nix::default()), Valiant::default().into()] {
        let first = paths(&balancer, 0);
        assert_eq!(first, paths(&balancer, 0));
        let other = paths(&balancer, 1);
        let same = first.iter().zip(&other).filter(|(one, other)| one == other).count();
        assert!(same < 16, "{same} paths of {} are the same", balancer.name());
    }
}

/// All paths are shortest, and as likely: between pods of FT(4, 3) and FT(8, 3), within a pod, and in a leaf-spine
/// with parallel cables.
#[test]
fn nix_draws_shortest_paths_uniformly() {
    let leaf_spine = LeafSpine { leaves: 3, spines: 3, hosts: 2, parallel: 2, ..LeafSpine::default() };
    let cases = [
        (tree(4, 3), 0, 15, 4, 6),
        (tree(4, 3), 0, 2, 2, 4),
        (tree(8, 3), 5, 100, 16, 6),
        (leaf_spine.build(), 0, 5, 12, 4),
    ];
    for search in [Search::Uniform, Search::Shuffled] {
        for (fabric, from, to, count, links) in cases.clone() {
            let mut asked = Asked::new(fabric, Nix { search, ..Nix::default() });
            let mut seen: BTreeMap<Vec<LinkId>, u64> = BTreeMap::new();
            for flow in 0..200 * count {
                let path = asked.path(from, to, flow, 0);
                assert_eq!(path.len(), links);
                *seen.entry(path).or_default() += 1;
            }
            assert_eq!(seen.len(), count as usize, "{search:?} from {from} to {to}");
            assert!(look_equal(seen.values().copied()), "{search:?} from {from} to {to}: {seen:?}");
        }
    }
}

/// Subflows have different paths while there are any left, in an order of the flow's own; under "first" in the order of
/// ports. The fifth of four begins anew.
#[test]
fn subflows_have_paths_of_their_own() {
    for search in [Search::Uniform, Search::First] {
        let mut asked = Asked::new(tree(4, 3), Nix { search, ..Nix::default() });
        let mut orders = BTreeSet::new();
        for flow in 0..50 {
            let paths: Vec<_> = (0..8).map(|subflow| asked.path(0, 15, flow, subflow)).collect();
            assert_eq!(paths[..4].iter().collect::<BTreeSet<_>>().len(), 4);
            assert_eq!(paths[..4], paths[4..]);
            orders.insert(paths);
        }
        // 50 draws of 24 orders: at least half of them come.
        assert!(
            if search == Search::First { orders.len() == 1 } else { orders.len() >= 12 },
            "{}",
            orders.len()
        );
    }
    let mut first = Asked::new(tree(4, 3), Nix { search: Search::First, ..Nix::default() });
    let path = first.path(0, 15, 3, 0);
    let by = ["pod 0 edge 0", "pod 0 aggregation 0", "core 0", "pod 3 aggregation 0", "pod 3 edge 1", "h15"];
    assert_eq!(first.names(&path)[..5], by[..5]);
}

/// The example of figure 2.2, whose loads fix the rule: hosts 000, 001, 010 and 011 of FT(4, 3) send 8, 4, 2 and 10 to
/// another pod, half in each family; the links up of the two edge switches and of the two aggregation switches carry 6
/// each. With s-mod-k they carry 8, 4, 2, 10 and 8, 2, 4, 10.
#[test]
fn loads_of_the_example_of_figure_2_2() {
    let up = |asked: &mut Asked, families: u8| {
        let mut loads: BTreeMap<LinkId, u32> = BTreeMap::new();
        for (host, load) in (0..4).zip([8, 4, 2, 10]) {
            for family in 0..families {
                let path = asked.path(host, 15, host, family);
                path[1..3]
                    .iter()
                    .for_each(|link| *loads.entry(*link).or_default() += load / u32::from(families));
            }
        }
        let tier = |tier: &str| -> Vec<u32> {
            let of_tier = |link: &LinkId| {
                let from = asked.fabric.links[link.index()].from;
                asked.fabric.nodes[from.index()].tier == tier
            };
            loads.iter().filter(|(link, _)| of_tier(link)).map(|(_, load)| *load).collect()
        };
        (tier("edge"), tier("aggregation"))
    };
    let mut dual = Asked::new(tree(4, 3), Dual::default());
    assert_eq!(up(&mut dual, 2), (vec![6; 4], vec![6; 4]));
    let mut source = Asked::new(tree(4, 3), ModK { by: mod_k::By::Source, ..ModK::default() });
    assert_eq!(up(&mut source, 1), (vec![8, 4, 2, 10], vec![8, 2, 4, 10]));
}

/// The two families of a pair of hosts share no switch above the edge in FT(4, 3) and FT(8, 3).
#[test]
fn families_meet_only_at_the_edge() {
    for k in [4, 8] {
        let mut asked = Asked::new(tree(k, 3), Dual::default());
        for from in 0..k {
            let to = asked.fabric.hosts - 1 - from;
            let [first, second] = [0, 1].map(|family| {
                let path = asked.path(from, to, 9, family);
                path[1..4].iter().map(|link| asked.ends[link.index()]).collect::<BTreeSet<_>>()
            });
            assert!(first.is_disjoint(&second), "{from} to {to}: {first:?} and {second:?}");
        }
    }
    // By interface: a host with one cable has one path.
    let mut asked = Asked::new(tree(4, 3), Dual { by: dual::By::Interface, ..Dual::default() });
    assert_eq!(asked.path(0, 15, 1, 0), asked.path(0, 15, 1, 1));
}

/// Under Stride(4) on FT(4, 3), a permutation: every scheme that spreads by digits has one packet a core port, so 4 at a
/// core switch (2 h^(n-1) / h^(n-1)); always the first port has all 16 at one.
#[test]
fn digits_spread_a_stride() {
    let stride = |host| (host + 4) % 16;
    let core = |balancer: Balancer| Asked::new(tree(4, 3), balancer).loads(stride)["core"];
    for by in [mod_k::By::Destination, mod_k::By::Source] {
        assert_eq!(core(ModK { by, ..ModK::default() }.into()), 4);
    }
    let mut first = Asked::new(tree(4, 3), Nix { search: Search::First, ..Nix::default() });
    assert_eq!(first.loads(stride)["core"], 16);
}

/// d-mod-k from any host: the last digit of the destination's number chooses the first climb, the one before the second.
#[test]
fn the_destinations_digits_choose() {
    let mut asked = Asked::new(tree(8, 3), ModK::default());
    // Host 115 is digit 3 of edge switch 0 of pod 7: 115 = 7 * 16 + 0 * 4 + 3.
    for from in [0, 17, 40] {
        let path = asked.path(from, 115, from, 0);
        let names = asked.names(&path);
        assert!(names[1].ends_with("aggregation 3"), "{names:?}");
        assert_eq!(names[2], "core 3", "{names:?}");
    }
}

/// By a random switch half-way each core is as likely; by any switch a path may be longer, and leads nowhere twice.
#[test]
fn valiant_goes_by_a_random_switch() {
    let mut turning = Asked::new(tree(4, 3), Valiant::default());
    let mut any = Asked::new(tree(4, 3), Valiant { via: Via::Any, ..Valiant::default() });
    let mut cores: BTreeMap<NodeId, u64> = BTreeMap::new();
    let mut lengths = BTreeSet::new();
    for flow in 0..2000 {
        let path = turning.path(1, 14, flow, 0);
        assert_eq!(path.len(), 6);
        *cores.entry(turning.ends[path[2].index()]).or_default() += 1;
        let path = any.path(1, 14, flow, 0);
        lengths.insert(path.len());
        let nodes: BTreeSet<_> = path.iter().map(|link| any.ends[link.index()]).collect();
        assert_eq!(nodes.len(), path.len(), "no node twice");
    }
    assert!(cores.len() == 4 && look_equal(cores.values().copied()), "{cores:?}");
    assert_eq!(
        lengths,
        BTreeSet::from([6, 8, 10]),
        "by a switch of another pod there are two or four links more"
    );
    // BCube has several ports a host: the path begins by whichever leads to the switch.
    let mut cube = Asked::new(BCube::default().build(), Valiant { via: Via::Any, ..Valiant::default() });
    let ports: BTreeSet<LinkId> = (0..200).map(|flow| cube.path(0, 5, flow, 0)[0]).collect();
    assert!(ports.len() > 1, "{ports:?}");
}

/// Routes are drawn by their weights; answers go their own route if there is one.
#[test]
fn explicit_routes_are_drawn_by_weight() {
    let fabric = LeafSpine { leaves: 2, spines: 3, hosts: 1, ..LeafSpine::default() }.build();
    let node = |tier: &str, number: usize| {
        let nodes = fabric.nodes.iter().filter(|node| node.tier == tier);
        nodes.map(|node| node.name.clone()).nth(number).expect("a node")
    };
    let host = |number: usize| fabric.nodes[number].name.clone();
    let leaf = fabric.nodes[fabric.links[0].to.index()].tier.to_string();
    let route = |spine: usize, weight: u32| Route {
        path: vec![host(0), node(&leaf, 0), node("spine", spine), node(&leaf, 1), host(1)],
        weight,
        taken_by: None,
    };
    let mut back = route(2, 1);
    back.path.reverse();
    let explicit = Explicit { routes: vec![route(0, 1), route(1, 3), back], ..Explicit::default() };
    let mut asked = Asked::new(fabric.clone(), explicit);
    let mut seen = [0; 2];
    for flow in 0..4000 {
        let [path, answers] = asked.both(0, 1, flow, 0);
        let names = asked.names(&path);
        seen[usize::from(names[1] == node("spine", 1))] += 1;
        assert_eq!(asked.names(&answers)[1], node("spine", 2));
        let other = asked.path(0, 1, flow, 1);
        assert_ne!(path, other, "the second subflow has the other route");
    }
    // 1000 to 3000 expected: the standard deviation is 27.
    assert!((seen[0] as f64 - 1000.0).abs() < 4.0 * 27.4, "{seen:?}");
}

/// Links that a flow's data and its answers have crossed, by their names.
fn crossed(run: &Run) -> Vec<String> {
    let (from, to, packets) =
        (common::words(&run.0.links, "from"), common::words(&run.0.links, "to"), run.links("packets"));
    let used = (0..packets.len()).filter(|&link| packets[link] > 0);
    used.map(|link| format!("{} > {}", from[link], to[link])).collect()
}

/// Flows with routes of their own between the same two leaves. Flow 0, which starts first though it is listed last, goes by
/// spine 0, and 1 and 2 by spine 1 with answers by spine 0; what has no route of its own goes by spine 2, the one for all.
#[test]
fn flows_take_the_routes_that_are_theirs() {
    let route = |from: u32, spine: u32, to: u32, more: &str| {
        let leaf = |host| host / 2;
        format!(
            "{{ path = ['host {from}', 'leaf {}', 'spine {spine}', 'leaf {}', 'host {to}']{more} }},",
            leaf(from),
            leaf(to)
        )
    };
    let taken = |flows: &str| format!(", taken_by = {{ traffic = 'listed', flows = {flows} }}");
    let routes = [
        route(0, 0, 2, &taken("[0]")),
        route(0, 1, 2, &taken("[1, 2]")),
        route(2, 0, 0, &taken("[1, 2]")),
        route(0, 2, 2, ""),
        route(2, 2, 0, ""),
    ];
    let text = format!(
        r#"
        topology.leaf-spine = {{ leaves = 2, spines = 3, hosts = 2 }}
        transport.tcp = {{ handshake = false, delayed_ack = 1 }}
        [routing.balancer.explicit]
        routes = [{}]
        [[traffic]]
        name = "listed"
        matrix.pairs = [[0, 2], [0, 2], [0, 2], [0, 2]]
        sizes.list = [2000, 4000, 8000, 1000]
        arrivals.times = {{ at = ["2ms", "4ms", "6ms", "0s"], jitter = "0s" }}
        "#,
        routes.concat()
    );
    let run = run(&text);
    let packets = |leaf: u32| {
        [0, 1, 2].map(|spine| run.link(&format!("leaf {leaf}"), &format!("spine {spine}"), "packets"))
    };
    // Segments of 1460 B: 1 of flow 0, 2 and 3 of 1 and 2, 6 of 3; an answer for each.
    assert_eq!((packets(0), packets(1)), ([1, 5, 6], [5, 0, 7]));

    let wrong = [
        (
            "'listed', flows = [0]",
            "'listde', flows = [0]",
            "traffic: \"listde\" is the name of no traffic entry; did you mean \"listed\"?",
        ),
        ("flows = [0]", "flows = [0, 4]", "flows.1: 4 is too large: \"listed\" has 4 flows, numbered from 0"),
        (
            "[[0, 2], [0, 2], [0, 2], [0, 2]]",
            "[[0, 2], [0, 2], [0, 2], [1, 2]]",
            "flows.0: flow 0 of \"listed\" goes from \"host 1\" to \"host 2\", the route does not",
        ),
        (
            "sizes.list",
            "routing.balancer = 'per-flow'\nsizes.list",
            "traffic: the flows of \"listed\" go by another balancer; list the route in theirs",
        ),
    ];
    for (good, bad, said) in wrong {
        let text = text.replacen(good, bad, 1);
        let scenario = common::read(&text).expect("what is wrong shows once flows are drawn");
        let problems = flowyard_sim::outlook(&scenario).expect_err(bad).to_string();
        let first = problems.lines().next().expect("a line");
        assert_eq!(first, format!("routing.balancer.explicit.routes.0.taken_by.{said}"));
    }
}

/// Three flows over a kept connection from host 0 to host 2, which flow 0 opens: by its routes go the packets of all, those of
/// an MPTCP with two subflows by one each, and none by the third spine.
#[test]
fn a_kept_connection_takes_the_routes_of_the_flow_that_opens_it() {
    let text = |transport: &str, flows: &str| {
        let route = |spine: u32| {
            format!(
                "{{ path = ['host 0', 'leaf 0', 'spine {spine}', 'leaf 1', 'host 2'], \
                 taken_by = {{ traffic = 'reads', flows = {flows} }} }},"
            )
        };
        format!(
            r#"
            topology.leaf-spine = {{ leaves = 2, spines = 3, hosts = 2 }}
            transport.{transport}
            [routing.balancer.explicit]
            routes = [{} {}]
            [[traffic]]
            name = "reads"
            connection = "kept"
            arrivals.blocks = {{ blocks = 3 }}
            matrix.pairs = [[0, 2]]
            sizes.fixed = "100KB"
            "#,
            route(0),
            route(1)
        )
    };
    let run = run(&text("mptcp.subflows = 2", "[0]"));
    let packets = [0, 1, 2].map(|spine| run.link("leaf 0", &format!("spine {spine}"), "packets"));
    assert!(packets[0] > 30 && packets[1] > 30, "{packets:?}");
    assert_eq!((packets[2], packets[0] + packets[1]), (0, run.link("host 0", "leaf 0", "packets")));

    let said = |text: &str| {
        let scenario = common::read(text).expect("what is wrong shows once flows are drawn");
        flowyard_sim::outlook(&scenario).expect_err("no flow opens it").to_string()
    };
    let second = said(&text("tcp = {}", "[0, 1]"));
    let expected =
        "taken_by.flows.1: flow 1 of \"reads\" goes over the connection that flow 0 opens; list that one";
    assert!(second.contains(expected), "{second}");
    let waits = "arrivals.after = { entry = 'first' }";
    let first =
        "[[traffic]]\nname = 'first'\narrivals.at-once = {}\nmatrix.pairs = [[1, 3]]\nsizes.fixed = '1KB'";
    let late = text("tcp = {}", "[0]").replace("arrivals.blocks = { blocks = 3 }", waits) + first;
    assert!(
        said(&late).contains("share connections, and which flow opens one shows during the run"),
        "{}",
        said(&late)
    );
}

/// A route that is longer than the shortest: a packet takes the time of each of its links, in both port
/// modes, and replies take their own routes.
#[test]
fn packets_go_the_route_that_they_are_given() {
    let scenario = |answers: &str| {
        format!(
            r#"
            [topology.explicit]
            hosts = ["a", "b"]
            switches = [{{ name = "s" }}, {{ name = "t" }}, {{ name = "u" }}]
            cables = [
                {{ ends = ["a", "s"] }}, {{ ends = ["s", "t"] }}, {{ ends = ["t", "u"] }},
                {{ ends = ["u", "b"] }}, {{ ends = ["s", "b"] }},
            ]
            rate = "1Gbps"
            delay = "1us"
            [transport.ndp]
            [routing.balancer.explicit]
            routes = [{{ path = ["a", "s", "t", "u", "b"] }}]
            answers = "{answers}"
            [[traffic]]
            name = "flow"
            matrix.pairs = [[0, 1]]
            sizes.fixed = "100B"
            arrivals.at-once = {{ jitter = "0s" }}
            "#
        )
    };
    for mode in ["auto", "serviced"] {
        let own = run_with(&scenario("own"), &[("run.port_mode", mode)]);
        // The shortest way back has three nodes.
        assert_eq!(crossed(&own), ["a > s", "s > a", "s > t", "t > u", "u > b", "b > s"]);
        // A full packet of 9000 B or what NDP makes of 100 B, over four links of 1 us.
        let bytes = own.links("bytes")[0];
        let time = 4 * (bytes * 8000 + common::US);
        assert_eq!(own.flow_cells("fct_ps")[0], Some(time), "{bytes} B");
        let back = run_with(&scenario("backwards"), &[("run.port_mode", mode)]);
        assert_eq!(crossed(&back), ["a > s", "s > a", "s > t", "t > s", "t > u", "u > t", "u > b", "b > u"]);
        assert_eq!(back.flow_cells("fct_ps")[0], Some(time));
    }
}

/// Headers that come back to their sender turn round on a whole path, longer than the shortest, too.
#[test]
fn headers_come_back_on_whole_paths() {
    let scenario = r#"
        [topology.fat-tree]
        k = 4
        [transport.ndp]
        initial_window = 40
        [queue.ndp]
        data_limit = { full-packets = 2 }
        header_limit = { packets = 2 }
        return_to_sender = true
        [routing.balancer.valiant]
        via = "any"
        [[traffic]]
        name = "incast"
        matrix.incast = { receiver = 0, senders = 12 }
        sizes.fixed = "90KB"
        arrivals.at-once = { jitter = "0s" }
    "#;
    let run = run(scenario);
    assert!(run.counters().bounces > 0, "headers came back");
    assert!(run.flows("completed").iter().all(|&completed| completed == 1));
}
