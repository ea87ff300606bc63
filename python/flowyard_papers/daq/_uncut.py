"""An incast under DAQ whose windows are never cut, packet by packet: the best that its queues for short flows can do.

The paper has no number for Q, above which windows shrink. Without cuts none is needed: a window is rate x RTT / 4 at
first, 9,375 B, and grows by a packet a round trip; a packet is urgent or not by the time left when it is sent
(algorithm 1); Q1.1 goes before Q1.2, and either in the order of arrivals. This shares no code with the simulator.
"""

import heapq
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count

import numpy as np

from flowyard_papers.daq._models import LINK_BPS, RATIO, RTT_S, draw_rounds

PAYLOAD, HEADER, CONTROL = 1460, 40, 40
FULL = PAYLOAD + HEADER
BYTE_S = 8 / LINK_BPS
WINDOW = RTT_S / 4 / BYTE_S
# A full packet and its acknowledgement take RTT_S there and back, over two links each way.
CABLE_S = (RTT_S - 2 * (FULL + CONTROL) * BYTE_S) / 4
BACK_S = 2 * (CABLE_S + CONTROL * BYTE_S)
# Answers of a round start within it.
JITTER_S = 50e-6


@dataclass
class _Flow:
    """A worker and its answer: when it is due, payload to be sent, bytes of packets; times in seconds."""

    due_at: float
    left: int
    window: float = WINDOW
    under_way: int = 0
    # Bytes of the round, where a window goes as a whole.
    of_round: int = 0
    grows_at: float = 0.0
    link_free_at: float = 0.0
    end: float = 0.0


@dataclass(frozen=True)
class _Packet:
    flow: _Flow
    size: int
    sent_at: float


class _Round:
    """The events of one round of answers."""

    def __init__(self, by_rounds: bool) -> None:
        self.by_rounds = by_rounds
        self.queues: tuple[deque[_Packet], deque[_Packet]] = deque(), deque()
        self.busy = False
        self._number = count()
        self._events: list[tuple[float, int, str, _Packet]] = []

    def at(self, time: float, what: str, packet: _Packet) -> None:
        heapq.heappush(self._events, (time, next(self._number), what, packet))

    def run(self) -> None:
        while self._events:
            now, _, what, packet = heapq.heappop(self._events)
            if what == "answer":
                self._answered(packet, now)
            elif what == "arrival":
                left = packet.flow.due_at - packet.sent_at
                self.queues[0 if 0 <= left <= RATIO * RTT_S else 1].append(packet)
                self._serve(now)
            else:
                self.busy = False
                packet.flow.end = now + CABLE_S
                self.at(packet.flow.end + BACK_S, "answer", packet)
                self._serve(now)

    def _serve(self, now: float) -> None:
        queue = next(filter(None, self.queues), None)
        if queue and not self.busy:
            packet = queue.popleft()
            self.busy = True
            self.at(now + packet.size * BYTE_S, "departure", packet)

    def _answered(self, packet: _Packet, now: float) -> None:
        """A SYN/ACK, of no size, or the acknowledgement of a packet: a round trip is over, and the flow sends."""
        flow = packet.flow
        flow.under_way -= packet.size
        whole = not self.by_rounds or not flow.under_way
        if now >= flow.grows_at and whole:
            flow.window += FULL if packet.size else 0
            flow.grows_at = now + (now - packet.sent_at)
        if not flow.under_way:
            flow.of_round = 0
        while flow.left:
            payload = min(PAYLOAD, flow.left)
            size = payload + HEADER
            used = flow.of_round if self.by_rounds else flow.under_way
            if used and used + size > flow.window:
                return
            flow.left -= payload
            flow.under_way += size
            flow.of_round += size
            begins = max(now, flow.link_free_at)
            flow.link_free_at = begins + size * BYTE_S
            self.at(flow.link_free_at + CABLE_S, "arrival", _Packet(flow, size, begins))


def ends(
    starts: Sequence[float], sizes: Sequence[int], due: Sequence[float], *, by_rounds: bool = False
) -> list[float]:
    """When each answer is there.

    Args:
        starts: Of each, in seconds.
        sizes: Bytes of payload.
        due: The time that each has.
        by_rounds: Whether a window goes as a whole, and the next one when all of it is acknowledged.
    """
    flows = [_Flow(start + time, size) for start, size, time in zip(starts, sizes, due, strict=True)]
    own = _Round(by_rounds)
    for flow, start in zip(flows, starts, strict=True):
        own.at(start + 4 * (CABLE_S + CONTROL * BYTE_S), "answer", _Packet(flow, 0, start))
    own.run()
    return [flow.end for flow in flows]


@cache
def share(senders: int, mean_kb: int, reading: str, *, by_rounds: bool = False, rounds: int = 200) -> float:
    """In time, in percent, over rounds of answers with sizes and deadlines drawn anew."""
    chance, service, due = draw_rounds(senders, mean_kb, reading, rounds)
    starts = chance.uniform(0, JITTER_S, service.shape)
    sizes = (service / BYTE_S).astype(int)
    met = [
        np.array(ends(*(each.tolist() for each in row), by_rounds=by_rounds)) <= row[0] + row[2]
        for row in zip(starts, sizes, due, strict=True)
    ]
    return 100 * float(np.mean(met))
