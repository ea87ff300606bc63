"""The packets of one flow, put together from the events of its run (events.parquet)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Hop:
    """A packet at one port.

    Attributes:
        link: Number of the link that the port feeds.
        enqueued_ps: When it joined the port.
        started_ps: When its first bit was on the wire; None if it never was.
        arrived_ps: When its last bit had come out of the link; None if it did not.
        arrived_row: The row of that event.
        wire_bytes: Its bytes on that wire.
    """

    link: int
    enqueued_ps: int
    started_ps: int | None = None
    arrived_ps: int | None = None
    arrived_row: int = -1
    wire_bytes: int = 0


@dataclass
class Packet:
    """A packet from where it is made to its last event.

    Attributes:
        forward: Whether it goes from the flow's sender to its receiver.
        data: Whether it is data; otherwise an acknowledgement or another control packet.
        subflow: Number of its connection in the flow.
        seq: Of data, the sequence number of its transport.
        number: Of data, its number in its connection: that of a retransmission is the same. Where the transport
            does not number packets, its sequence number.
        payload_bytes: Its payload, before any was trimmed.
        made_ps: When it was made.
        made_row: The row of that event.
        hops: The ports on its way.
        dropped: Link and reason, if it was dropped.
        dropped_ps: When that was.
        trimmed: The link whose port cut its payload off, if one did.
        marked_ps: When a port marked it, if one did.
        repeats: Whether a packet with the same bytes was made before.
    """

    forward: bool
    data: bool
    subflow: int
    seq: int | None
    number: int | None
    payload_bytes: int
    made_ps: int
    made_row: int
    hops: list[Hop] = field(default_factory=list)
    dropped: tuple[int, str] | None = None
    dropped_ps: int | None = None
    trimmed: int | None = None
    marked_ps: int | None = None
    repeats: bool = False

    @property
    def end(self) -> tuple[int, int] | None:
        """Time and row of its last arrival; None if it did not come out of its last link."""
        last = self.hops[-1] if self.hops else None
        if self.dropped or last is None or last.arrived_ps is None:
            return None
        return last.arrived_ps, last.arrived_row

    def expects(self, kind: str, link: int | None) -> bool:
        """Whether that event at that link may be the next one of this packet."""
        last = self.hops[-1] if self.hops else None
        if kind == "enqueued":
            return self.dropped is None and (last is None or last.arrived_ps is not None)
        if last is None or last.link != link:
            return (
                kind == "dropped" and self.dropped is None and (last is None or last.arrived_ps is not None)
            )
        if kind == "started":
            return last.started_ps is None and self.dropped is None
        if kind == "arrived":
            return last.started_ps is not None and last.arrived_ps is None
        return self.dropped is None and last.arrived_ps is None

    def take(self, row: int, event: Mapping[str, Any]) -> None:
        """Adds its next event."""
        kind, link, time = event["kind"], event["link"], event["time_ps"]
        if kind == "enqueued":
            self.hops.append(Hop(link, time))
        elif kind == "started":
            self.hops[-1].started_ps, self.hops[-1].wire_bytes = time, event["wire_bytes"]
        elif kind == "arrived":
            self.hops[-1].arrived_ps, self.hops[-1].arrived_row = time, row
        elif kind == "dropped":
            self.dropped, self.dropped_ps = (link, event["detail"]), time
        elif kind == "trimmed":
            self.trimmed = link
        elif kind == "marked":
            self.marked_ps = time


# Columns that identify a packet among those of its flow.
NAME = ("subflow", "forward", "data", "made_ps", "seq", "number")
STEPS = ("enqueued", "started", "arrived", "dropped", "trimmed", "marked")


def packets(events: Iterable[Mapping[str, Any]]) -> list[Packet]:
    """All packets of a flow, in the order in which they were made.

    Events of packets that no column tells apart, such as two acknowledgements made at one instant, go to them in their
    order: ports of one class are first in, first out.

    Args:
        events: The rows of events.parquet with the events of that flow, in their order.
    """
    made: list[Packet] = []
    alike: dict[tuple[Any, ...], list[Packet]] = {}
    for row, event in enumerate(events):
        if event["made_ps"] is None:
            continue
        name = tuple(event[column] for column in NAME)
        if event["kind"] == "made":
            packet = _packet(row, event)
            made.append(packet)
            alike.setdefault(name, []).append(packet)
        elif event["kind"] in STEPS:
            found = (one for one in alike.get(name, ()) if one.expects(event["kind"], event["link"]))
            if (known := next(found, None)) is not None:
                known.take(row, event)
    _find_repeats(made)
    return made


def _packet(row: int, event: Mapping[str, Any]) -> Packet:
    return Packet(
        forward=event["forward"],
        data=event["data"],
        subflow=event["subflow"],
        seq=event["seq"],
        number=event["number"],
        payload_bytes=event["payload_bytes"],
        made_ps=event["time_ps"],
        made_row=row,
    )


def _find_repeats(made: Iterable[Packet]) -> None:
    """Marks the data packets whose bytes were sent before."""
    data = [packet for packet in made if packet.data and packet.forward]
    if not any(packet.number for packet in data):
        for packet in data:
            packet.number = packet.seq
    sent: set[tuple[int, int | None]] = set()
    for packet in data:
        name = packet.subflow, packet.number
        packet.repeats = name in sent
        sent.add(name)
