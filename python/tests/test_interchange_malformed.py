"""Malformed files: told where and what, whatever they hold."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from interchange_examples import CM, EXAMPLES, FLOW, READERS, TOPO, TOPOLOGY, source

from flowyard.errors import UserError
from flowyard.interchange import htsim_topo, importing, sniffing
from flowyard.interchange.flows import silent
from flowyard.interchange.options import Options


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
        ("htsim-topo", TOPO.replace("Radix_Up", "Radix_Upp"), 'line 8: "Radix_Upp" is unknown; did you mean Radix_Up?'),
        ("htsim-topo", TOPO.replace("Radix_Up", "Queue_Up"), "tier 0 has no Radix_Up"),
        ("htsim-topo", TOPO + "Nodes 8\n", '"Nodes" has no place here; allowed are Downlink_speed_Gbps'),
        ("htsim-topo", TOPO.replace("Podsize 32", "Podsize 16"), "Podsize is 16; with two tiers it must be Nodes, 32"),
        ("hpcc-flow", FLOW.replace("2\n2 1", "3\n2 1", 1), "file: the first line says 3 flows, but there are 2"),
        ("hpcc-flow", FLOW.replace("2 1 3 100", "2 1 3000 100"), 'line 2: pg is "3000"; must be .* 0 to 7'),
        ("hpcc-flow", FLOW.replace("2 1 3", "1 1 3"), "line 2: node 1 sends to itself"),
        ("hpcc-flow", FLOW.replace("200000000 2.", "0 2."), 'line 3: bytes is "0"; must be a whole number, 1 to'),
        ("hpcc-flow", FLOW.replace("2.000001", "soon"), 'line 3: start_seconds is "soon"; must be a number, 0 or more'),
        ("hpcc-flow", FLOW.replace("2.000001", "1e99"), 'line 3: start_seconds is "1e99"; must be a number'),
        ("hpcc-flow", FLOW.replace("2.000001", ""), "line 3: must be six numbers"),
        ("hpcc-flow", FLOW.replace("100 200000000 2.", "70000 200000000 2."), 'line 3: dport is "70000"; .* to 65535'),
        ("hpcc-flow", "0\n", 'line 1: the number of flows is "0"'),
        ("hpcc-topology", TOPOLOGY.replace("4 1 3", "4 2 3"), "line 3: must be the 2 numbers of .*; has 6 words"),
        ("hpcc-topology", TOPOLOGY.replace("4 1 3", "4 1"), 'line 1: must begin with three numbers.*"4 1"'),
        ("hpcc-topology", TOPOLOGY.replace("\n0\n", "\n7\n"), 'line 2: a switch is "7"; must be .* 0 to 3'),
        ("hpcc-topology", TOPOLOGY.replace("0 1 100Gbps", "0 1 100"), 'line 3: rate is "100"; has no unit'),
        ("hpcc-topology", TOPOLOGY.replace("100Gbps 1000ns", "9Q 1000ns"), 'rate is "9Q"; has the unit "Q"'),
        ("hpcc-topology", TOPOLOGY.replace("1000ns", "0.1ps"), 'line 5: delay is "0.1ps"; is not a whole number of ps'),
        ("hpcc-topology", TOPOLOGY.replace("0.000000", "2"), 'line 5: error is "2"; must be a share of packets'),
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
    """
    Nodes Connections Triggers Failures Tiers Podsize Tier Radix_Down Radix_Up Bundle trigger failure id start size
    oneshot barrier count switch_type AGG switch_id link_id prio 0->1 1->0 -> 0 1 2 3 16 -1 1.5 1e9 1e-9 nan inf
    99999999999999999999 100Gbps 1us 0.001ms Downlink_speed_Gbps Downlink_Latency_ns Oversubscribed # ² < >
    """.split()  # noqa: SIM905
)
LINES = st.lists(st.lists(WORDS, max_size=7).map(" ".join), max_size=12).map("\n".join)


def refused_or_read(read, text):
    """Garbage may be read, if it happens to be sound; what it must not do is fail otherwise."""
    try:
        read(source(text))
    except UserError as error:
        return str(error)
    return "file"


@pytest.mark.parametrize("name", READERS)
@given(text=st.one_of(st.text(max_size=200), LINES))
@settings(derandomize=True, max_examples=100, deadline=None)
def test_garbage_is_refused_or_read(name, text):
    for read in (sniffing.sniff, READERS[name]):
        assert refused_or_read(read, text).startswith("file")


CELLS = ["0", "1", "2", "3", "7", "100", "3000", "1e3", "0.5", "10G", "1us", "h0"]
NAMES = ["src", "dst", "size", "start", "start_us", "a", "b", "rate"]
TABLES = st.lists(st.lists(st.sampled_from(CELLS + NAMES), max_size=7), max_size=6)


@given(
    rows=TABLES,
    sign=st.sampled_from(" ,;\t"),
    named=st.sampled_from([(), "src,dst,size,start_us", "a,b,rate,delay_us"]),
)
@settings(derandomize=True, max_examples=300, deadline=None)
def test_tables_are_refused_or_read(rows, sign, named):
    """From recognition to the scenario, whatever the columns are."""
    text = "\n".join(sign.join(row) for row in rows)
    options = Options(topology=None if "rate" in named else "single-switch", columns=named)

    def read(file):
        return importing._Import([file], (), options, lambda _name: silent).imported()

    said = refused_or_read(read, text)
    assert said.startswith(("file", "--columns", "--topology", "the network", "--start-unit"))


@pytest.mark.parametrize("name", READERS)
@given(data=st.data())
@settings(derandomize=True, max_examples=100, deadline=None)
def test_broken_examples_are_refused_or_read(name, data):
    lines = EXAMPLES[name].split("\n")
    at = data.draw(st.integers(0, len(lines) - 1))
    words = lines[at].split(" ")
    words[data.draw(st.integers(0, len(words) - 1))] = data.draw(WORDS)
    lines[at] = " ".join(words)
    assert refused_or_read(READERS[name], "\n".join(lines)).startswith("file")


def test_huge_numbers_do_not_eat_the_memory():
    # Hosts so fast that each edge switch needs a thousand links up.
    huge = TOPO.replace("32", "200000").replace("Gbps 100", "Gbps 1000", 1).replace("Gbps 100\n", "Gbps 1\n")
    for name, old, new in (("Down", 8, 1), ("Up", 2, 1000), ("Down", 4, 200_000)):
        huge = huge.replace(f"Radix_{name} {old}\n", f"Radix_{name} {new}\n")
    with pytest.raises(UserError, match="the tree has 200200000 cables; a network has at most 2000000"):
        htsim_topo.read(source(huge.replace("Oversubscribed 4", "Oversubscribed 1")))
    with pytest.raises(UserError, match='Nodes is "99999999"'):
        htsim_topo.read(source(TOPO.replace("Nodes 32", "Nodes 99999999")))
