"""Cuts of DAQ's windows, from a run that samples windows and captures packets: by how much, and at which load.

Windows are sampled often. A cut happens when an acknowledgement comes, by what the last credit has said: the load of
the port when that packet left it, which is the bytes that came in the last whole round trip. Captures have all that
comes to the port, control packets too, so that the load of each credit is known, and with it whether the window had to
be halved or quartered. Between two samples a credit may have come; then what either says is right.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import polars as pl

from flowyard.papers import pcap
from flowyard_papers.daq import _rack as rack

RTT_NS = rack.RTT_PS // 1000
# What a link carries in a round trip, and the load above which a window is quartered.
FULL_BYTES, LIMIT = rack.LINK_BPS // 8 * RTT_NS / 1e9, 0.8
PACKET_BYTES, LATE_NS = 1500, 1000
SCHEMA = {
    "flow": pl.Int64,
    "before": pl.Int64,
    "after": pl.Int64,
    "load": pl.Float64,
    "as_asked": pl.Boolean,
    "telling": pl.Boolean,
}


def arrivals(run: Path) -> dict[int, int]:
    """Bytes that came to the port of the aggregator, by round trip, in which the port counts them."""
    found: dict[int, int] = {}
    for path in sorted((run / "pcap").glob("*.pcap")):
        if "host_0-" in path.name:
            continue
        records, cut = pcap.records(path)
        if cut:
            raise ValueError(f"{path}: packets without a whole header")
        own = records[pcap.hosts(records["to"]) == rack.AGGREGATOR]
        for interval, size in zip(pcap.time_ns(own) // RTT_NS, own["length"], strict=True):
            found[int(interval)] = found.get(int(interval), 0) + int(size)
    return found


def loads(
    port: pl.DataFrame, come: Mapping[int, int], return_ns: int
) -> dict[int, tuple[list[int], list[float]]]:
    """For each flow's sender when a credit came to it, and the load in the credit.

    Args:
        port: What `packets.port` gives; a sender has one flow of a class at a time.
        come: What `arrivals` gives.
        return_ns: From the beginning of a packet's transmission until its sender has the credit.
    """
    found: dict[int, tuple[list[int], list[float]]] = {}
    rows = port.drop_nulls("began_ns").sort("began_ns").select("flow", "began_ns")
    for flow, began in rows.iter_rows():
        times, reported = found.setdefault(flow, ([], []))
        times.append(began + return_ns)
        reported.append(come.get(began // RTT_NS - 1, 0) / FULL_BYTES)
    return found


def cuts(
    samples: pl.DataFrame, reported: Mapping[int, tuple[Sequence[int], Sequence[float]]]
) -> pl.DataFrame:
    """A row for each cut of a window between two samples.

    Args:
        samples: id, time_ps and window (bytes) of each flow.
        reported: Result of `loads`.

    Returns:
        flow, before, after, load (last reported before the later sample), as_asked (whether a load that may have been
        reported asks for this window), telling (whether the other divisor would have given another).
    """
    rows = []
    for (flow,), own in samples.sort("id", "time_ps").group_by("id", maintain_order=True):
        times, values = reported.get(int(flow), ([], []))
        for (start, before), (end, after) in pairwise(own.select("time_ps", "window").iter_rows()):
            if after >= before:
                continue
            # A credit waits for an acknowledgement on the wire.
            first, last = bisect_right(times, start / 1000 - LATE_NS), bisect_right(times, end / 1000)
            heard = list(values[max(first - 1, 0) : last])
            asked = {_cut(before, 4 if load > LIMIT else 2) for load in heard}
            other = {_cut(before, 2), _cut(before, 4)} - asked
            rows.append(
                {
                    "flow": flow,
                    "before": before,
                    "after": after,
                    "load": heard[-1] if heard else None,
                    "as_asked": after in asked,
                    "telling": bool(other),
                }
            )
    return pl.DataFrame(rows, schema=SCHEMA)


def _cut(window: int, divisor: int) -> int:
    return max(window // divisor, PACKET_BYTES)
