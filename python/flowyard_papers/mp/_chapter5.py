"""Chapter 5 of the multipath thesis, simulated: its network, routing schemes, traffic patterns, and what a run gives.

Table 5.3: FT(4,3) at 1 Gbps, 500 us per link, TCP Reno with windows of 65,535 B, drop-tail ports at switches; hosts
never drop. Sections 5.3.1, 5.3.4.
"""

import random
from collections.abc import Mapping, Sequence
from typing import Any

from flowyard.papers.figure import Needs
from flowyard.sweeps import Axis

NR, ECMP, DNVR, MDNVR, DUAL = "NR", "NR+ECMP", "DNVR", "MDNVR", "Dual"
SCHEMES = (NR, ECMP, DNVR, MDNVR, DUAL)
BALANCERS: Mapping[str, str] = {NR: "single", ECMP: "per-packet", DNVR: "nix", MDNVR: "nix", DUAL: "dual"}
HOSTS, LINK_BPS = 16, 1_000_000_000
DELAY = "500us"
SEGMENT_BYTES, TRANSFER_BYTES, FRAGMENT_BYTES, BLOCKS = 1452, 2_000_000, 262_144, 10
STRIDE_4, RANDOM, STRIDE_2 = "Stride(4)", "Random", "Stride(2)"
SENDERS: Mapping[str, int] = {f"{number} Senders": number for number in (3, 5, 7)}
# All six by the names of their sweeps.
PATTERNS = {"stride-4": STRIDE_4, "random": RANDOM, "stride-2": STRIDE_2} | {
    f"senders-{number}": name for name, number in SENDERS.items()
}
# Section 5.3.4.
REPLICAS = 20
ENTRY = "data"
# Columns of tables: of whole transfers, and of their fragments where a transfer has several blocks.
FCT, RECEIVED, THROUGHPUT, LOSS = "fct_ms", "received_ms", "throughput_mbs", "loss_percent"
FRAGMENT_FCT, FRAGMENT_THROUGHPUT = "fragment_fct_ms", "fragment_throughput_mbs"
SMALL, LARGE = tuple(range(10, 91, 10)), tuple(range(20, 201, 20))

TCP: Mapping[str, Any] = {
    "congestion": "reno",
    "mss": f"{SEGMENT_BYTES}B",
    "header_bytes": "40B",
    "link_bytes": "2B",
    "receive_window": "65535B",
    "initial_window": 1,
    "initial_ssthresh": "65535B",
    "delayed_ack": 2,
    "delayed_ack_timeout": "200ms",
    "ack_first_segment": True,
    "rto_min": "200ms",
    "growth": "whole-acks",
}
# How windows grow in TCP as RFC 5681 has it, a reading of some claims.
RFC_5681 = {**TCP, "growth": "acks"}
# Which of several packets that reach a port at one instant comes first, `run.ties` of every run of this chapter: that
# which was sent first, as in ns-3. Its equal links without jitter make such instants the rule. Beside it by link.
TIES = "arrival"
BESIDE: Mapping[str, str] = {"ties by link": "link"}
# By the senders' distance below their receiver: those of other pods first, then every second host.
DISTANCES = (4, 8, 12, 2, 6, 10, 14)
EVERY_SECOND = (2, 4, 6, 8, 10, 12, 14)


def parallel(paths: int = 2, tcp: Mapping[str, Any] = TCP) -> dict[str, Any]:
    """Front-Back over so many connections."""
    return {"parallel-tcp": {"paths": {"count": paths}, "partition": "front-back", "tcp": dict(tcp)}}


def schemes(
    names: Sequence[str] = SCHEMES, tcp: Mapping[str, Any] = TCP, more: Mapping[str, Any] | None = None
) -> Axis:
    """Routing schemes with their transports.

    Args:
        names: Of `SCHEMES`.
        tcp: What each connection does.
        more: Further series: a transport and a balancer by name.
    """
    each = {name: (_transport(name, tcp), BALANCERS[name]) for name in names} | dict(more or {})
    return Axis(
        "scheme",
        {
            "transport": [transport for transport, _ in each.values()],
            "routing.balancer": [balancer for _, balancer in each.values()],
        },
        labels=list(each),
    )


def _transport(name: str, tcp: Mapping[str, Any]) -> dict[str, Any]:
    return parallel(2, tcp) if name in (MDNVR, DUAL) else {"tcp": dict(tcp)}


def scenario(traffic: Sequence[Mapping[str, Any]], delay: str = DELAY) -> dict[str, Any]:
    """The network with this traffic; scheme and buffer are axes."""
    return with_ties(
        {
            "topology": {"fat-tree": {"k": 4, "rate": f"{LINK_BPS}bps", "delay": delay}},
            "queue": {"drop-tail": {"limit": {"packets": 50}, "limit_counts_wire": False}},
            "traffic": list(traffic),
        }
    )


def with_ties(base: Mapping[str, Any], ties: str = TIES) -> dict[str, Any]:
    """The scenario with this order of packets that arrive at one instant."""
    return {**base, "run": {**base.get("run", {}), "ties": ties}}


def buffers(sizes: Sequence[int]) -> Axis:
    """Buffer of each port of a switch in packets, besides the one on the wire."""
    return Axis("buffer", {"queue.drop-tail.limit.packets": list(sizes)}, labels=list(sizes))


def transfers(matrix: Any, size_bytes: int = TRANSFER_BYTES, jitter: str = "0s") -> list[dict[str, Any]]:
    """A transfer for each pair of the matrix, all at once."""
    return [
        {
            "name": ENTRY,
            "arrivals": {"at-once": {"jitter": jitter}},
            "matrix": matrix,
            "sizes": {"fixed": f"{size_bytes}B"},
        }
    ]


MATRICES: Mapping[str, Any] = {
    STRIDE_4: {"stride": {"by": [4]}},
    RANDOM: "uniform",
    STRIDE_2: {"stride": {"by": [2]}},
}


def traffic(pattern: str) -> list[dict[str, Any]]:
    """Defaults of the six patterns."""
    return senders(SENDERS[pattern]) if pattern in SENDERS else transfers(MATRICES[pattern])


def sizes(pattern: str) -> tuple[int, ...]:
    """The buffers that the thesis shows it with."""
    return LARGE if pattern in SENDERS else SMALL


def senders(
    number: int,
    distances: Sequence[int] = DISTANCES,
    connection: str = "new",
    barrier: str = "common",
) -> list[dict[str, Any]]:
    """Each host reads blocks from so many others, the next when all hosts, or this one, have all of one."""
    pairs = [
        [(receiver + away) % HOSTS, receiver] for receiver in range(HOSTS) for away in distances[:number]
    ]
    return [
        {
            "name": ENTRY,
            "connection": connection,
            "arrivals": {"blocks": {"blocks": BLOCKS, "jitter": "0s", "barrier": barrier}},
            "matrix": {"pairs": pairs},
            "sizes": {"fixed": f"{FRAGMENT_BYTES}B"},
        }
    ]


def drawn_senders(number: int, draws: int) -> Axis:
    """In place of the pairs of `senders`: so many distinct senders for each host, by lot, as an axis of draws."""
    lots = []
    for draw in range(draws):
        source = random.Random(f"{number} senders, draw {draw}")
        others = {host: [each for each in range(HOSTS) if each != host] for host in range(HOSTS)}
        lots.append([[src, host] for host in range(HOSTS) for src in source.sample(others[host], number)])
    return Axis("draw", {f"traffic.{ENTRY}.matrix.pairs": lots}, labels=range(draws))


NEEDS = Needs(REPLICAS, by=("pattern", "scheme", "buffer"))
NEEDS_SETUPS = Needs(REPLICAS, by=("setup", "pattern", "scheme", "buffer"))
ASSUMED = (
    "500 us is the delay of a link, as the sample outputs have it (MP-X1). The buffer of a port does not "
    "count the packet on the wire; hosts have one cable and never drop.",
    "Initial window 1, ssthresh 65,535 B, acknowledgements of every second segment or after 200 ms, of the "
    "first and the last segment at once, headers of 42 B; what the thesis does not say of TCP is the default.",
    "MDNVR and Dual have two connections a transfer, each with a window of 65,535 B, as table 5.5 has it "
    "(MP-X2); DNVR and MDNVR draw shortest paths (MP-X3), and answers take the receiver's own. ECMP is by "
    "packet (MP-X4).",
    "In slow start each acknowledgement opens the window by a whole segment, as in ns-3.14. By RFC 5681 that of a "
    "short segment, which Front-Back sends first from the back, opens it by less, and the next one waits 200 ms "
    "for its delayed acknowledgement; the even halves of table 5.5 exclude such a wait.",
    "Of packets that reach a port at one instant the one sent first goes first, as in ns-3, in which the thesis ran: "
    "all start at once over equal links, so that losses depend on it. A reading has them by link.",
    "A transfer takes from the SYN to the last acknowledgement at its sender, as section 5.3.4 defines it; in "
    "the tables received_ms ends with the last byte at the receiver, as the sample outputs do (MP-X16).",
)
