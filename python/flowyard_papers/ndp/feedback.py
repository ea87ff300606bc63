"""Multi-level feedback queues for NDP, which the paper plans (section 6): do short flows gain, and at whose cost?

Web search flows go between the servers of one rack, at random. Ports have NDP's header queue, and for data either one
queue or three in strict priority: a flow is in the first one up to 100 KB, in the second one up to 1 MB, and then in
the last one. Sizes are unknown. The ports are a prototype in Python, the same class without and with levels.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

import flowyard as fy
from flowyard.analysis.intervals import replica_means
from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.sweeps.plan import ModelPlan
from flowyard_papers.ndp._background import LARGE, RANGES, SMALL, SPLIT
from flowyard_papers.ndp._feedback import feedback
from flowyard_papers.ndp._scheduler import ASSUMED, CONTROL_BYTES, NDP

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

PLAIN, LEVELS = "one queue", "three levels"
THRESHOLDS: Mapping[str, tuple[int, ...]] = {PLAIN: (), LEVELS: (SPLIT, 1_000_000)}
SERVERS, LOADS = 16, (0.3, 0.5, 0.7)
# By how much long flows may take longer.
MORE_PCT = 10
KEYS = ["queues", "load", "range"]


def point(queues: str, load: float, offered: int, replica: int) -> pl.DataFrame:
    """Mean completion times of short and of long flows, in one run."""
    scenario: dict[str, Any] = {
        "topology": {"single-switch": {"hosts": SERVERS, "rate": "1Gbps", "delay": "9.5us"}},
        # What is left of a packet that such a port trims is its headers.
        "transport": {"ndp": NDP["ndp"] | {"header_bytes": f"{CONTROL_BYTES}B"}},
        "queue": {"python": {"name": "feedback"}},
        "traffic": [
            {
                "name": "flows",
                "arrivals": {"poisson": {"load": load}},
                "matrix": "uniform",
                "sizes": "web-search",
                "flows": offered,
            }
        ],
        "run": {"measure": "all", "replica": replica},
    }
    result = fy.run(scenario, queues={"feedback": feedback(THRESHOLDS[queues])})
    small = pl.col("size_bytes") < SPLIT
    return (
        pl.DataFrame(result.flows)
        .group_by(range=pl.when(small).then(pl.lit(SMALL)).otherwise(pl.lit(LARGE)))
        .agg(
            flows=pl.len().cast(pl.Int64),
            completed=pl.col("completed").sum().cast(pl.Int64),
            fct_mean_ms=pl.col("fct_ps").mean() / 1e9,
            fct_p99_ms=pl.col("fct_ps").quantile(0.99, "linear") / 1e9,
            trims=pl.col("trims").sum().cast(pl.Int64),
        )
        .sort("range")
    )


def plans(scale: Scale) -> dict[str, ModelPlan]:
    """Both kinds of port at three loads, over the same flows."""
    axes: dict[str, list[Any]] = {
        "queues": list(THRESHOLDS),
        "load": list(LOADS),
        "offered": [scale.pick(150, 1000)],
    }
    return {"rack": ModelPlan(point, axes, scale.pick(1, 5), name="queues of a rack")}


def tables(sweeps: Sweeps) -> Tables:
    """One row per run and range of sizes, and the means."""
    values = ["fct_mean_ms", "fct_p99_ms", "trims"]
    columns = [*KEYS, "replica", "flows", "completed", *values]
    runs = sweeps["rack"].scan("table").select(columns).sort(*KEYS, "replica").collect()
    return {"runs": runs, "points": replica_means(runs, KEYS, values)}


def _gains(tables: Tables) -> Judgement:
    runs = tables["runs"]
    if not (runs["completed"] == runs["flows"]).all():
        return judge.not_reached("not all flows have ended")
    found = []
    for load in LOADS:
        means: dict[tuple[str, str], float] = {}
        for (queues, name), own in runs.filter(load=load).group_by("queues", "range"):
            means[str(queues), str(name)] = float(own["fct_mean_ms"].mean())  # type: ignore[arg-type]
        if len(means) < len(THRESHOLDS) * len(RANGES):
            return judge.not_reached(f"no flows of both ranges at load {load:g}")
        short, plain = means[LEVELS, SMALL], means[PLAIN, SMALL]
        said = f"load {load:g}: {short:.4g} ms, with one queue {plain:.4g} ms"
        found.append(judge.judged(short < plain, said, "the former is lower"))
        longer = 100 * (means[LEVELS, LARGE] / means[PLAIN, LARGE] - 1)
        found.append(judge.at_most(longer, MORE_PCT).measured_in("%").called("long ones take longer by"))
    return judge.together(found)


def draw(tables: Tables) -> "Picture":
    """Mean FCT by load, of short and of long flows."""
    picture, panels = style.panels(1, len(RANGES))
    for axes, name in zip(panels, RANGES, strict=True):
        for place, queues in enumerate(THRESHOLDS):
            rows = tables["points"].filter(queues=queues, range=name).sort("load")
            style.curve(axes, rows, "load", "fct_mean_ms", place, queues)
        axes.set(xlabel="load", ylabel="mean FCT (ms)", title=f"flows {name}")
        axes.set_ylim(0, 1.1 * axes.get_ylim()[1])
    panels[0].legend()
    return picture


FIGURE = Figure(
    id="NDP-P9",
    title="Multi-level feedback queues with NDP",
    plans=plans,
    tables=tables,
    claims={"NDP-P9": _gains},
    draw=draw,
    needs={"runs": Needs(5, by=KEYS)},
    assumed=(
        *ASSUMED,
        f"{SERVERS} servers on one switch; web search sizes, Poisson arrivals, random pairs, from an empty rack on; "
        "1000 flows, 150 at quick scale. Of the 1500 B of a packet 64 B are headers: what is left when it is trimmed.",
        "Levels end at 100 KB and 1 MB; each has 8 packets of its own, and a packet that finds its level full is "
        "trimmed itself, in both kinds of port. Pulls take turns as ever. Short flows are those below 100 KB.",
    ),
)
