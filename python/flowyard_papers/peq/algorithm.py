"""PEQ algorithm 1 and equation 2.1, section 2.2: what holds for any flows, how far the two readings differ.

The list is that of a plain version of the algorithm; schedules are the simulator's.
"""

from typing import TYPE_CHECKING, Any, cast

import polars as pl

from flowyard.papers import style
from flowyard.papers.figure import Figure, Needs, Scale, Sweeps, Tables
from flowyard.papers.judge import Judgement, at_most, judged, not_reached
from flowyard.sweeps.plan import ModelPlan
from flowyard_papers.peq import _algorithm1 as plain
from flowyard_papers.peq import _lists as lists
from flowyard_papers.peq._sets import exponential, served, sets

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

# With alpha = 1 - beta, since only their ratio matters; the thesis's and others.
THESIS = plain.BETA
BETAS = (0.05, 0.2, THESIS, 0.49, 0.55, 0.8, 0.98)


def order(beta: float, pairs: int, count: int, replica: int) -> pl.DataFrame:
    """Pairs of flows that H sorts otherwise than by size, then later deadline; and sets whose schedule is another one.

    Half of the pairs are drawn so that H is near a tie: one slot apart, the smaller without a slot to spare.
    """
    import numpy as np

    chance = np.random.default_rng(replica)
    left = chance.integers(1, 199, (2, pairs))
    spare = np.ceil(chance.exponential(lists.SLACK, (2, pairs)))
    half = pairs // 2
    left[1, :half] = left[0, :half] + chance.integers(0, 2, half)
    spare[0, :half] *= chance.integers(0, 2, half)
    due = left + spare
    h: Any = plain.urgency(cast("Any", left), cast("Any", due), 1 - beta, beta)
    by_h = np.sign(h[0] - h[1])
    by_size = np.where(left[0] != left[1], np.sign(left[0] - left[1]), np.sign(due[1] - due[0]))

    kinds = exponential(lists.SLACK, "shift")
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


def walks(mode: str, servers: int, mean: float, slots: int, replica: int) -> pl.DataFrame:
    """Flows in time by both readings of the algorithm, random arrivals."""
    generation = {"random": {"servers": servers, "probability": 1 / 4000}}
    percents = {}
    for walk in lists.WALKS:
        flows = served(
            generation, exponential(mean, mode), {"peq": {"walk": walk}}, replica=replica, slots=slots
        ).drop_nulls("end_slot")
        percents[f"{walk.replace('-', '_')}_percent"] = flows.select(100 * pl.col("done").mean()).item()
    return pl.DataFrame([percents])


def plans(scale: Scale) -> dict[str, ModelPlan]:
    """Variants, each by itself."""
    weights = {"beta": BETAS, "pairs": [scale.pick(20_000, 200_000)], "count": [scale.pick(100, 1000)]}
    tried = {"walk": lists.WALKS, "mode": ["shift", "keep"], "count": [scale.pick(100, 1000)]}
    load = {"servers": (40, 100), "mean": (30, 60, 120), "slots": [scale.pick(100_000, 1_000_000)]}
    return {
        "order": ModelPlan(order, weights, 2, name="weights"),
        "queues": ModelPlan(lists.queues, tried, scale.pick(2, 10), name="lists"),
        "walks": ModelPlan(walks, {"mode": ["keep", "shift"], **load}, scale.pick(2, 10), name="readings"),
    }


def tables(sweeps: Sweeps) -> Tables:
    """Properties of order and lists; the two readings."""
    found = {name: sweep.scan("table").drop("run").collect() for name, sweep in sweeps.items()}
    return {
        "order": found["order"].sort("beta", "replica").select((1 - pl.col("beta")).alias("alpha"), pl.all()),
        "queues": found["queues"].sort("mode", "walk", "replica"),
        "walks": found["walks"].sort("mode", "servers", "mean", "replica"),
        "broken": lists.broken(),
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
    """Effect of the weights, and the difference of the two readings."""
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
        "PEQ-A1.a": lists.in_time,
        "PEQ-A1.b": lists.insertions,
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
