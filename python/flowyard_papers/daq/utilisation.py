"""Figure 4: how much of a link five long flows use, and how RCP starts up.

The fluid equation of RCP's start, du/dt = (alpha/d) u (1 - u), is drawn beside it.
"""

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.sweeps import Plan
from flowyard_papers.daq import _judges as judges
from flowyard_papers.daq import _models as models
from flowyard_papers.daq import _rack as rack
from flowyard_papers.daq import _readings as readings

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

SENDERS, UNTIL_MS, WINDOW_MS = 5, 4000, 10
SCHEMES = (rack.DAQ, rack.RCP, rack.D3, rack.D3_PLAIN, rack.RCP_SCALED)
# The closed form of DAQ-F4.f: the five begin with a tenth of the link each.
START, POINTS = 0.5, {500: 0.73, 1000: 0.88, 2000: 0.98}


def plans(scale: Scale) -> dict[str, Plan]:
    """Five flows without an end, under each scheme."""
    flows = {
        "name": rack.LONG,
        # Nothing else differs among the replicas.
        "arrivals": {"at-once": {"jitter": "50us"}},
        "matrix": rack.to_aggregator(1, SENDERS),
        "sizes": "endless",
        "background": True,
    }
    observe = {"samples": {"every": f"{WINDOW_MS}ms", "links": ["* -> host 0"], "flows": []}}
    more = {"run": {"until": f"{UNTIL_MS}ms"}, "observe": observe}
    axis = rack.schemes(SCHEMES, [flows], SENDERS + 1, **more)
    return {"long": Plan(axes=[axis], replicas=scale.pick(2, 10), name="five long flows")}


def tables(sweeps: Sweeps) -> Tables:
    """Utilisation in windows of 10 ms, by run and the mean, and the fluid start of RCP."""
    windows = (
        sweeps["long"]
        .scan("samples")
        .filter(pl.col("series") == "utilisation")
        .select(
            "scheme",
            "replica",
            window_ms=pl.col("time_ps") // 1_000_000_000 - WINDOW_MS,
            used_pct=100 * pl.col("value"),
        )
        .sort("scheme", "replica", "window_ms")
        .collect()
    )
    at = np.arange(0, UNTIL_MS, WINDOW_MS, dtype=np.float64)
    middle = (at + WINDOW_MS / 2) / 1000
    fluid = pl.DataFrame({"window_ms": at, "used_pct": 100 * models.rcp_logistic(START, middle)})
    return {
        "windows": windows,
        "means": replica_means(windows, ["scheme", "window_ms"], ["used_pct"]),
        "fluid": fluid.with_columns(pl.col("window_ms").cast(pl.Int64)),
    }


def _of(tables: Tables, *schemes: str) -> pl.DataFrame | Judgement:
    windows = tables["windows"].filter(pl.col("scheme").is_in(schemes))
    return judges.missing(windows, schemes) or windows


def _over(windows: pl.DataFrame, scheme: str, start_ms: int, end_ms: int) -> float | None:
    inside = pl.col("window_ms").is_between(start_ms, end_ms, closed="left")
    found = windows.filter(inside, scheme=scheme)["used_pct"].mean()
    return found if isinstance(found, float) else None


def _full(tables: Tables) -> Judgement:
    windows = _of(tables, rack.DAQ)
    if isinstance(windows, Judgement):
        return windows
    worst = windows.filter(pl.col("window_ms") >= 10).sort("used_pct").row(0, named=True)
    return judge.at_least(worst["used_pct"] / 100, 0.97).because(f"least from {worst['window_ms']} ms on")


def _starts_with_half(tables: Tables) -> Judgement:
    windows = _of(tables, rack.RCP)
    if isinstance(windows, Judgement):
        return windows
    first = _over(windows, rack.RCP, 0, 100)
    return judge.between(None if first is None else first / 100, 0.4, 0.6)


def _grows(tables: Tables) -> Judgement:
    windows = _of(tables, rack.RCP)
    if isinstance(windows, Judgement):
        return windows
    means = [_over(windows, rack.RCP, at, at + 200) or 0.0 for at in range(0, UNTIL_MS, 200)]
    falls = [100 * (1 - after / before) for before, after in pairwise(means)]
    said = f"from {means[0]:.4g} to {means[-1]:.4g} %; largest fall {max(0.0, *falls):.3g} %"
    return judge.judged(max(falls) <= 2 and means[-1] > means[0], said, "no fall by more than 2 %")


def _no_less(tables: Tables) -> Judgement:
    windows = _of(tables, rack.DAQ, rack.RCP)
    if isinstance(windows, Judgement):
        return windows
    return judges.ordered(windows, [(rack.DAQ, rack.RCP)], "used_pct", "window_ms", points=True)


def _alike(tables: Tables) -> Judgement:
    """D3 against RCP; D3 also with the constants of a public model."""
    (plain,) = (one.name for one in readings.OF_D3)
    return judge.by_reading(
        {"D3 with gains 0.4": _like_rcp(tables, rack.D3), plain: _like_rcp(tables, rack.D3_PLAIN)}
    )


def _like_rcp(tables: Tables, scheme: str) -> Judgement:
    windows = _of(tables, scheme, rack.RCP)
    if isinstance(windows, Judgement):
        return windows
    ratios = []
    for end in (UNTIL_MS, 100):
        d3, rcp = (_over(windows, name, 0, end) for name in (scheme, rack.RCP))
        ratios.append(d3 / rcp if d3 and rcp else None)
    found = judge.comparable(ratios[0], 0.9, 1.1)
    return found.noted(f"over the first 100 ms the ratio is {ratios[1]:.3g}") if ratios[1] else found


def _logistic(tables: Tables) -> Judgement:
    windows = _of(tables, rack.RCP)
    if isinstance(windows, Judgement):
        return windows
    found = []
    for at, expected in POINTS.items():
        used = _over(windows, rack.RCP, at - 100, at + 100)
        share = judge.within(None if used is None else used / 100, expected, absolute=0.05)
        found.append(share.called(f"at {at} ms"))
    return judge.together(found)


def draw(tables: Tables) -> "Picture":
    """All of the run, and its beginning."""
    picture, panels = style.panels(1, 2)
    for axes, end in zip(panels, (UNTIL_MS, 200), strict=True):
        for scheme in SCHEMES:
            own = tables["means"].filter(pl.col("window_ms") < end, scheme=scheme).sort("window_ms")
            look = rack.look(scheme) | {"marker": ""}
            axes.plot((own["window_ms"] / 1000).to_numpy(), (own["used_pct"] / 100).to_numpy(), **look)
        fluid = tables["fluid"].filter(pl.col("window_ms") < end)
        axes.plot(
            (fluid["window_ms"] / 1000).to_numpy(),
            (fluid["used_pct"] / 100).to_numpy(),
            color="#000000",
            linewidth=0.9,
            linestyle="--",
            label="RCP, fluid",
        )
        axes.set(xlabel="time (s)", ylim=(0, 1.05))
    panels[0].set_ylabel("utilisation of the link")
    panels[0].legend()
    return picture


FIGURE = Figure(
    id="DAQ-F4",
    title="Utilisation by five long flows",
    plans=plans,
    tables=tables,
    claims={
        "DAQ-F4.a": _full,
        "DAQ-F4.b": _starts_with_half,
        "DAQ-F4.c": _grows,
        "DAQ-F4.d": _no_less,
        "DAQ-F4.e": _alike,
        "DAQ-F4.f": _logistic,
    },
    draw=draw,
    needs={
        "windows": [
            Needs(10, by=("scheme", "window_ms"), where={"scheme": name})
            for name in (*rack.PAPER, rack.D3_PLAIN)
        ]
    },
    assumed=(
        *rack.ASSUMED,
        "Five flows without an end start within 50 us. Utilisation is the share of a window of 10 ms in which "
        "the aggregator's link carries packets, headers included.",
    ),
)
