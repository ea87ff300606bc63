//! Scratch.
use std::time::Instant;
fn main() {
    let path = std::env::args().nth(1).unwrap();
    let scenario: flowyard_sim::scenario::Scenario = flowyard_sim::scenario::read(
        &std::fs::read_to_string(path).unwrap(),
        flowyard_sim::scenario::Format::Toml,
        &[],
    )
    .unwrap_or_else(|e| panic!("{e}"));
    let start = Instant::now();
    let outcome = flowyard_sim::simulate(&scenario, &mut |_| true).unwrap();
    let wall = start.elapsed().as_secs_f64();
    let c = &outcome.summary.counters;
    println!("{:?} end {} ms {:#?}", outcome.summary.status, outcome.summary.end_ps as f64 / 1e9, c);
    println!(
        "{} ns/hop  {} events/hop wall {wall}",
        wall * 1e9 / c.packet_hops as f64,
        c.events as f64 / c.packet_hops as f64
    );
    println!("{:?} {}", outcome.violations, outcome.summary.digest);
    let fct = outcome.flows.column("slowdown").unwrap();
    if let flowyard_sim::records::Values::F64(v) = &fct.values {
        let mut v = v.clone();
        v.sort_by(f64::total_cmp);
        println!("slowdown min {} med {} max {}", v[0], v[v.len() / 2], v[v.len() - 1]);
    }
}
