"""SYN, section III-G (claim P14): the part of a flow's completion time that passes at the servers, over load."""

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.sweeps import Plan
from flowyard_papers.syn import _rack as rack
from flowyard_papers.syn import _window as windows

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

LOADS, HIGH = (0.5, 0.6, 0.7, 0.8, 0.9), 0.8
KEYS = ["load", "replica"]
# A flow is complete when its last packet has waited at its server and crossed the network.
LAST, MEAN = "FCT without the network", "mean wait of packets"
READINGS = {LAST: "last_pct", MEAN: "mean_pct"}


def _window(scale: Scale) -> rack.Window:
    return rack.Window(scale.pick(100, 500), scale.pick(200, 2000), 0, scale.pick(50, 100))


def plans(scale: Scale) -> dict[str, Plan]:
    """SYN with MMF over load."""
    window, replicas = _window(scale), scale.pick(2, 10)
    plan = rack.plan(
        "waits at servers", (rack.MMF,), LOADS, window, replicas=replicas, observe=windows.HISTOGRAMS
    )
    return {"waits": plan}


def tables(scale: Scale, sweeps: Sweeps) -> Tables:
    """One row per run, and the means."""
    sweep, window = sweeps["waits"], _window(scale)
    found = windows.histograms(sweep, KEYS).group_by(*KEYS, "metric").agg(us=windows.mean() / 1e6)
    latencies = found.pivot("metric", index=KEYS, values="us").select(
        *KEYS, server_us="server_ps", network_us="network_ps"
    )
    flows = windows.flows(sweep, window.end_ms(LOADS[0], rack.FIXED))
    fcts = flows.group_by(KEYS).agg(
        flows=pl.len(), unfinished=pl.col("fct_ps").null_count(), fct_us=pl.col("fct_ps").mean() / 1e6
    )
    runs = latencies.join(fcts.collect(), on=KEYS, validate="1:1").sort(KEYS)
    runs = runs.with_columns(
        last_pct=100 * (1 - pl.col("network_us") / pl.col("fct_us")),
        mean_pct=100 * pl.col("server_us") / pl.col("fct_us"),
    )
    columns = ["server_us", "network_us", "fct_us", *READINGS.values()]
    return {"runs": runs, "points": replica_means(runs, ["load"], columns)}


def _dominate(tables: Tables) -> Judgement:
    points = tables["points"].sort("load")
    if points["load"].to_list() != list(LOADS):
        return judge.not_reached("a load is missing")
    found = {}
    for reading, column in READINGS.items():
        parts = []
        for name, points_of in (("server_us", False), (column, True)):
            own = tables["runs"].sort("load").select("load", "replica", higher=name)
            pairs = own.with_columns(lower=pl.col("higher").shift(1).over("replica")).drop_nulls()
            rises = judge.not_less(pairs, "higher", "lower", x="load", points=points_of)
            said = f"{name} {points[name][0]:.4g} to {points[name][-1]:.4g}, {rises.measured}"
            parts.append(
                replace(rises, measured=said, expected="at each load no less than at the one before")
            )
        share = points.filter(load=HIGH)[column].item()
        parts.append(judge.judged(share > 50, f"{share:.4g} % at load {HIGH}", "above 50 %"))
        found[reading] = judge.together(parts)
    return judge.by_reading(found)


def draw(tables: Tables) -> "Picture":
    """Shares of the parts of a completion time."""
    picture, (times, shares) = style.panels(1, 2)
    points = tables["points"].sort("load")
    for place, (column, label) in enumerate(
        (("fct_us", "completion time"), ("server_us", "wait at the server"), ("network_us", "in the network"))
    ):
        style.curve(times, points, "load", column, place, label)
    times.set(yscale="log", xlabel="load", ylabel="mean (us)", title="SYN, MMF")
    times.legend()
    for place, (reading, column) in enumerate(READINGS.items()):
        style.curve(shares, points, "load", column, place, reading)
    shares.axhline(50, color="#000000", linewidth=0.9, linestyle="--")
    shares.set(xlabel="load", ylabel="share of the completion time (%)", ylim=(0, None))
    shares.legend(loc="lower left")
    return picture


FIGURE = Figure(
    id="SYN-P14",
    title="Waiting times at servers under SYN",
    plans=plans,
    tables=tables,
    claims={"SYN-P14": _dominate},
    draw=draw,
    needs={"runs": Needs(10, by=("load",), least={"flows": 20_000})},
    assumed=(
        *rack.ASSUMED,
        "The last packet of a flow waits at its server and crosses the network; what remains of the mean completion "
        "time without the mean network latency of packets is the servers' part. The mean wait of all packets counts "
        "large flows by their packets, so that it may exceed the mean completion time.",
    ),
    quick="a shorter warm-up",
)
