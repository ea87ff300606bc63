"""Sensitivity of DAQ to constants that the paper leaves open: queue target Q, readings of its rules. Ours.

Windows grow while the queue is below Q, and are halved or quartered above it. Q is four bandwidth-delay products here;
one is the least that keeps a link busy, and 1 MB lets an incast's queue pass without a cut.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import style
from flowyard.papers.figure import Figure, Scale, Sweeps, Tables
from flowyard.sweeps import Axis, Plan
from flowyard_papers.daq import _carried as carried
from flowyard_papers.daq import _rack as rack
from flowyard_papers.daq._models import FLOORED

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

# What differs from DAQ as everywhere else.
VARIANTS: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {
    "Q 150 KB": ({}, {}),
    "Q 37.5 KB": ({"target_queue": "37500B"}, {}),
    "Q 1 MB": ({"target_queue": "1MB"}, {}),
    "a window a round": ({"send": "rounds"}, {}),
    "late flows give up": ({"late": "give-up"}, {}),
    "measured round trips": ({}, {"threshold": "measured"}),
}
WORKERS, LONG_FLOWS = 40, 2
FIRST = 1 + LONG_FLOWS


def _axis(traffic: list[dict[str, Any]], weights: Mapping[str, int], hosts: int = 2, **more: Any) -> Axis:
    base = {"topology": rack.rack(hosts), "traffic": traffic, **more}
    scenarios = [
        base | {"transport": {"daq": dict(transport)}, "queue": {"daq": {**weights, **queue}}}
        for transport, queue in VARIANTS.values()
    ]
    return Axis("variant", scenarios=scenarios, labels=list(VARIANTS))


def plans(scale: Scale) -> dict[str, Plan]:
    """Figures 5, 6c and 8, the latter with the weights that let short flows through, and one long flow alone."""
    short = {"short_weight": 100, "long_weight": 1}
    replicas = scale.pick(2, 5)
    tens, thirties = (rack.incast(mean, scale.pick(20, 200), "100ms", FLOORED) for mean in (10_000, 30_000))
    random = rack.poisson(15_000, 1000, FLOORED, WORKERS, FIRST, until="1500ms")
    long = [rack.long_flows(LONG_FLOWS), random]
    rates = scale.pick((1000, 7000, 8000), (1000, 3000, 5000, 6000, 7000, 8000))
    by_rate = Axis("flows_per_s", {"traffic.short.arrivals.poisson.rate": list(rates)}, labels=rates)
    numbers = rack.senders(scale.pick((20, 40, 60, 80, 100), tuple(range(10, 121, 10))))
    until = {"run": {"measure": "all", "until": "1500ms"}}
    return {
        "10 KB": Plan(axes=[_axis([tens], {}), numbers], replicas=replicas, name="figure 5"),
        "30 KB": Plan(
            axes=[_axis([thirties], {}), rack.senders((10, 20, 30, 40))], replicas=replicas, name="figure 6c"
        ),
        "random": Plan(
            axes=[_axis(long, short, FIRST + WORKERS, **until), by_rate], replicas=replicas, name="figure 8"
        ),
    }


def tables(sweeps: Sweeps) -> Tables:
    """Means by variant."""
    keys = ["variant", "flows_per_s"]
    random = rack.in_time(sweeps["random"], keys, 1_400_000_000_000).join(
        carried.long_share(sweeps["random"], keys), on=[*keys, "replica"]
    )
    incast = pl.concat(
        rack.in_time(sweeps[size], ["variant", "senders"]).with_columns(size=pl.lit(size))
        for size in ("10 KB", "30 KB")
    )
    return {
        "incast": replica_means(incast, ["size", "variant", "senders"], ["in_time_pct"]),
        "random": replica_means(random, keys, ["in_time_pct", "long_pct"]),
    }


def draw(tables: Tables) -> "Picture":
    """Answers of 10 and 30 KB, and random times."""
    picture, (tens, thirties, random) = style.panels(1, 3)
    for place, variant in enumerate(VARIANTS):
        for axes, size in ((tens, "10 KB"), (thirties, "30 KB")):
            rows = tables["incast"].filter(size=size, variant=variant).sort("senders")
            style.curve(axes, rows, "senders", "in_time_pct", place, variant)
        rows = tables["random"].filter(variant=variant).sort("flows_per_s")
        style.curve(random, rows, "flows_per_s", "in_time_pct", place)
    for axes, size in ((tens, "10 KB"), (thirties, "30 KB")):
        axes.set(title=f"answers of {size}", xlabel="senders")
    tens.set_ylabel("flows in time (%)")
    tens.legend()
    random.set(title="beside two long flows, weights 100:1", xlabel="short flows per second")
    return picture


FIGURE = Figure(
    id="DAQ-Q",
    title="Sensitivity of DAQ to what the paper leaves open (ours)",
    plans=plans,
    tables=tables,
    claims={},
    draw=draw,
    assumed=(
        *rack.ASSUMED[:3],
        "Deadlines are exponential with a floor of 3 ms. One thing at a time differs from the first variant.",
    ),
)
