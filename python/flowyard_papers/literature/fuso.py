"""FUSO and MPTCP: completion times of 64 KB flows where one of four paths loses packets at random.

Chen et al., "Fast and cautious: leveraging multi-path diversity for transport loss recovery in data centers", USENIX
ATC 2016: a loss near the end of a flow costs a timeout, which copies over other paths save. The abstract has up to
82.3 % less in the 99th percentile on a testbed at 1 Gbps, and 87.9 % in simulation at 10 Gbps.
"""

from typing import TYPE_CHECKING

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import style
from flowyard.papers.figure import Figure, Needs, Scale, Sweeps, Tables
from flowyard.papers.judge import Judgement, judged, not_reached
from flowyard.sweeps import Axis, Plan

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

FUSO, MPTCP = "FUSO", "MPTCP"
RECOVERY = {FUSO: "fuso", MPTCP: "own"}
LOSSES = (0.01, 0.02, 0.03, 0.04)
PATHS = HOSTS = 4
# Of the 99th percentile under MPTCP at most.
MOST = 0.5
KEYS = ["recovery", "loss"]
MEASURES = {"median_ms": "median FCT (ms)", "p99_ms": "p99 of the FCT (ms)", "timeouts": "timeouts of a flow"}


def plans(scale: Scale) -> dict[str, Plan]:
    """Flows from one leaf to the other, which lose packets behind one of the spines."""
    base = {
        "topology": {
            "leaf-spine": {"leaves": 2, "spines": PATHS, "hosts": HOSTS, "rate": "1Gbps", "delay": "25us"}
        },
        "transport": {
            "mptcp": {
                "subflows": PATHS,
                "tcp": {"handshake": False, "rto_min": "200ms", "rto_initial": "200ms"},
            }
        },
        "queue": {"drop-tail": {"limit": {"bytes": "128KB"}}},
        "traffic": [
            {
                "name": "flows",
                "arrivals": {"poisson": {"load": 0.1}},
                "matrix": {"pairs": [[a, HOSTS + b] for a in range(HOSTS) for b in range(HOSTS)]},
                "sizes": {"fixed": "64KB"},
                "flows": scale.pick(500, 5000),
            }
        ],
        "run": {"measure": "all"},
        "faults": {"events": []},
    }
    events = [
        [{"at": "0s", "target": {"link": ["leaf 0", "spine 2"]}, "change": {"loss": loss}}] for loss in LOSSES
    ]
    axes = [
        Axis("recovery", {"transport.mptcp.recovery": list(RECOVERY.values())}, labels=list(RECOVERY)),
        Axis("loss", {"faults.events": events}, labels=LOSSES),
    ]
    return {"flows": Plan(base, axes, scale.pick(1, 5), name="flows")}


def tables(sweeps: Sweeps) -> Tables:
    """One row per run, null where flows have not ended; and means."""
    keys = [*KEYS, "replica"]
    fct_ms, done = pl.col("fct_ps") / 1e9, pl.col("completed").all()
    runs = (
        sweeps["flows"]
        .flows.group_by(keys)
        .agg(
            flows=pl.len().cast(pl.Int64),
            timeouts=pl.col("timeouts").mean(),
            late=(pl.col("timeouts") > 0).mean(),
            median_ms=pl.when(done).then(fct_ms.median()),
            p99_ms=pl.when(done).then(fct_ms.quantile(0.99, "linear")),
        )
        .collect()
        .sort(keys)
    )
    return {"runs": runs, "points": replica_means(runs, KEYS, [*MEASURES, "late"])}


def _tail(tables: Tables) -> Judgement:
    """The means over seeds of the 99th percentile, FUSO over MPTCP, at each loss rate."""
    points = tables["points"].drop_nulls("p99_ms")
    if points.height < len(RECOVERY) * len(LOSSES):
        return not_reached("there are not all loss rates, or flows have not ended")
    tails = {(name, loss): tail for name, loss, tail in points.select(*KEYS, "p99_ms").iter_rows()}
    ratios = {loss: tails[FUSO, loss] / tails[MPTCP, loss] for loss in LOSSES}
    measured = ", ".join(f"{100 * (ratio - 1):+.1f} % at {loss:.0%}" for loss, ratio in ratios.items())
    return judged(
        max(ratios.values()) <= MOST, measured, f"{100 * (MOST - 1):+.0f} % or less at every loss rate"
    )


def draw(tables: Tables) -> "Picture":
    """Median, tail and timeouts by loss rate."""
    picture, panels = style.panels(1, len(MEASURES), size=(3.4, 2.8))
    points = tables["points"].with_columns(percent=100 * pl.col("loss").cast(pl.Float64))
    for axes, (column, label) in zip(panels, MEASURES.items(), strict=True):
        for place, recovery in enumerate(RECOVERY):
            rows = points.filter(recovery=recovery).sort("percent")
            style.curve(axes, rows, "percent", column, place, recovery)
        axes.set(xlabel="loss on one of four paths (%)", ylabel=label)
    panels[0].set(ylim=(0, None))
    panels[1].set(yscale="log")
    panels[2].set(ylim=(0, None))
    panels[2].legend(loc="upper left")
    return picture


FIGURE = Figure(
    id="LIT-FUSO",
    title="FUSO and MPTCP: completion times where one of four paths loses packets",
    plans=plans,
    tables=tables,
    claims={"LIT-FUSO.a": _tail},
    draw=draw,
    needs={"points": Needs(5, by=tuple(KEYS))},
    assumed=(
        "Two leaves of four hosts, four spines, 1 Gbps, 25 us a cable, which is a round trip of 280 us with "
        "transmission; ports of 128 KB. 5000 flows (quick scale: 500) of 64 KB at 10 % of the hosts' links, each over "
        "four subflows, whose paths are those of their hashes; packets from one leaf to one spine are lost.",
        "Connections are open already, with windows of 10 segments: no SYN is lost. No timeout below 200 ms.",
    ),
)
