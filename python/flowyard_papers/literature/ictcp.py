"""ICTCP: goodput of barrier-synchronised reads by the number of servers, beside TCP alone.

Wu, Feng, Guo and Zhang, "ICTCP: Incast congestion control for TCP in data-center networks", CoNEXT 2010. The set-up
is that of the multipath thesis, which compares with it: 1 Gbps, a round trip of 100 us, ports of 85 KB, 64, 128 and
256 KB a server.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import style
from flowyard.papers.figure import Figure, Needs, Scale, Sweeps, Tables
from flowyard.papers.judge import Judgement, by_reading, judged, not_reached
from flowyard.sweeps import Axis, Plan

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

RATE_BPS = 1_000_000_000
ICTCP, TCP = "ICTCP", "TCP"
# Whether the rounds share connections. The source does not say; a client that reads blocks keeps them.
KEPT, NEW = "connections kept", "connections of each round"
CONNECTIONS = {KEPT: "kept", NEW: "new"}
SENDERS = (1, 2, 4, 6, 7, 8, 9, 10, 11, 12, 16, 24, 32, 36, 40, 46)
# Those of quick scale.
FEW = (1, 4, 8, 9, 12, 24, 40, 46)
SIZES_KB = (64, 128, 256)
# Up to so many senders ICTCP has the goodput and few rounds with timeouts.
MOST = 40
# 0.8 and 0.1, give or take 10 %.
GOODPUT, TIMEOUTS = 0.72, 0.11
# TCP collapses where it has less than this, from one of so many senders on, give or take 10 %.
COLLAPSED, FROM, TO = 0.5, 7.2, 11
KEYS = ["receiver", "rounds_on", "size_kb", "senders"]


def plans(scale: Scale) -> dict[str, Plan]:
    """Rounds of so many servers, with and without ICTCP, on connections that are kept and on new ones."""
    entry = {
        "name": "read",
        "arrivals": {"blocks": {"blocks": scale.pick(2, 10), "jitter": "100us"}},
        "matrix": {"incast": {"senders": 1, "receiver": 0}},
        "sizes": {"fixed": "64KB"},
    }
    timers = {"rto_min": "200ms", "rto_initial": "1s"}
    base = {
        "topology": {"single-switch": {"hosts": max(SENDERS) + 1, "rate": "1Gbps", "delay": "25us"}},
        "transport": {"tcp": timers},
        "queue": {"drop-tail": {"limit": {"bytes": "85KB"}}},
        "traffic": [entry],
    }
    numbers = scale.pick(FEW, SENDERS)
    axes = [
        Axis("receiver", {"transport.tcp": [timers | {"ictcp": {}}, timers]}, labels=[ICTCP, TCP]),
        Axis("rounds_on", {"traffic.read.connection": list(CONNECTIONS.values())}, labels=list(CONNECTIONS)),
        Axis("size_kb", {"traffic.read.sizes.fixed": [f"{size}KB" for size in SIZES_KB]}, labels=SIZES_KB),
        Axis("senders", {"traffic.read.matrix.incast.senders": list(numbers)}, labels=numbers),
    ]
    return {"reads": Plan(base, axes, scale.pick(1, 5), name="reads")}


def tables(sweeps: Sweeps) -> Tables:
    """One row per run: goodput as a share of the link, and the share of rounds with a timeout."""
    keys = [*KEYS, "replica"]
    flows = sweeps["reads"].flows.select(
        *keys, "id", "size_bytes", "start_ps", "fct_ps", "completed", "timeouts"
    )
    round_ = pl.col("id") // pl.col("senders").cast(pl.UInt64)
    rounds = flows.group_by(*keys, round_.alias("round")).agg(
        pl.col("size_bytes").sum(),
        pl.col("completed").all(),
        begin=pl.col("start_ps").min(),
        end=(pl.col("start_ps") + pl.col("fct_ps")).max(),
        late=(pl.col("timeouts") > 0).any(),
    )
    seconds = (pl.col("end").max() - pl.col("begin").min()) / 1e12
    found = rounds.group_by(keys).agg(
        rounds=pl.len().cast(pl.Int64),
        goodput=pl.when(pl.col("completed").all()).then(8 * pl.col("size_bytes").sum() / seconds / RATE_BPS),
        late=pl.col("late").mean(),
    )
    runs = found.sort(keys).collect()
    return {"runs": runs, "points": replica_means(runs, KEYS, ["goodput", "late"])}


def _on(judge: Callable[[pl.DataFrame], Judgement], receiver: str) -> Callable[[Tables], Judgement]:
    """A judge of the means under a receiver, with a reading for each kind of connection."""

    def of(points: pl.DataFrame) -> Judgement:
        found = {(row["size_kb"], row["senders"]) for row in points.to_dicts()}
        if not found >= {(size, n) for size in SIZES_KB for n in FEW} or points["goodput"].null_count():
            return not_reached("there are not all numbers of senders, or reads have not ended")
        return judge(points)

    def judged_by_connection(tables: Tables) -> Judgement:
        points = tables["points"].filter(receiver=receiver)
        return by_reading({name: of(points.filter(rounds_on=name)) for name in CONNECTIONS})

    return judged_by_connection


def _goodput(points: pl.DataFrame) -> Judgement:
    """The least mean goodput up to 40 senders."""
    few = points.filter(pl.col("senders") <= MOST).sort("goodput")
    held = few.filter(pl.col("goodput") >= GOODPUT)
    return _at_every_point(few, held, "goodput", f"at least {GOODPUT:g}")


def _timeouts(points: pl.DataFrame) -> Judgement:
    """The largest share of rounds with a timeout up to 40 senders."""
    few = points.filter(pl.col("senders") <= MOST).sort(
        "late", "senders", "size_kb", descending=[True, False, False]
    )
    held = few.filter(pl.col("late") <= TIMEOUTS)
    return _at_every_point(few, held, "late", f"at most {TIMEOUTS:g} of the rounds")


def _at_every_point(points: pl.DataFrame, held: pl.DataFrame, column: str, bound: str) -> Judgement:
    """PASS if all points held; the worst one comes first, and failing numbers of senders are named by size."""
    worst = points.row(0, named=True)
    where = f"{worst[column]:.3g} with {worst['senders']} of {worst['size_kb']} KB"
    failing = points.join(held, on=["size_kb", "senders"], how="anti").group_by("size_kb")
    numbers = failing.agg(pl.col("senders").sort()).sort("size_kb")
    said = [f"{size} KB: {', '.join(map(str, of))} senders" for size, of in numbers.iter_rows()]
    measured = f"{len(held)} of {len(points)} points, {where}"
    return judged(len(held) == len(points), measured, f"{bound} at every point").because("; ".join(said))


def _collapse(points: pl.DataFrame) -> Judgement:
    """The first number of senders with less than half of the link, by size."""
    low = points.filter(pl.col("goodput") < COLLAPSED).group_by("size_kb").agg(pl.col("senders").min())
    first = dict(low.iter_rows())
    measured = ", ".join(f"{size} KB from {first.get(size, 'none')}" for size in SIZES_KB)
    holds = len(first) == len(SIZES_KB) and all(FROM <= n <= TO for n in first.values())
    return judged(holds, measured, f"from {FROM:g} to {TO:g} senders on, at each size")


def draw(tables: Tables) -> "Picture":
    """Goodput and rounds with timeouts by the number of senders, a panel for each size."""
    picture, panels = style.panels(2, len(SIZES_KB), size=(3.6, 2.6))
    for column, size in enumerate(SIZES_KB):
        goodput, late = panels[column], panels[column + len(SIZES_KB)]
        for place, receiver in enumerate((ICTCP, TCP)):
            for connection, line in zip(CONNECTIONS, ("-", ":"), strict=True):
                rows = tables["points"].filter(receiver=receiver, rounds_on=connection, size_kb=size)
                for axes, measure in ((goodput, "goodput"), (late, "late")):
                    style.curve(
                        axes,
                        rows.sort("senders"),
                        "senders",
                        measure,
                        place,
                        f"{receiver}, {connection}",
                        within=(0, 1),
                        linestyle=line,
                    )
        goodput.axhline(0.8, color="#000000", linewidth=0.9, linestyle="--")
        late.axhline(0.1, color="#000000", linewidth=0.9, linestyle="--")
        goodput.set(ylabel="goodput / 1 Gbps", title=f"{size} KB a server", ylim=(0, 1))
        late.set(ylabel="rounds with a timeout", xlabel="servers", ylim=(-0.02, 1.02))
    picture.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return picture


FIGURE = Figure(
    id="LIT-ICTCP",
    title="ICTCP and TCP: goodput and timeouts of synchronised reads by the number of servers",
    plans=plans,
    tables=tables,
    claims={
        "LIT-ICTCP.a": _on(_goodput, ICTCP),
        "LIT-ICTCP.b": _on(_timeouts, ICTCP),
        "LIT-ICTCP.c": _on(_collapse, TCP),
    },
    draw=draw,
    needs={
        "points": Needs(5, by=tuple(KEYS), rows=2 * len(CONNECTIONS) * len(SIZES_KB) * len(SENDERS)),
        "runs": Needs(least={"rounds": 10}),
    },
    assumed=(
        "10 rounds (quick scale: 2), each from the end of the one before, with starts within 100 us; goodput is of the "
        "time from the first start to the last end. NewReno, no timeout below 200 ms.",
        "The constants of ICTCP are those of public descriptions of the paper, which are the defaults.",
    ),
)
