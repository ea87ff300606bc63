//! Advice on background traffic that is absent while flows are measured: over before they start, or not yet at its load.
//!
//! Where arrivals of measured flows go on, the measuring window sees to both (`measure`). Other flows start when the scenario
//! says, whatever the background does then.

use crate::advice::{Advice, about, span};
use crate::estimate::host_rates;
use crate::ids::NodeId;
use crate::scenario::{Entry, Scenario};
use crate::setup::Setup;
use crate::topology::Fabric;
use crate::traffic::arrivals::Arrivals;
use crate::traffic::{EntrySummary, Flow};
use crate::units::{SECOND, Time};

/// Measured flows of which one may start behind a background.
const FEW: usize = 10;
/// Warm-ups for which measured flows start: of fewer, a share counts that met too little traffic.
const WARM_UPS: u64 = 5;

/// Advice on each entry in the background whose flows end too early, and on measured flows that start too early. A network
/// that does not carry its loads has no steady state to wait for.
pub fn advice(scenario: &Scenario, setup: &Setup, carries: bool) -> Vec<Advice> {
    let window = &setup.traffic.window;
    let timed = &setup.traffic.flows[..setup.traffic.timed];
    let measured = |flow: &&Flow| !setup.carriers[flow.entry as usize].background && window.has(flow.start);
    let mut measured: Vec<&Flow> = timed.iter().filter(measured).collect();
    measured.sort_by_key(|flow| flow.start);
    let (Some(first), Some(last)) = (measured.first(), measured.last()) else { return Vec::new() };
    let early = early(&scenario.traffic[first.entry as usize], window.background, (first.start, last.start));
    let over = scenario.traffic.iter().enumerate().filter(|(_, entry)| entry.background);
    let over = over.filter_map(|(number, entry)| over_before(entry, number, setup, &measured));
    early.filter(|_| carries).into_iter().chain(over).collect()
}

/// Measured flows from the first to the last start, of an entry and others, that meet a background not yet at its load.
fn early(entry: &Entry, warm_up: Option<Time>, (first, last): (Time, Time)) -> Option<Advice> {
    let warm_up = warm_up.filter(|warm_up| first.0 < warm_up.0 / 2)?;
    if last.saturating_sub(first).0 >= WARM_UPS.saturating_mul(warm_up.0) {
        return None;
    }
    let path = format!("traffic.{}.arrivals.{}", entry.name, entry.arrivals.name());
    let field = match entry.arrivals {
        Arrivals::AtOnce(_) => format!("{path}.at"),
        Arrivals::Periodic(_) => format!("{path}.start"),
        _ => "run.measure.from".into(),
    };
    Some(Advice {
        message: format!(
            "measured flows start from {} on; at the load of the background the network needs {} until it is in a steady \
             state: the first ones meet less traffic than that load names, and their times are too short",
            span(first),
            span(warm_up)
        ),
        write: format!("{field} = \"{}\"", about(warm_up)),
        path,
    })
}

/// An entry in the background, at a rate or an interval, that is over before many of the measured flows start.
fn over_before(entry: &Entry, number: usize, setup: &Setup, measured: &[&Flow]) -> Option<Advice> {
    let (Arrivals::Poisson(_) | Arrivals::Periodic(_)) = entry.arrivals else { return None };
    let timed = &setup.traffic.flows[..setup.traffic.timed];
    let own: Vec<&Flow> = timed.iter().filter(|flow| flow.entry as usize == number).collect();
    let path = format!("traffic.{}", entry.name);
    let end = last_end(measured, &setup.fabric);
    if own.first().is_none_or(|first| first.start > end) {
        return none_starts(&setup.traffic.entries[number], end, path);
    }
    let (first, last) = (own.first()?.start, own.last()?.start);
    let over = last_end(&own, &setup.fabric);
    let later = measured.iter().filter(|flow| flow.start > over).count();
    if later * FEW <= measured.len() {
        return None;
    }
    let (all, needed) = (measured.len(), measured.last()?.start);
    let reach = needed.saturating_sub(first).seconds() / last.saturating_sub(first).seconds().max(1e-12);
    let times = |count: u64| two_digits((count as f64 * reach).ceil() as u64);
    let write = match (entry.flows, &entry.arrivals) {
        (Some(flows), _) if own.len() as u64 == flows => format!("{path}.flows = {}", times(flows)),
        (_, Arrivals::Periodic(periodic)) if periodic.rounds.is_some() => {
            format!("{path}.arrivals.periodic.rounds = {}", times(periodic.rounds.unwrap_or_default()))
        }
        _ => format!("{path}.arrivals.{}.until = \"{}\"", entry.arrivals.name(), about(needed)),
    };
    Some(Advice {
        message: format!(
            "the last flow of the background starts at {}, and all of them are over at {} if they have their links for \
             themselves: {later} of {all} measured flows start later, and meet none",
            span(last),
            span(over)
        ),
        write,
        path,
    })
}

/// An entry in the background at a load so low that less than one flow of it is expected until measured ones end.
fn none_starts(entry: &EntrySummary, end: Time, path: String) -> Option<Advice> {
    let interval = 8.0 * entry.mean_size_bytes? / entry.offered_bps?;
    (interval > end.seconds()).then(|| Advice {
        message: format!(
            "no flow of the background starts before the measured ones end: at its load one starts each {} on average",
            span(Time((interval * SECOND as f64) as u64))
        ),
        write: format!("a higher load, or leave the entry out: {path} = null with --set"),
        path,
    })
}

/// When the last of the flows ends if no others are in their way: each at the rate of its host, and all of a host one after
/// the other.
fn last_end(flows: &[&Flow], fabric: &Fabric) -> Time {
    let rates = host_rates(fabric);
    let takes = |host: NodeId, bytes: u64| 8.0 * bytes as f64 / rates[host.index()];
    let mut busy = vec![0.0; rates.len()];
    let mut last = 0.0f64;
    for flow in flows {
        let own = takes(flow.src, flow.size);
        last = last.max(flow.start.seconds() + own);
        for host in [flow.src, flow.dst] {
            let free: &mut f64 = &mut busy[host.index()];
            *free = free.max(flow.start.seconds()) + takes(host, flow.size);
            last = last.max(*free);
        }
    }
    Time((last * SECOND as f64).min(Time::NEVER.0 as f64) as u64)
}

/// A number, rounded up to two digits.
fn two_digits(number: u64) -> u64 {
    about(Time(number)).0
}

#[cfg(test)]
mod tests {
    use crate::checked::Checked;
    use crate::scenario::{Format, no_files};

    /// An incast of four each 10 ms beside a background.
    fn advice(incast: &str, background: &str) -> Vec<(String, String, String)> {
        let text = format!(
            r#"
            transport.tcp = {{}}
            topology.single-switch = {{ hosts = 8, rate = "10Gbps" }}
            [[traffic]]
            name = "incast"
            matrix.incast.senders = 4
            sizes.fixed = "100KB"
            {incast}
            [[traffic]]
            name = "all"
            background = true
            matrix = "uniform"
            {background}
            "#
        );
        let checked = Checked::read(&text, Format::Toml, &[], &no_files).expect("a scenario");
        let advice = checked.outlook().expect("a small run").advice;
        let of_them = |one: &crate::advice::Advice| {
            one.path.starts_with("traffic.incast.arrivals") || one.path == "traffic.all"
        };
        let found = advice.into_iter().filter(of_them);
        found.map(|one| (one.path, one.message, one.write)).collect()
    }

    const ROUNDS: &str = r#"arrivals.periodic = { every = "10ms", rounds = 20 }"#;

    /// Flows each 10 us for 50 of 190 ms: of 80 measured flows those of the rounds from 60 ms on meet none.
    #[test]
    fn a_background_that_is_over_is_named() {
        let [(path, message, write)] = &advice(
            ROUNDS,
            r#"
            arrivals.periodic = { every = "8ms", rounds = 7 }
            sizes.fixed = "1MB"
            "#,
        )[..] else {
            panic!("one advice")
        };
        assert_eq!(path, "traffic.all");
        assert!(message.starts_with("the last flow of the background starts at 48"), "{message}");
        assert!(message.ends_with("56 of 80 measured flows start later, and meet none"), "{message}");
        // 7 rounds reach 48 ms, and 190 ms take 3.96 times as many.
        assert_eq!(write, "traffic.all.arrivals.periodic.rounds = 28");
    }

    /// 1 MB over eight hosts of 10 Gbps: at a load of 1e-9 a flow each 1e5 s.
    #[test]
    fn a_background_that_never_starts_is_named() {
        for (until, flows) in [(", until = \"300ms\"", ""), ("", "flows = 10")] {
            let background =
                format!("arrivals.poisson = {{ load = 1e-9{until} }}\n{flows}\nsizes.fixed = \"1MB\"");
            let [(path, message, write)] = &advice(ROUNDS, &background)[..] else { panic!("one advice") };
            assert_eq!(path, "traffic.all");
            assert!(message.ends_with("at its load one starts each 100000 s on average"), "{message}");
            assert_eq!(write, "a higher load, or leave the entry out: traffic.all = null with --set");
        }
    }

    /// One whose bytes take its hosts as long as the measured flows last is not over; nor is one that goes on.
    #[test]
    fn a_background_that_lasts_is_not() {
        let sizes = |bytes: &str| {
            format!("arrivals.periodic = {{ every = \"8ms\", rounds = 2 }}\nsizes.fixed = \"{bytes}\"")
        };
        assert_eq!(advice(ROUNDS, &sizes("110MB")), []);
        assert_eq!(advice(ROUNDS, &sizes("30MB")).len(), 1);
        let until = "arrivals.periodic = { every = \"8ms\", until = \"190ms\" }\nsizes.fixed = \"1MB\"";
        assert_eq!(advice(ROUNDS, until), []);
    }

    /// At a load of 0.5, 1 MB at 10 Gbps want a warm-up of 16 x 1 MB / (10 Gbps x 0.25) = 6.4 ms: a single incast is to start
    /// then; twenty rounds last for more than five of these.
    #[test]
    fn measured_flows_wait_for_the_background() {
        let background = r#"
            arrivals.poisson = { load = 0.5, until = "200ms" }
            sizes.fixed = "1MB"
            "#;
        let [(path, message, write)] = &advice("arrivals.at-once.jitter = \"0s\"", background)[..] else {
            panic!("one advice")
        };
        assert_eq!(path, "traffic.incast.arrivals.at-once");
        assert!(message.contains("the network needs 6.4 ms"), "{message}");
        assert_eq!(write, "traffic.incast.arrivals.at-once.at = \"6400us\"");
        assert_eq!(advice("arrivals.at-once.at = \"6400us\"", background), []);
        assert_eq!(advice(ROUNDS, background), []);
    }
}
