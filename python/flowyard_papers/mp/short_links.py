"""The six patterns of figures 5.11 to 5.16 with a round trip of 500 us, as the text has it, not 500 us per link."""

from typing import TYPE_CHECKING

from flowyard.papers.figure import Figure, Judgement, Scale, Sweeps, Tables
from flowyard.papers.judge import PASS, judged, not_reached
from flowyard.sweeps import Plan
from flowyard_papers.mp import _chapter5 as chapter
from flowyard_papers.mp import _chapter5_judges as judges
from flowyard_papers.mp import _chapter5_pictures as pictures
from flowyard_papers.mp import _chapter5_runs as measured
from flowyard_papers.mp._chapter5 import DNVR, DUAL, ECMP, FCT, MDNVR, NR

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

# Twelve links in a round trip.
DELAY = "41.7us"
# What figures 5.11 to 5.16 have in common: which scheme is ahead of which.
ORDERINGS = ((MDNVR, NR), (DUAL, NR), (DNVR, NR), (MDNVR, ECMP))


def plans(scale: Scale) -> dict[str, Plan]:
    """All schemes and patterns."""
    made = {}
    for name, pattern in chapter.PATTERNS.items():
        axes = [chapter.schemes(), chapter.buffers(chapter.sizes(pattern)[::4])]
        base = chapter.scenario(chapter.traffic(pattern), DELAY)
        made[name] = Plan(base, axes, scale.pick(2, chapter.REPLICAS), name=name)
    return made


def tables(sweeps: Sweeps) -> Tables:
    """One row per run; means."""
    runs = measured.of_patterns(sweeps, chapter.PATTERNS)
    return {"runs": runs, "points": measured.points(runs)}


def _report(tables: Tables) -> Judgement:
    """Which orderings hold, in completion time and throughput: reported, whatever comes out."""
    most: list[str] = []
    holds: list[str] = []
    fails: list[str] = []
    for pattern in chapter.PATTERNS.values():
        runs = tables["runs"].filter(pattern=pattern)
        if runs.is_empty():
            return not_reached(f"there are no runs of {pattern}")
        for a, b in ORDERINGS:
            good = judges.better(runs, a, b).verdict == PASS
            (holds if good else fails).append(f"{a} before {b} under {pattern}")
        gains = judges.gains(runs, FCT, MDNVR, NR).values()
        most.append(f"{pattern} {max(gains, default=float('nan')):.0f} %")
    measured = f"{len(holds)} of {len(holds) + len(fails)} orderings hold"
    measured += f"; not {', '.join(fails)}" if fails else ""
    found = judged(True, measured, "reported")
    return found.noted(f"largest gain of MDNVR in completion time: {', '.join(most)}")


def draw(tables: Tables) -> "Picture":
    """A row for each pattern: completion time, throughput and loss over the buffer."""
    return pictures.rows(tables["points"], list(chapter.PATTERNS.values()))


FIGURE = Figure(
    id="MP-K4",
    title="Control: the six patterns with a round trip of 500 us",
    plans=plans,
    tables=tables,
    claims={"MP-K4": _report},
    draw=draw,
    needs={"runs": chapter.NEEDS},
    assumed=(
        "As figures 5.11 to 5.16, with 41.7 us per link, at every fourth of their buffers. The claim has no "
        "bound: what is reported is which orderings hold by the tolerance of those figures.",
    ),
)
