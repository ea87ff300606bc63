"""A sweep's charts as Vega-Lite data: a metric over one axis, with the confidence interval of each mean.

One axis is along x, one has colours, and of every further one the page lets the reader choose a value: the
charts have a parameter pick0, pick1 ... for each. Which axis is along x the reader may choose, too: the rows of a chart
are the same for all these layouts. A chart may show one of several tables at a time, chosen by a parameter: groups of
flows, or kinds of packets.
"""

import copy
import functools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import altair as alt

from flowyard import text
from flowyard.forks import pl
from flowyard.report import charts
from flowyard.report.loads import STEADY, state
from flowyard.report.metrics import Metric
from flowyard.report.sweep.axis_types import LOGARITHMIC, AxisType, axis_type, is_numeric, value_label

HEIGHT = 260
# More lines than colours and dashes can tell apart: then the axis is chosen, not coloured.
MOST_LINES = charts.COLOURS * len(charts.DASHES)
# Up to so many places of a numeric axis, each has a label.
LABELLED = 12
# How far an interval may stretch the chart beyond its largest mean; a wider one leaves the chart.
STRETCH = 2
# Of two values Student's t is 12.7: the interval would fill the chart. It is said, not drawn.
FEWEST = 3


class Shown(NamedTuple):
    """One of the tables that a chart shows: what the reader chooses it by, its rows, one per point, its metric."""

    name: str
    means: pl.DataFrame
    metric: Metric


class Against(NamedTuple):
    """A number of each point along x in place of an axis: its column in Sweep.means, name, the ends of the scale."""

    column: str
    name: str
    ends: tuple[float, float]


@dataclass(frozen=True, eq=False)
class Layout:
    """Which axis is shown how.

    Attributes:
        values: The values of each axis that varies.
        x: The axis along x.
        colour: The axis of the colours, if any.
        picks: The axes of which the reader chooses one value.
        first: The layout that the page begins with, by whose parts the fields of rows are called; None of itself.
        against: What stands along x in place of the axis, which then orders the points of a line.
    """

    values: Mapping[str, Sequence[Any]]
    x: str
    colour: str | None = None
    picks: list[str] = field(default_factory=list)
    first: "Layout | None" = None
    against: Against | None = None

    @functools.cached_property
    def places(self) -> dict[str, AxisType]:
        """Type of each axis."""
        return {name: axis_type(values) for name, values in self.values.items()}

    @functools.cached_property
    def slots(self) -> dict[str, str]:
        """Names of the fields of each axis: the axes' own names may be anything."""
        if self.first is not None:
            return self.first.slots
        named = {self.x: "x"} | ({self.colour: "line"} if self.colour else {})
        return named | {name: f"pick{i}" for i, name in enumerate(self.picks)}

    def label(self, axis: str) -> str:
        """The field of an axis's labels."""
        slot = self.slots[axis]
        return "said_x" if slot == "x" and self.places[axis].numbers is not None else slot

    def number(self, axis: str) -> str:
        """The field of where an axis's values stand: on its scale, or in the plan."""
        slot = self.slots[axis]
        if self.places[axis].numbers is not None:
            return "x" if slot == "x" else f"at_{slot}"
        return "place" if slot == "x" else f"at_{slot}"

    def parameter(self, axis: str) -> str:
        """The charts' parameter by which a value of an axis is chosen."""
        slot = self.slots[axis]
        return slot if slot.startswith("pick") else f"pick_{slot}"

    @property
    def title(self) -> str:
        """The axis along x."""
        return self.against.name if self.against else self.x

    @property
    def ordered(self) -> bool:
        """Whether there is a way from one place of x to the next: numbers and quantities have it, names have not."""
        return self.against is not None or self.places[self.x].ordered

    @property
    def lines(self) -> list[str]:
        """Labels of the colours; one empty text if there is no such axis."""
        return self.places[self.colour].labels if self.colour else [""]


def layout(axes: Mapping[str, Sequence[Any]]) -> Layout | None:
    """Along x the first axis of more than two numbers, else of quantities, else of two; None if nothing varies.

    If no axis has either, the first one is along x.
    """
    values = {name: own for name, own in axes.items() if len(own) > 1}
    if not values:
        return None
    many = [name for name, found in values.items() if len(found) > 2]
    numbers = [name for name in many if is_numeric(values[name])]
    quantities = [name for name in many if axis_type(values[name]).numbers is not None]
    two = [name for name, found in values.items() if axis_type(found).numbers is not None]
    return with_x(values, [*numbers, *quantities, *two, *values][0])


def layouts(axes: Mapping[str, Sequence[Any]]) -> list[Layout]:
    """The layout that the page begins with, and one for each other axis along x."""
    first = layout(axes)
    if first is None:
        return []
    others = [name for name in first.values if name != first.x]
    return [first, *(with_x(first.values, name, first) for name in others)]


def with_x(values: Mapping[str, Sequence[Any]], x: str, first: Layout | None = None) -> Layout:
    """The layout with that axis along x: the first of the others that colours can tell apart has them."""
    others = [name for name in values if name != x]
    colour = next((name for name in others if len(values[name]) <= MOST_LINES), None)
    return Layout(values, x, colour, [name for name in others if name != colour], first)


def line(means: pl.DataFrame, plan: Layout, metric: Metric) -> charts.Spec | None:
    """The chart of a metric; None if no point has a value."""
    return chart([Shown("", means, metric)], [plan])[0]


def chart(
    shown: Sequence[Shown], plans: Sequence[Layout], parameter: str = ""
) -> tuple[charts.Spec | None, list[charts.Spec]]:
    """A chart, and how it looks with the other layouts, without its rows.

    Args:
        shown: What it shows; of several the reader chooses one.
        plans: The layout that the page begins with, and others.
        parameter: By which one of several is chosen.

    Returns:
        None and nothing if no point has a value.
    """
    tables = [
        Shown(one.name, table, one.metric)
        for one in shown
        if not (table := one.means.filter(pl.col(one.metric.column).is_not_null())).is_empty()
    ]
    if not tables:
        return None, []
    plan = plans[0]
    chosen = parameter if len(tables) > 1 else ""
    against = [each.against.column for each in plans if each.against]
    marked = any(state(row) != STEADY for one in tables for row in one.means.iter_rows(named=True))
    rows: dict[str, list[dict[str, Any]]] = {
        one.name: [_row(row, plan, one.metric, against, marked) for row in one.means.iter_rows(named=True)]
        for one in tables
    }
    y = _y(list(rows.values()), [one.metric for one in tables], list(rows), chosen)
    if chosen:
        for name, own in rows.items():
            for row in own:
                row[chosen] = name
    first = {plan.parameter(name): value_label(tables[0].means[name][0]) for name in plan.values}
    first[chosen] = tables[0].name
    specs = []
    for layout in plans:
        spec = copy.deepcopy(_frame(layout, chosen, marked))
        for layer in spec["layer"]:
            layer["encoding"]["y"] |= y
            for tip in layer["encoding"].get("tooltip", []):
                tip["title"] = tables[0].metric.name if tip["field"] == "said" else tip["title"]
        for param in spec["params"]:
            param["value"] = first.get(param["name"])
        specs.append(spec)
    return {**specs[0], "datasets": {"rows": [row for own in rows.values() for row in own]}}, [
        {name: part for name, part in spec.items() if name != "datasets"} for spec in specs[1:]
    ]


# Checking its parts takes altair most of the time of a report.
@functools.lru_cache(maxsize=16)
def _frame(plan: Layout, chosen: str, marked: bool) -> charts.Spec:
    """The common part of all metrics' charts: all but the rows, the axis of the metric and its name.

    With `marked`, points that are not in a steady state or do not carry their load are hollow.
    """
    field = line_field(plan)
    bare = charts.chart_of("rows").encode(x=_x(plan))
    bare = bare.transform_filter(wanted) if (wanted := picked(plan, chosen)) else bare
    base = bare.encode(color=charts.colour_of(plan.lines, field))
    tooltip = [
        *tips(plan, [plan.x, *([plan.colour] if plan.colour else []), *plan.picks]),
        *([charts.tip(plan.against.column, "ratio", plan.against.name)] if plan.against else []),
        alt.Tooltip("said:N", title=""),
        charts.tip("replicas", "count", "replicas"),
        alt.Tooltip("completed:N", title="completed"),
        *([alt.Tooltip("state:N", title="state")] if marked else []),
    ]
    opacity = charts.focused(field=field)
    point = (
        (_hollow(bare, plan, field) if marked else base)
        .mark_point(filled=True, size=55, opacity=1)
        .encode(y="mean:Q", opacity=opacity, tooltip=tooltip)
    )
    # Points carry the words; of an interval that is not there none could be made.
    if plan.ordered:
        band = base.mark_area(aria=False).encode(
            y="low:Q", y2="high:Q", opacity=charts.focused(0.16, 0.03, line_field(plan))
        )
        strokes = charts.strokes_of(plan.lines, line_field(plan))
        order = f"{plan.number(plan.x)}:Q"
        stroke = base.mark_line(strokeWidth=2).encode(
            y="mean:Q", opacity=opacity, strokeDash=strokes, order=order
        )
        layers = [band, stroke, point]
    else:
        # Between names there is nothing: whiskers in place of a band, and side by side.
        offset = alt.XOffset(f"{line_field(plan)}:N", sort=None, scale=alt.Scale(domain=plan.lines))
        whisker = base.mark_rule(strokeWidth=2, aria=False).encode(
            y="low:Q", y2="high:Q", opacity=opacity, xOffset=offset
        )
        layers = [whisker, point.encode(xOffset=offset)]
    return charts.spec_of(layers, HEIGHT, parameters(plan, chosen))


def _hollow(bare: alt.Chart, plan: Layout, field: str) -> alt.Chart:
    """Its points are filled with the colour of their line, or only drawn in it if they are marked."""
    fill, stroke = (charts.colour_of(plan.lines, field, channel) for channel in (alt.Fill, alt.Stroke))
    inside = alt.condition(f"datum.state !== '{STEADY}'", alt.value("var(--surface)"), fill)
    return bare.encode(fill=inside, stroke=stroke, strokeWidth=alt.value(2))


def line_field(plan: Layout) -> str:
    """The field of the axis of the colours."""
    return plan.label(plan.colour) if plan.colour else "line"


def picked(plan: Layout, chosen: str) -> str:
    """Which rows are shown, in Vega's words; nothing if all are."""
    wanted = {plan.label(name): plan.parameter(name) for name in plan.picks}
    wanted |= {chosen: chosen} if chosen else {}
    return " && ".join(f"datum.{name} === {parameter}" for name, parameter in wanted.items())


def parameters(plan: Layout, chosen: str) -> dict[str, None]:
    """The parameters of a chart, but for the line that is brought out."""
    return dict.fromkeys([*map(plan.parameter, plan.picks), *([chosen] if chosen else [])])


def tips(plan: Layout, axes: Sequence[str]) -> list[alt.Tooltip]:
    """Where a point stands on some axes, in lines of a tooltip."""
    return [alt.Tooltip(f"{plan.label(name)}:N", title=name) for name in axes]


def where(row: Mapping[str, Any], plan: Layout, axes: Sequence[str]) -> dict[str, Any]:
    """The fields that say where a point stands on some axes, by the names of the first layout."""
    fields: dict[str, Any] = {}
    for name in axes:
        label, found = value_label(row[name]), plan.places[name]
        place = found.labels.index(label)
        fields[plan.number(name)] = place if found.numbers is None else found.numbers[place]
        fields[plan.label(name)] = label
    return fields


def drawn_half(row: Mapping[str, Any], column: str) -> float | None:
    """Half the interval of a mean, where it is drawn."""
    half: float | None = row[f"{column}_ci95"]
    return half if row["replicas"] >= FEWEST else None


def _row(
    row: Mapping[str, Any], plan: Layout, metric: Metric, against: Sequence[str], marked: bool
) -> dict[str, Any]:
    mean, half = row[metric.column], drawn_half(row, metric.column)
    return {
        "line": "",
        **where(row, plan, list(plan.values)),
        "mean": charts.rounded(mean),
        "low": None if half is None else charts.rounded(max(mean - half, 0.0)),
        "high": None if half is None else charts.rounded(min(mean + half, metric.most)),
        "said": metric.mean(row),
        "replicas": row["replicas"],
        "completed": text.percent(row["completed_fraction"]),
        **{column: None if row[column] is None else charts.rounded(row[column]) for column in against},
        **({"state": state(row)} if marked else {}),
    }


def _x(plan: Layout) -> alt.X:
    if plan.against:
        axis = alt.Axis(format="", formatType="ratio", labelOverlap="greedy", grid=False, tickCount=8)
        scale = alt.Scale(domain=list(plan.against.ends), type="linear", zero=False, nice=False, padding=10)
        return alt.X(f"{plan.against.column}:Q", title=plan.against.name, scale=scale, axis=axis)
    found = plan.places[plan.x]
    kind: dict[str, Any]
    if found.numbers is None:
        upright = sum(map(len, found.labels)) < 50
        axis = alt.Axis(labelAngle=0 if upright else -35, labelLimit=140, labelOverlap="greedy", grid=False)
        kind = {"type": "point", "padding": 0.3}
        if not plan.ordered:
            kind = {"type": "band", "paddingInner": 0.5, "paddingOuter": 0.25}
        scale = alt.Scale(domain=found.labels, **kind)
        return alt.X(f"{plan.label(plan.x)}:N", title=plan.x, scale=scale, axis=axis)
    numbers = found.numbers
    axis = alt.Axis(
        format="",
        formatType=found.format_type,
        labelOverlap="greedy",
        grid=False,
        **({"values": sorted(numbers)} if len(numbers) <= LABELLED else {"tickCount": 8}),
    )
    kind = {"type": "log"} if found.logarithmic else {"type": "linear", "zero": False}
    scale = alt.Scale(domain=[min(numbers), max(numbers)], nice=False, padding=10, **kind)
    return alt.X(f"{plan.number(plan.x)}:Q", title=plan.x, scale=scale, axis=axis)


def _y(
    tables: Sequence[list[dict[str, Any]]], metrics: Sequence[Metric], names: Sequence[str], chosen: str
) -> dict[str, Any]:
    """The axis of the metric; the page says above the chart what it is. Each table has ends of its own.

    Bounds of intervals that would stretch it too far are moved to its end.
    """
    # A share is of a whole: its axis shows how much is missing.
    logarithmic = metrics[0].most == math.inf and any(
        _spread([row["mean"] for row in rows]) > LOGARITHMIC for rows in tables
    )
    logarithmic = logarithmic and all(row["mean"] > 0 for rows in tables for row in rows)
    ends = [_ends(rows, metric, logarithmic) for rows, metric in zip(tables, metrics, strict=True)]
    if logarithmic:
        domains = [charts.log_domain([value for value in own if value > 0]) for own in ends]
    else:
        domains = [(min(own), max(own) or 1) for own in ends]
    scale: dict[str, Any] = {"type": "log", "nice": False} if logarithmic else {"nice": True, "zero": False}
    scale["domain"] = [by_choice(names, [domain[end] for domain in domains], chosen) for end in (0, 1)]
    ticks = by_choice(names, [charts.log_ticks(*domain) for domain in domains if logarithmic], chosen)
    return {
        "scale": scale,
        "axis": {
            "format": "",
            "formatType": metrics[0].format_type,
            "labelOverlap": "greedy",
            "domain": False,
            "ticks": False,
            **({"values": ticks} if logarithmic else {"tickCount": 5}),
        },
        "title": None,
    }


def by_choice(names: Sequence[str], values: Sequence[Any], chosen: str) -> Any:
    """The first of some values, or where something is chosen the one that belongs to that, in Vega's words."""
    if not values or not chosen:
        return values[0] if values else None
    # Of a choice that the chart does not have nothing is shown, on any axis.
    known = json.dumps(dict(zip(names, values, strict=True)), ensure_ascii=False)
    return {"expr": f"({known})[{chosen}] || {json.dumps(values[0])}"}


def _ends(rows: list[dict[str, Any]], metric: Metric, logarithmic: bool) -> list[float]:
    """Values that the axis has to include, its own least value first."""
    means = [row["mean"] for row in rows]
    least, most = min(means), max(means)
    if metric.most < math.inf and least > 0.5 * metric.most:
        floor = 0.0 if least < 0.9 * metric.most else metric.most - 1.5 * (metric.most - least)
    else:
        floor = least / STRETCH if logarithmic else 0.0
    ceiling = min(most * STRETCH, metric.most)
    for row in rows:
        if row["low"] is not None:
            row["low"], row["high"] = max(row["low"], charts.rounded(floor)), min(row["high"], ceiling)
    ends = [*means, *(row[end] for row in rows for end in ("low", "high") if row[end] is not None)]
    return ends if logarithmic else [floor, *ends]


def _spread(values: Sequence[float]) -> float:
    """The ratio of the largest to the smallest; 1 where not all are positive."""
    return max(values) / min(values) if min(values) > 0 else 1.0
