"""tools/spot_check.py: some runs of a published figure, made again."""

import importlib
import random
import shutil

import pytest
from conftest import ROOT

# Seventy runs, of which this test makes seven.
PAPER, FIGURE, RUNS = "LIT", "LIT-DCQCN", 70
OPTIONS = ["--figure", FIGURE, "--seconds", "0.24", "--workers", "1"]


@pytest.fixture
def spot_check(monkeypatch):
    """The tool."""
    monkeypatch.syspath_prepend(ROOT / "tools")
    # It sets this for its own process; other tests are not to have it.
    monkeypatch.setenv("POLARS_MAX_THREADS", "1")
    return importlib.import_module("spot_check")


@pytest.fixture
def published(spot_check, monkeypatch, tmp_path):
    """The figure's published rows, in a place where they may be changed."""
    results = spot_check.publish_results.RESULTS
    shutil.copytree(results / PAPER / FIGURE, tmp_path / PAPER / FIGURE)
    for name in ("results.json", "claims.json"):
        shutil.copy(results / PAPER / name, tmp_path / PAPER)
    monkeypatch.setattr(spot_check.publish_results, "RESULTS", tmp_path)
    return tmp_path / PAPER / FIGURE / "runs.csv"


def test_rows_are_the_same_or_named(spot_check, published, capsys):
    assert spot_check.main(OPTIONS) == 0
    said = capsys.readouterr().out.split()
    assert said[:2] == [FIGURE, "same"]
    runs = int(said[2])
    assert 3 <= runs <= RUNS / 4
    head, *rows = published.read_text().splitlines()
    place = head.split(",").index("last_ms")
    cells = [row.split(",") for row in rows]
    for row in cells:
        row[place] = str(float(row[place]) + 0.001)
    published.write_text("\n".join([head, *(",".join(row) for row in cells)]) + "\n")
    assert spot_check.main(OPTIONS) == 1
    assert f"differs  {runs} of {RUNS} runs, {runs} rows not published" in capsys.readouterr().out


def test_another_seed_draws_other_runs(spot_check, published):
    (one,) = [each for each in spot_check.results_check.published() if each.figure.id == FIGURE]
    drawn = [
        [task.key for task in spot_check.sample(one, 0.3, random.Random(seed))["incast"].tasks()]
        for seed in (1, 1, 2)
    ]
    assert drawn[0] == drawn[1] != drawn[2]


def test_a_figure_that_is_not_published_is_named(spot_check, capsys):
    assert spot_check.main(["--figure", "NDP-F99"]) == 2
    assert "error: NDP-F99: no published figure" in capsys.readouterr().err
