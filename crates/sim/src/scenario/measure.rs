//! The measured part of a run: all of it, or a window that begins behind a warm-up and ends before the traffic does.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Run;
use crate::problem::Problem;
use crate::topology::Fabric;
use crate::traffic::workload::product::Product;
use crate::traffic::{Demand, FLOWS_MAX, HostPorts, cannot_go_on, sources};
use crate::units::Time;

/// The flows and the span of time that results are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum Measure {
    /// By a rule.
    Rule(MeasureRule),
    /// In a window of the scenario's own.
    Window(MeasureWindow),
}

impl Default for Measure {
    fn default() -> Self {
        Measure::Rule(MeasureRule::Auto)
    }
}

/// A rule for the measuring window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MeasureRule {
    /// With Poisson arrivals, a window: `flows` is the number of measured flows, a warm-up precedes them, and arrivals go on
    /// until the last measured flow has ended. With other arrivals the whole run.
    Auto,
    /// The whole run: `flows` is the number of all flows, from an empty network to an empty network.
    All,
}

/// A measuring window: flows that start in it are measured, and links, queues, samples and loads are of it. Flows outside it
/// are simulated and recorded, but not measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("examples" = [{ "from": "100ms", "until": "400ms" }, { "from": 2000, "until": 8000 }]))]
pub struct MeasureWindow {
    /// Its start: a time, or a number of Poisson flows that start before. By default it is chosen as by "auto".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<MeasureFrom>,
    /// Its end, not included: a time; a number of Poisson flows that start before; or "end", the end of the run. With it, `flows`
    /// and `arrivals.poisson.until` limit all arrivals. By default `flows` is the number of measured flows, as by "auto".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<MeasureUntil>,
    /// Longest time for which Poisson arrivals go on behind its end, while measured flows are open. By default it is chosen as
    /// by "auto".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drain: Option<Time>,
}

/// Where a window begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum MeasureFrom {
    /// At this time.
    Time(Time),
    /// With the Poisson flow of this number, counted from 0 over all entries that are not background.
    Flow(u64),
}

/// Where a window ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum MeasureUntil {
    /// With the run.
    End(MeasureEnd),
    /// At this time.
    Time(Time),
    /// With the Poisson flow of this number.
    Flow(u64),
}

/// The end of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum MeasureEnd {
    /// Its only name.
    End,
}

impl Measure {
    /// The whole run.
    pub const ALL: Measure = Measure::Rule(MeasureRule::All);

    /// The scenario's own window, with everything left open if the rule chooses it; none for the whole run.
    pub fn window(self) -> Option<MeasureWindow> {
        match self {
            Measure::Rule(MeasureRule::All) => None,
            Measure::Rule(MeasureRule::Auto) => Some(MeasureWindow::default()),
            Measure::Window(window) => Some(window),
        }
    }
}

impl MeasureWindow {
    /// Whether the run ends once the window and its flows have, by what the scenario gives.
    pub fn ends_the_run(&self) -> bool {
        matches!(self.until, Some(MeasureUntil::Time(_) | MeasureUntil::Flow(_)))
    }
}

/// The entries with an end for arrivals that the window or the run ends, so that their number can be checked. With faults at
/// given times no window is chosen.
pub(super) fn bounded(entries: &[Demand], run: &Run, fixed_faults: bool) -> Vec<Demand> {
    let mut entries = entries.to_vec();
    let window = run.measure.window().filter(|window| *window != MeasureWindow::default() || !fixed_faults);
    let ends = |window: &MeasureWindow| {
        window.ends_the_run() || window.until.is_none() && cannot_go_on(&entries).is_none()
    };
    if window.as_ref().is_some_and(ends) {
        // Background goes on until the last measured flow has ended: its number is not known yet.
        entries = entries.into_iter().map(Demand::begun).collect();
    }
    entries = entries.into_iter().map(|entry| entry.until_the_end(run.until)).collect();
    let until = window.and_then(|window| window.until);
    for entry in entries.iter_mut().filter(|entry| entry.goes_on()) {
        entry.change_offer(|Product { arrivals, flows, .. }| match until {
            Some(MeasureUntil::Time(until)) if flows.is_none() => {
                let end = arrivals.ends().map_or(until, |end| end.min(until));
                arrivals.end_at(end);
            }
            Some(MeasureUntil::Flow(number)) if flows.is_none() && arrivals.ends().is_none() => {
                *flows = Some(number.max(1));
            }
            _ => {}
        });
    }
    entries
}

/// All that is wrong with a window, given the end of the run and, if nothing is wrong with it, the traffic; paths are below
/// the window.
pub(super) fn problems(
    window: &MeasureWindow,
    run_until: Option<Time>,
    traffic: Option<(&[Demand], &Fabric)>,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut wrong = |field: &str, what: String| problems.push(Problem::new(field, what));
    match (window.from, window.until) {
        (Some(MeasureFrom::Time(from)), Some(MeasureUntil::Time(until))) if until <= from => {
            wrong("until", format!("\"{until}\" is not after from, which is \"{from}\""));
        }
        (Some(MeasureFrom::Flow(from)), Some(MeasureUntil::Flow(until))) if until <= from => {
            wrong("until", format!("{until} is not more than from, which is {from}: no flow starts between"));
        }
        (None, Some(MeasureUntil::Flow(0))) => {
            wrong("until", "0 leaves no flow to measure; use 1 or more".into())
        }
        _ => {}
    }
    if let Some(run) = run_until {
        match (window.from, window.until) {
            (Some(MeasureFrom::Time(from)), _) if run <= from => {
                wrong("from", format!("\"{from}\" is not before run.until, which is \"{run}\""));
            }
            (_, Some(MeasureUntil::Time(until))) if run < until => {
                wrong("until", format!("\"{until}\" is behind run.until, which is \"{run}\""));
            }
            _ => {}
        }
    }
    if problems.is_empty()
        && let Some((entries, fabric)) = traffic
    {
        problems.extend(beyond_arrivals(window, entries, fabric));
    }
    problems
}

/// Ends that arrivals do not come to.
fn beyond_arrivals(window: &MeasureWindow, entries: &[Demand], fabric: &Fabric) -> Vec<Problem> {
    let going: Vec<&Product> = entries
        .iter()
        .filter(|entry| !entry.background && entry.goes_on())
        .filter_map(Demand::offers)
        .collect();
    let counts = [
        ("from", matches!(window.from, Some(MeasureFrom::Flow(_)))),
        ("until", matches!(window.until, Some(MeasureUntil::Flow(_)))),
    ];
    if going.is_empty() {
        let why = "is a number of flows, which are counted of Poisson arrivals that are not background, and there are none";
        let wrong = counts.into_iter().filter(|(_, given)| *given);
        return wrong.map(|(field, _)| Problem::new(field, format!("{why}; give a time"))).collect();
    }
    let number = match window.until {
        Some(MeasureUntil::Flow(number)) => Some(number),
        _ => None,
    };
    let limit = going.iter().map(|product| product.flows).sum::<Option<u64>>();
    if let (Some(number), Some(limit)) = (number, limit)
        && number > limit
    {
        let what =
            format!("{number} is more flows than arrivals have, {limit}; leave flows out, or give as many");
        return vec![Problem::new("until", what)];
    }
    let Some(MeasureUntil::Time(until)) = window.until else { return Vec::new() };
    let ports = HostPorts::of(fabric);
    let (sources, _) = sources::resolve(entries, fabric.hosts, 0, 0);
    let mut expected = 0.0;
    for (entry, sources) in entries.iter().zip(&sources).filter(|(entry, _)| entry.goes_on()) {
        let Some(Product { arrivals, flows: limit, .. }) = entry.offers() else { continue };
        if let Some(end) = arrivals.ends().filter(|end| *end < until && !entry.background) {
            let what = format!("\"{until}\" is behind the last arrival of \"{}\", \"{end}\"", entry.name);
            return vec![Problem::new("until", what)];
        }
        let rate = arrivals.rate(ports.full(entry, sources));
        let flows = rate.unwrap_or(0.0) * until.saturating_sub(arrivals.begins()).seconds();
        expected += flows;
        // Six standard deviations more than the number of arrivals expected by then.
        let most = limit.map_or(f64::INFINITY, |most| most as f64 + 6.0 * (most as f64).sqrt());
        if !entry.background && flows > most {
            let what = format!(
                "\"{until}\" is behind the last arrival of \"{}\": it has {} flows, and some {flows:.0} arrive by then; \
                 leave flows out",
                entry.name,
                limit.unwrap_or_default()
            );
            return vec![Problem::new("until", what)];
        }
    }
    if expected > FLOWS_MAX as f64 {
        let what =
            format!("lets {expected:.0} flows start, on average; a scenario has at most {FLOWS_MAX} flows");
        return vec![Problem::new("until", what)];
    }
    Vec::new()
}
