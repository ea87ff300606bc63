"""Figure 5.13: every node of FT(4,3) sends 2 MB to the node two further on, half of them within their pod."""

from typing import TYPE_CHECKING

import polars as pl

from flowyard.papers.figure import Figure, Judgement, Scale, Sweeps, Tables
from flowyard.papers.judge import by_reading, judged, not_reached, together
from flowyard.sweeps import Plan
from flowyard_papers.mp import _chapter5 as chapter
from flowyard_papers.mp import _chapter5_judges as judges
from flowyard_papers.mp import _chapter5_pictures as pictures
from flowyard_papers.mp import _chapter5_runs as measured
from flowyard_papers.mp._chapter5 import DNVR, DUAL, ECMP, MDNVR, NR, STRIDE_2, STRIDE_4

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

PATTERNS = {"stride-2": STRIDE_2, "stride-4": STRIDE_4}


def plans(scale: Scale) -> dict[str, Plan]:
    """All schemes; Normal Routing, with ECMP and without, under Stride(4) too."""
    made = {}
    for name, pattern in PATTERNS.items():
        axes = [
            chapter.schemes(chapter.SCHEMES if pattern == STRIDE_2 else (NR, ECMP)),
            chapter.buffers(chapter.SMALL),
        ]
        base = chapter.scenario(chapter.transfers(chapter.MATRICES[pattern]))
        made[name] = Plan(base, axes, scale.pick(4, chapter.REPLICAS), name=name)
    return made


def tables(sweeps: Sweeps) -> Tables:
    """One row per run; means."""
    runs = measured.of_patterns(sweeps, PATTERNS)
    return {"runs": runs, "points": measured.points(runs.filter(pattern=STRIDE_2))}


def _stride(tables: Tables) -> pl.DataFrame:
    return tables["runs"].filter(pattern=STRIDE_2)


def _multipath(tables: Tables) -> Judgement:
    return by_reading({scheme: _before_others(_stride(tables), scheme) for scheme in (MDNVR, DUAL)})


def _before_others(runs: pl.DataFrame, scheme: str) -> Judgement:
    return judges.all_hold(
        {f"{scheme} before {other}": judges.better(runs, scheme, other) for other in (NR, ECMP)}
    )


def _closer(tables: Tables) -> Judgement:
    """The mean gap over the buffers, of completion times and of throughputs."""
    judgements = []
    for measure in judges.MEASURES:
        found = {
            pattern: judges.gains(tables["runs"].filter(pattern=pattern), measure, ECMP, NR)
            for pattern in PATTERNS.values()
        }
        near, far = judges.mean(found[STRIDE_2]), judges.mean(found[STRIDE_4])
        if near is None or far is None:
            return not_reached("some point has no mean")
        said = f"{judges.NAMES[measure]}: {ECMP} gains {near:.3g} % under {STRIDE_2}, {far:.3g} % under {STRIDE_4}"
        one = judged(abs(near) < abs(far), said, f"a smaller gap under {STRIDE_2}")
        each = "; ".join(f"{pattern}: {judges.said(gap)}" for pattern, gap in found.items())
        judgements.append(one.because(f"{judges.NAMES[measure]}: {each}"))
    return together(judgements)


def _dnvr(tables: Tables) -> Judgement:
    runs = _stride(tables)
    lossless = runs.group_by("buffer").agg(pl.col("drops").filter(pl.col("scheme").is_in([NR, DNVR])).sum())
    free = lossless.filter(drops=0)["buffer"].sort().to_list()
    found = judges.better(runs, DNVR, NR)
    return found.because(f"{found.reason}; neither loses anything at buffers of {free or 'no size'} (MP-X13)")


def _alike(tables: Tables) -> Judgement:
    """Section 5.3.4: "the performance difference ... is generally small": not at every buffer, says its word."""
    return by_reading(
        {
            which: judges.alike(_stride(tables), MDNVR, DUAL, which)
            for which in (judges.GENERALLY, judges.EVERY)
        }
    )


def draw(tables: Tables) -> "Picture":
    """Completion time, throughput and loss over the buffer."""
    return pictures.rows(tables["points"], [STRIDE_2])


FIGURE = Figure(
    id="MP-F5.13",
    title="Stride(2): completion time, throughput and loss by buffer",
    plans=plans,
    tables=tables,
    claims={"MP-F5.13.a": _multipath, "MP-F5.13.b": _closer, "MP-F5.13.c": _dnvr, "MP-F5.13.d": _alike},
    draw=draw,
    needs={"runs": chapter.NEEDS},
    assumed=(*chapter.ASSUMED, "All start at the same instant."),
)
