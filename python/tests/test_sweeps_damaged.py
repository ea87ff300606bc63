"""Runs of a sweep that were cut short or edited: the same command makes them again, others name them."""

import json
import os
import shutil

import polars as pl
import pytest
from conftest import SMALL, open_sweep

import flowyard as fy
from flowyard import cli, sweeps
from flowyard.errors import UserError
from flowyard.sweeps.plan import ModelPlan
from flowyard.sweeps.store import Store

PLAN = 'scenario = "small.toml"\nreplicas = 3\n'


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def edit(path):
    summary = json.loads(path.read_text())
    path.write_text(json.dumps(summary | {"status": "weird"}))


def become_a_file(run):
    shutil.rmtree(run)
    run.write_text("a run was here")


DAMAGES = {
    "run.json is cut short": lambda run: cut(run / "run.json"),
    "run.json is empty": lambda run: (run / "run.json").write_bytes(b""),
    "run.json is removed": lambda run: (run / "run.json").unlink(),
    "its status is edited": lambda run: edit(run / "run.json"),
    "flows are cut short": lambda run: cut(run / "flows.parquet"),
    "flows are removed": lambda run: (run / "flows.parquet").unlink(),
    "links are empty": lambda run: (run / "links.parquet").write_bytes(b""),
    "links are text": lambda run: (run / "links.parquet").write_text("from,to\n"),
    "nothing is left": lambda run: [path.unlink() for path in run.iterdir()],
    "it is a file": become_a_file,
    "it is a link to nowhere": lambda run: [
        step() for step in (lambda: shutil.rmtree(run), lambda: run.symlink_to("nowhere"))
    ],
}


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A sweep of three runs."""
    folder = tmp_path_factory.mktemp("sound")
    (folder / "small.toml").write_text(SMALL)
    (folder / "plan.toml").write_text(PLAN)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert cli.main(["sweep", "plan.toml", "-o", "sw"]) == 0
    return folder


@pytest.fixture
def here(sound, tmp_path, monkeypatch):
    folder = shutil.copytree(sound, tmp_path / "here")
    monkeypatch.chdir(folder)
    return folder


def digests(folder):
    return {key: summary["digest"] for key, summary in open_sweep(folder).summaries().items()}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_run_is_made_again(damage, here, sound, capsys):
    run = sorted((here / "sw/runs").iterdir())[1]
    others = {path: path.stat().st_mtime_ns for path in (here / "sw/runs").iterdir() if path != run}
    DAMAGES[damage](run)
    # The report and Python name the folder and what to do.
    assert cli.main(["report", "sw"]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"error: sw: 1 run is damaged; sw/runs/{run.name}")
    assert said.endswith(
        f"; flowyard sweep with its plan makes it again, or remove sw/runs/{run.name} to go without\n"
    )
    assert not (here / "sw/report.html").exists()
    with pytest.raises(UserError, match=f"sw: 1 run is damaged; sw/runs/{run.name}"):
        fy.open("sw")
    # The sweep does it.
    assert cli.main(["sweep", "plan.toml", "-o", "sw"]) == 0
    stdout, stderr = capsys.readouterr()
    assert stdout == "3 of 3 runs are in sw\n"
    first, second = stderr.splitlines()
    assert first == "plan: 3 runs, 2 of them done before"
    assert second.startswith(f"1 run was damaged and is made again; sw/runs/{run.name}")
    assert digests(here / "sw") == digests(sound / "sw")
    assert {path: path.stat().st_mtime_ns for path in others} == others
    assert sorted(path.name for path in (here / "sw").iterdir()) == ["runs", "sweep.json"]
    # Once.
    assert cli.main(["sweep", "plan.toml", "-o", "sw"]) == 0
    assert capsys.readouterr().err == "plan: 3 runs, 3 of them done before\n"


def test_a_run_that_is_removed_is_only_missing(here, capsys):
    shutil.rmtree(next((here / "sw/runs").iterdir()))
    assert len(fy.open("sw").metrics) == 2  # type: ignore[union-attr]
    assert cli.main(["sweep", "plan.toml", "-o", "sw", "--json"]) == 0
    stdout, stderr = capsys.readouterr()
    assert json.loads(stdout)["damaged"] == 0
    assert "damaged" not in stderr


def test_several_are_counted(here, capsys):
    for run in (here / "sw/runs").iterdir():
        (run / "run.json").unlink()
    with pytest.raises(UserError, match=r"sw: 3 runs are damaged; .* makes them again"):
        fy.open("sw")
    assert cli.main(["sweep", "plan.toml", "-o", "sw", "--json"]) == 0
    stdout, stderr = capsys.readouterr()
    assert json.loads(stdout)["damaged"] == 3
    assert "3 runs were damaged and are made again; " in stderr


def test_one_of_another_shard_is_left_to_it(here, capsys):
    keys = [run["key"] for run in json.loads((here / "sw/sweep.json").read_text())["runs"]]
    (here / "sw/runs" / keys[1] / "run.json").unlink()
    for shard, done, said in (("1/3", 2, False), ("2/3", 3, True), ("3/3", 3, False)):
        assert cli.main(["sweep", "plan.toml", "-o", "sw", "--shard", shard]) == 0
        stdout, stderr = capsys.readouterr()
        assert stdout == f"{done} of 3 runs are in sw\n"
        assert ("damaged" in stderr) == said


def test_a_new_plan_is_compared_with_a_run_that_is_whole(here, capsys):
    runs = sorted((here / "sw/runs").iterdir())
    keys = [run["key"] for run in json.loads((here / "sw/sweep.json").read_text())["runs"]]
    (here / "sw/runs" / keys[0] / "run.json").unlink()
    (here / "plan.toml").write_text(PLAN + "set.run.seed = 9\n")
    assert cli.main(["sweep", "plan.toml", "-o", "sw"]) == 2
    assert "the scenario has changed: run.seed: 1 -> 9" in capsys.readouterr().err
    assert sorted((here / "sw/runs").iterdir()) == runs


def test_another_process_may_have_made_it_again_meanwhile(here):
    run = next((here / "sw/runs").iterdir())
    (run / "run.json").unlink()
    whole = next(path for path in (here / "sw/runs").iterdir() if path != run)
    with Store(here / "sw") as first, Store(here / "sw") as second:
        assert first.damage(run.name)
        first.publish(run.name, lambda made: shutil.copytree(whole, made, dirs_exist_ok=True))
        kept = (run / "run.json").stat().st_ino
        second.publish(run.name, lambda made: shutil.copytree(whole, made, dirs_exist_ok=True))
    assert (run / "run.json").stat().st_ino == kept
    assert sorted(path.name for path in (here / "sw").iterdir()) == ["runs", "sweep.json"]


def test_what_is_wrong_within_a_table_shows_with_what_to_do(here, capsys):
    run = next((here / "sw/runs").iterdir())
    table = bytearray((run / "flows.parquet").read_bytes())
    table[100:-100] = os.urandom(len(table) - 200)
    (run / "flows.parquet").write_bytes(table)
    assert cli.main(["report", "sw"]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"error: sw/runs/{run.name}: not the folder of a run (")
    assert said.endswith("; remove it, and flowyard sweep makes the run again\n")


def table(n, replica):
    return pl.DataFrame({"sum": [n + replica]})


@pytest.mark.parametrize("name", ["run.json", "table.parquet"])
def test_a_model_s_run_is_made_again(name, tmp_path):
    plan = ModelPlan(table, {"n": [1, 2]})
    sweeps.sweep(plan, tmp_path / "m")
    cut(next((tmp_path / "m/runs").iterdir()) / name)
    with pytest.raises(UserError, match="1 run is damaged"):
        fy.open(tmp_path / "m")
    again = sweeps.sweep(plan, tmp_path / "m")
    assert again.complete
    assert sorted(again.scan("table").collect()["sum"]) == [1, 2]


def test_a_threshold_may_be_a_word(tmp_path):
    """As DAQ's port has it: the run is whole."""
    plan = sweeps.Plan(
        {
            "topology": {"single-switch": {"hosts": 3}},
            "transport": "daq",
            "queue": {"daq": {"threshold": "measured"}},
            "traffic": [
                {
                    "name": "few",
                    "arrivals": "at-once",
                    "matrix": {"pairs": [[1, 0], [2, 0]]},
                    "sizes": {"fixed": "3KB"},
                    "deadline": "10ms",
                }
            ],
        }
    )
    assert not sweeps.execute(plan, tmp_path / "s").failed
    assert open_sweep(tmp_path / "s").complete
