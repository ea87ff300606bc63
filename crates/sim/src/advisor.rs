//! All advice on a scenario that has been set up: that of its transports and its queue, and on parts that do not fit each
//! other.

use std::collections::BTreeMap;

use crate::absent;
use crate::advice::{Advice, NEARLY, Offer, about, size, span};
use crate::controller;
use crate::crowded;
use crate::derived::Longest;
use crate::ids::LinkId;
use crate::inert;
use crate::measuring;
use crate::observe::link_name;
use crate::overload;
use crate::queue::ecn::{threshold_busy, threshold_least};
use crate::queue::{Feature, Limit, Queue};
use crate::random::{Purpose, Stream};
use crate::routing::{cycles, spread::spread};
use crate::scenario::{Entry, Scenario};
use crate::setup::Setup;
use crate::topology::Fabric;
use crate::transport::{Framing, Profile, Signal};
use crate::units::Time;

/// Steps that it may take to look for a cycle of links: some milliseconds, which do for a fat-tree of 1,024 hosts.
const CYCLE_STEPS: u64 = 2_000_000;

/// Links of a cycle that are named.
const CYCLE_NAMES: usize = 8;

/// Round trips of an empty network from which on a flow with a window is taken to pause for timers alone, and those that are
/// proposed for the gap of flowlets: CONGA's 500 us are some five of its testbed's under load (SIGCOMM 2014, section 5).
const GAP_MOST: u64 = 20;
const GAP_PROPOSED: u64 = 5;

/// All that a scenario, set up, probably does not mean.
pub fn advice(scenario: &Scenario, setup: &Setup) -> Vec<Advice> {
    let mut found = Vec::new();
    if !scenario.run.advice {
        return found;
    }
    let used = setup.transports.iter().zip(&setup.profiles).zip(&setup.paths).zip(&setup.longest);
    for (((transport, profile), path), longest) in used {
        let path = format!("{path}.{}", transport.name());
        found.extend(transport.advice(&path, longest));
        found.extend(buffer(&setup.queue, profile, longest));
        found.extend(marking(&setup.queue, profile, longest, scenario.full_packet()));
    }
    let all = setup.longest.iter().copied().fold(Longest::default(), Longest::or);
    found.extend(setup.queue.advice(&format!("queue.{}", setup.queue.name()), &all));
    if let Some((agent, _)) = &setup.agent {
        let served = setup.transports.iter().position(|transport| transport.name() == agent.serves());
        let longest = served.map_or(&all, |served| &setup.longest[served]);
        let path = format!("agent.{}", agent.name());
        found.extend(agent.gains().and_then(|gains| gains.advice(&path, longest, setup.full_packet)));
    }
    if setup.queue.offers().iter().any(|feature| matches!(feature, Feature::Lossless | Feature::Credits)) {
        let cycle = cycles::cycle(&setup.fabric, &setup.routes, CYCLE_STEPS);
        found.extend(cycle.map(|links| deadlock(&setup.queue, &setup.fabric, &links)));
    }
    let too_much = loads(scenario, setup);
    found.extend(measuring::advice(setup, too_much.is_empty()));
    found.extend(absent::advice(scenario, setup, too_much.is_empty()));
    found.extend(too_much);
    found.extend(inert::advice(scenario));
    found.extend(inert::balancers(scenario, setup));
    found.extend(gaps(scenario, setup));
    // Transports that share ports may get the same advice.
    let mut seen: Vec<Advice> = Vec::new();
    for advice in found {
        if seen.iter().all(|known| known.path != advice.path) {
            seen.push(advice);
        }
    }
    seen
}

/// On loads that the network does not carry: of each entry by itself, then of all together.
pub fn loads(scenario: &Scenario, setup: &Setup) -> Vec<Advice> {
    let offers: Vec<(Offer, &str)> = scenario
        .traffic
        .iter()
        .enumerate()
        .filter_map(|(number, entry)| offer(scenario, setup, number, entry))
        .collect();
    let advise = |(offer, with): &(Offer, &str)| {
        percent(offer)
            .or_else(|| overload::advice(offer, setup))
            .or_else(|| overload::slow_senders(offer, setup))
            .or_else(|| too_high(offer, with))
    };
    let mut found: Vec<Advice> = offers.iter().filter_map(advise).collect();
    if found.is_empty() {
        let offers: Vec<Offer> = offers.into_iter().map(|(offer, _)| offer).collect();
        found
            .extend(overload::together(&offers, setup).or_else(|| crowded::advice(scenario, &offers, setup)));
    }
    found
}

/// The load of an entry that has one, and the name of what takes its part of the links beside payload.
fn offer(scenario: &Scenario, setup: &Setup, number: usize, entry: &Entry) -> Option<(Offer, &'static str)> {
    let of_traffic = &setup.traffic.entries[number];
    let given = entry.arrivals.load();
    let load = given.or(of_traffic.offered_load)?;
    let rate = if given.is_some() { None } else { Some(entry.arrivals.rate(1.0)?) };
    let served = usize::from(setup.carriers[number].transport);
    let (transport, profile) = (&setup.transports[served], &setup.profiles[served]);
    let (taken, with) = match (&setup.controller, profile.framing) {
        (Some((controller, _)), _) if transport.needs().controller => {
            let in_slots = if controller.takes(1) > 1 { "slots" } else { "frames" };
            (controlled(scenario, setup, number, &**controller), in_slots)
        }
        (_, Some(framing)) => (framed(framing, entry.sizes.mean()), "headers"),
        _ => return None,
    };
    let field = if rate.is_some() { "rate" } else { "load" };
    let path = format!("traffic.{}.arrivals.{}.{field}", entry.name, entry.arrivals.name());
    let bps = of_traffic.offered_bps.unwrap_or(0.0) * taken;
    Some((Offer { entry: number, path, load, rate, taken, bps }, with))
}

/// A port that holds less than a first window, or less than one flow needs to keep its link busy across a
/// loss: a bandwidth-delay product (Villamizar and Song, 1994), if it adapts to losses.
fn buffer(queue: &Queue, profile: &Profile, longest: &Longest) -> Option<Advice> {
    let full = profile.full_packet;
    let initial = profile.initial_burst.unwrap_or(0);
    let adapts_to_losses = profile.window_signal == Some(Signal::Losses);
    let packets = queue.most_packets(full)?;
    let path = format!("queue.{}.limit", queue.name());
    let holds = format!("{packets} packets, {},", size(packets * full));
    let (what, need) = if packets < initial {
        (
            format!(
                "less than an initial window, {initial} packets: a single flow loses packets of its first window"
            ),
            initial,
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

/// A threshold of marks below that at which a link stays busy, DCTCP's K > C RTT / 7 (RFC 8257, section 4.1), or one that no
/// queue exceeds.
fn marking(queue: &Queue, profile: &Profile, longest: &Longest, full_packet: u64) -> Option<Advice> {
    if profile.window_signal != Some(Signal::Marks) {
        return None;
    }
    let (threshold, derives) = queue.marks_above()?;
    let room = match threshold {
        Limit::Packets(packets) => u64::from(packets) * full_packet,
        other => other.room(full_packet).bytes,
    };
    let packets = threshold_busy(longest, full_packet);
    let holds = queue.most_packets(full_packet).map_or(u64::MAX, |most| most.saturating_mul(full_packet));
    let message = if room >= holds {
        format!(
            "marks above {}, and a port holds {}: it is full before it marks a packet",
            size(room),
            size(holds)
        )
    } else if (room as f64) < NEARLY * longest.bdp as f64 / 7.0 {
        format!(
            "marks from {} on, below a seventh of the bandwidth-delay product of the longest path, {}: a port that \
             DCTCP fills falls idle",
            size(room),
            size(longest.bdp / 7)
        )
    } else {
        return None;
    };
    let path = format!("queue.{}.{}", queue.name(), queue.begins_at(Feature::Ecn).unwrap_or_default());
    let least = packets.max(threshold_least(longest.rate));
    let instead = if derives { "\"derived\"".into() } else { format!("{{ full-packets = {least} }}") };
    Some(Advice { message, write: format!("{path} = {instead}"), path })
}

/// Bytes on the wire for each of payload, where flows have so many bytes on average.
fn framed(framing: Framing, mean: f64) -> f64 {
    let packets = (mean / framing.payload as f64).ceil().max(1.0);
    (mean + packets * framing.header as f64) / mean.max(1.0)
}

/// Number of flows that suffice to show how an entry's flows are cut into packets.
const FLOWS_READ: usize = 1000;

/// Bytes of a link's time that a controller gives for each of payload: the overhead of frames, and the
/// unfilled part of slots. By the packets of the first flows, as they will be drawn.
fn controlled(
    scenario: &Scenario,
    setup: &Setup,
    entry: usize,
    controller: &dyn controller::Settings,
) -> f64 {
    let carrier = &setup.carriers[entry];
    let transport = &setup.transports[usize::from(carrier.transport)];
    let (mut taken, mut payload) = (0, 0);
    let own = setup.traffic.flows.iter().filter(|flow| flow.entry as usize == entry);
    for flow in own.take(FLOWS_READ) {
        let stream = Stream::new(scenario.run.seed, scenario.run.replica, Purpose::Packets, flow.key);
        let packets = transport.packets(flow.size, stream).into_iter().flatten();
        taken += packets.map(|bytes| controller.takes(bytes)).sum::<u64>();
        payload += flow.size;
    }
    if payload == 0 { 1.0 } else { taken as f64 / payload as f64 }
}

/// A load of payload above the share of a link that is left.
fn too_high(offer: &Offer, with: &str) -> Option<Advice> {
    let Offer { load, taken, .. } = *offer;
    (load * taken > 1.0).then(|| {
        let message = format!(
            "payload of {} of the link rate takes {:.3} of it with {with}: queues grow as long as flows come",
            offer.shown(),
            load * taken
        );
        offer.lower(message, load.min(1.0 / taken))
    })
}

/// A pause that ends flowlets, below the largest difference of the delays of paths between two hosts, or of so many round trips
/// that flows hardly ever pause so long.
fn gaps(scenario: &Scenario, setup: &Setup) -> Vec<Advice> {
    let gap = |entry: &Entry| {
        let balancer = scenario.balancer_of(entry);
        Some((format!("{}.{}", scenario.balancer_path(entry), balancer.name()), balancer.gap()?))
    };
    let given: BTreeMap<String, Time> = scenario.traffic.iter().filter_map(gap).collect();
    if given.is_empty() {
        return Vec::new();
    }
    let spread = spread(&setup.fabric, &setup.routes, setup.full_packet);
    // That of a shortest path, and there and back by the slowest of equal length.
    let shortest = setup.longest.iter().map(|longest| longest.round_trip).max().unwrap_or_default();
    let round_trip = Time(shortest.0.saturating_add(2 * spread.0));
    let advise = |(path, gap): (String, Time)| {
        short_gap(&path, gap, spread).or_else(|| long_gap(&path, gap, round_trip, spread))
    };
    given.into_iter().filter_map(advise).collect()
}

/// A gap that ends flowlets in the midst of a window.
fn short_gap(path: &str, gap: Time, spread: Time) -> Option<Advice> {
    (gap < spread).then(|| Advice {
        path: format!("{path}.gap"),
        message: format!(
            "{} is below the largest difference of delays of two paths, {} for a full packet in an empty network: packets \
             of a new flowlet overtake those of the last one",
            span(gap),
            span(spread)
        ),
        write: format!("{path}.gap = \"{}\"", about(spread)),
    })
}

/// A gap that no flow with a window makes unless it waits for a timer.
fn long_gap(path: &str, gap: Time, round_trip: Time, spread: Time) -> Option<Advice> {
    let trips = gap.0 / round_trip.0.max(1);
    (trips >= GAP_MOST).then(|| Advice {
        path: format!("{path}.gap"),
        message: format!(
            "{} is {trips} round trips of the empty network: flows seldom pause so long, so that flowlets hardly ever end and \
             each flow keeps its path",
            span(gap),
        ),
        write: format!("{path}.gap = \"{}\"", about(spread.max(Time(GAP_PROPOSED.saturating_mul(round_trip.0))))),
    })
}

/// A load that was probably meant in percent.
fn percent(offer: &Offer) -> Option<Advice> {
    let load = offer.load;
    ((2.0..=100.0).contains(&load) && offer.rate.is_none()).then(|| Advice {
        path: offer.path.clone(),
        message: format!("a load is a share of the hosts' links, and {load} is {load} times what they carry"),
        write: format!("{} = {}", offer.path, load / 100.0),
    })
}

/// Links that may wait for each other, where a packet keeps its place until there is room behind the next link.
fn deadlock(queue: &Queue, fabric: &Fabric, cycle: &[LinkId]) -> Advice {
    let name = |link: &LinkId| link_name(fabric, &fabric.links[link.index()]);
    let names: Vec<String> = cycle.iter().take(CYCLE_NAMES).map(name).collect();
    let more = if cycle.len() > names.len() { ", ..." } else { "" };
    Advice {
        path: format!("queue.{}", queue.name()),
        message: format!(
            "shortest paths lead around a cycle of {} links, {}{more}: if all are full, each waits for the next for ever, \
             and the run ends as stalled",
            cycle.len(),
            names.join(", ")
        ),
        write: "topology = \"fat-tree\", or another whose paths go up and then down".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;
    use crate::advice::tests::FABRIC;
    use crate::checked::Checked;
    use crate::scenario::{Format, no_files};
    use crate::transport::Settings;
    use crate::transport::tcp::Tcp;

    fn of_load(load: f64) -> Offer {
        Offer { entry: 0, path: "l".into(), load, rate: None, taken: 1.0, bps: 0.0 }
    }

    fn tcp(fields: serde_json::Value) -> Tcp {
        Tcp::deserialize(&fields).expect("a configuration")
    }

    #[test]
    fn a_port_holds_a_window() {
        let queue = |packets: u32| {
            Queue::deserialize(&json!({"drop-tail": {"limit": {"packets": packets}}})).expect("a queue")
        };
        let newreno = Tcp::default().profile();
        let advised = |packets| buffer(&queue(packets), &newreno, &FABRIC).map(|advice| advice.write);
        assert_eq!(advised(9), Some("queue.drop-tail.limit = { full-packets = 10 }".into()));
        // 154 KB are 102.7 packets; 95 % of them 97.5.
        assert_eq!(advised(97), Some("queue.drop-tail.limit = { full-packets = 103 }".into()));
        assert_eq!(advised(98), None);
        let dctcp = tcp(json!({"congestion": {"dctcp": {}}})).profile();
        assert_eq!(buffer(&queue(97), &dctcp, &FABRIC), None);
        // Marks keep its queue short: it needs room for an initial window of 10 packets, and no more.
        assert_eq!(buffer(&queue(10), &dctcp, &FABRIC), None);
        let short = buffer(&queue(9), &dctcp, &FABRIC).expect("a packet less");
        assert!(short.message.contains("less than an initial window, 10 packets"), "{}", short.message);
    }

    #[test]
    fn marks_leave_a_link_busy() {
        let queue = |packets: u32| {
            Queue::deserialize(&json!({"ecn": {"threshold": {"packets": packets}}})).expect("a queue")
        };
        let dctcp = tcp(json!({"congestion": {"dctcp": {}}})).profile();
        // 154 KB / 7 are 14.7 packets; 95 % of them 13.9.
        let advice = marking(&queue(13), &dctcp, &FABRIC, 1500).expect("13 packets");
        assert_eq!(advice.write, "queue.ecn.threshold = \"derived\"");
        assert_eq!(marking(&queue(14), &dctcp, &FABRIC, 1500), None);
        // A port of 200 packets marks none above as many.
        assert_eq!(marking(&queue(199), &dctcp, &FABRIC, 1500), None);
        let advice = marking(&queue(200), &dctcp, &FABRIC, 1500).expect("never exceeded");
        assert!(advice.message.ends_with("it is full before it marks a packet"), "{}", advice.message);
        assert_eq!(marking(&queue(13), &Tcp::default().profile(), &FABRIC, 1500), None);
    }

    #[test]
    fn headers_take_their_part_of_a_load() {
        let framing = Framing { payload: 1436, header: 64, pad_last: false };
        // 1 MB in 697 packets: 1.0446 times as much on the wire, so that 0.957 fills it, of which 0.9 are 0.861.
        let taken = framed(framing, 1e6);
        let advised = |load| too_high(&Offer { taken, ..of_load(load) }, "headers");
        assert_eq!(advised(0.95), None);
        assert_eq!(advised(0.97).expect("1.013").write, "l = 0.86");
        // 970 flows a second are that load, and 957.3 fill the link, of which 0.9 are 861.6.
        let offer = Offer { taken, rate: Some(970.0), ..of_load(0.97) };
        assert_eq!(too_high(&offer, "headers").expect("1.013").write, "l = 861");
    }

    #[test]
    fn a_load_in_percent() {
        let percent = |load| percent(&of_load(load));
        assert_eq!(percent(60.0).expect("60 %").write, "l = 0.6");
        assert_eq!(percent(2.0).expect("2 %").write, "l = 0.02");
        // A load a little above 1 is meant as it is, and 5,000 % is no load.
        assert_eq!((percent(1.2), percent(5000.0)), (None, None));
    }

    /// A flow of 15 kB has ten packets of 1500 B and as many frames of 38 B. Of 40 B and 1500 B in turn it takes ten of each,
    /// of 15.4 kB: frames are 20 x 38 B, and slots of 1538 B are half empty.
    #[test]
    fn frames_and_slots_take_their_part_of_a_load() {
        let advised = |controller: &str, lengths: &str, size: &str, load: f64| {
            let text = format!(
                r#"
                topology.single-switch = {{ hosts = 3, rate = "1Gbps" }}
                transport.central = {{ {lengths} }}
                controller.{controller} = {{}}
                traffic = [{{ name = "a", arrivals.poisson.load = {load}, matrix = "uniform", sizes.fixed = "{size}", flows = 3 }}]
                "#
            );
            let checked = Checked::read(&text, Format::Toml, &[], &no_files).expect("a scenario");
            let advice = checked.outlook().expect("a small run").advice;
            advice
                .into_iter()
                .find(|advice| advice.path.ends_with(".load"))
                .map(|advice| (advice.message, advice.write))
        };
        let say = |takes: &str, fits: &str| {
            let message = format!("payload of {takes}: queues grow as long as flows come");
            Some((message, format!("traffic.a.arrivals.poisson.load = {fits}")))
        };
        for controller in ["syn", "asy"] {
            // 1500 / 1538 = 0.9753, of which 0.9 are 0.878.
            assert_eq!(advised(controller, "", "15000B", 0.97), None);
        }
        assert_eq!(
            advised("asy", "", "15000B", 0.98),
            say("0.98 of the link rate takes 1.005 of it with frames", "0.87")
        );
        let cycle = "in_turn = true, lengths.list = [1500, 40]";
        // 15,400 / (20 x 1538) = 0.5006 and 15,400 / 16,160 = 0.953, of which 0.9 are 0.4506 and 0.858.
        assert_eq!(advised("syn", cycle, "15400B", 0.5), None);
        assert_eq!(
            advised("syn", cycle, "15400B", 0.8),
            say("0.8 of the link rate takes 1.598 of it with slots", "0.45")
        );
        assert_eq!(advised("asy", cycle, "15400B", 0.95), None);
        assert_eq!(
            advised("asy", cycle, "15400B", 0.96),
            say("0.96 of the link rate takes 1.007 of it with frames", "0.85")
        );
    }

    /// Two paths whose delays differ by 20 us: a gap of so much keeps the order, one below it does not.
    #[test]
    fn gaps_are_compared_with_paths() {
        let advised = |balancer: &str| {
            let text = format!(
                r#"
                transport.datagram = {{}}
                routing.balancer = {balancer}
                [topology.explicit]
                hosts = ["a", "b"]
                "#
            ) + r#"
                switches = [{ name = "left" }, { name = "right" }, { name = "near" }, { name = "far" }]
                rate = "10Gbps"
                delay = "1us"
                cables = [
                  { ends = ["a", "left"] }, { ends = ["right", "b"] },
                  { ends = ["left", "near"] }, { ends = ["near", "right"] },
                  { ends = ["left", "far"], delay = "21us" }, { ends = ["far", "right"] },
                ]
                [[traffic]]
                name = "one"
                arrivals.at-once = {}
                matrix.pairs = [[0, 1]]
                sizes.fixed = "3KB"
                "#;
            let checked = Checked::read(&text, Format::Toml, &[], &no_files).expect("a scenario");
            checked.outlook().expect("a small run").advice
        };
        assert_eq!(advised("{ letflow = { gap = \"20us\" } }"), []);
        let [advice] = &advised("{ letflow = { gap = \"19us\" } }")[..] else { panic!("one advice") };
        assert_eq!(advice.write, "routing.balancer.letflow.gap = \"20us\"");
        assert_eq!(
            advice.message,
            "19 us is below the largest difference of delays of two paths, 20 us for a full packet in an empty network: \
             packets of a new flowlet overtake those of the last one"
        );
        // A round trip by the far switch takes 48 us, and 4.9 us for the packets.
        let [advice] = &advised("{ letflow = { gap = \"2ms\" } }")[..] else { panic!("one advice") };
        assert!(advice.message.starts_with("2 ms is 37 round trips"), "{}", advice.message);
        assert_eq!(advice.write, "routing.balancer.letflow.gap = \"270us\"");
        assert_eq!(advised("{ letflow = { gap = \"900us\" } }"), []);
        // Ten microseconds by default, where flows choose.
        assert_eq!(advised("\"adaptive\""), []);
        let flows = advised("{ adaptive = { granularity = \"flow\" } }");
        assert_eq!(
            flows.iter().map(|it| &it.path[..]).collect::<Vec<_>>(),
            ["routing.balancer.adaptive.gap"]
        );
    }
}
