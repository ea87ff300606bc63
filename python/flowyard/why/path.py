"""The chain of causes of a flow's completion: backwards from the packet that completed it, to its start.

Each packet was made because another one arrived at its host, because a timer was due, or because the host's port had
become free of the flow's packet before. Each of these leads to an earlier event; the times between are the parts of the
completion time, and add up to it.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from flowyard.why.packets import Hop, Packet
from flowyard.why.ports import Port

# Parts of a completion time.
START, TRANSMISSION, PROPAGATION = "start-up", "transmission", "propagation"
QUEUE, OWN_QUEUE, PAUSE = "queue", "queue of its own packets", "pauses"
ANSWER, OWN, PACING = "way of answers", "port of the sender", "pacing"
TIMEOUT, SENDER, RECEIVER = "timeout", "waiting at the sender", "waiting at the receiver"
# Their meanings, in the order in which they are shown.
MEANINGS = {
    START: "before the first data packet was made: a handshake, or a request for a rate",
    TRANSMISSION: "data packets of the chain on the wires of their way",
    PROPAGATION: "these packets on the cables",
    QUEUE: "these packets at ports of switches, while packets of other flows were sent, or at a port that is idle",
    OWN_QUEUE: "these packets at ports of switches, while earlier packets of the same flow were sent",
    PAUSE: "these packets at ports that flow control had stopped",
    OWN: "at the port of the sending host: packets of the flow ahead, and those of others",
    PACING: "until a timer of the sender let the next packet go",
    TIMEOUT: "until a timer of the sender made it repeat a packet, or a request after a loss",
    SENDER: "until the sender made a packet for a reason that the flow's own events do not show, such as a turn among "
    "flows or a rate from a switch or controller",
    RECEIVER: "until the receiver made a packet later than an arrival: paced pulls, delayed acknowledgements",
    ANSWER: "acknowledgements, pulls and other control packets on their way back, queues included",
}
PARTS = tuple(MEANINGS)

BITS, SECOND = 8, 10**12


@dataclass(frozen=True)
class Part:
    """A span of a flow's time, and its cause.

    Attributes:
        name: One of PARTS.
        from_ps: Its start.
        until_ps: Its end.
        link: The link at whose port or on which it was spent; None at a host.
        of: At a port, the flow whose packet was on the wire meanwhile; None where it is unknown or there was none.
        waits: Whether a packet waited at a port meanwhile.
    """

    name: str
    from_ps: int
    until_ps: int
    link: int | None = None
    of: int | None = None
    waits: bool = False


@dataclass(frozen=True)
class _Cause:
    """An event that made a packet be made: an earlier packet's arrival, or none, and the parts between."""

    parts: tuple[Part, ...]
    packet: Packet | None = None
    made: Packet | None = None


class Chain:
    """The causes of a flow's events.

    Args:
        packets: Its packets, in the order in which they were made.
        timers: Time and owner ("sender" or "receiver") of the timers that were due.
        rates: Rate of each link in bit/s, by number.
        start_ps: When the flow started.
        times_out: Whether data that is repeated at a timer is repeated for a timeout.
    """

    def __init__(
        self,
        packets: Sequence[Packet],
        timers: Sequence[tuple[int, str]],
        rates: Mapping[int, int],
        start_ps: int,
        times_out: bool = True,
    ) -> None:
        self._packets = packets
        # Rows ascend, so that the packets before one are found by bisection.
        self._made_rows = [packet.made_row for packet in packets]
        self._due = sorted(time for time, owner in timers if owner == "sender")
        self._times_out = times_out
        self._first_loss = min((packet.made_row for packet in packets if packet.dropped), default=None)
        self._rates = rates
        self._start_ps = start_ps
        ended = [packet for packet in packets if packet.end]
        # By the host at which they arrive: at the sender those that go backwards.
        self._arrivals = {
            forward: sorted(
                (packet for packet in ended if packet.forward is forward), key=lambda packet: _end(packet)[1]
            )
            for forward in (True, False)
        }
        self._rows = {
            forward: [_end(packet)[1] for packet in arrived] for forward, arrived in self._arrivals.items()
        }

    def parts(self, end_ps: int) -> list[Part]:
        """The parts of the time from the flow's start until its completion, latest first.

        Args:
            end_ps: When the flow was complete, at its receiver.
        """
        last = next(
            (packet for packet in self._arrivals[True] if packet.data and _end(packet)[0] == end_ps), None
        )
        if last is None:
            return [Part(SENDER, self._start_ps, end_ps)]
        found: list[Part] = []
        packet: Packet | None = last
        arrived = True
        while packet is not None:
            if arrived:
                found += self._way(packet)
            cause = self._cause(packet)
            found += cause.parts
            packet, arrived = (cause.packet, True) if cause.packet else (cause.made, False)
        first = self._handshake_until()
        return [_start_up(part, first) for part in found if part.until_ps > part.from_ps]

    def _handshake_until(self) -> int:
        """When the first data packet was made, if the sender made another packet before; otherwise -1."""
        sent = [packet for packet in self._packets if packet.forward]
        data = next((packet.made_ps for packet in sent if packet.data), -1)
        return -1 if sent and sent[0].data else data

    def _way(self, packet: Packet) -> list[Part]:
        """The parts between a packet's being made and its last arrival, latest first."""
        found = []
        for number, hop in reversed(list(enumerate(packet.hops))):
            before = packet.hops[number - 1].arrived_ps if number else packet.made_ps
            found += self._hop(hop, before, first=number == 0)
        if packet.forward:
            return found
        return [replace(part, name=ANSWER) for part in found]

    def _hop(self, hop: Hop, before: int | None, *, first: bool) -> list[Part]:
        assert hop.started_ps is not None
        assert hop.arrived_ps is not None
        assert before is not None
        sent = min(hop.started_ps + self._transmission(hop), hop.arrived_ps)
        waited = OWN if first else QUEUE
        return [
            Part(PROPAGATION, sent, hop.arrived_ps, hop.link),
            Part(TRANSMISSION, hop.started_ps, sent, hop.link),
            Part(waited, before, hop.started_ps, hop.link, waits=True),
        ]

    def _transmission(self, hop: Hop) -> int:
        return -(-hop.wire_bytes * BITS * SECOND // self._rates[hop.link])

    def _cause(self, packet: Packet) -> _Cause:
        """The event by which a packet was made."""
        if packet.made_ps <= self._start_ps:
            return _Cause(())
        ahead = self._ahead(packet)
        arrival = self._arrival(packet)
        if ahead is not None:
            # Made as the port became free of the packet before: the time of that packet on the wire.
            first = ahead.hops[0]
            assert first.started_ps is not None
            parts = (
                Part(OWN, first.started_ps, packet.made_ps, first.link, waits=True),
                Part(OWN, ahead.made_ps, first.started_ps, first.link, waits=True),
            )
            return _Cause(parts, made=ahead)
        if arrival is not None and _end(arrival)[0] == packet.made_ps:
            return _Cause((), packet=arrival)
        return self._waited(packet, arrival)

    def _ahead(self, packet: Packet) -> Packet | None:
        """The flow's packet that left the host's port as this one was made."""
        if not (packet.forward and packet.hops):
            return None
        link = packet.hops[0].link
        place = bisect_left(self._made_rows, packet.made_row)
        for earlier in reversed(self._packets[max(0, place - 64) : place]):
            first = earlier.hops[0] if earlier.hops else None
            if first and first.link == link and first.started_ps is not None:
                ends = first.started_ps + self._transmission(first)
                if ends == packet.made_ps:
                    return earlier
        return None

    def _arrival(self, packet: Packet) -> Packet | None:
        """The last packet that came to the host of a packet before it was made."""
        rows = self._rows[not packet.forward]
        place = bisect_left(rows, packet.made_row)
        return self._arrivals[not packet.forward][place - 1] if place else None

    def _waited(self, packet: Packet, arrival: Packet | None) -> _Cause:
        """A packet that a timer made, or a cause that its events do not show: the span since the event before."""
        place = bisect_left(self._made_rows, packet.made_row)
        before = (
            made
            for made in reversed(self._packets[:place])
            if made.forward is packet.forward and made.made_ps < packet.made_ps
        )
        made = next(before, None)
        came = _end(arrival) if arrival else (-1, -1)
        since = max(came[0], made.made_ps if made else self._start_ps, self._start_ps)
        parts = tuple(self._wait(packet, since))
        if arrival is not None and came[0] >= since:
            return _Cause(parts, packet=arrival)
        return _Cause(parts, made=made)

    def _wait(self, packet: Packet, since: int) -> list[Part]:
        """The parts of a wait at a host, latest first."""
        made = packet.made_ps
        if not packet.forward:
            return [Part(RECEIVER, since, made)]
        lost = self._first_loss is not None and self._first_loss < packet.made_row
        again = self._times_out and packet.repeats if packet.data else lost
        place = bisect_right(self._due, made)
        due = self._due[place - 1] if place else -1
        if due == made:
            return [Part(TIMEOUT if again else PACING, since, made)]
        if again and due > since and packet.hops:
            # The host's port was busy when the timer was due.
            return [Part(OWN, due, made, packet.hops[0].link, waits=True), Part(TIMEOUT, since, due)]
        return [Part(SENDER, since, made)]


def _end(packet: Packet) -> tuple[int, int]:
    """Time and row of the arrival of a packet that has arrived."""
    end = packet.end
    assert end is not None
    return end


def _start_up(part: Part, first_ps: int) -> Part:
    """A part before the first data packet, such as of a handshake, is of the start; waits for a timer stay such."""
    before = part.until_ps <= first_ps and part.name not in (TIMEOUT, PACING)
    return replace(part, name=START) if before else part


def by_flow(parts: Sequence[Part], flow: int, ports: Mapping[int, Port]) -> list[Part]:
    """The parts, with each wait at a port divided by the flows whose packets were on the wire meanwhile, and pauses.

    Args:
        parts: The parts in the order of time.
        flow: The flow that they are of.
        ports: Histories of ports by link; waits elsewhere stay whole.
    """
    found: list[Part] = []
    for part in parts:
        port = ports.get(part.link) if part.waits and part.link is not None else None
        if port is None:
            found.append(part)
            continue
        for start, end, state, of in port.between(part.from_ps, part.until_ps):
            piece = replace(
                part, name=_piece(part.name, state, own=of == flow), from_ps=start, until_ps=end, of=of
            )
            if found and replace(found[-1], until_ps=end) == replace(piece, from_ps=found[-1].from_ps):
                piece = replace(piece, from_ps=found.pop().from_ps)
            found.append(piece)
    return found


def _piece(name: str, state: str, *, own: bool) -> str:
    """The name of a piece of a wait at a port."""
    if name not in (QUEUE, OWN):
        return name
    if state == "paused":
        return PAUSE
    return OWN_QUEUE if own and name == QUEUE else name


def totals(parts: Sequence[Part]) -> dict[str, int]:
    """The time of each part by name, in ps, in the order of PARTS; names without time are left out."""
    sums = {name: sum(part.until_ps - part.from_ps for part in parts if part.name == name) for name in PARTS}
    return {name: time for name, time in sums.items() if time}


def timers(events: Sequence[Mapping[str, Any]]) -> list[tuple[int, str]]:
    """Time and owner of the timers that were due."""
    return [(event["time_ps"], event["detail"]) for event in events if event["kind"] == "timer"]
