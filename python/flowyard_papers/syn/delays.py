"""How much the length of the links matters: propagation of 0, 0.5 and 5 us per link, under SYN and ASY.

The paper gives no delay; the other figures have 0.5 us, 100 m of fibre. The left panel shows how long packets are in
the network, the right one the mean FCT over that of the first, zero delay.
"""

from typing import TYPE_CHECKING

from flowyard.analysis.intervals import replica_means
from flowyard.papers import style
from flowyard.papers.figure import Figure, Scale, Sweeps, Tables
from flowyard.sweeps import Axis, Plan
from flowyard_papers.syn import _ours as ours
from flowyard_papers.syn import _rack as rack

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

SYSTEMS = (rack.MMF, rack.ASY)
DELAYS_US = (0.0, 0.5, 5.0)
LINES = ("-", "--", ":")


def plans(scale: Scale) -> dict[str, Plan]:
    """Three delays over load."""
    loads = scale.pick((0.2, 0.8), (0.1, 0.2, 0.4, 0.6, 0.8, 0.9))
    axis = Axis("delay_us", {"topology.leaf-spine.delay": [f"{us}us" for us in DELAYS_US]}, labels=DELAYS_US)
    return {"delays": ours.plan("delays", SYSTEMS, loads, scale, [axis])}


def tables(scale: Scale, sweeps: Sweeps) -> Tables:
    """One row per run, and the means."""
    runs = ours.runs(sweeps["delays"], scale)
    return {"runs": runs, "points": replica_means(runs, ["system", "load", "delay_us"], ours.VALUES)}


def draw(tables: Tables) -> "Picture":
    """Time in the network, and FCT against no delay, over load."""
    picture, (network, fct) = style.panels(1, 2)
    for system in SYSTEMS:
        alone = tables["points"].filter(system=system, delay_us=DELAYS_US[0]).sort("load")
        for line, delay in zip(LINES, DELAYS_US, strict=True):
            own = tables["points"].filter(system=system, delay_us=delay).sort("load")
            look = rack.look(system) | {"linestyle": line, "label": f"{system}, {delay:g} us"}
            network.plot(own["load"].to_numpy(), own["network_us"].to_numpy(), **look)
            fct.plot(own["load"].to_numpy(), (own["fct_ms"] / alone["fct_ms"]).to_numpy(), **look)
    network.set(ylabel="mean time in the network (us)", xlabel="load", ylim=(0, None))
    fct.set(ylabel="mean FCT / that without delay", xlabel="load")
    picture.legend(*network.get_legend_handles_labels(), loc="outside lower center", ncols=6, fontsize=7.5)
    return picture


FIGURE = Figure(
    id="SYN-DELAY",
    title="Propagation of 0, 0.5 and 5 us per link (ours)",
    plans=plans,
    tables=tables,
    claims={},
    draw=draw,
    assumed=(*rack.ASSUMED[1:], *ours.ASSUMED),
)
