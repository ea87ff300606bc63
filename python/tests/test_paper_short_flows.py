"""LIT-REPFLOW, LIT-HULL, LIT-NUM, LIT-L2DCT, LIT-QCN: real quick tables, and numbers that make their claims fail."""

import polars as pl
import pytest
from figure_judges import check_real_tables, verdict

from flowyard.papers.judge import FAIL, NOT_REACHED, PASS
from flowyard_papers.literature import hull, l2dct, numfabric, qcn, repflow

MODULES = (repflow, hull, numfabric, l2dct, qcn)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.FIGURE.id)
def test_verdicts_of_real_tables(module, made):
    check_real_tables(module, made(module.FIGURE))


def short(mean=0.7, tail=0.7, syn=0.9, loads=repflow.LOADS):
    """Times of RepFlow and of RepSYN's tail, where TCP takes 1; they are worse than 0.1 at a load of 0.6 alone."""
    rows = [
        {
            "stack": stack,
            "load": load,
            "mean_ms": mean if stack == repflow.REPFLOW and load == 0.6 else of,
            "p99_ms": {repflow.REPFLOW: tail, repflow.REPSYN: syn}.get(stack, of) if load == 0.6 else of,
        }
        for stack, of in ((repflow.TCP, 1.0), (repflow.REPFLOW, 0.1), (repflow.REPSYN, 0.1))
        for load in loads
    ]
    return {"points": pl.DataFrame(rows, schema_overrides={"mean_ms": pl.Float64, "p99_ms": pl.Float64})}


def test_flows_over_two_connections():
    assert {verdict(repflow, letter, short()) for letter in "abc"} == {PASS}
    assert verdict(repflow, "a", short(mean=0.71)) == FAIL
    assert verdict(repflow, "b", short(tail=0.71)) == FAIL
    assert verdict(repflow, "c", short(syn=1.01)) == FAIL
    assert verdict(repflow, "c", short(tail=None)) == NOT_REACHED
    assert {verdict(repflow, letter, short(loads=(0.4,))) for letter in "abc"} == {NOT_REACHED}


def port(goodput=0.85, queue=1.5, rate="10 Gbps", flows=hull.FLOWS):
    """A port under HULL; with four flows at one rate it is as given."""
    rows = [
        {
            "rate": of,
            "stack": hull.HULL,
            "senders": n,
            "goodput": goodput if (of, n) == (rate, 4) else 0.85,
            "queue_packets": queue if (of, n) == (rate, 4) else 1.5,
        }
        for of in hull.RATES
        for n in flows
    ]
    return {"points": pl.DataFrame(rows)}


@pytest.mark.parametrize(("reading", "rate"), list(enumerate(hull.RATES)))
def test_a_port_under_hull(reading, rate):
    for goodput, expected in ((0.777, PASS), (0.775, FAIL), (0.952, PASS), (0.953, FAIL)):
        assert verdict(hull, "a", port(goodput=goodput, rate=rate), reading) == expected
        assert verdict(hull, "a", port(goodput=goodput, rate=rate), 1 - reading) == PASS
    assert verdict(hull, "b", port(queue=2.0, rate=rate), reading) == PASS
    assert verdict(hull, "b", port(queue=2.01, rate=rate), reading) == FAIL
    assert verdict(hull, "a", port(flows=(2, 4)), reading) == NOT_REACHED


def latencies(dctcp=500.0, hull_us=100.0):
    rows = {"stack": [hull.HULL, hull.DCTCP], "p99_us": [hull_us, dctcp]}
    return {"latency": pl.DataFrame(rows, schema_overrides={"p99_us": pl.Float64})}


def test_latency_beside_long_flows():
    assert verdict(hull, "c", latencies()) == PASS
    assert verdict(hull, "c", latencies(dctcp=499)) == FAIL
    assert verdict(hull, "c", latencies(hull_us=None)) == NOT_REACHED


def events(*times):
    return {"times": pl.DataFrame({"converged_us": times}, schema={"converged_us": pl.Int64})}


def test_the_time_to_the_optimum():
    assert verdict(numfabric, "a", events(400, 1000, 3000)) == PASS
    assert verdict(numfabric, "a", events(400, 1050, 1050)) == FAIL
    assert verdict(numfabric, "a", events(400, None, None)) == FAIL
    assert verdict(numfabric, "a", events()) == NOT_REACHED


def test_the_optimum():
    """A flow over two links, each of which another one shares, has a third; so have three flows on one link."""
    full = numfabric.HOST_GBPS * numfabric.PAYLOAD
    # Hosts 0 and 1 under leaf 0, 2 and 3 under leaf 1.
    long, *others = numfabric.optimum([(0, 2, 0), (0, 3, 0), (1, 2, 1)], 2)
    assert long == pytest.approx(full / 3, rel=1e-3)
    assert others == pytest.approx([2 * full / 3] * 2, rel=1e-3)
    assert numfabric.optimum([(0, 2, 0)] * 3, 2) == pytest.approx([full / 3] * 3, rel=1e-3)


def test_the_time_of_convergence():
    """Of two flows one is late for a while: half of the flows are too few."""
    rows = [
        {"flow": flow, "time_us": 4000 + at, "gbps": 1.0 if flow or at > 600 else 2.0}
        for flow in (0, 1)
        for at in range(50, 1050, 50)
    ]
    near = numfabric._near(pl.DataFrame(rows), {0: 1.0, 1: 1.0}, 1)
    assert near["after_us"].to_list() == list(range(250, 1050, 50))
    # The last of five samples of 2 leaves a mean of 1.2.
    assert near.filter(pl.col("near") < 1)["after_us"].max() == 800


def schemes(dctcp=3.0, between=2.0, pias=1.0):
    rows = {"scheme": list(l2dct.SCHEMES), "mean_ms": [dctcp, between, pias]}
    return {"runs": pl.DataFrame(rows, schema_overrides={"mean_ms": pl.Float64})}


def test_l2dct_between_dctcp_and_pias():
    assert [verdict(l2dct, letter, schemes()) for letter in "ab"] == [PASS, PASS]
    assert [verdict(l2dct, letter, schemes(between=3.1)) for letter in "ab"] == [FAIL, PASS]
    assert [verdict(l2dct, letter, schemes(pias=2.1)) for letter in "ab"] == [PASS, FAIL]
    assert [verdict(l2dct, letter, schemes(dctcp=None)) for letter in "ab"] == [NOT_REACHED, PASS]


def ten(queue=1.0, used=1.0, sizes=qcn.EQUILIBRIA):
    rows = [{"equilibrium_kb": size, "queue_kb": queue * size, "utilisation": used} for size in sizes]
    return {"points": pl.DataFrame(rows)}


def test_the_queue_of_ten_flows():
    for reading in (0, 1):
        assert verdict(qcn, "a", ten(1.5), reading) == PASS
        assert verdict(qcn, "a", ten(0.5), reading) == PASS
        assert verdict(qcn, "a", ten(1.51), reading) == FAIL
        assert verdict(qcn, "a", ten(0.49), reading) == FAIL
        assert verdict(qcn, "b", ten(used=0.95), reading) == FAIL
    assert {verdict(qcn, letter, ten(sizes=(26,))) for letter in "ab"} == {NOT_REACHED}
