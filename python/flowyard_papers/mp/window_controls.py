"""Stride(4) without the confusion of two paths with two windows: two windows on one path, and windows that fill it.

A connection's window of 65,535 B is a twelfth of what one path holds, and MDNVR has two of them (MP-X13).
"""

from typing import TYPE_CHECKING

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.papers.judge import not_reached, within
from flowyard.sweeps import Plan
from flowyard_papers.mp import _chapter5 as chapter
from flowyard_papers.mp import _chapter5_judges as judges
from flowyard_papers.mp import _chapter5_runs as measured
from flowyard_papers.mp._chapter5 import DUAL, FCT, LOSS, MDNVR, NR, STRIDE_4, THROUGHPUT

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

TWO_WINDOWS = "NR, two windows"
SCHEMES = (NR, TWO_WINDOWS, MDNVR, DUAL)
NO_LOSS = 1000
# 1 Gbps for 6 ms, the bandwidth-delay product.
SCALED_WINDOW = "750KB"
AS_STATED, SCALED = "windows of 65,535 B", "windows of 750 KB, no first ssthresh"
PLANS = {"windows-stated": AS_STATED, "windows-scaled": SCALED}


def plans(scale: Scale) -> dict[str, Plan]:
    """Both windows over the buffers of figure 5.11, and one at which nothing is lost."""
    made = {}
    for name, windows in PLANS.items():
        tcp = dict(chapter.TCP)
        if windows == SCALED:
            del tcp["initial_ssthresh"]
            tcp["receive_window"] = SCALED_WINDOW
        more = {TWO_WINDOWS: (chapter.parallel(2, tcp), "single")}
        axes = [
            chapter.schemes((NR, MDNVR, DUAL), tcp, more),
            chapter.buffers((*chapter.SMALL, NO_LOSS)),
        ]
        base = chapter.scenario(chapter.traffic(STRIDE_4))
        made[name] = Plan(base, axes, scale.pick(3, chapter.REPLICAS), name=name)
    return made


def tables(sweeps: Sweeps) -> Tables:
    """One row per run; means."""
    runs = pl.concat(
        [
            measured.runs(sweeps[name]).select(pl.lit(windows).alias("windows"), pl.all())
            for name, windows in PLANS.items()
        ]
    )
    return {
        "runs": runs,
        "points": replica_means(runs, ["windows", "scheme", "buffer"], [FCT, THROUGHPUT, LOSS]),
    }


def _two_windows(tables: Tables) -> Judgement:
    runs = tables["runs"].filter(windows=AS_STATED, buffer=NO_LOSS)
    if runs.is_empty() or runs["drops"].sum():
        return not_reached(f"a buffer of {NO_LOSS} packets was not run, or lost something")
    means = dict(runs.group_by("scheme").agg(pl.col(FCT).mean()).iter_rows())
    gain = {name: 100 * (1 - means[name] / means[NR]) for name in (TWO_WINDOWS, MDNVR)}
    at_50 = tables["runs"].filter(windows=AS_STATED, buffer=50)
    against = judges.gains(at_50, FCT, MDNVR, TWO_WINDOWS)
    shown = ", ".join(f"{name} {means[name]:.1f} ms" for name in (NR, TWO_WINDOWS, MDNVR))
    found = within(gain[TWO_WINDOWS], 33, absolute=3).because(shown)
    return found.noted(
        f"without loss {shown}: MDNVR takes {gain[MDNVR]:.1f} % off NR's time; at 50 packets MDNVR takes "
        f"{against.get(50, float('nan')):.1f} % off that of two windows on one path"
    )


def _scaled(tables: Tables) -> Judgement:
    runs = tables["runs"].filter(pl.col("buffer") != NO_LOSS, windows=SCALED)
    found = judges.better(runs, MDNVR, NR)
    return found.because(f"{found.reason}; {judges.said(judges.gains(runs, FCT, MDNVR, NR))}")


def draw(tables: Tables) -> "Picture":
    """Completion time and loss over the buffer, with both windows."""
    picture, panels = style.panels(2, 3, size=(3.8, 2.8))
    shown = {FCT: "mean FCT (ms)", THROUGHPUT: "mean throughput (MB/s)", LOSS: "packets lost (%)"}
    for row, windows in enumerate(PLANS.values()):
        rows = tables["points"].filter(windows=windows)
        for column, (measure, label) in enumerate(shown.items()):
            axes = panels[3 * row + column]
            for place, scheme in zip((0, 4, 3, 2), SCHEMES, strict=True):
                of_scheme = rows.filter(pl.col("buffer") != NO_LOSS, scheme=scheme).sort("buffer")
                style.curve(axes, of_scheme, "buffer", measure, place, scheme)
            axes.set(xlabel="buffer of a switch's port (packets)", ylabel=label, title=windows)
            axes.set_ylim(bottom=0)
    picture.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(SCHEMES))
    return picture


FIGURE = Figure(
    id="MP-K1-2",
    title="Controls for the window: two on one path, and windows that fill the path",
    plans=plans,
    tables=tables,
    claims={"MP-K1": _two_windows, "MP-K2": _scaled},
    draw=draw,
    needs={"runs": Needs(chapter.REPLICAS, by=("windows", "scheme", "buffer"))},
    assumed=(
        *chapter.ASSUMED,
        "Two windows on one path are two Front-Back connections under Normal Routing. The picture leaves out "
        f"the buffer of {NO_LOSS:,} packets.",
    ),
)
