"""SYN, section II-A (claim P10): how much of a slot packets fill, and how many messages control needs, by its length.

Measured with one pair of servers that always has something to send, beside the arithmetic: a packet of L bytes takes L
/ S slots of S bytes, rounded up (SYN-X9).
"""

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.sweeps import Axis, Plan
from flowyard_papers.syn import _rack as rack

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

SLOTS_BYTES = (64, 128, 256, 512, 1024, 1500, 2048, 4096, 9000)
LENGTHS = {rack.FIXED: ((1500, 1.0),), rack.BIMODAL: ((40, 0.4), (1500, 0.6))}
FLOW_BYTES = 20_000_000


def filling(slot_bytes: int, lengths: str) -> float:
    """The share of slots' bytes that packets fill."""
    mean = sum(share * size for size, share in LENGTHS[lengths])
    return mean / (slot_bytes * sum(share * -(-size // slot_bytes) for size, share in LENGTHS[lengths]))


def plans(scale: Scale) -> dict[str, Plan]:
    """A long flow under each leaf of a small network, without framing, as the arithmetic has it."""
    base: dict[str, Any] = {
        "topology": {"leaf-spine": {"leaves": 2, "spines": 2, "hosts": 2, "rate": "1Gbps", "delay": "0.5us"}},
        "traffic": [
            {
                "name": "long",
                # Replicas differ by where in a slot it starts.
                "arrivals": {"at-once": {"jitter": "100us"}},
                "matrix": {"pairs": [[0, 2]]},
                "sizes": {"fixed": f"{FLOW_BYTES}B"},
            }
        ],
        "run": {"audit": True},
    }
    transports = [{"central": {"link_bytes": "0B", **rack.LENGTHS[name]}} for name in LENGTHS]
    # Slots of 1500 B and more need no fragments.
    slots = {
        "controller.syn.slot": [f"{size}B" for size in SLOTS_BYTES],
        "transport.central.fragment": [f"{min(size, 1500)}B" for size in SLOTS_BYTES],
    }
    axes = [
        Axis("lengths", scenarios=[base | {"transport": one} for one in transports], labels=list(LENGTHS)),
        Axis("slot_bytes", slots, labels=SLOTS_BYTES),
    ]
    return {"slots": Plan(axes=axes, replicas=scale.pick(1, 10), name="slots")}


def tables(sweeps: Sweeps) -> Tables:
    """One row per run."""
    sweep = sweeps["slots"]
    keys = ["lengths", "slot_bytes", "replica"]
    flows = sweep.flows.select(*keys, "fct_ps", "delivered_bytes", "packets_sent").collect()
    # At 1 Gbps; a slot is begun for each packet, and the last one ends soon after the flow.
    slots = pl.col("fct_ps") / (pl.col("slot_bytes") * 8_000)
    return {
        "slots": flows.with_columns(
            efficiency=pl.col("delivered_bytes") / (slots * pl.col("slot_bytes")),
            arithmetic=pl.struct("slot_bytes", "lengths").map_elements(
                lambda row: filling(row["slot_bytes"], row["lengths"]), return_dtype=pl.Float64
            ),
            messages_per_byte=pl.col("packets_sent") / pl.col("delivered_bytes"),
        ).sort(keys)
    }


def _falls(means: pl.DataFrame, column: str) -> str:
    """Where a column rises with the slot; empty if nowhere."""
    rows = list(means.sort("slot_bytes").select("slot_bytes", column).iter_rows())
    for (small, before), (large, after) in pairwise(rows):
        # The mix of drawn lengths differs by less than that.
        if after > before * 1.001:
            return f"{before:.4g} at {small} B, {after:.4g} at {large} B"
    return ""


def _monotone(tables: Tables) -> Judgement:
    found = []
    for lengths in LENGTHS:
        own = tables["slots"].filter(lengths=lengths)
        if set(own["slot_bytes"]) != set(SLOTS_BYTES):
            return judge.not_reached(f"some slots are missing with {lengths}")
        columns = ("efficiency", "arithmetic", "messages_per_byte")
        means = own.group_by("slot_bytes").agg(pl.col(columns).mean())
        for column, name in (("efficiency", "efficiency"), ("messages_per_byte", "messages a byte")):
            rises = _falls(means, column)
            said = f"{name} with {lengths} {'rises' if rises else 'falls'}"
            found.append(judge.judged(not rises, said, "falls with the slot").because(rises))
        off = means.select((pl.col("efficiency") / pl.col("arithmetic") - 1).abs().max()).item()
        same = judge.at_most(off, 0.02).because("measured efficiency is not what lengths and slots say")
        found.append(same.called("efficiency off the arithmetic"))
    return judge.together(found)


def draw(tables: Tables) -> "Picture":
    """Efficiency, and messages a byte, over the slot."""
    picture, (filled, messages) = style.panels(1, 2)
    means = (
        tables["slots"]
        .group_by("lengths", "slot_bytes")
        .agg(pl.col("efficiency", "messages_per_byte").mean())
    )
    every = range(64, 9001, 4)
    for place, lengths in enumerate(LENGTHS):
        own = means.filter(lengths=lengths).sort("slot_bytes")
        look: dict[str, Any] = {
            "color": style.COLOURS[place],
            "marker": style.MARKERS[place],
            "label": lengths,
        }
        x = own["slot_bytes"].to_numpy()
        filled.plot(x, own["efficiency"].to_numpy(), linestyle="", **look)
        filled.plot(
            list(every), [filling(size, lengths) for size in every], color=style.COLOURS[place], linewidth=0.6
        )
        messages.plot(x, 1000 * own["messages_per_byte"].to_numpy(), **look)
    filled.set(xscale="log", xlabel="slot (bytes)", ylabel="share that is filled", ylim=(0, 1.05))
    messages.set(xscale="log", yscale="log", xlabel="slot (bytes)", ylabel="packets released per KB")
    filled.legend()
    messages.legend()
    return picture


FIGURE = Figure(
    id="SYN-P10",
    title="Filled share of slots, by their length",
    plans=plans,
    tables=tables,
    claims={"SYN-P10": _monotone},
    draw=draw,
    needs={"slots": Needs(10, by=("lengths", "slot_bytes"))},
    assumed=(
        "No framing; packets longer than a slot are cut into fragments. A control message for each packet or "
        "fragment that is released. Lines are arithmetic.",
    ),
)
