"""Why slow flows are slow: sets, sums and differences by hand, and the section of the report."""

import pytest

import flowyard as fy
from flowyard import report, results
from flowyard.report.charts.slow import colours
from flowyard.report.run.slow import LINKS, Explained, section
from flowyard.why import slow as slow_module
from flowyard.why import why
from flowyard.why.slow import MIDDLE, SLOWEST, Slow, difference, size_group, slow_flows


def scenario(transport):
    """An incast beside a permutation, so that some flows wait for others of another size."""
    return {
        "topology": {"fat-tree": {"k": 4}},
        "transport": transport,
        "traffic": [
            {"name": "all", "arrivals": "at-once", "matrix": "permutation", "sizes": {"fixed": "200KB"}},
            {
                "name": "incast",
                "arrivals": "at-once",
                "matrix": {"incast": {"senders": 8, "receiver": 3}},
                "sizes": {"fixed": "20KB"},
            },
        ],
    }


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """The same flows under two transports, in folders."""
    folder = tmp_path_factory.mktemp("slow")
    return [fy.run(scenario(name)).save(folder / name) for name in ("ndp", "tcp")]


def explained(folder):
    """The slow flows of the run in a folder."""
    found = slow_flows(results.open_run(folder))
    assert found is not None
    return found


def test_sets_and_sums(both):
    run = results.open_run(both[0])
    slow = explained(both[0])
    flows = run.flows.to_polars()
    assert [(group.size, group.set) for group in slow.groups] == [
        (size, name) for size in ("up to 100 KB", "100 KB to 10 MB") for name in (SLOWEST, MIDDLE)
    ]
    # One of eight, and of sixteen, is the slowest 1 %; the middle half are four and eight.
    assert [len(group.answers) for group in slow.groups] == [1, 4, 1, 8]
    for group in slow.groups:
        of_size = (
            flows.filter(flows["size_bytes"] <= 100_000)
            if "up to" in group.size
            else flows.filter(flows["size_bytes"] > 100_000)
        )
        numbers = [answer.flow for answer in group.answers]
        ranked = of_size.sort("slowdown", "id")["id"].to_list()
        expected = ranked[-1:] if group.set == SLOWEST else ranked[len(ranked) // 4 : 3 * len(ranked) // 4]
        assert sorted(numbers) == sorted(expected)
        mean = sum(answer.fct_ps for answer in group.answers) / len(numbers)
        assert sum(group.means.values()) == pytest.approx(mean, rel=1e-12)
    assert slow.left_out == 0
    # Waits at the ports that were read are divided whole.
    waited = sum(time for _, _, time in slow.waits[: slow.read])
    assert sum(slow.whose.values()) == waited > 0


@pytest.fixture(scope="module")
def lossless():
    """An incast over a lossless network, in which ports of the spine stand still for most of the time."""
    return fy.run(
        {
            "topology": {
                "leaf-spine": {"leaves": 2, "spines": 2, "hosts": 8, "rate": "100Gbps", "delay": "1us"}
            },
            "transport": "roce",
            "queue": {"lossless": {"xoff": "20KB"}},
            "traffic": [
                {
                    "name": "incast",
                    "arrivals": "at-once",
                    "matrix": {"incast": {"senders": 14, "receiver": "host 0"}},
                    "sizes": {"fixed": "200KB"},
                }
            ],
        }
    )


def test_the_parts_are_those_of_each_flow_by_itself(lossless):
    """Pauses and own packets are divided from the queue, as `flowyard why` divides them, in sums and in the chart."""
    slow = slow_flows(lossless)
    assert slow is not None
    assert slow.undivided == 0
    for flow, answer in slow.by_flow.items():
        assert answer.totals == why(lossless, flow).totals
    (slowest,) = slow.slowest
    assert slowest.totals["pauses"] > slowest.fct_ps / 4
    assert {"pauses", "queue of its own packets"} <= colours([("a", slow)]).keys()


def test_pauses_are_divided_where_packets_are_too_many_to_read(lossless, monkeypatch):
    """Without the packets of any port, a pause may hold the rest of the packet that was on the wire at its start."""
    whole = slow_flows(lossless)
    monkeypatch.setattr(slow_module, "LINK_ROWS", 1)
    coarse = slow_flows(lossless)
    assert whole is not None
    assert coarse is not None
    assert (coarse.read, coarse.whose) == (0, {})
    assert coarse.undivided > 0
    for flow, answer in whole.by_flow.items():
        parts, other = answer.totals, coarse.by_flow[flow].totals
        assert other.get("pauses", 0) == pytest.approx(parts.get("pauses", 0), rel=0.05)
        waited = ("queue", "queue of its own packets", "pauses")
        assert sum(other.get(name, 0) for name in waited) == sum(parts.get(name, 0) for name in waited)


def test_differences_add_up(both):
    one, other = (explained(folder) for folder in both)
    flows = sorted(one.by_flow.keys() & other.by_flow.keys())
    change = sum(other.by_flow[flow].fct_ps - one.by_flow[flow].fct_ps for flow in flows) / len(flows)
    assert sum(difference(one, other, flows).values()) == pytest.approx(change, rel=1e-9)


def test_draws_are_those_of_the_seed(both):
    first, second = (sorted(explained(both[0]).by_flow) for _ in range(2))
    assert first == second


def test_size_groups():
    assert [size_group(size) for size in (1, 100_000, 100_001, 10**8)] == [
        "up to 100 KB",
        "up to 100 KB",
        "100 KB to 10 MB",
        "above 10 MB",
    ]


def test_shares_are_of_all_waits(both):
    """Ten links at which 10 us each were waited: a tenth each, though the page lists fewer."""
    waits = [(f"link {link}", "edge-host", 10_000_000) for link in range(10)]
    run = Explained("a", results.open_run(both[0]), Slow([], 0, waits, {}, 0, {}))
    found = section([run])
    assert found is not None
    (table,) = found.data["slow_runs"]
    assert [share for *_, share in table["waits"]] == ["10.0%"] * LINKS


def test_the_report_has_the_section_if_it_is_asked_for(both, tmp_path):
    report.write(both, tmp_path / "with.html", why=True)
    report.write(both, tmp_path / "without.html")
    page, without = ((tmp_path / f"{name}.html").read_text() for name in ("with", "without"))
    assert "Why are the slow ones slow?" in page
    assert "chart-slow-waterfall" in page
    assert "1 of the" not in without
    assert "flowyard report --why" in without
    assert "chart-slow-shares" not in without
