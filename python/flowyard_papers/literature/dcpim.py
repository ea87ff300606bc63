"""dcPIM: the load that it sustains by rounds of matching and channels.

Cai, Arashloo and Agarwal, "dcPIM: Near-Optimal Proactive Datacenter Transport", SIGCOMM 2022, after the authors'
simulator, Terabit-Ethernet/dcPIM, whose README has a table of sustained loads.
"""

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import style
from flowyard.papers.figure import Figure, Needs, Scale, Sweeps, Tables
from flowyard.papers.judge import Judgement, judged, not_reached
from flowyard.sweeps import Axis, Plan
from flowyard_papers.literature import _receivers

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

# The largest sustained loads of the README, in per cent.
README = {(1, 1): 54, (1, 4): 56, (2, 1): 74, (2, 4): 78, (3, 1): 76, (3, 4): 82, (4, 1): 74, (4, 4): 82}
ROUNDS, CHANNELS = (1, 2, 3, 4), (1, 4)
LOW_LOADS, LOADS = (0.48, 0.54, 0.60, 0.66), (0.70, 0.76, 0.82, 0.88)
# A load is sustained if at least so much of what arrives is delivered.
KEPT = 0.98
POINTS = 3
# The measuring window in us.
FROM_US, UNTIL_US = 10_000, 30_000


def plans(scale: Scale) -> dict[str, Plan]:
    """Runs by rounds, channels and load."""
    begin, end = (us // scale.pick(15, 1) for us in (FROM_US, UNTIL_US))
    points = [
        (r, k, load) for r, k in README for load in _grid(scale, LOW_LOADS if r == min(ROUNDS) else LOADS)
    ]
    fields: dict[str, list[Any]] = {
        "transport.dcpim.rounds": [r for r, _, _ in points],
        "transport.dcpim.channels": [k for _, k, _ in points],
        "traffic.flows.arrivals.poisson.load": [_receivers.payload(load) for _, _, load in points],
    }
    axis = Axis("point", fields, labels=[f"{r} {k} {load}" for r, k, load in points])
    return {"rounds": Plan(_receivers.overload(begin, end), [axis], scale.pick(1, 2), name="rounds")}


def _grid(scale: Scale, loads: tuple[float, ...]) -> tuple[float, ...]:
    """All of these loads, or the lowest and the highest."""
    return scale.pick((loads[0], loads[-1]), loads)


def tables(sweeps: Sweeps) -> Tables:
    """Means over seeds of the delivered part of arrivals, by rounds, channels and load."""
    place = pl.col("point").str.split(" ")
    runs = (
        _receivers.kept(sweeps["rounds"], ["point", "replica"])
        .with_columns(
            rounds=place.list.get(0).cast(pl.Int64),
            channels=place.list.get(1).cast(pl.Int64),
            load=place.list.get(2).cast(pl.Float64),
        )
        .sort("rounds", "channels", "load", "replica")
    )
    return {"rounds": replica_means(runs, ["rounds", "channels", "load"], ["kept"])}


def sustained(points: pl.DataFrame) -> float | None:
    """The load in per cent up to which KEPT of the arrivals is delivered, by straight lines between loads.

    None if there are no points, or not even the lowest load is sustained; the highest if all are.
    """
    rows = list(points.sort("load").select("load", "kept").iter_rows())
    if not rows or rows[0][1] < KEPT:
        return None
    for (low, above), (high, below) in pairwise(rows):
        if below < KEPT:
            return float(100 * (low + (high - low) * (above - KEPT) / (above - below)))
    return float(100 * rows[-1][0])


def _by_rounds(tables: Tables) -> dict[tuple[int, int], float] | None:
    """The sustained load by rounds and channels, 0 below the loads of the grid; None if one is missing."""
    rows = {(r, k): tables["rounds"].filter(rounds=r, channels=k) for r, k in README}
    if any(points.is_empty() for points in rows.values()):
        return None
    return {point: sustained(points) or 0.0 for point, points in rows.items()}


def _said(found: dict[tuple[int, int], float]) -> str:
    """Sustained loads by rounds, for each number of channels."""
    rows = []
    for k in CHANNELS:
        least = {r: LOW_LOADS[0] if r == min(ROUNDS) else LOADS[0] for r in ROUNDS}
        values = (f"{found[r, k]:.3g}" if found[r, k] else f"below {100 * least[r]:.0f}" for r in ROUNDS)
        rows.append(f"{', '.join(values)} % with k = {k}")
    return "; ".join(rows)


def _table(tables: Tables) -> Judgement:
    """Sustained loads against those of the README."""
    found = _by_rounds(tables)
    if found is None:
        return not_reached("there are not all numbers of rounds and channels")
    near = [abs(value - README[point]) <= POINTS for point, value in found.items()]
    wanted = _said({point: float(percent) for point, percent in README.items()})
    return judged(
        all(near), f"{sum(near)} of {len(near)} points: {_said(found)}", f"{wanted}, +- {POINTS} points"
    )


def _order(tables: Tables) -> Judgement:
    """Four channels against one, and rounds against each other."""
    found = _by_rounds(tables)
    if found is None:
        return not_reached("there are not all numbers of rounds and channels")
    more_channels = all(found[r, 4] >= found[r, 1] for r in ROUNDS)
    more_rounds = all(found[1, k] < found[2, k] < found[3, k] for k in CHANNELS)
    no_fourth = all(found[4, k] <= found[3, k] + 1 for k in CHANNELS)
    return judged(
        more_channels and more_rounds and no_fourth,
        _said(found),
        "no less with more channels; more with each round up to the third, at most 1 point more with the fourth",
    )


def draw(tables: Tables) -> "Picture":
    """The delivered part by load, and sustained loads by rounds."""
    picture, panels = style.panels(1, 3, size=(4.0, 2.9))
    for axes, k in zip(panels, CHANNELS, strict=False):
        for place, r in enumerate(ROUNDS):
            rows = tables["rounds"].filter(rounds=r, channels=k).sort("load")
            style.curve(axes, rows, "load", "kept", place, f"r = {r}")
        axes.axhline(KEPT, color="#000000", linewidth=0.9, linestyle="--")
        axes.set(xlabel="load", ylabel="delivered / arrived", title=f"k = {k}")
        axes.legend(loc="lower left")
    for place, k in enumerate(CHANNELS):
        values = [(r, sustained(tables["rounds"].filter(rounds=r, channels=k))) for r in ROUNDS]
        known = [(r, value) for r, value in values if value is not None]
        look: dict[str, Any] = {"color": style.COLOURS[place], "marker": style.MARKERS[place]}
        panels[2].plot([r for r, _ in known], [value for _, value in known], label=f"k = {k}", **look)
        panels[2].plot(
            ROUNDS, [README[r, k] for r in ROUNDS], linestyle=":", label=f"k = {k}, README", **look
        )
    panels[2].set(xlabel="rounds", ylabel="sustained load (%)")
    panels[2].set_xticks(ROUNDS)
    panels[2].legend(loc="lower right")
    return picture


FIGURE = Figure(
    id="LIT-DCPIM",
    title="dcPIM: the load that it sustains by rounds of matching and channels",
    plans=plans,
    tables=tables,
    claims={"LIT-DCPIM.a": _table, "LIT-DCPIM.b": _order},
    draw=draw,
    needs={"rounds": Needs(2, by=("rounds", "channels", "load"))},
    assumed=(
        "16 hosts of 100 Gbps under 4 leaves with 400 Gbps to 2 spines and cables of 650 ns, ports of 500 KB, IMC10; "
        "the authors have 144 hosts. Every packet has 1500 B, and loads are of these, as in their simulator.",
        "A load counts as sustained if at least 98 % of the payload that arrives from 10 to 30 ms is delivered in that "
        "time (quick scale: a 15th of it), with straight lines between loads: 0.48 to 0.66 in steps of 0.06 with one "
        "round, 0.70 to 0.88 with more (quick scale: the first and the last of these). The README has no rule for its "
        "table.",
        "One and four channels, one to four rounds; the README also has two and eight, and five rounds.",
    ),
)
