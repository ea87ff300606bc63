"""PEQ section 1.4 on RACS: shares in proportion to 1/residual size come near SRPT's mean completion time.

Flows have no deadlines. SRPT has the smallest mean there is, processor sharing is what RCP and TCP strive for.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import style
from flowyard.papers.figure import Figure, Needs, Scale, Sweeps, Tables
from flowyard.papers.judge import Judgement, not_less, together
from flowyard.sweeps.plan import ModelPlan
from flowyard_papers.peq._sets import SIZES, served, sets

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

SCHEMES = {"srpt": "sjf", "racs": "racs", "ps": "processor-sharing"}
NAMES = {"srpt": "SRPT", "racs": "RACS", "ps": "processor sharing"}
CLASSES: list[dict[str, Any]] = [{"sizes": SIZES, "deadlines": {"none": {}}}]
SERVERS = 40
# Of the capacity, if no flow had to wait.
LOADS = (0.2, 0.4, 0.6, 0.8, 1.0)


def together_point(flows: int, count: int, replica: int) -> pl.DataFrame:
    """Mean completion times of sets."""
    return _means(sets(flows, count), {"replica": replica})


def random_point(load: float, slots: int, replica: int) -> pl.DataFrame:
    """Mean completion times of flows that start at random."""
    # A server's flows come 1/p slots apart, plus the time that they take.
    probability = load / (SERVERS * 100)
    generation = {"random": {"servers": SERVERS, "probability": probability}}
    return _means(generation, {"replica": replica, "slots": slots})


def _means(generation: dict[str, Any], run: dict[str, Any]) -> pl.DataFrame:
    row = {}
    for name, scheme in SCHEMES.items():
        flows = served(generation, CLASSES, scheme, **run).filter("done")
        row[f"{name}_slots"] = flows.select((pl.col("end_slot") - pl.col("arrival_slot")).mean()).item()
    return pl.DataFrame([row], schema=dict.fromkeys(row, pl.Float64))


def plans(scale: Scale) -> dict[str, ModelPlan]:
    """Sets, and random arrivals at several loads."""
    together = {"flows": (2, 4, 8, 16, 32), "count": [scale.pick(10, 100)]}
    random = {"load": LOADS, "slots": [scale.pick(50_000, 500_000)]}
    return {
        "sets": ModelPlan(together_point, together, scale.pick(5, 10), name="one release"),
        "random": ModelPlan(random_point, random, scale.pick(5, 10), name="random arrivals"),
    }


def tables(sweeps: Sweeps) -> Tables:
    """Each replica's means, by number of flows and by load; and the points."""
    found: dict[str, pl.DataFrame] = {}
    for name, x in (("sets", "flows"), ("random", "load")):
        runs = sweeps[name].scan("table").drop("run").sort(x, "replica").collect()
        points = replica_means(runs, [x], [f"{scheme}_slots" for scheme in SCHEMES])
        near = [
            (pl.col(f"{scheme}_slots") / pl.col("srpt_slots")).alias(f"{scheme}_over_srpt")
            for scheme in ("racs", "ps")
        ]
        found |= {name: runs, f"{name}_points": points.with_columns(near)}
    return found


def _in_between(tables: Tables) -> Judgement:
    found = together(
        not_less(tables[name], f"{more}_slots", f"{less}_slots", x=x)
        for name, x in (("sets", "flows"), ("random", "load"))
        for more, less in (("racs", "srpt"), ("ps", "racs"))
    )
    # "Comes near" has no number.
    near = [tables[f"{name}_points"]["racs_over_srpt"].to_list() for name in ("sets", "random")]
    said = [
        f"{min(ratios):.2f} to {max(ratios):.2f} {of}"
        for ratios, of in zip(near, ("of sets", "at random"), strict=True)
    ]
    return replace(found, measured=f"{found.measured}; RACS over SRPT: {', '.join(said)}")


def draw(tables: Tables) -> "Picture":
    """Mean completion times of sets and under random load."""
    picture, panels = style.panels(1, 2)
    places = (("sets", "flows", "flows that start together"), ("random", "load", "offered load"))
    for axes, (name, x, label) in zip(panels, places, strict=True):
        rows = tables[f"{name}_points"].sort(x)
        for place, (scheme, title) in enumerate(NAMES.items()):
            style.curve(axes, rows, x, f"{scheme}_slots", place, title)
        axes.set(xlabel=label, ylim=(0, None))
    panels[0].set_ylabel("mean completion time (slots)")
    panels[0].legend()
    return picture


FIGURE = Figure(
    id="PEQ-P10",
    title="RACS between SRPT and processor sharing",
    plans=plans,
    tables=tables,
    claims={"PEQ-P10": _in_between},
    draw=draw,
    needs={"sets": Needs(10, by=("flows",)), "random": Needs(10, by=("load",))},
    assumed=(
        "Sizes are uniform on 2 to 198. Random arrivals are those of 40 servers, each with at most one flow; the "
        "offered load leaves out the time for which a flow keeps its server from starting another. Flows that are "
        "there at the end of a run are left out.",
        "A flow's weight is 1/residual size, anew in each slot. In the last slot of a flow, what it does not need of "
        "its share is lost, under RACS as under processor sharing.",
    ),
)
