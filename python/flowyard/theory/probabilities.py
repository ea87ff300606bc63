"""With which probability a pair takes each of its paths, from loads or capacities: irregular traffic, section 2.4.

The section proposes to compute the loads of switches beforehand, under some traffic matrices, and to choose paths by
them. `by_loads` and `by_capacity` are simple rules; `for_matrices` is the best that can be done for the set. On a
fat-tree with equal switches nothing is better than to take all paths alike, whatever the matrices (theorem 3.5); where
switches differ, something is.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from flowyard.theory.fat_tree import FatTree, Switch, Up, pairs, switches_on, ways_up
from flowyard.theory.matrices import Matrix
from flowyard.theory.optimum import least_worst
from flowyard.theory.routings import Routing


def by_loads(tree: FatTree, loads: Mapping[Switch, Fraction]) -> Routing:
    """Each path by the inverse of its most loaded switch above the edge; if some have no load there, those alike."""
    return {
        pair: _inverse({up: _fullest(tree, pair, up, loads) for up in ways_up(tree, *pair)})
        for pair in pairs(tree)
    }


def by_capacity(tree: FatTree, capacity: Mapping[Switch, Fraction | int]) -> Routing:
    """Each path in proportion to the least capacity of its switches, 1 where nothing is said.

    Raises:
        ValueError: All paths of a pair have capacity 0.
    """
    found: Routing = {}
    for pair in pairs(tree):
        least = {
            up: min(Fraction(capacity.get(each, 1)) for each in switches_on(tree, *pair, up))
            for up in ways_up(tree, *pair)
        }
        total = sum(least.values(), Fraction(0))
        if not total:
            raise ValueError(f"pair {pair}: no path has any capacity")
        found[pair] = {up: each / total for up, each in least.items()}
    return found


def for_matrices(
    tree: FatTree, matrices: Sequence[Matrix], capacity: Mapping[Switch, Fraction | int] | None = None
) -> tuple[Fraction, Routing]:
    """The probabilities whose largest switch load, over capacity and over all matrices, is least; and that load.

    Raises:
        UserError: scipy is not installed.
        ArithmeticError: No nearby fractions prove the solver's answer.
    """
    return least_worst(tree, matrices, capacity={**(capacity or {})})


def _fullest(tree: FatTree, pair: tuple[int, int], up: Up, loads: Mapping[Switch, Fraction]) -> Fraction:
    above = (each for each in switches_on(tree, *pair, up) if each.level < tree.n - 1)
    return max((loads.get(each, Fraction(0)) for each in above), default=Fraction(0))


def _inverse(loads: Mapping[Up, Fraction]) -> dict[Up, Fraction]:
    free = [up for up, load in loads.items() if not load]
    if free:
        return {up: Fraction(up in free, len(free)) for up in loads}
    total = sum((1 / load for load in loads.values()), Fraction(0))
    return {up: 1 / load / total for up, load in loads.items()}
