"""A sweep's charts as Vega-Lite data: a metric over one axis, with the confidence interval of each mean.

One axis is along x, one is told by colour, and of every further one the page lets the reader choose a value: the
charts have a parameter pick0, pick1 ... for each.
"""

import copy
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import altair as alt
import polars as pl

from flowyard.report import charts, text

HEIGHT = 260
# From this ratio of the largest to the smallest on, an axis is logarithmic.
LOGARITHMIC = 30
# More lines than colours and dashes can tell apart: then the axis is chosen, not coloured.
MOST_LINES = charts.COLOURS * len(charts.DASHES)
# Up to so many places of a numeric axis, each has a label.
LABELLED = 12
# How far an interval may stretch the chart beyond its largest mean; a wider one leaves the chart.
STRETCH = 2


@dataclass(frozen=True)
class Metric:
    """A number that runs are compared by.

    Attributes:
        column: Its column in Sweep.means.
        name: What people call it.
        term: Key of its definition.
        format_type: How the page's script writes it on an axis.
        show: How it is written elsewhere.
        most: The largest possible value.
    """

    column: str
    name: str
    term: str
    format_type: str
    show: Callable[[float | None], str]
    most: float = math.inf

    def mean(self, row: Mapping[str, Any]) -> str:
        """The mean of a point, with its interval if there is one."""
        mean, half = row[self.column], row[f"{self.column}_ci95"]
        return self.show(mean) if half is None else f"{self.show(mean)} ± {self.show(half)}"


@dataclass(frozen=True, eq=False)
class Layout:
    """Which axis is shown how.

    Attributes:
        values: The values of each axis that varies.
        x: The axis along x.
        colour: The axis told by colour, if any.
        picks: The axes of which the reader chooses one value.
    """

    values: Mapping[str, Sequence[Any]]
    x: str
    colour: str | None = None
    picks: list[str] = field(default_factory=list)

    @property
    def numeric(self) -> bool:
        """Whether x is a number."""
        return is_numeric(self.values[self.x])

    @property
    def ordered(self) -> bool:
        """Whether there is a way from one place of x to the next: numbers and sizes have it, names have not."""
        return self.numeric or all(said(value)[:1].isdigit() for value in self.values[self.x])

    @functools.cached_property
    def places(self) -> dict[str, int]:
        """Where each value of x stands in the plan."""
        return {said(value): place for place, value in enumerate(self.values[self.x])}

    @property
    def lines(self) -> list[str]:
        """What each colour stands for; one text without meaning if there is no such axis."""
        return [said(value) for value in self.values[self.colour]] if self.colour else [""]


def layout(axes: Mapping[str, Sequence[Any]]) -> Layout | None:
    """Along x the first axis of more than two numbers, else the first one; None if nothing varies."""
    values = {name: places for name, places in axes.items() if len(places) > 1}
    if not values:
        return None
    x = next(
        (name for name, places in values.items() if is_numeric(places) and len(places) > 2),
        next(iter(values)),
    )
    others = [name for name in values if name != x]
    colour = next((name for name in others if len(values[name]) <= MOST_LINES), None)
    return Layout(values, x, colour, [name for name in others if name != colour])


def is_numeric(values: Sequence[Any]) -> bool:
    """Whether all values are numbers."""
    return all(type(value) in (int, float) for value in values)


def said(value: Any) -> str:
    """A value of an axis as text: the same for 1 and 1.0, which a column of numbers does not tell apart."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


def line(means: pl.DataFrame, plan: Layout, metric: Metric) -> charts.Spec | None:
    """The chart of a metric; None if no point has a value."""
    table = means.filter(pl.col(metric.column).is_not_null())
    if table.is_empty():
        return None
    rows = [_row(row, plan, metric) for row in table.iter_rows(named=True)]
    y = _y(rows, metric)
    spec = copy.deepcopy(_frame(plan))
    for layer in spec["layer"]:
        layer["encoding"]["y"] |= y
        for shown in layer["encoding"].get("tooltip", []):
            shown["title"] = metric.name if shown["field"] == "said" else shown["title"]
    first = {f"pick{i}": said(means[name][0]) for i, name in enumerate(plan.picks)}
    for parameter in spec["params"]:
        parameter["value"] = first.get(parameter["name"])
    return {**spec, "datasets": {"rows": rows}}


# Checking its parts takes altair most of the time of a report.
@functools.lru_cache(maxsize=1)
def _frame(plan: Layout) -> charts.Spec:
    """What the charts of all metrics have in common: all but the rows, the axis of the metric and its name."""
    picked = " && ".join(f"datum.pick{i} === pick{i}" for i in range(len(plan.picks)))
    base = charts.chart_of("rows").encode(x=_x(plan), color=charts.colour_of(plan.lines, "line"))
    base = base.transform_filter(picked) if picked else base
    tooltip = [
        alt.Tooltip("x:N", format="", formatType="label", title=plan.x),
        *([alt.Tooltip("line:N", title=plan.colour)] if plan.colour else []),
        *(alt.Tooltip(f"pick{i}:N", title=name) for i, name in enumerate(plan.picks)),
        alt.Tooltip("said:N", title=""),
        charts.tip("replicas", "count", "replicas"),
        alt.Tooltip("completed:N", title="completed"),
    ]
    opacity = charts.focused(field="line")
    point = base.mark_point(filled=True, size=55, opacity=1).encode(
        y="mean:Q", opacity=opacity, tooltip=tooltip
    )
    # Points carry the words; of an interval that is not there none could be made.
    if plan.ordered:
        band = base.mark_area(aria=False).encode(
            y="low:Q", y2="high:Q", opacity=charts.focused(0.16, 0.03, "line")
        )
        strokes = charts.strokes_of(plan.lines, "line")
        stroke = base.mark_line(strokeWidth=2).encode(
            y="mean:Q", opacity=opacity, strokeDash=strokes, order="place:Q"
        )
        layers = [band, stroke, point]
    else:
        # Between names there is nothing: whiskers in place of a band, and side by side.
        offset = alt.XOffset("line:N", sort=None, scale=alt.Scale(domain=plan.lines))
        whisker = base.mark_rule(strokeWidth=2, aria=False).encode(
            y="low:Q", y2="high:Q", opacity=opacity, xOffset=offset
        )
        layers = [whisker, point.encode(xOffset=offset)]
    return charts.spec_of(layers, HEIGHT, {f"pick{i}": None for i in range(len(plan.picks))})


def _row(row: Mapping[str, Any], plan: Layout, metric: Metric) -> dict[str, Any]:
    # Under names of our own: those of axes may be anything.
    mean, half, x = row[metric.column], row[f"{metric.column}_ci95"], row[plan.x]
    return {
        "x": x if plan.numeric else said(x),
        "place": plan.places[said(x)],
        "line": said(row[plan.colour]) if plan.colour else "",
        **{f"pick{i}": said(row[name]) for i, name in enumerate(plan.picks)},
        "mean": charts.rounded(mean),
        "low": None if half is None else charts.rounded(max(mean - half, 0.0)),
        "high": None if half is None else charts.rounded(min(mean + half, metric.most)),
        "said": metric.mean(row),
        "replicas": row["replicas"],
        "completed": text.percent(row["completed_fraction"]),
    }


def _x(plan: Layout) -> alt.X:
    values = plan.values[plan.x]
    kind: dict[str, Any]
    if not plan.numeric:
        labels = [said(value) for value in values]
        upright = sum(map(len, labels)) < 50
        axis = alt.Axis(labelAngle=0 if upright else -35, labelLimit=140, labelOverlap="greedy", grid=False)
        kind = {"type": "point", "padding": 0.3}
        if not plan.ordered:
            kind = {"type": "band", "paddingInner": 0.5, "paddingOuter": 0.25}
        scale = alt.Scale(domain=labels, **kind)
        return alt.X("x:N", title=plan.x, scale=scale, axis=axis)
    axis = alt.Axis(
        format="",
        formatType="label",
        labelOverlap="greedy",
        grid=False,
        **({"values": sorted(values)} if len(values) <= LABELLED else {"tickCount": 8}),
    )
    logarithmic = _spread([float(value) for value in values]) > LOGARITHMIC
    kind = {"type": "log"} if logarithmic else {"type": "linear", "zero": False}
    scale = alt.Scale(domain=[min(values), max(values)], nice=False, padding=10, **kind)
    return alt.X("x:Q", title=plan.x, scale=scale, axis=axis)


def _y(rows: list[dict[str, Any]], metric: Metric) -> dict[str, Any]:
    """The axis of the metric; the page says above the chart what it is.

    Bounds of intervals that would stretch it too far are moved to its end.
    """
    means = [row["mean"] for row in rows]
    least, most = min(means), max(means)
    # A share is of a whole: its axis shows how much is missing.
    logarithmic = _spread(means) > LOGARITHMIC and metric.most == math.inf
    if metric.most < math.inf and least > 0.5 * metric.most:
        floor = 0.0 if least < 0.9 * metric.most else metric.most - 1.5 * (metric.most - least)
    else:
        floor = least / STRETCH if logarithmic else 0.0
    ceiling = min(most * STRETCH, metric.most)
    for row in rows:
        if row["low"] is not None:
            row["low"], row["high"] = max(row["low"], charts.rounded(floor)), min(row["high"], ceiling)
    ends = [*means, *(row[end] for row in rows for end in ("low", "high") if row[end] is not None)]
    if logarithmic:
        axis = charts.log_axis("mean", metric.format_type, None, ends, alt.Y).to_dict()
        return {name: axis[name] for name in ("scale", "axis", "title")}
    return {
        "scale": {"domain": [floor, max(ends) or 1], "nice": True, "zero": False},
        "axis": {
            "format": "",
            "formatType": metric.format_type,
            "tickCount": 5,
            "labelOverlap": "greedy",
            "domain": False,
            "ticks": False,
        },
        "title": None,
    }


def _spread(values: Sequence[float]) -> float:
    """The ratio of the largest to the smallest; 1 where not all are positive."""
    return max(values) / min(values) if min(values) > 0 else 1.0
