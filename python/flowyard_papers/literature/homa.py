"""Homa's messages by size: W1 to W5 at 80 % of 144 hosts, beside pHost, pFabric and NDP.

Montazeri et al., "Homa: A Receiver-Driven Low-Latency Transport Protocol Using Network Priorities", SIGCOMM 2018,
section 5.2, after the authors' simulator, PlatformLab/HomaSimulation: its network, packets and levels, and its measure
of load, which is all bytes on the wire, grants included. Its tables of sizes are in use with fewer points, and W5 with
1460 B to a packet, where the simulator has 1442 B. A message's slowdown is its time over that of its packets alone.
"""

from typing import TYPE_CHECKING

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import loads, style
from flowyard.papers.figure import Figure, Needs, Scale, Sweeps, Tables
from flowyard.papers.judge import Judgement, judged, not_reached
from flowyard.sweeps import Axis, Plan, Sweep

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

LOAD = 0.8
# Of each workload: its sizes; payload among the bytes on the wire, grants included, and unscheduled levels, both of the
# authors' simulator; messages at full scale.
WORKLOADS: dict[str, tuple[str, float, int, int]] = {
    "W1": ("homa-w1", 0.656, 7, 300_000),
    "W2": ("homa-w2", 0.796, 5, 300_000),
    "W3": ("homa-w3", 0.888, 4, 300_000),
    "W4": ("homa-w4", 0.898, 1, 30_000),
    "W5": ("homa-w5", 0.898, 1, 6_000),
}
QUICK = ("W2", "W3")
OURS = "Homa"
# Packets of the simulator: 10,000 B on the wire are unscheduled, nothing is acknowledged, ports drop nothing.
HOMA: dict[str, object] = {
    "unscheduled_header": "30B",
    "scheduled_header": "16B",
    "frame_overhead": "38B",
    "least_frame": "84B",
    "rtt_bytes": "10KB",
    "acknowledge": False,
}
OTHERS: dict[str, str] = {"pHost": "phost", "pFabric": "pfabric", "NDP": "ndp"}
# Median and tail by size: groups of as many messages.
GROUPS = 20
SHORT_MOST, QUEUE_MOST = 2.2 * 1.1, 150_000


def network(leaves: int, spines: int, hosts: int) -> dict[str, object]:
    """A leaf-spine of 10 and 40 Gbps, hosts by leaf, with the delays of the authors' simulator.

    These are 0.25 us a switch, 0.5 us for a host that sends and 0.5 us for each end.
    """
    shape: dict[str, object] = {"leaves": leaves, "spines": spines, "hosts": hosts}
    spine = {"rate": "40Gbps", "delay": "250ns"}
    return {"leaf-spine": shape | {"rate": "10Gbps", "delay": "875ns", "spine": spine}}


def plans(scale: Scale) -> dict[str, Plan]:
    """Homa with the levels of each workload, and the others."""
    base = {
        "topology": network(*scale.pick((2, 2, 4), (9, 4, 16))),
        "traffic": [
            {
                "name": "messages",
                "arrivals": {"poisson": {"load": LOAD}},
                "matrix": "uniform",
                "sizes": "homa-w1",
                "flows": 1,
            }
        ],
        "run": {"measure": "all", "until": "60s"},
    }
    used = list(scale.pick(QUICK, tuple(WORKLOADS)))
    rows = [WORKLOADS[name] for name in used]
    fields: dict[str, list[object]] = {
        "traffic.messages.sizes": [sizes for sizes, *_ in rows],
        "traffic.messages.arrivals.poisson.load": [round(LOAD * share, 4) for _, share, *_ in rows],
        "traffic.messages.flows": [scale.pick(2000, flows) for *_, flows in rows],
    }
    levels: dict[str, list[object]] = {
        "transport.homa.unscheduled_levels": [levels for _, _, levels, _ in rows]
    }
    replicas = scale.pick(1, 4)
    others = Axis("stack", {"transport": list(OTHERS.values())}, labels=list(OTHERS))
    return {
        "homa": Plan(
            base | {"transport": {"homa": HOMA}},
            [Axis("workload", fields | levels, labels=used)],
            replicas,
            name="Homa",
        ),
        "others": Plan(base, [Axis("workload", fields, labels=used), others], replicas, name="others"),
    }


def tables(sweeps: Sweeps) -> Tables:
    """Homa's slowdown by size; of each run that of the shorter half of messages, and the largest queue to a host."""
    homa = sweeps["homa"]
    measured = homa.flows.filter("measured").select("workload", "replica", "size_bytes", "slowdown").collect()
    place = (pl.col("size_bytes").rank("ordinal").over("workload", "replica") - 1) / pl.len().over(
        "workload", "replica"
    )
    by_size = (
        measured.with_columns(group=(place * GROUPS).cast(pl.Int64))
        .group_by("workload", "replica", "group")
        .agg(
            largest_bytes=pl.col("size_bytes").max(),
            median=pl.col("slowdown").median(),
            p99=pl.col("slowdown").quantile(0.99, "linear"),
        )
    )
    sizes = replica_means(by_size, ["workload", "group"], ["largest_bytes", "median", "p99"])
    runs = pl.concat(
        [
            _runs(homa, ["workload"]).with_columns(stack=pl.lit(OURS)),
            _runs(sweeps["others"], ["workload", "stack"]),
        ],
        how="diagonal",
    )
    return {"sizes": sizes.sort("workload", "group"), "runs": runs.sort("workload", "stack", "replica")}


def _runs(sweep: Sweep, axes: list[str]) -> pl.DataFrame:
    """One row per run."""
    keys = [*axes, "replica"]
    short = pl.col("size_bytes") <= pl.col("size_bytes").median().over(keys)
    slowdowns = (
        sweep.flows.filter("measured")
        .select(*keys, "size_bytes", "slowdown", "fct_ps", "drops")
        .collect()
        .with_columns(short=short)
        .group_by(keys)
        .agg(
            messages=pl.len(),
            short_median=pl.col("slowdown").filter("short").median(),
            short_p99=pl.col("slowdown").filter("short").quantile(0.99, "linear"),
            unfinished=pl.col("fct_ps").null_count(),
            drops=pl.col("drops").sum(),
        )
    )
    queues = (
        sweep.links.filter(pl.col("to").cast(pl.String).str.starts_with("host"))
        .group_by(keys)
        .agg(
            queue_max_bytes=pl.col("queue_max_bytes").max(),
            queue_mean_bytes=pl.col("queue_mean_bytes").mean(),
        )
        .collect()
    )
    return slowdowns.join(queues, on=keys, validate="1:1").join(
        loads.of_runs(sweep, axes), on=keys, validate="1:1"
    )


def _means(tables: Tables) -> pl.DataFrame:
    columns = ("short_p99", "queue_max_bytes", "unfinished")
    return tables["runs"].group_by("workload", "stack").agg(pl.col(columns).mean()).sort("workload", "stack")


def _short_tail(tables: Tables) -> Judgement:
    rows = _means(tables).filter(stack=OURS)
    if rows.is_empty() or rows["unfinished"].sum():
        return not_reached("there are no runs, or messages did not end")
    said = ", ".join(f"{p99:.2f} in {name}" for name, p99 in rows.select("workload", "short_p99").iter_rows())
    return judged(max(rows["short_p99"]) <= SHORT_MOST, said, f"at most {SHORT_MOST:.2f} in each workload")


def _order(tables: Tables) -> Judgement:
    means = _means(tables)
    said, holds = [], True
    for (workload,), rows in means.group_by("workload", maintain_order=True):
        tails = dict(rows.select("stack", "short_p99").iter_rows())
        if set(tails) != {OURS, *OTHERS} or rows["unfinished"].sum():
            return not_reached("there are not all transports in each workload, or messages did not end")
        holds = holds and tails[OURS] < min(tails["pHost"], tails["NDP"])
        said.append(f"{workload}: " + ", ".join(f"{name} {tails[name]:.2f}" for name in (OURS, *OTHERS)))
    if not said:
        return not_reached("there are no runs")
    return judged(holds, "; ".join(said), "below pHost and NDP in each workload")


def _queue(tables: Tables) -> Judgement:
    rows = _means(tables).filter(stack=OURS)
    if rows.is_empty():
        return not_reached("there are no runs")
    said = ", ".join(
        f"{most / 1000:.0f} KB in {name}"
        for name, most in rows.select("workload", "queue_max_bytes").iter_rows()
    )
    return judged(
        max(rows["queue_max_bytes"]) < QUEUE_MOST, said, f"below {QUEUE_MOST // 1000} KB in each workload"
    )


def draw(tables: Tables) -> "Picture":
    """Median and 99th percentile of Homa's slowdown by size, and the tail of short messages under each transport."""
    picture, (sizes, stacks) = style.panels(1, 2)
    for number, (name, rows) in enumerate(_named(tables["sizes"], "workload")):
        share = (rows["group"] + 0.5) * 100 / GROUPS
        colour = style.COLOURS[number]
        sizes.plot(
            share, rows["p99"], color=colour, marker=style.MARKERS[number], label=f"{name}, 99th percentile"
        )
        sizes.plot(share, rows["median"], color=colour, linestyle=":")
    sizes.set(xlabel="messages by size (%)", ylabel="slowdown", title="Homa (medians dotted)", yscale="log")
    sizes.legend(loc="upper left")
    names = sorted(set(tables["runs"]["workload"]))
    for number, (name, rows) in enumerate(_named(_means(tables), "stack")):
        places = [names.index(workload) for workload in rows["workload"]]
        stacks.plot(places, rows["short_p99"], style.MARKERS[number], color=style.COLOURS[number], label=name)
    stacks.set(ylabel="99th percentile of slowdown", title="the shorter half of messages", yscale="log")
    stacks.set_xticks(range(len(names)), names)
    stacks.legend(loc="upper left")
    return picture


def _named(table: pl.DataFrame, column: str) -> list[tuple[str, pl.DataFrame]]:
    return [(str(name), rows) for (name,), rows in table.sort(column).group_by(column, maintain_order=True)]


FIGURE = Figure(
    id="LIT-HOMA",
    title="Homa: slowdown by size for W1 to W5 at 80 %, beside pHost, pFabric and NDP",
    plans=plans,
    tables=tables,
    claims={"LIT-HOMA.a": _short_tail, "LIT-HOMA.b": _order, "LIT-HOMA.c": _queue},
    draw=draw,
    needs={"runs": Needs(4, by=("workload", "stack"))},
    assumed=(
        "144 hosts (quick scale: 8) at 10 Gbps under leaves with 40 Gbps to the spines; the delays of hosts in the "
        "authors' simulator are added to their cables.",
        "80 % are of the wire, frames, headers and grants of Homa included: 0.8 times 0.656, 0.796, 0.888, 0.898 and "
        "0.898 of payload for W1 to W5, under every transport.",
        "300,000 messages each of W1, W2 and W3, 30,000 of W4, 6,000 of W5 (quick scale: 2,000 of W2 and W3), all of "
        "them, from an empty network on: the authors' simulator has no warm-up either, and runs for 1.2 to 3.75 s.",
        "Slowdown is by the time of the same packets alone; that of the authors' simulator counts no header of Homa.",
        "pHost, pFabric and NDP have their defaults and no frames of Ethernet.",
    ),
)
