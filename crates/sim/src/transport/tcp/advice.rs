//! Fields of TCP that are allowed and probably not meant: see [`crate::advice`].

use super::congestion::Congestion;
use super::{Halves, Preset, Tcp};
use crate::advice::{Advice, NEARLY, size, span};
use crate::derived::Longest;
use crate::units::{Bytes, Time};

/// Advice for each connection, whose fields are at that path.
pub(super) fn advice(path: &str, tcp: &Tcp, longest: &Longest) -> Vec<Advice> {
    let found = [
        receive_window(path, tcp, longest),
        initial_window(path, tcp, longest),
        delayed_ack(path, tcp),
        initial_timeout(path, tcp, longest),
        halved_flight(path, tcp),
        deployed(path, tcp),
    ];
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

/// Packets of an initial window that is probably one in bytes.
const WINDOW_IN_BYTES: u32 = 1000;

/// An initial window that was probably meant in bytes.
fn initial_window(path: &str, tcp: &Tcp, longest: &Longest) -> Option<Advice> {
    let (packets, packet) = (tcp.initial_window.given()?, tcp.mss.0 + tcp.header_bytes.0 + tcp.link_bytes.0);
    let bytes = u64::from(packets) * packet;
    (packets >= WINDOW_IN_BYTES && bytes > 10 * longest.bdp).then(|| Advice {
        path: format!("{path}.initial_window"),
        message: format!(
            "is a number of packets, and {packets} of them are {}, {:.0} times what the longest path holds",
            size(bytes),
            bytes as f64 / longest.bdp as f64
        ),
        write: format!("{path}.initial_window = {}", u64::from(packets).div_ceil(packet).max(10)),
    })
}

/// A retransmission timeout below the time for which acknowledgements are held back (Vasudevan et al., SIGCOMM 2009,
/// section 5): segments are retransmitted although only their acknowledgement was delayed.
fn delayed_ack(path: &str, tcp: &Tcp) -> Option<Advice> {
    let (rto, held) = (tcp.rto_min(), tcp.delayed_ack_timeout());
    (tcp.segments_per_ack() > 1 && rto < held).then(|| Advice {
        path: format!("{path}.delayed_ack_timeout"),
        message: format!(
            "acknowledgements are delayed by {}, but rto_min is {}: a delayed acknowledgement causes retransmissions",
            span(held),
            span(rto)
        ),
        write: format!("{path}.delayed_ack_timeout = \"{}\"", Time((rto.0 / 2).max(1_000))),
    })
}

/// CUBIC without SACK that takes its share of something else than the window: after a long recovery the bytes in flight
/// include all that the receiver holds. Of the default, RFC 5681's FlightSize, nothing is said.
fn halved_flight(path: &str, tcp: &Tcp) -> Option<Advice> {
    let cubic = matches!(tcp.congestion(), Congestion::Cubic(_));
    let enlarged = matches!(tcp.loss_halves(), Halves::Queued | Halves::Pipe);
    (cubic && enlarged && !tcp.sack()).then(|| Advice {
        path: format!("{path}.loss_halves"),
        message: "the bytes in flight after a long recovery include all that the receiver already has: the next loss \
                  leaves CUBIC 0.7 of them, often thousands of segments"
            .into(),
        write: format!("{path}.loss_halves = \"window\""),
    })
}

/// CUBIC, the TCP of deployed hosts, with the rest of the RFCs' TCP. A scenario that gives `sack` has chosen the rest, and
/// other controls are those of publications, which are mostly without it.
fn is_half_deployed(tcp: &Tcp) -> bool {
    matches!(tcp.congestion(), Congestion::Cubic(_)) && tcp.preset != Preset::Linux && tcp.sack.is_none()
}

/// CUBIC without what the hosts that run it have beside it.
fn deployed(path: &str, tcp: &Tcp) -> Option<Advice> {
    let timers = if tcp.preset == Preset::Datacentre { ", and rto_min = \"5ms\"" } else { "" };
    is_half_deployed(tcp).then(|| Advice {
        path: format!("{path}.preset"),
        message: "hosts that run CUBIC have SACK, RACK-TLP and PRR, too: without them an incast has several times as many \
                  timeouts"
            .into(),
        write: format!("{path}.preset = \"linux\"{timers}"),
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
        write: if tcp.rto_initial.is_some() || tcp.preset == Preset::Linux || is_half_deployed(tcp) {
            format!("{path}.rto_initial = \"5ms\"")
        } else {
            format!("{path}.preset = \"datacentre\"")
        },
    })
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;
    use crate::advice::tests::FABRIC;

    fn tcp(fields: serde_json::Value) -> Tcp {
        Tcp::deserialize(&fields).expect("a configuration")
    }

    #[test]
    fn a_configuration_gets_all_advice_at_once() {
        let all = tcp(json!({
            "receive_window": "65535B", "rto_min": "1ms", "congestion": { "cubic": {} }, "loss_halves": "queued"
        }));
        let paths: Vec<String> = advice("t", &all, &FABRIC).into_iter().map(|advice| advice.path).collect();
        let fields = ["receive_window", "delayed_ack_timeout", "rto_initial", "loss_halves", "preset"];
        assert_eq!(paths, fields.map(|field| format!("t.{field}")));
    }

    #[test]
    fn a_receive_window_counts_payload() {
        let advice = receive_window("t", &tcp(json!({"receive_window": "65535B"})), &FABRIC);
        // 154 KB x 1460 / 1500 = 149.9 KB.
        assert_eq!(advice.expect("65.5 of 150 KB").write, "t.receive_window = \"150KB\"");
        assert_eq!(receive_window("t", &Tcp::default(), &FABRIC), None);
    }

    /// 15,000 packets of 1500 B are 22.5 MB, 146 times the 154 KB of the path; 15,000 B are 10 packets. A large window that is
    /// no more than ten times what the path holds is meant.
    #[test]
    fn an_initial_window_is_in_packets() {
        let of = |window: u32| initial_window("t", &tcp(json!({"initial_window": window})), &FABRIC);
        let advice = of(15_000).expect("22.5 MB");
        assert_eq!(advice.write, "t.initial_window = 10");
        assert!(advice.message.contains("15000 of them are 22.5 MB, 146 times"), "{}", advice.message);
        assert_eq!((of(1026), of(10)), (None, None));
        assert!(of(1027).is_some());
    }

    #[test]
    fn acknowledgements_are_held_back_for_less_than_a_timeout() {
        let advice = delayed_ack("t", &tcp(json!({"rto_min": "1ms"}))).expect("1 ms and 40 ms");
        assert_eq!(advice.write, "t.delayed_ack_timeout = \"500us\"");
        assert!(advice.message.contains("delayed by 40 ms, but rto_min is 1 ms"), "{}", advice.message);
        assert_eq!(delayed_ack("t", &tcp(json!({"rto_min": "1ms", "delayed_ack": 1}))), None);
        assert_eq!(delayed_ack("t", &tcp(json!({"preset": "datacentre"}))), None);
        assert_eq!(delayed_ack("t", &Tcp::default()), None);
    }

    #[test]
    fn cubic_without_sack_halves_its_window() {
        let of = |more: serde_json::Value| {
            let mut fields = json!({ "congestion": { "cubic": {} }, "loss_halves": "queued" });
            fields.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
            halved_flight("t", &tcp(fields)).map(|advice| advice.write)
        };
        assert_eq!(of(json!({})), Some("t.loss_halves = \"window\"".into()));
        assert_eq!(of(json!({ "sack": true })), None);
        assert_eq!(of(json!({ "loss_halves": "window" })), None);
        assert_eq!(of(json!({ "congestion": { "newreno": {} } })), None);
    }

    /// CUBIC alone, as in a comparison with it, gets the advice; a scenario with the preset or with `sack` does not, nor do
    /// other controls. The advice on the first timeout does not write another preset beside it, or over it.
    #[test]
    fn cubic_is_a_part_of_a_deployed_tcp() {
        let of = |fields: serde_json::Value| deployed("t", &tcp(fields)).map(|advice| advice.write);
        let cubic = json!({ "cubic": {} });
        assert_eq!(of(json!({ "congestion": cubic })), Some("t.preset = \"linux\"".into()));
        let timers = Some("t.preset = \"linux\", and rto_min = \"5ms\"".into());
        assert_eq!(of(json!({ "congestion": cubic, "preset": "datacentre" })), timers);
        for sacks in [true, false] {
            assert_eq!(of(json!({ "congestion": cubic, "sack": sacks })), None);
        }
        for fields in [
            json!({}),
            json!({ "preset": "linux" }),
            json!({ "preset": "linux", "congestion": cubic }),
            json!({ "congestion": { "dctcp": {} } }),
        ] {
            assert_eq!(of(fields), None);
        }
        let first = |fields| initial_timeout("t", &tcp(fields), &FABRIC).map(|advice| advice.write);
        let timer = Some("t.rto_initial = \"5ms\"".into());
        assert_eq!(first(json!({ "congestion": cubic })), timer);
        assert_eq!(first(json!({ "preset": "linux" })), timer);
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
}
