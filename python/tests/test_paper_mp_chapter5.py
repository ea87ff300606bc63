"""Chapter 5 of the multipath thesis, with packets: verdicts on made-up tables, and what a small run makes of them."""

from itertools import product

import polars as pl
import pytest
from conftest import through_csv

import flowyard as fy
from flowyard.papers.judge import FAIL, NOT_REACHED, PASS
from flowyard.sweeps import Plan
from flowyard_papers.mp import (
    _chapter5 as chapter,
)
from flowyard_papers.mp import (
    _chapter5_runs as measured,
)
from flowyard_papers.mp import (
    collapse,
    order,
    random_pairs,
    sample_runs,
    senders,
    short_links,
    short_timeout,
    stride2,
    stride4,
    window_controls,
    windows,
)
from flowyard_papers.mp._chapter5 import DNVR, DUAL, ECMP, MDNVR, NR

SIX = tuple(chapter.PATTERNS.values())
# Completion times with which all that the thesis says would hold; only the largest gain depends on the buffer.
GOOD = {NR: 100.0, ECMP: 120.0, DNVR: 80.0, MDNVR: 60.0, DUAL: 59.0}
LARGEST = {chapter.STRIDE_4: 50, "3 Senders": 80, "5 Senders": 140, "7 Senders": 180}


def runs(patterns=SIX, change=None, replicas=2):
    """A row for each point and replica, with changes of some."""
    rows = []
    for pattern in patterns:
        for buffer, (scheme, time), replica in product(chapter.sizes(pattern), GOOD.items(), range(replicas)):
            if pattern != chapter.STRIDE_4 and scheme == DNVR:
                time = 90.0
            if pattern == chapter.STRIDE_2 and scheme == ECMP:
                time = 105.0
            if pattern == chapter.RANDOM and scheme == DUAL:
                time = 55.0
            if buffer == LARGEST.get(pattern) and scheme in (MDNVR, DUAL):
                time = 48.0 if pattern == chapter.STRIDE_4 else 15.0
            rate = 200 / time + (buffer == 50 and scheme == MDNVR) * -0.4
            lost = 0.1 if scheme in (MDNVR, DUAL) else 2.0
            row = {
                "pattern": pattern,
                "scheme": scheme,
                "buffer": buffer,
                "replica": replica,
                "fct_ms": time + 0.01 * replica,
                "received_ms": time - 3,
                "throughput_mbs": rate,
                "fragment_fct_ms": time,
                "fragment_throughput_mbs": rate,
                "drops": round(lost * 10),
                "loss_percent": lost,
                "timeouts": 0,
            }
            rows.append(row | (change(row) if change else {}))
    return pl.DataFrame(rows)


def slower(scheme, **where):
    """That scheme takes 130 ms at these points."""

    def change(row):
        hit = row["scheme"] == scheme and all(row[name] == value for name, value in where.items())
        return {"fct_ms": 130.0, "throughput_mbs": 1.0} if hit else {}

    return change


def faster(scheme, **where):
    """That scheme takes 10 ms at these points."""

    def change(row):
        hit = row["scheme"] == scheme and all(row[name] == value for name, value in where.items())
        return {"fct_ms": 10.0, "throughput_mbs": 30.0} if hit else {}

    return change


def lossy(row):
    return {"loss_percent": 3.0} if row["scheme"] == MDNVR and row["buffer"] <= 20 else {}


def same_as(other, scheme):
    return lambda row: (
        {"fct_ms": GOOD[other], "throughput_mbs": 2.0} if row["scheme"] in (scheme, other) else {}
    )


S4, S2, RANDOM = chapter.STRIDE_4, chapter.STRIDE_2, chapter.RANDOM
FIGURES = {
    claim: module.FIGURE
    for module in (stride4, random_pairs, stride2, senders)
    for claim in module.FIGURE.claims
}
CASES = [
    ("MP-F5.11.a", slower(MDNVR, pattern=S4)),
    ("MP-F5.11.b", slower(MDNVR, pattern=S4)),
    ("MP-F5.11.b", faster(MDNVR, pattern=S4)),
    ("MP-F5.11.c", faster(MDNVR, pattern=S4, buffer=20)),
    ("MP-F5.11.d", slower(DNVR, pattern=S4, buffer=30)),
    ("MP-F5.11.d", same_as(NR, DNVR)),
    ("MP-F5.11.e", faster(ECMP, pattern=S4, buffer=90)),
    ("MP-F5.11.f", slower(DUAL, pattern=S4, buffer=10)),
    ("MP-F5.11.f", faster(DUAL, pattern=S4)),
    ("MP-F5.11.g", faster(DNVR, pattern=RANDOM)),
    ("MP-F5.12.a", slower(MDNVR, pattern=RANDOM, buffer=70)),
    ("MP-F5.12.b", slower(DUAL, pattern=RANDOM, buffer=70)),
    ("MP-F5.12.c", slower(DNVR, pattern=RANDOM, buffer=70)),
    ("MP-F5.13.a", slower(MDNVR, pattern=S2, buffer=70)),
    ("MP-F5.13.b", slower(ECMP, pattern=S2)),
    ("MP-F5.13.c", same_as(NR, DNVR)),
    ("MP-F5.13.d", slower(DUAL, pattern=S2)),
    ("MP-F5.14.a", slower(MDNVR, pattern="3 Senders")),
    ("MP-F5.15.a", slower(MDNVR, pattern="5 Senders")),
    ("MP-F5.16.a", slower(MDNVR, pattern="7 Senders")),
    ("MP-F5.14.b", slower(DUAL, pattern="5 Senders", buffer=20)),
    ("MP-F5.14.c", faster(MDNVR, pattern="3 Senders", buffer=200)),
    ("MP-P1", slower(MDNVR, pattern=RANDOM, buffer=20)),
    ("MP-P2", lossy),
]


def tables_of(table, claim):
    if claim in random_pairs.FIGURE.claims:
        table = table.filter(pattern=RANDOM)
        setups = [table.with_columns(setup=pl.lit(setup)) for _, setup in random_pairs.SETUPS.values()]
        ports = pl.DataFrame(
            [
                {
                    "scheme": scheme,
                    "buffer": 10,
                    "port": port,
                    "drops": 3.0 if port == random_pairs.LAST else 1.0,
                }
                for scheme, port in product((MDNVR, DUAL), (random_pairs.LAST, random_pairs.OTHER))
            ]
        )
        return {"runs": table, "setups": pl.concat(setups), "ports": ports}
    jitter = table.filter(pattern=S4).with_columns(setup=pl.lit(stride4.JITTER))
    return {"runs": table, "setups": jitter}


@pytest.mark.parametrize("claim", FIGURES)
def test_what_the_thesis_says_would_pass(claim):
    tables = tables_of(runs(), claim)
    found = FIGURES[claim].claims[claim](tables)
    assert found.verdict == PASS, found
    assert FIGURES[claim].claims[claim](through_csv(tables)) == found


@pytest.mark.parametrize(("claim", "change"), CASES)
def test_other_numbers_fail_the_claim(claim, change):
    found = FIGURES[claim].claims[claim](tables_of(runs(change=change), claim))
    assert found.verdict == FAIL, found
    assert found.reason


def test_the_reason_tells_where_both_multipath_schemes_lose_packets():
    tables = tables_of(runs(change=slower(DUAL, pattern=RANDOM, buffer=70)), "MP-F5.12.b")
    found = random_pairs.FIGURE.claims["MP-F5.12.b"](tables)
    assert "Dual loses 3.0 packets at ports to hosts and 1.0 at other ports" in found.reason
    assert "62 % of the transfers" in found.reason
    assert [name for name, reading in found.readings if reading.searched] == [random_pairs.DISTINCT]


def test_receivers_that_several_draw():
    """By hand: of three hosts the other one draws this receiver by 1/2; of four neither of two does by 2/3 of 2/3."""
    assert random_pairs.shared_receivers(3) == pytest.approx(1 / 2)
    assert random_pairs.shared_receivers(4) == pytest.approx(5 / 9)


def test_dropped_packets_are_counted_by_the_kind_of_their_port(made):
    """All of a scheme's drops of either kind are those of its transfers, per run."""
    tables = made(random_pairs.FIGURE)
    ports = tables["ports"].group_by("scheme", "buffer").agg(pl.col("drops").sum())
    runs = tables["runs"].group_by("scheme", "buffer").agg(drops=pl.col("drops").mean())
    both = ports.join(runs, on=["scheme", "buffer"], validate="1:1")
    assert len(both) == len(runs)
    assert both["drops"].to_list() == pytest.approx(both["drops_right"].to_list())


def unfinished(row):
    return {"fct_ms": None, "throughput_mbs": None} if row["buffer"] in (20, 50) else {}


@pytest.mark.parametrize("claim", sorted(FIGURES.keys() - {"MP-P2"}))
def test_transfers_without_an_end_give_no_verdict(claim):
    assert FIGURES[claim].claims[claim](tables_of(runs(change=unfinished), claim)).verdict == NOT_REACHED


def timeouts(short, long):
    """Completion times of Normal Routing and MDNVR with both timeouts."""
    rows = []
    for pattern, times in ((short_timeout.SHORT, short), (short_timeout.LONG, long)):
        for buffer, (scheme, time) in product(chapter.LARGE, zip((NR, MDNVR), times, strict=True)):
            row = {"pattern": pattern, "scheme": scheme, "buffer": buffer, "replica": 0}
            rows.append(row | {"fct_ms": time, "throughput_mbs": 1 / time})
    table = pl.DataFrame(rows).with_columns(
        fragment_fct_ms="fct_ms", fragment_throughput_mbs="throughput_mbs"
    )
    return {"runs": table, "setups": table.clear().with_columns(setup=pl.lit(""))}


@pytest.mark.parametrize(
    ("claim", "short", "long", "verdict"),
    [
        ("MP-F5.17.a", (50.0, 40.0), (100.0, 50.0), PASS),
        ("MP-F5.17.a", (50.0, 51.0), (100.0, 50.0), FAIL),
        ("MP-F5.17.b", (50.0, 40.0), (100.0, 50.0), PASS),
        ("MP-F5.17.b", (50.0, 52.0), (100.0, 50.0), FAIL),
        ("MP-F5.17.c", (50.0, 40.0), (100.0, 50.0), PASS),
        ("MP-F5.17.c", (50.0, 20.0), (100.0, 50.0), FAIL),
    ],
)
def test_a_shorter_timeout(claim, short, long, verdict):
    assert short_timeout.FIGURE.claims[claim](timeouts(short, long)).verdict == verdict


def test_gains_of_both_timeouts_are_compared_at_the_best_buffer():
    """Where most ports are so small that the long timeout leaves no gain, the mean over buffers says the opposite."""
    tables = timeouts((50.0, 25.0), (100.0, 100.0))
    best = (pl.col("pattern") == short_timeout.LONG) & (pl.col("scheme") == MDNVR) & (pl.col("buffer") == 180)
    for name in ("fct_ms", "fragment_fct_ms"):
        tables["runs"] = tables["runs"].with_columns(pl.when(best).then(20.0).otherwise(name).alias(name))
    found = short_timeout.FIGURE.claims["MP-F5.17.c"](tables)
    assert (found.verdict, found.measured) == (PASS, "50 % with 1 ms, 80 % with 200 ms")
    readings = dict(found.readings)
    assert readings[f"whole transfer, {MDNVR}, mean over buffers"].verdict == FAIL


def controls(two=67.0, multipath=58.0, drops=0):
    times = {NR: 100.0, window_controls.TWO_WINDOWS: two, MDNVR: multipath, DUAL: 58.0}
    rows = [
        {
            "windows": windows,
            "scheme": scheme,
            "buffer": buffer,
            "replica": 0,
            "fct_ms": time,
            "throughput_mbs": 1 / time,
            "drops": drops,
        }
        for windows in window_controls.PLANS.values()
        for buffer in (*chapter.SMALL, window_controls.NO_LOSS)
        for scheme, time in times.items()
    ]
    return {"runs": pl.DataFrame(rows)}


@pytest.mark.parametrize(
    ("claim", "tables", "verdict"),
    [
        ("MP-K1", controls(), PASS),
        ("MP-K1", controls(two=63.0), FAIL),
        ("MP-K1", controls(drops=1), NOT_REACHED),
        ("MP-K2", controls(), PASS),
        ("MP-K2", controls(multipath=103.0), FAIL),
    ],
)
def test_controls_of_the_window(claim, tables, verdict):
    assert window_controls.FIGURE.claims[claim](tables).verdict == verdict


def test_orderings_that_do_not_survive_short_links_are_told():
    judge = short_links.FIGURE.claims["MP-K4"]
    assert judge({"runs": runs()}).measured == "24 of 24 orderings hold"
    found = judge({"runs": runs(change=slower(DUAL, pattern=RANDOM))})
    assert found.measured == f"23 of 24 orderings hold; not {DUAL} before {NR} under Random"


def sample(unlost=0.53, others=0.65, drops=9, multipath=0.3, lost=0, share=0.5):
    rows = [
        {
            "setup": sample_runs.OWN,
            "scheme": scheme,
            "replica": replica,
            "src": src,
            "received_s": multipath if scheme == MDNVR else unlost if src == 0 else others + (src == 3) * 0.2,
            "kb_a_second": 8000.0,
            "drops": lost if scheme == MDNVR else drops * (src > 0),
            "timeouts": 0,
        }
        for scheme, replica, src in product((NR, MDNVR), range(2), range(4))
    ]
    shares = [
        {"replica": 0, "flow": flow, "subflow": subflow, "share": share if subflow else 1 - share}
        for flow, subflow in product(range(4), range(2))
    ]
    return {"transfers": pl.DataFrame(rows), "shares": pl.DataFrame(shares)}


@pytest.mark.parametrize(
    ("claim", "changes", "verdict"),
    [
        ("MP-T5.4.a", {}, PASS),
        ("MP-T5.4.a", {"unlost": 0.6}, FAIL),
        ("MP-T5.4.a", {"unlost": None}, NOT_REACHED),
        ("MP-T5.4.b", {}, PASS),
        ("MP-T5.4.b", {"drops": 1}, FAIL),
        ("MP-T5.4.b", {"others": 0.9}, FAIL),
        ("MP-T5.4.c", {}, PASS),
        ("MP-T5.4.c", {"others": 0.9}, FAIL),
        ("MP-T5.5.a", {}, PASS),
        ("MP-T5.5.a", {"multipath": 0.34}, FAIL),
        ("MP-T5.5.a", {"lost": 1}, FAIL),
        ("MP-T5.5.b", {}, PASS),
        ("MP-T5.5.b", {"share": 0.45}, FAIL),
    ],
)
def test_sample_outputs(claim, changes, verdict):
    assert sample_runs.FIGURE.claims[claim](sample(**changes)).verdict == verdict


def traced(cuts=(1, 1, 0, 0), times=(300.0, 320.0, 240.0, 150.0)):
    rows = [
        {"setup": setup, "scheme": scheme, "replica": 0, "cuts": cut, "fct_ms": time, "drops": 3}
        for setup in windows.SETUPS
        for scheme, cut, time in zip(windows.SCHEMES, cuts, times, strict=True)
    ]
    return {"runs": pl.DataFrame(rows)}


@pytest.mark.parametrize(
    ("claim", "tables", "verdict"),
    [
        ("MP-F5.10.a", traced(), PASS),
        ("MP-F5.10.a", traced(cuts=(0, 1, 0, 0)), FAIL),
        ("MP-F5.10.a", traced(cuts=(1, 1, 0, 1)), FAIL),
        ("MP-F5.10.a", traced(cuts=(1, 1, None, 0)), NOT_REACHED),
        ("MP-F5.10.b", traced(), PASS),
        ("MP-F5.10.b", traced(times=(239.0, 320.0, 240.0, 150.0)), FAIL),
    ],
)
def test_traced_windows(claim, tables, verdict):
    assert windows.FIGURE.claims[claim](tables).verdict == verdict


def ordered(spread=5, within=0, twice=0, beyond=0, completed=16):
    rows = [
        {
            "scheme": scheme,
            "transfers": 16,
            "completed": completed,
            "reordered": spread if scheme == order.MPTCP else 40,
            "reordered_within": within,
            "most_twice_bytes": twice,
            "most_beyond_segments": beyond,
        }
        for scheme in (order.MPTCP, *order.FRONT_BACK)
    ]
    return {"runs": pl.DataFrame(rows)}


@pytest.mark.parametrize(
    ("claim", "changes", "verdict"),
    [
        ("MP-P5", {}, PASS),
        ("MP-P5", {"spread": 0}, FAIL),
        ("MP-P5", {"within": 1}, FAIL),
        ("MP-F4.2.a", {"twice": 2904, "beyond": 2}, PASS),
        ("MP-F4.2.a", {"twice": 2905}, FAIL),
        ("MP-F4.2.a", {"beyond": 3}, FAIL),
        ("MP-F4.2.a", {"completed": 15}, NOT_REACHED),
    ],
)
def test_order_of_segments(claim, changes, verdict):
    assert order.FIGURE.claims[claim](ordered(**changes)).verdict == verdict


def goodputs(collapsed_at):
    """Goodput of each scheme, 100 until it has collapsed."""
    rows = [
        {
            "network": network,
            "scheme": scheme,
            "senders": number,
            "replica": replica,
            collapse.GOODPUT: 49.0 if number >= collapsed_at[scheme] else 100.0 + (number == 2),
        }
        for network in collapse.NETWORKS
        for scheme, number, replica in product(collapse.SCHEMES, collapse.NUMBERS, range(2))
    ]
    return pl.DataFrame(rows)


@pytest.mark.parametrize(
    ("collapsed_at", "verdict"),
    [
        ({NR: 4, DNVR: 7, MDNVR: 99}, PASS),
        ({NR: 7, DNVR: 4, MDNVR: 99}, FAIL),
        ({NR: 99, DNVR: 99, MDNVR: 99}, FAIL),
    ],
)
def test_senders_before_collapse(collapsed_at, verdict):
    table = collapse.before_collapse(goodputs(collapsed_at))
    ends = {scheme: max(n for n in collapse.NUMBERS if n < at) for scheme, at in collapsed_at.items()}
    assert {(r["scheme"], r["senders"]) for r in table.iter_rows(named=True)} == set(ends.items())
    assert table["collapsed"].to_list() == [collapsed_at[scheme] < 99 for scheme in table["scheme"]]
    alone = pl.DataFrame(
        [
            {"scheme": scheme, "senders": n, collapse.GOODPUT: 10.0 + n}
            for scheme, n in product((*collapse.SCHEMES, DUAL), collapse.NUMBERS)
        ]
    )
    tables = {"collapse": table, "alone_points": alone, "points": goodputs(collapsed_at).filter(replica=0)}
    found = collapse.FIGURE.claims["MP-P10"](tables)
    assert found.verdict == verdict
    assert "maxima: FT(4,3) NR 101 Mbps with 2" in found.note


def test_patterns_of_senders():
    """Each of 16 hosts reads from so many others, 3 of other pods first."""
    for number in (3, 5, 7):
        (entry,) = chapter.senders(number)
        pairs = {tuple(pair) for pair in entry["matrix"]["pairs"]}
        assert len(pairs) == 16 * number
        assert all(sum(dst == host for _, dst in pairs) == number for host in range(16))
        assert all(sum(src == host for src, _ in pairs) == number for host in range(16))
        assert all(src != dst for src, dst in pairs)
        if number == 3:
            assert all(src // 4 != dst // 4 for src, dst in pairs)


def test_a_run_of_the_network(tmp_path):
    """Two transfers of 100 segments: times are those of windows and round trips, and nothing is lost."""
    size = 100 * 1452
    base = chapter.scenario(chapter.transfers({"pairs": [[0, 4], [8, 12]]}, size))
    plan = Plan(base, [chapter.schemes((NR, MDNVR)), chapter.buffers((50,))], 1, name="small")
    table = measured.runs(fy.sweep(plan, tmp_path))
    assert table["drops"].to_list() == [0, 0]
    times = dict(table.select("scheme", "fct_ms").iter_rows())
    # The handshake, windows of 1, 2, 3, 4, 6, 9, 13, 19 and 28 segments, and the rest of 15.
    assert 11 * 6.0 < times[NR] < 11 * 6.2
    assert times[MDNVR] < times[NR]
    for time, received, rate in table.select("fct_ms", "received_ms", "throughput_mbs").iter_rows():
        assert 3.0 < time - received < 3.1
        assert rate == pytest.approx(size / time / 1000)
