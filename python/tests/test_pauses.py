"""Pauses of flow control in summaries, comparisons and reports: their number and the time paused, from the links."""

from pathlib import Path

import pytest
from conftest import open_sweep
from test_report import page, visible

import flowyard as fy
from flowyard.analysis import worst_links
from flowyard.cli import main
from flowyard.report.run import labelled, tables

# Three hosts into one, through a switch that keeps little.
SCENARIO = """\
transport = "dcqcn"
queue.lossless.xoff = "20KB"
[topology.single-switch]
hosts = 4
[[traffic]]
name = "incast"
arrivals = "at-once"
matrix.incast.senders = 3
sizes.fixed = "300KB"
"""


@pytest.fixture
def incast(tmp_path, monkeypatch):
    """The scenario's file, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "incast.toml"
    path.write_text(SCENARIO)
    return path


def line(out, name):
    """The cells of a printed row, with plain spaces."""
    found = next(
        row for row in out.replace("\N{NO-BREAK SPACE}", " ").splitlines() if row.strip().startswith(name)
    )
    return found.strip().removeprefix(name).strip()


def milliseconds(words):
    value, unit = words.split()[:2]
    return float(value) * {"us": 1e-3, "ms": 1.0}[unit]


def test_the_summary_of_a_run_has_the_sums_over_links(incast, capsys):
    assert main(["run", str(incast), "-o", "there"]) == 0
    links = fy.open_run("there").links.to_polars()
    pauses, paused_ps = links["pauses"].sum(), links["paused_ps"].sum()
    assert pauses > 0
    number, _, time = line(capsys.readouterr().out, "pauses, time paused").partition(", ")
    assert number == f"{pauses:,}"
    assert milliseconds(time) == pytest.approx(paused_ps / 1e9, rel=5e-3)
    # `show` prints the same.
    assert main(["show", "there"]) == 0
    assert line(capsys.readouterr().out, "pauses, time paused").startswith(f"{pauses:,}, ")


def test_a_queue_that_could_pause_says_that_it_did_not(incast, capsys):
    assert main(["run", str(incast), "--set", "traffic.incast.matrix.incast.senders=1"]) == 0
    assert line(capsys.readouterr().out, "pauses, time paused").startswith("0, 0")


def test_other_queues_say_nothing_of_pauses(small, capsys):
    assert main(["run", str(small), "-o", str(small.parent / "there")]) == 0
    assert "pause" not in capsys.readouterr().out


def test_a_comparison_has_a_row_for_each(incast, capsys):
    words = ["run", str(incast), "--compare", "queue.lossless.xoff=20KB,1MB", "-o", "both"]
    assert main(words) == 0
    out = capsys.readouterr().out
    means = open_sweep(Path("both")).means
    assert means["pauses"][0] > means["pauses"][1] == 0
    assert line(out, "pauses").split() == [f"{means['pauses'][0]:.0f}", "0"]
    *first, none = line(out, "time paused, all ports").split()
    assert none == "0"
    assert milliseconds(" ".join(first)) == pytest.approx(means["paused_ps"][0] / 1e9, rel=5e-3)
    # Replicas have their means.
    assert main(["run", str(incast), "--replicas", "2", "-o", "two"]) == 0
    assert float(line(capsys.readouterr().out, "pauses").split()[0].replace(",", "")) > 0


def test_the_longest_paused_links_are_the_worst_of_those_that_lost_nothing(incast):
    links = fy.run(incast).links.to_polars()
    worst = worst_links(links, 10).filter(drops=0, trims=0, marks=0)
    paused = worst["paused_ps"].to_list()
    assert paused == sorted(paused, reverse=True)
    assert paused[0] == links.filter(drops=0, trims=0, marks=0)["paused_ps"].max() > 0


def test_the_report_calls_them_pauses(incast):
    fy.run(incast).save("there")
    (run,) = labelled.read([Path("there")])
    rows = {row.name: row.cells[0].text for row in tables.losses([run])}
    assert rows["pauses"] == f"{run.counters['pauses']:,}"
    assert "time paused" in rows
    text = visible(page([Path("there")]))
    assert "times stopped" not in text
    assert "time paused" in text
