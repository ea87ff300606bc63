"""The contract of transports, as crates/sim/src/engine/contract/endpoint.rs has it."""

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from flowyard._native import Data, Flow, Host, Received


class Transport:
    """The endpoints of flows at a host. Each host has an object, for all flows that it sends and receives.

    It is made with the scenario's `settings` as arguments, at the host's first event. `flow` is the endpoint of a flow
    at this host: what is known of it there, its actions, and attributes of your own. The two endpoints of a flow are
    two objects, at two hosts: information travels between them only in packets. Sizes are in bytes, times in
    picoseconds.

    Attributes:
        payload: Payload of a full packet.
        header_bytes: Bytes of each packet that are not payload, and of a packet without payload.
        needs_marks: Whether ports have to mark its data packets, which are then ECN-capable.
        needs_trimming: Whether ports have to cut the payload off data packets instead of dropping them.
        retransmits: Whether it retransmits lost packets.
    """

    payload: ClassVar[int] = 1436
    header_bytes: ClassVar[int] = 64
    needs_marks: ClassVar[bool] = False
    needs_trimming: ClassVar[bool] = False
    retransmits: ClassVar[bool] = True

    def start(self, flow: "Flow") -> None:
        """At the sender: a flow starts. Without this method, it requests its turn."""
        flow.ready()

    def next_packet(self, flow: "Flow") -> "Data | None":
        """At the sender: it is the flow's turn, and the wire is free.

        Returns:
            The packet to send now, `flow.data(number)`, after which the flow has another turn; None if it has to wait,
            until `flow.ready()`.
        """
        raise NotImplementedError

    def at_sender(self, flow: "Flow", packet: "Received") -> None:
        """At the sender: a packet of the receiver has arrived, such as an acknowledgement."""

    def accept(self, flow: "Flow") -> None:
        """At the receiver: the first packet of a flow has arrived; `at_receiver` gets it next."""

    def at_receiver(self, flow: "Flow", packet: "Received") -> None:
        """At the receiver: a packet of the sender has arrived; `flow.deliver(packet)` delivers data."""
        raise NotImplementedError

    def on_timer(self, flow: "Flow", kind: int) -> None:
        """A timer of the flow's endpoint at this host is due: see `flow.set_timer`."""

    def on_host_timer(self, host: "Host") -> None:
        """The host's own timer is due: see `flow.host.set_timer`."""
