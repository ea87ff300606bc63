"""The least maximum loads that any routing can have: OPTU (definition 3.4) and OPTUSW (definition 3.5).

Each is a linear program over the weights of all shortest paths. Its answer is exact: the weights, taken to nearby
fractions, have a certain maximum load, no lower than the optimum; and prices of channels or switches prove that no
routing has less than the sum over pairs of their traffic times the price of their cheapest path, over the sum of the
prices. The two meet. Longer paths than the shortest do not help: they pay for more.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from flowyard.theory._programs import Row, minimise, near
from flowyard.theory.fat_tree import Channel, FatTree, Switch, Up, channels_on, switches_on, ways_up
from flowyard.theory.matrices import Matrix
from flowyard.theory.routings import Routing, all_paths

Pair = tuple[int, int]
# A channel or switch under one of the matrices.
Place = tuple[int, Channel | Switch]
# Every shortest path of the pairs with traffic, and the load that it makes where if it has all of it, over capacity.
Ways = dict[Pair, dict[Up, dict[Place, Fraction]]]


def optu(tree: FatTree, matrix: Matrix) -> tuple[Fraction, Routing]:
    """OPTU(TM), and a routing that has it as its maximum link load.

    Raises:
        UserError: scipy is not installed.
        ArithmeticError: No nearby fractions prove the solver's answer.
    """
    return least_worst(tree, [matrix], links=True)


def optusw(tree: FatTree, matrix: Matrix, level: int | None = None) -> tuple[Fraction, Routing]:
    """OPTUSW(TM), and a routing that has it as its maximum switch load; with a level, that of its switches alone.

    Raises:
        UserError: scipy is not installed.
        ArithmeticError: No nearby fractions prove the solver's answer.
    """
    return least_worst(tree, [matrix], level=level)


def least_worst(
    tree: FatTree,
    matrices: Sequence[Matrix],
    *,
    links: bool = False,
    level: int | None = None,
    capacity: Mapping[Switch, Fraction | int] | None = None,
) -> tuple[Fraction, Routing]:
    """The least maximum load, over several matrices, that one routing can have; and such a routing.

    Args:
        tree: The fat-tree.
        matrices: What it may have to carry, one at a time.
        links: Whether channels count, not switches.
        level: The only level that counts; None: all.
        capacity: By which the load of a switch is divided; 1 where it says nothing.

    Raises:
        UserError: scipy is not installed.
        ArithmeticError: No nearby fractions prove the solver's answer.
    """
    limits: dict[Any, Fraction | int] = dict(capacity or {})
    nodes = range(tree.nodes)
    ways: Ways = {}
    for pair in ((i, j) for i in nodes for j in nodes if i != j and any(each[i][j] for each in matrices)):
        ways[pair] = {}
        for up in ways_up(tree, *pair):
            loaded = channels_on(tree, *pair, up) if links else switches_on(tree, *pair, up)
            ways[pair][up] = {
                (number, each): matrix[pair[0]][pair[1]] / Fraction(limits.get(each, 1))
                for number, matrix in enumerate(matrices)
                for each in loaded
                if level in (None, each.level)
            }
    return _least(tree, ways)


def _least(tree: FatTree, ways: Ways) -> tuple[Fraction, Routing]:
    places = sorted({place for of in ways.values() for loads in of.values() for place in loads})
    if not places:
        return Fraction(0), all_paths(tree)
    columns = [(pair, up) for pair, of in ways.items() for up in of]
    # The last column is the maximum load.
    above: dict[Place, dict[int, Fraction | int]] = {place: {len(columns): -1} for place in places}
    together: dict[Pair, dict[int, Fraction | int]] = {pair: {} for pair in ways}
    for column, (pair, up) in enumerate(columns):
        together[pair][column] = 1
        for place, load in ways[pair][up].items():
            above[place][column] = load
    exactly: list[Row] = [(row, 1) for row in together.values()]
    x, prices = minimise([0] * len(columns) + [1], [(row, 0) for row in above.values()], exactly)
    for weights, paid in zip(near(x[:-1]), near(prices), strict=True):
        routing = _routing(dict(zip(columns, weights, strict=True)))
        most = _most(ways, routing)
        if most == _proved(ways, dict(zip(places, paid, strict=True))):
            return most, all_paths(tree) | routing
    raise ArithmeticError(f"the optimum is near {x[-1]}, and not known exactly")


def _routing(weights: Mapping[tuple[Pair, Up], Fraction]) -> Routing:
    """The weights of each pair, made to add up to 1."""
    found: Routing = {}
    for (pair, up), weight in weights.items():
        found.setdefault(pair, {})[up] = weight
    for pair, of in found.items():
        total = sum(of.values(), Fraction(0))
        found[pair] = {up: weight / total if total else Fraction(1, len(of)) for up, weight in of.items()}
    return found


def _most(ways: Ways, routing: Routing) -> Fraction:
    """The maximum load."""
    found: dict[Place, Fraction] = {}
    for pair, of in ways.items():
        for up, loads in of.items():
            for place, load in loads.items():
                found[place] = found.get(place, Fraction(0)) + load * routing[pair][up]
    return max(found.values())


def _proved(ways: Ways, prices: Mapping[Place, Fraction]) -> Fraction:
    """Lower bound of every routing's maximum load."""
    total = sum(prices.values(), Fraction(0))
    cheapest = (
        min(
            sum((prices[place] * load for place, load in loads.items()), Fraction(0)) for loads in of.values()
        )
        for of in ways.values()
    )
    return sum(cheapest, Fraction(0)) / total if total else Fraction(0)
