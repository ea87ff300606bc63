"""SYN's data centre in packets (section III-C): 120 servers, the controllers, bursts that arrive at random times.

A load is in bytes of IP over the rate of a server's link, of the packets that are offered: a flow is the fewest packets
whose lengths reach its size. What a scenario calls load counts sizes alone, which are less.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

from flowyard.sweeps import Axis, Plan
from flowyard_papers.syn._leaf_spine import LEAVES, SERVERS, SERVERS_PER_LEAF, SPINES

LINK_BPS, DELAY, MTU_BYTES, FRAME_BYTES = 1_000_000_000, "0.5us", 1500, 38
MEAN_BYTES, FLOWS, HOT_SPOT = 46_000, "bursts", 0
# Of the figures over load.
LOADS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)

OCF, SRJF, MMF, ASY = "SYN, OCF", "SYN, SRJF", "SYN, MMF", "ASY"
# ASY whose normalisation scales down only (SYN-S0), and rates that are max-min fair.
DOWN, MAX_MIN = "ASY, scaled down", "max-min"
CONTROLLERS: Mapping[str, dict[str, Any]] = {
    OCF: {"syn": {"policy": "ocf"}},
    SRJF: {"syn": {"policy": "srjf"}},
    MMF: {"syn": {"policy": "mmf"}},
    ASY: {"asy": {}},
    DOWN: {"asy": {"normalisation": {"scaling": "down"}}},
    MAX_MIN: {"max-min": {}},
}
SLOTTED = (OCF, SRJF, MMF)
# ASY by readings of its buckets: systems of which only verdicts are shown, but for the one that makes up for a packet.
ONE_PACKET, LOST = "ASY, a bucket of one packet", "ASY, lateness is lost"
PASSES, DRAINS = "ASY, the wait of an empty queue passes", "ASY, an empty queue drains"
READINGS: Mapping[str, dict[str, Any]] = {
    ONE_PACKET: {"late_limit": 1},
    LOST: {"late": "lost"},
    PASSES: {"idle": "passes"},
    DRAINS: {"idle": "drains"},
}
COLOURS = ("#0072b2", "#009e73", "#56b4e9", "#d55e00", "#e69f00", "#7f7f7f")
MARKERS = ("^", "v", "o", "s", "D", "P")

FIXED, BIMODAL, FBW, IN_TURN = "1500 B", "bimodal", "FBW", "1500 B and 40 B in turn"
LENGTHS: Mapping[str, dict[str, Any]] = {
    FIXED: {},
    BIMODAL: {"lengths": {"bimodal": {}}},
    FBW: {"lengths": {"fbw": {}}},
    IN_TURN: {"lengths": {"list": [1500, 40]}, "in_turn": True},
}
# Of lengths that are drawn: (shortest, longest, probability), evenly spread between; FBW's table is an assumption.
_FBW = (
    *((40, 0.0), (66, 0.10), (90, 0.25), (120, 0.40), (150, 0.50), (200, 0.60), (300, 0.68), (500, 0.74)),
    *((800, 0.79), (1200, 0.83), (1499, 0.85)),
)
DRAWN: Mapping[str, Sequence[tuple[int, int, float]]] = {
    FIXED: [(1500, 1500, 1.0)],
    BIMODAL: [(40, 40, 0.4), (1500, 1500, 0.6)],
    FBW: [
        *((low, high, upper - lower) for (low, lower), (high, upper) in pairwise(_FBW)),
        (1500, 1500, 0.15),
    ],
}
_TURNS = (1500, 40)


def mean_bytes(lengths: str) -> float:
    """The mean length of a packet: of those in turn, over whole turns."""
    if lengths == IN_TURN:
        return sum(_TURNS) / len(_TURNS)
    return sum(share * (low + high) / 2 for low, high, share in DRAWN[lengths])


def offered_bytes(lengths: str, mean: float = MEAN_BYTES) -> float:
    """The mean bytes of the packets of a flow whose size is exponential: a little more than its size.

    The packet n + 1 is needed if the n before it do not reach the size, which has the probability E exp(-L/m)^n. So a
    flow has 1 / (1 - E exp(-L/m)) packets on average, and by Wald's identity E L times as many bytes.
    """
    if lengths == IN_TURN:
        reached = accumulate(_TURNS, initial=0)
        turn = sum(length * math.exp(-before / mean) for length, before in zip(_TURNS, reached, strict=False))
        return turn / -math.expm1(-sum(_TURNS) / mean)
    left = sum(share * _laplace(low, high, mean) for low, high, share in DRAWN[lengths])
    return mean_bytes(lengths) / (1 - left)


def _laplace(low: int, high: int, mean: float) -> float:
    """E exp(-L/m) of a length that is evenly spread from low to high."""
    if low == high:
        return math.exp(-low / mean)
    return mean * (math.exp(-low / mean) - math.exp(-high / mean)) / (high - low)


def scenario_load(load: float, lengths: str) -> float:
    """The scenario's load at which its packets offer a given load."""
    return load * MEAN_BYTES / offered_bytes(lengths)


def scaled(load: float, lengths: str) -> float:
    """The load of packets whose flows' sizes make up that much: the inverse of `scenario_load`."""
    return load * offered_bytes(lengths) / MEAN_BYTES


def flows_per_s(load: float, lengths: str, incast: bool = False) -> float:
    """Of the data centre; under incast of the hot spot's senders together."""
    return load * LINK_BPS * (1 if incast else SERVERS) / (8 * offered_bytes(lengths))


def limit(system: str, lengths: str, frame_bytes: int = FRAME_BYTES) -> float:
    """The load at which slots or wires are full: beyond it what waits grows without end.

    Under SYN every packet takes a slot, under rates no more than its bytes and its frame.
    """
    mean = mean_bytes(lengths)
    return mean / ((MTU_BYTES if system in SLOTTED else mean) + frame_bytes)


@dataclass(frozen=True)
class Window:
    """When flows count. They go on to arrive for a while after it, so that the last ones do not have it easier.

    Attributes:
        warm_up_ms: Flows that start earlier do not count.
        counted_ms: At least so long those count that start then,
        flows: and so long that about so many do.
        after_ms: Then the run goes on for so long.
    """

    warm_up_ms: int
    counted_ms: int
    flows: int
    after_ms: int

    def end_ms(self, load: float, lengths: str, incast: bool = False) -> int:
        """When flows no longer count."""
        long_enough = 1000 * self.flows / flows_per_s(load, lengths, incast)
        return self.warm_up_ms + max(self.counted_ms, math.ceil(long_enough))

    def until_ms(self, load: float, lengths: str, incast: bool = False) -> int:
        """When the run ends."""
        return self.end_ms(load, lengths, incast) + self.after_ms

    @property
    def measure(self) -> dict[str, str]:
        """The field of a run: from the warm-up to its end. Figures that count for less time cut that themselves."""
        return {"from": f"{self.warm_up_ms}ms", "until": "end"}


def scenario(
    controller: Mapping[str, Any],
    lengths: str = FIXED,
    *,
    central: Mapping[str, Any] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """The data centre under a controller.

    Args:
        controller: Of CONTROLLERS.
        lengths: Of packets: a key of LENGTHS.
        central: More fields of the hosts.
        more: Other parts, such as run, traffic or observe.
    """
    return {
        "topology": {
            "leaf-spine": {
                "leaves": LEAVES,
                "hosts": SERVERS_PER_LEAF,
                "spines": SPINES,
                "host": {"rate": "1Gbps"},
                "spine": {"rate": "10Gbps"},
                "delay": DELAY,
            }
        },
        "transport": {"central": {"link_bytes": f"{FRAME_BYTES}B", **LENGTHS[lengths], **(central or {})}},
        "controller": dict(controller),
        **more,
    }


def bursts(load: float, lengths: str, until_ms: int, incast: bool = False) -> dict[str, Any]:
    """Flows at random times until then, from any server to any other, or of all others to one."""
    to_one = {"incast": {"senders": SERVERS - 1, "receiver": HOT_SPOT}}
    poisson = {"load": scenario_load(load, lengths), "until": f"{until_ms}ms"}
    return {
        "name": FLOWS,
        "arrivals": {"poisson": poisson},
        "matrix": to_one if incast else "uniform",
        "sizes": {"exponential": {"mean": f"{MEAN_BYTES}B"}},
    }


def plan(
    name: str,
    systems: Sequence[str],
    loads: Sequence[float],
    window: Window,
    *,
    replicas: int,
    lengths: str = FIXED,
    incast: bool = False,
    labels: Sequence[float] = (),
    **more: Any,
) -> Plan:
    """Systems over the same flows at each load.

    Args:
        name: Of the plan.
        systems: Keys of CONTROLLERS or of READINGS; the axis "system".
        loads: In bytes of IP; the axis "load".
        window: When flows count.
        replicas: Repetitions.
        lengths: Of packets.
        incast: All to one server; else uniform.
        labels: What the axis "load" calls the loads; by default the loads.
        more: Parts of the scenarios, such as observe.
    """
    ends = [window.until_ms(load, lengths, incast) for load in loads]
    traffic = [[bursts(load, lengths, end, incast)] for load, end in zip(loads, ends, strict=True)]
    run = {"measure": window.measure, "until": f"{ends[0]}ms"}
    bases = [
        scenario(
            CONTROLLERS[ASY if system in READINGS else system],
            lengths,
            central=READINGS.get(system),
            run=run,
            traffic=traffic[0],
            **more,
        )
        for system in systems
    ]
    at: dict[str, list[Any]] = {"traffic": traffic, "run.until": [f"{end}ms" for end in ends]}
    axes = [
        Axis("system", scenarios=bases, labels=systems),
        Axis("load", at, labels=labels or loads),
    ]
    return Plan(axes=axes, replicas=replicas, name=name)


def look(system: str) -> dict[str, Any]:
    """A colour and a mark for each system, the same in all figures; those that the paper does not have are dotted."""
    place = list(CONTROLLERS).index(ASY if system in READINGS else system)
    return {
        "color": COLOURS[place],
        "marker": MARKERS[place],
        "linestyle": ":" if system in (DOWN, MAX_MIN) else "-",
        "label": system,
    }


ASSUMED = (
    "0.5 us per link; each packet has 38 B of preamble, header, check sequence and gap, so that SYN's slot is 1538 B, "
    "12.304 us. Flows are whole packets: the fewest whose lengths reach the size.",
    "Load is the bytes of the offered IP packets over the rate of a server's link; 1 Gbps is full at 0.975 with "
    "packets of 1500 B.",
    "ASY: R is 1 for each non-empty queue; 20 rounds, scaled up as well as down, then remaining capacity is allocated. "
    "SYN is MMF where no policy is named; ties are random. The first packet of a queue is that of its oldest flow.",
)
