"""What users are told of central control: a line on the controller, and advice on loads that it has no room for."""

import json
import re
from pathlib import Path

import flowyard as fy
from flowyard import results
from flowyard.report.run.summary import summary_table

BURSTS = {
    "topology": {
        "leaf-spine": {"leaves": 4, "spines": 3, "hosts": 30, "rate": "1Gbps", "spine": {"rate": "10Gbps"}}
    },
    "transport": {"central": {"lengths": "bimodal"}},
    "traffic": [
        {
            "name": "bursts",
            "arrivals": {"poisson": {"load": 0.8}},
            "matrix": "uniform",
            "sizes": {"exponential": {"mean": "46KB"}},
            "flows": 10_000,
        }
    ],
}


def rows(result):
    return {name: value for name, value in summary_table(result, "run").rows}  # noqa: C416 (mypy wants pairs)


def test_a_run_says_what_its_controller_did():
    short = {"run.until": "200us"}
    result = fy.run(BURSTS | {"controller": "syn"}, short)
    control = result.summary["counters"]["control"]
    # 200 us are 16 slots of 12.304 us and a part.
    assert 10 <= control["acts"] <= 17
    assert 0 < control["wall_s"] < result.summary["counters"]["wall_s"]
    line = rows(result)["controller syn"]
    assert line.startswith(f"{control['acts']} decisions of ")
    assert line.endswith(f"{control['reports']:,} reports, {control['orders']:,} orders")
    lossy = fy.run(BURSTS | {"controller": "asy"}, short | {"controller.asy.control.loss": 0.5})
    assert lossy.summary["counters"]["control"]["lost"] > 0
    assert rows(lossy)["controller asy"].endswith(" lost")
    # Runs of earlier versions have no times.
    del control["wall_s"]
    assert rows(result)["controller syn"].startswith(f"{control['acts']} decisions, ")
    tcp = fy.run(BURSTS | {"transport": "tcp"}, short)
    assert not any(name.startswith("controller") for name in rows(tcp))


def test_the_check_names_the_controller_as_a_run_does(flowyard, tmp_path):
    def controllers(scenario):
        (tmp_path / "bursts.json").write_text(json.dumps(scenario))
        done = flowyard("check", "bursts.json", "--defaults")
        assert done.returncode == 0
        # Long lines are folded.
        said = " ".join(done.stdout.split())
        return re.findall(r"controller \w+ \{ .*", said)

    short = {"run": {"until": "200us"}}
    for controller, setting in (({"syn": {"batch": 4}}, "batch = 4"), ("asy", 'interval = "0ps"')):
        (line,) = controllers(BURSTS | short | {"controller": controller})
        result = fy.run(BURSTS | short | {"controller": controller})
        (name,) = (name for name in rows(result) if name.startswith("controller "))
        assert line.startswith(f"{name} {{ ")
        assert setting in line
    assert controllers(BURSTS | short | {"transport": "tcp"}) == []


def test_a_load_that_slots_leave_no_room_for_is_advised_against():
    page = (Path(__file__).parents[2] / "docs/messages.md").read_text()
    said = " ".join(page.split())
    checked = results.Checked(BURSTS | {"controller": "syn"})
    (advice,) = checked.outlook().advice
    assert results.advised(advice) in said
    fits = {"traffic.bursts.arrivals.poisson.load": float(advice["write"].rpartition(" ")[2])}
    assert results.Checked(BURSTS | {"controller": "syn"}, fits).outlook().advice == []
