"""Figure 4: all servers send to one; three policies of matching and ASY, by mean FCT over load.

Also what section III-E tells without a picture: coefficients of variation, throughput, fairness, random lengths.
"""

from typing import TYPE_CHECKING

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.sweeps import Plan
from flowyard_papers.syn import _completion as completion
from flowyard_papers.syn import _judges as judges
from flowyard_papers.syn import _rack as rack
from flowyard_papers.syn._judges import Judge
from flowyard_papers.syn._pictures import curves
from flowyard_papers.syn._rack import ASY, BIMODAL, FIXED, MMF, OCF, SLOTTED, SRJF

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

SYSTEMS = (OCF, SRJF, MMF, ASY)
LENGTHS = {"fixed": FIXED, "bimodal": BIMODAL}
# The hot spot's 20,000 flows are few packets: both scales have them.
WINDOW = rack.Window(500, 2000, 21_000, 500)
RANKING = [(OCF, MMF), (MMF, SRJF)]
# Readings. No measure gives all of figure 4 (SYN-X10): by the normalised FCT OCF, which lets small flows wait like
# large ones, varies most at low load, and by the FCT as it is the means of OCF and MMF are equal: work is conserved.
NORMALISED, RAW = "normalised FCT", "FCT as it is"
UNEQUAL = (
    "by the normalised FCT a small flow that waits for a large one counts many times its least time (SYN-X10)"
)


def plans(scale: Scale) -> dict[str, Plan]:
    """Both lengths of packets."""
    loads = scale.pick((0.1, 0.3, 0.5, 0.7, 0.9, 0.95), rack.LOADS)
    return {
        name: rack.plan(
            "incast", SYSTEMS, loads, WINDOW, replicas=scale.pick(2, 10), lengths=lengths, incast=True
        )
        for name, lengths in LENGTHS.items()
    }


def tables(sweeps: Sweeps) -> Tables:
    """One row per run, and the means."""
    runs = pl.concat(
        completion.runs(sweep, WINDOW, lengths=LENGTHS[name], incast=True).with_columns(
            lengths=pl.lit(LENGTHS[name])
        )
        for name, sweep in sweeps.items()
    )
    keys = ["lengths", *completion.KEYS, "unstable"]
    return {"runs": runs, "points": replica_means(runs, keys, completion.VALUES)}


def _ranked(pairs: list[tuple[str, str]], lengths: str = FIXED) -> Judge:
    """The first of each pair takes longer; normalised, and as it is."""

    def judging(tables: Tables) -> Judgement:
        own = tables["runs"].filter(lengths=lengths)
        return judge.by_reading(
            {
                NORMALISED: judges.ordered(own, pairs, "fct"),
                RAW: judges.ordered(own, pairs, "raw_ms"),
            }
        )

    return judging


def _varies_more(pairs: list[tuple[str, str]]) -> Judge:
    """The first of each pair has the larger coefficient of variation, of the FCT as it is; and normalised."""

    def judging(tables: Tables) -> Judgement:
        own = tables["runs"].filter(lengths=FIXED)
        return judge.by_reading(
            {
                RAW: judges.ordered(own, pairs, "raw_cv"),
                NORMALISED: judges.ordered(own, pairs, "fct_cv").because(UNEQUAL),
            }
        )

    return judging


def _carried(tables: Tables) -> Judgement:
    """F4.e: what arrives over what is offered, of each policy."""
    own = judges.compared(tables["runs"].filter(lengths=FIXED), SLOTTED)
    if missing := judges.lacking(own, SLOTTED):
        return missing
    shares = own.with_columns(share=pl.col("carried") / pl.col("offered"))
    worst, load, system = min(
        (share, load, system)
        for system, by_load in judges.means(shares, "share").items()
        for load, share in by_load.items()
    )
    return judge.at_least(worst, 0.99).because(f"{system} at load {load:g}")


def _same_fairness(tables: Tables) -> Judgement:
    """F4.f: over the servers' throughputs."""
    own = judges.compared(tables["runs"].filter(lengths=FIXED), SLOTTED)
    if missing := judges.lacking(own, SLOTTED):
        return missing
    means = judges.means(own, "jain_servers")
    apart = max(
        max(means[system][load] for system in SLOTTED) - min(means[system][load] for system in SLOTTED)
        for load in means[MMF]
    )
    least, load, system = min(
        (index, load, system) for system, by_load in means.items() for load, index in by_load.items()
    )
    return judge.together(
        [
            judge.at_most(apart, 0.02).because("between policies").called("difference between policies"),
            judge.at_least(least, 0.97).because(f"{system} at load {load:g}").called("least index"),
        ]
    )


def _like_mmf(tables: Tables) -> Judgement:
    """F4.g: whichever is longer (SYN-X2)."""
    own = tables["runs"].filter(lengths=FIXED)
    return judge.by_reading(
        {
            NORMALISED: judges.alike(own, MMF, ASY, "fct", 0.8, 1.25),
            RAW: judges.alike(own, MMF, ASY, "raw_ms", 0.8, 1.25),
        }
    )


def draw(tables: Tables) -> "Picture":
    """Figure 4, and what it leaves out."""
    picture, panels = style.panels(2, 4)
    points = tables["points"]
    for column, (value, label) in enumerate(
        (
            ("fct", "average normalised FCT"),
            ("raw_ms", "average FCT (ms)"),
            ("raw_cv", "coefficient of variation of the FCT"),
            ("fct_cv", "of the normalised FCT"),
        )
    ):
        for row, lengths in enumerate(LENGTHS.values()):
            axes = panels[4 * row + column]
            curves(axes, points.filter(lengths=lengths), value, SYSTEMS, log=not value.endswith("cv"))
            axes.set(title=f"incast, {lengths}", ylabel=label)
    picture.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return picture


FIGURE = Figure(
    id="SYN-F4",
    title="Matching policies and ASY under incast",
    plans=plans,
    tables=tables,
    claims={
        "SYN-F4.a": _ranked(RANKING),
        "SYN-F4.b": _ranked([(OCF, MMF), (OCF, SRJF), (OCF, ASY)]),
        "SYN-F4.c": _varies_more([(MMF, OCF), (SRJF, OCF)]),
        "SYN-F4.d": _varies_more([(SRJF, OCF), (SRJF, MMF)]),
        "SYN-F4.e": _carried,
        "SYN-F4.f": _same_fairness,
        "SYN-F4.g": _like_mmf,
        "SYN-F4.h": _ranked(RANKING, BIMODAL),
    },
    draw=draw,
    needs={"runs": Needs(10, by=["lengths", *completion.KEYS], least={"flows": 20_000})},
    assumed=(
        *rack.ASSUMED,
        completion.ASSUMED,
        "The load is that of the hot spot's link; all 119 others send to it. Fairness is of the bytes that arrived "
        "from each of them. Means are judged by the normalised FCT, as III-C defines it; variation, of which "
        "III-E has no picture, by the FCT as it is, the only one by which both hold (SYN-X10); the other one beside. "
        "With bimodal lengths SYN holds loads up to 0.596.",
    ),
)
