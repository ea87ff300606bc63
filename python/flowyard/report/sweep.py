"""The report on a sweep: what was swept, each metric over the axes with its confidence interval, all points.

    folder of a sweep -> sweeps.results.Sweep -> sweep_facts, sweep_notices, lines (charts), tables of text -> page

Numbers are those of Sweep.means.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from flowyard import folders
from flowyard.analysis import picoseconds
from flowyard.errors import UserError
from flowyard.report import (
    MARK,
    charts,
    facts,
    frame,
    lines,
    reasons,
    runs,
    sweep_facts,
    sweep_notices,
    terms,
    text,
)
from flowyard.report.lines import Layout, Metric
from flowyard.report.tables import Cell
from flowyard.report.terms import Term
from flowyard.sweeps.results import DEADLINES, Sweep

# The table of points has these; all have a chart.
IN_TABLE = (
    Metric("completed_fraction", "completed", "completed", "share", text.percent, most=1.0),
    Metric("fct_p50_ps", "FCT p50", "fct", "duration", text.duration),
    Metric("fct_p99_ps", "FCT p99", "fct", "duration", text.duration),
    Metric("slowdown_p50", "slowdown p50", "slowdown", "ratio", text.ratio),
    Metric("slowdown_p99", "slowdown p99", "slowdown", "ratio", text.ratio),
    Metric("goodput_bps", "goodput", "goodput", "rate", text.rate),
    Metric("application_throughput", "application throughput", "deadline", "share", text.percent, most=1.0),
)
COUNTED = ("drops", "trims", "marks", "lost", "retransmissions", "timeouts")
METRICS = (
    *IN_TABLE,
    Metric("fct_mean_ps", "mean FCT", "fct", "duration", text.duration),
    Metric("lateness_p50_ps", "lateness p50", "lateness", "duration", text.duration),
    Metric("lateness_p99_ps", "lateness p99", "lateness", "duration", text.duration),
    *(Metric(name, terms.TERMS[name].name, name, "count", text.ratio) for name in COUNTED),
)

TERMS = {
    "point": Term("point", "One combination of the axes' values."),
    "replica": Term(
        "replica",
        "A repetition of a point with other draws: other flows, other random choices of the network.",
    ),
    "interval": Term(
        "mean ± 95% interval",
        "The mean over a point's replicas of what each run has on its own, and half the width of its confidence "
        "interval by Student's t. It says how sure the mean is, not how far single flows spread. With one replica "
        "there is none; with two it is wide. Points whose replicas carry the same flows move together: their "
        "difference is surer than bands that overlap suggest.",
    ),
    "flows": terms.TERMS["flows"],
    "completed": terms.TERMS["completed"],
    "fct": terms.TERMS["fct"],
    "ideal": terms.TERMS["ideal"],
    "slowdown": terms.TERMS["slowdown"],
    "percentile": Term(
        "p50, p99",
        "Percentiles over the completed flows of a run, interpolated linearly between order statistics (type 7).",
    ),
    "goodput": terms.TERMS["goodput"],
    "deadline": terms.TERMS["deadline"],
    "lateness": terms.TERMS["lateness"],
    **{name: terms.TERMS[name] for name in COUNTED},
    "status": terms.TERMS["status"],
}

# What a metric's being 1 in every run says.
ALL_OF = {
    "completed_fraction": "All flows of all runs are complete.",
    "application_throughput": "All flows with a deadline met it.",
}

# Rows of a table: no more than a reader can use.
MOST_ROWS = 500


@dataclass(frozen=True)
class Figure:
    """The chart of a metric.

    Attributes:
        key: Part of its element's id.
        metric: What it shows.
        spec: Vega-Lite data; None if there is nothing to draw.
        empty: Why no run has a value; empty if one has.
    """

    key: str
    metric: Metric
    spec: charts.Spec | None
    empty: str


@dataclass(frozen=True)
class Choice:
    """An axis of which one value is shown at a time: the charts' parameter, its values, the first one shown."""

    parameter: str
    axis: str
    values: list[str]
    first: str


@dataclass(frozen=True)
class Table:
    """Rows of cells under heads; `total` is how many there are in all."""

    rows: list[list[Cell]]
    total: int


def write(folder: Path, output: Path) -> None:
    """Writes the report on the sweep in a folder.

    Raises:
        UserError: No run is done yet, its runs are not of scenarios, or something other than a report is there.
    """
    folders.refuse_foreign(output, MARK)
    sweep = Sweep(folder)
    sweep.require_whole()
    html = render(sweep)
    folders.replace(output, html, mark=MARK)


def render(sweep: Sweep) -> str:
    """The report as HTML."""
    done = sweep.runs.filter("done")
    if done.is_empty():
        raise UserError(f"{sweep.folder}: no run is done yet; the sweep's own command goes on with it")
    if not (sweep.path(done["run"][0]) / "flows.parquet").exists():
        raise UserError(f"{sweep.folder}: its runs are not of scenarios; only those have a report")
    summaries, metrics = sweep.summaries(), sweep.metrics
    # Where runs are missing, those that are there may come in any order.
    means = _as_planned(sweep, sweep.means)
    plan = lines.layout(sweep.axes)
    figures = _figures(sweep, means, plan)
    shown = [figure for figure in figures if figure.spec or figure.empty]
    one_of_each = metrics.group_by(list(sweep.axes) or "status", maintain_order=True).first()
    scenarios = [
        facts.without_repeats(summaries[key]["scenario"]) for key in _as_planned(sweep, one_of_each)["run"]
    ]
    common = sweep_facts.merged(scenarios)
    varying = plan.values if plan else {}
    words = terms.words(TERMS, deadlines=_has_deadlines(means))
    return frame.render(
        "sweep.html.jinja",
        specs={figure.key: figure.spec for figure in shown if figure.spec},
        scripts=("tips.js", "sort.js", "charts.js"),
        styles=("page.css", "parts.css", "sweep.css", "print.css"),
        title=sweep.name,
        columns=1,
        notices=sweep_notices.notices(sweep, metrics, means, summaries),
        made_from="sweep.json and its runs' run.json and flows.parquet",
        terms=words,
        meanings=terms.meanings(words, [summary.get("definitions", {}) for summary in summaries.values()]),
        facts=sweep_facts.facts_of(sweep, common),
        settings=[facts.Fact(path, "", [facts.Cell(value)]) for path, value in facts.flatten(common)],
        figures=shown,
        plain=_plain(figures, means),
        plan=plan,
        lines=plan.lines if plan and plan.colour else [],
        dashes=[charts.dash(i, len(plan.lines)) for i in range(len(plan.lines))] if plan else [],
        colours=charts.COLOURS,
        choices=_choices(plan, means),
        repeated=bool((means["replicas"] > 1).any()),
        warm_up=any(_warms_up(summary) for summary in summaries.values()),
        axes=list(varying),
        columns_of_points=_shown(IN_TABLE, means),
        points=_points(means, varying) if plan else None,
        overall=_overall(metrics, means) if not plan else None,
        folders=_folders(metrics, varying),
    )


def _as_planned(sweep: Sweep, table: pl.DataFrame) -> pl.DataFrame:
    """A row a point, in the plan's order."""
    if not sweep.axes:
        return table
    points = sweep.runs.select(list(sweep.axes)).unique(maintain_order=True)
    return points.join(table, on=list(sweep.axes), maintain_order="left")


def _figures(sweep: Sweep, means: pl.DataFrame, plan: Layout | None) -> list[Figure]:
    """A chart for each metric that has something to show, the reason for each that has no value at all."""
    figures = []
    for metric in _shown(METRICS, means):
        values = means[metric.column].drop_nulls()
        empty = "" if len(values) else _reason(sweep, metric)
        spec = None
        if plan is not None and not _is_plain(metric, values):
            spec = lines.line(means.head(sweep_notices.MOST_POINTS), plan, metric)
        figures.append(Figure(metric.column.replace("_", "-"), metric, spec, empty))
    return figures


def _shown(metrics: Sequence[Metric], means: pl.DataFrame) -> list[Metric]:
    """Without those of deadlines if no flow has one."""
    due = _has_deadlines(means)
    return [metric for metric in metrics if due or metric.column not in DEADLINES]


def _has_deadlines(means: pl.DataFrame) -> bool:
    return means["application_throughput"].count() > 0


def _reason(sweep: Sweep, metric: Metric) -> str:
    """Why no run has a value of a metric; for completion as the first run has it."""
    if metric.term == "lateness":
        return "No flow was late: those that did not meet their deadline, if any, never completed."
    if metric.term not in ("fct", "slowdown", "completed"):
        return "The runs do not carry it."
    first = sweep.runs.filter("done")["run"][0]
    run = runs.read([sweep.path(first)])[0]
    why = reasons.no_slowdown if metric.term == "slowdown" else reasons.no_fct
    return f"No run has a value. Of the first, runs/{first}: {why(run)}"


def _is_plain(metric: Metric, values: pl.Series) -> bool:
    """Whether a sentence says it all: that everything is complete or in time, or that there was none of something."""
    if metric.format_type == "share":
        return bool((values == 1).all())
    return metric.format_type == "count" and bool((values == 0).all())


def _plain(figures: Sequence[Figure], means: pl.DataFrame) -> str:
    """That sentence."""
    flat = [
        figure.metric
        for figure in figures
        if not figure.empty and _is_plain(figure.metric, means[figure.metric.column].drop_nulls())
    ]
    zero = [metric.name for metric in flat if metric.format_type == "count"]
    said = [ALL_OF[metric.column] for metric in flat if metric.format_type == "share"]
    return " ".join([*said, *([f"Zero in every run: {', '.join(zero)}."] if zero else [])])


def _choices(plan: Layout | None, means: pl.DataFrame) -> list[Choice]:
    if plan is None:
        return []
    return [
        Choice(
            f"pick{i}", name, [lines.said(value) for value in plan.values[name]], lines.said(means[name][0])
        )
        for i, name in enumerate(plan.picks)
    ]


def _points(means: pl.DataFrame, axes: Mapping[str, Sequence[Any]]) -> Table:
    rows = [
        [
            *_place(row, axes),
            Cell(text.count(row["replicas"]), value=row["replicas"]),
            *(Cell(metric.mean(row), value=row[metric.column]) for metric in _shown(IN_TABLE, means)),
        ]
        for row in means.head(MOST_ROWS).iter_rows(named=True)
    ]
    return Table(rows, means.height)


def _place(row: Mapping[str, Any], axes: Mapping[str, Sequence[Any]]) -> list[Cell]:
    """Where a point stands on the axes; a column of them is sorted in the axis' own order."""
    # By what is said, since a column with texts has numbers as texts, too.
    order = {name: [lines.said(value) for value in values] for name, values in axes.items()}
    return [
        Cell(lines.said(row[name]), value=said.index(lines.said(row[name]))) for name, said in order.items()
    ]


def _overall(metrics: pl.DataFrame, means: pl.DataFrame) -> list[tuple[Metric, list[str]]]:
    """Of the only point, for each metric: its mean with the interval, the least and the most of a replica."""
    row = means.row(0, named=True)
    return [
        (
            metric,
            [metric.mean(row), *(metric.show(value) for value in _ends(metrics[metric.column]))],
        )
        for metric in _shown(METRICS, means)
    ]


def _ends(values: pl.Series) -> tuple[float | None, float | None]:
    known = values.drop_nulls().to_list()
    return min(known, default=None), max(known, default=None)


def _folders(metrics: pl.DataFrame, axes: Mapping[str, Sequence[Any]]) -> Table:
    rows = [
        [
            *_place(row, axes),
            Cell(str(row["replica"]), value=row["replica"]),
            Cell(row["status"]),
            Cell(text.percent(row["completed_fraction"]), value=row["completed_fraction"]),
            Cell(f"runs/{row['run']}"),
        ]
        for row in metrics.head(MOST_ROWS).iter_rows(named=True)
    ]
    return Table(rows, metrics.height)


def _warms_up(summary: Mapping[str, Any]) -> bool:
    return picoseconds(summary["scenario"]["run"].get("warm_up", "0s")) > 0
