"""Datagrams in Python: open loop, no acknowledgements. Results are those of "datagram", at line rate or at a rate."""

from flowyard.prototypes import Transport


class Datagrams(Transport):
    """Packets leave back to back, or evenly spaced; lost ones stay lost."""

    payload = 1472
    header_bytes = 28
    retransmits = False

    def __init__(self, rate_bps=None):
        self.rate = rate_bps

    def next_packet(self, flow):
        if self.rate and flow.now_ps < getattr(flow, "due", 0):
            return None
        data = flow.data(flow.next)
        if data.number == flow.packets - 1:
            flow.finish(acknowledged=False)
        elif self.rate:
            gap = (data.payload + self.header_bytes) * 8 * 10**12 // self.rate
            flow.due = flow.now_ps + gap
            flow.set_timer(gap)
        return data

    def on_timer(self, flow, kind):
        flow.ready()

    def at_receiver(self, flow, packet):
        flow.deliver(packet)
