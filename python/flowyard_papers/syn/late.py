"""Readings of ASY's leaky buckets: what a packet waited for the wire, and what an empty queue has left to wait.

Section III-B has buckets guarantee a rate. By the default reading a packet that another queue's has kept from the wire
does not make the next one late. By the other one each packet waits for its bucket from the moment it is sent: hosts
whose rates fill their links then send about 86 % of them.

When a queue becomes empty, its bucket has not. By the default reading that wait is kept for the next burst, since an
empty queue has no rate. By the second one it passes meanwhile, at a rate that other queues have already been given.
By the third one the queue has its rate until the bucket is empty: no wait is kept, and no rate is given twice.

A queue that is late makes up for all of it by default, so that one that was held back for long then sends at the rate
of its link. By a further reading it makes up for one packet.

The left panel shows mean FCT, the right one what arrives of the load, both beside SYN; the table `verdicts` has what
the claims of figure 5 come to under each reading.
"""

from typing import TYPE_CHECKING

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import style
from flowyard.papers.figure import Figure, Scale, Sweeps, Tables
from flowyard.sweeps import Axis, Plan
from flowyard_papers.syn import _judges as judges
from flowyard_papers.syn import _ours as ours
from flowyard_papers.syn import _rack as rack

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

    from flowyard.papers.judge import Judgement

# By reading: what becomes of lateness, and of a queue that is empty before its bucket.
READINGS = {
    "ASY, made up": ("made-up", "kept"),
    "ASY, lost": ("lost", "kept"),
    "ASY, made up, wait passes": ("made-up", "passes"),
    "ASY, made up, bucket drains": ("made-up", "drains"),
}
BOUNDED = "ASY, made up for one packet"
ASYNCHRONOUS = (*READINGS, BOUNDED)
SYSTEMS = (rack.MMF, *ASYNCHRONOUS)


def plans(scale: Scale) -> dict[str, Plan]:
    """All readings, and SYN, over load."""
    loads = scale.pick((0.2, 0.5, 0.8, 0.9), rack.LOADS)
    late, idle = zip(*READINGS.values(), strict=True)
    values = {"transport.central.late": list(late), "transport.central.idle": list(idle)}
    axis = Axis("late", values, labels=list(READINGS))
    return {
        "syn": ours.plan("SYN", [rack.MMF], loads, scale),
        "asy": ours.plan("ASY", [rack.ASY], loads, scale, [axis]),
        "bounded": ours.plan("ASY, bounded", [rack.ONE_PACKET], loads, scale),
    }


def tables(scale: Scale, sweeps: Sweeps) -> Tables:
    """One row per run, and the means; what becomes of the claims of figure 5."""
    asy = ours.runs(sweeps["asy"], scale).with_columns(system=pl.col("late")).drop("late")
    bounded = ours.runs(sweeps["bounded"], scale).with_columns(system=pl.lit(BOUNDED))
    runs = pl.concat([ours.runs(sweeps["syn"], scale), asy, bounded.select(asy.columns)], how="diagonal")
    verdicts = [
        {"claim": claim, "reading": reading, "verdict": one.verdict, "measured": str(one.measured)}
        for reading in ASYNCHRONOUS
        for claim, one in _claims(runs, reading).items()
    ]
    keys = ["system", "load"]
    points = replica_means(runs, keys, [*ours.VALUES, "fct_cv"])
    return {"runs": runs, "points": points, "verdicts": pl.DataFrame(verdicts)}


def _claims(runs: pl.DataFrame, asy: str) -> "dict[str, Judgement]":
    """As figure 5 judges them, at all loads that slots hold."""
    own = runs.with_columns(unstable=pl.col("load") > rack.limit(rack.MMF, rack.FIXED))
    low, high = own.filter(pl.col("load") <= 0.7), own.filter(pl.col("load") >= 0.8)
    return {
        "SYN-F5.a": judges.alike(low, rack.MMF, asy, "fct", 0.8, 1.25),
        "SYN-F5.b": judges.ordered(high, [(rack.MMF, asy)], "fct"),
        "SYN-F5.c": judges.alike(own, asy, rack.MMF, "fct_cv", 0.7, 1.43),
        "SYN-F5.d": judges.alike(own, asy, rack.MMF, "carried", 0.99, 1.01),
    }


def draw(tables: Tables) -> "Picture":
    """Mean FCT, and throughput, over load."""
    picture, (fct, carried) = style.panels(1, 2)
    for place, system in enumerate(SYSTEMS):
        own = tables["points"].filter(system=system).sort("load")
        style.curve(fct, own, "load", "fct", place, system)
        style.curve(carried, own, "load", "carried", place)
    fct.set(yscale="log", xlabel="load", ylabel="mean normalised FCT")
    carried.plot([0, 1], [0, 1], "k--", linewidth=0.7)
    carried.set(xlabel="load", ylabel="arrived / rate of the servers' links", xlim=(0, 1), ylim=(0, 1))
    fct.legend()
    return picture


FIGURE = Figure(
    id="SYN-LATE",
    title="ASY's leaky buckets: lateness is made up for or lost, the wait of an empty queue kept or not (ours)",
    plans=plans,
    tables=tables,
    claims={},
    draw=draw,
    assumed=(
        *rack.ASSUMED,
        *ours.ASSUMED,
        "Beyond what a reading holds the run's length decides the FCT. Verdicts of this table are of these shorter "
        "runs; those of the claims are figure 5's.",
    ),
)
