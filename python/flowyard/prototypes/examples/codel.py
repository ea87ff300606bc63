"""CoDel (RFC 8289, section 5) in Python. Results are those of "codel" with the same settings.

Once packets have waited for longer than `target` throughout an `interval`, departing ones are dropped, closer and
closer by the square root of their number. Names are those of the RFC's pseudocode.
"""

from math import sqrt

from flowyard.prototypes import Queue

US = 1_000_000  # picoseconds


class CoDel(Queue):
    """Drops by how long packets have waited, on departure."""

    def __init__(self, target_us=5_000, interval_us=100_000, limit=1000, memory=16):
        self.target, self.interval = round(target_us * US), round(interval_us * US)
        self.limit, self.memory = limit, memory
        self.dropping = False
        self.first_above = None
        self.drop_next = 0
        self.count = self.last_count = 0

    def enqueue(self, port, packet):
        if port.waiting >= self.limit:
            port.drop(packet)

    def do_dequeue(self, port):
        """The next packet, and whether it may be dropped (5.6)."""
        packet = port.pop()
        if (
            packet is None
            or port.now_ps - packet.arrived_ps < self.target
            or port.waiting_bytes <= port.full_packet
        ):
            self.first_above = None
        elif self.first_above is None:
            self.first_above = port.now_ps + self.interval
        else:
            return packet, port.now_ps >= self.first_above
        return packet, False

    def control_law(self, time):
        return time + int(self.interval / sqrt(self.count) + 0.5)

    def dequeue(self, port):
        packet, may_drop = self.do_dequeue(port)
        if packet is None:
            self.dropping = False
        elif self.dropping:
            self.dropping = may_drop
            while self.dropping and port.now_ps >= self.drop_next:
                self.count += 1
                port.drop(packet)
                packet, self.dropping = self.do_dequeue(port)
                if self.dropping:
                    self.drop_next = self.control_law(self.drop_next)
        elif may_drop:
            port.drop(packet)
            packet, _ = self.do_dequeue(port)
            self.dropping = True
            delta = self.count - self.last_count
            recent = port.now_ps - self.drop_next < self.memory * self.interval
            self.count = delta if delta > 1 and recent else 1
            self.last_count = self.count
            self.drop_next = self.control_law(port.now_ps)
        return packet
