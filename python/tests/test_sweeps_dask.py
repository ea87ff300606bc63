"""Sweeps on a real Dask cluster on this machine: same results, and nothing lost with a worker."""

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import distributed
import pytest
from conftest import SMALL, open_sweep
from dask_cluster import PATIENCE, a_cluster, until

import flowyard as fy
from flowyard.errors import UserError
from flowyard.sweeps import dask

PLAN = """\
scenario = "small.toml"
replicas = 4

[[axes]]
name = "size"
set.traffic.few.sizes.fixed = ["10KB", "20KB"]
"""
# Runs of about two tenths of a second.
LONGER = """\
scenario = "small.toml"
replicas = 8
set.topology.single-switch.hosts = 16
set.traffic.few.flows = 64
set.traffic.few.sizes.fixed = "10MB"
"""
# A worker with another engine.
OTHER = """\
from flowyard import _native
_native.__engine__ = "9.9.9+other"
from distributed.cli.dask_worker import main
main()
"""
# A worker on which one run fails.
FAILING = """\
from flowyard.sweeps.task import ScenarioTask
before = ScenarioTask.run
def run(task, progress=None, threads=None):
    if (task.values, task.replica) == ({"size": "20KB"}, 1):
        raise OSError("it is full here")
    return before(task, progress)
ScenarioTask.run = run
from distributed.cli.dask_worker import main
main()
"""
# A worker that dies when it is asked for its engine.
DYING = """\
import os
from flowyard.sweeps import dask
dask.engine = lambda: os._exit(1)
from distributed.cli.dask_worker import main
main()
"""
# A scheduler that gives no run to a second worker.
STRICT = """\
import dask
dask.config.set({"distributed.scheduler.allowed-failures": 0})
from distributed.cli.dask_scheduler import main
main()
"""
pytestmark = pytest.mark.skipif(os.name == "nt", reason="there are no signals")


@pytest.fixture
def cluster(tmp_path):
    """An empty cluster, for a scheduler that the test ends or that is special."""
    with a_cluster(tmp_path / "cluster") as cluster:
        yield cluster


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory):
    """A cluster of a scheduler alone."""
    with a_cluster(tmp_path_factory.mktemp("dask") / "cluster") as cluster:
        cluster.scheduler()
        yield cluster


@pytest.fixture
def workers(scheduler):
    """A cluster to which a test adds workers; they end with the test."""
    yield scheduler
    for process in scheduler.processes[1:]:
        process.kill()
        process.wait()
    del scheduler.processes[1:]
    with distributed.Client(scheduler.address, set_as_default=False) as client:
        until(lambda: not client.nthreads())


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """That of a scheduler with two workers."""
    with a_cluster(tmp_path_factory.mktemp("dask") / "cluster") as cluster:
        address = cluster.scheduler()
        cluster.worker()
        cluster.worker()
        yield address


@pytest.fixture
def plan(small, tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text(PLAN)
    return path


@pytest.fixture
def longer(small, tmp_path):
    path = tmp_path / "longer.toml"
    path.write_text(LONGER)
    return path


def begin(tmp_path, *arguments):
    """A sweep in the background."""
    words = [sys.executable, "-m", "flowyard", "sweep", *map(str, arguments)]
    return subprocess.Popen(
        words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def runs(folder):
    return list((folder / "runs").iterdir()) if (folder / "runs").exists() else []


def digests(folder):
    sweep = open_sweep(folder)
    assert sweep.complete
    return {key: summary["digest"] for key, summary in sweep.summaries().items()}


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The digests of the longer sweep without a cluster."""
    folder = tmp_path_factory.mktemp("alone")
    (folder / "small.toml").write_text(SMALL)
    (folder / "plan.toml").write_text(LONGER)
    sweep = begin(folder, "plan.toml", "-o", "here")
    sweep.communicate(timeout=PATIENCE)
    assert sweep.returncode == 0
    return digests(folder / "here")


def test_results_are_those_of_this_machine(flowyard, plan, tmp_path, address):
    done = flowyard("sweep", plan, "-o", "there", "--dask", address)
    assert (done.returncode, done.stdout) == (0, "8 of 8 runs are in there\n")
    # Nothing of distributed's own log; on a slow machine there is progress.
    said = done.stderr.splitlines()
    assert said[0] == "plan: 8 runs"
    assert all(re.fullmatch(r"plan: \d of 8 runs, .+ left", line) for line in said[1:])
    assert flowyard("sweep", plan, "-o", "here").returncode == 0
    assert digests(tmp_path / "there") == digests(tmp_path / "here")
    names = {path.name for run in runs(tmp_path / "there") for path in run.iterdir()}
    assert names == {"run.json", "flows.parquet", "links.parquet"}
    assert sorted(path.name for path in (tmp_path / "there").iterdir()) == ["runs", "sweep.json"]


def test_a_figure_of_a_paper_is_made_by_a_cluster(flowyard, tmp_path, address):
    study = Path(__file__).parents[2] / "examples" / "incast-buffers"
    done = flowyard("paper", "run", study, "-o", "there", "--dask", address, "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert (answer["passed"], answer["open"], answer["broke"]) == (2, 1, [])
    # The cluster's processor time counts.
    simulated = sum(
        summary["counters"]["cpu_s"]
        for summary in open_sweep(tmp_path / "there/BUF-1/reads").summaries().values()
    )
    cost = json.loads((tmp_path / "there/papers.json").read_text())["figures"]["BUF-1"]
    assert cost["cpu_s"] >= round(simulated, 2)


def test_the_rest_of_a_local_sweep_can_go_to_a_cluster(flowyard, plan, tmp_path, address):
    assert flowyard("sweep", plan, "-o", "both", "--shard", "1/2").returncode == 0
    first = {path: path.stat().st_mtime_ns for path in runs(tmp_path / "both")}
    assert len(first) == 4
    assert flowyard("sweep", plan, "-o", "both", "--dask", address).returncode == 0
    assert {path: path.stat().st_mtime_ns for path in first} == first
    assert open_sweep(tmp_path / "both").complete


def test_nothing_is_lost_with_a_worker(longer, tmp_path, alone, workers):
    address = workers.address
    victim = workers.worker()
    workers.worker()
    sweep = begin(tmp_path, longer, "-o", "there", "--dask", address)
    until(lambda: runs(tmp_path / "there"))
    assert len(runs(tmp_path / "there")) < 6
    victim.kill()
    stdout, stderr = sweep.communicate(timeout=PATIENCE)
    assert (sweep.returncode, stdout) == (0, "8 of 8 runs are in there\n")
    assert "Traceback" not in stderr
    assert "distributed" not in stderr
    assert digests(tmp_path / "there") == alone


def in_a_run(address):
    """Whether a worker is computing a run just now."""
    with distributed.Client(address, set_as_default=False) as client:
        states = client.run(lambda dask_worker: [task.state for task in dask_worker.state.tasks.values()])
    return any("executing" in found for found in states.values())


def test_a_worker_that_is_killed_in_the_middle_of_a_run_loses_nothing_but_time(
    longer, tmp_path, alone, workers
):
    address = workers.address
    victim = workers.worker()
    sweep = begin(tmp_path, longer, "-o", "there", "--dask", address)
    # There is no other worker: all that is not done yet is its.
    until(lambda: runs(tmp_path / "there") and in_a_run(address))
    kept = {path: path.stat().st_mtime_ns for path in runs(tmp_path / "there")}
    victim.kill()
    victim.wait()
    assert sweep.poll() is None
    workers.worker()
    stdout, stderr = sweep.communicate(timeout=PATIENCE)
    assert (sweep.returncode, stdout) == (0, "8 of 8 runs are in there\n")
    assert "Traceback" not in stderr
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert digests(tmp_path / "there") == alone


def test_a_run_that_ends_its_workers_is_named(long, tmp_path, cluster):
    address = cluster.scheduler(sys.executable, "-c", STRICT)
    victim = cluster.worker()
    plan = tmp_path / "plan.toml"
    plan.write_text('scenario = "long.toml"\n[[axes]]\nname = "seed"\nset.run.seed = [7]\n')
    sweep = begin(tmp_path, plan, "-o", "there", "--dask", address)
    until(lambda: in_a_run(address))
    victim.kill()
    stdout, stderr = sweep.communicate(timeout=PATIENCE)
    assert (sweep.returncode, stdout) == (1, "0 of 1 runs are in there\n")
    said = r"failed: seed = 7: it ended the worker at tcp://127\.0\.0\.1:\d+; the worker's log may say why\n"
    assert re.search(said, stderr)
    assert "Traceback" not in stderr


def test_a_run_that_fails_on_a_worker_is_named(flowyard, plan, tmp_path, workers):
    address = workers.address
    workers.worker(sys.executable, "-c", FAILING)
    done = flowyard("sweep", plan, "-o", "there", "--dask", address)
    assert (done.returncode, done.stdout) == (1, "7 of 8 runs are in there\n")
    assert "failed: size = 20KB, replica 1: it is full here\n" in done.stderr
    assert "Traceback" not in done.stderr


def test_what_is_captured_comes_back(small, tmp_path, flowyard, address):
    plan = tmp_path / "capture.toml"
    plan.write_text('scenario = "small.toml"\nreplicas = 2\nset.observe.capture.links = ["*"]\n')
    assert flowyard("sweep", plan, "-o", "there", "--dask", address).returncode == 0
    assert flowyard("sweep", plan, "-o", "here").returncode == 0

    def captured(folder):
        files = {path.relative_to(folder): path for path in folder.glob("runs/*/pcap/*")}
        return {name: path.read_bytes() for name, path in files.items()}

    assert captured(tmp_path / "there") == captured(tmp_path / "here")
    # Four cables, in two runs.
    assert len(captured(tmp_path / "there")) == 2 * 4
    assert digests(tmp_path / "there") == digests(tmp_path / "here")


def test_a_scheduler_that_goes_ends_the_sweep_and_keeps_what_is_done(longer, tmp_path, flowyard, cluster):
    address = cluster.scheduler()
    cluster.worker()
    sweep = begin(tmp_path, longer, "-o", "there", "--dask", address)
    until(lambda: runs(tmp_path / "there"))
    cluster.processes[0].kill()
    stdout, stderr = sweep.communicate(timeout=PATIENCE)
    kept = len(runs(tmp_path / "there"))
    assert 1 <= kept < 8
    assert (sweep.returncode, stdout) == (1, f"{kept} of 8 runs are in there\n")
    said = f"failed: --dask {address}: the scheduler is gone; the same command goes on with what is missing\n"
    assert stderr.endswith(said)
    assert "Traceback" not in stderr
    assert flowyard("sweep", longer, "-o", "there").returncode == 0
    assert open_sweep(tmp_path / "there").complete


def test_ctrl_c_keeps_what_is_done_and_frees_the_workers(longer, long, tmp_path, flowyard, address, plan):
    both = tmp_path / "both.toml"
    both.write_text('replicas = 2\n[[axes]]\nname = "which"\nscenario = ["small.toml", "long.toml"]\n')
    sweep = begin(tmp_path, both, "-o", "there", "--dask", address)
    # Two workers may end both small runs at once; the long ones do not end.
    until(lambda: runs(tmp_path / "there"))
    time.sleep(0.5)
    sweep.send_signal(signal.SIGINT)
    stdout, stderr = sweep.communicate(timeout=PATIENCE)
    assert sweep.returncode == 130
    assert stderr.endswith("interrupted; the same command goes on with what is missing\n")
    assert "Traceback" not in stderr
    kept = open_sweep(tmp_path / "there").runs.filter("done")
    assert stdout == f"{len(kept)} of 4 runs are in there\n"
    assert set(kept["which"]) == {"small"}
    # The workers are not busy with the long runs, which nobody waits for any more.
    assert flowyard("sweep", plan, "-o", "next", "--dask", address).returncode == 0


def test_a_cluster_that_cannot_be_used_is_named(plan, tmp_path, workers):
    with socket.socket() as bound:
        # Bound, but nobody listens.
        bound.bind(("127.0.0.1", 0))
        nobody = f"tcp://127.0.0.1:{bound.getsockname()[1]}"
        idle = workers.address
        cases = {
            nobody: "no scheduler answers (",
            idle: "the scheduler has no worker\n",
            "nonsense": "no scheduler answers (missing port number in address 'nonsense')\n",
        }
        sweeps = {to: begin(tmp_path, plan, "-o", f"out-{i}", "--dask", to) for i, to in enumerate(cases)}
        for to, why in cases.items():
            stdout, stderr = sweeps[to].communicate(timeout=PATIENCE)
            assert (sweeps[to].returncode, stdout) == (2, "")
            first, second = stderr.splitlines(keepends=True)
            assert first == "plan: 8 runs\n"
            assert second.startswith(f"error: --dask {to}: {why}")


def test_a_worker_with_another_engine_is_refused(flowyard, plan, tmp_path, workers):
    address = workers.address
    workers.worker(sys.executable, "-c", OTHER)
    done = flowyard("sweep", plan, "-o", "there", "--dask", address)
    assert (done.returncode, done.stdout) == (2, "")
    (worker,) = re.findall(
        r"worker (tcp://127\.0\.0\.1:\d+) has engine 9\.9\.9\+other, here is ", done.stderr
    )
    assert worker != address
    assert "; install the same version on both\n" in done.stderr
    assert "Traceback" not in done.stderr
    assert runs(tmp_path / "there") == []


def test_a_worker_with_another_engine_that_comes_later_computes_nothing(flowyard, longer, tmp_path, workers):
    address = workers.address
    workers.worker()
    sweep = begin(tmp_path, longer, "-o", "there", "--dask", address)
    until(lambda: runs(tmp_path / "there"))
    workers.worker(sys.executable, "-c", OTHER)
    _, stderr = sweep.communicate(timeout=PATIENCE)
    engines = {summary["engine"] for summary in open_sweep(tmp_path / "there").summaries().values()}
    assert engines == {open_sweep(tmp_path / "there").engine}
    # What was given to it has failed, if anything was.
    refused = re.findall(
        r"failed: replica \d: worker tcp://127\.0\.0\.1:\d+ has engine 9\.9\.9\+other, not ", stderr
    )
    assert sweep.returncode == bool(refused)
    # The same command goes on with what failed.
    workers.processes[-1].kill()
    assert flowyard("sweep", longer, "-o", "there", "--dask", address).returncode == 0
    assert open_sweep(tmp_path / "there").complete


class TestFromPython:
    """What a notebook's user gives to `dask`, where an event loop is running."""

    @staticmethod
    def swept(plan, given):
        async def cell():
            return fy.sweep(plan, plan.with_name("there"), dask=given)

        return asyncio.run(cell())

    def test_an_address(self, plan, address):
        assert self.swept(plan, address).complete

    def test_a_client_which_stays_open(self, plan, address):
        with distributed.Client(address, set_as_default=False) as client:
            assert self.swept(plan, client).complete
            assert client.submit(sum, [1, 2]).result() == 3

    def test_a_cluster(self, plan):
        with distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster:
            assert self.swept(plan, cluster).complete

    @pytest.mark.parametrize("given", [True, 8786, ["tcp://127.0.0.1:1"], distributed.Client])
    def test_what_is_none_of_these(self, plan, given):
        with pytest.raises(UserError, match="give the address of a scheduler, such as tcp://"):
            self.swept(plan, given)

    def test_an_asynchronous_client(self, plan, address):
        async def cell():
            async with distributed.Client(address, asynchronous=True, set_as_default=False) as client:
                fy.sweep(plan, plan.with_name("there"), dask=client)

        with pytest.raises(UserError, match="is asynchronous; give one that was made without"):
            asyncio.run(cell())

    def test_a_client_that_is_closed(self, plan, address):
        with distributed.Client(address, set_as_default=False) as client:
            pass
        with pytest.raises(UserError, match="the client is closed"):
            self.swept(plan, client)


class Asked:
    """A client whose workers answer, or die instead."""

    def __init__(self, *answers):
        self.answers = list(answers)

    def wait_for_workers(self, number, timeout):
        pass

    def run(self, function, on_error):
        return self.answers.pop(0)


def test_a_worker_that_dies_before_it_answers_is_passed_over():
    mine, died = dask.engine(), OSError("Timed out")
    dask._same_engine(Asked({"a": died, "b": mine}), "tcp://x:1")
    dask._same_engine(Asked({"a": died}, {}, {"b": mine}), "tcp://x:1")
    with pytest.raises(UserError, match="its workers die before they answer"):
        dask._same_engine(Asked(*[{"a": died}] * dask.ASKED), "tcp://x:1")
    with pytest.raises(UserError, match=r"a worker lacks this flowyard \(No module"):
        dask._same_engine(Asked({"a": ModuleNotFoundError("No module named 'flowyard'")}), "tcp://x:1")


def test_a_worker_that_dies_in_its_first_second_loses_nothing(plan, tmp_path, workers):
    address = workers.address
    workers.worker(sys.executable, "-c", DYING)
    workers.worker()
    sweep = begin(tmp_path, plan, "-o", "there", "--dask", address)
    stdout, stderr = sweep.communicate(timeout=PATIENCE)
    assert (sweep.returncode, stdout) == (0, "8 of 8 runs are in there\n"), stderr
    assert "Traceback" not in stderr
