"""PEQ section 2.2 and conclusions: in the worst case a slot of PEQ is said to cost no more than one of PDQ, O(n^2).

Counted, not timed: the simulator's disciplines count the flows and the entries of lists that they go through to
compare, move or update them. PDQ is there in two versions with the same schedule: one searches for the flow that is due
first in each slot, the other keeps an ordered list by insertion, as section 1.4 describes PDQ's switches.
"""

import math
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard import slotted
from flowyard.papers import style
from flowyard.papers.figure import Figure, Tables
from flowyard.papers.judge import Judgement, at_most, not_reached, together

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

# Flows that are released together.
RELEASED = (50, 100, 200, 400, 800)
WORKLOADS = {
    "all wait": "all fit, one after the other",
    "all move": "each goes ahead of all others",
    "all wait, last first": "the same as the first, in the opposite order of arrival",
}
SCHEMES: dict[str, Any] = {
    "PEQ": "peq",
    "PDQ, search": {"pdq": {"order": "search"}},
    "PDQ, list": {"pdq": {"order": "list"}},
}
PEQ, LIST = "PEQ", "PDQ, list"
# The slot of the release, and the one after it, in which nothing arrives.
SLOTS = {"first": "the slot of the release", "second": "the slot after it, with no arrival"}
SLOPE_MAX, APART_MAX = 2.1, 0.3


def crowd(flows: int, workload: str) -> dict[str, Any]:
    """A generation: flows that are released together, none of which is done or hopeless in the first slots.

    "all wait": larger ones are due later, and so late that each flow of PEQ's list is put at its end. "all move": the
    larger ones are due so early that each goes ahead of all others, which can wait: the longest way through the list.
    """
    sizes = [100 * (flows + place) for place in range(flows)]
    far = 5 * sum(sizes)
    listed, before, after = [], 0, sum(sizes)
    for size in sizes:
        before += size
        # With all larger ones ahead it is just in time; after all smaller ones it would be late.
        moves = workload == "all move" and after < before
        listed.append({"size": size, "deadline": after if moves else far + size})
        after -= size
    return {"list": listed[::-1] if workload.endswith("last first") else listed}


def operations(scheme: str, generation: dict[str, Any]) -> tuple[int, int]:
    """Costs of the first slot and of the second one."""
    totals = []
    for slots in (1, 2):
        run = {"slots": slots, "step": "slot"}
        result = slotted.run({"generation": generation, "discipline": SCHEMES[scheme], "run": run})
        totals.append(int(result.summary["operations"]))
    return totals[0], totals[1] - totals[0]


def tables() -> Tables:
    """Operations of a slot by what flows are like, scheme, flows present and slot; the same at both scales."""
    rows = [
        {"workload": workload, "scheme": scheme, "flows": flows, "slot": slot, "operations": count}
        for workload in WORKLOADS
        for flows in RELEASED
        for scheme in SCHEMES
        for slot, count in zip(SLOTS, operations(scheme, crowd(flows, workload)), strict=True)
    ]
    return {"operations": pl.DataFrame(rows)}


def worst(counted: pl.DataFrame, scheme: str, slot: str | None = None) -> pl.DataFrame:
    """The costliest slot of any workload, by flows; of both slots, or of one."""
    rows = counted.filter(scheme=scheme, **({"slot": slot} if slot else {}))
    return rows.group_by("flows").agg(pl.col("operations").max()).sort("flows")


def slope(rows: pl.DataFrame) -> float | None:
    """Of the logarithm of operations over that of flows, by least squares; None where there is no logarithm."""
    if len(rows) < 2 or not (rows["operations"] > 0).all():
        return None
    x, y = ([math.log(value) for value in rows[name]] for name in ("flows", "operations"))
    x_mean, y_mean = sum(x) / len(x), sum(y) / len(y)
    spread = sum((at - x_mean) ** 2 for at in x)
    return sum((at - x_mean) * (value - y_mean) for at, value in zip(x, y, strict=True)) / spread


def _complexity(tables: Tables) -> Judgement:
    counted = tables["operations"]
    if len(counted) < len(WORKLOADS) * len(SCHEMES) * len(RELEASED) * len(SLOTS):
        return not_reached("not everything was counted")
    slopes = {}
    for scheme in SCHEMES:
        found = slope(worst(counted, scheme))
        if found is None:
            return not_reached(f"{scheme} counted no operations")
        slopes[scheme] = found
    own = [_named(at_most(found, SLOPE_MAX), f"{scheme}: n^{found:.2f}") for scheme, found in slopes.items()]
    apart = abs(slopes[PEQ] - slopes[LIST])
    verdict = together([*own, _named(at_most(apart, APART_MAX), f"{PEQ} and {LIST} differ by {apart:.2f}")])
    later = {scheme: int(worst(counted, scheme, "second")["operations"][-1]) for scheme in (PEQ, LIST)}
    return verdict.noted(
        f"in a slot in which nothing arrives, with {RELEASED[-1]} flows, {PEQ} takes up to {later[PEQ]:,} operations, "
        f"{LIST} {later[LIST]:,}: only PEQ makes its list anew"
    )


def _named(judgement: Judgement, measured: str) -> Judgement:
    return Judgement(judgement.verdict, measured, judgement.expected).because(measured)


def draw(tables: Tables) -> "Picture":
    """Operations of a slot over the flows present, a panel for each kind of slot."""
    picture, panels = style.panels(1, len(SLOTS), size=(4.6, 3.4))
    lines = ("-", "--", ":")
    for axes, slot in zip(panels, SLOTS, strict=True):
        for place, scheme in enumerate(SCHEMES):
            for marker, line, workload in zip(style.MARKERS, lines, WORKLOADS, strict=False):
                of = tables["operations"].filter(workload=workload, scheme=scheme, slot=slot)
                look: dict[str, Any] = {"color": style.COLOURS[place], "marker": marker, "linestyle": line}
                axes.plot(of["flows"], of["operations"], **look, label=f"{scheme}; {workload}")
        axes.set(xscale="log", yscale="log", xlabel="flows present")
        axes.set_xticks(RELEASED, [str(flows) for flows in RELEASED])
        axes.minorticks_off()
        axes.set_title(SLOTS[slot], loc="left")
    panels[0].set_ylabel("operations of a slot")
    picture.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(SCHEMES))
    return picture


FIGURE = Figure(
    id="PEQ-P13",
    title="Cost of a slot under PEQ and PDQ",
    tables=tables,
    claims={"PEQ-P13": _complexity},
    draw=draw,
    assumed=(
        "An operation is a flow or an entry of a list that a discipline goes through to compare, move or update it; "
        "they are counted in the simulator's own versions, slot by slot.",
        "Flows are released together. Judged is the costliest slot of any workload: the slot of the release, in which "
        "PDQ's list is made, or the one after it, in which PDQ has its list and PEQ makes a new one.",
    ),
)
