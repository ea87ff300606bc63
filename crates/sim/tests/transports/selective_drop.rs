//! Selective dropping of Aeolus: unscheduled packets of an incast stop a packet behind the threshold, scheduled ones are not
//! dropped, and what is dropped arrives in the end, by each transport's own means.
//!
//! One switch, links of 10 Gbps with a delay of 1 us; a full packet of Homa is 1500 B on the wire, of which 1440 B are payload.

use crate::common::scenarios::timed_flows;
use crate::common::{Run, US, run, run_with};

const PAYLOAD: u64 = 1440;
const WIRE: u64 = 1500;
const SENDERS: u64 = 16;
const MODES: [&str; 2] = ["auto", "serviced"];

/// Messages to host 0, one of each sender, that begin so far apart.
fn messages(settings: &str, apart: u64, bytes: u64) -> String {
    let names: Vec<String> = (1..=SENDERS).map(|sender| format!("m{sender}")).collect();
    let message = |(at, name): (u64, &'static str)| (name, at as u32 + 1, 0, at * apart, bytes);
    let all: Vec<_> = (0..).zip(names.into_iter().map(|name| &*name.leak())).map(message).collect();
    let network = "[topology.single-switch]\nhosts = 17\nrate = \"10Gbps\"\ndelay = \"1us\"\n";
    format!("{settings}\n{network}{}", timed_flows(&all))
}

/// Homa with seven unscheduled packets of one level, over ports with that queue.
fn homa(queue: &str) -> String {
    format!(
        "[transport.homa]\nrtt_bytes = \"{}B\"\nunscheduled_levels = 1\nresend_interval = \"10ms\"\n\
         [queue.selective-drop]\n{queue}\n",
        7 * WIRE
    )
}

fn longest_queue(run: &Run) -> u64 {
    run.link("switch", "host 0", "queue_max_bytes")
}

/// An incast of unscheduled packets alone, until the first of them is requested again: with a threshold of q bytes the last port
/// holds the packets that find no more than q, as many as q / 1500 and one. Without selective dropping it holds nearly all.
#[test]
fn an_incast_stops_a_packet_behind_the_threshold() {
    for mode in MODES {
        for (threshold, most) in [(1499, 1), (6000, 5), (7499, 5), (7500, 6)] {
            let text = messages(&homa(&format!("drop_above.bytes = \"{threshold}B\"")), 0, 7 * PAYLOAD);
            let run = run_with(&text, &[("run.port_mode", mode), ("run.until", "9ms")]);
            assert_eq!(longest_queue(&run), most * WIRE, "{threshold} B, {mode}");
            let (sent, dropped) = (run.flows("packets_sent"), run.flows("drops"));
            assert_eq!(sent.iter().sum::<u64>(), 7 * SENDERS);
            // While the queue is at the threshold the port keeps one packet for each that it sends.
            let kept = 7 * SENDERS - dropped.iter().sum::<u64>();
            assert!((most..=most + 7).contains(&kept), "{kept} packets kept at {threshold} B");
        }
        let text = messages(&homa("drop_above.packets = 200"), 0, 7 * PAYLOAD);
        let run = run_with(&text, &[("run.port_mode", mode)]);
        assert_eq!(run.counters().drops, 0);
        assert!(longest_queue(&run) >= (7 * SENDERS - 7) * WIRE, "{}", longest_queue(&run));
    }
}

/// Dropped packets are requested, and go as scheduled ones: none is dropped twice, and all bytes arrive. Both modes of ports
/// agree.
#[test]
fn dropped_packets_are_sent_once_more() {
    let text = messages(&homa(""), 0, 40 * PAYLOAD);
    let runs = MODES.map(|mode| run_with(&text, &[("run.port_mode", mode)]));
    assert_eq!(runs[0].digest(), runs[1].digest());
    let run = &runs[0];
    assert!(run.counters().drops > 4 * SENDERS, "{}", run.counters().drops);
    assert_eq!(run.counters().drops, run.counters().retransmissions);
    assert!(run.flows("drops").into_iter().all(|drops| drops <= 7));
    assert!(run.flows("delivered_bytes").into_iter().all(|bytes| bytes == 40 * PAYLOAD));
}

/// Scheduled packets of messages that began before fill the last port beyond the threshold, at lower levels. Messages that
/// begin then find their own class empty and lose nothing by class; by port they lose unscheduled packets alone.
#[test]
fn classes_protect_unscheduled_packets_from_scheduled_ones() {
    let drops = |by: &str| {
        let run = run(&messages(&homa(&format!("drop_by = \"{by}\"")), 100 * US, 400 * PAYLOAD));
        assert!(longest_queue(&run) > 20 * WIRE);
        assert_eq!(run.counters().drops, run.counters().retransmissions);
        let drops = run.flows("drops");
        assert!(drops.iter().all(|drops| *drops <= 7), "{drops:?}");
        drops.into_iter().sum::<u64>()
    };
    assert_eq!(drops("class"), 0);
    assert!(drops("port") > 0);
}

/// All transports that mark unscheduled packets lose some of an incast, and none of its bytes.
#[test]
fn other_transports_recover_by_their_own_means() {
    for (transport, queue) in [
        ("phost = { free_for = \"all\" }", ""),
        ("dcpim = {}", ""),
        ("sird = {}", "mark = \"port\""),
        ("ndp = { trimming = false }", ""),
    ] {
        for mode in MODES {
            let settings = format!(
                "transport.{transport}\n[queue.selective-drop]\ndrop_above.bytes = \"3KB\"\n{queue}\n"
            );
            let run = run_with(&messages(&settings, 0, 6000), &[("run.port_mode", mode)]);
            assert!(run.counters().drops > 0, "{transport}");
            assert!(run.flows("delivered_bytes").into_iter().all(|bytes| bytes == 6000), "{transport}");
            assert_eq!(run.counters().trims, 0);
        }
    }
}

/// Transports that mark no packet have a port of strict priority: the rule drops nothing.
#[test]
fn unmarked_packets_are_not_dropped_early() {
    let digest = |queue: &str| {
        let settings =
            format!("transport.tcp = {{ rto_min = \"1ms\" }}\n[queue.{queue}]\nlimit.packets = 60\n");
        run(&messages(&settings, 0, 30_000)).digest().to_string()
    };
    assert_eq!(digest("selective-drop"), digest("strict-priority"));
}
