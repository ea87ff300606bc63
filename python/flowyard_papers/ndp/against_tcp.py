"""Statements on TCP and ECMP without a figure (sections 1 and 3; contradiction NDP-X8), on one fat-tree.

A permutation, in which each of 54 servers sends 1.5 MB and receives as much, all at once: what the paths make of it is
all that differs. An incast of 32 servers, 150 KB each. Under NDP and TCP, with per-packet and per-flow ECMP; each
transport has the queues that it is made for. The same flows start at the same times in all runs of a seed.

Goodput is that of all flows together: their bytes over the time until the last has ended. The mean of the flows' own
goodputs is not ruled by the one timeout for which that one waits. It can be larger under TCP in an incast, which lets
some go first and keeps the others waiting. NDP-P1 is judged by both.

It fails on a permutation: reordering does make TCP retransmit needlessly, but per-flow ECMP lets long flows share
links and lose packets for it, which costs more. The cost of reordering alone is shown by TCP over per-packet ECMP that
takes no number of duplicate acknowledgements below a thousand for a loss.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.sweeps import Axis, Plan, Sweep
from flowyard_papers.ndp import _incast
from flowyard_papers.ndp._scheduler import ASSUMED, NDP, PORTS, TCP, TCP_PORTS, fat_tree

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

NDP_PACKET, NDP_FLOW = "NDP, per packet", "NDP, per flow"
TCP_PACKET, TCP_FLOW = "TCP, per packet", "TCP, per flow"
# More than a window holds: nothing that comes out of order is taken for lost.
TCP_BLIND = "TCP, per packet, ignores order"
_BLIND: Mapping[str, Any] = {"tcp": {"dupack_threshold": 1000}}
SERIES: Mapping[str, tuple[Mapping[str, Any], str]] = {
    NDP_PACKET: (NDP, "per-packet"),
    NDP_FLOW: (NDP, "per-flow"),
    TCP_FLOW: (TCP, "per-flow"),
    TCP_PACKET: (TCP, "per-packet"),
    TCP_BLIND: (_BLIND, "per-packet"),
}
PERMUTATION, INCAST = "permutation", "incast"
WORKLOADS = (PERMUTATION, INCAST)


def plans(scale: Scale) -> dict[str, Plan]:
    """Both workloads, all series."""
    permutation = {
        "name": "flows",
        "arrivals": "at-once",
        "matrix": "permutation",
        "sizes": {"fixed": "1500KB"},
    }
    incast = _incast.entry(150_000) | {"name": "flows", "matrix": {"incast": {"senders": 32, "receiver": 0}}}
    axis = Axis(
        "by",
        {
            "transport": [transport for transport, _ in SERIES.values()],
            "queue": [PORTS if "ndp" in transport else TCP_PORTS for transport, _ in SERIES.values()],
            "routing.balancer": [balancer for _, balancer in SERIES.values()],
        },
        labels=list(SERIES),
    )
    return {
        name: Plan({"topology": fat_tree(6), "traffic": [entry]}, [axis], scale.pick(5, 20), name=name)
        for name, entry in ((PERMUTATION, permutation), (INCAST, incast))
    }


def tables(sweeps: Sweeps) -> Tables:
    """One row per run; null where not all flows have ended."""
    return {"runs": pl.concat([_runs(name, sweeps[name]) for name in WORKLOADS])}


def _runs(workload: str, sweep: Sweep) -> pl.DataFrame:
    done = pl.col("completed").all()
    fct_ms = pl.col("fct_ps") / 1e9
    last_ms = (pl.col("start_ps") + pl.col("fct_ps")).max() / 1e9
    measures = {
        "flow_goodput_mbps": (8e6 * pl.col("size_bytes") / pl.col("fct_ps")).mean(),
        "goodput_gbps": 8e-6 * pl.col("size_bytes").sum() / last_ms,
        "fct_mean_ms": fct_ms.mean(),
        "fct_p99_ms": fct_ms.quantile(0.99, "linear"),
    }
    return (
        sweep.flows.group_by("by", "replica")
        .agg(
            pl.lit(workload).alias("workload").first(),
            *(pl.when(done).then(measure).alias(name) for name, measure in measures.items()),
            reordered=pl.col("reordered").sum().cast(pl.Int64),
            retransmissions=pl.col("retransmissions").sum().cast(pl.Int64),
            timeouts=pl.col("timeouts").sum().cast(pl.Int64),
        )
        .sort("by", "replica")
        .collect()
    )


def _mean(tables: Tables, workload: str, series: str, column: str) -> float | None:
    values = tables["runs"].filter(workload=workload, by=series)[column]
    mean = None if values.null_count() else values.mean()
    return mean if isinstance(mean, float) else None


def _better(tables: Tables, workload: str, column: str, one: str, other: str, *, larger: bool) -> Judgement:
    """The mean of one series is strictly better than that of another."""
    a, b = (_mean(tables, workload, series, column) for series in (one, other))
    if a is None or b is None:
        return judge.not_reached(f"{workload}: {one} or {other} has no {column}")
    measured = f"{workload}, {column}: {one} {a:.4g}, {other} {b:.4g}"
    return judge.judged(a > b if larger else a < b, measured, f"{'more' if larger else 'less'} with {one}")


def _reordering_costs(tables: Tables) -> Judgement:
    def said(series: str, column: str) -> str:
        mean = _mean(tables, PERMUTATION, series, column)
        return "not known" if mean is None else f"{mean:.3g}"

    because = (
        f"reordering alone costs TCP goodput: {said(TCP_PACKET, 'flow_goodput_mbps')} Mbps per flow with per-packet "
        f"ECMP, {said(TCP_BLIND, 'flow_goodput_mbps')} if TCP ignores the order. Per-flow ECMP costs more: flows "
        "that share a link lose packets and wait for timeouts of at least 200 ms "
        f"({said(TCP_FLOW, 'timeouts')} timeouts per run; per-packet {said(TCP_PACKET, 'timeouts')})"
    )
    columns = {"all flows until the last has ended": "goodput_gbps", "mean of the flows": "flow_goodput_mbps"}
    return judge.by_reading(
        {
            name: _better(tables, PERMUTATION, column, TCP_FLOW, TCP_PACKET, larger=True).because(because)
            for name, column in columns.items()
        }
    )


def _collisions_cost(tables: Tables) -> Judgement:
    return judge.together(
        _better(tables, PERMUTATION, "goodput_gbps", NDP_PACKET, other, larger=True)
        for other in (NDP_FLOW, TCP_FLOW)
    )


def _beats_tcp(tables: Tables) -> Judgement:
    return judge.together(
        _better(tables, workload, column, NDP_PACKET, TCP_FLOW, larger=column == "goodput_gbps")
        for workload in WORKLOADS
        for column in ("goodput_gbps", "fct_mean_ms", "fct_p99_ms")
    )


def draw(tables: Tables) -> "Picture":
    """Goodput and completion times of the series, and what TCP repeats."""
    picture, panels = style.panels(2, 4, size=(3.6, 2.6))
    columns = ["goodput_gbps", "flow_goodput_mbps", "fct_p99_ms", "retransmissions"]
    labels = (
        "goodput of all flows (Gbps)",
        "mean goodput of a flow (Mbps)",
        "p99 of the FCT (ms)",
        "packets sent again",
    )
    for row, workload in enumerate(WORKLOADS):
        runs = tables["runs"].filter(workload=workload)
        means = {mean["by"]: mean for mean in replica_means(runs, ["by"], columns).iter_rows(named=True)}
        for axes, column, label in zip(panels[4 * row :], columns, labels, strict=False):
            for place, series in enumerate(SERIES):
                value, interval = means[series][column], means[series][f"{column}_ci95"]
                axes.barh(place, value or 0, 0.7, xerr=interval or 0, color=style.COLOURS[place])
            axes.set_yticks(range(len(SERIES)), list(SERIES) if column == columns[0] else [""] * len(SERIES))
            axes.invert_yaxis()
            axes.set(xlabel=label, title=workload)
            axes.grid(axis="y", visible=False)
    return picture


FIGURE = Figure(
    id="NDP-P1-3",
    title="NDP against TCP, per-packet against per-flow ECMP",
    plans=plans,
    tables=tables,
    claims={"NDP-P1": _reordering_costs, "NDP-P2": _collisions_cost, "NDP-P3": _beats_tcp},
    draw=draw,
    needs={"runs": Needs(5, by=("by", "workload"))},
    assumed=(
        *ASSUMED,
        "TCP (New Reno) has the simulator's defaults: packets of 1500 B, a queue of 100 packets, a minimum timeout of "
        "200 ms. It is compared with NDP as each is made to run, NDP over per-packet and TCP over per-flow ECMP.",
        "TCP that ignores order repeats after 1000 duplicate acknowledgements, which no window makes, or a timeout.",
    ),
)
