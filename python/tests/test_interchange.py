"""Peers' files in and out: published examples, round trips, and what malformed files are told."""

import json
import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flowyard as fy
from flowyard import interchange
from flowyard.errors import UserError
from flowyard.interchange import (
    cdf,
    exporting,
    formats,
    graphs,
    hpcc_flow,
    hpcc_topology,
    htsim_cm,
    htsim_topo,
    importing,
    netsys_trace,
)
from flowyard.interchange.flows import Entry, Traffic, Triggers
from flowyard.interchange.network import Cable, Network
from flowyard.interchange.scenario_text import toml
from flowyard.interchange.text import RATE_UNITS, TIME_UNITS, Source, quantity, rate_text, time_text

# The examples with which the formats are documented.
CM = """\
Nodes 16
Connections 3
Triggers 1
0->13 id 1 start 0 size 2000000 send_done_trigger 1
4->13 id 2 start 1000000 size 150000 prio 3
13->0 id 3 trigger 1 size 64000
trigger id 1 oneshot
"""
# leaf_spine_tiny.topo and zrs.topo of Broadcom/csg-htsim.
TOPO = """\
Nodes 32
Tiers 2
Podsize 32

Tier 0
Downlink_speed_Gbps 100
Radix_Down 8
Radix_Up 2
Downlink_Latency_ns 1000
Switch_Latency_ns 0
Oversubscribed 4

Tier 1
Downlink_speed_Gbps 100
Radix_Down 4
Downlink_Latency_ns 1000
Switch_Latency_ns 0
"""
BUNDLED = """\
Nodes 432
Tiers 3
Podsize 36

Tier 0
Downlink_speed_Gbps 100
Radix_Down 6
Radix_Up 6
Downlink_Latency_ns 1000

Tier 1
Downlink_speed_Gbps 100
Radix_Down 6
Radix_Up 6
Downlink_Latency_ns 1000

Tier 2
Downlink_speed_Gbps 100
Radix_Down 36
Downlink_Latency_ns 600000
Bundle 3"""
# The fat-tree with 4-port switches.
FOUR = """\
# A comment
Nodes 16
Tiers 3
Podsize 4
Tier 0
Downlink_speed_Gbps 100
Radix_Down 2
Radix_Up 2
Downlink_Latency_ns 1000
Tier 1
Downlink_speed_Gbps 100
Radix_Down 2
Radix_Up 2
Downlink_Latency_ns 1000
Tier 2
Downlink_speed_Gbps 100
Radix_Down 4
Downlink_Latency_ns 1000
"""
FLOW = """\
2
2 1 3 100 200000000 2
3 1 3 100 200000000 2.000001
"""
TOPOLOGY = """\
4 1 3
0
0 1 100Gbps 0.001ms 0
0 2 100Gbps 0.001ms 0
0 3 100Gbps 1000ns 0.000000
"""
TRACE = "0 10000 3 7 0\n1 1460 2 5 12.5\n"
GRAPHML = """\
<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="k" for="node" attr.name="type" attr.type="string"/>
  <key id="c" for="edge" attr.name="capacity" attr.type="double"/>
  <key id="l" for="edge" attr.name="latency" attr.type="string"/>
  <graph edgedefault="undirected">
    <node id="s"><data key="k">switch</data></node>
    <node id="a"><data key="k">server</data></node>
    <node id="b"><data key="k">host</data></node>
    <edge source="a" target="s"><data key="c">10</data><data key="l">1us</data></edge>
    <edge source="b" target="s"><data key="c">2.5</data><data key="l">500 ns</data></edge>
  </graph>
</graphml>
"""
EXAMPLES = {
    "htsim-cm": CM,
    "htsim-topo": TOPO,
    "hpcc-flow": FLOW,
    "hpcc-topology": TOPOLOGY,
    "netsys-trace": TRACE,
    "graphml": GRAPHML,
    "cdf": "0 0\n10000 15\n30000000 100\n",
}

READERS = {
    "htsim-cm": lambda source: htsim_cm.read(source, start_unit="ps"),
    "htsim-topo": htsim_topo.read,
    "hpcc-flow": hpcc_flow.read,
    "hpcc-topology": hpcc_topology.read,
    "netsys-trace": netsys_trace.read,
    "graphml": lambda source: graphs.read(source, rate_unit="Gbps"),
}


def source(text, name="file"):
    return Source(name, text)


def edges(network):
    """The cables of a network without regard to their order, by names."""
    names = network.names
    return sorted((*sorted((names[a], names[b])), rate, delay) for a, b, rate, delay in network.cables)


def structure(network):
    """The cables of a network without regard to their order, by numbers."""
    return sorted((min(a, b), max(a, b), rate, delay) for a, b, rate, delay in network.cables)


def k_ary(k):
    """The k-ary fat-tree, wired by its definition (Al-Fares et al., SIGCOMM 2008)."""
    half = k // 2
    hosts, edge = k * half * half, k * half
    switches = [("edge", "edge")] * edge + [("agg", "aggregation")] * edge + [("core", "core")] * half**2
    cables = [(host, hosts + host // half) for host in range(hosts)]
    for pod in range(k):
        for i in range(half):
            cables += [(hosts + pod * half + i, hosts + edge + pod * half + j) for j in range(half)]
            # Each core switch joins every pod once: the group i of core switches its i-th one.
            above = hosts + 2 * edge
            cables += [(hosts + edge + pod * half + i, above + i + half * j) for j in range(half)]
    named = [(f"{name} {i}", tier) for i, (name, tier) in enumerate(switches)]
    wires = [Cable(a, b, 100 * 10**9, 10**6) for a, b in cables]
    return Network([f"host {i}" for i in range(hosts)], named, wires)


# ---- htsim .cm ------------------------------------------------------------------------------------------


def test_the_published_connection_matrix():
    matrix = htsim_cm.read(source(CM), start_unit="ps")
    (entry,) = matrix.entries
    assert matrix.hosts == 16
    assert entry.traffic() == {
        "name": "flows",
        "arrivals": {
            "triggers": {
                "starts": ["0s", "1us", {"trigger": 1}],
                "fires": [{"flow": 0, "event": "acked", "trigger": 1}],
                "list": [{"id": 1, "kind": "once"}],
                "notify": "1ps",
            }
        },
        "matrix": {"pairs": [[0, 13], [4, 13], [13, 0]]},
        "sizes": {"list": [2000000, 150000, 64000]},
    }
    assert any("prio" in note for note in matrix.notes)


def test_starts_of_a_connection_matrix_have_the_unit_that_is_named():
    text = "Nodes 2\nConnections 1\n0->1 start 2.5 size 1\n"
    assert htsim_cm.read(source(text), start_unit="us").entries[0].start_ps == [2_500_000]
    # What it has of a picosecond is cut, as the conversion to htsim's whole numbers does.
    assert htsim_cm.read(source(text), start_unit="ps").entries[0].start_ps == [2]
    with pytest.raises(UserError, match=r"file, line 3: start is 2\.5.*--start-unit ps .* --start-unit us"):
        htsim_cm.read(source(text))
    # Zero is zero in every unit.
    assert htsim_cm.read(source(text.replace("2.5", "0"))).entries[0].start_ps == [0]


def test_flows_without_end_become_background():
    text = "Nodes 4\nConnections 3\n0->1 start 0 size 0\n1->2 start 0 size 9\n2->3 start 0\n"
    finite, endless = htsim_cm.read(source(text)).entries
    assert (finite.src, finite.size_bytes) == ([1], [9])
    assert endless.src == [0, 2]
    described = endless.traffic()
    assert (described["background"], described["sizes"]) == (True, "endless")


def test_kinds_of_triggers():
    text = """\
Nodes 8
Connections 4
Triggers 3
0->1 id 1 start 0 size 1 send_done_trigger 1 recv_done_trigger 2
1->2 id 2 trigger 1 size 1 recv_done_trigger 3
2->3 id 3 trigger 2 size 1
3->4 id 4 trigger 3 size 1
trigger id 1 oneshot
trigger id 2 multishot
trigger id 3 barrier count 1
"""
    triggers = htsim_cm.read(source(text)).entries[0].triggers
    assert triggers == Triggers(
        {1: "once", 2: "each", 3: {"barrier": 1}},
        {1: 1, 2: 2, 3: 3},
        [(0, "acked", 1), (0, "received", 2), (1, "received", 3)],
    )


def test_failures_are_cables_up_of_aggregation_switches():
    text = "Nodes 16\nConnections 1\nFailures 1\n0->1 start 0 size 1\nfailure switch_type AGG switch_id 3 link_id 1\n"
    network = htsim_topo.read(source(FOUR))
    matrix = htsim_cm.read(source(text))
    (event,) = htsim_cm.failed(matrix, network, source(text))
    # Switch 3 stands at place 1 of pod 1; its links go to the core switches 1 and 3.
    assert event == {"at": "0s", "target": {"cable": ["pod 1 aggregation 1", "core 3"]}, "change": "down"}


def flows_of(traffic):
    """Everything about the flows of a file, by start."""
    rows = []
    for entry, i in traffic.by_start():
        size = None if entry.endless else entry.size_bytes[i]
        waits = entry.triggers.starts.get(i)
        rows.append((entry.src[i], entry.dst[i], size, None if waits else entry.start_ps[i], waits))
    return rows


starts = st.integers(0, 10**15)
sizes = st.integers(1, 2**31 - 1)


@st.composite
def entries(draw, name="flows"):
    count = draw(st.integers(1, 8))
    pairs = draw(st.lists(st.tuples(st.integers(0, 7), st.integers(8, 15)), min_size=count, max_size=count))
    return Entry(
        name,
        [src for src, _ in pairs],
        [dst for _, dst in pairs],
        draw(st.lists(sizes, min_size=count, max_size=count)),
        sorted(draw(st.lists(starts, min_size=count, max_size=count))),
    )


@given(entries(), st.data())
@settings(derandomize=True, max_examples=60, deadline=None)
def test_connection_matrices_come_back(entry, data):
    # The first flow fires what the others may wait for.
    kind = data.draw(st.sampled_from(["once", "each", {"barrier": 2}]))
    if len(entry) > 1 and data.draw(st.booleans()):
        entry.triggers = Triggers({7: kind}, {len(entry) - 1: 7}, [(0, "acked", 7), (0, "received", 7)])
    traffic = Traffic([entry])
    text, _ = htsim_cm.write(traffic, 16)
    again = htsim_cm.read(source(text), start_unit="ps")
    assert again.hosts == 16
    triggers = again.entries[0].triggers
    assert list(triggers.kinds.values()) == list(entry.triggers.kinds.values())
    assert [(flow, event) for flow, event, _ in triggers.fires] == [
        (flow, event) for flow, event, _ in entry.triggers.fires
    ]
    ours = [(*row[:4], row[4] is not None) for row in flows_of(traffic)]
    assert [(*row[:4], row[4] is not None) for row in flows_of(again)] == ours


def test_what_htsim_cannot_hold_is_refused_or_told():
    with pytest.raises(UserError, match="traffic entry big has a flow of 2147483648 bytes"):
        htsim_cm.write(Traffic([Entry("big", [0], [1], [2**31], [0])]), 2)
    _, notes = htsim_cm.write(Traffic([Entry("late", [0, 0], [1, 1], [1, 1], [2**24, 2**24 + 1])]), 2)
    assert any("1 of 2 will be off" in note for note in notes)


# ---- htsim .topo ----------------------------------------------------------------------------------------


def test_the_published_leaf_spine():
    network = htsim_topo.read(source(TOPO))
    assert len(network.hosts) == 32
    assert [tier for _, tier in network.switches] == ["edge"] * 4 + ["aggregation"] * 2
    wired = [(host, 32 + host // 8) for host in range(32)] + [
        (32 + leaf, 36 + spine) for leaf in range(4) for spine in range(2)
    ]
    assert structure(network) == sorted((a, b, 100 * 10**9, 10**6) for a, b in wired)


def test_a_fat_tree_is_wired_by_its_definition():
    assert structure(htsim_topo.read(source(FOUR))) == structure(k_ary(4))


def test_bundles_are_parallel_cables():
    network = htsim_topo.read(source(BUNDLED))
    hosts, tiers = 432, [tier for _, tier in network.switches]
    assert (tiers.count("edge"), tiers.count("aggregation"), tiers.count("core")) == (72, 72, 12)
    ports = network.ports()
    # Every switch has all ports of its radices in use.
    degrees = {tier: {len(ports[hosts + i]) for i, t in enumerate(tiers) if t == tier} for tier in set(tiers)}
    assert degrees == {"edge": {12}, "aggregation": {12}, "core": {36}}
    cores = [cable for cable in network.cables if cable.b >= hosts + 144]
    assert {cables.count(cable) for cables in (cores,) for cable in cores} == {3}
    assert {cable.delay_ps for cable in cores} == {600 * 10**6}
    # In a scenario, parallel cables are counted.
    counts = {cable.get("count", 1) for cable in network.topology()["explicit"]["cables"]}
    assert counts == {1, 3}


def test_switch_latency_is_shared_by_the_cables_of_a_path():
    slow = FOUR.replace("Downlink_Latency_ns 1000", "Downlink_Latency_ns 1000\nSwitch_Latency_ns 501")
    network = htsim_topo.read(source(slow))
    delays = {cable[:2]: cable.delay_ps for cable in network.cables}
    edge, aggregation = 16, 24
    # Host 0 to host 2, over edge, aggregation, edge: four cables and three switches.
    path = [(0, edge), (edge, aggregation), (edge + 1, aggregation), (2, edge + 1)]
    assert sum(delays[hop] for hop in path) == 4 * 1_000_000 + 3 * 501_000
    assert any("Switch_Latency_ns" in note for note in network.notes)


@pytest.mark.parametrize("text", [TOPO, BUNDLED, FOUR], ids=["two-tier", "bundled", "fat-tree"])
def test_trees_come_back(text):
    network = htsim_topo.read(source(text))
    again = htsim_topo.read(source(htsim_topo.write(network)))
    assert edges(again) == edges(network)


def test_trees_with_other_numbers_come_back():
    # The same tree with its upper switches in another order.
    tree = k_ary(4)
    last = len(tree.names) - 1
    moved = [0, *range(1, 24), *range(last, 23, -1)]
    cables = [Cable(moved[a], moved[b], rate, delay) for a, b, rate, delay in tree.cables]
    turned = Network(tree.hosts, [("", "switch")] * 20, cables[::-1])
    assert structure(htsim_topo.read(source(htsim_topo.write(turned)))) == structure(tree)


def test_other_networks_are_refused_by_what_they_are():
    line = Network(["a", "b"], [("s", "switch")], [Cable(0, 2, 10**9, 1000), Cable(1, 2, 10**9, 1000)])
    pair = Network(["a", "b"], [], [Cable(0, 1, 10**9, 1000)])
    tree = k_ary(4)
    slow = Network(
        tree.hosts, tree.switches, [cable._replace(rate_bps=2_500_000_000) for cable in tree.cables]
    )
    uneven = Network(tree.hosts, tree.switches, [*tree.cables[1:], tree.cables[0]._replace(delay_ps=5000)])
    # Two cables between edge and aggregation switches change places, across pods.
    crossed = list(tree.cables)
    crossed[16] = crossed[16]._replace(b=crossed[-17].b)
    for network, why in [
        (line, "it has 1 tier of switches"),
        (pair, "a host has several cables, or one to another host"),
        (slow, "have 2500Mbps and 1us, not whole Gbps"),
        (uneven, "the edge switches, or the cables below them, differ"),
        (Network(tree.hosts, tree.switches, crossed), "pods"),
    ]:
        with pytest.raises(UserError, match=f"htsim .topo cannot hold this network: .*{why}"):
            htsim_topo.write(network)


# ---- HPCC and NetSys ------------------------------------------------------------------------------------


def test_the_published_flows_on_the_published_topology(tmp_path):
    (tmp_path / "flow.txt").write_text(FLOW)
    (tmp_path / "topology.txt").write_text(TOPOLOGY)
    imported = interchange.read([tmp_path / "flow.txt", tmp_path / "topology.txt"])
    assert imported.scenario == {
        "topology": {
            "explicit": {
                "hosts": ["host 1", "host 2", "host 3"],
                "switches": [{"name": "switch 0"}],
                "rate": "100Gbps",
                "delay": "1us",
                "cables": [{"ends": ["switch 0", f"host {i}"]} for i in (1, 2, 3)],
            }
        },
        "transport": {"ndp": {}},
        "traffic": [
            {
                "name": "normal",
                "arrivals": {"times": {"at": ["2s", "2000001us"], "jitter": "0s"}},
                # Nodes 1, 2 and 3 are the hosts 0, 1 and 2.
                "matrix": {"pairs": [[1, 0], [2, 0]]},
                "sizes": {"list": [200000000, 200000000]},
            }
        ],
    }
    assert imported.complete
    assert imported.facts["total_bytes"] == 400_000_000


def test_ports_tell_normal_from_incast_flows():
    text = "3\n0 1 3 100 10 2\n2 1 3 200 20 2.5\n3 1 3 444 30 3\n"
    traffic = hpcc_flow.read(source(text))
    assert {entry.name: entry.size_bytes for entry in traffic.entries} == {
        "normal": [10],
        "incast": [20],
        "dport-444": [30],
    }
    many = "20\n" + "".join(f"0 1 3 {port} 10 2\n" for port in range(1000, 1020))
    traffic = hpcc_flow.read(source(many))
    assert [entry.name for entry in traffic.entries] == ["flows"]
    assert any("20 different dports" in note for note in traffic.notes)


def test_error_rates_become_losses_and_come_back():
    network = hpcc_topology.read(source(TOPOLOGY.replace("1000ns 0.000000", "1000ns 1e-05")))
    assert network.faults() == [
        {"at": "0s", "target": {"cable": ["host 3", "switch 0"]}, "change": {"loss": 1e-05}}
    ]
    assert hpcc_topology.read(source(hpcc_topology.write(network))).loss == {(2, 3): 1e-05}


def test_the_first_line_of_simai():
    text = "5 2 1 1 4 H100\n3 4\n0 3 2880Gbps 0.000025ms 0\n1 3 2880Gbps 0.000025ms 0\n0 4 400Gbps 0.0005ms 0\n2 4 400Gbps 0.0005ms 0\n"
    network = hpcc_topology.read(source(text))
    assert network.hosts == ["host 0", "host 1", "host 2"]
    assert network.switches == [("switch 3", "nvswitch"), ("switch 4", "switch")]
    assert network.cables[0] == Cable(0, 3, 2_880_000_000_000, 25_000)


@given(entries("normal"), entries("other"))
@settings(derandomize=True, max_examples=60, deadline=None)
def test_flows_come_back(first, second):
    traffic = Traffic([first, second])
    text, _ = hpcc_flow.write(traffic)
    again = hpcc_flow.read(source(text))
    assert flows_of(Traffic([entry for entry in again.entries if entry.name == "normal"])) == flows_of(
        Traffic([first])
    )
    assert sorted(flows_of(again)) == sorted(flows_of(traffic))
    # Its reader takes the lines in their order.
    times = [float(line.split()[5]) for line in text.splitlines()[1:]]
    assert times == sorted(times)
    text, _ = netsys_trace.write(traffic)
    assert flows_of(netsys_trace.read(source(text))) == flows_of(traffic)


@st.composite
def networks(draw):
    """A chain of switches with hosts, and some more cables."""
    hosts, switches = draw(st.integers(2, 6)), draw(st.integers(1, 5))
    nodes = hosts + switches
    ends = [(host, hosts + draw(st.integers(0, switches - 1))) for host in range(hosts)]
    ends += [(hosts + i, hosts + i + 1) for i in range(switches - 1)]
    more = st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1)).filter(
        lambda pair: pair[0] != pair[1]
    )
    ends += draw(st.lists(more, max_size=5))
    rates, delays = st.integers(1_000, 10**12), st.integers(0, 10**9)
    cables = [Cable(a, b, draw(rates), draw(delays)) for a, b in ends]
    tiers = st.sampled_from(["switch", "leaf", "spine"])
    return Network(
        [f"host {i}" for i in range(hosts)], [(f"switch {i}", draw(tiers)) for i in range(switches)], cables
    )


@given(networks())
@settings(derandomize=True, max_examples=60, deadline=None)
def test_any_network_comes_back(network):
    assert structure(hpcc_topology.read(source(hpcc_topology.write(network)))) == structure(network)
    again = graphs.read(source(graphs.write(network)))
    assert (again.hosts, again.switches, edges(again)) == (network.hosts, network.switches, edges(network))
    # As a scenario has it: counted cables and the commonest rate and delay, said once.
    explicit = network.topology()["explicit"]
    cables = []
    for cable in explicit["cables"]:
        a, b = (network.names.index(name) for name in cable["ends"])
        rate = quantity(cable.get("rate", explicit["rate"]), RATE_UNITS)
        delay = quantity(cable.get("delay", explicit["delay"]), TIME_UNITS)
        cables += [Cable(a, b, rate, delay)] * cable.get("count", 1)
    assert cables == network.cables


# ---- graphs ---------------------------------------------------------------------------------------------


def test_graphml_with_units_from_the_caller():
    network = graphs.read(source(GRAPHML), rate_unit="Gbps")
    assert (network.hosts, network.switches) == (["a", "b"], [("s", "switch")])
    assert edges(network) == [("a", "s", 10**10, 10**6), ("b", "s", 2_500_000_000, 500_000)]
    with pytest.raises(UserError, match=r'capacity of edge "s" - "a" is "10.0", without a unit.*--rate-unit'):
        graphs.read(source(GRAPHML))


def test_from_networkx():
    networkx = graphs.library()
    graph = networkx.MultiGraph()
    graph.add_edge(0, "core", rate="10Gbps")
    graph.add_edge(1, "core", bandwidth=40)
    graph.add_edge("core", "far", rate="1Tbps", latency="3us")
    graph.add_edge("core", "far", rate="1Tbps", latency="3us")
    explicit = interchange.from_networkx(graph, hosts="leaves", delay="1us", rate_unit="Gbps")["explicit"]
    assert explicit["hosts"] == ["0", "1"]
    assert explicit["switches"] == [{"name": "core"}, {"name": "far"}]
    assert explicit["cables"][2] == {"ends": ["core", "far"], "count": 2} | (
        {} if explicit["rate"] == "1Tbps" else {"rate": "1Tbps"}
    ) | ({} if explicit["delay"] == "3us" else {"delay": "3us"})
    with pytest.raises(UserError, match="does not say in kind, type, role whether it is a host"):
        interchange.from_networkx(graph, delay="1us", rate_unit="Gbps")
    with pytest.raises(UserError, match=r"has none of delay, latency"):
        interchange.from_networkx(graph, hosts=[0, 1], rate_unit="Gbps")
    with pytest.raises(UserError, match='"nobody", which is not a node'):
        interchange.from_networkx(graph, hosts=["nobody"], delay="1us")
    with pytest.raises(UserError, match='--rate-unit is "Gigs"'):
        interchange.from_networkx(graph, hosts=[0, 1], delay="1us", rate_unit="Gigs")


def test_directed_graphs_have_cables_in_both_directions():
    networkx = graphs.library()
    cable = {"rate": "1Gbps", "delay": "1us"}
    graph = networkx.DiGraph([("a", "s", cable), ("s", "a", cable), ("b", "s", cable), ("s", "b", cable)])
    network = graphs.network_of(graph, hosts="leaves")
    assert edges(network) == [("a", "s", 10**9, 10**6), ("b", "s", 10**9, 10**6)]
    graph.remove_edge("s", "b")
    with pytest.raises(UserError, match='the edge from "b" to "s" has no opposite'):
        graphs.network_of(graph, hosts=["a", "b"])


# ---- CDFs -----------------------------------------------------------------------------------------------


def mean(points):
    return sum((x + y) / 2 * (q - p) for (x, p), (y, q) in zip(points, points[1:], strict=False)) / 100


WEB_SEARCH = [
    (0, 0), (10000, 15), (20000, 20), (30000, 30), (50000, 40), (80000, 53), (200000, 60), (1000000, 70),
    (2000000, 80), (5000000, 90), (10000000, 97), (30000000, 100),
]  # fmt: skip


def test_cdfs_in_both_dialects():
    assert cdf.write(WEB_SEARCH, percent=True).splitlines()[:2] == ["0 0", "10000 15"]
    assert cdf.write(WEB_SEARCH, percent=False).splitlines()[1:3] == ["10000 0.15", "20000 0.2"]
    assert cdf.write(WEB_SEARCH, percent=False).splitlines()[-1] == "30000000 1"


@given(
    st.lists(st.tuples(st.integers(1, 50), st.integers(0, 100)), min_size=1, max_size=12),
)
@settings(derandomize=True, max_examples=200, deadline=None)
def test_written_cdfs_ascend_strictly_and_keep_their_mean(steps):
    points, size, share = [], 0, 0
    for more, percent in steps:
        size += 1000 * (more // 2)
        share = min(share + percent, 100)
        points.append((size + 10, share))
    points.append((size + 5010, 100))
    points = list(dict.fromkeys((size, float(share)) for size, share in points))
    rows = [line.split() for line in cdf.write(points, percent=True).splitlines()]
    written = [(int(size), float(share)) for size, share in rows]
    # The generator of HPCC refuses anything else.
    assert written[0][1] == 0
    assert written[-1][1] == 100
    assert all(a < c and b < d for (a, b), (c, d) in zip(written, written[1:], strict=False))
    first = points[0][0] * points[0][1] / 100
    assert mean(written) == pytest.approx(first + mean(points), abs=2)


def test_a_measured_cdf_is_the_share_that_is_no_larger():
    assert cdf.measured([5, 1, 1, 9]) == [(1, 50.0), (5, 75.0), (9, 100.0)]
    many = cdf.measured(range(1, 100_001))
    assert len(many) == cdf.MEASURED_MAX
    assert all(share == pytest.approx(size / 1000) for size, share in many)


# ---- recognising, scenarios as text ---------------------------------------------------------------------


@pytest.mark.parametrize("name", EXAMPLES)
def test_formats_are_recognised_by_content(name):
    assert formats.sniff(source(EXAMPLES[name])) == name
    assert (
        formats.sniff(source("# a comment\n\n" + EXAMPLES[name] if name != "graphml" else "\n" + GRAPHML))
        == name
    )


@pytest.mark.parametrize("text", ["1500\n100 0.1\n1500 1\n", "1 1 0\n10 1 1\n", "0,0\n10,100\n"])
def test_dialects_of_cdfs_are_recognised(text):
    assert formats.sniff(source(text)) == "cdf"


@pytest.mark.parametrize("text", ["", "# nothing\n", "hello world\n", "<html></html>", "\x00", "1 2 3 4\n"])
def test_what_is_no_format_is_refused(text):
    with pytest.raises(UserError, match="file: (is empty|begins .*none of the known formats)"):
        formats.sniff(source(text))


values = st.recursive(
    st.one_of(st.integers(0, 2**63 - 1), st.text(max_size=8), st.booleans(), st.floats(0, 1)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=25), st.dictionaries(st.text(min_size=1, max_size=4), inner, max_size=3)
    ),
    max_leaves=30,
)


@given(
    st.dictionaries(st.sampled_from(["name", "topology", "transport", "faults", "a b"]), values, max_size=4)
)
@settings(derandomize=True, max_examples=200, deadline=None)
def test_toml_is_what_it_was_made_of(scenario):
    assert tomllib.loads(toml(scenario, ["a remark"])) == scenario


def test_toml_of_imported_files(tmp_path):
    (tmp_path / "a.cm").write_text(CM)
    scenario = interchange.read([tmp_path / "a.cm"], start_unit="ps", topology="fat-tree").scenario
    assert tomllib.loads(toml(scenario, [])) == scenario
    assert scenario["topology"] == {"fat-tree": {"k": 4}}


@given(st.integers(0, 2**64 - 1))
@settings(derandomize=True, max_examples=100)
def test_quantities_come_back(number):
    assert quantity(time_text(number), TIME_UNITS) == number
    assert quantity(rate_text(number), RATE_UNITS) == number


# ---- malformed files ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reader", "text", "message"),
    [
        ("htsim-cm", CM.replace("Nodes 16", "Nodes x"), r'file, line 1: Nodes is "x"; must be a whole number, 2 to'),
        ("htsim-cm", CM.replace("0->13", "0->16"), r'line 4: the destination is "16"; must be .* 0 to 15'),
        ("htsim-cm", CM.replace("4->13", "4->4"), r'line 5: "4->4" joins a node to itself'),
        ("htsim-cm", CM.replace("Connections 3", "Connections 4"), "header says Connections 4, but the file has 3"),
        ("htsim-cm", CM.replace("id 2", "id 1"), "line 5: id 1 is also that of line 4"),
        ("htsim-cm", CM.replace("prio 3", "colour 3"), r'line 5: "colour" is not a part of a connection; parts are'),
        ("htsim-cm", CM.replace("prio 3", "prio"), r'line 5: "prio" has no value'),
        ("htsim-cm", CM.replace("size 150000", "size -1"), r'line 5: size is "-1"; must be a whole number, 0 to'),
        ("htsim-cm", CM.replace("start 1000000 ", ""), "line 5: the connection has neither start nor trigger"),
        ("htsim-cm", CM.replace("id 3 trigger 1", "id 3 start 5 trigger 1"), "line 6: .* both start and trigger"),
        ("htsim-cm", CM.replace("oneshot", "twoshot"), 'line 7: must be such as "trigger id 1 oneshot"'),
        ("htsim-cm", CM.replace("oneshot", "barrier"), "line 7: a barrier needs its count"),
        ("htsim-cm", CM.replace("send_done_trigger 1", ""), "line 6: waits for trigger 1, which no connection fires"),
        ("htsim-cm", CM.replace("size 64000", "size 0"), "line 6: the flow has no end"),
        ("htsim-cm", CM + "failure switch_type TOR switch_id 0 link_id 0\n", 'line 8: switch_type is "TOR"'),
        ("htsim-cm", "Nodes 2\nhello 3\n", 'line 2: "hello" does not begin a line'),
        ("htsim-cm", "Nodes 2\nConnections 0\n", "file: has no connection"),
        ("htsim-topo", TOPO.replace("Tiers 2", "Tiers 4"), 'line 2: Tiers is "4"; must be a whole number, 2 to 3'),
        ("htsim-topo", TOPO.replace("Tier 1", "Tier 2"), 'says Tiers 2, but has a "Tier 2"'),
        ("htsim-topo", TOPO.replace("Radix_Up 2", "Radix_Up 3"), "Radix_Up of tier 0 is 3, but .* make it 2"),
        ("htsim-topo", TOPO.replace("Radix_Down 8", "Radix_Down 9"), r"Podsize is 32, which is not a multiple of 9"),
        ("htsim-topo", TOPO.replace("Radix_Up 2\n", ""), "tier 0 has no Radix_Up"),
        ("htsim-topo", TOPO.replace("Radix_Up 2", "Radix_Up"), "line 8: must be a name and a number"),
        ("htsim-topo", TOPO.replace("Radix_Up", "Radix_Sideways"), 'line 8: "Radix_Sideways" has no place here'),
        ("htsim-topo", TOPO.replace("Podsize 32", "Podsize 16"), "Podsize is 16; with two tiers it must be Nodes, 32"),
        ("hpcc-flow", FLOW.replace("2\n2 1", "3\n2 1", 1), "file: the first line says 3 flows, but there are 2"),
        ("hpcc-flow", FLOW.replace("2\n2 1", "1\n2 1", 1), "line 3: is one flow more than the 1"),
        ("hpcc-flow", FLOW.replace("2 1 3", "1 1 3"), "line 2: node 1 sends to itself"),
        ("hpcc-flow", FLOW.replace("200000000 2.", "0 2."), 'line 3: bytes is "0"; must be a whole number, 1 to'),
        ("hpcc-flow", FLOW.replace("2.000001", "soon"), 'line 3: start_seconds is "soon"; must be a number, 0 or more'),
        ("hpcc-flow", FLOW.replace("2.000001", "1e99"), 'line 3: start_seconds is "1e99"; must be a number'),
        ("hpcc-flow", FLOW.replace("2.000001", ""), "line 3: must be six numbers"),
        ("hpcc-flow", "0\n", 'line 1: the number of flows is "0"'),
        ("hpcc-topology", TOPOLOGY.replace("4 1 3", "4 1 2"), "line 5: is one link more than the 2"),
        ("hpcc-topology", TOPOLOGY.replace("4 1 3", "4 1"), 'line 1: must begin with three numbers.*"4 1"'),
        ("hpcc-topology", TOPOLOGY.replace("\n0\n", "\n7\n"), 'line 2: a switch is "7"; must be .* 0 to 3'),
        ("hpcc-topology", TOPOLOGY.replace("0 1 100Gbps", "0 1 100"), 'line 3: rate is "100"; has no unit'),
        ("hpcc-topology", TOPOLOGY.replace("100Gbps 1000ns", "9Q 1000ns"), 'rate is "9Q"; has the unit "Q"; units are bps'),
        ("hpcc-topology", TOPOLOGY.replace("1000ns", "0.1ps"), 'line 5: delay is "0.1ps"; is not a whole number of ps'),
        ("hpcc-topology", TOPOLOGY.replace("0.000000", "2"), 'line 5: error is "2"; must be a share of packets, 0 to 1'),
        ("hpcc-topology", TOPOLOGY.replace("0 2", "2 2"), "line 4: joins node 2 to itself"),
        ("netsys-trace", "0 10000 3 7\n", "line 1: must be five numbers"),
        ("netsys-trace", "0 10000 3 3 1\n", "line 1: node 3 sends to itself"),
        ("graphml", "<graphml>", "file: is not GraphML that networkx can read"),
    ],
)  # fmt: skip
def test_malformed_files_are_told_where_and_what(reader, text, message):
    with pytest.raises(UserError, match=message):
        READERS[reader](source(text))


WORDS = st.sampled_from(
    "Nodes Connections Triggers Failures Tiers Podsize Tier Radix_Down Radix_Up Bundle trigger failure id start size "
    "oneshot barrier count switch_type AGG switch_id link_id prio 0->1 1->0 -> 0 1 2 3 16 -1 1.5 1e9 1e-9 nan inf "
    "99999999999999999999 100Gbps 1us 0.001ms Downlink_speed_Gbps Downlink_Latency_ns Oversubscribed # ² ".split(
        " "
    )
)
LINES = st.lists(st.lists(WORDS, max_size=7).map(" ".join), max_size=12).map("\n".join)


@pytest.mark.parametrize("name", READERS)
@given(text=st.one_of(st.text(max_size=200), LINES))
@settings(derandomize=True, max_examples=300, deadline=None)
def test_garbage_is_refused_or_read(name, text):
    for read in (formats.sniff, READERS[name]):
        try:
            read(source(text))
        except UserError as error:
            assert str(error)


@pytest.mark.parametrize("name", READERS)
@given(data=st.data())
@settings(derandomize=True, max_examples=200, deadline=None)
def test_broken_examples_are_refused_or_read(name, data):
    lines = EXAMPLES[name].split("\n")
    at = data.draw(st.integers(0, len(lines) - 1))
    words = lines[at].split(" ")
    words[data.draw(st.integers(0, len(words) - 1))] = data.draw(WORDS)
    lines[at] = " ".join(words)
    try:
        READERS[name](source("\n".join(lines)))
    except UserError as error:
        assert str(error).startswith("file")


def test_huge_numbers_do_not_eat_the_memory():
    huge = (
        TOPO.replace("32", "1000000")
        .replace("Radix_Down 8", "Radix_Down 1")
        .replace("Oversubscribed 4", "Oversubscribed 1")
    )
    huge = huge.replace("Radix_Up 2", "Radix_Up 1000000").replace("Radix_Down 4", "Radix_Down 1000000")
    with pytest.raises(UserError):
        htsim_topo.read(source(huge))


# ---- several files --------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path):
    names = {
        "htsim-cm": "a.cm",
        "htsim-topo": "a.topo",
        "hpcc-flow": "flow.txt",
        "hpcc-topology": "topology.txt",
    }
    for kind, name in names.items():
        (tmp_path / name).write_text(EXAMPLES[kind])
    (tmp_path / "four.topo").write_text(FOUR)
    return tmp_path


def test_a_tree_and_its_connections(files):
    imported = interchange.read([files / "four.topo", files / "a.cm"], start_unit="ps", transport="tcp")
    assert set(imported.scenario) == {"topology", "transport", "traffic"}
    assert imported.scenario["transport"] == {"tcp": {}}
    assert imported.formats == {str(files / "four.topo"): "htsim-topo", str(files / "a.cm"): "htsim-cm"}
    assert imported.facts | {"flows": 3, "hosts": 16, "cables": 48} == imported.facts


def test_a_topology_alone_has_no_traffic(files):
    imported = interchange.read([files / "a.topo"])
    assert not imported.complete
    assert "traffic" not in imported.scenario


def test_the_network_of_another_scenario(files, small):
    imported = interchange.read([files / "flow.txt"], topology=str(small))
    assert imported.scenario["topology"] == {"single-switch": {"hosts": 4}}
    named = interchange.read([files / "flow.txt"], topology="web-search-ndp")
    assert named.scenario["topology"]["fat-tree"]["k"] == 8


def test_a_named_network_has_the_hosts_of_the_file(files):
    imported = interchange.read([files / "flow.txt"], topology="single-switch", rate="100Gbps", delay="500ns")
    fields = {"hosts": 4, "rate": "100Gbps", "delay": "500ns"}
    assert imported.scenario["topology"] == {"single-switch": fields}
    assert any("4 hosts, because" in note for note in imported.notes)


@pytest.mark.parametrize(
    ("names", "options", "message"),
    [
        (["flow.txt"], {}, "has flows, but no network: name its topology file too, or say --topology"),
        (["a.cm"], {"start_unit": "ps"}, "has flows, but no network for 16 hosts"),
        (["a.cm", "a.topo"], {"start_unit": "ps"}, "a.cm: says Nodes 16, but the topology has 32 hosts"),
        (["a.topo", "topology.txt"], {}, "a scenario has one topology"),
        (["a.cm", "flow.txt"], {}, "a scenario has one file of flows"),
        (["topology.txt"], {"topology": "fat-tree"}, "the network is already in"),
        (["flow.txt"], {"topology": "fat-tree"}, r"no fat-tree has 4 hosts \(k\^3/4\); the nearest have 2 or 16"),
        (["flow.txt"], {"topology": "single-switch", "rate": "fast"}, "--rate is \"fast\"; must be a number with"),
        (["nowhere"], {}, "nowhere: no such file"),
        (["flow.txt"], {"formats": ["excel"]}, '"excel" is not a format; formats are htsim-topo'),
        (["flow.txt"], {"formats": ["hpcc-flow", "cdf"]}, "2 formats for 1 files"),
        (["flow.txt"], {"formats": ["htsim-cm"]}, 'line 1: "2" does not begin a line of a .cm file'),
    ],
)  # fmt: skip
def test_files_that_do_not_fit_together(files, names, options, message):
    with pytest.raises(UserError, match=message):
        interchange.read([files / name for name in names], **options)


def test_a_flow_of_a_node_that_is_no_host(files):
    (files / "flow.txt").write_text("1\n0 1 3 100 10 2\n")
    with pytest.raises(UserError, match=r"flow.txt, line 2: src is 0, which is not a host of the topology"):
        interchange.read([files / "flow.txt", files / "topology.txt"])


def test_files_that_are_not_text(files):
    (files / "flow.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match="not UTF-8 text"):
        interchange.read([files / "flow.txt"])
    with pytest.raises(UserError, match="is a folder"):
        importing.load(files)


# ---- what the engine draws ------------------------------------------------------------------------------


def test_drawn_flows_with_triggers_find_their_places():
    described = {
        "starts": ["5us", {"trigger": 4}, "0s", "5us"],
        "fires": [
            {"flow": 0, "event": "acked", "trigger": 4},
            {"flow": 2, "event": "received", "trigger": 4},
        ],
        "list": [{"id": 4, "kind": {"barrier": 2}}],
    }
    resolved = {"traffic": [{"name": "flows", "sizes": {"list": []}, "arrivals": {"triggers": described}}]}
    # As the engine draws them: by start, those that wait last.
    columns = {
        "tag": ["flows"] * 4,
        "src": [2, 0, 3, 1],
        "dst": [9] * 4,
        "size_bytes": [1] * 4,
        "start_ps": [0, 5_000_000, 5_000_000, None],
        "deadline_ps": [None, None, 7, None],
    }
    traffic, notes = exporting._traffic(resolved, columns)
    (entry,) = traffic.entries
    assert entry.src == [2, 0, 3, 1]
    assert entry.triggers == Triggers({4: {"barrier": 2}}, {3: 4}, [(0, "received", 4), (1, "acked", 4)])
    assert notes == ["1 deadlines are not written: the format has none"]
    resolved["traffic"][0]["arrivals"] = {"blocks": {}}
    with pytest.raises(
        UserError, match=r"traffic entry flows: arrivals\.blocks makes flows start during the run"
    ):
        exporting._traffic(resolved, columns)


def test_a_fabric_is_read_by_its_cables():
    fabric = {
        "nodes": [{"name": name, "tier": tier, "host": tier == "host"} for name, tier in (("h0", "host"), ("h1", "host"), ("s", "leaf"))],
        "links": [[0, 2, 10**9, 5], [2, 0, 10**9, 5], [1, 2, 10**9, 5], [2, 1, 10**9, 5]],
    }  # fmt: skip
    network = Network.of_fabric(json.loads(json.dumps(fabric)))
    assert (network.hosts, network.switches) == (["h0", "h1"], [("s", "leaf")])
    assert network.cables == [Cable(0, 2, 10**9, 5), Cable(1, 2, 10**9, 5)]


def test_an_unknown_format_is_refused(small):
    with pytest.raises(UserError, match='"ns2" is not a format; formats are htsim-cm'):
        interchange.export(small, "ns2")


def test_the_examples_are_read_by_the_engine(files):
    """All that the importers write, checked and run by the engine."""
    scenario = interchange.read([files / "four.topo", files / "a.cm"], start_unit="ps").scenario
    result = fy.run(scenario)
    assert result.status == "complete"
    assert result.summary["counters"]["flows"] == 3
