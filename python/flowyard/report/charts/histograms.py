"""Histograms as charts: the share of time or of packets with at least a value, on two logarithmic axes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from flowyard.forks import pl
from flowyard.report import charts
from flowyard.run_data import Run

# Of the length of an axis: what is nearer together than this looks the same.
STEP = 1 / 200


@dataclass(frozen=True)
class Kind:
    """A metric of histograms.parquet, its words, and what its shares are of."""

    metric: str
    title: str
    term: str
    caption: str
    format_type: str
    of: str
    by: str


KINDS = (
    Kind(
        "queue_bytes", "Queue, distribution over time", "queue_histogram",
        "Share of the time in which a port of a tier holds at least so much.", "bytes", "share of time", "tier",
    ),
    Kind(
        "server_ps", "Latency in the server", "server_latency",
        "Share of packets that take at least so long from made to on the wire, by links crossed.",
        "duration", "share of packets", "links crossed",
    ),
    Kind(
        "network_ps", "Latency in the network", "network_latency",
        "Share of packets that take at least so long from on the wire to arrival, by links crossed.",
        "duration", "share of packets", "links crossed",
    ),
)  # fmt: skip


def classes(runs: Sequence[Run], kind: Kind) -> list[str]:
    """The classes of a metric in any run, in order of first appearance."""
    tables = [
        run.histograms.filter(pl.col("metric") == kind.metric) for run in runs if run.histograms is not None
    ]
    return list(dict.fromkeys(name for table in tables for name in table["class"]))


def at_least(table: pl.DataFrame) -> list[tuple[int, float]]:
    """Of the rows of one histogram: values above 0, each with the share that is at least as large.

    Exact at the lower end of each of the histogram's classes of value, the only places known.
    """
    ordered = table.sort("low")
    total = ordered["count"].sum()
    if not total:
        return []
    above = total - ordered["count"].cum_sum() + ordered["count"]
    points = zip(ordered["low"], above, ordered["count"], strict=True)
    return [(low, left / total) for low, left, count in points if low > 0 and count]


def thinned(points: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """Of the points of a curve those that differ on the chart: by a share of STEP of either logarithmic axis."""
    if len(points) < 3:
        return points
    places = [(math.log(value), math.log(share)) for value, share in points]
    steps = [STEP * abs(places[-1][axis] - places[0][axis]) for axis in (0, 1)]
    kept = [0]
    for i, place in enumerate(places):
        last = places[kept[-1]]
        if any(abs(place[axis] - last[axis]) > steps[axis] for axis in (0, 1)):
            kept.append(i)
    return [points[i] for i in dict.fromkeys([*kept, len(points) - 1])]


def at_least_chart(runs: Sequence[Run], kind: Kind, parameter: str) -> charts.Spec | None:
    """The share with at least a value; None if there is no value above 0.

    A single run has a line for each class. Several have a line each, of the class that the parameter names.
    """
    one = len(runs) == 1
    names = classes(runs, kind)
    labels = names if one else [run.label for run in runs]
    rows = []
    for run in runs:
        if run.histograms is None:
            continue
        table = run.histograms.filter(pl.col("metric") == kind.metric)
        for (name,), part in table.group_by("class", maintain_order=True):
            line = name if one else run.label
            rows += [
                {"line": line, "class": name, "value": charts.rounded(value), "share": charts.rounded(share)}
                for value, share in thinned(at_least(part))
            ]
    if not rows:
        return None
    hover = charts.nearest_point("value", "share", "line")
    chart = charts.chart_of("rows")
    if not one:
        chart = chart.transform_filter(f"datum.class === {parameter}")
    base = chart.encode(
        x=charts.log_axis("value", kind.format_type, "at least", [row["value"] for row in rows]),
        y=charts.log_axis("share", "share", kind.of, [*(row["share"] for row in rows), 1.0], alt.Y),
        color=charts.colour_of(labels, "line"),
    )
    line = base.mark_line(interpolate="step-before", strokeWidth=2, strokeJoin="round").encode(
        strokeDash=charts.strokes_of(labels, "line"), opacity=charts.focused(field="line")
    )
    tooltip = [
        alt.Tooltip("line:N", format="", formatType="label", title=kind.by if one else "run"),
        charts.tip("value", kind.format_type, "at least"),
        charts.tip("share", "share", kind.of),
    ]
    point = (
        base.mark_point(filled=True, size=60, stroke="var(--surface)", strokeWidth=1.5)
        .encode(opacity=alt.condition(hover, alt.value(1), alt.value(0)), tooltip=tooltip)
        .add_params(hover)
    )
    params = {} if one else {parameter: names[0]}
    return charts.spec_of([line, point], charts.HEIGHT, params, rows=rows)
