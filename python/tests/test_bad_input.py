"""What users are told about bad input: one screen, exit code 2, and nothing on disk that was not there before.

`bad_input/CATEGORY/NAME.expected` begins with the command, as a shell would show it, and goes on with all that it
says on stderr. The files that it names lie beside it. A new case is a file `NAME.toml`, for which the command is
`flowyard run NAME.toml -o out`, or a `NAME.expected` with the line of another command; a new category is a folder. Then

    FLOWYARD_SNAPSHOTS=write .venv/bin/python -m pytest python/tests/test_bad_input.py

writes what is said into the snapshots; read them before they are committed.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from bad_runs import damaged
from conftest import PATIENCE_S

from flowyard import cli

HERE = Path(__file__).parent / "bad_input"
CASES = sorted({path.with_suffix("") for kind in ("*/*.toml", "*/*.expected") for path in HERE.glob(kind)})
CATEGORIES = sorted({case.parent.name for case in CASES})


def command(case):
    """The command of a case, and what it is to say."""
    expected = case.with_suffix(".expected")
    if not expected.exists():
        return f"flowyard run {case.name}.toml -o out", ""
    first, _, said = expected.read_text().partition("\n")
    assert first.startswith("$ flowyard ")
    return first.removeprefix("$ "), said


def on_disk(folder):
    """Every file with its content, every folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
        if path.name != "__pycache__" and path.suffix != ".pyc"
    }


@pytest.fixture(scope="session")
def reported(tmp_path_factory):
    """Folders of runs, good and bad."""
    folder = tmp_path_factory.mktemp("reported")
    damaged(folder, HERE / "report/shared/small.toml")
    return folder


@pytest.fixture
def place(tmp_path, monkeypatch, request):
    """Copies the files of a category to where the commands are run."""

    def copied(category):
        if category == "report":
            shutil.copytree(request.getfixturevalue("reported"), tmp_path, dirs_exist_ok=True)
        shutil.copytree(
            HERE / category, tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.expected")
        )
        monkeypatch.chdir(tmp_path)
        # argparse folds its messages to the terminal.
        monkeypatch.setenv("COLUMNS", "100")
        return tmp_path

    return copied


def without_keys(text):
    """A text without the keys of runs, which are another engine's others."""
    return re.sub(r"runs/[0-9a-f]{20}\b", "runs/KEY", text)


def as_on_a_screen(text):
    """What a terminal shows, where long lines are folded."""
    return without_keys("".join(f"{line}\n" for line in cli.on_one_screen(text).splitlines()))


def exit_code(words):
    try:
        return cli.main(words)
    except SystemExit as usage:
        # argparse leaves like this.
        return usage.code


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}/{case.name}")
def test_bad_input_is_told_and_nothing_is_written(case, place, capsys):
    folder = place(case.parent.name)
    line, expected = command(case)
    before = on_disk(folder)
    code = exit_code(shlex.split(line)[1:])
    stdout, raw = capsys.readouterr()
    stderr = as_on_a_screen(raw)
    assert code == 2
    assert stdout == ""
    assert on_disk(folder) == before
    assert "Traceback" not in stderr
    assert "panicked" not in stderr
    # Nothing is left out, not even where lines are folded.
    assert without_keys(raw).split() == stderr.split()
    if os.environ.get("FLOWYARD_SNAPSHOTS") == "write":
        case.with_suffix(".expected").write_text(f"$ {line}\n{stderr}")
    else:
        assert stderr == expected


@pytest.mark.parametrize("category", CATEGORIES)
def test_there_are_five_cases_at_least(category):
    assert len([case for case in CASES if case.parent.name == category]) >= 5


@pytest.mark.parametrize("category", CATEGORIES)
def test_the_program_says_the_same(category, place):
    """In a process of its own, too: one case a category."""
    case = next(case for case in CASES if case.parent.name == category)
    folder = place(category)
    line, expected = command(case)
    words = [sys.executable, "-m", *shlex.split(line)]
    environment = os.environ | {"PYTHONWARNINGS": "ignore:flowyard is a debug build"}
    done = subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert (done.returncode, done.stdout, as_on_a_screen(done.stderr)) == (2, "", expected)


def test_the_page_shows_an_example_of_each_category():
    """docs/messages.md is held to the snapshots, so that it cannot fall behind. A category may have several."""
    page = (HERE.parents[2] / "docs/messages.md").read_text()
    snapshots = {case: case.with_suffix(".expected").read_text() for case in CASES}
    shown = re.findall(r"^```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    found = [case.parent.name for block in shown for case, text in snapshots.items() if text == block]
    assert sorted(set(found)) == CATEGORIES
    assert len(shown) == len(found)


def test_a_screen_has_24_lines_of_120_characters():
    long = "error: file.toml cannot be run:\n" + "\n".join(f"  key{n}: " + "word " * 40 for n in range(20))
    shown = cli.on_one_screen(long).splitlines()
    assert len(shown) == 24
    assert max(map(len, shown)) <= 120
    assert shown[-1] == "and 18 more lines; --json has all of them"
    assert shown[2].startswith("      word")
    assert cli.on_one_screen("error: short") == "error: short"
