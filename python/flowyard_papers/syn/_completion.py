"""Flows of a run of the data centre: completion times, throughput, fairness; a row per run."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from flowyard.analysis.fairness import jain
from flowyard.sweeps import Sweep
from flowyard.table import read_frame
from flowyard_papers.syn import _rack as rack
from flowyard_papers.syn._leaf_spine import SERVERS, SERVERS_PER_LEAF

# Figure 3 is about flows that are long enough to have a throughput.
LONG_PACKETS = 10
SLOT_PS = 8_000 * (rack.MTU_BYTES + rack.FRAME_BYTES)
_DELAY_PS, _FASTER = 500_000, 10
COLUMNS = (
    *("src", "dst", "size_bytes", "delivered_bytes", "start_ps", "fct_ps", "ideal_fct_ps", "packets_sent"),
)
KEYS = ["system", "load"]
VALUES = [
    *("fct", "fct_cv", "slotted_fct", "raw_ms", "raw_cv", "offered", "carried"),
    *("jain_flows", "jain_servers"),
]


def runs(
    sweep: Sweep,
    window: rack.Window,
    *,
    lengths: str = rack.FIXED,
    incast: bool = False,
    loads: Mapping[float, float] | None = None,
) -> pl.DataFrame:
    """One row per run.

    A flow that is active at the end counts with the age that it has then: its completion time is at least that.

    Args:
        sweep: Of `_rack.plan`.
        window: As the plan has it.
        lengths: As the plan has them.
        incast: As the plan has it.
        loads: Loads in bytes by what the plan calls them, if that is another unit.

    Returns:
        system, load, replica, unstable (offered more than slots or wires hold), flows and unfinished (of those that
        count), and the columns of VALUES: FCT over that of the empty network, the same with slots, in ms, with their
        coefficients of variation; bytes of IP that were offered and that arrived, over the rate of the link or links;
        Jain's index of long flows' throughputs, and of what servers received (under incast: had received).
    """
    rows = []
    for run in sweep.runs.filter("done").iter_rows(named=True):
        load = loads[run["load"]] if loads else run["load"]
        ends = [ms(load, lengths, incast) * 10**9 for ms in (window.end_ms, window.until_ms)]
        flows = read_frame(sweep.path(run["run"]) / "flows.parquet", COLUMNS)
        found = measured(flows, window.warm_up_ms * 10**9, *ends, lengths=lengths, incast=incast)
        # Sizes are a little less than the bytes of whole packets.
        for name in ("offered", "carried"):
            found[name] = rack.scaled(found[name], lengths)
        unstable = load > rack.limit(run["system"], lengths)
        rows.append({name: run[name] for name in (*KEYS, "replica")} | {"unstable": unstable} | found)
    return pl.DataFrame(rows).sort(*KEYS, "replica")


def measured(
    flows: pl.DataFrame, start_ps: int, end_ps: int, until_ps: int, *, lengths: str, incast: bool
) -> dict[str, Any]:
    """Metrics of the flows of a run that start in a window.

    Args:
        flows: Of flows.parquet.
        start_ps: Of the window.
        end_ps: Of the window.
        until_ps: The end of the run.
        lengths: Of packets.
        incast: Whether all go to one server.

    Returns:
        As `runs`, but offered and carried count sizes.
    """
    flows = flows.with_columns(pl.col("start_ps").cast(pl.Int64), pl.col("fct_ps").cast(pl.Int64))
    start, ended = pl.col("start_ps"), pl.col("start_ps") + pl.col("fct_ps")
    own = flows.filter(start.is_between(start_ps, end_ps, closed="left")).with_columns(
        age_ps=pl.col("fct_ps").fill_null(until_ps - start)
    )
    own = own.with_columns(
        fct=pl.col("age_ps") / empty_ps(lengths),
        slotted=pl.col("age_ps") / slotted_ps(lengths),
        bps=8e12 * pl.col("delivered_bytes") / pl.col("age_ps"),
    )
    arrived = flows.filter(ended.is_between(start_ps, end_ps, closed="left"))
    capacity = rack.LINK_BPS * (1 if incast else SERVERS) * (end_ps - start_ps) / 8e12
    means = own.select(
        fct=pl.col("fct").mean(),
        fct_cv=pl.col("fct").std() / pl.col("fct").mean(),
        slotted_fct=pl.col("slotted").mean(),
        raw_ms=(pl.col("age_ps") / 1e9).mean(),
        raw_cv=pl.col("age_ps").std() / pl.col("age_ps").mean(),
    )
    servers = arrived.group_by("src" if incast else "dst").agg(pl.col("size_bytes").sum())["size_bytes"]
    silent = (SERVERS - 1 if incast else SERVERS) - len(servers)
    return {
        "flows": len(own),
        "unfinished": own["fct_ps"].null_count(),
        **means.row(0, named=True),
        "offered": float(own["size_bytes"].sum()) / capacity,
        "carried": float(arrived["size_bytes"].sum()) / capacity,
        "jain_flows": jain(own.filter(pl.col("packets_sent") >= LONG_PACKETS)["bps"]),
        "jain_servers": jain(pl.concat([servers, pl.Series([0] * silent, dtype=servers.dtype)])),
    }


def empty_ps(lengths: str) -> pl.Expr:
    """The completion time in the empty network; an estimate for an active flow, of which runs have none."""
    packet_ps = 8_000 * (rack.mean_bytes(lengths) + rack.FRAME_BYTES)
    return pl.col("ideal_fct_ps").fill_null(_paced_ps(_foreseen(lengths), packet_ps))


def slotted_ps(lengths: str) -> pl.Expr:
    """The least completion time under SYN: a slot for each packet, and the way of a full one for the last."""
    packets = pl.when(pl.col("fct_ps").is_null()).then(_foreseen(lengths)).otherwise(pl.col("packets_sent"))
    return _paced_ps(packets, SLOT_PS)


def _foreseen(lengths: str) -> pl.Expr:
    """Number of packets of a flow: exact for those of one length, else an estimate."""
    return (pl.col("size_bytes") / rack.mean_bytes(lengths)).ceil()


def _paced_ps(packets: pl.Expr, every_ps: float) -> pl.Expr:
    """The time of packets that leave so often, the last one as long as a slot."""
    same_leaf = pl.col("src") // SERVERS_PER_LEAF == pl.col("dst") // SERVERS_PER_LEAF
    way = 2 * (SLOT_PS + _DELAY_PS)
    across = 2 * (SLOT_PS // _FASTER + _DELAY_PS)
    return (packets - 1) * every_ps + way + pl.when(same_leaf).then(0).otherwise(across)


def pair_rates(folder: Path, warm_up_ps: int, every_ps: int) -> pl.DataFrame:
    """The rates at which pairs of servers were served in windows of which they had something to send all the time.

    Args:
        folder: Of a run whose flows were sampled.
        warm_up_ps: Windows that begin earlier do not count.
        every_ps: The length of a window, from one sample to the next.

    Returns:
        time_ps (the window's end), src, dst, bps.
    """
    flows = read_frame(folder / "flows.parquet", ("id", "src", "dst", "start_ps", "fct_ps"))
    samples = read_frame(folder / "samples.parquet").filter(pl.col("series") == "rate_bps")
    start, time = (pl.col(name).cast(pl.Int64) for name in ("start_ps", "time_ps"))
    about = flows.select("id", "src", "dst", start, end_ps=start + pl.col("fct_ps").cast(pl.Int64))
    rates = samples.select(time, "id", bps="value").join(about, on="id")
    lasted = pl.col("end_ps").is_null() | (pl.col("end_ps") >= pl.col("time_ps"))
    whole = lasted & (pl.col("start_ps") <= pl.col("time_ps") - every_ps)
    return (
        rates.filter(pl.col("time_ps") >= warm_up_ps + every_ps)
        .group_by("time_ps", "src", "dst")
        .agg(pl.col("bps").sum(), whole=whole.any())
        .filter("whole")
        .drop("whole")
        .sort("time_ps", "src", "dst")
    )


def pair_fairness(sweep: Sweep, window: rack.Window, every_ps: int) -> pl.DataFrame:
    """One row per run: Jain's index of the rates of all pairs and windows of a run, and how many there are.

    Over all windows together: at low load most of them have one pair or none.
    """
    rows = []
    for run in sweep.runs.filter("done").iter_rows(named=True):
        rates = pair_rates(sweep.path(run["run"]), window.warm_up_ms * 10**9, every_ps)
        rows.append(
            {name: run[name] for name in (*KEYS, "replica")}
            | {"pair_windows": len(rates), "jain_pairs": jain(rates["bps"])}
        )
    schema = {"pair_windows": pl.Int64, "jain_pairs": pl.Float64}
    return pl.DataFrame(rows, schema_overrides=schema).sort(*KEYS, "replica")


ASSUMED = (
    "Flows count that start in a window after the warm-up; flows go on to arrive beyond it. One that is under way at "
    "the end of the run counts with the age that it has then. Throughput is what flows that ended within the window "
    "delivered. Loads beyond what slots or wires hold are marked unstable (empty marks): what waits grows as long as "
    "the run lasts, and they are not compared."
)
