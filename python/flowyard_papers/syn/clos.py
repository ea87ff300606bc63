"""SYN, sections II and III-A (claim P18): edge colouring gives disjoint paths on Clos networks of three layers, too.

The paper takes "a multilayer Clos-based topology" and colours one of two layers, where "each color is associated with
one distinct spine switch". On three layers colours are given twice: packets between edge switches get an aggregation
switch of their pod by a colour, and of those that share its place, packets between pods get a core by a second one. All
of it is written anew here, on the networks as they are generated; the simulator's own paths are not used.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Tables
from flowyard.topology import network
from flowyard_papers.syn._colouring import colouring

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

# Fat-trees of three layers, by k: 54 and 250 servers.
FABRICS = (6, 10)
MATCHINGS = 200


@dataclass(frozen=True)
class FatTree:
    """A generated fat-tree: its nodes by name, cores by the place of their aggregation switches, and its cables."""

    k: int
    names: dict[str, int]
    cores: list[list[int]]
    cables: frozenset[tuple[int, int]]

    @property
    def half(self) -> int:
        """Servers of an edge switch, edge and aggregation switches of a pod, cores of each of the latter."""
        return self.k // 2

    @property
    def servers(self) -> int:
        """All of them."""
        return self.k**3 // 4


def fabric(k: int) -> FatTree:
    """The fat-tree as the simulator generates it."""
    made = network({"topology": {"fat-tree": {"k": k}}})
    names = {node.name: place for place, node in enumerate(made.nodes)}
    cables = frozenset(pair for cable in made.cables for pair in ((cable.a, cable.b), (cable.b, cable.a)))
    above: dict[int, list[int]] = defaultdict(list)
    for a, b in sorted(cables):
        if made.nodes[b].tier == "core":
            above[a].append(b)
    cores = [above[names[f"pod 0 aggregation {place}"]] for place in range(k // 2)]
    return FatTree(k, names, cores, cables)


def paths(tree: FatTree, pairs: list[tuple[int, int]]) -> list[list[int]] | None:
    """The nodes of each packet's path; nothing if some have no colour."""
    half, pod_size = tree.half, tree.half**2
    ends = [(a // half, b // half) for a, b in pairs]
    leaving = [place for place, (a, b) in enumerate(ends) if a != b]
    places = colouring([ends[one] for one in leaving], half)
    if places is None:
        return None
    at = dict(zip(leaving, places, strict=True))
    core: dict[int, int] = {}
    for place in range(half):
        # Of the packets that go by aggregation switches of that place.
        own = [one for one in leaving if at[one] == place and ends[one][0] // half != ends[one][1] // half]
        colours = colouring([(ends[one][0] // half, ends[one][1] // half) for one in own], half)
        if colours is None:
            return None
        core |= {one: tree.cores[place][colour] for one, colour in zip(own, colours, strict=True)}
    found = []
    for one, (a, b) in enumerate(pairs):
        up, down = (
            [server, tree.names[f"pod {server // pod_size} edge {server // half % half}"]]
            for server in (a, b)
        )
        if one in at:
            up, down = (
                [*way, tree.names[f"pod {way[0] // pod_size} aggregation {at[one]}"]] for way in (up, down)
            )
        middle = [core[one]] if one in core else []
        # Below one switch both ways end at it.
        joined = [*up, *middle, *reversed(down)]
        found.append([node for place, node in enumerate(joined) if place == 0 or node != joined[place - 1]])
    return found


def tables(scale: Scale) -> Tables:
    """A row a matching: how full its busiest link is."""
    return {"matchings": pl.DataFrame(list(_matchings(scale.pick(40, MATCHINGS))))}


def _matchings(count: int) -> Iterator[dict[str, Any]]:
    for k in FABRICS:
        tree = fabric(k)
        random = np.random.default_rng(k)
        for number in range(count):
            order = random.permutation(tree.servers)
            # Every other one has all servers.
            active = random.random(tree.servers) < (1.0 if number % 2 else random.random())
            pairs = [(a, int(b)) for a, b in enumerate(order) if a != b and active[a]]
            ways = paths(tree, pairs)
            hops = Counter(hop for way in ways or () for hop in pairwise(way))
            yield {
                "k": k,
                "number": number,
                "packets": len(pairs),
                "through_core": sum(len(way) == 7 for way in ways or ()),
                "coloured": ways is not None,
                "off_the_network": sum(hop not in tree.cables for hop in hops),
                "busiest_link": max(hops.values(), default=0),
            }


def _disjoint(tables: Tables) -> Judgement:
    rows = tables["matchings"]
    if set(rows["k"]) != set(FABRICS):
        return judge.not_reached("a fabric is missing")
    good = rows.filter(pl.col("coloured"), pl.col("off_the_network") == 0, pl.col("busiest_link") <= 1)
    said = f"{len(good)} of {len(rows)} matchings have paths without a common link"
    return judge.judged(len(good) == len(rows), said, f"all {len(rows)}")


def draw(tables: Tables) -> "Picture":
    """The busiest link of each matching, over its packets."""
    picture, (axes,) = style.panels()
    for place, k in enumerate(FABRICS):
        own = tables["matchings"].filter(k=k)
        axes.plot(
            own["packets"].to_numpy(), own["busiest_link"].to_numpy(), style.MARKERS[place], alpha=0.5,
            color=style.COLOURS[place], label=f"k = {k}: {k**3 // 4} servers, {k**2 // 4} cores",
        )  # fmt: skip
    axes.axhline(1, color="#000000", linewidth=0.9, linestyle="--")
    axes.set(xlabel="packets of a matching", ylabel="packets on the busiest link", ylim=(0, 2))
    axes.legend()
    return picture


FIGURE = Figure(
    id="SYN-P18",
    title="Edge colouring on Clos networks of three layers",
    tables=tables,
    claims={"SYN-P18": _disjoint},
    draw=draw,
    needs={"matchings": Needs(rows=MATCHINGS * len(FABRICS))},
    assumed=(
        "Fat-trees with k = 6 and 10, all links of one rate; 200 random matchings each, half of them of all servers, "
        "half of a random part. A colour for the aggregation switch of a packet between edge switches, and for each "
        "place of these a colour for the core of a packet between pods.",
    ),
    quick="40 of 200 matchings",
)
