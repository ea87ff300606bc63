"""PEQ chapter 4: can any reading have all four averages of the conclusions at once (contradiction PEQ-X17)? A search.

The conclusions put PEQ over PDQ by 1 to 2, PEQ over D3 and Stateful D3 over D3 by 15 to 20 percent, so that PEQ is
close to Stateful D3. The text leaves open what becomes of flows whose deadline is shorter than the flow, when PDQ's
flows give up, and how D3 grants its requests. Each combination of these is tried, on points of figures 3.5 to 3.16.
"""

from collections.abc import Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard import slotted
from flowyard.papers import style
from flowyard.papers.figure import Figure, Scale, Sweeps, Tables
from flowyard.sweeps.plan import ModelPlan
from flowyard_papers.peq import _gains as gains
from flowyard_papers.peq import _load as load
from flowyard_papers.peq.conclusions import STUDIES

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

# Discipline and whether it preempts: all rules of early termination, two of them also without preemption (PEQ-X7).
PDQ: Mapping[str, tuple[dict[str, Any], bool]] = {
    "waiting": ({"early_termination": "waiting"}, True),
    "strict": ({"early_termination": "strict"}, True),
    "expired": ({"early_termination": "expired"}, True),
    "waiting, no preemption": ({"early_termination": "waiting"}, False),
    "strict, no preemption": ({"early_termination": "strict"}, False),
}
# Of D3 and of Stateful D3: parts of a request are granted, or none; hopeless flows stay, or leave.
D3: Mapping[str, dict[str, Any]] = {
    "parts": {},
    "whole": {"grants": "whole"},
    "parts, quench": {"quench": True},
    "whole, quench": {"grants": "whole", "quench": True},
}
# The claims of the conclusions, by the two schemes that each compares.
CLAIMS = {
    "p1": ("PEQ", "PDQ"),
    "p2": ("PEQ", "D3"),
    "p3": (gains.STATEFUL, "D3"),
    "p4": ("PEQ", gains.STATEFUL),
}
UNITS = {"pp": "percentage points", "relative": "% of the worse scheme"}


def schemes() -> dict[str, tuple[Any, bool]]:
    """All that are run: by name, the discipline and whether it preempts."""
    return {
        "PEQ": ("peq", True),
        **{f"PDQ: {rule}": ({"pdq": fields}, preempts) for rule, (fields, preempts) in PDQ.items()},
        **{f"D3: {grants}": ({"d3": fields}, True) for grants, fields in D3.items()},
        **{f"{gains.STATEFUL}: {grants}": ({"stateful-d3": fields}, True) for grants, fields in D3.items()},
    }


def throughputs(**point: Any) -> pl.DataFrame:
    """The application throughput of each scheme at a point; the arguments are those of `_load.configured`."""
    config, rows = load.configured(**point), []
    for scheme, (discipline, preemptive) in schemes().items():
        run = {**config["run"], "preemptive": preemptive}
        result = slotted.run({**config, "run": run, "discipline": discipline})
        rows.append(load.measures(result, scheme, point["slots"]).select("scheme", load.THROUGHPUT))
    return pl.concat(rows)


def plans(scale: Scale) -> dict[str, ModelPlan]:
    """The points of the four studies at quick scale, all modes."""
    usual: dict[str, Any] = {
        "servers": (40,),
        "probability": (load.FULL_LOAD,),
        "deadline_mean_slots": (100,),
    }
    usual |= {"size_max_packets": (load.SIZE_MAX,)}
    more = {"mode": tuple(load.MODES), "slots": (scale.pick(100_000, 400_000),)}
    return {
        name: ModelPlan(
            throughputs, {**usual, **study.axes(Scale.QUICK), **more}, scale.pick(1, 3), name=name
        )
        for name, study in STUDIES.items()
    }


def tables(sweeps: Sweeps) -> Tables:
    """Each scheme's average over the twelve figures, and the four averages of each combination."""
    averages = pl.concat(
        [
            runs.group_by("mode", "scheme", maintain_order=True).agg(pl.col(load.THROUGHPUT).mean())
            for name, study in STUDIES.items()
            for every in (sweeps[name].scan("table").sort("replica", maintain_order=True).collect(),)
            for value in study.FIGURES.values()
            for runs in (every.filter(pl.col(study.BY) == value),)
        ]
    )
    means = averages.group_by("mode", "scheme", maintain_order=True).agg(pl.col(load.THROUGHPUT).mean())
    combinations = pl.DataFrame([row for mode in load.MODES for row in _combined(mode, means)])
    return {"averages": means, "combinations": combinations, "met": _met(combinations)}


def _combined(mode: str, means: pl.DataFrame) -> list[dict[str, Any]]:
    """All combinations of a mode: the gain of each claim in both units, and how many claims it meets in each unit."""
    of = dict(means.filter(mode=mode).select("scheme", load.THROUGHPUT).iter_rows())
    rows = []
    for pdq, d3, stateful in product(PDQ, D3, D3):
        own = {
            "PEQ": of["PEQ"],
            "PDQ": of[f"PDQ: {pdq}"],
            "D3": of[f"D3: {d3}"],
            gains.STATEFUL: of[f"{gains.STATEFUL}: {stateful}"],
        }
        row: dict[str, Any] = {"mode": mode, "pdq": pdq, "d3": d3, "stateful_d3": stateful}
        for claim, (better, worse) in CLAIMS.items():
            row[f"{claim}_pp"] = own[better] - own[worse]
            row[f"{claim}_relative"] = 100 * (own[better] / own[worse] - 1)
        for unit in UNITS:
            row[f"met_{unit}"] = sum(_passes(claim, row[f"{claim}_{unit}"]) for claim in CLAIMS)
        rows.append(row)
    return rows


def _passes(claim: str, value: float) -> bool:
    low, high = gains.CLAIMED[CLAIMS[claim]]
    return low <= value <= high


def _met(combinations: pl.DataFrame) -> pl.DataFrame:
    """By mode and unit: how many combinations meet each claim, all four, and the most claims that one meets."""
    rows = []
    for mode, unit in product(load.MODES, UNITS):
        some = combinations.filter(mode=mode)
        each = {claim: sum(_passes(claim, value) for value in some[f"{claim}_{unit}"]) for claim in CLAIMS}
        met = some[f"met_{unit}"]
        most = {"all_four": int((met == len(CLAIMS)).sum()), "most": met.max()}
        rows.append({"mode": mode, "unit": unit, "combinations": len(some), **each, **most})
    return pl.DataFrame(rows)


def draw(tables: Tables) -> "Picture":
    """A panel for each mode: the gains of all combinations, beside the ranges that pass."""
    picture, panels = style.panels(1, len(load.MODES), size=(4.2, 3.4))
    for axes, (mode, title) in zip(panels, load.MODE_TITLES.items(), strict=True):
        rows = tables["combinations"].filter(mode=mode)
        for place, (claim, pair) in enumerate(CLAIMS.items()):
            low, high = gains.CLAIMED[pair]
            axes.bar(place, high - low, 0.8, low, color="#dddddd", label=None if place else "passes")
            for shift, unit, marker, colour in zip((-0.2, 0.2), UNITS, "os", style.COLOURS, strict=False):
                values = rows[f"{claim}_{unit}"].unique()
                look: dict[str, Any] = {"marker": marker, "color": colour, "linestyle": "none"}
                label = None if place else UNITS[unit]
                axes.plot([place + shift] * len(values), values.to_numpy(), **look, markersize=3, label=label)
        most = max(tables["met"].filter(mode=mode)["most"])
        axes.set_title(f"{title}\nat most {most} of 4 at once", loc="left")
        axes.axhline(0, color="#000000", linewidth=0.8)
        axes.set_yscale("symlog", linthresh=1)
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        names = [
            f"{better} -\n{worse}".replace(gains.STATEFUL, "Stateful\nD3")
            for better, worse in CLAIMS.values()
        ]
        axes.set_xticks(range(len(CLAIMS)), names, fontsize=7)
    panels[0].set_ylabel("gain")
    picture.legend(handles=panels[0].get_legend_handles_labels()[0], loc="outside upper center", ncols=3)
    return picture


FIGURE = Figure(
    id="PEQ-COMBINATIONS",
    title="No combination of readings has all four averages of the conclusions (ours)",
    plans=plans,
    tables=tables,
    claims={},
    draw=draw,
    assumed=(
        "240 combinations: three modes of deadlines that are shorter than the flow; five rules of PDQ (early "
        "termination of waiting flows, of all flows, of expired flows, and the first two without preemption); D3 and "
        "Stateful D3 that grant parts of requests or whole ones, with quenching and without.",
        "Points are those of quick scale, three for each of the 12 figures, each figure counting the same. Ranges are "
        "those of the claims P1 to P4, in points or relative, the same for all four.",
    ),
)
