"""Benchmarks of speed with their limits: a row for each case."""

from dataclasses import dataclass
from pathlib import Path

SCENARIOS = Path(__file__).parents[1] / "scenarios"


@dataclass(frozen=True)
class Case:
    """A scenario that is compared with the floor of its fat-tree size.

    Attributes:
        name: What it is called on the command line and in the JSON.
        target: Number of the target that it belongs to.
        k: The fat-tree size of its floor.
        limit: How many times the floor a packet-hop may cost.
        guard: What it may cost as long as the limit has not been reached.
        stretch: How many times the floor it would cost if all went well.
        rounds: Runs, of which the best counts: five, and fewer where one takes seconds.
        goodput: What the median flow must get of its link: an idle fabric measures nothing.
        goodput_guard: What it must get as long as that has not been reached.
    """

    name: str
    target: int
    k: int
    limit: float
    stretch: float | None = None
    guard: float | None = None
    rounds: int = 5
    goodput: float | None = None
    goodput_guard: float | None = None

    @property
    def path(self) -> Path:
        """The scenario's file."""
        return SCENARIOS / "bench" / f"{self.name}.toml"


CASES = [
    Case("ndp-permutation-k8", 1, k=8, limit=2.0, stretch=1.6, guard=2.6, goodput=0.75),
    Case("ndp-permutation-k16", 1, k=16, limit=2.0, stretch=1.6, goodput=0.75, goodput_guard=0.74),
    Case("tcp-permutation-k8", 2, k=8, limit=1.8, stretch=1.4),
    Case("tcp-permutation-k16", 2, k=16, limit=1.8, stretch=1.4),
    Case("ndp-web-search-k8", 3, k=8, limit=2.4, guard=2.6, rounds=3),
    Case("tcp-web-search-k8", 3, k=8, limit=2.4, rounds=3),
    Case("ndp-permutation-k32", 5, k=32, limit=2.0, rounds=2),
    Case("datagram-permutation-k8", 10, k=8, limit=2.5, rounds=3),
    Case("dctcp-permutation-k8", 10, k=8, limit=2.5, rounds=3),
    Case("d2tcp-permutation-k8", 10, k=8, limit=2.5, rounds=3),
    Case("mptcp-permutation-k8", 10, k=8, limit=2.5, guard=2.7, rounds=3),
    Case("parallel-tcp-permutation-k8", 10, k=8, limit=2.6, rounds=3),
    Case("pias-permutation-k8", 10, k=8, limit=2.5, rounds=3),
    Case("pfabric-permutation-k8", 10, k=8, limit=4.0, rounds=3),
    Case("homa-permutation-k8", 10, k=8, limit=2.6, rounds=3),
    Case("phost-permutation-k8", 10, k=8, limit=2.6, rounds=3),
    Case("expresspass-permutation-k8", 10, k=8, limit=2.6, rounds=3),
    Case("sird-permutation-k8", 10, k=8, limit=2.6, rounds=3),
    Case("dcqcn-permutation-k8", 10, k=8, limit=4.0, rounds=3),
    Case("uet-permutation-k16", 10, k=16, limit=2.3, rounds=3),
    Case("daq-permutation-k8", 10, k=8, limit=4.0, rounds=3),
    Case("daq-rack", 10, k=8, limit=4.0, rounds=3),
    Case("rcp-permutation-k8", 10, k=8, limit=4.0, rounds=3),
    Case("rcp-rack", 10, k=8, limit=4.0, rounds=3),
    Case("d3-permutation-k8", 10, k=8, limit=4.0, rounds=3),
    Case("d3-rack", 10, k=8, limit=4.0, rounds=3),
    Case("pdq-permutation-k8", 10, k=8, limit=4.0, rounds=3),
    Case("pdq-rack", 10, k=8, limit=4.0, rounds=3),
    Case("racs-permutation-k8", 10, k=8, limit=4.0, rounds=3),
    Case("racs-rack", 10, k=8, limit=4.0, rounds=3),
]

# Nanoseconds per packet-hop of the second case, over those of the first: the limit, and the guard until it is met.
GROWTH = ("ndp-permutation-k8", "ndp-permutation-k32", 3.0, 3.6)
