//! Advice on settings that the rest of a scenario leaves without effect.

use flowyard_sim::Checked;
use flowyard_sim::records::Values;
use flowyard_sim::scenario::{Format, no_files};

/// Paths and values of the advice on a flow with these settings.
fn told(settings: &str) -> Vec<(String, String)> {
    let traffic = "matrix.pairs = [[0, 1]]";
    read(&format!("{settings}\n{traffic}"))
}

/// The same of a matrix without settings.
fn of(settings: &str, matrix: &str) -> Vec<(String, String)> {
    read(&format!("{settings}\nmatrix = \"{matrix}\""))
}

fn read(settings: &str) -> Vec<(String, String)> {
    let rest = "arrivals = \"at-once\"\nsizes.fixed = \"10KB\"";
    own_advice(&format!("topology = \"single-switch\"\n{settings}\n{rest}"))
}

fn own_advice(text: &str) -> Vec<(String, String)> {
    let checked = Checked::read(text, Format::Toml, &[], &no_files).expect("a scenario");
    let advice = checked.outlook().expect("a small run").advice;
    let own = advice.into_iter().filter(|advice| !advice.path.contains("rto_"));
    own.map(|advice| (advice.path, advice.write)).collect()
}

/// The same for the scenario's settings alone.
fn with(settings: &str) -> Vec<(String, String)> {
    told(&format!("{settings}\n[[traffic]]\nname = \"a\""))
}

/// The same with settings before the traffic.
fn with_before(settings: &str, flow: &str) -> Vec<(String, String)> {
    let (transport, entry) = flow.split_once('\n').expect("a transport, then an entry");
    told(&format!("{transport}\n{settings}\n{entry}"))
}

/// The advice on a scenario that ends with these faults.
fn told_with_faults(faults: &str) -> Vec<(String, String)> {
    let text = format!(
        "topology = \"single-switch\"\ntransport = \"tcp\"\n[[traffic]]\nname = \"a\"\narrivals = \"at-once\"\n\
         matrix = \"permutation\"\nsizes.fixed = \"10KB\"\n{faults}"
    );
    own_advice(&text)
}

fn one(path: &str, write: &str) -> Vec<(String, String)> {
    vec![(path.into(), write.into())]
}

#[test]
fn fields_that_others_leave_unread() {
    assert_eq!(
        with("transport.ndp.pull_weights = [8, 1]"),
        one("transport.ndp.pull_weights", "transport.ndp.pull_order = \"weighted\"")
    );
    assert_eq!(with("transport.ndp = { pull_order = \"weighted\", pull_weights = [8, 1] }"), []);
    assert_eq!(
        with("transport.ndp = { pull_spacing = \"12us\", pull_rate = 0.5 }"),
        one("transport.ndp.pull_rate", "nothing: leave pull_rate out")
    );
    assert_eq!(
        with("transport.numfabric = { weights = \"fixed\", alpha = 2.0 }"),
        one("transport.numfabric.alpha", "transport.numfabric.weights = \"prices\"")
    );
    assert_eq!(with("transport.numfabric.alpha = 2.0"), []);
    assert_eq!(
        with("transport.mptcp.tcp.ecn_retransmissions = true"),
        one("transport.mptcp.tcp.ecn_retransmissions", "transport.mptcp.tcp.ecn = true")
    );
}

/// Ports that drop unscheduled packets before others have none to drop under a transport that marks none.
#[test]
fn selective_dropping_of_packets_that_nobody_marks() {
    let plain = || one("queue.selective-drop", "queue = \"strict-priority\"");
    let told = |transport: &str, queue: &str| {
        with(&format!("transport.{transport}\nqueue.selective-drop = {queue}"))
    };
    for transport in ["tcp = {}", "phost.free_tokens = 0", "dcpim.short = 0"] {
        assert_eq!(told(transport, "{}"), plain(), "{transport}");
    }
    for transport in ["homa = {}", "phost = {}", "dcpim = {}", "ndp.trimming = false"] {
        assert_eq!(told(transport, "{}"), [], "{transport}");
    }
    let marking = "{ mark = \"port\" }";
    assert_eq!(told("sird.unscheduled = \"0B\"", marking), plain());
    assert_eq!(told("sird.unscheduled = \"10KB\"", marking), []);
}

#[test]
fn fields_for_flows_that_there_are_none_of() {
    let flow = "matrix.pairs = [[0, 1]]";
    let leave = |path: &str| one(path, &format!("nothing: leave {} out", path.rsplit('.').next().unwrap()));
    let idle = "transport.tcp.idle_restart = \"initial-window\"\n[[traffic]]\nname = \"a\"";
    assert_eq!(read(&format!("{idle}\n{flow}")), leave("transport.tcp.idle_restart"));
    assert_eq!(read(&format!("{idle}\nconnection = \"kept\"\n{flow}")), []);
    for (settings, path) in [
        ("transport.tcp.congestion.d2tcp.max_exponent = 3.0", "transport.tcp.congestion.d2tcp.max_exponent"),
        ("transport.d3.guard_rtts = 2.0", "transport.d3.guard_rtts"),
    ] {
        let settings = format!("{settings}\n[[traffic]]\nname = \"a\"");
        let own = |found: Vec<(String, String)>| -> Vec<_> {
            found.into_iter().filter(|(at, _)| at == path).collect()
        };
        assert_eq!(own(read(&format!("{settings}\n{flow}"))), leave(path));
        assert_eq!(own(read(&format!("{settings}\ndeadline = \"10ms\"\n{flow}"))), []);
    }
}

/// Treatment of late flows, and an order of deadlines, where no flow has one.
#[test]
fn fields_for_deadlines_that_there_are_none_of() {
    let flow = "[[traffic]]\nname = \"a\"\nmatrix.pairs = [[0, 1]]";
    for (settings, path) in [
        ("transport.pdq.late = \"keep\"", "transport.pdq.late"),
        ("transport = \"pdq\"\nagent.pdq.order = \"edf\"", "agent.pdq.order"),
    ] {
        let own = |rest: &str| {
            let told = read(&format!("{settings}\n{flow}\n{rest}"));
            told.into_iter().filter(|(at, _)| at == path).count()
        };
        assert_eq!(own(""), 1, "{path}");
        assert_eq!(own("deadline = \"10ms\""), 0, "{path}");
        assert_eq!(own("deadlines.exponential.mean = \"10ms\""), 0, "{path}");
    }
    for order in ["pdq", "sjf", "peq"] {
        assert_eq!(read(&format!("transport = \"pdq\"\nagent.pdq.order = \"{order}\"\n{flow}")), []);
    }
}

/// Without deadlines the order of deadlines is that of starts: of 100 KB and of 10 KB 1 us later, over 1 Gbps, the longer
/// goes first, and by remaining bytes the shorter one does.
#[test]
fn an_order_of_deadlines_without_any_is_that_of_starts() {
    let first = |order: &str| {
        let text = format!(
            "topology.single-switch = {{ hosts = 3, rate = \"1Gbps\" }}\ntransport = \"pdq\"\nagent.pdq.order = \"{order}\"\n\
             [[traffic]]\nname = \"long\"\narrivals = \"at-once\"\nmatrix.pairs = [[0, 2]]\nsizes.fixed = \"1MB\"\n\
             [[traffic]]\nname = \"short\"\narrivals.at-once.at = \"1us\"\nmatrix.pairs = [[1, 2]]\n\
             sizes.fixed = \"100KB\""
        );
        let checked = Checked::read(&text, Format::Toml, &[], &no_files).expect("a scenario");
        let outcome = checked.simulate(&mut |_| true, &mut []).expect("a run");
        let Values::U64(ends) = &outcome.flows.column("fct_ps").expect("a column").values else {
            panic!("times are whole numbers")
        };
        if ends[0] < ends[1] { "long" } else { "short" }
    };
    assert_eq!((first("edf"), first("sjf")), ("long", "short"));
}

/// A priority under a controller of rates has an effect by weights of which not all flows have the same: in the field where
/// each controller has them.
#[test]
fn priorities_under_controllers() {
    for (controller, field) in [
        ("max-min", "filling.priorities"),
        ("asy", "normalisation.priorities"),
        ("flowtune", "allocator.weights"),
    ] {
        let at = format!("controller.{controller}.{field}");
        let priorities = |weights: &str| {
            with(&format!(
                "transport = \"central\"\n{weights}\n[[traffic]]\nname = \"b\"\npriority = 1\n{FLOW}"
            ))
        };
        let told =
            one("traffic.b.priority", &format!("{at} = [4.0, 1.0], a weight for each priority from 0 on"));
        assert_eq!(priorities(&format!("controller = \"{controller}\"")), told);
        assert_eq!(priorities(&format!("{at} = [3.0, 3.0]")), told);
        assert_eq!(priorities(&format!("{at} = [3.0, 2.0]")), []);
    }
}

/// A flow of an entry that is not the last.
const FLOW: &str = "arrivals = \"at-once\"\nsizes.fixed = \"10KB\"\nmatrix.pairs = [[0, 1]]";

#[test]
fn samples_of_nothing() {
    let flow = "transport = \"tcp\"\n[[traffic]]\nname = \"a\"";
    let write = "observe.samples.links = [\"*\"], or leave out links and flows, for all";
    let samples = |fields: &str| with_before(&format!("[observe.samples]\nevery = \"1us\"\n{fields}"), flow);
    for none in ["links = []\nflows = []", "links = []\nflow_limit = 0"] {
        assert_eq!(samples(none), one("observe.samples", write));
    }
    for some in ["", "links = []", "flows = []", "flow_limit = 0"] {
        assert_eq!(samples(some), []);
    }
}

/// A balancer on a network with one path between any two hosts, unless routes change, or another path may be taken.
#[test]
fn balancers_without_a_choice() {
    let leave = "nothing: leave balancer out";
    let flow = "transport = \"tcp\"\n[[traffic]]\nname = \"a\"";
    let shared = |balancer: &str| with_before(&format!("routing.balancer = \"{balancer}\""), flow);
    for balancer in ["per-packet", "permuted", "nix", "mod-k", "single"] {
        assert_eq!(shared(balancer), one("routing.balancer", leave), "{balancer}");
    }
    // What TCP has anyway, as a run's resolved scenario names it; and paths through any switch.
    assert_eq!(shared("per-flow"), []);
    assert_eq!(shared("valiant"), []);
    let own = "transport = \"tcp\"\n[[traffic]]\nname = \"a\"\nrouting.balancer = \"nix\"";
    assert_eq!(told(own), one("traffic.a.routing.balancer", leave));
    let many = |topology: &str, faults: &str| {
        own_advice(&format!(
            "topology = \"{topology}\"\ntransport = \"tcp\"\nrouting.balancer = \"nix\"\n[[traffic]]\nname = \"a\"\n\
             arrivals = \"at-once\"\nsizes.fixed = \"10KB\"\nmatrix.pairs = [[0, 1]]\n{faults}"
        ))
    };
    assert_eq!(many("dumbbell", ""), one("routing.balancer", leave));
    assert_eq!(many("leaf-spine", ""), []);
    let down = "change = \"down\"";
    let faults = format!("[faults]\nevents = [{{ at = \"1us\", target.random-cables.share = 0.5, {down} }}]");
    assert_eq!(many("dumbbell", &faults), []);
    assert_eq!(many("dumbbell", &faults.replace(down, "change.loss = 0.5")), one("routing.balancer", leave));
}

/// So it is, over a lone spine, where some packets are lost.
#[test]
fn balancers_without_a_choice_change_nothing() {
    let digest = |transport: &str, balancer: &str| {
        let text = format!(
            "topology.leaf-spine = {{ leaves = 2, spines = 1, hosts = 2 }}\ntransport.{transport}\nrouting.balancer = \"{balancer}\"\nrun.measure = \"all\"\n\
             [[traffic]]\nname = \"a\"\narrivals = \"at-once\"\nmatrix = \"permutation\"\nsizes.fixed = \"300KB\"\n\
             [faults]\nevents = [{{ at = \"0s\", target.random-cables.share = 1.0, change.loss = 0.01 }}]"
        );
        let checked = Checked::read(&text, Format::Toml, &[], &no_files).expect("a scenario");
        let outcome = checked.simulate(&mut |_| true, &mut []).expect("a run");
        outcome.summary.digest
    };
    for transport in ["tcp = {}", "mptcp.subflows = 2", "pfabric = {}", "dcqcn = {}"] {
        let plain = digest(transport, "single");
        for balancer in ["per-flow", "per-packet", "permuted", "nix", "dual", "mod-k"] {
            assert_eq!(digest(transport, balancer), plain, "{transport} {balancer}");
        }
    }
}

/// Sessions read TCP's fields as TCP does, below their own.
#[test]
fn fields_of_sessions_for_flows_that_there_are_none_of() {
    let flow = "matrix.pairs = [[0, 1]]";
    for name in ["mptcp", "parallel-tcp"] {
        let at = format!("transport.{name}.tcp");
        let count = if name == "mptcp" { "subflows = 2" } else { "paths.count = 1" };
        let idle = format!("{at}.idle_restart");
        let idling = format!(
            "transport.{name} = {{ {count}, tcp.idle_restart = \"initial-window\" }}\n[[traffic]]\nname = \"a\""
        );
        assert_eq!(read(&format!("{idling}\n{flow}")), one(&idle, "nothing: leave tcp.idle_restart out"));
        assert_eq!(read(&format!("{idling}\nconnection = \"kept\"\n{flow}")), []);
        let late = format!(
            "transport.{name} = {{ {count}, tcp.congestion.d2tcp.max_exponent = 3.0 }}\n[[traffic]]\nname = \"a\""
        );
        let path = format!("{at}.congestion.d2tcp.max_exponent");
        let own = |settings: &str| read(settings).into_iter().any(|(at, _)| at == path);
        assert!(own(&format!("{late}\n{flow}")), "{name}");
        assert!(!own(&format!("{late}\ndeadline = \"10ms\"\n{flow}")), "{name}");
    }
}

#[test]
fn fields_of_several_connections_where_there_is_one() {
    for (field, value) in [
        ("join", "\"at-once\""),
        ("receive_window", "\"subflow\""),
        ("reinject", "false"),
        ("recovery", "\"fuso\""),
    ] {
        let mptcp =
            |subflows| with(&format!("transport.mptcp = {{ subflows = {subflows}, {field} = {value} }}"));
        let leave = format!("nothing: leave {field} out");
        assert_eq!(mptcp(1), one(&format!("transport.mptcp.{field}"), &leave));
        assert_eq!(mptcp(2), []);
    }
    let alone = with("transport.parallel-tcp = { paths.count = 1, partition = \"divide\" }");
    assert_eq!(alone, one("transport.parallel-tcp.partition", "nothing: leave partition out"));
}

/// So it is: a lossy link, with timeouts.
#[test]
fn one_connection_reads_no_field_of_several() {
    let digest = |settings: &str| {
        let text = format!(
            "[topology.dumbbell]\nhosts = 3\n[queue.drop-tail]\nlimit.packets = 4\n[transport.{settings}]\n\
             tcp = {{ rto_min = \"1ms\", rto_initial = \"2ms\", delayed_ack_timeout = \"100us\", receive_window = \"30KB\" }}\n\
             [[traffic]]\nname = \"a\"\narrivals = \"at-once\"\nmatrix.pairs = [[0, 3], [1, 4], [2, 5]]\n\
             sizes.fixed = \"2MB\"\n[run]\nmeasure = \"all\""
        );
        let checked = Checked::read(&text, Format::Toml, &[], &no_files).expect("a scenario");
        let outcome = checked.simulate(&mut |_| true, &mut []).expect("a run");
        assert!(outcome.summary.counters.timeouts > Some(0));
        outcome.summary.digest
    };
    let plain = digest("mptcp]\nsubflows = 1\n#");
    for other in ["join = \"at-once\"", "receive_window = \"subflow\"", "reinject = false"] {
        assert_eq!(digest(&format!("mptcp]\nsubflows = 1\n{other}\n#")), plain, "{other}");
    }
    let plain = digest("parallel-tcp]\npaths.count = 1\n#");
    for partition in ["divide", "proportional", "arrival-time", "last-idle", "in-order"] {
        let other = format!("parallel-tcp]\npaths.count = 1\npartition = \"{partition}\"\n#");
        assert_eq!(digest(&other), plain, "{partition}");
    }
}

#[test]
fn times_of_faults_that_there_are_none_of() {
    let delay = "[faults]\ndetection_delay = \"7us\"";
    assert_eq!(told_with_faults(delay), one("faults.detection_delay", "nothing: leave detection_delay out"));
    let events = "events = [{ at = \"1us\", target.random-cables.share = 0.5, change = \"down\" }]";
    assert_eq!(told_with_faults(&format!("{delay}\n{events}")), []);
}

#[test]
fn marks_that_no_port_makes() {
    let datagrams = |queue: &str| with(&format!("transport.datagram.ecn_capable = true\n{queue}"));
    let leave = one("transport.datagram.ecn_capable", "nothing: leave ecn_capable out");
    assert_eq!(datagrams(""), leave);
    assert_eq!(datagrams("queue = \"drop-tail\""), leave);
    assert_eq!(datagrams("queue = \"ecn\""), []);
    assert_eq!(datagrams("queue.codel.ecn = true"), []);
}

#[test]
fn marks_that_no_packet_takes() {
    let [tcp, ecn] = ["transport = \"tcp\"", "transport.tcp.ecn = true"];
    assert_eq!(with(&format!("{tcp}\nqueue = \"ecn\"")), one("queue.ecn", "queue = \"drop-tail\""));
    assert_eq!(
        with(&format!("{tcp}\nqueue.ecn.threshold.packets = 20")),
        one("queue.ecn.threshold", "nothing: leave threshold out")
    );
    assert_eq!(with(&format!("{tcp}\nqueue.red.ecn = true"))[0].0, "queue.red.ecn");
    assert_eq!(with(&format!("{tcp}\nqueue = \"red\"")), []);
    for queue in ["queue = \"ecn\"", "queue.red.ecn = true"] {
        assert_eq!(with(&format!("{ecn}\n{queue}")), []);
    }
}

#[test]
fn parts_that_no_entry_uses() {
    let own = "transport.tcp.mss = \"1000B\"\n[[traffic]]\nname = \"a\"\ntransport = \"datagram\"";
    assert_eq!(told(own), one("transport", "transport = \"tcp\""));
    // A transport must be named.
    assert_eq!(told(&own.replace(".tcp.mss = \"1000B\"", " = \"tcp\"")), []);
    let balancer = "transport = \"tcp\"\nrouting.balancer = \"per-packet\"\n[[traffic]]\nname = \"a\"";
    let own = format!("{balancer}\nrouting.balancer = \"per-flow\"");
    assert_eq!(told(&own), one("routing.balancer", "nothing: leave routing.balancer out"));
    let among = "transport = \"tcp\"\n[[traffic]]\nname = \"a\"\namong_sources = true";
    assert_eq!(
        of(among, "uniform"),
        one("traffic.a.among_sources", "traffic.a.sources.share = 0.5, or others")
    );
    assert_eq!(of(&format!("{among}\nsources.share = 0.5"), "uniform"), []);
}
