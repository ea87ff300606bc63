"""The span that the goodput of a run is over, in words, and how much of it the last flows took."""

from collections.abc import Mapping, Sequence
from typing import Any

from flowyard import text
from flowyard.run_json import has_window, window_of

# From so many flows on the last percent of them is apart.
FLOWS_OF_PERCENT = 100
# Shares of a whole run from which on summaries name its last percent of flows, and the idle time after its last flow.
PERCENT_TOOK, IDLE_TOOK = 0.1, 0.01


def over(summary: Mapping[str, Any]) -> str:
    """The span of the goodput of a run.json: that of its window, or all of the run, an idle end included."""
    start, end = text.durations(*window_of(summary))
    return f"from {start} to {end}" if has_window(summary) else f"to the end at {end}"


def late_end(
    starts: Sequence[int | None], times: Sequence[int | None], end_ps: int
) -> tuple[str, int] | None:
    """Which flows of a whole run were complete long before its end, and when; None if the end was busy.

    Args:
        starts: Of all flows.
        times: Their completion times, None for those that are not complete.
        end_ps: The end of the run.
    """
    pairs = zip(starts, times, strict=True)
    ends = sorted(start + fct for start, fct in pairs if start is not None and fct is not None)
    flows = len(starts)
    # The rank of the flow by which 99 of 100 were complete; with few flows that is the last.
    choices = [("all flows", flows, IDLE_TOOK)]
    if flows >= FLOWS_OF_PERCENT:
        choices.insert(0, ("99% of flows", flows - flows // 100, PERCENT_TOOK))
    for which, rank, least in choices:
        if 0 < rank <= len(ends) and end_ps - ends[rank - 1] > least * end_ps:
            return which, ends[rank - 1]
    return None
