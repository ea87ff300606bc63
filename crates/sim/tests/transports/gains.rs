//! Explicit rates where a round trip has a few packets: the utilisation that advice expects, and what its value brings.

use crate::common::{run_with, scenario};
use flowyard_sim::outlook;

/// Five flows of 8 MB to one host of a rack, which is 33 ms at 10 Gbps.
const RACK: &str = r#"
    topology.single-switch = { hosts = 6 }
    [[traffic]]
    name = "long"
    arrivals = "at-once"
    matrix.incast = { senders = 5 }
    sizes.fixed = "8MB"
"#;

fn utilisation(settings: &[(&str, &str)]) -> f64 {
    let end = run_with(RACK, settings).flows("fct_ps").into_iter().max().expect("five flows") as f64 / 1e12;
    5.0 * 8e6 * 8.0 * (1500.0 / 1460.0) / 10e9 / end
}

/// The value that is to be written, if anything is.
fn told(settings: &[(&str, &str)]) -> Option<String> {
    let advice = outlook(&scenario(RACK, settings)).expect("a small run").advice;
    let own = advice.into_iter().find(|advice| advice.path.starts_with("agent."))?;
    Some(own.write.split_once(" = ").expect("KEY = VALUE").1.to_string())
}

/// Two cables of 1 us and 2 x (1500 + 40) B there and back: 6.5 us, 5.4 packets; s = sqrt(0.2 n) and U = s / (1 + s) = 0.51.
/// With 5 us cables 18.7 packets and 0.66.
#[test]
fn a_few_flows_use_as_much_as_advice_expects() {
    for transport in ["rcp", "d3", "racs"] {
        let beta = format!("agent.{transport}.beta");
        for (delay, expected) in [("1us", 0.51), ("5us", 0.66)] {
            let with = [("transport", transport), ("topology.single-switch.delay", delay)];
            let used = utilisation(&with);
            assert!((used - expected).abs() < 0.16, "{transport}, {delay}: {used}");
            let value = told(&with).expect("a few packets");
            let mended = [with[0], with[1], (beta.as_str(), value.as_str())];
            let used = utilisation(&mended);
            assert!(used > 0.8, "{transport}, {delay}, beta = {value}: {used}");
            assert_eq!(told(&mended), None);
        }
        assert_eq!(told(&[("transport", transport), ("topology.single-switch.delay", "25us")]), None);
    }
    // PDQ has no such rule.
    assert_eq!(told(&[("transport", "pdq")]), None);
    assert!(utilisation(&[("transport", "pdq")]) > 0.9);
}
