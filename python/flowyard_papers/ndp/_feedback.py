"""A port of NDP with several queues for data: packets sink from queue to queue with the bytes that their flow has sent.

NDP's switch is as in section 4: a queue for headers and control packets, 10 of which go for one packet of data, and
data that finds its queue full is trimmed. Only the data queue is several, in strict priority, as commodity switches
have them: a flow begins in the first one, knows nothing of its size, and is moved down at each threshold. Without
thresholds it is the plain switch, with which it is compared.
"""

from collections import deque
from collections.abc import Sequence

from flowyard.prototypes import Packet, Port, Queue

HEADERS_PER_DATA, LIMIT_PACKETS = 10, 8


def feedback(thresholds: Sequence[int]) -> type[Queue]:
    """The class of the ports of one run, which share what each flow has sent.

    Args:
        thresholds: Bytes after which a flow's packets belong to the next queue, in rising order.
    """
    sent: dict[int, int] = {}

    class Feedback(Queue):
        """One port: headers, and a queue for each level."""

        trims = True

        def __init__(self) -> None:
            self.headers: deque[Packet] = deque()
            self.levels: list[deque[Packet]] = [deque() for _ in range(len(thresholds) + 1)]
            self.turn = 0

        def enqueue(self, port: Port, packet: Packet) -> None:
            """Data waits in the queue of its flow, or is trimmed; a header that finds no room is lost."""
            if packet.control or not packet.payload:
                return self._wait_as_header(port, packet)
            before = sent.get(packet.flow, 0)
            sent[packet.flow] = before + packet.payload
            own = self.levels[sum(before >= threshold for threshold in thresholds)]
            if len(own) < LIMIT_PACKETS:
                return own.append(packet)
            port.trim(packet)
            return self._wait_as_header(port, packet)

        def _wait_as_header(self, port: Port, packet: Packet) -> None:
            if sum(one.size for one in self.headers) + packet.size > LIMIT_PACKETS * port.full_packet:
                return port.drop(packet)
            return self.headers.append(packet)

        def dequeue(self, port: Port) -> Packet | None:  # noqa: ARG002
            """Headers ten times in turn, then data of the first queue that has some."""
            data = next((level for level in self.levels if level), None)
            if self.headers and (data is None or self.turn < HEADERS_PER_DATA):
                self.turn += 1
                return self.headers.popleft()
            self.turn = 0
            return data.popleft() if data else None

    return Feedback
