"""Figures of balancers on asymmetric networks: real quick tables, and numbers that make their claims fail."""

import polars as pl
import pytest
from figure_judges import check_real_tables, verdict

from flowyard.papers.figure import Scale
from flowyard.papers.judge import FAIL, NOT_REACHED, PASS
from flowyard_papers.literature import conga, detail, drill, flowbender, hermes, letflow, presto

MODULES = (conga, letflow, drill, flowbender, presto, detail, hermes)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.FIGURE.id)
def test_verdicts_of_real_tables(module, made):
    check_real_tables(module, made(module.FIGURE))


def shares(off=1.0, schemes=tuple(conga.PASSED_GBPS)):
    rows = [{"scheme": name, "passed_gbps": conga.PASSED_GBPS[name] * off} for name in schemes]
    return {"shares": pl.DataFrame(rows)}


def test_what_two_spines_pass():
    assert verdict(conga, "a", shares()) == PASS
    assert verdict(conga, "a", shares(0.96)) == PASS
    assert verdict(conga, "a", shares(0.94)) == FAIL
    assert verdict(conga, "a", shares(1.06)) == FAIL
    assert verdict(conga, "a", shares(schemes=(conga.ECMP, conga.CONGA))) == NOT_REACHED


def growth(below=0.0, above=1.6, high=0.0):
    points = ((conga.ECMP, 0.48, below), (conga.ECMP, 0.52, above), (conga.CONGA, 0.7, high))
    rows = [
        {"scheme": scheme, "load": load, "replica": replica, "growth_gbps": value}
        for scheme, load, value in points
        for replica in range(2)
    ]
    return {"saturation": pl.DataFrame(rows)}


def test_saturation():
    assert verdict(conga, "b", growth()) == PASS
    assert verdict(conga, "b", growth(below=0.81)) == FAIL
    assert verdict(conga, "b", growth(above=0.79)) == FAIL
    assert verdict(conga, "b", growth(high=0.81)) == FAIL
    assert verdict(conga, "b", {"saturation": growth()["saturation"].filter(load=0.48)}) == NOT_REACHED


def completion(means, **point):
    """Two runs of each scheme at a point, with its mean completion time."""
    rows = [
        {"scheme": scheme, "replica": replica, "fct_mean_ms": mean, **point}
        for scheme, mean in means.items()
        for replica in range(2)
    ]
    return pl.DataFrame(rows, schema_overrides={"fct_mean_ms": pl.Float64})


@pytest.mark.parametrize(
    ("ecmp", "expected"), [(19.0, FAIL), (20.0, PASS), (100.0, PASS), (101.0, FAIL), (None, NOT_REACHED)]
)
def test_completion_under_conga(ecmp, expected):
    runs = completion({conga.ECMP: ecmp, conga.CONGA: 10.0})
    assert verdict(conga, "c", {"runs": runs}) == expected


def by_load(network, loads, ratios):
    """Completion times at loads: 10 ms under LetFlow, and those of others by its ratio to them."""
    frames = [
        completion(
            {letflow.LETFLOW: 10.0} | {name: 10 / ratio for name, ratio in ratios(load).items()}, load=load
        )
        for load in loads
    ]
    return {network: pl.concat(frames)}


@pytest.mark.parametrize(("ratio", "expected"), [(0.91, PASS), (1.29, PASS), (0.89, FAIL), (1.31, FAIL)])
def test_letflow_beside_conga(ratio, expected):
    own = by_load(
        "testbed", letflow.TESTBED_LOADS, lambda load: {letflow.CONGA: ratio if load == 0.4 else 1.0}
    )
    assert verdict(letflow, "a", own) == expected
    assert verdict(letflow, "a", {"testbed": own["testbed"].filter(pl.col("load") < 0.5)}) == NOT_REACHED


@pytest.mark.parametrize(
    ("conga", "wcmp", "presto", "expected"),
    [(2.19, 0.9, 0.9, PASS), (2.21, 0.9, 0.9, FAIL), (1.0, 1.01, 0.9, FAIL), (1.0, 0.9, 1.01, FAIL)],
)
def test_letflow_under_large_asymmetry(conga, wcmp, presto, expected):
    ratios = {letflow.CONGA: conga, letflow.WCMP: wcmp, letflow.PRESTO: presto}
    own = by_load("fabric", letflow.FABRIC_LOADS, lambda _: ratios)
    assert verdict(letflow, "b", own) == expected
    assert verdict(letflow, "b", {"fabric": own["fabric"].filter(scheme=letflow.CONGA)}) == NOT_REACHED


@pytest.mark.parametrize(
    ("conga", "presto", "expected"),
    [(11.1, 11.1, PASS), (10.9, 11.1, FAIL), (11.1, 10.9, FAIL), (None, 11.1, NOT_REACHED)],
)
def test_drill_at_a_high_load(conga, presto, expected):
    means = {drill.DRILL: 10.0, drill.CONGA: conga, drill.PRESTO: presto}
    assert verdict(drill, "a", {"runs": completion(means, load=0.8)}) == expected


def test_a_stride_under_presto():
    for goodput, expected in ((143.0, PASS), (142.0, FAIL), (158.0, FAIL)):
        rows = {"network": [presto.SWITCH, presto.PRESTO], "goodput_gbps": [150.0, goodput]}
        assert verdict(presto, "a", {"stride": pl.DataFrame(rows)}) == expected
    assert verdict(presto, "a", {"stride": pl.DataFrame(rows).filter(network=presto.SWITCH)}) == NOT_REACHED


def kept(factor, at=(presto.WEIGHTED, 0.5)):
    """The goodput that is left is that of the bound, at one point so many times it."""
    rows = [
        {
            "weights": weights,
            "share": share,
            "kept": presto.bound(weights, share) * (factor if (weights, share) == at else 1),
        }
        for weights in (presto.EQUAL, presto.WEIGHTED)
        for share in presto.SHARES
    ]
    return pl.DataFrame(rows)


def test_a_slow_path_under_presto():
    assert [presto.bound(presto.EQUAL, 0.5), presto.bound(presto.WEIGHTED, 0.5)] == [0.5, 0.875]
    assert verdict(presto, "b", {"slow": kept(1.04)}) == PASS
    assert verdict(presto, "b", {"slow": kept(1.06)}) == FAIL
    assert verdict(presto, "b", {"slow": kept(1.06, (presto.EQUAL, 0.25))}) == FAIL
    assert verdict(presto, "b", {"slow": kept(1.0).filter(weights=presto.EQUAL)}) == NOT_REACHED


def repathing(changes=None):
    """Under FlowBender and PLB all measures are below those under ECMP; others where `changes` says so."""
    rows = [
        {
            "scheme": scheme,
            "load": load,
            "fct_mean_ms": 2.0,
            "short_p99_ms": 2.0,
            flowbender.IMBALANCE: 0.2,
            "drops": 20.0,
        }
        if scheme == flowbender.ECMP
        else {
            "scheme": scheme,
            "load": load,
            "fct_mean_ms": 1.0,
            "short_p99_ms": 1.0,
            flowbender.IMBALANCE: 0.1,
            "drops": 10.0,
        }
        | ((changes or {}) if load == 0.5 else {})
        for scheme in flowbender.REPATHING
        for load in flowbender.LOADS
    ]
    return {"runs": pl.DataFrame(rows)}


def test_hosts_that_change_paths():
    assert {verdict(flowbender, letter, repathing()) for letter in "ab"} == {PASS}
    assert verdict(flowbender, "a", repathing({"fct_mean_ms": 2.1})) == FAIL
    assert {verdict(flowbender, letter, repathing({"short_p99_ms": 2.1})) for letter in "ab"} == {FAIL}
    assert verdict(flowbender, "b", repathing({flowbender.IMBALANCE: 0.3})) == FAIL
    assert verdict(flowbender, "b", repathing({"drops": 20.0})) == FAIL
    none = repathing({"drops": 0.0})["runs"].with_columns(drops=pl.lit(0.0))
    assert verdict(flowbender, "b", {"runs": none}) == PASS
    assert verdict(flowbender, "a", {"runs": none.filter(scheme=flowbender.PLB)}) == NOT_REACHED


def queries(tail=0.69, median=1.0):
    """Percentiles of all queries under DeTail, where those under priorities are 1."""
    rows = {
        "scheme": [detail.DETAIL, detail.PRIORITY],
        "size_kb": [0, 0],
        detail.TAIL: [tail, 1.0],
        detail.MEDIAN: [median, 1.0],
    }
    return {"runs": pl.DataFrame(rows)}


def test_queries_under_detail():
    assert {verdict(detail, letter, queries()) for letter in "ab"} == {PASS}
    assert verdict(detail, "a", queries(tail=0.71)) == FAIL
    assert verdict(detail, "b", queries(median=1.26)) == FAIL
    assert verdict(detail, "b", queries(median=0.79)) == FAIL
    some = {"runs": queries()["runs"].filter(scheme=detail.DETAIL)}
    assert {verdict(detail, letter, some) for letter in "ab"} == {NOT_REACHED}


def resilience(other=11.0, condition=hermes.SLOW, schemes=tuple(hermes.BALANCERS)):
    """Flows take 10 ms under Hermes, and under CONGA so long under one condition, else 11 ms, as under all others."""
    rows = [
        {
            "scheme": scheme,
            "condition": at,
            hermes.MEAN: 10.0
            if scheme == hermes.HERMES
            else (other if (scheme, at) == (hermes.CONGA, condition) else 11.0),
        }
        for scheme in schemes
        for at in hermes.CONDITIONS
    ]
    return {"runs": pl.DataFrame(rows)}


def test_hermes_and_the_others():
    assert {verdict(hermes, letter, resilience()) for letter in "ab"} == {PASS}
    assert verdict(hermes, "a", resilience(9.9)) == FAIL
    assert verdict(hermes, "b", resilience(9.9)) == PASS
    assert verdict(hermes, "b", resilience(9.9, hermes.LOSSES)) == FAIL
    judgement = hermes.FIGURE.claims["LIT-HERMES.b"](resilience(9.9, hermes.BLACK_HOLE))
    assert [reading.verdict for _, reading in judgement.readings] == [PASS, FAIL]
    assert verdict(hermes, "a", resilience(schemes=(hermes.HERMES,))) == NOT_REACHED


def test_loads_are_of_the_cables_above_the_leaves():
    """CONGA's testbed: of 160 Gbps 32 hosts of 10 Gbps send as much as half of their rate is."""
    (plan,) = (plan for name, plan in letflow.plans(Scale.FULL).items() if name == "testbed")
    (axis,) = (axis for axis in plan.axes if axis.name == "load")
    (hosts,) = axis.set.values()
    assert hosts == pytest.approx([load * 160 / 320 for load in letflow.TESTBED_LOADS])
