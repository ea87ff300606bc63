"""The report's tables as rows of text."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from flowyard import text
from flowyard.analysis import (
    PERCENTILES,
    application_throughput,
    by_period,
    by_size,
    by_tier,
    due,
    flow_goodput,
    jain,
    overall,
    served_ahead,
    timeliness,
    trouble,
    worst_links,
)
from flowyard.analysis.completion import Key, by_key, names
from flowyard.analysis.faults import PERIODS
from flowyard.forks import pl
from flowyard.report import goodput as goodputs
from flowyard.report import reasons
from flowyard.report.charts import Labelled
from flowyard.run_data import Run
from flowyard.run_json import can_pause

STATISTICS = ("mean", *PERCENTILES)
STATISTIC_NAMES = {"mean": "mean", **{name: name.replace("_", ".") for name in PERCENTILES}}


@dataclass(frozen=True)
class Cell:
    """A cell; `tone` is "" or a class: "best", "thin" (rests on too few flows), "zero", "bad".

    `value` is the number that the text shows, by which its column is sorted; `interval` stands below it.
    """

    text: str
    tone: str = ""
    title: str = ""
    value: float | None = None
    interval: str = ""


@dataclass(frozen=True)
class Row:
    """A row of one run, given by its number."""

    run: int
    cells: list[Cell]


@dataclass(frozen=True)
class Group:
    """Rows under one heading, one for each run that has something to say."""

    name: str
    rows: list[Row]


@dataclass(frozen=True)
class LinkRow:
    """A row of one link."""

    link: int
    cells: list[Cell]


@dataclass(frozen=True)
class Metric:
    """A row with a cell for each run; `term` is a key of terms.TERMS, or ""."""

    name: str
    term: str
    cells: list[Cell]


@dataclass(frozen=True)
class Card:
    """The headline numbers of one run; `note` says over which span its goodput is."""

    completed: str
    flows: str
    all_completed: bool
    metrics: list[Metric]
    note: str = ""


def cards(runs: Sequence[Run]) -> list[Card]:
    """The headline of each run."""
    return [_card(run) for run in runs]


def summary(runs: Sequence[Labelled]) -> list[Group]:
    """Completion by size group and by traffic entry: the groups of `completion.names`, first all flows.

    Cells: flows, completed, FCTs, slowdowns.
    """
    return grouped([by_key(run.measured, intervals=True) for run in runs])


def grouped(tables: Sequence[Mapping[Key, Mapping[str, Any]]]) -> list[Group]:
    """Completion as `summary` has it, of each run's rows of `completion.by_key` with intervals."""
    return _known_intervals(
        Group(name, _summary_rows([(i, table[key]) for i, table in enumerate(tables) if key in table]))
        for key, name in names(tables).items()
    )


def interval_ends(groups: Sequence[Group]) -> set[str]:
    """The kinds of intervals in tables of completion: "both" ends, "low" alone, "none" beside others."""
    found = {cell.interval for group in groups for row in group.rows for cell in row.cells} - {""}
    return {
        "none" if interval == text.NONE else "low" if interval.endswith(f" {text.NONE}]") else "both"
        for interval in found
    }


def faults(runs: Sequence[Run]) -> list[Group]:
    """Completion before, during and after faults. Cells as in `summary`.

    Nothing if no run had any, or if all flows were active during them: then `summary` says it all.
    """
    found: dict[str, list[tuple[int, dict[str, Any]]]] = {name: [] for name in PERIODS}
    for i, run in enumerate(runs):
        span = trouble(run.faults)
        if span is None:
            continue
        for name, flows in by_period(run.measured, *span).items():
            if flows.height:
                found[name].append((i, overall(flows, intervals=True).row(0, named=True)))
    if not found["before"] and not found["after"]:
        return []
    return _known_intervals(Group(name, _summary_rows(rows)) for name, rows in found.items() if rows)


def deadlines(runs: Sequence[Run]) -> list[Group]:
    """Flows with deadlines: all, then by traffic entry if there are several; no rows without deadlines.

    Cells: flows with a deadline, application throughput, late, abandoned, unfinished, lateness p50 and p99, inversions.
    """
    found: dict[str, list[Row]] = {}
    for i, run in enumerate(runs):
        if not run.has_deadlines:
            continue
        flows = due(run.measured)
        # Counted before flows are parted by entry: one may be served ahead of another entry's.
        flows = flows.with_columns(served_ahead(flows))
        found.setdefault("all flows", []).append(Row(i, _deadline_cells(flows)))
        parts = {entry["name"]: flows.filter(tag=entry["name"]) for entry in run.summary["traffic"]}
        parts = {name: part for name, part in parts.items() if part.height}
        for name, part in parts.items() if len(parts) > 1 else ():
            found.setdefault(name, []).append(Row(i, _deadline_cells(part)))
    return [Group(name, rows) for name, rows in found.items()]


def losses(runs: Sequence[Run]) -> list[Metric]:
    """Losses and retransmissions of whole runs: one row per counter. Shares are of the data packets sent."""
    counters = [run.counters for run in runs]
    sent = [int(run.flows["packets_sent"].sum()) for run in runs]

    def row(name: str, term: str, values: Sequence[int], of: Sequence[int], unit: str) -> Metric:
        cells = []
        for value, whole in zip(values, of, strict=True):
            share = f"{text.percent(value / whole)} of {unit}" if value and whole else ""
            cells.append(Cell(text.count(value), "" if value else "zero", share))
        return Metric(name, term, cells)

    def counter(name: str) -> list[int]:
        return [int(counts.get(name, 0)) for counts in counters]

    def flows_with(column: str) -> list[int]:
        return [int((run.flows[column] > 0).sum()) for run in runs]

    flows = [run.flows.height for run in runs]
    lost = [int(run.flows["lost"].sum()) for run in runs]
    data = "data packets"
    meters = any("credit_drops" in counts for counts in counters)
    return [
        Metric("data packets sent", "packets_sent", [Cell(text.count(number)) for number in sent]),
        row("retransmissions", "retransmissions", counter("retransmissions"), sent, data),
        row("drops", "drops", counter("drops"), sent, data),
        *([_counts("credit drops", "credit_drops", counter("credit_drops"))] if meters else []),
        *([row("lost to faults", "lost", lost, sent, data)] if any(run.faults for run in runs) else []),
        row("trims", "trims", counter("trims"), sent, data),
        row("marks", "marks", counter("marks"), sent, data),
        *(_pauses(runs) if any(can_pause(run.summary) for run in runs) else []),
        row("reordered", "reordered", [int(run.flows["reordered"].sum()) for run in runs], sent, data),
        _counts("timeouts", "timeouts", counter("timeouts")),
        row("flows with a timeout", "timeouts", flows_with("timeouts"), flows, "flows"),
        row("flows with a retransmission", "retransmissions", flows_with("retransmissions"), flows, "flows"),
    ]


def _pauses(runs: Sequence[Run]) -> list[Metric]:
    """Pauses of all ports, and their times added up."""
    times = [int(run.links["paused_ps"].sum()) for run in runs]
    return [
        _counts("pauses", "pauses", [int(run.counters.get("pauses", 0)) for run in runs]),
        Metric(
            "time paused",
            "paused_ps",
            [Cell(text.duration(time) if time else "0", "" if time else "zero") for time in times],
        ),
    ]


def tiers(runs: Sequence[Run]) -> list[Group]:
    """Links by tier.

    Cells: links, mean and largest utilisation, mean and largest queue, drops, trims, marks; if flow control stopped a
    port in any of the runs, the largest share of the time for which one of the tier was.
    """
    tables = [by_tier(run.links) for run in runs]
    stops = any(run.pauses for run in runs)
    names = list(dict.fromkeys(name for table in tables for name in table["tier"]))
    return [
        Group(
            name,
            [
                Row(i, [*_tier_cells(row), *([_paused(row, runs[i])] if stops else [])])
                for i, table in enumerate(tables)
                for row in _rows(table, name)
            ],
        )
        for name in names
    ]


def worst(run: Run, count: int = 10) -> list[LinkRow]:
    """The run's worst links.

    Cells: link, utilisation, mean and largest queue, packets lost to faults if there were any, drops, trims, marks; if
    flow control stopped any, the share of the time for which this one was.
    """
    return [
        LinkRow(
            link["id"],
            [
                Cell(f"{link['from']} → {link['to']}", title=f"link {link['id']}, {link['tier']}"),
                _number(link["utilisation"], text.percent),
                _number(link["queue_mean_bytes"], text.size),
                _number(
                    link["queue_max_bytes"],
                    text.size,
                    title=text.counted(link["queue_max_packets"], "packet"),
                ),
                *(
                    _counted(link[name])
                    for name in (*(["lost"] if run.faults else []), "drops", "trims", "marks")
                ),
                *([_paused(link, run)] if run.pauses else []),
            ],
        )
        for link in worst_links(run.links, count).iter_rows(named=True)
    ]


def zeros(run: Run) -> list[tuple[str, str]]:
    """Zero counters among the run's losses: keys of terms.TERMS, and reasons."""
    return [(term, reason) for term, why in reasons.ZERO.items() if (reason := why(run))]


def _card(run: Run) -> Card:
    row = by_size(run.measured).row(-1, named=True)
    pairs: list[tuple[str, str, str]] = [
        ("FCT p50", "fct", text.duration(row["fct_p50_ps"])),
        ("FCT p99", "fct", text.duration(row["fct_p99_ps"])),
        ("slowdown p50", "slowdown", text.ratio(row["slowdown_p50"])),
        ("slowdown p99", "slowdown", text.ratio(row["slowdown_p99"])),
        ("goodput", "goodput", text.rate(run.goodput_bps)),
    ]
    note = f"goodput {goodputs.over(run.summary)}"
    if not run.has_window:
        starts, times = (run.flows[name].to_list() for name in ("start_ps", "fct_ps"))
        if late := goodputs.late_end(starts, times, run.end_ps):
            note += f"; {late[0]} complete at {text.duration(late[1])}"
    loads = run.loads or {}
    if loads.get("carried_load") is not None:
        both = f"{text.ratio(loads['carried_load'])}/{loads['offered_load']:.3g}"
        pairs.append(("carried/offered", "carried", both))
    if run.one_size:
        pairs.append(("Jain's index", "jain", text.ratio(jain(flow_goodput(run.measured)))))
    if run.has_deadlines:
        share = application_throughput(run.measured)
        pairs.append(("deadlines met", "deadline", text.percent(share)))
    return Card(
        completed=text.percent(row["completed_fraction"]),
        flows=f"{row['completed']:,} of {row['flows']:,} flows",
        all_completed=row["completed"] == row["flows"],
        metrics=[Metric(name, term, [Cell(value)]) for name, term, value in pairs],
        note=note,
    )


def _deadline_cells(flows: pl.DataFrame) -> list[Cell]:
    row = timeliness(flows).row(0, named=True)
    ahead = flows["served_ahead"]
    return [
        _number(row["flows"], text.count),
        _number(row["application_throughput"], text.percent, title=text.counted(row["met"], "flow")),
        *(_counted(row[name]) for name in ("late", "abandoned", "unfinished")),
        *(
            # As in `_summary_rows`: at least one flow above the percentile.
            _number(
                row[f"lateness_{name}_ps"],
                text.duration,
                "thin" if row["late"] * (1 - PERCENTILES[name]) < 1 else "",
            )
            for name in ("p50", "p99")
        ),
        _number(
            int((ahead > 0).sum()),
            text.count,
            "" if ahead.sum() else "zero",
            text.counted(int(ahead.sum()), "pair"),
        ),
    ]


def _summary_rows(found: Sequence[tuple[int, Mapping[str, Any]]]) -> list[Row]:
    columns = [
        *((f"fct_{name}", "_ps", name, text.duration) for name in STATISTICS),
        *((f"slowdown_{name}", "", name, text.ratio) for name in STATISTICS),
    ]
    best = {column: smallest([row for _, row in found], column, unit) for column, unit, _, _ in columns}
    rows = []
    for place, (i, row) in enumerate(found):
        whole = row["completed"] == row["flows"]
        cells = [
            _number(row["flows"], text.count),
            _number(
                row["completed_fraction"],
                text.percent,
                "" if whole else "bad",
                text.counted(row["completed"], "flow"),
            ),
        ]
        for column, unit, statistic, show in columns:
            value, low, high = (row[f"{column}{end}{unit}"] for end in ("", "_low", "_high"))
            tone = "best" if place == best[column] else ""
            # At least one flow above the percentile, or it is an interpolation towards the maximum.
            beyond = row["completed"] * (1 - PERCENTILES.get(statistic, 0))
            tone = "thin" if beyond < 1 or (high is None and low is not None) else tone
            within = text.interval(value, low, high, show)
            if low is None and high is None:
                within = "" if value is None else text.NONE
            cells.append(replace(_number(value, show, tone), interval=within))
        rows.append(Row(i, cells))
    return rows


def smallest(rows: Sequence[Mapping[str, Any]], column: str, unit: str) -> int | None:
    """The row whose value is the smallest beyond its interval: that lies below the intervals of all others.

    Args:
        rows: Completion with intervals, as of `completion.by_key`.
        column: The value's column without its unit, such as "fct_p50".
        unit: The end of the columns' names.

    Returns:
        Its number; None if there is none, or if flows are missing: then the smallest number may be the worst.
    """
    if len(rows) < 2 or any(row["completed"] != row["flows"] for row in rows):
        return None
    lows, highs = ([row[f"{column}_{end}{unit}"] for row in rows] for end in ("low", "high"))
    for i, high in enumerate(highs):
        others = [low for j, low in enumerate(lows) if j != i]
        if high is not None and all(low is not None and high < low for low in others):
            return i
    return None


def _known_intervals(groups: Iterable[Group]) -> list[Group]:
    """Groups without the dashes in place of intervals if no value of any of them has an interval."""
    found = list(groups)
    if interval_ends(found) != {"none"}:
        return found
    return [
        Group(group.name, [Row(row.run, [replace(c, interval="") for c in row.cells]) for row in group.rows])
        for group in found
    ]


def _rows(table: pl.DataFrame, tier: str) -> list[dict[str, Any]]:
    return table.filter(pl.col("tier") == tier).to_dicts()


def _tier_cells(row: dict[str, Any]) -> list[Cell]:
    return [
        _number(row["links"], text.count),
        _number(row["utilisation_mean"], text.percent),
        _number(row["utilisation_max"], text.percent),
        _number(row["queue_mean_bytes"], text.size),
        _number(row["queue_max_bytes"], text.size),
        *(_counted(row[name]) for name in ("drops", "trims", "marks")),
    ]


def _paused(row: dict[str, Any], run: Run) -> Cell:
    share = row["paused_ps"] / max(run.window_length_ps, 1)
    return _number(share, text.percent, "" if share else "zero")


def _counts(name: str, term: str, numbers: list[int]) -> Metric:
    return Metric(name, term, [Cell(text.count(number), "" if number else "zero") for number in numbers])


def _counted(number: int) -> Cell:
    return _number(number, text.count, "" if number else "zero")


def _number(value: Any, show: Callable[[Any], str], tone: str = "", title: str = "") -> Cell:
    return Cell(show(value), tone, title, value)
