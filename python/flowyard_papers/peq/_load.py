"""Servers that start flows at random on the slotted link: the runs that figures 3.5 to 3.16 share.

The thesis, sections 3.4 to 3.6: each server has at most one flow, and when idle starts one in a slot with a
probability p. Application throughput is the share of the flows generated that were done by their deadline.
"""

from collections.abc import Mapping, Sequence
from math import exp, fsum
from typing import Any

import polars as pl

from flowyard import slotted
from flowyard.analysis.intervals import replica_means
from flowyard.papers.figure import Needs, Scale, Sweeps
from flowyard.slotted.measures import ended, measure
from flowyard.sweeps.plan import ModelPlan

SCHEMES: Mapping[str, Any] = {
    "PEQ": "peq",
    "PDQ": {"pdq": {"early_termination": "waiting"}},
    "Stateful D3": "stateful-d3",
    "D3": "d3",
}
# PDQ as its other reading has it: the flow in service leaves, too, once it cannot be in time.
STRICT: Mapping[str, Any] = {"PDQ, strict": {"pdq": {"early_termination": "strict"}}}
# Which flows of PDQ early termination removes, the words of the thesis first, and the scheme that has the rule.
RULES: Mapping[str, str] = {"waiting": "PDQ", "strict": "PDQ, strict"}
# D3 as a variant has it: flows that can no longer finish are removed in every slot.
QUENCHED: Mapping[str, Any] = {
    "Stateful D3, quench": {"stateful-d3": {"quench": True}},
    "D3, quench": {"d3": {"quench": True}},
}
# What becomes of flows whose deadline is shorter than the flow: they stay, as the thesis has it; the size is added to
# every deadline; size and deadline are drawn anew until the flow fits. Each is a reading of the claims, A the first.
MODES: Mapping[str, str] = {"A": "keep", "B": "shift", "C": "redraw"}
# As pictures name them.
MODE_TITLES: Mapping[str, str] = {"A": "A: as drawn", "B": "B: size added", "C": "C: flow redrawn"}
SIZE_MIN, SIZE_MAX = 2, 198
# 40 servers with flows of 100 packets then start one packet per slot, but for the short time in which they have a flow.
FULL_LOAD = 1 / 4000
# Replicas where nothing else is said, and slots, at full scale.
SEEDS, SLOTS = 10, 1_000_000

POINT = ("servers", "probability", "deadline_mean_slots", "size_max_packets")
THROUGHPUT = "application_throughput_percent"
MEASURES = (
    "offered_load",
    "flows",
    "size_mean_packets",
    "feasible_percent",
    THROUGHPUT,
    "fct_mean_slots",
    "present_mean_flows",
)
# What the tables of the four studies must have for a verdict.
NEEDS = {"runs": Needs(SEEDS, by=(*POINT, "mode", "scheme"), least={"slots": SLOTS})}
ASSUMED = (
    "A server that is idle starts a flow in a slot with p = 1/4000 where nothing else is said, for all schemes and "
    "modes: 40 servers then offer a packet per slot if flows have 100 packets on average. The measured load is "
    "in the tables, by mode (offered_load, packets per slot).",
    "Deadlines are rounded up to whole slots. The thesis does not say what becomes of flows whose deadline is shorter "
    "than the flow, so that there are three modes, with a verdict each; the claim's own is that of A. A: such flows "
    "stay, and count as missed. B: the size is added to every deadline. C: such a flow is drawn anew, size and "
    "deadline together, until it fits. Flows of C are small, 21.5, 53.8 and 74.2 packets on average at mean deadlines "
    "of 20, 60 and 120 slots (100 in A and B), and the load is less by as much.",
    "D3 shares the slot's packet in fractions, and its requests come in an order that is drawn afresh in each slot; "
    "all schemes preempt.",
    "PDQ's early termination has two readings, with a verdict each in each mode. Waiting, the claim's own: section "
    "1.4 has the flows that are not being served wait, and 'some of the waiting flows may become invalid. These "
    "invalid flows are removed'; the head of the list, which is served, stays although it may not be in time. Strict: "
    "it is removed as well, as PEQ removes flows that 'will expire before been completed' (2.2). They differ most in "
    "mode A, where flows come that cannot be in time and are due first; in B and C only by flows that come to the "
    "head in the slot in which they are late.",
    "Full scale: 1,000,000 slots, 10 seeds for each mode. Quick: 200,000 slots, 3 seeds for mode A and 2 each for B "
    "and C, fewer points. All schemes have the same flows of each server.",
)


def plans(
    scale: Scale, axes: Mapping[str, Sequence[Any]], seeds: Mapping[str, int] | None = None
) -> dict[str, ModelPlan]:
    """A plan for each mode.

    Args:
        scale: Of slots and seeds.
        axes: Those of POINT that differ from 40 fully loaded servers, mean deadline 100, sizes up to 198; `quench`,
            whether D3 with it is run, too.
        seeds: By mode, where they are not the usual ones.
    """
    usual: dict[str, Sequence[Any]] = dict(
        zip(POINT, ((40,), (FULL_LOAD,), (100,), (SIZE_MAX,)), strict=True)
    )
    slots = scale.pick(200_000, SLOTS)
    count = {**scale.pick({"A": 3, "B": 2, "C": 2}, dict.fromkeys(MODES, SEEDS)), **(seeds or {})}
    return {
        f"mode-{mode}": ModelPlan(
            compare,
            {**usual, "quench": (False,), **axes, "mode": (mode,), "slots": (slots,)},
            count[mode],
            name=f"mode {mode}",
        )
        for mode in MODES
    }


def compare(*, quench: bool, **point: Any) -> pl.DataFrame:
    """Results of each scheme on the same servers: a row per scheme.

    Args:
        quench: Whether D3 with it is run, too.
        point: Arguments of `configured`.
    """
    return pl.concat(
        [
            measures(slotted.run({**configured(**point), "discipline": discipline}), scheme, point["slots"])
            for scheme, discipline in {**SCHEMES, **STRICT, **(QUENCHED if quench else {})}.items()
        ]
    )


def configured(
    *,
    servers: int,
    probability: float,
    deadline_mean_slots: float,
    size_max_packets: int,
    mode: str,
    slots: int,
    replica: int,
) -> dict[str, Any]:
    """The run of a point, but for its discipline."""
    deadlines = {"exponential": {"mean": deadline_mean_slots, "infeasible": MODES[mode]}}
    return {
        "generation": {"random": {"servers": servers, "probability": probability}},
        "classes": [
            {"sizes": {"uniform": {"min": SIZE_MIN, "max": size_max_packets}}, "deadlines": deadlines}
        ],
        "run": {"slots": slots, "replica": replica},
    }


def measures(result: slotted.Result, scheme: str, slots: int) -> pl.DataFrame:
    """The measures of a scheme's run, with its name, in one row."""
    flows = pl.DataFrame(result.flows)
    fit = ended(flows).select(pl.col("size") <= pl.col("deadline")).to_series()
    packets = flows["size"].cast(pl.Int64).sum()
    return measure(flows).select(
        pl.lit(scheme).alias("scheme"),
        pl.lit(packets / slots).alias("offered_load"),
        pl.col("flows").cast(pl.Int64),
        pl.lit(packets / len(flows) if len(flows) else None, pl.Float64).alias("size_mean_packets"),
        pl.lit(int(fit.sum())).alias("feasible"),
        pl.col("done").cast(pl.Int64),
        (100 * pl.lit(fit.mean(), pl.Float64)).alias("feasible_percent"),
        (100 * pl.col("application_throughput")).alias(THROUGHPUT),
        "fct_mean_slots",
        pl.lit(float(result.summary["present_mean"])).alias("present_mean_flows"),
    )


def runs(sweeps: Sweeps) -> pl.DataFrame:
    """All runs: a row for each point, mode, replica and scheme."""
    every = pl.concat([sweep.scan("table").collect() for sweep in sweeps.values()])
    return every.drop("run", "quench").sort(*POINT, "mode", "replica", maintain_order=True)


def tables(sweeps: Sweeps) -> dict[str, pl.DataFrame]:
    """The runs of the usual replicas, and their means."""
    every = runs(sweeps).filter(pl.col("replica") < SEEDS)
    return {"runs": every, "points": replica_means(every, [*POINT, "mode", "scheme"], MEASURES)}


def ceilings(points: Sequence[tuple[float, float]]) -> pl.DataFrame:
    """The share of flows of mode A that are feasible alone: no scheme can have more.

    A deadline D is exponential with a mean, rounded up. A flow of t packets has D >= t if the time drawn is above
    t - 1, not t; the formula that claims name leaves the rounding out.

    Args:
        points: Mean deadlines in slots and largest sizes in packets.
    """
    rows = []
    for mean, largest in points:
        sizes = range(SIZE_MIN, int(largest) + 1)
        plain, rounded = (
            100 * fsum(exp(-(size - less) / mean) for size in sizes) / len(sizes) for less in (0, 1)
        )
        rows.append(
            {
                "deadline_mean_slots": mean,
                "size_max_packets": largest,
                "ceiling_percent": plain,
                "ceiling_rounded_up_percent": rounded,
            }
        )
    return pl.DataFrame(rows)


def room(mean: float, offered: float) -> float:
    """The percentage of the flows of mode C that the link has room for if the smallest ones are served, and no others.

    A flow of t packets is there with a weight of exp(-(t - 1)/mean), the probability that its deadline is no shorter.
    No scheme has more flows in time.

    Args:
        mean: Of the deadlines, in slots.
        offered: Packets per slot of all flows.
    """
    weights = {size: exp(-(size - 1) / mean) for size in range(SIZE_MIN, SIZE_MAX + 1)}
    left, served = fsum(size * weight for size, weight in weights.items()) / offered, []
    for size, weight in weights.items():
        share = min(1.0, max(0.0, left / (size * weight)))
        served.append(share * weight)
        left -= size * weight
    return 100 * fsum(served) / fsum(weights.values())


def by_rule(runs: pl.DataFrame, rule: str) -> pl.DataFrame:
    """The runs in which PDQ is that of one rule of early termination, without the other one."""
    others = [scheme for name, scheme in RULES.items() if name != rule]
    own = runs.remove(pl.col("scheme").is_in(others))
    return own.with_columns(pl.col("scheme").replace({RULES[rule]: "PDQ"}))


def wide(runs: pl.DataFrame, value: str = THROUGHPUT) -> pl.DataFrame:
    """A row for each point and replica of one mode, a column a scheme."""
    return runs.pivot("scheme", index=[*POINT, "replica"], values=value, maintain_order=True)
