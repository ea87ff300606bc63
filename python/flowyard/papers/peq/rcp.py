"""PEQ section 1.4: RCP emulates processor sharing.

Long flows share a port and have settled; one more joins. Ten round trips later every flow has its part of the link, C /
n, and what waits at the port hardly moves. Each rate is that of ten round trips, since one has few packets of a flow.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.papers import judge, style
from flowyard.papers.daq import _rack as rack
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.sweeps import Axis, Plan

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

# Gains of the ns-2 model, and those that RCP's authors use; slots and first round trip are the rack's with both.
GAINS: Mapping[str, Mapping[str, float]] = {
    "alpha 0.4, beta 0.4": {"alpha": 0.4, "beta": 0.4},
    "alpha 0.1, beta 1": {"alpha": 0.1, "beta": 1.0},
}
SETTLED = (2, 4, 8, 16)
RTT_MS, ROUND_TRIPS = 0.3, 10
WINDOW_MS = ROUND_TRIPS * RTT_MS
# Windows before the join and behind the ten round trips that it may take.
JOIN_WINDOW, WINDOWS = 60, 100
TOLERANCE = 0.1
BDP_BYTES = 37_500
PAYLOAD = 1460 / 1500


def plans(scale: Scale) -> dict[str, Plan]:
    """Each number of settled flows with each pair of gains."""
    base: dict[str, Any] = {
        "topology": rack.rack(SETTLED[-1] + 2),
        "transport": {"rcp": {}},
        "agent": {"rcp": {}},
        "queue": {"drop-tail": {"limit": {"bytes": "4MB"}}},
        "traffic": [_long("settled", 2, "0s"), _long("joining", 1, f"{JOIN_WINDOW * WINDOW_MS:.1f}ms")],
        "run": {"until": f"{WINDOWS * WINDOW_MS:.1f}ms"},
        "observe": {"samples": {"every": f"{1000 * WINDOW_MS:.0f}us", "links": ["* -> host 0"]}},
    }
    matrices = [rack.to_aggregator(2, count) for count in SETTLED]
    axes = [
        Axis("gains", {"agent.rcp": list(GAINS.values())}, labels=list(GAINS)),
        Axis("settled", {"traffic.settled.matrix": matrices}, labels=SETTLED),
    ]
    return {"join": Plan(base, axes, scale.pick(2, 5), name="one joins")}


def _long(name: str, host: int, at: str) -> dict[str, Any]:
    return {
        "name": name,
        "arrivals": {"at-once": {"at": at, "jitter": "50us"}},
        "matrix": rack.to_aggregator(host, 1),
        "sizes": "endless",
        "background": True,
    }


def tables(scale: Scale, sweeps: Sweeps) -> Tables:
    """The rate of each flow over its share, and the queue, every ten round trips."""
    del scale
    samples = (
        sweeps["join"]
        .scan("samples")
        .filter(pl.col("series").is_in(["rate_bps", "queue_bytes"]))
        .select(
            "gains",
            "settled",
            "replica",
            "series",
            "id",
            "value",
            window=(pl.col("time_ps") / (WINDOW_MS * 1e9)).round().cast(pl.Int64) - 1,
        )
        .sort("gains", "settled", "replica", "series", "id", "window")
        .collect()
    )
    flows = samples.filter(series="rate_bps").rename({"id": "flow"})
    there = pl.col("settled") + (pl.col("window") >= JOIN_WINDOW).cast(pl.Int64)
    share = pl.col("value") * there / (rack.LINK_BPS * PAYLOAD)
    queues = samples.filter(series="queue_bytes").drop("series", "id").rename({"value": "queue_bytes"})
    return {
        "rates": flows.with_columns(of_share=share).drop("series", "value"),
        "queues": queues,
    }


def _shares(tables: Tables) -> Judgement:
    """After the join, from the window that begins ten round trips after it."""
    after = pl.col("window") > JOIN_WINDOW
    found = {}
    for gains in GAINS:
        rates = tables["rates"].filter(after, gains=gains)
        queues = tables["queues"].filter(after, gains=gains)
        if rates.is_empty() or queues.is_empty():
            found[gains] = judge.not_reached("not run")
            continue
        off = (rates["of_share"] - 1).abs()
        worst = rates.row(int(off.arg_max() or 0), named=True)
        moves = queues.group_by("settled", "replica").agg(
            moved=pl.col("queue_bytes").max() - pl.col("queue_bytes").min()
        )
        moved = float(moves["moved"].max() or 0)  # type: ignore[arg-type]
        rate = judge.at_most(
            worst["of_share"] - 1 if worst["of_share"] > 1 else 1 - worst["of_share"], TOLERANCE
        )
        queue = judge.at_most(moved / BDP_BYTES, TOLERANCE)
        found[gains] = judge.together(
            [
                rate.because(
                    f"a flow has {worst['of_share']:.3g} of its share with {worst['settled']} settled ones, "
                    f"{(worst['window'] - JOIN_WINDOW) * ROUND_TRIPS} round trips after the join"
                ),
                queue.because(
                    f"the queue moves by {moved:,.0f} B of {BDP_BYTES:,} B, the bandwidth-delay product"
                ),
            ]
        )
    return judge.by_reading(found)


def draw(tables: Tables) -> "Picture":
    """Rates and queue around the join, with four settled flows."""
    picture, panels = style.panels(2, len(GAINS), size=(4.4, 2.6))
    for column, gains in enumerate(GAINS):
        rates, queue = panels[column], panels[len(GAINS) + column]
        own = tables["rates"].filter(gains=gains, settled=4, replica=0)
        for place, ((_,), flow) in enumerate(own.group_by("flow", maintain_order=True)):
            at = (flow["window"] - JOIN_WINDOW) * ROUND_TRIPS
            rates.plot(at.to_numpy(), flow["of_share"].to_numpy(), color=style.COLOURS[place])
        held = tables["queues"].filter(gains=gains, settled=4, replica=0)
        at = (held["window"] - JOIN_WINDOW) * ROUND_TRIPS
        queue.plot(at.to_numpy(), (held["queue_bytes"] / 1000).to_numpy())
        rates.set(title=f"{gains}: one joins four", ylim=(0, 2))
        queue.set(xlabel="round trips since the join", xlim=rates.get_xlim())
    panels[0].set_ylabel("rate / (C / n)")
    panels[len(GAINS)].set_ylabel("queue (KB)")
    return picture


FIGURE = Figure(
    id="PEQ-P9",
    title="RCP emulates processor sharing",
    plans=plans,
    tables=tables,
    claims={"PEQ-P9": _shares},
    draw=draw,
    needs={"rates": Needs(5, by=("gains", "settled")), "queues": Needs(5, by=("gains", "settled"))},
    assumed=(
        "2 to 16 flows without an end share a link of 1 Gbps for 600 round trips of 300 us; then one joins. All "
        "windows of ten round trips from ten round trips after the join on are judged.",
        "RCP's slots and its first estimate of the round trip are 300 us, and a new flow gets the rate that the router "
        "offers; the default gains are those of its ns-2 model.",
        "The queue is near constant if what waits at the ends of these windows moves by no more than a tenth of the "
        "bandwidth-delay product.",
    ),
)
