"""The cases of the comparison with a Linux kernel: a wire, a flavour of TCP, and figures of what came of it.

A side, flowyard_side.py or kernel_side.py, takes a wire and a flavour and returns an Outcome; figures are computed from
that, the same for both. `kernel` has the medians of five runs on a quiet machine with Linux 6.18.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

# Samples of deliveries and windows.
EVERY_S = 0.02


@dataclass(frozen=True)
class Wire:
    """A bottleneck of 20 Mbps and its traffic: one flow, two of which one starts later, or rounds of an incast."""

    rtt_ms: int = 20
    # Packets that the port holds, and beyond which it marks; 0: never.
    limit: int = 1000
    mark: int = 0
    # Data packets that are lost, by number from 1.
    lost: tuple[int, ...] = ()
    size: int = 1_000_000
    # A flow that does not end is cut off then.
    seconds: int = 0
    # When the second of two flows starts.
    later_s: int = 0
    senders: int = 1
    rounds: int = 1
    rto_min_ms: int = 200


@dataclass
class Outcome:
    """Results of one run."""

    # From SYN to the last byte of the first flow.
    fct_ms: float = 0.0
    # By flow: bytes delivered in each span of EVERY_S, and the sender's window in segments at its end.
    delivered: list[list[float]] = field(default_factory=list)
    windows: list[float] = field(default_factory=list)
    timeouts: int = 0
    # Ends of rounds, from the start.
    rounds_s: list[float] = field(default_factory=list)


def fct(wire: Wire, outcome: Outcome) -> float:  # noqa: ARG001
    """Completion time in ms."""
    return outcome.fct_ms


def mbps(from_s: float, until_s: float) -> Callable[[Wire, Outcome], float]:
    """Goodput of the first flow in a span."""

    def figure(wire: Wire, outcome: Outcome) -> float:  # noqa: ARG001
        span = outcome.delivered[0][round(from_s / EVERY_S) : round(until_s / EVERY_S)]
        return sum(span) * 8e-6 / (until_s - from_s)

    return figure


def sawtooth(wire: Wire, outcome: Outcome) -> float:  # noqa: ARG001
    """Mean time between reductions of the window, from 10 s on."""
    window = outcome.windows[round(10 / EVERY_S) :]
    falls: list[int] = []
    # A reduction over a round trip is several samples, and recovery without SACK inflates the window meanwhile: the
    # next fall is looked for ten samples later, from the largest window since then.
    top = 0.0
    for at, after in enumerate(window):
        if falls and at - falls[-1] < 10:
            top = after
        elif after < 0.85 * top:
            falls.append(at)
            top = after
        else:
            top = max(top, after)
    return (falls[-1] - falls[0]) * EVERY_S / (len(falls) - 1) if len(falls) > 1 else 0.0


def share(wire: Wire, outcome: Outcome) -> float:
    """Share of the second flow, from 10 s after its start on."""
    first = round((wire.later_s + 10) / EVERY_S)
    sums = [sum(flow[first:]) for flow in outcome.delivered]
    return sums[1] / sum(sums)


def incast(wire: Wire, outcome: Outcome) -> float:
    """Goodput of all rounds in Mbps."""
    return wire.senders * wire.rounds * wire.size * 8e-6 / outcome.rounds_s[-1]


def timeouts(wire: Wire, outcome: Outcome) -> float:  # noqa: ARG001
    """Timeouts of all senders."""
    return outcome.timeouts


def first_round(wire: Wire, outcome: Outcome) -> float:  # noqa: ARG001
    """End of the first round in s."""
    return outcome.rounds_s[0]


@dataclass(frozen=True)
class Case:
    """One figure of a wire."""

    name: str
    # "reno-": SACK, timestamps and RACK-TLP off; "reno+", "cubic+": the kernel's defaults; "bbr": with BBR.
    flavour: str
    measure: str
    unit: str
    kernel: float
    # The largest relative difference that passes, fixed before anything was measured.
    within: float
    figure: Callable[[Wire, Outcome], float]
    wire: Wire


LONE, LONG, SHARES, INCAST, TIMEOUTS = 0.02, 0.03, 0.05, 0.08, 0.25
THIRD, FIFTIETH = Wire(lost=(3,)), Wire(lost=(50,))
TAIL = Wire(size=100_000, lost=(70,))
QUARTER, WHOLE = Wire(limit=8, seconds=60), Wire(limit=33, seconds=60)
START = Wire(limit=33, seconds=5)
FAR = Wire(rtt_ms=80, limit=133, seconds=60)
TWO = Wire(limit=33, seconds=45, later_s=5)
MARKS = Wire(mark=20, seconds=60)
ROUNDS = Wire(rtt_ms=2, limit=32, size=64_000, senders=8, rounds=20)
SOON = Wire(rtt_ms=2, limit=32, size=64_000, senders=8, rounds=20, rto_min_ms=5)
MARKED_ROUNDS = Wire(rtt_ms=2, limit=1000, mark=10, size=64_000, senders=8, rounds=20)
CASES = [
    Case("10 KB alone", "cubic+", "FCT", "ms", 34.3, LONE, fct, Wire(size=10_000)),
    Case("100 KB alone", "cubic+", "FCT", "ms", 94.6, LONE, fct, Wire(size=100_000)),
    Case("100 KB alone", "bbr", "FCT", "ms", 96.1, LONE, fct, Wire(size=100_000)),
    Case("10 MB alone", "cubic+", "FCT", "ms", 4164, LONE, fct, Wire(size=10_000_000)),
    Case("10 MB alone", "bbr", "FCT", "ms", 4203, LONE, fct, Wire(size=10_000_000)),
    Case("1 MB, 3rd packet lost", "reno-", "FCT", "ms", 732, LONE, fct, THIRD),
    Case("1 MB, 3rd packet lost", "cubic+", "FCT", "ms", 911, LONE, fct, THIRD),
    Case("1 MB, 3rd packet lost", "bbr", "FCT", "ms", 483.6, LONE, fct, THIRD),
    Case("1 MB, 50th packet lost", "reno+", "FCT", "ms", 482, LONE, fct, FIFTIETH),
    Case("1 MB, 50th packet lost", "cubic+", "FCT", "ms", 515, LONE, fct, FIFTIETH),
    Case("1 MB, 50th packet lost", "bbr", "FCT", "ms", 469.2, LONE, fct, FIFTIETH),
    Case("100 KB, last packet lost", "reno+", "FCT", "ms", 395, LONE, fct, TAIL),
    Case("60 s, 0.25 BDP", "reno-", "goodput", "Mbps", 16.35, LONG, mbps(10, 60), QUARTER),
    Case("60 s, 0.25 BDP", "reno-", "sawtooth", "s", 0.52, LONG, sawtooth, QUARTER),
    Case("60 s, 0.25 BDP", "cubic+", "goodput", "Mbps", 18.23, LONG, mbps(10, 60), QUARTER),
    Case("60 s, 0.25 BDP", "cubic+", "sawtooth", "s", 0.60, LONG, sawtooth, QUARTER),
    Case("60 s, 0.25 BDP", "bbr", "goodput", "Mbps", 18.64, LONG, mbps(10, 60), QUARTER),
    Case("60 s, 1 BDP", "reno-", "goodput", "Mbps", 19.39, LONG, mbps(10, 60), WHOLE),
    Case("60 s, 1 BDP", "reno-", "sawtooth", "s", 1.095, LONG, sawtooth, WHOLE),
    Case("60 s, 1 BDP", "cubic+", "goodput", "Mbps", 19.31, LONG, mbps(10, 60), WHOLE),
    Case("60 s, 1 BDP", "cubic+", "sawtooth", "s", 1.43, LONG, sawtooth, WHOLE),
    Case("60 s, 1 BDP", "bbr", "goodput", "Mbps", 18.95, LONG, mbps(10, 60), WHOLE),
    Case("1 BDP, first 5 s", "reno+", "goodput", "Mbps", 18.9, LONG, mbps(0, 5), START),
    Case("1 BDP, first 5 s", "cubic+", "goodput", "Mbps", 19.0, LONG, mbps(0, 5), START),
    Case("1 BDP, first 5 s", "bbr", "goodput", "Mbps", 19.07, LONG, mbps(0, 5), START),
    Case("RTT 80 ms, 1 BDP", "cubic+", "goodput", "Mbps", 19.31, LONG, mbps(10, 60), FAR),
    Case("two flows", "reno-", "later's share", "", 0.50, SHARES, share, TWO),
    Case("two flows", "cubic+", "later's share", "", 0.48, SHARES, share, TWO),
    Case("two flows", "bbr", "later's share", "", 0.506, SHARES, share, TWO),
    Case("ECN, K 20", "reno+", "goodput", "Mbps", 18.5, SHARES, mbps(10, 60), MARKS),
    Case("ECN, K 20", "cubic+", "goodput", "Mbps", 18.3, SHARES, mbps(10, 60), MARKS),
    Case("incast 8", "reno+", "goodput", "Mbps", 15.7, INCAST, incast, ROUNDS),
    Case("incast 8", "cubic+", "goodput", "Mbps", 16.4, INCAST, incast, ROUNDS),
    Case("incast 8", "reno+", "timeouts", "", 16, TIMEOUTS, timeouts, ROUNDS),
    Case("incast 8", "cubic+", "timeouts", "", 12, TIMEOUTS, timeouts, ROUNDS),
    Case("incast 8, minimum RTO 5 ms", "reno+", "goodput", "Mbps", 19.2, INCAST, incast, SOON),
    Case("incast 8, minimum RTO 5 ms", "cubic+", "goodput", "Mbps", 19.1, INCAST, incast, SOON),
    Case("incast 8, minimum RTO 5 ms", "reno+", "timeouts", "", 24, TIMEOUTS, timeouts, SOON),
    Case("incast 8, minimum RTO 5 ms", "cubic+", "timeouts", "", 30, TIMEOUTS, timeouts, SOON),
    Case("incast 8, ECN, K 10", "reno+", "goodput", "Mbps", 19.2, INCAST, incast, MARKED_ROUNDS),
    Case("incast 8, ECN, K 10", "reno+", "first round", "s", 0.22, INCAST, first_round, MARKED_ROUNDS),
]
