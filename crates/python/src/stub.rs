//! TEMPORARY stand-in for the simulator: it reads a few scenarios and fabricates tables.
//! Delete this file when `flowyard_sim` has `scenario::read` and `simulate`.
#![allow(missing_docs, dead_code, clippy::all)]

use flowyard_sim::records::{self, Column, Table, Values, flows, links};
use flowyard_sim::units::Time;
use serde::Serialize;

pub struct Progress {
    pub now: Time,
    pub until: Option<Time>,
    pub flows_done: u64,
    pub flows: u64,
    pub packet_hops: u64,
    pub events: u64,
}

pub struct Outcome {
    pub flows: Table,
    pub links: Table,
    pub summary: Summary,
}

#[derive(Serialize)]
pub struct Summary {
    status: &'static str,
    scenario: scenario::Scenario,
    seed: u64,
    replica: u64,
    digest: String,
    traffic_digest: String,
    end_ps: u64,
    counters: serde_json::Value,
    traffic: Vec<serde_json::Value>,
    definitions: serde_json::Value,
}

pub mod scenario {
    pub use flowyard_sim::scenario::Scenario;
    use serde_json::Value;

    pub enum Format {
        Toml,
        Json,
    }

    #[derive(Debug)]
    pub struct Problems(pub Vec<String>);

    impl std::fmt::Display for Problems {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str(&self.0.join("\n"))
        }
    }

    pub type Setup = Scenario;

    pub fn schema() -> Value {
        schemars::schema_for!(Scenario).to_value()
    }

    pub fn read(text: &str, format: Format, overrides: &[(String, String)]) -> Result<Setup, Problems> {
        let mut value: Value = match format {
            Format::Toml => toml::from_str(text).map_err(|error| Problems(vec![error.to_string()]))?,
            Format::Json => serde_json::from_str(text).map_err(|error| Problems(vec![error.to_string()]))?,
        };
        if let Some(k) = value.pointer("/topology/fat-tree/k").and_then(Value::as_u64) {
            value["topology"] = serde_json::json!({ "single-switch": { "hosts": k * k * k / 4 } });
        }
        for entry in value["traffic"].as_array_mut().into_iter().flatten() {
            let Some(entry) = entry.as_object_mut() else { continue };
            entry.remove("arrivals");
            entry.remove("matrix");
            if entry.get("sizes").is_some_and(|sizes| sizes == "web-search") {
                entry.insert("sizes".into(), serde_json::json!({ "fixed": "1MB" }));
            }
        }
        for (key, text) in overrides {
            let mut at = &mut value;
            for part in key.split('.') {
                at = match part.parse::<usize>() {
                    Ok(index) if at.is_array() => &mut at[index],
                    _ => {
                        if !at.is_object() {
                            return Err(Problems(vec![format!("{key}: no such field")]));
                        }
                        &mut at[part]
                    }
                };
            }
            *at = serde_json::from_str(text).unwrap_or_else(|_| text.clone().into());
        }
        let name = |value: &mut Value| {
            if let Some(name) = value.as_str().map(str::to_string) {
                *value = serde_json::json!({ name: {} });
            }
        };
        for key in ["topology", "transport", "queue"] {
            value.get_mut(key).map(name);
        }
        if let Some(routing) = value.get_mut("routing") {
            routing.get_mut("balancer").map(name);
        }
        let setup: Scenario = serde_path_to_error::deserialize(value)
            .map_err(|error| Problems(vec![format!("{}: {}", error.path(), error.inner())]))?;
        let mut problems = Vec::new();
        for (i, traffic) in setup.traffic.iter().enumerate() {
            if traffic.flows == Some(0) {
                problems.push(format!("traffic[{i}].flows: 0 is too few; use at least 1"));
            }
        }
        if problems.is_empty() { Ok(setup) } else { Err(Problems(problems)) }
    }
}

pub fn simulate(setup: &scenario::Setup, observer: &mut dyn FnMut(&Progress) -> bool) -> Outcome {
    let hosts = setup.topology.build().hosts;
    let transport = setup.transport.name();
    let is_ndp = transport == "ndp";
    let count: u64 = setup.traffic.iter().map(|traffic| traffic.flows.unwrap_or(1000)).sum();
    let mut state = setup.run.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + setup.run.replica;
    let mut draw = move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    let mut done = 0;
    let mut status = "complete";
    let mut sink = 0u64;
    while done < count {
        done += 1;
        for _ in 0..20_000 {
            sink ^= draw();
        }
        let now = Time(done * 10_000_000);
        let (flows, packet_hops) = (count, done * 600);
        if !observer(&Progress { now, until: None, flows_done: done, flows, packet_hops, events: done * 700 }) {
            status = "interrupted";
            break;
        }
    }
    let n = count as usize;
    let finished: Vec<bool> = (0..n).map(|i| (i as u64) < done).collect();
    let sizes: Vec<u64> = (0..n)
        .map(|_| (1000.0 * (30_000f64).powf((draw() >> 11) as f64 / (1u64 << 53) as f64)) as u64)
        .collect();
    let ideal: Vec<u64> = sizes.iter().map(|size| size * 800 + 8_000_000).collect();
    let slow: Vec<f64> = (0..n)
        .map(|_| {
            let u = (draw() >> 11) as f64 / (1u64 << 53) as f64;
            1.0 + if is_ndp { 1.5 } else { 6.0 } * u * u * u
        })
        .collect();
    let fct: Vec<u64> = ideal.iter().zip(&slow).map(|(ideal, slow)| (*ideal as f64 * slow) as u64).collect();
    let src: Vec<u32> = (0..n).map(|_| (draw() % u64::from(hosts)) as u32).collect();
    let dst: Vec<u32> = src.iter().map(|src| (src + 1 + (draw() % u64::from(hosts - 1)) as u32) % hosts).collect();
    let mask = |values: &[u64]| -> Vec<u64> { values.iter().zip(&finished).map(|(v, ok)| if *ok { *v } else { 0 }).collect() };
    let mut words = Vec::new();
    let mut codes = Vec::new();
    for (i, traffic) in setup.traffic.iter().enumerate() {
        words.push(traffic.name.clone());
        codes.extend(std::iter::repeat_n(i as u32, traffic.flows.unwrap_or(1000) as usize));
    }
    let text = |word: &str| Values::Text { codes: vec![0; n], words: vec![word.to_string()] };
    let some = || Some(finished.clone());
    let column = |definition, values, valid| Column { definition, values, valid };
    let zero = || Values::U64(vec![0; n]);
    let flows = Table {
        name: "flows",
        columns: vec![
            column(&flows::id, Values::U64((0..count).collect()), None),
            column(&flows::tag, Values::Text { codes, words }, None),
            column(&flows::transport, text(transport), None),
            column(&flows::src, Values::U32(src), None),
            column(&flows::dst, Values::U32(dst), None),
            column(&flows::size_bytes, Values::U64(sizes.clone()), None),
            column(&flows::start_ps, Values::U64((0..count).map(|i| i * 10_000_000).collect()), None),
            column(&flows::completed, Values::Bool(finished.clone()), None),
            column(&flows::fct_ps, Values::U64(mask(&fct)), some()),
            column(&flows::fct_acked_ps, Values::U64(mask(&fct)), some()),
            column(&flows::ideal_fct_ps, Values::U64(mask(&ideal)), some()),
            column(&flows::slowdown, Values::F64(slow), some()),
            column(&flows::deadline_ps, zero(), Some(vec![false; n])),
            column(&flows::met_deadline, Values::Bool(vec![false; n]), Some(vec![false; n])),
            column(&flows::delivered_bytes, Values::U64(mask(&sizes)), None),
            column(&flows::packets_sent, Values::U64(sizes.iter().map(|size| size / 1460 + 1).collect()), None),
            column(&flows::retransmissions, zero(), None),
            column(&flows::timeouts, zero(), None),
            column(&flows::trims, zero(), None),
            column(&flows::drops, zero(), None),
            column(&flows::reordered, zero(), None),
        ],
    };
    let m = 2 * hosts as usize;
    let name = |i: usize, to: bool| if (i % 2 == 0) == to { "switch".to_string() } else { format!("host {}", i / 2) };
    let names = |to: bool| Values::Text { codes: (0..m as u32).collect(), words: (0..m).map(|i| name(i, to)).collect() };
    let tiers = Values::Text {
        codes: (0..m as u32).map(|i| i % 2).collect(),
        words: vec!["host-switch".into(), "switch-host".into()],
    };
    let fill = |value: u64| Values::U64(vec![value; m]);
    let links = Table {
        name: "links",
        columns: vec![
            column(&links::id, Values::U32((0..m as u32).collect()), None),
            column(&links::from, names(false), None),
            column(&links::to, names(true), None),
            column(&links::tier, tiers, None),
            column(&links::rate_bps, fill(10_000_000_000), None),
            column(&links::delay_ps, fill(1_000_000), None),
            column(&links::packets, fill(1000), None),
            column(&links::bytes, fill(1_500_000), None),
            column(&links::utilisation, Values::F64((0..m).map(|i| 0.5 + (i % 20) as f64 / 50.0).collect()), None),
            column(&links::drops, fill(u64::from(!is_ndp)), None),
            column(&links::trims, fill(u64::from(is_ndp)), None),
            column(&links::marks, fill(0), None),
            column(&links::lost, fill(0), None),
            column(&links::queue_mean_bytes, Values::F64(vec![2500.0; m]), None),
            column(&links::queue_max_bytes, fill(12_000), None),
            column(&links::queue_max_packets, Values::U32(vec![8; m]), None),
        ],
    };
    let digest = records::digest(&[&flows, &links]);
    let summary = Summary {
        status,
        scenario: setup.clone(),
        seed: setup.run.seed,
        replica: setup.run.replica,
        digest,
        traffic_digest: format!("{sink:064x}"),
        end_ps: done * 10_000_000,
        counters: serde_json::json!({
            "events": done * 700, "packet_hops": done * 600, "packets": done * 100, "drops": 0, "trims": 0,
            "marks": 0, "retransmissions": 0, "timeouts": 0, "unfinished_flows": count - done,
        }),
        traffic: setup.traffic.iter().map(|traffic| serde_json::json!({
            "name": traffic.name, "flows": traffic.flows.unwrap_or(1000), "mean_size_bytes": 1.0e6,
            "offered_load": 0.6, "realised_load": 0.59,
        })).collect(),
        definitions: serde_json::json!({"load": "payload bytes offered a second over the rate of the hosts"}),
    };
    Outcome { flows, links, summary }
}
