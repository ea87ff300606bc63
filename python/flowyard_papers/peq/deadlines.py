"""PEQ figures 3.5 to 3.8, section 3.4: application throughput against the mean deadline, with 40 to 100 servers."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.papers.figure import Figure, Needs, Scale, Sweeps, Tables
from flowyard.papers.judge import FAIL, Judgement, by_reading
from flowyard.sweeps.plan import ModelPlan
from flowyard_papers.peq import _load as load
from flowyard_papers.peq import _load_judges as judges
from flowyard_papers.peq import _load_pictures as pictures

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

BY, FIGURES = "servers", {"3.5": 40, "3.6": 60, "3.7": 80, "3.8": 100}
X, ENDS = "deadline_mean_slots", (20, 120)
# A step of a curve is judged by so many where 10 leave it near its limit.
MORE_SEEDS = 40
# As the claim names them, percent; what rounding deadlines up may add, percentage points.
ROUNDING = 0.51
CEILINGS: Mapping[float, float] = {
    20: 9.4,
    30: 14.5,
    40: 19.4,
    60: 28.6,
    80: 36.5,
    90: 39.9,
    100: 43.0,
    120: 48.5,
}


def axes(scale: Scale) -> dict[str, Sequence[Any]]:
    """All means with all numbers of servers."""
    means = scale.pick((20, 60, 120), (20, 40, 60, 80, 100, 120))
    return {BY: tuple(FIGURES.values()), X: means}


def plans(scale: Scale) -> dict[str, ModelPlan]:
    """A plan for each mode."""
    return load.plans(scale, axes(scale), scale.pick({}, {"A": MORE_SEEDS}))


def tables(sweeps: Sweeps) -> Tables:
    """Runs, means, all seeds of mode A, and the share of flows that are feasible at all."""
    return load.tables(sweeps) | {
        "more_runs": load.wide(load.runs(sweeps).filter(mode="A")),
        "ceilings": load.ceilings([(mean, load.SIZE_MAX) for mean in CEILINGS]),
    }


def _longer_is_better(tables: Tables, mode: str) -> Judgement:
    return judges.moves(tables, X, ENDS, BY, "longer deadlines", "shorter deadlines", rising=True, mode=mode)


def _longer_is_better_if_redrawn(tables: Tables) -> Judgement:
    """In mode C; where it fails, with the flows that the link has room for at the longest deadlines."""
    found = _longer_is_better(tables, "C")
    ends = {
        end: tables["points"].filter(pl.col(X) == end, mode="C", scheme="PEQ", servers=max(FIGURES.values()))
        for end in ENDS
    }
    if found.verdict != FAIL or any(row.is_empty() for row in ends.values()):
        return found
    short, long = (row.row(0, named=True) for row in ends.values())
    most = load.room(ENDS[1], long["offered_load"])
    shows = (
        f"flows grow with the mean deadline, since those that do not fit are drawn anew, and so does the load, from "
        f"{short['offered_load']:.2f} to {long['offered_load']:.2f} packets per slot with {short['servers']} servers: "
        f"at mean {ENDS[1]} the link has room for at most {most:.1f} % of the flows, the smallest ones (_load.room); "
        f"at mean {ENDS[0]} PEQ has {short[load.THROUGHPUT]:.1f} % in time"
    )
    if most >= short[load.THROUGHPUT]:
        return found
    return by_reading({name: one.not_reproducible(shows) for name, one in found.readings})


def _more_servers_are_worse(tables: Tables) -> Judgement:
    ends = (min(FIGURES.values()), max(FIGURES.values()))
    return judges.moves(tables, BY, ends, X, "more servers", "fewer servers", rising=False)


def draw(tables: Tables) -> "Picture":
    """A column for each figure."""
    return pictures.draw(tables, BY, FIGURES, "Figure {0}: {1} servers", X, "mean deadline (slots)")


FIGURE = Figure(
    id="PEQ-F3.5",
    title="Application throughput against mean deadline (figures 3.5 to 3.8)",
    plans=plans,
    tables=tables,
    claims={
        **judges.all_ahead(FIGURES, BY, X, ENDS),
        "PEQ-F3.5.b": partial(_longer_is_better, mode="A"),
        "PEQ-F3.5.e": _longer_is_better_if_redrawn,
        "PEQ-F3.5.c": partial(judges.capped, x=X, expected=CEILINGS, digit=0.05, rounding=ROUNDING),
        "PEQ-F3.5.d": _more_servers_are_worse,
    },
    draw=draw,
    needs={**load.NEEDS, "more_runs": Needs(MORE_SEEDS, by=(BY, X))},
    assumed=(
        *load.ASSUMED,
        "At full scale mode A has 40 seeds. The first 10 are judged, as everywhere, and all 40 only at those steps "
        "from a mean deadline to the next whose mean over 10 seeds is within a tenth of the limit.",
    ),
)
