"""Loads in the report on a sweep: carried against offered, along x, and points that are not in a steady state."""

import json
import re
from html import unescape

import altair as alt
import polars as pl
import pytest
from browser import PROGRAM as BROWSER
from test_report import visible
from test_report_sweep import browse, page, rows, specs

import flowyard as fy
from flowyard import cli, text
from flowyard.report import javascript, loads
from flowyard.report.run.summary import summary_table
from flowyard.report.sweep import lines, load_charts, notices, points

SCENARIO = {
    "topology": {"single-switch": {"hosts": 4}},
    "transport": "ndp",
    "traffic": [
        {
            "name": "few",
            "arrivals": {"poisson": {"load": 0.5}},
            "matrix": "uniform",
            "sizes": {"fixed": "20KB"},
            "flows": 200,
        }
    ],
}
LOAD = fy.Axis("load", {"traffic.few.arrivals.poisson.load": [0.3, 0.6, 1.5]})
SYSTEM = fy.Axis("system", {"transport": ["ndp", "tcp"], "queue": ["ndp", "drop-tail"]})
SEED = fy.Axis("seed", {"run.seed": [1, 2]})


@pytest.fixture(autouse=True)
def _quick(request, monkeypatch):
    """Making the real bundle takes seconds: only the tests that say so have it."""
    if "real_bundle" not in request.fixturenames:
        monkeypatch.setattr(javascript, "bundle", lambda: "/* bundle */")


@pytest.fixture(scope="module")
def real_bundle():
    return javascript.bundle()


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    """Two systems at three loads, of which no network carries the last."""
    return fy.sweep(
        fy.Plan(SCENARIO, [LOAD, SYSTEM], replicas=3, name="loaded"), tmp_path_factory.mktemp("l") / "s"
    )


def stable(done):
    """Whether each point is, by its runs' own files."""
    found: dict[tuple[float, str], bool] = {}
    for row in done.runs.iter_rows(named=True):
        summary = json.loads((done.path(row["run"]) / "run.json").read_text())
        place = row["load"], row["system"]
        found[place] = found.get(place, True) and not summary["measured"]["unstable"]
    return found


def test_the_first_chart_is_carried_against_offered_load(loaded):
    html = page(loaded)
    assert re.findall(r"<h3>(?:<dfn[^>]*>)?([^<]*)", html)[0] == "Carried against offered load"
    means = {(row["load"], row["system"]): row for row in loaded.means.iter_rows(named=True)}
    drawn = rows(html, "accepted")
    assert len(drawn) == len(means) == 6
    for row in drawn:
        own = means[row["x"], row["line"]]
        assert row["offered_load"] == own["offered_load"] == row["x"]
        assert row["mean"] == pytest.approx(own["carried_load"], rel=1e-4)
        assert text.ratio(own["carried_load_ci95"]) in row["said"]
    spec = specs(html)["accepted"]
    x, y = (spec["layer"][-1]["encoding"][channel] for channel in ("x", "y"))
    assert (x["field"], x["title"], x["scale"]["domain"]) == ("offered_load", "offered load", [0, 1.5])
    # What cannot be carried does not flatten the chart.
    most = max(row["high"] for row in drawn)
    assert y["scale"]["domain"] == [0, pytest.approx(1.25 * most, rel=1e-4)]
    assert 1.25 * most < 1.5
    (start, end) = (place["load"] for place in spec["datasets"]["diagonal"])
    assert (start, end) == (0, y["scale"]["domain"][1])
    alt.LayerChart.from_dict({**spec, "datasets": {}})
    assert "carried-load" not in specs(html)


def test_points_that_are_not_in_a_steady_state_are_hollow_and_marked(loaded):
    expected = stable(loaded)
    assert expected[0.3, "ndp"]
    assert not any(expected[1.5, system] for system in ("ndp", "tcp"))
    html = page(loaded)
    for key in ("accepted", "slowdown-p99", "packets"):
        assert {(row["x"], row["line"]): row["state"] == "steady" for row in rows(html, key)} == expected
        (point,) = (layer for layer in specs(html)[key]["layer"] if layer["mark"]["type"] == "point")
        assert point["encoding"]["fill"]["condition"]["value"] == "var(--surface)"
        assert point["encoding"]["fill"]["condition"]["test"] == "datum.state !== 'steady'"
        assert "color" not in point["encoding"]
    words = visible(html)
    table = words.partition("Points")[2]
    assert f"1.5 {loads.MARK} tcp 3" in table
    assert " 0.3 ndp 3 " in table
    note = re.search(rf"{loads.MARK} not in a steady state: (.*?)\. ", table)[1]
    assert note == points.marked(loaded)[0].removeprefix("not in a steady state: ")
    assert "load = 1.5, system = ndp in 3 of 3 replicas: a load of " in note
    assert "Hollow points" in words


def test_the_notice_says_how_many_and_why_once(loaded):
    found = notices.notices(loaded, loaded.metrics, loaded.means, loaded.summaries())
    (notice,) = (each for each in found if each.title == "Not in a steady state")
    count = int((~loaded.metrics["stable"]).sum())
    assert notice.level == "warning"
    assert notice.body.startswith(f"{count} of 18 runs had not settled: ")
    assert " Write " in notice.body
    assert not any("not in a steady state" in each.body for each in found if each is not notice)


def test_the_carried_load_may_be_along_x(loaded):
    html = page(loaded)
    assert re.findall(r"<option value=\"(\d)\">([^<]*)", html) == [
        ("0", "load"), ("1", "system"), ("2", "carried load"),
    ]  # fmt: skip
    others = json.loads(re.search(r'id="layouts">(.*?)</script>', html)[1])["slowdown-p99"]
    x = others[1]["layer"][-1]["encoding"]["x"]
    own = loaded.means["carried_load"]
    assert (x["field"], x["title"]) == ("carried_load", "carried load")
    assert x["scale"]["domain"] == pytest.approx([own.min(), own.max()], rel=1e-4)
    drawn = [row["carried_load"] for row in rows(html, "slowdown-p99")]
    assert drawn == pytest.approx(own.to_list(), rel=1e-4)
    # Lines still follow the axis.
    (line,) = (layer for layer in others[1]["layer"] if layer["mark"]["type"] == "line")
    assert line["encoding"]["order"]["field"] == "x"
    # The chart of loads belongs to these layouts.
    figure = re.search(r'<figure class="panel" data-layout="0 2">(.*?)</h3>', html, re.DOTALL)
    assert figure
    assert "Carried against offered load" in figure[1]


def test_groups_of_flows_have_the_load_of_their_point(tmp_path):
    mixed = {
        **SCENARIO,
        "traffic": [{**SCENARIO["traffic"][0], "sizes": {"uniform": {"min": "1KB", "max": "200KB"}}}],
    }
    done = fy.sweep(fy.Plan(mixed, [LOAD], name="mixed"), tmp_path / "s")
    drawn = rows(page(done), "slowdown-p99")
    assert {row["group"] for row in drawn} == {"all flows", "up to 100 KB", "100 KB to 10 MB"}
    own = dict(done.means.select("load", "carried_load").iter_rows())
    assert all(row["carried_load"] == pytest.approx(own[row["x"]], rel=1e-4) for row in drawn)


def test_loads_stand_in_the_tables(loaded, capsys):
    html = page(loaded)
    # The axis is the offered load.
    assert "replicas carried load slowdown p99" in visible(html)
    table = points.points_table(loaded)
    assert table.header[:5] == ["load", "system", "runs", "completed", "carried load"]
    assert [row[0] for row in table.rows[-2:]] == [f"1.5 {loads.MARK}"] * 2
    assert table.rows[0][:2] == ["0.3", "ndp"]
    assert cli.main(["show", str(loaded.folder)]) == 0
    shown = capsys.readouterr().out
    assert "load: offered, carried" in shown
    assert f"{loads.MARK} {points.marked(loaded)[0]}" in shown.replace("\n", "")
    assert cli.main(["show", "--json", str(loaded.folder)]) == 0
    listed = json.loads(capsys.readouterr().out)["runs"]
    assert [run["carried_load"] for run in listed] == loaded.metrics["carried_load"].to_list()
    assert [not run["unstable"] for run in listed] == loaded.metrics["stable"].to_list()


def test_an_axis_that_is_not_the_load_has_both_beside_it(tmp_path):
    axis = fy.Axis("named", {"traffic.few.arrivals.poisson.load": [0.3, 0.6]}, labels=["low", "high"])
    done = fy.sweep(fy.Plan(SCENARIO, [axis], name="named"), tmp_path / "s")
    html = page(done)
    assert re.findall(r"<option value=\"\d\">([^<]*)", html) == ["named", "offered load", "carried load"]
    assert [row["offered_load"] for row in rows(html, "accepted")] == [0.3, 0.6]
    assert "replicas offered load carried load" in visible(html)
    assert points.points_table(done).header[3:5] == ["offered load", "carried load"]


def test_at_one_load_the_carried_load_is_a_metric(tmp_path):
    hosts = fy.Axis("hosts", {"topology.single-switch.hosts": [4, 8]})
    done = fy.sweep(fy.Plan(SCENARIO, [hosts], name="one"), tmp_path / "s")
    html = page(done)
    assert "accepted" not in specs(html)
    assert len(rows(html, "carried-load")) == 2
    assert "data-layouts" not in html.partition("<script")[0]
    none = {**SCENARIO, "traffic": [{**SCENARIO["traffic"][0], "arrivals": "at-once"}]}
    html = page(fy.sweep(fy.Plan(none, [hosts], name="none"), tmp_path / "none"))
    assert "carried load" not in visible(html).partition("Axes and scenario")[0].lower()


def test_the_load_is_found_among_the_axes():
    table = pl.DataFrame(
        {
            "a": [1, 1, 2, 2],
            "b": ["x", "y", "x", "y"],
            "offered_load": [0.1, 0.2, 0.1, 0.2],
            "carried_load": [0.1, 0.2, 0.1, 0.2],
        }
    )
    plans = lines.layouts({"a": [1, 2], "b": ["x", "y"]})
    number = load_charts.load_layout(table, plans)
    assert number is not None
    assert plans[number].x == "b"
    assert load_charts.load_layout(table.with_columns(carried_load=pl.lit(None, pl.Float64)), plans) is None
    assert load_charts.load_layout(table.with_columns(offered_load=0.1), plans) is None
    assert loads.is_axis(table.with_columns(b="offered_load"), "b")
    assert not loads.is_axis(table, "a")
    assert not loads.is_axis(table, "b")
    assert not loads.is_axis(table.with_columns(c=pl.Series([0.1, 0.2, 0.1, 0.3])), "c"), "one is another"


def test_a_footnote_has_a_few_points():
    assert loads.footnote([]) == ""
    assert loads.footnote([("", "why")]) == "not in a steady state: why"
    found = loads.footnote([(f"a = {i}", "why") for i in range(5)])
    assert found == "not in a steady state: a = 0: why; a = 1: why; a = 2: why; and 2 more points"


@pytest.mark.skipif(BROWSER is None, reason="no chromium on this machine")
def test_a_browser_draws_the_loads(loaded, tmp_path, real_bundle):
    assert real_bundle
    html = page(loaded)
    choose = """<script type="module">
        const root = document.documentElement.dataset;
        while (!root.charts) await new Promise((resolve) => setTimeout(resolve, 50));
        const choice = document.querySelector("select[data-layouts]");
        choice.value = "2";
        choice.dispatchEvent(new Event("change"));
        while (!root.layoutDrawn) await new Promise((resolve) => setTimeout(resolve, 50));
    </script>"""
    path = tmp_path / "chosen.html"
    path.write_text(html + choose, encoding="utf-8")
    shown = browse(path, tmp_path)
    chart = re.search(r'(?s)id="chart-slowdown-p99".*?</figure>', shown)[0]
    told = [unescape(words) for words in re.findall(r'aria-label="([^"]*)"', chart)]
    for row in rows(html, "slowdown-p99"):
        (own,) = (words for words in told if f"slowdown p99: {row['said']}; " in words)
        said = re.search(r"carried load: ([\d.]+)", own)
        assert said
        assert float(said[1]) == pytest.approx(row["carried_load"], abs=5e-4)
        assert f"state: {row['state']}" in own
    accepted = re.search(r'(?s)id="chart-accepted".*?</figure>', shown)[0]
    assert ">offered load<" in accepted
    assert "stroke-dasharray" in accepted


def test_the_summary_of_a_run_has_its_loads():
    result = fy.run(SCENARIO)
    measured = result.summary["measured"]
    table = summary_table(result, "run")
    lines = {name: value for name, value in table.rows}  # noqa: C416 (mypy wants pairs)
    carried_load, half = (text.digits(measured[name]) for name in ("carried_load", "carried_ci95"))
    realised = text.digits(measured["realised_load"])
    assert lines["load"] == f"0.500 offered, {realised} realised, {carried_load} +- {half} carried"
    assert lines["links to hosts"].startswith(f"{text.percent(measured['hosts_payload'])} payload, ")
    assert lines["measured"].startswith("from ")
    assert all(value.isascii() for value in lines.values())
    whole = {name for name, _ in summary_table(fy.run(SCENARIO, {"run.measure": "all"}), "run").rows}
    assert "measured" not in whole
    assert "load" in whole


def test_a_run_measured_as_a_whole_because_of_a_fault_says_so_and_of_which_times_its_loads_are():
    fault = {"at": "1us", "lasts": "10us", "change": "down", "target": {"cable": ["host 0", "switch"]}}
    result = fy.run(SCENARIO, {"faults.events": [fault]})
    end = result.summary["end_ps"]
    lines = {name: value for name, value in summary_table(result, "run").rows}  # noqa: C416 (mypy wants pairs)
    assert lines["measured"].startswith("the whole run, because faults happen at given times")
    assert lines["load"].endswith(" carried, while flows arrive")
    assert lines["links to hosts"].endswith(f" wire, to the end at {loads.plain(text.duration(end))}")
