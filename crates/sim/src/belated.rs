//! Advice on faults that begin behind the end of the run, by the forecast, and so change nothing.

use crate::advice::{Advice, about, span};
use crate::estimate::Estimate;
use crate::scenario::Scenario;
use crate::units::Time;

/// So many times the forecast, which counts no timeouts, a run may take.
const SLACK: f64 = 1.5;

/// Advice on the first of them. A forecast that is known to be too short says nothing; `run.until` holds in any case.
pub fn advice(scenario: &Scenario, needs: &Estimate, is_least: bool) -> Option<Advice> {
    let end = Time(needs.end_ps);
    let limit = scenario.run.until;
    let forecast = (!is_least).then_some(Time((SLACK * end.0 as f64) as u64));
    let is_late =
        |at: Time| limit.is_some_and(|limit| at >= limit) || forecast.is_some_and(|forecast| at > forecast);
    let events = || scenario.faults.events.iter().enumerate();
    let late = events().filter(|(_, fault)| is_late(fault.at));
    let count = late.clone().count();
    let (number, first) = late.min_by_key(|(_, fault)| fault.at)?;
    let over = match limit.filter(|limit| first.at >= *limit) {
        Some(limit) => format!("the run ends at {}", span(limit)),
        None => format!("by the forecast the last flow ends at {}, and the run with it", span(end)),
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
        write: format!("{path} = \"{}\"", about(Time(end.0 / 2))),
        path,
    })
}

#[cfg(test)]
mod tests {
    use crate::advice::Advice;
    use crate::checked::Checked;
    use crate::scenario::{Format, no_files};

    /// Faults at these times, of a flow of 1.25 MB at 10 Gbps: 1 ms.
    fn advice(run: &str, at: &[&str]) -> Option<Advice> {
        let fault = |at: &&str| {
            format!(
                "[[faults.events]]\nat = \"{at}\"\ntarget.cable = [\"leaf 0\", \"spine 1\"]\nchange = \"down\"\n"
            )
        };
        let faults: String = at.iter().map(fault).collect();
        let text = format!(
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
        );
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

    #[test]
    fn a_fault_behind_the_end_that_the_scenario_gives_is_named() {
        assert_eq!(advice("run.until = \"800us\"", &["700us"]), None);
        let late = advice("run.until = \"800us\"", &["800us"]).expect("advice");
        assert!(late.message.starts_with("the run ends at 800 us: the fault at 800 us begins later"));
    }
}
