"""The numbers that a sweep's points are compared by: what they are called, and how they are written."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from flowyard import text
from flowyard.report import terms


@dataclass(frozen=True)
class Metric:
    """A number that runs are compared by.

    Attributes:
        column: Its column in Sweep.means.
        name: What people call it.
        term: Key of its definition.
        format_type: How the page's script writes it on an axis.
        show: How it is written elsewhere.
        most: The largest possible value.
        configured: Whether runs are given it, so that replicas may not differ.
    """

    column: str
    name: str
    term: str
    format_type: str
    show: Callable[[float | None], str]
    most: float = math.inf
    configured: bool = False

    def mean(self, row: Mapping[str, Any]) -> str:
        """The mean of a point, with its interval if there is one."""
        mean, half = row[self.column], row[f"{self.column}_ci95"]
        if half is None or (self.configured and half == 0):
            return self.show(mean)
        return f"{self.show(mean)} ± {self.show(half)}"


def _paused(ps: float | None) -> str:
    """A time, of which none needs no unit."""
    return "0" if ps == 0 else text.duration(ps)


OFFERED = Metric("offered_load", "offered load", "offered", "ratio", text.ratio, configured=True)
REALISED = Metric("realised_load", "realised load", "realised", "ratio", text.ratio)
CARRIED = Metric("carried_load", "carried load", "carried", "ratio", text.ratio)
# Where flows have deadlines, that they meet them is the result; of others most papers show the tail of slowdown.
_RESULTS = (
    Metric("application_throughput", "deadlines met", "deadline", "share", text.percent, most=1.0),
    Metric("slowdown_p99", "slowdown p99", "slowdown", "ratio", text.ratio),
    Metric("slowdown_p50", "slowdown p50", "slowdown", "ratio", text.ratio),
    Metric("fct_p99_ps", "FCT p99", "fct", "duration", text.duration),
    Metric("fct_p50_ps", "FCT p50", "fct", "duration", text.duration),
    Metric("goodput_bps", "goodput", "goodput", "rate", text.rate),
    Metric("completed_fraction", "completed", "completed", "share", text.percent, most=1.0),
)
# The table of points has these.
IN_TABLE = (OFFERED, CARRIED, *_RESULTS)
# These have a chart.
METRICS = (
    *_RESULTS,
    Metric("fct_mean_ps", "FCT mean", "fct", "duration", text.duration),
    CARRIED,
    Metric("lateness_p50_ps", "lateness p50", "lateness", "duration", text.duration),
    Metric("lateness_p99_ps", "lateness p99", "lateness", "duration", text.duration),
)
# One chart has these together, since most are zero in most sweeps.
PACKETS = {
    "dropped": Metric("drops_per_packet", "dropped", "drops", "share", text.percent),
    "trimmed": Metric("trims_per_packet", "trimmed", "trims", "share", text.percent),
    "marked": Metric("marks_per_packet", "marked", "marks", "share", text.percent),
    "lost to faults": Metric("lost_per_packet", "lost to faults", "lost", "share", text.percent),
    "retransmitted": Metric(
        "retransmissions_per_packet", "retransmitted", "retransmissions", "share", text.percent
    ),
    "timeouts": Metric("timeouts_per_packet", "timeouts", "timeouts", "share", text.percent),
}
COUNTED = ("drops", "trims", "marks", "lost", "retransmissions", "timeouts")
# A plan may ask for any.
ALL_METRICS = {
    metric.column: metric
    for metric in (
        OFFERED,
        REALISED,
        *METRICS,
        *PACKETS.values(),
        *(
            Metric(f"fct_{p}_ps", f"FCT {p.replace('_', '.')}", "fct", "duration", text.duration)
            for p in ("p95", "p99_9")
        ),
        Metric("slowdown_mean", "slowdown mean", "slowdown", "ratio", text.ratio),
        *(
            Metric(f"slowdown_{p}", f"slowdown {p.replace('_', '.')}", "slowdown", "ratio", text.ratio)
            for p in ("p95", "p99_9")
        ),
        *(Metric(name, terms.TERMS[name].name, name, "count", text.mean_count) for name in COUNTED),
        Metric("pauses", "pauses", "pauses", "count", text.mean_count),
        Metric("paused_ps", terms.TERMS["paused_ps"].name, "paused_ps", "duration", _paused),
        Metric("hosts_wire", "links to hosts busy", "wire", "share", text.percent, most=1.0),
        Metric("end_ps", "simulated time", "", "duration", text.duration),
        Metric("packet_hops", "packet-hops", "", "count", text.mean_count),
        Metric("packets_sent", "data packets", "packets_sent", "count", text.mean_count),
        Metric("wall_s", "wall time, s", "", "ratio", text.ratio),
        Metric("cpu_s", "processor time, s", "", "ratio", text.ratio),
    )
}
