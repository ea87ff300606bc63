"""DAQ's packets as runs capture them: when each came to the port of the aggregator, when it left, and why then.

A packet of data says how much time is left to its flow. A capture has it when its last bit arrives at the end of a
link; rates and delays are known, so that the instants at which transmissions began are known, too, to the nanosecond.
Nothing is lost and nothing sent twice, so that a packet's flow and number name it on every cable.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from flowyard.papers import pcap
from flowyard.sweeps import Sweep
from flowyard_papers.daq import _rack as rack

URGENT, OTHER, LONG = "Q1.1", "Q1.2", "Q2"
# What the field for the time left says of flows without a deadline, and of those whose deadline has passed.
NO_DEADLINE, EXPIRED = 2**64 - 1, 2**64 - 2
ENDLESS = 1e9
DELAY_NS, HEADERS_BYTES = 68_840, 40
DATA, LAST = 0, 1


def read(path: Path) -> pl.DataFrame:
    """The packets of data to the aggregator in a file, in its order.

    Returns:
        time_ns, sender, flow, number, bytes, left_ps (as the field has it).
    """
    records, _ = pcap.records(path)
    to = pcap.hosts(records["to"])
    records = records[(records["kind"] <= LAST) & (to == rack.AGGREGATOR)]
    return pl.DataFrame(
        {
            "time_ns": pcap.time_ns(records),
            "sender": pcap.hosts(records["from"]),
            "flow": pcap.flows(records["port"]),
            "number": records["number"].astype(np.int64),
            "bytes": records["length"].astype(np.int64),
            "left_ps": records["words"][:, 1].astype(np.uint64),
        }
    )


def place(ratio: float, rtt_ps: int = rack.RTT_PS) -> pl.Expr:
    """The paper's algorithm 1 for what a packet says of its time left."""
    left = pl.col("left_ps")
    threshold = int(min(ratio * rtt_ps, EXPIRED - 1))
    urgent = (left != NO_DEADLINE) if ratio >= ENDLESS else (left <= threshold)
    return (
        pl.when(left == NO_DEADLINE)
        .then(pl.lit(LONG))
        .when(urgent)
        .then(pl.lit(URGENT))
        .otherwise(pl.lit(OTHER))
        .alias("place")
    )


def port(run: Path, ratio: float) -> pl.DataFrame:
    """A row for each packet of data that came to the switch for the aggregator, in the order in which they came.

    Returns:
        sender, flow, number, bytes, left_ps, place, and the nanoseconds at which its sender began to send it, it had
        come to the switch, and its transmission by the port began: null if it still waits when the run ends.
    """
    files = sorted((run / "pcap").glob("*.pcap"))
    cables = [read(path) for path in files]
    own = [place for place, path in enumerate(files) if "host_0-" in path.name]
    (left,) = (cables[place] for place in own)
    came = pl.concat([cable for place, cable in enumerate(cables) if place not in own])
    wire_ns = 8 * pl.col("bytes")
    joined = came.rename({"time_ns": "came_ns"}).join(
        left.select("flow", "number", left_at="time_ns"), on=["flow", "number"], how="left", validate="1:1"
    )
    if joined["left_at"].count() != len(left):
        raise ValueError(f"{run}: packets that left without having come")
    return joined.with_columns(
        place(ratio),
        sent_ns=pl.col("came_ns") - DELAY_NS - wire_ns,
        began_ns=pl.col("left_at") - DELAY_NS - wire_ns,
    ).drop("left_at")


def occupancy(sweep: Sweep, axes: Sequence[str]) -> pl.DataFrame:
    """One row per run: the mean bytes that wait in Q1.1 and in Q1.2, from the first packet to the last."""
    rows = []
    for run in sweep.runs.filter("done").iter_rows(named=True):
        packets = port(sweep.path(run["run"]), run["ratio"]).drop_nulls("began_ns")
        waited = (pl.col("bytes") * (pl.col("began_ns") - pl.col("came_ns"))).sum()
        sums = dict(packets.group_by("place").agg(waited).iter_rows())
        began, ended = packets["came_ns"].min(), packets["began_ns"].max()
        assert isinstance(began, int)
        assert isinstance(ended, int)
        keys = {name: run[name] for name in (*axes, "replica")}
        means = {
            "urgent_bytes": sums.get(URGENT, 0) / (ended - began),
            "other_bytes": sums.get(OTHER, 0) / (ended - began),
        }
        rows.append(keys | means)
    return pl.DataFrame(rows).sort(*axes, "replica")


def disorders(packets: pl.DataFrame) -> dict[str, int]:
    """How often a port did what it must not: let one of Q1.2 go before one of Q1.1, or leave a queue's order.

    What comes at the very nanosecond of a decision is too late for it.
    """
    found = {"later_before_urgent": 0, "out_of_order": 0}
    rows = packets.select("place", "came_ns", "began_ns").drop_nulls().sort("began_ns")
    for name in (URGENT, OTHER, LONG):
        came = rows.filter(place=name)["came_ns"].to_numpy()
        # Somebody who came later has left before.
        found["out_of_order"] += int((np.maximum.accumulate(came)[:-1] > came[1:]).sum()) if len(came) else 0
    urgent, later = (rows.filter(place=name) for name in (URGENT, OTHER))
    starts = later["began_ns"].to_numpy()
    all_urgent = packets.filter(place=URGENT)["came_ns"].sort().to_numpy()
    there = np.searchsorted(all_urgent, starts, side="left")
    gone = np.searchsorted(np.sort(urgent["began_ns"].to_numpy()), starts, side="left")
    found["later_before_urgent"] = int((there > gone).sum())
    return found


def misplaced(packets: pl.DataFrame, flows: pl.DataFrame, ratio: float) -> int:
    """How many packets are not in the queue that their flow's deadline asks for when they are sent.

    Args:
        packets: What `port` gives.
        flows: Columns id, start_ps and deadline_ps of flows.parquet.
        ratio: The threshold in RTTs.
    """
    due = (pl.col("start_ps") + pl.col("deadline_ps")).cast(pl.Int64)
    own = packets.join(flows.select(pl.col("id").cast(pl.Int64), due=due), left_on="flow", right_on="id")
    left_ns = pl.col("due") / 1000 - pl.col("sent_ns")
    threshold_ns = ratio * rack.RTT_PS / 1000
    asked = (
        pl.when(pl.col("due").is_null())
        .then(pl.lit(LONG))
        .when((left_ns >= 0) & (left_ns <= threshold_ns))
        .then(pl.lit(URGENT))
        .otherwise(pl.lit(OTHER))
    )
    # Times are known to the nanosecond: on the edge either is right.
    edge = (left_ns.abs() <= 1) | ((left_ns - threshold_ns).abs() <= 1)
    right = (asked == pl.col("place")) | edge.fill_null(value=False)
    return len(packets) - int(own.select(right.sum()).item())


def most_outstanding(packets: pl.DataFrame, return_ns: int) -> dict[str, int]:
    """The most bytes that were ever sent and not yet given back as credit, of each class over all senders together.

    Args:
        packets: What `port` gives.
        return_ns: From the beginning of a packet's transmission by the port until its sender has its credit again.
    """
    found = {}
    for name, long in (("short", False), ("long", True)):
        own = packets.filter((pl.col("place") == LONG) == long)
        gone = own.drop_nulls("began_ns")
        times = np.concatenate([own["sent_ns"].to_numpy(), gone["began_ns"].to_numpy() + return_ns])
        changes = np.concatenate([own["bytes"].to_numpy(), -gone["bytes"].to_numpy()])
        # At one instant what returns comes first: it may be what the new packet is sent by.
        order = np.lexsort((changes, times))
        found[name] = int(np.cumsum(changes[order]).max(initial=0))
    return found
