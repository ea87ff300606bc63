"""Flows before, during and after faults."""

from collections.abc import Sequence
from typing import Any

import polars as pl

PERIODS = ("before", "during", "after")


def trouble(faults: Sequence[dict[str, Any]]) -> tuple[int, int | None] | None:
    """When the first fault happened and when the last one was over, in ps; None for the latter if one stays.

    Args:
        faults: What run.json says under `faults`. A fault is over when it is undone, or when the same links and
            nodes come up again.

    Returns:
        None if nothing went wrong.
    """
    wrong = [fault for fault in faults if fault["change"] != "up"]
    if not wrong:
        return None
    ends = []
    for fault in wrong:
        repairs = [
            other["at_ps"]
            for other in faults
            if other["change"] == "up"
            and fault["change"] == "down"
            and other["at_ps"] >= fault["at_ps"]
            and (other["links"], other["nodes"]) == (fault["links"], fault["nodes"])
        ]
        known = [end for end in (fault["undone_ps"], *repairs) if end is not None]
        ends.append(min(known) if known else None)
    last = None if None in ends else max(end for end in ends if end is not None)
    return min(fault["at_ps"] for fault in wrong), last


def by_period(flows: pl.DataFrame, start_ps: int, end_ps: int | None) -> dict[str, pl.DataFrame]:
    """The flows that were over before the trouble, those that it met, and those that started after it.

    Args:
        flows: At least start_ps and fct_ps; an unfinished flow lasts to the end of the run.
            One that never started counts as met by the trouble.
        start_ps: When the trouble began.
        end_ps: When it was over; None if it never was.
    """
    over = (pl.col("fct_ps") + pl.col("start_ps")) < start_ps
    later = pl.lit(False) if end_ps is None else (pl.col("start_ps") >= end_ps).fill_null(False)
    before = over.fill_null(False)
    return {
        "before": flows.filter(before),
        "during": flows.filter(~before & ~later),
        "after": flows.filter(later & ~before),
    }
