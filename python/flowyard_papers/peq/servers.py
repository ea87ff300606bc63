"""PEQ figures 3.9 to 3.11, section 3.5: the link overloaded by more servers, with three mean deadlines."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from flowyard.papers.figure import Figure, Scale, Sweeps, Tables
from flowyard.papers.judge import Judgement
from flowyard.sweeps.plan import ModelPlan
from flowyard_papers.peq import _load as load
from flowyard_papers.peq import _load_judges as judges
from flowyard_papers.peq import _load_pictures as pictures

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

BY, FIGURES = "deadline_mean_slots", {"3.9": 30, "3.10": 90, "3.11": 120}
X, ENDS = "servers", (40, 120)


def axes(scale: Scale) -> dict[str, Sequence[Any]]:
    """All numbers of servers with all mean deadlines."""
    return {X: scale.pick((40, 80, 120), tuple(range(40, 121, 10))), BY: tuple(FIGURES.values())}


def plans(scale: Scale) -> dict[str, ModelPlan]:
    """A plan for each mode."""
    return load.plans(scale, axes(scale))


def tables(sweeps: Sweeps) -> Tables:
    """Runs and means."""
    return load.tables(sweeps)


def _falls(tables: Tables) -> Judgement:
    return judges.moves(tables, X, ENDS, BY, "more servers", "fewer servers", rising=False)


def draw(tables: Tables) -> "Picture":
    """A column for each figure."""
    return pictures.draw(tables, BY, FIGURES, "Figure {0}: mean deadline {1}", X, "servers")


FIGURE = Figure(
    id="PEQ-F3.9",
    title="Application throughput under overload by servers (figures 3.9 to 3.11)",
    plans=plans,
    tables=tables,
    claims={
        **judges.all_ahead(FIGURES, BY, X, ENDS),
        "PEQ-F3.9.b": _falls,
    },
    draw=draw,
    needs=load.NEEDS,
    assumed=load.ASSUMED,
)
