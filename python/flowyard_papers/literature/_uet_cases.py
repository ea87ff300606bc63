"""The further cases of Ultra Ethernet's public simulator: networks, traffic, fields, and its tail completion times."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from flowyard_papers.literature._uet import at_once, fat_tree, slow_links

MESSAGES, SLEEK, CORE, ONE_VALUE, LARGE = "messages", "SLEEK", "degraded", "one value", "8192 hosts"
INCAST = "incast 1023"
# The tolerance of the protocol sheet; without random choices it is a tenth of that.
SHARE = 0.02


@dataclass(frozen=True)
class Case:
    """A case: its group, network and traffic, fields, tail completion times in us by control, tolerance."""

    group: str
    network: Mapping[str, Any]
    traffic: Mapping[str, Any]
    times: Mapping[str, tuple[float, ...]]
    share: float = SHARE
    uet: Mapping[str, Any] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)
    hosts: int = 16


def _messages(size: int, count: int, end: float) -> Case:
    traffic = at_once(
        "all", {"pairs": [[0, 1]] * count}, size // count, connection="kept" if count > 1 else "new"
    )
    return Case(MESSAGES, fat_tree(2), traffic, {"nscc": (end,), "rccc": (end,)}, share=0.002)


def _incast(senders: int, to: int, hosts: int) -> dict[str, Any]:
    others = [host for host in range(hosts) if host != to]
    return {"pairs": [[host, to] for host in others[:senders]]}


# The receiver of each host in the simulator's permutation of 16 (perm_16n_16c_2MB.cm): it decides which flows meet a
# degraded link.
_TO = (8, 4, 13, 10, 12, 15, 0, 9, 14, 7, 5, 3, 11, 6, 2, 1)
PERMUTATION_16 = {"pairs": [[host, to] for host, to in enumerate(_TO)]}
_UNTRIMMED = {"trimming": False, "sleek": {}}
_PORTS = {"queue": {"trimming": {"trim": "none", "limit": {"full-packets": 190}}}}
_WIDE = {
    "leaf-spine": {"leaves": 128, "hosts": 64, "spines": 64, "rate": "800Gbps", "delay": "1us"},
}
_WIDE_PORTS = {
    "queue": {
        "trimming": {
            "limit": {"full-packets": 200},
            "ecn_low": {"full-packets": 50},
            "ecn_high": {"full-packets": 150},
        }
    }
}


def _sleek(
    network: Mapping[str, Any], matrix: Any, *times: float, share: float = SHARE, **fields: Any
) -> Case:
    uet = _UNTRIMMED | fields.pop("uet", {})
    more = _PORTS | fields.pop("more", {})
    return Case(SLEEK, network, at_once("all", matrix), {"nscc": times}, share, uet, more, **fields)


VALUES = {"entropy_values": 128}
# Times of the simulator: those that it ships, and of other seeds (protocol sheet of Ultra Ethernet).
CASES: Mapping[str, Case] = {
    "a message of 40,860 B": _messages(40_860, 1, 17.0107),
    "10 messages of 4086 B": _messages(40_860, 10, 17.0107),
    "a message of 408,600 B": _messages(408_600, 1, 46.8907),
    "10 messages of 40,860 B": _messages(408_600, 10, 46.8907),
    "SLEEK, one": _sleek(fat_tree(4), {"pairs": [[0, 13]]}, 176.2),
    "SLEEK, incast 15": _sleek(fat_tree(4), _incast(15, 15, 16), 2456.3, 2454.2),
    "SLEEK, incast 127": _sleek(fat_tree(8), _incast(127, 33, 128), 20845.8, 20869.2, hosts=128),
    "SLEEK, permutation 16": _sleek(fat_tree(4), PERMUTATION_16, 194.022, 195.001, uet=VALUES),
    "SLEEK, degraded 16": _sleek(
        fat_tree(4), PERMUTATION_16, 413.9, 416.1, share=0.05, uet=VALUES, more={"faults": slow_links([0])}
    ),
    "SLEEK, bitmap 1024": _sleek(
        fat_tree(16), "permutation", 202.349, uet=VALUES | {"entropy": "bitmap"}, hosts=1024
    ),
    "SLEEK, mixed 1024": _sleek(fat_tree(16), "permutation", 200.507, uet=VALUES, hosts=1024),
    INCAST: Case(
        INCAST,
        fat_tree(16),
        at_once("all", _incast(1023, 0, 1024), 100_000),
        {"nscc": (10556.2,), "rccc": (8902.25,), "both": (8802.62,)},
        uet={"initial_window": "207500B"},
        hosts=1024,
    ),
    "degraded 16": Case(
        CORE,
        fat_tree(4),
        at_once("all", PERMUTATION_16),
        {"nscc": (238.218, 231, 244), "rccc": (229.764, 230, 241), "both": (238.253, 232, 238)},
        uet=VALUES,
        more={"faults": slow_links([0])},
    ),
    "degraded 1024": Case(
        CORE,
        fat_tree(16),
        at_once("all", "permutation"),
        {"nscc": (202.266, 201.6), "rccc": (200.864, 203.0), "both": (205.1, 202.2)},
        uet=VALUES,
        more={"faults": slow_links([0])},
        hosts=1024,
    ),
    "one value, 1024": Case(
        ONE_VALUE,
        fat_tree(16),
        at_once("all", "permutation"),
        {"nscc": (889.92, 880.7), "rccc": (1063.0, 1065.2), "both": (1047.05, 1010.5)},
        uet={"entropy_values": 1},
        hosts=1024,
    ),
    LARGE: Case(
        LARGE,
        _WIDE,
        at_once("all", "permutation", 1_000_000),
        {"nscc": (23.1324,)},
        uet={"entropy_values": 64, "initial_window": f"{300 * 4150}B"},
        more=_WIDE_PORTS,
        hosts=8192,
    ),
}
