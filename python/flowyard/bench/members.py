"""Members beside those that they stand in for: CPU time per packet-hop of a run with the one over that with the other.

Both runs have the same network and flows, take turns, and the best of three counts. A packet-hop under another control
may be another packet: a run with many short control packets looks cheaper by the hop than it is by the flow.
"""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from flowyard.bench import child
from flowyard.bench.cases import SCENARIOS
from flowyard.bench.checks import Check

ROUNDS = 3


@dataclass(frozen=True)
class Pair:
    """A member and the one that it is compared with.

    Attributes:
        name: The comparison in words.
        base: A file of the bench scenarios, or a document.
        limit: How many times the cost of a packet-hop it may have.
        own: Parts of the document for the member alone, by their first key.
        both: Parts of the document for both.
    """

    name: str
    base: str | Mapping[str, Any]
    limit: float
    own: Mapping[str, Any]
    both: Mapping[str, Any] = field(default_factory=dict)

    def documents(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Scenario of the one that it is compared with, and its own."""
        base = self.base
        if isinstance(base, str):
            base = tomllib.loads((SCENARIOS / "bench" / f"{base}.toml").read_text(encoding="utf-8"))
        shared = {**base, **self.both}
        return shared, {**shared, **self.own}


# As in the bench scenarios of TCP: large windows, and timers that end a run soon.
_TCP = {"initial_window": 10, "receive_window": "1MB", "rto_min": "1ms", "rto_initial": "1ms"}
# On the way of each packet two of these cables.
_LOSSES = {
    "events": [
        {
            "at": "0s",
            "target": {"random-cables": {"tier": "host-edge", "share": 1.0}},
            "change": {"loss": 0.005},
        }
    ]
}
_LEAF_SPINE = {
    "topology": {"leaf-spine": {"leaves": 8, "hosts": 16, "spines": 8, "rate": "100Gbps", "delay": "1us"}},
    "transport": {"tcp": {**_TCP, "congestion": "dctcp"}},
    "queue": {"ecn": {}},
    "traffic": [
        {"name": "all", "arrivals": "at-once", "matrix": "permutation", "sizes": {"fixed": "2MB"}},
    ],
}


def _balancer(name: str, limit: float, base: str | Mapping[str, Any] = "dctcp-permutation-k8") -> Pair:
    own = {"routing": {"balancer": name}}
    return Pair(f"balancer {name}, per-flow", base, limit, own, {"routing": {"balancer": "per-flow"}})


def _control(name: str) -> Pair:
    own = {"transport": {"roce": {"congestion": name}}}
    return Pair(f"{name} over RoCE, DCQCN", "dcqcn-permutation-k8", 1.2, own)


PAIRS = (
    Pair(
        "TCP as Linux without losses, TCP",
        "tcp-permutation-k8",
        1.15,
        {"transport": {"tcp": {**_TCP, "preset": "linux"}}},
        {"transport": {"tcp": _TCP}, "queue": "infinite"},
    ),
    Pair(
        "TCP as Linux with 1 % losses, TCP without",
        "tcp-permutation-k8",
        1.5,
        {"transport": {"tcp": {**_TCP, "preset": "linux"}}, "faults": _LOSSES},
        {"transport": {"tcp": _TCP}, "queue": "infinite"},
    ),
    *(_control(name) for name in ("dctcp", "hpcc", "timely", "powertcp", "dcqcn-hpcc")),
    _balancer("weighted", 1.25),
    _balancer("letflow", 1.25),
    Pair(
        "DCTCP with PLB, without",
        "dctcp-permutation-k8",
        1.25,
        {"transport": {"tcp": {**_TCP, "congestion": "dctcp", "repath": "plb"}}},
        {"transport": {"tcp": {**_TCP, "congestion": "dctcp"}}},
    ),
    _balancer("drill", 1.6),
    _balancer("detail", 1.6),
    _balancer("adaptive", 1.6),
    _balancer("conga", 1.6, _LEAF_SPINE),
    _balancer("hermes", 1.6, _LEAF_SPINE),
)


def measure(rounds: int, tell: Callable[[str], None]) -> dict[str, float]:
    """Ratios of the costs of a packet-hop, by the name of the pair."""
    found = {}
    for pair in PAIRS:
        documents, best = pair.documents(), [float("inf")] * 2
        for turn in range(min(rounds, ROUNDS)):
            tell(f"members, round {turn + 1}: {pair.name}")
            best = [min(*each) for each in zip(best, map(cost, documents), strict=True)]
        found[pair.name] = best[1] / best[0]
    return found


def cost(scenario: Mapping[str, Any]) -> float:
    """CPU seconds per packet-hop of one run in a process of its own."""
    figures = child.run(scenario)
    if figures["status"] != "complete":
        raise RuntimeError(f"a run ended with status {figures['status']}: nothing to measure")
    return float(figures["cpu_s"] / figures["packet_hops"])


def checks(figures: Mapping[str, float]) -> list[Check]:
    """Targets."""
    return [Check(15, pair.name, "x", figures[pair.name], pair.limit) for pair in PAIRS]
