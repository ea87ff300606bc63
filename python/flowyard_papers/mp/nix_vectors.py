"""Table 2.1: Nix-vectors, their bits by hop, packed and unpacked; and what they cost a header and a switch.

The simulator packs the path of each connection into such a vector and lets packets follow it. Here its runs show the
paths on many networks; `flowyard.theory.nix`, of which the simulator knows nothing, packs and unpacks each once more.
"""

import random
from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Scale, Sweeps, Tables
from flowyard.sweeps import Axis, Plan
from flowyard.theory import nix
from flowyard.theory.fat_tree import FatTree, switches_on
from flowyard.topology import Network, network
from flowyard.topology.paths import directed_links, distances
from flowyard_papers.mp import _connections

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

NEIGHBOURS = (2, 3, 6, 13, 27, 5, 14, 5, 2, 1)
BITS = (1, 2, 3, 4, 5, 3, 4, 3, 1, 1)
IN_ALL = (1, 3, 6, 10, 15, 18, 22, 25, 26, 27)
PORTS = (4, 8, 16, 32, 64)
# An address of IPv4: what a header has for the destination in any case.
FEW_BITS = 32
RANDOM = 5
TREE = "FT(4,3)"


def _random_network(seed: int) -> dict[str, Any]:
    """Fourteen switches in a random tree with as many cables more, two of them between the same switches; ten hosts."""
    source = random.Random(f"network {seed}")
    cables = [(n, source.randrange(n)) for n in range(1, 14)]
    cables += [(a, b) for a, b in (source.sample(range(14), 2) for _ in range(13))] + cables[-1:]
    return {
        "explicit": {
            "hosts": [f"host {n}" for n in range(10)],
            "switches": [{"name": f"switch {n}"} for n in range(14)],
            "cables": [{"ends": [f"switch {a}", f"switch {b}"]} for a, b in cables]
            + [{"ends": [f"host {n}", f"switch {source.randrange(14)}"]} for n in range(10)],
        }
    }


NETWORKS: Mapping[str, dict[str, Any]] = {
    TREE: {"fat-tree": {"k": 4}},
    "FT(8,3)": {"fat-tree": {"k": 8}},
    "FT(4,5)": {"fat-tree": {"k": 4, "levels": 5}},
    "leaf-spine": {"leaf-spine": {"leaves": 4, "spines": 3, "hosts": 4, "parallel": 2}},
    "three tiers": {"three-tier": {"accesses": 8, "aggregations": 4, "cores": 2, "hosts": 4}},
    "VL2": {"vl2": {"aggregation_ports": 8, "intermediate_ports": 4, "hosts": 4}},
    "BCube(4,2)": {"bcube": {"n": 4, "k": 2}},
    "DCell(3,1)": {"dcell": {"n": 3, "k": 1}},
    "CamCube": {"camcube": {"x": 4, "y": 3, "z": 3}},
} | {f"random {seed}": _random_network(seed) for seed in range(1, RANDOM + 1)}


def _pairs(name: str, number: int) -> list[tuple[int, int]]:
    hosts, source = network({"topology": NETWORKS[name]}).hosts, random.Random(f"pairs {name}")
    drawn = (tuple(source.sample(range(hosts), 2)) for _ in range(number))
    return [(a, b) for a, b in drawn]


def plans(scale: Scale) -> dict[str, Plan]:
    """Connections between random pairs of hosts in each network, along paths drawn at random."""
    number = scale.pick(15, 60)
    scenarios = [_connections.scenario(topology, _pairs(name, number)) for name, topology in NETWORKS.items()]
    axis = Axis("network", scenarios=scenarios, labels=list(NETWORKS))
    return {"paths": Plan(None, [axis], 1, set={"routing.balancer.nix.search": "uniform"}, name="paths")}


def tables(sweeps: Sweeps) -> Tables:
    """The example by hop; a row a connection, with the vector of the path that its packets took; fat-trees by ports."""
    widths = [nix.width(neighbours) for neighbours in NEIGHBOURS]
    example = pl.DataFrame(
        {"neighbours": NEIGHBOURS, "bits": widths, "bits_in_all": list(accumulate(widths))}
    )
    found = _connections.paths(sweeps["paths"])
    rows = [
        row
        for name in NETWORKS
        for row in _vectors(name, network({"topology": NETWORKS[name]}), found.filter(network=name))
    ]
    return {
        "example": example.with_row_index("hop", 1),
        "connections": pl.DataFrame(rows),
        "trees": pl.DataFrame(list(_trees())),
    }


def _vectors(name: str, built: Network, rows: pl.DataFrame) -> Iterable[dict[str, Any]]:
    ends, away = directed_links(built).tolist(), distances(built)
    out: list[list[int]] = [[] for _ in built.nodes]
    for link, (start, _) in enumerate(ends):
        out[start].append(link)
    neighbours = [[ends[link][1] for link in links] for links in out]
    for row in rows.iter_rows(named=True):
        links = [int(link) for link in row["links"].split()]
        starts = [ends[link][0] for link in links]
        numbers = [out[start].index(link) for start, link in zip(starts, links, strict=True)]
        degrees = [len(out[start]) for start in starts]
        vector = nix.encode(zip(numbers, degrees, strict=True))
        again = [out[node][number] for node, number in nix.decode(vector, starts[0], neighbours)]
        yield {
            "network": name,
            "connection": row["connection"],
            "links": row["links"],
            "one_path": row["one_path"],
            "hops": len(links),
            "fewest_hops": int(away[starts[0], ends[links[-1]][1]]),
            "bits": vector.bits,
            "decoded": " ".join(map(str, again)),
            "words_a_hop": nix.words(degrees),
        }


def _trees() -> Iterable[dict[str, Any]]:
    """The longest vector of FT(m,3): from the first node to the last."""
    for m in PORTS:
        tree = FatTree(m, 3)
        switches = switches_on(tree, 0, tree.nodes - 1, (0,) * (tree.n - 1))
        degrees = [1] + [m] * len(switches)
        yield {
            "m": m,
            "nodes": tree.nodes,
            "bits": sum(map(nix.width, degrees)),
            "words_a_hop": nix.words(degrees),
        }


def _example(tables: Tables) -> Judgement:
    rows = tables["example"].sort("hop")
    return judge.all_exactly(
        [
            (f"{what} of hop {hop}", got, expected)
            for what, column, values in (("bits", "bits", BITS), ("bits up to", "bits_in_all", IN_ALL))
            for hop, (got, expected) in enumerate(zip(rows[column].to_list(), values, strict=True), 1)
        ],
        "numbers of bits",
    )


def _unchanged(tables: Tables) -> Judgement:
    """The packets of each connection took one path, a shortest one, and its vector leads along the same links."""
    rows = tables["connections"]
    if missing := set(NETWORKS) - set(rows["network"]):
        return judge.not_reached(f"no connections of {', '.join(sorted(missing))}")
    same = pl.col("one_path") & (pl.col("hops") == pl.col("fewest_hops"))
    same &= pl.col("links") == pl.col("decoded")
    wrong = rows.filter(~same)
    found = judge.exactly(len(rows) - len(wrong), len(rows))
    named = ", ".join(f"{n} of {name}" for name, n in wrong["network"].value_counts().sort("network").rows())
    return found.because(f"not one shortest path, or not the same one: {named}")


def _six_hops(tables: Tables) -> Judgement:
    bits = tables["connections"].filter(network=TREE, hops=6)["bits"].unique().sort().to_list()
    return judge.exactly(", ".join(map(str, bits)), "11") if bits else judge.not_reached("no path has 6 hops")


def _cheap(tables: Tables) -> Judgement:
    """No vector of a fat-tree with three levels is longer than an address; no switch reads more than one word."""
    trees, words = tables["trees"], tables["trees"]["words_a_hop"].to_list()
    words += tables["connections"]["words_a_hop"].to_list()
    if set(trees["m"]) != set(PORTS):
        return judge.not_reached("there are not all fat-trees")
    longest = trees.select(pl.col("bits").max()).item()
    return judge.together(
        [
            judge.at_most(longest, FEW_BITS).called("bits of the longest vector of a fat-tree"),
            judge.at_most(max(words), 1).called("words that a switch reads"),
        ]
    )


def draw(tables: Tables) -> "Picture":
    """The example's bits; vectors of paths on all networks; those of fat-trees by size."""
    picture, (example, networks, trees) = style.panels(1, 3)
    rows = tables["example"]
    before = (rows["bits_in_all"] - rows["bits"]).to_list()
    example.barh(rows["hop"], rows["bits"], left=before, color=style.COLOURS[0])
    for hop, left, bits, number in zip(rows["hop"], before, rows["bits"], rows["neighbours"], strict=True):
        example.text(left + bits + 0.4, hop, f"1 of {number}", va="center", fontsize=7.5)
    example.set(
        xlabel="bits of the vector", ylabel="hop", title="table 2.1: 27 bits for 10 hops", xlim=(0, 32)
    )
    example.set_yticks(range(1, len(rows) + 1))
    example.invert_yaxis()
    connections = tables["connections"]
    for place, name in enumerate(NETWORKS):
        bits = connections.filter(network=name).group_by("bits").len().sort("bits")
        sizes = (8 + 160 * bits["len"] / bits["len"].sum()).to_numpy()
        networks.scatter(bits["bits"], [place] * len(bits), s=sizes, color=style.COLOURS[place % 6])
    networks.set_yticks(range(len(NETWORKS)), list(NETWORKS), fontsize=7.5)
    networks.invert_yaxis()
    networks.set(xlabel="bits of a path's vector", title="paths that packets took", xlim=(0, None))
    rows = tables["trees"]
    trees.plot(rows["nodes"], rows["bits"], marker="o", label="longest Nix-vector")
    trees.axhline(FEW_BITS, color="#000000", linewidth=0.9, linestyle="--", label="an IPv4 address")
    trees.set(xscale="log", xlabel="nodes of FT(m,3), m = 4 ... 64", ylabel="bits", ylim=(0, 36))
    trees.set_title("what a header has to hold")
    trees.legend(loc="lower right")
    return picture


FIGURE = Figure(
    id="MP-T2.1",
    title="Table 2.1: Nix-vectors, their bits, and paths that come out as they went in",
    plans=plans,
    tables=tables,
    claims={
        "MP-T2.1.a": _example,
        "MP-T2.1.b": _unchanged,
        "MP-T2.1.c": _six_hops,
        "MP-P6": _cheap,
    },
    draw=draw,
    quick="15 of 60 connections of each network",
    assumed=(
        "Networks of nine kinds and five random ones stand for any topology. A connection's path is what the links' "
        "use shows while it is the only one.",
        "Few bits: no more than an IPv4 address, in FT(m,3) with up to 64 ports and 65,536 nodes. Constant time: a "
        "switch reads its bits at the packet's counter from one word of 64 bits, whatever the path's length, and looks "
        "nothing up.",
        "The vectors take no bytes on the wire in the simulator, as in ns-3.",
    ),
)
