"""Properties 1 to 6 of FT(m,n), section 3.3.1: sub-fat-trees, shortest paths, and hosts that can load a link or switch.

The chapter's theorems rest on them. Each is counted here on generated trees, over all pairs of nodes, all links and all
switches. A link has the level of its upper end, so that those of the nodes have level n - 1, and those of cores 0.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Scale, Tables
from flowyard.topology.paths import Paths, Whole
from flowyard_papers.mp._labels import levels, sub_trees, tree

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

# m and n; m = 2 has but one path, and its powers say nothing.
QUICK = ((4, 2), (4, 3), (4, 4), (8, 2), (8, 3))
FULL = (*QUICK, (4, 5), (16, 2))


def tables(scale: Scale) -> Tables:
    """One table a pair of properties, a row for each tree and level."""
    rows: dict[str, list[dict[str, Any]]] = {"sub_trees": [], "pairs": [], "uses": [], "hosts_behind": []}
    for m, n in scale.pick(QUICK, FULL):
        built = tree(m, n)
        paths, level = Paths.of(built), levels(built)
        subs = {t: sub_trees(built, level, t) for t in range(1, n)}
        found = {
            "sub_trees": _sub_trees(subs, built.hosts),
            "pairs": _pairs(paths, subs, n),
            "uses": _uses(paths, level),
            "hosts_behind": _hosts_behind(paths, level, subs),
        }
        for name, several in found.items():
            rows[name] += [{"m": m, "n": n} | row for row in several]
    return {name: pl.DataFrame(several) for name, several in rows.items()}


def _sub_trees(subs: dict[int, Whole], hosts: int) -> Iterable[dict[str, int]]:
    """Number and size of the SUBFT(m,t)."""
    for t, part in subs.items():
        below, above = (np.bincount(members[members >= 0]) for members in (part[:hosts], part[hosts:]))
        yield {
            "t": t,
            "sub_trees": len(np.unique(part[part >= 0])),
            "nodes_fewest": int(below.min()),
            "nodes_most": int(below.max()),
            "switches_fewest": int(above.min()),
            "switches_most": int(above.max()),
        }


def _pairs(paths: Paths, subs: dict[int, Whole], n: int) -> Iterable[dict[str, int]]:
    """Paths by the smallest common sub-fat-tree; t = n where only the whole tree holds both nodes."""
    _, count = paths.between_hosts()
    smallest = np.full_like(count, n)
    for t in sorted(subs, reverse=True):
        part = subs[t][: paths.hosts]
        smallest[part[:, None] == part[None, :]] = t
    np.fill_diagonal(smallest, 0)
    for t in range(1, n + 1):
        group = count[smallest == t]
        yield {
            "t": t,
            "pairs": len(group),
            "paths_fewest": int(group.min()),
            "paths_most": int(group.max()),
        }


def _through(paths: Paths, level: Whole) -> Iterator[tuple[str, int, int, Whole]]:
    """Each link and switch: its kind, level, place, and each pair's paths through it."""
    for link, (start, end) in enumerate(paths.links.tolist()):
        kind = "up link" if level[start] > level[end] else "down link"
        yield kind, int(min(level[start], level[end])), link, paths.through_link(link)
    for node in range(paths.hosts, len(level)):
        yield "switch", int(level[node]), node, paths.through_node(node)


def _uses(paths: Paths, level: Whole) -> Iterable[dict[str, Any]]:
    """Of the paths of a pair, how many use a link or switch that any of them uses."""
    _, count = paths.between_hosts()
    numbers = np.unique(count[~np.eye(paths.hosts, dtype=bool)]).tolist()
    found: dict[tuple[str, int, int], list[int]] = {}
    for kind, own, _, used in _through(paths, level):
        for number in numbers:
            if (some := used[(count == number) & (used > 0)]).size:
                found.setdefault((kind, own, number), []).extend((int(some.min()), int(some.max())))
    for (kind, own, number), values in found.items():
        yield {
            "of": kind,
            "level": own,
            "paths_of_pair": number,
            "paths_fewest": min(values),
            "paths_most": max(values),
        }


def _hosts_behind(paths: Paths, level: Whole, subs: dict[int, Whole]) -> Iterable[dict[str, Any]]:
    """Sources that load an up link, destinations of a down link, both of a switch, inside its SUBFT(m,n-t)."""
    n = int(level.max())
    found: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for kind, own, place, used in _through(paths, level):
        sources, targets = (used > 0).any(axis=1), (used > 0).any(axis=0)
        # Of a switch below the cores the hosts below it; others reach it from above.
        inside: Any = True
        if kind == "switch" and own > 0:
            part = subs[n - own]
            inside = part[: paths.hosts] == part[place]
        ends = {"up link": {"sources": sources}, "down link": {"destinations": targets}}
        for name, those in ends.get(kind, {"sources": sources, "destinations": targets}).items():
            both = (int((those & inside).sum()), int(those.sum()))
            found.setdefault((f"{name} of {kind}", own), []).append(both)
    for (what, own), values in found.items():
        own_tree, anywhere = zip(*values, strict=True)
        yield {
            "what": what,
            "level": own,
            "hosts_fewest": min(own_tree),
            "hosts_most": max(own_tree),
            "hosts_anywhere_most": max(anywhere),
        }


# What identifies a row of a table, and the values that it should have.
Expected = Iterator[tuple[dict[str, Any], dict[str, int]]]


def _compared(table: pl.DataFrame, expected: Callable[[int, int], Expected], what: str) -> Judgement:
    """Row by row, for the trees of the quick scale and whatever others the table has; it may have no more rows."""
    rows: list[tuple[str, int | None, int]] = []
    for m, n in sorted({*QUICK, *table.select("m", "n").iter_rows()}):
        every = list(expected(m, n))
        rows.append((f"rows for FT({m},{n})", len(table.filter(m=m, n=n)), len(every)))
        for key, values in every:
            found = table.filter(m=m, n=n, **key)
            named = ", ".join(f"{name} = {value}" for name, value in key.items())
            rows += [
                (
                    f"{column} of FT({m},{n}), {named}",
                    found[column].item() if len(found) == 1 else None,
                    value,
                )
                for column, value in values.items()
            ]
    return judge.all_exactly(rows, what)


def _both(name: str, value: int) -> dict[str, int]:
    return {f"{name}_fewest": value, f"{name}_most": value}


def _property_1(tables: Tables) -> Judgement:
    def expected(m: int, n: int) -> Expected:
        for t in range(1, n):
            sizes = _both("nodes", (m // 2) ** t) | _both("switches", t * (m // 2) ** (t - 1))
            yield {"t": t}, {"sub_trees": m * (m // 2) ** (n - 1 - t), **sizes}

    return _compared(tables["sub_trees"], expected, "counts")


def _property_2(tables: Tables) -> Judgement:
    def expected(m: int, n: int) -> Expected:
        for t in range(1, n + 1):
            yield {"t": t}, _both("paths", (m // 2) ** (t - 1))

    return _compared(tables["pairs"], expected, "numbers of paths")


def _properties_3_and_4(tables: Tables) -> Judgement:
    """A pair of (m/2)^x paths meets the levels n - 1 - t for t = 0 to x, and none nearer to the cores."""

    def expected(m: int, n: int) -> Expected:
        for kind in ("up link", "down link", "switch"):
            for x in range(n):
                for t in range(x + 1):
                    key = {"of": kind, "level": n - 1 - t, "paths_of_pair": (m // 2) ** x}
                    yield key, _both("paths", (m // 2) ** (x - t))

    return _compared(tables["uses"], expected, "numbers of paths")


def _properties_5_and_6(tables: Tables) -> Judgement:
    def expected(m: int, n: int) -> Expected:
        for t in range(n):
            link, switch = (m // 2) ** (n - 1 - t), (m // 2) ** (n - t) if t else 2 * (m // 2) ** n
            for what, hosts in (
                ("sources of up link", link),
                ("destinations of down link", link),
                ("sources of switch", switch),
                ("destinations of switch", switch),
            ):
                yield {"what": what, "level": t}, _both("hosts", hosts)

    return _compared(tables["hosts_behind"], expected, "numbers of hosts")


def draw(tables: Tables) -> "Picture":
    """Paths of a pair, paths through a link, and hosts behind a link or switch."""
    figure, (pairs, uses, behind) = style.panels(1, 3)
    for place, (m, n) in enumerate(QUICK):
        # Points that fall together show as rings.
        looks: Any = {"marker": "o", "fillstyle": "none", "markersize": 13 - 2.4 * place}
        looks["color"] = style.COLOURS[place]
        here = [pl.col.m == m, pl.col.n == n]
        rows = tables["pairs"].filter(here)
        pairs.plot(rows["t"], rows["paths_most"], label=f"FT({m},{n})", **looks)
        rows = tables["uses"].filter(here, pl.col.of == "up link").sort("level")
        rows = rows.filter(pl.col.paths_of_pair == pl.col.paths_of_pair.max())
        uses.plot(rows["level"], rows["paths_most"], **looks)
        for what, line in (("sources of up link", "-"), ("sources of switch", ":")):
            rows = tables["hosts_behind"].filter(here, pl.col.what == what).sort("level")
            behind.plot(rows["level"], rows["hosts_most"], line, **looks)
    pairs.set(title="property 2: paths of a pair", xlabel="t of its smallest SUBFT(m,t); n: none")
    uses.set(
        title="3 and 4: of these, through a link or switch",
        xlabel="level, 0 at the cores (pairs with most paths)",
    )
    behind.set(title="5 and 6: sources of an up link (-), a switch (:)", xlabel="level, 0 at the cores")
    pairs.legend()
    for panel in (pairs, uses, behind):
        panel.set_yscale("log", base=2)
        panel.set_xticks(range(1, 5) if panel is pairs else range(4))
    return figure


FIGURE = Figure(
    id="MP-PR",
    title="Properties 1 to 6 of fat-trees",
    tables=tables,
    claims={
        "MP-PR1.a": _property_1,
        "MP-PR2.a": _property_2,
        "MP-PR3.a": _properties_3_and_4,
        "MP-PR5.a": _properties_5_and_6,
    },
    draw=draw,
    quick="no FT(4,5) and no FT(16,2)",
    assumed=(
        "Property 6 counts, for a switch of level t > 0, the nodes of the sub-fat-tree of which it is a top switch, "
        "SUBFT(m,n-t), where the text has SUBFT(m,t). All other nodes can load it as well, by what they send into "
        "that sub-fat-tree: column hosts_anywhere_most.",
        "A bound counts as met if it holds with equality at every link or switch of its level.",
    ),
)
