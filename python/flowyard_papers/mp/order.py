"""Figure 4.2 and section 1.2: what order segments arrive in, and whether anything is sent by both connections.

Stride(4) under MPTCP, whose sender spreads segments over two subflows, and under MDNVR and Dual, whose two connections
each carry a contiguous part (Front-Back).
"""

from math import ceil
from typing import TYPE_CHECKING

import polars as pl

from flowyard.papers import style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.papers.judge import exactly, judged, not_reached, together
from flowyard.sweeps import Plan
from flowyard_papers.mp import _chapter5 as chapter
from flowyard_papers.mp._chapter5 import DUAL, MDNVR, STRIDE_4, TRANSFER_BYTES
from flowyard_papers.mp.sample import SEGMENT_BYTES

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

MPTCP = "MPTCP, 2 subflows"
FRONT_BACK = (MDNVR, DUAL)
SEGMENTS = ceil(TRANSFER_BYTES / SEGMENT_BYTES)
PATHS = 2


def plans(scale: Scale) -> dict[str, Plan]:
    """All three over the buffers of figure 5.11."""
    mptcp = ({"mptcp": {"subflows": PATHS, "tcp": dict(chapter.TCP)}}, "nix")
    axes = [chapter.schemes(FRONT_BACK, more={MPTCP: mptcp}), chapter.buffers(chapter.SMALL)]
    base = chapter.scenario(chapter.traffic(STRIDE_4))
    return {"order": Plan(base, axes, scale.pick(3, chapter.REPLICAS), name="order")}


def tables(sweeps: Sweeps) -> Tables:
    """One row per run.

    Columns: reordered, segments that came after one that was sent later, by any connection of the transfer;
    reordered_within, by the same connection; most_twice_bytes, what both connections of a transfer delivered, of the
    transfer with most of it; most_beyond_segments, what a transfer sent beyond its segments, repeats not counted.
    """
    sweep, keys = sweeps["order"], ["scheme", "buffer", "replica"]
    of_transfer = (
        sweep.scan("connections")
        .group_by("run", "flow")
        .agg(
            within=pl.col("reordered").sum(),
            delivered=pl.col("delivered_bytes").sum(),
            new=(pl.col("packets_sent") - pl.col("retransmissions")).sum(),
        )
    )
    flows = sweep.flows.join(of_transfer, left_on=["run", "id"], right_on=["run", "flow"])
    counts = flows.group_by(keys).agg(
        pl.len().alias("transfers"),
        pl.col("completed").sum(),
        pl.col("reordered", "retransmissions", "drops").sum(),
        reordered_within=pl.col("within").sum(),
        most_twice_bytes=(pl.col("delivered").cast(pl.Int64) - pl.col("size_bytes").cast(pl.Int64)).max(),
        most_beyond_segments=(pl.col("new").cast(pl.Int64) - SEGMENTS).max(),
    )
    return {"runs": counts.sort(keys).with_columns(pl.exclude("scheme").cast(pl.Int64)).collect()}


def _reordering(tables: Tables) -> Judgement:
    """In every run."""
    runs = tables["runs"]
    spread, parts = runs.filter(scheme=MPTCP), runs.filter(pl.col("scheme").is_in(FRONT_BACK))
    if spread.is_empty() or set(parts["scheme"]) != set(FRONT_BACK):
        return not_reached("there are not all schemes")
    least = spread["reordered"].min()
    assert isinstance(least, int)
    found = together(
        [
            judged(least > 0, f"{MPTCP}: {least} segments of a run at least", "above 0"),
            exactly(max(parts["reordered_within"]), 0).called("inside a Front-Back connection"),
        ]
    )
    subflow, overtaken = max(spread["reordered_within"]), max(parts.filter(scheme=MDNVR)["reordered"])
    return found.noted(
        f"within an MPTCP subflow there are {subflow}, too; segments of MDNVR's two connections overtake each other, "
        f"up to {overtaken} in a run, but are of two parts of the data"
    )


def _nothing_twice(tables: Tables) -> Judgement:
    parts = tables["runs"].filter(pl.col("scheme").is_in(FRONT_BACK))
    if (parts["completed"] < parts["transfers"]).any() or parts.is_empty():
        return not_reached("not all transfers are complete")
    twice, beyond = parts["most_twice_bytes"].max(), parts["most_beyond_segments"].max()
    assert isinstance(twice, int)
    assert isinstance(beyond, int)
    return together(
        [
            judged(
                twice <= PATHS * SEGMENT_BYTES,
                f"{twice} B of a transfer by both connections",
                f"{PATHS} segments at most",
            ),
            judged(beyond <= PATHS, f"{beyond} new segments too many", f"{PATHS} at most"),
        ]
    )


def draw(tables: Tables) -> "Picture":
    """Segments out of order over the buffer, by transfer and by connection."""
    picture, panels = style.panels(1, 2)
    shown = {
        "reordered": "behind any that its transfer sent later",
        "reordered_within": "behind one that its connection sent later",
    }
    for axes, (column, title) in zip(panels, shown.items(), strict=True):
        for place, scheme in zip((4, 3, 2), (MPTCP, *FRONT_BACK), strict=True):
            rows = (
                tables["runs"]
                .filter(scheme=scheme)
                .group_by("buffer")
                .agg(pl.col(column).mean())
                .sort("buffer")
            )
            axes.plot(
                rows["buffer"].to_numpy(),
                rows[column].to_numpy(),
                color=style.COLOURS[place],
                marker=style.MARKERS[place],
                label=scheme,
            )
        axes.set(
            xlabel="buffer of a switch's port (packets)", ylabel="segments out of order in a run", title=title
        )
    panels[0].set_ylim(bottom=0)
    panels[1].set_ylim(-0.5, 9.5)
    panels[0].legend()
    return picture


FIGURE = Figure(
    id="MP-P5",
    title="Order of segments under MPTCP and under Front-Back; what is sent twice",
    plans=plans,
    tables=tables,
    claims={"MP-P5": _reordering, "MP-F4.2.a": _nothing_twice},
    draw=draw,
    needs={"runs": Needs(chapter.REPLICAS, by=("scheme", "buffer"))},
    assumed=(
        *chapter.ASSUMED,
        "MPTCP has two subflows on different shortest paths, coupled windows (RFC 6356), and otherwise the "
        "simulator's defaults. A segment that is repeated after a loss is not out of order, and does not "
        "count as sent twice.",
    ),
)
