"""A flow that a peer has finished, as its results say it: `hpcc_fct`, `htsim_log`."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Finished:
    """A flow.

    Attributes:
        src: Number of the node that sends.
        dst: Number of the node that receives.
        size_bytes: Its payload; that of its packets, the last one filled up, if `padded`.
        end_ps: When its sender had the last acknowledgement.
        padded: Whether the peer counts whole packets.
        start_ps: When it started; None if the peer does not say.
        ideal_fct_ps: What the flow takes alone in the network, by the peer's formula; None if it has none.
    """

    src: int
    dst: int
    size_bytes: int
    end_ps: int
    padded: bool = False
    start_ps: int | None = None
    ideal_fct_ps: int | None = None
