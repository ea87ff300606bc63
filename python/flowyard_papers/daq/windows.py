"""Section II-B: windows are halved up to a load of 80 % of the link, and quartered above, where the queue is too long.

Rounds of answers in runs that sample all windows and capture all packets. Of each cut it is known from the packets
which load the port had when the sender's last credit left it.
"""

from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.sweeps import Plan
from flowyard_papers.daq import _cuts as cuts
from flowyard_papers.daq import _packets as packets
from flowyard_papers.daq import _rack as rack
from flowyard_papers.daq._models import FLOORED

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

MEAN_BYTES, ROUNDS, WORKERS = 20_000, 3, 30
# So long that a capture holds all that even the smallest packet says; round trips as in the text, though that makes
# them a little longer.
HEADERS: dict[str, Any] = {"mss": "1436B", "header_bytes": "64B", "control_bytes": "64B"}
RTT, LOOK = "300us", "20us"
# From a packet's transmission by the port until its sender has the credit: a frame of 64 B, and the cable.
RETURN_NS = 512 + packets.DELAY_NS


def plans(scale: Scale) -> dict[str, Plan]:
    """Three rounds of answers."""
    answers = rack.incast(MEAN_BYTES, ROUNDS, "20ms", FLOORED) | {"matrix": rack.to_aggregator(1, WORKERS)}
    scenario = {
        "topology": rack.rack(1 + WORKERS),
        "traffic": [answers],
        "transport": {"daq": HEADERS},
        "queue": {"daq": {"rtt": RTT}},
        "observe": {
            "capture": {"links": ["host-switch", "* -> host 0"]},
            "samples": {"every": LOOK, "links": [], "flows": ["*"]},
        },
        "run": {"measure": "all"},
    }
    return {"cuts": Plan(scenario, replicas=scale.pick(2, 5), name="cuts of windows")}


def tables(sweeps: Sweeps) -> Tables:
    """A row for each cut of each run."""
    sweep = sweeps["cuts"]
    samples = sweep.scan("samples").filter(pl.col("series") == "cwnd_bytes")
    windows = samples.select("run", "id", "time_ps", window=pl.col("value").cast(pl.Int64)).collect()
    found = []
    for run in sweep.runs.filter("done").iter_rows(named=True):
        folder = sweep.path(run["run"])
        # The threshold says nothing of windows.
        told = cuts.loads(packets.port(folder, 30), cuts.arrivals(folder), RETURN_NS)
        own = cuts.cuts(windows.filter(run=run["run"]).drop("run"), told)
        found.append(own.select(pl.lit(run["replica"]).alias("replica"), pl.all()))
    return {"cuts": pl.concat(found).sort("replica", maintain_order=True)}


def _halved_or_quartered(tables: Tables) -> Judgement:
    own = tables["cuts"]
    loaded = pl.col("load") > cuts.LIMIT
    halves, quarters = (own.filter("telling", which).height for which in (~loaded, loaded))
    if not halves or not quarters:
        return judge.not_reached(f"{halves} and {quarters} cuts that a half and a quarter tell apart")
    right = own.filter("as_asked").height
    said = f"{right} of {len(own)} cuts as the load asks, of which {halves} can only be halves and {quarters} quarters"
    return judge.judged(right == len(own), said, "all")


def draw(tables: Tables) -> "Picture":
    """Remaining share of the window by the load."""
    picture, (axes,) = style.panels()
    for place, (telling, label) in enumerate(((True, "cuts"), (False, "down to a packet, or either load"))):
        own = tables["cuts"].filter(pl.col("telling") == telling)
        look: dict[str, Any] = {
            "color": style.COLOURS[place],
            "marker": style.MARKERS[place],
            "linestyle": "none",
        }
        axes.plot(own["load"].to_numpy(), (own["after"] / own["before"]).to_numpy(), label=label, **look)
    axes.axvline(cuts.LIMIT, color="#000000", linewidth=0.9, linestyle="--")
    axes.set(xlabel="load of the port that the sender knew", ylabel="window after / before", ylim=(0, 1))
    axes.set_title("cuts of windows")
    axes.legend()
    return picture


FIGURE = Figure(
    id="DAQ-A2.c",
    title="Cuts of windows",
    plans=plans,
    tables=tables,
    claims={"DAQ-A2.c": _halved_or_quartered},
    draw=draw,
    needs={"cuts": Needs(5)},
    assumed=(
        *rack.ASSUMED[:1],
        f"{ROUNDS} rounds of answers of 20 KB from {WORKERS} workers. Windows are sampled every {LOOK}; none is ever "
        "less than a packet. The load of the port is that of the last whole round trip, by all packets that came; a "
        "sender knows what its last credit told.",
        "Captured packets have 64 B of headers, and so have control packets.",
    ),
)
