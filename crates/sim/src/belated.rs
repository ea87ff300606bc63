//! Advice on faults that begin behind the end of the run, by the forecast, and so change nothing.

use crate::advice::{Advice, about, span};
use crate::scenario::Scenario;
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

/// Advice on the first of them. `run.until` holds in any case.
pub fn advice(scenario: &Scenario, end: End) -> Option<Advice> {
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
    Some(Advice {
        message: format!("{over}: {which} later, and no flow meets it"),
        write: format!("{path} = \"{}\"", about(Time(time.0 / 2))),
        path,
    })
}

#[cfg(test)]
mod tests {
    use crate::advice::Advice;
    use crate::checked::Checked;
    use crate::scenario::{Format, no_files};

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
