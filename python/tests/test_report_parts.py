"""What the page holds of many links, flows and samples: the rules by which it chooses, against brute force."""

import math
import random
from itertools import pairwise

import altair as alt
import polars as pl
import pytest
from test_report import page, visible, write_run

import flowyard as fy
from flowyard.report import cut_off, reasons
from flowyard.report.charts import heat, histograms, series, timeline
from flowyard.report.run import labelled, tables

TIERS = ("leaf-host", "host-leaf", "leaf-spine")


def network(leaves, hosts, spines=2):
    """Links of a leaf-spine network with random numbers, in one direction above the leaves."""
    chance = random.Random(leaves * hosts)
    ends = []
    for leaf in range(leaves):
        for host in range(hosts):
            ends += [
                (f"leaf {leaf}", f"host {leaf * hosts + host}", "leaf-host"),
                (f"host {leaf * hosts + host}", f"leaf {leaf}", "host-leaf"),
            ]
        ends += [(f"leaf {leaf}", f"spine {spine}", "leaf-spine") for spine in range(spines)]
    count = len(ends)
    columns = {
        "id": range(count),
        **{name: [end[i] for end in ends] for i, name in enumerate(("from", "to", "tier"))},
    }
    columns |= {"utilisation": [chance.random() for _ in ends]}
    columns |= {"queue_mean_bytes": [chance.random() * 1e4 for _ in ends], "rate_bps": [10**10] * count}
    names = ("packets", "drops", "lost", "trims", "marks", "queue_max_bytes", "queue_max_packets", "pauses")
    columns |= {"paused_ps": [chance.randrange(1, 10**9) for _ in ends]}
    columns |= {name: [chance.randrange(1, 1000) for _ in ends] for name in names}
    return pl.DataFrame(columns)


@pytest.fixture
def leafy(tmp_path):
    def make(leaves, hosts):
        folder = write_run(tmp_path / f"{leaves}-{hosts}")
        network(leaves, hosts).write_parquet(folder / "links.parquet")
        return labelled.read([folder])[0]

    return make


def test_every_link_has_a_cell_of_its_own_in_the_strip_of_its_tier(leafy):
    run = leafy(4, 3)
    (found,) = heat.maps([run])
    assert found
    cells = found.spec["datasets"]["cells"]
    assert found.merged == []
    assert sorted(found.cell_of) == run.links["id"].to_list()
    assert sorted(found.cell_of.values()) == list(range(len(cells)))
    for link in run.links.iter_rows(named=True):
        cell = cells[found.cell_of[link["id"]]]
        assert cell["link"] == f"{link['from']} → {link['to']}"
        assert cell["trouble"] == link["drops"] + link["trims"] + link["marks"]
        assert cell["utilisation"] == pytest.approx(link["utilisation"], rel=1e-4)
    # No two cells lie on each other, and links of one leaf stand in line.
    assert len({(cell["x"], cell["y"]) for cell in cells}) == len(cells)
    down = run.links.filter((pl.col("tier") == "leaf-host") & (pl.col("from") == "leaf 1"))["id"]
    assert len({cells[found.cell_of[link]]["x"] for link in down}) == 1
    alt.LayerChart.from_dict(found.spec)


@pytest.mark.parametrize(("room", "switches"), [(60, 1), (30, 2)])
def test_a_tier_with_too_many_links_is_merged_by_switch_and_keeps_the_worst(
    leafy, monkeypatch, room, switches
):
    run = leafy(20, 5)
    monkeypatch.setattr(heat, "MOST_CELLS", room)
    (found,) = heat.maps([run])
    assert found
    cells = found.spec["datasets"]["cells"]
    assert len(cells) == 3 * -(-20 // switches)
    assert len(found.merged) == 3
    links = run.links.with_columns(cell=pl.col("id").replace_strict(found.cell_of))
    worst = links.group_by("cell").agg(pl.col(*heat.NUMBERS).max()).sort("cell")
    for row in worst.iter_rows(named=True):
        for name in heat.NUMBERS:
            assert cells[row["cell"]][name] == pytest.approx(row[name], rel=1e-4)


def test_one_scale_for_all_runs(leafy):
    several = [leafy(4, 3), leafy(5, 2)]
    tops = {str(found.spec["params"]) for found in heat.maps(several) if found}
    assert len(tops) == 1
    most = max(run.links["queue_max_bytes"].max() for run in several)
    assert heat.metrics(several)[2].most == f"{most}\N{NO-BREAK SPACE}B"


def test_the_timeline_holds_slowest_unfinished_and_an_even_sample(tmp_path):
    run = labelled.read([write_run(tmp_path / "many", flows=5000, finished=0.9)])[0]
    chosen = timeline.choose(run)
    kinds = chosen.group_by("why").len().sort("why")
    assert dict(kinds.iter_rows()) == {
        "hit": timeline.HIT,
        "sample": 100,
        "slowest": timeline.SLOWEST,
        "unfinished": timeline.UNFINISHED,
    }
    assert chosen["id"].n_unique() == 400
    done = run.flows.filter("completed").sort("slowdown", descending=True)
    assert set(chosen.filter(why="slowest")["id"]) == set(done["id"][: timeline.SLOWEST])
    late = run.flows.filter(~pl.col("completed")).sort("start_ps")
    assert chosen.filter(why="unfinished")["id"].to_list() == late["id"][:100].to_list()
    least = chosen.filter(why="hit")["lost"].min()
    assert chosen.filter(why="sample")["lost"].max() <= least > 0
    found = timeline.timeline([run])
    assert found
    assert found.why == [
        "150 slowest; 100 unfinished that have waited longest; 50 others that lost most packets to faults; "
        "100 others, evenly spread over their starts"
    ]
    rest = run.flows.filter(~pl.col("id").is_in(chosen.filter(pl.col("why") != "sample")["id"].to_list()))[
        "id"
    ]
    ranks = [rest.index_of(flow) for flow in chosen.filter(why="sample")["id"]]
    assert (ranks[0], ranks[-1]) == (0, len(rest) - 1)
    gaps = {after - before for before, after in pairwise(ranks)}
    assert max(gaps) - min(gaps) <= 1


def test_bars_of_the_timeline_are_the_flows(tmp_path):
    run = labelled.read([write_run(tmp_path / "few", flows=40, finished=0.5)])[0]
    found = timeline.timeline([run])
    assert found
    rows = {row["flow"]: row for row in found.spec["datasets"]["flows"]}
    assert (found.totals, found.held, found.tags) == ([40], [40], ["queries"])
    for flow in run.flows.iter_rows(named=True):
        bar = rows[flow["id"]]
        end = flow["start_ps"] + flow["fct_ps"] if flow["completed"] else run.end_ps
        assert (bar["start"], bar["end"]) == (flow["start_ps"], max(end, flow["start_ps"]))
        assert (bar["rank"] is None) == (not flow["completed"])
    by_rank = sorted((row["rank"], -row["slowdown"]) for row in rows.values() if row["rank"] is not None)
    assert by_rank == sorted(by_rank, key=lambda pair: pair[1])
    alt.LayerChart.from_dict(found.spec)


def sampled(folder, links=(0, 5), flows=(0, 1), count=1000, seed=1):
    """Writes samples and histograms of random numbers into the folder of a run; returns the samples as rows."""
    chance = random.Random(seed)
    rows = []
    for i in range(1, count + 1):
        for series_, ids in (
            ("queue_bytes", links),
            ("utilisation", links),
            ("cwnd_bytes", flows),
            ("rate_bps", flows),
        ):
            rows += [(i * 10**9 // count, series_, id_, chance.random() * 1e5) for id_ in ids]
    types = {"time_ps": pl.UInt64, "series": pl.Categorical, "id": pl.UInt64, "value": pl.Float64}
    pl.DataFrame(rows, schema=types, orient="row").write_parquet(folder / "samples.parquet")
    counted = [
        (metric, name, 2**k if k else 0, 2 ** (k + 1) - 1, chance.randrange(1, 100))
        for metric, names in (
            ("queue_bytes", ("host-switch", "switch-host")),
            ("server_ps", ("2 links",)),
            ("network_ps", ("2 links",)),
        )
        for name in names
        for k in range(20)
    ]
    types = {"metric": pl.String, "class": pl.String, "low": pl.UInt64, "high": pl.UInt64, "count": pl.UInt64}
    pl.DataFrame(counted, schema=types, orient="row").write_parquet(folder / "histograms.parquet")
    return rows


def test_a_thinned_series_keeps_the_least_and_the_largest_of_each_span(tmp_path):
    folder = write_run(tmp_path / "run")
    rows = sampled(folder)
    run = labelled.read([folder])[0]
    spans = 50
    kept = series.decimated(run, "queue_bytes", [5], spans)
    length = -(-(run.end_ps + 1) // spans)
    mine = [(time, value) for time, name, id_, value in rows if name == "queue_bytes" and id_ == 5]
    by_span: dict[int, list[tuple[float, int]]] = {}
    for time, value in mine:
        by_span.setdefault(time // length, []).append((value, time))
    expected = sorted({(time, value) for each in by_span.values() for value, time in (min(each), max(each))})
    assert [(time, value) for _, time, value in kept] == expected
    assert len(kept) == 2 * spans


def test_few_samples_are_all_kept(tmp_path):
    folder = write_run(tmp_path / "run")
    rows = sampled(folder, count=20)
    run = labelled.read([folder])[0]
    kept = series.decimated(run, "cwnd_bytes", [0, 1], 100)
    assert kept == sorted((id_, time, value) for time, name, id_, value in rows if name == "cwnd_bytes")


def test_links_and_flows_to_show_are_the_worst_of_each_run(tmp_path, monkeypatch):
    folders = [write_run(tmp_path / "a"), write_run(tmp_path / "b", finished=0.0)]
    for folder in folders:
        sampled(folder, links=range(8), flows=range(6), count=3)
    read = labelled.read(folders)
    monkeypatch.setattr(series, "MOST_LINKS", 3)
    monkeypatch.setattr(series, "MOST_FLOWS", 2)
    # Drops grow with the number of the link.
    worst = read[0].links.sort("id").select("from", "to").rows()
    assert series.links(read).names == [" → ".join(worst[link]) for link in (7, 6, 5)]
    assert series.links(read).places == [{7: 0, 6: 1, 5: 2}] * 2
    assert series.links(read).sampled == 8
    # Those that lost most to faults; of the second run nothing is complete: the first of them.
    most = read[0].flows.head(6).filter(pl.col("lost") == pl.col("lost").max())
    slowest = most.sort("slowdown", descending=True)["id"][0]
    assert [name.split(":")[0] for name in series.flows(read).names] == [f"flow {slowest}", "flow 2"]


def test_the_share_at_least_a_value_is_that_of_the_values():
    chance = random.Random(3)
    values = [int(chance.expovariate(0.01)) for _ in range(2000)]
    edges = [0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10_000]
    rows = [(low, high - 1, sum(low <= value < high for value in values)) for low, high in pairwise(edges)]
    table = pl.DataFrame(rows, schema=["low", "high", "count"], orient="row")
    for low, share in histograms.at_least(table):
        assert share == sum(value >= low for value in values) / len(values)
    assert [low for low, _ in histograms.at_least(table)] == [low for low, _, count in rows if low and count]
    assert histograms.at_least(table.with_columns(count=0)) == []


def test_a_thinned_curve_is_nowhere_further_off_than_a_pixel():
    points = [(value, (10_000 - value) / 10_000) for value in range(1, 10_000)]
    kept = histograms.thinned(points)
    assert len(kept) <= 2 / histograms.STEP
    assert (kept[0], kept[-1]) == (points[0], points[-1])
    for i, (one, other) in enumerate(pairwise(kept[:-1])):
        gap = [
            math.log(other[axis] / one[axis]) / math.log(points[-1][axis] / points[0][axis])
            for axis in (0, 1)
        ]
        # Neighbours of the data may be further apart than a step by themselves.
        neighbours = points.index(other) - points.index(one) == 1
        assert neighbours or max(map(abs, gap)) < 3 * histograms.STEP, i


def test_other_networks_have_other_links(leafy, tmp_path):
    several = [leafy(4, 3), leafy(3, 4)]
    for run, folder in zip(several, ("4-3", "3-4"), strict=True):
        sampled(tmp_path / folder, links=run.links["id"][:6].to_list(), count=3)
    several = labelled.read([tmp_path / "4-3", tmp_path / "3-4"])
    chosen = series.links(several)
    for run, places in zip(several, chosen.places, strict=True):
        names = {row["id"]: f"{row['from']} → {row['to']}" for row in run.links.iter_rows(named=True)}
        assert places
        assert all(names[link] == chosen.names[place] for link, place in places.items())


def test_what_was_sampled_is_on_the_page(tmp_path):
    plain, rich = write_run(tmp_path / "plain"), write_run(tmp_path / "rich")
    sampled(rich)
    words = visible(page([rich]))
    assert "Over time" in words
    assert "2 of 2 links that were sampled" in words
    assert "Histograms" in words
    assert "takes no samples" not in words
    words = visible(page([plain, rich]))
    assert "plain: The scenario takes no samples." in words


def test_a_cut_off_has_a_banner(tmp_path):
    def cut(summary):
        summary["observed"] = {"samples": {"rows": 3, "cut_off_ps": 5_000_000}, "histograms": None}

    words = visible(page([write_run(tmp_path / "cut", change=cut)])).replace("\N{NO-BREAK SPACE}", " ")
    assert "Samples cut off" in words
    assert "observe.samples.rows_limit was reached: from 5.00 µs on" in words


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (None, "run.until = 1ms"),
        ("until", "run.until = 1ms"),
        ("memory", "run.memory_limit"),
        ("work", "run.work_limit"),
        ("flows", "had drawn"),
    ],
)
def test_a_banner_says_which_limit(tmp_path, limit, expected):
    run = write_run(
        tmp_path / "run",
        finished=0.5,
        status="limit",
        until="1ms",
        change=lambda summary: summary.update(limit=limit),
    )
    assert expected in visible(page([run]))


def test_an_observed_run_of_the_engine_is_shown(tmp_path):
    """The names of series, metrics and cut-offs are the engine's: nothing here is made up."""
    scenario = {
        "topology": {"single-switch": {"hosts": 4}},
        "transport": {"tcp": {}},
        "traffic": [
            {
                "name": "few",
                "arrivals": "at-once",
                "matrix": "permutation",
                "sizes": {"fixed": "300KB"},
                "flows": 4,
            }
        ],
        "observe": {"samples": {"every": "1us", "rows_limit": 2000}, "histograms": {}},
    }
    folder = fy.run(scenario).save(tmp_path / "observed")
    run = labelled.read([folder])[0]
    assert "samples" in cut_off.times_ps(run.summary)
    assert series.links([run]).sampled == 8
    assert series.flows([run]).sampled == 4
    words = visible(page([folder]))
    for title in (
        "Samples cut off",
        *(kind.title for kind in (*series.LINK_KINDS, *series.FLOW_KINDS)),
        "Histograms",
    ):
        assert title in words
    # A queue cannot have been larger at a sample than the largest of all.
    kept = series.decimated(run, "queue_bytes", range(8), 50)
    most = dict(run.links.select("id", "queue_max_bytes").iter_rows())
    assert kept
    assert all(value <= most[link] for link, _, value in kept)


def test_ports_that_flow_control_stopped_are_shown(tmp_path):
    """The hosts of an incast into a switch that keeps little."""
    scenario = {
        "topology": {"single-switch": {"hosts": 4}},
        "transport": {"dcqcn": {}},
        "queue": {"lossless": {"xoff": "20KB"}},
        "traffic": [
            {
                "name": "incast",
                "arrivals": "at-once",
                "matrix": {"incast": {"senders": 3}},
                "sizes": {"fixed": "300KB"},
            }
        ],
    }
    folder = fy.run(scenario).save(tmp_path / "stopped")
    run = labelled.read([folder])[0]
    assert run.pauses
    longest = run.links["paused_ps"].max()
    up, down = tables.tiers([run])
    assert up.rows[0].cells[-1].value == pytest.approx(longest / run.end_ps)
    assert (down.rows[0].cells[-1].value, down.rows[0].cells[-1].tone) == (0, "zero")
    assert [metric.name for metric in heat.metrics([run])][-1] == "time paused"
    assert next(row for row in tables.losses([run]) if row.term == "pauses").cells[0].text == str(
        run.counters["pauses"]
    )
    (found,) = heat.maps([run])
    assert found
    assert max(cell["paused_ps"] for cell in found.spec["datasets"]["cells"]) == pytest.approx(
        longest, rel=1e-4
    )
    both = page([folder, write_run(tmp_path / "other")])
    other = page([tmp_path / "other"])
    # Where none was, only the list of words has it.
    assert (visible(other).count("time paused"), visible(both).count("time paused") > 3) == (2, True)


def test_samples_of_a_transport_without_window_say_so(tmp_path):
    folder = write_run(tmp_path / "run")
    sampled(folder, count=5)
    path = folder / "samples.parquet"
    pl.read_parquet(path).filter(pl.col("series") != "cwnd_bytes").write_parquet(path)
    run = labelled.read([folder])[0]
    assert reasons.no_window(run) == "No transport of the sampled flows has a window."
    pl.read_parquet(path).filter(pl.col("series") != "rate_bps").write_parquet(path)
    assert reasons.no_window(labelled.read([folder])[0]) == "No flow was active at a sample."
