"""Servers that start flows at random on the slotted link: the runs and judgements that figures 3.5 to 3.16 share.

The thesis, sections 3.4 to 3.6: each server has at most one flow, and when idle starts one in a slot with a
probability p. Application throughput is the share of the flows generated that were done by their deadline.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import exp, fsum
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard import slotted
from flowyard.analysis.intervals import replica_means
from flowyard.papers import style
from flowyard.papers.figure import Scale, Sweeps, Tables
from flowyard.papers.judge import Judgement, judged, not_less, not_reached, together
from flowyard.slotted.measures import ended, measure
from flowyard.sweeps.plan import ModelPlan

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

SCHEMES: Mapping[str, str] = {"PEQ": "peq", "PDQ": "pdq", "Stateful D3": "stateful-d3", "D3": "d3"}
OTHERS = tuple(SCHEMES)[1:]
# What becomes of deadlines that are shorter than the flow: they stay, as the thesis has it; the size is added to
# every deadline; they are drawn anew. Claims are judged on A.
MODES: Mapping[str, str] = {"A": "keep", "B": "shift", "C": "redraw"}
SIZE_MIN, SIZE_MAX = 2, 198
# 40 servers with flows of 100 packets then start one packet a slot, but for the short time in which they have a flow.
FULL_LOAD = 1 / 4000

POINT = ("servers", "probability", "deadline_mean_slots", "size_max_packets")
THROUGHPUT = "application_throughput_percent"
MEASURES = (
    "offered_load",
    "flows",
    "feasible_percent",
    THROUGHPUT,
    "fct_mean_slots",
    "present_mean_flows",
)
# A series needs so many points to be judged.
POINTS_MIN = 3

ASSUMED = (
    "A server that is idle starts a flow in a slot with p = 1/4000 where nothing else is said, for all schemes: 40 "
    "servers then offer a packet a slot. The load that was measured is in the tables (offered_load, packets a slot).",
    "Deadlines are rounded up to whole slots. Claims are judged on mode A: those shorter than the flow stay, and "
    "count as missed. Beside it are B (the size is added to every deadline) and C (they are drawn anew).",
    "D3 shares the slot's packet in fractions, and its requests come in an order that is drawn afresh in each slot; "
    "PDQ drops a flow as soon as it cannot be in time; all schemes preempt.",
    "Full scale: 1,000,000 slots, 10 seeds for mode A and 3 each for B and C. Quick: 200,000 slots, 3 and 2 seeds, "
    "fewer points. All schemes have the same flows of each server.",
)


def plans(
    scale: Scale, axes: Mapping[str, Sequence[Any]], seeds: Mapping[str, int] | None = None
) -> dict[str, ModelPlan]:
    """A plan for each mode.

    Args:
        scale: Of slots and seeds.
        axes: Those of POINT that differ from 40 fully loaded servers, mean deadline 100, sizes up to 198.
        seeds: By mode, if not the usual ones.
    """
    usual: dict[str, Sequence[Any]] = dict(
        zip(POINT, ((40,), (FULL_LOAD,), (100,), (SIZE_MAX,)), strict=True)
    )
    slots = scale.pick(200_000, 1_000_000)
    seeds = seeds or scale.pick({"A": 3, "B": 2, "C": 2}, {"A": 10, "B": 3, "C": 3})
    return {
        f"mode-{mode}": ModelPlan(
            compare, {**usual, **axes, "mode": (mode,), "slots": (slots,)}, seeds[mode], name=f"mode {mode}"
        )
        for mode in MODES
    }


def compare(
    *,
    servers: int,
    probability: float,
    deadline_mean_slots: float,
    size_max_packets: int,
    mode: str,
    slots: int,
    replica: int,
) -> pl.DataFrame:
    """What each scheme makes of the same servers: a row a scheme."""
    config = {
        "generation": {"random": {"servers": servers, "probability": probability}},
        "classes": [
            {
                "sizes": {"uniform": {"min": SIZE_MIN, "max": size_max_packets}},
                "deadlines": {"exponential": {"mean": deadline_mean_slots, "infeasible": MODES[mode]}},
            }
        ],
        "run": {"slots": slots, "replica": replica},
    }
    return pl.concat(
        [
            _measures(slotted.run({**config, "discipline": discipline}), scheme, slots)
            for scheme, discipline in SCHEMES.items()
        ]
    )


def _measures(result: slotted.Result, scheme: str, slots: int) -> pl.DataFrame:
    flows = pl.DataFrame(result.flows)
    fit = ended(flows).select(pl.col("size") <= pl.col("deadline")).to_series()
    packets = flows["size"].cast(pl.Int64).sum()
    return measure(flows).select(
        pl.lit(scheme).alias("scheme"),
        pl.lit(packets / slots).alias("offered_load"),
        pl.col("flows").cast(pl.Int64),
        pl.lit(int(fit.sum())).alias("feasible"),
        pl.col("done").cast(pl.Int64),
        (100 * pl.lit(fit.mean(), pl.Float64)).alias("feasible_percent"),
        (100 * pl.col("application_throughput")).alias(THROUGHPUT),
        "fct_mean_slots",
        pl.lit(float(result.summary["present_mean"])).alias("present_mean_flows"),
    )


def runs(sweeps: Sweeps) -> pl.DataFrame:
    """All runs: a row for each point, mode, replica and scheme."""
    every = pl.concat([sweep.scan("table").collect().drop("run") for sweep in sweeps.values()])
    return every.sort(*POINT, "mode", "replica", maintain_order=True)


def tables(sweeps: Sweeps) -> dict[str, pl.DataFrame]:
    """The runs of mode A, which claims are judged on, and the means of all modes."""
    every = runs(sweeps)
    points = replica_means(every, [*POINT, "mode", "scheme"], MEASURES)
    return {"runs": every.filter(mode="A").drop("mode", "slots"), "points": points}


def ceilings(points: Sequence[tuple[float, float]]) -> pl.DataFrame:
    """The share of flows of mode A that are feasible alone: no scheme can have more.

    A deadline D is exponential with a mean, rounded up. A flow of t packets has D >= t if the time drawn is above
    t - 1, not t; the formula that claims name leaves the rounding out.

    Args:
        points: Mean deadlines in slots and largest sizes in packets.
    """
    rows = []
    for mean, largest in points:
        sizes = range(SIZE_MIN, int(largest) + 1)
        plain, rounded = (
            100 * fsum(exp(-(size - less) / mean) for size in sizes) / len(sizes) for less in (0, 1)
        )
        rows.append(
            {
                "deadline_mean_slots": mean,
                "size_max_packets": largest,
                "ceiling_percent": plain,
                "ceiling_rounded_up_percent": rounded,
            }
        )
    return pl.DataFrame(rows)


def wide(runs: pl.DataFrame, value: str = THROUGHPUT) -> pl.DataFrame:
    """A row for each point and replica, a column a scheme."""
    return runs.pivot("scheme", index=[*POINT, "replica"], values=value, maintain_order=True)


def ahead(tables: Tables, where: Mapping[str, float], x: str, ends: tuple[float, float]) -> Judgement:
    """PEQ is nowhere below the others.

    Args:
        tables: Runs and points.
        where: What tells the figure's points from others.
        x: Its axis.
        ends: Which must have been run from end to end.
    """
    runs = tables["runs"].filter(**where)
    if reason := _missing(runs, x, ends):
        return not_reached(reason)
    series = wide(runs)
    found = together([not_less(series, "PEQ", other, x=x, points=True) for other in OTHERS])
    return found.because(f"{found.reason}: {_gaps(runs, tables['points'].filter(**where), x)}")


def _gaps(runs: pl.DataFrame, points: pl.DataFrame, x: str) -> str:
    """How near PEQ and PDQ are, and why; and what other modes have."""
    means = wide(runs).group_by(x).agg(pl.col("PEQ").mean(), pl.col("PDQ").mean())
    gaps: list[float] = (means["PEQ"] - means["PDQ"]).to_list()
    of_peq = (
        runs.filter(scheme="PEQ").group_by(x).agg(pl.col("feasible_percent", "present_mean_flows").mean())
    )
    feasible: list[float] = of_peq["feasible_percent"].to_list()
    present: list[float] = of_peq["present_mean_flows"].to_list()
    said = [
        f"PEQ - PDQ is {min(gaps):+.3f} to {max(gaps):+.3f} pp; {min(feasible):.0f} to {max(feasible):.0f} % of the "
        f"flows are feasible alone (PEQ-X2), and {min(present):.2g} to {max(present):.2g} are there at a time"
    ]
    for mode in ("B", "C"):
        other = points.filter(mode=mode).pivot("scheme", index=x, values=THROUGHPUT)
        if {"PEQ", "PDQ"} <= set(other.columns):
            above = other.filter(pl.col("PEQ") > pl.col("PDQ")).height
            said.append(f"in mode {mode} PEQ is above PDQ at {above} of {len(other)}")
    return "; ".join(said)


def moves(
    runs: pl.DataFrame, x: str, ends: tuple[float, float], by: str, more: str, less: str, *, rising: bool
) -> Judgement:
    """Every scheme rises, or falls, along x on each of several curves; steps are paired by replica.

    Args:
        runs: Of all curves.
        x: Along which.
        ends: Which must have been run from end to end.
        by: The column that tells curves apart.
        more: What the larger x is, as in "with more servers".
        less: What the smaller x is.
        rising: Or falling.
    """
    for _, curve in runs.group_by(by):
        if reason := _missing(curve, x, ends):
            return not_reached(reason)
    series = wide(runs)
    judgements = []
    for scheme in SCHEMES:
        higher, lower = f"{scheme} with {more}", f"{scheme} with {less}"
        steps = []
        for (at,), curve in series.group_by(by, maintain_order=True):
            for one, two in pairwise(sorted(curve[x].unique())):
                before, after = (
                    curve.filter(pl.col(x) == value).select("replica", pl.col(scheme).alias(name))
                    for value, name in ((one, lower), (two, higher))
                )
                step = pl.lit(f"{one:g} to {two:g} ({by} {at:g})").alias("step")
                steps.append(before.join(after, on="replica").with_columns(step))
        a, b = (higher, lower) if rising else (lower, higher)
        judgements.append(not_less(pl.concat(steps), a, b, x="step", points=True))
    return together(judgements)


def _missing(runs: pl.DataFrame, x: str, ends: tuple[float, float]) -> str:
    """Why a series cannot be judged; empty if it can."""
    found = set(runs[x])
    if absent := sorted(set(SCHEMES) - set(runs["scheme"])):
        return f"there are no runs of {', '.join(absent)}"
    if not set(ends) <= found or len(found) < POINTS_MIN:
        return f"{x} was not run from {ends[0]:g} to {ends[1]:g} at {POINTS_MIN} points or more"
    return ""


# What rounding deadlines up may add to a ceiling, and the rounding of a printed digit, percentage points.
ROUNDING, DIGIT = 0.5, 0.05


def capped(tables: Tables, x: str, expected: Mapping[float, float]) -> Judgement:
    """The ceilings are those expected, up to the rounding of deadlines; and no scheme is above its ceiling."""
    rows = {row[x]: row for row in tables["ceilings"].iter_rows(named=True)}
    if absent := sorted(set(expected) - set(rows)):
        return not_reached(f"no ceiling at {x} {', '.join(f'{at:g}' for at in absent)}")
    formula, exact = (
        {at: rows[at][column] - value for at, value in expected.items()}
        for column in ("ceiling_percent", "ceiling_rounded_up_percent")
    )
    rounding = "rounding deadlines up multiplies the formula by exp(1/mean deadline)"
    parts = [
        _near("formula", formula, -DIGIT, DIGIT).because(
            "the last digit as stated is not that of the formula"
        ),
        _near("exact ceiling", exact, -DIGIT, ROUNDING + DIGIT).because(rounding),
        _below(tables),
    ]
    return together(parts)


def _near(what: str, off: Mapping[float, float], low: float, high: float) -> Judgement:
    """Ceilings differ from the expected values by no less and no more than so many points."""
    wrong = [f"{value:+.3f} at {at:g}" for at, value in off.items() if not low <= value <= high]
    measured = f"{what} off by {min(off.values()):+.3f} to {max(off.values()):+.3f} pp"
    more = f" (outside: {', '.join(wrong)})" if wrong else ""
    return judged(not wrong, measured + more, f"{low:+.2f} to {high:+.2f} pp")


def _below(tables: Tables) -> Judgement:
    """No run has more flows done than are feasible; no mean is above the exact ceiling by more than its interval."""
    runs, on = tables["runs"], ["deadline_mean_slots", "size_max_packets"]
    if runs.is_empty():
        return not_reached("there are no runs")
    means = replica_means(runs, [*POINT, "scheme"], [THROUGHPUT])
    known = means.join(tables["ceilings"], on=on).drop_nulls()
    if len(known) < len(means):
        return not_reached("some point has no ceiling, or no interval")
    above = pl.col(THROUGHPUT) - pl.col("ceiling_rounded_up_percent")
    known = known.with_columns(above=above, beyond=above - pl.col(f"{THROUGHPUT}_ci95")).sort("beyond")
    worst = known.row(-1, named=True)
    wrong = runs.filter(pl.col("done") > pl.col("feasible")).height
    at = f"{worst['scheme']} at {worst['servers']} servers, mean {worst['deadline_mean_slots']:g}"
    measured = f"nearest to its ceiling, by interval: {worst['above']:+.3f} pp ({at})"
    found = judged(worst["beyond"] <= 0 and not wrong, measured, "none above by more than its interval")
    return found.because(
        f"{wrong} runs have more flows done than were feasible" if wrong else f"{at} is above"
    )


# How modes are drawn.
LOOKS: Mapping[str, Mapping[str, Any]] = {
    "A": {"linestyle": "-"},
    "B": {"linestyle": "--", "linewidth": 0.9, "alpha": 0.75},
    "C": {"linestyle": ":", "linewidth": 0.9, "alpha": 0.75},
}


def draw(
    tables: Tables, by: str, figures: Mapping[str, float], titles: str, x: str, label: str, scale: float = 1.0
) -> "Picture":
    """Two panels for each figure: all schemes, and below it how far PEQ is above PDQ.

    Args:
        tables: Runs and points; ceilings, if the figure has them.
        by: The column that tells figures apart.
        figures: Its value by the number of the figure.
        titles: Of the panels, with {} for the value.
        x: The column of the axis.
        label: Of the axis.
        scale: What x is multiplied by.
    """
    picture, panels = style.panels(2, len(figures), size=(3.7, 2.8))
    top = tables["points"][THROUGHPUT].max()
    for place, (number, value) in enumerate(figures.items()):
        above, below = panels[place], panels[place + len(figures)]
        runs, points = (
            tables["runs"].filter(pl.col(by) == value),
            tables["points"].filter(pl.col(by) == value),
        )
        if "ceilings" in tables:
            rows = tables["ceilings"].sort(x)
            ceiling = rows["ceiling_rounded_up_percent"].to_numpy()
            at = scale * rows[x].to_numpy()
            above.fill_between(at, ceiling, 100, color="#eeeeee", linewidth=0, label="infeasible in A")
        _draw_curves(above, points, x, scale)
        _draw_gap(below, runs, points, x, scale)
        above.set(title=f"Figure {number}: {titles.format(value)}", ylim=(0, 1.03 * float(str(top))))
        below.set_xlabel(label)
    panels[0].set_ylabel("application throughput (%)")
    panels[len(figures)].set_ylabel("PEQ - PDQ (points)")
    _explain(panels[len(figures) - 1])
    return picture


def _draw_curves(axes: "Axes", points: pl.DataFrame, x: str, scale: float) -> None:
    """Every scheme over x: mode A with its intervals, B and C thin. PEQ is last, on top; PDQ around it."""
    places = dict(zip(SCHEMES, zip(style.COLOURS, style.MARKERS, strict=False), strict=False))
    for mode, look in LOOKS.items():
        for scheme, (colour, marker) in reversed(places.items()):
            rows = points.filter(mode=mode, scheme=scheme).sort(x)
            at, values = scale * rows[x].to_numpy(), rows[THROUGHPUT].to_numpy()
            if mode != "A":
                axes.plot(at, values, color=colour, **look)
                continue
            half = rows[f"{THROUGHPUT}_ci95"].cast(pl.Float64).fill_null(0).to_numpy()
            ring = {"markerfacecolor": "none", "markersize": 8} if scheme == "PDQ" else {}
            bars: dict[str, Any] = {"yerr": half, "marker": marker, "capsize": 2, "label": scheme, **ring}
            axes.errorbar(at, values, color=colour, **bars, **look)


def _draw_gap(axes: "Axes", runs: pl.DataFrame, points: pl.DataFrame, x: str, scale: float) -> None:
    """By how many points PEQ is above PDQ: mode A with the interval of the paired difference."""
    axes.axhline(0, color="#000000", linewidth=0.8)
    pairs = wide(runs).with_columns(gap=pl.col("PEQ") - pl.col("PDQ"))
    gaps = replica_means(pairs, [x], ["gap"]).sort(x)
    half = gaps["gap_ci95"].cast(pl.Float64).fill_null(0).to_numpy()
    bars: dict[str, Any] = {"yerr": half, "marker": "o", "capsize": 2, "color": style.COLOURS[0]}
    axes.errorbar(scale * gaps[x].to_numpy(), gaps["gap"].to_numpy(), **bars)
    for mode in ("B", "C"):
        rows = points.filter(mode=mode).pivot("scheme", index=x, values=THROUGHPUT).sort(x)
        gap = (rows["PEQ"] - rows["PDQ"]).to_numpy()
        axes.plot(scale * rows[x].to_numpy(), gap, color=style.COLOURS[0], **LOOKS[mode])


def _explain(axes: "Axes") -> None:
    """A legend of schemes, and of how modes are drawn, right of the panel."""
    from matplotlib.lines import Line2D

    own = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    order = [name for name in (*SCHEMES, *own) if name in own]
    handles: dict[str, Any] = {name: own[name] for name in dict.fromkeys(order)}
    for mode, name in {"A": "A: as drawn", "B": "B: size added", "C": "C: drawn anew"}.items():
        handles[name] = Line2D([], [], color="#555555", **LOOKS[mode])
    axes.legend(list(handles.values()), list(handles), loc="upper left", bbox_to_anchor=(1.02, 1.0))
