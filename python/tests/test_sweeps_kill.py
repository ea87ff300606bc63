"""A sweep that is killed at any moment goes on where it was: nothing half, nothing lost, nothing twice."""

import json
import math
import os
import random
import subprocess
import sys
import time

import polars as pl
import pytest
from conftest import PATIENCE_S, open_sweep

import flowyard as fy
from flowyard.sweeps.store import Store

# When a kill comes, as a share of the runs that are missing: as the folder appears, on the way, with the last run.
MOMENTS = (0.0, 0.1, 0.3, 0.6, 1.0)
ROUNDS = 2
REPLICAS = 40
PLAN = f"""\
scenario = "small.toml"
replicas = {REPLICAS}

[[axes]]
name = "size"
set.traffic.few.sizes.fixed = ["10KB", "20KB", "30KB"]
"""
RUNS = 3 * REPLICAS


def digests(folder):
    """Each run's digest by where it stands."""
    sweep = open_sweep(folder)
    summaries = sweep.summaries()
    return {(size, replica): summaries[key]["digest"] for key, size, replica, _ in sweep.runs.rows()}


def check_whole(folder, keys, checked):
    """Whatever is there is whole and belongs to the plan; returns the runs that are there."""
    if (folder / "sweep.json").exists():
        assert {run["key"] for run in json.loads((folder / "sweep.json").read_text())["runs"]} == keys
    runs = {run.name for run in (folder / "runs").iterdir()} if (folder / "runs").exists() else set()
    assert checked <= runs <= keys
    for run in runs - checked:
        assert json.loads((folder / "runs" / run / "run.json").read_text())["status"] == "complete"
        assert len(pl.read_parquet(folder / "runs" / run / "flows.parquet")) == 4
        assert len(pl.read_parquet(folder / "runs" / run / "links.parquet")) == 8
    return runs


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
def test_killed_at_each_moment_it_ends_as_if_undisturbed(small, tmp_path):
    plan = tmp_path / "killed.toml"
    plan.write_text(PLAN)
    reference = tmp_path / "reference"
    command = [sys.executable, "-m", "flowyard", "sweep", str(plan), "-o"]
    subprocess.run([*command, str(reference)], check=True, capture_output=True, timeout=PATIENCE_S)
    expected = digests(reference)
    keys = set(open_sweep(reference).runs["run"])
    assert len(keys) == len(expected) == RUNS

    chance = random.Random(5)
    between = 0
    for which in range(ROUNDS):
        folder = tmp_path / f"killed-{which}"
        there: set[str] = set()
        for moment in MOMENTS:
            wanted = len(there) + math.ceil(moment * (RUNS - len(there)))
            process = subprocess.Popen(
                [*command, str(folder)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            while process.poll() is None and not (
                folder.exists() and len(list(folder.glob("runs/*"))) >= wanted
            ):
                time.sleep(0.002)
            # A moment later; some are over before.
            time.sleep(chance.uniform(0, 0.02))
            process.kill()
            process.wait()
            there = check_whole(folder, keys, there)
            between += 0 < len(there) < RUNS
        subprocess.run([*command, str(folder)], check=True, capture_output=True, timeout=PATIENCE_S)
        assert check_whole(folder, keys, there) == keys
        assert digests(folder) == expected
        assert {path.name for path in folder.iterdir()} == {"sweep.json", "runs"}
    # It would show nothing if all were killed before the first run or after the last.
    assert between >= ROUNDS * len(MOMENTS) / 4


# Opens and leaves a store again and again, and publishes a run now and then.
VISITOR = """\
import pathlib, sys
from flowyard.sweeps.store import Store
folder, who = pathlib.Path(sys.argv[1]), sys.argv[2]
for i in range(2000):
    with Store(folder) as store:
        if i % 100 == 0:
            store.publish(f"{who}-{i}", lambda made: (made / "run.json").write_text("{}"))
"""


def test_processes_that_come_and_go_do_not_tidy_each_other_away(tmp_path):
    # .partial is emptied and removed by one just when the next one begins to use it.
    words = [sys.executable, "-c", VISITOR, str(tmp_path / "sweep")]
    processes = [
        subprocess.Popen([*words, who], stderr=subprocess.PIPE, text=True) for who in ("a", "b", "c")
    ]
    assert [process.communicate(timeout=PATIENCE_S)[1] for process in processes] == ["", "", ""]
    assert len(list((tmp_path / "sweep/runs").iterdir())) == 3 * 20
    assert [path.name for path in (tmp_path / "sweep").iterdir()] == ["runs"]


def test_what_the_dead_left_is_cleared_and_what_the_living_write_is_not(tmp_path):
    folder = tmp_path / "sweep"
    with Store(folder) as living:
        (folder / ".partial/0123456789ab/half-a-run").mkdir(parents=True)
        (folder / ".partial/0123456789ab.lock").touch()
        with Store(folder):
            assert not (folder / ".partial/0123456789ab").exists()
            assert not (folder / ".partial/0123456789ab.lock").exists()
        living.publish("key", lambda made: (made / "run.json").write_text("{}"))
    assert (folder / "runs/key/run.json").exists()
    assert not (folder / ".partial").exists()


def test_a_run_that_another_process_published_first_stays(small, tmp_path):
    # The same run twice, under other names.
    runs = {who: fy.run(small, {"name": who}) for who in ("first", "second")}
    with Store(tmp_path / "sweep") as first, Store(tmp_path / "sweep") as second:
        first.publish("key", runs["first"].write)
        second.publish("key", runs["second"].write)
    assert fy.open_run(tmp_path / "sweep/runs/key").summary["scenario"]["name"] == "first"
