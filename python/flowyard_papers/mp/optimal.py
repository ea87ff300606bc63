"""Lemma 3.1, theorems 3.4 and 3.5: the least maximum loads of any routing, and MDNVR's, under random traffic.

MDNVR divides each pair's traffic equally among all its shortest paths. What no routing can beat is found by linear
programs, whose answers are exact.
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Tables
from flowyard.theory import bounds, matrices, optimum, probabilities, routings
from flowyard.theory.fat_tree import FatTree, Switch
from flowyard.theory.loads import channel_shares, loads, most, switch_shares
from flowyard.theory.matrices import Matrix
from flowyard_papers.mp._exact import exact

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

SMALL, TREE = FatTree(4, 2), FatTree(4, 3)
MATRICES, PROGRAMS, SETS = 1000, 100, 20
# One part in this many is the share of the pairs that have traffic.
SPARSE = (1, 2, 5, 20)


def tables(scale: Scale) -> Tables:
    """Loads under MDNVR; least loads by linear program; loads of neighbours; probabilities for sets of matrices."""
    every = [
        {"m": tree.m, "n": tree.n} | row
        for tree in (SMALL, TREE)
        for row in _under_all_paths(tree, scale.pick(50, MATRICES // 2))
    ]
    programs = [
        {"m": tree.m, "n": tree.n} | row
        for tree in (SMALL, TREE)
        for row in _programs(tree, scale.pick(5, PROGRAMS // 2))
    ]
    return {
        "loads": pl.DataFrame(every),
        "programs": pl.DataFrame(programs),
        "neighbours": pl.DataFrame(list(_neighbours(scale.pick(5, 20)))),
        "sets": pl.DataFrame(list(_sets(scale.pick(4, SETS)))),
    }


def _drawn(tree: FatTree, number: int) -> Matrix:
    return matrices.drawn(tree.nodes, number, share=1 / SPARSE[number % len(SPARSE)])


def _under_all_paths(tree: FatTree, number: int) -> Iterable[dict[str, Any]]:
    """Random matrices, and theorem 3.4's two: neighbours under an edge switch, and all nodes to the next pod."""
    links, nodes = (shares(tree, routings.all_paths(tree)) for shares in (channel_shares, switch_shares))
    lone = matrices.empty(tree.nodes)
    lone[0][1] = Fraction(1)
    named = {"one flow": lone, "stride": matrices.worst_stride(tree)}
    for name, matrix in (named | {str(draw): _drawn(tree, draw) for draw in range(number)}).items():
        yield {
            "matrix": f"matrix {name}",
            "baseload": float(matrices.baseload(matrix)),
            "link": float(most(loads(links, matrix))),
            "switch": float(most(loads(nodes, matrix))),
        }


def _programs(tree: FatTree, number: int) -> Iterable[dict[str, Any]]:
    nodes = switch_shares(tree, routings.all_paths(tree))
    for draw in range(number):
        matrix = _drawn(tree, draw)
        yield {
            "draw": draw,
            "baseload": float(matrices.baseload(matrix)),
            "optu": float(optimum.optu(tree, matrix)[0]),
            "optusw": float(optimum.optusw(tree, matrix)[0]),
            "mdnvr_switch": float(most(loads(nodes, matrix))),
        }


def _neighbours(number: int) -> Iterable[dict[str, Any]]:
    """Traffic between neighbours under an edge switch alone, under several routings."""
    every = {
        "NR": routings.normal(TREE),
        "DNVR": routings.link_optimal(TREE),
        "Dual": routings.dual(TREE),
        "MDNVRk": routings.first_paths(TREE, Fraction(4, 3)),
        "MDNVR": routings.all_paths(TREE),
    }
    shares = {scheme: switch_shares(TREE, routing) for scheme, routing in every.items()}
    for draw in range(number):
        matrix = matrices.by_level(TREE, matrices.drawn(TREE.nodes, draw))[-1]
        for scheme, of in shares.items():
            found = loads(of, matrix)
            for switch in sorted(found):
                if switch.level == TREE.n - 1 or found[switch]:
                    yield {
                        "draw": draw,
                        "scheme": scheme,
                        "level": switch.level,
                        "place": switch.place,
                        "load": float(found[switch]),
                    }


def _sets(number: int) -> Iterable[dict[str, Any]]:
    """Largest switch load over three matrices: paths all alike, and with the best probabilities for the set."""
    alike = switch_shares(SMALL, routings.all_paths(SMALL))
    # A core that is half as wide, or all switches alike.
    slow = {Switch(0, 0): Fraction(1, 2)}
    for name, capacity in (("equal switches", {}), ("one core half as wide", slow)):
        for draw in range(number):
            several = [_drawn(SMALL, 3 * draw + each) for each in range(3)]
            chosen, _ = probabilities.for_matrices(SMALL, several, capacity)
            worst = max(_over(loads(alike, matrix), capacity) for matrix in several)
            yield {"switches": name, "draw": draw, "alike": float(worst), "chosen": float(chosen)}


def _over(found: Mapping[Switch, Fraction], capacity: Mapping[Switch, Fraction]) -> Fraction:
    return max(load / capacity.get(switch, Fraction(1)) for switch, load in found.items())


def _lemma_3_1(tables: Tables) -> Judgement:
    wrong = []
    rows = tables["programs"]
    for m, n, draw, *found in rows.select("m", "n", "draw", "baseload", "optu", "optusw").rows():
        base, link, switch = (exact(each) or Fraction(0) for each in found)
        if not base <= link <= switch <= base * bounds.any_switch(FatTree(m, n)):
            wrong.append(f"FT({m},{n}), matrix {draw}: {base}, {link}, {switch}")
    return _none(wrong, len(rows), "matrices in that order")


def _all_paths(tables: Tables) -> Judgement:
    wrong, lowest, highest = [], False, False
    rows = tables["loads"]
    for m, n, name, *found in rows.select("m", "n", "matrix", "baseload", "link", "switch").rows():
        base, link, switch = (exact(each) or Fraction(0) for each in found)
        if not (link == base <= switch <= m * base):
            wrong.append(f"FT({m},{n}), {name}: base load {base}, link {link}, switch {switch}")
        lowest |= switch == base
        highest |= switch == m * base
    lower, upper = ("" if attained else "not " for attained in (lowest, highest))
    said = f"lower end {lower}attained, upper end {upper}attained"
    ends = judge.judged(lowest and highest, said, "both attained")
    return judge.together([_none(wrong, len(rows), "matrices within the bounds"), ends])


def _best_for_switches(tables: Tables) -> Judgement:
    wrong = [
        f"FT({m},{n}), matrix {draw}: {own}, least {least}"
        for m, n, draw, own, least in tables["programs"]
        .select("m", "n", "draw", "mdnvr_switch", "optusw")
        .rows()
        if exact(own) != exact(least)
    ]
    return _none(wrong, len(tables["programs"]), "matrices at the optimum")


def _best_case(tables: Tables) -> Judgement:
    rows = tables["neighbours"]
    by_scheme = {
        str(scheme): {
            tuple(where): load for *where, load in some.select("draw", "level", "place", "load").rows()
        }
        for (scheme,), some in rows.group_by("scheme", maintain_order=True)
    }
    first = by_scheme["MDNVR"]
    wrong = [scheme for scheme, found in by_scheme.items() if found != first]
    return _none(wrong, len(by_scheme), "routings with the same loads")


def _probabilities(tables: Tables) -> Judgement:
    """For irregular traffic on equal switches, as the claim has it; and where switches are irregular."""
    readings = {}
    for name in ("equal switches", "one core half as wide"):
        rows = tables["sets"].filter(switches=name)
        gains = [
            (exact(chosen) or 0) / (exact(alike) or 1)
            for alike, chosen in rows.select("alike", "chosen").rows()
        ]
        lower = sum(gain < 1 for gain in gains)
        measured = f"lower for {lower} of {len(gains)} sets, higher for {sum(gain > 1 for gain in gains)}"
        found = judge.judged(
            bool(gains) and lower > 0 and max(gains) <= 1, measured, "lower for one or more, higher for none"
        )
        readings[name] = found.not_reproducible(
            "MP-TH3.5.a: by linear programs no routing has a lower largest load than equal shares of all paths under "
            "any matrix, so none has under a set"
        )
    return judge.by_reading(readings)


def _none(wrong: list[str], number: int, what: str) -> Judgement:
    found = judge.judged(
        number > 0 and not wrong, f"{number - len(wrong)} of {number} {what}", f"all {number}"
    )
    return found.because("; ".join(wrong[: judge.SHOWN]))


def draw(tables: Tables) -> "Picture":
    """Largest switch load under MDNVR over base load; and what choosing probabilities gains."""
    figure, (spread, gains) = style.panels(1, 2)
    for place, tree in enumerate((SMALL, TREE)):
        rows = tables["loads"].filter(pl.col.baseload > 0, m=tree.m, n=tree.n)
        ratio = (rows["switch"] / rows["baseload"]).sort()
        share = [100 * (rank + 1) / len(ratio) for rank in range(len(ratio))]
        spread.step(
            ratio, share, where="post", label=f"{tree.m}-port {tree.n}-tree", color=style.COLOURS[place]
        )
    spread.set(
        title="MDNVR, random matrices",
        xlabel="largest switch load / base load",
        ylabel="matrices up to that (%)",
    )
    for place, ((name,), rows) in enumerate(tables["sets"].group_by("switches", maintain_order=True)):
        gains.plot(
            rows["draw"],
            rows["chosen"] / rows["alike"],
            linestyle="",
            marker=style.MARKERS[place],
            label=str(name),
        )
    gains.set(
        title="chosen probabilities against equal ones",
        xlabel="set of matrices",
        ylabel="ratio of largest loads",
    )
    for panel in (spread, gains):
        panel.legend()
    return figure


FIGURE = Figure(
    id="MP-TH3.5",
    title="Lemma 3.1, theorems 3.4 and 3.5: MDNVR against the best routing",
    tables=tables,
    claims={
        "MP-L3.1.a": _lemma_3_1,
        "MP-TH3.4.a": _all_paths,
        "MP-TH3.5.a": _best_for_switches,
        "MP-F5.4.b": _best_case,
        "MP-P9": _probabilities,
    },
    draw=draw,
    quick="100 of 1000 random matrices, 10 of 100 linear programs, 4 of 20 sets",
    needs={
        "loads": Needs(rows=MATRICES),
        "programs": Needs(rows=PROGRAMS),
        "sets": Needs(SETS, by=("switches",), column="draw"),
    },
    assumed=(
        "Random matrices have whole amounts 0 to 9 for all pairs, or for every 2nd, 5th or 20th.",
        "Probabilities are those that a linear program finds best for three matrices on FT(4,2), against equal ones; "
        "the second reading, where a core carries half as much as others, is ours.",
    ),
)
