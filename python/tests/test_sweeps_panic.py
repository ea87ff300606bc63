"""A panic of the simulator fails its own run of a sweep, by name, on this machine and on a worker of a cluster."""

import os
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import PATIENCE_S, open_sweep
from dask_cluster import a_cluster

from flowyard import _native, cli
from flowyard.errors import EngineError, contradictions
from flowyard.results import Checked

pytest.importorskip("distributed")

PLAN = """\
scenario = "small.toml"
replicas = 3

[[axes]]
name = "size"
set.traffic.few.sizes.fixed = ["10KB", "20KB"]
"""
# One run panics: while it is set up, within the event loop of the engine, or when its results are written. The panic is
# a real one of Rust, which unwinds through the engine: a function that only benchmarks call gets an impossible network.
BREAKING = """\
import json
import sys
import flowyard as fy
from flowyard import _native
from flowyard.sweeps.task import ScenarioTask

def panic(*_):
    _native.floor_seconds(0, 1)

moment = sys.argv.pop(1)
before = ScenarioTask.run

def run(task, progress=None, threads=None):
    if (task.values, task.replica) != ({"size": "20KB"}, 1):
        return before(task, progress, threads)
    if moment == "setting up":
        panic()
    if moment == "running":
        return fy.run(json.loads(task.scenario), {"traffic.few.sizes.fixed": "1GB"}, progress=panic)
    output = before(task, progress, threads)
    output.write = panic
    return output

ScenarioTask.run = run
"""
MOMENTS = ["setting up", "running", "writing"]
SAID = "failed: size = 20KB, replica 1: the simulator contradicted itself: argument of integer logarithm"


@pytest.fixture
def plan(small, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "plan.toml"
    path.write_text(PLAN)
    return path


def swept(*words):
    # With RUST_BACKTRACE a panic is printed with its stack, too.
    environment = {name: value for name, value in os.environ.items() if name != "RUST_BACKTRACE"}
    return subprocess.run(
        [sys.executable, *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
        env=environment,
    )


def check_that_one_failed(done, folder):
    """The run is named in a line, all others are there, and the same command without the panic makes it."""
    assert (done.returncode, done.stdout) == (1, "5 of 6 runs are in there\n")
    # Not all of stderr: PyO3 prints how the panic came into the engine, by way of Python.
    failed = [line for line in done.stderr.splitlines() if line.startswith("failed: ")]
    assert len(failed) == 1
    assert failed[0].startswith(SAID)
    assert len(open_sweep(folder).statuses) == 5
    assert sorted(path.name for path in folder.iterdir()) == ["runs", "sweep.json"]
    kept = {path: path.stat().st_mtime_ns for path in folder.glob("runs/*/*")}
    assert swept("-m", "flowyard", "sweep", "plan.toml", "-o", "there").returncode == 0
    assert open_sweep(folder).complete
    assert {path: path.stat().st_mtime_ns for path in kept} == kept


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_panic_fails_its_own_run(moment, plan, tmp_path):
    words = ["sweep", "plan.toml", "-o", "there", "--workers", "2"]
    done = swept("-c", f"{BREAKING}\nfrom flowyard.cli import main\nsys.exit(main())", moment, *words)
    check_that_one_failed(done, tmp_path / "there")


@pytest.mark.skipif(os.name == "nt", reason="there are no signals")
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_panic_on_a_worker_fails_its_own_run(moment, plan, tmp_path):
    with a_cluster(tmp_path / "cluster") as cluster:
        address = cluster.scheduler()
        main = "from distributed.cli.dask_worker import main\nmain()"
        worker = cluster.worker(sys.executable, "-c", f"{BREAKING}\n{main}", moment)
        done = swept("-m", "flowyard", "sweep", "plan.toml", "-o", "there", "--dask", address)
        # It goes on with other runs.
        assert worker.poll() is None
    check_that_one_failed(done, tmp_path / "there")


@pytest.fixture
def outlook_panics(monkeypatch):
    """What there is to know of a point before it runs, of those of 20 KB."""
    before = Checked.outlook

    def outlook(self):
        if self.resolved()["traffic"][0]["sizes"] == {"fixed": "20KB"}:
            with contradictions():
                _native.floor_seconds(0, 1)
        return before(self)

    monkeypatch.setattr(Checked, "outlook", outlook)


@pytest.mark.parametrize("options", [[], ["--threads", "2"]])
def test_a_panic_before_the_runs_fails_those_of_its_point(options, plan, outlook_panics, capsys):
    assert cli.main(["sweep", "plan.toml", "-o", "there", *options]) == 1
    out, err = capsys.readouterr()
    assert out == "3 of 6 runs are in there\n"
    failed = [line for line in err.splitlines() if line.startswith("failed: ")]
    labels = [line.split(": ")[1] for line in sorted(failed)]
    assert labels == [f"size = 20KB, replica {replica}" for replica in range(3)]


def test_a_dry_run_names_the_point_that_panics(plan, outlook_panics, capsys):
    assert cli.main(["sweep", "plan.toml", "--dry-run"]) == 1
    assert capsys.readouterr().err.startswith(
        "error: size = 20KB, replica 0: the simulator contradicted itself"
    )


def test_a_plan_names_the_point_that_panics(plan, monkeypatch, capsys):
    before = Checked.resolved

    def resolved(self, **_):
        found = before(self)
        if found["traffic"][0]["sizes"] == {"fixed": "20KB"}:
            with contradictions():
                _native.floor_seconds(0, 1)
        return found

    monkeypatch.setattr(Checked, "resolved", resolved)
    assert cli.main(["sweep", "plan.toml", "-o", "there"]) == 1
    assert capsys.readouterr().err.startswith("error: size = 20KB: the simulator contradicted itself")


def test_each_of_two_panics_at_once_is_named_with_its_place():
    both_panicked = threading.Barrier(2)

    def panic_and_wait():
        try:
            _native.floor_seconds(0, 1)
        finally:
            both_panicked.wait(PATIENCE_S)

    def run(_):
        with pytest.raises(EngineError) as raised, contradictions():
            panic_and_wait()
        return str(raised.value)

    with ThreadPoolExecutor(2) as threads:
        for said in threads.map(run, range(2)):
            assert re.search(r"integer logarithm must be positive \(\S*floor\.rs:\d+:\d+\)", said)


def test_a_panic_is_an_ordinary_exception_of_each_method(small, monkeypatch):
    class Panics:
        def __getattr__(self, _):
            return lambda *_: _native.floor_seconds(0, 1)

    checked = Checked(small)
    monkeypatch.setattr(checked, "_native", Panics())
    monkeypatch.setattr(checked, "_is_admitted", True)
    for method in (lambda: checked.replica(1), checked.outlook, checked.fabric, checked.flows):
        with pytest.raises(EngineError, match="contradicted itself: argument of integer logarithm"):
            method()
