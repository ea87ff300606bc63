"""Packets sent by servers, from captures of their cables: start times, and busy periods of queues.

All packets are 1500 B and their frame, on links of 1 Gbps that are 0.5 us long. Captures have nanoseconds, cut.
"""

from pathlib import Path
from typing import Any

import polars as pl

from flowyard.papers import pcap

SLOT_NS, DELAY_NS = 12_304, 500
# The cables of servers.
CAPTURE: dict[str, Any] = {"capture": {"links": ["host-leaf"], "packet_limit": 5_000_000}}


def packets(run: Path) -> pl.DataFrame:
    """A row a packet, in the order in which they began: from, to, began_ns."""
    tables = []
    for path in sorted((run / "pcap").glob("*-host_*.pcap")):
        records, cut = pcap.records(path)
        if cut:
            raise ValueError(f"{path}: packets that are shorter than their headers")
        sources = pcap.hosts(records["from"])
        # The other direction of the cable has what the server receives.
        own = sources == int(path.name.split("-")[1].removeprefix("host_"))
        columns = {
            "from": sources,
            "to": pcap.hosts(records["to"]),
            "began_ns": pcap.time_ns(records) - SLOT_NS - DELAY_NS,
        }
        tables.append(pl.DataFrame({name: values[own] for name, values in columns.items()}))
    return pl.concat(tables).sort("began_ns")


def changes(flows: pl.DataFrame, sent: pl.DataFrame, packet_bytes: int = 1500) -> pl.DataFrame:
    """When queues filled and emptied: a queue holds a flow from its start until its last packet begins.

    Args:
        flows: Columns src, dst, size_bytes and start_ps of flows.parquet.
        sent: What `packets` gives.
        packet_bytes: Of each packet; a flow has as many as reach its size.

    Returns:
        at_ns, from, to, step (1: filled, -1: emptied) by time; `left` is what the queue then holds, below 0 if more was
        sent than came.
    """
    came = flows.filter(pl.col("start_ps").is_not_null()).select(
        pl.col("src").cast(pl.Int64).alias("from"),
        pl.col("dst").cast(pl.Int64).alias("to"),
        at_ns=(pl.col("start_ps") // 1000).cast(pl.Int64),
        more=(-(-pl.col("size_bytes").cast(pl.Int64) // packet_bytes)),
    )
    went = sent.select("from", "to", at_ns="began_ns", more=pl.lit(-1, pl.Int64))
    # At one instant a burst comes first: its first packet may go at once.
    events = pl.concat([came, went]).sort("at_ns", "more", descending=[False, True])
    pair = ["from", "to"]
    levels = events.with_columns(left=pl.col("more").cum_sum().over(pair))
    filled = (pl.col("more") > 0) & (pl.col("left") == pl.col("more"))
    step = pl.when(filled).then(1).when(pl.col("left") <= 0).then(-1).otherwise(0)
    return levels.with_columns(step=step).filter(pl.col("step") != 0).drop("more")


def most_in_use(changed: pl.DataFrame) -> int:
    """The most queues that any server ever had in use."""
    level = changed.select(pl.col("step").cum_sum().over("from"))["step"].max()
    return int(level) if isinstance(level, int) else 0
