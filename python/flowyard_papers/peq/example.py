"""PEQ figure 1.15, section 1.4: four flows of which earliest deadline first completes two, and PEQ three.

The table of the flows and two schedules, drawn as the thesis draws them: who has the link when.
"""

from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard import slotted
from flowyard.papers import style
from flowyard.papers.figure import Figure, Tables
from flowyard.papers.judge import Judgement, all_exactly, by_reading, exactly, judged, together, within
from flowyard_papers.peq._algorithm1 import urgency
from flowyard_papers.peq._sets import most_in_time

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

# Size and deadline, slots.
FLOWS = {"f1": (10, 23), "f2": (13, 15), "f3": (4, 26), "f4": (3, 25)}
# EDF as such: the thesis names no rule for flows that are due together.
EDF: dict[str, Any] = {
    "ties by flow number": {"edf": {"ties": "id"}},
    "ties by size": {"edf": {"ties": "size"}},
}
SCHEMES: dict[str, Any] = {
    "PDQ": "pdq",
    "PEQ": "peq",
    "Optimal": "optimal",
    **{f"EDF, {ties}": discipline for ties, discipline in EDF.items()},
}
DRAWN = ("PDQ", "PEQ", "Optimal")


def tables() -> Tables:
    """The flows, their schedules under each scheme, and how many are in time."""
    listed = [{"size": size, "deadline": deadline} for size, deadline in FLOWS.values()]
    flows, schedule = [], []
    for scheme, discipline in SCHEMES.items():
        config = {"generation": {"list": listed}, "discipline": discipline, "run": {"schedule": True}}
        result = slotted.run(config)
        name = pl.lit(scheme).alias("scheme")
        flows.append(pl.DataFrame(result.flows).sort("flow").select(name, pl.all()))
        schedule.append(pl.DataFrame(result.schedule).select(name, pl.all()))
    names = dict(enumerate(FLOWS))
    named = pl.col("flow").replace_strict(names, return_dtype=pl.String).alias("name")
    fates = pl.concat(flows).with_columns(named)
    counts = fates.group_by("scheme", maintain_order=True).agg(in_time=pl.col("done").sum().cast(pl.Int64))
    best = pl.DataFrame(
        {"scheme": ["all subsets"], "in_time": [most_in_time(*zip(*FLOWS.values(), strict=True))]}
    )
    about = [
        {
            "name": name,
            "size": size,
            "deadline": deadline,
            "h": urgency(size, deadline),
            "latest_start": deadline - size,
        }
        for name, (size, deadline) in FLOWS.items()
    ]
    return {
        "urgency": pl.DataFrame(about),
        "flows": fates.select(
            "scheme", "flow", "name", "arrival_slot", "size", "deadline", "end_slot", "done"
        ),
        "schedule": pl.concat(schedule).with_columns(named),
        "counts": pl.concat([counts, best]),
    }


def _ends(tables: Tables, scheme: str) -> dict[str, int | None]:
    """When each flow was done, None if it was not."""
    rows = tables["flows"].filter(scheme=scheme)
    return {row["name"]: row["end_slot"] if row["done"] else None for row in rows.iter_rows(named=True)}


def _order(tables: Tables, scheme: str) -> str:
    return ", ".join(tables["schedule"].filter(scheme=scheme).sort("start_slot")["name"])


def _count(tables: Tables, scheme: str) -> int:
    return int(tables["counts"].filter(scheme=scheme)["in_time"].item())


def _pdq(tables: Tables) -> Judgement:
    expected = {"f1": 23, "f2": 13, "f3": None, "f4": None}
    ends = _ends(tables, "PDQ")
    rows = [(f"end of {name}", ends[name], end) for name, end in expected.items()]
    return all_exactly([*rows, ("flows in time", _count(tables, "PDQ"), 2)], "values")


def _peq(tables: Tables) -> Judgement:
    expected = {"f1": 17, "f2": None, "f3": 7, "f4": 3}
    ends = _ends(tables, "PEQ")
    rows: list[tuple[str, str | int | None, str | int | None]] = [
        (f"end of {name}", ends[name], end) for name, end in expected.items()
    ]
    rows += [("the order", _order(tables, "PEQ"), "f4, f3, f1")]
    rows += [
        (f"flows in time by {scheme}", _count(tables, scheme), 3)
        for scheme in ("PEQ", "Optimal", "all subsets")
    ]
    return all_exactly(rows, "values")


def _start(tables: Tables) -> Judgement:
    latest = int(tables["urgency"].filter(name="f1")["latest_start"].item())
    both = [_ends(tables, "PEQ")[name] for name in ("f4", "f3")]
    last = None if None in both else max(end for end in both if end is not None)
    return together(
        [exactly(latest, 13).called("latest start of f1"), exactly(last, 7).called("end of f4 and f3")]
    )


def _urgency(tables: Tables) -> Judgement:
    expected = {"f4": 1.848, "f3": 2.462, "f1": 6.174, "f2": 8.147}
    own = dict(tables["urgency"].select("name", "h").iter_rows())
    return together(
        within(own[name], h, absolute=1e-3).called(f"H of {name}") for name, h in expected.items()
    )


def _not_optimal(tables: Tables) -> Judgement:
    most = _count(tables, "all subsets")
    counts = {ties: _count(tables, f"EDF, {ties}") for ties in EDF}
    return by_reading(
        {
            ties: judged(count < most, f"{count} flows in time, {most} possible", "fewer than possible")
            for ties, count in counts.items()
        }
    )


def draw(tables: Tables) -> "Picture":
    """The schedules as Gantt charts."""
    from flowyard.slotted import gantt

    picture, panels = style.panels(len(DRAWN), 1, size=(7.0, 1.7))
    for axes, scheme in zip(panels, DRAWN, strict=True):
        rows = tables["flows"].filter(scheme=scheme)
        names = dict(rows.select("flow", "name").iter_rows())
        gantt.draw(axes, rows, tables["schedule"].filter(scheme=scheme), names)
        axes.set_title(f"{scheme}: {_count(tables, scheme)} of {len(rows)} flows in time", loc="left")
        axes.set(xlim=(0, 27), ylim=(len(rows) - 0.4, -0.6))
    panels[-1].set_xlabel("slot")
    return picture


FIGURE = Figure(
    id="PEQ-F1.15",
    title="Four flows that earliest deadline first does not serve best",
    tables=tables,
    claims={
        "PEQ-F1.15.a": _pdq,
        "PEQ-F1.15.b": _peq,
        "PEQ-F1.15.c": _start,
        "PEQ-F1.15.d": _urgency,
        "PEQ-P8": _not_optimal,
    },
    draw=draw,
    assumed=(
        "PDQ gives up flows that cannot be in time any more. EDF as such, which PEQ-P8 is about, does not; of flows "
        "that are due together it serves the one with the lower number first or, a second reading, the smaller one.",
    ),
)
