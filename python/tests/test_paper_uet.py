"""LIT-UET: the judges on tables made by hand, each to PASS and to FAIL."""

import polars as pl

from flowyard.papers.words import NOT_REACHED, PASS
from flowyard_papers.literature import uet

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
        for control, tail in zip(uet.CONTROLS, tails, strict=True)
    ]
    return {"runs": pl.DataFrame(rows)}


def verdicts(of: dict[str, pl.DataFrame]) -> dict[str, bool]:
    """Whether each claim passes."""
    return {name: judge(of).verdict == PASS for name, judge in CLAIMS.items()}


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
    assert len(legend.get_texts()) == len(uet.CONTROLS)
