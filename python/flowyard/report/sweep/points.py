"""The points of a sweep in a terminal: a line each, with its place on the axes and the means of its runs."""

from flowyard.folders import run_files
from flowyard.forks import pl
from flowyard.report import loads
from flowyard.report.metrics import ALL_METRICS
from flowyard.run_json import unstable_of
from flowyard.sweeps import carrying
from flowyard.sweeps.tables import DEADLINES, LOADS, Sweep
from flowyard.sweeps.task import label_of
from flowyard.terminal.console import TextTable

# Shown of each point; of METRICS.
SHOWN = (
    *("application_throughput", "completed_fraction", "offered_load", "carried_load"),
    *("fct_p50_ps", "fct_p99_ps", "slowdown_p50", "slowdown_p99"),
)


def points_table(sweep: Sweep) -> TextTable:
    """One row per point, in the order of the plan; a point of which no run is done has dashes.

    Means are over the runs that are done. Metrics that the plan asks for stand in place of the usual ones, which are
    those of deadlines only if a flow has one, and loads only if flows arrive at one. Points that are not in a steady
    state, or do not carry their load, have a mark.
    """
    axes, means = list(sweep.axes), sweep.means
    rare = (*DEADLINES, *LOADS)
    usual = [name for name in SHOWN if name not in rare or means[name].count()]
    if any(loads.is_axis(means, axis) for axis in axes):
        usual.remove("offered_load")
    shown = [ALL_METRICS[name] for name in sweep.chosen or usual]
    points = {tuple(row[axis] for axis in axes): row for row in means.iter_rows(named=True)}
    rows = []
    for place in dict.fromkeys(sweep.runs.select(axes).iter_rows()):
        own = points.get(place, {})
        done = f"{own.get('replicas', 0):,} of {sweep.replicas:,}"
        mark = [f"{place[0]} {loads.MARK}", *place[1:]] if loads.state(own) != loads.STEADY else place
        rows.append([*map(str, mark), done, *(metric.show(own.get(metric.column)) for metric in shown)])
    header = [*axes, "runs", *(metric.name for metric in shown)]
    return TextTable(f"{sweep.name}: means of each point's runs", header, rows, left=len(axes))


def marked(sweep: Sweep) -> list[str]:
    """Footnotes of marked points: those not in a steady state, and others that do not carry their load."""
    return [note for note in (unsteady(sweep), _short(sweep)) if note]


def _short(sweep: Sweep) -> str:
    """Footnote of the points of steady runs whose mean load over the replicas is not carried."""
    found = [
        (
            label_of({name: row[name] for name in sweep.axes}, 0, 1) if sweep.axes else "",
            loads.reason(carrying.reason(row)),
        )
        for row in sweep.means.iter_rows(named=True)
        if loads.state(row) == loads.SHORT
    ]
    return loads.footnote(found, loads.SHORT)


def unsteady(sweep: Sweep) -> str:
    """Footnote of marked points: those not in a steady state, in how many of their runs, and the first reason."""
    found = []
    axes, replicas = list(sweep.axes), pl.len()
    metrics = sweep.metrics.with_columns(replicas=replicas.over(axes) if axes else replicas)
    if metrics["stable"].all(ignore_nulls=True):
        return ""
    for point in metrics.partition_by(axes, maintain_order=True) if axes else [metrics]:
        own = point.filter(~pl.col("stable"))
        if own.is_empty():
            continue
        row = own.row(0, named=True)
        place = label_of({name: row[name] for name in sweep.axes}, 0, 1) if axes else ""
        of = f" in {own.height} of {row['replicas']} replicas" if row["replicas"] > 1 else ""
        found.append((f"{place}{of}", loads.reason(unstable_of(run_files.status(sweep.path(row["run"])))[0])))
    return loads.footnote(found)
