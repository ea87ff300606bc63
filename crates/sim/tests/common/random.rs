//! Random scenarios: every topology, transport, queue, balancer and kind of traffic, small enough to run by the dozen.

use proptest::prelude::*;

/// Controls of RoCE beside DCQCN that need no telemetry, for which some networks here have too many ports on a path.
const ROCE_CONTROLS: [&str; 4] = [
    "congestion = \"timely\"",
    "congestion.timely = { t_low = \"5us\", t_high = \"20us\", window = \"variable\" }",
    "congestion = \"dctcp\"",
    "congestion.powertcp = { mode = \"theta\" }",
];

/// Small networks with many paths, all cables of one rate, so that no flow is faster on several of them than on one.
pub fn small_topology(rate: impl Strategy<Value = &'static str>) -> impl Strategy<Value = String> {
    let side = || 2u32..4;
    let shape = prop_oneof![
        (2u32..4, 1u32..4, 1u32..4, 1u32..3).prop_map(|(leaves, spines, hosts, parallel)| format!(
            "[topology.leaf-spine]\nleaves = {leaves}\nspines = {spines}\nhosts = {hosts}\nparallel = {parallel}"
        )),
        (1u32..4, 2u32..4, 1u32..4).prop_map(|(levels, ratio, half)| {
            let ratio = if levels == 1 { 1 } else { ratio };
            let k = if levels == 3 { 2 } else { 2 * half };
            format!("[topology.fat-tree]\nk = {k}\nlevels = {levels}\noversubscription = {ratio}")
        }),
        (1u32..3, 2u32..5, 1u32..3).prop_map(|(uplinks, accesses, hosts)| format!(
            "[topology.three-tier]\ncores = {uplinks}\naggregations = {}\naccesses = {accesses}\nhosts = {hosts}\n\
             uplinks = {uplinks}",
            2 * uplinks
        )),
        (1u32..3, 1u32..3, 2u32..4).prop_map(|(d_a, d_i, hosts)| format!(
            "[topology.vl2]\naggregation_ports = {}\nintermediate_ports = {}\nhosts = {hosts}",
            2 * d_a,
            2 * d_i
        )),
        (2u32..4, 0u32..3).prop_map(|(n, k)| format!("[topology.bcube]\nn = {n}\nk = {k}")),
        (2u32..4, 0u32..2).prop_map(|(n, k)| format!("[topology.dcell]\nn = {n}\nk = {k}")),
        (side(), side(), side()).prop_map(|(x, y, z)| format!("[topology.camcube]\nx = {x}\ny = {y}\nz = {z}")),
        (1u32..4).prop_map(|count| format!(
            "[topology.explicit]\nhosts = [\"a\", \"b\", \"c\", \"d\"]\nswitches = [{{ name = \"s\" }}]\n\
             cables = [{{ ends = [\"a\", \"b\"] }}, {{ ends = [\"b\", \"s\"], count = {count} }}, \
             {{ ends = [\"c\", \"s\"] }}, {{ ends = [\"d\", \"a\"], delay = \"3us\" }}]"
        )),
    ];
    (shape, rate).prop_map(|(shape, rate)| format!("{shape}\nrate = \"{rate}\""))
}

/// Small scenarios of every kind: few hosts, short queues, flows of a few packets to a few hundred. None needs more than
/// a share of its `work_limit`, with which one that would repeat its packets for ever ends too.
pub fn random_scenario() -> impl Strategy<Value = String> {
    let rate = || prop_oneof![Just("1Gbps"), Just("3Gbps"), Just("7Gbps"), Just("10Gbps")];
    let topology = prop_oneof![
        (2u32..9, rate()).prop_map(|(hosts, rate)| format!(
            "[topology.single-switch]\nhosts = {hosts}\nrate = \"{rate}\""
        )),
        (0u32..4, rate()).prop_map(|(switches, rate)| format!(
            "[topology.line]\nswitches = {switches}\nrate = \"{rate}\""
        )),
        (1u32..4, rate()).prop_map(|(hosts, rate)| {
            format!("[topology.dumbbell]\nhosts = {hosts}\nbottleneck = {{ rate = \"{rate}\" }}")
        }),
        rate().prop_map(|rate| format!("[topology.relay]\nrate = \"{rate}\"\ndelay = \"300ns\"")),
        rate().prop_map(|rate| format!("[topology.fat-tree]\nk = 4\nrate = \"{rate}\"")),
        small_topology(rate()),
    ];
    // Never room for a single packet: flows whose timeouts have come to the same instants may then collide for ever.
    let drop_tail = (2u32..30, any::<bool>()).prop_map(|(limit, wire)| {
        format!("[queue.drop-tail]\nlimit = {{ packets = {limit} }}\nlimit_counts_wire = {wire}")
    });
    let ecn = (2u32..30, 1u32..20, any::<bool>()).prop_map(|(limit, threshold, enqueue)| {
        let mark = if enqueue { "enqueue" } else { "dequeue" };
        format!(
            "[queue.ecn]\nlimit = {{ packets = {limit} }}\nthreshold = {{ packets = {threshold} }}\nmark = \"{mark}\""
        )
    });
    let codel = (1u32..500, 1u32..9, 0u32..3000, any::<bool>(), 2u32..60).prop_map(
        |(target, share, alone, ecn, limit)| {
            format!(
                "[queue.codel]\ntarget = \"{target}us\"\ninterval = \"{}us\"\nmax_packet = \"{alone}B\"\n\
                 ecn = {ecn}\nlimit = {{ packets = {limit} }}",
                target * share
            )
        },
    );
    let red = (1u32..20, 0u32..20, 1u32..101, any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
        |(min, more, weight, gentle, ecn, wire)| {
            format!(
                "[queue.red]\nmin_threshold = {{ packets = {min} }}\nmax_threshold = {{ packets = {} }}\n\
                 weight = {}\nmax_probability = 0.1\ngentle = {gentle}\necn = {ecn}\nlimit_counts_wire = {wire}",
                min + more,
                f64::from(weight) / 100.0
            )
        },
    );
    let pie = (1u32..500, 1u32..500, 0u32..1000, any::<bool>(), 2u32..60).prop_map(
        |(target, update, burst, ecn, limit)| {
            format!(
                "[queue.pie]\ntarget = \"{target}us\"\nupdate = \"{update}us\"\nmax_burst = \"{burst}us\"\n\
                 alpha = 20\nbeta = 200\necn = {ecn}\nlimit = {{ packets = {limit} }}"
            )
        },
    );
    let phantom = (1u32..101, 0u32..20_000, 2u32..60).prop_map(|(drain, threshold, limit)| {
        format!(
            "[queue.phantom]\ndrain = {}\nthreshold = \"{threshold}B\"\nlimit = {{ packets = {limit} }}",
            f64::from(drain) / 100.0
        )
    });
    let fpq = (1u32..10, 0u32..20, 1u32..20, 64u32..400, 1u32..1000, any::<bool>(), 20u32..60).prop_map(
        |(window, in_flight, least, bits, clear, ecn, limit)| {
            format!(
                "[queue.fpq]\nwindow = {window}\nin_flight = {in_flight}\nleast = {least}\nbits = {bits}\n\
                 clear = \"{clear}us\"\necn = {ecn}\nlimit = {{ packets = {limit} }}"
            )
        },
    );
    // Never headers first: with headers enough, that rightly starves all data.
    let ndp_port = (1u32..10, 1u32..40, any::<bool>(), any::<bool>(), 1u32..12, any::<bool>()).prop_map(
        |(data, headers, coin, wire, ratio, returns)| {
            let trim = if coin { "coin" } else { "arriving" };
            format!(
                "[queue.ndp]\ndata_limit = {{ full-packets = {data} }}\nheader_limit = {{ packets = {headers} }}\n\
                 return_to_sender = {returns}\ntrim = \"{trim}\"\nlimit_counts_wire = {wire}\nheaders_per_data = {ratio}"
            )
        },
    );
    let flag = any::<bool>;
    let tcp = (flag(), 1u32..20, 1u32..4, flag(), flag(), flag(), 0u32..8).prop_map(
        |(reno, window, delayed, limited, timestamps, handshake, least)| {
            let congestion = if reno { "reno" } else { "newreno" };
            let ictcp = if least > 4 { format!("\nictcp.least = {least}") } else { String::new() };
            format!(
                "[transport.tcp]\ncongestion = \"{congestion}\"\ninitial_window = {window}\ndelayed_ack = {delayed}\n\
                 delayed_ack_timeout = \"100us\"\nlimited_transmit = {limited}\ntimestamps = {timestamps}\n\
                 handshake = {handshake}\nrto_min = \"1ms\"\nrto_initial = \"2ms\"{ictcp}"
            )
        },
    );
    // What ECN touches, without the fields that are tried above.
    let marked = (0u32..4, 0u32..3, 1u32..12, 1u32..4, flag(), flag()).prop_map(
        |(control, echo, window, delayed, all, repeats)| {
            let echo = ["exact", "exact-at-once", "each-segment"][echo as usize];
            let reduce = if all { "all" } else { "marked" };
            let dctcp = format!("{{ echo = \"{echo}\", reduce = \"{reduce}\" }}");
            let congestion = match control {
                0 => "\"newreno\"\necn = true".to_string(),
                1 => format!("{{ dctcp = {dctcp} }}"),
                2 => format!("{{ d2tcp = {{ dctcp = {dctcp} }} }}"),
                _ => format!("{{ l2dct = {{ dctcp = {dctcp}, full_weight_size = \"5KB\", least_weight_size = \"30KB\" }} }}"),
            };
            // A bucket that holds less than a segment, too.
            let pacer = match (window % 2, all) {
                (1, true) => format!("\nnic_pacer = {{ association = 1.0, bucket = \"{}B\" }}", 300 * window),
                _ => String::new(),
            };
            format!(
                "[transport.tcp]\ncongestion = {congestion}\ninitial_window = {window}\ndelayed_ack = {delayed}\n\
                 delayed_ack_timeout = \"100us\"\necn_retransmissions = {repeats}\nrto_min = \"1ms\"\n\
                 rto_initial = \"2ms\"{pacer}"
            )
        },
    );
    // PIAS, over any number of classes and either way of marking.
    let pias = (1u64..20_000, flag(), flag(), flag(), 1u32..9, 1u32..30, 1u32..20, flag()).prop_map(
        |(step, last, newest, wire, classes, limit, threshold, by_class)| {
            let (by, repeats) =
                (["first", "last"][usize::from(last)], ["as-before", "as-newest"][usize::from(newest)]);
            let mark = ["port", "class"][usize::from(by_class)];
            format!(
                "[transport.tcp]\ncongestion = \"dctcp\"\nrto_min = \"1ms\"\nrto_initial = \"2ms\"\n\
                 delayed_ack_timeout = \"100us\"\ntagging = {{ by = \"{by}\", repeats = \"{repeats}\", \
                 thresholds = [\"{step}B\", \"{}B\", \"{}B\"] }}\n[queue.strict-priority]\n\
                 classes = {classes}\nlimit = {{ packets = {limit} }}\nthreshold = {{ packets = {threshold} }}\n\
                 mark = \"{mark}\"\nlimit_counts_wire = {wire}",
                2 * step,
                5 * step
            )
        },
    );
    // Every other window has a send buffer, below it or above.
    let buffer = |window: u32| match window % 2 {
        0 => String::new(),
        _ => format!("send_buffer = \"{}B\"\n", 1460 * (window * 37 % 100 + 1)),
    };
    let mptcp = (1u32..9, 0usize..3, flag(), flag(), flag(), 2u32..100, 0usize..4).prop_map(
        move |(subflows, coupling, at_once, own_window, reinject, window, kin)| {
            // FUSO has no send buffers.
            let buffer = match kin {
                0 => "recovery = \"fuso\"\n".to_string(),
                1 => format!("scatter.switch.data = \"{}B\"\n", 700 * window),
                2 => format!("scatter = {{ switch = \"loss\", dupack_threshold = {} }}\nrecovery = \"fuso\"\n", 2 + window % 7),
                _ => buffer(window),
            };
            let coupling = ["\"uncoupled\"", "\"lia\"", "{ ew = { servers = 3 } }"][coupling];
            let join = if at_once { "at-once" } else { "established" };
            let covers = if own_window { "subflow" } else { "flow" };
            format!(
                "[transport.mptcp]\nsubflows = {subflows}\ncoupling = {coupling}\njoin = \"{join}\"\n\
                 receive_window = \"{covers}\"\nreinject = {reinject}\n{buffer}tcp = {{ receive_window = \"{}B\", \
                 delayed_ack_timeout = \"100us\", rto_min = \"1ms\", rto_initial = \"2ms\" }}",
                1460 * window
            )
        },
    );
    let parallel = (0usize..6, 0usize..4, 2u32..100, flag()).prop_map(move |(partition, share, window, delayed)| {
        let buffer = buffer(window);
        let partitions = ["front-back", "divide", "proportional", "arrival-time", "last-idle", "in-order"];
        let paths = ["\"all\"", "{ one-in = 1.0 }", "{ one-in = 1.4 }", "{ one-in = 3.0 }"][share];
        format!(
            "[transport.parallel-tcp]\npaths = {paths}\npartition = \"{}\"\n{buffer}tcp = {{ receive_window = \"{}B\", \
             delayed_ack = {}, delayed_ack_timeout = \"100us\", rto_min = \"1ms\", rto_initial = \"2ms\" }}",
            partitions[partition],
            1460 * window,
            1 + u32::from(delayed)
        )
    });
    let ndp = (1u32..40, flag(), 0usize..4, 0usize..3, flag(), flag(), 0usize..3, flag()).prop_map(
        |(window, pull_ack, pull, repeat, pad, includes, turns, at_once)| {
            let turns = ["random", "number", "arrival"][turns];
            let repeats = if at_once { "at-once" } else { "pulled" };
            let pull = ["fair", "fifo", "strict", "weighted"][pull];
            let repeat = ["lowest", "fifo", "lifo"][repeat];
            format!(
                "[transport.ndp]\ninitial_window = {window}\npull_ack = {pull_ack}\npull_order = \"{pull}\"\n\
                 pull_turns = \"{turns}\"\nbackstop_repeats = \"{repeats}\"\nrepeat_order = \"{repeat}\"\n\
                 pad_last = {pad}\nmtu_includes_header = {includes}\nrto_initial = \"2ms\""
            )
        },
    );
    let orders = prop::sample::select(&["shortest", "turns", "port"][..]);
    let pfabric = (1u32..20, 20u32..500, 1u32..6, flag(), orders).prop_map(
        |(window, rto, probe_after, unsent, order)| {
            let remaining = if unsent { "unsent" } else { "unacknowledged" };
            format!(
                "[transport.pfabric]\ninitial_window = {window}\nmax_window = {}\nrto = \"{rto}us\"\n\
                 probe_after = {probe_after}\nremaining = \"{remaining}\"\nhost_order = \"{order}\"",
                window + 3
            )
        },
    );
    let pfabric_port = (1u32..30, flag()).prop_map(|(limit, wire)| {
        format!("[queue.pfabric]\nlimit = {{ packets = {limit} }}\nlimit_counts_wire = {wire}")
    });
    let homa = (1u64..20_000, 1u32..8, 0u32..9, 1u32..3, flag(), flag()).prop_map(
        |(window, unscheduled, most, packets, lowest, even)| {
            let order = if lowest { "lowest" } else { "highest" };
            let (header, by) = if even { (32, "size") } else { (16, "remaining") };
            let most = if most > 0 { format!("overcommitment = {most}\n") } else { String::new() };
            format!(
                "[transport.homa]\nrtt_bytes = \"{}B\"\nunscheduled_levels = {unscheduled}\n{most}\
                 scheduled_levels = \"{order}\"\nscheduled_header = \"{header}B\"\nunscheduled_by = \"{by}\"\n\
                 grant_packets = {packets}\ngrant_pacing = {even}\nresend_interval = \"500us\"",
                window + 64
            )
        },
    );
    let phost = (0u32..20, 1u32..12, flag(), 0u32..9, flag()).prop_map(|(free, window, all, short, whole)| {
        let free_for = if all { "all" } else { "short" };
        let idle_wait = if whole { "whole" } else { "until-answer" };
        format!(
            "[transport.phost]\nfree_tokens = {free}\ntoken_window = {window}\nfree_for = \"{free_for}\"\n\
             short_packets = {short}\nidle_wait = \"{idle_wait}\"\nrequest_interval = \"500us\""
        )
    });
    let sird = (1u32..30, 0u32..20, 0u32..9, flag(), flag(), 0u32..3).prop_map(
        |(budget, unscheduled, threshold, every, in_turn, share)| {
            let raised_by = if every { "every" } else { "unmarked" };
            let order = if in_turn { "in-turn" } else { "shortest" };
            format!(
                "[transport.sird]\ncredit_budget = \"{}B\"\nsender_budget = \"{}B\"\nunscheduled = \"{}B\"\n\
                 sender_threshold = \"{}B\"\nraised_by = \"{raised_by}\"\nreceiver_order = \"{order}\"\n\
                 shortest_share = {}\nresend_interval = \"500us\"",
                budget * 2000,
                budget * 1538,
                unscheduled * 1000,
                threshold * 1538,
                f64::from(share) / 2.0
            )
        },
    );
    let dcpim = (1u32..6, 1u32..6, 0u32..3, 0u32..20, 1u32..30, flag()).prop_map(
        |(rounds, channels, srpt, short, window, prompt)| {
            format!(
                "[transport.dcpim]\nrounds = {rounds}\nchannels = {channels}\nsrpt_rounds = {srpt}\nshort = {short}\n\
                 token_window = {window}\nprompt = {prompt}\nalpha = {}\nrequest_interval = \"500us\"",
                1.0 + f64::from(srpt) / 2.0
            )
        },
    );
    let marking = (2u32..40, 1u32..9, 1u32..20).prop_map(|(limit, classes, threshold)| {
        format!(
            "[queue.strict-priority]\nlimit = {{ packets = {limit} }}\nclasses = {classes}\n\
             threshold = {{ packets = {threshold} }}"
        )
    });
    let classes = (1u32..40, 1u32..9).prop_map(|(limit, classes)| {
        format!(
            "[queue.strict-priority]\nmark = \"none\"\nlimit = {{ packets = {limit} }}\nclasses = {classes}"
        )
    });
    let selective =
        (0u32..12, any::<bool>(), 1u32..9, 2u32..40).prop_map(|(drop, by_port, classes, limit)| {
            format!(
                "[queue.selective-drop]\ndrop_above = {{ bytes = \"{}B\" }}\ndrop_by = \"{}\"\nclasses = {classes}\n\
             limit = {{ packets = {limit} }}",
                750 * drop + 64,
                if by_port { "port" } else { "class" }
            )
        });
    let expresspass = (1u32..11, 1u32..60, 0u32..4, 0u32..3).prop_map(|(rate, small, jitter, loss)| {
        format!(
            "[transport.expresspass]\ninitial_rate = {}\nsmall_packets = {small}\njitter = {}\ntarget_loss = {}\n\
             request_interval = \"500us\"",
            f64::from(rate) / 10.0,
            f64::from(jitter) / 10.0,
            f64::from(loss) / 8.0
        )
    });
    let credit = (2u32..40, 1u32..12, 1u32..12).prop_map(|(data, credits, burst)| {
        format!(
            "[queue.credit]\ndata_limit = {{ packets = {data} }}\ncredit_limit = {credits}\nburst = {burst}"
        )
    });
    let datagram = (0u32..3, flag()).prop_map(|(pace, ecn)| {
        let pace = ["\"line-rate\"", "{ rate = \"800Mbps\" }", "{ poisson = \"2Gbps\" }"][pace as usize];
        format!("[transport.datagram]\npace = {pace}\necn_capable = {ecn}")
    });
    let lossless = (2u32..30, 0u32..2, flag(), 1u32..40, flag()).prop_map(|(xoff, xon, headroom, kmin, enqueue)| {
        let (xon, mark) = (xoff * xon * 750, if enqueue { "enqueue" } else { "dequeue" });
        let headroom = if headroom { "" } else { "headroom = \"4KB\"" };
        format!(
            "[queue.lossless]\nxoff = \"{}B\"\nxon = \"{xon}B\"\n{headroom}\nkmin = \"{kmin}KB\"\nkmax = \"60KB\"\n\
             pmax = 0.3\nmark = \"{mark}\"",
            xoff * 1500
        )
    });
    // Never data before its answers: full of data, a port then rightly starves them.
    let dcqcn = (0u32..4, 1u32..6, 0u32..3, 0u32..3, flag()).prop_map(|(acks, stages, control, behind, roce)| {
        let data = control + behind;
        let own = format!("fast_recovery = {stages}, byte_counter = \"30KB\"");
        let (name, own) = match roce {
            true if behind == 0 => ("roce", ROCE_CONTROLS[acks as usize % ROCE_CONTROLS.len()].to_string()),
            true => ("roce", format!("congestion.dcqcn = {{ {own} }}")),
            false => ("dcqcn", own.replace(", ", "\n")),
        };
        // These act on acknowledgements.
        let acks = if own.starts_with("congestion.dcqcn") || name == "dcqcn" { acks } else { acks.max(1) };
        format!(
            "[transport.{name}]\nack_every = {acks}\n{own}\ndata_class = {data}\ncontrol_class = {control}\n\
             cnp_interval = \"7us\"\ntimeout = \"2ms\""
        )
    });
    let daq = (1u32..40_000, 0u32..100_000, flag()).prop_map(|(window, target, rounds)| {
        let send = if rounds { "rounds" } else { "sliding" };
        format!(
            "[transport.daq]\ninitial_window = \"{window}B\"\ntarget_queue = \"{target}B\"\nsend = \"{send}\""
        )
    });
    // Room for a packet from each of all that send to one switch.
    let daq_port = (20u32..60, 1u32..9, 1u32..9, 1u32..1500).prop_map(|(packets, short, long, frame)| {
        format!(
            "[queue.daq]\nshort_weight = {short}\nlong_weight = {long}\nframe_bytes = \"{frame}B\"\n\
             short_buffer = \"{}B\"\nlong_buffer = \"{}B\"",
            1500 * packets,
            1500 * (packets + 7)
        )
    });
    // Ports with counters, where no request is lost, and ports with per-flow state, behind any drop-tail. Round trips are
    // so short that requests alone may fill a link; with a base rate flows end nevertheless.
    let d3 = (flag(), flag(), 0u32..3, 1u32..12, flag()).prop_map(|(capped, keeps, guard, limit, wire)| {
        let allocation = if capped { "capped" } else { "greedy" };
        let (state, keep_headers) = if keeps { ("flows", false) } else { ("counters", true) };
        format!(
            "[transport.d3]\nguard_rtts = {guard}\npacing = {{ rto_min = \"1ms\" }}\n[agent.d3]\n\
             base_rate = \"1Mbps\"\nallocation = \"{allocation}\"\nstate = \"{state}\"\n[queue.drop-tail]\n\
             limit = {{ packets = {} }}\nlimit_counts_wire = {wire}\nkeep_headers = {keep_headers}",
            limit + 1
        )
    });
    let rcp = (1u32..10, 1u32..20, 1u32..20).prop_map(|(alpha, beta, initial)| {
        let tenths = |tenths| f64::from(tenths) / 10.0;
        format!(
            "[transport.rcp]\npacing = {{ rto_min = \"1ms\" }}\n[agent.rcp]\nalpha = {}\nbeta = {}\n\
             initial_rate = {}",
            tenths(alpha),
            tenths(beta),
            tenths(initial) / 2.0
        )
    });
    let numfabric = (1u32..40, flag(), 1u32..20, 1u32..40, 1u32..12, 1u32..20, 10u32..60).prop_map(
        |(tenths, fixed, slack, rate_time, eta, beta, interval)| {
            let weights = if fixed { "fixed" } else { "prices" };
            let tenth = f64::from(tenths) / 10.0;
            format!(
                "[transport.numfabric]\nalpha = {tenth}\nweight = {tenth}\nweights = \"{weights}\"\n\
                 slack = \"{slack}us\"\nrate_time = \"{rate_time}us\"\n[agent.numfabric]\neta = {eta}\n\
                 beta = {}\ninterval = \"{interval}us\"\nguard = \"{}us\"",
                f64::from(beta) / 20.0,
                interval / 5
            )
        },
    );
    let wfq = (1u32..30).prop_map(|limit| format!("[queue.wfq]\nlimit = {{ packets = {limit} }}"));
    let pdq = (0usize..4, 0u32..4, 0u32..4, 1u32..5, 0u32..2000, 0usize..3).prop_map(
        |(order, early, spacing, list, least, late)| {
            let order = ["pdq", "edf", "sjf", "peq"][order];
            let late = ["", "late = \"keep\"\n", "late = \"give-up\"\n"][late];
            format!(
                "[transport.pdq]\n{late}pacing = {{ rto_min = \"1ms\", reordering = {list} }}\n[agent.pdq]\n\
                 order = \"{order}\"\nearly_start = {early}\nprobe_spacing = {}\ndampening = \"{}us\"\n\
                 least = \"{least}B\"\nlist_most = {}",
                f64::from(spacing) / 5.0,
                10 * early,
                list * list
            )
        },
    );
    let racs = (0u32..5, 0u32..10, 0u32..20, 1u32..8).prop_map(|(exponent, alpha, beta, silent)| {
        format!(
            "[transport.racs]\npacing = {{ rto_min = \"1ms\" }}\n[agent.racs]\nexponent = {exponent}\n\
             alpha = {}\nbeta = {}\nsilent_rtts = {silent}",
            f64::from(alpha) / 10.0,
            f64::from(beta) / 10.0
        )
    });
    let fifo = prop_oneof![
        Just("[queue.infinite]".to_string()),
        drop_tail,
        ecn.clone(),
        codel,
        red,
        pie,
        fpq,
        phantom.clone()
    ];
    let uet = (0usize..6, 0usize..5, 0u32..8, flag(), 4u32..60, flag(), 1u32..30_000).prop_map(
        |(control, entropy, values, trimming, limit, sleek, ack)| {
            let sleek = if sleek && !trimming && control < 2 { "sleek = {}" } else { "" };
            let control = ["nscc", "both", "rccc", "dctcp", "constant", "eqds"][control];
            let entropy = ["mixed", "oblivious", "bitmap", "reps", "reps-legacy"][entropy];
            let trim = if trimming { "coin" } else { "none" };
            format!(
                "[transport.uet]\ncontrol = \"{control}\"\nentropy = \"{entropy}\"\nentropy_values = {}\n\
                 trimming = {trimming}\n{sleek}\nack_bytes = \"{ack}B\"\n\
                 [queue.trimming]\ntrim = \"{trim}\"\nlimit = {{ full-packets = {limit} }}",
                1 << values
            )
        },
    );
    let hosts = prop_oneof![
        uet,
        pias,
        d3,
        (rcp, fifo.clone()).prop_map(|(transport, queue)| transport + "\n" + &queue),
        (pdq, fifo.clone()).prop_map(|(transport, queue)| transport + "\n" + &queue),
        (racs, fifo.clone()).prop_map(|(transport, queue)| transport + "\n" + &queue),
        (marked, prop_oneof![ecn.clone(), phantom]).prop_map(|(transport, queue)| transport + "\n" + &queue),
        (mptcp, fifo.clone()).prop_map(|(transport, queue)| transport + "\n" + &queue),
        (parallel, fifo.clone()).prop_map(|(transport, queue)| transport + "\n" + &queue),
        (tcp, fifo.clone()).prop_map(|(transport, queue)| transport + "\n" + &queue),
        (datagram.clone(), fifo).prop_map(|(transport, queue)| transport + "\n" + &queue),
        (ndp, ndp_port.clone()).prop_map(|(transport, queue)| transport + "\n" + &queue),
        (numfabric, wfq.clone()).prop_map(|(transport, queue)| transport + "\n" + &queue),
        (datagram.clone(), wfq).prop_map(|(transport, queue)| transport + "\n" + &queue),
        (pfabric, pfabric_port.clone()).prop_map(|(transport, queue)| transport + "\n" + &queue),
        (homa, prop_oneof![classes.clone(), selective.clone()])
            .prop_map(|(transport, queue)| transport + "\n" + &queue),
        (phost, prop_oneof![classes.clone(), selective.clone()])
            .prop_map(|(transport, queue)| transport + "\n" + &queue),
        (dcpim, prop_oneof![classes, selective]).prop_map(|(transport, queue)| transport + "\n" + &queue),
        (sird, prop_oneof![marking, ecn]).prop_map(|(transport, queue)| transport + "\n" + &queue),
        (expresspass, credit.clone()).prop_map(|(transport, queue)| transport + "\n" + &queue),
        (datagram.clone(), credit).prop_map(|(transport, queue)| transport + "\n" + &queue),
        (datagram.clone(), pfabric_port).prop_map(|(transport, queue)| transport + "\n" + &queue),
        (dcqcn, lossless.clone()).prop_map(|(transport, queue)| transport + "\n" + &queue),
        (datagram.clone(), lossless).prop_map(|(transport, queue)| transport + "\n" + &queue),
        (daq, daq_port.clone()).prop_map(|(transport, queue)| transport + "\n" + &queue),
        (datagram.clone(), daq_port).prop_map(|(transport, queue)| transport + "\n" + &queue),
        (datagram, ndp_port).prop_map(|(transport, queue)| transport + "\n" + &queue),
    ];
    let matrix = prop_oneof![
        Just("matrix = \"permutation\""),
        Just("matrix = \"permutation\"\nsources.share = 0.8\namong_sources = true"),
        Just("matrix = \"uniform\""),
        Just("matrix.stride = { by = [1] }"),
        Just("matrix.pairs = [[0, 1], [1, 0], [0, 1]]"),
    ];
    let sizes = prop_oneof![
        (1u32..200_000).prop_map(|size| format!("sizes.fixed = \"{size}B\"")),
        Just("sizes.uniform = { min = \"1B\", max = \"50KB\" }".to_string()),
        Just("sizes.exponential = { mean = \"20KB\" }".to_string()),
    ];
    let arrivals = prop_oneof![
        (1u32..25).prop_map(|flows| format!("arrivals.at-once = {{}}\nflows = {flows}")),
        (1u32..25).prop_map(|flows| format!("arrivals.at-once = {{ jitter = \"0s\" }}\nflows = {flows}")),
        (1u32..25).prop_map(|flows| format!("arrivals.poisson = {{ load = 0.7 }}\nflows = {flows}")),
        // A lost datagram never arrives, but its sender is done.
        (1u32..4, flag()).prop_map(|(blocks, gap)| {
            let gap = if gap { "7us" } else { "0s" };
            format!("arrivals.blocks = {{ blocks = {blocks}, gap = \"{gap}\", event = \"acked\" }}")
        }),
    ];
    let followers = prop_oneof![
        Just(""),
        Just("arrivals.after = { entry = \"flows\", event = \"acked\" }\nmatrix.reply = { to = \"flows\" }"),
        Just(
            "arrivals.after = { entry = \"flows\", event = \"acked\", each = \"all\", notify = \"1us\" }\n\
             matrix = \"uniform\""
        ),
        Just("arrivals.on-off = { probability = 0.5, slot = \"5us\", flows_each = 3 }\nmatrix = \"uniform\""),
        Just("arrivals.on-off = { probability = 1, flows_each = 4 }\nmatrix = \"permutation\""),
    ]
    .prop_map(|entry| match entry {
        "" => String::new(),
        entry => format!("[[traffic]]\nname = \"followers\"\n{entry}\nsizes.fixed = \"4KB\"\n"),
    });
    let balancer = prop_oneof![
        Just("\"single\""),
        Just("\"per-flow\""),
        Just("\"per-packet\""),
        Just("\"permuted\""),
        Just("\"weighted\""),
        Just("{ letflow = { gap = \"10us\" } }"),
        Just("\"drill\""),
        Just("{ detail = { low = \"2KB\", high = \"9KB\" } }"),
        Just("{ flare = { gap = \"10us\" } }"),
        Just("{ presto = { cell = \"5KB\", weights = \"capacity\" } }"),
        Just("{ adaptive = { method = \"pause-queue-bandwidth\", granularity = \"flow\" } }"),
    ];
    let deadlines = flag();
    let entry = (matrix, sizes, arrivals, deadlines, followers);
    (topology, hosts, balancer, entry, any::<u32>()).prop_map(
        |(topology, hosts, balancer, (matrix, sizes, arrivals, deadlines, followers), seed)| {
            // Senders may give up flows that can be late.
            let deadlines = match deadlines || hosts.contains("give-up") {
                true => "deadlines.exponential = { mean = \"300us\", min = \"20us\" }\n",
                false => "",
            };
            // Agents see answers where they saw the data, and credits are metered there.
            let backwards = hosts.contains("[agent.") || hosts.contains("[transport.expresspass]");
            let balancer = if backwards { "{ nix = { answers = \"backwards\" } }" } else { balancer };
            // Scattered packets have labels of their own.
            let balancer = if hosts.contains("scatter") { "\"per-flow\"" } else { balancer };
            format!(
                "{topology}\n{hosts}\n[routing]\nbalancer = {balancer}\n[[traffic]]\nname = \"flows\"\npriority = {}\n\
                 {matrix}\n{sizes}\n{arrivals}\n{deadlines}{followers}[run]\nwork_limit = 10000000\nseed = {seed}\n\
                 measure = {}",
                seed % 8,
                ["\"auto\"", "\"all\"", "{ from = \"0s\", drain = \"1us\" }"][seed as usize % 3]
            )
        },
    )
}
