"""Figure 1.2: TCP Incast on a cluster of 48 nodes, and the remedy of a short minimum timeout.

The dissertation cites the figure (Phanishayee et al., FAST 2008) and does not tell its set-up: here 1 Gbps, a round
trip of 100 us, blocks of 1 MB shared among N servers, 32 KB of buffer at the client's port.
"""

from typing import TYPE_CHECKING

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.sweeps import Axis, Plan
from flowyard_papers.mp import _reads

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

BLOCK, LINK_MBPS, MOST, TENS = 1_000_000, 1000, 47, 16
FULL = (1, 2, 3, 4, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 36, 40, 44, 47)
TIMEOUTS = ("200ms", "1ms")
LONG, SHORT = TIMEOUTS


def plans(scale: Scale) -> dict[str, Plan]:
    """Both minimum timeouts over the number of servers."""
    axis = Axis("rto_min", {"transport.tcp.rto_min": list(TIMEOUTS)})
    return {
        "reads": _reads.plan(
            scale.pick((1, 2, 4, 8, 16, 32, 47), FULL),
            axis,
            scale.pick(2, 5),
            {
                "queue.drop-tail.limit.bytes": "32KB",
                "traffic.reads.arrivals.blocks.blocks": scale.pick(10, 50),
            },
            lambda servers: BLOCK // servers,
        )
    }


def tables(sweeps: Sweeps) -> Tables:
    """One row per run, and the means."""
    runs = _reads.runs(sweeps["reads"], "timeouts", "retransmissions")
    return {"runs": runs, "points": replica_means(runs, ["rto_min", "servers"], ["goodput_mbps", "timeouts"])}


def _means(tables: Tables, rto_min: str) -> dict[int, float] | str:
    """Mean goodput by the number of servers; or what is missing."""
    runs = tables["runs"].filter(rto_min=rto_min)
    if not runs["completed"].all():
        return "some run ended before all blocks were there"
    if missing := {1, TENS, MOST} - set(runs["servers"]):
        return f"not run with {min(missing)} servers"
    return dict(runs.group_by("servers").agg(pl.col("goodput_mbps").mean()).iter_rows())


def _collapses(tables: Tables) -> Judgement:
    means = _means(tables, LONG)
    if isinstance(means, str):
        return judge.not_reached(means)
    few = max(goodput for n, goodput in means.items() if n <= 2)
    at, least = min(means.items(), key=lambda point: point[1])
    return judge.at_most(least / few, 0.05).because(
        f"goodput is {few:.4g} Mbps with 1 or 2 servers and {least:.4g} with {at}: {BLOCK // at} B a server, and one "
        "timeout of 200 ms in each block"
    )


def _early(tables: Tables) -> Judgement:
    means = _means(tables, LONG)
    if isinstance(means, str):
        return judge.not_reached(means)
    return judge.at_most(means[TENS] / max(means.values()), 0.3)


def _remedy(tables: Tables) -> Judgement:
    means = _means(tables, SHORT)
    if isinstance(means, str):
        return judge.not_reached(means)
    return judge.at_least(means[TENS] / LINK_MBPS, 0.7)


def draw(tables: Tables) -> "Picture":
    """Goodput and timeouts over the number of servers."""
    picture, (goodput, timeouts) = style.panels(1, 2)
    for place, rto_min in enumerate(TIMEOUTS):
        rows = tables["points"].filter(rto_min=rto_min).sort("servers")
        style.curve(goodput, rows, "servers", "goodput_mbps", place, f"minimum timeout {rto_min}")
        style.curve(timeouts, rows, "servers", "timeouts", place)
    goodput.axhline(LINK_MBPS, color="#000000", linewidth=0.9, linestyle="--")
    goodput.set(ylabel="goodput of the client (Mbps)", ylim=(0, 1.1 * LINK_MBPS))
    goodput.legend(loc="upper right", bbox_to_anchor=(1, 0.4))
    timeouts.set(ylabel="timeouts in a run", ylim=(0, None))
    for panel in (goodput, timeouts):
        panel.set_xlabel("servers that share a block")
    return picture


FIGURE = Figure(
    id="MP-F1.2",
    title="Figure 1.2: Incast on a cluster of 48 nodes",
    plans=plans,
    tables=tables,
    claims={"MP-F1.2.a": _collapses, "MP-F1.2.b": _early, "MP-F1.2.c": _remedy},
    draw=draw,
    needs={"runs": Needs(5, by=("rto_min", "servers"))},
    assumed=(
        "The text has no set-up for this figure. One switch at 1 Gbps, 100 us round trip, 32 KB at the client's port; "
        "the block of 1 MB is shared among the servers, and the next one is asked for when all of it is there.",
        "Connections are kept from block to block with their windows. TCP (New Reno) has the simulator's defaults, but "
        "for the minimum timeout and the first one of 200 ms.",
    ),
)
