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

/// Advice on the window of a run that has been set up.
pub fn advice(setup: &Setup) -> Vec<Advice> {
    let window = &setup.traffic.window;
    let Some(wanted) = window.wanted else { return Vec::new() };
    span_of_starts(setup, window, wanted).into_iter().chain(few_flows(setup)).collect()
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
             the load names, and their times are too short",
            span(wanted)
        ),
        write: format!("run.measure.from = \"{}\"", about(wanted)),
    })
}

/// From the first to the last start of arrivals at a rate that are not background.
fn arrivals_span(setup: &Setup) -> Option<Time> {
    let own = |entry: u32| {
        let entry = entry as usize;
        setup.traffic.entries[entry].offered_bps.is_some() && !setup.carriers[entry].background
    };
    let mut starts = setup.traffic.flows[..setup.traffic.timed].iter().filter(|flow| own(flow.entry));
    let first = starts.next()?.start;
    Some(starts.next_back()?.start.saturating_sub(first))
}

/// Fewer flows than a 99th percentile takes.
fn few_flows(setup: &Setup) -> Option<Advice> {
    let traffic = &setup.traffic;
    let own =
        |entry: usize| traffic.entries[entry].offered_bps.is_some() && !setup.carriers[entry].background;
    let first = (0..traffic.entries.len()).find(|&entry| own(entry))?;
    let measured = traffic.flows[..traffic.timed].iter();
    let measured =
        measured.filter(|flow| own(flow.entry as usize) && traffic.window.has(flow.start)).count() as u64;
    (measured < P99_LEAST).then(|| Advice {
        path: format!("traffic.{}.flows", traffic.entries[first].name),
        message: format!(
            "{measured} flows are measured: a 99th percentile of fewer than {P99_LEAST} has no upper bound at 95 % \
             confidence"
        ),
        write: format!("traffic.{}.flows = {}", traffic.entries[first].name, FLOWS_GOOD),
    })
}
