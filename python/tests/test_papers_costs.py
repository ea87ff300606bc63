"""What figures take at full scale: foretold from published costs, without what is done, and measured."""

import json
import time
from dataclasses import replace

import pytest

from flowyard import _native
from flowyard.papers import catalogue, costs, published
from flowyard.papers.costs import Forecast
from flowyard.papers.figure import Figure, Scale
from flowyard.papers.outcomes import FigureOutcome
from flowyard.papers.published import Cost

MADE = dict.fromkeys(("T-1", "T-2", "T-3"), Cost(600.0, 4)) | {"T-4": Cost(None, 1)}


def nothing():
    """No tables."""
    return {}


def figure(name):
    return Figure(id=name, title=name, tables=nothing, claims={})


@pytest.fixture
def known(monkeypatch):
    monkeypatch.setattr(published, "costs", lambda: MADE)


def spend(folder, **more):
    folder.mkdir(parents=True)
    cost = {"engine": _native.__engine__, "seconds": 1.0, "cpu_s": 100.0, **more}
    (folder / "cost.json").write_text(json.dumps(cost))


def test_what_is_done_is_not_foretold(known, tmp_path):
    spend(tmp_path / "T-2", finished=True)
    spend(tmp_path / "T-3", simulated_s=250.0, finished=False)
    spend(tmp_path / "T-1", engine="another", finished=True)
    figures = [figure(f"T-{number}") for number in range(1, 6)]
    found = costs.foretell(figures, tmp_path, workers=2)
    assert found.cpu_s == {"T-1": 600.0, "T-2": 0.0, "T-3": 350.0, "T-4": None, "T-5": None}
    assert found.seconds == {"T-1": 300.0, "T-2": 0.0, "T-3": 175.0, "T-4": None, "T-5": None}
    assert list(found.told()) == [
        "simulations, by published costs: about 16 min of processor time, 8 min with 2 workers; start-up and drawing "
        "come on top",
        "most of it: T-1 10 min of processor time, 5 min with 2 workers; "
        "T-3 6 min of processor time, 3 min with 2 workers",
        "and figures of unknown cost: T-4, T-5",
    ]


def test_more_workers_than_runs_do_not_help(known, tmp_path):
    found = costs.foretell([figure("T-1")], tmp_path, workers=100)
    assert found.seconds == {"T-1": 150.0}
    # Of those of a cluster nothing is known.
    assert list(costs.foretell([figure("T-1")], tmp_path, cluster="tcp://x:1").told()) == [
        "simulations, by published costs: about 10 min of processor time; start-up and drawing come on top"
    ]


def test_what_it_took_stands_beside_what_was_foretold():
    forecast = Forecast({"T-1": 60.0, "T-2": None}, {"T-1": 30.0, "T-2": None}, 2)
    made = {"T-1": FigureOutcome(cpu_s=75.0), "T-2": FigureOutcome(cpu_s=20.0)}
    assert forecast.measured(made, {"T-1": 5.0}, 50.0) == (
        "took 50 s, 90 s of processor time; expected for the simulations of 1 of 2 figures: 60 s of processor time, "
        "30 s with 2 workers"
    )
    assert forecast.measured({"T-2": made["T-2"]}, {}, 50.0) == "took 50 s, 20 s of processor time"
    assert list(Forecast({"T-2": None}, {"T-2": None}, 2).told()) == []


def test_time_left_follows_the_pace(monkeypatch):
    clock = iter([0.0, 0.0, 120.0, 180.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    # Half of a second for each of processor time at first, then 150 s for 120.
    assert list(costs.progress([60.0, 60.0, 60.0], 2)) == [
        "about 90 s left",
        "about 2 min left",
        "about 70 s left",
    ]
    monkeypatch.undo()
    assert next(costs.progress([None, 60.0], 2)) == "time left is not known"


def test_published_costs_are_those_of_the_checkout(tmp_path):
    found = published.costs()
    assert {figure.id for paper in catalogue.packaged() for figure in paper.figures} >= set(found)
    assert found["PEQ-P9"].runs > 0
    (tmp_path / "X").mkdir()
    for text in ("{}", "[]", "{"):
        (tmp_path / "X/results.json").write_text(text)
        assert published.costs(tmp_path) == {}


def test_all_is_one_command_that_foretells_measures_and_resumes(tmp_path, monkeypatch, capsys):
    """Of two figures that take no time, in place of all."""
    from flowyard.cli import main

    (paper,) = [paper for paper in catalogue.packaged() if paper.id == "PEQ"]
    few = replace(paper, figures=tuple(one for one in paper.figures if one.id in ("PEQ-F1.15", "PEQ-P13")))
    monkeypatch.setattr(catalogue, "packaged", lambda: (few,))
    words = ["paper", "run", "--all", "--scale", "full", "-o", str(tmp_path / "o"), "--workers", "1"]
    assert main(words) == 0
    said = capsys.readouterr().err.splitlines()
    assert said[0].startswith("simulations, by published costs: about 0 s of processor time, ")
    assert [line.split(":")[0] for line in said[1:3]] == [
        "PEQ-F1.15 (1 of 2), about 0 s left",
        "PEQ-P13 (2 of 2), about 0 s left",
    ]
    assert said[3].startswith("took ")
    about = json.loads((tmp_path / "o/papers.json").read_text())
    assert (about["of"], about["scale"], len(about["figures"])) == ("all", "full", 2)
    # The same, by its other name: it goes on in the same folder, and nothing is left to be done.
    assert main([*words[:2], "all", *words[3:]]) == 0
    assert "0 s with 1 worker" in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["--all", "NDP"]])
def test_all_or_a_name(flowyard, words):
    done = flowyard("paper", "run", *words)
    assert done.returncode == 2
    assert "or ask for --all" in done.stderr


def test_quick_scale_foretells_nothing(known, tmp_path):
    said = list[str]()
    watch = costs.Watch([figure("T-1")], Scale.QUICK, tmp_path, said.append, workers=1, cluster=None)
    assert watch.left() == ""
    watch.end({"T-1": FigureOutcome()})
    assert said == []
