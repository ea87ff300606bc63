"""Selectors of entropy values, tail completion times of uet-htsim under each, and the transports beside them."""

from collections.abc import Mapping
from typing import Any

from flowyard_papers.literature._uet import NSCC, RCCC

HEALTHY, DEGRADED = CONDITIONS = ("healthy", "degraded")
SELECTORS = ("mixed1", "reps1", "mixed", "bitmap", "reps", "oblivious")

DEEP_SELECTORS = ("mixed1", "reps1", "bitmap", "oblivious")

# Tail completion times in us of the simulator: the seed that it ships, and others (protocol sheet of Ultra Ethernet).
Times = Mapping[str, tuple[float, ...]]
SHIPPED: Mapping[tuple[str, str, bool], Times] = {
    (HEALTHY, NSCC, False): {
        "oblivious": (212.794, 213.9, 214.3),
        "bitmap": (200.507, 201.5, 202.2),
        "reps": (208.239, 208.4, 208.9),
        "reps1": (198.246, 195.3, 197.9),
        "mixed": (200.507, 200.1, 202.7),
        "mixed1": (193.184, 193.6, 195.0),
    },
    (HEALTHY, RCCC, False): {
        "oblivious": (208.781, 209.3),
        "bitmap": (204.105, 201.6),
        "reps": (210.035, 209.2),
        "reps1": (197.326, 198.8),
        "mixed": (203.384, 206.3),
        "mixed1": (195.608, 197.4),
    },
    (HEALTHY, NSCC, True): {
        "oblivious": (221.895,),
        "bitmap": (202.349,),
        "reps1": (198.246,),
        "mixed1": (193.184,),
    },
    (DEGRADED, NSCC, False): {
        "oblivious": (280.775, 273.5, 279.5),
        "bitmap": (220.269, 220.8, 221.9),
        "reps": (245.821, 260.6, 262.4),
        "reps1": (206.684, 207.0, 207.2),
        "mixed": (219.554, 215.4, 216.8),
        "mixed1": (211.821, 204.4, 205.2),
    },
    (DEGRADED, RCCC, False): {
        "oblivious": (224.755, 224.6),
        "bitmap": (211.342, 211.7),
        "reps": (218.53, 218.6),
        "reps1": (207.934, 207.5),
        "mixed": (209.713, 211.7),
        "mixed1": (208.384, 212.0),
    },
    (DEGRADED, NSCC, True): {
        "oblivious": (564.701, 560.7),
        "bitmap": (478.668, 460.2),
        "reps1": (209.872, 206.8),
    },
}

# Of the others, full packets as large.
_NDP = {"mtu": "4150B"}
_IRN = {"payload": "4086B", "header_bytes": "64B", "congestion": "dctcp", "recovery": "irn"}
_TCP = {"preset": "datacentre", "congestion": "dctcp", "mss": "4086B", "header_bytes": "64B"}
BESIDE: Mapping[str, dict[str, Any]] = {
    "NDP": {"transport": {"ndp": _NDP}},
    "NDP, mixed": {"transport": {"ndp": _NDP | {"entropy": "mixed", "entropy_values": 128}}},
    "IRN": {"transport": {"roce": _IRN}, "queue": "ecn"},
    "IRN, mixed": {
        "transport": {"roce": _IRN | {"entropy": "mixed", "entropy_values": 128}},
        "queue": "ecn",
    },
    "RoCE, HPCC": {
        "transport": {"roce": {"payload": "4086B", "header_bytes": "64B", "congestion": "hpcc"}},
    },
    "DCTCP": {"transport": {"tcp": _TCP}},
}
