"""The faults by which a flow lost packets: which, and from when to when."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from flowyard.analysis.faults import spans_of
from flowyard.why.losses import Loss, LostTo
from flowyard.why.packets import Packet

# Changes of a link that lose packets; one that is down loses those that a loss rate would have let through, too.
LOSING = ("down", "loss")

US = 1e6


@dataclass(frozen=True)
class _Fault:
    """A change that loses packets, with the links that it concerns."""

    to: LostTo
    links: frozenset[int]


def with_faults(
    losses: Sequence[Loss], faults: Sequence[dict[str, Any]], nodes: Sequence[tuple[str, str]]
) -> list[Loss]:
    """The losses, each one to a fault with that fault.

    Args:
        losses: Losses of a flow.
        faults: What run.json says under `faults`.
        nodes: The two ends of each link, by number.
    """
    known = [
        _Fault(LostTo(fault["change"], fault["at_ps"], end), _links(fault, nodes))
        for fault, end in spans_of(faults)
        if fault["change"] in LOSING
    ]
    return [replace(loss, fault=_of(loss, known)) if loss.reason == "fault" else loss for loss in losses]


def _links(fault: Mapping[str, Any], nodes: Sequence[tuple[str, str]]) -> frozenset[int]:
    """The links of a fault, and those of its nodes."""
    named = set(fault["nodes"])
    own = {number for number, ends in enumerate(nodes) if named & set(ends)} if named else set()
    return frozenset(fault["links"]) | own


def _of(loss: Loss, known: Sequence[_Fault]) -> LostTo | None:
    """The fault that held while the packet was on the wire; of several a link that was down, and the latest one."""
    since, until = _on_the_wire(loss.packet)
    held = [
        one.to
        for one in known
        if loss.link in one.links
        and one.to.from_ps <= until
        and (one.to.until_ps is None or one.to.until_ps > since)
    ]
    return max(held, key=lambda to: (to.change == "down", to.from_ps), default=None)


def _on_the_wire(packet: Packet) -> tuple[int, int]:
    """From when to when a lost packet was on the link that lost it."""
    until = packet.made_ps if packet.dropped_ps is None else packet.dropped_ps
    started = packet.hops[-1].started_ps if packet.hops else None
    return until if started is None else started, until


@dataclass(frozen=True)
class Place:
    """Losses of one cause at one link.

    Attributes:
        link: Number of the link.
        cause: Why the packets were lost, in words; of a fault with its times.
        data: Data packets that were lost there.
        control: Other packets.
    """

    link: int
    cause: str
    data: int
    control: int


def by_link(losses: Sequence[Loss]) -> list[Place]:
    """Where and why packets were lost or trimmed: faults first, then by number of packets."""
    counts: dict[tuple[int, str, bool], list[int]] = {}
    for loss in losses:
        count = counts.setdefault((loss.link, cause(loss), loss.reason == "fault"), [0, 0])
        count[0 if loss.packet.data else 1] += 1
    order = sorted(counts.items(), key=lambda item: (not item[0][2], -sum(item[1]), item[0]))
    return [Place(link, said, data, control) for (link, said, _), (data, control) in order]


def cause(loss: Loss) -> str:
    """Why a packet was lost, in words."""
    if loss.reason != "fault":
        return loss.reason
    if loss.fault is None:
        return "fault: named in faults.packets"
    start, end = loss.fault.from_ps, loss.fault.until_ps
    until = "the end of the run" if end is None else f"{end / US:,.3f} us"
    return f"fault: {loss.fault.change} from {start / US:,.3f} us to {until}"
