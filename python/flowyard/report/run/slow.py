"""The section on why slow flows are slow: parts of the times of the slowest beside those of the middle half."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flowyard.report import charts
from flowyard.report.charts.slow import colours, shares, waterfall
from flowyard.report.section import Section
from flowyard.results import Result, open_run
from flowyard.text import duration, percent
from flowyard.why.path import MEANINGS
from flowyard.why.slow import Slow, difference, slow_flows

# Links that the page lists of each run.
LINKS = 6


@dataclass(frozen=True)
class Explained:
    """A run of the page with its slow flows explained."""

    label: str
    result: Result
    slow: Slow


@dataclass(frozen=True)
class Compared:
    """The same flows in two runs, the slowest of the run in which these were slower, and where the difference is."""

    flows: int
    first: str
    other: str
    spec: charts.Spec


def explained(folders: Sequence[Path], labels: Sequence[str]) -> list[Explained]:
    """The runs with their slow flows explained, each of which is made again two to four times.

    Args:
        folders: The folders of the runs.
        labels: Their labels.

    Raises:
        UserError: A run cannot be made again.
    """
    results = [open_run(folder) for folder in folders]
    first: list[Slow | None] = [slow_flows(result) for result in results]
    if len(results) == 2 and _same_flows(*results) and all(first):
        # The flows that were slow in one run, in the other one, too.
        numbers = [[answer.flow for answer in slow.slowest] for slow in first if slow]
        first = [slow_flows(result, numbers[1 - place]) for place, result in enumerate(results)]
    return [
        Explained(label, result, slow)
        for label, result, slow in zip(labels, results, first, strict=True)
        if slow
    ]


def _same_flows(one: Result, other: Result) -> bool:
    digests = [run.summary.get("traffic_digest") for run in (one, other)]
    return digests[0] is not None and digests[0] == digests[1]


def section(runs: Sequence[Explained]) -> Section | None:
    """The section; None where no flow of any run is complete."""
    if not runs:
        return None
    compared = _compared(runs)
    labelled = [(run.label, run.slow) for run in runs]
    specs = {"slow-shares": shares(labelled)}
    if compared:
        specs["slow-waterfall"] = compared.spec
    data: dict[str, Any] = {
        "slow_runs": [_tables(run) for run in runs],
        "slow_colours": colours(labelled),
        "slow_compared": compared,
    }
    return Section("slow", (("slow", "Why slow"),), data, specs)


def _compared(runs: Sequence[Explained]) -> Compared | None:
    """The slowest flows of the slower run in both, if there are two and they carried the same flows."""
    if len(runs) != 2 or not _same_flows(runs[0].result, runs[1].result):
        return None
    slower, faster = sorted(runs, key=lambda run: -_mean([answer.fct_ps for answer in run.slow.slowest]))
    flows = [answer.flow for answer in slower.slow.slowest if answer.flow in faster.slow.by_flow]
    if not flows:
        return None
    before = _mean([faster.slow.by_flow[flow].fct_ps for flow in flows])
    spec = waterfall(faster.label, slower.label, before, difference(faster.slow, slower.slow, flows))
    return Compared(len(flows), faster.label, slower.label, spec)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / max(len(values), 1)


def _tables(run: Explained) -> dict[str, Any]:
    """The tables of a run, as the template has them."""
    slow = run.slow
    drawn = {
        group.set: sum(len(each.answers) for each in slow.groups if each.set == group.set)
        for group in slow.groups
    }
    waited = sum(time for _, _, time in slow.waits) or 1
    read = sum(slow.whose.values()) or 1
    there = [name for name in MEANINGS if any(name in group.means for group in slow.groups)]
    return {
        "label": run.label,
        "drawn": drawn,
        "parts": {name: MEANINGS[name] for name in there},
        "left_out": slow.left_out,
        "groups": [
            {
                "size": group.size,
                "set": group.set,
                "flows": len(group.answers),
                "of": group.flows,
                "mean": duration(sum(group.means.values())),
                "parts": {name: duration(group.means.get(name)) for name in there},
            }
            for group in slow.groups
        ],
        "waits": [(name, tier, percent(time / waited, 1)) for name, tier, time in slow.waits[:LINKS]],
        "whose": [(name, percent(time / read, 1)) for name, time in slow.whose.items()],
        "read": slow.read,
        "undivided": slow.undivided,
    }
