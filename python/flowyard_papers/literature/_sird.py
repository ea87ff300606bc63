"""Runs of SIRD and the transports beside it: network, parameters and workloads, and measures of each run."""

from typing import Any

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers.figure import Scale, Sweeps, Tables
from flowyard.sweeps import Axis, Plan, Sweep
from flowyard_papers.literature import _receivers

SIRD, HOMA, DCPIM, EXPRESSPASS = "SIRD", "Homa", "dcPIM", "ExpressPass"
# A bandwidth-delay product in bytes, 8 us at 100 Gbps; the marking threshold of senders is 33 packets.
BDP = 100_000
_SIRD: dict[str, Any] = {
    "credit_budget": f"{BDP * 3 // 2}B",
    "sender_budget": f"{BDP}B",
    "unscheduled": f"{BDP}B",
    "sender_threshold": f"{33 * 1538}B",
}
_HOMA: dict[str, Any] = {"rtt_bytes": f"{BDP}B", "unscheduled_levels": 1, "tail_boost": "0B"}
STACKS: dict[str, tuple[Any, Any]] = {
    SIRD: ({"sird": _SIRD}, _receivers.MARKED),
    HOMA: ({"homa": _receivers.HOMA_HEADERS | _HOMA}, _receivers.UNMARKED),
    DCPIM: ({"dcpim": _receivers.DCPIM}, _receivers.UNMARKED),
    EXPRESSPASS: ("expresspass", "credit"),
}
DELAY = "920ns"
HALF, HIGH = 0.5, 0.95
# Of each workload: sizes; by load, begin and end of the measuring window in us.
WORKLOADS: dict[str, tuple[str, dict[float, tuple[int, int]]]] = {
    "W3": ("homa-w3", {HALF: (500, 1000), HIGH: (1000, 2500)}),
    "W4": ("homa-w4", {HALF: (1000, 3000), HIGH: (3000, 6000)}),
    "W5": ("homa-w5", {HIGH: (3000, 6000)}),
}
W3, W4, INCAST = "W3", "W4", "W4, incasts"
CONFIGURATIONS = (W3, W4, INCAST)
# Incasts have 7 % of the load, in flows of 500 KB.
SHARE, BURST_BYTES = 0.07, 500_000
BUDGETS = (1.0, 1.25, 1.5, 2.0, 3.0)
OF_BUDGETS = ("W4", "W5")
KEYS = ["configuration", "load", "stack"]
COLUMNS = ["goodput", "queue_max_bytes", "slowdown_p99"]


def plans(scale: Scale) -> dict[str, Plan]:
    """Each transport under each configuration and load; SIRD with each budget at the high load."""
    points = [(name, load) for name in CONFIGURATIONS for load in (HALF, HIGH)]
    fields = [_point(name, load, scale) for name, load in points]
    base = {
        "topology": _receivers.network(scale, DELAY),
        "transport": "sird",
        "traffic": fields[0]["traffic"],
    }
    merged: dict[str, list[Any]] = {name: [point[name] for point in fields] for name in fields[0]}
    stacks = list(STACKS.values())
    labels = [f"{name}; {load}" for name, load in points]
    queues = {"transport": [one for one, _ in stacks], "queue": [port for _, port in stacks]}
    own = [_point(name, HIGH, scale) for name in OF_BUDGETS]
    budgets = [f"{round(budget * BDP)}B" for budget in BUDGETS]
    sird = base | {"transport": {"sird": _SIRD}, "queue": _receivers.MARKED}
    replicas = scale.pick(1, 3)
    return {
        "stacks": Plan(
            base,
            [Axis("point", merged, labels=labels), Axis("stack", queues, labels=list(STACKS))],
            replicas,
            name="stacks",
        ),
        "budgets": Plan(
            sird,
            [
                Axis("workload", {name: [one[name] for one in own] for name in own[0]}, labels=OF_BUDGETS),
                Axis("budget", {"transport.sird.credit_budget": budgets}, labels=BUDGETS),
            ],
            replicas,
            name="budgets",
        ),
    }


def _point(configuration: str, load: float, scale: Scale) -> dict[str, Any]:
    """Traffic and run of a configuration at a load.

    At the high load the run ends with its window, whether or not a transport carries it.
    """
    sizes, windows = WORKLOADS[configuration[:2]]
    begin, end = (us // scale.pick(8, 1) for us in windows[load])
    poisson = load * (1 - SHARE) if configuration == INCAST else load
    until = f"{end if load == HIGH else 20 * end}us"
    traffic: list[dict[str, Any]] = [
        {
            "name": "messages",
            "arrivals": {"poisson": {"load": round(poisson, 4), "until": until}},
            "matrix": "uniform",
            "sizes": sizes,
        }
    ]
    if configuration == INCAST:
        senders = scale.pick(6, 30)
        rate = SHARE * load * _receivers.hosts(scale) * _receivers.RATE_BPS
        every = round(8 * senders * BURST_BYTES / rate * 1e9)
        traffic.append(
            {
                "name": "incasts",
                "background": True,
                "arrivals": {"periodic": {"every": f"{every}ns"}},
                "matrix": {"incast": {"senders": senders, "receiver": "random"}},
                "sizes": {"fixed": f"{BURST_BYTES}B"},
            }
        )
    window = {"from": f"{begin}us", "until": "end"}
    if load == HALF:
        window = {"from": f"{begin}us", "until": f"{end}us", "drain": "1ms"}
    return {"traffic": traffic, "run.measure": window, "run.until": until}


def tables(sweeps: Sweeps) -> Tables:
    """One row per run: goodput, the fullest port, and the tail of slowdowns where messages have ended; and means."""
    place = pl.col("point").str.split("; ")
    runs = (
        _runs(sweeps["stacks"], ["point", "stack", "replica"])
        .with_columns(
            configuration=place.list.get(0),
            load=place.list.get(1).cast(pl.Float64),
        )
        .select(*KEYS, "replica", *COLUMNS, "messages", "drops")
        .sort(*KEYS, "replica")
    )
    budgets = _runs(sweeps["budgets"], ["workload", "budget", "replica"])
    return {
        "runs": runs,
        "points": replica_means(runs, KEYS, COLUMNS),
        "budgets": replica_means(
            budgets.sort("workload", "budget", "replica"), ["workload", "budget"], COLUMNS[:2]
        ),
    }


def _runs(sweep: Sweep, keys: list[str]) -> pl.DataFrame:
    """One row per run. Incasts count in goodput and queues, not in slowdowns."""
    ended = pl.col("completed").all()
    messages = (
        sweep.flows.filter("measured")
        .group_by(keys)
        .agg(
            messages=pl.len().cast(pl.Int64),
            slowdown_p99=pl.when(ended).then(pl.col("slowdown").quantile(0.99, "linear")),
        )
        .collect()
    )
    return messages.join(_receivers.fullest(sweep, keys), on=keys, validate="1:1").join(
        _receivers.goodput(sweep, keys), on=keys, validate="1:1"
    )
