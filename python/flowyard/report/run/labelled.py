"""The runs of a report, read with the columns that it needs, each with its label."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from flowyard.folders import reading
from flowyard.report.run import differences
from flowyard.run_data import Run

FLOW_COLUMNS = (
    "id tag src dst size_bytes start_ps completed fct_ps slowdown deadline_ps met_deadline delivered_bytes "
    "packets_sent retransmissions timeouts trims drops lost reordered"
)
LINK_COLUMNS = (
    "id from to tier rate_bps packets utilisation drops lost trims marks "
    "queue_mean_bytes queue_max_bytes queue_max_packets pauses paused_ps"
)


def read(dirs: Sequence[Path]) -> list[Run]:
    """The runs in the folders, in their order."""
    columns = FLOW_COLUMNS.split(), LINK_COLUMNS.split()
    found = [Run.read(directory, *columns, observed=True) for directory in dirs]
    names = labels(dirs, [run.summary["scenario"] for run in found])
    return [replace(run, label=name) for run, name in zip(found, names, strict=True)]


def labels(dirs: Sequence[Path], scenarios: Sequence[Mapping[str, Any]]) -> list[str]:
    """A name for each run: its scenario's where that tells them apart, else what differs, else that of its folder."""
    folders = [reading.as_text(directory.resolve().name) for directory in dirs]
    named = [scenario.get("name") or folder for scenario, folder in zip(scenarios, folders, strict=True)]
    for candidates in (named, _by_fields(named, scenarios), folders):
        if len(set(candidates)) == len(candidates):
            return candidates
    # Numbered only where needed; a number may itself meet a name that is already there.
    taken, result = Counter(named), []
    for candidate in named:
        label, number = candidate, 0
        while label in result or (taken[candidate] > 1 and number == 0) or (number and label in taken):
            number += 1
            label = f"{candidate} ({number})"
        result.append(label)
    return result


def _by_fields(named: Sequence[str], scenarios: Sequence[Mapping[str, Any]]) -> list[str]:
    """Names, those that several runs have with what differs; the name is left out if all have it."""
    found = list(named)
    for name in {name for name in named if named.count(name) > 1}:
        places = [i for i, other in enumerate(named) if other == name]
        told = differences.distinguishing([scenarios[i] for i in places]) or []
        for i, words in zip(places, told, strict=False):
            found[i] = words if len(places) == len(named) else f"{name}, {words}"
    return found
