"""Tables 5.1 and 5.2, figures 5.4, 5.5, 5.8 and 5.9: traffic patterns on FT(4,3), and loads under Stride(4).

A pair is E if one edge switch joins it, A if it stays in its pod, I if it goes to another: the levels 2, 1 and 0.
"""

from fractions import Fraction
from statistics import fmean
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Needs, Tables
from flowyard_papers.mp._exact import exact, same, value
from flowyard_papers.mp._patterns import COUNTED, DIGITS, DRAWS, FORMULA, LEVELS, PRINTED, tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture


def _stride(tables: Tables, step: int) -> list[tuple[str, str | None, str]]:
    rows = tables["entries"].filter(pattern=f"Stride({step})")
    found = [(s, d) for s, d, amount in rows.select("source", "target", "amount").rows() if amount == 1]
    targets = dict(found)
    one = [(f"entries of Stride({step})", str(len(rows)), "16")]
    return one + [
        (f"Stride({step}), row {i}", None if i not in targets else str(targets[i]), str((i + step) % 16))
        for i in range(16)
    ]


def _table_5_1(tables: Tables) -> Judgement:
    """The printed labels: node i of a pod to the same node of the next pod; each is a target once."""
    nodes = [f"P({pod}{edge}{port})" for pod in range(4) for edge in (0, 1) for port in (0, 1)]
    sent = dict(tables["table_5_1"].rows())
    rows = [(f"node {own}", sent.get(own), nodes[(place + 4) % 16]) for place, own in enumerate(nodes)]
    return judge.together(
        [judge.all_exactly(rows, "rows"), judge.exactly(len(set(sent.values())), 16).called("targets")]
    )


def _matrices(tables: Tables) -> Judgement:
    return judge.all_exactly([*_stride(tables, 2), *_stride(tables, 4)], "rows")


def _senders(tables: Tables) -> Judgement:
    rows: list[tuple[str, int, int]] = []
    for number in (3, 5, 7):
        some = tables["entries"].filter(pl.col.amount == 1, pattern=f"{number} Senders")
        rows.append((f"diagonal of {number} Senders", len(some.filter(pl.col.source == pl.col.target)), 0))
        for end in ("source", "target"):
            rows += [
                (f"{end} {i} of {number} Senders", len(some.filter(pl.col(end) == i)), number)
                for i in range(16)
            ]
    return judge.all_exactly(rows, "counts")


def _pairs(tables: Tables, pattern: str, expected: tuple[int, int, int]) -> Judgement:
    rows = [
        (
            f"{letter} pairs of {pattern}",
            value(tables["levels"], "pairs", pattern=pattern, pairs_of=letter),
            number,
        )
        for letter, number in zip(LEVELS, expected, strict=True)
    ]
    return same(rows, f"counts of {pattern}")


def _decomposition(tables: Tables) -> Judgement:
    return _pairs(tables, "all pairs", (192, 32, 16))


def _strides_by_level(tables: Tables) -> Judgement:
    return judge.together([_pairs(tables, "Stride(4)", (16, 0, 0)), _pairs(tables, "Stride(2)", (8, 8, 0))])


def _row(tables: Tables, scheme: str, reading: str) -> list[Fraction | None]:
    return [
        value(tables["loads"], name, scheme=scheme, reading=reading) for name in ("load_0", "load_1", "ratio")
    ]


def _table_5_2(tables: Tables) -> Judgement:
    """Counted, and by the formulas."""
    readings = {}
    for reading in (COUNTED, FORMULA):
        rows = [
            (f"{name} of {scheme}", found, expected)
            for scheme, values in PRINTED.items()
            for name, found, expected in zip(
                ("level 0", "level 1", "ratio"), _row(tables, scheme, reading), values, strict=True
            )
        ]
        readings[reading] = same(rows, "entries")
    return judge.by_reading(readings)


def _dnvr_row(tables: Tables) -> Judgement:
    exists = [
        ("worst link load", value(tables["worst"], "link", scheme="DNVR"), 2),
        *(
            (name, found, expected)
            for name, found, expected in zip(
                ("level 0", "level 1", "ratio"), _row(tables, "DNVR", COUNTED), (8, 8, 2), strict=True
            )
        ),
    ]
    others = [
        (f"{name} of {scheme}", found, expected)
        for scheme in (DIGITS, "d-mod-k", "s-mod-k")
        for name, found, expected in zip(
            ("level 0", "level 1", "ratio"), _row(tables, scheme, COUNTED), (4, 4, 1), strict=True
        )
    ]
    drawn = tables["draws"].filter(paths=1)["ratio"].to_list()
    beyond = [ratio for ratio in drawn if not 1 <= ratio <= 3]
    return judge.together(
        [
            same(exists, "values of one assignment"),
            same(others, "values of rules"),
            judge.within(fmean(drawn), 1.60, relative=0.03).called("mean ratio of random paths"),
            judge.judged(not beyond, f"their ratios: {min(drawn):g} to {max(drawn):g}", "1 to 3").because(
                f"{len(beyond)} of {len(drawn)} draws of one path are beyond, which more draws would be, too"
            ),
        ]
    )


def _two_random_paths(tables: Tables) -> Judgement:
    return judge.within(fmean(tables["draws"].filter(paths=2)["ratio"].to_list()), 1.35, relative=0.03)


def _dual(tables: Tables) -> Judgement:
    stride = zip(("level 0", "level 1", "ratio"), _row(tables, "Dual", COUNTED), (4, 4, 1), strict=True)
    worst = [
        (f"worst {name}", value(tables["worst"], name, scheme="Dual"), expected)
        for name, expected in (("link", 2), ("core", 4), ("aggregation", 4), ("perfsw", 2))
    ]
    return same([*stride, *worst], "values")


def _theorem_5_5(tables: Tables) -> Judgement:
    """All but the digit rule, whose paths are no bad choice, reach their bounds."""
    rows = tables["worst_stride"].filter(pl.col.scheme != DIGITS)
    needed = {
        (m, n, scheme)
        for m, n in ((4, 2), (4, 3), (8, 2), (4, 4))
        for scheme in ("NR", "MDNVR", "MDNVRk, k = 2")
    }
    needed |= {(4, 3, "DNVR"), (4, 3, "MDNVRk, k = 4")}
    if lacking := sorted(needed - set(rows.select("m", "n", "scheme").rows())):
        return judge.not_reached(f"no load of {lacking[0]}")
    reached = [
        (f"{scheme} on FT({m},{n})", exact(load), exact(bound) or 0)
        for m, n, scheme, load, bound in rows.select("m", "n", "scheme", "load", "bound").rows()
    ]
    rule = [("the digit rule", value(tables["worst_stride"], "load", m=4, n=3, scheme=DIGITS), 4)]
    return judge.together([same(reached, "loads and bounds"), same(rule, "loads of the digit rule")])


def draw(tables: Tables) -> "Picture":
    """The matrices with the levels of their pairs; ratios of random paths under Stride(4)."""
    figure, (stride, senders, drawn) = style.panels(1, 3, size=(4.0, 3.6))
    for panel, names in (
        (stride, ("Stride(2)", "Stride(4)")),
        (senders, ("3 Senders", "5 Senders", "7 Senders")),
    ):
        for place, name in enumerate(names):
            rows = tables["entries"].filter(pattern=name)
            looks: Any = {"fillstyle": "none", "markersize": 7 - 2 * place, "label": name}
            panel.plot(rows["target"], rows["source"], linestyle="", marker=style.MARKERS[place], **looks)
        panel.set(xlabel="target", ylabel="source", xlim=(-0.5, 15.5), ylim=(15.5, -0.5))
        panel.set_xticks(range(0, 16, 4))
        panel.set_yticks(range(0, 16, 4))
        panel.legend(loc="upper center", bbox_to_anchor=(0.5, 1.12), ncols=3, fontsize=7)
    for place, (paths, number) in enumerate(DRAWS.items()):
        ratio = tables["draws"].filter(paths=paths)["ratio"].value_counts().sort("ratio")
        share = 100 * ratio["count"] / ratio["count"].sum()
        drawn.plot(
            ratio["ratio"], share, marker=style.MARKERS[place], label=f"{paths} of 4 paths, {number} draws"
        )
    drawn.set(
        title="random paths under Stride(4)", xlabel="switch load over the least", ylabel="share of draws (%)"
    )
    drawn.legend()
    return figure


FIGURE = Figure(
    id="MP-T5.2",
    title="Tables 5.1 and 5.2, figures 5.4 to 5.9: traffic patterns, and loads under Stride(4)",
    tables=tables,
    claims={
        "MP-TH5.5.a": _theorem_5_5,
        "MP-F5.4.a": _decomposition,
        "MP-F5.5.a": _strides_by_level,
        "MP-T5.1.a": _table_5_1,
        "MP-T5.2.a": _table_5_2,
        "MP-T5.2.b": _dnvr_row,
        "MP-T5.2.c": _two_random_paths,
        "MP-T5.2.d": _dual,
        "MP-F5.8.a": _matrices,
        "MP-F5.9.a": _senders,
    },
    draw=draw,
    quick="200 of 2000 and 100 of 1000 draws of random paths",
    needs={
        "draws": [Needs(number, column="draw", where={"paths": paths}) for paths, number in DRAWS.items()],
    },
    assumed=(
        "k Senders: node j receives from j + 4, 8, 12, 2, 6, 10, 14, the first k of these; the text lacks figure 5.9.",
        "MDNVRk has all pairs on the leftmost ceil(X/k) of their paths. DNVR has link-optimal paths, found by search, "
        "that load a core and an aggregation switch with as much as theorem 3.3 allows.",
    ),
)
