"""The report on a sweep: what was swept, each metric over the axes with its confidence interval, all points.

    folder of a sweep -> sweeps.tables.Sweep -> facts, notices, lines (charts), tables of text -> page

Numbers are those of Sweep.means.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from flowyard import folders, text
from flowyard.analysis.completion import ALL, names
from flowyard.errors import UserError
from flowyard.forks import pl
from flowyard.report import MARK, charts, frame, loads, reasons, terms
from flowyard.report.metrics import (
    ALL_METRICS,
    CARRIED,
    COUNTED,
    IN_TABLE,
    METRICS,
    OFFERED,
    PACKETS,
    Metric,
)
from flowyard.report.run import facts, labelled, story
from flowyard.report.run.tables import Cell
from flowyard.report.sweep import facts as sweep_facts
from flowyard.report.sweep import lines, load_charts, notices, over_size, points, side_by_side
from flowyard.report.sweep.axis_types import value_label
from flowyard.report.sweep.lines import Layout, Shown
from flowyard.report.terms import Term
from flowyard.run_json import has_window
from flowyard.sweeps.tables import COMPLETION, DEADLINES, LOADS, Sweep

# The parameters of charts by which a group of flows is chosen, and a kind of packets.
GROUP, KIND = "group", "kind"

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
        "p50, p95, p99, p99.9",
        "Percentiles over the completed flows of a run, interpolated linearly between order statistics (type 7).",
    ),
    "size": terms.TERMS["size"],
    "tag": terms.TERMS["tag"],
    "packets_sent": terms.TERMS["packets_sent"],
    **{name: terms.TERMS[name] for name in ("offered", "carried", "wire")},
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
        others: How it looks with other axes along x.
        kinds: What the reader chooses above it, one at a time.
        caption: How to read it, where that takes words.
        layouts: The numbers of the layouts with which it is shown, the first one its own; empty: with all.
    """

    key: str
    metric: Metric
    spec: charts.Spec | None
    empty: str = ""
    others: list[charts.Spec] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    caption: str = ""
    layouts: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Choice:
    """Something of which one value is shown at a time: the charts' parameter, its values, the first one shown."""

    parameter: str
    name: str
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
    if side_by_side.is_shown_so(sweep):
        return side_by_side.render(sweep)
    summaries, metrics = sweep.summaries(), sweep.metrics
    # Where runs are missing, those that are there may come in any order.
    means = _as_planned(sweep, sweep.means)
    axes = lines.layouts(sweep.axes)
    plans = [*axes, *load_charts.layouts(means, axes)]
    plan = plans[0] if plans else None
    groups = _groups(sweep, means) if plan else {}
    figures = _figures(sweep, means, plans, groups)
    shown = [figure for figure in figures if figure.spec or figure.empty]
    first = {plan.parameter(name): value_label(means[name][0]) for name in plan.values} if plan else {}
    panels = over_size.panels(sweep.over_size, plan, first) if plan else []
    one_of_each = metrics.group_by(list(sweep.axes) or "status", maintain_order=True).first()
    scenarios = [
        facts.without_repeats(summaries[key]["scenario"]) for key in _as_planned(sweep, one_of_each)["run"]
    ]
    common = sweep_facts.merged(scenarios)
    varying, in_table = plan.values if plan else {}, _in_table(sweep, means)
    words = terms.words(TERMS, deadlines=_has_deadlines(means))
    return frame.render(
        "sweep/page.html.jinja",
        specs={
            **{figure.key: figure.spec for figure in shown if figure.spec},
            **{panel.key: panel.spec for panel in panels},
        },
        layouts={figure.key: figure.others for figure in shown if figure.others},
        scripts=("tips.js", "sort.js", "charts/charts.js", "charts/layouts.js"),
        styles=("page.css", "parts.css", "sweep/page.css", "print.css"),
        title=sweep.name,
        story=_story(sweep, done),
        columns=1,
        notices=notices.notices(sweep, metrics, means, summaries),
        made_from="sweep.json and its runs' run.json and flows.parquet",
        terms=words,
        meanings=terms.meanings(words, [summary.get("definitions", {}) for summary in summaries.values()]),
        facts=sweep_facts.facts_of(sweep, common),
        settings=[facts.Fact(path, "", [facts.Cell(value)]) for path, value in facts.flatten(common)],
        figures=shown,
        plain=_plain(figures, means),
        plan=plan,
        plans=plans,
        dashes=[[charts.dash(i, len(each.lines)) for i in range(len(each.lines))] for each in plans],
        colours=charts.COLOURS,
        choices=[_choices(each, means) for each in plans],
        groups=list(groups),
        panels=panels,
        percentiles=over_size.NAMES,
        marked=points.marked(sweep),
        sign=loads.MARK,
        repeated=bool((means["replicas"] > 1).any()),
        banded=bool((means["replicas"] >= lines.FEWEST).any()),
        warm_up=any(has_window(summary) for summary in summaries.values()),
        axes=list(varying),
        columns_of_points=_shown(in_table, means),
        points=_points(means, varying, in_table) if plan else None,
        sizes=_by_size(sweep, varying),
        of_group=OF_GROUP,
        overall=_overall(metrics, means, in_table if sweep.chosen else (*in_table, *METRICS))
        if not plan
        else None,
        folders=_folders(metrics, varying),
    )


def _story(sweep: Sweep, done: pl.DataFrame) -> str:
    """Sentences on the runs and their axes, and on the first run."""
    axes = [f"{name} ({sweep_facts.listed(values)})" for name, values in sweep.axes.items()]
    over = f" over {' and '.join(axes)}" if axes else ""
    replicas = f", {sweep.replicas:,} replicas each" if sweep.replicas > 1 and axes else ""
    first = labelled.read([sweep.path(done["run"][0])])
    return f"{text.counted(len(sweep.runs), 'run')}{over}{replicas}. The first run: {story.of_runs(first)}"


def _as_planned(sweep: Sweep, table: pl.DataFrame) -> pl.DataFrame:
    """One row per point, in the plan's order."""
    if not sweep.axes:
        return table
    points = sweep.runs.select(list(sweep.axes)).unique(maintain_order=True)
    return points.join(table, on=list(sweep.axes), maintain_order="left")


def _in_table(sweep: Sweep, means: pl.DataFrame) -> Sequence[Metric]:
    """The metrics of the table of points, without the offered load where an axis says it."""
    said_already = any(loads.is_axis(means, name) for name in sweep.axes)
    usual = [metric for metric in IN_TABLE if not (metric is OFFERED and said_already)]
    return [ALL_METRICS[name] for name in sweep.chosen] or usual


def _groups(sweep: Sweep, means: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Groups of flows by size and by traffic entry, each one row per point; first all flows."""
    tables = {
        (tag, group): own
        for table in (sweep.by_size.select(pl.lit(None, pl.String).alias("tag"), pl.all()), sweep.by_entry)
        for (tag, group), own in table.partition_by("tag", "size_group", as_dict=True).items()
    }
    found = {name: tables[key] for key, name in names([tables]).items()}
    if len(found) * means.height > notices.MOST_POINTS:
        return {"all flows": means}
    # Loads are of points, not of groups.
    own = means.select(*sweep.axes, "stable", "carries", OFFERED.column, CARRIED.column)
    joined = {
        name: table.join(own, on=list(sweep.axes), nulls_equal=True, maintain_order="left")
        for name, table in found.items()
        if name != "all flows"
    }
    return {"all flows": means, **joined}


def _figures(
    sweep: Sweep, means: pl.DataFrame, plans: Sequence[Layout], groups: Mapping[str, pl.DataFrame]
) -> list[Figure]:
    """A chart for each metric that has something to show, the reason for each that has no value at all."""
    figures = []
    metrics = [ALL_METRICS[name] for name in sweep.chosen] or METRICS
    accepted = _accepted(means, plans)
    if accepted:
        metrics = [metric for metric in metrics if metric is not CARRIED]
    for metric in _shown(metrics, means):
        values = means[metric.column].drop_nulls()
        key = metric.column.replace("_", "-")
        if not len(values):
            figures.append(Figure(key, metric, None, _reason(sweep, metric)))
        elif not plans or (_is_plain(metric, values) and not sweep.chosen):
            figures.append(Figure(key, metric, None))
        else:
            tables = groups if metric.column in COMPLETION else {"": means}
            shown = [Shown(name, table.head(notices.MOST_POINTS), metric) for name, table in tables.items()]
            spec, others = lines.chart(shown, plans, GROUP)
            figures.append(Figure(key, metric, spec, others=others))
    if plans and not sweep.chosen:
        figures += _packets(means, plans)
    # Metrics that were asked for come first.
    return figures if not accepted else [*figures, accepted] if sweep.chosen else [accepted, *figures]


def _accepted(means: pl.DataFrame, plans: Sequence[Layout]) -> Figure | None:
    """The carried load over the offered one, where this varies; shown while the load is along x."""
    axes = [plan for plan in plans if not plan.against]
    number = load_charts.load_layout(means, axes)
    spec = None if number is None else load_charts.chart(means.head(notices.MOST_POINTS), axes, number)
    if spec is None or number is None:
        return None
    metric = Metric("accepted", "carried against offered load", "carried", "ratio", text.ratio)
    others = [{name: part for name, part in spec.items() if name != "datasets"}] * (len(plans) - 1)
    along = [i for i, plan in enumerate(plans) if plan.x == axes[number].x]
    caption = "Shares of the rate of the hosts' links. Dashed: all that is offered is carried."
    return Figure("accepted", metric, spec, others=others, caption=caption, layouts=along)


def _packets(means: pl.DataFrame, plans: Sequence[Layout]) -> list[Figure]:
    """Fates of packets as shares of the data packets sent, in one chart; empty if every share is zero."""
    some = {name: metric for name, metric in PACKETS.items() if means[metric.column].max()}
    shown = [Shown(name, means.head(notices.MOST_POINTS), metric) for name, metric in some.items()]
    if not shown:
        return []
    spec, others = lines.chart(shown, plans, KIND)
    metric = Metric("packets", "packets, of data packets sent", "packets_sent", "share", text.percent)
    return [Figure("packets", metric, spec, others=others, kinds=list(some))]


def _shown(metrics: Sequence[Metric], means: pl.DataFrame) -> list[Metric]:
    """Without those of deadlines if no flow has one, and of loads if no run has any."""
    due = _has_deadlines(means)
    return [
        metric
        for metric in metrics
        if (due or metric.column not in DEADLINES)
        and (metric.column not in LOADS or means[metric.column].count())
    ]


def _has_deadlines(means: pl.DataFrame) -> bool:
    return means["application_throughput"].count() > 0


def _reason(sweep: Sweep, metric: Metric) -> str:
    """Why no run has a value of a metric; for completion as the first run has it."""
    if metric.term == "lateness":
        return "No flow was late: those that did not meet their deadline, if any, never completed."
    if metric.term not in ("fct", "slowdown", "completed"):
        return "The runs do not carry it."
    first = sweep.runs.filter("done")["run"][0]
    run = labelled.read([sweep.path(first)])[0]
    why = reasons.no_slowdown if metric.term == "slowdown" else reasons.no_fct
    return f"No run has a value. Of the first, runs/{first}: {why(run)}"


def _is_plain(metric: Metric, values: pl.Series) -> bool:
    """Whether a sentence says it all: that everything is complete or in time, or that there was none of something."""
    if metric.format_type == "share":
        return bool((values == 1).all())
    return metric.format_type == "count" and bool((values == 0).all())


def _none(zero: Sequence[str]) -> str:
    """That no run counted any of these, in sentences."""
    lost = terms.TERMS["lost"].name
    others = [name for name in zero if name != lost]
    counted = f"{', '.join(others[:-1])}{' or ' if others[:-1] else ''}{others[-1]}" if others else ""
    sentences = [f"No run had {counted}."] if counted else []
    return " ".join([*sentences, *(["No packet was lost to faults in any run."] if lost in zero else [])])


def _plain(figures: Sequence[Figure], means: pl.DataFrame) -> str:
    """That sentence."""
    metrics = [figure.metric for figure in figures if not figure.spec and not figure.empty]
    said_of = [
        ALL_OF[metric.column]
        for metric in metrics
        if metric.column in ALL_OF and _is_plain(metric, means[metric.column].drop_nulls())
    ]
    zero = [terms.TERMS[name].name for name in COUNTED if (means[name].drop_nulls() == 0).all()]
    return " ".join([*said_of, *([_none(zero)] if zero else [])])


def _choices(plan: Layout, means: pl.DataFrame) -> list[Choice]:
    return [
        Choice(plan.parameter(name), name, plan.places[name].labels, value_label(means[name][0]))
        for name in plan.picks
    ]


def _points(means: pl.DataFrame, axes: Mapping[str, Sequence[Any]], metrics: Sequence[Metric]) -> Table:
    rows = [
        [
            *_place(row, axes),
            Cell(text.count(row["replicas"]), value=row["replicas"]),
            *(Cell(metric.mean(row), value=row[metric.column]) for metric in _shown(metrics, means)),
        ]
        for row in means.head(MOST_ROWS).iter_rows(named=True)
    ]
    return Table(rows, means.height)


# Of each group of flows.
OF_GROUP = [
    ALL_METRICS[name]
    for name in (
        *("slowdown_p50", "slowdown_p95", "slowdown_p99", "slowdown_p99_9"),
        *("fct_p50_ps", "fct_p99_ps", "completed_fraction"),
    )
]


def _by_size(sweep: Sweep, axes: Mapping[str, Sequence[Any]]) -> Table | None:
    """Completion by size, and by entry if there are several; None if all flows are in one group."""
    tags = sweep.by_entry["tag"].unique(maintain_order=True)
    table = sweep.by_size.select(pl.lit("all").alias("tag"), pl.all())
    if len(tags) > 1:
        table = pl.concat([table, sweep.by_entry.select(table.columns)])
    elif sweep.by_size.filter(pl.col("size_group") != ALL)["size_group"].n_unique() < 2:
        return None
    rows = [
        [
            *_place(row, axes),
            Cell(row["tag"]),
            Cell(row["size_group"]),
            Cell(text.ratio(row["flows"]), value=row["flows"]),
            *(Cell(metric.mean(row), value=row[metric.column]) for metric in OF_GROUP),
        ]
        for row in table.head(MOST_ROWS).iter_rows(named=True)
    ]
    return Table(rows, table.height)


def _place(row: Mapping[str, Any], axes: Mapping[str, Sequence[Any]]) -> list[Cell]:
    """Where a point stands on the axes; a column of them is sorted in the axis' own order."""
    # By what is said, since a column with texts has numbers as texts, too.
    order = {name: [value_label(value) for value in values] for name, values in axes.items()}
    cells = [
        Cell(value_label(row[name]), value=labels.index(value_label(row[name])))
        for name, labels in order.items()
    ]
    if cells and (state := loads.state(row)) != loads.STEADY:
        cells[0] = replace(cells[0], text=f"{cells[0].text} {loads.MARK}", title=state)
    return cells


def _overall(
    metrics: pl.DataFrame, means: pl.DataFrame, shown: Sequence[Metric]
) -> list[tuple[Metric, list[str]]]:
    """Of the only point, for each metric: its mean with the interval, the least and the most of a replica."""
    row = means.row(0, named=True)
    return [
        (
            metric,
            [metric.mean(row), *(metric.show(value) for value in _ends(metrics[metric.column]))],
        )
        for metric in _shown(list(dict.fromkeys(shown)), means)
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
