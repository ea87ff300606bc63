"""What clocks that are not exact cost SYN, which the paper names as a reason to do without it (sections I and II-A).

Each server's clock is late by a time of its own, up to the error. Without a guard a packet then meets those of other
slots in the network: the left panel shows how long packets are there, also where all links have one rate and exact
clocks leave no queue at all. With a guard the slot is longer by the error, so that no two slots overlap: it fills links
less, and the right panel shows what flows wait for that. At 1 Gbps an error of 20 us leaves 0.37 of the link.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import style
from flowyard.papers.figure import Figure, Scale, Sweeps, Tables
from flowyard.sweeps import Axis, Plan
from flowyard_papers.syn import _ours as ours
from flowyard_papers.syn import _rack as rack

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

# Errors beyond a slot need a guard; the lower load is one that slots with the longest guard hold.
WITHOUT, WITH, ONE_RATE = "no guard", "guard", "no guard, links of one rate"
_WITHIN = (0, 1, 2, 4, 6, 8, 10, 12)
ERRORS_US: Mapping[str, Sequence[int]] = {WITHOUT: _WITHIN, ONE_RATE: _WITHIN, WITH: (*_WITHIN, 16, 20)}
QUICK_US: Mapping[str, Sequence[int]] = {WITHOUT: (0, 4, 12), ONE_RATE: (0, 4, 12), WITH: (0, 4, 20)}
LOADS = (0.3, 0.8)
SLOT_BYTES, BYTES_A_US = rack.MTU_BYTES + rack.FRAME_BYTES, rack.LINK_BPS // 8_000_000


def limit(error_us: int, guard: str) -> float:
    """The load at which slots are full."""
    return rack.MTU_BYTES / (SLOT_BYTES + (BYTES_A_US * error_us if guard == WITH else 0))


def plans(scale: Scale) -> dict[str, Plan]:
    """Errors with and without a guard at both loads."""
    made = {}
    for guard, errors in scale.pick(QUICK_US, ERRORS_US).items():
        slots = [SLOT_BYTES + (BYTES_A_US * error if guard == WITH else 0) for error in errors]
        axis = Axis(
            "error_us",
            {
                "controller.syn.clock_error": [f"{error}us" for error in errors],
                "controller.syn.slot": [f"{slot}B" for slot in slots],
            },
            labels=errors,
        )
        plan = ours.plan(guard, [rack.MMF], LOADS, scale, [axis])
        equal = {"topology.leaf-spine.equal_rate": guard == ONE_RATE}
        made[guard] = replace(plan, set=equal)
    return made


def tables(scale: Scale, sweeps: Sweeps) -> Tables:
    """A row a run, and the means; unstable: more is offered than slots hold."""
    parts = [ours.runs(sweep, scale).with_columns(guard=pl.lit(name)) for name, sweep in sweeps.items()]
    runs = pl.concat(parts)
    beyond = [
        load > limit(error, guard)
        for load, error, guard in runs.select("load", "error_us", "guard").iter_rows()
    ]
    runs = runs.with_columns(unstable=pl.Series(beyond))
    keys = ["guard", "load", "error_us", "unstable"]
    return {"runs": runs, "points": replica_means(runs, keys, ours.VALUES)}


def draw(tables: Tables) -> "Picture":
    """Time in the network, and FCT, over the error; hollow: more load than slots with the guard hold."""
    picture, (network, fct) = style.panels(1, 2)
    points = tables["points"]
    for place, guard in enumerate(ERRORS_US):
        for load, line in zip(LOADS, (":", "-"), strict=True):
            own = points.filter(guard=guard, load=load).sort("error_us")
            look = {"linestyle": line}
            style.curve(network, own, "error_us", "network_us", place, f"{guard}, load {load:g}", **look)
            style.curve(fct, own, "error_us", "fct_ms", place, **look)
            beyond = own.filter("unstable")
            x, y = beyond["error_us"].to_numpy(), beyond["fct_ms"].to_numpy()
            marker, colour = style.MARKERS[place], style.COLOURS[place]
            fct.plot(x, y, marker, color=colour, markerfacecolor="white", zorder=5)
    network.set(ylabel="mean time in the network (us)", xlabel="clock error (us)")
    fct.set(yscale="log", ylabel="mean FCT (ms)", xlabel="clock error (us)")
    picture.legend(*network.get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=7.5)
    return picture


FIGURE = Figure(
    id="SYN-CLOCKS",
    title="Clocks that are not exact under SYN (ours)",
    plans=plans,
    tables=tables,
    claims={},
    draw=draw,
    assumed=(
        *rack.ASSUMED[:2],
        *ours.ASSUMED,
        "A server's clock is late by a time that is uniform from 0 to the error and stays. The guard makes the slot as "
        "much longer as the error is. Without one an error beyond a slot, 12.304 us, is refused. Links of one rate: 30 "
        "spines at 1 Gbps in place of 3 at 10 Gbps (SYN-P8).",
    ),
)
