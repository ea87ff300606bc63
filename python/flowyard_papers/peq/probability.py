"""PEQ figures 3.12 to 3.14, section 3.5: the link overloaded by 180 servers that start flows ever more often."""

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

SERVERS = 180
BY, FIGURES = "deadline_mean_slots", {"3.12": 30, "3.13": 90, "3.14": 120}
X, ENDS = "probability", (0.25 * load.FULL_LOAD, 8 * load.FULL_LOAD)


def axes(scale: Scale) -> dict[str, Sequence[Any]]:
    """All probabilities with all mean deadlines."""
    times = scale.pick((0.25, 1, 8), (0.25, 0.5, 1, 2, 4, 8))
    probabilities = tuple(factor * load.FULL_LOAD for factor in times)
    return {"servers": (SERVERS,), X: probabilities, BY: tuple(FIGURES.values())}


def plans(scale: Scale) -> dict[str, ModelPlan]:
    """A plan for each mode."""
    return load.plans(scale, axes(scale))


def tables(sweeps: Sweeps) -> Tables:
    """Runs and means."""
    return load.tables(sweeps)


def _falls(tables: Tables) -> Judgement:
    return judges.moves(tables, X, ENDS, BY, "more load", "less load", rising=False)


def draw(tables: Tables) -> "Picture":
    """A column for each figure, over p as a multiple of the usual one."""
    picture = pictures.draw(
        tables, BY, FIGURES, "Figure {0}: mean deadline {1}", X, "p (1/4000)", 1 / load.FULL_LOAD
    )
    for axes in picture.axes:
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    return picture


FIGURE = Figure(
    id="PEQ-F3.12",
    title="Application throughput under overload by generation probability (figures 3.12 to 3.14)",
    plans=plans,
    tables=tables,
    claims={
        **judges.all_ahead(FIGURES, BY, X, ENDS),
        "PEQ-F3.12.b": _falls,
    },
    draw=draw,
    needs=load.NEEDS,
    assumed=(
        *load.ASSUMED,
        "The thesis does not say which probabilities: here they are 0.25 to 8 times 1/4000, each twice the one before.",
    ),
)
