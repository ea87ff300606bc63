"""RoCE: queue and pauses of an incast under HPCC in much and little memory; IRN against go-back-N with pauses.

Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019: all flows start at the rate of their line, so that a
whole window of each sender leaves before the first rate changes. Mittal et al., "Revisiting network support for RDMA",
SIGCOMM 2018: with selective retransmission and a cap on the bytes in flight, RDMA needs no pauses.
"""

from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.papers import style
from flowyard.papers.figure import Figure, Needs, Scale, Sweeps, Tables
from flowyard.papers.judge import Judgement, all_exactly, judged, not_reached
from flowyard.sweeps import Axis, Plan
from flowyard_papers.ndp import _incast

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

SENDERS = (2, 16, 64)
# A window of 52,000 B is 52 packets of 1000 B, which are 1090 B on the wire with telemetry.
WINDOW, WIRE = 52, 1090
# Packets beyond the windows: one more of a sender whose first acknowledgement is back.
SLACK = 8
MEMORY = {"32 MiB": "32MiB", "3 MiB": "3MiB"}
# The set-up of IRN's paper: 54 hosts at 40 Gbps and 2 us, ports of twice the bandwidth-delay product, pauses from
# 220 KB on. Marks, which its flows do not have, are off in both: the control never acts.
PORT = "240KB"
RECOVERIES: dict[str, dict[str, Any]] = {
    "IRN, drops": {
        "transport": {"roce": {"congestion": "dctcp", "recovery": "irn"}},
        "queue": {"ecn": {"limit": {"bytes": PORT}, "threshold": {"bytes": "1GB"}}},
    },
    "go-back-N, pauses": {
        "transport": {"roce": {"congestion": "dctcp", "recovery": "go-back-n"}},
        "queue": {"lossless": {"xoff": "220KB", "kmin": "1GB", "kmax": "1GB"}},
    },
}


def plans(scale: Scale) -> dict[str, Plan]:
    """The incast in both memories; web-search traffic at 70 % load under both recoveries."""
    hpcc = {"congestion": {"hpcc": {"base_rtt": "4160ns"}}, "header_bytes": "90B", "ack_bytes": "88B"}
    entry = _incast.entry(500_000) | {"arrivals": {"at-once": {"jitter": "0s"}}}
    incast = {
        "topology": {"single-switch": {"hosts": max(SENDERS) + 1, "rate": "100Gbps", "delay": "1us"}},
        "transport": {"roce": hpcc},
        "queue": {"lossless": {"kmin": "1GB", "kmax": "1GB"}},
        "buffer": {"hpcc": {"frame_bytes": "43B"}},
        "traffic": [entry],
    }
    web = {
        "name": "web",
        "arrivals": {"poisson": {"load": 0.7}},
        "matrix": "uniform",
        "sizes": "web-search",
        "flows": scale.pick(300, 20_000),
    }
    loss = {
        "topology": {"fat-tree": {"k": scale.pick(4, 6), "rate": "40Gbps", "delay": "2us"}},
        "transport": "roce",
        "run": {"measure": "all", "until": "1s"},
        "traffic": [web],
    }
    memory = Axis("memory", {"buffer.hpcc.size": list(MEMORY.values())}, labels=list(MEMORY))
    keys = ("transport", "queue")
    recovery = Axis(
        "recovery",
        {key: [one[key] for one in RECOVERIES.values()] for key in keys},
        labels=list(RECOVERIES),
    )
    return {
        "incast": Plan(incast, [memory, _incast.senders(SENDERS)], 1, name="incast"),
        "loss": Plan(loss, [recovery], scale.pick(2, 5), name="loss"),
    }


def tables(sweeps: Sweeps) -> Tables:
    """A row for each run: the receiver's queue and pauses; completion times of the flows."""
    incast = sweeps["incast"]
    by = ["memory", "senders"]
    links = incast.links.group_by(by).agg(
        pl.col("queue_max_bytes").filter(pl.col("to") == "host 0").max(),
        pl.col("pauses", "drops").sum(),
    )
    flows = sweeps["loss"].flows.group_by("recovery", "replica")
    done = flows.agg(
        flows=pl.len(),
        completed=pl.col("completed").sum().cast(pl.Int64),
        slowdown_mean=pl.col("slowdown").mean(),
        fct_mean_ms=pl.col("fct_ps").mean() / 1e9,
        slowdown_p99=pl.col("slowdown").quantile(0.99),
        retransmissions=pl.col("retransmissions").sum().cast(pl.Int64),
    )
    return {
        "incast": links.sort(by, descending=[True, False]).collect(),
        "loss": done.sort("recovery", "replica").collect(),
    }


def _queue(tables: Tables) -> Judgement:
    """The longest queue of the incast in much memory, with the packet on the wire."""
    runs = tables["incast"].filter(memory="32 MiB").sort("senders")
    if runs["senders"].to_list() != list(SENDERS):
        return not_reached("there are not all numbers of senders")
    found = {
        n: most / WIRE - (n - 1) * WINDOW for n, most in runs.select("senders", "queue_max_bytes").iter_rows()
    }
    measured = ", ".join(f"{n} senders {more:+.1f} packets" for n, more in found.items())
    return judged(
        all(-1 <= more <= SLACK for more in found.values()), measured, f"-1 to {SLACK} beyond (N - 1) windows"
    )


def _pauses(tables: Tables) -> Judgement:
    """Sixteen senders: no pause in much memory, pauses and no drop in little."""
    runs = {row["memory"]: row for row in tables["incast"].filter(senders=16).to_dicts()}
    if runs.keys() != MEMORY.keys():
        return not_reached("there are not both memories")
    much, little = runs["32 MiB"], runs["3 MiB"]
    rows = [
        ("pauses in 32 MiB", much["pauses"], 0),
        ("drops", much["drops"] + little["drops"], 0),
        ("pauses in 3 MiB, any", little["pauses"] > 0, True),
    ]
    return all_exactly(rows, "pauses and drops of 16 senders")


def _irn(tables: Tables) -> Judgement:
    """Means over seeds of mean slowdown, mean completion time and 99th percentile, IRN over go-back-N."""
    runs = tables["loss"]
    if set(runs["recovery"]) != set(RECOVERIES) or (runs["flows"] != runs["completed"]).any():
        return not_reached("there are not both recoveries, or flows have not ended")
    measures = ("slowdown_mean", "fct_mean_ms", "slowdown_p99")
    means = {name: runs.filter(recovery=name).select(pl.col(measures).mean()).row(0) for name in RECOVERIES}
    irn, back = (means[name] for name in RECOVERIES)
    ratios = [a / b for a, b in zip(irn, back, strict=True)]
    measured = ", ".join(f"{name} {ratio:.3g}" for name, ratio in zip(measures, ratios, strict=True))
    return judged(max(ratios) < 1, measured, "each below 1")


def draw(tables: Tables) -> "Picture":
    """The queue and the pauses by the number of senders; slowdowns by recovery."""
    picture, (queue, pauses, loss) = style.panels(1, 3)
    for name, marker in zip(MEMORY, "os", strict=True):
        runs = tables["incast"].filter(memory=name).sort("senders")
        queue.plot(runs["senders"], runs["queue_max_bytes"] / 1e3, marker, label=name)
        pauses.plot(runs["senders"], runs["pauses"], marker, label=name)
    queue.plot(SENDERS, [(n - 1) * WINDOW * WIRE / 1e3 for n in SENDERS], "--", label="(N - 1) windows")
    queue.set(ylabel="longest queue (KB)", title="HPCC, incast", xlabel="senders", xscale="log", yscale="log")
    pauses.set(ylabel="in a run", title="pauses", xlabel="senders", xscale="log", yscale="symlog")
    for axes in (queue, pauses):
        axes.legend(loc="upper left")
        axes.set_xticks(SENDERS, [str(n) for n in SENDERS])
        axes.set_xticks([], minor=True)
    for place, name in enumerate(RECOVERIES):
        runs = tables["loss"].filter(recovery=name)
        loss.plot([place] * len(runs), runs["slowdown_mean"], "o", label=f"{name}: mean")
        loss.plot([place] * len(runs), runs["slowdown_p99"], "s", label=f"{name}: p99")
    loss.set(ylabel="slowdown", title="web-search, 70 % load", yscale="log")
    loss.set_xticks(range(len(RECOVERIES)), list(RECOVERIES))
    loss.legend()
    return picture


FIGURE = Figure(
    id="LIT-ROCE",
    title="RoCE: HPCC's incast in little and much memory; IRN against go-back-N with pauses",
    plans=plans,
    tables=tables,
    claims={"LIT-ROCE.a": _queue, "LIT-ROCE.b": _pauses, "LIT-ROCE.c": _irn},
    draw=draw,
    needs={"incast": Needs(1, by=("memory", "senders")), "loss": Needs(5, by=("recovery",))},
    assumed=(
        "HPCC: one switch, 100 Gbps and 1 us a cable, windows of 52,000 B, 500 KB from each sender, all at one "
        "instant; the memory of a switch is that of the HPCC simulator.",
        "IRN: a fat-tree of 54 hosts, 40 Gbps and 2 us a cable, ports of 240 KB; with pauses from 220 KB of a link on. "
        "No congestion control in either.",
    ),
)
