"""What differs between runs: the fields, what runs are called by, and where a page says it."""

from pathlib import Path

import pytest
from test_report import page, visible, write_run

from flowyard import text
from flowyard.report import javascript
from flowyard.report.run import facts, labelled
from flowyard.report.run.differences import differences, distinguishing


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(javascript, "bundle", lambda: "/* bundle */")


def scenario(**changes):
    """A scenario as run.json has it, with some of its parts changed."""
    tcp = {"delayed_ack": 2, "delayed_ack_timeout": "500us", "congestion": {"newreno": {"impatient": True}}}
    own = {"transport": {"tcp": tcp}, "routing": {"balancer": {"per-flow": {}}}}
    entry = {
        "name": "queries",
        "arrivals": {"poisson": {"load": 0.6, "start": "0ps"}},
        "sizes": {"fixed": "10KB"},
    }
    return {
        "name": "web",
        "topology": {"fat-tree": {"k": 4, "rate": "10Gbps"}},
        "queue": {"drop-tail": {"limit": {"packets": 100}, "keep_headers": False}},
        **own,
        "traffic": [{**entry, **own}],
        "run": {"seed": 1, "replica": 0, "warm_up": "0ps"},
        **changes,
    }


def tcp(**changes):
    given = {"delayed_ack": 2, "delayed_ack_timeout": "500us", "congestion": {"newreno": {"impatient": True}}}
    return {"transport": {"tcp": {**given, **changes}}}


def entry(**changes):
    return {"traffic": [{**scenario()["traffic"][0], **changes}]}


def said(*scenarios):
    """Each differing field by its path, as it is said of each scenario."""
    count = range(len(scenarios))
    return {field.path: [field.said(i) for i in count] for field in differences(scenarios)}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, {}),
        ({"name": "other"}, {}),
        # Threads change no result.
        ({"run": {"seed": 1, "replica": 0, "warm_up": "0ps", "threads": 2}}, {}),
        ({"topology": {"fat-tree": {"k": 8, "rate": "10Gbps"}}}, {"topology.fat-tree.k": ["k 4", "k 8"]}),
        (
            {"queue": {"drop-tail": {"limit": {"packets": 50}, "keep_headers": True}}},
            {
                "queue.drop-tail.limit": ["limit 100 packets", "limit 50 packets"],
                "queue.drop-tail.keep_headers": ["keep_headers false", "keep_headers true"],
            },
        ),
        (
            {"queue": {"drop-tail": {"limit": {"full-packets": 8}, "keep_headers": False}}},
            {"queue.drop-tail.limit": ["limit 100 packets", "limit 8 full-packets"]},
        ),
        (
            {"queue": {"ndp": {"data_limit": {"full-packets": 8}}}},
            {"queue": ["queue drop-tail", "queue ndp"]},
        ),
        ({"run": {"seed": 2, "replica": 0, "warm_up": "0ps"}}, {"run.seed": ["seed 1", "seed 2"]}),
        (
            entry(sizes={"fixed": "20KB"}),
            {"traffic.queries.sizes": ["sizes fixed 10KB", "sizes fixed 20KB"]},
        ),
        (
            entry(sizes={"web-search": {}}),
            {"traffic.queries.sizes": ["sizes fixed 10KB", "sizes web-search"]},
        ),
        (
            entry(arrivals={"poisson": {"load": 0.8, "start": "1ms"}}),
            {
                "traffic.queries.arrivals.poisson.load": ["load 0.6", "load 0.8"],
                "traffic.queries.arrivals.poisson.start": ["start 0ps", "start 1ms"],
            },
        ),
        ({"traffic": []}, {"traffic": ["traffic queries", "traffic "]}),
        (
            {"faults": {"detection_delay": "1us", "events": [{"at": "2ms", "change": "down"}]}},
            {"faults": ["faults none", "faults down at 2ms"]},
        ),
        (
            {"faults": {"events": [{"at": f"{n}ms", "change": "down"} for n in range(5)]}},
            {"faults": ["faults none", "faults down at 0ms, down at 1ms, down at 2ms and 2 more"]},
        ),
        (
            {"observe": {"samples": {"every": "1us"}, "histograms": {}}},
            {"observe": ["observe none", "observe samples, histograms"]},
        ),
    ],
)
def test_the_differing_fields_and_nothing_else(changes, expected):
    assert said(scenario(), scenario(**changes)) == expected


def test_another_member_is_the_difference_and_not_all_of_its_fields():
    three = [
        scenario(**tcp()),
        scenario(transport={"ndp": {"initial_window": "bdp", "mtu": "1500B"}}),
        scenario(**tcp(delayed_ack=1)),
    ]
    # Entries have the transport of the scenario: it is not said twice.
    for each in three:
        each["traffic"] = [{**each["traffic"][0], "transport": each["transport"]}]
    assert said(*three) == {
        "transport": ["newreno", "ndp", "newreno"],
        "transport.tcp.delayed_ack": ["delayed_ack 2", "", "delayed_ack 1"],
    }
    assert distinguishing(three) == ["newreno, delayed_ack 2", "ndp", "newreno, delayed_ack 1"]


def test_a_name_is_as_long_as_it_must_be():
    """Two fields of one name are told apart by what stands above them."""
    found = differences(
        [
            scenario(a={"x": {"rate": 1, "z": 0}, "y": {"rate": 2, "z": 0}}),
            scenario(a={"x": {"rate": 3, "z": 0}, "y": {"rate": 4, "z": 0}}),
        ]
    )
    assert [field.name for field in found] == ["x rate", "y rate"]


def test_few_fields_tell_runs_apart_or_none_do():
    loads = [
        scenario(**entry(arrivals={"poisson": {"load": load, "start": "0ps"}})) for load in (0.2, 0.5, 0.8)
    ]
    assert distinguishing(loads) == ["load 0.2", "load 0.5", "load 0.8"]
    assert distinguishing([scenario(), scenario()]) is None
    ack = [scenario(**tcp()), scenario(**tcp(delayed_ack=1)), scenario(**tcp(delayed_ack_timeout="5ms"))]
    assert distinguishing(ack) == [
        "delayed_ack 2, delayed_ack_timeout 500us",
        "delayed_ack 1, delayed_ack_timeout 500us",
        "delayed_ack 2, delayed_ack_timeout 5ms",
    ]


def test_runs_are_called_by_what_differs_where_names_clash():
    dirs = [Path(f"/runs/web-{n}") for n in (1, 2, 3)]
    seeds = [scenario(run={"seed": n, "replica": 0, "warm_up": "0ps"}) for n in (1, 2)]
    assert labelled.labels(dirs[:2], seeds) == ["seed 1", "seed 2"]
    other = scenario(name="other")
    assert labelled.labels(dirs, [*seeds, other]) == ["web, seed 1", "web, seed 2", "other"]
    # What differs may be called as something else is: then folders tell them apart.
    assert labelled.labels(dirs, [*seeds, scenario(name="web, seed 1")]) == ["web-1", "web-2", "web-3"]
    assert labelled.labels(dirs[:2], [seeds[0], seeds[0]]) == ["web-1", "web-2"]


def change(delayed_ack, **others):
    def changed(summary):
        summary["scenario"]["name"] = "web"
        summary["scenario"]["transport"]["tcp"]["delayed_ack"] = delayed_ack
        for entry in summary["scenario"]["traffic"]:
            entry["transport"] = summary["scenario"]["transport"]
        summary["scenario"] |= others
        summary["started"], summary["command"] = (
            "2026-02-03T04:05:06Z",
            f"flowyard run web.toml # {delayed_ack}",
        )

    return changed


def test_a_page_says_first_what_differs(tmp_path):
    dirs = [
        write_run(tmp_path / "a", flows=20, change=change(2)),
        write_run(tmp_path / "b", flows=20, change=change(1, observe={"histograms": {}})),
    ]
    html = page(dirs)
    words = visible(html)
    assert "web: delayed_ack 2 and delayed_ack 1" in words
    chips = html[html.index('class="cards"') : html.index("</section>", html.index('class="cards"'))]
    assert '<li title="transport.tcp.delayed_ack: delayed_ack 1">delayed_ack 1</li>' in chips
    assert "observe histograms" in chips
    table = html[html.index('class="facts differences"') :]
    assert table.index("transport.<wbr>tcp.<wbr>delayed_ack") < table.index("Topology")
    read = labelled.read(dirs)
    marked = {fact.name for fact in facts.facts(read) if fact.differs}
    assert marked == {"Transport", "Observation"}
    costs = {fact.name: [cell.main for cell in fact.cells] for fact in facts.costs(read)}
    assert costs["Started"] == ["2026-02-03T04:05:06Z"] * 2
    assert costs["Command"] == ["flowyard run web.toml # 2", "flowyard run web.toml # 1"]


def test_faults_have_a_row_where_there_are_any(tmp_path):
    events = [{"at": f"{n}ms", "change": "down", "target": {"switch": "s"}} for n in range(3)]
    fault = {"faults": {"detection_delay": "1us", "events": events}}
    dirs = [
        write_run(tmp_path / "a", flows=20, change=change(2)),
        write_run(tmp_path / "b", flows=20, change=change(2, **fault)),
    ]
    read = labelled.read(dirs)
    (row,) = [fact for fact in facts.facts(read) if fact.name == "Faults"]
    assert [cell.main for cell in row.cells] == [text.NONE, "3 x down"]
    assert row.differs
    assert [run.label for run in read] == ["faults none", "faults down at 0ms, down at 1ms, down at 2ms"]
    assert not any(fact.name == "Faults" for fact in facts.facts(read[:1]))


def test_a_single_run_has_no_chips(tmp_path):
    html = page([write_run(tmp_path / "a", flows=20, change=change(2))])
    assert 'class="chips"' not in html
    assert "What differs" not in visible(html)


def test_tcp_goes_by_its_congestion_control_and_a_prototype_by_its_class():
    dctcp = {"tcp": {"congestion": {"dctcp": {"gain": 0.0625}}, "mss": "1460B"}}
    cubic = {"tcp": {"congestion": "cubic", "mss": "1460B"}}
    own = {"tcp": {"congestion": {"python": {"name": "MyAimd", "settings": None}}, "mss": "1460B"}}
    names = [
        facts.variant(transport).main for transport in (dctcp, cubic, own, {"python": {"name": "Blast"}})
    ]
    assert names == ["dctcp", "cubic", "MyAimd", "Blast"]
    assert facts.variant(dctcp).detail == "tcp (congestion dctcp (gain 0.0625), mss 1460B)"
    assert facts.variant("ndp").main == facts.variant({"ndp": {"mtu": "1500B"}}).main == "ndp"
    several = [scenario(transport=transport) for transport in (dctcp, cubic, "ndp")]
    for each in several:
        each["traffic"] = [{**each["traffic"][0], "transport": each["transport"]}]
    # Said once, not again as the congestion control.
    assert said(*several) == {"transport": ["dctcp", "cubic", "ndp"]}
    assert distinguishing(several) == ["dctcp", "cubic", "ndp"]
    assert said(*several[:2]) == {"transport.tcp.congestion": ["dctcp", "cubic"]}
