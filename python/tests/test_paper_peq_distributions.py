"""PEQ-F1.9 to F1.13: what generators draw, and draws that are not from the distribution."""

import math

import numpy as np
import polars as pl
import pytest
from conftest import drawn_from_csv

from flowyard.papers.figure import Scale
from flowyard.papers.judge import FAIL, PASS
from flowyard_papers.peq.distributions import FIGURE, distance


@pytest.fixture(scope="module")
def tables():
    return FIGURE.tables(Scale.QUICK, {})


@pytest.mark.parametrize("claim", FIGURE.claims)
def test_every_claim_holds(claim, tables):
    assert FIGURE.claims[claim](tables).verdict == PASS


@pytest.mark.parametrize("by", ["sets", "servers"])
@pytest.mark.parametrize(
    "count",
    [
        # Too few of one size, of the small ones, a size that should not be there, none of the largest.
        pl.when(pl.col("size") == 50).then(pl.col("count") // 2).otherwise("count"),
        pl.when(pl.col("size") < 60).then(pl.col("count") * 9 // 10).otherwise("count"),
        pl.when(pl.col("size") == 198).then(0).otherwise("count"),
    ],
)
def test_sizes_that_are_not_uniform(by, count, tables):
    changed = pl.when(started_by=by).then(count).otherwise("count")
    sizes = tables["sizes"].with_columns(count=changed)
    assert FIGURE.claims["PEQ-F1.9.a"]({"sizes": sizes}).verdict == FAIL


def test_a_size_outside_fails(tables):
    sizes = tables["sizes"]
    more = pl.DataFrame({"started_by": ["sets"], "size": [199], "count": [500]}, schema=sizes.schema)
    assert FIGURE.claims["PEQ-F1.9.a"]({"sizes": pl.concat([sizes, more])}).verdict == FAIL


@pytest.mark.parametrize("deviations", [1, 2, 3])
@pytest.mark.parametrize("change", [-1.0, 1.0])
def test_other_shares_within_deviations_fail(deviations, change, tables):
    inside = pl.col("inside_pct") + pl.when(deviations=deviations).then(change).otherwise(0.0)
    changed = tables["normal"].with_columns(inside_pct=inside)
    assert FIGURE.claims["PEQ-F1.10.a"]({"normal": changed}).verdict == FAIL


@pytest.mark.parametrize("wrong", ["uniform", "slow", "normal"])
def test_other_gaps_fail(wrong):
    chance = np.random.default_rng(1)
    count = 100_000
    drawn = {
        "uniform": chance.uniform(0, 2, count),
        "slow": chance.exponential(1.02, count),
        "normal": chance.normal(1, 0.2, count),
    }
    gaps = pl.DataFrame({"gaps": [count], "distance": [distance(pl.Series(drawn[wrong]))]})
    assert FIGURE.claims["PEQ-F1.13.a"]({"gaps": gaps}).verdict == FAIL


def test_distance_by_hand():
    # One value at the median: the empirical distribution steps from 0 to 1 where the exponential one has 1/2.
    assert distance(pl.Series([math.log(2)])) == pytest.approx(0.5)


def test_densities_are_those_of_the_formula(tables):
    for name, total in (("normal_density", math.erf(4 / math.sqrt(2))), ("gaps_density", 1 - math.exp(-8))):
        rows = tables[name]
        assert rows["formula"].sum() / 10 == pytest.approx(total)
        # Five standard errors of a bin's count.
        count = tables["normal"]["sizes"][0] if name == "normal_density" else tables["gaps"]["gaps"][0]
        error = (rows["density"] - rows["formula"]).abs() / (rows["formula"] * 10 / count).sqrt()
        assert error.max() < 5


def test_verdicts_and_picture_survive_csv(tables):
    assert len(drawn_from_csv(FIGURE, tables).axes) == 3
