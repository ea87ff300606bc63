"""Which scheme brings the most flows home in time, by the slack of deadlines and the load. Ours."""

from typing import TYPE_CHECKING

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import loads, style
from flowyard.papers.figure import Figure, Scale, Sweeps, Tables
from flowyard.sweeps import Axis, Plan
from flowyard_papers.daq import _carried as carried
from flowyard_papers.daq import _rack as rack
from flowyard_papers.daq._models import FLOORED

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture
    from matplotlib.patches import Rectangle

SCHEMES = (rack.DAQ, rack.D3, *rack.OTHERS)
MEAN_BYTES, WORKERS = 30_000, 40
SLACKS_MS, LOADS = (2, 5, 10, 20, 40), (0.3, 0.5, 0.7, 0.8, 0.9, 0.95)
KEYS = ["scheme", "slack_ms", "load"]
# No less than the warm-up that the highest load asks for.
WARM_UP_MS = 300
# Where D3's requests fill the link nothing is delivered any more: a run goes on for ten of the longest mean deadlines
# after the last measured start, give or take the spread of that.
TAIL_MS = 400
# Schemes nearer to the best than this share the place, percentage points.
NEAR_PP = 0.5


def plans(scale: Scale) -> dict[str, Plan]:
    """Every mean deadline at every load."""
    count = scale.pick(600, 5000)
    flows = rack.poisson(MEAN_BYTES, 1000, FLOORED, WORKERS, flows=count)
    rates = [load * rack.LINK_BPS / 8 / MEAN_BYTES * 1460 / 1500 for load in LOADS]
    ends = [f"{WARM_UP_MS + round(1100 * count / rate) + TAIL_MS}ms" for rate in rates]
    due = [{"exponential": {"mean": f"{slack}ms", "min": "1ms"}} for slack in SLACKS_MS]
    axes = [
        rack.schemes(SCHEMES, [flows], 1 + WORKERS, run={"measure": "auto", "until": ends[0]}),
        Axis("slack_ms", {"traffic.short.deadlines": due}, labels=SLACKS_MS),
        Axis("load", {"traffic.short.arrivals.poisson.rate": rates, "run.until": ends}, labels=LOADS),
    ]
    return {"map": Plan(axes=axes, replicas=scale.pick(1, 3), name="slack and load")}


def tables(sweeps: Sweeps) -> Tables:
    """The means, and the best scheme of each point with those that are as good."""
    sweep = sweeps["map"]
    runs = rack.in_time(sweep, KEYS).join(carried.of_short(sweep, KEYS, WORKERS), on=[*KEYS, "replica"])
    points = replica_means(runs, KEYS, ["in_time_pct", *loads.COLUMNS])
    best = []
    for (slack, load), own in points.group_by("slack_ms", "load", maintain_order=True):
        rows = own.sort("in_time_pct", "scheme", descending=[True, False])
        most = rows["in_time_pct"][0]
        near = rows.filter(pl.col("in_time_pct") >= most - NEAR_PP)["scheme"].to_list()
        best.append(
            {
                "slack_ms": slack,
                "load": load,
                "best": near[0],
                "as_good": ", ".join(near),
                "in_time_pct": most,
            }
        )
    return {"points": points, "best": pl.DataFrame(best).sort("slack_ms", "load")}


def draw(tables: Tables) -> "Picture":
    """A cell for each point: how many are in time under the best scheme, and who that is."""
    picture, (axes,) = style.panels(size=(9.0, 4.2))
    for row in tables["best"].iter_rows(named=True):
        x, y = LOADS.index(row["load"]), SLACKS_MS.index(row["slack_ms"])
        names = row["as_good"].split(", ")
        all_alike = len(names) > 4
        colour = "#f0f0f0" if all_alike else rack.look(names[0])["color"]
        axes.add_patch(_cell(x, y, colour))
        who = f"{len(names)} alike" if all_alike else "\n".join(names)
        axes.text(x, y, f"{row['in_time_pct']:.1f} %\n{who}", ha="center", va="center", fontsize=7)
    axes.set_xticks(range(len(LOADS)), [str(load) for load in LOADS])
    axes.set_yticks(range(len(SLACKS_MS)), [str(slack) for slack in SLACKS_MS])
    axes.set(
        xlabel="load",
        ylabel="mean deadline (ms)",
        xlim=(-0.5, len(LOADS) - 0.5),
        ylim=(-0.5, len(SLACKS_MS) - 0.5),
    )
    axes.grid(visible=False)
    return picture


def _cell(x: int, y: int, colour: str) -> "Rectangle":
    from matplotlib.patches import Rectangle as Patch

    return Patch((x - 0.5, y - 0.5), 1, 1, facecolor=colour, alpha=0.45, edgecolor="#ffffff")


FIGURE = Figure(
    id="DAQ-MAP",
    title="Best scheme by slack and load (ours)",
    plans=plans,
    tables=tables,
    claims={},
    draw=draw,
    assumed=(
        *rack.ASSUMED_OTHERS,
        "Short flows of 30 KB on average at random times from 40 workers; deadlines are exponential, at least 1 ms. "
        "Schemes within half a percentage point of the best share its place.",
        *loads.ASSUMED,
        "A run ends 400 ms or more after the last measured start: flows that are left then count as late.",
        "The load on the axis counts headers. No flow is without a deadline, so that DAQ's weights do not matter.",
    ),
)
