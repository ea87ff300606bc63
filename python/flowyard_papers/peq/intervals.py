"""PEQ figure 3.3, section 3.2: sets of 24 flows that start every 5 to 30 slots, where larger flows are due earlier."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import style
from flowyard.papers.figure import Figure, Needs, Scale, Sweeps, Tables
from flowyard.papers.judge import (
    FAIL,
    NOT_REACHED,
    PASS,
    Judgement,
    by_reading,
    judged,
    not_reached,
    together,
    within,
)
from flowyard.sweeps.plan import ModelPlan
from flowyard_papers.peq import _served
from flowyard_papers.peq._served import SERVERS, SHORT
from flowyard_papers.peq._sets import ADVERSARIAL, NAMES, draw_schemes, never_falls, served, sets

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

# Longer ones than the thesis's, on the way to a single release.
LONG = (100, 300, 1000)
SCHEMES: dict[str, dict[str, Any]] = {
    "peq": {"peq": {}},
    "pdq": {"pdq": {}},
    "pdq_expired": {"pdq": {"early_termination": "expired"}},
}
# What a busy server does, as the thesis has it first.
BUSY = {"add": "every server adds a flow", "skip": "busy servers pass their turn"}
# Of what the flows that are served in part and fail are counted.
IN_PART = {
    "in_part_percent": "% of the flows",
    "in_vain_percent": "% of the flows served",
    "in_part_flows": "flows a slot",
}
# PDQ's flows give up as soon as they cannot be in time, or not.
PDQ = {"pdq": "with", "pdq_expired": "without"}


def point(busy: str, interval: int, slots: int, replica: int) -> pl.DataFrame:
    """Flows in time, and flows that were served in part and failed, in percent of those generated in `slots`."""
    turns = max(slots // interval, 1)
    generation = {"interval": {"servers": SERVERS, "slots": interval, "sets": turns, "busy": busy}}
    return _shares(generation, replica)


def release(count: int, replica: int) -> pl.DataFrame:
    """The same of single sets."""
    return _shares(sets(SERVERS, count), replica)


def _shares(generation: dict[str, Any], replica: int) -> pl.DataFrame:
    row: dict[str, float] = {}
    for scheme, discipline in SCHEMES.items():
        flows = served(generation, ADVERSARIAL, discipline, replica=replica)
        partial = ~pl.col("done") & (pl.col("sent") > 0)
        done, in_part = (100 * flows.select(share.mean()).item() for share in (pl.col("done"), partial))
        row |= {
            f"{scheme}_percent": done,
            f"{scheme}_in_part_percent": in_part,
            f"{scheme}_flows": len(flows),
        }
    return pl.DataFrame([row])


def plans(scale: Scale) -> dict[str, ModelPlan]:
    """Busy servers pass their turns, or not; and single releases."""
    replicas = scale.pick(5, 10)
    skip = {"busy": ["skip"], "interval": (*SHORT, *LONG), "slots": [scale.pick(100_000, 1_000_000)]}
    add = {"busy": ["add"], "interval": (*SHORT, *LONG), "slots": [scale.pick(4_000, 100_000)]}
    return {
        "skip": ModelPlan(point, skip, replicas, name="turns passed"),
        "add": ModelPlan(point, add, replicas, name="turns taken"),
        "release": ModelPlan(release, {"count": [scale.pick(20, 100)]}, replicas, name="one release"),
    }


def tables(sweeps: Sweeps) -> Tables:
    """Each replica, and the means; those of a single release."""
    runs = pl.concat([sweeps[name].scan("table").drop("run").collect() for name in BUSY])
    lead = pl.col("peq_percent") - pl.col("pdq_percent")
    runs = runs.sort("busy", "interval", "replica").with_columns(lead_points=lead)
    runs = runs.with_columns(column for scheme in SCHEMES for column in _failed_in_part(scheme))
    single = sweeps["release"].scan("table").drop("run").sort("replica").collect()
    values = [name for name in runs.columns if name.endswith(("_percent", "_points", "_in_part_flows"))]
    return {
        "runs": runs,
        "points": replica_means(runs, ["busy", "interval"], values),
        "release": single,
    }


def _failed_in_part(scheme: str) -> Iterator[pl.Expr]:
    """Flows that were served in part and failed, in the two other units of IN_PART."""
    done, in_part = pl.col(f"{scheme}_percent"), pl.col(f"{scheme}_in_part_percent")
    served = done + in_part
    in_vain = pl.when(served > 0).then(100 * in_part / served)
    yield in_vain.alias(f"{scheme}_in_vain_percent")
    yield (in_part / 100 * pl.col(f"{scheme}_flows") / pl.col("slots")).alias(f"{scheme}_in_part_flows")


def _each(judge: Callable[[Tables], Judgement]) -> Callable[[Tables], Judgement]:
    """A verdict for each thing that a busy server may do; the judge gets the tables of that alone."""

    def judged_each(tables: Tables) -> Judgement:
        return by_reading({title: judge(_only(tables, busy)) for busy, title in BUSY.items()})

    return judged_each


def _only(tables: Tables, busy: str) -> Tables:
    return {**tables, **{name: tables[name].filter(busy=busy) for name in ("runs", "points")}}


def _short(tables: Tables) -> pl.DataFrame:
    return tables["runs"].filter(pl.col("interval").is_in(SHORT))


def _at(tables: Tables, interval: int, column: str) -> float | None:
    rows = tables["points"].filter(interval=interval)
    return float(rows[column].item()) if len(rows) else None


def _ends(tables: Tables, column: str) -> str:
    values = (_at(tables, interval, column) for interval in (SHORT[0], SHORT[-1]))
    return ", ".join(f"{value:.3g} at {x}" for x, value in zip((SHORT[0], SHORT[-1]), values, strict=True))


def _lead(tables: Tables) -> Judgement:
    found = never_falls(_short(tables), "lead_points", x="interval", points=True)
    if found.verdict == NOT_REACHED:
        return found
    # A negative lead is not a lead.
    last = _at(tables, SHORT[-1], "lead_points")
    if last is None:
        return not_reached(f"there are no runs at an interval of {SHORT[-1]}")
    said = f"PEQ - PDQ is {_ends(tables, 'lead_points')} points"
    lead = replace(
        judged(last > 0, said, f"above 0 at {SHORT[-1]}"), reason="" if last > 0 else "there is no lead"
    )
    return together([found, lead])


def _more_in_time(tables: Tables) -> Judgement:
    parts = []
    for scheme in ("peq", "pdq"):
        few, many = (_at(tables, interval, f"{scheme}_percent") for interval in (SHORT[0], SHORT[-1]))
        if few is None or many is None:
            return not_reached(f"{NAMES[scheme]} was not run at intervals of {SHORT[0]} and {SHORT[-1]}")
        measured = f"{NAMES[scheme]}: {few:.4g} % at {SHORT[0]}, {many:.4g} % at {SHORT[-1]}"
        parts.append(judged(few < many, measured, "less at the former"))
    return together(parts)


def _one_release(tables: Tables) -> Judgement:
    long = [interval for interval in tables["points"]["interval"] if interval >= 1000]
    parts = []
    for interval in long:
        for scheme in ("peq", "pdq"):
            value = tables["release"][f"{scheme}_percent"].mean()
            assert isinstance(value, float)
            one = within(_at(tables, interval, f"{scheme}_percent"), value, absolute=3.0)
            parts.append(one.measured_in("%").called(f"{NAMES[scheme]} at intervals of {interval} slots"))
    return together(parts) if parts else not_reached("no interval of 1000 slots or more")


def _fewer_in_part(tables: Tables) -> Judgement:
    """Flows served in part that fail: a verdict for each server, unit and rule of PDQ."""
    found = {}
    for (busy, title), (value, unit), (pdq, rule) in product(BUSY.items(), IN_PART.items(), PDQ.items()):
        parts = [_in_part(_only(tables, busy), f"{scheme}_{value}", unit) for scheme in ("peq", pdq)]
        one = together(parts)
        # Both have to fall, and one of them cannot.
        if busy == "add" and pdq == "pdq" and parts[1].verdict == FAIL:
            one = one.not_reproducible(_served.not_interrupted())
        found[f"{title}; {unit}; PDQ {rule} early termination"] = one
    met = [name for name, one in found.items() if one.verdict == PASS]
    own = next(iter(found))
    tried = f"{len(found)} readings of servers, units and PDQ's rule were tried: " + (
        f"it holds for {' and for '.join(met)}" if met else "it holds for none"
    )
    if found[own].verdict == FAIL:
        ends = " and ".join(f"{_served.smallest_served(x):.3g} % at {x}" for x in (SHORT[0], SHORT[-1]))
        why = f"PEQ serves the smallest flows; the link can take {ends} (smallest_served), and the rest never begin"
        found[own] = found[own].because(f"{found[own].reason}. {why}. {tried}")
    return by_reading(found)


def _in_part(tables: Tables, column: str, unit: str) -> Judgement:
    runs = _short(tables).with_columns(spared=-pl.col(column))
    found = never_falls(runs, "spared", x="interval", points="percent" in column)
    if found.verdict == NOT_REACHED:
        return found
    zero = "" if (runs[column] > 0).any() else ": it is 0 at every interval and cannot fall"
    return found.because(f"{found.reason}; {column} is {_ends(tables, column)} {unit}{zero}")


def draw(tables: Tables) -> "Picture":
    """Flows in time above, flows served in part below; a column for each thing that a busy server may do."""
    picture, panels = style.panels(2, len(BUSY))
    for column, (busy, title) in enumerate(BUSY.items()):
        rows = tables["points"].filter(busy=busy).sort("interval")
        for row, value in enumerate(("percent", "in_part_percent")):
            axes = panels[row * len(BUSY) + column]
            draw_schemes(axes, rows, "interval", value)
            if not row:
                for place, scheme in enumerate(NAMES):
                    single = float(tables["release"][f"{scheme}_percent"].mean())  # type: ignore[arg-type]
                    axes.axhline(single, color=style.COLOURS[place], linewidth=0.8, linestyle=":")
            axes.axvspan(SHORT[0], SHORT[-1], color="#f0f0f0")
            axes.set(xscale="log", ylim=(0, None))
            axes.set_title(title if not row else "served in part, then late", loc="left")
        panels[len(BUSY) + column].set_xlabel("slots between sets (grey: the thesis's)")
    panels[0].set_ylabel("application throughput (%)")
    panels[len(BUSY)].set_ylabel("flows (%)")
    panels[1].legend()
    return picture


FIGURE = Figure(
    id="PEQ-F3.3",
    title="Sets of 24 flows, larger ones due earlier, every so many slots",
    plans=plans,
    tables=tables,
    claims={
        "PEQ-F3.3.a": _each(_lead),
        "PEQ-F3.3.b": _each(_more_in_time),
        "PEQ-F3.3.c": _each(_one_release),
        "PEQ-F3.3.d": _fewer_in_part,
    },
    draw=draw,
    needs={
        "runs": Needs(10, by=("busy", "interval")),
        "points": Needs(10, by=("busy", "interval")),
        "release": Needs(10),
    },
    assumed=(
        "Flows are those of figure 3.1: sizes uniform on 2 to 198, due after 198 + (198 - size)/2 slots.",
        "Every server starts a flow at each turn, since section 3.2 has 'new sets of flows after every fixed number "
        "of time slots' for '24 servers, each generating one flow'; claims are judged there. Beside it a server that "
        "has a flow passes its turn, as section 3.5 allows a server one flow at a time. Both go on for a fixed time, "
        "a tenth as long for the former.",
        "Whether flows 'partially served' are a share of all flows, a share of those served, or a number in a time, "
        "the thesis does not say: each is a reading, the first the claim's own.",
        "PDQ's flows give up as soon as they cannot be in time; PDQ without that is beside it.",
        "Dotted lines are single releases of 24 flows.",
    ),
)
