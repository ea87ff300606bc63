"""Figure 9, experiment 4: completion times of web search flows under NDP, beside background of load 0.5 and 0.8.

20000 flows at 2500 a second on a 10-ary fat-tree, with the sizes of the web search workload (DCTCP, mean 1.7 MB), shown
for flows below 100 KB and for the others. The figure names the background's load only. The flows themselves add 0.137
of each server's link (contradiction NDP-X7), so that servers are offered 0.64 and 0.94: both loads are in the tables.
With an ACK and a pull of 64 B for each packet the other way, 0.94 is 1.02 of what a link carries: there is no steady
state then, and completion times grow for as long as background goes on.

There are two readings. Judged is the usual one, background as a load on all servers. It fails NDP-F9.a, and would with
any transport that shares evenly: links of receivers alone then make flows 1 / (1 - load) times as long in the mean,
which is 2.8 and 16. In the other one, what the scheduler of section 5 can do, the load is the share of the servers that
send nothing but endless flows, among themselves; in a network that does not block these hardly meet the others, and
what grows is the load of the servers that are left, to 0.27 and 0.68. The tables have it too, from fewer runs.
"""

from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.analysis import picoseconds
from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.papers.ndp._scheduler import ASSUMED, BACKGROUND, SHORT, Scheduler
from flowyard.sweeps import Axis, Plan, Sweep

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

LOADS = (0.5, 0.8)
# Where background is: on all servers, or on some that have nothing else.
EVERYWHERE, APART = "all servers", "own servers"
FLOWS, RATE, SERVERS = 20_000, 2500, 250
SPLIT, SMALL, LARGE = 100_000, "below 100 KB", "100 KB and more"
RANGES = (SMALL, LARGE)
PERCENTILES = (1, 5, 10, 25, 50, 75, 90, 95, 99)
# Of the web search flows: 2500 x 1.711 MB a second over 250 links of 1 Gbps.
OWN_LOAD = 0.137
# Median slowdown of the lower range, by load.
LIMITS = {0.5: 2.0, 0.8: 3.0}


def plans(scale: Scale) -> dict[str, Plan]:
    """Both readings of both loads; at quick scale fewer flows and servers, which are offered as much each."""
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
    apart, _ = _web_search(*scale.pick((6, 54, 80), (10, SERVERS, FLOWS)), long_share=LOADS[0])
    made = {
        EVERYWHERE: (shared, "arrivals.poisson.load", scale.pick(1, 5)),
        # Nothing is judged by it, and each run takes ten minutes.
        APART: (apart, "sources.share", 1),
    }
    return {
        name.replace(" ", "-"): Plan(
            scenario,
            [Axis("background", {f"traffic.{BACKGROUND}.{key}": list(LOADS)})],
            replicas,
            name=name,
        )
        for name, (scenario, key, replicas) in made.items()
    }


def _web_search(k: int, servers: int, flows: int, long_share: float = 0) -> tuple[dict[str, Any], float]:
    """The scenario of so many flows that are measured, and in how many seconds they arrive."""
    rate = RATE * servers / SERVERS
    # An eighth of the arrivals fills the network and is not measured.
    first = flows // 8
    scheduler = Scheduler(
        k=k,
        flows=first + flows,
        size="web-search",
        rate=rate,
        matrix="uniform",
        long_share=long_share,
        changes={"run": {"warm_up": f"{round(first / rate * 1e6)}us"}},
    )
    return scheduler.scenario(), (first + flows) / rate


def tables(scale: Scale, sweeps: Sweeps) -> Tables:
    """Percentiles of each run and range of sizes; the loads and counts of each run."""
    del scale
    made = [_tables(name.replace("-", " "), sweep) for name, sweep in sweeps.items()]
    return {name: pl.concat(one[name] for one in made) for name in ("runs", "percentiles", "loads")}


def _tables(where: str, sweep: Sweep) -> Tables:
    summaries = sweep.summaries()
    warm = {run: picoseconds(summary["scenario"]["run"]["warm_up"]) for run, summary in summaries.items()}
    flows = sweep.flows.filter(
        pl.col("tag") == SHORT,
        pl.col("start_ps") >= pl.col("run").replace_strict(warm, return_dtype=pl.Int64),
    ).with_columns(
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
        }
        for row in sweep.runs.iter_rows(named=True)
        for entry in summaries[row["run"]]["traffic"]
    ]
    known = {"offered": pl.Float64, "realised": pl.Float64}
    return {
        "runs": counts.sort(keys).collect(),
        "percentiles": pl.concat(points).sort(*keys, "percentile").collect(),
        "loads": pl.DataFrame(loads, schema_overrides=known),
    }


def _whole(tables: Tables) -> bool:
    runs = tables["runs"].filter(on=EVERYWHERE)
    there = set(runs.select("background", "range").iter_rows())
    return there == {(load, name) for load in LOADS for name in RANGES} and bool(
        (runs["flows"] == runs["completed"]).all()
    )


def _mean(tables: Tables, where: str, load: float, name: str, column: str) -> float | None:
    value = tables["runs"].filter(on=where, background=load, range=name)[column].mean()
    return value if isinstance(value, float) else None


MISSING = "not all flows of both loads and ranges have ended"


def _fast(tables: Tables) -> Judgement:
    if not _whole(tables):
        return judge.not_reached(MISSING)
    found = judge.together(
        judge.at_most(_mean(tables, EVERYWHERE, load, SMALL, "slowdown_p50"), limit)
        for load, limit in LIMITS.items()
    )
    fair = ", ".join(f"{1 / (1 - load - OWN_LOAD):.3g}" for load in LOADS)
    other = [_mean(tables, APART, load, SMALL, "slowdown_p50") for load in LOADS]
    apart = (
        "" if None in other else f"; with background on servers of its own {other[0]:.3g} and {other[1]:.3g}"
    )
    return found.because(
        f"even shares of receivers' links alone make flows {fair} times as long in the mean{apart}"
    )


def _slower_under_load(tables: Tables) -> Judgement:
    if not _whole(tables):
        return judge.not_reached(MISSING)
    rows = (
        tables["percentiles"]
        .filter(on=EVERYWHERE)
        .select("background", "replica", "range", "percentile", "fct_ms")
    )
    light, heavy = (rows.filter(background=load).drop("background") for load in LOADS)
    pairs = heavy.rename({"fct_ms": "at_0.8"}).join(
        light.rename({"fct_ms": "at_0.5"}), on=["replica", "range", "percentile"]
    )
    return judge.together(
        judge.not_less(pairs.filter(range=name), "at_0.8", "at_0.5", x="percentile") for name in RANGES
    )


def _larger_take_longer(tables: Tables) -> Judgement:
    if not _whole(tables):
        return judge.not_reached(MISSING)
    found = []
    for load in LOADS:
        small, large = (_mean(tables, EVERYWHERE, load, name, "fct_mean_ms") or 0.0 for name in RANGES)
        found.append(judge.judged(large > small, f"{large:.4g} ms, {small:.4g} ms", "the former is larger"))
    return judge.together(found)


def draw(tables: Tables) -> "Picture":
    """FCT by percentile in each range, and slowdown in the lower one."""
    picture, panels = style.panels(1, 3)
    keys = ["on", "background", "range", "percentile"]
    means = tables["percentiles"].group_by(keys).agg(pl.col("fct_ms", "slowdown").mean())
    shown = ((SMALL, "fct_ms"), (LARGE, "fct_ms"), (SMALL, "slowdown"))
    for axes, (name, column) in zip(panels, shown, strict=True):
        for load, colour, marker in zip(LOADS, style.COLOURS, style.MARKERS, strict=False):
            for where, line in ((EVERYWHERE, "-"), (APART, ":")):
                rows = means.filter(on=where, background=load, range=name).sort("percentile")
                if len(rows):
                    look: dict[str, Any] = {"color": colour, "marker": marker, "linestyle": line}
                    label = f"background {load:g}, {where}"
                    axes.plot(rows[column], rows["percentile"] / 100, label=label, **look)
        unit = "FCT (ms)" if column == "fct_ms" else "slowdown"
        axes.set(xlabel=unit, title=f"flows {name}", xscale="log", ylim=(0, 1.02))
    panels[0].set_ylabel("share of the flows")
    panels[0].legend(loc="lower right")
    return picture


FIGURE = Figure(
    id="NDP-F9",
    title="Figure 9: web search flows beside background traffic",
    plans=plans,
    tables=tables,
    claims={"NDP-F9.a": _fast, "NDP-F9.b": _slower_under_load, "NDP-F9.c": _larger_take_longer},
    draw=draw,
    needs={
        name: (
            Needs(5, by=by, where={"on": EVERYWHERE}),
            Needs(5, by=by, where={"on": APART}, reading=APART),
        )
        for name, by in {
            "runs": ("background", "range"),
            "percentiles": ("background", "range", "percentile"),
        }.items()
    },
    assumed=(
        *ASSUMED,
        "Background is flows of 1 MB between random servers, Poisson arrivals of the load that the figure names, for "
        "twice as long as web search flows arrive. These are between random servers too, and bring their own load.",
        "The ranges are below 100 KB, and from there on; an eighth more flows come first and are not measured.",
        "Quick scale has 60 flows on 16 servers, 80 on 54 for the other reading, each offered as much as one of 250.",
    ),
)
