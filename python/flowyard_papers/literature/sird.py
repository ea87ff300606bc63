"""SIRD beside Homa, dcPIM and ExpressPass: peak buffers, goodput and tails; and SIRD's credit budget B.

Prasopoulos, Bugnion and Kogias, "SIRD: A Sender-Informed, Receiver-Driven Datacenter Transport Protocol", NSDI 2025.
The numbers are those of the abstract of the fourth version of arXiv 2312.15403, averages over the paper's workloads;
the last version states none. Parameters follow the authors' simulator.
"""

import math
from itertools import pairwise
from typing import TYPE_CHECKING

import polars as pl

from flowyard.papers import style
from flowyard.papers.figure import Figure, Needs, Tables
from flowyard.papers.judge import Judgement, judged, not_reached, together
from flowyard_papers.literature import _receivers, _sird
from flowyard_papers.literature._sird import (
    BUDGETS,
    CONFIGURATIONS,
    DCPIM,
    EXPRESSPASS,
    HALF,
    HIGH,
    HOMA,
    OF_BUDGETS,
    SIRD,
    STACKS,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

SLACK = 0.25


def ratios(tables: Tables, other: str) -> dict[str, float] | None:
    """SIRD over another transport, as geometric means over configurations; None if a point is missing.

    Buffers and goodput at the high load, tails at the half.
    """
    points = tables["points"].filter(pl.col("stack").is_in([SIRD, other]))
    found = {}
    for column, load in (("queue_max_bytes", HIGH), ("goodput", HIGH), ("slowdown_p99", HALF)):
        at = points.filter(load=load).drop_nulls(column)
        values = {(row["configuration"], row["stack"]): row[column] for row in at.to_dicts()}
        if len(values) != 2 * len(CONFIGURATIONS):
            return None
        logs = [math.log(values[name, SIRD] / values[name, other]) for name in CONFIGURATIONS]
        found[column] = math.exp(sum(logs) / len(logs))
    return found


_MISSING = not_reached("there are not all configurations, or messages did not end")


def _signs(tables: Tables) -> Judgement:
    """Which of the two is larger, in each of the five comparisons."""
    asked = (
        ("queue_max_bytes", HOMA, "peak buffer", -1),
        ("goodput", DCPIM, "goodput", 1),
        ("queue_max_bytes", DCPIM, "peak buffer", -1),
        ("slowdown_p99", DCPIM, "tail", -1),
        ("slowdown_p99", EXPRESSPASS, "tail", -1),
        ("goodput", EXPRESSPASS, "goodput", 1),
    )
    said, holds = [], True
    for column, other, name, sign in asked:
        found = ratios(tables, other)
        if found is None:
            return _MISSING
        holds = holds and (found[column] - 1) * sign > 0
        said.append(f"{name} {found[column]:.3g} times that of {other}")
    return judged(holds, "; ".join(said), "goodput above 1 times, buffers and tails below")


def _times(tables: Tables, other: str, column: str, name: str, factor: float) -> Judgement:
    """The other transport over SIRD, near a factor."""
    found = ratios(tables, other)
    if found is None:
        return _MISSING
    value = 1 / found[column]
    return judged(
        abs(value / factor - 1) <= SLACK, f"{name} of {other} {value:.3g} times", f"{factor:g} +- 25 %"
    )


def _percent(tables: Tables, other: str, column: str, name: str, change: float) -> Judgement:
    """SIRD against the other transport, near a change in per cent."""
    found = ratios(tables, other)
    if found is None:
        return _MISSING
    value = 100 * (found[column] - 1)
    holds = abs(value - change) <= SLACK * abs(change)
    return judged(holds, f"{name} {value:+.1f} % against {other}", f"{change:+g} % +- a quarter of it")


def _homa(tables: Tables) -> Judgement:
    return _times(tables, HOMA, "queue_max_bytes", "peak buffer", 12)


def _dcpim(tables: Tables) -> Judgement:
    return together(
        [
            _percent(tables, DCPIM, "goodput", "goodput", 9),
            _percent(tables, DCPIM, "queue_max_bytes", "peak buffer", -43),
            _percent(tables, DCPIM, "slowdown_p99", "tail", -46),
        ]
    )


def _expresspass(tables: Tables) -> Judgement:
    return together(
        [
            _times(tables, EXPRESSPASS, "slowdown_p99", "tail", 10),
            _percent(tables, EXPRESSPASS, "goodput", "goodput", 26),
        ]
    )


def _by_budget(tables: Tables, workload: str, column: str) -> list[float]:
    rows = tables["budgets"].filter(workload=workload).sort("budget")
    return rows[column].to_list() if rows["budget"].to_list() == list(BUDGETS) else []


def _saturates(tables: Tables) -> Judgement:
    """Goodput at 1, 1.5 and 3 BDP."""
    said, holds = [], True
    for workload in OF_BUDGETS:
        values = _by_budget(tables, workload, "goodput")
        if not values:
            return not_reached("there are not all budgets")
        first, middle, last = values[0], values[2], values[-1]
        holds = holds and middle > first and last - middle < middle - first
        said.append(f"{workload}: {first:.3f}, {middle:.3f} and {last:.3f}")
    return judged(
        holds,
        "; ".join(said) + " of the links with 1, 1.5 and 3 BDP",
        "more with 1.5 BDP than with 1, and less of a rise from there to 3",
    )


def _grows(tables: Tables) -> Judgement:
    """The fullest port at each budget."""
    said, holds = [], True
    for workload in OF_BUDGETS:
        values = _by_budget(tables, workload, "queue_max_bytes")
        if not values:
            return not_reached("there are not all budgets")
        holds = holds and all(after > before for before, after in pairwise(values))
        said.append(f"{workload}: " + ", ".join(f"{value / 1000:.0f}" for value in values))
    budgets = ", ".join(f"{budget:g}" for budget in BUDGETS)
    return judged(holds, "; ".join(said) + f" KB with {budgets} BDP", "more with each larger budget")


def draw(tables: Tables) -> "Picture":
    """Buffers, goodput and tails of all transports, and both measures of the budget."""
    picture, panels = style.panels(2, 3, size=(3.6, 2.8))
    asked = (
        ("queue_max_bytes", HIGH, 1000, "fullest port (KB)"),
        ("goodput", HIGH, 1, "goodput / links to hosts"),
        ("slowdown_p99", HALF, 1, "p99 of the slowdown"),
    )
    for axes, (column, load, unit, label) in zip(panels, asked, strict=False):
        points = tables["points"].filter(load=load)
        values = {
            (row["stack"], row["configuration"]): row[column] / unit
            for row in points.drop_nulls(column).to_dicts()
        }
        for place, name in enumerate(STACKS):
            heights = [values.get((name, at)) for at in CONFIGURATIONS]
            _receivers.bars(axes, place, place, len(STACKS), heights)
        axes.set_xticks(range(len(CONFIGURATIONS)), CONFIGURATIONS)
        axes.set(ylabel=label, title=f"load {load}", yscale="linear" if column == "goodput" else "log")
    for place, workload in enumerate(OF_BUDGETS):
        rows = tables["budgets"].filter(workload=workload).sort("budget")
        rows = rows.with_columns(pl.col("queue_max_bytes", "queue_max_bytes_ci95").cast(pl.Float64) / 1000)
        for axes, column in zip(panels[3:], ("queue_max_bytes", "goodput"), strict=False):
            style.curve(axes, rows, "budget", column, place, workload)
    for axes, label in zip(panels[3:], ("fullest port (KB)", "goodput / links to hosts"), strict=False):
        axes.set(xlabel="credit budget / BDP", ylabel=label, title=f"{SIRD}, load {HIGH}")
        axes.legend(loc="upper left")
    panels[3].set(ylim=(0, None))
    panels[5].axis("off")
    panels[5].legend(handles=_receivers.swatches(STACKS), loc="center")
    return picture


FIGURE = Figure(
    id="LIT-SIRD",
    title="SIRD beside Homa, dcPIM and ExpressPass: buffers, goodput and tails; SIRD's credit budget",
    plans=_sird.plans,
    tables=_sird.tables,
    claims={
        "LIT-SIRD.a": _signs,
        "LIT-SIRD.b": _homa,
        "LIT-SIRD.c": _dcpim,
        "LIT-SIRD.d": _expresspass,
        "LIT-SIRD.e": _saturates,
        "LIT-SIRD.f": _grows,
    },
    draw=draw,
    needs={"points": Needs(3, by=_sird.KEYS), "budgets": Needs(3, by=("workload", "budget"))},
    assumed=(
        "32 hosts (quick scale: 8) of 100 Gbps under 4 leaves with 400 Gbps to 2 spines, not oversubscribed; the paper "
        "has 144 hosts. Cables of 920 ns make a round trip of 8 us, which is 100 KB.",
        "W3 and W4 with uniform destinations, and W4 with 7 % of the load in incasts of 500 KB from 30 hosts (quick "
        "scale: 6), at equal intervals; the paper also has W5, all three with incasts, and an oversubscribed core.",
        "A load is of payload. Buffers and goodput are at a load of 0.95, tails at 0.5, of the messages outside "
        "incasts, over the time of the same packets alone; a buffer is that of the fullest port of a switch. Which "
        "loads the paper's numbers are of is from memory, and so is that they are averages over its workloads.",
        "Measured are 0.5 to 1 ms of W3 and 1 to 3 ms of W4 at the lower load, 1 to 2.5 ms of W3 and 3 to 6 ms of W4 "
        "and of W5, which has the budgets alone, at the higher one (quick scale: an eighth of these times). The "
        "authors run 90 to 500 ms and measure the last tenth.",
        "Full packets have 1538 B on the wire under all transports; ports drop nothing, and mark above 82 packets, "
        "those to hosts too, where the authors' simulator marks between switches only.",
        "Homa has seven scheduled levels and no tail boost under each workload, as in that simulator; dcPIM and "
        "ExpressPass have the defaults of their authors' own simulators.",
    ),
)
