"""DCQCN in incasts of 2 to 100 senders: nothing is dropped, because ports are paused before they are full.

Zhu et al., "Congestion control for large-scale RDMA deployments", SIGCOMM 2015. Flows start at the rate of their line,
so that in their first round trip nothing but flow control keeps a switch from dropping; later the rates do the more of
it, the fewer senders there are.
"""

from typing import TYPE_CHECKING

import polars as pl

from flowyard.papers import pinned_fields, style
from flowyard.papers.figure import Figure, Needs, Scale, Sweeps, Tables
from flowyard.papers.judge import Judgement, judged, not_reached
from flowyard.sweeps import Plan
from flowyard_papers.ndp import _incast

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

SENDERS = (2, 4, 8, 16, 32, 64, 100)
RATE_BPS, PAYLOAD, HEADER = 40_000_000_000, 1000, 62


def plans(scale: Scale) -> dict[str, Plan]:
    """All numbers of senders at both scales."""
    scenario = {
        "topology": {"fat-tree": {"k": 8, "rate": "40Gbps", "delay": "1us"}},
        "transport": {"dcqcn": {}},
        "queue": {"lossless": pinned_fields.LOSSLESS},
        "traffic": [_incast.entry(500_000)],
    }
    return {"incast": Plan(scenario, [_incast.senders(SENDERS)], scale.pick(2, 10), name="incast")}


def tables(sweeps: Sweeps) -> Tables:
    """One row per run."""
    runs = _incast.runs(sweeps["incast"], ["senders"], RATE_BPS, (PAYLOAD + HEADER) / PAYLOAD)
    links = sweeps["incast"].links.group_by("senders", "replica")
    paused = links.agg(pl.col("pauses", "marks").sum(), paused_ms=pl.col("paused_ps").sum() / 1e9)
    return {"runs": runs.join(paused.collect(), on=["senders", "replica"]).sort("senders", "replica")}


def _nothing_dropped(tables: Tables) -> Judgement:
    runs = tables["runs"]
    if set(runs["senders"]) != set(SENDERS) or runs["last_ms"].null_count():
        return not_reached("there are not all numbers of senders, or flows have not ended")
    drops = sum(runs["drops"].to_list())
    pauses = min(runs.filter(senders=max(SENDERS))["pauses"].to_list())
    measured = f"{drops} drops; at least {pauses} pauses with {max(SENDERS)} senders"
    lossy = runs.filter(pl.col("drops") > 0)
    said = ", ".join(
        f"{n} senders {d} drops" for n, d in lossy.select("senders", "drops").head(3).iter_rows()
    )
    return judged(drops == 0 and pauses > 0, measured, "0 drops, and pauses").because(
        said or "no port was paused"
    )


def draw(tables: Tables) -> "Picture":
    """The last flow, what was paused and marked, and what was dropped."""
    picture, (last, paused, lost) = style.panels(1, 3)
    runs = tables["runs"]
    last.plot(runs["senders"], runs["last_over_ideal"], "o")
    last.set(ylabel="last flow / ideal", title="completion of the last flow")
    for name, marker in (("pauses", "o"), ("marks", "s")):
        paused.plot(runs["senders"], runs[name], marker, label=name)
    paused.set(ylabel="in a run", title="pauses and marks", yscale="symlog")
    paused.legend(loc="upper left")
    lost.plot(runs["senders"], runs["drops"], "o")
    lost.set(ylabel="in a run", title="drops")
    lost.set_ylim(bottom=-0.5)
    for axes in (last, paused, lost):
        axes.set(xlabel="senders", xscale="log")
        axes.set_xticks(SENDERS, [str(n) for n in SENDERS])
        axes.set_xticks([], minor=True)
    return picture


FIGURE = Figure(
    id="LIT-DCQCN",
    title="DCQCN over a lossless fabric: no drop in an incast",
    plans=plans,
    tables=tables,
    claims={"LIT-DCQCN.a": _nothing_dropped},
    draw=draw,
    needs={"runs": Needs(5, by=("senders",))},
    assumed=(
        "A fat-tree of 128 hosts, 40 Gbps and 1 us a cable, 500 KB from each sender; senders drawn at random, starts "
        "within a packet's time.",
        "XOFF is 200 KB for each link, the same however full a switch is; the paper's shrinks as it fills.",
    ),
)
