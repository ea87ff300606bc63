"""PEQ section 1.4: what the thesis says about shortest job first, earliest deadline first and D3, without figures.

Shortest job first has the smallest mean wait; earliest deadline first is not far from the best mean completion time;
D3, first come first served, loses flows to deadline inversion, and a flow that D3 does not serve asks for more.
"""

from collections.abc import Sequence
from itertools import permutations
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard import slotted
from flowyard.papers import style
from flowyard.papers.figure import Figure, Needs, Scale, Sweeps, Tables
from flowyard.papers.judge import Judgement, judged, not_reached
from flowyard.sweeps.plan import ModelPlan
from flowyard_papers.peq import _edf as edf
from flowyard_papers.peq._sets import SIZES, exponential, served, sets

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

# Means of the slack that deadlines leave beyond a flow's size.
SLACKS = (100, 400)
MOST_PERMUTED = 7


def smallest_wait(sizes: Sequence[int]) -> int:
    """The sum of the flows' waits before their service, in the best of all orders."""
    import numpy as np

    orders = np.array(list(permutations(sizes)))
    # The last flow is waited for by nobody.
    return int((orders[:, :-1] * np.arange(len(sizes) - 1, 0, -1)).sum(axis=1).min())


def waits(flows: int, count: int, replica: int) -> pl.DataFrame:
    """Sets without deadlines in which shortest job first waits as long as the best order."""
    kinds = [{"sizes": SIZES, "deadlines": {"none": {}}}]
    rows = served(sets(flows, count), kinds, "sjf", replica=replica).sort("set")
    waited = pl.col("end_slot").cast(pl.Int64) - pl.col("size").cast(pl.Int64)
    own = rows.group_by("set", maintain_order=True).agg(sjf=waited.sum(), sizes="size")
    least = pl.Series([smallest_wait(sizes) for sizes in own["sizes"].to_list()])
    means = [float(total.sum()) / (flows * count) for total in (own["sjf"], least)]
    return pl.DataFrame(
        {
            "sets": count,
            "sets_best": int((own["sjf"] == least).sum()),
            "sjf_wait_slots": means[0],
            "least_wait_slots": means[1],
        }
    )


def requests(flows: int, count: int, replica: int) -> pl.DataFrame:
    """Slots in which a D3 flow got nothing and was there in the next one: did it then ask for more?"""
    config = {
        "generation": sets(flows, count),
        "classes": exponential(SLACKS[0], "shift"),
        "discipline": {"d3": {"order": "random"}},
        "run": {"replica": replica, "schedule": True, "step": "slot"},
    }
    result = slotted.run(config)
    each = pl.DataFrame(result.flows).select("flow", "arrival_slot", "size", "deadline", "end_slot")
    slots = each.with_columns(slot=pl.int_ranges("arrival_slot", "end_slot")).explode("slot")
    parts = pl.DataFrame(result.schedule).with_columns(slot=pl.int_ranges("start_slot", "end_slot"))
    shares = parts.explode("slot").select("flow", "slot", "share")
    table = slots.join(shares, on=["flow", "slot"], how="left").sort("flow", "slot")
    got = pl.col("share").fill_null(0.0)
    before = (got.cum_sum() - got).over("flow")
    time = pl.col("arrival_slot").cast(pl.Int64) + pl.col("deadline").cast(pl.Int64) - pl.col("slot")
    asked = ((pl.col("size") - before) / time).alias("asked")
    table = table.select("flow", "slot", asked, share=got)
    later = pl.col("asked").shift(-1).over("flow")
    unserved = table.with_columns(later=later).filter(pl.col("share") == 0, pl.col("later").is_not_null())
    return pl.DataFrame(
        {
            "unserved_slots": len(unserved),
            "asked_more": int((unserved["later"] > unserved["asked"]).sum()),
            "least_rise": (unserved["later"] / unserved["asked"]).min(),
        },
        schema_overrides={"least_rise": pl.Float64},
    )


def plans(scale: Scale) -> dict[str, ModelPlan]:
    """Runs of each part."""
    return {
        "waits": ModelPlan(
            waits,
            {"flows": range(2, MOST_PERMUTED + 1), "count": [scale.pick(20, 100)]},
            scale.pick(2, 10),
            name="waits",
        ),
        "deadlines": ModelPlan(
            edf.compare,
            {"slack": SLACKS, "flows": (2, 3, 4, 6, 8), "count": [scale.pick(200, 1000)]},
            scale.pick(3, 10),
            name="sets that can be done",
        ),
        "requests": ModelPlan(
            requests, {"flows": (4, 16), "count": [scale.pick(5, 50)]}, 2, name="D3's requests"
        ),
    }


def tables(sweeps: Sweeps) -> Tables:
    """Waits, completion times and requests, by number of flows."""
    found = {name: sweep.scan("table").drop("run").collect() for name, sweep in sweeps.items()}
    return {
        "waits": found["waits"].sort("flows", "replica"),
        "deadlines": edf.totals(found["deadlines"]),
        "requests": found["requests"].sort("flows", "replica"),
    }


def _least_wait(tables: Tables) -> Judgement:
    rows = tables["waits"]
    total, best = rows.select(pl.col("sets", "sets_best").sum()).row(0)
    missing = sorted(set(range(2, MOST_PERMUTED + 1)) - set(rows["flows"]))
    if missing:
        return not_reached(f"no sets of {', '.join(map(str, missing))} flows")
    return judged(total == best, f"smallest wait of all orders in {best} of {total} sets", "all")


def _inversion(tables: Tables) -> Judgement:
    flows, random, done = (
        tables["deadlines"].select(pl.col("inverted", "inverted_random", "edf_done").sum()).row(0)
    )
    measured = (
        f"{flows} of {done} flows that earliest deadline first completes are lost ({random} in random order)"
    )
    return judged(flows > 0, measured, "more than 0")


def _asks_more(tables: Tables) -> Judgement:
    slots, more = tables["requests"].select(pl.col("unserved_slots", "asked_more").sum()).row(0)
    if not slots:
        return not_reached("every flow was served in every slot")
    return judged(slots == more, f"tau/D is larger after {more} of {slots} slots without service", "all")


def draw(tables: Tables) -> "Picture":
    """Waits, completion times relative to SRPT's, and what D3 loses, by number of flows."""
    picture, (wait, ratio, lost) = style.panels(1, 3)
    means = tables["waits"].group_by("flows").mean().sort("flows")
    wait.plot(means["flows"], means["least_wait_slots"], color="#000000", label="best of all orders")
    wait.plot(
        means["flows"], means["sjf_wait_slots"], "o", color=style.COLOURS[0], label="shortest job first"
    )
    wait.set(xlabel="flows", ylabel="mean wait (slots)", ylim=(0, None))
    wait.legend()
    for place, slack in enumerate(SLACKS):
        rows = tables["deadlines"].filter(slack=slack)
        enough = rows.filter(pl.col("full_sets") >= edf.ENOUGH)
        look: dict[str, Any] = {
            "color": style.COLOURS[place],
            "marker": style.MARKERS[place],
            "label": f"mean slack {slack} slots",
        }
        ratio.plot(enough["flows"], enough["edf_over_srpt"], **look)
        lost.plot(rows["flows"], 100 * rows["inverted"] / rows["edf_done"], **look)
    ratio.axhline(1.25, color="#000000", linewidth=0.8, linestyle=":")
    ratio.set(xlabel="flows", ylim=(1, None))
    ratio.set_title("mean FCT, EDF over SRPT", loc="left")
    lost.set(xlabel="flows", ylim=(0, None))
    lost.set_title("flows that D3 loses and EDF saves (%)", loc="left")
    ratio.legend()
    return picture


FIGURE = Figure(
    id="PEQ-P7",
    title="Shortest job first, earliest deadline first and D3 on sets of flows",
    plans=plans,
    tables=tables,
    claims={
        "PEQ-P7": _least_wait,
        "PEQ-P6": _inversion,
        "PEQ-P14": edf.near_best,
        "PEQ-P15": _asks_more,
    },
    draw=draw,
    needs={"waits": Needs(10, by=("flows",)), "deadlines": Needs(least={"sets": 10_000})},
    assumed=(
        "Flows start together. Sizes are uniform on 2 to 198. The wait of a flow is the time before its service.",
        "Deadlines are the size and an exponential slack of mean 100 or 400 slots; only sets that can be done in full "
        "count for PEQ-P6 and PEQ-P14, so that whatever is late is the order's fault.",
        "SRPT ignores deadlines, but a flow leaves when it is due, so that SRPT loses some; means are over the flows "
        "that complete under both. A second reading (edf_over_srpt_all) is over all flows, with SRPT's completion "
        "times without deadlines, from the sizes alone. EDF as such serves the flow with the lower number first of "
        "those that are due together; the smaller one is another reading. Points with fewer than 30 sets are not "
        "judged.",
        "D3's requests reach the switch in order of arrival for PEQ-P6, in a random order for PEQ-P15.",
    ),
)
