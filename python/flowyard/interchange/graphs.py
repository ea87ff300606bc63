"""Networks as networkx graphs, and as GraphML and GML through networkx.

A node is a host or a switch, an edge a cable; parallel cables need a MultiGraph. Attributes are those of
`flowyard.interchange.cabling`.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from flowyard.errors import UserError
from flowyard.folders.reading import shown
from flowyard.interchange import cabling
from flowyard.interchange.text import Source, rate_text, time_text

if TYPE_CHECKING:
    from collections.abc import Hashable

    import networkx

    from flowyard.interchange.network import Network


# The text of a node in yEd, of which networkx makes this attribute, and in the Topology Zoo.
LABEL = "label"


def library() -> Any:
    """Networkx, which is an extra."""
    try:
        import networkx
    except ImportError:
        raise UserError("GraphML and GML need a package that is not here: pip install networkx") from None
    return networkx


def read(source: Source, form: str = "graphml", **options: Any) -> Network:
    """The network of a GraphML or GML file; options as for `network_of`."""
    networkx = library()
    name = {"graphml": "GraphML", "gml": "GML"}[form]
    try:
        graph = networkx.parse_graphml(source.text) if form == "graphml" else _gml(networkx, source.text)
    # Networkx and its parsers raise a dozen kinds for a file that is not well formed.
    except Exception as error:
        raise source.wrong(
            0, f"is not {name} that networkx can read ({type(error).__name__}: {shown(error)})"
        ) from None
    graph, ids, notes = _by_labels(networkx, graph)
    if ids and options.get("hosts") not in (None, cabling.LEAVES):
        # Hosts may be named by their ids as well.
        labels = {str(node): label for label, node in ids.items()}
        hosts = cabling.parted(options["hosts"], {*ids, *labels})
        options["hosts"] = [host if host in ids else labels.get(host, host) for host in hosts]
    try:
        network = network_of(graph, **options)
    except UserError as error:
        raise source.wrong(0, "; ".join([str(error), *notes])) from None
    numbers = [str(ids[name]) for name in network.hosts] if ids else []
    if numbers and all(number.isascii() and number.isdecimal() for number in numbers):
        # Files of flows have the numbers.
        network.host_of = {int(number): host for host, number in enumerate(numbers)}
    network.notes += notes
    return network


def _by_labels(networkx: Any, graph: Any) -> tuple[Any, dict[str, Hashable], list[str]]:
    """The graph with the labels of its nodes as names, if each has its own, as yEd and the Topology Zoo write them.

    Returns:
        The graph, the id of each label that is a name now, and a note on labels that are none.
    """
    labels = {node: " ".join(str(data.get(LABEL, "")).split()) for node, data in graph.nodes(data=True)}
    if not any(labels.values()) or all(label == str(node) for node, label in labels.items()):
        return graph, {}, []
    counts = Counter(labels.values())
    if "" in counts:
        why = f"{counts['']} of {len(labels)} have none"
    elif more := next((label for label, count in counts.items() if count > 1), None):
        why = f"{counts[more]} have {shown(more)}"
    else:
        return networkx.relabel_nodes(graph, labels), {label: node for node, label in labels.items()}, []
    return graph, {}, [f"nodes go by their ids: labels are no names where not each node has its own ({why})"]


def _gml(networkx: Any, text: str) -> Any:
    """A graph in GML; nodes go by their ids where their labels are not unique, as in the Topology Zoo."""
    try:
        return networkx.parse_gml(text)
    except networkx.NetworkXError as error:
        if "label" not in str(error):
            raise
        return networkx.parse_gml(text, label="id")


def write(network: Network) -> str:
    """The GraphML text of a network."""
    return "\n".join(library().generate_graphml(graph_of(network))) + "\n"


def graph_of(network: Network) -> networkx.MultiGraph[Any]:
    """A MultiGraph: nodes have kind and tier, edges rate and delay; hosts stand first."""
    graph = library().MultiGraph()
    for name in network.hosts:
        graph.add_node(name, kind="host", tier="host")
    for name, tier in network.switches:
        graph.add_node(name, kind="switch", tier=tier)
    names = network.names
    for a, b, rate, delay in network.cables:
        # GraphML takes the key as the edge's id, which no other edge has.
        key = graph.number_of_edges()
        graph.add_edge(names[a], names[b], key=key, rate=rate_text(rate), delay=time_text(delay))
    return graph


def network_of(graph: networkx.Graph[Any], **options: Any) -> Network:
    """The network of a graph; a directed one has each cable in both directions. Options as for `cabling.network_of`."""
    nodes, edges = dict(graph.nodes(data=True)), list(graph.edges(data=True))
    return cabling.network_of(cabling.Cabling(nodes, edges, graph.is_directed()), **options)
