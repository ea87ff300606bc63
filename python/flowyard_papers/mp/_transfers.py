"""Data of chapter 4's figures: blocks sent over paths by Front-Back and by Divide, a row for each."""

import random
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import polars as pl

from flowyard.papers.figure import Scale, Tables
from flowyard.theory import front_back
from flowyard.theory.front_back import Outcome, Path, Steady, Varying

SEGMENTS, RATE = 200_000, Fraction(10)
ERRORS = (
    -90,
    -80,
    -75,
    -70,
    -60,
    -50,
    -40,
    -30,
    -25,
    -20,
    -10,
    0,
    10,
    20,
    25,
    30,
    40,
    50,
    60,
    70,
    75,
    80,
    90,
    100,
)
SIZES = (*(digit * 10**power for power in (3, 4, 5) for digit in (1, 2, 5)), 10**6)
# How a rest is divided: by default all that is unfinished at that instant, of which the path that has finished takes
# the smaller half. In the others the path that it is divided with takes its next segment before, if it is free, too.
SMALLER = "the finisher takes the smaller half"
LARGER = "the finisher takes the larger half"
OWNER_FIRST = "smaller half, the other's next segment before"
ROUNDINGS: dict[str, "Algorithm"] = {
    OWNER_FIRST: partial(front_back.divide, owner_first=True),
    LARGER: partial(front_back.divide, odd_to_idle=True),
}
Algorithm = Callable[[Sequence[Path], int, Sequence[Fraction]], Outcome]
ALGORITHMS: dict[str, tuple[int, Algorithm]] = {
    "FB2": (2, front_back.front_back),
    "Divide2": (2, front_back.divide),
    "Divide2, once": (2, front_back.divide_once),
    "FB4": (4, front_back.front_back),
    "Divide4": (4, front_back.divide),
    **{
        f"Divide{number}, {name}": (number, divide) for number in (2, 4) for name, divide in ROUNDINGS.items()
    },
}
TRACES, LONGEST = 200, 20


def tables(scale: Scale) -> Tables:
    """Context switches and finish times by error and size; random rates; small steady cases; pairings."""
    errors = [
        {"algorithm": name, "error_percent": error} | _outcome(_sent(name, error, SEGMENTS))
        for name in ALGORITHMS
        for error in ERRORS
    ]
    sizes = [
        {"algorithm": name, "error_percent": error, "segments": segments}
        | _outcome(_sent(name, error, segments))
        for name in ALGORITHMS
        for error in (-50, 50)
        for segments in SIZES
    ]
    return {
        "errors": pl.DataFrame(errors),
        "sizes": pl.DataFrame(sizes),
        "traces": pl.DataFrame(list(_traces(scale.pick(20, TRACES)))),
        "steady": pl.DataFrame(list(_steady(scale.pick(3, 4)))),
        "beliefs": pl.DataFrame(list(_beliefs())),
        "pairings": pl.DataFrame(list(_pairings())),
        "worst_case": pl.DataFrame(
            [{"segments": n} | _outcome(front_back.alternating(n)) for n in (2, 5, 12, 1000)]
        ),
    }


def _sent(name: str, error: int, segments: int) -> Outcome:
    """The error is that of the second of two paths, and of the first of four."""
    number, algorithm = ALGORITHMS[name]
    paths: list[Path] = [Steady(RATE)] * number
    paths[1 if number == 2 else 0] = Steady(RATE * (100 + error) / 100)
    return algorithm(paths, segments, [RATE] * number)


def _outcome(outcome: Outcome) -> dict[str, Any]:
    used = len({path for path, _, _ in outcome.pieces})
    return {
        "pieces": len(outcome.pieces),
        "paths": used,
        "context_switches": outcome.context_switches,
        "finish_s": float(outcome.finish_s),
    }


def _traces(number: int) -> Iterable[dict[str, Any]]:
    """Paths whose segments take 1 to 20 s each, drawn anew for each; the best of all divisions of up to 12 segments."""
    for draw in range(number):
        source = random.Random(f"trace {draw}")
        for paths in (2, 3, 4):
            segments = source.randint(1, 12)
            some = [
                Varying([Fraction(source.randint(1, LONGEST)) for _ in range(segments + 1)])
                for _ in range(paths)
            ]
            yield {
                "draw": draw,
                "segments": segments,
                "best_s": float(_best(some, segments)) if paths == 2 else None,
                "earliest_s": float(front_back.earliest(some, segments)),
                "one_segment_each_s": float(sum(LONGEST for _ in some)),
                "algorithm": f"FB{paths}",
            } | _outcome(front_back.front_back(some, segments))


def _best(paths: Sequence[Path], segments: int) -> Fraction:
    """The earliest finish of all ways to divide segments over two paths, by trying each."""
    return min(
        max(path.end(owners.count(own)) for own, path in enumerate(paths))
        for owners in product(range(2), repeat=segments)
    )


def _steady(most: int) -> Iterable[dict[str, Any]]:
    """All rates of 1 to `most` segments/s of three and four paths, believed equal, and all sizes up to 12."""
    for number in (3, 4):
        for rates in product(range(1, most + 1), repeat=number):
            paths = [Steady(Fraction(rate)) for rate in rates]
            for segments in range(1, 13):
                finish = front_back.front_back(paths, segments).finish_s
                fluid = Fraction(segments, sum(rates))
                allowed = sum(1 / path.rate for path in paths)
                yield {
                    "rates": " ".join(map(str, rates)),
                    "segments": segments,
                    "finish_s": float(finish),
                    "fluid_s": float(fluid),
                    "one_segment_each_s": float(allowed),
                }


def _beliefs() -> Iterable[dict[str, Any]]:
    """Four paths, one slower or faster, and Front-Back with several beliefs of their rates, of which none is known."""
    for error in (-50, 50, 100):
        paths: list[Path] = [Steady(RATE * (100 + error) / 100), *([Steady(RATE)] * 3)]
        for name, believed in (
            ("equal", (2, 2, 2, 2)),
            ("first half", (1, 2, 2, 2)),
            ("first 1.5", (3, 2, 2, 2)),
            ("first double", (4, 2, 2, 2)),
        ):
            outcome = front_back.front_back(paths, SEGMENTS, [Fraction(rate) for rate in believed])
            yield {"error_percent": error, "believed": name} | _outcome(outcome)


def _pairings() -> Iterable[dict[str, Any]]:
    """The groups of rates r, 4, 6, 7: r = 3 at first, lower when path 1 is congested, or higher."""
    for first in ("3", "2.9", "2", "1", "0.5", "4.1", "5"):
        rates = {1: Fraction(first), 2: Fraction(4), 3: Fraction(6), 4: Fraction(7)}
        groups = front_back.pairings(rates)
        sums = [sum(rates[path] for path in group) for group in groups]
        yield {
            "rate_of_path_1": float(rates[1]),
            "groups": " ".join(f"[{','.join(map(str, group))}]" for group in groups),
            "share_of_first": float(sums[0] / sum(sums)),
        }
