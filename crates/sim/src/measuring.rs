//! Advice on a measuring window, before the run: a warm-up, a span of arrivals or a number of flows that is too small.
//!
//! A number of flows that is too small for the load that the scenario names gives numbers of another, lower load.

use crate::advice::{Advice, NEARLY, about, span};
use crate::setup::Setup;
use crate::traffic::window::{Rule, Window};
use crate::units::Time;

/// Where the whole run is measured, its arrivals are to go on for so many warm-ups.
const WARM_UPS: f64 = 5.0;
/// Flows below which the 95 % confidence interval of a 99th percentile has no upper end: 0.99^368 is below 2.5 %.
const P99_LEAST: u64 = 368;
/// A number of flows with which that interval is a useful one.
const FLOWS_GOOD: u64 = 2000;

/// Advice on the window of a run that has been set up, whose network carries its loads or does not: only if it does, it
/// comes to a steady state.
pub fn advice(setup: &Setup, carries: bool) -> Vec<Advice> {
    let window = &setup.traffic.window;
    let Some(wanted) = window.wanted else { return Vec::new() };
    let starts = carries.then(|| span_of_starts(setup, window, wanted)).flatten();
    starts.into_iter().chain(few_flows(setup)).collect()
}

/// A warm-up, or a span of starts, that is too short for the load.
fn span_of_starts(setup: &Setup, window: &Window, wanted: Time) -> Option<Advice> {
    let begins = match window.rule {
        Rule::All => {
            let arrive = arrivals_span(setup)?;
            if arrive.seconds() >= WARM_UPS * wanted.seconds() {
                return None;
            }
            let why = window.why_all.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
            format!("the whole run is measured{why}, and flows arrive for {}", span(arrive))
        }
        Rule::Chosen if window.from.seconds() < NEARLY * wanted.seconds() => {
            format!("few flows are measured, and their warm-up is cut to {}", span(window.from))
        }
        Rule::Given if window.from.seconds() < 0.5 * wanted.seconds() => {
            format!("the window begins at {}", span(window.from))
        }
        _ => return None,
    };
    Some(Advice {
        path: "run.measure".into(),
        message: format!(
            "{begins}; at this load the network needs {} until it is in a steady state: measured flows meet less traffic than \
             the load names, and their times are too short{}",
            span(wanted),
            unmeasured_fault(setup, wanted)
        ),
        write: format!("run.measure.from = \"{}\"", about(wanted)),
    })
}

/// Advice on the first fault that a warm-up until then would hide; a network that is damaged from the start stays so.
fn unmeasured_fault(setup: &Setup, warm_up: Time) -> String {
    let hidden = |at: &u64| *at > 0 && Time(*at) < warm_up;
    match setup.faults.summary.iter().map(|fault| fault.at_ps).filter(hidden).min() {
        None => String::new(),
        Some(at) => {
            format!("; the fault at {} would fall into the warm-up: move it behind, too", span(Time(at)))
        }
    }
}

/// From the first to the last start of arrivals at a rate that are not background.
fn arrivals_span(setup: &Setup) -> Option<Time> {
    let mut starts = starts(setup);
    let first = starts.next()?;
    Some(starts.next_back()?.saturating_sub(first))
}

/// Fewer flows than a 99th percentile takes.
fn few_flows(setup: &Setup) -> Option<Advice> {
    let name = setup.first_loaded()?;
    let measured = starts(setup).filter(|start| setup.traffic.window.has(*start)).count() as u64;
    (measured < P99_LEAST).then(|| Advice {
        path: format!("traffic.{name}.flows"),
        message: format!(
            "{measured} flows are measured: a 99th percentile of fewer than {P99_LEAST} has no upper bound at 95 % \
             confidence"
        ),
        write: format!("traffic.{name}.flows = {FLOWS_GOOD}"),
    })
}

/// Starts of flows that arrive at a rate and are not background.
fn starts(setup: &Setup) -> impl DoubleEndedIterator<Item = Time> + '_ {
    let timed = setup.traffic.flows[..setup.traffic.timed].iter();
    timed.filter(|flow| setup.is_loaded(flow.entry as usize)).map(|flow| flow.start)
}

#[cfg(test)]
mod tests {
    use crate::checked::Checked;
    use crate::scenario::{Format, no_files};

    /// A cable that goes down 50 us after the start, in a run that is measured from then on, would be missed by a window behind
    /// the warm-up; one that is down from the start is not.
    #[test]
    fn a_fault_in_the_warm_up_is_named() {
        let said = |at: &str| {
            let text = format!(
                r#"
                transport.tcp = {{}}
                topology.leaf-spine = {{ leaves = 2, spines = 2, hosts = 4 }}
                run.measure.from = "1ns"
                run.until = "20ms"
                [[faults.events]]
                at = "{at}"
                target.cable = ["leaf 0", "spine 1"]
                change = "down"
                [[traffic]]
                name = "all"
                arrivals.poisson.load = 0.3
                matrix.uniform = {{}}
                sizes.web-search = {{}}
                flows = 2000
                "#
            );
            let checked = Checked::read(&text, Format::Toml, &[], &no_files).expect("a scenario");
            let advice = checked.outlook().expect("a small run").advice;
            advice.into_iter().find(|one| one.path == "run.measure").expect("it needs a warm-up").message
        };
        assert!(
            said("50us").ends_with("; the fault at 50 us would fall into the warm-up: move it behind, too")
        );
        assert!(said("0s").ends_with("their times are too short"));
    }
}
