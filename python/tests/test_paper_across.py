"""ALL-3 and ALL-4: incast under five schemes, and ECMP by flow under rates and under windows."""

import polars as pl
import pytest
from conftest import drawn_from_csv

from flowyard.papers.judge import FAIL, NOT_REACHED, PASS
from flowyard_papers.across import by_flow, incast


def changed(table, column, value, **rows):
    """A table with another value in some rows, of which there are some."""
    chosen = pl.all_horizontal([pl.col(name) == one for name, one in rows.items()])
    assert not table.filter(chosen).is_empty()
    return table.with_columns(pl.when(chosen).then(pl.lit(value)).otherwise(column).alias(column))


def readings(found):
    return {name: one.verdict for name, one in found.readings}


class TestIncast:
    figure = incast.FIGURE

    def test_claim(self, made):
        """DAQ's start with one server alone is below the link's share; nobody but Reno collapses."""
        found = self.figure.claims["ALL-3"](made(self.figure))
        assert readings(found) == {incast.LINK: FAIL, incast.HALF: PASS}
        assert found.reason.startswith("DAQ with 1 (")
        assert len(drawn_from_csv(self.figure, made(self.figure)).axes) == 2

    def test_only_reno_loses(self, made):
        runs = made(self.figure)["runs"].filter(size_bytes=incast.JUDGED, servers=100)
        by = {row["scheme"]: row for row in runs.iter_rows(named=True)}
        assert by[incast.RENO]["drops"] > 0
        assert by[incast.RENO]["timeouts"] > 0
        for scheme in (incast.DAQ, incast.SYN, incast.ASY):
            assert (by[scheme]["drops"], by[scheme]["timeouts"]) == (0, 0)

    @pytest.mark.parametrize("scheme", incast.SCHEMES)
    def test_can_pass_and_fail(self, made, scheme):
        runs = made(self.figure)["runs"]
        judge = self.figure.claims["ALL-3"]
        even = runs.with_columns(goodput=pl.lit(0.95))
        good = changed(even, "goodput", 0.1, scheme=incast.RENO, servers=32)
        assert set(readings(judge({"runs": good})).values()) == {PASS}
        if scheme == incast.RENO:
            assert set(readings(judge({"runs": even})).values()) == {FAIL}
            return
        below = changed(good, "goodput", 0.89, scheme=scheme, servers=8)
        assert readings(judge({"runs": below})) == {incast.LINK: FAIL, incast.HALF: PASS}
        collapsed = changed(good, "goodput", 0.4, scheme=scheme, servers=8)
        assert set(readings(judge({"runs": collapsed})).values()) == {FAIL}

    def test_what_is_missing_is_not_judged(self, made):
        runs, judge = made(self.figure)["runs"], self.figure.claims["ALL-3"]
        assert judge({"runs": runs.remove(scheme=incast.ASY)}).verdict == NOT_REACHED
        assert judge({"runs": runs.filter(pl.col("servers") < 100)}).verdict == NOT_REACHED
        never = changed(runs, "goodput", None, scheme=incast.RENO, servers=100)
        assert judge({"runs": never}).verdict == NOT_REACHED


class TestByFlow:
    figure = by_flow.FIGURE

    def test_claim(self, made):
        found = self.figure.claims["ALL-4"](made(self.figure))
        assert found.verdict == PASS
        assert "under ASY" in found.note
        assert len(drawn_from_csv(self.figure, made(self.figure)).axes) == 3

    def test_can_fail(self, made):
        tables, judge = made(self.figure), self.figure.claims["ALL-4"]
        by_packet = tables["rates"].filter(balancer=by_flow.PACKET)["fct_mean_us"][0]
        for factor, verdict in ((1.24, PASS), (1.26, FAIL)):
            rates = changed(tables["rates"], "fct_mean_us", factor * by_packet, balancer=by_flow.FLOW)
            assert judge({**tables, "rates": rates}).verdict == verdict
        slow = changed(tables["rates"], "network_median_us", 500.0, balancer=by_flow.FLOW)
        assert judge({**tables, "rates": slow}).verdict == FAIL
        even = tables["ndp_runs"].with_columns(goodput_gbps=pl.lit(1.0))
        assert judge({**tables, "ndp_runs": even}).verdict == FAIL
        quick = tables["mp_long"].with_columns(goodput_mbps=1.0 * pl.col("scheme").str.len_chars())
        assert judge({**tables, "mp_long": quick}).verdict == FAIL
        one = tables["rates"].filter(balancer=by_flow.FLOW)
        assert judge({**tables, "rates": one}).verdict == NOT_REACHED
