"""Single-path routings whose worst loads stay below given limits, or the proof that there is none: by integer program.

Under one path a pair the worst load of a channel or switch is the size of a largest matching among the pairs that it
carries, and by Koenig's theorem that of a smallest cover: sources and targets of which every such pair has one. So the
program chooses paths, and covers of at most the limit's size. A routing that is found can be checked by `loads`; that
there is none rests on the solver's search (HiGHS, branch and bound).
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import inf
from typing import Any

from flowyard.errors import UserError
from flowyard.theory.fat_tree import (
    Channel,
    FatTree,
    Switch,
    Up,
    channels_on,
    pairs,
    switches_on,
    ways_up,
)
from flowyard.theory.loads import Pair
from flowyard.theory.matrices import Matrix
from flowyard.theory.routings import Routing

Resource = Channel | Switch


def search(
    tree: FatTree,
    *,
    links: int | None = None,
    switches: int | None = None,
    level: int | None = None,
    matrix: Matrix | None = None,
    loads: Mapping[Resource, int] | None = None,
) -> Routing | None:
    """A routing with one path a pair, or None if there is none.

    Args:
        tree: The fat-tree; FT(4,3) is about as large as it can be.
        links: The largest worst load of a channel, over base load; None: any.
        switches: The same of a switch.
        level: The only level whose switches have that limit; None: all.
        matrix: Whole amounts of traffic.
        loads: What channels or switches are to carry of it, at least.

    Raises:
        UserError: scipy is not installed.
        ArithmeticError: The solver stopped before it knew.
    """
    program = _Program()
    for pair in pairs(tree):
        limited: dict[Up, list[Resource]] = {
            up: [
                *(channels_on(tree, *pair, up) if links is not None else ()),
                *(
                    each
                    for each in switches_on(tree, *pair, up)
                    if level in (None, each.level) and switches is not None
                ),
            ]
            for up in ways_up(tree, *pair)
        }
        ways = _different(tree, pair, limited, [*(loads or {})])
        program.row([(program.variable(("way", pair, up)), 1) for up in ways], 1, 1)
        for up in ways:
            for resource in limited[up]:
                _cover(program, resource, pair, up)
    for resource, covers in program.covers.items():
        limit = links if isinstance(resource, Channel) else switches
        program.row([(cover, 1) for cover in covers], 0, limit if limit is not None else inf)
    for resource, least in (loads or {}).items():
        program.row(list(_carried(program, tree, resource, matrix or [])), least, inf)
    chosen = program.solve()
    if chosen is None:
        return None
    return {key[1]: {key[2]: Fraction(1)} for key in chosen if key[0] == "way"}


def _different(
    tree: FatTree,
    pair: Pair,
    limited: Mapping[Up, list[Resource]],
    asked: list[Resource],
) -> list[Up]:
    """The ways of a pair, one of those that are the same to all limits."""
    found: dict[frozenset[Resource], Up] = {}
    for up, of in limited.items():
        on = (*channels_on(tree, *pair, up), *switches_on(tree, *pair, up))
        found.setdefault(frozenset([*of, *(each for each in on if each in asked)]), up)
    return list(found.values())


def _carried(
    program: "_Program", tree: FatTree, resource: Resource, matrix: Matrix
) -> Iterator[tuple[int, int]]:
    """Paths of the matrix over a channel or switch, each with its pair's traffic."""
    for kind, (i, j), up in [key for key in program.variables if key[0] == "way"]:
        if matrix[i][j] and resource in (*channels_on(tree, i, j, up), *switches_on(tree, i, j, up)):
            yield program.variables[kind, (i, j), up], int(matrix[i][j])


def _cover(program: "_Program", resource: Resource, pair: Pair, up: Up) -> None:
    """If the pair takes that way, its source or its target covers it at the channel or switch."""
    covers = [(program.cover(resource, line), 1) for line in (("from", pair[0]), ("to", pair[1]))]
    program.row([*covers, (program.variable(("way", pair, up)), -1)], 0, 2)


class _Program:
    """A program of choices, each yes or no."""

    def __init__(self) -> None:
        self.variables: dict[Any, int] = {}
        self.covers: dict[Resource, list[int]] = {}
        self.rows: list[tuple[list[tuple[int, int]], float, float]] = []

    def variable(self, key: Any) -> int:
        return self.variables.setdefault(key, len(self.variables))

    def cover(self, resource: Resource, line: tuple[str, int]) -> int:
        key = (resource, line)
        if key not in self.variables:
            self.covers.setdefault(resource, []).append(self.variable(key))
        return self.variables[key]

    def row(self, coefficients: list[tuple[int, int]], low: float, high: float) -> None:
        self.rows.append((coefficients, low, high))

    def solve(self) -> set[Any] | None:
        """The chosen columns; None if no choice keeps all rows."""
        try:
            from scipy.optimize import Bounds, LinearConstraint, milp
            from scipy.sparse import csr_array
        except ImportError:
            raise UserError("integer programs need a package that is not here: pip install scipy") from None
        entries = [(i, j, value) for i, (row, _, _) in enumerate(self.rows) for j, value in row]
        i, j, values = zip(*entries, strict=True)
        matrix = csr_array((values, (i, j)), shape=(len(self.rows), len(self.variables)))
        low, high = ([row[which] for row in self.rows] for which in (1, 2))
        answer: Any = milp(
            [0] * len(self.variables),
            integrality=[1] * len(self.variables),
            bounds=Bounds(0, 1),
            constraints=LinearConstraint(matrix, low, high),
        )
        if answer.status == 2:
            return None
        if answer.status != 0:
            raise ArithmeticError(f"the integer program was not decided: {answer.message}")
        return {key for key, place in self.variables.items() if answer.x[place] > 0.5}
