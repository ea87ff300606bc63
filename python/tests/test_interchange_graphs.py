"""Graphs of networkx and GraphML; any network through every format that holds it."""

import re

import pytest
from hypothesis import given, settings
from interchange_examples import GRAPHML, edges, networks, source, structure

from flowyard import interchange
from flowyard.errors import UserError
from flowyard.interchange import graphs, hpcc_topology
from flowyard.interchange.network import Cable
from flowyard.interchange.text import RATE_UNITS, TIME_UNITS, quantity


def test_graphml_with_units_from_the_caller():
    network = graphs.read(source(GRAPHML), rate_unit="Gbps")
    assert (network.hosts, network.switches) == (["a", "b"], [("s", "switch")])
    assert edges(network) == [("a", "s", 10**10, 10**6), ("b", "s", 2_500_000_000, 500_000)]
    with pytest.raises(UserError, match=r'capacity of edge "s" - "a" is "10.0", without a unit.*--rate-unit'):
        graphs.read(source(GRAPHML))


def test_hosts_may_be_named_with_commas_unless_that_is_the_name_of_a_node():
    assert graphs.read(source(GRAPHML), rate_unit="Gbps", hosts=["a,b"]).hosts == ["a", "b"]
    networkx = graphs.library()
    graph = networkx.MultiGraph()
    for node in ("a,b", "a", "b"):
        graph.add_edge(node, "core", rate="10Gbps", delay="1us")
    assert graphs.network_of(graph, hosts=["a,b"]).hosts == ["a,b"]
    assert graphs.network_of(graph, hosts=["a,b", "b"]).hosts == ["a,b", "b"]
    with pytest.raises(UserError, match='"c", which is not a node'):
        graphs.network_of(graph, hosts=["a,c"])
    # By the ids of nodes that have labels.
    assert graphs.read(labelled("hA", "hB", "leaf"), hosts=["3,4"], **CABLES).hosts == ["hA", "hB"]


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
    with pytest.raises(UserError, match='rate_unit is "Gigs"'):
        interchange.from_networkx(graph, hosts=[0, 1], delay="1us", rate_unit="Gigs")


def test_raw_speeds_of_the_topology_zoo_are_bits_a_second():
    graph = graphs.library().Graph()
    graph.add_edge("a", "s", LinkSpeedRaw=1e9)
    graph.add_edge("b", "s")
    network = graphs.network_of(graph, hosts="leaves", rate="10Gbps", delay="1us")
    assert edges(network) == [("a", "s", 10**9, 10**6), ("b", "s", 10**10, 10**6)]


def test_edges_have_ids_of_their_own():
    network = graphs.read(source(GRAPHML), rate_unit="Gbps")
    ids = re.findall(r'<edge [^>]*id="([^"]*)"', graphs.write(network))
    assert len(ids) == len(set(ids)) == len(network.cables)


def labelled(*labels, form="yed"):
    """Two hosts at a switch with ids of their own and these labels, as yEd or the Topology Zoo writes them."""
    data = {
        "yed": '<data key="g"><y:ShapeNode><y:NodeLabel>{}</y:NodeLabel></y:ShapeNode></data>',
        "zoo": '<data key="l">{}</data>',
    }[form]
    nodes = "".join(
        f'<node id="{number}">{data.format(label) if label else ""}</node>'
        for number, label in enumerate(labels, 3)
    )
    return source(
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:y="http://www.yworks.com/xml/graphml">'
        '<key id="g" for="node" yfiles.type="nodegraphics"/>'
        '<key id="l" for="node" attr.name="label" attr.type="string"/>'
        f'<graph edgedefault="undirected">{nodes}<edge source="3" target="5"/><edge source="4" target="5"/>'
        "</graph></graphml>"
    )


CABLES = {"rate": "10Gbps", "delay": "1us"}


@pytest.mark.parametrize("form", ["yed", "zoo"])
def test_labels_are_the_names_of_nodes(form):
    text = labelled("hA", "hB", "leaf 1", form=form)
    network = graphs.read(text, hosts=["hA", "hB"], **CABLES)
    assert (network.hosts, network.switches) == (["hA", "hB"], [("leaf 1", "switch")])
    assert edges(network) == [("hA", "leaf 1", 10**10, 10**6), ("hB", "leaf 1", 10**10, 10**6)]
    assert network.notes == []
    # Hosts may be named by their ids, which files of flows have.
    by_ids = graphs.read(text, hosts=["3", "4"], **CABLES)
    assert by_ids.hosts == ["hA", "hB"]
    assert by_ids.host_of == {3: 0, 4: 1}


@pytest.mark.parametrize(
    ("labels", "why"), [(("h", "h", "leaf"), '2 have "h"'), (("hA", "hB", None), "1 of 3 have none")]
)
def test_labels_that_are_no_names_are_left_out_with_a_note(labels, why):
    network = graphs.read(labelled(*labels), hosts="leaves", **CABLES)
    assert network.hosts == ["3", "4"]
    (note,) = network.notes
    assert note.startswith("nodes go by their ids")
    assert why in note
    with pytest.raises(UserError, match="not a node of the graph; nodes go by their ids"):
        graphs.read(labelled(*labels), hosts=["leaf"], **CABLES)


def test_directed_graphs_have_cables_in_both_directions():
    networkx = graphs.library()
    cable = {"rate": "1Gbps", "delay": "1us"}
    graph = networkx.DiGraph([("a", "s", cable), ("s", "a", cable), ("b", "s", cable), ("s", "b", cable)])
    network = graphs.network_of(graph, hosts="leaves")
    assert edges(network) == [("a", "s", 10**9, 10**6), ("b", "s", 10**9, 10**6)]
    graph.remove_edge("s", "b")
    with pytest.raises(UserError, match='the edge from "b" to "s" has no opposite'):
        graphs.network_of(graph, hosts=["a", "b"])


def test_parallel_cables_of_a_directed_graph_are_counted():
    """Two cables to the host are four edges; a node with two cables is no leaf."""
    cable = {"rate": "1Gbps", "delay": "1us"}
    graph = graphs.library().MultiDiGraph()
    graph.add_edges_from(2 * [("a", "s", cable), ("s", "a", cable)] + [("b", "s", cable), ("s", "b", cable)])
    network = graphs.network_of(graph, hosts=["a", "b"])
    assert edges(network) == [*2 * [("a", "s", 10**9, 10**6)], ("b", "s", 10**9, 10**6)]
    assert graphs.network_of(graph, hosts="leaves").hosts == ["b"]


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
