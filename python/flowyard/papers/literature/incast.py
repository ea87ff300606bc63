"""Incast: 2 to 100 servers send 50 KB each to one at once, under all transports."""

from typing import TYPE_CHECKING

from flowyard.analysis import completion
from flowyard.papers.figure import Figure, Scale, Sweeps, Tables
from flowyard.papers.literature import _compare
from flowyard.papers.ndp import _incast
from flowyard.sweeps import Plan

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

SENDERS = (2, 4, 8, 16, 32, 64, 100)


def plans(scale: Scale) -> dict[str, Plan]:
    """Each transport with each number of senders."""
    entry = _incast.entry(50_000) | {"deadlines": _compare.DEADLINES}
    base = {"topology": _compare.fat_tree(8), "traffic": [entry], "run": {"until": "60s"}}
    axes = [_compare.axis(), _incast.senders(SENDERS)]
    return {"incast": Plan(base, axes, scale.pick(2, 10), name="incast")}


def tables(scale: Scale, sweeps: Sweeps) -> Tables:
    """Completion of each run's flows; the last flow, goodput and fairness; what ports took away."""
    del scale
    sweep = sweeps["incast"]
    return {
        "runs": _compare.groups(sweep, ["by", "senders"]).filter(group=completion.ALL),
        "last": _incast.runs(sweep, ["by", "senders"], _compare.RATE_BPS),
    }


def draw(tables: Tables) -> "Picture":
    """Mean and 99th percentile by the number of senders."""
    picture = _compare.draw(tables["runs"], "senders", [completion.ALL], "senders")
    for axes in picture.axes:
        axes.set_xscale("log")
        axes.set_xticks(SENDERS, [str(n) for n in SENDERS])
        axes.set_xticks([], minor=True)
    return picture


FIGURE = Figure(
    id="LIT-INCAST",
    title="Incast: all transports, 50 KB from each of 2 to 100 servers",
    plans=plans,
    tables=tables,
    claims={},
    draw=draw,
    assumed=(
        *_compare.ASSUMED,
        "A fat-tree of 128 servers; senders are drawn at random, and start within 1.2 us.",
    ),
)
