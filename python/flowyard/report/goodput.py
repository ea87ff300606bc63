"""The span that the goodput of a run is over, in words, and how much of it the last flows took."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from flowyard import text
from flowyard.run_json import has_window, window_of

if TYPE_CHECKING:
    import polars as pl

# From so many flows on the last percent of them is apart.
FLOWS_OF_PERCENT = 100
# Shares of a whole run that the last percent of its flows, and the time after its last flow, take where that is told.
PERCENT_TOOK, IDLE_TOOK = 0.1, 0.01


def over(summary: Mapping[str, Any]) -> str:
    """The span of the goodput of a run.json: that of its window, or all of the run, an idle end included."""
    start, end = text.durations(*window_of(summary))
    return f"from {start} to {end}" if has_window(summary) else f"to the end at {end}"


def late_end(flows: "pl.DataFrame", end_ps: int) -> tuple[str, int] | None:
    """Which flows of a whole run were complete long before its end, and when; None if the end was busy.

    Args:
        flows: All flows, with the columns start_ps and fct_ps.
        end_ps: The end of the run.
    """
    ends = (flows["start_ps"] + flows["fct_ps"]).drop_nulls().sort()
    # The rank of the flow by which 99 of 100 were complete; with few flows that is the last.
    choices = [("all flows", flows.height, IDLE_TOOK)]
    if flows.height >= FLOWS_OF_PERCENT:
        choices.insert(0, ("99% of flows", flows.height - flows.height // 100, PERCENT_TOOK))
    for which, rank, least in choices:
        if 0 < rank <= len(ends) and end_ps - ends[rank - 1] > least * end_ps:
            return which, int(ends[rank - 1])
    return None
