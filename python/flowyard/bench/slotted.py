"""The slotted link: CPU seconds of a million slots with 100 flows present under PEQ, best of five.

A hundred servers that start a flow as soon as they have none, with deadlines long enough that the flows stay: some
2,000 slots. Slot by slot, and by events; and slot by slot for half as many slots, since time is to grow linearly.
"""

import time
from collections.abc import Callable
from typing import Any

from flowyard import slotted
from flowyard.bench.checks import Check

ROUNDS = 5
SLOTS = 1_000_000
CONFIG = {
    "generation": {"random": {"servers": 100, "probability": 1}},
    "classes": [
        {
            "sizes": {"uniform": {"min": 2, "max": 198}},
            "deadlines": {"exponential": {"mean": 2000, "infeasible": "shift"}},
        }
    ],
    "discipline": {"peq": {}},
}
CASES = {
    "slot_by_slot_s": {"step": "slot", "slots": SLOTS},
    "by_events_s": {"step": "event", "slots": SLOTS},
    "half_slot_by_slot_s": {"step": "slot", "slots": SLOTS // 2},
}


def measure(rounds: int, tell: Callable[[str], None]) -> dict[str, float]:
    """CPU seconds of each case, and the mean number of flows present."""
    figures: dict[str, float] = {}
    for round_ in range(min(rounds, ROUNDS)):
        for name, run in CASES.items():
            tell(f"slotted link: {name}, round {round_ + 1}")
            seconds, present = once(run)
            figures[name] = min(seconds, figures.get(name, seconds))
            figures["flows_present"] = present
    return {name: round(value, 3) for name, value in figures.items()}


def once(run: dict[str, Any]) -> tuple[float, float]:
    """CPU seconds of a run, and the mean number of flows present."""
    started = time.process_time()
    result = slotted.run(CONFIG | {"run": run})
    return time.process_time() - started, float(result.summary["present_mean"])


def checks(figures: dict[str, float]) -> list[Check]:
    """Targets: absolute limits, and linear growth."""
    growth = figures["slot_by_slot_s"] / figures["half_slot_by_slot_s"]
    return [
        Check(9, "a million slots, 100 flows, PEQ, slot by slot", "s", figures["slot_by_slot_s"], 5),
        Check(9, "the same by events", "s", figures["by_events_s"], 1),
        Check(9, "twice the slots, in times", "", growth, 2.2),
    ]
