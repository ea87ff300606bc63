//! D3 against times and rates by hand: first come, first served, with one least rate for each path; and the
//! ports' counts, which must be zero once all flows have ended. Every run is audited for that.
//!
//! Wilson et al., "Better never than late: meeting deadlines in datacenter networks", SIGCOMM 2011.

use flowyard_sim::engine::data::finished::Status;

use crate::common::{MS, PACKET, Run, US, run, run_with};
use crate::racks::{self, entry};

/// Four links of 75 us: 300 us there and back, besides transmissions.
const RTT: u64 = 300 * US;

/// A packet of 40 B at 1 Gbps.
const CONTROL: u64 = 320_000;

/// A rack at 1 Gbps under D3, with what else the scenario says.
fn rack(hosts: u32, rest: &str) -> Run {
    run(&(racks::rack(hosts, "1Gbps", "75us") + rest))
}

/// A flow by itself: a SYN and its answer, 300 us and four times 40 B, then 100 packets at line rate, the last of which
/// crosses two links.
#[test]
fn a_flow_alone_has_the_line_after_a_round_trip() {
    let run = rack(2, &format!("[transport.d3]\n{}", entry("flow", &[1], 0, "sizes.fixed = \"146KB\"")));
    assert_eq!(run.flow("fct_ps"), RTT + 4 * CONTROL + 101 * PACKET + RTT / 2);
}

/// Two flows, each with enough for the link. The first one's deadline is far: 10 MB on the wire in 100 ms need 0.8 Gbps and
/// more. The second one comes 10 ms later and is due 12 ms after that, for which it needs most of the link for 8 ms. In the
/// order of deadlines both end in time; in the order of arrival the second one does not.
#[test]
fn a_far_deadline_that_came_first_goes_before_a_near_one() {
    let far = entry("far", &[1], 0, "sizes.fixed = \"9.8MB\"\ndeadline = \"100ms\"");
    let near = entry("near", &[2], 10_000, "sizes.fixed = \"1MB\"\ndeadline = \"12ms\"");
    let run = rack(3, &format!("[transport.d3]\n{far}{near}"));
    let wire = |payload: u64| payload / 1460 * PACKET;
    assert!(wire(9_800_000 + 1_000_000) < 95 * MS, "both fit by EDF");
    assert!(run.flow_of("far", "fct_ps") <= 100 * MS, "{}", run.flow_of("far", "fct_ps"));
    assert!(run.flow_of("near", "fct_ps") > 12 * MS, "{}", run.flow_of("near", "fct_ps"));
    // Alone it would have been in time.
    let near = entry("near", &[2], 10_000, "sizes.fixed = \"1MB\"\ndeadline = \"12ms\"");
    assert!(rack(3, &format!("[transport.d3]\n{near}")).flow("fct_ps") < 12 * MS);
}

/// A flow that gets nothing asks once in each round trip. The first flow wants the whole line and has it. The second one, from
/// 1 ms on, is answered after at least 4 (75 us + 320 ns), and at most 12 us for a packet on the wire and 320 ns for each of at
/// most 34 requests later, which never drain: from 9 ms / 324.2 us = 27.8 to 9 ms / 301.28 us = 29.9 answers until
/// 10 ms, and a SYN.
#[test]
fn who_gets_nothing_asks_each_round_trip() {
    let takes_all = entry("takes-all", &[1], 0, "sizes.fixed = \"10MB\"\ndeadline = \"20ms\"");
    let waits = entry("waits", &[2], 1000, "sizes.fixed = \"1MB\"");
    let agent = "[agent.d3]\nalpha = 0.0\nbeta = 0.0";
    let run = rack(3, &format!("[transport.d3]\n{agent}\n{takes_all}{waits}\n[run]\nuntil = \"10ms\"\n"));
    assert_eq!(run.flow_of("waits", "delivered_bytes"), 0);
    let asked = run.link("host 2", "switch", "packets");
    assert!((28..=30).contains(&asked), "{asked}");
}

/// Flows without deadlines request nothing and share the unrequested capacity: within 2 % of each other. How
/// much of the link that is follows from the rule of the capacity. Over n intervals the changes alpha (C - u
/// / T) - beta q / T add up to no more than C itself, so that their mean is C / n at most: that is 1 / (n
/// alpha (1 - u)) of either term. Queues are looked at n times there and all the time here, which is random:
/// with a spread of twice the mean, three deviations are 6 / sqrt(n).
#[test]
fn long_flows_share_equally_what_the_capacity_is() {
    let long = entry("long", &[1, 2, 3, 4, 5], 0, "sizes = \"endless\"\nbackground = true");
    for allocation in ["greedy", "capped"] {
        let rest = format!(
            "[transport.d3]\n[agent.d3]\nallocation = \"{allocation}\"\ninterval = \"300us\"\n{long}"
        );
        let run = rack(6, &format!("{rest}\n[run]\nuntil = \"400ms\"\n"));
        let bytes = run.flows("delivered_bytes");
        let mean = bytes.iter().sum::<u64>() as f64 / bytes.len() as f64;
        assert_eq!(bytes.len(), 5);
        assert!(bytes.iter().all(|&own| (own as f64 / mean - 1.0).abs() < 0.02), "{allocation}: {bytes:?}");
        let used = mean * 5.0 * 8.0 * 1500.0 / 1460.0 / (1e9 * 0.4);
        // Without the packet on the wire.
        let waiting = run.queue_mean("switch", "host 0") - used * 1500.0;
        let steady = 0.1 * (1.0 - used) * 1e9 * 300e-6 / 8.0;
        let intervals: f64 = 400.0 / 0.3;
        let bound = 1.0 / (intervals * 0.1 * (1.0 - used)) + 6.0 / intervals.sqrt();
        assert!(
            (waiting / steady - 1.0).abs() < bound,
            "{allocation}: {waiting} B wait, {steady} B by the rule"
        );
    }
}

/// Two bottlenecks. One flow crosses 400 and 100 Mbps, another one only the first: that one is given half of it, 200 Mbps,
/// and so is the one that can use only 100 Mbps of its half. Without adaptation, so that capacities are those of the links.
#[test]
fn the_least_allocation_of_a_path_is_the_rate() {
    let run = run(r#"
        [topology.explicit]
        hosts = ["0", "1", "2", "3"]
        switches = [{ name = "a" }, { name = "b" }, { name = "c" }]
        cables = [
            { ends = ["0", "a"] }, { ends = ["1", "a"] }, { ends = ["a", "b"], rate = "400Mbps" },
            { ends = ["2", "b"] }, { ends = ["b", "c"], rate = "100Mbps" }, { ends = ["3", "c"] },
        ]
        rate = "1Gbps"
        delay = "20us"
        [transport.d3]
        [agent.d3]
        alpha = 0.0
        beta = 0.0
        [[traffic]]
        name = "long"
        arrivals.at-once = {}
        matrix.pairs = [[0, 3]]
        sizes = "endless"
        background = true
        [[traffic]]
        name = "short"
        arrivals.at-once = {}
        matrix.pairs = [[1, 2]]
        sizes = "endless"
        background = true
        [run]
        until = "200ms"
        "#);
    let rate = |name| run.flow_of(name, "delivered_bytes") as f64 * 8.0 * 1500.0 / 1460.0 / 0.2 / 1e6;
    let found = [rate("long"), rate("short")];
    assert!((found[0] / 100.0 - 1.0).abs() < 0.02 && (found[1] / 200.0 - 1.0).abs() < 0.02, "{found:?} Mbps");
}

/// A flow that cannot end in time gives up: it counts as abandoned, and what it held goes to the others.
#[test]
fn who_gives_up_frees_the_rate() {
    // 10 MB in 50 ms need 1.6 Gbps.
    let hopeless = entry("hopeless", &[1], 0, "sizes.fixed = \"10MB\"\ndeadline = \"50ms\"");
    let other = entry("other", &[2], 0, "sizes.fixed = \"1.46MB\"");
    let times = ["keep", "give-up"].map(|late| {
        let run = rack(3, &format!("[transport.d3]\nlate = \"{late}\"\n{hopeless}{other}"));
        assert_eq!(run.status(), Status::Complete);
        assert_eq!(run.flow_of("hopeless", "abandoned"), u64::from(late == "give-up"));
        assert_eq!(run.flow_of("other", "abandoned"), 0);
        run.flow_of("other", "fct_ps")
    });
    // Two round trips, and 1000 packets of 12 us with the whole link.
    assert!(times[1] < 13 * MS, "{times:?}");
    assert!(times[0] > 50 * MS, "{times:?}");
}

/// A burst of flows into a small buffer, each with payload in what asks: full ports cut requests and lose none. The
/// audit finds no count left behind.
#[test]
fn full_ports_cut_requests_and_lose_none() {
    let senders: Vec<u32> = (1..31).collect();
    let burst = entry("burst", &senders, 0, "sizes.fixed = \"50KB\"\ndeadline = \"5ms\"");
    let run = rack(
        31,
        &format!("[transport.d3]\n[queue.drop-tail]\nlimit.packets = 3\nkeep_headers = true\n{burst}"),
    );
    assert_eq!(run.status(), Status::Complete);
    assert!(run.counters().trims > 0, "{:?}", run.counters());
    assert_eq!(run.total("delivered_bytes"), 30 * 50_000);
}

/// A trimmed request is sent again when its answer comes, and not after a timeout.
#[test]
fn a_trimmed_packet_is_sent_again_at_once() {
    let senders: Vec<u32> = (1..31).collect();
    let burst = entry("burst", &senders, 0, "sizes.fixed = \"1KB\"");
    let run = rack(
        31,
        &format!(
            "[transport.d3]\npacing.rto_min = \"100ms\"\n[agent.d3]\nbase_rate = \"1Gbps\"\n[queue.drop-tail]\n\
             limit.packets = 3\nkeep_headers = true\n{burst}"
        ),
    );
    assert!(run.counters().trims > 0 && run.counters().timeouts == 0, "{:?}", run.counters());
    assert!(run.most("fct_ps") < 10 * MS, "{}", run.most("fct_ps"));
}

/// SYNs, requests and FINs are lost: ports with per-flow state remove the flows all the same.
#[test]
fn lost_requests_leave_no_ghosts_where_flows_are_remembered() {
    let senders: Vec<u32> = (1..16).collect();
    let burst = entry("burst", &senders, 0, "sizes.fixed = \"100KB\"\ndeadline = \"20ms\"");
    let events: Vec<String> = (1..16)
        .map(|host| {
            format!("{{ at = \"0s\", target.cable = [\"host {host}\", \"switch\"], change.loss = 0.05 }}")
        })
        .collect();
    let run = rack(
        16,
        &format!(
            "[transport.d3]\nlate = \"give-up\"\n[agent.d3]\nstate = \"flows\"\n[queue.drop-tail]\nlimit.packets = 3\n\
             [faults]\nevents = [{}]\n{burst}",
            events.join(", ")
        ),
    );
    assert_eq!(run.status(), Status::Complete);
    assert!(run.counters().timeouts > 0 && run.counters().drops > 0, "{:?}", run.counters());
    let ended = run.flow_cells("fct_ps").iter().flatten().count() as u64 + run.total("abandoned");
    assert_eq!(ended, 15);
}

/// All packets of a flow are lost for 400 us, and ports that store flows have forgotten it when another one starts. Repeated
/// within round trips, its next request tells them, and the two share the link; otherwise it goes on at the whole link's rate
/// without a request for a retransmission timeout of 10 ms, and fills the queue.
#[test]
fn a_lost_request_is_repeated_within_round_trips() {
    let with = |pacing: &str| {
        rack(
            3,
            &format!(
                "[transport.d3]\n{pacing}\n[agent.d3]\nstate = \"flows\"\n[queue.drop-tail]\nlimit.bytes = \"4MB\"\n\
                 [faults]\nevents = [{{ at = \"5ms\", target.link = [\"host 1\", \"switch\"], change.loss = 1.0, \
                 lasts = \"400us\" }}]\n[run]\nuntil = \"20ms\"\n{}{}",
                entry("first", &[1], 0, "sizes = \"endless\"\nbackground = true"),
                entry("second", &[2], 6000, "sizes = \"endless\"\nbackground = true"),
            ),
        )
    };
    let bytes = |run: &Run| run.flow_of("second", "delivered_bytes");
    let (repeated, silent) = (with("pacing.request_rtts = 2"), with(""));
    // Half of 1 Gbps for 14 ms is 875 kB, less the time to start and to share.
    assert!(bytes(&repeated) > 700_000, "{}", bytes(&repeated));
    assert!(bytes(&silent) < 400_000, "{}", bytes(&silent));
    let queue = |run: &Run| run.link("switch", "host 0", "queue_max_bytes");
    assert!(queue(&repeated) < queue(&silent) / 4, "{}, {}", queue(&repeated), queue(&silent));
}

/// A fault moves a flow's path, and its FIN goes the new one: ports of the old path forget it. The flow of host 2, which
/// shared the link from b to c with it, has half of the link before, and the whole after that: 83.3 packets a millisecond, of
/// which one more or less is 1.2 %.
#[test]
fn ports_that_a_flow_has_left_forget_it() {
    let run = run(r#"
        [topology.explicit]
        hosts = ["0", "1", "2", "3"]
        switches = [{ name = "a" }, { name = "b" }, { name = "c" }, { name = "d" }, { name = "e" }]
        cables = [
            { ends = ["0", "a"] }, { ends = ["a", "b"] }, { ends = ["b", "c"] }, { ends = ["c", "1"] },
            { ends = ["a", "d"] }, { ends = ["d", "e"] }, { ends = ["e", "c"] },
            { ends = ["2", "b"] }, { ends = ["c", "3"] },
        ]
        rate = "1Gbps"
        delay = "10us"
        [transport.d3]
        pacing.rto_min = "1ms"
        [routing]
        balancer = "per-flow"
        [agent.d3]
        state = "flows"
        alpha = 0.0
        beta = 0.0
        [faults]
        detection_delay = "200us"
        events = [{ at = "2ms", target.cable = ["a", "b"], change = "down" }]
        [[traffic]]
        name = "moves"
        arrivals.at-once = {}
        matrix.pairs = [[0, 1]]
        sizes.fixed = "1MB"
        [[traffic]]
        name = "stays"
        arrivals.at-once = {}
        matrix.pairs = [[2, 3]]
        sizes.fixed = "2MB"
        [observe]
        samples = { every = "1ms", links = ["b -> c"], flows = [] }
        "#);
    assert_eq!(run.status(), Status::Complete);
    assert!(run.link("a", "b", "bytes") > 0 && run.link("e", "c", "bytes") > 0, "it has moved");
    let rates = run.samples("utilisation");
    let after = rates.iter().filter(|(time, _)| (6 * MS..=10 * MS).contains(time));
    assert!(after.clone().count() == 5 && after.clone().all(|(_, used)| *used > 0.985), "{rates:?}");
}

/// Requests that wait for longer than a timeout are repeated although none is lost. Ports with counters count them twice,
/// and senders take back what they were counted.
#[test]
fn needless_repeats_leave_no_ghosts() {
    let text = r#"
        [topology.single-switch]
        hosts = 9
        rate = "10Mbps"
        delay = "75us"
        [transport.d3]
        pacing.rto_min = "1ms"
        [agent.d3]
        base_rate = "10Mbps"
        [queue.infinite]
        [[traffic]]
        name = "incast"
        arrivals.at-once = {}
        matrix.incast = { senders = 8 }
        sizes.fixed = "60KB"
        "#;
    let run = run_with(text, &[]);
    assert_eq!(run.status(), Status::Complete);
    assert!(run.counters().timeouts > 0 && run.counters().drops == 0, "{:?}", run.counters());
}
