"""The contract of load balancers, as crates/sim/src/engine/contract/path.rs has it."""

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from flowyard._native import Hop


class Balancer:
    """Which of the equal next hops a packet takes. One object chooses at all nodes.

    It is made with the scenario's `settings` as arguments.

    Attributes:
        one_path: Whether all packets of a flow in one direction take one path while the network stays as it is.
    """

    one_path: ClassVar[bool] = False

    def choose(self, hop: "Hop") -> int:
        """A packet has a choice: the number of the next hop that it takes, from 0 to `hop.count` - 1."""
        raise NotImplementedError
