"""Per-flow ECMP: good enough under ASY's rates at load 0.8, harmful to long flows that windows govern.

Three papers, one simulator. The left panel has SYN's data centre at load 0.8 under ASY (the setting of SYN's figure
10): mean FCT with paths by flow beside that with paths by packet, and the time that packets take in the network. The
middle one has NDP's permutation of long flows (NDP-P2), the right one MP's long flows from pod to pod (MP-P3); both are
run and judged here by the figures that have these claims.

The middle panel also shows NDP's permutation under ASY: its rates know the servers' links alone, so that long flows
which a hash puts on one link share it, under any controller.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.sweeps import Axis, Plan
from flowyard_papers.mp import collisions
from flowyard_papers.mp._chapter5 import MDNVR
from flowyard_papers.ndp import against_tcp
from flowyard_papers.syn import _rack as rack
from flowyard_papers.syn import _window as windows

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

LOAD = 0.8
FLOW, PACKET = "per-flow", "per-packet"
BALANCERS = (FLOW, PACKET)
NDP_PARTS, MP_PARTS = "ndp-", "mp-"
LONG = "long"


def _window(scale: Scale) -> rack.Window:
    return scale.pick(rack.Window(20, 30, 0, 10), rack.Window(500, 2000, 0, 100))


def plans(scale: Scale) -> dict[str, Plan]:
    """ASY at load 0.8 with both kinds of ECMP; the plans of both other figures; NDP's permutation under ASY."""
    made = {
        balancer: rack.plan(
            balancer,
            [rack.ASY],
            (LOAD,),
            _window(scale),
            replicas=scale.pick(1, 5),
            observe=windows.HISTOGRAMS,
            routing={"balancer": balancer},
        )
        for balancer in BALANCERS
    }
    others = ((NDP_PARTS, against_tcp.plans(scale)), (MP_PARTS, collisions.plans(scale)))
    made |= {
        prefix + name: replace(plan, replicas=min(plan.replicas, scale.pick(2, 20)))
        for prefix, parts in others
        for name, plan in parts.items()
    }
    permutation = made[NDP_PARTS + against_tcp.PERMUTATION]
    assert isinstance(permutation.scenario, dict)
    asy: dict[str, Any] = {
        **permutation.scenario,
        "transport": {"central": {"link_bytes": "0B"}},
        "controller": {"asy": {}},
    }
    kinds = Axis("by", {"routing.balancer": list(BALANCERS)}, labels=[f"ASY, {one}" for one in BALANCERS])
    made[LONG] = Plan(asy, [kinds], permutation.replicas, name="NDP's permutation under ASY")
    return made


def tables(scale: Scale, sweeps: Sweeps) -> Tables:
    """One row per run of ASY; the tables of both figures; what NDP's permutation gets under ASY."""
    window = _window(scale)
    rates = pl.concat([_rates(sweeps[one], window).with_columns(balancer=pl.lit(one)) for one in BALANCERS])

    def part(prefix: str) -> Sweeps:
        return {name.removeprefix(prefix): one for name, one in sweeps.items() if name.startswith(prefix)}

    mp = collisions.tables(part(MP_PARTS))
    last_ms = (pl.col("start_ps") + pl.col("fct_ps")).max() / 1e9
    long = (
        sweeps[LONG]
        .flows.group_by("by", "replica")
        .agg(goodput_gbps=8e-6 * pl.col("size_bytes").sum() / last_ms)
        .sort("by", "replica")
        .collect()
    )
    return {
        "rates": rates.sort("balancer", "replica"),
        "ndp_runs": against_tcp.tables(part(NDP_PARTS))["runs"],
        "mp_ways": mp["ways"],
        "mp_long": mp["long"],
        "long": long,
    }


def _rates(sweep: Any, window: rack.Window) -> pl.DataFrame:
    """Mean and median FCT of the flows that count, median time of packets in the network."""
    keys = ["replica"]
    network = (
        windows.histograms(sweep, keys)
        .filter(metric="network_ps")
        .group_by(keys)
        .agg(network_median_us=windows.quantile(0.5) / 1e6)
    )
    fct = pl.col("fct_ps") / 1e6
    flows = (
        windows.flows(sweep, window.end_ms(LOAD, rack.FIXED))
        .group_by(keys)
        .agg(
            flows=pl.len().cast(pl.Int64),
            unfinished=pl.col("fct_ps").null_count().cast(pl.Int64),
            fct_mean_us=fct.mean(),
            fct_median_us=fct.median(),
        )
        .collect()
    )
    return flows.join(network, on=keys).sort(keys)


def _both(tables: Tables) -> Judgement:
    rates = tables["rates"].group_by("balancer").agg(pl.exclude("replica").mean())
    by = {row["balancer"]: row for row in rates.iter_rows(named=True)}
    if set(by) != set(BALANCERS):
        return judge.not_reached("ASY was not run with both kinds of ECMP")
    ratio = by[FLOW]["fct_mean_us"] / by[PACKET]["fct_mean_us"]
    small = by[FLOW]["network_median_us"] / by[FLOW]["fct_median_us"]
    found = [
        judge.comparable(ratio)
        .because(f"mean FCT by flow over by packet under ASY at load {LOAD}")
        .called("mean FCT by flow over by packet"),
        judge.at_most(small, 0.1).called("median time in the network over median FCT"),
    ]
    others = {
        "NDP-P2": against_tcp.FIGURE.claims["NDP-P2"]({"runs": tables["ndp_runs"]}),
        "MP-P3": collisions.FIGURE.claims["MP-P3"]({"ways": tables["mp_ways"], "long": tables["mp_long"]}),
    }
    for name, one in others.items():
        if one.verdict == judge.NOT_REACHED:
            return judge.not_reached(f"{name}: {one.reason}")
        found.append(judge.judged(one.verdict == judge.PASS, f"{name} {one.verdict}", judge.PASS))
    long = dict(tables["long"].group_by("by").agg(pl.col("goodput_gbps").mean()).iter_rows())
    note = ", ".join(f"{long[f'ASY, {one}']:.3g} Gbps {one}" for one in BALANCERS)
    return judge.together(found).noted(f"NDP's permutation of long flows under ASY: {note}")


def draw(tables: Tables) -> "Picture":
    """FCT under ASY; goodput of NDP's permutation; goodput of MP's long flows."""
    picture, (rates, permutation, pods) = style.panels(1, 3, size=(4.0, 2.9))
    means = replica_means(tables["rates"], ["balancer"], ["fct_mean_us", "network_median_us"])
    for place, balancer in enumerate(BALANCERS):
        (row,) = means.filter(balancer=balancer).iter_rows(named=True)
        for at, column in enumerate(("fct_mean_us", "network_median_us")):
            label = balancer if at == 0 else None
            rates.bar(
                at + 0.4 * (place - 0.5),
                row[column],
                0.36,
                yerr=row[f"{column}_ci95"] or 0,
                color=style.COLOURS[place],
                label=label,
            )
    rates.set_xticks([0, 1], ["mean FCT", "median time\nin the network"])
    rates.set(ylabel="us", title=f"ASY's rates, 46 kB, load {LOAD}")
    rates.legend()
    ndp = tables["ndp_runs"].filter(workload=against_tcp.PERMUTATION).select("by", "replica", "goodput_gbps")
    names = (against_tcp.NDP_PACKET, against_tcp.NDP_FLOW, against_tcp.TCP_FLOW)
    _bars(
        permutation, pl.concat([ndp, tables["long"]]), "by", (*names, *(f"ASY, {one}" for one in BALANCERS))
    )
    permutation.set(xlabel="goodput of all flows (Gbps)", title="permutation of 1.5 MB, k = 6")
    long = tables["mp_long"].filter(setup=collisions.CHAPTER).rename({"goodput_mbps": "goodput_gbps"})
    _bars(pods, long, "scheme", (MDNVR, collisions.ECMP))
    pods.set(xlabel="mean goodput of a flow (Mbps)", title="20 MB from pod to pod, windows of 64 KB")
    return picture


def _bars(axes: Any, runs: pl.DataFrame, key: str, names: tuple[str, ...]) -> None:
    means = replica_means(runs, [key], ["goodput_gbps"])
    for place, name in enumerate(names):
        (row,) = means.filter(pl.col(key) == name).iter_rows(named=True)
        colour = style.COLOURS[0 if "flow" in name else 1]
        axes.barh(place, row["goodput_gbps"] or 0, 0.7, xerr=row["goodput_gbps_ci95"] or 0, color=colour)
    axes.set_yticks(range(len(names)), list(names), fontsize=7.5)
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)


FIGURE = Figure(
    id="ALL-4",
    title="Per-flow ECMP under rates and under windows",
    plans=plans,
    tables=tables,
    claims={"ALL-4": _both},
    draw=draw,
    needs={
        "rates": Needs(5, by=("balancer",), least={"flows": 20_000}),
        "ndp_runs": Needs(5, by=("by", "workload")),
        "mp_long": Needs(20, by=("setup", "scheme")),
    },
    assumed=(
        *rack.ASSUMED,
        "Good enough: mean FCT with paths by flow is 0.8 to 1.25 of that with paths by packet (no significant "
        "difference), and the median time in the network at most 0.1 of the median FCT (SYN-F10b.a). Harmful: NDP-P2 "
        "and MP-P3 hold, each by its default reading and on its own network, parameters and runs.",
    ),
    quick="a shorter warm-up",
)
