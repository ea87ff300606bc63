"""A flow's packets as pcapng, which Wireshark opens: an interface for each link, drops, trims and marks as comments.

Source of the format: the Internet-Draft draft-ietf-opsawg-pcapng. Times are cut to nanoseconds, for tshark 4.0 computes
with finer ones in 64 bits, which wrap after 18 ms; the comment has the whole time in ps. Packets begin with an IPv4
header (link type 101, raw IP) and a UDP header, whatever their transport; behind these are 24 bytes: flags (2: trimmed,
8: marked, 16: control), 0, payload (2 bytes), packet number (4), sequence number (8), and the time when the packet was
made, in ps (8), big-endian. Payload is cut off, and the length of a packet is that on the wire, or that of these
headers where it is smaller. observe.capture has TCP's own headers, of arrivals only.
"""

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

# Types of blocks, and of options within them.
SECTION, INTERFACE, PACKET = 0x0A0D0D0A, 1, 6
COMMENT, NAME, SPEED, RESOLUTION = 1, 2, 8, 9
RAW_IP, NANOSECONDS, PS_PER_NS = 101, 9, 1000
# Ports as those of observe.capture: of the flow's number, and the receiver's.
EPHEMERAL, RECEIVER = range(32_768, 60_999), 49_152
IP_BYTES, UDP_BYTES, OWN_BYTES = 20, 8, 24
# Events that are a packet of the file.
KINDS = ("arrived", "dropped", "trimmed", "marked")


def pcapng(
    events: Iterable[Mapping[str, Any]], links: Sequence[tuple[str, int]], ends: Mapping[int, tuple[int, int]]
) -> bytes:
    """The file.

    Args:
        events: Rows of events.parquet, in their order; those of KINDS are written.
        links: "from -> to" and rate in bit/s of all links, by number.
        ends: Numbers of the sending and the receiving host of each flow.
    """
    chosen = [event for event in events if event["kind"] in KINDS and event["link"] is not None]
    used = sorted({event["link"] for event in chosen})
    interface = {link: number for number, link in enumerate(used)}
    # Byte order, version 1.0, no length of the section.
    blocks = [_block(SECTION, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))]
    for link in used:
        name, rate = links[link]
        options = _option(NAME, name.encode()) + _option(SPEED, struct.pack("<Q", rate))
        options += _option(RESOLUTION, bytes([NANOSECONDS])) + _option(0, b"")
        blocks.append(_block(INTERFACE, struct.pack("<HHI", RAW_IP, 0, 0) + options))
    blocks += [_packet(event, interface[event["link"]], ends[event["flow"]]) for event in chosen]
    return b"".join(blocks)


def comment(event: Mapping[str, Any]) -> str:
    """The comment of a packet: its flow, its kind, what a port did with it, and the time of that."""
    kind = f"data packet {event['number']}" if event["data"] else "control packet"
    fate = {"dropped": f"dropped ({event['detail']})", "arrived": "arrived"}.get(event["kind"], event["kind"])
    return f"flow {event['flow']}, {kind}: {fate} at {event['time_ps']} ps"


def _packet(event: Mapping[str, Any], interface: int, ends: tuple[int, int]) -> bytes:
    """An enhanced packet block."""
    content = _headers(event, ends)
    time = event["time_ps"] // PS_PER_NS
    sizes = struct.pack(
        "<IIIII",
        interface,
        time >> 32,
        time & 0xFFFFFFFF,
        len(content),
        max(event["wire_bytes"], len(content)),
    )
    return _block(
        PACKET, sizes + _padded(content) + _option(COMMENT, comment(event).encode()) + _option(0, b"")
    )


def _headers(event: Mapping[str, Any], ends: tuple[int, int]) -> bytes:
    """IPv4, UDP and the simulator's own bytes."""
    sender = EPHEMERAL.start + event["flow"] % len(EPHEMERAL)
    receiver = RECEIVER + event["subflow"]
    (src, dst), ports = (ends, (sender, receiver)) if event["forward"] else (ends[::-1], (receiver, sender))
    length = max(min(event["wire_bytes"], 65_535), IP_BYTES + UDP_BYTES + OWN_BYTES)
    # CE of RFC 3168 where a port has marked it.
    tos = 3 if event["marked"] else 0
    lifetime = max(64 - event["hops"], 1)
    head = struct.pack(">BBHHHBBH", 0x45, tos, length, 0, 0, lifetime, 17, 0)
    head += struct.pack(">II", 0x0A00_0001 + src, 0x0A00_0001 + dst)
    head = head[:10] + struct.pack(">H", _checksum(head)) + head[12:]
    udp = struct.pack(">HHHH", *ports, length - IP_BYTES, 0)
    flags = 2 * event["trimmed"] + 8 * event["marked"] + 16 * (not event["data"])
    own = struct.pack(
        ">BBHIQQ",
        flags,
        0,
        min(event["payload_bytes"], 65_535),
        event["number"] or 0,
        event["seq"] or 0,
        event["made_ps"],
    )
    return head + udp + own


def _checksum(head: bytes) -> int:
    """The checksum of an IPv4 header (RFC 791)."""
    total: int = sum(struct.unpack(">10H", head))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def _block(kind: int, body: bytes) -> bytes:
    length = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + length + body + length


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + _padded(value)


def _padded(content: bytes) -> bytes:
    """The content, to the next multiple of four bytes."""
    return content + bytes(-len(content) % 4)
