"""The carried load of a sweep over loads: beside the offered load as a chart, and along x of the others.

Below the load that a network can carry, what is offered is carried and the points are on the diagonal; queueing papers
and simulators of interconnects draw this as accepted against offered traffic.
"""

from collections.abc import Sequence
from dataclasses import replace

from flowyard.forks import pl
from flowyard.report import charts, loads
from flowyard.report.metrics import CARRIED, OFFERED
from flowyard.report.sweep import lines
from flowyard.report.sweep.lines import Against, Layout, Shown

# The offered load may be far beyond what can be carried: the chart's height is that of the points, and so much more.
ABOVE = 1.25


def load_layout(means: pl.DataFrame, plans: Sequence[Layout]) -> int | None:
    """The number of the layout along whose x the offered load varies, the first of several; None without carried loads.

    Other axes may change the load, too: then each point still stands at its own.
    """
    known = means.filter(pl.col(OFFERED.column).is_not_null() & pl.col(CARRIED.column).is_not_null())
    for number, plan in enumerate(plans):
        others = [pl.col(name) for name in plan.values if name != plan.x] or [pl.lit(0)]
        varies = known.group_by(others).agg(pl.col(OFFERED.column).n_unique() > 1)[OFFERED.column]
        if varies.any():
            return number
    return None


def layouts(means: pl.DataFrame, plans: Sequence[Layout]) -> list[Layout]:
    """The layouts with the carried load along x, and with the offered one if no axis is it; none without loads."""
    number = load_layout(means, plans)
    if number is None:
        return []
    found = [_against(means, plans, number, CARRIED.column, CARRIED.name)]
    if not loads.is_axis(means, plans[number].x):
        found.insert(0, _against(means, plans, number, OFFERED.column, OFFERED.name))
    return found


def chart(means: pl.DataFrame, plans: Sequence[Layout], number: int) -> charts.Spec | None:
    """The carried load over the offered one, with the diagonal."""
    shown = _against(means, plans, number, OFFERED.column, OFFERED.name)
    spec, _ = lines.chart([Shown("", means, CARRIED)], [shown])
    if spec is None:
        return None
    rows = spec["datasets"]["rows"]
    carried = max(row[end] for row in rows for end in ("mean", "high") if row[end] is not None)
    offered = max(row[OFFERED.column] for row in rows if row[OFFERED.column] is not None)
    ends = [0.0, charts.rounded(offered)]
    top = charts.rounded(max(carried, min(offered, ABOVE * carried)))
    for layer in spec["layer"]:
        layer["encoding"]["x"]["scale"] = {"domain": ends, "type": "linear", "nice": False}
        layer["encoding"]["y"]["scale"] = {"domain": [0.0, top], "nice": False}
    x, y = (spec["layer"][0]["encoding"][channel] for channel in ("x", "y"))
    dashed = {"type": "line", "strokeDash": [4, 4], "strokeWidth": 1.2, "color": "var(--muted)"}
    diagonal = {
        "mark": {**dashed, "aria": False},
        "data": {"name": "diagonal"},
        "encoding": {
            "x": {**x, "field": "load"},
            "y": {**{name: part for name, part in y.items() if name != "field"}, "field": "load"},
        },
    }
    spec["layer"].insert(0, diagonal)
    reach = min(top, ends[1])
    spec["datasets"]["diagonal"] = [{"load": 0.0}, {"load": reach}]
    return spec


def _against(means: pl.DataFrame, plans: Sequence[Layout], number: int, column: str, name: str) -> Layout:
    known = means[column].drop_nulls().to_list()
    ends = charts.rounded(min(known)), charts.rounded(max(known))
    first = plans[0]
    return replace(plans[number], first=first, against=Against(column, name, ends))
