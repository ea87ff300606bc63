"""PEQ section 1.3: D2TCP gives up less of its window the nearer its deadline is.

From D2TCP's paper (Vamanan et al., SIGCOMM 2012): a mark takes p / 2 of the window, p = alpha^d, where alpha is the
estimated share of marks and d = Tc / D, between 0.5 and 2, the time that the flow still needs over the time that it
has. One flow is alone with a port and has a near deadline, a far one or none. Until its first mark nothing tells the
runs apart, so that alpha is the same at the first cut, which is what "equal marking" means here.

Tc is the flow's own estimate, W bytes a smoothed round trip. Where that is taken once a window it is behind the queue
that slow start builds: over short cables a flow believes that it is four times as fast as it is, and in time. With
timestamps each acknowledgement is a sample, as in Linux and ns-3: the claim is judged so, and also without.
"""

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from flowyard.papers import style
from flowyard.papers.figure import Figure, Scale, Sweeps, Tables
from flowyard.papers.judge import Judgement, by_reading, judged, not_reached
from flowyard.sweeps import Axis, Plan

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

NEAR, FAR, NONE = "near", "far", "none"
DEADLINES = {NEAR: "4ms", NONE: None, FAR: "10s"}
LABELS = {NEAR: "near deadline", NONE: "no deadline", FAR: "far deadline"}
# The bounds of d, and what it is without a deadline.
EXPONENTS = {NEAR: 2.0, NONE: 1.0, FAR: 0.5}
# What alpha starts from, and so nearly what it is at the first mark.
ALPHAS = (0.1, 0.3, 0.5, 0.7, 0.9)

# How round trips are measured.
EACH, ONCE = "timestamps", "one sample a window"


def plans(scale: Scale) -> dict[str, Plan]:
    """Each deadline with each alpha to start from, over several round trips."""
    base = {
        "topology": {"line": {"rates": ["10Gbps", "1Gbps"], "delay": "25us"}},
        # At once, as the window is to be seen before and after.
        "transport": {"tcp": {"congestion": {"d2tcp": {"dctcp": {"proportional_reduction": False}}}}},
        "queue": {"ecn": {"limit": {"packets": 500}, "threshold": {"packets": 20}}},
        "traffic": [
            {
                "name": "flow",
                "arrivals": {"at-once": {"jitter": "0s"}},
                "matrix": {"pairs": [[0, 1]]},
                "sizes": {"fixed": "1MB"},
            }
        ],
        "observe": {"samples": {"every": "1us", "links": []}},
    }
    delays = scale.pick((10, 50), (5, 10, 20, 50, 100))
    axes = [
        Axis("deadline", {"traffic.flow.deadline": list(DEADLINES.values())}, labels=list(DEADLINES)),
        Axis("start", {"transport.tcp.congestion.d2tcp.dctcp.initial_alpha": list(ALPHAS)}, labels=ALPHAS),
        Axis("round_trips", {"transport.tcp.timestamps": [False, True]}, labels=[ONCE, EACH]),
        Axis("delay_us", {"topology.line.delay": [f"{delay}us" for delay in delays]}, labels=delays),
    ]
    return {"alone": Plan(base, axes, 1, name="alone")}


def tables(sweeps: Sweeps) -> Tables:
    """The first cut of each run: the window before and after it, and the share of it that goes."""
    keys = ["deadline", "start", "round_trips", "delay_us"]
    windows = sweeps["alone"].scan("samples").filter(pl.col("series") == "cwnd_bytes").sort(*keys, "time_ps")
    after = pl.col("value").shift(-1).over(keys)
    cuts = windows.select(*keys, "time_ps", before_bytes="value", after_bytes=after).filter(
        pl.col("after_bytes") < pl.col("before_bytes")
    )
    first = cuts.group_by(keys, maintain_order=True).first().sort(keys).collect()
    return {"cuts": first.with_columns(cut=1 - pl.col("after_bytes") / pl.col("before_bytes"))}


def _less(tables: Tables) -> Judgement:
    """Near deadlines against far ones at the same alpha, which the run without a deadline shows."""
    keys = ["start", "round_trips", "delay_us"]
    cuts = tables["cuts"]
    pairs = cuts.filter(deadline=NEAR).join(cuts.filter(deadline=FAR), on=keys, suffix="_far", how="full")
    if pairs.is_empty() or pairs.select(pl.col("cut", "cut_far").null_count().sum()).row(0) != (0, 0):
        return not_reached("not every run was marked")
    same = pairs.filter(pl.col("before_bytes") == pl.col("before_bytes_far"))
    if len(same) < len(pairs):
        return not_reached("the runs differed before the first mark")
    return by_reading({name: _smaller(pairs.filter(round_trips=name)) for name in (EACH, ONCE)})


def _smaller(pairs: pl.DataFrame) -> Judgement:
    if pairs.is_empty():
        return not_reached("there are no such runs")
    pairs = pairs.with_columns(less=pl.col("cut") < pl.col("cut_far"))
    delays = pairs.filter(~pl.col("less"))["delay_us"].unique().sort()
    return judged(
        len(delays) == 0,
        f"{pairs['less'].sum()} of {len(pairs)} pairs",
        "the near deadline's cut is smaller in every pair",
    ).because(
        f"not over cables of {', '.join(map(str, delays))} us, where the round trip as the flow has it is behind the "
        "queue, and the flow takes itself to be in time"
    )


def draw(tables: Tables) -> "Picture":
    """The first cut by the alpha that the run without a deadline shows, on the curves p / 2."""
    picture, panels = style.panels(1, 2)
    for axes, round_trips in zip(panels, (EACH, ONCE), strict=True):
        _draw(axes, tables["cuts"].filter(round_trips=round_trips))
        axes.set(title=f"round trips: {round_trips}", xlabel="alpha", ylabel="cut of the window (%)")
    picture.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(DEADLINES))
    return picture


def _draw(axes: "Axes", cuts: pl.DataFrame) -> None:
    plain = cuts.filter(deadline=NONE).select("start", "delay_us", alpha=2 * pl.col("cut"))
    alpha = np.linspace(0, 1, 101)
    for (name, exponent), colour, marker in zip(
        EXPONENTS.items(), style.COLOURS, style.MARKERS, strict=False
    ):
        rows = cuts.filter(deadline=name).join(plain, on=["start", "delay_us"])
        axes.plot(alpha, 50 * alpha**exponent, color=colour, linewidth=0.9)
        axes.plot(
            rows["alpha"].to_numpy(),
            (100 * rows["cut"]).to_numpy(),
            linestyle="none",
            marker=marker,
            color=colour,
            label=f"{LABELS[name]}; line: alpha^{exponent:g} / 2",
        )


FIGURE = Figure(
    id="PEQ-P12",
    title="D2TCP: at equal marking a near deadline costs less of the window",
    plans=plans,
    tables=tables,
    claims={"PEQ-P12": _less},
    draw=draw,
    assumed=(
        "A flow of 1 MB from a host of 10 Gbps through a port of 1 Gbps that marks above 20 packets, over cables of "
        "several lengths; deadlines of 4 ms, half of what the flow needs alone, and of 10 s, and none.",
        "Round trips are measured with timestamps, each acknowledgement being a sample, as Linux and ns-3 do it; one "
        "sample a window is a second reading.",
        "Alpha starts from several values, a field of the transport, so that the first cut, at which it is still the "
        "same in all runs, comes at many alphas.",
    ),
)
