"""The sentence on top of a page of several runs: how slow short flows are, and the best where intervals tell."""

import pytest

import flowyard as fy
from flowyard import report
from flowyard.analysis.completion import ALL, SIZE_GROUPS
from flowyard.report import javascript
from flowyard.report.run import outcome

SHORT = SIZE_GROUPS[0][1]


def row(p99, low=None, high=None, *, completed=1.0, kind="slowdown", unit=""):
    found = {"completed_fraction": completed, "slowdown_p99": None}
    for name in ("p99", "p95", "p50"):
        known = name == "p99"
        found |= {
            f"{kind}_{name}{unit}": p99,
            f"{kind}_{name}_low{unit}": low if known else None,
            f"{kind}_{name}_high{unit}": high if known else None,
        }
    return found


def said(*rows, key=SHORT):
    labels = ["NDP", "TCP", "Homa"][: len(rows)]
    return outcome.of_runs(labels, [{(None, ALL): one, (None, key): one} for one in rows])


def test_the_best_is_named_by_how_much_where_intervals_do_not_overlap():
    assert said(row(251.0, 200.0, 300.0), row(5.46, 5.0, 6.0)) == (
        "p99 of slowdown of flows up to 100 KB: 5.46 times the ideal with TCP, 251 with NDP. "
        "It is lowest with TCP; with NDP it is 46.0 times as high."
    )


@pytest.mark.parametrize("second", [(5.0, 5.9, 7.0), (7.0, None, 8.0), (7.0, None, None)])
def test_none_is_best_where_intervals_overlap_or_are_not_known(second):
    words = said(row(5.46, 5.0, 6.0), row(*second), row(90.0, 80.0, 100.0))
    assert "90.0 with Homa" in words
    assert "lowest with" not in words
    assert words.endswith("The 95% intervals do not tell the best from the others.")


def test_all_flows_where_none_are_short_and_times_where_there_is_no_slowdown():
    words = said(
        row(1e9, 9e8, 1.1e9, kind="fct", unit="_ps"), row(2e9, 1.8e9, 3e9, kind="fct", unit="_ps"), key=ALL
    )
    assert words.startswith(
        "p99 of completion time of all flows: 1.00\u00a0ms with NDP, 2.00\u00a0ms with TCP. It is lowest with NDP;"
    )


def test_nothing_is_said_of_one_run_or_where_flows_are_missing():
    assert said(row(5.0, 4.0, 6.0)) == ""
    assert said(row(5.0, 4.0, 6.0), row(50.0, 40.0, 60.0, completed=0.99)) == ""


def test_another_percentile_tells_where_p99_has_no_end():
    rows = [row(5.46, 5.0, None), row(9.0, 8.0, None)]
    rows[0] |= {"slowdown_p95": 3.0, "slowdown_p95_low": 2.9, "slowdown_p95_high": 3.1}
    rows[1] |= {"slowdown_p95": 6.0, "slowdown_p95_low": 5.9, "slowdown_p95_high": 6.1}
    assert said(*rows).startswith(
        "p95 of slowdown of flows up to 100 KB: 3.00 times the ideal with NDP, 6.00 with TCP."
    )


def test_runs_of_other_flows_are_not_ranked(tmp_path, monkeypatch):
    monkeypatch.setattr(javascript, "bundle", lambda: "/* bundle */")
    entry = {"name": "a", "arrivals": "at-once", "matrix": {"pairs": [[0, 1]] * 5}, "sizes": {"fixed": "1KB"}}
    scenario = {"topology": {"single-switch": {"hosts": 2}}, "transport": "ndp", "traffic": [entry]}
    changes = {"a": {}, "b": {"transport": "tcp"}, "c": {"traffic.a.sizes.fixed": "2KB"}}
    runs = {name: fy.run(scenario, change).save(tmp_path / name) for name, change in changes.items()}
    for names, ranked in (("ab", True), ("ac", False)):
        report.write([runs[name] for name in names], tmp_path / f"{names}.html")
        assert ('<p class="result">' in (tmp_path / f"{names}.html").read_text()) == ranked
