//! Schedules of the slotted link's disciplines by hand: each boundary of PEQ's list, ties, early termination,
//! quenching, and the effect of an ordered list on PDQ.

use flowyard_sim::scenario::Format;
use flowyard_sim::slotted::{self, Outcome};

/// Flows as (arrival, size, deadline).
type Flows = [(u64, u32, u64)];

fn run(discipline: &str, flows: &Flows) -> Outcome {
    let listed: Vec<String> = flows
        .iter()
        .map(|(arrival, size, deadline)| {
            format!("{{ arrival = {arrival}, size = {size}, deadline = {deadline} }}")
        })
        .collect();
    let text = format!(
        "generation.list = [{}]\ndiscipline.{discipline}\nrun.schedule = true\nrun.step = \"slot\"",
        listed.join(", ")
    );
    let config =
        slotted::read(&text, Format::Toml, &[]).unwrap_or_else(|problems| panic!("{problems}\n{text}"));
    slotted::run(&config, &mut |_| true)
}

/// (flow, first slot, slot after the last one) of what was served.
fn schedule(discipline: &str, flows: &Flows) -> Vec<(u32, u64, u64)> {
    let outcome = run(discipline, flows);
    assert!(outcome.schedule.iter().all(|segment| segment.share == 1.0), "{discipline}");
    outcome.schedule.iter().map(|segment| (segment.flow, segment.start, segment.end)).collect()
}

/// The flows that were done, by number.
fn done(outcome: &Outcome) -> Vec<u32> {
    let mut done: Vec<u32> = outcome.flows.iter().filter(|row| row.done).map(|row| row.flow.id).collect();
    done.sort_unstable();
    done
}

/// The slot in which each flow left, by number.
fn ends(outcome: &Outcome) -> Vec<u64> {
    let mut ends: Vec<(u32, u64)> =
        outcome.flows.iter().map(|row| (row.flow.id, row.ended.expect("it left"))).collect();
    ends.sort_unstable();
    ends.into_iter().map(|(_, end)| end).collect()
}

#[test]
fn peq_appends_a_flow_that_is_just_in_time_and_no_later_one() {
    // f0 comes first by H. f1 ends at 8 behind it.
    assert_eq!(schedule("peq = {}", &[(0, 3, 11), (0, 5, 8)]), [(0, 0, 3), (1, 3, 8)]);
    // One slot less, and it has to go ahead; f0 can wait.
    assert_eq!(schedule("peq = {}", &[(0, 3, 11), (0, 5, 7)]), [(1, 0, 5), (0, 5, 8)]);
}

#[test]
fn peq_makes_a_flow_wait_that_is_just_in_time_then_and_no_later_one() {
    // f1 is late behind f0, which ends at 8 behind f1.
    assert_eq!(schedule("peq = {}", &[(0, 3, 8), (0, 5, 7)]), [(1, 0, 5), (0, 5, 8)]);
    // f0 cannot wait. f1 is passed over, and hopeless at 3.
    let outcome = run("peq = {}", &[(0, 3, 7), (0, 5, 7)]);
    assert_eq!((done(&outcome), ends(&outcome)), (vec![0], vec![3, 3]));
    assert_eq!(schedule("peq = {}", &[(0, 3, 7), (0, 5, 7)]), [(0, 0, 3)]);
}

/// Where a flow goes is seen only by the head of the list, which a flow one slot late further back has to keep another
/// one from: with alpha above beta flows come by size, and it cannot. By size over deadline the order is f0, f1, f2, f3.
#[test]
fn peq_does_not_put_a_flow_before_another_where_it_is_late_itself() {
    let peq = "peq = { alpha = 0, beta = 1 }";
    // f0 can wait for up to 4 slots. f2 ends at 10 behind it, one slot late, so it is passed over. Then f3 goes ahead of
    // f1 and of f0, and stays there; with f2 between them it would not pass.
    let flows = [(0, 4, 8), (0, 20, 37), (0, 6, 9), (0, 2, 2)];
    assert_eq!(schedule(peq, &flows), [(3, 0, 2), (0, 2, 6), (1, 6, 26)]);
    // Just in time behind f0, f2 stands before f1, and f3 cannot pass it.
    let flows = [(0, 4, 8), (0, 20, 37), (0, 6, 10), (0, 2, 2)];
    assert_eq!(schedule(peq, &flows), [(0, 0, 4), (2, 4, 10), (1, 10, 30)]);
}

#[test]
fn of_flows_due_together_pdq_serves_the_smaller_then_the_earlier() {
    for order in ["search", "list"] {
        let pdq = format!("pdq = {{ order = \"{order}\" }}");
        assert_eq!(schedule(&pdq, &[(0, 5, 10), (0, 3, 10)]), [(1, 0, 3), (0, 3, 8)]);
        assert_eq!(schedule(&pdq, &[(0, 3, 10), (0, 5, 10)]), [(0, 0, 3), (1, 3, 8)]);
        assert_eq!(schedule(&pdq, &[(0, 4, 10), (0, 4, 10)]), [(0, 0, 4), (1, 4, 8)]);
        // Due together at 12, having come apart. In slot 3, f0 has 3 packets left: f1 has fewer, f2 as many.
        assert_eq!(schedule(&pdq, &[(0, 6, 12), (3, 2, 9)]), [(0, 0, 3), (1, 3, 5), (0, 5, 8)]);
        assert_eq!(schedule(&pdq, &[(0, 6, 12), (3, 3, 9)]), [(0, 0, 6), (1, 6, 9)]);
    }
}

#[test]
fn of_flows_due_together_edf_serves_the_earlier_or_the_smaller() {
    let flows = [(0, 5, 10), (0, 3, 10), (0, 1, 20)];
    assert_eq!(schedule("edf = {}", &flows), [(0, 0, 5), (1, 5, 8), (2, 8, 9)]);
    assert_eq!(schedule("edf = { ties = \"id\" }", &flows), schedule("edf = {}", &flows));
    assert_eq!(schedule("edf = { ties = \"size\" }", &flows), [(1, 0, 3), (0, 3, 8), (2, 8, 9)]);
}

#[test]
fn early_termination_of_any_discipline_that_serves_one() {
    // f0 cannot make it from the start; f1 can, if nothing goes to f0.
    let flows = [(0, 4, 3), (0, 6, 7)];
    for discipline in ["fcfs", "sjf", "pdq", "peq"] {
        let outcome = run(&format!("{discipline} = {{ early_termination = \"strict\" }}"), &flows);
        assert_eq!((done(&outcome), ends(&outcome)), (vec![1], vec![0, 6]), "{discipline}");
    }
    for discipline in ["fcfs", "sjf", "pdq", "edf"] {
        let rule = if discipline == "edf" { "" } else { "early_termination = \"expired\"" };
        let outcome = run(&format!("{discipline} = {{ {rule} }}"), &flows);
        assert_eq!((done(&outcome), ends(&outcome)), (vec![], vec![3, 7]), "{discipline}");
        assert_eq!(outcome.wasted, 7.0);
    }
    // By default deadlines do not matter to these two.
    assert_eq!(schedule("fcfs = {}", &flows), [(0, 0, 3), (1, 3, 7)]);
    assert_eq!(schedule("sjf = {}", &flows), [(0, 0, 3), (1, 3, 7)]);
}

#[test]
fn early_termination_of_waiting_flows_spares_the_head_of_the_list() {
    // f0 cannot make it from the start, but heads the list; f1 waits, and from slot 2 on it is late, too.
    let flows = [(0, 4, 3), (0, 6, 7)];
    for discipline in ["fcfs", "sjf", "pdq"] {
        let outcome = run(&format!("{discipline} = {{ early_termination = \"waiting\" }}"), &flows);
        assert_eq!((done(&outcome), ends(&outcome)), (vec![], vec![3, 2]), "{discipline}");
        assert_eq!(outcome.wasted, 3.0);
    }
    // PEQ serves no flow that cannot be in time, so that f0 waits.
    let outcome = run("peq = { early_termination = \"waiting\" }", &flows);
    assert_eq!((done(&outcome), ends(&outcome)), (vec![1], vec![0, 6]));
    let outcome = run("peq = { early_termination = \"waiting\" }", &[(0, 4, 3)]);
    assert_eq!((done(&outcome), ends(&outcome)), (vec![], vec![0]));
    for order in ["search", "list"] {
        let pdq = format!("pdq = {{ early_termination = \"waiting\", order = \"{order}\" }}");
        // f0 is due first and hopeless. In slot 1, f1 comes and is due earlier: f0 waits from then on and leaves.
        let outcome = run(&pdq, &[(0, 9, 6), (1, 2, 3)]);
        assert_eq!((done(&outcome), ends(&outcome), outcome.wasted), (vec![1], vec![1, 3], 1.0));
        // f1 and f2 are hopeless and wait, so that f0 is all that is served.
        assert_eq!(schedule(&pdq, &[(0, 3, 4), (0, 9, 5), (1, 8, 7)]), [(0, 0, 3)]);
        // f1 has no slot to spare and waits for one: it becomes the head in the slot in which it is late, and stays.
        assert_eq!(schedule(&pdq, &[(0, 1, 2), (0, 4, 4)]), [(0, 0, 1), (1, 1, 4)]);
    }
}

#[test]
fn peq_without_early_termination() {
    let flows = [(0, 4, 3), (0, 6, 7)];
    // f0 fits nowhere, but stays until its deadline.
    let checked = run("peq = { early_termination = \"expired\" }", &flows);
    assert_eq!((done(&checked), ends(&checked), checked.wasted), (vec![1], vec![3, 6], 0.0));
    // As printed, it is the first in an empty list, and f1, which it cannot wait for, is late at its end.
    let literal = run("peq = { early_termination = \"expired\", head_check = false }", &flows);
    assert_eq!((done(&literal), ends(&literal), literal.wasted), (vec![], vec![3, 7], 7.0));
    // With early termination there is nothing to check.
    assert_eq!(schedule("peq = { head_check = false }", &flows), [(1, 0, 6)]);
}

#[test]
fn a_flow_that_peq_discards_for_good_stays_until_it_is_hopeless() {
    // f1 is late behind f0, which cannot wait. Then f2 comes, after which f0 is late, but f1 just in time.
    let flows = [(0, 5, 6), (0, 8, 12), (1, 3, 3)];
    let slot = run("peq = { discard = \"slot\" }", &flows);
    assert_eq!((done(&slot), ends(&slot)), (vec![1, 2], vec![3, 12, 4]));
    // The link is idle in slot 4, after which f1 has 8 packets and 7 slots left.
    let forever = run("peq = { discard = \"forever\" }", &flows);
    assert_eq!((done(&forever), ends(&forever)), (vec![2], vec![3, 5, 4]));
}

#[test]
fn a_flow_that_peq_discards_may_leave_at_once() {
    // As above: f1 fits nowhere in slot 0, nor f0 in slot 1, in which it has sent one packet.
    let flows = [(0, 5, 6), (0, 8, 12), (1, 3, 3)];
    for early in ["strict", "waiting", "expired"] {
        let left = run(&format!("peq = {{ discard = \"leave\", early_termination = \"{early}\" }}"), &flows);
        assert_eq!((done(&left), ends(&left), left.wasted), (vec![2], vec![1, 0, 4], 1.0), "{early}");
    }
    // Nobody is left: the link goes on to the next flow.
    let alone =
        run("peq = { discard = \"leave\", early_termination = \"expired\" }", &[(0, 4, 3), (9, 2, 2)]);
    assert_eq!((done(&alone), ends(&alone)), (vec![1], vec![0, 11]));
}

#[test]
fn quenching_ends_requests_of_flows_that_cannot_be_in_time() {
    // f0 asks for a whole slot until 3 without it, and f1 is late by that.
    let flows = [(0, 4, 3), (0, 6, 7)];
    for discipline in ["d3 = { order = \"arrival\", quench = ", "stateful-d3 = { quench = "] {
        let kept = run(&format!("{discipline}false }}"), &flows);
        assert_eq!((done(&kept), ends(&kept), kept.wasted), (vec![], vec![3, 7], 7.0), "{discipline}");
        let quenched = run(&format!("{discipline}true }}"), &flows);
        assert_eq!((done(&quenched), quenched.wasted), (vec![1], 0.0), "{discipline}");
        assert_eq!(ends(&quenched)[0], 0);
    }
    // By default there is none.
    assert_eq!(done(&run("d3 = { order = \"arrival\" }", &flows)), done(&run("stateful-d3 = {}", &flows)));
    assert!(done(&run("stateful-d3 = {}", &flows)).is_empty());
}

/// Shares do not sum up exactly; quenching must not take that for late.
#[test]
fn quenching_leaves_flows_that_can_just_be_in_time() {
    // f0 holds nine tenths of ten slots. What f1 then has left is 4 but for rounding, for 4 slots.
    let outcome = run("stateful-d3 = { quench = true }", &[(0, 9, 10), (0, 5, 14)]);
    assert_eq!((done(&outcome), ends(&outcome)), (vec![0, 1], vec![10, 14]));
}

/// Shares in the first slot, by flow.
fn first_shares(discipline: &str, flows: &Flows) -> Vec<f64> {
    let outcome = run(discipline, flows);
    let share = |id: u32| outcome.schedule.iter().find(|part| part.flow == id && part.start == 0);
    (0..flows.len() as u32).map(|id| share(id).map_or(0.0, |part| part.share)).collect()
}

#[test]
fn whole_requests_or_nothing() {
    // Requests of 0.5, 0.8 and 0.25: nothing for the second one, all for the third.
    let flows = [(0, 20, 40), (0, 40, 50), (0, 10, 40)];
    assert_eq!(first_shares("stateful-d3 = { grants = \"whole\" }", &flows), [0.5, 0.0, 0.25]);
    assert_eq!(first_shares("stateful-d3 = { grants = \"fluid\" }", &flows), [0.5, 0.5, 0.0]);
    assert_eq!(first_shares("d3 = { grants = \"whole\", order = \"arrival\" }", &flows), [0.5, 0.0, 0.25]);
    // What all requests leave is shared, as ever: 0.25, half for each.
    assert_eq!(first_shares("stateful-d3 = { grants = \"whole\" }", &[flows[0], flows[2]]), [0.625, 0.375]);
    // With 60 slots of data for a deadline in 50 it requests the whole link and no more, which is there.
    assert_eq!(first_shares("stateful-d3 = { grants = \"whole\" }", &[(0, 60, 50), (0, 5, 50)]), [1.0, 0.0]);
    // f1 wants three quarters. By parts it gets the half that f0 leaves, and a flow of a quarter that comes later finds
    // nothing; whole requests leave that one room.
    let flows = [(0, 20, 40), (0, 30, 40), (1, 10, 40)];
    let share_of_f2 = |grants: &str| {
        let outcome = run(&format!("stateful-d3 = {{ grants = \"{grants}\" }}"), &flows);
        outcome.schedule.iter().find(|part| part.flow == 2 && part.start == 1).map_or(0.0, |part| part.share)
    };
    assert_eq!((share_of_f2("fluid"), share_of_f2("whole")), (0.0, 0.25));
}

/// Flows that arrive together and are each more urgent than all before them.
fn falling(count: u32) -> Vec<(u64, u32, u64)> {
    (0..count).map(|place| (0, 1, u64::from(10 * count - place))).collect()
}

/// Operations of a discipline until the end of a slot of its own.
fn operations(discipline: &str, flows: &Flows, slots: u64) -> u64 {
    let listed: Vec<String> = flows
        .iter()
        .map(|(_, size, deadline)| format!("{{ size = {size}, deadline = {deadline} }}"))
        .collect();
    let text = format!(
        "generation.list = [{}]\ndiscipline.{discipline}\nrun.step = \"slot\"\nrun.slots = {slots}",
        listed.join(", ")
    );
    let config = slotted::read(&text, Format::Toml, &[]).expect("a good one");
    slotted::run(&config, &mut |_| true).operations.expect("it counts")
}

#[test]
fn operations_by_formula() {
    for n in [1_u64, 2, 10, 50] {
        let flows = falling(n as u32);
        // A search goes through all flows; one leaves after each slot.
        assert_eq!(operations("pdq = {}", &flows, 1), n);
        assert_eq!(operations("pdq = {}", &flows, n), n * (n + 1) / 2);
        // Each flow passes all before it: 0 + 1 + ... + n - 1, with one more for each, and the look at the head.
        let inserted = n + n * (n - 1) / 2;
        assert_eq!(operations("pdq = { order = \"list\" }", &flows, 1), inserted + 1);
        // In every later slot one flow has left: the list is gone through once, and its head looked at.
        let later: u64 = (1..n).map(|left| left + 1 + 1).sum();
        assert_eq!(operations("pdq = { order = \"list\" }", &flows, n), inserted + 1 + later);
        // PEQ: all can wait for all, and are of one size, so that H alone says nothing but by deadlines: the later due,
        // the earlier, which is their order. Each is ranked, tried at the end, and put there: three for each.
        assert_eq!(operations("peq = {}", &flows, 1), 3 * n);
        // In every later slot one flow has left: the order is gone through once to take it out.
        let later: u64 = (1..n).map(|left| left + 1 + 3 * left).sum();
        assert_eq!(operations("peq = {}", &flows, n), 3 * n + later);
    }
    // By H the smaller come first, so that ranking them passes 0 + 1 + ... The smaller half waits for all; each of the
    // larger half is just in time if all larger ones go ahead, so that it goes ahead of all in the list.
    for half in [1_u64, 5, 25] {
        let n = 2 * half;
        let sizes: Vec<u64> = (0..n).map(|place| 100_000 + n - place).collect();
        let due =
            |place: usize| if (place as u64) < half { sizes[..=place].iter().sum() } else { 100_000_000 };
        let flows: Vec<(u64, u32, u64)> =
            (0..n as usize).map(|place| (0, sizes[place] as u32, due(place))).collect();
        let ranked = n + n * (n - 1) / 2;
        // For each itself, the entries of the list that it walks, and those that are put in or moved.
        let listed: u64 = half * 2 + (half..n).map(|entries| 1 + entries + entries + 1).sum::<u64>();
        assert_eq!(operations("peq = {}", &flows, 1), ranked + listed);
    }
    // Disciplines that do not count say so.
    assert_eq!(run("racs = {}", &falling(3)).operations, None);
}

#[test]
fn operations_move_no_schedule() {
    for case in 0..200_u64 {
        let mut state = case;
        let mut below = |bound: u64| {
            state = flowyard_sim::random::mix(state.wrapping_add(0x9E37_79B9_7F4A_7C15));
            state % bound
        };
        // Few deadlines, so that many flows are due together.
        let flows: Vec<(u64, u32, u64)> =
            (0..30).map(|_| (below(40), 1 + below(8) as u32, 10 * (1 + below(6)))).collect();
        for rule in ["strict", "waiting", "expired"] {
            let of = |order: &str| {
                run(&format!("pdq = {{ early_termination = \"{rule}\", order = \"{order}\" }}"), &flows)
            };
            let (search, list) = (of("search"), of("list"));
            assert_eq!(
                (&search.flows, &search.schedule),
                (&list.flows, &list.schedule),
                "case {case} {rule}"
            );
            if rule == "expired" {
                let edf = run("edf = { ties = \"size\" }", &flows);
                assert_eq!((&search.flows, &search.schedule), (&edf.flows, &edf.schedule), "case {case}");
            }
        }
    }
}
