"""Worst loads as the tables of `_worst` have them, against bounds; and what its searches found."""

from collections.abc import Iterable
from fractions import Fraction

from flowyard.papers import judge
from flowyard.papers.figure import Judgement, Tables
from flowyard.theory.fat_tree import FatTree
from flowyard_papers.mp._exact import exact, value


def load_of(tables: Tables, m: int, n: int, scheme: str, of: str, level: int) -> Fraction | None:
    """The load of a level; None if it is not there."""
    return value(tables["worst"], "load", m=m, n=n, scheme=scheme, of=of, level=level)


def most_of(tables: Tables, tree: FatTree, scheme: str, of: str) -> Fraction | None:
    """The largest load of all levels; None unless each level is there."""
    rows = tables["worst"].filter(m=tree.m, n=tree.n, scheme=scheme, of=of)
    loads = [Fraction(exact(load) or 0) for load in rows["load"]]
    return max(loads) if len(loads) == tree.n else None


def within_bounds(rows: Iterable[tuple[str, Fraction | None, Fraction | int]]) -> Judgement:
    """Every load is there and no higher than its bound."""
    rows = list(rows)
    if missing := [name for name, load, _ in rows if load is None]:
        return judge.not_reached(f"no load of {missing[0]}")
    above = [
        f"{name}: {load}, not {bound}" for name, load, bound in rows if load is not None and load > bound
    ]
    reached = sum(load == bound for _, load, bound in rows)
    measured = f"{len(rows) - len(above)} of {len(rows)} loads within bounds, {reached} at them"
    found = judge.judged(bool(rows) and not above, measured, f"all {len(rows)} within")
    return found.because("; ".join(above[: judge.SHOWN]))


def as_searched(tables: Tables, expected: Iterable[tuple[int, int, str, int, bool]]) -> Judgement:
    """Whether single paths exist where they should, and nowhere else: tree, link or switch, limit, and whether."""
    rows = []
    for m, n, of, limit, exists in expected:
        found = tables["searches"].filter(m=m, n=n, of=of, limit=limit)
        said = None if len(found) != 1 else "exists" if found["exists"].item() else "none"
        rows.append(
            (f"single path with {of} load {limit} on FT({m},{n})", said, "exists" if exists else "none")
        )
    return judge.all_exactly(rows, "searches")
