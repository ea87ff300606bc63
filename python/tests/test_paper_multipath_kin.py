"""LIT-FUSO, LIT-MMPTCP, LIT-XMP: real quick tables, and numbers that make their claims fail."""

import polars as pl
import pytest
from figure_judges import check_real_tables, verdict

from flowyard.papers.judge import FAIL, NOT_REACHED, PASS
from flowyard_papers.literature import fuso, mmptcp, xmp

MODULES = (fuso, mmptcp, xmp)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.FIGURE.id)
def test_verdicts_of_real_tables(module, made):
    check_real_tables(module, made(module.FIGURE))


def tails(worst=0.5, losses=fuso.LOSSES):
    """MPTCP has 1 ms; FUSO has less, and at 3 % as much as given."""
    rows = [
        {
            "recovery": recovery,
            "loss": loss,
            "p99_ms": of if loss != 0.03 or recovery == fuso.MPTCP else worst,
        }
        for recovery, of in ((fuso.FUSO, 0.1), (fuso.MPTCP, 1.0))
        for loss in losses
    ]
    return {"points": pl.DataFrame(rows, schema_overrides={"p99_ms": pl.Float64})}


def test_tails_where_a_path_loses_packets():
    assert verdict(fuso, "a", tails()) == PASS
    assert verdict(fuso, "a", tails(0.51)) == FAIL
    assert verdict(fuso, "a", tails(None)) == NOT_REACHED
    assert verdict(fuso, "a", tails(losses=(0.01,))) == NOT_REACHED


def beside(mean=0.9, deviation=0.9, goodput=0.95, network=mmptcp.PAPER):
    """MPTCP has 1 of all; MMPTCP in one network what is given."""
    rows = [
        {
            "network": of,
            "protocol": protocol,
            "replica": 0,
            "mean_ms": mean if (of, protocol) == (network, mmptcp.MMPTCP) else other,
            "std_ms": deviation if (of, protocol) == (network, mmptcp.MMPTCP) else other,
            "goodput": goodput if (of, protocol) == (network, mmptcp.MMPTCP) else 1.0,
        }
        for of in mmptcp.NETWORKS
        for protocol, other in ((mmptcp.MMPTCP, 0.9), (mmptcp.MPTCP, 1.0))
    ]
    runs = pl.DataFrame(rows, schema_overrides=dict.fromkeys(mmptcp.MEASURES, pl.Float64))
    return {"runs": runs, "points": runs.drop("replica")}


@pytest.mark.parametrize(("reading", "network"), list(enumerate(mmptcp.NETWORKS)))
def test_short_and_long_flows_under_mmptcp(reading, network):
    assert {verdict(mmptcp, letter, beside(network=network), reading) for letter in "ab"} == {PASS}
    assert verdict(mmptcp, "a", beside(mean=1.01, network=network), reading) == FAIL
    assert verdict(mmptcp, "a", beside(deviation=1.01, network=network), reading) == FAIL
    assert verdict(mmptcp, "a", beside(mean=1.01, network=network), 1 - reading) == PASS
    assert verdict(mmptcp, "a", beside(mean=None, network=network), reading) == NOT_REACHED
    assert verdict(mmptcp, "b", beside(goodput=0.949, network=network), reading) == FAIL


def paths(own=0.1, uncoupled=0.5, couplings=(xmp.TRASH, xmp.UNCOUPLED)):
    shares = dict(zip((xmp.TRASH, xmp.UNCOUPLED), (own, uncoupled), strict=True))
    rows = [
        {"coupling": name, "replica": 0, "own": shares[name], "other": 1 - shares[name], "free": 1.0}
        for name in couplings
    ]
    return {"shift": pl.DataFrame(rows)}


def test_traffic_moves_to_the_free_path():
    assert verdict(xmp, "a", paths()) == PASS
    assert verdict(xmp, "a", paths(own=0.5, uncoupled=0.6)) == FAIL
    assert verdict(xmp, "a", paths(own=0.4, uncoupled=0.3)) == FAIL
    assert verdict(xmp, "a", paths(couplings=(xmp.TRASH,))) == NOT_REACHED


def permutation(four=0.8, two=0.8, lia=0.7, soon=0.7, subflows=xmp.SUBFLOWS):
    found = {xmp.XMP: {2: two, 4: four}, xmp.LIA: {2: 0.9, 4: lia}, xmp.LIA_SOON: {2: 0.9, 4: soon}}
    rows = [
        {"stack": stack, "subflows": n, "goodput": of[n]} for stack, of in found.items() for n in subflows
    ]
    return {"points": pl.DataFrame(rows)}


@pytest.mark.parametrize(
    ("tables", "expected"),
    [
        (permutation(), [PASS, PASS, PASS]),
        (permutation(four=0.69), [FAIL, PASS, FAIL]),
        (permutation(two=0.69), [PASS, FAIL, PASS]),
        (permutation(soon=0.81), [PASS, PASS, FAIL]),
    ],
)
def test_goodput_of_a_permutation(tables, expected):
    assert [verdict(xmp, "b", tables, reading) for reading in range(3)] == expected


def test_a_permutation_without_all_numbers_of_subflows():
    assert verdict(xmp, "b", permutation(subflows=(4,))) == NOT_REACHED
