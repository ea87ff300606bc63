"""Blocks that a client reads from many servers at once: the runs of figures 1.2 and 3.1."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

from flowyard import results
from flowyard.sweeps import Axis, Plan, Sweep

SCENARIO, READS = "incast-blocks", "reads"
# Each server sends the next as soon as one has ended.
REQUESTS: Mapping[str, Any] = {
    "name": "requests",
    "background": True,
    "arrivals": {"on-off": {"probability": 1}},
    "matrix": {"incast": {"senders": 1, "receiver": 0}},
}


def plan(
    servers: Sequence[int],
    axis: Axis,
    replicas: int,
    settings: Mapping[str, Any],
    share: Callable[[int], int] | None,
    round_trip_us: int = 100,
    requests: str = "",
) -> Plan:
    """The packaged scenario of blocks on one switch at 1 Gbps, with connections that are kept.

    Args:
        servers: Numbers of servers.
        axis: What else varies.
        replicas: Runs of each point.
        settings: What else is set.
        share: Bytes of a block that each of so many servers has; without, they are set otherwise.
        round_trip_us: Propagation there and back.
        requests: What each server sends the client again and again in the background of the reads; without, nothing.
    """
    scenario: str | Mapping[str, Any] = SCENARIO
    varies: dict[str, list[Any]] = {
        "topology.single-switch.hosts": [n + 1 for n in servers],
        "traffic.reads.matrix.incast.senders": list(servers),
    }
    if share is not None:
        varies["traffic.reads.sizes.fixed"] = [f"{share(n)}B" for n in servers]
    if requests:
        text, _, _ = results.source(SCENARIO)
        scenario = tomllib.loads(text)
        scenario["traffic"].append({**REQUESTS, "sizes": {"fixed": requests}})
        varies[f"traffic.{REQUESTS['name']}.matrix.incast.senders"] = list(servers)
    numbers = Axis("servers", varies, labels=servers)
    fixed: dict[str, Any] = {
        "topology.single-switch.rate": "1Gbps",
        # Two cables there and two back.
        "topology.single-switch.delay": f"{round_trip_us / 4:g}us",
        "traffic.reads.connection": "kept",
        "transport.tcp.rto_min": "200ms",
        "transport.tcp.rto_initial": "200ms",
    }
    return Plan(scenario, [axis, numbers], replicas, set=fixed | dict(settings), name="reads")


def runs(sweep: Sweep, *sums: str, everything: bool = False) -> pl.DataFrame:
    """One row per run: goodput of the reads, and sums of columns of their flows.

    Args:
        sweep: Of a plan of this module.
        sums: Columns of flows.
        everything: Whether what comes in the background counts as goodput, too.
    """
    keys = [*sweep.axes, "replica"]
    reads = pl.col("tag").cast(pl.String) == READS
    end = (pl.col("start_ps") + pl.col("fct_ps")).filter(reads).max() / 1e12
    counts = pl.col("delivered_bytes") if everything else pl.col("delivered_bytes").filter(reads)
    return (
        sweep.flows.group_by(keys)
        .agg(
            pl.col("completed").filter(reads).all(),
            (8e-6 * counts.sum() / end).alias("goodput_mbps"),
            *(pl.col(name).filter(reads).sum().cast(pl.Int64) for name in sums),
        )
        .sort(keys)
        .collect()
    )
