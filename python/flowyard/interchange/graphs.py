"""Networks as networkx graphs, and as GraphML and GML through networkx.

A node is a host or a switch, an edge a cable; parallel cables need a MultiGraph. Attributes are those of
`flowyard.interchange.cabling`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flowyard.errors import UserError
from flowyard.folders.reading import shown
from flowyard.interchange import cabling
from flowyard.interchange.text import Source, rate_text, time_text

if TYPE_CHECKING:
    import networkx

    from flowyard.interchange.network import Network


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
    try:
        return network_of(graph, **options)
    except UserError as error:
        raise source.wrong(0, str(error)) from None


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
