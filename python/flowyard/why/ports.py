"""A port's history, put together from the events of all flows there: its packets on the wire, its pauses, its queue.

It says for whose packets a packet waited: while it waits, the port sends others' packets or its own flow's, or stands
still in a pause.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

BITS, SECOND = 8, 10**12


@dataclass(frozen=True, slots=True)
class Sent:
    """A packet on the wire of a port's link, from its first bit to its last."""

    flow: int | None
    from_ps: int
    until_ps: int


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a port's queue: the bytes of one flow that joined it, or, below zero, left it."""

    time_ps: int
    flow: int | None
    bytes: int


@dataclass(frozen=True, slots=True)
class Mark:
    """An event of a packet at a port: it was dropped, trimmed or marked, with the reason of a drop."""

    time_ps: int
    flow: int | None
    kind: str
    detail: str


@dataclass
class Port:
    """A port's history.

    Attributes:
        link: Number of the link that it feeds.
        sent: Packets in the order in which they were sent.
        pauses: Spans in which it stood still, at least for one class of traffic.
        changes: Changes of its queue, without the packet on the wire.
        marks: Drops, trims and marks.
    """

    link: int
    sent: list[Sent] = field(default_factory=list)
    pauses: list[tuple[int, int]] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)

    def between(self, from_ps: int, until_ps: int) -> Iterator[tuple[int, int, str, int | None]]:
        """The pieces of a wait: start, end, "sent", "paused" or "idle", and the flow whose packet was sent."""
        place = bisect_left(self.sent, from_ps, key=lambda sent: sent.until_ps)
        at = from_ps
        for sent in self.sent[place:]:
            if sent.from_ps >= until_ps:
                break
            yield from self._still(at, min(sent.from_ps, until_ps))
            at = max(at, sent.from_ps)
            if (end := min(sent.until_ps, until_ps)) > at:
                yield at, end, "sent", sent.flow
                at = end
        yield from self._still(at, until_ps)

    def _still(self, from_ps: int, until_ps: int) -> Iterator[tuple[int, int, str, int | None]]:
        """The pieces of a span in which nothing was sent."""
        at = from_ps
        for start, end in self.pauses:
            low, high = max(start, at), min(end, until_ps)
            if low >= high:
                continue
            if low > at:
                yield at, low, "idle", None
            yield low, high, "paused", None
            at = high
        if at < until_ps:
            yield at, until_ps, "idle", None


def ports(events: Iterable[Mapping[str, Any]], rates: Mapping[int, int]) -> dict[int, Port]:
    """The histories of ports by link.

    Args:
        events: Rows of events.parquet with the events of all flows at these ports, in their order.
        rates: Rate of each link in bit/s, by number.
    """
    found: dict[int, Port] = {}
    waiting: dict[tuple[Any, ...], int] = {}
    paused: dict[int, int] = {}
    early: dict[int, list[Change]] = {}
    last = 0
    for event in events:
        last, link = event["time_ps"], event["link"]
        if link is None:
            continue
        port = found.setdefault(link, Port(link))
        if event["kind"] == "paused":
            _pause(port, paused, last, stopped=bool(event["value"]))
        elif event["made_ps"] is not None:
            _step(port, waiting, event, rates[link], early.setdefault(link, []))
    for link, changes in early.items():
        found[link].changes[:0] = changes
    for link, since in paused.items():
        found[link].pauses.append((since, last))
    return found


def _pause(port: Port, paused: dict[int, int], time: int, *, stopped: bool) -> None:
    if stopped:
        paused.setdefault(port.link, time)
    elif (since := paused.pop(port.link, None)) is not None:
        port.pauses.append((since, time))


def _step(
    port: Port,
    waiting: dict[tuple[Any, ...], int],
    event: Mapping[str, Any],
    rate: int,
    early: list[Change],
) -> None:
    """A step of a packet at a port; packets that were in the queue before the first event are added to `early`."""
    time, kind, flow, size = event["time_ps"], event["kind"], event["flow"], event["wire_bytes"]
    name = (
        port.link,
        flow,
        event["subflow"],
        event["forward"],
        event["data"],
        event["made_ps"],
        event["seq"],
    )
    if kind == "enqueued":
        waiting[name] = waiting.get(name, 0) + size
        port.changes.append(Change(time, flow, size))
    elif kind == "started":
        if name not in waiting:
            early.append(Change(0, flow, size))
        waiting.pop(name, None)
        port.changes.append(Change(time, flow, -size))
        port.sent.append(Sent(flow, time, time - (-size * BITS * SECOND // rate)))
    elif kind in ("dropped", "trimmed", "marked"):
        port.marks.append(Mark(time, flow, kind, event["detail"] or ""))
        before = waiting.pop(name, 0)
        # A packet that was dropped on arrival never was in the queue; a trimmed one may stay, shorter.
        after = min(before, size) if kind != "dropped" else 0
        if before != after:
            port.changes.append(Change(time, flow, after - before))
        if after:
            waiting[name] = after
