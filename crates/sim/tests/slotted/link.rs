//! The slotted link: the thesis's example by hand, each discipline against definitions, and time by events against time
//! slot by slot.

use flowyard_sim::records::Values;
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

/// A flow's deadline is in the table, and missing where it has none.
#[test]
fn deadlines_are_in_the_table_of_flows() {
    let deadlines = |text: &str| {
        let table = run(text).flows_table();
        let column = table.column("deadline").expect("a column");
        let Values::U64(values) = &column.values else { panic!("deadlines are whole slots") };
        let valid = column.valid.clone().unwrap_or_else(|| vec![true; values.len()]);
        let mut told: Vec<_> =
            values.iter().zip(valid).map(|(value, valid)| valid.then_some(*value)).collect();
        told.sort_unstable();
        told
    };
    let example = format!("discipline = \"pdq\"\n{EXAMPLE}");
    assert_eq!(deadlines(&example), [Some(15), Some(23), Some(25), Some(26)]);
    let without =
        "[generation]\nsets = { flows = 3, sets = 1 }\n[[classes]]\nsizes.fixed = 4\ndeadlines.none = {}\n";
    assert_eq!(deadlines(&format!("discipline = \"sjf\"\n{without}")), [None, None, None]);
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
        1 => format!(
            "interval = {{ servers = {}, slots = {}, sets = 5, busy = \"{}\" }}",
            1 + below(20),
            1 + below(200),
            ["skip", "add"][below(2) as usize]
        ),
        _ => format!("random = {{ servers = {}, probability = 0.0{} }}", 1 + below(40), 1 + below(99)),
    };
    let deadlines = match below(5) {
        0 => format!("exponential = {{ mean = {} }}", 1 + below(200)),
        1 => format!("exponential = {{ mean = {}, infeasible = \"shift\" }}", 1 + below(200)),
        2 => format!("exponential = {{ mean = {}, infeasible = \"redraw\" }}", 20 + below(200)),
        3 => "linear = { at_zero = 60, slope = -0.5 }".to_string(),
        _ => format!("uniform = {{ min = 0, max = {}, beyond_size = true }}", 1 + below(100)),
    };
    let early = ["strict", "waiting", "expired"][below(3) as usize];
    let discipline = match below(7) {
        0 => format!("fcfs = {{ early_termination = \"{early}\" }}"),
        1 => format!("edf = {{ ties = \"{}\" }}", ["id", "size"][below(2) as usize]),
        2 => format!("sjf = {{ early_termination = \"{early}\" }}"),
        3 => format!(
            "pdq = {{ early_termination = \"{early}\", order = \"{}\" }}",
            ["search", "list"][below(2) as usize]
        ),
        4 => format!(
            "peq = {{ alpha = 0.{}, beta = 0.{}, walk = \"{}\" }}",
            below(10),
            below(10),
            ["pseudo-code", "text"][below(2) as usize]
        ),
        5 => format!(
            "peq = {{ walk = \"{}\", discard = \"{}\" }}",
            ["pseudo-code", "text"][below(2) as usize],
            ["slot", "forever", "leave"][below(3) as usize]
        ),
        _ => {
            format!("peq = {{ early_termination = \"{early}\", head_check = {} }}", below(2) == 0)
        }
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

#[path = "../../examples/own_discipline.rs"]
mod own_discipline;

#[test]
fn a_discipline_of_ones_own() {
    use own_discipline::{LeastSlack, config, in_time};
    let own = slotted::run_with(&config("pdq"), &mut LeastSlack, &mut |_| true);
    let (pdq, peq) =
        (slotted::run(&config("pdq"), &mut |_| true), slotted::run(&config("peq"), &mut |_| true));
    // Slack first spends time on flows that are large and due soon.
    assert!(in_time(&own) < in_time(&pdq) && in_time(&own) < in_time(&peq));
    assert!(own.flows.len() > 5000);
}

/// Sets of that many flows with deadlines that not all can meet.
fn sets(discipline: &str, flows: u32, sets: u32) -> Outcome {
    run(&format!(
        r#"
        discipline = "{discipline}"
        generation.sets = {{ flows = {flows}, sets = {sets} }}
        [[classes]]
        sizes.uniform = {{ min = 1, max = 20 }}
        deadlines.exponential = {{ mean = 40 }}
        [run]
        schedule = true
        "#
    ))
}

/// The largest number of flows of a set that can all be in time, by trying every subset in order of deadlines.
fn most_in_time(flows: &[(u32, u64)]) -> u32 {
    let mut order = flows.to_vec();
    order.sort_by_key(|&(_, deadline)| deadline);
    (0..1_u32 << order.len())
        .filter(|subset| {
            let chosen = order.iter().enumerate().filter(|(i, _)| subset >> i & 1 == 1);
            let mut busy = 0;
            chosen.map(|(_, flow)| flow).all(|&(size, deadline)| {
                busy += u64::from(size);
                busy <= deadline
            })
        })
        .map(u32::count_ones)
        .max()
        .expect("the empty set is one")
}

#[test]
fn optimal_is_what_an_exhaustive_search_finds_and_nobody_does_better() {
    let best = |flows: u32| {
        let outcome = sets("optimal", flows, 200);
        (0..200)
            .map(|set| {
                let of = || outcome.flows.iter().filter(move |record| record.set == set);
                let expected =
                    most_in_time(&of().map(|r| (r.flow.size, r.flow.deadline)).collect::<Vec<_>>());
                assert_eq!(of().filter(|record| record.done).count() as u32, expected);
                expected
            })
            .collect::<Vec<u32>>()
    };
    for flows in [1, 4, 10] {
        let best = best(flows);
        for other in ["fcfs", "edf", "sjf", "processor-sharing", "pdq", "peq", "d3", "stateful-d3", "racs"] {
            let outcome = sets(other, flows, 200);
            for set in 0..200 {
                let done = outcome.flows.iter().filter(|record| record.set == set && record.done).count();
                assert!(done as u32 <= best[set as usize], "{other} in set {set}");
            }
        }
    }
}

#[test]
fn packets_are_conserved_and_the_link_is_not_overbooked() {
    for name in ["fcfs", "edf", "sjf", "processor-sharing", "pdq", "peq", "d3", "stateful-d3", "racs"] {
        let outcome = sets(name, 12, 50);
        let sent: f64 = outcome.flows.iter().map(|r| f64::from(r.flow.size) - r.flow.left).sum();
        let wasted: f64 =
            outcome.flows.iter().filter(|r| !r.done).map(|r| f64::from(r.flow.size) - r.flow.left).sum();
        assert!((sent - outcome.sent).abs() < 1e-6, "{name}");
        assert!((wasted - outcome.wasted).abs() < 1e-6, "{name}");
        // What the schedule says of each slot of the first set.
        let first = || outcome.schedule.iter().filter(|segment| segment.set == 0);
        for slot in 0..first().map(|segment| segment.end).max().unwrap_or(0) {
            let shares = first().filter(|s| (s.start..s.end).contains(&slot)).map(|s| s.share);
            assert!(shares.sum::<f64>() < 1.0 + 1e-9, "{name} in slot {slot}");
        }
        for record in outcome.flows.iter().filter(|record| record.done) {
            assert!(record.ended.is_some_and(|ended| ended <= record.flow.due()), "{name}");
        }
    }
}

/// Shares of the first slot, by flow.
fn first_shares(discipline: &str, flows: &[(u32, u64)]) -> Vec<f64> {
    let list: Vec<String> =
        flows.iter().map(|(size, deadline)| format!("{{ size = {size}, deadline = {deadline} }}")).collect();
    let outcome = run(&format!(
        "generation.list = [{}]\ndiscipline.{discipline}\n[run]\nslots = 1\nschedule = true",
        list.join(", ")
    ));
    let mut shares = vec![0.0; flows.len()];
    outcome.schedule.iter().for_each(|segment| shares[segment.flow as usize] = segment.share);
    shares
}

#[test]
fn shares_by_hand() {
    let flows = [(10, 40), (20, 40), (40, 50)];
    assert_eq!(first_shares("processor-sharing = {}", &flows), [1.0 / 3.0; 3]);
    // In proportion to 1/10, 1/20, 1/40.
    let racs = first_shares("racs = {}", &flows);
    assert!(racs.iter().zip([4.0 / 7.0, 2.0 / 7.0, 1.0 / 7.0]).all(|(a, b)| (a - b).abs() < 1e-12));
    // Requests 0.25, 0.5 and 0.8: in order of arrival the last one gets what is left.
    assert_eq!(first_shares("d3 = { order = \"arrival\" }", &flows), [0.25, 0.5, 0.25]);
    assert_eq!(first_shares("stateful-d3 = {}", &flows), [0.25, 0.5, 0.25]);
    // Requests 0.25 and 0.5 leave 0.25, half for each.
    assert_eq!(first_shares("stateful-d3 = {}", &flows[..2]), [0.375, 0.625]);
    // More than one packet a slot is not asked for.
    assert_eq!(first_shares("d3 = { order = \"arrival\" }", &[(60, 50), (5, 50)]), [1.0, 0.0]);
    assert_eq!(first_shares("d3 = { grants = \"packet\", order = \"arrival\" }", &flows), [1.0, 0.0, 0.0]);
}

#[test]
fn who_holds_a_share_keeps_it_under_stateful_d3() {
    // The second flow comes later and wants all of what the first one has.
    let text = |discipline: &str| {
        format!(
            "generation.list = [{{ size = 9, deadline = 10 }}, {{ arrival = 1, size = 8, deadline = 8 }}]\n\
             discipline.{discipline}\nrun.schedule = true"
        )
    };
    let stateful = run(&text("stateful-d3 = {}"));
    let done: Vec<bool> = (0..2).map(|id| stateful.flows.iter().any(|r| r.flow.id == id && r.done)).collect();
    assert_eq!(done, [true, false]);
    let stateless = run(&text("d3 = { order = \"arrival\" }"));
    assert_eq!(stateless.schedule, stateful.schedule);
}

#[test]
fn an_edf_without_early_termination_spends_time_on_flows_that_cannot_make_it() {
    let text = |discipline: &str| {
        format!(
            "generation.list = [{{ size = 9, deadline = 5 }}, {{ size = 6, deadline = 6 }}]\ndiscipline.{discipline}\nrun.schedule = true"
        )
    };
    let of = |discipline: &str| schedule(&text(discipline));
    assert_eq!(of("pdq = {}"), [(1, 0, 6)]);
    assert_eq!(of("pdq = { early_termination = \"waiting\" }"), [(0, 0, 5)]);
    assert_eq!(of("pdq = { early_termination = \"expired\" }"), [(0, 0, 5), (1, 5, 6)]);
    assert_eq!(of("edf = {}"), of("pdq = { early_termination = \"expired\" }"));
    assert_eq!(of("fcfs = {}"), [(0, 0, 5), (1, 5, 6)]);
}

#[test]
fn both_walks_of_peq_by_hand() {
    // The second example of the walk: c can go before a or between a and b.
    let text = |walk: &str| {
        format!(
            "generation.list = [{{ size = 2, deadline = 50 }}, {{ size = 3, deadline = 50 }}, {{ size = 10, deadline = 12 }}]\n\
             discipline.peq = {{ walk = \"{walk}\" }}\nrun.schedule = true\nrun.preemptive = false"
        )
    };
    assert_eq!(schedule(&text("pseudo-code"))[0], (2, 0, 10));
    assert_eq!(schedule(&text("text")), [(0, 0, 2), (2, 2, 12), (1, 12, 15)]);
}

#[test]
fn without_preemption_a_flow_in_service_stays() {
    let text = |preemptive: bool| {
        format!(
            "generation.list = [{{ size = 10, deadline = 40 }}, {{ arrival = 3, size = 2, deadline = 20 }}]\n\
             discipline = \"sjf\"\nrun.schedule = true\nrun.preemptive = {preemptive}"
        )
    };
    assert_eq!(schedule(&text(true)), [(0, 0, 3), (1, 3, 5), (0, 5, 12)]);
    assert_eq!(schedule(&text(false)), [(0, 0, 10), (1, 10, 12)]);
}

#[test]
fn a_server_has_one_flow_at_a_time_and_the_same_flows_under_every_discipline() {
    let text = |discipline: &str| {
        format!(
            "generation.random = {{ servers = 5, probability = 0.02 }}\ndiscipline = \"{discipline}\"\n\
             [[classes]]\nsizes.uniform = {{ min = 1, max = 30 }}\ndeadlines.exponential = {{ mean = 50 }}\n\
             [run]\nslots = 20000"
        )
    };
    let of = |discipline: &str, server: u32| {
        let mut flows: Vec<_> =
            run(&text(discipline)).flows.into_iter().filter(|record| record.flow.server == server).collect();
        flows.sort_by_key(|record| record.flow.id);
        flows
    };
    for server in 0..5 {
        let (pdq, d3) = (of("pdq", server), of("d3", server));
        for pair in pdq.windows(2) {
            assert!(pair[0].ended.expect("it left before the next one came") <= pair[1].flow.arrival);
        }
        assert!(pdq.len() > 100);
        for (a, b) in pdq.iter().zip(&d3) {
            assert_eq!((a.flow.size, a.flow.deadline), (b.flow.size, b.flow.deadline));
        }
    }
}

#[test]
fn idle_servers_start_flows_with_their_probability() {
    // Flows of one packet leave at once, so that a server is idle in nearly every slot.
    let outcome = run("generation.random = { servers = 1, probability = 0.02 }\ndiscipline = \"fcfs\"\n\
         [[classes]]\nsizes.fixed = 1\ndeadlines.fixed = 1\n[run]\nslots = 1000000");
    // One in service each time, then 1/p - 1 idle slots on average before the next: n = slots p, standard deviation
    // sqrt(slots p (1 - p)) = 140.
    assert!((outcome.flows.len() as f64 - 20_000.0).abs() < 4.0 * 140.0, "{}", outcome.flows.len());
    // Gaps are geometric: the share of successive flows without a slot between is p.
    let next =
        outcome.flows.windows(2).filter(|pair| pair[1].flow.arrival == pair[0].flow.arrival + 1).count();
    assert!((next as f64 / 20_000.0 - 0.02).abs() < 4.0 * (0.02_f64 * 0.98 / 20_000.0).sqrt());
}

/// A flow that is given up leaves at the beginning of a slot, after that slot's arrivals: its server starts another one in
/// the next slot at the earliest, and with its probability.
#[test]
fn a_server_freed_by_early_termination_waits_for_the_next_slot() {
    let outcome = |probability: f64, slots: u64| {
        let classes = "[[classes]]\nsizes.fixed = 5\ndeadlines.fixed = 3";
        run(&format!(
            "generation.random = {{ servers = 1, probability = {probability} }}\ndiscipline = \"pdq\"\n{classes}\n\
             [run]\nslots = {slots}"
        ))
    };
    // No flow of five packets is done within three slots: each is given up in the slot in which it came.
    let all = outcome(1.0, 20);
    assert_eq!(all.flows.iter().map(|one| one.flow.arrival).collect::<Vec<_>>(), (0..20).collect::<Vec<_>>());
    // Binomial, with a standard deviation of sqrt(n p (1 - p)) = 71.
    let some = outcome(0.5, 20_000).flows.len() as f64;
    assert!((some - 10_000.0).abs() < 4.0 * 71.0, "{some}");
}

#[test]
fn deadline_modes() {
    let of = |infeasible: &str| {
        run(&format!(
            "generation.sets = {{ flows = 100, sets = 100 }}\ndiscipline = \"pdq\"\n[[classes]]\n\
             sizes.uniform = {{ min = 2, max = 198 }}\n\
             deadlines.exponential = {{ mean = 60, infeasible = \"{infeasible}\" }}"
        ))
        .flows
    };
    let feasible = |flows: &[slotted::Record]| {
        flows.iter().filter(|r| r.flow.deadline >= u64::from(r.flow.size)).count() as f64 / flows.len() as f64
    };
    // The mean over sizes of P(ceil(X) >= size) = exp(-(size - 1) / mean).
    let expected = (2..=198).map(|size| (-f64::from(size - 1) / 60.0).exp()).sum::<f64>() / 197.0;
    assert!((feasible(&of("keep")) - expected).abs() < 0.02, "{expected}");
    assert_eq!(feasible(&of("shift")), 1.0);
    assert_eq!(feasible(&of("redraw")), 1.0);
    let mean = |flows: &[slotted::Record]| {
        flows.iter().map(|r| r.flow.deadline as f64 - f64::from(r.flow.size)).sum::<f64>()
            / flows.len() as f64
    };
    // Rounding up adds half a slot.
    assert!((mean(&of("shift")) - 60.5).abs() < 2.0);
}

/// Mode C draws the whole flow again, which makes flows small: of sizes s = 2..198, exp(-(s - 1) / mean) of each are
/// feasible, and these are what is left.
#[test]
fn redrawn_flows_are_small() {
    // The means are those of the thesis's load studies.
    for (mean, expected) in [(20.0, 21.5), (60.0, 53.8), (120.0, 74.2)] {
        let weight = |size: u32| (-f64::from(size - 1) / mean).exp();
        let sum = |of: fn(f64) -> f64| (2..=198).map(|size| of(f64::from(size)) * weight(size)).sum::<f64>();
        let (all, first, second) = (sum(|_| 1.0), sum(|size| size), sum(|size| size * size));
        let (by_formula, variance) = (first / all, second / all - (first / all).powi(2));
        assert!((by_formula - expected).abs() < 0.05, "{by_formula}");
        let flows = run(&format!(
            "generation.sets = {{ flows = 100, sets = 1000 }}\ndiscipline = \"pdq\"\n[[classes]]\n\
             sizes.uniform = {{ min = 2, max = 198 }}\n\
             deadlines.exponential = {{ mean = {mean}, infeasible = \"redraw\" }}"
        ))
        .flows;
        assert_eq!(flows.len(), 100_000);
        let mean_of = |value: fn(&slotted::Record) -> f64| flows.iter().map(value).sum::<f64>() / 1e5;
        let mean_size = mean_of(|row| f64::from(row.flow.size));
        assert!((mean_size - by_formula).abs() < 4.0 * (variance / 1e5).sqrt(), "{mean_size}, {by_formula}");
        // Without memory: what the deadline has beyond size - 1 is exponential again, rounded up, so that its mean is
        // 1 / (1 - exp(-1 / mean)), and so is about its standard deviation.
        let beyond = mean_of(|row| row.flow.deadline as f64 - f64::from(row.flow.size - 1));
        let rounded_up = 1.0 / (1.0 - (-1.0 / mean).exp());
        assert!((beyond - rounded_up).abs() < 4.0 * rounded_up / 1e5_f64.sqrt(), "{beyond}, {rounded_up}");
    }
}

#[test]
fn flows_of_one_size_may_be_redrawn_and_those_listed_are_not_drawn() {
    let fixed = run("generation.sets = { flows = 100, sets = 100 }\ndiscipline = \"pdq\"\n\
         [[classes]]\nsizes.fixed = 60\ndeadlines.exponential = { mean = 20, infeasible = \"redraw\" }");
    assert!(fixed.flows.iter().all(|row| row.flow.size == 60 && row.flow.deadline >= 60));
    let listed = run("generation.list = [{ size = 9, deadline = 3 }]\ndiscipline = \"fcfs\"");
    assert_eq!((listed.flows[0].flow.size, listed.flows[0].flow.deadline), (9, 3));
}

/// One flow in 1000 is the limit: exp(-(size - 1) / mean) of those of one size.
#[test]
fn flows_that_can_hardly_be_feasible_are_not_redrawn() {
    let read = |sizes: &str, mean: f64, infeasible: &str| {
        let text = format!(
            "generation.sets.flows = 3\ndiscipline = \"pdq\"\n[[classes]]\nsizes.{sizes}\n\
             deadlines.exponential = {{ mean = {mean}, infeasible = \"{infeasible}\" }}"
        );
        slotted::read(&text, Format::Toml, &[]).map_err(|problems| problems.to_string())
    };
    // 1000 slots over ln(1000) are 144.8.
    assert!(read("fixed = 1001", 145.0, "redraw").is_ok());
    let told = read("fixed = 1001", 144.0, "redraw").expect_err("too few");
    for part in
        ["classes.0.deadlines.exponential.mean: 144 leaves fewer than one flow in 1000", "at least 145"]
    {
        assert!(told.contains(part), "{told}");
    }
    for infeasible in ["keep", "shift"] {
        assert!(read("fixed = 1001", 144.0, infeasible).is_ok());
    }
    // Of sizes from 2 to 198 the smallest are enough: (e^-1 + e^-2 + ...) / 197 at a mean of 1.
    assert!(read("uniform = { min = 2, max = 198 }", 1.0, "redraw").is_ok());
    let told = read("uniform = { min = 200_000, max = 1_000_000 }", 60.0, "redraw").expect_err("too few");
    assert!(told.contains("60 leaves fewer"), "{told}");
    assert!(read("uniform = { min = 200_000, max = 1_000_000 }", 1e6, "redraw").is_ok());
    // Wrong sizes are the only problem reported.
    let told = read("uniform = { min = 9, max = 2 }", 1.0, "redraw").expect_err("no such sizes");
    assert!(told.contains("9 is above max") && !told.contains("feasible"), "{told}");
}

#[test]
fn classes_take_turns_by_their_weights() {
    let outcome = run("generation.sets.flows = 6\ndiscipline = \"fcfs\"\n\
         [[classes]]\nweight = 2\nsizes.fixed = 1\ndeadlines.fixed = 100\n\
         [[classes]]\nsizes.fixed = 9\ndeadlines.fixed = 100");
    let mut flows = outcome.flows.clone();
    flows.sort_by_key(|record| record.flow.id);
    assert_eq!(flows.iter().map(|record| record.flow.size).collect::<Vec<_>>(), [1, 1, 9, 1, 1, 9]);
}

#[test]
fn intervals_skip_or_add() {
    let of = |busy: &str| {
        run(&format!(
            "generation.interval = {{ servers = 2, slots = 5, sets = 10, busy = \"{busy}\" }}\ndiscipline = \"fcfs\"\n\
             [[classes]]\nsizes.fixed = 4\ndeadlines.none = {{}}"
        ))
        .flows
        .len()
    };
    assert_eq!(of("add"), 20);
    // Two flows take 8 slots, so that in every second turn the second server's is still there.
    assert!((10..20).contains(&of("skip")), "{}", of("skip"));
}

/// The first flow has slots 0 and 1; the second, of nine packets and three slots, arrives behind it and is discarded at once:
/// no slot passes with an empty link at the end.
#[test]
fn a_run_ends_as_its_last_flow_is_discarded() {
    for step in ["slot", "event"] {
        let outcome = run(&format!(
            "discipline.peq = {{ discard = \"leave\", early_termination = \"expired\" }}\nrun.step = \"{step}\"\n\
             [generation]\nlist = [{{ size = 2, deadline = 5 }}, {{ arrival = 2, size = 9, deadline = 3 }}]"
        ));
        assert_eq!((outcome.slots, outcome.sent, outcome.flows.len()), (2, 2.0, 2), "{step}");
    }
}

/// The watch is called by work, not by decisions: among many flows one takes long, and without flows there is
/// none.
#[test]
fn a_run_can_be_stopped_soon() {
    let stopped = |text: &str| {
        let config = slotted::read(text, Format::Toml, &[]).expect("a good one");
        slotted::run(&config, &mut |_| false)
    };
    let many = stopped(
        "discipline = \"d3\"\ngeneration.sets = { sets = 1, flows = 100000 }\n\
         [[classes]]\nsizes.fixed = 9\ndeadlines.fixed = 100000",
    );
    assert!(many.interrupted && many.decisions < 20, "{} decisions", many.decisions);
    // Too late before they begin: flows arrive and leave, and the discipline is never called.
    let hopeless = stopped(
        "discipline = \"peq\"\ngeneration.random = { servers = 2, probability = 1.0 }\nrun.slots = 1000000000\n\
         [[classes]]\nsizes.fixed = 9\ndeadlines.fixed = 3",
    );
    assert!(hopeless.interrupted, "{} decisions", hopeless.decisions);
}

#[test]
fn what_is_wrong_is_said() {
    let message = |text: &str| slotted::read(text, Format::Toml, &[]).expect_err("it is wrong").to_string();
    let classes = "[[classes]]\nsizes.uniform = { min = 9, max = 2 }\ndeadlines.fixed = 3\n";
    let random = "generation.random = { servers = 2, probability = 0.1 }\n";
    let told = message(&format!("{random}discipline = \"optimal\"\n{classes}"));
    for part in
        ["run.slots: is missing", "classes.0.sizes.uniform.min: 9 is above max", "optimal needs all flows"]
    {
        assert!(told.contains(part), "{told}");
    }
    let told = message(&format!("{random}discipline = \"peg\"\nrun.slots = 5\n{classes}"));
    assert!(told.contains("peq"), "{told}");
    let told = message("generation.list = []\ndiscipline = \"pdq\"");
    assert!(told.contains("generation.list"), "{told}");
    let told = message("generation.sets.flows = 3\ndiscipline = \"pdq\"");
    assert!(told.contains("classes: is missing"), "{told}");
    let told = message(&format!(
        "generation.random = {{ servers = 2, probability = 2 }}\nrun.slots = 5\ndiscipline = \"pdq\"\n{classes}"
    ));
    assert!(told.contains("generation.random.probability"), "{told}");
}
