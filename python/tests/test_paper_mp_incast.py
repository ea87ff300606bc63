"""The multipath thesis: Incast and losses on packets. Verdicts at quick scale and on made-up tables."""

import polars as pl
import pytest
from conftest import drawn_from_csv

from flowyard.papers.judge import FAIL, NOT_REACHED, PASS
from flowyard_papers.mp import buffers, incast, long_flows

FIGURES = {module.FIGURE.id: module.FIGURE for module in (incast, buffers, long_flows)}
CLAIMS = {claim: figure for figure in FIGURES.values() for claim in figure.claims}


@pytest.mark.parametrize("claim", CLAIMS)
def test_verdicts_at_quick_scale(claim, made):
    found = CLAIMS[claim].claims[claim](made(CLAIMS[claim]))
    assert found.verdict == PASS, found


def test_reads_are_possible(made):
    runs = made(incast.FIGURE)["runs"]
    assert runs["completed"].all()
    assert runs["goodput_mbps"].max() < incast.LINK_MBPS
    assert runs.filter(servers=1)["timeouts"].sum() == 0


def reads(long, short, servers=(1, 2, 16, 47)):
    rows = [
        {"rto_min": rto_min, "servers": n, "replica": replica, "completed": True, "goodput_mbps": float(g)}
        for rto_min, goodput in ((incast.LONG, long), (incast.SHORT, short))
        for n, g in zip(servers, goodput, strict=True)
        for replica in range(2)
    ]
    return {"runs": pl.DataFrame(rows)}


@pytest.mark.parametrize(
    ("claim", "long", "short", "verdict"),
    [
        ("MP-F1.2.a", (900, 800, 200, 45), (900,) * 4, PASS),
        ("MP-F1.2.a", (900, 800, 40, 200), (900,) * 4, PASS),
        ("MP-F1.2.a", (900, 800, 200, 46), (900,) * 4, FAIL),
        ("MP-F1.2.b", (900, 800, 270, 40), (900,) * 4, PASS),
        ("MP-F1.2.b", (900, 800, 271, 40), (900,) * 4, FAIL),
        ("MP-F1.2.c", (900,) * 4, (900, 900, 700, 100), PASS),
        ("MP-F1.2.c", (900,) * 4, (900, 900, 699, 900), FAIL),
    ],
)
def test_a_collapse_and_its_remedy(claim, long, short, verdict):
    assert CLAIMS[claim].claims[claim](reads(long, short)).verdict == verdict


def test_reads_that_are_not_there_are_not_judged():
    tables = reads((900,) * 3, (900,) * 3, servers=(1, 2, 16))
    assert CLAIMS["MP-F1.2.a"].claims["MP-F1.2.a"](tables).verdict == NOT_REACHED
    ended = {"runs": reads((900,) * 4, (900,) * 4)["runs"].with_columns(completed=pl.lit(False))}
    assert CLAIMS["MP-F1.2.c"].claims["MP-F1.2.c"](ended).verdict == NOT_REACHED


def by_buffer(small, large, shares=((0, 10, 20), (0, 10, 20)), once=30):
    rows = [
        {
            "buffer_kb": buffer_kb,
            "servers": n,
            "replica": replica,
            "completed": True,
            "goodput_mbps": float(g),
            "timeouts": 5,
            "share_pct": float(share) + replica,
            "share_once_pct": float(min(share, once)),
        }
        for buffer_kb, goodput, share_pct in zip(buffers.BUFFERS, (small, large), shares, strict=True)
        for n, g, share in zip((2, 8, 32), goodput, share_pct, strict=True)
        for replica in range(3)
    ]
    return {"runs": pl.DataFrame(rows)}


@pytest.mark.parametrize(
    ("small", "large", "verdict"),
    [
        ((900, 400, 300), (900, 800, 400), PASS),
        ((900, 400, 300), (900, 800, 700), PASS),
        ((900, 400, 300), (900, 400, 300), FAIL),
        ((900, 800, 300), (900, 400, 300), FAIL),
        ((900, 800, 700), (900, 800, 700), FAIL),
    ],
)
def test_the_onset_comes_later_with_more_buffer(small, large, verdict):
    assert buffers.FIGURE.claims["MP-F3.1.a"](by_buffer(small, large)).verdict == verdict


@pytest.mark.parametrize(
    ("shares", "verdict", "rises"),
    [
        ((0, 10, 60), PASS, PASS),
        # Few senders may have more of them than some more have, as long as the other kind predominates.
        ((20, 10, 60), PASS, FAIL),
        ((20, 60, 70), PASS, PASS),
        ((0, 10, 40), FAIL, PASS),
        ((60, 70, 80), FAIL, PASS),
        ((60, 10, 70), FAIL, FAIL),
        ((0, 60, 10), FAIL, FAIL),
    ],
)
def test_which_kind_of_timeout_predominates(shares, verdict, rises):
    tables = by_buffer((9, 9, 9), (9, 9, 9), shares=(shares, (0, 10, 20)))
    found = buffers.FIGURE.claims["MP-F3.1.b"](tables)
    assert [reading.verdict for _, reading in found.readings] == [verdict, FAIL, FAIL, FAIL, rises, PASS]
    no_timeouts = {"runs": tables["runs"].with_columns(timeouts=pl.lit(0))}
    assert buffers.FIGURE.claims["MP-F3.1.b"](no_timeouts).verdict == NOT_REACHED


def test_a_window_lost_again_counts_once_in_the_stricter_share(made):
    runs = made(buffers.FIGURE)["runs"].drop_nulls("share_pct")
    assert (runs["share_once_pct"] <= runs["share_pct"]).all()
    assert (runs["transfers_whole_window"] <= runs["servers"] * buffers.BLOCKS).all()
    assert (runs["share_once_pct"] < runs["share_pct"]).any()


def test_senders_of_which_more_than_half_lose_their_first_packet():
    """By hand: 3000 B hold two packets, one is on the wire: of seven first packets four are lost, of six three."""
    assert [buffers.half_lost(size) for size in (1499, 3000, 64_000)] == [3, 7, 87]


def losses(rate, silent=lambda n: 1e-7 * n):
    rows = [
        {"also": also, "senders": n, "replica": replica, "jain": 1.0, "loss_rate": of(n)}
        for also, of in ((long_flows.NOISE, rate), (long_flows.SILENCE, silent))
        for n in long_flows.FLOWS
        for replica in (0, 1)
    ]
    return {"runs": pl.DataFrame(rows)}


@pytest.mark.parametrize(
    ("power", "verdict"), [(1.3, FAIL), (1.41, PASS), (2, PASS), (2.39, PASS), (2.5, FAIL)]
)
def test_the_exponent_of_a_power_law(power, verdict):
    found = CLAIMS["MP-E3.1.b"].claims["MP-E3.1.b"](losses(lambda n: 1e-7 * n**power))
    assert (found.verdict, found.measured) == (verdict, pytest.approx(power))
    assert [reading.verdict for _, reading in found.readings] == [verdict, FAIL]


def test_no_loss_is_no_power_law():
    judge = CLAIMS["MP-E3.1.b"].claims["MP-E3.1.b"]
    assert judge(losses(lambda n: 0.0 if n == 4 else 0.01)).verdict == NOT_REACHED
    assert judge({"runs": losses(lambda n: 1e-7 * n)["runs"].remove(senders=128)}).verdict == NOT_REACHED


def test_only_packets_after_the_first_slow_start_count(made):
    runs = made(long_flows.FIGURE)["runs"]
    # Three seconds of a port of 1 Gbps, and what is dropped there.
    assert runs["packets_sent"].max() <= 3 * 10**9 / 8 / 1500 * 1.05
    assert runs["packets_sent"].min() > 0.5 * 3 * 10**9 / 8 / 1500


@pytest.mark.parametrize("figure", FIGURES)
def test_verdicts_and_pictures_survive_csv(figure, made):
    assert drawn_from_csv(FIGURES[figure], made(FIGURES[figure])).axes
