"""By how much DAQ is ahead of D3 and RCP: the largest gains of long and of short flows, which the abstract names."""

from collections.abc import Mapping, Sequence

import polars as pl

from flowyard.papers import judge
from flowyard.papers.figure import Judgement, Tables
from flowyard_papers.daq import _judges as judges
from flowyard_papers.daq import _rack as rack
from flowyard_papers.daq import _readings as readings
from flowyard_papers.daq._background_judges import IN_TIME, INCAST, LONG, POISSON, X, means
from flowyard_papers.daq._models import DEADLINES, FLOORED

# The table of figures 5 and 6, short flows without long ones, with floored deadlines.
SHORT_ONLY = "short_only"
LATER = (INCAST, POISSON)
OTHERS = (rack.D3, rack.RCP)
Gain = tuple[float, str]


def _later(tables: Tables, value: str, daq: str, reading: readings.Reading, *, points: bool) -> list[Gain]:
    """The largest gain in figure 7 and in figure 8; one that lacks a scheme is left out."""
    found = []
    for table in LATER:
        runs = reading.of(tables[table])
        if not judges.missing(runs, (daq, *OTHERS)):
            own = means(runs, value, X[table])
            gain, where = judges.largest_gain(own, daq, OTHERS, points=points)
            found.append((gain, f"{where} {X[table].replace('_per_s', ' a second')} of {table}"))
    return found


def _short_only(tables: Tables, reading: readings.Reading) -> list[Gain]:
    """The largest gain at each size of figures 5 and 6."""
    found = []
    runs = reading.of(tables[SHORT_ONLY].with_columns(reading=pl.lit(FLOORED)))
    for (mean,), own in runs.group_by("mean_kb"):
        if not judges.missing(own, rack.PAPER):
            gain, where = judges.largest_gain(means(own, IN_TIME, "senders"), rack.DAQ, OTHERS)
            found.append((gain, f"{where} senders of {mean} KB"))
    return found


def _largest(found: Sequence[Gain], asked: int, low: float, high: float, unit: str) -> Judgement:
    if len(found) < asked:
        return judge.not_reached("DAQ, D3 or RCP not run")
    gain, where = max(found)
    return judge.between(gain, low, high).because(f"{gain:.4g} {unit}, {where}")


def _named(daq: str, reading: readings.Reading) -> str:
    return f"weights {rack.WEIGHTS[daq]}, " + (
        f"deadlines {reading.name}" if reading.name in DEADLINES else reading.name
    )


def of_long(tables: Tables) -> Judgement:
    """Of figures 7 and 8: in points of the link, which is what their axes show; relative to the other scheme beside."""
    found: dict[str, Judgement] = {}
    for unit, points, of in (
        ("% of the link", True, (*readings.BY_DEADLINES, *readings.OF_D3)),
        ("%", False, (readings.BY_DEADLINES[0], *readings.OF_D3)),
    ):
        for reading in of:
            for daq in rack.WEIGHTS:
                best = _later(tables, LONG, daq, reading, points=points)
                name = f"{'points of the link' if points else 'relative'}, {_named(daq, reading)}"
                found[name] = _largest(best, len(LATER), 30, 45, unit)
    return judge.by_reading(found)


def of_short(tables: Tables) -> Judgement:
    """Over figures 5 to 8; figures 5 and 6, and 7 and 8, by themselves beside."""
    default = readings.BY_DEADLINES[0]
    alone: Mapping[str, list[Gain]] = {
        one.name: _short_only(tables, one) for one in (default, *readings.OF_D3)
    }
    sizes = tables[SHORT_ONLY]["mean_kb"].n_unique()
    found: dict[str, Judgement] = {}
    for reading in (default, *readings.OF_D3):
        for daq in rack.WEIGHTS:
            best = _later(tables, IN_TIME, daq, reading, points=False) + alone[reading.name]
            name = f"figures 5 to 8, {_named(daq, reading)}"
            found[name] = _largest(best, len(LATER) + sizes, 25, 40, "%")
    for reading_name, best in alone.items():
        found[f"figures 5 and 6, {reading_name}"] = _largest(best, sizes, 25, 40, "%")
    for reading in readings.BY_DEADLINES:
        for daq in rack.WEIGHTS:
            best = _later(tables, IN_TIME, daq, reading, points=False)
            found[f"figures 7 and 8, {_named(daq, reading)}"] = _largest(best, len(LATER), 25, 40, "%")
    return judge.by_reading(found)
