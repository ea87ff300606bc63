"""Traces of the bytes that wait. Figures 7 to 9 show one of 100 ms each; of ours, most are to have what it has."""

import polars as pl

from flowyard.papers import judge
from flowyard.papers.figure import Judgement, Tables
from flowyard.sweeps import Sweep
from flowyard_papers.syn import _rack as rack

SERVER, LEAF, SPINE = "servers", "leaves", "spines"
# Whose ports these are.
TIERS = {"host-leaf": SERVER, "leaf-host": LEAF, "leaf-spine": LEAF, "spine-leaf": SPINE}
KEYS = ["system", "replica"]
ALONE = "a trace of 100 ms by itself"
# ASY as the figures show it.
SHOWN = (rack.MMF, rack.ONE_PACKET)


def one_by_one(tables: Tables, column: str, low: float, high: float) -> Judgement:
    """ASY's value over SYN's in each replica, which is a trace of the same traffic."""
    own = tables["runs"].filter(pl.col("system").is_in(SHOWN)).pivot("system", index="replica", values=column)
    if not set(SHOWN) <= set(own.columns) or own.null_count().sum_horizontal().item():
        return judge.not_reached("a system is missing")
    ratios = sorted((own[rack.ONE_PACKET] / own[rack.MMF]).to_list())
    within = sum(low <= ratio <= high for ratio in ratios)
    return judge.judged(
        2 * within > len(ratios),
        f"{within} of {len(ratios)} traces within {low:g} to {high:g}; {ratios[0]:.3g} to {ratios[-1]:.3g}",
        "most of them",
    )


def samples(sweep: Sweep, warm_up_ms: int) -> pl.DataFrame:
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
