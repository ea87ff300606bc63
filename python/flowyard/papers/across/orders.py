"""SRPT in several schemes: what PDQ's tie-break, PEQ's H and RACS do on one bottleneck with one due time.

PDQ (PEQ's thesis, section 1.4) takes the shorter of two flows that are due together. PEQ takes flows by
H = 0.6 tau + 0.4 tau/D. RACS divides the link by weights 1/tau: it has no choice to make, but gives the largest share
to the flow that SRPT serves, so that flows released together end in the same order.

The claim names a fourth, SYN's SRJF: its matching takes first the head-of-line packet of the flow with the fewest bytes
left. There is no SYN here yet, and shortest job first written out once more would be compared with itself.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard import slotted
from flowyard.papers import style
from flowyard.papers.figure import Figure, Scale, Sweeps, Tables
from flowyard.papers.judge import PASS, Judgement, all_exactly, judged, not_reached, together
from flowyard.slotted.gantt import draw as draw_schedule
from flowyard.sweeps.plan import ModelPlan

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

SRPT, RACS = "SRPT", "RACS"
EXACT = {"tie-break (PDQ)": "pdq", "H (PEQ)": "peq"}
FLOWS = 12
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
    columns = ("discipline", "slots", "slots_equal", "done_srpt", "done", "ends_equal", "order_equal")
    return pl.DataFrame(rows, schema=list(columns), orient="row")


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


def tables(scale: Scale, sweeps: Sweeps) -> Tables:
    """Sums over the instances, and one instance as an example.

    Slots are equal if they go to SRPT's flow; under RACS, if the flow with the fewest packets left has the largest
    share.
    """
    del scale
    own = ("slots", "slots_equal", "done_srpt", "done", "ends_equal", "order_equal")
    keys = ("case", "replica", "discipline")
    rows = sweeps["instances"].scan("table").select(*keys, *own).collect()
    sums = rows.group_by("case", "discipline", maintain_order=True).agg(
        pl.len().alias("instances"),
        pl.col("slots", "slots_equal", "done_srpt", "done", "ends_equal", "order_equal").sum(),
    )
    example = instance(CASES[0], 0)
    parts = [
        pl.DataFrame(run(example, name).schedule).with_columns(pl.lit(name).alias("discipline"))
        for name in (SRPT, *EXACT, RACS)
    ]
    ends = [
        pl.DataFrame(run(example, name).flows).with_columns(pl.lit(name).alias("discipline"))
        for name in (SRPT, *EXACT, RACS)
    ]
    return {"sums": sums, "example_flows": pl.concat(ends), "example_schedule": pl.concat(parts)}


def _alike(tables: Tables) -> Judgement:
    sums = tables["sums"].filter(pl.col("discipline").is_in([*EXACT, RACS]))
    there = set(sums.select("case", "discipline").iter_rows())
    if there != {(case, name) for case in CASES for name in (*EXACT, RACS)}:
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
    found = together(
        [all_exactly(slots, "sums of slots"), all_exactly(ends, "counts of instances"), ratio, order]
    )
    if found.verdict == PASS:
        return not_reached(f"SYN's SRJF is not simulated yet; of the others: {found.measured}")
    return found


def draw(tables: Tables) -> "Picture":
    """One instance under each discipline."""
    names = (SRPT, *EXACT, RACS)
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
    title="PDQ's tie-break, PEQ's H and RACS on one bottleneck with one due time",
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
        "packets left in each slot, and that flows released together with time for all end in SRPT's order.",
    ),
)
