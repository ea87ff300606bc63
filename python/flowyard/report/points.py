"""The points of a sweep in a terminal: a line each, with its place on the axes and the means of its runs."""

from flowyard.report.metrics import ALL_METRICS
from flowyard.sweeps.results import DEADLINES, Sweep
from flowyard.terminal.console import TextTable

# Shown of each point; of METRICS.
SHOWN = (
    *("application_throughput", "completed_fraction"),
    *("fct_p50_ps", "fct_p99_ps", "slowdown_p50", "slowdown_p99"),
)


def points_table(sweep: Sweep) -> TextTable:
    """A row a point, in the order of the plan; a point of which no run is done has dashes.

    Means are over the runs that are done. Metrics that the plan asks for stand in place of the usual ones, which are
    those of deadlines only if a flow has one.
    """
    axes, means = list(sweep.axes), sweep.means
    usual = [name for name in SHOWN if name not in DEADLINES or means[name].count()]
    shown = [ALL_METRICS[name] for name in sweep.chosen or usual]
    points = {tuple(row[axis] for axis in axes): row for row in means.iter_rows(named=True)}
    rows = []
    for place in dict.fromkeys(sweep.runs.select(axes).iter_rows()):
        own = points.get(place, {})
        done = f"{own.get('replicas', 0):,} of {sweep.replicas:,}"
        rows.append([*map(str, place), done, *(metric.show(own.get(metric.column)) for metric in shown)])
    header = [*axes, "runs", *(metric.name for metric in shown)]
    return TextTable(f"{sweep.name}: means of each point's runs", header, rows, left=len(axes))
