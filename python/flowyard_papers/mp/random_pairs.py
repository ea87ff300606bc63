"""Figure 5.12: every node of FT(4,3) sends 2 MB to one other, drawn for each run; several may have the same."""

from typing import TYPE_CHECKING

import polars as pl

from flowyard.papers.figure import Figure, Judgement, Scale, Sweeps, Tables
from flowyard.papers.judge import by_reading
from flowyard.sweeps import Plan
from flowyard_papers.mp import _chapter5 as chapter
from flowyard_papers.mp import _chapter5_judges as judges
from flowyard_papers.mp import _chapter5_pictures as pictures
from flowyard_papers.mp import _chapter5_runs as measured
from flowyard_papers.mp._chapter5 import DNVR, DUAL, ECMP, FCT, MDNVR, NR, RANDOM

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture


def plans(scale: Scale) -> dict[str, Plan]:
    """All schemes; the same destinations under all of them in a replica; the other order of ties."""
    base, replicas = (
        chapter.scenario(chapter.transfers(chapter.MATRICES[RANDOM])),
        scale.pick(4, chapter.REPLICAS),
    )
    buffers = chapter.buffers(chapter.SMALL)
    made = {"random": Plan(base, [chapter.schemes(), buffers], replicas, name="random")}
    for ties in chapter.BESIDE.values():
        name, axes = f"ties-{ties}", [chapter.schemes((MDNVR, DUAL)), buffers]
        made[name] = Plan(chapter.with_ties(base, ties), axes, replicas, name=name)
    return made


def tables(sweeps: Sweeps) -> Tables:
    """A row a run; means."""
    runs = measured.of_patterns(sweeps, {"random": RANDOM})
    setups = {f"ties-{ties}": (RANDOM, setup) for setup, ties in chapter.BESIDE.items()}
    return {
        "runs": runs,
        "setups": measured.of_setups(sweeps, setups),
        "points": measured.points(runs),
    }


def _multipath(tables: Tables) -> Judgement:
    return by_reading({scheme: _before_others(tables["runs"], scheme) for scheme in (MDNVR, DUAL)})


def _before_others(runs: pl.DataFrame, scheme: str) -> Judgement:
    return judges.all_hold(
        {f"{scheme} before {other}": judges.better(runs, scheme, other) for other in (NR, ECMP)}
    )


def _dual(tables: Tables) -> Judgement:
    setups = {"ties by arrival": tables["runs"]} | {
        setup: tables["setups"].filter(setup=setup) for setup in chapter.BESIDE
    }
    readings = {}
    for setup, runs in setups.items():
        found = judges.better(runs, DUAL, MDNVR)
        said = judges.said(judges.gains(runs, FCT, DUAL, MDNVR))
        readings[setup] = found.because(f"{found.reason}; FCT: {said}; tried: {', '.join(setups)}")
    return by_reading(readings)


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
    needs={"runs": chapter.NEEDS, "setups": chapter.NEEDS_SETUPS},
    assumed=(
        *chapter.ASSUMED,
        "Each node draws one of the 15 others, in each run anew. All start at the same instant.",
    ),
)
