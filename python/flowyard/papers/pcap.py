"""Records of a pcap file of a run under a transport of the simulator's own, which is captured as UDP.

The transport defines the words of a packet's header; `docs/results.md` has the format of captures.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

# pcap with nanoseconds: what stands before the packets, and before each of them.
_FILE, _HEAD = 24, 16
# A packet: that head, IPv4, UDP, the simulator's own header.
_RECORD = np.dtype(
    [
        ("s", "<u4"),
        ("ns", "<u4"),
        ("captured", "<u4"),
        ("length", "<u4"),
        ("ip", "V12"),
        ("from", ">u4"),
        ("to", ">u4"),
        ("port", ">u2"),
        ("other_port", ">u2"),
        ("udp", "V4"),
        ("flags", "u1"),
        ("kind", "u1"),
        ("len", ">u2"),
        ("number", ">u4"),
        ("words", ">u8", 2),
    ]
)


def records(path: Path) -> tuple[NDArray[np.void], int]:
    """The packets of a file whose headers are whole, in its order, and the number of the others.

    Control packets that are shorter than their header are cut off.
    """
    return parsed(path.read_bytes())


def parsed(raw: bytes) -> tuple[NDArray[np.void], int]:
    """As `records`, of what such a file holds."""
    whole, cut, at = [], 0, _FILE
    while at < len(raw):
        captured = int.from_bytes(raw[at + 8 : at + 12], "little")
        if captured == _RECORD.itemsize - _HEAD:
            whole.append(at)
        else:
            cut += 1
        at += _HEAD + captured
    if not whole:
        return np.empty(0, _RECORD), cut
    places = np.array(whole, dtype=np.int64)[:, None] + np.arange(_RECORD.itemsize)
    rows = np.frombuffer(raw, dtype=np.uint8)[places]
    return np.ascontiguousarray(rows).view(_RECORD)[:, 0], cut


def time_ns(packets: NDArray[np.void]) -> NDArray[np.int64]:
    """When each came out of its link, cut to whole nanoseconds."""
    seconds: NDArray[np.int64] = packets["s"].astype(np.int64)
    return seconds * 1_000_000_000 + packets["ns"].astype(np.int64)


def hosts(addresses: NDArray[np.uint32]) -> NDArray[np.int64]:
    """The hosts that have these addresses: 10.0.0.1 is host 0."""
    return addresses.astype(np.int64) - 0x0A000001


def flows(ports: NDArray[np.uint16]) -> NDArray[np.int64]:
    """The flows whose senders have these ports."""
    return ports.astype(np.int64) - 32_768
