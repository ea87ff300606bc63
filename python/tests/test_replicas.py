"""`flowyard run --replicas`: the runs of a sweep without axes, and their means with intervals."""

import json
import statistics

import pytest

from flowyard import cli, text
from flowyard.analysis.intervals import student_t
from flowyard.sweeps import Plan, Sweep, sweep

POISSON = """\
[topology.single-switch]
hosts = 4

[transport.ndp]

[[traffic]]
name = "few"
arrivals.poisson.load = 0.5
matrix = "uniform"
sizes.fixed = "10KB"
flows = 50
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    (tmp_path / "few.toml").write_text(POISSON)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def cells(out: str, name: str) -> list[str]:
    """The cells of the only line that begins with a name."""
    (line,) = (line for line in out.splitlines() if line.strip().startswith(f"{name} "))
    found = line.strip().removeprefix(name).replace("\xa0", " ").split("   ")
    return [cell.strip() for cell in found if cell.strip()]


def test_replicas_are_a_sweep_and_its_means_are_told(here, capsys):
    assert cli.main(["run", "few.toml", "--replicas", "3", "-o", "there"]) == 0
    out, announced = capsys.readouterr()
    assert announced.startswith("few: 3 runs\n")
    found = Sweep(here / "there")
    assert (found.axes, found.replicas, found.complete) == ({}, 3, True)
    planned = Plan(here / "few.toml", replicas=3)
    assert found.runs["run"].to_list() == [task.key for task in planned.tasks()]

    values = found.metrics["slowdown_p99"].to_list()
    mean = statistics.mean(values)
    half = student_t(2) * statistics.stdev(values) / 3**0.5
    shown = [
        text.ratio(number) for number in (mean, max(0, mean - half), mean + half, min(values), max(values))
    ]
    assert cells(out, "slowdown p99") == [shown[0], f"[{shown[1]}, {shown[2]}]", *shown[3:]]
    assert "3 of 3 runs are in there" in out
    # Both ends have the unit of the mean, after them.
    fct = found.metrics["fct_p99_ps"].to_list()
    mean, half = statistics.mean(fct), student_t(2) * statistics.stdev(fct) / 3**0.5
    assert 1e6 <= mean < 999e6
    ends = ", ".join(text.digits(end / 1e6) for end in (max(0, mean - half), mean + half))
    assert cells(out, "FCT p99")[:2] == [f"{text.digits(mean / 1e6)} us", f"[{ends}] us"]
    assert cells(out, "FCT mean")
    # Nothing is above 100 %.
    assert cells(out, "completed") == ["100%", "[100%, 100%]", "100%", "100%"]

    # The same sweep from Python has nothing left to do, and more replicas add to it.
    assert sweep(planned, here / "there").means.equals(found.means)
    assert cli.main(["run", "few.toml", "--replicas", "4", "-o", "there"]) == 0
    assert capsys.readouterr().err.startswith("few: 4 runs, 3 of them done before\n")

    assert cli.main(["show", "there"]) == 0
    assert "few: 4 replicas" in capsys.readouterr().out


def test_replicas_as_json(here, capsys):
    options = ["--replicas", "2", "--json", "--seed", "7", "--set", "run.replica=3", "--audit"]
    assert cli.main(["run", "few.toml", *options]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["folder"] == "out/few-1"
    assert (answer["replicas"], answer["done"], answer["now"]) == (2, 2, {"complete": 2})
    found = Sweep(here / answer["folder"])
    runs = [summary["scenario"]["run"] for summary in found.summaries().values()]
    assert [(run["seed"], run["replica"], run["audit"]) for run in runs] == [(7, 3, True), (7, 4, True)]
    means = found.means.row(0, named=True)
    assert answer["means"]["fct_mean_ps"] == {
        "mean": means["fct_mean_ps"],
        "ci95": means["fct_mean_ps_ci95"],
    }
    assert answer["means"]["application_throughput"] == {"mean": None, "ci95": None}
    # The next has a folder of its own.
    assert cli.main(["run", "few.toml", "--replicas", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["folder"] == "out/few-2"


def test_one_replica_is_a_run(here, capsys):
    assert cli.main(["run", "few.toml", "--replicas", "1", "-o", "there"]) == 0
    assert (here / "there/flows.parquet").exists()


def test_runs_that_meet_a_limit_are_told_by_the_exit_code(here, capsys):
    assert cli.main(["run", "few.toml", "--replicas", "2", "-o", "there", "--set", "run.until=1us"]) == 4
    out = capsys.readouterr().out
    assert "2 runs ended with status limit" in out
    # No flow completed: there is no mean.
    assert set(cells(out, "FCT p99")) == {text.NONE}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--set", "traffic.few.flows=0"], "few.toml cannot be run"),
        (["--prototype", "own.py"], "own.py: no class in it derives from those of flowyard.prototypes"),
        (["-o", "few.toml"], "few.toml"),
    ],
)
def test_mistakes_are_those_of_a_run(here, capsys, options, message):
    (here / "own.py").write_text("")
    assert cli.main(["run", "few.toml", "--replicas", "2", *options]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "points" not in error
    assert not (here / "out").exists()
