"""Payload delivered over time."""

from flowyard.analysis.frames import Arrow, frame
from flowyard.forks import pl


def flow_goodput(flows: Arrow) -> pl.Series:
    """Payload over completion time, in bit/s, of each finished flow."""
    flows = frame(flows)
    finished = flows.filter(pl.col("fct_ps") > 0)
    return finished.select(
        (pl.col("size_bytes") * 8.0 / (pl.col("fct_ps") / 1e12)).alias("goodput_bps")
    ).to_series()


def goodput_bps(flows: Arrow, duration_ps: int) -> float:
    """Payload delivered by all flows together over a duration (in ps), in bit/s; 0 if there was no time."""
    flows = frame(flows)
    delivered = int(flows["delivered_bytes"].sum())
    return delivered * 8e12 / duration_ps if duration_ps else 0.0
