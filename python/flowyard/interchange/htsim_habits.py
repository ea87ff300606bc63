"""Behaviour of htsim's NDP that its files do not state: fields of a scenario, with a remark on each.

The numbers are those of htsim_ndp in csg-htsim (sim/datacenter/main_ndp.cpp, sim/compositequeue.cpp, sim/ndp.cpp): its
defaults for what its command line may change, its habits for the rest.
"""

from dataclasses import dataclass
from typing import Any

# Bytes that htsim adds to the payload of a packet.
HEADER = 64


@dataclass(frozen=True)
class CommandLine:
    """Options of the command line of htsim_ndp, with its defaults.

    Attributes:
        mtu: Bytes of payload of a packet (-mtu).
        cwnd: Packets of the first window (-cwnd).
        queue: Packets of a port, so many times the payload (-q).
    """

    mtu: int = 9000
    cwnd: int = 15
    queue: int = 15


def fields(line: CommandLine) -> dict[str, Any]:
    """The parts of a scenario under which NDP here is that of htsim."""
    room = line.queue * line.mtu
    return {
        "routing": {"balancer": "permuted"},
        "transport": {
            "ndp": {
                "mtu": f"{line.mtu}B",
                "header_bytes": f"{HEADER}B",
                "mtu_includes_header": False,
                "initial_window": line.cwnd,
                "pull_rate": 0.99,
                "pull_turns": "number",
                "pad_last": True,
            }
        },
        "queue": {
            "ndp": {
                "data_limit": {"bytes": f"{room}B"},
                "header_limit": {"bytes": f"{2 * room}B"},
                "headers_per_data": 0,
                "return_to_sender": True,
            }
        },
    }


# What is said of the balancer, unless something else chooses the paths.
BALANCER = 'balancer: "permuted" is htsim\'s -strat perm, which is not in the file either'


def notes(line: CommandLine, given: set[str]) -> list[str]:
    """A remark on each, and how to change it.

    Args:
        line: The values.
        given: Which of them the user has named.
    """

    def source(name: str, flag: str, option: str) -> str:
        return (
            "as asked for"
            if name in given
            else f"htsim's default: its {flag} is not in the file, {option} sets it"
        )

    fit = line.queue * line.mtu // (line.mtu + HEADER)
    return [
        f"mtu: packets of {line.mtu} B of payload, {source('mtu', '-mtu', '--mtu')}",
        f"initial_window: {line.cwnd} packets, {source('cwnd', '-cwnd', '--cwnd')}",
        f"data_limit: {line.queue} times the payload, of which {fit} packets with headers fit, "
        f"{source('queue', '-q', '--queue')}; header_limit is twice that",
        f"header_bytes: htsim adds {HEADER} B to the payload, and sends the last packet at full size (pad_last)",
        "pull_rate: htsim_ndp pulls at 0.99 of the link's rate, in turns by the numbers of flows (pull_turns)",
        "headers_per_data: headers always go first in htsim; those without room return to their sender",
    ]
