"""stdout and stderr whose readers are gone, as in `flowyard ... | head`: no traceback, and no run ends for it."""

import io
import json
import os
import subprocess
import sys

import pytest
from conftest import SMALL

import flowyard as fy
from flowyard.terminal import names, streams

pytestmark = pytest.mark.skipif(os.name == "nt", reason="pipes are others there")

PATIENCE = 600
# Commands, and how they end while somebody reads.
COMMANDS = {
    "schema": 0,
    "--help": 0,
    "run --help": 0,
    "--version": 0,
    "explain": 0,
    "check small.toml": 0,
    "check plan.toml": 0,
    "check plan.toml --json": 0,
    "run plan.toml -o mine": 2,
    "check nowhere.toml --json": 2,
    "run": 2,
    "run small.toml -o out": 0,
    "run small.toml -o out --json": 0,
    "sweep plan.toml -o out": 0,
    "paper list": 0,
    "bench no-such-case": 2,
}
# What these write goes to stderr alone.
ON_STDERR = {"run plan.toml -o mine", "run", "bench no-such-case"}


@pytest.fixture
def here(tmp_path):
    (tmp_path / "small.toml").write_text(SMALL)
    (tmp_path / "plan.toml").write_text('scenario = "small.toml"\n')
    return tmp_path


@pytest.fixture
def unread():
    """A pipe whose reader is gone before anything is written."""
    read, write = os.pipe()
    os.close(read)
    yield write
    os.close(write)


def flowyard(words, here, **streams):
    command = [sys.executable, "-m", "flowyard", *words.split()]
    return subprocess.run(command, cwd=here, text=True, timeout=PATIENCE, check=False, **streams)


@pytest.mark.parametrize("words", COMMANDS)
def test_without_a_reader_of_stdout_a_command_ends_quietly(words, here, unread):
    done = flowyard(words, here, stdout=unread, stderr=subprocess.PIPE)
    assert done.returncode == (COMMANDS[words] if words in ON_STDERR else 141)
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr
    # What was computed is there.
    assert (here / "out").exists() == ("-o out" in words)


@pytest.mark.parametrize("words", COMMANDS)
def test_without_a_reader_of_stderr_a_command_ends_as_ever(words, here, unread):
    done = flowyard(words, here, stdout=subprocess.PIPE, stderr=unread)
    assert done.returncode == COMMANDS[words]
    assert bool(done.stdout) == (words not in ON_STDERR)


@pytest.mark.parametrize("closed", ["1", "2"])
def test_streams_that_were_closed_before_are_missed_by_nobody(closed, here):
    command = f"{sys.executable} -m flowyard run small.toml -o out {closed}>&-"
    done = subprocess.run(
        ["bash", "-c", command], cwd=here, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert fy.open_run(here / "out").status == "complete"


def test_a_stream_tells_once_that_nobody_reads(unread):
    stdout = io.TextIOWrapper(io.BufferedWriter(streams._Watched(unread, tell=True)), line_buffering=True)
    with pytest.raises(streams.UnreadError):
        print("one", file=stdout)
    print("two", file=stdout)
    stderr = io.TextIOWrapper(io.BufferedWriter(streams._Watched(unread, tell=False)), line_buffering=True)
    print("three", file=stderr)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no full device")  # noqa: PTH110
@pytest.mark.parametrize(
    "words", ["schema", "--help", "explain", "check small.toml", "check nowhere.toml --json"]
)
def test_a_full_disk_behind_stdout_is_told(words, here):
    with open("/dev/full", "w") as full:  # noqa: PTH123
        done = flowyard(words, here, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert done.stderr == "error: stdout: cannot write here (No space left on device)\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no full device")  # noqa: PTH110
def test_a_full_disk_behind_stderr_ends_no_run(here):
    with open("/dev/full", "w") as full:  # noqa: PTH123
        done = flowyard("sweep plan.toml -o out", here, stdout=subprocess.PIPE, stderr=full)
    assert (done.returncode, done.stdout) == (0, "1 of 1 runs are in out\n")


class TestNames:
    """Control characters in names of foreign files do not reach a terminal."""

    NAME = "x\x1b[2J\x1b]0;pwn\x07\nforged\x9b"

    def test_of_a_run(self, flowyard, small, tmp_path):
        scenario = small.with_name("named.json")
        document = fy.check(small) | {"name": self.NAME}
        scenario.write_text(json.dumps(document))
        for words in (["run", scenario, "-o", "out"], ["show", "out"], ["check", scenario]):
            done = flowyard(*words)
            assert done.returncode == 0, done.stderr
            said = done.stdout + done.stderr
            assert not set(said) & set("\x1b\x07\x9b"), words
            assert "\nforged" not in said

    def test_in_a_message(self, flowyard):
        done = flowyard("run", self.NAME)
        assert not set(done.stderr) & set("\x1b\x07\x9b")
        assert "\\x1b[2J" in done.stderr

    def test_all_of_them(self):
        assert names.printable("a\x1b\x7f\x85\n\t") == r"a\x1b\x7f\x85\n\t"
        assert names.printable("a\x1b\nb", lines=True) == "a\\x1b\nb"
