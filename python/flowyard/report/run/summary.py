"""The summary of a run in the terminal, on half a screen.

run.json has nearly all of it. Tables are read only for what it lacks: the idle end of a whole run, deadlines, several
traffic entries, flows without an end, and the completion times of runs of older versions.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flowyard import text
from flowyard.report import cut_off, loads
from flowyard.report import goodput as goodputs
from flowyard.results import advised, controlled
from flowyard.run_json import can_pause, has_window, not_whole
from flowyard.terminal import folding
from flowyard.terminal.console import TextTable, show

if TYPE_CHECKING:
    from flowyard.results import Result

SHOWN = ("p50", "p95", "p99")
# Traffic entries that are shown apart, as analysis.completion has it, which is imported late.
MOST_ENTRIES = 8
# Flows that an interval needs, as analysis.within_run has it, which is imported late.
FEWEST = 40
# Below tables with intervals, and below those without any.
LEGEND = "[low, high]: 95 % interval"
# Behind it, where an interval has one end.
ONE_END = "; - in place of an end: too few flows to say how far it may lie"
FEW_FLOWS = f"no 95 % intervals: fewer than {FEWEST} flows are complete"
FEW_STARTS = f"no 95 % intervals: flows start at fewer than {FEWEST} instants, and share their queues"
NO_INTERVALS = "no 95 % intervals: slow flows follow slow flows for too long in this window"
WHERE = " (docs/metrics.md, intervals within a run)"
# Behind the legend, where completion times of all flows have intervals.
NO_SLOWDOWN = (
    "; slowdown of all flows has none: slow flows follow slow flows for too long in this window "
    "(docs/metrics.md, intervals within a run)"
)
UNKNOWN = "[-, -]"
COMPLETION = (
    *("flows", "completed"),
    *(f"FCT {name} us" for name in SHOWN),
    *(f"slowdown {name}" for name in SHOWN),
)


def tell(result: "Result", folder: Path) -> None:
    """Prints the summary of a run that has ended and is in its folder."""
    show(summary_table(result, title=str(result.summary["scenario"].get("name") or folder.name)))
    for table in (sizes_table(result), entries_table(result)):
        if table is not None:
            show(table)
    if completion(result)[-1]["completed"]:
        print(legend(result))
    if (entries := measured_entries(result)) > MOST_ENTRIES:
        print(
            f"{entries:,} traffic entries: flowyard show {folder} --csv by_entry has the completion of each"
        )
    lines = [*not_the_whole(result), *why_unfinished(result)]
    if (reason := why_nothing(result)) and reason not in lines:
        print(f"no completion times: {reason}")
    lines += [f"{part} cut off: {loads.plain(said)}" for part, said in cut_off.sentences(result.summary)]
    lines += [advised(advice) for advice in result.summary.get("advice") or ()]
    for line in lines:
        folding.say(line)
    print(f"results in {folder}")


def legend(result: "Result") -> str:
    """The sentence on intervals below the tables of a run."""
    kinds = [
        (interval, name) for interval in (_fct_interval, _slowdown_interval) for name in ("mean", *SHOWN)
    ]
    found = {interval(row, name) for row in completion(result) for interval, name in kinds} - {UNKNOWN}
    total = completion(result)[-1]
    if found:
        correlated = all(_slowdown_interval(total, name) == UNKNOWN for name in ("mean", *SHOWN))
        one_end = ONE_END if any("[-," in interval or ", -]" in interval for interval in found) else ""
        return LEGEND + one_end + (NO_SLOWDOWN if correlated and total["slowdown_mean"] is not None else "")
    return FEW_FLOWS if (total["completed"] or 0) < FEWEST else _no_intervals(result)


def _no_intervals(result: "Result") -> str:
    """Which of the causes has left a run with flows enough without intervals."""
    from flowyard.run_data import Run

    flows = Run.of(result).measured
    if flows.filter("completed")["start_ps"].n_unique() < FEWEST:
        return FEW_STARTS + WHERE
    cause = ", as after its faults" if result.summary.get("faults") else ", as while queues grow"
    return f"{NO_INTERVALS}{cause}{WHERE}"


def summary_table(result: "Result", title: str) -> TextTable:
    """One run: how it ended, completion times and slowdown of all flows, and what was counted."""
    counters = result.summary["counters"]
    total = completion(result)[-1]
    rate = counters["packet_hops"] / counters["wall_s"] / 1e6 if counters["wall_s"] else 0.0
    lost = []
    if result.summary.get("faults"):
        gone = (counters["lost"], counters["unroutable"])
        lost = [("lost to faults, unroutable", ", ".join(f"{count:,}" for count in gone))]
    rows = [
        ("status", result.status),
        ("simulated", f"{result.summary['end_ps'] / 1e9:.3f} ms in {counters['wall_s']:.2f} s"),
        ("flows completed", f"{total['completed']:,} of {total['flows']:,}"),
        *_times(total),
        *loads.lines(result.summary),
        *_goodput(result),
        *(_deadlines(result) if total["due"] else ()),
        *_pauses(result),
        # Completion, loads, goodput and pauses are of the window.
        *([("counts of the whole run", "")] if has_window(result.summary) else []),
        ("drops, trims, marks", ", ".join(f"{counters[name]:,}" for name in ("drops", "trims", "marks"))),
        *([("credit drops", f"{counters['credit_drops']:,}")] if "credit_drops" in counters else []),
        *lost,
        *_control(result),
        *_reordering(result),
        ("retransmissions, timeouts", f"{counters['retransmissions']:,}, {counters['timeouts']:,}"),
        ("packet-hops", f"{counters['packet_hops']:,} ({rate:.2f} M/s)"),
        *_threads(result),
        *_prototypes(result),
        ("digest", result.summary["digest"][:16]),
    ]
    return TextTable(title, ("", ""), rows)


def _times(total: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Completion times and slowdowns of all flows; one line where no flow is complete."""
    if not total["completed"]:
        return [("FCT, slowdown", "none: no flow is complete")]
    return [
        *(
            (f"FCT {name}", " ".join([_fct(total, name), *_known(_fct_interval(total, name)), "us"]))
            for name in ("mean", *SHOWN)
        ),
        *(
            (f"slowdown {name}", " ".join([_slowdown(total, name), *_known(_slowdown_interval(total, name))]))
            for name in ("mean", *SHOWN)
        ),
    ]


def sizes_table(result: "Result") -> TextTable | None:
    """One run's completion by flow size; None if all its flows are in one group of sizes."""
    groups = completion(result)
    if len(groups) <= 2:
        return None
    lines = [line for row in groups for line in ([row["group"], *cells(row)], ["", *intervals(row)])]
    rows = [line for line in lines if any(line)]
    return TextTable("by flow size", ["flow size", *COMPLETION], rows)


def entries_table(result: "Result") -> TextTable | None:
    """One run's completion by traffic entry and flow size; None unless several entries, not too many, have flows."""
    if not 1 < measured_entries(result) <= MOST_ENTRIES:
        return None
    from flowyard.analysis import by_entry
    from flowyard.run_data import Run

    table = by_entry(Run.of(result).measured, intervals=True)
    entries = table.partition_by("tag", as_dict=True)
    if len(entries) < 2:
        # The measuring window has no flows of the others.
        return None
    rows = []
    for (tag,), own in entries.items():
        # Flows of one group of sizes are all flows of the entry.
        groups = own.rows(named=True)[: 1 if own.height == 2 else None]
        for i, row in enumerate(groups):
            rows.append(["" if i else str(tag), row["group"], *cells(row)])
            rows += [["", *below] for below in [["", *intervals(row)]] if any(below)]
    return TextTable("by traffic entry", ["traffic entry", "flow size", *COMPLETION], rows, left=2)


def measured_entries(result: "Result") -> int:
    """Traffic entries that have flows and are not background."""
    return sum(1 for entry in result.summary["traffic"] if entry["flows"] and not entry.get("background"))


def completion(result: "Result") -> list[dict[str, Any]]:
    """Completion by size group, the last row for all flows, as run.json has it."""
    if (rows := result.summary.get("completion")) is not None:
        return list(rows)
    from flowyard.analysis import by_size, timeliness
    from flowyard.run_data import Run

    # run.json of before it had them.
    flows = Run.of(result).measured
    due = timeliness(flows).row(0, named=True)["flows"]
    return [row | {"due": due} for row in by_size(flows, intervals=True).iter_rows(named=True)]


def cells(row: Mapping[str, Any]) -> list[str]:
    """The cells of COMPLETION, from a row of `by_size`."""
    share = row["completed"] / row["flows"] if row["flows"] else 0
    return (
        [f"{row['flows']:,}", text.percent(share)]
        + [_fct(row, p) for p in SHOWN]
        + [_slowdown(row, p) for p in SHOWN]
    )


def intervals(row: Mapping[str, Any]) -> list[str]:
    """The line below these cells: an interval where one of its ends is known."""
    found = [interval(row, p) for interval in (_fct_interval, _slowdown_interval) for p in SHOWN]
    return ["", "", *("" if one == UNKNOWN else one for one in found)]


def _pauses(result: "Result") -> list[tuple[str, str]]:
    """A line on the pauses of all ports and the sum of their times; none where the queue does not pause."""
    if not can_pause(result.summary):
        return []
    count = paused = 0
    # The table is read only where there is something to add up; it is of the window.
    if result.summary["counters"].get("pauses"):
        links = result.links.to_polars()
        count, paused = int(links["pauses"].sum()), int(links["paused_ps"].sum())
    return [("pauses, time paused", f"{count:,}, {loads.plain(text.duration(paused))} of all ports together")]


def _control(result: "Result") -> list[tuple[str, str]]:
    """A line on the controller: how often it decided, how long that took on this machine, and its messages."""
    name = controlled(result.summary["scenario"])
    control = result.summary["counters"].get("control")
    if name is None or control is None:
        return []
    decisions = text.counted(control["acts"], "decision")
    # Runs of before have no times and no losses.
    if control["acts"] and "wall_s" in control:
        decisions += f" of {_number(control['wall_s'] / control['acts'], 1e-6)} us"
    messages = f"{text.counted(control['reports'], 'report')}, {text.counted(control['orders'], 'order')}"
    lost = f", {control['lost']:,} lost" if control.get("lost") else ""
    return [(name, f"{decisions}, {messages}{lost}")]


def _reordering(result: "Result") -> list[tuple[str, str]]:
    """A line on packets that hosts or switches held to restore their order; none without such buffers."""
    counts = result.summary["counters"].get("reordering")
    if counts is None:
        return []
    held = f"{text.counted(counts['held'], 'packet')} held"
    if counts["held"]:
        most = f"{counts['packets_max']:,} of a flow ({counts['bytes_max']:,} B)"
        held += f", at most {most} at a time and for {_number(counts['wait_max_ps'], 1e6)} us"
    return [("reordering", held)]


def _threads(result: "Result") -> list[tuple[str, str]]:
    """A line on how the run was parted among threads, or why it was not; none if it was asked for one thread."""
    partition = result.summary.get("partition")
    if partition is None:
        return []
    if "whole" in partition:
        return [("threads", f"1: {partition['whole']}")]
    counts = partition["parts"]
    share = text.percent(counts["crossings"] / max(1, result.summary["counters"]["packet_hops"]))
    spans = text.counted(counts["windows"], "window")
    windows = f"{counts['parts']} parts, {spans}, {share} of packet-hops between parts"
    return [("threads", f"{counts['threads']}: {windows}")]


def _prototypes(result: "Result") -> list[tuple[str, str]]:
    """A line on each member in Python: its class, its file by name and hash, and what its calls took of the run."""
    lines = []
    for own in result.summary.get("prototypes", ()):
        source = f"{own['file']}, sha256 {own['sha256'][:12]}" if own["file"] else "no file"
        cost = f"{text.counted(own['calls'], 'call')}, {own['python_s']:.2f} s, {text.percent(own['share'])} of the run"
        lines.append((f"{own['kind']} {own['class']}", f"{source}: {cost}"))
    return lines


def _deadlines(result: "Result") -> list[tuple[str, str]]:
    """Lines on deadlines."""
    from flowyard.analysis import inversions, timeliness
    from flowyard.run_data import Run

    flows = Run.of(result).measured
    row = timeliness(flows).row(0, named=True)
    missed = ", ".join(f"{row[name]:,}" for name in ("late", "abandoned", "unfinished"))
    late = " / ".join(_number(row[f"lateness_{p}_ps"], 1e6) for p in ("p50", "p99"))
    share = f"{text.percent(row['application_throughput'])}, {row['met']:,} of {row['flows']:,} flows"
    lines = [("deadlines met", share), ("late, abandoned, unfinished", missed)]
    if row["late"]:
        lines.append(("lateness p50/p99", f"{late} us"))
    if row["met"] < row["flows"]:
        found = inversions(flows)
        lines.append(
            (
                "deadline inversions",
                f"{text.counted(found.flows, 'flow')}, {text.counted(found.pairs, 'pair')}",
            )
        )
    return lines


def why_nothing(result: "Result") -> str | None:
    """In a run in which no flow is complete: why. Else None."""
    if completion(result)[-1]["completed"]:
        return None
    from flowyard.report import reasons
    from flowyard.run_data import Run

    return reasons.no_fct(Run.of(result))


def not_the_whole(result: "Result") -> list[str]:
    """In a run that did not come to its own end: that the tables are not of all flows."""
    if result.status == "complete":
        return []
    total = completion(result)[-1]
    missing = total["flows"] - total["completed"]
    if not total["completed"]:
        return [f"{result.status.capitalize()} before any flow was complete"]
    of_flows = f": {missing:,} of {total['flows']:,} flows are missing from every mean and percentile above"
    return [not_whole(result.status) + (of_flows if missing else "")]


def why_unfinished(result: "Result") -> list[str]:
    """Why flows did not complete, in lines: what those of a stalled run wait for, what was lost and is not repeated."""
    total = completion(result)[-1]
    if total["completed"] == total["flows"] and result.status == "complete":
        return []
    from flowyard.report import reasons
    from flowyard.run_data import Run

    run = Run.of(result)
    lost = reasons.not_completed(run)
    return [f"stalled: {wait}" for wait in reasons.waits(run)] + ([lost] if lost else [])


def goodput(result: "Result") -> str:
    """Payload delivered a second by all flows together in the measuring window."""
    rate = text.rate(_goodput_bps(result))
    # A table of ASCII alone needs no rich.
    return rate.replace("\u00a0", " ")


def _goodput(result: "Result") -> list[tuple[str, str]]:
    """Goodput with its span, and which flows were complete long before the end of that."""
    lines = [("goodput", loads.plain(f"{goodput(result)}, {goodputs.over(result.summary)}"))]
    if has_window(result.summary) or not result.summary["end_ps"]:
        return lines
    starts, times = result.flows.values("start_ps", "fct_ps")
    late = goodputs.late_end(starts, times, result.summary["end_ps"])
    return [*lines, *([("", loads.plain(f"{late[0]} complete at {text.duration(late[1])}"))] if late else [])]


def _goodput_bps(result: "Result") -> float:
    found = (result.summary.get("measured") or {}).get("goodput_bps")
    if found is not None:
        return float(found)
    from flowyard.run_data import Run

    # run.json of before it had it.
    return Run.of(result).goodput_bps


def _fct(row: Mapping[str, Any], name: str) -> str:
    """A mean or percentile of completion times, in us."""
    return _number(row[f"fct_{name}_ps"], 1e6)


def _fct_interval(row: Mapping[str, Any], name: str) -> str:
    return f"[{_number(row[f'fct_{name}_low_ps'], 1e6)}, {_number(row[f'fct_{name}_high_ps'], 1e6)}]"


def _known(interval: str) -> list[str]:
    """An interval if one of its ends is known."""
    return [] if interval == UNKNOWN else [interval]


def _slowdown(row: Mapping[str, Any], name: str) -> str:
    """A mean or percentile of slowdowns."""
    return _number(row[f"slowdown_{name}"])


def _slowdown_interval(row: Mapping[str, Any], name: str) -> str:
    return f"[{_number(row[f'slowdown_{name}_low'])}, {_number(row[f'slowdown_{name}_high'])}]"


def _number(value: float | None, scale: float = 1.0) -> str:
    """Three or four digits that count; a dash where there is no value."""
    if value is None:
        return "-"
    value /= scale
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"
