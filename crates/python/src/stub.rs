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
    scenario: scenario::Setup,
    seed: u64,
    replica: u32,
    digest: String,
    traffic_digest: String,
    end_ps: u64,
    counters: serde_json::Value,
    traffic: Vec<serde_json::Value>,
    definitions: serde_json::Value,
}

pub mod scenario {
    use flowyard_sim::units::{Bytes, Rate, Time};
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};
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

    /// What to simulate.
    #[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    pub struct Scenario {
        /// A name for reports.
        #[serde(default)]
        pub name: String,
        /// The network.
        pub topology: Top,
        /// How packets choose among equal paths.
        #[serde(default)]
        pub routing: Routing,
        /// What hosts speak.
        pub transport: Transport,
        /// What ports do; absent, what the transport recommends.
        #[serde(default)]
        pub queue: Option<Queue>,
        /// Which flows start when.
        pub traffic: Vec<Traffic>,
        /// Seed, length and checks of the run.
        #[serde(default)]
        pub run: Run,
    }

    /// The network.
    #[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
    pub enum Top {
        #[serde(rename = "fat-tree")]
        FatTree(FatTree),
        #[serde(rename = "single-switch")]
        SingleSwitch(flowyard_sim::topology::single_switch::SingleSwitch),
    }

    /// A k-ary fat-tree.
    #[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
    #[serde(default, deny_unknown_fields)]
    pub struct FatTree {
        /// Ports of a switch.
        #[schemars(range(min = 2, max = 64))]
        pub k: u32,
        /// Rate of every cable.
        pub rate: Rate,
        /// Propagation delay of every cable.
        pub delay: Time,
    }
    impl Default for FatTree {
        fn default() -> Self {
            FatTree { k: 4, rate: Rate(10_000_000_000), delay: Time::from_us(1) }
        }
    }

    /// How packets choose among equal paths.
    #[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
    #[serde(default, deny_unknown_fields)]
    pub struct Routing {
        /// Which of the equal next hops a packet takes.
        pub balancer: Balancer,
    }

    /// Which of the equal next hops a packet takes.
    #[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub enum Balancer {
        /// Always the first.
        Single,
        /// By a hash of the 5-tuple.
        #[default]
        PerFlow,
        /// A random one for each packet.
        PerPacket,
    }

    /// What hosts speak.
    #[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
    pub enum Transport {
        #[serde(rename = "ndp")]
        Ndp(Ndp),
        #[serde(rename = "tcp")]
        Tcp(Tcp),
    }

    /// NDP (Handley et al., SIGCOMM 2017).
    #[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
    #[serde(default, deny_unknown_fields)]
    pub struct Ndp {
        /// Packets sent at line rate before the first pull.
        #[schemars(range(min = 1))]
        pub initial_window: u32,
        /// Largest packet.
        pub mtu: Bytes,
    }
    impl Default for Ndp {
        fn default() -> Self {
            Ndp { initial_window: 16, mtu: Bytes(1500) }
        }
    }

    /// TCP NewReno.
    #[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
    #[serde(default, deny_unknown_fields)]
    pub struct Tcp {
        /// Segments sent in the first round.
        pub initial_window: u32,
        /// Least retransmission timeout.
        pub rto_min: Time,
    }
    impl Default for Tcp {
        fn default() -> Self {
            Tcp { initial_window: 10, rto_min: Time(1_000_000_000) }
        }
    }

    /// What a port does with packets.
    #[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
    pub enum Queue {
        #[serde(rename = "infinite")]
        Infinite(Infinite),
        #[serde(rename = "drop-tail")]
        DropTail(DropTail),
    }
    /// Never drops.
    #[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
    #[serde(default, deny_unknown_fields)]
    pub struct Infinite {}
    /// First in, first out; drops what does not fit.
    #[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
    #[serde(default, deny_unknown_fields)]
    pub struct DropTail {
        /// Most packets, or none for no such limit.
        pub packets: Option<u32>,
        /// Most bytes.
        pub bytes: Option<Bytes>,
    }

    /// Flows of one kind.
    #[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    pub struct Traffic {
        /// The tag of the flows.
        pub name: String,
        /// When flows start.
        pub arrivals: Arrivals,
        /// Who sends to whom.
        pub matrix: Matrix,
        /// How long flows are.
        pub sizes: Sizes,
        /// How many flows.
        #[serde(default)]
        pub flows: Option<u64>,
    }

    /// When flows start.
    #[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub enum Arrivals {
        /// A Poisson process.
        Poisson(Poisson),
        /// All at the beginning.
        AtOnce,
    }
    /// A Poisson process.
    #[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
    #[serde(default, deny_unknown_fields)]
    pub struct Poisson {
        /// Payload offered, as a share of the hosts' rate.
        pub load: Option<f64>,
        /// Flows a second.
        pub rate: Option<f64>,
    }

    /// Who sends to whom.
    #[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub enum Matrix {
        /// Any pair, uniformly at random.
        Uniform,
        /// Each host sends to one other and receives from one other.
        Permutation,
        /// Host i sends to host i + stride.
        Strides(Vec<u32>),
    }

    /// How long flows are.
    #[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub enum Sizes {
        /// The web search workload.
        WebSearch,
        /// All of one size.
        Fixed(Bytes),
    }

    /// Seed, length and checks of the run.
    #[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
    #[serde(default, deny_unknown_fields)]
    pub struct Run {
        /// Seed of all chance.
        pub seed: u64,
        /// Repetition with this seed.
        pub replica: u32,
        /// Stop at this time.
        pub until: Option<Time>,
        /// Flows that start before are left out of reports.
        pub warm_up: Time,
        /// Give up when no flow moves for so long.
        pub stall: Time,
        /// Check counters against structures.
        pub audit: bool,
    }
    impl Default for Run {
        fn default() -> Self {
            let stall = Time(100_000_000_000);
            Run { seed: 1, replica: 0, until: None, warm_up: Time(0), stall, audit: false }
        }
    }

    pub fn schema() -> Value {
        let mut schema = schemars::schema_for!(Scenario).to_value();
        schema["title"] = "Scenario".into();
        schema
    }

    pub fn read(text: &str, format: Format, overrides: &[(String, String)]) -> Result<Setup, Problems> {
        let mut value: Value = match format {
            Format::Toml => toml::from_str(text).map_err(|error| Problems(vec![error.to_string()]))?,
            Format::Json => serde_json::from_str(text).map_err(|error| Problems(vec![error.to_string()]))?,
        };
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
        for key in ["topology", "transport"] {
            value.get_mut(key).map(name);
        }
        let setup: Scenario = serde_path_to_error::deserialize(value)
            .map_err(|error| Problems(vec![format!("{}: {}", error.path(), error.inner())]))?;
        let mut problems = Vec::new();
        if let Top::FatTree(FatTree { k, .. }) = &setup.topology {
            if k % 2 == 1 {
                problems.push(format!(
                    "topology.fat-tree.k: {k} is odd; use an even number such as {} or {}",
                    k - 1,
                    k + 1
                ));
            }
        }
        for (i, traffic) in setup.traffic.iter().enumerate() {
            if traffic.flows == Some(0) {
                problems.push(format!("traffic[{i}].flows: 0 is too few; use at least 1"));
            }
        }
        if problems.is_empty() { Ok(setup) } else { Err(Problems(problems)) }
    }
}

pub fn simulate(setup: &scenario::Setup, observer: &mut dyn FnMut(&Progress) -> bool) -> Outcome {
    let hosts = match &setup.topology {
        scenario::Top::FatTree(fat_tree) => fat_tree.k.pow(3) / 4,
        scenario::Top::SingleSwitch(switch) => switch.hosts,
    };
    let (transport, is_ndp) = match &setup.transport {
        scenario::Transport::Ndp(_) => ("ndp", true),
        scenario::Transport::Tcp(_) => ("tcp", false),
    };
    let count: u64 = setup.traffic.iter().map(|traffic| traffic.flows.unwrap_or(1000)).sum();
    let mut state = setup.run.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + u64::from(setup.run.replica);
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
