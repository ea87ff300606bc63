"""The figures on fat-trees: verdicts on real tables, on tables with a number changed, and from CSV."""

import io
from itertools import permutations

import numpy as np
import polars as pl
import pytest
from conftest import quick_tables
from polars.testing import assert_frame_equal

from flowyard import topology
from flowyard.papers.judge import FAIL, NOT_REACHED, PASS
from flowyard.topology.paths import Paths
from flowyard_papers.across import fat_trees as across
from flowyard_papers.mp import fat_trees as trees
from flowyard_papers.mp import properties
from flowyard_papers.mp._labels import labels, levels, sub_trees, tree
from flowyard_papers.ndp import ecmp, table1
from flowyard_papers.ndp._fat_tree import worst_permutations

FIGURES = {module.FIGURE.id: module.FIGURE for module in (table1, ecmp, across, trees, properties)}
CLAIMS = {claim: figure.id for figure in FIGURES.values() for claim in figure.claims}


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    return {
        figure.id: quick_tables(figure, tmp_path_factory.mktemp(figure.id)) for figure in FIGURES.values()
    }


def judged(claim, tables):
    return FIGURES[CLAIMS[claim]].claims[claim](tables)


@pytest.mark.parametrize("claim", CLAIMS)
def test_every_claim_holds(claim, tables):
    found = judged(claim, tables[CLAIMS[claim]])
    assert found.verdict == PASS, found


# Claim, table, values that identify a row, column: one more there, and the claim no longer holds.
ONE_MORE = [
    *(
        (f"NDP-T1.{letter}", "numbers", {"k": k, "quantity": quantity}, column)
        for letter, k in (("a", 4), ("b", 8), ("c", 10))
        for quantity in table1.PRINTED
        for column in ("fewest", "most")
    ),
    ("NDP-T1.d", "numbers", {"k": 6, "quantity": "servers"}, "most"),
    ("NDP-T1.d", "numbers", {"k": 12, "quantity": "core switches"}, "fewest"),
    ("NDP-T1.d", "numbers", {"k": 12, "quantity": "ports of a switch"}, "most"),
    *(
        ("NDP-T1.e", "pairs", {"k": k, "servers_in": servers}, f"paths_{which}")
        for k, servers in ((4, "one edge switch"), (10, "one pod"), (12, "different pods"))
        for which in ("fewest", "most")
    ),
    ("NDP-T1.f", "core_links", {"k": 6}, "links_most"),
    ("NDP-T1.f", "core_links", {"k": 8}, "links_fewest"),
    *(
        ("NDP-T1.g", "worst_permutations", {"k": k, "from_tier": start, "to_tier": end}, "load_most")
        for k in (4, 6, 8)
        for start, end in (("edge", "host"), ("aggregation", "core"))
    ),
    *(
        (f"NDP-F2.{letter}", "alone", {"k": k, "ecmp": by, "replica": 2}, "paths")
        for k in (4, 6, 8)
        for letter, by in (("a", ecmp.FLOW), ("b", ecmp.PACKET))
    ),
    ("NDP-F2.a", "alone", {"k": 4, "ecmp": ecmp.FLOW, "replica": 0}, "reordered"),
    ("NDP-F2.a", "flows", {"k": 8, "replica": 1}, "reordered"),
    *(
        ("NDP-F2.c", "paths_used", {"k": k, "hashed": hashed}, f"paths_used_{which}")
        for k in (4, 6, 8)
        for hashed in (ecmp.WITHOUT, ecmp.WITH)
        for which in ("fewest", "most")
    ),
    *(
        ("ALL-1", "counts", {"k": k, "quantity": quantity}, column)
        for k, quantity in ((4, "servers"), (6, "switches"), (10, "cables"), (12, "paths between pods"))
        for column in ("ndp", "peq", "mp", "generated_fewest", "generated_most")
    ),
    ("MP-F1.4.a", "sizes", {"m": 4, "n": 3}, "nodes"),
    ("MP-F1.4.a", "sizes", {"m": 4, "n": 3}, "switches"),
    ("MP-F1.4.a", "pairs", {"source": "P(010)", "target": "P(201)"}, "paths"),
    *(
        ("MP-F1.4.b", "sizes", {"m": m, "n": n}, column)
        for m, n in ((2, 6), (4, 5), (8, 3), (16, 2), (32, 3))
        for column in ("nodes", "switches", "height", "ports_fewest", "paths_fewest", "paths_most")
    ),
    *(
        ("MP-F1.4.c", "ways", {"m": m, "n": n}, column)
        for m, n in ((4, 3), (8, 3), (16, 2))
        for column in ("cores", "node_to_core_fewest", "node_to_core_most", "through_core_most")
    ),
    *(
        ("MP-F3.2.a", "sizes", {"m": m, "n": n}, column)
        for m, n in ((2, 2), (4, 2), (4, 3))
        for column in ("nodes", "switches")
    ),
    *(
        ("MP-PR1.a", "sub_trees", {"m": m, "n": 3, "t": t}, column)
        for m, t in ((4, 1), (4, 2), (8, 1), (8, 2))
        for column in ("sub_trees", "nodes_fewest", "switches_most")
    ),
    *(
        ("MP-PR2.a", "pairs", {"m": 8, "n": 3, "t": t}, column)
        for t in (1, 2, 3)
        for column in ("paths_fewest", "paths_most")
    ),
    *(
        ("MP-PR3.a", "uses", {"m": 4, "n": 4, "of": kind, "level": level, "paths_of_pair": 8}, column)
        for kind in ("up link", "down link", "switch")
        for level in range(4)
        for column in ("paths_fewest", "paths_most")
    ),
    *(
        ("MP-PR5.a", "hosts_behind", {"m": 4, "n": 4, "what": what, "level": level}, column)
        for what in ("sources of up link", "destinations of down link", "sources of switch")
        for level in range(4)
        for column in ("hosts_fewest", "hosts_most")
    ),
]


@pytest.mark.parametrize(("claim", "table", "row", "column"), ONE_MORE)
def test_one_number_changed_fails_the_claim(claim, table, row, column, tables):
    before = tables[CLAIMS[claim]]
    chosen = pl.all_horizontal(pl.col(name) == value for name, value in row.items())
    assert before[table].filter(chosen).height == 1
    changed = pl.when(chosen).then(pl.col(column) + 1).otherwise(column).alias(column)
    found = judged(claim, {**before, table: before[table].with_columns(changed)})
    assert found.verdict == FAIL
    assert found.reason


def test_every_claim_is_tried_with_a_changed_number():
    assert {claim for claim, *_ in ONE_MORE} == CLAIMS.keys()


def test_a_load_just_above_the_rate_fails(tables):
    before = tables["NDP-T1"]
    loads = before["worst_permutations"].with_columns(pl.col("load_most") * (1 + 1e-9))
    assert judged("NDP-T1.g", {**before, "worst_permutations": loads}).verdict == FAIL


@pytest.mark.parametrize(("claim", "table"), sorted({one[:2] for one in ONE_MORE}))
def test_half_a_table_is_no_pass(claim, table, tables):
    """One of the halves, as a claim on a single row has that in the other."""
    before = tables[CLAIMS[claim]]
    half = len(before[table]) // 2
    parts = before[table].head(half), before[table].tail(-half)
    verdicts = {judged(claim, {**before, table: part}).verdict for part in parts}
    assert verdicts & {FAIL, NOT_REACHED}


@pytest.mark.parametrize("id", FIGURES)
def test_verdicts_from_csv_are_the_same(id, tables):  # noqa: A002
    read = {}
    for name, frame in tables[id].items():
        read[name] = pl.read_csv(io.StringIO(frame.write_csv()))
        assert_frame_equal(read[name], frame)
    for judge in FIGURES[id].claims.values():
        assert judge(read) == judge(tables[id])


@pytest.mark.parametrize("id", FIGURES)
def test_every_panel_shows_something(id, tables):  # noqa: A002
    panels = FIGURES[id].draw(tables[id]).axes
    assert panels
    assert all(panel.has_data() and panel.get_title() for panel in panels)


def test_table_1_of_the_paper_is_shown_with_its_misprints(tables):
    wrong = tables["NDP-T1"]["numbers"].filter(pl.col.printed != pl.col.most)
    assert wrong.select("k", "quantity", "printed", "most").rows() == [
        (8, "edge switches", 24, 32),
        (8, "aggregation switches", 24, 32),
        (10, "paths between pods", 50, 25),
    ]


@pytest.mark.parametrize(
    ("parameters", "heaviest"),
    [
        ({"fat-tree": {"k": 4, "levels": 2}}, 1),
        # Three hosts share a leaf's only cable, or two.
        ({"leaf-spine": {"leaves": 2, "spines": 1, "hosts": 3}}, 3),
        ({"leaf-spine": {"leaves": 2, "spines": 2, "hosts": 3}}, 1.5),
    ],
)
def test_the_worst_permutation_is_that_of_all(parameters, heaviest):
    built = topology.network({"topology": parameters})
    paths = Paths.of(built)
    every = np.array(list(permutations(range(built.hosts))))
    expected: dict[tuple[str, str], list[float]] = {}
    for link, (start, end) in enumerate(paths.links):
        share = paths.through_link(link) / paths.between_hosts()[1]
        load = share[np.arange(built.hosts), every].sum(axis=1).max()
        expected.setdefault((built.nodes[start].tier, built.nodes[end].tier), []).append(load)
    rows = list(worst_permutations(built, paths))
    assert max(row["load_most"] for row in rows) == heaviest
    for row in rows:
        loads = expected.pop((row["from_tier"], row["to_tier"]))
        assert row["links"] == len(loads)
        assert (row["load_least"], row["load_most"]) == pytest.approx((min(loads), max(loads)))
    assert not expected


def wired(m, n):
    """Definition: P(p) is at SW<p less its last digit, n - 1>; SW<w, l> meets SW<v, l + 1> if all but digit l agree."""
    half = m // 2

    def words(length, first):
        if length == 0:
            return [""]
        return [str(a) + b for a in range(first) for b in words(length - 1, half)]

    cables = {frozenset((f"P({p})", f"SW<{p[:-1]}, {n - 1}>")) for p in words(n, m)}
    for level in range(n - 1):
        for upper in words(n - 1, m if level else half):
            for lower in words(n - 1, m):
                if upper[:level] == lower[:level] and upper[level + 1 :] == lower[level + 1 :]:
                    cables.add(frozenset((f"SW<{upper}, {level}>", f"SW<{lower}, {level + 1}>")))
    return cables


@pytest.mark.parametrize(("m", "n"), [(2, 2), (2, 4), (4, 2), (4, 3), (4, 4), (8, 2), (8, 3)])
def test_labels_are_wired_as_defined(m, n):
    built, names = tree(m, n), labels(m, n)
    assert len(names) == len(set(names)) == len(built.nodes)
    assert {frozenset((names[cable.a], names[cable.b])) for cable in built.cables} == wired(m, n)
    level = levels(built)
    assert all(name.endswith(f", {own}>") or own == n for name, own in zip(names, level, strict=True))
    # Nodes of one SUBFT(m,t) agree in their first n - t digits.
    for t in range(1, n):
        part = sub_trees(built, level, t)[: built.hosts].tolist()
        digits = [name[2 : 2 + n - t] for name in names[: built.hosts]]
        assert len(set(zip(part, digits, strict=True))) == len(set(part)) == len(set(digits))


def test_long_digits_are_told_apart():
    names = labels(32, 2)
    assert len(names) == len(set(names)) == len(tree(32, 2).nodes)
    assert names[:17:16] == ["P(0,0)", "P(1,0)"]
