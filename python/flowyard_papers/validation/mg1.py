"""Mean wait at one port against load: M/D/1 and M/M/1.

The formula is Pollaczek and Khinchine's: with packets of mean time T and squared coefficient of variation c^2, Poisson
arrivals at load r wait E[W] = r T (1 + c^2) / (2 (1 - r)); c is 0 for equal lengths, 1 for exponential ones. See
L. Kleinrock, "Queueing Systems, Volume 1: Theory", 1975, section 5.6.

A run is one long stream of packets, sent as a Poisson process. Its mean wait comes from the links alone: the time
integral of the bytes in the port is the sum, over packets, of bytes times stay. The host's own port holds a packet
for its transmission and no longer, so that its integral, scaled by the ratio of the rates, is the sum of bytes times
service at the switch; what is left is bytes times wait. A packet's wait does not depend on its own length, so dividing
by all bytes gives the mean wait.

Runs start empty, which makes early waits too short. With l the arrival rate, h(w) = l w^2 / (2 (1 - r)) + w / (1 - r)
solves Poisson's equation for the sequence of waits, so that n waits lack E[h(W)] in sum, if n is large. E[W^2] is
2 E[W]^2 + l E[S^3] / (3 (1 - r)) (L. Takacs, "Introduction to the Theory of Queues", 1962). A claim is judged only if
the share that is lacking is below a tenth of half the interval.
"""

from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.papers import style
from flowyard.papers.figure import Figure, Needs, Scale, Sweeps, Tables
from flowyard.papers.judge import Judgement, judged, not_reached
from flowyard.sweeps import Axis, Plan, Sweep
from flowyard_papers.validation import _port as port

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure as Picture

LOADS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
REPLICAS = 20
# Relative, as the claims have it.
CLOSE = 0.02
# E[S^2] and E[S^3] in packet times, for the mean and the second moment of waits.
MOMENTS = {port.MD1: (1, 1), port.MM1: (2, 6)}


def mean_wait(service: str, load: float) -> float:
    """E[W] in packet times."""
    return load * MOMENTS[service][0] / (2 * (1 - load))


def start_bias(service: str, load: float, packets: int) -> float:
    """By which share of it the mean of the first `packets` waits is too short, since the port was empty at first."""
    mean = mean_wait(service, load)
    second = 2 * mean**2 + load * MOMENTS[service][1] / (3 * (1 - load))
    return (load * second / (2 * mean) + 1) / ((1 - load) * packets)


def packets(service: str, load: float, scale: Scale) -> int:
    """How many packets a run has, so that relative intervals are about as wide everywhere.

    At high load waits forget only over some 1 / (1 - r)^2 packets; at low load few packets wait at all; exponential
    lengths spread waits further.
    """
    unit = scale.pick(2_000, 30_000) * MOMENTS[service][0]
    return round(unit * (1 / (1 - load) ** 2 + 4 / load))


def plans(scale: Scale) -> dict[str, Plan]:
    """A sweep over the loads for each service."""
    return {_name(service): _plan(service, scale) for service in port.LENGTHS}


def _name(service: str) -> str:
    return service.replace("/", "")


def _plan(service: str, scale: Scale) -> Plan:
    loads = (*LOADS, *scale.pick((), (0.95,)))
    datagram = {"header_bytes": "0B", "lengths": port.LENGTHS[service]}
    stream: dict[str, Any] = {
        "topology": port.TOPOLOGY,
        "transport": {"datagram": datagram},
        "traffic": [
            {
                "name": "stream",
                "arrivals": {"at-once": {"jitter": "0s"}},
                "matrix": {"pairs": [[0, 1]]},
                "sizes": {"fixed": "1B"},
            }
        ],
    }
    places: dict[str, Sequence[Any]] = {
        "transport.datagram.pace.poisson": [f"{round(load * port.PORT_BPS)}bps" for load in loads],
        "traffic.stream.sizes.fixed": [
            f"{packets(service, load, scale) * port.PACKET_BYTES}B" for load in loads
        ],
        # Other draws at each load: else all loads would err in the same direction.
        "run.seed": list(range(1, len(loads) + 1)),
    }
    return Plan(stream, [Axis("load", places, labels=loads)], REPLICAS, name=service)


def tables(sweeps: Sweeps) -> Tables:
    """Each run's mean wait, and the points with their intervals."""
    runs = pl.concat([_runs(service, sweeps[_name(service)]) for service in port.LENGTHS])
    return {"runs": runs, "points": pl.concat([_points(runs, service) for service in port.LENGTHS])}


def _runs(service: str, sweep: Sweep) -> pl.DataFrame:
    links = sweep.links.filter(pl.col("packets") > 0).collect()
    ends = {run: summary["end_ps"] for run, summary in sweep.summaries().items()}
    # Byte-picoseconds.
    held = pl.col("queue_mean_bytes") * pl.col("run").replace_strict(ends, return_dtype=pl.Float64)
    links = links.with_columns(held=held)
    source = links.filter(pl.col("from") == "host 0").select("run", served="held")
    rows = links.filter(pl.col("to") == "host 1").join(source, on="run", maintain_order="left")
    speed = port.PORT_PS_PER_BYTE / port.SOURCE_PS_PER_BYTE
    wait = (pl.col("held") - speed * pl.col("served")) / pl.col("bytes") / port.PACKET_PS
    return rows.sort("load", "replica").select(
        pl.lit(service).alias("service"), "load", "replica", "packets", wait_packet_times=wait
    )


def _points(runs: pl.DataFrame, service: str) -> pl.DataFrame:
    """Means, intervals and the formula at each load of one service."""
    runs = runs.filter(service=service).sort("load", "replica")
    points = port.intervals(runs, ["service", "load"], "wait_packet_times")
    shortest = dict(runs.group_by("load").agg(pl.col("packets").min()).iter_rows())
    formula = [mean_wait(service, load) for load in points["load"]]
    bias = [start_bias(service, load, shortest[load]) for load in points["load"]]
    return points.with_columns(
        formula=pl.Series(formula, dtype=pl.Float64), start_bias=pl.Series(bias, dtype=pl.Float64)
    ).with_columns(
        relative_error=pl.col("mean") / pl.col("formula") - 1,
        relative_half_width=pl.col("half_width") / pl.col("formula"),
    )


def _judgeable(points: pl.DataFrame) -> str:
    """Why points cannot be judged; empty if they can."""
    if missing := sorted(set(LOADS) - set(points["load"])):
        return f"no runs at load {', '.join(map(str, missing))}"
    if points["half_width"].null_count():
        return "an interval needs at least two replicas"
    biased = points.filter(pl.col("start_bias") > 0.1 * pl.col("relative_half_width"))
    if len(biased):
        return f"runs are too short at load {', '.join(map(str, biased['load']))}: the empty start counts"
    return ""


def _in_interval(tables: Tables, service: str) -> Judgement:
    points = _points(tables["runs"], service)
    reason = _judgeable(points)
    return not_reached(reason) if reason else port.agree(points, ["load"])


def _close(tables: Tables, service: str) -> Judgement:
    points = _points(tables["runs"], service)
    reason = _judgeable(points)
    sharp = points.filter(pl.col("relative_half_width") <= CLOSE)
    if not reason and sharp.is_empty():
        reason = f"no interval is narrow enough to tell {CLOSE:.0%}"
    if reason:
        return not_reached(reason)
    worst = sharp.sort(pl.col("relative_error").abs()).row(-1, named=True)
    blunt = points.filter(pl.col("relative_half_width") > CLOSE)["load"]
    open_ = f"; intervals too wide to tell at load {', '.join(map(str, blunt))}" if len(blunt) else ""
    measured = (
        f"{worst['relative_error']:+.2%} at load {worst['load']}, the largest of {len(sharp)} loads{open_}"
    )
    return judged(abs(worst["relative_error"]) <= CLOSE, measured, f"within {CLOSE:.0%}")


def draw(tables: Tables) -> "Picture":
    """Measured means on the curve of theory, and their relative errors."""
    import numpy as np

    picture, panels = style.panels(2, 2)
    points = tables["points"]
    for place, service in enumerate(port.LENGTHS):
        rows = points.filter(service=service).sort("load")
        load = rows["load"].to_numpy()
        colour = style.COLOURS[place]
        above, below = panels[place], panels[place + 2]
        curve = np.linspace(0.02, max(0.9, float(load.max())), 200)
        above.plot(curve, [mean_wait(service, float(x)) for x in curve], color="#000000", label="theory")
        bars: dict[str, Any] = {
            "color": colour,
            "marker": style.MARKERS[place],
            "linestyle": "none",
            "capsize": 2.5,
        }
        above.errorbar(
            load, rows["mean"].to_numpy(), yerr=rows["half_width"].to_numpy(), label="packets", **bars
        )
        above.set(title=f"{service}: mean wait", yscale="log", ylabel="packet times" if not place else "")
        above.legend(loc="upper left")
        below.axhspan(-100 * CLOSE, 100 * CLOSE, color="#f0f0f0")
        below.axhline(0, color="#000000", linewidth=1)
        half = 100 * rows["relative_half_width"].to_numpy()
        below.errorbar(load, 100 * rows["relative_error"].to_numpy(), yerr=half, **bars)
        reach = max(4.0, 1.1 * float((half + 100 * rows["relative_error"].abs().to_numpy()).max()))
        below.set(xlabel="load", ylabel="off by (%)" if not place else "", ylim=(-reach, reach))
        below.set_title(f"{service}: measured against theory")
    return picture


FIGURE = Figure(
    id="VAL-MG1",
    title="Mean wait at a port against queueing theory",
    plans=plans,
    tables=tables,
    claims={
        "VAL-MG1.a": lambda tables: _in_interval(tables, port.MD1),
        "VAL-MG1.b": lambda tables: _in_interval(tables, port.MM1),
        "VAL-MG1.c": lambda tables: _close(tables, port.MD1),
        "VAL-MG1.d": lambda tables: _close(tables, port.MM1),
    },
    draw=draw,
    needs={"runs": Needs(20, by=("service", "load"))},
    assumed=(
        "Packets have 1500 B, or an exponential number of bytes with that mean, rounded to whole bytes; the port sends "
        "at 1 Gbps and has room for all.",
        "The 20 replicas of a load are independent; so are the loads, each of which has a seed of its own.",
        "The interval is wider than the usual one, since 9 or 10 loads are tested at once: all of them together would "
        "fail a right simulator once in a hundred times.",
    ),
)
