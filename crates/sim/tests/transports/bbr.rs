//! BBR in runs: how it starts, the queue that it keeps, its round trips without a queue, losses, and shares of a port. The
//! controller alone is tested beside it.

use crate::common::{MS, Run, US, run};

/// A line of 10 Gbps and 100 Mbps. A packet takes 120 us at the port; the round trip without a queue is 10 ms of cables and
/// 0.125 ms of packets and acknowledgements, in which the path holds 84.4 packets.
const PACKETS: f64 = 84.4;
/// Payload that the bottleneck carries in a second.
const PAYLOAD: f64 = 1460.0 / 1500.0 * 100e6 / 8.0;
const MSS: f64 = 1460.0;

/// One flow without an end, or several, over a port with room for so many packets.
fn line(packets: u64, until: &str, settings: &str, more: &str) -> Run {
    run(&format!(
        r#"
        queue.drop-tail.limit.packets = {packets}
        run.until = "{until}"
        observe.samples = {{ every = "1ms", links = ["switch 0 -> host 1"] }}
        [topology.line]
        rates = ["10Gbps", "100Mbps"]
        delay = "2500us"
        [transport.tcp]
        preset = "linux"
        mss = "1460B"
        delayed_ack = 1
        receive_window = "10MB"
        {settings}
        [[traffic]]
        name = "flow"
        background = true
        arrivals.at-once = {{ jitter = "0s" }}
        matrix.pairs = [[0, 1]]
        sizes = "endless"
        {more}
        "#
    ))
}

fn lone(packets: u64, until: &str, settings: &str) -> Run {
    line(packets, until, settings, "")
}

const BBR: &str = "congestion = \"bbr\"";

/// Samples of a series within a span of milliseconds.
fn within(run: &Run, series: &str, from_ms: u64, until_ms: u64) -> Vec<f64> {
    let inside = |row: &(u64, f64)| (from_ms * MS..until_ms * MS).contains(&row.0);
    run.samples(series).into_iter().filter(inside).map(|row| row.1).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn most(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most: f64, value| most.max(*value))
}

/// Startup doubles the window each round trip: ten segments half a round trip after the handshake, then 20 and 40; the 80 behind them
/// take a round trip at the port.
#[test]
fn startup_doubles_each_round() {
    let run = lone(1000, "60ms", BBR);
    for round in 0..3 {
        let at = 10_125 * (round + 1) + 9_000;
        let window = within(&run, "cwnd_bytes", at / 1000, at / 1000 + 1)[0] / MSS;
        let expected = 10.0 * f64::from(1 << round);
        assert!((window / expected - 1.0).abs() < 0.15, "round {round}: {window}, not {expected}");
    }
}

/// Packets that the port holds on average in ProbeBw at most, and at the peak of a cycle, if data were a fluid.
///
/// A cycle has a phase at the gain 1.25, one at 0.75 and six at 1, of a round trip each, and all rates are 1 % below the
/// measured bandwidth. So the queue grows by 1.25 x 0.99 - 1 = 0.2375 products a round trip, then falls by 0.2575, and by 0.01
/// in each of the six. The phase that probes lasts until 1.25 products, the room for three segments, even, and two more are
/// in flight: 112 packets, 27.6 above the product, for which it takes 1.34 round trips. The phase that drains lasts one at
/// most, and leaves 5.9; six later 0.8 are left, from which the next cycle starts. The areas below these three lines, 19.0,
/// 16.7 and 20.0, in 8.34 round trips are 6.7 packets, and one is on the wire. With ideal gains, and without room for
/// segments, it would be two triangles of a quarter of a product in eight round trips.
fn queue_of_a_cycle() -> (f64, f64) {
    let target = ((1.25 * PACKETS).ceil() + 3.0) / 2.0;
    let peak = 2.0 * target.ceil() + 2.0 - PACKETS;
    let (up, down, slow) = (0.2375 * PACKETS, 0.2575 * PACKETS, 0.01 * PACKETS);
    let drained = peak - down;
    let least = drained - 6.0 * slow;
    let probes = (peak - least) / up;
    let areas = [(least, peak, probes), (peak, drained, 1.0), (drained, least, 6.0)];
    let area: f64 = areas.iter().map(|(from, to, round_trips)| (from + to) / 2.0 * round_trips).sum();
    (area / (probes + 7.0) + 1.0, peak + 1.0)
}

/// Over a deep buffer Startup leaves a queue of more than a bandwidth-delay product, which Drain takes away. Then a cycle of
/// eight phases delivers the bandwidth of the port: within 1 %, by which it is paced below it. Its queue is that of the gains
/// at most, with a packet that goes by the acknowledgement that ends the phase, and that of ideal gains at least.
#[test]
fn a_lone_flow_fills_the_port_and_keeps_no_queue() {
    let run = lone(2000, "5s", BBR);
    let queue = |from, until| -> Vec<f64> {
        within(&run, "queue_bytes", from, until).iter().map(|bytes| bytes / 1500.0).collect()
    };
    assert!(most(&queue(0, 200)) > PACKETS, "{}", most(&queue(0, 200)));
    let empties = queue(60, 400).iter().any(|packets| *packets <= 4.0);
    assert!(empties, "{:?}", queue(60, 400));
    let goodput = mean(&within(&run, "rate_bps", 1_000, 5_000)) / 8.0;
    assert!(goodput > 0.985 * PAYLOAD && goodput < 1.001 * PAYLOAD, "{goodput} of {PAYLOAD}");
    let settled = queue(1_000, 5_000);
    let (average, peak) = queue_of_a_cycle();
    assert!((average - 7.7).abs() < 0.05 && (peak - 28.6).abs() < 0.05, "{average} and {peak} by hand");
    assert!(most(&settled) <= peak + 1.0 && most(&settled) > 0.25 * PACKETS, "{} of {peak}", most(&settled));
    let least = 0.25 / 8.0 * PACKETS + 1.0;
    assert!((least..average).contains(&mean(&settled)), "{} of {average}", mean(&settled));
    assert_eq!((run.counters().drops, run.counters().timeouts), (0, 0));
}

/// The window of ProbeBw is two products and the room for three segments, even, with two more while it probes.
#[test]
fn the_window_is_two_products() {
    let run = lone(2000, "3s", BBR);
    let windows: Vec<f64> =
        within(&run, "cwnd_bytes", 1_000, 3_000).iter().map(|bytes| bytes / MSS).collect();
    let (least, most) = (windows.iter().fold(f64::MAX, |a: f64, b| a.min(*b)), most(&windows));
    assert!(least > 2.0 * PACKETS * 0.97 && most <= 2.0 * PACKETS + 8.0, "{least} to {most}");
    let one = lone(2000, "3s", "congestion.bbr = { cwnd_gain = 1.0 }");
    let windows = within(&one, "cwnd_bytes", 1_000, 3_000);
    assert!(mean(&windows) / MSS < PACKETS + 8.0, "{}", mean(&windows) / MSS);
}

/// Ten seconds after the least round trip four segments are in flight, for 200 ms and the round trips before and after it, at
/// 4 x 1460 B in 10.1 ms; before and afterwards the port is full.
#[test]
fn four_segments_measure_the_round_trip() {
    let run = lone(2000, "11s", BBR);
    let windows = run.samples("cwnd_bytes");
    let held: Vec<u64> =
        windows.iter().filter(|row| row.1 == 4.0 * MSS && row.0 > 100 * MS).map(|row| row.0).collect();
    let (first, last) = (held[0], held[held.len() - 1]);
    assert!(first > 10_000 * MS && first < 10_200 * MS, "{first}");
    let span = last - first;
    assert!((200 * MS..200 * MS + 3 * 10_125 * US).contains(&span), "{span}");
    let (from, until) = (first / MS + 25, last / MS - 5);
    let rate = mean(&within(&run, "rate_bps", from, until)) / 8.0;
    let expected = 4.0 * MSS / 0.010_125;
    assert!((rate / expected - 1.0).abs() < 0.1, "{rate}, not {expected}");
    let after = mean(&within(&run, "rate_bps", last / MS + 40, 11_000)) / 8.0;
    assert!(after > 0.95 * PAYLOAD, "{after}");
    let short =
        lone(2000, "2s", "congestion.bbr = { min_rtt_window = \"500ms\", probe_rtt_duration = \"20ms\" }");
    let held = within(&short, "cwnd_bytes", 200, 2_000).iter().filter(|bytes| **bytes == 4.0 * MSS).count();
    assert!((60..160).contains(&held), "{held} ms in ProbeRtt");
}

/// A port with a tenth of a product loses packets, and losses do not slow the flow: 1 % at random leaves more than 90 % of the
/// bandwidth, where CUBIC has a tenth.
#[test]
fn losses_do_not_reduce_the_window() {
    let loss = r#"
        [[faults.events]]
        at = "0ps"
        target.link = ["switch 0", "host 1"]
        change.loss = 0.01
    "#;
    let goodput = |settings: &str| {
        let run = line(1000, "5s", settings, loss);
        mean(&within(&run, "rate_bps", 1_000, 5_000)) / 8.0 / PAYLOAD
    };
    let (bbr, cubic) = (goodput(BBR), goodput("congestion = \"cubic\""));
    assert!(bbr > 0.9 && cubic < 0.4, "{bbr} and {cubic}");
}

/// Two flows, the second one second later, share a port of a product by halves within 15 %, over 20 s.
#[test]
fn two_flows_share_a_port() {
    let later = r#"
        [[traffic]]
        name = "later"
        background = true
        arrivals.at-once = { at = "1s", jitter = "0s" }
        matrix.pairs = [[0, 1]]
        sizes = "endless"
    "#;
    let run = line(84, "40s", BBR, later);
    let delivered = run.flows("delivered_bytes");
    let share = delivered[1] as f64 / (delivered[0] + delivered[1]) as f64;
    assert!((share - 0.5).abs() < 0.15, "{share}");
}
