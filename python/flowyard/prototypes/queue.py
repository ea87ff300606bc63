"""The contract of queues, as crates/sim/src/engine/contract/discipline.rs has it."""

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from flowyard._native import Packet, Port


class Queue:
    """Queue of a switch's port. Each port has an object.

    It is made with the scenario's `settings` as arguments. A verb that a class does not write is that of a first-in
    first-out queue without a limit, and costs no call. Sizes are in bytes, times in picoseconds.

    Attributes:
        marks: Whether it marks packets: transports that need marks then accept it.
        trims: Whether it trims packets: transports that need that then accept it.
    """

    marks: ClassVar[bool] = False
    trims: ClassVar[bool] = False

    def enqueue(self, port: "Port", packet: "Packet") -> None:
        """A packet arrives. Unless `port.drop(packet)` is called, it waits; `port.mark` and `port.trim` change it."""

    def dequeue(self, port: "Port") -> "Packet | None":
        """The wire is free and packets wait: the one to send now.

        Returns:
            A packet that waits, such as `port.pop()`; None only if it has dropped all (`port.drop`).
        """
        return port.pop()
