"""How much buffer at the client's port saves TCP from Incast, under two minimum timeouts.

The packaged scenario incast-blocks on kept connections: a client on 1 Gbps reads blocks of 1 MiB that are striped over
16 servers, each of which has one connection to it for all blocks.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import polars as pl

from flowyard import Axis, Plan
from flowyard.papers import judge
from flowyard.papers.figure import Figure, Judgement, Scale, Sweeps, Tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

LINK_BPS = 1e9
BLOCK = 1 << 20


def plans(scale: Scale) -> Mapping[str, Plan]:
    """A grid of buffers and timeouts, repeated with other draws."""
    sizes = scale.pick([32, 128, 512, 1600], [16, 32, 64, 128, 256, 512, 1024, 1600, 3200])
    buffer = Axis("buffer_kb", {"queue.drop-tail.limit.bytes": [f"{kb}KB" for kb in sizes]}, labels=sizes)
    timeout = Axis("rto_min", {"transport.tcp.rto_min": ["200ms", "1ms"]})
    return {
        "reads": Plan(
            "incast-blocks",
            [buffer, timeout],
            replicas=scale.pick(2, 5),
            set={"traffic.reads.connection": "kept"},
            name="incast-buffers",
        )
    }


def tables(sweeps: Sweeps) -> Tables:
    """The rate at which each run read its blocks, headers not counted."""
    flows = sweeps["reads"].flows
    read = flows.group_by("buffer_kb", "rto_min", "replica").agg(
        (pl.col("size_bytes").sum() * 8 / ((pl.col("start_ps") + pl.col("fct_ps")).max() / 1e12)).alias(
            "goodput_bps"
        )
    )
    return {"goodput": read.sort("rto_min", "buffer_kb", "replica").collect()}


def never_less(tables: Tables) -> Judgement:
    """BUF-1.a: each buffer against the next smaller one."""
    runs = tables["goodput"].filter(pl.col("rto_min") == "200ms")
    sizes = runs["buffer_kb"].unique().sort()
    smaller = pl.DataFrame({"buffer_kb": sizes[1:], "before": sizes[:-1]})
    pairs = runs.join(smaller, on="buffer_kb").join(
        runs.select("replica", before="buffer_kb", smaller="goodput_bps"), on=["before", "replica"]
    )
    return judge.not_less(pairs, "goodput_bps", "smaller", x="buffer_kb")


def share(tables: Tables, rto_min: str, buffer_kb: pl.Expr) -> Judgement:
    """The mean share of the link over the runs with that timeout and those buffers."""
    runs = tables["goodput"].filter((pl.col("rto_min") == rto_min) & buffer_kb)
    return judge.at_least(runs.select(pl.col("goodput_bps").mean()).item() / LINK_BPS, 0.9)


def draw(tables: Tables) -> "Picture":
    """Goodput against buffer, a line for each timeout."""
    from flowyard.papers.style import MARKERS, panels

    picture, (axes,) = panels()
    means = (
        tables["goodput"]
        .group_by("rto_min", "buffer_kb")
        .agg(pl.col("goodput_bps").mean())
        .sort("rto_min", "buffer_kb")
    )
    for marker, ((rto_min,), rows) in zip(
        MARKERS, means.group_by("rto_min", maintain_order=True), strict=False
    ):
        axes.plot(rows["buffer_kb"], rows["goodput_bps"] / 1e6, marker=marker, label=f"rto_min {rto_min}")
    axes.set(xscale="log", xlabel="buffer (KB)", ylabel="goodput (Mbit/s)", ylim=(0, 1000))
    axes.legend()
    return picture


FIGURE = Figure(
    id="BUF-1",
    title="Blocks of 1 MiB from 16 servers: goodput against buffer",
    plans=plans,
    tables=tables,
    draw=draw,
    claims={
        "BUF-1.a": never_less,
        "BUF-1.b": lambda tables: share(tables, "200ms", pl.col("buffer_kb") * 1000 >= BLOCK),
        "BUF-1.c": lambda tables: share(tables, "1ms", pl.col("buffer_kb") == 32),
    },
    assumed=["Ten blocks a run; the client asks for the next one when it has all of the one before."],
)
