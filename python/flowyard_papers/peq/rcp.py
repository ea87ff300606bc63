"""PEQ section 1.4: RCP emulates processor sharing.

Long flows share a port and have settled; one more joins. Ten round trips later all flows have the same rate, and what
waits at the port hardly moves. Rates are those of forty round trips, since one has few packets of a flow.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.sweeps import Axis, Plan
from flowyard_papers.daq import _rack as rack

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

# Gains of the ns-2 model, and those that RCP's authors use; slots and first round trip are the rack's with both.
GAINS: Mapping[str, Mapping[str, float]] = {
    "alpha 0.4 and beta 0.4": {"alpha": 0.4, "beta": 0.4},
    "alpha 0.1 and beta 1": {"alpha": 0.1, "beta": 1.0},
}
SETTLED = (2, 4, 8, 16)
# In round trips: when one joins, how long it may take, and over how many each rate is taken, in which the smallest has
# 35 packets.
RTT_US, SAMPLE_US, JOIN, ALLOWED, SPAN, SPANS = 300, 100, 600, 10, 40, 9
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
        "traffic": [_long("settled", 2, "0s"), _long("joining", 1, f"{JOIN * RTT_US}us")],
        "run": {"until": f"{(JOIN + ALLOWED + SPANS * SPAN) * RTT_US}us"},
        "observe": {"samples": {"every": f"{SAMPLE_US}us", "links": ["* -> host 0"]}},
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


def tables(sweeps: Sweeps) -> Tables:
    """The rate of each flow and the mean queue, over spans of which one begins ten round trips after the join."""
    # A sample is of the time before it.
    since = (pl.col("time_ps").cast(pl.Int64) - 1) // (RTT_US * 1_000_000) - JOIN - ALLOWED
    keys = ["gains", "settled", "replica"]
    spans = (
        sweeps["join"]
        .scan("samples")
        .filter(pl.col("series").is_in(["rate_bps", "queue_bytes"]))
        .with_columns(span=since.floordiv(SPAN))
        .filter(pl.col("span") >= -SPANS)
        .group_by(*keys, "series", "id", "span")
        .agg(pl.col("value").mean())
        .sort(*keys, "series", "id", "span")
        .collect()
    )
    # The one that joins does so in the last round trips of the span before.
    there = pl.col("settled") + (pl.col("span") >= 0).cast(pl.Int64)
    share = pl.col("value") * there / (rack.LINK_BPS * PAYLOAD)
    rates = spans.filter(series="rate_bps").with_columns(of_share=share)
    return {
        "rates": rates.select(*keys, "span", flow="id", of_share="of_share"),
        "queues": spans.filter(series="queue_bytes").select(*keys, "span", queue_bytes="value"),
    }


def _shares(tables: Tables) -> Judgement:
    """Each span from ten round trips after the join on: rates as the mean of all, and a queue that hardly moves."""
    after = pl.col("span") >= 0
    found = {}
    for gains in GAINS:
        rates = tables["rates"].filter(after, gains=gains)
        queues = tables["queues"].filter(after, gains=gains)
        if rates.is_empty() or queues.is_empty():
            found[gains] = judge.not_reached("not run")
            continue
        mean = pl.col("of_share").mean().over("settled", "replica", "span")
        own = rates.with_columns(of_mean=pl.col("of_share") / mean)
        worst = own.row(int((own["of_mean"] - 1).abs().arg_max() or 0), named=True)
        moves = queues.group_by("settled", "replica").agg(
            moved=pl.col("queue_bytes").max() - pl.col("queue_bytes").min()
        )
        moved = float(moves["moved"].max() or 0)  # type: ignore[arg-type]
        rate = judge.at_most(abs(worst["of_mean"] - 1), TOLERANCE).because(
            f"a flow has {worst['of_mean']:.3g} of the mean rate with {worst['settled']} settled ones, "
            f"{ALLOWED + worst['span'] * SPAN} round trips after the join"
        )
        queue = judge.at_most(moved / BDP_BYTES, TOLERANCE).because(
            f"the mean queue moves by {moved:,.0f} B of {BDP_BYTES:,} B, the bandwidth-delay product"
        )
        least, most = own["of_share"].sort()[[0, -1]]
        said = f"flows have {least:.3g} to {most:.3g} of C / n: what waits takes a part of the rates"
        rate, queue = (
            rate.called("a rate off the mean"),
            queue.called("a queue's movement over the bandwidth-delay product"),
        )
        found[gains] = judge.together([rate, queue]).noted(said)
    return judge.by_reading(found)


def draw(tables: Tables) -> "Picture":
    """Rates and queue around the join, with four settled flows."""
    picture, panels = style.panels(2, len(GAINS), size=(4.4, 2.6))
    since = ALLOWED + pl.col("span") * SPAN
    for column, gains in enumerate(GAINS):
        rates, queue = panels[column], panels[len(GAINS) + column]
        own = tables["rates"].filter(gains=gains, settled=4, replica=0).with_columns(since=since)
        for place, (_, flow) in enumerate(own.group_by("flow", maintain_order=True)):
            rates.plot(flow["since"].to_numpy(), flow["of_share"].to_numpy(), color=style.COLOURS[place])
        held = tables["queues"].filter(gains=gains, settled=4, replica=0).with_columns(since=since)
        queue.plot(held["since"].to_numpy(), (held["queue_bytes"] / 1000).to_numpy())
        rates.set(title=f"{gains}: one joins four", ylim=(0, 2))
        queue.set(xlabel="round trips since the join", xlim=rates.get_xlim())
    panels[0].set_ylabel("rate / (C / n)")
    panels[len(GAINS)].set_ylabel("mean queue (KB)")
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
        "2 to 16 flows without an end share a link of 1 Gbps for 600 round trips of 300 us; then one joins. Rates and "
        "the queue, which is sampled every 100 us, are means over spans of 40 round trips; the first begins 10 round "
        "trips after the join.",
        "RCP's slots and its first estimate of the round trip are 300 us, and a new flow gets the rate that the router "
        "offers; the default gains are those of its ns-2 model.",
        "The queue is near constant if its means move by no more than a tenth of the bandwidth-delay product.",
    ),
)
