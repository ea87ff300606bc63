"""Figure 5.12: every node of FT(4,3) sends 2 MB to one other, drawn for each run; several may have the same."""

from typing import TYPE_CHECKING

from flowyard.papers.figure import Figure, Judgement, Scale, Sweeps, Tables
from flowyard.sweeps import Plan
from flowyard_papers.mp import _chapter5 as chapter
from flowyard_papers.mp import _chapter5_judges as judges
from flowyard_papers.mp import _chapter5_pictures as pictures
from flowyard_papers.mp._chapter5 import DNVR, DUAL, ECMP, MDNVR, NR, RANDOM

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture


def plans(scale: Scale) -> dict[str, Plan]:
    """All schemes; the same destinations under all of them in a replica."""
    base = chapter.scenario(chapter.transfers(chapter.MATRICES[RANDOM]))
    axes = [chapter.schemes(), chapter.buffers(chapter.SMALL)]
    return {"random": Plan(base, axes, scale.pick(4, chapter.REPLICAS), name="random")}


def tables(sweeps: Sweeps) -> Tables:
    """A row a run; means."""
    runs = chapter.of_patterns(sweeps, {"random": RANDOM})
    return {"runs": runs, "points": chapter.points(runs)}


def _multipath(tables: Tables) -> Judgement:
    return judges.all_hold(
        {f"MDNVR before {other}": judges.better(tables["runs"], MDNVR, other) for other in (NR, ECMP)}
    )


def _dual(tables: Tables) -> Judgement:
    return judges.better(tables["runs"], DUAL, MDNVR)


def _dnvr(tables: Tables) -> Judgement:
    return judges.better(tables["runs"], DNVR, NR)


def draw(tables: Tables) -> "Picture":
    """Completion time, throughput and loss over the buffer."""
    return pictures.rows(tables["points"], [RANDOM])


FIGURE = Figure(
    id="MP-F5.12",
    title="Random: completion time, throughput and loss by buffer",
    plans=plans,
    tables=tables,
    claims={"MP-F5.12.a": _multipath, "MP-F5.12.b": _dual, "MP-F5.12.c": _dnvr},
    draw=draw,
    needs={"runs": chapter.NEEDS},
    assumed=(
        *chapter.ASSUMED,
        "Each node draws one of the 15 others, in each run anew. All start at the same instant.",
    ),
)
