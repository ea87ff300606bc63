"""The report's charts as Vega-Lite data, and what charts of any report are put together from.

Colours are CSS variables, which the style sheet sets for light, dark and print: var(--run-0) ... var(--run-7).
Numbers are in the unit of the tables; the page's script formats them by the format types duration, bytes, rate,
share, ratio, count and label. All charts have a parameter `focus`: the label of the run or line to bring out, or
null.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol

import altair as alt

from flowyard.analysis import by_decile, distribution, due, flow_goodput
from flowyard.analysis.completion import are_apart
from flowyard.forks import pl
from flowyard.run_data import Run

Spec = dict[str, Any]

COLOURS = 8


class Labelled(Protocol):
    """A source of curves: a run, or a peer's flows."""

    @property
    def label(self) -> str:
        """Label in the report."""

    @property
    def measured(self) -> pl.DataFrame:
        """The flows that count."""


# Runs beyond the colours, and the second half of many runs, are told apart by dashes as well.
DASHES = ([1, 0], [6, 3], [2, 2])
HEIGHT = 260
# Marks of traffic entries, as many as charts show apart, with the letters that captions have for them.
SHAPES = {
    "circle": "●",
    "square": "■",
    "triangle-up": "▲",
    "diamond": "◆",
    "triangle-down": "▼",
    "cross": "✚",
    "triangle-left": "◀",
    "triangle-right": "▶",
}

# With a format of its own: without one, Vega-Lite 6 does not find the name of the nearest point.
RUN = alt.Tooltip("run:N", format="", formatType="label")

CONFIG: Spec = {
    "customFormatTypes": True,
    "background": "transparent",
    "font": "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": "var(--muted)",
        "titleColor": "var(--muted)",
        "gridColor": "var(--grid)",
        "domainColor": "var(--axis)",
        "tickColor": "var(--axis)",
        "labelFontSize": 11.5,
        "titleFontSize": 11.5,
        "titleFontWeight": "normal",
        "titlePadding": 8,
        "labelPadding": 5,
        "tickSize": 4,
    },
}


def fct_distribution(runs: Sequence[Labelled]) -> Spec | None:
    """Share of flows that are complete after a time; None if no flow is complete."""
    return _distribution(runs, [run.measured["fct_ps"] for run in runs], "duration", "flow completion time")


def slowdown_distribution(runs: Sequence[Labelled]) -> Spec | None:
    """Share of flows that are complete with at most a slowdown."""
    return _distribution(runs, [run.measured["slowdown"] for run in runs], "ratio", "slowdown")


def goodput_distribution(runs: Sequence[Labelled]) -> Spec | None:
    """Share of completed flows with at most a goodput."""
    values = [flow_goodput(run.measured) for run in runs]
    return _distribution(runs, values, "rate", "goodput of a flow", "completed flows", [None] * len(runs))


def against_deadline_distribution(runs: Sequence[Run]) -> Spec | None:
    """Share of the flows with a deadline that are complete within a multiple of it; None if none of them is."""
    tables = [due(run.measured) for run in runs]
    values = [(table["fct_ps"] / table["deadline_ps"]).rename("value") for table in tables]
    return _distribution(
        runs, values, "ratio", "completion time / deadline", "flows with a deadline", [len(v) for v in values]
    )


def entries_apart(runs: Sequence[Labelled]) -> list[str]:
    """The traffic entries of the flows, where charts show them apart; else none."""
    tags = [run.measured["tag"].cast(pl.String).unique(maintain_order=True) for run in runs]
    found = list(dict.fromkeys(tag for own in tags for tag in own))
    return found if are_apart(len(found)) else []


def slowdown_by_size(runs: Sequence[Labelled]) -> Spec | None:
    """Median and 99th percentile of the slowdown of each tenth of the flows, by size.

    Several traffic entries have tenths of their own, which no line joins: flows of one size would be half of the tenths
    of all flows, and a line from them to those of other sizes would be of no flows.
    """
    rows = []
    entries = entries_apart(runs)
    parts = [
        (
            run.label,
            entry,
            run.measured.filter(pl.col("tag").cast(pl.String) == entry) if entries else run.measured,
        )
        for run in runs
        for entry in entries or [""]
    ]
    for label, entry, flows in parts:
        for row in by_decile(flows).iter_rows(named=True):
            shared = {
                "run": label,
                **({"entry": entry} if entries else {}),
                "size": row["size_bytes"],
                "from": row["size_min_bytes"],
                "flows": row["flows"],
                "completed": rounded(row["completed_fraction"]),
            }
            rows += [
                {**shared, "percentile": name, "slowdown": rounded(row[f"slowdown_{name}"])}
                for name in ("p50", "p99")
                if row[f"slowdown_{name}"] is not None
            ]
    if not rows:
        return None
    base = chart_of("rows").encode(
        x=log_axis("size", "bytes", "largest flow of the decile", [row["size"] for row in rows]),
        y=log_axis("slowdown", "ratio", "slowdown", [1.0, *(row["slowdown"] for row in rows)], alt.Y),
        color=colour_of(labels_of(runs)),
        opacity=focused(),
        tooltip=[
            RUN,
            *([alt.Tooltip("entry:N", format="", formatType="label")] if entries else []),
            alt.Tooltip("percentile:N"),
            tip("slowdown", "ratio", "slowdown"),
            tip("from", "bytes", "sizes from"),
            tip("size", "bytes", "sizes to"),
            tip("flows", "count", "flows"),
            tip("completed", "share", "completed"),
        ],
    )
    percentile = alt.StrokeDash(
        "percentile:N", scale=alt.Scale(domain=["p99", "p50"], range=[[1, 0], [5, 3]]), legend=None
    )
    if has_more_than_colours(runs):
        # Dashes tell runs of one colour apart, and only points show the median.
        high = base.transform_filter("datum.percentile === 'p99'")
        line = high.mark_line(strokeWidth=2).encode(strokeDash=strokes_of(labels_of(runs)))
    else:
        line = base.mark_line(strokeWidth=2).encode(strokeDash=percentile)
    # A point that no line passes through says by itself which percentile it is.
    dots = [
        base.transform_filter("datum.percentile === 'p99'").mark_point(filled=True, size=42, opacity=1),
        base.transform_filter("datum.percentile === 'p50'").mark_point(
            filled=False, size=36, opacity=1, strokeWidth=1.6, fill="var(--surface)"
        ),
    ]
    if entries:
        line = line.encode(detail="entry:N")
        shape = alt.Shape(
            "entry:N", scale=alt.Scale(domain=entries, range=list(SHAPES)[: len(entries)]), legend=None
        )
        dots = [dot.encode(shape=shape) for dot in dots]
    return spec_of([line, *dots], HEIGHT, rows=rows)


def nearest_point(*fields: str) -> alt.Parameter:
    """The point nearest to the pointer, by these fields; none while the pointer is outside."""
    return alt.selection_point(
        name="hover", nearest=True, on="pointermove", clear="pointerout", fields=list(fields), empty=False
    )


def _distribution(
    runs: Sequence[Labelled],
    values: Iterable[pl.Series],
    format_type: str,
    title: str,
    whole: str = "all flows",
    populations: Sequence[int | None] | None = None,
) -> Spec | None:
    """Distribution functions; `whole` names what shares are of: all measured flows, or so many of each run."""
    rows: list[dict[str, Any]] = []
    sizes = populations or [run.measured.height for run in runs]
    for run, column, population in zip(runs, values, sizes, strict=True):
        table = distribution(column, population)
        if table.height:
            points = [(table["value"][0], 0.0), *table.iter_rows()]
            rows += [
                {"run": run.label, "value": rounded(value), "share": rounded(share)}
                for value, share in points
            ]
    if not rows:
        return None
    hover = nearest_point("value", "share", "run")
    share = alt.Y(
        "share:Q",
        title=f"share of {whole}",
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(format="", formatType="share", tickCount=5, domain=False, ticks=False),
    )
    base = chart_of("rows").encode(
        x=log_axis("value", format_type, title, [row["value"] for row in rows]),
        y=share,
        color=colour_of(labels_of(runs)),
    )
    line = base.mark_line(interpolate="step-after", strokeWidth=2, strokeJoin="round").encode(
        strokeDash=strokes_of(labels_of(runs)), opacity=focused()
    )
    tooltip = [
        RUN,
        tip("value", format_type, title),
        tip("share", "share", "share of flows"),
    ]
    point = (
        base.mark_point(filled=True, size=70, stroke="var(--surface)", strokeWidth=1.5)
        .encode(opacity=alt.condition(hover, alt.value(1), alt.value(0)), tooltip=tooltip)
        .add_params(hover)
    )
    return spec_of([line, point], HEIGHT, rows=rows)


def chart_of(data: str) -> alt.Chart:
    """A chart of a dataset that `spec_of` is given."""
    # By name: Altair would check and copy every row, again and again.
    return alt.Chart(alt.NamedData(name=data))


def spec_of(
    layers: list[alt.Chart],
    height: int,
    params: Mapping[str, Any] = MappingProxyType({}),
    **datasets: list[dict[str, Any]],
) -> Spec:
    """Layers as one chart, with the parameter `focus` and others, each with its value."""
    fit = alt.AutoSizeParams(type="fit-x", contains="padding")
    chart = alt.LayerChart(layer=layers).properties(width="container", height=height, autosize=fit)
    given = [alt.param(name=name, value=value) for name, value in {"focus": None, **params}.items()]
    # What is put together above has been checked part by part.
    spec = chart.add_params(*given).to_dict(validate=False)
    # The page says what it is; an address in the file would only look like one that is loaded.
    del spec["$schema"]
    return {**spec, "config": CONFIG, "datasets": datasets}


def labels_of(runs: Sequence[Labelled]) -> list[str]:
    """Labels of the runs."""
    return [run.label for run in runs]


def has_more_than_colours(runs: Sequence[Labelled]) -> bool:
    """Whether some runs share a colour."""
    return len(runs) > COLOURS


def colour_of(labels: Sequence[str], field: str = "run", channel: Any = alt.Color) -> Any:
    """Each label's colour, of a mark as a whole, or of its fill or stroke."""
    colours = [f"var(--run-{i % COLOURS})" for i in range(len(labels))]
    return channel(f"{field}:N", scale=alt.Scale(domain=list(labels), range=colours), legend=None)


def dash(index: int, lines: int) -> list[int]:
    """Strokes and gaps of one of several lines: up to four are all full."""
    return DASHES[0] if lines <= COLOURS // 2 else DASHES[index // (COLOURS // 2) % len(DASHES)]


def strokes_of(labels: Sequence[str], field: str = "run") -> alt.StrokeDash:
    """Each label's strokes and gaps."""
    dashes = [dash(i, len(labels)) for i in range(len(labels))]
    return alt.StrokeDash(f"{field}:N", scale=alt.Scale(domain=list(labels), range=dashes), legend=None)


def focused(full: float = 1.0, dimmed: float = 0.15, field: str = "run") -> Any:
    """The opacity of what is brought out, and of the rest."""
    return alt.condition(f"focus === null || datum.{field} === focus", alt.value(full), alt.value(dimmed))


def tip(field: str, format_type: str, title: str) -> alt.Tooltip:
    """A line of a tooltip."""
    return alt.Tooltip(f"{field}:Q", format="", formatType=format_type, title=title)


def log_axis(
    field: str, format_type: str, title: str | None, values: Sequence[float], channel: Any = alt.X
) -> Any:
    """A logarithmic axis for values, with labels at round numbers."""
    low, high = log_domain([value for value in values if value > 0])
    axis = alt.Axis(
        format="",
        formatType=format_type,
        values=log_ticks(low, high),
        labelOverlap="greedy",
        labelSeparation=6 if channel is alt.X else 0,
        domain=channel is alt.X,
        ticks=channel is alt.X,
    )
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    return channel(f"{field}:Q", title=title, scale=scale, axis=axis)


def log_domain(values: Sequence[float]) -> tuple[float, float]:
    """Ends of a logarithmic axis: a little more than the values, and never less than a factor of two."""
    low, high = min(values, default=1.0), max(values, default=1.0)
    margin = max((high / low) ** 0.02, 1.02)
    low, high = low / margin, high * margin
    widen = max(1.0, math.sqrt(2 * low / high))
    return rounded(low / widen), rounded(high * widen)


def log_ticks(low: float, high: float) -> list[float]:
    """Round numbers between two ends: 1, 2, 5 in each decade; only powers of ten if there are many decades."""
    decades = math.log10(high / low)
    steps = "1 1.2 1.5 2 2.5 3 4 5 6 8" if decades < 0.7 else "1 2 5" if decades < 2.5 else "1"
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    ticks = [float(f"{step}e{power}") for power in range(first, last + 1) for step in steps.split()]
    return [tick for tick in ticks if low <= tick <= high]


def rounded(value: float) -> float:
    """Five significant digits: more than a pixel can show, and half the file."""
    number = float(f"{value:.5g}")
    return int(number) if number == int(number) else number
