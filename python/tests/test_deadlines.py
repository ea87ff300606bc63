"""Deadlines: measures against what can be worked out by hand or by brute force, the search, and its how-to."""

import os
import random
import signal
from pathlib import Path

import numpy as np
import pages
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flowyard as fy
from flowyard import ScenarioError, analysis
from flowyard.deadlines import largest, most_senders
from flowyard.errors import UserError

PAGE = pages.ROOT / "docs" / "how-to" / "deadlines.md"
TYPES = {
    "dst": pl.UInt32,
    "start_ps": pl.UInt64,
    "fct_ps": pl.UInt64,
    "deadline_ps": pl.UInt64,
    "met_deadline": pl.Boolean,
    "completed": pl.Boolean,
}


def flows(*rows, **more):
    """Flows from (dst, start, completion time or None, deadline or None)."""
    columns = {
        "dst": [row[0] for row in rows],
        "start_ps": [row[1] for row in rows],
        "fct_ps": [row[2] for row in rows],
        "deadline_ps": [row[3] for row in rows],
        "met_deadline": [None if due is None else fct is not None and fct <= due for _, _, fct, due in rows],
        "completed": [fct is not None for _, _, fct, _ in rows],
    }
    return pl.DataFrame(columns, schema=TYPES).with_columns(**more)


# Met by 5 and to the picosecond; late by 10, 20 and 60; never complete, thrice; without a deadline, twice.
MIXED = flows(
    *((0, 0, fct, due) for fct, due in ((5, 10), (7, 7), (20, 10), (30, 10), (70, 10))),
    *((0, 0, None, due) for due in (1, 10, 100)),
    *((0, 0, fct, None) for fct in (1, None)),
)


def test_every_flow_with_a_deadline_has_one_outcome():
    row = analysis.timeliness(MIXED).row(0, named=True)
    assert [row[name] for name in ("flows", "met", "late", "abandoned", "unfinished")] == [8, 2, 3, 0, 3]
    assert row["application_throughput"] == analysis.application_throughput(MIXED) == 0.25
    assert analysis.lateness(MIXED).to_list() == [10, 20, 60]
    assert analysis.slack(MIXED).to_list() == [5, 0, -10, -20, -60]
    assert analysis.due(MIXED).height == 8
    # Type 7: p95 of 10, 20, 60 is at place 1 + 2 x 0.95.
    lateness = [row[f"lateness_{name}_ps"] for name in ("p50", "p95", "p99", "max")]
    assert lateness == pytest.approx([20, 56, 59.2, 60])
    assert row["slack_p50_ps"] == 2.5


def test_abandoned_flows_are_told_apart_where_the_column_is_there():
    # The first is complete all the same, the last has no deadline.
    gone = [True] + [False] * 4 + [True, True, False, False, True]
    row = analysis.timeliness(MIXED.with_columns(abandoned=pl.Series(gone))).row(0, named=True)
    assert [row[name] for name in ("met", "late", "abandoned", "unfinished")] == [2, 3, 2, 1]
    assert row["application_throughput"] == 0.25


def test_outcomes_by_entry():
    tags = pl.Series(["a"] * 4 + ["b"] * 4 + ["a", "c"])
    table = analysis.timeliness(MIXED.with_columns(tag=tags), ("tag",))
    assert table.select("tag", "flows", "met", "late", "unfinished").rows() == [
        ("a", 4, 2, 2, 0),
        ("b", 4, 0, 1, 3),
    ]


def test_without_deadlines_there_is_no_number():
    for table in (flows((0, 0, 5, None)), flows()):
        assert analysis.application_throughput(table) is None
        row = analysis.timeliness(table).row(0, named=True)
        assert (row["flows"], row["application_throughput"], row["lateness_p50_ps"]) == (0, None, None)
        assert analysis.timeliness(table, ("dst",)).is_empty()
        assert analysis.inversions(table) == (0, 0)
        assert analysis.lateness(table).is_empty()


# Flow j waits from 10, is due at 30 and complete at 50. Flow i each time, and whether it was served ahead of j.
J = (0, 10, 40, 20)
CASES = {
    "within": ((0, 12, 20, 100), True),
    "to another host": ((1, 12, 20, 100), False),
    "late, too": ((0, 12, 37, 36), True),
    "due earlier": ((0, 12, 17, 17), False),
    "due at the same time": ((0, 12, 20, 18), False),
    "complete before j started": ((0, 0, 9, 100), False),
    "complete as j started": ((0, 0, 10, 100), False),
    "complete just after j started": ((0, 0, 11, 100), True),
    "complete just before j": ((0, 12, 37, 100), True),
    "complete with j": ((0, 12, 38, 100), False),
    "complete after j": ((0, 12, 80, 100), False),
    "started just before j was due": ((0, 29, 5, 100), True),
    "started as j was due": ((0, 30, 5, 100), False),
    "never complete": ((0, 12, None, 100), False),
    "never started": ((0, None, None, 100), False),
    "without a deadline": ((0, 12, 20, None), False),
}


@pytest.mark.parametrize(("flow", "ahead"), CASES.values(), ids=CASES)
def test_what_an_inversion_is(flow, ahead):
    assert analysis.served_ahead(flows(flow, J)).to_list() == [int(ahead), 0]
    # A flow that is overtaken and meets its deadline all the same is no inversion.
    assert analysis.inversions(flows(flow, (0, 10, 20, 20))) == (0, 0)


def test_what_never_completes_was_overtaken_by_all_that_came_before_its_deadline():
    never = (0, 10, None, 20)
    others = [(0, 12, 100, 200), (0, 29, 1, 50), (0, 30, 1, 50), (0, 1, 9, 50)]
    assert analysis.served_ahead(flows(never, *others)).to_list() == [0, 1, 1, 0, 0]
    assert analysis.inversions(flows(never, never, *others)) == (2, 4)


def brute_force(table):
    """All pairs, condition by condition."""
    rows = table.rows(named=True)
    ahead = [0] * len(rows)
    for n, i in enumerate(rows):
        for j in rows:
            if None in (i["start_ps"], j["start_ps"], i["deadline_ps"], j["deadline_ps"], i["fct_ps"]):
                continue
            end = i["start_ps"] + i["fct_ps"]
            other = float("inf") if j["fct_ps"] is None else j["start_ps"] + j["fct_ps"]
            due = j["start_ps"] + j["deadline_ps"]
            ahead[n] += (
                i["dst"] == j["dst"]
                and not j["met_deadline"]
                and due < i["start_ps"] + i["deadline_ps"]
                and end < other
                and j["start_ps"] < end
                and i["start_ps"] < due
            )
    return ahead


TIMES = st.integers(1, 12)
FLOW = st.tuples(st.integers(0, 1), st.none() | TIMES, st.none() | TIMES, st.none() | TIMES)


@given(st.lists(FLOW, max_size=30))
def test_inversions_are_those_of_all_pairs(rows):
    # What never started never completes.
    table = flows(*((dst, start, fct if start else None, due) for dst, start, fct, due in rows))
    assert analysis.served_ahead(table).to_list() == brute_force(table)


def test_inversions_of_many_flows_are_those_of_all_pairs():
    chance = random.Random(5)
    rows = [
        (
            chance.randrange(3),
            chance.randrange(10**6),
            chance.choice((None, *[chance.randrange(1, 10**5)] * 9)),
            chance.choice((None, *[chance.randrange(1, 10**5)] * 9)),
        )
        for _ in range(600)
    ]
    expected = brute_force(flows(*rows))
    assert sum(expected) > 1000
    assert analysis.served_ahead(flows(*rows)).to_list() == expected


def one_server(jobs, key):
    """Completion times of (arrival, size, deadline) on a link that serves a unit at a time, the least key first."""
    left, end, now = [size for _, size, _ in jobs], [0] * len(jobs), 0
    while any(left):
        ready = [n for n, (arrival, _, _) in enumerate(jobs) if arrival <= now and left[n]]
        now += 1
        if ready:
            chosen = min(ready, key=lambda n: (key(*jobs[n]), n))
            left[chosen] -= 1
            end[chosen] = now
    return flows(*((0, a, e - a, d) for (a, _, d), e in zip(jobs, end, strict=True)))


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 6), st.integers(1, 25)), max_size=12))
def test_the_earliest_deadline_first_inverts_nothing(jobs):
    """A theorem: whoever always serves what is due first, late or not, never serves a flow ahead of an earlier one."""
    assert analysis.inversions(one_server(jobs, lambda arrival, _, due: arrival + due)) == (0, 0)


def test_first_come_first_served_inverts():
    # The first is long and has time, the second, third and fourth cannot wait for it.
    jobs = [(0, 10, 50), (1, 1, 3), (2, 1, 3), (3, 1, 30)]
    assert analysis.inversions(one_server(jobs, lambda arrival, *_: arrival)) == (1, 2)
    assert analysis.inversions(one_server(jobs, lambda arrival, _, due: -(arrival + due))).flows > 0


SCENARIO = {
    "topology": {"single-switch": {"hosts": 10, "rate": "1Gbps"}},
    "traffic": [
        {
            "name": "answers",
            "arrivals": {"poisson": {"load": 0.9}},
            "matrix": {"incast": {"senders": 8, "receiver": 0}},
            "sizes": {"uniform": {"min": "20KB", "max": "100KB"}},
            "deadlines": {"exponential": {"mean": "5ms", "min": "1ms"}},
            "flows": 150,
        },
        {
            "name": "update",
            "arrivals": "at-once",
            "matrix": {"pairs": [[9, 0]]},
            "sizes": {"fixed": "3MB"},
        },
    ],
}
TCP = {"preset": "datacentre"}
TRANSPORTS = {
    "dctcp": {"transport": {"tcp": {**TCP, "congestion": "dctcp"}}, "queue": {"ecn": {}}},
    "d2tcp": {"transport": {"tcp": {**TCP, "congestion": "d2tcp"}}, "queue": {"ecn": {}}},
    "pfabric": {"transport": "pfabric", "queue": "pfabric"},
    "ndp": {"transport": "ndp", "queue": "ndp"},
    "daq": {"transport": "daq"},
    "datagram": {"transport": "datagram", "queue": {"drop-tail": {"limit": {"packets": 20}}}},
}


@pytest.mark.parametrize("name", TRANSPORTS)
def test_runs_of_every_transport_are_measured(name):
    result = fy.run(SCENARIO | TRANSPORTS[name] | {"run": {"until": "70ms"}})
    rows = pl.DataFrame(result.flows).filter(tag="answers").rows(named=True)
    row = analysis.timeliness(result.flows, ("tag",)).row(0, named=True)
    assert (row["tag"], row["flows"]) == ("answers", len(rows))
    assert row["met"] + row["late"] + row["abandoned"] + row["unfinished"] == len(rows)
    late = [flow["fct_ps"] - flow["deadline_ps"] for flow in rows if flow["completed"]]
    assert row["met"] == sum(excess <= 0 for excess in late)
    late = [excess for excess in late if excess > 0]
    assert row["late"] == len(late)
    # The run is cut off, or loses packets for good.
    assert row["unfinished"] > 0
    assert row["application_throughput"] == row["met"] / len(rows)
    if late:
        assert row["lateness_p99_ps"] == pytest.approx(np.percentile(late, 99))
    assert sorted(analysis.lateness(result.flows)) == sorted(late)
    assert analysis.served_ahead(result.flows).to_list() == brute_force(pl.DataFrame(result.flows))


def queue_of(senders, deadline_us=86, **entry):
    """One packet of 12 us from each of so many hosts at the same time: the k-th arrives after 26 us + (k - 1) 12 us."""
    answers = {
        "name": "answers",
        "arrivals": {"at-once": {"jitter": "0s"}},
        "matrix": {"incast": {"senders": senders, "receiver": 0}},
        "sizes": {"fixed": "1472B"},
        "flows": senders,
        "deadline": f"{deadline_us}us",
    }
    return {
        "topology": {"single-switch": {"hosts": senders + 1, "rate": "1Gbps", "delay": "1us"}},
        "transport": "datagram",
        "traffic": [answers | entry],
    }


@pytest.mark.parametrize("search", ["grid", "bisect"])
@pytest.mark.parametrize(("share", "most"), [(1.0, 6), (0.99, 6), (0.6, 10), (0.5, 12), (0.31, 19)])
def test_the_search_finds_what_follows_from_the_queue(share, most, search):
    # Six packets are there by 26 us + 5 x 12 us = 86 us: of n flows 6 / n are in time.
    found = most_senders(queue_of, range(1, 31), share=share, seeds=(1, 2), search=search)
    assert (found.most, found.highest, found.share) == (most, most, share)
    for row in found.points.rows(named=True):
        n = row["senders"]
        assert (row["runs"], row["flows"], row["met"]) == (2, 2 * n, 2 * min(n, 6))
        assert row["reached"] == (min(n, 6) / n >= share)
    assert found.points.height == 30 if search == "grid" else found.points.height <= 5
    assert found.runs.height == 2 * found.points.height
    assert set(found.runs["status"]) == {"complete"}
    assert found.points["senders"].is_sorted()


def test_a_throughput_that_rises_again_is_seen_by_a_grid():
    def scenario(senders):
        return queue_of(senders, 30 if senders == 4 else 86)

    found = most_senders(scenario, [6, 2, 8, 4])
    assert found.points["reached"].to_list() == [True, False, True, False]
    assert (found.most, found.highest) == (2, 6)


def test_the_rule_for_tables_of_ones_own():
    assert largest({}) == (None, None)
    assert largest({30: 0.5, 10: 1.0, 20: 0.99}) == (20, 20)
    assert largest({30: 0.995, 10: 1.0, 20: 0.98, 40: 0.9}) == (10, 30)
    assert largest({5: 0.9, 10: 1.0}) == (None, 10)
    assert largest({5: 0.9, 10: 0.8}, share=0.8) == (10, 10)


def test_none_and_all_may_reach_the_share():
    for search in ("grid", "bisect"):
        none = most_senders(queue_of, [7, 9, 11], search=search)
        assert (none.most, none.highest) == (None, None)
        assert most_senders(queue_of, [2, 3, 5], search=search).most == 5


def test_background_and_the_warm_up_do_not_count():
    def scenario(senders):
        given = queue_of(senders)
        late = given["traffic"][0] | {"name": "late", "deadline": "1ps", "background": True}
        return given | {"traffic": [*given["traffic"], late]}

    found = most_senders(scenario, [2])
    assert (found.most, found.points["flows"].to_list()) == (2, [2])


def test_seeds_are_those_of_the_runs():
    def scenario(senders):
        return queue_of(senders, deadline=None, deadlines={"uniform": {"min": "20us", "max": "90us"}})

    found = most_senders(scenario, [8], seeds=(3, 7, 11))
    for seed, met in found.runs.select("seed", "met").iter_rows():
        alone = fy.run(scenario(8), {"run.seed": seed})
        assert met == pl.DataFrame(alone.flows)["met_deadline"].sum()
    assert found.points["met"].to_list() == [found.runs["met"].sum()]


WRONG = {
    "numbers: none": ({"numbers": []}, "numbers: []; use whole numbers of at least 1"),
    "numbers: twice": ({"numbers": [3, 3]}, "no two the same"),
    "numbers: zero": ({"numbers": [0, 3]}, "at least 1"),
    "numbers: fraction": ({"numbers": [2.5]}, "use whole numbers"),
    "seeds": ({"numbers": [3], "seeds": ()}, "seeds: []; use whole numbers of at least 0"),
    "share": ({"numbers": [3], "share": 99}, "share: 99; use a number above 0 and at most 1"),
    "search": ({"numbers": [3], "search": "guess"}, 'search: \'guess\'; use "grid" or "bisect"'),
}


@pytest.mark.parametrize(("asked", "said"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_searched_is_told(asked, said):
    with pytest.raises(UserError) as error:
        most_senders(queue_of, **asked)
    assert said in str(error.value)


def test_runs_without_deadlines_and_wrong_scenarios_are_told():
    with pytest.raises(UserError, match="no flow that counts has a deadline") as error:
        most_senders(lambda senders: queue_of(senders, deadline=None), [3])
    assert error.value.__notes__ == ["with 3 senders, run.seed = 1"]
    with pytest.raises(ScenarioError, match="hosts") as wrong:
        most_senders(lambda senders: queue_of(senders, sources={"hosts": [99]}), [2, 5])
    assert "senders, run.seed = 1" in wrong.value.__notes__[0]


def test_ctrl_c_ends_the_search():
    before = signal.getsignal(signal.SIGINT)

    def scenario(senders):
        if senders == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return queue_of(senders)

    with pytest.raises(KeyboardInterrupt):
        most_senders(scenario, [2, 3, 4])
    assert signal.getsignal(signal.SIGINT) is before


def test_the_how_to(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    pages.follow(PAGE, work, pages.environment(tmp_path / "bin"))


def test_the_how_to_is_long_enough() -> None:
    """A pattern that no longer finds anything would make the test above pass."""
    kinds = [kind for block in pages.blocks(PAGE) for kind in block.words]
    assert (kinds.count("run"), kinds.count("output"), kinds.count("file")) == (5, 5, 2)
