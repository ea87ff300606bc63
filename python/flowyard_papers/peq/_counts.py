"""Counts of nodes and cables of PEQ figures 1.2 to 1.8, for several sizes of each.

Counted in the graph: by cables and the nodes' tiers, with none of the generators' formulas.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from flowyard.topology import Network, network

# Parameters of the generators.
THREE_TIER = [
    {"cores": 2, "aggregations": 4, "accesses": 8, "hosts": 4},
    {"cores": 4, "aggregations": 6, "accesses": 12, "hosts": 10},
]
FAT_TREE = [{"k": k} for k in (4, 6, 8, 10, 12)]
VL2 = [
    {"aggregation_ports": a, "intermediate_ports": i} for a, i in ((4, 4), (4, 8), (8, 4), (6, 10), (12, 12))
]
CAMCUBE = [{"x": x, "y": y, "z": z} for x, y, z in ((3, 3, 3), (4, 4, 4), (3, 4, 5), (6, 6, 6))]
DCELL = [{"n": n, "k": 1} for n in (2, 3, 4, 6)]
BCUBE = [
    {"n": n, "k": k} for n, k in ((4, 1), (2, 1), (3, 1), (8, 1), (2, 2), (3, 2), (4, 2), (2, 3), (5, 3))
]
VL2_SERVERS_PER_RACK = 20


class Graph:
    """A network, asked for its tiers, degrees and parts."""

    def __init__(self, kind: str, parameters: dict[str, int]) -> None:
        self.network: Network = network({"topology": {kind: parameters}})
        self.near: list[list[int]] = [[] for _ in self.network.nodes]
        for cable in self.network.cables:
            self.near[cable.a].append(cable.b)
            self.near[cable.b].append(cable.a)

    def tier(self, name: str) -> list[int]:
        """The nodes of a tier; "host" and "switch" mean all hosts and all switches."""
        if name in ("host", "switch"):
            return [place for place, node in enumerate(self.network.nodes) if node.host == (name == "host")]
        return [place for place, node in enumerate(self.network.nodes) if node.tier == name]

    def neighbours(self, of: str, among: str = "") -> list[int]:
        """How many different neighbours of a tier the nodes of another have, each."""
        wanted = set(self.tier(among) if among else range(len(self.near)))
        return [len(wanted & set(self.near[node])) for node in self.tier(of)]

    def ports(self, of: str) -> list[int]:
        """Cables of each node of a tier."""
        return [len(self.near[node]) for node in self.tier(of)]

    def parts(self, without: Iterable[int] = (), between_hosts: bool = True) -> list[set[int]]:
        """Connected components without some nodes, and perhaps without the cables between two servers."""
        nodes = self.network.nodes
        left = set(range(len(nodes))) - set(without)
        parts = []
        while left:
            front = {left.pop()}
            part = set(front)
            while front:
                near = {
                    other
                    for node in front
                    for other in self.near[node]
                    if between_hosts or not (nodes[node].host and nodes[other].host)
                }
                front = near & left
                left -= front
                part |= front
            parts.append(part)
        return parts

    def hosts_in(self, parts: Iterable[set[int]]) -> list[int]:
        """Servers of each part."""
        return [sum(self.network.nodes[node].host for node in part) for part in parts]


def _three_tier(cores: int, aggregations: int, accesses: int, hosts: int) -> Iterator[tuple[str, int]]:
    graph = Graph(
        "three-tier", {"cores": cores, "aggregations": aggregations, "accesses": accesses, "hosts": hosts}
    )
    yield from _least_and_most("uplinks_of_access", graph.neighbours("access", "aggregation"))
    yield from _least_and_most("uplinks_of_aggregation", graph.neighbours("aggregation", "core"))


def _fat_tree(k: int) -> Iterator[tuple[str, int]]:
    graph = Graph("fat-tree", {"k": k})
    pods = graph.parts(without=graph.tier("core"))
    yield "pods", len(pods)
    yield from _least_and_most("servers_per_pod", graph.hosts_in(pods))
    yield from _least_and_most("servers_per_edge_switch", graph.neighbours("edge", "host"))
    yield "core_switches", len(graph.tier("core"))
    yield "servers", graph.network.hosts


def _vl2(aggregation_ports: int, intermediate_ports: int) -> Iterator[tuple[str, int]]:
    graph = Graph(
        "vl2",
        {
            "aggregation_ports": aggregation_ports,
            "intermediate_ports": intermediate_ports,
            "hosts": VL2_SERVERS_PER_RACK,
        },
    )
    for tier in ("intermediate", "aggregation", "top-of-rack"):
        yield f"{tier.replace('-', '_')}_switches", len(graph.tier(tier))
    yield "servers", graph.network.hosts
    for tier in ("intermediate", "aggregation"):
        yield from _least_and_most(f"ports_of_{tier}", graph.ports(tier))


def _camcube(x: int, y: int, z: int) -> Iterator[tuple[str, int]]:
    graph = Graph("camcube", {"x": x, "y": y, "z": z})
    yield "servers", graph.network.hosts
    yield "switches", len(graph.tier("switch"))
    yield from _least_and_most("neighbours", graph.neighbours("host"))
    yield "cables", len(graph.network.cables)
    # Servers are numbered by coordinates, the last one fastest.
    torus = {
        frozenset(
            ((i * y + j) * z + k, ((i + a) % x * y + (j + b) % y) * z + (k + c) % z),
        )
        for i in range(x)
        for j in range(y)
        for k in range(z)
        for a, b, c in ((1, 0, 0), (0, 1, 0), (0, 0, 1))
    }
    yield "cables_of_the_torus", len(torus & {frozenset((c.a, c.b)) for c in graph.network.cables})


def _dcell(n: int, k: int) -> Iterator[tuple[str, int]]:
    graph = Graph("dcell", {"n": n, "k": k})
    cells = graph.parts(between_hosts=False)
    yield "cells", len(cells)
    yield from _least_and_most("servers_per_cell", graph.hosts_in(cells))
    yield "servers", graph.network.hosts
    cell = {node: place for place, part in enumerate(cells) for node in part}
    joined = Counter(frozenset((cell[a], cell[b])) for a, b, *_ in graph.network.cables if cell[a] != cell[b])
    pairs = [frozenset((a, b)) for a in range(len(cells)) for b in range(a)]
    yield from _least_and_most("cables_between_two_cells", [joined[pair] for pair in pairs])


def _bcube(n: int, k: int) -> Iterator[tuple[str, int]]:
    graph = Graph("bcube", {"n": n, "k": k})
    # Without the switches of the last level, BCubes of the level below are left.
    cells = graph.parts(without=graph.tier(f"level {k}"))
    yield "cells_below", len(cells)
    yield "servers", graph.network.hosts
    yield "switches", len(graph.tier("switch"))
    yield from _least_and_most("ports_of_server", graph.ports("host"))


def _least_and_most(name: str, values: list[int]) -> list[tuple[str, int]]:
    return [(f"{name}_least", min(values)), (f"{name}_most", max(values))]


Count = Callable[..., Iterator[tuple[str, int]]]
COUNTED: dict[str, tuple[Count, list[dict[str, int]]]] = {
    "three-tier": (_three_tier, THREE_TIER),
    "fat-tree": (_fat_tree, FAT_TREE),
    "vl2": (_vl2, VL2),
    "camcube": (_camcube, CAMCUBE),
    "dcell": (_dcell, DCELL),
    "bcube": (_bcube, BCUBE),
}
