"""PEQ-P1 to P5, P16 and the search PEQ-COMBINATIONS: conclusions over figures 3.5 to 3.16, on short runs."""

from dataclasses import replace

import polars as pl
import pytest

from flowyard import sweeps
from flowyard.papers.figure import Scale
from flowyard.papers.judge import FAIL, NOT_REACHED, PASS
from flowyard.sweeps.tables import Sweep
from flowyard_papers.peq import _gains as gains
from flowyard_papers.peq import _load as load
from flowyard_papers.peq import combinations
from flowyard_papers.peq.conclusions import FCT, FIGURE, FIGURES, draw, plans

GOOD = {
    "PEQ": 40.0,
    "PDQ": 38.5,
    "PDQ, strict": 38.5,
    "Stateful D3": 38.0,
    "D3": 22.0,
    "Stateful D3, quench": 38.0,
    "D3, quench": 22.0,
}


def made(throughput=GOOD, completion=(50.0, 60.0), change=lambda _: 0.0):
    """Tables of the schemes' throughputs plus a change, and of the completion times of PEQ and PDQ."""
    averages = [
        row | {load.THROUGHPUT: value + replica + change(row)}
        for number in FIGURES
        for mode in load.MODES
        for replica in (0, 1)
        for scheme, value in throughput.items()
        for row in ({"figure": f"figure {number}", "mode": mode, "replica": replica, "scheme": scheme},)
    ]
    times = [
        {"figure": f"figure {number}", "servers": 40, "probability": 0.1, "deadline_mean_slots": 60}
        | {"size_max_packets": 198, "replica": replica}
        | {f"peq_{FCT}": completion[0] + replica}
        | {f"{name}_{FCT}": completion[1] + replica for name in ("pdq", "pdq_strict")}
        for number in FIGURES
        for replica in (0, 1)
    ]
    return {"gains": gains.table(pl.DataFrame(averages)), "completion": pl.DataFrame(times)}


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    results = {}
    for name, plan in plans(Scale.QUICK).items():
        folder = tmp_path_factory.mktemp("sweep") / name
        seeds = 2 if name.endswith("mode-A") else 1
        assert not sweeps.execute(
            replace(plan, axes={**plan.axes, "slots": (20_000,)}, replicas=seeds), folder
        ).failed
        results[name] = Sweep(folder)
    return FIGURE.tables(Scale.QUICK, results)


def test_every_figure_is_in_the_averages_with_its_own_points(short):
    averages = short["averages"]
    assert len(FIGURES) == 12
    for number in FIGURES:
        rows = averages.filter(figure=f"figure {number}", mode="A")
        assert set(rows["scheme"]) == {*load.SCHEMES, *load.STRICT, *load.QUENCHED}
        assert set(rows["points"]) == {3}
    # Twelve figures of three points, two seeds.
    assert len(short["completion"]) == 72
    # Offered load tells the figures apart: 40, 60, 80 and 100 servers.
    loads = [averages.filter(figure=f"figure 3.{n}", mode="A")["offered_load"].mean() for n in (5, 6, 7, 8)]
    for servers, measured in zip((40, 60, 80, 100), loads, strict=True):
        # Some 600 flows or more, whose sum of sizes spreads by 5 %.
        assert measured == pytest.approx(servers / 40, rel=0.2)


@pytest.mark.parametrize(
    ("claim", "scheme", "values"),
    [
        ("PEQ-P1", "PDQ", {36.9: FAIL, 37.1: PASS, 39.4: PASS, 39.6: FAIL, 41.0: FAIL}),
        ("PEQ-P2", "D3", {14.9: FAIL, 15.1: PASS, 27.9: PASS, 28.1: FAIL}),
        ("PEQ-P3", "D3", {12.9: FAIL, 13.1: PASS, 25.9: PASS, 26.1: FAIL}),
        ("PEQ-P4", "Stateful D3", {34.9: FAIL, 35.1: PASS, 39.9: PASS, 40.1: FAIL}),
    ],
)
def test_gains_must_be_in_range(claim, scheme, values):
    judge = FIGURE.claims[claim]
    for value, verdict in values.items():
        assert judge(made(GOOD | {scheme: value})).verdict == verdict
    tables = made()
    either = (pl.col("better") == scheme) | (pl.col("worse") == scheme)
    some = tables["gains"].remove(either, figure="figure 3.9")
    found = judge(tables | {"gains": some})
    assert {one.verdict for _, one in found.readings} == {NOT_REACHED}


def by_reading(judge, *args, **more):
    return {name: one.verdict for name, one in judge(made(*args, **more)).readings}


def test_a_gain_has_a_verdict_for_each_mode_and_unit():
    # 40 over 38.5 (and half a replica each) is 1.5 points, and 3.85 %: too much.
    judge = FIGURE.claims["PEQ-P1"]
    assert by_reading(judge) == {
        f"mode {mode}, {unit}{variant}": verdict
        for variant in ("", ", strict")
        for unit, verdict in (("pp", PASS), ("% relative", FAIL))
        for mode in load.MODES
    }
    for mode in load.MODES:
        found = by_reading(
            judge, change=lambda row, mode=mode: -5.0 * (row["mode"] == mode and row["scheme"] == "PEQ")
        )
        assert found[f"mode {mode}, pp"] == FAIL
    # Where both are higher, 1.5 points are less of them.
    assert by_reading(judge, change=lambda _: 30.0)["mode A, % relative"] == PASS
    # 2.5 of 3: the relative gain counts in its own unit.
    assert by_reading(judge, {**GOOD, "PEQ": 3.0, "PDQ": 2.5})["mode A, % relative"] == FAIL


def test_quenching_is_a_reading_of_its_own():
    for claim, expected in (("PEQ-P3", FAIL), ("PEQ-P4", PASS)):
        found = by_reading(FIGURE.claims[claim], GOOD | {"D3, quench": 37.0, "Stateful D3, quench": 39.0})
        assert found["mode A, pp"] == PASS
        assert found["mode A, pp, quench"] == expected
    assert not any("quench" in name for name in by_reading(FIGURE.claims["PEQ-P2"]))


def test_a_strict_pdq_is_a_reading_of_its_own():
    found = by_reading(FIGURE.claims["PEQ-P1"], GOOD | {"PDQ, strict": 39.9})
    assert (found["mode A, pp"], found["mode A, pp, strict"]) == (PASS, FAIL)
    assert not any("strict" in name for name in by_reading(FIGURE.claims["PEQ-P3"]))


def test_each_figure_counts_the_same():
    # 12 points more in one of 12 figures is one more on average: from 1.5 to 2.5, then to 3.5.
    judge = FIGURE.claims["PEQ-P1"]
    for change, verdict in ((12.0, PASS), (24.0, FAIL)):
        more = made(
            change=lambda row, change=change: (
                change * (row["figure"] == "figure 3.5" and row["scheme"] == "PEQ")
            )
        )
        assert judge(more).verdict == verdict


def test_peq_must_complete_sooner_everywhere():
    judge = FIGURE.claims["PEQ-P5"]
    assert judge(made()).verdict == PASS
    assert judge(made(completion=(50.0, 50.0))).verdict == FAIL
    tables = made()
    later = pl.when(figure="figure 3.7").then(70.0).otherwise(pl.col(f"peq_{FCT}")).alias(f"peq_{FCT}")
    assert judge(tables | {"completion": tables["completion"].with_columns(later)}).verdict == FAIL
    strict = pl.col(f"pdq_strict_{FCT}") - 20
    found = judge(tables | {"completion": tables["completion"].with_columns(strict)})
    assert [one.verdict for _, one in found.readings] == [PASS, FAIL]
    some = tables["completion"].remove(figure="figure 3.7")
    assert judge(tables | {"completion": some}).verdict == NOT_REACHED


@pytest.mark.parametrize("column", ["slots", "servers", "size_mean_packets", "flows", "flows_per_server"])
def test_full_load_is_exact(short, column):
    judge = FIGURE.claims["PEQ-P16"]
    assert judge(short).verdict == PASS
    assert judge({"full_load": short["full_load"].with_columns(pl.col(column) + 1)}).verdict == FAIL


def test_verdicts_and_picture_survive_csv(short, tmp_path):
    for name, table in short.items():
        table.write_csv(tmp_path / name)
    again = {name: pl.read_csv(tmp_path / name, infer_schema_length=None) for name in short}
    for judge in FIGURE.claims.values():
        assert judge(again) == judge(short)
        assert judge(again).verdict != NOT_REACHED
    assert len(draw(again).axes) == 6


@pytest.fixture(scope="module")
def searched(tmp_path_factory):
    results = {}
    for name, plan in combinations.plans(Scale.QUICK).items():
        folder = tmp_path_factory.mktemp("search") / name
        assert not sweeps.execute(replace(plan, axes={**plan.axes, "slots": (10_000,)}), folder).failed
        results[name] = Sweep(folder)
    return combinations.FIGURE.tables(Scale.QUICK, results)


def test_the_search_has_each_combination_once(searched):
    table = searched["combinations"]
    names = ["mode", "pdq", "d3", "stateful_d3"]
    assert len(table) == table.select(names).n_unique() == 240
    # A claim that is met is one whose gain is in its range.
    for unit in combinations.UNITS:
        met = pl.sum_horizontal(
            pl.col(f"{claim}_{unit}").is_between(*gains.CLAIMED[pair])
            for claim, pair in combinations.CLAIMS.items()
        )
        assert table.select((met == pl.col(f"met_{unit}")).all()).item()
    assert table.select((pl.col("p2_pp") - pl.col("p3_pp") - pl.col("p4_pp")).abs().max()).item() < 1e-9
    assert searched["met"]["combinations"].to_list() == [80] * 6
    assert combinations.draw(searched).axes


def test_the_search_would_find_a_combination():
    means = [
        {"mode": "B", "scheme": scheme, load.THROUGHPUT: GOOD.get(scheme.split(":")[0], 0.0)}
        for scheme in combinations.schemes()
    ]
    # As the conclusions have it, but for one of the rules of PDQ.
    means = [row | {load.THROUGHPUT: 50.0} if row["scheme"] == "PDQ: expired" else row for row in means]
    rows = combinations._combined("B", pl.DataFrame(means))
    assert sum(row["met_pp"] == 4 for row in rows) == 64
    assert {row["pdq"] for row in rows if row["met_pp"] < 4} == {"expired"}
