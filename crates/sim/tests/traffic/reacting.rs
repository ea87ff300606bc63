//! Traffic that reacts: dependencies, blocks, triggers, on-off sources, background. Starts against closed forms
//! to the picosecond, gaps against their distribution, ends against the words that define them.

use std::collections::BTreeMap;

use crate::common::{self, HEADER, PACKET, Run, US, read, run, run_scenario, run_with, scenario};
use flowyard_sim::engine::data::finished::{Limit, Status};
use flowyard_sim::engine::data::plan::Agenda;
use flowyard_sim::engine::run::Engine;
use flowyard_sim::setup::Setup;
use proptest::prelude::*;

/// Delay of each link in these tests.
const DELAY: u64 = 3 * US;
/// A full datagram over so many links of 1 Gbps.
const fn datagram(links: u64) -> u64 {
    links * (PACKET + DELAY)
}
/// A packet of 64 B over so many: how long word takes.
const fn word(links: u64) -> u64 {
    links * (HEADER + DELAY)
}

/// One full datagram is 1472 B of payload.
const LINE: &str = "[topology.line]\nswitches = 2\nrate = \"1Gbps\"\ndelay = \"3us\"\n";
const SWITCH: &str = "[topology.single-switch]\nhosts = 6\nrate = \"1Gbps\"\ndelay = \"3us\"\n";

/// For the flows of an entry: when its last byte came, or when its sender knew.
fn ends(run: &Run, tag: &str, column: &str) -> Vec<u64> {
    run.flows_of(tag, "start_ps")
        .iter()
        .zip(run.flows_of(tag, column))
        .map(|(start, fct)| start + fct)
        .collect()
}

fn request_and_reply(transport: &str, after: &str) -> Run {
    run(&format!(
        r#"
        transport = "{transport}"
        queue = "infinite"
        {LINE}
        [[traffic]]
        name = "requests"
        arrivals.times = {{ at = ["10us", "900us"], jitter = "0s" }}
        matrix.pairs = [[0, 1]]
        sizes.fixed = "1472B"
        [[traffic]]
        name = "replies"
        arrivals.after = {{ entry = "requests", {after} }}
        matrix.reply = {{ to = "requests" }}
        sizes.fixed = "1472B"
        "#
    ))
}

/// Sources are drawn in the order in which entries can be, and found in that of the entries: here the first one answers the
/// last one.
#[test]
fn on_off_sources_may_answer_a_later_entry() {
    let run = run(&format!(
        r#"
        transport = "datagram"
        {SWITCH}
        [[traffic]]
        name = "replies"
        arrivals.on-off = {{ probability = 0.1, slot = "1us", flows_each = 2 }}
        matrix.reply = {{ to = "requests" }}
        sizes.fixed = "1472B"
        [[traffic]]
        name = "others"
        arrivals.on-off = {{ probability = 0.5, slot = "1us", flows_each = 3 }}
        matrix.pairs = [[3, 1]]
        sizes.fixed = "1472B"
        [[traffic]]
        name = "requests"
        arrivals.times = {{ at = ["1us"] }}
        matrix = "permutation"
        sizes.fixed = "1472B"
        "#
    ));
    let of = |tag: &str| run.flows_of(tag, "size_bytes").len();
    assert_eq!((of("replies"), of("others"), of("requests")), (2, 3, 1));
}

#[test]
fn a_reply_starts_when_its_host_knows() {
    // At the receiver of the request, which sends the reply: at once.
    let run = request_and_reply("datagram", "event = \"received\"");
    assert_eq!(run.flows_of("replies", "start_ps"), [10, 900].map(|at| at * US + datagram(3)));
    assert_eq!((run.flows_of("replies", "src"), run.flows_of("replies", "dst")), (vec![1, 1], vec![0, 0]));
    assert_eq!(run.end(), 900 * US + 2 * datagram(3));
    assert_eq!(run.flows("fct_ps"), [datagram(3); 4]);
    let run = request_and_reply("datagram", "delay = \"5us\", notify = \"70us\"");
    assert_eq!(run.flows_of("replies", "start_ps")[0], 10 * US + datagram(3) + 5 * US);

    // A datagram's sender is done as it sends the last packet; the notification goes to the other host.
    let run = request_and_reply("datagram", "event = \"acked\", delay = \"5us\"");
    assert_eq!(run.flows_of("replies", "start_ps"), [10, 900].map(|at| at * US + word(3) + 5 * US));
    let run = request_and_reply("datagram", "event = \"acked\", notify = \"2us\"");
    assert_eq!(run.flows_of("replies", "start_ps"), [12 * US, 902 * US]);

    // With acknowledgements it is done when it has the last one.
    let run = request_and_reply("tcp", "event = \"acked\"");
    let known = ends(&run, "requests", "fct_acked_ps").into_iter().map(|at| at + word(3));
    assert_eq!(run.flows_of("replies", "start_ps"), known.collect::<Vec<_>>());
}

#[test]
fn all_wait_for_all() {
    let run = run(&format!(
        r#"
        [transport.datagram]
        {SWITCH}
        [[traffic]]
        name = "first"
        arrivals.times = {{ at = ["0us", "100us", "50us"], jitter = "0s" }}
        matrix.pairs = [[0, 1], [2, 3], [4, 1]]
        sizes.fixed = "1472B"
        [[traffic]]
        name = "then"
        arrivals.after = {{ entry = "first", each = "all", delay = "1us" }}
        matrix.pairs = [[1, 0], [3, 0], [5, 0]]
        sizes.fixed = "1472B"
        "#
    ));
    // The first drawn flow ends at host 1: there the barrier closes when the notification of the last end, at
    // host 3, arrives.
    let closed = 100 * US + datagram(2) + word(2);
    let start = closed + US;
    assert_eq!(run.flows_of("then", "start_ps"), [start, start + word(2), start + word(2)]);
    assert_eq!(run.flows_of("then", "src"), [1, 3, 5]);
}

#[test]
fn blocks_wait_for_the_last_of_the_block_before() {
    let blocks = |transport: &str, size: &str| {
        run(&format!(
            r#"
            {SWITCH}
            [transport.{transport}]
            [queue.drop-tail]
            limit = {{ packets = 8 }}
            [[traffic]]
            name = "reads"
            arrivals.blocks = {{ blocks = 4, at = "7us", jitter = "0s", gap = "11us" }}
            matrix.incast = {{ senders = 4, receiver = 5 }}
            sizes.fixed = "{size}"
            "#
        ))
    };
    // One datagram each: four of them leave the switch back to back, and the receiver asks for more at once.
    let run = blocks("datagram", "1472B");
    let period = datagram(2) + 3 * PACKET + word(2) + 11 * US;
    let starts: Vec<u64> = (0..16).map(|flow| 7 * US + flow / 4 * period).collect();
    assert_eq!(run.flows_of("reads", "start_ps"), starts);
    assert_eq!(run.status(), Status::Complete);

    // Whatever happens in a block: the next one starts when the last flow of it has come.
    let run = blocks("tcp", "60KB");
    assert!(run.counters().drops > 0, "losses make the flows of a block differ");
    let (starts, ends) = (run.flows_of("reads", "start_ps"), ends(&run, "reads", "fct_ps"));
    for (before, after) in ends.chunks(4).zip(starts.chunks(4).skip(1)) {
        let last = before.iter().max().expect("four of them");
        assert_eq!(after, [last + word(2) + 11 * US; 4]);
    }
    assert_eq!(starts.len(), 16);
}

/// A sender that gives a flow up says so again if that is lost: for the barrier the flow ends once. So a block starts when all
/// flows of the one before have ended, among them those that came in time.
#[test]
fn a_flow_that_was_given_up_ends_once() {
    let mut given_up = 0;
    for seed in 0..30 {
        for (transport, agent) in [("pdq", ""), ("d3", "agent.d3.state = \"flows\"")] {
            let run = run_with(
                &format!(
                    r#"
                    {agent}
                    transport.{transport} = {{ late = "give-up", pacing.rto_min = "1ms" }}
                    topology.single-switch = {{ hosts = 5, rate = "1Gbps", delay = "75us" }}
                    faults.events = [{{ at = "0s", target.random-cables.share = 1.0, change.loss = 0.1 }}]
                    [[traffic]]
                    name = "blocks"
                    arrivals.blocks = {{ blocks = 4, jitter = "0s", gap = "0s" }}
                    matrix.pairs = [[1, 0], [2, 3]]
                    sizes.list = [3000000, 1500000, 3000000, 1500000, 3000000, 1500000, 3000000, 1500000]
                    deadlines.uniform = {{ min = "1ms", max = "150ms" }}
                    "#
                ),
                &[("run.seed", &seed.to_string())],
            );
            given_up += run.total("abandoned");
            let (starts, deadlines) = (run.flows("start_ps"), run.flows("deadline_ps"));
            let times = run.flow_cells("fct_ps");
            for (flow, &start) in starts.iter().enumerate().skip(2) {
                for before in [flow / 2 * 2 - 2, flow / 2 * 2 - 1] {
                    if let Some(fct) = times[before].filter(|fct| *fct <= deadlines[before]) {
                        assert!(
                            start >= starts[before] + fct,
                            "{transport}, seed {seed}: {before} before {flow}"
                        );
                    }
                }
            }
        }
    }
    assert!(given_up > 0);
}

/// A packet takes 12 + 1 us over each of two links, two to one receiver 38 us; word takes 5 us. With a barrier for each,
/// the receiver of one flow goes on after 31 us and that of two after 43 us; with a common one both after 43 us.
#[test]
fn receivers_may_have_barriers_of_their_own() {
    let starts = |barrier: &str| {
        let run = run(&format!(
            r#"
            transport = "datagram"
            topology.single-switch = {{ hosts = 5, rate = "1Gbps", delay = "1us" }}
            [[traffic]]
            name = "blocks"
            arrivals.blocks = {{ blocks = 3, jitter = "0s", notify = "5us", {barrier} }}
            matrix.pairs = [[0, 1], [2, 1], [3, 4]]
            sizes.fixed = "1472B"
            "#
        ));
        let rows = run.flows("start_ps").into_iter().zip(run.flows("dst"));
        let of = |receiver: u64| {
            let mut starts: Vec<u64> =
                rows.clone().filter(|(_, dst)| *dst == receiver).map(|(start, _)| start / US).collect();
            starts.sort_unstable();
            starts
        };
        (of(1), of(4))
    };
    let pairs = vec![0, 0, 43, 43, 86, 86];
    assert_eq!(starts(""), (pairs.clone(), vec![0, 43, 86]));
    assert_eq!(starts("barrier = \"common\""), (pairs.clone(), vec![0, 43, 86]));
    assert_eq!(starts("barrier = \"receiver\""), (pairs, vec![0, 31, 62]));
}

/// A round whose flows end at different hosts, with jitter: notifications go to the host where the first
/// drawn flow ends, and back.
#[test]
fn blocks_of_a_stride_meet_at_a_host() {
    let run = run(&format!(
        r#"
        {SWITCH}
        [transport.datagram]
        [[traffic]]
        name = "steps"
        arrivals.blocks = {{ blocks = 3, jitter = "20us" }}
        matrix.stride = {{ by = [1] }}
        sizes.fixed = "1472B"
        "#
    ));
    let (starts, ends) = (run.flows_of("steps", "start_ps"), ends(&run, "steps", "fct_ps"));
    let (src, dst) = (run.flows_of("steps", "src"), run.flows_of("steps", "dst"));
    // The first block's flows stand in the order of their starts: the first drawn is that of host 0.
    let first = (0..6).find(|&row| src[row] == 0).expect("host 0 sends");
    let mut at = dst[first];
    for block in 0..2 {
        let between = |one: u64, other: u64| if one == other { 0 } else { word(2) };
        let rows = 6 * block..6 * (block + 1);
        let closed = rows.clone().map(|row| ends[row] + between(dst[row], at)).max().expect("six of them");
        let jitters: Vec<u64> =
            rows.map(|row| row + 6).map(|row| starts[row] - closed - between(at, src[row])).collect();
        assert!(jitters.iter().all(|&jitter| jitter <= 20 * US), "{jitters:?}");
        assert!(jitters.iter().any(|&jitter| jitter != jitters[0]));
        at = dst[6 * (block + 1)];
    }
}

const TRIGGERS: &str = r#"
    [transport.datagram]
    [[traffic]]
    name = "flows"
    matrix.pairs = [[0, 1], [0, 1], [1, 0], [1, 0], [0, 1], [1, 0], [1, 0]]
    sizes.fixed = "1472B"
    [traffic.arrivals.triggers]
    starts = ["0s", "100us", { trigger = 1 }, { trigger = 2 }, { trigger = 2 }, { trigger = 3 }, { trigger = 3 }]
    fires = [
        { flow = 0, trigger = 1 }, { flow = 1, trigger = 1 },
        { flow = 0, trigger = 2 }, { flow = 1, event = "acked", trigger = 2 },
        { flow = 0, event = "acked", trigger = 3 }, { flow = 1, trigger = 3 },
    ]
    list = [{ id = 3, kind = { barrier = 2 } }, { id = 1, kind = "once" }, { id = 2, kind = "each" }]
"#;

#[test]
fn triggers_of_the_three_kinds() {
    let run = run(&format!("{LINE}{TRIGGERS}"));
    // Flows 0 and 1 end at host 1 at these times; their senders, at host 0, are done as they start.
    let (first, second) = (datagram(3), 100 * US + datagram(3));
    let expected = [
        0,
        100 * US,
        // Once, fired at host 1, where it sends.
        first,
        // Each: the first firing is host 1's own, the second comes from host 0; the flow there is notified
        // last.
        first,
        100 * US + word(3) + word(3),
        // A barrier at host 0, for two firings, the second from host 1; both flows are back there.
        second + 2 * word(3),
        second + 2 * word(3),
    ];
    assert_eq!(run.flows("start_ps"), expected);
    assert_eq!(run.status(), Status::Complete);
    let quick = run_with(&format!("{LINE}{TRIGGERS}"), &[("traffic.flows.arrivals.triggers.notify", "1ps")]);
    assert_eq!(quick.flows("start_ps")[4..], [100 * US + 2, second + 2, second + 2]);
}

#[test]
fn what_is_never_fired_never_starts() {
    let text = format!("{LINE}{TRIGGERS}");
    let text = text.replace("{ flow = 1, trigger = 3 }", "{ flow = 5, trigger = 3 }");
    let run = run(&text);
    assert_eq!(run.status(), Status::Stalled);
    assert_eq!(run.counters().unfinished_flows, 2);
    assert_eq!(run.flow_cells("start_ps")[5..], [None, None]);
    assert_eq!(run.flow_cells("completed")[4..], [Some(1), Some(0), Some(0)]);
}

/// A flow that waits keeps the run from being complete, and one in the background does not keep it going for ever.
#[test]
fn a_run_stalls_although_background_moves() {
    let text = format!("{LINE}{TRIGGERS}").replace("{ flow = 1, trigger = 3 }", "{ flow = 5, trigger = 3 }");
    let background = r#"
        [[traffic]]
        name = "long"
        background = true
        arrivals.at-once = {}
        matrix.pairs = [[1, 0]]
        sizes = "endless"
        [run]
        stall = "2ms"
    "#;
    let run = run(&format!("{text}{background}"));
    assert_eq!(run.status(), Status::Stalled);
    // The last payload that the run waits for is that of the flow that is notified of the second firing.
    assert_eq!(run.end(), 100 * US + 2 * word(3) + datagram(3) + 2000 * US);
}

const ON_OFF: &str = r#"
    [transport.datagram]
    [topology.single-switch]
    hosts = 6
    rate = "1Gbps"
    [[traffic]]
    name = "sources"
    arrivals.on-off = { probability = 0.3, slot = "20us", at = "5us", flows_each = 3000 }
    matrix = "uniform"
    sizes.fixed = "1472B"
"#;

/// For each host its flows' values of a column, in the order of their starts.
fn by_host(run: &Run, tag: &str, column: &str) -> BTreeMap<u64, Vec<u64>> {
    let mut all: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for (host, value) in run.flows_of(tag, "src").into_iter().zip(run.flows_of(tag, column)) {
        all.entry(host).or_default().push(value);
    }
    all
}

/// Whether counts are those of the probabilities, by chi-square at 4 standard deviations of its normal limit.
fn fit(counts: &[u64], probabilities: &[f64]) -> bool {
    let total = counts.iter().sum::<u64>() as f64;
    let terms =
        counts.iter().zip(probabilities).map(|(&count, p)| (count as f64 - total * p).powi(2) / total / p);
    let free = counts.len() as f64 - 1.0;
    terms.sum::<f64>() < free + 4.0 * (2.0 * free).sqrt()
}

#[test]
fn gaps_of_on_off_sources_are_geometric() {
    // A packet of 12 us leaves its host within a slot, so that each slot may bring a flow.
    let run = run_with(ON_OFF, &[("run.audit", "false")]);
    assert_eq!(run.flow_cells("start_ps").len(), 18_000);
    let mut counts = [0; 12];
    for starts in by_host(&run, "sources", "start_ps").values() {
        assert_eq!(starts.len(), 3000);
        let slot = |start: u64| {
            assert_eq!((start - 5 * US) % (20 * US), 0);
            (start - 5 * US) / (20 * US) + 1
        };
        let mut before = 0;
        for slot in starts.iter().map(|&start| slot(start)) {
            counts[(slot - before - 1).min(11) as usize] += 1;
            before = slot;
        }
    }
    let mut probabilities: Vec<f64> = (0..11).map(|failures| 0.3 * 0.7f64.powi(failures)).collect();
    probabilities.push(0.7f64.powi(11));
    assert!(fit(&counts, &probabilities), "{counts:?}");

    for (host, partners) in by_host(&run, "sources", "dst") {
        let mut counts = [0; 6];
        partners.iter().for_each(|&dst| counts[dst as usize] += 1);
        assert_eq!(counts[host as usize], 0);
        let others: Vec<u64> = counts.into_iter().filter(|&count| count > 0).collect();
        assert!(others.len() == 5 && fit(&others, &[0.2; 5]), "{others:?}");
    }
}

#[test]
fn a_source_without_slots_is_never_idle() {
    let text = format!(
        r#"
        transport = "tcp"
        {SWITCH}
        [[traffic]]
        name = "long"
        arrivals.on-off = {{ probability = 1.0, at = "3us", flows_each = 4 }}
        matrix.pairs = [[0, 1], [2, 3], [0, 4]]
        sizes.uniform = {{ min = "1KB", max = "30KB" }}
        "#
    );
    let run = run(&text);
    let acked: BTreeMap<u64, Vec<u64>> = by_host(&run, "long", "fct_acked_ps");
    for (host, starts) in by_host(&run, "long", "start_ps") {
        let mut expected = vec![3 * US];
        expected.extend(starts.iter().zip(&acked[&host]).map(|(start, fct)| start + fct));
        assert_eq!(starts, expected[..4]);
    }
    assert_eq!(by_host(&run, "long", "dst"), BTreeMap::from([(0, vec![1, 4, 1, 4]), (2, vec![3; 4])]));
    assert_eq!((run.status(), run.0.summary.traffic[0].flows), (Status::Complete, 8));
}

/// Draws of a source are its own: other traffic and other transports move the times of its flows alone.
#[test]
fn others_move_no_draw_of_a_source() {
    let entry = r#"
        [[traffic]]
        name = "sources"
        arrivals.on-off = { probability = 0.2, slot = "10us", flows_each = 20 }
        matrix = "uniform"
        sizes.uniform = { min = "1KB", max = "20KB" }
    "#;
    let other = r#"
        [[traffic]]
        name = "others"
        arrivals.on-off = { probability = 0.9, slot = "7us", flows_each = 30 }
        matrix = "permutation"
        sizes.fixed = "25KB"
    "#;
    let draws = |run: &Run| (by_host(run, "sources", "dst"), by_host(run, "sources", "size_bytes"));
    let alone = run(&format!("transport = \"ndp\"\n{SWITCH}{entry}"));
    for text in [
        format!("transport = \"ndp\"\n{SWITCH}{other}{entry}"),
        format!("transport = \"ndp\"\n{SWITCH}{entry}{other}"),
        format!("transport = \"tcp\"\n{SWITCH}{entry}"),
    ] {
        let beside = run(&text);
        assert_eq!(draws(&alone), draws(&beside));
        assert_ne!(alone.flows_of("sources", "start_ps"), beside.flows_of("sources", "start_ps"));
    }
    let again = run_with(&format!("transport = \"ndp\"\n{SWITCH}{entry}"), &[("run.replica", "1")]);
    assert_ne!(draws(&alone), draws(&again));
    assert_ne!(alone.0.summary.traffic_digest, again.0.summary.traffic_digest);
}

/// Flows that wait for an entry, and their replies, leave its flows as they were.
#[test]
fn who_waits_moves_no_flow_of_who_is_waited_for() {
    let requests = r#"
        transport = "datagram"
        [[traffic]]
        name = "requests"
        arrivals.poisson = { load = 0.2 }
        matrix = "uniform"
        sizes.uniform = { min = "1KB", max = "9KB" }
        flows = 30
        [topology.fat-tree]
        k = 4
    "#;
    let waiting = r#"
        [[traffic]]
        name = "replies"
        arrivals.after = { entry = "requests", delay = "100ms" }
        matrix.reply = { to = "requests" }
        sizes.fixed = "1KB"
    "#;
    let rows = |run: &Run| {
        ["start_ps", "fct_ps", "src", "dst", "size_bytes"].map(|column| run.flows_of("requests", column))
    };
    assert_eq!(rows(&run(requests)), rows(&run(&format!("{requests}{waiting}"))));
}

/// How many flows a time lets start is known once they are drawn: so many replies there are, and no more.
#[test]
fn as_many_replies_as_requests() {
    for number in ["", "flows = 100_000"] {
        let run = run(&format!(
            r#"
            transport = "datagram"
            {SWITCH}
            [[traffic]]
            name = "replies"
            arrivals.after = {{ entry = "requests" }}
            matrix.reply = {{ to = "requests" }}
            sizes.fixed = "100B"
            {number}
            [[traffic]]
            name = "requests"
            arrivals.poisson = {{ rate = 1e6, until = "200us" }}
            sources.hosts = [1, 4]
            matrix = "uniform"
            sizes.fixed = "100B"
            "#
        ));
        let (requests, replies) = (run.flows_of("requests", "dst"), run.flows_of("replies", "src"));
        assert!((150..250).contains(&requests.len()), "{}", requests.len());
        assert_eq!(requests, replies);
        assert!(run.flows_of("replies", "dst").iter().all(|host| [1, 4].contains(host)));
        assert_eq!(run.status(), Status::Complete);
    }
}

/// The sources of an entry are the hosts that send one flow after the other.
#[test]
fn on_off_sources_may_be_some_of_the_hosts() {
    let run = run_with(&ON_OFF.replace("3000", "5"), &[("traffic.sources.sources.hosts", "[0, 3]")]);
    let flows: Vec<(u64, usize)> =
        by_host(&run, "sources", "dst").into_iter().map(|(host, all)| (host, all.len())).collect();
    assert_eq!(flows, [(0, 5), (3, 5)]);
}

/// Flows are numbered: given starts first, then those that waited, as drawn, then those of the run.
#[test]
fn rows_stand_in_their_order() {
    let run = run(&format!(
        r#"
        transport = "datagram"
        {SWITCH}
        [[traffic]]
        name = "sources"
        arrivals.on-off = {{ probability = 1.0, slot = "30us", flows_each = 2 }}
        matrix.pairs = [[0, 1], [1, 2]]
        sizes.fixed = "100B"
        [[traffic]]
        name = "second"
        arrivals.after = {{ entry = "first" }}
        matrix.reply = {{ to = "first" }}
        sizes.fixed = "100B"
        [[traffic]]
        name = "first"
        arrivals.times = {{ at = ["70us", "40us"], jitter = "0s" }}
        matrix.pairs = [[3, 4], [4, 5]]
        sizes.fixed = "100B"
        "#
    ));
    let tags = common::words(&run.0.flows, "tag");
    assert_eq!(tags, ["first", "first", "second", "second", "sources", "sources", "sources", "sources"]);
    let starts = run.flows("start_ps");
    assert_eq!(starts[..2], [40 * US, 70 * US]);
    // As drawn: the reply to the first of the list comes first, though it starts later.
    assert!(starts[2] > starts[3]);
    assert_eq!(run.flows("src")[2..4], [4, 5]);
    assert_eq!(starts[4..], [0, 0, 30 * US, 30 * US]);
    let flows: Vec<u64> = run.0.summary.traffic.iter().map(|entry| entry.flows).collect();
    assert_eq!((flows, run.counters().flows), (vec![4, 2, 2], 8));
}

fn with_background(background: &str, run_table: &str) -> String {
    format!(
        r#"
        [transport.datagram]
        {LINE}
        [[traffic]]
        name = "flow"
        arrivals.times = {{ at = ["10us", "50us"], jitter = "0s" }}
        matrix.pairs = [[0, 1]]
        sizes.fixed = "1472B"
        [[traffic]]
        name = "background"
        background = true
        {background}
        {run_table}
        "#
    )
}

#[test]
fn a_run_stops_a_smallest_delay_after_the_last_awaited_flow() {
    let last = 50 * US + datagram(3);
    let endless =
        "arrivals.times = { at = [\"0s\"], jitter = \"0s\" }\nmatrix.pairs = [[1, 0]]\nsizes = \"endless\"";
    let run = run(&with_background(endless, ""));
    assert_eq!((run.status(), run.end()), (Status::Complete, last + 3 * DELAY));
    assert_eq!((run.counters().flows, run.counters().unfinished_flows), (3, 0));
    assert_eq!(run.flows_of("background", "completed"), [0]);
    // All packets that have had the time to come: the first at datagram(3), one each 12 us since then.
    let packets = (run.end() - datagram(3)) / PACKET + 1;
    assert_eq!(run.flows_of("background", "delivered_bytes"), [1472 * packets]);
    let summary = &run.0.summary.traffic[1];
    assert_eq!((summary.background, summary.mean_size_bytes), (true, None));

    // It makes no difference whether anything happens in between.
    let short =
        "arrivals.times = { at = [\"0s\"], jitter = \"0s\" }\nmatrix.pairs = [[1, 0]]\nsizes.fixed = \"10B\"";
    assert_eq!(run_with(&with_background(short, ""), &[]).end(), last + 3 * DELAY);

    // A time limit comes first if it is earlier; all flows that the run waits for are complete all the same.
    let cut = run_with(&with_background(endless, ""), &[("run.until", "100us")]);
    assert_eq!((cut.status(), cut.end()), (Status::Complete, 100 * US));
    let early = run_with(&with_background(endless, ""), &[("run.until", "90us")]);
    assert_eq!((early.status(), early.counters().unfinished_flows), (Status::Limit, 1));
}

#[test]
fn restarted_background_flows_run_to_the_end() {
    let restarted =
        "arrivals.on-off = { probability = 1.0 }\nmatrix.pairs = [[1, 0]]\nsizes.fixed = \"14720B\"";
    let run = run(&with_background(restarted, ""));
    assert_eq!((run.status(), run.counters().unfinished_flows), (Status::Complete, 0));
    // A datagram sender is done when it sends its last packet, so that the wire is never idle: ten packets each.
    let busy = run.end().div_ceil(PACKET);
    assert_eq!(run.flows_of("background", "packets_sent").iter().sum::<u64>(), busy);
    assert_eq!(run.counters().flows, 2 + busy.div_ceil(10));
}

#[test]
fn without_anybody_to_wait_for_a_run_goes_on_until_its_time() {
    let text = format!(
        r#"
        [transport.datagram]
        {LINE}
        [[traffic]]
        name = "background"
        background = true
        arrivals.at-once = {{ jitter = "0s" }}
        matrix.pairs = [[0, 1]]
        sizes = "endless"
        [run]
        until = "1ms"
        stall = "10us"
        "#
    );
    let endless = run(&text);
    assert_eq!((endless.status(), endless.end()), (Status::Complete, 1000 * US));
    // Unless they all end before.
    let short = run(&text.replace("sizes = \"endless\"", "sizes.fixed = \"1472B\""));
    assert_eq!((short.status(), short.end()), (Status::Complete, datagram(3)));
}

/// Sources without an end stop the run where memory would.
#[test]
fn so_many_flows_and_no_more() {
    let text = ON_OFF.replace(", flows_each = 3000", "") + "[run]\nuntil = \"10s\"";
    let scenario = scenario(&text, &[]);
    let setup = Setup::new(&scenario, scenario.topology.build().into()).expect("a connected network");
    let mut plan = setup.plan(&scenario, Agenda::Calendar);
    plan.flows_max = 100;
    let ended = Engine::new(&plan).run(&mut |_| true);
    assert_eq!((ended.status, ended.limit), (Status::Limit, Some(Limit::Flows)));
    // The engine compares the run with its limits once in a while: here whenever all hosts can have sent a packet.
    assert_eq!(ended.flows.len(), ended.late.len());
    assert!((101..110).contains(&ended.late.len()), "{} flows", ended.late.len());
    assert_eq!(ended.violations, Vec::<String>::new());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Dependencies of random shape: no flow starts before the notification that it waits for.
    #[test]
    fn nobody_starts_too_early(
        sizes in 1u32..40_000, blocks in 1u64..5, acked in any::<bool>(), seed in any::<u32>(), ndp in any::<bool>(),
    ) {
        let (event, column) = if acked { ("acked", "fct_acked_ps") } else { ("received", "fct_ps") };
        let transport = if ndp { "ndp" } else { "tcp" };
        let text = format!(
            r#"
            transport = "{transport}"
            {SWITCH}
            [[traffic]]
            name = "blocks"
            arrivals.blocks = {{ blocks = {blocks}, event = "{event}" }}
            matrix = "permutation"
            sizes.uniform = {{ min = "1B", max = "{sizes}B" }}
            [[traffic]]
            name = "then"
            arrivals.after = {{ entry = "blocks", each = "all", event = "{event}" }}
            matrix = "uniform"
            sizes.fixed = "1KB"
            [run]
            seed = {seed}
            "#
        );
        let run = run(&text);
        prop_assert_eq!(run.status(), Status::Complete);
        let heap = run_scenario(&scenario(&text, &[("run.port_mode", "serviced")]), Agenda::Heap);
        prop_assert_eq!(run.digest(), heap.digest());
        let (starts, ends) = (run.flows_of("blocks", "start_ps"), ends(&run, "blocks", column));
        for (before, after) in ends.chunks(6).zip(starts.chunks(6).skip(1)) {
            let last = before.iter().max().expect("six of them");
            prop_assert!(after.iter().all(|start| start >= last));
        }
        let last = ends.iter().max().expect("some");
        prop_assert!(run.flows_of("then", "start_ps").iter().all(|start| start >= last));
    }
}

#[test]
fn what_cannot_be_is_refused_with_names() {
    let text = format!(
        r#"
        transport = "tcp"
        {SWITCH}
        [[traffic]]
        name = "a"
        arrivals.after = {{ entry = "b", each = "all" }}
        matrix = "uniform"
        sizes.fixed = "1KB"
        [[traffic]]
        name = "b"
        arrivals.at-once = {{}}
        matrix.reply = {{ to = "a" }}
        sizes.fixed = "1KB"
        [[traffic]]
        name = "c"
        arrivals.after = {{ entry = "nobody" }}
        matrix = "uniform"
        sizes.fixed = "1KB"
        [[traffic]]
        name = "sources"
        arrivals.on-off = {{ probability = 0.5 }}
        matrix = "uniform"
        sizes.fixed = "1KB"
        flows = 5
        [[traffic]]
        name = "after-sources"
        arrivals.after = {{ entry = "sources" }}
        matrix = "uniform"
        sizes.fixed = "1KB"
        [[traffic]]
        name = "long"
        arrivals.poisson = {{ load = 0.5 }}
        flows = 3
        matrix = "uniform"
        sizes = "endless"
        [[traffic]]
        name = "after-long"
        arrivals.after = {{ entry = "long" }}
        matrix = "uniform"
        sizes.fixed = "1KB"
        [[traffic]]
        name = "d"
        arrivals.at-once = {{}}
        matrix = "uniform"
        sizes.fixed = "1KB"
        [[traffic]]
        name = "too-many"
        arrivals.after = {{ entry = "d" }}
        matrix = "uniform"
        sizes.fixed = "1KB"
        flows = 7
        [[traffic]]
        name = "triggers"
        matrix.pairs = [[0, 1]]
        sizes.fixed = "1KB"
        [traffic.arrivals.triggers]
        starts = ["0s", {{ trigger = 1 }}, {{ trigger = 2 }}, {{ trigger = 9 }}]
        fires = [{{ flow = 0, trigger = 1 }}, {{ flow = 4, trigger = 1 }}, {{ flow = 1, trigger = 7 }}]
        list = [{{ id = 1, kind = {{ barrier = 3 }} }}, {{ id = 2, kind = "once" }}, {{ id = 2, kind = "each" }}]
        "#
    );
    let problems = read(&text).expect_err("much is wrong");
    insta::assert_snapshot!(problems, @r#"
    traffic.a.arrivals.after.entry: leads back to itself: "a", "b", "a"
    traffic.c.arrivals.after.entry: no entry is called "nobody"; there are "a", "b", "c", "sources", "after-sources", "long", "after-long", "d", "too-many", "triggers"
    traffic.sources.arrivals.on-off.slot: is missing; a source that starts with a probability below 1 does so slot by slot: say slot = "1.2us"
    traffic.sources.flows: does not go with arrivals.on-off, whose flows are drawn during the run
    traffic.after-sources.arrivals.after.entry: the flows of "sources" are drawn during the run; name an entry whose flows are known before
    traffic.long.sizes.endless: has no end, and the run would have none; only an entry with background = true may do that
    traffic.long.arrivals.poisson.load: cannot be met: flows without an end have no mean size; give rate
    traffic.after-long.arrivals.after.entry: the flows of "long" never end
    traffic.too-many.flows: 7 is more than the 6 flows that these refer to one by one
    traffic.triggers.arrivals.triggers.list.0.kind.barrier: 3 is more than the 2 times that trigger 1 is fired
    traffic.triggers.arrivals.triggers.list.2.id: 2 is the id of another trigger already; each needs its own
    traffic.triggers.arrivals.triggers.fires.1.flow: 4 is not a flow; starts has flows 0 to 3
    traffic.triggers.arrivals.triggers.fires.2.trigger: no trigger in list has the id 7; it has 1, 2
    traffic.triggers.arrivals.triggers.starts.2.trigger: no flow fires trigger 2; name one in fires
    traffic.triggers.arrivals.triggers.starts.3.trigger: no trigger in list has the id 9; it has 1, 2
    run.until: is missing; the sources of "sources" go on for ever; give a time, or the entry flows_each or background = true
    "#);
    let only = text.split("[[traffic]]").next().expect("the head").to_string()
        + "[[traffic]]\nname = \"a\"\nbackground = true\narrivals.at-once = {}\nmatrix = \"uniform\"\nsizes = \"endless\"";
    let problems = read(&only).expect_err("no end");
    insta::assert_snapshot!(problems, @"run.until: is missing; all entries are background, and a run does not wait for such flows; give a time");

    // Without an end there is none to wait for; one block waits for nothing.
    for (blocks, wrong) in [(1, false), (2, true)] {
        let text =
            only.replace("at-once = {}", &format!("blocks.blocks = {blocks}")) + "\n[run]\nuntil = \"1ms\"";
        let said = read(&text).err().map(|problems| problems.to_string());
        assert_eq!(
            said.is_some_and(|said| said.contains("which sizes.endless never ends")),
            wrong,
            "{blocks}"
        );
    }

    // An entry with a mistake of its own is there all the same for those that refer to it.
    let faulty = text.replace(
        "name = \"d\"\n        arrivals.at-once = {}",
        "name = \"d\"\n        arrivals.at-once = { at = 3 }",
    );
    let problems = read(&faulty).expect_err("much is wrong").to_string();
    assert!(problems.contains("traffic.d.arrivals.at-once.at"), "{problems}");
    assert!(!problems.contains("no entry is called \"d\""), "{problems}");
}

/// Simulated time ends at 1,000,000 s: what would start later does not, and the clock does not run over.
#[test]
fn time_has_an_end() {
    let late = |transport: &str, arrivals: &str| {
        run(&format!(
            r#"
            topology.single-switch = {{ hosts = 4 }}
            transport = "{transport}"
            [[traffic]]
            name = "flows"
            arrivals.{arrivals}
            matrix = "permutation"
            sizes.fixed = "20KB"
            "#
        ))
    };
    for transport in ["ndp", "tcp", "datagram"] {
        for arrivals in [
            "blocks = { blocks = 3, gap = \"10000000s\" }",
            "at-once = { at = \"18446744s\" }",
            "at-once = { at = \"18446744073709551615ps\" }",
            "on-off = { probability = 1e-6, slot = \"1000s\", flows_each = 3 }",
            "on-off = { probability = 1.0, slot = \"18446744s\", flows_each = 3 }",
        ] {
            let run = late(transport, arrivals);
            assert_eq!(run.0.summary.status, Status::Limit, "{transport}, {arrivals}");
            assert_eq!(run.end(), 1_000_000_000_000_000_000);
        }
    }
}
