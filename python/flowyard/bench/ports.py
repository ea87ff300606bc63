"""Port agents (RCP, D3, PDQ, RACS): what ten thousand flows at one port cost, in time and in memory.

Time: CPU time per packet-hop of 10,000 flows of 20 KB that all begin at once, over one port of 10 Gbps, as a multiple
of that of 100 flows of 2 MB, under PDQ and RACS, best of three in turn. Ten thousand flows are opened and closed
besides, and lie beyond the first caches: the limit of 2 leaves room for that, and none for a walk over all flows at
each packet.

Memory, as the engine counts it: bytes of an agent at a port that no flow has passed, and bytes for each flow and
port, of 10,000 flows that are open at once and pass two ports each. Limits: a few cache lines per port, as its queue
has, and one per flow, as a packet's record has.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from flowyard.bench import child
from flowyard.bench.cases import SCENARIOS
from flowyard.bench.checks import Check

ROUNDS = 3
MANY, FEW = 10_000, 100
TIMED = ("pdq", "racs")
AGENTS = ("rcp", "d3", "pdq", "racs")
PORT_LIMIT, FLOW_LIMIT = 512, 64


def measure(rounds: int, tell: Callable[[str], None]) -> dict[str, Any]:
    """The figures as plain data."""
    from flowyard import _native

    hop: dict[tuple[str, int], list[float]] = {(name, flows): [] for name in TIMED for flows in (MANY, FEW)}
    for round_ in range(min(rounds, ROUNDS)):
        for (name, flows), found in hop.items():
            tell(f"ports: {name}, {flows} flows, round {round_ + 1}")
            figures = child.run(SCENARIOS / "bench" / f"{name}-port-{flows}.toml")
            if figures["status"] != "complete":
                raise RuntimeError(f"{name} ended with status {figures['status']}: nothing to measure")
            found.append(figures["cpu_s"] * 1e9 / figures["packet_hops"])
    by_port, by_flow = {}, {}
    for name in AGENTS:
        tell(f"ports: bytes of {name}")
        empty, ports = _native.agent_bytes(json.dumps(burst(name, MANY, "1ps")))
        full, _ = _native.agent_bytes(json.dumps(burst(name, MANY, "5ms")))
        by_port[name] = round(empty / ports, 1)
        by_flow[name] = round((full - empty) / (2 * MANY), 1)
    return {
        "ns_per_packet_hop": {
            f"{name}, {flows} flows": round(min(found), 2) for (name, flows), found in hop.items()
        },
        "growth": {name: round(min(hop[name, MANY]) / min(hop[name, FEW]), 3) for name in TIMED},
        "bytes_per_port": by_port,
        "bytes_per_flow": by_flow,
    }


def burst(transport: str, flows: int, until: str) -> Mapping[str, Any]:
    """Flows of 20 KB over one port, all at once: 10,000 of them are open for 160 ms."""
    entry = {
        "name": "flows",
        "arrivals": "at-once",
        "matrix": {"incast": {"senders": 100}},
        "sizes": {"fixed": "20KB"},
        "flows": flows,
    }
    return {
        "topology": {"single-switch": {"hosts": 101, "rate": "10Gbps", "delay": "5us"}},
        "transport": transport,
        "queue": {"drop-tail": {"limit": {"bytes": "4MB"}, "keep_headers": True}},
        "traffic": [entry],
        "run": {"until": until},
    }


def checks(figures: Mapping[str, Any]) -> list[Check]:
    """Targets."""
    growth, port, flow = (figures[key] for key in ("growth", "bytes_per_port", "bytes_per_flow"))
    return [
        *(
            Check(
                12, f"{name}, {MANY:,} flows at a port, per packet-hop", f"x {FEW} flows", growth[name], 2.0
            )
            for name in TIMED
        ),
        *(Check(12, f"{name}, its agent at a port", "bytes", port[name], PORT_LIMIT) for name in AGENTS),
        *(Check(12, f"{name}, a flow at a port", "bytes", flow[name], FLOW_LIMIT) for name in AGENTS),
    ]
