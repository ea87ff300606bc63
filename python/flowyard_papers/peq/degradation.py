"""PEQ figure 1.7, section 1.1.6: BCube degrades gracefully, without a sudden drop, as equipment fails.

The thesis gives no numbers; it takes the statement from the paper on BCube (Guo et al., SIGCOMM 2009), which measures
an exchange among all servers while 0 to 20 % of the switches, or of the servers, are broken. So do we, with packets.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import style
from flowyard.papers.figure import Figure, Needs, Scale, Sweeps, Tables
from flowyard.papers.judge import Judgement, judged, not_reached, together
from flowyard.sweeps import Axis, Plan, Sweep
from flowyard.topology import network

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

SHARES = (0.0, 0.04, 0.08, 0.12, 0.16, 0.20)
# About as many servers each; BCube has 48 switches, so that a step of the axis is two of them.
NETWORKS: Mapping[str, dict[str, Any]] = {
    "BCube": {"bcube": {"n": 4, "k": 2, "rate": "1Gbps"}},
    "fat-tree": {"fat-tree": {"k": 6, "rate": "1Gbps"}},
    "DCell": {"dcell": {"n": 7, "k": 1, "rate": "1Gbps"}},
}
# What fails, and how a fault draws it: among all switches, or in the tier of the servers.
KINDS: Mapping[str, dict[str, str]] = {"switches": {}, "servers": {"tier": "host"}}
BASE = {
    "transport": "tcp",
    "run": {"until": "20ms"},
    "traffic": [
        {
            "name": "exchange",
            "arrivals": {"at-once": {"jitter": "100us"}},
            "matrix": "all-to-all",
            "sizes": "endless",
            "background": True,
        }
    ],
}


def plans(scale: Scale) -> dict[str, Plan]:
    """A plan for each kind of equipment that fails."""
    return {kind: _plan(kind, tier, scale.pick(3, 10)) for kind, tier in KINDS.items()}


def _plan(kind: str, tier: dict[str, str], replicas: int) -> Plan:
    events = [
        [{"at": "0s", "target": {"random-nodes": {"share": share, **tier}}, "change": "down"}]
        for share in SHARES
    ]
    axes = [
        Axis("network", {"topology": list(NETWORKS.values())}, labels=list(NETWORKS)),
        Axis("share", {"faults.events": events}, labels=SHARES),
    ]
    return Plan(BASE, axes, replicas, name=f"failed {kind}")


def tables(sweeps: Sweeps) -> Tables:
    """Each run's throughput, and the mean of the replicas relative to that of the whole network."""
    runs = pl.concat([_runs(kind, sweeps[kind]) for kind in KINDS])
    points = replica_means(
        runs, ["failed", "network", "share"], ["failed_fraction", "throughput_gbps", "served_fraction"]
    )
    whole = points.filter(share=0.0).select("failed", "network", whole="throughput_gbps")
    relative = pl.col("throughput_gbps") / pl.col("whole")
    points = points.join(whole, on=["failed", "network"], maintain_order="left").with_columns(
        relative=relative, relative_ci95=pl.col("throughput_gbps_ci95") / pl.col("whole")
    )
    return {"runs": runs, "points": points.drop("whole")}


def _runs(kind: str, sweep: Sweep) -> pl.DataFrame:
    """One row per run; a flow is served if any of its bytes arrived."""
    served = sweep.flows.group_by("run").agg(served_fraction=(pl.col("delivered_bytes") > 0).mean())
    about = [
        {"run": run, "failed_nodes": sum(len(fault["nodes"]) for fault in summary["faults"])}
        for run, summary in sweep.summaries().items()
    ]
    table = sweep.metrics.join(served.collect(), on="run").join(pl.DataFrame(about), on="run")
    return table.sort("network", "share", "replica").select(
        pl.lit(kind).alias("failed"),
        "network",
        "share",
        "replica",
        "failed_nodes",
        failed_fraction=pl.col("failed_nodes") / pl.col("network").replace_strict(_equipment(kind)),
        throughput_gbps=pl.col("goodput_bps") / 1e9,
        served_fraction="served_fraction",
    )


def _equipment(kind: str) -> dict[str, int]:
    """How many switches, or servers, each network has."""
    return {
        name: sum(node.host == (kind == "servers") for node in network({"topology": topology}).nodes)
        for name, topology in NETWORKS.items()
    }


def _graceful(tables: Tables) -> Judgement:
    return together([_no_cliff(tables["points"], kind) for kind in KINDS])


def _no_cliff(points: pl.DataFrame, kind: str) -> Judgement:
    """No drop of BCube's mean throughput from one point to the next is above twice the mean drop."""
    rows = points.filter(failed=kind, network="BCube").sort("share")
    if rows["share"].to_list() != list(SHARES):
        return not_reached(f"with failed {kind} not every share was run")
    values = rows["throughput_gbps"].to_list()
    drops = [before - after for before, after in pairwise(values)]
    mean, worst = sum(drops) / len(drops), max(drops)
    at = rows["share"][drops.index(worst) + 1]
    measured = f"failed {kind}: largest drop {worst:.3g} Gbps, mean {mean:.3g} Gbps"
    found = judged(worst <= 2 * mean, measured, f"<= 2 x mean = {2 * mean:.3g} Gbps")
    return found.because(f"throughput falls from {values[0]:.4g} to {values[-1]:.4g}, most of it at {at:g}")


def draw(tables: Tables) -> "Picture":
    """Throughput relative to that of the whole network, a panel for each kind of equipment."""
    picture, panels = style.panels(1, len(KINDS))
    for axes, kind in zip(panels, KINDS, strict=True):
        for place, name in enumerate(NETWORKS):
            rows = tables["points"].filter(failed=kind, network=name).sort("share")
            percent = 100 * rows.select("failed_fraction", "relative", "relative_ci95")
            style.curve(axes, percent, "failed_fraction", "relative", place, name)
        axes.set_xticks([100 * share for share in SHARES])
        axes.set(title=f"failed {kind}", xlabel=f"failed {kind} (%)", ylim=(0, 105))
    panels[0].set_ylabel("throughput (% of the whole network's)")
    panels[0].legend(loc="lower left")
    return picture


FIGURE = Figure(
    id="PEQ-F1.7",
    title="BCube under failures of switches and servers",
    plans=plans,
    tables=tables,
    claims={"PEQ-F1.7.c": _graceful},
    draw=draw,
    needs={"points": Needs(10, by=("failed", "network", "share"))},
    assumed=(
        "Equipment is switches, or servers, 0 to 20 % of them in steps of 4 %, drawn at random, broken from the "
        "start; routes know of it. The claim is judged for both. In a replica what fails at one share also fails at "
        "the next.",
        "The network is BCube_2 of 4-port switches: 64 servers, 48 switches; 1 Gbps, 1 us a cable. A fat-tree (k = 6) "
        "and a DCell_1 (n = 7), of 54 and 56 servers, are there for comparison only; with 8 switches, DCell has fewer "
        "steps than the axis.",
        "Traffic is an exchange among all pairs of servers, as in the paper on BCube: endless TCP flows (New Reno, the "
        "simulator's defaults) for 20 ms from an empty network; throughput is the payload delivered by then.",
        "Flows that faults leave without a way, or whose server is broken, count with the nothing that they deliver.",
    ),
)
