"""The cases of the comparison with HPCC's simulator: its own files, and what a difference may be.

Settings are those of its `run.py` for hosts of 100 Gbps. Starts are spread, as packets of one instant have no order
that both sides share.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

RATE_BPS = 100_000_000_000
START_NS = 2_000_000_000
# The web search of DCTCP's paper, as the checkout's traffic generator has it: bytes, and the share of flows up to them.
WEB_SEARCH = (
    (1, 0.0),
    (10_000, 0.15),
    (20_000, 0.2),
    (30_000, 0.3),
    (50_000, 0.4),
    (80_000, 0.53),
    (200_000, 0.6),
    (1_000_000, 0.7),
    (2_000_000, 0.8),
    (5_000_000, 0.9),
    (10_000_000, 0.97),
    (30_000_000, 1.0),
)
# Settings of the code's config.txt that are the same for all controls.
COMMON = {
    "ENABLE_QCN": "1",
    "USE_DYNAMIC_PFC_THRESHOLD": "1",
    "PACKET_PAYLOAD_SIZE": "1000",
    "TOPOLOGY_FILE": "topology.txt",
    "FLOW_FILE": "flow.txt",
    "TRACE_FILE": "trace.txt",
    "TRACE_OUTPUT_FILE": "mix.tr",
    "FCT_OUTPUT_FILE": "fct.txt",
    "PFC_OUTPUT_FILE": "pfc.txt",
    "SIMULATOR_STOP_TIME": "2.2",
    "ALPHA_RESUME_INTERVAL": "1",
    "RATE_DECREASE_INTERVAL": "4",
    "CLAMP_TARGET_RATE": "0",
    "RP_TIMER": "300",
    "EWMA_GAIN": "0.00390625",
    "FAST_RECOVERY_TIMES": "1",
    "RATE_AI": "40Mb/s",
    "RATE_HAI": "40Mb/s",
    "MIN_RATE": "1000Mb/s",
    "DCTCP_RATE_AI": "1000Mb/s",
    "ERROR_RATE_PER_LINK": "0.0000",
    "L2_CHUNK_SIZE": "4000",
    "L2_ACK_INTERVAL": "1",
    "L2_BACK_TO_ZERO": "0",
    "HAS_WIN": "1",
    "GLOBAL_T": "1",
    "VAR_WIN": "1",
    "FAST_REACT": "0",
    "U_TARGET": "0.95",
    "MI_THRESH": "0",
    "INT_MULTI": "1",
    "MULTI_RATE": "0",
    "SAMPLE_FEEDBACK": "0",
    "RATE_BOUND": "1",
    "ACK_HIGH_PRIO": "0",
    "LINK_DOWN": "0 0 0",
    "ENABLE_TRACE": "0",
    "KMAX_MAP": "2 100000000000 1600 400000000000 6400",
    "KMIN_MAP": "2 100000000000 400 400000000000 1600",
    "PMAX_MAP": "2 100000000000 0.2 400000000000 0.2",
    "BUFFER_SIZE": "32",
    "QLEN_MON_FILE": "qlen.txt",
    # Each sample is an event.
    "QLEN_MON_START": "2000000000",
    "QLEN_MON_END": "2000000000",
}
NO_WINDOW = {"HAS_WIN": "0", "VAR_WIN": "0"}
_DCQCN = {"CC_MODE": "1", "RATE_AI": "20Mb/s", "RATE_HAI": "200Mb/s"}
_TIMELY = {"CC_MODE": "7", "RATE_AI": "100Mb/s", "RATE_HAI": "500Mb/s", "ACK_HIGH_PRIO": "1"}
_DCTCP = {
    "CC_MODE": "8",
    "EWMA_GAIN": "0.0625",
    "DCTCP_RATE_AI": "615Mb/s",
    "KMAX_MAP": "2 100000000000 300 400000000000 1200",
    "KMIN_MAP": "2 100000000000 300 400000000000 1200",
    "PMAX_MAP": "2 100000000000 1.0 400000000000 1.0",
}
# By the names of run.py, and DCTCP without a window; "none" is DCQCN without marks: pauses alone.
CONTROLS: dict[str, dict[str, str]] = {
    "none": _DCQCN | NO_WINDOW | {"ENABLE_QCN": "0"},
    "dcqcn": _DCQCN | NO_WINDOW | {"ACK_HIGH_PRIO": "1"},
    "dcqcn_vwin": _DCQCN,
    "hp": {"CC_MODE": "3", "FAST_REACT": "1", "INT_MULTI": "4"},
    "timely": _TIMELY | NO_WINDOW,
    "timely_vwin": _TIMELY,
    "dctcp": _DCTCP,
    "dctcp_nowin": _DCTCP | NO_WINDOW,
}
# Of single flows through one port, and of flows by size in a fabric: the median and the 99th percentile.
TOGETHER = {"hp": (0.03, 0.10), "dcqcn": (0.06, 0.20), "dcqcn_vwin": (0.06, 0.20)}
FABRIC = {"hp": (0.04, 0.10), "dcqcn": (0.06, 0.30), "dcqcn_vwin": (0.06, 0.30)}
# Marks are random: several runs, whose times are compared as distributions.
RUNS = {"dcqcn": 5, "dcqcn_vwin": 5}
# A descendant of HPCC's simulator has IRN: the end of the names of its controls.
IRN = "_irn"
STEADY_TOGETHER, STEADY_FABRIC = (0.01, 0.05), (0.01, 0.03)
LONE_NS = 2
LOST_PACKETS = 1


def runs(control: str) -> int:
    """The runs of a control, each with a random stream of its own."""
    return RUNS.get(control.removesuffix(IRN), 1)


@dataclass(frozen=True)
class Flow:
    """A flow: its hosts, bytes, and start in ns after the beginning."""

    source: int
    destination: int
    size: int
    start_ns: int


@dataclass(frozen=True)
class Network:
    """A network: hosts, then switches, and its links, as two nodes and a rate in Gbps, of one delay."""

    hosts: int
    switches: int
    links: tuple[tuple[int, int, int], ...]
    delay_ns: int = 1000


@dataclass(frozen=True)
class Case:
    """Flows on a network under one of the controls.

    Attributes:
        name: Its name.
        kind: How it is judged: "lone", "together", "losses" or "fabric".
        network: Its network.
        flows: Its flows.
        controls: The controls with which it runs.
        settings: Further settings of its config.txt.
    """

    name: str
    kind: str
    network: Network
    flows: tuple[Flow, ...]
    controls: tuple[str, ...]
    settings: Mapping[str, str] = field(default_factory=dict)

    def allowed(self, control: str) -> tuple[float, float]:
        """The differences that the median and the 99th percentile may have."""
        control = control.removesuffix(IRN)
        if self.kind == "fabric":
            return FABRIC.get(control, STEADY_FABRIC)
        return TOGETHER.get(control, STEADY_TOGETHER)


def star(hosts: int, delay_ns: int = 1000) -> Network:
    """Hosts at a switch."""
    return Network(hosts, 1, tuple((host, hosts, 100) for host in range(hosts)), delay_ns)


def leaf_spine(leaves: int, spines: int, hosts: int) -> Network:
    """Leaves with hosts of 100 Gbps, and 400 Gbps to each spine."""
    first = leaves * hosts
    down = tuple((host, first + host // hosts, 100) for host in range(first))
    up = tuple(
        (first + leaf, first + leaves + spine, 400) for leaf in range(leaves) for spine in range(spines)
    )
    return Network(first, leaves + spines, down + up)


def lone(sizes: Sequence[int]) -> tuple[Flow, ...]:
    """Flows one after the other, 2 ms apart."""
    return tuple(Flow(1, 0, size, 2_000_000 * place) for place, size in enumerate(sizes))


def to_one(senders: int, size: int, apart_ns: int) -> tuple[Flow, ...]:
    """Flows of several hosts to one."""
    return tuple(Flow(1 + place, 0, size, apart_ns * place) for place in range(senders))


def from_one(receivers: int, size: int, apart_ns: int) -> tuple[Flow, ...]:
    """Flows of one host to several: they take turns."""
    return tuple(Flow(0, 1 + place, size, apart_ns * place) for place in range(receivers))


def ring(hosts: int, size: int, apart_ns: int) -> tuple[Flow, ...]:
    """Each host sends to the next one, so that data and acknowledgements share links."""
    return tuple(Flow(place, (place + 1) % hosts, size, apart_ns * place) for place in range(hosts))


def web_search(hosts: int, load: float, time_ns: int, stream: random.Random) -> tuple[Flow, ...]:
    """Poisson arrivals between all hosts, of the sizes of a web search."""
    mean_bytes = sum((a + b) / 2 * (high - low) for (a, low), (b, high) in pairwise(WEB_SEARCH))
    flows_per_ns = load * hosts * RATE_BPS / 8e9 / mean_bytes
    flows: list[Flow] = []
    start = stream.expovariate(flows_per_ns)
    while start < time_ns:
        source, destination = stream.sample(range(hosts), 2)
        flows.append(Flow(source, destination, drawn(stream.random()), int(start)))
        start += stream.expovariate(flows_per_ns)
    return tuple(flows)


def drawn(share: float) -> int:
    """The bytes up to which a share of flows is long."""
    for (size, low), (next_size, high) in pairwise(WEB_SEARCH):
        if share < high:
            return max(1, round(size + (next_size - size) * (share - low) / (high - low)))
    return WEB_SEARCH[-1][0]


def topology_text(network: Network) -> str:
    """topology.txt."""
    switches = range(network.hosts, network.hosts + network.switches)
    lines = [f"{network.hosts + network.switches} {network.switches} {len(network.links)}"]
    lines.append(" ".join(map(str, switches)))
    lines += [f"{a} {b} {gbps}Gbps {network.delay_ns}ns 0" for a, b, gbps in network.links]
    return "\n".join(lines) + "\n"


def flow_text(flows: Sequence[Flow]) -> str:
    """flow.txt. The last digits keep ns-3, which truncates a double, from starting flows 1 ns before their time."""
    lines = [
        f"{flow.source} {flow.destination} 3 100 {flow.size} {(START_NS + flow.start_ns) / 1e9:.9f}000001"
        for flow in flows
    ]
    return "\n".join([str(len(lines)), *lines]) + "\n"


def config_text(case: Case, control: str) -> str:
    """config.txt."""
    return settings_text({**COMMON, **CONTROLS[control], **case.settings})


def settings_text(settings: Mapping[str, str]) -> str:
    """The text of a config.txt with these settings."""
    return "".join(f"{key} {value}\n" for key, value in settings.items())


def files(case: Case, control: str) -> dict[str, str]:
    """The texts of the files of a case by their names."""
    return {
        "topology.txt": topology_text(case.network),
        "flow.txt": flow_text(case.flows),
        "config.txt": config_text(case, control),
        "trace.txt": "0\n",
    }


# It ends before Flowyard's timeout, which that code does not have.
LITTLE_MEMORY = {"BUFFER_SIZE": "1", "SIMULATOR_STOP_TIME": "2.05"}
STEADY = ("none", "timely", "timely_vwin", "dctcp", "dctcp_nowin")
ALL = (*STEADY, "hp", "dcqcn", "dcqcn_vwin")
CASES = (
    Case("lone flow", "lone", star(2), lone([1000, 1500, 50_000, 100_000, 5_000_000]), ALL),
    Case("2 to 1", "together", star(3), to_one(2, 2_000_000, 1700), ALL),
    Case("8 to 1", "together", star(9), to_one(8, 500_000, 1700), ALL),
    Case("16 to 1", "together", star(17), to_one(16, 200_000, 370), ALL),
    Case("1 to 4", "together", star(5), from_one(4, 500_000, 1700), ALL),
    Case("ring of 4", "together", star(4), ring(4, 500_000, 1700), ALL),
    # Headroom of three times the delay of so short a cable is less than arrives after a pause.
    Case("losses, 16 to 1", "losses", star(17, 100), to_one(16, 60_000, 370), ("none",), LITTLE_MEMORY),
    Case("long losses, 16 to 1", "losses", star(17, 100), to_one(16, 200_000, 370), ("none",), LITTLE_MEMORY),
    Case(
        "web search",
        "fabric",
        leaf_spine(4, 2, 8),
        web_search(32, 0.5, 10_000_000, random.Random(1)),
        ("none", "timely_vwin", "dctcp", "dctcp_nowin", "hp", "dcqcn", "dcqcn_vwin"),
    ),
)
