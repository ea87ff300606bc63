"""Networks and flows in the formats of other simulators, read and written: `flowyard import`, `flowyard export`.

from flowyard import interchange

interchange.read(["topology.txt", "flow.txt"]).scenario     # what flowyard.run takes
interchange.export("web-search-ndp", "hpcc-flow").text      # what HPCC's ns-3 code takes
interchange.from_networkx(graph)                            # a scenario's topology
interchange.to_networkx("web-search-ndp")                   # the network that the engine builds
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flowyard.interchange.exporting import FORMATS, Exported, export, fabric
from flowyard.interchange.graphs import graph_of, network_of
from flowyard.interchange.importing import Imported, read

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
    network = network_of(
        graph, hosts=hosts, rate=rate, delay=delay, rate_unit=rate_unit, delay_unit=delay_unit
    )
    return network.topology()


def to_networkx(
    scenario: Scenario, overrides: Mapping[str, object] | None = None
) -> networkx.MultiGraph[Any]:
    """The network that the engine builds for a scenario: nodes with kind and tier, edges with rate and delay."""
    return graph_of(fabric(scenario, overrides))
