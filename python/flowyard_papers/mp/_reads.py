"""Blocks that a client reads from many servers at once: the runs of figures 1.2 and 3.1."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

from flowyard.sweeps import Axis, Plan, Sweep


def plan(
    servers: Sequence[int],
    axis: Axis,
    replicas: int,
    settings: Mapping[str, Any],
    share: Callable[[int], int] | None,
    round_trip_us: int = 100,
) -> Plan:
    """The packaged scenario of blocks on one switch at 1 Gbps, with connections that are kept.

    Args:
        servers: Numbers of servers.
        axis: What else varies.
        replicas: Runs of each point.
        settings: What else is set.
        share: Bytes of a block that each of so many servers has; without, they are set otherwise.
        round_trip_us: Propagation there and back.
    """
    varies: dict[str, list[Any]] = {
        "topology.single-switch.hosts": [n + 1 for n in servers],
        "traffic.reads.matrix.incast.senders": list(servers),
    }
    if share is not None:
        varies["traffic.reads.sizes.fixed"] = [f"{share(n)}B" for n in servers]
    numbers = Axis("servers", varies, labels=servers)
    fixed: dict[str, Any] = {
        "topology.single-switch.rate": "1Gbps",
        # Two cables there and two back.
        "topology.single-switch.delay": f"{round_trip_us / 4:g}us",
        "traffic.reads.connection": "kept",
        "transport.tcp.rto_min": "200ms",
        "transport.tcp.rto_initial": "200ms",
    }
    return Plan("incast-blocks", [axis, numbers], replicas, set=fixed | dict(settings), name="reads")


def runs(sweep: Sweep, *sums: str) -> pl.DataFrame:
    """A row a run: goodput of the client while it reads, and sums of columns of the flows."""
    keys = [*sweep.axes, "replica"]
    seconds = (pl.col("start_ps") + pl.col("fct_ps")).max() / 1e12
    return (
        sweep.flows.group_by(keys)
        .agg(
            pl.col("completed").all(),
            (8e-6 * pl.col("delivered_bytes").sum() / seconds).alias("goodput_mbps"),
            *(pl.col(name).sum().cast(pl.Int64) for name in sums),
        )
        .sort(keys)
        .collect()
    )
