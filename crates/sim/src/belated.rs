//! Advice on faults that begin behind the end of the run, by the forecast, and so change nothing.

use crate::advice::{Advice, about, span};
use crate::scenario::Scenario;
use crate::traffic::window::Window;
use crate::units::Time;

/// So many times the forecast, which counts no timeouts, a run may take.
const SLACK: f64 = 1.2;

/// When a run ends.
#[derive(Clone, Copy, Debug)]
pub enum End {
    /// By the forecast; later, if it is known to leave something out.
    About { time: Time, or_later: bool },
    /// It has ended.
    At(Time),
}

/// Advice on the first of them, with a time at which a fault would be seen: behind the warm-up that the load wants. `run.until`
/// holds in any case.
pub fn advice(scenario: &Scenario, window: &Window, end: End) -> Option<Advice> {
    let limit = scenario.run.until;
    let (time, latest) = match end {
        End::At(time) => (time, Some(time)),
        End::About { time, or_later: true } => (time, None),
        End::About { time, .. } => (time, Some(Time((SLACK * time.0 as f64) as u64))),
    };
    let is_late =
        |at: Time| limit.is_some_and(|limit| at >= limit) || latest.is_some_and(|latest| at > latest);
    let events = || scenario.faults.events.iter().enumerate();
    let late = events().filter(|(_, fault)| is_late(fault.at));
    let count = late.clone().count();
    let (number, first) = late.min_by_key(|(_, fault)| fault.at)?;
    let over = match limit.filter(|limit| first.at >= *limit) {
        Some(limit) => format!("the run ends at {}", span(limit)),
        None if matches!(end, End::At(_)) => format!("the run ended at {}", span(time)),
        None => format!("by the forecast the last flow ends at {}, and the run with it", span(time)),
    };
    let all = events().count();
    let which = match count {
        1 if all == 1 => format!("the fault at {} begins", span(first.at)),
        1 => format!("1 of {all} faults, at {}, begins", span(first.at)),
        _ => format!("{count} of {all} faults, from {} on, begin", span(first.at)),
    };
    let path = format!("faults.events.{number}.at");
    let from = window.from.max(window.wanted.unwrap_or_default());
    Some(Advice {
        message: format!("{over}: {which} later, and no flow meets it"),
        write: match time.0.checked_sub(from.0) {
            Some(left) if left > 0 => format!("{path} = \"{}\"", about(Time(from.0 + left / 2))),
            _ => "more flows, so that the run goes on behind its warm-up".into(),
        },
        path,
    })
}

#[cfg(test)]
mod tests {
    use crate::advice::Advice;
    use crate::checked::Checked;
    use crate::scenario::{Format, no_files};
    use crate::units::{Time, parse};

    /// Faults at these times, of a flow of 1.25 MB at 10 Gbps: 1 ms.
    fn text(run: &str, at: &[&str]) -> String {
        let fault = |at: &&str| {
            format!(
                "[[faults.events]]\nat = \"{at}\"\ntarget.cable = [\"leaf 0\", \"spine 1\"]\nchange = \"down\"\n"
            )
        };
        let faults: String = at.iter().map(fault).collect();
        format!(
            r#"
            transport.ndp = {{}}
            queue.trimming = {{}}
            topology.leaf-spine = {{ leaves = 2, spines = 2, hosts = 4 }}
            routing.balancer = "per-packet"
            {run}
            {faults}
            [[traffic]]
            name = "one"
            arrivals.at-once = {{}}
            matrix.permutation = {{}}
            sources.hosts = [0]
            sizes.fixed = "1250KB"
            "#
        )
    }

    fn advice(run: &str, at: &[&str]) -> Option<Advice> {
        let text = text(run, at);
        let checked = Checked::read(&text, Format::Toml, &[], &no_files).expect("a scenario");
        let advice = checked.outlook().expect("a small run").advice;
        advice.into_iter().find(|one| one.path.starts_with("faults."))
    }

    #[test]
    fn a_fault_behind_the_last_flow_is_named() {
        assert_eq!(advice("", &["500us"]), None);
        assert_eq!(advice("", &["1100us"]), None);
        let late = advice("", &["5ms"]).expect("advice");
        assert_eq!(late.path, "faults.events.0.at");
        assert_eq!(
            late.message,
            "by the forecast the last flow ends at 1 ms, and the run with it: the fault at 5 ms begins later, and no flow \
             meets it"
        );
        assert_eq!(late.write, "faults.events.0.at = \"510us\"");
        let two = advice("", &["7ms", "5ms", "0s"]).expect("advice");
        assert_eq!(two.path, "faults.events.1.at");
        assert!(two.message.ends_with("2 of 3 faults, from 5 ms on, begin later, and no flow meets it"));
    }

    /// Behind the warm-up of a load, 16 x 1.25 MB / (10 Gbps x 0.7), and half of what is left of the run.
    #[test]
    fn the_fault_is_put_behind_the_warm_up() {
        let poisson = "arrivals.poisson.load = 0.3\nflows = 300\n";
        let text =
            text("", &["9s"]).replace("arrivals.at-once = {}\n", poisson).replace("sources.hosts = [0]", "");
        let checked = Checked::read(&text, Format::Toml, &[], &no_files).expect("a scenario");
        let outlook = checked.outlook().expect("a small run");
        let late = outlook.advice.iter().find(|one| one.path == "faults.events.0.at").expect("advice");
        let written = late.write.split('"').nth(1).expect("a time");
        let at = parse::<Time>(written).expect("a time").0;
        let (warm_up, end) = (outlook.window.wanted_ps.expect("a load"), outlook.needs.end_ps);
        assert!(warm_up > 0 && end > warm_up, "{warm_up} {end}");
        // Rounded up to two digits.
        let half = warm_up + (end - warm_up) / 2;
        assert!((half..=half + half / 10).contains(&at), "{written}, {half}");
    }

    /// A run that is done knows its end.
    #[test]
    fn a_run_says_so_of_its_own_end() {
        let text = text("", &["1100us"]);
        let checked = Checked::read(&text, Format::Toml, &[], &no_files).expect("a scenario");
        let run = checked.simulate(&mut |_| true, &mut []).expect("a run");
        let advice = &run.summary.advice;
        let late = advice.iter().find(|one| one.path == "faults.events.0.at").expect("advice");
        assert!(late.message.starts_with("the run ended at 1.0"), "{}", late.message);
    }

    #[test]
    fn a_fault_behind_the_end_that_the_scenario_gives_is_named() {
        assert_eq!(advice("run.until = \"800us\"", &["700us"]), None);
        let late = advice("run.until = \"800us\"", &["800us"]).expect("advice");
        assert!(late.message.starts_with("the run ends at 800 us: the fault at 800 us begins later"));
    }
}
