"""The paths that the ECMP of HPCC's ns-3 code gives flows, and that of ConWeave's code.

A switch takes the next hop whose place is a hash, murmur3 of addresses and ports with the switch's number as its seed,
modulo their number. Sources: `SwitchNode::GetOutDev` and `EcmpHash`, and `CalculateRoute` of `scratch/third.cc`, in
alibaba-edu/High-Precision-Congestion-Control; conweave-project/conweave-ns3 has the same hash, and ports of its own.

Next hops stand in the order in which a search from the destination comes to them. It looks at a node's neighbours in
the order of a map keyed by addresses in memory: on 64-bit Linux the last switch of the file comes first in HPCC's code,
the first one in ConWeave's.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from flowyard.errors import UserError
from flowyard.interchange.flows import STEP, Progress, Traffic, silent
from flowyard.interchange.hpcc_flow import Listed
from flowyard.interchange.hpcc_ports import FIRST_SOURCE_PORT, FIRST_TARGET_PORT, address
from flowyard.interchange.network import Network

# Each has two routes of its own in the scenario.
FLOWS_MAX = 200_000
_MASK = 0xFFFFFFFF


@dataclass(frozen=True)
class Flow:
    """A flow of the file: its entry and place there, its hosts, and the port of its destination that the file gives."""

    entry: int
    place: int
    src: int
    dst: int
    port: int | None = None


@dataclass(frozen=True)
class Rule:
    """The rules in which the codes differ.

    Attributes:
        descending: Whether neighbours with higher numbers come first.
        ports: Source and destination port of each flow, in the order of the file.
    """

    descending: bool
    ports: Callable[[Iterable[Flow]], Iterator[tuple[int, int]]]


def _ports_by_pair(flows: Iterable[Flow]) -> Iterator[tuple[int, int]]:
    """The source port counts the earlier flows of the pair."""
    earlier: Counter[tuple[int, int]] = Counter()
    for flow in flows:
        yield FIRST_SOURCE_PORT + earlier[flow.src, flow.dst], flow.port or 0
        earlier[flow.src, flow.dst] += 1


def _ports_by_host(flows: Iterable[Flow]) -> Iterator[tuple[int, int]]:
    """The source port counts the earlier flows of the source, the destination port those to the destination."""
    sent: Counter[int] = Counter()
    received: Counter[int] = Counter()
    for flow in flows:
        yield FIRST_SOURCE_PORT + sent[flow.src], FIRST_TARGET_PORT + received[flow.dst]
        sent[flow.src] += 1
        received[flow.dst] += 1


RULES = {"hpcc": Rule(True, _ports_by_pair), "conweave": Rule(False, _ports_by_host)}


def routes(
    name: str, traffic: Traffic, network: Network, progress: Progress = silent
) -> list[dict[str, Any]]:
    """The routes of `routing.balancer.explicit`: of each flow, and of its acknowledgements.

    Args:
        name: The rule, one of `RULES`.
        traffic: The flows.
        network: Their network; its nodes are named by their numbers in the file.
        progress: Gets the number of flows that have their path.

    Raises:
        UserError: There are too many flows, or no path between two hosts.
    """
    if traffic.flows > FLOWS_MAX:
        raise UserError(
            f"--ecmp {name}: {traffic.flows} flows have paths of their own; at most {FLOWS_MAX} may have"
        )
    flows = list(_listed(traffic))
    rule = RULES[name]
    paths = _Paths(network, rule.descending)
    names = network.names
    numbers = [entry.numbers() for entry in traffic.entries]
    taken: dict[tuple[str, tuple[int, ...]], list[int]] = {}
    ported = list(zip(flows, rule.ports(flows), strict=True))
    # One search for all flows to a host: those of data, then those of their acknowledgements.
    towards = [(flow.dst, flow.src, ports, flow) for flow, ports in ported]
    towards += [(flow.src, flow.dst, ports[::-1], flow) for flow, ports in ported]
    for count, (to, source, ports, flow) in enumerate(sorted(towards, key=lambda way: way[0]), 1):
        entry = traffic.entries[flow.entry].name
        taken.setdefault((entry, paths.path(source, to, ports)), []).append(numbers[flow.entry][flow.place])
        if count % STEP == 0:
            progress(count // 2, len(flows))
    return [
        {"path": [names[node] for node in path], "taken_by": {"traffic": entry, "flows": sorted(own)}}
        for (entry, path), own in sorted(taken.items())
    ]


def _listed(traffic: Traffic) -> Iterator[Flow]:
    """The flows in the order of their file."""
    if isinstance(traffic, Listed):
        order: Iterable[tuple[int, int | None]] = traffic.order
    else:
        order = ((number, None) for number, entry in enumerate(traffic.entries) for _ in range(len(entry)))
    places = [0] * len(traffic.entries)
    for number, port in order:
        entry, place = traffic.entries[number], places[number]
        places[number] += 1
        yield Flow(number, place, entry.src[place], entry.dst[place], port)


class _Paths:
    """Paths to one host after the other."""

    def __init__(self, network: Network, descending: bool) -> None:
        self.hosts = len(network.hosts)
        # The number in the file ends a node's name.
        self.ids = [int(name.rsplit(" ", 1)[1]) for name in network.names]
        self.names = network.names
        self.neighbours = [
            sorted(set(ends), key=self.ids.__getitem__, reverse=descending) for ends in network.ports()
        ]
        self.to: int | None = None
        self.hops: dict[int, list[int]] = {}

    def path(self, source: int, to: int, ports: tuple[int, int]) -> tuple[int, ...]:
        """The nodes from a host to another one, of packets with these ports."""
        if to != self.to:
            self.to, self.hops = to, self.next_hops(to)
        words = (
            address(self.ids[source]),
            address(self.ids[to]),
            ports[0] & 0xFFFF | (ports[1] & 0xFFFF) << 16,
        )
        path = [source]
        while path[-1] != to:
            at = path[-1]
            hops = self.hops.get(at)
            if not hops:
                raise UserError(f"--ecmp: no path leads from {self.names[source]} to {self.names[to]}")
            # A host with several links has a hash of its own, of its queue pairs: the first one is taken here.
            path.append(hops[murmur3(words, self.ids[at]) % len(hops)] if at >= self.hosts else hops[0])
        return tuple(path)

    def next_hops(self, to: int) -> dict[int, list[int]]:
        """Of each node, those on the shortest paths to a host."""
        far = {to: 0}
        hops: dict[int, list[int]] = {}
        queue = deque([to])
        while queue:
            now = queue.popleft()
            for node in self.neighbours[now]:
                if node not in far:
                    far[node] = far[now] + 1
                    if node >= self.hosts:
                        queue.append(node)
                if far[node] == far[now] + 1:
                    hops.setdefault(node, []).append(now)
        return hops


def murmur3(words: Iterable[int], seed: int) -> int:
    """MurmurHash3 (x86, 32 bits; Appleby, public domain) of words of 32 bits."""
    hashed, length = seed, 0
    for word in words:
        key = word * 0xCC9E2D51 & _MASK
        key = (key << 15 | key >> 17) * 0x1B873593 & _MASK
        hashed ^= key
        hashed = ((hashed << 13 | hashed >> 19) & _MASK) * 5 + 0xE6546B64 & _MASK
        length += 4
    hashed ^= length
    hashed = (hashed ^ hashed >> 16) * 0x85EBCA6B & _MASK
    hashed = (hashed ^ hashed >> 13) * 0xC2B2AE35 & _MASK
    return hashed ^ hashed >> 16
