"""The contract of congestion controls, as crates/sim/src/transport/tcp/congestion has it."""

from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

if TYPE_CHECKING:
    from flowyard._native import Ack, Signal, Window

# What `on_recovery_ack` answers.
Step = Literal["leave", "repair", "repair-and-restart"]


class Answer(NamedTuple):
    """The reaction to an acknowledgement with or without an echoed mark.

    Attributes:
        grow: Whether the window may grow by it.
        reduce: Whether the window is to be reduced by `on_mark`, at most once a window of data.
        ends_slow_start: Whether slow start is over at once.
    """

    grow: bool
    reduce: bool
    ends_slow_start: bool = False


class CongestionControl:
    """How a TCP connection's window reacts to acknowledgements, losses and marks. Each connection has an object.

    It is made with the scenario's `settings` as arguments. A verb that a class does not write is NewReno's, in the
    engine, and costs no call. Sizes are in bytes, times in picoseconds. A window holds one segment at least
    (`window.mss`).

    Attributes:
        echo: How the receiver tells of marks: "until-reduced", "exact", "exact-at-once" or "each-segment"; None: as the
            field `ecn` of TCP says. With it, data packets may be marked.
        proportional_reduction: Whether the reduction of `on_mark` takes a round trip (RFC 9937).
        acknowledges_each_segment: Whether the receiver acknowledges each segment at once, whatever TCP's `delayed_ack`
            is. Without it `ack.rtt_ps` contains the time for which the receiver held the acknowledgement back, up to
            `delayed_ack_timeout` (40 ms, or 500 us in a data centre's preset): a window that follows delays needs it.
            The built-in Swift has it, too.
        distrusts_duplicates: Whether duplicates of what was sent before the last timeout say nothing (RFC 6582).
    """

    echo: ClassVar[str | None] = None
    proportional_reduction: ClassVar[bool] = False
    acknowledges_each_segment: ClassVar[bool] = False
    distrusts_duplicates: ClassVar[bool] = True

    def on_ack(self, window: "Window", ack: "Ack") -> None:
        """New data is acknowledged, outside recovery; set `window.cwnd`. Grow only if `ack.may_grow`."""

    def on_loss(self, window: "Window", loss: "Signal") -> None:
        """Duplicates (`loss.dupacks`) tell of a lost segment, which is sent again: set `ssthresh` and `cwnd`."""

    def on_timeout(self, window: "Window", timeout: "Signal") -> None:
        """The retransmission timer has expired, `timeout.first` for this segment: set `ssthresh` and `cwnd`."""

    def on_mark(self, window: "Window", mark: "Signal") -> None:
        """An echo asks for a reduction, at most once a window of data: set `ssthresh` and `cwnd`."""

    def on_duplicate(self, window: "Window", ack: "Ack") -> None:
        """A further duplicate during recovery: another segment has left the network."""

    def on_recovery_ack(self, window: "Window", ack: "Ack", full: bool, first_partial: bool) -> Step:
        """New data is acknowledged during recovery; `full`: all that had been sent at the loss.

        Returns:
            "leave" if recovery is over; "repair" to send the first unacknowledged segment again, "repair-and-restart"
            to restart the retransmission timer as well.
        """
        raise NotImplementedError

    def on_echo(self, ack: "Ack") -> Answer:
        """With ECN, every acknowledgement, before `on_ack`, duplicates too; `ack.marked` if it echoes a mark."""
        raise NotImplementedError
