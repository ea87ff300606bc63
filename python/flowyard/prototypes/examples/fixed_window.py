"""A fixed window in Python: each packet is acknowledged individually, and retransmitted after a timeout."""

from flowyard.prototypes import Transport

US = 1_000_000  # picoseconds


class FixedWindow(Transport):
    """At most `window` packets in flight; a window of 1 is stop-and-wait."""

    def __init__(self, window=16, timeout_us=1000):
        self.window, self.timeout = window, timeout_us * US

    def start(self, flow):
        flow.tries = {}  # by number, of packets that are not acknowledged
        flow.due = {}  # by number, of packets in flight
        flow.lost = []  # numbers, to be retransmitted
        flow.ready()

    def next_packet(self, flow):
        if len(flow.due) >= self.window:
            return None
        if flow.lost:
            number = flow.lost.pop(0)
        elif flow.next < flow.packets:
            number = flow.next
        else:
            return None
        tries = flow.tries.get(number, 0)
        flow.tries[number] = tries + 1
        flow.due[number] = flow.now_ps + (self.timeout << min(tries, 10))
        self.restart_timer(flow)
        return flow.data(number)

    def at_receiver(self, flow, packet):
        flow.deliver(packet)
        flow.send(number=packet.number)

    def at_sender(self, flow, ack):
        if flow.tries.pop(ack.number, None) is None:
            return
        if flow.due.pop(ack.number, None) is None:
            flow.lost.remove(ack.number)
        if not flow.tries and flow.complete:
            flow.finish()
        else:
            self.restart_timer(flow)
            flow.ready()

    def on_timer(self, flow, kind):
        flow.count_timeout()
        overdue = [number for number, due in flow.due.items() if due <= flow.now_ps]
        for number in overdue:
            del flow.due[number]
        flow.lost += overdue
        self.restart_timer(flow)
        flow.ready()

    def restart_timer(self, flow):
        if flow.due:
            flow.set_timer(min(flow.due.values()) - flow.now_ps)
        else:
            flow.clear_timer()
