//! Golden scenarios that are changed before a field is varied: no golden scenario as it is shows the field's effect.
//!
//! Either another setting has to be there that reads the field, or the network has to come to the case that it bounds.

use serde_json::{Value, json};

/// A field, the golden scenario that shows it, and what stands there at these places, with every default written out; null
/// takes away what is there.
pub type Variation = (&'static str, &'static str, Vec<(&'static str, Value)>);

/// One for each field.
pub fn variations() -> Vec<Variation> {
    [
        controllers(),
        central(),
        windows(),
        losses(),
        ports(),
        balancers(),
        ultra_ethernet(),
        receivers(),
        incasts(),
        others(),
    ]
    .concat()
}

/// Flows that are long enough for a receiver to narrow their windows, and packets that a port may mark.
fn incasts() -> Vec<Variation> {
    let golden = "single-switch-ictcp-fpq";
    let long = vec![("/traffic/0/sizes", json!({"fixed": "2MB"}))];
    vec![
        ("Ictcp.narrow_above", golden, long.clone()),
        ("Ictcp.rounds", golden, long.clone()),
        ("Ictcp.widen_below", golden, long),
        (
            "DctcpControl.base_rtt",
            "single-switch-roce-dctcp",
            vec![("/traffic/0/transport/roce/congestion/dctcp/window", json!("variable"))],
        ),
        (
            "Fpq.ecn",
            golden,
            vec![
                ("/traffic/0/transport", json!({"datagram": {"ecn_capable": true}})),
                ("/traffic/0/sizes", json!({"fixed": "600KB"})),
            ],
        ),
    ]
}

/// Estimates, caps and weights of rates.
fn controllers() -> Vec<Variation> {
    let weighted = [
        ("/controller", json!({"asy": {"normalisation": {"priorities": [1.0, 0.0001], "guard": 0.005}}})),
        ("/traffic/0/priority", json!(1)),
    ];
    let max_min = "single-switch-central-max-min";
    let average = json!({"average": "1ms"});
    vec![
        ("Asy.offered", "leaf-spine-central-asy", vec![("/controller/asy/offered", average.clone())]),
        ("MaxMin.cap_by_offered", max_min, vec![("/controller/max-min/offered", average)]),
        ("MaxMinRates.offered", max_min, vec![("/controller/max-min/filling/cap_by_offered", json!(true))]),
        ("Sinkhorn.guard", max_min, weighted.to_vec()),
        ("Sinkhorn.priorities", max_min, weighted.to_vec()),
        // Which paths packets take goes with it: the balancer is left to the check.
        (
            "FlowtuneRates.links",
            "leaf-spine-central-flowtune",
            vec![
                ("/traffic/0/routing", Value::Null),
                ("/traffic/1/routing", Value::Null),
                ("/routing/balancer", Value::Null),
            ],
        ),
        // Flows of one pair, between which there is an order.
        (
            "Syn.sequence",
            "leaf-spine-central-syn",
            vec![("/traffic/0/matrix", json!({"pairs": [[0, 5], [1, 5]]}))],
        ),
    ]
}

/// Packets of hosts under a controller.
fn central() -> Vec<Variation> {
    let golden = "leaf-spine-central-asy";
    vec![
        ("Central.fragment", golden, vec![("/traffic/0/transport/central/fragment", json!("600B"))]),
        (
            "Central.in_turn",
            golden,
            vec![("/traffic/0/transport/central/lengths", json!({"list": [200, 1500, 500]}))],
        ),
        // So busy that queues are held back.
        (
            "Central.late_limit",
            golden,
            vec![
                ("/traffic/0/transport/central/late_limit", json!(1)),
                ("/traffic/0/arrivals/poisson/rate", json!(20000.0)),
            ],
        ),
    ]
}

/// Growth of windows and rates that goes on for long.
fn windows() -> Vec<Variation> {
    // Losses in the middle of growth, and a steep cubic.
    let lossy = |field, value| {
        let cable = json!({"random-cables": {"share": 1.0}});
        vec![
            ("/faults", json!({"events": [{"at": "0s", "target": cable, "change": {"loss": 0.002}}]})),
            ("/topology/dumbbell/bottleneck/delay", json!("20ms")),
            ("/traffic/0/transport/tcp/congestion/cubic/c", json!(100.0)),
            (field, value),
        ]
    };
    let cubic = "dumbbell-tcp-cubic";
    let fast = "/traffic/0/transport/tcp/congestion/cubic/fast_convergence";
    let target = "/traffic/0/transport/tcp/congestion/cubic/max_target";
    vec![
        ("Cubic.fast_convergence", cubic, lossy(fast, json!(true))),
        ("Cubic.max_target", cubic, lossy(target, json!(1.1))),
        // Both stages go beyond recovery between two notifications.
        (
            "Dcqcn.rate_hai",
            "single-switch-dcqcn-incast",
            vec![
                ("/traffic/0/sizes/fixed", json!("1MB")),
                ("/traffic/0/transport/dcqcn/rate_timer", json!("20us")),
                ("/traffic/0/transport/dcqcn/byte_counter", json!("3KB")),
                ("/traffic/0/transport/dcqcn/fast_recovery", json!(1)),
                ("/traffic/0/transport/dcqcn/rate_ai", json!("10Mbps")),
            ],
        ),
        (
            "DcqcnControl.rate_hai",
            "single-switch-roce-incast",
            vec![
                ("/traffic/0/sizes/fixed", json!("1MB")),
                ("/traffic/0/transport/roce/congestion/dcqcn/rate_timer", json!("20us")),
                ("/traffic/0/transport/roce/congestion/dcqcn/byte_counter", json!("3KB")),
                ("/traffic/0/transport/roce/congestion/dcqcn/fast_recovery", json!(1)),
                ("/traffic/0/transport/roce/congestion/dcqcn/rate_ai", json!("10Mbps")),
            ],
        ),
        (
            "Daq.load_limit",
            "single-switch-daq-incast",
            vec![
                ("/traffic/0/transport/daq/target_queue", json!("3KB")),
                ("/traffic/1/transport/daq/target_queue", json!("3KB")),
            ],
        ),
        (
            "DaqPort.reported",
            "single-switch-daq-incast",
            vec![
                ("/traffic/0/transport/daq/target_queue", json!("3KB")),
                ("/traffic/1/transport/daq/target_queue", json!("3KB")),
            ],
        ),
    ]
}

/// Timeouts one behind the other.
fn losses() -> Vec<Variation> {
    vec![
        (
            "Pacing.rto_max",
            "fat-tree-d3-faults",
            vec![
                ("/traffic/0/transport/d3/pacing/rto_min", json!("20us")),
                ("/traffic/0/transport/d3/pacing/rto_max", json!("20us")),
            ],
        ),
        (
            "Swift.retransmit_reset_threshold",
            "single-switch-tcp-swift",
            vec![("/traffic/0/transport/tcp/congestion/swift/retransmit_reset_threshold", json!(1))],
        ),
        (
            "Tcp.rto_max",
            "single-switch-tcp-incast",
            vec![("/traffic/0/transport/tcp/rto_max", json!("10ms"))],
        ),
        // The fields of which it is the default.
        (
            "Tcp.preset",
            "dumbbell-tcp-codel",
            vec![
                ("/traffic/0/transport/tcp/rto_min", Value::Null),
                ("/traffic/0/transport/tcp/rto_initial", Value::Null),
                ("/traffic/0/transport/tcp/delayed_ack_timeout", Value::Null),
            ],
        ),
    ]
}

/// Buffers, marks, drops and pulls.
fn ports() -> Vec<Variation> {
    // Hosts pull for all flows alike: these share a transport.
    let weighted = vec![
        ("/transport", json!({"ndp": {"pull_order": "weighted"}})),
        ("/traffic/0/transport", Value::Null),
        ("/traffic/1/transport", Value::Null),
        ("/traffic/0/priority", json!(1)),
    ];
    vec![
        ("Ndp.pull_weights", "single-switch-ndp-deadlines", weighted),
        // Dropping that begins again soon.
        (
            "Codel.memory",
            "dumbbell-tcp-codel",
            vec![
                ("/queue/codel/interval", json!("300us")),
                ("/queue/codel/target", json!("30us")),
                ("/queue/codel/memory", json!(0)),
            ],
        ),
        ("Lossless.headroom", "single-switch-dcqcn-incast", vec![("/queue/lossless/headroom", json!("1KB"))]),
        (
            "Red.ecn",
            "fat-tree-tcp-red",
            vec![("/traffic/0/transport", json!({"datagram": {"ecn_capable": true}}))],
        ),
        // Of 0 beside beta, which it is then not a scale of.
        ("PdqPort.peq_alpha", "single-switch-pdq-incast", vec![("/agent/pdq/peq_alpha", json!(0.0))]),
    ]
}

/// Paths of unequal rate, which balancers answer.
fn balancers() -> Vec<Variation> {
    let at_start =
        |target: Value, change: Value| json!({"events": [{"at": "0s", "target": target, "change": change}]});
    let slow_spines = |field, value| {
        let spine = |name, rate| json!({"at": "0s", "target": {"node": name}, "change": {"rate": rate}});
        vec![
            ("/faults", json!({"events": [spine("spine 1", "5Gbps"), spine("spine 2", "20Gbps")]})),
            ("/traffic/0/arrivals/poisson/load", json!(0.9)),
            (field, value),
        ]
    };
    let (conweave, plb) = ("leaf-spine-dcqcn-conweave", "leaf-spine-dctcp-plb");
    let weave = |field| match field {
        "extra_flush" => "/traffic/0/routing/balancer/conweave/extra_flush",
        _ => "/traffic/0/routing/balancer/conweave/tx_expiry",
    };
    let sampled = vec![
        ("/controller/hedera/scheduler/detect", json!("sample")),
        ("/controller/hedera/scheduler/probability", json!(0.01)),
    ];
    let half = at_start(json!({"cable": ["leaf 0", "spine 0"]}), json!({"rate": "3Gbps"}));
    let some = at_start(json!({"random-cables": {"share": 0.3}}), json!({"rate": "300Mbps"}));
    vec![
        ("ConWeave.extra_flush", conweave, slow_spines(weave("extra_flush"), json!("16us"))),
        (
            "ConWeave.tx_expiry",
            conweave,
            [slow_spines(weave("tx_expiry"), json!("40us")), vec![("/traffic/0/flows", json!(200))]].concat(),
        ),
        ("Drb.weights", "fat-tree-ndp-drb", vec![("/faults/events/0/at", json!("0s"))]),
        ("Presto.weights", "leaf-spine-tcp-presto", vec![("/faults", half)]),
        ("Presto.order", "leaf-spine-tcp-presto", vec![("/topology", json!({"fat-tree": {"k": 4}}))]),
        ("Flare.shares", "fat-tree-tcp-flare", vec![("/faults", some)]),
        (
            "Hedera.threshold",
            "fat-tree-tcp-hedera",
            vec![("/controller/hedera/scheduler/detect", json!("sent"))],
        ),
        ("Hedera.probability", "fat-tree-tcp-hedera", sampled),
        // Round trips count again while flows go on.
        (
            "Plb.suspend",
            plb,
            vec![
                ("/traffic/0/transport/tcp/repath/plb/suspend", json!("100us")),
                ("/traffic/0/transport/tcp/repath/plb/rounds", json!(1)),
                ("/traffic/0/arrivals/poisson/load", json!(0.9)),
                ("/traffic/0/sizes", json!({"fixed": "1MB"})),
                ("/queue", json!({"ecn": {"threshold": {"packets": 5}}})),
            ],
        ),
    ]
}

/// Windows that shrink, and selectors of paths that meet marks, losses and slow paths.
fn ultra_ethernet() -> Vec<Variation> {
    let (tree, leaves) = ("fat-tree-uet", "leaf-spine-uet-both");
    // The transports of two entries agree in their control: one entry alone.
    let alone = |matrix: Value, size: &str, uet: Value| {
        let sizes = json!({"fixed": size});
        json!([{
            "name": "alone", "arrivals": {"at-once": {}}, "matrix": matrix, "sizes": sizes, "transport": {"uet": uet},
        }])
    };
    let incast =
        |nscc: Value| alone(json!({"incast": {"senders": 15}}), "1MB", json!({"control": {"nscc": nscc}}));
    let crowded = |nscc: Value| vec![("/traffic", incast(nscc))];
    let small = json!({"initial_window": "9000B", "control": {"nscc": {}}});
    let short_queue = json!({"trimming": {"limit": {"full-packets": 3}}});
    let uneven = |entropy: Value, values: u32| {
        let lossy =
            json!({"at": "0s", "target": {"random-cables": {"share": 1.0}}, "change": {"loss": 0.02}});
        let slow =
            json!({"at": "0s", "target": {"cable": ["leaf 0", "spine 0"]}, "change": {"rate": "20Gbps"}});
        vec![
            ("/faults", json!({"events": [lossy, slow]})),
            ("/traffic/0/transport/uet/entropy", entropy),
            ("/traffic/0/transport/uet/entropy_values", json!(values)),
            ("/traffic/0/sizes", json!({"fixed": "2MB"})),
        ]
    };
    vec![
        ("Nscc.decrease", tree, crowded(json!({}))),
        ("Nscc.max_decrease", tree, crowded(json!({"decrease": 1.0, "max_decrease": 0.1}))),
        ("Nscc.quick_adapt", tree, crowded(json!({}))),
        ("Nscc.quick_adapt_gate", tree, crowded(json!({}))),
        // An incast within a rack and a pod, whose first windows follow from the delay.
        (
            "Uet.network_delay",
            tree,
            vec![(
                "/traffic",
                alone(
                    json!({"incast": {"senders": 3, "receiver": 0}}),
                    "1MB",
                    json!({"base_rtt": "pair", "network_rtt": "100us", "network_delay": "100us"}),
                ),
            )],
        ),
        ("Nscc.fast_increase", tree, vec![("/traffic", alone(json!("permutation"), "300KB", small))]),
        ("Bitmap.most", leaves, uneven(json!({"bitmap": {"most": 2}}), 8)),
        ("Bitmap.timed_out", leaves, uneven(json!({"bitmap": {"timed_out": 1}}), 4)),
        ("Reps.buffer", leaves, uneven(json!({"reps": {}}), 64)),
        ("Reps.explore", leaves, uneven(json!({"reps": {"freeze": "1us"}}), 64)),
        ("Reps.freeze", leaves, uneven(json!({"reps": {"freeze": "20us"}}), 64)),
        (
            "SleekRule.min_packets",
            "fat-tree-uet-sleek",
            vec![("/traffic/0/transport/uet/sleek", json!({"factor": 0.1}))],
        ),
        ("Uet.base_rtt_from_nacks", tree, vec![("/traffic", incast(json!({}))), ("/queue", short_queue)]),
        ("Uet.request_interval", leaves, uneven(json!({"reps": {}}), 64)),
        (
            "Rccc.share_requests",
            "leaf-spine-uet-rccc",
            vec![("/traffic/0/matrix", json!({"pairs": [[0, 5], [0, 9], [0, 6]]}))],
        ),
    ]
}

/// Receivers and switches that come to their bounds.
fn receivers() -> Vec<Variation> {
    let lossy = json!({"events": [
        {"at": "0s", "target": {"random-cables": {"share": 1.0}}, "change": {"loss": 0.02}},
    ]});
    let long = vec![
        ("/traffic/0/sizes", json!({"fixed": "200KB"})),
        ("/traffic/0/flows", json!(60)),
        ("/traffic/0/arrivals/poisson/load", json!(0.9)),
    ];
    let unequal = json!({"leaf-spine": {
        "leaves": 2, "spines": 1, "hosts": 10, "rate": "100Gbps", "spine": {"rate": "400Gbps"},
    }});
    vec![
        ("Homa.overcommitment", "leaf-spine-homa", long.clone()),
        ("Homa.scheduled_levels", "leaf-spine-homa", long),
        ("HpccSwitch.alpha_by_rate", "single-switch-buffer-hpcc", vec![("/topology", unequal)]),
        (
            "GoBackN.nak_interval",
            "single-switch-roce-incast",
            vec![
                ("/faults", lossy),
                ("/traffic/0/transport/roce/recovery", json!({"go-back-n": {"nak_interval": "4us"}})),
            ],
        ),
        // Slow start ends early, and no loss comes.
        (
            "Cubic.first_growth",
            "dumbbell-tcp-linux",
            vec![
                ("/faults", Value::Null),
                ("/traffic/0/transport/tcp/congestion", json!({"cubic": {}})),
                ("/traffic/0/transport/tcp/initial_ssthresh", json!("60KB")),
                ("/topology/dumbbell/bottleneck/delay", json!("20ms")),
                ("/queue/drop-tail/limit", json!({"packets": 10000})),
            ],
        ),
    ]
}

/// Traffic, topologies and windows of measurement.
fn others() -> Vec<Variation> {
    vec![
        // Two receivers.
        (
            "Blocks.barrier",
            "single-switch-tcp-blocks",
            vec![("/traffic/0/matrix", json!({"pairs": [[1, 0], [2, 0], [3, 4], [5, 4]]}))],
        ),
        // So busy that flows of the window are not complete until long after it.
        (
            "MeasureWindow.drain",
            "window-given",
            vec![
                ("/traffic/0/arrivals/poisson/load", json!(0.9)),
                ("/traffic/0/sizes", json!({"fixed": "100KB"})),
                ("/run/measure", json!({"from": "100us", "until": "1ms", "drain": "400us"})),
            ],
        ),
        ("ThreeTier.uplinks", "three-tier-tcp", vec![("/topology/three-tier/cores", json!(4))]),
    ]
}

/// A field whose other values a draw cannot find, the golden scenario that shows it, what stands there at these places, and
/// the place of the field with another value: one that names something else of the scenario.
pub type Choice = (&'static str, &'static str, Vec<(&'static str, Value)>, &'static str, Value);

/// One for each such field.
pub fn choices() -> Vec<Choice> {
    [entries(), networks(), faults(), sizes()].concat()
}

/// Names of entries, of flows and of what is observed.
fn entries() -> Vec<Choice> {
    let (requests, triggers) = ("fat-tree-ndp-requests", "line-tcp-triggers");
    let barriers = json!([
        {"id": 1, "kind": "once"}, {"id": 2, "kind": "each"}, {"id": 3, "kind": {"barrier": 1}}, {"id": 4, "kind": "once"},
    ]);
    let fires = json!([
        {"flow": 0, "trigger": 1}, {"flow": 1, "trigger": 2}, {"flow": 2, "event": "acked", "trigger": 2},
        {"flow": 0, "trigger": 3}, {"flow": 1, "trigger": 3}, {"flow": 7, "trigger": 4},
    ]);
    let starts = json!([
        "0s", "6us", {"trigger": 1}, {"trigger": 2}, {"trigger": 3}, {"trigger": 3}, {"trigger": 2}, {"trigger": 4},
    ]);
    let others = json!([{
        "name": "alone", "arrivals": {"at-once": {}}, "matrix": {"pairs": [[0, 1]]}, "sizes": {"fixed": "9KB"},
    }]);
    vec![
        ("After.entry", requests, vec![], "/traffic/2/arrivals/after/entry", json!("requests")),
        (
            "Reply.to",
            requests,
            vec![("/traffic/1/flows", json!(2))],
            "/traffic/1/matrix/reply/to",
            json!("long"),
        ),
        ("Scenario.traffic", requests, vec![], "/traffic", others),
        (
            "Sources.not-in",
            "single-switch-ndp-sources",
            vec![],
            "/traffic/1/sources/not-in",
            json!("shuffle"),
        ),
        ("Triggers.list", triggers, vec![], "/traffic/0/arrivals/triggers/list", barriers),
        ("Triggers.fires", triggers, vec![], "/traffic/0/arrivals/triggers/fires", fires),
        ("Triggers.starts", triggers, vec![], "/traffic/0/arrivals/triggers/starts", starts),
        (
            "Capture.links",
            "single-switch-tcp-observed",
            vec![],
            "/observe/capture/links",
            json!(["host 1 -> *"]),
        ),
    ]
}

/// Nodes, cables and routes of networks that are given.
fn networks() -> Vec<Choice> {
    let (given, routes) = ("explicit-ndp", "explicit-tcp-routes");
    let hosts = json!(["gateway", "client", "server 0", "server 1"]);
    let switches = json!([{"name": "leaf", "tier": "leaf"}, {"name": "spine", "tier": "spine"}]);
    let cables = json!([
        {"ends": ["client", "gateway"]}, {"ends": ["gateway", "leaf"]}, {"ends": ["leaf", "spine"]},
        {"ends": ["spine", "server 0"]}, {"ends": ["server 1", "spine"]},
    ]);
    let taken = json!({"traffic": "flows", "flows": [2]});
    vec![
        (
            "SelectiveDrop.mark",
            "leaf-spine-selective-drop",
            vec![],
            "/queue/selective-drop/mark",
            json!("class"),
        ),
        ("Explicit.hosts", given, vec![], "/topology/explicit/hosts", hosts),
        ("Explicit.switches", given, vec![], "/topology/explicit/switches", switches),
        ("Explicit.cables", given, vec![], "/topology/explicit/cables", cables),
        (
            "ExplicitCable.ends",
            given,
            vec![],
            "/topology/explicit/cables/4/ends",
            json!(["server 1", "leaf"]),
        ),
        (
            "Route.path",
            routes,
            vec![],
            "/traffic/0/routing/balancer/explicit/routes/0/path",
            json!(["a", "s", "u", "c"]),
        ),
        (
            "LinkWeight.link",
            "leaf-spine-ndp-weights",
            vec![],
            "/traffic/0/routing/balancer/weighted/weights/links/0/link",
            json!(["leaf 1", "spine 0"]),
        ),
        ("Route.taken_by", routes, vec![], "/traffic/0/routing/balancer/explicit/routes/2/taken_by", taken),
    ]
}

/// Places of faults.
fn faults() -> Vec<Choice> {
    let golden = "fat-tree-ndp-faults";
    let lost = json!([{"traffic": "permutation", "flow": 0, "numbers": [1, 3]}]);
    vec![
        ("Fault.target", golden, vec![], "/faults/events/1/target", json!({"node": "pod 1 aggregation 1"})),
        ("FaultTarget.node", golden, vec![], "/faults/events/1/target/node", json!("pod 1 aggregation 1")),
        (
            "FaultTarget.cable",
            golden,
            vec![],
            "/faults/events/0/target/cable",
            json!(["pod 1 edge 0", "pod 1 aggregation 1"]),
        ),
        (
            "FaultTarget.link",
            golden,
            vec![],
            "/faults/events/2/target/link",
            json!(["pod 2 edge 0", "host 9"]),
        ),
        ("Faults.packets", golden, vec![], "/faults/packets", lost),
    ]
}

/// Distributions by their points.
fn sizes() -> Vec<Choice> {
    let golden = "fat-tree-ndp-permutation";
    let points = json!([[1000, 0.0], [90_000, 100.0]]);
    let by_points = vec![("/traffic/0/sizes", json!({"cdf": {"points": points}}))];
    vec![(
        "Cdf.points",
        golden,
        by_points,
        "/traffic/0/sizes/cdf/points",
        json!([[1000, 0.0], [50_000, 100.0]]),
    )]
}
