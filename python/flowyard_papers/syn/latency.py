"""Figure 10: how long packets are in the network and at the servers, and how long flows take, at load 0.8."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import polars as pl

from flowyard.analysis.distribution import distribution
from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.sweeps import Plan, Sweep
from flowyard_papers.syn import _rack as rack
from flowyard_papers.syn import _window as windows
from flowyard_papers.syn._judges import Judge
from flowyard_papers.syn._leaf_spine import SERVERS

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

# ASY as figures 7 to 9 have it; without a bound on what a late queue makes up for it has verdicts only.
SHOWN, LOAD = (rack.MMF, rack.ONE_PACKET), 0.8
SYSTEMS = (*SHOWN, rack.ASY)
BUCKETS = {rack.ONE_PACKET: rack.ONE_PACKET, "ASY, no bound on what a late queue makes up for": rack.ASY}
# What figures 8 and 9 say of ports of leaves and of spines: ASY over SYN.
LEAF_RATIO, SPINE_RATIO = 1.45, 2.0
# The least latency: two links of 1 Gbps, between servers of one leaf.
LEAST_US = 2 * (12.304 + 0.5)
LEAF_TIERS, SPINE_TIERS = ("leaf-host", "leaf-spine"), ("spine-leaf",)
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
    """One row per run; and the curves, over all replicas."""
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
    runs = per_run.join(own, on=KEYS, validate="1:1").join(_ports(sweep), on=KEYS, validate="1:1")
    runs = runs.sort(KEYS).with_columns(load=pl.lit(LOAD))
    return {"runs": runs, "curves": _curves(found, flows)}


def _ports(sweep: Sweep) -> pl.DataFrame:
    """The mean time of a packet at ports of leaves, and of spines, by Little's law: bytes there over bytes per second.

    A packet crosses these ports with the rate at which servers send; frames count in both.
    """
    queues = windows.histograms(sweep, KEYS).filter(metric="queue_bytes")
    packets = rack.LINK_BPS * SERVERS * LOAD / (8 * rack.MTU_BYTES)
    bytes_per_us = packets * (rack.MTU_BYTES + rack.FRAME_BYTES) / 1e6
    count = {"leaf-host": SERVERS, "leaf-spine": 12, "spine-leaf": 12}
    per_tier = (
        queues.filter(pl.col("class").is_in(list(count))).group_by(*KEYS, "class").agg(mean=windows.mean())
    )
    us = pl.col("mean") * pl.col("class").replace_strict(count) / bytes_per_us
    leaf, spine = (us.filter(pl.col("class").is_in(tiers)).sum() for tiers in (LEAF_TIERS, SPINE_TIERS))
    return per_tier.group_by(KEYS).agg(leaf_us=leaf, spine_us=spine)


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


def _means(tables: Tables, asy: str, *columns: str) -> tuple[list[float], list[float]] | None:
    """Means of these columns, of SYN and of ASY; nothing if a system is missing."""
    means = tables["runs"].group_by("system").agg(pl.col(columns).mean())
    found = {system: values for system, *values in means.iter_rows()}
    return (found[rack.MMF], found[asy]) if {rack.MMF, asy} <= found.keys() else None


MISSING = judge.not_reached("a system is missing")


def _by_bucket(one: Callable[[Tables, str], Judgement]) -> Judge:
    """By the reading of ASY's bucket."""
    return lambda tables: judge.by_reading({name: one(tables, asy) for name, asy in BUCKETS.items()})


def most_by_little(
    median_us: float, network_us: float, leaf_us: float, spine_us: float
) -> tuple[float, float]:
    """The ratios of ASY's mean and median network latency to SYN's that figures 8 and 9 allow (SYN-X11).

    What is not at ports of switches is the same in both systems: sending at the server, and the way. Half of the
    packets take no less than the median, the others no less than the least latency.

    Args:
        median_us: The median latency under SYN.
        network_us: The mean one.
        leaf_us: What of it is at ports of leaves, the sending included.
        spine_us: What of it is at ports of spines.
    """
    more_us = (LEAF_RATIO - 1) * leaf_us + (SPINE_RATIO - 1) * spine_us
    mean_us = network_us + more_us
    return mean_us / network_us, (2 * mean_us - LEAST_US) / median_us


def _twice(tables: Tables, asy: str) -> Judgement:
    """F10a.a, beside the most that the paper's own figures allow."""
    means = _means(tables, asy, "network_median_us", "network_mean_us", "leaf_us", "spine_us")
    if means is None:
        return MISSING
    of_syn, (of_asy, *_) = means
    syn = of_syn[0]
    mean, median = most_by_little(*of_syn)
    why = (
        f"by Little's law, with a mean queue {LEAF_RATIO} times as long at leaves and {SPINE_RATIO} times at spines "
        f"(F8.a, F9.a), the mean latency under ASY is {mean:.3g} times SYN's, and the median {median:.3g} times at "
        "most (`most_by_little`)"
    )
    return judge.between(of_asy / syn, 1.6, 2.5).because(why).noted(f"ASY {of_asy:.3g} us, SYN {syn:.3g} us")


def _negligible(tables: Tables, asy: str) -> Judgement:
    means = _means(tables, asy, "network_median_us", "fct_median_us")
    if means is None:
        return MISSING
    return judge.together(
        judge.at_most(network / fct, 0.1)
        .noted(f"{system}: {network:.3g} us")
        .called(f"of the median FCT under {system}")
        for system, (network, fct) in zip((rack.MMF, asy), means, strict=True)
    )


def _servers_dominate(tables: Tables, asy: str) -> Judgement:
    means = _means(tables, asy, "server_mean_us", "network_mean_us")
    if means is None:
        return MISSING
    return judge.together(
        judge.judged(server > network, f"{system}: {server:.4g} us, {network:.3g} us", "longer at servers")
        for system, (server, network) in zip((rack.MMF, asy), means, strict=True)
    )


def _longer_under_syn(tables: Tables, asy: str) -> Judgement:
    means = _means(tables, asy, "server_mean_us")
    if means is None:
        return MISSING
    (syn,), (of_asy,) = means
    return judge.judged(syn > of_asy, f"SYN {syn:.4g} us, ASY {of_asy:.4g} us", "SYN longer")


def draw(tables: Tables) -> "Picture":
    """The distributions, with their medians."""
    picture, panels = style.panels(1, 3)
    titles = {NETWORK: "10a: network latency", FCT: "10b: FCT", SERVER: "server latency"}
    for axes, (what, title) in zip(panels, titles.items(), strict=True):
        for place, system in enumerate(SHOWN):
            own = tables["curves"].filter(system=system, what=what).sort("share")
            look = rack.look(system) | {"marker": ""}
            axes.plot(own["us"].to_numpy(), own["share"].to_numpy(), **look)
            if (median := own.filter(pl.col("share") >= 0.5)).is_empty():
                continue
            us = median["us"][0]
            axes.plot([us, us], [0, 0.5], color=look["color"], linestyle=":", linewidth=1)
            said = f"{us:,.0f} us" if us > 100 else f"{us:.3g} us"
            axes.annotate(
                said, (us, 0.03 + 0.07 * place), color=look["color"], fontsize=7.5,
                xytext=(3, 0), textcoords="offset points",
            )  # fmt: skip
        axes.axhline(0.5, color="#000000", linewidth=0.6, linestyle=":")
        axes.set(xlabel="latency (us)", ylabel="CDF", title=title, ylim=(0, 1.02))
        if what != NETWORK:
            axes.set_xscale("log")
    panels[0].set_xlim(0, 150)
    picture.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return picture


FIGURE = Figure(
    id="SYN-F10",
    title="Latencies of packets and completion times of flows at load 0.8",
    plans=plans,
    tables=tables,
    claims={
        "SYN-F10a.a": _by_bucket(_twice),
        "SYN-F10b.a": _by_bucket(_negligible),
        "SYN-F10b.b": _by_bucket(_servers_dominate),
        "SYN-F10b.c": _by_bucket(_longer_under_syn),
    },
    draw=draw,
    needs={"runs": Needs(10, by=("system",), least={"flows": 20_000})},
    assumed=(
        *rack.ASSUMED,
        "Flows that start in 2 s after 0.5 s of warm-up, at quick scale 200 ms after 100 ms; packets that arrive "
        "then or in the 100 ms, at quick scale 50 ms, behind it. Network latency is from the start of a packet's "
        "transmission at its server to the arrival of its last bit.",
        "A late queue makes up for one packet, as in figures 7 to 9; without a bound beside.",
    ),
    quick="a shorter warm-up",
)
