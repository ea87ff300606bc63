"""DAQ: fluid models against one flow at a time, RCP's rate against its closed form, and what follows by arithmetic."""

import numpy as np
import polars as pl
import pytest
from conftest import drawn_from_csv

from flowyard.papers.figure import Scale
from flowyard.papers.judge import FAIL, NOT_REACHED, PASS
from flowyard_papers.daq import _models as models
from flowyard_papers.daq import closed_forms, references

ROUNDS, FLOWS = 40, 25


@pytest.fixture(params=list(models.DEADLINES))
def flows(request):
    """Service times and deadlines; sizes that make many late."""
    return models.draw(np.random.default_rng(7), (ROUNDS, FLOWS), 60_000, request.param)


def test_what_is_drawn():
    chance = np.random.default_rng(1)
    for reading, (low, mean) in {
        models.FLOORED: (3e-3, 20e-3 + 20e-3 * (np.exp(-0.15) - 1 + 0.15)),
        models.PLAIN: (0, 20e-3),
        models.UNIFORM: (20e-3, 30e-3),
    }.items():
        service, due = models.draw(chance, (1000, 200), 10_000, reading)
        assert 16e-6 <= service.min() < service.max() <= 144e-6
        assert service.mean() == pytest.approx(80e-6, rel=0.01)
        assert low <= due.min() < low + 1e-4
        assert due.mean() == pytest.approx(mean, rel=0.01)


def served_singly(order, service, due, keep_late=True):
    """Flows one behind the other, in an order."""
    met, busy = np.zeros(len(service), dtype=bool), 0.0
    for flow in order:
        end = models.SETUP_S + busy + service[flow]
        met[flow] = end <= due[flow]
        if met[flow] or keep_late:
            busy += service[flow]
    return met


def test_rules_that_serve_one_flow_at_a_time(flows):
    for service, due in zip(*flows, strict=True):
        numbers = range(FLOWS)
        by_class = np.argsort(due > 9e-3, kind="stable")
        by_due = np.argsort(due, kind="stable")
        expected = {
            models.fifo: served_singly(numbers, service, due),
            models.two_priorities: served_singly(by_class, service, due),
            models.edf_with_rejection: served_singly(by_due, service, due, keep_late=False),
        }
        for rule, met in expected.items():
            assert rule(service[None], due[None])[0].tolist() == met.tolist(), rule.__name__


def test_processor_sharing_step_by_step(flows):
    for service, due in zip(*flows, strict=True):
        left, now, met = dict(enumerate(service)), 0.0, [False] * FLOWS
        while left:
            first = min(left, key=left.__getitem__)
            share = left[first]
            now += share * len(left)
            left = {flow: work - share for flow, work in left.items() if flow != first}
            met[first] = bool(models.SETUP_S + now <= due[first])
        assert models.processor_sharing(service[None], due[None])[0].tolist() == met


def test_thresholds_of_none_and_of_all_are_first_come_first_served(flows):
    service, due = flows
    for threshold in (0.0, np.inf):
        assert (models.two_priorities(service, due, threshold) == models.fifo(service, due)).all()


@pytest.mark.parametrize("limit", [0, 1, 7, 50])
def test_supported_finds_where_a_falling_share_falls(limit):
    assert models.supported(lambda senders: 1.0 if senders <= limit else 0.5, 0.99, 50) == limit


class TestRcp:
    def test_the_start_follows_the_logistic_curve(self):
        rates, queues = models.rcp(5, 0, 4)
        steps = np.arange(len(rates), dtype=np.float64) * models.RCP_SLOT_S
        assert np.abs(5 * rates - models.rcp_logistic(0.5, steps)).max() < 0.01
        assert queues.max() == 0
        # A finer slot comes nearer.
        fine, _ = models.rcp(5, 0, 4, step_s=0.001)
        assert (
            np.abs(5 * fine - models.rcp_logistic(0.5, np.arange(len(fine), dtype=np.float64) / 1000)).max()
            < 0.001
        )

    def test_the_closed_form_has_the_values_of_the_claim(self):
        at = models.rcp_logistic(0.5, np.array([0.0, 0.5, 1.0, 2.0]))
        assert at.round(2).tolist() == [0.5, 0.73, 0.88, 0.98]

    @pytest.mark.parametrize(("flows_per_s", "mean"), [(1000, 0.23), (8000, 0.067)])
    def test_two_long_flows_beside_short_ones(self, flows_per_s, mean):
        """DAQ-X13: the mean share of one of them over 1.5 s."""
        load = flows_per_s * 15_000 * 8 / models.LINK_BPS * 1500 / 1460
        rates, queues = models.rcp(2, load, 1.5)
        assert rates.mean() == pytest.approx(mean, rel=0.02)
        assert 0 <= queues.min() <= queues.max() <= 4e6

    def test_it_settles_where_the_link_is_full(self):
        rates, _ = models.rcp(4, 0.2, 60)
        assert 4 * rates[-1] == pytest.approx(0.8, abs=0.01)


class TestReferences:
    figure = references.FIGURE

    def test_the_claim(self, made):
        tables = made(self.figure)
        assert self.figure.claims["DAQ-F5.d"](tables).verdict == PASS
        # DAQ-X2: with 20 to 40 ms about 280, without a floor nobody.
        counts = {
            key: group["supported"].mean() for key, group in tables["supported"].group_by("rule", "reading")
        }
        assert counts["FIFO", models.UNIFORM] == pytest.approx(280, rel=0.1)
        assert {counts[rule, models.PLAIN] for rule in models.RULES} == {0}

    @pytest.mark.parametrize("rule", models.RULES)
    def test_any_other_number_fails(self, rule, made):
        supported = made(self.figure)["supported"]
        more = pl.when(rule=rule).then(pl.col("supported") * 1.3).otherwise("supported")
        judge = self.figure.claims["DAQ-F5.d"]
        assert judge({"supported": supported.with_columns(supported=more)}).verdict == FAIL
        assert judge({"supported": supported.remove(rule=rule)}).verdict == NOT_REACHED

    def test_drawn_from_files(self, made):
        assert len(drawn_from_csv(self.figure, made(self.figure)).axes) == 3


class TestClosedForms:
    figure = closed_forms.FIGURE
    tables = figure.tables(Scale.QUICK, {})

    @pytest.mark.parametrize("claim", figure.claims)
    def test_claims(self, claim):
        assert self.figure.claims[claim](self.tables).verdict == PASS

    @pytest.mark.parametrize(
        ("claim", "table", "column"),
        [
            ("DAQ-F3.f", "ceilings", "of_the_mean_size"),
            ("DAQ-F3.g", "thresholds", "threshold_ms"),
            ("DAQ-F7.c", "bursts", "burst_ms"),
            ("DAQ-F7.c", "bursts", "share_mbps"),
            ("DAQ-F8.c", "loads", "payload"),
            ("DAQ-F8.c", "loads", "with_framing"),
        ],
    )
    def test_other_values_fail(self, claim, table, column):
        other = self.tables[table].with_columns(pl.col(column) * 1.12)
        assert self.figure.claims[claim]({**self.tables, table: other}).verdict == FAIL

    def test_the_ceiling_over_all_sizes_is_the_mean_of_ceilings(self):
        sizes = np.linspace(2000, 58_000, 100_001)
        mean = np.mean([closed_forms.ceiling(size) for size in sizes])
        assert closed_forms.mean_ceiling(2000, 58_000) == pytest.approx(mean, rel=1e-6)

    def test_drawn_from_files(self):
        assert len(drawn_from_csv(self.figure, self.tables).axes) == 2


def test_flows_in_time_with_a_part_of_the_link():
    # One flow of 2 to 28 KB, 16 to 224 us at line rate, due after 20 to 40 ms. With 0.0056 of the link it takes 2.86 to
    # 40 ms: in time by (20 - 2.86) / 37.14 for certain and by half of the rest.
    assert models.starved(0.0056, 1, 15, models.UNIFORM, 20_000) == pytest.approx(73.1, abs=1)
    assert models.starved(1, 1, 15, models.UNIFORM) == 100
    assert models.starved(16e-6 / 40e-3, 1, 15, models.UNIFORM) == 0
    # Without waiting for others it is that of one flow, and with more flows less.
    assert models.starved(1 / 101, 25, 15, models.FLOORED) < models.starved(1 / 101, 5, 15, models.FLOORED)
