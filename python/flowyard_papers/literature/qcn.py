"""QCN: the queue of a port that ten flows share, against the queue that its congestion point aims at.

IEEE 802.1Qau, quantised congestion notification, with the constants of its baseline for 10 Gbps.
"""

from typing import TYPE_CHECKING

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import style
from flowyard.papers.figure import Figure, Needs, Scale, Sweeps, Tables
from flowyard.papers.judge import Judgement, by_reading, judged, not_reached
from flowyard.sweeps import Axis, Plan

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

FLOWS = 10
# In KB, the default reading first: the baseline's, and that of later drafts.
EQUILIBRIA = (26, 33)
SLACK, USED = 0.5, 0.95


def plans(scale: Scale) -> dict[str, Plan]:
    """Ten long flows to one host."""
    begin, until = scale.pick((100, 300), (500, 2000))
    base = {
        "topology": {"single-switch": {"hosts": FLOWS + 1, "rate": "10Gbps", "delay": "25us"}},
        "transport": {"roce": {"congestion": "qcn"}},
        "queue": "lossless",
        "agent": {"qcn": {"equilibrium": "26KB"}},
        "traffic": [
            {
                "name": "long",
                "background": True,
                "arrivals": {"at-once": {"jitter": "1ms"}},
                "matrix": {"incast": {"senders": FLOWS, "receiver": 0}},
                "sizes": "endless",
            }
        ],
        "observe": {"samples": {"every": "2ms", "links": ["switch -> host 0"], "flows": ["long"]}},
        "run": {"until": f"{until}ms", "measure": {"from": f"{begin}ms", "until": "end"}},
    }
    axis = Axis(
        "equilibrium_kb", {"agent.qcn.equilibrium": [f"{size}KB" for size in EQUILIBRIA]}, labels=EQUILIBRIA
    )
    return {"port": Plan(base, [axis], scale.pick(1, 5), name="port")}


def tables(sweeps: Sweeps) -> Tables:
    """One row per run, for the port to the receiver; and its queue and the rates of flows over time, of one run."""
    sweep, keys = sweeps["port"], ["equilibrium_kb", "replica"]
    port = sweep.links.filter(pl.col("to") == "host 0").select(
        *keys, "utilisation", "drops", "pauses", queue_kb=pl.col("queue_mean_bytes") / 1e3
    )
    runs = port.sort(keys).collect()
    rate = pl.col("series") == "rate_bps"
    samples = (
        sweep.scan("samples")
        .filter(rate | (pl.col("series") == "queue_bytes"), replica=0, equilibrium_kb=EQUILIBRIA[0])
        .select(
            time_ms=pl.col("time_ps") / 1e9,
            flow=pl.when(rate).then(pl.col("id").cast(pl.Int64)),
            value=pl.col("value") / pl.when(rate).then(1e9).otherwise(1e3),
        )
        .collect()
    )
    flows = samples.drop_nulls("flow").rename({"value": "gbps"})
    queue = samples.filter(pl.col("flow").is_null()).select("time_ms", queue_kb="value")
    return {
        "runs": runs,
        "points": replica_means(runs, ["equilibrium_kb"], ["queue_kb", "utilisation"]),
        "queue": queue.sort("time_ms"),
        "rates": flows.sort("flow", "time_ms"),
    }


def _of(tables: Tables, column: str) -> dict[int, float]:
    return dict(tables["points"].select("equilibrium_kb", column).iter_rows())


def _queue(tables: Tables) -> Judgement:
    """The mean over seeds of the port's content."""
    found = _of(tables, "queue_kb")
    if set(found) != set(EQUILIBRIA):
        return not_reached("there are not both sizes")
    return by_reading(
        {
            f"{size} KB": judged(
                abs(found[size] / size - 1) <= SLACK, f"{found[size]:.1f} KB", f"{size} KB +- {SLACK:.0%}"
            )
            for size in EQUILIBRIA
        }
    )


def _used(tables: Tables) -> Judgement:
    """The mean over seeds of the link's use."""
    found = _of(tables, "utilisation")
    if set(found) != set(EQUILIBRIA):
        return not_reached("there are not both sizes")
    return by_reading(
        {
            f"{size} KB": judged(found[size] > USED, f"{100 * found[size]:.1f} %", f"above {USED:.0%}")
            for size in EQUILIBRIA
        }
    )


def draw(tables: Tables) -> "Picture":
    """The port's content and the rates of all flows over time."""
    picture, (queue, rates) = style.panels(1, 2)
    rows = tables["queue"]
    queue.plot(rows["time_ms"].to_numpy(), rows["queue_kb"].to_numpy(), linewidth=0.6)
    queue.axhline(EQUILIBRIA[0], color="#000000", linewidth=0.9, linestyle="--")
    queue.set(
        xlabel="time (ms)",
        ylabel="content of the port (KB)",
        ylim=(0, None),
        title="dashed: the queue aimed at",
    )
    for (_,), rows in tables["rates"].group_by("flow", maintain_order=True):
        rates.plot(rows["time_ms"].to_numpy(), rows["gbps"].to_numpy(), linewidth=0.8)
    rates.set(xlabel="time (ms)", ylabel="rate of a flow (Gbps)", ylim=(0, None), title="ten flows")
    return picture


FIGURE = Figure(
    id="LIT-QCN",
    title="QCN: the queue of a port that ten flows share",
    plans=plans,
    tables=tables,
    claims={"LIT-QCN.a": _queue, "LIT-QCN.b": _used},
    draw=draw,
    needs={"points": Needs(5, by=("equilibrium_kb",))},
    assumed=(
        "Ten hosts send endless flows to one over RoCE, all links 10 Gbps with cables of 25 us: 100 us there and back. "
        "Means are from 0.5 to 2 s (quick scale: 0.1 to 0.3 s), the packet on the wire counts.",
        "All constants are those of the standard's baseline from memory; ports pause senders before they drop.",
    ),
)
