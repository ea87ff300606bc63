"""A scenario's network without a run: counts, distances and bisection, and a picture (`flowyard topology`)."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any, NamedTuple

from flowyard import _native, memory
from flowyard.model import Model
from flowyard.results import Checked, source, texts


class Node(NamedTuple):
    """A host or a switch."""

    name: str
    tier: str
    host: bool


class Cable(NamedTuple):
    """Two directed links; `a` and `b` are places in the list of nodes, each rate is that of one direction."""

    a: int
    b: int
    rate_bps: int
    rate_back_bps: int
    delay_ps: int


@dataclass(frozen=True)
class Network:
    """The graph that a scenario's topology builds."""

    kind: str
    """The topology's name, such as "fat-tree"."""
    parameters: dict[str, Any]
    """Its parameters, defaults filled in."""
    nodes: list[Node]
    cables: list[Cable]

    @classmethod
    def of(cls, fabric: _native.Fabric) -> "Network":
        """From what the engine built."""
        data = json.loads(fabric.graph())
        there, back = data["links"][::2], data["links"][1::2]
        cables = [
            Cable(a, b, rate, other[2], delay) for (a, b, rate, delay), other in zip(there, back, strict=True)
        ]
        kind, parameters = next(iter(data["topology"].items()))
        return cls(kind, parameters, [Node(**node) for node in data["nodes"]], cables)

    @property
    def hosts(self) -> int:
        """Number of hosts."""
        return sum(node.host for node in self.nodes)

    def tiers(self) -> list[str]:
        """The tiers, those nearer to the hosts first."""
        return list(dict.fromkeys(self.nodes[place].tier for place in self.distances()))

    def distances(self) -> dict[int, int]:
        """Cables from each node to the nearest host, by the node's place; nearer nodes first."""
        near: dict[int, list[int]] = {}
        for cable in self.cables:
            near.setdefault(cable.a, []).append(cable.b)
            near.setdefault(cable.b, []).append(cable.a)
        # Breadth-first from all hosts at once.
        reached = [place for place, node in enumerate(self.nodes) if node.host]
        distance = dict.fromkeys(reached, 0)
        for place in reached:
            for other in near.get(place, []):
                if other not in distance:
                    distance[other] = distance[place] + 1
                    reached.append(other)
        return distance

    def ports(self) -> dict[str, tuple[int, int, int]]:
        """For each tier its number of nodes and the fewest and most ports of a node."""
        ports = Counter(place for cable in self.cables for place in (cable.a, cable.b))
        table = {}
        for tier in self.tiers():
            counts = [ports[place] for place, node in enumerate(self.nodes) if node.tier == tier]
            table[tier] = (len(counts), min(counts), max(counts))
        return table

    def cable_kinds(self) -> Counter[tuple[str, str, int, int, int]]:
        """Number of cables by tiers of the ends, rate each way and delay."""
        order = {tier: place for place, tier in enumerate(self.tiers())}
        kinds: Counter[tuple[str, str, int, int, int]] = Counter()
        for a, b, there, back, delay in self.cables:
            ends = (self.nodes[a].tier, self.nodes[b].tier)
            if order[ends[0]] <= order[ends[1]]:
                kinds[(*ends, there, back, delay)] += 1
            else:
                kinds[(*ends[::-1], back, there, delay)] += 1
        return kinds


Scenario = str | PathLike[str] | Model | Mapping[str, Any]


def fabric(scenario: Scenario, overrides: Mapping[str, object] | None = None) -> _native.Fabric:
    """The network of a scenario, of which nothing but the topology need be there.

    Raises:
        ScenarioError: The topology cannot be built, or the scenario cannot have an override; the text names every
            problem.
    """
    built = _native.Fabric(*source(scenario)[:2], texts(overrides), memory.require_to_build)
    if overrides:
        _refuse_others(scenario, overrides)
    return built


def _refuse_others(scenario: Scenario, overrides: Mapping[str, object]) -> None:
    """Raises a ScenarioError for overrides outside the topology that a run of the scenario would refuse.

    The problems of the scenario itself, as that it has no traffic, are no matter of its network.
    """
    problems = _problems(scenario, overrides)
    if problems and (new := [line for line in problems if line not in _problems(scenario, None)]):
        raise _native.ScenarioError("\n".join(new))


def _problems(scenario: Scenario, overrides: Mapping[str, object] | None) -> list[str]:
    """The lines of the message on a scenario that cannot be run."""
    try:
        Checked(scenario, overrides)
    except _native.ScenarioError as error:
        return str(error).splitlines()
    return []


def network(scenario: Scenario, overrides: Mapping[str, object] | None = None) -> Network:
    """The nodes and cables of a scenario: see `fabric`."""
    return Network.of(fabric(scenario, overrides))


def survey(scenario: Scenario, overrides: Mapping[str, object] | None = None) -> dict[str, Any]:
    """Distances and bisection of a scenario's network: see `fabric`.

    Returns:
        paths: {sources, sampled, distances: [{hops, pairs, paths_min, paths_max}]}, over ordered pairs of hosts;
        oversubscription: a number, or null where there are no tiers;
        bisection: {bps, exact, how}: least capacity, one way, between two halves of the hosts.
    """
    found: dict[str, Any] = json.loads(fabric(scenario, overrides).survey())
    return found
