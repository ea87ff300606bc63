"""The paper "validation": its verdicts on the real quick tables, what makes each claim fail, and its own arithmetic."""

import heapq
import io
import math
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

from flowyard.papers import catalogue
from flowyard.papers.judge import FAIL, NOT_REACHED, PASS
from flowyard.topology import network
from flowyard_papers.validation import _port, alone, determinism, incast, mg1, waits

MODULES = (mg1, waits, alone, incast, determinism)
JUDGES = {claim: judge for module in MODULES for claim, judge in module.FIGURE.claims.items()}
FIGURES = {claim: module.FIGURE for module in MODULES for claim in module.FIGURE.claims}

Tables = dict[str, pl.DataFrame]


def test_every_claim_has_a_judge():
    (paper,) = (paper for paper in catalogue.packaged() if paper.id == "VAL")
    assert paper.register.claims.keys() == JUDGES.keys()


@pytest.mark.parametrize("claim", JUDGES)
def test_holds(made, claim):
    judgement = JUDGES[claim](made(FIGURES[claim]))
    assert judgement.verdict == PASS, judgement


@pytest.mark.parametrize("claim", JUDGES)
def test_same_verdict_from_csv(made, claim):
    tables = made(FIGURES[claim])
    read = {
        name: pl.read_csv(io.StringIO(table.write_csv()), infer_schema_length=None)
        for name, table in tables.items()
    }
    assert JUDGES[claim](read) == JUDGES[claim](tables)


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


DATAGRAMS: dict[str, Any] = {"series": incast.DATAGRAMS, "senders": 8, "size": 15_000}
NDP: dict[str, Any] = {"series": incast.NDP, "senders": 8, "size": 15_000}
BALANCES = (
    "sent",
    "repeated",
    "entered",
    "forwarded",
    "forwarded_bytes",
    "port_drops",
    "flows_drops",
    "delivered_bytes",
)

WRONG = [
    # A tenth more is far outside every interval, five percent more where it is narrow.
    ("VAL-MG1.a", change("runs", "wait_packet_times", lambda x: 1.1 * x, service="M/D/1", load=0.5)),
    ("VAL-MG1.a", change("runs", "wait_packet_times", lambda x: 0.9 * x, service="M/D/1", load=0.9)),
    ("VAL-MG1.b", change("runs", "wait_packet_times", lambda x: 1.1 * x, service="M/M/1", load=0.9)),
    ("VAL-MG1.c", change("runs", "wait_packet_times", lambda x: 1.05 * x, service="M/D/1", load=0.1)),
    ("VAL-MG1.d", change("runs", "wait_packet_times", lambda x: 0.95 * x, service="M/M/1", load=0.1)),
    # The formula of the other service.
    ("VAL-MG1.b", change("runs", "wait_packet_times", lambda x: x / 2, service="M/M/1")),
    ("VAL-W.a", change("shares", "share", lambda x: 2 * x, service="M/M/1", load=0.8, what="p99")),
    ("VAL-W.a", change("shares", "share", lambda x: 0.95 * x, service="M/M/1", load=0.5, what="waits")),
    ("VAL-W.b", change("shares", "share", lambda x: x + 0.05, service="M/D/1", load=0.8, what="beyond 2")),
    ("VAL-W.c", change("runs", "off_lindley_packets", lambda x: x + 1, load=0.5, replica=3)),
    ("VAL-W.d", change("runs", "held_by_port_bytes", lambda x: x * (1 + 1e-6), load=0.5, replica=3)),
    ("VAL-A.a", change("flows", "fct_ps", lambda x: x + 1, network="fat-tree", size=2000)),
    ("VAL-A.b", change("flows", "ideal_fct_ps", lambda x: x - 1, network="dumbbell", carrier="tcp", size=1)),
    ("VAL-A.c", change("flows", "fct_ps", lambda _: pl.col("ideal_fct_ps") - 1, carrier="tcp", size=1473)),
    ("VAL-A.c", change("flows", "fct_ps", lambda _: pl.col("least_ps") - 1, carrier="ndp", size=1)),
    ("VAL-I.a", change("runs", "last_byte_ps", lambda x: x + 1, **DATAGRAMS)),
    ("VAL-I.b", change("runs", "last_byte_ps", lambda _: pl.col("least_ps") - 1, **NDP)),
    *(("VAL-I.c", change("runs", column, lambda x: x + 1, **NDP)) for column in BALANCES),
    ("VAL-I.c", change("runs", "port_drops", lambda x: x - 1, series=incast.FULL, senders=16)),
    (
        "VAL-D.a",
        change("runs", "digest", lambda x: x + "0", variant=determinism.AUDIT, scenario="bcube-relays"),
    ),
    (
        "VAL-D.a",
        change("runs", "violations", lambda x: x + 1, variant=determinism.BOTH, scenario="incast-blocks"),
    ),
    (
        "VAL-D.b",
        change("runs", "digest", lambda x: x + "0", variant=determinism.SERVED, scenario="bcube-relays"),
    ),
    ("VAL-D.c", change("runs", "digest", lambda _: pl.lit("sha256:00"))),
]


@pytest.mark.parametrize(
    ("claim", "wrong"), WRONG, ids=[f"{i} {claim}" for i, (claim, _) in enumerate(WRONG)]
)
def test_fails_on_wrong_tables(made, claim, wrong):
    judgement = JUDGES[claim](wrong(made(FIGURES[claim])))
    assert judgement.verdict == FAIL, judgement
    assert judgement.reason or claim in ("VAL-MG1.c", "VAL-MG1.d", "VAL-W.d", "VAL-D.a", "VAL-D.c")


def test_each_claim_can_fail():
    assert {claim for claim, _ in WRONG} == JUDGES.keys()


# What each figure must have: a point of it.
POINTS = {
    "VAL-MG1": pl.col("load") == 0.5,
    "VAL-W": pl.col("load") == 0.5,
    "VAL-A": pl.col("network") == "relaying host",
    "VAL-I": pl.col("senders") == 16,
    "VAL-D": pl.col("scenario") == "bcube-relays",
}


@pytest.mark.parametrize("claim", JUDGES)
def test_a_missing_point_is_not_a_pass(made, claim):
    figure = FIGURES[claim]
    left = {name: table.filter(~POINTS[figure.id]) for name, table in made(figure).items()}
    assert JUDGES[claim](left).verdict == NOT_REACHED


@pytest.mark.parametrize("claim", ["VAL-MG1.a", "VAL-MG1.b", "VAL-MG1.c", "VAL-MG1.d", "VAL-W.a", "VAL-W.b"])
def test_a_single_replica_decides_nothing(made, claim):
    left = {
        name: table.filter(pl.col("replica") == 0) if "replica" in table.columns else table
        for name, table in made(FIGURES[claim]).items()
    }
    assert JUDGES[claim](left).verdict == NOT_REACHED


def test_runs_too_short_to_forget_their_start_decide_nothing(made):
    tables = made(mg1.FIGURE)
    short = tables | {"runs": tables["runs"].with_columns(packets=pl.lit(100))}
    assert JUDGES["VAL-MG1.a"](short).verdict == NOT_REACHED


def test_an_unaudited_run_proves_nothing(made):
    tables = change("runs", "audited", lambda _: pl.lit(False))(made(determinism.FIGURE))
    assert JUDGES["VAL-D.a"](tables).verdict == NOT_REACHED


def test_without_drops_conservation_is_not_tested(made):
    tables = change("runs", "port_drops", lambda _: pl.lit(0))(made(incast.FIGURE))
    assert JUDGES["VAL-I.c"](tables).verdict == NOT_REACHED


@pytest.mark.parametrize("module", MODULES)
def test_draws(made, module):
    assert module.FIGURE.draw(made(module.FIGURE)).axes


# Statistics


def replicas(values: list[list[float]]) -> pl.DataFrame:
    rows = [{"point": i, "value": value} for i, row in enumerate(values) for value in row]
    return pl.DataFrame(rows)


def test_intervals_are_students():
    """Tables of Student's t: with 19 degrees of freedom 2.861 at 99.5 %, 3.174 at 99.75 %."""
    values = [float(i) for i in range(20)]
    error = math.sqrt(35.0 / 20)
    one = _port.intervals(replicas([values]), ["point"], "value").row(0, named=True)
    assert one["mean"] == 9.5
    assert one["half_width"] == pytest.approx(2.861 * error, rel=2e-4)
    two = _port.intervals(replicas([values, values]), ["point"], "value")
    assert two["half_width"].to_list() == pytest.approx([3.174 * error] * 2, rel=2e-4)


def test_intervals_hold_together():
    """Of 1,000 families of 8 points, about 1 % may miss a mean somewhere: 25 are 4.8 standard deviations more."""
    chance = np.random.default_rng(1)
    missed = 0
    for _ in range(1000):
        points = _port.intervals(replicas(chance.normal(3, 2, (8, 5)).tolist()), ["point"], "value")
        missed += _port.agree(points.with_columns(formula=3.0), ["point"]).verdict == FAIL
    assert missed <= 25


@pytest.mark.parametrize(("load", "longest"), [(0.1, 20), (0.5, 20), (0.9, 90)])
def test_erlangs_distribution_has_the_moments_of_the_formulas(load, longest):
    """The mean is the integral of 1 - F, half the second moment that of t (1 - F); F is smooth between whole times."""
    assert _port.erlang(load, 0) == 1 - load
    times = np.arange(8 * longest + 1) / 8
    beyond = np.array([1 - _port.erlang(load, float(t)) for t in times])
    assert (np.diff(beyond) < 1e-12).all()
    assert beyond[-1] < 1e-8
    from scipy.integrate import simpson

    mean, half_second = simpson(beyond, x=times), simpson(times * beyond, x=times)
    assert mean == pytest.approx(mg1.mean_wait(_port.MD1, load), rel=2e-3)
    bias = (load * half_second / mean + 1) / ((1 - load) * 1000)
    assert mg1.start_bias(_port.MD1, load, 1000) == pytest.approx(bias, rel=2e-3)


@pytest.mark.parametrize("service", [_port.MD1, _port.MM1])
def test_what_an_empty_start_takes_off(service):
    """The first 40 waits of 400,000 queues by Lindley's recursion; at load 0.3 later waits have forgotten the start."""
    load, packets, queues = 0.3, 40, 400_000
    chance = np.random.default_rng(1)
    wait, total = np.zeros(queues), np.zeros(queues)
    for _ in range(packets):
        total += wait
        served = 1.0 if service == _port.MD1 else chance.exponential(1.0, queues)
        wait = np.maximum(0, wait + served - chance.exponential(1 / load, queues))
    lacking = 1 - total / packets / mg1.mean_wait(service, load)
    error = lacking.std() / math.sqrt(queues)
    expected = mg1.start_bias(service, load, packets)
    assert error < 0.05 * expected
    assert abs(lacking.mean() - expected) < 4 * error


def test_departures_are_those_of_the_recursion():
    chance = np.random.default_rng(1)
    arrival = np.sort(chance.integers(0, 10_000, 500))
    service = chance.integers(1, 40, 500)
    free, expected = 0, []
    for at, time in zip(arrival.tolist(), service.tolist(), strict=True):
        free = max(free, at) + time
        expected.append(free)
    assert waits.fifo(arrival, service).tolist() == expected


# Arithmetic


def test_transmissions_are_rounded_up():
    for size, rate in [(1500, 10**9), (1500, 7 * 10**9), (1, 3 * 10**9), (1001, 3 * 10**9)]:
        assert alone.wire_ps(size, rate) == math.ceil(Fraction(8 * size * 10**12, rate))


def packet_by_packet(path: list[tuple[int, int]], packets: list[int]) -> int:
    """When the last one is there; each waits at each hop for the one before it."""
    free, done = [0] * len(path), 0
    for size in packets:
        now = 0
        for hop, (rate, delay) in enumerate(path):
            free[hop] = max(now, free[hop]) + alone.wire_ps(size, rate)
            now = free[hop] + delay
        done = max(done, now)
    return done


def test_store_and_forward_is_what_packets_do():
    chance = random.Random(1)
    for _ in range(400):
        rates = [chance.choice([1, 2, 3, 7, 10, 40]) * 10**9 for _ in range(chance.randint(1, 6))]
        path = [(rate, chance.randint(0, 3_000_000)) for rate in rates]
        packets = alone.cut(chance.randint(1, 20_000), 1472, 28)
        time = packet_by_packet(path, packets)
        assert alone.store_and_forward(path, packets) == time
        assert alone.least(path, packets) <= time
        chance.shuffle(packets)
        assert alone.least(path, packets) <= packet_by_packet(path, packets)


def test_flows_are_cut_into_full_packets_and_a_rest():
    assert alone.cut(1472, 1472, 28) == [1500]
    assert alone.cut(1473, 1472, 28) == [1500, 29]
    assert alone.cut(1, 1472, 28) == [29]


@pytest.mark.parametrize("name", alone.NETWORKS)
def test_all_shortest_paths_are_alike(name):
    topology, to = alone.NETWORKS[name]
    net = network({"topology": topology})
    found = alone.shortest_path(net, to)
    hosts = [place for place, node in enumerate(net.nodes) if node.host]
    paths: list[list[tuple[int, Any]]] = [[(hosts[0], None)]]
    for _ in found:
        longer = []
        for path in paths:
            for cable in net.cables:
                here, (a, b) = path[-1][0], (cable.a, cable.b)
                if here == a:
                    longer.append([*path, (b, (cable.rate_bps, cable.delay_ps))])
                if here == b:
                    longer.append([*path, (a, (cable.rate_back_bps, cable.delay_ps))])
        assert len(longer) < 100_000
        paths = longer
    arrived = [[hop for _, hop in path[1:]] for path in paths if path[-1][0] == hosts[to]]
    assert arrived
    assert all(path == found for path in arrived)


@pytest.mark.parametrize("senders", [2, 5])
@pytest.mark.parametrize("size", [700, 1472, 5000, 20_000])
def test_an_incast_is_what_packets_do(senders, size):
    """Packets of all senders through one port, in the order of arrival."""
    packets = alone.cut(size, *alone.FRAMES["datagram"])
    arrivals: list[tuple[int, int, int]] = []
    for sender in range(senders):
        sent = 0
        for number, packet in enumerate(packets):
            sent += alone.wire_ps(packet, incast.RATE_BPS)
            heapq.heappush(arrivals, (sent + incast.DELAY_PS, sender, number))
    free = 0
    while arrivals:
        at, _, number = heapq.heappop(arrivals)
        free = max(free, at) + alone.wire_ps(packets[number], incast.RATE_BPS)
    due = incast._due(incast.DATAGRAMS, senders, size)
    assert due["in_order_ps"] == free + incast.DELAY_PS
    assert due["least_ps"] <= due["in_order_ps"]
