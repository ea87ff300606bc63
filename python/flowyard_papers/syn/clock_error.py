"""Cost of inexact clocks under SYN, a reason of the paper against it (sections I and II-A).

Each server's clock is late by a time of its own, up to the error. Without a guard a packet then meets those of other
slots in the network: the left panel shows how long packets are there, also where all links have one rate and exact
clocks leave no queue at all. With a guard the slot is longer by the error, so that no two slots overlap: it fills links
less, and the middle panel shows what flows wait for that. At 1 Gbps an error of 20 us leaves 0.37 of the link.

"The required time accuracy becomes more strict with high port bitrates" (II-A, claim P17): the right panel has the part
of the slots that the guard for one and the same error takes at 1, 10 and 100 Gbps, measured with all queues full.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.sweeps import Axis, Plan, Sweep
from flowyard_papers.syn import _ours as ours
from flowyard_papers.syn import _rack as rack
from flowyard_papers.syn._leaf_spine import SERVERS

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

# Errors beyond a slot need a guard; the lower load is one that slots with the longest guard hold.
WITHOUT, WITH, ONE_RATE = "no guard", "guard", "no guard, links of one rate"
FASTER = "faster links"
_WITHIN = (0, 1, 2, 4, 6, 8, 10, 12)
ERRORS_US: Mapping[str, Sequence[int]] = {WITHOUT: _WITHIN, ONE_RATE: _WITHIN, WITH: (*_WITHIN, 16, 20)}
QUICK_US: Mapping[str, Sequence[int]] = {WITHOUT: (0, 4, 12), ONE_RATE: (0, 4, 12), WITH: (0, 4, 20)}
LOADS = (0.3, 0.8)
# The same errors at faster links: Gbps of servers, of which uplinks have ten times as much; slots of a run.
RATES_GBPS, SAME_ERRORS_NS, SLOTS = (1, 10, 100), (0, 100, 1000), 1000
SLOT_BYTES, BYTES_A_US = rack.MTU_BYTES + rack.FRAME_BYTES, rack.LINK_BPS // 8_000_000


def limit(error_us: int, guard: str) -> float:
    """The load at which slots are full."""
    return rack.MTU_BYTES / (SLOT_BYTES + (BYTES_A_US * error_us if guard == WITH else 0))


def lost(rate_gbps: int, error_ns: int) -> float:
    """The part of the slots that the guard takes, by arithmetic."""
    guard = error_ns * rate_gbps / 8
    return guard / (SLOT_BYTES + guard)


def _faster(scale: Scale) -> Plan:
    """Flows wait in all queues; each rate with each error, and a slot that is as much longer."""
    scenarios, labels = [], []
    for rate in RATES_GBPS:
        for error in SAME_ERRORS_NS:
            guard = error * rate // 8
            slot_ns = 8 * (SLOT_BYTES + guard) / rate
            made = rack.scenario(
                {"syn": {"policy": "mmf", "clock_error": f"{error}ns", "slot": f"{SLOT_BYTES + guard}B"}},
                run={"measure": "all", "until": f"{round(SLOTS * slot_ns)}ns"},
                traffic=[
                    {
                        "name": "waiting",
                        "arrivals": {"at-once": {"jitter": "0s"}},
                        "matrix": "all-to-all",
                        "sizes": {"exponential": {"mean": f"{rack.MEAN_BYTES}B"}},
                        "flows": SERVERS * (SERVERS - 1),
                    }
                ],
            )
            network = made["topology"]["leaf-spine"]
            network |= {"host": {"rate": f"{rate}Gbps"}, "spine": {"rate": f"{10 * rate}Gbps"}}
            scenarios.append(made)
            labels.append(f"{rate} Gbps, {error} ns")
    return Plan(
        axes=[Axis("case", scenarios=scenarios, labels=labels)], replicas=scale.pick(1, 10), name=FASTER
    )


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
    return made | {FASTER: _faster(scale)}


def tables(scale: Scale, sweeps: Sweeps) -> Tables:
    """One row per run, and the means; unstable: more is offered than slots hold. And a row for each rate and error."""
    parts = [
        ours.runs(sweep, scale).with_columns(guard=pl.lit(name))
        for name, sweep in sweeps.items()
        if name != FASTER
    ]
    runs = pl.concat(parts)
    beyond = [
        load > limit(error, guard)
        for load, error, guard in runs.select("load", "error_us", "guard").iter_rows()
    ]
    runs = runs.with_columns(unstable=pl.Series(beyond))
    keys = ["guard", "load", "error_us", "unstable"]
    faster = _lost(sweeps[FASTER])
    return {
        "runs": runs,
        "points": replica_means(runs, keys, ours.VALUES),
        "faster": faster,
        "faster_points": replica_means(faster, ["rate_gbps", "error_ns", "arithmetic_pct"], ["lost_pct"]),
    }


def _lost(sweep: Sweep) -> pl.DataFrame:
    """Share of the servers' links that sent packets and their frames took."""
    ends = {run: summary["end_ps"] for run, summary in sweep.summaries().items()}
    sent = sweep.links.filter(pl.col("tier").cast(pl.String) == "host-leaf").group_by(
        "run", "case", "replica"
    )
    rows = []
    for run, case, replica, packets in sent.agg(pl.col("packets").sum()).collect().iter_rows():
        rate, error = (int(part.split(" ")[0]) for part in case.split(", "))
        took = 8e3 * SLOT_BYTES * packets / (rate * SERVERS * ends[run])
        rows.append(
            {"rate_gbps": rate, "error_ns": error, "replica": replica}
            | {"arithmetic_pct": 100 * lost(rate, error), "lost_pct": 100 * (1 - took)}
        )
    return pl.DataFrame(rows).sort("rate_gbps", "error_ns", "replica")


def _costs_more(tables: Tables) -> Judgement:
    """P17: of each error but none."""
    points = tables["faster_points"].filter(pl.col("error_ns") > 0).sort("error_ns", "rate_gbps")
    if points.height != len(RATES_GBPS) * (len(SAME_ERRORS_NS) - 1):
        return judge.not_reached("a rate or an error is missing")
    found = []
    for (error,), own in points.group_by("error_ns", maintain_order=True):
        lost_pct = own["lost_pct"].to_list()
        said = ", ".join(f"{value:.3g} %" for value in lost_pct)
        rises = all(before < after for before, after in pairwise(lost_pct))
        found.append(judge.judged(rises, f"{error} ns: {said}", "rises with the rate"))
    off = points.select((pl.col("lost_pct") - pl.col("arithmetic_pct")).abs().max()).item()
    return judge.together(found).noted(f"off the arithmetic by {off:.2g} points at most")


def draw(tables: Tables) -> "Picture":
    """Time in the network, and FCT, over the error; hollow: more load than slots with the guard hold."""
    picture, (network, fct, faster) = style.panels(1, 3)
    points = tables["points"]
    for place, guard in enumerate(ERRORS_US):
        for load, line in zip(LOADS, (":", "-"), strict=True):
            own = points.filter(guard=guard, load=load).sort("error_us")
            look: dict[str, Any] = {"linestyle": line}
            style.curve(network, own, "error_us", "network_us", place, f"{guard}, load {load:g}", **look)
            style.curve(fct, own, "error_us", "fct_ms", place, **look)
            beyond = own.filter("unstable")
            x, y = beyond["error_us"].to_numpy(), beyond["fct_ms"].to_numpy()
            marker, colour = style.MARKERS[place], style.COLOURS[place]
            fct.plot(x, y, marker, color=colour, markerfacecolor="white", zorder=5)
    network.set(ylabel="mean time in the network (us)", xlabel="clock error (us)")
    fct.set(yscale="log", ylabel="mean FCT (ms)", xlabel="clock error (us)")
    for place, rate in enumerate(RATES_GBPS):
        own = tables["faster_points"].filter(rate_gbps=rate).sort("error_ns")
        style.curve(faster, own, "error_ns", "lost_pct", place, f"{rate} Gbps")
    faster.set(xlabel="clock error (ns)", ylabel="slots lost to the guard (%)", ylim=(0, 100))
    faster.legend()
    picture.legend(*network.get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=7.5)
    return picture


FIGURE = Figure(
    id="SYN-CLOCKS",
    title="Clocks that are not exact under SYN",
    plans=plans,
    tables=tables,
    claims={"SYN-P17": _costs_more},
    draw=draw,
    needs={"faster_points": Needs(10, by=("rate_gbps", "error_ns"))},
    assumed=(
        *rack.ASSUMED[:2],
        *ours.ASSUMED,
        "A server's clock is late by a time that is uniform from 0 to the error and stays. The guard makes the slot as "
        "much longer as the error is. Without one an error beyond a slot, 12.304 us, is refused. Links of one rate: 30 "
        "spines at 1 Gbps in place of 3 at 10 Gbps (SYN-P8).",
        "At faster links: a flow waits in each queue when a run of 1,000 slots begins; what is lost is the part of the "
        "servers' links that no packet takes, the first slot's way to the wire included.",
    ),
)
