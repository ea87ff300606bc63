"""Fields whose defaults depend on the network or have changed, pinned to the values of the published figures."""

from collections.abc import Mapping
from typing import Any

# The timeout before the first sample is htsim's.
_NDP_TIMEOUTS: Mapping[str, Any] = {"rto_min": "1ms", "rto_initial": "20ms"}
# Handley et al., SIGCOMM 2017.
NDP: Mapping[str, Any] = {"initial_window": 30, **_NDP_TIMEOUTS}
# NDP without headers that return, for figures that have no source for them or whose source lets headers be lost:
# headers that find no room are lost, and a timer repeats all of their packets at once.
NDP_REPEATS: Mapping[str, Any] = {
    "pull_turns": "arrival",
    "backstop_repeats": "at-once",
    **_NDP_TIMEOUTS,
    "rto_max": "1000s",
    "rto_spread": 0.0,
}
NDP_PORT: Mapping[str, Any] = {"return_to_sender": False}
# NetSys/simulator, for 10 Gbps.
PFABRIC: Mapping[str, Any] = {"initial_window": 12, "max_window": 15, "rto": "45us"}
PFABRIC_PORT: Mapping[str, Any] = {"limit": {"bytes": "36864B"}}
# Zhu et al., SIGCOMM 2015, for 40 Gbps.
LOSSLESS: Mapping[str, Any] = {"xoff": "200KB", "kmin": "5KB", "kmax": "200KB"}
