"""Two runs on two threads of one process, beside two processes that do the same with the floor; and one run on two.

The scaling of runs is the packet-hops per second, by the wall clock, of two runs of one scenario on two threads
at the same time, over those of one run alone. The scaling of floors is the same for the floor of that
fat-tree size in two processes and in one: it says what the machine allows, whose cores share caches, memory
and power. The figure is the first over the second; 1 means that a process with two threads loses nothing.
Scenarios are read and tables made in that time, too. Alone and together take turns; the best of each counts.

One run on two threads (`run.threads`) is compared with the same run on one, by the wall clock, in turn, the best of
each. It is only worth as much as the cores are free: the scaling of floors, measured in the same minutes, says how free
they were. Windows, the share of packet-hops that cross between parts, and the imbalance (events of the busier
thread over half of all) stand beside it.
"""

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from flowyard.bench.cases import CASES
from flowyard.bench.checks import Check

CASE = CASES[0]
ROUNDS = 5
FLOOR_HOPS = 20_000_000
PARTED = ("ndp-permutation-k8", "ndp-permutation-k16", "ndp-permutation-k32", "ndp-web-search-k8")
PARTED_ROUNDS = 3


def measure(most_rounds: int, tell: Callable[[str], None]) -> dict[str, Any]:
    """Wall seconds of each of the four, best round, and what follows."""
    best: dict[str, float] = {}
    contestants: dict[str, Callable[[], float]] = {
        "runs_alone_s": lambda: runs(1),
        "runs_together_s": lambda: runs(2),
        "floors_alone_s": lambda: floors(1),
        "floors_together_s": lambda: floors(2),
    }
    for turn in range(min(most_rounds, ROUNDS)):
        for name, contestant in contestants.items():
            tell(f"threads, round {turn + 1}: {name}")
            best[name] = min(contestant(), best.get(name, float("inf")))
    run_scaling = 2 * best["runs_alone_s"] / best["runs_together_s"]
    floor_scaling = 2 * best["floors_alone_s"] / best["floors_together_s"]
    figures = {"run_scaling": run_scaling, "floor_scaling": floor_scaling}
    figures |= {"ratio": run_scaling / floor_scaling} | best
    parted = {case.name: on_two(case.path, most_rounds, tell) for case in CASES if case.name in PARTED}
    return (
        {"case": CASE.name} | {name: round(value, 4) for name, value in figures.items()} | {"one_run": parted}
    )


def on_two(path: Path, most_rounds: int, tell: Callable[[str], None]) -> dict[str, float]:
    """One run on one thread and on two: its speed-up, and what its parts had to do with each other."""
    from flowyard import results

    best = {1: float("inf"), 2: float("inf")}
    digests = set()
    for turn in range(min(most_rounds, PARTED_ROUNDS)):
        for threads in best:
            tell(f"threads, round {turn + 1}: {path.stem} on {threads}")
            result = results.run(path, {"run.threads": threads})
            counters = result.summary["counters"]
            best[threads] = min(best[threads], counters["wall_s"])
            digests.add(result.summary["digest"])
    if len(digests) > 1:
        raise RuntimeError(f"{path.stem}: one thread and two have different results")
    parts = result.summary["partition"]["parts"]
    return {
        "speed_up": round(best[1] / best[2], 3),
        "windows": parts["windows"],
        "crossing_share": round(parts["crossings"] / counters["packet_hops"], 4),
        "imbalance": round(2 * parts["critical_events"] / counters["events"], 4),
    }


def runs(count: int) -> float:
    """Wall seconds until so many threads have each run the case four times; the first one is not counted."""
    from flowyard import results

    barrier = threading.Barrier(count + 1)

    def work() -> None:
        results.run(CASE.path)
        barrier.wait()
        for _ in range(4):
            results.run(CASE.path)

    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    barrier.wait()
    started = time.perf_counter()
    for thread in threads:
        thread.join()
    return time.perf_counter() - started


# A process waits to be told, so that its start is not counted.
FLOOR = f"""
import sys
from flowyard import _native
print("ready", flush=True)
sys.stdin.readline()
_native.floor_seconds({CASE.k}, {FLOOR_HOPS})
"""


def floors(count: int) -> float:
    """Wall seconds until so many processes have each let the floor's packets cross their links."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", FLOOR], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(count)
    ]
    try:
        for process in processes:
            assert process.stdout is not None
            process.stdout.readline()
        started = time.perf_counter()
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        for process in processes:
            process.wait()
        return time.perf_counter() - started
    finally:
        # After Ctrl-C none goes on alone.
        for process in processes:
            process.kill()
            process.communicate()


def checks(figures: dict[str, Any]) -> list[Check]:
    """Targets."""
    what = "two runs on two threads, of what two floor processes get"
    faster = figures["one_run"]["ndp-permutation-k16"]["speed_up"]
    return [
        Check(7, what, "", figures["ratio"], 0.95, at_least=True),
        Check(7, "ndp-permutation-k16 on two threads, over one", "x", faster, 1.6, at_least=True),
    ]
