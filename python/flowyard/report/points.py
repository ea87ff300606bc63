"""The points of a sweep in a terminal: a line each, with its place on the axes and the means of its runs."""

from flowyard import text
from flowyard.sweeps.results import Sweep
from flowyard.terminal.console import TextTable

# Shown of each point, as METRICS name them, with their words.
SHOWN = {
    "completed_fraction": ("completed", text.percent),
    "fct_p50_ps": ("FCT p50", text.duration),
    "fct_p99_ps": ("FCT p99", text.duration),
    "slowdown_p50": ("slowdown p50", text.ratio),
    "slowdown_p99": ("slowdown p99", text.ratio),
}


def points_table(sweep: Sweep) -> TextTable:
    """A row a point, in the order of the plan; a point of which no run is done has dashes.

    Means are over the runs that are done. Metrics that the plan asks for stand in place of the usual ones.
    """
    axes = list(sweep.axes)
    shown = {name: SHOWN.get(name, (name, text.ratio)) for name in sweep.chosen or SHOWN}
    means = {tuple(row[axis] for axis in axes): row for row in sweep.means.iter_rows(named=True)}
    rows = []
    for place in dict.fromkeys(sweep.runs.select(axes).iter_rows()):
        own = means.get(place, {})
        done = f"{own.get('replicas', 0):,} of {sweep.replicas:,}"
        values = [said(own.get(name)) for name, (_, said) in shown.items()]
        rows.append([*map(str, place), done, *values])
    header = [*axes, "runs", *(word for word, _ in shown.values())]
    return TextTable(f"{sweep.name}: means of each point's runs", header, rows, left=len(axes))
