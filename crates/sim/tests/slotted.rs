//! The slotted link: the thesis's example by hand, each discipline against definitions, and time by events against time
//! slot by slot.

use flowyard_sim::scenario::Format;
use flowyard_sim::slotted::{self, Outcome, Slotted};

fn config(text: &str) -> Slotted {
    slotted::read(text, Format::Toml, &[]).unwrap_or_else(|problems| panic!("{problems}\n{text}"))
}

fn run(text: &str) -> Outcome {
    slotted::run(&config(text), &mut |_| true)
}

/// Figure 1.15 of the thesis: sizes and deadlines of f1 to f4, which are flows 0 to 3.
const EXAMPLE: &str = r#"
    [generation]
    list = [{ size = 10, deadline = 23 }, { size = 13, deadline = 15 }, { size = 4, deadline = 26 }, { size = 3, deadline = 25 }]
    [run]
    schedule = true
"#;

/// (flow, start, end) of what was served.
fn schedule(text: &str) -> Vec<(u32, u64, u64)> {
    run(text).schedule.iter().map(|segment| (segment.flow, segment.start, segment.end)).collect()
}

#[test]
fn the_example_under_peq_pdq_and_optimal() {
    let of = |discipline: &str| schedule(&format!("discipline = \"{discipline}\"\n{EXAMPLE}"));
    assert_eq!(of("peq"), [(3, 0, 3), (2, 3, 7), (0, 7, 17)]);
    assert_eq!(of("pdq"), [(1, 0, 13), (0, 13, 23)]);
    assert_eq!(of("optimal").len(), 3);
}

/// A run at random: sets or servers, sizes, deadlines, and how the discipline is set.
fn random(case: u64) -> String {
    let mut state = case.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut below = |bound: u64| {
        state = flowyard_sim::random::mix(state.wrapping_add(0x9E37_79B9_7F4A_7C15));
        state % bound
    };
    let generation = match below(3) {
        0 => format!("sets = {{ flows = {}, sets = 3 }}", 1 + below(40)),
        1 => format!("interval = {{ servers = {}, slots = {}, sets = 5, busy = \"{}\" }}", 1 + below(20), 1 + below(200), ["skip", "add"][below(2) as usize]),
        _ => format!("random = {{ servers = {}, probability = 0.0{} }}", 1 + below(40), 1 + below(99)),
    };
    let deadlines = match below(4) {
        0 => format!("exponential = {{ mean = {} }}", 1 + below(200)),
        1 => format!("exponential = {{ mean = {}, infeasible = \"shift\" }}", 1 + below(200)),
        2 => "linear = { at_zero = 60, slope = -0.5 }".to_string(),
        _ => format!("uniform = {{ min = 0, max = {}, beyond_size = true }}", 1 + below(100)),
    };
    let discipline = match below(7) {
        0 => "fcfs".to_string(),
        1 => "edf".to_string(),
        2 => "sjf".to_string(),
        3 => format!("pdq = {{ early_termination = \"{}\" }}", ["strict", "waiting", "expired"][below(3) as usize]),
        4 => format!("peq = {{ alpha = 0.{}, beta = 0.{}, walk = \"{}\" }}", below(10), below(10), ["pseudo-code", "text"][below(2) as usize]),
        _ => format!("peq = {{ walk = \"{}\", discard = \"{}\" }}", ["pseudo-code", "text"][below(2) as usize], ["slot", "forever"][below(5).min(4) as usize / 4]),
    };
    format!(
        r#"
        generation.{generation}
        discipline.{discipline}
        [[classes]]
        sizes.uniform = {{ min = 1, max = {} }}
        deadlines.{deadlines}
        [run]
        seed = {case}
        slots = 2000
        schedule = true
        preemptive = {}
        "#,
        1 + below(60),
        below(5) > 0,
    )
    .replace("discipline.fcfs", "discipline = \"fcfs\"")
    .replace("discipline.edf", "discipline = \"edf\"")
    .replace("discipline.sjf", "discipline = \"sjf\"")
}

#[test]
fn time_by_events_is_time_slot_by_slot() {
    let mut skipped = 0;
    for case in 0..10_000 {
        let text = random(case);
        let event = config(&text);
        let mut slot = event.clone();
        slot.run.step = slotted::config::Step::Slot;
        let (events, slots) = (slotted::run(&event, &mut |_| true), slotted::run(&slot, &mut |_| true));
        assert_eq!(events.flows, slots.flows, "{text}");
        assert_eq!(events.schedule, slots.schedule, "{text}");
        assert_eq!((events.slots, events.sent, events.present), (slots.slots, slots.sent, slots.present));
        skipped += slots.decisions - events.decisions;
    }
    assert!(skipped > 1_000_000, "{skipped}");
}
