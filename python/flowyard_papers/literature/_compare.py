"""All transports on the same flows and the same fat-tree, each with the ports and the paths that it is made for.

Every link is 10 Gbps with a cable of 1 us. Connections of TCP's kind are open already, since the others need no
handshake either, and have the timeouts of a data centre. Where a paper has its numbers for 10 Gbps, they are taken:
K = 65 packets for marks. All else are the simulator's defaults, whose sources are on each transport's page.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.analysis import completion
from flowyard.analysis.intervals import replica_means
from flowyard.papers import pinned_fields, style
from flowyard.sweeps import Axis, Sweep

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

RATE_BPS = 10_000_000_000
_OPEN = {
    "handshake": False,
    "rto_min": "1ms",
    "rto_initial": "1ms",
    # As MPTCP's increase counts, by bytes: otherwise held back acknowledgements make the others half as fast.
    "growth": "bytes",
    # Below the timeout, or what a timeout repeats times out again (Vasudevan et al., SIGCOMM 2009, section 5).
    "delayed_ack_timeout": "500us",
}
_MARKS = {"ecn": {"limit": {"packets": 250}, "threshold": {"packets": 65}}}
_BY_FLOW, _BY_PACKET, _PERMUTED = ({"balancer": name} for name in ("per-flow", "per-packet", "permuted"))

# What each needs of a scenario.
TRANSPORTS: Mapping[str, dict[str, Any]] = {
    "NDP": {
        "transport": {"ndp": {"mtu": "1500B", **pinned_fields.NDP, **pinned_fields.NDP_REPEATS}},
        "queue": {"ndp": {"return_to_sender": True}},
        "routing": _PERMUTED,
    },
    "TCP": {"transport": {"tcp": _OPEN}, "queue": {"drop-tail": {}}, "routing": _BY_FLOW},
    "DCTCP": {
        "transport": {"tcp": _OPEN | {"congestion": {"dctcp": {}}}},
        "queue": _MARKS,
        "routing": _BY_FLOW,
    },
    "D2TCP": {
        "transport": {"tcp": _OPEN | {"congestion": {"d2tcp": {}}, "timestamps": True}},
        "queue": _MARKS,
        "routing": _BY_FLOW,
    },
    "MPTCP": {
        "transport": {"mptcp": {"join": "at-once", "tcp": _OPEN}},
        "queue": {"drop-tail": {}},
        "routing": _BY_FLOW,
    },
    "PIAS": {
        "transport": {"tcp": _OPEN | {"congestion": {"dctcp": {}}, "tagging": {}}},
        "queue": {"strict-priority": {}},
        "routing": _BY_FLOW,
    },
    "pFabric": {
        "transport": {"pfabric": pinned_fields.PFABRIC},
        "queue": {"pfabric": pinned_fields.PFABRIC_PORT},
        "routing": _BY_PACKET,
    },
    "DCQCN": {"transport": {"dcqcn": {}}, "queue": {"lossless": pinned_fields.LOSSLESS}, "routing": _BY_FLOW},
}

# The share of deadlines that are met, with those that end late or never.
IN_TIME = "in_time_percent"

# D2TCP alone looks at deadlines; without them it is DCTCP.
DEADLINES: Mapping[str, Any] = {"exponential": {"mean": "20ms", "min": "3ms"}}

# A colour and a mark for each.
COLOURS, MARKERS = (*style.COLOURS, "#8c8c8c"), (*style.MARKERS, "*")

# What is shown of a group of flows, and in which unit.
MEASURES = {
    "fct_mean_ms": "mean FCT (ms)",
    "fct_p99_ms": "p99 FCT (ms)",
    "slowdown_mean": "mean slowdown",
    "slowdown_p99": "p99 slowdown",
    IN_TIME: "deadlines met (%)",
}


def fat_tree(k: int) -> dict[str, Any]:
    """The network of all comparisons."""
    return {"fat-tree": {"k": k, "rate": "10Gbps", "delay": "1us"}}


def axis(**instead: dict[str, Any]) -> Axis:
    """One transport after the other.

    Args:
        instead: What one of them has instead of its entry in `TRANSPORTS`.
    """
    keys = ("transport", "queue", "routing")
    each = {name: one | instead.get(name, {}) for name, one in TRANSPORTS.items()}
    return Axis("by", {key: [one[key] for one in each.values()] for key in keys}, labels=list(each))


def groups(sweep: Sweep, axes: Sequence[str]) -> pl.DataFrame:
    """A row for each run and group of sizes of its measured flows, the group "all" included.

    Columns: the axes, replica, group, flows, completed, fct_mean_ms, fct_p99_ms, slowdown_mean, slowdown_p99,
    in_time_percent (of the deadlines). Times are null where not all flows of the group have ended: the mean of those
    that have would flatter.
    """
    keys = [*axes, "replica"]
    flows = sweep.flows.filter("measured").select(
        *keys, "run", "size_bytes", "completed", "fct_ps", "slowdown", "met_deadline"
    )
    in_time = (100 * pl.col("met_deadline").mean()).alias(IN_TIME)
    made = []
    for (_, *key), of_run in flows.collect().group_by("run", *keys, maintain_order=True):
        found = completion.by_size(of_run, in_time)
        made.append(found.select(*(pl.lit(v).alias(n) for n, v in zip(keys, key, strict=True)), pl.all()))
    whole = pl.col("completed") == pl.col("flows")
    values = {
        "fct_mean_ms": pl.col("fct_mean_ps") / 1e9,
        "fct_p99_ms": pl.col("fct_p99_ps") / 1e9,
        "slowdown_mean": pl.col("slowdown_mean"),
        "slowdown_p99": pl.col("slowdown_p99"),
    }
    shown = [pl.when(whole).then(value).alias(name) for name, value in values.items()]
    counts = [pl.col(name).cast(pl.Int64) for name in ("flows", "completed")]
    return pl.concat(made).select(*keys, "group", *counts, *shown, IN_TIME).sort(*keys, "group")


def draw(runs: pl.DataFrame, x: str, shown: Sequence[str], label: str, rows_below: int = 0) -> "Picture":
    """A row of panels for each group of sizes, a panel for each measure, a line for each transport.

    Args:
        runs: What `groups` gives.
        x: The column of the horizontal axis.
        shown: The groups.
        label: Of the horizontal axis.
        rows_below: Rows of as many panels that stay empty.
    """
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    picture, panels = style.panels(len(shown) + rows_below, len(MEASURES), size=(3.2, 2.4))
    means = replica_means(runs, ["by", x, "group"], list(MEASURES))
    for row, group in enumerate(shown):
        for column, (measure, unit) in enumerate(MEASURES.items()):
            axes = panels[row * len(MEASURES) + column]
            _lines(axes, means.filter(group=group), x, measure)
            axes.set(ylabel=unit, title=f"flows {group}" if group != completion.ALL else "all flows")
            if measure != IN_TIME:
                axes.set_yscale("log")
                axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
                axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
                axes.yaxis.set_minor_formatter(NullFormatter())
            if row == len(shown) - 1:
                axes.set_xlabel(label)
    picture.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(TRANSPORTS))
    return picture


def _lines(axes: "Axes", means: pl.DataFrame, x: str, measure: str) -> None:
    for place, name in enumerate(TRANSPORTS):
        rows = means.filter(by=name).drop_nulls(measure).sort(x)
        axes.plot(
            rows[x].to_numpy(),
            rows[measure].to_numpy(),
            color=COLOURS[place],
            marker=MARKERS[place],
            label=name,
        )


ASSUMED = (
    "Every transport has the ports and the paths that it is made for: NDP's senders walk through their paths in random "
    "orders, under pFabric each packet takes any, all others keep to one a connection. TCP and what is built on it "
    "start without a handshake, grow by bytes, and have timeouts of 1 ms at least; ports mark above 65 packets; D2TCP "
    "has timestamps, for its round trips; MPTCP has 8 subflows; PIAS has its authors' thresholds for web search at "
    "load 0.8.",
    "DCQCN has the marks of its paper, which are for 40 Gbps.",
    "Headers that find no room return to their sender under NDP, as its paper has it.",
    "The same flows start at the same times under all transports, with exponential deadlines of 20 ms on average and "
    "3 ms at least, which D2TCP alone looks at.",
)
