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

SCHEMES: Mapping[str, str] = {"PEQ": "peq", "PDQ": "pdq", "Stateful D3": "stateful-d3", "D3": "d3"}
# What becomes of deadlines that are shorter than the flow: they stay, as the thesis has it; the size is added to
# every deadline; they are drawn anew. Claims are judged on A.
MODES: Mapping[str, str] = {"A": "keep", "B": "shift", "C": "redraw"}
SIZE_MIN, SIZE_MAX = 2, 198
# 40 servers with flows of 100 packets then start one packet a slot, but for the short time in which they have a flow.
FULL_LOAD = 1 / 4000

POINT = ("servers", "probability", "deadline_mean_slots", "size_max_packets")
THROUGHPUT = "application_throughput_percent"
MEASURES = (
    "offered_load",
    "flows",
    "feasible_percent",
    THROUGHPUT,
    "fct_mean_slots",
    "present_mean_flows",
)
ASSUMED = (
    "A server that is idle starts a flow in a slot with p = 1/4000 where nothing else is said, for all schemes: 40 "
    "servers then offer a packet a slot. The load that was measured is in the tables (offered_load, packets a slot).",
    "Deadlines are rounded up to whole slots. Claims are judged on mode A: those shorter than the flow stay, and "
    "count as missed. Beside it are B (the size is added to every deadline) and C (they are drawn anew).",
    "D3 shares the slot's packet in fractions, and its requests come in an order that is drawn afresh in each slot; "
    "PDQ drops a flow as soon as it cannot be in time; all schemes preempt.",
    "Full scale: 1,000,000 slots, 10 seeds for mode A and 3 each for B and C. Quick: 200,000 slots, 3 and 2 seeds, "
    "fewer points. All schemes have the same flows of each server.",
)


def plans(
    scale: Scale, axes: Mapping[str, Sequence[Any]], seeds: Mapping[str, int] | None = None
) -> dict[str, ModelPlan]:
    """A plan for each mode.

    Args:
        scale: Of slots and seeds.
        axes: Those of POINT that differ from 40 fully loaded servers, mean deadline 100, sizes up to 198.
        seeds: By mode, if not the usual ones.
    """
    usual: dict[str, Sequence[Any]] = dict(
        zip(POINT, ((40,), (FULL_LOAD,), (100,), (SIZE_MAX,)), strict=True)
    )
    slots = scale.pick(200_000, 1_000_000)
    seeds = seeds or scale.pick({"A": 3, "B": 2, "C": 2}, {"A": 10, "B": 3, "C": 3})
    return {
        f"mode-{mode}": ModelPlan(
            compare, {**usual, **axes, "mode": (mode,), "slots": (slots,)}, seeds[mode], name=f"mode {mode}"
        )
        for mode in MODES
    }


def compare(
    *,
    servers: int,
    probability: float,
    deadline_mean_slots: float,
    size_max_packets: int,
    mode: str,
    slots: int,
    replica: int,
) -> pl.DataFrame:
    """What each scheme makes of the same servers: a row a scheme."""
    config = {
        "generation": {"random": {"servers": servers, "probability": probability}},
        "classes": [
            {
                "sizes": {"uniform": {"min": SIZE_MIN, "max": size_max_packets}},
                "deadlines": {"exponential": {"mean": deadline_mean_slots, "infeasible": MODES[mode]}},
            }
        ],
        "run": {"slots": slots, "replica": replica},
    }
    return pl.concat(
        [
            _measures(slotted.run({**config, "discipline": discipline}), scheme, slots)
            for scheme, discipline in SCHEMES.items()
        ]
    )


def _measures(result: slotted.Result, scheme: str, slots: int) -> pl.DataFrame:
    flows = pl.DataFrame(result.flows)
    fit = ended(flows).select(pl.col("size") <= pl.col("deadline")).to_series()
    packets = flows["size"].cast(pl.Int64).sum()
    return measure(flows).select(
        pl.lit(scheme).alias("scheme"),
        pl.lit(packets / slots).alias("offered_load"),
        pl.col("flows").cast(pl.Int64),
        pl.lit(int(fit.sum())).alias("feasible"),
        pl.col("done").cast(pl.Int64),
        (100 * pl.lit(fit.mean(), pl.Float64)).alias("feasible_percent"),
        (100 * pl.col("application_throughput")).alias(THROUGHPUT),
        "fct_mean_slots",
        pl.lit(float(result.summary["present_mean"])).alias("present_mean_flows"),
    )


def runs(sweeps: Sweeps) -> pl.DataFrame:
    """All runs: a row for each point, mode, replica and scheme."""
    every = pl.concat([sweep.scan("table").collect().drop("run") for sweep in sweeps.values()])
    return every.sort(*POINT, "mode", "replica", maintain_order=True)


def tables(sweeps: Sweeps) -> dict[str, pl.DataFrame]:
    """The runs of mode A, which claims are judged on, and the means of all modes."""
    every = runs(sweeps)
    points = replica_means(every, [*POINT, "mode", "scheme"], MEASURES)
    return {"runs": every.filter(mode="A").drop("mode", "slots"), "points": points}


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


def wide(runs: pl.DataFrame, value: str = THROUGHPUT) -> pl.DataFrame:
    """A row for each point and replica, a column a scheme."""
    return runs.pivot("scheme", index=[*POINT, "replica"], values=value, maintain_order=True)


# At full scale the seeds of mode A, on which claims are judged.
NEEDS = {"runs": Needs(10, by=(*POINT, "scheme"))}
