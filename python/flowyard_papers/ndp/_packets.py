"""NDP's packets as runs capture them, and what the protocol's rules say of their order.

A capture has a packet when it has arrived at the end of its link. Sizes, rates and delays are known, so that the
instant at which its transmission began is known; times are whole nanoseconds, cut off.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from flowyard.papers import pcap

DATA, LAST, ACK, NACK, PULL = range(5)
# The bit of a kind that says that an answer pulls as well, and that of the flags that says trimmed.
PULLS, TRIMMED = 8, 2


def read(path: Path) -> pl.DataFrame:
    """The packets of a file, in the order of the file.

    Returns:
        time_ns, sender and receiver (hosts), flow, kind (one of the five above), trimmed, number and bytes.
    """
    records, cut = pcap.records(path)
    if cut:
        raise ValueError(f"{path}: not only NDP's packets")
    kind = records["kind"] & (PULLS - 1)
    forward = (kind == DATA) | (kind == LAST)
    port = np.where(forward, records["port"], records["other_port"])
    return pl.DataFrame(
        {
            "time_ns": pcap.time_ns(records),
            "sender": pcap.hosts(records["from"]),
            "receiver": pcap.hosts(records["to"]),
            "flow": pcap.flows(port),
            "kind": kind.astype(np.int64),
            "trimmed": (records["flags"] & TRIMMED) > 0,
            "number": records["number"].astype(np.int64),
            "bytes": records["length"].astype(np.int64),
        }
    )


def is_data() -> pl.Expr:
    """Data, whole or trimmed."""
    return pl.col("kind") <= LAST


def ahead(pulls_ns: NDArray[np.int64], spacing_ns: int) -> int:
    """By how much the PULLs of any stretch are sooner than one each `spacing_ns` allows; at most 0 if none is."""
    lag = pulls_ns - spacing_ns * np.arange(len(pulls_ns))
    return int((np.maximum.accumulate(lag)[:-1] - lag[1:]).max()) if len(lag) > 1 else 0


def pull_queue(
    cable: pl.DataFrame, packets: dict[int, int], sent_before_ns: int, slack_ns: int
) -> dict[str, int]:
    """Replays the queue of PULLs at a receiver from what came and what it sent.

    Each packet or header that comes queues a PULL, until the flow has all its packets; then its PULLs are removed.

    Args:
        cable: The packets of the receiver's cable, both ways.
        packets: How many each flow has.
        sent_before_ns: How long before its time in the capture the receiver sent a PULL.
        slack_ns: By how much a PULL may wait behind answers.

    Returns:
        unasked: PULLs that were sent without one in the queue; late: gaps of more than a spacing during which some
        waited all the time.
    """
    spacing_ns = 12_000
    events = [
        (time - (sent_before_ns if kind == PULL else 0), kind == PULL, flow, number, trimmed)
        for time, flow, kind, number, trimmed in cable.select(
            "time_ns", "flow", "kind", "number", "trimmed"
        ).iter_rows()
        if kind in (DATA, LAST, PULL)
    ]
    waiting: Counter[int] = Counter()
    there: dict[int, set[int]] = defaultdict(set)
    unasked = late = 0
    last = since = -(10**12)
    for time, is_pull, flow, number, trimmed in sorted(events):
        if is_pull:
            # The queue has not been empty since; the pacer lets one go each spacing.
            late += time - max(last + spacing_ns, since) > slack_ns
            unasked += waiting[flow] == 0
            waiting[flow] = max(0, waiting[flow] - 1)
            last = time
            if waiting.total() == 0:
                since = 10**18
            continue
        if not trimmed:
            there[flow].add(number)
        if len(there[flow]) == packets[flow]:
            waiting[flow] = 0
            since = since if waiting.total() else 10**18
        else:
            since = time if waiting.total() == 0 else since
            waiting[flow] += 1
    return {"unasked": unasked, "late": late}


def new_before_repeats(cable: pl.DataFrame, window: int, sent_before_ns: int) -> tuple[int, int]:
    """Of a sender's cable: packets that were sent again, and new ones that were sent while a NACKed one waited.

    The first window is sent without being asked for, and is left out.
    """
    repeats = early = 0
    asked: set[int] = set()
    next_new = 0
    # At equal times a NACK is too late for what leaves.
    events = sorted(
        (time - (sent_before_ns if kind <= LAST else 0), kind > LAST, kind, number)
        for time, kind, number in cable.select("time_ns", "kind", "number").iter_rows()
        if kind in (DATA, LAST, NACK)
    )
    for _, _, kind, number in events:
        if kind == NACK:
            asked.add(number)
        elif number < next_new:
            repeats += 1
            asked.discard(number)
        else:
            next_new = number + 1
            early += number >= window and bool(asked)
    return repeats, early


def turns(arrived: pl.DataFrame, left: pl.DataFrame, delay_ns: int) -> dict[str, int]:
    """Whom a port served while both of its queues waited, from what came to its switch and what left by it.

    A packet that arrives at a full port is trimmed there and then, so that its queue is known from the beginning.
    Nothing may have been dropped: the k-th time that a packet came belongs to the k-th time that it left.
    """
    came: dict[tuple[int, int], deque[int]] = defaultdict(deque)
    for time, flow, number in arrived.sort("time_ns").select("time_ns", "flow", "number").iter_rows():
        came[flow, number].append(time)
    queues: dict[bool, list[tuple[int, int]]] = {True: [], False: []}
    for time, flow, number, trimmed, size in _leaving(left):
        start = time - delay_ns - 8 * size
        queues[trimmed].append((start, came[flow, number].popleft()))
    starts = {kind: np.array([start for start, _ in rows]) for kind, rows in queues.items()}
    arrivals = {kind: np.sort([arrival for _, arrival in rows]) for kind, rows in queues.items()}
    served = Counter[str]()
    for kind, name in ((True, "headers"), (False, "data")):
        other = not kind
        for start in starts[kind].tolist():
            waits = np.searchsorted(arrivals[other], start) - np.searchsorted(starts[other], start)
            served[name] += int(waits > 0)
    return {"headers": served["headers"], "data": served["data"]}


def _leaving(left: pl.DataFrame) -> Iterator[tuple[int, int, int, bool, int]]:
    rows = left.sort("time_ns").select("time_ns", "flow", "number", "trimmed", "bytes")
    yield from rows.iter_rows()
