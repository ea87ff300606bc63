"""Flow-proportional queueing: loss rates by the number of flows, beside a drop-tail buffer of a fixed size.

Morris, "Scalable TCP congestion control", INFOCOM 2000: TCP with a window of w packets has the loss rate (0.87 / w)^2.
A fixed buffer leaves each of many flows a smaller window; FPQ fixes the window, at 6 packets, and lets the queue grow.
"""

from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import style
from flowyard.papers.figure import Figure, Needs, Scale, Sweeps, Tables
from flowyard.papers.judge import Judgement, by_reading, judged, not_reached
from flowyard.sweeps import Axis, Plan

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

FPQ, LONG, DROP_TAIL = "FPQ", "FPQ, counts over 40 s", "drop-tail"
FLOWS = (50, 100, 200, 300, 400, 500)
# 10 Mbps and 100 ms: packets of 1500 B on the path, and in the drop-tail buffer.
PATH, PACKET = 83, 1500
WINDOW, CONSTANT = 6, 0.87
TARGET = (CONSTANT / WINDOW) ** 2
_FPQ = {"window": WINDOW, "in_flight": PATH, "least": PATH}
QUEUES: dict[str, dict[str, Any]] = {
    FPQ: {"fpq": _FPQ},
    LONG: {"fpq": _FPQ | {"clear": "40s", "bits": 50_000}},
    DROP_TAIL: {"drop-tail": {"limit": {"packets": PATH}}},
}
SLACK = 0.25
COLUMNS = ["loss", "queue_packets", "timeouts_per_flow"]


def model(flows: int) -> float:
    """The loss rate of so many flows behind the drop-tail buffer, where the model knows no timeouts."""
    return (CONSTANT * flows / (2 * PATH)) ** 2


def plans(scale: Scale) -> dict[str, Plan]:
    """Long flows of so many pairs of hosts over one cable."""
    until = scale.pick(30, 300)
    base = {
        "topology": {
            "dumbbell": {
                "hosts": FLOWS[0],
                "rate": "100Mbps",
                "delay": "1ms",
                "bottleneck": {"rate": "10Mbps", "delay": "48ms"},
            }
        },
        "transport": {"tcp": {"congestion": "newreno", "sack": True, "delayed_ack": 2}},
        "queue": "drop-tail",
        "traffic": [
            {
                "name": "long",
                "background": True,
                "arrivals": {"at-once": {"jitter": "1s"}},
                "matrix": {"pairs": [[0, FLOWS[0]]]},
                "sizes": "endless",
            }
        ],
        "run": {"until": f"{until}s", "measure": {"from": f"{until // 3}s", "until": "end"}},
    }
    axes = [
        Axis("port", {"queue": list(QUEUES.values())}, labels=list(QUEUES)),
        Axis(
            "number",
            {
                "topology.dumbbell.hosts": list(FLOWS),
                "traffic.long.matrix.pairs": [[[n, n + hosts] for n in range(hosts)] for hosts in FLOWS],
            },
            labels=FLOWS,
        ),
    ]
    return {"flows": Plan(base, axes, scale.pick(1, 5), name="flows")}


def tables(sweeps: Sweeps) -> Tables:
    """One row per run: loss rate and queue of the cable's port, timeouts of a flow; and means."""
    keys = ["port", "number", "replica"]
    sweep = sweeps["flows"]
    cable = sweep.links.filter((pl.col("from") == "left switch") & (pl.col("to") == "right switch"))
    lost = pl.col("drops").cast(pl.Float64)
    ports = cable.select(
        *keys,
        loss=lost / (lost + pl.col("packets")),
        queue_packets=pl.col("queue_mean_bytes") / PACKET,
        utilisation="utilisation",
    )
    timeouts = sweep.flows.group_by(keys).agg(timeouts_per_flow=pl.col("timeouts").mean())
    runs = ports.join(timeouts, on=keys).sort(keys).collect()
    return {"runs": runs, "points": replica_means(runs, ["port", "number"], COLUMNS)}


def _losses(tables: Tables, port: str) -> dict[int, float]:
    """The mean loss rate by the number of flows."""
    return dict(tables["points"].filter(port=port).select("number", "loss").sort("number").iter_rows())


def _constant(tables: Tables) -> Judgement:
    """The loss rate under FPQ at every number of flows, with the constants of the paper and with a longer count."""
    return by_reading({port: _constant_under(port, tables) for port in (FPQ, LONG)})


def _constant_under(port: str, tables: Tables) -> Judgement:
    found = _losses(tables, port)
    if found.keys() != set(FLOWS):
        return not_reached("there are not all numbers of flows")
    holds = all(abs(loss / TARGET - 1) <= SLACK for loss in found.values())
    measured = ", ".join(f"{loss:.2%} with {n}" for n, loss in found.items())
    return judged(holds, measured, f"{TARGET:.2%} +- {SLACK:.0%}")


def _square(tables: Tables) -> Judgement:
    """The loss rate behind a fixed buffer, of 100 flows over that of 50."""
    found = _losses(tables, DROP_TAIL)
    if not {50, 100} <= found.keys():
        return not_reached("there are not 50 and 100 flows")
    ratio = found[100] / found[50]
    measured = f"{ratio:.3g}: {found[50]:.2%} with 50, {found[100]:.2%} with 100 flows"
    return judged(abs(ratio / 4 - 1) <= SLACK, measured, f"4 +- {SLACK:.0%}")


def draw(tables: Tables) -> "Picture":
    """Loss rate, queue and timeouts by the number of flows."""
    picture, (loss, queue, timeouts) = style.panels(1, 3)
    for place, port in enumerate(QUEUES):
        rows = tables["points"].filter(port=port).sort("number")
        for axes, column in zip((loss, queue, timeouts), COLUMNS, strict=True):
            style.curve(axes, rows, "number", column, place, port)
    loss.plot(FLOWS, [TARGET] * len(FLOWS), "--", color=style.COLOURS[0], label="(0.87 / 6)²")
    below = [n for n in FLOWS if model(n) < 1]
    loss.plot(below, [model(n) for n in below], "--", color=style.COLOURS[2], label="(0.87 N / (P + B))²")
    queue.plot(FLOWS, [WINDOW * n - PATH for n in FLOWS], "--", color=style.COLOURS[0], label="6 N - P")
    loss.set(ylabel="loss rate", yscale="log")
    queue.set(ylabel="mean queue (packets)", yscale="log")
    timeouts.set(ylabel="timeouts of a flow", ylim=(0, None))
    for axes in (loss, queue, timeouts):
        axes.set(xlabel="flows")
        axes.legend()
    return picture


FIGURE = Figure(
    id="LIT-FPQ",
    title="Flow-proportional queueing and drop-tail: loss rates by the number of flows",
    plans=plans,
    tables=tables,
    claims={"LIT-FPQ.a": _constant, "LIT-FPQ.b": _square},
    draw=draw,
    needs={"points": Needs(5, by=("port", "number"))},
    assumed=(
        "A dumbbell with 10 Mbps between its switches and 100 ms there and back, which 83 packets of 1500 B fill; "
        "endless flows of NewReno with SACK and delayed acknowledgements, no timeout below 200 ms. Losses are of the "
        "last 200 of 300 s (quick scale: 20 of 30).",
        "FPQ's probability grows in proportion to the queue, which is a reconstruction; its other constants are the "
        "defaults: 5000 bits, each cleared once in 4 s. Counts over 40 s have 50,000 bits.",
    ),
)
