//! Runs a scenario and prints the divisors of `make bench-instructions`; also the program to profile: `cargo
//! run --release --example run FILE.toml [KEY=VALUE ...]`.

#![allow(clippy::disallowed_methods, reason = "the ban is for the simulator: an example reads files")]

use flowyard_sim::scenario::{self, Format};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().expect("a scenario file");
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file}: {error}"));
    let overrides: Vec<(String, String)> = arguments
        .map(|argument| {
            let (key, value) = argument.split_once('=').expect("overrides are KEY=VALUE");
            (key.to_string(), value.to_string())
        })
        .collect();
    let scenario = scenario::read(&text, Format::Toml, &overrides, &scenario::no_files)
        .unwrap_or_else(|problems| panic!("{problems}"));
    let outcome = flowyard_sim::simulate(&scenario, &mut |_| true).expect("a connected network");
    println!("{}", serde_json::to_string(&outcome.summary.counters).expect("counters are plain numbers"));
}
