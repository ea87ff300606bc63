"""Settings of ConWeave's ns-3 code (config.txt), where they differ from those of HPCC's, from which it descends.

    LB_MODE 0
    ENABLE_PFC 0
    ENABLE_IRN 1

Source: conweave-project/conweave-ns3, `scratch/network-load-balance.cc`, `rdma-hw.cc`, `rdma-queue-pair.h` and
`switch-mmu.cc` of `point-to-point`. Acknowledgements are of class 0 there, which is neither counted, marked nor paused.
"""

from collections.abc import Mapping
from typing import Any

# Keys that HPCC's code does not know; one of them tells the file.
KEYS = ("LB_MODE", "ENABLE_PFC", "ENABLE_IRN", "FLOWGEN_START_TIME")
# MTU of `switch-mmu.h`: a full packet without telemetry.
MTU = 1048
# Bytes of a queue that are not of the memory that ports share, and do not count for marks.
OWN = MTU + 1
# Above any queue: nothing is marked, paused or dropped.
NEVER = "1GB"
_NAK_INTERVAL = "4us"
# Classes of a port, of which each has its own bytes.
CLASSES = 8
_PS_PER_BYTE = 8 * 10**12


def transport(found: dict[str, Any], *, irn: bool, bdp: int | None) -> dict[str, Any]:
    """`roce` as that code has it.

    Args:
        found: `roce` of HPCC's code.
        irn: Whether recovery is IRN.
        bdp: The largest bandwidth-delay product of the network, if known.
    """
    found = {**found, "control_class": 0, "timeout": "4ms"}
    if "hpcc" in found["congestion"]:
        # The sequence number and size of a report are in each acknowledgement.
        found["ack_bytes"] = "94B"
    if irn:
        cap = {} if bdp is None else {"bdp_cap": f"{bdp}B"}
        # The packet sent last is not counted there: four are few.
        found["recovery"] = {
            "irn": {**cap, "resend": "all", "cnp_on_nak": True, "restart_always": True, "rto_few": 4}
        }
    else:
        ((kind, settings),) = found.get("recovery", {"go-back-n": {}}).items()
        found["recovery"] = {kind: {**settings, "nak_interval": _NAK_INTERVAL}}
    return found


def above_own(kilobytes: int) -> str:
    """A threshold of marks, which are by the bytes of a queue in shared memory."""
    return f"{1000 * kilobytes + OWN}B"


def pausing(size: str | None, cables: Mapping[int, int], marks: dict[str, Any]) -> dict[str, Any]:
    """Ports and memory of switches that pause others.

    Args:
        size: Memory of each switch.
        cables: The longest delay in ps of cables, by their rates in bit/s.
        marks: Thresholds of marks, as of `queue.lossless`.
    """
    ports = {"queue": {"lossless": marks}} if marks or size else {}
    if size is None:
        return ports
    memory = {
        "size": size,
        "alpha": 1 / 16,
        "alpha_by_rate": False,
        "reserve": f"{2 * MTU}B",
        "xon_offset": "1B",
        "first_class": 1,
        "frame_bytes": "43B",
    }
    if cables:
        # Not shared there are twice the bytes of the delay, two packets, and one for each class of a port; two of these
        # are the reserve here. Arrivals after a pause have the shared memory there, too.
        most = max(rate * delay // _PS_PER_BYTE for rate, delay in cables.items())
        memory["headroom"] = f"{2 * most + CLASSES * MTU}B"
    return {**ports, "buffer": {"hpcc": memory}}


def dropping(size: str | None, marks: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Ports and memory of switches that drop packets, and what differs from that code.

    Args:
        size: Memory of each switch.
        marks: Thresholds of marks, as of `queue.lossless`.
    """
    if marks and (marks.get("kmin") != marks.get("kmax") or "by_rate" in marks):
        note = (
            "ports have no limit: none here has both marks between two thresholds and drops by shared memory"
        )
        return {"queue": {"lossless": {"xoff": NEVER, **marks}}}, [note]
    ports: dict[str, Any] = {"limit": {"bytes": NEVER}, "limit_counts_wire": False, "mark": "none"}
    if marks:
        ports |= {"mark": "class", "mark_on": "dequeue", "threshold": {"bytes": marks["kmin"]}}
    memory = (
        {} if size is None else {"buffer": {"dynamic": {"size": size, "alpha": 1.0, "reserve": f"{OWN}B"}}}
    )
    return {"queue": {"strict-priority": ports}, **memory}, []


def notes(*, irn: bool, pauses: bool) -> list[str]:
    """The differences from that code that import cannot express."""
    found = [
        "settings are of ConWeave's code: acknowledgements are of class 0, marks spare the first 1049 B of a queue"
    ]
    if pauses:
        found.append(
            "pauses last until a frame ends them; in ConWeave's code they end after 5 us, and each arrival renews them"
        )
    if not irn:
        found.append("reports of a missing packet cut no rate under go-back-N; in ConWeave's code they do")
    return found
