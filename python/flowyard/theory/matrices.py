"""Traffic matrices (definition 3.1) and their decompositions.

A matrix is a list of rows; entry [i][j] is what node i sends to node j, in any one unit. The diagonal loads nothing and
is left out of every sum. Section 5.3.1.3 has the patterns.
"""

import random
from collections.abc import Sequence
from fractions import Fraction

from flowyard.theory.fat_tree import FatTree, turn

Matrix = list[list[Fraction]]
# How far the first, second, ... sender of a node is ahead of it: one reading, as the text lacks figure 5.9.
AHEAD = (4, 8, 12, 2, 6, 10, 14)


def empty(nodes: int) -> Matrix:
    """No traffic."""
    return [[Fraction(0)] * nodes for _ in range(nodes)]


def permutation(targets: Sequence[int]) -> Matrix:
    """Node i sends one unit to targets[i].

    Raises:
        ValueError: Some node is no node's target.
    """
    if sorted(targets) != list(range(len(targets))):
        raise ValueError("targets: not a permutation of 0 ... nodes - 1")
    found = empty(len(targets))
    for source, target in enumerate(targets):
        found[source][target] = Fraction(1)
    return found


def stride(nodes: int, step: int) -> Matrix:
    """Stride(step): node i sends one unit to node (i + step) mod nodes."""
    return permutation([(node + step) % nodes for node in range(nodes)])


def worst_stride(tree: FatTree) -> Matrix:
    """Stride((m/2)^(n-1)) of theorem 5.5: Stride(4) on FT(4,3), table 5.1."""
    return stride(tree.nodes, tree.most_paths)


def senders(number: int, ahead: Sequence[int] = AHEAD, nodes: int = 16) -> Matrix:
    """`number` Senders: node j receives one unit from nodes j + a for the first `number` values a of `ahead`.

    Raises:
        ValueError: `ahead` has fewer.
    """
    if number > len(ahead):
        raise ValueError(f"number: {number} senders; ahead has {len(ahead)}")
    found = empty(nodes)
    for target in range(nodes):
        for step in ahead[:number]:
            found[(target + step) % nodes][target] += 1
    return found


def drawn(nodes: int, seed: int, *, most: int = 9, share: float = 1.0) -> Matrix:
    """Whole numbers 0 ... `most` drawn at random for a `share` of the pairs, nothing for the others."""
    source = random.Random(f"matrix {nodes} {seed}")
    found = empty(nodes)
    for i in range(nodes):
        for j in range(nodes):
            if i != j and source.random() < share:
                found[i][j] = Fraction(source.randint(0, most))
    return found


def baseload(matrix: Matrix) -> Fraction:
    """The most that any node sends or receives: definition 3.2."""
    nodes = range(len(matrix))
    rows = (sum((matrix[i][j] for j in nodes if i != j), Fraction(0)) for i in nodes)
    columns = (sum((matrix[i][j] for i in nodes if i != j), Fraction(0)) for j in nodes)
    return max(*rows, *columns)


def by_level(tree: FatTree, matrix: Matrix) -> list[Matrix]:
    """TM_0 ... TM_(n-1), equation 5.13: TM_t has the pairs whose paths reach level t and none higher."""
    found = [empty(tree.nodes) for _ in range(tree.n)]
    for i, row in enumerate(matrix):
        for j, amount in enumerate(row):
            if i != j:
                found[turn(tree, i, j)][i][j] = amount
    return found


def filled(matrix: Matrix) -> Matrix:
    """A matrix, nowhere smaller, whose rows and columns all have the largest of the sums, diagonals included."""
    rows = [sum(row, Fraction(0)) for row in matrix]
    columns = [sum(column, Fraction(0)) for column in zip(*matrix, strict=True)]
    most = max(*rows, *columns)
    found = [list(row) for row in matrix]
    i = j = 0
    while i < len(found) and j < len(found):
        more = min(most - rows[i], most - columns[j])
        found[i][j] += more
        rows[i] += more
        columns[j] += more
        i, j = i + (rows[i] == most), j + (columns[j] == most and rows[i] != most)
    return found


def birkhoff(matrix: Matrix) -> list[tuple[Fraction, list[int]]]:
    """Weights and permutations that sum up to a matrix: Birkhoff and von Neumann.

    At most (N - 1)^2 + 1 of them. The weights add up to the sum of a row.

    Raises:
        ValueError: An entry is negative, or rows and columns differ in their sums; see `filled`.
    """
    sums = {sum(line, Fraction(0)) for lines in (matrix, zip(*matrix, strict=True)) for line in lines}
    if len(sums) != 1 or any(amount < 0 for row in matrix for amount in row):
        raise ValueError("matrix: rows and columns need one sum, and no entry may be negative")
    rest, found = [list(row) for row in matrix], []
    while any(rest[0]):
        targets = _perfect_matching([[j for j, amount in enumerate(row) if amount] for row in rest])
        weight = min(rest[i][j] for i, j in enumerate(targets))
        for i, j in enumerate(targets):
            rest[i][j] -= weight
        found.append((weight, targets))
    return found


def _perfect_matching(choices: list[list[int]]) -> list[int]:
    """A different one of its choices for each row, by augmenting paths; exists where line sums are equal (Hall)."""
    owner: dict[int, int] = {}

    def settle(row: int, seen: set[int]) -> bool:
        for column in choices[row]:
            if column not in seen:
                seen.add(column)
                if column not in owner or settle(owner[column], seen):
                    owner[column] = row
                    return True
        return False

    for row in range(len(choices)):
        assert settle(row, set())
    target = {row: column for column, row in owner.items()}
    return [target[row] for row in range(len(choices))]
