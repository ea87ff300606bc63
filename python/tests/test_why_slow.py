"""Why slow flows are slow: sets, sums and differences by hand, and the section of the report."""

import pytest

import flowyard as fy
from flowyard import report, results
from flowyard.report.run.slow import LINKS, Explained, section
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
