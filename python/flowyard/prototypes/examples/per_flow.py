"""Per-flow ECMP (RFC 2992) in Python. Results are those of "per-flow"."""

from flowyard.prototypes import Balancer

WORD = 2**64 - 1


def mix(word):
    """SplitMix64's finaliser (Steele, Lea and Flood, OOPSLA 2014): mixes every bit into every other."""
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 & WORD
    word = (word ^ word >> 27) * 0x94D049BB133111EB & WORD
    return word ^ word >> 31


class PerFlow(Balancer):
    """A hash of the 5-tuple, salted by each switch, chooses the next hop."""

    one_path = True

    def choose(self, hop):
        # The upper half of the hash as a share of the next hops.
        return (mix(hop.flow ^ hop.salt) >> 32) * hop.count >> 32
