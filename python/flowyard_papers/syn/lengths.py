"""Figure 6: packets of random lengths between all servers; mean FCT over load of SYN and ASY.

Loads are in bytes, as in the other figures; and, since the paper cannot have meant that (SYN-X3), in slots: at a load
of 1 SYN has a packet for each slot. Times are over those of the empty network; and over those of empty slots.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.sweeps import Plan
from flowyard_papers.syn import _completion as completion
from flowyard_papers.syn import _judges as judges
from flowyard_papers.syn import _rack as rack
from flowyard_papers.syn._judges import Judge
from flowyard_papers.syn._pictures import curves
from flowyard_papers.syn._rack import ASY, BIMODAL, FBW, MMF, OCF, SRJF

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

# And the last multiples of 0.05 that SYN holds.
BYTE_LOADS = tuple(sorted((*rack.LOADS, 0.25, 0.55)))
LENGTHS, PAPER, OTHERS = (BIMODAL, FBW), (MMF, ASY), (OCF, SRJF)
BYTES, SLOTS, FCT, SLOTTED_FCT = "bytes", "slots", "fct", "slotted_fct"
# Readings: of loads, and of what times are divided by.
HELD, ALL, IN_SLOTS = "load in bytes", "load in bytes, unstable points too", "load in slots"
EMPTY_SLOTS = "times over those of empty slots"
LOW, TENFOLD = 0.1, 8.0
KEYS = ["lengths", "unit", *completion.KEYS]


def _window(scale: Scale) -> rack.Window:
    return scale.pick(rack.Window(40, 50, 0, 30), rack.Window(500, 2000, 21_000, 100))


def _loads(scale: Scale, lengths: str, unit: str) -> dict[float, float]:
    """Loads in bytes by what the axis says."""
    loads = scale.pick((0.05, 0.1, 0.2, 0.25, 0.4, 0.55, 0.7, 0.9), BYTE_LOADS)
    if unit == BYTES:
        return {load: load for load in loads}
    full = rack.limit(MMF, lengths)
    return {load: load * full for load in scale.pick((0.05, 0.1, 0.3, 0.5, 0.7, 0.9), rack.LOADS)}


def plans(scale: Scale) -> dict[str, Plan]:
    """Both distributions of lengths, both units of load; with fewer seeds where SYN is offered more than it holds."""

    def plan(
        lengths: str, unit: str, systems: tuple[str, ...], replicas: int, low: float, high: float
    ) -> Plan:
        loads = {at: load for at, load in _loads(scale, lengths, unit).items() if low < load <= high}
        return rack.plan(
            f"{lengths}, load in {unit}",
            systems,
            list(loads.values()),
            _window(scale),
            replicas=replicas,
            lengths=lengths,
            labels=list(loads),
        )

    found: dict[str, Plan] = {}
    for lengths in LENGTHS:
        full = rack.limit(MMF, lengths)
        found |= {
            f"{lengths}_{BYTES}": plan(lengths, BYTES, PAPER, scale.pick(1, 10), 0, full),
            f"{lengths}_{BYTES}_beyond": plan(lengths, BYTES, PAPER, scale.pick(1, 3), full, 1),
            f"{lengths}_{BYTES}_others": plan(lengths, BYTES, OTHERS, scale.pick(1, 2), 0, 1),
            f"{lengths}_{SLOTS}": plan(lengths, SLOTS, PAPER, scale.pick(1, 10), 0, 1),
        }
    return found


def tables(scale: Scale, sweeps: Sweeps) -> Tables:
    """One row per run, and the means."""
    rows = []
    for name, sweep in sweeps.items():
        lengths, unit = name.split("_")[:2]
        loads = _loads(scale, lengths, unit)
        found = completion.runs(sweep, _window(scale), lengths=lengths, loads=loads)
        rows.append(found.select(pl.lit(lengths).alias("lengths"), pl.lit(unit).alias("unit"), pl.all()))
    runs = pl.concat(rows)
    return {"runs": runs, "points": replica_means(runs, [*KEYS, "unstable"], completion.VALUES)}


def _by_load(judged: Callable[[pl.DataFrame, bool], Judgement]) -> Judge:
    """By the unit of load, and by whether points count at which SYN is offered more than it holds."""

    def judging(tables: Tables) -> Judgement:
        in_bytes = tables["runs"].filter(unit=BYTES)
        in_slots = tables["runs"].filter(unit=SLOTS)
        return judge.by_reading(
            {HELD: judged(in_bytes, False), ALL: judged(in_bytes, True), IN_SLOTS: judged(in_slots, False)}
        )

    return judging


def _by_time(judged: Callable[[pl.DataFrame, str], Judgement]) -> Judge:
    """By the unit of load, and by what times are divided by."""

    def judging(tables: Tables) -> Judgement:
        found = {}
        for unit, reading in ((BYTES, HELD), (SLOTS, IN_SLOTS)):
            own = tables["runs"].filter(unit=unit)
            found[reading] = judged(own, FCT)
            found[f"{reading}, {EMPTY_SLOTS}"] = judged(own, SLOTTED_FCT)
        return judge.by_reading(found)

    return judging


def _ratio(runs: pl.DataFrame, unstable: bool) -> Judgement:
    """F6a.a: the largest, with bimodal lengths."""
    own = runs.filter(lengths=BIMODAL)
    ratios = judges.ratios(own, MMF, ASY, FCT, unstable=unstable)
    if not ratios:
        return judge.not_reached("no load at which both were run")
    load, most = max(ratios.items(), key=lambda item: item[1])
    return judge.judged(most > 10, most, "> 10").because(f"largest at load {load:g}")


def _diverges(runs: pl.DataFrame, unstable: bool) -> Judgement:
    """F6a.c: with bimodal lengths the ratio never falls."""
    own = judges.compared(runs.filter(lengths=BIMODAL), PAPER, unstable=unstable)
    if missing := judges.lacking(own, PAPER):
        return missing
    wide = own.pivot("system", index=["load", "replica"], values=FCT).drop_nulls()
    ratio = wide.select("load", "replica", ratio=pl.col(MMF) / pl.col(ASY))
    return judges.trend(ratio, "ratio", rising=True)


def _tenfold(runs: pl.DataFrame, unstable: bool) -> Judgement:
    """F6b.d: with FBW lengths, at the highest load that is compared."""
    ratios = judges.ratios(runs.filter(lengths=FBW), MMF, ASY, FCT, unstable=unstable)
    if not ratios:
        return judge.not_reached("no load at which both were run")
    load = max(ratios)
    return judge.at_least(ratios[load], TENFOLD).because(f"at load {load:g}, the highest that is compared")


def _both_lengths(runs: pl.DataFrame, value: str) -> pl.DataFrame:
    """SYN's times at the loads that it holds with either: load, replica, and a column for each."""
    own = runs.filter(system=MMF).filter(~pl.col("unstable").any().over("load"))
    wide = own.pivot("lengths", index=["load", "replica"], values=value)
    return wide.drop_nulls() if set(LENGTHS) <= set(wide.columns) else wide.clear()


def _similar(runs: pl.DataFrame, value: str) -> Judgement:
    """F6b.b: at low load FBW takes as long as bimodal."""
    wide = _both_lengths(runs, value).filter(pl.col("load") <= LOW)
    if wide.is_empty():
        return judge.not_reached("no load up to 0.1 with both lengths")
    means = wide.group_by("load").agg(pl.col(BIMODAL).mean(), pl.col(FBW).mean()).sort("load")
    load, worst = max(
        ((load, fbw / bimodal) for load, bimodal, fbw in means.iter_rows()),
        key=lambda item: max(item[1], 1 / item[1]),
    )
    slots = [rack.offered_bytes(lengths) / rack.mean_bytes(lengths) for lengths in (FBW, BIMODAL)]
    why = (
        f"FBW over bimodal at load {load:g}; a flow has {slots[0]:.0f} packets with FBW, {slots[1]:.0f} with bimodal "
        "lengths, each of which takes a slot"
    )
    found = judge.between(worst, 0.75, 1.33).because(why)
    if value != FCT:
        return found
    fbw, bimodal = (alone(lengths) for lengths in (FBW, BIMODAL))
    shows = (
        f"a long flow alone takes {fbw:.3g} and {bimodal:.3g} of its least time, a ratio of {fbw / bimodal:.3g} "
        "however low the load (`alone`); tried: load in slots, and times over those of empty slots, which pass "
        "together only, but III-C has load as the amount of traffic, and FCT over the least of an empty network"
    )
    return found.not_reproducible(shows) if fbw / bimodal > 1.33 else found


def alone(lengths: str) -> float:
    """The FCT under SYN of a long flow that has the network to itself, over the least of the empty network.

    A slot for each packet, against the packet with its frame.
    """
    return rack.limit(ASY, lengths) / rack.limit(MMF, lengths)


def _smaller(runs: pl.DataFrame, value: str) -> Judgement:
    """F6b.c: at higher load FBW takes less time than bimodal."""
    wide = _both_lengths(runs, value).filter(pl.col("load") > LOW)
    if wide.is_empty():
        return judge.not_reached("no load above 0.1 that SYN holds with both lengths")
    return judge.not_less(wide, BIMODAL, FBW, x="load")


def draw(tables: Tables) -> "Picture":
    """Figures 6a and 6b; below the same with loads in slots and times over those of empty slots."""
    picture, panels = style.panels(2, 2)
    points = tables["points"]
    for row, (unit, value) in enumerate(((BYTES, FCT), (SLOTS, SLOTTED_FCT))):
        for column, lengths in enumerate(LENGTHS):
            axes = panels[2 * row + column]
            curves(axes, points.filter(lengths=lengths, unit=unit), value, (*PAPER, *OTHERS), log=True)
            letter = "ab"[column]
            axes.set(title=f"6{letter}: {lengths}", xlabel=f"load in {unit}")
        panels[2 * row].set_ylabel("normalised FCT" if value == FCT else "FCT over that of empty slots")
    picture.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    return picture


FIGURE = Figure(
    id="SYN-F6",
    title="FCT with packets of random lengths, uniform traffic",
    plans=plans,
    tables=tables,
    claims={
        "SYN-F6a.a": _by_load(_ratio),
        "SYN-F6a.c": _by_load(_diverges),
        "SYN-F6b.b": _by_time(_similar),
        "SYN-F6b.c": _by_time(_smaller),
        "SYN-F6b.d": _by_load(_tenfold),
    },
    draw=draw,
    needs={
        "runs": [
            Needs(10, by=KEYS, least={"flows": 20_000}, where={"system": MMF, "unstable": False}),
            Needs(3, by=KEYS, least={"flows": 20_000}, where={"system": ASY}),
        ]
    },
    assumed=(
        *rack.ASSUMED,
        completion.ASSUMED,
        "Lengths are bimodal, mean 916 B; or FBW by a table with the median and the share of full packets that the "
        "paper gives, mean 432.2 B. SYN holds loads of 0.596 and 0.281, ASY of 0.960 and 0.919: packets of 40 B are "
        "not padded to Ethernet's least frame.",
        "Load in slots: packets that are offered over slots, so that SYN is full at 1; ASY is run with the same flows. "
        "The time of empty slots is a slot for each packet and the way of a full packet.",
        "ASY carries less than its wires hold: a bucket that is ready while its link is taken loses that time "
        "(SYN-F6-LIMITS).",
        "At loads that SYN does not hold there are fewer seeds; its FCT is that of 2.5 s (quick: 90 ms), and would "
        "grow further.",
    ),
)
