"""Web search on a fat-tree at loads from 0.2 to 0.8: all transports, mean and 99th percentile by size of the flow."""

from typing import TYPE_CHECKING

from flowyard.analysis import completion
from flowyard.papers.figure import Figure, Scale, Sweeps, Tables
from flowyard.sweeps import Axis, Plan
from flowyard_papers.literature import _compare

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

LOADS = (0.2, 0.4, 0.6, 0.8)
# Mean size of the workload (DCTCP's paper), for the time that the arrivals take.
MEAN_BYTES = 1_711_250


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
    hosts = k**3 // 4
    # An eighth of the arrivals fills the network and is not measured.
    warm = [
        f"{round(1e6 * flows / 8 * 8 * MEAN_BYTES / (load * hosts * _compare.RATE_BPS))}us" for load in LOADS
    ]
    base = {"topology": _compare.fat_tree(k), "traffic": [entry], "run": {"warm_up": warm[0], "until": "60s"}}
    load = Axis(
        "load", {"traffic.web-search.arrivals.poisson.load": list(LOADS), "run.warm_up": warm}, labels=LOADS
    )
    return {"web-search": Plan(base, [_compare.axis(), load], scale.pick(1, 3), name="web search")}


def tables(sweeps: Sweeps) -> Tables:
    """A row for each run and group of sizes."""
    return {"runs": _compare.groups(sweeps["web-search"], ["by", "load"])}


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
    assumed=_compare.ASSUMED,
)
