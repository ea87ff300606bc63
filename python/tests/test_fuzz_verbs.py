"""A few changed inputs over all verbs, the same ones every time; `make fuzz` goes on with others (fuzz_verbs.py)."""

import fuzz_verbs
import pytest
from mutations import changed

CASES = 40


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    """The driver after a few cases."""
    folder = tmp_path_factory.mktemp("fuzz")
    (folder / "kept").mkdir()
    fuzz_verbs.make_kept(folder / "kept")
    driver = fuzz_verbs.Driver(1, folder / "failed")
    driver.run(0, CASES, folder / "kept")
    return driver


def test_every_changed_input_is_run_or_refused_in_a_few_lines(driver):
    assert (driver.done, driver.failed) == (CASES, 0)


def test_a_case_is_the_same_each_time(tmp_path):
    (tmp_path / "kept").mkdir()
    recipes = fuzz_verbs.recipes(tmp_path / "kept")
    found = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        what = fuzz_verbs.case(recipes, 5, 7, tmp_path / name)
        found.append((what, {p.name: p.read_bytes() for p in (tmp_path / name).rglob("*") if p.is_file()}))
    assert found[0] == found[1]


def test_every_verb_that_reads_is_tried(tmp_path):
    words = {
        line.split()[0] for recipe in fuzz_verbs.recipes(fuzz_verbs.ROOT).values() for line in recipe.commands
    }
    read_nothing = {"bench", "cite", "completion", "demo", "explain", "schema"}
    assert words == set(fuzz_verbs.verbs()) - read_nothing


@pytest.mark.parametrize(
    ("does", "found"),
    [
        ("raise KeyError('x')", "KeyError: 'x'"),
        ("return 7", "exit code 7"),
        ("return 1", "exit code 1"),
        ("print('thread panicked', file=sys.stderr); return 0", "panicked on stderr"),
        ("return 2", "a message of 0 characters"),
        ("print('x' * 30_000, file=sys.stderr); return 2", "a message of 30001 characters"),
        ("print('no', file=sys.stderr); Path('out').mkdir(); return 2", "files were written: out"),
        ("sys.exit(3)", None),
        ("print('no', file=sys.stderr); return 2", None),
        ("return 0", None),
    ],
)
def test_what_is_wrong_is_found(monkeypatch, tmp_path, does, found):
    """A case that could not fail would be none."""
    scope: dict[str, object] = {}
    exec(f"import sys\nfrom pathlib import Path\ndef main(words):\n    {does}\n", scope)
    monkeypatch.setattr("flowyard.cli.main", scope["main"])
    monkeypatch.chdir(tmp_path)
    why = fuzz_verbs.wrong(["check", "x"])
    assert (why is None) if found is None else (found in why)


def test_a_process_that_dies_is_a_failure(monkeypatch, tmp_path, capfd):
    """Of too much memory, say, or of a loop without an end."""
    monkeypatch.setattr(fuzz_verbs, "CPU_SECONDS", 0)
    (tmp_path / "kept").mkdir()
    (tmp_path / "dies.py").write_text(
        "import os, signal\nprint('CASE 0 nowhere small', flush=True)\nos.kill(os.getpid(), signal.SIGXCPU)\n"
    )
    monkeypatch.setattr(fuzz_verbs, "__file__", str(tmp_path / "dies.py"))
    driver = fuzz_verbs.Driver(1, tmp_path / "failed")
    driver.run(0, 1, tmp_path / "kept")
    assert driver.failed == 1
    assert "FAILED the process ended with more than 0 s of processor time" in capfd.readouterr().out


def test_changes_change(tmp_path):
    import random

    chance = random.Random(1)
    text = fuzz_verbs.SWEEP.encode()
    assert sum(changed(text, chance) != text for _ in range(300)) > 250
    assert isinstance(changed(b"", chance), bytes)
