"""When nothing can be written: the place is named, nothing is left half-written, and what was there stays.

A full disk is a limit on the size of files, at which the operating system refuses to write on.
"""

import ctypes
import os
import shutil
import subprocess
import sys

import pytest
from conftest import OWN_CLAIMS, PATIENCE_S, SMALL

# Of prctl: what a process and all that it starts can no longer be allowed.
PR_CAPBSET_DROP = 24

resource = pytest.importorskip("resource", reason="limits are for POSIX systems")

SLOTTED = 'discipline = "fcfs"\ngeneration.list = [{ size = 2, deadline = 5 }]\n'
FIGURE = """\
import matplotlib.pyplot as plt
import polars as pl

from flowyard.papers.figure import Figure
from flowyard.papers.judge import exactly


def draw(tables):
    figure, axes = plt.subplots()
    axes.plot(tables["ones"]["one"])
    return figure


FIGURE = Figure(
    id="OWN-1",
    title="Ones",
    tables=lambda scale, runs: {"ones": pl.DataFrame({"one": list(range(2000))})},
    draw=draw,
    claims={"OWN-1.a": lambda tables: exactly(1, 1)},
)
"""
# Commands, after how many bytes a file is full, and what may stay: a folder that goes on.
FULL = [
    ("run small.toml -o out", (0, 60, 3000), ()),
    ("run small.toml", (60,), ()),
    ("sweep plan.toml -o out --workers 1", (0, 60, 3000), ("out", "out/runs", "out/sweep.json")),
    ("slotted link.toml -o out", (60,), ()),
    ("topology small.toml -o new.svg", (60,), ()),
    ("topology small.toml", (0,), ()),
    ("import sizes.txt -o new.toml", (60,), ()),
    ("export small.toml --to htsim-cm -o new.cm", (60,), ()),
    ("report done", (3000,), ()),
    # What was there stays.
    ("report reported", (0, 3000), ()),
    ("report swept -o new/page.html", (3000,), ()),
    (
        "paper run study -o out",
        (0, 3000),
        (
            *("out", "out/papers.json", "out/claims.json", "out/index.html"),
            *("out/OWN-1", "out/OWN-1/ones.csv", "out/OWN-1/cost.json"),
        ),
    ),
]


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """Everything that the verbs read."""
    folder = tmp_path_factory.mktemp("sound")
    (folder / "small.toml").write_text(SMALL)
    (folder / "plan.toml").write_text('scenario = "small.toml"\n')
    (folder / "link.toml").write_text(SLOTTED)
    (folder / "sizes.txt").write_text("1000 0\n2000 100\n")
    (folder / "study").mkdir()
    (folder / "study/claims.toml").write_text(OWN_CLAIMS)
    (folder / "study/ones.py").write_text(FIGURE)
    for words in ("run small.toml -o done", "sweep plan.toml -o swept"):
        done = flowyard(folder, words)
        assert done.returncode == 0, done.stderr
    shutil.copytree(folder / "done", folder / "reported")
    done = flowyard(folder, "report reported")
    assert done.returncode == 0, done.stderr
    return folder


def flowyard(folder, words, file_size=None):
    """Runs a command that may write only where it is allowed to, and no file of more than so many bytes."""

    def limit():
        # What a superuser may do beyond the modes of files: override them, and read and search.
        for capability in (1, 2):
            ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
        if file_size is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (file_size, file_size))

    quiet = {"PYTHONWARNINGS": "ignore:flowyard is a debug build"}
    if file_size is not None:
        # Neither Python nor matplotlib is to write files of its own into the limit.
        quiet["PYTHONDONTWRITEBYTECODE"] = "1"
    return subprocess.run(
        [sys.executable, "-m", "flowyard", *words.split()],
        cwd=folder,
        env=os.environ | quiet,
        preexec_fn=limit,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def on_disk(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
        if path.name != "__pycache__" and path.suffix != ".pyc"
    }


@pytest.mark.parametrize(
    ("words", "size", "may_stay"), [(words, size, stays) for words, sizes, stays in FULL for size in sizes]
)
def test_a_full_disk_names_the_place_and_leaves_nothing_behind(words, size, may_stay, sound, tmp_path):
    folder = shutil.copytree(sound, tmp_path / "here")
    before = on_disk(folder)
    done = flowyard(folder, words, size)
    assert done.returncode == 2, done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("error: ")
    assert last.endswith(": cannot write here (File too large)")
    assert "Traceback" not in done.stderr
    after = on_disk(folder)
    assert {path: after.get(path) for path in before} == before
    assert after.keys() - before.keys() <= set(may_stay)
    # What stays is whole: the same command ends well once there is room.
    if may_stay and size > 0:
        done = flowyard(folder, words)
        assert done.returncode == 0, done.stderr


# Verbs that make something new.
NEW = {
    "run": "run small.toml -o {}",
    "sweep": "sweep plan.toml -o {} --workers 1",
    "slotted": "slotted link.toml -o {}",
    "topology": "topology small.toml -o {}.svg",
    "import": "import sizes.txt -o {}.toml",
    "export": "export small.toml --to htsim-cm -o {}.cm",
    "paper": "paper run study -o {}",
    "report": "report done -o {}.html",
}


@pytest.mark.parametrize("verb", NEW)
def test_a_dangling_link_is_left_alone(verb, sound, tmp_path, monkeypatch, inside):
    folder = shutil.copytree(sound, tmp_path / "here")
    words = NEW[verb].format("dangling")
    link = folder / next(word for word in words.split() if word.startswith("dangling"))
    link.symlink_to("nowhere")
    before = on_disk(folder)
    monkeypatch.chdir(folder)
    done = inside(*words.split())
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {link.name}: ")
    assert on_disk(folder) == before
    assert link.is_symlink()


@pytest.fixture(scope="module")
def locked(sound, tmp_path_factory):
    """Folders that may be read and not written."""
    folder = shutil.copytree(sound, tmp_path_factory.mktemp("locked") / "here")
    (folder / "locked").mkdir()
    places = [folder / name for name in ("locked", "done", "swept", "swept/runs")]
    for place in places:
        place.chmod(0o500)
    probe = flowyard(folder, "run small.toml -o probe")
    assert probe.returncode == 0
    shutil.rmtree(folder / "probe")
    yield folder
    for place in places:
        place.chmod(0o700)


@pytest.mark.parametrize(
    ("words", "place"),
    [
        *((words.format("locked/new"), "locked/new") for words in NEW.values()),
        ("run small.toml -o locked", "locked"),
        ("report done", "done/report.html"),
        ("report swept", "swept/report.html"),
        ("sweep plan.toml -o swept", "swept"),
    ],
)
def test_a_folder_that_cannot_be_written_is_named(words, place, locked):
    before = on_disk(locked)
    done = flowyard(locked, words)
    assert done.returncode == 2
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"error: {place}")
    assert last.endswith(": cannot write here (Permission denied)")
    assert on_disk(locked) == before
