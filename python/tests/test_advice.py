"""What follows from the network, and what is probably not meant: on the command line, in run.json and in reports."""

import json

import pytest

import flowyard as fy
from flowyard import report, results
from flowyard.report import javascript
from flowyard.report.run import labelled
from flowyard.sweeps import advice, forecast

SCENARIO = {
    "topology": {"fat-tree": {"k": 4, "rate": "100Gbps", "delay": "1us"}},
    "transport": {"ndp": {"initial_window": 30}},
    "traffic": [
        {"name": "one", "arrivals": "at-once", "matrix": {"pairs": [[0, 15]]}, "sizes": {"fixed": "100KB"}}
    ],
}
FIELD = "transport.ndp.initial_window"
BDP = {FIELD: "bdp"}
# As in the engine's own test: 6 x (120 ns + 1 us) + 6 x (5.12 ns + 1 us) at 100 Gbps.
PACKETS = 107


@pytest.fixture
def throttled(tmp_path):
    path = tmp_path / "throttled.json"
    path.write_text(json.dumps(SCENARIO))
    return path


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(javascript, "bundle", lambda: "/* bundle */")


def test_check_and_run_advise(inside, throttled):
    line = f"advice: {FIELD}: 30 x 1500 B = 45 KB is below the bandwidth-delay product of the longest path, 159 KB: "
    end = f'one flow reaches at most 28 % of its link; write {FIELD} = "bdp"'
    for words in (["check", throttled], ["run", throttled, "-o", throttled.parent / "out"]):
        done = inside(*words)
        assert done.returncode == 0
        assert line + end in done.stdout.splitlines()
        assert "advice" not in inside(*words[:2], "--set", f"{FIELD}=bdp").stdout
        assert "advice" not in inside(*words[:2], "--set", "run.advice=false").stdout
    said = json.loads(inside("check", throttled, "--json").stdout)
    assert [advice["path"] for advice in said["advice"]] == [FIELD]
    kept = json.loads((throttled.parent / "out" / "run.json").read_text())
    assert kept["advice"] == said["advice"]


def test_the_value_that_is_used_is_said(inside, throttled):
    said = inside("check", throttled, "--set", f"{FIELD}=bdp").stdout
    assert f"  derived    {FIELD} = {PACKETS}" in said.splitlines()
    result = fy.run(SCENARIO, BDP)
    assert result.summary["derived"][FIELD] == PACKETS == results.outlook(SCENARIO, BDP).derived[FIELD]
    assert result.summary["scenario"]["transport"]["ndp"]["initial_window"] == "bdp"
    # Written out, it gives the same.
    assert fy.run(SCENARIO, {FIELD: PACKETS}).summary["digest"] == result.summary["digest"]


def test_reports_show_both(tmp_path):
    throttled = fy.run(SCENARIO).save(tmp_path / "throttled")
    filled = fy.run(SCENARIO, BDP).save(tmp_path / "filled")
    page = report.write([throttled, filled], tmp_path / "both.html").read_text()
    assert page.count("one flow reaches at most 28 % of its link") == 1
    assert '<section id="advice">' in page
    assert '<section id="advice">' not in report.write([filled], tmp_path / "one.html").read_text()
    (run,) = labelled.read([filled])
    assert run.scenario["transport"]["ndp"]["initial_window"] == PACKETS
    assert run.scenario["traffic"][0]["transport"]["ndp"]["initial_window"] == PACKETS


def test_a_sweep_says_it_once_for_each_field(tmp_path):
    plan = fy.Plan(SCENARIO, [fy.Axis("window", {FIELD: [10, 20, "bdp"]})], replicas=2, name="swept")
    from flowyard.report.sweep import page as sweep_page

    page = sweep_page.render(fy.sweep(plan, tmp_path / "swept"))
    assert page.count(f"Advice: {FIELD}") == 1
    assert "In 4 runs, the first: 10 x 1500 B = 15 KB" in page


def test_a_sweep_advises_before_its_runs(inside, throttled):
    plan = throttled.with_name("plan.toml")
    plan.write_text(
        f"scenario = '{throttled.name}'\nreplicas = 2\n"
        f"[[axes]]\nname = 'window'\nset.'{FIELD}' = ['bdp', 10, 20]\n"
    )
    points = "(window = 10; window = 20; numbers are those of the first)"
    line = f"advice: {FIELD}: at 2 of 3 points {points}: 10 x 1500 B = 15 KB is below "
    for words in (["check", plan], ["sweep", plan, "--dry-run"]):
        (said,) = [text for text in inside(*words).stdout.splitlines() if text.startswith("advice")]
        assert said.startswith(line)
        assert said.endswith(f'; write {FIELD} = "bdp"')
    whole = json.loads(inside("check", plan, "--json").stdout)["advice"]
    assert [(piece["path"], piece["points"], piece["looked"]) for piece in whole] == [(FIELD, 2, 3)]
    out = throttled.parent / "out"
    done = inside("sweep", plan, "-o", out, "--json")
    assert any(text.startswith(line) for text in done.stderr.splitlines())
    assert json.loads(done.stdout)["advice"] == whole
    # Nothing is left to run; who asks for a forecast is advised all the same.
    assert json.loads(inside("sweep", plan, "-o", out, "--json").stdout)["advice"] == []
    assert json.loads(inside("sweep", plan, "-o", out, "--dry-run", "--json").stdout)["advice"] == whole


def test_of_many_points_some_are_advised(monkeypatch, tmp_path):
    monkeypatch.setattr(advice, "MOST_POINTS", 5)
    plan = fy.Plan(SCENARIO, [fy.Axis("seed", {"run.seed": list(range(41))})], replicas=2)
    (piece,) = forecast.of(plan, tmp_path / "out").advice
    assert (piece.points, piece.looked, piece.planned) == (5, 5, 41)
    named = "(seed = 0; seed = 10; seed = 20; seed = 30; and 1 more; numbers are those of the first)"
    assert f"at all 5 points that were looked at {named}: " in piece.line()
    (only,) = forecast.of(fy.Plan(SCENARIO, replicas=2), tmp_path / "out").advice
    assert only.line() == results.advised(results.outlook(SCENARIO).advice[0])


def test_a_point_that_needs_too_much_is_not_advised():
    large = fy.Plan(SCENARIO, set={"run.memory_limit": "1MiB", "topology.fat-tree.k": 32, FIELD: 10})
    assert advice.of(large.tasks()) == []
