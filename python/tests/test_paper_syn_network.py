"""SYN in packets: what waits where, latencies, how often controllers decide; judges on tables made up for them."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from conftest import drawn_from_csv, quick_tables

from flowyard import sweeps
from flowyard.papers.figure import Scale
from flowyard.papers.judge import FAIL, NOT_REACHED, PASS
from flowyard.sweeps import Axis, Plan, Sweep
from flowyard_papers.syn import _met, _traces, _window, buffers, fabrics, latency, updates, waits
from flowyard_papers.syn import _rack as rack

FIGURES = (buffers, fabrics, latency, updates, waits)
SYN, ASY, ONE = rack.MMF, rack.ASY, rack.ONE_PACKET


@pytest.mark.parametrize("scale", Scale)
@pytest.mark.parametrize("figure", FIGURES, ids=lambda module: module.FIGURE.id)
def test_plans_can_be_run(figure, scale):
    for plan in figure.FIGURE.plans(scale).values():
        assert isinstance(plan, Plan)
        assert plan.first()["run"]


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    """The tables of a figure with a short window: judges find all that they need in them."""
    known = {}

    def tables(module):
        if module not in known:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(module, "_window", lambda _: rack.Window(5, 10, 0, 10))
                folder = tmp_path_factory.mktemp(module.FIGURE.id)
                known[module] = dict(quick_tables(module.FIGURE, folder))
        return known[module]

    return tables


def verdicts(judged):
    return {name: one.verdict for name, one in judged.readings}


@pytest.mark.parametrize("module", [buffers, latency, waits])
def test_real_tables_have_what_judges_need(short, module):
    tables = short(module)
    for claim, judge in module.FIGURE.claims.items():
        assert judge(tables).verdict in {PASS, FAIL}, claim
        assert judge(
            {**tables, "runs": tables["runs"].clear(), "points": pl.DataFrame({"load": []})}
        ).verdict == (NOT_REACHED), claim
    assert drawn_from_csv(module.FIGURE, tables).axes


class TestWindow:
    def test_expressions(self):
        rows = pl.DataFrame({"low": [10, 0, 20], "high": [12, 2, 22], "count": [1, 2, 1]})
        assert rows.select(_window.mean()).item() == pytest.approx((11 + 2 + 21) / 4)
        for share, value in ((0.5, 1), (0.51, 11), (0.75, 11), (0.76, 21)):
            assert rows.select(_window.quantile(share)).item() == value

    def test_what_came_before_does_not_count(self, tmp_path):
        """A window has what the whole run has and its beginning has not."""
        window = rack.Window(2, 3, 0, 0)
        plan = rack.plan("x", [SYN], [0.5], window, replicas=1, observe=_window.HISTOGRAMS)
        parts = {
            "window": {"measure": window.measure, "until": "5ms"},
            "before": {"measure": "all", "until": "2ms"},
            "whole": {"measure": "all", "until": "5ms"},
        }
        kept = [
            replace(axis, set={k: v for k, v in axis.set.items() if k != "run.until"}) for axis in plan.axes
        ]
        runs = Axis("part", {"run": list(parts.values())}, labels=list(parts))
        sweeps.execute(replace(plan, axes=[*kept, runs]), tmp_path)
        found = _window.histograms(Sweep(tmp_path), ["part"])
        bucket = ["metric", "class", "low", "high"]
        counts = {part: found.filter(part=part).drop("part") for part in parts}
        both = counts["whole"].join(counts["before"], on=bucket, how="left", suffix="_before")
        left = both.with_columns(pl.col("count") - pl.col("count_before").fill_null(0)).drop("count_before")
        assert counts["before"]["count"].sum() > 0
        assert counts["window"].rows() == left.filter(pl.col("count") > 0).sort(bucket).rows()
        flows = _window.flows(Sweep(tmp_path), 4).filter(part="window").collect()
        assert flows["start_ps"].min() >= 2 * 10**9
        assert flows["start_ps"].max() < 4 * 10**9


def runs_of(syn, asy):
    """Two replicas of SYN and of ASY with a bucket of one packet, with these values."""
    return pl.DataFrame(
        [
            {"system": system, "replica": replica, "load": 0.8, **values}
            for system, values in ((SYN, syn), (ONE, asy))
            for replica in range(2)
        ]
    )


class TestBuffers:
    claims = buffers.FIGURE.claims

    @pytest.mark.parametrize(
        ("claim", "column", "ratios"),
        [
            ("SYN-F7.a", "server_mean", {0.49: FAIL, 0.6: PASS, 0.71: FAIL}),
            ("SYN-F8.a", "leaf_mean", {1.19: FAIL, 1.45: PASS, 1.71: FAIL}),
            ("SYN-F8.b", "leaf_p99", {0.79: FAIL, 1.0: PASS, 1.26: FAIL}),
            ("SYN-F9.a", "spine_recorded", {1.59: FAIL, 2.0: PASS, 2.51: FAIL}),
        ],
    )
    def test_ratios(self, claim, column, ratios):
        for ratio, verdict in ratios.items():
            others = dict.fromkeys(("spine_mean", "leaf_trace_p99"), 1.0)
            runs = runs_of(others | {column: 1000.0}, others | {column: 1000.0 * ratio})
            assert self.claims[claim]({"runs": runs}).verdict == verdict
            assert self.claims[claim]({"runs": runs.filter(system=SYN)}).verdict == NOT_REACHED

    @pytest.mark.parametrize(
        ("claim", "column", "low"), [("SYN-F8.b", "leaf_p99", 1.3), ("SYN-F9.a", "spine_recorded", 1.5)]
    )
    def test_single_traces(self, claim, column, low):
        """Of three traces two are most of them, one is not."""
        others = dict.fromkeys(("spine_mean", "leaf_trace_p99"), 1.0)
        runs = pl.concat(
            runs_of(others | {column: 1000.0}, others | {column: 1000.0 * low})
            .filter(replica=0)
            .with_columns(replica=pl.lit(n))
            for n in range(3)
        )
        good = 1200.0 if column == "leaf_p99" else 1700.0
        for count, verdict in ((1, FAIL), (2, PASS)):
            some = pl.when(pl.col("system") == ONE, pl.col("replica") < count).then(good)
            table = runs.with_columns(some.otherwise(pl.col(column)).alias(column))
            single = dict(self.claims[claim]({"runs": table}).readings)[_traces.ALONE]
            assert single.verdict == verdict
            assert str(single.measured).startswith(f"{count} of 3 traces within")

    def test_readings_of_the_bucket(self):
        runs = runs_of({"leaf_mean": 1000.0}, {"leaf_mean": 1450.0})
        own = runs.filter(system=ONE)
        other = {
            ASY: (1750.0, FAIL),
            rack.LOST: (1100.0, FAIL),
            rack.PASSES: (4000.0, FAIL),
            rack.DRAINS: (1600.0, PASS),
        }
        more = [own.with_columns(system=pl.lit(name), leaf_mean=mean) for name, (mean, _) in other.items()]
        found = self.claims["SYN-F8.a"]({"runs": pl.concat([runs, *more])})
        assert found.verdict == PASS
        assert verdicts(found) == {ONE: PASS} | {
            buffers.UNBOUNDED if name == ASY else name: verdict for name, (_, verdict) in other.items()
        }

    @pytest.mark.parametrize(("bytes_", "verdict"), [(4990.0, FAIL), (7500.0, PASS), (10010.0, FAIL)])
    def test_spine(self, bytes_, verdict):
        port = {"spine_p99": 7_000.0}
        runs = runs_of(port | {"spine_trace_p99": 1.0}, port | {"spine_trace_p99": bytes_})
        found = self.claims["SYN-F9.b"]({"runs": runs})
        assert found.verdict == verdict
        assert verdicts(found)[buffers.OF_PORT] == PASS

    @pytest.mark.parametrize(("share", "verdict"), [(97.0, PASS), (99.0, FAIL), (99.9, FAIL)])
    def test_share(self, share, verdict):
        runs = runs_of({"server_share_pct": 99.0}, {"server_share_pct": share})
        assert self.claims["SYN-F9.c"]({"runs": runs}).verdict == verdict

    def test_servers_hold_what_waits_and_what_is_sent(self, short):
        tables = short(buffers)
        means = tables["trace"].group_by("system").agg(pl.col("servers", "leaves", "spines").mean())
        assert len(tables["trace"]) == 2 * 20 / buffers.BIN_MS
        # Ports looked at ten times as often have the same means, give or take what 20 ms tell.
        runs = tables["runs"].group_by("system").agg(pl.exclude("replica").mean()).join(means, on="system")
        for own, sampled in (("leaf_mean", "leaves"), ("spine_mean", "spines")):
            assert (runs[own] / runs[sampled] - 1).abs().max() < 0.05
        assert (runs["servers"] > 1538 * 0.5).all()


class TestMet:
    def test_lengths(self):
        """Packets come at 1, 2, 3 and have left at 4, 5, 6; a fourth comes at 6, right behind the third, and stays."""
        came, went = np.array([1, 2, 3, 6]), np.array([4, 5, 6])
        assert _met.lengths(came, went).tolist() == [1, 2, 3, 2, 1, 0, 1]

    def test_packets_from_before(self):
        """Two packets were there: the first change is that one of them leaves."""
        assert _met.lengths(np.array([30]), np.array([10, 20])).tolist() == [1, 0, 1]

    def test_a_run(self, short):
        """What packets meet is more than the average over time: they come together."""
        runs = short(buffers)["runs"]
        assert (runs["spine_recorded"] > runs["spine_mean"]).all()
        assert (runs["spine_recorded"] < 10 * 1538).all()


def test_figure_10_by_figures_8_and_9():
    """Of 40 us, 20 at leaves and 2 at spines: 9 and 2 more are 51 us; half take the median, others 25.608 us."""
    mean, median = latency.most_by_little(38.0, 40.0, 20.0, 2.0)
    assert mean == pytest.approx(51 / 40)
    assert median == pytest.approx((2 * 51 - 25.608) / 38)


GOOD = {
    "leaf_us": 20.0,
    "spine_us": 2.0,
    "network_median_us": 40.0,
    "network_mean_us": 40.0,
    "server_mean_us": 5000.0,
    "fct_median_us": 2000.0,
}


class TestLatency:
    @pytest.mark.parametrize(
        ("claim", "asy", "verdict"),
        [
            ("SYN-F10a.a", {"network_median_us": 80.0}, PASS),
            ("SYN-F10a.a", {"network_median_us": 63.0}, FAIL),
            ("SYN-F10a.a", {"network_median_us": 101.0}, FAIL),
            ("SYN-F10b.a", {}, PASS),
            ("SYN-F10b.a", {"fct_median_us": 390.0}, FAIL),
            ("SYN-F10b.b", {}, PASS),
            ("SYN-F10b.b", {"server_mean_us": 40.0}, FAIL),
            ("SYN-F10b.c", {"server_mean_us": 4000.0}, PASS),
            ("SYN-F10b.c", {}, FAIL),
        ],
    )
    def test_judges(self, claim, asy, verdict):
        assert latency.FIGURE.claims[claim]({"runs": runs_of(GOOD, GOOD | asy)}).verdict == verdict

    def test_parts_make_the_whole(self, short):
        """The last packet's wait and its way are the completion time; means of all packets are near that."""
        runs = short(latency)["runs"]
        assert (runs["network_median_us"].is_between(25, 80)).all()
        assert (runs["network_mean_us"] < runs["fct_mean_us"]).all()
        assert (runs["unfinished"] <= 0.05 * runs["flows"]).all()
        curves = short(latency)["curves"]
        for _, own in curves.group_by("system", "what"):
            assert own["share"].is_sorted()
            assert own["us"].is_sorted()
            # Flows that are not complete count, too.
            assert 0.95 < own["share"][-1] <= 1
            assert len(own) > 5


class TestWaits:
    judge = staticmethod(waits.FIGURE.claims["SYN-P14"])

    def tables(self, shares, server=lambda load: 1000 * load):
        runs = pl.DataFrame(
            [
                {
                    "load": load,
                    "replica": replica,
                    "server_us": float(server(load)),
                    "last_pct": share,
                    "mean_pct": 60.0 + load,
                }
                for load, share in zip(waits.LOADS, shares, strict=True)
                for replica in range(2)
            ]
        )
        return {"runs": runs, "points": runs.group_by("load").agg(pl.exclude("replica").mean())}

    @pytest.mark.parametrize(
        ("shares", "verdict"),
        [
            ((40.0, 45.0, 48.0, 52.0, 60.0), PASS),
            ((40.0, 45.0, 48.0, 49.9, 60.0), FAIL),
            ((70.0, 75.0, 80.0, 78.0, 90.0), FAIL),
        ],
    )
    def test_shares(self, shares, verdict):
        assert self.judge(self.tables(shares)).verdict == verdict

    def test_waits_must_grow(self):
        shares = (60.0, 65.0, 70.0, 75.0, 80.0)
        assert self.judge(self.tables(shares, lambda load: 1000 * (1 - load))).verdict == FAIL
        tables = self.tables(shares)
        assert self.judge({**tables, "points": tables["points"].remove(load=0.7)}).verdict == NOT_REACHED


class TestUpdates:
    figure = updates.FIGURE

    def test_claims(self, made):
        tables = made(self.figure)
        assert self.figure.claims["SYN-F2.a"](tables).verdict == PASS
        # As SYN-X8 has it: from load 0.125 on there are more changes than slots.
        found = self.figure.claims["SYN-P7"](tables)
        assert verdicts(found) == {updates.WHOLE: FAIL, updates.SERVER: PASS}
        means = tables["points"].filter(system=ASY, flows=updates.BURSTS).sort("load")
        assert (means["acts_per_s"] > updates.SLOTS_PER_S).to_list() == [
            load > 0.125 for load in means["load"]
        ]
        assert len(drawn_from_csv(self.figure, tables).axes) == 2

    def test_f2_can_fail(self, made):
        counted = made(self.figure)["counted"]
        judge = self.figure.claims["SYN-F2.a"]
        first = pl.int_range(pl.len()) == 0
        more = counted.sort("system").with_columns(acts=pl.col("acts") + first.cast(pl.Int64))
        assert more.row(0, named=True)["system"] == ASY
        assert judge({"counted": more}).verdict == FAIL
        fewer = counted.with_columns(acts=pl.when(system=SYN).then(pl.col("slots") - 1).otherwise("acts"))
        assert judge({"counted": fewer}).verdict == FAIL
        assert judge({"counted": counted.filter(system=ASY)}).verdict == NOT_REACHED
        assert judge({"counted": counted.filter(system=SYN)}).verdict == NOT_REACHED

    def test_p7_can_pass(self, made):
        runs = made(self.figure)["runs"].with_columns(acts_per_s=pl.col("acts_per_s") / 10)
        judge = self.figure.claims["SYN-P7"]
        assert judge({"runs": runs}).verdict == PASS
        assert judge({"runs": runs.filter(system=SYN)}).verdict == NOT_REACHED


class TestFabrics:
    figure = fabrics.FIGURE

    def test_claims(self, made):
        tables = made(self.figure)
        queues, latencies = (self.figure.claims[claim](tables) for claim in ("SYN-P6", "SYN-F10.d"))
        assert verdicts(queues) == {fabrics.BETWEEN: PASS, fabrics.UNIFORM: FAIL}
        assert verdicts(latencies) == {fabrics.UNIFORM: PASS, fabrics.BETWEEN: PASS}
        assert "over two links meet nothing" in latencies.note
        assert len(drawn_from_csv(self.figure, tables).axes) == 2

    def test_the_smallest_latencies(self, made):
        """Store and forward alone: 1538 B at each link's rate, and 0.5 us of cable each."""
        least = made(self.figure)["latencies"].group_by("fabric", "links").agg(pl.col("us").min())
        found = {(fabric, links): us for fabric, links, us in least.iter_rows()}
        for links, fast in (("2 links", 2 * 12.804), ("4 links", 2 * 12.804 + 2 * 1.7304)):
            assert found[fabrics.FAST, links] == pytest.approx(fast, abs=0.02)
            assert found[fabrics.EQUAL, links] == pytest.approx(int(links[0]) * 12.804, abs=0.04)

    @pytest.mark.parametrize(
        ("fabric", "tier", "most"),
        [
            (fabrics.EQUAL, "leaf-spine", 2),
            (fabrics.EQUAL, "leaf-host", 2),
            (fabrics.FAST, "spine-leaf", 11),
            (fabrics.FAST, "leaf-host", 4),
        ],
    )
    def test_a_packet_too_many(self, made, fabric, tier, most):
        tables = made(self.figure)
        own = (pl.col("fabric") == fabric) & (pl.col("tier") == tier) & (pl.col("traffic") == fabrics.BETWEEN)
        ports = tables["ports"].with_columns(most_packets=pl.when(own).then(most).otherwise("most_packets"))
        assert self.figure.claims["SYN-P6"]({**tables, "ports": ports}).verdict == FAIL

    @pytest.mark.parametrize("claim", figure.claims)
    def test_waits_can_fail(self, made, claim):
        tables = made(self.figure)
        slow = tables["waits"].with_columns(most_us=pl.lit(11.2))
        reading = verdicts(self.figure.claims[claim]({**tables, "waits": slow}))[fabrics.BETWEEN]
        assert reading == FAIL
        assert self.figure.claims[claim]({**tables, "waits": slow.clear()}).verdict == NOT_REACHED

    def test_one_value_between_leaves(self, made):
        """At one rate, and between leaves: a packet that is late fails it."""
        tables = made(self.figure)
        own = tables["latencies"].filter(fabric=fabrics.EQUAL, traffic=fabrics.BETWEEN)
        late = own.head(1).with_columns(pl.col("us") + 5, count=pl.lit(1, own["count"].dtype))
        found = self.figure.claims["SYN-F10.d"](
            {**tables, "latencies": pl.concat([tables["latencies"], late])}
        )
        assert verdicts(found) == {fabrics.UNIFORM: PASS, fabrics.BETWEEN: FAIL}
