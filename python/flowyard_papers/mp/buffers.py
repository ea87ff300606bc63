"""Figure 3.1: goodput of synchronised reads by senders and buffer, and the two kinds of timeouts of section 3.1.

The dissertation cites Kulkarni's model and simulation (2012) and does not tell their set-up: here 1 Gbps, a round trip
of 100 us, 256 KiB from each sender a block, connections that are kept.
"""

from typing import TYPE_CHECKING

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.sweeps import Axis, Plan
from flowyard_papers.mp import _reads

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

# As in equation 1.2: 100 blocks, 256 KB of each from every sender.
BLOCKS, SHARE, LINK_MBPS = 100, 262_144, 1000
BUFFERS = (64, 256)
FULL = (1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 32, 40, 48, 56, 64)


def plans(scale: Scale) -> dict[str, Plan]:
    """Both buffers over the number of senders."""
    axis = Axis("buffer_kb", {"queue.drop-tail.limit.bytes": [f"{kb}KB" for kb in BUFFERS]}, labels=BUFFERS)
    return {
        "reads": _reads.plan(
            scale.pick((1, 2, 4, 8, 16, 32), FULL),
            axis,
            scale.pick(2, 5),
            {"traffic.reads.arrivals.blocks.blocks": BLOCKS},
            lambda _: SHARE,
        )
    }


def tables(sweeps: Sweeps) -> Tables:
    """A row a run, and the means."""
    runs = _reads.runs(sweeps["reads"], "timeouts", "timeouts_whole_window").with_columns(
        share_pct=pl.when(pl.col("timeouts") > 0).then(
            100 * pl.col("timeouts_whole_window") / pl.col("timeouts")
        )
    )
    columns = ["goodput_mbps", "timeouts", "share_pct"]
    return {"runs": runs, "points": replica_means(runs, ["buffer_kb", "servers"], columns)}


def _onset(tables: Tables, buffer_kb: int) -> int | None:
    """The fewest senders with less than half of the largest mean goodput; None if it never falls so low."""
    runs = tables["runs"].filter(buffer_kb=buffer_kb)
    means = runs.group_by("servers").agg(pl.col("goodput_mbps").mean())
    low = means.filter(2 * pl.col("goodput_mbps") < pl.col("goodput_mbps").max())["servers"].to_list()
    return min(low, default=None)


def _later(tables: Tables) -> Judgement:
    """Both collapse, or the larger buffer does not collapse at all; and the larger one later."""
    runs = tables["runs"]
    if not runs["completed"].all():
        return judge.not_reached("some run ended before all blocks were there")
    small, large = (_onset(tables, buffer_kb) for buffer_kb in BUFFERS)
    if small is None:
        return judge.judged(False, "no onset with 64 KB", "an onset").because("goodput never falls to a half")
    return judge.judged(
        large is None or large > small,
        f"onset at {large or 'no number of'} senders with 256 KB, at {small} with 64 KB",
        "later with 256 KB",
    ).because("goodput falls below half of its largest mean at that number of senders")


def _rises(tables: Tables, buffer_kb: int) -> Judgement:
    """The share at each number of senders that has timeouts in every run, against the next smaller one."""
    runs = tables["runs"].filter(buffer_kb=buffer_kb)
    known = runs.filter(pl.col("timeouts").min().over("servers") > 0)
    servers = known["servers"].unique().sort()
    if len(servers) < 2:
        return judge.not_reached("fewer than two numbers of senders have timeouts in every run")
    before = pl.DataFrame({"servers": servers[1:], "fewer": servers[:-1]})
    pairs = known.join(before, on="servers").join(
        known.select("replica", fewer="servers", share_pct_with_fewer="share_pct"), on=["fewer", "replica"]
    )
    found = judge.not_less(pairs, "share_pct", "share_pct_with_fewer", x="servers", points=True)
    means = known.group_by("servers").agg(pl.col("share_pct").mean()).sort("servers")
    all_of_them = ", ".join(f"{share:.0f} % ({n})" for n, share in means.iter_rows())
    return found.noted(f"share of timeouts after a whole window, by senders: {all_of_them}")


def _kinds(tables: Tables) -> Judgement:
    return judge.by_reading({f"{buffer_kb} KB": _rises(tables, buffer_kb) for buffer_kb in BUFFERS})


def draw(tables: Tables) -> "Picture":
    """Goodput over senders; timeouts; the share of those after a whole window."""
    picture, panels = style.panels(1, 3)
    shown = {
        "goodput_mbps": "goodput of the client (Mbps)",
        "timeouts": "timeouts in a run",
        "share_pct": "of these, whole window lost (%)",
    }
    for panel, (name, label) in zip(panels, shown.items(), strict=True):
        for place, buffer_kb in enumerate(BUFFERS):
            rows = tables["points"].filter(buffer_kb=buffer_kb).drop_nulls(name).sort("servers")
            style.curve(panel, rows, "servers", name, place, f"buffer of {buffer_kb} KB")
        panel.set(xlabel="senders", ylabel=label, ylim=(0, None))
    panels[0].axhline(LINK_MBPS, color="#000000", linewidth=0.9, linestyle="--")
    panels[0].legend()
    return picture


FIGURE = Figure(
    id="MP-F3.1",
    title="Figure 3.1: the onset of Incast by buffer, and its two kinds of timeouts",
    plans=plans,
    tables=tables,
    claims={"MP-F3.1.a": _later, "MP-F3.1.b": _kinds},
    draw=draw,
    needs={"runs": Needs(5, by=("buffer_kb", "servers"))},
    assumed=(
        "The text has no set-up for this figure. One switch at 1 Gbps, 100 us round trip; each sender has 256 KiB of "
        "each block, and the next block is asked for when all of it is there.",
        "Connections are kept from block to block with their windows. TCP (New Reno) has the simulator's defaults, but "
        "for the minimum timeout and the first one of 200 ms.",
        "Incast has set in where the mean goodput is below half of its largest value over all numbers of senders.",
        "A timeout is of the kind ABTT if nothing came back of the window before it, else IBTT; numbers of senders at "
        "which some run has no timeout have no share.",
    ),
)
