"""Replicas of one scenario: means with intervals, and the differences between single runs."""

import json
from typing import Any

from flowyard import text
from flowyard.report.metrics import ALL_METRICS, Metric
from flowyard.run_json import unstable_of
from flowyard.sweeps import carrying
from flowyard.sweeps.outcomes import Outcomes
from flowyard.sweeps.tables import COMPLETION, COUNTED, DEADLINES, LOADS, METRICS, Sweep, uncounted
from flowyard.terminal.console import TextTable, show

# In the order of a run's summary.
SHOWN = (
    *(name for name in COMPLETION if "p99_9" not in name),
    *("application_throughput", "offered_load", "realised_load", "carried_load", "goodput_bps"),
    *COUNTED,
)


def tell(sweep: Sweep, tally: Outcomes, *, as_json: bool) -> None:
    """Prints replicas that have ended, by the outcomes of the call that ran them."""
    done, planned = int(sweep.runs["done"].sum()), len(sweep.runs)
    summaries = sweep.summaries()
    unsteady = [
        f"replica {row['replica']}"
        for row in sweep.runs.filter("done").iter_rows(named=True)
        if unstable_of(summaries[row["run"]])
    ]
    if as_json:
        answer = {
            "folder": str(sweep.folder),
            "replicas": planned,
            "done": done,
            "now": tally.statuses,
            "failed": tally.failed,
            "violations": tally.violations,
            "unsteady": len(unsteady),
            "interrupted": tally.interrupted,
            "means": _means(sweep) if done else None,
        }
        print(json.dumps(answer, indent=2))
        return
    if done:
        show(replicas_table(sweep))
    where = f"flowyard report {sweep.folder} has the reasons"
    short = carrying.line(sweep.runs, list(sweep.axes), summaries, where)
    for line in [*tally.states(len(unsteady), where, unsteady), *short]:
        print(line)
    print(f"{done:,} of {planned:,} runs are in {sweep.folder}")


def replicas_table(sweep: Sweep) -> TextTable:
    """A row a metric: its mean over the replicas that are done, the interval by Student's t, the least and the most.

    Metrics that the plan asks for stand in place of the usual ones, among which those of deadlines are only if a flow
    has one, and loads only if flows arrive at one.
    """
    means = sweep.means.row(0, named=True)
    rare = (*DEADLINES, *LOADS)
    absent = uncounted(sweep.summaries().values())
    usual = [name for name in SHOWN if (name not in rare or means[name] is not None) and name not in absent]
    rows = [
        [
            metric.name,
            metric.show(means[metric.column]),
            _interval(metric, means[metric.column], means[f"{metric.column}_ci95"]),
            *(metric.show(end) for end in _ends(sweep, metric.column)),
        ]
        for metric in (ALL_METRICS[name] for name in sweep.chosen or usual)
    ]
    header = ("", "mean", "95 % interval", "least", "most")
    return TextTable(f"{sweep.name}: {means['replicas']:,} replicas", header, rows)


def _means(sweep: Sweep) -> dict[str, dict[str, float | None]]:
    """Each metric's mean over the replicas that are done, and half the width of its interval; null where there is none.

    Without those of the machine, which no other run gives again.
    """
    means: dict[str, Any] = sweep.means.row(0, named=True)
    names = [name for name in METRICS if name not in ("wall_s", "cpu_s")]
    return {name: {"mean": means[name], "ci95": means[f"{name}_ci95"]} for name in names}


def _interval(metric: Metric, mean: float | None, half: float | None) -> str:
    """The ends of the interval around a mean, no farther than the metric can be."""
    if mean is None or half is None:
        return text.NONE
    ends = text.interval(mean, max(0.0, mean - half), min(metric.most, mean + half), metric.show)
    return f"{ends}\u00a0{text.unit_of(mean, metric.show)}".rstrip()


def _ends(sweep: Sweep, column: str) -> tuple[float | None, float | None]:
    """The least and the most of a replica."""
    known = sweep.metrics[column].drop_nulls().to_list()
    return min(known, default=None), max(known, default=None)
