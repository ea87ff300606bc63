"""Metrics of a run's tables: pure functions, tables of a result or of polars in, polars or numbers out.

Percentiles interpolate linearly between order statistics (type 7, the default of numpy and R). A flow that has
not finished has no completion time: it is left out of means and percentiles and counted in the completed
fraction, which therefore stands beside them in every table.

95 % intervals of means and percentiles: within one run by `within_run.intervals`, which tables of completion give with
`intervals=True`; over replicas by `intervals.replica_means`.
"""

from flowyard.analysis.completion import (
    PERCENTILES,
    background,
    by_decile,
    by_entry,
    by_size,
    measured,
    over_size,
    overall,
)
from flowyard.analysis.deadlines import (
    Inversions,
    application_throughput,
    due,
    inversions,
    lateness,
    served_ahead,
    slack,
    throughput,
    timeliness,
)
from flowyard.analysis.distribution import distribution, strip
from flowyard.analysis.fairness import jain
from flowyard.analysis.faults import by_period, met, spans_of, trouble
from flowyard.analysis.goodput import flow_goodput, goodput_bps
from flowyard.analysis.links import by_tier, spread_by_tier, worst_links
from flowyard.analysis.quantities import picoseconds

__all__ = [
    "PERCENTILES",
    "Inversions",
    "application_throughput",
    "background",
    "by_decile",
    "by_entry",
    "by_period",
    "by_size",
    "by_tier",
    "distribution",
    "due",
    "flow_goodput",
    "goodput_bps",
    "inversions",
    "jain",
    "lateness",
    "measured",
    "met",
    "over_size",
    "overall",
    "picoseconds",
    "served_ahead",
    "slack",
    "spans_of",
    "spread_by_tier",
    "strip",
    "throughput",
    "timeliness",
    "trouble",
    "worst_links",
]
