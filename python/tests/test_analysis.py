"""Analysis: tables with answers that can be worked out by hand."""

import math
import statistics

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flowyard as fy
from flowyard import analysis
from flowyard.analysis import completion
from flowyard.analysis.intervals import half_width, replica_means, student_t


def flows(sizes, slowdowns):
    """Flows of an ideal completion time of 1 us; those without a slowdown are unfinished."""
    fct = [None if slowdown is None else round(slowdown * 10**6) for slowdown in slowdowns]
    return pl.DataFrame(
        {
            "size_bytes": sizes,
            "start_ps": range(len(sizes)),
            "completed": [slowdown is not None for slowdown in slowdowns],
            "fct_ps": fct,
            "slowdown": slowdowns,
            "delivered_bytes": sizes,
        },
        schema={
            "size_bytes": pl.UInt64,
            "start_ps": pl.UInt64,
            "completed": pl.Boolean,
            "fct_ps": pl.UInt64,
            "slowdown": pl.Float64,
            "delivered_bytes": pl.UInt64,
        },
    )


NO_FLOWS = flows([], [])

LINKS = pl.DataFrame(
    {
        "id": [0, 1, 2, 3, 4],
        "from": ["a", "b", "c", "d", "e"],
        "to": ["x"] * 5,
        "tier": ["up", "down", "up", "up", "down"],
        "packets": [10, 10, 10, 10, 0],
        "utilisation": [0.2, 0.4, 0.6, 0.1, 0.0],
        "lost": [0, 0, 0, 0, 0],
        "drops": [0, 3, 0, 0, 0],
        "trims": [0, 0, 5, 0, 0],
        "marks": [0, 0, 0, 0, 0],
        "queue_mean_bytes": [1.0, 2.0, 3.0, 8.0, 0.0],
        "queue_max_bytes": [100, 200, 300, 800, 0],
        "paused_ps": [0, 0, 7, 9, 0],
    }
)


def test_flows_outside_the_window_do_not_count():
    table = flows([1, 1, 1], [1.0] * 3).with_columns(measured=pl.Series([False, True, False]))
    assert analysis.measured(table)["start_ps"].to_list() == [1]


def test_size_groups_include_their_upper_end():
    table = analysis.by_size(flows([1, 100_000, 100_001, 10_000_000, 10_000_001], [1.0] * 5))
    assert table["group"].to_list() == ["up to 100 KB", "100 KB to 10 MB", "above 10 MB", "all"]
    assert table["flows"].to_list() == [2, 2, 1, 5]


def test_percentiles_interpolate_and_leave_unfinished_flows_to_the_fraction():
    row = analysis.by_size(flows([1000] * 4, [1.0, 2.0, 3.0, None])).row(-1, named=True)
    assert (row["flows"], row["completed"], row["completed_fraction"]) == (4, 3, 0.75)
    assert (row["slowdown_p50"], row["slowdown_mean"], row["fct_p50_ps"]) == (2.0, 2.0, 2e6)
    assert row["slowdown_p95"] == pytest.approx(2.9)
    assert row["slowdown_p99_9"] == pytest.approx(2.998)


@given(st.lists(st.tuples(st.integers(1, 10**8), st.floats(1, 1e6)), min_size=2))
def test_groups_add_up_to_all(pairs):
    table = analysis.by_size(flows([size for size, _ in pairs], [slowdown for _, slowdown in pairs]))
    groups, everything = table[:-1], table.row(-1, named=True)
    assert groups["flows"].sum() == everything["flows"] == len(pairs)
    assert everything["slowdown_p50"] == pytest.approx(statistics.median(slowdown for _, slowdown in pairs))
    assert groups["slowdown_p99"].max() <= max(slowdown for _, slowdown in pairs)


def test_no_finished_flow_is_no_number():
    row = analysis.by_size(flows([1000], [None])).row(-1, named=True)
    assert (row["flows"], row["completed_fraction"], row["fct_mean_ps"], row["slowdown_p99"]) == (
        1,
        0.0,
        None,
        None,
    )
    assert analysis.by_size(NO_FLOWS).row(-1, named=True)["completed_fraction"] is None


def test_steps_of_size_are_those_of_every_run_and_lie_within_the_groups():
    sizes = [1, 1000, 1001, 3000, 99_999, 100_000, 100_001, 10_000_000, 10_000_001, 2**40]
    table = analysis.over_size(flows(sizes, [1.0] * 10))
    ends = table.select("size_above_bytes", "size_up_to_bytes", "flows").rows()
    assert ends == [
        (0, 1000, 2),
        (1000, 3000, 2),
        (30_000, 100_000, 2),
        (100_000, 300_000, 1),
        (3_000_000, 10_000_000, 1),
        (10_000_000, 30_000_000, 1),
        (10**12, 3 * 10**12, 1),
    ]
    uppers = {upper for upper, _ in completion.SIZE_GROUPS if upper is not None}
    assert uppers <= set(completion.SIZE_STEPS)
    assert analysis.over_size(NO_FLOWS).is_empty()


def test_entries_have_their_own_groups():
    table = flows([10, 10, 200_000, 10], [1.0, 2.0, 3.0, None])
    table = table.with_columns(tag=pl.Series(["b", "a", "b", "b"]))
    found = analysis.by_entry(table).select("tag", "group", "flows", "completed", "slowdown_p50").rows()
    assert found == [
        ("b", "up to 100 KB", 2, 1, 1.0),
        ("b", "100 KB to 10 MB", 1, 1, 3.0),
        ("b", "all", 3, 2, 2.0),
        ("a", "up to 100 KB", 1, 1, 2.0),
        ("a", "all", 1, 1, 2.0),
    ]
    assert analysis.by_entry(table.clear()).is_empty()


def test_deciles_have_equal_numbers_of_flows():
    table = analysis.by_decile(flows(list(range(1, 101)), [float(size) for size in range(1, 101)]))
    assert table["flows"].to_list() == [10] * 10
    assert table["size_bytes"].to_list() == list(range(10, 101, 10))
    assert table["slowdown_p50"].to_list() == [5.5 + 10 * i for i in range(10)]


def test_flows_of_one_size_share_a_bin():
    table = analysis.by_decile(flows([7] * 20 + [9], [1.0] * 21))
    assert table.select("size_min_bytes", "size_bytes", "flows").rows() == [(7, 7, 20), (9, 9, 1)]
    assert analysis.by_decile(NO_FLOWS).is_empty()


def test_distribution_of_few_values_has_them_all():
    table = analysis.distribution(pl.Series([3, 1, None, 2]), population=4)
    assert table.rows() == [(1.0, 0.25), (2.0, 0.5), (3.0, 0.75)]
    assert analysis.distribution(pl.Series([], dtype=pl.UInt64)).is_empty()


def test_distribution_of_many_values_keeps_its_ends_and_tail():
    table = analysis.distribution(pl.Series(range(1, 100_001)), points=400)
    assert 300 < table.height <= 400
    assert table.row(0) == (1.0, 1e-5)
    assert table.row(-1) == (100_000.0, 1.0)
    assert (table["value"] / 100_000 - table["share"]).abs().max() < 1e-9
    assert (table["share"] > 0.999).sum() > 20


def test_strip_spreads_over_the_ranks():
    assert analysis.strip(pl.Series([3, 1, 2]), 5).to_list() == [1, 2, 3]
    assert analysis.strip(pl.Series(range(101)), 5).to_list() == [0, 25, 50, 75, 100]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([5, 5, 5, 5], 1.0),
        ([1, 0, 0, 0], 0.25),
        ([1, 2], 0.9),
        ([], None),
        ([0, 0], None),
        ([10**12] * 3, 1.0),
    ],
)
def test_jain(values, expected):
    assert analysis.jain(pl.Series(values, dtype=pl.UInt64)) == (
        expected and pytest.approx(expected, rel=1e-15)
    )


def test_goodput():
    # 1,250 bytes in 1 us are 10 Gbit/s; the unfinished flow delivers but has no goodput of its own.
    table = flows([1250, 1250, 1250], [1.0, 2.0, None])
    assert analysis.flow_goodput(table).to_list() == [10e9, 5e9]
    assert analysis.goodput_bps(table, 3 * 10**6) == 10e9
    assert analysis.goodput_bps(table, 0) == 0.0


def test_links_by_tier_in_order_of_appearance():
    up, down = analysis.by_tier(LINKS).to_dicts()
    assert (up["tier"], up["links"], up["queue_mean_bytes"], up["queue_max_bytes"], up["trims"]) == (
        "up",
        3,
        4.0,
        800,
        5,
    )
    assert up["utilisation_mean"] == pytest.approx(0.3)
    assert (down["tier"], down["utilisation_max"], down["drops"]) == ("down", 0.4, 3)
    assert (up["paused_ps"], down["paused_ps"]) == (9, 0)


def test_spread_by_tier():
    up, down = analysis.spread_by_tier(LINKS, "queue_max_bytes", points=2).to_dicts()
    assert (up["min"], up["p25"], up["p50"], up["p75"], up["max"], up["mean"]) == (
        100,
        200,
        300,
        550,
        800,
        400,
    )
    assert (up["strip"], down["strip"]) == ([100.0, 800.0], [0.0, 200.0])


def test_worst_links_are_those_that_lost_most_and_idle_ones_are_none():
    assert analysis.worst_links(LINKS)["id"].to_list() == [1, 2, 3, 0]
    assert analysis.worst_links(LINKS, 1)["id"].to_list() == [1]


def test_a_link_that_lost_packets_to_faults_is_worse_than_any_other_also_if_it_carried_none():
    lost = LINKS.with_columns(lost=pl.Series([1, 0, 0, 0, 2]))
    assert analysis.worst_links(lost)["id"].to_list() == [4, 0, 1, 2, 3]


def fault(at, undone=None, change="down", links=(0, 1), nodes=()):
    return {"at_ps": at, "undone_ps": undone, "change": change, "links": list(links), "nodes": list(nodes)}


@pytest.mark.parametrize(
    ("faults", "ends"),
    [
        ([], []),
        ([fault(1)], [None]),
        ([fault(1, 5)], [5]),
        # Coming up ends a fault of the same links only, and is none itself.
        ([fault(1), fault(4, change="up")], [4]),
        ([fault(1), fault(4, change="up", links=[2])], [None]),
        ([fault(1, 9), fault(4, change="up"), fault(6, change="rate")], [4, None]),
    ],
)
def test_each_fault_lasts_until_it_is_undone_or_the_same_comes_up(faults, ends):
    assert [end for _, end in analysis.spans_of(faults)] == ends
    wrong = [each for each in faults if each["change"] != "up"]
    assert [each for each, _ in analysis.spans_of(faults)] == wrong


def test_a_fault_meets_what_is_under_way_and_says_when():
    table = pl.DataFrame(
        {
            "id": [0, 1, 2, 3, 4, 5],
            "start_ps": [0, 0, 12, 0, 20, None],
            # Over before; over within; begun within; without an end; begun after; never begun.
            "fct_ps": [9, 15, 30, None, 1, None],
            "lost": [9, 1, 2, 2, 9, 9],
            "timeouts": [0, 0, 0, 1, 0, 0],
        },
        schema_overrides={"start_ps": pl.UInt64, "fct_ps": pl.UInt64},
    )
    rows = analysis.met(table, 10, 20).select("id", "met_from_ps", "met_to_ps").rows()
    assert rows == [(3, 10, 20), (2, 12, 20), (1, 10, 15)]
    assert analysis.met(table, 10, None).select("id", "met_from_ps", "met_to_ps").rows() == [
        (4, 20, 21),
        (3, 10, None),
        (2, 12, 42),
        (1, 10, 15),
    ]


@pytest.mark.parametrize(
    ("time", "ps"),
    [("0ps", 0), ("1500ns", 1_500_000), ("7us", 7 * 10**6), ("3ms", 3 * 10**9), ("2s", 2 * 10**12)],
)
def test_times_of_run_json(time, ps):
    assert analysis.picoseconds(time) == ps


def test_background_by_its_tags():
    assert analysis.background({"traffic": [{"name": "a"}, {"name": "b", "background": True}]}) == ["b"]


def test_trouble_lasts_from_the_first_fault_to_the_last_repair():
    def fault(at, change="down", undone=None, links=(0,), nodes=()):
        return {
            "at_ps": at,
            "change": change,
            "undone_ps": undone,
            "links": list(links),
            "nodes": list(nodes),
        }

    assert analysis.trouble([]) is None
    assert analysis.trouble([fault(5, "up")]) is None
    assert analysis.trouble([fault(5)]) == (5, None)
    assert analysis.trouble([fault(5, undone=9), fault(2, "loss", undone=7)]) == (2, 9)
    # Repaired by a line of its own, if it is about the same.
    assert analysis.trouble([fault(5), fault(8, "up")]) == (5, 8)
    assert analysis.trouble([fault(5), fault(8, "up", links=[1])]) == (5, None)
    assert analysis.trouble([fault(5, "rate"), fault(8, "up")]) == (5, None)


def test_flows_belong_to_one_period():
    flows = pl.DataFrame({"start_ps": [0, 0, 5, 12, 20, 30], "fct_ps": [3, 30, 4, None, 1, 5]})
    parts = analysis.by_period(flows, 10, 20)
    assert {name: part["start_ps"].to_list() for name, part in parts.items()} == {
        "before": [0, 5], "during": [0, 12], "after": [20, 30],
    }  # fmt: skip
    parts = analysis.by_period(flows, 10, None)
    assert [part.height for part in parts.values()] == [2, 4, 0]


# Two-sided 95 %, from printed tables.
STUDENT = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 9: 2.262, 30: 2.042, 120: 1.980}


@pytest.mark.parametrize("degrees", STUDENT)
def test_student_t_is_that_of_the_tables(degrees):
    assert student_t(degrees) == pytest.approx(STUDENT[degrees], abs=5e-4)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        # s = sqrt(2), 1, sqrt(2.5); half the width is t s / sqrt(n).
        ([1, 3], 12.706 * math.sqrt(2) / math.sqrt(2)),
        ([1, 2, 3], 4.303 * 1 / math.sqrt(3)),
        ([1, 2, 3, 4, 5], 2.776 * math.sqrt(2.5) / math.sqrt(5)),
        ([1, None, 3], 12.706 * math.sqrt(2) / math.sqrt(2)),
        ([7, 7, 7], 0.0),
        ([7], None),
        ([None, 7], None),
        ([None, None], None),
        ([], None),
    ],
)
def test_the_interval_of_a_mean(values, expected):
    series = pl.Series(values, dtype=pl.Int64)
    assert half_width(series) == (math.inf if expected is None else pytest.approx(expected, rel=2e-4))
    runs = pl.DataFrame({"x": series})
    table = replica_means(runs, [], ["x"])
    known = [value for value in values if value is not None]
    assert table.columns == ["replicas", "x", "x_ci95"]
    if not values:
        assert table.is_empty()
        return
    mean = pytest.approx(sum(known) / len(known)) if known else None
    interval = None if expected is None else pytest.approx(expected, rel=2e-4)
    assert table.rows() == [(len(values), mean, interval)]


def test_points_stand_in_order_each_with_its_own_replicas():
    runs = pl.DataFrame(
        {
            "load": [0.6, 0.2, 0.6, 0.2, 0.6, 0.4],
            "name": ["b", "a", "b", "a", "b", "a"],
            "x": [1, 10, 2, 30, 3, 5],
            "y": [1.0, None, None, None, 3.0, 0.5],
        }
    )
    table = replica_means(runs, ["name", "load"], ["x", "y"])
    assert table.columns == ["name", "load", "replicas", "x", "x_ci95", "y", "y_ci95"]
    # x of (a, 0.2): s = sqrt(200); y of (b, 0.6): two values, s = sqrt(2).
    about = pytest.approx
    assert table.rows() == [
        ("b", 0.6, 3, 2.0, about(4.303 / math.sqrt(3), rel=2e-4), 2.0, about(12.706, rel=2e-4)),
        ("a", 0.2, 2, 20.0, about(127.06, rel=2e-4), None, None),
        ("a", 0.4, 1, 5.0, None, 0.5, None),
    ]


def test_the_interval_has_the_true_mean_in_19_of_20_cases():
    # Normal samples of 3 from a generator of another library; 2,000 cases: 95 % +- 1.5 %.
    samples = np.random.default_rng(7).normal(10.0, 2.0, size=(2000, 3))
    runs = pl.DataFrame({"case": np.repeat(np.arange(2000), 3), "x": samples.reshape(-1)})
    table = replica_means(runs, ["case"], ["x"])
    inside = ((table["x"] - 10.0).abs() <= table["x_ci95"]).mean()
    assert inside == pytest.approx(0.95, abs=0.015)


def test_a_result_s_tables_are_taken_as_they_are(small):
    result = fy.run(small)
    flows, links = pl.DataFrame(result.flows), pl.DataFrame(result.links)
    assert analysis.by_size(result.flows).equals(analysis.by_size(flows))
    assert analysis.by_tier(result.links).equals(analysis.by_tier(links))
    assert analysis.goodput_bps(result.flows, 10**9) == analysis.goodput_bps(flows, 10**9) > 0
