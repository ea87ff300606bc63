"""Nodes and cables as files of tools name them, and the network of them: which nodes are hosts, rates and delays.

Nodes say what they are in `kind`, `type` or `role`, cables in `rate`, `capacity` or `bandwidth` and in `delay` or
`latency`: text with a unit ("10Gbps", "1us"), or numbers whose unit the caller names.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from flowyard.errors import UserError
from flowyard.folders.reading import shown
from flowyard.interchange.network import CABLES_MAX, NODES_MAX, Cable, Network
from flowyard.interchange.text import RATE_UNITS, TIME_UNITS, quantity, unit_power

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Hashable, Mapping

KINDS = ("kind", "type", "role")
HOSTS = ("host", "server")
RATES = ("rate", "capacity", "bandwidth")
DELAYS = ("delay", "latency")
# Bits a second, in the files of the Internet Topology Zoo.
RAW_RATE = "LinkSpeedRaw"
# For `hosts`: those with one cable.
LEAVES = "leaves"


class LackingError(UserError):
    """A cable has no rate or no delay, and the user names none for such cables."""


@dataclass
class Cabling:
    """Nodes and edges, with the attributes that a file gives them.

    Attributes:
        nodes: The attributes of each node, in the order of the file.
        edges: Two nodes and attributes of each edge; parallel ones are listed singly.
        directed: Whether each cable is two edges, one in each direction.
    """

    nodes: dict[Hashable, Mapping[str, Any]] = field(default_factory=dict)
    edges: list[tuple[Hashable, Hashable, Mapping[str, Any]]] = field(default_factory=list)
    directed: bool = False

    def join(self, a: Hashable, b: Hashable, data: Mapping[str, Any]) -> None:
        """Adds an edge, and its ends where they are new."""
        self.nodes.setdefault(a, {})
        self.nodes.setdefault(b, {})
        self.edges.append((a, b, data))

    def by_node(self) -> Cabling:
        """With the edges in the order of networkx, node by node: a table gives the network that its graph gives."""
        place = {node: i for i, node in enumerate(self.nodes)}
        pairs: dict[tuple[int, int], list[Mapping[str, Any]]] = {}
        for a, b, data in self.edges:
            low, high = sorted((place[a], place[b]))
            pairs.setdefault((low, high), []).append(data)
        names = list(self.nodes)
        # Sorting is stable: cables of a node stay in the order in which its neighbours come.
        ordered = sorted(pairs.items(), key=lambda item: item[0][0])
        edges = [(names[a], names[b], data) for (a, b), parallel in ordered for data in parallel]
        return Cabling(self.nodes, edges)


def network_of(
    cabling: Cabling,
    *,
    hosts: Collection[Any] | str | None = None,
    rate: str | None = None,
    delay: str | None = None,
    rate_unit: str | None = None,
    delay_unit: str | None = None,
) -> Network:
    """The network of nodes and edges.

    Args:
        cabling: The nodes and edges, with the attributes above.
        hosts: The nodes that are hosts, or "leaves" for those with one cable; by default what nodes say.
        rate: Rate of edges that give none.
        delay: Delay of edges that give none.
        rate_unit: Unit of rates that are numbers, such as "Gbps".
        delay_unit: Unit of delays that are numbers, such as "us".
    """
    if len(cabling.nodes) > NODES_MAX or len(cabling.edges) > CABLES_MAX:
        raise UserError(f"the graph is too large; at most {NODES_MAX} nodes and {CABLES_MAX} edges")
    tiers = _tiers(cabling, hosts)
    ordered = [node for node in cabling.nodes if tiers[node] is None]
    switches = [node for node in cabling.nodes if tiers[node] is not None]
    number = {node: i for i, node in enumerate([*ordered, *switches])}
    if len({str(node) for node in number}) < len(number):
        raise UserError("two nodes have the same name as text; names are unique")
    rates = _Attribute("rate", RATES, RATE_UNITS, rate, rate_unit)
    delays = _Attribute("delay", DELAYS, TIME_UNITS, delay, delay_unit)
    cables = []
    for a, b, data in cabling.edges:
        if a == b:
            raise UserError(f"edge {shown(a)} - {shown(b)} joins a node to itself")
        edge = f"edge {shown(a)} - {shown(b)}"
        cables.append(Cable(number[a], number[b], rates.of(edge, data), delays.of(edge, data)))
    if cabling.directed:
        cables = _both_ways(cables, [str(node) for node in number])
    names = [(str(node), tiers[node] or "switch") for node in switches]
    notes = [note for attribute in (rates, delays) for note in attribute.unused()]
    notes += _unread(cabling, [attribute for attribute in (rates, delays) if attribute.has_default])
    return Network([str(node) for node in ordered], names, cables, notes=notes)


def parted(hosts: Collection[Any], nodes: Container[Any]) -> list[Any]:
    """The hosts that a user names, of which several may be in one word with commas that is no node's whole name."""
    return [
        one
        for host in hosts
        for one in (host.split(",") if isinstance(host, str) and host not in nodes else [host])
    ]


def _unread(cabling: Cabling, defaults: list[_Attribute]) -> list[str]:
    """A note on attributes of edges that are not read, where edges have a default in place of one that is."""
    known = {*RATES, *DELAYS, RAW_RATE}
    names = dict.fromkeys(str(key) for _, _, data in cabling.edges for key in data if key not in known)
    if not defaults or not names:
        return []
    read = "; ".join(f"a {one.name} is read from {', '.join(one.keys)}" for one in defaults)
    return [f"attributes of edges that are not read: {', '.join(names)}; {read}"]


def _tiers(cabling: Cabling, hosts: Collection[Any] | str | None) -> dict[Any, str | None]:
    """None for hosts, the tier of switches."""
    if hosts == LEAVES:
        # Both directions of a directed edge are one cable.
        ends = 2 if cabling.directed else 1
        degrees = Counter(end for a, b, _ in cabling.edges for end in (a, b))
        chosen = {node for node in cabling.nodes if degrees[node] == ends}
    elif isinstance(hosts, str):
        raise UserError(f'hosts is {shown(hosts)}; must be "{LEAVES}" or a list of nodes')
    elif callable(hosts) or isinstance(hosts, dict):
        given = "a function" if callable(hosts) else "a dict"
        raise UserError(
            f'hosts is {given}; must be "{LEAVES}" or a list of nodes, as [n for n in graph if ...]'
        )
    elif hosts is not None:
        hosts = parted(hosts, cabling.nodes)
        chosen = set(hosts)
        for node in hosts:
            if node not in cabling.nodes:
                raise UserError(f"hosts has {shown(node)}, which is not a node of the graph")
    tiers: dict[Any, str | None] = {}
    for node, data in cabling.nodes.items():
        kind = next((str(data[key]).lower() for key in KINDS if key in data), None)
        if hosts is None and kind is None:
            what = f"does not say in {', '.join(KINDS)} whether it is a host or a switch"
            raise UserError(
                f"node {shown(node)} {what}; name each host, as --hosts h1,h2, or all nodes with one cable, "
                f"--hosts {LEAVES}"
            )
        is_host = kind in HOSTS if hosts is None else node in chosen
        fallback = kind if kind and kind not in HOSTS else "switch"
        tiers[node] = None if is_host else str(data.get("tier", fallback))
    return tiers


class _Attribute:
    """Rates or delays of edges."""

    def __init__(
        self, name: str, keys: tuple[str, ...], units: dict[str, int], default: str | None, unit: str | None
    ) -> None:
        self.name, self.keys, self.units, self.unit = name, keys, units, unit
        self.has_default = self.has_bare = False
        self.default = None if default is None else self.value(f"--{name}", default)
        if unit is not None and unit_power(unit, units) is None:
            raise UserError(f"--{name}-unit is {shown(unit)}; units are {', '.join(units)}")

    def of(self, edge: str, data: Mapping[str, Any]) -> int:
        for key in self.keys:
            if key in data:
                return self.value(f"{key} of {edge}", data[key])
        if self.name == "rate" and RAW_RATE in data:
            return self.value(f"{RAW_RATE} of {edge}", f"{data[RAW_RATE]}bit/s")
        if self.default is None:
            raise LackingError(
                f"{edge} has none of {', '.join(self.keys)}; give one for all such edges (--{self.name})"
            )
        self.has_default = True
        return self.default

    def unused(self) -> list[str]:
        """Notes on what the user said of edges that there are none of."""
        notes = []
        if self.default is not None and not self.has_default:
            notes.append(f"--{self.name} is not used: all cables have a {self.name}")
        if self.unit is not None and not self.has_bare:
            notes.append(f"--{self.name}-unit is not used: no {self.name} is without a unit")
        return notes

    def value(self, what: str, given: Any) -> int:
        text = str(given).strip()
        bare = text.replace(".", "").replace("e", "").replace("+", "").replace("-", "").isdecimal()
        if bare and not what.startswith("--"):
            if self.unit is None:
                raise UserError(
                    f"{what} is {shown(text)}, without a unit: name the unit (--{self.name}-unit)"
                )
            self.has_bare = True
            text += self.unit
        try:
            return quantity(text, self.units)
        except ValueError as error:
            raise UserError(f"{what} is {shown(given)}; {error}") from None


def _both_ways(edges: list[Cable], names: list[str]) -> list[Cable]:
    """One cable for each pair of opposite edges."""
    found = Counter(edges)
    cables = []
    for edge, count in found.items():
        opposite = Cable(edge.b, edge.a, edge.rate_bps, edge.delay_ps)
        if found[opposite] != count:
            ends = f"{shown(names[edge.a])} to {shown(names[edge.b])}"
            what = "has no opposite edge with the same rate and delay; a cable has both directions"
            raise UserError(f"the edge from {ends} {what}")
        if edge.a < edge.b:
            cables += [edge] * count
    return cables
