"""LIT-SIRD, LIT-DCPIM, LIT-HOMA-DCPIM, LIT-XPASS, LIT-PHOST: quick tables, and numbers that make their claims fail."""

import polars as pl
import pytest
from figure_judges import check_real_tables, verdict

from flowyard.papers.judge import FAIL, NOT_REACHED, PASS
from flowyard_papers.literature import _sird, dcpim, expresspass, homa_dcpim, phost, sird

MODULES = (sird, dcpim, homa_dcpim, expresspass, phost)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.FIGURE.id)
def test_verdicts_of_real_tables(module, made):
    check_real_tables(module, made(module.FIGURE))


# Goodput, peak buffer and tail that are exactly the numbers of SIRD's paper.
OF_PAPER = {
    _sird.SIRD: (0.8, 100_000, 2.0),
    _sird.HOMA: (0.8, 1_200_000, 2.0),
    _sird.DCPIM: (0.8 / 1.09, 100_000 / 0.57, 2.0 / 0.54),
    _sird.EXPRESSPASS: (0.8 / 1.26, 20_000, 20.0),
}


def stacks(**changes):
    """The numbers of the paper, but for transports named here; None: a tail of flows that did not end."""
    rows = [
        {
            "configuration": name,
            "load": load,
            "stack": stack,
            "goodput": goodput,
            "queue_max_bytes": queue,
            "slowdown_p99": tail,
        }
        for name in _sird.CONFIGURATIONS
        for load in (_sird.HALF, _sird.HIGH)
        for stack, (goodput, queue, tail) in (OF_PAPER | changes).items()
    ]
    floats = {"slowdown_p99": pl.Float64, "queue_max_bytes": pl.Float64}
    return {"points": pl.DataFrame(rows, schema_overrides=floats)}


@pytest.mark.parametrize(
    ("changes", "fail"),
    [
        ({}, ""),
        ({_sird.HOMA: (0.8, 1_490_000, 2.0)}, ""),
        ({_sird.HOMA: (0.8, 890_000, 2.0)}, "b"),
        ({_sird.HOMA: (0.8, 1_510_000, 2.0)}, "b"),
        ({_sird.HOMA: (0.8, 99_000, 2.0)}, "ab"),
        ({_sird.DCPIM: (0.8 / 1.06, 100_000 / 0.57, 2.0 / 0.54)}, "c"),
        ({_sird.DCPIM: (0.8 / 1.09, 100_000 / 0.7, 2.0 / 0.54)}, "c"),
        ({_sird.DCPIM: (0.8 / 1.09, 100_000 / 0.57, 2.0 / 0.67)}, "c"),
        ({_sird.DCPIM: (0.81, 100_000 / 0.57, 2.0 / 0.54)}, "ac"),
        ({_sird.DCPIM: (0.8 / 1.09, 99_000, 2.0 / 0.54)}, "ac"),
        ({_sird.EXPRESSPASS: (0.8 / 1.26, 20_000, 14.0)}, "d"),
        ({_sird.EXPRESSPASS: (0.8 / 1.35, 20_000, 20.0)}, "d"),
        ({_sird.EXPRESSPASS: (0.81, 20_000, 20.0)}, "ad"),
    ],
)
def test_sird_beside_others(changes, fail):
    found = "".join(letter for letter in "abcd" if verdict(sird, letter, stacks(**changes)) == FAIL)
    assert found == fail


def test_sird_needs_all_tails():
    tables = stacks(**{_sird.DCPIM: (0.7, 200_000, None)})
    assert [verdict(sird, letter, tables) for letter in "abcd"] == [NOT_REACHED, PASS, NOT_REACHED, PASS]


def budgets(goodput=(0.7, 0.75, 0.8, 0.81, 0.82), queue=(10, 12, 15, 20, 30), numbers=_sird.BUDGETS):
    rows = [
        {"workload": workload, "budget": budget, "goodput": good, "queue_max_bytes": 1000 * port}
        for workload in _sird.OF_BUDGETS
        for budget, good, port in zip(numbers, goodput, queue, strict=False)
    ]
    return {"budgets": pl.DataFrame(rows)}


def test_credit_budgets():
    assert [verdict(sird, letter, budgets()) for letter in "ef"] == [PASS, PASS]
    assert verdict(sird, "e", budgets(goodput=(0.7, 0.75, 0.8, 0.85, 0.91))) == FAIL
    assert verdict(sird, "e", budgets(goodput=(0.8, 0.8, 0.8, 0.8, 0.8))) == FAIL
    assert verdict(sird, "f", budgets(queue=(10, 12, 12, 20, 30))) == FAIL
    assert [verdict(sird, letter, budgets(numbers=(1.0, 1.5))) for letter in "ef"] == [NOT_REACHED] * 2


def rounds(shifts=None, points=dcpim.README):
    """All of a load is delivered up to 2 points below the sustained one, and 4 % less 2 points above it."""
    rows = [
        {"rounds": r, "channels": k, "load": percent / 100 + off, "kept": part}
        for r, k in points
        for percent in [dcpim.README[r, k] + (shifts or {}).get((r, k), 0)]
        for off, part in ((-0.3, 1.0), (-0.02, 1.0), (0.02, 0.96))
    ]
    return {"rounds": pl.DataFrame(rows)}


def test_sustained_loads_by_rounds_and_channels():
    (points,) = rounds(points=[(3, 4)]).values()
    assert dcpim.sustained(points) == pytest.approx(82)
    assert dcpim.sustained(points.filter(pl.col("kept") == 1)) == pytest.approx(80)
    assert dcpim.sustained(points.filter(pl.col("kept") < 1)) is None
    assert [verdict(dcpim, letter, rounds()) for letter in "ab"] == [PASS, PASS]
    assert verdict(dcpim, "a", rounds({(2, 1): 2.9})) == PASS
    assert verdict(dcpim, "a", rounds({(2, 1): 3.1})) == FAIL
    assert verdict(dcpim, "a", rounds({(4, 4): -3.1})) == FAIL
    # Fewer with four channels; a second round that adds nothing; a fourth that adds 2 points.
    assert [verdict(dcpim, "b", rounds({point: by})) for point, by in (((1, 4), -3), ((2, 1), 2))] == [
        FAIL
    ] * 2
    assert verdict(dcpim, "b", rounds({(4, 4): 2})) == FAIL
    few = rounds(points=[(1, 1), (4, 4)])
    assert [verdict(dcpim, letter, few) for letter in "ab"] == [NOT_REACHED] * 2


def delivered(changes=None, loads=homa_dcpim.LOADS):
    """Each transport delivers less than the one before it; others where `changes` says so."""
    order = (homa_dcpim.HOMA, homa_dcpim.DCPIM, homa_dcpim.DROPPING, homa_dcpim.NDP, homa_dcpim.MATCHED)
    rows = [
        {"workload": workload, "load": load, "stack": name, "kept": part}
        for workload in homa_dcpim.SIZES
        for load in loads
        for place, name in enumerate(order)
        for part in [(changes or {}).get((name, workload, load), 0.99 - place / 100)]
    ]
    return {"loads": pl.DataFrame(rows)}


def test_what_homa_and_dcpim_deliver():
    assert [verdict(homa_dcpim, "c", delivered(), reading) for reading in range(3)] == [PASS, FAIL, PASS]
    assert verdict(homa_dcpim, "a", delivered()) == PASS
    one = (homa_dcpim.WEB_SEARCH, 0.88)
    assert verdict(homa_dcpim, "a", delivered({(homa_dcpim.NDP, *one): 0.985})) == FAIL
    assert verdict(homa_dcpim, "c", delivered({(homa_dcpim.HOMA, *one): 0.98})) == FAIL
    assert [verdict(homa_dcpim, letter, delivered(loads=(0.8,))) for letter in "ac"] == [NOT_REACHED] * 2


def short_tails(homas=1.5, ended=True):
    """Homa's tails are shorter than dcPIM's, and on Homa's set-up `homas` with W4."""
    tails = dict(zip(homa_dcpim.DISPUTED, (1.1, 1.3, 1.2, 30.0), strict=True))
    rows = [
        {"set_up": set_up, "workload": name, "stack": stack, "short_p99": tail if ended else None}
        for set_up, names in homa_dcpim.WORKLOADS.items()
        for name in names
        for stack, own in tails.items()
        for tail in [homas if (name, stack) == ("W4", homa_dcpim.HOMA) else own]
    ]
    return {"tails": pl.DataFrame(rows, schema_overrides={"short_p99": pl.Float64})}


def test_tails_of_homa_and_dcpim():
    found = [verdict(homa_dcpim, "b", short_tails(), reading) for reading in range(6)]
    assert found == [PASS, FAIL, PASS, FAIL, FAIL, PASS]
    assert verdict(homa_dcpim, "b", short_tails(homas=1.1), 3) == PASS
    assert verdict(homa_dcpim, "b", short_tails(ended=False)) == NOT_REACHED


def even(ours=(0.5, 0.5), late=(2.0, 2.0), dctcp=(20.0, 40.0)):
    """Times at 10 and 40 Gbps."""
    by = dict(zip(expresspass.STACKS, (ours, late, dctcp), strict=True))
    rows = [
        {"gbps": gbps, "stack": stack, "replica": 0, "even_ms": times[place]}
        for stack, times in by.items()
        for place, gbps in enumerate(expresspass.RATES)
    ]
    return {"runs": pl.DataFrame(rows, schema_overrides={"even_ms": pl.Float64})}


def test_even_shares():
    both = (0, 1)
    assert [verdict(expresspass, letter, even(), n) for letter in "ab" for n in both] == [PASS] * 4
    assert [verdict(expresspass, "a", even(late=(21, 1)), n) for n in both] == [PASS, FAIL]
    assert [verdict(expresspass, "b", even(ours=(0.5, 1.1)), n) for n in both] == [FAIL, PASS]
    assert verdict(expresspass, "a", even(dctcp=(None, 40))) == NOT_REACHED
    assert verdict(expresspass, "b", even(dctcp=(20, None))) == NOT_REACHED
    rising = pl.DataFrame({"since_ms": [0.1, 0.2, 0.3], "jain": [0.9, 0.95, 0.9]})
    assert expresspass.even_after(rising) == pytest.approx(0.2)
    assert expresspass.even_after(rising.filter(pl.col("jain") < 0.95)) is None


def slowdowns(mean=1.13, web=1.13, tail=1.5, loads=phost.LOADS):
    """Slowdowns of pHost at the last load are so many times those of pFabric, else 1.13 times."""
    rows = [
        {
            "workload": workload,
            "stack": stack,
            "load": load,
            "slowdown_mean": 2 * (above if load == 0.8 else 1.13) if stack == phost.PHOST else 2,
            "fct_mean_us": 100 * 1.13 if stack == phost.PHOST else 100,
            "short_p99_us": 10 * (tail if load == 0.8 else 1.5) if stack == phost.PHOST else 10,
        }
        for workload, above in zip(phost.WORKLOADS, (mean, web), strict=True)
        for load in loads
        for stack in phost.STACKS
    ]
    floats = dict.fromkeys(phost.MEASURES, pl.Float64)
    return {"points": pl.DataFrame(rows, schema_overrides=floats)}


def test_phost_beside_pfabric():
    assert [verdict(phost, letter, slowdowns()) for letter in "ab"] == [PASS, PASS]
    assert [verdict(phost, "a", slowdowns(mean=above)) for above in (1.021, 1.249)] == [PASS, PASS]
    assert [verdict(phost, "a", slowdowns(mean=above)) for above in (1.019, 1.251)] == [FAIL, FAIL]
    assert [verdict(phost, "a", slowdowns(web=1.3), reading) for reading in (0, 1, 2)] == [PASS, FAIL, PASS]
    assert verdict(phost, "b", slowdowns(tail=0.99)) == FAIL
    assert [verdict(phost, letter, slowdowns(loads=(0.4, 0.6))) for letter in "ab"] == [NOT_REACHED] * 2
