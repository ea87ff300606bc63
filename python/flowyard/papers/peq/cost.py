"""PEQ section 2.2 and conclusions: a slot of PEQ is said to cost no more than one of PDQ.

Measured are the simulator's own versions, slot by slot, with the same flows present throughout.
"""

import time
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard import slotted
from flowyard.papers import style
from flowyard.papers.figure import Figure, Scale, Sweeps, Tables
from flowyard.papers.judge import Judgement, at_most, not_reached

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

# Flows present when a slot is timed.
PRESENT = (50, 100, 200, 400, 800)
TIMED_SLOTS = 1000
WORKLOADS = {"all wait": "all fit, one after the other", "all move": "each goes ahead of all others"}
NAMES = {"peq": "PEQ", "pdq": "PDQ"}


def crowd(flows: int, workload: str) -> dict[str, Any]:
    """A generation: flows that all stay for TIMED_SLOTS slots, in which their order by H does not change.

    "all wait": deadlines are far, so that each flow of the list is put at its end. "all move": the larger ones are due
    so early that each goes ahead of all others, which can wait: the longest way through the list for everyone.
    """
    far = 1_000_000_000
    sizes = [200_000 + TIMED_SLOTS * place for place in range(flows)]
    listed, before, after = [], 0, sum(sizes)
    for size in sizes:
        before += size
        # With all larger ones ahead it is just in time; after all smaller ones it would be late.
        moves = workload == "all move" and after < before
        listed.append({"size": size, "deadline": after if moves else far})
        after -= size
    return {"list": listed}


def slot_us(scheme: str, generation: dict[str, Any], repeats: int) -> float:
    """Microseconds of a slot, the best of several; less what a run takes besides its slots."""

    def best(slots: int) -> float:
        config = {"generation": generation, "discipline": scheme, "run": {"slots": slots, "step": "slot"}}
        taken = []
        for _ in range(repeats):
            # Of this thread's processor, so that what else the machine does counts for less.
            start = time.thread_time()
            slotted.run(config)
            taken.append(time.thread_time() - start)
        return min(taken)

    return 1e6 * (best(TIMED_SLOTS) - best(1)) / (TIMED_SLOTS - 1)


def times(repeats: int) -> pl.DataFrame:
    """Microseconds of a slot by what flows are like, scheme and flows present."""
    return pl.DataFrame(
        [
            {
                "workload": workload,
                "scheme": scheme,
                "flows": flows,
                "slot_us": slot_us(scheme, crowd(flows, workload), repeats),
            }
            for workload in WORKLOADS
            for flows in PRESENT
            for scheme in NAMES
        ]
    )


def tables(scale: Scale, sweeps: Sweeps) -> Tables:
    """The times, measured here and now."""
    del sweeps
    return {"times": times(scale.pick(3, 7))}


def slope(times: pl.DataFrame, workload: str, scheme: str) -> float:
    """Of the logarithm of a slot's time over that of the flows present."""
    import numpy as np

    rows = times.filter(workload=workload, scheme=scheme)
    return float(np.polyfit(np.log(rows["flows"].to_numpy()), np.log(rows["slot_us"].to_numpy()), 1)[0])


def _complexity(tables: Tables) -> Judgement:
    points = {(row["workload"], row["scheme"], row["flows"]) for row in tables["times"].iter_rows(named=True)}
    if len(points) < len(WORKLOADS) * len(NAMES) * len(PRESENT):
        return not_reached("not everything was timed")
    own = {
        workload: {scheme: slope(tables["times"], workload, scheme) for scheme in NAMES}
        for workload in WORKLOADS
    }
    said = [
        f"{WORKLOADS[workload]}: PEQ n^{slopes['peq']:.2f}, PDQ n^{slopes['pdq']:.2f}"
        for workload, slopes in own.items()
    ]
    worst = own["all move"]
    gap = worst["peq"] - worst["pdq"]
    reason = (
        "; ".join(said)
        + "; a minimum is all that PDQ needs for a slot, which is O(n), whereas PEQ goes through the list "
        "for each flow: within the O(n^2) stated, but more than PDQ"
    )
    return at_most(abs(gap), 0.3).because(reason)


def draw(tables: Tables) -> "Picture":
    """Time of a slot over the flows present."""
    picture, (axes,) = style.panels(1, 1, size=(5.5, 3.6))
    for place, workload in enumerate(WORKLOADS):
        for scheme, name in NAMES.items():
            of = tables["times"].filter(workload=workload, scheme=scheme)
            exponent = slope(tables["times"], workload, scheme)
            axes.plot(
                of["flows"],
                of["slot_us"],
                color=style.COLOURS[list(NAMES).index(scheme)],
                marker=style.MARKERS[place],
                linestyle="-" if workload == "all wait" else "--",
                label=f"{name}, {workload}: n^{exponent:.2f}",
            )
    axes.set(xscale="log", yscale="log", xlabel="flows present")
    axes.set_xticks(PRESENT, [str(flows) for flows in PRESENT])
    axes.minorticks_off()
    axes.set_title("time of a slot (us)", loc="left")
    axes.legend()
    return picture


FIGURE = Figure(
    id="PEQ-P13",
    title="What a slot costs under PEQ and PDQ",
    tables=tables,
    claims={"PEQ-P13": _complexity},
    draw=draw,
    assumed=(
        "The only claim that depends on a clock, hence on the machine and on what else it does: times are processor "
        "time, the best of several runs, slot by slot, one release, with all flows present throughout.",
        "It is judged where PEQ's walk through the list is longest; where all flows fit one after the other is "
        "beside it.",
    ),
)
