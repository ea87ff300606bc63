//! DCQCN against its paper's rules by hand, and the guarantee of its fabric: nothing is dropped.
//!
//! Zhu et al., "Congestion control for large-scale RDMA deployments", SIGCOMM 2015, section 3.1.

use crate::common::{MS, Run, US, read, run, run_with, scenarios};
use flowyard_sim::engine::data::finished::Status;
use flowyard_sim::transport::roce::congestion::dcqcn::{DcqcnControl, Model};
use flowyard_sim::transport::roce::congestion::{Control, gap};
use flowyard_sim::units::{Bytes, Rate, Time};

const LINE: Rate = Rate(40_000_000_000);

fn close(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < 1e-12
}

/// A notification comes, as the sender has its control know of it.
fn notify(rate: &mut Model, at: Time) {
    rate.advance(at);
    rate.on_cnp(at);
}

/// A notification halves at first, as alpha is 1; another one, soon after, once more. Without one, alpha shrinks by
/// 1/256 for each 55 us.
#[test]
fn cuts_by_hand() {
    let config = DcqcnControl::default();
    let mut rate = Model::new(&config, LINE);
    assert_eq!(gap(rate.rate(), 1000), Time::ZERO);
    notify(&mut rate, Time::from_us(100));
    assert_eq!((rate.current(), rate.alpha()), (20e9, 1.0));
    assert_eq!(gap(rate.rate(), 1000), Time(400_000));
    notify(&mut rate, Time::from_us(150));
    assert_eq!((rate.current(), rate.alpha()), (10e9, 1.0));
    // 120 us later: two times 55 us. By time the rate has risen twice, half the way to 20 Gbps each.
    notify(&mut rate, Time::from_us(270));
    let alpha = 255.0_f64 / 256.0 * 255.0 / 256.0;
    assert!(close(rate.current(), 17.5e9 * (1.0 - alpha / 2.0)));
    assert!(close(rate.alpha(), alpha * 255.0 / 256.0 + 1.0 / 256.0));
}

/// Five rises by time: four go half the way back (fast recovery), from the fifth on the target rises, too. Not before
/// the sixth of each kind, hyper increase.
#[test]
fn rises_by_hand() {
    let config = DcqcnControl { byte_counter: Bytes(1_000_000), ..DcqcnControl::default() };
    let mut rate = Model::new(&config, LINE);
    notify(&mut rate, Time::ZERO);
    notify(&mut rate, Time::ZERO);
    let (mut target, mut current) = (20e9, 10e9);
    for stage in 1..=8u64 {
        rate.advance(Time(55 * US * stage - 1));
        assert!(close(rate.current(), current), "not before the time of rise {stage}");
        rate.advance(Time(55 * US * stage));
        target += if stage >= 5 { 50e6 } else { 0.0 };
        current = (target + current) / 2.0;
        assert!(close(rate.current(), current), "rise {stage} by time");
    }
    for stage in 1..=8u64 {
        for _ in 0..999 {
            rate.on_sent(1000, Time::ZERO);
        }
        assert!(close(rate.current(), current), "not before all bytes");
        rate.on_sent(1000, Time::ZERO);
        target += if stage > 5 { 100e6 } else { 50e6 };
        current = (target + current) / 2.0;
        assert!(close(rate.current(), current), "rise {stage} by bytes");
    }
}

/// Packets that do not divide the byte counter: of 1500 B and a counter of 10 KB the k-th rise is with the packet that
/// makes 10 k KB full, the 7th, the 14th and the 20th. Bytes beyond a rise count for the next one.
#[test]
fn bytes_beyond_a_rise_count_for_the_next() {
    let config = DcqcnControl { byte_counter: Bytes(10_000), ..DcqcnControl::default() };
    let mut rate = Model::new(&config, LINE);
    notify(&mut rate, Time::ZERO);
    let rises = (1..=20).filter(|_| {
        let before = rate.current();
        rate.on_sent(1500, Time::ZERO);
        rate.current() > before
    });
    assert_eq!(rises.collect::<Vec<u32>>(), [7, 14, 20]);
}

/// A cut starts both counts anew: bytes sent before it bring the next rise by bytes no nearer, and the next rise by time is
/// a whole timer behind it (paper, figure 7).
#[test]
fn a_cut_starts_timer_and_byte_counter_anew() {
    let config = DcqcnControl { byte_counter: Bytes(10_000), ..DcqcnControl::default() };
    let mut rate = Model::new(&config, LINE);
    notify(&mut rate, Time::ZERO);
    (0..9).for_each(|_| rate.on_sent(1000, Time::ZERO));
    notify(&mut rate, Time::from_us(50));
    assert_eq!(rate.current(), 10e9);
    (0..9).for_each(|_| rate.on_sent(1000, Time::ZERO));
    rate.advance(Time::from_us(104));
    assert_eq!(rate.current(), 10e9);
    rate.on_sent(1000, Time::ZERO);
    assert_eq!(rate.current(), 15e9);
    rate.advance(Time::from_us(105));
    assert_eq!(rate.current(), 17.5e9);
}

#[test]
fn the_rate_stays_between_its_bounds() {
    let config = DcqcnControl { min_rate: Rate(1_000_000_000), ..DcqcnControl::default() };
    let mut rate = Model::new(&config, LINE);
    for notification in 0..20 {
        notify(&mut rate, Time::from_us(50 * notification));
    }
    assert_eq!(rate.current(), 1e9);
    rate.advance(Time(1_000 * MS));
    assert!(rate.current() <= 40e9 && rate.current() > 0.99 * 40e9);
}

/// Alone, a flow is sent back to back: n packets of 1062 B over two cables of 10 Gbps and 1 us.
#[test]
fn alone_at_line_rate() {
    let packet = 1062 * 800;
    for (acks, packets) in [(1, 100u64), (0, 100), (7, 50)] {
        let run = run(&format!(
            r#"
            transport.dcqcn = {{ ack_every = {acks} }}
            topology = "line"
            [[traffic]]
            name = "flow"
            arrivals.at-once = {{ jitter = "0s" }}
            matrix.pairs = [[0, 1]]
            sizes.fixed = "{packets}KB"
            "#
        ));
        let fct = (packets + 1) * packet + 2 * US;
        assert_eq!(run.flow("fct_ps"), fct);
        assert_eq!(run.flow("fct_acked_ps"), fct + 2 * 66 * 800 + 2 * US);
        assert_eq!((run.counters().pauses, run.counters().marks), (0, 0));
        let answers = if acks == 0 { 1 } else { packets.div_ceil(acks) };
        assert_eq!(run.counters().packets, packets + answers);
    }
}

fn incast(senders: u64, overrides: &[(&str, &str)]) -> Run {
    let text = format!("transport = \"dcqcn\"\n{}", scenarios::incast(senders, "40Gbps", 500_000));
    run_with(&text, overrides)
}

#[test]
fn an_incast_drops_nothing() {
    for senders in [2, 8, 64] {
        let run = incast(senders, &[]);
        assert_eq!((run.status(), run.counters().drops), (Status::Complete, 0));
        assert_eq!((run.counters().retransmissions, run.counters().timeouts), (0, 0));
        assert!(run.counters().marks > 0);
        assert!(run.counters().pauses > 0);
    }
}

/// Marks by hand: a hundred packets of 1062 B come at 2.56 Gbps to a port of 1 Gbps, before the first notification can reach the
/// sender. When packet i comes, i + 1 have come and 1 + floor(i / 2.56) have left: with itself i - floor(i / 2.56) wait. Above
/// Kmax each is marked; from Kmin to Kmax none, where the probability there is 0.
#[test]
fn packets_are_marked_above_the_threshold() {
    let waits = |i: u64| 1062 * (i - i * 100 / 256);
    for kmax in [5_000, 20_000, 40_000, 80_000] {
        let run = run(&format!(
            r#"
            transport.dcqcn.ack_every = 0
            queue.lossless = {{ kmin = "2KB", kmax = "{kmax}B", pmax = 0.0, xoff = "1MB" }}
            topology.line = {{ rates = ["2.56Gbps", "1Gbps"], delay = "1ms" }}
            [[traffic]]
            name = "flow"
            arrivals.at-once = {{ jitter = "0s" }}
            matrix.pairs = [[0, 1]]
            sizes.fixed = "100KB"
            "#
        ));
        let marks = (0..100).filter(|&i| waits(i) > kmax).count() as u64;
        assert_eq!((run.counters().marks, run.counters().pauses), (marks, 0), "{kmax}");
        assert_eq!(marks == 0, kmax == 80_000);
    }
}

/// A port that marks each ECN-capable packet behind 2 KB marks those of DCTCP, and none of a control by telemetry or round-trip
/// times: only controls that react to marks have ECN-capable packets.
#[test]
fn packets_are_markable_for_controls_that_need_it() {
    let marks = |congestion: &str| {
        let run = run(&format!(
            r#"
            transport.roce.congestion = "{congestion}"
            queue.lossless = {{ kmin = "2KB", kmax = "2KB", pmax = 1.0, xoff = "1MB" }}
            {}
            "#,
            scenarios::incast(4, "40Gbps", 500_000)
        ));
        run.counters().marks
    };
    for congestion in ["hpcc", "powertcp", "timely"] {
        assert_eq!(marks(congestion), 0, "{congestion}");
    }
    assert!(marks("dctcp") > 0);
}

/// With an acknowledgement for the last packet only, all other answers are notifications.
#[test]
fn notifications_are_rare() {
    let run = incast(4, &[("transport.dcqcn.ack_every", "0"), ("queue.lossless.pmax", "1.0")]);
    let data: u64 = run.flows("packets_sent").iter().sum();
    let notifications = run.counters().packets - data - 4;
    let most: u64 = run.flows("fct_ps").iter().map(|fct| 1 + fct / (50 * US)).sum();
    assert!(notifications >= 4 && notifications <= most, "{notifications} of at most {most}");
    assert!(run.counters().marks > 10 * notifications);
}

/// Two flows, the second 5 ms after the first: in the end each has half of the link, of which cuts leave most in use.
#[test]
fn two_flows_share() {
    let until = |end: &str| {
        run_with(
            r#"
            transport = "dcqcn"
            topology.single-switch = { hosts = 3, rate = "10Gbps" }
            [[traffic]]
            name = "first"
            background = true
            arrivals.at-once = { jitter = "0s" }
            matrix.pairs = [[1, 0]]
            sizes = "endless"
            [[traffic]]
            name = "second"
            background = true
            arrivals.at-once = { at = "5ms", jitter = "0s" }
            matrix.pairs = [[2, 0]]
            sizes = "endless"
            "#,
            &[("run.until", end)],
        )
        .flows("delivered_bytes")
    };
    let (before, after) = (until("100ms"), until("200ms"));
    let shares: Vec<_> = after.iter().zip(before).map(|(after, before)| (after - before) as f64).collect();
    let whole = 10e9 / 8.0 * 0.1 * 1000.0 / 1062.0;
    assert!(shares[0] + shares[1] > 0.85 * whole, "{shares:?} of {whole}");
    assert!((shares[0] / shares[1] - 1.0).abs() < 0.1, "{shares:?}");
}

/// Acknowledgements that are not due yet are not missed: at 10 Gbps a megabyte takes eight timeouts.
#[test]
fn silence_that_was_asked_for_is_no_loss() {
    for (acks, timeouts) in [(0, 0), (1000, 0), (500, 0), (1, 0)] {
        let run = run(&format!(
            r#"
            transport.dcqcn = {{ ack_every = {acks}, timeout = "100us" }}
            topology = "line"
            [[traffic]]
            name = "flow"
            arrivals.at-once = {{ jitter = "0s" }}
            matrix.pairs = [[0, 1]]
            sizes.fixed = "1MB"
            "#
        ));
        assert_eq!((run.flow("timeouts"), run.flow("retransmissions")), (timeouts, 0), "{acks}");
    }
}

/// A flow that starts while its link is slow goes at the link's own rate once it is mended, and so it does after a mark.
#[test]
fn the_rate_of_the_line_is_that_of_the_moment() {
    let fct = |fault: &str| {
        let run = run(&format!(
            r#"
            transport = "dcqcn"
            topology.line = {{ rates = ["10Gbps", "5Gbps"] }}
            {fault}
            [[traffic]]
            name = "flow"
            arrivals.at-once = {{ jitter = "0s" }}
            matrix.pairs = [[0, 1]]
            sizes.fixed = "20MB"
            "#
        ));
        assert!(run.counters().marks > 0);
        run.flow("fct_ps")
    };
    let slow = r#"faults.events = [
        { at = "0s", lasts = "1ms", target.cable = ["host 0", "switch 0"], change.rate = "100Mbps" },
    ]"#;
    assert!(fct(slow) < fct("") + 3 * MS);
}

/// Over ports that drop, it goes back to the first packet that was lost.
#[test]
fn what_is_lost_is_sent_again() {
    let overrides = [
        ("transport.dcqcn.lossless", "false"),
        ("transport.dcqcn.timeout", "1ms"),
        ("queue.ecn.limit.packets", "20"),
    ];
    let run = incast(8, &overrides);
    assert_eq!(run.status(), Status::Complete);
    assert!(run.counters().drops > 0 && run.counters().retransmissions >= run.counters().drops / 2);
    assert_eq!(run.flows("delivered_bytes"), [500_000; 8]);
}

/// A host that may not send data still acknowledges what it gets, if that is of another class.
#[test]
fn classes_are_stopped_one_by_one() {
    // Hosts 1 to 8 send to host 0 and are stopped for that; host 9 sends to host 1.
    let text = r#"
        topology.single-switch = { hosts = 10, rate = "40Gbps" }
        queue.lossless.xoff = "10KB"
        [[traffic]]
        name = "incast"
        arrivals.at-once = { jitter = "0s" }
        matrix.pairs = [[1, 0], [2, 0], [3, 0], [4, 0], [5, 0], [6, 0], [7, 0], [8, 0]]
        sizes.fixed = "2MB"
        [[traffic]]
        name = "other"
        arrivals.at-once = { at = "20us", jitter = "0s" }
        matrix.pairs = [[9, 1]]
        sizes.fixed = "10KB"
        "#;
    let acked = |control: &str| {
        let run = run_with(text, &[("transport.dcqcn.control_class", control)]);
        run.flows("fct_acked_ps")[8]
    };
    let alone = 11 * 1062 * 200 + 2 * US + 2 * 66 * 200 + 2 * US;
    // Apart, it waits at most for a packet on the wire of host 1 and for frames; together, until host 1 may go on.
    let most = alone + 2 * 1062 * 200;
    assert!(acked("0") <= most, "{} of {alone}", acked("0"));
    assert!(acked("1") > most, "{} of {alone}", acked("1"));
}

#[test]
fn it_asks_for_a_lossless_fabric() {
    let read = |transport: &str| {
        let text = format!(
            "topology.single-switch = {{}}\nqueue = \"ecn\"\n[transport.dcqcn]\n{transport}\n[[traffic]]\nname = \"a\"\n\
             arrivals.at-once = {{}}\nmatrix = \"permutation\"\nsizes.fixed = \"1KB\""
        );
        read(&text).map_err(|problems| problems.to_string())
    };
    let problem = read("").unwrap_err();
    assert!(problem.contains("\"ecn\" has no flow control, which transport.dcqcn needs"), "{problem}");
    assert!(problem.contains("lossless"), "{problem}");
    assert!(read("lossless = false").is_ok());
}

/// Acknowledgements in a class behind data, which fills the links both ways: they starve, timeouts repeat the data for
/// ever, and none of it is new. The run says so rather than go on.
#[test]
fn a_run_whose_answers_starve_stalls() {
    let run = run("\
        [topology.dumbbell]\nhosts = 2\nbottleneck = { rate = \"1Gbps\" }\n\
        [transport.dcqcn]\ndata_class = 0\ncontrol_class = 2\ntimeout = \"2ms\"\n\
        [queue.lossless]\nxoff = \"30KB\"\nkmin = \"2KB\"\nkmax = \"60KB\"\n\
        [[traffic]]\nname = \"flows\"\nmatrix.stride = { by = [1] }\nsizes.fixed = \"80KB\"\narrivals.at-once = {}\nflows = 20\n\
        [run]\nstall = \"30ms\"\nwork_limit = 1000000\n");
    assert_eq!(run.status(), Status::Stalled);
    assert!(run.counters().timeouts > 0 && run.counters().drops == 0);
}

/// The two spellings are one protocol: with all fields set, in an incast that marks and pauses, flows and links have the
/// same tables but for the transport's name.
#[test]
fn dcqcn_by_either_spelling_is_the_same() {
    let own = "g = 0.01\ninitial_alpha = 0.9\nalpha_timer = \"40us\"\nrate_timer = \"30us\"\nbyte_counter = \"20KB\"\n\
               fast_recovery = 3\nrate_ai = \"70Mbps\"\nrate_hai = \"150Mbps\"\nmin_rate = \"50Mbps\"\n";
    let shared = "payload = \"900B\"\nack_every = 2\ncnp_interval = \"20us\"\ndata_class = 2\ncontrol_class = 1\n\
                  timeout = \"1ms\"\n";
    let traffic = "topology.single-switch = { hosts = 9, rate = \"40Gbps\" }\nqueue.lossless.xoff = \"50KB\"\n\
                   [[traffic]]\nname = \"incast\"\narrivals.at-once = {}\nmatrix.incast = { senders = 8 }\n\
                   sizes.fixed = \"500KB\"\n";
    let runs = [
        format!("{traffic}[transport.dcqcn]\n{own}{shared}"),
        format!("{traffic}[transport.roce]\n{shared}[transport.roce.congestion.dcqcn]\n{own}"),
        format!("{traffic}[transport]\ndcqcn = {{}}"),
        format!("{traffic}[transport]\nroce = {{}}"),
        format!("{traffic}[transport]\nroce.congestion = \"dcqcn\""),
    ]
    .map(|text| {
        let run = run(&text);
        assert!(run.counters().marks > 0 && run.counters().pauses > 0);
        let mut flows = run.0.flows.clone();
        flows.columns.retain(|column| column.definition.name != "transport");
        (flows, run.0.links.clone(), run.counters().events, run.end())
    });
    assert_eq!(runs[0], runs[1]);
    assert!(runs[2] == runs[3] && runs[3] == runs[4]);
    assert!(runs[0] != runs[2]);
}

/// Without acknowledgements but the last a control has nothing to act on; DCQCN needs none.
#[test]
fn dcqcn_needs_no_acknowledgements() {
    let text = "topology.single-switch = {}\n[transport.roce]\nack_every = 0\n[[traffic]]\nname = \"a\"\n\
                arrivals.at-once = {}\nmatrix = \"permutation\"\nsizes.fixed = \"1KB\"";
    assert!(read(text).is_ok());
}
