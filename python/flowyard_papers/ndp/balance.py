"""Figure 7, experiment 2: what per-packet and per-flow ECMP put on the ports of the core switches.

A 12-ary fat-tree, 5000 flows of 300 KB at 2000 a second, no background; for each of the 36 core switches the packets
that it receives at each of its 12 ports, one from each pod. Answers travel through the core as well and are counted: a
port cannot tell. Both runs of a seed carry the same flows.
"""

from typing import TYPE_CHECKING

import polars as pl

from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.sweeps import Axis, Plan
from flowyard_papers.ndp._scheduler import ASSUMED, Scheduler

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

K, FLOWS, SIZE, RATE = 12, 5000, 300_000, 2000
CORES, PORTS = K * K // 4, K
PACKET, FLOW = "per packet", "per flow"


def plans(scale: Scale) -> dict[str, Plan]:
    """Both balancers; at quick scale one seed."""
    scheduler = Scheduler(k=K, flows=FLOWS, size=SIZE, rate=RATE)
    axis = Axis("ecmp", {"routing.balancer": ["per-packet", "per-flow"]}, labels=[PACKET, FLOW])
    return {"ecmp": Plan(scheduler.scenario(), [axis], scale.pick(1, 5), name="experiment 2")}


def tables(sweeps: Sweeps) -> Tables:
    """A row for each port of a core switch, and what the runs did."""
    sweep = sweeps["ecmp"]
    ports = sweep.links.filter(pl.col("tier") == "aggregation-core").select(
        "ecmp",
        "replica",
        core=pl.col("to").cast(pl.String).str.extract(r"(\d+)$").cast(pl.Int64),
        pod=pl.col("from").cast(pl.String).str.extract(r"^pod (\d+)").cast(pl.Int64),
        packets=pl.col("packets").cast(pl.Int64),
    )
    runs = sweep.flows.group_by("ecmp", "replica").agg(
        flows=pl.len().cast(pl.Int64),
        completed=pl.col("completed").sum().cast(pl.Int64),
        goodput_gbps=(8000 * pl.col("size_bytes") / pl.col("fct_ps")).mean(),
        retransmissions=pl.col("retransmissions").sum().cast(pl.Int64),
    )
    return {
        "ports": ports.sort("ecmp", "replica", "core", "pod").collect(),
        "runs": runs.sort("ecmp", "replica").collect(),
    }


def _spread(tables: Tables) -> pl.DataFrame | None:
    """For each balancer and seed: mean, coefficient of variation and maximum; None if a port is missing."""
    packets = pl.col("packets")
    spread = (
        tables["ports"]
        .group_by("ecmp", "replica")
        .agg(
            ports=pl.len(),
            total=packets.sum(),
            variation=packets.std(ddof=0) / packets.mean(),
            peak=packets.max() / packets.mean(),
        )
    )
    whole = spread.filter(pl.col("ports") == CORES * PORTS, pl.col("total") > 0)
    seeds = whole.group_by("replica").agg(pl.col("ecmp").n_unique())
    return None if len(whole) < len(spread) or seeds.is_empty() or (seeds["ecmp"] != 2).any() else whole


def _mean(spread: pl.DataFrame, ecmp: str, column: str) -> float:
    return float(spread.filter(ecmp=ecmp).select(pl.col(column).mean()).item())


MISSING = "not every port of the core is there under both balancers"


def _evener(tables: Tables) -> Judgement:
    spread = _spread(tables)
    if spread is None:
        return judge.not_reached(MISSING)
    packet, flow = (_mean(spread, ecmp, "variation") for ecmp in (PACKET, FLOW))
    return judge.at_most(packet / flow, 0.5).because(f"{packet:.3g} {PACKET}, {flow:.3g} {FLOW}")


def _busiest(tables: Tables) -> Judgement:
    spread = _spread(tables)
    if spread is None:
        return judge.not_reached(MISSING)
    packet, flow = (_mean(spread, ecmp, "peak") for ecmp in (PACKET, FLOW))
    larger = judge.judged(flow > packet, f"{PACKET} {packet:.4g}, {FLOW} {flow:.4g}", f"{FLOW} is larger")
    return judge.together(
        [judge.at_most(packet, 1.5).called(f"busiest port over the mean, {PACKET}"), larger]
    )


def _as_many(tables: Tables) -> Judgement:
    spread = _spread(tables)
    if spread is None:
        return judge.not_reached(MISSING)
    return judge.within(_mean(spread, PACKET, "total") / _mean(spread, FLOW, "total"), 1, absolute=0.05)


def draw(tables: Tables) -> "Picture":
    """The paper's stacked bars, a colour for each port, and all ports sorted."""
    picture, panels = style.panels(1, 3)
    first = tables["ports"].filter(replica=0)
    shades = [*style.COLOURS[:6], *("#9ecae1", "#fdae6b", "#a1d99b", "#dadaeb", "#bdbdbd", "#636363")]
    for axes, ecmp in zip(panels, (FLOW, PACKET), strict=False):
        below = [0.0] * CORES
        for pod in range(PORTS):
            rows = first.filter(ecmp=ecmp, pod=pod).sort("core")
            height = (rows["packets"] / 1000).to_list()
            axes.bar(range(1, CORES + 1), height, 0.8, bottom=below, color=shades[pod])
            below = [a + b for a, b in zip(below, height, strict=True)]
        axes.set(xlabel="core switch", title=f"{ecmp}, a colour a port")
        axes.grid(axis="x", visible=False)
    panels[0].set_ylabel("received packets (thousands)")
    top = max(axes.get_ylim()[1] for axes in panels[:2])
    for axes in panels[:2]:
        axes.set_ylim(0, top)
    for ecmp in (FLOW, PACKET):
        loads = first.filter(ecmp=ecmp)["packets"].sort()
        mean = loads.mean()
        assert isinstance(mean, float)
        panels[2].plot(range(1, len(loads) + 1), (loads / mean).to_numpy(), label=ecmp)
    panels[2].set(
        xlabel="ports of the core, sorted", ylabel="packets / mean", title="balance", ylim=(0, None)
    )
    panels[2].legend(loc="upper left")
    return picture


FIGURE = Figure(
    id="NDP-F7",
    title="Figure 7: packets at the ports of core switches",
    plans=plans,
    tables=tables,
    claims={"NDP-F7.a": _evener, "NDP-F7.b": _busiest, "NDP-F7.c": _as_many},
    draw=draw,
    needs={
        "ports": Needs(5, by=("ecmp", "core", "pod")),
        "runs": Needs(5, by=("ecmp",), least={"flows": 5000}),
    },
    assumed=(
        *ASSUMED,
        "Packets are all that arrive at a port, data, headers and answers.",
    ),
)
