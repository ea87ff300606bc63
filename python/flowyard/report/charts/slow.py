"""Charts of why slow flows are slow: shares of the parts, and the difference of two runs as a waterfall."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from flowyard.report.charts import Spec, chart_of, rounded, spec_of, tip
from flowyard.report.charts.flow import PARTS
from flowyard.text import duration
from flowyard.why.slow import Group, Slow

ROW_HEIGHT, LINE_HEIGHT = 26, 15


def colours(runs: Sequence[tuple[str, Slow]]) -> dict[str, str]:
    """The parts that the bars of `shares` have, each with its colour: the legend, which the page wraps to its width."""
    there = {part for _, slow in runs for group in slow.groups for part in group.means}
    return {part: colour for part, colour in PARTS.items() if part in there}


def shares(runs: Sequence[tuple[str, Slow]]) -> Spec:
    """The parts of the mean time of each set, as shares of it: a bar for each run, size group and set."""
    rows: list[dict[str, Any]] = []
    names: list[str] = []
    for label, slow in runs:
        for group in slow.groups:
            total = sum(group.means.values())
            name = _name(label if len(runs) > 1 else "", group, total)
            names.append(name)
            rows += [
                {"bar": name, "part": part, "share": rounded(time / total), "time": rounded(time)}
                for part, time in group.means.items()
            ]
    there = colours(runs)
    scale = alt.Scale(domain=list(there), range=list(there.values()))
    rows_axis = alt.Axis(labelExpr="split(datum.label, ', ')", domain=False, ticks=False)
    bars = chart_of("rows").encode(
        x=alt.X("share:Q", stack="zero", title="share of the time", scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(format="", formatType="share", tickCount=5)),
        y=alt.Y("bar:N", sort=names, title=None, axis=rows_axis),
        color=alt.Color("part:N", scale=scale, legend=None),
        order=alt.Order("place:Q"),
        tooltip=[
            alt.Tooltip("bar:N", format="", title="flows"),
            alt.Tooltip("part:N", format=""),
            tip("share", "share", "share"),
            tip("time", "duration", "mean time"),
        ],
    )  # fmt: skip
    rows = [row | {"place": list(there).index(row["part"])} for row in rows]
    lines = 3 if len(runs) > 1 else 2
    return spec_of([bars.mark_bar(height=ROW_HEIGHT - 8)], (LINE_HEIGHT * lines + 6) * len(names), rows=rows)


def _name(label: str, group: Group, total: float) -> str:
    words = f"{group.size}, {group.set}: {duration(total)}"
    return f"{label}, {words}" if label else words


def waterfall(first: str, other: str, before_ps: float, differences: Mapping[str, float]) -> Spec:
    """From the mean completion time in one run to that in the other, part by part.

    Args:
        first: The label of the one run.
        other: That of the other.
        before_ps: The mean completion time in the one run.
        differences: What each part adds in the other, in ps.
    """
    order = sorted(differences.items(), key=lambda item: -abs(item[1]))
    rows: list[dict[str, Any]] = [_bar(first, 0.0, before_ps, "total", before_ps)]
    at = before_ps
    for part, change in order:
        rows.append(_bar(part, at, at + change, "more" if change > 0 else "less", change))
        at += change
    rows.append(_bar(other, 0.0, at, "total", at))
    names = [row["bar"] for row in rows]
    kinds = alt.Scale(
        domain=["total", "more", "less"], range=["var(--run-0)", "var(--run-1)", "var(--run-2)"]
    )
    bars = chart_of("rows").encode(
        x=alt.X("from:Q", title="mean completion time", axis=alt.Axis(format="", formatType="duration", tickCount=6)),
        x2="until:Q",
        y=alt.Y("bar:N", sort=names, title=None, axis=alt.Axis(labelLimit=330, domain=False, ticks=False)),
        color=alt.Color("kind:N", scale=kinds, legend=None),
        tooltip=[alt.Tooltip("bar:N", format="", title=""), tip("change", "duration", "time")],
    )  # fmt: skip
    return spec_of([bars.mark_bar(height=ROW_HEIGHT - 8)], ROW_HEIGHT * len(names), rows=rows)


def _bar(name: str, start: float, end: float, kind: str, change: float) -> dict[str, Any]:
    return {
        "bar": name,
        "from": rounded(start),
        "until": rounded(end),
        "kind": kind,
        "change": rounded(change),
    }
