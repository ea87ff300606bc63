//! PDQ against earliest deadline first and shortest job first on one link, and its rules one by one: pausing
//! and probing, the start of the next flow, the state of ports after flows have ended, giving up.
//!
//! Hong, Caesar and Godfrey, "Finishing Flows Quickly with Preemptive Scheduling", SIGCOMM 2012.

use crate::common::{MS, PACKET, Run, US, read, run, run_with};
use crate::racks;
use flowyard_sim::engine::data::finished::Status;

/// Over one switch with links of 1 Gbps and 20 us, from a full packet's first bit to its answer's last.
const RTT: u64 = 2 * (PACKET + 320_000) + 4 * 20 * US;

/// So many hosts around a switch, and a transport with these fields.
fn rack(hosts: u32, fields: &str, traffic: &str) -> String {
    format!("transport.pdq = {{ {fields} }}\n{}{traffic}", racks::rack(hosts, "1Gbps", "20us"))
}

/// One flow of an entry of its own: name, source, destination, start and what else it has.
fn flow(name: &str, from: u32, to: u32, start_us: u64, fields: &str) -> String {
    format!(
        "[[traffic]]\nname = \"{name}\"\narrivals.at-once = {{ at = \"{start_us}us\", jitter = \"0s\" }}\n\
         matrix.pairs = [[{from}, {to}]]\n{fields}\n"
    )
}

/// Picoseconds that so many bytes of payload take at 1 Gbps with their headers.
fn on_wire(size: u64) -> u64 {
    (size + 40 * size.div_ceil(1460)) * 8_000
}

/// A job: when it comes, what it needs, when it is due, all in one unit.
type Job = (u64, u64, Option<u64>);

/// When each is done on one server that leaves every job at once for one that is due earlier, of equals for one with less
/// left: an oracle without packets. Those without a deadline come last.
fn earliest_then_shortest(jobs: &[Job]) -> Vec<u64> {
    let mut left: Vec<u64> = jobs.iter().map(|job| job.1).collect();
    let mut ends = vec![0; jobs.len()];
    let mut now = 0;
    loop {
        let waiting = (0..jobs.len()).filter(|&job| left[job] > 0);
        let first = waiting
            .clone()
            .filter(|&job| jobs[job].0 <= now)
            .min_by_key(|&job| (jobs[job].2.unwrap_or(u64::MAX), left[job], job));
        let next = waiting.map(|job| jobs[job].0).filter(|&start| start > now).min();
        match (first, next) {
            (None, None) => return ends,
            (None, Some(next)) => now = next,
            (Some(job), next) => {
                let until = next.unwrap_or(u64::MAX).min(now + left[job]);
                left[job] -= until - now;
                now = until;
                if left[job] == 0 {
                    ends[job] = now;
                }
            }
        }
    }
}

/// By hand: 10 from 0 on; 2 from 3 on; 8 from 4 on, due at 13: the second goes until 4, then the third until 12, then what is
/// left of the second, 1, and of the first, 7.
#[test]
fn the_oracle() {
    let jobs = [(0, 10, None), (3, 2, None), (4, 8, Some(13))];
    assert_eq!(earliest_then_shortest(&jobs), [20, 13, 12]);
}

/// The jobs of a run: its flows on the link that all of them share.
fn jobs(run: &Run) -> Vec<Job> {
    let (starts, sizes) = (run.flows("start_ps"), run.flows("size_bytes"));
    let due = run.flow_cells("deadline_ps");
    (0..starts.len())
        .map(|at| (starts[at], on_wire(sizes[at]), due[at].map(|due| starts[at] + due)))
        .collect()
}

/// When the flows of a run ended.
fn ends(run: &Run) -> Vec<u64> {
    run.flows("start_ps").iter().zip(run.flows("fct_ps")).map(|(start, fct)| start + fct).collect()
}

/// The jobs in the order in which they end.
fn order(ends: &[u64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..ends.len()).collect();
    order.sort_by_key(|&job| ends[job]);
    order
}

/// Flows from hosts of their own to one, of 10 to 100 round trips each, which come somewhat faster than their link can take
/// them, half of them with deadlines. A flow costs its bytes and at most three round trips: until its data comes, when it
/// takes the link from another, and when it leaves it. So it ends between its end on a server that does nothing but work, and
/// that on one to which each job is three round trips longer, but for six round trips of its own; and if these end their jobs
/// in one order, and those between them, so do flows. Where they do not, or two sizes differ by less, round trips decide, and
/// nothing is said of the set. Dampening lasts for more than a round trip, so that no two flows begin at once.
///
/// The six, in round trips of 105 us: its SYN, 1; from probe to probe as the last of ten flows, 0.2 x 9 = 1.8; the probe's
/// answer, 1; and 150 us in which another has just begun, 1.4; together 5.2. The three of each flow are counted as above and
/// not derived: that no flow is held up by dampening twice is not shown.
#[test]
fn one_link_is_earliest_deadline_first_then_shortest_job_first() {
    let mut clear = 0;
    for seed in 1..=60 {
        let pairs = |from: u32| (from..from + 5).map(|host| [host, 0]).collect::<Vec<[u32; 2]>>();
        let traffic = format!(
            r#"
            [[traffic]]
            name = "due"
            arrivals.poisson = {{ rate = 150.0 }}
            matrix.pairs = {:?}
            sizes.uniform = {{ min = "125KB", max = "1250KB" }}
            deadlines.uniform = {{ min = "5ms", max = "100ms" }}
            flows = 5
            [[traffic]]
            name = "others"
            arrivals.poisson = {{ rate = 150.0 }}
            matrix.pairs = {:?}
            sizes.uniform = {{ min = "125KB", max = "1250KB" }}
            flows = 5
            [run]
            seed = {seed}
            "#,
            pairs(1),
            pairs(6)
        );
        let run = run_with(&rack(11, "late = \"keep\"", &traffic), &[("agent.pdq.dampening", "150us")]);
        let jobs = jobs(&run);
        let longer = |rounds: u64| {
            let jobs: Vec<Job> = jobs.iter().map(|job| (job.0, job.1 + rounds * RTT, job.2)).collect();
            earliest_then_shortest(&jobs)
        };
        let (earliest, latest) = (longer(0), longer(3));
        let mut lengths: Vec<u64> = jobs.iter().filter(|job| job.2.is_none()).map(|job| job.1).collect();
        lengths.sort_unstable();
        let close = lengths.windows(2).any(|pair| pair[1] - pair[0] < 3 * RTT);
        if close || (1..=3).any(|rounds| order(&longer(rounds)) != order(&earliest)) {
            continue;
        }
        clear += 1;
        let ends = ends(&run);
        assert_eq!(order(&ends), order(&earliest), "seed {seed}");
        for flow in 0..ends.len() {
            assert!(ends[flow] >= earliest[flow], "seed {seed}, flow {flow}");
            let over = ends[flow] as f64 - latest[flow] as f64;
            assert!(over <= 6.0 * RTT as f64, "seed {seed}, flow {flow}: {} round trips", over / RTT as f64);
        }
    }
    assert!(clear >= 15, "{clear} sets");
}

/// Twenty flows of 50 KB, 4 round trips each, to one host, which are all there from the start, and one begins at a time. Without
/// Early Start a flow's rate is taken until its FIN comes, and the data of the next one comes after its probe was answered.
/// From the port and back to it that is four links and three headers each time, and once the packet that goes round; of
/// all this the link is busy for one packet. With Early Start it rests for less than a round trip: 19 of them, one until the
/// first flow's data comes and one at most behind the last packet.
#[test]
fn early_start_keeps_the_link_busy() {
    let pairs: Vec<[u32; 2]> = (1..=20).map(|host| [host, 0]).collect();
    let traffic = format!(
        "[[traffic]]\nname = \"short\"\narrivals.at-once = {{}}\nmatrix.pairs = {pairs:?}\nsizes.fixed = \"50KB\"\n"
    );
    let rested = |early: &str| {
        let overrides = [("agent.pdq.early_start", early), ("agent.pdq.dampening", "150us")];
        let run = run_with(&rack(21, "", &traffic), &overrides);
        (ends(&run).into_iter().max().unwrap() as f64 - 20.0 * on_wire(50_000) as f64) / RTT as f64
    };
    let (with, without) = (rested("2"), rested("0"));
    let least = (2 * (4 * 20 * US + 3 * 320_000 + PACKET) - PACKET) as f64 / RTT as f64;
    assert!(without >= 19.0 * least, "{without} round trips without");
    assert!(with <= 19.0 + 2.0, "{with} round trips with");
}

/// A flow of 1 MB sends from 0 to 8.3 ms; one of 2 MB comes at 1 ms and is paused: until 6 ms it sends nothing but its SYN and
/// probes, one in a round trip; with 3 round trips a place, one in three, as it stands behind one other.
#[test]
fn who_is_paused_sends_probes_and_nothing_else() {
    let traffic = flow("first", 1, 0, 0, "sizes.fixed = \"1MB\"")
        + &flow("second", 2, 0, 1000, "sizes.fixed = \"2MB\"")
        + "[run]\nuntil = \"6ms\"\n";
    for (spacing, rounds) in [("0.2", 1.0), ("3", 3.0)] {
        let run = run_with(&rack(3, "", &traffic), &[("agent.pdq.probe_spacing", spacing)]);
        assert_eq!((run.flow_of("second", "packets_sent"), run.flow_of("second", "delivered_bytes")), (0, 0));
        let packets = run.link("host 2", "switch", "packets") as f64;
        // A probe and its answer, both of 40 B, and 1500 B in the way of the probe at times.
        let (short, long) = (4 * 20 * US + 4 * 320_000, 4 * 20 * US + 4 * 320_000 + 2 * PACKET);
        let probes = |rtt: u64| 5.0 * MS as f64 / (rounds * rtt as f64);
        assert!((probes(long)..probes(short) + 2.0).contains(&packets), "{packets} packets at {spacing}");
        assert_eq!(run.link("host 2", "switch", "bytes"), packets as u64 * 40);
    }
}

/// Two SYNs 5 us apart; the smaller flow's is the first. With dampening the second flow waits, and the port never holds more
/// than the packet on the wire and what comes with it; without, both begin, and for the round trip until the first is known
/// to send, one of the two packets that come in 12 us waits: more than half of a round trip's worth.
/// 10 to 200 senders of 10 KB each, which take 80 us on the link and a round trip of 0.3 ms: all have ended in three times what
/// they take, or three times the 4 ms of fifty, together or spread over 2 ms, late ones kept or given up.
#[test]
fn probes_of_many_flows_do_not_thin_out() {
    for (senders, jitter) in
        [10, 30, 50, 100, 200].into_iter().flat_map(|n| [(n, "0s"), (n, "50us"), (n, "2ms")])
    {
        for late in ["keep", "give-up"] {
            let run = run(&format!(
                r#"
                transport.pdq = {{ late = "{late}" }}
                queue.drop-tail.limit.bytes = "4MB"
                topology.single-switch = {{ hosts = {}, rate = "1Gbps", delay = "68.84us" }}
                [[traffic]]
                name = "short"
                arrivals.at-once.jitter = "{jitter}"
                matrix.incast = {{ receiver = 0, senders = {senders} }}
                sizes.fixed = "10KB"
                deadline = "60ms"
                "#,
                senders + 1
            ));
            let spread = if jitter == "2ms" { 2 * MS } else { 0 };
            let most = spread + 3 * (senders * 80 * US).max(4 * MS);
            assert_eq!(run.status(), Status::Complete, "{senders} senders, {jitter}, {late}");
            assert!(run.end() <= most, "{senders} senders, {jitter}, {late}: {} of {most} ps", run.end());
            assert!(
                run.bools("completed").into_iter().all(|done| done),
                "{senders} senders, {jitter}, {late}"
            );
        }
    }
}

#[test]
fn dampening_keeps_two_from_beginning_at_once() {
    let traffic = rack(
        3,
        "",
        &(flow("small", 1, 0, 0, "sizes.fixed = \"100KB\"")
            + &flow("large", 2, 0, 0, "sizes.fixed = \"200KB\"")),
    );
    let most = |dampening: &str| {
        let text =
            traffic.replacen("at = \"0us\"", "at = \"5us\"", 2).replacen("at = \"5us\"", "at = \"0us\"", 1);
        let run = run_with(&text, &[("agent.pdq.dampening", dampening), ("agent.pdq.early_start", "0")]);
        run.link("switch", "host 0", "queue_max_bytes")
    };
    let (with, without) = (most("10us"), most("0s"));
    assert!(with <= 3 * 1500, "{with} B");
    assert!(without >= RTT / 2 / 8_000, "{without} B");
}

/// Criticality, by the order: a large flow that is due, and a small one that is not, 20 us later.
#[test]
fn orders() {
    let first = |order: &str, due: &str| {
        let traffic = flow("large", 1, 0, 0, &format!("sizes.fixed = \"1MB\"\ndeadline = \"{due}\""))
            + &flow("small", 2, 0, 20, "sizes.fixed = \"200KB\"");
        let run = run_with(&rack(3, "late = \"keep\"", &traffic), &[("agent.pdq.order", order)]);
        let ends = ends(&run);
        assert_eq!(run.counters().unfinished_flows, 0);
        if ends[0] < ends[1] { "large" } else { "small" }
    };
    // A megabyte takes 8.2 ms, the other 1.6 ms.
    assert_eq!(
        ["pdq", "edf", "sjf", "peq"].map(|order| first(order, "20ms")),
        ["large", "large", "small", "small"]
    );
    assert_eq!(
        ["pdq", "edf", "sjf", "peq"].map(|order| first(order, "9200us")),
        ["large", "large", "small", "large"]
    );
}

/// A header and its answer need 2.1 us over one switch with links of 0.2 us, in which 1 Gbps carries 260 B. A flow that has
/// waited once knows of no other round trip, and a packet in each would be 5.8 Gbps: half of the link is enough.
#[test]
fn a_round_trip_shorter_than_a_packet_stops_nobody() {
    let traffic: String =
        (1..=4).map(|host| flow(&format!("flow-{host}"), host, 0, 0, "sizes.fixed = \"100KB\"")).collect();
    let run = run_with(&rack(5, "", &traffic), &[("topology.single-switch.delay", "200ns")]);
    let last = ends(&run).into_iter().max().expect("a flow");
    assert_eq!((run.status(), run.counters().unfinished_flows), (Status::Complete, 0));
    assert!(last <= 2 * 4 * on_wire(100_000), "{last} ps");
}

/// Two links in a row. A flow over both is paused on the second by a more critical one: the first then
/// carries a less critical one at once, although the paused flow is before it. So both links are busy all the
/// time, and the last flow on the first ends when its bytes and the other's are through, but for ten round
/// trips, for three changes of the sending flow; had the first link waited, it would be 32.
#[test]
fn who_is_paused_elsewhere_keeps_nobody_waiting() {
    let network = r#"
        transport = "pdq"
        [topology.explicit]
        hosts = ["0", "1", "2", "3", "4"]
        switches = [{ name = "a" }, { name = "b" }, { name = "c" }]
        cables = [
            { ends = ["0", "a"] }, { ends = ["1", "a"] }, { ends = ["a", "b"] }, { ends = ["2", "b"] },
            { ends = ["3", "b"] }, { ends = ["b", "c"] }, { ends = ["4", "c"] },
        ]
        rate = "1Gbps"
        delay = "10us"
    "#;
    let traffic = flow("second", 2, 4, 0, "sizes.fixed = \"500KB\"")
        + &flow("both", 0, 4, 200, "sizes.fixed = \"1MB\"")
        + &flow("first", 1, 3, 400, "sizes.fixed = \"2MB\"");
    let run = run(&format!("{network}\n{traffic}"));
    let ends = ends(&run);
    let rtt = 4 * (PACKET + 320_000) + 8 * 10 * US;
    assert!(ends[0] <= on_wire(500_000) + 3 * rtt);
    assert!(ends[1] <= on_wire(1_500_000) + 10 * rtt, "{}", ends[1]);
    assert!(ends[2] <= 400 * US + on_wire(3_000_000) + 10 * rtt, "{}", ends[2]);
    assert!(ends[2] >= on_wire(3_000_000));
}

/// All flows end, in each order, for any pausing on six links.
#[test]
fn no_two_ports_wait_for_each_other() {
    for order in ["pdq", "edf", "sjf", "peq"] {
        for (seed, matrix, flows) in
            [(1, "permutation", 48), (2, "permutation", 48), (3, "uniform", 120), (4, "uniform", 120)]
        {
            let text = format!(
                r#"
                transport = "pdq"
                [topology.fat-tree]
                k = 4
                rate = "1Gbps"
                [[traffic]]
                name = "due"
                arrivals.at-once = {{}}
                matrix = "{matrix}"
                sizes.uniform = {{ min = "1KB", max = "300KB" }}
                deadlines.uniform = {{ min = "1ms", max = "20ms" }}
                flows = {flows}
                [[traffic]]
                name = "others"
                arrivals.poisson = {{ rate = 20000.0 }}
                matrix = "{matrix}"
                sizes.uniform = {{ min = "1KB", max = "300KB" }}
                flows = {flows}
                "#
            );
            let overrides = [
                ("run.seed", &*seed.to_string()),
                ("agent.pdq.order", order),
                ("transport.pdq.late", "keep"),
            ];
            let run = run_with(&text, &overrides);
            assert_eq!((run.status(), run.counters().unfinished_flows), (Status::Complete, 0));
            assert_eq!(run.counters().abandoned_flows, 0);
        }
    }
}

/// One probe of a paused flow is lost: the next one leaves within another round trip or two, not after a retransmission
/// timeout of 10 ms, so that the flow is later by no more than these.
#[test]
fn a_lost_probe_is_repeated() {
    let with = |lost: &str| {
        run(&format!(
            r#"
            transport.pdq = {{}}
            topology.single-switch = {{ hosts = 3, rate = "1Gbps", delay = "75us" }}
            {lost}
            {}{}
            "#,
            flow("first", 1, 0, 0, "sizes.fixed = \"438KB\""),
            flow("paused", 2, 0, 500, "sizes.fixed = \"584KB\""),
        ))
    };
    let lossless = with("").flow_of("paused", "fct_ps");
    for at in ["1000us", "1500us", "2500us", "2900us"] {
        let run = with(&format!(
            "faults.events = [{{ at = \"{at}\", target.link = [\"host 2\", \"switch\"], change.loss = 1.0, lasts = \"400us\" }}]"
        ));
        assert!(run.total("lost") >= 1, "{at}");
        let late = run.flow_of("paused", "fct_ps").saturating_sub(lossless);
        assert!(late <= 4 * 300 * US, "{at}: {late} ps later");
    }
}

/// One packet in thirty is lost on each link, SYNs, probes, answers, FINs and TERMs included: all flows end all the same, and
/// the audit finds no flow on a port that should have left it.
#[test]
fn losses_leave_no_flow_behind() {
    for seed in 1..=3 {
        let text = format!(
            r#"
            transport.pdq.pacing = {{ rto_min = "1ms" }}
            [topology.fat-tree]
            k = 4
            rate = "1Gbps"
            [faults]
            events = [{{ at = "0s", target.random-cables = {{ share = 1.0 }}, change = {{ loss = 0.03 }} }}]
            [[traffic]]
            name = "due"
            arrivals.poisson = {{ rate = 4000.0 }}
            matrix = "uniform"
            sizes.uniform = {{ min = "1KB", max = "100KB" }}
            deadlines.uniform = {{ min = "1ms", max = "10ms" }}
            flows = 40
            [[traffic]]
            name = "others"
            arrivals.poisson = {{ rate = 4000.0 }}
            matrix = "uniform"
            sizes.uniform = {{ min = "1KB", max = "100KB" }}
            flows = 60
            [run]
            seed = {seed}
            "#
        );
        let run = run(&text);
        assert_eq!((run.status(), run.counters().unfinished_flows), (Status::Complete, 0));
        assert!(run.counters().lost > 200 && run.counters().abandoned_flows > 0);
    }
}

/// A megabyte takes 8.2 ms. Due in 8 ms it is given up at the answer to its SYN; due in 9 ms behind another, which takes the
/// link until 4 ms, when a probe's answer says that it is too late; kept, it arrives late.
#[test]
fn who_cannot_be_in_time_gives_up() {
    let late = |fields: &str, due: &str| {
        let traffic = flow("first", 1, 0, 0, "sizes.fixed = \"500KB\"\ndeadline = \"5ms\"")
            + &flow("late", 2, 0, 500, &format!("sizes.fixed = \"1MB\"\ndeadline = \"{due}\""));
        run(&rack(3, fields, &traffic))
    };
    for due in ["8ms", "9ms"] {
        let run = late("", due);
        assert_eq!(run.flows("abandoned"), [0, 1]);
        assert_eq!((run.flow_of("late", "delivered_bytes"), run.counters().unfinished_flows), (0, 0));
        let kept = late("late = \"keep\"", due);
        assert_eq!(kept.counters().abandoned_flows, 0);
        assert!(kept.flow_of("late", "fct_ps") > 9 * MS);
    }
    // What it gave up it left to others.
    let alone = run(&rack(3, "", &flow("first", 1, 0, 0, "sizes.fixed = \"500KB\"")));
    assert!(late("", "8ms").flow_of("first", "fct_ps") <= alone.flow("fct_ps") + RTT);
}

/// Settings of a scenario that exclude each other are refused with path and what is allowed.
#[test]
fn mistakes() {
    let said = |settings: &str| {
        let traffic = flow("flow", 1, 0, 0, "sizes.fixed = \"1MB\"");
        read(&format!("{}\n{settings}", rack(3, "", &traffic))).expect_err("a mistake").to_string()
    };
    let levels = said("[agent.pdq]\norder = \"peq\"\npeq_alpha = 0\npeq_beta = 0\n");
    assert!(levels.contains("agent.pdq.peq_alpha: 0 with peq_beta = 0 makes"), "{levels}");
    let own = said("[routing]\nbalancer = \"per-packet\"\n");
    assert!(own.contains("the agent \"pdq\" gives a flow one rate"), "{own}");
}
