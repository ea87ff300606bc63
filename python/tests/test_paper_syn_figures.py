"""SYN's figures 3 to 6: what is read of runs, and every judge on tables made up for it, both ways."""

import math
from typing import ClassVar

import numpy as np
import polars as pl
import pytest
from conftest import drawn_from_csv, open_sweep

from flowyard import sweeps
from flowyard.analysis.intervals import replica_means
from flowyard.papers.figure import Needs, Scale
from flowyard.papers.judge import FAIL, NOT_REACHED, PASS
from flowyard.sweeps import Plan
from flowyard_papers.syn import _completion as completion
from flowyard_papers.syn import _fairness as fairness
from flowyard_papers.syn import _judges as judges
from flowyard_papers.syn import _rack as rack
from flowyard_papers.syn import incast, lengths, limits, uniform
from flowyard_papers.syn._leaf_spine import SERVERS
from flowyard_papers.syn._rack import ASY, BIMODAL, DOWN, FBW, FIXED, IN_TURN, MAX_MIN, MMF, OCF, PASSES, SRJF

FIGURES = (uniform, incast, lengths, limits)
MS = 10**9


@pytest.mark.parametrize("scale", Scale)
@pytest.mark.parametrize("figure", FIGURES, ids=lambda module: module.FIGURE.id)
def test_plans_can_be_run(figure, scale):
    for plan in figure.FIGURE.plans(scale).values():
        assert isinstance(plan, Plan)
        assert plan.first()["controller"]


def made(systems, loads, values, unstable=lambda **_: False, **more):
    """Runs: each value is a number or a function of system and load (and of what is in `more`)."""
    rows = []
    for system in systems:
        for load in loads:
            for replica in range(3):
                at = {"system": system, "load": load, **more}
                row = {**at, "replica": replica, "unstable": unstable(**at), "flows": 1000, "unfinished": 0}
                drawn = {name: value(**at) if callable(value) else value for name, value in values.items()}
                # Replicas differ, all systems alike.
                rows.append(
                    row | {name: float(value) * (1 + 1e-4 * replica) for name, value in drawn.items()}
                )
    return pl.DataFrame(rows)


def defaults(**changed):
    return dict.fromkeys(completion.VALUES, 1.0) | changed


def by_system(**values):
    """A function that has a value, or a function of the load, for each system."""

    def value(system, load, **_):
        found = values.get(system, values.get("other", 1.0))
        return found(load) if callable(found) else found

    return value


@pytest.mark.parametrize("name", ["TestUniform", "TestIncast", "TestLengths"])
def test_too_few_seeds_are_noticed(name):
    """What full scale needs is asked of tables and readings that there are; three seeds are too few."""
    case = globals()[name]()
    figure, tables = case.figure, case.tables()
    known = {reading for judge in figure.claims.values() for reading, _ in judge(tables).readings}
    for table, given in figure.needs.items():
        needs = [given] if isinstance(given, Needs) else given
        assert any("3 of " in need.lacking(tables[table]) for need in needs)
        assert {need.reading for need in needs} <= known | {""}


class TestWindow:
    """What is read of flows, on a table by hand: a window from 10 to 20 ms of a run of 30 ms."""

    flows = pl.DataFrame(
        {
            "src": [0, 1, 40, 2, 3],
            "dst": [1, 0, 1, 5, 1],
            "size_bytes": [15_000, 30_000, 3_000, 1_000, 60_000],
            "delivered_bytes": [15_000, 30_000, 3_000, 1_000, 20_000],
            "start_ps": [9 * MS, 12 * MS, 14 * MS, 25 * MS, 19 * MS],
            "fct_ps": [2 * MS, 1 * MS, 4 * MS, 1 * MS, None],
            "ideal_fct_ps": [MS, MS, MS, MS, None],
            "packets_sent": [10, 20, 2, 1, 14],
        },
        schema_overrides=dict.fromkeys(("start_ps", "fct_ps", "ideal_fct_ps", "packets_sent"), pl.UInt64),
    )

    def test_measured(self):
        found = completion.measured(self.flows, 10 * MS, 20 * MS, 30 * MS, lengths=FIXED, incast=False)
        # The last one has the age that it has at the end, 11 ms.
        assert (found["flows"], found["unfinished"]) == (3, 1)
        assert found["raw_ms"] == pytest.approx((1 + 4 + 11) / 3)
        # Alone it would take 41 times 12.304 us and two delays.
        alone_ms = (41 * 12.304 + 1) / 1000
        assert found["fct"] == pytest.approx((1 + 4 + 11 / alone_ms) / 3)
        # Standard deviation of 1, 4, 11.
        assert found["raw_cv"] == pytest.approx(26.333333**0.5 / (16 / 3))
        capacity = 120 * 0.01 * 1e9 / 8
        assert found["offered"] == pytest.approx(93_000 / capacity)
        # The first one ended in the window, the last one did not.
        assert found["carried"] == pytest.approx(48_000 / capacity)
        a, b = 30_000 / 1, 20_000 / 11
        assert found["jain_flows"] == pytest.approx((a + b) ** 2 / (2 * (a * a + b * b)))
        x, y = 18_000, 30_000
        assert found["jain_servers"] == pytest.approx((x + y) ** 2 / (120 * (x * x + y * y)))

    def test_incast_counts_senders(self):
        found = completion.measured(self.flows, 10 * MS, 20 * MS, 30 * MS, lengths=FIXED, incast=True)
        parts = (15_000, 30_000, 3_000)
        assert found["jain_servers"] == pytest.approx(sum(parts) ** 2 / (119 * sum(x * x for x in parts)))
        assert found["carried"] == pytest.approx(48_000 / (0.01 * 1e9 / 8))


def test_runs_are_read(tmp_path):
    """With packets of 1500 B a flow in empty slots takes what it takes in the empty network."""
    window = rack.Window(2, 4, 0, 4)
    observe = {"samples": {"every": "1ms", "links": [], "flow_limit": 10_000}}
    plan = rack.plan("x", [MMF, ASY], [0.05, 0.5], window, replicas=1, observe=observe)
    assert not sweeps.execute(plan, tmp_path / "s").failed
    sweep = open_sweep(tmp_path / "s")
    runs = completion.runs(sweep, window)
    assert len(runs) == 4
    assert runs["unfinished"].sum() > 0
    assert runs["slotted_fct"].to_list() == pytest.approx(runs["fct"].to_list())
    assert (runs["fct"] > 1).all()
    assert runs["offered"].to_numpy() == pytest.approx(runs["load"].to_numpy(), rel=0.4)
    assert not runs["unstable"].any()
    pairs = completion.pair_fairness(sweep, window, MS)
    assert pairs["jain_pairs"].drop_nulls().is_between(0, 1).all()
    assert pairs.filter(load=0.5)["pair_windows"].min() > 10
    rates = completion.pair_rates(sweep.path(sweep.runs["run"][1]), 2 * MS, MS)
    # No server sends or receives more than its link takes; a packet more may end in a window.
    room = rack.LINK_BPS + 2 * 12_000 * 1000
    for end in ("src", "dst"):
        assert rates.group_by("time_ps", end).agg(pl.col("bps").sum())["bps"].max() <= room


class TestJudges:
    def test_unstable_loads_are_not_compared(self):
        runs = made(
            [MMF, ASY],
            [0.5, 0.9],
            {"fct": by_system(**{MMF: 1.0})},
            lambda system, load: system == MMF and load > 0.6,
        )
        assert set(judges.compared(runs, [MMF, ASY])["load"]) == {0.5}
        assert set(judges.compared(runs, [ASY])["load"]) == {0.5, 0.9}
        assert set(judges.compared(runs, [MMF, ASY], unstable=True)["load"]) == {0.5, 0.9}
        assert judges.ordered(runs.filter(load=0.9), [(ASY, MMF)], "fct").verdict == NOT_REACHED

    def test_trend(self):
        rising = made([MMF], [0.1, 0.2, 0.3], {"y": lambda load, **_: load})
        assert judges.trend(rising, "y", rising=True).verdict == PASS
        assert judges.trend(rising, "y", rising=False).verdict == FAIL
        bent = made([MMF], [0.1, 0.2, 0.3], {"y": lambda load, **_: {0.1: 1, 0.2: 3, 0.3: 2.9}[load]})
        assert judges.trend(bent, "y", rising=True).verdict == FAIL
        assert judges.trend(bent, "y", rising=True, relative=0.05).verdict == PASS
        assert judges.trend(rising.filter(load=0.1), "y", rising=True).verdict == NOT_REACHED

    def test_many_unfinished_flows_are_told(self):
        runs = made([MMF, ASY], [0.5], {"fct": 1.0}).with_columns(unfinished=pl.lit(20))
        assert "2 % of the flows" in judges.alike(runs, MMF, ASY, "fct", 0.8, 1.25).note


class TestUniform:
    figure = uniform.FIGURE
    systems = (*uniform.JUDGED, *uniform.ORDERS, DOWN, MAX_MIN, PASSES)

    def tables(self, index=None, pairs=None, matrix=None, **changed):
        fair = by_system(**{MMF: 0.99, "other": lambda load: 0.99 - 0.005 / (1 + 10 * load)})
        values = defaults(jain_flows=index or fair, carried=lambda load, **_: load) | changed
        values.setdefault("fct", 1.0)
        ranked = by_system(**{OCF: 3.0, MMF: 1.01, SRJF: 0.9})
        longer = values["fct"] if "fct" in changed else ranked
        runs = made(self.systems, rack.LOADS, values | {"fct": longer})
        rates = made(uniform.RATED, rack.LOADS, {"jain_pairs": pairs or fair, "pair_windows": 100})
        shares = {"jain_rates": matrix or index or fair, "entries": 100}
        matrices = made(uniform.JUDGED, rack.LOADS, shares).drop("unstable")
        keys = [*completion.KEYS, "unstable"]
        return {
            "runs": runs,
            "points": replica_means(runs, keys, completion.VALUES),
            "matrices": matrices,
            "matrix_points": replica_means(matrices, completion.KEYS, ["entries", "jain_rates"]),
            "pairs": rates,
            "pair_points": replica_means(rates, completion.KEYS, ["pair_windows", "jain_pairs"]),
        }

    @pytest.mark.parametrize("claim", figure.claims)
    def test_what_the_paper_has_passes(self, claim):
        found = self.figure.claims[claim](self.tables())
        assert {found.verdict, *(one.verdict for _, one in found.readings)} == {PASS}

    @pytest.mark.parametrize(
        ("claim", "changed"),
        [
            (
                "SYN-F3.a",
                {"index": by_system(**{MMF: 0.98, "other": lambda load: 0.99 - 0.1 * (load > 0.05)})},
            ),
            (
                "SYN-F3.b",
                {"index": by_system(**{MMF: 0.99, "other": lambda load: 0.955 if load == 0.7 else 0.99})},
            ),
            ("SYN-F3.b", {"index": by_system(**{MMF: 0.95, "other": 0.99})}),
            ("SYN-F3.c", {"index": 0.94}),
            ("SYN-F3.c", {"index": by_system(**{MMF: lambda load: 1 if load < 0.9 else 0.9})}),
            ("SYN-F3.d", {"index": by_system(**{MMF: 0.99, "other": lambda load: 0.99 - load / 100})}),
            (
                "SYN-F4.i",
                {"fct": by_system(**{OCF: 3, MMF: 2, SRJF: lambda load: 2.5 if load == 0.9 else 1})},
            ),
            ("SYN-F4.i", {"fct": by_system(**{OCF: lambda load: 1 if load == 0.05 else 3, MMF: 2})}),
            ("SYN-F5.a", {"fct": by_system(**{MMF: lambda load: 1.3 if load == 0.5 else 1})}),
            ("SYN-F5.a", {"fct": by_system(**{MMF: lambda load: 0.75 if load == 0.5 else 1})}),
            ("SYN-F5.b", {"fct": by_system(**{MMF: lambda load: 0.9 if load == 0.8 else 2})}),
            ("SYN-F5.c", {"fct_cv": by_system(**{MMF: lambda load: 0.6 if load == 0.3 else 1})}),
            (
                "SYN-F5.d",
                {
                    "carried": by_system(
                        **{MMF: lambda load: load * (1.02 if load == 0.2 else 1), "other": lambda load: load}
                    )
                },
            ),
            ("SYN-P9", {"index": by_system(**{MMF: 0.95, "other": 0.99})}),
            ("SYN-P9", {"fct": by_system(**{MMF: lambda load: 1.3 if load == 0.5 else 1})}),
            ("SYN-P9", {"carried": by_system(**{MMF: 0.5, "other": 0.52})}),
        ],
    )
    def test_others_fail(self, claim, changed):
        assert self.figure.claims[claim](self.tables(**changed)).verdict == FAIL

    def test_readings_are_told_apart(self):
        pairs = self.tables(pairs=by_system(**{MMF: 0.99, "other": 0.5}))
        verdicts = {name: one.verdict for name, one in self.figure.claims["SYN-F3.b"](pairs).readings}
        assert verdicts[uniform.OF_FLOWS] == PASS
        assert verdicts[uniform.OF_PAIRS] == FAIL
        # The claim's own verdict is that of the random matrices.
        uneven = self.figure.claims["SYN-F3.b"](self.tables(matrix=by_system(**{MMF: 0.99, "other": 0.9})))
        assert (uneven.verdict, uneven.readings[0][0]) == (FAIL, uniform.OF_MATRIX)
        assert dict(uneven.readings)[uniform.OF_FLOWS].verdict == PASS
        down = self.tables(fct=by_system(**{DOWN: 2.0}))
        verdicts = {name: one.verdict for name, one in self.figure.claims["SYN-F5.a"](down).readings}
        assert verdicts == {uniform.BOTH: PASS, uniform.ONLY_DOWN: FAIL, PASSES: PASS}
        faster = self.tables(fct=by_system(**{PASSES: 0.7}))
        verdicts = {name: one.verdict for name, one in self.figure.claims["SYN-F5.a"](faster).readings}
        assert verdicts == {uniform.BOTH: PASS, uniform.ONLY_DOWN: PASS, PASSES: FAIL}

    def test_without_a_system(self):
        tables = self.tables()
        lacking = {name: table.filter(pl.col("system") != MMF) for name, table in tables.items()}
        for claim, judge in self.figure.claims.items():
            assert judge(lacking).verdict == NOT_REACHED, claim

    def test_drawn_from_files(self):
        assert len(drawn_from_csv(self.figure, self.tables()).axes) == 6


class TestRandomMatrices:
    def test_mmf_takes_turns(self):
        """Three pairs that share a server: each is served in every third slot. A pair apart: in each."""
        waiting = np.zeros((6, 6), bool)
        waiting[0, [1, 2, 3]] = waiting[4, 5] = True
        slots = fairness.served(waiting, 30, np.random.default_rng(1))
        assert slots[0, 1:4].tolist() == [10, 10, 10]
        assert slots[4, 5] == 30
        assert slots.sum() == 60

    def test_a_slot_is_a_matching(self):
        waiting = np.random.default_rng(2).random((20, 20)) < 0.4
        slots = fairness.served(waiting, 1, np.random.default_rng(3))
        assert max(slots.sum(0).max(), slots.sum(1).max()) == 1
        assert not slots[~waiting].any()
        # None that could be added is missing.
        free = (slots.sum(1) == 0)[:, None] & (slots.sum(0) == 0)
        assert not (free & waiting).any()

    def test_their_density_is_the_load(self):
        rows = pl.DataFrame(list(fairness.random_matrices((0.1, 0.9), 1)))
        pairs = SERVERS * (SERVERS - 1)
        assert rows["entries"].to_numpy() / pairs == pytest.approx(rows["load"].to_numpy(), abs=0.01)
        # Sparse: pairs outside every maximum matching get next to nothing from ASY.
        by = {(row["system"], row["load"]): row["jain_rates"] for row in rows.iter_rows(named=True)}
        assert by[ASY, 0.1] < by[MMF, 0.1] < 0.95 < by[MMF, 0.9]


class TestIncast:
    figure = incast.FIGURE
    rank: ClassVar = {OCF: 3.0, MMF: 2.0, SRJF: 1.0, ASY: 2.0}

    def tables(self, bimodal=None, **changed):
        values = defaults(
            fct=lambda system, **_: self.rank[system],
            raw_ms=lambda system, **_: self.rank[system],
            fct_cv=lambda system, **_: 4 - self.rank[system],
            raw_cv=lambda system, **_: 4 - self.rank[system],
            carried=lambda load, **_: load,
            offered=lambda load, **_: load,
        )
        parts = []
        for name, own in ((FIXED, changed), (BIMODAL, bimodal or {})):
            runs = made(incast.SYSTEMS, rack.LOADS, values | own, self.beyond, lengths=name)
            parts.append(runs)
        runs = pl.concat(parts)
        keys = ["lengths", *completion.KEYS, "unstable"]
        return {"runs": runs, "points": replica_means(runs, keys, completion.VALUES)}

    @staticmethod
    def beyond(system, load, lengths):
        return load > rack.limit(system, lengths)

    @pytest.mark.parametrize("claim", figure.claims)
    def test_what_the_paper_has_passes(self, claim):
        found = self.figure.claims[claim](self.tables())
        assert {one.verdict for _, one in found.readings} <= {PASS}
        assert found.verdict == PASS

    @pytest.mark.parametrize(
        ("claim", "changed"),
        [
            ("SYN-F4.a", {"fct": by_system(**{OCF: 3, MMF: lambda load: 3.5 if load == 0.3 else 2})}),
            ("SYN-F4.a", {"fct": by_system(**{OCF: 3, MMF: 2, SRJF: 2.5})}),
            ("SYN-F4.b", {"fct": by_system(**{OCF: 3, ASY: 3.1})}),
            ("SYN-F4.c", {"raw_cv": by_system(**{OCF: 2})}),
            ("SYN-F4.c", {"raw_cv": by_system(**{OCF: lambda load: 2 if load == 0.9 else 0.5})}),
            ("SYN-F4.d", {"raw_cv": by_system(**{SRJF: 0.5})}),
            ("SYN-F4.d", {"raw_cv": by_system(**{MMF: 5})}),
            (
                "SYN-F4.e",
                {"carried": by_system(**{SRJF: lambda load: 0.98 * load, "other": lambda load: load})},
            ),
            ("SYN-F4.f", {"jain_servers": by_system(**{OCF: 0.97})}),
            ("SYN-F4.f", {"jain_servers": 0.96}),
            ("SYN-F4.g", {"fct": by_system(**{ASY: lambda load: 1.3 if load == 0.9 else 1})}),
            ("SYN-F4.g", {"fct": by_system(**{MMF: 1.3})}),
            ("SYN-F4.h", {"bimodal": {"fct": by_system(**{OCF: 2, MMF: 3})}}),
        ],
    )
    def test_others_fail(self, claim, changed):
        assert self.figure.claims[claim](self.tables(**changed)).verdict == FAIL

    def test_variation_is_of_the_fct_as_it_is(self):
        """SYN-X10: the normalised FCT stands beside."""
        tables = self.tables(fct_cv=by_system(**{OCF: 5}))
        for claim in ("SYN-F4.c", "SYN-F4.d"):
            found = self.figure.claims[claim](tables)
            assert {name: one.verdict for name, one in found.readings} == {
                incast.RAW: PASS,
                incast.NORMALISED: FAIL,
            }
            assert found.verdict == PASS

    def test_beyond_its_slots_syn_is_not_ranked(self):
        wrong = by_system(**{OCF: lambda load: 0.1 if load > 0.6 else 3, MMF: 2})
        assert self.figure.claims["SYN-F4.h"](self.tables(bimodal={"fct": wrong})).verdict == PASS

    def test_drawn_from_files(self):
        assert len(drawn_from_csv(self.figure, self.tables()).axes) == 8


def test_oldest_first_under_incast_is_a_queue_with_a_closed_form(tmp_path):
    """Flows of N slots, N geometric, in the order of their arrival at one server that starts at slots.

    An M/G/1 queue whose server takes vacations of a slot: the wait is that of Pollaczek and Khinchine and half a slot.
    Packets that come by ways of 2 and of 4 links meet at the hot spot's link, which adds a slot at most.
    """
    load, window = 0.7, rack.Window(200, 0, 20_000, 200)
    plan = rack.plan("x", [OCF], [load], window, replicas=3, incast=True)
    assert not sweeps.execute(plan, tmp_path / "s").failed
    sweep = open_sweep(tmp_path / "s")
    own = sweep.flows.filter(pl.col("start_ps") >= window.warm_up_ms * MS, "completed").collect()
    wait_ms = (own["fct_ps"].cast(pl.Int64) - own["ideal_fct_ps"].cast(pl.Int64)).mean() / MS
    left = math.exp(-rack.MTU_BYTES / rack.MEAN_BYTES)
    slot_ms = completion.SLOT_PS / MS
    mean, square = slot_ms / (1 - left), slot_ms**2 * (1 + left) / (1 - left) ** 2
    a_ms = rack.flows_per_s(load, FIXED, incast=True) / 1000
    expected = a_ms * square / (2 * (1 - a_ms * mean)) + slot_ms / 2
    assert wait_ms == pytest.approx(expected, rel=0.08)


class TestLengths:
    figure = lengths.FIGURE

    def tables(self, bytes_fct=None, slots_fct=None, slotted=None):
        def fct(system, load, **_):
            return {MMF: 1 + 40 * load, ASY: 1.0}.get(system, 2.0) if system != MMF or load > 0.1 else 1.1

        def value(given):
            return lambda system, load, lengths, **_: (
                found
                if given and (found := given(system, load, lengths)) is not None
                else fct(system, load) * (0.9 if lengths == FBW and system == MMF and load > 0.1 else 1)
            )

        def beyond(system, load, lengths, unit):
            return unit == "bytes" and load > rack.limit(system, lengths)

        parts = []
        for name in lengths.LENGTHS:
            for unit, given in (("bytes", bytes_fct), ("slots", slots_fct)):
                values = defaults(fct=value(given), slotted_fct=value(slotted or given))
                systems = (*lengths.PAPER, *lengths.OTHERS) if unit == "bytes" else lengths.PAPER
                loads = lengths.BYTE_LOADS
                parts.append(made(systems, loads, values, beyond, lengths=name, unit=unit))
        runs = pl.concat(parts)
        return {"runs": runs, "points": replica_means(runs, [*lengths.KEYS, "unstable"], completion.VALUES)}

    @pytest.mark.parametrize("claim", figure.claims)
    def test_what_the_paper_has_passes(self, claim):
        found = self.figure.claims[claim](self.tables())
        assert {name: one.verdict for name, one in found.readings if one.verdict != PASS} == {}

    @pytest.mark.parametrize(
        ("claim", "fct"),
        [
            ("SYN-F6a.a", lambda system, *_: 9.9 if system == MMF else 1),
            ("SYN-F6a.c", lambda system, load, _: 5 - load if system == MMF else None),
            ("SYN-F6a.c", lambda system, load, _: 2 if system == MMF and load == 0.3 else None),
            ("SYN-F6b.b", lambda *at: 1.4 if at[2] == FBW else 1),
            ("SYN-F6b.b", lambda *at: 0.7 if at[2] == FBW else 1),
            ("SYN-F6b.c", lambda *at: 1.4 if at[2] == FBW else 1),
            ("SYN-F6b.d", lambda system, *_: 7.9 if system == MMF else 1),
        ],
    )
    def test_others_fail(self, claim, fct):
        """Each reading by itself: the one with changed times, and not the others."""
        judge = self.figure.claims[claim]
        in_bytes = judge(self.tables(bytes_fct=fct))
        assert in_bytes.verdict == FAIL
        assert dict(in_bytes.readings)[lengths.IN_SLOTS].verdict == PASS
        in_slots = judge(self.tables(slots_fct=fct))
        assert in_slots.verdict == PASS
        assert dict(in_slots.readings)[lengths.IN_SLOTS].verdict == FAIL

    def test_points_beyond_the_limit_are_a_reading_of_their_own(self):
        tall = self.tables(
            bytes_fct=lambda system, load, _: (20 if load > 0.6 else 2) if system == MMF else 1
        )
        found = dict(self.figure.claims["SYN-F6a.a"](tall).readings)
        assert (found[lengths.HELD].verdict, found[lengths.ALL].verdict) == (FAIL, PASS)

    def test_drawn_from_files(self):
        assert len(drawn_from_csv(self.figure, self.tables()).axes) == 4


class TestLimits:
    figure = limits.FIGURE

    def tables(self, carried=1.0, bytes_per_packet=None):
        rows = [
            {
                "system": system,
                "lengths": name,
                "frame_bytes": frame,
                "of_limit": share,
                "limit": rack.limit(system, name, frame),
                "replica": replica,
                "offered": 1.0,
                "growth": 0.0,
                "carried": carried * min(share, 1) * rack.limit(system, name, frame),
                "bytes_per_packet": bytes_per_packet or rack.mean_bytes(name),
            }
            for system, name, frame in limits._cases()
            for share in (limits.BELOW, limits.ABOVE)
            for replica in range(2)
        ]
        runs = pl.DataFrame(rows)
        return {"runs": runs, "points": replica_means(runs, [*limits.KEYS, "limit"], limits.VALUES)}

    @pytest.mark.parametrize("claim", figure.claims)
    def test_full_slots_pass(self, claim):
        assert self.figure.claims[claim](self.tables()).verdict == PASS

    @pytest.mark.parametrize("carried", [0.975, 1.025])
    @pytest.mark.parametrize("claim", ["SYN-F6a.b", "SYN-F6a.d", "SYN-F6b.a"])
    def test_another_saturation_fails(self, claim, carried):
        assert self.figure.claims[claim](self.tables(carried)).verdict == FAIL

    def test_slots_that_are_not_full_fail(self):
        assert self.figure.claims["SYN-F6.e"](self.tables(bytes_per_packet=1499.9)).verdict == FAIL

    def test_without_runs(self):
        empty = {name: table.filter(system=MAX_MIN) for name, table in self.tables().items()}
        for judge in self.figure.claims.values():
            assert judge(empty).verdict == NOT_REACHED

    def test_drawn_from_files(self):
        assert len(drawn_from_csv(self.figure, self.tables()).axes) == 1

    def test_what_a_run_carries(self, tmp_path):
        """SYN, offered more than its slots hold, sends a packet in each of them."""
        plan = limits.plans(Scale.QUICK)["limits"]
        (axis,) = plan.axes
        place = list(axis.labels).index(f"{limits._name(MMF, IN_TURN, 38)}; {limits.ABOVE:g}")
        one = Plan(axis.scenarios[place], name="one")
        assert not sweeps.execute(one, tmp_path / "s").failed
        sweep = open_sweep(tmp_path / "s")
        found = limits.measured(sweep.path(sweep.runs["run"][0]), rack.Window(5, 20, 0, 0), 38)
        assert found["offered"] - found["growth"] == found["carried"]
        assert found["carried"] == pytest.approx(0.5007, abs=0.015)
