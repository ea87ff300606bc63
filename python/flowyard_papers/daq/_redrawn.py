"""Incasts whose deadlines are exponential and drawn again below a floor, which no scenario has by itself.

An exponential that is drawn again below a floor is the floor and the same exponential (it has no memory). Each flow has
one of forty deadlines that split it into parts of equal probability, drawn once for all runs: a traffic entry for each
deadline, with its rounds and workers.
"""

from collections.abc import Mapping, Sequence
from math import log
from typing import Any

import numpy as np
import polars as pl

from flowyard.sweeps import Axis
from flowyard_papers.daq import _rack as rack

CLASSES, FLOOR_US, MEAN_US, GAP_MS = 40, 2_000, 20_000, 200
# The axis of sizes and senders together.
POINT = "point"


def deadlines_us() -> list[int]:
    """The middle of each part, by probability."""
    return [round(FLOOR_US - MEAN_US * log(1 - (place + 0.5) / CLASSES)) for place in range(CLASSES)]


def incast(senders: int, rounds: int) -> list[dict[str, Any]]:
    """All workers answer within 50 us, in each round; their sizes are those of `mean_sizes`."""
    chance = np.random.default_rng([2014, senders])
    classes = chance.integers(CLASSES, size=(rounds, senders))
    entries = []
    for place, due in enumerate(deadlines_us()):
        drawn = np.argwhere(classes == place).tolist()
        if drawn:
            entries.append(
                {
                    "name": f"{rack.SHORT}-{place}",
                    "arrivals": {
                        "times": {"at": [f"{GAP_MS * at}ms" for at, _ in drawn], "jitter": "50us"},
                    },
                    "matrix": {"pairs": [[1 + worker, rack.AGGREGATOR] for _, worker in drawn]},
                    "sizes": rack.sizes(10_000),
                    "deadline": f"{due}us",
                }
            )
    return entries


def axes(
    label: str, names: Sequence[str], means_kb: Sequence[int], numbers: Sequence[int], rounds: int
) -> list[Axis]:
    """The axes of figure 6, each point of senders and sizes with its traffic.

    Args:
        label: What the axis of the readings says.
        names: The schemes.
        means_kb: Mean sizes.
        numbers: Of senders.
        rounds: Of answers.
    """

    def traffic(count: int, mean: int) -> list[Mapping[str, Any]]:
        return [entry | {"sizes": rack.sizes(1000 * mean)} for entry in incast(count, rounds)]

    base = {"topology": rack.rack(1 + numbers[0]), "traffic": traffic(numbers[0], means_kb[0])}
    schemes = [base | rack.SCHEMES[name] for name in names]
    points = [(mean, count) for mean in means_kb for count in numbers]
    return [
        Axis("scheme", scenarios=schemes, labels=names),
        Axis(
            POINT,
            {
                "traffic": [traffic(count, mean) for mean, count in points],
                "topology.single-switch.hosts": [1 + count for _, count in points],
            },
            labels=[f"{mean} KB, {count}" for mean, count in points],
        ),
        Axis("reading", {"run.seed": [1]}, labels=[label]),
    ]


def split(runs: pl.DataFrame) -> pl.DataFrame:
    """The mean size and the number of senders of each point, in columns of their own."""
    parts = pl.col(POINT).str.split(" KB, ")
    return runs.with_columns(
        mean_kb=parts.list.first().cast(pl.Int64), senders=parts.list.last().cast(pl.Int64)
    ).drop(POINT)
