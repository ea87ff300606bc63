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
# To more than twice as many senders as the larger port holds packets (`half_lost`).
FULL = (1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 32, 40, 48, 56, 64, 96, 128, 192, 256, 384, 512)
PACKET = 1500
SHARE_PCT, SHARE_ONCE_PCT, HALF = "share_pct", "share_once_pct", 50


def plans(scale: Scale) -> dict[str, Plan]:
    """Both buffers over the number of senders."""
    axis = Axis("buffer_kb", {"queue.drop-tail.limit.bytes": [f"{kb}KB" for kb in BUFFERS]}, labels=BUFFERS)
    return {
        "reads": _reads.plan(
            scale.pick((1, 2, 4, 8, 16, 32, 128), FULL),
            axis,
            scale.pick(2, 5),
            {"traffic.reads.arrivals.blocks.blocks": BLOCKS},
            lambda _: SHARE,
        )
    }


def tables(sweeps: Sweeps) -> Tables:
    """One row per run, and the means.

    Beside the share of timeouts after a whole window there is one by which no transfer has lost more than one: a window
    of a single segment that is lost again after a timeout counts in the first share only.
    """
    sweep = sweeps["reads"]
    runs = _reads.runs(sweep, "timeouts", "timeouts_whole_window")
    keys = [*sweep.axes, "replica"]
    once = sweep.flows.group_by(keys).agg(pl.col("timeouts_whole_window").clip(0, 1).sum().cast(pl.Int64))
    once = once.rename({"timeouts_whole_window": "transfers_whole_window"})
    whole, first = pl.col("timeouts_whole_window"), pl.col("transfers_whole_window")
    others = pl.col("timeouts") - whole
    runs = runs.join(once.collect(), on=keys, maintain_order="left").with_columns(
        pl.when(pl.col("timeouts") > 0).then(100 * part / (part + others)).alias(name)
        for name, part in ((SHARE_PCT, whole), (SHARE_ONCE_PCT, first))
    )
    columns = ["goodput_mbps", "timeouts", SHARE_PCT, SHARE_ONCE_PCT]
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


def _predominates(tables: Tables, buffer_kb: int, share: str = SHARE_PCT) -> Judgement:
    """IBTT is more than half of the timeouts up to some number of senders, and ABTT at every larger one.

    Section 3.1: "IBTT is the principle cause of Incast when the number of involved flows is small while ABTT
    predominates otherwise".
    """
    known = _known(tables, buffer_kb)
    means = known.group_by("servers").agg(pl.col(share).mean()).sort("servers").rows()
    if len(means) < 2:
        return judge.not_reached("fewer than two numbers of senders have timeouts in every run")
    few = [n for n, pct in means if pct < HALF]
    many = [n for n, pct in means if pct > HALF]
    parted = len(few) + len(many) == len(means) and bool(few) and bool(many) and max(few) < min(many)
    said = ", ".join(f"{pct:.0f} % ({n})" for n, pct in means)
    measured = (
        f"ABTT {means[0][1]:.3g} % with {means[0][0]} senders, {means[-1][1]:.3g} % with {means[-1][0]}"
    )
    if many:
        measured += f"; more than half from {min(many)} on"
    found = judge.judged(
        parted, measured, "less than half up to some number of senders, more than half above"
    )
    return found.because(f"it is never more than half above all others: {said}").noted(
        f"share of timeouts after a whole window, by senders: {said}; from {half_lost(1000 * buffer_kb)} senders on "
        "the port cannot hold the first packets of half of them (half_lost)"
    )


def half_lost(port_bytes: int) -> int:
    """The fewest senders of which more than half lose the first packet, if all send it at once.

    The port holds some and sends one. A flow whose window is that packet then has lost it whole: this kind of timeout
    needs as many senders as a port holds packets, and its predominance twice as many.
    """
    return 2 * (port_bytes // PACKET + 1) + 1


def _known(tables: Tables, buffer_kb: int) -> pl.DataFrame:
    """Runs at the numbers of senders that have timeouts in every run."""
    runs = tables["runs"].filter(buffer_kb=buffer_kb)
    return runs.filter(pl.col("timeouts").min().over("servers") > 0)


def _rises(tables: Tables, buffer_kb: int) -> Judgement:
    """The share at each number of senders that has timeouts in every run, against the next smaller one."""
    known = _known(tables, buffer_kb)
    servers = known["servers"].unique().sort()
    if len(servers) < 2:
        return judge.not_reached("fewer than two numbers of senders have timeouts in every run")
    before = pl.DataFrame({"servers": servers[1:], "fewer": servers[:-1]})
    pairs = known.join(before, on="servers").join(
        known.select("replica", fewer="servers", share_pct_with_fewer=SHARE_PCT), on=["fewer", "replica"]
    )
    return judge.not_less(pairs, SHARE_PCT, "share_pct_with_fewer", x="servers", points=True)


def _kinds(tables: Tables) -> Judgement:
    """Which kind predominates; beside it with one whole window a transfer at most, and whether the share rises."""
    return judge.by_reading(
        {f"which predominates, {kb} KB": _predominates(tables, kb) for kb in BUFFERS}
        | {
            f"at most one whole window of a transfer, {kb} KB": _predominates(tables, kb, SHARE_ONCE_PCT)
            for kb in BUFFERS
        }
        | {f"share rises from each number to the next, {kb} KB": _rises(tables, kb) for kb in BUFFERS}
    )


def draw(tables: Tables) -> "Picture":
    """Goodput over senders; timeouts; the share of those after a whole window."""
    picture, panels = style.panels(1, 3)
    shown = {
        "goodput_mbps": "goodput of the client (Mbps)",
        "timeouts": "timeouts in a run",
        SHARE_PCT: "of these, whole window lost (%)",
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
        "which some run has no timeout have no share. A window of one segment that is lost again after a timeout is "
        "lost whole, too; readings count one whole window of a transfer at most.",
        'Section 3.1 says which kind is "the principle cause" of few flows and which "predominates otherwise": that is '
        "more than half. It does not tell how many flows are many; a whole window is lost where not even its first "
        "packet finds room, so that the number of senders goes beyond twice the packets of the larger port.",
    ),
)
