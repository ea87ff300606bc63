"""Slowdown over the size of flows: a chart for each place along x, with the lines and choices of the other charts."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import altair as alt

from flowyard import text
from flowyard.analysis import PERCENTILES
from flowyard.forks import pl
from flowyard.report import charts
from flowyard.report.sweep import lines
from flowyard.report.sweep.axis_types import value_label
from flowyard.report.sweep.lines import Layout
from flowyard.sweeps.subsample import evenly

HEIGHT = 200
# More panels than a reader compares: then some, evenly spread, are drawn.
MOST_PANELS = 12
# Rows that charts draw, a point and step of size each.
MOST_ROWS = 10_000
PARAMETER = "percentile"
NAMES = {name: name.replace("_", ".") for name in PERCENTILES}


@dataclass(frozen=True)
class Panel:
    """A chart: the id of its element, the place along x that it is of, Vega-Lite data."""

    key: str
    place: str
    spec: charts.Spec


def panels(table: pl.DataFrame, plan: Layout, first: Mapping[str, str]) -> list[Panel]:
    """The charts; none if no point has flows of several sizes, none has a slowdown, or rows are too many.

    Args:
        table: Sweep.over_size.
        plan: Which axis is shown how.
        first: What is chosen when the page opens, by the parameter.
    """
    table = table.filter(pl.col("slowdown_p50").is_not_null())
    points = table.select(pl.struct(list(plan.values)).n_unique()).item()
    # Of points with a step each there is no curve.
    if table.height in (0, points) or table.height > MOST_ROWS:
        return []
    rows = [_row(row, plan) for row in table.iter_rows(named=True)]
    ends = {
        name: charts.log_domain(
            [1.0, *(row[field] for row in rows for field in (name, f"{name}_high") if row[field])]
        )
        for name in PERCENTILES
    }
    sizes = charts.log_domain(table["size_up_to_bytes"].to_list())
    shown = evenly(plan.places[plan.x].labels, MOST_PANELS)
    found = []
    for i, place in enumerate(shown):
        own = [row for row, at in zip(rows, table[plan.x], strict=True) if value_label(at) == place]
        if own:
            found.append(Panel(f"size-{i}", place, _spec(own, plan, ends, sizes, first)))
    return found


def _row(row: dict[str, Any], plan: Layout) -> dict[str, Any]:
    fields = {
        "line": "",
        **lines.where(row, plan, [name for name in plan.values if name != plan.x]),
        "size": row["size_up_to_bytes"],
        "from": row["size_above_bytes"],
        "flows": charts.rounded(row["flows"]),
        "replicas": row["replicas"],
    }
    for name in PERCENTILES:
        mean, half = row[f"slowdown_{name}"], lines.drawn_half(row, f"slowdown_{name}")
        fields[name] = charts.rounded(mean)
        # A slowdown is hardly ever below 1, where the axis begins.
        least = max(mean / lines.STRETCH, min(mean, 1.0))
        fields[f"{name}_low"] = None if half is None else charts.rounded(max(mean - half, least))
        most = mean * lines.STRETCH
        fields[f"{name}_high"] = None if half is None else charts.rounded(min(mean + half, most))
        known = row[f"slowdown_{name}_ci95"]
        fields[f"{name}_said"] = text.ratio(mean) + ("" if known is None else f" ± {text.ratio(known)}")
    return fields


def _spec(
    rows: list[dict[str, Any]],
    plan: Layout,
    ends: Mapping[str, tuple[float, float]],
    sizes: tuple[float, float],
    first: Mapping[str, str],
) -> charts.Spec:
    picked = lines.picked(plan, "")
    base = charts.chart_of("rows").encode(
        x=charts.log_axis("size", "bytes", "flow size, up to", sizes),
        color=charts.colour_of(plan.lines, lines.line_field(plan)),
    )
    base = base.transform_filter(picked) if picked else base
    base = base.transform_calculate(
        mean=f"datum[{PARAMETER}]",
        low=f"datum[{PARAMETER} + '_low']",
        high=f"datum[{PARAMETER} + '_high']",
        said=f"datum[{PARAMETER} + '_said']",
    )
    tooltip = [
        *lines.tips(plan, [*([plan.colour] if plan.colour else []), *plan.picks]),
        charts.tip("from", "bytes", "sizes above"),
        charts.tip("size", "bytes", "sizes up to"),
        alt.Tooltip("said:N", title="slowdown"),
        charts.tip("flows", "count", "flows per run"),
        charts.tip("replicas", "count", "replicas"),
    ]
    field = lines.line_field(plan)
    opacity = charts.focused(field=field)
    band = base.mark_area(aria=False).encode(
        y="low:Q", y2="high:Q", opacity=charts.focused(0.16, 0.03, field)
    )
    stroke = base.mark_line(strokeWidth=2).encode(
        y="mean:Q", opacity=opacity, strokeDash=charts.strokes_of(plan.lines, field)
    )
    point = base.mark_point(filled=True, size=40, opacity=1).encode(
        y="mean:Q", opacity=opacity, tooltip=tooltip
    )
    spec = charts.spec_of(
        [band, stroke, point], HEIGHT, {**lines.parameters(plan, PARAMETER), PARAMETER: "p99"}, rows=rows
    )
    names = list(ends)
    y = {
        "scale": {
            "type": "log",
            "nice": False,
            "domain": [
                lines.by_choice(names, [ends[name][end] for name in names], PARAMETER) for end in (0, 1)
            ],
        },
        "axis": {
            "format": "",
            "formatType": "ratio",
            "values": lines.by_choice(names, [charts.log_ticks(*ends[name]) for name in names], PARAMETER),
            "labelOverlap": "greedy",
            "domain": False,
            "ticks": False,
        },
        "title": None,
    }
    for layer in spec["layer"]:
        layer["encoding"]["y"] |= y
    for parameter in spec["params"]:
        parameter["value"] = first.get(parameter["name"], parameter.get("value"))
    return spec
