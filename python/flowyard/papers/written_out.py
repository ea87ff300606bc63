"""Fields whose defaults follow from the network, with the numbers of the papers that figures reproduce."""

from collections.abc import Mapping
from typing import Any

# Handley et al., SIGCOMM 2017; the timeout before the first sample is htsim's.
NDP: Mapping[str, Any] = {"initial_window": 30, "rto_min": "1ms", "rto_initial": "20ms"}
# NetSys/simulator, for 10 Gbps.
PFABRIC: Mapping[str, Any] = {"initial_window": 12, "max_window": 15, "rto": "45us"}
PFABRIC_PORT: Mapping[str, Any] = {"limit": {"bytes": "36864B"}}
# Zhu et al., SIGCOMM 2015, for 40 Gbps.
LOSSLESS: Mapping[str, Any] = {"xoff": "200KB", "kmin": "5KB", "kmax": "200KB"}
