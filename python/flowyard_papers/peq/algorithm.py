"""PEQ algorithm 1 and equation 2.1, section 2.2: what holds for any flows, how far the two readings differ.

The list is that of a plain version of the algorithm; schedules are the simulator's.
"""

from typing import TYPE_CHECKING, Any, cast

import polars as pl

from flowyard.papers import style
from flowyard.papers.figure import Figure, Needs, Scale, Sweeps, Tables
from flowyard.papers.judge import Judgement, at_most, by_reading, judged, not_reached
from flowyard.sweeps.plan import ModelPlan
from flowyard_papers.peq import _algorithm1 as plain
from flowyard_papers.peq._sets import exponential, served, sets

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

WALKS: tuple[plain.Walk, ...] = ("pseudo-code", "text")
# With alpha = 1 - beta, since only their ratio matters; the thesis's and others.
THESIS = plain.BETA
BETAS = (0.05, 0.2, THESIS, 0.49, 0.55, 0.8, 0.98)
SLACK = 200
# Size and deadline of flows that the first list has all in time, and of which one is lost all the same. No set of three
# flows of up to 6 packets that are due within 14 slots is like that.
BROKEN = ((1, 5), (2, 3), (2, 4), (2, 7))


def order(beta: float, pairs: int, count: int, replica: int) -> pl.DataFrame:
    """Pairs of flows that H sorts otherwise than by size, then later deadline; and sets whose schedule is another one.

    Half of the pairs are drawn so that H is near a tie: one slot apart, the smaller without a slot to spare.
    """
    import numpy as np

    chance = np.random.default_rng(replica)
    left = chance.integers(1, 199, (2, pairs))
    spare = np.ceil(chance.exponential(SLACK, (2, pairs)))
    half = pairs // 2
    left[1, :half] = left[0, :half] + chance.integers(0, 2, half)
    spare[0, :half] *= chance.integers(0, 2, half)
    due = left + spare
    h: Any = plain.urgency(cast("Any", left), cast("Any", due), 1 - beta, beta)
    by_h = np.sign(h[0] - h[1])
    by_size = np.where(left[0] != left[1], np.sign(left[0] - left[1]), np.sign(due[1] - due[0]))

    kinds = exponential(SLACK, "shift")
    ends = [
        served(sets(16, count), kinds, {"peq": {"alpha": 1 - b, "beta": b}}, replica=replica).sort("flow")
        for b in (beta, THESIS)
    ]
    return pl.DataFrame(
        {
            "pairs": pairs,
            "pairs_otherwise": int((by_h != by_size).sum()),
            "sets": count,
            "sets_otherwise": int(
                (ends[0]["end_slot"] != ends[1]["end_slot"]).to_numpy().reshape(count, 16).any(axis=1).sum()
            ),
        }
    )


def queues(walk: plain.Walk, mode: str, count: int, replica: int) -> pl.DataFrame:
    """Lists of random flows: who would be late as they stand, who was made late by an insertion, who is in the end."""
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


def walks(mode: str, servers: int, mean: float, slots: int, replica: int) -> pl.DataFrame:
    """Flows in time by both readings of the algorithm, random arrivals."""
    generation = {"random": {"servers": servers, "probability": 1 / 4000}}
    percents = {}
    for walk in WALKS:
        flows = served(
            generation, exponential(mean, mode), {"peq": {"walk": walk}}, replica=replica, slots=slots
        ).drop_nulls("end_slot")
        percents[f"{walk.replace('-', '_')}_percent"] = flows.select(100 * pl.col("done").mean()).item()
    return pl.DataFrame([percents])


def plans(scale: Scale) -> dict[str, ModelPlan]:
    """What is tried, each on its own."""
    weights = {"beta": BETAS, "pairs": [scale.pick(20_000, 200_000)], "count": [scale.pick(100, 1000)]}
    lists = {"walk": WALKS, "mode": ["shift", "keep"], "count": [scale.pick(100, 1000)]}
    load = {"servers": (40, 100), "mean": (30, 60, 120), "slots": [scale.pick(100_000, 1_000_000)]}
    return {
        "order": ModelPlan(order, weights, 2, name="weights"),
        "queues": ModelPlan(queues, lists, scale.pick(2, 10), name="lists"),
        "walks": ModelPlan(walks, {"mode": ["keep", "shift"], **load}, scale.pick(2, 10), name="readings"),
    }


def tables(sweeps: Sweeps) -> Tables:
    """Properties of order and lists; the two readings."""
    found = {name: sweep.scan("table").drop("run").collect() for name, sweep in sweeps.items()}
    return {
        "order": found["order"].sort("beta", "replica").select((1 - pl.col("beta")).alias("alpha"), pl.all()),
        "queues": found["queues"].sort("mode", "walk", "replica"),
        "walks": found["walks"].sort("mode", "servers", "mean", "replica"),
        "broken": broken(),
    }


def _by_size(tables: Tables) -> Judgement:
    rows = tables["order"].filter((pl.col("beta") - THESIS).abs() < 1e-9)
    pairs, otherwise = rows.select(pl.col("pairs", "pairs_otherwise").sum()).row(0)
    if not pairs:
        return not_reached("no pairs with the thesis's weights")
    return judged(otherwise == 0, f"{otherwise} of {pairs} pairs in another order", "0")


def _any_weights(tables: Tables) -> Judgement:
    rows = tables["order"]
    smaller = pl.col("beta") < pl.col("alpha")
    below, above = (
        rows.filter(where).select(pl.col("pairs", "pairs_otherwise", "sets_otherwise").sum()).row(0)
        for where in (smaller, ~smaller)
    )
    if not below[0] or not above[0]:
        return not_reached("needs weights with alpha above beta and below it")
    measured = (
        f"with alpha > beta {below[1]} of {below[0]} pairs in another order, {below[2]} sets served otherwise; "
        f"with alpha < beta {above[1]} of {above[0]} and {above[2]}"
    )
    return judged(not below[1] and not below[2] and above[1] > 0, measured, "0 and 0; some")


def _in_time(tables: Tables) -> Judgement:
    """A list promises that its flows are in time; a new list in each slot must keep the promise."""
    found: dict[str, Judgement] = {walk: _promise(tables["queues"].filter(walk=walk)) for walk in WALKS}
    own = found["pseudo-code"]
    return by_reading(found | {"pseudo-code": own.because(f"{own.reason}. {_by_hand(tables['broken'])}")})


def _by_hand(broken: pl.DataFrame) -> str:
    """The smallest flows to which it happens."""
    flows = ", ".join(f"f{row['flow']} ({row['size']}, {row['deadline']})" for row in broken.rows(named=True))
    first = ", ".join(f"f{flow}" for flow in broken.drop_nulls("listed_end").sort("listed_end")["flow"])
    lost = ", ".join(f"f{flow}" for flow in broken.filter(pl.col("end").is_null())["flow"])
    return (
        f"A counter-example by hand, as (size, deadline): {flows}. The first list, {first}, has all in time; after a "
        f"slot f0 comes before f1 by H, and {lost} fits nowhere and is lost"
    )


def _promise(rows: pl.DataFrame) -> Judgement:
    queued, late, served = rows.select(pl.col("queued", "late", "late_when_served").sum()).row(0)
    if not queued:
        return not_reached("no list has flows")
    measured = f"of {queued} flows in lists {late} would be late if it stayed as it is, {served} are"
    return judged(not late and not served, measured, "0 and 0").because(
        "the list is made anew in each slot, and where it puts a flow may change as H does"
    )


def _insertions(tables: Tables) -> Judgement:
    late, total = tables["queues"].select(pl.col("made_late", "insertions").sum()).row(0)
    if not total:
        return not_reached("no flow was put into a list")
    return judged(late == 0, f"{late} flows made late by {total} insertions", "0")


def _readings(tables: Tables) -> Judgement:
    gap = pl.col("pseudo_code_percent") - pl.col("text_percent")
    points = tables["walks"].group_by("mode", "servers", "mean").agg(gap=gap.mean())
    worst = {
        mode: rows.sort(pl.col("gap").abs()).row(-1, named=True)
        for mode in ("keep", "shift")
        if len(rows := points.filter(mode=mode))
    }
    if "keep" not in worst:
        return not_reached("no runs with deadlines as drawn")
    said = "; ".join(
        f"{'deadlines as drawn' if mode == 'keep' else 'size + drawn'}: {row['gap']:+.2g} points with "
        f"{row['servers']} servers, mean {row['mean']:g}"
        for mode, row in worst.items()
    )
    return at_most(abs(worst["keep"]["gap"]), 1.0).because(said)


def draw(tables: Tables) -> "Picture":
    """What the weights change, and how the two readings differ."""
    picture, (weights, readings) = style.panels(1, 2)
    rows = (
        tables["order"]
        .group_by("beta")
        .agg(pl.col("pairs", "pairs_otherwise", "sets", "sets_otherwise").sum())
    )
    rows = rows.sort("beta")
    for place, what in enumerate(("pairs", "sets")):
        weights.plot(
            rows["beta"],
            100 * rows[f"{what}_otherwise"] / rows[what],
            color=style.COLOURS[place],
            marker=style.MARKERS[place],
            label={"pairs": "pairs in another order", "sets": "sets served otherwise"}[what],
        )
    weights.axvline(0.5, color="#000000", linewidth=0.8, linestyle=":")
    weights.set(xlabel="beta = 1 - alpha", ylabel="%")
    weights.set_title("against size, then later deadline", loc="left")
    weights.legend()

    gap = pl.col("pseudo_code_percent") - pl.col("text_percent")
    points = tables["walks"].group_by("mode", "servers", "mean").agg(gap=gap.mean()).sort("mean")
    for place, ((mode, servers), of) in enumerate(sorted(points.group_by("mode", "servers"))):
        readings.plot(
            of["mean"],
            of["gap"],
            color=style.COLOURS[place],
            marker=style.MARKERS[place],
            linestyle="-" if mode == "keep" else "--",
            label=f"{servers} servers, {'as drawn' if mode == 'keep' else 'size + drawn'}",
        )
    readings.axhspan(-1, 1, color="#f0f0f0")
    readings.set(xlabel="mean deadline (slots)", ylabel="percentage points")
    readings.set_title("flows in time, pseudo-code less text", loc="left")
    readings.legend()
    return picture


FIGURE = Figure(
    id="PEQ-A1",
    title="Equation 2.1 and algorithm 1: order, lists, readings",
    plans=plans,
    tables=tables,
    claims={
        "PEQ-E2.1.a": _by_size,
        "PEQ-A1.a": _in_time,
        "PEQ-A1.b": _insertions,
        "PEQ-A1.c": _any_weights,
        "PEQ-A1.d": _readings,
    },
    draw=draw,
    needs={"walks": Needs(10, by=("mode", "servers", "mean"))},
    assumed=(
        "The first flow of a list is checked, too, which the printed algorithm forgets. Flows in sets have sizes "
        "uniform on 2 to 198; deadlines are exponential with mean 200, added to the size or not.",
        "PEQ-A1.a is judged by what becomes of the flows of the first slot's list, too, when all flows of the set are "
        "considered anew in each slot, which is how the thesis runs PEQ; for both readings of the algorithm, the "
        "claim's own being the pseudo-code.",
        "The two readings are compared under random arrivals like those of figures 3.5 and 3.8: 40 and 100 servers, "
        "p = 1/4000, mean deadlines 30, 60, 120, drawn as written; beside it are deadlines with the size "
        "added.",
    ),
)
