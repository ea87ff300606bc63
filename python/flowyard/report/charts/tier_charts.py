"""Charts of a column of the links: its distribution over the links of each tier."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import altair as alt

from flowyard.analysis import spread_by_tier
from flowyard.forks import pl
from flowyard.report import charts
from flowyard.report.charts import overlays
from flowyard.run_data import Run

# Values drawn by all strips of a chart together.
STRIP_POINTS = 2400


def tier_chart(
    runs: Sequence[Run], column: str, format_type: str, title: str, *, of_queues: bool = False
) -> charts.Spec | None:
    """How a column of the links spreads over the links of each tier; None if it is zero everywhere.

    Those `of_queues` have lines at the lengths at which queues act.
    """
    # Links that carry nothing say nothing about those that do: of an incast they would be most of a tier.
    used = [run.links.filter(pl.col("packets") > 0) for run in runs]
    tables = [spread_by_tier(links, column) for links in used]
    if not any(table["max"].max() for table in tables):
        return None
    tiers = list(dict.fromkeys(name for table in tables for name in table["tier"]))
    datasets = _datasets(runs, tables, tiers)
    x = _values(format_type, title)
    layers = _layers(runs, tiers, x, format_type)
    if of_queues:
        rules, ruled = overlays.length_rules(runs, max(row["max"] for row in datasets["tiers"]), x)
        layers, datasets = [*rules[:1], *layers, *rules[1:]], {**datasets, **ruled}
    band = {1: 26, 2: 19, 3: 16}.get(len(runs), 14)
    height = len(tiers) * (band * len(runs) + band // 2)
    return charts.spec_of(layers, height, {}, **datasets)


def _datasets(
    runs: Sequence[Run], tables: Sequence[pl.DataFrame], tiers: Sequence[str]
) -> dict[str, list[dict[str, Any]]]:
    """A row for each tier of each run, and one for each of its links that is drawn."""
    most = max(8, STRIP_POINTS // (len(tiers) * len(runs)))
    boxes, marks = [], []
    for run, table in zip(runs, tables, strict=True):
        every = dict(run.links.group_by("tier").len().iter_rows())
        for row in table.iter_rows(named=True):
            key = {"run": run.label, "tier": row["tier"]}
            numbers = {
                name: charts.rounded(row[name]) for name in ("mean", "min", "p25", "p50", "p75", "max")
            }
            boxes.append({**key, "links": row["links"], "idle": every[row["tier"]] - row["links"], **numbers})
            step = max(1, math.ceil(len(row["strip"]) / most))
            shown = {charts.rounded(value) for value in [*row["strip"][::step], row["strip"][-1]]}
            marks += [{**key, "value": value} for value in sorted(shown)]
    return {"tiers": boxes, "links": marks}


def _values(format_type: str, title: str) -> Callable[[str], alt.X]:
    """The axis of values, for a field of the data."""
    axis = alt.Axis(
        format="",
        formatType=format_type,
        tickCount=5,
        labelFlush=False,
        # Of labels that do not fit every second one goes, so that the others stay evenly spaced.
        labelOverlap="parity",
        labelSeparation=6,
        gridDash=[2, 3],
        domain=False,
    )

    def x(field: str) -> alt.X:
        return alt.X(f"{field}:Q", title=title, axis=axis, scale=alt.Scale(zero=True, nice=True))

    return x


def _layers(
    runs: Sequence[Run], tiers: Sequence[str], x: Callable[[str], alt.X], format_type: str
) -> list[alt.Chart]:
    """Ticks of links, quartiles, mean and maximum of each tier; an unseen bar on which the pointer finds the row."""
    # The same order on every chart, whatever run has which tier.
    y = alt.Y(
        "tier:N",
        sort=tiers,
        title=None,
        axis=alt.Axis(ticks=False, domain=False, labelLimit=170, labelPadding=8),
        scale=alt.Scale(paddingInner=0.28, paddingOuter=0.12),
    )
    labels = charts.labels_of(runs)
    offset = alt.YOffset("run:N", sort=labels, scale=alt.Scale(domain=labels))
    shared = {"y": y, "yOffset": offset, "color": charts.colour_of(labels)}
    box = charts.chart_of("tiers")
    strip = (
        charts.chart_of("links")
        .mark_tick(orient="vertical", thickness=1, size=11)
        .encode(x=x("value"), opacity=charts.focused(0.4, 0.08), **shared)
    )
    quartiles = box.mark_bar(height=5, cornerRadius=2).encode(
        x=x("p25"), x2="p75:Q", opacity=charts.focused(0.85, 0.15), **shared
    )
    mean = box.mark_point(filled=True, size=52, stroke="var(--surface)", strokeWidth=1.5).encode(
        x=x("mean"), opacity=charts.focused(), **shared
    )
    most = box.mark_point(filled=False, size=60, strokeWidth=1.6).encode(
        x=x("max"), opacity=charts.focused(), **shared
    )
    hover = box.mark_bar(height=16, opacity=0).encode(
        x=x("min"), x2="max:Q", tooltip=_tooltip(format_type), **shared
    )
    return [strip, quartiles, mean, most, hover]


def _tooltip(format_type: str) -> list[alt.Tooltip]:
    labels = {"min": "least", "p25": "p25", "p50": "median", "p75": "p75", "max": "most", "mean": "mean"}
    return [
        charts.RUN,
        alt.Tooltip("tier:N"),
        charts.tip("links", "count", "links used"),
        charts.tip("idle", "count", "idle, left out"),
        *(charts.tip(name, format_type, label) for name, label in labels.items()),
    ]
