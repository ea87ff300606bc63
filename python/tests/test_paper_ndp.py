"""The figures on NDP: verdicts on runs of quick scale, on wrong tables, and from CSV; the scheduler's scenarios."""

import io
from collections.abc import Callable

import polars as pl
import pytest

import flowyard as fy
from flowyard.papers.judge import FAIL, NOT_REACHED, PASS
from flowyard_papers.literature import fairness, ndp_incast, pias
from flowyard_papers.ndp import (
    _background,
    _feedback,
    against_tcp,
    balance,
    experiment1,
    feedback,
    incast,
    operation,
    parameters,
    priority,
    web_search,
)
from flowyard_papers.ndp._scheduler import BACKGROUND, NDP, PORTS, SHORT, Scheduler, base_rtt_ns

MODULES = (
    experiment1,
    balance,
    parameters,
    web_search,
    operation,
    against_tcp,
    incast,
    priority,
    feedback,
    ndp_incast,
    fairness,
    pias,
)
JUDGES = {claim: judge for module in MODULES for claim, judge in module.FIGURE.claims.items()}
FIGURES = {claim: module.FIGURE for module in MODULES for claim in module.FIGURE.claims}
# Those that fail, for reasons that their figures name.
FAILING = {"NDP-P1", "LIT-NDP.a", "LIT-NDP.b", "LIT-OUTCAST.a"}

Tables = dict[str, pl.DataFrame]


@pytest.mark.parametrize("claim", JUDGES)
def test_verdicts(made, claim):
    judgement = JUDGES[claim](made(FIGURES[claim]))
    assert judgement.verdict == (FAIL if claim in FAILING else PASS), judgement
    assert bool(judgement.reason) == (claim in FAILING)


@pytest.mark.parametrize("claim", JUDGES)
def test_same_verdict_from_csv(made, claim):
    tables = made(FIGURES[claim])
    read = {
        name: pl.read_csv(io.StringIO(table.write_csv()), infer_schema_length=None)
        for name, table in tables.items()
    }
    assert JUDGES[claim](read) == JUDGES[claim](tables)


@pytest.mark.parametrize("module", MODULES)
def test_draws(made, module):
    axes = module.FIGURE.draw(made(module.FIGURE)).axes
    assert axes
    assert all(panel.has_data() and panel.get_title() for panel in axes)


def change(
    table: str, column: str, to: Callable[[pl.Expr], pl.Expr], **where: str | float
) -> Callable[[Tables], Tables]:
    """Changes a column in the rows that fit; in all if nothing is said."""

    def changed(tables: Tables) -> Tables:
        fits = pl.all_horizontal(pl.lit(True), *(pl.col(name) == value for name, value in where.items()))
        assert tables[table].filter(fits).height
        new = pl.when(fits).then(to(pl.col(column))).otherwise(pl.col(column)).alias(column)
        return tables | {table: tables[table].with_columns(new)}

    return changed


def set_to(value: float) -> Callable[[pl.Expr], pl.Expr]:
    return lambda _: pl.lit(value)


def times(factor: float) -> Callable[[pl.Expr], pl.Expr]:
    return lambda x: x * factor


def more(x: pl.Expr) -> pl.Expr:
    return x + 1


def third(value: pl.Expr) -> Callable[[pl.Expr], pl.Expr]:
    return lambda x: pl.when(pl.int_range(pl.len()) == 2).then(value).otherwise(x)


WRONG = [
    ("NDP-F6a.a", change("flows", "goodput_gbps", times(0.9))),
    # Three in ten flows are slow, the median is as before.
    (
        "NDP-F6a.a",
        change("flows", "goodput_gbps", lambda x: pl.when(pl.col("id") % 10 < 3).then(0.6).otherwise(x)),
    ),
    ("NDP-F6b.a", change("flows", "fct_ps", lambda x: x * 16 // 10)),
    ("NDP-F6b.b", change("flows", "goodput_gbps", times(1 + 1e-6))),
    ("NDP-F6c.a", change("flows", "headers", lambda _: pl.col("fct_ps").max() - pl.col("fct_ps"))),
    ("NDP-F6c.a", change("flows", "headers", more)),
    ("NDP-F6.e", change("random", "goodput_gbps", times(0.9))),
    ("NDP-F6.e", change("random", "fct_ps", lambda x: x * 16 // 10)),
    ("NDP-F6.e", change("random", "headers", more)),
    ("NDP-F6d.a", change("servers", "sends", more, server=7)),
    ("NDP-F6d.a", change("servers", "receives_long", more, server=7)),
    ("NDP-F6e.a", change("flows", "src", lambda _: pl.col("dst"))),
    ("NDP-P6", change("flows", "start_ps", lambda _: pl.int_range(pl.len()) * 400_000_000)),
    ("NDP-P6", change("flows", "start_ps", lambda x: x * 11 // 10)),
    ("NDP-P7", change("run", "short_flows", more)),
    ("NDP-P7", change("servers", "receives", more, server=7)),
    # One background flow of the eight stops before the others, or never carries anything.
    *(
        ("NDP-P8", change("background", "last_payload_ps", third(value)))
        for value in (pl.lit(700_000_000_000), pl.lit(None, pl.Int64))
    ),
    ("NDP-P8", change("flows", "completed", set_to(False))),
    ("NDP-F7.a", change("ports", "packets", times(100), ecmp=balance.PACKET, core=3)),
    ("NDP-F7.b", change("ports", "packets", times(100), ecmp=balance.PACKET, core=3)),
    ("NDP-F7.b", change("ports", "packets", set_to(500), ecmp=balance.FLOW)),
    ("NDP-F7.c", change("ports", "packets", lambda x: x * 11 // 10, ecmp=balance.FLOW)),
    *(
        ("NDP-F8a.a", change("window", "goodput_gbps", set_to(0.21), window=1, delay=d))
        for d in parameters.DELAYS
    ),
    *(
        ("NDP-F8a.b", change("window", "goodput_gbps", times(0.85), window=16, delay=d))
        for d in parameters.DELAYS
    ),
    *(
        ("NDP-F8a.c", change("window", "goodput_gbps", times(0.95), window=20, delay=d))
        for d in parameters.DELAYS
    ),
    *(
        ("NDP-F8a.c", change("window", "goodput_gbps", times(1.05), window=20, delay=d))
        for d in parameters.DELAYS
    ),
    ("NDP-F8a.d", change("alone", "goodput_gbps", times(1.05), window=4, delay="1 us")),
    ("NDP-F8b.a", change("size", "goodput_gbps", lambda x: 1 - x)),
    ("NDP-F8b.a", change("size", "goodput_gbps", times(0.5), size=300_000)),
    ("NDP-F8c.a", change("rate", "goodput_gbps", lambda x: 1 - x)),
    ("NDP-F8c.a", change("rate", "goodput_gbps", times(0.5), rate=500)),
    ("NDP-F8c.b", change("rate", "offered_load", times(1.001))),
    ("NDP-F9.a", change("runs", "slowdown_p50", set_to(2.1))),
    ("NDP-F9.b", change("percentiles", "fct_ms", times(0.01), background=0.8, percentile=50)),
    ("NDP-F9.c", change("runs", "fct_mean_ms", times(0.001), range=_background.LARGE, background=0.8)),
    ("NDP-F4.a", change("gaps", "gap_ns", more, senders=1)),
    *(
        ("NDP-F4.b", change("counts", name, more, senders=8))
        for name in ("sent", "data", "headers", "dropped")
    ),
    *(
        ("NDP-F4.b", change("counts", name, more, senders=senders))
        for name in ("sent", "data", "headers", "dropped", "delivered")
        for senders in (32, 100)
    ),
    ("NDP-F4.b", change("counts", "delivered", more, senders=2)),
    ("NDP-F4.c", change("counts", "pulls_ahead_ns", set_to(12_000), senders=100)),
    *(
        ("NDP-F4.d", change("counts", name, more, senders=32))
        for name in ("acks", "nacks", "unasked", "late")
    ),
    ("NDP-F4.d", change("counts", "pulls", more, senders=1)),
    *(("NDP-F5.a", change("counts", "new_before_repeats", more, senders=n)) for n in (4, 32, 100)),
    ("NDP-F5.b", change("turns", "headers", lambda x: x * 103 // 100)),
    ("NDP-F5.b", change("turns", "data", lambda x: x * 103 // 100)),
    ("NDP-P1", change("runs", "goodput_gbps", times(2), by=against_tcp.TCP_PACKET)),
    ("NDP-P2", change("runs", "goodput_gbps", times(10), by=against_tcp.NDP_FLOW)),
    ("NDP-P2", change("runs", "goodput_gbps", times(100), by=against_tcp.TCP_FLOW)),
    *(
        ("NDP-P3", change("runs", name, times(factor), by=against_tcp.NDP_PACKET, workload=workload))
        for name, factor in (("goodput_gbps", 0.01), ("fct_mean_ms", 100), ("fct_p99_ms", 100))
        for workload in against_tcp.WORKLOADS
    ),
    ("NDP-P4", change("incast", "goodput_share", set_to(0.89), by="NDP", senders=64)),
    *(
        ("NDP-P5", change("runs", "fct_mean_ms", times(100), order=priority.STRICT, load=load))
        for load in priority.LOADS
    ),
    *(
        ("NDP-P5", change("runs", "goodput_gbps", times(factor), order=priority.STRICT, load=0.2))
        for factor in (0.97, 1.03)
    ),
    *(
        ("NDP-P9", change("runs", "fct_mean_ms", times(factor), queues=feedback.LEVELS, range=name, load=0.5))
        for name, factor in ((_background.SMALL, 10), (_background.LARGE, 1.12))
    ),
    *(
        ("LIT-PIAS.a", change("runs", "fct_short_ms", times(100), scheme=pias.PIAS, load=load))
        for load in pias.THRESHOLDS
    ),
    ("LIT-PIAS.b", change("runs", "goodput_gbps", times(0.9), scheme=pias.PIAS, load=0.7)),
    ("LIT-OUTCAST.a", change("grid", "near_mbps", set_to(200))),
    *(
        ("LIT-OUTCAST.b", change("runs", "rack_mbps", times(factor), by=fairness.NDP))
        for factor in (0.85, 1.15)
    ),
    ("LIT-OUTCAST.c", change("runs", "jain", set_to(0.98), by=fairness.NDP, direction=fairness.TO_ONE)),
    ("LIT-NDP.a", change("runs", "last_over_ideal", set_to(1.021), senders=16)),
    ("LIT-NDP.b", change("runs", "goodput_share", set_to(0.899), senders=16)),
]


@pytest.mark.parametrize(
    ("claim", "wrong"), WRONG, ids=[f"{i} {claim}" for i, (claim, _) in enumerate(WRONG)]
)
def test_fails_on_wrong_tables(made, claim, wrong):
    judgement = JUDGES[claim](wrong(made(FIGURES[claim])))
    assert judgement.verdict == FAIL, judgement


def test_each_claim_can_fail():
    assert {claim for claim, _ in WRONG} == JUDGES.keys()


# What would make those hold that fail.
RIGHT = [
    ("NDP-P1", change("runs", "goodput_gbps", times(0.01), by=against_tcp.TCP_PACKET)),
    ("LIT-OUTCAST.a", change("grid", "near_mbps", lambda _: pl.col("far_mbps") / 4)),
]


@pytest.mark.parametrize(("claim", "right"), RIGHT)
def test_each_claim_can_hold(made, claim, right):
    assert JUDGES[claim](right(made(FIGURES[claim]))).verdict == PASS


# A table without these rows has nothing to judge by.
POINTS = {
    "NDP-F7": ("ports", pl.col("pod") == 3),
    "NDP-F8": ("window", pl.col("window") == 40),
    "NDP-F9": ("runs", pl.col("background") == 0.8),
    "NDP-F4-5": ("counts", pl.col("senders") == 8),
    "NDP-P1-3": ("runs", pl.col("by") == against_tcp.TCP_FLOW),
    "NDP-P4": ("incast", pl.col("senders") == 64),
    "NDP-P5": ("runs", pl.col("load") == 0.2),
    "NDP-P9": ("runs", pl.col("load") == 0.5),
    "LIT-NDP": ("runs", pl.col("senders") == 64),
    "LIT-PIAS": ("runs", pl.col("load") == 0.7),
    "LIT-OUTCAST": ("runs", pl.col("direction") == fairness.TO_ONE),
    "NDP-F6": ("background", pl.col("last_payload_ps") > 0),
}
# Judged from another table, or from other rows of it.
ELSEWHERE = {
    *(claim for claim in experiment1.FIGURE.claims if claim != "NDP-P8"),
    "LIT-OUTCAST.a",
    "NDP-F8a.a",
    "NDP-F8a.d",
    "NDP-F8b.a",
    "NDP-F8c.a",
    "NDP-F8c.b",
    "NDP-F4.a",
    "NDP-F5.b",
}


@pytest.mark.parametrize("claim", [c for c in JUDGES if FIGURES[c].id in POINTS and c not in ELSEWHERE])
def test_a_missing_point_is_not_a_pass(made, claim):
    table, rows = POINTS[FIGURES[claim].id]
    tables = made(FIGURES[claim])
    assert JUDGES[claim](tables | {table: tables[table].filter(~rows)}).verdict == NOT_REACHED


def readings(claim: str, tables: Tables) -> dict[str, str]:
    return {name: one.verdict for name, one in JUDGES[claim](tables).readings}


class TestBackgroundOfFigure9:
    """Each reading has its verdict, and it is the text's that counts: servers with nothing but background."""

    own, other = _background.APART, _background.EVERYWHERE

    def test_one_does_not_decide_the_other(self, made):
        tables = made(web_search.FIGURE)
        assert readings("NDP-F9.a", tables) == {self.own: PASS, self.other: FAIL}
        fast = change("runs", "slowdown_p50", set_to(1.9), on=self.other)(tables)
        assert readings("NDP-F9.a", fast) == {self.own: PASS, self.other: PASS}
        slow = change("runs", "slowdown_p50", set_to(3.1), on=self.own, background=0.8)(fast)
        assert JUDGES["NDP-F9.a"](slow).verdict == FAIL
        for claim, wrong in (
            ("NDP-F9.b", change("percentiles", "fct_ms", times(0.01), on=self.other, background=0.8)),
            ("NDP-F9.c", change("runs", "fct_mean_ms", times(0.001), on=self.other, range=_background.LARGE)),
        ):
            found = JUDGES[claim](wrong(tables))
            assert (found.verdict, readings(claim, wrong(tables))[self.other]) == (PASS, FAIL)

    @pytest.mark.parametrize("claim", web_search.FIGURE.claims)
    def test_a_reading_without_runs_is_not_judged(self, made, claim):
        tables = made(web_search.FIGURE)
        without = {name: table.filter(pl.col("on") != self.other) for name, table in tables.items()}
        assert readings(claim, without)[self.other] == NOT_REACHED
        assert JUDGES[claim](without).verdict == JUDGES[claim](tables).verdict

    def test_no_steady_state_is_said_where_there_is_none(self, made):
        found = dict(JUDGES["NDP-F9.a"](made(web_search.FIGURE)).readings)
        assert "no steady state at background 0.8" in found[self.other].note
        assert "0.5" not in found[self.other].note
        assert not found[self.own].note


class TestFeedback:
    def rack(self, queue, **handed):
        scenario = {
            "topology": {"single-switch": {"hosts": 6, "rate": "1Gbps", "delay": "9.5us"}},
            "transport": {"ndp": NDP["ndp"] | {"header_bytes": "64B"}},
            "queue": queue,
            "traffic": [
                {
                    "name": "flows",
                    "arrivals": {"at-once": {"jitter": "50us"}},
                    "matrix": {"pairs": [[server, 0] for server in range(1, 6)]},
                    "sizes": {"list": [20_000, 400_000, 400_000, 400_000, 400_000]},
                }
            ],
        }
        return pl.DataFrame(fy.run(scenario, **handed).flows).sort("id")

    def test_one_queue_is_the_switch_of_the_engine(self):
        own = self.rack({"python": {"name": "q"}}, queues={"q": _feedback.feedback(())})
        engine = {"data_limit": {"full-packets": 8}, "trim": "arriving", **PORTS["ndp"]}
        same = self.rack({"ndp": engine})
        assert own["trims"].sum() > 0
        assert own["completed"].all()
        assert own["fct_ps"].mean() == pytest.approx(same["fct_ps"].mean(), rel=0.03)

    def test_who_has_sent_more_waits(self):
        """Long flows sink after 15 KB, and the short one does not wait behind them."""
        plain, levels = (
            self.rack({"python": {"name": "q"}}, queues={"q": _feedback.feedback(thresholds)})
            for thresholds in ((), (15_000,))
        )
        assert levels["fct_ps"][0] <= plain["fct_ps"][0]
        assert levels["completed"].all()
        assert levels["fct_ps"].max() < 1.1 * plain["fct_ps"].max()


def test_reordering_is_judged_by_both_goodputs(made):
    tables = made(against_tcp.FIGURE)
    slow = change("runs", "flow_goodput_mbps", times(0.1), by=against_tcp.TCP_PACKET)(tables)
    assert list(readings("NDP-P1", slow).values()) == [FAIL, PASS]
    blind = tables["runs"].filter(by=against_tcp.TCP_BLIND, workload=against_tcp.PERMUTATION)
    # Packets come out of order, and only a timeout has one sent again.
    assert blind["reordered"].min() > 0
    assert ((blind["retransmissions"] > 0) == (blind["timeouts"] > 0)).all()


def test_a_flow_alone_takes_what_its_ideal_says():
    """The base round trip of the closed form is that of a run: 6 links, a packet there and an answer back."""
    pair = {"name": "one", "arrivals": {"at-once": {"jitter": "0s"}}, "matrix": {"pairs": [[0, 15]]}}
    scenario = Scheduler(k=4, flows=1, size=1500, window=1).scenario()
    scenario["traffic"] = [pair | {"sizes": {"fixed": "3000B"}}]
    flows = pl.DataFrame(fy.run(scenario).flows)
    # The second packet leaves when the first one's PULL is back, behind its ACK.
    there_ns, answer_ns = 6 * (12_000 + 9500), 512
    assert flows["fct_ps"].item() == 1000 * (base_rtt_ns() + answer_ns + there_ns)


def test_servers_of_the_background_are_apart():
    scenario = Scheduler(k=4, flows=80, size=15_000, long_share=0.25, long_size=150_000).scenario()
    flows = pl.DataFrame(fy.run(scenario).flows).with_columns(pl.col("tag").cast(pl.String))
    long, short = flows.filter(tag=BACKGROUND), flows.filter(tag=SHORT)
    servers = [set(part["src"]) | set(part["dst"]) for part in (long, short)]
    assert (len(long), len(short)) == (4, 80)
    assert (len(servers[0]), len(servers[1])) == (4, 12)
    assert not servers[0] & servers[1]
    assert long["size_bytes"].unique().to_list() == [150_000]
    # 80 flows of 12 servers: each has sent 6 times before one does a seventh time.
    assert set(short["src"].value_counts()["count"]) == {6, 7}
