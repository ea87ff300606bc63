"""The multipath thesis: collisions of long flows, and Valiant load balancing. Real tables, and made-up ones."""

import polars as pl
import pytest
from conftest import drawn_from_csv

from flowyard.papers.judge import FAIL, NOT_REACHED, PASS
from flowyard_papers.mp import collisions
from flowyard_papers.mp._chapter5 import MDNVR
from flowyard_papers.mp.collisions import CHAPTER, ECMP, LARGE, SHORT, VALIANT

FIGURE = collisions.FIGURE


def judged(claim, tables):
    return FIGURE.claims[claim](tables)


@pytest.mark.parametrize("claim", FIGURE.claims)
def test_verdicts_at_quick_scale(claim, made):
    found = judged(claim, made(FIGURE))
    assert found.verdict == PASS, found


def test_collisions_in_runs_are_as_likely_as_said(made):
    runs = made(FIGURE)["long"]
    for scheme in (ECMP, VALIANT):
        some = runs.filter(scheme=scheme, setup=CHAPTER)
        # 20 pods, 18 expected: 5 are as good as impossible.
        assert 13 <= some["pods_with_collision"].sum() <= 20
    assert runs["goodput_mbps"].max() < 1000


def made_up(ecmp, mdnvr, valiant=100.0, short=(100.0, 100.0)):
    goodput = {ECMP: ecmp, MDNVR: mdnvr, VALIANT: (300.0, 300.0)}
    long = [
        {
            "setup": setup,
            "scheme": scheme,
            "replica": replica,
            "goodput_mbps": pair[place] + replica,
            "fct_ms": valiant if scheme == VALIANT else 100.0,
            "pods_with_collision": 4,
        }
        for place, setup in enumerate((CHAPTER, LARGE))
        for scheme, pair in goodput.items()
        for replica in range(3)
    ]
    rows = [
        {"pattern": pattern, "scheme": scheme, "replica": replica, "fct_ms": fct}
        for pattern in SHORT.values()
        for scheme, fct in zip((ECMP, VALIANT), short, strict=True)
        for replica in range(3)
    ]
    ways = pl.DataFrame({"cores_in_use": [1, 2, 3, 4], "ways": [4, 84, 144, 24]})
    return {"ways": ways, "long": pl.DataFrame(long), "short": pl.DataFrame(rows)}


def test_goodput_has_to_be_below_that_of_two_paths():
    found = judged("MP-P3", made_up((300.0, 300.0), (400.0, 200.0)))
    assert [reading.verdict for _, reading in found.readings] == [PASS, FAIL]
    assert judged("MP-P3", made_up((300.0, 300.0), (300.0, 400.0))).verdict == FAIL
    tables = made_up((300.0, 300.0), (400.0, 400.0))
    assert judged("MP-P3", {**tables, "long": tables["long"].filter(scheme=ECMP)}).verdict == NOT_REACHED


def test_another_chance_of_collision_fails():
    tables = made_up((300.0, 300.0), (400.0, 400.0))
    assert judged("MP-P3", tables).verdict == PASS
    ways = tables["ways"].with_columns(ways=pl.Series([4, 84, 143, 25]))
    assert judged("MP-P3", {**tables, "ways": ways}).verdict == FAIL


@pytest.mark.parametrize(
    ("valiant", "short", "verdict"),
    [
        (109.0, (100.0, 91.0), PASS),
        (111.0, (100.0, 100.0), FAIL),
        (100.0, (100.0, 89.0), FAIL),
        (None, (100.0, 100.0), NOT_REACHED),
    ],
)
def test_valiant_is_much_the_same(valiant, short, verdict):
    assert judged("MP-P4", made_up((3.0, 3.0), (4.0, 4.0), valiant, short)).verdict == verdict


def test_verdicts_and_picture_survive_csv(made):
    assert drawn_from_csv(FIGURE, made(FIGURE)).axes
