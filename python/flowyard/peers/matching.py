"""Which flow of a run is which of a peer's.

A flow is known by source, destination, size and start. htsim prints no start, and of the size only that of whole
packets, whose payload divides all sizes that it prints: there flows of as many packets between the same hosts are taken
in their order, if none of them is missing.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from math import gcd

from flowyard.interchange.finished import Finished

# Most bytes by which a last packet is filled up: htsim's packets have 9000 B of payload, or less.
PADDING_MAX = 9000
# Most that the starts of one flow differ: peers keep ns, and round.
APART_PS = 1_000_000

# Source, destination, size.
Key = tuple[int, int, int]


@dataclass(frozen=True)
class Flow:
    """A flow of the run, by its row in the table."""

    row: int
    src: int
    dst: int
    size_bytes: int
    start_ps: int


@dataclass(frozen=True)
class Matched:
    """Result of matching.

    Attributes:
        pairs: Rows of the run's table, each with the peer's flow.
        ambiguous: Flows of the peer that could be one of several.
        unknown: Flows of the peer that the run does not have.
        nearest_ps: Of those unknown whose source, destination and size the run has, how much later they start than
            the flow nearest to them; None if there is none.
    """

    pairs: list[tuple[int, Finished]]
    ambiguous: int
    unknown: int
    nearest_ps: int | None


def match(ours: Iterable[Flow], theirs: Iterable[Finished], shift_ps: int = 0) -> Matched:
    """The flows that both have; `shift_ps` is added to the peer's times."""
    theirs = list(theirs)
    payload = gcd(*(flow.size_bytes for flow in theirs if flow.padded)) or 1
    own: dict[Key, list[Flow]] = defaultdict(list)
    for flow in ours:
        size = -(-flow.size_bytes // payload) * payload
        if size - flow.size_bytes < PADDING_MAX:
            own[flow.src, flow.dst, size].append(flow)
    other: dict[Key, list[Finished]] = defaultdict(list)
    unknown = ambiguous = 0
    for each in theirs:
        key = each.src, each.dst, each.size_bytes
        if key in own:
            other[key].append(each)
        else:
            unknown += 1
    pairs: list[tuple[int, Finished]] = []
    nearest: int | None = None
    for key, found in other.items():
        mine = sorted(own[key], key=lambda flow: flow.start_ps)
        if any(flow.start_ps is None for flow in found):
            in_order = _in_order(mine, found, shift_ps)
            pairs += in_order
            ambiguous += len(found) - len(in_order)
            continue
        near, left = _by_start(mine, found, shift_ps)
        pairs += near
        unknown += len(left)
        for each in left:
            apart = min(((each.start_ps or 0) + shift_ps - flow.start_ps for flow in mine), key=abs)
            nearest = apart if nearest is None else min(nearest, apart, key=abs)
    return Matched(sorted(pairs, key=lambda pair: pair[0]), ambiguous, unknown, nearest)


def _in_order(ours: list[Flow], theirs: list[Finished], shift_ps: int) -> list[tuple[int, Finished]]:
    """Without starts: flows of the same kind end in the order in which they start, if all have ended."""
    ordered = sorted(theirs, key=lambda flow: flow.end_ps)
    if len(ours) != len(ordered):
        return []
    pairs = list(zip(ours, ordered, strict=True))
    if any(flow.end_ps + shift_ps <= mine.start_ps for mine, flow in pairs):
        return []
    return [(mine.row, flow) for mine, flow in pairs]


def _by_start(
    ours: list[Flow], theirs: list[Finished], shift_ps: int
) -> tuple[list[tuple[int, Finished]], list[Finished]]:
    """Pairs whose starts are near each other, and the peer's flows that are left."""
    pairs, left = [], []
    i = 0
    for flow in sorted(theirs, key=lambda flow: flow.start_ps or 0):
        start = (flow.start_ps or 0) + shift_ps
        while i < len(ours) and ours[i].start_ps < start - APART_PS:
            i += 1
        if i < len(ours) and ours[i].start_ps <= start + APART_PS:
            pairs.append((ours[i].row, flow))
            i += 1
        else:
            left.append(flow)
    return pairs, left
