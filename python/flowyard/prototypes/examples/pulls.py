"""A receiver-driven transport after NDP (Handley et al., SIGCOMM 2017, section 3), without its details.

A sender pushes a first window at line rate. A full port cuts payloads off, so that headers arrive when data does not.
The receiver answers each packet, and requests another one for it by a pull. The pulls of all flows of a host leave at
the rate at which full packets fit its link.
"""

from collections import deque
from heapq import heappop, heappush

from flowyard.prototypes import Transport

ACK, NACK, PULL = range(3)


class Pulls(Transport):
    """Pulls of all flows at a host, in the order in which packets arrive."""

    needs_trimming = True

    def __init__(self, window=12, timeout_us=1000):
        self.window, self.timeout = window, timeout_us * 1_000_000
        self.waiting = deque()  # flows to pull from
        self.pacing = False  # whether a pull has just left

    def start(self, flow):
        flow.credit = self.window
        flow.missing = 0  # the first packet that the receiver lacks
        flow.nacked = []  # a heap: the lowest number goes first
        self.go_on(flow)

    def go_on(self, flow):
        flow.set_timer(self.timeout)
        flow.ready()

    def next_packet(self, flow):
        if not flow.credit or (not flow.nacked and flow.next == flow.packets):
            return None
        flow.credit -= 1
        return flow.data(heappop(flow.nacked) if flow.nacked else flow.next)

    def at_receiver(self, flow, packet):
        if not packet.trimmed:
            flow.deliver(packet)
        flow.send(NACK if packet.trimmed else ACK, number=packet.number, seq=flow.next)
        if not flow.complete:
            self.waiting.append(flow)
        if not self.pacing:
            self.on_host_timer(flow.host)

    def on_host_timer(self, host):
        self.pacing = False
        while self.waiting and not self.pacing:
            flow = self.waiting.popleft()
            if not flow.complete:
                flow.send(PULL)
                full_packet = (flow.payload + flow.header_bytes) * 8
                host.set_timer(full_packet * 10**12 // flow.rate_bps)
                self.pacing = True

    def at_sender(self, flow, answer):
        if answer.kind == PULL:
            flow.credit += 1
        elif answer.kind == NACK:
            heappush(flow.nacked, answer.number)
        else:
            flow.missing = max(flow.missing, answer.seq)
        if flow.missing == flow.packets:
            flow.finish()
        else:
            self.go_on(flow)

    def on_timer(self, flow, kind):
        flow.count_timeout()
        flow.credit = max(flow.credit, 1)
        heappush(flow.nacked, flow.missing)
        self.go_on(flow)
