//! Ideal completion times on networks whose equally short paths differ: against hand computation, against a
//! walk of every path packet by packet, and as a bound that no transport beats.

use std::collections::BTreeSet;

use crate::common::{PACKET, Run, US, run, run_with};
use proptest::prelude::*;

/// Payload of a full datagram; with its header it has 1500 bytes.
const PAYLOAD: u64 = 1472;

/// Two hosts, and two ways between them: one of little delay and little rate, one of much of both.
const NEAR_AND_FAR: &str = r#"
    [topology.explicit]
    hosts = ["a", "b"]
    switches = [{ name = "s" }, { name = "t" }, { name = "near" }, { name = "far" }]
    cables = [
      { ends = ["a", "s"], rate = "100Gbps" }, { ends = ["t", "b"], rate = "100Gbps" },
      { ends = ["s", "near"], rate = "1Gbps", delay = "1ns" }, { ends = ["near", "t"], rate = "1Gbps", delay = "1ns" },
      { ends = ["s", "far"], rate = "100Gbps", delay = "20us" }, { ends = ["far", "t"], rate = "100Gbps", delay = "20us" },
    ]
    [[traffic]]
    name = "x"
    arrivals.times = { at = ["0s", "50ms", "100ms", "150ms", "200ms", "250ms", "300ms", "350ms"], jitter = "0ps" }
    matrix.pairs = [[0, 1]]
"#;

fn datagrams(balancer: &str, size: u64) -> Run {
    run(&format!(
        "transport = \"datagram\"\nqueue = \"infinite\"\nrouting.balancer = \"{balancer}\"\n{NEAR_AND_FAR}\nsizes.fixed = \"{size}B\""
    ))
}

/// At 100 Gbps a full packet takes 0.12 us, at 1 Gbps 12 us; the hosts' cables have 1 us each.
///
/// One packet is fastest by the near way: 2 x 0.12 + 2 x 12 + 2 x 1 us and 2 ns. A hundred of them are by the far one:
/// (100 + 3) x 0.12 + 42 us. Flows that take one path have exactly one of the two times.
#[test]
fn a_flow_has_the_path_on_which_it_is_fastest_as_a_whole() {
    let hundredth = PACKET / 100;
    let near = |packets: u64| 2 * hundredth + (packets + 1) * PACKET + 2 * US + 2_000;
    let far = |packets: u64| (packets + 3) * hundredth + 42 * US;
    for packets in [1, 2, 3, 4, 100] {
        let run = datagrams("per-flow", packets * PAYLOAD);
        let best = near(packets).min(far(packets));
        assert_eq!(run.flows("ideal_fct_ps"), [best; 8], "{packets} packets");
        let mut fcts = run.flows("fct_ps");
        fcts.sort_unstable();
        fcts.dedup();
        let mut both = [near(packets), far(packets)];
        both.sort_unstable();
        assert_eq!(fcts, both, "{packets} packets: flows of either path");
    }
    assert!(near(1) < far(1) && near(100) > far(100), "neither way is always the better one");
}

/// Ten packets over two ways at once, the near one carrying one in 12 us, the far one one in 0.12 us: the far one can
/// have carried nine by 20 + 20 + 2 us and 12 packets' times, long after the near one has its first across, at 26.24 us
/// and 2 ns, and its second, 12 us later. So that eight by the far way and two by the near one are first.
#[test]
fn spread_packets_cross_at_the_summed_rate() {
    let hundredth = PACKET / 100;
    let run = datagrams("per-packet", 10 * PAYLOAD);
    // Each way at its best: k packets take 2 x 0.12 + (k + 1) x 12 + 2 us and 2 ns, or (k + 3) x 0.12 + 42 us.
    let by_near = |packets: u64| 2 * hundredth + (packets + 1) * PACKET + 2 * US + 2_000;
    let by_far = |packets: u64| (packets + 3) * hundredth + 42 * US;
    let best = (0..=10).map(|near| by_near(near).max(by_far(10 - near))).min();
    // None goes by the near way in vain: two are across by 38.24 us.
    assert_eq!(best, Some(by_far(8)));
    // The host's own port is no faster: the last of ten leaves it after 1.2 us, and by the near way arrives early enough.
    assert_eq!(run.flows("ideal_fct_ps"), [by_far(8); 8]);
    assert!(run.flows("fct_ps").iter().all(|fct| *fct >= by_far(8)));
}

/// Two links of 1 Gbps in the middle carry twenty packets in the time of ten; under per-flow balancing, one does.
#[test]
fn links_alike_share() {
    let text = r#"
        transport = "datagram"
        queue = "infinite"
        [topology.explicit]
        hosts = ["a", "b"]
        switches = [{ name = "s" }, { name = "t" }]
        rate = "10Gbps"
        cables = [{ ends = ["a", "s"] }, { ends = ["t", "b"] }, { ends = ["s", "t"], rate = "1Gbps", count = 2 }]
        [[traffic]]
        name = "x"
        arrivals.at-once.jitter = "0ps"
        matrix.pairs = [[0, 1]]
        sizes.fixed = "29440B"
    "#;
    let (ends, delays) = (2 * PACKET / 10, 3 * US);
    for (balancer, packets) in [("permuted", 10), ("per-packet", 10), ("per-flow", 20), ("single", 20)] {
        let run = run_with(text, &[("routing.balancer", &format!("\"{balancer}\""))]);
        let ideal = ends + packets * PACKET + delays;
        assert_eq!(run.flow("ideal_fct_ps"), ideal, "{balancer}");
        match balancer {
            // The second link has its first packet one packet of the host's later.
            "permuted" => assert_eq!(run.flow("fct_ps"), ideal + PACKET / 10),
            "per-packet" => assert!(run.flow("fct_ps") > ideal),
            _ => assert_eq!(run.flow("fct_ps"), ideal),
        }
    }
}

/// A host with a slow port and a fast one, each to a switch of its own: whatever takes one port has the better one for
/// its size, and MPTCP both at once.
#[test]
fn ports_that_differ() {
    let text = |transport: &str, size: u64| {
        format!(
            r#"
            {transport}
            queue = "infinite"
            [topology.explicit]
            hosts = ["a", "b"]
            switches = [{{ name = "s" }}, {{ name = "t" }}, {{ name = "u" }}]
            rate = "10Gbps"
            delay = "1us"
            cables = [{{ ends = ["a", "s"], rate = "1Gbps" }}, {{ ends = ["a", "t"], delay = "40us" }},
                      {{ ends = ["s", "u"] }}, {{ ends = ["t", "u"] }}, {{ ends = ["u", "b"] }}]
            [[traffic]]
            name = "x"
            arrivals.at-once.jitter = "0ps"
            matrix.pairs = [[0, 1]]
            sizes.fixed = "{size}B"
            "#
        )
    };
    let (slow, fast) = (PACKET, PACKET / 10);
    // MPTCP's full packet has 1460 bytes of payload and 1500 in all, as it happens.
    let by_slow = |packets: u64| packets * slow + 2 * fast + 3 * US;
    let by_fast = |packets: u64| packets * fast + 2 * fast + 42 * US;
    for packets in [1, 3, 4, 5, 50] {
        let alone = run(&text("transport = \"datagram\"", packets * PAYLOAD));
        assert_eq!(alone.flow("ideal_fct_ps"), by_slow(packets).min(by_fast(packets)), "{packets} packets");
        let both = run(&text("transport = \"mptcp\"", packets * 1460));
        let split = |by: u64| {
            let one = if by == 0 { 0 } else { by_slow(by) };
            one.max(if by == packets { 0 } else { by_fast(packets - by) })
        };
        assert_eq!(both.flow("ideal_fct_ps"), (0..=packets).map(split).min().unwrap(), "{packets} packets");
    }
}

/// A cable of a random network.
#[derive(Clone, Debug)]
struct Cable {
    ends: (String, String),
    /// In Gbps.
    rate: u64,
    /// In nanoseconds.
    delay: u64,
}

/// Two hosts with switches in layers between them, all of a layer joined to all of the next by cables that differ, some
/// of them several side by side; hosts may have several ports.
fn layers() -> impl Strategy<Value = Vec<Cable>> {
    let widths = prop_oneof![
        4 => prop::collection::vec(1usize..4, 1..4).prop_map(|middle| [vec![1], middle, vec![1]].concat()),
        1 => prop::collection::vec(1usize..4, 1..4),
    ];
    let rate = prop_oneof![Just(1u64), Just(3), Just(7), Just(10), Just(40), Just(100)];
    let delay = prop_oneof![Just(0u64), 1u64..100, 1000u64..50_000];
    let cable = (rate, delay, prop_oneof![5 => Just(1usize), 1 => Just(2)]);
    (widths, prop::collection::vec(cable, 40)).prop_map(|(widths, attributes)| {
        let mut layers = vec![vec!["host a".to_string()]];
        for (layer, width) in widths.into_iter().enumerate() {
            layers.push((0..width).map(|number| format!("switch {layer}.{number}")).collect());
        }
        layers.push(vec!["host b".to_string()]);
        let pairs = layers.windows(2).flat_map(|pair| {
            pair[0].iter().flat_map(|from| pair[1].iter().map(|to| (from.clone(), to.clone())))
        });
        let cable = |(ends, (rate, delay, count)): ((String, String), (u64, u64, usize))| {
            vec![Cable { ends, rate, delay }; count]
        };
        pairs.zip(attributes.into_iter().cycle()).flat_map(cable).collect()
    })
}

fn network(cables: &[Cable]) -> String {
    let mut switches: Vec<&str> =
        cables.iter().flat_map(|cable| [cable.ends.0.as_str(), &cable.ends.1]).collect();
    switches.retain(|name| name.starts_with("switch"));
    switches.sort_unstable();
    switches.dedup();
    let switches: Vec<String> = switches.iter().map(|name| format!("{{ name = \"{name}\" }}")).collect();
    let cables: Vec<String> = cables
        .iter()
        .map(|Cable { ends: (from, to), rate, delay }| {
            format!("{{ ends = [\"{from}\", \"{to}\"], rate = \"{rate}Gbps\", delay = \"{delay}ns\" }}")
        })
        .collect();
    format!(
        "[topology.explicit]\nhosts = [\"host a\", \"host b\"]\nswitches = [{}]\ncables = [{}]\n",
        switches.join(", "),
        cables.join(", ")
    )
}

/// All paths from one node to host b.
fn paths(cables: &[Cable], from: &str) -> Vec<Vec<Cable>> {
    if from == "host b" {
        return vec![Vec::new()];
    }
    let onward = |cable: &Cable| {
        paths(cables, &cable.ends.1)
            .into_iter()
            .map(|rest| [vec![cable.clone()], rest].concat())
            .collect::<Vec<_>>()
    };
    cables.iter().filter(|cable| cable.ends.0 == from).flat_map(onward).collect()
}

/// Packet by packet over a path: when the last one is there.
fn walk(path: &[Cable], packets: &[u64]) -> u64 {
    let mut free = vec![0; path.len()];
    let mut last = 0;
    for bytes in packets {
        let mut at = 0;
        for (cable, free) in path.iter().zip(&mut free) {
            *free = at.max(*free) + (bytes * 8_000).div_ceil(cable.rate);
            at = *free + cable.delay * 1_000;
        }
        last = at;
    }
    last
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Flows of one path: the ideal is the least that any path gives, and what each takes is one of these.
    #[test]
    fn the_best_of_all_paths(cables in layers(), size in prop_oneof![1u64..3000, 1u64..300_000]) {
        let starts: Vec<String> = (0..6).map(|number| format!("\"{}s\"", number)).collect();
        let run = run(&format!(
            "transport = \"datagram\"\nqueue = \"infinite\"\nrouting.balancer = \"per-flow\"\n{}[[traffic]]\nname = \"x\"\n\
             arrivals.times = {{ at = [{}], jitter = \"0ps\" }}\nmatrix.pairs = [[0, 1]]\nsizes.fixed = \"{size}B\"",
            network(&cables), starts.join(", ")
        ));
        let mut packets = vec![1500; (size / PAYLOAD) as usize];
        if size % PAYLOAD > 0 {
            packets.push(size % PAYLOAD + 28);
        }
        let times: Vec<u64> = paths(&cables, "host a").iter().map(|path| walk(path, &packets)).collect();
        let best = *times.iter().min().expect("a path");
        let ideal = run.flows("ideal_fct_ps")[0];
        // Of very many kinds of path the ideal has the best of each hop.
        let kinds: BTreeSet<Vec<u64>> =
            paths(&cables, "host a").iter().map(|path| path.iter().map(|cable| cable.rate).collect()).collect();
        prop_assert!(ideal == best || ideal < best && kinds.len() > 64, "{} ps, not {}", ideal, best);
        for fct in run.flows("fct_ps") {
            prop_assert!(times.contains(&fct), "{} ps on none of the paths", fct);
        }
    }

    /// Whatever sends, and however its packets spread: the audit finds no flow that is faster than its ideal.
    #[test]
    fn nothing_beats_the_ideal(
        cables in layers(),
        transport in prop_oneof![
            Just("transport = \"datagram\""),
            Just("transport = \"tcp\""),
            Just("transport.tcp = { handshake = false, initial_window = 1000 }\nqueue = \"infinite\""),
            Just("transport.tcp.congestion = \"dctcp\""),
            Just("transport.mptcp.subflows = 2"),
            Just("transport.mptcp = { subflows = 8, join = \"at-once\", tcp = { handshake = false, initial_window = 1000 } }\nqueue = \"infinite\""),
            Just("transport = \"ndp\""),
            Just("transport.ndp = { initial_window = 500, pad_last = true }"),
            Just("transport = \"pfabric\""),
            Just("transport = \"homa\""),
            Just("transport.homa = { scheduled_header = \"16B\", rtt_bytes = \"4KB\" }"),
            Just("transport = \"dcqcn\""),
        ],
        balancer in prop_oneof![Just("single"), Just("per-flow"), Just("per-packet"), Just("permuted")],
        (size, flows, seed) in (prop_oneof![1u64..3000, 1u64..300_000], 1u32..6, any::<u32>()),
    ) {
        let text = format!(
            "{transport}\nrouting.balancer = \"{balancer}\"\n{}[[traffic]]\nname = \"x\"\nflows = {flows}\n\
             arrivals.poisson.load = 0.3\nmatrix.pairs = [[0, 1], [1, 0]]\nsizes.uniform = {{ min = \"1B\", max = \"{size}B\" }}\n\
             [run]\nseed = {seed}\nuntil = \"100s\"",
            network(&cables)
        );
        let run = run(&text);
        prop_assert!(run.flow_cells("ideal_fct_ps").iter().any(Option::is_some), "no flow completed");
    }
}

/// Subflows that go by any node use every port of their hosts, on paths longer than the shortest.
#[test]
fn paths_that_are_longer_than_the_shortest_do_not_beat_the_ideal() {
    for network in ["dcell = { n = 2 }", "bcube = { n = 3, k = 1 }", "camcube = {}"] {
        for (transport, connection) in [("mptcp", "new"), ("mptcp", "kept"), ("tcp", "new"), ("ndp", "new")] {
            for seed in 1..4 {
                let run = run(&format!(
                    r#"
                    topology.{network}
                    transport = "{transport}"
                    routing.balancer.valiant.via = "any"
                    run = {{ audit = true, seed = {seed} }}
                    [[traffic]]
                    name = "flows"
                    arrivals.poisson.load = 0.1
                    flows = 60
                    matrix.stride.by = [1]
                    sizes.exponential.mean = "10KB"
                    connection = "{connection}"
                    "#
                ));
                let pairs = run.flows("fct_ps").into_iter().zip(run.flows("ideal_fct_ps"));
                assert!(pairs.into_iter().all(|(fct, ideal)| fct >= ideal), "{network}, {transport}");
            }
        }
    }
}

/// A path of four fast hops beside one of two slow ones: a flow that is given the longer path is not faster than its ideal,
/// which is that of as many fast hops as the shorter path has.
#[test]
fn the_ideal_of_a_listed_route_is_no_slower_than_the_route() {
    let run = run(r#"
        transport = "datagram"
        queue = "infinite"
        run.audit = true
        routing.balancer.explicit.routes = [{ path = ["a", "s", "u", "t", "b"] }]
        [topology.explicit]
        hosts = ["a", "b"]
        switches = [{ name = "s" }, { name = "t" }, { name = "u" }]
        cables = [
          { ends = ["a", "s"], rate = "10Gbps" }, { ends = ["t", "b"], rate = "10Gbps" },
          { ends = ["s", "t"], rate = "1Gbps" },
          { ends = ["s", "u"], rate = "10Gbps" }, { ends = ["u", "t"], rate = "10Gbps" },
        ]
        [[traffic]]
        name = "x"
        arrivals.at-once = { jitter = "0s" }
        matrix.pairs = [[0, 1]]
        sizes.fixed = "147200B"
    "#);
    // A hundred packets of 1.2 us over three hops, and over four.
    assert_eq!(run.flow("ideal_fct_ps"), 102 * PACKET / 10 + 3 * US);
    assert_eq!(run.flow("fct_ps"), 103 * PACKET / 10 + 4 * US);
}

/// The lengths of a flow's packets are those that it draws, too, where sources draw flows during the run.
#[test]
fn the_ideal_is_of_the_packets_that_are_drawn() {
    for controller in ["flowtune", "max-min", "asy", "syn"] {
        for lengths in ["{ min = \"1B\", max = \"1000B\" }", "{ min = \"64B\", max = \"1500B\" }"] {
            let run = run(&format!(
                r#"
                topology = "single-switch"
                transport.central.lengths.uniform = {lengths}
                controller = "{controller}"
                run.audit = true
                [[traffic]]
                name = "flows"
                matrix = "all-to-all"
                sizes.lognormal = {{ median = "1B", sigma = 1.0 }}
                arrivals.on-off = {{ probability = 1, flows_each = 1 }}
                "#
            ));
            let pairs = run.flows("fct_ps").into_iter().zip(run.flows("ideal_fct_ps"));
            assert!(pairs.into_iter().all(|(fct, ideal)| fct >= ideal), "{controller}, {lengths}");
        }
    }
}
