//! A discipline of one's own on the slotted link: least slack first, against PDQ and PEQ.
//!
//!     cargo run --release -p flowyard-sim --example own_discipline

use flowyard_sim::scenario::Format;
use flowyard_sim::slotted::{self, Discipline, EarlyTermination, Outcome, Service, Slot, Slotted};

/// Serves the flow that can wait for the fewest slots before it could not be in time any more.
pub struct LeastSlack;

impl Discipline for LeastSlack {
    fn serve(&mut self, slot: &Slot, _shares: &mut [f64]) -> Service {
        let slack = |place: &usize| {
            let flow = &slot.flows[*place];
            flow.time_left(slot.now) - flow.left as u64
        };
        (0..slot.flows.len()).min_by_key(slack).map_or(Service::Nobody, Service::One)
    }

    fn early_termination(&self) -> EarlyTermination {
        EarlyTermination::Strict
    }
}

/// Forty servers, a flow each at a time, as in section 3.4 of the thesis.
pub const CONFIG: &str = r#"
    discipline = "pdq"
    generation.random = { servers = 40, probability = 0.001 }
    [[classes]]
    sizes.uniform = { min = 2, max = 198 }
    deadlines.exponential = { mean = 120 }
    [run]
    slots = 200_000
"#;

/// The configuration, with another discipline of the simulator's.
pub fn config(discipline: &str) -> Slotted {
    let chosen = [("discipline".to_string(), discipline.to_string())];
    slotted::read(CONFIG, Format::Toml, &chosen).unwrap_or_else(|problems| panic!("{problems}"))
}

/// Share of the flows that were done in time.
pub fn in_time(outcome: &Outcome) -> f64 {
    outcome.flows.iter().filter(|flow| flow.done).count() as f64 / outcome.flows.len() as f64
}

#[allow(dead_code, reason = "tests use the rest of this file")]
fn main() {
    let own = slotted::run_with(&config("pdq"), &mut LeastSlack, &mut |_| true);
    println!("least slack first: {:.2} %", 100.0 * in_time(&own));
    for name in ["pdq", "peq"] {
        println!("{name}: {:.2} %", 100.0 * in_time(&slotted::run(&config(name), &mut |_| true)));
    }
}
