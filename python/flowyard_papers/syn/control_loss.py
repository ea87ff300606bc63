"""Cost of lost control messages under SYN and ASY.

Leave that is lost leaves a slot of a server empty, and the controller detects it after the timeout of 200 us; a rate
that is lost leaves the old one in force until it is sent again. No packet is lost or sent twice. Mean FCT over that
without losses, and the share of flows that were active at the end, over the probability of a loss.
"""

from typing import TYPE_CHECKING

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import style
from flowyard.papers.figure import Figure, Scale, Sweeps, Tables
from flowyard.sweeps import Axis, Plan
from flowyard_papers.syn import _ours as ours
from flowyard_papers.syn import _rack as rack

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

CONTROLLERS = {rack.MMF: "syn", rack.ASY: "asy"}
LOADS = (0.3, 0.7)
LOSSES = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
# Where no losses stand on the logarithmic axis.
NONE_AT = 3e-4


def plans(scale: Scale) -> dict[str, Plan]:
    """Both controllers at both loads."""
    losses = scale.pick((0.0, 0.01, 0.1), LOSSES)
    return {
        name: ours.plan(
            system,
            [system],
            LOADS,
            scale,
            [Axis("loss", {f"controller.{name}.control.loss": list(losses)}, labels=losses)],
        )
        for system, name in CONTROLLERS.items()
    }


def tables(scale: Scale, sweeps: Sweeps) -> Tables:
    """One row per run, and the means."""
    runs = pl.concat([ours.runs(sweeps[name], scale) for name in CONTROLLERS.values()])
    runs = runs.with_columns(under_way_pct=100 * pl.col("unfinished") / pl.col("flows"))
    values = [*ours.VALUES, "under_way_pct"]
    return {"runs": runs, "points": replica_means(runs, ["system", "load", "loss"], values)}


def draw(tables: Tables) -> "Picture":
    """FCT, and flows that are not over, over the probability of a loss; the first mark has none."""
    picture, (fct, open_ones) = style.panels(1, 2)
    for system in CONTROLLERS:
        for line, load in zip((":", "-"), LOADS, strict=True):
            own = tables["points"].filter(system=system, load=load).sort("loss")
            look = rack.look(system) | {"linestyle": line, "label": f"{system}, load {load:g}"}
            x = [max(loss, NONE_AT) for loss in own["loss"]]
            fct.plot(x, (own["fct_ms"] / own["fct_ms"][0]).to_list(), **look)
            open_ones.plot(x, own["under_way_pct"].to_list(), **look)
    for axes in (fct, open_ones):
        axes.set(xscale="log", xlabel="probability that a message is lost")
        axes.set_xticks([NONE_AT, 0.001, 0.01, 0.1], ["none", "0.001", "0.01", "0.1"])
        axes.minorticks_off()
    fct.set(ylabel="mean FCT / that without losses")
    open_ones.set(ylabel="flows under way at the end (%)", ylim=(0, None))
    fct.legend()
    return picture


FIGURE = Figure(
    id="SYN-LOSS",
    title="Messages of control that are lost (ours)",
    plans=plans,
    tables=tables,
    claims={},
    draw=draw,
    assumed=(
        *rack.ASSUMED,
        *ours.ASSUMED,
        "Each report, leave or rate is lost by itself; lost reports and rates are sent again after 200 us, and control "
        "has no delay otherwise.",
    ),
)
