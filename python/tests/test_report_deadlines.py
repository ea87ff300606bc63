"""Deadlines in reports, summaries and sweeps: shown is what flows.parquet says, and nothing if there are none."""

import json
import re

import altair as alt
import polars as pl
import pytest
from test_report import page, visible, write_run

import flowyard as fy
from flowyard import analysis, report, text
from flowyard.report import charts, javascript, reasons
from flowyard.report.run import figures, labelled, tables
from flowyard.report.run.comparison import comparison_table
from flowyard.report.run.summary import summary_table
from flowyard.report.sweep import page as sweep_page

SCENARIO = {
    "topology": {"single-switch": {"hosts": 6, "rate": "1Gbps"}},
    "transport": {"tcp": {"preset": "datacentre"}},
    "traffic": [
        {
            "name": name,
            "arrivals": {"poisson": {"load": 0.45}},
            "matrix": {"incast": {"senders": 4, "receiver": 0}},
            "sizes": {"fixed": size},
            "flows": 60,
            **deadline,
        }
        for name, size, deadline in (
            ("answers", "30KB", {"deadline": "2ms"}),
            ("urgent", "20KB", {"deadlines": {"uniform": {"min": "100us", "max": "1ms"}}}),
            ("rest", "10KB", {}),
        )
    ],
    "run": {"measure": "all"},
}


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(javascript, "bundle", lambda: "/* bundle */")


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """Two runs with deadlines, one cut off."""
    folder = tmp_path_factory.mktemp("runs")
    whole, cut = fy.run(SCENARIO), fy.run(SCENARIO, {"run.until": "10ms"})
    return [whole.save(folder / "whole"), cut.save(folder / "cut")]


def with_deadlines(folder, deadline_ps, abandoned=None, **options):
    """A run of flows with these deadlines, of which some may be given up: those must not be complete."""
    run = write_run(folder, flows=len(deadline_ps), **options)
    flows = pl.read_parquet(run / "flows.parquet")
    due = pl.Series(deadline_ps, dtype=pl.UInt64)
    met = (pl.col("completed") & (pl.col("fct_ps") <= due)).fill_null(False)
    flows = flows.with_columns(deadline_ps=due).with_columns(
        met_deadline=pl.when(due.is_not_null()).then(met)
    )
    if abandoned is not None:
        flows = flows.with_columns(abandoned=pl.Series(abandoned))
    flows.write_parquet(run / "flows.parquet")
    return run


def section(html, name="Deadlines"):
    """The text of a section of a page."""
    found = re.search(rf'(?s)<section id="{name.lower()}">.*?</section>', html)
    return visible(found[0]).replace("\N{NO-BREAK SPACE}", " ") if found else None


def test_the_table_says_what_the_flows_say(two):
    read = labelled.read(two)
    groups = {group.name: group.rows for group in tables.deadlines(read)}
    assert list(groups) == ["all flows", "answers", "urgent"]
    for name, rows in groups.items():
        assert [row.run for row in rows] == [0, 1]
        for row in rows:
            flows = pl.read_parquet(two[row.run] / "flows.parquet")
            ahead = analysis.served_ahead(flows)
            own = flows.with_columns(ahead=ahead, tag=pl.col("tag").cast(pl.String))
            own = own.filter(
                pl.col("deadline_ps").is_not_null() & ((name == "all flows") | (pl.col("tag") == name))
            )
            late = own.filter(pl.col("fct_ps") > pl.col("deadline_ps"))
            excess = late["fct_ps"] - late["deadline_ps"]
            shown = [cell.value for cell in row.cells]
            assert shown == [
                own.height,
                own["met_deadline"].mean(),
                late.height,
                0,
                own["completed"].not_().sum(),
                excess.quantile(0.5, "linear"),
                excess.quantile(0.99, "linear"),
                (own["ahead"] > 0).sum(),
            ]
    # Else the comparison would be of zeros.
    whole, cut = (row.cells for row in groups["all flows"])
    assert 0 < whole[1].value < 1
    assert whole[7].value > 0
    assert cut[4].value > 0


def test_the_page_has_a_section(two):
    html = page(two)
    words = section(html)
    assert "deadlines met" in words
    assert "all flows" in words
    cells = tables.deadlines(labelled.read(two))[0].rows[0].cells
    assert " ".join(cell.text.replace("\N{NO-BREAK SPACE}", " ") for cell in cells) in words
    assert '<a href="#deadlines">' in html
    spec = json.loads(re.search(r'id="specs">(.*?)</script>', html)[1])["against-deadline"]
    alt.LayerChart.from_dict(spec)
    heads = re.search(r'(?s)<section id="deadlines">.*?</thead>', html)[0]
    assert all("<dfn" in head for head in re.findall(r"<th .*?</th>", heads))
    # The card, and a single run.
    assert "deadlines met" in section(page(two[:1]))
    assert "deadlines met" in visible(html[: html.index('<section id="what">')])


def test_the_curve_at_one_is_the_application_throughput(two):
    read = labelled.read(two)
    rows = charts.against_deadline_distribution(read)["datasets"]["rows"]
    for run in read:
        within = [row["share"] for row in rows if row["run"] == run.label and row["value"] <= 1]
        assert max(within) == pytest.approx(analysis.application_throughput(run.measured), rel=1e-4)


def test_runs_without_deadlines_show_nothing_and_say_why(tmp_path, two):
    none = write_run(tmp_path / "none")
    html = page([none])
    assert section(html) is None
    assert "#deadlines" not in html
    assert "against-deadline" not in html
    assert "deadlines met" not in visible(html)
    assert "inversions" not in visible(html)
    assert "Deadlines No traffic entry sets one" in section(html, "absent")
    # Beside one that has them it has no row, and its name under the chart.
    html = page([none, two[0]])
    assert {row.run for group in tables.deadlines(labelled.read([none, two[0]])) for row in group.rows} == {1}
    assert "none: No traffic entry sets one" in section(html)


def test_deadlines_of_which_none_was_reached_say_why(tmp_path):
    run = with_deadlines(tmp_path / "run", [10**7] * 4, finished=0.0, status="limit", until="1ms")
    (figure,) = figures.deadlines(labelled.read([run]))
    assert figure.spec is None
    assert "before any flow was complete" in figure.missing[0]
    assert f"0% 0 0 4 {text.NONE} {text.NONE} 0" in section(page([run]))
    some = with_deadlines(tmp_path / "some", [None, None, 10**7, 10**7], finished=0.5, status="limit")
    assert reasons.none_against_deadline(labelled.read([some])[0]) == "No flow with a deadline is complete."
    warm = with_deadlines(tmp_path / "warm", [10**9] + [None] * 9, window=(5000, 10**6))
    assert reasons.none_against_deadline(labelled.read([warm])[0]) == "No flow that counts has a deadline."
    assert section(page([warm])) is None


def test_abandoned_flows_are_told_apart_from_unfinished_ones(tmp_path):
    def change(summary):
        summary["counters"]["unfinished_flows"] = 2

    # Of ten six are complete, two were given up, two are open.
    gone = [False] * 6 + [True, True, False, False]
    run = with_deadlines(
        tmp_path / "run", [10**12] * 10, gone, finished=0.6, status="limit", until="1ms", change=change
    )
    html = page([run])
    assert "all flows 10 60.0% 0 2 2" in section(html)
    words = visible(html)
    assert "Abandoned flows 2 of 10 flows were given up by their senders" in words
    assert "2 of 10 flows are unfinished" in words
    flows = json.loads(re.search(r'id="specs">(.*?)</script>', html)[1])["timeline"]["datasets"]["flows"]
    states = [flow["state"].partition(":")[0] for flow in flows]
    assert [states.count(state) for state in ("completed", "abandoned", "unfinished")] == [6, 2, 2]


def test_a_run_of_which_all_flows_were_abandoned_says_so(tmp_path):
    def change(summary):
        summary["counters"]["unfinished_flows"] = 0

    run = with_deadlines(tmp_path / "run", [5] * 3, [True] * 3, finished=0.0, end_ps=10**6, change=change)
    (read,) = labelled.read([run])
    assert reasons.not_completed(read) is None
    assert reasons.no_fct(read) == "3 of 3 flows were abandoned: their senders gave them up."
    html = page([run])
    assert "3 of 3 flows were abandoned" in visible(html)
    flows = json.loads(re.search(r'id="specs">(.*?)</script>', html)[1])["timeline"]["datasets"]["flows"]
    # A bar goes to the deadline.
    assert [flow["end"] - flow["start"] for flow in flows] == [5, 5, 5]


def lines_of(result):
    """What the command line prints of a run."""
    return {name: value for name, value in summary_table(result, "run").rows}  # noqa: C416 (mypy wants pairs)


def test_the_command_line_says_how_deadlines_were_met(two, inside, tmp_path):
    result = fy.open_run(two[0])
    lines = lines_of(result)
    row = analysis.timeliness(result.flows).row(0, named=True)
    found = analysis.inversions(result.flows)
    assert lines["deadlines met"].endswith(f", {row['met']} of {row['flows']} flows")
    assert lines["late, abandoned, unfinished"] == f"{row['late']}, 0, 0"
    assert lines["deadline inversions"] == f"{found.flows} flows, {found.pairs} pairs"
    assert lines["lateness p50/p99"].endswith(" us")
    both = comparison_table({"whole": result, "cut": fy.open_run(two[1])}, "both")
    assert both.header[-1] == "deadlines met"
    # Below it are the intervals of its other columns.
    assert both.rows[-2][-1] == text.percent(analysis.application_throughput(fy.open_run(two[1]).flows))

    plain = SCENARIO | {"traffic": SCENARIO["traffic"][2:]}
    (tmp_path / "plain.json").write_text(json.dumps(plain))
    printed = inside("run", "plain.json", "-o", "out").stdout
    assert "flows completed" in printed
    assert not re.search("throughput|abandoned|lateness|inversion", printed)
    assert "deadlines met" not in comparison_table({"plain": fy.run(plain)}, "plain").header
    # None was missed: no lateness and no inversion to tell.
    easy = fy.run(plain, {"traffic.rest.deadline": "1s"})
    lines = lines_of(easy)
    assert lines["deadlines met"] == "100%, 60 of 60 flows"
    assert not {"lateness p50/p99", "deadline inversions"} & lines.keys()


def swept(folder, axis, **changes):
    return fy.sweep(fy.Plan(SCENARIO, [axis], replicas=2, set=changes, name="swept"), folder)


def test_sweeps_have_application_throughput_and_lateness(tmp_path):
    axis = fy.Axis("size", {"traffic.answers.sizes.fixed": ["10KB", "40KB"]})
    done = swept(tmp_path / "s", axis)
    flows = done.flows.collect()
    for row in done.metrics.rows(named=True):
        own = analysis.timeliness(flows.filter(run=row["run"])).row(0, named=True)
        for name in ("application_throughput", "lateness_p50_ps", "lateness_p99_ps"):
            assert row[name] == pytest.approx(own[name])
    assert done.metrics["application_throughput"].n_unique() > 1
    html = sweep_page.render(done)
    specs = json.loads(re.search(r'id="specs">(.*?)</script>', html)[1])
    shown = {row["mean"] for row in specs["application-throughput"]["datasets"]["rows"]}
    assert shown == {charts.rounded(mean) for mean in done.means["application_throughput"]}
    assert "lateness-p99-ps" in specs
    head = section(html, "Points")
    assert "replicas offered load carried load deadlines met slowdown p99" in head


def test_sweeps_in_which_nothing_was_late_or_due_say_no_more(tmp_path):
    axis = fy.Axis("hosts", {"topology.single-switch.hosts": [6, 7]})
    easy = {"traffic.answers.deadline": "1s", "traffic.urgent.deadlines.uniform": {"min": "1s", "max": "2s"}}
    html = sweep_page.render(swept(tmp_path / "easy", axis, **easy))
    assert "All flows with a deadline met it." in visible(html)
    assert "No flow was late" in visible(html)
    plain = {"topology": SCENARIO["topology"], "transport": "ndp", "traffic": SCENARIO["traffic"][2:]}
    done = fy.sweep(fy.Plan(plain, [axis], name="plain"), tmp_path / "plain")
    assert done.metrics["application_throughput"].null_count() == 2
    assert not re.search("throughput|lateness", visible(sweep_page.render(done)))


def test_the_report_takes_runs_without_the_column(tmp_path):
    """Runs of versions before there was a column `abandoned`."""
    run = with_deadlines(tmp_path / "old", [10**12] * 5)
    assert "abandoned" not in pl.read_parquet(run / "flows.parquet").columns
    assert labelled.read([run])[0].abandoned == 0
    assert "all flows 5 100% 0 0 0" in section(report.write([run], tmp_path / "r.html").read_text())
