"""DCTCP (Alizadeh et al., SIGCOMM 2010; RFC 8257) in Python. Results are those of "dctcp" with its defaults.

Once a window of data the share of marked bytes, M, moves an estimate: alpha = (1 - g) alpha + g M. At the first echo in
a window the window becomes cwnd (1 - alpha / 2). Growth and losses are NewReno's: the verbs that are not written here.
"""

from flowyard.prototypes import Answer, CongestionControl


class Dctcp(CongestionControl):
    """Marks shrink the window in proportion to the share of bytes that are marked."""

    echo = "exact"
    proportional_reduction = True

    def __init__(self, g=1 / 16, alpha=1.0):
        self.g = g
        self.alpha = alpha
        self.acked = self.marked = 0
        self.window_end = 0

    def on_echo(self, ack):
        self.acked += ack.acked
        if ack.marked:
            self.marked += ack.acked
        if ack.una > self.window_end:
            self.alpha = (1 - self.g) * self.alpha + self.g * (self.marked / self.acked)
            self.acked = self.marked = 0
            self.window_end = ack.next
        return Answer(grow=not ack.marked, reduce=ack.marked)

    def on_mark(self, window, mark):
        left = max(int(window.cwnd * (1 - self.alpha / 2)), 2 * window.mss)
        window.cwnd = window.ssthresh = min(left, window.cwnd)
