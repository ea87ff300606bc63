"""The result of several runs in a sentence, for readers of one: how slow short flows are in each, and the best."""

from collections.abc import Mapping, Sequence
from typing import Any

from flowyard import text
from flowyard.analysis.completion import ALL, SIZE_GROUPS, Key

# The percentiles that may tell runs apart, the one that is shown first.
STATISTICS = ("p99", "p95", "p50")
# Runs whose values are listed.
MOST_LISTED = 6
ALL_FLOWS: Key = (None, ALL)
SHORT: Key = (None, SIZE_GROUPS[0][1])


def of_runs(labels: Sequence[str], groups: Sequence[Mapping[Key, Mapping[str, Any]]]) -> str:
    """The sentence; empty for a single run, and where not all flows completed, so that values are not of the same.

    Args:
        labels: The names of the runs.
        groups: Completion of each, by group, with intervals: see `completion.by_key`.
    """
    key = SHORT if all(SHORT in own for own in groups) else ALL_FLOWS
    rows = [own[key] for own in groups if key in own]
    if len(rows) < max(2, len(groups)) or not all(row["completed_fraction"] == 1 for row in rows):
        return ""
    slow = all(row["slowdown_p99"] is not None for row in rows)
    kind, unit = ("slowdown", "") if slow else ("fct", "_ps")
    statistic = next(
        (name for name in STATISTICS if _leader(rows, kind, name, unit) is not None), STATISTICS[0]
    )
    column = f"{kind}_{statistic}{unit}"
    order = sorted(range(len(rows)), key=lambda i: rows[i][column])
    shown = [f"{_value(rows[i][column], slow=slow)} with {labels[i]}" for i in order[:MOST_LISTED]]
    if slow:
        shown[0] = shown[0].replace(" with", " times the ideal with", 1)
    more = f" and {len(order) - MOST_LISTED:,} more" if len(order) > MOST_LISTED else ""
    which = f"flows {SHORT[1]}" if key == SHORT else "all flows"
    said = f"{statistic} of {'slowdown' if slow else 'completion time'} of {which}: {', '.join(shown)}{more}."
    return f"{said} {_verdict(rows, labels, order, (kind, statistic, unit))}"


def _verdict(
    rows: Sequence[Mapping[str, Any]],
    labels: Sequence[str],
    order: Sequence[int],
    of: tuple[str, str, str],
) -> str:
    """Which run has the lowest value, and by how much; or that none has."""
    kind, statistic, unit = of
    best, second = order[:2]
    if _leader(rows, kind, statistic, unit) is None:
        return "The 95% intervals do not tell the best from the others."
    column = f"{kind}_{statistic}{unit}"
    factor = text.digits(rows[second][column] / rows[best][column])
    return f"It is lowest with {labels[best]}; with {labels[second]} it is {factor} times as high."


def _leader(rows: Sequence[Mapping[str, Any]], kind: str, statistic: str, unit: str) -> int | None:
    """The run whose interval lies below those of all others; None if there is none."""
    lows = [row[f"{kind}_{statistic}_low{unit}"] for row in rows]
    highs = [row[f"{kind}_{statistic}_high{unit}"] for row in rows]
    for i, high in enumerate(highs):
        others = [low for j, low in enumerate(lows) if j != i]
        if high is not None and all(low is not None and high < low for low in others):
            return i
    return None


def _value(value: float, *, slow: bool) -> str:
    return text.ratio(value) if slow else text.duration(value)
