//! Parallel TCP: blocks over several paths, against times worked out by hand and against the remainder that a
//! partition must leave.

use crate::common::{MS, Run, cells, read, run, run_with};
use crate::two_hosts::{CONTROL_BITS, MSS, PACKET_BITS, bits, cables};

const PARTITIONS: [&str; 6] =
    ["front-back", "divide", "proportional", "arrival-time", "last-idle", "in-order"];

/// A flow over two cables of these rates in Mbps.
fn two_cables(rates: [u64; 2], partition: &str, segments: u64) -> Run {
    cables(&rates, &format!("parallel-tcp = {{ partition = {partition}, TCP }}"), segments)
}

/// When each segment of a block has arrived that each path takes as soon as it is free: each path shakes hands by itself.
fn ends(rates: [u64; 2], segments: u64) -> (u64, [u64; 2]) {
    let mut free = rates.map(|rate| 2 * (bits(CONTROL_BITS, rate) + MS));
    let mut sent = [0; 2];
    for _ in 0..segments {
        let path = usize::from(free[1] < free[0]);
        free[path] += bits(PACKET_BITS, rates[path]);
        sent[path] += 1;
    }
    (free[0].max(free[1]) + MS, sent)
}

/// Theorem 4.1: both paths are busy until the last segment has been claimed, whatever their rates are.
#[test]
fn front_back_ends_with_the_sum_of_the_rates() {
    for rates in [[1000, 500], [1000, 990], [100, 1000]] {
        let run = two_cables(rates, "\"front-back\"", 3000);
        let (end, sent) = ends(rates, 3000);
        assert_eq!(run.flow("fct_ps"), end, "{rates:?}");
        let connections = run.0.connections.as_ref().unwrap();
        let of = |column| cells(connections, column).into_iter().map(Option::unwrap).collect::<Vec<_>>();
        assert_eq!(of("packets_sent"), sent);
        assert_eq!(of("delivered_bytes"), sent.map(|segments| segments * MSS));
        assert_eq!(of("pieces"), [1, 1]);
    }
}

/// Divided once into halves the block waits for the slower path, twice as long; cut again it does not.
#[test]
fn a_block_that_is_divided_once_waits_for_the_slower_path() {
    let rates = [1000, 500];
    let once =
        two_cables(rates, "{ divide = { resplit = false, estimates = \"equal\" } }", 3000).flow("fct_ps");
    let setup = 2 * (bits(CONTROL_BITS, 500) + MS);
    assert_eq!(once, setup + 1500 * bits(PACKET_BITS, 500) + MS);
    let again = two_cables(rates, "{ divide = { estimates = \"equal\" } }", 3000);
    let (end, _) = ends(rates, 3000);
    assert!(again.flow("fct_ps") <= end + bits(PACKET_BITS, 500), "{} is after {end}", again.flow("fct_ps"));
    let connections = again.0.connections.as_ref().unwrap();
    // The faster path is done after 1,500 segments and takes half of the 750 that the other has left, and so on.
    let pieces: u64 = cells(connections, "pieces").into_iter().flatten().sum();
    assert!((6..=12).contains(&pieces), "{pieces}");
}

/// Each chunk of 10 segments is a piece of its own.
#[test]
fn each_chunk_is_a_piece() {
    let run = two_cables([1000, 1000], "{ last-idle = { chunk = 10 } }", 200);
    let connections = run.0.connections.as_ref().unwrap();
    assert_eq!(cells(connections, "pieces"), [Some(10), Some(10)]);
}

/// A block of a random fabric, with buffers that drop.
fn on_a_fat_tree(settings: &str, traffic: &str) -> Run {
    run(&format!(
        r#"
        topology.fat-tree = {{ k = 4, rate = "1Gbps", delay = "5us" }}
        transport.parallel-tcp = {{ {settings}, tcp = {{ rto_min = "1ms", rto_initial = "2ms" }} }}
        routing.balancer = "nix"
        queue.drop-tail.limit.packets = 5
        [[traffic]]
        name = "blocks"
        {traffic}
        "#
    ))
}

/// Whatever is lost, every segment belongs to one path and is delivered by it.
#[test]
fn every_byte_comes_by_one_path() {
    for partition in PARTITIONS {
        for paths in ["\"all\"", "{ count = 2 }", "{ one-in = 1.3 }"] {
            let settings = format!("paths = {paths}, partition = \"{partition}\"");
            let traffic = "arrivals.at-once = {}\nmatrix = \"permutation\"\nsizes.uniform = { min = \"1B\", max = \"400KB\" }";
            let run = on_a_fat_tree(&settings, traffic);
            assert!(run.counters().drops > 0);
            let connections = run.0.connections.as_ref().unwrap();
            let (flows, delivered) = (cells(connections, "flow"), cells(connections, "delivered_bytes"));
            let (sent, again) = (cells(connections, "packets_sent"), cells(connections, "retransmissions"));
            for (flow, &size) in run.flows("size_bytes").iter().enumerate() {
                let own: Vec<usize> =
                    (0..flows.len()).filter(|&row| flows[row] == Some(flow as u64)).collect();
                let sum = |column: &[Option<u64>]| own.iter().map(|&row| column[row].unwrap()).sum::<u64>();
                assert_eq!(sum(&delivered), size, "{partition}, {paths}");
                assert_eq!(sum(&sent) - sum(&again), size.div_ceil(MSS), "{partition}, {paths}");
            }
        }
    }
}

/// One path between hosts of one edge switch, two in a pod, four between pods.
#[test]
fn connections_go_by_the_paths_of_a_pair() {
    let traffic = "arrivals.at-once = {}\nmatrix.pairs = [[0, 1], [0, 2], [0, 4]]\nsizes.fixed = \"100KB\"";
    let cases = [
        ("\"all\"", [1, 2, 4]),
        ("{ count = 2 }", [1, 2, 2]),
        ("{ count = 3 }", [1, 2, 3]),
        ("{ one-in = 1.3333 }", [1, 2, 4]),
        ("{ one-in = 1.3334 }", [1, 2, 3]),
        ("{ one-in = 2.0 }", [1, 1, 2]),
        ("{ one-in = 100.0 }", [1, 1, 1]),
    ];
    for (paths, expected) in cases {
        let run = on_a_fat_tree(&format!("paths = {paths}"), traffic);
        let (flows, to) = (cells(run.0.connections.as_ref().unwrap(), "flow"), run.flows("dst"));
        let count = |host| flows.iter().filter(|flow| to[flow.unwrap() as usize] == host).count();
        assert_eq!([1, 2, 4].map(count), expected, "{paths}");
    }
}

/// A kept connection with one message is a connection of that flow's own.
#[test]
fn one_message_over_a_kept_connection_is_a_flow() {
    for partition in PARTITIONS {
        let times = |connection: &str| {
            let traffic = format!(
                "connection = \"{connection}\"\narrivals.at-once = {{}}\nmatrix = \"permutation\"\nsizes.fixed = \"300KB\""
            );
            on_a_fat_tree(&format!("partition = \"{partition}\""), &traffic).flows("fct_ps")
        };
        assert_eq!(times("kept"), times("new"), "{partition}");
    }
}

/// Blocks one after the other over a kept connection, of which the second starts before the first is there: paths that have
/// nothing left of the first go on with the second.
#[test]
fn paths_go_on_with_the_next_block() {
    let traffic = "connection = \"kept\"\narrivals.times = { at = [\"0s\", \"0s\", \"100us\"], jitter = \"0s\" }\n\
                   matrix.pairs = [[0, 4]]\nsizes.fixed = \"300KB\"";
    for partition in PARTITIONS {
        let run = on_a_fat_tree(&format!("paths = \"all\", partition = \"{partition}\""), traffic);
        assert_eq!(run.flows("delivered_bytes"), [300_000; 3], "{partition}");
    }
}

/// From the back the short last segment goes first. By RFC 5681 its acknowledgement opens a window of one segment by less
/// than another; the one segment that may go waits 200 ms for its delayed acknowledgement, and the other path sends all the
/// rest. By whole segments each path sends half.
#[test]
fn a_short_first_segment_may_hold_a_window_of_one() {
    let sent = |growth: &str| {
        let text = format!(
            r#"
            topology.leaf-spine = {{ leaves = 2, spines = 2, hosts = 1, rate = "1Gbps" }}
            transport.parallel-tcp.tcp = {{ initial_window = 1, delayed_ack = 2, delayed_ack_timeout = "200ms", ack_first_segment = true, growth = "{growth}", rto_min = "1s" }}
            routing.balancer.nix.search = "first"
            [[traffic]]
            name = "one"
            arrivals.at-once = {{}}
            matrix.pairs = [[0, 1]]
            sizes.fixed = "{}B"
            "#,
            100 * MSS + 100
        );
        cells(run(&text).0.connections.as_ref().unwrap(), "packets_sent")
    };
    assert_eq!(sent("acks"), [Some(99), Some(2)]);
    assert_eq!(sent("bytes"), [Some(99), Some(2)]);
    let [Some(front), Some(back)] = sent("whole-acks")[..] else { panic!("two connections") };
    assert!(front + back == 101 && front.abs_diff(back) <= 4, "{front} and {back}");
}

/// The data of a path that waits for its timeout waits with it: nothing goes to the other.
#[test]
fn a_path_holds_the_data_that_it_has_claimed() {
    let text = r#"
        topology.leaf-spine = { leaves = 2, spines = 2, hosts = 1, rate = "1Gbps" }
        transport.parallel-tcp = { tcp = { rto_min = "10ms", rto_initial = "20ms" } }
        routing.balancer.nix.search = "first"
        [[traffic]]
        name = "one"
        arrivals.at-once = {}
        matrix.pairs = [[0, 1]]
        sizes.fixed = "2MB"
        [faults]
        detection_delay = "1000s"
        events = [{ at = "1ms", target.cable = ["spine 1", "leaf 1"], change = "down", lasts = "100ms" }]
    "#;
    let run = run_with(text, &[]);
    let connections = run.0.connections.as_ref().unwrap();
    let timeouts = cells(connections, "timeouts");
    assert_eq!(timeouts[0], Some(0));
    assert!(timeouts[1] > Some(1));
    assert!(run.flow("fct_ps") > 101 * MS, "it waits for the path to come back");
}

/// The messages name the field and the bound.
#[test]
fn more_paths_than_exist_are_refused() {
    let problems = |settings: &str, sizes: &str| {
        let text = format!(
            "topology.fat-tree = {{ k = 4 }}\ntransport.parallel-tcp = {{ {settings} }}\n\
             [[traffic]]\nname = \"a\"\nbackground = true\narrivals.at-once = {{}}\nmatrix = \"permutation\"\nsizes = {sizes}\n\
             [run]\nuntil = \"1ms\""
        );
        read(&text).map(drop).unwrap_err().to_string()
    };
    let fixed = "{ fixed = \"1MB\" }";
    let found = problems("paths.count = 5", fixed);
    assert!(found.contains("transport.parallel-tcp.paths.count"), "{found}");
    assert!(found.contains("no two hosts have more than 4"), "{found}");
    for share in ["0.5", "0.0", "-1.0"] {
        let found = problems(&format!("paths.one-in = {share}"), fixed);
        assert!(found.contains("transport.parallel-tcp.paths.one-in"), "{found}");
    }
    let found = problems("paths.count = 2", "{ endless = {} }");
    assert!(found.contains("traffic.a.sizes"), "{found}");
}
