"""Networks and flows in the formats of other simulators, read and written: `flowyard import`, `flowyard export`.

from flowyard import interchange

interchange.read(["topology.txt", "flow.txt"]).scenario     # what flowyard.run takes
interchange.export("web-search-ndp", "hpcc-flow").text      # what HPCC's ns-3 code takes
interchange.from_networkx(graph)                            # a scenario's topology
interchange.to_networkx("web-search-ndp")                   # the network that the engine builds
"""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING, Any

from flowyard.errors import UserError
from flowyard.interchange.exporting import FORMATS, Exported, export, fabric
from flowyard.interchange.graphs import graph_of, network_of
from flowyard.interchange.importing import read
from flowyard.interchange.options import Imported

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    import networkx

    from flowyard.interchange.exporting import Scenario

__all__ = ["FORMATS", "Exported", "Imported", "export", "from_networkx", "read", "to_networkx"]


def from_networkx(
    graph: networkx.Graph[Any],
    *,
    hosts: Collection[Any] | str | None = None,
    rate: str | None = None,
    delay: str | None = None,
    rate_unit: str | None = None,
    delay_unit: str | None = None,
) -> dict[str, Any]:
    """A scenario's `topology` from a graph: nodes are hosts and switches, edges cables.

    Args:
        graph: Nodes say in kind, type or role whether they are a host (server) or a switch; edges have rate,
            capacity or bandwidth, and delay or latency, such as "10Gbps" and "1us". Parallel cables need a
            MultiGraph; a directed graph has each cable in both directions.
        hosts: The nodes that are hosts, or "leaves" for those with one cable; by default what nodes say.
        rate: Rate of edges that give none.
        delay: Delay of edges that give none.
        rate_unit: Unit of rates that are numbers, such as "Gbps".
        delay_unit: Unit of delays that are numbers, such as "us".
    """
    if not hasattr(graph, "edges") or not hasattr(graph, "is_directed"):
        what = f"graph is a {type(graph).__name__}; must be a graph of networkx, as networkx.Graph(EDGES)"
        raise UserError(what)
    try:
        network = network_of(
            graph, hosts=hosts, rate=rate, delay=delay, rate_unit=rate_unit, delay_unit=delay_unit
        )
    except UserError as error:
        raise UserError(_in_python(str(error))) from None
    for note in network.notes:
        warnings.warn(_in_python(note), stacklevel=2)
    return network.topology()


def _in_python(message: str) -> str:
    """A message with the options of the command line as the arguments that they are here."""
    message = message.replace("as --hosts h1,h2", 'as hosts=["h1", "h2"]').replace(
        "--hosts leaves", 'hosts="leaves"'
    )
    return re.sub(
        r"--(rate|delay)(?:-(unit))?", lambda found: "_".join(filter(None, found.groups())), message
    )


def to_networkx(
    scenario: Scenario, overrides: Mapping[str, object] | None = None
) -> networkx.MultiGraph[Any]:
    """The network that the engine builds for a scenario: nodes with kind and tier, edges with rate and delay."""
    return graph_of(fabric(scenario, overrides))
