"""The timeline of flows: a bar from start to completion for some of them, which the reader filters.

The page holds no more than MOST flows of a run, chosen here by a stated rule; its script filters among those.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from flowyard.analysis.completion import SIZE_GROUPS
from flowyard.forks import pl
from flowyard.report import charts
from flowyard.report.charts import overlays
from flowyard.run_data import Run
from flowyard.text import percent

# Flows of one run that the page holds: in all, the slowest, the unfinished, those that faults hit; the rest is an even
# sample by start.
MOST, SLOWEST, UNFINISHED, HIT = 400, 150, 100, 50
# Why the page holds a flow, with its words.
WHY = {
    "slowest": "slowest",
    "unfinished": "unfinished that have waited longest",
    "hit": "others that lost most packets to faults",
    "sample": "others, evenly spread over their starts",
}
# Upper ends of the classes of slowdown, each with a colour; the last class has none.
CLASSES = (1.2, 1.5, 2.0, 4.0, 10.0, 30.0)
HEIGHT = 320


@dataclass(frozen=True)
class Timeline:
    """The timeline of all runs.

    Attributes:
        spec: Vega-Lite data; its dataset `flows` has every flow that the page holds, with the run it is of; the page's
            script shows those of one run, filtered.
        totals: How many flows each run has, in the measuring window if it has one.
        held: How many of them the page holds.
        why: In words, which flows these are; empty where the page holds all.
        tags: Names of the traffic entries.
        sizes: Names of the size groups that are there.
    """

    spec: charts.Spec
    totals: list[int]
    held: list[int]
    why: list[str]
    tags: list[str]
    sizes: list[str]


def timeline(runs: Sequence[Run]) -> Timeline | None:
    """The timeline; None if no flow of any run started."""
    chosen = [choose(run) for run in runs]
    if not any(table.height for table in chosen):
        return None
    tags = list(dict.fromkeys(tag for table in chosen for tag in table["tag"]))
    rows = [row for run, table in zip(runs, chosen, strict=True) for row in _rows(run, table, tags)]
    groups = {row["group"] for row in rows}
    return Timeline(
        spec=_spec(runs, rows),
        totals=[_flows(run).height for run in runs],
        held=[table.height for table in chosen],
        why=[_why(table) for table in chosen],
        tags=tags,
        sizes=[name for _, name in SIZE_GROUPS if name in groups],
    )


def choose(run: Run) -> pl.DataFrame:
    """The flows that the page holds, by start, with why: slowest, unfinished, hit or sample; all of a few.

    First the slowest by slowdown, or by completion time where the run has no slowdown; then the unfinished that have
    waited longest; then those that lost most packets to faults; then, of all others that started, as many as there is
    room for, evenly spread over their starts.
    """
    flows = _flows(run).filter(pl.col("start_ps").is_not_null()).sort("start_ps", "id")
    if flows.height <= MOST:
        return flows.with_columns(why=pl.lit("all"))
    order = "slowdown" if flows["slowdown"].count() else "fct_ps"
    done = flows.filter("completed").sort(order, "id", descending=[True, False], nulls_last=True)
    parts = [
        done.head(SLOWEST).with_columns(why=pl.lit("slowest")),
        flows.filter(~pl.col("completed")).head(UNFINISHED).with_columns(why=pl.lit("unfinished")),
    ]
    rest = _without(flows, parts)
    hit = rest.filter(pl.col("lost") > 0).sort("lost", "id", descending=[True, False]).head(HIT)
    parts.append(hit.with_columns(why=pl.lit("hit")))
    taken = pl.concat(parts)
    rest = _without(flows, parts)
    room = min(MOST - taken.height, rest.height)
    even = [round(i * (rest.height - 1) / max(1, room - 1)) for i in range(room)]
    return pl.concat([taken, rest[even].with_columns(why=pl.lit("sample"))]).sort("start_ps", "id")


def _flows(run: Run) -> pl.DataFrame:
    """All flows; of a run with a measuring window those that start in it, background included."""
    inside = pl.col("start_ps").is_between(*run.window_ps, closed="left")
    return run.flows.filter(inside) if run.has_window else run.flows


def _without(flows: pl.DataFrame, parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    taken = pl.concat(part.select("id") for part in parts)
    return flows.join(taken, on="id", how="anti", maintain_order="left")


def _why(table: pl.DataFrame) -> str:
    counts = dict(table["why"].value_counts().iter_rows())
    return "; ".join(f"{counts[why]:,} {words}" for why, words in WHY.items() if counts.get(why))


def _rows(run: Run, table: pl.DataFrame, tags: list[str]) -> list[dict[str, Any]]:
    slowest = table.filter("completed").sort("slowdown", descending=True, nulls_last=True)["id"].to_list()
    rank = {flow: i for i, flow in enumerate(slowest)}
    return [
        {
            "run": run.label,
            "flow": flow["id"],
            "from": f"host {flow['src']}",
            "to": f"host {flow['dst']}",
            "tag": flow["tag"],
            "group": next(
                name for upper, name in SIZE_GROUPS if upper is None or flow["size_bytes"] <= upper
            ),
            "size": flow["size_bytes"],
            "start": flow["start_ps"],
            "end": _end(run, flow),
            "fct": flow["fct_ps"],
            "slowdown": None if flow["slowdown"] is None else charts.rounded(flow["slowdown"]),
            "retransmissions": flow["retransmissions"],
            "timeouts": flow["timeouts"],
            "drops": flow["drops"],
            "lost": flow["lost"],
            "state": _state(flow),
            "rank": rank.get(flow["id"]),
            "shade": _shade(flow),
            "tint": f"var(--run-{min(tags.index(flow['tag']), charts.COLOURS - 1)})",
        }
        for flow in table.iter_rows(named=True)
    ]


def _end(run: Run, flow: dict[str, Any]) -> int:
    """Where its bar ends. When a sender gave up is not recorded: by the deadline, for which it did."""
    start = int(flow["start_ps"])
    if flow["completed"]:
        return start + int(flow["fct_ps"])
    last = max(run.end_ps, start)
    return min(start + int(flow["deadline_ps"]), last) if flow["abandoned"] and flow["deadline_ps"] else last


def _state(flow: dict[str, Any]) -> str:
    if flow["completed"]:
        return "completed"
    return f"{'abandoned' if flow['abandoned'] else 'unfinished'}: {_share(flow)} delivered"


def _share(flow: dict[str, Any]) -> str:
    return percent(flow["delivered_bytes"] / flow["size_bytes"], 0) if flow["size_bytes"] else "nothing"


def _shade(flow: dict[str, Any]) -> str:
    if not flow["completed"]:
        return "var(--muted)"
    if flow["slowdown"] is None:
        return "var(--heat-4)"
    return f"var(--heat-{1 + sum(flow['slowdown'] > upper for upper in CLASSES)})"


def _spec(runs: Sequence[Run], rows: list[dict[str, Any]]) -> charts.Spec:
    def x(field: str) -> alt.X:
        scale = alt.Scale(nice=False, zero=False)
        return alt.X(f"{field}:Q", title="simulated time", axis=axis, scale=scale)

    axis = alt.Axis(format="", formatType="duration", tickCount=6)
    tooltip = [
        alt.Tooltip("title:N", format="", formatType="label"),
        *(alt.Tooltip(f"{name}:N") for name in ("tag", "state")),
        charts.tip("size", "bytes", "size"),
        charts.tip("start", "duration", "start"),
        charts.tip("fct", "duration", "FCT"),
        charts.tip("slowdown", "ratio", "slowdown"),
        *(charts.tip(name, "count", name) for name in ("retransmissions", "timeouts", "drops")),
        *([charts.tip("lost", "count", "lost to faults")] if any(run.faults for run in runs) else []),
    ]
    rank = alt.Y("row:Q", axis=None, scale=alt.Scale(reverse=True, nice=False, zero=False))
    bar = (
        charts.chart_of("flows")
        .transform_calculate(title="'flow ' + datum.flow + ': ' + datum.from + ' → ' + datum.to")
        .transform_window(row="row_number()", sort=[alt.SortField("start"), alt.SortField("flow")])
        .transform_calculate(below="datum.row + 0.8", colour="colours === 'tag' ? datum.tint : datum.shade")
        .mark_bar(aria=False)
        .encode(
            x=x("start"),
            x2="end:Q",
            y=rank,
            y2="below:Q",
            color=alt.Color("colour:N", scale=None),
            # A bar shorter than a pixel still shows.
            stroke=alt.Stroke("colour:N", scale=None),
            strokeWidth=alt.value(0.6),
            fillOpacity=alt.condition("datum.fct === null", alt.value(0.35), alt.value(1)),
            tooltip=tooltip,
        )
    )
    bands, shaded = overlays.fault_bands(runs, x)
    edges = overlays.fault_edges(x) if bands else []
    return charts.spec_of([*bands, bar, *edges], HEIGHT, {"colours": "slowdown"}, flows=rows, **shaded)
