"""An extension of a plan in the text (section 6): receivers that pull short flows first.

Two flows without an end come to every server, and beside them short ones of 150 KB, Poisson arrivals at random servers.
Receivers pull in the order of arrival (FIFO), which the paper has, in turns, short flows first, or short flows with
eight pulls a turn where others have one. First windows are pushed whatever the order, and ports know no priorities:
what can differ is whose pull waits.

All orders see the same flows at the same times. Goodput is that of all flows together, those without an end included,
from the start to the end of the last short flow.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import judge, loads, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.sweeps import Axis, Plan
from flowyard_papers.ndp._scheduler import ASSUMED, BACKGROUND, NDP, PORTS, QUEUE, SHORT, fat_tree

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

FIFO, FAIR, STRICT, WEIGHTED = "FIFO", "in turns", "short first", "weighted"
ORDERS: Mapping[str, str] = {FIFO: "fifo", FAIR: "fair", STRICT: "strict", WEIGHTED: "weighted"}
LOADS = (0.1, 0.2, 0.4)
SIZE = 150_000
LONG_EACH = 2
# Of the default weights, 8, 4, 2 and 1, short flows have the first and the others the last.
SHORT_PRIORITY, LONG_PRIORITY = 0, 3


def plans(scale: Scale) -> dict[str, Plan]:
    """All orders at three loads of short flows."""
    k, flows = scale.pick((4, 150), (6, 3000))
    servers = k**3 // 4
    traffic = [
        {
            "name": SHORT,
            "priority": SHORT_PRIORITY,
            "arrivals": {"poisson": {"load": LOADS[0]}},
            "matrix": "uniform",
            "sizes": {"fixed": f"{SIZE}B"},
            "flows": flows,
        },
        {
            "name": BACKGROUND,
            "priority": LONG_PRIORITY,
            "arrivals": "at-once",
            "matrix": "permutation",
            "sizes": "endless",
            "flows": LONG_EACH * servers,
            "background": True,
        },
    ]
    scenario = {
        "topology": fat_tree(k),
        "transport": dict(NDP),
        "queue": {"ndp": {"data_limit": {"full-packets": QUEUE}, **PORTS["ndp"]}},
        "traffic": traffic,
        # Flows without an end fill all links from the beginning on.
        "run": {"measure": "all"},
    }
    axes = [
        Axis("order", {"transport.ndp.pull_order": list(ORDERS.values())}, labels=list(ORDERS)),
        Axis("load", {f"traffic.{SHORT}.arrivals.poisson.load": list(LOADS)}),
    ]
    return {"orders": Plan(scenario, axes, scale.pick(2, 5), name="orders")}


def tables(sweeps: Sweeps) -> Tables:
    """One row per run: completion of the short flows, goodput of all; null where not all short flows have ended."""
    sweep = sweeps["orders"]
    end_ps = {run: summary["end_ps"] for run, summary in sweep.summaries().items()}
    short = pl.col("tag") == SHORT
    fct_ms = pl.col("fct_ps").filter(short) / 1e9
    done = pl.col("completed").filter(short).all()
    runs = (
        sweep.flows.with_columns(end_ps=pl.col("run").replace_strict(end_ps, return_dtype=pl.Int64))
        .group_by("order", "load", "replica")
        .agg(
            pl.when(done).then(fct_ms.mean()).alias("fct_mean_ms"),
            pl.when(done).then(fct_ms.quantile(0.99, "linear")).alias("fct_p99_ms"),
            pl.when(done).then(pl.col("slowdown").filter(short).mean()).alias("slowdown_mean"),
            goodput_gbps=8e3 * pl.col("delivered_bytes").sum() / pl.col("end_ps").first(),
            goodput_long_gbps=8e3 * pl.col("delivered_bytes").filter(~short).sum() / pl.col("end_ps").first(),
            trims=pl.col("trims").sum().cast(pl.Int64),
        )
        .collect()
    )
    keys = ["order", "load", "replica"]
    runs = runs.join(loads.of_runs(sweep, ["order", "load"], SHORT), on=keys, validate="1:1").sort(keys)
    measured = [name for name in runs.columns if name not in keys]
    return {"runs": runs, "points": replica_means(runs, ["order", "load"], measured)}


def _mean(tables: Tables, order: str, load: float, column: str) -> float | None:
    values = tables["runs"].filter(order=order, load=load)[column]
    mean = None if values.null_count() else values.mean()
    return mean if isinstance(mean, float) else None


def _short_first(tables: Tables) -> Judgement:
    found = []
    for load in LOADS:
        fct, fifo_fct, goodput, fifo_goodput = (
            _mean(tables, order, load, column)
            for column in ("fct_mean_ms", "goodput_gbps")
            for order in (STRICT, FIFO)
        )
        if fct is None or fifo_fct is None or goodput is None or fifo_goodput is None:
            return judge.not_reached(f"not all short flows have ended at load {load:g}")
        measured = f"load {load:g}: {fct:.4g} ms, with FIFO {fifo_fct:.4g} ms"
        found.append(judge.judged(fct < fifo_fct, measured, "the former is lower"))
        total = judge.within(goodput / fifo_goodput, 1.0, absolute=0.02)
        found.append(total.called("goodput over FIFO's"))
    return judge.together(found)


def draw(tables: Tables) -> "Picture":
    """Mean and 99th percentile of the short flows' FCT, goodput of all, by load."""
    picture, panels = style.panels(1, 3)
    points = tables["points"]
    shown = {
        "fct_mean_ms": ("short flows", "mean FCT (ms)"),
        "fct_p99_ms": ("short flows", "p99 of the FCT (ms)"),
        "goodput_gbps": ("all flows", "goodput (Gbps)"),
    }
    for axes, (column, (title, label)) in zip(panels, shown.items(), strict=True):
        for place, order in enumerate(ORDERS):
            style.curve(axes, points.filter(order=order).sort("load"), "load", column, place, order)
        axes.set(xlabel="load of short flows", ylabel=label, title=title, ylim=(0, 1.05 * axes.get_ylim()[1]))
    panels[0].legend(loc="upper left")
    return picture


FIGURE = Figure(
    id="NDP-P5",
    title="Pulling short flows first",
    plans=plans,
    tables=tables,
    claims={"NDP-P5": _short_first},
    draw=draw,
    needs={"runs": Needs(5, by=("order", "load"))},
    assumed=(
        *ASSUMED,
        f"Every server sends {LONG_EACH} flows without an end and receives as many; short flows have 150 KB, each "
        f"between two servers drawn at random, and offer {', '.join(f'{load:g}' for load in LOADS)} of every link.",
        "Claims are judged for short flows first against FIFO; turns, and turns with weights of 8 and 1, are beside.",
        "A 6-ary fat-tree and 3000 short flows; at quick scale a 4-ary one and 150. All of them count, since flows "
        "without an end fill the links from the beginning on; the tables have the carried load of short flows.",
    ),
)
