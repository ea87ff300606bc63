"""Parts of the figures on Ultra Ethernet: networks, traffic, slow links, and the outcome of a run."""

from collections.abc import Iterable
from typing import Any

import polars as pl

CONTROLS = NSCC, RCCC, BOTH = ("nscc", "rccc", "both")
SIZE = 2_000_000


def fat_tree(k: int) -> dict[str, Any]:
    """That of the simulator's files: 100 Gbit/s, links of 1 us."""
    return {"fat-tree": {"k": k, "rate": "100Gbps", "delay": "1us"}}


def at_once(name: str, matrix: Any, size: int = SIZE, **fields: Any) -> dict[str, Any]:
    """An entry of flows that all start at 0."""
    arrivals = {"at-once": {"jitter": "0s"}}
    return {"name": name, "arrivals": arrivals, "matrix": matrix, "sizes": {"fixed": f"{size}B"}, **fields}


def slow_links(cores: Iterable[int]) -> dict[str, Any]:
    """Faults (`-failed`): links from these cores to the first aggregation switch have a quarter of rate and queue."""
    return {
        "events": [
            {
                "at": "0s",
                "target": {"link": [f"core {core}", "pod 0 aggregation 0"]},
                "change": {"capacity": 0.25},
            }
            for core in cores
        ]
    }


def outcome() -> tuple[pl.Expr, pl.Expr]:
    """Of a run's flows: tail_us, the last acknowledgement at a sender, none if one has not ended; retransmissions."""
    tail = (pl.col("start_ps") + pl.col("fct_acked_ps")).max() / 1e6
    return (
        pl.when(pl.col("completed").all()).then(tail).alias("tail_us"),
        pl.col("retransmissions").sum().cast(pl.Int64),
    )
