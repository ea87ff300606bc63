"""Terms of the report with their meanings: shown on hover, and listed at the end of the page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# What the columns of each table mean, as run.json says it.
Definitions = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class Term:
    """A word of the report; `column` is the (table, name) of the column that it is made from."""

    name: str
    meaning: str = ""
    column: tuple[str, str] | None = None


# Where there is a column, its definition stands in run.json and is put before the meaning given here.
TERMS = {
    "flows": Term(
        "flows",
        "Flows that start in the measuring window, or in the run where all of it is measured; without those of "
        "background entries.",
    ),
    "completed": Term("completed", "Share of those flows that are complete.", ("flows", "completed")),
    "fct": Term("FCT", "", ("flows", "fct_ps")),
    "ideal": Term("ideal FCT", "", ("flows", "ideal_fct_ps")),
    "slowdown": Term(
        "slowdown",
        "FCT over the ideal FCT; 1: the packets of the flow back to back through an empty network.",
        ("flows", "slowdown"),
    ),
    "percentile": Term(
        "p50, p95, p99, p99.9",
        "Percentiles over the completed flows, interpolated linearly between order statistics (type 7, the default of "
        "numpy). Set in grey where so few flows lie above it that its interval has no upper end.",
    ),
    "interval": Term(
        "95% interval",
        "In brackets below a mean or percentile: 95 of 100 such intervals hold the value of an endless run. Flows that "
        "share queues are correlated, so it rests on 20 batches of flows in order of their start. Of a mean: Student's "
        "t of the batch means, widened by their correlation and shifted by their skewness (N-Skart). Of a percentile: "
        "order statistics, whose ranks are as far apart as the shares of batches up to it vary, and at least as far as "
        "those of independent flows; too few flows above it leave no upper end. There is none of fewer than 40 flows "
        "or instants at which flows start, nor where consecutive batches are strongly correlated: the run is too "
        "short, or not stationary.",
    ),
    "size": Term(
        "flow size", "Groups include their upper end; 1 KB is 1,000 bytes.", ("flows", "size_bytes")
    ),
    "flow_goodput": Term("goodput of a flow", "Its payload over its completion time; of completed flows."),
    "goodput": Term(
        "goodput",
        "Payload delivered a second by all flows together, unfinished and background ones included, in the measuring "
        "window; where the whole run is measured, to its end: a few late flows, or a wait after the last one, lower "
        "it.",
    ),
    "offered": Term(
        "offered load",
        "Payload that arrivals at a configured rate bring a second, over the rate of the hosts' links that the load is "
        "of.",
    ),
    "realised": Term("realised load", "The same of the flows that were drawn for the measuring window."),
    "carried": Term(
        "carried load",
        "Payload of these flows that was delivered a second in the measuring window, over the same rate. It stays "
        "below the offered load where the network cannot carry more, or was still filling. The interval is of batch "
        "means over 20 spans of the window, at least as wide as the randomness of arrivals makes it.",
    ),
    "payload": Term(
        "payload",
        "Payload delivered a second over the links in the measuring window, as a share of their rate.",
    ),
    "wire": Term(
        "on the wire",
        "Share of the measuring window in which the links transmitted: headers, control packets and retransmissions, "
        "too.",
    ),
    "jain": Term(
        "Jain's index",
        "(sum x)² / (n sum x²) over the goodputs x of completed flows: 1 if all are equal, 1/n if one flow has all. "
        "Flows of different sizes differ without any unfairness, so it is shown only if all have one size.",
    ),
    "tier": Term("tier", "A link counts in one direction.", ("links", "tier")),
    "utilisation": Term("utilisation", "", ("links", "utilisation")),
    "queue_mean": Term("mean queue", "", ("links", "queue_mean_bytes")),
    "queue_max": Term("largest queue", "", ("links", "queue_max_bytes")),
    "packets_sent": Term("data packets", "", ("flows", "packets_sent")),
    "retransmissions": Term("retransmissions", "", ("flows", "retransmissions")),
    "timeouts": Term("timeouts", "", ("flows", "timeouts")),
    "drops": Term("drops", "", ("links", "drops")),
    "credit_drops": Term("credit drops", "", ("flows", "credit_drops")),
    "lost": Term("lost to faults", "", ("flows", "lost")),
    "met": Term(
        "active during the fault",
        "Interval of the fault in which a flow was active. The flow lost its packets somewhere in it.",
    ),
    "trims": Term("trims", "", ("links", "trims")),
    "marks": Term("marks", "", ("links", "marks")),
    "pauses": Term("pauses", "", ("links", "pauses")),
    "paused": Term("time paused", "As a share of the measuring window.", ("links", "paused_ps")),
    "paused_ps": Term("time paused, all ports", "Added up over all ports.", ("links", "paused_ps")),
    "reordered": Term("reordered", "", ("flows", "reordered")),
    "trouble": Term(
        "drops + trims + marks",
        "Packets of a link that were dropped, trimmed or marked because its queue was too long.",
    ),
    "deadline": Term(
        "deadlines met",
        "Of the flows with a deadline, those that were abandoned or are unfinished included, the share that met it: "
        "application throughput in papers.",
        ("flows", "met_deadline"),
    ),
    "due": Term("with a deadline", "", ("flows", "deadline_ps")),
    "late": Term("late", "Flows that completed after their deadline."),
    "abandoned": Term("abandoned", "Of the flows with a deadline.", ("flows", "abandoned")),
    "unfinished": Term(
        "unfinished",
        "Flows with a deadline that were neither complete nor abandoned when the run ended. They count as missed.",
    ),
    "lateness": Term(
        "lateness",
        "Time from the deadline of a late flow to its completion; not defined for abandoned and unfinished flows.",
    ),
    "inversions": Term(
        "inversions",
        "Flows that were served ahead of at least one flow to the same host that was due earlier and missed its "
        "deadline: both were active at the same time, the other was not late yet, and the flow completed first.",
    ),
    "against_deadline": Term(
        "completion against deadlines",
        "A flow's completion time over its deadline, of flows with a deadline: up to 1 the deadline was met.",
    ),
    "timeline": Term(
        "timeline of flows",
        "A bar from a flow's start to its completion at the receiver; that of an unfinished flow ends with the run, "
        "that of an abandoned flow at its deadline.",
    ),
    "queue_sampled": Term("queue over time", "Bytes in a port at a sample, the packet on the wire included."),
    "utilisation_sampled": Term(
        "utilisation over time", "Share of the interval before a sample in which the link sent."
    ),
    "cwnd": Term("window", "Limit of bytes in flight by the sender's congestion control, at a sample."),
    "rate_sampled": Term(
        "rate over time", "Payload of a flow delivered in the interval before a sample, over its length."
    ),
    "queue_histogram": Term(
        "distribution of a queue",
        "Share of the time, over the ports of a tier, in which a port had that many bytes.",
    ),
    "server_latency": Term(
        "latency in the server", "From the creation of a packet to its first bit on the wire."
    ),
    "network_latency": Term(
        "latency in the network", "From a packet's first bit on the wire to its arrival."
    ),
    "mean": Term("mean", "Arithmetic mean; over the completed flows, or over the links of a tier."),
    "links": Term("links", "Directed links of a tier; a cable is two."),
    "link": Term(
        "link", "A directed link, by the nodes at its ends; queues are those of the port that feeds it."
    ),
    # As flows.parquet calls it, in which the reader looks for the rest.
    "flow": Term("id", "", ("flows", "id")),
    "tag": Term("traffic", "", ("flows", "tag")),
    "source": Term("from", "", ("flows", "src")),
    "destination": Term("to", "", ("flows", "dst")),
    "start": Term("start", "", ("flows", "start_ps")),
    "status": Term(
        "status",
        "complete: all flows ended, though flows with lost datagrams remain unfinished. limit: run.until, or "
        "another limit, was reached first. stalled: flows were open without progress. interrupted: ended by a signal. "
        "All but the first lack the rest of the run.",
    ),
}

# Those that a page needs only if flows have deadlines.
OF_DEADLINES = frozenset(
    ("deadline", "due", "late", "abandoned", "unfinished", "lateness", "inversions", "against_deadline")
)


# Those of a comparison with a peer.
COMPARED = {
    key: TERMS[key]
    for key in (
        *("flows", "completed", "fct", "ideal", "slowdown", "percentile", "interval", "mean"),
        *("size", "flow", "source", "destination", "tag", "start"),
    )
}


def words(terms: Mapping[str, Term], *, deadlines: bool) -> dict[str, Term]:
    """The terms of a page."""
    return {key: term for key, term in terms.items() if deadlines or key not in OF_DEADLINES}


def meanings(terms: Mapping[str, Term], definitions: Sequence[Definitions]) -> dict[str, str]:
    """The meaning of each term; empty where no run carries the column's definition."""
    found: dict[str, str] = {}
    for key, term in terms.items():
        parts = []
        if term.column:
            table, column = term.column
            known = [text for defined in definitions if (text := defined.get(table, {}).get(column))]
            parts = known[:1]
        found[key] = " ".join([*parts, term.meaning]).strip()
    return found
