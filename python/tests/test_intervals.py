"""Intervals within one run: how often they hold the truth at one port, where it is known, and what has none."""

import math
import re
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from scipy.stats import binom, norm

import flowyard as fy
from flowyard import analysis
from flowyard.analysis import within_run
from flowyard.analysis.completion import PERCENTILES
from flowyard.analysis.within_run import Interval, Intervals, intervals
from flowyard.report.run import summary
from flowyard.report.run.summary import legend, sizes_table, summary_table
from flowyard_papers.validation import _port as port

Floats = NDArray[np.float64]
SHARES = (0.5, 0.95, 0.99)


def md1(load: float, share: float) -> float:
    """The stay, wait and service, up to which a share of the customers of M/D/1 has, by Erlang's formula."""
    low, high = 0.0, 100 / (1 - load)
    while high - low > 1e-9 and port.erlang(load, 0) < share:
        middle = (low + high) / 2
        low, high = (middle, high) if port.erlang(load, middle) < share else (low, middle)
    return 1 + low


# The mean of the stay by Pollaczek and Khinchine, and its percentiles, in the mean time of service.
TRUTH: dict[str, tuple[Callable[[float], float], Callable[[float, float], float]]] = {
    port.MM1: (lambda load: 1 / (1 - load), lambda load, share: -math.log(1 - share) / (1 - load)),
    port.MD1: (lambda load: 1 + load / (1 - load) / 2, md1),
}


def stays(random: np.random.Generator, service: str, load: float, customers: int, windows: int) -> Floats:
    """The stays of customers at one server, by Lindley's recursion: a row a window, each begun stationary."""
    early = math.ceil(40 / (1 - load) ** 2)
    shape = (windows, early + customers)
    served = np.ones(shape) if service == port.MD1 else random.exponential(1, shape)
    steps = served[:, :-1] - random.exponential(1 / load, shape)[:, 1:]
    walk = np.cumsum(np.concatenate([np.zeros((windows, 1)), steps], axis=1), axis=1)
    return (walk - np.minimum.accumulate(walk, axis=1) + served)[:, early:]


def held(found: Iterable[Intervals], mean: float, percentiles: Iterable[float]) -> dict[str, float]:
    """The share of windows whose interval holds the truth, by what it is of; an end that is open holds anything."""
    rows = [(own.mean, *own.percentiles) for own in found]
    truths = (mean, *percentiles)
    names = ("mean", *(f"{share:g}" for share in SHARES))
    inside = [
        [
            (low if low is not None else -math.inf) <= truth <= (high if high is not None else math.inf)
            for (low, high), truth in zip(row, truths, strict=True)
        ]
        for row in rows
    ]
    return dict(zip(names, np.mean(inside, axis=0), strict=True))


# Windows of at least 150 relaxation times, 1 / (1 - sqrt(load))^2 times of service each.
@pytest.mark.parametrize(
    ("service", "load", "customers"),
    [
        (port.MM1, 0.2, 5000),
        (port.MM1, 0.5, 5000),
        (port.MM1, 0.8, 20_000),
        (port.MD1, 0.5, 5000),
        (port.MD1, 0.8, 20_000),
    ],
)
def test_intervals_hold_the_truth_of_a_queue_in_19_of_20_windows(service, load, customers):
    random = np.random.default_rng(1)
    mean, percentile = TRUTH[service]
    found = [
        intervals(pl.Series(row), SHARES)
        for _ in range(20)
        for row in stays(random, service, load, customers, 50)
    ]
    shares = held(found, mean(load), (percentile(load, share) for share in SHARES))
    if service == port.MD1:
        # Half of the customers or more do not wait, so that the median is among equal values.
        assert shares.pop("0.5") >= 0.93
    assert all(0.93 <= share <= 0.97 for share in shares.values()), shares


def run_of_packets(service: str, load: float, flows: int, replica: int) -> fy.Result:
    """A run of flows of one packet each at one port."""
    rate = load * port.PORT_BPS / 8 / port.PACKET_BYTES
    scenario = {
        "topology": port.TOPOLOGY,
        "transport": {"datagram": {"header_bytes": "0B", "lengths": {"fixed": "65000B"}}},
        "traffic": [
            {
                "name": "packets",
                "arrivals": {"poisson": {"rate": rate}},
                "matrix": {"pairs": [[0, 1]]},
                "sizes": port.LENGTHS[service],
                "flows": flows,
            }
        ],
        "run": {"replica": replica},
    }
    return fy.run(scenario)


def packets(service: str, load: float, flows: int, replica: int) -> pl.Series:
    """Completion times of these flows by their start, in packet times, after a warm-up."""
    found = pl.DataFrame(run_of_packets(service, load, flows, replica).flows).sort("start_ps")
    return found["fct_ps"].slice(flows // 20) / port.PACKET_PS


@pytest.mark.parametrize(("service", "load"), [(port.MD1, 0.5), (port.MM1, 0.4)])
def test_intervals_hold_the_truth_of_a_port_in_19_of_20_runs(service, load):
    found = [intervals(packets(service, load, 6000, replica), SHARES) for replica in range(600)]
    mean, percentile = TRUTH[service]
    source = port.SOURCE_PS_PER_BYTE / port.PORT_PS_PER_BYTE
    truths = [percentile(load, share) + source for share in SHARES]
    shares = held(found, mean(load) + source, truths)
    assert 0.93 <= shares["mean"] <= 0.97
    assert 0.93 <= shares["0.99"] <= 0.97
    # Hardly any of these is held because it is open.
    assert sum(own.percentiles[2].high is None for own in found) < 0.1 * len(found)


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("n", [1000, 5000])
def test_ranks_of_independent_observations_are_near_those_of_the_binomial_and_never_closer(n, share):
    away = norm.ppf(0.975) * math.sqrt(n * share * (1 - share))
    low, high = math.floor(n * share - away), math.ceil(n * share + away)
    exact = (binom.ppf(0.025, n, share), binom.ppf(0.975, n, share) + 1)
    assert (low, high) == pytest.approx(exact, abs=1)
    random, lengths = np.random.default_rng(2), []
    for _ in range(100):
        (found,) = intervals(pl.Series(random.permutation(n) + 1.0), (share,)).percentiles
        assert found.low is not None
        assert found.low <= low
        if found.high is not None:
            assert found.high >= high
            lengths.append((found.high - found.low) / (high - low))
    assert len(lengths) > 50
    assert np.mean(lengths) < 1.3


@pytest.mark.parametrize(
    ("n", "share", "bounded"),
    [(100, 0.5, True), (100, 0.99, False), (5000, 0.99, True), (2000, 0.999, False), (50_000, 0.999, True)],
)
def test_a_percentile_with_too_few_observations_above_has_no_upper_bound(n, share, bounded):
    values = pl.Series(np.random.default_rng(3).exponential(1, n))
    (found,) = intervals(values, (share,)).percentiles
    assert found.low is not None
    assert found.low <= values.quantile(share, "linear")
    assert (found.high is not None) == bounded
    assert found.high is None or found.high >= values.quantile(share, "linear")


def test_few_observations_have_no_interval():
    values = np.random.default_rng(4).exponential(1, within_run.FEWEST)
    assert intervals(pl.Series(values), SHARES).mean.low is not None
    # A flow that is not complete is none.
    few = pl.Series([*values[1:], None, None])
    assert intervals(few, SHARES) == Intervals(Interval(None, None), [Interval(None, None)] * 3)
    assert intervals(pl.Series([], dtype=pl.Float64), SHARES).mean == Interval(None, None)


@pytest.mark.parametrize("tail", [False, True])
def test_a_trend_has_no_interval(tail):
    """Such as the delays at a port whose load is above 1; also where a few values are far above all others."""
    random = np.random.default_rng(5)
    values = np.linspace(1, 3, 5000) * random.exponential(1, 5000)
    if tail:
        values[::250] *= 1000
    found = intervals(pl.Series(values), SHARES)
    assert {found.mean, *found.percentiles} == {Interval(None, None)}
    # The order alone tells: of the same values, mixed, nothing is known to be wrong.
    mixed = intervals(pl.Series(random.permutation(values)), SHARES)
    assert None not in {mixed.mean.low, mixed.mean.high}


def test_equal_observations_have_an_interval_of_no_width():
    found = intervals(pl.Series([3] * 1000), SHARES)
    assert found == Intervals(Interval(3, 3), [Interval(3, 3)] * 3)


def test_an_interval_takes_the_unit_of_its_observations():
    values = pl.Series(np.random.default_rng(6).exponential(1, 3000))
    one, thousand = intervals(values, SHARES), intervals(values * 1000, SHARES)
    for a, b in zip((one.mean, *one.percentiles), (thousand.mean, *thousand.percentiles), strict=True):
        assert b == pytest.approx([end * 1000 for end in a])


def test_correlated_observations_have_wider_intervals():
    random = np.random.default_rng(7)
    values = stays(random, port.MM1, 0.5, 20_000, 1)[0]
    correlated, mixed = (intervals(pl.Series(row), SHARES) for row in (values, random.permutation(values)))
    for a, b in zip(
        (correlated.mean, *correlated.percentiles), (mixed.mean, *mixed.percentiles), strict=True
    ):
        assert (a.high - a.low) > 1.2 * (b.high - b.low)


def completed(n: int) -> pl.DataFrame:
    """Flows of two groups of size, in another order than that of their starts."""
    random = np.random.default_rng(8)
    slowdown = random.exponential(1, n) + 1
    return pl.DataFrame(
        {
            "tag": random.choice(["a", "b"], n),
            "start_ps": np.arange(n, dtype=np.uint64),
            "size_bytes": random.choice(np.array([1000, 1_000_000], dtype=np.uint64), n),
            "completed": [True] * n,
            "fct_ps": (slowdown * 1e6).astype(np.uint64),
            "slowdown": slowdown,
        }
    ).sample(fraction=1, shuffle=True, seed=1)


def test_tables_of_completion_have_the_ends_of_their_group_s_intervals():
    flows = completed(4000)
    table = analysis.by_size(flows, intervals=True)
    without = analysis.by_size(flows)
    assert table.select(without.columns).equals(without)
    added = table.columns[without.width :]
    statistics = ("mean", *PERCENTILES)
    assert added == [
        name
        for pattern in ("fct_{}_{}_ps", "slowdown_{}_{}")
        for statistic in statistics
        for name in (pattern.format(statistic, end) for end in ("low", "high"))
    ]
    groups = {"up to 100 KB": flows.filter(size_bytes=1000), "all": flows}
    for group, own in groups.items():
        row = table.row(by_predicate=pl.col("group") == group, named=True)
        found = intervals(own.sort("start_ps")["slowdown"], list(PERCENTILES.values()))
        for statistic, interval in zip(statistics, (found.mean, *found.percentiles), strict=True):
            assert (row[f"slowdown_{statistic}_low"], row[f"slowdown_{statistic}_high"]) == interval
        assert row["fct_p99_low_ps"] == pytest.approx(row["slowdown_p99_low"] * 1e6, rel=1e-6)


def test_flows_of_few_bursts_have_no_interval():
    flows = completed(4000)
    bursts = flows.with_columns(pl.col("start_ps") // 200)
    assert bursts["start_ps"].n_unique() == 20
    assert analysis.overall(bursts, intervals=True)["slowdown_p50_low"].to_list() == [None]
    many = flows.with_columns(pl.col("start_ps") // 100)
    assert analysis.overall(many, intervals=True)["slowdown_p50_low"].to_list() != [None]


@pytest.mark.parametrize("function", [analysis.overall, analysis.by_entry, analysis.over_size])
def test_other_tables_of_completion_have_them_too(function):
    flows = completed(2000)
    table = function(flows, intervals=True)
    assert (table["slowdown_p50_low"] <= table["slowdown_p50"]).all()
    assert (table["slowdown_p50_high"] >= table["slowdown_p50"]).all()
    assert function(flows.clear(), intervals=True).columns == table.columns
    assert not {name for name in function(flows).columns if name.endswith(("_low", "_high"))}


@pytest.mark.parametrize(
    ("flows", "interval"), [(1500, r" \[[\d.,]+, [\d.,]+\]"), (200, r" \[[\d.,]+, -\]"), (30, "")]
)
def test_a_run_s_summary_has_them_beside_each_mean_and_percentile(flows, interval):
    result = run_of_packets(port.MD1, 0.2, flows, 0)
    lines = {name: value for name, value in summary_table(result, "run").rows}  # noqa: C416 (mypy wants pairs)
    assert re.fullmatch(rf"[\d.,]+{interval} us", lines["FCT p99"]), lines["FCT p99"]
    assert re.fullmatch(rf"[\d.,]+{interval}", lines["slowdown p99"])
    assert lines.keys() >= {
        f"{name} {p}" for name in ("FCT", "slowdown") for p in ("mean", "p50", "p95", "p99")
    }
    own = pl.DataFrame(result.flows).filter("measured").sort("start_ps")
    low, high = intervals(own["slowdown"], SHARES).mean
    ends = "" if low is None else f" [{low:.4g}, {high:.4g}]"
    mean = own["slowdown"].mean()
    assert isinstance(mean, float)
    assert lines["slowdown mean"] == f"{mean:.4g}{ends}"
    few = "no 95 % intervals: fewer than 40 flows are complete"
    assert legend(result).startswith("[low, high]: 95 % interval" if interval else few)


def test_many_flows_without_an_interval_have_another_reason_than_their_number():
    # Twice as much arrives as the port transmits: the delays of 1,000 flows have a trend.
    result = run_of_packets(port.MD1, 2.0, 1000, 0)
    assert intervals(
        pl.DataFrame(result.flows).filter("measured").sort("start_ps")["slowdown"], SHARES
    ).mean == (None, None)
    assert summary.FEWEST == within_run.FEWEST
    said = "no 95 % intervals: slow flows follow slow flows for too long in this window, as while queues grow"
    assert legend(result).startswith(said)


def test_the_cause_of_missing_intervals_is_the_one_that_applies():
    # 60 flows at once: a burst.
    pairs = [[host, 0] for host in range(1, 61)]
    entry = {
        "name": "a",
        "arrivals": {"times": {"at": ["0s"] * 60, "jitter": "0s"}},
        "matrix": {"pairs": pairs},
        "sizes": {"fixed": "10KB"},
    }
    burst = fy.run({"topology": {"single-switch": {"hosts": 61}}, "transport": "ndp", "traffic": [entry]})
    assert legend(burst).startswith("no 95 % intervals: flows start at fewer than 40 instants")
    assert "slow flows" not in legend(burst)


@pytest.mark.parametrize(("low", "high", "said"), [(1.0, 2.0, False), (1.0, None, True), (None, 2.0, True)])
def test_an_interval_with_one_end_is_explained_where_there_is_one(low, high, said):
    names = (
        f"{kind}_{name}_{{}}{unit}"
        for kind, unit in (("fct", "_ps"), ("slowdown", ""))
        for name in ("mean", "p50", "p95", "p99")
    )
    row = {"completed": 100, "slowdown_mean": 1.5}
    for name in names:
        row |= {name.format("low"): low, name.format("high"): high}
    words = legend(cast("fy.Result", SimpleNamespace(summary={"completion": [row]})))
    assert words.startswith("[low, high]: 95 % interval")
    assert (summary.ONE_END in words) == said


@pytest.mark.parametrize(("slowdown_low", "said"), [(1.5, False), (None, True)])
def test_slowdown_without_intervals_beside_completion_times_with_them_has_its_reason(slowdown_low, said):
    names = ("mean", *summary.SHOWN)
    row: dict[str, Any] = {"completed": 1000, "slowdown_mean": 2.0}
    for name in names:
        row |= {f"fct_{name}_low_ps": 10**6, f"fct_{name}_high_ps": 2 * 10**6}
        row |= {f"slowdown_{name}_low": slowdown_low, f"slowdown_{name}_high": None}
    none: Any = None
    assert ("slowdown of all flows has none:" in legend(fy.Result(none, none, {"completion": [row]}))) is said


def test_a_group_without_any_has_no_line_of_them():
    sizes = {"traffic.packets.sizes": {"uniform": {"min": "1KB", "max": "200KB"}}}
    table = sizes_table(fy.run(run_of_packets(port.MD1, 0.2, 30, 0).summary["scenario"], sizes))
    assert table is not None
    assert [row[0] for row in table.rows] == ["up to 100 KB", "100 KB to 10 MB", "all"]


def test_tables_by_size_have_them_in_a_line_of_their_own():
    changes = {
        "traffic.packets.sizes": {"uniform": {"min": "1KB", "max": "200KB"}},
        "traffic.packets.arrivals.poisson.rate": 250,
        "traffic.packets.flows": 400,
    }
    table = sizes_table(fy.run(run_of_packets(port.MD1, 0.2, 30, 0).summary["scenario"], changes))
    assert table is not None
    assert [row[0] for row in table.rows[::2]] == ["up to 100 KB", "100 KB to 10 MB", "all"]
    for row, below in zip(table.rows[::2], table.rows[1::2], strict=True):
        assert below[:3] == ["", "", ""]
        for value, interval in zip(row[3:], below[3:], strict=True):
            low = re.fullmatch(r"\[([\d.,]+), ([\d.,]+|-)\]", interval)[1]
            assert float(low.replace(",", "")) <= float(value.replace(",", ""))
