"""How long it takes until something happens: wall time, best of five fresh processes."""

import itertools
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from flowyard.bench import child
from flowyard.bench.cases import SCENARIOS
from flowyard.bench.checks import Check

ROUNDS = 5
LIMITS_MS = {
    "flowyard --help": 150,
    "import flowyard": 150,
    "k = 16, from the file to the first event": 100,
    "flowyard check": 150,
    "flowyard run, 0.1 ms of eight hosts": 220,
    "flowyard show": 150,
}

# Eight hosts at one switch.
SHORT = """
topology = { single-switch = { hosts = 8, rate = "10Gbps" } }
transport = "tcp"
traffic = [{ name = "all", arrivals = "at-once", matrix = "permutation", sizes = { fixed = "100KB" } }]
"""

# The run ends before its first event, so that this includes tables that a longer run would make later.
FIRST_EVENT = """
import json, sys, time
started = time.perf_counter()
from flowyard import results
results.run(sys.argv[1], {"run.until": "1ps"})
print(json.dumps({"seconds": time.perf_counter() - started}))
"""


def measure(tell: Callable[[str], None]) -> dict[str, float]:
    """Milliseconds of each."""
    tell("start-up")
    with tempfile.TemporaryDirectory() as directory:
        return _measure(Path(directory))


def _measure(directory: Path) -> dict[str, float]:
    short, folders = directory / "short.toml", (str(directory / f"run{n}") for n in itertools.count())
    short.write_text(SHORT, encoding="utf-8")
    shown = str(directory / "shown")
    wall("-m", "flowyard", "run", str(short), "-o", shown)
    file = str(SCENARIOS / "bench" / "ndp-permutation-k16.toml")
    contestants: dict[str, Callable[[], float]] = dict(
        zip(
            LIMITS_MS,
            (
                lambda: wall("-m", "flowyard", "--help"),
                lambda: wall("-c", "import flowyard"),
                lambda: float(child.python("-c", FIRST_EVENT, file)["seconds"]),
                lambda: wall("-m", "flowyard", "check", str(short)),
                lambda: wall("-m", "flowyard", "run", str(short), "-o", next(folders)),
                lambda: wall("-m", "flowyard", "show", shown),
            ),
            strict=True,
        )
    )
    contestants["python alone"] = lambda: wall("-c", "")
    best = {name: min(run() for _ in range(ROUNDS)) for name, run in contestants.items()}
    return {name: round(seconds * 1e3, 1) for name, seconds in best.items()}


def wall(*arguments: str) -> float:
    """Wall seconds of Python with these arguments."""
    started = time.perf_counter()
    subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started


def checks(figures: dict[str, float]) -> list[Check]:
    """Targets."""
    return [Check(8, name, "ms", figures[name], limit) for name, limit in LIMITS_MS.items()]
