"""Incast and outcast, which the paper leaves to future work (section 6), with the fairness among competing flows.

Incast: N servers anywhere in an 8-ary fat-tree send 150 KB each to one at the same time. Outcast (Prakash et al., NSDI
2012): of the long flows that meet at a receiver one comes from its own rack, by a port that no other uses, and twelve
from other pods. NDP's receiver pulls from all in turn. Under TCP one side starves: here the far flows, since the near
one, whose link is as fast as the receiver's, refills a full drop-tail queue as fast as that empties. It is a matter of
phase, and so of the cables: in figure LIT-OUTCAST, which has cables of 1 us, the near one starves. Nothing is judged by
it here; that figure judges over a grid of cables and buffers.
"""

from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.sweeps import Axis, Plan
from flowyard_papers.ndp import _incast
from flowyard_papers.ndp._scheduler import ASSUMED, NDP, PORTS, RATE_BPS, TCP, TCP_PORTS, fat_tree

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

SENDERS = (2, 4, 8, 16, 32, 64, 100)
TRANSPORTS = {"NDP": NDP, "TCP": TCP}
UNTIL_MS, NEAR, FAR = 2000, 1, range(4, 16)


def plans(scale: Scale) -> dict[str, Plan]:
    """All numbers of senders, and the outcast, under both transports."""
    by = {"transport": list(TRANSPORTS.values()), "queue": [PORTS, TCP_PORTS]}
    transports = Axis("by", by, labels=list(TRANSPORTS))
    incast = {"topology": fat_tree(8), "transport": NDP, "traffic": [_incast.entry(150_000)]}
    outcast = {
        "topology": fat_tree(4),
        "transport": NDP,
        "traffic": [
            {
                "name": "long",
                "arrivals": "at-once",
                "matrix": {"pairs": [[source, 0] for source in (NEAR, *FAR)]},
                "sizes": "endless",
                "background": True,
            }
        ],
        "run": {"until": f"{UNTIL_MS}ms"},
    }
    replicas = scale.pick(2, 10)
    return {
        "incast": Plan(incast, [transports, _incast.senders(SENDERS)], replicas, name="incast"),
        "outcast": Plan(outcast, [transports], replicas, name="outcast"),
    }


def tables(sweeps: Sweeps) -> Tables:
    """A row for each incast, and one for each flow of an outcast."""
    flows = sweeps["outcast"].flows.select(
        "by",
        "replica",
        "src",
        near=pl.col("src") == NEAR,
        goodput_mbps=8 * pl.col("delivered_bytes") / (1000 * UNTIL_MS),
    )
    return {
        "incast": _incast.runs(sweeps["incast"], ["by", "senders"], RATE_BPS),
        "outcast": flows.sort("by", "replica", "src").collect(),
        "fairness": _fairness(flows).sort("by", "replica").collect(),
    }


def _fairness(flows: pl.LazyFrame) -> pl.LazyFrame:
    """Jain's index over the flows of an outcast, and the share of the near one."""
    goodput = pl.col("goodput_mbps")
    return flows.group_by("by", "replica").agg(
        jain=goodput.sum() ** 2 / (pl.len() * (goodput**2).sum()),
        near_over_mean=goodput.filter("near").sum() / goodput.mean(),
        goodput_gbps=goodput.sum() / 1000,
    )


def _no_collapse(tables: Tables) -> Judgement:
    runs = tables["incast"].filter(by="NDP")
    if set(runs["senders"]) != set(SENDERS) or runs["goodput_share"].null_count():
        return judge.not_reached("not all numbers of senders are there, or flows did not end")
    worst = runs.sort("goodput_share").row(0, named=True)
    found = judge.at_least(worst["goodput_share"], 0.9)
    return found.because(f"least with {worst['senders']} senders, where {worst['drops']} headers are lost")


def draw(tables: Tables) -> "Picture":
    """Goodput and fairness of the incast, and each flow of the outcast."""
    picture, (goodput, fairness, outcast) = style.panels(1, 3)
    means = tables["incast"].group_by("by", "senders").agg(pl.col("goodput_share", "jain").mean())
    for by, colour, marker in zip(TRANSPORTS, style.COLOURS, style.MARKERS, strict=False):
        look: dict[str, Any] = {"color": colour, "marker": marker, "label": by}
        rows = means.filter(by=by).sort("senders")
        goodput.plot(rows["senders"], rows["goodput_share"], **look)
        fairness.plot(rows["senders"], rows["jain"], **look)
        flows = tables["outcast"].filter(by=by).group_by("src").agg(pl.col("goodput_mbps").mean()).sort("src")
        outcast.plot(range(len(flows)), flows["goodput_mbps"], linestyle="none", **look)
    goodput.axhline(0.9, color="#000000", linewidth=0.9, linestyle="--")
    goodput.set(ylabel="goodput / link", ylim=(0, 1.02), title="incast: goodput")
    fairness.set(ylabel="Jain's index", ylim=(0, 1.02), title="incast: fairness")
    for axes in (goodput, fairness):
        axes.set(xlabel="senders", xscale="log")
        axes.set_xticks(SENDERS, [str(n) for n in SENDERS])
        axes.set_xticks([], minor=True)
    outcast.set_xticks([0, 6], ["own rack", "other pods"])
    outcast.set(ylabel="goodput of a flow (Mbps)", title="outcast: 1 near flow, 12 far ones")
    outcast.set_ylim(bottom=0)
    goodput.legend(loc="center left")
    outcast.legend()
    return picture


FIGURE = Figure(
    id="NDP-P4",
    title="NDP and TCP in incast and outcast",
    plans=plans,
    tables=tables,
    claims={"NDP-P4": _no_collapse},
    draw=draw,
    needs={"incast": Needs(5, by=("by", "senders")), "outcast": Needs(5, by=("by", "src"))},
    assumed=(
        *ASSUMED,
        "150 KB from each of N servers, which are drawn at random, starting within a packet's time. The outcast is "
        "endless flows for 2 s from an empty network.",
        "TCP (New Reno) has the simulator's defaults: queues of 100 packets, per-flow ECMP, timeouts from 200 ms on.",
        "Who starves under TCP in the right panel is a phase effect of drop-tail ports, and the other way round with "
        "cables of 1 us: LIT-OUTCAST has that, over a grid of cables and buffers.",
    ),
)
