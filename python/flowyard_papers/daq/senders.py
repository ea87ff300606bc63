"""Figure 5: how many workers may answer at once with 99 % of the answers in time."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.sweeps import Plan
from flowyard_papers.daq import _rack as rack
from flowyard_papers.daq._models import DEADLINES, FLOORED, UNIFORM

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

MEAN_BYTES, LEAST_PCT = 10_000, 99.0
KEYS = ["reading", "scheme", "senders"]


def plans(scale: Scale) -> dict[str, Plan]:
    """The paper's schemes, and the others with fewer rounds; from 20 to 40 ms more senders are in time."""
    numbers = scale.pick((5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100), tuple(range(5, 121, 5)))
    more = (50, 100, 150, 200, 250, 300, 350, 400)
    tight = [name for name in DEADLINES if name != UNIFORM]

    def plan(names: Sequence[str], of: Sequence[str], rounds: int, replicas: int) -> Plan:
        flows = rack.incast(MEAN_BYTES, rounds, "100ms", FLOORED)
        counts = more if UNIFORM in of else numbers
        axes = [rack.readings(of), rack.schemes(names, [flows]), rack.senders(counts)]
        return Plan(axes=axes, replicas=replicas, name="senders")

    return {
        "paper": plan(rack.PAPER, tight, scale.pick(40, 1000), scale.pick(2, 10)),
        "paper_20_to_40_ms": plan(rack.PAPER, [UNIFORM], scale.pick(4, 100), scale.pick(2, 10)),
        "others": plan(rack.OTHERS, tight, scale.pick(8, 200), scale.pick(2, 5)),
        "others_20_to_40_ms": plan(rack.OTHERS, [UNIFORM], scale.pick(2, 20), scale.pick(2, 5)),
    }


def tables(sweeps: Sweeps) -> Tables:
    """A row a run, the means, and where these fall below 99 %."""
    runs = pl.concat([rack.in_time(sweep, KEYS) for sweep in sweeps.values()])
    points = replica_means(runs, KEYS, ["in_time_pct"])
    rows = [
        {
            "reading": reading,
            "scheme": scheme,
            "supported": supported(own),
            "most": own["senders"].max(),
            "replicas": own["replicas"].min(),
        }
        for (reading, scheme), own in points.group_by("reading", "scheme", maintain_order=True)
    ]
    return {"runs": runs, "points": points, "supported": pl.DataFrame(rows)}


def supported(points: pl.DataFrame) -> float:
    """The largest number of senders with 99 %, on straight lines between points; 0 if there is none.

    With 99 % at the last point it is that one, and the true number is larger.
    """
    last = (0.0, 100.0)
    found = 0.0
    for senders, percent in points.sort("senders").select("senders", "in_time_pct").iter_rows():
        if percent >= LEAST_PCT:
            found = float(senders)
        elif last[1] >= LEAST_PCT and last[0] > 0:
            found = last[0] + (senders - last[0]) * (last[1] - LEAST_PCT) / (last[1] - percent)
        last = (float(senders), percent)
    return found


def _by_reading(
    measure: Callable[[dict[str, float]], float | None],
    low: float,
    high: float,
    needs: tuple[str, ...],
    why: str = "",
) -> Callable[[Tables], Judgement]:
    """A number made of those of the schemes, for every reading of the deadlines."""

    def judged(tables: Tables) -> Judgement:
        found = {}
        for reading in DEADLINES:
            rows = tables["supported"].filter(reading=reading)
            counts = dict(rows.select("scheme", "supported").iter_rows())
            if missing := [name for name in needs if name not in counts]:
                found[reading] = judge.not_reached(f"{', '.join(missing)} not run")
                continue
            said = ", ".join(f"{name} {counts[name]:.1f}" for name in needs)
            most = dict(rows.select("scheme", "most").iter_rows())
            more = [name for name in needs if counts[name] == most[name]]
            value = measure(counts)
            said += f"; {why}" if why and value and value < low else ""
            one = judge.between(value, low, high).because(f"senders at 99 %: {said}")
            if value is None:
                # There is nothing to be so many times as large as.
                one = judge.judged(False, f"senders at 99 %: {said}", one.expected)
            if more:
                one = one.noted(f"{' and '.join(more)} had 99 % with all numbers that were run")
            found[reading] = one
        return judge.by_reading(found)

    return judged


def _ratio(counts: dict[str, float], other: str) -> float | None:
    return counts[rack.DAQ] / counts[other] if counts[other] else None


def draw(tables: Tables) -> "Picture":
    """Bars for each reading, above the curves that they come from."""
    picture, panels = style.panels(2, len(DEADLINES))
    for place, reading in enumerate(DEADLINES):
        bars, curves = panels[place], panels[len(DEADLINES) + place]
        rows = tables["supported"].filter(reading=reading)
        names = rows["scheme"].to_list()
        colours = [rack.look(name)["color"] for name in names]
        bars.barh(names, rows["supported"].to_numpy(), color=colours)
        bars.invert_yaxis()
        bars.set(title=f"deadlines: {reading}", xlabel="senders with 99 % in time", xlim=(0, None))
        bars.grid(axis="y", visible=False)
        if place:
            bars.set_yticklabels([])
        for name in names:
            own = tables["points"].filter(reading=reading, scheme=name).sort("senders")
            curves.plot(own["senders"].to_numpy(), own["in_time_pct"].to_numpy(), **rack.look(name))
        curves.axhline(LEAST_PCT, color="#000000", linewidth=0.9, linestyle="--")
        curves.set(xlabel="senders", ylabel="flows in time (%)", ylim=(80, 100.4))
    panels[-1].legend(ncols=2, fontsize=6.5)
    return picture


FIGURE = Figure(
    id="DAQ-F5",
    title="Senders at 99 % application throughput",
    plans=plans,
    tables=tables,
    claims={
        "DAQ-F5.a": _by_reading(lambda counts: counts[rack.DAQ], 60, 85, (rack.DAQ,), rack.CUT),
        "DAQ-F5.b": _by_reading(lambda counts: _ratio(counts, rack.D3), 1.7, 2.4, (rack.DAQ, rack.D3)),
        "DAQ-F5.c": _by_reading(
            lambda counts: _ratio(counts, rack.RCP), 3 + 1e-9, float("inf"), (rack.DAQ, rack.RCP)
        ),
    },
    draw=draw,
    needs={"supported": [Needs(10, by=KEYS[:2], where={"scheme": name}) for name in rack.PAPER]},
    assumed=(
        *rack.ASSUMED,
        *rack.ASSUMED_OTHERS,
        "A mean size of 10 KB; rounds begin 100 ms after the last answer of the one before. Between the numbers of "
        "senders that were run lies a straight line.",
    ),
)
