//! Definition of a run on the slotted link: its file's fields, with defaults and bounds.

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::discipline::DisciplineConfig;
use super::draws::{self, Deadlines, Infeasible, LEAST_FEASIBLE, Sizes};
use super::generation::Generation;
use crate::problem::{Problem, Problems, within};
use crate::random::Stream;
use crate::scenario::{self, Format};

/// A run on the slotted link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Slotted {
    /// Name of the run. Absent: the name of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// When flows arrive.
    pub generation: Generation,
    /// Distribution of flows, by class; server n has the class of place n in a round over all weights. A list
    /// of flows has its own.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub classes: Vec<Class>,
    /// The discipline.
    pub discipline: DisciplineConfig,
    /// How to run it.
    #[serde(default)]
    pub run: Run,
}

impl Slotted {
    /// It as JSON.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("a configuration is plain JSON")
    }
}

/// Flows of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// Servers of this class in a round.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 1000))]
    pub weight: u32,
    /// Packets of a flow.
    pub sizes: Sizes,
    /// Slots in which it is to be done.
    pub deadlines: Deadlines,
}

fn one() -> u32 {
    1
}

impl Class {
    /// Draws the size and the deadline of a flow.
    pub fn draw(&self, stream: &mut Stream) -> (u32, u64) {
        draws::draw(&self.sizes, &self.deadlines, stream)
    }

    /// All that is wrong with it; paths are below the class.
    fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        if let Deadlines::Uniform { min, max, .. } = self.deadlines
            && min > max
        {
            problems
                .push(Problem::new("deadlines.uniform.min", format!("{min} is above max, which is {max}")));
        }
        if let Sizes::Uniform { min, max } = self.sizes
            && min > max
        {
            problems.push(Problem::new("sizes.uniform.min", format!("{min} is above max, which is {max}")));
        } else if let Deadlines::Exponential { mean, infeasible: Infeasible::Redraw } = self.deadlines
            && draws::feasible_share(&self.sizes, mean) < LEAST_FEASIBLE
        {
            let least = draws::least_mean(&self.sizes);
            let message = format!(
                "{mean} leaves fewer than one flow in 1000 feasible, too few to draw the others again \
                 (infeasible = \"redraw\"); with these sizes at least {least} is allowed"
            );
            problems.push(Problem::new("deadlines.exponential.mean", message));
        }
        problems
    }
}

/// How to run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Run {
    /// Seed of all random streams.
    pub seed: u64,
    /// Number of the repetition: another replica of the same seed is independent of this one.
    pub replica: u64,
    /// Slots to run. Absent: until all flows have left, which needs flows that end.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub slots: Option<u64>,
    /// Whether a flow in service may have to wait for another one before it is done.
    pub preemptive: bool,
    /// Whether slots in which nothing new is decided are skipped; the results are the same.
    pub step: Step,
    /// Whether to record the schedule: the flows served in each slot.
    pub schedule: bool,
}

impl Default for Run {
    fn default() -> Run {
        let (seed, replica, slots, preemptive, schedule) = (1, 0, None, true, false);
        Run { seed, replica, slots, preemptive, step: Step::Event, schedule }
    }
}

/// How time passes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// To the next slot in which something changes.
    #[default]
    Event,
    /// Slot by slot.
    Slot,
}

static SCHEMA: LazyLock<Value> = LazyLock::new(scenario::schema_of::<Slotted>);

/// The JSON Schema of configurations, as text.
pub fn schema() -> String {
    scenario::schema_text(&SCHEMA)
}

/// Reads a configuration, with overrides of the form (key, value); or returns all its problems.
pub fn read(text: &str, format: Format, overrides: &[(String, String)]) -> Result<Slotted, Problems> {
    let config: Slotted = scenario::read_as(&SCHEMA, text, format, overrides)?;
    let problems = config.problems();
    if problems.is_empty() { Ok(config) } else { Err(Problems(problems)) }
}

impl Slotted {
    /// Checks across fields.
    fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        let listed = matches!(self.generation, Generation::List(_));
        if listed != self.classes.is_empty() {
            let message = if listed {
                "a list of flows has its own sizes; leave them out"
            } else {
                "is missing; begin each class with [[classes]], and give sizes and deadlines"
            };
            problems.push(Problem::new("classes", message));
        }
        for (i, class) in self.classes.iter().enumerate() {
            problems.extend(within(format!("classes.{i}"), class.problems()));
        }
        if matches!(self.generation, Generation::Random { .. }) && self.run.slots.is_none() {
            let message = "is missing; servers never stop starting flows: say slots = 100000";
            problems.push(Problem::new("run.slots", message));
        }
        let endless = self.classes.iter().any(|class| class.deadlines == Deadlines::None {});
        if self.discipline.needs_one_release() {
            let name = self.discipline.name();
            let together = match &self.generation {
                Generation::Sets { .. } => true,
                Generation::List(flows) => flows.iter().all(|flow| flow.arrival == flows[0].arrival),
                Generation::Random { .. } | Generation::Interval { .. } => false,
            };
            if !together {
                let message = format!("{name} needs all flows to arrive together; use generation.sets");
                problems.push(Problem::new("discipline", message));
            }
            if endless {
                problems.push(Problem::new("discipline", format!("{name} needs deadlines")));
            }
        }
        problems
    }
}
