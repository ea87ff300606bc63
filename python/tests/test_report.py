"""The report: what is said, what is drawn, and that it needs nothing but itself."""

import json
import random
import re
from pathlib import Path

import altair as alt
import polars as pl
import pytest

import flowyard as fy
from flowyard import report, text
from flowyard.errors import UserError
from flowyard.report import charts, javascript
from flowyard.report.charts import timeline
from flowyard.report.charts.tier_charts import tier_chart
from flowyard.report.run import absent, facts, labelled, notices, sections, tables

SCENARIO = {
    "topology": {"single-switch": {"hosts": 4, "rate": "10Gbps"}},
    "routing": {"balancer": {"per-flow": {}}},
    "transport": {"tcp": {"initial_window": 10, "congestion": {"newreno": {"impatient": True}}}},
    "queue": {"drop-tail": {"limit": {"packets": 100}}},
    "traffic": [
        {
            "name": "queries",
            "arrivals": {"poisson": {"load": 0.6}},
            "matrix": {"uniform": {}},
            "sizes": {"web-search": {}},
            "transport": {"tcp": {"initial_window": 10, "congestion": {"newreno": {"impatient": True}}}},
            "routing": {"balancer": {"per-flow": {}}},
        }
    ],
    "run": {"seed": 1, "replica": 0, "measure": "auto", "stall": "1s", "audit": False},
}


def write_run(
    folder,
    flows=300,
    finished=1.0,
    status="complete",
    ideal=True,
    busy=True,
    window=None,
    warm_up=None,
    until=None,
    end_ps=10**9,
    change=None,
    slower=1,
):
    """Writes the folder of a run; `finished` is the share of flows that are complete, `slower` a factor of their times.

    With `warm_up` it is one of before there was a measuring window.
    """
    chance = random.Random(flows)
    size = [int(10 ** chance.uniform(2, 7.5)) for _ in range(flows)]
    done = [i < finished * flows for i in range(flows)]
    best = [10_000_000 + 800 * number for number in size]
    slowdown = [slower * (1 + chance.expovariate(0.5)) for _ in range(flows)]
    columns = {
        "id": range(flows),
        "src": [i % 4 for i in range(flows)],
        "dst": [(i + 1) % 4 for i in range(flows)],
        "deadline_ps": [None] * flows,
        "met_deadline": [None] * flows,
        "tag": ["queries"] * flows,
        "size_bytes": size,
        "start_ps": [i * 1000 for i in range(flows)],
        **({} if warm_up else {"measured": [inside(i * 1000, window) for i in range(flows)]}),
        "completed": done,
        "fct_ps": [int(b * s) if d else None for b, s, d in zip(best, slowdown, done, strict=True)],
        "slowdown": [s if d and ideal else None for s, d in zip(slowdown, done, strict=True)],
        "delivered_bytes": [n if d else 0 for n, d in zip(size, done, strict=True)],
    } | {
        name: [i % 3 for i in range(flows)]
        for name in ("packets_sent", "retransmissions", "timeouts", "trims", "drops", "lost", "reordered")
    }
    types = {
        "slowdown": pl.Float64,
        "completed": pl.Boolean,
        "measured": pl.Boolean,
        "met_deadline": pl.Boolean,
        "tag": pl.Categorical,
    }
    types = {name: types.get(name, pl.UInt64) for name in columns}
    columns_of_flows = columns
    folder.mkdir(parents=True)
    pl.DataFrame(columns, schema_overrides=types).write_parquet(folder / "flows.parquet")

    links = [(f"host {i}", "switch", "host-switch") for i in range(4)]
    links += [(to, source, "switch-host") for source, to, _ in links]
    used = [int(busy) * (i + 1) for i in range(len(links))]
    columns = {"id": range(len(links)), "from": [a for a, _, _ in links], "to": [b for _, b, _ in links]}
    columns |= {"rate_bps": [10**10] * len(links)}
    columns |= {"tier": [tier for _, _, tier in links], "utilisation": [0.1 * number for number in used]}
    columns |= {"queue_mean_bytes": [10.0 * number for number in used]}
    columns |= dict.fromkeys(
        ("packets", "drops", "lost", "trims", "marks", "queue_max_bytes", "queue_max_packets"), used
    )
    columns |= dict.fromkeys(("pauses", "paused_ps"), [0] * len(links))
    pl.DataFrame(columns).write_parquet(folder / "links.parquet")

    scenario = json.loads(json.dumps(SCENARIO))
    scenario["run"] |= {"until": until} if until else {}
    if warm_up:
        del scenario["run"]["measure"]
        scenario["run"]["warm_up"] = warm_up
    names = ["events", "packet_hops", "packets", "drops", "trims", "marks", "retransmissions", "timeouts"]
    counters = dict.fromkeys(names, 12_345)
    counters |= {"pauses": 0, "flows": flows, "unfinished_flows": done.count(False)}
    summary = {
        "flowyard": "0.1.0",
        "status": status,
        "end_ps": end_ps,
        "digest": "f7f06f6f11b9" * 5,
        "traffic_digest": "41cd45b2b85b" * 5,
        "seed": 1,
        "replica": 0,
        "counters": counters | {"wall_s": 1.5, "cpu_s": 1.25, "peak_memory_bytes": 50_000_000},
        "traffic": [
            {
                "name": "queries",
                "flows": flows,
                "mean_size_bytes": 1.7e6,
                "offered_load": 0.6,
                "realised_load": 0.6,
            }
        ],
        "scenario": scenario,
        "definitions": {
            "flows": {"fct_ps": "Start to the last byte."},
            "links": {"drops": "Packets <dropped>."},
        },
    }
    if not warm_up:
        summary["measured"] = measured(window, end_ps, sum(columns_of_flows["measured"]))
        summary["traffic"][0] |= {"carried_load": 0.58, "carried_ci95": 0.03}
    if change:
        change(summary)
    (folder / "run.json").write_text(json.dumps(summary))
    return folder


def inside(start_ps, window):
    return window is None or window[0] <= start_ps < window[1]


def measured(window, end_ps, flows):
    """As run.json has it."""
    start, end = window or (0, end_ps)
    tiers = ("host-switch", "switch-host")
    return {
        "rule": "chosen" if window else "all",
        "why_all": None,
        "from_ps": start,
        "until_ps": end,
        "drain_ps": 5 * 10**6,
        "wanted_ps": 2 * start if window else None,
        "flows": flows,
        "unfinished": 0,
        "after_arrivals": 0,
        "offered_load": 0.6,
        "realised_load": 0.6,
        "carried_load": 0.58,
        "carried_ci95": 0.03,
        "hosts_payload": 0.5,
        "hosts_wire": 0.56,
        "tiers": [{"tier": tier, "links": 4, "payload": 0.5, "wire": 0.56} for tier in tiers],
        "halves": None,
        "unstable": [],
    }


@pytest.fixture(autouse=True)
def _quick(request, monkeypatch):
    """Making the real bundle takes seconds: only the tests that say so have it."""
    if "real_bundle" not in request.fixturenames:
        monkeypatch.setattr(javascript, "bundle", lambda: "/* bundle */")


@pytest.fixture
def real_bundle():
    return javascript.bundle()


@pytest.fixture
def two(tmp_path):
    def ndp(summary):
        summary["scenario"]["transport"] = {"ndp": {"initial_window": 16}}
        del summary["scenario"]["traffic"][0]["transport"]

    return [write_run(tmp_path / "tcp"), write_run(tmp_path / "ndp", end_ps=3 * 10**9, change=ndp)]


def page(folders):
    output = report.write(folders, folders[0].parent / "report.html")
    return output.read_text(encoding="utf-8")


def visible(html):
    """The text of a page without its scripts and styles, and without tags."""
    html = re.sub(r"(?s)<(script|style).*?</\1>", "", html)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", html))


def test_the_file_is_whole_and_loads_nothing(two, real_bundle):
    html = page(two)
    markup = html.replace(real_bundle, "")
    assert real_bundle in html
    assert not re.search(r"https?:", markup)
    assert not re.search(
        r"""(?i)(src|srcset|action|poster)\s*=|@import|\burl\(|<(iframe|object|embed|base)\b""", markup
    )
    # All links lead to a part of the page, and all sections have one.
    assert set(re.findall(r"""href="([^"]*)""", markup)) == {
        "data:,",
        *(f"#{name}" for name in re.findall(r"""<section id="([^"]*)""", markup)),
        "#cost",
    }
    assert '<details class="panel" id="cost">' in markup
    # The browser is told to refuse what we forgot.
    assert "default-src 'none'" in markup
    assert html.count("</script>") == 3


def test_two_runs_of_6000_flows_are_small(tmp_path):
    html = page([write_run(tmp_path / name, flows=6000) for name in ("a", "b")])
    assert len(html.encode()) < 500_000


def test_the_same_runs_give_the_same_bytes(two):
    assert page(two) == page(two)


def test_the_file_appears_only_when_it_is_whole(two, tmp_path, monkeypatch):
    output = tmp_path / "new" / "report.html"
    monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(UserError, match=r"new/report.html: cannot write here \(disk full\)"):
        report.write(two, output)
    assert not output.parent.exists()


def test_a_report_needs_a_run(tmp_path):
    with pytest.raises(ValueError, match="at least one run"):
        report.write([], tmp_path / "report.html")


def test_names_from_scenarios_are_text(tmp_path):
    evil = "</script><img src=x onerror=alert(1)>"

    def change(summary):
        summary["scenario"]["name"] = evil
        summary["scenario"]["traffic"][0]["name"] = summary["traffic"][0]["name"] = evil

    html = page([write_run(tmp_path / "a", change=change), write_run(tmp_path / "b")])
    assert "<img" not in html
    assert html.count("</script>") == 3
    specs = re.search(r'id="specs">(.*?)</script>', html)
    assert evil in json.loads(specs[1])["fct"]["datasets"]["rows"][0]["run"]


def test_what_is_said_of_a_run(two):
    words = visible(page(two))
    for phrase in ("tcp and ndp", "complete", "Flowyard 0.1.0", "seed 1", "300 of 300 flows", "f7f06f6f11b9"):
        assert phrase in words
    for phrase in (
        "single-switch",
        "drop-tail",
        "0.600 offered",
        "arrivals poisson (load 0.6)",
        "4 hosts, 8 links",
    ):
        assert phrase in words
    for group in ("all flows", "up to 100 KB", "100 KB to 10 MB", "above 10 MB"):
        assert group in words
    assert "all runs carried the same flows" in words
    assert "lasted from 1.00 ms to 3.00 ms" in words


def test_definitions_are_shown_on_hover(two):
    html = page(two)
    assert 'title="Start to the last byte."' in html
    assert 'title="Packets &lt;dropped&gt;."' in html


def test_agents_and_controllers_are_named_where_there_are_any(two, tmp_path):
    plain = {fact.name for fact in facts.facts(labelled.read(two))}
    assert not plain & {"Agent", "Controller"}
    entry = {"name": "all", "arrivals": "at-once", "matrix": "permutation", "sizes": {"fixed": "15KB"}}
    scenario = {"topology": {"single-switch": {"hosts": 4}}, "traffic": [entry]}
    for more, name, member in (
        ({"transport": "rcp"}, "Agent", "rcp"),
        ({"transport": "central", "controller": "asy"}, "Controller", "asy"),
    ):
        folder = fy.run(scenario | more).save(tmp_path / member)
        shown = {fact.name: fact.cells[0].main for fact in facts.facts(labelled.read([folder]))}
        assert shown[name] == member


def test_differences_between_runs_are_marked(two):
    read = labelled.read(two)
    differing = {fact.name for fact in facts.facts(read) if fact.differs}
    assert differing == {"Transport"}
    assert not any(fact.differs for fact in facts.costs(read))
    settings = {
        fact.name: [cell.main for cell in fact.cells] for fact in facts.settings(read) if fact.differs
    }
    assert settings["transport.ndp.initial_window"] == [text.NONE, "16"]
    # The entry has the transport of the scenario: it is not said twice.
    assert not any(name.startswith("traffic") for name in settings)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"newreno": {"impatient": True}}, "newreno (impatient true)"),
        ({"uniform": {}}, "uniform"),
        ({"load": 0.6, "start": None, "host": {}}, "load 0.6"),
        (list(range(9)), "[0, 1, 2, 3, 4, 5, … 9 in all]"),
        ({"drop_limit": [1, 2]}, "drop limit [1, 2]"),
    ],
)
def test_settings_in_a_line(value, expected):
    assert facts.inline(value) == expected


def folders(*names):
    return [Path("/runs") / name for name in names]


@pytest.mark.parametrize(
    ("dirs", "names", "expected"),
    [
        (folders("a", "b"), [None, None], ["a", "b"]),
        (folders("a", "b"), ["NDP", None], ["NDP", "b"]),
        (folders("a", "b"), ["same", "same"], ["a", "b"]),
        (folders("x/a", "y/a"), [None, None], ["a (1)", "a (2)"]),
        (folders("x/a", "y/a", "z/b"), ["n", "n", "n (1)"], ["n (2)", "n (3)", "n (1)"]),
    ],
)
def test_every_run_has_a_name_of_its_own(dirs, names, expected):
    scenarios = [{"name": name, "traffic": []} for name in names]
    assert labelled.labels(dirs, scenarios) == expected


def test_a_run_that_did_not_complete_has_a_banner(tmp_path):
    run = write_run(tmp_path / "short", finished=0.5, status="limit", until="1ms")
    words = visible(page([run]))
    assert "Limit: not the whole story" in words
    assert "run.until = 1ms" in words
    assert "150 of 300 flows are unfinished" in words
    assert "50.0%" in words


def test_the_smallest_number_is_the_best_only_where_all_flows_are_complete(tmp_path):
    whole, part = write_run(tmp_path / "whole"), write_run(tmp_path / "part", finished=0.9)

    def tones(folders):
        return {
            cell.tone
            for group in tables.summary(labelled.read(folders))
            for row in group.rows
            for cell in row.cells
        }

    assert "best" not in tones([whole, part])
    assert "bad" in tones([whole, part])
    # Of two runs whose intervals overlap none is the best, whichever value is smaller.
    assert "best" not in tones([whole, write_run(tmp_path / "other", flows=200)])
    assert "best" in tones([whole, write_run(tmp_path / "slow", slower=9)])


@pytest.mark.parametrize(
    ("ends", "best"),
    [
        ([(1, 2), (3, 4), (5, None)], 0),
        ([(3, 4), (1, 2.9)], 1),
        ([(1, 3.1), (3, 4)], None),
        # An end or an interval that is not known decides nothing.
        ([(1, None), (3, 4)], None),
        ([(1, 2), (None, None)], None),
        ([(1, 2)], None),
    ],
)
def test_the_smallest_is_the_one_whose_interval_lies_below_all_others(ends, best):
    rows = [
        {"flows": 50, "completed": 50, "fct_p50_low_ps": low, "fct_p50_high_ps": high} for low, high in ends
    ]
    assert tables.smallest(rows, "fct_p50", "_ps") == best
    rows[-1]["completed"] = 49
    assert tables.smallest(rows, "fct_p50", "_ps") is None


def test_percentiles_that_rest_on_too_few_flows_are_thin(two):
    everything = tables.summary(labelled.read(two))[0].rows[0].cells
    fct = dict(zip(tables.STATISTICS, everything[2:7], strict=True))
    assert {name: cell.tone == "thin" for name, cell in fct.items()} == {
        "mean": False, "p50": False, "p95": False, "p99": True, "p99_9": True,
    }  # fmt: skip
    # These are the ones whose interval has no upper end.
    assert {name for name, cell in fct.items() if cell.interval.endswith(f", {text.NONE}]")} == {
        "p99",
        "p99_9",
    }


def test_values_without_an_interval_say_so_beside_others(tmp_path):
    """Of 100 flows the groups of fewer than 40 have none, which a dash says, and the caption its reason."""
    read = labelled.read([write_run(tmp_path / "one", flows=100)])
    flows = {group.name: group.rows[0].cells[0].value for group in tables.summary(read)}
    assert flows["all flows"] == 100
    few = {name for name, count in flows.items() if count < 40}
    assert "above 10 MB" in few
    assert "up to 100 KB" not in few
    dashed = {group.name for group in tables.summary(read) if group.rows[0].cells[2].interval == text.NONE}
    assert dashed == few
    assert f"{text.NONE}: no interval, for fewer than 40 flows" in visible(page([tmp_path / "one"]))
    # Where no value has an interval there is nothing to tell apart.
    small = labelled.read([write_run(tmp_path / "few", flows=30)])
    assert not tables.interval_ends(tables.summary(small))
    assert "there are no 95% intervals , for fewer than 40 flows" in visible(page([tmp_path / "few"]))


def test_grey_is_explained_by_what_the_table_has(tmp_path, two):
    """Of 300 flows three lie above p99: it is grey for the upper end of its interval."""
    assert tables.interval_ends(tables.summary(labelled.read(two))) >= {"both", "low"}
    assert "p99 needs 368 and p99.9 needs 3,688 independent flows" in visible(page(two))
    write_run(tmp_path / "few", flows=30)
    html = visible(page([tmp_path / "few"]))
    assert "Grey : less than one flow is above the percentile. " in html


@pytest.mark.parametrize(
    "options", [{"window": (10**5, 25 * 10**4)}, {"warm_up": "100ns"}], ids=["window", "older"]
)
def test_flows_outside_the_measuring_window_are_left_out(tmp_path, options):
    run = write_run(tmp_path / "part", **options)
    (read,) = labelled.read([run])
    count, end = (150, "250 ns") if "window" in options else (200, "1.00 ms")
    assert read.measured.height == count
    assert read.has_window
    words = visible(page([run]))
    assert f"Results are of flows that start from 100 ns to {end}, and of links in that time" in words
    assert f"{count} of {count} flows" in words
    assert "Flows that start outside the measuring window are left out." in words
    assert "Network in the measuring window" in words
    # Those are not in the timeline either.
    drawn = timeline.timeline([read])
    assert drawn is not None
    assert drawn.totals == [count]
    assert {flow["start"] >= 10**5 for flow in drawn.spec["datasets"]["flows"]} == {True}


def test_a_run_that_is_measured_as_a_whole_has_no_window(two):
    words = visible(page(two))
    assert "Measuring window " not in words.split("Load")[0]
    assert "outside the measuring window" not in words
    assert "Network whole runs" in words


def test_goodput_is_that_of_the_window(tmp_path):
    (whole, part) = labelled.read(
        [write_run(tmp_path / "whole"), write_run(tmp_path / "part", window=(0, 10**5))]
    )
    delivered = int(whole.flows["delivered_bytes"].sum())
    assert whole.goodput_bps == pytest.approx(8 * delivered / 1e-3)
    # Half the rate of the four links to hosts.
    assert part.goodput_bps == pytest.approx(0.5 * 40e9)


def test_lengths_that_are_compared_are_those_of_the_windows(tmp_path):
    def lengths(*windows):
        folders = [write_run(tmp_path / f"{i}-{windows}", window=windows[i]) for i in range(2)]
        found = [
            notice.body
            for notice in notices.notices(labelled.read(folders))
            if notice.title == "Different lengths"
        ]
        return found[0].replace("\N{NO-BREAK SPACE}", " ") if found else ""

    assert lengths((0, 10**8), (10**8, 3 * 10**8)).startswith(
        "Measuring windows last from 100 µs to 200 µs. "
    )
    assert lengths((0, 10**8), (8 * 10**8, 9 * 10**8)) == ""
    assert lengths(None, (0, 10**8)).startswith("What is measured lasts from 100 µs to 1.00 ms. ")


def test_loads_are_shown_by_entry_and_by_tier(tmp_path):
    def change(summary):
        summary["measured"] |= {"flows": 150, "unfinished": 2, "after_arrivals": 3}
        summary["measured"]["halves"] = {"first": 2.5, "first_ci95": 0.25, "second": 3.5, "second_ci95": 0.5}
        summary["measured"]["tiers"][0]["payload"] = None

    run = write_run(tmp_path / "part", window=(10**8, 25 * 10**7), change=change)
    words = visible(page([run]).partition('<section id="load">')[2].partition("</section>")[0])
    assert "queries 0.600 0.600 0.580 [0.550, 0.610]" in words
    assert f"host-switch 4 {text.NONE} 56.0%" in words
    assert "switch-host 4 50.0% 56.0%" in words
    assert "Measuring window 100 µs to 250 µs chosen" in words
    assert "Warm-up by the rule 200 µs" in words
    assert "for at most 5.00 µs" in words
    assert "Links to hosts 50.0% payload, 56.0% on the wire" in words
    assert "2 of 150 measured flows were unfinished when the run ended." in words
    assert "3 of 150 measured flows ended after the last arrival: " in words
    assert "2.50 ± 0.250, then 3.50 ± 0.500" in words
    # On the card, too.
    (card,) = tables.cards(labelled.read([run]))
    assert {metric.name: metric.cells[0].text for metric in card.metrics}["carried/offered"] == "0.580/0.6"


def test_entries_without_a_load_have_none(tmp_path):
    def change(summary):
        summary["traffic"][0] |= dict.fromkeys(
            ("offered_load", "realised_load", "carried_load", "carried_ci95")
        )
        summary["measured"] |= dict.fromkeys(
            ("offered_load", "realised_load", "carried_load", "carried_ci95")
        )

    run = write_run(tmp_path / "none", change=change)
    html = page([run])
    words = visible(html.partition('<section id="load">')[2].partition("</section>")[0])
    assert "offered load" not in words
    assert "switch-host" in words
    assert "carried/offered" not in [metric.name for metric in tables.cards(labelled.read([run]))[0].metrics]
    # A run of before there was a window has no such section.
    assert 'id="load"' not in page([write_run(tmp_path / "old", warm_up="1ns")])


def test_a_run_that_was_not_in_a_steady_state_has_a_warning(tmp_path):
    def change(summary):
        summary["measured"]["unstable"] = ["a load of 0.460 +- 0.021 was carried, and 0.500 is offered"]

    html = page([write_run(tmp_path / "run", change=change)])
    assert "Not in a steady state A load of 0.460 ± 0.021 was carried, and 0.500 is offered." in visible(html)
    assert re.findall(r'class="notice (\w+)"', html)[0] == "warning"


EMPTY = {
    "nothing finished": (
        {"finished": 0.0, "status": "limit", "until": "1ms"},
        "before any flow was complete: 300 of 300",
    ),
    "nothing started": (
        {"finished": 0.0, "status": "interrupted", "end_ps": 0},
        "before its first flow would start",
    ),
    "none in the window": (
        {"window": (10**8, 10**9)},
        "None of 300 flows starts in the measuring window, from 100 µs to",
    ),
    "no ideal": ({"ideal": False}, "no ideal completion time is defined"),
    "idle links": ({"busy": False}, "No link carried a packet."),
    "stalled": ({"finished": 0.0, "status": "stalled"}, "no payload arrived for run.stall = 1s"),
    "deadlock": (
        {
            "finished": 0.0,
            "status": "stalled",
            "change": lambda summary: summary.update(deadlock=["a -> b", "b -> a"]),
        },
        "Ports waited for each other, paused or without credit, in a circle at",
    ),
    "one flow": ({"flows": 1}, "1 of 1 flows"),
    "no flow": ({"flows": 0}, "The scenario has no flow."),
    "nothing at all": ({"finished": 0.0, "busy": False, "status": "limit"}, "Nothing to show"),
}


@pytest.mark.parametrize(("options", "reason"), EMPTY.values(), ids=EMPTY.keys())
def test_what_is_empty_says_why(tmp_path, options, reason):
    odd, good = write_run(tmp_path / "odd", **options), write_run(tmp_path / "good")
    assert reason in visible(page([odd]))
    assert "odd" in visible(page([good, odd]))


def test_why_no_distribution_has_anything_is_said_once(tmp_path):
    html = page([write_run(tmp_path / "odd", finished=0.0, status="interrupted")])
    section = html.split('<section id="distributions">')[1].split("</section>")[0]
    assert section.count("Nothing to show") == 1
    assert "<figure" not in section


def test_bugs_are_not_hidden(tmp_path):
    run = write_run(
        tmp_path / "bug", change=lambda summary: summary.update(violations=["port 3 lost a byte"])
    )
    flows = pl.read_parquet(run / "flows.parquet").with_columns(slowdown=pl.lit(0.5))
    flows.write_parquet(run / "flows.parquet")
    found = notices.notices(labelled.read([run]))
    assert [notice.level for notice in found] == ["error", "error"]
    assert "port 3 lost a byte" in found[0].body
    assert found[1].title == "Slowdown below 1"


def all_charts(read):
    return {
        "fct": charts.fct_distribution(read),
        "slowdown": charts.slowdown_distribution(read),
        "goodput": charts.goodput_distribution(read),
        "by size": charts.slowdown_by_size(read),
        "spread": tier_chart(read, "utilisation", "share", "utilisation"),
    }


def channels(spec):
    """What is drawn by what: for each layer its mark, and the field of each channel."""
    return [
        (
            layer["mark"]["type"],
            {name: part["field"] for name, part in layer["encoding"].items() if "field" in part},
        )
        for layer in spec["layer"]
    ]


def test_charts_are_valid_vega_lite(two):
    for spec in all_charts(labelled.read(two)).values():
        alt.LayerChart.from_dict(spec)


def test_structure_of_the_charts(two):
    read = labelled.read(two)
    specs = all_charts(read)
    curve = {"x": "value", "y": "share", "color": "run"}
    for name in ("fct", "slowdown", "goodput"):
        assert channels(specs[name]) == [("line", curve | {"strokeDash": "run"}), ("point", curve)]
    by_size = {"x": "size", "y": "slowdown", "color": "run"}
    assert channels(specs["by size"]) == [
        ("line", by_size | {"strokeDash": "percentile"}),
        ("point", by_size),
        ("point", by_size),
    ]
    row = {"y": "tier", "yOffset": "run", "color": "run"}
    assert channels(specs["spread"]) == [
        ("tick", row | {"x": "value"}),
        ("bar", row | {"x": "p25", "x2": "p75"}),
        ("point", row | {"x": "mean"}),
        ("point", row | {"x": "max"}),
        ("bar", row | {"x": "min", "x2": "max"}),
    ]
    for spec in specs.values():
        assert spec["width"] == "container"
        assert {"name": "focus", "value": None} in spec["params"]
        # The same run has the same colour on every chart.
        scales = [layer["encoding"]["color"]["scale"] for layer in spec["layer"]]
        assert all(
            scale == {"domain": ["tcp", "ndp"], "range": ["var(--run-0)", "var(--run-1)"]} for scale in scales
        )
    assert specs["fct"]["layer"][0]["encoding"]["x"]["scale"]["type"] == "log"


def test_charts_hold_no_more_than_a_screen_can_show(tmp_path):
    read = labelled.read([write_run(tmp_path / "big", flows=20_000)])
    rows = charts.fct_distribution(read)["datasets"]["rows"]
    assert len(rows) <= 401
    assert (rows[0]["share"], rows[-1]["share"]) == (0, 1)


def test_unfinished_flows_keep_the_curve_below_one(tmp_path):
    read = labelled.read([write_run(tmp_path / "half", finished=0.5)])
    assert charts.fct_distribution(read)["datasets"]["rows"][-1]["share"] == 0.5
    assert charts.goodput_distribution(read)["datasets"]["rows"][-1]["share"] == 1


def test_more_runs_than_colours_are_told_apart_by_dashes(tmp_path):
    read = labelled.read([write_run(tmp_path / f"run-{i}", flows=20) for i in range(9)])
    encoding = charts.fct_distribution(read)["layer"][0]["encoding"]
    looks = list(
        zip(
            encoding["color"]["scale"]["range"],
            map(tuple, encoding["strokeDash"]["scale"]["range"]),
            strict=True,
        )
    )
    assert len(set(looks)) == 9


def test_axes_have_round_numbers():
    assert charts.log_ticks(8e3, 2.5e6) == [1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 2e6]
    assert charts.log_ticks(0.9, 2e5) == [1, 10, 100, 1e3, 1e4, 1e5]
    assert charts.log_ticks(0.9, 2) == [1, 1.2, 1.5, 2]
    low, high = charts.log_domain([5.0])
    assert low < 5 < high
    assert high / low >= 1.99


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (text.duration(999), "999 ps"),
        (text.duration(1_500), "1.50 ns"),
        (text.duration(999_600), "1.00 µs"),
        (text.duration(68_200_000_000), "68.2 ms"),
        (text.duration(5e15), "5,000 s"),
        (text.duration(None), text.NONE),
        (text.size(0), "0 B"),
        (text.size(150_000), "150 KB"),
        (text.size(89.31), "89.3 B"),
        (text.rate(10e9), "10.0 Gbps"),
        (text.ratio(13_530.6), "13,531"),
        (text.ratio(2.718), "2.72"),
        (text.interval(20.1, 17.94, None, text.ratio), "[17.9, –]"),  # noqa: RUF001
        (text.interval(1.2e6, 1.1e6, 1.3e6, text.duration), "[1.10, 1.30]"),
        (text.interval(1.2e6, 9.5e5, 1.3e6, text.duration), "[0.950, 1.30]"),
        (text.interval(2.4e10, 0, 4.88e10, text.duration), "[0, 48.8]"),
        (text.interval(9.99e9, 9.6e9, 1.038e10, text.duration), "[9.60, 10.4]"),
        (text.percent(1), "100%"),
        (text.percent(5999 / 6000), "99.98%"),
        (text.percent(1 - 1e-9), "> 99.99%"),
        (text.percent(1e-9), "< 0.01%"),
        (text.percent(0), "0%"),
        (text.count(1_234_567), "1,234,567"),
    ],
)
def test_numbers_have_units_that_fit(shown, expected):
    assert shown.replace("\u00a0", " ") == expected


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        ((2e12, 4e12), "2.00 s to 4.00 s"),
        # HPCC's flows start at 2 s.
        ((2e12, 2_000_100_000_000), "2.0000 s to 2.0001 s"),
        ((2e12, 2_000_000_000_001), "2.000000000000 s to 2.000000000001 s"),
        ((1_200_000, 1_200_400), "1.2000 µs to 1.2004 µs"),
        # The time between them can be read off.
        ((2e12, 2_000_089_100_000), "2.000000 s to 2.000089 s"),
        ((1_234_000_000, 1_309_000_000), "1.234 ms to 1.309 ms"),
        ((0, 1_500), "0 ps to 1.50 ns"),
        ((7e9, 7e9), "7.00 ms to 7.00 ms"),
        ((5e15, 5_000_200_000_000_000), "5,000.0 s to 5,000.2 s"),
        ((999_600, 1_000_000), "0.9996 µs to 1.0000 µs"),
    ],
)
def test_ends_of_a_window_say_what_is_between_them(ends, expected):
    assert " to ".join(text.durations(*ends)).replace("\u00a0", " ") == expected


def test_the_bundle_is_kept_and_a_broken_cache_does_no_harm(tmp_path, monkeypatch, real_bundle):
    assert "</script" not in real_bundle
    made = []

    def make():
        made.append(1)
        return "script"

    monkeypatch.setattr(javascript, "make", make)
    bundle = javascript.bundle.__wrapped__
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert (bundle(), bundle(), len(made)) == ("script", "script", 1)
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert (bundle(), len(made)) == ("script", 2)


def test_faults_are_told_with_flows_before_during_and_after(two):
    def change(summary):
        fault = {
            "at_ps": 100_000,
            "undone_ps": 200_000,
            "change": "down",
            "nodes": ["switch"],
            "links": [0, 1, 2],
        }
        summary["faults"] = [fault]

    html = page(two)
    assert 'id="faults"' not in html
    assert "lost to faults" not in visible(html).split("Terms")[0]
    folder = write_run(two[0].parent / "broken", change=change)
    html = visible(page([folder]))
    html = html.replace("\N{NO-BREAK SPACE}", " ")
    assert "100 ns to 200 ns: down switch, host 0 – switch, host 2 → switch" in html  # noqa: RUF001
    # No flow is that short; 200 start before its end, and 100 after.
    assert "before 0" not in html
    assert "during 200" in html
    assert "after 100" in html
    assert "lost to faults" in html


def test_a_section_is_missing_only_with_a_reason(two, small, tmp_path):
    fy.run(small, {"observe.samples.every": "1us"}).save(tmp_path / "sampled")
    seen = set()
    for folders in (two, [tmp_path / "sampled"]):
        read = labelled.read(folders)
        there = {section.key for section in sections.sections(read)}
        # The first reason of a section is that of the whole; one is always there.
        whole = {key: why for key, _, why in reversed(absent.PARTS) if key != "distributions"}
        for key, why in whole.items():
            assert (key not in there) == all(why(run) for run in read), key
            seen.add((key, key in there))
    assert {("time", True), ("time", False), ("faults", False)} <= seen
