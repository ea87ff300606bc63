"""Meaning of the columns of a sweep's tables, for `flowyard explain`; flows and links are the engine's."""

from flowyard.analysis import PERCENTILES
from flowyard.analysis.intervals import CONFIDENCE
from flowyard.sweeps.tables import COMPLETION, OF_PACKETS

Definitions = dict[str, dict[str, str]]

_SHARES = {"p50": "half", "p95": "95 %", "p99": "99 %", "p99_9": "99.9 %"}
_COUNTED = {
    "drops": "Packets dropped at ports.",
    "trims": "Packets cut down to their header at ports.",
    "marks": "Packets marked at ports (ECN).",
    "lost": "Packets lost to faults.",
    "retransmissions": "Data packets sent again, by all flows.",
    "timeouts": "Timeouts of all flows.",
}

_AT_MOST = "of the measured, completed flows have at most this slowdown."

# Name -> unit, kind, meaning; in the order of METRICS.
METRIC: Definitions = {
    name: {"name": name, "unit": unit, "kind": "f64", "meaning": meaning}
    for name, unit, meaning in (
        ("completed_fraction", "0 to 1", "Share of the measured flows that completed."),
        ("fct_mean_ps", "ps", "Mean completion time of the measured flows that completed."),
        *((f"fct_{p}_ps", "ps", f"Time within which {_SHARES[p]} of those flows completed.") for p in PERCENTILES),
        ("slowdown_mean", "", "Mean of FCT over the ideal FCT."),
        *((f"slowdown_{p}", "", f"{_SHARES[p].capitalize()} {_AT_MOST}") for p in PERCENTILES),
        ("application_throughput", "0 to 1", "Share of the measured flows with a deadline that met it."),
        ("lateness_p50_ps", "ps", "By how much flows missed their deadline that completed after it: median."),
        ("lateness_p99_ps", "ps", "The same: p99."),
        ("offered_load", "", "Payload that arrivals at a load bring a second, over the rate of the hosts' links."),
        ("realised_load", "", "The same of the flows that were drawn."),
        ("carried_load", "", "Payload of these flows delivered a second in the measuring window, over the same rate."),
        ("hosts_wire", "0 to 1", "Share of the window in which the links to hosts transmitted, headers included."),
        ("goodput_bps", "bit/s", "Payload delivered a second by all flows in the measuring window."),
        ("end_ps", "ps", "Simulated time at the end."),
        ("pauses", "", "Pauses of ports by the port behind the link (priority flow control), of all ports."),
        ("paused_ps", "ps", "Times for which at least one class was paused at a port, added up over all ports."),
        *((name, "timeouts" if name == "timeouts" else "packets", meaning) for name, meaning in _COUNTED.items()),
        ("packet_hops", "packets", "Packets across links."),
        ("wall_s", "s", "What the run took."),
        ("cpu_s", "s", "Processor time of the run."),
        ("packets_sent", "packets", "Data packets that all flows sent, retransmissions included."),
        *(
            (f"{name}_per_packet", "", f"`{name}` over `packets_sent`: a packet may be marked at several ports.")
            for name in OF_PACKETS
        ),
    )
}  # fmt: skip

_STABLE = {
    "name": "stable",
    "unit": "",
    "kind": "bool",
    "meaning": "Whether nothing shows that the run was not in a steady state at its load: run.json, measured.unstable. "
    "Null where no load was observed.",
}
_CARRIES = {
    "name": "carries",
    "unit": "",
    "kind": "bool",
    "meaning": "Whether the 95 % interval of the carried load reaches the offered or the realised load. "
    "Null with fewer than three replicas, and without loads.",
}
_GROUP: Definitions = {
    name: {"name": name, "unit": unit, "kind": kind, "meaning": meaning}
    for name, unit, kind, meaning in (
        ("tag", "", "str", "Name of the traffic entry."),
        ("size_group", "", "str", "Group of flows by size; groups include their upper end, and the last one is all."),
        ("size_above_bytes", "bytes", "u64", "Flows of the row are larger than this."),
        ("size_up_to_bytes", "bytes", "u64", "Flows of the row are at most of this size."),
        ("flows", "flows", "f64", "Measured flows of the group, mean over replicas."),
    )
}  # fmt: skip


def explain() -> dict[str, list[dict[str, str]]]:
    """The columns of each table of a sweep, besides the axes: name, unit, kind and meaning."""
    completion = [METRIC[name] for name in COMPLETION]
    by_group = {
        "sweep.by_size": ("size_group", "flows"),
        "sweep.by_entry": ("tag", "size_group", "flows"),
        "sweep.over_size": ("size_above_bytes", "size_up_to_bytes", "flows"),
    }
    return {
        "sweep.metrics": [_STABLE, *METRIC.values()],
        "sweep.means": [
            _STABLE | {"meaning": "Whether all runs of the point are stable: see sweep.metrics."},
            _CARRIES,
            *_with_intervals(list(METRIC.values())),
        ],
        **{
            table: [*(_GROUP[name] for name in own), *_with_intervals(completion)]
            for table, own in by_group.items()
        },
    }


def _with_intervals(columns: list[dict[str, str]]) -> list[dict[str, str]]:
    means = [column | {"meaning": f"Mean over replicas. {column['meaning']}"} for column in columns]
    half = f"Half the width of the {CONFIDENCE:.0%} confidence interval, by Student's t, of the mean of"
    return means + [
        column | {"name": f"{column['name']}_ci95", "meaning": f"{half} {column['name']}."}
        for column in columns
    ]
