"""Divide again, by another calculation than `flowyard.theory.front_back`: from division to division, in closed form.

A path's range and the instant at which it began it say when it ends and what is left of it at any time. It shows
whether what is found of Divide4 is one of the rounding of odd rests, of the order at an instant, or of neither.
"""

from fractions import Fraction
from itertools import product
from math import floor


def context_switches(
    rates: list[Fraction], segments: int, larger: bool, owner_first: bool, last_of_equals: bool
) -> int:
    """Divisions until nothing is left to divide, each of which is a jump; estimates are alike.

    Args:
        rates: Of the paths, segments/s.
        segments: Of the block.
        larger: Whether the path that has finished takes the larger half of an odd rest.
        owner_first: Whether the other path takes its next segment before, if it ends one at that instant.
        last_of_equals: Whether the last of several paths with equal rests is divided with, in place of the first.
    """
    number = len(rates)
    marks = [(segments * place + number // 2) // number for place in range(number + 1)]
    low, high, began = marks[:-1], marks[1:], [Fraction(0)] * number
    active, divisions = set(range(number)), 0
    while len(active) > 1:
        ends = {path: began[path] + (high[path] - low[path]) / rates[path] for path in active}
        idle = min(sorted(active), key=ends.__getitem__)
        rests = {}
        for path in sorted(active - {idle}, reverse=last_of_equals):
            done = (ends[idle] - began[path]) * rates[path]
            at_end = done == floor(done) and not owner_first
            rests[path] = max(0, high[path] - low[path] - floor(done) - (not at_end))
        fullest = max(rests, key=rests.__getitem__)
        given = (rests[fullest] + larger) // 2
        if not given:
            active.remove(idle)
            continue
        low[idle], high[idle], began[idle] = high[fullest] - given, high[fullest], ends[idle]
        high[fullest] -= given
        divisions += 1
    return divisions


def falls_under_all(before: int, after: int, segments: int, rate: Fraction) -> tuple[int, int]:
    """In how many of all orders and roundings Divide4 has fewer context switches with the second error of path 1.

    Errors are in percent.
    """
    found = []
    for larger, owner_first, last in product((False, True), repeat=3):
        # The larger half of one segment would go to and fro where none begins before.
        if larger and not owner_first:
            continue
        numbers = [
            context_switches(
                [rate * (100 + error) / 100, rate, rate, rate], segments, larger, owner_first, last
            )
            for error in (before, after)
        ]
        found.append(numbers[1] < numbers[0])
    return sum(found), len(found)
