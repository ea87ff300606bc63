"""The packets that a flow lost: where, how its sender noticed, and how long that took."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flowyard.why.packets import Packet

TIMEOUT, NACK, DUPLICATES, ANSWER, NEVER = "timeout", "NACK", "duplicates", "an answer", "not repeated"
# Of a lost answer: nothing was repeated, for the next one said the same and more.
NEXT = "the next answer"
# How a receiver's answers show a loss, by the transport.
SEGMENTS = ("tcp", "mptcp", "parallel-tcp")
BY_ANSWERS = {**dict.fromkeys(("ndp", "roce", "dcqcn"), NACK), **dict.fromkeys(SEGMENTS, DUPLICATES)}


@dataclass(frozen=True)
class LostTo:
    """A fault that lost packets.

    Attributes:
        change: "down", or "loss" of each packet with a probability.
        from_ps: From when.
        until_ps: Until when; None if it stayed.
    """

    change: str
    from_ps: int
    until_ps: int | None


@dataclass(frozen=True)
class Loss:
    """A packet that was dropped, or whose payload was trimmed.

    Attributes:
        packet: The packet.
        link: Number of the link at whose port it was lost.
        reason: "full", "displaced", "managed", "fault" or "no-route", or "trimmed".
        noticed: How its sender noticed: "timeout", "NACK", "duplicates" (three acknowledgements of the same byte, or
            selective ones), "an answer", or "not repeated"; of a lost answer "the next answer", or "timeout" if a timer
            repeated data or a request before that was made.
        again: The packet that carried its bytes the next time; of a lost answer the next one, or what the timer
            repeated; None if there was none.
        fault: With the reason "fault" the fault of the link; None if `faults.packets` named the packet.
    """

    packet: Packet
    link: int
    reason: str
    noticed: str
    again: Packet | None
    fault: LostTo | None = None

    @property
    def took_ps(self) -> int | None:
        """From the packet to that which repeated it; None if none did."""
        return None if self.again is None else self.again.made_ps - self.packet.made_ps


def losses(
    packets: Sequence[Packet], timers: Sequence[tuple[int, str]], transport: str, timed: bool = True
) -> list[Loss]:
    """The lost and trimmed packets of a flow, in the order in which they were made.

    Args:
        packets: Its packets.
        timers: Time and owner of the timers that were due.
        transport: The name of its transport.
        timed: Whether data that is repeated at a timer is repeated for a timeout.
    """
    due = sorted(time for time, owner in timers if owner == "sender")
    answered = sorted(packet.end[0] for packet in packets if not packet.forward and packet.end)

    def by_timer(packet: Packet) -> bool:
        # A repetition waits until the host's port is free: what came last, a timer or an answer, caused it.
        may = timed or not packet.data
        return may and _last(due, packet.made_ps) > _last(answered, packet.made_ps)

    names = [_name(packet) for packet in packets]
    by_timers = [packet for packet in _repeated(packets, names) if by_timer(packet)]
    timed_at = [packet.made_ps for packet in by_timers if packet.repeats]
    later: dict[tuple[Any, ...], list[Packet]] = {}
    for name, packet in zip(names, packets, strict=True):
        later.setdefault(name, []).append(packet)
    found = []
    for name, packet in zip(names, packets, strict=True):
        lost = packet.dropped or (None if packet.trimmed is None else (packet.trimmed, "trimmed"))
        if lost is None:
            continue
        again = next((copy for copy in later[name] if copy.made_row > packet.made_row), None)
        after_timer = again is not None and _last(timed_at, again.made_ps) > packet.made_ps
        if not packet.forward:
            # The sender notices by its own timer, unless the next answer is there first.
            repeated = next((one for one in by_timers if one.made_row > packet.made_row), None)
            by_next = repeated is None or (again is not None and again.made_row < repeated.made_row)
            again = again if by_next else repeated
            noticed = NEVER if again is None else NEXT if by_next else TIMEOUT
        elif again is None:
            noticed = NEVER
        elif by_timer(again) or (after_timer and transport in SEGMENTS):
            # After a timeout such a sender repeats all that is not acknowledged, as acknowledgements let it.
            noticed = TIMEOUT
        else:
            noticed = BY_ANSWERS.get(transport, ANSWER)
        found.append(Loss(packet, *lost, noticed, again))
    return found


def _name(packet: Packet) -> tuple[Any, ...]:
    """The same for packets of which a later one does what an earlier one was to do.

    These are packets with the same data, requests before data, and acknowledgements and other answers.
    """
    data = packet.data and packet.forward
    return packet.subflow, packet.forward, data, packet.number if data else None


def _repeated(packets: Sequence[Packet], names: Sequence[tuple[Any, ...]]) -> Iterator[Packet]:
    """The sender's packets that were made before: data, and requests until the first data, as those of a handshake."""
    requested: set[tuple[Any, ...]] = set()
    has_data = False
    for name, packet in zip(names, packets, strict=True):
        if not packet.forward:
            continue
        has_data = has_data or packet.data
        if packet.repeats or (not has_data and name in requested):
            yield packet
        requested.add(name)


def _last(times: Sequence[int], until: int) -> int:
    """The last of these times until then; -1 if none is."""
    place = bisect_right(times, until)
    return times[place - 1] if place else -1


def times_out(
    packets: Sequence[Packet], timers: Sequence[tuple[int, str]], transport: str, timeouts: int
) -> bool:
    """Whether data that a flow repeats at a timer is repeated for a timeout.

    Paced senders repeat at their timers what answers have shown to be lost. TCP also repeats data at timers that
    flows.parquet does not count, such as probes of its tail; it is paced if it sends new data at timers.

    Args:
        packets: Its packets.
        timers: Time and owner of the timers that were due.
        transport: The name of its transport.
        timeouts: Its timeouts, of flows.parquet.
    """
    if timeouts or transport not in SEGMENTS:
        return timeouts > 0
    due = {time for time, owner in timers if owner == "sender"}
    new = (packet for packet in packets if packet.data and packet.forward and not packet.repeats)
    return not any(packet.made_ps in due for packet in new)


def transport_of(scenario: Mapping[str, Any], entry: str) -> str:
    """The name of the transport of a traffic entry's flows, in a scenario with its defaults."""
    own: Mapping[str, Any] = next((one for one in scenario["traffic"] if one["name"] == entry), {})
    chosen = own.get("transport") or scenario["transport"]
    return chosen if isinstance(chosen, str) else str(next(iter(chosen)))
