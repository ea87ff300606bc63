"""Section 5.2.1: the settings of three studies of Incast that the thesis lists, as stated there, under plain TCP."""

from collections.abc import Mapping
from dataclasses import dataclass
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
    """Numbers of the text: round trip and buffer, what a server sends of a block, numbers of senders, rounds."""

    round_trip_us: int
    units_kb: tuple[int, ...]
    buffer_kb: int
    senders: tuple[int, ...]
    rounds: int


SETTINGS: Mapping[str, Setting] = {
    "ICTCP": Setting(100, (64, 128, 256), 85, (1, 2, 4, 6, 8, 10, 12, 16, 20, 24, 30, 38, 46), 100),
    "Tam et al.": Setting(100, (10, 100), 128, (1, 2, 4, 8, 12, 16, 24, 32, 40, 50, 64, 80, 100), 100),
    # "Smaller than 100 KB" for queries and "larger" for background requests: half and five times that.
    "FUSO": Setting(280, (50, 500), 128, (1, 2, 3, 4, 5), 10),
}


def plans(scale: Scale) -> dict[str, Plan]:
    """A sweep for each study, by unit and number of senders."""
    made = {}
    for place, setting in enumerate(SETTINGS.values()):
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
        )
    return made


def tables(sweeps: Sweeps) -> Tables:
    """A row a run, the means, and what the scenarios of the sweeps have."""
    parts = [
        _reads.runs(sweeps[f"setting-{place}"], "timeouts").select(pl.lit(name).alias("setting"), pl.all())
        for place, name in enumerate(SETTINGS)
    ]
    runs = pl.concat(parts)
    points = replica_means(runs, ["setting", "unit_kb", "servers"], ["goodput_mbps", "timeouts"])
    return {"runs": runs, "points": points}


def _collapse(tables: Tables, name: str) -> Judgement:
    """By every unit: goodput below half of its maximum over fewer senders."""
    checks = []
    for kb in SETTINGS[name].units_kb:
        rows = tables["runs"].filter(setting=name, unit_kb=kb)
        if rows.is_empty() or not rows["completed"].all():
            return judge.not_reached(f"some run of {name} ended before all blocks were there")
        means = dict(rows.group_by("servers").agg(pl.col("goodput_mbps").mean()).sort("servers").iter_rows())
        top, peak = max(means.values()), max(means, key=lambda n: means[n])
        low = [n for n, goodput in means.items() if n > peak and 2 * goodput < top]
        at, least = min(means.items(), key=lambda point: point[1])
        measured = f"{kb} KB: {'from ' + str(low[0]) + ' senders on' if low else 'none'}"
        found = judge.judged(bool(low), measured, "goodput below half of its maximum")
        checks.append(
            found.because(f"with {kb} KB goodput is {top:.4g} Mbps at most, {least:.4g} with {at} senders")
        )
    return judge.together(checks)


def _collapses(tables: Tables) -> Judgement:
    """In each of the three; beside that each by itself."""
    each = {name: _collapse(tables, name) for name in SETTINGS}
    return judge.by_reading({"all three": judge.together(each.values())} | each)


def draw(tables: Tables) -> "Picture":
    """Goodput over the number of senders in each setting, a line for each unit."""
    picture, panels = style.panels(1, 3, size=(3.8, 3.0))
    for axes, (name, setting) in zip(panels, SETTINGS.items(), strict=True):
        for place, kb in enumerate(setting.units_kb):
            rows = tables["points"].filter(setting=name, unit_kb=kb).sort("servers")
            style.curve(axes, rows, "servers", "goodput_mbps", place, f"{kb} KB")
        axes.axhline(LINK_MBPS, color="#000000", linewidth=0.9, linestyle="--")
        title = f"{name}: {setting.round_trip_us} us, {setting.buffer_kb} KB a port"
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
        'FUSO\'s units are "smaller than 100 KB" and "larger than 100 KB": here 50 and 500 KB; fewer senders are run, '
        "too, so that there is a maximum to fall from.",
        "One switch; connections are kept from block to block with their windows. TCP (New Reno) has the simulator's "
        "defaults, but for the minimum timeout and the first one of 200 ms.",
    ),
)
