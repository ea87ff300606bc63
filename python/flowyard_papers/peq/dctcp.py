"""PEQ section 1.3: DCTCP answers the extent of congestion, and so keeps queues shorter than TCP does.

The thesis takes this from DCTCP's paper (Alizadeh et al., SIGCOMM 2010). Here flows without an end share one port, once
under DCTCP and once under TCP with the same room. TCP, which detects congestion by losses only, fills the port; DCTCP
holds it near the threshold above which it marks. TCP that takes a mark for a loss (RFC 3168) is there to compare: its
queue is short, too, but it gives away capacity. The thesis describes DCTCP as halving on a mark of an average queue
(PEQ-X14); this is the published protocol, with marks on the instantaneous queue.
"""

from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import style
from flowyard.papers.figure import Figure, Needs, Scale, Sweeps, Tables
from flowyard.papers.judge import Judgement, judged, not_reached
from flowyard.sweeps import Axis, Plan
from flowyard_papers.literature import _port
from flowyard_papers.literature._port import ROOM, THRESHOLD

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

TCP, DCTCP, MARKED = "TCP", "DCTCP", "TCP with ECN"
SETTINGS = {
    TCP: {"tcp": {"congestion": "newreno"}},
    DCTCP: {"tcp": {"congestion": "dctcp"}},
    MARKED: {"tcp": {"congestion": "newreno", "ecn": True}},
}
FLOWS = (2, 5, 10, 20)


def plans(scale: Scale) -> dict[str, Plan]:
    """Each number of flows under each transport, through the same port."""
    axes = [
        Axis("control", {"transport": list(SETTINGS.values())}, labels=list(SETTINGS)),
        _port.senders(scale.pick(FLOWS, (2, 3, 4, 5, 7, 10, 15, 20))),
    ]
    return {"port": Plan(_port.scenario(scale.pick("300ms", "500ms")), axes, scale.pick(3, 5), name="port")}


def tables(sweeps: Sweeps) -> Tables:
    """One row per run, for the port to the receiver, and the means."""
    runs = _port.runs(sweeps["port"], "control").drop("packets")
    points = replica_means(runs, ["control", "senders"], ["queue_mean_packets", "used_percent", "drops"])
    return {"runs": runs, "points": points}


def _shorter(tables: Tables) -> Judgement:
    """In every pair of runs that differ in nothing else."""
    keys, mean = ["senders", "replica"], "queue_mean_packets"
    runs = tables["runs"]
    pairs = runs.filter(control=DCTCP).join(runs.filter(control=TCP), on=keys, suffix="_tcp", how="full")
    if pairs.is_empty() or pairs.select(pl.col(mean, f"{mean}_tcp").null_count().sum()).row(0) != (0, 0):
        return not_reached("there are not all runs of both")
    # A queue that never marks would leave nothing for DCTCP to answer.
    if not (pairs["marks"] > 0).all():
        return not_reached("DCTCP was never marked")
    ratio = pairs.select((pl.col(mean) / pl.col(f"{mean}_tcp")).max()).item()
    longer = pairs.filter(pl.col(mean) >= pl.col(f"{mean}_tcp"))
    measured = f"{len(pairs) - len(longer)} of {len(pairs)} pairs; at most {ratio:.3f} of TCP's queue"
    found = judged(longer.is_empty(), measured, "DCTCP's mean queue below TCP's in every pair")
    return found.because(
        "not so with " + ", ".join(f"{n} flows" for n in longer["senders"].unique().sort()[:3])
    )


def draw(tables: Tables) -> "Picture":
    """Mean queue and use of the port by the number of flows."""
    picture, (left, right) = style.panels(1, 2)
    points = tables["points"]
    for name, colour, marker in zip(SETTINGS, style.COLOURS, style.MARKERS, strict=False):
        rows = points.filter(control=name).sort("senders")
        look: dict[str, Any] = {"color": colour, "marker": marker, "label": name}
        left.plot(rows["senders"].to_numpy(), rows["queue_mean_packets"].to_numpy(), **look)
        right.plot(rows["senders"].to_numpy(), rows["used_percent"].to_numpy(), **look)
    for axes in (left, right):
        axes.set_xticks(range(0, max(points["senders"]) + 1, 5))
    left.axhline(THRESHOLD, color="#000000", linewidth=0.9, linestyle="--")
    left.set(yscale="log", xlabel="senders", ylabel="mean queue (packets)", title="dashed: the threshold")
    left.legend(loc="best")
    right.set(xlabel="senders", ylabel="use of the port (%)")
    return picture


FIGURE = Figure(
    id="PEQ-P11",
    title="DCTCP answers the extent of congestion: its queue is shorter than TCP's",
    plans=plans,
    tables=tables,
    claims={"PEQ-P11": _shorter},
    draw=draw,
    needs={"runs": Needs(5, by=("control", "senders"))},
    assumed=(
        "Flows without an end from as many hosts to one, all links 10 Gbps, 100 us there and back; room for "
        f"{ROOM} packets; marks above {THRESHOLD}, as in DCTCP's paper at 10 Gbps.",
        "The mean queue is that of the whole run, slow start included; the packet on the wire counts.",
        "TCP is NewReno; all else of both transports has the simulator's defaults.",
    ),
)
