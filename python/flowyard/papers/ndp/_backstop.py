"""NDP without headers that return: what finds no room is lost, and a timer repeats all of it at once.

The fields with which figures were first made that have no source for them, or whose source lets headers be lost. They
are written out, so that these figures do not move with the simulator's defaults.
"""

from collections.abc import Mapping
from typing import Any

# Of hosts.
REPEATS: Mapping[str, Any] = {
    "pull_turns": "arrival",
    "backstop_repeats": "at-once",
    "rto_min": "1ms",
    "rto_initial": "20ms",
    "rto_max": "1000s",
    "rto_spread": 0.0,
}
# Of ports.
DROPS: Mapping[str, Any] = {"return_to_sender": False}
