"""Drop-tail in Python. Results are those of "drop-tail" with `limit = { packets = 100 }`."""

from flowyard.prototypes import Queue


class DropTail(Queue):
    """First in, first out; what does not fit is dropped. The packet on the wire counts."""

    def __init__(self, packets=100):
        self.packets = packets

    def enqueue(self, port, packet):
        if port.packets >= self.packets:
            port.drop(packet)
