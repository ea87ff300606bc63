"""The paper's central scheduler (section 5): its parameters, and the scenario that they make.

Default values are in an image of figure 1b and not in the text, which gives 1 Gbps (the PULL spacing of 12 us), 8
packets of queue (section 4) and a goodput that stops growing at a window of 16 packets (figure 8a). What is assumed:

- A packet is 1500 B on the wire and carries 1500 B of a flow: sizes are whole packets (150 KB are 100 of them), and
  goodput counts them whole, so that headers of data have 0 B here. Trimmed packets and answers have 64 B.
- A cable's delay is 9.5 us: then the round trip of a full packet between pods and of its answer is 189 us, the time of
  16 packets. The published model has 1 us, which puts the knee of figure 8a at 8 packets.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from flowyard.papers import pinned_fields

RATE_BPS, PACKET_BYTES, CONTROL_BYTES = 1_000_000_000, 1500, 64
# Of a packet, and of an answer: a bit takes a nanosecond.
SLOT_NS, ANSWER_NS = 8 * PACKET_BYTES, 8 * CONTROL_BYTES
DELAY, WINDOW, QUEUE = "9.5us", 16, 8

SHORT, BACKGROUND = "short", "background"

# As the text draws it, an ACK or NACK and a PULL are two packets.
NDP: Mapping[str, Any] = {
    "ndp": {
        **pinned_fields.NDP,
        "initial_window": WINDOW,
        "header_bytes": "0B",
        "pull_ack": False,
        **pinned_fields.NDP_REPEATS,
    }
}
# Headers that find no room are counted, not sent back: the published model has nothing of that kind.
PORTS: Mapping[str, Any] = {"ndp": pinned_fields.NDP_PORT}
# With 40 B of headers the same 1500 B on the wire.
TCP: Mapping[str, Any] = {"tcp": {}}
TCP_PORTS: Mapping[str, Any] = {"drop-tail": {}}

ASSUMED = (
    "Links of 1 Gbps and 9.5 us; packets of 1500 B, all of which counts as goodput; headers and control packets of "
    "64 B; ACK and PULL are separate packets; a window of 16 packets unless it varies; a data queue of 8 packets and a "
    "header queue of as many bytes, served 1:10; on overflow the arriving packet or the last one of the queue is "
    "trimmed, at random. A header without room is lost, and its packet retransmitted after a timeout of at least 1 ms; "
    "a receiver pulls its connections in the order in which their packets arrived.",
)


def fat_tree(k: int, delay: str = DELAY) -> dict[str, Any]:
    """The paper's network of k pods."""
    return {"fat-tree": {"k": k, "rate": "1Gbps", "delay": delay}}


def base_rtt_ns(delay_ns: int = 9500) -> int:
    """Of a full packet to another pod, 6 links away, and of the answer to it."""
    return 6 * (SLOT_NS + ANSWER_NS + 2 * delay_ns)


@dataclass(frozen=True, kw_only=True)
class Scheduler:
    """The parameters of the central scheduler, the paper's name of each in brackets.

    Attributes:
        k: Pods (FatTreeSize).
        flows: Short flows, one connection each (numShortFlows): all there are, from an empty network on.
        size: Bytes of a short flow, or another distribution (flowSize).
        rate: Short flows per second in all, a Poisson process (arrivalRate).
        matrix: permutation, a new one whenever all servers have sent, or uniform, the random matrix
            (trafficMatrixType).
        long_share: Servers that carry background traffic and nothing else (percentLongFlowNodes).
        long_size: Bytes of a background flow, of which each of these servers sends one to another of them; without
            it they go on until the last short flow has ended (longFlowSize).
        window: Packets that a sender pushes at once (initialWindow).
        queue: Full packets in the data queue of a port (ndpSwitchQueueLength).
        delay: Of a cable.
        changes: More fields of the scenario, by its first level.
    """

    k: int
    flows: int
    size: int | Mapping[str, Any] | str
    rate: float = 2500
    matrix: str = "permutation"
    long_share: float = 0
    long_size: int | None = None
    window: int = WINDOW
    queue: int = QUEUE
    delay: str = DELAY
    changes: Mapping[str, Any] = field(default_factory=dict)

    def scenario(self) -> dict[str, Any]:
        """The scenario, in which each server is in one of two groups that send to themselves only."""
        size = {"fixed": f"{self.size}B"} if isinstance(self.size, int) else self.size
        short: dict[str, Any] = {
            "name": SHORT,
            "arrivals": {"poisson": {"rate": self.rate}},
            "matrix": self.matrix,
            "sizes": size,
            "flows": self.flows,
        }
        entries = [short]
        if self.long_share:
            short |= {"sources": {"not-in": BACKGROUND}, "among_sources": True}
            entries.append(
                {
                    "name": BACKGROUND,
                    "arrivals": "at-once",
                    "matrix": "permutation",
                    "sizes": {"fixed": f"{self.long_size}B"} if self.long_size else "endless",
                    "sources": {"share": self.long_share},
                    "among_sources": True,
                    "background": True,
                }
            )
        return {
            "topology": fat_tree(self.k, self.delay),
            "transport": {"ndp": NDP["ndp"] | {"initial_window": self.window}},
            "queue": {"ndp": {"data_limit": {"full-packets": self.queue}, **pinned_fields.NDP_PORT}},
            "traffic": entries,
            "run": {"measure": "all"},
            **self.changes,
        }
