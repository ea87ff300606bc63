"""Shortest paths between hosts, counted by breadth-first search: exact, in whole numbers. And parts of a network.

A path is a sequence of directed links, as few as can be. Parallel cables make different paths, and any node may be on
the way, hosts too: as in the engine's own routing, of which nothing is used here.

Cable i of a network is the two directed links 2 i (from a to b) and 2 i + 1 (from b to a). Hosts are the first nodes.
As every cable leads both ways, there are as many shortest paths from a host to a node as back.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from flowyard.topology import Network

Whole = NDArray[np.int64]

# Where a node cannot be reached.
UNREACHABLE = -1


def directed_links(network: Network) -> Whole:
    """Where each directed link begins and ends: links x 2."""
    ends = [link for cable in network.cables for link in ((cable.a, cable.b), (cable.b, cable.a))]
    return np.array(ends, dtype=np.int64).reshape(-1, 2)


def search(network: Network, sources: Sequence[int]) -> tuple[Whole, Whole]:
    """Breadth-first search from some nodes.

    Returns:
        Distances in links (-1 where there is no path) and numbers of shortest paths, each sources x nodes.
    """
    from scipy.sparse import csr_array

    nodes, links = len(network.nodes), directed_links(network)
    one_hop = csr_array((np.ones(len(links), np.int64), (links[:, 1], links[:, 0])), shape=(nodes, nodes))
    most = int(np.bincount(links[:, 1], minlength=1).max())
    # Nodes x sources: all searches take their steps together.
    distance = np.full((nodes, len(sources)), UNREACHABLE, dtype=np.int64)
    count = np.zeros((nodes, len(sources)), dtype=np.int64)
    distance[sources, range(len(sources))] = 0
    count[sources, range(len(sources))] = 1
    front, step = count.copy(), 0
    while front.any():
        if most * int(front.max()) > np.iinfo(np.int64).max:
            raise OverflowError("more than 2^63 shortest paths")
        step += 1
        front = (one_hop @ front) * (distance == UNREACHABLE)
        distance[front > 0] = step
        count += front
    return distance.T, count.T


@dataclass(frozen=True)
class Paths:
    """The shortest paths between all hosts of a network.

    Attributes:
        links: Where each directed link begins and ends, links x 2.
        distance: Links from each host to each node, hosts x nodes; -1 where there is no path.
        count: Shortest paths from each host to each node, hosts x nodes.
    """

    links: Whole
    distance: Whole
    count: Whole

    @classmethod
    def of(cls, network: Network) -> "Paths":
        """Searches from every host."""
        return cls(directed_links(network), *search(network, range(network.hosts)))

    @property
    def hosts(self) -> int:
        """Number of hosts."""
        return len(self.distance)

    def between_hosts(self) -> tuple[Whole, Whole]:
        """Distances, and numbers of shortest paths, each hosts x hosts."""
        return self.distance[:, : self.hosts], self.count[:, : self.hosts]

    def through_link(self, link: int) -> Whole:
        """How many of each pair's shortest paths run along a directed link: sources x targets."""
        start, end = self.links[link]
        return self._through(start, end, 1)

    def through_node(self, node: int) -> Whole:
        """How many of each pair's shortest paths visit a node, be it their end: sources x targets."""
        return self._through(node, node, 0)

    def _through(self, start: int, end: int, links: int) -> Whole:
        """Ways from each source to `start` times ways from `end` to each target, where no detour is made."""
        distance, _ = self.between_hosts()
        (near, ways), (far, onwards) = (
            (self.distance[:, node], self.count[:, node]) for node in (start, end)
        )
        shortest = near[:, None] + links + far[None, :] == distance
        # Where there is no path its number is 0, whatever -1 adds up to.
        return np.where(shortest, ways[:, None] * onwards[None, :], 0)


def distances(network: Network) -> Whole:
    """Links from each host to each node, hosts x nodes; -1 where there is no path."""
    return search(network, range(network.hosts))[0]


def path_counts(network: Network) -> tuple[Whole, Whole]:
    """Distances in links, and numbers of shortest paths, between all hosts: each sources x targets."""
    return Paths.of(network).between_hosts()


def shares(network: Network, source: int, target: int) -> list[Fraction]:
    """Of traffic that a pair divides equally among its shortest paths, the part on each directed link.

    Equal for each path: this is what a choice hop by hop (ECMP) makes of it in fat-trees and other networks where all
    next hops have as many paths ahead, not in every network.
    """
    (near, far), (ways, onwards) = search(network, [source, target])
    if near[target] == UNREACHABLE:
        raise ValueError(f"no path from node {source} to node {target}")
    start, end = directed_links(network).T
    paths = np.where(near[start] + 1 + far[end] == near[target], ways[start] * onwards[end], 0)
    return [Fraction(int(number), int(ways[target])) for number in paths]


def parts(network: Network, keep: Collection[int]) -> Whole:
    """Connected components when only some nodes remain, with the cables between them.

    Returns:
        For each node the number of its part, counted from 0 in the order of their first nodes; -1 for one removed.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    remains = np.zeros(len(network.nodes), dtype=bool)
    remains[list(keep)] = True
    start, end = (links := directed_links(network))[remains[links].all(axis=1)].T
    cables = csr_array((np.ones(len(start)), (start, end)), shape=(len(remains), len(remains)))
    _, found = connected_components(cables, directed=False)
    # Removed nodes are parts of their own: the others are numbered anew.
    names, first = np.unique(found[remains], return_index=True)
    number = np.full(len(remains), -1, dtype=np.int64)
    number[names[np.argsort(first)]] = range(len(names))
    return np.where(remains, number[found], -1)
