"""Front-Back and Divide: how a block is divided over paths, when it has arrived, and in how many pieces. Chapter 4.

Segments 0 ... n - 1 go over paths of any rates. A path claims a segment when it begins to send it, and sends one at a
time. The paths of a group share a range of the block: one takes segments from its front, the other from its back. Where
a path finds nothing left in its group's range, the paths are grouped anew:

    Front-Back  (4.4.1) merges the group with the one that has most left, pairs all paths of both, and divides the rest
                by the pairs' rates
    Divide      (4.3, 4.4.2) has one path a group; the idle one and the path that has most left divide the rest by their
                estimated rates

Times are exact fractions of a second.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from math import ceil, floor
from typing import Protocol


class Path(Protocol):
    """A path that is never idle until the block is sent."""

    def end(self, segments: int) -> Fraction:
        """When it has delivered so many segments; 0 for none."""

    def delivered(self, time: Fraction) -> int:
        """How many segments it has delivered by then."""


@dataclass(frozen=True)
class Steady:
    """A path of a constant rate, segments/s."""

    rate: Fraction

    def end(self, segments: int) -> Fraction:
        """When it has delivered so many segments."""
        return segments / self.rate

    def delivered(self, time: Fraction) -> int:
        """How many segments it has delivered by then."""
        return floor(time * self.rate)


class Varying:
    """A path whose segments take given times, in seconds; beyond these, the last one's."""

    def __init__(self, seconds: Sequence[Fraction]) -> None:
        self._ends = [Fraction(0), *accumulate(seconds)]
        self._last = seconds[-1]

    def end(self, segments: int) -> Fraction:
        """When it has delivered so many segments."""
        beyond = max(0, segments - len(self._ends) + 1)
        return self._ends[segments - beyond] + beyond * self._last

    def delivered(self, time: Fraction) -> int:
        """How many segments it has delivered by then."""
        if time < self._ends[-1]:
            return bisect_right(self._ends, time) - 1
        return len(self._ends) - 1 + floor((time - self._ends[-1]) / self._last)


@dataclass(frozen=True)
class Outcome:
    """Transfer of a block.

    Attributes:
        finish_s: When its last segment arrived.
        pieces: The partition in the block's order: path, first segment, and the one behind the last.
    """

    finish_s: Fraction
    pieces: tuple[tuple[int, int, int], ...]

    @property
    def context_switches(self) -> int:
        """Jumps of the receiver's pointers, one of which each path has that sent anything: |P| - N, lemma 4.1."""
        return len(self.pieces) - len({path for path, _, _ in self.pieces})


@dataclass
class Group:
    """One or two paths, and what is left of their range of the block."""

    paths: tuple[int, ...]
    low: int
    high: int


# A path, the first segment, the one behind the last, and whether it sends them forwards.
Claim = tuple[int, int, int, bool]
Rates = dict[int, Fraction]
# From the idle group, the one that has most left, and a rate for each path: their groups from now on.
Regroup = Callable[[Group, Group, Rates], list[Group]]


def front_back(paths: Sequence[Path], segments: int, believed: Sequence[Fraction] | None = None) -> Outcome:
    """The N-path Front-Back Algorithm, FBN; with two paths FB2.

    Args:
        paths: How they deliver.
        segments: Of the block.
        believed: Their rates by which they are grouped at first; without, all alike. Later on they are grouped by what
            they have delivered so far, a path that has delivered nothing as if it were one segment.
    """
    rates = dict(enumerate(believed or [Fraction(1)] * len(paths)))

    def merged(idle: Group, fullest: Group, measured: Rates) -> list[Group]:
        rates = {path: measured[path] for path in (*fullest.paths, *idle.paths)}
        front, back = fullest.paths[0], fullest.paths[-1]
        # Who sends from an end of the range goes on there, if its pair can have that end.
        groups = sorted(pairings(rates), key=lambda group: (front not in group, back in group))
        groups = [tuple(sorted(group, key=lambda path: (path != front, path == back))) for group in groups]
        return _divided(groups, rates, fullest.low, fullest.high)

    return _transfer(paths, _divided(pairings(rates), rates, 0, segments), merged)


def divide(
    paths: Sequence[Path],
    segments: int,
    believed: Sequence[Fraction],
    *,
    odd_to_idle: bool = False,
    owner_first: bool = False,
) -> Outcome:
    """Divide2 and its version for more paths: the rest is divided by the estimates, which never change.

    Args:
        paths: How they deliver.
        segments: Of the block.
        believed: Their rates.
        odd_to_idle: Whether the idle path takes the larger part where a rest cannot be halved; by default the smaller.
        owner_first: Whether a path that is free at the instant of a division takes its next segment before it. The idle
            path cannot take the larger part otherwise: the last segment would go to and fro.
    """
    rates = dict(enumerate(believed))

    def split(idle: Group, fullest: Group, _: Rates) -> list[Group]:
        up = not odd_to_idle
        return _divided([fullest.paths, idle.paths], rates, fullest.low, fullest.high, up)

    groups = _divided([(path,) for path in rates], rates, 0, segments)
    return _transfer(paths, groups, split, owner_first or odd_to_idle)


def divide_once(paths: Sequence[Path], segments: int, believed: Sequence[Fraction]) -> Outcome:
    """The block divided by the estimates, and never again: with it the finish time depends on them."""
    rates = dict(enumerate(believed))
    groups = _divided([(path,) for path in rates], rates, 0, segments)
    finish = max(paths[group.paths[0]].end(group.high - group.low) for group in groups)
    return Outcome(finish, tuple((group.paths[0], group.low, group.high) for group in groups))


def earliest(paths: Sequence[Path], segments: int) -> Fraction:
    """When any paths can have delivered that many segments between them: no partition finishes earlier.

    It is what FB2 needs if both paths may send the last segment (theorem 4.1); where it is claimed, it may be late.
    """
    ends = sorted(path.end(count) for path in paths for count in range(1, segments + 1))
    return ends[segments - 1]


def pairings(rates: Rates) -> list[tuple[int, ...]]:
    """Paths in pairs, one alone if they are odd, such that the largest difference of the groups' rates is smallest."""

    def spread(groups: list[tuple[int, ...]]) -> Fraction:
        sums = [sum((rates[path] for path in group), Fraction(0)) for group in groups]
        return max(sums) - min(sums)

    return min(_groupings(tuple(sorted(rates))), key=spread)


def alternating(segments: int) -> Outcome:
    """The worst case of section 4.1: even segments on one path, odd ones on the other, at one segment a second."""
    return Outcome(
        Fraction((segments + 1) // 2), tuple((number % 2, number, number + 1) for number in range(segments))
    )


def _groupings(paths: tuple[int, ...]) -> Iterator[list[tuple[int, ...]]]:
    if len(paths) <= 2:
        yield [paths] if paths else []
        return
    first, rest = paths[0], paths[1:]
    for other in rest:
        for groups in _groupings(tuple(path for path in rest if path != other)):
            yield [(first, other), *groups]
    if len(paths) % 2:
        for groups in _groupings(rest):
            yield [(first,), *groups]


def _divided(
    groups: Sequence[tuple[int, ...]], rates: Rates, low: int, high: int, up: bool = True
) -> list[Group]:
    """A range divided in proportion to the groups' rates, rounded to whole segments, halves up or down."""
    sums = [sum((rates[path] for path in group), Fraction(0)) for group in groups]
    total = sum(sums, Fraction(0))
    half = Fraction(1, 2)
    shares = [(high - low) * part / total for part in accumulate(sums)]
    marks = [floor(share + half) if up else ceil(share - half) for share in shares]
    found, before = [], low
    for group, mark in zip(groups, marks, strict=True):
        found.append(Group(group, before, low + mark))
        before = low + mark
    return found


def _transfer(
    paths: Sequence[Path], groups: list[Group], regroup: Regroup, claim_first: bool = True
) -> Outcome:
    """Sends the groups' ranges; where a path is free and its group has nothing left, groups are made anew.

    With `claim_first` other paths that are free at that instant claim a segment before that.
    """
    claimed = dict.fromkeys(range(len(paths)), 0)
    claims: list[Claim] = []
    while groups:
        # Of groups that are done at the same time the first.
        now, _, idle = min(
            (_idle(paths, claimed, group), number, group) for number, group in enumerate(groups)
        )
        for group in groups:
            claims += _claim(paths, claimed, group, now, claim_first)
        groups.remove(idle)
        fullest = max(groups, key=lambda group: group.high - group.low, default=idle)
        if fullest.high == fullest.low:
            break
        groups.remove(fullest)
        measured = {path: Fraction(max(1, paths[path].delivered(now))) for path in claimed}
        groups += regroup(idle, fullest, measured)
        groups = list(
            _without(groups, [path for path in idle.paths if paths[path].end(claimed[path]) == now])
        )
    sent = [paths[path].end(count) for path, count in claimed.items() if count]
    return Outcome(max(sent), _joined(claims))


def _idle(paths: Sequence[Path], claimed: dict[int, int], group: Group) -> Fraction:
    """When a path of the group is first free and finds nothing left, which is the time of one claim too many."""
    size = group.high - group.low

    def claims(until: Fraction) -> int:
        return sum(max(0, paths[path].delivered(until) - claimed[path] + 1) for path in group.paths)

    found = []
    for path in group.paths:
        # The claims of this path before the first at which all together are more than the segments.
        few, enough = -1, size
        while enough - few > 1:
            middle = (few + enough) // 2
            if claims(paths[path].end(claimed[path] + middle)) > size:
                enough = middle
            else:
                few = middle
        found.append(paths[path].end(claimed[path] + enough))
    return min(found)


def _claim(
    paths: Sequence[Path], claimed: dict[int, int], group: Group, now: Fraction, at_once: bool
) -> Iterator[Claim]:
    """Claims of the group's paths up to now, by time, then by the order of the group."""

    def take(path: int, count: int) -> Claim:
        claimed[path] += count
        if path == group.paths[0]:
            group.low += count
            return path, group.low - count, group.low, True
        group.high -= count
        return path, group.high, group.high + count, False

    for path in group.paths:
        earlier = paths[path].delivered(now)
        earlier -= paths[path].end(earlier) == now
        yield take(path, max(0, earlier - claimed[path] + 1))
    for path in group.paths if at_once else ():
        if paths[path].end(claimed[path]) == now and group.low < group.high:
            yield take(path, 1)


def _without(groups: Sequence[Group], free: Sequence[int]) -> Iterator[Group]:
    """Free paths that were given nothing have no part in what follows."""
    for group in groups:
        if group.low == group.high:
            group.paths = tuple(path for path in group.paths if path not in free)
        if group.paths:
            yield group


def _joined(claims: Sequence[Claim]) -> tuple[tuple[int, int, int], ...]:
    """In the block's order; what a path sends on from where it was, in the same direction, is one piece."""
    found: list[Claim] = []
    last: dict[int, int] = {}
    for path, low, high, forward in claims:
        if low == high:
            continue
        _, before_low, before_high, before_forward = found[last[path]] if path in last else (path, 0, 0, None)
        if forward == before_forward and (before_high == low if forward else before_low == high):
            found[last[path]] = (path, min(low, before_low), max(high, before_high), forward)
        else:
            last[path] = len(found)
            found.append((path, low, high, forward))
    return tuple(piece[:3] for piece in sorted(found, key=lambda piece: piece[1]))
