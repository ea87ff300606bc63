"""Completion by traffic entry, in the terminal, as CSV and on pages: one entry's flows do not hide another's."""

import io

import polars as pl
import pytest

import flowyard as fy
from flowyard import analysis, cli, sweeps
from flowyard.analysis import completion
from flowyard.report import charts, javascript
from flowyard.report.run import figures, labelled, summary, tables
from flowyard.report.sweep import page, side_by_side

# Each flow of web is alone in the network, with a slowdown of 1; the six of the incast share a link.
SCENARIO = """
transport = "ndp"
[topology.single-switch]
hosts = 8
[[traffic]]
name = "web"
arrivals.times = { at = ["1ms", "2ms", "3ms", "4ms"], jitter = "0s" }
matrix.pairs = [[0, 1]]
sizes.list = [20000, 200000, 20000, 200000]
[[traffic]]
name = "incast"
arrivals = "at-once"
matrix.incast = { senders = 6, receiver = 7 }
sizes.fixed = "32KB"
"""
# The groups with their flows.
GROUPS = {
    "all flows": 10,
    "up to 100 KB": 8,
    "100 KB to 10 MB": 2,
    "entry incast": 6,
    "entry web": 4,
    "entry web, up to 100 KB": 2,
    "entry web, 100 KB to 10 MB": 2,
}


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    """Making the real bundle takes seconds."""
    monkeypatch.setattr(javascript, "bundle", lambda: "/* bundle */")


@pytest.fixture
def here(tmp_path, monkeypatch):
    (tmp_path / "mixed.toml").write_text(SCENARIO)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_groups_of_sizes_come_before_those_of_entries():
    short, long = "up to 100 KB", "above 10 MB"
    keys = [(None, short), (None, long), (None, "all"), ("b", short), ("b", "all"), ("a", long), ("a", "all")]
    assert list(completion.names([keys]).values()) == ["all flows", short, long, "entry b", "entry a"]
    # Another run has long flows of b, too.
    both = completion.names([keys, [("b", long)]])
    assert list(both.values())[3:] == ["entry b", f"entry b, {short}", f"entry b, {long}", "entry a"]
    assert both["b", "all"] == "entry b"
    # All flows are of one entry, or of more than a table shows apart.
    assert list(completion.names([[(None, "all"), ("b", "all")]]).values()) == ["all flows"]
    many = [(None, "all"), *((str(i), "all") for i in range(completion.MOST_ENTRIES + 1))]
    assert list(completion.names([many]).values()) == ["all flows"]


def test_a_run_s_page_has_the_groups_of_each_entry(here):
    run = fy.run(here / "mixed.toml")
    run.save(here / "one")
    groups = {group.name: group.rows[0].cells for group in tables.summary(labelled.read([here / "one"]))}
    assert {name: cells[0].value for name, cells in groups.items()} == GROUPS
    p50 = 2 + len(tables.STATISTICS) + tables.STATISTICS.index("p50")
    # The incast hides in all short flows that those of web are alone.
    assert [groups[name][p50].value for name in GROUPS if "web" in name] == pytest.approx([1] * 3, abs=0.01)
    flows = pl.DataFrame(run.flows).filter(pl.col("tag") == "incast")
    assert groups["entry incast"][p50].value == pytest.approx(flows["slowdown"].median())
    assert groups["up to 100 KB"][p50].value > 2


def test_no_line_of_slowdowns_by_size_joins_two_entries(here):
    """The incast is one point of each percentile; web has a point for each of its two sizes."""
    fy.run(here / "mixed.toml").save(here / "one")
    read = labelled.read([here / "one"])
    spec = charts.slowdown_by_size(read)
    assert spec
    line, *points = spec["layer"]
    assert line["encoding"]["detail"]["field"] == "entry"
    assert [point["encoding"]["shape"]["field"] for point in points] == ["entry"] * 2
    assert [point["transform"][0]["filter"][-5:] for point in points] == ["'p99'", "'p50'"]
    rows = spec["datasets"]["rows"]
    drawn = sorted((row["entry"], row["size"], row["flows"]) for row in rows if row["percentile"] == "p50")
    assert drawn == [("incast", 32_000, 6), ("web", 20_000, 2), ("web", 200_000, 2)]
    alone = [row["slowdown"] for row in rows if row["entry"] == "web"]
    assert alone == pytest.approx([1] * 4, abs=0.01)
    assert "of each traffic entry" in figures.of_deciles(read)
    assert "● incast, ■ web" in figures.of_deciles(read)
    # One entry has one line, and its caption names none.
    fy.run(here / "mixed.toml", {"traffic.incast.background": True}).save(here / "alone")
    one = labelled.read([here / "alone"])
    assert "entry" not in charts.slowdown_by_size(one)["datasets"]["rows"][0]
    assert "entry" not in figures.of_deciles(one)
    assert len(charts.SHAPES) == summary.MOST_ENTRIES == completion.MOST_ENTRIES


def test_a_run_s_end_has_a_table_of_its_entries(here, capsys):
    assert cli.main(["run", "mixed.toml", "-o", "one"]) == 0
    (below,) = capsys.readouterr().out.split("by traffic entry\n")[1:]
    rows = [" ".join(line.split("100%")[0].split()) for line in below.splitlines() if "100%" in line]
    assert rows == ["incast up to 100 KB 6", "web up to 100 KB 2", "100 KB to 10 MB 2", "all 4"]
    # An entry in the background is not measured: what is left is one entry.
    assert cli.main(["run", "mixed.toml", "-o", "two", "--set", "traffic.incast.background=true"]) == 0
    assert "by traffic entry" not in capsys.readouterr().out


def test_more_entries_than_a_table_shows_are_counted(here, capsys):
    entries = "".join(
        f'[[traffic]]\nname = "{i}"\narrivals = "at-once"\nmatrix.pairs = [[{i}, 7]]\nsizes.fixed = "1KB"\n'
        for i in range(7)
    )
    (here / "many.toml").write_text(SCENARIO + entries)
    assert cli.main(["run", "many.toml", "-o", "many"]) == 0
    out = capsys.readouterr().out
    assert "by traffic entry" not in out
    assert "9 traffic entries: flowyard show many --csv by_entry has the completion of each" in out


@pytest.mark.parametrize(("table", "keys"), [("by_size", 1), ("by_entry", 2), ("over_size", 2)])
def test_groups_of_a_run_are_written_as_csv(here, capsys, table, keys):
    fy.run(here / "mixed.toml").save(here / "one")
    sweeps.sweep(sweeps.Plan(here / "mixed.toml"), here / "swept", workers=1)
    assert cli.main(["show", "swept", "--csv", table]) == 0
    of_sweep = pl.read_csv(io.StringIO(capsys.readouterr().out))
    assert cli.main(["show", "one", "--csv", table]) == 0
    of_run = pl.read_csv(io.StringIO(capsys.readouterr().out))
    same = [name for name in of_sweep.columns if name != "replicas" and not name.endswith("_ci95")]
    assert of_run.columns[: len(same)] == same
    assert all(
        name.endswith(("_low", "_high", "_low_ps", "_high_ps")) for name in of_run.columns[len(same) :]
    )
    # The sweep has this run alone.
    own = of_run.columns[:keys]
    both = of_run.sort(own).join(of_sweep.sort(own), on=own, how="full", maintain_order="left")
    assert both["flows"].to_list() == both["flows_right"].to_list()
    assert both["slowdown_p50"].to_list() == pytest.approx(both["slowdown_p50_right"].to_list())
    if table == "by_entry":
        assert of_run.filter(tag="web")["flows"].to_list() == [2, 2, 4]


def test_a_table_that_a_run_lacks_names_those_of_groups(here, capsys):
    fy.run(here / "mixed.toml").save(here / "one")
    assert cli.main(["show", "one", "--csv", "entries"]) != 0
    assert "one has flows, links, by_size, by_entry, over_size" in capsys.readouterr().err


def test_runs_side_by_side_have_the_groups_of_each_entry(here):
    plan = sweeps.Plan(here / "mixed.toml", axes=[sweeps.Axis("protocol", {"transport": ["ndp", "homa"]})])
    sweep = sweeps.sweep(plan, here / "swept", workers=1)
    made = side_by_side.side_by_side_table(sweep)
    rows = {row[0]: row[1:] for row in made.rows}
    names = [name.removeprefix("slowdown p50, ") for name in rows if name.startswith("slowdown p50, ")]
    assert names == list(GROUPS)[1:]
    own = analysis.by_entry(pl.DataFrame(fy.open_run(sweep.path(sweep.runs["run"][1])).flows))
    median = own.row(by_predicate=(pl.col("tag") == "incast") & (pl.col("group") == "all"), named=True)
    assert float(rows["slowdown p50, entry incast"][1]) == pytest.approx(median["slowdown_p50"], rel=0.01)
    html = page.render(sweep)
    for name in GROUPS:
        assert f"<span>{name}</span>" in html
