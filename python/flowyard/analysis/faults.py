"""Flows before, during and after faults."""

from collections.abc import Sequence
from typing import Any

from flowyard.analysis.frames import Arrow, frame
from flowyard.forks import pl

PERIODS = ("before", "during", "after")


def spans_of(faults: Sequence[dict[str, Any]]) -> list[tuple[dict[str, Any], int | None]]:
    """Faults in order, each with its end in ps; None if it stayed.

    Args:
        faults: What run.json says under `faults`. A fault is over when it is undone, or when the same links and
            nodes come up again.
    """
    found = []
    for fault in faults:
        if fault["change"] == "up":
            continue
        repairs = [
            other["at_ps"]
            for other in faults
            if other["change"] == "up"
            and fault["change"] == "down"
            and other["at_ps"] >= fault["at_ps"]
            and (other["links"], other["nodes"]) == (fault["links"], fault["nodes"])
        ]
        known = [end for end in (fault["undone_ps"], *repairs) if end is not None]
        found.append((fault, min(known) if known else None))
    return found


def trouble(faults: Sequence[dict[str, Any]]) -> tuple[int, int | None] | None:
    """When the first fault happened and when the last one was over, in ps; None for the latter if one stays.

    Returns:
        None if nothing went wrong.
    """
    wrong = spans_of(faults)
    if not wrong:
        return None
    ends = [end for _, end in wrong]
    last = None if None in ends else max(end for end in ends if end is not None)
    return min(fault["at_ps"] for fault, _ in wrong), last


def met(flows: Arrow, start_ps: int, end_ps: int | None) -> pl.DataFrame:
    """The flows that were active at some time of an interval, those that lost most packets first.

    Args:
        flows: At least id, start_ps, fct_ps, lost and timeouts; an unfinished flow lasts to the end of the run.
        start_ps: When it began.
        end_ps: When it was over; None if it never was.

    Returns:
        Their rows, with met_from_ps and met_to_ps: from when to when they were active in the interval; the latter is
        null if neither they nor the interval ended.
    """
    flows = frame(flows)
    over = pl.col("start_ps") + pl.col("fct_ps")
    begun = pl.lit(True) if end_ps is None else pl.col("start_ps") < end_ps
    own = flows.filter(begun & (over >= start_ps).fill_null(True) & pl.col("start_ps").is_not_null())
    return own.with_columns(
        met_from_ps=pl.max_horizontal("start_ps", pl.lit(start_ps, dtype=pl.UInt64)),
        met_to_ps=pl.min_horizontal(over, pl.lit(end_ps, dtype=pl.UInt64)),
    ).sort("lost", "timeouts", "id", descending=[True, True, False])


def by_period(flows: Arrow, start_ps: int, end_ps: int | None) -> dict[str, pl.DataFrame]:
    """The flows that were over before the trouble, those that it met, and those that started after it.

    Args:
        flows: At least start_ps and fct_ps; an unfinished flow lasts to the end of the run.
            One that never started counts as met by the trouble.
        start_ps: When the trouble began.
        end_ps: When it was over; None if it never was.
    """
    flows = frame(flows)
    over = (pl.col("fct_ps") + pl.col("start_ps")) < start_ps
    later = pl.lit(False) if end_ps is None else (pl.col("start_ps") >= end_ps).fill_null(False)
    before = over.fill_null(False)
    return {
        "before": flows.filter(before),
        "during": flows.filter(~before & ~later),
        "after": flows.filter(later & ~before),
    }
