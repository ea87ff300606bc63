"""Long flows without an end through one port that marks: the set-up in which DCTCP's paper looks at queues.

Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010: K = 65 packets at 10 Gbps.
"""

from collections.abc import Sequence
from typing import Any

import polars as pl

from flowyard.sweeps import Axis, Sweep

RATE_BPS, FULL_PACKET, DELAY_S = 10_000_000_000, 1500, 25e-6
# Packets: where marks begin, and what the port holds.
THRESHOLD, ROOM = 65, 500


def scenario(until: str) -> dict[str, Any]:
    """One flow, as far as it does not depend on the transport."""
    return {
        "topology": {"single-switch": {"hosts": 2, "rate": "10Gbps", "delay": "25us"}},
        "queue": {"ecn": {"limit": {"packets": ROOM}, "threshold": {"packets": THRESHOLD}}},
        "traffic": [
            {
                "name": "long",
                "background": True,
                "arrivals": {"at-once": {"jitter": "100us"}},
                "matrix": {"incast": {"senders": 1, "receiver": 0}},
                "sizes": "endless",
            }
        ],
        "run": {"until": until},
    }


def senders(flows: Sequence[int]) -> Axis:
    """How many flows there are, each from a host of its own."""
    hosts, matrix = "topology.single-switch.hosts", "traffic.long.matrix.incast.senders"
    return Axis("senders", {hosts: [n + 1 for n in flows], matrix: list(flows)}, labels=flows)


def runs(sweep: Sweep, axis: str) -> pl.DataFrame:
    """One row per run, for the port to the receiver.

    Columns: the axis, senders, replica, drops, marks, packets, queue_mean_packets, used_percent.
    """
    port = sweep.links.filter(pl.col("to") == "host 0").select(
        axis,
        "senders",
        "replica",
        "drops",
        "marks",
        "packets",
        queue_mean_packets=pl.col("queue_mean_bytes") / FULL_PACKET,
        used_percent=100 * pl.col("utilisation"),
    )
    return port.sort(axis, "senders", "replica").collect()
