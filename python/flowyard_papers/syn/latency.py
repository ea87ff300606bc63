"""Figure 10: how long packets are in the network and at the servers, and how long flows take, at load 0.8."""

from typing import TYPE_CHECKING

import polars as pl

from flowyard.analysis.distribution import distribution
from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.sweeps import Plan
from flowyard_papers.syn import _rack as rack
from flowyard_papers.syn import _window as windows

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

SYSTEMS, LOAD = (rack.MMF, rack.ASY), 0.8
KEYS = ["system", "replica"]
NETWORK, SERVER, FCT = "network", "server", "FCT"
# Points of a curve.
POINTS = 200


def _window(scale: Scale) -> rack.Window:
    # 2 s have half a million flows.
    return rack.Window(scale.pick(100, 500), scale.pick(200, 2000), 0, scale.pick(50, 100))


def plans(scale: Scale) -> dict[str, Plan]:
    """Latencies of the packets that arrive in the window, and afterwards; flows that start in it."""
    return {
        "latency": rack.plan(
            "latencies",
            SYSTEMS,
            (LOAD,),
            _window(scale),
            replicas=scale.pick(2, 10),
            observe=windows.HISTOGRAMS,
        )
    }


def tables(scale: Scale, sweeps: Sweeps) -> Tables:
    """A row a run; and the curves, over all replicas."""
    sweep, window = sweeps["latency"], _window(scale)
    found = windows.histograms(sweep, KEYS).filter(pl.col("metric").is_in(["network_ps", "server_ps"]))
    packets = found.with_columns(what=pl.col("metric").str.strip_suffix("_ps")).group_by(*KEYS, "what")
    flows = windows.flows(sweep, window.end_ms(LOAD, rack.FIXED)).select(*KEYS, "fct_ps").collect()
    per_run = (
        packets.agg(mean_us=windows.mean() / 1e6, median_us=windows.quantile(0.5) / 1e6)
        .pivot("what", index=KEYS, values=["mean_us", "median_us"])
        .rename(lambda name: name if name in KEYS else "_".join(reversed(name.split("_us_"))) + "_us")
    )
    own = flows.group_by(KEYS).agg(
        flows=pl.len(),
        unfinished=pl.col("fct_ps").null_count(),
        fct_mean_us=pl.col("fct_ps").mean() / 1e6,
        fct_median_us=pl.col("fct_ps").median() / 1e6,
    )
    runs = per_run.join(own, on=KEYS, validate="1:1").sort(KEYS).with_columns(load=pl.lit(LOAD))
    return {"runs": runs, "curves": _curves(found, flows)}


def _curves(found: pl.DataFrame, flows: pl.DataFrame) -> pl.DataFrame:
    """Shares of packets, and of flows, by time."""
    curves = []
    for system in SYSTEMS:
        for what in (NETWORK, SERVER):
            own = (
                found.filter(system=system, metric=f"{what}_ps")
                .group_by("low", "high")
                .agg(pl.col("count").sum())
            )
            steps = own.sort("high").select(
                us=pl.col("high") / 1e6, share=pl.col("count").cum_sum() / pl.col("count").sum()
            )
            # The last step of each of so many shares.
            thinned = steps.group_by(
                (pl.col("share") * POINTS).ceil().alias("place"), maintain_order=True
            ).last()
            curves.append(
                thinned.select(pl.lit(system).alias("system"), pl.lit(what).alias("what"), "us", "share")
            )
        fcts = flows.filter(system=system)["fct_ps"]
        steps = distribution(fcts, len(fcts), POINTS).select(us=pl.col("value") / 1e6, share="share")
        curves.append(steps.select(pl.lit(system).alias("system"), pl.lit(FCT).alias("what"), "us", "share"))
    return pl.concat(curves)


def _means(tables: Tables, *columns: str) -> dict[str, list[float]] | None:
    """By system the means of these columns; nothing if a system is missing."""
    means = tables["runs"].group_by("system").agg(pl.col(columns).mean())
    found = {system: values for system, *values in means.iter_rows()}
    return found if set(SYSTEMS) <= found.keys() else None


MISSING = judge.not_reached("a system is missing")


def _twice(tables: Tables) -> Judgement:
    means = _means(tables, "network_median_us")
    if means is None:
        return MISSING
    (syn,), (asy,) = (means[system] for system in SYSTEMS)
    return judge.between(asy / syn, 1.6, 2.5).noted(f"ASY {asy:.3g} us, SYN {syn:.3g} us")


def _negligible(tables: Tables) -> Judgement:
    means = _means(tables, "network_median_us", "fct_median_us")
    if means is None:
        return MISSING
    return judge.together(
        judge.at_most(means[system][0] / means[system][1], 0.1).noted(f"{system}: {means[system][0]:.3g} us")
        for system in SYSTEMS
    )


def _servers_dominate(tables: Tables) -> Judgement:
    means = _means(tables, "server_mean_us", "network_mean_us")
    if means is None:
        return MISSING
    return judge.together(
        judge.judged(server > network, f"{system}: {server:.4g} us, {network:.3g} us", "longer at servers")
        for system in SYSTEMS
        for server, network in [means[system]]
    )


def _longer_under_syn(tables: Tables) -> Judgement:
    means = _means(tables, "server_mean_us")
    if means is None:
        return MISSING
    (syn,), (asy,) = (means[system] for system in SYSTEMS)
    return judge.judged(syn > asy, f"SYN {syn:.4g} us, ASY {asy:.4g} us", "SYN longer")


def draw(tables: Tables) -> "Picture":
    """The distributions."""
    picture, panels = style.panels(1, 3)
    for axes, what in zip(panels, (NETWORK, FCT, SERVER), strict=True):
        for system in SYSTEMS:
            own = tables["curves"].filter(system=system, what=what)
            axes.plot(own["us"].to_numpy(), own["share"].to_numpy(), **rack.look(system) | {"marker": ""})
        axes.set(
            xlabel="time (us)",
            ylabel="share",
            title=f"{what} latency" if what != FCT else what,
            ylim=(0, 1.02),
        )
        if what != NETWORK:
            axes.set_xscale("log")
    panels[0].set_xlim(0, 150)
    panels[0].legend(loc="lower right")
    return picture


FIGURE = Figure(
    id="SYN-F10",
    title="Latencies of packets and completion times of flows at load 0.8",
    plans=plans,
    tables=tables,
    claims={
        "SYN-F10a.a": _twice,
        "SYN-F10b.a": _negligible,
        "SYN-F10b.b": _servers_dominate,
        "SYN-F10b.c": _longer_under_syn,
    },
    draw=draw,
    needs={"runs": Needs(10, by=("system",), least={"flows": 20_000})},
    assumed=(
        *rack.ASSUMED,
        "Flows that start in 2 s after 0.5 s of warm-up, at quick scale 200 ms after 100 ms; packets that arrive "
        "then or in the 100 ms, at quick scale 50 ms, behind it. Network latency is from the start of a packet's "
        "transmission at its server to the arrival of its last bit.",
    ),
    quick="a shorter warm-up",
)
