"""PEQ figures 3.15 and 3.16, section 3.6: application throughput against the largest flow size."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from flowyard.papers.figure import Figure, Scale, Sweeps, Tables
from flowyard.papers.judge import Judgement
from flowyard.sweeps.plan import ModelPlan
from flowyard_papers.peq import _load as load
from flowyard_papers.peq import _load_judges as judges
from flowyard_papers.peq import _load_pictures as pictures

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

MEAN = 100
BY, FIGURES = "servers", {"3.15": 40, "3.16": 100}
X, ENDS = "size_max_packets", (50, 190)
# As the claim names them, percent; what rounding deadlines up may add, percentage points.
ROUNDING = 1.0
CEILINGS: Mapping[float, float] = {
    50: 77.879,
    70: 71.160,
    90: 65.232,
    110: 59.991,
    130: 55.344,
    150: 51.214,
    170: 47.535,
    190: 44.248,
}


def axes(scale: Scale) -> dict[str, Sequence[Any]]:
    """All sizes with both numbers of servers."""
    largest = scale.pick((50, 110, 190), tuple(CEILINGS))
    return {BY: tuple(FIGURES.values()), "deadline_mean_slots": (MEAN,), X: largest}


def plans(scale: Scale) -> dict[str, ModelPlan]:
    """A plan for each mode."""
    return load.plans(scale, axes(scale))


def tables(sweeps: Sweeps) -> Tables:
    """Runs, means, and the share of flows that are feasible at all."""
    return load.tables(sweeps) | {"ceilings": load.ceilings([(MEAN, largest) for largest in CEILINGS])}


def _falls(tables: Tables) -> Judgement:
    return judges.moves(tables, X, ENDS, BY, "larger flows", "smaller flows", rising=False)


def draw(tables: Tables) -> "Picture":
    """A column for each figure."""
    return pictures.draw(tables, BY, FIGURES, "Figure {0}: {1} servers", X, "largest flow (packets)")


FIGURE = Figure(
    id="PEQ-F3.15",
    title="Application throughput against flow size (figures 3.15 and 3.16)",
    plans=plans,
    tables=tables,
    claims={
        **judges.all_ahead(FIGURES, BY, X, ENDS),
        "PEQ-F3.15.b": _falls,
        "PEQ-F3.15.c": partial(judges.capped, x=X, expected=CEILINGS, digit=0.0005, rounding=ROUNDING),
    },
    draw=draw,
    needs=load.NEEDS,
    assumed=(
        *load.ASSUMED,
        "Sizes are uniform from 2 to the limit. p stays 1/4000, so that smaller flows are less load, too.",
    ),
)
