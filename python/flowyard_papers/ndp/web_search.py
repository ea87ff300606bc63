"""Figure 9, experiment 4: completion times of web search flows under NDP, beside background of load 0.5 and 0.8.

20000 flows at 2500 a second on a 10-ary fat-tree, with the sizes of the web search workload (DCTCP, mean 1.7 MB), shown
for flows below 100 KB and for the others. The figure names the background's load only. The flows themselves add 0.137
of each server's link (contradiction NDP-X7), so that servers are offered 0.64 and 0.94: both loads are in the tables.
With an ACK and a pull of 64 B for each packet the other way, 0.94 is 1.02 of what a link carries: there is no steady
state then, and completion times grow for as long as background goes on.

There are two readings, and a verdict for each. By section 5 servers with background "are used only to run background
traffic": the load is the share of the servers that send nothing but endless flows, among themselves, and the others
are in permutations. In a network that does not block the two hardly meet, and what grows is the load of the servers
that are left, to 0.27 and 0.68. In the other reading background is a load on all servers, over which 0.137 is counted;
it fails NDP-F9.a, and would with any transport that shares evenly: links of receivers alone then make flows
1 / (1 - load) times as long on average, which is 2.8 and 16. A variant of the first has a random matrix; nothing is
judged by that.
"""

from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.papers import style
from flowyard.papers.figure import Figure, Needs, Scale, Sweeps, Tables
from flowyard.sweeps import Axis, Plan, Sweep
from flowyard_papers.ndp._background import (
    APART,
    EVERYWHERE,
    LARGE,
    LOADS,
    NAMES,
    RANDOM,
    READINGS,
    SMALL,
    SPLIT,
    by_reading,
    fast,
    larger_take_longer,
    slower_under_load,
    unsteady,
)
from flowyard_papers.ndp._scheduler import ASSUMED, BACKGROUND, Scheduler

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

FLOWS, RATE, SERVERS = 20_000, 2500, 250
PERCENTILES = (1, 5, 10, 25, 50, 75, 90, 95, 99)


def plans(scale: Scale) -> dict[str, Plan]:
    """All readings of both loads; at quick scale fewer flows and servers, which are offered as much each."""
    shared, seconds = _web_search(*scale.pick((4, 16, 60), (10, SERVERS, FLOWS)))
    shared["traffic"].append(
        {
            "name": BACKGROUND,
            # It goes on for as long again as the others arrive, or until the last of these has ended.
            "arrivals": {"poisson": {"load": LOADS[0], "until": f"{round(2000 * seconds)}ms"}},
            "matrix": "uniform",
            "sizes": {"fixed": "1MB"},
            "background": True,
        }
    )
    # A fifth of 16 servers would be 3.
    apart, random = (
        _web_search(*scale.pick((6, 54, 80), (10, SERVERS, FLOWS)), matrix=matrix, long_share=LOADS[0])[0]
        for matrix in ("permutation", "uniform")
    )
    made = {
        APART: (apart, "sources.share", scale.pick(1, 5)),
        # At 0.8 a run takes twenty minutes, and its median is ten times the limit and more: one seed.
        EVERYWHERE: (shared, "arrivals.poisson.load", 1),
        # Nothing is judged by it, and each run takes ten minutes.
        RANDOM: (random, "sources.share", 1),
    }
    return {
        _folder(name): Plan(
            scenario,
            [Axis("background", {f"traffic.{BACKGROUND}.{key}": list(LOADS)})],
            replicas,
            name=name,
        )
        for name, (scenario, key, replicas) in made.items()
    }


def _folder(where: str) -> str:
    return where.replace(", ", "-").replace(" ", "-")


def _web_search(
    k: int, servers: int, flows: int, *, matrix: str = "uniform", long_share: float = 0
) -> tuple[dict[str, Any], float]:
    """The scenario of so many flows that are measured, and in how many seconds they arrive."""
    rate = RATE * servers / SERVERS
    # An eighth of the arrivals fills the network and is not measured.
    first = flows // 8
    scheduler = Scheduler(
        k=k,
        flows=first + flows,
        size="web-search",
        rate=rate,
        matrix=matrix,
        long_share=long_share,
        changes={"run": {"measure": {"from": f"{round(first / rate * 1e6)}us", "until": "end"}}},
    )
    return scheduler.scenario(), (first + flows) / rate


def tables(sweeps: Sweeps) -> Tables:
    """Percentiles of each run and range of sizes; the loads and counts of each run."""
    made = [_tables(where, sweeps[_folder(where)]) for where in (*READINGS, RANDOM)]
    return {name: pl.concat(one[name] for one in made) for name in ("runs", "percentiles", "loads")}


def _tables(where: str, sweep: Sweep) -> Tables:
    summaries = sweep.summaries()
    flows = sweep.flows.filter("measured").with_columns(
        on=pl.lit(where),
        range=pl.when(pl.col("size_bytes") < SPLIT).then(pl.lit(SMALL)).otherwise(pl.lit(LARGE)),
    )
    keys = ["on", "background", "replica", "range"]
    counts = flows.group_by(keys).agg(
        flows=pl.len().cast(pl.Int64),
        completed=pl.col("completed").sum().cast(pl.Int64),
        fct_mean_ms=pl.col("fct_ps").mean() / 1e9,
        slowdown_p50=pl.col("slowdown").median(),
    )
    points = [
        flows.group_by(keys)
        .agg(
            fct_ms=pl.col("fct_ps").quantile(percent / 100, "linear") / 1e9,
            slowdown=pl.col("slowdown").quantile(percent / 100, "linear"),
        )
        .with_columns(percentile=pl.lit(percent))
        for percent in PERCENTILES
    ]
    loads = [
        {
            "on": where,
            "background": row["background"],
            "replica": row["replica"],
            "entry": entry["name"],
            "offered": entry["offered_load"],
            "realised": entry["realised_load"],
            "carried": entry["carried_load"],
        }
        for row in sweep.runs.iter_rows(named=True)
        for entry in summaries[row["run"]]["traffic"]
    ]
    known = dict.fromkeys(("offered", "realised", "carried"), pl.Float64)
    return {
        "runs": counts.sort(keys).collect(),
        "percentiles": pl.concat(points).sort(*keys, "percentile").collect(),
        "loads": pl.DataFrame(loads, schema_overrides=known),
    }


def draw(tables: Tables) -> "Picture":
    """FCT by percentile in each range, and slowdown in the lower one."""
    picture, panels = style.panels(1, 3)
    keys = ["on", "background", "range", "percentile"]
    means = tables["percentiles"].group_by(keys).agg(pl.col("fct_ms", "slowdown").mean())
    shown = ((SMALL, "fct_ms"), (LARGE, "fct_ms"), (SMALL, "slowdown"))
    for axes, (name, column) in zip(panels, shown, strict=True):
        for load, colour, marker in zip(LOADS, style.COLOURS, style.MARKERS, strict=False):
            for where, line in ((APART, "-"), (EVERYWHERE, "--"), (RANDOM, ":")):
                rows = means.filter(on=where, background=load, range=name).sort("percentile")
                if len(rows):
                    look: dict[str, Any] = {"color": colour, "marker": marker, "linestyle": line}
                    label = f"background {load:g}, {NAMES[where]}"
                    if unsteady(tables, where, load):
                        label += "\n(no steady state)"
                    axes.plot(rows[column], rows["percentile"] / 100, label=label, **look)
        unit = "FCT (ms)" if column == "fct_ms" else "slowdown"
        axes.set(xlabel=unit, title=f"flows {name}", xscale="log", ylim=(0, 1.02))
    panels[0].set_ylabel("share of the flows")
    picture.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return picture


FIGURE = Figure(
    id="NDP-F9",
    title="Figure 9: web search flows beside background traffic",
    plans=plans,
    tables=tables,
    claims={
        "NDP-F9.a": by_reading(fast),
        "NDP-F9.b": by_reading(slower_under_load),
        "NDP-F9.c": by_reading(larger_take_longer),
    },
    draw=draw,
    needs={
        name: (
            Needs(5, by=by, where={"on": APART}, reading=APART),
            Needs(1, by=by, where={"on": EVERYWHERE}, reading=EVERYWHERE),
        )
        for name, by in {
            "runs": ("background", "range"),
            "percentiles": ("background", "range", "percentile"),
        }.items()
    },
    assumed=(
        *ASSUMED,
        "Background is endless flows among half or 0.8 of the servers, which have nothing else; web search flows go "
        "between the others, in permutations.",
        "In the other reading background is flows of 1 MB between random servers, Poisson arrivals of the load that "
        "the figure names, for twice as long as web search flows arrive. These are between random servers too, and "
        "bring their own load.",
        "The ranges are below 100 KB, and from there on; an eighth more flows come first and are not measured. The "
        "paper names no warm-up. Carried loads are those from the first measured flow to the end of the run.",
        "Quick scale has 80 flows on 54 servers, 60 on 16 for the other reading, each offered as much as one of 250.",
    ),
)
