"""Processor time of a controller: a slot under SYN, an update under ASY, for 120 to 4,096 servers.

The left panel has processor time for each decision beside the real length of a slot at 1 Gbps, 12.3 us: above that line
one core cannot keep up with SYN. The right one has how many seconds of one core a second of the data centre takes, by
controller: the time of a decision by how often there is one. Both at load 0.8.

Times are measured, on whatever machine ran the figure, and differ from run to run: they are in the tables and no claim
is judged by them. A run says how long its controller decided and notified the hosts (`control.wall_s` in run.json).
That share of the run's wall time, of the processor time that the run took, is the controller's; the rest is that of the
packets. Each run is made twice, until a time and beyond it, and the difference counts: queues have filled by then.
"""

from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.papers import style
from flowyard.papers.figure import Figure, Scale, Sweeps, Tables
from flowyard.sweeps import Axis, Plan
from flowyard_papers.syn import _rack as rack

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

LOAD, SLOT_US = 0.8, 12.304
SYSTEMS: dict[str, dict[str, Any]] = {
    rack.MMF: {"transport": "central", "controller": {"syn": {"policy": "mmf"}}},
    rack.ASY: {"transport": "central", "controller": {"asy": {}}},
}
# Servers: leaves, servers of each, spines and their Gbps; and until when the two runs go, in us.
SIZES = {120: (4, 30, 3, 10), 480: (16, 30, 3, 10), 1920: (64, 30, 3, 10), 4096: (128, 32, 2, 16)}
UNTIL_US = {120: (50_000, 150_000), 480: (10_000, 20_000), 1920: (4_000, 5_000), 4096: (2_000, 2_400)}
QUICK_US = {120: (20_000, 60_000), 480: (5_000, 15_000)}
PARTS = ("before", "whole")


def plans(scale: Scale) -> dict[str, Plan]:
    """Both runs of each system and size."""
    made = {}
    for servers, untils in scale.pick(QUICK_US, UNTIL_US).items():
        leaves, hosts, spines, gbps = SIZES[servers]
        network = {
            "leaves": leaves,
            "hosts": hosts,
            "spines": spines,
            "host": {"rate": "1Gbps"},
            "spine": {"rate": f"{gbps}Gbps"},
            "delay": rack.DELAY,
        }
        flows = rack.bursts(LOAD, rack.FIXED, 1)
        flows["arrivals"]["poisson"]["until"] = f"{untils[1]}us"
        shared = {
            "topology": {"leaf-spine": network},
            "traffic": [flows],
            "run": {"measure": "all", "until": f"{untils[0]}us"},
        }
        axes = [
            Axis("system", scenarios=[shared | own for own in SYSTEMS.values()], labels=list(SYSTEMS)),
            Axis("part", {"run.until": [f"{us}us" for us in untils]}, labels=PARTS),
        ]
        made[str(servers)] = Plan(axes=axes, replicas=scale.pick(1, 3), name=f"{servers} servers")
    return made


def tables(sweeps: Sweeps) -> Tables:
    """A row for each size, system and replica: what the second part of a run took."""
    rows = []
    for name, sweep in sweeps.items():
        summaries, counts = sweep.summaries(), dict[tuple[str, int, str], dict[str, float]]()
        for run in sweep.runs.filter("done").iter_rows(named=True):
            summary = summaries[run["run"]]
            counters = summary["counters"]
            control = counters["control"]
            counts[run["system"], run["replica"], run["part"]] = {
                "cpu_s": counters["cpu_s"],
                "control_s": counters["cpu_s"] * control["wall_s"] / counters["wall_s"],
                "packet_hops": counters["packet_hops"],
                "decisions": control["acts"],
                "orders": control["orders"],
                "s": summary["end_ps"] / 1e12,
            }
        for system, replica, part in sorted(counts):
            if part == PARTS[0]:
                before, whole = (counts[system, replica, one] for one in PARTS)
                later = {key: whole[key] - before[key] for key in whole}
                rows.append({"servers": int(name), "system": system, "replica": replica} | later)
    return {
        "runs": pl.DataFrame(rows)
        .select(
            *("servers", "system", "replica", "packet_hops", "decisions"),
            orders_a_decision=pl.col("orders") / pl.col("decisions"),
            decisions_a_second=pl.col("decisions") / pl.col("s"),
            measured_decision_us=1e6 * pl.col("control_s") / pl.col("decisions"),
            measured_cores=pl.col("control_s") / pl.col("s"),
            measured_hop_ns=1e9 * (pl.col("cpu_s") - pl.col("control_s")) / pl.col("packet_hops"),
        )
        .sort("servers", "system", "replica")
    }


def draw(tables: Tables) -> "Picture":
    """Times of decisions, and cores, over the number of servers."""
    picture, (decisions, cores) = style.panels(1, 2)
    means = tables["runs"].group_by("servers", "system").agg(pl.exclude("replica").mean())
    for system, what in ((rack.MMF, "a slot"), (rack.ASY, "an update")):
        own = means.filter(system=system).sort("servers")
        look = rack.look(system) | {"label": f"{system}: {what}"}
        decisions.plot(own["servers"].to_numpy(), own["measured_decision_us"].to_numpy(), **look)
        cores.plot(own["servers"].to_numpy(), own["measured_cores"].to_numpy(), **look)
    decisions.axhline(SLOT_US, color="#000000", linestyle="--", linewidth=0.9, label="length of a slot")
    cores.axhline(1, color="#000000", linestyle="--", linewidth=0.9)
    sizes = sorted(means["servers"].unique())
    for axes in (decisions, cores):
        axes.set(xscale="log", yscale="log", xlabel="servers")
        axes.set_xticks(sizes, [f"{one:,}" for one in sizes])
        axes.minorticks_off()
    decisions.set_ylabel("processor time (us)")
    cores.set_ylabel("cores to keep up with 1 Gbps links")
    decisions.legend()
    return picture


FIGURE = Figure(
    id="SYN-COST",
    title="Time of a slot and of an update, by the number of servers (ours, measured)",
    plans=plans,
    tables=tables,
    claims={},
    draw=draw,
    measured=("measured_decision_us", "measured_cores", "measured_hop_ns"),
    assumed=(
        "Leaves of 30 servers at 1 Gbps and 3 spines at 10 Gbps; for 4,096 servers of 32, and 2 spines at 16 Gbps. "
        "Flows of 46 kB on average between all servers, load 0.8, packets of 1500 B with 38 B of frame, from an empty "
        "network: what counts is from 50 to 150 ms of 120 servers, 10 to 20 ms of 480, 4 to 5 ms of 1,920, 2 to 2.4 ms "
        "of 4,096, at quick scale 20 to 60 ms of 120 and 5 to 15 ms of 480. Queues of larger networks have had less "
        "time to fill.",
        "The controllers are those of the simulator, on one core: SYN keeps its order from slot to slot, ASY computes "
        "anew the part of the matrix that a change touches, which at this load is nearly all of it.",
    ),
)
