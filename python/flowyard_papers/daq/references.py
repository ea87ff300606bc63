"""Figure 5 in fluid models: how many senders four simple rules support, by each reading of the deadlines.

They check our reading of the deadlines (DAQ-X2): FIFO and two priorities come out near the 35 and 70 senders that the
paper has for D3 and DAQ only if deadlines are exponential with a floor of 3 ms.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.sweeps.plan import ModelPlan
from flowyard_papers.daq import _models as models

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

MEAN_BYTES, LEAST = 10_000, 99.0
# Senders, as the register has them.
EXPECTED = {"processor sharing": 30, "FIFO": 33, "two priorities": 86, "EDF with rejection": 215}
SENDERS = (5, 10, 15, 20, 25, 30, 35, 40, 50, 60, 70, 80, 90, 100, 150, 200, 250, 300, 350, 400)


def point(rule: str, reading: str, rounds: int, replica: int) -> pl.DataFrame:
    """Shares in time by senders, and the most senders with 99 %, on the same draws."""
    chance = np.random.default_rng([2014, list(models.DEADLINES).index(reading), replica])
    service, due = models.draw(chance, (rounds, max(SENDERS)), MEAN_BYTES, reading)

    def percent(senders: int) -> float:
        return 100 * float(models.RULES[rule](service[:, :senders], due[:, :senders]).mean())

    most = models.supported(percent, LEAST, max(SENDERS))
    shares = [percent(senders) for senders in SENDERS]
    return pl.DataFrame({"senders": SENDERS, "in_time_pct": shares, "supported": most})


def plans(scale: Scale) -> dict[str, ModelPlan]:
    """Every rule with every reading."""
    axes: dict[str, list[Any]] = {
        "rule": list(models.RULES),
        "reading": list(models.DEADLINES),
        "rounds": [scale.pick(500, 2000)],
    }
    return {"models": ModelPlan(point, axes, scale.pick(3, 10), name="fluid models of an incast")}


def tables(sweeps: Sweeps) -> Tables:
    """The most senders in each replica, and the curves."""
    keys = ["rule", "reading"]
    rows = sweeps["models"].scan("table").select(*keys, "replica", "senders", "in_time_pct", "supported")
    runs = rows.collect()
    return {
        "supported": runs.select(*keys, "replica", "supported").unique(maintain_order=True),
        "curves": replica_means(runs, [*keys, "senders"], ["in_time_pct"]),
    }


def _as_inferred(tables: Tables) -> Judgement:
    own = tables["supported"].filter(reading=models.FLOORED)
    found = []
    for rule, expected in EXPECTED.items():
        mean = own.filter(rule=rule)["supported"].mean()
        most = judge.within(mean if isinstance(mean, float) else None, expected, relative=0.15)
        found.append(most.called(f"senders with {rule}"))
    return judge.together(found)


def draw(tables: Tables) -> "Picture":
    """A panel for each reading."""
    picture, panels = style.panels(1, len(models.DEADLINES))
    for axes, reading in zip(panels, models.DEADLINES, strict=True):
        for place, rule in enumerate(models.RULES):
            rows = tables["curves"].filter(rule=rule, reading=reading).sort("senders")
            style.curve(axes, rows, "senders", "in_time_pct", place, rule)
        axes.axhline(LEAST, color="#000000", linewidth=0.9, linestyle="--")
        axes.set(title=f"deadlines: {reading}", xlabel="senders", ylim=(80, 100.4))
    panels[0].set_ylabel("flows in time (%)")
    panels[0].legend(loc="lower right")
    return picture


FIGURE = Figure(
    id="DAQ-F5.d",
    title="Senders that fluid models support",
    plans=plans,
    tables=tables,
    claims={"DAQ-F5.d": _as_inferred},
    draw=draw,
    needs={"supported": Needs(10, by=("rule", "reading"))},
    assumed=(
        "1 Gbps; sizes uniform on 2 to 18 KB without headers; all flows start together and lose 1.5 RTT (450 us) for "
        "set-up and propagation. The urgent ones are those due within 30 RTT (9 ms) when they start.",
    ),
)
