"""Web search on a fat-tree at loads from 0.2 to 0.8: all transports, mean and 99th percentile by size of the flow.

Flows are measured at the load: behind a warm-up, while arrivals go on until the last of them has ended.
"""

from typing import TYPE_CHECKING

from flowyard.analysis import completion
from flowyard.papers import loads
from flowyard.papers.figure import Figure, Scale, Sweeps, Tables
from flowyard.sweeps import Axis, Plan
from flowyard_papers.literature import _compare

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

LOADS = (0.2, 0.4, 0.6, 0.8)
KEYS = ["by", "load"]


def plans(scale: Scale) -> dict[str, Plan]:
    """Each transport at each load."""
    k, flows = scale.pick((4, 400), (8, 4000))
    entry = {
        "name": "web-search",
        "arrivals": {"poisson": {"load": LOADS[0]}},
        "matrix": "uniform",
        "sizes": "web-search",
        "flows": flows,
        "deadlines": _compare.DEADLINES,
    }
    run = {"measure": "auto", "until": "60s"}
    base = {"topology": _compare.fat_tree(k), "traffic": [entry], "run": run}
    # The warm-up of 0.8 is four times as long as that of 0.6.
    load = Axis("load", {"traffic.web-search.arrivals.poisson.load": list(scale.pick(LOADS[:-1], LOADS))})
    return {"web-search": Plan(base, [_compare.axis(), load], scale.pick(1, 3), name="web search")}


def tables(sweeps: Sweeps) -> Tables:
    """A row for each run and group of sizes, with the loads of the run."""
    sweep = sweeps["web-search"]
    groups = _compare.groups(sweep, KEYS)
    return {"runs": groups.join(loads.of_runs(sweep, KEYS), on=[*KEYS, "replica"], maintain_order="left")}


def draw(tables: Tables) -> "Picture":
    """Short flows, middle ones, long ones."""
    groups = [name for _, name in completion.SIZE_GROUPS]
    return _compare.draw(tables["runs"], "load", groups, "load")


FIGURE = Figure(
    id="LIT-WEB-SEARCH",
    title="Web search: all transports on one fat-tree",
    plans=plans,
    tables=tables,
    claims={},
    draw=draw,
    assumed=(
        *_compare.ASSUMED,
        "4000 flows are measured on 128 servers, at quick scale 400 on 16 at loads up to 0.6.",
        *loads.ASSUMED,
    ),
)
