"""Figures 7 to 9: what waits at servers, at ports of leaves and at ports of spines, at load 0.8."""

from typing import TYPE_CHECKING

import polars as pl

from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.sweeps import Plan, Sweep
from flowyard_papers.syn import _rack as rack
from flowyard_papers.syn import _window as windows
from flowyard_papers.syn._judges import Judge
from flowyard_papers.syn._leaf_spine import SERVERS

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

SYSTEMS, LOAD, TRACE_MS = (rack.MMF, rack.ASY), 0.8, 100
SERVER, LEAF, SPINE = "servers", "leaves", "spines"
# The reading of an empty queue that the figures show.
KEPT = "ASY, the wait of an empty queue is kept"
# Whose ports these are.
TIERS = {"host-leaf": SERVER, "leaf-host": LEAF, "leaf-spine": LEAF, "spine-leaf": SPINE}
KEYS = ["system", "replica"]


def _window(scale: Scale) -> rack.Window:
    return rack.Window(scale.pick(100, 500), TRACE_MS, 0, 0)


def plans(scale: Scale) -> dict[str, Plan]:
    """Ports are looked at every 10 us; traces, and what waits at servers, every 100 us."""
    observe = {**windows.HISTOGRAMS, "samples": {"every": "100us", "flows": []}}
    window = _window(scale)
    replicas = scale.pick(2, 10)
    readings = rack.plan(
        "readings", tuple(rack.READINGS), (LOAD,), window, replicas=replicas, observe=windows.HISTOGRAMS
    )
    return {
        "trace": rack.plan("buffers", SYSTEMS, (LOAD,), window, replicas=replicas, observe=observe),
        "readings": readings,
    }


def tables(scale: Scale, sweeps: Sweeps) -> Tables:
    """A row a run, of other readings of ASY without what waits at servers; and the traces of the first replica."""
    sweep = sweeps["trace"]
    samples = _samples(sweep, _window(scale).warm_up_ms)
    ports = _ports(sweep)
    servers = samples.group_by(KEYS).agg(server_mean=pl.col(SERVER).mean())
    runs = pl.concat([ports, _ports(sweeps["readings"])]).join(servers, on=KEYS, how="left", validate="1:1")
    waiting = pl.col("leaf_total") + pl.col("spine_total")
    at_servers = pl.col("server_mean") * SERVERS
    runs = runs.with_columns(server_share_pct=100 * at_servers / (at_servers + waiting), load=pl.lit(LOAD))
    return {
        "runs": runs.drop("leaf_total", "spine_total").sort(KEYS),
        "trace": samples.filter(pl.col("replica") == 0).drop("replica").sort("system", "time_ms"),
    }


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


def _samples(sweep: Sweep, warm_up_ms: int) -> pl.DataFrame:
    """The mean bytes of a server, of a leaf's port and of a spine's port at each instant."""
    links = sweep.links.select("run", "id", "tier").with_columns(pl.col("id").cast(pl.UInt64))
    start_ps = warm_up_ms * 10**9
    samples = sweep.scan("samples").filter(pl.col("time_ps") > start_ps)
    samples = samples.filter(pl.col("series").cast(pl.String).is_in(["queue_bytes", "backlog_bytes"]))
    level = pl.col("tier").cast(pl.String).replace_strict(TIERS)
    joined = samples.join(links, on=["run", "id"]).with_columns(level=level)
    # A server holds what waits and what is in its port; a mean over links then sums both.
    per_link = joined.group_by(*KEYS, "time_ps", "level").agg(
        value=pl.col("value").sum() / pl.col("id").n_unique()
    )
    wide = per_link.collect().pivot("level", index=[*KEYS, "time_ps"], values="value")
    time_ms = (pl.col("time_ps").cast(pl.Int64) - start_ps) / 1e9
    return wide.select(*KEYS, SERVER, LEAF, SPINE, time_ms=time_ms).sort(*KEYS, "time_ms")


def _ratio(column: str, low: float, high: float, asy: str = rack.ASY) -> Judge:
    """ASY's mean, by the reading of that name, over SYN's."""

    def judged(tables: Tables) -> Judgement:
        means = dict(tables["runs"].group_by("system").agg(pl.col(column).mean()).iter_rows())
        if not {rack.MMF, asy} <= means.keys():
            return judge.not_reached("a system is missing")
        of_syn, of_asy = means[rack.MMF], means[asy]
        found = judge.between(of_asy / of_syn if of_syn else None, low, high)
        return found.noted(f"ASY {of_asy / 1e3:.3g} kB, SYN {of_syn / 1e3:.3g} kB")

    return judged


def _port_ratio(column: str, low: float, high: float) -> Judge:
    """The same of switches' ports, by what becomes of a queue that is empty before its bucket."""
    readings = {KEPT: rack.ASY} | {name: name for name in rack.READINGS}
    judges = {reading: _ratio(column, low, high, asy) for reading, asy in readings.items()}
    return lambda tables: judge.by_reading({reading: one(tables) for reading, one in judges.items()})


def _spine_p99(tables: Tables) -> Judgement:
    own = tables["runs"].filter(system=rack.ASY)["spine_p99"].mean()
    return judge.between(None if own is None else float(own), 5_000, 10_000)  # type: ignore[arg-type]


def _spread(tables: Tables) -> Judgement:
    """SYN keeps a larger part of all that waits at the servers."""
    wide = tables["runs"].pivot("system", index=["load", "replica"], values="server_share_pct")
    if not set(SYSTEMS) <= set(wide.columns):
        return judge.not_reached("a system is missing")
    return judge.not_less(wide, *SYSTEMS, x="load", points=True)


def draw(tables: Tables) -> "Picture":
    """The three traces."""
    picture, panels = style.panels(1, 3)
    for axes, level, unit in zip(panels, (SERVER, LEAF, SPINE), ("server", "port", "port"), strict=True):
        for system in SYSTEMS:
            own = tables["trace"].filter(system=system)
            look = rack.look(system) | {"marker": "", "linewidth": 0.8}
            axes.plot(own["time_ms"].to_numpy(), own[level].to_numpy() / 1e3, **look)
        axes.set(xlabel="time (ms)", ylabel=f"kB a {unit}", title=level.capitalize())
        axes.set_ylim(bottom=0)
    panels[0].legend()
    return picture


FIGURE = Figure(
    id="SYN-F7-9",
    title="What waits at servers, leaves and spines at load 0.8",
    plans=plans,
    tables=tables,
    claims={
        "SYN-F7.a": _ratio("server_mean", 0.5, 0.7),
        "SYN-F8.a": _port_ratio("leaf_mean", 1.2, 1.7),
        "SYN-F8.b": _port_ratio("leaf_p99", 0.8, 1.25),
        "SYN-F9.a": _port_ratio("spine_mean", 1.6, 2.5),
        "SYN-F9.b": _spine_p99,
        "SYN-F9.c": _spread,
    },
    draw=draw,
    needs={
        "runs": [
            *(Needs(10, by=("system",), where={"system": name}) for name in SYSTEMS),
            *(Needs(10, by=("system",), where={"system": name}, reading=name) for name in rack.READINGS),
        ]
    },
    assumed=(
        *rack.ASSUMED,
        "A trace is 100 ms after 500 ms, at quick scale 100 ms, of warm-up. Ports of switches are those of both "
        "directions, looked at every 10 us, the packet being sent and frames included; what waits at servers, with "
        "the packet being sent, every 100 us.",
        "A queue of ASY that becomes empty keeps the wait for its last packet. F8.a, F8.b and F9.a have a verdict also "
        "for a wait that passes, by which destinations get up to a packet more for each burst, and for queues that "
        "have their rate until that packet has leaked out.",
    ),
    quick="a shorter warm-up",
)
