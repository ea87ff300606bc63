"""LIT-UET, LIT-UET-CASES, LIT-UET-PATHS: the judges on tables made by hand, each to PASS and to FAIL; quick runs."""

import polars as pl
import pytest

from flowyard.papers.words import FAIL, NOT_REACHED, PASS
from flowyard_papers.literature import _shipped, uet, uet_cases, uet_selectors
from flowyard_papers.literature._uet import CONTROLS
from flowyard_papers.literature._uet_cases import CASES, INCAST
from flowyard_papers.literature._uet_selectors import BESIDE, SHIPPED

CLAIMS = uet.FIGURE.claims


def tables(scale: float = 1.0, again: int = 72_000) -> dict[str, pl.DataFrame]:
    """Each case as the simulator has it, times a factor."""
    rows = [
        {
            "case": case,
            "control": control,
            "replica": 0,
            "tail_us": 176.19952 * scale if (case, control) == ("one", "nscc") else tail * scale,
            "retransmissions": again if control == "nscc" else 6000,
        }
        for case, tails in uet.SHIPPED.items()
        for control, tail in zip(CONTROLS, tails, strict=True)
    ]
    return {"runs": pl.DataFrame(rows)}


def verdicts(of: dict[str, pl.DataFrame]) -> dict[str, bool]:
    """Whether each claim passes."""
    return {name: judged(of).verdict == PASS for name, judged in CLAIMS.items()}


def test_the_simulator_agrees_with_itself():
    assert all(verdicts(tables()).values())


def test_five_percent_more_is_too_much():
    found = verdicts(tables(1.05))
    assert not any(found[f"LIT-UET.{claim}"] for claim in "abcd")
    assert found["LIT-UET.e"]


def test_half_a_percent_is_too_much_where_nothing_is_random():
    found = verdicts(tables(1.005))
    assert [found[f"LIT-UET.{claim}"] for claim in "bcd"] == [False, True, True]


def test_few_retransmissions_fail_the_sign():
    assert not verdicts(tables(again=20_000))["LIT-UET.e"]


def test_flows_that_have_not_ended_reach_no_verdict():
    unended = {"runs": tables()["runs"].with_columns(tail_us=pl.lit(None, pl.Float64))}
    assert CLAIMS["LIT-UET.a"](unended).verdict == NOT_REACHED


def test_the_picture_has_a_line_for_each_control():
    (axes,) = uet.draw(tables()).axes
    legend = axes.get_legend()
    assert legend
    assert len(legend.get_texts()) == len(CONTROLS)


def test_the_order_over_an_oversubscribed_fabric():
    own = tables()["runs"]
    swapped = own.with_columns(
        tail_us=pl.when(pl.col("case") == "oversubscribed 4")
        .then(pl.col("control").replace_strict({"nscc": 740.0, "rccc": 750.0, "both": 814.0}))
        .otherwise("tail_us")
    )
    assert CLAIMS["LIT-UET.f"]({"runs": swapped}).verdict == FAIL
    without = own.filter(pl.col("case") != "oversubscribed 4")
    assert CLAIMS["LIT-UET.f"]({"runs": without}).verdict == NOT_REACHED


@pytest.mark.parametrize(
    ("median", "beyond"), [(100.0, 0.0), (110.0, 0.0), (105.0, 0.0), (98.0, 0.02), (112.2, 0.02)]
)
def test_distance_to_a_range(median, beyond):
    case = _shipped.Case("one", median, (110.0, 100.0), 0.03)
    assert case.beyond == pytest.approx(beyond)
    assert _shipped.near([case]).verdict == PASS
    far = _shipped.Case("two", 95.0, (100.0,), 0.03)
    found = _shipped.near([case, far])
    assert found.verdict == FAIL
    assert "two: 95 us, where the simulator has 100 us; of 2 medians" in str(found.reason)


def cases(scale: float = 1.0, again: int = 20_000, incast: float = 1.0) -> dict[str, pl.DataFrame]:
    """Each further case in the middle of the simulator's seeds, times a factor; NSCC's incast times another."""
    rows = [
        {
            "case": name,
            "control": control,
            "replica": 0,
            "tail_us": scale
            * (min(times) + max(times))
            / 2
            * (incast if (name, control) == (INCAST, "nscc") else 1),
            "retransmissions": again if control == "nscc" else 700_000,
        }
        for name, case in CASES.items()
        for control, times in case.times.items()
    ]
    return {"runs": pl.DataFrame(rows)}


def test_further_cases():
    claims = uet_cases.FIGURE.claims

    def found(of):
        return {name[-1]: judged(of).verdict for name, judged in claims.items()}

    assert set(found(cases()).values()) == {PASS}
    shifted = found(cases(1.06))
    assert [shifted[letter] for letter in "abcde"] == [FAIL] * 5
    assert found(cases(1.003))["a"] == FAIL
    assert found(cases(incast=0.9))["f"] == FAIL
    assert found(cases(again=50_000))["g"] == FAIL
    small = {"runs": cases()["runs"].filter(~pl.col("case").str.contains("10|81"))}
    assert [found(small)[letter] for letter in "cefg"] == [NOT_REACHED] * 4
    assert uet_cases.draw(cases()).axes


def selectors(**other: float) -> dict[str, pl.DataFrame]:
    """Each selector in the middle of the simulator's seeds; some medians otherwise, by condition and selector."""
    rows = []
    for (condition, control, deep), times in SHIPPED.items():
        for name, values in times.items():
            changed = other.get(f"{condition}_{control}_{name}") if not deep else None
            tail = changed or (min(values) + max(values)) / 2
            rows.append((f"{name}, {control}", condition, 0, tail, 0, 1024, deep))
    rows += [
        (name, condition, 0, 300.0, 0, 1024, False)
        for name in BESIDE
        for condition in ("healthy", "degraded")
    ]
    schema = ["by", "condition", "replica", "tail_us", "retransmissions", "flows", "deep"]
    return {"runs": pl.DataFrame(rows, schema=schema, orient="row")}


def test_selectors():
    claims = uet_selectors.FIGURE.claims

    def found(**other):
        return {name[-1]: judged(selectors(**other)).verdict for name, judged in claims.items()}

    assert set(found().values()) == {PASS}
    assert found(healthy_nscc_reps=220.0)["a"] == FAIL
    assert found(degraded_rccc_reps=230.0)["b"] == FAIL
    assert found(healthy_nscc_mixed1=199.0)["c"] == FAIL
    assert found(degraded_nscc_mixed=222.0)["d"] == FAIL
    assert found(healthy_rccc_reps=201.0)["e"] == FAIL
    assert found(degraded_rccc_oblivious=218.0)["f"] == FAIL
    assert found(healthy_nscc_reps1=209.5)["h"] == FAIL
    small = {"runs": selectors()["runs"].with_columns(flows=16)}
    assert {judged(small).verdict for name, judged in claims.items() if name[-1] != "h"} == {NOT_REACHED}
    assert uet_selectors.draw(selectors()).axes


@pytest.mark.parametrize("module", [uet_cases, uet_selectors], ids=lambda module: module.FIGURE.id)
def test_quick_runs(module, made):
    own = made(module.FIGURE)
    assert not own["runs"]["tail_us"].null_count()
    judged = {name[-1]: one(own).verdict for name, one in module.FIGURE.claims.items()}
    assert module.draw(own).axes
    if module is uet_cases:
        assert [judged[letter] for letter in "abd"] == [PASS] * 3
