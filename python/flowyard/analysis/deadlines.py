"""Deadlines: how many flows met theirs, by how much others were late, and which were served in the wrong order.

Of whatever table of flows has the columns of flows.parquet, from any transport. A flow with a deadline met it, was late
(it completed afterwards), was abandoned (its sender gave up) or is unfinished: these four add up. The last two have no
completion time; they count as missed and are left out of lateness and slack.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence
from typing import NamedTuple

from flowyard.analysis.completion import PERCENTILES
from flowyard.analysis.frames import Arrow, frame
from flowyard.forks import pl


class Inversions(NamedTuple):
    """Deadline inversions of a run.

    Attributes:
        flows: Flows that were served ahead of at least one that had an earlier deadline and missed it.
        pairs: All such pairs: a flow counts once for each flow that it was served ahead of.
    """

    flows: int
    pairs: int


def due(flows: Arrow) -> pl.DataFrame:
    """The flows that have a deadline."""
    return frame(flows).filter(pl.col("deadline_ps").is_not_null())


def application_throughput(flows: Arrow) -> float | None:
    """The share of the flows with a deadline that completed within it, 0 to 1; None if no flow has one.

    Flows that were abandoned, are unfinished or never started count as missed. As everywhere in this package all rows
    count: take away the warm-up and background with `measured` first.
    """
    share: float | None = frame(flows).select(throughput()).item()
    return share


def throughput() -> pl.Expr:
    """The application throughput as an expression, for a `select`, an `agg` or `by_size`."""
    # Null without a deadline, false for whatever has not completed: means leave nulls out.
    return pl.col("met_deadline").mean().alias("application_throughput")


def lateness(flows: Arrow) -> pl.Series:
    """By how many ps each late flow completed after its deadline, all above 0, in the order of the rows."""
    return (-slack(flows).filter(slack(flows) < 0)).alias("lateness_ps")


def slack(flows: Arrow) -> pl.Series:
    """How many ps before its deadline each completed flow with a deadline was complete; negative if it was late."""
    return due(flows).filter("completed").select(_slack().alias("slack_ps")).to_series()


def timeliness(flows: Arrow, by: Sequence[str] = ()) -> pl.DataFrame:
    """Counts of the flows with a deadline.

    Args:
        flows: Columns tag, completed, fct_ps, deadline_ps, met_deadline as in flows.parquet, and
            `abandoned` if it is there.
        by: Columns that tell apart what is counted separately: ("tag",) for traffic entries.

    Returns:
        A row for each: `by`, flows (with a deadline), met, late, abandoned, unfinished (counts, which add up),
        application_throughput (met / flows), lateness_<p>_ps and lateness_max_ps of those that were late,
        slack_p50_ps of those that met it. Null where there is none. Without `by` always one row; else none if no flow
        has a deadline.
    """
    table = due(flows)
    gone = pl.col("abandoned").fill_null(False) if "abandoned" in table.columns else pl.lit(False)
    met, completed = pl.col("met_deadline"), pl.col("completed")
    table = table.with_columns(
        _slack().alias("_slack"), (completed & ~met).alias("_late"), (~completed & gone).alias("_abandoned")
    )
    late = -pl.col("_slack").filter(pl.col("_late"))
    own = [
        pl.len().alias("flows"),
        met.sum().alias("met"),
        pl.col("_late").sum().alias("late"),
        pl.col("_abandoned").sum().alias("abandoned"),
        (~completed & ~pl.col("_abandoned")).sum().alias("unfinished"),
        throughput(),
        *(late.quantile(share, "linear").alias(f"lateness_{name}_ps") for name, share in PERCENTILES.items()),
        late.max().alias("lateness_max_ps"),
        pl.col("_slack").filter(met).quantile(0.5, "linear").alias("slack_p50_ps"),
    ]
    return table.group_by(by, maintain_order=True).agg(own) if by else table.select(own)


def inversions(flows: Arrow) -> Inversions:
    """How many flows were served ahead of one with an earlier deadline that then missed it: see `served_ahead`."""
    ahead = served_ahead(flows)
    return Inversions(int((ahead > 0).sum()), int(ahead.sum()))


def served_ahead(flows: Arrow) -> pl.Series:
    """For each row, of how many flows with an earlier deadline it was served ahead, which then missed it.

    With start s, completion e = s + fct_ps and due time d = s + deadline_ps, flow i was served ahead of flow j, to the
    same dst, if all of these hold:

    * d_j < d_i: j should have gone first;
    * j missed its deadline, and e_i < e_j, or j never completed;
    * s_j < e_i and s_i < d_j: i was there at a time at which j waited and was not too late yet.

    What starts when j is late already did not make it so. When a sender gave up is not in the table: for j that was
    abandoned the time until its deadline counts as well. Flows without a deadline, and those that never started,
    count as neither. A flow need not have been in j's way to count: the table does not know which bytes went first.

    n flows take O(n log n) comparisons: a sweep over completions, with the missed flows that are open in order of
    their due times.

    Args:
        flows: Columns dst, start_ps, fct_ps, deadline_ps, met_deadline as in flows.parquet.
    """
    table = frame(flows)
    ahead = [0] * table.height
    start = pl.col("start_ps").cast(pl.Int64)
    known = pl.col("start_ps").is_not_null() & pl.col("deadline_ps").is_not_null()
    rows = (
        table.with_row_index("row")
        .filter(known)
        .select(
            "row",
            "dst",
            start.alias("start"),
            (start + pl.col("fct_ps").cast(pl.Int64)).alias("end"),
            (start + pl.col("deadline_ps").cast(pl.Int64)).alias("due"),
            (~pl.col("met_deadline")).alias("missed"),
        )
    )
    for here in rows.partition_by("dst"):
        _served_ahead(here, ahead)
    return pl.Series("served_ahead", ahead, dtype=pl.UInt64)


def _served_ahead(flows: pl.DataFrame, ahead: list[int]) -> None:
    """Fills in the rows of the flows to one destination."""
    missed, ended = flows.filter("missed"), flows.filter(pl.col("end").is_not_null())
    arrivals = missed.select("start", "due").sort("start").rows()
    departures = missed.select("end", "due").drop_nulls().sort("end").rows()
    # Due times of the missed flows that have started before, and end after, the completion at hand.
    waiting: list[int] = []
    arrived = departed = 0
    for row, start, end, last in ended.sort("end").select("row", "start", "end", "due").iter_rows():
        while arrived < len(arrivals) and arrivals[arrived][0] < end:
            insort(waiting, arrivals[arrived][1])
            arrived += 1
        # It has arrived, too: a flow that missed its deadline took longer than no time.
        while departed < len(departures) and departures[departed][0] <= end:
            del waiting[bisect_left(waiting, departures[departed][1])]
            departed += 1
        ahead[row] = max(bisect_left(waiting, last) - bisect_right(waiting, start), 0)


def _slack() -> pl.Expr:
    return pl.col("deadline_ps").cast(pl.Int64) - pl.col("fct_ps").cast(pl.Int64)
