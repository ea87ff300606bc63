"""The points of a sweep side by side, as several runs are: of a comparison, and of a sweep over names alone.

Between names there is no line to draw: each point is a column of a table in the terminal, and a run of the page of
runs. Where points have replicas, tables have means over these with intervals, and curves have the flows of all of them;
links, losses and single flows are those of the first one.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from flowyard import text
from flowyard.analysis.completion import ALL, PERCENTILES, Key, by_key, names
from flowyard.folders import run_files
from flowyard.forks import pl
from flowyard.report.metrics import ALL_METRICS
from flowyard.report.run import facts, fairness, labelled, page, tables
from flowyard.report.run.notices import Notice, other_flows
from flowyard.report.sweep import notices
from flowyard.report.sweep.axis_types import value_label
from flowyard.run_data import Run, with_derived
from flowyard.run_json import unstable_of
from flowyard.sweeps import carrying
from flowyard.sweeps.outcomes import Outcomes
from flowyard.sweeps.tables import COUNTED, LOADS, MOST_SIDE_BY_SIDE, Sweep, uncounted
from flowyard.table import read_frame
from flowyard.terminal import folding
from flowyard.terminal.console import TextTable, show, styled

# Of all flows, then of each group of sizes and each traffic entry, in the terminal.
COMPLETION = (
    *(f"fct_{name}_ps" for name in ("mean", "p50", "p95", "p99")),
    *(f"slowdown_{name}" for name in ("mean", "p50", "p95", "p99")),
)
# Where flows have deadlines: those that gave up are none that a transport lost.
DEADLINES = ("application_throughput",)
OF_GROUP = ("slowdown_p50", "slowdown_p99")
INTERVAL = "  95% interval"


@dataclass(frozen=True)
class Curve:
    """The measured flows of all replicas of a point."""

    label: str
    measured: pl.DataFrame


@dataclass(frozen=True)
class Point:
    """A point of which a run is done: its label, its values on the axes, and the keys of its runs."""

    label: str
    values: Mapping[str, Any]
    keys: Sequence[str]


def is_shown_so(sweep: Sweep) -> bool:
    """Whether a sweep's page has its points side by side: if its plan asks for it, or its axes have names alone.

    Names of loads have that of the loads; and metrics that a plan chooses have charts of their own.
    """
    axes = [values for values in sweep.axes.values() if len(values) > 1]
    points = 1
    for values in axes:
        points *= len(values)
    if not 1 < points <= MOST_SIDE_BY_SIDE:
        return False
    if sweep.side_by_side:
        return True
    named = not any(value_label(value)[:1].isdigit() for values in axes for value in values)
    return named and not sweep.chosen and sweep.means["offered_load"].drop_nulls().round(6).n_unique() < 2


def points_of(sweep: Sweep) -> list[Point]:
    """The points that have a run, in the order of the plan."""
    varying = [name for name, values in sweep.axes.items() if len(values) > 1]
    found: dict[tuple[Any, ...], list[str]] = {}
    values: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in sweep.runs.filter("done").iter_rows(named=True):
        place = tuple(row[name] for name in sweep.axes)
        found.setdefault(place, []).append(row["run"])
        values[place] = {name: row[name] for name in sweep.axes}
    order = {place: i for i, place in enumerate(sweep.runs.select(list(sweep.axes)).iter_rows())}
    return [
        Point(", ".join(_said(name, values[place][name]) for name in varying), values[place], found[place])
        for place in sorted(found, key=order.__getitem__)
    ]


def _said(axis: str, value: Any) -> str:
    """A name stands for itself; a number needs that of its axis."""
    label = value_label(value)
    return label if isinstance(value, str) and not label[:1].isdigit() else f"{axis} {label}"


def render(sweep: Sweep) -> str:
    """The page of runs, of a sweep's points."""
    points = points_of(sweep)
    runs = [
        replace(run, label=point.label)
        for run, point in zip(
            labelled.read([sweep.path(point.keys[0]) for point in points]), points, strict=True
        )
    ]
    found = list(notices.missing(sweep, sweep.metrics, sweep.means))
    replicas = max(len(point.keys) for point in points)
    names = " and ".join(run.label for run in runs) if len(runs) <= 2 else f"{len(runs)} runs side by side"
    title = f"{sweep.name}: {names}"
    places = [f"runs/{point.keys[0]}" for point in points]
    if replicas == 1:
        return page.render(runs, title=title, places=places, more=found)
    body = (
        f"Tables of completion and the heads of runs have means over up to {replicas} replicas with 95% intervals by "
        "Student's t; curves have the flows of all replicas. Loads, links, losses, single flows and costs are of the "
        "first replica."
    )
    groups = _groups(sweep, points)
    over = page.Replicated(
        curves=[Curve(point.label, _flows(sweep, point)) for point in points],
        groups=groups,
        cards=[_card(rows[None, ALL], run) for rows, run in zip(groups, runs, strict=True)],
        replicas=replicas,
    )
    return page.render(
        runs, title=title, places=places, more=[*found, Notice("note", "Replicas", body)], over=over
    )


def _flows(sweep: Sweep, point: Point) -> pl.DataFrame:
    return pl.concat(
        [Run.read(sweep.path(key), labelled.FLOW_COLUMNS.split()).measured for key in point.keys]
    )


def _groups(sweep: Sweep, points: Sequence[Point]) -> list[dict[Key, dict[str, Any]]]:
    """For each point its means by group of sizes and by traffic entry, with the ends of their intervals."""
    found: dict[tuple[Any, ...], dict[Key, dict[str, Any]]] = {}
    for table in (sweep.by_size, sweep.by_entry):
        for row in table.iter_rows(named=True):
            place = tuple(row[name] for name in sweep.axes)
            found.setdefault(place, {})[row.get("tag"), row["size_group"]] = _ends(row)
    return [found[tuple(point.values.values())] for point in points]


def _ends(row: Mapping[str, Any]) -> dict[str, Any]:
    """A mean over replicas as a row of `analysis.by_size` with intervals."""
    found = dict(row) | {
        "flows": round(row["flows"]),
        "completed": round(row["flows"] * row["completed_fraction"]),
    }
    for kind, unit in (("fct", "_ps"), ("slowdown", "")):
        for name in ("mean", *PERCENTILES):
            mean, half = row[f"{kind}_{name}{unit}"], row[f"{kind}_{name}{unit}_ci95"]
            known = mean is not None and half is not None
            found[f"{kind}_{name}_low{unit}"] = max(0.0, mean - half) if known else None
            found[f"{kind}_{name}_high{unit}"] = mean + half if known else None
    return found


def _card(row: Mapping[str, Any], run: Run) -> tables.Card:
    """The head of a run with means in place of its own numbers."""
    names = {
        "FCT p50": "fct_p50_ps",
        "FCT p99": "fct_p99_ps",
        "slowdown p50": "slowdown_p50",
        "slowdown p99": "slowdown_p99",
    }
    (own,) = tables.cards([run])
    cells = {name: tables.Cell(ALL_METRICS[column].show(row[column])) for name, column in names.items()}
    return tables.Card(
        completed=text.percent(row["completed_fraction"]),
        flows=f"{row['completed']:,} of {row['flows']:,} flows a replica",
        all_completed=row["completed_fraction"] == 1,
        metrics=[
            replace(metric, cells=[cells[metric.name]]) for metric in own.metrics if metric.name in cells
        ],
    )


def tell(sweep: Sweep, tally: Outcomes, report: Path | None, *, as_json: bool) -> None:
    """Prints the points that have a run side by side, whether all carried the same flows, and where the report is."""
    done, planned = int(sweep.runs["done"].sum()), len(sweep.runs)
    points, summaries = points_of(sweep), sweep.summaries()
    digests = {run["replica"]: set[str]() for run in sweep.runs.iter_rows(named=True)}
    for run in sweep.runs.filter("done").iter_rows(named=True):
        digests[run["replica"]].add(str(summaries[run["run"]].get("traffic_digest")))
    same = all(len(found) <= 1 for found in digests.values())
    traffic = [
        (point.label, tuple(str(summaries[key].get("traffic_digest")) for key in point.keys))
        for point in points
    ]
    if as_json:
        answer = {
            "folder": str(sweep.folder),
            "report": None if report is None else str(report),
            "runs": planned,
            "done": done,
            "now": tally.statuses,
            "failed": tally.failed,
            "violations": tally.violations,
            "interrupted": tally.interrupted,
            "same_traffic": same,
            "points": [
                {
                    "label": point.label,
                    "runs": [f"runs/{key}" for key in point.keys],
                    "means": _means(sweep, point),
                }
                for point in points
            ],
        }
        print(json.dumps(answer, indent=2))
        return
    if points:
        table = side_by_side_table(sweep)
        show(table)
        for line in _legend(table):
            folding.say(line)
        if len(points) > 1:
            folding.say("all runs carried the same flows" if same else _lower(other_flows(traffic)))
            rates = [fairness.rates_of(_links(sweep, point)) for point in points]
            if unequal := fairness.unequal([_scenario(sweep, point) for point in points], rates):
                print(
                    f"they differ in: {', '.join(fact.name for fact in unequal)} (docs/how-to/compare-transports.md)"
                )
    unsteady = [
        point.label + (f", replica {number}" if len(point.keys) > 1 else "")
        for point in points
        for number, key in enumerate(point.keys)
        if unstable_of(summaries[key])
    ]
    where = f"flowyard report {sweep.folder} has the reasons"
    short = carrying.line(sweep.runs, list(sweep.axes), summaries, where)
    for line in [*tally.states(len(unsteady), where, unsteady), *short]:
        print(line)
    print(f"{done:,} of {planned:,} runs are in {sweep.folder}")
    if report is not None:
        print(f"report in {report}")


def _legend(table: TextTable) -> list[str]:
    """The lines below the table."""
    found = []
    if any(row[0] == INTERVAL for row in table.rows):
        found.append(
            f"95% intervals are of the run, {text.NONE} where it has none or no upper end; the report has the reasons, "
            "and those of groups of sizes and of traffic entries"
        )
    if table.bold and styled():
        found.append(
            "bold: the smallest, if all flows completed and its interval lies below those of the others"
        )
    return found


def _lower(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]


def _means(sweep: Sweep, point: Point) -> dict[str, Any]:
    own = _row(sweep, point)
    names = (*COMPLETION, "completed_fraction", *DEADLINES, *LOADS, "goodput_bps", "end_ps", *COUNTED)
    return {name: own[name] for name in names}


def _row(sweep: Sweep, point: Point) -> dict[str, Any]:
    """The point's row of Sweep.means."""
    rows = sweep.means.iter_rows(named=True)
    return next(row for row in rows if all(row[name] == value for name, value in point.values.items()))


def _scenario(sweep: Sweep, point: Point) -> dict[str, Any]:
    return with_derived(run_files.status(sweep.path(point.keys[0])))


def _goes_on(scenario: Mapping[str, Any]) -> bool:
    """Whether measured flows arrive at a rate, so that the last of them tells nothing: unlike that of a collective."""
    own = [entry["arrivals"] for entry in scenario["traffic"] if not entry.get("background")]
    return any(isinstance(arrivals, Mapping) and {"poisson", "on-off"} & set(arrivals) for arrivals in own)


def _links(sweep: Sweep, point: Point) -> pl.DataFrame:
    return read_frame(sweep.path(point.keys[0]) / "links.parquet", ("tier", "rate_bps"))


def _within_runs(sweep: Sweep, points: Sequence[Point]) -> list[dict[Key, dict[str, Any]]]:
    """Completion of the only run of each point with intervals, as the report has it."""
    return [by_key(_flows(sweep, point), intervals=True) for point in points]


def _interval_row(
    ends: Sequence[Mapping[str, Any]], stem: str, unit: str, show: Callable[[float | None], str]
) -> list[list[str]]:
    """The intervals of a value, a row below it; none if no run has one."""
    found = [tuple(row[f"{stem}{end}{unit}"] for end in ("", "_low", "_high")) for row in ends]
    if all(low is None for _, low, _ in found):
        return []
    return [
        [
            INTERVAL,
            *(text.NONE if low is None else text.interval(mid, low, high, show) for mid, low, high in found),
        ]
    ]


def side_by_side_table(sweep: Sweep) -> TextTable:
    """A row a metric, a column a point, with intervals below it where runs have some; bold is what is on the page."""
    points = points_of(sweep)
    means = [_row(sweep, point) for point in points]
    scenarios = [_scenario(sweep, point) for point in points]
    rows: list[list[str]] = [
        ["queue", *(facts.variant(scenario.get("queue")).main for scenario in scenarios)],
        ["balancer", *(facts.variant(scenario["routing"].get("balancer")).main for scenario in scenarios)],
        ["flows completed", *(text.percent(own["completed_fraction"]) for own in means)],
    ]
    bold: set[tuple[int, int]] = set()
    replicas = max(len(point.keys) for point in points)
    # Means over replicas have their intervals beside them.
    groups = _groups(sweep, points)
    bounds = groups if replicas > 1 else _within_runs(sweep, points)

    def add(name: str, column: str, of: Sequence[Mapping[str, Any] | None], key: Key | None = None) -> None:
        metric = ALL_METRICS[column]
        rows.append([name, *(text.NONE if row is None else metric.mean(row) for row in of)])
        ends = [own[key] for own in bounds if key in own] if key else []
        if len(ends) == len(points):
            stem, unit = column.removesuffix("_ps"), "_ps" if column.endswith("_ps") else ""
            best = tables.smallest(ends, stem, unit)
            bold.update([] if best is None else [(len(rows) - 1, best + 1)])
            if key == (None, ALL) and replicas == 1:
                rows.extend(_interval_row(ends, stem, unit, metric.show))

    deadlines = [name for name in DEADLINES if any(own[name] is not None for own in means)]
    for column in deadlines:
        add(ALL_METRICS[column].name, column, means)
    for column in COMPLETION:
        add(ALL_METRICS[column].name, column, means, (None, ALL))
    for key, name in names(groups).items():
        for column in OF_GROUP if key != (None, ALL) else ():
            add(f"{ALL_METRICS[column].name}, {name}", column, [group.get(key) for group in groups], key)
    if not any(_goes_on(_scenario(sweep, point)) for point in points):
        add("time to the last flow", "end_ps", means)
    loads = [name for name in LOADS if any(own[name] is not None for own in means)]
    absent = uncounted(run_files.status(sweep.path(point.keys[0])) for point in points)
    counted = [name for name in COUNTED if name not in absent]
    for column in (*loads, "goodput_bps", *counted):
        add(ALL_METRICS[column].name, column, means)
    shown = text.counted(len(points), "run") + (" side by side" if len(points) > 1 else "")
    title = f"{sweep.name}: {f'means over {replicas} replicas' if replicas > 1 else shown}"
    return TextTable(title, ["", *(point.label for point in points)], rows, bold=frozenset(bold))
