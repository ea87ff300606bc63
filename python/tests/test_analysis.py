"""Completion times and slowdowns by size group."""

import statistics

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowyard import analysis


def flows(sizes, slowdowns):
    completed = [slowdown is not None for slowdown in slowdowns]
    fct = [None if slowdown is None else int(slowdown * 10**6) for slowdown in slowdowns]
    columns = {"size_bytes": sizes, "completed": completed, "fct_ps": fct, "slowdown": slowdowns}
    return pl.DataFrame(columns, schema_overrides={"slowdown": pl.Float64, "fct_ps": pl.UInt64})


def test_groups_have_inclusive_upper_ends():
    table = analysis.by_size(flows([1, 100_000, 100_001, 10_000_000, 10_000_001], [1.0] * 5))
    assert table["group"].to_list() == ["up to 100 KB", "100 KB to 10 MB", "above 10 MB", "all"]
    assert table["flows"].to_list() == [2, 2, 1, 5]


def test_percentiles_interpolate_and_leave_unfinished_flows_to_the_share():
    table = analysis.by_size(flows([1000] * 4, [1.0, 2.0, 3.0, None]))
    row = table.row(-1, named=True)
    assert row["completed"] == 0.75
    assert (row["slowdown_p50"], row["slowdown_mean"], row["fct_p50_us"]) == (2.0, 2.0, 2.0)
    assert row["slowdown_p95"] == pytest.approx(2.9)


@given(st.lists(st.tuples(st.integers(1, 10**8), st.floats(1, 1e6)), min_size=2))
def test_groups_add_up_to_all(pairs):
    table = analysis.by_size(flows([size for size, _ in pairs], [slowdown for _, slowdown in pairs]))
    groups, everything = table[:-1], table.row(-1, named=True)
    assert groups["flows"].sum() == everything["flows"] == len(pairs)
    assert everything["slowdown_p50"] == pytest.approx(statistics.median(slowdown for _, slowdown in pairs))
    assert groups["slowdown_p99"].max() <= max(slowdown for _, slowdown in pairs)


def test_no_flow_finished_is_no_number():
    row = analysis.by_size(flows([1000], [None])).row(-1, named=True)
    assert (row["flows"], row["completed"], row["slowdown_p99"]) == (1, 0.0, None)


@pytest.mark.parametrize(
    ("text", "expected"), [("0ps", 0), ("1500ns", 1_500_000), ("2s", 2 * 10**12), ("3ms", 3 * 10**9)]
)
def test_times_of_run_json(text, expected):
    assert analysis.picoseconds(text) == expected


def test_goodput_is_payload_over_the_whole_run(result):
    end_s = result.summary["end_ps"] / 1e12
    assert analysis.goodput_bps(result) == pytest.approx(4 * 10_000 * 8 / end_s)


def test_the_summary_fits_half_a_screen(result):
    table = analysis.summary_table(result, "few")
    assert len(table.rows) <= 12
    assert ("flows completed", "4 of 4") in table.rows
