"""Oblivious performance ratios: a routing's maximum load over the least possible one, at the worst matrix for that.

Definitions 5.1 (links), 5.2 (switches of all levels) and 5.3 (those of one level). The worst matrix is found by a
linear program for each switch: the most that it can carry under the routing, while some other routing could keep every
switch at 1. Its answer is exact: a matrix proves it from below, prices of the switches from above.
"""

from collections.abc import Mapping
from fractions import Fraction
from functools import cache

from flowyard.theory._programs import minimise, near
from flowyard.theory.fat_tree import (
    FatTree,
    Switch,
    Up,
    pairs,
    siblings,
    switches,
    switches_on,
    turn,
    ways_up,
)
from flowyard.theory.loads import channel_shares, switch_shares, worst_loads
from flowyard.theory.routings import Routing

Pair = tuple[int, int]


def perf(tree: FatTree, routing: Routing) -> Fraction:
    """PERF(r), definition 5.1: OPTU is the base load, so that the worst permutation of any channel gives it."""
    return max(perf_by_level(tree, routing).values())


def perf_by_level(tree: FatTree, routing: Routing) -> dict[int, Fraction]:
    """For each level of links the largest load over base load, which is OPTU: PERF_t of theorem 5.4."""
    return worst_loads(tree.nodes, channel_shares(tree, routing))


def perfsw(tree: FatTree, routing: Routing) -> Fraction:
    """PERFSW(r), definition 5.2: over all matrices MLOADSW / OPTUSW.

    Raises:
        UserError: scipy is not installed.
        ArithmeticError: No nearby fractions prove the solver's answer.
    """
    return max(_worst(tree, routing, switches(tree)))


def perfsw_level(tree: FatTree, routing: Routing, level: int) -> Fraction:
    """PERFSW_t(r), definition 5.3: over all matrices MLOADSW_t / OPTUSW_t, both of level t alone.

    Raises:
        UserError: scipy is not installed.
        ArithmeticError: No nearby fractions prove the solver's answer.
    """
    return max(_worst(tree, routing, [switch for switch in switches(tree) if switch.level == level]))


def one_flow(tree: FatTree, routing: Routing, level: int) -> Fraction:
    """The largest ratio of definition 5.3 that a single pair makes, which is over `spread` switches at best."""
    shares = switch_shares(tree, routing)
    found = (share for switch, of in shares.items() if switch.level == level for share in of.values())
    return max(found, default=Fraction(0)) * spread(tree, level)


@cache
def spread(tree: FatTree, level: int) -> int:
    """Switches of a level over which each pair that crosses it can be spread, (m/2)^(n-1-t): no ratio is above that.

    Whatever crosses one of them crosses one of its siblings under every routing, and these have at best equal loads.

    Raises:
        ArithmeticError: Some pair's paths do not meet all siblings of a switch that they meet.
    """
    size = int(tree.half ** (tree.n - 1 - level))
    for pair in pairs(tree):
        if turn(tree, *pair) <= level:
            met = [
                {each for each in switches_on(tree, *pair, up) if each.level == level}
                for up in ways_up(tree, *pair)
            ]
            groups = {tuple(siblings(tree, switch)) for of in met for switch in of}
            if any(len(group) != size or not all(of & set(group) for of in met) for group in groups):
                raise ArithmeticError(f"pair {pair} does not meet all siblings at level {level}")
    return size


def _worst(tree: FatTree, routing: Routing, limited: list[Switch]) -> list[Fraction]:
    """For each of some switches the most that it carries, while another routing could keep them all at 1."""
    row_of = {switch: row for row, switch in enumerate(limited)}
    columns: dict[tuple[Pair, Up], list[int]] = {}
    for pair in pairs(tree):
        for up in ways_up(tree, *pair):
            rows = [row_of[each] for each in switches_on(tree, *pair, up) if each in row_of]
            if rows:
                columns[pair, up] = rows
    shares = switch_shares(tree, routing)
    return [_most(shares.get(switch, {}), columns, len(limited)) for switch in limited]


def _most(values: Mapping[Pair, Fraction], every: Mapping[tuple[Pair, Up], list[int]], rows: int) -> Fraction:
    """The most of value . x where x is traffic on paths and no row has more than 1."""
    columns = [(values[pair], of) for (pair, _), of in every.items() if pair in values]
    if not columns:
        return Fraction(0)
    at_most: list[dict[int, Fraction | int]] = [{} for _ in range(rows)]
    for column, (_, of) in enumerate(columns):
        for row in of:
            at_most[row][column] = 1
    x, prices = minimise([-value for value, _ in columns], [(row, 1) for row in at_most])
    for amounts, each_price in zip(near(x), near(prices), strict=True):
        # Most of them are 0, which is not worth an addition of fractions.
        used = [sum((amounts[column] for column in row if amounts[column]), Fraction(0)) for row in at_most]
        gained = sum(
            (value * amount for (value, _), amount in zip(columns, amounts, strict=True) if amount),
            Fraction(0),
        )
        paid = [
            (value, sum((each_price[row] for row in of if each_price[row]), Fraction(0)))
            for value, of in columns
        ]
        if all(pay for _, pay in paid):
            below = gained / max(Fraction(1), *used)
            above = sum(each_price, Fraction(0)) * max(Fraction(1), *(value / pay for value, pay in paid))
            if below == above:
                return below
    raise ArithmeticError("the ratio is not known exactly")
