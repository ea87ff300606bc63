"""Queues at the ports of spines, from captures of the cables between leaves and spines.

OMNeT++, with which the paper measured, records the length of a queue whenever it changes. The mean of such a record is
of what packets meet, not of time: a queue that is empty for long and then gets many packets at once counts by packets.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flowyard.papers import pcap
from flowyard_papers.syn import _sent as sent
from flowyard_papers.syn._leaf_spine import SERVERS_PER_LEAF

# The first packets of the window that go between leaves and spines: some 12 ms at load 0.8.
CAPTURE: dict[str, Any] = {"capture": {"links": ["leaf-spine", "spine-leaf"], "packet_limit": 150_000}}
PACKET_BYTES = 1538


def recorded_bytes(run: Path) -> float:
    """The mean of all lengths that the queues of the spines' ports had right after a packet came or went."""
    came: dict[tuple[str, int], list[NDArray[np.int64]]] = {}
    went: dict[tuple[str, int], NDArray[np.int64]] = {}
    for path in sorted((run / "pcap").glob("*.pcap")):
        records, _ = pcap.records(path)
        _, lower, upper = path.stem.split("-")
        leaf, time = int(lower.removeprefix("leaf_")), pcap.time_ns(records)
        source, target = (pcap.hosts(records[end]) // SERVERS_PER_LEAF for end in ("from", "to"))
        for other in np.unique(target[source == leaf]):
            came.setdefault((upper, int(other)), []).append(time[(source == leaf) & (target == other)])
        # A packet has left its port when its last bit enters the cable.
        went[upper, leaf] = time[target == leaf] - sent.DELAY_NS
    found = [lengths(np.concatenate(arrivals), went[port]) for port, arrivals in sorted(came.items())]
    return float(np.concatenate(found).mean()) * PACKET_BYTES


def lengths(came: NDArray[np.int64], went: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many packets per port has after each change, the one being sent included; it is empty once at least.

    Args:
        came: When packets came.
        went: When they had left. What was there before the first change is known from the least length.
    """
    times = np.concatenate([went, came])
    steps = np.concatenate([np.full(len(went), -1), np.full(len(came), 1)])
    # At one instant packets go before others come.
    level = steps[np.argsort(times, kind="stable")].cumsum()
    found: NDArray[np.int64] = level - min(0, int(level.min(initial=0)))
    return found
