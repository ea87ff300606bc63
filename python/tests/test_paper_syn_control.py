"""SYN's controllers: the normalisation against what is known of it, what captures say, and judges on made-up tables."""

import numpy as np
import polars as pl
import pytest
from conftest import drawn_from_csv

from flowyard.papers.figure import Scale
from flowyard.papers.judge import FAIL, NOT_REACHED, PASS
from flowyard.sweeps import Plan
from flowyard_papers.syn import _rack, _sent, _sinkhorn, matchings, normalisation, priorities, slots

FIGURES = (matchings, normalisation, slots)


@pytest.mark.parametrize("scale", Scale)
@pytest.mark.parametrize("figure", FIGURES, ids=lambda module: module.FIGURE.id)
def test_plans_can_be_run(figure, scale):
    for plan in figure.FIGURE.plans(scale).values():
        assert isinstance(plan, Plan)
        assert plan.first()["run"]


def where(table, change, **rows):
    """A table with one column changed in the rows that have these values."""
    ((column, value),) = change.items()
    chosen = pl.all_horizontal([pl.col(name) == one for name, one in rows.items()] or [pl.lit(True)])
    assert not table.filter(chosen).is_empty()
    return table.with_columns(pl.when(chosen).then(pl.lit(value)).otherwise(pl.col(column)).alias(column))


def verdicts(judged):
    return {name: one.verdict for name, one in judged.readings}


class TestProcedure:
    def test_incast_is_shared(self):
        offered = np.zeros((4, 4))
        offered[1:, 0] = 1
        assert _sinkhorn.normalised(offered)[1:, 0] == pytest.approx([1 / 3] * 3)

    def test_sparse_by_hand(self):
        """A round takes w02 = x to x / (1 + 2 x): 1/3 after the first, 1/41 after the 20th."""
        offered = np.zeros((4, 4))
        for pair in ((0, 1), (0, 2), (1, 2), (2, 0), (3, 0)):
            offered[pair] = 1
        rates = _sinkhorn.normalised(offered, range(16))
        found = [rates[pair] for pair in ((0, 1), (0, 2), (1, 2), (2, 0), (3, 0))]
        assert found == pytest.approx([41 / 42, 1 / 42, 41 / 42, 0.5, 0.5])
        assert _sinkhorn.normalised(offered)[1, 2] == pytest.approx(1 - 1 / 41)

    def test_optimum(self):
        # Two of three rows can be full; entries beyond 1 are not asked for.
        support = np.array([[1, 0, 0], [1, 0, 0], [0, 1, 1]], dtype=bool)
        assert _sinkhorn.most(support) == pytest.approx(2)
        assert _sinkhorn.most(np.ones((5, 5), dtype=bool)) == pytest.approx(5)

    @pytest.mark.parametrize("seed", range(5))
    def test_no_sum_above_one(self, seed):
        random = np.random.default_rng(seed)
        offered = _sinkhorn.sparse(random, even=bool(seed % 2))
        rates = _sinkhorn.normalised(offered, random.permutation(offered.size).tolist())
        assert max(rates.sum(0).max(), rates.sum(1).max()) <= 1 + 1e-12
        assert (rates[offered == 0] == 0).all()

    def test_utility_is_lost_off_the_optimum(self):
        random = np.random.default_rng(1)
        offered = 1 - random.random((5, 5))
        best = _sinkhorn.scaled(offered, 1000, agreed=1e-14)
        assert priorities._lost(offered, best, random) < 0
        other = _sinkhorn.scaled(1 - random.random((5, 5)), 1000, agreed=1e-14)
        assert priorities._lost(offered, other, random) > 1e-6


class TestNormalisation:
    figure = normalisation.FIGURE

    def test_claims(self, made):
        tables = made(self.figure)
        assert self.figure.claims["SYN-P5"](tables).verdict == PASS
        assert len(drawn_from_csv(self.figure, tables).axes) == 2

    def test_p5_can_fail(self, made):
        tables = made(self.figure)
        judge = self.figure.claims["SYN-P5"]
        low = {**tables, "optimum": where(tables["optimum"], {"share": 0.94}, number=3)}
        assert judge(low).verdict == FAIL
        one = tables["rates"].filter(case=normalisation.LITTLE).row(0, named=True)
        keys = {name: one[name] for name in ("case", "number", "from", "to")}
        for factor, verdict in ((0.995, PASS), (1.02, FAIL)):
            rates = where(tables["rates"], {"measured": one["computed"] * factor}, **keys)
            assert judge({**tables, "rates": rates}).verdict == verdict
        none = {**tables, "rates": tables["rates"].filter(case=normalisation.FULL)}
        assert judge(none).verdict == NOT_REACHED

    def test_packets_have_a_reading_of_their_own(self, made):
        tables = made(self.figure)
        for share, verdict in ((0.97, PASS), (0.9, FAIL)):
            number = pl.col("optimum") / pl.len().over("case", "number")
            rates = tables["rates"].with_columns(
                measured=pl.when(case=normalisation.FULL).then(share * number).otherwise("measured")
            )
            found = self.figure.claims["SYN-P5"]({**tables, "rates": rates})
            assert verdicts(found)[normalisation.MEASURED] == verdict


class TestPriorities:
    figure = priorities.FIGURE

    def test_claims(self, made):
        tables = made(self.figure)
        found = {claim: judge(tables) for claim, judge in self.figure.claims.items()}
        assert found["SYN-P12"].verdict == PASS
        assert found["SYN-P11"].verdict == PASS
        # The last one by the counter-example below.
        assert verdicts(found["SYN-P11"]) == {
            priorities.ONE: PASS,
            priorities.SUM: PASS,
            priorities.EACH: FAIL,
        }
        assert len(drawn_from_csv(self.figure, tables).axes) == 2

    def test_the_counter_example(self):
        ones, doubled = np.ones((2, 2)), np.array([[2.0, 2.0], [2.0, 1.0]])
        before, after = (_sinkhorn.scaled(one, 1000) for one in (ones, doubled))
        assert before[0, 0] == pytest.approx(0.5)
        assert after[0, 0] == pytest.approx(np.sqrt(0.5) / (1 + np.sqrt(0.5)))

    @pytest.mark.parametrize(
        ("reading", "case", "column"),
        [
            (priorities.EACH, priorities.EACH, "least_gain"),
            (priorities.SUM, priorities.EACH, "gain_of_sum"),
            (priorities.ONE, priorities.ONE, "least_gain"),
        ],
    )
    def test_p11_can_pass_and_fail(self, made, reading, case, column):
        judge = self.figure.claims["SYN-P11"]
        good = made(self.figure)["priorities"].with_columns(least_gain=pl.lit(0.0), gain_of_sum=pl.lit(0.1))
        assert set(verdicts(judge({"priorities": good})).values()) == {PASS}
        bad = where(good, {column: -1e-6}, **{"class": case, "number": 5, "matrix": priorities.SPARSE})
        found = verdicts(judge({"priorities": bad}))
        assert found.pop(reading) == FAIL
        assert set(found.values()) == {PASS}
        assert judge({"priorities": good.remove(matrix=priorities.SPARSE)}).verdict == NOT_REACHED

    @pytest.mark.parametrize("column", ["residual", "off_one", "utility_lost"])
    def test_p12_can_fail(self, made, column):
        limits = where(made(self.figure)["limits"], {column: 2e-9}, number=0, servers=20)
        assert self.figure.claims["SYN-P12"]({"limits": limits}).verdict == FAIL


def flows_of(*listed):
    """Flows: source, destination, packets, start in ns."""
    rows = [
        {"src": a, "dst": b, "size_bytes": 1500 * count - 700, "start_ps": 1000 * at}
        for a, b, count, at in listed
    ]
    return pl.DataFrame(rows)


def sent_of(*listed):
    return pl.DataFrame([{"from": a, "to": b, "began_ns": at} for a, b, at in listed])


class TestSent:
    def test_changes_by_hand(self):
        flows = flows_of((0, 1, 2, 10), (0, 1, 1, 15), (0, 2, 1, 15))
        packets = sent_of((0, 1, 10), (0, 1, 20), (0, 1, 40), (0, 2, 30))
        changed = _sent.changes(flows, packets)
        assert changed.select("at_ns", "to", "step").rows() == [
            (10, 1, 1),
            (15, 2, 1),
            (30, 2, -1),
            (40, 1, -1),
        ]
        assert _sent.most_in_use(changed) == 2
        assert (changed["left"] >= 0).all()

    def test_a_packet_that_goes_at_once(self):
        changed = _sent.changes(flows_of((0, 1, 1, 7)), sent_of((0, 1, 7)))
        assert changed["step"].to_list() == [1, -1]
        assert _sent.most_in_use(changed) == 1

    def test_a_packet_too_many_shows(self):
        changed = _sent.changes(flows_of((0, 1, 1, 7)), sent_of((0, 1, 7), (0, 1, 20)))
        assert (changed["left"] < 0).any()


class TestMatchings:
    figure = matchings.FIGURE

    def test_claims(self, made):
        tables = made(self.figure)
        for claim, judge in self.figure.claims.items():
            assert judge(tables).verdict == PASS, claim
        assert len(drawn_from_csv(self.figure, tables).axes) == 2

    @pytest.mark.parametrize(
        ("claim", "change", "system"),
        [
            ("SYN-P2", {"violations": 1}, "SYN, SRJF"),
            ("SYN-P2", {"most_from_a_server": 2}, "SYN, OCF"),
            ("SYN-P2", {"most_to_a_server": 2}, "SYN, MMF"),
            ("SYN-P2", {"off_slot": 1}, "SYN, MMF"),
            ("SYN-P4", {"violations": 1}, "ASY"),
            ("SYN-P13", {"violations": 1}, "ASY"),
            ("SYN-P13", {"from_empty_queues": 1}, "ASY"),
            ("SYN-P13", {"most_queues": 120}, "SYN, MMF"),
        ],
    )
    def test_each_claim_can_fail(self, made, claim, change, system):
        tables = made(self.figure)
        runs = where(tables["runs"], change, system=system, traffic=matchings.ALL)
        assert self.figure.claims[claim]({**tables, "runs": runs}).verdict == FAIL

    def test_too_few_queues_fail(self, made):
        tables = made(self.figure)
        runs = where(tables["runs"], {"most_queues": 118}, traffic=matchings.ALL)
        assert self.figure.claims["SYN-P13"]({**tables, "runs": runs}).verdict == FAIL

    @pytest.mark.parametrize("claim", figure.claims)
    def test_runs_without_an_audit_say_nothing(self, made, claim):
        tables = made(self.figure)
        runs = where(tables["runs"], {"violations": None}, system="ASY")
        runs = where(runs, {"violations": None}, system="SYN, MMF")
        assert self.figure.claims[claim]({**tables, "runs": runs}).verdict == NOT_REACHED
        assert self.figure.claims[claim]({**tables, "runs": tables["runs"].clear()}).verdict == NOT_REACHED


class TestSlots:
    figure = slots.FIGURE

    def test_arithmetic_of_the_register(self):
        """SYN-X9 has these."""
        listed = {64: 0.967, 128: 0.942, 256: 0.895, 512: 0.813, 1024: 0.559, 1500: 0.611, 2048: 0.447}
        for size, share in listed.items():
            assert slots.filling(size, _rack.BIMODAL) == pytest.approx(share, abs=5e-4)
        assert slots.filling(1024, _rack.FIXED) == pytest.approx(0.732, abs=5e-4)
        assert slots.filling(1500, _rack.FIXED) == 1

    def test_measured_is_as_computed(self, made):
        tables = made(self.figure)
        off = (tables["slots"]["efficiency"] / tables["slots"]["arithmetic"] - 1).abs()
        assert off.max() < 0.01
        found = self.figure.claims["SYN-P10"](tables)
        assert found.verdict == FAIL
        assert "at 1024 B" in found.reason
        assert len(drawn_from_csv(self.figure, tables).axes) == 2

    def test_the_claim_can_pass_and_fail(self, made):
        judge = self.figure.claims["SYN-P10"]
        share = pl.col("slot_bytes") ** -0.1
        falling = made(self.figure)["slots"].with_columns(
            efficiency=share, arithmetic=share, messages_per_byte=1 / pl.col("slot_bytes")
        )
        assert judge({"slots": falling}).verdict == PASS
        for column in ("efficiency", "arithmetic", "messages_per_byte"):
            risen = where(falling, {column: 0.9}, slot_bytes=2048, lengths=_rack.BIMODAL)
            assert judge({"slots": risen}).verdict == FAIL
        assert judge({"slots": falling.remove(slot_bytes=1024)}).verdict == NOT_REACHED
