"""Quick start (section II): what a sender puts on the wire in its first round trip, under DAQ and in TCP's slow start.

One flow is alone. TCP's first window has three packets by RFC 5681, which held when the paper was written, and ten by
RFC 6928 and in Linux.
"""

from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Sweeps, Tables
from flowyard.sweeps import Axis, Plan
from flowyard_papers.daq import _rack as rack

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure as Picture

DAQ = "DAQ"
TCP = {"first window of 3 (RFC 5681)": 3, "first window of 10 (RFC 6928)": 10}
STEP_PS, SPAN_US = 1_000_000, 1800


def plans() -> dict[str, Plan]:
    """A flow of 58 KB; the use of its sender's link every microsecond."""
    base: dict[str, Any] = {
        "topology": rack.rack(2),
        "traffic": [
            {
                "name": rack.SHORT,
                "arrivals": {"at-once": {"jitter": "0s"}},
                "matrix": rack.to_aggregator(1, 1),
                "sizes": {"fixed": "58KB"},
                "deadline": "20ms",
            }
        ],
        "observe": {"samples": {"every": "1us", "links": ["host 1 -> switch"], "flows": []}},
    }
    parts: Mapping[str, Any] = {
        DAQ: rack.SCHEMES[rack.DAQ],
        **{
            name: {"transport": {"tcp": {"initial_window": window}}, "queue": {"drop-tail": {}}}
            for name, window in TCP.items()
        },
    }
    axis = Axis("scheme", scenarios=[base | part for part in parts.values()], labels=list(parts))
    return {"alone": Plan(axes=[axis], name="one flow")}


def tables(sweeps: Sweeps) -> Tables:
    """Bytes on the wire since the first packet of data began, every microsecond; and in the first round trip."""
    samples = (
        sweeps["alone"]
        .scan("samples")
        .filter(pl.col("series") == "utilisation")
        .select("scheme", "time_ps", busy="value")
        .sort("scheme", "time_ps")
        .collect()
    )
    rows = []
    for (scheme,), own in samples.group_by("scheme", maintain_order=True):
        # The SYN and the acknowledgement of its answer take less than a step; data keep the wire busy for several.
        first = own.filter((pl.col("busy") > 0.9) & (pl.col("busy").shift(-1) > 0.9))["time_ps"].min()
        assert isinstance(first, int)
        begun = first - STEP_PS
        since = own.filter(pl.col("time_ps") > begun).with_columns(
            scheme=pl.lit(scheme),
            since_us=(pl.col("time_ps") - begun) // STEP_PS,
            bytes=(pl.col("busy") * STEP_PS * rack.LINK_BPS / 8e12).cum_sum(),
        )
        rows.append(since.filter(pl.col("since_us") <= SPAN_US).select("scheme", "since_us", "bytes"))
    course = pl.concat(rows)
    # An acknowledgement of the first packet lets the next one go after one round trip, not before.
    within = course.filter(pl.col("since_us") == rack.RTT_PS // STEP_PS - 1).select("scheme", "bytes")
    return {"course": course, "first_round_trip": within}


def _more(tables: Tables) -> Judgement:
    bytes_of = dict(tables["first_round_trip"].iter_rows())
    if DAQ not in bytes_of:
        return judge.not_reached("no run of DAQ")
    found = {}
    for name in TCP:
        said = f"{bytes_of[DAQ]:.0f} B under DAQ, {bytes_of[name]:.0f} B under TCP"
        found[name] = judge.judged(bytes_of[DAQ] > bytes_of[name], said, "more under DAQ")
    return judge.by_reading(found)


def draw(tables: Tables) -> "Picture":
    """Bytes over time."""
    picture, (axes,) = style.panels()
    for (scheme,) in tables["first_round_trip"].select("scheme").iter_rows():
        own = tables["course"].filter(scheme=scheme)
        axes.plot((own["since_us"] / 300).to_numpy(), (own["bytes"] / 1000).to_numpy(), label=scheme)
    axes.set(xlabel="round trips since the first packet", ylabel="bytes on the wire (KB)")
    axes.legend()
    return picture


FIGURE = Figure(
    id="DAQ-P8",
    title="Quick start",
    plans=plans,
    tables=tables,
    claims={"DAQ-P8": _more},
    draw=draw,
    assumed=(
        rack.ASSUMED[0],
        "A flow of 58 KB alone in the rack. DAQ's first window is that of the paper, C RTT_sr / 2 = 9375 B.",
    ),
)
