//! A checked scenario: read once, with the network that the check built, and with flows that are drawn once
//! for all uses: its outlook, its flows, its run.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use serde::Serialize;
use serde_json::Value;

use crate::advice::{Advice, span};
use crate::advisor::{advice, loads};
use crate::balancer::Balancer;
use crate::belated::{self, End};
use crate::engine::contract::observer::Observer;
use crate::engine::data::finished::PartCounts;
use crate::engine::data::plan::Agenda;
use crate::engine::data::progress::Progress;
use crate::engine::parted::Parted;
use crate::engine::parted::executor::Executor;
use crate::engine::run::Engine;
use crate::estimate::{self, Estimate};
use crate::observe::Recorders;
use crate::parting::cut;
use crate::problem::{Problem, Problems, within};
use crate::results::{Outcome, Partition, Summary, collect};
use crate::scenario::{self, Admit, Entry, Files, Format, Prototypes, Scenario};
use crate::setup::Setup;
use crate::threads::Threads;
use crate::topology::Fabric;
use crate::traffic::window::Rule;
use crate::traffic::{Flow, Traffic};
use crate::units::Time;

/// A checked scenario and its network. Flows are drawn, and routes laid out, when something first needs them; the network
/// is built then, too, if the check has not done it.
#[derive(Debug)]
pub struct Checked<'a> {
    scenario: Cow<'a, Scenario>,
    prototypes: Prototypes,
    fabric: OnceLock<Arc<Fabric>>,
    ready: OnceLock<Result<(Setup, Estimate), Problems>>,
}

/// Estimates and advice for a run, before it.
#[derive(Clone, Debug, Serialize)]
pub struct Outlook {
    pub needs: Estimate,
    /// Why it needs more than that; none if nothing is known that the estimate leaves out.
    pub why_least: Option<String>,
    /// Fields that the scenario leaves to the network, by their paths, with the values that will be used.
    pub derived: BTreeMap<String, Value>,
    /// Advice on settings that are allowed and probably not meant.
    pub advice: Vec<Advice>,
    pub window: WindowAhead,
}

/// The measuring window of a run that has been set up.
#[derive(Clone, Debug, Serialize)]
pub struct WindowAhead {
    /// How it came to be.
    pub rule: Rule,
    /// Why the whole run is measured although the scenario leaves that open.
    pub why_all: Option<String>,
    pub from_ps: u64,
    /// Its end, not included; none if it ends with the run.
    pub until_ps: Option<u64>,
    /// Longest time for which arrivals go on behind it.
    pub drain_ps: u64,
    /// The warm-up that the rule asks for, with Poisson arrivals.
    pub wanted_ps: Option<u64>,
    /// Measured flows whose starts are known.
    pub flows: u64,
}

impl WindowAhead {
    fn of(setup: &Setup) -> WindowAhead {
        let Traffic { flows, timed, window, .. } = &setup.traffic;
        let own = |flow: &&Flow| !setup.carriers[flow.entry as usize].background && window.has(flow.start);
        WindowAhead {
            rule: window.rule,
            why_all: window.why_all.clone(),
            from_ps: window.from.0,
            until_ps: Some(window.until.0).filter(|_| window.ends()),
            drain_ps: window.drain.0,
            wanted_ps: window.wanted.map(|wanted| wanted.0),
            flows: flows[..*timed].iter().filter(own).count() as u64,
        }
    }
}

impl<'a> Checked<'a> {
    /// Reads a scenario, with overrides of the form (key, value); or says all that is wrong with it.
    pub fn read(
        text: &str,
        format: Format,
        overrides: &[(String, String)],
        files: &Files,
    ) -> Result<Checked<'static>, Problems> {
        Checked::read_with(text, format, overrides, files, Prototypes::default(), &|_| true)
    }

    /// The same, with prototypes that the scenario may name, and with a judge of whether there is memory for its network.
    pub fn read_with(
        text: &str,
        format: Format,
        overrides: &[(String, String)],
        files: &Files,
        prototypes: Prototypes,
        admit: &Admit,
    ) -> Result<Checked<'static>, Problems> {
        let (scenario, fabric) =
            scenario::read_with_fabric(text, format, overrides, files, &prototypes, admit)?;
        let fabric = OnceLock::from(Arc::new(fabric));
        Ok(Checked { scenario: Cow::Owned(scenario), prototypes, fabric, ready: OnceLock::new() })
    }

    /// A scenario that has been checked elsewhere.
    pub fn of(scenario: &'a Scenario) -> Checked<'a> {
        let prototypes = Prototypes::default();
        Checked {
            scenario: Cow::Borrowed(scenario),
            prototypes,
            fabric: OnceLock::new(),
            ready: OnceLock::new(),
        }
    }

    /// The scenario's repetition of that number, from 0 for itself; called `name` if it has none. Nothing of it is built or
    /// drawn yet, so that many can be kept until they are run.
    pub fn replica(&self, number: u64, name: Option<&str>) -> Result<Checked<'static>, Problems> {
        let mut scenario = self.scenario().clone();
        scenario.name = scenario.name.or_else(|| name.map(str::to_string));
        scenario.run.replica = scenario.run.replica.checked_add(number).ok_or_else(|| {
            Problem::new("run.replica", format!("{number} more than {} has no 64 bits", scenario.run.replica))
        })?;
        let (scenario, prototypes) = (Cow::Owned(scenario), self.prototypes.clone());
        Ok(Checked { scenario, prototypes, fabric: OnceLock::new(), ready: OnceLock::new() })
    }

    /// The scenario.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// The network.
    pub fn fabric(&self) -> &Arc<Fabric> {
        self.fabric.get_or_init(|| Arc::new(self.scenario.topology.build()))
    }

    /// Memory that a run takes at least, in bytes, found without drawing its flows: to be asked before anything that does.
    pub fn memory_least(&self) -> u64 {
        estimate::least(&self.scenario, self.fabric())
    }

    /// The network, its routes and the flows; drawn on the first call.
    pub fn setup(&self) -> Result<&Setup, Problems> {
        self.ready().map(|(setup, _)| setup)
    }

    /// Estimates and advice for a run, before it; or why it is refused.
    pub fn outlook(&self) -> Result<Outlook, Problems> {
        let (setup, needs) = self.in_reach()?;
        let overloaded = !loads(&self.scenario, setup).is_empty();
        let why_least = estimate::why_least(&self.scenario, setup, overloaded);
        let mut advice = advice(&self.scenario, setup);
        if self.scenario.run.advice {
            let end = End::About { time: Time(needs.end_ps), or_later: why_least.is_some() };
            advice.extend(belated::advice(&self.scenario, &setup.traffic.window, end));
        }
        let derived = setup.derived.clone();
        Ok(Outlook { needs, why_least, derived, advice, window: WindowAhead::of(setup) })
    }

    /// Runs it. `watch` is shown the progress now and then and says whether to go on; what was done until then is in the
    /// tables. Refuses a run that is out of reach: see `estimate`. Observers: see `engine::observer`.
    pub fn simulate(
        &self,
        watch: &mut dyn FnMut(&Progress) -> bool,
        observers: &mut [&mut dyn Observer],
    ) -> Result<Outcome, Problems> {
        self.simulate_on(Agenda::Calendar, watch, observers)
    }

    /// The same, with the structure for future events chosen: for tests that compare them.
    pub fn simulate_on(
        &self,
        agenda: Agenda,
        watch: &mut dyn FnMut(&Progress) -> bool,
        observers: &mut [&mut dyn Observer],
    ) -> Result<Outcome, Problems> {
        let threads = self.scenario().run.threads;
        self.simulate_in(threads, &Threads(threads as usize), agenda, watch, observers)
    }

    /// The same in at most so many parts: see `engine::parted`. The results do not depend on it.
    pub fn simulate_in(
        &self,
        parts: u32,
        executor: &dyn Executor,
        agenda: Agenda,
        watch: &mut dyn FnMut(&Progress) -> bool,
        observers: &mut [&mut dyn Observer],
    ) -> Result<Outcome, Problems> {
        let (setup, estimate) = self.in_reach()?;
        let scenario = self.scenario();
        let mut recorders = Recorders::new(&scenario.observe, &setup.fabric, &setup.carriers, &setup.traffic);
        let plan = setup.plan(scenario, agenda);
        let all =
            recorders.all().chain(observers.iter_mut().map(|observer| &mut **observer as &mut dyn Observer));
        let watchers: Vec<&mut dyn Observer> = all.collect();
        let (finished, whole) = match cut(setup, parts) {
            Ok(cut) => {
                let mut run = Parted::new(&plan, &Arc::new(cut));
                watchers.into_iter().for_each(|observer| run.observe(observer));
                (run.run(executor, watch), None)
            }
            Err(reason) => {
                let mut engine = Engine::new(&plan);
                watchers.into_iter().for_each(|observer| engine.observe(observer));
                (engine.run(watch), Some(reason))
            }
        };
        let outcome = collect(scenario, setup, estimate, &finished, recorders);
        let partition = (parts > 1).then(|| match finished.parts {
            Some(parts) => Partition::Parts(PartCounts { threads: executor.lanes() as u32, ..parts }),
            None => Partition::Whole(whole.expect("a run has parts or a reason")),
        });
        Ok(Outcome { summary: Summary { partition, ..outcome.summary }, ..outcome })
    }

    /// Bytes of all agents once it has been run, and the number of ports that have one: for the benchmark of agents.
    pub fn agent_bytes(&self) -> Result<(u64, usize), Problems> {
        let plan = self.setup()?.plan(self.scenario(), Agenda::Calendar);
        let finished = Engine::new(&plan).run(&mut |_| true);
        Ok((finished.agent_bytes, finished.links.len()))
    }

    fn ready(&self) -> Result<&(Setup, Estimate), Problems> {
        let ready = self.ready.get_or_init(|| {
            if let Some(problem) = self.scenario.run.too_much_to_set_up(self.memory_least()) {
                return Err(problem.into());
            }
            let setup = Setup::with(&self.scenario, Arc::clone(self.fabric()), &self.prototypes);
            let setup = setup.map_err(|apart| Problem::new("topology", apart.to_string()))?;
            let mut misled = misled(&self.scenario, &setup);
            misled.extend(setup.queue_problems());
            misled.extend(nothing_measured(&setup));
            if !misled.is_empty() {
                return Err(Problems(misled));
            }
            let estimate = Estimate::new(&self.scenario, &setup);
            Ok((setup, estimate))
        });
        ready.as_ref().map_err(Problems::clone)
    }

    fn in_reach(&self) -> Result<(&Setup, Estimate), Problems> {
        let (setup, estimate) = self.ready()?;
        match estimate.refusal(&self.scenario) {
            Some(problem) => Err(problem.into()),
            None => Ok((setup, *estimate)),
        }
    }
}

/// A window of the scenario's own in which no flow starts that could be measured.
fn nothing_measured(setup: &Setup) -> Option<Problem> {
    let Traffic { flows, timed, window, chains, .. } = &setup.traffic;
    let own = |entry: u32| !setup.carriers[entry as usize].background;
    let known = || flows[..*timed].iter().filter(|flow| own(flow.entry)).map(|flow| flow.start);
    let later = flows[*timed..].iter().any(|flow| own(flow.entry))
        || (0..chains.len() as u32).any(|chain| own(chains.entry(chain)));
    let (first, last) = (known().min()?, known().max()?);
    (window.rule == Rule::Given && !later && !known().any(|start| window.has(start))).then(|| {
        let until = if window.ends() { span(window.until) } else { "the end".into() };
        let message = format!(
            "no flow starts from {} to {until}: the first one starts at {}, the last one at {}",
            span(window.from),
            span(first),
            span(last)
        );
        Problem::new("run.measure", message)
    })
}

/// Problems of the flows that explicit routes are for.
fn misled(scenario: &Scenario, setup: &Setup) -> Vec<Problem> {
    let own = |entry: &Entry| entry.routing.as_ref().is_some_and(|routing| routing.balancer.is_some());
    let places = scenario.traffic.iter().enumerate().filter_map(|(place, entry)| {
        Some((format!("traffic.{}.routing", entry.name), entry.routing.as_ref()?, Some(place)))
    });
    let mut problems = Vec::new();
    for (path, routing, of) in std::iter::once(("routing".into(), &scenario.routing, None)).chain(places) {
        let Some(Balancer::Explicit(explicit)) = &routing.balancer else { continue };
        if explicit.routes.iter().all(|route| route.taken_by.is_none()) {
            continue;
        }
        let carries = |(place, entry): (usize, &Entry)| of.map_or(!own(entry), |own| own == place);
        let carried: Vec<bool> = scenario.traffic.iter().enumerate().map(carries).collect();
        let found = explicit.misled(&scenario.demands(), &carried, &setup.traffic, &setup.fabric);
        problems.extend(within(format!("{path}.balancer.explicit"), found));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::no_files;

    const SCENARIO: &str = r#"
        transport = "ndp"
        topology.single-switch.hosts = 4
        observe.samples = { every = "1us", links = ["host-switch"] }
        [[traffic]]
        name = "a"
        arrivals.poisson = { load = 0.5 }
        matrix = "uniform"
        sizes.fixed = "10KB"
        flows = 20
    "#;

    #[test]
    fn check_outlook_and_run_share_one_network_and_one_drawing() {
        let checked = Checked::read(SCENARIO, Format::Toml, &[], &no_files).expect("a scenario");
        let needs = checked.outlook().expect("a small run").needs;
        let drawn = checked.setup().expect("a connected network").traffic.flows.as_ptr();
        let outcome = checked.simulate(&mut |_| true, &mut []).expect("a small run");
        assert_eq!(outcome.summary.estimate, needs);
        let setup = checked.setup().expect("a connected network");
        assert!(Arc::ptr_eq(&setup.fabric, checked.fabric()), "the network that the check built");
        assert_eq!(setup.traffic.flows.as_ptr(), drawn);
    }

    #[test]
    fn a_replica_is_the_scenario_with_that_replica_and_has_nothing_built() {
        let checked = Checked::read(SCENARIO, Format::Toml, &[], &no_files).expect("a scenario");
        let replica = checked.replica(3, Some("sweep")).expect("a small number");
        assert!(replica.fabric.get().is_none() && replica.ready.get().is_none());
        let overrides =
            [("run.replica", "3"), ("name", "sweep")].map(|(key, value)| (key.into(), value.into()));
        let read = Checked::read(SCENARIO, Format::Toml, &overrides, &no_files).expect("a scenario");
        assert_eq!(replica.scenario(), read.scenario());
        let digest =
            |checked: &Checked| checked.simulate(&mut |_| true, &mut []).expect("a small run").summary.digest;
        assert_eq!(digest(&replica), digest(&read));
        assert_ne!(digest(&replica), digest(&checked));
        assert_eq!(replica.replica(u64::MAX, None).expect_err("too many").0[0].path, "run.replica");
        assert_eq!(
            replica.replica(0, Some("other")).expect("the same").scenario().name.as_deref(),
            Some("sweep")
        );
    }
}
