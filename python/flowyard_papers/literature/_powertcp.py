"""PowerTCP's laws, their standing queues in closed form, and flows to one host of a switch.

Where a flow's window w is steady, its power P takes as much as beta adds: w (1 - eta / P) = beta. The queue of the
bottleneck follows. The authors' simulator (inet-tub/ns3-datacenter) has other constants than the paper.
"""

from typing import Any

from flowyard.papers.figure import Scale
from flowyard.sweeps import Axis, Plan

RATE_BPS, WIRE, PAYLOAD, T_NS = 25_000_000_000, 1090, 1000, 28_960
PIPE = RATE_BPS * T_NS / 8e9
# Additive increase in the authors' simulator, as a rate; its margin above the least round trip under theta.
AI_BPS, ETA, MARGIN = 150_000_000, 0.95, 1.05
SIMULATOR, PAPER, THETA = "simulator's constants", "paper's law", "theta"
_BETA, _THETA_BETA = (round(AI_BPS * T_NS * margin / 8e9) for margin in (1, MARGIN))
LAWS: dict[str, dict[str, Any]] = {
    SIMULATOR: {"eta": ETA, "beta": f"{_BETA}B", "base_rtt": f"{T_NS}ns"},
    PAPER: {"base_rtt": f"{T_NS}ns"},
    THETA: {
        "mode": "theta",
        "gamma": 0.7,
        "beta": f"{_THETA_BETA}B",
        "base_rtt": f"{round(T_NS * MARGIN)}ns",
    },
}
# Numbers of flows whose standing queue is judged or drawn, by law.
FLOWS = {SIMULATOR: (2, 5, 10, 11, 20, 40, 60, 97), PAPER: (2, 5, 10, 20, 40), THETA: (2, 5, 10, 11, 20, 40)}


def expected_queue(law: str, flows: int) -> float:
    """Bytes that wait behind the packet on the wire, by the closed form of a law."""
    share = flows * AI_BPS / RATE_BPS
    if law == PAPER:
        return flows * PIPE / 10
    if law == THETA:
        return PIPE * (MARGIN / (1 - share) - 1)
    return PIPE * max(0.0, ETA / (1 - share) - 1)


def scenario(senders: int, entries: list[dict[str, Any]], until: str) -> dict[str, Any]:
    """One switch and one receiver; cables, a packet of 1090 B and its ACK of 88 B make up the round trip T."""
    return {
        "topology": {"single-switch": {"hosts": senders + 1, "rate": "25Gbps", "delay": "7051ns"}},
        "transport": {"roce": {"header_bytes": "90B", "ack_bytes": "88B", "congestion": {"powertcp": {}}}},
        "queue": {"lossless": {"kmin": "1GB", "kmax": "1GB", "xoff": "10MB"}},
        "traffic": entries,
        "run": {"until": until},
    }


def endless(name: str, at: str, matrix: dict[str, Any], jitter: str = "20us") -> dict[str, Any]:
    """Flows without an end."""
    return {
        "name": name,
        "background": True,
        "arrivals": {"at-once": {"at": at, "jitter": jitter}},
        "matrix": matrix,
        "sizes": "endless",
    }


def laws(*names: str) -> Axis:
    """One law after the other."""
    return Axis("law", {"transport.roce.congestion.powertcp": [LAWS[name] for name in names]}, labels=names)


def standing(law: str, scale: Scale) -> Plan:
    """So many flows for 20 ms, at quick scale 8, of which the second half is measured."""
    half_ms = scale.pick(4, 10)
    flows = endless("flows", "0s", {"incast": {"senders": 1, "receiver": 0}}, "100us")
    base = scenario(1, [flows], f"{2 * half_ms}ms")
    base["run"]["measure"] = {"from": f"{half_ms}ms", "until": "end"}
    hosts, senders = "topology.single-switch.hosts", "traffic.flows.matrix.incast.senders"
    numbers = FLOWS[law]
    axis = Axis("senders", {hosts: [n + 1 for n in numbers], senders: list(numbers)}, labels=numbers)
    return Plan(base, [laws(law), axis], scale.pick(1, 5), name=f"standing queue, {law}")
