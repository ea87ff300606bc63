"""N senders to one receiver at once: when the last flow ends, against what the receiver's link allows."""

from typing import Any

import polars as pl

from flowyard.sweeps import Axis, Sweep


def entry(size_bytes: int) -> dict[str, Any]:
    """Senders that are drawn at random, all at once, apart from a packet's time of jitter."""
    return {
        "name": "answers",
        "arrivals": "at-once",
        "matrix": {"incast": {"senders": 1, "receiver": 0}},
        "sizes": {"fixed": f"{size_bytes}B"},
    }


def senders(numbers: tuple[int, ...]) -> Axis:
    """How many they are."""
    return Axis("senders", {"traffic.answers.matrix.incast.senders": list(numbers)}, labels=numbers)


def runs(sweep: Sweep, axes: list[str], rate_bps: int, per_packet: float = 1.0) -> pl.DataFrame:
    """One row per run: the last flow against the ideal, goodput, fairness; null where not all flows have ended.

    The ideal: from the first packet that can be there on, the receiver's link carries all packets without a gap.

    Args:
        sweep: The runs.
        axes: Their axes.
        rate_bps: Of the receiver's link.
        per_packet: Bytes on the wire for a byte of payload.
    """
    bits = 8 * pl.col("size_bytes")
    carried_ps = bits.sum() * per_packet * 1e12 / rate_bps
    own_ps = bits * per_packet * 1e12 / rate_bps
    goodput = bits / pl.col("fct_ps")
    last_ps = (pl.col("start_ps") + pl.col("fct_ps")).max() - pl.col("start_ps").min()
    done = pl.col("completed").all()
    return (
        sweep.flows.group_by(*axes, "replica")
        .agg(
            last_ms=pl.when(done).then(last_ps / 1e9),
            last_over_ideal=pl.when(done).then(
                last_ps / ((pl.col("ideal_fct_ps") - own_ps).min() + carried_ps)
            ),
            goodput_share=pl.when(done).then(bits.sum() * 1e12 / last_ps / rate_bps),
            jain=pl.when(done).then(goodput.sum() ** 2 / (pl.len() * (goodput**2).sum())),
            trims=pl.col("trims").sum().cast(pl.Int64),
            drops=pl.col("drops").sum().cast(pl.Int64),
            timeouts=pl.col("timeouts").sum().cast(pl.Int64),
            retransmissions=pl.col("retransmissions").sum().cast(pl.Int64),
        )
        .sort(*axes, "replica")
        .collect()
    )
