"""What is drawn over data, and what faults hit: bands, limits, worst links, tables; and what one size leaves out."""

import json

import altair as alt
import polars as pl
import pytest
from test_report import page, visible, write_run
from test_report_parts import sampled

from flowyard.report import javascript
from flowyard.report.charts import overlays, series, timeline
from flowyard.report.run import fault_impact, figures, labelled, tables


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(javascript, "bundle", lambda: "/* bundle */")


def fault(at, undone=None, change="down", links=(0,)):
    return {"at_ps": at, "undone_ps": undone, "change": change, "links": list(links), "nodes": []}


def run(folder, *, faults=(), detection_delay=None, queue=None, transport=None, **options):
    """A run that is read, with faults, a queue and a transport of its own."""

    def change(summary):
        summary["faults"] = list(faults)
        scenario = summary["scenario"]
        scenario["name"] = folder.name
        if detection_delay:
            scenario["faults"] = {"detection_delay": detection_delay, "events": []}
        scenario["queue"] = queue or scenario["queue"]
        scenario["transport"] = transport or scenario["transport"]
        for entry in scenario["traffic"]:
            entry["transport"] = scenario["transport"]

    (read,) = labelled.read([write_run(folder, flows=60, change=change, **options)])
    return read


def plain(words):
    """A text with spaces that may break."""
    return words.replace("\N{NO-BREAK SPACE}", " ")


TCP = {"tcp": {"mss": "1460B", "header_bytes": "40B", "link_bytes": "0B", "congestion": {"newreno": {}}}}


@pytest.mark.parametrize(
    ("faults", "spans"),
    [
        ([], []),
        ([fault(100, 200)], [(100, 200, "down")]),
        # One that stays lasts to the end of the run, one after it is not there.
        ([fault(100)], [(100, 10**9, "down")]),
        ([fault(2 * 10**9)], []),
        ([fault(100, 2 * 10**9)], [(100, 10**9, "down")]),
        # Those that overlap are one band, so that their shades do not add up.
        ([fault(300, 400), fault(100, 300, "rate"), fault(350, 380)], [(100, 400, "rate, down")]),
        ([fault(100, 200), fault(300, 400)], [(100, 200, "down"), (300, 400, "down")]),
    ],
)
def test_faults_are_shaded_from_when_to_when(tmp_path, faults, spans):
    rows = overlays.fault_rows([run(tmp_path / "one", faults=faults)])
    assert [(row["from"], row["until"], row["change"]) for row in rows] == spans


@pytest.mark.parametrize(
    ("queue", "transport", "expected"),
    [
        ({"drop-tail": {"limit": {"packets": 100}}}, TCP, [("limit 150 KB (100 full packets)", 150_000)]),
        ({"drop-tail": {"limit": {"bytes": "64KB"}}}, TCP, [("limit 64.0 KB", 64_000)]),
        (
            {"ecn": {"limit": {"packets": 200}, "threshold": {"full-packets": 65}}},
            TCP,
            [("limit 300 KB (200 full packets)", 300_000), ("K 97.5 KB (65 full packets)", 97_500)],
        ),
        (
            {"ndp": {"data_limit": {"full-packets": 8}}},
            {"ndp": {"mtu": "1500B", "header_bytes": "64B", "mtu_includes_header": False}},
            [("buffer limit for data 12.5 KB (8 full packets)", 8 * 1564)],
        ),
        (
            {"lossless": {"xoff": "200KB", "kmin": "5KB", "kmax": "200KB"}},
            {"dcqcn": {"payload": "1KB", "header_bytes": "62B"}},
            [("Kmin 5.00 KB", 5_000), ("Kmax 200 KB", 200_000), ("XOFF 200 KB", 200_000)],
        ),
        # A word is no length, nor are packets whose size no field says.
        ({"daq": {"threshold": "fixed"}}, TCP, []),
        ({"drop-tail": {"limit": {"packets": 9}}}, {"own": {}}, []),
        ({"infinite": {}}, TCP, []),
    ],
)
def test_lengths_at_which_queues_act(tmp_path, queue, transport, expected):
    found = overlays.lengths([run(tmp_path / "one", queue=queue, transport=transport)])
    assert [(plain(length.words), length.value) for length in found] == expected


def test_a_limit_is_drawn_near_the_data_and_said_anyway(tmp_path):
    queue = {"drop-tail": {"limit": {"bytes": "1000B"}}}
    one = run(tmp_path / "one", queue=queue)
    assert (
        overlays.length_rules([one], 400, lambda field: alt.Y(f"{field}:Q"))[1]["lengths"][0]["value"] == 1000
    )
    assert overlays.length_rules([one], 399, lambda field: alt.Y(f"{field}:Q")) == ([], {})
    assert plain(overlays.said([one])) == "Dashed: limit 1.00 KB; drawn if in range."
    assert not overlays.said([run(tmp_path / "none", queue={"infinite": {}})])
    # Of several runs each length has the colour of its run, or of none if all have it.
    other = run(tmp_path / "other", queue={"drop-tail": {"limit": {"bytes": "900B"}}})
    rows = overlays.length_rules([one, other, one], 400, lambda field: alt.Y(f"{field}:Q"))[1]["lengths"]
    assert [(row["runs"], row["tint"]) for row in rows] == [
        ("one, one", "var(--muted)"),
        ("other", "var(--run-1)"),
    ]
    assert "limit 900 B in other" in plain(overlays.said([one, other]))


def test_lengths_close_together_on_an_upright_axis_share_a_name(tmp_path):
    """Their lines stay apart; of the axis' 1000 bytes a name is 60 high."""
    limits = {"a": 500, "b": 550, "c": 560, "d": 1000}
    runs = [
        run(tmp_path / name, queue={"drop-tail": {"limit": {"bytes": f"{limit}B"}}})
        for name, limit in limits.items()
    ]
    runs.append(run(tmp_path / "e", queue={"ecn": {"threshold": {"bytes": "590B"}}}))
    layers, data = overlays.length_rules(runs, 1000, lambda field: alt.Y(f"{field}:Q"))
    found = {row["value"]: (row["name"], row["ink"]) for row in data["lengths"]}
    assert found == {
        500: ("", "var(--run-0)"),
        550: ("", "var(--muted)"),
        560: ("", "var(--muted)"),
        590: ("limit, K", "var(--muted)"),
        1000: ("limit", "var(--run-3)"),
    }
    assert len(layers) == 3
    # Along the other axis each name has a line of its own.
    flat = overlays.length_rules(runs, 1000, lambda field: alt.X(f"{field}:Q"))[1]["lengths"]
    assert [row["name"] for row in flat] == ["limit"] * 4 + ["K"]
    assert [row["line"] for row in flat] == [0, 1, 2, 3, 4]


def test_many_dashed_lines_are_below_their_chart(tmp_path):
    """In its caption they would push the charts beside it down."""
    few, many = (
        [
            run(tmp_path / f"{count}" / str(i), queue={"drop-tail": {"limit": {"bytes": f"{4 + i}B"}}})
            for i in range(count)
        ]
        for count in (2, 9)
    )  # fmt: skip
    short, long = (figures.figures(runs)[-1] for runs in (few, many))
    assert "Dashed: limit 4 B in 0; limit 5 B in 1; drawn if in range." in plain(short.caption)
    assert not short.dashed
    assert "Dashed" not in long.caption
    assert plain(long.dashed).startswith("Dashed: limit 4 B in 0; limit 5 B in 1; limit 6 B in 2")
    html = page([tmp_path / "9" / str(i) for i in range(9)])
    assert html.index('id="chart-queue-max"') < html.index("Dashed: limits and thresholds of queues")


def test_all_charts_over_time_have_the_faults_and_those_of_queues_the_limit(tmp_path):
    folder = tmp_path / "one"
    queue = {"drop-tail": {"limit": {"packets": 40}}}
    run(folder, faults=[fault(10**8, 3 * 10**8)], queue=queue, transport=TCP)
    sampled(folder, count=50)
    (one,) = labelled.read([folder])
    found = {figure.key: figure for figure in figures.over_time([one])[0]}
    assert found.keys() == {"time-queue-bytes", "time-utilisation", "time-cwnd-bytes", "time-rate-bps"}
    whole = timeline.timeline([one])
    assert whole
    for spec in [*(figure.spec for figure in found.values()), whole.spec]:
        assert spec
        (band,) = spec["datasets"]["faults"]
        assert (band["from"], band["until"]) == (10**8, 3 * 10**8)
        data = dict(spec["datasets"])
        alt.LayerChart.from_dict({**spec, "datasets": data})
    assert {key for key, figure in found.items() if "lengths" in figure.spec["datasets"]} == {
        "time-queue-bytes"
    }
    assert "limit 60.0 KB (40 full packets)" in plain(found["time-queue-bytes"].caption)
    assert all("Shaded: faults." in figure.caption for figure in found.values())
    largest = next(figure for figure in figures.figures([one]) if figure.key == "queue-max")
    # The made-up queues have 8 bytes: the line would flatten them.
    assert "lengths" not in largest.spec["datasets"]
    assert series.links([one]).names


def test_worst_links_say_what_faults_took_where_there_were_any(tmp_path):
    links = pl.read_parquet(write_run(tmp_path / "plain", flows=60) / "links.parquet")
    (sound,) = labelled.read([tmp_path / "plain"])
    assert {len(row.cells) for row in tables.worst(sound)} == {7}
    run(tmp_path / "broken", faults=[fault(100, 200)])
    lost = links.with_columns(lost=pl.when(pl.col("id") == 2).then(500).otherwise(0))
    lost.write_parquet(tmp_path / "broken/links.parquet")
    (broken,) = labelled.read([tmp_path / "broken"])
    first = tables.worst(broken)[0]
    assert (first.link, first.cells[4].value, len(first.cells)) == (2, 500, 8)
    html = page([tmp_path / "broken"])
    assert html.index("lost to faults, then dropped") < html.index(">lost<")


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (fault(10_000, 20_000), "routes changed at 15.0 ns and 25.0 ns"),
        (fault(10_000), "routes changed at 15.0 ns"),
        # Before the run.
        (fault(0, 20_000), "routes avoided it from the start and changed at 25.0 ns"),
        (fault(0), "routes avoided it from the start"),
        (fault(10**12), "the run ended before routes changed"),
        # Routes take links by what is up alone.
        (fault(10_000, change="rate"), ""),
    ],
)
def test_a_fault_says_when_routes_changed(tmp_path, event, said):
    (hit,) = fault_impact.impacts(run(tmp_path / "one", faults=[event], detection_delay="5ns"))
    assert plain(hit.routes) == said


def test_the_page_says_where_the_other_flows_are_that_a_fault_hit(tmp_path):
    one = run(tmp_path / "one", faults=[fault(0, 10**8)], detection_delay="5ns")
    losers = one.flows.filter(pl.col("lost") > 0).height
    words = plain(page([tmp_path / "one"]))
    assert f"the 12 that lost most (all {losers}: <code>lost &gt; 0</code> in flows.parquet):" in words
    assert "routes avoided it from the start and changed at" in words
    assert ">active from</dfn>" in words


def test_the_flows_that_a_fault_hit(tmp_path):
    # Flow i starts at 1000 i; a third each lost none, one, two packets.
    one = run(tmp_path / "one", faults=[fault(30_500, 40_500, links=[1, 2]), fault(10**9 - 1)])
    first, last = fault_impact.impacts(one)
    assert plain(first.fault.main) == "30.5 ns to 40.5 ns: down"
    under_way = one.flows.filter(pl.col("start_ps") < 40_500)
    losers = under_way.filter(pl.col("lost") > 0)
    assert first.counts.startswith(f"{under_way.height} flows were active; {losers.height} of them lost")
    # Links 1 and 2 lost 2 and 3 packets.
    assert first.counts.endswith("its links lost 5 packets")
    numbers = [[cell.value for cell in row] for row in first.rows]
    assert [row[0] for row in numbers] == [*range(2, 39, 3)][: fault_impact.MOST_FLOWS]
    assert all(row[6] == 2 for row in numbers)
    assert all(row[4] == max(30_500, 1000 * row[0]) and row[5] <= 40_500 for row in numbers)
    assert first.losers == losers.height > fault_impact.MOST_FLOWS
    # Flow 0 lost nothing: it is not among those that were hit.
    (early,) = fault_impact.impacts(run(tmp_path / "early", faults=[fault(0, 2500)]))
    assert [row[0].value for row in early.rows] == [2, 1]
    # Of a switch that is down: what was lost on all its links, in both directions.
    switch = one.links["to"][0]
    down = {**fault(0, 2500, links=()), "nodes": [switch]}
    (whole,) = fault_impact.impacts(run(tmp_path / "whole", faults=[down]))
    own = one.links.filter((pl.col("from") == switch) | (pl.col("to") == switch))
    assert own.height > 1
    assert whole.counts.endswith(f"its links lost {own['lost'].sum():,} packets")
    assert last.counts.split()[0] == str(
        one.flows.filter(pl.col("start_ps") + pl.col("fct_ps") >= 10**9 - 1).height
    )


def test_a_table_of_faults_that_repeats_another_is_left_out(tmp_path):
    early = run(tmp_path / "early", faults=[fault(0)])
    assert tables.faults([early]) == []
    words = visible(page([tmp_path / "early"]))
    assert "All flows were active during the faults" in words
    between = run(tmp_path / "between", faults=[fault(100, 30_000)])
    assert [group.name for group in tables.faults([between])] == ["during", "after"]


def one_size(folder):
    flows = pl.read_parquet(folder / "flows.parquet")
    flows.with_columns(size_bytes=pl.lit(10_000, dtype=pl.UInt64)).write_parquet(folder / "flows.parquet")
    return folder


def test_one_size_has_an_index_of_fairness_but_no_chart_or_groups_by_size(tmp_path):
    mixed = write_run(tmp_path / "mixed", flows=60)
    equal = one_size(write_run(tmp_path / "equal", flows=60))
    names = {}
    for folder in (mixed, equal):
        read = labelled.read([folder])
        names[folder.name] = {metric.name for metric in tables.cards(read)[0].metrics}
        drawn = {figure.key for figure in figures.figures(read)}
        groups = [group.name for group in tables.summary(read)]
        assert ("by-size" in drawn) == (folder is mixed)
        assert (len(groups) > 1) == (folder is mixed)
        assert groups[0] == "all flows"
    assert names["equal"] - names["mixed"] == {"Jain's index"}
    assert not names["mixed"] - names["equal"]
    html = page([equal])
    specs = json.loads(html.split('id="specs">')[1].split("</script>")[0])
    assert "by-size" not in specs
    assert "All flows are of one size, 10.0 KB" in plain(visible(html))
