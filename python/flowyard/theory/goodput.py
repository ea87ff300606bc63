"""Goodput of a barrier-synchronised read with and without Incast: equations 1.2 to 1.8, section 1.4.

S servers send one client 100 blocks each. Goodput is in bytes per second, times in seconds, but for the wait I, which
equation 1.5 has in milliseconds: only that makes equation 1.6 of 1.2 to 1.5. The fits are to measurements of Chen et
al., "Understanding TCP Incast throughput collapse in datacenter networks", WREN 2009. They mean nothing where timeouts
come out negative, at S = 3 and from S = 47 on.
"""

from fractions import Fraction

BLOCK_BYTES = 262_144
# D: what one server sends in all.
SENT_BYTES = 100 * BLOCK_BYTES
BYTES_PER_S = 125_000_000
SEGMENT_BYTES = 1500
RTO_S = Fraction(1, 5)
RTT_S = Fraction(2, 1000)
# The fits change behind this many servers.
FEW = 8
Fit = tuple[Fraction, Fraction, Fraction]


def _fit(squared: str, once: str, constant: str) -> Fit:
    return Fraction(squared), Fraction(once), Fraction(constant)


# Up to FEW servers, and beyond.
TIMEOUTS = (_fit("0.679", "-4.04", "5.5"), _fit("-0.0859", "4.24", "-11.1"))
WAIT_MS = (_fit("0.0988", "-0.485", "0.786"), _fit("-0.00433", "0.237", "1.63"))
PRINTED_SECONDS = (_fit("1.86", "-9.07", "14.84"), _fit("-0.0929", "5.20", "26.3"))
# The numerator of equation 1.8: its factor and its polynomial.
PRINTED_GAIN = (
    (7_812_500, _fit("1.86", "-9.28", "14.6")),
    (-78_125, _fit("9.29", "-499", "-2607")),
)


def timeouts(servers: int) -> Fraction:
    """R, equation 1.4: timeouts during the transfer."""
    return _value(TIMEOUTS[servers > FEW], servers)


def wait_ms(servers: int) -> Fraction:
    """I, equation 1.5: milliseconds between packets."""
    return _value(WAIT_MS[servers > FEW], servers)


def seconds_without_timeouts(servers: int) -> Fraction:
    """L, equation 1.3."""
    packets = Fraction(SENT_BYTES, SEGMENT_BYTES)
    return Fraction(SENT_BYTES * servers, BYTES_PER_S) + packets * wait_ms(servers) / 1000


def with_incast(servers: int) -> Fraction:
    """G_IS by equations 1.2 to 1.5, bytes/s."""
    return servers * SENT_BYTES / (seconds_without_timeouts(servers) + timeouts(servers) * RTO_S)


def with_incast_printed(servers: int) -> Fraction:
    """G_IS by equation 1.6 with its printed coefficients, bytes/s."""
    return servers * SENT_BYTES / _value(PRINTED_SECONDS[servers > FEW], servers)


def seconds_fit(servers: int) -> Fit:
    """The denominator of equation 1.6, in seconds: coefficients of S^2, S and 1 as equations 1.2 to 1.5 make them."""
    packets = Fraction(SENT_BYTES, SEGMENT_BYTES)
    a, b, c = (
        r * RTO_S + packets * i / 1000
        for r, i in zip(TIMEOUTS[servers > FEW], WAIT_MS[servers > FEW], strict=True)
    )
    return a, b + Fraction(SENT_BYTES, BYTES_PER_S), c


def without_incast(servers: int) -> Fraction:
    """G_IF, equation 1.7, bytes/s."""
    return servers * BLOCK_BYTES / (RTT_S + Fraction(BLOCK_BYTES * servers, BYTES_PER_S))


def gain(servers: int) -> Fraction:
    """Gain of avoiding Incast, (G_IF - G_IS) / G_IS, by equations 1.2 to 1.5 and 1.7: 1 is 100 %."""
    return without_incast(servers) / with_incast(servers) - 1


def gain_by_1_6(servers: int) -> Fraction:
    """The same by equations 1.6 and 1.7."""
    return without_incast(servers) / with_incast_printed(servers) - 1


def gain_by_1_8(servers: int) -> Fraction:
    """The same by the right side of equation 1.8, which is in percent: divided by 100 here."""
    factor, fit = PRINTED_GAIN[servers > FEW]
    return factor * _value(fit, servers) / (16_384 * servers + 15_625) / 100


def _value(fit: Fit, servers: int) -> Fraction:
    squared, once, constant = fit
    return squared * servers**2 + once * servers + constant
