"""Loads of a sweep's runs, and what a number of flows at a load means: the flows measured at it, or all there are."""

from collections.abc import Callable, Iterable, Sequence

from flowyard.forks import pl
from flowyard.papers import judge
from flowyard.papers.figure import Judgement, Tables
from flowyard.sweeps import Axis, Sweep

# Payload over the rate of the links that a load is of: offered on average, of the flows that start in the measuring
# window, and delivered in it.
COLUMNS = ("offered_load", "realised_load", "carried_load")
# Readings of a number of flows: measured behind a warm-up, with arrivals that go on until the last of them has ended;
# or all flows, the first of which find an empty network, and the last of which no others.
AT_LOAD, FROM_EMPTY = "at the load, behind a warm-up", "from an empty network"
READINGS = {AT_LOAD: "auto", FROM_EMPTY: "all"}
# What a figure assumes that measures at the load, and of the loads in its tables.
ASSUMED = (
    "Measured flows start behind a warm-up, whose length follows from load and sizes, and arrivals go on until the "
    "last of them has ended.",
    "Loads are payload over the rate of the links: offered on average, realised by the flows that start in the "
    "measuring window, carried by what is delivered in it.",
)


def of_runs(sweep: Sweep, axes: Sequence[str], entry: str = "") -> pl.DataFrame:
    """One row per run: the axes, replica, COLUMNS.

    Args:
        sweep: Of scenarios with Poisson arrivals.
        axes: Its axes.
        entry: The traffic entry, if the loads of one are asked for; by default those of all Poisson arrivals together.
    """
    rows = []
    for run, summary in sweep.summaries().items():
        own = summary["measured"]
        if entry:
            (own,) = (one for one in summary["traffic"] if one["name"] == entry)
        rows.append({"run": run} | {name: own[name] for name in COLUMNS})
    found = pl.DataFrame(rows, schema={"run": pl.String, **dict.fromkeys(COLUMNS, pl.Float64)})
    keys = [*axes, "replica"]
    return sweep.runs.join(found, on="run").select(*keys, *COLUMNS).sort(keys)


def unsteady(sweep: Sweep, axes: Sequence[str]) -> pl.DataFrame:
    """One row per point: the axes, and `unstable`, whether a run of it was not in a steady state at its load."""
    found = [(run, bool(summary["measured"]["unstable"])) for run, summary in sweep.summaries().items()]
    table = pl.DataFrame(found, schema={"run": pl.String, "unstable": pl.Boolean}, orient="row")
    return sweep.runs.join(table, on="run").group_by(axes, maintain_order=True).agg(pl.col("unstable").any())


def readings() -> Axis:
    """The axis of both readings of a number of flows, "reading"."""
    return Axis("reading", {"run.measure": list(READINGS.values())}, labels=list(READINGS))


def by_reading(names: Iterable[str], judged: Callable[[Tables], Judgement]) -> Callable[[Tables], Judgement]:
    """A verdict for each reading, from the rows of these tables that have it.

    Tables that were published before there were readings are of flows from an empty network: one verdict.
    """
    names = tuple(names)

    def judging(tables: Tables) -> Judgement:
        own = {name: tables[name] for name in names}
        if not all("reading" in table.columns for table in own.values()):
            return judged(own)
        return judge.by_reading(
            {
                reading: judged({name: table.filter(reading=reading) for name, table in own.items()})
                for reading in READINGS
            }
        )

    return judging
