"""The rack of all figures in packets: an aggregator and its workers on one switch, the schemes, their flows.

Every link is 1 Gbps. A full packet of 1500 B and its acknowledgement of 40 B take 300 us there and back through the
empty rack, transmission times included: 2 x 12 us and 2 x 0.32 us of these and 4 cables of 68.84 us.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from flowyard.sweeps import Axis, Sweep
from flowyard_papers.daq._models import DEADLINES, d3_steady, size_max_bytes

LINK_BPS, RTT_PS = 1_000_000_000, 300_000_000
DELAY = "68.84us"
AGGREGATOR, SHORT, LONG = 0, "short", "long"

# The schemes of the paper; DAQ with the weights as the text has them, short : long, and the other way round (DAQ-X1).
DAQ, DAQ_SHORT, D3, RCP = "DAQ", "DAQ, 100:1", "D3", "RCP"
# Choices that the paper leaves open: DAQ's queue target Q, when a window is sent, and which queue is compared with Q;
# D3's constants.
DAQ_LARGE, DAQ_ROUNDS, DAQ_MET = "DAQ, Q 1 MB", "DAQ, a window a round", "DAQ, the queue met"
D3_PLAIN, D3_GUARDED = "D3, gains 0.1 and 1, no guard", "D3, gains 0.1 and 1"
# Others: RCP whose constants fit the rack, and what the simulator has besides.
RCP_SCALED, PDQ, PDQ_PEQ, RACS = "RCP, scaled", "PDQ", "PDQ, PEQ's order", "RACS"
TCP, DCTCP, D2TCP, NDP, PFABRIC, PIAS = "TCP", "DCTCP", "D2TCP", "NDP", "pFabric", "PIAS"
WEIGHTS = {DAQ: "1:100", DAQ_SHORT: "100:1"}

_SHARED = {"drop-tail": {"limit": {"bytes": "4MB"}}}
# D3's requests keep their headers where their payload finds no room: a lost one would leave the ports' sums wrong.
_KEPT = {"drop-tail": {"limit": {"bytes": "4MB"}, "keep_headers": True}}
_MARKS = {"ecn": {"limit": {"bytes": "4MB"}}}
# As RCP's, of whose ns-2 model D3's is an extension.
_D3_GAINS = {"alpha": 0.4, "beta": 0.4}
_NS2 = {"alpha": 0.4, "beta": 0.4, "initial_rate": 0.1, "initial_rtt": "200ms", "timeslot": "10ms"}
_WINDOWS = {"preset": "datacentre"}

# What each needs of a scenario.
SCHEMES: Mapping[str, dict[str, Any]] = {
    DAQ: {"transport": {"daq": {}}, "queue": {"daq": {}}},
    DAQ_SHORT: {
        "transport": {"daq": {}},
        "queue": {"daq": {"short_weight": 100, "long_weight": 1}},
    },
    D3: {"transport": {"d3": {"guard_rtts": 2.0}}, "queue": _KEPT, "agent": {"d3": _D3_GAINS}},
    RCP: {"transport": {"rcp": {}}, "queue": _SHARED, "agent": {"rcp": _NS2}},
    RCP_SCALED: {"transport": {"rcp": {}}, "queue": _SHARED},
    D3_PLAIN: {"transport": {"d3": {}}, "queue": _KEPT},
    PDQ: {"transport": {"pdq": {}}, "queue": _SHARED},
    PDQ_PEQ: {"transport": {"pdq": {}}, "queue": _SHARED, "agent": {"pdq": {"order": "peq"}}},
    RACS: {"transport": {"racs": {}}, "queue": _SHARED},
    DCTCP: {"transport": {"tcp": {"congestion": "dctcp", **_WINDOWS}}, "queue": _MARKS},
    D2TCP: {
        "transport": {"tcp": {"congestion": "d2tcp", "timestamps": True, **_WINDOWS}},
        "queue": _MARKS,
    },
    NDP: {"transport": {"ndp": {"mtu": "1500B"}}, "queue": {"ndp": {}}},
    PFABRIC: {"transport": {"pfabric": {}}, "queue": {"pfabric": {}}},
    PIAS: {
        "transport": {"tcp": {"congestion": "dctcp", "tagging": {}, **_WINDOWS}},
        "queue": {"strict-priority": {}},
    },
    DAQ_LARGE: {"transport": {"daq": {"target_queue": "1MB"}}, "queue": {"daq": {}}},
    DAQ_ROUNDS: {"transport": {"daq": {"send": "rounds"}}, "queue": {"daq": {}}},
    TCP: {"transport": {"tcp": {}}, "queue": _SHARED},
    D3_GUARDED: {"transport": {"d3": {"guard_rtts": 2.0}}, "queue": _KEPT},
    DAQ_MET: {"transport": {"daq": {}}, "queue": {"daq": {"reported": "experienced"}}},
}
PAPER = (DAQ, D3, RCP)
# Other readings of two of them.
VARIANTS = (DAQ_LARGE, DAQ_ROUNDS, DAQ_MET, D3_PLAIN)
# Why DAQ misses what the paper has, where it does.
CUT = (
    "while more than Q, 150 KB, waits of the short flows and the load is above 80 %, windows are quartered each round "
    "trip, and what is left of a flow goes a packet a round trip. The text has no Q: with 250 KB and "
    "more, in short runs, DAQ-F3.b, F6.a and P4 hold; so they do with 150 KB where that is compared with the queue "
    "that a packet meets. Tried besides: Q of 37.5 KB, windows by rounds, measured round trips (figures 3, 5 and 6, "
    "DAQ-Q)"
)
STARVED = "with weights 1:100 short flows have 1/101 of the link beside long ones (DAQ-X1, DAQ-F7.c)"
# And D3.
ASKING = (
    f"D3's capacity, C + alpha (C0 - u/T) - beta q/T, is steady up to {d3_steady(0.4, 0.4):.2f} of the link at "
    f"random arrivals with alpha = beta = 0.4, up to {d3_steady(0.1, 1):.2f} with 0.1 and 1 (models.d3_steady); "
    "short flows with headers ask for 0.863 at 7000 and 0.986 at 8000 flows/s. Flows beyond add up, and each asks "
    "every round trip: 40 B in 300 us are 1.07 Mbps a flow. Tried: both gains, with the guard and without; with "
    "alpha = beta = 0 94 % are in time at 7000"
)
OTHERS = (RCP_SCALED, PDQ, PDQ_PEQ, RACS, DCTCP, D2TCP, NDP, PFABRIC, PIAS)

COLOURS = (
    *("#0072b2", "#56b4e9", "#d55e00", "#009e73", "#8fd3bd", "#cc79a7", "#e6b8d3", "#e69f00"),
    *("#000000", "#7f7f7f", "#a05a2c", "#5e3c99", "#b2abd2", "#f0a070"),
    *("#003f63", "#7fb8d9", "#6b8e23", "#b5651d", "#00a5cf"),
)
MARKERS = tuple("oDs^v<>PXx*hpd12348")


def look(scheme: str) -> dict[str, Any]:
    """A colour and a mark for each scheme, the same in all figures; those of the paper are drawn through."""
    place = list(SCHEMES).index(scheme)
    own = scheme in (*PAPER, DAQ_SHORT)
    return {
        "color": COLOURS[place],
        "marker": MARKERS[place],
        "linestyle": "-" if own else ":",
        "label": scheme if scheme not in WEIGHTS else f"DAQ, {WEIGHTS[scheme]}",
    }


def rack(hosts: int) -> dict[str, Any]:
    """Hosts on one switch, the aggregator among them."""
    return {"single-switch": {"hosts": hosts, "rate": "1Gbps", "delay": DELAY}}


def to_aggregator(first: int, count: int) -> dict[str, Any]:
    """Workers with consecutive numbers that send to the aggregator."""
    return {"pairs": [[host, AGGREGATOR] for host in range(first, first + count)]}


def sizes(mean_bytes: int) -> dict[str, Any]:
    """Uniform from 2 KB, with a mean."""
    return {"uniform": {"min": "2KB", "max": f"{size_max_bytes(mean_bytes)}B"}}


def incast(
    mean_bytes: int, rounds: int, gap: str, reading: str, workers: int = 1, at: str = "0s"
) -> dict[str, Any]:
    """All workers answer within 50 us; again a gap after the last answer of a round."""
    return {
        "name": SHORT,
        "arrivals": {"blocks": {"blocks": rounds, "at": at, "gap": gap, "jitter": "50us"}},
        "matrix": to_aggregator(1, workers),
        "sizes": sizes(mean_bytes),
        "deadlines": DEADLINES[reading],
    }


def poisson(
    mean_bytes: int, flows_per_s: int, reading: str, workers: int, first: int = 1, **ends: Any
) -> dict[str, Any]:
    """Answers at random times from random workers."""
    until = {"until": ends.pop("until")} if "until" in ends else {}
    return {
        "name": SHORT,
        "arrivals": {"poisson": {"rate": flows_per_s, **until}},
        "matrix": to_aggregator(first, workers),
        "sizes": sizes(mean_bytes),
        "deadlines": DEADLINES[reading],
        **ends,
    }


def long_flows(count: int, first: int = 1) -> dict[str, Any]:
    """Flows of 100 MB that no request waits for; a worker that is done with one starts the next."""
    return {
        "name": LONG,
        "arrivals": {"on-off": {"probability": 1}},
        "matrix": to_aggregator(first, count),
        "sizes": {"fixed": "100MB"},
        "background": True,
    }


def schemes(names: Sequence[str], traffic: Sequence[Mapping[str, Any]], hosts: int = 2, **more: Any) -> Axis:
    """One scheme after the other over the same flows.

    Args:
        names: Which.
        traffic: The flows.
        hosts: Of the rack.
        more: Other parts of the scenario, such as run.
    """
    base = {"topology": rack(hosts), "traffic": list(traffic), **more}
    return Axis("scheme", scenarios=[{**base, **SCHEMES[name]} for name in names], labels=names)


def senders(numbers: Sequence[int], first: int = 1) -> Axis:
    """How many workers answer; the rack has no other hosts than these, the aggregator and those before `first`."""
    matrices = [to_aggregator(first, count) for count in numbers]
    hosts = [first + count for count in numbers]
    keys: dict[str, list[Any]] = {"topology.single-switch.hosts": hosts, f"traffic.{SHORT}.matrix": matrices}
    return Axis("senders", keys, labels=list(numbers))


def readings(names: Sequence[str]) -> Axis:
    """How deadlines are read."""
    values = [DEADLINES[name] for name in names]
    return Axis("reading", {f"traffic.{SHORT}.deadlines": values}, labels=list(names))


def mean_sizes(means_kb: Sequence[int]) -> Axis:
    """Mean sizes of short flows."""
    return Axis(
        "mean_kb",
        {f"traffic.{SHORT}.sizes": [sizes(1000 * mean) for mean in means_kb]},
        labels=list(means_kb),
    )


def in_time(sweep: Sweep, axes: Sequence[str], settled_ps: int | None = None) -> pl.DataFrame:
    """One row per run: how many short flows asked, the percentage that ended by their deadlines, and those given up.

    Args:
        sweep: The runs.
        axes: Their axes.
        settled_ps: Measured flows that start later do not count: a run that ends soon after says nothing of them.
    """
    flows = sweep.flows.filter("measured", pl.col("tag").cast(pl.String).str.starts_with(SHORT))
    if settled_ps is not None:
        flows = flows.filter(pl.col("start_ps") <= settled_ps)
    return (
        flows.group_by(*axes, "replica")
        .agg(
            flows=pl.len().cast(pl.Int64),
            in_time_pct=100 * pl.col("met_deadline").mean(),
            unfinished=(~pl.col("completed")).sum().cast(pl.Int64),
            drops=pl.col("drops").sum().cast(pl.Int64),
        )
        .sort(*axes, "replica")
        .collect()
    )


ASSUMED = (
    "1 Gbps; 300 us for a full packet and its acknowledgement through the empty rack, transmission included; packets "
    "of 1500 B with 40 B of headers, acknowledgements of 40 B (NDP: 64 B of headers).",
    "Sizes are uniform from 2 KB to twice the mean less 2 KB. Workers of a round answer within 50 us.",
    "DAQ: threshold 30 RTT, queue target 150 KB (4 C RTT), 2 MB for each class, packets of late flows in Q1.2 and sent "
    "on; weights 1:100 as the text has them unless another is named. D3: requests every RTT, first come first "
    "served, late flows go on; alpha and beta 0.4, and rates that end a flow two round trips before its deadline. "
    "RCP: alpha and beta 0.4, slots of 10 ms, a first round trip of 0.2 s, a first rate of "
    "0.1 C, as its ns-2 model; RCP, scaled: 0.1 and 1.0, slots and first round trip of 300 us. Their ports are "
    "first-in first-out with 4 MB.",
    "Deadlines: exponential of mean 20 ms, at least 3 ms (default of figures 5 to 8); without that floor (default of "
    "figure 3); or uniform from 20 to 40 ms.",
)
# Where the others are drawn.
ASSUMED_OTHERS = (
    "The other schemes have the simulator's defaults, with ports that are made for each; DCTCP, D2TCP and PIAS have "
    "the timeouts of a data centre. NDP and pFabric have no handshake, which spares them a round trip of 300 us. "
    "PDQ gives up flows that cannot be in time; nobody else does.",
)
