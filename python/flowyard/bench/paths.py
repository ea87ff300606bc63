"""Whole paths: what it costs that connections are given one when they open (`nix`), against a choice at each switch.

On a fat-tree of k = 16. CPU time, best of five, both balancers in turn: of a packet-hop in the TCP permutation, as
`speed` counts it; and of drawing, the difference between both in the same run cut off when its 1,024 connections have
opened, with a path for each direction. Bytes of a path: those of the table in which each is kept once, filled by
200,000 connections between random hosts, over the number of different paths in it.
"""

from collections.abc import Callable, Mapping
from typing import Any

from flowyard.bench import child
from flowyard.bench.cases import SCENARIOS
from flowyard.bench.checks import Check

ROUNDS = 5
PERMUTATION = SCENARIOS / "bench" / "tcp-permutation-k16.toml"
# Starts have a jitter of a packet time, 120 ns; nothing has been acknowledged by then.
OPENED = {"run.until": "1us"}
K, CONNECTIONS = 16, 200_000
BALANCERS = ("nix", "per-flow")


def measure(rounds: int, tell: Callable[[str], None]) -> dict[str, float]:
    """The figures of both balancers, and what follows from them."""
    from flowyard import _native

    hop: dict[str, list[float]] = {name: [] for name in BALANCERS}
    opened: dict[str, list[float]] = {name: [] for name in BALANCERS}
    for round_ in range(min(rounds, ROUNDS)):
        for name in BALANCERS:
            tell(f"whole paths: {name}, round {round_ + 1}")
            figures = one(name)
            hop[name].append(figures["cpu_s"] * 1e9 / figures["packet_hops"])
            opened[name].append(one(name, OPENED)["cpu_s"] * 1e3)
    tell("whole paths: their table")
    table_bytes, paths = _native.path_bytes(K, CONNECTIONS)
    best = {f"{name}_ns_per_packet_hop": round(min(hop[name]), 2) for name in BALANCERS}
    return best | {
        "ratio": round(min(hop["nix"]) / min(hop["per-flow"]), 3),
        "drawing_ms": round(min(opened["nix"]) - min(opened["per-flow"]), 2),
        "bytes_per_path": round(table_bytes / paths, 1),
    }


def one(balancer: str, overrides: Mapping[str, object] | None = None) -> dict[str, Any]:
    """The permutation under that balancer."""
    return child.run(PERMUTATION, {"routing.balancer": balancer, **(overrides or {})})


def checks(figures: dict[str, float]) -> list[Check]:
    """Targets."""
    return [
        Check(
            11, "TCP permutation, k = 16, paths by nix, per packet-hop", "x per-flow", figures["ratio"], 1.1
        ),
        Check(11, "drawing the paths of this permutation, both ways", "ms", figures["drawing_ms"], 50),
        Check(11, "a path in the table", "bytes", figures["bytes_per_path"], 128),
    ]
