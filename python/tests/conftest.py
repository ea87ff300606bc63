"""What several test files use: a small scenario, its results, and the command line as a subprocess."""

import io
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest
from smaller import SMALLER, smaller

import flowyard as fy
from flowyard import cli, sweeps
from flowyard.papers import running
from flowyard.papers.figure import Figure, Scale, Tables
from flowyard.sweeps import Sweep

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

ROOT = Path(__file__).parents[2]
# How long a process may take that is waited for: no matter how busy the machine is, unless it hangs.
PATIENCE_S = 600.0

# The files that take longest. They begin first, so that none is left for one process at the end:
# `make test` hands whole files out in the order of the collection.
LONGEST = (
    "test_howto.py",
    "test_sweeps_dask.py",
    "test_paper_ndp.py",
    "test_member_figures.py",
    "test_report_sweep.py",
    "test_report.py",
    "test_published.py",
    "test_comparison.py",
    "test_why_howto.py",
    "test_disk.py",
    "test_paper_syn_ours.py",
    "test_sweeps.py",
    "test_tutorial.py",
    "test_signals.py",
    "test_sweeps_panic.py",
    "test_why_slow.py",
)

SMALL = """\
[topology.single-switch]
hosts = 4

[transport.ndp]

[[traffic]]
name = "few"
arrivals = "at-once"
matrix = "permutation"
sizes.fixed = "10KB"
flows = 4
"""
# The claims of a study that a test makes up: one, of a figure OWN-1.
OWN_CLAIMS = """\
id = "OWN"
title = "A study"
source = "one's own"

[claims."OWN-1.a"]
kind = "closed form"
grade = "number"
says = "One is one."
tolerance = "none"
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the longest files first."""
    place = {name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path.name, len(place)))


@pytest.fixture(autouse=True, scope="session")
def interruptible() -> Iterator[None]:
    """Ctrl-C and a hang-up as a terminal has them, for tests and their processes, however the tests were started.

    In the background, as by `nohup ... &`, a shell has SIGINT ignored and nohup SIGHUP, and Python leaves both so.
    """
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGHUP)}
    if before[signal.SIGINT] is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if before[signal.SIGHUP] is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A scenario file that runs in milliseconds."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


@pytest.fixture(scope="session")
def result(tmp_path_factory: pytest.TempPathFactory) -> fy.Result:
    """The results of the small scenario."""
    path = tmp_path_factory.mktemp("scenario") / "small.toml"
    path.write_text(SMALL)
    return fy.run(path)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, into which a test writes files that it gives no place."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def open_sweep(folder: Path) -> Sweep:
    """The results in the folder of a sweep."""
    found = fy.open(folder)
    assert isinstance(found, Sweep)
    return found


def quick_tables(figure: Figure, folder: Path) -> Tables:
    """The tables of a figure at quick scale, smaller where tests need no more; no run may fail."""
    results = {}
    changes = SMALLER.get(figure.id, {})
    plans = figure.plans(Scale.QUICK) if figure.plans else {}
    assert changes.keys() <= plans.keys()
    for name, plan in plans.items():
        tally = sweeps.execute(smaller(plan, changes.get(name, {})), folder / name)
        assert not tally.failed
        assert not tally.violations
        results[name] = Sweep(folder / name)
    return figure.tables(Scale.QUICK, results)


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Figure], dict[str, pl.DataFrame]]:
    """The tables of each figure as `quick_tables` has them; made when first asked for."""
    known: dict[str, dict[str, pl.DataFrame]] = {}

    def tables(figure: Figure) -> dict[str, pl.DataFrame]:
        if figure.id not in known:
            known[figure.id] = dict(quick_tables(figure, tmp_path_factory.mktemp(figure.id)))
        return known[figure.id]

    return tables


def through_csv(tables: Tables) -> Tables:
    """The tables as a judge finds them who reads a figure's folder."""
    texts = {name: io.BytesIO(running.as_csv(table).encode()) for name, table in tables.items()}
    return {name: pl.read_csv(text, infer_schema_length=None) for name, text in texts.items()}


def drawn_from_csv(figure: Figure, tables: Tables) -> "Picture":
    """The picture from tables that were files, from which every verdict is the same."""
    again = through_csv(tables)
    for claim, judge in figure.claims.items():
        assert judge(again) == judge(tables), claim
    assert figure.draw
    return figure.draw(again)


Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def flowyard(tmp_path: Path) -> Command:
    """Runs `flowyard ...` in an empty folder."""

    def command(*arguments: object) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-m", "flowyard", *map(str, arguments)]
        # In a debug build too, stderr is what the command says.
        environment = os.environ | {"PYTHONWARNINGS": "ignore:flowyard is a debug build"}
        return subprocess.run(
            words,
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    return command


@pytest.fixture
def inside(here: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    """As `flowyard`, but within this process: without the second in which another one imports what it needs."""

    def command(*arguments: object) -> subprocess.CompletedProcess[str]:
        words = [*map(str, arguments)]
        capsys.readouterr()
        try:
            code = cli.main(words)
        except SystemExit as end:
            code = int(end.code or 0)
        return subprocess.CompletedProcess(words, code, *capsys.readouterr())

    return command


@pytest.fixture
def long(tmp_path: Path) -> Path:
    """A scenario that runs for much longer than any test waits; interrupt it."""
    path = tmp_path / "long.toml"
    text = (
        SMALL.replace("hosts = 4", "hosts = 64").replace("10KB", "1GB").replace("flows = 4", "flows = 6400")
    )
    path.write_text(text)
    return path
