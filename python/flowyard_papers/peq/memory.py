"""PEQ section 2.2: PEQ keeps no state of flows; a slot's schedule follows from the flows that are present.

The simulator's PEQ, which stores the order of flows for speed, against a version that receives nothing but pairs.
"""

from random import Random
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard import slotted
from flowyard.papers import style
from flowyard.papers.figure import Figure, Scale, Sweeps, Tables
from flowyard.papers.judge import Judgement, judged, not_reached
from flowyard.sweeps.plan import ModelPlan
from flowyard_papers.peq import _algorithm1 as plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

WALKS: tuple[plain.Walk, ...] = ("pseudo-code", "text")
# Mean of what deadlines leave beyond a flow's size.
SLACK = 200


def compared(walk: plain.Walk, flows: int, replica: int) -> pl.DataFrame:
    """Slots in which the simulator serves another flow than the algorithm does that knows only the pairs present.

    The pairs are sorted, so that nothing tells who was there before or came first. Equal pairs are alike: what is
    compared is the pair that is served.
    """
    chance = Random(replica)
    listed = []
    for _ in range(flows):
        size = chance.randint(2, 198)
        slack = int(chance.expovariate(1 / SLACK)) + chance.choice((-20, 1))
        listed.append(
            {"arrival": chance.randrange(60 * flows), "size": size, "deadline": max(size + slack, 1)}
        )
    listed.sort(key=lambda flow: flow["arrival"])
    config = {
        "generation": {"list": listed},
        "discipline": {"peq": {"walk": walk}},
        "run": {"schedule": True},
    }
    stateless: dict[int, tuple[int, int]] = {}

    def serve(slot: int, present: Any) -> int | None:
        pairs = sorted((round(left), left_time, number) for number, _, left, left_time in present)
        queue = plain.build([plain.Flow(i, left, due) for i, (left, due, _) in enumerate(pairs)], walk)
        if not queue:
            return None
        head = pairs[queue[0].id]
        stateless[slot] = head[:2]
        return int(head[2])

    slotted.run(config, discipline=serve)
    own = _pairs_served(slotted.run(config))
    slots = sorted(own.keys() | stateless.keys())
    return pl.DataFrame(
        {"slots": len(slots), "slots_otherwise": sum(own.get(slot) != stateless.get(slot) for slot in slots)}
    )


def _pairs_served(result: slotted.Result) -> dict[int, tuple[int, int]]:
    """Packets and slots left of who is served, by slot."""
    about = {
        row[0]: row[1:]
        for row in pl.DataFrame(result.flows).select("flow", "size", "arrival_slot", "deadline").iter_rows()
    }
    sent: dict[int, int] = {}
    pairs = {}
    for flow, start, end in (
        pl.DataFrame(result.schedule).select("flow", "start_slot", "end_slot").iter_rows()
    ):
        size, arrival, deadline = about[flow]
        for slot in range(start, end):
            pairs[slot] = (size - sent.get(flow, 0), arrival + deadline - slot)
            sent[flow] = sent.get(flow, 0) + 1
    return pairs


def plans(scale: Scale) -> dict[str, ModelPlan]:
    """Random arrivals, by both readings of the algorithm."""
    axes = {"walk": WALKS, "flows": [scale.pick(60, 200)]}
    return {"runs": ModelPlan(compared, axes, scale.pick(2, 5), name="memory")}


def tables(sweeps: Sweeps) -> Tables:
    """Slots compared, and those that differ, by run."""
    return {"runs": sweeps["runs"].scan("table").drop("run").sort("walk", "replica").collect()}


def _stateless(tables: Tables) -> Judgement:
    slots, otherwise = tables["runs"].select(pl.col("slots", "slots_otherwise").sum()).row(0)
    if not slots:
        return not_reached("no slots were compared")
    return judged(otherwise == 0, f"{otherwise} of {slots} slots serve another pair", "0")


def draw(tables: Tables) -> "Picture":
    """Slots that serve the same pair, and others."""
    picture, (axes,) = style.panels(1, 1)
    rows = tables["runs"].group_by("walk").agg(pl.col("slots", "slots_otherwise").sum()).sort("walk")
    same = rows["slots"] - rows["slots_otherwise"]
    axes.bar(rows["walk"].to_list(), same.to_list(), 0.5, color=style.COLOURS[0], label="the same pair")
    axes.bar(
        rows["walk"].to_list(),
        rows["slots_otherwise"].to_list(),
        0.5,
        same.to_list(),
        color=style.COLOURS[1],
        label="another pair",
    )
    axes.set(xlabel="reading of algorithm 1", ylabel="slots that serve")
    axes.legend(loc="lower center")
    return picture


FIGURE = Figure(
    id="PEQ-P17",
    title="PEQ with and without a memory",
    plans=plans,
    tables=tables,
    claims={"PEQ-P17": _stateless},
    draw=draw,
    assumed=(
        "Flows of 2 to 198 packets arrive at random. Deadlines are the size and an exponential slack of mean 200; half "
        "of them are some 20 slots shorter, so that some cannot be met.",
        "A schedule is a function of the pairs (tau, D) if no flow is told from another with the same pair.",
    ),
)
