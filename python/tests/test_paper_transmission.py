"""SYN-P1: times on the wire, from runs, and that the claim can fail."""

import polars as pl
import pytest

from flowyard import sweeps
from flowyard.papers.figure import Scale
from flowyard.papers.judge import FAIL, NOT_REACHED, PASS
from flowyard.sweeps.tables import Sweep
from flowyard_papers.syn.transmission import FIGURE

judge = FIGURE.claims["SYN-P1"]


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    assert FIGURE.plans
    folder = tmp_path_factory.mktemp("sweep") / "alone"
    sweeps.execute(FIGURE.plans(Scale.QUICK)["alone"], folder)
    return FIGURE.tables(Scale.QUICK, {"alone": Sweep(folder)})


def test_the_claim_holds(tables):
    assert judge(tables).verdict == PASS


def test_every_time_is_length_over_rate(tables):
    table = tables["packets"]
    assert len(table) == 14
    for rate, size, packets, time in table.iter_rows():
        assert packets == 1
        assert time * rate == size * 8 * 1000


@pytest.mark.parametrize("size", [64, 1500])
def test_a_picosecond_more_fails(tables, size):
    late = pl.col("time_ps") + (pl.col("packet_bytes") == size).cast(pl.UInt64)
    assert judge({"packets": tables["packets"].with_columns(late)}).verdict == FAIL
    assert judge({"packets": tables["packets"].remove(packet_bytes=size)}).verdict == NOT_REACHED


def test_verdict_and_picture_survive_csv(tables, tmp_path):
    tables["packets"].write_csv(tmp_path / "packets.csv")
    again = {"packets": pl.read_csv(tmp_path / "packets.csv")}
    assert judge(again) == judge(tables)
    assert FIGURE.draw
    assert FIGURE.draw(again).axes
