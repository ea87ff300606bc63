"""Kills, full disks, places that may not be written and clocks that jump, while verbs work; counted.

    .venv/bin/python python/tests/kill_rounds.py --minutes 10

Each round disturbs a command at a random moment, again and again, and looks at what is there after each time: whatever
was completed is still there, whatever is there is whole, and nothing else is. Then the same command ends as if nobody
had disturbed it. `test_kill_rounds.py` runs a few rounds with fixed seeds; docs/kills.md says what is promised.
"""

import argparse
import contextlib
import ctypes
import hashlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
from conftest import OWN_CLAIMS, PATIENCE_S, SMALL
from dask_cluster import a_cluster

import flowyard
from flowyard.sweeps import Sweep

RUNS = 24
PLAN = f"""\
scenario = "small.toml"
replicas = {RUNS // 3}

[[axes]]
name = "size"
set.traffic.few.sizes.fixed = ["10KB", "20KB", "30KB"]
"""
FIGURE = """\
from pathlib import Path

import matplotlib.pyplot as plt
import polars as pl

from flowyard import Plan
from flowyard.papers.figure import Figure
from flowyard.papers.judge import exactly


def draw(tables):
    figure, axes = plt.subplots()
    axes.plot(tables["numbers"]["one"])
    return figure


FIGURE = Figure(
    id="OWN-1",
    title="Runs",
    plans=lambda scale: {"few": Plan(Path(__file__).with_name("small.toml"), replicas=6)},
    tables=lambda scale, runs: {"numbers": pl.DataFrame({"one": list(range(len(runs["few"].runs) * 500))})},
    draw=draw,
    claims={"OWN-1.a": lambda tables: exactly(1, 1)},
)
"""
# A clock of the day that jumps by up to two days either way every so many times that it is read. What counts seconds of
# waiting has another clock, which does not jump.
CLOCK = """\
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
static long jump(void) {
    static long reads, now;
    const char *every = getenv("JUMP_EVERY");
    if (++reads % (every ? atol(every) : 50) == 0) now = (now * 1103515245 + 12345 + reads) % 172800;
    return now;
}
int clock_gettime(clockid_t id, struct timespec *at) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int found = real(id, at);
    if (id == CLOCK_REALTIME) at->tv_sec += jump();
    return found;
}
time_t time(time_t *at) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at) *at = now.tv_sec;
    return now.tv_sec;
}
int gettimeofday(struct timeval *at, void *zone) {
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    at->tv_sec = now.tv_sec;
    at->tv_usec = now.tv_nsec / 1000;
    return 0;
}
"""
# Of prctl: what a process and all that it starts can no longer be allowed.
PR_CAPBSET_DROP = 24
# Seconds before a command is killed at the latest, a little more than an undisturbed one takes.
KILL_WITHIN = 2.0
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)


@dataclass
class Ground:
    """What rounds have in common.

    Attributes:
        home: Files that commands read, and results of undisturbed ones.
        chance: Where moments come from.
        counts: What was done, by its name.
        made: The undisturbed commands.
        kills: Times at most that a command is ended before it may go on.
    """

    home: Path
    chance: random.Random
    counts: Counter[str] = field(default_factory=Counter)
    made: set[str] = field(default_factory=set)
    kills: int = 4

    def prepare(self) -> None:
        """Writes what commands read."""
        (self.home / "small.toml").write_text(SMALL)
        (self.home / "plan.toml").write_text(PLAN)
        (self.home / "study").mkdir()
        (self.home / "study/small.toml").write_text(SMALL)
        (self.home / "study/claims.toml").write_text(OWN_CLAIMS)
        (self.home / "study/one.py").write_text(FIGURE)
        flows = "\n".join(f"{i % 7} 7 3 100 {1000 + i} 2.{i:06d}" for i in range(20_000))
        (self.home / "flow.txt").write_text(f"20000\n{flows}\n")

    def undisturbed(self, *commands: str) -> Path:
        """Where the results of these commands are, which nobody disturbed."""
        for words in commands:
            if words not in self.made:
                done = self.run(self.home, words)
                assert done.returncode == 0, done.stderr
                self.made.add(words)
        return self.home

    def begin(self, folder: Path, words: str, **more: Any) -> "subprocess.Popen[str]":
        """A command in the background, in a group of its own."""
        environment = os.environ | {"PYTHONWARNINGS": "ignore", "PYTHONDONTWRITEBYTECODE": "1"}
        # This package and no other that is installed, from whatever folder.
        environment |= {"PYTHONPATH": str(Path(flowyard.__file__).parents[1])} | more.pop("env", {})
        command = [sys.executable, "-m", "flowyard", *words.format(home=self.home).split()]
        return subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            **more,
        )

    def run(self, folder: Path, words: str, **more: Any) -> "subprocess.CompletedProcess[str]":
        """A command to its end."""
        process = self.begin(folder, words, **more)
        try:
            stdout, stderr = process.communicate(timeout=PATIENCE_S)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        assert "Traceback" not in stderr, stderr
        return subprocess.CompletedProcess(words, process.returncode, stdout, stderr)

    def kill(self, process: "subprocess.Popen[str]", enough: Callable[[], bool]) -> bool:
        """Ends a command at a random moment after something is there; whether it was still running."""
        until = time.monotonic() + self.chance.uniform(0.2, KILL_WITHIN)
        while process.poll() is None and not enough() and time.monotonic() < until:
            time.sleep(0.002)
        time.sleep(self.chance.choice((0, 0.002, self.chance.uniform(0, 0.03))))
        number = self.chance.choice(SIGNALS)
        was_running = process.poll() is None
        if was_running:
            # The whole group, as a terminal or a batch system does it, or the process alone.
            (os.killpg if self.chance.random() < 0.5 else os.kill)(process.pid, number)
            self.counts[f"{number.name} sent"] += 1
        _, stderr = process.communicate(timeout=PATIENCE_S)
        with contextlib.suppress(ProcessLookupError):
            # Workers of a process that was killed alone.
            os.killpg(process.pid, signal.SIGKILL)
        if number == signal.SIGKILL or not was_running:
            return was_running
        # An interrupt before Python is set up cannot be caught.
        assert "Traceback" not in stderr or "flowyard/__main__.py" not in stderr, stderr
        return was_running


SWEEP = "sweep {home}/plan.toml -o swept --workers 2"
PAPER = "paper run {home}/study -o paper"
IMPORT = "import {home}/flow.txt --topology single-switch -o new.toml"
EXPORT = "export {home}/new.toml --to hpcc-flow -o new.txt"


def sweep(ground: Ground, folder: Path) -> None:
    """A sweep on this machine."""
    _disturbed_sweep(ground, folder, SWEEP)


def _disturbed_sweep(
    ground: Ground, folder: Path, words: str, between: Callable[[], object] = lambda: None
) -> None:
    there: set[str] = set()
    for _ in range(ground.chance.randint(1, ground.kills)):
        wanted = ground.chance.randint(0, RUNS)
        process = ground.begin(folder, words)
        between()
        killed = ground.kill(process, lambda: len(_runs(folder / "swept")) >= wanted)  # noqa: B023
        there = check_sweep(ground, folder / "swept", there)
        ground.counts["kills between two runs"] += killed and 0 < len(there) < RUNS
    done = ground.run(folder, words)
    assert done.returncode == 0, done.stderr
    _as_undisturbed(ground, folder, there)


def _as_undisturbed(ground: Ground, folder: Path, there: set[str]) -> None:
    check_sweep(ground, folder / "swept", there)
    assert _names(folder / "swept") == {"sweep.json", "runs"}
    assert _digests(folder / "swept") == _digests(ground.undisturbed(SWEEP) / "swept")


def check_sweep(ground: Ground, folder: Path, there: set[str]) -> set[str]:
    """What was there is there, and all runs are whole; returns them."""
    if (folder / "sweep.json").exists():
        assert len(json.loads((folder / "sweep.json").read_text())["runs"]) == RUNS
    found = _runs(folder)
    assert there <= found, f"lost: {there - found}"
    for run in found - there:
        assert json.loads((folder / "runs" / run / "run.json").read_text())["status"] == "complete"
        assert len(pl.read_parquet(folder / "runs" / run / "flows.parquet")) == 4
        assert len(pl.read_parquet(folder / "runs" / run / "links.parquet")) == 8
        ground.counts["runs that were checked"] += 1
    return found


def _runs(folder: Path) -> set[str]:
    return _names(folder / "runs") if (folder / "runs").is_dir() else set()


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def _digests(folder: Path) -> dict[str, str]:
    found = Sweep(folder)
    assert found.complete
    return {key: summary["digest"] for key, summary in found.summaries().items()}


def dask(ground: Ground, folder: Path) -> None:
    """A sweep on a cluster, of which workers die and come, and the sweep's process is killed, too."""
    with a_cluster(folder / "cluster") as cluster:
        words = f"sweep {{home}}/plan.toml -o swept --dask {cluster.scheduler()}"
        cluster.worker()

        def worker_dies() -> None:
            cluster.worker()
            time.sleep(ground.chance.uniform(0, 1))
            cluster.processes[-2].kill()
            cluster.processes[-2].wait()
            ground.counts["workers killed"] += 1

        _disturbed_sweep(ground, folder, words, worker_dies)


def paper(ground: Ground, folder: Path) -> None:
    """`paper run`: a figure with runs, a table, a picture and a verdict."""
    home = ground.undisturbed(PAPER)
    there: set[str] = set()
    for _ in range(ground.chance.randint(1, ground.kills)):
        wanted = ground.chance.choice(
            ("paper/papers.json", "paper/OWN-1/numbers.csv", "paper/OWN-1/figure.svg")
        )
        ground.kill(ground.begin(folder, PAPER), (folder / wanted).exists)
        for name in ("papers.json", "claims.json", "OWN-1/cost.json"):
            if (folder / "paper" / name).exists():
                json.loads((folder / "paper" / name).read_text())
        runs = _runs(folder / "paper/OWN-1/few")
        assert there <= runs
        there = runs
    done = ground.run(folder, PAPER)
    assert done.returncode == 0, done.stderr
    for place in ("", "OWN-1", "OWN-1/few"):
        assert _names(folder / "paper" / place) == _names(home / "paper" / place)
    for name in ("OWN-1/numbers.csv", "OWN-1/figure.svg", "claims.json"):
        assert _hash(folder / "paper" / name) == _hash(home / "paper" / name), name


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def interchange(ground: Ground, folder: Path) -> None:
    """`import` and `export`: a file appears whole or not at all."""
    home = ground.undisturbed(IMPORT, EXPORT)
    for words, name in ((IMPORT, "new.toml"), (EXPORT, "new.txt")):
        for _ in range(ground.chance.randint(1, ground.kills)):
            # The moment in which something is written.
            ground.kill(ground.begin(folder, words), lambda: begun(folder))
            if (folder / name).exists():
                assert _hash(folder / name) == _hash(home / name), name
                (folder / name).unlink()
        done = ground.run(folder, words)
        assert done.returncode == 0, done.stderr
        assert _hash(folder / name) == _hash(home / name), name
    assert _names(folder) == {"new.toml", "new.txt"}


def begun(folder: Path) -> bool:
    """Whether something is written beside its place; it may be gone before it is looked into."""
    try:
        return any(folder.glob(".flowyard-*/*"))
    except FileNotFoundError:
        return False


def full(ground: Ground, folder: Path) -> None:
    """A disk that is full in the middle of a sweep; then there is room again."""
    with _small_disk(folder / "disk", ground.chance.randint(40, 400)) as grow:
        limit = None if grow else ground.chance.randint(1, 4000)
        place = folder / "disk" if grow else folder
        done = ground.run(place, SWEEP, preexec_fn=lambda: _limit(limit))
        ground.counts["full disks"] += done.returncode != 0
        if done.returncode:
            assert done.returncode == 2, done.stderr
            last = done.stderr.splitlines()[-1]
            assert last.startswith("error: swept: cannot write here ("), last
        there = check_sweep(ground, place / "swept", set())
        if grow:
            grow()
        done = ground.run(place, SWEEP)
        assert done.returncode == 0, done.stderr
        _as_undisturbed(ground, place, there)


def _limit(file_size: int | None) -> None:
    if file_size is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_size, file_size))


@contextlib.contextmanager
def _small_disk(place: Path, kilobytes: int) -> Iterator[Callable[[], object] | None]:
    """A file system of so many KiB, and what makes it larger; None where nobody may mount one."""
    place.mkdir()
    if not _mounts(place, f"size={kilobytes}k"):
        yield None
        return
    try:
        yield lambda: _mounts(place, "remount,size=100m")
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def _mounts(place: Path, options: str) -> bool:
    words = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
    with contextlib.suppress(FileNotFoundError):
        return os.geteuid() == 0 and subprocess.run(words, check=False, capture_output=True).returncode == 0
    return False


def read_only(ground: Ground, folder: Path) -> None:
    """A sweep's folder that may no longer be written in the middle of it; then it may again."""
    wanted = ground.chance.randint(1, RUNS - 4)
    process = ground.begin(folder, SWEEP, preexec_fn=_without_privilege)
    while process.poll() is None and len(_runs(folder / "swept")) < wanted:
        time.sleep(0.002)
    places = [folder / "swept", folder / "swept/runs"]
    for place in places:
        place.chmod(0o500)
    try:
        _, stderr = process.communicate(timeout=PATIENCE_S)
        if process.returncode:
            ground.counts["folders made read-only"] += 1
            assert process.returncode == 2, stderr
            assert stderr.splitlines()[-1].startswith("error: swept: cannot write here ("), stderr
        there = check_sweep(ground, folder / "swept", set())
    finally:
        for place in places:
            place.chmod(0o700)
    done = ground.run(folder, SWEEP)
    assert done.returncode == 0, done.stderr
    _as_undisturbed(ground, folder, there)


def _without_privilege() -> None:
    """Without what a superuser may do beyond the modes of files."""
    for capability in (1, 2):
        ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)


def clock(ground: Ground, folder: Path) -> None:
    """The clock of the day jumps, back and forth, under a sweep and a paper."""
    jumping = _jumping_clock(ground)
    if jumping is None:
        ground.counts["rounds without a C compiler"] += 1
        return
    environment = {"LD_PRELOAD": str(jumping), "JUMP_EVERY": str(ground.chance.choice((1, 7, 50)))}
    done = ground.run(folder, SWEEP, env=environment)
    assert done.returncode == 0, done.stderr
    _as_undisturbed(ground, folder, set())
    done = ground.run(folder, PAPER, env=environment)
    assert done.returncode == 0, done.stderr
    assert _hash(folder / "paper/OWN-1/numbers.csv") == _hash(
        ground.undisturbed(PAPER) / "paper/OWN-1/numbers.csv"
    )
    ground.counts["runs of commands under a clock that jumps"] += 2


def _jumping_clock(ground: Ground) -> Path | None:
    """The library that makes it jump, compiled once; None without a compiler, or where libraries load otherwise."""
    made = ground.home / "clock.so"
    if made.exists():
        return made
    compiler = shutil.which("cc")
    if compiler is None or not sys.platform.startswith("linux"):
        return None
    made.with_suffix(".c").write_text(CLOCK)
    words = [compiler, "-shared", "-fPIC", "-o", str(made), str(made.with_suffix(".c")), "-ldl"]
    return made if subprocess.run(words, check=False, capture_output=True).returncode == 0 else None


ROUNDS: dict[str, Callable[[Ground, Path], None]] = {
    "sweep": sweep,
    "dask": dask,
    "paper": paper,
    "interchange": interchange,
    "full": full,
    "read-only": read_only,
    "clock": clock,
}


def play(ground: Ground, name: str) -> None:
    """One round in a folder of its own, which stays if it fails."""
    folder = Path(tempfile.mkdtemp(dir=ground.home, prefix=f"{name}-"))
    ROUNDS[name](ground, folder)
    ground.counts[f"rounds of {name}"] += 1
    shutil.rmtree(folder)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**9))
    parser.add_argument("--only", choices=ROUNDS, action="append", help="by default all kinds in turn")
    arguments = parser.parse_args()
    print(f"--seed {arguments.seed}", flush=True)
    ground = Ground(Path(tempfile.mkdtemp(prefix="kills-")), random.Random(arguments.seed))
    print(f"in {ground.home}, which stays if a round fails", flush=True)
    ground.prepare()
    end = time.monotonic() + 60 * arguments.minutes
    try:
        while time.monotonic() < end:
            for name in arguments.only or ROUNDS:
                play(ground, name)
    finally:
        for name, count in sorted(ground.counts.items()):
            print(f"{count:6} {name}", flush=True)
    shutil.rmtree(ground.home)
    return 0


if __name__ == "__main__":
    sys.exit(main())
