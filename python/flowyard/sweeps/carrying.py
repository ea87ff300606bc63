"""Whether a point of a sweep carries its load, by the mean over its replicas.

The test of a single run has wide limits, since one window varies and many runs are tested (docs/measuring.md); a
mean over replicas varies less, and shows a network that carries a few per cent less than arrives.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from flowyard.analysis.intervals import replica_means
from flowyard.forks import pl
from flowyard.sweeps.task import label_of
from flowyard.text import counted

# Of two values Student's t is 12.7, and of one there is no interval.
FEWEST = 3
# Of fewer, a mean that is so much below the load is worth a further replica: a window alone varies by less.
SHORTFALL = 0.1
LOADS = ("offered_load", "realised_load", "carried_load")


def carries(means: pl.DataFrame) -> pl.Series:
    """Whether each point's 95 % interval of the carried load reaches its load; null where this cannot be said.

    The load is the smaller one of the offered and of the realised load: flows that were drawn too large or too small
    are no fault of the network.

    Args:
        means: Of Sweep.means, the columns replicas and of loads.
    """
    least = pl.min_horizontal("offered_load", "realised_load")
    reached = pl.col("carried_load") + pl.col("carried_load_ci95") >= least
    return means.select(
        pl.when((pl.col("replicas") >= FEWEST) & pl.col("realised_load").is_not_null())
        .then(reached)
        .alias("carries")
    )["carries"]


def reason(row: Mapping[str, Any]) -> str:
    """Why a point does not carry its load, in words as those of run.json, by its row of Sweep.means."""
    carried, half = row["carried_load"], row["carried_load_ci95"]
    return (
        f"over {row['replicas']} replicas a mean load of {carried:.3f} +- {half:.3f} was carried, "
        f"{row['realised_load']:.3f} arrived and {row['offered_load']:.3f} is offered"
    )


def line(
    runs: pl.DataFrame, axes: Sequence[str], summaries: Mapping[str, Mapping[str, Any]], where: str
) -> list[str]:
    """A line on the points that do not carry their load, with the way to these; none if all do.

    Args:
        runs: The runs of the plan, as Sweep.runs.
        axes: The columns that tell points apart.
        summaries: The run.json of each run that is done, which need no table to be read.
        where: The command that shows the points.
    """
    loads = [
        {"run": key, **{name: (summary.get("measured") or {}).get(name) for name in LOADS}}
        for key, summary in summaries.items()
    ]
    table = pl.DataFrame(loads, schema={"run": pl.String, **dict.fromkeys(LOADS, pl.Float64)})
    means = replica_means(runs.join(table, on="run", maintain_order="left"), axes, LOADS)
    count = int((~carries(means)).sum())
    points = "1 point does not carry its load" if count == 1 else f"{count:,} points do not carry their loads"
    return ([f"{points}; {where}"] if count else []) + too_few(means, axes)


def too_few(means: pl.DataFrame, axes: Sequence[str]) -> list[str]:
    """A line on points that carry much less than their load by the mean over replicas too few for an interval."""
    least = pl.min_horizontal("offered_load", "realised_load")
    short = means.filter(
        (pl.col("replicas") < FEWEST) & (pl.col("carried_load") < (1 - SHORTFALL) * least)
    ).to_dicts()
    if not short:
        return []
    worst = min(short, key=lambda row: float(row["carried_load"] / row["realised_load"]))
    place = label_of({axis: worst[axis] for axis in axes}, 0, 1) if axes else ""
    found = f"{worst['carried_load']:.3f} of {worst['realised_load']:.3f}"
    return [
        f"{counted(len(short), 'point')} may not carry the load: {place or 'it'} carried {found} in "
        f"{counted(worst['replicas'], 'replica')}; {FEWEST} replicas or more tell"
    ]
