"""No verb overwrites what it did not write: a table of all verbs that write, tried on things that are there already."""

import argparse
import json
import os
import shutil
from pathlib import Path

import polars as pl
import pytest
from conftest import SMALL
from interchange_examples import fct_txt

from flowyard import cli

SLOTTED = 'discipline = "fcfs"\ngeneration.list = [{ size = 2, deadline = 5 }]\n'
# Verbs that write a file: the verb, its command, and what it does to a file that it wrote itself.
FILES = {
    "report": ("report run -o {}", "page.html", "replaced"),
    "report of two": ("report run run -o {}", "page.html", "replaced"),
    "report of a sweep": ("report swept -o {}", "page.html", "replaced"),
    "topology": ("topology small.toml -o {}", "picture.svg", "refused"),
    "import": ("import sizes.txt -o {}", "new.toml", "refused"),
    "export": ("export small.toml --to htsim-cm -o {}", "new.cm", "refused"),
    "compare": ("compare run fct.txt -o {}", "page.html", "replaced"),
    "show": ("show run -o {}", "flows.csv", "refused"),
    "why": ("why run -o {}", "flow.html", "refused"),
    "watch": ("watch run -o {}", "watch.html", "refused"),
    "bench": ("bench --write {}", "page.md", "untried"),
}
# Verbs that write a folder.
FOLDERS = {
    "run": ("run small.toml -o {}", "refused"),
    "slotted": ("slotted link.toml -o {}", "refused"),
    "sweep": ("sweep plan.toml -o {} --workers 1", "goes on"),
    "paper run": ("paper run MP-F1.2 -o {} --workers 1", "goes on"),
}
RESULTS = Path(__file__).parents[2] / "docs/results"
# Verbs that write pictures into a folder, which may have other files.
PICTURES = {"paper show": ("paper show MP-F1.2 --results {results} -o {folder}", "MP-F1.2.svg")}
FOREIGN = b"%PDF-1.7 years of work\n<!-- end: written by make bench -->"


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """Everything that the verbs read."""
    folder = tmp_path_factory.mktemp("sound")
    (folder / "small.toml").write_text(SMALL)
    (folder / "plan.toml").write_text('scenario = "small.toml"\n')
    (folder / "link.toml").write_text(SLOTTED)
    (folder / "sizes.txt").write_text("1000 0\n2000 100\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert cli.main(["run", "small.toml", "-o", "run"]) == 0
        assert cli.main(["sweep", "plan.toml", "-o", "swept"]) == 0
        (folder / "fct.txt").write_text(fct_txt(pl.read_parquet("run/flows.parquet")))
    return folder


@pytest.fixture
def here(sound, tmp_path, monkeypatch):
    """A folder of its own for each test, in which it works."""
    folder = shutil.copytree(sound, tmp_path / "here")
    monkeypatch.chdir(folder)
    return folder


def on_disk(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


def refused(words, name, here, capsys):
    """Runs a command that is to refuse, and to leave everything as it is."""
    before = on_disk(here)
    capsys.readouterr()
    assert cli.main(words.format(name).split()) == 2
    stdout, stderr = capsys.readouterr()
    assert stdout == ""
    assert f"error: {name}" in stderr
    # What to do about it.
    assert "name another file" in stderr or "choose another folder" in stderr
    assert on_disk(here) == before


@pytest.mark.parametrize("verb", FILES)
@pytest.mark.parametrize("link", [False, True])
def test_a_file_of_somebody_else_s_is_left_alone(verb, link, here, capsys):
    words, name, _ = FILES[verb]
    (here / name).write_bytes(FOREIGN)
    if link:
        (here / name).rename(here / "thesis.pdf")
        (here / name).symlink_to("thesis.pdf")
    refused(words, name, here, capsys)


@pytest.mark.parametrize("verb", [verb for verb in FILES if verb.startswith("report")])
@pytest.mark.parametrize("name", ["run/flows.parquet", "run/run.json", "small.toml"])
def test_results_and_scenarios_are_not_turned_into_reports(verb, name, here, capsys):
    words, _, _ = FILES[verb]
    before = on_disk(here)
    assert cli.main(words.format(name).split()) == 2
    assert (
        f"error: {name}: a report is a page of HTML; name a file that ends in .html"
        in capsys.readouterr().err
    )
    assert on_disk(here) == before
    # Nor under a name that a report could have.
    shutil.copy(here / name, here / "page.html")
    refused(words, "page.html", here, capsys)


@pytest.mark.parametrize("folder", ["run", "swept"])
def test_the_default_place_of_a_report_is_no_exception(folder, here, capsys):
    (here / folder / "report.html").write_bytes(FOREIGN)
    before = on_disk(here)
    assert cli.main(["report", folder]) == 2
    assert f"error: {folder}/report.html: is already there, and not written by" in capsys.readouterr().err
    assert on_disk(here) == before


@pytest.mark.parametrize("verb", FOLDERS)
@pytest.mark.parametrize("link", [False, True])
@pytest.mark.parametrize("name", ["thesis.tex", "run.json", "sweep.json", "papers.json"])
def test_a_folder_of_somebody_else_s_is_left_alone(verb, link, name, here, capsys):
    words, _ = FOLDERS[verb]
    (here / "far").mkdir()
    # Names that ours have, too, with other things in them.
    (here / "far" / name).write_text('{"of": "mice and men", "scale": "full"}\n')
    (here / "far").rename(here / "mine") if not link else (here / "mine").symlink_to("far")
    before = on_disk(here)
    assert cli.main(words.format("mine").split()) == 2
    stdout, stderr = capsys.readouterr()
    assert stdout == ""
    assert "error: mine" in stderr
    assert on_disk(here) == before


@pytest.mark.parametrize("verb", [verb for verb, (*_, again) in FILES.items() if again != "untried"])
def test_what_a_verb_wrote_itself(verb, here, capsys):
    words, name, again = FILES[verb]
    command = words.format(name).split()
    assert cli.main(command) == 0
    written = (here / name).read_bytes()
    if again == "refused":
        refused(words, name, here, capsys)
        return
    # An older one of the same verb.
    (here / name).write_bytes(written[: len(written) // 2])
    assert cli.main(command) == 0
    assert (here / name).read_bytes() == written
    # Through a link, which stays one.
    (here / name).rename(here / "far.html")
    (here / name).symlink_to("far.html")
    (here / "far.html").write_bytes(written[: len(written) // 2])
    assert cli.main(command) == 0
    assert (here / name).is_symlink()
    assert (here / "far.html").read_bytes() == written


@pytest.mark.parametrize("verb", FOLDERS)
def test_a_folder_that_a_verb_wrote_itself(verb, here, capsys):
    words, again = FOLDERS[verb]
    assert cli.main(words.format("new").split()) == 0
    if again == "refused":
        refused(words, "new", here, capsys)
        return
    before = on_disk(here / "new")
    assert cli.main(words.format("new").split()) == 0
    runs = {path: content for path, content in before.items() if "runs/" in path}
    assert runs
    after = on_disk(here / "new")
    assert {path: after[path] for path in runs} == runs
    assert after.keys() == before.keys()


@pytest.mark.parametrize(
    ("words", "name", "said"),
    [
        (
            "topology small.toml -o {}",
            "picture.jpg",
            "the picture is an SVG or a PNG; name a file that ends in .svg or .png",
        ),
        (
            "report run -o {}",
            "page.pdf",
            "a report is a page of HTML; name a file that ends in .html or .htm",
        ),
        ("import sizes.txt -o {}", "new.yaml", "a scenario is TOML or JSON; name a file that ends in .toml"),
    ],
)
def test_no_file_has_a_name_that_promises_something_else(words, name, said, here, capsys):
    before = on_disk(here)
    assert cli.main(words.format(name).split()) == 2
    assert f"error: {name}: {said}" in capsys.readouterr().err
    assert on_disk(here) == before


@pytest.mark.skipif(os.name == "nt", reason="pipes have no paths there")
def test_a_pipe_is_not_replaced(here, capsys):
    os.mkfifo(here / "page.html")
    assert cli.main(["report", "run", "-o", "page.html"]) == 2
    assert "error: page.html: is a pipe" in capsys.readouterr().err
    assert (here / "page.html").is_fifo()


def test_bench_says_so_before_it_measures(here, capsys, monkeypatch):
    monkeypatch.setattr("flowyard.bench.measure", lambda *_: pytest.fail("it measured"))
    (here / "page.md").write_bytes(FOREIGN)
    refused("bench --write {}", "page.md", here, capsys)


def test_the_tables_have_every_verb_that_writes():
    def outputs(parser, path=()):
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                for name, below in action.choices.items():
                    yield from outputs(below, (*path, name))
            elif action.dest in ("output", "write"):
                yield " ".join(path)

    of_files = {verb.partition(" of ")[0] for verb in FILES}
    assert set(outputs(cli.parser())) == of_files | set(FOLDERS) | set(PICTURES) | {"demo"}


def test_the_demo_begins_in_a_new_folder(here, capsys, monkeypatch):
    monkeypatch.setattr("flowyard.results.run", lambda *_, **__: pytest.fail("it ran"))
    (here / "taken").mkdir()
    (here / "taken" / "notes.md").write_bytes(FOREIGN)
    assert cli.main(["demo", "-o", "taken"]) == 2
    assert "taken" in capsys.readouterr().err
    assert (here / "taken" / "notes.md").read_bytes() == FOREIGN


@pytest.mark.parametrize("verb", PICTURES)
def test_a_picture_of_somebody_else_s_is_left_alone(verb, here, capsys):
    words, name = PICTURES[verb]
    command = words.format(results=RESULTS, folder="pictures").split()
    (here / "pictures").mkdir()
    (here / "pictures" / name).write_bytes(FOREIGN)
    before = on_disk(here)
    assert cli.main(command) == 2
    assert f"error: pictures/{name}: is already there, and not written by" in capsys.readouterr().err
    assert on_disk(here) == before
    (here / "pictures" / name).unlink()
    for _ in range(2):
        assert cli.main(command) == 0
    assert (here / "pictures" / name).read_bytes().startswith(b"<?xml")


def test_a_report_carries_its_mark_before_anybody_s_text(here):
    name = "x" * 10_000
    summary = json.loads((here / "run/run.json").read_text())
    summary["scenario"]["name"] = name
    (here / "run/run.json").write_text(json.dumps(summary))
    for _ in range(2):
        assert cli.main(["report", "run"]) == 0
    assert name in (here / "run/report.html").read_text()
