"""PEQ figure 3.3, section 3.2: sets of 24 flows that start every 5 to 30 slots, where larger flows are due earlier."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import style
from flowyard.papers.figure import Figure, Needs, Scale, Sweeps, Tables
from flowyard.papers.judge import NOT_REACHED, Judgement, judged, not_reached, together, within
from flowyard.sweeps.plan import ModelPlan
from flowyard_papers.peq._sets import ADVERSARIAL, NAMES, draw_schemes, never_falls, served, sets

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

SERVERS = 24
# The thesis's, and longer ones on the way to a single release.
SHORT, LONG = (5, 10, 15, 20, 25, 30), (100, 300, 1000)
SCHEMES: dict[str, dict[str, Any]] = {
    "peq": {"peq": {}},
    "pdq": {"pdq": {}},
    "pdq_expired": {"pdq": {"early_termination": "expired"}},
}
BUSY = {"skip": "a busy server passes its turn", "add": "a busy server adds a flow"}


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
    single = sweeps["release"].scan("table").drop("run").sort("replica").collect()
    values = [name for name in runs.columns if name.endswith(("_percent", "_points"))]
    return {
        "runs": runs,
        "points": replica_means(runs, ["busy", "interval"], values),
        "release": single,
    }


def _short(tables: Tables) -> pl.DataFrame:
    return tables["runs"].filter(pl.col("interval").is_in(SHORT), busy="skip")


def _at(tables: Tables, interval: int, column: str) -> float | None:
    rows = tables["points"].filter(busy="skip", interval=interval)
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
    added = (
        tables["points"]
        .filter(busy="add")
        .sort("interval")
        .filter(pl.col("interval").is_in((SHORT[0], SHORT[-1])))
    )
    if len(added):
        said += f" (if busy servers add flows, {', '.join(f'{lead:.3g}' for lead in added['lead_points'])})"
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
    long = [interval for interval in tables["points"].filter(busy="skip")["interval"] if interval >= 1000]
    parts = []
    for interval in long:
        for scheme in ("peq", "pdq"):
            value = tables["release"][f"{scheme}_percent"].mean()
            assert isinstance(value, float)
            parts.append(within(_at(tables, interval, f"{scheme}_percent"), value, absolute=3.0))
    return together(parts) if parts else not_reached("no interval of 1000 slots or more")


def _in_part(tables: Tables) -> Judgement:
    parts = []
    for scheme in ("peq", "pdq"):
        column = f"{scheme}_in_part_percent"
        found = never_falls(
            _short(tables).with_columns(spared=100 - pl.col(column)), "spared", x="interval", points=True
        )
        if found.verdict != NOT_REACHED:
            said = f"{found.reason}; of {NAMES[scheme]}'s flows {_ends(tables, column)} % are served in part and fail"
            if not (_short(tables)[column] > 0).any():
                said += "; the share is 0 at every interval and cannot fall"
            if scheme == "pdq":
                said += f", without early termination {_ends(tables, 'pdq_expired_in_part_percent')} %"
            found = found.because(said)
        parts.append(found)
    return together(parts)


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
    panels[0].set_ylabel("flows in time (%)")
    panels[len(BUSY)].set_ylabel("flows (%)")
    panels[1].legend()
    return picture


FIGURE = Figure(
    id="PEQ-F3.3",
    title="Sets of 24 flows, larger ones due earlier, every so many slots",
    plans=plans,
    tables=tables,
    claims={
        "PEQ-F3.3.a": _lead,
        "PEQ-F3.3.b": _more_in_time,
        "PEQ-F3.3.c": _one_release,
        "PEQ-F3.3.d": _in_part,
    },
    draw=draw,
    needs={
        "runs": Needs(10, by=("busy", "interval")),
        "points": Needs(10, by=("busy", "interval")),
        "release": Needs(10),
    },
    assumed=(
        "Flows are those of figure 3.1: sizes uniform on 2 to 198, due after 198 + (198 - size)/2 slots.",
        "A server that has a flow passes its turn, as a server has at most one; claims are judged there. Beside it are "
        "servers that start a flow at each turn. Both go on for a fixed time, a tenth as long for the latter.",
        "PDQ's flows give up as soon as they cannot be in time; PDQ without that is beside it.",
        "Dotted lines are single releases of 24 flows.",
    ),
)
