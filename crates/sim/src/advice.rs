//! What a scenario says that is allowed and probably not meant: settings that throttle or distort a run in silence.
//!
//! Each kind of advice is a function of plain numbers, or of one configuration and the network, and says what follows in
//! numbers, and what to write instead. Advice changes nothing: no result, no exit code. `run.advice = false` silences it.

use serde::Serialize;

use crate::derived::Longest;
use crate::queue::ecn::{threshold_busy, threshold_least};
use crate::queue::lossless::Lossless;
use crate::queue::{Limit, Queue};
use crate::scenario::Scenario;
use crate::setup::Setup;
use crate::traffic::arrivals::Arrivals;
use crate::transport::pfabric::Pfabric;
use crate::transport::tcp::Tcp;
use crate::transport::{Framing, Transport};
use crate::units::{Bytes, Time};

/// One thing that is probably not meant.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// Where, as `--set` would address it.
    pub path: String,
    /// What follows from it, with its numbers.
    pub message: String,
    /// What to write instead: KEY = VALUE.
    pub write: String,
}

/// All that a scenario, set up, probably does not mean.
pub fn advice(scenario: &Scenario, setup: &Setup) -> Vec<Advice> {
    let mut found = Vec::new();
    if !scenario.run.advice {
        return found;
    }
    let used = setup.transports.iter().zip(&setup.paths).zip(&setup.longest);
    for ((transport, path), longest) in used {
        let path = format!("{path}.{}", transport.name());
        match transport {
            Transport::Ndp(ndp) => {
                let packets = (u64::from(ndp.initial_window()), transport.full_packet());
                found.extend(window(&path, "initial_window", packets, longest, "\"bdp\"".into()));
            }
            Transport::Pfabric(pfabric) => {
                let packets = (u64::from(pfabric.max_window()), transport.full_packet());
                found.extend(window(&path, "max_window", packets, longest, "\"bdp\"".into()));
                found.extend(pfabric_timeout(&path, pfabric, longest));
            }
            Transport::Tcp(tcp) => found.extend(tcp_advice(&path, tcp, longest)),
            Transport::Mptcp(mptcp) => {
                found.extend(tcp_advice(&format!("{path}.tcp"), &mptcp.tcp, longest));
            }
            _ => (),
        }
        found.extend(buffer(&setup.queue, transport, longest));
        found.extend(marking(&setup.queue, transport, longest, scenario.full_packet()));
    }
    if let Queue::Lossless(lossless) = &setup.queue {
        let all = setup.longest.iter().copied().fold(Longest::default(), Longest::or);
        found.extend(lossless_marking(lossless, &all));
    }
    for entry in &scenario.traffic {
        if let (Arrivals::Poisson(poisson), Some(framing)) =
            (&entry.arrivals, scenario.transport_of(entry).framing())
            && let Some(offered) = poisson.load
        {
            let path = format!("traffic.{}.arrivals.poisson.load", entry.name);
            found.extend(load(&path, offered, framing, entry.sizes.mean()));
        }
    }
    // Transports that share ports may be told the same of them.
    let mut seen: Vec<Advice> = Vec::new();
    for advice in found {
        if seen.iter().all(|known| known.path != advice.path) {
            seen.push(advice);
        }
    }
    seen
}

/// A share that is not worth a word: a window of 29 packets where 30 would fill the path.
const NEARLY: f64 = 0.95;

/// A window of so many packets of so many bytes that does not fill the longest path.
fn window(
    path: &str,
    field: &str,
    (packets, bytes): (u64, u64),
    longest: &Longest,
    instead: String,
) -> Option<Advice> {
    let share = (packets * bytes) as f64 / longest.bdp as f64;
    (share < NEARLY).then(|| Advice {
        path: format!("{path}.{field}"),
        message: format!(
            "{packets} x {bytes} B = {} is below the bandwidth-delay product of the longest path, {}: one flow \
             reaches at most {:.0} % of its link",
            size(packets * bytes),
            size(longest.bdp),
            100.0 * share
        ),
        write: format!("{path}.{field} = {instead}"),
    })
}

/// What holds for each connection of TCP.
fn tcp_advice(path: &str, tcp: &Tcp, longest: &Longest) -> Vec<Advice> {
    let found =
        [receive_window(path, tcp, longest), delayed_ack(path, tcp), initial_timeout(path, tcp, longest)];
    found.into_iter().flatten().collect()
}

/// A receive window that does not fill the longest path.
fn receive_window(path: &str, tcp: &Tcp, longest: &Longest) -> Option<Advice> {
    let payload =
        longest.bdp as f64 * tcp.mss.0 as f64 / (tcp.mss.0 + tcp.header_bytes.0 + tcp.link_bytes.0) as f64;
    let share = tcp.receive_window.0 as f64 / payload;
    (share < NEARLY).then(|| Advice {
        path: format!("{path}.receive_window"),
        message: format!(
            "{} is below the payload that the longest path holds, {}: one connection reaches at most {:.0} % of its link",
            size(tcp.receive_window.0),
            size(payload as u64),
            100.0 * share
        ),
        write: format!("{path}.receive_window = \"{}\"", Bytes((payload as u64).div_ceil(1000) * 1000)),
    })
}

/// A retransmission timeout below the time for which acknowledgements are held back (Vasudevan et al., SIGCOMM 2009,
/// section 5): what was only held back is sent again.
fn delayed_ack(path: &str, tcp: &Tcp) -> Option<Advice> {
    let (rto, held) = (tcp.rto_min(), tcp.delayed_ack_timeout());
    (tcp.delayed_ack > 1 && rto < held).then(|| Advice {
        path: format!("{path}.delayed_ack_timeout"),
        message: format!(
            "acknowledgements are held back for {}, but rto_min is {}: what was only held back is sent again",
            span(held),
            span(rto)
        ),
        write: format!("{path}.delayed_ack_timeout = \"{}\"", Time((rto.0 / 2).max(1_000))),
    })
}

/// So many round trips that a timeout takes are those of another network, if they are also so long.
const ROUND_TRIPS: u64 = 1000;
const LONG: Time = Time::from_us(500_000);

/// A timeout before the first sample that was made for the Internet.
fn initial_timeout(path: &str, tcp: &Tcp, longest: &Longest) -> Option<Advice> {
    let (rto, round_trip) = (tcp.rto_initial(), longest.round_trip);
    (rto >= LONG && rto.0 / ROUND_TRIPS >= round_trip.0.max(1)).then(|| Advice {
        path: format!("{path}.rto_initial"),
        message: format!(
            "a loss before the first round-trip sample, such as of a SYN, stops a flow for {}: {:.0} round trips of {}",
            span(rto),
            rto.0 as f64 / round_trip.0 as f64,
            span(round_trip)
        ),
        write: match tcp.rto_initial {
            None => format!("{path}.preset = \"datacentre\""),
            Some(_) => format!("{path}.rto_initial = \"5ms\""),
        },
    })
}

/// A timeout of pFabric that a packet which only waits outlasts (paper, section 5: about three round trips).
fn pfabric_timeout(path: &str, pfabric: &Pfabric, longest: &Longest) -> Option<Advice> {
    let rto = pfabric.rto();
    (rto.0 < 3 * longest.round_trip.0).then(|| Advice {
        path: format!("{path}.rto"),
        message: format!(
            "{} is below three round trips of the longest path, {}: packets that only wait are sent again",
            span(rto),
            span(Time(3 * longest.round_trip.0))
        ),
        write: format!("{path}.rto = \"derived\""),
    })
}

/// A port that holds less than a first window, or less than one flow needs to keep its link busy across a loss: a
/// bandwidth-delay product (Villamizar and Song, 1994), if losses are what it adapts to.
fn buffer(queue: &Queue, transport: &Transport, longest: &Longest) -> Option<Advice> {
    let full = transport.full_packet();
    let (initial, adapts_to_losses) = match transport {
        Transport::Tcp(tcp) => (tcp.initial_window(), tcp.needs_no_marks()),
        Transport::Mptcp(mptcp) => (mptcp.tcp.initial_window(), mptcp.tcp.needs_no_marks()),
        Transport::Pfabric(pfabric) => (pfabric.initial_window(), false),
        _ => return None,
    };
    let packets = queue.most_packets(full)?;
    let path = format!("queue.{}.limit", queue.name());
    let holds = format!("{packets} packets, {},", size(packets * full));
    let (what, need) = if packets < u64::from(initial) {
        (
            format!("less than an initial window, {initial} packets: a flow alone loses what it sends first"),
            u64::from(initial),
        )
    } else if adapts_to_losses && ((packets * full) as f64) < NEARLY * longest.bdp as f64 {
        let bdp = size(longest.bdp);
        (
            format!(
                "less than the bandwidth-delay product of the longest path, {bdp}: after a loss a port falls idle"
            ),
            u64::from(longest.packets(full)),
        )
    } else {
        return None;
    };
    Some(Advice {
        message: format!("a port holds {holds} {what}"),
        write: format!("{path} = {{ full-packets = {need} }}"),
        path,
    })
}

/// A threshold of marks below that at which a link stays busy: DCTCP's K > C RTT / 7 (RFC 8257, section 4.1).
fn marking(queue: &Queue, transport: &Transport, longest: &Longest, full_packet: u64) -> Option<Advice> {
    let reacts = match transport {
        Transport::Tcp(tcp) => !tcp.needs_no_marks(),
        Transport::Mptcp(mptcp) => !mptcp.tcp.needs_no_marks(),
        _ => false,
    };
    let (threshold, derives) = match queue {
        Queue::Ecn(ecn) => (ecn.threshold.given()?, true),
        Queue::StrictPriority(classes) => (classes.threshold, false),
        _ => return None,
    };
    let room = match threshold {
        Limit::Packets(packets) => u64::from(packets) * full_packet,
        other => other.room(full_packet).bytes,
    };
    let packets = threshold_busy(longest, full_packet);
    (reacts && (room as f64) < NEARLY * longest.bdp as f64 / 7.0).then(|| {
        let path = format!("queue.{}.threshold", queue.name());
        let least = packets.max(threshold_least(longest.rate));
        let instead = if derives { "\"derived\"".into() } else { format!("{{ full-packets = {least} }}") };
        Advice {
            message: format!(
                "marks from {} on, below a seventh of the bandwidth-delay product of the longest path, {}: a port that \
                 DCTCP fills falls idle",
                size(room),
                size(longest.bdp / 7)
            ),
            write: format!("{path} = {instead}"),
            path,
        }
    })
}

/// Thresholds of marks for DCQCN that were made for slower links, or that pauses forestall.
fn lossless_marking(queue: &Lossless, longest: &Longest) -> Option<Advice> {
    let (kmin, kmax, xoff) = (queue.kmin(), queue.kmax(), queue.xoff());
    let [_, fitting_kmin, fitting_kmax] = Lossless::fitting(longest.rate).map(|bytes| bytes.0);
    let path = "queue.lossless".to_string();
    if kmin >= xoff {
        return Some(Advice {
            path: format!("{path}.kmin"),
            message: format!(
                "a sender is stopped when {} wait, before any packet is marked at {}: DCQCN never acts",
                size(xoff),
                size(kmin)
            ),
            write: format!("{path}.kmin = \"derived\""),
        });
    }
    (kmax * 2 <= fitting_kmax).then(|| Advice {
        path: format!("{path}.kmax"),
        message: format!(
            "kmin {} and kmax {} are those of slower links; in proportion to {} they are {} and {}",
            size(kmin),
            size(kmax),
            longest.rate,
            size(fitting_kmin),
            size(fitting_kmax)
        ),
        write: format!("{path}.kmax = \"derived\""),
    })
}

/// A load of payload that is above what headers leave of a link. Flows have that many bytes on average.
fn load(path: &str, load: f64, framing: Framing, mean: f64) -> Option<Advice> {
    let packets = (mean / framing.payload as f64).ceil().max(1.0);
    let wire = (mean + packets * framing.header as f64) / mean.max(1.0);
    (load * wire > 1.0).then(|| Advice {
        path: path.to_string(),
        message: format!(
            "payload of {load} of the link rate takes {:.3} of it with headers: queues grow as long as flows come",
            load * wire
        ),
        write: format!("{path} = {:.2}", ((100.0 / wire).floor() / 100.0).min(load)),
    })
}

/// Bytes for people: three digits.
fn size(bytes: u64) -> String {
    digits(bytes as f64, &[(1e9, "GB"), (1e6, "MB"), (1e3, "KB")], "B")
}

/// A time for people: three digits.
fn span(time: Time) -> String {
    digits(time.0 as f64, &[(1e12, "s"), (1e9, "ms"), (1e6, "us"), (1e3, "ns")], "ps")
}

fn digits(value: f64, units: &[(f64, &str)], base: &str) -> String {
    let (scale, unit) = units.iter().find(|(scale, _)| value >= *scale).copied().unwrap_or((1.0, base));
    let scaled = value / scale;
    let places = if scaled >= 99.95 || scaled.fract() < 1e-9 { 0 } else { usize::from(scaled < 9.995) + 1 };
    let text = format!("{scaled:.places$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} {unit}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::transport::tcp::Tcp;
    use crate::units::Rate;

    /// 100 Gbps and 12.32 us: 154 KB.
    const FABRIC: Longest =
        Longest { round_trip: Time(12_320_000), bdp: 154_000, rate: Rate(100_000_000_000), switch_links: 5 };

    fn tcp(fields: serde_json::Value) -> Tcp {
        serde_json::from_value(fields).expect("a configuration")
    }

    #[test]
    fn a_window_says_its_share_of_the_path() {
        let advice = window("transport.ndp", "initial_window", (30, 1500), &FABRIC, "\"bdp\"".into());
        let advice = advice.expect("45 of 154 KB");
        assert_eq!(advice.write, "transport.ndp.initial_window = \"bdp\"");
        assert_eq!(
            advice.message,
            "30 x 1500 B = 45 KB is below the bandwidth-delay product of the longest path, 154 KB: one flow reaches at \
             most 29 % of its link"
        );
        assert_eq!(window("t", "w", (103, 1500), &FABRIC, String::new()), None);
    }

    #[test]
    fn a_receive_window_counts_payload() {
        let advice = receive_window("t", &tcp(json!({"receive_window": "65535B"})), &FABRIC);
        // 154 KB x 1460 / 1500 = 149.9 KB.
        assert_eq!(advice.expect("65.5 of 150 KB").write, "t.receive_window = \"150KB\"");
        assert_eq!(receive_window("t", &Tcp::default(), &FABRIC), None);
    }

    #[test]
    fn acknowledgements_are_held_back_for_less_than_a_timeout() {
        let advice = delayed_ack("t", &tcp(json!({"rto_min": "1ms"}))).expect("1 ms and 40 ms");
        assert_eq!(advice.write, "t.delayed_ack_timeout = \"500us\"");
        assert!(advice.message.contains("held back for 40 ms, but rto_min is 1 ms"), "{}", advice.message);
        assert_eq!(delayed_ack("t", &tcp(json!({"rto_min": "1ms", "delayed_ack": 1}))), None);
        assert_eq!(delayed_ack("t", &tcp(json!({"preset": "datacentre"}))), None);
        assert_eq!(delayed_ack("t", &Tcp::default()), None);
    }

    #[test]
    fn the_first_timeout_fits_the_round_trip() {
        let advice = initial_timeout("t", &Tcp::default(), &FABRIC).expect("1 s");
        assert_eq!(advice.write, "t.preset = \"datacentre\"");
        assert!(advice.message.contains("for 1 s: 81169 round trips of 12.3 us"), "{}", advice.message);
        let advice = initial_timeout("t", &tcp(json!({"rto_initial": "1s"})), &FABRIC).expect("1 s");
        assert_eq!(advice.write, "t.rto_initial = \"5ms\"");
        assert_eq!(initial_timeout("t", &tcp(json!({"preset": "datacentre"})), &FABRIC), None);
        let far = Longest { round_trip: Time::from_us(6_000), ..FABRIC };
        assert_eq!(initial_timeout("t", &Tcp::default(), &far), None);
    }

    #[test]
    fn pfabric_waits_for_three_round_trips() {
        let pfabric = |rto: &str| serde_json::from_value::<Pfabric>(json!({ "rto": rto })).expect("a time");
        // 3 x 12.32 us = 36.96 us.
        assert!(pfabric_timeout("t", &pfabric("36us"), &FABRIC).is_some());
        assert_eq!(pfabric_timeout("t", &pfabric("37us"), &FABRIC), None);
    }

    #[test]
    fn a_port_holds_a_window() {
        let queue = |packets: u32| {
            serde_json::from_value::<Queue>(json!({"drop-tail": {"limit": {"packets": packets}}}))
                .expect("a queue")
        };
        let newreno = Transport::from(Tcp::default());
        let told = |packets| buffer(&queue(packets), &newreno, &FABRIC).map(|advice| advice.write);
        assert_eq!(told(9), Some("queue.drop-tail.limit = { full-packets = 10 }".into()));
        // 154 KB are 102.7 packets; 95 % of them 97.5.
        assert_eq!(told(97), Some("queue.drop-tail.limit = { full-packets = 103 }".into()));
        assert_eq!(told(98), None);
        let dctcp = Transport::from(tcp(json!({"congestion": {"dctcp": {}}})));
        assert_eq!(buffer(&queue(97), &dctcp, &FABRIC), None);
    }

    #[test]
    fn marks_leave_a_link_busy() {
        let queue = |packets: u32| {
            serde_json::from_value::<Queue>(json!({"ecn": {"threshold": {"packets": packets}}}))
                .expect("a queue")
        };
        let dctcp = Transport::from(tcp(json!({"congestion": {"dctcp": {}}})));
        // 154 KB / 7 are 14.7 packets; 95 % of them 13.9.
        let advice = marking(&queue(13), &dctcp, &FABRIC, 1500).expect("13 packets");
        assert_eq!(advice.write, "queue.ecn.threshold = \"derived\"");
        assert_eq!(marking(&queue(14), &dctcp, &FABRIC, 1500), None);
        assert_eq!(marking(&queue(13), &Transport::from(Tcp::default()), &FABRIC, 1500), None);
    }

    #[test]
    fn thresholds_of_dcqcn_fit_the_rate() {
        let queue = |fields| serde_json::from_value::<Lossless>(fields).expect("a queue");
        let paper = queue(json!({"xoff": "200KB", "kmin": "5KB", "kmax": "200KB"}));
        let advice = lossless_marking(&paper, &FABRIC).expect("those of 40 Gbps");
        assert!(
            advice.message.contains("in proportion to 100Gbps they are 12.5 KB and 500 KB"),
            "{}",
            advice.message
        );
        let slower = Longest { rate: Rate(40_000_000_000), ..FABRIC };
        assert_eq!(lossless_marking(&paper, &slower), None);
        let late = queue(json!({"xoff": "200KB", "kmin": "400KB", "kmax": "1600KB"}));
        assert_eq!(lossless_marking(&late, &FABRIC).expect("no marks").path, "queue.lossless.kmin");
    }

    #[test]
    fn headers_take_their_part_of_a_load() {
        let framing = Framing { payload: 1436, header: 64, pad_last: false };
        // 1 MB in 697 packets: 1.0446 times as much on the wire, so that 0.957 fills it.
        assert_eq!(load("l", 0.95, framing, 1e6), None);
        assert_eq!(load("l", 0.97, framing, 1e6).expect("1.013").write, "l = 0.95");
    }

    #[test]
    fn numbers_have_three_digits() {
        let sizes = [999, 1_000, 45_000, 65_535, 154_000, 1_600_000].map(size);
        assert_eq!(sizes, ["999 B", "1 KB", "45 KB", "65.5 KB", "154 KB", "1.6 MB"]);
        assert_eq!([Time::from_us(500), Time(12_320_000)].map(span), ["500 us", "12.3 us"]);
    }
}
