"""ExpressPass beside DCTCP: the time until two flows share a link evenly.

Cho, Jang and Han, "Credit-Scheduled Delay-Bounded Congestion Control for Datacenters", SIGCOMM 2017. A second flow
joins one that has the link to itself. Parameters follow the authors' simulator, kaist-ina/ns2-xpass.
"""

from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import style
from flowyard.papers.figure import Figure, Needs, Scale, Sweeps, Tables
from flowyard.papers.judge import Judgement, by_reading, judged, not_reached
from flowyard.sweeps import Axis, Plan

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

OURS, SLOW_START, DCTCP = "ExpressPass", "ExpressPass, from 1/16", "DCTCP"
STACKS: dict[str, Any] = {
    OURS: {"expresspass": {}},
    SLOW_START: {"expresspass": {"initial_rate": 0.0625, "w_initial": 0.0625}},
    DCTCP: {"tcp": {"congestion": "dctcp", "handshake": False, "delayed_ack": 1, "rto_min": "10ms"}},
}
# By the rate of the links: packets above which ports mark for DCTCP, ms that are simulated after the second flow joins.
SLOW, FAST = 10, 40
RATES: dict[int, tuple[int, int]] = {SLOW: (65, 120), FAST: (260, 300)}
# The second flow joins after so many ms; a sample is of one round trip.
JOINS_MS, ROUND_MS = 20, 0.1
EVEN, WINDOW = 0.95, 10
KEYS = ["gbps", "stack"]


def plans(scale: Scale) -> dict[str, Plan]:
    """Two flows to one receiver, under each transport, at each rate."""
    base = {
        "topology": {"single-switch": {"hosts": 3, "rate": f"{SLOW}Gbps", "delay": "25us"}},
        "transport": STACKS[OURS],
        "traffic": [
            {
                "name": name,
                "background": True,
                "arrivals": {"at-once": {"at": f"{at}ms", "jitter": "1ms"}},
                "matrix": {"pairs": [[sender, 0]]},
                "sizes": "endless",
            }
            for name, sender, at in (("first", 1, 0), ("second", 2, JOINS_MS))
        ],
        "run": {"measure": "all", "until": "1s"},
        "observe": {"samples": {"every": f"{round(ROUND_MS * 1000)}us", "links": ["switch -> host 0"]}},
    }
    points = [(gbps, name) for gbps in RATES for name in STACKS]
    ports = [
        {"ecn": {"limit": {"packets": 10 * RATES[gbps][0]}, "threshold": {"packets": RATES[gbps][0]}}}
        if name == DCTCP
        else "credit"
        for gbps, name in points
    ]
    untils = [f"{JOINS_MS + 1 + scale.pick(60, RATES[gbps][1])}ms" for gbps, _ in points]
    axis = Axis(
        "point",
        {
            "topology.single-switch.rate": [f"{gbps}Gbps" for gbps, _ in points],
            "transport": [STACKS[name] for _, name in points],
            "queue": ports,
            "run.until": untils,
        },
        labels=[f"{gbps}; {name}" for gbps, name in points],
    )
    return {"flows": Plan(base, [axis], scale.pick(1, 5), name="flows")}


def tables(sweeps: Sweeps) -> Tables:
    """Jain's index of the two mean rates over the next round trips, since the second flow joined; when it is high."""
    sweep = sweeps["flows"]
    keys = ["point", "replica"]
    rates = (
        sweep.scan("samples")
        .filter(pl.col("series") == "rate_bps")
        .select(*keys, "time_ps", flow=pl.col("id").cast(pl.Int64), gbps=pl.col("value") / 1e9)
        .collect()
        .pivot("flow", index=[*keys, "time_ps"], values="gbps")
        .rename({"0": "first_gbps", "1": "second_gbps"})
    )
    starts = sweep.flows.filter(pl.col("id") == 1).select(*keys, "start_ps").collect()
    first, second = pl.col("first_gbps"), pl.col("second_gbps")
    place = pl.col("point").str.split("; ")
    since = (
        rates.join(starts, on=keys)
        .with_columns(
            gbps=place.list.get(0).cast(pl.Int64),
            stack=place.list.get(1),
            since_ms=(pl.col("time_ps").cast(pl.Int64) - pl.col("start_ps").cast(pl.Int64)) / 1e9 - ROUND_MS,
        )
        .filter(pl.col("since_ms") > 0)
        .sort(*KEYS, "replica", "since_ms")
        .with_columns(
            pl.col("first_gbps", "second_gbps").rolling_mean(WINDOW).shift(1 - WINDOW).over(*KEYS, "replica")
        )
        .with_columns(jain=(first + second) ** 2 / (2 * (first**2 + second**2)))
        .drop_nulls("jain")
    )
    runs = [
        {"gbps": gbps, "stack": stack, "replica": replica, "even_ms": even_after(rows)}
        for (gbps, stack, replica), rows in since.group_by(*KEYS, "replica", maintain_order=True)
    ]
    table = pl.DataFrame(runs, schema_overrides={"even_ms": pl.Float64})
    shown = since.filter(replica=0).select(*KEYS, "since_ms", "first_gbps", "second_gbps", "jain")
    return {"rates": shown, "runs": table, "points": replica_means(table, KEYS, ["even_ms"])}


def even_after(rows: pl.DataFrame) -> float | None:
    """The first time from which the mean rates have an index of EVEN."""
    times = rows.filter(pl.col("jain") >= EVEN)["since_ms"]
    return float(times[0]) if len(times) else None


def _times(tables: Tables, gbps: int, stack: str) -> tuple[float, float] | None:
    """Mean times until the shares are even: ours and DCTCP's. None if a run has none."""
    runs = tables["runs"].filter(gbps=gbps)
    found = []
    for name in (stack, DCTCP):
        values = runs.filter(stack=name)["even_ms"]
        if values.is_empty() or values.null_count():
            return None
        found.append(sum(values) / len(values))
    return found[0], found[1]


def _sooner(tables: Tables) -> Judgement:
    return by_reading({stack: _sooner_from(stack, tables) for stack in (OURS, SLOW_START)})


def _sooner_from(stack: str, tables: Tables) -> Judgement:
    times = _times(tables, SLOW, stack)
    if times is None:
        return not_reached("there are no runs, or shares are not even within them")
    ours, other = times
    return judged(
        ours < other,
        f"{ours:.2f} ms, {DCTCP} {other:.2f} ms: {other / ours:.1f} times as long",
        "sooner than DCTCP",
    )


def _gap(tables: Tables) -> Judgement:
    return by_reading({stack: _gap_from(stack, tables) for stack in (OURS, SLOW_START)})


def _gap_from(stack: str, tables: Tables) -> Judgement:
    ratios = []
    for gbps in (SLOW, FAST):
        times = _times(tables, gbps, stack)
        if times is None:
            return not_reached("there are not both rates, or shares are not even within the runs")
        ratios.append(times[1] / times[0])
    slow, fast = ratios
    return judged(
        fast > slow, f"{slow:.1f} times at {SLOW} Gbps, {fast:.1f} at {FAST} Gbps", f"more at {FAST} Gbps"
    )


def draw(tables: Tables) -> "Picture":
    """Jain's index over time at each rate, and the times until it is high."""
    picture, panels = style.panels(1, 3, size=(3.8, 2.9))
    for axes, gbps in zip(panels, RATES, strict=False):
        for place, name in enumerate(STACKS):
            rows = tables["rates"].filter(gbps=gbps, stack=name).sort("since_ms")
            axes.plot(
                rows["since_ms"].to_numpy(),
                rows["jain"].to_numpy(),
                color=style.COLOURS[place],
                label=name,
                linewidth=1,
            )
        axes.axhline(EVEN, color="#000000", linewidth=0.9, linestyle="--")
        axes.set(
            xlabel="time since the second flow joined (ms)",
            ylabel="Jain's index over the next 1 ms",
            title=f"{gbps} Gbps, round trips of 100 us",
            xscale="log",
            ylim=(0.45, 1.02),
        )
    picture.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(STACKS))
    for place, name in enumerate(STACKS):
        rows = tables["points"].filter(stack=name).drop_nulls("even_ms").sort("gbps")
        style.curve(panels[2], rows, "gbps", "even_ms", place, name, linestyle="")
    panels[2].set(
        xlabel="link (Gbps)",
        ylabel=f"time to an index of {EVEN} (ms)",
        xscale="log",
        yscale="log",
        xlim=(7, 60),
    )
    panels[2].set_xticks(list(RATES), [str(gbps) for gbps in RATES])
    panels[2].set_xticks([], minor=True)
    return picture


FIGURE = Figure(
    id="LIT-XPASS",
    title="ExpressPass and DCTCP: the time until two flows share a link evenly",
    plans=plans,
    tables=tables,
    claims={"LIT-XPASS.a": _sooner, "LIT-XPASS.b": _gap},
    draw=draw,
    needs={"runs": Needs(5, by=KEYS)},
    assumed=(
        "Two senders and a receiver at one switch, links of 10 and 40 Gbps, round trips of 100 us, endless flows; the "
        "second one joins 20 ms after the first, give or take a millisecond. The paper's own set-up is not known here.",
        "Shares are even from the first round trip on with a Jain index of 0.95, of mean goodputs over ten round "
        "trips: rates over single ones swing, since windows of DCTCP wait in the port for as long as a round trip.",
        "DCTCP has marks above 65 packets at 10 Gbps, 260 at 40 Gbps, an acknowledgement for each segment, and its "
        "gain of 1/16; ports hold ten times as many packets as they are to mark from.",
        "ExpressPass has the defaults of its authors' simulator; 1/16 as first rate and weight, which are those of the "
        "paper from memory, are a further reading.",
    ),
)
