"""PEQ figures 3.1 and 3.2, section 3.2: flows that start together, where larger ones have tighter deadlines.

Figure 3.1 has the share of flows in time, figure 3.2 the time that they take. The thesis does not say how sizes and
deadlines hang together: two kinds of sets are tried, and two rules by which PDQ's flows give up; nor whether a time is
the mean of the flows or that of the last one: the caption of figure 3.2 speaks of flow completion time.
"""

from itertools import product
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import style
from flowyard.papers.figure import Figure, Needs, Scale, Sweeps, Tables
from flowyard.papers.judge import Judgement, at_least, between, by_reading, not_less, not_reached
from flowyard.slotted.measures import measure
from flowyard.sweeps.plan import ModelPlan
from flowyard_papers.peq._sets import ADVERSARIAL, Classes, draw_schemes, never_falls, served, sets

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

TWO_CLASSES: Classes = [
    {
        "sizes": {"uniform": {"min": 100, "max": 198}},
        "deadlines": {"uniform": {"min": 0, "max": 20, "beyond_size": True}},
    },
    {"sizes": {"uniform": {"min": 2, "max": 20}}, "deadlines": {"uniform": {"min": 150, "max": 200}}},
]
SETS = {"line": ADVERSARIAL, "two classes": TWO_CLASSES}
TITLES = {"line": "deadlines fall with size", "two classes": "two classes of flows"}
FLOWS = (4, 8, 16, 24, 32, 48, 64)
SCHEMES: dict[str, dict[str, Any]] = {
    "peq": {"peq": {}},
    "pdq": {"pdq": {}},
    "pdq_expired": {"pdq": {"early_termination": "expired"}},
}
# What the time of a set may be, the caption's first.
TIMES = {"fct_slots": "mean completion time", "last_slots": "time until the last is done"}
REPLICAS = 10


def point(scenario: str, flows: int, count: int, replica: int) -> pl.DataFrame:
    """Means over `count` sets: flows in time (%), time until the last and the mean one of them is done (slots)."""
    row: dict[str, float | None] = {}
    for scheme, discipline in SCHEMES.items():
        ended = served(sets(flows, count), SETS[scenario], discipline, replica=replica)
        each = measure(ended, ("set",)).select(
            100 * pl.col("application_throughput").mean(), pl.col("makespan_slots", "fct_mean_slots").mean()
        )
        percent, makespan, fct = each.row(0)
        row |= {f"{scheme}_percent": percent, f"{scheme}_last_slots": makespan, f"{scheme}_fct_slots": fct}
    return pl.DataFrame([row], schema=dict.fromkeys(row, pl.Float64))


def plans(scale: Scale) -> dict[str, ModelPlan]:
    """1000 sets a point, in 10 independent parts."""
    axes = {"scenario": list(SETS), "flows": FLOWS, "count": [scale.pick(20, 100)]}
    return {"sets": ModelPlan(point, axes, REPLICAS, name="one release")}


def tables(sweeps: Sweeps) -> Tables:
    """Each replica's means, and those of all with PEQ's relative to PDQ's."""
    runs = sweeps["sets"].scan("table").drop("run").sort("scenario", "flows", "replica").collect()
    values = [name for name in runs.columns if name.endswith(("_percent", "_slots"))]
    points = replica_means(runs, ["scenario", "flows"], values).with_columns(
        pl.col(f"peq_{value}").truediv(f"{scheme}_{value}").alias(f"{value}_peq_over_{scheme}")
        for value in ("percent", "last_slots", "fct_slots")
        for scheme in ("pdq", "pdq_expired")
    )
    return {"runs": runs, "points": points}


def _runs(tables: Tables, scenario: str = "line") -> pl.DataFrame:
    return tables["runs"].filter(scenario=scenario)


def _double(tables: Tables) -> Judgement:
    rows = tables["points"].filter(scenario="line").sort("flows")
    if rows.is_empty() or rows["flows"][-1] != FLOWS[-1]:
        return not_reached(f"no sets of {FLOWS[-1]} flows")
    return at_least(rows["peq_percent"][-1] / rows["pdq_percent"][-1], 2.0)


def _grows(tables: Tables) -> Judgement:
    ratio = pl.col("peq_percent") / pl.col("pdq_percent")
    return never_falls(_runs(tables).with_columns(ratio=ratio), "ratio", x="flows")


def _half_the_time(tables: Tables) -> Judgement:
    """The claim's own reading is the mean completion time, with PDQ as figure 3.2 explains it, on figure 3.1's sets."""
    found = {}
    for (value, time), (scenario, title) in product(TIMES.items(), TITLES.items()):
        rows = tables["points"].filter(scenario=scenario).sort("flows")
        for scheme, rule in (("pdq_expired", "without"), ("pdq", "with")):
            ratios = rows[f"peq_{value}"] / rows[f"{scheme}_{value}"]
            found[f"{time}; {title}; PDQ {rule} early termination"] = _time_ratio(ratios, time)
    return by_reading(found)


def _time_ratio(ratios: pl.Series, time: str) -> Judgement:
    """The mean over the numbers of flows."""
    mean = ratios.mean()
    if ratios.null_count() or not isinstance(mean, float):
        return not_reached("at some number of flows nothing was done in time")
    own = ratios.to_list()
    return between(mean, 0.4, 0.65).because(
        f"{time} of the flows in time, PEQ over PDQ, is {min(own):.2f} to {max(own):.2f} over the numbers of flows"
    )


def draw(tables: Tables) -> "Picture":
    """Flows in time, their mean completion time, time until the last is done; a column for each kind of sets."""
    shown = {"percent": ("3.1", "application throughput (%)")}
    shown |= {value: ("3.2", f"{time} (slots)") for value, time in TIMES.items()}
    picture, panels = style.panels(len(shown), len(SETS), size=(4.6, 3.0))
    for column, scenario in enumerate(SETS):
        rows = tables["points"].filter(scenario=scenario).sort("flows")
        for row, (value, (number, label)) in enumerate(shown.items()):
            axes = panels[row * len(SETS) + column]
            draw_schemes(axes, rows, "flows", value)
            axes.set_ylim(bottom=0)
            axes.set_title(f"Figure {number}: {TITLES[scenario]}", loc="left")
            if not column:
                axes.set_ylabel(label)
        axes.set_xlabel("flows")
    panels[0].legend()
    return picture


FIGURE = Figure(
    id="PEQ-F3.1",
    title="One release, larger flows due earlier: flows in time and the time they take (figures 3.1 and 3.2)",
    plans=plans,
    tables=tables,
    claims={
        "PEQ-F3.1.a": lambda tables: not_less(
            _runs(tables), "peq_percent", "pdq_percent", x="flows", points=True
        ),
        "PEQ-F3.1.b": _double,
        "PEQ-F3.1.c": _grows,
        "PEQ-F3.2.a": _half_the_time,
        "PEQ-F3.2.b": lambda tables: not_less(
            _runs(tables), "peq_percent", "pdq_expired_percent", x="flows", points=True
        ),
    },
    draw=draw,
    needs={
        "runs": Needs(10, by=("scenario", "flows"), least={"count": 100}),
        "points": Needs(10, by=("scenario", "flows")),
    },
    assumed=(
        "Sizes are uniform on 2 to 198 and a flow is due after 198 + (198 - size)/2 slots; claims are judged there. "
        "The two classes are beside it: half the flows have 100 to 198 packets and 0 to 20 slots to spare, half have 2 "
        "to 20 packets and are due after 150 to 200 slots.",
        "For figure 3.1, PDQ's flows give up as soon as they cannot be in time, which is early termination. For "
        "figure 3.2 they stay until their deadline, since the thesis explains it by the time that PDQ spends on "
        "flows that fail (PEQ-X6). Tables and picture have both.",
        "The time of a set is the mean completion time of its flows in time, since figure 3.2 is a 'Flow completion "
        "time comparison'; beside it is the time until the last of them is done. Sets without any are left out. The "
        "claim is about the mean ratio over the numbers of flows, for both kinds of sets and both rules.",
    ),
)
