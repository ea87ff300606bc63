//! How long background traffic goes on that has neither a number of flows nor an end.

use flowyard_sim::checked::Checked;
use flowyard_sim::scenario::{Format, no_files};

/// The scenario with a background of this kind behind measured flows of that kind.
fn text(measured: &str, background: &str, run: &str) -> String {
    format!(
        r#"
        transport = "datagram"
        topology.single-switch.hosts = 4
        [[traffic]]
        name = "own"
        matrix.pairs = [[0, 1]]
        sizes.fixed = "10KB"
        {measured}
        [[traffic]]
        name = "rest"
        background = true
        matrix.pairs = [[2, 3]]
        sizes.fixed = "10KB"
        {background}
        [run]
        {run}
        "#
    )
}

/// The starts of the background in us, or the problem.
fn starts(measured: &str, background: &str, run: &str) -> Result<Vec<u64>, String> {
    let text = text(measured, background, run);
    let checked =
        Checked::read(&text, Format::Toml, &[], &no_files).map_err(|problems| problems.to_string())?;
    let setup = checked.setup().map_err(|problems| problems.to_string())?;
    let own = setup.traffic.flows.iter().filter(|flow| flow.entry == 1);
    Ok(own.map(|flow| flow.start.0 / 1_000_000).collect())
}

const ONCE: &str = "arrivals.at-once = {}";
const ROUNDS: &str = "arrivals.periodic = { every = \"100us\", jitter = \"0s\" }";
const POISSON: &str = "arrivals.poisson = { load = 0.5 }";

/// The end of the run ends it; a number, or an end of its own, does so where it has one.
#[test]
fn until_the_end_of_the_run() {
    let until = "until = \"350us\"";
    assert_eq!(starts(ONCE, ROUNDS, until).unwrap(), [0, 100, 200, 300]);
    assert_eq!(starts(ONCE, &format!("{ROUNDS}\nflows = 2"), until).unwrap(), [0, 100]);
    let own = ROUNDS.replace(" }", ", until = \"200us\" }");
    assert_eq!(starts(ONCE, &own, until).unwrap(), [0, 100, 200]);
    assert_eq!(starts(ONCE, &own, "").unwrap(), [0, 100, 200]);
    // At 5 Gbps one of 10 KB each 16 us: 62.5 in a millisecond, give or take four deviations.
    let flows = starts(ONCE, POISSON, "until = \"1ms\"").unwrap();
    assert!((31..=94).contains(&flows.len()) && *flows.last().unwrap() > 900, "{flows:?}");
    // A flow that is awaited has no such end.
    let awaited = text(ONCE, ROUNDS, until).replace("background = true", "");
    let problem = Checked::read(&awaited, Format::Toml, &[], &no_files).unwrap_err().to_string();
    assert_eq!(
        problem,
        "traffic.rest.flows: is missing, and so is arrivals.periodic.rounds; give one of them"
    );
}

/// Where arrivals of measured flows go on until the last one has ended, those of the background do, too.
#[test]
fn until_the_measured_flows_have_ended() {
    let measured = format!("{POISSON}\nflows = 50");
    let window = |background| {
        let text = text(&measured, background, "");
        let checked = Checked::read(&text, Format::Toml, &[], &no_files).expect("a scenario");
        checked.setup().expect("a network").traffic.window.clone()
    };
    for background in [ROUNDS, POISSON] {
        let (flows, window) = (starts(&measured, background, "").unwrap(), window(background));
        let last = *flows.last().expect("some") * 1_000_000;
        assert!(window.until.0 < last && last <= window.arrivals_end().0, "{last} {window:?}");
    }
    // With faults at given times the whole run is measured, which ends when the measured flows do.
    let fault = "[[faults.events]]\nat = \"1ms\"\ntarget.cable = [\"host 0\", \"switch\"]\nchange = \"down\"";
    let problem = starts(&measured, POISSON, &format!("\n{fault}")).unwrap_err();
    assert_eq!(
        problem,
        "traffic.rest.flows: is missing; give flows or arrivals.poisson.until, or run.until, up to which background traffic \
         goes on"
    );
}

/// Nothing else says when it ends.
#[test]
fn an_end_is_missing() {
    assert_eq!(
        starts(ONCE, ROUNDS, "").unwrap_err(),
        "traffic.rest.flows: is missing; give flows, arrivals.periodic.rounds or arrivals.periodic.until, or run.until, up to \
         which background traffic goes on"
    );
    // More flows than a scenario may have are those of the run's end.
    let problem = starts(ONCE, &ROUNDS.replace("100us", "1ns"), "until = \"1s\"").unwrap_err();
    assert!(problem.contains("is too many; a scenario has at most 10000000 flows"), "{problem}");
    let problem = starts(ONCE, POISSON, "until = \"1000s\"").unwrap_err();
    assert!(problem.starts_with("run.until: lets "), "{problem}");
}
