"""Figures 7 to 9: what waits at servers, at ports of leaves and at ports of spines, at load 0.8."""

from typing import TYPE_CHECKING

import polars as pl

from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.sweeps import Plan, Sweep
from flowyard_papers.syn import _met as met
from flowyard_papers.syn import _rack as rack
from flowyard_papers.syn import _traces as traces
from flowyard_papers.syn import _window as windows
from flowyard_papers.syn._judges import Judge
from flowyard_papers.syn._leaf_spine import SERVERS
from flowyard_papers.syn._traces import KEYS, LEAF, SERVER, SHOWN, SPINE, TIERS

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

LOAD, TRACE_MS = 0.8, 100
# ASY as the figures show it, and the readings of its bucket that have a verdict only.
BUCKETS = (rack.ONE_PACKET, rack.ASY, rack.LOST, rack.PASSES, rack.DRAINS)
# Readings of the length of a queue, and of what a percentile is taken of.
RECORDED, OVER_TIME = "as recorded at each change", "average over time"
OF_TRACE, OF_PORT = "of the trace averaged over all ports", "of one port"
UNBOUNDED = "ASY, no bound on what a late queue makes up for"
# The picture's means are over so many samples of each replica: single ones of slots are all of one phase.
SAMPLE_US, BIN_MS = 100, 2


def _window(scale: Scale) -> rack.Window:
    return rack.Window(scale.pick(100, 500), TRACE_MS, 0, 0)


def plans(scale: Scale) -> dict[str, Plan]:
    """Ports are looked at every 10 us, and all that waits together every 100 us; cables of spines are captured."""
    observe = {
        **windows.HISTOGRAMS,
        **met.CAPTURE,
        "samples": {"every": f"{SAMPLE_US}us", "flows": []},
    }
    systems = (rack.MMF, *BUCKETS)
    replicas = scale.pick(2, 10)
    return {
        "trace": rack.plan("buffers", systems, (LOAD,), _window(scale), replicas=replicas, observe=observe)
    }


def tables(scale: Scale, sweeps: Sweeps) -> Tables:
    """One row per run; and the traces of the systems that are shown, over all replicas."""
    sweep = sweeps["trace"]
    samples = traces.samples(sweep, _window(scale).warm_up_ms)
    runs = _ports(sweep).join(_recorded(sweep), on=KEYS, validate="1:1")
    trace = samples.group_by(KEYS).agg(
        server_mean=pl.col(SERVER).mean(),
        leaf_trace_p99=pl.col(LEAF).quantile(0.99, "nearest"),
        spine_trace_p99=pl.col(SPINE).quantile(0.99, "nearest"),
    )
    runs = runs.join(trace, on=KEYS, validate="1:1")
    waiting = pl.col("leaf_total") + pl.col("spine_total")
    at_servers = pl.col("server_mean") * SERVERS
    runs = runs.with_columns(server_share_pct=100 * at_servers / (at_servers + waiting), load=pl.lit(LOAD))
    bins = ((pl.col("time_ms") / BIN_MS).ceil() - 0.5) * BIN_MS
    shown = samples.filter(pl.col("system").is_in(SHOWN)).group_by("system", time_ms=bins)
    return {
        "runs": runs.drop("leaf_total", "spine_total").sort(KEYS),
        "trace": shown.agg(pl.col(SERVER, LEAF, SPINE).mean()).sort("system", "time_ms"),
    }


def _recorded(sweep: Sweep) -> pl.DataFrame:
    """The mean queue of a spine's port as recorded at each change."""
    runs = sweep.runs.filter("done").iter_rows(named=True)
    return pl.DataFrame(
        [
            {name: run[name] for name in KEYS}
            | {"spine_recorded": met.recorded_bytes(sweep.path(run["run"]))}
            for run in runs
        ]
    )


def _ports(sweep: Sweep) -> pl.DataFrame:
    """Of all ports of a switch level: the mean and the 99th percentile of one, the mean of all together."""
    found = windows.histograms(sweep, KEYS).filter(metric="queue_bytes")
    levels = found.with_columns(level=pl.col("class").replace_strict(TIERS, default=None))
    rows = None
    for level, name, count in ((LEAF, "leaf", SERVERS + 12), (SPINE, "spine", 12)):
        own = (
            levels.filter(level=level)
            .group_by(KEYS)
            .agg(**{f"{name}_mean": windows.mean(), f"{name}_p99": windows.quantile(0.99)})
        )
        own = own.with_columns((pl.col(f"{name}_mean") * count).alias(f"{name}_total"))
        rows = own if rows is None else rows.join(own, on=KEYS, validate="1:1")
    assert rows is not None
    return rows


def _ratio(column: str, low: float, high: float, asy: str) -> Judge:
    """ASY's mean, by the reading of that name, over SYN's."""

    def judged(tables: Tables) -> Judgement:
        means = dict(tables["runs"].group_by("system").agg(pl.col(column).mean()).iter_rows())
        if not {rack.MMF, asy} <= means.keys():
            return judge.not_reached("a system is missing")
        of_syn, of_asy = means[rack.MMF], means[asy]
        found = judge.between(of_asy / of_syn if of_syn else None, low, high)
        return found.noted(f"ASY {of_asy / 1e3:.3g} kB, SYN {of_syn / 1e3:.3g} kB")

    return judged


def _named(asy: str) -> str:
    return UNBOUNDED if asy == rack.ASY else asy


def _by_bucket(column: str, low: float, high: float) -> Judge:
    """The ratio by each reading of the bucket."""
    judges = {_named(asy): _ratio(column, low, high, asy) for asy in BUCKETS}
    return lambda tables: judge.by_reading({reading: one(tables) for reading, one in judges.items()})


def _leaf_p99(tables: Tables) -> Judgement:
    """F8.b: of a port, by each reading of the bucket, and of the trace that is averaged over all of them."""
    why = (
        "tried: every reading of the bucket, and of a port as of the averaged trace. Only if lateness is lost is the "
        "percentile about SYN's, but then servers hold more than under SYN, not 0.6 of it (F7.a). A percentile is a "
        "whole number of packets, 6 under SYN, and the paper has it of one trace"
    )
    found = {_named(asy): _ratio("leaf_p99", 0.8, 1.25, asy)(tables).because(why) for asy in BUCKETS}
    of_trace = _ratio("leaf_trace_p99", 0.8, 1.25, rack.ONE_PACKET)(tables)
    single = traces.one_by_one(tables, "leaf_p99", 0.8, 1.25)
    return judge.by_reading(found | {OF_TRACE: of_trace, traces.ALONE: single})


def _spine_mean(tables: Tables) -> Judgement:
    """F9.a: of the length as it is recorded, and over time; the latter by each reading of the bucket."""
    single = traces.one_by_one(tables, "spine_recorded", 1.6, 2.5)
    why = (
        "tried: every reading of the bucket, and the average over time, which is shorter for each of them. The paper "
        f"has one trace of 100 ms: {single.measured}"
    )
    found = {RECORDED: _ratio("spine_recorded", 1.6, 2.5, rack.ONE_PACKET)(tables).because(why)}
    found[traces.ALONE] = single
    found[OVER_TIME] = _ratio("spine_mean", 1.6, 2.5, rack.ONE_PACKET)(tables)
    for asy in BUCKETS[1:]:
        for reading, column in ((RECORDED, "spine_recorded"), (OVER_TIME, "spine_mean")):
            found[f"{reading}; {_named(asy)}"] = _ratio(column, 1.6, 2.5, asy)(tables)
    return judge.by_reading(found)


def _spine_p99(tables: Tables) -> Judgement:
    """F9.b: of the trace "averaged across all" (III-G), and of a port."""
    found = {}
    for asy in BUCKETS[:2]:
        own = tables["runs"].filter(system=asy)
        for reading, column in ((OF_TRACE, "spine_trace_p99"), (OF_PORT, "spine_p99")):
            mean = own[column].mean()
            name = reading if asy == rack.ONE_PACKET else f"{reading}; {_named(asy)}"
            found[name] = judge.between(None if mean is None else float(mean), 5_000, 10_000)  # type: ignore[arg-type]
    return judge.by_reading(found)


def _spread(tables: Tables) -> Judgement:
    """F9.c: SYN keeps a larger part of all that waits at the servers."""
    wide = tables["runs"].pivot("system", index=["load", "replica"], values="server_share_pct")

    def judged(asy: str) -> Judgement:
        if not {rack.MMF, asy} <= set(wide.columns):
            return judge.not_reached("a system is missing")
        return judge.not_less(wide, rack.MMF, asy, x="load", points=True)

    return judge.by_reading({_named(asy): judged(asy) for asy in BUCKETS[:2]})


def draw(tables: Tables) -> "Picture":
    """The three traces, as means of all replicas, with the means of all time and the 99th percentiles of a port."""
    picture, panels = style.panels(1, 3)
    means = tables["runs"].group_by("system").agg(pl.selectors.numeric().mean())
    columns = (("server_mean", None), ("leaf_mean", "leaf_p99"), ("spine_mean", "spine_p99"))
    titles = (
        "7: transmission buffers at the servers",
        "8: ports of leaf switches",
        "9: ports of spine switches",
    )
    for axes, level, (mean, p99), title in zip(panels, (SERVER, LEAF, SPINE), columns, titles, strict=True):
        for system in SHOWN:
            own, values = tables["trace"].filter(system=system), means.filter(system=system)
            look = rack.look(system) | {"marker": "", "linewidth": 1.2}
            axes.plot(own["time_ms"].to_numpy(), own[level].to_numpy() / 1e3, **look)
            short = "ASY" if system != rack.MMF else "SYN"
            for column, line, name in ((mean, "--", "mean"), (p99, ":", "99th percentile of a port")):
                if column and len(values):
                    value = values[column].item() / 1e3
                    axes.axhline(value, color=look["color"], linestyle=line, linewidth=0.9)
                    axes.annotate(
                        f"{short}: {name} {value:.3g}", (0.01, value), xycoords=("axes fraction", "data"),
                        fontsize=6.5, va="bottom" if system != rack.MMF else "top", color=look["color"],
                    )  # fmt: skip
        unit = "server" if level == SERVER else "port"
        axes.set(xlabel="time (ms)", ylabel=f"buffer occupancy (kB a {unit})", title=title)
        axes.set_ylim(bottom=0)
    picture.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return picture


FIGURE = Figure(
    id="SYN-F7-9",
    title="Queues at servers, leaves and spines at load 0.8",
    plans=plans,
    tables=tables,
    claims={
        "SYN-F7.a": _by_bucket("server_mean", 0.5, 0.7),
        "SYN-F8.a": _by_bucket("leaf_mean", 1.2, 1.7),
        "SYN-F8.b": _leaf_p99,
        "SYN-F9.a": _spine_mean,
        "SYN-F9.b": _spine_p99,
        "SYN-F9.c": _spread,
    },
    draw=draw,
    needs={
        "runs": [
            *(Needs(10, by=("system",), where={"system": one}) for one in SHOWN),
            *(Needs(10, by=("system",), where={"system": one}, reading=_named(one)) for one in BUCKETS[1:]),
        ]
    },
    assumed=(
        *rack.ASSUMED,
        "A trace is 100 ms after 500 ms, at quick scale 100 ms, of warm-up; the picture has means of all replicas over "
        "2 ms. Ports of switches are those of both directions, looked at every 10 us, the packet being sent and frames "
        "included; what waits at servers, with the packet being sent, every 100 us.",
        'III-B: "one leaky bucket scheduler for each active per-destination queue". A bucket has a depth, of a packet '
        "at least: a queue that another one's packet has kept from the wire makes up for one packet. Beside it: it "
        "makes up for any number, by which a queue that was held back sends at the rate of its link, whatever its own "
        "is; its lateness is lost. And a queue that becomes empty keeps the wait for its last packet; beside it: that "
        "wait passes, by which destinations get up to a packet more for each burst; it has its rate until that leaks.",
        "F9.a: the paper measured with OMNeT++, whose record of a queue has its length at each change: its mean is of "
        "what packets meet. Here it is of the first 150,000 packets on the cables of spines, some 12 ms; the average "
        'over time beside. F8.b and F9.a: the figures "show a 100ms trace" (III-G), one; single traces of ours, with '
        'SYN and ASY on the same traffic, are judged beside their mean. F9.b: the trace is "averaged across all" '
        "(III-G): the percentile is of the mean of all spine ports at 1,000 instants; that of a port beside.",
    ),
    quick="a shorter warm-up",
)
