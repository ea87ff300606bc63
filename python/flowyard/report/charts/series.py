"""Samples over time: queues and utilisation of links, windows and rates of flows.

A page holds the series of a few links and flows, chosen here: all that were sampled if they are few, else those that
come out worst. The measuring window, or the whole run, is cut into spans of equal length. Of each, the least and the
largest sample are kept, at their own times: no peak is lost, and what lies between is not shown.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from flowyard import text
from flowyard.analysis import worst_links
from flowyard.forks import pl
from flowyard.report import charts
from flowyard.report.charts import overlays
from flowyard.run_data import Run

# Links and flows of a page.
MOST_LINKS, MOST_FLOWS = 8, 8
# Spans of a series: at most, of all runs together, and at least.
SPANS, SPANS_OF_ALL, LEAST_SPANS = 120, 360, 40
HEIGHT = 240


@dataclass(frozen=True)
class Kind:
    """A series: its name in samples.parquet, its words, and the format of its numbers."""

    series: str
    title: str
    term: str
    caption: str
    format_type: str


LINK_KINDS = (
    Kind("queue_bytes", "Queue over time", "queue_sampled", "Bytes in the port at each sample.", "bytes"),
    Kind(
        "utilisation", "Utilisation over time", "utilisation_sampled",
        "Share of the interval before each sample in which the link was busy.", "share",
    ),
)  # fmt: skip
FLOW_KINDS = (
    Kind("cwnd_bytes", "Window over time", "cwnd", "Congestion window at each sample.", "bytes"),
    Kind(
        "rate_bps", "Rate over time", "rate_sampled",
        "Payload delivered in the interval before each sample, a second. It is counted in whole packets, and in "
        "short intervals may exceed the link's rate.", "rate",
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Chosen:
    """Links or flows whose series a page holds.

    Attributes:
        names: What they are called; runs that have the same one are compared.
        places: For each run, the place in `names` of each that it has, by the id in its samples.
        sampled: How many there are in the samples of all runs.
    """

    names: list[str]
    places: list[dict[int, int]]
    sampled: int


def links(runs: Sequence[Run]) -> Chosen:
    """The links to show: of each run the worst in turn, by packets dropped, trimmed, marked, then by largest queue."""
    ranked = []
    for run in runs:
        sampled = run.links.filter(pl.col("id").is_in(_ids(run, LINK_KINDS)))
        worst = worst_links(sampled, sampled.height)
        table = pl.concat(
            [worst, sampled.join(worst.select("id"), on="id", how="anti", maintain_order="left")]
        )
        ranked.append({f"{row['from']} → {row['to']}": row["id"] for row in table.iter_rows(named=True)})
    return _chosen(ranked, MOST_LINKS)


def flows(runs: Sequence[Run]) -> Chosen:
    """The flows to show: of each run the unfinished, those that lost most to faults, and the slowest, in turn."""
    order = ["completed", "lost", "slowdown", "fct_ps", "id"]
    ranked = []
    for run in runs:
        sampled = run.flows.filter(pl.col("id").is_in(_ids(run, FLOW_KINDS)))
        table = sampled.sort(order, descending=[False, True, True, True, False], nulls_last=True)
        ranked.append({_flow(row): row["id"] for row in table.iter_rows(named=True)})
    return _chosen(ranked, MOST_FLOWS)


def _flow(row: dict[str, Any]) -> str:
    return f"flow {row['id']}: host {row['src']} → host {row['dst']}, {text.size(row['size_bytes'])}"


def _chosen(ranked: Sequence[dict[str, int]], most: int) -> Chosen:
    """Of each run's names, worst first, with their ids: the first of each run, then the second, and so on."""
    orders = [list(names) for names in ranked]
    longest = max(map(len, orders), default=0)
    in_turn = dict.fromkeys(names[i] for i in range(min(longest, most)) for names in orders if i < len(names))
    names = list(in_turn)[:most]
    places = [{ids[name]: place for place, name in enumerate(names) if name in ids} for ids in ranked]
    return Chosen(names, places, len(set().union(*ranked)))


def over_time(runs: Sequence[Run], kind: Kind, chosen: Chosen, parameter: str) -> charts.Spec | None:
    """A series of each chosen link or flow, a line for each run; None if no sample is of it.

    Args:
        runs: The runs, of which some may have no samples.
        kind: The series.
        chosen: Links or flows.
        parameter: The chart's parameter that names the one to show.
    """
    rows: list[dict[str, Any]] = [
        {"run": run.label, "of": places[id_], "time": time, "value": charts.rounded(value)}
        for run, places in zip(runs, chosen.places, strict=True)
        for id_, time, value in decimated(run, kind.series, places, spans(runs))
    ]
    if not rows:
        return None
    labels = [run.label for run in runs]
    axis = alt.Axis(format="", formatType="duration", tickCount=6)
    values = alt.Axis(format="", formatType=kind.format_type, tickCount=5, domain=False, ticks=False)

    def x(field: str) -> alt.X:
        scale = alt.Scale(nice=False, zero=False)
        return alt.X(f"{field}:Q", title="simulated time", axis=axis, scale=scale)

    def y(field: str) -> alt.Y:
        return alt.Y(f"{field}:Q", title=None, axis=values, scale=alt.Scale(zero=True))

    base = (
        charts.chart_of("rows")
        .transform_filter(f"toString(datum.of) === {parameter}")
        .encode(
            x=x("time"),
            y=y("value"),
            color=charts.colour_of(labels),
        )
    )
    hover = charts.nearest_point("time", "run")
    line = base.mark_line(strokeWidth=1.5, strokeJoin="round").encode(
        strokeDash=charts.strokes_of(labels), opacity=charts.focused()
    )
    tooltip = [
        alt.Tooltip("run:N", format="", formatType="label"),
        charts.tip("time", "duration", "time"),
        charts.tip("value", kind.format_type, kind.title.removesuffix(" over time").lower()),
    ]
    point = (
        base.mark_point(filled=True, size=60, stroke="var(--surface)", strokeWidth=1.5)
        .encode(opacity=alt.condition(hover, alt.value(1), alt.value(0)), tooltip=tooltip)
        .add_params(hover)
    )
    bands, shaded = overlays.fault_bands(runs, x)
    layers, datasets = [*bands, line, point], {"rows": rows, **shaded}
    if kind.series == "queue_bytes":
        rules, ruled = overlays.length_rules(runs, max(row["value"] for row in rows), y)
        layers, datasets = [*bands, *rules[:1], line, *rules[1:], point], {**datasets, **ruled}
    return charts.spec_of(layers, HEIGHT, {parameter: "0"}, **datasets)


def spans(runs: Sequence[Run]) -> int:
    """Into how many spans the measured time of each run is cut."""
    return max(LEAST_SPANS, min(SPANS, SPANS_OF_ALL // len(runs)))


def decimated(run: Run, series: str, ids: Iterable[int], spans: int) -> list[tuple[int, int, float]]:
    """Some series of a run as (id, time_ps, value), by id and time: of each span the least and the largest sample."""
    if run.samples is None:
        return []
    wanted = run.samples.filter((pl.col("series") == series) & pl.col("id").is_in(list(ids)))
    start, span = run.window_ps[0], max(1, -(-(run.window_length_ps + 1) // spans))
    extremes = (
        wanted.select("id", "time_ps", "value", span=(pl.col("time_ps").cast(pl.Int64) - start) // span)
        .group_by("id", "span")
        .agg(
            pl.col("time_ps", "value").sort_by("value", "time_ps").first().name.prefix("low_"),
            pl.col("time_ps", "value").sort_by("value", "time_ps").last().name.prefix("high_"),
        )
        .collect(engine="streaming")
    )
    ends = [
        extremes.select("id", time_ps=f"{end}_time_ps", value=f"{end}_value").cast({"time_ps": pl.UInt64})
        for end in ("low", "high")
    ]
    return list(pl.concat(ends).unique().sort("id", "time_ps", "value").iter_rows())


def _ids(run: Run, kinds: Iterable[Kind]) -> list[int]:
    if run.samples is None:
        return []
    wanted = run.samples.filter(pl.col("series").is_in([kind.series for kind in kinds]))
    return wanted.select(pl.col("id").unique()).collect(engine="streaming")["id"].to_list()
