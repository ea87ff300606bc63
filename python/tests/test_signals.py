"""SIGTERM and SIGHUP act as Ctrl-C does, in every verb that computes: what is done is kept, nothing else is left.

Tests wait for files and lines that processes write, never for a time that is guessed.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import OWN_CLAIMS, open_sweep

import flowyard as fy
from flowyard import slotted
from flowyard.terminal import interrupt

pytestmark = pytest.mark.skipif(os.name == "nt", reason="there are no signals")

# Seconds that anything may take on a busy machine.
PATIENCE = 600
ENDS = ["SIGTERM", "SIGHUP"]
LINK = """\
discipline = "pdq"
run.slots = 1_000_000_000
generation.random = { servers = 8, probability = 0.02 }

[[classes]]
sizes.uniform = { min = 2, max = 30 }
deadlines.exponential = { mean = 60, infeasible = "shift" }
"""
FIGURE = """\
from flowyard import Plan
from flowyard.papers.figure import Figure
from flowyard.papers.judge import exactly

FIGURE = Figure(
    id="OWN-1",
    title="Runs that never end",
    plans=lambda scale: {"long": Plan("long.toml")},
    tables=lambda scale, runs: {},
    claims={"OWN-1.a": lambda tables: exactly(1, 1)},
)
"""


def begin(folder, *words, **more):
    """A command in the background."""
    environment = os.environ | {"PYTHONWARNINGS": "ignore:flowyard is a debug build"}
    return subprocess.Popen(
        [sys.executable, "-m", "flowyard", *map(str, words)],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Its own, so that nobody else is sent what a terminal sends to all.
        start_new_session=True,
        **more,
    )


def until(condition, process):
    """Waits until something is true while a command goes on."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def end(process, name="SIGTERM"):
    """Sends a signal, and returns what the command said."""
    process.send_signal(getattr(signal, name))
    stdout, stderr = process.communicate(timeout=PATIENCE)
    assert "Traceback" not in stderr
    assert process.returncode == 130, stderr
    return stdout, stderr


def in_the_making(folder):
    return list(folder.glob(".flowyard-*"))


def names(folder):
    return sorted(path.name for path in folder.iterdir() if path.name != "long.toml")


@pytest.mark.parametrize("name", ENDS)
def test_a_run_keeps_what_there_is(name, long, tmp_path):
    process = begin(tmp_path, "run", long, "-o", "stopped")
    # A line on how far it is: it is in the middle of the simulation.
    assert "simulated" in process.stderr.readline()
    stdout, _ = end(process, name)
    assert "interrupted" in stdout
    assert names(tmp_path) == ["stopped"]
    result = fy.open_run(tmp_path / "stopped")
    assert result.status == "interrupted"
    assert result.summary["counters"]["packet_hops"] > 0
    assert result.summary["counters"]["unfinished_flows"] > 0


def test_a_signal_that_comes_again_and_again_loses_nothing(long, tmp_path):
    # As `timeout` does it, which sends one to the process and one to its group.
    process = begin(tmp_path, "run", long, "-o", "stopped")
    until(lambda: in_the_making(tmp_path), process)
    for name in ("SIGTERM", "SIGTERM", "SIGHUP", "SIGINT", "SIGINT", "SIGTERM"):
        process.send_signal(getattr(signal, name))
    end(process)
    assert names(tmp_path) == ["stopped"]
    assert fy.open_run(tmp_path / "stopped").status == "interrupted"


def test_nohup_is_respected(long, tmp_path):
    ignore = lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)  # noqa: E731
    process = begin(tmp_path, "run", long, "-o", "stopped", preexec_fn=ignore)
    assert "simulated" in process.stderr.readline()
    process.send_signal(signal.SIGHUP)
    # It goes on: the next line comes seconds after the one before the signal.
    assert "simulated" in process.stderr.readline()
    end(process)


def test_a_run_outlives_its_terminal_for_as_long_as_it_takes_to_keep_what_there_is(long, tmp_path):
    import fcntl
    import termios

    ours, theirs = os.openpty()
    take = lambda: fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)  # noqa: E731
    words = [sys.executable, "-m", "flowyard", "run", str(long), "-o", "stopped"]
    process = subprocess.Popen(
        words,
        cwd=tmp_path,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=take,
    )
    os.close(theirs)
    said = b""
    while b"simulated" not in said:
        said += os.read(ours, 4096)
    # The window is closed: the system sends SIGHUP, and writing to the terminal is an error from now on.
    os.close(ours)
    assert process.wait(PATIENCE) in (130, 141)
    assert names(tmp_path) == ["stopped"]
    assert fy.open_run(tmp_path / "stopped").status == "interrupted"


@pytest.mark.parametrize("name", ENDS)
def test_a_sweep_keeps_the_runs_that_are_done(name, small, long, tmp_path):
    plan = tmp_path / "plan.toml"
    plan.write_text('[[axes]]\nname = "which"\nscenario = ["small.toml", "long.toml"]\n')
    process = begin(tmp_path, "sweep", plan, "-o", "there", "--workers", 1)
    until(lambda: list(tmp_path.glob("there/runs/*")), process)
    stdout, stderr = end(process, name)
    assert stdout == "1 of 2 runs are in there\n"
    assert stderr.endswith("\ninterrupted; the same command goes on with what is missing\n")
    assert names(tmp_path / "there") == ["runs", "sweep.json"]
    assert open_sweep(tmp_path / "there").runs["done"].to_list() == [True, False]


@pytest.mark.parametrize("name", ENDS)
def test_a_paper_says_that_it_was_interrupted(name, long, tmp_path):
    study = tmp_path / "study"
    study.mkdir()
    (study / "claims.toml").write_text(OWN_CLAIMS)
    (study / "figure.py").write_text(FIGURE.replace("long.toml", str(long)))
    process = begin(tmp_path, "paper", "run", "./study", "-o", "out", "--workers", 1)
    until(lambda: list(tmp_path.glob("out/OWN-1/long/.partial/*")), process)
    _, stderr = end(process, name)
    assert stderr.endswith("interrupted; the same command goes on with what is missing\n")
    assert [path for path in tmp_path.rglob(".*") if path.name != "__pycache__"] == []
    (entry,) = json.loads((tmp_path / "out/claims.json").read_text())
    assert entry["verdict"] == "NOT-REACHED"
    assert "interrupted" in entry["reason"]


@pytest.mark.parametrize("name", ENDS)
def test_the_slotted_link_keeps_what_there_is(name, tmp_path):
    (tmp_path / "link.toml").write_text(LINK)
    process = begin(tmp_path, "slotted", "link.toml", "-o", "stopped")
    until(lambda: in_the_making(tmp_path), process)
    end(process, name)
    assert names(tmp_path) == ["link.toml", "stopped"]
    assert slotted.open(tmp_path / "stopped/pdq").status == "interrupted"


def lives(process):
    """Whether a process is there and has not ended; one that has is listed until somebody asks how."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are listed in /proc")
def test_a_benchmark_ends_with_its_processes(tmp_path):
    process = begin(tmp_path, "bench", "ndp-permutation-k8")
    listed = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    until(lambda: listed.read_text().strip(), process)
    children = listed.read_text().split()
    end(process)
    deadline = time.monotonic() + PATIENCE
    while any(map(lives, children)):
        assert time.monotonic() < deadline, "they go on"
        time.sleep(0.02)


def test_what_a_killed_run_left_is_removed_by_the_next(small, long, tmp_path):
    killed = begin(tmp_path, "run", long, "-o", "killed")
    living = begin(tmp_path, "run", long, "-o", "living")
    until(lambda: len(in_the_making(tmp_path)) == 4, killed)
    killed.kill()
    killed.communicate()
    # Two folders and two locks, of which one is free now.
    assert len(in_the_making(tmp_path)) == 4
    done = begin(tmp_path, "run", small, "-o", "next")
    done.communicate(timeout=PATIENCE)
    assert done.returncode == 0
    assert len(in_the_making(tmp_path)) == 2
    end(living)
    assert names(tmp_path) == ["living", "next", "small.toml"]


class TestHere:
    """In this process."""

    @pytest.fixture(autouse=True)
    def _signals(self):
        """Handlers as a program has them that does nothing about signals."""
        numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        before = [signal.signal(number, signal.SIG_DFL) for number in numbers]
        signal.signal(signal.SIGINT, signal.default_int_handler)
        yield
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)

    @pytest.mark.parametrize("name", ENDS)
    def test_a_verb_that_defers_nothing_ends_once(self, name):
        number = getattr(signal, name)
        with interrupt.stoppable():
            with pytest.raises(KeyboardInterrupt):
                os.kill(os.getpid(), number)
            # What tidies up then is not disturbed.
            for other in (signal.SIGTERM, signal.SIGHUP):
                os.kill(os.getpid(), other)
        assert signal.getsignal(number) is signal.SIG_DFL

    @pytest.mark.parametrize("around", [contextlib.nullcontext, interrupt.stoppable])
    @pytest.mark.parametrize("name", [*ENDS, "SIGINT"])
    def test_a_signal_is_put_off(self, name, around):
        number = getattr(signal, name)
        with around(), interrupt.Deferred() as deferred:
            watched = deferred.watch(lambda _: None)
            watched(None)
            os.kill(os.getpid(), number)
            assert deferred.raised
            with pytest.raises(KeyboardInterrupt):
                watched(None)
        assert signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler)

    @pytest.mark.parametrize("handler", [signal.SIG_IGN, lambda *_: None])
    def test_a_signal_that_is_ignored_or_handled_stays_so(self, handler):
        signal.signal(signal.SIGHUP, handler)
        with interrupt.stoppable(), interrupt.Deferred() as deferred:
            assert signal.getsignal(signal.SIGHUP) is handler
            os.kill(os.getpid(), signal.SIGHUP)
            assert not deferred.raised

    def test_only_a_later_ctrl_c_does_not_wait(self, monkeypatch):
        now = 0.0
        monkeypatch.setattr("flowyard.terminal.interrupt.time.monotonic", lambda: now)
        with interrupt.Deferred():
            os.kill(os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGINT)
            now = 2 * interrupt.HASTE
            os.kill(os.getpid(), signal.SIGTERM)
            with pytest.raises(KeyboardInterrupt):
                os.kill(os.getpid(), signal.SIGINT)
