"""Figures 2.2 and 2.3: Dual IPv4/IPv6 routing, its loads and paths; and the worst permutation by matching.

Also s-mod-k against d-mod-k, by which Dual was inspired. Section 2.3.2 and 2.4.
"""

import random
from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import permutations, product
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Tables
from flowyard.theory import matrices, routings
from flowyard.theory.fat_tree import FatTree, Up, digits, pairs, switches_on, turn
from flowyard.theory.loads import channel_shares, loads, most, worst_permutation
from flowyard_papers.mp._exact import exact, same, value

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

    from flowyard.theory.routings import Routing

SMALL, TREE = FatTree(4, 2), FatTree(4, 3)
# What nodes 000, 001, 010 and 011 send, and the loads of up-ports from left to right: two edge switches, two above.
SENT = (8, 4, 2, 10)
EXPECTED = {"Dual": ((6, 6, 6, 6), (6, 6, 6, 6)), "s-mod-k": ((8, 4, 2, 10), (8, 2, 4, 10))}
EDGE, ABOVE = "edge", "aggregation"
FAMILIES = ("IPv4", "IPv6")
DRAWS = 1000


def tables(scale: Scale) -> Tables:
    """Up-ports' loads in the example; all layouts; Dual's paths; worst permutations; random permutations."""
    schemes = {"Dual": routings.dual(TREE), "s-mod-k": routings.s_mod_k(TREE)}
    return {
        "up_ports": pl.DataFrame(
            [{"scheme": name} | row for name, routing in schemes.items() for row in _up_ports(routing)]
        ),
        "layouts": pl.DataFrame(list(_layouts())),
        "paths": pl.DataFrame(list(_paths(schemes["Dual"]))),
        "worst": pl.DataFrame(list(_worst())),
        "random": pl.DataFrame(list(_random(scale.pick(100, DRAWS)))),
    }


def _up_ports(routing: "Routing") -> Iterable[dict[str, Any]]:
    """Of pod 0, whose nodes send to the last pod, each to the node in its own position: by sources alone."""
    matrix = matrices.empty(TREE.nodes)
    for node, amount in enumerate(SENT):
        matrix[node][TREE.nodes - 4 + node] = Fraction(amount)
    found = loads(channel_shares(TREE, routing), matrix)
    for name, level in ((EDGE, 1), (ABOVE, 0)):
        for lower in range(2):
            ports = [each for each in found if each.up and (each.level, each.lower) == (level, lower)]
            by_port = {
                each.upper // (1 if level == 1 else TREE.half) % TREE.half: found[each] for each in ports
            }
            for port in range(TREE.half):
                load = by_port.get(port, Fraction(0))
                yield {"switches": name, "switch": lower, "port": port, "load": float(load)}


def _layouts() -> Iterable[dict[str, Any]]:
    """All choices of default ports of a pod's four switches, and the example's loads of up-ports."""
    names = [
        f"{name} {switch} {family}" for name in (EDGE, ABOVE) for switch in (0, 1) for family in FAMILIES
    ]
    for ports in product((0, 1), repeat=len(names)):
        default = dict(zip(names, ports, strict=True))
        found = dict.fromkeys(
            [(name, switch, port) for name in (EDGE, ABOVE) for switch in (0, 1) for port in (0, 1)], 0.0
        )
        for node, amount in enumerate(SENT):
            for family in FAMILIES:
                above = default[f"{EDGE} {node // 2} {family}"]
                found[EDGE, node // 2, above] += amount / 2
                found[ABOVE, above, default[f"{ABOVE} {above} {family}"]] += amount / 2
        rule = [
            routings.default_up(TREE, switch, family)
            for _ in (EDGE, ABOVE)
            for switch in (0, 1)
            for family in (0, 1)
        ]
        yield default | {
            "lowest": min(found.values()),
            "highest": max(found.values()),
            "ours": rule == list(ports),
        }


def _paths(routing: "Mapping[tuple[int, int], Mapping[Up, Fraction]]") -> Iterable[dict[str, Any]]:
    for s, d in pairs(TREE):
        level = turn(TREE, s, d)
        on = [{each for each in switches_on(TREE, s, d, up) if each.level < 2} for up in routing[s, d]]
        yield {
            "source": f"P({''.join(map(str, digits(TREE, s)))})",
            "target": f"P({''.join(map(str, digits(TREE, d)))})",
            "meet": ("core", "aggregation", "edge")[level],
            "paths": len(on),
            "shared_above_edge": len(set.intersection(*on)),
            "weight_largest": float(max(routing[s, d].values())),
        }


def _worst() -> Iterable[dict[str, Any]]:
    """For each channel of FT(4,2) the worst permutation's load by matching, and by trying all 40,320."""
    orders = np.array(list(permutations(range(SMALL.nodes))))
    for scheme, routing in {
        "NR": routings.normal(SMALL),
        "d-mod-k": routings.d_mod_k(SMALL),
        "DNVR": routings.random_paths(SMALL, None, 1),
        "MDNVR": routings.all_paths(SMALL),
    }.items():
        for place, (_, of) in enumerate(sorted(channel_shares(SMALL, routing).items())):
            shares = np.zeros((SMALL.nodes, SMALL.nodes))
            for pair, share in of.items():
                shares[pair] = share
            # Halves and wholes add up without rounding.
            brute = float(shares[np.arange(SMALL.nodes), orders].sum(axis=1).max())
            by_matching = float(worst_permutation(SMALL.nodes, of)[0])
            yield {"scheme": scheme, "channel": place, "by_matching": by_matching, "by_trying_all": brute}


def _random(number: int) -> Iterable[dict[str, Any]]:
    """The largest link load of random permutations of FT(4,3)."""
    shares = {
        name: channel_shares(TREE, of(TREE))
        for name, of in (("s-mod-k", routings.s_mod_k), ("d-mod-k", routings.d_mod_k))
    }
    for draw in range(number):
        targets = list(range(TREE.nodes))
        random.Random(f"permutation {draw}").shuffle(targets)
        for scheme, of in shares.items():
            yield {
                "draw": draw,
                "scheme": scheme,
                "load": float(most(loads(of, matrices.permutation(targets)))),
            }


def _loads(tables: Tables) -> Judgement:
    rows = [
        (
            f"{scheme}, {name} switch {port // 2}, port {port % 2}",
            value(tables["up_ports"], "load", scheme=scheme, switches=name, switch=port // 2, port=port % 2),
            load,
        )
        for scheme, levels in EXPECTED.items()
        for name, expected in zip((EDGE, ABOVE), levels, strict=True)
        for port, load in enumerate(expected)
    ]
    return same(rows, "loads")


def _layout(tables: Tables) -> Judgement:
    """Of all layouts with equal loads: ports of a switch differ by family, those of edges are crosswise."""
    even = tables["layouts"].filter(lowest=6.0, highest=6.0)
    crosswise = pl.col(f"{EDGE} 0 IPv4") != pl.col(f"{EDGE} 1 IPv4")
    for name in (EDGE, ABOVE):
        for switch in (0, 1):
            crosswise &= pl.col(f"{name} {switch} IPv4") != pl.col(f"{name} {switch} IPv6")
    fit = even.filter(crosswise)
    found = judge.judged(
        len(even) > 0 and len(fit) == len(even),
        f"{len(fit)} of {len(even)} layouts with equal loads",
        f"all {len(even)}",
    )
    return judge.together(
        [found, judge.exactly(int(even["ours"].sum()), 1).called("layouts of the scheme among them")]
    )


def _two_paths(tables: Tables) -> Judgement:
    rows = tables["paths"]
    expected = {"core": (192, 2), "aggregation": (32, 2), "edge": (16, 1)}
    counts: list[tuple[str, int, int]] = []
    for meet, (number, paths) in expected.items():
        some = rows.filter(meet=meet)
        counts.append((f"pairs that meet at the {meet}", len(some), number))
        counts.append((f"of these with {paths} paths", len(some.filter(paths=paths)), number))
        counts.append(("of these with equal shares", len(some.filter(weight_largest=1 / paths)), number))
        if paths == 2:
            counts.append(("of these without a common switch", len(some.filter(shared_above_edge=0)), number))
    return judge.all_exactly(counts, "counts")


def _matching(tables: Tables) -> Judgement:
    rows = [
        (f"{scheme}, channel {channel}", exact(found), exact(brute) or 0)
        for scheme, channel, found, brute in tables["worst"]
        .select("scheme", "channel", "by_matching", "by_trying_all")
        .rows()
    ]
    return same(rows, "channels")


def _similar(tables: Tables) -> Judgement:
    means = [
        fmean(tables["random"].filter(scheme=scheme)["load"].to_list()) for scheme in ("s-mod-k", "d-mod-k")
    ]
    return judge.within(means[0] / means[1], 1, absolute=0.05)


def draw(tables: Tables) -> "Picture":
    """Loads of the example's up-ports; largest link loads of random permutations."""
    figure, (ports, drawn) = style.panels(1, 2)
    for place, scheme in enumerate(EXPECTED):
        rows = tables["up_ports"].filter(scheme=scheme)
        ports.bar(
            [port + 0.4 * place for port in range(len(rows))], rows["load"].to_list(), 0.38, label=scheme
        )
    ports.set_xticks([1.7, 5.7], ["edge", "aggregation"])
    ports.set(title="figure 2.2: nodes send 8, 4, 2, 10", ylabel="load of each up-port")
    for place, scheme in enumerate(("s-mod-k", "d-mod-k")):
        counts = tables["random"].filter(scheme=scheme)["load"].value_counts().sort("load")
        share = 100 * counts["count"] / counts["count"].sum()
        drawn.plot(counts["load"], share, marker=style.MARKERS[place], label=scheme)
    drawn.set(
        title="random permutations, FT(4,3)", xlabel="largest link load", ylabel="share of permutations (%)"
    )
    for panel in (ports, drawn):
        panel.legend()
    return figure


FIGURE = Figure(
    id="MP-F2.2",
    title="Figures 2.2 and 2.3: Dual IPv4/IPv6 routing, and worst permutations by matching",
    tables=tables,
    claims={
        "MP-F2.2.a": _loads,
        "MP-F2.2.b": _layout,
        "MP-F2.2.c": _two_paths,
        "MP-F2.3.a": _matching,
        "MP-P7": _similar,
    },
    draw=draw,
    quick="100 of 1000 random permutations",
    needs={"random": Needs(DRAWS, by=("scheme",), column="draw")},
    assumed=(
        "Default ports as the example's loads leave them: figure 2.2 itself is not in the text. A switch's IPv4 port "
        "goes by its number in the pod, and IPv6 has the other one.",
        "In the example the nodes send to another pod; Dual sends half by each family.",
    ),
)
