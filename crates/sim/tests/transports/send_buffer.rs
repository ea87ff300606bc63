//! Send buffers of the connections that carry a flow, against times worked out by hand: a connection reaches at most its
//! buffer in a round trip, and data that it has been handed over waits for it.

use crate::common::{MS, Run, cells, read, run};
use crate::two_hosts::{CONTROL_BITS, MSS, PACKET_BITS, bits, cables};

fn of(run: &Run, column: &str) -> Vec<u64> {
    cells(run.0.connections.as_ref().expect("connections"), column).into_iter().flatten().collect()
}

/// 200 segments through a buffer of 20: ten times 20, each a round trip after the one before. Bytes beyond a whole segment
/// are of no use, and without a buffer all go at once.
#[test]
fn a_connection_reaches_its_buffer_in_a_round_trip() {
    let setup = 2 * (bits(CONTROL_BITS, 1000) + MS);
    let round_trip = bits(PACKET_BITS, 1000) + bits(CONTROL_BITS, 1000) + 2 * MS;
    let burst = |segments: u64| setup + segments * bits(PACKET_BITS, 1000) + MS;
    for bytes in [20 * MSS, 21 * MSS - 1] {
        for transport in
            ["mptcp = { subflows = 1,", "parallel-tcp = { paths.count = 1, partition = \"in-order\","]
        {
            let run = cables(&[1000], &format!("{transport} send_buffer = \"{bytes}B\", TCP }}"), 200);
            assert_eq!(run.flow("fct_ps"), burst(20) + 9 * round_trip, "{transport} {bytes}");
        }
    }
    assert_eq!(cables(&[1000], "mptcp = { subflows = 1, TCP }", 200).flow("fct_ps"), burst(200));
}

/// Each connection has its own: two of them, each on a cable, send twice as much in a round trip.
#[test]
fn each_connection_has_a_buffer() {
    let round_trip = bits(PACKET_BITS, 1000) + bits(CONTROL_BITS, 1000) + 2 * MS;
    let settings = format!("parallel-tcp = {{ send_buffer = \"{}B\", TCP }}", 20 * MSS);
    let run = cables(&[1000, 1000], &settings, 200);
    let setup = 2 * (bits(CONTROL_BITS, 1000) + MS);
    assert_eq!(run.flow("fct_ps"), setup + 20 * bits(PACKET_BITS, 1000) + MS + 4 * round_trip);
    assert_eq!(of(&run, "packets_sent"), [100, 100]);
    assert_eq!(of(&run, "pieces"), [1, 1]);
}

/// Of 60 segments each connection is handed over 30, as soon as it is there: the block waits for those of the slow one.
/// Without buffers that one sends what it has time for, a segment in 1.2 ms.
#[test]
fn what_has_been_handed_over_waits_for_its_connection() {
    let rates = [1000, 10];
    let with = cables(&rates, &format!("parallel-tcp = {{ send_buffer = \"{}B\", TCP }}", 30 * MSS), 60);
    assert_eq!(of(&with, "packets_sent"), [30, 30]);
    let setup = 2 * (bits(CONTROL_BITS, 10) + MS);
    assert_eq!(with.flow("fct_ps"), setup + 30 * bits(PACKET_BITS, 10) + MS);
    let without = cables(&rates, "parallel-tcp = { TCP }", 60);
    assert_eq!(of(&without, "packets_sent"), [59, 1]);
    assert_eq!(without.flow("fct_ps"), setup + bits(PACKET_BITS, 10) + MS);
}

/// Chunks that a connection is handed over together are pieces all the same.
#[test]
fn pieces_count_when_they_are_handed_over() {
    let partition = "partition.last-idle.chunk = 10";
    let settings = format!("parallel-tcp = {{ {partition}, send_buffer = \"{}B\", TCP }}", 50 * MSS);
    let run = cables(&[1000, 1000], &settings, 200);
    // Each has five chunks of every ten at first, one beside the other: one piece. Then they take them in turns.
    assert_eq!(of(&run, "delivered_bytes").iter().sum::<u64>(), 200 * MSS);
    assert_eq!(of(&run, "pieces"), [6, 6]);
}

/// Blocks over lossy paths, one behind the other: each segment belongs to one connection, and all arrive.
#[test]
fn nothing_is_lost_in_a_buffer() {
    for partition in ["front-back", "divide", "proportional", "arrival-time", "last-idle", "in-order"] {
        for connection in ["new", "kept"] {
            let run = run(&format!(
                r#"
                topology.fat-tree = {{ k = 4, rate = "1Gbps", delay = "5us" }}
                transport.parallel-tcp = {{ paths = "all", partition = "{partition}", send_buffer = "20KB", tcp = {{ rto_min = "1ms", rto_initial = "2ms" }} }}
                routing.balancer = "nix"
                queue.drop-tail.limit.packets = 3
                [[traffic]]
                name = "blocks"
                connection = "{connection}"
                arrivals.times = {{ at = ["0s", "0s", "100us"], jitter = "0s" }}
                matrix.pairs = [[0, 4], [1, 4], [2, 4], [5, 3], [6, 3]]
                sizes.uniform = {{ min = "1B", max = "200KB" }}
                "#
            ));
            assert!(run.counters().drops > 0);
            assert_eq!(run.flows("delivered_bytes"), run.flows("size_bytes"), "{partition}, {connection}");
            let first = run.total("packets_sent") - run.total("retransmissions");
            let segments = run.flows("size_bytes").iter().map(|size| size.div_ceil(MSS)).sum::<u64>();
            assert_eq!(first, segments, "{partition}, {connection}");
        }
    }
}

/// The cable to one of two spines is down from 1 ms to 501 ms. What waits in the buffer of a subflow that has no other goes
/// to the others with what it has sent, and on a kept connection the next flow does not wait for the rest of it.
#[test]
fn what_waits_on_a_dead_path_goes_to_the_others() {
    let broken = |reinject: bool, connection: &str| {
        run(&format!(
            r#"
            topology.leaf-spine = {{ leaves = 2, spines = 2, hosts = 1, rate = "1Gbps" }}
            transport.mptcp = {{ subflows = 4, reinject = {reinject}, send_buffer = "100KB", tcp = {{ rto_min = "10ms", rto_initial = "20ms" }} }}
            [[traffic]]
            name = "flow"
            connection = "{connection}"
            arrivals.times = {{ at = ["0s", "2ms"], jitter = "0s" }}
            matrix.pairs = [[0, 1]]
            sizes.fixed = "1MB"
            [faults]
            detection_delay = "1s"
            events = [{{ at = "1ms", target.link = ["leaf 0", "spine 0"], change = "down", lasts = "500ms" }}]
            "#
        ))
    };
    for connection in ["new", "kept"] {
        let (with, without) = (broken(true, connection), broken(false, connection));
        for run in [&with, &without] {
            assert_eq!(run.flows("delivered_bytes"), [1_000_000; 2], "{connection}");
        }
        assert!(with.flows("fct_ps")[0] < 100 * MS, "{connection}: {:?}", with.flows("fct_ps"));
        assert!(without.flows("fct_ps")[0] > 501 * MS, "{connection}: {:?}", without.flows("fct_ps"));
    }
}

/// The message names the field, the value and the bound.
#[test]
fn a_buffer_below_a_segment_is_refused() {
    for transport in ["mptcp", "parallel-tcp"] {
        let problem = |bytes: &str| {
            let text = format!(
                "topology = \"leaf-spine\"\ntransport.{transport}.send_buffer = \"{bytes}\"\n[[traffic]]\nname = \"a\"\n\
                 arrivals = \"at-once\"\nmatrix = \"permutation\"\nsizes.fixed = \"1MB\""
            );
            read(&text).map(drop).map_err(|problems| problems.to_string())
        };
        assert_eq!(problem("1460B"), Ok(()));
        let found = problem("1459B").unwrap_err();
        assert!(found.contains(&format!("transport.{transport}.send_buffer")), "{found}");
        assert!(found.contains("1459B is below tcp.mss, which is 1460B: nothing could be sent"), "{found}");
    }
}
