"""pHost beside pFabric: mean slowdowns of all flows, and the tail of short ones, by load.

Gao et al., "pHost: Distributed Near-Optimal Datacenter Transport Over Commodity Network Fabric", CoNEXT 2015, after the
authors' simulator, NetSys/simulator, which has both transports. The numbers are those of runs of that simulator where
switches forward whole packets and links have 10 and 40 Gbps, as in the papers; its script has other rates.
"""

from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import pinned_fields, style
from flowyard.papers.figure import Figure, Needs, Scale, Sweeps, Tables
from flowyard.papers.judge import Judgement, by_reading, judged, not_reached
from flowyard.sweeps import Axis, Plan
from flowyard_papers.literature import _receivers

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

PHOST, PFABRIC = "pHost", "pFabric"
STACKS: dict[str, tuple[Any, Any]] = {
    PHOST: ("phost", {"strict-priority": {"limit": {"bytes": "36864B"}, "mark": "none"}}),
    # The simulator has no probes, and a host's windows wait in a pFabric port.
    PFABRIC: (
        {"pfabric": {**pinned_fields.PFABRIC, "probe_after": 1_000_000_000, "host_order": "port"}},
        {"pfabric": dict(pinned_fields.PFABRIC_PORT)},
    ),
}
IMC10, WEB_SEARCH = "IMC10", "web search"
# Sizes, and flows at full scale.
WORKLOADS: dict[str, tuple[Any, int]] = {
    IMC10: (_receivers.IMC10, 6000),
    WEB_SEARCH: ("web-search", 1200),
}
LOADS = (0.4, 0.6, 0.8)
SHORT_BYTES = 12 * 1460
# 10 to 17 % above, give or take 8 points.
LOW, HIGH = 2, 25
KEYS = ["workload", "stack", "load"]
MEASURES = ["slowdown_mean", "fct_mean_us", "short_p99_us"]


def plans(scale: Scale) -> dict[str, Plan]:
    """Both transports under both workloads at each load."""
    leaves, spines, hosts = scale.pick((2, 2, 4), (9, 4, 16))
    base = {
        "topology": {
            "leaf-spine": {
                "leaves": leaves,
                "spines": spines,
                "hosts": hosts,
                "rate": "10Gbps",
                "delay": "200ns",
                "spine": {"rate": "40Gbps"},
            }
        },
        "traffic": [
            {
                "name": "flows",
                "arrivals": {"poisson": {"load": LOADS[0]}},
                "matrix": "uniform",
                "sizes": "web-search",
                "flows": 1,
            }
        ],
        "run": {"measure": "all", "until": "60s"},
    }
    pairs = list(STACKS.values())
    axes = [
        Axis(
            "workload",
            {
                "traffic.flows.sizes": [sizes for sizes, _ in WORKLOADS.values()],
                "traffic.flows.flows": [flows // scale.pick(20, 1) for _, flows in WORKLOADS.values()],
            },
            labels=list(WORKLOADS),
        ),
        Axis(
            "stack",
            {"transport": [one for one, _ in pairs], "queue": [port for _, port in pairs]},
            labels=list(STACKS),
        ),
        Axis(
            "load",
            {"traffic.flows.arrivals.poisson.load": [_receivers.payload(load) for load in LOADS]},
            labels=LOADS,
        ),
    ]
    return {"flows": Plan(base, axes, scale.pick(1, 5), name="flows")}


def tables(sweeps: Sweeps) -> Tables:
    """One row per run, and means over seeds; no values where flows have not ended."""
    keys = [*KEYS, "replica"]
    fct_us, ended = pl.col("fct_ps") / 1e6, pl.col("completed").all()
    short = pl.col("size_bytes") <= SHORT_BYTES
    runs = (
        sweeps["flows"]
        .flows.group_by(keys)
        .agg(
            flows=pl.len().cast(pl.Int64),
            slowdown_mean=pl.when(ended).then(pl.col("slowdown").mean()),
            fct_mean_us=pl.when(ended).then(fct_us.mean()),
            short_p99_us=pl.when(ended).then(fct_us.filter(short).quantile(0.99, "linear")),
            drops=pl.col("drops").sum().cast(pl.Int64),
        )
        .sort(keys)
        .collect()
    )
    return {"runs": runs, "points": replica_means(runs, KEYS, MEASURES)}


def ratios(tables: Tables, workload: str, measure: str) -> dict[float, float] | None:
    """A measure of pHost over that of pFabric, by load; None if a point is missing."""
    rows = tables["points"].filter(workload=workload).drop_nulls(measure)
    values = {(row["load"], row["stack"]): row[measure] for row in rows.to_dicts()}
    if not all((load, stack) in values for load in LOADS for stack in STACKS):
        return None
    return {load: values[load, PHOST] / values[load, PFABRIC] for load in LOADS}


def _mean(tables: Tables) -> Judgement:
    """Mean slowdowns of all flows, and mean completion times, which the long flows decide."""
    return by_reading(
        {
            f"{name}, {workload}": _mean_of(tables, workload, measure)
            for name, measure in (("slowdowns", "slowdown_mean"), ("completion times", "fct_mean_us"))
            for workload in WORKLOADS
        }
    )


def _mean_of(tables: Tables, workload: str, measure: str) -> Judgement:
    found = ratios(tables, workload, measure)
    if found is None:
        return not_reached("there are not all loads, or flows did not end")
    above = {load: 100 * (ratio - 1) for load, ratio in found.items()}
    said = ", ".join(f"{more:+.1f} % at load {load}" for load, more in above.items())
    return judged(all(LOW <= more <= HIGH for more in above.values()), said, f"{LOW} to {HIGH} % above")


def _tail(tables: Tables) -> Judgement:
    """The 99th percentile of completion times of short flows."""
    return by_reading({workload: _tail_of(tables, workload) for workload in WORKLOADS})


def _tail_of(tables: Tables, workload: str) -> Judgement:
    found = ratios(tables, workload, "short_p99_us")
    if found is None:
        return not_reached("there are not all loads, or flows did not end")
    said = ", ".join(f"{ratio:.2f} times at load {load}" for load, ratio in found.items())
    return judged(min(found.values()) > 1, said, "more than pFabric's at each load")


def draw(tables: Tables) -> "Picture":
    """Each measure by load."""
    picture, panels = style.panels(1, 3, size=(3.9, 2.9))
    labels = ("mean slowdown", "mean FCT (us)", "p99 of the FCT (us)")
    titles = ("all flows", "all flows", "flows of up to 12 packets")
    for axes, measure, label, title in zip(panels, MEASURES, labels, titles, strict=True):
        for place, stack in enumerate(STACKS):
            for workload, line in zip(WORKLOADS, ("-", "--"), strict=True):
                rows = tables["points"].filter(stack=stack, workload=workload).sort("load")
                name = f"{stack}, {workload}"
                style.curve(
                    axes, rows, "load", measure, place, name, linestyle=line, within=(0, float("inf"))
                )
        axes.set(xlabel="load", ylabel=label, title=title, ylim=(0, None))
        axes.set_xticks(LOADS)
    panels[0].set(ylim=(1, None))
    panels[1].set(ylim=(100, None), yscale="log")
    picture.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return picture


FIGURE = Figure(
    id="LIT-PHOST",
    title="pHost and pFabric: mean slowdowns of all flows and tails of short ones by load",
    plans=plans,
    tables=tables,
    claims={"LIT-PHOST.a": _mean, "LIT-PHOST.b": _tail},
    draw=draw,
    needs={"points": Needs(5, by=KEYS)},
    assumed=(
        "144 hosts (quick scale: 8) at 10 Gbps under leaves with 40 Gbps to the spines, cables of 0.2 us, uniform "
        "destinations; a load is of packets of 1500 B, as in the authors' simulator.",
        "6,000 flows of IMC10 and 1,200 of web search (quick scale: a twentieth), all of them, from an empty network "
        "on, as there; data mining, the third workload of the paper, has flows of up to 1 GB and is left out.",
        "Which mean the source has is not certain: that of slowdowns comes first, as its claim is of these.",
        "pHost's ports hold 36,864 B in classes, pFabric's as many by remaining size; pFabric has the windows and the "
        "timeout of that simulator, no probes, and the windows of a host wait in its port.",
    ),
)
