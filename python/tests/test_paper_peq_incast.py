"""PEQ-F1.14: TCP Incast by runs at quick scale, and numbers that make its claims fail or hold."""

import polars as pl
import pytest
from conftest import drawn_from_csv

from flowyard import sweeps
from flowyard.papers.figure import Scale
from flowyard.papers.judge import FAIL, NOT_REACHED, PASS
from flowyard.sweeps.tables import Sweep
from flowyard_papers.peq.incast import AS_IS, FIGURE, LINK_MBPS, MOST, SHORT

COLLAPSE, LOSS = FIGURE.claims["PEQ-F1.14.a"], FIGURE.claims["PEQ-F1.14.b"]


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    results = {}
    assert FIGURE.plans
    for name, plan in FIGURE.plans(Scale.QUICK).items():
        folder = tmp_path_factory.mktemp("sweep") / "runs"
        assert not sweeps.execute(plan, folder).failed
        results[name] = Sweep(folder)
    return FIGURE.tables(Scale.QUICK, results)


def test_goodput_collapses(tables):
    assert COLLAPSE(tables).verdict == PASS


def test_loss_has_its_documented_verdict(tables):
    # Two slow starts that meet overshoot the port in the first block; with a short slow start they lose
    # what congestion avoidance asks too much, later.
    assert LOSS(tables).verdict == PASS
    two = tables["runs"].filter(servers=2)
    assert two.filter(start=SHORT)["drops"].max() < two.filter(start=AS_IS)["drops"].min()


def test_runs_are_possible(tables):
    runs = tables["runs"]
    assert runs["completed"].all()
    assert runs["goodput_mbps"].max() < LINK_MBPS
    # One server is as fast as the client's link: there is no queue, so that nothing is lost.
    assert runs.filter(servers=1)["drops"].sum() == 0
    # 256 KB of full segments from each server in each of 5 blocks, and whatever is sent twice.
    data = runs["servers"] * 5 * (256_000 // 1460)
    assert (runs["packets"] >= data).all()


def fabricated(goodput, loss):
    servers = (1, 2, 16, MOST)
    rows = [
        {
            "start": AS_IS,
            "servers": n,
            "replica": r,
            "completed": True,
            "goodput_mbps": g + r,
            "loss_pct": p,
            "drops": 10 * p,
        }
        for r in range(3)
        for n, g, p in zip(servers, goodput, loss, strict=True)
    ]
    rows += [row | {"start": SHORT} for row in rows]
    return {"runs": pl.DataFrame(rows, schema_overrides={"goodput_mbps": pl.Float64, "loss_pct": pl.Float64})}


@pytest.mark.parametrize(
    ("goodput", "verdict"),
    [((900, 800, 300, 100), PASS), ((900, 100, 500, 800), PASS), ((900, 800, 300, 200), FAIL)],
)
def test_a_collapse_is_to_a_fifth(goodput, verdict):
    assert COLLAPSE(fabricated(goodput, (0, 1, 2, 3))).verdict == verdict


@pytest.mark.parametrize(
    ("loss", "verdict"),
    [((0, 1, 2, 3), PASS), ((0, 5, 4, 6), FAIL), ((0, 0, 0, 0), FAIL), ((3, 2, 1, 0), FAIL)],
)
def test_loss_has_to_rise(loss, verdict):
    assert LOSS(fabricated((900, 800, 300, 100), loss)).verdict == verdict


def test_what_is_not_there_is_not_judged(tables):
    runs = tables["runs"]
    assert COLLAPSE({"runs": runs.remove(servers=MOST)}).verdict == NOT_REACHED
    assert COLLAPSE({"runs": runs.with_columns(completed=pl.lit(False))}).verdict == NOT_REACHED


def test_verdicts_and_picture_survive_csv(tables):
    assert len(drawn_from_csv(FIGURE, tables).axes) == 3
