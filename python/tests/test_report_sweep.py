"""The report on a sweep: what is said, what is drawn, and that what is drawn are the means of the runs."""

import json
import math
import re
import shutil
import statistics
import subprocess
from html import unescape as html_unescape

import altair as alt
import polars as pl
import pytest
from browser import PROGRAM as BROWSER
from conftest import PATIENCE_S
from test_report import visible

import flowyard as fy
from flowyard import sweeps, text
from flowyard.errors import UserError
from flowyard.report import javascript, metrics
from flowyard.report.sweep import axis_types, facts, lines, over_size
from flowyard.report.sweep import page as sweep_page
from flowyard.sweeps import tables
from flowyard.sweeps.plan import ModelPlan

# Student's t, two-sided 95 %, from printed tables, by the number of values.
STUDENT = {2: 12.706, 3: 4.303, 5: 2.776}

SCENARIO = {
    "topology": {"single-switch": {"hosts": 4}},
    "transport": {"ndp": {}},
    "traffic": [
        {
            "name": "few",
            "arrivals": "at-once",
            "matrix": "uniform",
            "sizes": {"fixed": "10KB"},
            "flows": 8,
        }
    ],
}
SIZE = fy.Axis("size", {"traffic.few.sizes.fixed": ["5KB", "10KB", "100KB"]})
WINDOW = fy.Axis("window", {"transport.ndp.initial_window": [1, 4, 16]})
HOSTS = fy.Axis("hosts", {"topology.single-switch.hosts": [4, 8]})
TCP = fy.Axis("who", {"transport": ["ndp", "tcp"], "queue": ["ndp", "drop-tail"]})


@pytest.fixture(autouse=True)
def _quick(request, monkeypatch):
    """Making the real bundle takes seconds: only the tests that say so have it."""
    if "real_bundle" not in request.fixturenames:
        monkeypatch.setattr(javascript, "bundle", lambda: "/* bundle */")


@pytest.fixture
def real_bundle():
    return javascript.bundle()


def swept(folder, *axes, replicas=3, changes=None, name="swept"):
    return fy.sweep(fy.Plan(SCENARIO, axes, replicas=replicas, set=changes or {}, name=name), folder)


def page(done):
    """The report, written and read again; what fy.open remembers is asked for afresh."""
    sweep_page.write(done.folder, done.folder / "report.html")
    return (done.folder / "report.html").read_text(encoding="utf-8")


def specs(html):
    return json.loads(re.search(r'id="specs">(.*?)</script>', html)[1])


def rows(html, key="fct-p50-ps"):
    return specs(html)[key]["datasets"]["rows"]


def change(done, key, edit):
    path = done.path(key) / "run.json"
    summary = json.loads(path.read_text())
    edit(summary)
    path.write_text(json.dumps(summary))


def median_fcts(done):
    """The median completion time of each run, from its own table and the standard library."""
    return {
        key: statistics.median(pl.read_parquet(done.path(key) / "flows.parquet")["fct_ps"])
        for key in done.runs["run"]
    }


@pytest.mark.parametrize("replicas", [2, 3, 5])
def test_what_is_drawn_are_the_means_of_the_runs_with_their_intervals(tmp_path, replicas):
    done = swept(tmp_path / "s", WINDOW, replicas=replicas)
    medians = median_fcts(done)
    html = page(done)
    drawn = rows(html)
    assert [row["x"] for row in drawn] == [1, 4, 16]
    assert ("Two replicas" in visible(html)) == (replicas == 2)
    assert ("Bands are 95% confidence intervals" in visible(html)) == (replicas > 2)
    wide = 0
    for row in drawn:
        values = [
            medians[run]
            for run, window in done.runs.select("run", "window").iter_rows()
            if window == row["x"]
        ]
        assert len(values) == row["replicas"] == replicas
        mean = statistics.fmean(values)
        half = STUDENT[replicas] * statistics.stdev(values) / math.sqrt(replicas)
        assert row["mean"] == pytest.approx(mean, rel=1e-4)
        wide += half > 0
        if replicas == 2:
            # Of two values it would fill the chart: it is said only.
            assert (row["low"], row["high"]) == (None, None)
            assert text.duration(half) in row["said"]
            continue
        assert row["low"] == pytest.approx(max(mean - half, 0), rel=1e-3)
        if mean + half < 1.5 * mean:
            assert row["high"] == pytest.approx(mean + half, rel=1e-3)
    assert wide


def test_the_table_of_points_says_the_means_with_their_intervals(tmp_path):
    done = swept(tmp_path / "s", WINDOW)
    medians = median_fcts(done)
    words = visible(page(done)).replace("\N{NO-BREAK SPACE}", " ")
    for window in (1, 4, 16):
        values = [medians[run] for run in done.runs.filter(pl.col("window") == window)["run"]]
        mean = text.duration(statistics.fmean(values)).replace("\N{NO-BREAK SPACE}", " ")
        assert re.search(rf"\b{window} 3 (\S+ ± \S+ ){{2}}\S+ \S+ ± \S+ \S+ {re.escape(mean)} ± ", words)


def test_what_was_swept_is_said(tmp_path):
    done = swept(tmp_path / "s", SIZE, TCP, name="My sweep")
    words = visible(page(done))
    for phrase in (
        "My sweep",
        "Axis: size 5KB, 10KB, 100KB",
        "Axis: who ndp, tcp",
        "18 of 18",
        "6 points with 3 replicas each",
        "single-switch",
        "Transport ndp / tcp",
        "Queue ndp / drop-tail",
        "sizes fixed 5KB / 10KB / 100KB",
        done.engine,
        "Metrics over size, by who",
        "All flows of all runs are complete.",
        "p99 is then close to the maximum",
    ):
        assert phrase in words
    assert "missing" not in words
    # Definitions come from the runs, and those of the report itself are there.
    assert "Flow completion time: start to the last byte at the receiver." in words
    assert "Student's t" in re.sub("&#39;", "'", words)
    for key in done.runs["run"]:
        assert f"runs/{key}" in words


def test_metrics_that_never_vary_from_nothing_are_a_sentence(tmp_path):
    done = swept(tmp_path / "s", TCP, HOSTS)
    html = page(done)
    zero = re.split(", | or ", re.search(r"No run had ([^.]*)\.", visible(html))[1])
    assert "marks" in zero
    assert "No packet was lost to faults in any run." in visible(html)
    zero.append("lost to faults")
    counters = [name for name in metrics.COUNTED if done.metrics[name].max()]
    assert len(zero) + len(counters) == len(metrics.COUNTED)
    # What is not zero is in one chart.
    assert {row["kind"] for row in rows(html, "packets")} == {
        kind
        for kind, metric in metrics.PACKETS.items()
        if metric.column.removesuffix("_per_packet") in counters
    }
    assert len(counters) > 1


def test_the_file_is_whole_and_loads_nothing(tmp_path):
    markup = page(swept(tmp_path / "s", WINDOW))
    assert not re.search(r"https?:", markup)
    assert not re.search(
        r"""(?i)(src|srcset|action|poster)\s*=|@import|\burl\(|<(iframe|object|embed|base)\b""", markup
    )
    sections = {f"#{name}" for name in re.findall(r"""<section id="([^"]*)""", markup)}
    assert set(re.findall(r"""href="([^"]*)""", markup)) == {"data:,", *sections}
    assert "default-src 'none'" in markup


def test_charts_are_valid_vega_lite(tmp_path):
    for axes in ((WINDOW,), (TCP, HOSTS), (SIZE, WINDOW, HOSTS)):
        drawn = specs(page(swept(tmp_path / axes[0].name, *axes, replicas=1)))
        # They differ in their scales only.
        for key in ("fct-p50-ps", "goodput-bps"):
            alt.LayerChart.from_dict({**drawn[key], "datasets": {}})


def test_missing_runs_have_a_banner_and_points_keep_the_order_of_the_plan(tmp_path):
    done = swept(tmp_path / "s", WINDOW, HOSTS)
    gone = done.runs.filter((pl.col("window") == 1) & (pl.col("replica") == 0))["run"]
    for key in gone:
        shutil.rmtree(done.path(key))
    html = page(done)
    assert "2 of 18 runs are not done" in visible(html)
    assert "Means rest on the replicas that are there." in visible(html)
    assert [(row["x"], row["line"], row["replicas"]) for row in rows(html)] == [
        (1, "4", 2), (1, "8", 2), (4, "4", 3), (4, "8", 3), (16, "4", 3), (16, "8", 3),
    ]  # fmt: skip
    for key in done.runs.filter((pl.col("window") == 4) & (pl.col("hosts") == 8))["run"]:
        shutil.rmtree(done.path(key))
    html = page(done)
    assert "5 of 18 runs are not done" in visible(html)
    assert "1 of 6 points have no run at all" in visible(html)
    assert len(rows(html)) == 5


def test_a_sweep_without_a_run_has_no_report(tmp_path, flowyard):
    done = swept(tmp_path / "s", replicas=1)
    shutil.rmtree(done.path(done.runs["run"][0]))
    with pytest.raises(UserError, match="no run is done yet"):
        sweep_page.write(done.folder, tmp_path / "report.html")
    asked = flowyard("report", done.folder)
    assert asked.returncode == 2
    assert "no run is done yet" in asked.stderr
    assert not (done.folder / "report.html").exists()


def test_the_command_writes_into_the_folder_of_the_sweep(tmp_path, flowyard):
    done = swept(tmp_path / "s", replicas=1)
    asked = flowyard("report", done.folder)
    assert (asked.returncode, asked.stderr) == (0, "")
    assert "<title>swept" in (done.folder / "report.html").read_text(encoding="utf-8")


def squares(n, replica):
    return pl.DataFrame({"square": [n * n + replica]})


def test_a_model_has_no_report(tmp_path):
    done = sweeps.sweep(ModelPlan(squares, {"n": [1, 2]}), tmp_path / "s", workers=1)
    with pytest.raises(UserError, match="not of scenarios"):
        page(done)


def test_a_broken_run_is_named(tmp_path):
    done = swept(tmp_path / "s", replicas=1)
    key = done.runs["run"][0]
    (done.path(key) / "flows.parquet").write_bytes(b"nothing")
    with pytest.raises(UserError, match=key):
        page(done)


def test_runs_that_did_not_end_well_have_banners(tmp_path):
    done = swept(tmp_path / "s", WINDOW, replicas=5)
    keys = done.runs["run"].to_list()
    for key in keys[:4]:
        change(done, key, lambda summary: summary.update(status="limit"))
    change(done, keys[5], lambda summary: summary.update(status="stalled"))
    change(done, keys[6], lambda summary: summary.update(violations=["port 3 lost <a> byte"]))
    html = page(done)
    words = visible(html)
    assert "Limit: not the whole story 4 runs of 15" in words
    assert f"window = 1, replica 0 (runs/{keys[0]})" in words
    assert "; and 1 more" in words
    assert "Stalled: not the whole story 1 run of 15" in words
    assert (
        f"conservation in 1 run: window = 1, replica 2 (runs/{keys[6]}). The first: port 3 lost &lt;a&gt; byte"
        in words
    )
    # The gravest come first.
    assert re.findall(r'class="notice (\w+)"', html)[:3] == ["error", "error", "warning"]


def test_unfinished_flows_are_told_and_their_share_is_drawn(tmp_path):
    done = swept(
        tmp_path / "s",
        fy.Axis("until", {"run.until": ["20us", "1s"]}),
        changes={"traffic.few.arrivals": "at-once"},
    )
    share = done.means["completed_fraction"].to_list()
    assert 0 < share[0] < share[1] == 1
    html = page(done)
    assert "Unfinished flows In 3 runs of 6" in visible(html)
    assert [row["mean"] for row in rows(html, "completed-fraction")] == pytest.approx(share, rel=1e-4)
    encoding = specs(html)["completed-fraction"]["layer"][-1]["encoding"]
    assert encoding["y"]["scale"]["domain"][1] == 1
    assert max(row["high"] for row in rows(html, "completed-fraction")) <= 1


def test_one_replica_has_no_interval_and_says_so(tmp_path):
    done = swept(tmp_path / "s", WINDOW, replicas=1)
    html = page(done)
    assert "One replica" in visible(html)
    assert "there is no confidence interval" in visible(html)
    assert {(row["low"], row["high"]) for row in rows(html)} == {(None, None)}
    assert "±" not in visible(html).split("Terms")[0].split("Metrics")[1]
    assert "1 replica each" in visible(html)


def test_without_axes_there_is_a_table(tmp_path):
    done = swept(tmp_path / "s", replicas=5)
    html = page(done)
    medians = list(median_fcts(done).values())
    words = visible(html).replace("\N{NO-BREAK SPACE}", " ")
    shown = [
        text.duration(value).replace("\N{NO-BREAK SPACE}", " ") for value in (min(medians), max(medians))
    ]
    half = text.duration(STUDENT[5] * statistics.stdev(medians) / math.sqrt(5)).replace(
        "\N{NO-BREAK SPACE}", " "
    )
    mean = text.duration(statistics.fmean(medians)).replace("\N{NO-BREAK SPACE}", " ")
    assert f"FCT p50 {mean} ± {half} {shown[0]} {shown[1]}" in words
    assert "least of a replica" in words
    assert 'id="specs"' not in html
    assert "Points" not in words.split("Terms")[0]


def test_groups_of_flows_are_in_a_table_with_and_without_axes(tmp_path, mixed):
    for axes in ((WINDOW,), ()):
        done = mixed(*axes)
        words = visible(page(done)).replace("\N{NO-BREAK SPACE}", " ")
        assert "By flow size and traffic entry" in words
        for row in done.by_size.iter_rows(named=True):
            flows, half = text.ratio(row["flows"]), text.ratio(row["slowdown_p50_ci95"])
            mean = text.ratio(row["slowdown_p50"])
            assert f"all {row['size_group']} {flows} {mean} ± {half} " in words
        for row in done.by_entry.iter_rows(named=True):
            assert f"{row['tag']} {row['size_group']} {text.ratio(row['flows'])} " in words
    words = visible(page(swept(tmp_path / "one")))
    assert "By flow size" not in words


def test_an_axis_of_one_value_is_a_fact_not_a_chart(tmp_path):
    done = swept(tmp_path / "s", fy.Axis("seed", {"run.seed": [7]}))
    html = page(done)
    assert "Axis: seed 7" in visible(html)
    assert 'id="specs"' not in html


def test_quantities_stand_on_their_scale_and_names_in_the_order_of_the_plan(tmp_path):
    done = swept(tmp_path / "s", SIZE, replicas=2)
    html = page(done)
    # Sizes have a scale, and are joined; names are not.
    assert [(row["x"], row["said_x"]) for row in rows(html)] == [
        (5000, "5KB"),
        (10**4, "10KB"),
        (10**5, "100KB"),
    ]
    x = specs(html)["fct-p50-ps"]["layer"][-1]["encoding"]["x"]
    assert (x["scale"]["domain"], x["scale"]["type"], x["type"]) == ([5000, 10**5], "log", "quantitative")
    assert (x["axis"]["formatType"], x["axis"]["values"]) == ("bytes", [5000, 10**4, 10**5])
    assert [layer["mark"]["type"] for layer in specs(html)["fct-p50-ps"]["layer"]] == [
        "area",
        "line",
        "point",
    ]
    plan = fy.Plan(SCENARIO, [TCP], replicas=3, metrics=["fct_p50_ps"])
    html = page(fy.sweep(plan, tmp_path / "names"))
    assert [row["x"] for row in rows(html)] == ["ndp", "tcp"]
    assert [layer["mark"]["type"] for layer in specs(html)["fct-p50-ps"]["layer"]] == ["rule", "point"]


def test_three_axes_are_x_colour_and_a_choice(tmp_path):
    done = swept(tmp_path / "s", SIZE, WINDOW, HOSTS, replicas=2)
    html = page(done)
    assert "Metrics over window, by size" in visible(html)
    assert re.search(
        r'hosts <select data-parameter="pick0"[^>]*>\s*<option selected>4</option><option>8</option>', html
    )
    for spec in specs(html).values():
        assert {"name": "pick0", "value": "4"} in spec["params"]
        for layer in spec["layer"]:
            assert layer["transform"][0]["filter"].startswith("datum.pick0 === pick0")
    encoding = specs(html)["fct-p50-ps"]["layer"][-1]["encoding"]
    assert encoding["color"]["scale"]["domain"] == ["5KB", "10KB", "100KB"]
    assert {(row["x"], row["line"], row["pick0"]) for row in rows(html)} == {
        (window, size, hosts)
        for window in (1, 4, 16)
        for size in ("5KB", "10KB", "100KB")
        for hosts in ("4", "8")
    }
    titles = [part["title"] for part in encoding["tooltip"]]
    assert titles == ["window", "size", "hosts", "FCT p50", "replicas", "completed"]


@pytest.mark.parametrize(
    ("axes", "x", "colour", "picks"),
    [
        ({"a": ["p", "q"], "b": [1, 2, 3]}, "b", "a", []),
        ({"a": ["p", "q"], "b": [1, 2]}, "b", "a", []),
        ({"a": [True, False], "b": [0.5, 1, 2], "c": [1, 2, 3]}, "b", "a", ["c"]),
        ({"a": [1], "b": ["p", "q"]}, "b", None, []),
        ({"a": [1, 2, 3], "b": list(range(25)), "c": ["p", "q"]}, "a", "c", ["b"]),
        ({"a": [1, "auto", 3], "b": ["p", "q"]}, "a", "b", []),
    ],
)  # fmt: skip
def test_which_axis_is_shown_how(axes, x, colour, picks):
    plan = lines.layout(axes)
    assert plan
    assert (plan.x, plan.colour, plan.picks) == (x, colour, picks)


def test_nothing_that_varies_has_no_layout():
    assert lines.layout({}) is None
    assert lines.layout({"a": [1]}) is None


METRIC = metrics.Metric("m", "metric", "fct", "ratio", text.ratio)


def chart(means, halves, x=(1, 2, 3), metric=METRIC):
    table = pl.DataFrame(
        {
            "x": list(x),
            "replicas": 3,
            "completed_fraction": 1.0,
            metric.column: means,
            f"{metric.column}_ci95": halves,
        },
        schema_overrides={metric.column: pl.Float64, f"{metric.column}_ci95": pl.Float64},
    )
    plan = lines.layout({"x": list(x)})
    assert plan
    return lines.line(table, plan, metric)


def scales(spec):
    encoding = spec["layer"][-1]["encoding"]
    return encoding["x"]["scale"], encoding["y"]["scale"]


@pytest.mark.parametrize(
    ("values", "logarithmic"),
    [([1, 2, 31], True), ([1, 2, 29], False), ([0, 2, 200], False), ([-1, 2, 200], False)],
)
def test_axes_are_logarithmic_from_a_ratio_of_30_on(values, logarithmic):
    assert (scales(chart(values, [0, 0, 0]))[1].get("type") == "log") == logarithmic
    assert (scales(chart([1, 1, 1], [0, 0, 0], values))[0]["type"] == "log") == logarithmic


def test_an_interval_may_not_squeeze_the_means():
    # Half of 100 would take the chart from 1 to 3 down to a hundredth of its height.
    spec = chart([1, 2, 3], [0.5, 100, None])
    low_to_high = [(row["low"], row["high"]) for row in spec["datasets"]["rows"]]
    assert low_to_high == [(0.5, 1.5), (0, 6), (None, None)]
    assert scales(spec)[1]["domain"] == [0, 6]
    # The tooltip has it whole.
    assert "± 100" in spec["datasets"]["rows"][1]["said"]
    low, high = (end for end in scales(chart([1, 10, 100], [0.2, 20, 1000]))[1]["domain"])
    assert 0 < low < 1
    assert 100 < high < 300


def test_shares_end_at_one():
    share = metrics.Metric("s", "share", "completed", "share", text.percent, most=1.0)
    spec = chart([0.98, 0.99, 1.0], [0.01, 0.05, 0.1], metric=share)
    assert max(row["high"] for row in spec["datasets"]["rows"]) == 1
    low, high = scales(spec)[1]["domain"]
    assert 0.9 < low < 0.98
    assert high == 1
    assert scales(chart([0.001, 0.5, 1.0], [0, 0, 0], metric=share))[1]["domain"] == [0, 1]


def test_a_metric_without_values_has_no_chart():
    assert chart([None, None, None], [None, None, None]) is None
    assert len(chart([1, None, 3], [None, None, None])["datasets"]["rows"]) == 2


def test_what_is_null_everywhere_says_why(tmp_path):
    done = swept(tmp_path / "s", WINDOW, changes={"run.until": "100ns"}, replicas=2)
    assert done.means["fct_p50_ps"].null_count() == 3
    html = page(done)
    words = visible(html)
    assert "Nothing to show No run has a value." in words
    assert f"Of the first, runs/{done.runs['run'][0]}: The run ended at" in words
    assert "before any flow was complete" in words
    assert "Raise run.until." in words
    assert "fct-p50-ps" not in specs(html)
    assert "No run has a value." in visible(page(swept(tmp_path / "one", changes={"run.until": "100ns"})))


# Flows of three groups of sizes, and of two entries; one of more than 10 MB is enough.
SIZES = [10_000] * 8 + [60_000] * 4 + [200_000] * 4 + [1_000_000] * 2 + [11_000_000]
MIXED = {
    "traffic": [
        {
            "name": name,
            "arrivals": {"poisson": {"load": 0.3}},
            "matrix": "uniform",
            "sizes": sizes,
            "flows": flows,
        }
        for name, sizes, flows in (("short", {"fixed": "20KB"}, 20), ("mix", {"list": SIZES}, len(SIZES)))
    ]
}


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """Sweeps of such flows over some axes; each is run when it is first asked for."""
    known = {}

    def done(*axes):
        names = tuple(axis.name for axis in axes)
        if names not in known:
            changes = {"run.until": "1s", **MIXED}
            known[names] = swept(tmp_path_factory.mktemp("mixed") / "s", *axes, replicas=3, changes=changes)
        return known[names]

    return done


def test_groups_of_flows_are_chosen_over_the_charts(mixed):
    done = mixed(HOSTS, WINDOW)
    html = page(done)
    offered = re.search(r'(?s)<select data-parameter="group".*?</select>', html)[0]
    groups = re.findall(r"<option>(.*?)</option>", offered)
    sizes = ["up to 100 KB", "100 KB to 10 MB", "above 10 MB"]
    assert groups == [
        *("all flows", *sizes),
        *("entry mix", *(f"entry mix, {size}" for size in sizes)),
        "entry short",
    ]
    for key, column in (("slowdown-p99", "slowdown_p99"), ("fct-mean-ps", "fct_mean_ps")):
        drawn = rows(html, key)
        assert {row["group"] for row in drawn} == set(groups)
        tables = {"all flows": done.means, "entry short": done.by_entry.filter(tag="short", size_group="all")}
        tables |= {size: done.by_size.filter(size_group=size) for size in sizes}
        for group, table in tables.items():
            said = {(row["x"], row["line"]): row["mean"] for row in drawn if row["group"] == group}
            assert len(said) == 6
            for row in table.iter_rows(named=True):
                assert said[row["window"], str(row["hosts"])] == pytest.approx(row[column], rel=1e-4)
        for layer in specs(html)[key]["layer"]:
            assert layer["transform"] == [{"filter": "datum.group === group"}]
    # Goodput is of all flows.
    assert "group" not in rows(html, "goodput-bps")[0]


def test_slowdown_over_size_has_a_panel_a_place(tmp_path, mixed):
    done = mixed(HOSTS, WINDOW)
    html = page(done)
    panels = {key: spec for key, spec in specs(html).items() if key.startswith("size-")}
    assert re.findall(r"<h3>(window [^<]*)</h3>", html) == ["window 1", "window 4", "window 16"]
    assert len(panels) == 3
    for window, spec in zip((1, 4, 16), panels.values(), strict=True):
        alt.LayerChart.from_dict({**spec, "datasets": {}})
        assert {"name": "percentile", "value": "p99"} in spec["params"]
        table = done.over_size.filter(window=window, replicas=3)
        assert len(table) > 2 * 5
        drawn = {(row["line"], row["size"]): row for row in spec["datasets"]["rows"]}
        # Bands stay above the axis.
        assert min(row[f"{name}_low"] or 1 for row in drawn.values() for name in over_size.NAMES) >= 1
        for row in table.iter_rows(named=True):
            shown = drawn[str(row["hosts"]), row["size_up_to_bytes"]]
            for name in ("p50", "p95", "p99", "p99_9"):
                assert shown[name] == pytest.approx(row[f"slowdown_{name}"], rel=1e-4)
    # Flows of one size have no such curve.
    assert "Slowdown by flow size" not in visible(page(swept(tmp_path / "one", WINDOW)))


def test_another_axis_may_lie_along_x(tmp_path):
    html = page(swept(tmp_path / "s", SIZE, WINDOW, TCP, replicas=2))
    others = json.loads(re.search(r'id="layouts">(.*?)</script>', html)[1])
    assert set(others) == set(specs(html))
    all_three = [specs(html)["fct-p50-ps"], *others["fct-p50-ps"]]
    fields = {name: value for row in rows(html) for name, value in row.items()}
    titles = []
    for spec in all_three:
        encoding = spec["layer"][-1]["encoding"]
        titles.append((encoding["x"]["title"], encoding["x"]["field"], encoding["color"]["field"]))
        used = {encoding[channel]["field"] for channel in ("x", "y", "color")}
        assert used <= fields.keys()
        alt.LayerChart.from_dict({**spec, "datasets": {}})
    assert titles == [("window", "x", "line"), ("size", "at_line", "said_x"), ("who", "pick0", "line")]
    assert {(row["line"], row["at_line"]) for row in rows(html)} == {
        ("5KB", 5000),
        ("10KB", 10**4),
        ("100KB", 10**5),
    }
    # Legends say of what; the selects are those of the layout that is shown.
    assert re.findall(r'legend-title">(.*?)<', html)[:3] == ["size", "window", "size"]
    assert re.findall(r'<label data-layout="(\d)"( hidden)?>(\w+)', html) == [
        ("0", "", "who"), ("1", " hidden", "who"), ("2", " hidden", "window"),
    ]  # fmt: skip


def test_flows_that_senders_gave_up_are_not_unfinished(tmp_path):
    scenario = {
        "topology": {"single-switch": {"hosts": 5, "rate": "1Gbps", "delay": "20us"}},
        "transport": "pdq",
        "traffic": [
            {
                "name": "due",
                "arrivals": "at-once",
                "matrix": {"incast": {"senders": 4}},
                "sizes": {"fixed": "100KB"},
                "deadline": "2ms",
            }
        ],
    }
    done = fy.sweep(fy.Plan(scenario, replicas=2), tmp_path / "s")
    counters = [summary["counters"] for summary in done.summaries().values()]
    given_up = sum(own["abandoned_flows"] for own in counters)
    assert given_up
    assert not any(own["unfinished_flows"] for own in counters)
    seen = visible(page(done))
    assert f"Abandoned flows In 2 runs of 2 senders gave up {given_up:,} flows." in seen
    assert "Unfinished flows In" not in seen


def test_a_plan_may_choose_what_is_shown(tmp_path):
    plan = fy.Plan(SCENARIO, [WINDOW], replicas=2, metrics=["marks", "slowdown_p99_9", "end_ps"])
    html = page(fy.sweep(plan, tmp_path / "s"))
    assert list(specs(html)) == ["end-ps", "marks", "slowdown-p99-9"]
    heads = re.findall(r"<h3>(?:<dfn[^>]*>)?([^<]*)", html)
    assert heads == ["Marks", "Slowdown p99.9", "Simulated time"]
    assert set(tables.METRICS) == set(metrics.ALL_METRICS)


def test_what_was_found_stands_before_what_was_run(mixed):
    html = page(mixed(WINDOW))
    assert re.findall(r'<section id="(\w+)"', html) == ["metrics", "sizes", "points", "what", "runs", "words"]
    assert re.findall(r"<h3>(?:<dfn[^>]*>)?([^<]*)", html)[0] == "Slowdown p99"


@pytest.mark.parametrize(
    ("values", "numbers", "format_type", "logarithmic"),
    [
        (["1ms", "10ms", "200ms"], [10**9, 10**10, 2 * 10**11], "duration", True),
        (["0.5us", "1us"], [500_000, 10**6], "duration", False),
        (["10Gbps", "100Gbps", "400Gbps"], [10**10, 10**11, 4 * 10**11], "rate", True),
        (["64KiB", "1MB"], [65536, 10**6], "bytes", True),
        ([1, 2.5], [1, 2.5], "label", False),
        ([1, 40], [1, 40], "label", True),
        ([0, 40], [0, 40], "label", False),
        (["0s", "1s"], [0, 10**12], "duration", False),
        (["1ms", "1000us"], None, "label", False),
        (["1ms", "10KB"], None, "label", False),
        (["1ms", "never"], None, "label", False),
        ([True, False], None, "label", False),
    ],
)
def test_quantities_are_read_as_the_engine_does(values, numbers, format_type, logarithmic):
    found = axis_types.axis_type(values)
    assert (found.numbers, found.format_type, found.logarithmic) == (numbers, format_type, logarithmic)


def test_names_with_html_in_them_are_text(tmp_path):
    evil = "</script><img src=x onerror=alert(1)>"
    plan = fy.Plan(
        SCENARIO,
        [
            fy.Axis(evil, WINDOW.set),
            fy.Axis("b", {"run.seed": [1, 2]}, labels=[evil, "<b>"]),
            fy.Axis("<i>c['.\\", HOSTS.set),
        ],
        name=evil,
    )
    html = page(fy.sweep(plan, tmp_path / "s"))
    assert "<img" not in html
    assert "<b>" not in html
    assert "<i>" not in html
    assert html.count("</script>") == 4
    encoding = specs(html)["fct-p50-ps"]["layer"][-1]["encoding"]
    assert encoding["x"]["title"] == evil
    assert encoding["color"]["scale"]["domain"] == [evil, "<b>"]
    # Fields have names of their own, which no dot or bracket takes apart.
    assert {encoding[channel]["field"] for channel in ("x", "y", "color")} == {"x", "mean", "line"}


def test_long_tables_are_cut_and_say_so(tmp_path, monkeypatch):
    monkeypatch.setattr(sweep_page, "MOST_ROWS", 4)
    words = visible(page(swept(tmp_path / "s", WINDOW, HOSTS, replicas=2)))
    assert "The first 4 of 6 points." in words
    assert "The first 4 of 12 runs." in words


def test_scenarios_are_merged_field_by_field():
    merged = facts.merged
    assert merged([{"a": 1, "b": {"c": "x"}}, {"a": 2, "b": {"c": "x"}}]) == {"a": "1 / 2", "b": {"c": "x"}}
    assert merged([{"ndp": {"w": 1}}, {"tcp": {}}, {"ndp": {"w": 2}}]) == "ndp / tcp"
    assert merged([{"a": 1}, {"a": 1, "b": 2}]) == {"a": 1, "b": "none / 2"}
    assert merged([[{"n": 1}], [{"n": 2}]]) == [{"n": "1 / 2"}]
    assert merged([{"n": i} for i in range(20)])["n"].endswith(" / 11 … 20 in all")
    assert merged([True, 1]) == "true / 1"


def test_the_same_sweep_gives_the_same_bytes(tmp_path):
    done = swept(tmp_path / "s", WINDOW, HOSTS, replicas=2)
    assert page(done) == page(done)


def browse(path, tmp_path, width=1400):
    """The page as a browser has it after its scripts; nothing may be said on the console."""
    flags = (
        "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    )
    flags += (
        " --disable-component-update --disable-sync --virtual-time-budget=20000 --enable-logging=stderr --v=0"
    )
    command = [str(BROWSER), *flags.split(), f"--user-data-dir={tmp_path / 'profile'}"]
    command += [f"--window-size={width},3000", "--dump-dom", path.as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=True)
    assert [line for line in shown.stderr.splitlines() if "CONSOLE" in line] == []
    return shown.stdout


@pytest.mark.skipif(BROWSER is None, reason="no chromium on this machine")
@pytest.mark.parametrize("width", [1400, 500])
def test_the_page_draws_its_charts_in_a_browser(tmp_path, width, real_bundle):
    assert real_bundle
    several = swept(tmp_path / "several", SIZE, WINDOW, replicas=2)
    # Some points with an interval, some without.
    shutil.rmtree(several.path(several.runs["run"][0]))
    for folder in (several.folder, swept(tmp_path / "names", TCP, replicas=1).folder):
        charts = len(specs(page(fy.open(folder))))
        assert charts >= 6
        shown = browse(folder / "report.html", tmp_path, width)
        assert re.search(rf'<html[^>]* data-charts="{charts}"', shown)
        assert shown.count('class="marks"') == charts


@pytest.mark.skipif(BROWSER is None, reason="no chromium on this machine")
def test_another_choice_shows_other_points(tmp_path, real_bundle):
    assert real_bundle
    html = page(swept(tmp_path / "s", HOSTS, WINDOW, SIZE, replicas=1))
    choose = """<script type="module">
        const drawn = () => document.documentElement.dataset.charts;
        while (!drawn()) await new Promise((resolve) => setTimeout(resolve, 50));
        const choice = document.querySelector("select[data-parameter=pick0]");
        choice.value = "CHOSEN";
        choice.dispatchEvent(new Event("change"));
    </script>"""
    for size in ("5KB", "100KB"):
        path = tmp_path / "chosen.html"
        path.write_text(html + choose.replace("CHOSEN", size), encoding="utf-8")
        chart = re.search(r'(?s)id="chart-fct-p50-ps".*?</figure>', browse(path, tmp_path))[0]
        told = html_unescape(" ".join(re.findall(r'aria-label="([^"]*)"', chart)))
        mine = {row["said"] for row in rows(html) if row["pick0"] == size}
        others = {row["said"] for row in rows(html) if row["pick0"] != size} - mine
        assert {said for said in mine | others if said in told} == mine


@pytest.mark.skipif(BROWSER is None, reason="no chromium on this machine")
def test_choices_of_groups_percentiles_and_of_x_are_drawn(tmp_path, mixed, real_bundle):
    assert real_bundle
    html = page(mixed(HOSTS, WINDOW))
    choose = """<script type="module">
        const root = document.documentElement.dataset;
        const choose = (select, value) => {
            select.value = value;
            select.dispatchEvent(new Event("change"));
        };
        while (!root.charts) await new Promise((resolve) => setTimeout(resolve, 50));
        choose(document.querySelector("select[data-parameter=group]"), "entry mix, above 10 MB");
        choose(document.querySelector("select[data-parameter=percentile]"), "p50");
        choose(document.querySelector("select[data-layouts]"), "1");
        while (!root.layoutDrawn) await new Promise((resolve) => setTimeout(resolve, 50));
    </script>"""
    path = tmp_path / "chosen.html"
    path.write_text(html + choose, encoding="utf-8")
    shown = browse(path, tmp_path)
    chart = re.search(r'(?s)id="chart-slowdown-p99".*?</figure>', shown)[0]
    told = html_unescape(" ".join(re.findall(r'aria-label="([^"]*)"', chart)))
    own = [row for row in rows(html, "slowdown-p99") if row["group"] == "entry mix, above 10 MB"]
    assert len(own) == 6
    for row in own:
        assert f"hosts: {row['line']}; " in told
        assert f"window: {row['said_x']}; slowdown p99: {row['said']}; " in told
    assert ">window<" not in chart
    panel = re.search(r'(?s)id="chart-size-0".*?</figure>', shown)[0]
    told = html_unescape(" ".join(re.findall(r'aria-label="([^"]*)"', panel)))
    for row in specs(html)["size-0"]["datasets"]["rows"]:
        assert f"slowdown: {row['p50_said']}" in told
