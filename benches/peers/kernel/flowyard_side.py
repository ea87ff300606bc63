"""Flowyard's side of the comparison with a kernel: a wire and a flavour as a scenario."""

from typing import Any

import polars as pl
from cases import EVERY_S, Outcome, Wire

from flowyard import results

# Senders of the kernel are processes on one machine, and get their requests one after the other: they start 30 to 50 us
# apart (300 us in all, by packet traces), so that the first window of each is a burst that no other interrupts.
SPREAD = "300us"
# The kernel's timers count ticks (250 Hz), to which it rounds a minimum up.
TICK_MS = 4
LINUX: dict[str, Any] = {
    "preset": "linux",
    "mss": "1448B",
    "header_bytes": "52B",
    "receive_window": "24MB",
}
FLAVOURS: dict[str, dict[str, Any]] = {
    "reno-": {
        "congestion": {"newreno": {"impatient": False}},
        "sack": False,
        "timestamps": False,
        "limited_transmit": True,
        "mss": "1460B",
        "header_bytes": "40B",
    },
    "reno+": {"congestion": "newreno"},
    "cubic+": {},
    "bbr": {"congestion": "bbr"},
}


def scenario(wire: Wire, flavour: str) -> dict[str, Any]:
    """Two hosts for each sender, edge links that take no time, and the bottleneck."""
    limit = {"packets": wire.limit}
    rto_min = -(-wire.rto_min_ms // TICK_MS) * TICK_MS
    tcp = {**LINUX, **FLAVOURS[flavour], "rto_min": f"{rto_min}ms", "ecn": wire.mark > 0}
    hosts = max(wire.senders, 2)
    document: dict[str, Any] = {
        "topology": {
            "dumbbell": {
                "hosts": hosts,
                "rate": "10Gbps",
                "delay": "0ps",
                "bottleneck": {"rate": "20Mbps", "delay": f"{wire.rtt_ms * 500}us"},
            }
        },
        "transport": {"tcp": tcp},
        "queue": {"ecn": {"threshold": {"packets": wire.mark}, "limit": limit}}
        if wire.mark
        else {"drop-tail": {"limit": limit}},
        "traffic": [entry("first", [[0, hosts]], wire)],
    }
    if wire.senders > 1:
        rounds = {"connection": "kept", "arrivals": {"blocks": {"blocks": wire.rounds, "jitter": SPREAD}}}
        pairs = [[sender, hosts] for sender in range(wire.senders)]
        document["traffic"] = [entry("first", pairs, wire) | rounds]
    elif wire.later_s:
        start = {"at-once": {"at": f"{wire.later_s}s", "jitter": "0ps"}}
        document["traffic"].append(entry("later", [[1, hosts + 1]], wire) | {"arrivals": start})
    if wire.lost:
        document["faults"] = {"packets": [{"traffic": "first", "numbers": list(wire.lost)}]}
    if wire.seconds:
        document["run"] = {"until": f"{wire.seconds}s"}
        document["observe"] = {"samples": {"every": f"{EVERY_S * 1000:.0f}ms", "links": []}}
    return document


def entry(name: str, pairs: list[list[int]], wire: Wire) -> dict[str, Any]:
    """A traffic entry of flows that start at once."""
    return {
        "name": name,
        "arrivals": {"at-once": {"jitter": "0ps"}},
        "matrix": {"pairs": pairs},
        "sizes": {"fixed": "1GB" if wire.seconds else f"{wire.size}B"},
    }


def run(wire: Wire, flavour: str, seed: int) -> Outcome:
    """Runs it with that seed, by which starts of flows differ by up to a packet time."""
    run = results.run(scenario(wire, flavour), {"run.seed": seed})
    flows = pl.DataFrame(run.flows)
    outcome = Outcome(timeouts=int(flows["timeouts"].sum()))
    if wire.seconds:
        samples = pl.DataFrame(run.samples)
        for flow in range(len(flows)):
            own = samples.filter(pl.col("id") == flow).sort("time_ps")
            rates = own.filter(pl.col("series") == "rate_bps")
            first = round(float(rates["time_ps"][0]) / 1e12 / EVERY_S) - 1 if len(rates) else 0
            outcome.delivered.append([0.0] * first + [rate * EVERY_S / 8 for rate in rates["value"]])
            if flow == 0:
                outcome.windows = own.filter(pl.col("series") == "cwnd_bytes")["value"].to_list()
        return outcome
    ends = ((flows["start_ps"] + flows["fct_ps"]) / 1e12).to_list()
    outcome.fct_ms = float(flows["fct_ps"][0]) / 1e9
    ends.sort()
    outcome.rounds_s = ends[wire.senders - 1 :: wire.senders]
    return outcome
