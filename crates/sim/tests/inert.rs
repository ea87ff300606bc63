//! Advice on settings that the rest of a scenario leaves without effect.

use flowyard_sim::Checked;
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
    let text = format!("topology = \"single-switch\"\n{settings}\n{rest}");
    let checked = Checked::read(&text, Format::Toml, &[], &no_files).expect("a scenario");
    let advice = checked.outlook().expect("a small run").advice;
    let own = advice.into_iter().filter(|advice| !advice.path.contains("rto_"));
    own.map(|advice| (advice.path, advice.write)).collect()
}

/// The same for the scenario's settings alone.
fn with(settings: &str) -> Vec<(String, String)> {
    told(&format!("{settings}\n[[traffic]]\nname = \"a\""))
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
        with("transport.mptcp.tcp.ecn_retransmissions = true"),
        one("transport.mptcp.tcp.ecn_retransmissions", "transport.mptcp.tcp.ecn = true")
    );
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
    assert_eq!(told(own), one("transport", "nothing: leave out what transport sets"));
    // A transport must be named.
    assert_eq!(told(&own.replace(".tcp.mss = \"1000B\"", " = \"tcp\"")), []);
    let among = "transport = \"tcp\"\n[[traffic]]\nname = \"a\"\namong_sources = true";
    assert_eq!(
        of(among, "uniform"),
        one("traffic.a.among_sources", "traffic.a.sources.share = 0.5, or others")
    );
    assert_eq!(of(&format!("{among}\nsources.share = 0.5"), "uniform"), []);
}
