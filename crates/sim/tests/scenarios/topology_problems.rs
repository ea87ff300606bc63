//! Messages for impossible networks: wrong counts, slips that would make them huge, disconnected parts, and
//! mistakes in a list of nodes and cables.

use flowyard_sim::scenario::{Format, no_files, read};
use insta::assert_snapshot;

/// Problems of a scenario with this topology.
fn said(topology: &str) -> String {
    let rest = "[transport.ndp]\n[[traffic]]\nname = 'all'\narrivals.at-once = {}\nmatrix = 'permutation'\nsizes.fixed = '1KB'";
    let read = read(&format!("{topology}\n{rest}"), Format::Toml, &[], &no_files);
    read.map_or_else(|problems| problems.to_string(), |_| "fine".into())
}

/// Problems of hosts "a" and "b" and a switch "s" with these cables.
fn explicit(cables: &str) -> String {
    said(&format!(
        "[topology.explicit]\nhosts = ['a', 'b']\nswitches = [{{ name = 's' }}]\ncables = [{cables}]"
    ))
}

#[test]
fn counts_that_do_not_fit() {
    assert_snapshot!(
        said("topology.fat-tree = { levels = 1, oversubscription = 2 }"),
        @"topology.fat-tree.oversubscription: 2 needs uplinks; a single level has none"
    );
    assert_snapshot!(
        said("topology.leaf-spine = { leaves = 1, hosts = 1 }"),
        @"topology.leaf-spine.hosts: 1 host on 1 leaf has no other host to send to; use 2"
    );
    assert_snapshot!(
        said("topology.leaf-spine = { equal_rate = true, spine.rate = '25Gbps' }"),
        @"topology.leaf-spine.equal_rate: needs cables to the spines that are a whole number of times as fast as those of the hosts; 25Gbps is not a multiple of 10Gbps"
    );
    assert_snapshot!(
        said("topology.leaf-spine = { equal_rate = true, spine.rate = '5Gbps' }"),
        @"topology.leaf-spine.equal_rate: needs cables to the spines that are a whole number of times as fast as those of the hosts; 5Gbps is not a multiple of 10Gbps"
    );
    assert_snapshot!(said("topology.three-tier = { cores = 1, aggregations = 3 }"), @r"
    topology.three-tier.cores: 1 is fewer than uplinks, which is 2
    topology.three-tier.aggregations: 3 is not a multiple of uplinks, which is 2
    ");
    assert_snapshot!(
        said("topology.vl2 = { aggregation_ports = 5 }"),
        @"topology.vl2.aggregation_ports: 5 is odd; use an even number such as 4 or 6"
    );
    assert_snapshot!(
        said("topology.camcube = { x = 1 }"),
        @"topology.camcube.x: 1 is too small (allowed: 2 to 1024); use 2"
    );
}

#[test]
fn slips_that_would_make_it_huge() {
    assert_snapshot!(
        said("topology.fat-tree = { k = 64, levels = 16, oversubscription = 64 }"),
        @"topology.fat-tree: has over 10^18 hosts; at most 1000000 are allowed"
    );
    assert_snapshot!(said("topology.fat-tree = { k = 2, levels = 16 }"), @"fine");
    assert_snapshot!(said("topology.fat-tree = { k = 64 }"), @"fine");
    assert_snapshot!(said("topology.leaf-spine = { leaves = 65536, spines = 65536, hosts = 1 }"), @"topology.leaf-spine: has 4295032832 cables; at most 2000000 are allowed");
    assert_snapshot!(
        said("topology.leaf-spine = { equal_rate = true, host.rate = '1Kbps', spine.rate = '1Tbps' }"),
        @"topology.leaf-spine: has 4000000004 switches; at most 200000 are allowed"
    );
    assert_snapshot!(said("topology.three-tier = { accesses = 65536, hosts = 65536 }"), @"topology.three-tier: has 4294967296 hosts; at most 1000000 are allowed");
    assert_snapshot!(said("topology.vl2 = { aggregation_ports = 1024, intermediate_ports = 1024 }"), @"topology.vl2: has 5242880 hosts; at most 1000000 are allowed");
    assert_snapshot!(said("topology.bcube = { n = 1024, k = 16 }"), @"topology.bcube: has over 10^18 hosts; at most 1000000 are allowed");
    assert_snapshot!(said("topology.dcell = { n = 1024, k = 4 }"), @"topology.dcell: has over 10^18 hosts; at most 1000000 are allowed");
    assert_snapshot!(said("topology.camcube = { x = 1024, y = 1024, z = 1024 }"), @"topology.camcube: has 1073741824 hosts; at most 1000000 are allowed");
    // Few enough to build, but each of 32,768 hosts with several ports needs a column of the route table.
    assert_snapshot!(said("topology.bcube = { n = 8, k = 4 }"), @"topology.bcube: needs a route table of 1744830464 cells of 4 bytes; at most 268435456 are allowed: make it smaller");
}

#[test]
fn parts_that_do_not_hang_together() {
    assert_snapshot!(
        said("topology.three-tier = { cores = 2, uplinks = 1 }"),
        @"topology.three-tier: there is no path from host 0 to host 8; cables must join all nodes"
    );
    assert_snapshot!(
        said(
            "[topology.explicit]\nhosts = ['a', 'b', 'c', 'd']\n\
             cables = [{ ends = ['a', 'b'] }, { ends = ['c', 'd'] }]"
        ),
        @"topology.explicit: there is no path from a to c; cables must join all nodes"
    );
}

#[test]
fn mistakes_in_a_list() {
    assert_snapshot!(explicit("{ ends = ['a', 's'] }, { ends = ['b', 's'], rate = '1Gbps', count = 2 }"), @"fine");
    assert_snapshot!(
        explicit("{ ends = ['a', 's'], rate = '1bps', count = 0 }, { ends = ['b'] }, { delay = '1us', colour = 1 }"),
        @r#"
        topology.explicit.cables.0.rate: "1bps" is too small (allowed: at least "1Kbps"); use "1Kbps"
        topology.explicit.cables.0.count: 0 is too small (allowed: 1 to 1024); use 1
        topology.explicit.cables.1.ends: a length of 1 is too small (allowed: 2)
        topology.explicit.cables.2.colour: unknown key; the keys here are ends, rate, delay, count
        topology.explicit.cables.2.ends: is missing; write a list
        "#
    );
    assert_snapshot!(explicit("{ ends = ['a', 's'] }, { ends = ['s', 'x'] }"), @r#"topology.explicit.cables.1.ends.1: "x" is no node; list it under hosts or switches"#);
    assert_snapshot!(explicit("{ ends = ['a', 'b'] }"), @r#"topology.explicit.switches.0.name: no cable ends at "s""#);
    assert_snapshot!(explicit("{ ends = ['a', 's'] }, { ends = ['b', 'b'] }"), @r#"topology.explicit.cables.1.ends: both are "b"; a cable joins two nodes"#);
    assert_snapshot!(said("topology = 'explicit'"), @r#"topology: "explicit" needs more than its name: a table with hosts, cables; write { explicit = ... }"#);
    assert_snapshot!(said("[topology.explicit]\nhosts = ['a']\ncables = []"), @r#"
    topology.explicit.hosts: a length of 1 is too small (allowed: 2 to 200000)
    topology.explicit.cables: is empty; give at least 1
    "#);
    assert_snapshot!(
        said(
            "[topology.explicit]\nhosts = ['server 0', 'server 1', 'server 0', '']\n\
             switches = [{ name = 'server 1' }, { name = 'top', tier = 'host' }]\n\
             cables = [{ ends = ['server 0', 'server 2'] }, { ends = ['server 1', 'nowhere'] }]"
        ),
        @r#"
        topology.explicit.hosts.2: "server 0" is the name of hosts.0 already; each node needs its own
        topology.explicit.hosts.3: is empty; each node has a name
        topology.explicit.switches.0.name: "server 1" is the name of hosts.1 already; each node needs its own
        topology.explicit.switches.1.tier: "host" is the tier of hosts; list a host under hosts, or name another tier
        topology.explicit.cables.0.ends.1: "server 2" is no node; did you mean "server 0"?
        topology.explicit.cables.1.ends.1: "nowhere" is no node; list it under hosts or switches
        "#
    );
}

/// Names and cables by the ten thousand are checked without delay, and one screen is said about them.
#[test]
fn long_lists() {
    let hosts: Vec<String> = (0..40_000).map(|i| format!("'host number {i}'")).collect();
    let cables: Vec<String> =
        (0..40_000).map(|i| format!("{{ ends = ['host number {i}', 'gone {i}'] }}")).collect();
    let text =
        said(&format!("[topology.explicit]\nhosts = [{}]\ncables = [{}]", hosts.join(","), cables.join(",")));
    assert!(text.ends_with("and at least 180 more"), "{}", &text[text.len() - 100..]);
}
