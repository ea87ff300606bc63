"""Figure 5.17: 7 Senders again with a minimum retransmission timeout of 1 ms, beside that of 200 ms."""

from typing import TYPE_CHECKING

import polars as pl

from flowyard.papers import style
from flowyard.papers.figure import Figure, Judgement, Scale, Sweeps, Tables
from flowyard.papers.judge import judged, not_less, not_reached, together
from flowyard.sweeps import Plan
from flowyard_papers.mp import _chapter5 as chapter
from flowyard_papers.mp import _chapter5_judges as judges
from flowyard_papers.mp import _chapter5_pictures as pictures
from flowyard_papers.mp._chapter5 import FCT, MDNVR, NR

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

SHORT, LONG = "7 Senders, RTOmin 1 ms", "7 Senders, RTOmin 200 ms"
PATTERNS = {"rto-1ms": SHORT, "rto-200ms": LONG}


def plans(scale: Scale) -> dict[str, Plan]:
    """All schemes with 1 ms, Normal Routing and MDNVR with 200 ms."""
    made = {}
    for name, pattern in PATTERNS.items():
        short = pattern == SHORT
        tcp = {**chapter.TCP, "rto_min": "1ms" if short else "200ms"}
        axes = [
            chapter.schemes(chapter.SCHEMES if short else (NR, MDNVR), tcp),
            chapter.buffers(chapter.LARGE),
        ]
        base = chapter.scenario(chapter.senders(7))
        made[name] = Plan(base, axes, scale.pick(2, chapter.REPLICAS), name=name)
    return made


def tables(sweeps: Sweeps) -> Tables:
    """A row a run; means."""
    runs = chapter.of_patterns(sweeps, PATTERNS)
    return {"runs": runs, "points": chapter.points(runs)}


def _better(tables: Tables) -> Judgement:
    return judges.better(tables["runs"].filter(pattern=SHORT), MDNVR, NR)


def _complementary(tables: Tables) -> Judgement:
    """Each scheme with 1 ms against itself with 200 ms, paired by replica."""
    judgements = []
    for scheme in (MDNVR, NR):
        of_scheme = tables["runs"].filter(scheme=scheme)
        pairs = of_scheme.pivot(on="pattern", index=["buffer", "replica"], values=FCT)
        if {SHORT, LONG} - set(pairs.columns):
            return not_reached("one of the timeouts has no runs")
        names = {LONG: f"FCT of {scheme} with 200 ms", SHORT: f"with 1 ms ({scheme})"}
        judgements.append(not_less(pairs.rename(names), names[LONG], names[SHORT], x="buffer"))
    return together(judgements)


def _smaller_gain(tables: Tables) -> Judgement:
    """The mean gain in completion time over the buffers."""
    found = {
        pattern: judges.gains(tables["runs"].filter(pattern=pattern), FCT, MDNVR, NR)
        for pattern in (SHORT, LONG)
    }
    short, long = judges.mean(found[SHORT]), judges.mean(found[LONG])
    if short is None or long is None:
        return not_reached("some point has no mean")
    return judged(
        short < long, f"{short:.4g} % with 1 ms, {long:.4g} % with 200 ms", "less with 1 ms"
    ).because(f"1 ms: {judges.said(found[SHORT])}; 200 ms: {judges.said(found[LONG])}")


def draw(tables: Tables) -> "Picture":
    """All schemes with 1 ms; of Normal Routing and MDNVR the lines with 200 ms beside them, in dashes."""
    picture = pictures.rows(tables["points"], [SHORT])
    for axes, measure in zip(picture.axes, pictures.SHOWN, strict=True):
        for scheme in (NR, MDNVR):
            rows = tables["points"].filter(pl.col("scheme") == scheme, pattern=LONG).sort("buffer")
            look = {"linestyle": "--", "markerfacecolor": "white"}
            style.curve(axes, rows, "buffer", measure, pictures.PLACES[scheme], f"{scheme}, 200 ms", **look)
        axes.autoscale(axis="y")
        axes.set_ylim(bottom=0)
    picture.axes[0].legend(handles=picture.axes[0].containers[-2:])
    return picture


FIGURE = Figure(
    id="MP-F5.17",
    title="7 Senders with a minimum timeout of 1 ms, and of 200 ms",
    plans=plans,
    tables=tables,
    claims={"MP-F5.17.a": _better, "MP-F5.17.b": _complementary, "MP-F5.17.c": _smaller_gain},
    draw=draw,
    needs={"runs": chapter.NEEDS},
    assumed=(
        *chapter.ASSUMED,
        "Only the minimum of the retransmission timeout changes: the timer of delayed acknowledgements stays "
        "at 200 ms.",
        "Senders and connections are those of figures 5.14 to 5.16.",
    ),
)
