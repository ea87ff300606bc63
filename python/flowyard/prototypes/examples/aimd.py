"""Reno's window (RFC 5681) in Python: additive increase, multiplicative decrease. Results are those of "reno"."""

from flowyard.prototypes import CongestionControl


class Aimd(CongestionControl):
    """A segment more each round trip; half of what is in flight after a loss."""

    distrusts_duplicates = False

    def on_ack(self, window, ack):
        if not ack.may_grow:
            return
        if window.cwnd < window.ssthresh:
            window.cwnd += min(ack.acked, window.mss)
        else:
            window.cwnd += max(window.mss**2 // window.cwnd, 1)

    def on_loss(self, window, loss):
        window.ssthresh = max(window.flight // 2, 2 * window.mss)
        window.cwnd = window.ssthresh + loss.dupacks * window.mss

    def on_timeout(self, window, timeout):
        if timeout.first:
            window.ssthresh = max(window.flight // 2, 2 * window.mss)
        window.cwnd = window.mss

    def on_duplicate(self, window, ack):
        window.cwnd += window.mss

    def on_recovery_ack(self, window, ack, full, first_partial):
        window.cwnd = window.ssthresh
        return "leave"
