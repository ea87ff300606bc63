"""Points of a sweep that do not carry their load by the mean over their replicas: the rule by hand, and its marks."""

import json

import polars as pl
import pytest
from test_report import visible
from test_report_loads import SCENARIO
from test_report_sweep import page, rows

import flowyard as fy
from flowyard.report import javascript, loads
from flowyard.report.sweep import notices, points
from flowyard.sweeps import carrying

# Half widths by hand: carried loads of 0.80, 0.81, 0.82 have a deviation of 0.01, t of two degrees is 4.3027, and
# 4.3027 x 0.01 / sqrt(3) = 0.0248.
CARRIED = (0.80, 0.81, 0.82)


def means(offered, realised, half=0.0248, number=3):
    """A point with a mean carried load of 0.81."""
    row = {"replicas": number, "carried_load": 0.81, "carried_load_ci95": half}
    return pl.DataFrame([row | {"offered_load": offered, "realised_load": realised}])


@pytest.mark.parametrize(
    ("offered", "realised", "expected"),
    [
        (0.9, 0.872, False),
        # 0.81 + 0.0248 is above the one, and so the other does not count: few flows were drawn, or too many.
        (0.9, 0.834, True),
        (0.834, 0.9, True),
        (0.836, 0.836, False),
    ],
)
def test_an_interval_below_both_loads_does_not_reach_them(offered, realised, expected):
    assert carrying.carries(means(offered, realised)).to_list() == [expected]


def test_fewer_than_three_replicas_or_no_load_say_nothing():
    assert carrying.carries(means(0.9, 0.9, number=2)).to_list() == [None]
    assert carrying.carries(means(None, None)).to_list() == [None]


def test_the_line_of_the_command_is_of_the_summaries():
    runs = pl.DataFrame({"run": ["a", "b", "c", "d"], "load": [0.9, 0.9, 0.9, 0.5]})
    summaries = {
        key: {"measured": {"offered_load": 0.9, "realised_load": 0.872, "carried_load": load}}
        for key, load in zip("abc", CARRIED, strict=True)
    }
    assert carrying.line(runs, ["load"], summaries, "see") == ["1 point does not carry its load; see"]
    summaries["a"]["measured"]["carried_load"] = 0.9
    assert carrying.line(runs, ["load"], summaries, "see") == []
    assert carrying.line(runs, ["load"], {"d": {}}, "see") == []


def two(*carried):
    """The summaries of replicas at a load of 0.6."""
    loads = {"offered_load": 0.6, "realised_load": 0.62}
    runs = pl.DataFrame({"run": list("abcd")[: len(carried)], "load": [0.6] * len(carried)})
    return runs, {
        key: {"measured": loads | {"carried_load": load}} for key, load in zip("abcd", carried, strict=False)
    }


def test_two_replicas_that_carry_much_less_are_said_to_be_too_few():
    # The mean 0.48 is less than nine tenths of 0.6.
    runs, summaries = two(0.47, 0.49)
    (line,) = carrying.line(runs, ["load"], summaries, "see")
    assert line == (
        "1 point may not carry the load: load = 0.6 carried 0.480 of 0.620 in 2 replicas; 3 replicas or more tell"
    )
    # 0.54 is nine tenths.
    runs, summaries = two(0.54, 0.541)
    assert carrying.line(runs, ["load"], summaries, "see") == []
    # Three tell.
    runs, summaries = two(0.47, 0.48, 0.49)
    assert carrying.line(runs, ["load"], summaries, "see") == ["1 point does not carry its load; see"]


@pytest.fixture
def short(tmp_path, monkeypatch):
    """A sweep of steady runs, of which those at 0.6 carry 0.50, 0.51 and 0.52 of the 0.58 that arrived."""
    monkeypatch.setattr(javascript, "bundle", lambda: "/* bundle */")
    axis = fy.Axis("load", {"traffic.few.arrivals.poisson.load": [0.3, 0.6]})
    done = fy.sweep(fy.Plan(SCENARIO, [axis], replicas=3, name="short"), tmp_path / "s")
    for row in done.runs.iter_rows(named=True):
        path = done.path(row["run"]) / "run.json"
        summary = json.loads(path.read_text())
        summary["measured"]["unstable"] = []
        if row["load"] == 0.6:
            summary["measured"] |= {"realised_load": 0.58, "carried_load": 0.5 + 0.01 * row["replica"]}
        else:
            summary["measured"] |= {"realised_load": 0.3, "carried_load": 0.3}
        path.write_text(json.dumps(summary))
    return fy.open(done.folder)


def test_a_point_that_does_not_carry_its_load_is_marked_everywhere(short):
    assert short.means["stable"].to_list() == [True, True]
    assert short.means["carries"].to_list() == [True, False]
    html = page(short)
    states = {row["x"]: row["state"] for row in rows(html, "slowdown-p99")}
    assert states == {0.3: "steady", 0.6: "not carrying its load"}
    assert f"0.6 {loads.MARK} 3" in visible(html)
    why = "over 3 replicas a mean load of 0.510 ± 0.025 was carried, 0.580 arrived and 0.600 is offered"
    assert f"{loads.MARK} not carrying its load: load = 0.6: {why}." in visible(html)
    (notice,) = (
        each
        for each in notices.notices(short, short.metrics, short.means, short.summaries())
        if each.title == "Load not carried"
    )
    assert notice.body.startswith("1 of 2 points")
    assert why in notice.body
    assert [row[0] for row in points.points_table(short).rows] == ["0.3", f"0.6 {loads.MARK}"]
    assert len(points.marked(short)) == 1


def test_each_point_that_does_not_carry_its_load_is_named_as_far_as_there_is_room(short):
    every = short.means.with_columns(carries=pl.lit(False))
    (both,) = notices._short(short, every)
    assert [place in both.body for place in ("load = 0.3: over", "load = 0.6: over", "more")] == [
        True,
        True,
        False,
    ]
    (many,) = notices._short(short, pl.concat([every, every, every]))
    assert "; and 3 more. What waits" in many.body
