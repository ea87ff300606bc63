"""`flowyard show`: the words of a run's end again, and lists of runs."""

import json
import re
import shutil
import sys
import zipfile
from pathlib import Path

import polars as pl
import pytest
from bad_runs import damaged

import flowyard as fy
from flowyard import cli, sweeps, text
from flowyard.analysis import by_size, overall
from flowyard.report import spreadsheet


@pytest.fixture
def here(small, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def listed(capsys, folder):
    """The lines of a list by run, and the same as JSON."""
    assert cli.main(["show", str(folder)]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if line.strip()}
    assert cli.main(["show", str(folder), "--json"]) == 0
    return lines, {run["name"]: run for run in json.loads(capsys.readouterr().out)["runs"]}


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ([], 0),
        # A run that met its limit has unfinished flows; one with lost datagrams has a reason to tell.
        (["--set", "run.until=5us"], 4),
        (["--set", "transport=datagram", "--set", 'queue={"drop-tail": {"limit": {"packets": 1}}}'], 0),
    ],
)
def test_a_run_is_told_in_the_words_of_its_end(here, capsys, options, code):
    assert cli.main(["run", "small.toml", "-o", "there", *options]) == code
    at_its_end = capsys.readouterr().out
    assert cli.main(["show", "there"]) == 0
    assert capsys.readouterr() == (at_its_end, "")


def test_samples_that_reach_their_limit_are_said_to_be_cut_off(here, capsys):
    samples = 'observe.samples={"every":"100ns","rows_limit":50}'
    assert cli.main(["run", "small.toml", "-o", "there", "--set", samples]) == 0
    for said in (capsys.readouterr().out, cli.main(["show", "there"]) or capsys.readouterr().out):
        assert "samples cut off: observe.samples.rows_limit was reached: from " in said
    assert cli.main(["run", "small.toml", "-o", "whole", "--set", 'observe.samples={"every":"100ns"}']) == 0
    assert "cut off" not in capsys.readouterr().out


def test_counts_of_the_whole_run_stand_apart_from_the_window(here, capsys):
    """A run without a window has no such line."""
    assert cli.main(["run", "web-search-ndp", "-o", "there", "--set", "traffic.0.flows=20"]) == 0
    names = [re.split(" {2,}", line.strip())[0] for line in capsys.readouterr().out.splitlines()]
    place = names.index("counts of the whole run")
    assert names.index("measured") < names.index("goodput") < place
    assert names[place + 1 : place + 4] == ["drops, trims, marks", "retransmissions, timeouts", "packet-hops"]
    assert cli.main(["run", "small.toml", "-o", "small"]) == 0
    assert "counts of the whole run" not in capsys.readouterr().out


def test_json_of_a_run_is_what_its_end_gave(here, capsys):
    assert cli.main(["run", "small.toml", "-o", "there", "--json"]) == 0
    at_its_end = capsys.readouterr().out
    assert cli.main(["show", "there", "--json"]) == 0
    assert capsys.readouterr().out == at_its_end


def test_loads_are_shown_where_any_run_has_one(here, capsys):
    load = 'traffic.few.arrivals={"poisson": {"load": 0.3}}'
    for name, changes in (("at-once", ()), ("loaded", ("--set", load))):
        assert cli.main(["run", "small.toml", "-o", f"runs/{name}", *changes]) == 0
    capsys.readouterr()
    lines, runs = listed(capsys, "runs")
    assert "load: offered, carried" in lines["run"]
    assert runs["at-once"]["offered_load"] is None
    assert f"{text.ratio(runs['loaded']['offered_load'])}, " in lines["loaded"]


def test_a_folder_s_runs_have_a_line_each_with_what_differs(here, capsys):
    changes = ["transport.ndp.initial_window=3", "traffic.few.sizes.fixed=20KB", "transport=tcp"]
    for i, change in enumerate(changes):
        cli.main(["run", "small.toml", "-o", f"runs/{i}", "--set", change])
    shutil.copy("small.toml", "other.toml")
    cli.main(["run", "other.toml", "-o", "runs/other"])
    sweeps.sweep(sweeps.Plan(here / "small.toml", replicas=2), here / "runs/swept", workers=1)
    (here / "runs/notes").mkdir()
    cli.main(["run", "other.toml", "-o", "runs/more/one"])
    capsys.readouterr()

    lines, runs = listed(capsys, "runs")
    assert list(runs) == ["0", "1", "2", "more", "other", "swept"]
    assert runs["more"]["remark"] == "a folder of 1 run; flowyard show runs/more"
    assert lines.keys() - runs.keys() == {"runs", "run", next(key for key in lines if key.startswith("─"))}
    assert runs["0"]["differs"]["transport.ndp.initial_window"] == "3"
    assert runs["1"]["differs"]["traffic.few.sizes"] == "fixed 20KB"
    assert "sizes fixed 10KB" in lines["0"]
    # TCP goes by its congestion control.
    assert "newreno" in lines["2"].split()
    assert runs["2"]["transport"] == "newreno"
    # Another scenario is compared with its own runs only.
    assert runs["other"]["differs"] == {}
    assert runs["swept"]["remark"] == "a sweep: 2 of 2 runs; flowyard show runs/swept"

    table = overall(pl.DataFrame(fy.open_run("runs/1").flows)).row(0, named=True)
    told = runs["1"]
    assert (told["status"], told["flows"], told["completed"]) == ("complete", 4, 4)
    assert (told["fct_p99_ps"], told["slowdown_p99"]) == (table["fct_p99_ps"], table["slowdown_p99"])
    assert text.duration(told["fct_p99_ps"]).replace("µs", "us") in lines["1"]
    assert text.ratio(told["slowdown_p99"]) in lines["1"]


def test_a_sweep_s_runs_are_told_by_their_places(here, capsys):
    axis = sweeps.Axis("size", {"traffic.few.sizes.fixed": ["1KB", "9KB"]})
    plan = sweeps.Plan(here / "small.toml", replicas=2, axes=[axis])
    sweep = sweeps.sweep(plan, here / "swept", workers=1)
    first, second, third, _ = sweep.runs["run"]
    metrics = sweep.metrics.row(0, named=True)
    shutil.rmtree(sweep.path(second))
    (sweep.path(third) / "run.json").write_text("{")
    lines, runs = listed(capsys, "swept")
    assert len(runs) == 4
    assert runs[first]["differs"] == {"size": "1KB", "replica": "0"}
    assert "size 1KB, replica 0" in lines[first]
    assert runs[first]["fct_p99_ps"] == metrics["fct_p99_ps"]
    assert runs[first]["slowdown_p99"] == metrics["slowdown_p99"]
    assert "not run yet" in lines[second]
    assert runs[third]["remark"].startswith("damaged: ")
    assert runs[third]["status"] is None


def test_a_sweep_s_points_are_told_with_their_means(here, capsys):
    axis = sweeps.Axis("size", {"traffic.few.sizes.fixed": ["1KB", "9KB"]})
    protocol = sweeps.Axis("protocol", {"transport": ["ndp", {"tcp": {"congestion": "dctcp"}}]})
    plan = sweeps.Plan(here / "small.toml", replicas=2, axes=[protocol, axis])
    sweep = sweeps.sweep(plan, here / "swept", workers=1)
    shutil.rmtree(sweep.path(sweep.runs["run"][0]))
    assert cli.main(["show", "swept"]) == 0
    lines = capsys.readouterr().out.splitlines()
    below = lines[lines.index(next(line for line in lines if "means of each point's runs" in line)) :]
    points = [line.split() for line in below if line.strip().startswith(("ndp", "dctcp"))]
    assert [(*point[:2], " ".join(point[2:5])) for point in points] == [
        ("ndp", "1KB", "1 of 2"),
        ("ndp", "9KB", "2 of 2"),
        ("dctcp", "1KB", "2 of 2"),
        ("dctcp", "9KB", "2 of 2"),
    ]
    means = sweeps.Sweep(here / "swept").means.rows_by_key(("protocol", "size"), named=True, unique=True)
    for point in points:
        expected = text.duration(means[tuple(point[:2])]["fct_p99_ps"]).replace("µs", "us").split()
        assert point[8:10] == expected


@pytest.mark.parametrize(("axes", "replicas"), [({"size": ["1KB", "9KB"]}, 1), ({}, 2)])
def test_a_run_whose_links_are_damaged_leaves_the_list_and_a_line_in_place_of_means(
    here, capsys, axes, replicas
):
    axes = [sweeps.Axis(name, {"traffic.few.sizes.fixed": values}) for name, values in axes.items()]
    plan = sweeps.Plan(here / "small.toml", replicas=replicas, axes=axes)
    sweep = sweeps.sweep(plan, here / "swept", workers=1)
    links = sweep.path(sweep.runs["run"][1]) / "links.parquet"
    whole = links.read_bytes()
    links.write_bytes(whole[:-300] + bytes(292) + whole[-8:])
    assert cli.main(["show", "swept"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "no means over the runs: " in out
    assert "links.parquet: not a table that can be read" in out


def points_of(here, capsys, **changes):
    """The head of the table of points of a sweep, and the cells of each point, of which none has a space in it."""
    size = sweeps.Axis("size", {"traffic.few.sizes.fixed": ["1KB", "9KB"]})
    sweep = sweeps.sweep(sweeps.Plan(here / "small.toml", axes=[size], **changes), here / "swept", workers=1)
    assert cli.main(["show", "swept"]) == 0
    below = capsys.readouterr().out.split("means of each point's runs")[1].splitlines()
    cells = [re.split(" {3,}", line.strip()) for line in below if line.strip() and "───" not in line]
    return sweep, cells[0], cells[1:]


def test_points_of_flows_with_deadlines_begin_with_what_they_met(here, capsys):
    _, head, points = points_of(here, capsys, set={"traffic.few.deadline": "1ms"})
    assert head[:4] == ["size", "runs", "deadlines met", "completed"]
    assert [point[2] for point in points] == ["100%", "100%"]


def test_metrics_that_a_plan_asks_for_have_their_words_and_units(here, capsys):
    sweep, head, points = points_of(here, capsys, metrics=("goodput_bps", "timeouts"))
    assert head == ["size", "runs", "goodput", "timeouts"]
    for point, own in zip(points, sweep.means.iter_rows(named=True), strict=True):
        assert point[2].replace("\xa0", " ") == text.rate(own["goodput_bps"]).replace("\xa0", " ")
        assert point[3] == "0"


def test_a_run_with_flows_of_several_sizes_has_a_table_by_size(here, capsys):
    assert cli.main(["run", "small.toml", "-o", "one"]) == 0
    assert "by flow size" not in capsys.readouterr().out
    assert (
        cli.main(
            [
                "run",
                "small.toml",
                "-o",
                "two",
                "--set",
                'traffic.few.sizes={"uniform":{"min":"10KB","max":"1MB"}}',
            ]
        )
        == 0
    )
    out = capsys.readouterr().out
    groups = by_size(pl.DataFrame(fy.open_run("two").flows))
    assert groups.height > 2
    for group, flows in groups.select("group", "flows").iter_rows():
        (line,) = (line for line in out.splitlines() if line.strip().startswith(f"{group}  "))
        assert line.split(group)[1].split()[0] == str(flows)


def test_damaged_runs_do_not_hide_the_others(here, capsys):
    folder = here / "reported"
    damaged(folder, here / "small.toml")
    _, runs = listed(capsys, "reported")
    assert runs["run"]["status"] == "complete"
    for name in ("cut-flows", "cut-summary", "no-status", "no-flows", "overwritten-flows", "cut-plan"):
        assert runs[name]["remark"].startswith("damaged: "), name
        assert runs[name]["status"] is None
    assert "thesis" not in runs


def test_a_violation_or_a_model_is_no_reason_to_fail(here, capsys):
    (here / "runs/model").mkdir(parents=True)
    (here / "runs/model/run.json").write_text('{"status": "complete", "point": {}}')
    _, runs = listed(capsys, "runs")
    assert runs["model"]["remark"] == "no simulation: its tables are a model's"


def test_tables_are_written_as_csv(here, capsys):
    run = fy.run(here / "small.toml")
    run.save(here / "there")
    assert cli.main(["show", "there", "--csv"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split(",") == run.flows.columns
    assert len(lines) == 1 + len(run.flows)
    for name in ("flows", "links"):
        assert cli.main(["show", "there", "--csv", name, "-o", f"{name}.csv"]) == 0
        table = pl.DataFrame(getattr(run, name))
        # Numbers come back as they are, to the picosecond and the last bit of a ratio.
        assert pl.read_csv(f"{name}.csv", schema=table.schema).equals(table)


def test_a_sweep_gives_its_means_as_csv(here, capsys):
    sweep = sweeps.sweep(sweeps.Plan(here / "small.toml", replicas=2), here / "swept", workers=1)
    assert cli.main(["show", "swept", "--csv"]) == 0
    assert capsys.readouterr().out == sweep.means.write_csv()
    assert cli.main(["show", "swept", "--csv", "metrics", "-o", "runs.csv"]) == 0
    assert len(pl.read_csv("runs.csv")) == 2


def test_a_workbook_has_a_sheet_for_each_table(here):
    pytest.importorskip("xlsxwriter")
    fy.run(here / "small.toml").save(here / "there")
    assert cli.main(["show", "there", "-o", "tables.xlsx"]) == 0
    with zipfile.ZipFile("tables.xlsx") as book:
        names = re.findall(r'sheet name="(\w+)"', book.read("xl/workbook.xml").decode())
        assert names == ["flows", "links", "by_size", "by_entry", "over_size"]
        sheet = book.read("xl/worksheets/sheet1.xml").decode()
    size = fy.open_run("there").flows.columns.index("size_bytes")
    assert f'<c r="{chr(ord("A") + size)}2" s="1"><v>10000</v></c>' in sheet


def test_a_workbook_has_all_tables_that_csv_has(here, monkeypatch):
    written = {}
    monkeypatch.setattr(spreadsheet, "workbook", lambda tables: written.update(tables) or b"")
    fy.run(here / "small.toml").save(here / "there")
    fy.sweep(fy.Plan(here / "small.toml", replicas=2), here / "swept")
    for folder, own in (("there", {"flows", "links"}), ("swept", {"means", "metrics"})):
        written.clear()
        assert cli.main(["show", folder, "-o", f"{folder}.xlsx"]) == 0
        assert written.keys() == own | {"by_size", "by_entry", "over_size"}
        for name, table in written.items():
            assert cli.main(["show", folder, "--csv", name, "-o", f"{folder}-{name}.csv"]) == 0
            assert Path(f"{folder}-{name}.csv").read_text() == spreadsheet.as_csv(table)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--csv", "flow"], '--csv "flow": there has flows, links'),
        (
            ["-o", "x.txt"],
            "x.txt: tables are written as CSV or as a workbook; name a file that ends in .csv or .xlsx",
        ),
        (["-o", "small.csv"], "small.csv: is already there"),
        (["--csv", "flows", "-o", "x.xlsx"], "x.xlsx: a workbook has all tables; leave --csv out"),
        (
            ["-o", "x.xlsx"],
            "a workbook needs a package that is not here: pip install xlsxwriter, or flowyard[excel]",
        ),
    ],
)
def test_tables_that_cannot_be_written_are_refused(here, capsys, monkeypatch, options, said):
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    fy.run(here / "small.toml").save(here / "there")
    (here / "small.csv").touch()
    assert cli.main(["show", "there", *options]) == 2
    assert said in capsys.readouterr().err


def test_tables_of_a_sweep_by_size_as_csv(here, capsys):
    axis = sweeps.Axis("size", {"traffic.few.sizes.fixed": ["1KB", "9KB"]})
    sweep = sweeps.sweep(sweeps.Plan(here / "small.toml", axes=[axis]), here / "swept", workers=1)
    for name in ("by_size", "by_entry", "over_size"):
        assert cli.main(["show", "swept", "--csv", name]) == 0
        table = pl.read_csv(capsys.readouterr().out.encode())
        assert table.columns == getattr(sweep, name).columns
        # Each flow is in the group of its size and, in two of the tables, in the group of all.
        assert table["flows"].sum() == 2 * 4 * (1 if name == "over_size" else 2)
    assert cli.main(["show", "swept", "--csv", "flows"]) == 2
    said = capsys.readouterr().err
    assert "has means, metrics, by_size, by_entry, over_size; in Python flowyard.Sweep('swept').flows" in said
    assert fy.Sweep("swept").flows.collect().height == 8
