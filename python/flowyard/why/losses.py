"""The packets that a flow lost: where, how its sender noticed, and how long that took."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flowyard.why.packets import Packet

TIMEOUT, NACK, DUPLICATES, ANSWER, NEVER = "timeout", "NACK", "duplicates", "an answer", "not repeated"
# How a receiver's answers show a loss, by the transport.
BY_ANSWERS = {
    "ndp": NACK,
    "roce": NACK,
    "dcqcn": NACK,
    "tcp": DUPLICATES,
    "mptcp": DUPLICATES,
    "parallel-tcp": DUPLICATES,
}


@dataclass(frozen=True)
class Loss:
    """A packet that was dropped, or whose payload was trimmed.

    Attributes:
        packet: The packet.
        link: Number of the link at whose port it was lost.
        reason: "full", "displaced", "managed", "fault" or "no-route", or "trimmed".
        noticed: How its sender noticed: "timeout", "NACK", "duplicates" (three acknowledgements of the same byte, or
            selective ones), "an answer", or "not repeated".
        again: The packet that carried its bytes the next time; None if none did.
    """

    packet: Packet
    link: int
    reason: str
    noticed: str
    again: Packet | None

    @property
    def took_ps(self) -> int | None:
        """From the packet to that which repeated it; None if none did."""
        return None if self.again is None else self.again.made_ps - self.packet.made_ps


def losses(packets: Sequence[Packet], timers: Sequence[tuple[int, str]], transport: str) -> list[Loss]:
    """The lost and trimmed packets of a flow, in the order in which they were made.

    Args:
        packets: Its packets.
        timers: Time and owner of the timers that were due.
        transport: The name of its transport.
    """
    due = {time for time, owner in timers if owner == "sender"}
    answered = {packet.end[0] for packet in packets if not packet.forward and packet.end}
    later: dict[tuple[int, int | None], list[Packet]] = {}
    for packet in packets:
        if packet.data and packet.forward:
            later.setdefault((packet.subflow, packet.number), []).append(packet)
    found = []
    for packet in packets:
        lost = packet.dropped or (None if packet.trimmed is None else (packet.trimmed, "trimmed"))
        if lost is None:
            continue
        copies = later.get((packet.subflow, packet.number), ()) if packet.data and packet.forward else ()
        again = next((copy for copy in copies if copy.made_row > packet.made_row), None)
        found.append(Loss(packet, *lost, _noticed(again, due, answered, transport), again))
    return found


def _noticed(again: Packet | None, due: set[int], answered: set[int], transport: str) -> str:
    if again is None:
        return NEVER
    if again.made_ps in due and again.made_ps not in answered:
        return TIMEOUT
    return BY_ANSWERS.get(transport, ANSWER)


def transport_of(scenario: Mapping[str, Any], entry: str) -> str:
    """The name of the transport of a traffic entry's flows, in a scenario with its defaults."""
    own: Mapping[str, Any] = next((one for one in scenario["traffic"] if one["name"] == entry), {})
    chosen = own.get("transport") or scenario["transport"]
    return chosen if isinstance(chosen, str) else str(next(iter(chosen)))
