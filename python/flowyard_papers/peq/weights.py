"""PEQ section 2.1: how much the weights of H = alpha tau + beta tau/D matter. A study of our own.

The thesis takes alpha = 0.6 and beta = 0.4 and gives no reason. Only beta/alpha counts. Between 0 and 1 the order of
flows that can be in time is that of their packets left, so that nothing can change, and of two equal ones that with
more time comes first. At 0 equal ones tie, and the one with less time comes first; above 1 a larger flow with more
time may come first.
"""

from typing import TYPE_CHECKING

import polars as pl

from flowyard import slotted
from flowyard.analysis.intervals import replica_means
from flowyard.papers import style
from flowyard.papers.figure import Figure, Scale, Sweeps, Tables
from flowyard.slotted.measures import measure
from flowyard.sweeps.plan import ModelPlan

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

RATIOS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0)
SERVERS = (20, 40, 60, 100)
# The thesis's weights, which the others are compared with.
OWN = {"alpha": 0.6, "beta": 0.4}


def point(servers: int, slots: int, replica: int) -> pl.DataFrame:
    """All ratios at one load, on the same flows."""
    config = {
        "generation": {"random": {"servers": servers, "probability": 1 / 4000}},
        "classes": [
            {
                "sizes": {"uniform": {"min": 2, "max": 198}},
                "deadlines": {"exponential": {"mean": 100, "infeasible": "shift"}},
            }
        ],
        "run": {"slots": slots, "replica": replica},
    }
    weights = [(None, OWN), *((ratio, {"alpha": 1.0, "beta": ratio}) for ratio in RATIOS)]
    shares = {}
    for ratio, weight in weights:
        result = slotted.run({**config, "discipline": {"peq": weight}})
        shares[ratio] = 100 * measure(pl.DataFrame(result.flows))["application_throughput"].item()
    return pl.DataFrame(
        {
            "beta_over_alpha": RATIOS,
            "in_time_pct": [shares[ratio] for ratio in RATIOS],
            "change_pp": [shares[ratio] - shares[None] for ratio in RATIOS],
        }
    )


def plans(scale: Scale) -> dict[str, ModelPlan]:
    """Each load."""
    axes = {"servers": SERVERS, "slots": [scale.pick(100_000, 1_000_000)]}
    return {"weights": ModelPlan(point, axes, scale.pick(3, 10), name="weights")}


def tables(sweeps: Sweeps) -> Tables:
    """The means at each load and ratio."""
    runs = sweeps["weights"].scan("table").collect()
    return {"points": replica_means(runs, ["servers", "beta_over_alpha"], ["in_time_pct", "change_pp"])}


def draw(tables: Tables) -> "Picture":
    """Application throughput, and how it differs from that of the thesis's weights."""
    picture, (left, right) = style.panels(1, 2)
    for place, servers in enumerate(SERVERS):
        rows = tables["points"].filter(servers=servers).sort("beta_over_alpha")
        for axes, name in ((left, "in_time_pct"), (right, "change_pp")):
            style.curve(axes, rows, "beta_over_alpha", name, place, f"{servers} servers")
    for axes in (left, right):
        axes.axvline(OWN["beta"] / OWN["alpha"], color="#000000", linewidth=0.9, linestyle="--")
        axes.set_xlabel("beta / alpha (dashed: the thesis)")
    left.set(ylabel="flows in time (%)", ylim=(0, 100))
    right.set_ylabel("change against the thesis's weights (pp)")
    left.legend(loc="lower left")
    largest = tables["points"].sort(pl.col("change_pp").abs())[-1].row(0, named=True)
    right.set_title(
        f"largest change {largest['change_pp']:+.2g} pp: "
        f"{largest['servers']} servers, beta/alpha {largest['beta_over_alpha']:g}"
    )
    return picture


FIGURE = Figure(
    id="PEQ-WEIGHTS",
    title="Sensitivity of PEQ to alpha and beta (ours)",
    plans=plans,
    tables=tables,
    claims={},
    draw=draw,
    assumed=(
        "Sizes are uniform from 2 to 198 packets, deadlines are the size and an exponential slack of mean 100, each "
        "idle server starts a flow in a slot with probability 1/4000. All weights see the same servers' flows.",
    ),
)
