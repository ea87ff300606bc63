"""Loads of links and switches: equations 3.3 to 3.6. Worst permutations: section 2.4.

`Shares` say for each channel or switch which part of the traffic of each pair it carries. Everything follows from them:
the loads under a matrix by a sum, and by a matching the permutation that loads one most (Towles and Dally, "Worst-case
traffic for oblivious routing functions", SPAA 2002), which is also the worst of all matrices with that base load, since
these are mixtures of permutations (see `matrices.birkhoff`).
"""

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from math import lcm
from typing import TypeVar

from flowyard.errors import UserError
from flowyard.theory.fat_tree import Channel, FatTree, Switch, Up, channels_on, switches_on
from flowyard.theory.matrices import Matrix
from flowyard.theory.routings import Routing

Pair = tuple[int, int]
Resource = TypeVar("Resource", Channel, Switch)
Shares = dict[Resource, dict[Pair, Fraction]]


def channel_shares(tree: FatTree, routing: Routing) -> Shares[Channel]:
    """Of each pair's traffic the part that a channel carries; channels and pairs with nothing are left out."""
    return _gathered(routing, lambda pair, up: channels_on(tree, *pair, up))


def switch_shares(tree: FatTree, routing: Routing) -> Shares[Switch]:
    """Of each pair's traffic the part that a switch carries; switches and pairs with nothing are left out."""
    return _gathered(routing, lambda pair, up: switches_on(tree, *pair, up))


def loads(shares: Shares[Resource], matrix: Matrix) -> dict[Resource, Fraction]:
    """The load of each channel (equation 3.3) or switch (3.5), in units of the matrix."""
    return {
        resource: sum((matrix[s][d] * share for (s, d), share in of.items()), Fraction(0))
        for resource, of in shares.items()
    }


def most(loads: Mapping[Resource, Fraction]) -> Fraction:
    """The largest load: MLOAD of channels (equation 3.4), MLOADSW of switches (3.6)."""
    return max(loads.values(), default=Fraction(0))


def by_level(loads: Mapping[Resource, Fraction]) -> dict[int, Fraction]:
    """The largest load of each level: MLOAD_t or MLOADSW_t."""
    found: dict[int, Fraction] = {}
    for resource, load in loads.items():
        found[resource.level] = max(found.get(resource.level, Fraction(0)), load)
    return dict(sorted(found.items()))


def worst_permutation(nodes: int, shares: Mapping[Pair, Fraction]) -> tuple[Fraction, list[int]]:
    """The permutation that loads a channel or switch most: a maximum-weight bipartite matching.

    Args:
        nodes: How many there are.
        shares: What the channel or switch carries of each pair.

    Returns:
        Its load, in units of what a node sends; and each node's target, which may be the node itself.

    Raises:
        UserError: scipy is not installed.
    """
    try:
        import numpy as np
        from scipy.optimize import linear_sum_assignment
    except ImportError:
        raise UserError("matchings need a package that is not here: pip install scipy") from None
    # Whole numbers, which the solver adds without rounding.
    unit = lcm(*{share.denominator for share in shares.values()})
    weights = np.zeros((nodes, nodes))
    for pair, share in shares.items():
        weights[pair] = share.numerator * (unit // share.denominator)
    _, targets = linear_sum_assignment(weights, maximize=True)
    permutation = [int(target) for target in targets]
    return sum((shares.get(pair, Fraction(0)) for pair in enumerate(permutation)), Fraction(0)), permutation


def worst_loads(nodes: int, shares: Shares[Resource]) -> dict[int, Fraction]:
    """For each level the largest load of a channel or switch under its own worst permutation, over base load."""
    return by_level({resource: worst_permutation(nodes, of)[0] for resource, of in shares.items()})


def _gathered(routing: Routing, passed: Callable[[Pair, Up], Iterable[Resource]]) -> Shares[Resource]:
    """By what a pair passes on a path. Whole numbers of a unit add up in a twentieth of the time of fractions."""
    unit = lcm(*{weight.denominator for ways in routing.values() for weight in ways.values()})
    units: dict[Resource, dict[Pair, int]] = {}
    for pair, ways in routing.items():
        for up, weight in ways.items():
            part = weight.numerator * (unit // weight.denominator)
            for resource in passed(pair, up):
                of = units.setdefault(resource, {})
                of[pair] = of.get(pair, 0) + part
    share = {part: Fraction(part, unit) for of in units.values() for part in set(of.values())}
    return {resource: {pair: share[part] for pair, part in of.items()} for resource, of in units.items()}
