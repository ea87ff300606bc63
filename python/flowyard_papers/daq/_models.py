"""Fluid models of the rack: an incast under four simple rules, and how the rate of RCP moves.

Flows of an incast start together and share one link. Each pays 1.5 RTT for its set-up and the way (SYN, SYN/ACK, data)
and then the time that the rule gives it. No packets, no headers.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Flags = NDArray[np.bool_]

LINK_BPS = 1e9
RTT_S = 300e-6
SETUP_S = 1.5 * RTT_S
# The threshold of the urgent queue, in RTTs.
RATIO = 30

# How deadlines may be read (DAQ-X1 to X3), as a scenario has them. Section III with a floor, without, and III-B.1.
FLOORED, PLAIN, UNIFORM = "exponential, at least 3 ms", "exponential", "20 to 40 ms"
DEADLINES: Mapping[str, dict[str, Any]] = {
    FLOORED: {"exponential": {"mean": "20ms", "min": "3ms"}},
    PLAIN: {"exponential": {"mean": "20ms"}},
    UNIFORM: {"uniform": {"min": "20ms", "max": "40ms"}},
}

SIZE_MIN_BYTES = 2000


def size_max_bytes(mean_bytes: int) -> int:
    """The other end of a uniform distribution that begins with 2 KB."""
    return 2 * mean_bytes - SIZE_MIN_BYTES


def draw(
    chance: np.random.Generator, flows: tuple[int, ...], mean_bytes: int, reading: str
) -> tuple[Values, Values]:
    """Times at line rate and deadlines, both in seconds."""
    sizes = chance.uniform(SIZE_MIN_BYTES, size_max_bytes(mean_bytes), flows)
    due = chance.uniform(20e-3, 40e-3, flows) if reading == UNIFORM else chance.exponential(20e-3, flows)
    return 8 * sizes / LINK_BPS, np.maximum(due, 3e-3) if reading == FLOORED else due


def draw_rounds(
    senders: int, mean_kb: int, reading: str, rounds: int
) -> tuple[np.random.Generator, Values, Values]:
    """Rounds of answers, the same at each call: times at line rate and deadlines, and the generator for other draws."""
    chance = np.random.default_rng([2014, senders, mean_kb])
    return chance, *draw(chance, (rounds, senders), 1000 * mean_kb, reading)


def processor_sharing(service: Values, due: Values) -> Flags:
    """Those that are there share the link equally: the k-th to end waits for k sizes of the rest."""
    order = np.argsort(service, axis=1)
    sizes = np.take_along_axis(service, order, axis=1)
    sharing = np.arange(sizes.shape[1], 0, -1)
    ends = np.empty_like(service)
    np.put_along_axis(ends, order, np.cumsum(np.diff(sizes, axis=1, prepend=0) * sharing, axis=1), axis=1)
    return SETUP_S + ends <= due


def fifo(service: Values, due: Values) -> Flags:
    """One after the other, in the order in which they come."""
    return SETUP_S + np.cumsum(service, axis=1) <= due


def two_priorities(service: Values, due: Values, threshold_s: float = RATIO * RTT_S) -> Flags:
    """First those that are due within the threshold, in the order in which they come; then the others."""
    urgent = due <= threshold_s
    first = np.cumsum(service * urgent, axis=1)
    ends = np.where(urgent, first, first[:, -1:] + np.cumsum(service * ~urgent, axis=1))
    return SETUP_S + ends <= due


def edf_with_rejection(service: Values, due: Values) -> Flags:
    """By deadline; who cannot be in time any more is left out."""
    order = np.argsort(due, axis=1, kind="stable")
    sizes, limits = (np.take_along_axis(values, order, axis=1) for values in (service, due))
    busy = np.zeros(len(service))
    met = np.empty(service.shape, dtype=bool)
    for place in range(service.shape[1]):
        end = busy + sizes[:, place]
        met[:, place] = SETUP_S + end <= limits[:, place]
        busy = np.where(met[:, place], end, busy)
    found = np.empty_like(met)
    np.put_along_axis(found, order, met, axis=1)
    return found


RULES: Mapping[str, Callable[[Values, Values], Flags]] = {
    "processor sharing": processor_sharing,
    "FIFO": fifo,
    "two priorities": two_priorities,
    "EDF with rejection": edf_with_rejection,
}


def share(rule: str, senders: int, mean_kb: int, reading: str, rounds: int = 2000) -> float:
    """In time by a rule, in percent."""
    _, service, due = draw_rounds(senders, mean_kb, reading, rounds)
    return 100 * float(RULES[rule](service, due).mean())


def starved(share_of_link: float, senders: int, mean_kb: int, reading: str, rounds: int = 2000) -> float:
    """In time under the best of all rules with a share of the link, in percent, at most.

    Every flow may wait until the latest deadline of its round: then serving the shortest first has the most in time.
    """
    _, service, due = draw_rounds(senders, mean_kb, reading, rounds)
    ends = np.sort(service, axis=1).cumsum(axis=1) / share_of_link
    return 100 * float((ends <= due.max(axis=1, keepdims=True)).mean())


def supported(in_time: Callable[[int], float], least: float, most: int) -> int:
    """The largest number of senders with at least that share in time, by bisection; 0 if not even one has.

    Args:
        in_time: In time, by the number of senders; falls with it.
        least: The share asked for.
        most: Numbers above are not looked at.
    """
    low, high = 0, most + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if in_time(middle) >= least else (low, middle)
    return low


def d3_steady(alpha: float, beta: float, packet_s: float = 12e-6, interval_s: float = RTT_S) -> float:
    """The load up to which D3's capacity is steady, at random arrivals.

    Its capacity changes by alpha (C0 - u/T) - beta q/T in each interval T. On average that is 0 if (alpha/beta)
    (1 - U) C0 T wait; at random arrivals U^2 / (2 (1 - U)) packets do (M/D/1).
    """
    root = (2 * alpha / beta * interval_s / packet_s) ** 0.5
    return float(root / (1 + root))


# RCP as the ns-2 model has it: gains, the round trip that it begins with, its slot, and the first rate.
RCP_ALPHA, RCP_BETA, RCP_RTT_S, RCP_SLOT_S, RCP_FIRST = 0.4, 0.4, 0.2, 0.01, 0.1


def rcp_logistic(start: float, seconds: Values) -> Values:
    """Utilisation by long flows that no queue holds back: du/dt = (alpha/d) u (1 - u)."""
    return 1 / (1 + (1 / start - 1) * np.exp(-RCP_ALPHA / RCP_RTT_S * seconds))


def rcp(
    flows: int,
    load: float,
    seconds: float,
    first: float = RCP_FIRST,
    buffer_bytes: float = 4e6,
    step_s: float = RCP_SLOT_S,
) -> tuple[Values, Values]:
    """RCP's rate and the queue slot by slot, with long flows that take the rate and short ones of a fixed load.

    R <- R (1 + (T/d) (alpha (C - y) - beta q/d) / C), in shares of the link; d stays at its first value, as samples of
    a round trip far below it move it by next to nothing.

    Args:
        flows: Long ones.
        load: Of short flows, as a share of the link.
        seconds: How long.
        first: The rate at the start, as a share of the link.
        buffer_bytes: What the queue holds.
        step_s: The slot.

    Returns:
        The rate of one flow in each slot, as a share of the link, and the bytes that wait at the end of it.
    """
    count = round(seconds / step_s)
    rates, queues = np.empty(count), np.empty(count)
    rate, queue = first, 0.0
    for slot in range(count):
        arriving = load + flows * rate
        queue = min(max(queue + (arriving - 1) * step_s * LINK_BPS / 8, 0), buffer_bytes)
        rates[slot], queues[slot] = rate, queue
        drain = queue * 8 / LINK_BPS / RCP_RTT_S
        rate *= 1 + step_s / RCP_RTT_S * (RCP_ALPHA * (1 - arriving) - RCP_BETA * drain)
        rate = min(max(rate, 1e-9), 1.0)
    return rates, queues
