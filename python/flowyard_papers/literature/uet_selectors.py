"""Ultra Ethernet's selectors of entropy values, healthy and with slow core links, beside other transports.

A permutation of 2 MB over the fat-tree of 1024 hosts of uet-htsim's `validate_load_balancers_*.txt` (commit 40ccb05 of
2025-08-13): 100 Gbit/s, links of 1 us, packets of 4150 B, 128 values. Degraded, the eight links from cores down to one
aggregation switch have a quarter of their rate and queue. Beside them the same flows under NDP, RoCE and DCTCP, with a
path each, sprayed by switches, or by entropy values.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.sweeps import Axis, Plan
from flowyard_papers.literature import _shipped as shipped
from flowyard_papers.literature._uet import BOTH, CONTROLS, NSCC, RCCC, at_once, fat_tree, outcome, slow_links
from flowyard_papers.literature._uet_selectors import (
    BESIDE,
    CONDITIONS,
    DEEP_SELECTORS,
    DEGRADED,
    HEALTHY,
    SELECTORS,
    SHIPPED,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

SHARE = 0.02


def _uet(selector: str, control: str) -> dict[str, Any]:
    own = {"entropy": selector.removesuffix("1"), "entropy_values": 128, "control": control}
    if selector.endswith("1"):
        own["ack_bytes"] = "4000B"
    return {"uet": own}


def _base(scale: Scale) -> dict[str, Any]:
    return {
        "topology": fat_tree(scale.pick(4, 16)),
        "transport": _uet("mixed", NSCC),
        "traffic": [at_once("permutation", "permutation")],
        "run": {"measure": "all", "until": "1s"},
    }


def _conditions(scale: Scale) -> Axis:
    """The links from all cores that the first aggregation switch has down to it: every (k / 2)th."""
    half = scale.pick(4, 16) // 2
    slow = slow_links(range(0, half * half, half))
    return Axis("condition", {"faults": [{}, slow]}, labels=list(CONDITIONS))


def plans(scale: Scale) -> dict[str, Plan]:
    """Selectors under each control, with the simulator's ports and with deep ones; and the other transports."""
    base, conditions, seeds = _base(scale), _conditions(scale), scale.pick(1, 5)
    own = [(selector, control) for control in CONTROLS for selector in SELECTORS]
    selected = Axis(
        "by",
        {"transport": [_uet(selector, control) for selector, control in own]},
        labels=[f"{selector}, {control}" for selector, control in own],
    )
    deep = Axis(
        "by",
        {"transport": [_uet(selector, NSCC) for selector in DEEP_SELECTORS]},
        labels=[f"{selector}, {NSCC}" for selector in DEEP_SELECTORS],
    )
    # The thresholds stay those of the shallow port: 9 and 35 packets.
    limit = {"limit": {"full-packets": 500}, "ecn_low": {"full-packets": 9}, "ecn_high": {"full-packets": 35}}
    others = Axis("by", scenarios=[{**base, **fields} for fields in BESIDE.values()], labels=list(BESIDE))
    return {
        "selectors": Plan(base, [selected, conditions], seeds, name="selectors"),
        "deep": Plan(
            {**base, "queue": {"trimming": limit}}, [deep, conditions], seeds, name="selectors, deep ports"
        ),
        "beside": Plan(None, [others, conditions], seeds, name="other transports"),
    }


def tables(sweeps: Sweeps) -> Tables:
    """One row per run: the last completion at a sender, none if a flow has not ended, and retransmissions."""
    rows = []
    for name, sweep in sweeps.items():
        runs = sweep.flows.group_by("by", "condition", "replica").agg(
            *outcome(),
            pl.len().cast(pl.Int64).alias("flows"),
        )
        rows.append(runs.collect().with_columns(deep=pl.lit(name == "deep")))
    return {"runs": pl.concat(rows).sort("deep", "by", "condition", "replica")}


def _medians(tables: Tables, condition: str, control: str, deep: bool = False) -> dict[str, float]:
    """By selector, the median over seeds, if all flows of all of them have ended."""
    found = {}
    own = tables["runs"].filter(condition=condition, deep=deep)
    for (by,), rows in own.group_by("by", maintain_order=True):
        selector, _, of = str(by).partition(", ")
        if of == control and selector in SELECTORS and not rows["tail_us"].null_count():
            found[selector] = float(str(rows["tail_us"].median()))
    return found


def _is_full(tables: Tables) -> bool:
    return set(tables["runs"]["flows"]) == {1024}


def _near(condition: str) -> Callable[[Tables], Judgement]:
    """Each median within 2 % of the range of the simulator's seeds."""

    def judged(tables: Tables) -> Judgement:
        if not _is_full(tables):
            return judge.not_reached("its 1024 hosts are those of the full scale")
        return shipped.near(
            [
                shipped.Case(f"{selector}, {control}", median, times[selector], SHARE)
                for (of, control, deep), times in SHIPPED.items()
                if of == condition
                for selector, median in _medians(tables, of, control, deep).items()
                if selector in times
            ]
        )

    return judged


def _ordered(condition: str, control: str, groups: Sequence[Sequence[str]]) -> Callable[[Tables], Judgement]:
    """All medians of each group are below all of the next."""

    def judged(tables: Tables) -> Judgement:
        if not _is_full(tables):
            return judge.not_reached("the order is that of 1024 hosts")
        medians = _medians(tables, condition, control)
        if set(medians) != set(SELECTORS):
            return judge.not_reached("not all selectors have run")
        gaps = [
            min(medians[name] for name in after) / max(medians[name] for name in before)
            for before, after in itertools.pairwise(groups)
        ]
        listed = ", ".join(f"{name} {medians[name]:.1f}" for group in groups for name in group)
        return judge.judged(min(gaps) > 1, min(gaps), "> 1").because(f"medians in us: {listed}")

    return judged


def _deep(tables: Tables) -> Judgement:
    if not _is_full(tables):
        return judge.not_reached("the factor is that of 1024 hosts")
    medians = _medians(tables, DEGRADED, NSCC, deep=True)
    if not {"oblivious", "bitmap", "reps1"} <= set(medians):
        return judge.not_reached("not all selectors have run")
    oblivious, bitmap = (medians[name] / medians["reps1"] for name in ("oblivious", "bitmap"))
    least = min(oblivious / 2.5, bitmap / 2)
    return judge.judged(least > 1, least, "> 1").because(
        f"over reps with an acknowledgement for each packet: oblivious {oblivious:.2f} times (due more than 2.5), "
        f"bitmap {bitmap:.2f} (more than 2)"
    )


def _prompt(tables: Tables) -> Judgement:
    gains = [
        medians[name] / medians[f"{name}1"]
        for condition in CONDITIONS
        for medians in (_medians(tables, condition, NSCC),)
        for name in ("reps", "mixed")
        if {name, f"{name}1"} <= set(medians)
    ]
    if len(gains) < 4:
        return judge.not_reached("not all selectors have run")
    return judge.judged(min(gains) > 1, min(gains), "> 1").because(
        "times of an acknowledgement for four packets over those of one for each"
    )


def draw(tables: Tables) -> "Picture":
    """The tail of each selector under each control, and of the other transports, healthy and degraded."""
    picture, panels = style.panels(1, 2, size=(5.0, 3.6))
    for axes, condition in zip(panels, CONDITIONS, strict=True):
        for place, control in enumerate(CONTROLS):
            medians = _medians(tables, condition, control)
            axes.plot(
                [medians.get(name, math.nan) for name in SELECTORS],
                range(len(SELECTORS)),
                style.MARKERS[place],
                label=control.upper() if control != BOTH else "both",
            )
        own = tables["runs"].filter(condition=condition, deep=False)
        others = [own.filter(by=name)["tail_us"] for name in BESIDE]
        tails = [math.nan if one.null_count() or not len(one) else float(str(one.median())) for one in others]
        rows = [len(SELECTORS) + place for place in range(len(BESIDE))]
        axes.plot(tails, rows, "D", color="#555555", label="other transports")
        axes.set_yticks(range(len(SELECTORS) + len(BESIDE)), [*SELECTORS, *BESIDE])
        axes.invert_yaxis()
        axes.set_xscale("log")
        axes.set_title(condition)
        axes.set_xlabel("last flow ends after (us)")
        axes.axhline(len(SELECTORS) - 0.5, color="#999999", linewidth=0.8)
    picture.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return picture


FIGURE = Figure(
    id="LIT-UET-PATHS",
    title="Ultra Ethernet: selectors of entropy values, healthy and degraded",
    plans=plans,
    tables=tables,
    claims={
        "LIT-UET-PATHS.a": _near(HEALTHY),
        "LIT-UET-PATHS.b": _near(DEGRADED),
        "LIT-UET-PATHS.c": _ordered(
            HEALTHY, NSCC, (["mixed1"], ["reps1"], ["mixed", "bitmap"], ["reps"], ["oblivious"])
        ),
        "LIT-UET-PATHS.d": _ordered(
            DEGRADED, NSCC, (["reps1", "mixed1"], ["mixed"], ["bitmap"], ["reps"], ["oblivious"])
        ),
        "LIT-UET-PATHS.e": _ordered(
            HEALTHY, RCCC, (["mixed1", "reps1"], ["mixed", "bitmap"], ["reps", "oblivious"])
        ),
        "LIT-UET-PATHS.f": _ordered(
            DEGRADED, RCCC, (["reps1", "mixed1", "mixed", "bitmap"], ["reps"], ["oblivious"])
        ),
        "LIT-UET-PATHS.g": _deep,
        "LIT-UET-PATHS.h": _prompt,
    },
    draw=draw,
    needs={"runs": Needs(5, by=("by", "condition", "deep"))},
    assumed=(
        "Permutations are drawn for each seed, where the simulator has one matrix; a time is that of the last "
        "acknowledgement at its sender. A selector with a 1 has an acknowledgement for each packet, else there is one "
        "for four.",
        "Other transports have packets of the same size and their own queues; NDP is sprayed by switches, IRN, HPCC "
        "and DCTCP have a path for each flow, unless entropy values are named. RoCE under HPCC has pauses.",
    ),
)
