"""Section 5.2.1: the settings of three studies of Incast that the thesis lists, as stated there, under plain TCP."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.sweeps import Axis, Plan
from flowyard_papers.mp import _reads

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

LINK_MBPS, REPLICAS = 1000, 5


@dataclass(frozen=True)
class Setting:
    """Numbers of the text: round trip and buffer, what a server sends of a block, numbers of senders, rounds.

    Beside the blocks there may be requests in the background, of so many KB each.
    """

    round_trip_us: int
    units_kb: tuple[int, ...]
    buffer_kb: int
    senders: tuple[int, ...]
    rounds: int
    background_kb: int = 0


SETTINGS: Mapping[str, Setting] = {
    "ICTCP": Setting(100, (64, 128, 256), 85, (1, 2, 4, 6, 8, 10, 12, 16, 20, 24, 30, 38, 46), 100),
    "Tam et al.": Setting(100, (10, 100), 128, (1, 2, 4, 8, 12, 16, 24, 32, 40, 50, 64, 80, 100), 100),
    # "Smaller than 100 KB for latency sensitive queries, and larger than 100 KB for background requests", where the
    # others have sizes joined by "or": queries beside background requests. Half and five times that.
    "FUSO": Setting(280, (50,), 128, (1, 2, 3, 4, 5), 10, background_kb=500),
}
# Both sizes as settings of their own, as the others have theirs.
APART = "FUSO, each size by itself"
RUN: Mapping[str, Setting] = {
    **SETTINGS,
    APART: replace(SETTINGS["FUSO"], units_kb=(50, 500), background_kb=0),
}
# Beside goodput of the reads that of all that the client gets.
EVERYTHING = "everything_mbps"


def plans(scale: Scale) -> dict[str, Plan]:
    """A sweep for each study, by unit and number of senders."""
    made = {}
    for place, setting in enumerate(RUN.values()):
        numbers = setting.senders
        axis = Axis(
            "unit_kb",
            {"traffic.reads.sizes.fixed": [f"{kb}KB" for kb in setting.units_kb]},
            labels=setting.units_kb,
        )
        made[f"setting-{place}"] = _reads.plan(
            scale.pick(tuple(sorted({*numbers[::4], *numbers[-1:]})), numbers),
            axis,
            scale.pick(1, REPLICAS),
            {
                "queue.drop-tail.limit.bytes": f"{setting.buffer_kb}KB",
                "traffic.reads.arrivals.blocks.blocks": scale.pick(10, setting.rounds),
            },
            None,
            round_trip_us=setting.round_trip_us,
            requests=f"{setting.background_kb}KB" if setting.background_kb else "",
        )
    return made


def tables(sweeps: Sweeps) -> Tables:
    """One row per run, the means, and what the scenarios of the sweeps have."""
    parts = []
    for place, name in enumerate(RUN):
        sweep = sweeps[f"setting-{place}"]
        everything = _reads.runs(sweep, everything=True).select(pl.col("goodput_mbps").alias(EVERYTHING))
        found = pl.concat([_reads.runs(sweep, "timeouts"), everything], how="horizontal")
        parts.append(found.select(pl.lit(name).alias("setting"), pl.all()))
    runs = pl.concat(parts)
    points = replica_means(runs, ["setting", "unit_kb", "servers"], ["goodput_mbps", "timeouts"])
    return {"runs": runs, "points": points}


def _collapse(tables: Tables, name: str, goodput: str = "goodput_mbps") -> Judgement:
    """By every unit: goodput below half of its maximum over fewer senders."""
    checks = []
    for kb in RUN[name].units_kb:
        rows = tables["runs"].filter(setting=name, unit_kb=kb)
        if rows.is_empty() or not rows["completed"].all():
            return judge.not_reached(f"some run of {name} ended before all blocks were there")
        means = dict(rows.group_by("servers").agg(pl.col(goodput).mean()).sort("servers").iter_rows())
        top, peak = max(means.values()), max(means, key=lambda n: means[n])
        low = [n for n, mean in means.items() if n > peak and 2 * mean < top]
        at, least = min(means.items(), key=lambda point: point[1])
        measured = f"{kb} KB: {'from ' + str(low[0]) + ' senders on' if low else 'none'}"
        found = judge.judged(bool(low), measured, "goodput below half of its maximum")
        checks.append(
            found.because(f"with {kb} KB goodput is {top:.4g} Mbps at most, {least:.4g} with {at} senders")
        )
    return judge.together(checks)


def _collapses(tables: Tables) -> Judgement:
    """In each of the three; beside that each by itself, and FUSO's sizes otherwise."""
    each = {name: _collapse(tables, name) for name in SETTINGS}
    others = {
        APART: _collapse(tables, APART),
        "FUSO, with what comes in the background": _collapse(tables, "FUSO", EVERYTHING),
    }
    return judge.by_reading({"all three": judge.together(each.values())} | each | others)


def draw(tables: Tables) -> "Picture":
    """Goodput over the number of senders in each setting, a line for each unit."""
    picture, panels = style.panels(2, 2, size=(4.2, 3.0))
    for axes, (name, setting) in zip(panels, RUN.items(), strict=True):
        for place, kb in enumerate(setting.units_kb):
            rows = tables["points"].filter(setting=name, unit_kb=kb).sort("servers")
            style.curve(axes, rows, "servers", "goodput_mbps", place, f"{kb} KB")
        axes.axhline(LINK_MBPS, color="#000000", linewidth=0.9, linestyle="--")
        beside = f", {setting.background_kb} KB beside" if setting.background_kb else ""
        title = f"{name}: {setting.round_trip_us} us, {setting.buffer_kb} KB a port{beside}"
        axes.set(
            xlabel="senders", ylabel="goodput of the client (Mbps)", ylim=(0, 1.35 * LINK_MBPS), title=title
        )
        axes.legend(loc="upper right", ncols=3, title="from each sender", title_fontsize=8, fontsize=8)
    return picture


FIGURE = Figure(
    id="MP-P14",
    title="Section 5.2.1: the Incast settings of ICTCP, Tam et al. and FUSO under plain TCP",
    plans=plans,
    tables=tables,
    claims={"MP-P14": _collapses},
    draw=draw,
    needs={"runs": Needs(REPLICAS, by=("setting", "unit_kb", "servers"))},
    assumed=(
        "All have links of 1 Gbps and a barrier. ICTCP: round trip 100 us, 64, 128 or 256 KB from each sender, 85 KB a "
        "port, 1 to 46 senders, 100 rounds. Tam et al.: 100 us, 10 or 100 KB, 128 KB, 1 to 100 senders, 100 rounds. "
        "FUSO: 280 us, 128 KB, 5 senders, 10 rounds.",
        "FUSO's sizes are \"smaller than 100 KB for latency sensitive queries, and larger than 100 KB for background "
        'requests": here reads of 50 KB beside which each server sends 500 KB again and again. Where the other two '
        'have sizes joined by "or", this one has "and"; a reading has each size by itself. Fewer senders are run, '
        "too, so that there is a maximum to fall from.",
        "Goodput is that of the reads, which the barrier halts (section 1.1.1); a reading counts what comes in the "
        "background.",
        "One switch; connections are kept from block to block with their windows. TCP (New Reno) has the simulator's "
        "defaults, but for the minimum timeout and the first one of 200 ms.",
    ),
)
