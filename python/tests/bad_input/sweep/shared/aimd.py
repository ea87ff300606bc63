"""A prototype that no sweep runs."""

from flowyard.prototypes import CongestionControl


class Aimd(CongestionControl):
    """Reno."""
