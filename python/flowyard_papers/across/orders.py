"""SRPT in several schemes: PDQ's tie-break, PEQ's H, SYN's SRJF and RACS on one bottleneck with one due time.

PDQ (PEQ's thesis, section 1.4) takes the shorter of two flows that are due together. PEQ takes flows by
H = 0.6 tau + 0.4 tau/D. RACS divides the link by weights 1/tau: it has no choice to make, but gives the largest share
to the flow that SRPT serves, so that flows released together end in the same order.

SYN's SRJF matches first the queue whose first packet belongs to the flow with the fewest bytes left: here it runs in
packets, slot by slot. Of two flows with as many packets left it takes either, so its slots are compared by what the
flow that they serve has left. RACS runs in packets, too, for how many pairs of flows end in order.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard import slotted
from flowyard.papers import style
from flowyard.papers.figure import Figure, Scale, Sweeps, Tables
from flowyard.papers.judge import Judgement, all_exactly, judged, not_reached, together
from flowyard.slotted.gantt import draw as draw_schedule
from flowyard.sweeps.plan import ModelPlan
from flowyard_papers.across._order_packets import racs_in_order, srjf, srjf_against

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

SRPT, RACS, SRJF = "SRPT", "RACS", "SRJF (SYN)"
EXACT = {"tie-break (PDQ)": "pdq", "H (PEQ)": "peq"}
FLOWS = 12
JUDGED = (*EXACT, SRJF, RACS)
# Released together with time for all of them, or for some; and one after the other.
CASES = ("together, time for all", "together, time for half", "staggered, time for half")


def instance(case: str, replica: int) -> list[dict[str, int]]:
    """Flows that are all due in the same slot."""
    import numpy as np

    chance = np.random.default_rng([2017, CASES.index(case), replica])
    sizes = chance.integers(2, 30, FLOWS, endpoint=True)
    due = int(sizes.sum()) if case.endswith("all") else int(sizes.sum()) // 2
    arrivals = chance.integers(0, due // 2, FLOWS) if case.startswith("staggered") else [0] * FLOWS
    return [
        {"arrival": int(arrival), "size": int(size), "deadline": due - int(arrival)}
        for arrival, size in zip(arrivals, sizes, strict=True)
    ]


def run(flows: Sequence[Mapping[str, int]], discipline: str) -> slotted.Result:
    """The instance under a discipline, with its schedule."""
    name = {SRPT: "sjf", RACS: "racs", **EXACT}[discipline]
    config: dict[str, Any] = {
        "generation": {"list": list(flows)},
        "discipline": name,
        "run": {"schedule": True},
    }
    return slotted.run(config)


def served(result: slotted.Result) -> list[int]:
    """The flow of each slot; -1 where there is none."""
    schedule = pl.DataFrame(result.schedule)
    slots = [-1] * int(schedule["end_slot"].max() or 0)  # type: ignore[arg-type]
    for flow, start, end in schedule.select("flow", "start_slot", "end_slot").iter_rows():
        slots[start:end] = [flow] * (end - start)
    return slots


def compare(case: str, replica: int) -> pl.DataFrame:
    """One instance: how far each discipline agrees with SRPT."""
    flows = instance(case, replica)
    reference = run(flows, SRPT)
    ends = done_in_order(reference)
    # When nobody can be in time any more, PDQ and PEQ have sent them all away, and there is nothing to choose.
    useful = max((end for end, _ in ends), default=0)
    expected = served(reference)[:useful]
    rows = []
    for name in (*EXACT, RACS):
        result = run(flows, name)
        slots = served(result)[:useful]
        agree = (len(expected), sum(a == b for a, b in zip(expected, slots, strict=False)))
        slots_of = _largest_shares(result) if name == RACS else agree
        own = done_in_order(result)
        rows.append((name, *slots_of, len(ends), len(own), own == ends, _same_order(own, ends)))
    sizes = {row["flow"]: row["size"] for row in pl.DataFrame(reference.flows).iter_rows(named=True)}
    rows.append((SRJF, *srjf_against(flows, sizes, expected, [end for end, _ in ends])))
    columns = ("discipline", "slots", "slots_equal", "done_srpt", "done", "ends_equal", "order_equal")
    table = pl.DataFrame(rows, schema=list(columns), orient="row")
    pairs, in_order = racs_in_order(flows) if case == CASES[0] else (None, None)
    return table.with_columns(
        pl.when(discipline=RACS).then(pl.lit(value, pl.Int64)).alias(name)
        for name, value in (("packet_pairs", pairs), ("packet_pairs_in_order", in_order))
    )


def done_in_order(result: slotted.Result) -> list[tuple[int, int]]:
    """(end, flow) of those done."""
    flows = pl.DataFrame(result.flows).filter("done")
    return sorted(zip(flows["end_slot"].to_list(), flows["flow"].to_list(), strict=True))


def _same_order(own: list[tuple[int, int]], ends: list[tuple[int, int]]) -> bool:
    """Whether flows that are done end in the order in which SRPT ends them; those that end together are in any."""
    place = {flow: i for i, (_, flow) in enumerate(ends)}
    ranks = [(end, place.get(flow, -1)) for end, flow in own]
    return ranks == sorted(ranks) and all(rank >= 0 for _, rank in ranks)


def _largest_shares(result: slotted.Result) -> tuple[int, int]:
    """In how many slots of RACS the flow with the fewest packets left has the largest share, of how many."""
    left = {row["flow"]: float(row["size"]) for row in pl.DataFrame(result.flows).iter_rows(named=True)}
    parts = pl.DataFrame(result.schedule).sort("start_slot", "flow")
    slots = equal = 0
    at: dict[int, list[tuple[int, float]]] = {}
    for flow, start, end, share in parts.select("flow", "start_slot", "end_slot", "share").iter_rows():
        for slot in range(start, end):
            at.setdefault(slot, []).append((flow, share))
    for slot in sorted(at):
        most = max(share for _, share in at[slot])
        fewest = min(left[flow] for flow, _ in at[slot])
        slots += 1
        equal += all(share >= most - 1e-9 for flow, share in at[slot] if left[flow] <= fewest + 1e-9)
        for flow, share in at[slot]:
            left[flow] -= share
    return slots, equal


def plans(scale: Scale) -> dict[str, ModelPlan]:
    """Random instances of each case."""
    return {"instances": ModelPlan(compare, {"case": CASES}, scale.pick(20, 500), name="orders")}


def tables(sweeps: Sweeps) -> Tables:
    """Sums over the instances, and one instance as an example.

    Slots are equal if they go to SRPT's flow; under RACS, if the flow with the fewest packets left has the largest
    share.
    """
    own = (
        *("slots", "slots_equal", "done_srpt", "done", "ends_equal", "order_equal"),
        *("packet_pairs", "packet_pairs_in_order"),
    )
    keys = ("case", "replica", "discipline")
    rows = sweeps["instances"].scan("table").select(*keys, *own).collect()
    sums = rows.group_by("case", "discipline", maintain_order=True).agg(
        pl.len().alias("instances"),
        pl.col(own).sum(),
    )
    example = instance(CASES[0], 0)
    parts, ends = [], []
    for name in (SRPT, *EXACT, RACS):
        result, named = run(example, name), pl.lit(name).alias("discipline")
        parts.append(pl.DataFrame(result.schedule).with_columns(named))
        ends.append(pl.DataFrame(result.flows).with_columns(named))
    slots = srjf(example)
    parts.append(_schedule(slots, parts[0].schema))
    last = {flow: slot + 1 for slot, flow in enumerate(slots)}
    ends.append(
        ends[0].with_columns(
            discipline=pl.lit(SRJF), end_slot=pl.col("flow").replace_strict(last, return_dtype=pl.Int64)
        )
    )
    return {
        "sums": sums,
        "example_flows": pl.concat(ends, how="vertical_relaxed"),
        "example_schedule": pl.concat(parts),
    }


def _schedule(slots: list[int], schema: pl.Schema) -> pl.DataFrame:
    """As the slotted link writes it, a row a slot."""
    rows = [(0, flow, slot, slot + 1, 1.0, SRJF) for slot, flow in enumerate(slots) if flow >= 0]
    return pl.DataFrame(rows, schema=schema, orient="row")


def _alike(tables: Tables) -> Judgement:
    sums = tables["sums"].filter(pl.col("discipline").is_in(JUDGED))
    there = set(sums.select("case", "discipline").iter_rows())
    if there != {(case, name) for case in CASES for name in JUDGED}:
        return not_reached("some case or discipline is missing")
    exact = sums.filter(pl.col("discipline") != RACS)
    slots = (
        (f"slots of {row['discipline']}, {row['case']}", row["slots_equal"], row["slots"])
        for row in exact.iter_rows(named=True)
    )
    ends = (
        (
            f"instances with equal ends, {row['discipline']}, {row['case']}",
            row["ends_equal"],
            row["instances"],
        )
        for row in exact.iter_rows(named=True)
    )
    racs = sums.filter(discipline=RACS)
    ratio = all_exactly(
        ((f"RACS, {row['case']}", row["slots_equal"], row["slots"]) for row in racs.iter_rows(named=True)),
        "cases where the largest share is that of SRPT's flow",
    )
    (row,) = racs.filter(case=CASES[0]).iter_rows(named=True)
    order = judged(
        row["order_equal"] == row["instances"],
        f"RACS ends flows in SRPT's order in {row['order_equal']} of {row['instances']} instances "
        f"(in time {racs['done'].sum()}, SRPT {racs['done_srpt'].sum()})",
        "all instances",
    )
    pairs, in_order = row["packet_pairs"], row["packet_pairs_in_order"]
    return together(
        [all_exactly(slots, "sums of slots"), all_exactly(ends, "counts of instances"), ratio, order]
    ).noted(f"in packets the shorter of two flows ends first under RACS in {in_order} of {pairs} pairs")


def draw(tables: Tables) -> "Picture":
    """One instance under each discipline."""
    names = (SRPT, *JUDGED)
    picture, panels = style.panels(len(names), 1, size=(7.5, 1.8))
    for name, axes in zip(names, panels, strict=True):
        flows = tables["example_flows"].filter(discipline=name).sort("flow")
        draw_schedule(axes, flows, tables["example_schedule"].filter(discipline=name), {})
        axes.set_title(name, loc="left")
        axes.tick_params(axis="y", labelsize=6)
    panels[-1].set_xlabel("slot")
    return picture


FIGURE = Figure(
    id="ALL-5",
    title="PDQ's tie-break, PEQ's H, SYN's SRJF and RACS on one bottleneck with one due time",
    plans=plans,
    tables=tables,
    claims={"ALL-5": _alike},
    draw=draw,
    assumed=(
        "Equal deadlines are equal due times: 12 flows of 2 to 30 packets, released together or one after the other, "
        "all due in the same slot; with time for all of them, or for half of the packets.",
        "Disciplines are compared slot by slot until SRPT has finished its last flow in time. After that nobody can be "
        "in time any more: PDQ and PEQ serve nobody, SRPT goes on.",
        "Of RACS, which shares, two things are asked: that the largest share is that of the flow with the fewest "
        "packets left in each slot, and that flows released together with time for all end in SRPT's order. In "
        "packets, with its defaults, pairs that end in order are counted and not judged: requests take round trips.",
        "SRJF runs in packets of 1500 B on one switch of 1 Gbps and 0.5 us, a server for each flow; its slots are read "
        "from captures of the servers' links.",
    ),
)
