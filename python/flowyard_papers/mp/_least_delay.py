"""Section 4.3: a path is selected for each segment by the least delay, in a model of two paths beside Front-Back.

"Arrival-time matching load balancing attempts to fix the problem by maintaining running estimates of each path's delay,
and adopting a "least delay path" selection rule": each segment in turn is given to the path by which it is expected to
arrive first, and waits there for room in the path's window. The engine's partition goes the other way: a path that has
room takes a segment. Windows are full from the beginning (table 5.3), and nothing is lost.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

SEGMENTS, WINDOW = 1370, 45
SEGMENT_S, LINK_S, LINKS = 12e-6, 50e-6, 4
ONE_WAY_S = LINKS * LINK_S
# The gain of running estimates in TCP (RFC 6298).
GAIN = 1 / 8
BLOCKS = 20

FRONT_BACK = "front-back"
ONE, AT_ONCE, A_WINDOW = "each segment in turn", "all segments at once", "up to a window in advance"
# How many segments may wait at a path for room in its window.
WAITING = {ONE: 1, AT_ONCE: SEGMENTS, A_WINDOW: WINDOW}
RULES = (FRONT_BACK, *WAITING)
# Instants at which other traffic joins the last link of a path, and for how long it keeps that busy; in seconds.
Others = Sequence[tuple[float, float]]


@dataclass
class _Path:
    """Its last link, which serves first come first served, and what its sender knows."""

    others: Iterator[tuple[float, float]]
    free: float = 0.0
    sent: int = 0
    waiting: int = 0
    round_trip: float = 2 * ONE_WAY_S

    def __post_init__(self) -> None:
        self.next = next(self.others, None)

    def served(self, at: float) -> float:
        """When a segment that reaches the last link at this instant has crossed it."""
        while self.next is not None and self.next[0] <= at:
            self.free = max(self.free, self.next[0]) + self.next[1]
            self.next = next(self.others, None)
        self.free = max(self.free, at) + SEGMENT_S
        return self.free

    def expected(self) -> float:
        """The running delay, and what is before a segment at the rate of a window in a round trip."""
        return self.round_trip / 2 + (self.waiting + self.sent) * self.round_trip / WINDOW


@dataclass
class _Sender:
    rule: str
    paths: Sequence[_Path]
    left: int = 0
    last: float = 0.0
    answers: list[tuple[float, int, float]] = field(default_factory=list)

    def block(self, start: float, segments: int) -> tuple[float, float]:
        """When all of a block has arrived, and when all of it is acknowledged."""
        self.left, now = segments, start
        self.take(now)
        while self.answers:
            now, place, round_trip = heapq.heappop(self.answers)
            path = self.paths[place]
            path.sent -= 1
            path.round_trip += GAIN * (round_trip - path.round_trip)
            self.take(now)
        return self.last, now

    def take(self, now: float) -> None:
        """Sends what finds room."""
        if self.rule == FRONT_BACK:
            for place, path in enumerate(self.paths):
                while self.left and path.sent < WINDOW:
                    self.left -= 1
                    self.send(place, now)
            return
        self.flush(now)
        while self.left:
            place = min(range(len(self.paths)), key=lambda each: self.paths[each].expected())
            if self.paths[place].waiting >= WAITING[self.rule]:
                return
            self.left -= 1
            self.paths[place].waiting += 1
            self.flush(now)

    def flush(self, now: float) -> None:
        """Sends what waits at paths with room."""
        for place, path in enumerate(self.paths):
            while path.waiting and path.sent < WINDOW:
                path.waiting -= 1
                self.send(place, now)

    def send(self, place: int, now: float) -> None:
        path = self.paths[place]
        path.sent += 1
        arrived = path.served(now + ONE_WAY_S - LINK_S) + LINK_S
        self.last = max(self.last, arrived)
        heapq.heappush(self.answers, (arrived + ONE_WAY_S, place, arrived + ONE_WAY_S - now))


def mean_block_ms(
    rule: str, others: Sequence[Others], blocks: int = BLOCKS, segments: int = SEGMENTS
) -> float:
    """The mean time of a block, from its request to its last segment; the next follows when all is acknowledged."""
    sender = _Sender(rule, [_Path(iter(each)) for each in others])
    took, now = 0.0, 0.0
    for _ in range(blocks):
        start = now
        end, now = sender.block(start, segments)
        took += end - start
    return 1000 * took / blocks


def evenly(share: float, until_s: float) -> Others:
    """Other traffic of this share of the last link's rate, a packet as long as a segment at a time."""
    every = SEGMENT_S / share
    return [(place * every, SEGMENT_S) for place in range(int(until_s / every))]


def table(joining: Mapping[str, Callable[[int], Sequence[Others]]], draws: Iterable[int]) -> pl.DataFrame:
    """The mean time of a block by condition, rule and draw, of the other traffic that each condition has in a draw."""
    rows = [
        (condition, rule, draw, mean_block_ms(rule, others(draw)))
        for condition, others in joining.items()
        for rule in RULES
        for draw in draws
    ]
    return pl.DataFrame(rows, schema=["condition", "partition", "replica", "block_ms"], orient="row")
