"""Parts that a page of runs omits for lack of data, with the reasons."""

from collections.abc import Sequence
from dataclasses import dataclass

from flowyard.report import reasons
from flowyard.run_data import Run

# The key of the section that a part is, or else is in; what it is called; why a run has nothing for it.
PARTS = (
    ("distributions", "Slowdown by flow size", reasons.one_size),
    ("time", "Queues, windows and rates over time", reasons.no_samples),
    ("time", "Windows over time", reasons.no_window),
    ("histograms", "Histograms of queues and latencies", reasons.no_histograms),
    ("deadlines", "Deadlines", reasons.no_deadline),
    ("faults", "Faults", reasons.no_fault),
)


@dataclass(frozen=True)
class Absent:
    """A part, why it is not there, and the lines of a scenario that ask for it, if any do; of runs by their labels."""

    part: str
    why: str
    lines: str
    runs: list[str]


def absent(runs: Sequence[Run], *, explained: bool = False) -> list[Absent]:
    """All that is missing from some run.

    Args:
        runs: The runs.
        explained: Whether the page says why slow flows are slow.
    """
    asked = "It takes each run two or three times more, and is drawn with flowyard report --why."
    found = [] if explained else [Absent("Why slow flows are slow", asked, "", [])]
    for _, part, why in PARTS:
        by_reason: dict[str, list[str]] = {}
        for run in runs:
            if reason := why(run):
                by_reason.setdefault(reason, []).append(run.label)
        for reason, labels in by_reason.items():
            said, _, lines = reason.partition("\n")
            found.append(Absent(part, said, lines, [] if len(labels) == len(runs) else labels))
    return found
