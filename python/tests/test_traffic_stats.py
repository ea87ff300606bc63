"""The mean of the flows that are drawn, where users look for it: check, import, report."""

import json
import statistics

import polars as pl
import pytest

import flowyard as fy
from flowyard import cli, text, traffic_stats
from flowyard.report.run import facts, labelled
from flowyard.results import Checked

SCENARIO = {
    "topology": {"single-switch": {"hosts": 4}},
    "transport": "tcp",
    "run": {"measure": "all"},
    "traffic": [
        {
            "name": "tiny",
            "arrivals": {"poisson": {"load": 0.5}},
            "matrix": "all-to-all",
            "flows": 4000,
            "sizes": {"cdf": {"points": [[0, 0], [2, 90], [10, 100]]}},
        },
        {"name": "alike", "arrivals": "at-once", "matrix": "permutation", "sizes": {"fixed": "10KB"}},
        {
            "name": "behind",
            "arrivals": "at-once",
            "matrix": "permutation",
            "sizes": "endless",
            "background": True,
        },
    ],
}


def test_check_says_what_is_drawn(tmp_path, capsys):
    path = tmp_path / "s.json"
    path.write_text(json.dumps(SCENARIO))
    assert cli.main(["check", str(path)]) == 0
    said = [line.split(None, 1)[1] for line in capsys.readouterr().out.splitlines() if "  drawn" in line]
    flows = pl.DataFrame(Checked(path).flows()).filter(pl.col("tag").cast(pl.String) == "tiny")
    mean = statistics.mean(flows["size_bytes"].to_list())
    # 1 B or more: 1.725 in the long run, where the lines between the points have 1.5.
    assert mean == pytest.approx(1.725, rel=0.05)
    assert (
        said[0]
        .replace("\xa0", " ")
        .startswith(f"tiny: 4,000 flows of 1 B to 10 B, mean {mean:.2f} B; one every ")
    )
    # The others have the sizes that the scenario states.
    assert len(said) == 1
    assert cli.main(["check", str(path), "--json"]) == 0
    (tiny,) = json.loads(capsys.readouterr().out)["drawn"]
    assert tiny["mean_size_bytes"] == mean
    starts = flows["start_ps"]
    assert tiny["flows_per_s"] == pytest.approx(3999e12 / (starts.max() - starts.min()))


def test_entries_without_sizes_or_a_rate_say_so():
    checked = Checked(SCENARIO)
    _, alike, behind = traffic_stats.entries(checked, checked.resolved(whole=True))
    assert (alike["mean_size_bytes"], alike["flows_per_s"]) == (10_000, None)
    assert (behind["flows"], behind["mean_size_bytes"], behind["flows_per_s"]) == (4, None, None)
    assert [traffic_stats.said(row).replace("\xa0", " ") for row in (alike, behind)] == [
        "alike: 4 flows of 10.0 KB",
        "behind: 4 flows",
    ]


def test_flows_that_wait_for_others_have_sizes():
    arrivals = {
        "triggers": {
            "starts": ["0s", {"trigger": 1}],
            "fires": [{"flow": 0, "event": "acked", "trigger": 1}],
            "list": [{"id": 1, "kind": "once"}],
        }
    }
    entry = {
        "name": "a",
        "arrivals": arrivals,
        "matrix": {"pairs": [[0, 1], [1, 0]]},
        "sizes": {"list": [10, 30]},
    }
    scenario = SCENARIO | {"traffic": [entry]}
    (row,) = traffic_stats.entries(Checked(scenario), fy.check(scenario))
    assert (row["flows"], row["mean_size_bytes"], row["flows_per_s"]) == (2, 20, None)


@pytest.mark.parametrize(
    ("points", "told"), [("0 0\n2 90\n10 100\n", True), ("0 0\n10000 15\n30000000 100\n", False)]
)
def test_import_says_which_mean_it_is(points, told, tmp_path, capsys):
    (tmp_path / "sizes.txt").write_text(points)
    assert cli.main(["import", str(tmp_path / "sizes.txt"), "-o", str(tmp_path / "new.toml")]) == 0
    note = "their mean is 1.725 bytes, that of the lines between the points 1.5"
    assert (note in capsys.readouterr().out) == told


def test_a_report_says_that_few_flows_have_another_mean(tmp_path):
    sizes = {"cdf": {"points": [[1000, 0], [2000, 99], [10**7, 100]]}}
    for name, more in (("few", {"sizes": sizes, "flows": 20}), ("many", {"sizes": {"fixed": "1KB"}})):
        fy.run(SCENARIO | {"traffic": [SCENARIO["traffic"][0] | more]}).save(tmp_path / name)
    few, many = labelled.read([tmp_path / "few", tmp_path / "many"])
    own = statistics.mean(few.flows["size_bytes"].to_list())
    assert abs(own / few.summary["traffic"][0]["mean_size_bytes"] - 1) > facts.MEAN_CLOSE
    assert f"mean of the flows of this run {text.size(own)}" in facts._entry(0, few).detail
    assert "this run" not in facts._entry(0, many).detail
