"""What the tests of interchange share: example files, readers, strategies, comparisons."""

from hypothesis import strategies as st

from flowyard.interchange import (
    cable_table,
    columns,
    containerlab,
    flow_table,
    graphs,
    hpcc_config,
    hpcc_flow,
    hpcc_topology,
    htsim_cm,
    htsim_topo,
    netsys_trace,
)
from flowyard.interchange.flows import Entry
from flowyard.interchange.network import Cable, Network
from flowyard.interchange.text import Source

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
GML = """\
graph [
  node [ id 0 label "h0" kind "host" ]
  node [ id 1 label "h1" kind "host" ]
  node [ id 2 label "s" kind "switch" ]
  edge [ source 0 target 2 rate "10Gbps" delay "1us" ]
  edge [ source 1 target 2 rate "10Gbps" delay "1us" ]
]
"""
FLOW_TABLE = "src,dst,size,start_us\n3,7,10000,0\n2,5,1460,12.5\n"
CABLE_TABLE = "Side A Device,Side B Device,Speed,Delay (us)\nh0,s,10G,1\nh1,s,10G,0.5\n"
LAB = """\
name: tiny
topology:
  nodes:
    leaf1: { kind: linux }
    h1: { kind: linux }
    h2: { kind: linux }
  links:
    - endpoints: ["leaf1:e1", "h1:eth1"]
    - endpoints: ["leaf1:e2", "h2:eth1"]
"""
CONFIG = "PACKET_PAYLOAD_SIZE 1000\nSIMULATOR_STOP_TIME 4.00\nCC_MODE 1\nRATE_AI 50Mb/s\nKMIN_MAP 1 25000000000 100\n"
EXAMPLES = {
    "htsim-cm": CM,
    "htsim-topo": TOPO,
    "hpcc-flow": FLOW,
    "hpcc-topology": TOPOLOGY,
    "netsys-trace": TRACE,
    "graphml": GRAPHML,
    "gml": GML,
    "flow-table": FLOW_TABLE,
    "cable-table": CABLE_TABLE,
    "containerlab": LAB,
    "hpcc-config": CONFIG,
    "cdf": "0 0\n10000 15\n30000000 100\n",
}

READERS = {
    "htsim-cm": lambda source: htsim_cm.read(source, start_unit="ps"),
    "htsim-topo": htsim_topo.read,
    "hpcc-flow": hpcc_flow.read,
    "hpcc-topology": hpcc_topology.read,
    "netsys-trace": netsys_trace.read,
    "graphml": lambda source: graphs.read(source, rate_unit="Gbps"),
    "gml": lambda source: graphs.read(source, "gml"),
    "flow-table": lambda source: flow_table.read(
        source, flow_table.Reading(columns.named(["src", "dst", "size", "start_us"], columns.FLOWS), skip=1)
    ),
    "cable-table": lambda source: cable_table.read(source, hosts="leaves"),
    "containerlab": lambda source: containerlab.read(source, hosts="leaves", rate="1Gbps", delay="1us"),
    "hpcc-config": lambda source: hpcc_config.read(source).parts("dcqcn", None, None),
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


def fct_txt(flows, late_ns=0, slower=1):
    """What HPCC's code would write of these flows."""
    lines = []
    for row in flows.iter_rows(named=True):
        src, dst = (f"0b{node >> 8:02x}{node & 255:02x}01" for node in (row["src"], row["dst"]))
        start, fct = row["start_ps"] // 1000 + late_ns, slower * row["fct_acked_ps"] // 1000
        ideal = row["ideal_fct_ps"] // 1000
        lines.append(f"{src} {dst} 10000 100 {row['size_bytes']} {start} {fct} {ideal}")
    # In the order of the ends, as there.
    return "\n".join(sorted(lines)) + "\n"


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
