"""One run on more cores than this machine has: an estimate, from measured times of its parts.

A run in N parts is simulated on one thread, and each part is timed in each window. On N cores a window takes the time
of its slowest part. The rest of the run, which one thread does alone (set-up, tables, packets that change parts
between windows), takes as long as here. Each window begins and ends with a barrier: its time on two threads is
measured, and is assumed to grow in proportion to the number of further threads.

The estimate leaves out that cores share caches and memory, so it is an upper bound. It holds for `run.threads = N`,
which makes N parts. A part that is preempted would count as a slow one: the cores must be free.
"""

import json
import tomllib
from collections.abc import Callable
from typing import Any

from flowyard.bench.cases import CASES

COUNTS = (2, 4, 8, 16, 32, 64)
# By case the most cores: a larger case takes minutes for each number of them, and so do many parts of the web search,
# whose windows are many and short.
RUNS = {
    "ndp-permutation-k8": 64,
    "ndp-permutation-k16": 64,
    "ndp-permutation-k32": 32,
    "ndp-web-search-k8": 4,
}
BARRIERS = 200_000


def measure(tell: Callable[[str], None]) -> dict[str, Any]:
    """By case and number of cores: the estimated speed-up over one part, and what it comes from."""
    from flowyard import _native

    tell("cores: barrier")
    barrier = _native.barrier_seconds(2, BARRIERS)
    figures: dict[str, Any] = {}
    for case in CASES:
        if case.name not in RUNS:
            continue
        scenario = json.dumps(tomllib.loads(case.path.read_text(encoding="utf-8")))
        tell(f"cores: {case.name} in 1 part")
        whole = _native.rehearse(scenario, 1)
        figures[case.name] = {}
        for cores in COUNTS[: COUNTS.index(RUNS[case.name]) + 1]:
            tell(f"cores: {case.name} in {cores} parts")
            times = _native.rehearse(scenario, cores)
            if times["digest"] != whole["digest"]:
                raise RuntimeError(f"{case.name}: {cores} parts and one have different results")
            figures[case.name][str(cores)] = estimate(whole["run_s"], times, barrier, cores)
    return {"barrier_us": round(barrier * 1e6, 2), "runs": figures}


def estimate(whole_s: float, times: dict[str, Any], barrier_s: float, cores: int) -> dict[str, float]:
    """The speed-up on so many cores over a run in one part, and the shares of the estimated time."""
    alone = times["run_s"] - times["lanes_s"]
    barriers = times["windows"] * barrier_s * (cores - 1)
    total = alone + times["slowest_s"] + barriers
    return {
        "speed_up": round(whole_s / total, 2),
        "alone_share": round(alone / total, 3),
        "barrier_share": round(barriers / total, 3),
        "imbalance": round(times["slowest_s"] * cores / times["lanes_s"], 2),
    }
