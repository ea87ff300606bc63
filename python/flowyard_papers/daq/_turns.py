"""Whose turn it is at DAQ's port: deficit round robin over short and long flows, and which departures it foresees."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from flowyard_papers.daq._packets import LONG, OTHER, URGENT

# The queues of short flows, and that of long ones.
_SIDES = ((URGENT, OTHER), (LONG,))


@dataclass(frozen=True)
class Turns:
    """State of a port besides its queues: two deficits, and the turn of short or long; none of any flow.

    Attributes:
        quanta: Bytes that each class gets when its turn comes.
        deficits: What each has left.
        turn: 0 for short flows, 1 for long ones.
    """

    quanta: tuple[int, int]
    deficits: tuple[int, int] = (0, 0)
    turn: int = 0

    @staticmethod
    def of(short_weight: int, long_weight: int, full_bytes: int = 1500) -> "Turns":
        """At the start; the smaller weight is a full packet."""
        least = min(short_weight, long_weight)
        return Turns((full_bytes * short_weight // least, full_bytes * long_weight // least))

    def choose(self, heads: Sequence[int | None]) -> "tuple[int, Turns]":
        """The class that goes next by deficit round robin, and the state from then on.

        Args:
            heads: Bytes of the first packet of each class, at least one of which has some.
        """
        left, turn = list(self.deficits), self.turn
        while (size := heads[turn]) is None or size > left[turn]:
            turn = 1 - turn
            if heads[turn] is not None:
                left[turn] += self.quanta[turn]
        left[turn] -= size
        return turn, Turns(self.quanta, (left[0], left[1]), turn)

    def emptied(self, side: int) -> "Turns":
        """A class that has nothing more loses what it has left."""
        left = (0, self.deficits[1]) if side == 0 else (self.deficits[0], 0)
        return Turns(self.quanta, left, self.turn)


def unforeseen(packets: pl.DataFrame, short_weight: int, long_weight: int) -> int:
    """How many packets per port of three queues and `Turns` would not have let go when they went.

    Of packets that came at one instant either may be the first: they are taken in the order in which they left. And
    what came in the very nanosecond of a choice may have been there or not: every possible state is followed.
    """
    ordered = packets.sort("came_ns", "began_ns", nulls_last=True)
    came = ordered.select("came_ns", "place", "bytes", "flow", "number").rows()
    queues: dict[str, deque[tuple[int, int, Any]]] = {name: deque() for name in (URGENT, OTHER, LONG)}
    known, there, wrong = {Turns.of(short_weight, long_weight)}, 0, 0
    left = packets.drop_nulls("began_ns").sort("began_ns")
    departures = left.select("began_ns", "place", "flow", "number").rows()
    for began, place, *name in departures:
        while there < len(came) and came[there][0] <= began:
            at, where, size, *other = came[there]
            queues[where].append((at, size, other))
            there += 1
        before, known = known, set()
        for until in (began, began + 1):
            heads, first = _heads(queues, until)
            if first[place == LONG] != name:
                continue
            for turns in before:
                side, after = turns.choose(heads)
                if side == (place == LONG):
                    # It is still at the head of its queue.
                    known.add(after.emptied(side) if _waiting(queues, side, until) == 1 else after)
        if not known:
            wrong += 1
            known = before
        if queues[place][0][2] == name:
            queues[place].popleft()
        else:
            queues[place] = deque(one for one in queues[place] if one[2] != name)
    return wrong


def _heads(queues: Mapping[str, deque[Any]], until_ns: int) -> tuple[list[int | None], list[Any]]:
    """Bytes and names of the packets that each class would send first, of those that came before a time."""
    sizes: list[int | None] = [None, None]
    names: list[Any] = [None, None]
    for side, places in enumerate(_SIDES):
        for place in places:
            if sizes[side] is None and queues[place] and queues[place][0][0] < until_ns:
                _, sizes[side], names[side] = queues[place][0]
    return sizes, names


def _waiting(queues: Mapping[str, deque[Any]], side: int, until_ns: int) -> int:
    """How many packets of a class there are, or 2 if there are more."""
    found = 0
    for place in _SIDES[side]:
        for at, _, _ in queues[place]:
            if at >= until_ns or found == 2:
                break
            found += 1
    return found
