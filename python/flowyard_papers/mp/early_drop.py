"""Section 3.2: random early detection at the product of bandwidth and delay, on the cluster of figure 1.2."""

from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.sweeps import Axis, Plan
from flowyard_papers.mp import _reads
from flowyard_papers.mp.incast import BLOCK, LINK_MBPS

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

SERVERS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 47)
# 1 Gbps for 100 us: 12.5 KB, eight packets.
PRODUCT, REPLICAS = 12_500, 5
DROP_TAIL, RED, PRESENT, WIDE = "drop-tail", "RED", "RED, present queue", "RED, at four times the product"
TWICE = "drop-tail, at four times the product"


def _red(size: int, **settings: Any) -> dict[str, Any]:
    """Thresholds at a quarter and at three quarters, three times as far, as Floyd advises."""
    limits = {"min_threshold": size // 4, "max_threshold": 3 * size // 4, "limit": size}
    return {"red": {name: {"bytes": f"{at}B"} for name, at in limits.items()} | settings}


# Segments of the first window (RFC 6928), which connections have in the first block; bytes on the wire.
FIRST_WINDOW, PACKET = 10, 1500
QUEUES: dict[str, dict[str, Any]] = {
    DROP_TAIL: {"drop-tail": {"limit": {"bytes": f"{PRODUCT}B"}}},
    RED: _red(PRODUCT),
    PRESENT: _red(PRODUCT, weight=1.0),
    TWICE: {"drop-tail": {"limit": {"bytes": f"{4 * PRODUCT}B"}}},
    WIDE: _red(4 * PRODUCT),
}
LIMITS = {DROP_TAIL: PRODUCT, TWICE: 4 * PRODUCT}
# Of each reading the two queues that are compared.
READINGS = {
    "average of RED as in its paper": (RED, DROP_TAIL),
    "RED by the present queue": (PRESENT, DROP_TAIL),
    "four times the product": (WIDE, TWICE),
}


def plans(scale: Scale) -> dict[str, Plan]:
    """Each queue over the number of servers."""
    queues = Axis("queue", {"queue": list(QUEUES.values())}, labels=list(QUEUES))
    blocks = {"traffic.reads.arrivals.blocks.blocks": scale.pick(10, 50)}
    replicas = scale.pick(2, REPLICAS)
    return {"reads": _reads.plan(SERVERS, queues, replicas, blocks, lambda servers: BLOCK // servers)}


def tables(sweeps: Sweeps) -> Tables:
    """One row per run, the means, and the most servers before goodput halves."""
    runs = _reads.runs(sweeps["reads"], "timeouts", "drops")
    points = replica_means(runs, ["queue", "servers"], ["goodput_mbps", "timeouts"])
    return {"runs": runs, "points": points, "collapse": before_collapse(runs)}


def before_collapse(runs: pl.DataFrame) -> pl.DataFrame:
    """By queue and replica the largest number of servers before the first with less than half of the largest goodput.

    Half of the largest goodput of any queue, as one that loses much from the beginning has no height to fall from.
    """
    half = runs["goodput_mbps"].max()
    assert isinstance(half, float)
    rows = []
    for (queue, replica), series in runs.sort("servers").group_by("queue", "replica", maintain_order=True):
        most = 0
        for servers, goodput in series.select("servers", "goodput_mbps").iter_rows():
            if 2 * goodput < half:
                break
            most = servers
        rows.append({"queue": queue, "replica": replica, "servers": most})
    return pl.DataFrame(rows).sort("queue", "replica")


def _bears_more(tables: Tables) -> Judgement:
    if not tables["runs"]["completed"].all():
        return judge.not_reached("some run ended before all blocks were there")
    wide = (
        tables["collapse"].pivot(on="queue", index="replica", values="servers").with_columns(x=pl.lit("all"))
    )
    found = {}
    for reading, (red, other) in READINGS.items():
        said = ", ".join(f"{sum(wide[name]) / len(wide):.3g} with {name}" for name in (red, other))
        one = judge.not_less(wide, red, other, x="x")
        tried = "tried: three ways to set RED"
        one = one.because(f"servers before goodput halves: {said}; {tried}")
        if (holds := bears_at_once(LIMITS[other])) < 2:
            one = one.not_reproducible(
                f"a port of {LIMITS[other]:,} B holds the first windows of {holds} server only (bears_at_once): early "
                "drops lose more of them, not less"
            )
        found[reading] = one
    return judge.by_reading(found)


def bears_at_once(port_bytes: int) -> int:
    """Servers whose first windows a port holds, at best: each sends its own at the rate at which the port serves.

    Of n windows that come together the port has served one when all are there; the others wait.
    """
    return 1 + port_bytes // (FIRST_WINDOW * PACKET)


def draw(tables: Tables) -> "Picture":
    """Goodput and timeouts over the number of servers."""
    picture, panels = style.panels(1, 2)
    shown = {"goodput_mbps": "goodput of the client (Mbps)", "timeouts": "timeouts in a run"}
    for axes, (column, label) in zip(panels, shown.items(), strict=True):
        for place, queue in enumerate(QUEUES):
            rows = tables["points"].filter(queue=queue).sort("servers")
            style.curve(axes, rows, "servers", column, place, queue)
        axes.set(xlabel="servers that share a block", ylabel=label, ylim=(0, None))
    panels[0].axhline(LINK_MBPS, color="#000000", linewidth=0.9, linestyle="--")
    picture.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return picture


FIGURE = Figure(
    id="MP-P17",
    title="Section 3.2: random early detection at the product of bandwidth and delay against Incast",
    plans=plans,
    tables=tables,
    claims={"MP-P17": _bears_more},
    draw=draw,
    needs={"runs": Needs(REPLICAS, by=("queue", "servers")), "collapse": Needs(REPLICAS, by=("queue",))},
    assumed=(
        "The cluster of figure 1.2: 1 Gbps, 100 us, blocks of 1 MB shared among the servers; the product is 12,500 B.",
        "RED has thresholds at a quarter and at three quarters of the buffer, its paper's probability (0.02) and "
        "weight (0.002), and drops early; readings take the present queue for the average, and four times the product.",
        "A queue bears so many servers as are run before the first with less than half of the largest goodput.",
    ),
)
