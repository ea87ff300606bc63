"""Lists of PEQ's algorithm 1: whether a flow that is in one is done in time, where a new list is made in each slot."""

import polars as pl

from flowyard.papers.figure import Tables
from flowyard.papers.judge import Judgement, by_reading, judged, not_reached
from flowyard_papers.peq import _algorithm1 as plain
from flowyard_papers.peq._sets import exponential, served, sets

WALKS: tuple[plain.Walk, ...] = ("pseudo-code", "text")
SLACK = 200
# Size and deadline of flows that the first list has all in time, and of which one is lost all the same. No set of three
# flows of up to 6 packets that are due within 14 slots is like that.
BROKEN = ((1, 5), (2, 3), (2, 4), (2, 7))


def queues(walk: plain.Walk, mode: str, count: int, replica: int) -> pl.DataFrame:
    """Lists of random flows: those late as they stand, those made late by an insertion, those late in the end."""
    kinds = exponential(SLACK, mode)
    rows = served(sets(16, count), kinds, {"peq": {"walk": walk}}, replica=replica).sort("set", "flow")
    found = {"queued": 0, "late": 0, "insertions": 0, "made_late": 0, "late_when_served": 0}
    for _, flows in rows.group_by("set", maintain_order=True):
        done = dict(zip(flows["flow"], flows["done"], strict=True))
        present = [plain.Flow(*row) for row in flows.select("flow", "size", "deadline").iter_rows()]
        queue: list[plain.Flow] = []
        for flow in plain.candidates(present):
            longer = plain.enqueue(queue, flow, walk)
            if longer is not None:
                found["insertions"] += 1
                found["made_late"] += sum(other != flow for other in _late(longer))
                queue = longer
        found["queued"] += len(queue)
        found["late"] += len(_late(queue))
        found["late_when_served"] += sum(not done[flow.id] for flow in queue)
    return pl.DataFrame([{"sets": count, **found}])


def broken() -> pl.DataFrame:
    """The flows of BROKEN: when the first list has each done, and when it is done with a new list in each slot."""
    flows = [plain.Flow(number, *flow) for number, flow in enumerate(BROKEN)]
    queue = plain.build(flows)
    listed = dict(zip((flow.id for flow in queue), plain.aggregated(queue), strict=True))
    ends = plain.ends(flows)
    rows = [(flow.id, flow.left, flow.time, listed.get(flow.id), ends.get(flow.id)) for flow in flows]
    return pl.DataFrame(rows, ["flow", "size", "deadline", "listed_end", "end"], orient="row")


def _late(queue: list[plain.Flow]) -> list[plain.Flow]:
    return [flow for flow, end in zip(queue, plain.aggregated(queue), strict=True) if end > flow.time]


def in_time(tables: Tables) -> Judgement:
    """A list promises that its flows are in time; a new list in each slot must keep the promise."""
    found: dict[str, Judgement] = {walk: _promise(tables["queues"].filter(walk=walk)) for walk in WALKS}
    found["pseudo-code"] = found["pseudo-code"].not_reproducible(_by_hand(tables["broken"]))
    return by_reading(found)


def _by_hand(broken: pl.DataFrame) -> str:
    """The few small flows to which it happens, in words."""
    flows = ", ".join(f"f{row['flow']} ({row['size']}, {row['deadline']})" for row in broken.rows(named=True))
    first = ", ".join(f"f{flow}" for flow in broken.drop_nulls("listed_end").sort("listed_end")["flow"])
    lost = ", ".join(f"f{flow}" for flow in broken.filter(pl.col("end").is_null())["flow"])
    return (
        f"a counter-example by hand (BROKEN), as (size, deadline): {flows}. The first list, {first}, has all in "
        f"time; after a slot f0 comes before f1 by H, and {lost} fits nowhere and is lost"
    )


def _promise(rows: pl.DataFrame) -> Judgement:
    queued, late, served = rows.select(pl.col("queued", "late", "late_when_served").sum()).row(0)
    if not queued:
        return not_reached("no list has flows")
    measured = f"of {queued} flows in lists {late} would be late if it stayed as it is, {served} are"
    return judged(not late and not served, measured, "0 and 0").because(
        "the list is made anew in each slot, and where it puts a flow may change as H does"
    )


def insertions(tables: Tables) -> Judgement:
    late, total = tables["queues"].select(pl.col("made_late", "insertions").sum()).row(0)
    if not total:
        return not_reached("no flow was put into a list")
    return judged(late == 0, f"{late} flows made late by {total} insertions", "0")
