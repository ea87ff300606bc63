"""Metrics of the flows table of the slotted link: pure functions, polars in, polars out."""

from flowyard.forks import pl

# Of each run or set.
MEASURES = ("flows", "done", "application_throughput", "fct_mean_slots", "makespan_slots")


def ended(flows: pl.DataFrame) -> pl.DataFrame:
    """The flows whose fate is known: those that were there at the end of the run are left out."""
    return flows.filter(pl.col("end_slot").is_not_null())


def measure(flows: pl.DataFrame, by: tuple[str, ...] = ()) -> pl.DataFrame:
    """The thesis's metrics.

    Args:
        flows: As `slotted.run` gives them, or those of several runs with columns that tell them apart.
        by: These columns; ("set",) for independent sets.

    Returns:
        A row for each: `by`, flows (that have come and gone), done, application_throughput (their ratio: flows done
        by their deadline over flows generated), fct_mean_slots (of those done, from arrival to end),
        makespan_slots (end of the last one done).
    """
    done = pl.col("done")
    fct = pl.col("end_slot").cast(pl.Int64) - pl.col("arrival_slot").cast(pl.Int64)
    own = [
        pl.len().alias("flows"),
        done.sum().alias("done"),
        done.mean().alias("application_throughput"),
        fct.filter(done).mean().alias("fct_mean_slots"),
        pl.col("end_slot").filter(done).max().alias("makespan_slots"),
    ]
    table = ended(flows)
    return table.group_by(by, maintain_order=True).agg(own) if by else table.select(own)
