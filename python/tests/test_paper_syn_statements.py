"""SYN: what its text says beside its figures: one queue a server, control bytes, three layers."""

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from conftest import drawn_from_csv

from flowyard.papers.figure import Scale
from flowyard.papers.judge import FAIL, NOT_REACHED, PASS
from flowyard.sweeps import Plan
from flowyard_papers.syn import _rack as rack
from flowyard_papers.syn import clos, control_bytes, one_queue


@pytest.mark.parametrize("scale", Scale)
@pytest.mark.parametrize("figure", [one_queue, control_bytes], ids=lambda module: module.FIGURE.id)
def test_plans_can_be_run(figure, scale):
    for plan in figure.FIGURE.plans(scale).values():
        assert isinstance(plan, Plan)
        assert plan.first()["run"]


class TestOneQueue:
    judge = staticmethod(one_queue.FIGURE.claims["SYN-P15"])

    def test_full_queues_carry_what_is_known(self):
        """2 - sqrt(2) without end of servers; with 120 a little more."""
        got = one_queue.carried(1.2, 1.0, 2_000, np.random.default_rng(1))
        assert got == pytest.approx(2 - 2**0.5, abs=0.01)

    def test_what_is_offered_is_carried_below(self):
        got = one_queue.carried(0.3, 1.0, 5_000, np.random.default_rng(1))
        assert got == pytest.approx(0.3, abs=0.01)

    def test_no_server_sends_to_itself(self):
        servers = np.arange(120)
        for seed in range(5):
            assert (one_queue._others(servers, np.random.default_rng(seed)) != servers).all()

    @pytest.mark.parametrize(
        ("one", "many", "verdict"),
        [(0.586, 0.99, PASS), (0.63, 0.99, FAIL), (0.54, 0.99, FAIL), (0.586, 0.94, FAIL)],
    )
    def test_judge(self, one, many, verdict):
        rows = [
            {"queues": one_queue.QUEUES, "traffic": one_queue.FLOWS, "of_limit": 1.2, "carried": many},
            {"queues": one_queue.ONE_QUEUE, "traffic": one_queue.PACKETS, "of_limit": 1.2, "carried": one},
            {"queues": one_queue.ONE_QUEUE, "traffic": one_queue.FLOWS, "of_limit": 1.2, "carried": 0.5},
        ]
        found = self.judge({"points": pl.DataFrame(rows)})
        assert found.verdict == verdict
        assert dict(found.readings)[one_queue.FLOWS].verdict == FAIL

    def test_made(self, made):
        tables = made(one_queue.FIGURE)
        assert self.judge(tables).verdict == PASS
        assert drawn_from_csv(one_queue.FIGURE, tables).axes


class TestControlBytes:
    judge = staticmethod(control_bytes.FIGURE.claims["SYN-P16"])

    def test_made(self, made):
        tables = made(control_bytes.FIGURE)
        assert self.judge(tables).verdict == PASS
        assert drawn_from_csv(control_bytes.FIGURE, tables).axes
        still = dict(tables["still"].group_by("system").agg(pl.col("while_still").max()).iter_rows())
        # SYN grants a packet per slot to each of 120 servers, and hears of each: 5 ms are 406 slots.
        assert still[rack.MMF] == pytest.approx(2 * 120 * 406, rel=0.15)
        assert still[rack.ASY] == 0

    def test_judge(self, made):
        tables = made(control_bytes.FIGURE)
        busy = tables["still"].with_columns(while_still=pl.lit(1))
        assert self.judge({**tables, "still": busy}).verdict == FAIL
        silent = tables["still"].with_columns(while_still=pl.lit(0))
        assert self.judge({**tables, "still": silent}).verdict == FAIL
        assert self.judge({**tables, "still": tables["still"].filter(system=rack.ASY)}).verdict == NOT_REACHED


class TestThreeLayers:
    judge = staticmethod(clos.FIGURE.claims["SYN-P18"])

    def test_paths_go_by_cables_to_their_ends(self):
        tree = clos.fabric(4)
        pairs = [(server, (server + 5) % tree.servers) for server in range(tree.servers)]
        ways = clos.paths(tree, pairs) or []
        assert [(way[0], way[-1]) for way in ways] == pairs
        hops = [hop for way in ways for hop in pairwise(way)]
        assert set(hops) <= tree.cables
        assert len(set(hops)) == len(hops)
        # Below one edge switch, in one pod, and between pods.
        short = clos.paths(tree, [(0, 1), (4, 6), (8, 15)]) or []
        assert [len(way) for way in short] == [3, 5, 7]

    def test_two_packets_from_a_server_have_no_colours(self):
        tree = clos.fabric(4)
        # Three packets leave an edge switch with two uplinks.
        assert clos.paths(tree, [(0, 4), (1, 8), (1, 12)]) is None

    def test_made(self, made):
        tables = made(clos.FIGURE)
        assert self.judge(tables).verdict == PASS
        assert drawn_from_csv(clos.FIGURE, tables).axes
        assert tables["matchings"]["through_core"].sum() > 0
        shared = tables["matchings"].with_columns(busiest_link=pl.lit(2))
        assert self.judge({"matchings": shared}).verdict == FAIL
        assert self.judge({"matchings": shared.filter(k=6)}).verdict == NOT_REACHED
