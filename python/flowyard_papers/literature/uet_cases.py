"""Ultra Ethernet: further cases of its public simulator (uet-htsim, commit 40ccb05 of 2025-08-13).

Messages on one connection, recovery without trimming (SLEEK), an incast of 1023, permutations with degraded core links
or with one entropy value, and 8192 hosts at 800 Gbit/s. What is not said is as in `uet`.
"""

from collections.abc import Callable
from statistics import mean
from typing import TYPE_CHECKING

import polars as pl

from flowyard.papers import judge
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.sweeps import Axis, Plan
from flowyard_papers.literature import _shipped as shipped
from flowyard_papers.literature._uet import CONTROLS, outcome
from flowyard_papers.literature._uet_cases import CASES, CORE, INCAST, LARGE, MESSAGES, ONE_VALUE, SLEEK

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture


def plans(scale: Scale) -> dict[str, Plan]:
    """Cases of up to 128 hosts at quick scale, all at full scale, each under its controls."""
    own = [
        (name, control, case)
        for name, case in CASES.items()
        for control in case.times
        if scale is Scale.FULL or case.hosts <= 128
    ]
    scenarios = [
        {
            "topology": case.network,
            "transport": {"uet": {**case.uet, "control": control}},
            "traffic": [case.traffic],
            "run": {"measure": "all", "until": "1s"},
            **case.more,
        }
        for _, control, case in own
    ]
    labels = [f"{name}, {control}" for name, control, _ in own]
    return {
        "cases": Plan(
            None, [Axis("case", scenarios=scenarios, labels=labels)], scale.pick(1, 5), name="cases"
        )
    }


def tables(sweeps: Sweeps) -> Tables:
    """One row per run: the last acknowledgement at a sender, none if a flow has not ended, and retransmissions."""
    runs = sweeps["cases"].flows.group_by("case", "replica").agg(*outcome())
    parts = pl.col("case").cast(pl.String).str.split(", ")
    runs = runs.with_columns(
        case=parts.list.head(parts.list.len() - 1).list.join(", "), control=parts.list.last()
    )
    return {
        "runs": runs.select("case", "control", "replica", "tail_us", "retransmissions")
        .sort(pl.all())
        .collect()
    }


def _medians(tables: Tables, value: str = "tail_us") -> dict[tuple[str, str], float]:
    """By case and control, if all flows of all runs have ended."""
    found = {}
    for (case, control), rows in tables["runs"].group_by("case", "control", maintain_order=True):
        if not rows["tail_us"].null_count():
            found[str(case), str(control)] = float(str(rows[value].median()))
    return found


def _near(*groups: str) -> Callable[[Tables], Judgement]:
    def judged(tables: Tables) -> Judgement:
        return shipped.near(
            [
                shipped.Case(f"{name}, {control}", median, case.times[control], case.share)
                for (name, control), median in _medians(tables).items()
                for case in (CASES[name],)
                if case.group in groups
            ]
        )

    return judged


def _window_loses(tables: Tables) -> Judgement:
    """SIGN-1: an incast of 1023 takes NSCC 15 % longer than RCCC, which meets the simulator's own aim of 8950 us."""
    medians = _medians(tables)
    nscc, rccc = (medians.get((INCAST, control)) for control in ("nscc", "rccc"))
    if nscc is None or rccc is None:
        return judge.not_reached("its 1024 hosts are those of the full scale")
    return judge.judged(
        nscc > 1.15 * rccc and rccc < 8950, nscc / rccc, "> 1.15, RCCC below 8950 us"
    ).because(f"{nscc:.6g} us under NSCC, {rccc:.6g} under RCCC")


def _credit_loses(tables: Tables) -> Judgement:
    """SIGN-3 and 4: with one value NSCC is earlier than RCCC, and retransmits less than a twentieth of its packets."""
    medians, again = _medians(tables), _medians(tables, "retransmissions")
    nscc, rccc = (("one value, 1024", control) for control in ("nscc", "rccc"))
    if not {nscc, rccc} <= set(medians):
        return judge.not_reached("its 1024 hosts are those of the full scale")
    share = again[nscc] / again[rccc]
    return judge.judged(
        medians[nscc] < medians[rccc] and share < 0.05, share, "< 0.05, NSCC earlier"
    ).because(
        f"{medians[nscc]:.6g} us and {again[nscc]:,.0f} retransmissions under NSCC, {medians[rccc]:.6g} us and "
        f"{again[rccc]:,.0f} under RCCC"
    )


def draw(tables: Tables) -> "Picture":
    """Each median over the mean of the simulator's seeds."""
    found = {
        (name, control): median / mean(CASES[name].times[control])
        for (name, control), median in _medians(tables).items()
    }
    names = [name for name in CASES if any(case == name for case, _ in found)]
    return shipped.ratios(names, CONTROLS, found, "tail completion time / mean of uet-htsim's seeds")


FIGURE = Figure(
    id="LIT-UET-CASES",
    title="Ultra Ethernet: further cases of its public simulator",
    plans=plans,
    tables=tables,
    claims={
        "LIT-UET-CASES.a": _near(MESSAGES),
        "LIT-UET-CASES.b": _near(SLEEK),
        "LIT-UET-CASES.c": _near(INCAST),
        "LIT-UET-CASES.d": _near(CORE, ONE_VALUE),
        "LIT-UET-CASES.e": _near(LARGE),
        "LIT-UET-CASES.f": _window_loses,
        "LIT-UET-CASES.g": _credit_loses,
    },
    draw=draw,
    needs={"runs": Needs(5, by=("case", "control"))},
    assumed=(
        "Of 16 hosts the permutation is the simulator's; larger ones are drawn for each seed, where it has one matrix "
        "each. A time is that of the last acknowledgement at its sender.",
    ),
)
