"""Figure 3.3 by calculation: flows that keep newcomers from interrupting PDQ; the most that PEQ can serve of a set."""

SERVERS = 24
# The intervals of the thesis.
SHORT = (5, 10, 15, 20, 25, 30)
# Sizes, and the slots that a flow of no size would have (ADVERSARIAL).
SIZES_RUN, AT_ZERO = range(2, 199), 297
# The age of a set from which on its flows keep newcomers from interrupting PDQ.
FROM = 66


def spared(age: int) -> range:
    """Sizes of flows that at this age can still be in time and are due no later than a flow that starts now can be.

    A flow has 297 - size / 2 slots at first: 198 at least, which is what every newcomer has.
    """
    least = min(AT_ZERO - size / 2 for size in SIZES_RUN)
    ranks = [size for size in SIZES_RUN if size <= AT_ZERO - size / 2 - age <= least]
    return range(ranks[0], ranks[-1] + 1) if ranks else range(0)


def interrupted(interval: int) -> float:
    """The probability that a set leaves room for a newcomer that goes ahead of the flow which PDQ serves.

    PDQ serves who is due first of those that can be in time. While a flow is there that is spared at its age, who is
    served is due no later than any newcomer, which does not interrupt it then, nor later. One set is always
    between FROM and FROM + interval slots old. Of its flows that are spared all that time at most one can have been
    served: two of them take longer.
    """
    both = set(spared(FROM)) & set(spared(FROM + interval))
    assert 2 * min(both) > FROM + interval
    p = len(both) / len(SIZES_RUN)
    return float((1 - p) ** SERVERS + SERVERS * p * (1 - p) ** (SERVERS - 1))


def smallest_served(interval: int) -> float:
    """The share of flows, in percent, that the link can serve if it takes the smallest of each set.

    Of sizes up to x there are SERVERS x^2 / 2 / 197 slots of work in each set, and the interval has that many slots.
    """
    return float(100 * (2 * interval * len(SIZES_RUN) / SERVERS) ** 0.5 / len(SIZES_RUN))


def not_interrupted() -> str:
    """The calculation in words."""
    return (
        "PDQ's part cannot fall, as it is none: every flow has 198 slots at first, and from slot "
        f"{FROM + SHORT[-1]} on the flow that PDQ serves is due before, but for {interrupted(SHORT[-1]):.1g} of the "
        "sets (interrupted), so that no newcomer interrupts it"
    )
