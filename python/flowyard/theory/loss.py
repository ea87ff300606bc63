"""Loss rates at a bottleneck, buffers, and the throughput of one TCP: sections 3.1 and 3.2.

Packets, packets per second and seconds throughout, so that C T_p + B is in packets. Square roots are floating point.
"""

from fractions import Fraction
from math import inf, sqrt

Number = Fraction | int


def loss_rate(flows: Number, rate_pps: Number, propagation_s: Number, buffer_packets: Number) -> Fraction:
    """The p of equation 3.1: (0.87 N)^2 / (C T_p + B)^2.

    From Dhamdhere and Dovrolis, "Open issues in router buffer sizing", CCR 2006.
    For long flows in congestion avoidance; where p is above about 0.1 it says nothing.

    Args:
        flows: N, at the bottleneck.
        rate_pps: C, packets/s.
        propagation_s: T_p, of a round trip.
        buffer_packets: B.
    """
    return (Fraction(87, 100) * flows / (Fraction(rate_pps) * propagation_s + buffer_packets)) ** 2


def stanford_buffer(rtt_s: float, rate_pps: float, flows: float) -> float:
    """RTT C / sqrt(n), packets: the buffer that n long flows need if they are not synchronised.

    From Appenzeller, Keslassy and McKeown, "Sizing router buffers", SIGCOMM 2004.
    """
    return rtt_s * rate_pps / sqrt(flows)


def padhye(
    loss: float, rtt_s: float, rto_s: float, *, window: float = inf, packets_per_ack: int = 2
) -> float:
    """Packets per second that one long TCP Reno flow sends.

    The approximation of Padhye, Firoiu, Towsley and Kurose, "Modeling TCP throughput: a simple model and its empirical
    validation", SIGCOMM 1998:

        min(W_m / RTT, 1 / (RTT sqrt(2 b p / 3) + T_0 min(1, 3 sqrt(3 b p / 8)) p (1 + 32 p^2)))

    Args:
        loss: p, the share of losses, above 0 and up to 1; with 0 the window alone limits.
        rtt_s: Mean round-trip time.
        rto_s: T_0, the first timeout.
        window: W_m, the largest window, packets.
        packets_per_ack: b; 2 with delayed acknowledgements.

    Raises:
        ValueError: p is not a share, or nothing limits.
    """
    if not 0 <= loss <= 1 or (loss == 0 and window == inf):
        raise ValueError(f"loss: {loss} is not above 0 and up to 1; 0 needs a largest window")
    if loss == 0:
        return window / rtt_s
    b = packets_per_ack
    triple = rtt_s * sqrt(2 * b * loss / 3)
    timeout = rto_s * min(1.0, 3 * sqrt(3 * b * loss / 8)) * loss * (1 + 32 * loss**2)
    return min(window / rtt_s, 1 / (triple + timeout))


def square_root_law(loss: float, rtt_s: float, *, packets_per_ack: int = 2) -> float:
    """Packets per second without timeouts: sqrt(3 / (2 b p)) / RTT, what `padhye` comes to for small p."""
    return sqrt(3 / (2 * packets_per_ack * loss)) / rtt_s
