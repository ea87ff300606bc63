"""Members in Python: packet-hops per second of CPU time with each example of the how-to, best of three.

Sixteen hosts in a leaf-spine network send 1 MB each, in a permutation; one member of the run is the example, all others
are the engine's. Interpreter start and imports do not count.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from flowyard.bench.checks import Check

ROUNDS = 3
LEAST = 200_000
BASE = {
    "topology": {"leaf-spine": {"leaves": 4, "spines": 2, "hosts": 4}},
    "transport": "tcp",
    "traffic": [
        {"name": "all", "arrivals": "at-once", "matrix": "permutation", "sizes": {"fixed": "1MB"}},
    ],
}
# By module of the examples: its class, the argument of fy.run, and the fields of the scenario that name it.
OWN = {"python": {"name": "own"}}
EXAMPLES: Mapping[str, tuple[str, str, Mapping[str, Any]]] = {
    "fixed_window": ("FixedWindow", "transports", {"transport": OWN}),
    "pulls": ("Pulls", "transports", {"transport": OWN}),
    "aimd": ("Aimd", "controls", {"transport": {"tcp": {"congestion": OWN}}}),
    "dctcp": ("Dctcp", "controls", {"transport": {"tcp": {"congestion": OWN}}, "queue": "ecn"}),
    "drop_tail": ("DropTail", "queues", {"queue": OWN}),
    "codel": ("CoDel", "queues", {"queue": OWN}),
    "per_flow": ("PerFlow", "balancers", {"routing": {"balancer": OWN}}),
}


def measure(rounds: int, tell: Callable[[str], None]) -> dict[str, float]:
    """Packet-hops per second by class."""
    figures = {}
    for module, (name, _, _) in EXAMPLES.items():
        tell(f"prototypes: {name}")
        figures[name] = max(once(module) for _ in range(min(rounds, ROUNDS)))
    return figures


def once(module: str) -> float:
    """Packet-hops per second of one run."""
    from flowyard import results

    name, argument, fields = EXAMPLES[module]
    cls = getattr(import_module(f"flowyard.prototypes.examples.{module}"), name)
    handed: dict[str, Any] = {argument: {"own": cls}}
    result = results.run({**BASE, **fields}, progress=lambda _: None, **handed)
    counters = result.summary["counters"]
    if result.status != "complete":
        raise RuntimeError(f"{name} ended with status {result.status}: nothing to measure")
    return float(round(counters["packet_hops"] / counters["cpu_s"]))


def checks(figures: Mapping[str, float]) -> list[Check]:
    """Targets."""
    return [
        Check(14, f"with {name}", "packet-hops/s", speed, LEAST, at_least=True)
        for name, speed in figures.items()
    ]
